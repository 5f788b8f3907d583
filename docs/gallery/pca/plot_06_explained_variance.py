r"""
How many components? The 90% rule and parallel analysis
=======================================================

Twelve questions were simulated from three traits and noise. The old rule, to keep 90% of the variance, keeps nine
components, most of them noise. Parallel analysis asks instead which eigenvalues are larger than those of the same
answers shuffled column by column, which have no structure left, and finds three.

Both rules use the eigenvalues :math:`\lambda_1 \ge \lambda_2 \ge \dots` of the correlation matrix. The first takes
the smallest :math:`k` with a large enough sum, and the second continues as long as the right-hand condition holds:

.. math:: \sum_{j \le k} \lambda_j \ge 0.9 \sum_j \lambda_j , \qquad
          \lambda_k > q_{95}(\lambda_k^{\text{shuffled}}) .
"""

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import PCA, datasets, select_components

plt.rcParams.update({"font.size": 13, "axes.titlesize": 15})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#7f7f7f"

answers = datasets.load("questionnaire").data
lam = PCA(standardize=True).fit(answers).explained_variance_
rules = select_components(answers, share=0.9, rules=["parallel"], standardize=True, random_state=0)
k90, parallel = (rules[name].n_components for name in ("90% of variance", "parallel"))

rng = np.random.default_rng(0)
shuffled = [
    PCA(standardize=True).fit(rng.permuted(answers, axis=0)).explained_variance_ for _ in range(100)
]
limit = np.quantile(shuffled, 0.95, axis=0)

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
k = np.arange(1, len(lam) + 1)
left.bar(k, lam, color=[BLUE if j <= parallel else "#b8c4cc" for j in k])
left.plot(k, limit, "o-", color=ORANGE, lw=2.5, ms=6)
left.annotate(
    "95% point of shuffled answers", (k[3], limit[3]), (4, 26), textcoords="offset points", color=ORANGE
)
left.set(xlabel="component", ylabel="eigenvalue", xticks=k, title=f"parallel analysis keeps {parallel}")

share = np.cumsum(lam) / lam.sum()
right.axhline(0.9, color=ORANGE, lw=2)
right.plot(k, share, "o-", color=GREY, lw=3, ms=9)
right.plot(k[:parallel], share[:parallel], "o-", color=BLUE, lw=3, ms=9)
right.plot(k90, share[k90 - 1], "o", color=ORANGE, ms=14)
right.text(1, 0.92, "90%", color=ORANGE)
right.annotate(
    f"{parallel} traits: {share[parallel - 1]:.0%}",
    (parallel, share[parallel - 1]),
    (12, -14),
    textcoords="offset points",
    color=BLUE,
)
right.set(xlabel="components kept", ylabel="share of variance", xticks=k, ylim=(0, 1.03))
right.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
right.set_title(f"the 90% rule keeps {k90}")
plt.show()

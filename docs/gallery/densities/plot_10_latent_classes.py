r"""
Latent classes: two kinds of students behind 16 patterns of answers
===================================================================

Stouffer and Toby (1951) asked 216 students in four situations whether they put a duty to everyone before a friend. A
mixture of two classes, within which the answers are independent, has nine parameters and expects nearly the observed
counts of all 16 patterns. The smaller class, 28% of the students, nearly always puts duty first; the larger one does
so in some situations more than in others.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import eigenlens

BLUE, GREY = "#0072B2", "0.5"
plt.rcParams.update({"font.size": 13})

conflict = eigenlens.datasets.load("role-conflict")
answers, observed = pd.DataFrame(conflict.data, columns=conflict.columns), conflict.weight
classes = eigenlens.MixtureModel(2, random_state=0).fit(answers, sample_weight=observed)
expected = observed.sum() * np.exp(classes.score_samples(answers))
one = eigenlens.MixtureModel(1).fit(answers, sample_weight=observed)
alone = observed.sum() * np.exp(one.score_samples(answers))
G2 = 2.0 * observed @ np.log(observed / expected)

figure, (left, right) = plt.subplots(
    1, 2, figsize=(11.5, 4.6), layout="constrained", width_ratios=(1, 1.5)
)
eigenlens.plot.profile(classes, ax=left)
left.set(ylabel="probability of putting duty first", xlabel="situation")
left.get_legend().remove()
left.tick_params(labelsize=12)
for k, height in enumerate((0.2, 0.82)):
    left.text(1.2, height, f"{classes.weights_[k]:.0%} of the students", ha="center", va="center")
left.set_title("Two classes", loc="left", fontsize=14)

x = np.arange(len(observed))
right.bar(x, observed, color=BLUE, alpha=0.55, label="observed")
right.plot(x, alone, "x", color=GREY, markersize=8, label="expected without classes")
right.plot(x, expected, "o", color="#D55E00", markersize=8, label="expected of two classes")
right.set_xticks(x, conflict.rows, rotation=90, family="monospace", fontsize=12)
right.set(ylabel="students", xlabel="answers: duty (d) or friend (f)")
right.set_title(f"The 16 patterns, $G^2 = {G2:.2f}$ on 6 degrees of freedom", loc="left", fontsize=14)
right.legend(frameon=False, fontsize=12)
right.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# With :math:`\pi_c` the share of class c and :math:`p_{cj}` its probability of answer j being "duty",
#
# .. math:: p(x) = \sum_c \pi_c \prod_j p_{cj}^{x_j} (1 - p_{cj})^{1 - x_j}, \qquad
#           G^2 = 2 \sum_x n_x \ln \frac{n_x}{n \, p(x)} .

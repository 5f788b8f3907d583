r"""
Calibration: naive Bayes is too sure of itself
==============================================

Of the cases that are given a probability of 80%, eight in ten should come true. Ten columns that share a disturbance
say the same thing ten times. Naive Bayes takes them for ten witnesses, and its probabilities rush to 0 and 1. The
linear discriminant, which knows the correlations, means what it says: its points lie on the diagonal.
"""

import matplotlib.pyplot as plt
import numpy as np

import eigenlens
from eigenlens import LinearDiscriminant, NaiveBayes

plt.rcParams.update({"font.size": 14})


def drawn(n, rng):
    """Rows (n, 10) that share a disturbance, and their classes."""
    y = rng.integers(0, 2, n)
    return 1.2 * y[:, None] + rng.standard_normal((n, 1)) + rng.standard_normal((n, 10)), y


rng = np.random.default_rng(0)
X, y = drawn(2_000, rng)
new, truth = drawn(40_000, rng)

figure, panels = plt.subplots(
    1,
    2,
    figsize=(10.5, 5.2),
    layout="constrained",
)
rules = {"naive Bayes": NaiveBayes("gaussian"), "linear discriminant": LinearDiscriminant()}
for ax, (name, rule) in zip(panels, rules.items(), strict=True):
    p = rule.fit(X, y).predict_proba(new)[:, 1]
    sure = np.maximum(p, 1 - p) >= 0.9
    wrong = np.mean((p > 0.5)[sure] != truth[sure])
    eigenlens.plot.calibration(rule, new, truth, label=1, ax=ax)
    words = f"{name}: at least 90% sure\nof {sure.mean():.0%}, wrong in {wrong:.0%} of these"
    ax.set_title(words, loc="left", color="black")
    ax.set(xlabel="predicted probability", ylabel="share that turned out so")
plt.show()

r"""
Calibration: naive Bayes is too sure of itself
==============================================

Among cases given 80%, eight in ten should turn out so. Ten columns that share a disturbance say the same thing ten
times; naive Bayes takes them for ten witnesses, and its probabilities run to 0 and 1. The linear discriminant, which
knows the correlations, says what it means: its points lie on the diagonal.
"""

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import LinearDiscriminant, NaiveBayes

BLUE, RED = "#0072B2", "#D55E00"
plt.rcParams.update({"font.size": 13, "axes.spines.top": False, "axes.spines.right": False})


def drawn(n, rng):
    """Rows (n, 10) that share a disturbance, and their classes."""
    y = rng.integers(0, 2, n)
    return 1.2 * y[:, None] + rng.standard_normal((n, 1)) + rng.standard_normal((n, 10)), y


rng = np.random.default_rng(0)
X, y = drawn(2_000, rng)
new, truth = drawn(40_000, rng)
edges = np.linspace(0.0, 1.0, 11)

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.9), layout="constrained")
left.plot([0, 1], [0, 1], color="0.5", linewidth=1.5, linestyle=":")
for rule, colour, marker, name, place, height in (
    (NaiveBayes("gaussian"), RED, "o", "naive Bayes", (0.55, 0.33), 0.34),
    (LinearDiscriminant(), BLUE, "s", "linear discriminant", (0.30, 0.88), 0.22),
):
    p = rule.fit(X, y).predict_proba(new)[:, 1]
    cell = np.clip(np.digitize(p, edges) - 1, 0, 9)
    count = np.bincount(cell, minlength=10)
    predicted, happened = (np.bincount(cell, part, 10) / count for part in (p, truth))
    left.plot(predicted, happened, color=colour, marker=marker, linewidth=3, markersize=9)
    left.text(*place, name, color=colour, weight="bold")
    right.stairs(count / len(p), edges, color=colour, fill=True, alpha=0.45)
    sure = np.maximum(p, 1 - p) >= 0.9
    wrong = np.mean((p > 0.5)[sure] != truth[sure])
    words = f"{name}:\nat least 90% sure of {sure.mean():.0%},\nwrong in {wrong:.0%} of these"
    right.text(0.5, height, words, color=colour, weight="bold", ha="center", va="center")
left.set(xlabel="predicted probability", ylabel="share that turned out so")
left.set(aspect="equal", xlim=(0, 1), ylim=(0, 1))
right.set(xlabel="predicted probability", ylabel="share of all rows", xlim=(0, 1))
plt.show()

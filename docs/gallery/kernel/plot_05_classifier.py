r"""
Kernel components as features for a linear classifier
=====================================================

A linear classifier on pixels has one feature per pixel, and principal components add no new ones. Kernel PCA adds
nonlinear features, and with them the same linear classifier (Fisher's) makes far fewer mistakes on digits that it has
not seen (compare Schölkopf, Smola and Müller 1998).
"""

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import PCA, KernelPCA, LinearDiscriminant, datasets

plt.rcParams.update({"font.size": 13, "axes.titlesize": 15})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#7f7f7f"

digits = datasets.load("digits")
order = np.random.default_rng(0).permutation(len(digits.data))
train, test = order[:900], order[900:]
X, y = digits.data[:, digits.data[train].std(axis=0) > 0], np.array(digits.labels)


def mistakes(Z, k):
    """Test error of a linear classifier on the first k columns."""
    model = LinearDiscriminant(shrinkage=0.01).fit(Z[train, :k], y[train])
    return 1 - model.score(Z[test, :k], y[test])


features = {
    "PCA": (PCA().fit(X[train]).transform(X), BLUE, [5, 10, 20, 30, 40, 50, 60]),
    "kernel PCA, Gaussian": (
        KernelPCA(300, kernel="rbf", gamma="median", random_state=0).fit(X[train]).transform(X), ORANGE,
        [5, 10, 20, 40, 60, 100, 150, 200, 300],
    ),
}  # fmt: skip
plain = mistakes(X, X.shape[1])

fig, ax = plt.subplots(figsize=(10, 5.2), layout="constrained")
ax.axhline(100 * plain, color=GREY, lw=2, ls="--")
ax.text(
    300,
    100 * plain + 0.2,
    f"the {X.shape[1]} pixels themselves: {plain:.1%}",
    color=GREY,
    ha="right",
    va="bottom",
)
for name, (Z, colour, counts) in features.items():
    errors = [100 * mistakes(Z, k) for k in counts]
    ax.plot(counts, errors, "o-", color=colour, lw=3, ms=9)
    side = "right" if counts[-1] > 100 else "left"
    ax.text(
        counts[-1], errors[-1] + 0.4, f"{name}: {errors[-1]:.1f}%", color=colour, ha=side, va="bottom"
    )
ax.set(
    xlabel="components given to the linear classifier",
    ylabel="mistakes on new digits (%)",
    ylim=(0, None),
)
plt.show()

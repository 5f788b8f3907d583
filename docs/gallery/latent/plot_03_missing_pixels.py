"""
Missing values: a photograph with holes
=======================================

Two pixels out of three are lost. The photograph is cut into overlapping patches of 8 by 8 pixels, one row each, and
probabilistic PCA is fitted to the pixels that are left: no patch is complete, but each shows other pairs of pixels.
Every patch is then filled in from its observed pixels, whereas column means would fill all holes with much the same
grey.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from eigenlens import ProbabilisticPCA

plt.rcParams.update({"font.size": 13})

truth = load_sample_image("china.jpg").mean(axis=2)[80:272, 150:406]
lost = np.random.default_rng(0).random(truth.shape) < 2 / 3
seen = np.where(lost, np.nan, truth)

side, step = 8, 4
down, across = (range(0, size - side + 1, step) for size in truth.shape)
corners = [(i, j) for i in down for j in across]
X = np.array([seen[i : i + side, j : j + side].ravel() for i, j in corners])
model = ProbabilisticPCA(16, tol=1e-5, max_iter=200, random_state=0).fit(X)


def photograph(rows):
    """Patches put back into their places, averaged where they overlap; pixels that were seen stay."""
    total, count = np.zeros(truth.shape), np.zeros(truth.shape)
    for (i, j), row in zip(corners, rows, strict=True):
        total[i : i + side, j : j + side] += row.reshape(side, side)
        count[i : i + side, j : j + side] += 1.0
    return np.where(lost, total / count, truth)


def error(filled):
    """The root mean squared error of the lost pixels, in shades of grey."""
    return np.sqrt(np.mean((filled - truth)[lost] ** 2))


means, restored = (
    photograph(np.broadcast_to(np.nanmean(X, axis=0), X.shape)),
    photograph(model.impute(X)),
)
panels = {
    f"{lost.mean():.0%} of the pixels lost": seen,
    f"filled with means: error {error(means):.0f}": means,
    f"filled by the model: error {error(restored):.0f}": restored,
    "the photograph": truth,
}
figure, axes = plt.subplots(2, 2, figsize=(9, 7.2), layout="constrained")
for ax, (title, image) in zip(axes.flat, panels.items(), strict=True):
    ax.imshow(image, cmap=plt.get_cmap("gray").with_extremes(bad="#E69F00"), vmin=0, vmax=255)
    ax.set_title(title, fontsize=14)
    ax.set_axis_off()
plt.show()

r"""
Denoising digits
================

Noisy digits are projected onto the components of clean ones and brought back to pixels. Linear PCA has only 64
directions, and those it needs for detail let the noise through. Kernel PCA has as many as there are digits, and
finds the pixels whose image comes nearest to the projection (Mika et al. 1999). Each method is shown with the number
of components that is best for it on these 200 digits.

The pre-image of a projection :math:`\hat\varphi(x)` under a Gaussian kernel is a weighted mean of fitted digits that
is iterated to its fixed point,

.. math:: y \leftarrow \frac{\sum_i c_i \, k(y, x_i) \, x_i}{\sum_i c_i \, k(y, x_i)} , \qquad
          \hat\varphi(x) = \sum_i c_i \varphi(x_i) .
"""

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import PCA, KernelPCA, datasets

plt.rcParams.update({"font.size": 13, "axes.titlesize": 15})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
BLUE, ORANGE = "#0072B2", "#D55E00"

digits = datasets.load("digits")
rng = np.random.default_rng(0)
order = rng.permutation(len(digits.data))
train, test = digits.data[order[:1200]], digits.data[order[1200:1400]]
labels = np.array(digits.labels)[order[1200:1400]]
noisy = test + rng.normal(0, 4, test.shape)


def error(images):
    """Mean squared error of a pixel."""
    return ((images - test) ** 2).mean()


kernel = KernelPCA(800, kernel="rbf", gamma=1e-3).fit(train)
linear = {k: PCA(n_components=k).fit(train) for k in (2, 5, 10, 15, 20, 30, 40, 60)}
by_pca = {k: pca.inverse_transform(pca.transform(noisy)) for k, pca in linear.items()}
by_kernel = {k: kernel.denoise(noisy, n_components=k) for k in (5, 10, 20, 40, 80, 150, 300, 500, 800)}
best = [min(found, key=lambda k: error(found[k])) for found in (by_pca, by_kernel)]

fig = plt.figure(figsize=(11, 7.2), layout="constrained")
top, bottom = fig.subfigures(2, 1, height_ratios=[1.45, 1], facecolor="none")
shown = [int(np.flatnonzero(labels == str(c))[0]) for c in range(10)]
rows = {
    "clean": test,
    f"noisy\nerror {error(noisy):.1f}": noisy,
    f"PCA, k = {best[0]}\nerror {error(by_pca[best[0]]):.1f}": by_pca[best[0]],
    f"kernel PCA, k = {best[1]}\nerror {error(by_kernel[best[1]]):.1f}": by_kernel[best[1]],
}
for axes, (name, images) in zip(top.subplots(4, 10), rows.items(), strict=True):
    for ax, image in zip(axes, images[shown], strict=True):
        ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    axes[0].set_ylabel(name, rotation=0, ha="right", va="center", labelpad=8)
ax = bottom.subplots()
for found, colour, name in ((by_pca, BLUE, "PCA"), (by_kernel, ORANGE, "kernel PCA")):
    ax.semilogx(
        list(found), [error(images) for images in found.values()], "o-", color=colour, lw=3, ms=8
    )
    ax.text(1.08 * max(found), error(found[max(found)]), name, color=colour, va="center")
ax.set(xlabel="components kept, k", ylabel="squared error of a pixel", ylim=(0, None))
ticks = [2, 5, 10, 20, 50, 100, 200, 400, 800]
ax.set_xticks(ticks, ticks)
ax.minorticks_off()
plt.show()

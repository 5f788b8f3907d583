r"""
Kernel PCA on two circles
=========================

No straight line separates a circle from the one around it, and linear components only rotate the plane. A polynomial
kernel of degree 2 has the squared radius among its features, and a Gaussian kernel has the distances to all points.
One component of each tells the circles apart. The upper row shows the value of that component over the plane, the
lower row the scores.

Components are directions :math:`v = \sum_i \alpha_i \varphi(x_i)` in the space of features, found from the
centred Gram matrix :math:`\bar K` without ever going there:

.. math:: \bar K \alpha = n \lambda \alpha , \qquad k(x, y) = (\gamma\, x^\top y + 1)^2
          \quad\text{or}\quad k(x, y) = e^{-\gamma \|x - y\|^2} .
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from eigenlens import KernelPCA, datasets

plt.rcParams.update({"font.size": 13, "axes.titlesize": 15})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
BLUE, ORANGE = "#0072B2", "#D55E00"
FIELD = LinearSegmentedColormap.from_list(
    "field", [(0, 0.45, 0.7, 0.6), (0.5, 0.5, 0.5, 0), (0.84, 0.37, 0, 0.6)]
)

circles = datasets.load("two-circles", n=300)
X, outer = circles.data, np.array(circles.labels) == "outer"
side = np.linspace(-1.4, 1.4, 120)
plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)

kernels = {
    "linear kernel": KernelPCA(2, kernel="linear"),
    "polynomial, degree 2": KernelPCA(5, kernel="poly", degree=2, gamma=1.0),
    "Gaussian": KernelPCA(8, kernel="rbf", gamma=2.0),
}


def distance_between(z):
    """How far apart the circles' mean scores are, in standard deviations within."""
    return abs(z[outer].mean() - z[~outer].mean()) / np.sqrt((z[outer].var() + z[~outer].var()) / 2)


fig, axes = plt.subplots(2, 3, figsize=(11, 7.4), layout="constrained")
for (name, model), (above, below) in zip(kernels.items(), axes.T, strict=True):
    Z = model.fit_transform(X)
    best = int(np.argmax([distance_between(z) for z in Z.T]))
    other = 0 if best else 1
    sign = np.sign(Z[~outer, best].mean())
    field = sign * model.transform(plane)[:, best].reshape(len(side), -1)
    Z[:, best] *= sign  # the inner circle up
    top = np.abs(Z[:, best]).max()
    above.imshow(field, extent=(-1.4, 1.4, -1.4, 1.4), origin="lower", cmap=FIELD, vmin=-top, vmax=top)
    above.contour(
        side,
        side,
        field,
        levels=np.linspace(-2 * top, top, 13),
        colors="#7f7f7f",
        linewidths=0.8,
        linestyles="solid",
    )
    above.set(title=name, xticks=[], yticks=[])
    for ax, rows in ((above, X), (below, Z[:, [other, best]])):
        ax.scatter(*rows[outer].T, s=18, color=BLUE, linewidths=0)
        ax.scatter(*rows[~outer].T, s=18, color=ORANGE, marker="s", linewidths=0)
    below.set(
        xlabel=f"score on component {other + 1}",
        ylabel=f"score on component {best + 1}",
        xticks=[],
        yticks=[],
    )
plt.show()

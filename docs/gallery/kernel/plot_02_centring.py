r"""
Centring in feature space
=========================

Under a Gaussian kernel all images lie on one side of the origin, so without centring the first component points at
their mean: its score is positive everywhere and shows only where points are dense. After centring, for which the
Gram matrix is enough, the first component tells the groups apart.

Subtracting the mean image :math:`\tfrac1n \sum_i \varphi(x_i)` from every image means subtracting row means and
column means and adding the grand mean:

.. math:: \bar K = (I - \tfrac1n 1 1^\top) \, K \, (I - \tfrac1n 1 1^\top), \qquad
          \bar K_{ij} = K_{ij} - a_i - a_j + b .
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from eigenlens import KernelPCA, gram

plt.rcParams.update({"font.size": 13, "axes.titlesize": 15})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
BLUE, ORANGE = "#0072B2", "#D55E00"
FIELD = LinearSegmentedColormap.from_list(
    "field", [(0, 0.45, 0.7, 0.7), (0.5, 0.5, 0.5, 0), (0.84, 0.37, 0, 0.7)]
)

rng, gamma = np.random.default_rng(1), 0.2
X = np.concatenate(
    [rng.normal(centre, 0.55, (m, 2)) for centre, m in (((-1.6, 0), 45), ((1.6, 0.3), 45))]
)
X = X[X[:, 0].argsort()]
K = gram(X, gamma=gamma)
r, g = K.mean(axis=0), K.mean()
centred = K - r[:, None] - r + g

side = np.linspace(-4, 4, 120)
plane = np.stack(np.meshgrid(side, 0.75 * side), axis=-1).reshape(-1, 2)
rows = []
for name, matrix in (("not centred", K), ("centred", centred)):
    model = KernelPCA(1, gamma=gamma, center=name == "centred").fit(X)
    rows.append((name, matrix, model.transform(plane)[:, 0], model.transform(X)[:, 0]))

fig, axes = plt.subplots(2, 2, figsize=(10, 7.6), layout="constrained", width_ratios=[1, 1.4])
for (name, matrix, field, z), (left, right) in zip(rows, axes, strict=True):
    top = np.quantile(np.abs(matrix), 0.95)
    left.imshow(matrix, cmap=FIELD, vmin=-top, vmax=top)
    left.set(
        xticks=[],
        yticks=[],
        title=f"Gram matrix, {name}",
        xlabel=f"mean of the entries {abs(matrix.mean()):.2f}",
    )
    field, top = field.reshape(len(side), -1), np.abs(field).max()
    right.imshow(field, extent=(-4, 4, -3, 3), origin="lower", cmap=FIELD, vmin=-top, vmax=top)
    right.contour(
        side, 0.75 * side, field, levels=8, colors="#7f7f7f", linewidths=0.8, linestyles="solid"
    )
    for some, colour, marker in ((z < 0, BLUE, "o"), (z > 0, ORANGE, "s")):
        right.scatter(*X[some].T, s=26, color=colour, marker=marker, linewidths=0)
    right.set(
        xticks=[],
        yticks=[],
        title=f"first component, {name}",
        xlabel=f"{(z > 0).mean():.0%} of the scores are positive",
    )
plt.show()

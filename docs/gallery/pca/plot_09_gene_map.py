r"""
The genetic map: components redraw a country
============================================

In a simulated country of 36 villages on a grid, neighbours marry and chance does the rest for a hundred generations.
Nobody tells the analysis where people live; it sees only 600 genetic markers of 400 people. Yet the first two
principal components redraw the map, up to a rotation and a scale (compare Novembre et al. 2008).

Components have no north. The best rotation and scale onto the true places :math:`Y` (Procrustes) come from one
singular value decomposition of centred matrices, and the correlation that they reach measures how true the map is:

.. math:: Z^\top Y = U D V^\top , \qquad Y \approx c\, Z\, U V^\top , \qquad
          r = \frac{\operatorname{tr} D}{\|Z\| \, \|Y\|} .
"""

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import PCA, datasets, procrustes

plt.rcParams.update({"font.size": 13, "axes.titlesize": 15})

genes = datasets.load("gene-map")
place = np.column_stack([genes.others["east"], genes.others["north"]])
Z = PCA(n_components=2).fit_transform(genes.data)

Y = place - place.mean(axis=0)
_, turn, size, correlation = procrustes(Z, Y)
angle = np.degrees(np.arctan2(turn[0, 1], turn[0, 0]))
mirrored = "mirrored and " if np.linalg.det(turn) < 0 else ""

east, north = (place / place.max(axis=0)).T
colour = np.column_stack([0.9 * east, 0.25 + 0.45 * north, 0.9 * (1 - east)])
village = np.floor(place).astype(int)
homes = np.stack(np.meshgrid(range(6), range(6), indexing="ij"), axis=-1).reshape(-1, 2)
middle = np.array([Z[(village == home).all(axis=1)].mean(axis=0) for home in homes])

panels = {
    "where people live": (Y, homes + 0.5 - place.mean(axis=0)),
    "two components of their genes": (size * Z, size * middle),
    f"{mirrored}turned by {abs(angle):.0f}°: correlation {correlation:.2f}": (
        size * Z @ turn,
        size * middle @ turn,
    ),
}
fig, axes = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
for ax, (title, (rows, centres)) in zip(axes, panels.items(), strict=True):
    grid = centres.reshape(6, 6, 2)
    for line in (*grid, *grid.transpose(1, 0, 2)):
        ax.plot(*line.T, color="#7f7f7f", lw=1.3, zorder=1)
    ax.scatter(*rows.T, s=22, color=colour, alpha=0.8, linewidths=0, zorder=2)
    ax.set(title=title, aspect="equal", xlim=(-4, 4), ylim=(-3.9, 4.3))
    ax.set_axis_off()
plt.show()

r"""
New points among fitted ones
============================

Components are sums over the fitted points, so any new point has scores: its kernel values with the fitted points,
centred in the same way. Here new points walk from the middle outwards through two fitted circles, and their scores
trace a smooth path. Far from all data a Gaussian kernel vanishes, and every point ends up in the same place (the
star).

With :math:`k_i(x) = k(x, x_i)`, its mean :math:`\bar k(x)`, and the row means :math:`a` and grand mean :math:`b` of
the fit,

.. math:: z_j(x) = \sum_i \alpha_{ij} \bigl( k_i(x) - \bar k(x) - a_i + b \bigr) .
"""

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import KernelPCA, datasets

plt.rcParams.update({"font.size": 13, "axes.titlesize": 15})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})

BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"

circles = datasets.load("two-circles", n=300)
X, outer = circles.data, np.array(circles.labels) == "outer"
model = KernelPCA(3, kernel="rbf", gamma=2.0)
Z = model.fit_transform(X)
same = np.abs(model.transform(X) - Z).max()
print(f"The fitted points, projected again, have the same scores within {same:.0e}.")

t = np.linspace(0, 1, 161)
walk = 1.36 * t[:, None] * np.column_stack([np.cos(2.8 * np.pi * t), np.sin(2.8 * np.pi * t)])
outwards = np.outer(np.linspace(1, 4, 100), walk[-1])
path, on, far = (model.transform(rows)[:, [0, 2]] for rows in (walk, outwards, [[100.0, 100.0]]))

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 5.4), layout="constrained")
left.plot(*outwards[:15].T, color=GREEN, lw=3, ls=":")
right.plot(*on.T, color=GREEN, lw=3, ls=":")
for ax, fitted, new in ((left, X, walk), (right, Z[:, [0, 2]], path)):
    ax.scatter(*fitted[outer].T, s=22, color=BLUE, alpha=0.6, linewidths=0)
    ax.scatter(*fitted[~outer].T, s=22, color=ORANGE, marker="s", alpha=0.6, linewidths=0)
    ax.plot(*new.T, color=GREEN, lw=3)
    for number, place in enumerate(new[::40], start=1):
        ax.plot(*place, "o", ms=21, color=GREEN)
        ax.text(*place, str(number), color="white", ha="center", va="center_baseline", weight="bold")
    ax.set(xticks=[], yticks=[])
left.set_axis_off()
right.plot(*far[0], "*", ms=24, color="#7f7f7f", zorder=5)
arrow = {"arrowstyle": "-", "color": "#7f7f7f"}
right.annotate(
    "far from all data", far[0], (30, 90), textcoords="offset points", ha="left", arrowprops=arrow
)
left.set(title="two fitted circles and a walk of new points", aspect="equal")
right.set(title="their scores", xlabel="score on component 1", ylabel="score on component 3")
plt.show()

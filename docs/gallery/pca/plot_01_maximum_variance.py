r"""
The direction of largest variance
=================================

Points cast shadows on every direction through their cloud, and the shadows have a variance. As the direction turns,
this variance rises and falls. It is largest along the first principal component and smallest along the last, and the
two are at right angles. The cloud consists of two lengths measured on 150 iris flowers.

The variance of the scores :math:`z_i = v^\top (x_i - \mu)` on a unit vector :math:`v` is a quadratic form of the
covariance matrix,

.. math:: \operatorname{var}(z) = v^\top S v, \qquad \max_{\|v\| = 1} v^\top S v = \lambda_1 ,

and it is attained where :math:`S v = \lambda_1 v`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from eigenlens import PCA

plt.rcParams.update({"font.size": 13, "axes.titlesize": 15})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#7f7f7f"

X = load_iris().data[:, [2, 0]]
pca = PCA().fit(X)
S, lam = pca.get_covariance(), pca.explained_variance_
angle = np.linspace(0, 180, 361)
V = np.column_stack([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
variance = np.einsum("ij,jk,ik->i", V, S, V)

first, last = (np.degrees(np.arctan2(v[1], v[0])) % 180 for v in pca.components_)
between = (first + 45) % 180
shown = [
    (first, BLUE, (22, 4), f"first component\n{lam[0]:.2f} cm² at {first:.0f}°"),
    (
        between,
        GREY,
        (20, 6),
        f"a direction between\n{np.interp(between, angle, variance):.2f} cm² at {between:.0f}°",
    ),
    (last, ORANGE, (-52, 10), f"last component\n{lam[1]:.2f} cm² at {last:.0f}°"),
]

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
left.scatter(*X.T, s=26, color=GREEN, alpha=0.65, linewidths=0)
for degrees, colour, offset, text in shown:
    v = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    spread = 2 * np.sqrt(v @ S @ v)
    left.plot(
        *np.transpose([pca.mean_ - spread * v, pca.mean_ + spread * v]),
        color=colour,
        lw=4,
        solid_capstyle="round",
    )
    right.plot(degrees, v @ S @ v, "o", ms=12, color=colour)
    side = "left" if offset[0] > 0 else "right"
    right.annotate(
        text,
        (degrees, v @ S @ v),
        offset,
        textcoords="offset points",
        color=colour,
        va="center",
        ha=side,
    )
left.set(
    xlabel="petal length (cm)",
    ylabel="sepal length (cm)",
    title="bars: ±2 standard deviations of the shadow",
)
left.set_aspect("equal", adjustable="datalim")
right.plot(angle, variance, color=GREEN, lw=3, zorder=1)
right.set(
    xlabel="direction (degrees)",
    xticks=range(0, 181, 45),
    ylim=(0, 4.2),
    ylabel="variance of the shadow (cm²)",
)
right.set_title("the peak is the first component")
plt.show()

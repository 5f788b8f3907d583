r"""
Principal component against Fisher's discriminant
=================================================

Two kinds of points lie in two long parallel clouds. The first principal component follows the largest variance along
the clouds, and mixes the kinds. Fisher's discriminant, which knows the labels, separates them: it looks for the
direction in which the means are far apart compared with the spread within.

With :math:`B` the covariance of the class means and :math:`C` that within classes,

.. math:: v_{\text{PCA}} = \arg\max_v \frac{v^\top S v}{v^\top v} , \qquad
          v_{\text{Fisher}} = \arg\max_v \frac{v^\top B v}{v^\top C v} .
"""

import matplotlib.pyplot as plt
import numpy as np

import eigenlens
from eigenlens import PCA, KernelDensity, LinearDiscriminant

plt.rcParams.update({"font.size": 14, "axes.titlesize": 15})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
COLOURS = ["#0072B2", "#D55E00"]

rng = np.random.default_rng(2)
n, shape = 150, np.array([[3.0, 1.6], [1.6, 1.1]])
y = np.repeat([0, 1], n)
X = rng.multivariate_normal([0, 0], shape, 2 * n) + np.outer(y - 0.5, [1.75, -0.55])

pca, fisher = PCA(n_components=1).fit(X), LinearDiscriminant().fit(X, y)
directions = {"first component": pca.components_[0], "Fisher's discriminant": fisher.scalings_[:, 0]}
cosine = pca.components_[0] @ fisher.scalings_[:, 0] / np.linalg.norm(fisher.scalings_[:, 0])

fig = plt.figure(figsize=(11, 5.6), layout="constrained")
grid = fig.add_gridspec(2, 2, width_ratios=[1.15, 1])
cloud = fig.add_subplot(grid[:, 0])
for c in (0, 1):
    cloud.scatter(*X[y == c].T, s=26, color=COLOURS[c], marker="os"[c], alpha=0.7, linewidths=0)
for j, (name, v) in enumerate(directions.items()):
    v = v / np.linalg.norm(v) * np.sign(v[0])  # blue to the left
    z = X @ v
    line = np.outer([-1, 1], v) * [6.3, 3.4][j] + X.mean(axis=0)
    cloud.plot(*line.T, color="#7f7f7f", lw=3.5, ls=["-", "--"][j])
    end = line[line[:, 1].argmin()] - [0, 0.2]
    cloud.text(*end, name, ha=["left", "center"][j], va="top")
    right = LinearDiscriminant().fit(z[:, None], y).score(z[:, None], y)
    ax = fig.add_subplot(grid[j, 1])
    groups = {f"class {c}": KernelDensity().fit(z[y == c, None]) for c in (0, 1)}
    eigenlens.plot.density(groups, color=COLOURS, rug=False, ax=ax)
    ax.set_title(f"{name}: {right:.0%} separated", loc="left", color="black")
    ax.set(xlabel="")
cloud.set(aspect="equal")
cloud.set_axis_off()
cloud.set_title(f"the directions are {np.degrees(np.arccos(abs(cosine))):.0f}° apart")
plt.show()

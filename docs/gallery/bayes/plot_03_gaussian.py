r"""
Gaussian naive Bayes: a bell for every column in every class
============================================================

The plot shows two measurements of three kinds of wine. Within each kind every column has a Gaussian of its own, drawn
along the margins, and their product is a Gaussian without tilt, drawn as ellipses. A wine is assigned to the kind for
which density times share is largest, and the borders between the kinds are curves, pieces of ellipses or hyperbolas.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score

from eigenlens import NaiveBayes

COLOURS = "#0072B2", "#D55E00", "#009E73"
PLACES = (14.1, 4.2), (11.0, 3.9), (14.3, 0.25)
plt.rcParams.update({"font.size": 13})

wine = load_wine()
columns = [wine.feature_names.index(name) for name in ("alcohol", "flavanoids")]
X, y = wine.data[:, columns], wine.target
rule = NaiveBayes("gaussian").fit(X, y)

low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
u, v = (np.linspace(low[j], high[j], 300) for j in range(2))
grid = np.stack(np.meshgrid(u, v), axis=-1)
winner = rule.predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])

shape = {"width_ratios": [4, 1], "height_ratios": [1, 4], "sharex": "col", "sharey": "row"}
figure, axes = plt.subplots(2, 2, figsize=(8, 6.6), layout="constrained", **shape)
(above, corner), (ax, beside) = axes
corner.set_axis_off()
ax.contourf(u, v, winner, levels=[-0.5, 0.5, 1.5, 2.5], cmap=ListedColormap(COLOURS), alpha=0.13)
ax.contour(u, v, winner, levels=[0.5, 1.5], colors="0.5", linewidths=1)
for c, colour in enumerate(COLOURS):
    ax.plot(*X[y == c].T, "o", color=colour, markersize=6, alpha=0.8, markeredgewidth=0)
    across = np.exp(rule.density(0, c).log_density(u[:, None]))
    up = np.exp(rule.density(1, c).log_density(v[:, None]))
    product = np.outer(up, across)
    ax.contour(u, v, product, levels=product.max() * np.exp([-2.0, -0.5]), colors=colour, linewidths=2)
    above.fill_between(u, across, color=colour, alpha=0.35, linewidth=0)
    beside.fill_betweenx(v, up, color=colour, alpha=0.35, linewidth=0)
    ax.text(*PLACES[c], f"kind {c + 1}", color=colour, weight="bold")
above.set_axis_off()
beside.set_axis_off()
ax.set(xlabel="alcohol (%)", ylabel="flavanoids")
right = cross_val_score(rule, X, y, cv=10).mean()
above.set_title(f"{right:.0%} of wines held out are recognised, by two columns", fontsize=14)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# .. math:: p(x \mid c) = \prod_{j=1}^d N(x_j \mid \mu_{cj}, \sigma_{cj}^2), \qquad
#           \hat c = \operatorname*{argmax}_c \; \ln \pi_c + \sum_j \ln N(x_j \mid \mu_{cj}, \sigma_{cj}^2)
#
# The ellipses are drawn at one and two standard deviations.

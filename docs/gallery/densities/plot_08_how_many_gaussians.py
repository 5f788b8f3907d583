r"""
How many Gaussians? Let BIC choose
==================================

More Gaussians always fit the rows at hand better; the Bayesian information criterion makes every parameter pay
:math:`\log n`. Among mixtures of one to six components with four structures of their covariances it picks the one on
the right. Simple structures need more components to cover the same clouds, and pay for them.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

import eigenlens

COLOURS = {"spherical": "#E69F00", "diag": "#009E73", "tied": "#CC79A7", "full": "#0072B2"}
ALIGNED = {"spherical": "bottom", "diag": "top"}  # so that the names keep clear of each other
plt.rcParams.update({"font.size": 13})

rng = np.random.default_rng(2)
clouds = (
    ([-3.0, 0.0], [[1.2, 0.9], [0.9, 1.0]], 160),
    ([2.5, 1.5], [[1.0, -0.8], [-0.8, 1.0]], 140),
    ([1.0, -3.0], [[2.0, 0.0], [0.0, 0.2]], 100),
)
X = np.concatenate([rng.multivariate_normal(*cloud) for cloud in clouds])
table = eigenlens.select_mixture(X, range(1, 7), random_state=0, n_init=3)
best = table.best

figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 5.2), layout="constrained", width_ratios=[1.25, 1]
)
types = np.array(table.types)
for name, colour in COLOURS.items():
    order = np.flatnonzero(types == name)[np.argsort(table.components[types == name])]
    left.plot(table.components[order], table.bic[order], "o-", color=colour, linewidth=3, markersize=7)
    left.text(
        6.15, table.bic[order[-1]], name, color=colour, weight="bold", va=ALIGNED.get(name, "center")
    )
ring = {"facecolors": "none", "edgecolors": "black", "linewidths": 2, "zorder": 3}
left.scatter(best.n_components_, best.bic(), 320, **ring)
left.set(xlabel="Gaussians", ylabel="BIC (less is better)", xlim=(0.8, 7.4), xticks=range(1, 7))
left.spines[["top", "right"]].set_visible(False)

right.scatter(*X.T, s=14, color="0.6", linewidths=0)
for mean, C in zip(best.means_, best.covariances_, strict=True):
    lam, V = np.linalg.eigh(C)
    tilt = np.degrees(np.arctan2(V[1, 1], V[0, 1]))
    size = 4 * np.sqrt(lam[::-1])  # two standard deviations to each side
    right.add_patch(Ellipse(mean, *size, angle=tilt, fill=False, color=COLOURS["full"], linewidth=3))
right.set(aspect="equal", xticks=[], yticks=[])
right.set_title(f"the best: {best.n_components_} Gaussians, {best.covariance_type}", fontsize=14)
right.spines[:].set_visible(False)
plt.show()

# %%
# .. math:: \mathrm{BIC} = -2 \log L + p \log n
#
# with :math:`p` free parameters: :math:`k - 1` shares, :math:`kd` means and, where covariances are full,
# :math:`k d (d + 1) / 2` variances and covariances.

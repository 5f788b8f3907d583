r"""
Three outcomes: the likelihood on a triangle
============================================

The shares of rock, paper and scissors sum to one, so every possible player is a point in a triangle: at a corner is a
player who always plays the same, in the middle one who cannot be read. The shaded likelihood peaks at the observed
fractions. Five times as many rounds give the same mountain at about half the width, which tells the player from
chance.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from eigenlens.densities import Categorical

RED = "#D55E00"
SHADES = LinearSegmentedColormap.from_list("shades", ["#0072B210", "#0072B2"])  # from clear to blue
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
NAMES = ("rock", "paper", "scissors")
plt.rcParams.update({"font.size": 13})

grid = np.stack(np.meshgrid(np.linspace(0, 1, 181), np.linspace(0, 1, 181)), axis=-1).reshape(-1, 2)
shares = np.column_stack([grid, 1.0 - grid.sum(axis=1)])[grid.sum(axis=1) <= 1.0 + 1e-12].clip(0.0)

figure, panels = plt.subplots(1, 2, figsize=(10.5, 4.9), layout="constrained")
figure.get_layout_engine().set(wspace=0.12)
for ax, counts in zip(panels, ([12, 7, 5], [60, 35, 25]), strict=True):
    fit = Categorical.fit(NAMES, sample_weight=counts, levels=NAMES)
    with np.errstate(divide="ignore"):
        loglik = np.log(shares) @ counts
    height = np.exp(loglik - fit.fitted.loglik)
    ax.tricontourf(*(shares @ CORNERS).T, height, levels=np.linspace(0.02, 1.0, 12), cmap=SHADES)
    ax.plot(*CORNERS[[0, 1, 2, 0]].T, color="0.5", linewidth=1.5)
    middle, best = np.full(3, 1 / 3) @ CORNERS, fit.probabilities @ CORNERS
    ax.plot(*middle, "P", color="0.5", markersize=11)
    ax.plot(*best, "o", color=RED, markersize=9)
    for j, (x, y) in enumerate(CORNERS):
        words = f"{NAMES[j]}\n{fit.probabilities[j]:.2f} ± {fit.standard_errors()[j]:.2f}"
        up = y > 0
        ax.text(x, y + (0.02 if up else -0.02), words, ha="center", va="bottom" if up else "top")
    ratio = np.exp(fit.fitted.loglik - np.log(1 / 3) * sum(counts))
    ax.set_title(
        f"{sum(counts)} rounds: {ratio:,.0f} times likelier than by chance", fontsize=14, pad=46
    )
    ax.set(aspect="equal", xlim=(-0.02, 1.02), ylim=(-0.02, 0.89))
    ax.set_axis_off()
panels[0].text(0.54, 0.33, "by chance", color="0.5", weight="bold")
plt.show()

# %%
# For counts :math:`n_1, \dots, n_L` the log-likelihood :math:`\sum_l n_l \ln \theta_l` under
# :math:`\sum_l \theta_l = 1` is largest at
#
# .. math:: \hat\theta_l = \frac{n_l}{n}, \qquad
#           \text{with standard errors } \sqrt{\hat\theta_l (1 - \hat\theta_l) / n} .

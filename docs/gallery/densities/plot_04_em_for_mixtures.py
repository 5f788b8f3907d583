r"""
EM for mixtures, step by step
=============================

Three Gaussians start in a bad place, two of them on the same cloud. Each step first asks how much every point belongs
to each of them (its colour), and then moves each Gaussian to the points that are its own. The likelihood never
falls: it rises slowly along a plateau while two Gaussians share a cloud, and settles when every cloud has its own.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.patches import Ellipse

from eigenlens import ConvergenceWarning, GaussianMixture

COLOURS = np.array([to_rgb(colour) for colour in ("#0072B2", "#D55E00", "#009E73")])
plt.rcParams.update({"font.size": 13})
warnings.simplefilter("ignore", ConvergenceWarning)  # most fits are stopped on the way

rng = np.random.default_rng(4)
clouds = (
    ([-2.5, 0.0], [[1.2, 0.8], [0.8, 0.9]], 150),
    ([2.5, 1.2], [[1.0, -0.6], [-0.6, 0.8]], 120),
    ([1.0, -3.0], [[2.0, 0.0], [0.0, 0.3]], 90),
)
X = np.concatenate([rng.multivariate_normal(*cloud) for cloud in clouds])
start = np.full(3, 1 / 3), np.array([[-2.0, 0.0], [-3.0, 0.5], [2.0, -1.0]]), np.array([np.eye(2)] * 3)


def fit_steps(steps):
    """The mixture after some steps of EM; the first pass only looks at the start."""
    return GaussianMixture(3, init=start, accelerate=False, max_iter=steps + 1, tol=1e-9).fit(X)


path = fit_steps(200).loglik_path_
figure = plt.figure(figsize=(11, 5.2), layout="constrained")
grid = figure.add_gridspec(2, 4, height_ratios=[1.9, 1])
below = figure.add_subplot(grid[1, :])
below.plot(path, color="0.5", linewidth=3)
for place, steps in enumerate((0, 7, 20, 30)):
    mixture = fit_steps(steps)
    ax = figure.add_subplot(grid[0, place])
    ax.scatter(*X.T, c=mixture.predict_proba(X) @ COLOURS, s=12, alpha=0.7, linewidths=0)
    for mean, C, colour in zip(mixture.means_, mixture.covariances_, COLOURS, strict=True):
        lam, V = np.linalg.eigh(C)
        tilt = np.degrees(np.arctan2(V[1, 1], V[0, 1]))
        size = 4 * np.sqrt(lam[::-1])  # two standard deviations to each side
        ax.add_patch(Ellipse(mean, *size, angle=tilt, fill=False, color=colour, linewidth=3))
    ax.set(xlim=(-5.7, 5.5), ylim=(-4.9, 4.4), xticks=[], yticks=[], aspect="equal")
    ax.set_title(f"step {steps}" if steps else "start", fontsize=14)
    ax.spines[:].set_visible(False)
    below.scatter(steps, path[steps], 90, color="black", linewidths=0, zorder=3)
below.set(xlabel="step of EM", ylabel="log-likelihood", xlim=(-0.5, len(path)))
below.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The E-step gives each row its responsibilities, the M-step the weighted moments:
#
# .. math:: r_{ic} = \frac{\pi_c N(x_i \mid \mu_c, C_c)}{\sum_b \pi_b N(x_i \mid \mu_b, C_b)}, \qquad
#           \pi_c = \frac{1}{n} \sum_i r_{ic}, \quad \mu_c = \frac{\sum_i r_{ic} x_i}{\sum_i r_{ic}}, \quad
#           C_c = \frac{\sum_i r_{ic} (x_i - \mu_c)(x_i - \mu_c)^\top}{\sum_i r_{ic}} .

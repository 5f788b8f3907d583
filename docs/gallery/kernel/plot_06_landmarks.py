r"""
Landmarks with a certified error
================================

A Gram matrix of n points has n² entries, but a few well-chosen points, called landmarks, nearly determine it.
Randomly pivoted Cholesky draws each new landmark where the approximation is still bad, so the landmarks spread over
all groups, including small ones that uniform sampling misses. The share of the trace that is left out is known
exactly, and serves as the certificate.

With landmarks :math:`I` the Gram matrix is replaced by its Nyström approximation. Its error is a sum over the
diagonal that is known while the landmarks are drawn, and no choice of as many landmarks can do better than the
eigenvalues allow:

.. math:: \hat K = K_{:,I} K_{I,I}^{-1} K_{I,:} , \qquad
          \frac{\operatorname{tr}(K - \hat K)}{\operatorname{tr} K}
          \;\ge\; \frac{\sum_{j > |I|} \lambda_j(K)}{\operatorname{tr} K} .
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from eigenlens import KernelPCA

plt.rcParams.update({"font.size": 13, "axes.titlesize": 15})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#7f7f7f"

rng, gamma = np.random.default_rng(0), 1.0
groups = [((0, 0), 0.55, 1300), ((4.5, 1), 0.5, 150), ((-4, 2.2), 0.5, 30), ((1.5, 4), 0.5, 20)]
X = np.concatenate([rng.normal(centre, spread, (m, 2)) for centre, spread, m in groups])
centres = np.array([centre for centre, _, _ in groups])


def fit(rule, m, seed=0):
    """Kernel PCA from m landmarks."""
    return KernelPCA(
        2, kernel="rbf", gamma=gamma, approximation=rule, n_landmarks=m, random_state=seed
    ).fit(X)


counts, seeds = np.array([5, 10, 20, 40, 60, 80]), range(5)
lam = np.linalg.eigvalsh(rbf_kernel(X, gamma=gamma))[::-1]
least = 1 - np.cumsum(lam)[counts - 1] / lam.sum()

fig, panels = plt.subplot_mosaic(
    [["uniform", "error"], ["pivoted", "error"]], figsize=(11, 6), layout="constrained"
)
curve = panels["error"]
rules = {"nystroem": (ORANGE, "uniform", "s"), "rpcholesky": (BLUE, "pivoted", "o")}
for rule, (colour, name, marker) in rules.items():
    ax = panels[name]
    landmarks = fit(rule, 20).model_.rows
    reached = np.unique(np.linalg.norm(landmarks[:, None] - centres, axis=2).argmin(axis=1)).size
    ax.scatter(*X.T, s=9, color="#a5a5a5", linewidths=0)
    ax.scatter(*landmarks.T, s=75, color=colour, marker=marker, alpha=0.9, linewidths=0)
    ax.set_title(f"20 {name} landmarks reach {reached} of {len(groups)} groups", color=colour)
    ax.set(aspect="equal", xlim=(-5.3, 6.2), ylim=(-2.3, 5.4))
    ax.set_axis_off()
    errors = [np.mean([fit(rule, m, seed).approximation_error_ for seed in seeds]) for m in counts]
    curve.semilogy(counts, errors, marker + "-", color=colour, lw=3, ms=9)
    curve.text(83, errors[-1], name, color=colour, va="center")
curve.semilogy(counts, least, "--", color=GREY, lw=2)
curve.text(83, least[-1], "least\npossible", color=GREY, va="center")
curve.set(
    xlabel="landmarks",
    ylabel="share of the trace left out",
    title=f"{len(X)} points, mean of {len(seeds)} draws",
)
plt.show()

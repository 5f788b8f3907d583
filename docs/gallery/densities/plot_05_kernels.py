r"""
Kernel density estimates: a bump on every point
===============================================

Each of six points carries a bump of the same shape, and the sum of the bumps is the estimate. The shape of the bump,
the kernel, matters less than one might think. A box gives steps and a triangle corners, and what a single point adds
may melt away, but the two high hills and the valley between them stay. The bandwidths are matched so that every
kernel smooths as much as the Gaussian does.
"""

import matplotlib.pyplot as plt
import numpy as np

import eigenlens
from eigenlens import KernelDensity

BLUE, RED = "#0072B2", "#D55E00"
plt.rcParams.update({"font.size": 13})

points = np.array([-2.4, -1.4, -1.0, 0.4, 2.1, 2.7])
y = np.linspace(-4.2, 4.4, 1101)


def matched(kernel, h):
    """The bandwidth of a kernel that smooths as much as a Gaussian of bandwidth h.

    Rules find a bandwidth for the Gaussian and convert it to the kernel; the ratio is what is wanted.
    """
    found = KernelDensity(kernel=kernel, bandwidth="silverman").fit(points[:, None])
    return h * found.bandwidth_ / eigenlens.bandwidth(points, "silverman")


figure, panels = plt.subplots(2, 3, figsize=(10.5, 5.4), layout="constrained", sharex=True, sharey=True)
kernels = "gaussian", "epanechnikov", "cosine", "biweight", "triangular", "box"
for ax, kernel in zip(panels.flat, kernels, strict=True):
    kde = KernelDensity(kernel=kernel, bandwidth=matched(kernel, 0.45)).fit(points[:, None])
    for x in points:
        bump = KernelDensity(kernel=kernel, bandwidth=kde.bandwidth_).fit([[x]])
        ax.fill_between(y, bump.density(y[:, None]) / len(points), color=BLUE, alpha=0.22, linewidth=0)
    ax.plot(y, kde.density(y[:, None]), color=RED, linewidth=3)
    ax.plot(points, np.full(6, -0.012), "|", color=BLUE, markersize=12, markeredgewidth=2.5)
    ax.set_title(f"{kernel}, h = {kde.bandwidth_:.2f}", fontsize=14)
    ax.set(yticks=[], xticks=[], xlim=(-4.2, 4.4))
    ax.spines[["top", "right", "left"]].set_visible(False)
plt.show()

# %%
# With a kernel :math:`K`, symmetric and of integral one, and the bandwidth :math:`h`,
#
# .. math:: \hat p(y) = \frac{1}{n h} \sum_{i=1}^n K\!\left(\frac{y - x_i}{h}\right) .
#
# Bandwidths in the ratio :math:`(R(K) / \kappa_2(K)^2)^{1/5}` smooth alike, where :math:`R(K) = \int K^2` and
# :math:`\kappa_2(K) = \int u^2 K(u)\,du` (Marron and Nolan 1988).

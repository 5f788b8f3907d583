r"""
A coin: maximum likelihood and its standard error
=================================================

For seven heads in ten tosses, and for seventy in a hundred, the likelihood is largest at the same proportion,
:math:`\hat\theta = 0.7`. More tosses change the width of the curve, and with it the standard error. After ten tosses a
fair coin is still well within reach; after a hundred it is not.
"""

import matplotlib.pyplot as plt
import numpy as np

from eigenlens.densities import Bernoulli, log_likelihood

BLUE, RED = "#0072B2", "#D55E00"
plt.rcParams.update({"font.size": 13})

p = np.linspace(0.001, 0.999, 999)
figure, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
for n, colour, height, where in ((10, BLUE, 0.42, 0.36), (100, RED, 0.88, 0.79)):
    tosses = np.repeat([1, 0], [7 * n // 10, 3 * n // 10])
    coin = Bernoulli.fit(tosses)
    likelihood = np.exp(log_likelihood(Bernoulli, tosses, p) - coin.fitted.loglik)
    ax.plot(p, likelihood, color=colour, linewidth=3)
    ax.fill_between(p, likelihood, color=colour, alpha=0.1, linewidth=0)
    words = f"{tosses.sum()} heads of {n}\np = {coin.probability:.1f} ± {coin.standard_errors():.3f}"
    ax.text(where, height, words, color=colour, weight="bold", ha="left" if n > 10 else "right")
    low, high = coin.confidence_intervals()
    below = -0.05 if n > 10 else -0.11
    ax.plot([low, high], [below, below], color=colour, linewidth=5, solid_capstyle="butt")
    ax.plot(coin.probability, below, "o", color=colour, markersize=9)
ax.text(0.35, -0.08, "95% intervals", ha="right", va="center")
ax.axvline(0.5, color="0.5", linestyle=":", linewidth=2)
ax.text(0.49, 1.02, "fair", color="0.5", ha="right", va="top", weight="bold")
ax.set(
    xlabel="probability of heads θ", ylabel="likelihood (highest = 1)", xlim=(0, 1), ylim=(-0.15, 1.08)
)
ax.set_yticks([0, 0.5, 1])
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The likelihood of :math:`n_1` heads in :math:`n` tosses is :math:`\theta^{n_1} (1 - \theta)^{n - n_1}`. Its logarithm
# has the derivative :math:`n_1 / \theta - (n - n_1) / (1 - \theta)`, which is zero at
#
# .. math:: \hat\theta = \frac{n_1}{n}, \qquad \text{standard error} \; \sqrt{\frac{\hat\theta (1 - \hat\theta)}{n}} .
#
# The intervals below the curves are Wilson's.

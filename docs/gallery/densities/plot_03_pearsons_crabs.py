r"""
Pearson's crabs: the first mixture
==================================

Weldon measured a thousand shore crabs in Naples, and the histogram leaned to one side. Pearson's guess of 1894 was
that two kinds of crabs are mixed, and he fitted two Gaussians by their moments and an equation of ninth degree. Here
they are found by maximum likelihood, from the counts of the 29 bins as they were published.
"""

import matplotlib.pyplot as plt
import numpy as np

import eigenlens
from eigenlens import GaussianMixture
from eigenlens.densities import bin_edges

BLUE, RED = "#0072B2", "#D55E00"
plt.rcParams.update({"font.size": 13})

crabs = eigenlens.datasets.load("crabs")
centres, counts = crabs.data[:, 0], crabs.weight
edges = bin_edges(centres)
one = GaussianMixture(1).fit_binned(edges, counts)
two = GaussianMixture(2, random_state=0).fit_binned(edges, counts)

x = np.linspace(0.58, 0.703, 500)[:, None]
crabs_a_bin = counts.sum() * 0.004  # from a density to an expected count
density = crabs_a_bin * np.exp(two.score_samples(x))
parts = two.predict_proba(x) * density[:, None]

figure, ax = plt.subplots(figsize=(9, 4.8), layout="constrained")
ax.bar(centres, counts, width=0.0037, color="0.8")
ax.plot(x, crabs_a_bin * np.exp(one.score_samples(x)), color="0.5", linewidth=2, linestyle="--")
ax.plot(x, density, color="black", linewidth=3)
looks = (BLUE, 0.686, 52), (RED, 0.6045, 33)
for k, (part, (colour, *place)) in enumerate(zip(parts.T, looks, strict=True)):
    pi, mu, deviation = two.weights_[k], two.means_[k, 0], np.sqrt(two.covariances_[k, 0, 0])
    ax.plot(x, part, color=colour, linewidth=2.5)
    ax.fill_between(x[:, 0], part, color=colour, alpha=0.2, linewidth=0)
    words = f"{pi:.0%} of the crabs\n{mu:.3f} ± {deviation:.3f}"
    ax.text(*place, words, color=colour, weight="bold", ha="center", va="bottom")
ax.text(0.7, 92, f"two Gaussians: −{-two.loglik_:.2f}", weight="bold", ha="right")
ax.text(0.7, 84, f"one Gaussian: −{-one.loglik_:.2f}", color="0.5", weight="bold", ha="right")
ax.set(xlabel="forehead / body length", ylabel="crabs", xlim=(0.581, 0.701))
ax.set_title("Log-likelihood of the counts", fontsize=13, loc="right")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# A bin from :math:`a` to :math:`b` has the probability
#
# .. math:: P = \sum_k \pi_k \left[ \Phi\!\left(\tfrac{b - \mu_k}{\sigma_k}\right)
#               - \Phi\!\left(\tfrac{a - \mu_k}{\sigma_k}\right) \right],
#
# and EM maximises :math:`\sum \text{count} \cdot \log P` over the bins, so that nothing is lost by rounding to centres.

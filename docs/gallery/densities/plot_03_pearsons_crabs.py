r"""
Pearson's crabs: the first mixture
==================================

Weldon measured a thousand shore crabs in Naples, and their histogram leaned to one side. Pearson guessed in 1894 that
two kinds of crabs were mixed, and fitted two Gaussians by their moments, which led him to an equation of the ninth
degree. Here they are found by maximum likelihood from the counts of the 29 bins as they were published.
"""

import matplotlib.pyplot as plt

import eigenlens
from eigenlens import GaussianMixture
from eigenlens.densities import bin_edges

plt.rcParams.update({"font.size": 14})

crabs = eigenlens.datasets.load("crabs")
centres, counts = crabs.data[:, 0], crabs.weight
edges = bin_edges(centres)
one = GaussianMixture(1).fit_binned(edges, counts)
two = GaussianMixture(2, random_state=0).fit_binned(edges, counts)

figure, panels = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained", sharey=True)
for ax, mixture in zip(panels, (one, two), strict=True):
    eigenlens.plot.mixture_density(mixture, bins=(edges, counts), ax=ax)
    words = "one Gaussian" if mixture is one else "two Gaussians"
    ax.set_title(f"{words}: log-likelihood −{-mixture.loglik_:.2f}", loc="left", color="black")
    ax.set(xlabel="forehead / body length", ylabel="density of 1000 crabs")
plt.show()

# %%
# A bin from :math:`a` to :math:`b` has the probability
#
# .. math:: P = \sum_c \pi_c \int_a^b N(x \mid \mu_c, \sigma_c^2) \, dx,
#
# and EM maximises :math:`\sum \text{count} \cdot \ln P` over the bins, so that nothing is lost by rounding to centres.

r"""
How many Gaussians? Let BIC choose
==================================

More Gaussians always fit the rows at hand better, but the Bayesian information criterion makes every parameter pay
:math:`\ln n`. Among mixtures of one to six components with four covariance structures it picks the one on
the right. Simple structures need more components to cover the same clouds, and pay for them.
"""

import matplotlib.pyplot as plt
import numpy as np

import eigenlens

plt.rcParams.update({"font.size": 14})

rng = np.random.default_rng(2)
clouds = (
    ([-3.0, 0.0], [[1.2, 0.9], [0.9, 1.0]], 160),
    ([2.5, 1.5], [[1.0, -0.8], [-0.8, 1.0]], 140),
    ([1.0, -3.0], [[2.0, 0.0], [0.0, 0.2]], 100),
)
X = np.concatenate([rng.multivariate_normal(*cloud) for cloud in clouds])
table = eigenlens.select_mixture(X, range(1, 7), random_state=0, n_init=3)
best = table.best

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
eigenlens.plot.mixture_selection(table, ax=left)
eigenlens.plot.mixture(best, X, ax=right)
words = f"the best: {best.n_components_} Gaussians, {best.covariance_type}"
right.set_title(words, loc="left", color="black")
left.set(xlabel="Gaussians", ylabel="BIC (less is better)")
plt.show()

# %%
# .. math:: \mathrm{BIC} = -2 \ell + a \ln n
#
# with :math:`\ell` the log-likelihood and :math:`a` free parameters: :math:`G - 1` shares, :math:`G d` means
# and, where covariances are full, :math:`G d (d + 1) / 2` variances and covariances.

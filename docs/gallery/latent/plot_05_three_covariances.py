r"""
Factor analysis, probabilistic PCA and PCA: three covariances
=============================================================

Twelve questions measure three traits, four questions each, which makes three blocks in the covariance :math:`S`. One
question was answered carelessly, and its variance is large. PCA and probabilistic PCA follow variance and spend a
component on that noise, so a trait is lost. Factor analysis gives every question a noise of its own, and keeps all
three blocks.
"""

import matplotlib.pyplot as plt
import numpy as np

import eigenlens
from eigenlens import PCA, FactorAnalysis, ProbabilisticPCA

plt.rcParams.update({"font.size": 12})

X = eigenlens.datasets.load("questionnaire", n=1000).data.copy()
careless = 3
X[:, careless] += np.random.default_rng(0).normal(0.0, 2.5, len(X))
S = np.cov(X, rowvar=False)

loadings = PCA(3).fit(X).loadings_
models = {
    "PCA\nWWᵀ": loadings @ loadings.T,
    "probabilistic PCA\nWWᵀ + σ²I": ProbabilisticPCA(3).fit(X).get_covariance(),
    "factor analysis\nWWᵀ + Ψ": FactorAnalysis(3).fit(X).get_covariance(),
}
figure, axes = plt.subplots(2, 4, figsize=(10.5, 5.6), layout="constrained")
look = {"cmap": "RdBu_r", "vmin": -2, "vmax": 2}
axes[0, 0].imshow(S, **look)
axes[0, 0].set_title("the data\nS", fontsize=13)
axes[1, 0].text(0.5, 0.5, "S minus\nthe model", ha="center", va="center", fontsize=14)
for (name, C), above, below in zip(models.items(), axes[0, 1:], axes[1, 1:], strict=True):
    above.imshow(C, **look)
    above.set_title(name, fontsize=13)
    image = below.imshow(S - C, **look)
    off = (S - C)[~np.eye(len(S), dtype=bool)]
    below.set_title(f"off the diagonal: {np.sqrt(np.mean(off**2)):.3f}", y=-0.17, fontsize=12)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
figure.colorbar(image, ax=axes, shrink=0.6, extend="both", label="covariance")
plt.show()

# %%
# All three are :math:`x = Wz + \mu + e` with different noise: none, :math:`\sigma^2 I`, or :math:`\Psi` diagonal. The
# numbers are root mean squares of what the covariances of different questions are off by.

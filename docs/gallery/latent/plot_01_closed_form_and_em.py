r"""
Probabilistic PCA: closed form and EM
=====================================

Probabilistic PCA is a rare case of a latent variable model whose likelihood has a known maximum. EM does not know it,
starts anywhere, and improves with each step; from every start it arrives at the likelihood that one
eigendecomposition gives at once. The right plot shows the same paths as distances from the maximum. In the end each
step removes the same share, about a third by EM, and two thirds if the noise and the lengths of the loadings are
maximised outright in each step.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from eigenlens import ProbabilisticPCA

BLUE, RED, GREEN = "#0072B2", "#D55E00", "#009E73"
plt.rcParams.update({"font.size": 13, "axes.titlesize": 14})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})

X = load_wine().data
X = (X - X.mean(axis=0)) / X.std(axis=0)
top = ProbabilisticPCA(2).fit(X).loglik_
seeds = range(8)
paths, accelerated = (
    [ProbabilisticPCA(2, solver=solver, random_state=seed).fit(X).loglik_path_ for seed in seeds]
    for solver in ("em", "accelerated-em")
)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
for color, path in [(BLUE, path) for path in paths] + [(GREEN, path) for path in accelerated]:
    steps = np.arange(1, len(path) + 1)
    left.plot(steps, path, color=color, linewidth=1.8, alpha=0.7)
    right.semilogy(steps, np.maximum(top - path, 1e-9), color=color, linewidth=1.8, alpha=0.7)
left.axhline(top, color=RED, linewidth=2.5, linestyle="--")
left.text(50, top - 12, f"closed form: −{-top:.2f}", color=RED, ha="right", va="top", weight="bold")
left.text(50, -3130, f"EM from {len(paths)} random starts", color=BLUE, ha="right", weight="bold")
left.text(50, -3162, "accelerated EM", color=GREEN, ha="right", weight="bold")
left.set(title="EM converges to the known maximum", ylabel="log-likelihood")
right.set(title="Every step removes a fixed share", ylabel="below the maximum", ylim=(1e-7, 1e3))
for ax in (left, right):
    ax.set(xlabel="step of EM", xlim=(0, 50))
plt.show()

# %%
# With :math:`\lambda_1 \ge \dots \ge \lambda_d` and :math:`V` the eigenvalues and eigenvectors of the covariance with
# divisor :math:`n`, the maximum is at
#
# .. math:: W = V_k (\Lambda_k - \sigma^2 I)^{1/2}, \qquad \sigma^2 = \frac{1}{d - k} \sum_{j > k} \lambda_j .
#
# A step of EM (blue), with :math:`M = W^\top W + \sigma^2 I`, is
#
# .. math:: \tilde W = S W (\sigma^2 I + M^{-1} W^\top S W)^{-1}, \qquad
#    \tilde\sigma^2 = \tfrac1d \operatorname{tr}(S - S W M^{-1} \tilde W^\top) .
#
# The new :math:`W` lies in the space of :math:`S W`. Accelerated EM (green) takes the best :math:`W` and
# :math:`\sigma^2` of that space. EM is what remains when entries are missing, and nothing is known in closed form.

r"""
Probabilistic PCA: closed form and EM
=====================================

Probabilistic PCA is the rare latent variable model whose likelihood has a known maximum. EM does not know it, starts
anywhere, and improves with each step; from every start it arrives at the likelihood that one eigendecomposition gives
at once. On the right the same paths as distances from the maximum: each step removes about the same share.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from eigenlens import ProbabilisticPCA

BLUE, RED = "#0072B2", "#D55E00"
plt.rcParams.update({"font.size": 13, "axes.titlesize": 14})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})

X = load_wine().data
X = (X - X.mean(axis=0)) / X.std(axis=0)
top = ProbabilisticPCA(2).fit(X).loglik_
paths = [ProbabilisticPCA(2, solver="em", random_state=seed).fit(X).loglik_path_ for seed in range(8)]

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
for path in paths:
    steps = np.arange(1, len(path) + 1)
    left.plot(steps, path, color=BLUE, linewidth=1.8, alpha=0.7)
    right.semilogy(steps, np.maximum(top - path, 1e-9), color=BLUE, linewidth=1.8, alpha=0.7)
left.axhline(top, color=RED, linewidth=2.5, linestyle="--")
left.text(30, top - 12, f"closed form: −{-top:.2f}", color=RED, ha="right", va="top", weight="bold")
left.text(3.3, -3130, f"EM from {len(paths)} random starts", color=BLUE, weight="bold")
left.set(title="EM converges to the known maximum", ylabel="log-likelihood")
right.set(title="Every step removes a fixed share", ylabel="below the maximum", ylim=(1e-7, 1e3))
for ax in (left, right):
    ax.set(xlabel="step of EM", xlim=(0, 30))
plt.show()

# %%
# With :math:`\lambda_1 \ge \dots \ge \lambda_d` and :math:`V` the eigenvalues and eigenvectors of the covariance with
# divisor :math:`n`, the maximum is at
#
# .. math:: W = V_k (\Lambda_k - \sigma^2 I)^{1/2}, \qquad \sigma^2 = \frac{1}{d - k} \sum_{j > k} \lambda_j .
#
# EM is what remains when entries are missing, and nothing is known in closed form. (The steps here are those of EM for
# the directions, with :math:`\sigma^2` and the lengths of :math:`W` maximised outright in each.)

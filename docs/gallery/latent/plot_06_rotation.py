r"""
Rotation: factors one can name
==============================

The likelihood determines the space of the factors, but not the axes in it: :math:`W` and :math:`WT` with an
orthogonal :math:`T` give the same density. Before rotation, the loadings mix all questions into every factor. Varimax
turns the axes until each question loads on few factors, and the three traits behind the questionnaire can be read
off.
"""

import matplotlib.pyplot as plt
import numpy as np

import eigenlens
from eigenlens import FactorAnalysis

plt.rcParams.update({"font.size": 13})

answers = eigenlens.datasets.load("questionnaire", seed=5)
models = {
    "before rotation": FactorAnalysis(3, standardize=True).fit(answers.data),
    "after varimax": FactorAnalysis(3, standardize=True, rotation="varimax").fit(answers.data),
}
figure, axes = plt.subplots(1, 2, figsize=(8.6, 5.4), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    W = model.loadings_
    ax.imshow(W, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    for i, j in np.ndindex(W.shape):
        shade = "white" if abs(W[i, j]) > 0.55 else "black"
        ax.text(j, i, f"{W[i, j]:.2f}".replace("-", "−"), ha="center", va="center", color=shade)
    ax.set_title(f"{name}\nlog-likelihood −{-model.loglik_:.2f}", fontsize=13)
    ax.set_xticks(range(3), [f"factor {j + 1}" for j in range(3)])
    ax.set_yticks(range(12), answers.columns)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
plt.show()

# %%
# Varimax is the orthogonal :math:`T` for which the squared loadings :math:`WT` of each factor, of rows scaled to
# length one, have the largest variance. The log-likelihoods above are the same, because nothing in the fit has
# changed.

r"""
From probabilistic PCA to PCA: let the noise vanish
===================================================

Each point is joined to its reconstruction :math:`W\,E[z \mid x] + \mu`. A model with noise does not take a point at
face value: it pulls it towards the mean. As :math:`\sigma^2 \to 0`, the ellipse of the model collapses onto a line,
and the reconstructions become the orthogonal projections of ordinary PCA.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

from eigenlens import PCA, ProbabilisticPCA
from eigenlens.densities import LinearGaussian

BLUE, RED = "#0072B2", "#D55E00"
plt.rcParams.update({"font.size": 13})

X = np.random.default_rng(3).multivariate_normal([0.0, 0.0], [[2.6, 1.3], [1.3, 1.7]], size=40)
ppca = ProbabilisticPCA(1).fit(X)
lam, v, mu = ppca.explained_variance_[0], ppca.components_[0], ppca.mean_
projected = PCA(1).fit(X)
projected = projected.inverse_transform(projected.transform(X))

figure, panels = plt.subplots(1, 3, figsize=(11, 4.2), layout="constrained", sharex=True, sharey=True)
shares = {1.0: "= {:.2f}, as fitted", 0.3: "= {:.2f}", 1e-9: "→ 0"}
for ax, (share, word) in zip(panels, shares.items(), strict=True):
    noise = share * ppca.noise_variance_
    model = LinearGaussian(mean=mu, loadings=np.sqrt(lam - noise) * v[:, None], noise=noise)
    back = model.reconstruct(model.posterior(X)[0])
    tilt = np.degrees(np.arctan2(v[1], v[0]))
    size = 2 * 2.45 * np.sqrt([lam, noise])  # the ellipse that holds 95% of the model
    ax.add_patch(Ellipse(mu, *size, angle=tilt, facecolor=RED, edgecolor=RED, alpha=0.18))
    ax.axline(mu, mu + v, color=RED, linewidth=1.2)
    for x, y in zip(X, back, strict=True):
        ax.plot(*np.transpose([x, y]), color="0.55", linewidth=1.0, zorder=1)
    ax.plot(*X.T, "o", color=BLUE, markersize=5)
    ax.plot(*back.T, "o", color=RED, markersize=4)
    away = np.sqrt(np.mean(np.sum((back - projected) ** 2, axis=1)))
    ax.set_title(f"σ² {word.format(noise)}\n{away:.2f} from the projections", fontsize=14)
    ax.set(aspect="equal", xlim=(-4.6, 4.6), ylim=(-4.6, 4.4), xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
panels[0].text(4.5, -3.6, "data", color=BLUE, weight="bold", ha="right")
panels[0].text(4.5, -4.3, "reconstructions", color=RED, weight="bold", ha="right")
plt.show()

# %%
# Given a row, the latent value is Gaussian with
#
# .. math:: E[z \mid x] = (W^\top W + \sigma^2 I)^{-1} W^\top (x - \mu),
#
# so along an axis of variance :math:`\lambda` the reconstruction falls short of the projection by the factor
# :math:`1 - \sigma^2 / \lambda`. (The distances in the titles are root mean squares.)

r"""
To standardise or not
=====================

Principal components follow variance, and variance has units. Of 13 measurements of 178 wines, proline is in milligrams
per litre and runs past a thousand: as measured, the first component is proline alone. Divide each column by its
standard deviation and all measurements speak, and the three cultivars separate, although no label was used.

Standardising means the eigenvectors of the correlation matrix in place of the covariance,

.. math:: x_{ij} \rightarrow \frac{x_{ij} - \mu_j}{s_j}, \qquad \sum_j \lambda_j = d .
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from eigenlens import PCA

plt.rcParams.update({"font.size": 13, "axes.titlesize": 15})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
COLOURS, MARKERS = ["#0072B2", "#D55E00", "#009E73"], ["o", "s", "^"]

wine = load_wine()
fig, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained", height_ratios=[2.2, 1])
for j, (standardize, title) in enumerate([(False, "as measured"), (True, "standardised")]):
    pca = PCA(n_components=2, standardize=standardize).fit(wine.data)
    Z, share = pca.transform(wine.data), pca.explained_variance_ratio_
    for c in range(3):
        rows = Z[wine.target == c]
        axes[0, j].scatter(*rows.T, s=34, color=COLOURS[c], marker=MARKERS[c], alpha=0.75, linewidths=0)
        if standardize:
            above = rows[:, 1].mean() > 0
            place = rows[:, 0].mean(), rows[:, 1].max() + 0.35 if above else rows[:, 1].min() - 0.35
            axes[0, j].text(
                *place, f"cultivar {c + 1}", color=COLOURS[c], ha="center", va="center", weight="bold"
            )
    axes[0, j].set(xlabel=f"PC1 ({share[0]:.1%})", ylabel=f"PC2 ({share[1]:.1%})", title=title)
    axes[0, j].margins(0.08, 0.12)
    part = pca.contributions()[:, 0]
    top = int(part.argmax())
    axes[1, j].bar(range(13), part, color="#7f7f7f")
    axes[1, j].text(
        top - 0.6,
        min(part[top] + 8, 90),
        f"{wine.feature_names[top]} {part[top]:.2f}%",
        ha="right",
        va="center",
    )
    axes[1, j].set(
        ylim=(0, 105), yticks=[0, 50, 100], xticks=[], xlabel="the 13 measurements", ylabel="% of PC1"
    )
plt.show()

r"""
To standardise or not
=====================

Principal components follow variance, and variance has units. Among 13 measurements of 178 wines, proline is given in
milligrams per litre and exceeds a thousand, so the first component of the raw data is proline alone. If each column
is divided by its standard deviation, all measurements have a say, and the three cultivars separate, although no label
was used.

Standardising means taking the eigenvectors of the correlation matrix instead of the covariance matrix,

.. math:: x_{ij} \rightarrow \frac{x_{ij} - \mu_j}{s_j}, \qquad \sum_j \lambda_j = d .
"""

import matplotlib.pyplot as plt

import eigenlens
from eigenlens import PCA

plt.rcParams.update({"font.size": 14})

wine = eigenlens.datasets.load("wine")
fig, axes = plt.subplots(2, 2, figsize=(11, 7.4), layout="constrained", height_ratios=[2.2, 1])
for j, (standardize, title) in enumerate([(False, "as measured"), (True, "standardised")]):
    pca = PCA(n_components=2, standardize=standardize).fit(wine.data)
    eigenlens.plot.scores(pca, wine.data, color=wine.labels, ax=axes[0, j])
    part = pca.contributions()[:, 0]
    top = int(part.argmax())
    axes[1, j].bar(range(13), part, color="#7f7f7f")
    words = f"{wine.columns[top]} {part[top]:.2f}%"
    axes[1, j].text(top - 0.6, min(part[top] + 8, 90), words, ha="right", va="center")
    axes[0, j].set_title(title, loc="left", color="black")
    axes[1, j].set(
        ylim=(0, 105), yticks=[0, 50, 100], xticks=[], xlabel="the 13 measurements", ylabel="% of PC1"
    )
plt.show()

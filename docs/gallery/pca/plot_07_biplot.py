r"""
Biplot: rows and columns in one plot
====================================

The table has what people in four countries eat of 17 foods, in grams per week. Points are countries, and arrows are
foods. A country lies far along an arrow if its people eat much more of that food than others do: potatoes in Northern
Ireland, fruit in Wales. Two components hold nearly all of the variance, so the plot can be trusted.

Points are scores, arrows are components. The inner product of a point and an arrow approximates the centred
entry of the table (Gabriel 1971):

.. math:: x_i - \mu \;\approx\; \sum_{j \le 2} z_{ij} v_j , \qquad \tilde X \approx Z_2 V_2^\top / \sqrt{n - 1}.

``eigenlens.plot.biplot(pca, food.data, labels=food.rows, names=food.columns)`` draws one in a single line, for any
table.
"""

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import PCA, datasets

plt.rcParams.update({"font.size": 13, "axes.titlesize": 15})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
BLUE, ORANGE, STRETCH = "#0072B2", "#D55E00", 700

food = datasets.load("uk-food")
pca = PCA(n_components=2).fit(food.data)
Z, V, share = pca.transform(food.data), pca.components_.T, pca.explained_variance_ratio_

fig, ax = plt.subplots(figsize=(9.5, 6.6), layout="constrained")
ax.axhline(0, color="#7f7f7f", lw=0.6)
ax.axvline(0, color="#7f7f7f", lw=0.6)
long = np.linalg.norm(V, axis=1) > 0.25
for (x, y), name, named in zip(STRETCH * V, food.columns, long, strict=True):
    ax.annotate(
        "",
        (x, y),
        (0, 0),
        arrowprops={"arrowstyle": "-|>", "color": ORANGE, "lw": 2 if named else 1, "shrinkA": 0},
    )
    if named:
        ha, va = ("left" if x > 0 else "right"), ("bottom" if y > 0 else "top")
        ax.annotate(
            name,
            (x, y),
            (4 * np.sign(x), 2 * np.sign(y)),
            textcoords="offset points",
            color=ORANGE,
            ha=ha,
            va=va,
        )
ax.scatter(*Z.T, s=140, color=BLUE, zorder=3)
for (x, y), name in zip(Z, food.rows, strict=True):
    down = 28 if name == "England" else 0  # below the arrows there
    ax.annotate(
        name, (x, y), (0, -down or 10), textcoords="offset points", color=BLUE, weight="bold",
        ha="center", va="top" if down else "bottom",
    )  # fmt: skip
ax.set(
    xlabel=f"PC1 ({share[0]:.0%} of the variance)", ylabel=f"PC2 ({share[1]:.0%})", xticks=[], yticks=[]
)
ax.set_title(f"two components hold {share.sum():.0%} of the variance of {len(V)} foods", loc="left")
ax.set_aspect("equal", adjustable="datalim")
ax.update_datalim(STRETCH * V)
ax.margins(0.16, 0.1)
plt.show()

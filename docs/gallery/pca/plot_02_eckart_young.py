r"""
The best approximation of rank k
================================

Keep k numbers for each digit instead of 64, and rebuild it. Of all k-dimensional planes, that of the first k
components leaves the smallest squared error, and this error is exactly the sum of the discarded eigenvalues (Eckart
and Young 1936). Planes in random directions do much worse.

With :math:`V_k` the first :math:`k` eigenvectors of :math:`S`, and any :math:`Q` with as many orthonormal columns,

.. math:: \frac{1}{n-1} \sum_i \|x_i - \mu - V_k V_k^\top (x_i - \mu)\|^2
          = \sum_{j > k} \lambda_j \;\le\; \frac{1}{n-1} \sum_i \|x_i - \mu - Q Q^\top (x_i - \mu)\|^2 .
"""

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import PCA, datasets

plt.rcParams.update({"font.size": 13, "axes.titlesize": 15})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#7f7f7f"

X = datasets.load("digits").data
full = PCA().fit(X)
S, lam, total = full.get_covariance(), full.explained_variance_, full.total_variance_
ranks = [1, 2, 4, 8, 16, 32, 64]
models = [PCA(n_components=k).fit(X) for k in ranks]
errors = [model.reconstruction_error(X, per_row=False) / total for model in models]
discarded = 1 - np.concatenate([[0.0], np.cumsum(lam)]) / total

rng = np.random.default_rng(0)
planes = [np.linalg.qr(rng.standard_normal((64, 64)))[0] for _ in range(20)]
random = [1 - np.cumsum(np.einsum("ij,jk,ki->i", U.T, S, U)) / total for U in planes]

fig = plt.figure(figsize=(11, 6.2), layout="constrained")
grid = fig.add_gridspec(2, len(ranks) + 1, height_ratios=[1, 2.6])
row = X[[3]]
rebuilt = [("the digit", row)] + [
    (f"k = {k}", model.inverse_transform(model.transform(row)))
    for k, model in zip(ranks, models, strict=True)
]
for j, (name, image) in enumerate(rebuilt):
    ax = fig.add_subplot(grid[0, j])
    ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
    ax.set_title(name)
    ax.set_axis_off()

ax = fig.add_subplot(grid[1, :])
for curve in random:
    ax.plot(range(65), [1, *curve], color=GREY, lw=1, alpha=0.4)
ax.plot(range(65), discarded, color=BLUE, lw=3)
ax.plot(ranks, errors, "o", color=ORANGE, ms=10)
ax.text(34, 0.53, "20 random planes of the same dimension", color=GREY)
ax.annotate(
    "line: sum of the discarded eigenvalues",
    (9, discarded[9]),
    (20, 14),
    textcoords="offset points",
    color=BLUE,
)
difference = np.abs(np.array(errors) - discarded[ranks]).max()
ax.annotate(
    f"dots: squared error measured on the digits\n(largest difference from the line: {difference:.0e})",
    (ranks[4], errors[4]), (26, 12), textcoords="offset points", color=ORANGE,
)  # fmt: skip
ax.set(
    xlabel="components kept, k", ylabel="share of variance lost", xlim=(-0.5, 65), ylim=(-0.02, 1.02)
)
ax.set_yticks([0, 0.5, 1], ["0", "½", "1"])
plt.show()

r"""
Which density? Ask rows it has not seen
=======================================

Four densities of the same two rings. On the rows they were fitted to, the narrow kernels win by far, for they have
learned the rows by heart. Rows held out give the honest ranking: a single Gaussian sees no ring, the narrow kernels see
nothing between the points, and the mixture and the kernels of a cross-validated bandwidth come out ahead.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap

import eigenlens
from eigenlens import GaussianMixture, KernelDensity

RED = "#D55E00"
SHADES = LinearSegmentedColormap.from_list("shades", ["#0072B210", "#0072B2"])  # from clear to blue
plt.rcParams.update({"font.size": 13})

X = eigenlens.datasets.load("two-circles", n=400, noise=0.07).data
densities = {
    "one Gaussian": GaussianMixture(1),
    "12 Gaussians": GaussianMixture(12, n_init=2, random_state=0),
    "cross-validated kernels": KernelDensity(bandwidth="mlcv"),
    "narrow kernels": KernelDensity(bandwidth=0.02),
}
table = eigenlens.compare(densities, X, cv=5, random_state=0)
print(table)

side = np.linspace(-1.45, 1.45, 160)
grid = np.stack(np.meshgrid(side, side), axis=-1)
figure, panels = plt.subplots(1, 4, figsize=(12, 4.2), layout="constrained", sharey=True)
for ax, (name, density) in zip(panels, densities.items(), strict=True):
    density.fit(X)
    height = np.sqrt(np.exp(density.score_samples(grid.reshape(-1, 2)))).reshape(grid.shape[:2])
    ax.contourf(side, side, height, levels=np.linspace(0.12, 1.0, 12) * height.max(), cmap=SHADES)
    ax.plot(*X.T, ".", color=RED, markersize=2)
    held_out = table.means[table.names.index(name)]
    words = f"fitted rows {density.score(X):+.2f}\nheld out {held_out:+.2f}".replace("-", "−")
    ax.set_title(name, fontsize=15, weight="bold" if name == table.best else "normal")
    ax.set_xlabel(words, fontsize=15)
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
plt.show()

# %%
# The score is the mean log density of a row, :math:`\frac{1}{n} \sum_i \log \hat f(x_i)`; held out, :math:`\hat f` is
# fitted to the four fifths of the rows that :math:`x_i` is not among. A difference of one is a factor of :math:`e` in
# the likelihood of every row. The table above has standard errors, of differences row by row.

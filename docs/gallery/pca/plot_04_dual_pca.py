r"""
Dual PCA: many columns, few rows
================================

With 60 people and 1600 genetic markers, the covariance matrix of the markers is large and nearly all of its
eigenvalues are zero. The small matrix of inner products between people has the same nonzero eigenvalues, and one
product with the data turns its eigenvectors into the components. The two ways agree up to rounding, but their costs
differ.

If :math:`u` is a unit eigenvector of the n × n matrix, a component of the d × d matrix is one product away:

.. math:: \tilde X \tilde X^\top u = \lambda u \quad\Longrightarrow\quad
          \tilde X^\top \tilde X v = \lambda v, \qquad v = \tilde X^\top u / \sqrt{\lambda} .
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import PCA, datasets

plt.rcParams.update({"font.size": 13, "axes.titlesize": 15})
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False})
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#7f7f7f"

genes = datasets.load("gene-map", n=60, markers=1600, side=3, generations=40).data


def fit(solver, d):
    """The model by one solver on the first d markers, and its shortest processor time of several."""
    times = []
    for _ in range(3 if d > 800 else 9):
        start = time.process_time()
        model = PCA(n_components=10, solver=solver).fit(genes[:, :d])
        times.append(time.process_time() - start)
    return model, min(times)


widths = [50, 100, 200, 400, 800, 1600]
primal, dual = ([fit(solver, d) for d in widths] for solver in ("covariance", "gram"))
apart = max(
    np.abs(a.explained_variance_ / b.explained_variance_ - 1).max()
    for (a, _), (b, _) in zip(primal, dual, strict=True)
)  # fmt: skip

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained", width_ratios=[1, 1])
n, d = len(genes), 800
for corner, width, height, colour, name in (
    ((0, 0), d, n, GREY, f"data: {n} people × {d} markers"),
    ((0, n + 110), d, d, ORANGE, f"covariance of markers: {d} × {d}"),
    ((d + 60, 0), n, n, BLUE, f"inner products\nof people: {n} × {n}"),
):
    left.add_patch(plt.Rectangle(corner, width, height, color=colour))
    left.text(corner[0], corner[1] - 14, name, color=colour, va="bottom")
left.set(xlim=(0, d + 320), ylim=(n + d + 110, -120), aspect="equal")
left.set_title("three matrices, to scale", loc="left")
left.set_axis_off()
for found, colour, name in (
    (primal, ORANGE, "eigenvectors\nof the covariance"),
    (dual, BLUE, "by inner products\n(the dual)"),
):
    spent = 1e3 * np.array([seconds for _, seconds in found])
    right.loglog(widths, spent, "o-", color=colour, lw=3, ms=9)
    right.text(widths[-1] * 1.12, spent[-1], name, color=colour, va="center")
right.set(xlabel="columns, d", ylabel="processor time (ms)", xticks=widths, xticklabels=widths)
right.minorticks_off()
right.set_title(f"ten eigenvalues agree to {apart:.0e}", loc="left")
plt.show()

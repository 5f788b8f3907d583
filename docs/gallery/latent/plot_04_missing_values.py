r"""
Missing values: filled in, with intervals
=========================================

A fifth of all entries in a table of 24 measurements of tumours was hidden, and factor analysis was fitted to the
rest. Each hidden entry gets a mean and an interval of its own, which is narrow if the rest of the row tells much. The
truth, which the model never saw, lies inside about as often as promised. The column mean errs more, and does not know
by how much.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from eigenlens import FactorAnalysis

BLUE, RED = "#0072B2", "#D55E00"
plt.rcParams.update({"font.size": 13, "axes.spines.top": False, "axes.spines.right": False})

table = load_breast_cancer()
twice = "perimeter", "area"  # as good as functions of the radius
distinct = [not any(word in name for word in twice) for name in table.feature_names]
names, truth = table.feature_names[distinct], table.data.compress(distinct, axis=1)
hidden = np.random.default_rng(1).random(truth.shape) < 0.2
X = np.where(hidden, np.nan, truth)

model = FactorAnalysis(4, random_state=0).fit(X)
filled, deviation = model.impute(X, return_std=True)
inside = np.abs(truth - filled) <= 1.96 * deviation
centre, scale = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
errors = [np.sqrt(np.mean(((guess - truth) / scale)[hidden] ** 2)) for guess in (centre, filled)]

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), width_ratios=[3, 1], layout="constrained")
j = list(names).index("mean concave points")
some = np.flatnonzero(hidden[:, j])[:45]
some = some[np.argsort(filled[some, j])]
margin = 1.96 * deviation[some, j]
left.errorbar(range(45), filled[some, j], margin, fmt="none", ecolor=BLUE, alpha=0.35, elinewidth=6)
left.plot(filled[some, j], "_", color=BLUE, markersize=6, markeredgewidth=2)
for good, marker, colour in ((True, "o", "black"), (False, "D", RED)):
    which = np.flatnonzero(inside[some, j] == good)
    left.scatter(which, truth[some[which], j], 36, marker=marker, color=colour, linewidths=0, zorder=3)
left.axhline(centre[j], color="0.5", linestyle=":", linewidth=2, zorder=0)
left.text(44, centre[j] - 0.002, "column mean", color="0.5", weight="bold", ha="right", va="top")
left.text(0, 0.17, "imputed, with 95% interval", color=BLUE, weight="bold")
left.text(0, 0.155, "the truth inside it", weight="bold")
left.text(0, 0.14, "the truth outside", color=RED, weight="bold")
share = inside[hidden].mean()
left.set_title(
    f"{share:.1%} of all {hidden.sum():,} hidden entries lie in their intervals", fontsize=14
)
left.set(xticks=[], xlabel="45 hidden entries of one column", ylabel=names[j])
bars = right.bar(["column\nmean", "model"], errors, color=["0.6", BLUE], width=0.6)
right.bar_label(bars, fmt="%.2f", padding=3, weight="bold")
right.set_title("error, in standard\ndeviations", fontsize=14)
right.spines["left"].set_visible(False)
right.set(yticks=[], ylim=(0, 1.15 * max(errors)))
plt.show()

# %%
# What is missing of a row, :math:`x_m`, is Gaussian given what is observed, :math:`x_o`; with :math:`W_o, \Psi_o` the
# rows of :math:`W` and entries of :math:`\Psi` of the observed columns, and :math:`W_m, \Psi_m` of the others,
#
# .. math:: E[x_m \mid x_o] = \mu_m + W_m E[z \mid x_o], \qquad
#           \mathrm{cov}[x_m \mid x_o] = \Psi_m + W_m (I + W_o^\top \Psi_o^{-1} W_o)^{-1} W_m^\top .

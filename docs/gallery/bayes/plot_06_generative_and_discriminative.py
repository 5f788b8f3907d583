r"""
Generative against discriminative
=================================

Naive Bayes and logistic regression draw the same kind of border. With few rows naive Bayes is ahead: it needs only
means and variances, and soon comes near the best it can do. If its assumption is wrong, that best is not very good,
and logistic regression, which assumes less, overtakes it (Ng and Jordan 2002). If the assumption is very wrong,
logistic regression is ahead from the start.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from eigenlens import NaiveBayes

BLUE, RED = "#0072B2", "#D55E00"
SIZES = np.array([10, 20, 40, 80, 160, 320, 640, 1000])
RULES = (NaiveBayes("shared-gaussian"), BLUE), (LogisticRegression(C=np.inf, tol=1e-3), RED)
plt.rcParams.update({"font.size": 14, "axes.spines.top": False, "axes.spines.right": False})
warnings.simplefilter("ignore", ConvergenceWarning)  # rows that can be separated: no maximum


def drawn(n, correlation, rng):
    """Rows (n, 30) of two classes: a third of the columns differ in mean, all are correlated alike."""
    y = np.arange(n) % 2
    own, common = rng.standard_normal((n, 30)), rng.standard_normal((n, 1))
    shift = np.where(np.arange(30) % 3 == 0, 0.8, 0.0)
    return np.sqrt(1 - correlation) * own + np.sqrt(correlation) * common + np.outer(y, shift), y


def errors(rule, n, correlation, draws=10):
    """Errors (draws,) on new rows, in per cent, after n rows; the rows are the same for every rule."""
    found = []
    for seed in range(draws):
        rng = np.random.default_rng([seed, n])
        fitted = rule.fit(*drawn(n, correlation, rng))
        found.append(100 - 100 * fitted.score(*drawn(1_000, correlation, rng)))
    return np.array(found)


figure, panels = plt.subplots(1, 3, figsize=(11.5, 4.5), layout="constrained", sharey=True)
for ax, correlation in zip(panels, (0.0, 0.1, 0.5), strict=True):
    for rule, colour in RULES:
        found = np.array([errors(rule, n, correlation) for n in SIZES])
        mean, spread = found.mean(axis=1), 2 * found.std(axis=1, ddof=1) / np.sqrt(found.shape[1])
        ax.plot(SIZES, mean, color=colour, linewidth=3)
        ax.fill_between(SIZES, mean - spread, mean + spread, color=colour, alpha=0.2, linewidth=0)
    word = f"correlated ({correlation})" if correlation else "independent"
    ax.set_title(f"columns {word}\ngiven the class", fontsize=15)
    ax.set(xscale="log", xlabel="training rows", ylim=(0, 40))
    ax.set_xticks([10, 100, 1000], ["10", "100", "1000"])
    ax.minorticks_off()
panels[0].set_ylabel("errors on new rows (%)")
panels[0].text(11, 11, "naive\nBayes", color=BLUE, weight="bold")
panels[0].text(90, 24, "logistic\nregression", color=RED, weight="bold")
plt.show()

# %%
# Both rules are :math:`\operatorname{sign}(w^\top x + b)`; naive Bayes maximises :math:`\sum_i \ln p(x_i, c_i)`,
# logistic regression :math:`\sum_i \ln p(c_i \mid x_i)`. With :math:`d` columns the first needs of the order of
# :math:`\ln d` rows to come near its limit, the second of the order of :math:`d`. The bands are two standard errors.

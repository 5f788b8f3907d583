r"""
Naive Bayes as a linear rule, and logistic regression
=====================================================

With one variance per column, common to all classes, naive Bayes draws a straight line, and its probabilities are those
of a logistic regression whose coefficients are read off means and variances. Where columns are independent given the
class, fitting the coefficients directly finds the same line. Where they are correlated, naive Bayes counts twice the
evidence that two columns share, and logistic regression does not.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from eigenlens import NaiveBayes

BLUE, RED, GREEN = "#0072B2", "#D55E00", "#009E73"
plt.rcParams.update({"font.size": 13})


def drawn(n, correlation, rng):
    """Rows (n, 2) of two classes that differ in their means."""
    y = rng.integers(0, 2, n)
    S = [[1.0, correlation], [correlation, 1.0]]
    return rng.multivariate_normal([0.0, 0.0], S, size=n) + np.outer(y, [2.0, 1.0]), y


rng = np.random.default_rng(0)
figure, panels = plt.subplots(1, 2, figsize=(10.5, 5.8), layout="constrained", sharey=True)
for ax, correlation in zip(panels, (0.0, 0.8), strict=True):
    X, y = drawn(3_000, correlation, rng)
    new, truth = drawn(50_000, correlation, rng)
    naive = NaiveBayes("shared-gaussian").fit(X, y)
    logistic = LogisticRegression(C=np.inf, max_iter=500).fit(X, y)  # no penalty: maximum likelihood
    for c, colour in enumerate((BLUE, RED)):
        ax.plot(*X[y == c][:300].T, "o", color=colour, markersize=5, alpha=0.5, markeredgewidth=0)
    rules = (
        ("naive Bayes", naive.to_logistic(), "0.45", "-"),
        ("logistic regression", logistic, GREEN, (0, (3, 1.5))),
    )
    for row, (name, rule, colour, style) in enumerate(rules):
        (w,), (b,) = rule.coef_, rule.intercept_
        ax.axline((-b / w[0], 0.0), slope=-w[0] / w[1], color=colour, linewidth=4, linestyle=style)
        print(f"correlation {correlation}, {name:20s} w = ({w[0]:5.2f}, {w[1]:5.2f})")
        words = f"{name}: {1 - rule.score(new, truth):.1%} errors"
        place = {"ha": "center", "transform": ax.transAxes}
        ax.text(0.5, -0.08 - 0.07 * row, words, color=colour, weight="bold", **place)
    ax.set(xlim=(-3.4, 5.4), ylim=(-3.1, 4.2), xticks=[], yticks=[], aspect="equal")
    ax.spines[:].set_visible(False)
    word = "independent" if correlation == 0.0 else f"correlated ({correlation})"
    ax.set_title(f"columns {word} given the class", fontsize=14)
plt.show()

# %%
# For two classes with shares :math:`\pi_0, \pi_1`, means :math:`\mu_0, \mu_1` and common variances
# :math:`\sigma_j^2`, Bayes' rule is :math:`p(1 \mid x) = 1 / (1 + e^{-(w^\top x + b)})` with
#
# .. math:: w_j = \frac{\mu_{1j} - \mu_{0j}}{\sigma_j^2}, \qquad
#           b = \log \frac{\pi_1}{\pi_0} + \sum_j \frac{\mu_{0j}^2 - \mu_{1j}^2}{2 \sigma_j^2} .
#
# ``to_logistic()`` gives that very rule as scikit-learn's ``LogisticRegression``; the largest difference between its
# probabilities and those of naive Bayes is rounding:

print(f"{np.abs(naive.to_logistic().predict_proba(new) - naive.predict_proba(new)).max():.1e}")

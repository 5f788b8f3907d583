r"""
Naive Bayes as a linear rule, and logistic regression
=====================================================

If each column has one variance that is common to all classes, naive Bayes draws a straight line, and its
probabilities are those of a logistic regression whose coefficients are read off means and variances. If columns are
independent given the class, fitting the coefficients directly finds the same line. If they are correlated, naive
Bayes counts the evidence that two columns share twice, and logistic regression does not.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import eigenlens
from eigenlens import NaiveBayes

GREEN = "#009E73"
plt.rcParams.update({"font.size": 14})


def drawn(n, correlation, rng):
    """Rows (n, 2) of two classes that differ in their means."""
    y = rng.integers(0, 2, n)
    S = [[1.0, correlation], [correlation, 1.0]]
    return rng.multivariate_normal([0.0, 0.0], S, size=n) + np.outer(y, [2.0, 1.0]), y


rng = np.random.default_rng(0)
figure, panels = plt.subplots(1, 2, figsize=(11, 5.6), layout="constrained")
for ax, correlation in zip(panels, (0.0, 0.8), strict=True):
    X, y = drawn(3_000, correlation, rng)
    new, truth = drawn(50_000, correlation, rng)
    naive = NaiveBayes("shared-gaussian").fit(X, y)
    logistic = LogisticRegression(C=np.inf, max_iter=500).fit(X, y)  # no penalty: maximum likelihood
    eigenlens.plot.decision(naive, X[:500], y[:500], ax=ax)
    (w,), (b,) = logistic.coef_, logistic.intercept_
    ax.axline((-b / w[0], 0.0), slope=-w[0] / w[1], color=GREEN, linewidth=4, linestyle=(0, (3, 1.5)))
    errors = [1 - rule.score(new, truth) for rule in (naive, logistic)]
    words = f"errors: naive Bayes {errors[0]:.1%},\nlogistic regression (dashed) {errors[1]:.1%}"
    word = "independent" if correlation == 0.0 else f"correlated ({correlation})"
    ax.set_title(f"columns {word} given the class", loc="left", color="black")
    ax.set(xlabel=words, ylabel="", xticks=[], yticks=[])
plt.show()

# %%
# For two classes with shares :math:`\pi_0, \pi_1`, means :math:`\mu_0, \mu_1` and common variances
# :math:`\sigma_j^2`, Bayes' rule is :math:`p(1 \mid x) = 1 / (1 + e^{-(w^\top x + b)})` with
#
# .. math:: w_j = \frac{\mu_{1j} - \mu_{0j}}{\sigma_j^2}, \qquad
#           b = \ln \frac{\pi_1}{\pi_0} + \sum_j \frac{\mu_{0j}^2 - \mu_{1j}^2}{2 \sigma_j^2} .
#
# ``to_logistic()`` gives that very rule as scikit-learn's ``LogisticRegression``; the largest difference between its
# probabilities and those of naive Bayes is rounding:

print(f"{np.abs(naive.to_logistic().predict_proba(new) - naive.predict_proba(new)).max():.1e}")

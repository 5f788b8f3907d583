"""The linear rule for incomplete rows: the observed entries of a row follow the rule of their columns alone.

    w_c = C_oo⁻¹ (m_c − m)_o,    o the observed columns

No d×d matrix is made where the covariance has few axes; rows with the same pattern of missing values are worked on
together.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.discriminant.fit import FisherRule
from eigenlens.densities.base import rows_by_pattern
from eigenlens.densities.covariance_axes import Axes


def _by_pattern(rule: FisherRule, X: Array) -> Iterator[tuple[Array, Array, FisherRule]]:
    """Yield the rows with each pattern, their observed columns, and the rule of these; rows without any are skipped."""
    for rows, seen in rows_by_pattern(X):
        if len(seen):
            which = np.arange(len(X))[rows]
            yield which, np.asarray(seen), rule if len(seen) == X.shape[1] else _of_columns(rule, seen)


def _of_columns(rule: FisherRule, seen: Array) -> FisherRule:
    return FisherRule(rule.prior, rule.means[:, seen], rule.covariance.part(seen))


def incomplete_log_likelihoods(rule: FisherRule, X: Array) -> Array:
    """Return ln p(x_o | c) (n, C) of incomplete rows X (n, d), up to one number per row; 0 where nothing is observed.

    >>> C = Axes.of_matrix(np.array([[1.0, 0.5], [0.5, 1.0]]), np.zeros(2, dtype=bool))
    >>> rule = FisherRule(np.array([0.5, 0.5]), np.array([[0.0, 0.0], [2.0, 0.0]]), C)
    >>> incomplete_log_likelihoods(rule, np.array([[1.0, np.nan], [np.nan, 3.0], [2.0, np.nan]]))
    array([[-0.5, -0.5], [ 0. ,  0. ], [-1.5,  0.5]])
    """
    found = np.zeros((len(X), len(rule.prior)))
    for which, seen, here in _by_pattern(rule, X):
        found[which] = here.log_likelihoods(X[np.ix_(which, seen)])
    return found


def linear_contributions(rule: FisherRule, X: Array, a: Array, b: Array) -> Array:
    """Return what each entry of rows X (n, d) adds to the log-odds of class a (n,) against b (n,), (n, d).

    (w_a − w_b)_j (x_j − (m_a + m_b)_j / 2),    0 where the entry is missing
    """
    found = np.zeros(X.shape)
    for which, seen, here in _by_pattern(rule, X):
        A, B = a[which], b[which]
        middle = X[np.ix_(which, seen)] - 0.5 * (here.means[A] + here.means[B])
        found[np.ix_(which, seen)] = (here.coef[A] - here.coef[B]) * middle
    return found


def expected_scores(rule: FisherRule, X: Array, V: Array) -> Array:
    """Return E (x − m)·v (n, q), v the columns of V, given the observed entries of each row of X (n, d).

        Σ_c p(c | x_o) ((C v)_oᵀ C_oo⁻¹ (x − m_c)_o + (m_c − m)·v)

    The expectation is over the classes and the missing values.
    """
    product, centres = _times(rule.covariance, V), (rule.means - rule.centre) @ V
    found = np.zeros((len(X), V.shape[1]))
    for which, seen, here in _by_pattern(rule, X):
        rows, U = X[np.ix_(which, seen)], here.covariance.solve(product[seen].T).T
        shares = _posterior(here.log_likelihoods(rows), rule.prior)
        found[which] = (rows - here.centre) @ U + shares @ (centres - (here.means - here.centre) @ U)
    return found


def _posterior(log_likelihoods: Array, prior: Array) -> Array:
    """Return p(c | x) (n, C)."""
    shares = prior * np.exp(log_likelihoods - log_likelihoods[:, prior > 0.0].max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _times(C: Axes, V: Array) -> Array:
    """Return C V (d, q)."""
    Y = C.scale[:, None] * V
    along = C.axes @ ((C.variances_along - C.rest)[:, None] * (C.axes.T @ Y))
    return np.asarray(C.scale[:, None] * (along + C.rest * Y))

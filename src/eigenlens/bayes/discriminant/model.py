"""Gaussian classes as frozen values: Fisher's linear rule, also for incomplete rows, and mixtures of classes.

The observed entries of an incomplete row follow the rule of their columns alone:

    w_c = C_oo⁻¹ (m_c − m)_o,    o the observed columns

No d×d matrix is made where the covariance has few axes; rows with the same pattern of missing values are worked on
together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eigenlens.arrays import Array, Like, dense, read_only, to_numpy
from eigenlens.data.coerce import require_finite, require_no_infinity
from eigenlens.data.rows import select_rows
from eigenlens.densities.base import rows_by_pattern
from eigenlens.densities.covariance import Covariance
from eigenlens.densities.covariance_axes import MIN_AXIS_SHARE, Axes
from eigenlens.densities.gaussian import Gaussian
from eigenlens.densities.mixture import Mixture
from eigenlens.linalg.operators import project_rows
from eigenlens.linalg.spectrum import orient
from eigenlens.resources import interruptible_call

MAX_ROUNDING = 1e-11
"""The most that the logarithm of a probability, or a score, may lose to rounding because rows are far from zero."""


@dataclass(frozen=True, eq=False)
class FisherRule:
    """The linear rule of Gaussian classes with one covariance C: ln p(c | x) = w_c·x + b_c + a constant.

        w_c = C⁻¹ (m_c − m),   b_c = ln pi_c − ½ |m_c − m|²_C − w_c·m,   m = Σ pi_c m_c

    Attributes:
        prior: pi (C,). means: (C, d). covariance: C, of the rows about the means of their classes.
        scale: (d,) the units in which the largest entry of a direction is positive; None for those of the columns.

    >>> C = Axes.of_matrix(np.eye(2), np.zeros(2))
    >>> rule = FisherRule(np.array([0.5, 0.5]), np.array([[0.0, 0.0], [2.0, 0.0]]), C)
    >>> rule.coef, rule.intercept.round(3), rule.directions.ravel()
    (array([[-1.,  0.], [ 1.,  0.]]), array([-0.193, -2.193]), array([1., 0.]))
    """

    prior: Array
    means: Array
    covariance: Axes
    scale: Array | None = None

    def __post_init__(self) -> None:
        read_only(self, "prior", "means")

    @property
    def centre(self) -> Array:
        """The mean m (d,) of the classes."""
        return np.asarray(self.prior @ self.means)

    @cached_property
    def coef(self) -> Array:
        """The coefficients w (C, d)."""
        return self.covariance.solve(self.means - self.centre)

    @cached_property
    def offsets(self) -> Array:
        """The offsets −½ |m_c − m|²_C (C,)."""
        return np.asarray(-0.5 * np.einsum("cj,cj->c", self.coef, self.means - self.centre))

    @property
    def intercept(self) -> Array:
        """The intercepts b (C,)."""
        with np.errstate(divide="ignore"):  # a class of prior 0 is never chosen
            return np.asarray(np.log(self.prior) + self.offsets - self.coef @ self.centre)

    def log_likelihoods(self, X: Array) -> Array:
        """Return ln p(x | c) (n, C) of complete rows X (n, d), up to one number per row. Cost n C d."""
        return centred_product(X, self.centre, self.coef.T, self.offsets)

    @cached_property
    def classes(self) -> Mixture:
        """The classes as a mixture, which has all densities, also those of incomplete rows."""
        return Mixture(self.prior, tuple(Gaussian(mean, self.covariance) for mean in self.means))

    def scaled(self, scale: Array) -> FisherRule:
        """Return the rule of the columns times `scale` (d,)."""
        return FisherRule(self.prior, self.means * scale, self.covariance.scaled(scale), scale)

    # ---- Fisher's directions ----------------------------------------------------------------------------

    @property
    def directions(self) -> Array:
        """The directions V (d, q), Vᵀ C V = I, q below the number of classes, that best separate the class means."""
        return self._fisher[1]

    @property
    def ratios(self) -> Array:
        """The variance (q,) between classes along each direction, divided by the variance within classes."""
        return self._fisher[0]

    @cached_property
    def _fisher(self) -> tuple[Array, Array]:
        """Eigenpairs of M C⁻¹ Mᵀ (C, C), M = √pi_c (m_c − m): Fisher's problem, whatever d is."""
        M = np.sqrt(self.prior)[:, None] * (self.means - self.centre)
        solved = np.sqrt(self.prior)[:, None] * self.coef
        products = M @ solved.T
        values, U = interruptible_call(np.linalg.eigh, 0.5 * (products + products.T))
        values, U = values[::-1][: len(M) - 1], U[:, ::-1][:, : len(M) - 1]
        kept = values > len(M) * MIN_AXIS_SHARE * values.max(initial=0.0)
        V = solved.T @ (U[:, kept] / np.sqrt(values[kept]))
        return values[kept], orient(V) if self.scale is None else orient(V * self.scale[:, None]) / self.scale[:, None]


def centred_product(X: Array, centre: Array, V: Array, offset: Array | float = 0.0) -> Array:
    """Return (X − 1 mᵀ) V + offset (n, q) for X (n, d), by one product.

    X is only centred, which takes a copy, where rounding would otherwise exceed `MAX_ROUNDING`.

    >>> centred_product(np.array([[2.0, 3.0]]), np.array([1.0, 1.0]), np.eye(2))
    array([[1., 2.]])
    """
    rounding = float(np.max(np.abs(centre) @ np.abs(V), initial=0.0)) * float(np.finfo(np.float64).eps)
    near = rounding < MAX_ROUNDING
    found = X @ V if near else (X - centre) @ V
    found += offset - centre @ V if near else offset
    return np.asarray(found)


def gaussian_classes(prior: Array, means: Array, covariances: Sequence[Covariance]) -> Mixture:
    """Return classes with one covariance each as a mixture."""
    return Mixture(prior, tuple(Gaussian(mean, C) for mean, C in zip(means, covariances, strict=True)))


# ---- incomplete rows ------------------------------------------------------------------------------------------


def _by_pattern(rule: FisherRule, X: Array) -> Iterator[tuple[Array, Array, FisherRule]]:
    """Yield the rows with each pattern, their observed columns, and the rule of these; rows without any are skipped."""
    for rows, seen in rows_by_pattern(X):
        if len(seen):
            which = np.arange(len(X))[rows]
            whole = len(seen) == X.shape[1]
            part = rule if whole else FisherRule(rule.prior, rule.means[:, seen], rule.covariance.part(seen))
            yield which, np.asarray(seen), part


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


# ---- rows of any kind ----------------------------------------------------------------------------------------


def nonfinite_rows(statistics: Array) -> Array:
    """Return the numbers of the rows that are not finite."""
    return np.flatnonzero(~np.isfinite(statistics).all(axis=1))


def discriminant_scores(rows: Any, rule: FisherRule, V: Array) -> Any:
    """Return (x − m)·v of rows of any kind, in their kind; missing values are replaced by their expectations."""
    plain = isinstance(rows, np.ndarray) and rows.dtype == np.float64
    with np.errstate(invalid="ignore", over="ignore"):
        found = (centred_product if plain else project_rows)(rows, rule.centre, V)
        if np.isfinite(to_numpy(found).sum()):
            return found
    odd = nonfinite_rows(to_numpy(found))
    if not odd.size:  # only the sum overflowed
        return found
    values = np.array(to_numpy(found))
    mine = require_no_infinity(dense(select_rows(rows, odd)))
    with np.errstate(invalid="ignore", over="ignore"):
        values[odd] = expected_scores(rule, mine, V)
    require_finite(mine, values[odd])
    return Like(found)(values)

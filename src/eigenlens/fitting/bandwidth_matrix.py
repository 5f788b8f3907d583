"""Bandwidths of several columns at once: a number a column (d,), or a matrix H (d, d), the kernel's covariance."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.spatial

from eigenlens.arrays import Array
from eigenlens.errors import DataError
from eigenlens.fitting.bandwidth_isj import isj
from eigenlens.fitting.bandwidth_likelihood import pair_likelihood
from eigenlens.fitting.bandwidth_plugin import sheather_jones, sheather_jones_direct
from eigenlens.fitting.bandwidth_search import CrossValidation, Prepare

__all__ = ["MATRIX_RULES", "bandwidth_matrix", "normal_reference"]

Rule = Callable[[Array, Array | None], float]
MatrixRule = Callable[[Array, Array | None], Array]

MOST_ROWS = 1000
"""Rows whose pairs are summed; of more, so many are drawn, always the same, and the bandwidth narrowed to n."""

BINS = 1 << 12


def bandwidth_matrix(X: Array, weight: Array | None, rule: str) -> Array:
    """The bandwidths (d,), or the matrix H (d, d), of the rows X (n, d) for a Gaussian kernel, by a rule's name.

    "silverman", "scott": H = c² S, S the covariance, c = (4 / ((d + 2) n))^(1/(d + 4)) or n^(−1/(d + 4)). "lscv" and
    "mlcv": c by cross-validation. Plug-in rules: (d,), the bandwidth of each column, widened as the normal reference is
    from one dimension to d.
    """
    return MATRIX_RULES[rule](X, weight)


def normal_reference(n: float, d: int) -> float:
    """c = (4 / ((d + 2) n))^(1/(d + 4)): H = c² S has the least error for a normal density (Wand and Jones 1995, 4.3).

    >>> round(normal_reference(272, 2), 4)
    0.3929
    """
    return float((4.0 / ((d + 2.0) * n)) ** (1.0 / (d + 4.0)))


def _scott_factor(n: float, d: int) -> float:
    return float(n ** (-1.0 / (d + 4.0)))


def _scaled_covariance(X: Array, weight: Array | None, factor: Callable[[float, int], float]) -> Array:
    n, S = _covariance(X, weight)
    return factor(n, X.shape[1]) ** 2 * S


def _covariance(X: Array, weight: Array | None) -> tuple[float, Array]:
    """n = Σw and the covariance (d, d) with divisor n − 1; an error where the rows lie in a plane."""
    w = np.ones(len(X)) if weight is None else weight
    n = float(w.sum())
    if n <= 1.0:
        raise DataError(
            f"the rows count as {n:g}, but a bandwidth rule needs more than one; give bandwidths as numbers."
        )
    centred = X - w @ X / n
    S = (w[:, None] * centred).T @ centred / (n - 1.0)
    spread = np.sqrt(np.diag(S))
    if np.any(spread == 0.0):
        raise DataError(
            f"column {int(np.argmin(spread))} of X has zero spread, so no rule has a bandwidth for it; leave it out, "
            "or give the bandwidths as numbers."
        )
    if float(np.linalg.eigvalsh(S / np.outer(spread, spread))[0]) < len(S) * 1e-13:
        raise DataError(
            "the columns of X depend on each other linearly, so the rows have no density; leave a column out, or give "
            "one bandwidth a column."
        )
    return n, S


def _each_column(X: Array, weight: Array | None, rule: Rule) -> Array:
    """The rule's bandwidth of each column (d,), times the ratio of the normal references of d and one dimensions."""
    n, d = float(len(X) if weight is None else weight.sum()), X.shape[1]
    h = np.array([_of_column(j, X[:, j], weight, rule) for j in range(d)])
    return np.asarray(h * normal_reference(n, d) / normal_reference(n, 1))


def _of_column(j: int, x: Array, weight: Array | None, rule: Rule) -> float:
    try:
        return rule(np.ascontiguousarray(x), weight)
    except DataError as error:
        raise DataError(f"column {j} of X: {error}") from None


def _cross_validated(X: Array, weight: Array | None, rule: str) -> Array:
    """H = c² S with the c of least criterion on whitened rows."""
    n, S = _covariance(X, weight)
    d, w = X.shape[1], np.ones(len(X)) if weight is None else weight
    keep = np.flatnonzero(w)
    if keep.size > MOST_ROWS:
        keep = np.sort(np.random.default_rng(0).choice(keep, MOST_ROWS, replace=False))
    rows, place = np.unique(X[keep], axis=0, return_inverse=True)
    copies = np.bincount(place.ravel(), w[keep])
    Y = np.linalg.solve(np.linalg.cholesky(S), rows.T).T
    squares = scipy.spatial.distance.cdist(Y, Y, "sqeuclidean")
    one_out, all_out = (CRITERIA[rule](squares, copies, own, d) for own in (np.minimum(copies, 1.0), copies))
    drawn = float(copies.sum())
    reference = normal_reference(drawn, d)
    chosen = CrossValidation(rule, bool(np.any(copies > 1.0)), one_out, all_out, lambda: reference)
    c = chosen.choose(reference / 30.0, 3.0 * reference)
    return float((c * (drawn / n) ** (1.0 / (d + 4.0))) ** 2) * S


def _squares_criterion(squares: Array, copies: Array, own: Array, d: int) -> Prepare:
    """∫ f̂² − 2 Σ_{i≠j} w_i w_j φ_c / n², of a sample by its squared distances (n, n), put into bins of their logarithm.

    A bin stands at its mean: the error is the square of its relative width. Cost: O(bins) for a c.
    """
    mass = np.outer(copies, copies)
    apart = squares > 0.0
    logs = np.log(squares[apart])
    edges = np.linspace(logs.min(), logs.max(), BINS + 1)
    place = np.clip(np.searchsorted(edges, logs, side="right") - 1, 0, BINS - 1)
    weights = np.bincount(place, mass[apart], BINS)
    at = np.bincount(place, mass[apart] * squares[apart], BINS)[weights > 0.0] / weights[weights > 0.0]
    weights, together = weights[weights > 0.0], float(mass[~apart].sum())
    leaving, n = float(copies @ own), float(copies.sum())

    def criterion(c: float) -> float:
        whole = float(weights @ np.exp(-at / (4.0 * c * c))) + together
        left = float(weights @ np.exp(-at / (2.0 * c * c))) + together - leaving
        return (whole * math.pow(2.0, -d / 2.0) - 2.0 * left) / (n * n * math.pow(c, d))

    return lambda low, high, fine: criterion


def _likelihood_criterion(squares: Array, copies: Array, own: Array, d: int) -> Prepare:
    criterion = pair_likelihood(squares, copies, own, d)
    return lambda low, high, fine: criterion


CRITERIA: dict[str, Callable[[Array, Array, Array, int], Prepare]] = {
    "lscv": _squares_criterion,
    "mlcv": _likelihood_criterion,
}
"""Criteria of a scale, from squared distances, copies, what leaves with each row, and d."""

MATRIX_RULES: dict[str, MatrixRule] = {
    "silverman": partial(_scaled_covariance, factor=normal_reference),
    "scott": partial(_scaled_covariance, factor=_scott_factor),
    "sheather-jones": partial(_each_column, rule=sheather_jones),
    "sheather-jones-dpi": partial(_each_column, rule=sheather_jones_direct),
    "isj": partial(_each_column, rule=isj),
    "lscv": partial(_cross_validated, rule="lscv"),
    "mlcv": partial(_cross_validated, rule="mlcv"),
}
"""Rules of several columns, by the same names."""

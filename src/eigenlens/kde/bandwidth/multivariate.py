"""Bandwidths of several columns at once: a number a column (d,), or a matrix H (d, d), the kernel's covariance."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import DataError
from eigenlens.kde.bandwidth.binned import MAX_TOTAL_WEIGHT
from eigenlens.kde.bandwidth.cross_validation import unbounded_criterion_message
from eigenlens.kde.bandwidth.isj import isj
from eigenlens.kde.bandwidth.pairs import SCALE_CRITERIA, sample_distinct_rows
from eigenlens.kde.bandwidth.plug_in import sheather_jones, sheather_jones_direct
from eigenlens.kde.bandwidth.search import BandwidthChoice, CrossValidation
from eigenlens.kde.bandwidth.ties import has_repeats, warn_caller

__all__ = ["MATRIX_RULES", "bandwidth_matrix", "normal_reference"]

Rule = Callable[[Array, Array | None, str], float]
MatrixRule = Callable[..., Array]
"""From X (n, d), weights (n,) or None, and whether the kernel is a product over columns, to (d,) or (d, d)."""


def bandwidth_matrix(X: Array, weight: Array | None, rule: str, product: bool = False) -> Array:
    """The bandwidths (d,), or the matrix H (d, d), of the rows X (n, d) for a Gaussian kernel, by a rule's name.

    "silverman", "scott": H = c² S, S the covariance, c = (4 / ((d + 2) n))^(1/(d + 4)) or n^(−1/(d + 4)). "lscv" and
    "mlcv": c by cross-validation, over all pairs of up to 5,000 distinct rows (of more, so many are drawn). Plug-in
    rules: (d,), the bandwidth of each column, widened as the normal reference is from one dimension to d.

    A product over columns has no H: it gets c s (d,), s the standard deviations, and "lscv" and "mlcv" search c for
    this kernel, so that they narrow it where columns are correlated. "silverman", "scott" and the plug-in rules look
    at one column at a time: at a correlation ρ they are about (1 − ρ²)^(−½) times too wide across the ridge.
    """
    return MATRIX_RULES[rule](X, weight, product)


def normal_reference(n: float, d: int) -> float:
    """c = (4 / ((d + 2) n))^(1/(d + 4)): H = c² S has the least error for a normal density (Wand and Jones 1995, 4.3).

    >>> round(normal_reference(272, 2), 4)
    0.3929
    """
    return float((4.0 / ((d + 2.0) * n)) ** (1.0 / (d + 4.0)))


def _scott_factor(n: float, d: int) -> float:
    return float(n ** (-1.0 / (d + 4.0)))


def _scaled_spread(
    X: Array, weight: Array | None, product: bool = False, *, factor: Callable[[float, int], float]
) -> Array:
    n, S = _covariance(X, weight)
    c = factor(n, X.shape[1])
    return c * np.sqrt(np.diag(S)) if product else c**2 * _of_full_rank(S)


def _covariance(X: Array, weight: Array | None) -> tuple[float, Array]:
    """n = Σw and the covariance (d, d) with divisor n − 1; an error where a column has no spread."""
    w = np.ones(len(X)) if weight is None else weight
    n = float(w.sum())
    if not 1.0 < n <= MAX_TOTAL_WEIGHT:
        raise DataError(
            f"the rows count as {n:.3g}, but a bandwidth rule needs more than one and at most {MAX_TOTAL_WEIGHT:g}; a "
            "weight says how often its row counts. Give bandwidths as numbers otherwise."
        )
    centred = X - w @ X / n
    S = (w[:, None] * centred).T @ centred / (n - 1.0)
    spread = np.diag(S)
    if np.any(spread == 0.0):
        raise DataError(
            f"column {int(np.argmin(spread))} of X has zero spread, so no rule has a bandwidth for it; leave it out, "
            "or give the bandwidths as numbers."
        )
    return n, S


def _of_full_rank(S: Array) -> Array:
    spread = np.sqrt(np.diag(S))
    if float(np.linalg.eigvalsh(S / np.outer(spread, spread))[0]) < len(S) * 1e-13:
        raise DataError(
            "the columns of X depend on each other linearly, so the rows have no density; leave a column out, give "
            "one bandwidth a column, or take 'sheather-jones', which finds one for each."
        )
    return S


def _each_column(X: Array, weight: Array | None, product: bool = False, *, rule: Rule) -> Array:
    """The rule's bandwidth of each column (d,), times the ratio of the normal references of d and one dimensions."""
    n, d = float(len(X) if weight is None else weight.sum()), X.shape[1]
    h = np.array([_of_column(j, X[:, j], weight, rule) for j in range(d)])
    return np.asarray(h * normal_reference(n, d) / normal_reference(n, 1))


def _of_column(j: int, x: Array, weight: Array | None, rule: Rule) -> float:
    try:
        return rule(np.ascontiguousarray(x), weight, f"column {j} of X")
    except DataError as error:
        raise DataError(f"column {j} of X: {error}") from None


def _cross_validated(X: Array, weight: Array | None, product: bool = False, *, rule: str) -> Array:
    """H = c² S, or c s (d,) for a product over columns, with the c of least criterion on rows in these units."""
    n, S = _covariance(X, weight)
    s, d = np.sqrt(np.diag(S)), X.shape[1]
    L = np.diag(s) if product else np.linalg.cholesky(_of_full_rank(S))
    rows, copies = sample_distinct_rows(X, np.ones(len(X)) if weight is None else weight)
    Y = np.linalg.solve(L, (rows - rows.mean(axis=0)).T).T
    one_out, all_out = (SCALE_CRITERIA[rule](Y, copies, own) for own in (np.minimum(copies, 1.0), copies))
    drawn = float(copies.sum())
    reference = normal_reference(drawn, d)
    search = CrossValidation(
        has_repeats(copies), one_out, all_out, lambda: BandwidthChoice(reference, "the normal reference")
    )
    found = search.choose(reference / 30.0, 3.0 * reference)
    c = found.h * (drawn / n) ** (1.0 / (d + 4.0))
    if found.remark:
        warn_caller(
            unbounded_criterion_message(
                "X", rule, f"the kernel's scale, {c:.3g} of the columns' spread, is that of {found.remark}"
            )
        )
    return np.asarray(c * s if product else c**2 * S)


MATRIX_RULES: dict[str, MatrixRule] = {
    "silverman": partial(_scaled_spread, factor=normal_reference),
    "scott": partial(_scaled_spread, factor=_scott_factor),
    "sheather-jones": partial(_each_column, rule=sheather_jones),
    "sheather-jones-dpi": partial(_each_column, rule=sheather_jones_direct),
    "isj": partial(_each_column, rule=isj),
    "lscv": partial(_cross_validated, rule="lscv"),
    "mlcv": partial(_cross_validated, rule="mlcv"),
}
"""Rules of several columns, by the same names."""

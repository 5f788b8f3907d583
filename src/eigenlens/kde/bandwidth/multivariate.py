"""Bandwidths of several columns at once: one number per column (d,), or a matrix H (d, d), the kernel's covariance."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import DataError, join_limited, recorded_warnings, warn_user
from eigenlens.kde.bandwidth.binned import MAX_TOTAL_WEIGHT
from eigenlens.kde.bandwidth.cross_validation import unbounded_criterion_message
from eigenlens.kde.bandwidth.pairs import SCALE_CRITERIA, sample_distinct_rows
from eigenlens.kde.bandwidth.search import BandwidthChoice, CrossValidation
from eigenlens.kde.bandwidth.ties import has_repeats


@dataclass(frozen=True)
class BandwidthRule:
    """A bandwidth rule for one column and for several.

    Attributes:
        univariate: from x (n,) and weights (n,) or None to the bandwidth of the Gaussian kernel.
        multivariate: from X (n, d), weights (n,) or None, and whether the kernel is a product over columns, to (d,) or
            (d, d). None for `each_column`: the univariate rule of each column, widened for d dimensions.
        names_columns: whether `multivariate` takes the names of the columns too, for messages.

    >>> rule = BandwidthRule(lambda x, weight: 0.1 * float(np.ptp(x)))
    >>> rule(np.array([0.0, 1.0, 2.0])), rule(np.array([[0.0, 0.0], [1.0, 3.0], [2.0, 1.0]]))
    (0.2, array([0.1959, 0.2938]))
    """

    univariate: Callable[..., float]
    multivariate: Callable[..., Array] | None = None
    names_columns: bool = False

    def __call__(
        self, X: Array, weight: Array | None = None, product: bool = False, names: Sequence[str] | None = None
    ) -> Any:
        """Return the bandwidth of X (n,), or the bandwidths of the columns of X (n, d), which messages call `names`."""
        if X.ndim == 1:
            return self.univariate(X, weight)
        if self.multivariate is None:
            return each_column(X, weight, names=names, rule=lambda x, weight, name: self.univariate(x, weight))
        return self.multivariate(X, weight, product, *([names] if self.names_columns else []))


def normal_reference(n: float, d: int) -> float:
    """Return c = (4 / ((d + 2) n))^(1/(d + 4)): H = c² S is best for a normal density (Wand and Jones 1995, 4.3).

    >>> round(normal_reference(272, 2), 4)
    0.3929
    """
    return float((4.0 / ((d + 2.0) * n)) ** (1.0 / (d + 4.0)))


def scott_factor(n: float, d: int) -> float:
    """Return c = n^(−1/(d + 4)) (Scott 1992)."""
    return float(n ** (-1.0 / (d + 4.0)))


def scaled_covariance(
    X: Array,
    weight: Array | None,
    product: bool = False,
    names: Sequence[str] | None = None,
    *,
    factor: Callable[[float, int], float],
) -> Array:
    """Return H = c² S, S the covariance and c = factor(n, d); for a product over columns c s (d,), s their deviations.

    A product kernel is about (1 − ρ²)^(−½) times too wide across the ridge of columns with correlation ρ.
    """
    n, S = _covariance(X, weight, names)
    c = factor(n, X.shape[1])
    return c * np.sqrt(np.diag(S)) if product else c**2 * _require_full_rank(S)


def each_column(
    X: Array,
    weight: Array | None,
    product: bool = False,
    names: Sequence[str] | None = None,
    *,
    rule: Callable[..., float],
) -> Array:
    """Return the bandwidth of each column (d,), times the ratio of the normal references of d and one dimensions."""
    n, d = float(len(X) if weight is None else weight.sum()), X.shape[1]
    h, called = np.empty(d), [column_name(j, names) for j in range(d)]

    def choose(j: int) -> None:
        h[j] = _of_column(called[j], X[:, j], weight, rule)

    _warn_once({called[j]: recorded_warnings(choose, j) for j in range(d)})
    return np.asarray(h * normal_reference(n, d) / normal_reference(n, 1))


def _warn_once(found: Mapping[str, Sequence[Warning]]) -> None:
    """Give the warnings of columns, {name: warnings}, one for all of those that differ in names and numbers alone."""
    kinds: dict[str, list[tuple[str, Warning]]] = {}
    for name, warnings in found.items():
        for each in warnings:
            kinds.setdefault(re.sub(r"[\d.e+-]+", "", str(each).removeprefix(name)), []).append((name, each))
    for (_, first), *others in kinds.values():
        more = f" The same is true of {join_limited([name for name, _ in others], 3)}." if others else ""
        warn_user(type(first)(f"{first}{more}"), type(first))


def _of_column(name: str, x: Array, weight: Array | None, rule: Callable[..., float]) -> float:
    try:
        return rule(np.ascontiguousarray(x), weight, name)
    except DataError as error:
        raise DataError(f"{name}: {str(error).removesuffix('.')}") from None


def column_name(j: int, names: Sequence[str] | None) -> str:
    """Return what messages call a column: its name, or its number where it has none.

    >>> column_name(1, ("height", "weight")), column_name(1, None)
    ("column 'weight'", 'column 1 of X')
    """
    return f"column {names[j]!r}" if names else f"column {j} of X"


def cross_validated(
    X: Array, weight: Array | None, product: bool = False, names: Sequence[str] | None = None, *, rule: str
) -> Array:
    """Return H = c² S, or c s (d,) for a product over columns, c by cross-validation on rows in these units.

    The criterion sums over all pairs of up to 5,000 distinct rows; of more, that many are drawn. For a product over
    columns c is searched for that kernel, so it is narrower where columns are correlated.
    """
    n, S = _covariance(X, weight, names)
    s, d = np.sqrt(np.diag(S)), X.shape[1]
    L = np.diag(s) if product else np.linalg.cholesky(_require_full_rank(S))
    rows, copies = sample_distinct_rows(X, np.ones(len(X)) if weight is None else weight)
    Y = np.linalg.solve(L, (rows - rows.mean(axis=0)).T).T
    leave_one_out, leave_ties_out = (SCALE_CRITERIA[rule](Y, copies, own) for own in (np.minimum(copies, 1.0), copies))
    drawn = float(copies.sum())
    reference = BandwidthChoice(normal_reference(drawn, d), "the normal reference")
    search = CrossValidation(has_repeats(copies), leave_one_out, leave_ties_out, lambda: reference)
    found = search.choose(reference.h / 30.0, 3.0 * reference.h)
    c = found.h * (drawn / n) ** (1.0 / (d + 4.0))
    if found.remark:
        taken = f"the kernel's scale, {c:.3g} of the columns' spread, is that of {found.remark}"
        warn_user(unbounded_criterion_message("X", rule, taken))
    return np.asarray(c * s if product else c**2 * S)


def _covariance(X: Array, weight: Array | None, names: Sequence[str] | None) -> tuple[float, Array]:
    """Return n = Σw and the covariance (d, d) with divisor n − 1; raise where a column is constant."""
    w = np.ones(len(X)) if weight is None else weight
    n = float(w.sum())
    if not 1.0 < n <= MAX_TOTAL_WEIGHT:
        raise DataError(
            f"the rows count as {n:.3g}, but a bandwidth rule needs more than one and at most {MAX_TOTAL_WEIGHT:g}; a "
            "weight says how often its row counts",
            fix="scale sample_weight, or give the bandwidths as numbers",
        )
    centred = X - w @ X / n
    S = (w[:, None] * centred).T @ centred / (n - 1.0)
    variance = np.diag(S)
    if np.any(variance == 0.0):
        j = int(np.argmin(variance))
        what = f"{column_name(j, names)} has zero spread, so no rule has a bandwidth for it"
        raise DataError(what, fix="leave it out, or give the bandwidths as numbers")
    return n, S


def _require_full_rank(S: Array) -> Array:
    spread = np.sqrt(np.diag(S))
    if float(np.linalg.eigvalsh(S / np.outer(spread, spread))[0]) < len(S) * 1e-13:
        what = "the columns of X are linearly dependent, so the rows have no density"
        fix = "leave a column out, give one bandwidth per column, or use 'sheather-jones', which finds one for each"
        raise DataError(what, fix=fix)
    return S

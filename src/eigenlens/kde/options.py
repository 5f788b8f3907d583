"""The parameters of `KernelDensity`, checked once: rows, kernel, bounds, bandwidths and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, dense, dimensions
from eigenlens.data.coerce import explain_nonfinite
from eigenlens.data.column_range import MAX_ENTRY, require_range
from eigenlens.data.memory import ArraySource
from eigenlens.data.source import Source
from eigenlens.errors import DataError, MissingValues, OptionError
from eigenlens.kde.bandwidth import BANDWIDTH_RULE_ALIASES, BANDWIDTH_RULES, bandwidth_by_rule
from eigenlens.kde.bounds import BOUNDARIES
from eigenlens.kde.kernels import SMOOTHING_KERNELS, SmoothingKernel, smoothing_kernel


def check_smoothing_kernel(kernel: Any) -> SmoothingKernel:
    """Return the kernel of a name or a callable."""
    if not isinstance(kernel, str | SmoothingKernel) and not callable(kernel):
        what = f"must be one of {', '.join(map(repr, SMOOTHING_KERNELS))}, or a callable K(u) of arrays"
        raise OptionError(what, argument="kernel", value=kernel)
    return smoothing_kernel(kernel)


class KdeOptions(NamedTuple):
    """The parameters of an estimate that do not depend on its rows."""

    kernel: SmoothingKernel
    boundary: str
    tol: float
    adaptive: bool
    standardize: bool


def check_kde_options(estimator: Any) -> KdeOptions:
    """Return the parameters of a `KernelDensity` that do not depend on its rows, each checked."""
    return KdeOptions(
        kernel=check_smoothing_kernel(estimator.kernel),
        boundary=checks.name("boundary", estimator.boundary, BOUNDARIES),
        tol=checks.real("tol", estimator.tol, 0.0, 1.0),
        adaptive=checks.boolean("adaptive", estimator.adaptive),
        standardize=checks.boolean("standardize", estimator.standardize),
    )


def check_bandwidth(value: Any, d: int) -> Any:
    """Return a rule for bandwidths, or the numbers that they are: one, d of them, or a matrix (d, d)."""
    if isinstance(value, str) or callable(value):
        return checks.choice("bandwidth", value, BANDWIDTH_RULES, BANDWIDTH_RULE_ALIASES, "x, weight")
    return _numbers(value, d)


def read_complete_rows(source: Source) -> tuple[Array, Array | None]:
    """Return all rows (n, d) with positive weight, in float64, and their weights; missing values are an error.

    A row of weight 0 is absent, whatever it holds.
    """
    rows = np.concatenate([dense(part) for part in source.rows()])
    weight = source.weight
    if weight is not None and not np.all(weight > 0.0):
        rows, weight = rows[weight > 0.0], weight[weight > 0.0]
    if np.isinf(rows).any():
        raise explain_nonfinite(source)
    missing = np.isnan(rows)
    if missing.any():
        entries, incomplete = int(missing.sum()), int(missing.any(axis=1).sum())
        raise MissingValues(
            f"contains NaN: {entries} {'entry' if entries == 1 else 'entries'} in {incomplete} of {len(rows)} rows "
            f"{'is' if entries == 1 else 'are'} missing, and a kernel density needs complete rows",
            argument="X",
            fix="leave those rows out, fill them in with ProbabilisticPCA(k).fit(X).impute(X), or fit a "
            "GaussianMixture, which takes incomplete rows",
        )
    if not source.in_memory:  # others were looked at before
        require_range(ArraySource(rows, names=source.names))
    return rows, weight


# ---- bounds -------------------------------------------------------------------------------------------------


def check_bounds(bounds: Any, X: Array, boundary: str) -> Array:
    """Return the bounds (d, 2) of the columns of X (n, d), ±inf where there is none; every row must lie within them."""
    d = X.shape[1]
    if bounds is None and boundary == "periodic":
        what = "must be given for boundary='periodic': the two ends of the period, such as (0, 24)"
        raise OptionError(what, argument="bounds", value=bounds)
    if bounds is None:
        return np.tile([-np.inf, np.inf], (d, 1))
    if _is_pair(bounds):
        pairs = [bounds] * d
    else:
        pairs = list(bounds) if isinstance(bounds, Sequence | np.ndarray) and dimensions(bounds) != 0 else []
    if len(pairs) != d:
        raise OptionError(
            f"must be None, one pair (low, high) for all columns, or {d} of them, one per column; None means no bound",
            argument="bounds",
            value=bounds,
        )
    found = np.array([_pair(bounds, pair) for pair in pairs])
    if boundary == "periodic" and np.any(np.isfinite(found).sum(axis=1) == 1):
        what = "has a column with one end; boundary='periodic' needs both ends of the period, or none"
        raise OptionError(what, argument="bounds", value=bounds)
    _check_within(X, found)
    return found


def _is_pair(value: Any) -> bool:
    """Return whether value is a pair of numbers, either of which may be None."""
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or dimensions(value) == 0:
        return False
    return len(value) == 2 and not any(checks.is_list(end) for end in value)


def _pair(bounds: Any, pair: Any) -> tuple[float, float]:
    try:
        low, high = (None, None) if pair is None else pair
        ends = -np.inf if low is None else float(low), np.inf if high is None else float(high)
    except (TypeError, ValueError):  # not two things, or not numbers
        ends = (np.nan, np.nan)
    if any(MAX_ENTRY < abs(end) < np.inf for end in ends):
        fix = f"use None where there is no bound, or one of at most {MAX_ENTRY:g}"
        raise OptionError(f"holds {pair!r}, whose square overflows", argument="bounds", value=bounds, fix=fix)
    if not ends[0] < ends[1]:
        what = f"holds {pair!r}, which must be a pair (low, high) with low below high, or None"
        raise OptionError(what, argument="bounds", value=bounds)
    return ends


def _check_within(X: Array, bounds: Array) -> None:
    outside = (bounds[:, 0] > X) | (bounds[:, 1] < X)
    if outside.any():
        i, j = np.argwhere(outside)[0]
        raise DataError(
            f"X[{i}, {j}]={X[i, j]:g} lies outside bounds=({bounds[j, 0]:g}, {bounds[j, 1]:g}) of its column, as do "
            f"{int(outside.any(axis=1).sum())} of {len(X)} rows",
            fix="widen the bounds, or leave those rows out",
        )


# ---- bandwidths ---------------------------------------------------------------------------------------------


def resolve_bandwidth(
    value: Any,
    X: Array,
    weight: Array | None,
    kernel: SmoothingKernel,
    bounds: Array,
    names: tuple[str, ...] | None = None,
    scale: Array | None = None,
) -> Array:
    """Return the bandwidth (d,) or matrix (d, d) of X (n, d): numbers as given, or by a rule.

    A kernel that is a product over columns (with bounds, or not Gaussian) has the rule's result for such a product.
    `names` are those of the columns, for errors. With `scale` (d,) the bandwidth is that of the columns over it, in the
    units of the columns.
    """
    if scale is not None:
        h = resolve_bandwidth(value, X / scale, weight, kernel, bounds / scale[:, None], names)
        return np.asarray(h * (np.outer(scale, scale) if h.ndim == 2 else scale))
    d, product = X.shape[1], kernel.name != "gaussian" or bool(np.isfinite(bounds).any())
    h = check_bandwidth(value, d)
    if isinstance(value, str) or callable(value):
        if len(X) < 2:
            what = f"needs 2 rows, but there is {len(X)} sample"
            raise DataError(what, argument="bandwidth", value=value, fix="give a number")
        if isinstance(value, str):
            _require_spread(X, names)
        h = bandwidth_by_rule(X, weight, h, kernel, product, names)
    elif h.ndim == 2 and product and d > 1:
        here = "there are bounds" if kernel.name == "gaussian" else f"the kernel is {kernel.name!r}"
        raise OptionError(
            f"is a matrix {h.shape}, which is for kernel='gaussian' without bounds; here {here}, so the kernel is a "
            "product over columns",
            argument="bandwidth",
            fix=f"give {d} bandwidths, one per column",
        )
    return np.broadcast_to(h, (d,)).copy() if h.ndim < 2 else h


def _require_spread(X: Array, names: tuple[str, ...] | None) -> None:
    """Check that no column is constant: the named rules have no bandwidth for it, though a user's own may."""
    constant = np.flatnonzero(X.max(axis=0) == X.min(axis=0))
    if constant.size:
        j = int(constant[0])
        name = repr(names[j]) if names else str(j)
        what = f"column {name} of X has zero spread: every value is {X[0, j]:g}, so no rule has a bandwidth for it"
        fix = "leave it out, or give the bandwidth as a number"
        raise DataError(what, columns=[names[j]] if names else (), fix=fix)


def _numbers(value: Any, d: int) -> Array:
    """Return bandwidths given as numbers: one, d of them, or a symmetric positive definite matrix (d, d)."""
    try:
        h = checks.numbers("bandwidth", value)
    except OptionError:
        what = f"must be a positive number, one per column, a matrix, or one of {', '.join(map(repr, BANDWIDTH_RULES))}"
        raise OptionError(what, argument="bandwidth", value=value) from None
    if isinstance(value, bool | np.bool_):
        what = "must be a number above 0, or a rule such as 'sheather-jones'"
        raise OptionError(what, argument="bandwidth", value=value)
    if h.shape not in ((), (d,), (d, d)):
        what = f"has shape {h.shape}; it must be a number, ({d},) or ({d}, {d})"
        raise OptionError(what, argument="bandwidth")
    if not np.all(np.isfinite(h)) or (h.ndim < 2 and not np.all(h > 0.0)):
        fix = "a rule such as 'sheather-jones' finds one"
        raise OptionError("must be above 0 and finite", argument="bandwidth", value=value, fix=fix)
    if h.ndim == 2 and (not np.allclose(h, h.T, rtol=1e-10) or np.linalg.eigvalsh(h)[0] <= 0.0):
        what = "must be symmetric and positive definite: it is the covariance of the kernel"
        raise OptionError(what, argument="bandwidth", value=value)
    return h

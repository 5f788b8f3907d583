"""The bandwidth of a kernel density by any rule: `eigenlens.bandwidth(x, "sheather-jones")`.

`BANDWIDTH_RULES` is the one list of rules, for one column and for several: a new rule is one entry in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, dense
from eigenlens.data.coerce import as_source, require_finite
from eigenlens.data.column_range import require_range
from eigenlens.densities.fitting import single_column_table
from eigenlens.errors import DataError, OptionError
from eigenlens.kde.bandwidth.cross_validation import lscv, lscv_exact, mlcv
from eigenlens.kde.bandwidth.multivariate import (
    BandwidthRule,
    cross_validated,
    each_column,
    normal_reference,
    scaled_covariance,
    scott_factor,
)
from eigenlens.kde.bandwidth.plug_in import isj, scott, sheather_jones, sheather_jones_direct, silverman
from eigenlens.kde.kernels import SMOOTHING_KERNELS, SmoothingKernel, smoothing_kernel

__all__ = ["BANDWIDTH_RULES", "BANDWIDTH_RULE_ALIASES", "BandwidthRule", "bandwidth", "bandwidth_by_rule"]

BANDWIDTH_RULES: dict[str, BandwidthRule] = {
    "silverman": BandwidthRule(silverman, partial(scaled_covariance, factor=normal_reference), names_columns=True),
    "scott": BandwidthRule(scott, partial(scaled_covariance, factor=scott_factor), names_columns=True),
    "sheather-jones": BandwidthRule(sheather_jones, partial(each_column, rule=sheather_jones), names_columns=True),
    "sheather-jones-dpi": BandwidthRule(
        sheather_jones_direct, partial(each_column, rule=sheather_jones_direct), names_columns=True
    ),
    "isj": BandwidthRule(isj, partial(each_column, rule=isj), names_columns=True),
    "lscv": BandwidthRule(lscv, partial(cross_validated, rule="lscv"), names_columns=True),
    "lscv-exact": BandwidthRule(lscv_exact, partial(cross_validated, rule="lscv-exact"), names_columns=True),
    "mlcv": BandwidthRule(mlcv, partial(cross_validated, rule="mlcv"), names_columns=True),
}
"""Every bandwidth rule that has a name, for one column and for several."""

BANDWIDTH_RULE_ALIASES = {
    "nrd0": "silverman",
    "nrd": "scott",
    "ucv": "lscv",
    "SJ": "sheather-jones",
    "SJ-ste": "sheather-jones",
    "SJ-dpi": "sheather-jones-dpi",
    "ISJ": "isj",
}
"""Names of R and KDEpy for the same rules."""


def bandwidth(
    x: Any,
    rule: str | Callable[..., Any] = "sheather-jones",
    *,
    sample_weight: Any = None,
    kernel: str | Any = "gaussian",
) -> float | Array:
    """Return the bandwidth h of a kernel density of x: the Gaussian kernel's standard deviation, or another's scale.

    Every rule is equivariant: h of a + b x is |b| times h of x. A weight of w is w copies of its row.

    Args:
        x: numbers (n,), or rows (n, d) of any kind. rule: a key of `BANDWIDTH_RULES`, or a function of x and weights.
        sample_weight: (n,). kernel: a key of `SMOOTHING_KERNELS` or a function K(u); h is converted from the
            Gaussian's by the ratio of canonical bandwidths (Marron and Nolan 1988).

    Returns:
        h for one column. For d columns of a Gaussian: one h per column (d,) by plug-in rules, or the kernel's
        covariance H (d, d) by "silverman", "scott", "lscv", "lscv-exact" and "mlcv", which keep the shape of the
        data's covariance. Other kernels are products over columns and have one h per column by every rule; those of
        cross-validation fit them to correlated columns, while the others use one column at a time and are too wide.

    Where values repeat, so that h depends on their rounding more than on the density, a `DataWarning` is issued.

    >>> x = np.random.default_rng(0).standard_normal(1000)
    >>> [round(bandwidth(x, rule), 2) for rule in ("silverman", "scott", "sheather-jones", "isj")]
    [0.22, 0.26, 0.26, 0.28]
    """
    rows, smoother = _read_rows(x), smoothing_kernel(kernel)
    weight = checks.weights(sample_weight, len(rows))
    chosen = checks.choice("rule", rule, BANDWIDTH_RULES, BANDWIDTH_RULE_ALIASES, "x, weight")
    h = bandwidth_by_rule(rows, weight, chosen, smoother, smoother.name != "gaussian")
    return float(h) if rows.shape[1] == 1 and h.size == 1 else h


def bandwidth_by_rule(
    X: Array,
    weight: Array | None,
    rule: str | Callable[..., Any],
    kernel: SmoothingKernel,
    product: bool,
    names: Sequence[str] | None = None,
) -> Array:
    """Return h of the rows X (n, d): (), (d,) or (d, d), the last only where the kernel is not a product over columns.

    The rule's result is for a Gaussian; another kernel gets it times the ratio of canonical bandwidths. `names` are
    those of the columns, for messages.
    """
    d = X.shape[1]
    rows = np.ascontiguousarray(X[:, 0]) if d == 1 else X
    value = rule(rows, weight) if callable(rule) else BANDWIDTH_RULES[rule](rows, weight, product, names)
    h = check_rule_result(rule, value, d)
    if h.ndim == 2 and product and d > 1:
        raise OptionError(
            f"the rule {rule!r} returned a matrix {h.shape}, but the kernel {kernel.name!r} is a product over columns "
            "here (not Gaussian, or with bounds)",
            fix=f"it must return {d} bandwidths, one per column",
        )
    factor = kernel.canonical(d) / SMOOTHING_KERNELS["gaussian"].canonical(d)
    return np.asarray(h * (factor**2 if h.ndim == 2 else factor))


def check_rule_result(rule: Any, value: Any, d: int) -> Array:
    """Return what a rule returned as an array: a positive number, one per column (d,), or a covariance (d, d)."""
    try:
        h = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        h = np.empty(0)
    good = not isinstance(value, bool) and h.shape in ((), (d,), (d, d)) and bool(np.all(np.isfinite(h)))
    if good and h.ndim == 2:
        good = np.allclose(h, h.T, rtol=1e-10) and float(np.linalg.eigvalsh(h)[0]) > 0.0
    if not good or (h.ndim < 2 and not np.all(h > 0.0)):
        raise OptionError(
            f"the rule {rule!r} returned {value!r} as a bandwidth",
            fix=f"it must return a finite number above 0, {d} of them, one per column, or a symmetric positive "
            f"definite matrix ({d}, {d})",
        )
    return h


def _read_rows(x: Any) -> Array:
    """Return x as finite float64 rows (n, d); numbers (n,) are one column."""
    try:
        source = require_range(as_source(single_column_table(x)))
    except DataError as error:  # that calls rows X
        raise error.replace(argument="x" if error.argument == "X" else error.argument) from error
    rows = np.concatenate([dense(part) for part in source.rows()])
    incomplete = int(np.isnan(rows).any(axis=1).sum())
    if incomplete and not np.isinf(rows).any():
        what = f"contains NaN in {incomplete} of {len(rows)} rows, and a bandwidth needs complete rows"
        raise DataError(what, argument="x", fix="leave them out")
    require_finite(source, rows)
    if len(rows) < 2:
        what = f"has {len(rows)} row; a bandwidth rule needs at least 2"
        raise DataError(what, argument="x", fix="give the bandwidth as a number")
    return rows

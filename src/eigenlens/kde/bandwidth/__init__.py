"""The bandwidth of a kernel density, by any rule: `eigenlens.bandwidth(x, "sheather-jones")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, dense
from eigenlens.data.coerce import as_source, explain_nonfinite
from eigenlens.errors import DataError, OptionError
from eigenlens.kde.bandwidth.cross_validation import lscv, mlcv
from eigenlens.kde.bandwidth.isj import isj
from eigenlens.kde.bandwidth.multivariate import MATRIX_RULES, bandwidth_matrix
from eigenlens.kde.bandwidth.plug_in import scott, sheather_jones, sheather_jones_direct, silverman
from eigenlens.kde.kernels import SMOOTHING_KERNELS, SmoothingKernel, smoothing_kernel

__all__ = ["BANDWIDTH_RULES", "bandwidth", "bandwidth_by_rule", "bandwidth_matrix"]

Rule = Callable[[Array, Array | None], float]

BANDWIDTH_RULES: dict[str, Rule] = {
    "silverman": silverman,
    "scott": scott,
    "sheather-jones": sheather_jones,
    "sheather-jones-dpi": sheather_jones_direct,
    "isj": isj,
    "lscv": lscv,
    "mlcv": mlcv,
}
"""Rules of one column, by name: from x (n,) and weights (n,) or None to the bandwidth of the Gaussian kernel."""


def bandwidth(
    x: Any, rule: str | Rule = "sheather-jones", *, sample_weight: Any = None, kernel: str | Any = "gaussian"
) -> float | Array:
    """The bandwidth h of a kernel density of x by a rule: the Gaussian kernel's standard deviation, or another's scale.

    Every rule goes with the data: h of a + b x is |b| times h of x. A weight of w is w copies of its row.

    Args:
        x: numbers (n,), or rows (n, d) of any kind. rule: a key of `BANDWIDTH_RULES`, or a function of x and weights.
        sample_weight: (n,). kernel: a key of `kernels.smoothing.SMOOTHERS` or a function K(u); h is converted from the
            Gaussian's by the ratio of canonical bandwidths (Marron and Nolan 1988).

    Returns:
        h for one column. For d columns of a Gaussian: one h each (d,) by plug-in rules, or the kernel's covariance
        H (d, d) by "silverman", "scott", "lscv" and "mlcv", which keep the shape of the data's covariance. Other
        kernels are products over columns and have one h each by every rule; "lscv" and "mlcv" fit them to correlated
        columns, while the others look at one column at a time and are too wide there.

    Where values repeat, so that h says more of their rounding than of the density, a `DataWarning` says what was done.

    >>> x = np.random.default_rng(0).standard_normal(1000)
    >>> [round(bandwidth(x, rule), 2) for rule in ("silverman", "scott", "sheather-jones", "isj")]
    [0.22, 0.26, 0.26, 0.28]
    """
    rows, smoother = _rows(x), smoothing_kernel(kernel)
    weight = checks.weights(sample_weight, len(rows))
    chosen = checks.choice("rule", rule, BANDWIDTH_RULES)
    h = bandwidth_by_rule(rows, weight, chosen, smoother, smoother.name != "gaussian")
    return float(h) if rows.shape[1] == 1 and h.size == 1 else h


def bandwidth_by_rule(
    X: Array, weight: Array | None, rule: str | Callable[..., Any], kernel: SmoothingKernel, product: bool
) -> Array:
    """h of the rows X (n, d): (), (d,) or (d, d), the last only where the kernel is no product over columns.

    The rule's answer is for a Gaussian; another kernel gets it times the ratio of canonical bandwidths.
    """
    d = X.shape[1]
    of_rule: Any = np.ascontiguousarray(X[:, 0]) if d == 1 else X
    if callable(rule):
        h = _checked(rule, rule(of_rule, weight), d)
    else:
        h = np.asarray(
            BANDWIDTH_RULES[rule](of_rule, weight) if d == 1 else MATRIX_RULES[rule](of_rule, weight, product)
        )
    if h.ndim == 2 and product and d > 1:
        raise OptionError(
            f"the rule {rule!r} gave a matrix {h.shape}, but the kernel {kernel.name!r} is a product over columns "
            f"here (not Gaussian, or with bounds); it must give {d} bandwidths, one a column."
        )
    factor = kernel.canonical(d) / SMOOTHING_KERNELS["gaussian"].canonical(d)
    return np.asarray(h * (factor**2 if h.ndim == 2 else factor))


def _checked(rule: Any, value: Any, d: int) -> Array:
    """What a rule of the user's gave: a positive number, one a column (d,), or a covariance (d, d)."""
    try:
        h = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        h = np.empty(0)
    good = not isinstance(value, bool) and h.shape in ((), (d,), (d, d)) and bool(np.all(np.isfinite(h)))
    if good and h.ndim == 2:
        good = np.allclose(h, h.T, rtol=1e-10) and float(np.linalg.eigvalsh(h)[0]) > 0.0
    if not good or (h.ndim < 2 and not np.all(h > 0.0)):
        raise OptionError(
            f"the rule {rule!r} gave {value!r} as a bandwidth; it must give a finite number above 0, {d} of them, one "
            f"a column, or a symmetric positive definite matrix ({d}, {d})."
        )
    return h


def _rows(x: Any) -> Array:
    """x as finite float64 rows (n, d); numbers (n,) are one column."""
    one = np.ndim(x) == 1 and not hasattr(x, "columns")
    source = as_source(np.reshape(np.asarray(x), (-1, 1)) if one else x)
    rows = np.concatenate([dense(part) for part in source.rows()])
    gaps = int(np.isnan(rows).any(axis=1).sum())
    if gaps and not np.isinf(rows).any():
        raise DataError(
            f"x contains NaN in {gaps} of {len(rows)} rows, and a kernel stands on a whole one; leave them out."
        )
    if not np.all(np.isfinite(rows)):
        raise explain_nonfinite(source)
    if len(rows) < 2:
        raise DataError(f"x has {len(rows)} row; a bandwidth rule needs at least 2. Give the bandwidth as a number.")
    return rows

"""The bandwidth of a kernel density, by any rule: `eigenlens.bandwidth(x, "sheather-jones")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, dense
from eigenlens.data.resolve import as_source, explain_nonfinite
from eigenlens.errors import DataError
from eigenlens.fitting.bandwidth_cv import lscv, mlcv
from eigenlens.fitting.bandwidth_isj import isj
from eigenlens.fitting.bandwidth_matrix import MATRIX_RULES, bandwidth_matrix
from eigenlens.fitting.bandwidth_plugin import scott, sheather_jones, sheather_jones_direct, silverman
from eigenlens.kernels.smoothing import SMOOTHERS, smoother_of

__all__ = ["BANDWIDTHS", "bandwidth", "bandwidth_matrix"]

Rule = Callable[[Array, Array | None], float]

BANDWIDTHS: dict[str, Rule] = {
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
        x: numbers (n,), or rows (n, d) of any kind. rule: a key of `BANDWIDTHS`, or a function of x and weights.
        sample_weight: (n,). kernel: a key of `kernels.smoothing.SMOOTHERS` or a function K(u); h is converted from the
            Gaussian's by the ratio of canonical bandwidths (Marron and Nolan 1988).

    Returns:
        h for one column. For d columns: one h each (d,) by plug-in rules, or the kernel's covariance H (d, d) by
        "silverman", "scott", "lscv" and "mlcv", which keep the shape of the data's covariance.

    >>> x = np.random.default_rng(0).standard_normal(1000)
    >>> [round(bandwidth(x, rule), 2) for rule in ("silverman", "scott", "sheather-jones", "isj")]
    [0.22, 0.26, 0.26, 0.28]
    """
    rows = _rows(x)
    weight = checks.weights(sample_weight, len(rows))
    d, smoother = rows.shape[1], smoother_of(kernel)
    factor = smoother.canonical(d) / SMOOTHERS["gaussian"].canonical(d)
    chosen = checks.choice("rule", rule, BANDWIDTHS)
    if d == 1:
        column = np.ascontiguousarray(rows[:, 0])
        return factor * float(chosen(column, weight) if callable(chosen) else BANDWIDTHS[chosen](column, weight))
    H = np.asarray(chosen(rows, weight) if callable(chosen) else MATRIX_RULES[chosen](rows, weight))
    return H * factor**H.ndim


def _rows(x: Any) -> Array:
    """x as finite float64 rows (n, d); numbers (n,) are one column."""
    one = np.ndim(x) == 1 and not hasattr(x, "columns")
    source = as_source(np.reshape(np.asarray(x), (-1, 1)) if one else x)
    rows = np.concatenate([dense(part) for part in source.rows()])
    if not np.all(np.isfinite(rows)):
        raise explain_nonfinite(source)
    if len(rows) < 2:
        raise DataError(f"x has {len(rows)} row; a bandwidth rule needs at least 2. Give the bandwidth as a number.")
    return rows

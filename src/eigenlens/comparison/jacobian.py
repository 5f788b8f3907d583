"""The change of variables p(x) = p(T(x)) |det T′(x)| for the transformers of a pipeline, in closed form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, PowerTransformer

from eigenlens.arrays import Array, dense, is_sparse, is_tensor
from eigenlens.errors import OptionError

AFFINE_TOL = 1e-7
"""A transformer is affine if its matrix predicts its output to this share of the output's range: far above rounding."""

MIN_STRETCH = 1e-9
"""A matrix that stretches a direction by less than this share of others has no inverse, up to rounding."""

LOG_DERIVATIVES: dict[Callable[..., Any], Callable[[Array], Array]] = {
    np.log: lambda x: -np.log(x),
    np.log1p: lambda x: -np.log1p(x),
    np.log2: lambda x: -np.log(x) - np.log(np.log(2.0)),
    np.log10: lambda x: -np.log(x) - np.log(np.log(10.0)),
    np.exp: lambda x: x,
    np.expm1: lambda x: x,
    np.sqrt: lambda x: -np.log(2.0 * np.sqrt(x)),
    np.arcsinh: lambda x: -0.5 * np.log1p(x * x),
}
"""ln f′(x) of the functions, one-to-one and applied to each entry, that a FunctionTransformer may have."""


def log_abs_det_jacobian(transformer: Any, X: Any) -> Array:
    """Return ln |det T′(x)| (n,) at the rows of X (n, d), for a fitted transformer T or a pipeline of them.

    Scalers and other affine maps have the same determinant everywhere; a PowerTransformer, and a FunctionTransformer of
    `LOG_DERIVATIVES`, have a derivative for each entry; a transformer of your own may have a method
    `log_abs_det_jacobian(X)`. Any other raises an error. Cost: d + 1 rows for an affine map.

    >>> from sklearn.preprocessing import StandardScaler
    >>> X = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]])
    >>> log_abs_det_jacobian(StandardScaler().fit(X), X).round(6) + np.log(X.std(axis=0)).sum().round(6)
    array([0., 0., 0.])
    >>> log_abs_det_jacobian(FunctionTransformer(np.exp), X)
    array([3., 8., 8.])
    """
    if isinstance(transformer, Pipeline):
        total = np.zeros(_numbers(X).shape[0])
        for _, step in transformer.steps:
            if step not in (None, "passthrough"):
                total, X = total + log_abs_det_jacobian(step, X), step.transform(X)
        return total
    if hasattr(transformer, "log_abs_det_jacobian"):
        return np.asarray(transformer.log_abs_det_jacobian(X), dtype=np.float64)
    if isinstance(transformer, PowerTransformer):
        return _power(transformer, _numbers(X))
    if isinstance(transformer, FunctionTransformer) and transformer.func in LOG_DERIVATIVES:
        return np.asarray(LOG_DERIVATIVES[transformer.func](_numbers(X)).sum(axis=1))
    return _affine(transformer, X)


def _power(transformer: PowerTransformer, x: Array) -> Array:
    """Return Σ_j ln T_j′(x_j): x^(l − 1) of Box and Cox, (1 + |x|)^±(l − 1) of Yeo and Johnson, over the scales."""
    power = transformer.lambdas_ - 1.0
    box_cox = transformer.method == "box-cox"
    logs = power * (np.log(x) if box_cox else np.where(x < 0.0, -1.0, 1.0) * np.log1p(np.abs(x)))
    scale = transformer._scaler.scale_ if transformer.standardize else np.ones(1)
    return np.asarray(logs.sum(axis=1) - np.log(np.broadcast_to(scale, x.shape[1])).sum())


def _affine(transformer: Any, X: Any) -> Array:
    """Return the same ln |det J| (n,) for every row; J is from steps of a column's range away from the first row."""
    rows, images = _numbers(X), _numbers(transformer.transform(X))
    name, d = type(transformer).__name__, rows.shape[1]
    if images.shape != rows.shape:
        what = f"{name} turns {d} columns into {images.shape[1]}, so its density is not one of the rows of X"
        raise OptionError(what, fix="keep the number of columns")
    steps = np.ptp(rows, axis=0)
    steps = np.where(steps > 0.0, steps, np.maximum(np.abs(rows[0]), 1.0))
    moved = _numbers(transformer.transform(_like(X, np.vstack([rows[0], rows[0] + np.diag(steps)]))))
    A = moved[1:] - moved[0]
    error = np.abs(moved[0] + (rows - rows[0]) / steps @ A - images).max(axis=0)
    if not np.all(error <= AFFINE_TOL * np.abs(A).max(axis=0)):
        what = f"{name} is not affine and its derivative is not known, so its density cannot be put into the units of X"
        fix = "transform X beforehand and compare the rest, or give it a method log_abs_det_jacobian(X)"
        raise OptionError(what, fix=fix)
    lengths = np.linalg.norm(A, axis=0)
    if not np.linalg.svd(A / np.where(lengths > 0.0, lengths, 1.0), compute_uv=False)[-1] > MIN_STRETCH:
        raise OptionError(f"{name} has no inverse, so its density is not one of the rows of X", fix="leave it out")
    return np.full(len(rows), float(np.linalg.slogdet(A)[1]) - float(np.log(steps).sum()))


def _numbers(X: Any) -> Array:
    return dense(X) if is_sparse(X) or is_tensor(X) else np.asarray(X, dtype=np.float64)


def _like(X: Any, rows: Array) -> Any:
    """Return the rows as a frame with the columns of X where X is one."""
    if not hasattr(X, "columns"):
        return rows
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True)
    return nw.from_dict(dict(zip(frame.columns, rows.T, strict=True)), backend=frame.implementation).to_native()

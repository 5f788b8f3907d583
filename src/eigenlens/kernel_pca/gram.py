"""`gram`: the matrix of kernel values of all pairs of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from eigenlens.arrays import Like, is_tensor, namespace, to_numpy
from eigenlens.data.coerce import as_source, require_finite
from eigenlens.data.source import Source
from eigenlens.errors import DataError, OptionError
from eigenlens.estimator.rows import collect_rows
from eigenlens.kernel_pca.kernels.gram import gram_matrix
from eigenlens.kernel_pca.options import KernelOptions, resolve_kernel


def gram(
    X: Any,
    Y: Any = None,
    kernel: str | Callable[..., Any] = "rbf",
    *,
    gamma: float | str | None = None,
    sigma: float | None = None,
    degree: int = 3,
    coef0: float = 1.0,
    kernel_params: Mapping[str, Any] | None = None,
) -> Any:
    """Return the Gram matrix K (n, m) of kernel values k(x_i, y_j), those that `KernelPCA` uses.

    With phi the features of the kernel, K = Phi Phiᵀ. Without Y it is that of X with itself, symmetric to the last
    digit. The result is dense, in the dtype of X, and a tensor on the device of X if X is one.

    Args:
        X: rows (n, d) of any kind, without missing values.
        Y: rows (m, d); None for those of X.
        kernel: a key of `eigenlens.kernel_pca.kernels.KERNELS`, or a callable k(X, Y) that returns a matrix (n, m).
        gamma, sigma, degree, coef0, kernel_params: as those of `KernelPCA`; a rule for gamma reads X.

    Cost: n m d flops and n m values of the kernel; memory n m.

    >>> gram([[0.0, 0.0], [1.0, 1.0]], sigma=1.0)
    array([[1.    , 0.3679], [0.3679, 1.    ]])
    >>> gram([[1.0, 2.0]], [[3.0, 4.0]], "poly", degree=2, gamma=1.0)  # (x·y + 1)²
    array([[144.]])
    """
    if isinstance(kernel, str) and kernel == "precomputed":
        raise OptionError("has no formula", argument="kernel", value=kernel, fix="name the kernel to compute")
    if isinstance(Y, str) or callable(Y):
        raise OptionError("is a kernel, not rows", argument="Y", value=Y, fix="give it as kernel=")
    source = as_source(X)
    rows = collect_rows(source)
    options = KernelOptions(kernel, gamma, sigma, degree, coef0, kernel_params)
    k, _ = resolve_kernel(options, rows, np.random.default_rng(0))
    with np.errstate(all="ignore"):  # values that are not finite are found in the result and explained there
        K = gram_matrix(k, rows) if Y is None else k(rows, _beside(rows, as_source(Y)))
    require_finite(source, float(namespace(K).sum(K)))
    return K


def _beside(rows: Any, other: Source) -> Any:
    """Return the rows of another source in the library and on the device of rows (n, d), once they have d columns."""
    if other.n_features != rows.shape[1]:
        what = f"has {other.n_features} columns, but X has {rows.shape[1]}"
        raise DataError(what, argument="Y", fix="give both the same columns")
    found = collect_rows(other)
    if is_tensor(rows) == is_tensor(found):
        return found
    return Like(rows)(found) if is_tensor(rows) else to_numpy(found, "Y")

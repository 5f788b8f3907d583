"""Products XᵀX V with sparse rows, in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.native.runtime import aligned, kernels, plain
from eigenlens.resources import thread_count

GROUP = 8


def normal_product(X: Any, weight: Array | None, V: Array, offset: Array) -> tuple[Array, Array]:
    """Return Xᵀ diag(w) Y (d, b) and the weighted column sums (b,) of Y = X V − 1 offsetᵀ, for sparse X (n, d) in CSR.

    There is one pass over the stored entries per eight columns of V (d, b); Y is never formed.
    """
    if kernels is None:
        return normal_product_numpy(X, weight, V, offset)
    d, b = V.shape
    index = np.result_type(X.indices, X.indptr)
    given = plain(X.data, X.dtype), plain(X.indices, index), plain(X.indptr, index), plain(weight)
    Z, total = np.empty((d, b)), np.empty(b)
    right, left, sums, shift = aligned(d, GROUP), aligned(d, GROUP), np.empty(GROUP), np.zeros(GROUP)
    for start in range(0, b, GROUP):
        stop = min(start + GROUP, b)
        right[:, : stop - start], right[:, stop - start :] = V[:, start:stop], 0.0
        shift[: stop - start], shift[stop - start :] = offset[start:stop], 0.0
        kernels.normal_product(*given, right, shift, left, sums, thread_count())
        Z[:, start:stop], total[start:stop] = left[:, : stop - start], sums[: stop - start]
    return Z, total


def normal_product_numpy(X: Any, weight: Array | None, V: Array, offset: Array) -> tuple[Array, Array]:
    """The twin of `normal_product`, by SciPy's sparse products."""
    Y = X @ V - offset
    if weight is not None:
        Y *= weight[:, None]
    return X.T @ Y, Y.sum(axis=0)

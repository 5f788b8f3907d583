"""Eigenpairs of a symmetric matrix on a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eigenlens.arrays import Array, namespace, to_numpy


def device_eigenpairs(A: Array, near: Any, count: Callable[[Array], int]) -> tuple[Array, Array, Array]:
    """Return all eigenvalues (d,) of A (d, d), the leading k and their vectors (d, k), descending, in float64.

    They are computed on the device of the tensor `near`; count says how many vectors the eigenvalues ask for, and only
    those leave it. Cost 9 d³ flops.
    """
    xp = namespace(near)
    ascending, vectors = xp.linalg.eigh(xp.asarray(A, dtype=xp.float64, device=near.device))
    values = to_numpy(ascending)[::-1]
    k = count(values)
    leading = to_numpy(vectors[:, A.shape[0] - k :])[:, ::-1]
    return values, values[:k], np.ascontiguousarray(leading)

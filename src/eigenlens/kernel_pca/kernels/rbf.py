"""The radial basis function kernel, also called the Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from eigenlens.arrays import Array, namespace, overwrite
from eigenlens.kernel_pca.kernels.distances import (
    constant_vector,
    float32_suffices,
    sample_median,
    squared_distances,
    symmetrize,
)
from eigenlens.native.gram import Points, gaussian_values

MAX_EXPONENT_ERROR = 1e-5
"""Beyond this error of gamma |x − y|² the products of float32 rows are computed in float64."""


@dataclass(frozen=True)
class RBF:
    """The radial basis function kernel k(x, y) = exp(−gamma |x − y|²). Cost n m (2d + 1 exp).

    >>> RBF(gamma=0.5)(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 1.0]]))
    array([[1. , 0.3679]])
    """

    gamma: float
    name: ClassVar[str] = "rbf"
    identity: ClassVar[bool] = False
    definite: ClassVar[bool] = True

    def __call__(self, X: Any, Y: Any) -> Any:
        """Return the values (n, m) for X (n, d) and Y (m, d); exactly 1 on the diagonal and symmetric if X is Y."""
        if isinstance(X, np.ndarray) and isinstance(Y, np.ndarray):
            K = self.values(X, self.points(Y.astype(np.result_type(X, Y), copy=False)))
            return symmetrize(K, self.diagonal(X)) if X is Y else K
        return self.from_distance(squared_distances(X, Y, MAX_EXPONENT_ERROR / self.gamma))

    def points(self, Y: Array) -> Points:
        """Return rows (m, d) prepared for `values`; in float64 where products in float32 are not precise enough."""
        centre = sample_median(Y)
        double = Y.dtype == np.float32 and not float32_suffices(MAX_EXPONENT_ERROR / self.gamma, Y - centre)
        return Points(Y, self.gamma, centre, double)

    def values(self, X: Array, y: Points, dtype: Any = None) -> Array:
        """Return the values (n, m) of X (n, d) with points prepared before, in their dtype or in `dtype`."""
        X = X.astype(y.rows.dtype, copy=False)
        far = (
            X.dtype == np.float32
            and not y.double
            and not float32_suffices(MAX_EXPONENT_ERROR / self.gamma, X - y.centre)
        )
        y = Points(y.rows, y.gamma, y.centre, double=True) if far else y
        return gaussian_values(y.beside(X), y, np.empty((X.shape[0], y.rows.shape[0]), dtype or X.dtype))

    def diagonal(self, X: Any) -> Any:
        """Return ones (n,)."""
        return constant_vector(X, 1.0)

    def from_distance(self, D: Any) -> Any:
        """Return the kernel values of squared distances, computed in place."""
        D *= -self.gamma
        return overwrite("exp", D)

    def distance(self, K: Any) -> Any:
        """Return the squared distances −log(K) / gamma of values clipped to (0, 1]."""
        xp = namespace(K)
        return xp.log(xp.clip(K, float(xp.finfo(K.dtype).smallest_normal), 1.0)) / -self.gamma

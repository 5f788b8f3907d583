"""The Laplacian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from eigenlens.arrays import overwrite
from eigenlens.kernel_pca.kernels.distances import cityblock_distances, constant_vector


@dataclass(frozen=True)
class Laplacian:
    """The Laplacian kernel k(x, y) = exp(−gamma Σ_j |x_j − y_j|). Cost n m (2d + 1 exp), without a matrix product.

    >>> import numpy as np
    >>> Laplacian(gamma=0.5)(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, -1.0]]))
    array([[1. , 0.3679]])
    """

    gamma: float
    name: ClassVar[str] = "laplacian"
    identity: ClassVar[bool] = False
    definite: ClassVar[bool] = True

    def __call__(self, X: Any, Y: Any) -> Any:
        """Return the values (n, m) for X (n, d) and Y (m, d)."""
        D = cityblock_distances(X, Y)
        D *= -self.gamma
        return overwrite("exp", D)

    def diagonal(self, X: Any) -> Any:
        """Return ones (n,)."""
        return constant_vector(X, 1.0)

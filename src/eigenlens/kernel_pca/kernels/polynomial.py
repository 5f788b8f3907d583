"""The polynomial kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from eigenlens import checks
from eigenlens.arrays import namespace
from eigenlens.kernel_pca.kernels.base import DotProductKernel
from eigenlens.kernel_pca.kernels.distances import row_tiles

MAX_DEGREE = 1000
"""The largest degree: powers beyond it overflow or vanish, and a kernel value costs as many products."""


@dataclass(frozen=True)
class Polynomial(DotProductKernel):
    """The polynomial kernel k(x, y) = (gamma x·y + coef0)^degree: all products of up to `degree` columns.

    Cost n m (2d + degree).

    >>> import numpy as np
    >>> Polynomial(gamma=1.0, coef0=1.0, degree=2)(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[144.]])
    """

    gamma: float
    coef0: float
    degree: int
    name: ClassVar[str] = "poly"
    identity: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checks.integer("degree", self.degree, 1, MAX_DEGREE, "since larger powers overflow or vanish")

    @property
    def definite(self) -> bool:
        """Whether no coefficient of the polynomial in x·y is negative."""
        return self.coef0 >= 0.0

    @property
    def invertible(self) -> bool:
        """Whether the degree is odd, so that a kernel value determines the dot product."""
        return self.degree % 2 == 1

    def from_dot(self, P: Any) -> Any:
        """Return the kernel values of dot products, computed in place."""
        P *= self.gamma
        P += self.coef0
        for part in row_tiles(P):  # a product while the tile is in cache is far cheaper than a power
            tile = P[part, ...]
            base = 1.0 * tile
            for _ in range(self.degree - 1):
                tile *= base
        return P

    def dot(self, K: Any) -> Any:
        """Return the dot products (K^(1/degree) − coef0) / gamma; for an even degree, of the positive root."""
        xp = namespace(K)
        return (xp.sign(K) * xp.abs(K) ** (1.0 / self.degree) - self.coef0) / self.gamma

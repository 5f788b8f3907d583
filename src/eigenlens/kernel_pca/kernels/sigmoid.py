"""The sigmoid kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from eigenlens.arrays import namespace, overwrite
from eigenlens.kernel_pca.kernels.base import DotProductKernel


@dataclass(frozen=True)
class Sigmoid(DotProductKernel):
    """The sigmoid kernel k(x, y) = tanh(gamma x·y + coef0).

    It is not positive definite, so some eigenvalues may be negative.

    >>> import numpy as np
    >>> Sigmoid(gamma=1.0, coef0=0.0)(np.array([[1.0]]), np.array([[0.0], [0.5]]))
    array([[0. , 0.4621]])
    """

    gamma: float
    coef0: float
    name: ClassVar[str] = "sigmoid"
    identity: ClassVar[bool] = False
    definite: ClassVar[bool] = False
    invertible: ClassVar[bool] = True

    def from_dot(self, P: Any) -> Any:
        """Return the kernel values of dot products, computed in place."""
        P *= self.gamma
        P += self.coef0
        xp = namespace(P)
        if 0 not in P.shape and not bool(xp.isfinite(xp.max(P) - xp.min(P))):
            P += P - P  # infinity becomes NaN: tanh would turn an overflow into ±1, which nobody would notice
        return overwrite("tanh", P)

    def dot(self, K: Any) -> Any:
        """Return the dot products (artanh(K) − coef0) / gamma of values clipped inside (−1, 1)."""
        xp = namespace(K)
        limit = 1.0 - float(xp.finfo(K.dtype).eps)
        return (xp.atanh(xp.clip(K, -limit, limit)) - self.coef0) / self.gamma

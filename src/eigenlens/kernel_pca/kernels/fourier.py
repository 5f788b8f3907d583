"""Random Fourier features in the place of kernel values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from eigenlens.arrays import is_sparse, namespace
from eigenlens.kernel_pca.kernels.distances import constant_vector


@dataclass(frozen=True)
class FourierFeatures:
    """Random features in the place of a kernel: k(x, Y) is a row whose dot products are kernel values in expectation.

        Y = (o, ω_1, …, ω_m):    k(x, Y) = [cos ω_j·(x − o), …, sin ω_j·(x − o), …] / √m    (2m values)

    The origin o changes no dot product; it keeps the digits of rows far from zero. Cost n m (2d + 1 cos + 1 sin).

    >>> import numpy as np
    >>> FourierFeatures()(np.array([[0.0], [np.pi]]), np.array([[0.0], [1.0]]))
    array([[ 1.,  0.], [-1.,  0.]])
    """

    name: ClassVar[str] = "fourier"
    identity: ClassVar[bool] = False
    definite: ClassVar[bool] = True

    def __call__(self, X: Any, Y: Any) -> Any:
        """Return the features (n, 2m) of X (n, d), with Y (1 + m, d) the origin on top of the frequencies."""
        origin, frequencies = Y[:1, :], Y[1:, :]
        phase = X @ frequencies.T - origin @ frequencies.T if is_sparse(X) else (X - origin) @ frequencies.T
        xp = namespace(phase)
        return xp.concat([xp.cos(phase), xp.sin(phase)], axis=1) / frequencies.shape[0] ** 0.5

    def diagonal(self, X: Any) -> Any:
        """Return ones (n,), as cos² + sin² = 1."""
        return constant_vector(X, 1.0)

"""A user's own function as a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from eigenlens.arrays import Like, is_sparse, is_tensor, namespace, slices
from eigenlens.errors import DataError

DIAGONAL_BLOCK_ROWS = 64
"""Rows of the square blocks whose diagonals are kept: a function of two matrices cannot return single pairs."""

CALLED_ONCE = "it is called once with two matrices of rows, not once per pair, and must return the matrix of values"


@dataclass(frozen=True)
class Custom:
    """The kernel k(X, Y) = function(X, Y, **parameters), whose values are checked in every call.

    >>> Custom(lambda X, Y: X @ Y.T + 1.0)(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[12.]])
    """

    function: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    name: ClassVar[str] = "callable"
    identity: ClassVar[bool] = False
    definite: ClassVar[bool] = False

    def __call__(self, X: Any, Y: Any) -> Any:
        """Return the values (n, m) for X (n, d) and Y (m, d), in the dtype of X."""
        K = self._values(X, Y)
        shape = (X.shape[0], Y.shape[0])
        if tuple(K.shape) != shape:
            rows = f"for X with {shape[0]} rows and Y with {shape[1]}"
            raise self._error(f"returned an array of shape {tuple(K.shape)} {rows}, not {shape}", CALLED_ONCE)
        if not bool(namespace(K).all(namespace(K).isfinite(K))):
            raise self._error("returned values that are not finite (NaN or infinity)", "return finite values only")
        return Like(X)(K) if is_tensor(X) or not is_tensor(K) else K

    def diagonal(self, X: Any) -> Any:
        """Return the values (n,) of k(x_i, x_i), from small square blocks: 64 n values in all."""
        xp = namespace(X) if is_tensor(X) else np
        blocks = (X[part, :] for part in slices(X.shape[0], DIAGONAL_BLOCK_ROWS))
        return xp.concat([xp.linalg.diagonal(self(block, block)) for block in blocks])

    def _values(self, X: Any, Y: Any) -> Any:
        try:
            K = self.function(X, Y, **self.parameters)
        except (ValueError, TypeError, IndexError) as error:
            shapes = f"{tuple(X.shape)} and {tuple(Y.shape)}"
            raise self._error(f"failed on matrices of shape {shapes}: {error}", CALLED_ONCE) from error
        if is_tensor(K):
            return K
        K = K.toarray() if is_sparse(K) else np.asarray(K)
        if K.dtype.kind not in "fiu":
            raise self._error(f"returned values of dtype {K.dtype}", "return real numbers")
        return K

    def _error(self, what: str, fix: str) -> DataError:
        called = getattr(self.function, "__name__", repr(self.function))
        return DataError(f"{called} {what}", argument="kernel", fix=fix)

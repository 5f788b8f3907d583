"""The protocols of kernels k(x, y) = <phi(x), phi(y)>.

A kernel is a frozen dataclass whose fields are the options it takes. Rows are NumPy arrays, CSR matrices or tensors;
the values are dense and of the rows' dtype. Whatever follows the one matrix product of a kernel is done in place on
its result: a kernel matrix (n, m) costs its own memory and little more.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, runtime_checkable

from eigenlens.kernel_pca.kernels.distances import dot_products, squared_norms


@runtime_checkable
class Kernel(Protocol):
    """A symmetric function k(x, y) of two rows, evaluated for all pairs at once.

    Attributes:
        name: its key in `KERNELS`, or "callable".
        identity: whether phi(x) = x, so that feature space is the space of the rows.
    """

    name: ClassVar[str]
    identity: ClassVar[bool]

    @property
    def definite(self) -> bool:
        """Whether its Gram matrices are known to have no negative eigenvalues."""

    def __call__(self, X: Any, Y: Any) -> Any:
        """Return the values (n, m) for X (n, d) and Y (m, d)."""

    def diagonal(self, X: Any) -> Any:
        """Return the values (n,) of k(x_i, x_i)."""


@runtime_checkable
class DistanceKernel(Protocol):
    """A kernel that is a decreasing function of the squared distance |x − y|²."""

    def from_distance(self, D: Any) -> Any:
        """Return the kernel values of squared distances, in place: D is overwritten."""

    def distance(self, K: Any) -> Any:
        """Return the squared distances of kernel values, a new array."""


@runtime_checkable
class DotProductKernel(Protocol):
    """A kernel that is a function of the dot product x·y."""

    @property
    def invertible(self) -> bool:
        """Whether `dot` undoes `from_dot` for every dot product."""

    def __call__(self, X: Any, Y: Any) -> Any:
        """Return the values (n, m) for X (n, d) and Y (m, d)."""
        return self.from_dot(dot_products(X, Y))

    def diagonal(self, X: Any) -> Any:
        """Return the values (n,) of k(x_i, x_i)."""
        return self.from_dot(squared_norms(X))

    def from_dot(self, P: Any) -> Any:
        """Return the kernel values of dot products, in place: P is overwritten."""

    def dot(self, K: Any) -> Any:
        """Return the dot products of kernel values, a new array; of the larger root where there are two."""

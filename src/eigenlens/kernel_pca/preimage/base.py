"""The options, the rows of a model and the form of a result that all pre-image methods share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from eigenlens.arrays import Array, dense, slices
from eigenlens.kernel_pca.kernels.base import DistanceKernel
from eigenlens.kernel_pca.model import KernelComponents

PREIMAGE_BLOCK_BYTES = 16 << 20
"""Bytes of the kernel values of one block of points against all rows."""


@dataclass(frozen=True)
class PreImageOptions:
    """The options of all pre-image methods.

    Attributes:
        tol: a fixed point is reached when it moves by less than this, relative to the spread of the rows.
        max_iter: the most steps from one start.
        restarts: number of nearest rows to start from, one after the other, where the first start fails.
        neighbours: number of rows whose distances place a point ("mds").
        learned: a map from scores (n, k) to rows (n, d), learned before ("ridge"); None learns it now.
    """

    tol: float = 1e-7
    max_iter: int = 300
    restarts: int = 5
    neighbours: int = 10
    learned: Callable[[Array], Array] | None = None


class RawPreImages(NamedTuple):
    """The rows (n, d) that a method found for n points, which of them are substitutes (n,), and steps taken (n,)."""

    rows: Array
    failed: Array
    iterations: Array

    @classmethod
    def at_once(cls, rows: Array) -> Self:
        """Return the result of a method without iterations that cannot fail."""
        return cls(rows, np.zeros(len(rows), dtype=bool), np.zeros(len(rows), dtype=np.int64))

    @classmethod
    def joined(cls, parts: Sequence[RawPreImages]) -> Self:
        """Return the results of consecutive blocks as one."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


@dataclass(frozen=True, eq=False)
class Support:
    """The rows of a model, dense and in float64, less their mean where the kernel is invariant to shifts.

    Attributes:
        model: the fitted components.
        rows: R (m, d) less the shift.
        shift: (d,), zeros for a kernel that does not depend on x − y alone.
    """

    model: KernelComponents
    rows: Array
    shift: Array

    @classmethod
    def of(cls, model: KernelComponents) -> Self:
        """Return the support of a model; without their mean, rows far from zero keep their digits."""
        R = dense(model.rows)
        shift = R.mean(axis=0) if isinstance(model.kernel, DistanceKernel) else np.zeros(R.shape[1])
        return cls(model, R - shift, shift)

    @property
    def spread(self) -> float:
        """The root mean square distance of the rows from their mean: the unit of lengths."""
        return float(np.sqrt(np.sum(self.rows.var(axis=0)))) or 1.0

    def images(self, rows: Array) -> Array:
        """Return <phi(r), centre> and <phi(r), v_j> (c, 1 + k) of rows (c, d), block by block. Cost c m (d + k)."""
        onto = np.column_stack([self.model.centre, self.model.coefficients]).astype(np.float64, copy=False)
        return np.concatenate([self.model.kernel(rows[part], self.rows) @ onto for part in self.blocks(len(rows))])

    def blocks(self, n: int, width: int = 1) -> Iterator[slice]:
        """Return ranges of n points whose kernel values against all rows, or `width` numbers each, fit one block."""
        step = max(1, PREIMAGE_BLOCK_BYTES // (8 * max(len(self.rows), width)))
        return slices(max(n, 1), step)


def nearest_columns(distances: Array, count: int) -> Array:
    """Return the columns (n, count) of the smallest entries of each row of distances (n, c), in ascending order.

    >>> nearest_columns(np.array([[3.0, 1.0, 2.0]]), 2)
    array([[1, 2]])
    """
    count = min(count, distances.shape[1])
    found = np.argpartition(distances, count - 1, axis=1)[:, :count]
    order = np.argsort(np.take_along_axis(distances, found, axis=1), axis=1, kind="stable")
    return np.asarray(np.take_along_axis(found, order, axis=1))

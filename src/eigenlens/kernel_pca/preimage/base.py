"""What every route back from feature space shares: the rows that span it, their images, and the form of an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.kernel_pca.kernels.mercer import DistanceKernel
from eigenlens.kernel_pca.model import KernelComponents

__all__ = ["PreImageOptions", "RawPreImages", "Support", "nearest_columns"]

PREIMAGE_BLOCK_BYTES = 16 << 20


@dataclass(frozen=True)
class PreImageOptions:
    """How far to go.

    Attributes:
        tol: a fixed point has come when it moves by less than this, relative to the spread of the rows.
        max_iter: the most steps from one start.
        restarts: the nearest rows to start from, one after the other, where the first start fails.
        neighbours: rows whose distances place a point ("mds").
        learned: a map from scores (n, k) to rows (n, d), learned before ("ridge"); None learns it now.
    """

    tol: float = 1e-7
    max_iter: int = 300
    restarts: int = 5
    neighbours: int = 10
    learned: Callable[[Array], Array] | None = None


@dataclass(frozen=True, eq=False)
class RawPreImages:
    """Rows (n, d) found for n points, which of them are makeshift (n,), and the steps taken (n,)."""

    rows: Array
    failed: Array
    iterations: Array

    @classmethod
    def at_once(cls, rows: Array) -> Self:
        """Rows that needed no iteration and cannot fail."""
        return cls(rows, np.zeros(len(rows), dtype=bool), np.zeros(len(rows), dtype=np.int64))

    @classmethod
    def joined(cls, parts: Sequence[RawPreImages]) -> Self:
        """The parts below each other."""
        return cls(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.failed for part in parts]),
            np.concatenate([part.iterations for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class Support:
    """The rows of a model, dense and in float64, about their mean where the kernel does not mind a shift.

    Attributes:
        model: whose points are to be brought back.
        rows: R (m, d) less the shift.
        shift: (d,), zeros for a kernel that depends on more than x − y.
    """

    model: KernelComponents
    rows: Array
    shift: Array

    @classmethod
    def of(cls, model: KernelComponents) -> Self:
        """The support of a model. Rows with a large mean lose no digits to it hereafter."""
        R = dense(model.rows)
        shift = R.mean(axis=0) if isinstance(model.kernel, DistanceKernel) else np.zeros(R.shape[1])
        return cls(model, R - shift, shift)

    @property
    def spread(self) -> float:
        """The root mean square distance of the rows from their mean: the unit of lengths."""
        return float(np.sqrt(np.sum(self.rows.var(axis=0)))) or 1.0

    def images(self, rows: Array) -> Array:
        """<phi(r), centre> and <phi(r), v_j> (c, 1 + k) of some rows (c, d), a block at a time. Cost c m (d + k)."""
        onto = np.column_stack([self.model.centre, self.model.coefficients]).astype(np.float64, copy=False)
        return np.concatenate([self.model.kernel(rows[part], self.rows) @ onto for part in self.blocks(len(rows))])

    def blocks(self, n: int, width: int = 1) -> Iterator[slice]:
        """Ranges of n points whose kernel values against all rows, or `width` numbers each, fit one block."""
        step = max(1, PREIMAGE_BLOCK_BYTES // (8 * max(len(self.rows), width)))
        for start in range(0, max(n, 1), step):
            yield slice(start, start + step)


def nearest_columns(gap: Array, count: int) -> Array:
    """Columns (n, count) of the smallest entries of each row of gap (n, c), in ascending order.

    >>> nearest_columns(np.array([[3.0, 1.0, 2.0]]), 2)
    array([[1, 2]])
    """
    count = min(count, gap.shape[1])
    found = np.argpartition(gap, count - 1, axis=1)[:, :count]
    order = np.argsort(np.take_along_axis(gap, found, axis=1), axis=1, kind="stable")
    return np.asarray(np.take_along_axis(found, order, axis=1))

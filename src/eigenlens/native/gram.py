"""Gaussian kernel values, and products with a symmetric matrix of which one half is stored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eigenlens.arrays import Array, slices
from eigenlens.native.moments import symmetric
from eigenlens.native.runtime import aligned, as_readable, kernel_of, kernels, plain, readable
from eigenlens.resources import thread_count

DEEPEST = 1024
"""Up to this many columns the fused tile is used; beyond, products are nearly all of the work, and BLAS does them."""

PANEL_ROWS, PANEL_COLUMNS = 64, 2048


@dataclass(frozen=True, eq=False)
class Points:
    """Rows (m, d) prepared for `gaussian_values`: one side of many kernel matrices.

    Attributes:
        rows: the rows as given.
        gamma: of the kernel.
        centre: (d,), a point near the rows, compared with their spread.
        double: whether float32 rows are multiplied in float64.
    """

    rows: Array
    gamma: float
    centre: Array
    double: bool = False

    @cached_property
    def packed(self) -> Any:
        """The points in the layout of the compiled kernel."""
        wide = self.double and self.rows.dtype == np.float32
        pack = kernels.points_float32_by_float64 if wide else kernel_of("points", self.rows.dtype)
        return pack(as_readable(self.rows), self.gamma, plain(self.centre), thread_count())

    def beside(self, X: Array) -> Points:
        """Return other rows about the same centre."""
        return Points(X, self.gamma, self.centre, self.double)


@dataclass(frozen=True, eq=False)
class Upper:
    """A symmetric matrix (n, n) stored on and above its diagonal: half the memory.

    Panel p holds the rows from p · step on and the columns from there to the right; its entries below the diagonal
    are undefined.

    Attributes:
        panels: arrays (step, n − p · step), the last one shorter.
        step: rows of a panel, a multiple of 64.

    >>> K = Upper.of(np.array([[1.0, 2.0], [2.0, 3.0]]))
    >>> K.n, K.diagonal(), K.full()
    (2, array([1., 3.]), array([[1., 2.], [2., 3.]]))
    """

    panels: tuple[Array, ...]
    step: int

    @classmethod
    def empty(cls, n: int, step: int, dtype: Any) -> Upper:
        """Return an uninitialised matrix of n rows."""
        starts = range(0, n, step)
        return cls(tuple(np.empty((min(step, n - start), n - start), dtype=dtype) for start in starts), step)

    @classmethod
    def of(cls, K: Array, step: int = 512) -> Upper:
        """Return a whole matrix in this form, as views of it."""
        return cls(tuple(K[start : start + step, start:] for start in range(0, len(K), step)), step)

    @property
    def n(self) -> int:
        """The number of rows."""
        return sum(len(panel) for panel in self.panels)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the dtype of the entries."""
        return self.panels[0].dtype

    def part(self, rows: slice, columns: slice) -> Array:
        """Return a view of the rows of one panel and columns to the right of its start."""
        p = rows.start // self.step
        start = p * self.step
        panel: Array = self.panels[p]
        return panel[rows.start - start : rows.stop - start, columns.start - start : columns.stop - start]

    def diagonal(self) -> Array:
        """Return the diagonal (n,)."""
        return np.asarray(np.concatenate([panel.diagonal() for panel in self.panels]))

    def full(self, dtype: Any = None) -> Array:
        """Return both triangles, in a new array."""
        n, out = self.n, np.empty((self.n, self.n), dtype=dtype or self.dtype)
        with np.errstate(invalid="ignore"):  # entries below the diagonal may be anything
            for start, panel in zip(range(0, n, self.step), self.panels, strict=True):
                out[start : start + self.step, start:] = panel
        return symmetric(out)


def gaussian_values(x: Points, y: Points, out: Array) -> Array:
    """Return exp(−gamma |x − y|²) of rows x (n, d) and y (m, d) in `out` (n, m), whose rows are contiguous.

    Products, differences and exponentials of a tile stay in registers; `out` may be float64 for float32 rows, which
    saves a conversion. Cost 2 n m d flops, n m exponentials.

    >>> y = Points(np.zeros((1, 2)), 1.0, np.zeros(2))
    >>> gaussian_values(y.beside(np.eye(2)), y, np.empty((2, 1))).ravel()
    array([0.3679, 0.3679])
    """
    if kernels is None or x.rows.shape[1] > DEEPEST:
        return gaussian_values_numpy(x, y, out)
    wide = x.rows.dtype == np.float32 and out.dtype == np.float64 and not x.double
    kernel = kernels.gaussian_wide if wide else kernels.gaussian
    kernel(x.packed, y.packed, out, thread_count())
    return out


def gaussian_values_numpy(x: Points, y: Points, out: Array) -> Array:
    """The twin of `gaussian_values`: one matrix product per panel, then the exponential in place.

    −gamma |x − y|² = a·b − |a|²/2 − |b|²/2   with a = √(2 gamma) (x − c), and b likewise
    """
    right = _scaled(y)
    half_squares = _half_squares(right)
    for rows in slices(len(x.rows), max(PANEL_ROWS, (1 << 17) // len(right))):
        left = _scaled(x.beside(x.rows[rows]))
        with np.errstate(all="ignore"):  # entries that are not finite give values that are not
            P = left @ right.T
            P -= half_squares
            P -= _half_squares(left)[:, None]
            np.minimum(P, 0.0, out=P)
            out[rows] = np.exp(P, out=P)
    return out


def gaussian_gram(x: Points, out: Upper) -> Upper:
    """Return the Gram matrix of x (n, d) in `out`, exactly 1 on its diagonal. Cost half of `gaussian_values`.

    >>> gaussian_gram(Points(np.eye(2), 0.5, np.zeros(2)), Upper.empty(2, 64, np.float64)).full()
    array([[1.    , 0.3679], [0.3679, 1.    ]])
    """
    if kernels is None or x.rows.shape[1] > DEEPEST:
        return gaussian_gram_numpy(x, out)
    kernel_of("gaussian_gram", out.dtype)(x.packed, list(out.panels), out.step, thread_count())
    return out


def gaussian_gram_numpy(x: Points, out: Upper) -> Upper:
    """The twin of `gaussian_gram`, one panel at a time."""
    for start, panel in zip(range(0, out.n, out.step), out.panels, strict=True):
        gaussian_values_numpy(x.beside(x.rows[start : start + out.step]), x.beside(x.rows[start:]), panel)
        np.fill_diagonal(panel, 1.0)
    return out


def _scaled(points: Points) -> Array:
    dtype = np.dtype(np.float64 if points.double else points.rows.dtype)
    shifted = np.asarray(points.rows, dtype=dtype) - points.centre.astype(dtype)
    return np.asarray(shifted * dtype.type(np.sqrt(2.0 * points.gamma)))


def _half_squares(A: Array) -> Array:
    return np.asarray(0.5 * np.einsum("ij,ij->i", A, A, dtype=np.float64), dtype=A.dtype)


def symmetric_product(K: Upper, V: Array, workers: int | None = None) -> Array:
    """Return K V (n, b) in float64, for a symmetric K (n, n) in float32 or float64, each entry of which is read once.

    Each tile serves for itself and for its mirror image. Cost 2 n² b flops, on the given number of threads, or as
    many as BLAS may use.

    >>> K = Upper.of(np.array([[1.0, 2.0], [np.nan, 3.0]]))
    >>> symmetric_product(K, np.array([[1.0], [1.0]])).ravel()
    array([3., 5.])
    """
    n, b = V.shape
    in_rows = all(readable(panel) and panel.strides[1] == panel.itemsize for panel in K.panels)
    if kernels is None or b == 0 or not in_rows:
        return symmetric_product_numpy(K, V)
    width = -(-b // 8) * 8
    right, left = aligned(n, width), aligned(n, width)
    right[:, :b], right[:, b:] = V, 0.0
    kernel_of("symmetric", K.dtype)(list(K.panels), K.step, right, left, workers or thread_count())
    return left[:, :b]


def symmetric_product_numpy(K: Upper, V: Array) -> Array:
    """The twin of `symmetric_product`, by BLAS on one tile at a time, converted to float64."""
    n, out = K.n, np.zeros(V.shape)
    for mine in slices(n, PANEL_ROWS):
        square = np.triu(K.part(mine, mine)).astype(np.float64)
        out[mine] += square @ V[mine] + np.triu(square, 1).T @ V[mine]
        for j in range(mine.stop, n, PANEL_COLUMNS):
            theirs = slice(j, min(j + PANEL_COLUMNS, n))
            tile = np.asarray(K.part(mine, theirs), dtype=np.float64)
            out[mine] += tile @ V[theirs]
            out[theirs] += tile.T @ V[mine]
    return out

"""Matrices known by their products: centred rows and their covariance, and a symmetric matrix in memory.

Centring, scaling and weights are implicit. With m the means, s the scales and w the weights,

    X̃ = diag(w)^½ (X − 1 mᵀ) diag(s)⁻¹ / (Σw − 1)^½ ,     X̃ᵀX̃ = the covariance (or correlation) matrix,

and no centred copy of X is ever made, only one block at a time. Rows about zero have m = 0 and the divisor Σw, since no
mean is estimated: X̃ᵀX̃ is then the matrix of second moments. Scores are like their rows: dtype, library, device.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from functools import cached_property, partial, singledispatch
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from eigenlens import checks
from eigenlens.arrays import Array, Like, is_sparse, is_tensor, namespace, slices, to_numpy
from eigenlens.checkpoint.passes import recorded
from eigenlens.data.coerce import require_finite
from eigenlens.data.source import Block, Progress, S, Source, accumulate
from eigenlens.errors import DataError
from eigenlens.gpu.runtime import on_device
from eigenlens.linalg.column_panels import centre_columns, column_reader, dense_columns
from eigenlens.native.moments import NARROW, moments_about
from eigenlens.native.sparse import normal_product
from eigenlens.resources import in_slices
from eigenlens.stats.moments import ColumnMoments, Moments, rows_and_weight

COLUMN_BLOCK = 4096
"""The number of columns of a product XᵀU that are computed at a time."""

CACHE_PANEL_BYTES = 4 << 20
"""The size of panels that stay in the cache between two uses."""

DEVICE_PANEL_BYTES = 1 << 29
"""The size of panels on a device, whose cache is not worth a launch per panel."""

MAX_MEAN_SHARE = 3.0
"""Means up to this many deviations need not be subtracted from each row before a product."""

GRAM_PANEL_BYTES = 16 << 20
"""The size of panels of columns that are centred and multiplied at a time."""

GRAM_SLICE_COLUMNS = 512
"""The number of columns that a thread centres at a time."""


class SymmetricOperator(Protocol):
    """A symmetric positive semidefinite matrix A (size, size), known by its products."""

    @property
    def size(self) -> int:
        """Return the number N of rows and columns."""

    @property
    def trace(self) -> float:
        """Return the sum of all eigenvalues."""

    def matmat(self, V: Array) -> Array:
        """Return A V for V (size, b)."""


class Matrix:
    """A symmetric matrix in memory.

    >>> Matrix(np.diag([1.0, 2.0])).matmat(np.ones((2, 1))).ravel()
    array([1., 2.])
    """

    def __init__(self, A: Array) -> None:
        self._A = A
        self.size = A.shape[0]
        self.trace = float(np.trace(A))

    def matmat(self, V: Array) -> Array:
        """Return A V (size, b)."""
        return np.asarray(self._A @ V)

    def dense(self) -> Array:
        """Return the matrix itself."""
        return self._A


class CentredRows:
    """The matrix X̃ (n, d) of a source: centred if `center`, scaled if `standardize`, weighted, over √divisor.

    feature_weight: (d,) weights of the columns in sums of squares: the columns of X̃ are multiplied by their roots.
    moments: those of the rows, where they are known already.

    As a `SymmetricOperator` it is X̃ᵀX̃ (d, d): `size`, `trace`, `matmat`. Every product is one
    pass over the source; `passes` counts them.

    >>> from eigenlens.data.memory import ArraySource
    >>> rows = CentredRows(ArraySource(np.array([[1.0, 0.0], [3.0, 0.0], [5.0, 3.0]])))
    >>> rows.trace, rows.dense()
    (7.0, array([[4., 3.], [3., 3.]]))
    >>> CentredRows(ArraySource(np.array([[1.0, 0.0], [3.0, 0.0], [5.0, 3.0]])), center=False).dense() * 3
    array([[35., 15.], [15.,  9.]])
    """

    known_triangle: Array | None = None  # R (r, d) with RᵀR = X̃ᵀX̃, where it is kept beside the moments

    def __init__(
        self,
        source: Source,
        *,
        standardize: bool = False,
        center: bool = True,
        feature_weight: Array | None = None,
        progress: Progress | None = None,
        moments: Moments | None = None,
    ) -> None:
        self.source = source
        self.standardize = standardize
        self.center = center
        self.feature_weight = feature_weight
        self.passes = 0
        self._progress = progress
        if moments is not None:
            self._require_variance(moments.columns)
            self.moments = moments

    @cached_property
    def moments(self) -> Moments:
        """Mean and scatter of the rows, found in one pass."""
        found = self._fold(Moments.of, "moments")
        self._require_variance(found.columns)
        return found

    @property
    def single_products(self) -> bool:
        """Whether the covariance is made of float32 products, as for tensors and for rows too wide for the kernel."""
        wide = self.size > NARROW[np.dtype(np.float32)]
        return self.source.dtype == np.float32 and (wide or self.source.near is not None)

    @property
    def known_moments(self) -> Moments | None:
        """The moments if some solver has needed them, else None: no pass is made."""
        return self.__dict__.get("moments")

    @cached_property
    def columns(self) -> ColumnMoments:
        """Means and variances of the columns, found in one pass, or in none if the moments are known."""
        if self.known_moments is not None:
            return self.known_moments.columns
        found = self._fold(ColumnMoments.of, "column means")
        self._require_variance(found)
        return found

    @property
    def n_rows(self) -> int:
        """The number of rows with positive weight."""
        return self.columns.rows

    @property
    def divisor(self) -> float:
        """Σw − 1, the divisor of the covariance, which is decided here only; Σw about zero."""
        return covariance_divisor(float(self.columns.weight), self.center)

    @property
    def max_rank(self) -> int:
        """The largest rank that this number of rows can have: centring costs one."""
        return self.n_rows - int(self.center)

    @property
    def centre(self) -> Array:
        """(d,) the point that is subtracted from the rows: their mean, or zero."""
        return self.columns.mean if self.center else np.zeros(self.size)

    @cached_property
    def squares(self) -> Array:
        """(d,) sums of squared deviations from the centre, weighted."""
        return self.columns.square if self.center else self.columns.square_about_zero

    @cached_property
    def scale(self) -> Array | None:
        """(d,) standard deviations, 1 for a constant column; None if the rows are not standardised.

        About zero they are root mean squares, 1 for a column of zeros. Weights of columns divide them by their roots.
        """
        if not self.standardize:
            return None if self.feature_weight is None else 1.0 / np.sqrt(self.feature_weight)
        scale = _deviations(self.centre, self.squares, self.divisor)
        return scale if self.feature_weight is None else scale / np.sqrt(self.feature_weight)

    @cached_property
    def variances(self) -> Array:
        """(d,) diagonal of X̃ᵀX̃."""
        square = self.squares / self.divisor
        return square if self.scale is None else square / self.scale**2

    @property
    def size(self) -> int:
        """The number d of columns."""
        return self.source.n_features

    @property
    def trace(self) -> float:
        """The total variance."""
        return float(self.variances.sum())

    def dense(self) -> Array:
        """Return the covariance matrix (d, d), or the correlation matrix if standardised; second moments about zero."""
        S = self.moments.covariance() if self.center else self.moments.scatter_about_zero / self.divisor
        if self.scale is not None:
            S /= self.scale
            S /= self.scale[:, None]
        return S

    def matmat(self, V: Array) -> Array:
        """Return X̃ᵀX̃ V (d, b) in one pass; each block is used twice while it is in the cache."""
        right = self._unscale(V)
        mean = self.centre
        base = np.zeros_like(mean) if self._near else mean.astype(self.source.dtype).astype(np.float64)
        product = partial(_normal_product, base=base, rest=mean - base, V=right)
        return np.asarray(self._unscale(self._fold(product, "products")) / self.divisor)

    def rmatmat(self, U: Array) -> Array:
        """Return X̃ᵀU (d, b) for U (n, b) in one pass."""
        self.passes += 1
        total = recorded("products of columns", (self.source, U, self.centre), partial(self._left_products, U))
        return np.asarray(self._unscale(total) / np.sqrt(self.divisor))

    def _left_products(self, U: Array) -> Array:
        offset, centre = 0, self.centre

        def part(block: Block) -> Array:
            nonlocal offset
            u = U[offset : offset + block.rows.shape[0]]
            offset += block.rows.shape[0]
            return _left_product(block, centre, u, self._near)

        return functools.reduce(operator.add, map(part, self.source.blocks()))

    def gram(self) -> Array:
        """Return X̃X̃ᵀ (n, n) from blocks of columns, each centred by its own means, or about zero. Cost: n² d flops."""
        self.passes += 1
        options = self.center, self.standardize, self.feature_weight
        G, columns = recorded("products of rows", (self.source, *options), self._row_products)
        if "columns" not in self.__dict__:
            self._require_variance(columns)
            self.columns = columns
        return G / self.divisor

    def _row_products(self) -> tuple[Array, ColumnMoments]:
        """Return X̃X̃ᵀ (n, n) times the divisor, and the moments of the columns."""
        read, n = column_reader(self.source)
        weight = self.source.weight
        count, total = (n, float(n)) if weight is None else (int(np.count_nonzero(weight)), float(weight.sum()))
        mean, square = np.empty(self.size), np.empty(self.size)
        G, nowhere = np.zeros((n, n)), np.zeros(n)
        step = GRAM_PANEL_BYTES * (1 if self.source.in_memory else 2) // (8 * n)  # each is a pass over a file
        for columns in slices(self.size, int(np.clip(step, 256, 2 * COLUMN_BLOCK))):
            given = read(columns)
            panel: Array = np.empty(given.shape)

            def fill(part: slice, given: Array = given, panel: Array = panel, first: int = columns.start) -> None:
                here = slice(first + part.start, first + part.stop)
                own = np.array(given[:, part], dtype=np.float64)
                panel[:, part], mean[here], square[here] = self._gram_panel(own, here, weight, total)

            with np.errstate(all="ignore"):
                in_slices(fill, columns.stop - columns.start, GRAM_SLICE_COLUMNS)
                G += moments_about(panel.T, None, nowhere)[1]
        return G, ColumnMoments(total, mean, square, count)

    def _gram_panel(self, panel: Array, which: slice, weight: Array | None, total: float) -> tuple[Array, Array, Array]:
        """Return some columns (n, c) of X̃ times √divisor, and the means and squared deviations of the columns."""
        own = None if self.center else panel.copy()
        centred, mean, square = centre_columns(panel, weight, total)
        if own is not None:
            centred = own if weight is None else own * np.sqrt(weight)[:, None]
        if self.standardize:
            here = ColumnMoments(total, mean, square)
            about = (mean, square) if self.center else (np.zeros_like(mean), here.square_about_zero)
            centred /= _deviations(*about, covariance_divisor(total, self.center))
        if self.feature_weight is not None:
            centred *= np.sqrt(self.feature_weight[which])
        return centred, mean, square

    def centred_blocks(self) -> Iterator[Array]:
        """Yield X̃ (n, d), one dense block at a time."""
        self.passes += 1
        root, centre = np.sqrt(self.divisor), self.centre
        for block in self.source.blocks():
            for panel in _dense_panels(block):
                yield _dense_block(panel, centre, self.scale, panel.weight) / root

    def sample(self, count: int) -> Array:
        """Return about `count` rows √w (x − m) / s, spread evenly over the first block."""
        block = next(iter(self.source.blocks()))
        step = max(1, block.rows.shape[0] // count)
        weight = None if block.weight is None else block.weight[::step]
        return _dense_block(Block(block.rows[::step, :]), self.centre, self.scale, weight)

    def whitened_scatter(self, R: Array) -> Array:
        """Return the scatter (d, d) of the rows (x − m) / s · R⁻¹, found in one pass: a step of CholeskyQR."""
        R = R if self.scale is None else R * self.scale
        found = self._fold(partial(_whitened, mean=self.centre, R=np.asfortranarray(R)), "refinement")
        return found.scatter if self.center else found.scatter_about_zero

    @cached_property
    def _near(self) -> bool:
        """Whether the means are so small beside the deviations that X V − 1 mᵀV loses no digits."""
        limit = 1e-12 if self.source.dtype == np.float64 else 1e-6
        square = self.squares / self.divisor
        return bool(np.all(self.centre**2 * np.finfo(self.source.dtype).eps <= limit * square))

    def _require_variance(self, columns: ColumnMoments) -> None:
        """Raise an error for rows without a finite variance, before any solver sees them."""
        require_finite(self.source, columns.mean, columns.square)
        if not self.center:
            return
        if columns.rows < 2:
            samples = "1 sample" if columns.rows == 1 else f"{columns.rows} samples"
            what = f"has {samples} of positive weight, but a variance needs at least 2 rows"
            raise DataError(what, argument="X", fix="give more rows")
        checks.total_weight(columns.weight)

    def _fold(self, summarise: Callable[[Block], S], label: str) -> S:
        self.passes += 1
        with np.errstate(all="ignore"):  # entries that are not finite show in the result, and are explained then
            return accumulate(self.source, summarise, self._progress, label)

    def _unscale(self, V: Array) -> Array:
        return V if self.scale is None else V / self.scale[:, None]


def covariance_divisor(weight: float, center: bool) -> float:
    """Return the divisor of second moments of rows with the total weight Σw: Σw − 1 about their mean, Σw about zero."""
    return weight - 1.0 if center else weight


def _deviations(mean: Array, square: Array, divisor: float) -> Array:
    """Return standard deviations (d,), 1 for a constant column."""
    deviation = np.sqrt(square / divisor)
    return np.where((deviation <= 1e-13 * np.abs(mean)) | (deviation == 0.0), 1.0, deviation)


def _dense_block(block: Block, mean: Array, scale: Array | None, weight: Array | None) -> Array:
    rows = dense_columns(block.rows, slice(None)) - mean
    if scale is not None:
        rows /= scale
    return rows if weight is None else rows * np.sqrt(weight)[:, None]


def _whitened(block: Block, mean: Array, R: Array) -> Moments:
    """Return the moments of the rows (x − m) R⁻¹; rows that are not NumPy's become dense one panel at a time."""
    if isinstance(block.rows, np.ndarray):
        count, weight = rows_and_weight(block)
        total, scatter = moments_about(block.rows, block.weight, mean, R)
        return Moments.about(np.zeros(mean.size), weight, total, scatter, count)
    return functools.reduce(operator.add, (_whitened(panel, mean, R) for panel in _dense_panels(block)))


def _dense_panels(block: Block) -> Iterator[Block]:
    """Yield the rows of a block as dense float64 copies, one panel at a time."""
    step = max(64, 4 * CACHE_PANEL_BYTES // (8 * block.rows.shape[1]))
    for part in slices(block.rows.shape[0], step):
        rows = dense_columns(block.rows[part, :], slice(None))
        yield Block(rows, None if block.weight is None else block.weight[part])


def _normal_product(block: Block, base: Array, rest: Array, V: Array) -> Array:
    return _centred_product(block.rows, block.weight, base, rest, V)


@singledispatch
def _centred_product(rows: Any, weight: Array | None, base: Array, rest: Array, V: Array) -> Array:
    """Return (X − 1mᵀ)ᵀ diag(w) (X − 1mᵀ) V (d, b) with m = base + rest; this implementation is for tensors.

    `base`, which the rows' dtype holds exactly, is subtracted from the rows; the rest enters through the products.
    """
    xp = namespace(rows)
    c, right, offset = (xp.asarray(a, dtype=rows.dtype, device=rows.device) for a in (base, V, rest @ V))
    centred = rows - c
    Y = xp.matmul(centred, right) - offset
    if weight is not None:
        Y = Y * xp.asarray(weight[:, None], dtype=rows.dtype, device=rows.device)
    Z, sums = to_numpy(xp.matmul(centred.T, Y)), to_numpy(xp.sum(Y, axis=0))
    return np.asarray(Z.astype(np.float64) - np.outer(rest, sums))


@_centred_product.register
def _(rows: np.ndarray, weight: Array | None, base: Array, rest: Array, V: Array) -> Array:
    """Return the product for NumPy rows, in panels that stay in the cache and in the rows' dtype.

    float32 rows are never widened as a whole: their products are float32, the sums over panels float64.
    """
    c, right = base.astype(rows.dtype), np.ascontiguousarray(V.T, dtype=rows.dtype)
    offset, shifted = (rest @ V).astype(rows.dtype)[:, None], bool(base.any())
    total, sums = np.zeros(right.shape), np.zeros(len(right))
    step = max(64, 4 * CACHE_PANEL_BYTES // (rows.dtype.itemsize * rows.shape[1]))
    for start in range(0, rows.shape[0], step):
        panel = rows[start : start + step] - c if shifted else rows[start : start + step]
        Y = right @ panel.T - offset  # (b, rows): short and wide products are faster
        if weight is not None:
            Y *= weight[start : start + step].astype(rows.dtype)
        total += Y @ panel
        sums += Y.sum(axis=1)
    return np.asarray((total - np.outer(sums, rest)).T)


@_centred_product.register
def _(rows: sparse.csr_matrix, weight: Array | None, base: Array, rest: Array, V: Array) -> Array:
    mean = base + rest
    Z, total = normal_product(rows, weight, V, mean @ V)
    return np.asarray(Z - np.outer(mean, total))


def _left_product(block: Block, mean: Array, U: Array, near: bool) -> Array:
    """Return (X − 1mᵀ)ᵀ diag(w)^½ U (d, b) of one block."""
    rows, weight = block
    u = U if weight is None else U * np.sqrt(weight)[:, None]
    if is_tensor(rows):
        xp = namespace(rows)
        m, right = (xp.asarray(a, dtype=rows.dtype, device=rows.device) for a in (mean, u))
        return np.asarray(to_numpy(xp.matmul((rows - m).T, right)), dtype=np.float64)
    if is_sparse(rows):
        return np.asarray(rows.T @ u - np.outer(mean, u.sum(axis=0)))
    base = np.zeros_like(mean) if near else mean.astype(rows.dtype).astype(np.float64)
    right = np.ascontiguousarray(u.T, dtype=rows.dtype)
    total, sums = np.empty((U.shape[1], rows.shape[1])), right.sum(axis=1)

    def fill(part: slice) -> None:
        columns = rows[:, part] if near else rows[:, part] - base[part].astype(rows.dtype)
        total[:, part] = right @ columns - np.outer(sums, (mean - base)[part])

    in_slices(fill, rows.shape[1], COLUMN_BLOCK)
    return total.T


def project_rows(rows: Any, mean: Array, V: Array, deviation: Array | None = None) -> Any:
    """Return the scores (X − 1 mᵀ) V (b, k) of rows X (b, d), a NumPy array, CSR matrix or tensor.

    The mean is split into its value in the rows' dtype and the rest, so float32 rows far from zero lose nothing. On a
    device X V − 1 mᵀV is half the work, where the deviations (d,) of the columns show that it loses nothing either.

    >>> project_rows(np.array([[2.0, 3.0]]), np.array([1.0, 1.0]), np.eye(2))
    array([[1., 2.]])
    """
    if is_sparse(rows):
        return np.asarray(rows @ V - mean @ V, dtype=rows.dtype)
    like = Like(rows)
    folded = deviation is not None and on_device(rows) and _mean_is_near(mean, V, deviation)
    near = np.zeros_like(mean, like.dtype) if folded else mean.astype(like.dtype)
    rest, m, right = like((mean - near) @ V), like(near), like(V)
    panel = DEVICE_PANEL_BYTES if on_device(rows) else CACHE_PANEL_BYTES
    step = max(64, panel // (like.dtype.itemsize * V.shape[0]))
    parts = (rows[part, :] if folded else rows[part, :] - m for part in slices(max(1, rows.shape[0]), step))
    return concatenate([part @ right - rest for part in parts])


def _mean_is_near(mean: Array, V: Array, deviation: Array) -> bool:
    """Return whether the terms of mᵀV are so small beside those of deviations that X V loses less than 2 bits to it."""
    weight = np.abs(V)
    return bool(np.all(np.abs(mean) @ weight <= MAX_MEAN_SHARE * (deviation @ weight)))


def concatenate(parts: list[Any]) -> Any:
    """Return arrays of one library stacked below each other."""
    return parts[0] if len(parts) == 1 else namespace(parts[0]).concat(parts)

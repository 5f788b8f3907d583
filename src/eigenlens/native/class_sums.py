"""Sums within classes, and log densities of columns that are independent given the class.

Rows are float32 or float64 of any strides, with NaN for missing entries; codes are integers. Labels y (n,) are int32
numbers of classes. Sums over rows do not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array, slices
from eigenlens.native.runtime import MAX_ONE_THREAD_ENTRIES, aligned, kernels, plain, run_kernel
from eigenlens.resources import thread_count

PANEL = 1 << 18
"""The number of entries that the twins work on at a time."""

LONG = 320
"""Short rows are compared this many codes at a time, as one long row, which fills the vector registers."""

READ_AS = {"bool": "uint8", "uint16": "int32", "uint32": "int64", "uint64": "int64"}
"""Integer types that kernels do not read, and the types that they are converted to."""

CODES: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(name): np.dtype(READ_AS.get(name, name)) for name in ("int8", "uint8", "int16", "int32", "int64", *READ_AS)
}
"""The integer types that codes may have, and the types as which kernels read them."""


class Lines(NamedTuple):
    """The lines of a table with one line per code of each column: code c of column j has line start_j + c − low_j.

    Attributes:
        low: (d,) the first code of each column. width: (d,) the number of its codes.
        start: (d,) its first line; the line after its last code is for codes out of its range.

    >>> Lines.of(np.array([0, 5]), np.array([2, 3])).total
    7
    """

    low: Array
    width: Array
    start: Array

    @classmethod
    def of(cls, low: Array, width: Array) -> Lines:
        """Return the lines of columns, one column after the other."""
        ends = np.cumsum(width + 1)
        return cls(low.astype(np.int64), width.astype(np.int64), (ends - width - 1).astype(np.int64))

    @property
    def total(self) -> int:
        """The number of lines."""
        return int((self.width + 1).sum())

    def places(self, codes: Array, j: int) -> Array:
        """Return the lines (n,) of the codes (n,) of column j."""
        index = codes.astype(np.int64) - self.low[j]
        return np.asarray(self.start[j] + np.where((index >= 0) & (index < self.width[j]), index, self.width[j]))


def label_counts(y: Array, weight: Array | None, C: int) -> Array:
    """Return Σ w (C,) of the labels y (n,) of each class, their number without weights.

    >>> label_counts(np.array([0, 2, 2], dtype=np.int32), None, 3)
    array([1., 0., 2.])
    """
    if kernels is None:
        return label_counts_numpy(y, weight, C)
    counts = np.empty(C)
    kernels.label_counts(plain(y, np.int32), plain(weight), counts, _threads(y))
    return counts


def label_counts_numpy(y: Array, weight: Array | None, C: int) -> Array:
    """The twin of `label_counts`."""
    return np.bincount(y, weight, minlength=C).astype(np.float64)


# ---- numbers --------------------------------------------------------------------------------------------------


def class_sums(rows: Array, y: Array, weight: Array | None, centre: Array) -> tuple[Array, Array, Array]:
    """Return weights, totals and squares (C, d) of the entries of each class about its centre (C, d).

        weight_cj = Σ w_i,   total_cj = Σ w_i (x_ij − centre_cj),   square_cj = Σ w_i (x_ij − centre_cj)²

    over the rows i of class c whose entry j is observed. Cost n d.

    >>> class_sums(np.array([[1.0], [3.0], [np.nan]]), np.zeros(3, dtype=np.int32), None, np.array([[1.0]]))
    (array([[2.]]), array([[2.]]), array([[4.]]))
    """
    if kernels is None:
        return class_sums_numpy(rows, y, weight, centre)
    C, d = centre.shape
    sums = np.empty((C, 3, d))
    run_kernel("class_moments", rows, plain(y, np.int32), plain(weight), plain(centre), sums)
    return sums[:, 0], sums[:, 1], sums[:, 2]


def class_sums_numpy(rows: Array, y: Array, weight: Array | None, centre: Array) -> tuple[Array, Array, Array]:
    """The twin of `class_sums`, by products with the membership of each class."""
    C, d = centre.shape
    sums = np.zeros((3, C, d))
    for part in slices(len(rows), max(1, PANEL // max(1, d))):
        X, labels = rows[part].astype(np.float64), y[part]
        members = (labels == np.arange(C)[:, None]) * (1.0 if weight is None else weight[part])
        seen = ~np.isnan(X) if weight is None else ~np.isnan(X) & (weight[part] > 0.0)[:, None]
        delta = np.where(seen, X - centre[labels], 0.0)
        sums += np.stack([members @ seen, members @ delta, members @ (delta * delta)])
    return sums[0], sums[1], sums[2]


def add_normal(rows: Array, means: Array, scales: Array, log_constants: Array, joint: Array) -> None:
    """Add Σ_j b_cj − ((x_ij − mean_cj) scale_cj)², over the observed entries j, to joint (n, C).

    means, scales and log_constants b are (C, d). Cost n C d.

    >>> joint = np.zeros((2, 1))
    >>> add_normal(np.array([[3.0], [np.nan]]), np.ones((1, 1)), np.ones((1, 1)), np.full((1, 1), 0.5), joint)
    >>> joint.ravel()
    array([-3.5,  0. ])
    """
    if kernels is None:
        add_normal_numpy(rows, means, scales, log_constants, joint)
        return
    run_kernel("class_joint", rows, *map(plain, (log_constants.sum(axis=1), means, scales, log_constants)), joint)


def add_normal_numpy(rows: Array, means: Array, scales: Array, log_constants: Array, joint: Array) -> None:
    """The twin of `add_normal`."""
    for part in slices(len(rows), max(1, PANEL // max(1, rows.shape[1]))):
        X = rows[part].astype(np.float64)
        missing = np.isnan(X)
        some = bool(missing.any())
        for c in range(len(means)):
            terms = ((X - means[c]) * scales[c]) ** 2
            if some:
                terms[missing] = np.broadcast_to(log_constants[c], X.shape)[missing]
            joint[part, c] += log_constants[c].sum() - terms.sum(axis=1)


# ---- codes ----------------------------------------------------------------------------------------------------


def code_ranges(codes: Array) -> tuple[Array, Array]:
    """Return the smallest and the largest code (d,) of each column of codes (n, d), n at least 1.

    >>> code_ranges(np.array([[3, 0], [1, 7]]))
    (array([1, 0]), array([3, 7]))
    """
    if kernels is None or codes.dtype == np.uint64:  # only the twin can read values beyond int64
        return code_ranges_numpy(codes)
    read = _codes(codes)
    n, d = read.shape
    k = max(1, min(n, LONG // d)) if read.flags.c_contiguous else 1
    whole = n - n % k
    ends = _ends(read[:whole].reshape(-1, k * d)).reshape(2, k, d)
    if whole < n:
        ends = np.concatenate([ends, _ends(read[whole:])[:, None]], axis=1)
    return ends[0].min(axis=0), ends[1].max(axis=0)


def _ends(read: Array) -> Array:
    ends = np.empty((2, read.shape[1]), dtype=np.int64)
    run_kernel("code_ranges", read, ends)
    return ends


def code_ranges_numpy(codes: Array) -> tuple[Array, Array]:
    """The twin of `code_ranges`."""
    low, high = codes.min(axis=0), codes.max(axis=0)
    return (low, high) if codes.dtype == np.uint64 else (low.astype(np.int64), high.astype(np.int64))


def class_counts(codes: Array, lines: Lines, y: Array, weight: Array | None, C: int) -> Array:
    """Return Σ w of the rows of each class on each line, (lines, C). Cost n d.

    >>> codes, y = np.array([[0], [1], [1]]), np.array([0, 0, 1], dtype=np.int32)
    >>> class_counts(codes, Lines.of(np.array([0]), np.array([2])), y, None, 2)
    array([[1., 0.], [1., 1.], [0., 0.]])
    """
    if kernels is None:
        return class_counts_numpy(codes, lines, y, weight, C)
    counts = np.empty((lines.total, C))
    run_kernel("class_counts", _codes(codes), np.stack(lines), plain(y, np.int32), plain(weight), counts)
    return counts


def class_counts_numpy(codes: Array, lines: Lines, y: Array, weight: Array | None, C: int) -> Array:
    """The twin of `class_counts`, which counts pairs of line and class, column by column."""
    counts = np.zeros(lines.total * C)
    for j in range(codes.shape[1]):
        counts += np.bincount(lines.places(codes[:, j], j) * C + y, weight, minlength=counts.size)
    return counts.reshape(-1, C)


def padded(table: Array) -> Array:
    """Return a table (lines, C) padded to whole cache lines, as `add_gathered` reads it."""
    C = table.shape[1]
    wide = aligned(len(table), (C + 7) // 8 * 8)
    wide[:, :C], wide[:, C:] = table, 0.0
    return wide


def add_gathered(codes: Array, lines: Lines, table: Array, joint: Array) -> None:
    """Add Σ_j table[line of x_ij] to joint (n, C); the table (lines, ≥ C) is `padded`. Cost n C d.

    >>> joint, table = np.zeros((2, 1)), padded(np.array([[1.0], [2.0], [9.0]]))
    >>> add_gathered(np.array([[1], [7]]), Lines.of(np.array([0]), np.array([2])), table, joint)
    >>> joint.ravel()
    array([2., 9.])
    """
    if kernels is None:
        add_gathered_numpy(codes, lines, table, joint)
        return
    run_kernel("class_gather", _codes(codes), np.stack(lines), table, joint)


def add_gathered_numpy(codes: Array, lines: Lines, table: Array, joint: Array) -> None:
    """The twin of `add_gathered`."""
    for j in range(codes.shape[1]):
        joint += table[lines.places(codes[:, j], j), : joint.shape[1]]


def winners(joint: Array) -> Array:
    """Return the index (n,) of the largest entry of each row of joint (n, C), the first of equal ones.

    >>> winners(np.array([[0.0, 2.0, 1.0]]))
    array([1])
    """
    if kernels is None:
        return winners_numpy(joint)
    places = np.empty(len(joint), dtype=np.int64)
    kernels.class_winners(plain(joint), places, _threads(joint))
    return places


def winners_numpy(joint: Array) -> Array:
    """The twin of `winners`."""
    return np.asarray(joint.argmax(axis=1))


class Decisions(NamedTuple):
    """The winners (n,) of rows, the largest entry of all, NaN if there is one, and the smallest of the winning ones."""

    winners: Array
    largest: float
    smallest: float


def decide(joint: Array, levels: Array) -> Decisions:
    """Add levels (C,) to the rows of joint (n, C), in place, and return the winners.

    >>> joint = np.array([[0.0, 2.0], [3.0, 0.0]])
    >>> decide(joint, np.array([0.0, 1.0])), joint
    (Decisions(winners=array([1, 0]), largest=3.0, smallest=3.0), array([[0., 3.], [3., 1.]]))
    """
    if kernels is None or joint.dtype != np.float64 or not joint.flags.c_contiguous:
        return decide_numpy(joint, levels)
    places, ends = np.empty(len(joint), dtype=np.int64), np.empty(2)
    kernels.class_decisions(plain(levels), joint, places, ends, _threads(joint))
    return Decisions(places, float(ends[0]), float(ends[1]))


def decide_numpy(joint: Array, levels: Array) -> Decisions:
    """The twin of `decide`."""
    joint += levels
    places = winners_numpy(joint)
    smallest = joint[np.arange(len(joint)), places].min(initial=np.inf)
    return Decisions(places, float(joint.max(initial=-np.inf)), float(smallest))


def _threads(values: Array) -> int:
    return 1 if values.size <= MAX_ONE_THREAD_ENTRIES else thread_count()


def _codes(codes: Array) -> Array:
    if codes.dtype == bool:
        return codes.view(np.uint8)
    return codes.astype(CODES[np.dtype(codes.dtype.name)], copy=False)

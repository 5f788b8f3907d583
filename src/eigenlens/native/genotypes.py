"""Packed genotypes: counts, standardised panels, and the variants that two people both lack.

A block is (b, ⌈n/4⌉) uint8: b variants of n people, two bits per person as in PLINK's .bed files, the first person of a
byte in its lowest bits. Code 0 means two copies of the first allele, 1 a missing call, 2 one copy, 3 none. Bits beyond
the last person may be anything.
"""

from __future__ import annotations

import numpy as np

from eigenlens.arrays import Array
from eigenlens.native.runtime import kernels, plain
from eigenlens.resources import thread_count

SHIFTS = np.array([0, 2, 4, 6], dtype=np.uint8)
"""The places of the four people of a byte."""

BYTE_CODES = np.asarray((np.arange(256, dtype=np.uint8)[:, None] >> SHIFTS) & 3, dtype=np.uint8)
"""(256, 4) the codes of the four people of each byte."""


def unpack_codes(packed: Array, n: int) -> Array:
    """Return the codes (b, n) of a block, uint8.

    >>> unpack_codes(np.array([[0b11_10_01_00]], dtype=np.uint8), 3)
    array([[0, 1, 2]], dtype=uint8)
    """
    return np.asarray(BYTE_CODES[packed].reshape(len(packed), -1)[:, :n])


def pack_codes(codes: Array) -> Array:
    """Return codes (b, n) as a block; people who fill the last byte have two copies, as PLINK writes them.

    >>> pack_codes(np.array([[0, 1, 2, 3, 3]], dtype=np.uint8))
    array([[228,   3]], dtype=uint8)
    """
    b, n = codes.shape
    wide = np.zeros((b, -(-n // 4), 4), dtype=np.uint8)
    wide.reshape(b, -1)[:, :n] = codes
    return np.asarray(np.bitwise_or.reduce(wide << SHIFTS, axis=2))


def genotype_counts(packed: Array, n: int) -> Array:
    """Return how many of n people have each of the four codes of each variant, (b, 4) int32. Cost b n / 32 words.

    >>> genotype_counts(np.array([[0b11_10_01_00]], dtype=np.uint8), 3)
    array([[1, 1, 1, 0]], dtype=int32)
    """
    if kernels is None:
        return genotype_counts_numpy(packed, n)
    counts = np.empty((len(packed), 4), dtype=np.int32)
    kernels.genotype_counts(plain(packed, np.uint8), n, counts, thread_count())
    return counts


def genotype_counts_numpy(packed: Array, n: int) -> Array:
    """The twin of `genotype_counts`."""
    codes = unpack_codes(packed, n)
    return np.stack([(codes == code).sum(axis=1, dtype=np.int32) for code in range(4)], axis=1)


def genotype_panel(packed: Array, n: int, values: Array, out: Array | None = None) -> Array:
    """Return the panel (b, n) float32 with values[j, code of person i] at (j, i), for values (b, 4).

    It is written to the first b rows of `out`, if that is given. Cost b n.

    >>> genotype_panel(np.array([[0b11_10_01_00]], dtype=np.uint8), 3, np.array([[2.0, np.nan, 1.0, 0.0]]))
    array([[ 2., nan,  1.]], dtype=float32)
    """
    panel = np.empty((len(packed), n), dtype=np.float32) if out is None else out[: len(packed)]
    if kernels is None:
        panel[...] = genotype_panel_numpy(packed, n, values)
    else:
        kernels.genotype_panel(plain(packed, np.uint8), n, plain(values, np.float32), panel, thread_count())
    return panel


def genotype_panel_numpy(packed: Array, n: int, values: Array) -> Array:
    """The twin of `genotype_panel`."""
    codes = unpack_codes(packed, n)
    return np.take_along_axis(np.asarray(values, dtype=np.float32), codes.astype(np.intp), axis=1)


def add_missing_pairs(packed: Array, n: int, pairs: Array) -> None:
    """Add the number of variants that persons i and k ≤ i both lack to pairs (n, n), int32; above the diagonal nothing.

    Cost b n / 32 words and, for c missing calls of a variant, c² / 2 additions.

    >>> pairs = np.zeros((3, 3), dtype=np.int32)
    >>> add_missing_pairs(np.array([[0b01_00_01]], dtype=np.uint8), 3, pairs)
    >>> pairs
    array([[1, 0, 0], [0, 0, 0], [1, 0, 1]], dtype=int32)
    """
    if kernels is None:
        add_missing_pairs_numpy(packed, n, pairs)
        return
    kernels.missing_pairs(plain(packed, np.uint8), n, pairs, thread_count())


def add_missing_pairs_numpy(packed: Array, n: int, pairs: Array) -> None:
    """The twin of `add_missing_pairs`."""
    for codes in unpack_codes(packed, n):
        lacking = np.flatnonzero(codes == 1)
        pairs[np.ix_(lacking, lacking)] += np.tri(lacking.size, dtype=np.int32)

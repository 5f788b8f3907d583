"""The genetic relationship matrix G (n, n) of people, and products with it.

Complete calls, or missing ones filled with the mean: G = Z Zᵀ / m. Pairwise-complete, as PLINK 2 (Yang et al. 2011,
Am. J. Hum. Genet. 88, 76, eq. 3): G_ik is the mean of z_ij z_kj over the variants j that both i and k have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg.blas import ssyrk

from eigenlens.arrays import Array, slices
from eigenlens.data.genotypes.base import Genotypes
from eigenlens.data.source import Progress
from eigenlens.errors import DataError
from eigenlens.genotypes.allele_frequencies import AlleleCounts, code_values, standardised_panels
from eigenlens.native.genotypes import add_missing_pairs, genotype_panel

LIST_COST = 128
"""An addition to a pair of people who both lack a call costs as much as this many flops of a matrix product."""

COLUMN_STEP = 512
"""Columns of the triangle that are added at a time."""

MISSING = np.array([[0.0, 1.0, 0.0, 0.0]])


def relationship_matrix(
    data: Genotypes, alleles: AlleleCounts, pairwise: bool, progress: Progress | None = None
) -> Array:
    """Return G (n, n), in one pass.

    Products are float32, by BLAS, of about 4,000 variants at a time, and added in float64: a relative error near 1e-7.
    Cost: n² m flops, and 12 n² bytes, 16 n² where pairs that lack calls are counted.
    """
    n, m = data.n, len(alleles.index)
    G, room = np.zeros((n, n), order="F"), np.zeros((n, n), dtype=np.float32, order="F")
    lacking = np.zeros((n, n), dtype=np.int32) if pairwise and alleles.missing else None
    values = code_values(alleles.frequency)
    for part, packed, panel in standardised_panels(data, alleles.index, values, progress, "relationships"):
        _add_lower(G, _self_product(panel, room))
        if lacking is not None:
            _count_lacking(packed, n, alleles.counts[part, 1].astype(np.float64), lacking, panel, room)
    if lacking is None:
        G /= m
    else:
        _divide_by_shared(G, lacking, m, data)
    return _mirrored(G)


def _self_product(panel: Array, room: Array) -> Array:
    """Return the lower triangle of panelᵀ panel (n, n), in `room`."""
    return np.asarray(ssyrk(1.0, panel.T, beta=0.0, c=room, lower=1, overwrite_c=1))


def _add_lower(total: Array, product: Array) -> None:
    for part in slices(len(total), COLUMN_STEP):
        total[part.start :, part] += product[part.start :, part]


def _count_lacking(packed: Array, n: int, counts: Array, lacking: Array, panel: Array, room: Array) -> None:
    """Add the variants of a block that two people both lack: pair by pair, or by a product where these are many."""
    if LIST_COST * float(counts @ counts) <= float(n) * n * len(packed):
        add_missing_pairs(packed, n, lacking)
        return
    some = counts > 0.0
    chosen = packed if some.all() else np.ascontiguousarray(packed[some])
    mask = genotype_panel(chosen, n, np.repeat(MISSING, len(chosen), axis=0), panel)
    product = _self_product(mask, room)
    for part in slices(n, COLUMN_STEP):  # counts of at most 4,096 are exact in float32
        lacking[part.start :, part] += product[part.start :, part].astype(np.int32)


def _divide_by_shared(G: Array, lacking: Array, m: int, data: Genotypes) -> None:
    """Divide the lower triangle of sums by the number of variants that both people have."""
    missing = lacking.diagonal().astype(np.int64)
    reject_empty_people(data, missing == m)
    for part in slices(len(G), COLUMN_STEP):
        rows = slice(part.start, None)
        shared = lacking[rows, part] + (m - missing[rows, None] - missing[part])
        lost = np.argwhere(np.tril(shared == 0)) + part.start  # above the diagonal it holds nothing
        if lost.size:
            i, k = lost[0]
            what = f"{data.people.label(i)} and {data.people.label(k)} have no call in common"
            raise DataError(what, fix="use {missing}, or leave one of them out", settings={"missing": "mean"})
        G[rows, part] /= np.maximum(shared, 1)


def reject_empty_people(data: Genotypes, empty: Array) -> None:
    """Raise where people (n,) have no call at all."""
    if empty.any():
        first = int(np.flatnonzero(empty)[0])
        count = int(empty.sum())
        have = "1 person has" if count == 1 else f"{count:,} people have"
        what = f"{have} no call at all (first: {data.people.label(first)})"
        raise DataError(what, fix="leave them out: plink2 --mind 0.5 --make-bed")


def _mirrored(G: Array) -> Array:
    """Return a matrix, given by its lower triangle, with the same entries above it; in place."""
    for part in slices(len(G), COLUMN_STEP):
        square = np.tril(G[part, part])
        G[part, part] = square + np.tril(square, -1).T
        G[part, part.stop :] = G[part.stop :, part].T
    return G


class RelationshipOperator:
    """G = Z Zᵀ / m by its products, each of them a pass over the calls: for more people than G has room for.

    Attributes:
        size: the number n of people. trace: the sum of all eigenvalues. products: how many there have been.
    """

    def __init__(self, data: Genotypes, alleles: AlleleCounts, progress: Progress | None = None) -> None:
        self._data, self._index, self._progress = data, alleles.index, progress
        self._values = code_values(alleles.frequency)
        self.size, self.products = data.n, 0
        self.trace = float(alleles.squares.sum() / len(alleles.index))

    def matmat(self, V: Array) -> Array:
        """Return G V (n, b); products of blocks are float32, their sum float64."""
        self.products += 1
        right, total = V.astype(np.float32), np.zeros(V.shape)
        for _, _, panel in self._panels(f"relationships: product {self.products}"):
            total += panel.T @ (panel @ right)
        return total / len(self._index)

    def _panels(self, label: str) -> Any:
        return standardised_panels(self._data, self._index, self._values, self._progress, label)

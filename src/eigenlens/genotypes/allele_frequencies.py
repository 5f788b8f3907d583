"""Allele frequencies, and calls standardised by them: z = (copies − 2p) / √(2p(1 − p)), 0 where a call is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.genotypes.base import Genotypes
from eigenlens.data.source import Progress
from eigenlens.errors import DataError
from eigenlens.native.genotypes import genotype_counts, genotype_panel

PANEL_BYTES = 64 << 20
"""The size of a panel of standardised calls: long enough for BLAS, small beside the matrix of relationships."""

MAX_PANEL_VARIANTS = 4096
"""Products of float32 are added in float64 after this many variants at most."""

COPIES_OF_CODE = np.array([2.0, np.nan, 1.0, 0.0])
"""Copies of the counted allele by code."""


@dataclass(frozen=True, eq=False)
class AlleleCounts:
    """The calls of variants that differ between people.

    Attributes:
        index: (m,) numbers of the variants among all of the file.
        frequency: (m,) p, the share of the counted allele among the calls.
        counts: (m, 4) how many people have each code.
        monomorphic, empty: how many variants were left out, of one allele, and without a call.
    """

    index: Array
    frequency: Array
    counts: Array
    monomorphic: int
    empty: int

    @property
    def missing(self) -> int:
        """The number of missing calls."""
        return int(self.counts[:, 1].sum(dtype=np.int64))

    @property
    def squares(self) -> Array:
        """Σ z² (m,) over the people of each variant."""
        return np.asarray(np.einsum("jc,jc->j", self.counts, code_values(self.frequency) ** 2))


def code_values(frequency: Array, swapped: Array | None = None) -> Array:
    """Return the standardised value (m, 4) of each code, 0 for a missing call; `swapped` (m,): the file counts 1 − p.

    >>> code_values(np.array([0.5])).round(3)
    array([[ 1.414,  0.   ,  0.   , -1.414]])
    """
    p = frequency[:, None]
    values = (np.nan_to_num(COPIES_OF_CODE) - 2.0 * p) / np.sqrt(2.0 * p * (1.0 - p))
    values[:, 1] = 0.0
    turned = values[:, [3, 1, 2, 0]]
    return np.asarray(values if swapped is None else np.where(swapped[:, None], turned, values))


def count_alleles(data: Genotypes, chosen: Array, progress: Progress | None = None) -> AlleleCounts:
    """Return the allele counts of those of the chosen variants that differ between people, in one pass."""
    parts = []
    for done, (_, packed) in enumerate(data.blocks(chosen, block_variants(data.n)), start=1):
        parts.append(genotype_counts(packed, data.n))
        if progress is not None:
            progress(min(done * block_variants(data.n), len(chosen)), len(chosen), "counting alleles")
    counts = np.concatenate(parts)
    called = data.n - counts[:, 1].astype(np.int64)
    copies = 2 * counts[:, 0].astype(np.int64) + counts[:, 2]
    some = called > 0
    used = some & (copies > 0) & (copies < 2 * called)
    if not (np.count_nonzero(counts[:, [0, 2, 3]], axis=1) > 1).any():  # where all are heterozygous, nobody differs
        what = f"has {len(chosen):,} variants, none of which differs between the {data.n} people"
        raise DataError(what, argument=None if data.source != "X" else "X", fix="give variants of more than one allele")
    frequency = copies[used] / (2.0 * called[used])
    dropped = int(np.count_nonzero(some & ~used)), int(np.count_nonzero(~some))
    return AlleleCounts(chosen[used], frequency, counts[used], *dropped)


def block_variants(n: int) -> int:
    """Return how many variants of n people make a block.

    >>> block_variants(957), block_variants(5_000), block_variants(500_000)
    (4096, 3355, 33)
    """
    return int(np.clip(PANEL_BYTES // (4 * n), 1, MAX_PANEL_VARIANTS))


def standardised_panels(
    data: Genotypes, index: Array, values: Array, progress: Progress | None = None, label: str = ""
) -> Iterator[tuple[slice, Array, Array]]:
    """Yield the places among `index` (m,), the packed calls and the panel (b, n) float32 of each block of variants.

    values: (m, 4) by code, those of `code_values`. A panel is overwritten by the next one.
    """
    n, step = data.n, block_variants(data.n)
    room = np.empty((min(step, len(index)), n), dtype=np.float32)
    start = 0
    for numbers, packed in data.blocks(index, step):
        part = slice(start, start + len(numbers))
        yield part, packed, genotype_panel(packed, n, values[part], room)
        start = part.stop
        if progress is not None:
            progress(start, len(index), label)

"""Genotypes of PLINK .bed files as rows of people, for models of any table; `GenotypePCA` reads them by variants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.column_kinds import ColumnKind, Field
from eigenlens.data.files.base import Reader, same_columns
from eigenlens.data.genotypes.base import ChosenVariants, Genotypes
from eigenlens.data.genotypes.bed_file import BedFile, BedGenotypes
from eigenlens.data.genotypes.variants import Variants
from eigenlens.data.source import FILE_BLOCK_BYTES
from eigenlens.native.genotypes import BYTE_CODES

COPIES = np.array([2.0, np.nan, 1.0, 0.0])
"""Copies of the first allele of the .bim file, by the two bits: 00 both, 01 missing, 10 one, 11 none."""

DECODED = COPIES[BYTE_CODES]
"""(256, 4) copies of the four people of a byte, the lowest bits first."""


class PlinkReader(Reader):
    """Genotypes (people, variants) as copies of the first allele, 0, 1 or 2, NaN where missing."""

    def __init__(self, paths: tuple[Path, ...], *, block_rows: int | None = None) -> None:
        self._files = [BedFile.of(path) for path in paths]
        self._names = [variant_columns(file.variants) for file in self._files]
        same_columns(paths, self._names)
        self.fields = tuple(Field(name, ColumnKind.NUMBER) for name in self._names[0])
        self._block_rows = block_rows

    def count(self) -> int:
        """Return the number of people."""
        return sum(len(file.people) for file in self._files)

    def genotypes(self) -> Genotypes:
        """Return the same people and variants, to be read by blocks of variants; these are in the order of the file."""
        whole, wanted = BedGenotypes(self._files), set(self.names)
        chosen = np.flatnonzero([name in wanted for name in self._names[0]])
        return whole if len(chosen) == len(whole.variants) else ChosenVariants(whole, chosen)

    def blocks(self) -> Iterator[Array]:
        """Yield the genotypes by blocks of people, variants by name."""
        most = self._block_rows or max(1, FILE_BLOCK_BYTES // (8 * len(self.fields)))
        for file, names in zip(self._files, self._names, strict=True):
            places = {name: place for place, name in enumerate(names)}
            for rows in people_blocks(file, [places[name] for name in self.names], max(4, most // 4 * 4)):
                for start in range(0, len(rows), most):  # one, unless fewer than four rows are asked for
                    yield rows[start : start + most]


def people_blocks(file: BedFile, columns: list[int], step: int) -> Iterator[Array]:
    """Yield the genotypes of some variants, `step` people at a time, a multiple of 4."""
    people, shape = len(file.people), (len(file.variants), file.width)
    for start in range(0, people, step):
        stop = min(start + step, people)
        packed = np.memmap(file.path, np.uint8, "r", offset=3, shape=shape)[columns, start // 4 : -(-stop // 4)]
        yield DECODED[packed].reshape(len(columns), -1)[:, : stop - start].T


def variant_columns(variants: Variants) -> list[str]:
    """Return distinct names of variants: their own, chromosome:position where these are repeated, or numbers."""
    places = [f"{chromosome}:{place}" for chromosome, place in zip(variants.chromosome, variants.position, strict=True)]
    candidates = variants.name.tolist(), places
    return next((names for names in candidates if len(set(names)) == len(names)), list(map(str, range(len(places)))))

"""Genotypes of PLINK .bed files: two bits per person and variant, with the .bim and .fam files beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.column_kinds import ColumnKind, Field
from eigenlens.data.files.base import Reader, same_columns
from eigenlens.data.source import FILE_BLOCK_BYTES
from eigenlens.errors import DataError

MAGIC, VARIANT_MAJOR = b"\x6c\x1b", b"\x01"

COPIES = np.array([2.0, np.nan, 1.0, 0.0])
"""Copies of the first allele of the .bim file, by the two bits: 00 both, 01 missing, 10 one, 11 none."""

DECODED = COPIES[(np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3]
"""(256, 4) copies of the four people of a byte, the lowest bits first."""


@dataclass(frozen=True)
class BedFile:
    """A .bed file whose size agrees with its .bim (variants) and .fam (people) files."""

    path: Path
    people: int
    variants: list[str]

    @classmethod
    def of(cls, path: Path) -> BedFile:
        """Read and check what lies beside the genotypes."""
        lines = _lines(path, ".bim", 6)
        names = [line[1] for line in lines]
        if len(set(names)) < len(names):  # often "." for all: then by place, chromosome:position, or by number
            names = [f"{line[0]}:{line[3]}" for line in lines]
        found = cls(path, len(_lines(path, ".fam", 6)), names if len(set(names)) == len(names) else _numbers(names))
        with path.open("rb") as file:
            start = file.read(3)
        if start != MAGIC + VARIANT_MAJOR:
            what = "is in the order of people" if start == MAGIC + b"\0" else "is not a .bed file of PLINK 1"
            raise DataError(f"'{path}' {what}", fix="write it again with plink --make-bed")
        need, have = 3 + len(names) * found.width, path.stat().st_size
        if need != have:
            what = f"'{path}' has {have:,} bytes, and {found.people} people and {len(names)} variants need {need:,}"
            raise DataError(what, fix="give the .bim and .fam files that were written with it")
        return found

    @property
    def width(self) -> int:
        """The bytes of a variant."""
        return -(-self.people // 4)

    def blocks(self, columns: list[int], step: int) -> Iterator[Array]:
        """Yield the genotypes of some variants, `step` people at a time, a multiple of 4."""
        shape = (len(self.variants), self.width)
        for start in range(0, self.people, step):
            stop = min(start + step, self.people)
            packed = np.memmap(self.path, np.uint8, "r", offset=3, shape=shape)[columns, start // 4 : -(-stop // 4)]
            yield DECODED[packed].reshape(len(columns), -1)[:, : stop - start].T


class PlinkReader(Reader):
    """Genotypes (people, variants) as copies of the first allele, 0, 1 or 2, NaN where missing."""

    def __init__(self, paths: tuple[Path, ...], *, block_rows: int | None = None) -> None:
        self._files = [BedFile.of(path) for path in paths]
        same_columns(paths, [file.variants for file in self._files])
        self.fields = tuple(Field(name, ColumnKind.NUMBER) for name in self._files[0].variants)
        self._block_rows = block_rows

    def count(self) -> int:
        """Return the number of people."""
        return sum(file.people for file in self._files)

    def blocks(self) -> Iterator[Array]:
        """Yield the genotypes by blocks of people, variants by name."""
        most = self._block_rows or max(1, FILE_BLOCK_BYTES // (8 * len(self.fields)))
        for file in self._files:
            places = {name: place for place, name in enumerate(file.variants)}
            for rows in file.blocks([places[name] for name in self.names], max(4, most // 4 * 4)):
                for start in range(0, len(rows), most):  # one, unless fewer than four rows are asked for
                    yield rows[start : start + most]


def _numbers(names: list[str]) -> list[str]:
    return [str(place) for place in range(len(names))]


def _lines(path: Path, suffix: str, cells: int) -> list[list[str]]:
    beside = path.with_suffix(suffix)
    if not beside.exists():
        raise DataError(f"'{path}' needs '{beside.name}' beside it", fix="copy the .bed, .bim and .fam files together")
    lines = [line.split() for line in beside.read_text(encoding="utf-8").splitlines() if line.strip()]
    for number, line in enumerate(lines, 1):
        if len(line) != cells:
            what = f"'{beside}' has {len(line)} columns in line {number}, and {cells} are needed"
            raise DataError(what, fix="write it again with plink --make-bed")
    return lines

"""PLINK's .bed files: two bits per person and variant, with the .bim and .fam files beside them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.files.paths import Stamp, check_unchanged
from eigenlens.data.genotypes.base import Genotypes
from eigenlens.data.genotypes.variants import WRITE_AGAIN, People, Variants, read_bim, read_fam
from eigenlens.errors import DataError
from eigenlens.native.genotypes import pack_codes, unpack_codes

MAGIC, VARIANT_MAJOR = b"\x6c\x1b", b"\x01"

READ_THROUGH = 4
"""Variants that are not wanted are read too, and left out, while they are at most this many times those wanted."""


@dataclass(frozen=True, eq=False)
class BedFile:
    """A .bed file whose size agrees with its .bim (variants) and .fam (people) files."""

    path: Path
    people: People
    variants: Variants

    @classmethod
    def of(cls, path: Path) -> BedFile:
        """Read and check the tables beside the genotypes."""
        variants, people = read_bim(path), read_fam(path)
        found = cls(path, people, variants)
        with path.open("rb") as file:
            start = file.read(3)
        if start != MAGIC + VARIANT_MAJOR:
            what = "is in the order of people" if start == MAGIC + b"\0" else "is not a .bed file of PLINK 1"
            raise DataError(f"'{path}' {what}", fix=WRITE_AGAIN)
        need, have = 3 + len(variants) * found.width, path.stat().st_size
        if need != have:
            counts = f"{len(people)} people and {len(variants)} variants"
            what = f"'{path}' has {have:,} bytes, and {counts} need {need:,}"
            raise DataError(what, fix="give the .bim and .fam files that were written with it")
        return found

    @property
    def width(self) -> int:
        """The bytes of a variant."""
        return -(-len(self.people) // 4)

    def read(self, index: Array) -> Array:
        """Return the packed calls (b, width) of variants by their ascending numbers (b,).

        Plain reads, not a memory map: a file that is cut meanwhile ends in an error, not in a crash.
        """
        first, span = int(index[0]), int(index[-1] - index[0]) + 1
        if span > READ_THROUGH * len(index):
            middle = len(index) // 2
            return np.concatenate([self.read(index[:middle]), self.read(index[middle:])])
        packed = np.fromfile(self.path, np.uint8, span * self.width, offset=3 + first * self.width)
        if packed.size < span * self.width:
            raise DataError(f"'{self.path}' ends before variant {first + span:,}", fix="let its writer finish")
        packed = packed.reshape(span, self.width)
        return packed if span == len(index) else packed[index - first]


class BedGenotypes(Genotypes):
    """The people of one or several .bed files of the same variants."""

    def __init__(self, files: Sequence[BedFile]) -> None:
        first = files[0]
        for other in files[1:]:
            _require_same_variants(first, other)
        self._files = tuple(files)
        self.people = People.joined([file.people for file in files])
        self.variants = first.variants.named()
        self.source = f"'{first.path}'" if len(files) == 1 else f"{len(files)} files"
        beside = [file.path.with_suffix(suffix) for file in files for suffix in (".bed", ".bim", ".fam")]
        self._stamps = tuple(Stamp.of(path) for path in beside)

    def reading(self) -> AbstractContextManager[None]:
        """Return a context in which a file that changes is an error."""
        return check_unchanged(self._stamps)

    def read(self, index: Array) -> Array:
        """Return the packed calls of some variants, of the people of all files."""
        parts = [file.read(index) for file in self._files]
        return parts[0] if len(parts) == 1 else concatenate_people(parts, [len(file.people) for file in self._files])


def concatenate_people(parts: Sequence[Array], counts: Sequence[int]) -> Array:
    """Return packed calls of several groups of people as those of one; groups need not end with a byte.

    >>> concatenate_people([np.array([[2]], dtype=np.uint8), np.array([[1]], dtype=np.uint8)], [1, 2])
    array([[6]], dtype=uint8)
    """
    return pack_codes(np.concatenate([unpack_codes(part, n) for part, n in zip(parts, counts, strict=True)], axis=1))


def _require_same_variants(first: BedFile, other: BedFile) -> None:
    """Raise unless two files have the same variants with the same alleles, in the same order."""
    for name in ("name", "chromosome", "position", "counted", "other"):
        mine, theirs = getattr(first.variants, name), getattr(other.variants, name)
        if len(mine) != len(theirs) or np.any(mine != theirs):
            what = f"'{other.path}' has other variants than '{first.path}'"
            raise DataError(what, fix="merge them with plink --bmerge, which matches variants by name")

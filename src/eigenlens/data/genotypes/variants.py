"""Variants and people of genotypes: the tables beside PLINK's files, .bim and .fam or .pvar and .psam."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.files.decode import detect_encoding
from eigenlens.errors import DataError
from eigenlens.laws import Laws

NOT_DIPLOID = {"X": "X", "Y": "Y", "MT": "MT", "M": "MT", "23": "X", "24": "Y", "26": "MT"}
"""Chromosomes of which some people have one copy, by all their names without "chr"; 25, XY, is diploid."""

WRITE_AGAIN = "write it again with plink2 --make-bed"


@dataclass(frozen=True, eq=False)
class Variants:
    """Variants with their places and alleles.

    Attributes:
        chromosome, name: (m,) texts, as the file has them.
        position: (m,) base pairs.
        counted, other: (m,) texts: the allele whose copies are counted, and the other one.
    """

    laws: ClassVar[Laws] = {
        "chromosome": "(m) any",
        "name": "(m) any",
        "position": "(m) integer",
        "counted": "(m) any",
        "other": "(m) any",
    }

    chromosome: Array
    name: Array
    position: Array
    counted: Array
    other: Array

    def __len__(self) -> int:
        return len(self.name)

    def take(self, index: Array) -> Self:
        """Return some of the variants, by number or mask."""
        return type(self)(*(part[index] for part in vars(self).values()))

    @property
    def plain_chromosome(self) -> Array:
        """(m,) the chromosomes without "chr", in capitals."""
        found, places = np.unique(self.chromosome.astype(str), return_inverse=True)
        return np.array([name.upper().removeprefix("CHR") for name in found], dtype=object)[places]

    @property
    def diploid(self) -> Array:
        """(m,) whether a variant is on neither X, Y nor MT."""
        names = self.plain_chromosome
        return np.array([name not in NOT_DIPLOID for name in names], dtype=bool)

    @property
    def places(self) -> Array:
        """(m,) texts chromosome:position:other:counted."""
        parts = self.chromosome, self.position, self.other, self.counted
        return np.array([f"{c}:{p}:{o}:{a}" for c, p, o, a in zip(*parts, strict=True)], dtype=object)

    def named(self) -> Self:
        """Return the variants with distinct names: by their places where names are repeated, often "." for all.

        Variants that have both name and place in common are an error.
        """
        counts = Counter(self.name)
        if len(counts) == len(self):
            return self
        names = self.name.copy()
        repeated = np.array([counts[name] > 1 for name in names])
        names[repeated] = self.places[repeated]
        again = [name for name, count in Counter(names).items() if count > 1]
        if again:
            what = f"{len(again):,} variants are repeated with their name, position and alleles (first: {again[0]})"
            raise DataError(what, fix="keep one of each: plink2 --rm-dup force-first --make-bed")
        return type(self)(**(vars(self) | {"name": names}))

    @classmethod
    def numbered(cls, m: int, names: Sequence[str] | None = None) -> Self:
        """Return the variants of an array, by the names of its columns or else by their numbers."""
        texts = [np.full(m, text, dtype=object) for text in ("", "1", "2")]
        called = np.array(list(map(str, range(m) if names is None else names)), dtype=object)
        return cls(texts[0], called, np.zeros(m, dtype=np.int64), texts[1], texts[2])


@dataclass(frozen=True, eq=False)
class People:
    """People by family and name, (n,) texts each; the pair is unique, the name often is."""

    laws: ClassVar[Laws] = {"family": "(n) any", "name": "(n) any"}

    family: Array
    name: Array

    def __len__(self) -> int:
        return len(self.name)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """(n,) family and name of each."""
        return list(zip(self.family.tolist(), self.name.tolist(), strict=True))

    @property
    def distinct_names(self) -> Array:
        """(n,) the names, with the families before them where names are repeated."""
        if len(set(self.name)) == len(self):
            return self.name
        return np.array([f"{family} {name}" for family, name in self.pairs], dtype=object)

    def label(self, i: int) -> str:
        """Return a person for messages."""
        return f"{self.name[i]} of family {self.family[i]}" if self.family[i] not in ("", "0") else str(self.name[i])

    @classmethod
    def numbered(cls, n: int) -> Self:
        """Return the rows of an array, counted from 1."""
        return cls(np.full(n, "0", dtype=object), np.array([str(i + 1) for i in range(n)], dtype=object))

    @classmethod
    def joined(cls, parts: Sequence[People]) -> Self:
        """Return the people of several files, each of whom may be there once."""
        found = cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("family", "name")))
        (pair, count), *_ = Counter(found.pairs).most_common(1) or [(("", ""), 0)]
        if count > 1:
            what = f"person {pair[1]} of family {pair[0]} occurs {count} times"
            raise DataError(
                what, fix="keep one of them, with plink2 --remove, or rename them, with plink2 --update-ids"
            )
        return found


# ---- the files beside the genotypes ---------------------------------------------------------------------------


def read_bim(path: Path) -> Variants:
    """Return the variants of the .bim file beside a .bed file; the first of its alleles is counted."""
    lines = read_lines(path, ".bim", 6)
    chromosome, name, counted, other = _columns(lines, 0, 1, 4, 5)
    return Variants(chromosome, name, _positions(path, [line[3] for line in lines]), counted, other)


def read_fam(path: Path) -> People:
    """Return the people of the .fam file beside a .bed file."""
    return People.joined([People(*_columns(read_lines(path, ".fam", 6), 0, 1))])


def read_pvar(path: Path) -> Variants:
    """Return the variants of the .pvar file beside a .pgen file; the alternative allele is counted."""
    header, lines = _headed(path, ".pvar", ["#CHROM", "POS", "ID", "REF", "ALT"])
    places = {name: place for place, name in enumerate(header)}
    chosen = [places[name] for name in ("#CHROM", "ID", "POS", "ALT", "REF")]
    chromosome, name, position, alternative, reference = _columns(lines, *chosen)
    several = [i for i, allele in enumerate(alternative) if "," in allele]
    if several:
        what = f"'{path}' has {len(several):,} variants of more than two alleles (first: {name[several[0]]})"
        raise DataError(what, fix="leave them out: plink2 --pfile … --max-alleles 2 --make-pgen")
    return Variants(chromosome, name, _positions(path, position.tolist()), alternative, reference)


def read_psam(path: Path) -> People:
    """Return the people of the .psam file beside a .pgen file; without families they are "0", as PLINK writes."""
    header, lines = _headed(path, ".psam", ["#FID", "IID"])
    if header[0] == "#IID":
        names = _columns(lines, 0)[0]
        return People.joined([People(np.full(len(names), "0", dtype=object), names)])
    return People.joined([People(*_columns(lines, 0, header.index("IID")))])


def _columns(lines: list[list[str]], *places: int) -> list[Array]:
    return [np.array([line[place] for line in lines], dtype=object) for place in places]


def _positions(path: Path, texts: list[str]) -> Array:
    try:
        return np.array(texts, dtype=object).astype(np.int64)
    except ValueError as error:
        text = str(error).rpartition(": ")[2]
        raise DataError(f"'{path.with_suffix('.bim')}' has the position {text}", fix=WRITE_AGAIN) from None


def beside(path: Path, suffix: str) -> Path:
    """Return the file of this suffix beside a file of genotypes, once it exists."""
    found = path.with_suffix(suffix)
    if not found.exists():
        kinds = {".bim": ".bed, .bim and .fam", ".fam": ".bed, .bim and .fam"}
        fix = f"copy the {kinds.get(suffix, '.pgen, .pvar and .psam')} files together"
        raise DataError(f"'{path}' needs '{found.name}' beside it", fix=fix)
    return found


def read_lines(path: Path, suffix: str, cells: int) -> list[list[str]]:
    """Return the cells of the lines of a table without a header beside a file of genotypes."""
    file = beside(path, suffix)
    lines = [line.split() for line in _read_text(file).splitlines() if line.strip()]
    _check_cells(file, lines, cells)
    return lines


def _headed(path: Path, suffix: str, usual: list[str]) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns of a .pvar or .psam file, those of a .bim or .fam file if it has none."""
    file = beside(path, suffix)
    lines = [line for line in _read_text(file).splitlines() if line.strip() and line[:2] != "##"]
    header = usual
    if lines and lines[0].startswith("#"):
        header, lines = lines[0].split(), lines[1:]
    missing = [name for name in usual[1:] if name not in header and f"#{name}" not in header]
    if missing:
        raise DataError(f"'{file}' has no column {missing[0]}", fix="write it again with plink2 --make-pgen")
    cells = [line.split("\t") if "\t" in line else line.split() for line in lines]
    _check_cells(file, cells, len(header))
    return header, cells


def _read_text(file: Path) -> str:
    """Return the text of a table, in UTF-8, with or without its mark."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        text, start = bytes(error.object), error.start
        what = f"'{file}' is not UTF-8 (byte 0x{text[start]:02x} in line {text[:start].count(10) + 1:,})"
        fix = f"convert it: iconv -f {detect_encoding(text)} -t utf-8"
        raise DataError(what, fix=fix) from None


def _check_cells(file: Path, lines: list[list[str]], cells: int) -> None:
    for number, line in enumerate(lines, 1):
        if len(line) != cells:
            what = f"'{file}' has {len(line)} columns in line {number}, and {cells} are needed"
            raise DataError(what, fix=WRITE_AGAIN)

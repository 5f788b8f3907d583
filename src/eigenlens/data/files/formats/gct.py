"""GCT files of gene expression: two lines about the table, then genes as rows, which become the columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from eigenlens.data.files.decision import Decision
from eigenlens.data.files.decompress import open_bytes
from eigenlens.data.files.text import DelimitedReader
from eigenlens.data.files.transpose import EXCHANGED, TransposedReader
from eigenlens.errors import DataError, join_limited

MAX_LINE = 1_000
"""Bytes of a line about the table."""


class GctShape(NamedTuple):
    """The shape that a file declares: genes, samples, columns that describe genes, and lines that describe samples."""

    genes: int
    samples: int
    described: int
    lines: int


class GctReader(TransposedReader):
    """The samples of a file as rows and its genes as columns, in memory; what describes samples is columns of text."""

    options: ClassVar[frozenset[str]] = frozenset({"na", "encoding", "max_ratio"})

    def __init__(self, paths: tuple[Path, ...], *, block_rows: int | None = None, **options: Any) -> None:
        path = paths[0]
        if len(paths) > 1:
            what = f"'{path}' and '{paths[1]}' are GCT files, which are read one at a time"
            raise DataError(what, fix="join their columns by the names of the genes first")
        shape = read_shape(path)
        first = 1 + shape.described
        lines: dict[str, Any] = {"skip": 2, "footer": 0, "header": True, "header_rows": 1 + shape.lines}
        table = DelimitedReader(paths, separator="\t", **lines, **options)
        if (len(table.fields), table.count()) != (first + shape.samples, shape.genes):
            found = f"{table.count():,} genes and {len(table.fields) - first:,} samples"
            what = f"'{path}' declares {shape.genes:,} genes and {shape.samples:,} samples, and has {found}"
            raise DataError(what, fix="write it again, or correct its second line")
        super().__init__(table, block_rows=block_rows, columns=(0, list(range(first, first + shape.samples))))
        aside = [repr(name) for name in table.names[1:first]]
        what = "the rows of a GCT file are genes, which are read as columns, and its samples as rows"
        what += f"; {join_limited(aside)} of the genes {'are' if len(aside) > 1 else 'is'} left aside" if aside else ""
        fix = "fit the genes as rows with {transpose}"
        self.decisions = (Decision(EXCHANGED, what, (), fix, {"transpose": True}), *self.decisions)


def read_shape(path: Path) -> GctShape:
    """Return the shape that the first two lines of a file declare; files of other versions are an error."""
    with open_bytes(path) as file:
        version, shape = (file.readline(MAX_LINE).decode(errors="replace").strip() for _ in range(2))
    numbers = shape.split()
    wanted = {"#1.2": 2, "#1.3": 4}.get(version.partition("\t")[0].strip())
    if wanted is None or len(numbers) < wanted or not all(each.isdecimal() for each in numbers[:wanted]):
        what = f"'{path}' does not start as GCT files do, with #1.2 or #1.3 and a line of numbers"
        raise DataError(what, fix="write it again, or give it the suffix of its format")
    genes, samples, *more = (int(each) for each in numbers[:wanted])
    described, lines = more or (1, 0)
    return GctShape(genes, samples, described, lines)

"""How delimited text is written: what stands between cells, and the names in its first line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from eigenlens.data.files.decode import refuse_undecodable, text_head
from eigenlens.data.files.polars import import_polars, unreadable
from eigenlens.data.files.records import first_record
from eigenlens.errors import DataError, OptionError

__all__ = ["LOOKED_AT", "MISSING", "Dialect", "column_names", "is_number", "missing_numbers", "refuse_numbers",
           "separator_of"]  # fmt: skip

SEPARATORS = ",\t;|"
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
MISSING = {"", "na", "nan", "null", "none"}
"""What is passed over when cells are judged."""

LOOKED_AT = 100
"""So many lines show how a file is written."""


class Dialect(NamedTuple):
    """How the text is cut into cells, whether its first line holds names, which cells mean missing, and its encoding.

    An encoding of None means that of each file's byte order mark, and UTF-8 where there is none.
    """

    separator: str
    header: bool
    na: tuple[str, ...]
    encoding: str | None = None


def is_number(cell: str) -> bool:
    """Whether a cell is a number with a decimal point, or a whole one."""
    return NUMBER.fullmatch(cell) is not None


def missing_numbers(na: Sequence[str]) -> list[float]:
    """Those texts for missing entries that are numbers: -999 also means -999.0, and spaces around it change nothing.

    >>> missing_numbers(["NA", "-999", "nan"])
    [-999.0]
    """
    return [float(token) for token in na if is_number(token.strip())]


def separator_of(path: Path, encoding: str | None = None) -> str:
    """A tab in .tsv; elsewhere what cuts most lines into the same number of cells, and more than one.

    Spaces are tried last: they must cut all lines alike, and leave a number in each but the first.
    """
    if ".tsv" in [suffix.lower() for suffix in path.suffixes]:
        return "\t"
    text = text_head(path, encoding)
    lines = [line for line in re.sub(r'"[^"]*"', "", text).splitlines()[:LOOKED_AT] if line.strip() or '"' in text]
    best = max(SEPARATORS, key=lambda separator: _evenness(lines, separator))
    return " " if not _evenness(lines, best)[0] and _spaced(text) else best


def _evenness(lines: list[str], separator: str) -> tuple[bool, int, float, int]:
    """Whether the first line has the separator, how many lines as often, the share of numbers, and how often.

    Numbers may have decimal commas: 1,5;2,5 is two of them, and cut at its commas 5;2 is none.
    """
    counts = [line.count(separator) for line in lines] or [0]
    if not counts[0]:
        return False, 0, 0.0, 0
    cells = [cell.strip().replace(",", ".") for line in lines[1:] or lines for cell in line.split(separator)]
    return True, counts.count(counts[0]), sum(map(is_number, cells)) / len(cells), counts[0]


def _spaced(text: str) -> bool:
    """Whether spaces cut all lines into the same number of cells, and each of those below the first has numbers."""
    cells = [re.findall(r'"[^"]*"|[^ \t]+', line) for line in text.splitlines()[:LOOKED_AT] if line.strip()]
    widths = {len(row) for row in cells[1:]} or {len(row) for row in cells}
    # Rows may have names, and the names of columns none above these.
    even = len(widths) == 1 and len(cells[0]) in (max(widths), max(widths) - 1) and max(widths) > 1
    known = ([cell.strip('"') for cell in row] for row in cells[1:])
    return even and all(any(is_number(cell) or cell.lower() in MISSING for cell in row) for row in known)


def column_names(path: Path, dialect: Dialect) -> list[str]:
    """The column names, by the first record; an unnamed column is called by its place."""
    pl = import_polars()
    record = first_record(path, dialect.encoding, dialect.separator)
    try:
        cells = pl.read_csv(record, has_header=False, separator=dialect.separator, infer_schema=False).row(0)
    except pl.exceptions.PolarsError as error:
        refuse_undecodable(path, dialect.encoding)
        raise unreadable(path, error) from error
    given = [str(cell or "").strip() if dialect.header else "" for cell in cells]
    names = [name or f"column_{place}" for place, name in enumerate(given, 1)]
    for name, times in Counter(names).items():
        if times > 1:
            raise DataError(f"'{path}' has {times} columns named {name!r}: rename them, so that each has its own name.")
    return names


def refuse_numbers(path: Path, names: Sequence[str]) -> None:
    """A first line of numbers is hardly a line of names; taking it for one would lose a row in silence."""
    try:
        [float(name) for name in names]
    except ValueError:
        return
    raise OptionError(
        f"the first line of '{path}' holds numbers ({names[0]}, …): pass header=False if it is a row, "
        "header=True if these are names."
    )

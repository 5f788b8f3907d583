"""How delimited text is written: what stands between cells, and the names in its first line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from eigenlens.data.frames import import_polars, unreadable
from eigenlens.data.records import first_record
from eigenlens.data.text_files import refuse_undecodable
from eigenlens.errors import DataError, OptionError

__all__ = ["Dialect", "column_names", "missing_numbers", "refuse_numbers", "separator_of"]

SEPARATORS = ",\t;|"


class Dialect(NamedTuple):
    """How the text is cut into cells, whether its first line holds names, which cells mean missing, and its encoding.

    An encoding of None means that of each file's byte order mark, and UTF-8 where there is none.
    """

    separator: str
    header: bool
    na: tuple[str, ...]
    encoding: str | None = None


def missing_numbers(na: Sequence[str]) -> list[float]:
    """Those texts for missing entries that are numbers: -999 also means -999.0, and spaces around it change nothing.

    >>> missing_numbers(["NA", "-999", "nan"])
    [-999.0]
    """
    return [float(token) for token in na if NUMBER.fullmatch(token.strip())]


NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def separator_of(path: Path, encoding: str | None = None) -> str:
    """A tab in .tsv; elsewhere the separator that the first line has most of, a comma before all others."""
    if ".tsv" in [suffix.lower() for suffix in path.suffixes]:
        return "\t"
    line = first_record(path, encoding).decode("utf-8", errors="replace")
    return max(SEPARATORS, key=line.count)


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

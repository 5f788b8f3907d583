"""The sign between the cells of delimited text, and its rows cell by cell."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from eigenlens.data.files.base import unreadable
from eigenlens.data.files.decode import squeeze_spaces
from eigenlens.data.files.number_format import MISSING_WORDS, is_number
from eigenlens.errors import DataError, OptionError

SEPARATORS = ",\t;|"
NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}

MAX_LINES = 100
"""The number of lines that show how a file is written."""

MAX_CELL = 1 << 30


def one_character(given: str | None) -> str | None:
    """Return a separator as it was given, or by its name."""
    found = NAMED_SEPARATORS.get(given or "", given)
    if found is not None and len(found.encode()) != 1:
        fix = "write it as ',', ';', '|' or tab"
        raise OptionError("must be one character", argument="separator", value=given, fix=fix)
    return found


def find_separator(path: Path, text: str) -> str:
    """Return a tab for .tsv, else the separator that cuts most lines into the same number of cells above one.

    Spaces are tried last: they must cut all lines alike, and leave a number in each but the first.
    """
    if ".tsv" in [suffix.lower() for suffix in path.suffixes]:
        return "\t"
    lines = [line for line in re.sub(r'"[^"]*"', "", text).splitlines()[:MAX_LINES] if line.strip() or '"' in text]
    best = max(SEPARATORS, key=lambda separator: _evenness(lines, separator))
    return " " if not _evenness(lines, best)[0] and _is_spaced(text) else best


def _evenness(lines: list[str], separator: str) -> tuple[bool, int, float, int]:
    """Return a key for comparing separators.

    Whether the first line contains it, how many lines contain it equally often, the share of numeric cells, and its
    count per line.

    Numbers may have decimal commas: 1,5;2,5 is two of them, and cut at its commas 5;2 is none.
    """
    counts = [line.count(separator) for line in lines] or [0]
    if not counts[0]:
        return False, 0, 0.0, 0
    cells = [cell.strip().replace(",", ".") for line in lines[1:] or lines for cell in line.split(separator)]
    return True, counts.count(counts[0]), sum(map(is_number, cells)) / len(cells), counts[0]


def _is_spaced(text: str) -> bool:
    """Return whether spaces cut all lines into the same number of cells, with numbers in each below the first."""
    cells = [re.findall(r'"[^"]*"|[^ \t]+', line) for line in text.splitlines()[:MAX_LINES] if line.strip()]
    widths = {len(row) for row in cells[1:]} or {len(row) for row in cells}
    # The header may lack a name for a leading column of row names.
    even = len(widths) == 1 and len(cells[0]) in (max(widths), max(widths) - 1) and max(widths) > 1
    # Fortran writes exponents with D.
    known = ([re.sub(r"[dD](?=[+-]\d+$)", "e", cell.strip('"')) for cell in row] for row in cells[1:])
    return even and all(any(is_number(cell) or cell.lower() in MISSING_WORDS for cell in row) for row in known)


def read_cells(path: Path, text: str, separator: str) -> Iterator[list[str]]:
    """Yield the rows of delimited text, cell by cell; a carriage return inside a line is an error."""
    csv.field_size_limit(MAX_CELL)  # a setting of the process, whose default of 128 kB is too small
    rows = csv.reader(io.StringIO(text), delimiter=separator)
    try:
        yield from rows
    except csv.Error as error:
        if "\r" not in text.replace("\r\n", ""):
            raise unreadable(path, error) from error
        what = f"'{path}' has a carriage return inside a line, near line {rows.line_num}"
        fix = f"end all lines alike, for instance with: tr '\\r' '\\n' < '{path}' > rows.csv"
        raise DataError(what, fix=fix) from error


def single_spaces(text: str, separator: str) -> str:
    """Return text with one space for each run of them where spaces are the separator."""
    return squeeze_spaces(text.encode()).decode() if separator == " " else text

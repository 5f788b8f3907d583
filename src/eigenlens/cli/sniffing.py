"""What kind of text a delimited file is: its encoding, separator, decimal sign, and whether its first line is names."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from eigenlens.cli.errors import fail
from eigenlens.cli.options import ParsingOptions
from eigenlens.cli.signs import BESIDE, plain_number, signs_of
from eigenlens.data.files.decode import COMPRESSED, encoding_of, guessed_encoding, open_bytes, text_encoding, text_head
from eigenlens.data.files.dialect import LOOKED_AT, MISSING, Dialect, is_number, separator_of
from eigenlens.data.files.records import squeezed

__all__ = ["TEXT", "Text", "cells_of", "is_text", "sniff"]

TEXT = (".csv", ".tsv", ".txt")
HEAD = 1 << 16
LONGEST_CELL = 1 << 30
INFINITE = {f"{sign}{word}" for sign in ("", "+", "-") for word in ("inf", "infinity")}
ARCHIVES = {b"PK\x03\x04": "a zip archive or spreadsheet", b"PAR1": "Parquet", b"\x93NUMPY": ".npy", b"ARROW1": "Arrow"}


@dataclass(frozen=True)
class Text:
    """How delimited text is read; `encoding`: None for UTF-8, or for what each file's byte order mark says."""

    separator: str
    header: bool
    decimal: str
    na: tuple[str, ...] = ()
    encoding: str | None = None
    thousands: str | None = None

    @property
    def dialect(self) -> Dialect:
        """What `scan` need be told of it."""
        return Dialect(self.separator, self.header, self.na, self.encoding)


def is_text(path: Path) -> bool:
    """Whether the suffix says delimited text, compressed or not."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    last = suffixes[-2:-1] if suffixes and suffixes[-1] in COMPRESSED else suffixes[-1:]
    return bool(last) and last[0] in TEXT


def sniff(path: Path, reading: ParsingOptions) -> Text:
    """How the file is to be read: what the options say, and where they are silent what its first lines show."""
    encoding = None if reading.encoding is None else text_encoding(reading.encoding)
    _refuse_binary(path, encoding)
    text = text_head(path, encoding)
    separator = _given_separator(reading.separator) or separator_of(path, encoding)
    shown = squeezed(text.encode()).decode() if separator == " " else text
    rows = list(itertools.islice(cells_of(path, shown, separator), LOOKED_AT))
    rows = [[cell.strip() for cell in row] for row in rows if row]
    if not rows and text:
        fail(f"'{path}' holds nothing but blank lines", "write it again, with names and rows", "data")
    _refuse_comment(path, rows)
    _refuse_ragged(path, rows)
    decimal, thousands = signs_of(rows, separator, reading)
    if decimal == "," and separator == ",":
        fail(
            "numbers with decimal commas cannot also be separated by commas", "say what separates them: --separator ';'"
        )
    na = tuple(reading.na or ())
    # 1'234 in the first line is hardly a name, though only --thousands makes it a number.
    plain = [[plain_number(cell, decimal, thousands).translate(BESIDE) for cell in row] for row in rows]
    header = _header(plain, na) if reading.header is None else reading.header
    return Text(separator, header, decimal, na, encoding, thousands)


def cells_of(path: Path, text: str, separator: str) -> Iterator[list[str]]:
    """The rows of delimited text, cell by cell; a carriage return inside a line is refused."""
    csv.field_size_limit(LONGEST_CELL)  # a setting of the whole process, and by default that of a short cell
    rows = csv.reader(io.StringIO(text), delimiter=separator)
    try:
        yield from rows
    except csv.Error as error:
        what = f"has a carriage return inside a line, near line {rows.line_num}"
        fix = f"end all lines alike, for instance with: tr '\\r' '\\n' < '{path}' > rows.csv"
        fail(f"'{path}' {what if 'new-line' in str(error) else f'cannot be read ({error})'}", fix, "data")


def _refuse_comment(path: Path, rows: list[list[str]]) -> None:
    """A line of words above the names would be taken for them where it has as many cells."""
    words = [not any(is_number(cell) for cell in row) for row in rows[:3]]
    if rows and rows[0][0].startswith("#") and words == [True, True, False]:
        fix = f"delete the lines above the names, for instance with: grep -v '^#' '{path}' > rows.csv"
        fail(f"'{path}' starts with a comment, and its names are below", fix, "data")


def _refuse_ragged(path: Path, rows: list[list[str]]) -> None:
    """Rows of different lengths would be shifted or cut in silence."""
    from eigenlens.cli.ragged import refuse_length

    fix = ""
    if len(rows) > 1 and all(len(row) == len(rows[0]) + 1 for row in rows[1:]):
        first = f"put a name, or nothing, and a separator before '{rows[0][0]}'"
        last = all(not row[-1] for row in rows[1:])
        fix = "end the first line with a separator too" if last else f"if the first column names rows, {first}"
    for place, row in enumerate(rows):
        if len(row) != len(rows[0]):
            above = len(rows[0]) == 1 or rows[0][0].startswith("#")
            refuse_length(path, place + 1, row, len(rows[0]), "delete the lines above the names" if above else fix)


def _refuse_binary(path: Path, encoding: str | None) -> None:
    """Refuse files of other formats that are called text, by their first bytes."""
    with open_bytes(path) as file:
        head = file.read(HEAD)
    kind = next((what for start, what in ARCHIVES.items() if head.startswith(start)), None)
    if kind is not None or (b"\x00" in head and encoding_of(path, encoding) == "utf-8"):
        if kind is None and (guess := guessed_encoding(head)).startswith("utf-16"):
            fail(f"'{path}' is UTF-16 without its mark", f"say so with --encoding {guess}", "data")
        what = "binary" if kind is None else kind
        fail(f"'{path}' is {what}, not text", "give it the suffix of its format, or write it as CSV", "data")


def _given_separator(given: str | None) -> str | None:
    named = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}
    found = named.get(given or "", given)
    if found is not None and len(found) != 1:
        fail(f"--separator {given!r} must be one character", "write it as ',', ';', '|' or tab")
    return found


def _header(rows: list[list[str]], na: tuple[str, ...]) -> bool:
    """Whether the first line is names: one of its cells is no number, unless the column below it never is one.

    A cell that may be a missing or an infinite number is no name by itself.
    """
    if len(rows) < 2:
        return True
    first, rest = rows[0], rows[1:]
    given = {token.lower() for token in na}
    if all(is_number(cell) or cell.lower() in given for cell in first if cell):
        years = _count_on(first) and 1500 <= int(first[0]) < 2100
        return years and not any(set(first) & set(row) for row in rest)
    odd = MISSING | INFINITE | given
    for place, cell in enumerate(first):
        below = [row[place] for row in rest if place < len(row) and row[place].lower() not in odd]
        if not is_number(cell) and cell.lower() not in odd and below and all(is_number(other) for other in below):
            return True
    numbers = [cell for cell in first if cell and is_number(cell)]
    return not numbers or _count_on(numbers)


def _count_on(cells: list[str]) -> bool:
    """Whether the cells count on, as years in a line of names do."""
    if len(cells) < 2 or not all(cell.isdigit() for cell in cells):
        return False
    values = [int(cell) for cell in cells]
    return all(after == before + 1 for before, after in itertools.pairwise(values))

"""What kind of text a delimited file is: its encoding, separator, decimal sign, and whether its first line is names."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from eigenlens.app.cli.errors import refuse
from eigenlens.app.cli.options import Parsing

__all__ = ["TEXT", "Text", "is_text", "refuse_encoding", "sniff"]

TEXT = (".csv", ".tsv", ".txt")
SEPARATORS = ",\t;|"
HEAD = 1 << 16
FEWEST_LINES = 3
LONGEST_HEAD = 1 << 26
LOOKED_AT = 100
"""Lines that are looked at."""

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
MISSING = {"", "na", "nan", "null", "none"}
ARCHIVES = {b"PK\x03\x04": "a zip archive or spreadsheet", b"PAR1": "Parquet", b"\x93NUMPY": ".npy", b"ARROW1": "Arrow"}


@dataclass(frozen=True)
class Text:
    """How delimited text is read."""

    separator: str
    header: bool
    decimal: str
    na: tuple[str, ...] = ()


def is_text(path: Path) -> bool:
    """Whether the suffix says delimited text, compressed or not."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    last = suffixes[-2:-1] if suffixes[-1:] == [".gz"] else suffixes[-1:]
    return bool(last) and last[0] in TEXT


def sniff(path: Path, reading: Parsing) -> Text:
    """How the file is to be read: what the options say, and where they are silent what its first lines show."""
    text = _decoded(path, _head(path))
    separator = _given_separator(reading.separator) or _separator(path, text)
    rows = list(itertools.islice(csv.reader(io.StringIO(text), delimiter=separator), LOOKED_AT))
    rows = [[cell.strip() for cell in row] for row in rows if row]
    if not rows and text:
        refuse(f"'{path}' holds nothing but blank lines", "write it again, with names and rows", "data")
    _refuse_ragged(path, rows)
    if reading.decimal not in (None, ".", ","):
        refuse(f"--decimal {reading.decimal!r} must be '.' or ','", "write --decimal , for numbers such as 3,14")
    decimal = reading.decimal or _decimal(rows, separator)
    if decimal == "," and separator == ",":
        refuse(
            "numbers with decimal commas cannot also be separated by commas", "say what separates them: --separator ';'"
        )
    na = tuple(reading.na or ())
    return Text(separator, _header(rows, decimal, na) if reading.header is None else reading.header, decimal, na)


def _refuse_ragged(path: Path, rows: list[list[str]]) -> None:
    """Rows of different lengths would be shifted or cut in silence."""
    from eigenlens.app.cli.ragged import refuse_length

    for place, row in enumerate(rows):
        if len(row) != len(rows[0]):
            above = len(rows[0]) == 1 or rows[0][0].startswith("#")
            refuse_length(path, place + 1, len(row), len(rows[0]), "delete the lines above the names" if above else "")


def _head(path: Path) -> bytes:
    """The first bytes, so many that whole lines are among them: lines of names may be long."""
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
        head: bytes = file.read(HEAD)
        while head.count(b"\n") < FEWEST_LINES and len(head) < LONGEST_HEAD and (more := file.read(len(head))):
            head += more
        return head


def _decoded(path: Path, head: bytes) -> str:
    """The first lines as text; what is not UTF-8 is refused with what it may be instead."""
    kind = next((what for start, what in ARCHIVES.items() if head.startswith(start)), None)
    if kind is None and head.startswith((b"\xff\xfe", b"\xfe\xff")):
        refuse_encoding(path, "UTF-16", "utf-16")
    if kind is not None or b"\x00" in head:
        what = "binary" if kind is None else kind
        refuse(f"'{path}' is {what}, not text", "give it the suffix of its format, or write it as CSV", "data")
    if b"\r" in head and b"\n" not in head:
        fix = f"write it with ordinary ones, for instance with: tr '\\r' '\\n' < '{path}' > lines.csv"
        refuse(f"'{path}' has carriage returns alone as line ends", fix, "data")
    whole = head if len(head) < HEAD else head[: head.rfind(b"\n") + 1] or head
    try:
        return whole.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = whole.count(b"\n", 0, error.start) + 1
        refuse_encoding(path, f"not UTF-8 (byte 0x{whole[error.start]:02x} in line {line})", "latin1")


def refuse_encoding(path: Path, what: str, encoding: str) -> NoReturn:
    """Refuse a file that is not UTF-8, with a way to make it so."""
    fix = f"save it as UTF-8, for instance with: iconv -f {encoding} -t utf-8 '{path}' > utf8.csv"
    refuse(f"'{path}' is {what}", fix, "data")


def _given_separator(given: str | None) -> str | None:
    named = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}
    found = named.get(given or "", given)
    if found is not None and len(found) != 1:
        refuse(f"--separator {given!r} must be one character", "write it as ',', ';', '|' or tab")
    return found


def _separator(path: Path, text: str) -> str:
    """A tab in .tsv; elsewhere what cuts most lines into the same number of cells, and more than one."""
    if ".tsv" in [suffix.lower() for suffix in path.suffixes]:
        return "\t"
    lines = [re.sub(r'"[^"]*"', "", line) for line in text.splitlines()[:LOOKED_AT] if line.strip()]
    if not lines:
        return ","

    def evenness(separator: str) -> tuple[bool, int, int]:
        counts = [line.count(separator) for line in lines]
        same = sum(count == counts[0] for count in counts)
        return counts[0] > 0, same if counts[0] else 0, counts[0]

    best = max(SEPARATORS, key=evenness)
    return best if evenness(best)[0] or not _spaced(lines) else " "


def _spaced(lines: list[str]) -> bool:
    """Whether spaces cut all lines into the same number of cells, and those below the first into numbers."""
    cells = [line.strip().split(" ") for line in lines]
    return len({len(row) for row in cells}) == 1 < len(cells[0]) and all(
        NUMBER.fullmatch(cell) or cell.lower() in MISSING for row in cells[1:] for cell in row
    )


def _decimal(rows: list[list[str]], separator: str) -> str:
    """A comma where cells such as 3,14 are met, and none such as 3.14."""
    cells = [cell for row in rows for cell in row]
    commas = any(COMMA_NUMBER.fullmatch(cell) for cell in cells)
    points = any("." in cell and NUMBER.fullmatch(cell) for cell in cells)
    return "," if separator != "," and commas and not points else "."


def _header(rows: list[list[str]], decimal: str, na: tuple[str, ...]) -> bool:
    """Whether the first line is names: one of its cells is no number, unless the column below it never is one."""
    if len(rows) < 2:
        return True
    first, rest = rows[0], rows[1:]
    if all(_is_number(cell, decimal) for cell in first if cell):
        return False
    missing = MISSING | {token.lower() for token in na}
    for place, cell in enumerate(first):
        below = [row[place] for row in rest if place < len(row) and row[place].lower() not in missing]
        if not _is_number(cell, decimal) and below and all(_is_number(other, decimal) for other in below):
            return True
    numbers = [cell for cell in first if cell and _is_number(cell, decimal)]
    return not numbers or _are_years(numbers)


def _are_years(cells: list[str]) -> bool:
    """Whether the cells count on, as years in a line of names do."""
    if len(cells) < 2 or not all(cell.isdigit() for cell in cells):
        return False
    values = [int(cell) for cell in cells]
    return all(after == before + 1 for before, after in itertools.pairwise(values))


def _is_number(cell: str, decimal: str) -> bool:
    return NUMBER.fullmatch(cell.replace(",", ".") if decimal == "," else cell) is not None

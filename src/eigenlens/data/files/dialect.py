"""How delimited text is written: its encoding, separator, comments, header and numbers, as given or found.

A sign between thousands is accepted without being asked for only where a number can be written in no other way:
1.234,5 or 1.234.567. A number that can be read in two ways, such as 1,234, is an error or a warning.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from eigenlens.data.files.base import pl, unreadable
from eigenlens.data.files.decode import (
    SAMPLE_BYTES,
    detect_encoding,
    file_encoding,
    first_record,
    open_bytes,
    reject_undecodable,
    remove_comments,
    squeeze_spaces,
    text_encoding,
    text_head,
)
from eigenlens.errors import DataError, DataWarning, OptionError, warn_user

# ---- numbers --------------------------------------------------------------------------------------------------

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
COMMA_NUMBER = re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")
SWAPPED = str.maketrans(",.", ".,")

THOUSANDS_LIKE = str.maketrans("", "", " '\u2019\u00a0\u202f")
"""Deletes signs that may separate thousands and are never decimal signs."""

MISSING_WORDS = frozenset({"", "na", "nan", "null", "none"})
"""Cells, in lower case, that are ignored where the format of a file is inferred from its cells."""

MISSING_MARKERS = MISSING_WORDS | {"n/a", "n.a.", "#n/a", "nil", "missing", "unknown", "?", "-", "--", ".", "*"}
"""Texts, in lower case, that often mean missing in a column of numbers; `na` says which of them are read so."""


def is_number(cell: str) -> bool:
    """Return whether a cell is a number with a decimal point, or a whole number."""
    return NUMBER.fullmatch(cell) is not None


class NumberFormat(NamedTuple):
    """The decimal sign of numbers, and the sign between thousands or None."""

    decimal: str = "."
    thousands: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written as Python writes them."""
        return self == PLAIN_NUMBERS

    def to_plain(self, cell: str) -> str:
        """Return a cell with a point in its number and nothing between its thousands.

        With decimal commas points and commas are exchanged: 3.14, which may mean 314, is not a number then.

        >>> NumberFormat(",", ".").to_plain("1.234,5"), NumberFormat(",").to_plain("3,14")
        ('1234.5', '3.14')
        >>> NumberFormat(",").to_plain("3.14"), NumberFormat(",", ".").to_plain("0.123")
        ('3,14', '0,123')
        """
        if self.thousands and re.fullmatch(self.grouped, cell):
            cell = cell.replace(self.thousands, "")
        return cell.translate(SWAPPED) if self.decimal == "," else cell

    @property
    def grouped(self) -> str:
        """The pattern of numbers with signs between thousands; 0.123 is not one."""
        return _grouped_pattern(self.decimal, self.thousands or "")


PLAIN_NUMBERS = NumberFormat()
"""Numbers as Python writes them."""


def _grouped_pattern(decimal: str, thousands: str) -> str:
    """Return the pattern of numbers with signs between thousands, whole ones if there is no decimal sign."""
    rest = f"(?:{re.escape(decimal)}[0-9]*)?" if decimal else ""
    return rf"[+-]?[1-9][0-9]{{0,2}}(?:{re.escape(thousands)}[0-9]{{3}})+{rest}"


# ---- dialects -------------------------------------------------------------------------------------------------

SEPARATORS = ",\t;|"
NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}

MAX_LINES = 100
"""The number of lines that show how a file is written."""

MAX_CELL = 1 << 30
INFINITE = {f"{sign}{word}" for sign in ("", "+", "-") for word in ("inf", "infinity")}
ARCHIVES = {b"PK\x03\x04": "a zip archive or spreadsheet", b"PAR1": "Parquet", b"\x93NUMPY": ".npy", b"ARROW1": "Arrow"}


@dataclass(frozen=True)
class Dialect:
    """How delimited text is written.

    Attributes:
        separator: between cells; a space means any run of spaces and tabs.
        header: whether the first line holds names.
        numbers: the decimal sign and the sign between thousands.
        comment: the prefix of lines that are skipped, or None; `comment_everywhere`: also below the names.
        encoding: None for UTF-8, or for the encoding that each file's byte order mark declares.
        na: missing-value markers; an empty cell is always missing.
    """

    separator: str = ","
    header: bool = True
    numbers: NumberFormat = PLAIN_NUMBERS
    comment: str | None = None
    comment_everywhere: bool = False
    encoding: str | None = None
    na: tuple[str, ...] = ()

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of `scan` that describe this dialect."""
        written = {"na": self.na, "separator": self.separator, "header": self.header} | self.numbers._asdict()
        return written | {"comment": self.comment, "encoding": self.encoding}


def find_dialect(
    path: Path,
    *,
    separator: str | None = None,
    header: bool | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    comment: str | None = None,
    encoding: str | None = None,
    na: Sequence[str] = (),
) -> Dialect:
    """Return the dialect of a file: what is given, and the rest as its first lines show."""
    encoding = None if encoding is None else text_encoding(encoding)
    _check_is_text(path, encoding)
    _check_comment(comment)
    head = text_head(path, encoding)
    separator = _one_character(separator)
    prefix = comment or _find_comment(path, head, separator)
    text = remove_comments(head.encode(), prefix, everywhere=comment is not None).decode() if prefix else head
    separator = separator or find_separator(path, text)
    rows = list(itertools.islice(read_cells(path, _squeeze(text, separator), separator), MAX_LINES))
    rows = [[cell.strip() for cell in row] for row in rows if row]
    if not rows and text:
        raise DataError(f"'{path}' holds nothing but blank lines", fix="write it again, with names and rows")
    _check_widths(path, rows)
    numbers = _detect_number_format(rows, separator, decimal=decimal, thousands=thousands, na=na)
    if numbers.decimal == "," == separator:
        what = "numbers with decimal commas cannot also be separated by commas"
        raise OptionError(what, fix="say what separates them: {separator}", settings={"separator": ";"})
    # 1'234 in the first line is hardly a name, though only `thousands` makes it a number.
    plain = [[numbers.to_plain(cell).translate(THOUSANDS_LIKE) for cell in row] for row in rows]
    found = _is_header(plain, na) if header is None else header
    return Dialect(separator, found, numbers, prefix, comment is not None, encoding, tuple(na))


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


# ---- comments above the names ---------------------------------------------------------------------------------


def _check_comment(comment: str | None) -> None:
    if comment is not None and (not comment.strip() or "\n" in comment or '"' in comment):
        raise OptionError("must be what comments start with", argument="comment", value=comment, fix="it is often '#'")


def _find_comment(path: Path, head: str, separator: str | None) -> str | None:
    """Return "#" if comment lines precede the header, else None.

    A single comment line with as many cells as the rows below is itself the header; if other comments precede it, the
    file is ambiguous, which is an error.
    """
    lines = [line for line in head.splitlines()[:MAX_LINES] if line.strip()]
    above = list(itertools.takewhile(lambda line: line.startswith("#"), lines))
    below = lines[len(above) :]
    if not above or not below:
        return None
    cut = separator or find_separator(path, "\n".join(below))
    names, first = (next(read_cells(path, _squeeze(line, cut), cut)) for line in (above[-1], below[0]))
    if len(names) < len(first) or not any(is_number(cell.strip().replace(",", ".")) for cell in first):
        return "#"
    if len(above) == 1:
        return None
    what = f"'{path}' starts with comments, the last of which may hold the names of its columns"
    fix = "remove the # from the line of names, or if there are no names add {comment} and {header}"
    raise DataError(what, fix=fix, settings={"comment": "#", "header": False})


def _squeeze(text: str, separator: str) -> str:
    return squeeze_spaces(text.encode()).decode() if separator == " " else text


# ---- what is wrong with the first lines -----------------------------------------------------------------------


def _check_is_text(path: Path, encoding: str | None) -> None:
    """Raise for files of other formats that are called text, by their first bytes."""
    with open_bytes(path) as file:
        head = file.read(SAMPLE_BYTES)
    kind = next((what for start, what in ARCHIVES.items() if head.startswith(start)), None)
    if kind is not None or (b"\x00" in head and file_encoding(path, encoding) == "utf-8"):
        if kind is None and (guess := detect_encoding(head)).startswith("utf-16"):
            what, settings = f"'{path}' is UTF-16 without its byte order mark", {"encoding": guess}
            raise DataError(what, fix="say so with {encoding}", settings=settings)
        fix = "give it the suffix of its format, or write it as CSV"
        raise DataError(f"'{path}' is {kind or 'binary'}, not text", fix=fix)


def _check_widths(path: Path, rows: list[list[str]]) -> None:
    """Raise where rows have different lengths, with advice that depends on the first lines."""
    fix = ""
    if len(rows) > 1 and all(len(row) == len(rows[0]) + 1 for row in rows[1:]):
        first = f"put a name, or nothing, and a separator before '{rows[0][0]}'"
        last = all(not row[-1] for row in rows[1:])
        fix = "end the first line with a separator too" if last else f"if the first column names rows, {first}"
    for place, row in enumerate(rows):
        if len(row) != len(rows[0]):
            fix = "delete the lines above the names" if len(rows[0]) == 1 else fix
            raise ragged_row(path, place + 1, row, len(rows[0]), fix)


def ragged_row(path: Path, row: int, cells: Sequence[str], d: int, fix: str = "") -> DataError:
    """Return the error for a row, counted from 1 with the line of names, that does not have d cells."""
    what = f"'{path}' is ragged: row {row} has {len(cells)} cell{'s' * (len(cells) != 1)}, and the first has {d}"
    if fix:
        return DataError(what, fix=fix)
    if cells and cells[0].startswith("#"):
        return DataError(what, fix="if that is a comment, add {comment}", settings={"comment": "#"})
    usual = "mend that row, quote cells that hold the separator, or say what it is with {separator}"
    return DataError(what, fix=usual, settings={"separator": ...})


# ---- separator and header -------------------------------------------------------------------------------------


def _one_character(given: str | None) -> str | None:
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
    known = ([cell.strip('"') for cell in row] for row in cells[1:])
    return even and all(any(is_number(cell) or cell.lower() in MISSING_WORDS for cell in row) for row in known)


def _is_header(rows: list[list[str]], na: Sequence[str]) -> bool:
    """Return whether the first line holds column names rather than data.

    It does if one of its cells is not a number and the column below has numbers. A cell that may be a missing or an
    infinite number is not taken for a name by itself.
    """
    if len(rows) < 2:
        return True
    first, rest = rows[0], rows[1:]
    given = {token.lower() for token in na}
    if all(is_number(cell) or cell.lower() in given for cell in first if cell):
        years = _are_years(first) and not any(set(first) & set(row) or _are_years(row) for row in rest)
        return years or _are_column_numbers(first, rest)
    odd = MISSING_WORDS | INFINITE | given
    for place, cell in enumerate(first):
        below = [row[place] for row in rest if place < len(row) and row[place].lower() not in odd]
        if not is_number(cell) and cell.lower() not in odd and below and all(is_number(other) for other in below):
            return True
    numbers = [cell for cell in first if cell and is_number(cell)]
    return not numbers or _is_consecutive(numbers)


def _is_consecutive(cells: list[str]) -> bool:
    """Return whether the cells are consecutive integers, such as years in a header."""
    if len(cells) < 2 or not all(cell.isdigit() for cell in cells):
        return False
    values = [int(cell) for cell in cells]
    return all(after == before + 1 for before, after in itertools.pairwise(values))


def _are_years(cells: list[str]) -> bool:
    return _is_consecutive(cells) and 1500 <= int(cells[0]) < 2100


def _are_column_numbers(first: list[str], rest: list[list[str]]) -> bool:
    """Return whether columns are numbered from 0 or 1 above fractions, as by pandas; a guess, so warn of it."""
    if not (_is_consecutive(first) and first[0] in ("0", "1") and all("." in "".join(row) for row in rest)):
        return False
    what = f"the first line, {', '.join(first[:3])}, …, is read as column names"
    fix = "give {header} if it is a row of data"
    warn_user(DataWarning(what, fix=fix, settings={"header": False}))
    return True


def column_names(path: Path, dialect: Dialect) -> list[str]:
    """Return the column names, from the first record; an unnamed column is named by its position."""
    record = first_record(path, dialect)
    try:
        cells = pl.read_csv(record, has_header=False, separator=dialect.separator, infer_schema=False).row(0)
    except pl.exceptions.PolarsError as error:
        reject_undecodable(path, dialect.encoding)
        raise unreadable(path, error) from error
    given = [str(cell or "").strip() if dialect.header else "" for cell in cells]
    names = [name or f"column_{place}" for place, name in enumerate(given, 1)]
    for name, times in Counter(names).items():
        if times > 1:
            what, fix = f"'{path}' has {times} columns named {name!r}", "rename them, so that each has its own name"
            raise DataError(what, columns=[name], fix=fix)
    return names


# ---- decimal and thousands signs ------------------------------------------------------------------------------


def _detect_number_format(
    rows: Sequence[Sequence[str]],
    separator: str,
    *,
    decimal: str | None = None,
    thousands: str | None = None,
    na: Sequence[str] = (),
) -> NumberFormat:
    """Return how numbers are written: as given, or else as the cells of the first rows show."""
    _check_signs(decimal, thousands)
    missing = MISSING_WORDS | {token.lower() for token in na}
    columns = [[c for c in column if c.lower() not in missing] for column in zip(*(rows[1:] or rows), strict=True)]
    for one in (NumberFormat(",", "."), NumberFormat(".", ",")):
        possible = decimal in (None, one.decimal) and thousands in (None, one.thousands)
        if possible and one.decimal != separator and _is_proved(columns, one):
            return one
    implied = {".": ",", ",": "."}.get(thousands or "", "")
    return NumberFormat(decimal or implied or _find_decimal(columns, separator), thousands)


def _check_signs(decimal: str | None, thousands: str | None) -> None:
    if decimal not in (None, ".", ","):
        fix = "for numbers such as 3,14 it is ','"
        raise OptionError("must be '.' or ','", argument="decimal", value=decimal, fix=fix)
    if thousands is not None and (len(thousands) != 1 or thousands.isalnum() or thousands in "+-"):
        fix = "for numbers such as 1.234,5 it is '.'"
        raise OptionError("must be one sign", argument="thousands", value=thousands, fix=fix)
    if thousands is not None and thousands == decimal:
        fix = "give each its own sign"
        raise OptionError("is also the decimal sign", argument="thousands", value=thousands, fix=fix)


def _is_proved(columns: Sequence[Sequence[str]], written: NumberFormat) -> bool:
    """Return whether a column can be numbers in this format only, and no cell contradicts it."""
    thousands = written.thousands or ""
    sign, point = re.escape(thousands), re.escape(written.decimal)
    proof = re.compile(rf"[+-]?[1-9][0-9]{{0,2}}(({sign}[0-9]{{3}})+{point}[0-9]+|({sign}[0-9]{{3}}){{2,}})")
    group = re.compile(written.grouped)
    odd = (c for column in columns for c in column if thousands in c and not group.fullmatch(c))
    if any(is_number(cell.replace(thousands, ".")) for cell in odd):
        return False
    return any(
        any(map(proof.fullmatch, column)) and all(is_number(written.to_plain(cell)) for cell in column)
        for column in columns
    )


def _find_decimal(columns: Sequence[Collection[str]], separator: str) -> str:
    """Return a comma where cells such as 3,14 occur and none such as 3.14, else a point."""
    cells = [cell.translate(THOUSANDS_LIKE) for column in columns for cell in column]
    commas = [cell for cell in cells if COMMA_NUMBER.fullmatch(cell)]
    points = [cell for cell in cells if "." in cell and is_number(cell)]
    decimal = "." if separator == "," or not commas or points else ","
    shown = {",": commas, ".": [] if commas else points}[decimal]
    if shown and all(re.fullmatch(_grouped_pattern("", decimal), cell) for cell in shown):
        _report_ambiguity(shown[0], decimal, separator)
    return decimal


def _report_ambiguity(cell: str, sign: str, separator: str) -> None:
    """Raise or warn where a sign may be the decimal sign or separate thousands.

    Points are decimal everywhere, except perhaps where semicolons separate cells; commas are decimal there, and
    elsewhere they may be either.
    """
    one, other = cell.replace(sign, "."), cell.replace(sign, "")
    either = {"decimal": sign, "thousands": sign}
    if sign == "," and separator != ";":
        what = f"numbers such as '{cell}' may mean {one} or {other}"
        raise DataError(what, fix="choose one: {decimal} or {thousands}", settings=either)
    if separator == ";":
        what = f"numbers such as '{cell}' are read as {one}"
        fix = f"give {{decimal}} if that is right, {{thousands}} if they mean {other}"
        warn_user(DataWarning(what, fix=fix, settings=either))

"""How delimited text is written: its encoding, separator, title, comments, header and numbers, as given or found."""

from __future__ import annotations

import csv
import io
import itertools
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eigenlens import checks
from eigenlens.data.files.base import pl, unreadable
from eigenlens.data.files.decision import Decision
from eigenlens.data.files.decode import (
    SAMPLE_BYTES,
    detect_encoding,
    file_encoding,
    first_record,
    reject_undecodable,
    remove_comments,
    squeeze_spaces,
    text_encoding,
    text_head,
)
from eigenlens.data.files.decompress import open_bytes
from eigenlens.data.files.number_format import (
    MISSING_WORDS,
    PLAIN_NUMBERS,
    THOUSANDS_LIKE,
    NumberFormat,
    detect_number_format,
    is_number,
)
from eigenlens.errors import DataError, DataWarning, OptionError, warn_user

USUAL_MARKERS = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", ".", "-", "?")
"""Cells that are missing in a column whose other cells are numbers, unless `na` lists others."""

TEXT_MARKERS = ("NA",)
"""Cells that are missing in a column of text, unless `na` lists others."""

MISSING_MARKERS = MISSING_WORDS | {"n/a", "n.a.", "#n/a", "nil", "missing", "unknown", "?", "-", "--", ".", "*"}
"""Texts, in lower case, that often mean missing in a column of numbers; `na` says which of them are read so."""

SEPARATORS = ",\t;|"
NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}

MAX_LINES = 100
"""The number of lines that show how a file is written."""

MAX_COLUMNS = 250_000
"""The most columns of delimited text: a million would take minutes, and gigabytes for their names alone."""

MAX_CELL = 1 << 30
INFINITE = {f"{sign}{word}" for sign in ("", "+", "-") for word in ("inf", "infinity")}
ARCHIVES = {b"PK\x03\x04": "a zip archive or spreadsheet", b"PAR1": "Parquet", b"\x93NUMPY": ".npy", b"ARROW1": "Arrow",
            b"\x1f\x8b": "gzip"}  # fmt: skip


@dataclass(frozen=True)
class Dialect:
    """How delimited text is written.

    Attributes:
        separator: between cells; a space means any run of spaces and tabs.
        header: whether the first line holds names.
        numbers: the decimal sign and the sign between thousands.
        comment: the prefix of lines that are skipped, or None; `comment_everywhere`: also below the names.
        encoding: None for UTF-8, or for the encoding that each file's byte order mark declares.
        na: missing-value markers, or None for the usual ones; an empty cell is always missing.
        skip, footer: the numbers of lines above the names and at the end that are left out.
        max_ratio: how many times its size a compressed file may grow to, or None for the usual limit.
        row_names: whether the rows start with a cell for which the line of names has none, as R writes them.
    """

    separator: str = ","
    header: bool = True
    numbers: NumberFormat = PLAIN_NUMBERS
    comment: str | None = None
    comment_everywhere: bool = False
    encoding: str | None = None
    na: tuple[str, ...] | None = None
    skip: int = 0
    footer: int = 0
    max_ratio: float | None = None
    row_names: bool = False

    @property
    def number_markers(self) -> tuple[str, ...]:
        """The missing-value markers of columns of numbers."""
        return USUAL_MARKERS if self.na is None else self.na

    @property
    def text_markers(self) -> tuple[str, ...]:
        """The missing-value markers of columns of text."""
        return TEXT_MARKERS if self.na is None else self.na

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of `scan` that describe this dialect."""
        written = {"na": self.na, "separator": self.separator, "header": self.header} | self.numbers._asdict()
        lines = {"skip": self.skip or None, "footer": self.footer or None}
        return written | {"comment": self.comment, "encoding": self.encoding, "max_ratio": self.max_ratio} | lines

    def decisions(self, given: Mapping[str, Any]) -> Iterator[Decision]:
        """Yield what the file showed and nobody gave; `given`: the options that were given."""
        if self.skip and "skip" not in given:
            lines = f"the first {self.skip} lines are" if self.skip > 1 else "the first line is"
            fix = "if that is wrong, give {skip}"
            yield Decision("title", f"{lines} taken for a title and left out", (), fix, {"skip": 0}, surprising=True)
        if not self.header and "header" not in given:
            what, fix = "the first line holds no names, so columns are numbered", "if it does, give {header}"
            yield Decision("names", what, (), fix, {"header": True})
        if self.row_names:
            what = "the line of names has one name fewer than the rows have cells, so the first column names the rows"
            yield Decision("row names", what, (), "name another with {id}", {"id": ...})
        if not (self.numbers.is_plain or {"decimal", "thousands"} & set(given)):
            signs = {name: sign for name, sign in self.numbers._asdict().items() if sign is not None}
            what = f"numbers are read with {' and '.join(f'{{{name}}}' for name in signs)}, as the file shows"
            yield Decision("numbers", what, (), "give these to confirm, or others", signs, surprising=True)


def find_dialect(
    path: Path,
    *,
    separator: str | None = None,
    header: bool | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    comment: str | None = None,
    encoding: str | None = None,
    na: Sequence[str] | None = None,
    skip: int | None = None,
    footer: int | None = None,
    max_ratio: float | None = None,
) -> Dialect:
    """Return the dialect of a file: what is given, and the rest as its first lines show."""
    encoding = None if encoding is None else text_encoding(encoding)
    _check_is_text(path, encoding)
    _check_comment(comment)
    skip, footer = (
        None if n is None else checks.integer(name, n, 0) for name, n in (("skip", skip), ("footer", footer))
    )
    max_ratio = None if max_ratio is None else checks.real("max_ratio", max_ratio, 1.0)
    head = text_head(path, encoding, skip or 0, footer or 0)
    _check_columns(path, head)
    separator = _one_character(separator)
    prefix = comment or _find_comment(path, head, separator)
    text = remove_comments(head.encode(), prefix, everywhere=comment is not None).decode() if prefix else head
    found = Dialect(comment=prefix, comment_everywhere=comment is not None, encoding=encoding, skip=skip or 0,
                    footer=footer or 0, max_ratio=max_ratio, na=None if na is None else tuple(na))  # fmt: skip
    if skip is None and prefix is None:
        title, separator = _find_title(path, text, separator)
        found, text = replace(found, skip=title), "".join(text.splitlines(keepends=True)[title:])
    separator = separator or find_separator(path, text)
    rows, row_names = _first_rows(path, text, separator, header)
    numbers = detect_number_format(rows, separator, decimal=decimal, thousands=thousands, na=found.number_markers)
    if numbers.decimal == "," == separator:
        what = "numbers with decimal commas cannot also be separated by commas"
        raise OptionError(what, fix="say what separates them: {separator}", settings={"separator": ";"})
    # 1'234 in the first line is hardly a name, though only `thousands` makes it a number.
    plain = [[numbers.to_plain(cell).translate(THOUSANDS_LIKE) for cell in row] for row in rows]
    names = _is_header(plain, found.number_markers) if header is None else header
    return replace(found, separator=separator, header=names, numbers=numbers, row_names=row_names)


def _first_rows(path: Path, text: str, separator: str, header: bool | None) -> tuple[list[list[str]], bool]:
    """Return the cells of the first rows, without spaces around them, and whether a name for the first is lacking.

    Rows of other different lengths are an error.
    """
    rows = list(itertools.islice(read_cells(path, _squeeze(text, separator), separator), MAX_LINES))
    rows = [[cell.strip() for cell in row] for row in rows if row]
    if not rows and text:
        raise DataError(f"'{path}' holds nothing but blank lines", fix="write it again, with names and rows")
    lacking = header is not False and _lacks_first_name(rows)
    rows = [["", *rows[0]], *rows[1:]] if lacking else rows
    _check_widths(path, rows)
    return rows, lacking


def _lacks_first_name(rows: list[list[str]]) -> bool:
    """Return whether all rows have one cell more than the line of names, as tables of R with row names have.

    A column of numbers from the second line on shows that this is not another line of names.
    """
    names, below = rows[0], [row[1:] for row in rows[1:]]
    if not below or any(len(row) != len(names) for row in below) or any(map(is_number, names)):
        return False
    if not any(row[-1] for row in below):
        return False  # a separator at the end of each row
    return any(all(is_number(cell.replace(",", ".")) for cell in column) for column in zip(*below, strict=True))


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


# ---- title lines ----------------------------------------------------------------------------------------------

MAX_TITLE_LINES = 10


def _find_title(path: Path, text: str, separator: str | None) -> tuple[int, str | None]:
    r"""Return the number of lines above the names that are certainly a title, and the separator below if it is known.

    A title is a single cell, or far fewer than the names have.

    >>> _find_title(Path("t.csv"), "Sales 2020\n\nshop,sum\na,1\nb,2\n", None)
    (2, ',')
    >>> _find_title(Path("t.csv"), "Sales 2020,\nshop,sum\na,1\n", None), _find_title(Path("t.csv"), "a\n1\n", None)
    ((1, ','), (0, ','))
    """
    lines = text.splitlines()[:MAX_LINES]
    if any(line.count('"') % 2 for line in lines) or "\r" in text.replace("\r\n", ""):
        return 0, separator
    first = None
    for count in range(max(1, min(MAX_TITLE_LINES, len(lines) - 2) + 1)):
        rest = "\n".join(lines[count:])
        cut = separator or find_separator(path, rest)
        first = first or cut
        rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(rest), delimiter=cut) if row]
        while rows and footer_lines(rows[-1:]):  # remarks below the table are reported where they are met
            rows.pop()
        even = len(rows) > 2 and sum(map(bool, rows[0])) > 1 and len(rows[0]) == len(rows[1])
        if cut == " " or len(rows) < 2 or (not count and (len(rows) < 3 or even)):
            break
        if count and lines[count].strip() and _is_titled(list(csv.reader(lines[:count], delimiter=cut)), rows):
            return count, cut
    return 0, first


def _is_titled(titles: list[list[str]], rows: list[list[str]]) -> bool:
    """Return whether rows of one length start with a full line of names, and the lines above are far shorter."""
    d = len(rows[0])
    if d < 2 or not all(rows[0][1:]) or any(len(row) != d for row in rows) or any(map(is_number, rows[0])):
        return False
    short = all(sum(map(bool, cells)) < 2 or len(cells) < d - 1 for cells in titles)
    below = any(re.match(r"\W*[0-9]", cell) for row in rows[1:] for cell in row)
    return short and below


# ---- what is wrong with the first lines -----------------------------------------------------------------------


def _check_is_text(path: Path, encoding: str | None) -> None:
    """Raise for files of other formats that are called text, by their first bytes."""
    with open_bytes(path) as file:
        head = file.read(SAMPLE_BYTES)
    kind = next((what for start, what in ARCHIVES.items() if head.startswith(start)), None)
    kind = "a web page" if re.match(rb"\s*<(!doctype )?html", head, re.IGNORECASE) else kind
    if kind is not None or (b"\x00" in head and file_encoding(path, encoding) == "utf-8"):
        if kind is None and (guess := detect_encoding(head)).startswith("utf-16"):
            what, settings = f"'{path}' is UTF-16 without its byte order mark", {"encoding": guess}
            raise DataError(what, fix="say so with {encoding}", settings=settings)
        fix = "give it the suffix of its format, or write it as CSV"
        fix = f"rename it: mv {shlex.quote(str(path))} {shlex.quote(f'{path}.gz')}" if kind == "gzip" else fix
        raise DataError(f"'{path}' is {kind or 'binary'}, not delimited text", fix=fix)


def _check_columns(path: Path, head: str) -> None:
    """Raise where the first line has more columns than can be read, before its cells are looked at."""
    first = head.partition("\n")[0]
    d = 1 + max(first.count(separator) for separator in SEPARATORS)
    if d > MAX_COLUMNS:
        what = f"'{path}' has {d:,} columns, and delimited text is read with {MAX_COLUMNS:,} at most"
        fix = "write it with rows and columns exchanged and read that with {transpose}, or write it as .npy"
        raise DataError(what, fix=fix, settings={"transpose": True})


def _check_widths(path: Path, rows: list[list[str]]) -> None:
    """Raise where rows have different lengths, with advice that depends on the first lines."""
    longer = len(rows) > 1 and all(len(row) == len(rows[0]) + 1 and not row[-1] for row in rows[1:])
    fix = "end the first line with a separator too" if longer else ""
    for place, row in enumerate(rows):
        if len(row) != len(rows[0]):
            titled = len(rows[0]) == 1 < len(row)
            raise ragged_row(path, place + 1, row, len(rows[0]), fix, title=titled, footer=footer_lines(rows[place:]))


def footer_lines(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of rows, if each is one cell of text, as remarks below a table are; else 0."""
    return len(rows) if all(len(row) == 1 and row[0].strip() and not is_number(row[0].strip()) for row in rows) else 0


def ragged_row(
    path: Path, row: int, cells: Sequence[str], d: int, fix: str = "", *, title: bool = False, footer: int = 0
) -> DataError:
    """Return the error for a row, counted from 1 with the line of names, that does not have d cells.

    title, footer: whether there are lines above the names, and how many remarks at the end, as it seems.
    """
    what = f"'{path}' is ragged: row {row} has {len(cells)} cell{'s' * (len(cells) != 1)}, and the first has {d}"
    if title:
        return DataError(what, fix="leave out the lines above the names with {skip}", settings={"skip": ...})
    if fix:
        return DataError(what, fix=fix)
    if cells and cells[0].startswith("#"):
        return DataError(what, fix="if that is a comment, add {comment}", settings={"comment": "#"})
    if footer:
        return DataError(what, fix="leave out the remarks at the end with {footer}", settings={"footer": footer})
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


FIRST_COLUMN = "row"
"""The name of a first column for which the line of names has none."""


def column_names(path: Path, dialect: Dialect) -> list[str]:
    """Return the column names, from the first record; an unnamed column is named by its position."""
    record = first_record(path, dialect)
    try:
        cells = pl.read_csv(record, has_header=False, separator=dialect.separator, infer_schema=False).row(0)
    except pl.exceptions.PolarsError as error:
        reject_undecodable(path, dialect.encoding)
        raise unreadable(path, error) from error
    given = [str(cell or "").strip() if dialect.header else "" for cell in cells]
    given = [FIRST_COLUMN, *given] if dialect.row_names else given
    names = [name or f"column_{place}" for place, name in enumerate(given, 1)]
    for name, times in Counter(names).items():
        if times > 1:
            what, fix = (
                f"'{path}' has {times} columns named {name!r}",
                "rename them, or number all with {skip} {header}",
            )
            raise DataError(what, columns=[name], fix=fix, settings={"skip": dialect.skip + 1, "header": False})
    return names

"""The cells of delimited text: numbers however they are written, booleans, missing-value markers, or text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from eigenlens.data.column_kinds import ColumnKind
from eigenlens.data.files.base import pl
from eigenlens.data.files.cell_formats.unit_names import CURRENCIES, is_known_unit
from eigenlens.data.files.number_format import is_number
from eigenlens.errors import DataError

if TYPE_CHECKING:
    from polars import DataFrame, Expr, Series

    from eigenlens.data.files.dialect import Dialect


INTEGER = "^[+-]?[0-9]+$"
BOOLEAN = "^(?i)(true|false)$"

MAX_MARKERS = 8
"""Up to this many different texts in a column of numbers are taken for missing-value markers."""


NUMBER_FIRST = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?[^0-9\-/:]")
"""A number with text after it, which is no date."""

MAX_MARKER_LETTERS = 30
"""Longer texts mean something else."""

MAX_SHOWN_LETTERS = 60
"""Letters of a cell that an error shows."""


# ---- reading cells --------------------------------------------------------------------------------------------


def present_cells(cells: Expr, markers: Sequence[str]) -> Expr:
    """Return columns of text without spaces around cells, null where a cell is empty or a missing-value marker."""
    bare = cells.str.strip_chars(" \t\u00a0")
    found: Expr = pl.when(~(cells.str.strip_chars().is_in(list(markers)) | (bare == ""))).then(bare)
    return found


def plain_cells(cells: Expr, dialect: Dialect, markers: Sequence[str] | None = None) -> Expr:
    """Return columns of text without spaces around cells, null where one is missing, points in their numbers.

    markers: of missing values; None for those of columns of text.
    """
    numbers = dialect.numbers
    bare = cells.str.strip_chars()
    present = present_cells(cells, dialect.text_markers if markers is None else markers)
    if numbers.thousands:
        ungrouped = bare.str.replace_all(numbers.thousands, "", literal=True)
        present = pl.when(bare.str.contains(f"^{numbers.grouped}$")).then(ungrouped).otherwise(present)
    # As `NumberFormat.to_plain`: a point among decimal commas is not a decimal sign.
    plain = present.str.replace_many([",", "."], [".", ","]) if numbers.decimal == "," else present
    return without_numbers(plain, dialect)


def without_numbers(plain: Expr, dialect: Dialect) -> Expr:
    """Return plain cells, null where one is a missing-value marker that is a number, such as -999."""
    missing = missing_numbers(dialect)
    if not missing:
        return plain
    found: Expr = pl.when(~plain.cast(pl.Float64, strict=False).is_in(missing).fill_null(False)).then(plain)
    return found


def as_number(cells: Expr, dialect: Dialect) -> Expr:
    """Return columns of text as floats: true and false are 1 and 0, text and missing cells are null."""
    return parse_numbers(plain_cells(cells, dialect))


def parse_numbers(plain: Expr) -> Expr:
    """Return plain cells as floats: true and false are 1 and 0, text and missing cells are null."""
    lower = plain.str.to_lowercase()
    boolean = pl.when(lower.is_in(["true", "false"])).then((lower == "true").cast(pl.Float64))
    found: Expr = boolean.otherwise(plain.cast(pl.Float64, strict=False))
    return found


def missing_numbers(dialect: Dialect) -> list[float]:
    """Return the missing-value markers that are numbers: -999 also means -999.0 and ' -999 '.

    >>> from eigenlens.data.files.dialect import Dialect
    >>> missing_numbers(Dialect(na=("NA", "-999", "nan")))
    [-999.0]
    """
    plain = [dialect.numbers.to_plain(token.strip()) for token in dialect.number_markers]
    return [float(token) for token in plain if is_number(token)]


def mask_missing(cells: Expr, markers: Sequence[str]) -> Expr:
    """Return columns of text without spaces around the cells, null where one is empty or a missing-value marker."""
    bare = cells.str.strip_chars(" \t\u00a0")
    found: Expr = pl.when(~(cells.str.strip_chars().is_in(list(markers)) | (bare == ""))).then(bare)
    return found


def fold_case(cells: Expr) -> Expr:
    """Return text in lower case, with single spaces and no point at its end: spellings of a category are then alike."""
    found: Expr = cells.str.to_lowercase().str.replace_all(r"[\s\u00a0]+", " ").str.replace(r"(.)[ .]+$", "${1}")
    return found


def as_exact_integers(cells: Series, numbers: Series) -> Series:
    """Return plain cells as integers of 64 bits, which floats may have rounded; the floats if one is not whole.

    >>> import polars as pl
    >>> as_exact_integers(pl.Series(["9007199254740993", None]), pl.Series([2.0**53, None])).to_list()
    [9007199254740993, None]
    """
    integers = cells.cast(pl.Int64, strict=False)
    return integers if integers.null_count() == numbers.null_count() else numbers


def narrow_type(text: Series) -> Series:
    """Return text as integers if every entry is one, else as floats if every one is; 007 is a name, not a number."""
    integers = text.cast(pl.Int64, strict=False)
    if (integers.cast(pl.String) == text).all() and integers.null_count() == text.null_count():
        return integers
    floats = text.cast(pl.Float64, strict=False)
    if floats.null_count() == text.null_count() and not text.str.contains(r"^[+-]?0\d").any():
        return floats
    return text


def narrow_pieces(pieces: Iterable[DataFrame], plain: Expr) -> Iterator[Series | None]:
    """Yield the plain cells of the pieces of one column as numbers; None, and no more, where some are not numbers."""
    for cells in pieces:
        found = narrow_type(cells.select(plain).to_series())
        yield found if found.dtype.is_numeric() else None
        if not found.dtype.is_numeric():
            return


# ---- kinds of columns -----------------------------------------------------------------------------------------


def cell_kinds(frame: DataFrame, dialect: Dialect) -> list[ColumnKind]:
    """Return what the cells of columns of text hold, missing ones aside.

    All columns are checked together: one at a time, ten thousand of them take ten seconds.

    >>> import polars as pl
    >>> from eigenlens.data.files.dialect import Dialect
    >>> frame = pl.DataFrame({"a": ["1", "?", ""], "b": ["1", "2.5", "x"], "c": ["true", None, " False"]})
    >>> cell_kinds(frame, Dialect(na=("?",)))
    ['integer', 'mixed', 'boolean']
    """
    every = pl.all()
    cells = frame.select(plain_cells(every, dialect, dialect.number_markers))
    tests = (every.count(), every.str.contains(BOOLEAN).sum(), every.cast(pl.Int64, strict=False).count(),
             every.cast(pl.Float64, strict=False).count())  # fmt: skip
    return [_kind(*counts) for counts in zip(*(cells.select(test).row(0) for test in tests), strict=True)]


def _kind(present: int, booleans: int, integers: int, numbers: int) -> ColumnKind:
    """Return the kind of a column from its counts of present, boolean, 64-bit integer and numeric cells."""
    if not present:
        return ColumnKind.EMPTY
    if booleans == present:
        return ColumnKind.BOOLEAN
    if integers == present:
        return ColumnKind.INTEGER
    if numbers + booleans == present:
        return ColumnKind.NUMBER
    return ColumnKind.MIXED if numbers + booleans else ColumnKind.TEXT


# ---- cells that are not numbers -------------------------------------------------------------------------------


class CellFormat(NamedTuple):
    """The form of a cell that cannot be read as a number, and advice.

    `number`: it means one, so is never missing. `as_missing`: what follows where it is read as missing.
    """

    what: str
    advice: str
    number: bool = True
    argument: str = ""
    as_missing: str = ""


THOUSANDS = CellFormat(
    "numbers with signs between thousands", "name the sign between thousands with {thousands}", argument="thousands"
)

LIMIT = CellFormat(
    "values beyond a limit of detection",
    "write a number for them, such as half the limit, since they are not missing at random",
    number=False, as_missing="the mean is then that of the others",
)  # fmt: skip

TOP = LIMIT._replace(
    what="values above a limit",
    advice="write a number for them, such as the limit itself, since they are not missing at random",
)

UNIT = CellFormat("numbers with units", "write all of its cells in one unit")

MONTH = r"(?i:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-z]*\.?"
NAMED_DATES = (
    rf"(?:[A-Za-z]{{2,9}},? )?\d{{1,2}}\.?[- ]{MONTH}[- ]\d{{2,4}}\b.*|{MONTH} \d{{1,2}},? \d{{4}}\b.*|"
    r"\d{4}-?(?:W\d\d|Q[1-4])(?:-\d)?"
)
"""Dates with the names of months, weeks and quarters."""

CELL_FORMATS: dict[str, CellFormat] = {
    r"[+-]?\d{1,3}([,.\u2019' \u00a0\u2007\u2009\u202f]\d{3})+([.,]\d+)?": THOUSANDS,
    r"[+-]?\d{1,3}(_\d{3})+(\.\d+)?": THOUSANDS,
    r"[−–][\d.,]+": CellFormat("numbers with a printer's minus", "write all of its cells as numbers"),
    r"[<>≤≥]=?\s?[\d.,]+.*": LIMIT,
    r"(?i)<?\s?(lo[dq]|mdl|bdl|bld|bl[qd]|ll?oq)|[bu]\.?d\.?l\.?|n\.?d\.?|not detect(ed|able)|below .*": LIMIT,
    r"(?i)undetermined|\d+\s?\+": TOP,
    r"[+-]?[\d.,]+\s?%": CellFormat("numbers with %", "write all of its cells with %, or none"),
    rf"[+-]?({CURRENCIES})\s?[\d.,]+|[\d.,]+\s?({CURRENCIES})": CellFormat(
        "numbers with signs of currency", "write all of its cells with one sign, or none"
    ),
    r"[+-]?\d*,\d+": CellFormat("numbers with decimal commas", "say so with {decimal}", argument="decimal"),
    r"(?i)yes|no|y|n|on|off": CellFormat("yes and no", "write it as 1 and 0", number=False),
    rf"\d{{4}}([-/.])\d\d?\1\d\d?(?!\d).*|\d{{1,2}}([./-])\d{{1,2}}\2\d{{2,4}}(?![\d./-]).*|{NAMED_DATES}": CellFormat(
        "dates", "read it as days with {dates}", number=False, argument="dates"
    ),
    r"(?:\d{1,3}\.){3}\d{1,3}": CellFormat("IP addresses", "leave it out with {drop}", number=False, argument="drop"),
}
"""Cells that are nearly numbers, by their patterns."""


def describe_cell(cell: str) -> CellFormat | None:
    """Return the form of a cell that cannot be read as a number; None if it is any other text.

    >>> describe_cell("9,695.54").what, describe_cell("9.7%").what, describe_cell("north")
    ('numbers with signs between thousands', 'numbers with %', None)
    """
    unit = re.fullmatch(r"[+−–-]?[.,]?\d[\d.,]*\s?([^\W\d].*)", cell.strip())
    if unit is not None and is_known_unit(unit[1]) and not re.fullmatch(NAMED_DATES, cell.strip()):
        return UNIT
    return next((look for pattern, look in CELL_FORMATS.items() if re.fullmatch(pattern, cell.strip())), None)


@dataclass
class TextCells:
    """The text found in one column of numbers: its first place and value, how often, and a few different values."""

    where: str
    value: str
    count: int = 0
    values: set[str] = field(default_factory=set)

    def add(self, texts: Sequence[str]) -> None:
        """Count the texts of one more piece."""
        self.count += len(texts)
        if len(self.values) <= MAX_MARKERS:
            self.values |= set(itertools.islice(dict.fromkeys(text.strip() for text in texts), MAX_MARKERS + 1))

    def markers(self, rows: int) -> list[str]:
        """Return the texts that may mean missing: a handful, in the smaller part of the rows, none of them numbers.

        '15.65 (E)' and '5 - always' are numbers with more to them, which would be lost.
        """
        few = len(self.values) <= MAX_MARKERS and 2 * self.count < rows
        few = few and not any(NUMBER_FIRST.match(text) and describe_cell(text) is None for text in self.values)
        return sorted(self.values) if few and max(map(len, self.values)) <= MAX_MARKER_LETTERS else []


def text_error(
    names: Sequence[str], texts: TextCells, na: Sequence[str] = (), *, rest: Sequence[str] = (), as_text: bool = False,
    commas: bool = False,
) -> DataError:  # fmt: skip
    """Return the error for text in columns that should hold numbers, with the ways out.

    `na`: texts that may mean missing. `rest`: columns in which others remain. `as_text`: the column could be read as
    text. `commas`: numbers have decimal commas, so a cell with a point is not one.
    """
    more = f"; so do{'es' * (len(names) == 2)} {len(names) - 1} more" if len(names) > 1 else ""
    shown = texts.value if len(texts.value) <= MAX_SHOWN_LETTERS else f"{texts.value[:MAX_SHOWN_LETTERS]}…"
    rows = f"in {texts.count} row{'s' * (texts.count != 1)} (first: {texts.where}, {shown!r}){more}"
    what = "text among numbers" if as_text else "text, or a point where numbers have commas," if commas else "text"
    ways = _ways_out(texts.value, "" if not na else "add {na} and {drop}" if rest else "add {na}", as_text)
    settings: dict[str, Any] = {
        "drop": list((na and rest) or names),
        "na": list(na),
        "text": list(names[:1]),
        "id": ...,
        "label": ...,
    }
    sign = re.search(r"(?<=\d)\D", texts.value)
    settings |= {"thousands": sign[0] if sign else ..., "decimal": ",", "dates": list(names[:1])}
    settings = {name: value for name, value in settings.items() if f"{{{name}}}" in ways}
    return DataError(f"column {names[0]!r} has {what} {rows}", columns=list(names), fix=ways, settings=settings)


def _ways_out(cell: str, markers: str, as_text: bool) -> str:
    """Return advice about text in a column of numbers, judged by its first cell; `markers`: that on missing values."""
    looks = describe_cell(cell)
    is_number = looks is not None and looks.number
    ways = [] if looks is None else [looks.advice]
    if as_text and not is_number:
        ways.append("read it as text with {text}")
    if markers and not is_number:
        ways.append(markers + (f" ({looks.as_missing})" if looks is not None and looks.as_missing else ""))
    if "{drop}" not in markers or is_number:
        ways.append("leave it out with {drop}")
    if not (markers or as_text or is_number):
        ways.append("name it with {id} or {label}")
    return f"{', '.join(ways[:-1])}, or {ways[-1]}" if len(ways) > 1 else ways[0]

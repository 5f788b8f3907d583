"""How delimited text is written: its encoding, separator, title, comments, header and numbers, as given or found."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from eigenlens.data.files.base import pl, unreadable
from eigenlens.data.files.decision import Decision
from eigenlens.data.files.decode import (
    SAMPLE_BYTES,
    detect_encoding,
    file_encoding,
    header_records,
    is_drawn,
    reject_undecodable,
    remove_comments,
    text_encoding,
    text_head,
    text_tail,
    western_encoding,
    without_footer,
)
from eigenlens.data.files.decompress import COMPRESSED, open_bytes
from eigenlens.data.files.layout.first_line import FirstLine, first_line_decisions, judge_first_line
from eigenlens.data.files.layout.footer import find_remarks, reject_second_table
from eigenlens.data.files.layout.header import (
    NUMBER_LIKE,
    count_header_rows,
    join_names,
    lacks_first_name,
    number_repeated,
    numeric_columns_below,
)
from eigenlens.data.files.layout.separator import MAX_LINES, find_separator, one_character, read_cells, single_spaces
from eigenlens.data.files.layout.title import find_title
from eigenlens.data.files.layout.widths import check_column_count, check_widths, trailing_separators
from eigenlens.data.files.number_format import (
    MISSING_WORDS,
    PLAIN_NUMBERS,
    THOUSANDS_LIKE,
    NumberFormat,
    detect_number_format,
    is_number,
)
from eigenlens.data.files.other_formats import reject_libsvm
from eigenlens.errors import DataError, OptionError

NO_ANSWERS = ("Refused", "Don't know", "Don’t know", "No answer", "Not applicable", "Inapplicable", "keine Angabe",
              "Prefer not to say", "Prefer not to answer", "Rather not say")  # fmt: skip
"""Words of questionnaires for an answer that was not given, in the cases that `USUAL_MARKERS` adds."""

USUAL_MARKERS = (
    "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", ".", "-", "?", "--", "---", "–", "—", "..", "…",
    ":", "DNF", "DNS", "DSQ", "[not completed]",
    *("#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?", "#NULL!"), *(f".{letter}" for letter in ascii_lowercase),
    *dict.fromkeys(case(word) for word in NO_ANSWERS for case in (str, str.lower, str.upper, str.title)),
)  # fmt: skip
"""Cells that are missing in a column whose other cells are numbers, besides those of `na`.

After the words: signs of tables, of Eurostat (:) and of the World Bank (..); races without a
result, and forms of REDCap; errors of spreadsheets; Stata's .a to .z.
"""

TEXT_MARKERS = ("NA",)
"""Cells that are missing in a column of text, besides those of `na`."""

MISSING_MARKERS = MISSING_WORDS | {"n/a", "n.a.", "#n/a", "nil", "missing", "unknown", "?", "-", "--", ".", "*"}
"""Texts, in lower case, that often mean missing in a column of numbers; `na` says which of them are read so."""

ARCHIVES = {b"PK\x03\x04": "a zip archive or spreadsheet", b"PAR1": "Parquet", b"\x93NUMPY": ".npy", b"ARROW1": "Arrow",
            b"\x1f\x8b": "gzip"}  # fmt: skip
SUFFIXES = {"gzip": ".gz", "GCT": ".gct", "a web page": ".html"}
"""The suffixes of formats that are read once a file is called so."""


DRAWN = Decision("rulers", "the lines, bars or fixed widths that lay out the table are not read as cells")

SERIES_COMMENT = "!"
"""The start of all lines of a series matrix of GEO that are no rows."""


@dataclass(frozen=True)
class Dialect:
    """How delimited text is written.

    Attributes:
        separator: between cells; a space means any run of spaces and tabs.
        header: the number of lines that hold names, 0 where there are none.
        numbers: the decimal sign and the sign between thousands.
        comment: the prefix of lines that are skipped, or None; `comment_everywhere`: also below the names.
        names_in_comment: how many lines there are above a comment with the names; None where no comment has them.
        encoding: None for UTF-8, or for the encoding that each file's byte order mark declares.
        na: missing-value markers besides the usual ones; with "" among them, or where there is none, these alone. None
            for the usual ones. An empty cell is always missing.
        skip, footer: the numbers of lines above the names and at the end that are left out.
        max_ratio: how many times its size a compressed file may grow to, or None for the usual limit.
        row_names: whether the rows start with a cell for which the line of names has none, as R writes them.
        repeats: whether a line that repeats the names cannot be data: there are numbers below them.
        doubtful_names: the cells of the first line, if they are taken for names though they may be a row.
        trailing: 1 if rows end with a separator and the line of names does not, -1 for the opposite, else 0.
        drawn: whether the table is drawn with rulers and bars, which hold no cells.
    """

    separator: str = ","
    header: int = 1
    numbers: NumberFormat = PLAIN_NUMBERS
    comment: str | None = None
    comment_everywhere: bool = False
    names_in_comment: int | None = None
    encoding: str | None = None
    na: tuple[str, ...] | None = None
    skip: int = 0
    footer: int = 0
    max_ratio: float | None = None
    row_names: bool = False
    repeats: bool = False
    doubtful_names: tuple[str, ...] = ()
    trailing: int = 0
    drawn: bool = False

    @property
    def number_markers(self) -> tuple[str, ...]:
        """The missing-value markers of columns of numbers."""
        return self._with_given(USUAL_MARKERS)

    @property
    def text_markers(self) -> tuple[str, ...]:
        """The missing-value markers of columns of text."""
        return self._with_given(TEXT_MARKERS)

    def _with_given(self, usual: Sequence[str]) -> tuple[str, ...]:
        """Return the markers that are given and, unless these are complete, the usual ones."""
        shown = usual if self.uses_usual_markers else ()
        return tuple(dict.fromkeys(each for each in (*shown, *(self.na or ())) if each))

    @property
    def uses_usual_markers(self) -> bool:
        """Whether those of `na` are not complete."""
        return self.na is None or bool(self.na and "" not in self.na)

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of `scan` that describe this dialect."""
        written = {"na": self.na, "separator": self.separator, "header": bool(self.header)} | self.numbers._asdict()
        lines = {
            "header_rows": self.header if self.header > 1 else None,
            "skip": self.skip or None,
            "footer": self.footer or None,
        }
        comment = self.comment if self.names_in_comment is None else None
        return written | {"comment": comment, "encoding": self.encoding, "max_ratio": self.max_ratio} | lines

    def decisions(self, given: Mapping[str, Any]) -> Iterator[Decision]:
        """Yield what the file showed and nobody gave; `given`: the options that were given."""
        if self.skip and "skip" not in given:
            lines = f"the first {self.skip} lines are" if self.skip > 1 else "the first line is"
            what, fix = f"{lines} taken for a title and left out", "if that is wrong, give {skip}"
            yield Decision("title", what, (), fix, {"skip": 0}, surprising=True)
        if self.drawn:
            yield DRAWN
        if self.footer and "footer" not in given:
            lines = f"the last {self.footer} lines are" if self.footer > 1 else "the last line is"
            what, fix = f"{lines} taken for remarks and left out", "give {footer} to confirm, or another number"
            yield Decision("remarks", what, (), fix, {"footer": self.footer}, surprising=True)
        if self.encoding and "encoding" not in given:
            what, fix = "the text is not UTF-8 and is read with {encoding}", "if letters look wrong, give another"
            yield Decision("encoding", what, (), fix, {"encoding": self.encoding}, surprising=True)
        yield from self._comment_decisions() if "comment" not in given else ()
        yield from first_line_decisions(bool(self.header), self.doubtful_names) if "header" not in given else ()
        if self.row_names:
            what = "the line of names has one name fewer than the rows have cells, so the first column names the rows"
            yield Decision("row names", what, (), "name another with {id}", {"id": ...})
        if self.trailing:
            one, other = (
                ("each row", "the line of names does") if self.trailing > 0 else ("the line of names", "rows do")
            )
            what = f"{one} ends with a separator and {other} not, so no column is made of what follows it"
            yield Decision("separators", what)
        if not (self.numbers.is_plain or {"decimal", "thousands"} & set(given)):
            signs = {name: sign for name, sign in self.numbers._asdict().items() if sign is not None}
            what = f"numbers are read with {' and '.join(f'{{{name}}}' for name in signs)}, as the file shows"
            yield Decision("numbers", what, (), "give these to confirm, or others", signs, surprising=True)

    def _comment_decisions(self) -> Iterator[Decision]:
        """Yield what was found about comments: lines of GEO that are no rows, or names that stand in one."""
        if self.comment == SERIES_COMMENT:
            what = "lines that start with ! are left out, as they are no rows in a series matrix of GEO"
            yield Decision("comments", what, (), "if they are, give another {comment}", {"comment": ...})
        if self.names_in_comment is not None and self.header:
            what, fix = (
                "the names of columns stand in a comment above the rows",
                "if they do not, give {comment} and {header}",
            )
            yield Decision("comments", what, (), fix, {"comment": "#", "header": False})


def find_dialect(
    path: Path,
    *,
    separator: str | None = None,
    header: bool | None = None,
    header_rows: int | None = None,
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
    encoding = _find_encoding(path, encoding)
    _check_comment(comment)
    head = _first_lines(path, encoding, skip or 0, footer or 0)
    separator = one_character(separator)
    text, comments = _without_comments(path, head, comment, separator)
    found = Dialect(**comments, encoding=encoding, skip=skip or 0, footer=footer or 0, max_ratio=max_ratio,
                    na=None if na is None else tuple(na))  # fmt: skip
    if skip is None and found.comment is None:
        title, separator = find_title(path, text, separator)
        found, text = replace(found, skip=title), "".join(text.splitlines(keepends=True)[title:])
    separator = separator or find_separator(path, text)
    if footer is None:
        found, text = _cut_remarks(path, text, separator, found, text_tail(path, encoding, skip or 0))
    rows, row_names, trailing = _first_rows(path, text, separator, header)
    missing = MISSING_MARKERS | {token.lower() for token in found.number_markers}
    rows = _without_repeated(rows, missing)
    lines = 1 if row_names else header_rows or count_header_rows(rows, missing)
    rows = [rows[0], *rows[lines:]] if rows and header is not False else rows
    numbers = detect_number_format(rows, separator, decimal=decimal, thousands=thousands, na=found.number_markers)
    _check_decimal(numbers, separator)
    # 1'234 in the first line is hardly a name, though only `thousands` makes it a number.
    plain = [[numbers.to_plain(cell).translate(THOUSANDS_LIKE) for cell in row] for row in rows]
    # Text below the first line makes names of its numbers, unless it has nothing else.
    known = header_rows or header is not None or (lines > 1 and not all(map(is_number, rows[0])))
    line = FirstLine(header is not False) if known else judge_first_line(plain, found.number_markers)
    return replace(found, separator=separator, header=lines if line.named else 0, numbers=numbers, row_names=row_names,
                   doubtful_names=tuple(rows[0]) if line.doubtful else (), trailing=trailing,
                   repeats=line.named and bool(numeric_columns_below(rows[1:], missing)),
                   drawn=is_drawn(path, encoding))  # fmt: skip


def _first_lines(path: Path, encoding: str | None, skip: int, footer: int) -> str:
    """Return the start of a text without the lines to skip; an error where nothing is left, or too many columns."""
    head = text_head(path, encoding, skip, footer)
    if (skip or footer) and not head.strip():
        what = f"'{path}' has no lines that skip={skip} and footer={footer} leave"
        raise DataError(what, fix="give smaller numbers of lines")
    check_column_count(path, head)
    return head


def _check_decimal(numbers: NumberFormat, separator: str) -> None:
    if numbers.decimal == "," == separator:
        what = "numbers with decimal commas cannot also be separated by commas"
        raise OptionError(what, fix="say what separates them: {separator}", settings={"separator": ";"})


def _find_encoding(path: Path, encoding: str | None) -> str | None:
    """Return the encoding that is given, or that the bytes show with certainty; None for UTF-8 and marked files."""
    given = None if encoding is None else text_encoding(encoding)
    _check_is_text(path, given)
    return western_encoding(path) if encoding is None else given


def _cut_remarks(path: Path, text: str, separator: str, found: Dialect, tail: str | None) -> tuple[Dialect, str]:
    """Return the dialect with the number of lines of remarks below the table, and the first lines without them.

    A second table below the first is an error. `tail`: the last lines, or None where the text has them.
    """
    end = text if tail is None else tail
    reject_second_table(path, end, separator, above=found.skip if tail is None and found.comment is None else None)
    remarks = find_remarks(path, end, separator, len(next(filter(None, read_cells(path, text, separator)), [])))
    return replace(found, footer=remarks), without_footer(text, remarks) if tail is None else text


def _without_repeated(rows: list[list[str]], missing: Collection[str]) -> list[list[str]]:
    """Return rows without those that repeat the first, if that has text above numbers."""
    rest = [row for row in rows[1:] if row != rows[0]]
    numeric = numeric_columns_below(rest, missing) if len(rest) < len(rows) - 1 else []
    return rows if all(NUMBER_LIKE.fullmatch(rows[0][place]) for place in numeric) else [rows[0], *rest]


def _first_rows(path: Path, text: str, separator: str, header: bool | None) -> tuple[list[list[str]], bool, int]:
    """Return the cells of the first rows, without spaces around them.

    Also return whether a name for the first cell is lacking, and the `trailing` of the dialect. Rows of other different
    lengths are an error.
    """
    rows = list(itertools.islice(read_cells(path, single_spaces(text, separator), separator), MAX_LINES))
    rows = [[cell.strip() for cell in row] for row in rows if row]
    if not rows:
        held = "blank lines" if text else "a byte order mark"
        raise DataError(f"'{path}' holds nothing but {held}", fix="write it again, with names and rows")
    lacking = header is not False and lacks_first_name(rows)
    rows = [["", *rows[0]], *rows[1:]] if lacking else rows
    trailing = 0 if header is False or lacking else trailing_separators(rows)
    if trailing:
        rows = [rows[0][:-1], *rows[1:]] if trailing < 0 else [rows[0], *(row[:-1] for row in rows[1:])]
    check_widths(path, rows, text)
    return rows, lacking, trailing


# ---- comments above the names ---------------------------------------------------------------------------------


def _check_comment(comment: str | None) -> None:
    if comment is not None and (not comment.strip() or "\n" in comment or '"' in comment):
        raise OptionError("must be what comments start with", argument="comment", value=comment, fix="it is often '#'")


def _without_comments(path: Path, head: str, given: str | None, separator: str | None) -> tuple[str, dict[str, Any]]:
    """Return the first lines without comments, names first that stand in one, and what the dialect says of them."""
    prefix, named = (given, None) if given else _find_comment(path, head, separator)
    everywhere = given is not None or prefix == SERIES_COMMENT  # the last line of a series of GEO is one too
    text = remove_comments(head.encode(), prefix, everywhere=everywhere).decode() if prefix else head
    if named is not None:
        lines = head.splitlines(keepends=True)
        named = [place for place, line in enumerate(lines) if line.strip()][named]
        text = lines[named].lstrip("# \t") + text
    return text, {"comment": prefix, "comment_everywhere": everywhere, "names_in_comment": named}


def _find_comment(path: Path, head: str, separator: str | None) -> tuple[str | None, int | None]:
    """Return "#", or "!" as in series of GEO, if comment lines precede the header, and the place of one with the names.

    A single comment line with as many cells as the rows below is itself the header, and no comment. So is the last of
    several if tabs cut it, as in tables of BIOM: a sentence has none.
    """
    lines = [line for line in head.splitlines()[:MAX_LINES] if line.strip()]
    marked = list(itertools.takewhile(lambda line: line.startswith(SERIES_COMMENT), lines))
    if 1 < len(marked) < len(lines):
        return SERIES_COMMENT, None
    above = list(itertools.takewhile(lambda line: line.startswith("#"), lines))
    below = lines[len(above) :]
    if not above or not below:
        return None, None
    cut = separator or find_separator(path, "\n".join(below))
    *comments, first = ([cell.strip() for cell in next(read_cells(path, single_spaces(line, cut), cut))]
                        for line in (*(line.lstrip("# \t") or "#" for line in above), below[0]))  # fmt: skip
    if not any(is_number(cell.replace(",", ".")) for cell in first):
        return "#", None
    if len(above) == 1 and len(comments[0]) >= len(first):
        return None, None
    named = [place for place, cells in enumerate(comments) if len(cells) == len(first) and _may_be_names(cells, cut)]
    if named and cut == "\t" and named[-1] == len(above) - 1:
        return None, None
    return "#", named[0] if named else None


MIN_WORDS = 4
"""The fewest words of a comment that are the names of columns, as many as the rows have cells."""


def _may_be_names(cells: Sequence[str], separator: str) -> bool:
    """Return whether the cells of a comment may be names: all there, different, and no numbers."""
    alike = len(cells) > 1 and all(cells) and len(set(cells)) == len(cells) and not any(map(is_number, cells))
    return alike and (separator != " " or len(cells) >= MIN_WORDS)


# ---- what is wrong with the first lines -----------------------------------------------------------------------


def _check_is_text(path: Path, encoding: str | None) -> None:
    """Raise for files of other formats that are called text, by their first bytes."""
    with open_bytes(path) as file:
        head = file.read(SAMPLE_BYTES)
    kind = next((what for start, what in ARCHIVES.items() if head.startswith(start)), None)
    kind = "GCT" if re.match(rb"#1\.[23]\s+[0-9]+\t[0-9]+", head) and ".gct" not in path.suffixes else kind
    reject_libsvm(path, head)
    kind = "a web page" if re.match(rb"\s*<(!doctype html|html|table|\?xml)", head, re.IGNORECASE) else kind
    if kind is not None or (b"\x00" in head and file_encoding(path, encoding) == "utf-8"):
        written = head.rstrip(b"\x00")
        if kind is None and written.strip() and b"\x00" not in written and path.suffix not in COMPRESSED:
            copy = shlex.quote(str(path.with_name(f"{path.stem}-text{path.suffix}")))
            fix = f"copy it without them: tr -d '\\000' < {shlex.quote(str(path))} > {copy}"
            raise DataError(f"'{path}' has zero bytes below its text, as logs that were cut off have", fix=fix)
        if kind is None and (guess := detect_encoding(head)).startswith("utf-16"):
            what, settings = f"'{path}' is UTF-16 without its byte order mark", {"encoding": guess}
            raise DataError(what, fix="say so with {encoding}", settings=settings)
        fix = "give it the suffix of its format, or write it as CSV"
        if kind in SUFFIXES:
            fix = f"rename it: mv {shlex.quote(str(path))} {shlex.quote(f'{path}{SUFFIXES[kind]}')}"
        raise DataError(f"'{path}' is {kind or 'binary'}, not delimited text", fix=fix)


# ---- names ----------------------------------------------------------------------------------------------------

FIRST_COLUMN = "row"
"""The name of a first column for which the line of names has none."""


def header_levels(path: Path, dialect: Dialect) -> list[list[str]]:
    """Return the cells of the lines of names, or of the first row where there are none; each has one per column."""
    records = header_records(path, dialect) or [b""]
    try:
        levels = [
            pl.read_csv(record, has_header=False, separator=dialect.separator, infer_schema=False).row(0)
            for record in records
        ]
    except pl.exceptions.PolarsError as error:
        reject_undecodable(path, dialect.encoding)
        raise unreadable(path, error) from error
    # A name of several lines could not be typed.
    cells = [[re.sub(r"\s*[\r\n]\s*", " ", str(cell or "").strip()) for cell in level] for level in levels]
    if dialect.trailing:
        cells[0] = [*cells[0], ""] if dialect.trailing > 0 else cells[0][:-1]
    if len({len(level) for level in cells}) > 1:
        what = f"'{path}' has lines of names of different lengths"
        raise DataError(what, fix="say how many there are with {header_rows}", settings={"header_rows": 1})
    return [[FIRST_COLUMN, *cells[0]]] if dialect.row_names else cells


def column_names(dialect: Dialect, levels: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of the columns; one without a name is named by its position, one that repeats is numbered."""
    given = join_names(levels) if dialect.header else [""] * len(levels[0])
    return number_repeated([name or f"column_{place}" for place, name in enumerate(given, 1)])

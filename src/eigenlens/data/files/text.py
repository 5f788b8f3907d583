"""Rows of CSV and other delimited text, compressed or not, read one piece of a file at a time.

Pieces end where a record ends, and each is checked to have rows of one length. Polars parses them as numbers; where
it cannot, the cells are parsed one by one: surrounding spaces are ignored, true and false are 1 and 0, and text among
numbers is an error that counts it over the whole file. Columns of text only are categories for models that take
them, and an error for those that need numbers.
"""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.column_kinds import ColumnKind, Field, polars_number_kind
from eigenlens.data.files.base import Reader, as_array, join_columns, listed_columns, pl, same_columns, unreadable
from eigenlens.data.files.cell_formats import format_names, format_units, without_columns
from eigenlens.data.files.cell_formats.first_rows import FirstRows
from eigenlens.data.files.cells import (
    TextCells,
    as_exact_integers,
    fold_case,
    mask_missing,
    missing_numbers,
    narrow_pieces,
    parse_numbers,
    plain_cells,
    present_cells,
    text_error,
    without_numbers,
)
from eigenlens.data.files.decode import HEAD_BYTES, PIECE_BYTES, header_records, iterate_pieces
from eigenlens.data.files.dialect import Dialect, column_names, find_dialect, header_levels
from eigenlens.data.files.layout.blanks import Blanks, find_group_columns, given_group_columns, group_decision
from eigenlens.data.files.layout.header import (
    RepeatedNames,
    header_decisions,
    header_units,
    repeated_decision,
    repeated_names_decision,
)
from eigenlens.data.files.layout.widths import check_rows
from eigenlens.data.source import BLOCK_BYTES, column_block
from eigenlens.data.table import MixedRows, mixed_rows
from eigenlens.errors import DataError, warn_user

if TYPE_CHECKING:
    from polars import DataFrame, Expr, Series


class DelimitedReader(Reader):
    """Columns of delimited text files. How they are written is given, or found by the first lines of the first file.

    Whether a column holds numbers or text is decided by the first megabyte of each file, unless it is named in `text`.
    """

    dialect: Dialect
    options: ClassVar[frozenset[str]] = frozenset({
        "na", "text", "dates", "words", "separator", "header", "decimal", "thousands", "comment", "encoding", "skip",
        "footer", "header_rows", "fill_down", "max_ratio", "ignore_case",
    })  # fmt: skip

    def __init__(
        self,
        paths: tuple[Path, ...],
        *,
        text: Sequence[str] = (),
        dates: Sequence[str] = (),
        words: Mapping[str, str] | None = None,
        fill_down: Sequence[str] | None = None,
        ignore_case: Sequence[str] = (),
        block_rows: int | None = None,
        **written: Any,
    ) -> None:
        self.paths = paths
        na = written.get("na")
        # The end and the letters of one file say nothing about those of others.
        alone: dict[str, Any] = {} if len(paths) == 1 else {"footer": 0, "encoding": "utf-8"}
        self.dialect = find_dialect(paths[0], **alone | written | {"na": (na,) if isinstance(na, str) else na})
        levels = {path: header_levels(path, self.dialect) for path in paths}
        columns = {path: column_names(self.dialect, levels[path]) for path in paths}
        same_columns(paths, list(columns.values()))
        self._places = {path: {name: place for place, name in enumerate(names)} for path, names in columns.items()}
        self._block_rows = block_rows
        self._rows: dict[Path, int] = {}
        # No column is made of what follows the separator at the end of each row.
        names = columns[paths[0]][: -1 if self.dialect.trailing > 0 else None]
        self.row_names = names[0] if self.dialect.row_names else None
        as_text, as_dates = (listed_columns(value, o, names) or [] for o, value in (("text", text), ("dates", dates)))
        self._folded = frozenset(listed_columns(ignore_case, "ignore_case", names) or ())
        self._null_values = self.dialect.number_markers
        self._repeated = {
            path: RepeatedNames(header_records(path, self.dialect) if self.dialect.repeats else []) for path in paths
        }
        self._said: dict[Path, int] = {}  # lines that repeat the names, by the first rows
        self._groups = listed_columns(given_group_columns(fill_down), "fill_down", names)
        found = self._find_columns(names, FirstRows(self.dialect, as_text, as_dates, words or {}))
        self.fields = tuple(Field(name, kind) for name, kind in found.kinds.items())
        # `_worded` are columns of text that `with_categories` has made of numbers.
        self._formats, self._null_values, self._worded = found.formats, found.markers, frozenset[str]()
        self.levels, in_cells = levels[paths[0]], format_units(found.formats)
        self.units = header_units(self.levels, columns[paths[0]]) | in_cells
        about = [*self.dialect.decisions(written), *header_decisions(self.levels, columns[paths[0]], written)]
        about += repeated_names_decision(self.levels, names) if self.dialect.header else ()
        about += [repeated_decision(sum(self._said.values()))] if any(self._said.values()) else []
        about += [group_decision(self._groups)] if self._groups and fill_down is None else []
        self.decisions = (*about, *found.decisions())

    def count(self) -> int:
        """Return the number of rows, counted in a pass over the text unless an earlier pass has done so."""
        if len(self._rows) < len(self.paths):
            for _ in self._pieces():
                pass
        return sum(self._rows.values())

    def blocks(self) -> Iterator[Array]:
        """Yield float64 blocks, missing cells NaN; text is an error."""
        if self._of_kind(ColumnKind.TEXT, ColumnKind.MIXED):
            raise self._text_error()
        for part in self._cut(self._typed(path, piece) for path, piece in self._pieces()):
            columns = part if isinstance(part, np.ndarray) else (column.to_numpy() for column in part.iter_columns())
            yield columns if columns is part else column_block(columns, part.shape, np.float64)

    def tables(self) -> Iterator[MixedRows]:
        """Yield blocks with text as categories, and integers that floats would round; the rest as numbers."""
        coded = (ColumnKind.TEXT, ColumnKind.INTEGER)
        for part in self._cut(self.frames()):
            paired = zip(part.iter_columns(), self.fields, strict=True)
            yield mixed_rows([c if field.kind in coded else c.to_numpy() for c, field in paired], self.fields)

    def frames(self) -> Iterator[DataFrame]:
        """Yield the rows as frames: numbers and exact integers, text as it is written, null where a cell is missing."""
        if self._of_kind(ColumnKind.MIXED):
            raise self._text_error(as_text=True)
        return (self._typed(path, piece, as_text=True) for path, piece in self._pieces())

    def cells(self) -> Iterator[DataFrame]:
        """Yield the columns as text as it is written, null where missing; numbers without units and other signs."""
        numeric = [f.name for f in self.fields if f.kind not in (ColumnKind.TEXT, ColumnKind.MIXED)]
        plain = [pl.col(name) for name in numeric if name not in self._formats]
        masked = [present_cells(each, self.dialect.number_markers) for each in plain]
        masked += [self._in_dialect(self._plain(name)) for name in numeric if name in self._formats]
        for path, piece in self._pieces(HEAD_BYTES):  # such a pass may go on beside that over the features
            yield self._parse(path, piece, self.names, self.names).with_columns(masked)

    def _in_dialect(self, plain: Expr) -> Expr:
        """Return plain numbers with the decimal sign of the file, as other cells have."""
        return plain.str.replace(".", ",", literal=True) if self.dialect.numbers.decimal == "," else plain

    def column(self, name: Any) -> Array:
        """Return one whole column (n,): integers or floats where every entry is one, else text as it is written."""
        plain, written = self._column_forms(name)
        numbers: list[Any] = list(narrow_pieces(self._column_cells(name), plain))
        if numbers[-1] is not None:
            return join_columns(each.to_numpy() for each in numbers)
        return join_columns(as_array(cells.select(written).to_series()) for cells in self._column_cells(name))

    def column_frames(self, name: Any, block_rows: int) -> Iterator[DataFrame]:
        """Yield one column piece by piece; a pass before this finds the type that all entries have."""
        plain, written = self._column_forms(name)
        found = {None if each is None else each.dtype for each in narrow_pieces(self._column_cells(name), plain)}
        kind = pl.Float64 if len(found) > 1 else next(iter(found), None)
        for cells in self._column_cells(name):
            yield cells.select(written if None in found else plain.cast(kind))

    def _column_cells(self, name: Any) -> Iterator[DataFrame]:
        # Several such passes may go on beside that over the features, so they take little memory.
        return (self._parse(path, piece, [name], [name]) for path, piece in self._pieces(HEAD_BYTES))

    def _column_forms(self, name: Any) -> tuple[Any, Any]:
        """Return the expressions of the cells of a column that make numbers of them, and text as it is written."""
        found = self._formats.get(name)
        markers = self._text_markers(name) if name in self._of_kind(ColumnKind.TEXT) else self.dialect.number_markers
        plain = plain_cells(pl.all(), self.dialect, markers) if found is None or found.words else self._plain(name)
        return plain, self._mask_text(name, pl.all(), markers)

    def _mask_text(self, name: str, cells: Expr, markers: Sequence[str]) -> Expr:
        """Return the cells of a column of text, null where missing, in lower case where case does not matter."""
        written = mask_missing(cells, markers)
        return fold_case(written) if name in self._folded else written

    @property
    def words(self) -> dict[str, str]:
        """The names of the formats of columns whose words, or numbers in several parts, are read as numbers."""
        return format_names({name: self._formats[name] for name in self.names if name in self._formats})

    def with_categories(self) -> Self:
        """Return the same columns for a model that takes categories: words that were read as numbers are text."""
        words = {name for name, written in self._formats.items() if written.words}
        other = copy.copy(self)
        other._formats = {name: written for name, written in self._formats.items() if name not in words}
        other.fields = tuple(f._replace(kind=ColumnKind.TEXT) if f.name in words else f for f in self.fields)
        other._worded = self._worded | words
        other.decisions = without_columns(self.decisions, words)
        return other

    def _of_kind(self, *kinds: ColumnKind) -> list[str]:
        return [field.name for field in self.fields if field.kind in kinds]

    def _text_markers(self, name: str) -> tuple[str, ...]:
        """Return the missing-value markers of a column of text; words that can be numbers have those of numbers."""
        return self.dialect.number_markers if name in self._worded else self.dialect.text_markers

    def _plain_columns(self, names: Sequence[str]) -> list[Expr]:
        """Return the cells of columns as plain numbers in text, null where missing."""
        text = set(self._of_kind(ColumnKind.TEXT)) - self._worded
        words = [name for name in names if name in text]
        rest = [name for name in names if name not in self._formats and name not in text]
        parts = ((words, self.dialect.text_markers), (rest, self.dialect.number_markers))
        every = [plain_cells(pl.col(some), self.dialect, markers) for some, markers in parts if some]
        return [*every, *(self._plain(name) for name in names if name in self._formats)]

    def _plain(self, name: str) -> Expr:
        """Return the cells of one column as plain numbers in text, null where missing."""
        written = self._formats.get(name)
        if written is None:
            return plain_cells(pl.col(name), self.dialect, self.dialect.number_markers)
        plain = written.to_plain(present_cells(pl.col(name), self.dialect.number_markers))
        return (without_numbers(plain, self.dialect) if written.shows_number else plain).alias(name)

    # ---- pieces -----------------------------------------------------------------------------------------------

    def _pieces(self, size: int = PIECE_BYTES) -> Iterator[tuple[Path, bytes]]:
        """Yield the text of all files; the first pass over a file checks that its rows have one length."""
        for path in self.paths:
            row, repeated, first_pass = self.dialect.header, 0, path not in self._rows
            blanks = self._blanks(path)
            for piece in self._records(path, size):
                if first_pass:
                    row += check_rows(path, piece, self.dialect, len(self._places[path]), row)
                piece, lines = self._repeated[path].remove(piece)
                repeated += lines
                if piece:
                    yield path, blanks.fill(piece)
            if first_pass:
                self._rows[path] = row - self.dialect.header - repeated
            if first_pass and repeated > self._said[path]:
                warn_user(repeated_decision(repeated).warning)

    def _blanks(self, path: Path) -> Blanks:
        return Blanks([self._places[path][name] for name in self._groups or ()], self.dialect.separator)

    def _records(self, path: Path, size: int) -> Iterator[bytes]:
        # A blank line is a row of its own only where a row is one cell.
        return iterate_pieces(path, size, self.dialect, blanks=len(self._places[path]) == 1)

    def _cut(self, frames: Iterable[Any]) -> Iterator[Any]:
        step = self._block_rows or max(1, BLOCK_BYTES // (8 * len(self.fields)))
        for frame in frames:
            for start in range(0, len(frame), step):
                yield frame[start : start + step]

    def _parse(
        self, path: Path, piece: bytes, names: Sequence[str], text: Collection[str], integers: Collection[str] = ()
    ) -> DataFrame:
        """Return the named columns of a piece, some as text, some as integers, the others as floats; or raise."""
        places = self._places[path]
        kinds = dict.fromkeys(places, pl.Float64) | dict.fromkeys(text, pl.String) | dict.fromkeys(integers, pl.Int64)
        try:
            frame = pl.read_csv(piece, schema=kinds, columns=[places[name] for name in names], **self._how(text))
        except pl.exceptions.PolarsError as error:
            raise unreadable(path, error) from error
        return cast("DataFrame", frame[list(names)])

    def _how(self, text: Collection[str] = ()) -> dict[str, Any]:
        """Return the arguments of Polars; cells of text stay as they are written, and are masked later."""
        na, commas = None if text else list(self._null_values) or None, self.dialect.numbers.decimal == ","
        return {"has_header": False, "separator": self.dialect.separator, "null_values": na, "decimal_comma": commas}

    # ---- from text to numbers ---------------------------------------------------------------------------------

    def _typed(self, path: Path, piece: bytes, *, as_text: bool = False) -> DataFrame:
        """Return a piece as numbers and text; cells are parsed one by one where Polars cannot parse a number."""
        text = self._of_kind(ColumnKind.TEXT)
        integers = self._of_kind(ColumnKind.INTEGER) if as_text else []
        words = [f.name for f in self.fields if f.kind == ColumnKind.BOOLEAN or f.name in self._formats]
        frame = self._parse_numbers(path, piece, {*text, *words}, integers)
        if frame is None:
            frame = self._parse(path, piece, self.names, self.names)
            words = [name for name in self.names if name not in text]
        typed = frame.with_columns(self._words(frame, words, integers, as_text)) if words else frame
        return self._mask_missing(typed, text, [name for name in self.names if name not in (*text, *words)])

    def _words(
        self, frame: DataFrame, words: Sequence[str], integers: Sequence[str], as_text: bool
    ) -> Iterator[Series]:
        """Yield columns of text as numbers; cells that are not numbers are an error."""
        plain = frame.select(self._plain_columns(words))
        numbers = plain.select(parse_numbers(pl.all()))
        if any(plain[name].null_count() < numbers[name].null_count() for name in words):
            raise self._text_error(as_text=as_text)
        for name in words:
            yield as_exact_integers(plain[name], numbers[name]) if name in integers else numbers[name]

    def _parse_numbers(
        self, path: Path, piece: bytes, text: Collection[str], integers: Collection[str]
    ) -> DataFrame | None:
        """Return a piece parsed by Polars alone; None where numbers are not as Polars reads them."""
        numbers = self.dialect.numbers
        # Polars takes 3.14 for a number among decimal commas, where it may mean 314.
        if numbers.thousands or (numbers.decimal == "," and b"." in piece):
            return None
        parts = [name for name in self.names if name not in text], [name for name in self.names if name in text]
        try:
            frames = [self._parse(path, piece, names, {*names} & {*text}, integers) for names in parts if names]
        except DataError:
            if set(self._null_values) >= set(self.dialect.number_markers):
                return None
            # Markers below the first rows: from now on all of them are looked for, which takes longer.
            self._null_values = self.dialect.number_markers
            return self._parse_numbers(path, piece, text, integers)
        return pl.concat(frames, how="horizontal")[list(self.names)] if len(frames) > 1 else frames[0]

    def _mask_missing(self, frame: DataFrame, text: Sequence[str], numbers: Sequence[str]) -> DataFrame:
        """Return a frame with null for missing-value markers, in text and in numbers however these are written."""
        missing = missing_numbers(self.dialect)
        frame = frame.with_columns(self._mask_text(name, pl.col(name), self._text_markers(name)) for name in text)
        if numbers and missing:
            every = pl.col(numbers)
            frame = frame.with_columns(pl.when(~every.cast(pl.Float64).is_in(missing).fill_null(False)).then(every))
        return frame

    # ---- what the first rows show -----------------------------------------------------------------------------

    def _find_columns(self, names: Sequence[str], found: FirstRows) -> FirstRows:
        """Return what the first megabyte of each file shows about its columns."""
        for path in self.paths:
            pieces = self._records(path, HEAD_BYTES)
            for piece in itertools.islice(pieces, 1):
                rows = check_rows(path, piece, self.dialect, len(self._places[path]), self.dialect.header)
                piece, self._said[path] = self._repeated[path].remove(piece)
                kinds, complete = self._numeric_kinds(path, piece)
                if self._groups is None:
                    first = next((place for place, name in enumerate(names) if name in kinds), 0)
                    words = names[:first]
                    self._groups = find_group_columns(self._parse(path, piece, words, words)) if words else []
                piece = self._blanks(path).fill(piece)
                others = [name for name in names if name not in complete or name in found.dates]
                cells = self._parse(path, piece, others, others) if others else pl.DataFrame()
                found.add(kinds, cells, rows - self._said[path], any(pieces))
        if not found.rows:
            what = f"'{self.paths[0]}' has a line of names and no rows"
            raise DataError(what, fix="write it again, with at least one row")
        found.finish(names)
        return found

    def _numeric_kinds(self, path: Path, piece: bytes) -> tuple[dict[str, ColumnKind], set[str]]:
        """Return the kinds of columns in which Polars finds numbers only, and which of these have no missing value."""
        if self.dialect.numbers.decimal != ".":
            return {}, set()
        try:
            frame = pl.read_csv(piece, infer_schema_length=None, **self._how())
        except pl.exceptions.PolarsError:
            return {}, set()
        paired = list(zip(self._places[path], frame.iter_columns(), strict=True))
        kinds = {name: kind for name, column in paired if (kind := polars_number_kind(column))}
        return kinds, {name for name, column in paired if name in kinds and not column.null_count()}

    # ---- text among numbers -----------------------------------------------------------------------------------

    def _text_error(self, *, as_text: bool = False) -> DataError:
        """Return the error that says where the text is, found by a pass over all files.

        `as_text`: columns of text are accepted, and so would text among numbers be if the column were declared as text.
        """
        names = [f.name for f in self.fields if not (as_text and f.kind == ColumnKind.TEXT)]
        found: dict[str, TextCells] = {}
        rows: Counter[Path] = Counter()
        for path, piece in self._pieces():
            frame = self._parse(path, piece, names, names)
            plain = frame.select(self._plain_columns(names))
            numbers = plain.select(parse_numbers(pl.all()))
            for name in names:
                places = (plain[name].is_not_null() & numbers[name].is_null()).arg_true()
                if len(places):
                    texts = frame[name].gather(places).to_list()
                    where = f"row {rows[path] + int(places[0]) + 1}" + f" of {path.name}" * (len(self.paths) > 1)
                    found.setdefault(name, TextCells(where, texts[0])).add(texts)
            rows[path] += len(frame)
        names = [name for name in names if name in found]
        first, commas = found[names[0]], self.dialect.numbers.decimal == ","
        texts = {name: found[name].markers(rows.total()) for name in names}
        # Columns that are not text as a whole lose a few cells, rather than all of them.
        new = dict.fromkeys(text for each in texts.values() for text in each)
        na = self.dialect.na
        given = [""] if na == () else [] if na is None else na
        rest = [name for name in names if not texts[name]]
        return text_error(names, first, [*given, *new] if new else [], rest=rest, as_text=as_text, commas=commas)

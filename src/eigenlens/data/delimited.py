"""Rows of CSV and other delimited text, a piece of the file at a time, compressed or not.

Pieces end where a record ends. Polars parses each as numbers; where it cannot, the cells are looked at one by
one: spaces are forgiven, true and false are 1 and 0, and text is an error that counts it over the whole file.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.columns import Selection
from eigenlens.data.records import HEAD_BYTES, PIECE_BYTES, first_record, records
from eigenlens.data.source import BLOCK_BYTES
from eigenlens.data.tables import as_array, fill, import_polars, same_columns, text_error, unreadable
from eigenlens.errors import DataError, OptionError

if TYPE_CHECKING:
    from polars import DataFrame, Expr, Series

__all__ = ["DelimitedReader"]

SEPARATORS = ",\t;|"


class Dialect(NamedTuple):
    """How the text is cut into cells, whether its first line holds names, and which cells mean missing."""

    separator: str
    header: bool
    na: tuple[str, ...]


class DelimitedReader:
    """Blocks of the numeric columns of delimited text files.

    A first line of names is expected. `header=False` says that there is none (columns are then column_1, …),
    `header=True` that a first line of numbers is names all the same.
    """

    def __init__(
        self,
        paths: tuple[Path, ...],
        selection: Selection,
        *,
        separator: str | None = None,
        header: bool | None = None,
        na: Sequence[str] = (),
        block_rows: int | None = None,
    ) -> None:
        na = (na,) if isinstance(na, str) else tuple(na)
        self.paths = paths
        self.dialect = Dialect(separator or _separator(paths[0]), header is not False, na)
        columns = [_columns(path, self.dialect) for path in paths]
        same_columns(paths, columns)
        if header is None:
            _refuse_numbers(paths[0], columns[0])
        self._places = {name: f"column_{place}" for place, name in enumerate(columns[0], 1)}
        self.names: tuple[str, ...] = selection.features(columns[0])
        self.n_features = len(self.names)
        self.dtype = np.dtype(np.float64)
        self._block = block_rows or max(1, BLOCK_BYTES // (8 * self.n_features))
        self._flags = self._look_at_heads()

    def count(self) -> int:
        """The number of rows, by a pass over the text."""
        return sum(self._length(path, piece) for path, piece in self._pieces())

    def blocks(self) -> Iterator[Array]:
        """One pass over the features: Fortran-ordered float64 blocks, empty cells NaN."""
        for path, piece in self._pieces():
            frame = self._numbers(path, piece)
            for start in range(0, len(frame), self._block):
                part = frame[start : start + self._block]
                block = np.empty(part.shape, order="F")
                fill([block], part)
                yield block

    def column(self, name: str) -> Array:
        """One whole column (n,): integers or floats where every entry is one, else text."""
        pl = import_polars()
        parts = [self._parse(path, piece, [name], text=[name]) for path, piece in self._pieces()]
        return as_array(_plainest(pl.concat(parts).to_series()))

    def _length(self, path: Path, piece: bytes) -> int:
        if len(self._places) > 1 and b'"' not in piece:  # then a line is a row, and counting them is quick
            return piece.count(b"\n") + (not piece.endswith(b"\n"))
        first = [next(iter(self._places))]
        return len(self._parse(path, piece, first, text=first))

    def _pieces(self) -> Iterator[tuple[Path, bytes]]:
        for path in self.paths:
            for piece in self._records(path):
                yield path, piece

    def _records(self, path: Path, size: int | None = None) -> Iterator[bytes]:
        # A blank line is a row of its own only where a row is one cell.
        return records(path, size or PIECE_BYTES, skip=self.dialect.header, blanks=len(self._places) == 1)

    def _parse(self, path: Path, piece: bytes, names: Sequence[str], text: Collection[str]) -> DataFrame:
        """The named columns of a piece, some as text and some as numbers; ValueError where these are none."""
        pl = import_polars()
        places = [self._places[name] for name in names]
        kinds = {self._places[name]: pl.String if name in text else pl.Float64 for name in self._places}
        how = {
            "has_header": False,
            "separator": self.dialect.separator,
            "null_values": list(self.dialect.na) or None,
        }
        try:
            frame = pl.read_csv(piece, schema=kinds, columns=places, **how)
        except pl.exceptions.PolarsError as error:
            raise unreadable(path, error) from error
        chosen: DataFrame = frame.select(pl.col(place).alias(name) for place, name in zip(places, names, strict=True))
        return chosen

    def _numbers(self, path: Path, piece: bytes) -> DataFrame:
        """The features of a piece; cell by cell where Polars found something that is no number."""
        text: Collection[str] = self._flags
        try:
            frame = self._parse(path, piece, self.names, text)
        except DataError:
            text = self.names
            frame = self._parse(path, piece, self.names, text)
        numbers = frame.with_columns(_number(name) for name in text) if text else frame
        if any(len(_text_places(frame[name], numbers[name], self.dialect.na)) for name in text):
            raise self._text_error()
        return numbers

    def _look_at_heads(self) -> frozenset[str]:
        """The columns that hold true and false; an error where the first megabyte of a file has text."""
        flags: set[str] = set()
        heads = [(path, piece) for path in self.paths for piece in itertools.islice(self._records(path, HEAD_BYTES), 1)]
        if not heads:
            raise DataError(f"'{self.paths[0]}' has a line of names and no rows; at least 1 row is needed.")
        for path, piece in heads:
            frame = self._parse(path, piece, self.names, self.names)
            numbers = frame.select(_number(name) for name in self.names)
            if any(len(_text_places(frame[name], numbers[name], self.dialect.na)) for name in self.names):
                raise self._text_error()
            flags |= {name for name in self.names if frame[name].str.contains("(?i)true|false").any()}
        return frozenset(flags)

    def _text_error(self) -> DataError:
        """Where the text is, by a pass over everything."""
        found: dict[str, Found] = {}
        rows: Counter[Path] = Counter()
        for path, piece in self._pieces():
            frame = self._parse(path, piece, self.names, self.names)
            numbers = frame.select(_number(name) for name in self.names)
            for name in self.names:
                places = _text_places(frame[name], numbers[name], self.dialect.na)
                if len(places):
                    new = Found(path, rows[path] + int(places[0]) + 1, str(frame[name][int(places[0])]))
                    found.setdefault(name, new).add(frame[name].gather(places))
            rows[path] += len(frame)
        names = [name for name in self.names if name in found]
        first = found[names[0]]
        where = f"row {first.row}" + (f" of {first.path.name}" if len(self.paths) > 1 else "")
        return text_error(names, first.count, where, first.value, first.perhaps_missing(rows.total()))


@dataclass
class Found:
    """The text met in one column: its first place and value, how often, and a few different values."""

    path: Path
    row: int
    value: str
    count: int = 0
    values: set[str] = field(default_factory=set)

    def add(self, texts: Series) -> None:
        """Take in the texts of one more piece."""
        self.count += len(texts)
        if len(self.values) <= 3:
            self.values |= set(texts.str.strip_chars().unique().head(4).to_list())

    def perhaps_missing(self, rows: int) -> list[str]:
        """The texts that may stand for missing numbers: a handful, and not in every row."""
        return sorted(self.values) if len(self.values) <= 3 and self.count < rows else []


def _number(name: str) -> Expr:
    """A text column as numbers: spaces are forgiven, true and false are 1 and 0, the rest is null."""
    pl = import_polars()
    cell = pl.col(name).str.strip_chars()
    word = cell.str.to_lowercase()
    flag = pl.when(word == "true").then(1.0).when(word == "false").then(0.0)
    number: Expr = flag.otherwise(cell.cast(pl.Float64, strict=False)).alias(name)
    return number


def _text_places(cells: Series, numbers: Series, na: Sequence[str]) -> Series:
    """The places (0-based) where a cell holds something, and it is neither a number nor missing."""
    bare = cells.str.strip_chars()
    return (numbers.is_null() & cells.is_not_null() & ~bare.is_in(["", *na])).arg_true()


def _plainest(text: Series) -> Series:
    """Text as integers, or else floats, where every entry is one; 007 is a name, not a number."""
    pl = import_polars()
    integers = text.cast(pl.Int64, strict=False)
    if (integers.cast(pl.String) == text).all() and integers.null_count() == text.null_count():
        return integers
    floats = text.cast(pl.Float64, strict=False)
    if floats.null_count() == text.null_count() and not text.str.contains(r"^[+-]?0\d").any():
        return floats
    return text


def _separator(path: Path) -> str:
    """A tab in .tsv; elsewhere the separator that the first line has most of, a comma before all others."""
    if ".tsv" in [suffix.lower() for suffix in path.suffixes]:
        return "\t"
    line = first_record(path).decode("utf-8", errors="replace")
    return max(SEPARATORS, key=line.count)


def _columns(path: Path, dialect: Dialect) -> list[str]:
    """The column names, by the first record; an unnamed column is called by its place."""
    pl = import_polars()
    record = first_record(path)
    try:
        cells = pl.read_csv(record, has_header=False, separator=dialect.separator, infer_schema=False).row(0)
    except pl.exceptions.PolarsError as error:
        raise unreadable(path, error) from error
    given = [str(cell or "").strip() if dialect.header else "" for cell in cells]
    names = [name or f"column_{place}" for place, name in enumerate(given, 1)]
    for name, times in Counter(names).items():
        if times > 1:
            raise DataError(f"'{path}' has {times} columns named {name!r}: rename them, so that each has its own name.")
    return names


def _refuse_numbers(path: Path, names: Sequence[str]) -> None:
    """A first line of numbers is hardly a line of names; taking it for one would lose a row in silence."""
    try:
        [float(name) for name in names]
    except ValueError:
        return
    raise OptionError(
        f"the first line of '{path}' holds numbers ({names[0]}, …): pass header=False if it is a row, "
        "header=True if these are names."
    )

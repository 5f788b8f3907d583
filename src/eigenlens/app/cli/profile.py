"""What the columns of files hold, by one pass over blocks: types, missing entries, ranges, a few values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eigenlens.app.cli.columns import kind_of, text_names
from eigenlens.app.cli.errors import refuse
from eigenlens.app.cli.sniffing import Text
from eigenlens.app.cli.words import counted
from eigenlens.data.frames import import_polars, same_columns, unreadable
from eigenlens.data.records import PIECE_BYTES, records
from eigenlens.data.source import BLOCK_BYTES

__all__ = ["Profile", "profile"]

MOST_VALUES = 10_000
"""So many different texts of a column are told apart; fewer where there are hundreds of columns."""

ALL_VALUES = 1_000_000

FEW = 3
"""A column of numbers with at most so many different texts has marks for what is missing, rather than text."""


@dataclass
class Profile:
    """A column, as far as it has been read.

    Attributes:
        rows, missing: entries, and those that are missing. numbers: entries that are numbers.
        flags, integers: whether all entries so far are true or false, or whole numbers.
        least, greatest, total: of the numbers. values: different texts, at most `most` and one.
        kind: what the file says the column holds; None for text, where the entries say it.
        marks: different texts that are no numbers, a few.
    """

    name: Any
    kind: str | None = None
    most: int = MOST_VALUES
    rows: int = 0
    missing: int = 0
    numbers: int = 0
    flags: bool = True
    integers: bool = True
    least: float = float("inf")
    greatest: float = float("-inf")
    total: float = 0.0
    values: dict[str, None] = field(default_factory=dict)
    marks: dict[str, None] = field(default_factory=dict)

    @property
    def type(self) -> str:
        """float, integer, boolean, text or other."""
        if self.kind is not None:
            return self.kind
        seen = self.rows - self.missing
        if seen and self.flags:
            return "boolean"
        if self.numbers < seen:
            return "text"
        return "integer" if seen and self.integers else "float"

    @property
    def perhaps_missing(self) -> list[str]:
        """Texts among numbers that may mean missing, such as n/a."""
        few = 0 < len(self.marks) <= FEW and 2 * self.numbers > self.rows - self.missing
        return list(self.marks) if self.type == "text" and few else []

    @property
    def facts(self) -> dict[str, Any]:
        """The column in words and numbers."""
        measured = self.type in ("float", "integer", "boolean") and self.numbers > 0
        span = (self.least, self.total / self.numbers, self.greatest) if measured else (None, None, None)
        return {"name": self.name, "type": self.type, "missing": self.missing, "note": self._note(measured)} | dict(
            zip(("least", "mean", "greatest"), span, strict=True)
        )

    def _note(self, measured: bool) -> str:
        if self.rows == self.missing:
            return "empty"
        if measured:
            return "constant" if self.least == self.greatest else ""
        if self.perhaps_missing:
            listed = ", ".join(map(repr, self.perhaps_missing))
            return f"numbers but for {listed} in {counted(self.rows - self.missing - self.numbers, 'row')}"
        count = f"{len(self.values):,}" if len(self.values) <= self.most else f"over {self.most:,}"
        return f"{count} different, e.g. {next(iter(self.values))[:24]!r}" if self.values else ""


def profile(paths: Sequence[Path], text: Text | None) -> tuple[list[Profile], int]:
    """The columns of the files of one table, and the number of rows; memory O(block)."""
    found: list[Profile] = []
    for frame in _blocks(paths, text):
        if not found:
            most = min(MOST_VALUES, max(100, ALL_VALUES // len(frame.columns)))
            found = [Profile(name, None if text else kind_of(frame[name].dtype), most) for name in frame.columns]
        for column, cells in zip(found, frame.iter_columns(), strict=True):
            _look(column, cells, text)
    if not found:
        refuse(f"'{paths[0]}' has no rows", "write it again, with at least one row", "data")
    return found, found[0].rows


def _look(column: Profile, cells: Any, text: Text | None) -> None:
    if text is not None:
        _look_at_text(column, cells, text)
    elif column.kind in ("float", "integer", "boolean"):
        column.rows += len(cells)
        _add_numbers(column, cells.cast(import_polars().Float64))
        column.missing = column.rows - column.numbers
    else:
        column.rows, column.missing = column.rows + len(cells), column.missing + cells.null_count()
        _remember(cells.drop_nulls(), column.values, column.most)


def _look_at_text(column: Profile, cells: Any, text: Text) -> None:
    pl = import_polars()
    bare = cells.str.strip_chars()
    seen = bare.filter(bare.is_not_null() & ~bare.is_in(["", *text.na]))
    plain = seen.str.replace_all(",", ".", literal=True) if text.decimal == "," else seen
    numbers = plain.cast(pl.Float64, strict=False)
    nan = numbers.is_nan().fill_null(False)
    column.rows += len(cells)
    column.missing += len(cells) - len(seen) + int(nan.sum())
    column.integers &= bool(plain.str.contains(r"^[+-]?\d+$").all())
    column.flags &= bool(plain.str.contains("^(?i)(true|false)$").all())
    if column.flags and len(seen):
        numbers = (plain.str.to_lowercase() == "true").cast(pl.Float64)
    _add_numbers(column, numbers)
    _remember(seen.filter(numbers.is_null()), column.marks, FEW)
    _remember(seen, column.values, column.most)


def _remember(cells: Any, into: dict[str, None], most: int) -> None:
    """Keep different values as text, in the order in which they come, up to one more than `most`."""
    if len(into) <= most and len(cells):
        for value in _different(cells):
            into.setdefault(str(value), None)
            if len(into) > most:
                return


def _different(cells: Any) -> list[Any]:
    """Different values in order, of lists and the like all of them: Polars cannot tell all kinds apart."""
    return list(cells.to_list() if cells.dtype.is_nested() else cells.unique(maintain_order=True).to_list())


def _add_numbers(column: Profile, numbers: Any) -> None:
    seen = numbers.drop_nulls().drop_nans()
    if len(seen):
        column.least, column.greatest = min(column.least, seen.min()), max(column.greatest, seen.max())
        column.numbers, column.total = column.numbers + len(seen), column.total + float(seen.sum())


# ---- blocks ---------------------------------------------------------------------------------------------------


def _blocks(paths: Sequence[Path], text: Text | None) -> Iterator[Any]:
    return _text_blocks(paths, text) if text is not None else _table_blocks(paths)


def _text_blocks(paths: Sequence[Path], text: Text) -> Iterator[Any]:
    pl = import_polars()
    names = [text_names(path, text) for path in paths]
    same_columns(paths, names, ordered=False)
    for path, own in zip(paths, names, strict=True):
        for piece in records(path, PIECE_BYTES, skip=text.header, blanks=len(names[0]) == 1):
            places = {f"column_{place}": pl.String for place in range(1, len(names[0]) + 1)}
            try:
                frame = pl.read_csv(piece, has_header=False, separator=text.separator, schema=places)
            except pl.exceptions.PolarsError as error:
                raise unreadable(path, error) from error
            yield frame.rename(dict(zip(places, own, strict=True))).select(names[0])


def _table_blocks(paths: Sequence[Path]) -> Iterator[Any]:
    pl = import_polars()
    try:
        tables = [_scan(path) for path in paths]
        schemas = [list(table.collect_schema().names()) for table in tables]
        same_columns(paths, schemas, ordered=False)
        step = max(1, BLOCK_BYTES // (8 * max(1, len(schemas[0]))))
        for table in tables:
            n = int(table.select(pl.len()).collect().item())
            for start in range(0, n, step):
                yield table.select(schemas[0]).slice(start, step).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable(paths[0], error) from error


def _scan(path: Path) -> Any:
    pl = import_polars()
    return (pl.scan_parquet if path.suffix.lower() in (".parquet", ".pq") else pl.scan_ipc)(path, glob=False)

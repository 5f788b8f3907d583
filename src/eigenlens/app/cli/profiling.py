"""What the columns of files hold, by one pass over blocks; all columns of a block are looked at together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eigenlens.app.cli.columns import kind_of, plain_cells, text_names
from eigenlens.app.cli.errors import refuse
from eigenlens.app.cli.profile import MOST_VALUES, Numbers, Profile
from eigenlens.app.cli.sniffing import Text
from eigenlens.data.frames import import_polars, same_columns, unreadable
from eigenlens.data.records import PIECE_BYTES, records
from eigenlens.data.source import BLOCK_BYTES

__all__ = ["profile"]

ALL_VALUES = 1_000_000
"""So many different texts of all columns are told apart."""

INTEGER = r"^[+-]?\d+$"
FLAG = "^(?i)(true|false)$"


def profile(paths: Sequence[Path], text: Text | None) -> tuple[list[Profile], int]:
    """The columns of the files of one table, and the number of rows; memory O(block)."""
    found: list[Profile] = []
    for frame in _blocks(paths, text):
        if not found:
            most = min(MOST_VALUES, max(100, ALL_VALUES // len(frame.columns)))
            found = [Profile(name, None if text else kind_of(frame[name].dtype), most) for name in frame.columns]
        if text is None:
            _look_at_values(found, frame)
        else:
            _look_at_text(found, frame, text)
    if not found:
        refuse(f"'{paths[0]}' has no rows", "write it again, with at least one row", "data")
    return found, found[0].rows


def _look_at_text(found: list[Profile], frame: Any, text: Text) -> None:
    pl = import_polars()
    every = pl.all()
    raw = frame.select(plain_cells(every, replace(text, decimal=".")))
    cells = frame.select(plain_cells(every, text)) if text.decimal == "," else raw
    words = every.str.to_lowercase().str.replace("^true$", "1").str.replace("^false$", "0")
    numbers = cells.select(words.cast(pl.Float64, strict=False))
    integers, flags, nans = (
        frame.select(test.sum()).row(0)
        for frame, test in ((cells, every.str.contains(INTEGER)), (cells, every.str.contains(FLAG)),
                            (numbers, every.is_nan()))
    )  # fmt: skip
    values = raw.select(every.drop_nulls().unique(maintain_order=True).head(found[0].most + 1).implode()).row(0)
    held, known = raw.select(every.count()).row(0), _numbers(numbers)
    for j, column in enumerate(found):
        column.add(len(frame), held[j] - nans[j], known[j])
        column.integers &= integers[j] == held[j]
        column.flags &= flags[j] == held[j]
        column.remember(values[j])
        if known[j].n + nans[j] < held[j]:
            odd = raw.to_series(j).filter(numbers.to_series(j).is_null()).drop_nulls()
            column.mark(odd.unique(maintain_order=True).head(10))


def _look_at_values(found: list[Profile], frame: Any) -> None:
    pl = import_polars()
    measured = [column for column in found if column.kind in ("float", "integer", "boolean")]
    if measured:
        known = _numbers(frame.select(pl.col([column.name for column in measured]).cast(pl.Float64)))
        for column, numbers in zip(measured, known, strict=True):
            column.add(len(frame), numbers.n, numbers)
    for column in found:
        if column.kind not in ("float", "integer", "boolean"):
            cells = frame[column.name]
            column.add(len(cells), len(cells) - cells.null_count(), Numbers(0, 0, 0.0, 0.0, 0.0))
            column.remember(_different(cells.drop_nulls()))


def _numbers(frame: Any) -> list[Numbers]:
    """What is known of columns of floats; NaN is none."""
    pl = import_polars()
    every = pl.all()
    plain = frame.select(every.fill_nan(None))
    asked = (every.count(), every.is_infinite().sum(), every.min(), every.max(), every.sum())
    return [Numbers(*each) for each in zip(*(plain.select(what).row(0) for what in asked), strict=True)]


def _different(cells: Any) -> list[Any]:
    """Different values in order, of lists and the like all of them: Polars cannot tell all kinds apart."""
    return list(cells.to_list() if cells.dtype.is_nested() else cells.unique(maintain_order=True).to_list())


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

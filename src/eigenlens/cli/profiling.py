"""What the columns of files hold, by one pass over blocks; all columns of a block are looked at together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from eigenlens.cli.columns import FLAG, INTEGER, kind_of, plain_cells, scan_table
from eigenlens.cli.errors import fail
from eigenlens.cli.profile import MOST_VALUES, Numbers, Profile
from eigenlens.cli.sniffing import Text
from eigenlens.cli.text_blocks import text_blocks
from eigenlens.data.files.polars import import_polars, same_columns, unreadable
from eigenlens.data.source import BLOCK_BYTES

__all__ = ["profile"]

ALL_VALUES = 1_000_000
"""So many different texts of all columns are told apart."""

PADDED = "^[+-]?0[0-9]+$"


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
        fail(f"'{paths[0]}' has no rows", "write it again, with at least one row", "data")
    return found, found[0].rows


def _look_at_text(found: list[Profile], frame: Any, text: Text) -> None:
    pl = import_polars()
    every = pl.all()
    cells = frame.select(plain_cells(every, text))
    raw = frame.select(pl.when(plain_cells(every, text).is_not_null()).then(every.str.strip_chars()))
    words = every.str.to_lowercase().str.replace("^true$", "1").str.replace("^false$", "0")
    numbers = cells.select(words.cast(pl.Float64, strict=False))
    integers, flags, padded, nans = (
        frame.select(test.sum()).row(0)
        for frame, test in ((cells, every.str.contains(INTEGER)), (cells, every.str.contains(FLAG)),
                            (cells, every.str.contains(PADDED)), (numbers, every.is_nan()))
    )  # fmt: skip
    values = raw.select(every.drop_nulls().unique(maintain_order=True).head(found[0].most + 1).implode()).row(0)
    held, known = raw.select(every.count()).row(0), _numbers(numbers)
    for j, column in enumerate(found):
        column.add(len(frame), held[j] - nans[j], known[j])
        column.integers &= integers[j] == held[j]
        column.flags &= flags[j] == held[j]
        column.padded += padded[j] or 0
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
    return text_blocks(paths, text) if text is not None else _table_blocks(paths)


def _refuse_other_kinds(paths: Sequence[Path], types: list[Any]) -> None:
    """Refuse files where a column is of numbers in one and of something else in another."""
    for path, own in zip(paths, types, strict=True):
        for name, dtype in types[0].items():
            here, first = kind_of(own[name]), kind_of(dtype)
            if here != first and not {here, first} <= {"float", "integer", "boolean"}:
                what = f"column '{name}' holds {own[name]} in '{path}' and {dtype} in '{paths[0]}'"
                fail(what, "write it as one kind in all files, or describe them apart", "data")


def _table_blocks(paths: Sequence[Path]) -> Iterator[Any]:
    pl = import_polars()
    try:
        tables = [scan_table(path) for path in paths]
        types = [table.collect_schema() for table in tables]
        schemas = [list(each.names()) for each in types]
        same_columns(paths, schemas, ordered=False)
        _refuse_other_kinds(paths, types)
        step = max(1, BLOCK_BYTES // (8 * max(1, len(schemas[0]))))
        for table in tables:
            n = int(table.select(pl.len()).collect().item())
            for start in range(0, n, step):
                yield table.select(schemas[0]).slice(start, step).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable(paths[0], error) from error

"""`eigenlens impute`: missing values filled in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any

import typer

from eigenlens.cli.column_profile import PADDED
from eigenlens.cli.commands.apply import apply_model, free_column
from eigenlens.cli.commands.table_parts import is_in_memory, read_frame
from eigenlens.cli.options import DataFiles, ModelFile, Output, ReadingOptions, RunningOptions, takes
from eigenlens.data.column_kinds import ColumnKind
from eigenlens.data.files.base import Selection, pl
from eigenlens.data.files.file_parts import in_small_blocks
from eigenlens.tables.names import feature_names


@takes(reading=ReadingOptions, running=RunningOptions)
def impute(
    model: ModelFile,
    files: DataFiles,
    reading: ReadingOptions,
    running: RunningOptions,
    std: Annotated[
        bool,
        typer.Option(
            "--std", metavar="", help="Add a column NAME_std per column: the standard deviations of imputed values."
        ),
    ] = False,
    output: Output = None,
) -> None:
    """Fill in missing values by their means given the rest of the row; categories, by the most likely one.

    All columns of the file are written in their order, with what they hold; only missing entries of the columns of the
    model change.

    With --std, also their standard deviations: of a Gaussian model, the true value lies within 1.96 of them with
    probability 0.95. Categories and counts have none.
    """

    filler = ColumnFiller(output.lower().endswith((".csv", ".tsv")) if output else not running.json)

    def rows(found: Any, table: Any) -> dict[str, Any]:
        names = feature_names(found, table.d)
        X, deviations = found.impute(table.source, return_std=True) if std else (found.impute(table.source), None)
        imputed = X.T if hasattr(X, "T") else [X[name].to_numpy() for name in X.columns]
        columns = dict(zip(map(str, table.roles.features), imputed, strict=True))
        array = output is not None and output.lower().endswith(".npy")  # which holds numbers only
        filled = columns if array else filler.fill(table, columns)
        added = () if deviations is None else zip(names, deviations.T, strict=True)
        return filled | {free_column(f"{name}_std", filled): column for name, column in added}

    apply_model(model, files, reading, running, output, ("impute", "impute"), rows, named=False)


class ColumnFiller:
    """Fills missing entries of some columns of files, and leaves all others as they are.

    `as_text`: numbers are written again as the text has them; otherwise columns have the types of their entries. A
    column has one type in all parts of a table, so files that are not in memory are looked through first.
    """

    def __init__(self, as_text: bool) -> None:
        self._as_text = as_text
        self._typed: Any = None  # the columns of text that hold numbers, as a source; False without any
        self._incomplete: set[str] | None = None  # the columns with missing entries

    def fill(self, table: Any, imputed: Mapping[str, Any]) -> dict[str, Any]:
        """Return all columns of the files of a table, or of a part of it, missing entries of some replaced."""
        files, written = table.files, table.files.dialect is not None
        whole = read_frame(table, files, written)
        if self._typed is None:
            self._typed = self._typed_columns(files, imputed, [whole] if is_in_memory(table) else files.cells())
        if self._typed:
            whole = whole.with_columns(read_frame(table, self._typed).iter_columns())
        if self._incomplete is None:
            small = [in_small_blocks(each, table.d) for each in (files, self._typed or None) if each is not None]
            streams = [small[0].cells() if written else small[0].frames(), *(each.frames() for each in small[1:])]
            self._incomplete = _incomplete_columns([[whole]] if is_in_memory(table) else streams)
        return {
            column.name: _fill_column(column, imputed[column.name])
            if column.name in imputed and column.name in self._incomplete
            else column
            for column in whole.iter_columns()
        }

    def _typed_columns(self, files: Any, imputed: Collection[str], frames: Iterable[Any]) -> Any:
        """Return the columns of text that hold numbers; codes with leading zeros stay text."""
        if files.dialect is None or (self._as_text and files.dialect.numbers.is_plain):
            return False
        padded = {each.name for frame in frames for each in frame.iter_columns() if _is_padded(each)}
        numbers = [field.name for field in files.fields if field.kind not in (ColumnKind.TEXT, ColumnKind.MIXED)]
        typed = [name for name in numbers if name in imputed or name not in padded]
        return files.select(Selection(columns=typed)) if typed else False


def _incomplete_columns(streams: Iterable[Iterable[Any]]) -> set[str]:
    """Return the names of columns with missing entries; of those that several streams have, by the last."""
    found = dict[str, bool]()
    for stream in streams:
        here = dict[str, bool]()
        for frame in stream:
            here |= {each.name: here.get(each.name, False) or _missing(each).any() for each in frame.iter_columns()}
        found |= here
    return {name for name, incomplete in found.items() if incomplete}


def _is_padded(column: Any) -> bool:
    return bool(column.dtype == pl.String and column.str.contains(PADDED).any())


def _missing(column: Any) -> Any:
    """Return which entries of a column are missing."""
    missing = column.is_null()
    if column.dtype == pl.String:
        missing |= column.str.strip_chars().str.to_lowercase().is_in(NAN).fill_null(False)
    elif column.dtype.is_float():
        missing |= column.is_nan().fill_null(False)
    return missing


def _fill_column(column: Any, imputed: Any) -> Any:
    """Return a column with imputed values where entries are missing; others, and the type if it can hold them, stay."""
    missing = _missing(column)
    values = pl.Series(column.name, imputed.tolist() if imputed.dtype.kind in "OU" else imputed)
    if column.dtype == pl.String:
        values = values.cast(pl.String)
    elif not column.dtype.is_float():
        column = column.cast(values.dtype)
    return column.zip_with(~missing, values.cast(column.dtype))


NAN = ["nan", "+nan", "-nan"]
"""How text writes NaN, which is missing whatever the markers are."""

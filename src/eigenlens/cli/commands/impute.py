"""`eigenlens impute`: missing values filled in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any

import typer

from eigenlens.cli.column_profile import PADDED
from eigenlens.cli.commands.apply import apply_model, free_column
from eigenlens.cli.options import DataFiles, ModelFile, Output, ReadingOptions, RunningOptions, takes
from eigenlens.data.column_kinds import ColumnKind
from eigenlens.data.files.base import Selection, pl
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

    def rows(found: Any, table: Any) -> dict[str, Any]:
        names = feature_names(found, table.d)
        X, deviations = found.impute(table.source, return_std=True) if std else (found.impute(table.source), None)
        imputed = X.T if hasattr(X, "T") else [X[name].to_numpy() for name in X.columns]
        columns = dict(zip(map(str, table.roles.features), imputed, strict=True))
        as_text = output.lower().endswith((".csv", ".tsv")) if output else not running.json
        array = output is not None and output.lower().endswith(".npy")  # which holds numbers only
        filled = columns if array else fill_columns(table.files, table.kept, columns, as_text)
        added = () if deviations is None else zip(names, deviations.T, strict=True)
        return filled | {free_column(f"{name}_std", filled): column for name, column in added}

    apply_model(model, files, reading, running, output, ("impute", "impute"), rows, named=False)


def fill_columns(files: Any, kept: Any, imputed: Mapping[str, Any], as_text: bool) -> dict[str, Any]:
    """Return all columns of files, missing entries of some replaced, of the rows (n,) that are kept (None: all).

    `as_text`: numbers are written again as the text has them; otherwise columns have the types of their entries.
    """
    dialect = files.dialect
    if dialect is None:
        whole = _join(files.frames(), kept)
    else:
        whole = _join(files.cells(), kept)
        as_text = as_text and dialect.numbers.is_plain
        whole = whole if as_text else whole.with_columns(_typed_columns(files, kept, whole, imputed))
    return {
        column.name: _fill_column(column, imputed[column.name]) if column.name in imputed else column
        for column in whole.iter_columns()
    }


def _join(frames: Iterable[Any], kept: Any) -> Any:
    whole = pl.concat(list(frames), how="vertical_relaxed")
    return whole if kept is None else whole.filter(kept)


def _typed_columns(files: Any, kept: Any, cells: Any, imputed: Collection[str]) -> list[Any]:
    """Return the columns of text that hold numbers as such; codes with leading zeros stay text."""
    numbers = [field.name for field in files.fields if field.kind not in (ColumnKind.TEXT, ColumnKind.MIXED)]
    plain = [name for name in numbers if name in imputed or not cells[name].str.contains(PADDED).any()]
    chosen = files.select(Selection(columns=plain)) if plain else None
    return [] if chosen is None else list(_join(chosen.frames(), kept).iter_columns())


def _fill_column(column: Any, imputed: Any) -> Any:
    """Return a column with imputed values where entries are missing; others, and the type if it can hold them, stay."""
    missing = column.is_null()
    if column.dtype == pl.String:
        missing |= column.str.strip_chars().str.to_lowercase().is_in(NAN).fill_null(False)
    elif column.dtype.is_float():
        missing |= column.is_nan().fill_null(False)
    if not missing.any():
        return column
    values = pl.Series(column.name, imputed.tolist() if imputed.dtype.kind in "OU" else imputed)
    if column.dtype == pl.String:
        values = values.cast(pl.String)
    elif not column.dtype.is_float():
        column = column.cast(values.dtype)
    return column.zip_with(~missing, values.cast(column.dtype))


NAN = ["nan", "+nan", "-nan"]
"""How text writes NaN, which is missing whatever the markers are."""

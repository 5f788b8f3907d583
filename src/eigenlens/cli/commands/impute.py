"""`eigenlens impute`: missing values filled in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from eigenlens.cli.commands.apply import apply_model
from eigenlens.cli.options import DataFiles, ModelFile, Output, ReadingOptions, RunningOptions, takes
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

    With --std, also their standard deviations: of a Gaussian model, the true value lies within 1.96 of them with
    probability 0.95. Categories and counts have none.
    """

    def rows(found: Any, table: Any) -> dict[str, Any]:
        names = feature_names(found, table.d)
        if not std:
            return _columns(found.impute(table.source), names)
        X, deviations = found.impute(table.source, return_std=True)
        filled = _columns(X, names)
        return filled | {f"{name}_std": column for name, column in zip(names, deviations.T, strict=True)}

    apply_model(model, files, reading, running, output, ("impute", "impute"), rows)


def _columns(rows: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the columns of imputed rows by name: of an array, or of a frame where columns may be text."""
    columns = rows.T if hasattr(rows, "T") else [rows[name].to_numpy() for name in rows.columns]
    return dict(zip(names, columns, strict=True))

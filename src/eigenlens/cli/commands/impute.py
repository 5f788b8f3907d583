"""`eigenlens impute`: missing values filled in."""

from __future__ import annotations

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
    """Fill in missing values by their means given the rest of the row.

    With --std, the true value lies within 1.96 standard deviations with probability 0.95.
    """

    def rows(found: Any, table: Any) -> dict[str, Any]:
        names = feature_names(found, table.d)
        if not std:
            return dict(zip(names, found.impute(table.source).T, strict=True))
        X, deviations = found.impute(table.source, return_std=True)
        filled = dict(zip(names, X.T, strict=True))
        return filled | {f"{name}_std": column for name, column in zip(names, deviations.T, strict=True)}

    apply_model(model, files, reading, running, output, ("impute", "impute"), rows)

"""`eigenlens transform`: the scores of rows."""

from __future__ import annotations

from typing import Any

from eigenlens import checks
from eigenlens.cli.commands.apply import apply_model
from eigenlens.cli.options import DataFiles, ModelFile, Output, ReadingOptions, RunningOptions, takes
from eigenlens.tables.names import axis_names


@takes(reading=ReadingOptions, running=RunningOptions)
def transform(
    model: ModelFile, files: DataFiles, reading: ReadingOptions, running: RunningOptions, output: Output = None
) -> None:
    """Compute the scores of rows: principal components, factors, discriminants.

    The columns of the model are taken from the table by their names; other columns do not matter. The columns of --id
    and --label, or else those that name and colour the rows by themselves, are copied beside the scores (not to .npy).
    """

    def scores(found: Any, table: Any) -> dict[str, Any]:
        checks.has_components(found)
        Z = found.transform(table.source)
        return dict(zip(axis_names(found, Z.shape[1]), Z.T, strict=True))

    apply_model(model, files, reading, running, output, ("transform", "transform rows"), scores)

"""`eigenlens predict`: the class of each row, or its component of a mixture."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from eigenlens.cli.commands.apply import apply_model
from eigenlens.cli.options import DataFiles, ModelFile, Output, ReadingOptions, RunningOptions, takes
from eigenlens.cli.table_checks import is_missing


@takes(reading=ReadingOptions, running=RunningOptions)
def predict(
    model: ModelFile,
    files: DataFiles,
    reading: ReadingOptions,
    running: RunningOptions,
    proba: Annotated[
        bool, typer.Option("--proba", metavar="", help="Add one column per class: its probability.")
    ] = False,
    output: Output = None,
) -> None:
    """Predict the class of each row, or its component of a mixture.

    With --proba also the probability of every class. If the file has the classes (the column that `fit` took, or
    --label), also the accuracy of a classifier and its confusion matrix. The columns that name and colour the rows are
    copied beside the result (not to .npy).
    """

    def classes(found: Any, table: Any) -> dict[str, Any]:
        columns = {"predicted": found.predict(table.source)}
        if proba:
            P = found.predict_proba(table.source)
            names = getattr(found, "classes_", range(P.shape[1]))
            columns |= {f"p({name})": p for name, p in zip(names, P.T, strict=True)}
        return columns

    apply_model(model, files, reading, running, output, ("predict", "predict classes"), classes, _confusion)


def _confusion(found: Any, table: Any, columns: dict[str, Any]) -> Any:
    """Return the confusion matrix of the rows whose class the table has."""
    label = table.classes
    if label is None or not hasattr(found, "classes_"):
        return None
    known = ~is_missing(label)
    if not known.any():
        return None
    weight = None if table.weight is None else table.weight[known]
    from eigenlens.bayes.tables import count_confusion
    from eigenlens.cli.advice.unknown_categories import warn_unknown_classes

    warn_unknown_classes(found, label[known], table.roles.labels[0])
    return count_confusion(found.classes_, label[known], columns["predicted"][known], weight)

"""Commands that apply a fitted model to rows: transform, denoise, impute, predict."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from eigenlens.app.cli.applying import apply, row_names
from eigenlens.app.cli.errors import refuse
from eigenlens.app.cli.options import DataFiles, ModelFile, Output, Reading, Running, takes

__all__ = ["denoise", "impute", "predict", "transform"]


@takes(reading=Reading, running=Running)
def transform(model: ModelFile, files: DataFiles, reading: Reading, running: Running, output: Output = None) -> None:
    """Scores of rows: principal components, factors, discriminants.

    The model's columns are taken from the table by their names; other columns do not matter. The columns of --id and
    --label are copied beside the scores.
    """

    def scores(found: Any, table: Any) -> dict[str, Any]:
        from eigenlens.app.cli.summaries import axis_names

        Z = found.transform(table.source)
        return dict(zip(axis_names(found, Z.shape[1]), Z.T, strict=True))

    apply(model, files, reading, running, output, ("transform", "transform rows"), scores)


@takes(reading=Reading, running=Running)
def denoise(
    model: ModelFile,
    files: DataFiles,
    reading: Reading,
    running: Running,
    components: Annotated[
        int | None, typer.Option("--components", "-k", metavar="K", help="kpca: use only the first K components.")
    ] = None,
    output: Output = None,
) -> None:
    """Rows as the model sees them: projected, and brought back.

    For pca, ppca and fa this is the reconstruction; for kpca the pre-image of the projection in feature space.
    """

    def rows(found: Any, table: Any) -> dict[str, Any]:
        X = _denoised(found, table.source, components)
        return dict(zip(row_names(found, X.shape[1]), X.T, strict=True))

    apply(model, files, reading, running, output, ("inverse_transform", "denoise rows"), rows)


def _denoised(found: Any, source: Any, k: int | None) -> Any:
    if hasattr(found, "denoise"):
        return found.denoise(source, n_components=k)
    if k is not None:
        refuse("-k is for kernel components here", "fit the model with fewer components, and denoise with that")
    return found.inverse_transform(found.transform(source))


@takes(reading=Reading, running=Running)
def impute(
    model: ModelFile,
    files: DataFiles,
    reading: Reading,
    running: Running,
    std: Annotated[
        bool,
        typer.Option(
            "--std", metavar="", help="Add a column NAME_std a column: standard deviations of what was filled in."
        ),
    ] = False,
    output: Output = None,
) -> None:
    """Fill missing entries with their means given the rest of the row.

    With --std, a value that was filled in lies within 1.96 standard deviations with probability 0.95.
    """

    def rows(found: Any, table: Any) -> dict[str, Any]:
        names = row_names(found, table.d)
        if not std:
            return dict(zip(names, found.impute(table.source).T, strict=True))
        X, deviations = found.impute(table.source, return_std=True)
        filled = dict(zip(names, X.T, strict=True))
        return filled | {f"{name}_std": column for name, column in zip(names, deviations.T, strict=True)}

    apply(model, files, reading, running, output, ("impute", "impute"), rows)


@takes(reading=Reading, running=Running)
def predict(
    model: ModelFile,
    files: DataFiles,
    reading: Reading,
    running: Running,
    proba: Annotated[bool, typer.Option("--proba", metavar="", help="Add a column a class: its probability.")] = False,
    output: Output = None,
) -> None:
    """The class of each row, or its component of a mixture.

    With --proba also the probability of every class. With --label a classifier's accuracy is said too, and which
    classes it takes for which.
    """

    def classes(found: Any, table: Any) -> dict[str, Any]:
        columns = {"predicted": found.predict(table.source)}
        if proba:
            P = found.predict_proba(table.source)
            names = getattr(found, "classes_", range(P.shape[1]))
            columns |= {f"p({name})": p for name, p in zip(names, P.T, strict=True)}
        return columns

    apply(model, files, reading, running, output, ("predict", "predict classes"), classes, _judged)


def _judged(found: Any, table: Any, columns: dict[str, Any]) -> Any:
    """What predictions are worth, by the rows whose class the table says."""
    from eigenlens.app.cli.judging import judge
    from eigenlens.app.cli.roles import gaps_of

    if table.label is None or not hasattr(found, "classes_"):
        return None
    known = ~gaps_of(table.label)
    weight = None if table.weight is None else table.weight[known]
    return judge(found.classes_, columns["predicted"][known], table.label[known], weight) if known.any() else None

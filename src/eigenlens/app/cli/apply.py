"""Commands that apply a fitted model to rows: transform, denoise, impute, score, predict; and sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from eigenlens.app.cli.options import DataFiles, ModelFile, Output, Reading, Running, takes

__all__ = ["denoise", "impute", "predict", "sample", "score", "transform"]


@takes(reading=Reading, running=Running)
def transform(model: ModelFile, files: DataFiles, reading: Reading, running: Running, output: Output = None) -> None:
    """Scores of rows: principal components, factors, discriminants.

    The model's columns are taken from the table by their names; other columns do not matter. The columns of --id and
    --label are copied beside the scores.
    """
    from eigenlens.app.cli.summaries import axis_names

    def scores(found: Any, table: Any) -> dict[str, Any]:
        Z = found.transform(table.source)
        return dict(zip(axis_names(found, Z.shape[1]), Z.T, strict=True))

    _apply(model, files, reading, running, output, ("transform", "transform rows"), scores)


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
        return dict(zip(_names(found, X.shape[1]), X.T, strict=True))

    _apply(model, files, reading, running, output, ("inverse_transform", "denoise rows"), rows)


def _denoised(found: Any, source: Any, k: int | None) -> Any:
    from eigenlens.app.cli.errors import refuse

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
        bool, typer.Option("--std", help="Add a column NAME_std a column: standard deviations of what was filled in.")
    ] = False,
    output: Output = None,
) -> None:
    """Fill missing entries with their means given the rest of the row.

    With --std, a value that was filled in lies within 1.96 standard deviations with probability 0.95.
    """

    def rows(found: Any, table: Any) -> dict[str, Any]:
        names = _names(found, table.d)
        if not std:
            return dict(zip(names, found.impute(table.source).T, strict=True))
        X, deviations = found.impute(table.source, return_std=True)
        filled = dict(zip(names, X.T, strict=True))
        return filled | {f"{name}_std": column for name, column in zip(names, deviations.T, strict=True)}

    _apply(model, files, reading, running, output, ("impute", "impute"), rows)


@takes(reading=Reading, running=Running)
def predict(
    model: ModelFile,
    files: DataFiles,
    reading: Reading,
    running: Running,
    proba: Annotated[bool, typer.Option("--proba", help="Add a column a class: its probability.")] = False,
    output: Output = None,
) -> None:
    """The class of each row, or its component of a mixture.

    With --proba also the probability of every class.
    """

    def classes(found: Any, table: Any) -> dict[str, Any]:
        columns = {"predicted": found.predict(table.source)}
        if proba:
            P = found.predict_proba(table.source)
            names = getattr(found, "classes_", range(P.shape[1]))
            columns |= {f"p({name})": p for name, p in zip(names, P.T, strict=True)}
        return columns

    _apply(model, files, reading, running, output, ("predict", "predict classes"), classes)


@takes(reading=Reading, running=Running)
def score(model: ModelFile, files: DataFiles, reading: Reading, running: Running, output: Output = None) -> None:
    """How well the model fits rows: mean log density, or accuracy.

    Accuracy is that of a classifier on the classes in --label.

    -o writes the log density of every row (for a classifier, whether it was right).
    """
    from eigenlens.app.cli.models import takes_text
    from eigenlens.app.cli.reading import read_table
    from eigenlens.app.cli.running import session
    from eigenlens.app.cli.writing import FORMATS, checked_target, write_table

    with session(running) as now:
        target = checked_target(output, running.force, FORMATS)
        found = _loaded(model)
        classifier = hasattr(found, "classes_")
        table = read_table(files, reading, running, model=found, need_label=classifier, mixed=takes_text(found))
        now.say("read", str(table))
        if running.dry_run:
            return now.say("would", f"score {table.n:,} rows with {type(found).__name__}")
        with now.progress("scoring"):
            name, values = _scored(found, table, classifier)
        now.check()
        mean, error = _mean(values, table.weight)
        now.say("score", f"{name} {mean:.6g} ± {error:.2g}")
        now.tell(rows=table.n, **{name.replace(" ", "_"): mean, "standard_error": error})
        if running.quiet and not running.json:
            print(f"{mean:.10g}")
        if target is not None:
            write_table(_beside(table, reading) | {name.replace(" ", "_"): values}, target)
            now.say("wrote", str(target))
            now.tell(written=[target])
        for text in now.told():
            now.say("warning", text)
    return None


def _scored(found: Any, table: Any, classifier: bool) -> tuple[str, Any]:
    import numpy as np

    from eigenlens.app.cli.models import why_not

    if classifier:
        right = np.asarray(found.predict(table.source)).astype(str) == np.asarray(table.label).astype(str)
        return "accuracy", right.astype(np.float64)
    why_not(found, "score_samples", "score rows: it has no density")
    return "log density", np.asarray(found.score_samples(table.source), dtype=np.float64)


def _mean(values: Any, weight: Any) -> tuple[float, float]:
    """The weighted mean and its standard error."""
    import numpy as np

    w = np.ones(len(values)) if weight is None else weight
    mean = float(np.average(values, weights=w))
    n = float(w.sum())
    return mean, float(np.sqrt(np.average((values - mean) ** 2, weights=w) / max(n - 1.0, 1.0)))


@takes(running=Running)
def sample(
    model: ModelFile,
    running: Running,
    rows: Annotated[int, typer.Option("-n", "--rows", metavar="N", min=1, help="How many rows.")] = 100,
    output: Output = None,
) -> None:
    """New rows drawn from the model.

    Those of a classifier come with their classes, in the column label.
    """
    from eigenlens.app.cli.models import why_not
    from eigenlens.app.cli.running import session
    from eigenlens.app.cli.writing import FORMATS, checked_target

    with session(running) as now:
        target = checked_target(output, running.force, FORMATS)
        found = _loaded(model)
        why_not(found, "sample", "make rows")
        if running.dry_run:
            return now.say("would", f"draw {rows:,} rows from {type(found).__name__}")
        drawn = found.sample(rows, random_state=running.seed)
        X, label = drawn if isinstance(drawn, tuple) else (drawn, None)
        columns = _columns_of(X, found)
        _give(now, columns if label is None else {"label": label} | columns, target)
    return None


# ---- what they share ----------------------------------------------------------------------------------------


def _apply(
    model: str,
    files: list[str],
    reading: Reading,
    running: Running,
    output: str | None,
    able: tuple[str, str],
    work: Callable[[Any, Any], dict[str, Any]],
) -> None:
    """Load, read, work, write. `able`: the method that the model must have, and what it is for."""
    from eigenlens.app.cli.models import takes_text, why_not
    from eigenlens.app.cli.reading import read_table
    from eigenlens.app.cli.running import session
    from eigenlens.app.cli.writing import FORMATS, checked_target

    with session(running) as now:
        target = checked_target(output, running.force, FORMATS)
        found = _loaded(model)
        why_not(found, *able)
        table = read_table(files, reading, running, model=found, mixed=takes_text(found))
        if target is not None or running.dry_run:
            now.say("read", str(table))
        if running.dry_run:
            return now.say("would", f"{able[1]} with {type(found).__name__}" + (f", write {target}" if target else ""))
        with now.progress(able[1]):
            columns = work(found, table)
        now.check()
        _give(now, _beside(table, reading) | columns, target)
    return None


def _loaded(path: str) -> Any:
    from eigenlens.estimators import load

    return load(path)


def _names(model: Any, d: int) -> tuple[str, ...]:
    from eigenlens.views.tables import names_of

    return names_of(model, d)


def _columns_of(X: Any, model: Any) -> dict[str, Any]:
    """Rows as named columns, be they an array or a frame."""
    if hasattr(X, "columns"):
        return {str(name): X[name].to_numpy() for name in X.columns}
    return dict(zip(_names(model, X.shape[1]), X.T, strict=True))


def _beside(table: Any, reading: Reading) -> dict[str, Any]:
    """The columns of ids and labels."""
    pairs = ((reading.id, table.ids), (reading.label, table.label))
    return {str(name): values for name, values in pairs if values is not None}


def _give(now: Any, columns: dict[str, Any], target: Any) -> None:
    """The columns into the file, or to standard output as CSV or JSON."""
    import sys

    from eigenlens.app.cli.writing import size_of, write_table

    n = len(next(iter(columns.values())))
    if target is None and now.running.json:
        now.tell(rows=n, columns=columns)
    else:
        write_table(columns, target)
    if target is not None:
        now.say("wrote", f"{target} ({n:,} rows, {len(columns):,} columns, {size_of(target)})")
        now.tell(rows=n, written=[target], names=list(columns))
    for text in now.told():
        if target is None and not now.running.quiet:
            print(f"warning: {text}", file=sys.stderr)
        else:
            now.say("warning", text)

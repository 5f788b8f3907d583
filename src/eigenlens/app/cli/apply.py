"""Commands that apply a fitted model to rows: transform, denoise, impute, score, predict; and sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from eigenlens.app.cli.options import DataFiles, ModelFile, Output, Reading, Running, takes
from eigenlens.app.cli.words import counted

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

    _apply(model, files, reading, running, output, ("predict", "predict classes"), classes, _judged)


def _judged(found: Any, table: Any, columns: dict[str, Any]) -> Any:
    """What predictions are worth, by the rows whose class the table says."""
    from eigenlens.app.cli.judging import judge
    from eigenlens.app.cli.roles import gaps_of

    if table.label is None or not hasattr(found, "classes_"):
        return None
    known = ~gaps_of(table.label)
    weight = None if table.weight is None else table.weight[known]
    return judge(found.classes_, columns["predicted"][known], table.label[known], weight) if known.any() else None


@takes(reading=Reading, running=Running)
def score(model: ModelFile, files: DataFiles, reading: Reading, running: Running, output: Output = None) -> None:
    """How well the model fits rows: mean log density, or accuracy.

    Accuracy is that of a classifier on the classes in --label; the table shows which it takes for which.

    -o writes the log density of every row (for a classifier, 1 where it was right). With --quiet the number is all
    that is printed.
    """
    from eigenlens.app.cli.models import takes_text
    from eigenlens.app.cli.reading import read_table
    from eigenlens.app.cli.running import session
    from eigenlens.app.cli.writing import FORMATS, checked_target, write_table

    with session(running) as now:
        target = checked_target(output, running.force, FORMATS)
        found = _loaded(model)
        classifier = _scorable(found)
        with now.progress("reading"):
            table = read_table(files, reading, running, model=found, need_label=classifier, mixed=takes_text(found))
        now.say("read", str(table))
        now.tell(read=table.facts)
        if running.dry_run:
            return now.would(f"score {counted(table.n, 'row')} with {type(found).__name__}", *_would_write(target))
        with now.progress("scoring"):
            name, values, mean = _scored(found, table, classifier, now)
        if running.quiet and not running.json:
            print(f"{mean:.10g}")
        now.check()
        if target is not None:
            write_table(_beside(table, reading) | {name: values}, target, now.check)
        now.wrote(target)
        now.warned()
    return None


def _scorable(found: Any) -> bool:
    """Whether the model is a classifier; one that is neither this nor a density is refused."""
    from eigenlens.app.cli.models import why_not

    if not hasattr(found, "classes_"):
        why_not(found, "score_samples", "score rows: it has no density")
    return hasattr(found, "classes_")


def _scored(found: Any, table: Any, classifier: bool, now: Any) -> tuple[str, Any, float]:
    """The name of the score, its values (n,) and their mean, after they were told."""
    import numpy as np

    from eigenlens.app.cli.judging import judge, weighted_mean

    if classifier:
        judged = judge(found.classes_, found.predict(table.source), table.label, table.weight)
        now.say("score", judged.line)
        now.show(str(judged))
        now.tell(rows=table.n, **judged.facts)
        return "accuracy", judged.right, judged.accuracy
    values = np.asarray(found.score_samples(table.source), dtype=np.float64)
    mean, error = weighted_mean(values, table.weight)
    now.say("score", f"log density {mean:.6g} ± {error:.2g}")
    now.tell(rows=table.n, log_density=mean, standard_error=error)
    return "log_density", values, mean


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
        _require_memory(rows * found.n_features_in_, running)
        if running.dry_run:
            return now.would(f"draw {counted(rows, 'row')} from {type(found).__name__}", *_would_write(target))
        with now.progress("drawing rows"):
            drawn = found.sample(rows, random_state=running.seed)
        X, label = drawn if isinstance(drawn, tuple) else (drawn, None)
        columns = _columns_of(X, found)
        _give(now, columns if label is None else {_free("label", columns): label} | columns, target)
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
    judged: Callable[[Any, Any, dict[str, Any]], Any] = lambda found, table, columns: None,
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
        with now.progress("reading"):
            table = read_table(files, reading, running, model=found, mixed=takes_text(found))
        now.tell(read=table.facts)
        if target is not None or running.dry_run:
            now.say("read", str(table))
        if running.dry_run:
            return now.would(f"{able[1]} with {type(found).__name__}", *_would_write(target))
        if able[0] in WIDE:
            _require_memory(table.n * table.d, running)
        with now.progress(able[1]):
            columns = work(found, table)
        now.check()
        verdict = judged(found, table, columns)
        _give(now, _beside(table, reading) | columns, target, verdict)
    return None


WIDE = {"inverse_transform", "impute"}
"""What gives as many numbers as it takes."""


def _require_memory(entries: int, running: Running) -> None:
    """Refuse a result that is larger than what may be held."""
    from eigenlens import checks
    from eigenlens.app.cli.errors import refuse
    from eigenlens.app.cli.writing import in_words
    from eigenlens.kernels.memory import available_memory

    size, given = 8 * entries, running.max_memory
    most = available_memory() if given is None else checks.memory("max_memory", given)
    if size > most:
        what = f"the result takes {in_words(size)}, and {in_words(most)} may be taken"
        refuse(what, "raise --max-memory, or take rows in parts, with --where or -n", "resources")


def _would_write(target: Any) -> list[str]:
    return [] if target is None else [f"write {target}"]


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


def _free(name: str, taken: Any) -> str:
    """The name, with _ behind it as long as a column has it."""
    return name if name not in taken else _free(f"{name}_", taken)


def _beside(table: Any, reading: Reading) -> dict[str, Any]:
    """The columns of ids and labels."""
    pairs = ((reading.id, table.ids), (reading.label, table.label))
    return {str(name): values for name, values in pairs if values is not None}


def _give(now: Any, columns: dict[str, Any], target: Any, judged: Any = None) -> None:
    """The columns into the file, or to standard output as CSV or JSON; with what predictions are worth, if known."""
    from eigenlens.app.cli.writing import write_table

    n = len(next(iter(columns.values())))
    now.tell(rows=n, **({} if judged is None else judged.facts))
    if target is None and now.running.json:
        now.tell(columns=columns)
        return
    write_table(columns, target, now.check)
    if target is None:
        now.aside(*([] if judged is None else [judged.line]), *(f"warning: {text}" for text in now.told()))
        return
    if judged is not None:
        now.say("score", judged.line)
        now.show(str(judged))
    now.wrote(target, note=f"{counted(n, 'row')}, {counted(len(columns), 'column')}")
    now.tell(names=list(columns))
    now.warned()

"""Commands that apply a fitted model to rows: `eigenlens transform`, `denoise`, `impute` and `predict`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import typer

from eigenlens.arrays import Array
from eigenlens.cli.errors import fail
from eigenlens.cli.files import OUTPUT_FORMATS, check_target, format_size, require_files, write_table
from eigenlens.cli.model_options import require_method
from eigenlens.cli.options import DataFiles, ModelFile, Output, ReadingOptions, RunningOptions, takes
from eigenlens.cli.output import limited_table
from eigenlens.cli.session import session
from eigenlens.cli.summaries import axis_names
from eigenlens.cli.table_checks import class_name, is_missing
from eigenlens.tables.names import feature_names
from eigenlens.tables.text_table import count_noun


@takes(reading=ReadingOptions, running=RunningOptions)
def transform(
    model: ModelFile, files: DataFiles, reading: ReadingOptions, running: RunningOptions, output: Output = None
) -> None:
    """Compute the scores of rows: principal components, factors, discriminants.

    The columns of the model are taken from the table by their names; other columns do not matter. The columns of --id
    and --label are copied beside the scores.
    """

    def scores(found: Any, table: Any) -> dict[str, Any]:
        Z = found.transform(table.source)
        return dict(zip(axis_names(found, Z.shape[1]), Z.T, strict=True))

    apply_model(model, files, reading, running, output, ("transform", "transform rows"), scores)


@takes(reading=ReadingOptions, running=RunningOptions)
def denoise(
    model: ModelFile,
    files: DataFiles,
    reading: ReadingOptions,
    running: RunningOptions,
    components: Annotated[
        int | None, typer.Option("--components", "-k", metavar="K", help="kpca: use only the first K components.")
    ] = None,
    output: Output = None,
) -> None:
    """Reconstruct rows from their scores, without the noise.

    For pca, ppca and fa this is the reconstruction; for kpca the pre-image of the projection in feature space.
    """

    def rows(found: Any, table: Any) -> dict[str, Any]:
        X = _denoised(found, table.source, components)
        return dict(zip(feature_names(found, X.shape[1]), X.T, strict=True))

    apply_model(model, files, reading, running, output, ("inverse_transform", "denoise rows"), rows)


def _denoised(found: Any, source: Any, k: int | None) -> Any:
    if hasattr(found, "denoise"):
        return found.denoise(source, n_components=k)
    if k is not None:
        fail("-k is only for kernel PCA here", "fit the model with fewer components, and denoise with that")
    return found.inverse_transform(found.transform(source))


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

    With --proba also the probability of every class. With --label also the accuracy of a classifier, and its
    confusion matrix.
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
    if table.label is None or not hasattr(found, "classes_"):
        return None
    known = ~is_missing(table.label)
    if not known.any():
        return None
    weight = None if table.weight is None else table.weight[known]
    return compare_classes(found.classes_, columns["predicted"][known], table.label[known], weight)


def apply_model(
    model: str,
    files: list[str],
    reading: ReadingOptions,
    running: RunningOptions,
    output: str | None,
    able: tuple[str, str],
    work: Callable[[Any, Any], dict[str, Any]],
    confusion: Callable[[Any, Any, dict[str, Any]], Any] = lambda found, table, columns: None,
) -> None:
    """Load the model, read the rows, do the work and write. `able`: the method that is needed, and what it is for."""
    require_files(model, files)
    from eigenlens.cli.input_table import read_aloud
    from eigenlens.estimator.storage import load

    with session(running) as now:
        target = check_target(output, running.force, OUTPUT_FORMATS)
        found = load(model)
        require_method(found, *able)
        # Rows that go to standard output go there alone.
        table = read_aloud(now, files, reading, model=found, quiet=target is None and not running.dry_run)
        if running.dry_run:
            return now.show_plan(f"{able[1]} with {type(found).__name__}", targets=[target])
        if able[0] in AS_WIDE_AS_ROWS:
            require_memory(table.n * table.d, running)
        with now.progress(able[1]):
            columns = work(found, table)
        now.check_interrupt()
        give_columns(now, id_and_label(table, reading) | columns, target, confusion(found, table, columns))
    return None


AS_WIDE_AS_ROWS = {"inverse_transform", "impute"}
"""Methods whose result has as many numbers as the rows."""


def require_memory(entries: int, running: RunningOptions) -> None:
    """Raise an error if a result is larger than the memory that may be taken."""
    from eigenlens.cli.input_table import memory_limit

    size, most = 8 * entries, memory_limit(running, share=1)
    if size > most:
        what = f"the result needs {format_size(size)} of memory, and {format_size(most)} may be taken"
        fail(what, "raise --max-memory, or work on fewer rows at a time", "resources")


def columns_of(X: Any, model: Any) -> dict[str, Any]:
    """Return rows, an array or a frame, as named columns."""
    if hasattr(X, "columns"):
        return {str(name): X[name].to_numpy() for name in X.columns}
    return dict(zip(feature_names(model, X.shape[1]), X.T, strict=True))


def free_column(name: str, taken: Any) -> str:
    """Return the name, with _ appended as long as a column has it."""
    return name if name not in taken else free_column(f"{name}_", taken)


def id_and_label(table: Any, reading: ReadingOptions) -> dict[str, Any]:
    """Return the columns of ids and labels."""
    pairs = ((reading.id, table.ids), (reading.label, table.label))
    return {str(name): values for name, values in pairs if values is not None}


def give_columns(now: Any, columns: dict[str, Any], target: Any, confusion: Any = None) -> None:
    """Write columns to the file, or to standard output as CSV or JSON; with the accuracy of predictions, if known."""
    n = len(next(iter(columns.values())))
    now.add_facts(rows=n, **({} if confusion is None else confusion.facts))
    if target is None and now.running.json:
        now.add_facts(columns=columns)
        return
    write_table(columns, target, now.check_interrupt)
    if target is None:
        lines = [] if confusion is None else [confusion.line]
        now.say_aside(*lines, *(f"warning: {text}" for text in now.warning_texts()))
        return
    if confusion is not None:
        now.say("score", confusion.line)
        now.show(str(confusion))
    now.show_written(target, note=f"{count_noun(n, 'row')}, {count_noun(len(columns), 'column')}")
    now.add_facts(names=list(columns))
    now.show_warnings()


@dataclass(frozen=True, eq=False)
class Confusion:
    """Confusion matrix of classes by their names, true (rows) and predicted (columns).

    Attributes:
        true: names of the rows of `counts`, with classes that the model does not know at the end.
        predicted: names of the columns of `counts`.
        counts: (t, p) total weight of the rows of one class that were predicted as another.
        right: (n,) 1.0 where the two agree.
        accuracy, error: the weighted share of correct rows, and its standard error.
    """

    true: list[str]
    predicted: list[str]
    counts: Array
    right: Array
    accuracy: float
    error: float

    def __str__(self) -> str:
        most = 12
        more = len(self.predicted) > most
        header = ["true \\ predicted", *self.predicted[:most], *["…"] * more]
        rows = zip(self.true, self.counts, strict=True)
        lines = [[name, *(f"{count:,.6g}" for count in row[:most]), *[""] * more] for name, row in rows]
        return limited_table(header, lines)

    @property
    def line(self) -> str:
        """The accuracy as a line of text."""
        return f"accuracy {self.accuracy:.6g} ± {self.error:.2g}"

    @property
    def facts(self) -> dict[str, Any]:
        """The same for --json."""
        table = {"true": self.true, "predicted": self.predicted, "counts": self.counts}
        return {"accuracy": self.accuracy, "standard_error": self.error, "confusion": table}


def compare_classes(classes: Any, predicted: Any, label: Array, weight: Array | None) -> Confusion:
    """Return the confusion matrix of predicted classes (n,) and labels (n,), compared by name.

    >>> found = compare_classes([0, 1], np.array([0, 1, 1]), np.array([0.0, 1.0, 0.0]), None)
    >>> found.counts.tolist(), round(found.accuracy, 3)
    ([[1.0, 1.0], [0.0, 1.0]], 0.667)
    """
    from sklearn.metrics import confusion_matrix

    known, guess, true = ([*map(class_name, np.asarray(each).tolist())] for each in (classes, predicted, label))
    names = list(dict.fromkeys([*known, *sorted(set(true) - set(known))]))
    counts = confusion_matrix(true, guess, labels=names, sample_weight=weight)[:, : len(known)].astype(np.float64)
    right = (np.array(true) == np.array(guess)).astype(np.float64)
    return Confusion(names, known, counts, right, *weighted_mean(right, weight))


def weighted_mean(values: Array, weight: Array | None) -> tuple[float, float]:
    """Return the weighted mean and its standard error."""
    w = np.ones(len(values)) if weight is None else weight
    mean, n = float(np.average(values, weights=w)), float(w.sum())
    return mean, float(np.sqrt(np.average((values - mean) ** 2, weights=w) / max(n - 1.0, 1.0)))

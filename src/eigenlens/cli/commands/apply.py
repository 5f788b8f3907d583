"""Commands that apply a fitted model to rows: transform, denoise, impute, predict.

A fitted model, rows and an output: what the commands that apply models share.

Predicted classes held against those that a table says: how many are right, and which are taken for which.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import typer

from eigenlens.arrays import Array
from eigenlens.cli.errors import refuse
from eigenlens.cli.input_files import require_files
from eigenlens.cli.options import DataFiles, ModelFile, Output, Reading, Running, takes
from eigenlens.cli.output import aligned, counted

__all__ = [
    "Judged",
    "apply",
    "beside",
    "columns_of",
    "denoise",
    "free_column",
    "give",
    "impute",
    "judge",
    "predict",
    "require_memory",
    "row_names",
    "spelled",
    "transform",
    "weighted_mean",
    "would_write",
]


@takes(reading=Reading, running=Running)
def transform(model: ModelFile, files: DataFiles, reading: Reading, running: Running, output: Output = None) -> None:
    """Scores of rows: principal components, factors, discriminants.

    The model's columns are taken from the table by their names; other columns do not matter. The columns of --id and
    --label are copied beside the scores.
    """

    def scores(found: Any, table: Any) -> dict[str, Any]:
        from eigenlens.cli.summaries import axis_names

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
    from eigenlens.cli.table_checks import is_missing

    if table.label is None or not hasattr(found, "classes_"):
        return None
    known = ~is_missing(table.label)
    weight = None if table.weight is None else table.weight[known]
    return judge(found.classes_, columns["predicted"][known], table.label[known], weight) if known.any() else None


def apply(
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
    require_files(model, files)
    from eigenlens.cli.input_table import read_table
    from eigenlens.cli.model_options import require_method, takes_text
    from eigenlens.cli.output_files import FORMATS, checked_target
    from eigenlens.cli.session import session
    from eigenlens.estimator.storage import load

    with session(running) as now:
        target = checked_target(output, running.force, FORMATS)
        found = load(model)
        require_method(found, *able)
        with now.progress("reading"):
            table = read_table(files, reading, running, model=found, mixed=takes_text(found))
        now.tell(read=table.facts)
        if target is not None or running.dry_run:
            now.say("read", str(table))
        if running.dry_run:
            return now.would(f"{able[1]} with {type(found).__name__}", *would_write(target))
        if able[0] in WIDE:
            require_memory(table.n * table.d, running)
        with now.progress(able[1]):
            columns = work(found, table)
        now.check()
        verdict = judged(found, table, columns)
        give(now, beside(table, reading) | columns, target, verdict)
    return None


WIDE = {"inverse_transform", "impute"}
"""What gives as many numbers as it takes."""


def require_memory(entries: int, running: Running) -> None:
    """Refuse a result that is larger than what may be held."""
    from eigenlens.cli.input_table import memory_limit
    from eigenlens.cli.output_files import in_words

    size, most = 8 * entries, memory_limit(running, share=1)
    if size > most:
        what = f"the result takes {in_words(size)}, and {in_words(most)} may be taken"
        refuse(what, "raise --max-memory, or take rows in parts, with --where or -n", "resources")


def would_write(target: Any) -> list[str]:
    """What a dry run would write."""
    return [] if target is None else [f"write {target}"]


def row_names(model: Any, d: int) -> tuple[str, ...]:
    """The names of the columns of a model's rows."""
    from eigenlens.tables.names import feature_names

    return feature_names(model, d)


def columns_of(X: Any, model: Any) -> dict[str, Any]:
    """Rows as named columns, be they an array or a frame."""
    if hasattr(X, "columns"):
        return {str(name): X[name].to_numpy() for name in X.columns}
    return dict(zip(row_names(model, X.shape[1]), X.T, strict=True))


def free_column(name: str, taken: Any) -> str:
    """The name, with _ behind it as long as a column has it."""
    return name if name not in taken else free_column(f"{name}_", taken)


def beside(table: Any, reading: Reading) -> dict[str, Any]:
    """The columns of ids and labels."""
    pairs = ((reading.id, table.ids), (reading.label, table.label))
    return {str(name): values for name, values in pairs if values is not None}


def give(now: Any, columns: dict[str, Any], target: Any, judged: Any = None) -> None:
    """The columns into the file, or to standard output as CSV or JSON; with what predictions are worth, if known."""
    from eigenlens.cli.output_files import write_table

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


@dataclass(frozen=True, eq=False)
class Judged:
    """Classes by their names, true (rows) and predicted (columns).

    Attributes:
        true: names of the rows of `counts`, classes that the model does not know last. predicted: of its columns.
        counts: (t, p) Σ w of the rows of a class that were taken for another. right: (n,) 1.0 where they agree.
        accuracy, error: the share that is right, and its standard error.
    """

    true: list[str]
    predicted: list[str]
    counts: Array
    right: Array
    accuracy: float
    error: float

    def __str__(self) -> str:
        most = 12
        header = ["true \\ predicted", *self.predicted[:most], *(["…"] if len(self.predicted) > most else [])]
        lines = [
            [name, *(f"{count:,.6g}" for count in row[:most]), *([""] if len(self.predicted) > most else [])]
            for name, row in zip(self.true, self.counts, strict=True)
        ]
        return aligned(header, lines)

    @property
    def line(self) -> str:
        """The accuracy in words."""
        return f"accuracy {self.accuracy:.6g} ± {self.error:.2g}"

    @property
    def facts(self) -> dict[str, Any]:
        """The same for --json."""
        table = {"true": self.true, "predicted": self.predicted, "counts": self.counts}
        return {"accuracy": self.accuracy, "standard_error": self.error, "confusion": table}


def judge(classes: Any, predicted: Any, label: Array, weight: Array | None) -> Judged:
    """Compare predicted classes (n,) with labels (n,) by their names.

    >>> found = judge([0, 1], np.array([0, 1, 1]), np.array([0.0, 1.0, 0.0]), None)
    >>> found.counts.tolist(), round(found.accuracy, 3)
    ([[1.0, 1.0], [0.0, 1.0]], 0.667)
    """
    known, said, true = ([*map(spelled, np.asarray(each).tolist())] for each in (classes, predicted, label))
    names = list(dict.fromkeys([*known, *sorted(set(true) - set(known))]))
    rows, columns = ({name: i for i, name in enumerate(each)} for each in (names, known))
    counts = np.zeros((len(names), len(known)))
    w = np.ones(len(true)) if weight is None else weight
    np.add.at(counts, ([rows[name] for name in true], [columns[name] for name in said]), w)
    right = np.array([a == b for a, b in zip(true, said, strict=True)], dtype=np.float64)
    return Judged(names, known, counts, right, *weighted_mean(right, weight))


def spelled(value: Any) -> str:
    """A class by its name: 1 and 1.0 are one class, and a gap is none.

    >>> spelled(1.0), spelled(1), spelled("a"), spelled(None)
    ('1', '1', 'a', '(missing)')
    """
    if value is None or value != value or value == "":
        return "(missing)"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def weighted_mean(values: Array, weight: Array | None) -> tuple[float, float]:
    """The weighted mean and its standard error."""
    w = np.ones(len(values)) if weight is None else weight
    mean, n = float(np.average(values, weights=w)), float(w.sum())
    return mean, float(np.sqrt(np.average((values - mean) ** 2, weights=w) / max(n - 1.0, 1.0)))

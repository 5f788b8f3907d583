"""Models as the explorer has them: their options, how they are fitted, and the charts that follow each change.

`ExploredModel` is what they have in common; `EXPLORED_MODELS` names the class of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.catalogue import MODELS, ModelEntry, import_part
from eigenlens.cli.model_options import make_estimator
from eigenlens.cli.table_checks import is_missing
from eigenlens.data.coerce import fields_of
from eigenlens.data.memory import ArraySource
from eigenlens.data.source import Progress
from eigenlens.errors import DataError, OptionError
from eigenlens.explorer.explored_table import ExploredTable
from eigenlens.reporting.charts import Chart
from eigenlens.reporting.rows import ShownRows
from eigenlens.tables.text_table import count_noun, join_words

if TYPE_CHECKING:
    from eigenlens.explorer.question import Question

EXPLORED_MODELS = {
    "PCA": "eigenlens.explorer.explored_components.ExploredComponents",
    "ProbabilisticPCA": "eigenlens.explorer.explored_components.ExploredComponents",
    "FactorAnalysis": "eigenlens.explorer.explored_components.ExploredComponents",
    "KernelPCA": "eigenlens.explorer.explored_rows.ExploredKernel",
    "GaussianMixture": "eigenlens.explorer.explored_rows.ExploredMixture",
    "KernelDensity": "eigenlens.explorer.explored_rows.ExploredDensity",
    "NaiveBayes": "eigenlens.explorer.explored_rows.ExploredClassifier",
    "LinearDiscriminant": "eigenlens.explorer.explored_rows.ExploredClassifier",
    "QuadraticDiscriminant": "eigenlens.explorer.explored_rows.ExploredClassifier",
}
"""Classes of the explorer's models, by the names of their estimators in the catalogue; imported on first use."""

LIVE_MODELS: dict[str, ModelEntry] = {MODELS[name].command: MODELS[name] for name in EXPLORED_MODELS}
"""Models of the explorer, by their names on the command line."""


class SlowFit(Exception):
    """A fit that takes long, which the page asks for by a button."""


class ModelOption(NamedTuple):
    """An option that a page offers.

    Attributes:
        name: on the command line. label: on the page. names: those that it accepts; "" is the value None.
        first: its value until another is chosen. number: whether it may also be a number above 0, by a slider.
        none: what the value None is called.
    """

    name: str
    label: str
    names: tuple[str, ...]
    first: Any = ""
    number: bool = False
    none: str = "none"


class FitRequest(NamedTuple):
    """How a fit is asked for.

    Attributes:
        run: also where it takes long. draft: while a slider moves, so that something near it will do.
        progress: what reports how much is done. keep: (key, function) → its value, computed once per table.
        known: key → whether it was computed.
    """

    run: bool = True
    draft: bool = False
    progress: Progress | None = None
    keep: Callable[[Any, Callable[[], Any]], Any] = lambda key, compute: compute()
    known: Callable[[Any], bool] = lambda key: False


class LiveAnswer(NamedTuple):
    """The answer to a question.

    Attributes:
        charts: as a report has them. warnings: what deserves a second look. scales: {option: `scale`} of those that
            are numbers. note: what is shown, beside the options. slow: why something waits for a button, or "".
    """

    charts: list[Chart]
    warnings: list[str]
    scales: Mapping[str, Chart] = {}
    note: str = ""
    slow: str = ""


def scale(low: float, high: float, at: float, marks: Mapping[str, float]) -> Chart:
    """Return the range of a slider on a log scale, where it is, and values that have a name, ascending.

    >>> scale(0.1, 10.0, 1.0, {"scott": 2.0, "silverman": 1.5})["marks"]
    [{'name': 'silverman', 'at': 1.5}, {'name': 'scott', 'at': 2.0}]
    """
    named = [{"name": name, "at": value} for name, value in sorted(marks.items(), key=lambda each: each[1])]
    return {"low": low, "high": high, "at": at, "marks": named}


class ExploredModel:
    """A model of the explorer that is fitted to rows; others differ in what they override."""

    counted = True
    """Whether the page asks for the number of components."""

    first_count: int | None = None
    """The number of components that a page asks for when the model is chosen; None for as many as before."""

    of_columns = False
    """Whether the plane is of two active columns, and not of two components."""

    drafts = False
    """Whether there is something near a fit that is shown while a slider moves."""

    labels: Mapping[str, tuple[str, str]] = {}
    """Labels of the options that the page offers, by their names on the command line, and the defaults of the class.

    "" is None. A test compares them with the class, which is not read here: importing every model to list its options
    would make the first page slow.
    """

    def __init__(self, entry: ModelEntry) -> None:
        self.entry = entry

    # ---- questions --------------------------------------------------------------------------------------

    @property
    def options(self) -> tuple[ModelOption, ...]:
        """The options that the page offers besides the number of components, scaling and rotation."""
        return tuple(self._option(name, *label) for name, label in self.labels.items())

    def _option(self, name: str, label: str, first: str) -> ModelOption:
        names = self.entry.names[name].names
        return ModelOption(name, label, names if first in names else ("", *names), first)

    @property
    def scaled(self) -> bool:
        """Whether the page asks for the scaling of columns."""
        return "standardize" in self.entry.options

    def settle(self, question: Question, k: Any, axes: Any, options: Any, table: ExploredTable) -> Question:
        """Return the question with its components, axes and options checked; fewer components where there are fewer."""
        most = self.most(question, table)
        k = min(checks.integer("k", k, 1), max(1, most))
        question = replace(question, k=k, options=self._read_options(options))
        return replace(question, axes=self.settle_axes(question, _read_axes(axes)))

    def most(self, question: Question, table: ExploredTable) -> int:
        """Return the largest number of components; 0 where the page does not ask for it."""
        require_columns(question, table)
        return 0

    def settle_axes(self, question: Question, axes: list[int]) -> tuple[int, ...]:
        """Return the two axes asked for, or the first two where there are not these; one where there is one."""
        count = len(question.columns("active")) if self.of_columns else question.k
        inside = tuple(axis for axis in axes if axis < count)
        return inside if len(set(inside)) == 2 else (0, 1)[:count]

    def _read_options(self, given: Any) -> tuple[tuple[str, Any], ...]:
        if not isinstance(given, Mapping):
            raise OptionError("are not names with values", argument="options", value=given, fix="reload the page")
        known = {option.name: option for option in self.options}
        unknown = sorted(set(given) - set(known))
        if unknown:
            what = f"{self.entry.command} has no option of this name"
            raise OptionError(what, argument="options", value=unknown[0], fix=f"it has {', '.join(known) or 'none'}")
        return tuple((name, _read_option(known[name], given[name])) for name in sorted(given))

    def option(self, question: Question, name: str) -> Any:
        """Return the value of an option, its first one where none was chosen; None for ""."""
        first = next(option.first for option in self.options if option.name == name)
        return dict(question.options).get(name, first) or None

    # ---- fits -------------------------------------------------------------------------------------------

    def fitted_question(self, question: Question) -> Question:
        """Return the question whose active columns are those of the fit: all, or the two that are looked at."""
        return question

    def key(self, question: Question) -> Question:
        """Return the part of a question that decides a fit: neither the plane nor names and colours of rows."""
        kept = ("active", "weight", "colour") if self.entry.classes else ("active", "weight")
        question = self.fitted_question(question)
        roles = tuple((name, role if role in kept else "ignore") for name, role in question.roles)
        mine = tuple((name, value) for name, value in question.options if name in self.entry.options)
        return replace(question, roles=roles, axes=(), options=mine)

    def command_options(self, question: Question) -> dict[str, Any]:
        """Return the options of `eigenlens fit` for a question: those that differ from its defaults."""
        counted = {"k": question.k} if self.counted else {}
        scaled = {"standardize": True} if self.scaled and question.standardize else {}
        rotated = {} if question.rotation is None else {"rotation": question.rotation}
        mine = {name: value for name, value in question.options if name in self.entry.options and value}
        return counted | scaled | rotated | mine

    def make(self, table: ExploredTable, question: Question) -> Any:
        """Return the estimator of a question, not fitted, as the command line makes it."""
        return make_estimator(self.entry.command, self.command_options(question), {}, 0)

    def fit(self, table: ExploredTable, question: Question, request: FitRequest) -> Any:
        """Return the model fitted to the rows, and what else its charts need: anything with an attribute `model`."""
        raise NotImplementedError

    def answer(self, table: ExploredTable, question: Question, found: Any, request: FitRequest) -> LiveAnswer:
        """Return the charts of a fit."""
        raise NotImplementedError

    def reasons(self, table: ExploredTable, question: Question, found: Any, row: int) -> list[Chart]:
        """Return why a row is put where it is: of models without reasons, nothing."""
        return []

    def scores(self, table: ExploredTable, question: Question, found: Any) -> Array:
        """Return what the rows shown (m, k) are compared by: their scores; of a model without, their active columns."""
        columns = table.source.names or ()
        X = table.sample.numbers[:, [columns.index(name) for name in question.columns("active")]]
        if not np.isfinite(X).all():
            raise DataError("some active columns have missing values", fix="choose a model of components")
        spread = X.std(axis=0)
        return np.asarray((X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0))


def require_columns(question: Question, table: ExploredTable) -> None:
    """Check that a column is active; where no column could be, say so."""
    if question.columns("active"):
        return
    if not any(each.numeric and each.usable for each in table.columns):
        what = "the table has no column of numbers, which every model of the explorer needs"
        raise DataError(what, fix="explore a table that has one")
    raise DataError("no column is active", fix="drag a column of numbers to Active")


def _read_axes(given: Any) -> list[int]:
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= 2:
        raise OptionError("are not one or two axes", argument="axes", value=given, fix="give two numbers from 0")
    return [checks.integer("axes", axis, 0) for axis in given]


def _read_option(option: ModelOption, value: Any) -> Any:
    """Return one of the names of an option, or a number above 0 where it may be one."""
    if option.number and isinstance(value, int | float):
        return checks.real(option.name, value, 0.0, np.inf)
    if value not in option.names:
        fix = f"choose {join_words(option.names)}" + (", or a number above 0" if option.number else "")
        raise OptionError("is not a value of this option", argument=option.name, value=value, fix=fix)
    return value


@cache
def explored_model(command: str) -> ExploredModel:
    """Return what the explorer asks of a model, by its name on the command line."""
    entry = LIVE_MODELS[command]
    found: ExploredModel = import_part(EXPLORED_MODELS[entry.estimator.rpartition(".")[2]])(entry)
    return found


# ---- rows -------------------------------------------------------------------------------------------------------


def fit_rows(model: Any, table: ExploredTable, question: Question, progress: Progress | None = None) -> Any:
    """Return the model fitted to the rows of the active columns that take part, with their classes and weights."""
    names, weight = question.columns("active"), table.weights(question.weight, question.rows)
    X = table.rows_of(names)
    given = given_classes(table, question)
    if not question.rows.whole and weight is not None:
        kept = weight > 0.0
        X, given, weight = X[kept], [y[kept] for y in given], None if question.weight is None else weight[kept]
    reports = "verbose" in model.get_params(deep=False)
    if reports:
        model.set_params(verbose=progress or False)
    model.fit(ArraySource(X, names=names), *given, sample_weight=weight)
    if reports:
        model.set_params(verbose=False)
    return model


def given_classes(table: ExploredTable, question: Question) -> list[Array]:
    """Return what `fit` takes beside the rows: their classes (n,), or nothing where the model learns from none."""
    return [row_classes(table, question)] if LIVE_MODELS[question.model].classes else []


def class_column(question: Question) -> str:
    """Return the column that holds the classes: the first that colours the rows."""
    found = question.columns("colour")
    if not found:
        raise DataError("no column holds the classes", fix="drag one to Colour")
    return found[0]


def row_classes(table: ExploredTable, question: Question, *, shown: bool = False) -> Array:
    """Return the classes of all rows (n,), or of those shown (m,); whole numbers are integers."""
    name = class_column(question)
    values = table.shown(name) if shown else table.entries(name)
    missing = int(np.count_nonzero(is_missing(values)))
    if missing and not shown:
        what = f"column {name!r} is empty in {count_noun(missing, 'row')}, so it cannot hold the classes"
        raise DataError(what, columns=[name], fix="leave it out of Colour, and drag another one there")
    if values.dtype.kind != "f":
        return values
    if not np.all(values == np.floor(values)):
        what = f"column {name!r} holds measurements, not classes"
        raise DataError(what, columns=[name], fix="drag a column of text or of whole numbers to Colour")
    return values.astype(np.int64)


def shown_rows(
    table: ExploredTable, question: Question, which: Array | None = None, numbers: Array | None = None
) -> ShownRows:
    """Return the rows shown with the active columns, and beside them those that colour them or are supplementary.

    which: some of the rows shown (q,), and their numbers (q, p); None for all.
    """
    columns, fields = table.source.names or (), fields_of(table.source)
    places = [columns.index(name) for name in question.columns("active")]
    beside, every = (*question.columns("colour"), *question.columns("supplementary")), slice(None)
    some: Any = every if which is None else which
    weight = shown_weights(table, question)
    return ShownRows(
        X=(table.sample.numbers if numbers is None else numbers)[:, places], chosen=table.sample.chosen[some],
        total=table.n, names=question.columns("active"), ids=None,
        extra={name: table.shown(name)[some] for name in beside}, texts={}, fields=tuple(fields[j] for j in places),
        weight=None if weight is None else weight[some], columns=tuple(places),
    )  # fmt: skip


def shown_weights(table: ExploredTable, question: Question) -> Array | None:
    """Return the weights (m,) of the rows shown, 0 of those that take no part in the fit; None where all are one."""
    weight: Array | None = None if question.weight is None else table.shown(question.weight)
    if question.rows.whole:
        return weight
    kept = question.rows.fitted
    return np.where(kept, 1.0 if weight is None else weight, 0.0)

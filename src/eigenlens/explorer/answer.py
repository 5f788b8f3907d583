"""From a question to charts: an eigenproblem of the moments, and the scores of the rows that are shown."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.catalogue import import_part
from eigenlens.data.coerce import fields_of
from eigenlens.data.files.base import pl
from eigenlens.data.memory import ArraySource
from eigenlens.data.source import Progress
from eigenlens.errors import list_columns
from eigenlens.explorer.explored_table import ExploredTable
from eigenlens.explorer.question import LIVE_MODELS, Question
from eigenlens.explorer.quiet import quiet
from eigenlens.reporting.charts import Chart
from eigenlens.reporting.packing import share_repeats
from eigenlens.reporting.remarks import MISSING_METHODS, fit_remarks
from eigenlens.reporting.rows import ShownRows
from eigenlens.stats.moments import Moments
from eigenlens.stats.unequal_units import unequal_units, unit_warning
from eigenlens.tables.text_table import count_noun

LIVE_ENTRIES = 100_000
"""Tables with missing values of at most this many entries are fitted at each change; larger ones when asked to."""

MAX_SPECTRUM = 600
"""The largest number of columns of which the whole spectrum is computed for the scree plot."""

KEPT_FITS = 32


class SlowFit(Exception):
    """A fit that takes passes over many rows, which the page asks for by a button."""


class QuestionFit(NamedTuple):
    """A fitted model, and all eigenvalues, or those of the model where there are too many."""

    model: Any
    spectrum: Array


@dataclass(eq=False)
class ExplorerAnswers:
    """The answers about one table; recent fits are kept, so that another plane or an undone step costs no fit."""

    table: ExploredTable
    _fits: OrderedDict[Question, QuestionFit] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def fitted(self, question: Question, *, run: bool = True, progress: Progress | None = None) -> QuestionFit:
        """Return the fit that a question asks for; `run`: also where it is slow."""
        key = fit_key(question)
        with self._lock:
            if key in self._fits:
                self._fits.move_to_end(key)
                return self._fits[key]
        with quiet():
            found = fit_question(self.table, question, run=run, progress=progress)
        with self._lock:
            self._fits[key] = found
            while len(self._fits) > KEPT_FITS:
                self._fits.popitem(last=False)
        return found

    def charts(self, question: Question, *, run: bool = False, progress: Progress | None = None) -> Chart:
        """Return the charts and warnings of an answer, as the page draws them."""
        found = self.fitted(question, run=run, progress=progress)
        with quiet():
            rows, which = question_rows(self.table, question)
            live: Callable[..., list[Chart]] = import_part(LIVE_MODELS[question.model].live)
            scores = question_scores(self.table, question, found.model)
            charts = live(found.model, rows, scores, which, question.axes, found.spectrum)
        return share_repeats({"charts": charts, "warnings": _remarks(self.table, question, found.model)}, None)


def fit_key(question: Question) -> Question:
    """Return the part of a question that decides a fit: neither the plane nor names and colours of rows."""
    kept = ("active", "weight")
    roles = tuple((name, role if role in kept else "ignore") for name, role in question.roles)
    return Question(roles, question.model, question.k, question.standardize, question.rotation, (), question.rows)


def make_model(question: Question, *, incomplete: bool = False) -> Any:
    """Return the estimator of a question, not fitted, with the seed of the command line."""
    entry = LIVE_MODELS[question.model]
    wanted = {"standardize": question.standardize, "rotation": question.rotation}
    options = {name: value for name, value in wanted.items() if name in entry.options}
    if incomplete and "missing" in entry.options:
        options["missing"] = "em"
    return import_part(entry.estimator)(question.k, **options, random_state=0)


def fit_question(
    table: ExploredTable, question: Question, *, run: bool = True, progress: Progress | None = None
) -> QuestionFit:
    """Return the fit of a question: from the moments where columns are complete, else by EM over the rows."""
    names = question.columns("active")
    incomplete = table.incomplete(names)
    model = make_model(question, incomplete=bool(incomplete))
    if incomplete:
        return _fit_rows(table, question, model, run, progress)
    moments = table.moments_of(names, question.weight, question.rows)
    # The divisor that `fit_covariance` expects is n of maximum likelihood, and n − 1 of PCA.
    S = moments.covariance(0.0 if LIVE_MODELS[question.model].incomplete else 1.0)
    model.fit_covariance(pl.DataFrame(S, schema=list(names)), n_samples=float(moments.weight), mean=moments.mean)
    return QuestionFit(model, _spectrum(moments, question) if len(names) <= MAX_SPECTRUM else _own_spectrum(model))


def _fit_rows(
    table: ExploredTable, question: Question, model: Any, run: bool, progress: Progress | None
) -> QuestionFit:
    names = question.columns("active")
    if not run and table.n * len(names) > LIVE_ENTRIES:
        raise SlowFit(
            f"{count_noun(len(table.incomplete(names)), 'active column')} of {len(names)} have missing values: the fit "
            f"goes over {table.n:,} rows several times."
        )
    X, weight = table.rows_of(names), table.weights(question.weight, question.rows)
    if not question.rows.whole and weight is not None:
        X, weight = X[weight > 0.0], None if question.weight is None else weight[weight > 0.0]
    model.set_params(verbose=progress or False)
    model.fit(ArraySource(X, names=names), sample_weight=weight)
    model.set_params(verbose=False)
    return QuestionFit(model, _own_spectrum(model))


def _spectrum(moments: Moments, question: Question) -> Array:
    """Return all eigenvalues (d,), descending, of the covariance or correlation matrix."""
    S = moments.covariance()
    if question.standardize:
        deviation = np.sqrt(np.diag(S))
        scale = np.where(deviation > 0.0, deviation, 1.0)
        S = S / np.outer(scale, scale)
    return np.maximum(np.linalg.eigvalsh(S)[::-1], 0.0)


def _own_spectrum(model: Any) -> Array:
    return np.asarray(getattr(model, "explained_variance_", np.zeros(0)))


# ---- rows -------------------------------------------------------------------------------------------------------


def question_rows(table: ExploredTable, question: Question) -> tuple[ShownRows, Array]:
    """Return rows with the active columns, and beside them those that colour them or are supplementary.

    Of many rows shown, some: also returns which of them (q,) these are.
    """
    columns, (which, numbers) = table.source.names or (), table.looked_at
    places = [columns.index(name) for name in question.columns("active")]
    beside = (*question.columns("colour"), *question.columns("supplementary"))
    weight = shown_weights(table, question)
    fields = fields_of(table.source)
    found = ShownRows(
        X=numbers[:, places], chosen=table.sample.chosen[which], total=table.n,
        names=question.columns("active"), ids=None, extra={name: table.shown(name)[which] for name in beside},
        texts={}, fields=tuple(fields[j] for j in places), weight=None if weight is None else weight[which],
        columns=tuple(places),
    )  # fmt: skip
    return found, which


def shown_weights(table: ExploredTable, question: Question) -> Array | None:
    """Return the weights (m,) of the rows shown, 0 of those that take no part in the fit; None where all are one."""
    weight: Array | None = None if question.weight is None else table.shown(question.weight)
    if question.rows.whole:
        return weight
    kept = question.rows.fitted
    return np.where(kept, 1.0 if weight is None else weight, 0.0)


def question_scores(table: ExploredTable, question: Question, model: Any) -> Array:
    """Return the scores (m, k) of the rows shown; of rows with missing values as the estimator has them."""
    names = question.columns("active")
    if table.incomplete(names):
        columns = table.source.names or ()
        X = table.sample.numbers[:, [columns.index(name) for name in names]]
        return np.asarray(model.transform(ArraySource(X, names=names)))
    mean, V = import_part(LIVE_MODELS[question.model].projection)(model)
    return table.project(names, mean, V)


def row_names(table: ExploredTable, question: Question) -> tuple[str, ...] | None:
    """Return the names (m,) of the rows shown, or None where no column names them."""
    return None if question.id is None else tuple(map(_text, table.shown(question.id).tolist()))


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None or value != value else str(value)


def _remarks(table: ExploredTable, question: Question, model: Any) -> list[str]:
    """Return what deserves a second look: missing values, constant columns, units, a fit that did not converge."""
    names = question.columns("active")
    texts = list(map(str, fit_remarks(model)))
    incomplete = table.incomplete(names)
    if incomplete:
        count = sum(table.column(name).missing for name in incomplete)
        how = MISSING_METHODS[type(model).__name__]
        return [*texts, f"{count:,} values are missing in {list_columns(range(len(incomplete)), incomplete)}: {how}."]
    moments = table.moments_of(names, question.weight, question.rows)
    variances = np.diag(moments.scatter) / float(moments.weight)
    constant = [name for name, value in zip(names, variances, strict=True) if value == 0.0]
    if constant:
        verb = "column is" if len(constant) == 1 else "columns are"
        listed = list_columns(range(len(constant)), constant)
        texts.append(f"{len(constant)} active {verb} constant and carry no variance ({listed}).")
    if not question.standardize and LIVE_MODELS[question.model].by_units:
        units = unequal_units(moments.mean, variances, list(names))
        texts += [] if units is None else [str(unit_warning(units, names))]
    return texts

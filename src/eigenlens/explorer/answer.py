"""From a question to charts: an eigenproblem of the moments, and the scores of the rows that are shown."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.catalogue import import_part
from eigenlens.data.memory import ArraySource
from eigenlens.data.source import Progress
from eigenlens.errors import DataError, MissingValues, list_columns
from eigenlens.explorer.explored_model import LIVE_MODELS, FitRequest, SlowFit, explored_model, fit_rows, shown_rows
from eigenlens.explorer.explored_table import ExploredTable
from eigenlens.explorer.question import Question
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

KEPT = 64
"""Fits, and what else is computed once per table, that are kept."""


class QuestionFit(NamedTuple):
    """A fitted model, and all eigenvalues, or those of the model where there are too many."""

    model: Any
    spectrum: Array


@dataclass(eq=False)
class ExplorerAnswers:
    """The answers about one table; recent fits are kept, so that another plane or an undone step costs no fit."""

    table: ExploredTable
    _kept: OrderedDict[Any, Any] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def fitted(
        self, question: Question, *, run: bool = True, draft: bool = False, progress: Progress | None = None
    ) -> Any:
        """Return the fit that a question asks for; `run`: also where it is slow; `draft`: something near it will do."""
        explored, request = explored_model(question.model), FitRequest(run, draft, progress, self._keep, self._known)
        key, asked = (explored.key(question), draft and explored.drafts), explored.fitted_question(question)
        with _way_out(self.table, asked):
            return self._keep(key, lambda: explored.fit(self.table, asked, request))

    def charts(
        self, question: Question, *, run: bool = False, draft: bool = False, progress: Progress | None = None
    ) -> Chart:
        """Return the charts and warnings of an answer, as the page draws them."""
        found = self.fitted(question, run=run, draft=draft, progress=progress)
        request = FitRequest(run, draft, progress, self._keep, self._known)
        explored = explored_model(question.model)
        with quiet(), _way_out(self.table, explored.fitted_question(question)):
            answer = explored.answer(self.table, question, found, request)
        return share_repeats(answer._asdict(), None)

    def scores(self, question: Question) -> Array:
        """Return what the rows shown (m, k) are compared by."""
        found = self.fitted(question)
        with quiet():
            return explored_model(question.model).scores(self.table, question, found)

    def reasons(self, question: Question, row: int) -> list[Chart]:
        """Return why one of the rows shown is put where it is."""
        found = self.fitted(question)
        with quiet():
            return explored_model(question.model).reasons(self.table, question, found, row)

    def _known(self, key: Any) -> bool:
        with self._lock:
            return key in self._kept

    def _keep(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return the value of a key, computed where it is not among those that are kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        with quiet():
            found = compute()
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found


@contextmanager
def _way_out(table: ExploredTable, question: Question) -> Iterator[None]:
    """Give a model that needs complete rows, fitted or passive, a way out that the page has."""
    try:
        yield
    except MissingValues:
        names = table.incomplete(question.columns("active"))
        have = f"{count_noun(len(names), 'active column')} {'has' if len(names) == 1 else 'have'} missing values"
        what = f"this model needs complete rows, and {have} ({list_columns(range(len(names)), names)})"
        fix = "drag them to another place, or choose PCA, which estimates them"
        raise DataError(what, columns=names, fix=fix) from None


def fit_question(
    table: ExploredTable, question: Question, *, run: bool = True, progress: Progress | None = None
) -> QuestionFit:
    """Return the fit of a question: from the moments where columns are complete, else by EM over the rows."""
    names = question.columns("active")
    incomplete = table.incomplete(names)
    model = explored_model(question.model).make(table, question)
    if incomplete:
        return _fit_rows(table, question, model, run, progress)
    moments = table.moments_of(names, question.weight, question.rows)
    # The divisor that `fit_covariance` expects is n of maximum likelihood, and n − 1 of PCA.
    S = moments.covariance(0.0 if LIVE_MODELS[question.model].incomplete else 1.0)
    model.fit_covariance(ArraySource(S, names=names), n_samples=float(moments.weight), mean=moments.mean)
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
    fit_rows(model, table, question, progress)
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
    which, numbers = table.looked_at
    return shown_rows(table, question, which, numbers), which


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


def component_remarks(table: ExploredTable, question: Question, model: Any) -> list[str]:
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

"""Models of the explorer that are fitted to rows: kernel densities, mixtures, kernel PCA and classifiers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.catalogue import import_part
from eigenlens.data.memory import ArraySource
from eigenlens.errors import DataError, EigenlensError
from eigenlens.explorer.answer import row_names
from eigenlens.explorer.explored_model import (
    ExploredModel,
    FitRequest,
    LiveAnswer,
    ModelOption,
    SlowFit,
    fit_rows,
    require_columns,
    row_classes,
    scale,
    shown_rows,
)
from eigenlens.explorer.explored_table import ExploredTable
from eigenlens.explorer.question import Question
from eigenlens.kde.bandwidth import BANDWIDTH_RULES, bandwidth
from eigenlens.mixture.select import MixtureSelection, select_mixture
from eigenlens.reporting.charts import Chart
from eigenlens.reporting.remarks import fit_remarks
from eigenlens.reporting.rows import ShownRows
from eigenlens.tables.text_table import count_noun


class RowsFit(NamedTuple):
    """A model that was fitted to rows."""

    model: Any


class ExploredRows(ExploredModel):
    """A model that is fitted to the rows at each change, where that is quick, and else when asked to."""

    live_entries = 1_000_000
    """The largest number of entries that are fitted without being asked to."""

    @property
    def live(self) -> Callable[..., list[Chart]]:
        """The function that makes the charts of a fit."""
        found: Callable[..., list[Chart]] = import_part(self.entry.live)
        return found

    def fit(self, table: ExploredTable, question: Question, request: FitRequest) -> RowsFit:
        """Return the model fitted to the rows that take part."""
        names, n = question.columns("active"), question.rows.count(table.n)
        if not request.run and n * len(names) > self.live_entries:
            raise SlowFit(f"A fit to {n:,} rows of {count_noun(len(names), 'column')} takes some time.")
        model = self.make(table, question)
        return RowsFit(fit_rows(model, table, question, request.progress if request.run else None))

    def shown(self, table: ExploredTable, question: Question) -> ShownRows:
        """Return the rows shown, as pages of reports take them."""
        return shown_rows(table, self.fitted_question(question))

    def answer(self, table: ExploredTable, question: Question, found: RowsFit, request: FitRequest) -> LiveAnswer:
        """Return the charts of the fit on two of its axes."""
        charts = self.live(found.model, self.shown(table, question), question.axes)
        return LiveAnswer(charts, list(map(str, fit_remarks(found.model))))


def _reaching(own: float, rules: Mapping[str, float], factor: float) -> Chart:
    """Return a scale from far below the rules to far above them, wide enough for the value of the fit."""
    every = list(rules.values()) or [own]
    return scale(min(min(every) / factor, own), max(max(every) * factor, own), own, rules)


# ---- densities --------------------------------------------------------------------------------------------------

MARKED_RULES, MARKED_ROWS = ("silverman", "scott", "sheather-jones", "sheather-jones-dpi", "isj"), 20_000
"""Rules whose bandwidths are marked on the slider of several columns, and rows with which all are found."""


class ExploredDensity(ExploredRows):
    """A kernel density of one active column, or of the two that are looked at, with its bandwidth."""

    counted, of_columns, scaled = False, True, False
    labels: Mapping[str, tuple[str, str]] = {
        "bandwidth": ("Bandwidth", "sheather-jones"),
        "kernel": ("Kernel", "gaussian"),
    }
    live_entries = 100_000

    def _option(self, name: str, label: str, first: str) -> ModelOption:
        return super()._option(name, label, first)._replace(number=name == "bandwidth")

    def fitted_question(self, question: Question) -> Question:
        """Return the question with the one or two columns that are looked at."""
        names = question.columns("active")
        kept = {names[axis] for axis in question.axes if axis < len(names)}
        roles = ((name, "ignore" if role == "active" and name not in kept else role) for name, role in question.roles)
        return replace(question, roles=tuple(roles))

    def command_options(self, question: Question) -> dict[str, Any]:
        """Return the options, a bandwidth that is a number in standard deviations of the columns."""
        found = super().command_options(question)
        return found | ({"standardize": True} if isinstance(found.get("bandwidth"), float | int) else {})

    def answer(self, table: ExploredTable, question: Question, found: RowsFit, request: FitRequest) -> LiveAnswer:
        """Return the density with its bandwidth on a scale on which the rules are marked."""
        mine = self.fitted_question(question)
        asked = replace(mine, axes=(), options=(("kernel", self.option(question, "kernel")),), k=0)
        known = request.keep(("bandwidths", asked), lambda: rule_bandwidths(found.model))
        own = _size(np.asarray(found.model.bandwidth_)) / _spread(found.model.model_.points)
        note = "The bandwidth is in standard deviations of the columns. Marks on the slider are those of rules."
        slider = _reaching(own, known, 8.0)
        charts = self.live(found.model, self.shown(table, question), question.axes)
        remarks = list(map(str, fit_remarks(found.model)))
        return LiveAnswer(charts, remarks, {"bandwidth": slider}, note)


def rule_bandwidths(model: Any) -> dict[str, float]:
    """Return the bandwidths of rules, of several columns their geometric mean, in standard deviations of the rows."""
    rows = model.model_.points
    some = rows if len(rows) <= MARKED_ROWS else rows[np.random.default_rng(0).permutation(len(rows))[:MARKED_ROWS]]
    found = {}
    for name in BANDWIDTH_RULES if rows.shape[1] == 1 else MARKED_RULES:
        try:
            h = np.asarray(bandwidth(some, name, kernel=model.model_.kernel.name))
        except EigenlensError:  # a rule that has none for these rows
            continue
        # Of a sample bandwidths are larger: they fall as the rows to the power 1 / (d + 4).
        found[name] = _size(h) / _spread(rows) * float(len(some) / len(rows)) ** (1.0 / (rows.shape[1] + 4.0))
    return found


def _size(h: Array) -> float:
    """Return the geometric mean of bandwidths of columns, or of the axes of a covariance."""
    return float(np.linalg.det(h) ** (0.5 / len(h))) if h.ndim == 2 else float(np.exp(np.log(h).mean()))


def _spread(rows: Array) -> float:
    return _size(rows.std(axis=0))


class ExploredMixture(ExploredRows):
    """A Gaussian mixture, and when asked to the criteria of others."""

    first_count, of_columns = 3, True
    labels: Mapping[str, tuple[str, str]] = {"covariance": ("Covariances", "full")}
    live_entries = 20_000

    def most(self, question: Question, table: ExploredTable) -> int:
        """Return the largest number of components that is offered."""
        require_columns(question, table)
        return max(1, min(20, question.rows.count(table.n) // 2))

    def answer(self, table: ExploredTable, question: Question, found: RowsFit, request: FitRequest) -> LiveAnswer:
        """Return the charts of the mixture, and the criteria of others where they are known or asked for."""
        key = ("mixtures", replace(self.key(question), k=0, options=()))
        selection, slow = None, ""
        if request.run or request.known(key):
            selection = request.keep(key, lambda: compare_mixtures(table, question, request))
        else:
            slow = "BIC of other numbers of components and other covariances takes some seconds."
        charts = self.live(found.model, self.shown(table, question), question.axes, selection)
        return LiveAnswer(charts, list(map(str, fit_remarks(found.model))), slow=slow)


MAX_COMPARED, MAX_COMPARED_ROWS = 8, 5_000
"""The largest number of components, and of rows drawn at random, with which mixtures are compared."""


def compare_mixtures(table: ExploredTable, question: Question, request: FitRequest) -> MixtureSelection:
    """Return mixtures of 1 to 8 components and of four structures, by BIC; of some of the rows if they are many."""
    names, weight = question.columns("active"), table.weights(question.weight, question.rows)
    X = table.rows_of(names)
    chosen = np.arange(len(X)) if weight is None else np.flatnonzero(weight > 0.0)
    if len(chosen) > MAX_COMPARED_ROWS:
        chosen = np.sort(np.random.default_rng(0).permutation(chosen)[:MAX_COMPARED_ROWS])
    most = max(1, min(MAX_COMPARED, len(chosen) // 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the table of mixtures has the remarks of each
        return select_mixture(
            ArraySource(X[chosen], names=names), range(1, most + 1), random_state=0,
            sample_weight=None if weight is None else weight[chosen], verbose=request.progress or False,
            standardize=question.standardize,
        )  # fmt: skip


# ---- kernel PCA -------------------------------------------------------------------------------------------------

LANDMARKS = 80
"""Landmarks of the embedding that is shown while a slider moves."""


class ExploredKernel(ExploredRows):
    """Kernel PCA: exact, and while a slider moves by landmarks."""

    drafts, first_count = True, 3
    labels: Mapping[str, tuple[str, str]] = {"gamma": ("Gamma", ""), "kernel": ("Kernel", "rbf")}
    live_entries = 100_000

    def _option(self, name: str, label: str, first: str) -> ModelOption:
        found = super()._option(name, label, first)
        names = tuple(each for each in found.names if each != "precomputed")
        return found._replace(names=names, number=name == "gamma", none="1 / columns")

    def most(self, question: Question, table: ExploredTable) -> int:
        """Return the largest number of components that is offered."""
        require_columns(question, table)
        return max(1, min(20, question.rows.count(table.n) - 1))

    def fit(self, table: ExploredTable, question: Question, request: FitRequest) -> RowsFit:
        """Return the exact components, or by some landmarks where something near them will do."""
        if not request.draft:
            return super().fit(table, question, request)
        model = self.make(table, question)
        model.set_params(approximation="rpcholesky", n_landmarks=max(1, min(LANDMARKS, question.rows.count(table.n))))
        return RowsFit(fit_rows(model, table, question))

    def scores(self, table: ExploredTable, question: Question, found: RowsFit) -> Array:
        """Return the scores (m, k) of the rows shown."""
        return np.asarray(found.model.transform(self.shown(table, question).given))

    def answer(self, table: ExploredTable, question: Question, found: RowsFit, request: FitRequest) -> LiveAnswer:
        """Return the embedding with gamma on a scale on which the rules are marked."""
        charts = self.live(found.model, self.shown(table, question), question.axes)
        gamma = getattr(found.model, "gamma_", None)
        if gamma is None or self.option(question, "kernel") not in ("rbf", "laplacian"):
            return LiveAnswer(charts, list(map(str, fit_remarks(found.model))))
        rules = import_part(self.entry.names["gamma"].registry)
        key = ("gammas", replace(self.key(question), k=0, options=()))
        known = request.keep(key, lambda: rule_gammas(table, self.fitted_question(question), rules))
        about = f"by {LANDMARKS} landmarks while the slider moves" if request.draft else "exact"
        note = f"The embedding is {about}. Marks on the slider are the widths of rules."
        slider = _reaching(float(gamma), known, 30.0)
        return LiveAnswer(charts, list(map(str, fit_remarks(found.model))), {"gamma": slider}, note)


def rule_gammas(table: ExploredTable, question: Question, rules: Mapping[str | None, Any]) -> dict[str, float]:
    """Return the kernel width of each rule, for the columns as the kernel has them."""
    X = table.rows_of(question.columns("active"))
    X = X / np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0) if question.standardize else X
    found = {}
    for name, rule in rules.items():
        try:
            found[name or ""] = float(rule(ArraySource(X), np.random.default_rng(0)))
        except DataError:  # columns without variance
            continue
    return found


# ---- classifiers ------------------------------------------------------------------------------------------------


class ExploredClassifier(ExploredRows):
    """A classifier of the column that colours the rows: its regions over two active columns, and reasons of rows."""

    counted, of_columns = False, True
    live_entries = 500_000

    def shown(self, table: ExploredTable, question: Question) -> ShownRows:
        """Return the rows shown, with their classes."""
        y, names = row_classes(table, question, shown=True), row_names(table, question)
        return replace(shown_rows(table, question), y=y, ids=names)

    def answer(self, table: ExploredTable, question: Question, found: RowsFit, request: FitRequest) -> LiveAnswer:
        """Return the regions of the classes on two columns, and how often the model is right."""
        from eigenlens.reporting.pages.classifier_live import classifier_live, evaluate_shown

        rows = self.shown(table, question)
        known = request.keep(("evaluation", self.key(question)), lambda: evaluate_shown(found.model, rows))
        charts = classifier_live(found.model, rows, question.axes, known)
        note = "Click on a row to see the reasons for its class."
        return LiveAnswer(charts, [*map(str, fit_remarks(found.model)), *known.warnings], note=note)

    def reasons(self, table: ExploredTable, question: Question, found: RowsFit, row: int) -> list[Chart]:
        """Return why one of the rows shown is put into its class."""
        from eigenlens.reporting.pages.classifier_live import row_reasons

        return row_reasons(found.model, self.shown(table, question), row)

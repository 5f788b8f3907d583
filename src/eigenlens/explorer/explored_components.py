"""Models of components in the explorer, which are fitted from the moments of all rows: PCA and its relatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eigenlens.arrays import Array
from eigenlens.catalogue import import_part
from eigenlens.errors import DataError
from eigenlens.explorer.answer import QuestionFit, component_remarks, fit_question, question_rows, question_scores
from eigenlens.explorer.explored_model import ExploredModel, FitRequest, LiveAnswer, require_columns
from eigenlens.explorer.explored_table import ExploredTable
from eigenlens.explorer.question import Question
from eigenlens.reporting.charts import Chart


class ExploredComponents(ExploredModel):
    """A model of components, fitted from moments where columns are complete."""

    def most(self, question: Question, table: ExploredTable) -> int:
        """Return as many as active columns, or one less beside noise; fewer than rows."""
        noise = self.entry.incomplete
        require_columns(question, table)
        d = len(question.columns("active")) - noise
        if d == 0:
            what = "one column is active, and a model with noise needs two"
            raise DataError(what, fix="drag a column of numbers to Active")
        if table.n < 2:
            raise DataError("the table has one row", fix="give at least two")
        return min(d, question.rows.count(table.n) - 1)

    def make(self, table: ExploredTable, question: Question) -> Any:
        """Return the estimator; of incomplete columns that of maximum likelihood."""
        model = super().make(table, question)
        if table.incomplete(question.columns("active")) and "missing" in self.entry.options:
            model.set_params(missing="em")
        return model

    def fit(self, table: ExploredTable, question: Question, request: FitRequest) -> QuestionFit:
        """Return the fit from the moments where columns are complete, else by EM over the rows."""
        return fit_question(table, question, run=request.run, progress=request.progress)

    def scores(self, table: ExploredTable, question: Question, found: QuestionFit) -> Array:
        """Return the scores (m, k) of the rows shown."""
        return question_scores(table, question, found.model)

    def answer(self, table: ExploredTable, question: Question, found: Any, request: FitRequest) -> LiveAnswer:
        """Return the charts of the components on the plane of two of them."""
        rows, which = question_rows(table, question)
        live: Callable[..., list[Chart]] = import_part(self.entry.live)
        scores = question_scores(table, question, found.model)
        charts = live(found.model, rows, scores, which, question.axes, found.spectrum)
        return LiveAnswer(charts, component_remarks(table, question, found.model))

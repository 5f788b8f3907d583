"""The report of a question, as the command line writes it: the model is fitted to all rows again."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from eigenlens.cli.errors import warning_line
from eigenlens.cli.input_table import open_input
from eigenlens.data.files.base import Selection
from eigenlens.data.memory import ArraySource
from eigenlens.explorer.explored_model import explored_model, given_classes
from eigenlens.explorer.explored_table import ExploredTable
from eigenlens.explorer.question import Question
from eigenlens.explorer.quiet import quiet
from eigenlens.explorer.scripts import command_of, decisions_of, reading_lines, report_title
from eigenlens.reporting import report


def report_of(table: ExploredTable, question: Question) -> bytes:
    """Return the HTML file of a question's report; only a temporary file is written, and removed."""
    explored = explored_model(question.model)
    question = explored.fitted_question(question)
    rows, weight = _rows(table, question), table.weights(question.weight, question.rows)
    beside = (*question.columns("colour"), *question.columns("supplementary"))
    with quiet(), TemporaryDirectory() as folder:
        model = explored.make(table, question)
        model.fit(rows, *given_classes(table, question), sample_weight=weight)
        target = Path(folder) / "report.html"
        report(
            {type(model).__name__: model}, rows, target, title=report_title(table, model),
            ids=None if question.id is None else table.entries(question.id),
            columns={name: table.entries(name) for name in beside}, sample_weight=weight,
            decisions=[warning_line(each) for each in decisions_of(table, question)],
            command=command_of(table, question), reading=reading_lines(table, question),
        )  # fmt: skip
        return target.read_bytes()


def _rows(table: ExploredTable, question: Question) -> Any:
    """Return all rows of the active columns, from memory, or else by passes over the file."""
    names = question.columns("active")
    if table.X is not None or table.path is None:
        return ArraySource(table.rows_of(names), names=names)
    return open_input([str(table.path)], table.reading).select(Selection(columns=list(names)))

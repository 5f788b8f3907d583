"""The exact command and the Python script of a question, which give the same numbers as the page."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eigenlens.cli.input_table import open_input, roles_of
from eigenlens.cli.model_options import flag_of
from eigenlens.cli.options import ReadingOptions, given_flags
from eigenlens.cli.remembered_table import script_arguments
from eigenlens.explorer.explored_model import LIVE_MODELS, explored_model
from eigenlens.explorer.explored_table import ExploredTable
from eigenlens.explorer.question import Question
from eigenlens.reporting import code
from eigenlens.reporting.class_names import words_of_class

OPTIONS = {"active": "active", "supplementary": "supplementary", "colour": "label", "ignore": "drop"}
"""The option of the command line that gives columns a role; names and weights have one column each."""


def reading_options(table: ExploredTable, question: Question) -> ReadingOptions:
    """Return the options that give columns their roles, where the command line would guess others."""
    guessed = {each.name: each.role for each in table.columns}
    changed = [(name, role) for name, role in question.roles if guessed[name] != role]
    lists: dict[str, Any] = {
        option: [name for name, own in changed if own == role] or None for role, option in OPTIONS.items()
    }
    # A classifier needs its label named.
    if lists["label"] or LIVE_MODELS[question.model].classes:  # that are named come before those guessed
        lists["label"] = list(question.columns("colour"))
    single: dict[str, Any] = {option: next((name for name, own in changed if own == role), None)
              for role, option in (("name", "id"), ("weight", "weight"))}  # fmt: skip
    return replace(table.reading, **lists, **single)


def command_of(table: ExploredTable, question: Question, report: str = "report.html") -> str:
    """Return the command that fits the model of a question and writes its report.

    "" for rows in memory, and where some rows are passive, of which the command line has no list.
    """
    if table.path is None or not question.rows.whole:
        return ""
    explored = explored_model(question.model)
    question = explored.fitted_question(question)
    words = ["eigenlens", "fit", question.model, str(table.path), *option_words(explored.command_options(question))]
    return shlex.join([*words, *given_flags(reading_options(table, question)), "--report", report])


def option_words(options: Mapping[str, Any]) -> list[str]:
    """Return the words that give options of a model.

    >>> option_words({"k": 3, "standardize": True, "bandwidth": 0.25})
    ['-k', '3', '--standardize', '--bandwidth', '0.25']
    """
    return [
        word for name, value in options.items() for word in (flag_of(name), *([] if value is True else [str(value)]))
    ]


def script_of(table: ExploredTable, question: Question, model: Any, report: str = "report.html") -> str:
    """Return a Python script that fits the model of a question and writes its report."""
    question = explored_model(question.model).fitted_question(question)
    names = question.columns("active")
    beside = {"columns": (*question.columns("colour"), *question.columns("supplementary")),
              "ids": question.columns("name"), "sample_weight": question.columns("weight")}  # fmt: skip
    given = {"y": hasattr(model, "classes_")} | {argument: bool(columns) for argument, columns in beside.items()}
    given["sample_weight"] |= not question.rows.whole
    whole = tuple(table.source.names or ()) if table.path is None else names
    return code.script(
        {type(model).__name__: model}, report, given=given, title=report_title(table, model), seed=0,
        shape=f"{table.n:,} × {len(names):,}", names=whole, reading=reading_lines(table, question),
    )  # fmt: skip


def report_title(table: ExploredTable, model: Any) -> str:
    """Return the title of a report."""
    return f"{words_of_class(type(model).__name__)} of {table.title}"


def reading_lines(table: ExploredTable, question: Question) -> str:
    """Return Python that reads the rows of a file, and gives passive ones the weight 0; "" for rows in memory."""
    passive = _passive_lines(table, question)
    if table.path is None:
        return "\n".join(passive)
    reading = reading_options(table, question)
    files = open_input([str(table.path)], reading)
    lines = code.reading_script([table.path], **script_arguments(files, roles_of(files, reading), reading))
    return "\n".join([lines, *passive]) if lines else ""


def _passive_lines(table: ExploredTable, question: Question) -> list[str]:
    part, n = question.rows, table.n
    if part.whole:
        return []
    marked = table.sample.chosen[part.marked].tolist()
    kept = "marked" if part.kind == "only" else "~marked"
    weight = f"sample_weight * {kept}" if question.weight else kept
    return [f"marked = np.isin(np.arange({n}), {marked})", f"sample_weight = {weight}  # the other rows are passive"]


def decisions_of(table: ExploredTable, question: Question) -> list[Any]:
    """Return what was decided about a file, and about the roles of columns that were left as they were guessed."""
    if table.path is None:
        return list(table.decisions)
    reading = reading_options(table, question)
    files = open_input([str(table.path)], reading)
    roles = roles_of(files, reading)
    used = {str(name) for name in (*roles.features, *roles.beside)}
    return [*(each for each in files.decisions if not each.columns or used & set(each.columns)), *roles.decisions]

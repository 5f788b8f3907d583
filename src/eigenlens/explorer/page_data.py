"""The data that a page is given once: the shelf of columns, the rows shown with their values, and the models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eigenlens import __version__
from eigenlens.data.categories import EncodedColumn
from eigenlens.explorer.answer import row_names
from eigenlens.explorer.explored_model import LIVE_MODELS, ModelOption, explored_model, shown_rows, shown_weights
from eigenlens.explorer.explored_table import ExploredTable
from eigenlens.explorer.question import ROLES, Question
from eigenlens.reporting.charts import Chart
from eigenlens.reporting.class_names import words_of_class
from eigenlens.reporting.packing import RowNumbers, RowPositions, RowTexts, share_repeats
from eigenlens.reporting.pages.reconstruction import row_images
from eigenlens.reporting.rows import colour_column
from eigenlens.tables.names import shorten
from eigenlens.tables.text_table import count_noun

MAX_FIRST_VALUES = 1_000_000
"""Entries of columns that a page is given at once; others are sent when rows are coloured by them."""


def page_data(table: ExploredTable, question: Question, command: str) -> Chart:
    """Return all that a page needs before it asks its first question."""
    usable = [each.name for each in table.columns if each.usable]
    first = max(1, MAX_FIRST_VALUES // max(1, len(table.sample.chosen)))
    wanted = [*question.columns("colour"), *usable]
    sent = set(list(dict.fromkeys(wanted))[:first])
    shelf = [
        {"name": each.name, "numeric": each.numeric, "reason": each.reason, "missing": each.missing, "role": each.role,
         "usable": each.usable}
        for each in table.columns
    ]  # fmt: skip
    head = {
        "title": shorten(table.title, 300), "version": __version__, "command": command,
        "roles": list(ROLES), "file": table.path is not None,
        "subtitle": f"{count_noun(table.n, 'row')}, {count_noun(len(table.columns), 'column')}",
        "notes": [str(each) for each in table.decisions],
    }  # fmt: skip
    rows = {"rows": _rows(table, usable, sent, question), "shelf": shelf, "models": _models()}
    return share_repeats(head | rows | {"question": question.as_json()}, None)


def _models() -> list[Chart]:
    return [_model(command) for command in LIVE_MODELS]


def _model(command: str) -> Chart:
    """Return what the page offers for a model."""
    entry, explored = LIVE_MODELS[command], explored_model(command)
    return {
        "name": command, "title": words_of_class(entry.estimator.rpartition(".")[2]), "group": entry.group,
        "standardize": explored.scaled, "counted": explored.counted, "first": explored.first_count,
        "columns": explored.of_columns, "options": [_option(option) for option in explored.options],
        "rotations": list(entry.names["rotation"].names) if "rotation" in entry.options else [],
    }  # fmt: skip


def _option(option: ModelOption) -> Chart:
    return option._asdict() | {"names": list(option.names)}


def _rows(table: ExploredTable, usable: list[str], sent: set[str], question: Question) -> Chart:
    """Return the rows of report.ts; columns without values are sent when they are wanted."""
    m, total = len(table.sample.chosen), table.n
    columns = [page_column(table, name) if name in sent else _promised(table, name) for name in usable]
    note = f"All {total:,} rows are shown." if m == total else f"{m:,} of {total:,} rows, drawn at random, are shown."
    colour = question.columns("colour")
    start = usable.index(colour[0]) if colour else -1
    steps = {} if m == total else {"steps": RowPositions(table.sample.chosen + 1)}
    head = {"total": total, "shown": m, "note": note, "colour": start, "columns": columns}
    return head | steps | _pictures(table, question) | named_rows(table, question) | weighted_rows(table, question)


def _pictures(table: ExploredTable, question: Question) -> Chart:
    """Return the rows as images where the active columns are pixels, by themselves or with those that are ignored."""
    left = {each.name for each in table.columns if each.numeric and each.role == "ignore"}
    wider = tuple((name, "active" if role == "ignore" and name in left else role) for name, role in question.roles)
    for asked in (question, replace(question, roles=wider)):
        found = row_images(shown_rows(table, asked)) if asked.columns("active") else {}
        if found:
            return found
    return {}


def page_column(table: ExploredTable, name: str) -> Chart:
    """Return a column of the rows shown with its values: numbers, or names where rows have classes."""
    found = colour_column(table.shown(name), classes=_classes(table, name))
    return {"name": name, "kind": "text" if isinstance(found, EncodedColumn) else "number", "values": found}


def _promised(table: ExploredTable, name: str) -> Chart:
    return {"name": name, "kind": "number" if table.column(name).numeric else "text", "values": [], "later": True}


def _classes(table: ExploredTable, name: str) -> bool:
    """Return whether a column is one of classes, though it may hold numbers."""
    return table.column(name).role == "colour"


def named_rows(table: ExploredTable, question: Question) -> Chart:
    """Return the names of the rows shown, or nothing where they are called by their positions."""
    names = row_names(table, question)
    return {} if names is None else {"ids": RowTexts(tuple(map(shorten, names)))}


def weighted_rows(table: ExploredTable, question: Question) -> Chart:
    """Return the weights of the rows shown, or nothing where all are one."""
    weight = shown_weights(table, question)
    return {} if weight is None or np.all(weight == 1.0) else {"weights": RowNumbers(weight)}

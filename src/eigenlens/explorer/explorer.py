"""The answers to what pages ask: JSON in, JSON out. `server` lets pages of this machine ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.errors import OptionError
from eigenlens.explorer.answer import ExplorerAnswers
from eigenlens.explorer.clusters import find_clusters
from eigenlens.explorer.contrast import Contrast, contrast_charts, rank_differences
from eigenlens.explorer.explored_model import SlowFit, explored_model
from eigenlens.explorer.explored_table import ExploredTable
from eigenlens.explorer.page_data import named_rows, page_column, page_data, weighted_rows
from eigenlens.explorer.question import Question, first_question, read_question
from eigenlens.explorer.row_part import rows_from_bits
from eigenlens.explorer.saved_report import report_of
from eigenlens.explorer.saved_scores import write_scores
from eigenlens.explorer.scripts import command_of, script_of
from eigenlens.reporting.packing import share_repeats
from eigenlens.tables.names import shorten


class Cancelled(Exception):
    """A fit was given up on request."""


@dataclass
class Run:
    """A slow fit under way: how much of it is done, and whether it is to be given up."""

    done: int = 0
    total: int | None = None
    what: str = ""
    cancelled: bool = False

    def progress(self, done: int, total: int | None, what: str) -> None:
        """Note how much is done; raise where the fit is given up."""
        self.done, self.total, self.what = done, total, what
        if self.cancelled:
            raise Cancelled


@dataclass(eq=False)
class Explorer:
    """All that requests share: the table with its answers, the fits under way, and the wish to stop."""

    table: ExploredTable
    command: str = ""
    first: Question | None = None
    stop: Callable[[], None] = lambda: None
    runs: dict[str, Run] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.answers = ExplorerAnswers(self.table)

    # ---- what pages ask for: JSON in, JSON out ------------------------------------------------------------

    def page_data(self, body: Any) -> Any:
        """Return what a page needs before it asks."""
        return page_data(self.table, self.first or first_question(self.table), self.command)

    def answer(self, body: Any) -> Any:
        """Return the charts of a question, and names and weights of rows where they are not those the page has."""
        start = time.perf_counter()
        question, run = read_question(body.get("question"), self.table), Run()
        name = str(body.get("id", ""))[:64]
        self.runs[name] = run
        try:
            asked = {name: body.get(name) is True for name in ("run", "draft")}
            found = self.answers.charts(question, **asked, progress=run.progress)
        except SlowFit as slow:
            return {"slow": str(slow), "question": question.as_json()}
        except Cancelled:
            return {"cancelled": True}
        finally:
            self.runs.pop(name, None)
        have = body.get("have") if isinstance(body.get("have"), dict) else {}
        rows: dict[str, Any] = {}
        if have.get("name", question.id) != question.id:
            rows |= {"ids": None} | named_rows(self.table, question)
        weighting = {"weight": question.weight, "rows": question.rows.as_json()}
        if any(have.get(name, value) != value for name, value in weighting.items()):
            rows |= {"weights": None} | weighted_rows(self.table, question)
        found |= {"question": question.as_json(), "most": explored_model(question.model).most(question, self.table)}
        found |= {"rows": share_repeats(rows, None), "ms": 1e3 * (time.perf_counter() - start)}
        return found

    def progress(self, body: Any) -> Any:
        """Return how much of a fit is done."""
        run = self.runs.get(str(body.get("id", "")))
        return {} if run is None else {"done": run.done, "total": run.total, "what": run.what}

    def cancel(self, body: Any) -> Any:
        """Give up a fit at its next step."""
        run = self.runs.get(str(body.get("id", "")))
        if run is not None:
            run.cancelled = True
        return {"cancelled": run is not None}

    def column(self, body: Any) -> Any:
        """Return the values of a column in the rows shown."""
        name = self.table.column(str(body.get("name", ""))).name
        return share_repeats({"column": page_column(self.table, name)}, None)

    def contrast(self, body: Any) -> Any:
        """Return what makes some of the rows shown different from others, or from all others."""
        question, m = read_question(body.get("question"), self.table), len(self.table.sample.chosen)
        first = rows_from_bits(body.get("first"), m)
        second = rows_from_bits(body.get("second"), m) if body.get("second") else ~first
        if np.any(first & second):
            raise OptionError("some rows are in both groups", fix="select groups that have no row in common")
        names = _group_names(body.get("names"), bool(body.get("second")))
        groups = Contrast(np.flatnonzero(first), np.flatnonzero(second), names)
        kept = [name for name, role in question.roles if role not in ("ignore", "name", "weight")]
        found = rank_differences({name: self.table.shown(name) for name in kept}, groups)
        charts = contrast_charts(found, groups, sampled=self.table.n > m)
        return share_repeats({"charts": charts}, None)

    def clusters(self, body: Any) -> Any:
        """Return a column of the clusters within some of the rows that are fitted, and how they were found."""
        question, m = read_question(body.get("question"), self.table), len(self.table.sample.chosen)
        inside = rows_from_bits(body["rows"], m) if body.get("rows") else np.ones(m, dtype=bool)
        found = find_clusters(self.answers.scores(question), inside)
        column = {"name": "clusters", "kind": "text", "values": found.column}
        return share_repeats({"column": column, "says": found.words}, None)

    def reasons(self, body: Any) -> Any:
        """Return why one of the rows shown is put into its class."""
        question, m = read_question(body.get("question"), self.table), len(self.table.sample.chosen)
        row = checks.integer("row", body.get("row"), 0)
        if row >= m:
            raise OptionError("is not a row that is shown", argument="row", value=row, fix=f"there are {m:,}")
        return share_repeats({"charts": self.answers.reasons(question, row)}, None)

    def scores(self, body: Any) -> Any:
        """Write the scores of all rows beside the file, and return where."""
        question = read_question(body.get("question"), self.table)
        return {"path": str(write_scores(self.table, question, self.answers.fitted(question).model))}

    def scripts(self, body: Any) -> Any:
        """Return the command and the script that give the same numbers."""
        question = read_question(body.get("question"), self.table)
        model = self.answers.fitted(question).model
        return {"command": command_of(self.table, question), "python": script_of(self.table, question, model)}

    def report(self, body: Any) -> bytes:
        """Return the report of a question as one HTML file."""
        return report_of(self.table, read_question(body.get("question"), self.table))

    def quit(self, body: Any) -> Any:
        """Stop the server, once this is answered."""
        threading.Timer(0.2, self.stop).start()
        return {"stopped": True}


def _group_names(given: Any, two: bool) -> tuple[str, str]:
    """Return what two groups are called: as the page says, where it says two different names."""
    if isinstance(given, list) and len(given) == 2 and given[0] != given[1]:
        return shorten(str(given[0])), shorten(str(given[1]))
    return ("selection A", "selection B") if two else ("selection", "other rows")

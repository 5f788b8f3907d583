"""The server of the explorer: a page, and JSON answers to its questions, for this machine alone."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.errors import EigenlensError, MissingExtra, OptionError
from eigenlens.explorer.answer import ExplorerAnswers
from eigenlens.explorer.clusters import find_clusters
from eigenlens.explorer.contrast import Contrast, contrast_charts, rank_differences
from eigenlens.explorer.explored_model import SlowFit, explored_model
from eigenlens.explorer.explored_table import ExploredTable
from eigenlens.explorer.page import page_html, page_policy
from eigenlens.explorer.page_data import named_rows, page_column, page_data, weighted_rows
from eigenlens.explorer.question import Question, first_question, read_question
from eigenlens.explorer.row_part import rows_from_bits
from eigenlens.explorer.saved_report import report_of
from eigenlens.explorer.saved_scores import write_scores
from eigenlens.explorer.scripts import command_of, script_of
from eigenlens.explorer.security import LOOPBACK, MAX_BODY_BYTES, Guard, new_token
from eigenlens.reporting.packing import share_repeats
from eigenlens.tables.names import shorten

WORKERS = 2
"""Questions that are answered at once; others wait, so that memory stays bounded however many pages ask."""

Scope = MutableMapping[str, Any]
Handler = Callable[[Any], Awaitable[Any]]


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


# ---- HTTP -------------------------------------------------------------------------------------------------------

QUESTIONS = (
    "answer", "progress", "cancel", "column", "contrast", "clusters", "reasons", "scores", "scripts", "report", "quit",
)  # fmt: skip
"""What pages ask by POST, each a method of `Explorer`."""


def make_explorer_app(explorer: Explorer, guard: Guard, *, frames: bool = False) -> Any:
    """Return the application: the page, `/data` and a path for each of QUESTIONS; anything else is not found.

    frames: whether a notebook on this machine may show the page in a cell.
    """
    library = import_libraries()
    responses, routing, threads = library.responses, library.routing, library.to_thread
    limiter = library.CapacityLimiter(WORKERS)

    async def page(request: Any) -> Any:
        return responses.HTMLResponse(page_html())

    async def ask(request: Any, method: str) -> Any:
        body = await _body(request)
        if not isinstance(body, dict):
            return responses.JSONResponse({"error": "a message is a JSON object"}, 400)
        # Progress and giving up must not wait behind the fits that they are about.
        quick = method in ("progress", "cancel", "quit")
        try:
            found = getattr(explorer, method)(body) if quick else await threads.run_sync(
                getattr(explorer, method), body, limiter=limiter
            )  # fmt: skip
        except EigenlensError as error:
            return responses.JSONResponse({"error": str(error)}, 400)
        if isinstance(found, bytes):
            return responses.Response(found, media_type="text/html")
        return responses.Response(await threads.run_sync(_json, found), media_type="application/json")

    routes = [routing.Route("/", page, methods=["GET"]), routing.Route("/data", partial(ask, method="page_data"))]
    routes += [routing.Route(f"/{name}", partial(ask, method=name), methods=["POST"]) for name in QUESTIONS]
    return guarded(library.Starlette(routes=routes), guard, frames=frames)


def _json(found: Any) -> bytes:
    text = json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


async def _body(request: Any) -> Any:
    """Return the JSON of a message; None for what is not JSON or too long."""
    if request.method != "POST":
        return {}
    parts, size = [], 0
    async for part in request.stream():
        parts.append(part)
        size += len(part)
        if size > MAX_BODY_BYTES:
            return None
    try:
        return json.loads(b"".join(parts))
    except (ValueError, RecursionError):
        return None


def guarded(app: Any, guard: Guard, *, frames: bool) -> Any:
    """Return the application behind the checks of each request; its answers tell browsers to keep others out."""
    headers = [(name.encode(), value.encode()) for name, value in answer_headers(frames).items()]

    async def checked(scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await app(scope, receive, send)
            return
        given = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        query = scope["query_string"].decode("latin-1")
        refusal = guard.check(scope["method"], scope["path"], query, given)

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *headers]
            await send(message)

        if refusal is None:
            await app(scope, receive, send_with_headers)
            return
        content = _json({"error": refusal.reason})
        start = {"type": "http.response.start", "status": refusal.status,
                 "headers": [(b"content-type", b"application/json")]}  # fmt: skip
        await send_with_headers(start)
        await send({"type": "http.response.body", "body": content})

    return checked


def answer_headers(frames: bool) -> dict[str, str]:
    """Return the headers of each answer: what the page may load, and who may show it in a frame."""
    around = "http://localhost:* http://127.0.0.1:*" if frames else "'none'"
    return {
        "Content-Security-Policy": f"{page_policy()}; frame-ancestors {around}",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


def import_libraries() -> Any:
    """Return the parts of Starlette, of the AnyIO below it, and of Uvicorn that the server needs."""
    try:
        import uvicorn
        from anyio import CapacityLimiter, to_thread
        from starlette import responses, routing
        from starlette.applications import Starlette
    except ImportError as error:
        raise MissingExtra(
            (error.name or "starlette").partition(".")[0], extra="explore", need="the explorer"
        ) from None
    return SimpleNamespace(
        uvicorn=uvicorn, CapacityLimiter=CapacityLimiter, to_thread=to_thread, responses=responses, routing=routing,
        Starlette=Starlette,
    )  # fmt: skip


class ExplorerServer:
    """A server on a free port of this machine: `run` until it is stopped, or `start` it in a thread."""

    def __init__(self, explorer: Explorer, *, port: int = 0, token: str | None = None, frames: bool = False) -> None:
        uvicorn = import_libraries().uvicorn
        self._socket = socket.create_server((LOOPBACK, port))
        self.guard = Guard(self._socket.getsockname()[1], token or new_token())
        app = make_explorer_app(explorer, self.guard, frames=frames)
        config = uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=2, ws="none")
        self._server = uvicorn.Server(config)
        explorer.stop = self.stop

    def run(self) -> None:
        """Answer until an interrupt, or until the page asks to stop."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def start(self) -> threading.Thread:
        """Answer in a thread of its own, which ends with the process."""
        thread = threading.Thread(target=self.run, name="eigenlens explorer", daemon=True)
        thread.start()
        while not self._server.started and thread.is_alive():
            time.sleep(0.01)
        return thread

    def stop(self) -> None:
        """Stop once the requests under way are answered."""
        self._server.should_exit = True

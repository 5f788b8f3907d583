"""The server of the explorer: a page, and JSON answers to its questions, for this machine alone."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import Future
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from eigenlens.errors import EigenlensError, MissingExtra, OptionError
from eigenlens.explorer.page import page_html, page_policy
from eigenlens.explorer.security import LOOPBACK, MAX_BODY_BYTES, Guard, new_token

if TYPE_CHECKING:
    from eigenlens.explorer.explorer import Explorer

WORKERS = 2
"""Questions that are answered at once; others wait, so that memory stays bounded however many pages ask."""

Scope = MutableMapping[str, Any]
Handler = Callable[[Any], Awaitable[Any]]

QUESTIONS = (
    "answer", "progress", "cancel", "column", "contrast", "clusters", "reasons", "scores", "scripts", "report", "quit",
)  # fmt: skip
"""What pages ask by POST, each a method of `Explorer`."""


def make_explorer_app(loading: Future[Explorer], guard: Guard, *, frames: bool = False) -> Any:
    """Return the application: the page, `/data` and a path for each of QUESTIONS; anything else is not found.

    loading: what answers, once its libraries are imported. frames: whether a notebook on this machine may show the page
        in a cell.
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
        explorer = await asyncio.wrap_future(loading)
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


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        what = f"cannot be listened at ({os.strerror(error.errno or 0).lower()})"
        raise OptionError(what, argument="port", value=port, fix="give another one, or none for a free one") from None


class ExplorerServer:
    """A server on a free port of this machine: `run` until it is stopped, or `start` it in a thread.

    What answers is made by `make_explorer` in a thread of its own, so that a page can be loaded while that imports the
    models; its questions wait.
    """

    def __init__(
        self, make_explorer: Callable[[], Explorer], *, port: int = 0, token: str | None = None, frames: bool = False
    ) -> None:
        uvicorn = import_libraries().uvicorn
        self._socket = _listen(port)
        self.guard = Guard(self._socket.getsockname()[1], token or new_token())
        self._make_explorer = make_explorer
        self._loading: Future[Explorer] = Future()
        app = make_explorer_app(self._loading, self.guard, frames=frames)
        config = uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=2, ws="none")
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Answer until an interrupt, or until the page asks to stop."""
        threading.Thread(target=self._load, name="eigenlens explorer imports", daemon=True).start()
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def _load(self) -> None:
        self._loading.set_running_or_notify_cancel()  # a request that is given up does not cancel it
        try:
            explorer = self._make_explorer()
            explorer.stop = self.stop
            self._loading.set_result(explorer)
        except BaseException as error:
            self._loading.set_exception(error)

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

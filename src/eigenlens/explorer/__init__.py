"""The explorer: a local page on which columns, roles, model and options are chosen, and the plots follow at once.

`question` is what a page asks, a frozen value; `explored_table` holds the moments and a sample of the rows; `answer`
makes charts of both, by an eigenproblem of d × d and not a pass over the rows; `explorer` has an answer
for each kind of request, and `server` lets pages of this machine ask.
"""

from __future__ import annotations

import sys
import webbrowser
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any

from eigenlens.errors import MissingExtra

if TYPE_CHECKING:
    from eigenlens.explorer.explored_table import ExploredTable
    from eigenlens.explorer.explorer import Explorer
    from eigenlens.explorer.server import ExplorerServer


@dataclass(frozen=True)
class Exploration:
    """A page that is being served: its link, and how to stop it. In a notebook it is shown in the cell."""

    server: ExplorerServer
    thread: Thread

    @property
    def link(self) -> str:
        """The address of the page, with its token."""
        return self.server.guard.link

    def stop(self) -> None:
        """Stop the server, and wait until it has."""
        self.server.stop()
        self.thread.join()

    def __repr__(self) -> str:
        return f"Exploration at {self.link}"

    def _repr_html_(self) -> str:
        return (
            f'<iframe src="{self.link}" title="Eigenlens explorer" width="100%" height="900" style="border:0"></iframe>'
        )


def explore(X: Any, *, wait: bool | None = None, browser: bool = True) -> Exploration:
    """Explore a table: open a local page on which columns, roles, model and options change the plots at once.

    The page is served to this machine alone, by a link with a token; nothing is written unless it is saved from the
    page. Only X, or the file, is read. Needs the extra `explore`.

    Args:
        X: the path of a file of any kind that `scan` reads, or rows as estimators take them, columns of text included.
        wait: whether to return only when the page is stopped, by its button or an interrupt; by default so, except in a
            notebook, where the page is shown in the cell.
        browser: whether to open the page in a browser, unless it is shown in a notebook.
    """
    notebook = _in_notebook()
    server = _serve(X, notebook)
    found = Exploration(server, server.start())
    if browser and not notebook:
        webbrowser.open(found.link)
    if not notebook if wait is None else wait:
        print(f"exploring at {found.link} until Ctrl-C", file=sys.stderr)
        try:
            found.thread.join()
        except KeyboardInterrupt:
            found.stop()
    return found


def _serve(X: Any, frames: bool) -> ExplorerServer:
    """Return the server of a table; the libraries that it needs, beside those of all models, are imported here."""
    try:
        from eigenlens.explorer.explored_table import open_explored
        from eigenlens.explorer.server import ExplorerServer
    except ModuleNotFoundError as error:
        raise MissingExtra(str(error.name), extra="explore", need="the explorer") from None
    return ExplorerServer(partial(make_explorer, open_explored(X)), frames=frames)


def make_explorer(table: ExploredTable, command: str = "") -> Explorer:
    """Return what answers pages about a table; the models that they ask for first are imported here."""
    from eigenlens.explorer.explorer import Explorer

    return Explorer(table, command)


def _in_notebook() -> bool:
    """Return whether the program runs in the kernel of a notebook, which shows values as HTML."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")

"""`eigenlens explore`: a local page on which columns, roles, model and options change the plots at once."""

from __future__ import annotations

import shlex
import webbrowser
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from eigenlens.cli.errors import fail, warning_line
from eigenlens.cli.files import require_files
from eigenlens.cli.options import ParsingOptions, ReadingOptions, RunningOptions, takes
from eigenlens.cli.output import command_line
from eigenlens.cli.session import session
from eigenlens.explorer import make_explorer
from eigenlens.tables.text_table import count_noun


@takes(parsing=ParsingOptions, running=RunningOptions)
def explore_file(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A table: CSV, Parquet, Excel or another that fit reads.")
    ],
    parsing: ParsingOptions,
    running: RunningOptions,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", metavar="", help="Open the page in a browser. Default: yes.")
    ] = True,
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65_535, help="The port of the page. Default: a free one.")
    ] = 0,
) -> None:
    """Explore a table: choose columns, model and options on a local page, and see the plots change.

    The page is served to this machine alone, by a link with a token. Columns are dragged to a role; the number of
    components, scaling, rotation and the plane change at once, and every step can be undone. What you see is saved as a
    report, as SVG and CSV, and as the command and the Python script that give the same numbers. Nothing is written
    without a click. The command ends with Ctrl-C, or with the button Stop of the page.
    """
    require_files([file])
    from eigenlens.explorer.explored_table import open_explored
    from eigenlens.explorer.server import ExplorerServer

    if not Path(file).is_file():
        fail(f"{file!r} is not a file that can be read again and again", "give the path of a table", "data")
    with session(running) as now:
        reading = ReadingOptions(**vars(parsing))
        with now.progress("reading") as progress:
            table = open_explored(file, reading=reading, progress=progress)
        now.say("read", f"{file}: {count_noun(table.n, 'row')}, {count_noun(len(table.columns), 'column')}")
        now.say("note", *(warning_line(each) for each in table.decisions))
        if running.dry_run:
            return now.show_plan("serve a page to this machine")
        command = command_line() or shlex.join(["eigenlens", "explore", file])
        server = ExplorerServer(partial(make_explorer, table, command), port=port)
        with suppress(KeyboardInterrupt):  # the usual end, also right after the link is printed
            now.say("open", server.guard.link)
            now.say("stop", "with Ctrl-C, or with the button Stop of the page")
            if browser:
                webbrowser.open(server.guard.link)
            server.run()
        now.say("stopped", "nothing was written except what the page has saved")
    return None

"""A server of the explorer for the tests of this folder; without its libraries they are skipped, and say so aloud."""

from __future__ import annotations

import importlib.util

import pytest

SKIPPED = "EXPLORER TESTS SKIPPED"


def missing() -> str:
    """What the tests of the server lack, or nothing."""
    lacking = [name for name in ("starlette", "uvicorn", "polars") if importlib.util.find_spec(name) is None]
    return f"{', '.join(lacking)} not installed (pip install 'eigenlens[explore]')" if lacking else ""


@pytest.fixture
def serve():
    """Serve a file or rows: `serve(path)` gives the server and what its requests share."""
    if missing():
        pytest.skip(f"{SKIPPED}: {missing()}")
    from eigenlens.explorer.explored_table import open_explored
    from eigenlens.explorer.explorer import Explorer
    from eigenlens.explorer.server import ExplorerServer

    running = []

    def served(given, **more):
        explorer = Explorer(open_explored(given), command="eigenlens explore")
        server = ExplorerServer(lambda: explorer, **more)
        running.append((server, server.start()))
        return server, explorer

    yield served
    for server, thread in running:
        server.stop()
        thread.join(10.0)
        assert not thread.is_alive(), "the server did not stop"


def pytest_unconfigure(config):
    """Report at the very end which tests were skipped."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skipped = [] if reporter is None else reporter.stats.get("skipped", [])
    count = sum(SKIPPED in str(report.longrepr) for report in skipped)
    if count:
        reporter.write_sep("!", f"{SKIPPED}: {count} of them, as {missing()}", red=True, bold=True)

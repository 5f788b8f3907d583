"""A real browser for the tests of this folder; without one they are skipped, and the last lines say so aloud."""

from __future__ import annotations

import importlib.util
import shutil

import pytest

pytest.register_assert_rewrite("browser.visitor")
from browser.visitor import FLAGS, Visit  # noqa: E402
from explorer.conftest import serve  # noqa: E402, F401

SKIPPED = "BROWSER TESTS SKIPPED"


def missing() -> str:
    """What the browser tests lack, or nothing."""
    if importlib.util.find_spec("playwright") is None:
        return "Python's playwright is not installed (pip install 'eigenlens[browser]')"
    return "" if shutil.which("chromium") else "there is no chromium on the path (apt-get install chromium)"


@pytest.fixture(scope="module")
def chromium():
    """A browser for the tests of a module: playwright keeps an event loop, which other tests must not meet."""
    if missing():
        pytest.skip(f"{SKIPPED}: {missing()}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium):
    """Open a file: `visit(path, width=…, scheme=…)`. Nothing may be complained of, or asked for."""
    visits = []

    def opened(path, **more):
        visits.append(Visit(chromium, path, **more))
        return visits[-1]

    yield opened
    for each in visits:
        each.leave()


@pytest.fixture
def wine(tmp_path):
    from browser.explorer_visit import FRAME

    FRAME.to_csv(tmp_path / "wine.csv", index=False)
    return tmp_path / "wine.csv"


@pytest.fixture
def explore(serve, visit):  # noqa: F811
    """Open the page of a table, and wait until it is drawn: `explore(path, width=…, scheme=…)`."""

    def opened(given, *, drawn=True, **more):
        from browser.explorer_visit import answered

        server, _ = serve(given)
        seen = visit(server.guard.link, **more)
        if drawn:
            answered(seen, 1)
        return seen

    return opened


def pytest_unconfigure(config):
    """Report at the very end which tests were skipped."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skipped = [] if reporter is None else reporter.stats.get("skipped", [])
    count = sum(SKIPPED in str(report.longrepr) for report in skipped)
    if count:
        reporter.write_sep("!", f"{SKIPPED}: {count} of them, as {missing()}", red=True, bold=True)

"""The fixture `accuracy`: comparisons with other systems for the page of accuracy. Interrupts and grids of cases."""

from __future__ import annotations

import importlib
import signal
from collections import defaultdict

import pytest

import recording

RECORDS = pytest.StashKey[dict]()


def pytest_addoption(parser):
    parser.addoption("--record-accuracy", action="store_true", help=f"write the comparisons to {recording.FILE.name}")


def pytest_configure(config):
    config.stash[RECORDS] = {}
    # In the background of a shell they are ignored, also by the programs that tests start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the cases of a grid as `long`, except the `few` that are spread over it."""
    grids = defaultdict(list)
    for item in items:
        if item.get_closest_marker("few"):
            grids[item.nodeid.split("[")[0]].append(item)
    for cases in grids.values():
        n = min(cases[0].get_closest_marker("few").args[0], len(cases))
        kept = {len(cases) * i // n for i in range(n)}
        for i in set(range(len(cases))) - kept:
            cases[i].add_marker("long")


@pytest.fixture
def accuracy(request):
    """Compare with a reference through this, and the comparison is on the page of accuracy."""
    recorded = request.config.getoption("--record-accuracy")
    known = None if recorded else {(old["what"], old["system"]) for old in recording.read()}
    test = request.node.nodeid.split("[")[0]
    return recording.Accuracy(test, request.config.stash[RECORDS], known)


def pytest_sessionfinish(session, exitstatus):
    records = session.config.stash[RECORDS]
    if session.config.getoption("--record-accuracy") and records:
        whole = not session.config.args or {"tests"} <= {str(each) for each in session.config.args}
        recording.write(records, whole and exitstatus == 0)


@pytest.fixture(params=["torch", "array_api_strict"])
def library(request):
    """Provide each library of tensors; tests of one that is not installed are skipped, with the reason."""
    try:
        return importlib.import_module(request.param)
    except ImportError:
        pytest.skip(f"{request.param} is not installed, so nothing was tested about its arrays")

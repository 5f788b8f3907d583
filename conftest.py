"""For every test and doctest: figures are closed, so that none of them meets those of another."""

import sys

import pytest


@pytest.fixture(autouse=True)
def close_figures_after_each():
    """Close every figure."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")

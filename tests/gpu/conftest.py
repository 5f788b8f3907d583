"""Tests of tensors on a device: those marked `cuda` need one, and the others run its code with tensors in memory."""

from __future__ import annotations

import pytest

from eigenlens.gpu import runtime

REASON = "no CUDA device was found, so nothing was tested on one"


def pytest_collection_modifyitems(items):
    """Skip the tests that need a device where there is none, and say so."""
    if not has_cuda():
        for item in items:
            if item.get_closest_marker("cuda"):
                item.add_marker(pytest.mark.skip(reason=REASON))


def has_cuda():
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


@pytest.fixture
def as_if_on_device(monkeypatch):
    """Treat tensors in the processor's memory as if they were on a device."""
    monkeypatch.setattr(runtime, "PROCESSORS", set())

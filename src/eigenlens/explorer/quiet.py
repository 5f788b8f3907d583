"""Fits of several threads without warnings on standard error: a page derives its remarks from the moments."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

_LOCK = Lock()
_USERS: list[Any] = []


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore warnings while any thread is inside; the first one in saves the filters, the last one out restores them.

    `warnings.catch_warnings` alone would restore them in the order of the threads' ends, which may be any.
    """
    with _LOCK:
        if not _USERS:
            _USERS.append(warnings.filters[:])
            warnings.simplefilter("ignore")
        _USERS.append(None)
    try:
        yield
    finally:
        with _LOCK:
            _USERS.pop()
            if len(_USERS) == 1:
                warnings.filters[:] = _USERS.pop()  # type: ignore[index]
                warnings._filters_mutated()  # type: ignore[attr-defined]

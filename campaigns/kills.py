"""Processes killed at a random moment while they save: the old file or the new one is whole, and nothing stays.

A case starts a process that saves two versions of a file in turn, a model, a report or a table, over and over, kills
it, and compares the file with both. Then something else is saved in the same folder, after which only files that were
asked for may be there. Processes are forks, which start at once; so tables are written without Polars, whose threads
would not survive that.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import eigenlens
from campaigns.base import Outcome, Result, case_rng
from eigenlens.cli.files import write_table
from eigenlens.cli.options import RunningOptions
from eigenlens.reporting import report

LIMIT = 120.0
MOST_SECONDS = 0.2
"""The longest time that a process saves before it is killed."""


@cache
def _density(version: int) -> Any:
    rows = np.random.default_rng(version).normal(size=(100_000, 2))
    return eigenlens.KernelDensity(bandwidth=1.0).fit(rows)


@cache
def _components(version: int) -> tuple[Any, Any]:
    rows = np.random.default_rng(version).normal(size=(30, 3))
    return eigenlens.PCA(2).fit(rows), rows


def _save_report(path: Path, version: int) -> None:
    model, rows = _components(version)
    report({"components": model}, rows, path=path)


def _save_table(path: Path, version: int) -> None:
    numbers = np.random.default_rng(version).normal(size=(3, 20_000))
    now: Any = SimpleNamespace(running=RunningOptions(), check_interrupt=lambda: None)
    write_table({f"x{j}": column for j, column in enumerate(numbers)}, path, now)


FILES: dict[str, Callable[[Path, int], Any]] = {
    "model.safetensors": lambda path, version: _density(version).save(path),
    "report.html": _save_report,
    "table.npy": _save_table,
    "table.json": _save_table,
}
"""The files that are saved, and how."""


def describe(seed: int, number: int) -> str:
    """Return the line that repeats a case."""
    return f"python -m campaigns kills --seed {seed} --first {number} --cases 1 --show"


def run_case(seed: int, number: int) -> Result:
    """Kill a process that saves, and look at what it leaves."""
    rng = case_rng(seed, number)
    name, seconds = str(rng.choice(list(FILES))), float(rng.uniform(0.0, MOST_SECONDS))
    call = f"{describe(seed, number)}  # {name}, after {seconds:.3f} s"
    with tempfile.TemporaryDirectory() as folder:
        path, other = Path(folder) / name, Path(folder) / f"other-{name}"
        FILES[name](path, 0)
        _save_and_kill(path, seconds)
        left = len(list(Path(folder).iterdir())) - 1
        if _content(path) not in (_reference(name, 0), _reference(name, 1)):
            return Result(Outcome.WRONG, call, "the file is neither the old one nor the new one")
        FILES[name](other, 0)
        stays = {found.name for found in Path(folder).iterdir()} - {name, other.name}
    if stays:
        return Result(Outcome.WRONG, call, f"stays after the next save: {', '.join(stays)}")
    return Result(Outcome.OK, call, f"left {left}, which the next save removed")


def _save_and_kill(path: Path, seconds: float) -> None:
    """Let a process save both versions of a file in turn, for some seconds from its start on."""
    child = os.fork()
    while not child:
        for version in (1, 0):
            FILES[path.name](path, version)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


@cache
def _reference(name: str, version: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        FILES[name](Path(folder) / name, version)
        return _content(Path(folder) / name)


def _content(path: Path) -> bytes:
    """Return what a file holds, without its own folder, which a report has in its code."""
    return path.read_bytes().replace(str(path.parent).encode(), b"")

"""Time and memory of contestants: interleaved repeats in one process, and fresh processes for peak memory and files."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import peers
from peers import Fit

PAUSE = 0.1
"""Seconds before each fit, so that the idle threads of the last contestant have gone to sleep."""


@dataclass
class Measured:
    """What became of one contestant: its times, its last fit, its memory in bytes, or why it failed."""

    name: str
    times: list[float] = field(default_factory=list)
    fit: Fit = field(default_factory=lambda: Fit(np.zeros(0)))
    error: float = float("nan")
    extra: float = float("nan")
    peak: float = float("nan")
    failure: str = ""

    @property
    def seconds(self) -> float:
        """The best time; of a part of the rows, scaled to all of them."""
        return min(self.times, default=float("nan")) / self.fit.share


@dataclass(frozen=True)
class Settings:
    """How to run.

    Attributes:
        folder: where files go.
        small: the small sizes, to try the benchmark itself.
        repeat: fits of each contestant.
        patience: seconds after which a contestant is not run again.
        share: of the rows, for peers that would take minutes.
        memory: whether to measure it, in fresh processes.
    """

    folder: Path
    small: bool = False
    repeat: int = 5
    patience: float = 30.0
    share: float = 0.1
    memory: bool = True


def say(text: str) -> None:
    """Progress, away from the table."""
    print(text, file=sys.stderr, flush=True)


def race(names: tuple[str, ...], X: Any, k: int | float, settings: Settings) -> dict[str, Measured]:
    """Fit all contestants to the same rows in turn, several times over."""
    results = {name: Measured(name) for name in names}
    given = {name: _attempt(results[name], peers.ready, name, X, k) for name in names}
    for _ in range(settings.repeat):
        for result in results.values():
            if not result.failure and sum(result.times) <= settings.patience:
                _once(result, given[result.name], k)
    return results


def _attempt(result: Measured, work: Callable[..., Any], *given: Any) -> Any:
    """A contestant that fails is named in the table; the others go on."""
    try:
        return work(*given)
    except Exception as error:
        result.failure = f"{type(error).__name__}: {error}".splitlines()[0][:160]
        return None


def _once(result: Measured, X: Any, k: int | float) -> None:
    gc.collect()
    time.sleep(PAUSE)
    start = time.perf_counter()
    fit = _attempt(result, peers.CONTESTANTS[result.name], X, k)
    seconds = time.perf_counter() - start
    if fit is None:
        return
    result.fit = fit
    result.times.append(seconds)
    say(f"    {result.name:<30} {result.times[-1]:9.3f} s  {result.fit.note}")


def weigh(results: dict[str, Measured], X: Any, k: int | float, settings: Settings) -> None:
    """Extra peak memory of each contestant, in a fresh process that has the rows in memory already."""
    path = settings.folder / ("rows.npz" if sparse.issparse(X) else "rows.npy")
    if sparse.issparse(X):
        sparse.save_npz(path, X, compressed=False)
    else:
        np.save(path, X)
    for result in results.values():
        answer = {} if result.failure else fresh(result.name, path, k, load=True)
        result.extra, result.peak = answer.get("extra", np.nan), answer.get("peak", np.nan)
    path.unlink()


def race_files(entries: dict[str, tuple[Path, dict[str, Any]]], k: int, settings: Settings) -> dict[str, Measured]:
    """The same for contestants that read files: every fit in a process of its own. entries: name → (path, options)."""
    results = {name: Measured(name) for name in entries}
    for _ in range(settings.repeat):
        for name, (path, options) in entries.items():
            if not results[name].failure and sum(results[name].times) <= settings.patience:
                _file_once(results[name], fresh(name, path, k, **options))
    return results


def _file_once(result: Measured, answer: dict[str, Any]) -> None:
    if "failure" in answer:
        result.failure = answer["failure"]
        return
    result.times.append(answer["seconds"])
    result.peak = np.fmax(result.peak, answer["peak"])
    result.fit = Fit(np.array(answer["variances"]), answer["note"], answer["passes"], answer["share"])
    say(f"    {result.name:<30} {answer['seconds']:9.3f} s  peak {answer['peak'] / 1e6:,.0f} MB  {answer['note']}")


def fresh(name: str, path: Path, k: int | float, *, load: bool = False, **options: Any) -> dict[str, Any]:
    """Run fresh.py for one fit and read its answer."""
    request = json.dumps({"name": name, "path": str(path), "k": k, "load": load, "options": options})
    script = Path(__file__).with_name("fresh.py")
    done = subprocess.run([sys.executable, str(script), request], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"ended with status {done.returncode}"]
        say(f"    {name}: {lines[-1][:160]}")
        return {"failure": lines[-1][:160]}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer

"""Contests that are judged by figures of their own: log-likelihoods, errors of imputation, accuracies.

A contest makes its data from a seed, lets every contestant work on it in turn, several times over, and prints the best
time of each beside its figures. Contestants in R time themselves, without starting R or reading the data.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import platform
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import results as kept
from machine import describe_machine
from measure import PAUSE, say
from table import seconds


@dataclass(frozen=True)
class Timed:
    """What a contestant found, with the seconds that it measured itself, and what to say of them."""

    seconds: float
    found: Any
    note: str = ""


@dataclass
class Result:
    """What became of one contestant: its times, its figures by name, or why it failed."""

    name: str
    times: list[float] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)
    failure: str = ""
    note: str = ""

    @property
    def seconds(self) -> float:
        return min(self.times, default=float("nan"))


@dataclass(frozen=True)
class Verdict:
    """What was asked, what came, and whether the one meets the other; None where it was not measured."""

    asked: str
    came: str
    met: bool | None


Results = dict[str, Result]
Target = Callable[[Results], Verdict]


@dataclass(frozen=True)
class Contest:
    """One kind of work.

    Attributes:
        make: whether small → the data. contestants: name → (data → what was found), the first of them ours.
        judge: (data, what was found) → figures by name. targets: what ours is asked to reach.
    """

    title: str
    make: Callable[[bool], Any]
    contestants: dict[str, Callable[[Any], Any]]
    judge: Callable[[Any, Any], dict[str, float]]
    targets: tuple[Target, ...]


# ---- targets ---------------------------------------------------------------------------------------------------


def own(results: Results) -> Result:
    """Ours: the first."""
    return next(iter(results.values()))


def faster(factor: float, than: str) -> Target:
    """At least `factor` times as fast as the contestant of this name."""

    def judge(results: Results) -> Verdict:
        asked, peer = f"≥ {factor:g}× {than}", results.get(than)
        if peer is None or not peer.times or not own(results).times:
            return Verdict(asked, "not measured", None)
        ratio = peer.seconds / own(results).seconds
        return Verdict(asked, f"{ratio:.1f}×", ratio >= factor)

    return judge


def within(factor: float, name: str) -> Target:
    """At most `factor` times the time of the contestant of this name."""

    def judge(results: Results) -> Verdict:
        asked, other = f"time ≤ {factor:g}× {name}", results.get(name)
        if other is None or not other.times:
            return Verdict(asked, "not measured", None)
        ratio = own(results).seconds / other.seconds
        return Verdict(asked, f"{ratio:.2f}×", ratio <= factor)

    return judge


def highest(figure: str, slack: float = 0.0) -> Target:
    """At least every other contestant's figure of this name, but for a slack that rounding explains."""

    def judge(results: Results) -> Verdict:
        asked = f"{figure} at least every peer's"
        others = [r.figures[figure] for r in list(results.values())[1:] if figure in r.figures]
        if not others or figure not in own(results).figures:
            return Verdict(asked, "not measured", None)
        lead = own(results).figures[figure] - max(others)
        return Verdict(asked, f"{lead:+.3g}", lead >= -slack)

    return judge


def at_most(figure: str, most: float) -> Target:
    """Our figure of this name is no larger than this."""

    def judge(results: Results) -> Verdict:
        value = own(results).figures.get(figure)
        came = "not measured" if value is None else f"{value:.3g}"
        return Verdict(f"{figure} ≤ {most:g}", came, None if value is None else value <= most)

    return judge


# ---- running ---------------------------------------------------------------------------------------------------


def race(contest: Contest, *, small: bool, repeat: int, patience: float) -> Results:
    """All contestants in turn on the same data."""
    given = contest.make(small)
    results = {name: Result(name) for name in contest.contestants}
    for _ in range(repeat):
        for name, work in contest.contestants.items():
            if not results[name].failure and sum(results[name].times) <= patience:
                _once(results[name], work, given, contest.judge)
    return results


def _once(
    result: Result, work: Callable[[Any], Any], given: Any, judge: Callable[[Any, Any], dict[str, float]]
) -> None:
    """A contestant that fails is named in the table; the others go on."""
    gc.collect()
    time.sleep(PAUSE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            found = work(given)
            took = time.perf_counter() - start
        if isinstance(found, Timed):
            result.note = found.note
            found, took = found.found, found.seconds
        if not result.figures:
            result.figures = judge(given, found)
    except Exception as error:
        result.failure = f"{type(error).__name__}: {error}".splitlines()[0][:160]
        say(f"    {result.name:<32} {result.failure}")
        return
    result.times.append(took)
    say(f"    {result.name:<32} {took:9.4f} s  " + "  ".join(f"{k} {v:.8g}" for k, v in result.figures.items()))


def in_r(script: str, *arrays: np.ndarray, runs: int = 3) -> Timed:
    """Run R on matrices A1, A2, …: `script` assigns a list of matrices to `found`; the best of some runs counts."""
    program = shutil.which("Rscript")
    if program is None:
        raise FileNotFoundError("Rscript is not installed")
    with tempfile.TemporaryDirectory(prefix="eigenlens-r-") as folder:
        lines = [f"setwd('{folder}')"]
        for i, A in enumerate(arrays, start=1):
            A = np.atleast_2d(np.asarray(A, dtype=np.float64))
            A.T.tofile(Path(folder) / f"A{i}.bin")
            lines.append(f"A{i} <- matrix(readBin('A{i}.bin', 'double', {A.size}), {A.shape[0]}, {A.shape[1]})")
            lines.append(f"A{i}[is.nan(A{i})] <- NA")
        lines += [
            "best <- Inf",
            f"for (run in 1:{runs}) {{ t <- system.time({{ {script} }})[['elapsed']]; best <- min(best, t) }}",
            "for (i in seq_along(found)) { m <- as.matrix(found[[i]]); cat(dim(m), '\\n');",
            "  writeBin(as.vector(m), paste0('F', i, '.bin')) }",
            "cat(best, '\\n')",
        ]
        (Path(folder) / "script.R").write_text("\n".join(lines))
        done = subprocess.run([program, str(Path(folder) / "script.R")], capture_output=True, text=True, check=False)
        if done.returncode:
            said = [line for line in done.stderr.strip().splitlines() if line != "Execution halted"]
            raise RuntimeError((said or ["R failed"])[-1])
        shapes = [tuple(map(int, line.split())) for line in done.stdout.splitlines()[-len_found(done.stdout) - 1 : -1]]
        found = [
            np.fromfile(Path(folder) / f"F{i}.bin").reshape(shape[::-1]).T for i, shape in enumerate(shapes, start=1)
        ]
        return Timed(float(done.stdout.split()[-1]), found)


def len_found(text: str) -> int:
    """How many of the last lines but one hold two integers: the shapes that R printed."""
    lines = text.splitlines()[:-1]
    count = 0
    while count < len(lines) and len(lines[-count - 1].split()) == 2:
        count += 1
    return count


def part(work: Callable[[Any], Any], given: Any, share: float, of: str) -> Timed:
    """A contestant that would take minutes, on a part of the work; its time is scaled to all of it."""
    start = time.perf_counter()
    found = work(given)
    return Timed((time.perf_counter() - start) / share, found, f"extrapolated from {share:.0%} of the {of}")


# ---- the table -------------------------------------------------------------------------------------------------


def collected(name: str, lines: list[tuple[Contest, Results]], peers: tuple[str, ...], small: bool) -> kept.Found:
    """The run as a value: targets, then every contestant."""
    found = ", ".join(f"{library} {_version(library)}" for library in ("eigenlens", "numpy", "scipy", *peers))
    summary = [
        (contest.title, _came(contest, results), "not judged at this size" if small else _verdict(contest, results))
        for contest, results in lines
    ]
    return {
        "name": name,
        "date": kept.today(),
        "machine": describe_machine(),
        "versions": f"Python {platform.python_version()}, {found}.",
        "remarks": [],
        "summary": kept.table(("work", "target: what came", "verdict"), summary),
        "contestants": kept.table(
            ("work", "contestant", "best time", "runs", "its time / ours", "figures"),
            [_row(contest, results, result) for contest, results in lines for result in results.values()],
        ),
        "folded": {},
    }


def _version(name: str) -> str:
    if name == "R":
        program = shutil.which("R")
        text = subprocess.run([program, "--version"], capture_output=True, text=True).stdout if program else ""
        return text.split()[2] if text else "not installed"
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return (
            str(getattr(importlib.import_module(name), "__version__", "?")) if name == "eigenlens" else "not installed"
        )


def _came(contest: Contest, results: Results) -> str:
    return "; ".join(f"{verdict.asked}: {verdict.came}" for verdict in (target(results) for target in contest.targets))


def _verdict(contest: Contest, results: Results) -> str:
    words = {False: "missed", None: "not judged"}
    verdicts = [target(results) for target in contest.targets]
    return "; ".join(f"{words[v.met]}: {v.asked}" for v in verdicts if v.met is not True) or "met"


def _row(contest: Contest, results: Results, result: Result) -> tuple[str, ...]:
    ratio = f"{result.seconds / own(results).seconds:.2f}" if result.times and own(results).times else "—"
    figures = ", ".join(f"{name} {value:.8g}" for name, value in result.figures.items())
    figures += f"; {result.note}" if result.note else ""
    return (
        contest.title, result.name, seconds(result.seconds), str(len(result.times)), ratio,
        f"failed: {result.failure}" if result.failure else figures,
    )  # fmt: skip


def main(contests: dict[str, Contest], about: str | None, marker: str, peers: tuple[str, ...]) -> None:
    """The command line of a module of contests."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(contests), default=list(contests), metavar="NAME",
                        help="contests to run: " + ", ".join(contests))  # fmt: skip
    parser.add_argument("--scale", choices=("full", "small"), default="full")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each contestant; the best counts (default 5)")
    parser.add_argument("--patience", type=float, default=30.0,
                        help="seconds after which a contestant is not run again (default 30)")  # fmt: skip
    parser.add_argument("--write", action="store_true", help="keep the run in benchmarks/results and README.md")
    options = parser.parse_args()
    if options.write and (options.scale != "full" or set(options.only) != set(contests)):
        parser.error("--write keeps whole tables only: leave out --scale small and --only.")
    small, lines = options.scale == "small", []
    for name in options.only:
        say(f"{name}: {contests[name].title}")
        lines.append(
            (contests[name], race(contests[name], small=small, repeat=options.repeat, patience=options.patience))
        )
    found = collected(marker, lines, peers, small)
    print(kept.markdown(found))
    if options.write:
        kept.write(found)

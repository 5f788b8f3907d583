"""Results as tables: one line a case against its targets, then one line a contestant."""

from __future__ import annotations

import platform
from dataclasses import dataclass

import numpy as np

import peers
import results
from cases import Case
from eigenlens.native.runtime import active
from machine import Machine
from measure import Measured
from targets import Results, Verdict, fastest, ours

SUMMARY = (
    "work", "Eigenlens", "solver", "best peer", "× best peer", "max rel. error", "memory", "limit", "of the limit",
    "target: what came", "verdict",
)  # fmt: skip
CONTESTANTS = ("work", "contestant", "best time", "runs", "its time / ours", "max rel. error", "memory", "note")


@dataclass(frozen=True)
class Line:
    """A case that was run: results, bytes of the rows, seconds at the machine's limit, and the true variances."""

    case: Case
    results: Results
    size: float
    limit: float
    truth: np.ndarray
    small: bool

    @property
    def verdicts(self) -> list[Verdict]:
        return [target(self.results, self.size) for target in self.case.targets]


def collected(lines: list[Line], machine: Machine, absent: dict[str, str]) -> results.Found:
    """The run as a value, which `results` writes and turns into Markdown."""
    found = ", ".join(f"{library} {version}" for library, version in peers.versions().items())
    missing = "; ".join(f"{library} ({reason})" for library, reason in absent.items())
    return {
        "name": "table",
        "date": results.today(),
        "machine": str(machine),
        "versions": f"Python {platform.python_version()}, {found}; kernels: {active()}.",
        "remarks": [f"Left out, because they could not be imported here: {missing}."] if absent else [],
        "summary": results.table(SUMMARY, [_summary_row(line) for line in lines]),
        "contestants": results.table(
            CONTESTANTS, [_detail_row(line, result) for line in lines for result in line.results.values()]
        ),
        "folded": dict(_every(line) for line in lines if line.case.show_all),
    }


def _summary_row(line: Line) -> tuple[str, ...]:
    own, peer = ours(line.results), fastest(line.results)
    ratio = f"{peer.seconds / own.seconds:.2f}×" if peer and own.times else "—"
    verdicts = line.verdicts
    return (
        line.case.title(line.small), seconds(own.seconds), own.fit.note or own.failure or "—",
        f"{peer.name} {seconds(peer.seconds)}" if peer else "none ran", ratio, error(own), memory(own),
        seconds(line.limit), f"{line.limit / own.seconds:.0%}" if own.times else "—",
        "; ".join(f"{verdict.asked}: {verdict.came}" for verdict in verdicts),
        "not judged at this size" if line.small else _verdict(verdicts),
    )  # fmt: skip


def _verdict(verdicts: list[Verdict]) -> str:
    """ "met", or what was missed or could not be judged."""
    words = {False: "missed", None: "not judged"}
    parts = [f"{words[verdict.met]}: {verdict.asked}" for verdict in verdicts if verdict.met is not True]
    return "; ".join(parts) or "met"


def _detail_row(line: Line, result: Measured) -> tuple[str, ...]:
    own = ours(line.results)
    ratio = f"{result.seconds / own.seconds:.2f}" if result.times and own.times else "—"
    return (
        line.case.title(line.small), result.name, seconds(result.seconds), str(len(result.times)), ratio,
        error(result), memory(result), _note(line, result),
    )  # fmt: skip


def _note(line: Line, result: Measured) -> str:
    if result.failure:
        return f"failed: {result.failure}"
    notes = [result.fit.note]
    if result.fit.share < 1.0:
        notes.append(f"extrapolated from {result.fit.share:.0%} of the rows")
    if isinstance(line.case.k, float):
        notes.append(f"{len(result.fit.variances)} components")
    if line.case.show_first and len(result.fit.variances):
        notes.append(f"first variance {float(result.fit.variances[0]):.6g}, truth {line.truth[0]:.6g}")
    return "; ".join(note for note in notes if note)


def _every(line: Line) -> tuple[str, results.Table]:
    """The relative error of every singular value, with a title."""
    ran = [result for result in line.results.values() if len(result.fit.variances) == len(line.truth)]
    errors = [np.abs(np.sqrt(result.fit.variances / line.truth) - 1.0) for result in ran]
    n = line.case.sizes(line.small)[0]
    rows = [
        (f"{np.sqrt(value * (n - 1)):.3e}", *(f"{error[i]:.1e}" for error in errors))
        for i, value in enumerate(line.truth)
    ]
    title = f"{line.case.title(line.small)}: relative error of every singular value"
    return title, results.table(("singular value", *(result.name for result in ran)), rows)


def seconds(value: float) -> str:
    return "—" if np.isnan(value) else f"{value:.3g} s"


def error(result: Measured) -> str:
    return "—" if np.isnan(result.error) else f"{result.error:.1e}"


def memory(result: Measured) -> str:
    """Extra memory of a fit in memory, peak of the whole process for one from a file."""
    if not np.isnan(result.extra):
        return f"+{result.extra / 1e6:,.0f} MB"
    return "—" if np.isnan(result.peak) else f"{result.peak / 1e6:,.0f} MB resident"

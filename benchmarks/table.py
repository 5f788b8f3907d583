"""Results as Markdown: one line a case against its targets, then one line a contestant."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import peers
from cases import Case
from eigenlens.compiled import active
from machine import Machine
from measure import Measured
from targets import Results, Verdict, fastest, ours

SUMMARY = (
    "work", "Eigenlens", "solver", "best peer", "× best peer", "max rel. error", "memory", "limit", "of the limit",
    "target: what came", "verdict",
)  # fmt: skip


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


def markdown(lines: list[Line], machine: Machine, absent: dict[str, str]) -> str:
    """Everything between the markers of the README."""
    every = [_every(line) for line in lines if line.case.show_all]
    return "\n\n".join([_heading(machine, absent), _summary(lines), _details(lines), *every])


def _heading(machine: Machine, absent: dict[str, str]) -> str:
    found = ", ".join(f"{library} {version}" for library, version in peers.versions().items())
    text = f"Machine: {machine}.\n\nPython {platform.python_version()}, {found}; kernels: {active()}."
    if absent:
        text += "\n\nLeft out, because they could not be imported here: "
        text += "; ".join(f"{library} ({reason})" for library, reason in absent.items()) + "."
    return text


def _summary(lines: list[Line]) -> str:
    return grid(SUMMARY, [_summary_row(line) for line in lines])


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


def _details(lines: list[Line]) -> str:
    head = ("work", "contestant", "best time", "runs", "its time / ours", "max rel. error", "memory", "note")
    return grid(head, [_detail_row(line, result) for line in lines for result in line.results.values()])


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


def _every(line: Line) -> str:
    """The relative error of every singular value, folded away."""
    ran = [result for result in line.results.values() if len(result.fit.variances) == len(line.truth)]
    errors = [np.abs(np.sqrt(result.fit.variances / line.truth) - 1.0) for result in ran]
    n = line.case.sizes(line.small)[0]
    rows = [
        (f"{np.sqrt(value * (n - 1)):.3e}", *(f"{error[i]:.1e}" for error in errors))
        for i, value in enumerate(line.truth)
    ]
    body = grid(("singular value", *(result.name for result in ran)), rows)
    title = f"{line.case.title(line.small)}: relative error of every singular value"
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def seconds(value: float) -> str:
    return "—" if np.isnan(value) else f"{value:.3g} s"


def error(result: Measured) -> str:
    return "—" if np.isnan(result.error) else f"{result.error:.1e}"


def memory(result: Measured) -> str:
    """Extra memory of a fit in memory, peak of the whole process for one from a file."""
    if not np.isnan(result.extra):
        return f"+{result.extra / 1e6:,.0f} MB"
    return "—" if np.isnan(result.peak) else f"{result.peak / 1e6:,.0f} MB resident"


def grid(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in (head, ("---",) * len(head), *rows)]
    return "\n".join("| " + " | ".join(row) + " |" for row in escaped)


def put(path: Path, text: str, name: str = "table") -> None:
    """Replace what stands between the markers of this name in a file."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    page = path.read_text(encoding="utf-8")
    if not re.search(f"{re.escape(start)}.*{re.escape(end)}", page, flags=re.DOTALL):
        raise SystemExit(f"{path.name} has no line {start} followed by {end}; add them where the table belongs.")
    before, rest = page.split(start, 1)
    path.write_text(f"{before}{start}\n{text}\n{end}{rest.split(end, 1)[1]}", encoding="utf-8")

"""The page of speed, and what the page of accuracy compares, from files of the benchmarks: benchmarks/results."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parents[2] / "benchmarks" / "results"
TITLES = {
    "table": "PCA and kernel PCA",
    "latent": "Latent Gaussians",
    "densities": "Densities",
    "bayes": "Bayes classifiers",
}
COMPARED = {
    "weka": (
        "Naive Bayes beside Weka's",
        "Twelve sets of the UCI repository, in 10-fold cross-validation, beside NaiveBayes of Weka 3.6.14 with "
        "Gaussians, with kernels (-K) and with discretised numbers (-D), which is there for scale.",
    ),
    "usps": (
        "Kernel PCA of digits",
        "The USPS digits, after Schölkopf, Smola and Müller (1998) and Mika et al. (1999): what kernel components add "
        "to a linear classifier, and what they take from noise, beside linear PCA.",
    ),
    "generative": (
        "Naive Bayes beside logistic regression",
        "After Ng and Jordan (2002): test errors in per cent, naive Bayes / logistic regression, as the training rows "
        "grow. Small n are sizes of no more rows than columns, and at least the first three; a lead is a difference of "
        "more than two standard errors over all of them. Means of 300 draws; sets, rules and criterion were settled "
        "before the first run, of 60 draws, in which naive Bayes led on 2 sets, tied on 3 and trailed on 2.",
    ),
}
"""Titles and introductions of what is compared without a clock."""

FOR_SCALE = ("NumPy", "reading", "encoding", "Eigenlens")
"""Contestants that are no peers: bare arithmetic, and our own variants."""


class Race(NamedTuple):
    """One kind of work: our time and the fastest peer's, in seconds; None where no peer ran."""

    work: str
    ours: float
    peer: str
    theirs: float | None
    target: str
    verdict: str


def runs() -> dict[str, Any]:
    """The races that were run, in the order of TITLES and then of names."""
    found = {name: run for name, run in _kept().items() if "contestants" in run}
    return {name: found[name] for name in [*TITLES, *sorted(set(found) - set(TITLES))] if name in found}


def _kept() -> dict[str, Any]:
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}


def races(run: dict[str, Any]) -> list[Race]:
    """Every kind of work that has a target, ours beside the fastest peer."""
    return [_race(row, run["contestants"]["rows"]) for row in run["summary"]["rows"]]


def _race(row: dict[str, str], contestants: list[dict[str, str]]) -> Race:
    ran = [each for each in contestants if each["work"] == row["work"] and _seconds(each["best time"]) is not None]
    ours = _seconds(ran[0]["best time"])
    peers = [each for each in ran if not each["contestant"].startswith(FOR_SCALE)]
    best = min(peers, key=lambda each: _seconds(each["best time"]) or 0.0, default=None)
    assert ours is not None
    theirs = _seconds(best["best time"]) if best else None
    return Race(row["work"], ours, best["contestant"] if best else "", theirs, row["target: what came"], row["verdict"])


def _seconds(text: str) -> float | None:
    match = re.match(r"^([\d.e+-]+) s$", text)
    return float(match[1]) if match else None


def pages() -> dict[str, str]:
    """generated/speed.md: a section for each race; speed-gpu.md: one GPU; compared.md: one for each comparison."""
    return {
        "speed-gpu.md": _gpu_table() + "\n",
        "speed.md": "\n\n".join(_section(name, run) for name, run in runs().items()) + "\n",
        "compared.md": "\n\n".join(_compared(name, run) for name, run in comparisons().items()) + "\n",
    }


def verdicts() -> str:
    """How many of the kinds of work reached what was asked of them, and which did not."""
    found = [race for run in runs().values() for race in races(run)]
    missed = [race.work for race in found if race.verdict != "met"]
    named = f" A target was missed in: {'; '.join(missed)}." if missed else ""
    return f"Of {len(found)} kinds of work {len(found) - len(missed)} reached all that was asked of them.{named}"


def _section(name: str, run: dict[str, Any]) -> str:
    machine = f"Machine: {run['machine']}." if run["machine"] else "The machine was not written down with this run."
    text = " ".join([f"Kept on {run['date']}.", machine, run["versions"], *run["remarks"]])
    head = "| work | Eigenlens | fastest peer | times as fast | asked: what came | verdict |"
    lines = [head, "|---|--:|---|--:|---|---|"]
    for race in races(run):
        peer = f"{race.peer} {race.theirs:.3g} s" if race.theirs else "none ran"
        times = race.theirs / race.ours if race.theirs else None
        ratio = "—" if times is None else f"{times:,.0f}" if times >= 100 else f"{times:.3g}"
        target, verdict = (text.replace("; ", "<br>") for text in (race.target, race.verdict))
        lines.append(f"| {race.work} | {race.ours:.3g} s | {peer} | {ratio} | {target} | {verdict} |")
    every = _grid(run["contestants"])
    fold = f"::::{{dropdown}} Every contestant\n\n{every}\n\n::::"
    return "\n\n".join([f"## {TITLES.get(name, name)}", text, "\n".join(lines), fold])


def gpu_words() -> str:
    """The device, its rates and the versions of the run of benchmarks/gpu.py that was kept."""
    run = _kept()["gpu"]
    return f"Kept on {run['date']}. {run['of']}"


def _gpu_table() -> str:
    return "\n\n".join(_grid(part["table"]) for part in _kept()["gpu"]["parts"])


def _grid(table: dict[str, Any]) -> str:
    head = table["head"]
    rows = [head, ["---"] * len(head), *([row[name].replace("|", "\\|") for name in head] for row in table["rows"])]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def comparisons() -> dict[str, Any]:
    """Comparisons in which time does not count, in the order of COMPARED."""
    return {name: _kept()[name] for name in COMPARED if name in _kept()}


def _compared(name: str, run: dict[str, Any]) -> str:
    parts = [text for part in run["parts"] for text in (part["before"], _grid(part["table"]), part["after"]) if text]
    title, words = COMPARED[name]
    return "\n\n".join([f"## {title}", words, f"Kept on {run['date']}. {run['of']}", *parts])


def figure() -> Any:
    """How many times as fast as the fastest peer, one dot for each kind of work."""
    import matplotlib.pyplot as plt

    found = [(name, race) for name, run in runs().items() for race in races(run) if race.theirs]
    found.sort(key=lambda pair: (pair[1].theirs or 0.0) / pair[1].ours)
    _, ax = plt.subplots(figsize=(8.6, 0.27 * len(found) + 0.9), layout="constrained")
    colours = dict(zip(TITLES, ("#0072B2", "#D55E00", "#009E73", "#CC79A7"), strict=True))
    for i, (name, race) in enumerate(found):
        ratio = (race.theirs or 0.0) / race.ours
        ax.plot([1.0, ratio], [i, i], color="#bbbbbb", linewidth=1.0, zorder=1)
        ax.plot(ratio, i, "o", color=colours.get(name, "#666666"), markersize=7)
        text = f"{ratio:,.0f}×" if ratio >= 100 else f"{ratio:.3g}×"
        ax.annotate(text, (ratio, i), (7, 0), textcoords="offset points", va="center", fontsize=8.5)
    ax.set_yticks(range(len(found)), [race.work for _, race in found], fontsize=8.5)
    ax.set(xscale="log", xlabel="times as fast as the fastest peer that ran", xlim=(0.5, None))
    ax.margins(x=0.12, y=0.02)
    ax.axvline(1.0, color="#222222", linewidth=1.0)
    names = [TITLES[name] for name in TITLES if any(name == each for each, _ in found)]
    dots = {name: plt.Line2D([], [], marker="o", linestyle="", color=colours[name]) for name in TITLES}
    ax.legend(
        [dots[name] for name in TITLES if TITLES[name] in names], names, loc="lower right", frameon=False, fontsize=9
    )
    return ax

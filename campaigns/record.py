"""The figures of campaigns, written down: the page "How it is tested" is made of them."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import eigenlens
from campaigns.base import FINE, Outcome, Result

FILE = Path(__file__).parents[1] / "docs" / "data" / "campaigns.json"
ABOUT = "Written by `python -m campaigns --record`; docs/how-it-is-tested.md shows it."

FULL_SIZES = {
    "calls": 10_000, "walk": 20_000, "tables": 2_500, "model-files": 10_000, "kills": 300, "workers": 100,
    "kernels": 10_000, "accuracy": 117, "threads": 27, "interrupts": 42, "bombs": 42,
}  # fmt: skip
"""The number of cases of each campaign with `--full`: every model, or every long fit, comes at least once."""

SHOWN_EACH = {"accuracy", "threads", "interrupts", "bombs"}
"""Campaigns of few cases, each of which has a figure of its own."""

MOST_FAILURES = 30
"""The number of cases that did not end well which are written down, beside their count."""


def entry(name: str, seed: int, first: int, results: Sequence[Result], seconds: float) -> dict[str, Any]:
    """Return what is written down of a campaign that ran.

    >>> found = entry("calls", 3, 0, [Result(Outcome.OK, "f()"), Result(Outcome.HANG, "g()", "longer than 60 s")], 61.0)
    >>> found["cases"], found["outcomes"]["hang"], found["failures"]
    (2, 1, ['hang: g(): longer than 60 s'])
    """
    counts: Counter[Outcome] = Counter(result.outcome for result in results)
    bad = [result for result in results if result.outcome not in FINE]
    figures = {
        "seed": seed,
        "first": first,
        "cases": len(results),
        "outcomes": {str(each): counts[each] for each in Outcome},
        "minutes": round(seconds / 60.0, 1),
        "date": date.today().isoformat(),
        "version": eigenlens.__version__,
        "python": platform.python_version(),
        "failures": [f"{each.outcome}: {each.call}: {each.detail}" for each in bad[:MOST_FAILURES]],
    }
    each_case = [[result.call.partition("# ")[2], result.detail] for result in results]
    return figures | ({"each": each_case} if name in SHOWN_EACH else {})


def write(name: str, figures: dict[str, Any], file: Path = FILE) -> None:
    """Replace the figures of one campaign in the file, and keep those of the others."""
    kept = json.loads(file.read_text(encoding="utf-8"))["campaigns"] if file.exists() else {}
    whole = {"about": ABOUT, "campaigns": dict(sorted((kept | {name: figures}).items()))}
    file.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

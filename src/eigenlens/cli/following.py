"""The command to try after a fit, ready to be pasted."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eigenlens.cli.options import Reading, flags
from eigenlens.cli.output import TYPED, without
from eigenlens.cli.output_files import free_name
from eigenlens.cli.reports import has_page

__all__ = ["say_next"]

NEXT = [
    ("predict_proba", "predict", "classes.csv"),
    ("transform", "transform", "scores.csv"),
    ("score_samples", "score", None),
]
"""What to try after a fit, by the first method that the model has: the command, and what it would write."""


def say_next(
    now: Any, estimator: Any, files: Sequence[str], target: Path | None, page: Path | None, reading: Reading
) -> None:
    """The command to try after a fit."""
    words = _fit_again(estimator, page) if target is None else _apply_it(estimator, files, target, reading)
    now.say("next", shlex.join(words))
    now.tell(next=shlex.join(words))


def _fit_again(estimator: Any, page: Path | None) -> list[str]:
    """The same command, with files to write."""
    # A report that is there already is not asked for again.
    typed = without(TYPED.get(), "--json", "--quiet", "-q", "--force", "-f", valued="--report" if page else "")
    report = ["--report", free_name("report.html")] if page is None and has_page(estimator) else []
    return ["eigenlens", *typed, "-o", free_name("model.safetensors"), *report]


def _apply_it(estimator: Any, files: Sequence[str], target: Path, reading: Reading) -> list[str]:
    """A command that uses the model, on the same rows."""
    able = [(name, written) for method, name, written in NEXT if hasattr(estimator, method)]
    if not able:
        return ["eigenlens", "info", str(target)]
    (name, written) = able[0]
    named = hasattr(estimator, "feature_names_in_")
    chosen = () if named else ("columns", "drop")
    form = ("na", "separator", "header", "decimal", "thousands", "encoding")
    same = flags(reading, "id", "label", *form, "text", "where", "skip_missing", *chosen)
    end = [] if written is None else ["-o", free_name(written)]
    return ["eigenlens", name, str(target), *files, *same, *end]

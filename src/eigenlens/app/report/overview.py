"""The first page: what was read, what is missing, what was done, and how to do it again."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.app.report.charts import Chart, facts, heat, layer, marks, table
from eigenlens.app.report.rows import ShownRows

__all__ = ["overview"]

STRIPES, NAMED = 60, 40
"""Groups of rows and columns in the map of missing entries."""


def overview(rows: ShownRows, models: dict[str, Any], warnings: list[str], command: str, python: str) -> list[Chart]:
    """Shape, columns, missing entries, warnings, and the lines that make it again."""
    n, d = rows.total, len(rows.names)
    gaps = int(np.isnan(rows.X).sum())
    pairs = [
        ("rows", f"{n:,}"),
        ("columns", f"{d:,}"),
        ("missing entries", f"{gaps:,} ({gaps / max(1, rows.X.size):.2%} of the rows shown)"),
        *((name, _call(model)) for name, model in models.items()),
    ]
    code = [{"label": "Python", "text": python}]
    code += [{"label": "Command line", "text": command}] if command else []
    charts = [facts("What this is", pairs, warnings=warnings, code=code), _columns(rows)]
    return [*charts, *([_gaps(rows)] if gaps else [])]


def _call(model: Any) -> str:
    """The estimator as Python writes it, on one line."""
    return " ".join(repr(model).split())


def _columns(rows: ShownRows) -> Chart:
    X = rows.X
    with np.errstate(all="ignore"):
        filled = np.where(np.isnan(X), 0.0, X)
        seen = np.maximum(1, (~np.isnan(X)).sum(axis=0))
        mean = filled.sum(axis=0) / seen
        deviation = np.sqrt(np.where(np.isnan(X), 0.0, (X - mean) ** 2).sum(axis=0) / np.maximum(1, seen - 1))
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    columns = {
        "column": list(rows.names), "missing": np.isnan(X).sum(axis=0), "mean": mean, "standard deviation": deviation,
        "least": low, "greatest": high,
    }  # fmt: skip
    return table("Columns", columns, "Of the rows shown.")


def _gaps(rows: ShownRows) -> Chart:
    """Where entries are missing: stripes of consecutive rows against columns, and shares of columns where many."""
    missing = np.isnan(rows.X)
    shares = missing.mean(axis=0)
    if len(rows.names) > NAMED:
        worst = np.argsort(-shares)[:NAMED]
        bars = layer("bar", x=[rows.names[j] for j in worst], y=100.0 * shares[worst])
        axes: dict[str, Chart] = {"x": {"type": "band"}, "y": {"label": "% missing"}}
        return marks("Missing entries", bars, about=f"The {NAMED} columns that miss most.", **axes)
    groups = np.array_split(np.arange(len(missing)), min(STRIPES, len(missing)))
    values = np.stack([100.0 * missing[group].mean(axis=0) for group in groups])
    names = [f"{rows.chosen[group[0]] + 1:,}–{rows.chosen[group[-1]] + 1:,}" for group in groups]
    about = "How much each column misses in stretches of consecutive rows."
    return heat("Missing entries", values, names, rows.names, what="% missing", about=about)

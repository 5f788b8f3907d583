"""Which rows a report shows, and what they can be named, coloured and searched by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.app.page import packed
from eigenlens.app.report.charts import Chart, column
from eigenlens.arrays import Array

__all__ = ["SHOWN", "ShownRows", "shown_rows"]

SHOWN = 200_000
"""The most rows that are points: beyond, a random sample of them is, and a density of all stands behind."""

COLUMN_BYTES = 3_000_000
"""What the columns to colour by may take in the page."""


@dataclass(frozen=True, eq=False)
class ShownRows:
    """Some rows of a table.

    Attributes:
        X: (m, d) the rows shown, float64, NaN where missing. chosen: (m,) their places. total: how many rows there are.
        names: (d,) column names. ids: (m,) names of rows, or None. extra: columns that were not fitted, by name.
    """

    X: Array
    chosen: Array
    total: int
    names: tuple[str, ...]
    ids: tuple[str, ...] | None
    extra: dict[str, Any]

    def name(self, i: int) -> str:
        """What the i-th row shown is called."""
        return f"row {self.chosen[i] + 1}" if self.ids is None else self.ids[i]

    def data(self) -> Chart:
        """The rows of report.ts; columns that would make the page too large are left out, and the note says so."""
        columns, spent, left = [], 0, []
        features = {name: self.X[:, j] for j, name in enumerate(self.names)}
        for name, values in {**self.extra, **features}.items():
            found = column(name, values)
            size = _size(found)
            if spent + size > COLUMN_BYTES:
                left.append(name)
                continue
            columns.append(found)
            spent += size
        ids = {} if self.ids is None else {"ids": list(self.ids)}
        places = {} if self.total == len(self.X) else {"places": packed(self.chosen + 1)}
        note = self._note(left)
        return {"total": self.total, "shown": len(self.X), "note": note, "columns": columns} | ids | places

    def _note(self, left: list[str]) -> str:
        shown = f"All {self.total:,} rows are shown."
        if self.total > len(self.X):
            shown = f"{len(self.X):,} of {self.total:,} rows, drawn at random, are shown as points."
        return shown + (f" {len(left)} columns are not offered for colouring, to keep the file small." if left else "")


def shown_rows(
    X: Array, names: tuple[str, ...], ids: Any, extra: dict[str, Any], rng: np.random.Generator
) -> ShownRows:
    """All rows, or a random sample of them in their order."""
    n = len(X)
    chosen = np.arange(n) if n <= SHOWN else np.sort(rng.choice(n, SHOWN, replace=False))
    named = None if ids is None else tuple(str(ids[i]) for i in chosen)
    picked = {name: np.asarray(values)[chosen] for name, values in extra.items()}
    return ShownRows(X[chosen], chosen, n, names, named, picked)


def _size(found: Chart) -> int:
    values = found["values"]
    if isinstance(values, dict):
        return sum(len(part) for part in values.values() if isinstance(part, str))
    return sum(len(str(value)) + 3 for value in values)

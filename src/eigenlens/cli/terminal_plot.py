"""A scatter plot of text, for the terminal: the scores of rows on two axes with equal units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.cli.output import one_line
from eigenlens.tables.names import axis_names

WIDTH, HEIGHT = 72, 22
"""The largest size of a plot, in characters."""

ASPECT = 2.0
"""The height of a character over its width."""

MARKS = "ox+*#@%&abcdefghijkl"
"""The marks of classes, in order; further classes share the last."""

COUNT_MARKS = ((1, "·"), (2, "o"), (5, "●"))
"""Marks of points without classes, from a number of points in the same place on."""

MAX_NAMED = 60
"""With more rows, no names are written."""


def draw_scatter(
    Z: Array, axes: Sequence[str], classes: Sequence[str] | None = None, names: Sequence[str] | None = None
) -> str:
    """Return a plot of points Z (n, 2) as lines of text; a unit is as long on one axis as on the other.

    classes: (n,) of the points, which get a mark each. names: (n,), written where there is room.

    >>> print(draw_scatter(np.array([[0.0, 0.0], [30.0, 0.0], [60.0, 4.0]]), ["PC1", "PC2"], ["a", "b", "b"]))
    PC2
                                                                           o
    <BLANKLINE>
    x                                   o
                                                                         PC1
    o b  x a
    """
    canvas = _Canvas.around(Z)
    columns, lines = canvas.places(Z)
    order = _by_frequency(classes) if classes is not None else []
    marks = {name: MARKS[min(i, len(MARKS) - 1)] for i, name in enumerate(order)}
    inside: dict[tuple[int, int], Counter[str]] = {}
    for i, place in enumerate(zip(lines.tolist(), columns.tolist(), strict=True)):
        inside.setdefault(place, Counter())[classes[i] if classes is not None else ""] += 1
    for (line, column), found in inside.items():
        name, count = found.most_common(1)[0]
        canvas.cells[line][column] = marks.get(name) or next(m for low, m in reversed(COUNT_MARKS) if count >= low)
    if names is not None and len(names) <= MAX_NAMED:
        canvas.write_names(lines, columns, names)
    legend = ["  ".join(f"{mark} {one_line(name, 20)}" for name, mark in list(marks.items())[: len(MARKS)])]
    return "\n".join([axes[1], *canvas.text(), f"{axes[0]:>{canvas.width}}", *(legend if marks else [])])


def draw_model(model: Any, table: Any) -> str:
    """Return a plot of the rows of a table on the first two axes of a fitted model; "" where there is none."""
    if not hasattr(model, "transform") or table.n > MAX_ROWS or getattr(model, "n_components_", 2) < 2:
        return ""
    found = model.transform(table.source) if table.scores is None else table.scores
    Z = np.asarray(found, dtype=np.float64)[:, :2]
    if Z.shape[1] < 2 or not np.all(np.isfinite(Z)) or len(Z) < 2:
        return ""
    axes, shares = axis_names(model, 2), _shares(model)
    if shares is not None:
        axes = [f"{axis} ({100.0 * share:.1f}%)" for axis, share in zip(axes, np.asarray(shares), strict=False)]
    classes = next(iter(table.labels.values()), None)
    shown = None if classes is None or classes.dtype.kind == "f" else ["" if c is None else str(c) for c in classes]
    names = table.ids if table.n <= MAX_NAMED and table.ids is not None and table.ids.dtype.kind in "OU" else None
    return draw_scatter(Z, axes, shown, names)


def _shares(model: Any) -> Any:
    """Return the shares (k,) of the axes, of factors those of the table above the plot; None if they have none."""
    if not hasattr(model, "uniquenesses_"):
        return getattr(model, "explained_variance_ratio_", None)
    from eigenlens.latent.tables import factor_table

    return factor_table(model).shares / 100.0


MAX_ROWS = 100_000
"""Of more rows no plot is drawn: all of them would have to be transformed."""


def _by_frequency(classes: Sequence[str]) -> list[str]:
    return [name for name, _ in Counter(classes).most_common()]


class _Canvas:
    """Characters in lines, and the map from points to them: `unit` is the length of a character's width."""

    def __init__(self, low: Array, high: Array, unit: float) -> None:
        self.low, self.high, self.unit = low, high, unit
        self.width, self.height = (int(np.floor(each)) + 1 for each in (high - low) / unit / [1.0, ASPECT] + 0.5)
        self.cells = [[" "] * self.width for _ in range(self.height)]

    @classmethod
    def around(cls, Z: Array) -> _Canvas:
        low, high = Z.min(axis=0), Z.max(axis=0)
        unit = max((high - low) / [WIDTH - 1.0, ASPECT * (HEIGHT - 1.0)])
        return cls(low, high, float(unit) or 1.0)

    def places(self, Z: Array) -> tuple[Array, Array]:
        """Return the column and the line (n,) of each point."""
        x = np.rint((Z[:, 0] - self.low[0]) / self.unit)
        y = np.rint((self.high[1] - Z[:, 1]) / (ASPECT * self.unit))
        return np.clip(x, 0, self.width - 1).astype(int), np.clip(y, 0, self.height - 1).astype(int)

    def write_names(self, lines: Array, columns: Array, names: Sequence[str]) -> None:
        """Write names to the right or left of their points where nothing else is; those of outer points first."""
        middle = np.array([self.height / 2.0, self.width / 2.0])
        reach = np.hypot(ASPECT * (lines - middle[0]), columns - middle[1])
        for i in np.argsort(-reach, kind="stable"):
            word, line = one_line(str(names[i]), 14), self.cells[lines[i]]
            for start in (columns[i] + 1, columns[i] - len(word)):
                span = slice(max(start, 0), start + len(word))
                if start >= 0 and start + len(word) <= self.width and not "".join(line[span]).strip():
                    line[span] = word
                    break

    def text(self) -> list[str]:
        """Return the lines, without spaces at their ends."""
        return ["".join(line).rstrip() for line in self.cells]

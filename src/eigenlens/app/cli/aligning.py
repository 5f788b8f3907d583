"""Tables in words: columns of text under their headings, numbers as text, and which of many columns are shown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eigenlens.app.cli.widths import one_line
from eigenlens.arrays import Array

__all__ = ["SHOWN", "aligned", "figure", "foremost"]

SHOWN = 12
"""The most lines of a table of columns."""


def aligned(header: Sequence[str], lines: Sequence[Sequence[str]], most: int = SHOWN, sides: str = "") -> str:
    """Columns of text, the first flush left, the others flush right, or by `sides`; of a long table the first lines.

    >>> print(aligned(["name", "n"], [["a", "10"], ["bb", "5"]]))
    name   n
    a     10
    bb     5
    """
    shown = [[one_line(cell) for cell in header], *([one_line(line[0]), *line[1:]] for line in lines[:most])]
    widths = [max(len(line[j]) for line in shown) for j in range(len(header))]
    signs = sides or "<" + ">" * (len(header) - 1)
    text = [
        "  ".join(f"{cell:{side}{w}}" for side, cell, w in zip(signs, line, widths, strict=True)).rstrip()
        for line in shown
    ]
    return "\n".join([*text, *([f"… {len(lines) - most:,} more"] if len(lines) > most else [])])


def figure(value: float, form: str) -> str:
    """A number as text; one that is shown as zero has no sign.

    >>> figure(-0.0, ".4g"), figure(-0.0001, ".3f"), figure(-1.25, ".3g")
    ('0', '0.000', '-1.25')
    """
    text = format(value, form)
    return text.removeprefix("-") if not text.strip("-0.") else text


def foremost(weight: Array, most: int = SHOWN) -> Array:
    """The columns to show, by number: all in their order, or where they are too many those of most weight (d,) first.

    >>> foremost(np.array([1.0, 3.0, 2.0]), most=2), foremost(np.array([1.0, 3.0]))
    (array([1, 2, 0]), array([0, 1]))
    """
    d = weight.size
    return np.arange(d) if d <= most else np.argsort(-np.nan_to_num(weight), kind="stable")

"""Tables in words: columns of text under their headings."""

from __future__ import annotations

from collections.abc import Sequence

from eigenlens.app.cli.widths import one_line

__all__ = ["SHOWN", "aligned"]

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

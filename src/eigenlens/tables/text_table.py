"""Tables as text: cells in columns, a title, long tables without their middle."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

MAX_PRINTED_ROWS = 24
"""The largest number of rows that a printed table has: about a screenful."""


def align(header: Sequence[str], rows: Iterable[Sequence[str]], sides: str = "") -> str:
    """Return lines of text whose cells are aligned in columns.

    `sides` has one sign for each column, "<" for flush left and ">" for flush right; by default the first column is
    flush left and the others are flush right.

    >>> print(align(["name", "n"], [["a", "10"], ["bb", "5"]]))
    name   n
    a     10
    bb     5
    """
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    signs = sides or "<" + ">" * (len(header) - 1)
    return "\n".join(
        "  ".join(f"{cell:{side}{width}}" for side, cell, width in zip(signs, line, widths, strict=True)).rstrip()
        for line in lines
    )


def format_columns(header: Sequence[str], *columns: Sequence[str], sides: str = "") -> str:
    """Return columns of text below a header; a long table loses its middle rows."""
    rows: list[Sequence[str]] = list(zip(*columns, strict=True))
    if len(rows) > MAX_PRINTED_ROWS:
        omitted = (f"… {len(rows) - MAX_PRINTED_ROWS + 1} more", *[""] * (len(header) - 1))
        rows = [*rows[: MAX_PRINTED_ROWS - 2], omitted, rows[-1]]
    return align(header, rows, sides)


def titled_table(title: str, header: Sequence[str], *columns: Sequence[str], sides: str = "") -> str:
    """Return a title and columns of text below a header; a long table loses its middle rows.

    >>> print(titled_table("Coin", ("side", "p"), ["heads", "tails"], ["0.25", "0.75"]))
    Coin
    side      p
    heads  0.25
    tails  0.75
    """
    return f"{title}\n{format_columns(header, *columns, sides=sides)}"


def with_error(text: str, error: float, spec: str) -> str:
    """Return a figure with its standard error, or alone where there is none, as of a single row.

    >>> with_error("0.9", 0.0312, ".2g"), with_error("1", float("nan"), ".2g")
    ('0.9 ± 0.031', '1')
    """
    return text if math.isnan(error) else f"{text} ± {error:{spec}}"


def count_noun(n: int, what: str) -> str:
    """Return a number and its noun.

    >>> count_noun(1, "row"), count_noun(2000, "row"), count_noun(3, "class")
    ('1 row', '2,000 rows', '3 classes')
    """
    return f"{n:,} {what}" + ("" if n == 1 else "es" if what.endswith("s") else "s")


def join_words(names: Sequence[str], last: str = "or") -> str:
    """Return names as a phrase.

    >>> join_words(["a", "b", "c"]), join_words(["a"])
    ('a, b or c', 'a')
    """
    return f" {last} ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)

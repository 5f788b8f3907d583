"""A last row that holds totals or means of the others: a row of a report, not of the data."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.files.scan import format_options

TOTAL_NAME = re.compile(
    r"(?i)((grand|sub)?[\s_-]*totals?|sums?|means?|averages?|avg|all|overall|gesamt|insgesamt|summe|mittelwert|"
    r"durchschnitt|mittel|somme|moyenne|total g[eé]n[eé]ral|promedio|suma)\s*:?"
)

MIN_NAMED, MIN_UNNAMED = 3, 5
"""Rows above one that is called a total, and above one that is recognised by its numbers."""

MEAN_TOLERANCE = 0.01
"""Standard deviations that a mean, which may be rounded, differs from that of the rows above."""


def is_total(text: str) -> bool:
    """Return whether a text names a total or a mean.

    >>> is_total("Grand total:"), is_total("Gesamt"), is_total("totally")
    (True, True, False)
    """
    return TOTAL_NAME.fullmatch(text.strip()) is not None


def describe_total(table: Any) -> str | None:
    """Return a sentence on a last row that holds totals or means, with the option that removes it; None without one."""
    if table.n <= MIN_NAMED:
        return None
    named = [table.roles.id, *table.roles.labels, *table.roles.unused[:MAX_COLUMNS]]
    texts = {str(name): table.beside(name) for name in named if name is not None}
    found = find_named_total({name: values for name, values in texts.items() if values.dtype.kind in "OU"})
    footer = "footer" in format_options(table.paths)
    if found is not None:
        return f"the last row is called '{found[1]}' in column '{found[0]}'{_removal(footer, *found)}"
    X = np.asarray(table.source.array, dtype=np.float64) if hasattr(table.source, "array") else np.empty((0, 0))
    what = find_unnamed_total(X) if X.size else ""
    first = str((table.source.names or (0,))[0]) if what else ""
    return (
        f"the last row holds the {what} of the rows above{_removal(footer, first, f'{X[-1, 0]:.17g}')}"
        if what
        else None
    )


MAX_COLUMNS = 5
"""The most columns left out that are searched for the name of a total."""


def _removal(footer: bool, name: str, cell: str) -> str:
    flags = "--footer 1" if footer else f"--where {shlex.quote(f'{name} != {cell}')}"
    return f": if it is not data, leave it out with {flags}."


def find_named_total(texts: Mapping[str, Array]) -> tuple[str, str] | None:
    """Return the column and the cell of the last row that name a total, which no other row of the column has.

    >>> find_named_total({"town": np.array(["Bonn", "Trier", "Total"])})
    ('town', 'Total')
    """
    for name, values in texts.items():
        last = "" if values[-1] is None else str(values[-1])
        if is_total(last) and np.count_nonzero(values == values[-1]) == 1:
            return name, last.strip()
    return None


def find_unnamed_total(X: Array) -> str:
    """Return "sums" or "means" where the last row of X (n, d) holds those of the rows above; "" where it does not.

    >>> X = np.array([[1.0, 5], [2, 7], [4, 4], [3, 8], [9, 2]])
    >>> find_unnamed_total(np.vstack([X, X.sum(axis=0)])), find_unnamed_total(X)
    ('sums', '')
    """
    last, rest = X[-1], X[:-1]
    used = ~np.isnan(last) & (np.nan_to_num(rest) != 0.0).any(axis=0)
    if len(rest) < MIN_UNNAMED or used.sum() < 2 or np.any(np.all(rest[:, used] == last[used], axis=1)):
        return ""
    last, rest = last[used], rest[:, used]
    if np.all(np.abs(last - np.nansum(rest, axis=0)) <= 1e-6 * np.nansum(np.abs(rest), axis=0)):
        return "sums"
    spread = np.nanstd(rest, axis=0)
    close = np.abs(last - np.nanmean(rest, axis=0)) <= MEAN_TOLERANCE * spread
    return "means" if used.sum() > 2 and np.all(close & (spread > 0.0)) else ""

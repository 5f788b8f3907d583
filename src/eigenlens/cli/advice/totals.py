"""Rows that hold totals or means of others, anywhere in a table: rows of a report, not of the data."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.files.cell_formats.total_names import BESIDE_TOTAL, is_total, names_statistic
from eigenlens.data.files.scan import format_options
from eigenlens.errors import join_limited

NO_ROW_NAME = re.compile(
    r"(?i)lo[dq]|mdl|mrl|(limits? of )?(detection|quanti(fica)?tation)( limits?)?|reporting limits?|nachweisgrenze"
    r"|__[a-z_]+|N_(unmapped|multimapping|noFeature|ambiguous)|units?"
)
"""Names of rows that are neither data nor totals: limits of detection, and reads that counts of genes leave over."""

SUBTOTAL_NAME = re.compile(r"(?i)(sub|grand)?[\s_-]*totals?\s*:?|(zwischen|gesamt)?summe\s*:?|sous[\s-]total\s*:?")

MAX_SHARE = 0.34
"""The largest share of rows that may be subtotals."""

MIN_NAMED, MIN_UNNAMED = 3, 5
"""Other rows than one that is called a total, and than one that is recognised by its numbers."""

MAX_WORDS = 3
"""The most words among names of rows that are numbers otherwise."""

MAX_UNNAMED = 1 << 20
"""The rows of the largest spreadsheet: tables with more of them are written by programs, which add no totals."""

MIN_BLOCK = 3
"""Rows of which a subtotal that is recognised by its numbers is the sum."""

MAX_SUBTOTALS = 20
"""The most subtotals that are searched for by their numbers."""

MEAN_TOLERANCE = 0.01
"""Standard deviations that a mean, which may be rounded, differs from that of the other rows."""

MAX_COLUMNS = 5
"""The most columns left out that are searched for the name of a total."""


class TotalRows(NamedTuple):
    """Rows that are totals, as numbers from 0, and the words that follow their numbers in a sentence on them."""

    rows: tuple[int, ...]
    what: str


def is_subtotal(text: str) -> bool:
    """Return whether a text names a total even where several rows have it; "all" or "mittel" may be a category then.

    >>> is_subtotal("Subtotal"), is_subtotal("all")
    (True, False)
    """
    return SUBTOTAL_NAME.fullmatch(text.strip()) is not None


def _is_no_row(text: str) -> bool:
    return is_total(text) or NO_ROW_NAME.fullmatch(text.strip()) is not None


def _holds_text(values: Array) -> bool:
    """Return whether a column holds text, and not lists or other nested values."""
    return values.dtype.kind == "U" or (values.dtype.kind == "O" and all(isinstance(v, str | None) for v in values))


def describe_totals(table: Any) -> list[str]:
    """Return a sentence on each kind of rows that hold totals or means, with the option that removes them."""
    if table.n <= MIN_NAMED:
        return []
    named = [table.roles.id, *table.roles.labels, *table.roles.unused[:MAX_COLUMNS]]
    beside = {str(name): table.beside(name) for name in named if name is not None}
    texts = {name: values for name, values in beside.items() if _holds_text(values)}
    X = np.asarray(table.source.array) if hasattr(table.source, "array") else np.empty((table.n, 0))
    found = [*find_named_totals(texts)]
    known = [i for each in found for i in each.rows]
    found += find_unnamed_totals(X) if not known else _among(X, np.delete(np.arange(table.n), known))
    columns = texts | dict(zip(map(str, getattr(table.source, "names", None) or range(X.shape[1])), X.T, strict=False))
    return [_sentence(each, columns, table) for each in found]


def _among(X: Array, rows: Array) -> list[TotalRows]:
    """Return the totals among some rows of X (n, d), with the numbers that they have in X."""
    return [TotalRows(tuple(rows[list(each.rows)].tolist()), each.what) for each in find_unnamed_totals(X[rows])]


def _sentence(found: TotalRows, columns: Mapping[str, Array], table: Any) -> str:
    rows, one = found.rows, len(found.rows) == 1
    ends = {0: "the first row", table.n - 1: "the last row"}
    which = ends.get(rows[0], f"row {rows[0] + 1}") if one else f"rows {join_limited([str(i + 1) for i in rows])}"
    them = "it is not data, leave it out" if one else "they are not data, leave them out"
    at_end = list(rows) == list(range(table.n - len(rows), table.n))
    whole = len(table.paths) == 1 and (table.kept is None or bool(table.kept[-1])) and table.supplementary is None
    footer = at_end and whole and "footer" in format_options(table.paths)
    flags = f"--footer {len(rows)}" if footer else " ".join(_tests(rows, columns))
    return f"{which} {found.what}: if {them} with {flags}."


def _tests(rows: Sequence[int], columns: Mapping[str, Array]) -> list[str]:
    """Return tests that leave out these rows, and no others if possible: by a name, or else by a number."""
    found: dict[str, None] = {}
    for i in rows:
        shared = {
            name: set(np.flatnonzero(values == values[i]).tolist()) - set(rows) for name, values in columns.items()
        }
        able = [name for name, values in columns.items() if values[i] is not None and values[i] == values[i]]
        name = min(able, key=lambda each: len(shared[each]))  # the first one of the fewest other rows
        cell = columns[name][i]
        shown = str(cell).strip() if isinstance(cell, str) else repr(float(cell))
        found[f"--where {shlex.quote(f'{name} != {shown}')}"] = None
    return list(found)


def find_named_totals(texts: Mapping[str, Array]) -> list[TotalRows]:
    """Return the rows that the first column with such names calls totals or means.

    A name that several rows have must be one of a total, and that of few rows.

    >>> find_named_totals({"town": np.array(["Bonn", "Trier", "Total", "Ulm", "Hof", "Mean"])})
    [TotalRows(rows=(2, 5), what="are called 'Total', 'Mean' in column 'town'")]
    """
    for column, values in texts.items():
        often = Counter(values.tolist())
        able = {cell for cell, n in often.items() if cell and _is_no_row(cell) and (n == 1 or is_subtotal(cell))}
        # Among names that are numbers, such as 007100, no word is a name.
        coded = sum(map(str.isnumeric, filter(None, often))) >= max(MIN_NAMED, len(often) - MAX_WORDS)
        once = [cell for cell, n in often.items() if cell and n == 1]
        able |= {
            cell
            for cell in once
            if (able and BESIDE_TOTAL.fullmatch(cell.strip())) or (coded and names_statistic(cell))
        }
        places = [i for i, cell in enumerate(values.tolist()) if cell in able] if able else []
        if 0 < len(places) <= max(1, MAX_SHARE * len(values)):
            met = dict.fromkeys(repr(str(values[i]).strip()) for i in places)
            verb = "is" if len(places) == 1 else "are"
            return [TotalRows(tuple(places), f"{verb} called {', '.join(met)} in column {column!r}")]
    return []


def find_unnamed_totals(X: Array) -> list[TotalRows]:
    """Return the rows of X (n, d) whose numbers are sums or means of others: subtotals, the last row and the first.

    Columns are looked at until none of a table's rows can be a total: of most tables only the first.

    >>> X = np.array([[1.0, 5], [2, 7], [4, 4], [3, 8], [9, 2]])
    >>> find_unnamed_totals(np.vstack([X, X.sum(axis=0)])), find_unnamed_totals(X)
    ([TotalRows(rows=(5,), what='holds the sums of the rows above')], [])
    """
    for order, where in ((slice(None), "above"), (slice(None, None, -1), "below")) if len(X) <= MAX_UNNAMED else ():
        turned = X[order]
        n, found = len(X), []
        blocks = _find_subtotals(turned)
        if len(blocks) > 1 or (blocks and blocks[0] < n - 1):
            verb, them = ("hold", "them") if len(blocks) > 1 else ("holds", "it")
            found = [TotalRows(_turned(blocks, n, where), f"{verb} the sums of the rows {where} {them}")]
            turned = np.delete(turned, blocks, axis=0)
        what = _total_at_end(turned) if n - 1 not in blocks or not found else ""
        if what:
            found.append(TotalRows(_turned([n - 1], n, where), f"holds the {what} of the rows {where}"))
        if found:
            return found
    return []


def _turned(rows: Sequence[int], n: int, where: str) -> tuple[int, ...]:
    return tuple(rows) if where == "above" else tuple(n - 1 - i for i in reversed(rows))


def _columns(X: Array) -> Iterator[Array]:
    return (column.astype(np.float64, copy=False) for column in X.T)


def _total_at_end(X: Array) -> str:
    """Return "sums" or "means" where the last row of X (n, d) holds those of the rows above; "" where it does not."""
    used, possible = 0, {"sums": 2, "means": 3}  # with the number of columns that are needed
    for column in _columns(X) if len(X) > MIN_UNNAMED else ():
        last, rest = column[-1], column[:-1][~np.isnan(column[:-1])]
        if np.isnan(last) or not rest.any():
            continue
        used += 1
        close = {
            "sums": np.abs(last - rest.sum()) <= 1e-6 * np.abs(rest).sum(),
            "means": np.abs(last - rest.mean()) <= MEAN_TOLERANCE * rest.std() > 0.0,
        }
        possible = {what: least for what, least in possible.items() if close[what]}
        if not possible:
            return ""
    found = next((what for what, least in possible.items() if used >= least), "")
    # A row that occurs before is one of the data, of zeros perhaps.
    return "" if found and np.any(np.all((X[:-1] == X[-1]) | np.isnan(X[-1]), axis=1)) else found


def _find_subtotals(X: Array) -> list[int]:
    """Return the rows of X (n, d) that are the sums of the rows since the one found before, up to `MAX_SUBTOTALS`."""
    found: list[int] = []
    while len(found) < MAX_SUBTOTALS:
        start = found[-1] + 1 if found else 0
        row = _next_subtotal(X[start:])
        if row is None:
            break
        found.append(start + row)
    return found


def _next_subtotal(X: Array) -> int | None:
    """Return the first row of X (n, d) that is the sum of all rows above it, in numbers that are not negative."""
    rows = np.arange(MIN_BLOCK, len(X))
    larger = np.zeros(rows.size, dtype=np.intp)
    for column in _columns(X):
        if not rows.size:
            return None
        above = np.nan_to_num(column)
        sums, most = np.cumsum(above), np.maximum.accumulate(above)
        total, own = sums[rows - 1], column[rows]
        fits = np.isnan(own) | ((np.abs(own - total) <= 1e-6 * total) & (total >= 0.0))
        # A sum that one row alone makes is no evidence.
        larger = (larger + (own > (1.0 + 1e-6) * most[rows - 1]))[fits]
        rows = rows[fits]
    rows = rows[larger >= 2]
    return int(rows[0]) if rows.size else None

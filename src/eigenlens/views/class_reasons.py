"""Why a row has its class: what its features add to the log-odds, as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.views.tables import dense_rows

__all__ = ["ReasonTable", "reasons", "row_entries"]


@dataclass(frozen=True, eq=False)
class ReasonTable:
    """What each feature adds to the log-odds of one row, the largest first.

    Attributes:
        of, against: the two classes. names: (m,). values: (m,) contributions; the last may stand for all others, then
            the prior. entries: (m,) what the row holds there, as text; "" where that is no feature, or not known.
        total: the log-odds.
    """

    of: str
    against: str
    names: tuple[str, ...]
    values: Array
    entries: tuple[str, ...]
    total: float


def reasons(explanation: Any, row: int = 0, *, top: int = 12, entries: tuple[str, ...] = ()) -> ReasonTable:
    """One row of what `explain` gave: its `top` features, the sum of the others, and the prior.

    `entries` (d,) is what the row holds, as text; () if that is not known.
    """
    i = checks.integer("row", row, 0, len(explanation.of) - 1, "the last row")
    most, order = checks.integer("top", top, 1), explanation.order[i]
    shown, values = order[:most], explanation.contributions[i]
    names, numbers = [str(explanation.names[j]) for j in shown], [float(values[j]) for j in shown]
    held = [entries[j] if entries else "" for j in shown]
    if len(order) > most:
        rest = len(order) - most
        names, held = [*names, f"{rest} other{'s' * (rest > 1)}"], [*held, ""]
        numbers.append(float(values[order[most:]].sum()))
    table = np.array([*numbers, float(explanation.prior[i])])
    return ReasonTable(
        str(explanation.of[i]), str(explanation.against[i]), (*names, "prior"), table, (*held, ""),
        float(explanation.log_odds[i]),
    )  # fmt: skip


def row_entries(X: Any, row: int) -> tuple[str, ...]:
    """What row number `row` of X holds (d,), as text: of a frame or of anything with numbers.

    >>> row_entries([[1.0, 2.5], [np.nan, 1e6 / 3]], 1)
    ('missing', '3.333e+05')
    """
    if type(X).__module__.split(".")[0] in ("pandas", "polars", "pyarrow"):
        import narwhals.stable.v2 as nw

        frame = nw.from_native(X)
        some = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        return tuple(map(_said, some.row(row)))
    return tuple(map(_said, dense_rows(X, row + 1)[row].tolist()))


def _said(entry: Any) -> str:
    if entry is None or entry != entry:
        return "missing"
    return f"{float(entry):.4g}" if isinstance(entry, float | np.floating) else str(entry)

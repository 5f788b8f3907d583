"""Blank cells that continue the cell above them, as merged cells of a spreadsheet leave them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.data.files.base import pl
from eigenlens.data.files.decision import Decision

if TYPE_CHECKING:
    from polars import DataFrame, Expr


class Blanks:
    """Columns of a file, by their places, whose blank cells take the value above them, piece after piece."""

    def __init__(self, columns: Sequence[int], separator: str) -> None:
        self._columns, self._separator = list(columns), separator
        self._last: list[str | None] = [None] * len(self._columns)

    def fill(self, piece: bytes) -> bytes:
        r"""Return the rows of a piece, in the order of the file, with these columns filled.

        >>> blanks = Blanks([0], ",")
        >>> blanks.fill(b"low,1\n,2\n"), blanks.fill(b",3\nhigh,4\n")
        (b'low,1\nlow,2\n', b'low,3\nhigh,4\n')
        """
        if not self._columns:
            return piece
        frame = pl.read_csv(piece, has_header=False, separator=self._separator, infer_schema=False)
        places = zip(self._columns, self._last, strict=True)
        filled = frame.with_columns(
            _present(pl.nth(place)).forward_fill().fill_null(pl.lit(last, dtype=pl.String)) for place, last in places
        )
        self._last = [filled[-1, place] for place in self._columns]
        text: str = filled.write_csv(include_header=False, separator=self._separator)
        return text.encode()


def _present(cells: Expr) -> Expr:
    found: Expr = pl.when(cells.str.strip_chars() != "").then(cells)
    return found


def find_group_columns(cells: DataFrame) -> list[str]:
    """Return the columns of text, the first ones of a table, in which blanks continue the group above them.

    Such a column has a text in its first row and in at most half of all, each followed by blanks, and no group comes
    twice: within each group of the column before, if that is such a column too.

    >>> import polars as pl
    >>> find_group_columns(pl.DataFrame({"dose": ["low", "", "", "high", "", ""], "rat": ["a", "b", "c"] * 2}))
    ['dose']
    >>> find_group_columns(pl.DataFrame({"remark": ["wet", "", "", "dry"]}))
    []
    """
    found: list[str] = []
    keys = [""] * len(cells)
    starts = np.zeros(len(cells), dtype=bool)
    for name in cells.columns:
        column = cells.select(_present(pl.col(name)).alias(name)).to_series()
        present = column.is_not_null().to_numpy()
        begins = np.flatnonzero(present)
        lengths = np.diff([*begins, len(cells)])
        named = [f"{keys[i]}\n{column[int(i)]}" for i in begins]
        if (len(begins) < 2 or begins[0] or lengths.min() < 2 or len(set(named)) < len(named)
                or np.any(starts & ~present)):  # fmt: skip
            break
        found.append(name)
        starts = present
        keys = list(itertools.chain.from_iterable([key] * n for key, n in zip(named, lengths.tolist(), strict=True)))
    return found


def group_decision(columns: Sequence[str]) -> Decision:
    """Return the decision that blanks of these columns continue the group above them."""
    several = len(columns) > 1
    listed = f"column{'s' * several} {', '.join(map(repr, columns))}"
    what = f"blank cells of {listed} have the value above them, as merged cells leave them"
    fix = "if they are missing, give {fill_down}"
    return Decision("merged cells", what, tuple(columns), fix, {"fill_down": []}, surprising=True)


def given_group_columns(fill_down: Any) -> list[Any] | None:
    """Return the columns to be filled down, of one or several; the command line gives "" for none."""
    if fill_down is None:
        return None
    several = isinstance(fill_down, Iterable) and not isinstance(fill_down, str)
    return [name for name in (fill_down if several else [fill_down]) if name != ""]

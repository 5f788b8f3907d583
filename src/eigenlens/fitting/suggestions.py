"""What the rules for the number of components say, side by side."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass

from eigenlens.errors import OptionError

__all__ = ["ComponentTable", "Suggestion"]


@dataclass(frozen=True)
class Suggestion:
    """What one rule says: how many components, the share of variance they hold, and a remark."""

    rule: str
    n_components: int
    share: float
    note: str = ""

    def cells(self) -> tuple[str, str, str, str]:
        """The row as text; a share that is NaN is left blank."""
        shown = "" if math.isnan(self.share) else f"{self.share:.1%}"
        return self.rule, str(self.n_components), shown, " ".join(self.note.split())


@dataclass(frozen=True, repr=False)
class ComponentTable:
    """The suggestions of several rules, one row each; `table["minka"]` is that row.

    >>> rows = Suggestion("kaiser", 3, 0.71), Suggestion("parallel", 12, 0.934, "20 permutations")
    >>> ComponentTable(rows)
    rule      components  share  note
    kaiser             3  71.0%
    parallel          12  93.4%  20 permutations
    >>> ComponentTable(rows)["kaiser"].n_components
    3
    """

    rows: tuple[Suggestion, ...]

    def __getitem__(self, rule: str) -> Suggestion:
        for row in self.rows:
            if row.rule == rule:
                return row
        known = ", ".join(repr(row.rule) for row in self.rows)
        raise OptionError(f"rule={rule!r} is not in this table, which has {known or 'no rows'}.")

    def __iter__(self) -> Iterator[Suggestion]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        lines = [_TITLES, *(row.cells() for row in self.rows)]
        a, b, c, _ = (max(len(cell) for cell in column) for column in zip(*lines, strict=True))
        return "\n".join(f"{rule:<{a}}  {k:>{b}}  {held:>{c}}  {note}".rstrip() for rule, k, held, note in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        body = "".join(_html_row(row.cells(), "td") for row in self.rows)
        return f"<table><thead>{_html_row(_TITLES, 'th')}</thead><tbody>{body}</tbody></table>"


_TITLES = ("rule", "components", "share", "note")


def _html_row(cells: tuple[str, ...], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

"""Numbers with K, M or B for thousands, millions and billions, as web sites shorten them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eigenlens.data.files.base import pl
from eigenlens.data.files.cell_formats.base import ColumnFormat, keep_text, list_names
from eigenlens.data.files.decision import Decision

if TYPE_CHECKING:
    from polars import Expr

POWERS = {"k": 3, "K": 3, "M": 6, "B": 9}
CELL = r"([+-]?[0-9]+(?:\.[0-9]+)?)([kKMB]?)"


@dataclass(frozen=True)
class Multiples(ColumnFormat):
    """Numbers of which some have K, M or B at their end; `example`: a cell, for messages."""

    example: str = field(default="", compare=False)

    def to_plain(self, cells: Expr) -> Expr:
        """Return the numbers with the powers of ten that the letters mean."""
        power = cells.str.extract(f"^{CELL}$", 2).replace({letter: f"e{n}" for letter, n in POWERS.items()})
        plain = pl.concat_str(cells.str.extract(f"^{CELL}$", 1), power)
        found: Expr = pl.when(plain.is_not_null()).then(plain).when(cells.is_not_null()).then(pl.lit("text"))
        return found

    def decision(self, columns: Sequence[str]) -> Decision:
        """Return the decision to read these columns as numbers, by an example."""
        value = pl.DataFrame({"cell": [self.example]}).select(self.to_plain(pl.col("cell")).cast(pl.Float64)).item()
        what = f"{self.example!r} in {list_names(columns)} is read as {value:,.10g}"
        return Decision("units", what, tuple(columns), **keep_text(columns))


def find_multiples(cells: Collection[str], *, known: bool = False) -> Multiples | None:
    """Return the format of a column whose cells end with different letters of this kind; 300 K alone are kelvins.

    known: whether the column had it in an earlier file.

    >>> find_multiples(["12K", "3.4M", "950"]) is None, find_multiples(["12K", "14K"])
    (False, None)
    """
    found = [re.fullmatch(CELL, cell) for cell in cells]
    letters = {match[2].upper() for match in found if match is not None}
    if not all(found) or not letters - {""} or (len(letters) < 2 and not known):
        return None
    return Multiples(next(match[0] for match in found if match is not None and match[2]))

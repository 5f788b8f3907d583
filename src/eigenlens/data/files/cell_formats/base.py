"""The protocol of a format: how the cells of a column, which are not plain numbers, mean numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from eigenlens.data.column_kinds import ColumnKind
from eigenlens.data.files.decision import Decision

if TYPE_CHECKING:
    from polars import Expr


class ColumnFormat(ABC):
    """How the cells of a column mean numbers. A subclass is a frozen dataclass, so that equal columns are one decision.

    Attributes:
        kind: the kind of the column that they make.
        words: whether the cells are words, which stay categories for models that take those.
        shows_number: whether the number can be read in the cell, so that a marker such as -999 means it too.
    """

    kind: ColumnKind = ColumnKind.NUMBER
    words: ClassVar[bool] = False
    shows_number: ClassVar[bool] = False

    @property
    def only_words(self) -> bool:
        """Whether no cell shows its number."""
        return self.words and not self.shows_number

    @property
    def unit(self) -> str:
        """The unit that the cells have, or ""."""
        return ""

    @abstractmethod
    def to_plain(self, cells: Expr) -> Expr:
        """Return present cells, without spaces around them, as plain numbers in text; other cells as other text."""

    @abstractmethod
    def decision(self, columns: Sequence[str]) -> Decision:
        """Return the decision to read these columns so."""


def list_names(columns: Sequence[str]) -> str:
    """Return columns for the middle of a sentence.

    >>> list_names(["a"]), list_names(["a", "b", "c"])
    ("column 'a'", "column 'a' and 2 more")
    """
    return f"column {columns[0]!r}" + (f" and {len(columns) - 1} more" if len(columns) > 1 else "")


def keep_text(columns: Sequence[str]) -> dict[str, Any]:
    """Return the way out and the setting of a decision that makes numbers of text."""
    return {"fix": "keep it as text with {text}", "settings": {"text": list(columns)}, "surprising": True}

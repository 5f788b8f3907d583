"""Words that mean numbers: yes and no, and the answers of questionnaires, which have an order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eigenlens.data.column_kinds import ColumnKind
from eigenlens.data.files.cell_formats.base import ColumnFormat, keep_text, list_names
from eigenlens.data.files.cell_formats.likert import SCALES, Scale
from eigenlens.data.files.decision import Decision

if TYPE_CHECKING:
    from polars import Expr

YES, NO = frozenset({"yes", "y", "on"}), frozenset({"no", "n", "off"})

MIN_ANSWERS = 3
"""A column must have this many different answers of a scale before any column is read by it: "good" may be a name."""


@dataclass(frozen=True)
class YesNo(ColumnFormat):
    """Cells that are yes or no, in any case."""

    kind = ColumnKind.BOOLEAN
    words = True

    def to_plain(self, cells: Expr) -> Expr:
        """Return true for yes and false for no."""
        found: Expr = cells.str.to_lowercase().replace(dict.fromkeys(YES, "true") | dict.fromkeys(NO, "false"))
        return found

    def decision(self, columns: Sequence[str]) -> Decision:
        """Return the decision to read yes as 1 and no as 0."""
        what = f"yes and no in {list_names(columns)} are read as 1 and 0"
        return Decision("words", what, tuple(columns), **keep_text(columns))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Answers(ColumnFormat):
    """Cells that are points of a scale, in any case: the lowest is 1."""

    scale: Scale
    kind = ColumnKind.INTEGER
    words = True

    def to_plain(self, cells: Expr) -> Expr:
        """Return the number of the point of each cell."""
        bare = cells.str.to_lowercase().str.replace_all(r"\s+", " ")
        found: Expr = bare.replace({word: str(point) for word, point in self.scale.codes.items()})
        return found

    def decision(self, columns: Sequence[str]) -> Decision:
        """Return the decision to read the words of a scale as 1, 2, …"""
        first, last = self.scale.points[0][0], self.scale.points[-1][0]
        what = f"'{first}' … '{last}' in {list_names(columns)} are read as 1 … {len(self.scale.points)}"
        return Decision("words", what, tuple(columns), **keep_text(columns))  # type: ignore[arg-type]


def find_word_formats(columns: Mapping[str, Iterable[str]]) -> dict[str, ColumnFormat]:
    """Return the formats of the columns whose different cells are all yes and no, or answers on one scale.

    >>> found = find_word_formats({"a": ["Yes", "no"], "b": ["Agree", "disagree", "Neutral"], "c": ["male", "female"]})
    >>> found["a"], found["b"].scale.codes["agree"], "c" in found
    (YesNo(), 4, False)
    """
    words = {name: {" ".join(value.lower().split()) for value in values} for name, values in columns.items()}
    flags = {name for name, found in words.items() if found <= YES | NO and found & YES and found & NO}
    answers = {name: found for name, found in words.items() if found and found <= ALL_ANSWERS and name not in flags}
    return dict.fromkeys(flags, YesNo()) | _find_scales(answers)


def _find_scales(columns: dict[str, set[str]]) -> dict[str, Any]:
    """Return the scale of each column; all columns of a family have one scale, the shortest with all their words."""
    used = {family for found in columns.values() if len(found) >= MIN_ANSWERS for family in _families(found)[:1]}
    chosen = {name: next((f for f in _families(found) if f in used), None) for name, found in columns.items()}
    formats: dict[str, Answers] = {}
    for family in used:
        members = {name: columns[name] for name, one in chosen.items() if one == family}
        together = set().union(*members.values())
        for name, found in members.items():
            scales = [scale for scale in SCALES[family] if together <= set(scale.codes)]
            scales = scales or [scale for scale in SCALES[family] if found <= set(scale.codes)]
            formats[name] = Answers(min(scales, key=lambda scale: len(scale.points)))
    return formats


def _families(words: set[str]) -> list[str]:
    return [family for family, scales in SCALES.items() if any(words <= set(scale.codes) for scale in scales)]


WORD_FORMATS: dict[str, ColumnFormat] = {"yes and no": YesNo()} | {
    f"{family} {number}": Answers(scale) for family, scales in SCALES.items() for number, scale in enumerate(scales, 1)
}
"""Formats of words by names that model files keep."""


def recall_word_formats(columns: Mapping[str, Iterable[str]], known: Mapping[str, str]) -> dict[str, ColumnFormat]:
    """Return the formats that columns had in an earlier file, by name, where all of their words are of that format.

    >>> recall_word_formats({"a": ["yes"], "b": ["seldom"]}, {"a": "yes and no", "b": "agreement 1"})
    {'a': YesNo()}
    """
    formats = {name: WORD_FORMATS[written] for name, written in known.items() if name in columns}
    words = {name: {" ".join(value.lower().split()) for value in columns[name]} for name in formats}
    return {name: written for name, written in formats.items() if words[name] <= _vocabulary(written)}


def _vocabulary(written: ColumnFormat) -> frozenset[str]:
    return frozenset(written.scale.codes) if isinstance(written, Answers) else YES | NO


ALL_ANSWERS = frozenset(word for scales in SCALES.values() for scale in scales for word in scale.codes)

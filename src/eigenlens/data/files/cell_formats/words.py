"""Words that mean numbers: yes and no, and the answers of questionnaires and letter grades, which have an order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eigenlens.data.column_kinds import ColumnKind
from eigenlens.data.files.cell_formats.base import ColumnFormat, keep_text, list_names
from eigenlens.data.files.cell_formats.likert import LETTER_GRADES, SCALES, Scale
from eigenlens.data.files.decision import Decision

if TYPE_CHECKING:
    from polars import Expr

FLAGS = {
    f"{scale.points[1][0]} and {scale.points[0][0]}": scale
    for scale in map(
        Scale.of,
        (
            "no | n | off; yes | y | on", "f; t",
            "nein | n; ja | j", "nee | n; ja | j", "nej | n; ja | j", "nei | n; ja | j",
            "non; oui", "no; sí | si", "no; sì | si", "não | nao; sim", "nie; tak", "нет; да", "hayır | hayir; evet",
            "ne; ano", "nem; igen", "ei; kyllä", "nu; da", "όχι; ναι", "いいえ; はい", "否; 是",
            "falsch; wahr", "faux; vrai", "falso; vero", "falso; verdadero | verdadeiro", "onwaar; waar",
            "fałsz; prawda", "ложь; истина",
        ),
    )
}  # fmt: skip
"""Yes and no, and true and false as spreadsheets write them, in the languages of many files, by the two words."""

MIN_ANSWERS = 3
"""A column must have this many different answers of a scale before any column is read by it: "good" may be a name."""


@dataclass(frozen=True)
class YesNo(ColumnFormat):
    """Cells that are yes or no in one language, in any case."""

    scale: Scale = FLAGS["yes and no"]
    kind = ColumnKind.BOOLEAN
    words = True

    def to_plain(self, cells: Expr) -> Expr:
        """Return true for yes and false for no."""
        truths = {word: "true" if code == 2 else "false" for word, code in self.scale.codes.items()}
        found: Expr = cells.str.to_lowercase().replace(truths)
        return found

    def decision(self, columns: Sequence[str]) -> Decision:
        """Return the decision to read yes as 1 and no as 0."""
        no, yes = (words[0] for words in self.scale.points)
        what = f"{yes} and {no} in {list_names(columns)} are read as 1 and 0"
        return Decision("words", what, tuple(columns), **keep_text(columns))


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
        ends = self.scale.points[0][0], self.scale.points[-1][0]
        first, last = (word.upper() if word in GRADES else word for word in ends)
        what = f"'{first}' … '{last}' in {list_names(columns)} are read as 1 … {len(self.scale.points)}"
        return Decision("words", what, tuple(columns), **keep_text(columns))


def find_word_formats(columns: Mapping[str, Iterable[str]]) -> dict[str, ColumnFormat]:
    """Return the formats of the columns whose different cells are all yes and no, or answers on one scale.

    >>> found = find_word_formats({"a": ["Yes", "no"], "b": ["Agree", "disagree", "Neutral"], "c": ["male", "female"]})
    >>> found["a"].scale.codes["yes"], found["b"].scale.codes["agree"], "c" in found
    (2, 4, False)
    """
    words = {name: {" ".join(value.lower().split()) for value in values} for name, values in columns.items()}
    flags = {name: written for name, found in words.items() if (written := _find_flags(found)) is not None}
    answers = {name: found for name, found in words.items() if found and found <= ALL_ANSWERS and name not in flags}
    answers = {name: found for name, found in answers.items() if not found <= GRADES or _are_grades(name, found)}
    # M and S may be men, or singles: letters are sizes where the column itself has three of them.
    answers = {name: found for name, found in answers.items() if not found <= SIZES or len(found) >= MIN_ANSWERS}
    return flags | _find_scales(answers)


def _find_flags(words: set[str]) -> YesNo | None:
    """Return the format of a column that has the yes and the no of one language, and nothing else."""
    codes = (scale for scale in FLAGS.values() if words <= set(scale.codes))
    return next((YesNo(scale) for scale in codes if len({scale.codes[word] for word in words}) == 2), None)


def _are_grades(name: str, words: set[str]) -> bool:
    """Return whether letters are grades: by the name of the column, or with and without signs.

    >>> _are_grades("x", {"a", "a-", "b+"}), _are_grades("group", {"a", "b", "c"}), _are_grades("blood", {"a+", "b-"})
    (True, False, False)
    """
    signed = {word for word in words if len(word) > 1}
    return GRADE_NAME.fullmatch(name) is not None or bool(signed and words - signed)


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


WORD_FORMATS: dict[str, YesNo | Answers] = {name: YesNo(scale) for name, scale in FLAGS.items()} | {
    f"{family} {number}": Answers(scale) for family, scales in SCALES.items() for number, scale in enumerate(scales, 1)
}
"""Formats of words by names that model files keep."""


def recall_word_formats(columns: Mapping[str, Iterable[str]], known: Mapping[str, str]) -> dict[str, ColumnFormat]:
    """Return the formats that columns had in an earlier file, by name, where all of their words are of that format.

    >>> list(recall_word_formats({"a": ["yes"], "b": ["seldom"]}, {"a": "yes and no", "b": "agreement 1"}))
    ['a']
    """
    formats = {name: WORD_FORMATS[each] for name, each in known.items() if name in columns and each in WORD_FORMATS}
    words = {name: {" ".join(value.lower().split()) for value in columns[name]} for name in formats}
    return {name: written for name, written in formats.items() if words[name] <= set(written.scale.codes)}


GRADES = frozenset(word for scale in SCALES[LETTER_GRADES] for word in scale.codes)
SIZES = frozenset(word for scale in SCALES["size"] for word in scale.codes if len(word) < 4)
GRADE_NAME = re.compile(r"(?i)(.*[\W_])?(letter[\W_]?)?(grades?|marks?)([\W_]?[0-9]+)?")
"""Names of columns whose letters are grades; others may be groups, or types of blood."""

ALL_ANSWERS = frozenset(word for scales in SCALES.values() for scale in scales for word in scale.codes)

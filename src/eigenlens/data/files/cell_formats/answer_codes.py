"""Answers with their codes: (4) agree, 4 = agree, 4 - agree; and codes alone with a letter, A4, as LimeSurvey has them.

A code may number categories that have no order, such as towns. It is read as a number where several columns share
their answers, as the items of a questionnaire do, or where other cells of the column are codes alone, as in forms that
name the ends of a scale only.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eigenlens.data.column_kinds import ColumnKind
from eigenlens.data.files.base import pl
from eigenlens.data.files.cell_formats.base import ColumnFormat, keep_text, list_names
from eigenlens.data.files.decision import Decision

if TYPE_CHECKING:
    from polars import Expr

FORMS = {
    "code in brackets": r"[(\[](?P<code>-?[0-9]{1,3})[)\]]\s*(?P<answer>\D.*)",
    "code before answer": r"(?P<code>-?[0-9]{1,3})\s*(?:=|:|\s-|\s–|\s—|\.\s)\s*(?P<answer>\D.*)",
    "code before answer in brackets": r"(?P<code>-?[0-9]{1,3})\s*[(\[](?P<answer>\D.*)[)\]]",
    "code in brackets after answer": r"(?P<answer>\D+?)\s*[(\[](?P<code>-?[0-9]{1,3})[)\]]",
    "code after letter": r"(?:AO|A)0{0,2}(?P<code>[1-9][0-9]?)(?P<answer>)",
}
"""The forms by names that model files keep: the code and the answer as named groups."""

CODE = "-?[0-9]{1,3}"

MIN_COLUMNS = 3
"""The fewest columns that share their answers."""

MIN_CODES, MAX_CODES = 3, 15
"""The fewest and most different codes of these columns together."""


@dataclass(frozen=True)
class AnswerCodes(ColumnFormat):
    """Cells with a code and an answer in one form, by its name. `example`: a cell, for messages."""

    form: str
    example: str = field(default="", compare=False)
    kind = ColumnKind.INTEGER
    words = True
    shows_number = True

    def to_plain(self, cells: Expr) -> Expr:
        """Return the codes."""
        pattern = f"^{FORMS[self.form]}$"
        place = re.compile(pattern).groupindex["code"]
        found: Expr = pl.when(cells.str.contains(pattern)).then(cells.str.extract(pattern, place)).otherwise(cells)
        return found

    def decision(self, columns: Sequence[str]) -> Decision:
        """Return the decision to read the codes, by an example."""
        code = re.sub(f"^{FORMS[self.form]}$", r"\g<code>", self.example)
        share = ", which share their answers," if len(columns) > 1 else ""
        what = f"{self.example!r} in {list_names(columns)}{share} is read as {code}"
        return Decision("words", what, tuple(columns), **keep_text(columns))


CODE_FORMATS = {name: AnswerCodes(name) for name in FORMS}


def find_answer_codes(columns: Mapping[str, Collection[str]], known: Mapping[str, str]) -> dict[str, ColumnFormat]:
    """Return the formats of the columns that share answers with codes, each code with one answer.

    known: the names of formats that columns had in an earlier file.

    >>> items = {f"q{i}": ["(1) no", "(2) perhaps", "(3) yes"] for i in range(3)}
    >>> len(find_answer_codes(items, {})), len(find_answer_codes({"town": ["(1) Bonn", "(2) Graz", "(3) Linz"]}, {}))
    (3, 0)
    """
    found: dict[str, ColumnFormat] = {}
    for form, pattern in FORMS.items():
        codes = {name: _codes(cells, pattern) for name, cells in columns.items() if name not in found}
        alike = {name: own for name, own in codes.items() if own}
        read = [name for name, own in alike.items() if known.get(name) == form or _is_scale(own, alike.values())]
        examples = {name: next(cell for cell in columns[name] if re.fullmatch(pattern, cell)) for name in read}
        found |= {name: AnswerCodes(form, example) for name, example in examples.items()}
    return found


def _is_scale(own: Mapping[str, str], every: Collection[Mapping[str, str]]) -> bool:
    """Return whether several columns have answers of one, {code: answer}, and together one answer for each code."""
    alike = [other for other in every if len(own.items() & other.items()) >= min(2, len(own), len(other))]
    together = {pair for other in alike for pair in other.items()}
    codes, answers = {code for code, _ in together}, {answer or code for code, answer in together}
    one_each = len(codes) == len(answers) == len(together)
    alone = "" in own.values() and any(own.values())  # codes without an answer show that codes are numbers
    return (len(alike) >= MIN_COLUMNS or alone) and one_each and MIN_CODES <= len(codes) <= MAX_CODES


def _codes(cells: Collection[str], pattern: str) -> dict[str, str]:
    """Return {code: answer} of a column all of whose different cells have the form, or are codes; else {}.

    >>> form = FORMS["code before answer in brackets"]
    >>> _codes(["1 (never)", "2", "3 (always)"], form), _codes(["1", "2"], form)
    ({'1': 'never', '3': 'always', '2': ''}, {})
    """
    matches = {cell: re.fullmatch(pattern, cell) for cell in cells}
    found = {match["code"]: match["answer"] for match in matches.values() if match is not None}
    plain = {cell: "" for cell, match in matches.items() if match is None and re.fullmatch(CODE, cell)}
    return found | plain if found and len(found | plain) == len(matches) else {}

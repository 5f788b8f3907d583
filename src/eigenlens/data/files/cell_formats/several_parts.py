"""Numbers in several parts: times, angles, feet and inches, fractions, powers of ten, estimates with their errors.

A form is read only where a column can mean nothing else: 59:32 is minutes and seconds beside 1:02:10 or 58:47.3, and by
itself it may be hours and minutes. A new form is one entry in `FORMS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from eigenlens.data.files.base import pl
from eigenlens.data.files.cell_formats.base import ColumnFormat, keep_text, list_names
from eigenlens.data.files.cell_formats.signed_numbers import ZERO
from eigenlens.data.files.decision import Decision

if TYPE_CHECKING:
    from polars import Expr

PLAIN_SIGNS = {"−": "-", "–": "-", "′": "'", "’": "'", "″": '"', "”": '"', "º": "°", "⁄": "/"}
PLAIN_SIGNS |= dict(zip("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹", "-+0123456789", strict=True))
PLAIN_SIGNS |= {
    sign: f" {over}/{under}" for sign, over, under in zip("½¼¾⅓⅔⅛⅜⅝⅞", "113121357", "244338888", strict=True)
}
"""Printed signs, raised digits and fractions of one sign, as they are read."""

RAISED = "10([⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹])"
NEGATIVE = "^-|°.*[SW]$"

NUMBER = "[0-9]+(?:[.,][0-9]+)?"
ANGLE = rf"({NUMBER})\s?°\s?(?:({NUMBER})\s?')?\s?(?:({NUMBER})\s?\")?"
UNITS_OF_TIME = ("d|days?", "h|hrs?|hours?", "m|mins?|minutes?", "s|secs?|seconds?")
DURATION = r"\s*".join(rf"(?:({NUMBER})\s?(?i:{unit}))?" for unit in UNITS_OF_TIME)

# 1,234 may be a thousand, so a comma before three digits is not read.
ESTIMATE = r"[0-9]+(?:\.[0-9]+|,[0-9]{1,2}|,[0-9]{4,})?(?:[eE][+-]?[0-9]+)?"
UNIT_AFTER = r"(?:%|°?[^\W\d_][^\d\s±]{0,15})"


def _sum(*factors: float) -> Callable[..., Expr]:
    """Return the function that adds parts, each of so many of the smallest unit."""

    def add(*parts: Expr) -> Expr:
        weighted = [part.fill_null(0.0) * each for part, each in zip(parts, factors, strict=True)]
        found: Expr = pl.sum_horizontal(weighted)
        return found

    return add


def _fraction(number: Expr, whole: Expr, over: Expr, under: Expr) -> Expr:
    found: Expr = number.fill_null(0.0) + whole.fill_null(0.0) + (over / under).fill_null(0.0)
    return found


def _power(number: Expr, mantissa: Expr, exponent: Expr) -> Expr:
    """Return mantissa · 10^exponent; a division by a positive power is exact where the product is not."""
    power = pl.lit(10.0) ** exponent.abs()
    found: Expr = pl.coalesce(number, pl.when(exponent < 0).then(mantissa / power).otherwise(mantissa * power))
    return found


class Form(NamedTuple):
    """A way to write a number in parts.

    Attributes:
        pattern: of a whole cell, its parts as groups. proof: what one cell must have, so that nothing else is meant.
        value: the number, by its parts. unit: that of the number, or "". note: what a message adds to the number.
        same: what must be the same in all cells with a proof, such as a unit at their end.
        everywhere: whether it must be the same in all cells.
    """

    pattern: str
    proof: str
    value: Callable[..., Expr]
    unit: str = ""
    note: str = ""
    same: str = ""
    everywhere: bool = False


FORMS = {
    "clock": Form(
        r"-?(?:([0-9]+) days?,? )?(?:([0-9]+):([0-5]?[0-9])|([0-9]+)):([0-5][0-9](?:[.,][0-9]+)?)",
        # No time of day has 24 hours. Were 27:40 hours and minutes, all values would be 60 times as large, no more.
        r":.*:|[.,][0-9]+$|^-?(?:2[4-9]|[3-9][0-9]|[0-9]{3,}):", _sum(86_400.0, 3_600.0, 60.0, 60.0, 1.0), "seconds",
    ),
    "duration": Form(DURATION, r"(?i)[a-z]\s*[0-9].*[a-z]", _sum(86_400.0, 3_600.0, 60.0, 1.0), "seconds"),
    "ISO duration": Form(
        rf"P(?:({NUMBER})D)?T(?:({NUMBER})H)?(?:({NUMBER})M)?(?:({NUMBER})S)?", "^P",
        _sum(86_400.0, 3_600.0, 60.0, 1.0), "seconds",
    ),
    "latitude": Form(rf"{ANGLE}\s?[NS]", "°", _sum(1.0, 1 / 60, 1 / 3_600), "degrees"),
    "longitude": Form(rf"{ANGLE}\s?[EW]", "°", _sum(1.0, 1 / 60, 1 / 3_600), "degrees"),
    "angle": Form(rf"-?{ANGLE}", "°.*'", _sum(1.0, 1 / 60, 1 / 3_600), "degrees"),
    "feet and inches": Form(
        r"([0-9]+)\s?(?:'|ft\.?|feet)\s?(?:((?:[0-9]|1[01])(?:[.,][0-9]+)?)\s?(?:\"|in\.?|inch(?:es)?)?)?",
        "^[0-9]+[^0-9]+[0-9]", _sum(12.0, 1.0), "inches",
    ),
    "fraction": Form(
        rf"-?(?:({NUMBER})|(?:([0-9]+) +)?([0-9]+) ?/ ?([1-9][0-9]*))", r"^-?[0-9]+ +[0-9]+ ?/|[½¼¾⅓⅔⅛⅜⅝⅞]",
        _fraction,
    ),
    "points of a total": Form(
        # No day of a month: 0/10, 17/20, 30/40.
        r"([0-9]+(?:[.,][0-9]+)?)\s?/\s?([1-9][0-9]*(?:[.,]0+)?)",
        r"^0+\s?/|^(?:1[3-9]|[2-9][0-9]).*/\s?(?:1[3-9]|[2-9][0-9])$|/\s?(?:3[2-9]|[4-9][0-9]|[0-9]{3,})(?:[.,]0+)?$",
        lambda points, total: points / total, same=r"/\s?[0-9.,]+$", everywhere=True,
    ),
    "power of ten": Form(
        rf"-?(?:({NUMBER}(?:[eE][+-]?[0-9]+)?)|({NUMBER})\s?[×xX·*⋅]\s?10\s?(?:\^|\*\*)\s?\(?\+?(-?[0-9]+)\)?)",
        r"10\s?(?:\^|\*\*)", _power,
    ),
    "estimate ± error": Form(
        rf"-?({ESTIMATE})(?:\s?(?:{UNIT_AFTER}\s?)?(?:±|\+/-|\+-)\s?{ESTIMATE}(?:\s?{UNIT_AFTER})?)?", "±|\\+/?-",
        _sum(1.0), note=", without its error", same=rf"(?![eE][+-]?[0-9]){UNIT_AFTER}",
    ),
    "estimate (error)": Form(
        rf"-?({ESTIMATE})(?:\s?(?:%\s?)?[(\[](?:±\s?)?{ESTIMATE}\s?%?[)\]])?", r"[(\[]", _sum(1.0),
        note=", without what is in brackets", same=r"[^0-9.,eE+ -]+",
    ),
    "estimate [interval]": Form(
        rf"-?({ESTIMATE})(?:\s?[(\[](?:95 ?% ?CI:? ?)?-?{ESTIMATE}\s?(?:[,;:]|to|-)\s?-?{ESTIMATE}[)\]])?", r"[(\[]",
        _sum(1.0), note=", without its interval",
    ),
}  # fmt: skip
"""Forms by name, which model files keep; they are tried in this order."""


@dataclass(frozen=True)
class SeveralParts(ColumnFormat):
    """Cells in one of the forms, by its name; a zero needs no form. `example`: a cell, for messages."""

    form: str
    example: str = field(default="", compare=False)

    def to_plain(self, cells: Expr) -> Expr:
        """Return the numbers that the parts make."""
        pattern, value = FORMS[self.form].pattern, FORMS[self.form].value
        signs, plain = list(PLAIN_SIGNS), list(PLAIN_SIGNS.values())
        bare = cells.str.replace(RAISED, "10^$1").str.replace_many(signs, plain)
        bare = bare.str.replace("''", '"', literal=True).str.strip_chars()
        groups = (bare.str.extract(f"^{pattern}$", place + 1) for place in range(re.compile(pattern).groups))
        number = value(*(part.str.replace(",", ".", literal=True).cast(pl.Float64) for part in groups))
        signed = pl.when(bare.str.contains(NEGATIVE)).then(-number).otherwise(number).cast(pl.String)
        other = pl.when(bare.str.contains(ZERO)).then(pl.lit("0")).when(cells.is_not_null()).then(pl.lit("text"))
        found: Expr = pl.when(bare.str.contains(f"^{pattern}$")).then(signed).otherwise(other)
        return found

    def decision(self, columns: Sequence[str]) -> Decision:
        """Return the decision to read these columns as numbers, by an example."""
        value = pl.DataFrame({"cell": [self.example]}).select(self.to_plain(pl.col("cell")).cast(pl.Float64)).item()
        unit, note = FORMS[self.form].unit, FORMS[self.form].note
        what = f"{self.example!r} in {list_names(columns)} is read as {value:g}{f' {unit}' if unit else ''}{note}"
        return Decision("units", what, tuple(columns), **keep_text(columns))


PART_FORMATS = {name: SeveralParts(name) for name in FORMS}


def find_several_parts(cells: Collection[str], known: str | None = None) -> SeveralParts | None:
    r"""Return the form of a column whose different cells all have it, and one of them no other; else None.

    known: the form that the column had in an earlier file, which needs no such cell.

    >>> find_several_parts(["59:32", "1:02:10"]).form, find_several_parts(["09:32", "17:10"])
    ('clock', None)
    >>> find_several_parts(["5'11\"", "6'"]).form, find_several_parts(["1/2", "3 1/4"]).form
    ('feet and inches', 'fraction')
    """
    plain = {cell: _plain(cell) for cell in cells if not re.search(ZERO, cell)}
    for name, form in FORMS.items():
        pattern, proof = re.compile(form.pattern), re.compile(form.proof)
        if plain and all(map(pattern.fullmatch, plain.values())):
            proved = [cell for cell in plain if proof.search(cell) or proof.search(plain[cell])]
            if (proved and _are_alike(plain if form.everywhere else proved, form.same)) or name == known:
                return SeveralParts(name, next(iter(plain if form.everywhere else proved or plain)))
    return None


def _are_alike(cells: Collection[str], same: str) -> bool:
    """Return whether what a pattern finds is the same in all cells; "" finds nothing."""
    return not same or len({tuple(re.findall(same, cell)) for cell in cells}) == 1


def _plain(cell: str) -> str:
    raised = re.sub(RAISED, r"10^\1", cell)
    return raised.translate({ord(sign): plain for sign, plain in PLAIN_SIGNS.items()}).replace("''", '"').strip()


OTHER_MEANINGS = {
    r"[0-9]{1,2}:[0-5][0-9]": ("may be hours and minutes, or minutes and seconds", "write them as 1:23:00 or 0:01:23"),
    r"[0-9]+\s?:\s?[0-9]+": ("may be ratios, scores or times", "write them as numbers"),
    r"[0-9]+\s?/\s?[0-9]+": ("may be fractions, dates or parts of a total", "write them as numbers, 0.5 for 1/2"),
    r".*[0-9].*(?:±|\+/-).*[0-9].*": (
        "are numbers with errors in different units, or with commas that may separate thousands",
        "write them in one unit, without commas",
    ),
    r".*°.*O": ("may be east (German) or west (French, Spanish)", "write them with E or W"),
}
"""Cells that can be read in several ways, by their patterns: what they may be, and what to write."""

MARKS_WITH_SIGNS = {r"[0-9]{1,2}\s?[+-]?": ("may be marks with their tendency", "write 2- as 2.3, or as -2")}
"""The same where some cells have a plus and others a minus."""


def describe_other_meanings(name: str, cells: Collection[str]) -> Decision | None:
    """Return the decision to leave a column as text whose cells all may be different numbers; else None."""
    # 3+ may be three or more, and 2- minus two, but hardly in one column.
    signed = MARKS_WITH_SIGNS if {"+", "-"} <= set("".join(cells)) else {}
    for pattern, (meanings, fix) in (OTHER_MEANINGS | signed).items():
        if all(re.fullmatch(pattern, cell) for cell in cells):
            what = f"column {name!r} stays text: cells such as {next(iter(cells))!r} {meanings}"
            return Decision("units", what, (name,), fix, surprising=True, stays_text=True)
    return None

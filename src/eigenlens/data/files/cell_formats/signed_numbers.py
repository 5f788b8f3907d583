"""Numbers with something around them: units, signs of currency, spaces between thousands, a printer's minus, …"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from eigenlens.data.column_kinds import ColumnKind
from eigenlens.data.files.base import pl
from eigenlens.data.files.cell_formats.base import ColumnFormat, keep_text, list_names
from eigenlens.data.files.cell_formats.unit_names import CURRENCIES, NOT_UNITS, is_known_unit
from eigenlens.data.files.decision import Decision

if TYPE_CHECKING:
    from polars import Expr

    from eigenlens.data.files.dialect import Dialect

MINUS = "−–-"  # the last sign of a class of characters, or it would be a range
GROUPING = "'’_ \u00a0\u202f\u2009\u2007"
"""Signs between thousands that are never decimal signs: apostrophes, and spaces of any width."""

CELL = re.compile(
    rf"(?P<open>\(?)(?P<sign>[+{MINUS}]?)\s?(?P<before>(?:{CURRENCIES})?)\s?(?P<inner>[+{MINUS}]?)"
    rf"(?P<numeral>[0-9.,](?:[0-9.,{GROUPING}]*[0-9.,])?(?:[eE][+-]?[0-9]+)?)(?P<trailing>[{MINUS}]?)"
    rf"(?P<space>\s?)(?P<after>(?:{CURRENCIES}|(?:[^\W\d_]|[%‰°])(?:[\s/·*]?[\w%°²³⁻·^−-]){{0,16}})?)(?P<close>\)?)"
)
"""A number with everything that may be around it."""

ZERO = rf"^[+-]?0+(?:[.,]0*)?$|^(?:{CURRENCIES})\s*[{MINUS}]$"
"""A zero, which needs no unit; spreadsheets show one of money as $ -."""

MONEY_IN_BRACKETS = rf"^({CURRENCIES})\s?\("
"""The start of a negative amount such as $(250), which is read like ($250)."""


class Parts(NamedTuple):
    """The signs around and in the numbers of a column: units, brackets, signs between thousands, a minus at the end.

    `some`: only some of the numbers have the sign of currency, as in accounts, where totals have it.
    """

    before: str
    after: str
    plural: bool
    brackets: bool
    grouping: str
    trailing: bool
    some: bool = False


PLAIN = re.compile(r"-?[0-9.]+")
"""A number that needs no other reading, and so is no example of one."""


@dataclass(frozen=True)
class SignedNumbers(ColumnFormat):
    """Numbers with the same unit or sign of currency in every cell, and signs between thousands.

    Attributes:
        parts: what is around them. decimal: the decimal sign. whole: whether all of them are integers.
        example: a cell, for messages.
    """

    parts: Parts
    decimal: str = "."
    whole: bool = False
    example: str = field(default="", compare=False)
    shows_number = True

    @property
    def kind(self) -> ColumnKind:  # type: ignore[override]
        """Integers where every cell is one, else numbers."""
        return ColumnKind.INTEGER if self.whole else ColumnKind.NUMBER

    @property
    def unit(self) -> str:
        """The unit or the sign of currency around every number, or ""."""
        return self.parts.before or self.parts.after

    @property
    def pattern(self) -> str:
        """The pattern of a whole cell, its numeral as the only group."""
        point = re.escape(self.decimal)
        group = "[" + re.escape(self.parts.grouping) + "]" if self.parts.grouping else ""
        # 12,34,567 as in India, where pairs follow the first three digits.
        indian = rf"[1-9][0-9]?(?:{group}[0-9]{{2}})+{group}[0-9]{{3}}"
        whole = rf"[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+|{indian}|[0-9]+" if group else "[0-9]+"
        numeral = rf"(?:(?:{whole})(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
        before, after = re.escape(self.parts.before), re.escape(self.parts.after) + "s?" * self.parts.plural
        before, after = (f"(?:{sign})?" if self.parts.some else sign for sign in (before, after))
        minus = rf"[{MINUS}]?" if self.parts.trailing else ""
        return rf"^\(?[+{MINUS}]?\s?{before}\s?[+{MINUS}]?({numeral}){minus}\s?{after}\)?$"

    def to_plain(self, cells: Expr) -> Expr:
        """Return the numbers without anything around them; a zero needs no unit."""
        cells = cells.str.replace(MONEY_IN_BRACKETS, "(${1}") if self.parts.brackets else cells
        numeral = cells.str.extract(self.pattern, 1)
        for sign in self.parts.grouping:
            numeral = numeral.str.replace_all(sign, "", literal=True)
        numeral = numeral.str.replace(",", ".", literal=True) if self.decimal == "," else numeral
        before = f"(?:{re.escape(self.parts.before)})?"
        negative = cells.str.contains(rf"^(?:\(|[{MINUS}]|{before}\s?[{MINUS}])|[{MINUS}]$")
        signed = pl.when(negative).then(pl.concat_str(pl.lit("-"), numeral)).otherwise(numeral)
        other = pl.when(cells.str.contains(ZERO)).then(pl.lit("0")).when(cells.is_not_null()).then(pl.lit("text"))
        found: Expr = pl.when(numeral.is_not_null()).then(signed).otherwise(other)
        return found

    def decision(self, columns: Sequence[str]) -> Decision:
        """Return the decision to read these columns as numbers, by an example."""
        value = pl.DataFrame({"cell": [self.example]}).select(self.to_plain(pl.col("cell"))).item()
        what = f"{self.example!r} in {list_names(columns)} is read as {value}"
        subject = "units" if self.parts.before or self.parts.after else "signs"
        return Decision(subject, what, tuple(columns), **keep_text(columns))


def find_signed_numbers(cells: Collection[str], dialect: Dialect) -> SignedNumbers | None:
    """Return the format of a column whose different cells are all numbers with one unit or sign; else None.

    >>> from eigenlens.data.files.dialect import Dialect
    >>> find_signed_numbers(["12 kg", "5.3 kg"], Dialect()).parts.after
    'kg'
    >>> find_signed_numbers(["12 kg", "5 g"], Dialect()), find_signed_numbers(["3+", "2"], Dialect())
    (None, None)
    """
    cells = [re.sub(MONEY_IN_BRACKETS, r"(\1", cell) for cell in cells]
    found = [CELL.fullmatch(cell) for cell in cells if not re.search(ZERO, cell)]
    matches = [match for match in found if match is not None]
    if not matches or len(matches) < len(found):
        return None
    parts = _common_parts(matches)
    if parts is None or not (_is_unit(parts.after, matches) or not parts.after):
        return None
    return _with_decimal(parts, cells, dialect)


def find_units(cells: Collection[str]) -> list[str]:
    """Return the different known units of a column of numbers with units; [] if a cell has no unit that is known.

    >>> find_units(["12 kg", "5 g"]), find_units(["1a", "2b"])
    (['g', 'kg'], [])
    """
    found = [CELL.fullmatch(cell) for cell in cells if not re.search(ZERO, cell)]
    if not all(match is not None and (match["before"] or _has_known_unit(match)) for match in found):
        return []
    units = {match["before"] or match["after"] for match in found if match is not None}
    return sorted(units) if len(units) > 1 else []


def _has_known_unit(match: re.Match[str]) -> bool:
    """Return whether a known unit follows; a capital letter needs a space before it: 1A may be a name."""
    unit = match["after"]
    name = len(unit) == 1 and unit.isupper() and not match["space"]
    return bool(re.fullmatch(CURRENCIES, unit)) or (is_known_unit(unit) and not name)


def _common_parts(matches: list[re.Match[str]]) -> Parts | None:
    before, after = ({match[name] for match in matches} for name in ("before", "after"))
    signs = (before | after) - {""}
    some = len(before) + len(after) == 3 and len(signs) == 1 and re.fullmatch(CURRENCIES, max(signs)) is not None
    if some:
        before, after = {max(before)}, {max(after)}
    singular = {unit.removesuffix("s") for unit in after}
    plural = len(after) == 2 and len(singular) == 1
    brackets = any(match["open"] for match in matches)
    if len(before) > 1 or len(after) > 1 + plural or any(bool(m["open"]) != bool(m["close"]) for m in matches):
        return None
    grouping = "".join(sign for sign in GROUPING if any(sign in match["numeral"] for match in matches))
    trailing = [match for match in matches if match["trailing"]]
    if trailing and (any(after) or not all(map(_is_amount, trailing)) or any(match["sign"] for match in matches)):
        return None
    return Parts(
        before.pop(), singular.pop() if plural else after.pop(), plural, brackets, grouping, bool(trailing), some
    )


def _is_amount(match: re.Match[str]) -> bool:
    """Return whether a number with a minus at its end is that of an account: 2- may be a mark, and 65- a range."""
    return len(re.sub("[^0-9]", "", match["numeral"])) > 2


def _is_unit(unit: str, matches: list[re.Match[str]]) -> bool:
    """Return whether what follows the numbers is a unit: a known one, or a word that three numbers share."""
    if all(map(_has_known_unit, matches)):
        return True
    word = len(unit) > 1 and unit.lower() not in NOT_UNITS and not re.search("[0-9]", unit)
    return word and len({match["numeral"] for match in matches}) >= 3


def _with_decimal(parts: Parts, cells: Collection[str], dialect: Dialect) -> SignedNumbers | None:
    """Return the format with the decimal sign that fits all cells; None where both fit and mean different numbers."""
    signs = parts.before + parts.after if parts.some else ""
    written = [cell for cell in cells if signs in cell and not re.search(ZERO, cell)]
    example = next((cell for cell in written if not PLAIN.fullmatch(cell)), written[0])
    american, european = (
        SignedNumbers(parts._replace(grouping=parts.grouping + other), decimal, example=example)
        for decimal, other in ((".", ","), (",", "."))
    )
    fits = [each for each in (american, european) if _fits(each, cells)]
    if len(fits) == 2:
        fits = [european if dialect.numbers.decimal == "," else american]
    if not fits or not _is_certain(fits[0], cells, dialect):
        return None
    used = "".join(s for s in fits[0].parts.grouping if s in GROUPING or any(s in cell for cell in cells))
    whole = not any(re.search(rf"[{re.escape(fits[0].decimal)}]|[0-9][eE][+-]?[0-9]", cell) for cell in cells)
    return SignedNumbers(fits[0].parts._replace(grouping=used), fits[0].decimal, whole, example)


def _is_certain(written: SignedNumbers, cells: Collection[str], dialect: Dialect) -> bool:
    """Return whether 1,200 and 1.200 have one meaning here: by other numbers, or by the unit in a file of such numbers.

    Bare numbers of this kind are left to `thousands` and `decimal`.
    """
    before, after, _, brackets, grouping, trailing, _ = written.parts
    point, comma = re.escape(written.decimal), grouping[-1]
    if not any(re.search(rf"[0-9][{comma}{point}][0-9]{{3}}(?![0-9])", cell) for cell in cells):
        return True
    if any(
        re.search(rf"(?<![0-9])[0-9]{{1,2}}{re.escape(comma)}[0-9]{{2}}{re.escape(comma)}[0-9]", cell) for cell in cells
    ):
        return True  # 12,34,567
    marked, money = bool(before or after or brackets or trailing), bool(before or re.fullmatch(CURRENCIES, after))
    if marked and any(re.search(rf"{re.escape(comma)}[0-9]{{3}}[{comma}{point}]", cell) for cell in cells):
        return True
    if not any(comma in cell for cell in cells):  # all are decimal signs, but perhaps those of money
        return written.decimal == dialect.numbers.decimal and not (money and dialect.separator == ";")
    if written.decimal == ",":
        return money or (marked and dialect.numbers.decimal == ",")
    return bool(before) or (marked and dialect.separator == ",")


def _fits(written: SignedNumbers, cells: Collection[str]) -> bool:
    pattern = re.compile(written.pattern)
    return all(pattern.search(cell) or re.search(ZERO, cell) for cell in cells)

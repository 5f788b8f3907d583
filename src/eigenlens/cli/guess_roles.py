"""The roles of columns where the command line does not name them, with the reason for each.

| a column | role |
|---|---|
| without an entry; of dates, times or nested values; constant, or with a single entry | left out |
| of text that differs in every row | names the rows; a second one is left out |
| of text with more values than rows / 2 | left out |
| of other text | colours the rows, and is supplementary; active for a model that takes text |
| of whole numbers that count the rows, or grow in small steps, or are long | names the rows |
| of numbers that grow from row to row by the same step, such as times of a log | names the rows |
| of whole numbers that hardly repeat and are called an id | names the rows; left out if they repeat |
| of few whole numbers that are called a class | colours the rows; active for a model that takes text |
| of whole numbers that are called years, months, days, hours, … | left out; names the rows if none repeats |
| of codes: leading zeros, or called a zip code or telephone number | left out |
| of other numbers, or of text that is meant as numbers | active |
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from eigenlens.cli.advice.calendar_columns import CALENDAR, calendar_part
from eigenlens.cli.column_profile import MIN_ROWS, Profile
from eigenlens.data.files.cell_formats.total_names import names_statistic
from eigenlens.data.files.cells import describe_cell
from eigenlens.data.files.decision import Decision
from eigenlens.errors import join_limited
from eigenlens.tables.text_table import count_noun

HEAD_ROWS = 10_000
"""The number of rows from which roles are guessed."""

MAX_CATEGORIES_PER_ROW = 0.5
"""Text with more different values per row than this is not a grouping of the rows."""

MAX_STEP = 50
"""Ids that grow from row to row leave out at most this many numbers per row; sorted measurements leave out more."""

LONG_NUMBER = 10_000_000
"""Whole numbers from here on that never repeat, all of them, are names rather than counts."""

ID_SHARE = 0.9
"""The share of different values from which a column that is called an id is one."""

ID_NAME = re.compile(
    r"(?i)(^|[\W_\d])(row|obs|sample|subject|patient|participant|respondent|customer|client|account|record|case|order)?"
    r"[\W_]*(id|ids|identifier|uid|uuid|guid|key|code|nr|no|num|number|index|idx|serial|barcode|isbn|ssn)([\W_\d]|$)"
    r"|(?-i:[a-z](Id|ID|Nr|No)$)"
)
CERTAIN_ID_NAME = re.compile(
    r"(?i)(^|[\W_])(id|ids|identifier|uid|uuid|guid)$|(?-i:[a-z](Id|ID)$)"
    r"|^(subject|subj|patient|participant|respondent|person|customer|student|animal|household)([\W_]?(no|nr|number|code))?$"
)
"""Names of ids even where they repeat, as in a table of several visits."""

CODE_NAME = re.compile(
    r"(?i)(^|[\W_\d])(zip|zip ?code|post ?code|postal([\W_]?code)?|plz|phone|tele?phone|tel|mobile|fax|fips|iban)"
    r"([\W_\d]|$)"
)


DAY = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(\.0)?")
"""Whole numbers that are dates, such as 20230131."""

DATE_NAME, DATE_NUMBERS = re.compile(r"(?i)(.*[\W_])?(date|datum|fecha)([\W_].*)?|.*[a-z]Date"), (20_000, 60_000)
"""Names of dates, and the days since 1900, from 1954 to 2064, by which spreadsheets number them."""

TIME_NAME = re.compile(
    r"(?i)(elapsed[\W_]*)?(time|timestamp|zeit|temps|tiempo|m?jd|[hb]jd|julian([\W_]?da(y|te))?)"
    r"([\W_]*\[?\(?(s|secs?|seconds?|ms|min|minutes|h|hours?|d|days?)\)?\]?)?"
)
"""Names of times, which are those of the rows where they grow from row to row."""

CLOCK_NAME = re.compile(
    r"(?i)(.*[\W_])?(time|date|datetime|(time)?stamp|ts|epoch|created|updated|modified)([\W_]?(at|on|utc))?"
)
EPOCH = ((5e8, 4.2e9), (5e11, 4.2e12))
"""Names of times, and the seconds or milliseconds since 1970 by which programs number them, from 1985 to 2103."""

CLASS_NAME = re.compile(
    r"(?i)y|(.*[\W_])?(class(es)?|labels?|target|species|diagnosis|outcome|category|cluster|group|digit"
    r"|survived|churn(ed)?|status|died|dead|event|types?|treatment|variety|cultivar|segment|cohort)"
)
"""Names of columns of numbers that hold classes."""

FEATURE_NAME = re.compile(
    r"(?i)(.*[\W_])?(genes?|gene_?(id|name)|symbol|(?-i:probes?)|probe_?id|ensembl\w*|transcripts?|snp"
    r"|(otu|asv|feature)([\W_]?id)?|id_ref)"
)
"""Names of columns that name what was measured, in tables whose columns are the samples."""

MAX_CLASSES = 20
"""More different whole numbers than this are not classes, whatever their name."""

NO_ENTRY, EVENLY_SPACED = "no entry", "evenly spaced numbers that grow from row to row"
GROWING = "whole numbers that grow from row to row"


class Role(StrEnum):
    """The role of a column in a fit."""

    ACTIVE = "active"
    ID = "id"
    LABEL = "label"
    ASIDE = "aside"


class GuessedRole(NamedTuple):
    """The role of a column, the reason for it, and whether the column could be active: it holds numbers."""

    column: Any
    role: Role
    reason: str
    numeric: bool

    @property
    def is_measured(self) -> bool:
        """Whether the column is active and holds numbers."""
        return self.role == Role.ACTIVE and self.numeric

    @property
    def varies(self) -> bool:
        """Whether the column is not left out for having one value or none."""
        return self.reason != NO_ENTRY and not self.reason.startswith(("constant, ", "a single entry, "))


def guess_roles(
    profiles: Iterable[Profile], mixed: bool = False, taken: Collection[Any] = ()
) -> dict[Any, GuessedRole]:
    """Return the role of every column by its profile; `mixed`: the model takes text. `taken`: columns with other roles.

    One column names the rows, of text if there is one; others that could are left out. Evenly spaced or sorted numbers
    that are the only ones, such as the middles of bins, are measurements.
    """
    found = {each.name: GuessedRole(each.name, *guess_role(each, mixed), _is_numeric(each)) for each in profiles}
    if not any(each.is_measured and each.column not in taken for each in found.values()):
        sorted_ones = (EVENLY_SPACED, GROWING)
        grids = [each for each in found.values() if each.reason in sorted_ones and each.column not in taken]
        found |= {each.column: each._replace(role=Role.ACTIVE, reason="") for each in grids}
    names = sorted((each for each in found.values() if each.role == Role.ID), key=lambda each: each.numeric)
    return found | {each.column: each._replace(role=Role.ASIDE) for each in names[1:]}


def _is_numeric(column: Profile) -> bool:
    return column.type not in ("text", "other") and column.rows > column.missing


def guess_role(column: Profile, mixed: bool = False) -> tuple[Role, str]:
    """Return the role of a column and the reason, by the table above."""
    present = column.rows - column.missing
    if not present:
        return Role.ASIDE, NO_ENTRY
    if column.type == "other":
        return Role.ASIDE, "dates, times or nested values"
    if column.type == "text":
        return _role_of_text(column, present, mixed)
    return _role_of_numbers(column, present, mixed)


def _role_of_text(column: Profile, present: int, mixed: bool) -> tuple[Role, str]:
    distinct = len(column.values)
    looks = {describe_cell(value) for value in list(column.marks or column.values)[:MAX_LOOKS]}
    look = looks.pop() if len(looks) == 1 else None
    if distinct == present > 1 and _is_id_with_total(column):
        return Role.ID, "a different text in each row"
    if 2 * column.numbers > present or (look is not None and look.number):
        return Role.ACTIVE, ""  # meant as numbers: reading them explains what to do
    if look is not None and look.what in ("dates", "IP addresses"):
        return Role.ASIDE, look.what
    if distinct == present > 1 and column.missing <= (1.0 - ID_SHARE) * column.rows:
        return Role.ID, "a different text in each row"
    if distinct == 1 and (present > 1 or column.rows >= MIN_ROWS) and not mixed:
        return Role.ASIDE, f"{'constant' if present > 1 else 'a single entry'}, '{next(iter(column.values))}'"
    if distinct > max(MAX_CATEGORIES_PER_ROW * present, 2):
        return Role.ASIDE, f"{distinct:,} different texts in {count_noun(present, 'row')}"
    return (Role.ACTIVE, "") if mixed else (Role.LABEL, f"{distinct:,} categories")


def _is_id_with_total(column: Profile) -> bool:
    """Return whether numbers that name the rows stand beside the name of a row of totals or of maximal points."""
    whole = column.whole == column.numbers > 0
    # A total below a column of measurements stands in the last row.
    named = ID_NAME.search(str(column.name)) or not names_statistic(column.last_text)
    ids = column.padded or (whole and named)
    return bool(ids and column.marks) and all(map(names_statistic, column.marks))


MAX_LOOKS = 20
"""The number of different texts that must look alike to be called dates."""


def _role_of_numbers(column: Profile, present: int, mixed: bool) -> tuple[Role, str]:
    whole, name = column.whole == column.numbers, str(column.name)
    distinct, many, many_rows = len(column.values), present >= MIN_ROWS, column.rows >= MIN_ROWS
    if column.numbers_rows:
        return Role.ID, "whole numbers that count the rows"
    time = _role_of_times(column, whole, many, distinct == present)
    if time is not None:
        return time
    if column.padded:
        return Role.ASIDE, "codes with leading zeros"
    if whole and CODE_NAME.search(name):
        return Role.ASIDE, "codes, by the name"
    if whole and not mixed and CLASS_NAME.fullmatch(name) and 1 < distinct <= min(MAX_CLASSES, present // 2):
        return Role.LABEL, f"{distinct} whole numbers, and by its name classes"
    if whole and many and ID_NAME.search(name) and distinct >= ID_SHARE * present:
        return Role.ID, "whole numbers that hardly repeat, and by its name an id"
    if whole and many and distinct == present:
        if column.increasing and column.greatest - column.least <= MAX_STEP * present:
            return Role.ID, GROWING
        if column.type == "integer" and column.least >= LONG_NUMBER:  # 4.8e12 is a measurement
            return Role.ID, "long whole numbers, a different one in each row"
    if whole and many and CERTAIN_ID_NAME.search(name):
        return Role.ASIDE, "ids that repeat, by the name"
    # Floats cannot tell long whole numbers apart, their texts can.
    if column.least == column.greatest and distinct <= 1 and (present > 1 or many_rows) and not mixed:
        return Role.ASIDE, f"{'constant' if present > 1 else 'a single entry'}, {column.least:g}"
    if column.evenly_spaced:
        return Role.ID, EVENLY_SPACED
    return Role.ACTIVE, ""


def _role_of_times(column: Profile, whole: bool, many: bool, alone: bool) -> tuple[Role, str] | None:
    """Return the role of a column of numbers that are dates, times or parts of these; None for others.

    whole: whether all are whole numbers. many: whether there are enough to tell. alone: whether none repeats.
    """
    name, least, greatest = str(column.name), column.least, column.greatest
    part = calendar_part(name, least, greatest) if whole and least < greatest else ""
    if part:
        alike = (Role.ID, f"{part}, a different one in each row")
        return alike if many and alone else (Role.ASIDE, f"{part}, by the name")
    if column.padded:
        return None
    if whole and many and column.values and all(map(DAY.fullmatch, itertools.islice(column.values, HEAD_ROWS))):
        return Role.ASIDE, "dates"
    if whole and DATE_NAME.fullmatch(name) and DATE_NUMBERS[0] <= least < greatest <= DATE_NUMBERS[1]:
        return Role.ASIDE, "dates"
    if whole and CLOCK_NAME.fullmatch(name) and any(low <= least < greatest <= high for low, high in EPOCH):
        return (Role.ID, "times, a different one in each row") if many and alone else (Role.ASIDE, "times")
    complete = column.missing == 0 and column.numbers == column.rows
    if many and complete and column.increasing and TIME_NAME.fullmatch(name):
        return Role.ID, "times that grow from row to row"
    return None


def role_decisions(guessed: Mapping[Any, GuessedRole]) -> list[Decision]:
    """Return the roles that were guessed as decisions: one for each kind of reason."""
    found = [_decision(each) for each in guessed.values() if each.role in (Role.ID, Role.LABEL)]
    aside: dict[tuple[str, bool], list[GuessedRole]] = {}
    for each in guessed.values():
        if each.role == Role.ASIDE:
            aside.setdefault((each.reason, each.numeric), []).append(each)
    return found + [_left_out(reason, alike) for (reason, _), alike in aside.items()]


def _decision(guessed: GuessedRole) -> Decision:
    name, reason = str(guessed.column), guessed.reason
    if guessed.role == Role.LABEL:
        what = f"column {name!r} colours the rows ({reason})"
        if guessed.numeric:
            return Decision("colours", what, (name,), "use it with {active}", {"active": [name]})
        return Decision("colours", what, (name,), "leave it out with {drop}", {"drop": [name]})
    what, fix = f"column {name!r} names the rows ({reason})", "name another with {id}"
    if FEATURE_NAME.fullmatch(name):
        fix = "if the columns are samples, exchange rows and columns with {transpose}"
        return Decision("row names", what, (name,), fix, {"transpose": True})
    if not guessed.numeric:
        return Decision("row names", what, (name,), fix, {"id": ...})
    return Decision("row names", what, (name,), f"{fix}, or use it with {{active}}", {"id": ..., "active": [name]})


def _left_out(reason: str, alike: list[GuessedRole]) -> Decision:
    columns = [str(each.column) for each in alike]
    several = len(columns) > 1
    listed = join_limited([repr(name) for name in columns])
    what = f"column{'s' * several} {listed} {'are' if several else 'is'} left out ({reason})"
    it = "them" if several else "it"
    colour, use = f"colour by {it} with {{label}}", "use {active}"
    if reason == NO_ENTRY:
        return Decision("columns left out", what, tuple(columns))
    if reason.partition(",")[0] in CALENDAR:
        settings: dict[str, Any] = {"active": columns, "label": columns}
        return Decision("columns left out", what, tuple(columns), f"{use}, or {colour}", settings)
    fix, option = (use, "active") if alike[0].numeric else (colour, "label")
    return Decision("columns left out", what, tuple(columns), fix, {option: columns})

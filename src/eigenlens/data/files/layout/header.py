"""The lines with the names of columns: one, or several with units or names of groups, and lines that repeat them."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from eigenlens.data.files.cell_formats.unit_names import is_known_unit
from eigenlens.data.files.decision import Decision
from eigenlens.data.files.number_format import is_number
from eigenlens.errors import join_limited

MAX_HEADER_ROWS = 3
"""The most lines of names and units that are looked for."""

NUMBER_LIKE = re.compile(r"[+−-]?[$€£]?\s?(\([$€£]?)?[.,]?\d[\d.,'’\s]*([eE][+-]?\d+)?\s?%?\)?")
"""Numbers in whichever way they are written, losses in brackets; how they are is found later."""

FIELD_WIDTH = re.compile(r"\d+[sdn]")
"""The width and type of a column, as in tables of the USGS: 14n."""

HEADER_LINES = "lines of names"
"""The subject of decisions about more than one line of names."""

Cells = Sequence[str]


def lacks_first_name(rows: Sequence[Cells]) -> bool:
    """Return whether all rows have one cell more than the line of names, as tables of R with row names have.

    A column of numbers from the second line on shows that this is not another line of names.
    """
    names, below = rows[0], [row[1:] for row in rows[1:]]
    if not below or any(len(row) != len(names) for row in below) or any(map(is_number, names)):
        return False
    if not any(row[-1] for row in below):
        return False  # a separator at the end of each row
    return any(all(is_number(cell.replace(",", ".")) for cell in column) for column in zip(*below, strict=True))


# ---- several lines --------------------------------------------------------------------------------------------


def numeric_columns_below(rows: Sequence[Cells], missing: Collection[str]) -> list[int]:
    """Return the places of columns most of whose present cells are numbers; `missing`: markers in lower case."""
    found = []
    for place, column in enumerate(zip(*rows, strict=True)):
        present = [cell for cell in column if cell and cell.lower() not in missing]
        if 2 * sum(map(bool, map(NUMBER_LIKE.fullmatch, present))) > len(present):
            found.append(place)
    return found


def count_header_rows(rows: Sequence[Cells], missing: Collection[str]) -> int:
    """Return how many of the first rows hold names: the first, and those below it with text above numbers.

    >>> count_header_rows([["height", "mass"], ["cm", "kg"], ["170", "65"], ["181", "80"]], ())
    2
    >>> count_header_rows([["site", "ph"], ["a", "n.d."], ["b", "7.1"]], ())
    1
    """
    count = 1
    while count < min(MAX_HEADER_ROWS, len(rows) - 1) and _is_below_names(rows[count], rows, count, missing):
        count += 1
    return count


def _is_below_names(cells: Cells, rows: Sequence[Cells], place: int, missing: Collection[str]) -> bool:
    """Return whether a row holds units, or a text above every column of numbers, rather than data."""
    numeric = numeric_columns_below(rows[place + 1 :], missing)
    over = [cells[j] for j in numeric]
    shown = [cell for cell in over if cell and cell.lower() not in missing]
    if _fills_blank_names(cells, rows, place):
        return True
    if all(map(FIELD_WIDTH.fullmatch, cells)):
        return True
    if not numeric or any(map(NUMBER_LIKE.match, shown)):
        return False
    if not any(over):  # the name of the index, as pandas writes it below two lines of names
        return place > 1 and bool(cells[0]) and not any([*cells[1:], *(row[0] for row in rows[:place])])
    if shown and 2 * sum(map(is_unit, shown)) >= len(shown):
        return True
    # Below a line of units some columns may have nothing: loggers write there how each was averaged.
    covered = len(shown) == len(numeric) or (place > 1 and 2 * len(shown) > len(numeric))
    covered |= _tells_apart(cells, rows, place)
    if [not cell for cell in cells] == [not name for name in rows[0]] and not all(cells):  # blank where names are
        return len(shown) == sum(map(bool, over)) > 1
    return len(numeric) > 1 and covered and len(set(shown)) > 1


def _fills_blank_names(cells: Cells, rows: Sequence[Cells], place: int) -> bool:
    """Return whether a row without numbers has the names that the first line lacks, and blanks below others of it.

    Exports of questionnaires have the question in one line, and below it what is asked of each column.
    """
    blanks = [j for j, name in enumerate(rows[0]) if not name and j]
    if place > 1 or not blanks or any(map(NUMBER_LIKE.match, cells)) or not any(not cell for cell in cells):
        return False
    below = [{row[j] for row in rows[place + 1 :]} for j in blanks]
    return all(cells[j] and cells[j] not in values for j, values in zip(blanks, below, strict=True))


def _tells_apart(cells: Cells, rows: Sequence[Cells], place: int) -> bool:
    """Return whether a row has a text below each name that the first line repeats, by which none is met again.

    >>> _tells_apart(["", "sales", "cost", ""], [["town", "2019", "2019", "total"]], 1)
    True
    """
    often = Counter(rows[0])
    pairs = [(name, cell) for name, cell in zip(rows[0], cells, strict=True) if name and often[name] > 1]
    return place == 1 and bool(pairs) and all(cell for _, cell in pairs) and len(set(pairs)) == len(pairs)


def is_unit(cell: str) -> bool:
    """Return whether a cell by itself is a unit: a known one, or anything in brackets.

    >>> is_unit("cm"), is_unit("[a.u.]"), is_unit("lost"), is_unit("(12.5)")
    (True, True, False, False)
    """
    bracketed = re.fullmatch(r"\[.*\]|\(.*\)", cell) is not None and not NUMBER_LIKE.fullmatch(cell)
    return bracketed or is_known_unit(cell)


def names_all(levels: Sequence[Cells]) -> bool:
    """Return whether the first of several lines alone names the columns, each differently; the first needs no name."""
    names = levels[0][1:]
    repeated = any(times > 1 for name, times in Counter(names).items() if name)
    return not repeated and all(name or not any(below) for name, *below in zip(*levels, strict=True)) | all(names)


def join_names(levels: Sequence[Cells]) -> list[str]:
    """Return the names of columns from all lines of names, joined where the first does not tell them apart.

    A group's name holds for the columns to the right of it too, as merged cells leave blanks there.

    >>> join_names([["id", "before", "", "after", ""], ["", "mass", "bp", "mass", "bp"]])
    ['id', 'before mass', 'before bp', 'after mass', 'after bp']
    >>> join_names([["height", "mass"], ["cm", "kg"]])
    ['height', 'mass']
    """
    first = next((row[0] for row in reversed(levels) if row[0]), "")
    if names_all(levels):
        return [levels[0][0] or first, *levels[0][1:]]
    continued = [*map(continue_groups, levels[:-1]), levels[-1]]
    joined = [" ".join(dict.fromkeys(filter(None, parts))) for parts in zip(*continued, strict=True)]
    # The first column is hardly in a group of its own: its name is the last of them, such as "gene" below "group".
    return joined if levels[0][1] in ("", levels[0][0]) else [first, *joined[1:]]


def continue_groups(level: Cells) -> list[str]:
    """Return a line of names of groups with blanks filled from the left, unless it repeats its names itself."""
    if any(left and left == right for left, right in itertools.pairwise(level)):
        return list(level)
    found: list[str] = []
    for cell in level:
        found.append(cell or (found[-1] if found else ""))
    return found


def number_repeated(names: Cells) -> list[str]:
    """Return names in which one that an earlier column has gets a number that makes it a new one.

    >>> number_repeated(["a", "b", "a", "a_2", "a"])
    ['a', 'b', 'a_3', 'a_2', 'a_4']
    """
    taken, seen, found = set(names), set[str](), []
    counts: dict[str, Iterator[int]] = {}
    for name in names:
        if name in seen:
            numbers = counts.setdefault(name, itertools.count(2))
            name = next(new for n in numbers if (new := f"{name}_{n}") not in taken)
        seen.add(name)
        found.append(name)
    return found


def repeated_names_decision(levels: Sequence[Cells], names: Cells) -> Iterator[Decision]:
    """Yield the decision to number names that repeat."""
    given = join_names(levels)
    new = [(before, after) for before, after in zip(given, names, strict=False) if before and before != after]
    if new:
        before, after = new[0]
        more = f", and {len(new) - 1} more are numbered" if len(new) > 1 else ""
        what = f"a column has the name {before!r} of an earlier one, and is called {after!r}{more}"
        yield Decision(HEADER_LINES, what, (after,), "leave it out with {drop}", {"drop": [after]}, surprising=True)


def header_units(levels: Sequence[Cells], names: Cells) -> dict[str, str]:
    """Return the units of columns, where the line below the names holds some."""
    if len(levels) < 2 or not names_all(levels) or not any(map(is_unit, levels[1])):
        return {}
    units = {name: cell.strip("[]() ") for name, cell in zip(names, levels[1], strict=True) if is_unit(cell)}
    return {name: unit for name, unit in units.items() if unit and unit != "-"}


def header_decisions(levels: Sequence[Cells], names: Cells, given: Mapping[str, Any]) -> Iterator[Decision]:
    """Yield what was decided about more than one line of names; `given`: the options that were given."""
    if len(levels) < 2 or "header_rows" in given:
        return
    settings = {"header_rows": 1}
    if not names_all(levels):
        written = set(itertools.chain.from_iterable(levels))
        joined = next((name for name in names if name not in written), names[-1])
        what = f"names are joined from the first {len(levels)} lines, as '{joined}'"
        fix = "if the first alone holds names, give {header_rows}"
        yield Decision(HEADER_LINES, what, (), fix, settings, surprising=True)
        return
    units = header_units(levels, names)
    shown = join_limited([repr(cell) for cell in dict.fromkeys(units.values() or filter(None, levels[1]))], 3)
    several = len(levels) > 2
    lines = f"the {len(levels) - 1} lines below the names hold" if several else "the line below the names holds"
    what = f"{lines} {'units' if units else 'text above numbers'} ({shown}) and {'are' if several else 'is'} left out"
    yield Decision(HEADER_LINES, what, (), "if it is a row of data, give {header_rows}", settings, surprising=True)


# ---- lines that repeat the names --------------------------------------------------------------------------------


class RepeatedNames:
    """The lines of a file that repeat its lines of names, as files that were joined into one have them."""

    def __init__(self, records: Sequence[bytes]) -> None:
        lines = [record.strip(b"\r\n") for record in records]
        self._first = lines[0] if lines else b""
        either = b"|".join(map(re.escape, lines))
        self._pattern = re.compile(rb"(?m)^(?:\xef\xbb\xbf)?(?:" + either + rb")\r?(?:\n|\Z)") if self._first else None

    def remove(self, piece: bytes) -> tuple[bytes, int]:
        r"""Return rows without such lines, and the number of these.

        >>> RepeatedNames([b"a,b\n"]).remove(b"1,2\na,b\n3,4\n")
        (b'1,2\n3,4\n', 1)
        """
        if self._pattern is None or self._first not in piece:
            return piece, 0
        return self._pattern.subn(b"", piece)


def repeated_decision(count: int) -> Decision:
    """Return the decision that lines which repeat the names are not data."""
    lines = f"{count:,} lines repeat the names and are" if count > 1 else "1 line repeats the names and is"
    fix = "if the first line holds no names, give {header}"
    return Decision("names", f"{lines} left out", (), fix, {"header": False}, surprising=True)

"""Lines above the names of a table, such as its title."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from eigenlens.data.files.layout.first_line import is_consecutive
from eigenlens.data.files.layout.footer import are_names, find_remarks
from eigenlens.data.files.layout.separator import MAX_LINES, find_separator, read_cells, single_spaces
from eigenlens.data.files.number_format import is_number

MAX_TITLE_LINES = 40


def find_title(path: Path, text: str, separator: str | None) -> tuple[int, str | None]:
    r"""Return the number of lines above the names that are certainly a title, and the separator below if it is known.

    A title is a single cell, far fewer than the names have, or more of them, as in the first line of a logger's file.

    >>> find_title(Path("t.csv"), "Sales 2020\n\nshop,sum\na,1\nb,2\n", None)
    (2, ',')
    >>> find_title(Path("t.csv"), "Sales 2020\nshop\tsum\na\t1\nb\t2\n", None)
    (1, '\t')
    >>> find_title(Path("t.csv"), "Sales 2020,\nshop,sum\na,1\n", None), find_title(Path("t.csv"), "a\n1\n", None)
    ((1, ','), (0, ','))
    """
    lines = text.splitlines()[:MAX_LINES]
    if any(line.count('"') % 2 for line in lines) or "\r" in text.replace("\r\n", ""):
        return 0, separator
    first = None
    for count in range(max(1, min(MAX_TITLE_LINES, len(lines) - 2) + 1)):
        rest = "\n".join(lines[count:])
        cut = separator or find_separator(path, rest)
        first = first or cut
        rows = _cells(path, rest, cut)
        if not count and (cut == " " or _has_no_title(rows)):
            break
        if count and lines[count].strip() and len(rows) > 1:
            titles = _cells(path, "\n".join(lines[:count]), cut)
            if _is_titled(titles, rows):
                return count, cut
    return 0, first


def _cells(path: Path, text: str, separator: str) -> list[list[str]]:
    """Return the rows of a text, without remarks below them, which are reported where they are met."""
    rows = [[cell.strip() for cell in row] for row in read_cells(path, single_spaces(text, separator), separator)]
    rows = [row for row in rows if row]
    return rows[: len(rows) - find_remarks(path, text, separator, _usual_width(rows))] if rows else []


def _has_no_title(rows: list[list[str]]) -> bool:
    """Return whether there are few rows, or the first is as long as most others and not a word with its value."""
    return len(rows) < 3 or (not _is_short(rows[0], len(rows[0])) and len(rows[0]) == _usual_width(rows))


def _is_titled(titles: list[list[str]], rows: list[list[str]]) -> bool:
    """Return whether rows of one length start with a full line of names, or two, and the lines above are shorter."""
    d = len(rows[0])
    numbers = [cell for cell in rows[0] if is_number(cell)]  # years may be names
    odd = bool(numbers) and (not is_consecutive(numbers) or len(numbers) == sum(map(bool, rows[0])))
    if d < 2 or odd or any(len(row) != d for row in rows):
        return False
    groups = not _is_short(rows[0], d) and not any(map(is_number, rows[1]))
    end = None if any(row[-1] for row in rows) else -1  # each line ends with a separator
    columns = list(zip(*rows, strict=True))[1:end]
    # Names of rows, which are text, need no name of their own.
    if not all(name or (groups and below) or not any(map(is_number, rest)) for name, below, *rest in columns):
        return False
    below_them = (titles[place : place + 2] for place in range(1, len(titles) - 1))
    if any(len(names) > 2 and are_names(names, rest) for names, rest in zip(titles, below_them, strict=False)):
        return False  # a table of its own
    below = any(re.match(r"\W*[0-9]", cell) for row in rows[1:] for cell in row)
    return below and all(len(cells) < d - 1 or len(cells) > d or _is_short(cells, d) for cells in titles)


def _is_short(cells: list[str], d: int) -> bool:
    """Return whether a line has a single cell, or in a table of many columns a word and its value, and blanks."""
    return sum(map(bool, cells)) < 2 or (d > 3 and not any(cells[2:]))


def _usual_width(rows: list[list[str]]) -> int:
    return Counter(map(len, rows)).most_common(1)[0][0]

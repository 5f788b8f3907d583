"""Lines above the names of a table, such as its title."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from pathlib import Path

from eigenlens.data.files.layout.first_line import is_consecutive
from eigenlens.data.files.layout.separator import MAX_LINES, find_separator
from eigenlens.data.files.layout.widths import footer_lines
from eigenlens.data.files.number_format import is_number

MAX_TITLE_LINES = 10


def find_title(path: Path, text: str, separator: str | None) -> tuple[int, str | None]:
    r"""Return the number of lines above the names that are certainly a title, and the separator below if it is known.

    A title is a single cell, far fewer than the names have, or more of them, as in the first line of a logger's file.

    >>> find_title(Path("t.csv"), "Sales 2020\n\nshop,sum\na,1\nb,2\n", None)
    (2, ',')
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
        rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(rest), delimiter=cut) if row]
        while rows and footer_lines(rows[-1:]):  # remarks below the table are reported where they are met
            rows.pop()
        even = len(rows) > 2 and not _is_short(rows[0], len(rows[0])) and len(rows[0]) == _usual_width(rows)
        if cut == " " or len(rows) < 2 or (not count and (len(rows) < 3 or even)):
            break
        if count and lines[count].strip() and _is_titled(list(csv.reader(lines[:count], delimiter=cut)), rows):
            return count, cut
    return 0, first


def _is_titled(titles: list[list[str]], rows: list[list[str]]) -> bool:
    """Return whether rows of one length start with a full line of names, or two, and the lines above are shorter."""
    d = len(rows[0])
    numbers = [cell for cell in rows[0] if is_number(cell)]  # years may be names
    odd = bool(numbers) and (not is_consecutive(numbers) or len(numbers) == sum(map(bool, rows[0])))
    if d < 2 or odd or any(len(row) != d for row in rows):
        return False
    groups = not _is_short(rows[0], d) and not any(map(is_number, rows[1]))
    end = None if any(row[-1] for row in rows) else -1  # each line ends with a separator
    if not all(above or (groups and below) for above, below in zip(rows[0][1:end], rows[1][1:end], strict=True)):
        return False
    below = any(re.match(r"\W*[0-9]", cell) for row in rows[1:] for cell in row)
    return below and all(len(cells) < d - 1 or len(cells) > d or _is_short(cells, d) for cells in titles)


def _is_short(cells: list[str], d: int) -> bool:
    """Return whether a line has a single cell, or in a table of many columns a word and its value, and blanks."""
    return sum(map(bool, cells)) < 2 or (d > 3 and not any(cells[2:]))


def _usual_width(rows: list[list[str]]) -> int:
    return Counter(map(len, rows)).most_common(1)[0][0]

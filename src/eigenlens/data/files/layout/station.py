"""Printed tables with titles, flags at numbers and words behind rows, as of weather stations, and what copies them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path

from eigenlens.data.files.layout.copy_command import advise_copy
from eigenlens.data.files.number_format import is_number
from eigenlens.errors import DataError

MIN_ROWS = 5
"""The fewest rows by which such a table is recognised."""

MIN_WIDTH = 3
MAX_LINES_ABOVE = 40
FLAGS = "*#$"
MISSING = re.compile(r"-{1,3}|\.|NA|NaN")
NAME = re.compile(r"[^\W\d][\w.%/()-]*")


def reject_station_file(path: Path, text: str) -> None:
    """Raise an error with the command that copies the table, if a text is such a file."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    for place, names in itertools.islice(enumerate(lines), MAX_LINES_ABOVE):
        if len(names) >= MIN_WIDTH and all(map(NAME.fullmatch, names)) and len(set(names)) == len(names):
            rows = [line for line in lines[place + 1 :] if _is_copied(line, len(names))]
            if _holds_rows(rows, lines, len(names)):
                raise _station_error(path, names)


def _is_copied(words: Sequence[str], d: int) -> bool:
    """Return whether the command takes a line for a row: it has d words or more, the first of them a number."""
    return len(words) >= d and is_number(words[0])


def _holds_rows(rows: Sequence[Sequence[str]], lines: Sequence[Sequence[str]], d: int) -> bool:
    """Return whether all lines that begin with numbers are rows of d columns of them, some with words behind."""
    uneven = any(len(line) != d for line in lines)
    others = sum(is_number(words[0]) for words in lines) - len(rows)
    entries = all(_is_entry(word) for row in rows for word in row[:d])
    behind = all(not any(map(str.isdigit, word)) for row in rows for word in row[d:])
    return len(rows) >= MIN_ROWS and uneven and not others and entries and behind


def _is_entry(word: str) -> bool:
    return MISSING.fullmatch(word) is not None or is_number(word.rstrip(FLAGS))


def _station_error(path: Path, names: Sequence[str]) -> DataError:
    d = len(names)
    chosen = f'NF >= {d} && ($1 == "{names[0]}" || $1 ~ /^[-+.]?[0-9]/)'
    cells = f'for (i = 1; i <= {d}; i++) printf "%s%s", $i, (i < {d} ? "," : "\\n")'
    what = f"'{path}' is a printed table of {d} columns, from '{names[0]}' to '{names[-1]}', among other lines or words"
    program = f'{{gsub(/[{FLAGS}\\r]/, "")}} {chosen} {{{cells}}}'
    return DataError(what, fix=advise_copy(path, f"awk '{program}'"))

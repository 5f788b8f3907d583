"""Text for the terminal: tables, numbers, counts, lines cut or wrapped at its width, and the command that was typed."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from eigenlens.tables.names import shorten
from eigenlens.tables.text_table import align

TABLE_LINES = 12
"""The most lines of a table of columns."""


def limited_table(
    header: Sequence[str], lines: Sequence[Sequence[str]], most: int = TABLE_LINES, sides: str = ""
) -> str:
    """Return the first `most` lines below a header, the first column flush left and the others right, or by `sides`.

    >>> print(limited_table(["name", "n"], [["a", "10"], ["bb", "5"]], most=1))
    name   n
    a     10
    … 1 more
    """
    rows = [[one_line(line[0]), *line[1:]] for line in lines[:most]]
    table = align([one_line(cell) for cell in header], rows, sides)
    return f"{table}\n… {len(lines) - most:,} more" if len(lines) > most else table


def format_figure(value: float, form: str) -> str:
    """Return a number as text; one that is shown as zero has no sign.

    >>> format_figure(-0.0, ".4g"), format_figure(-0.0001, ".3f"), format_figure(-1.25, ".3g")
    ('0', '0.000', '-1.25')
    """
    text = format(value, form)
    return text.removeprefix("-") if not text.strip("-0.") else text


NARROWEST_TEXT = 20
"""Text is not wrapped into columns narrower than this: it would be a word or two per line."""


def cut_lines(text: str, width: int | None = None) -> str:
    """Return the lines of a table cut at the width of the terminal; a number is shown whole or not at all.

    Output to a file or a pipe is not cut.

    >>> print(cut_lines("name     mean   note\\nlength  12.125  in millimetres", 20))
    name     mean   note
    length  12.125  in …
    >>> print(cut_lines("length  12.125  13.75", 18))
    length  12.125  …
    """
    width = _width() if width is None else width
    return text if width is None else "\n".join(_cut(line, width) for line in text.splitlines())


def _cut(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    kept = line[: width - 1]
    if line[width - 1] != " ":  # the last cell would end in its middle
        kept = re.sub(r"[\d.,e+-]+$", "", kept)
    return f"{kept}…"


def wrap_line(line: str, indent: int) -> list[str]:
    """Return a line of text as lines that fit into the terminal beside an indent; text after cells keeps its column."""
    width = _width()
    if width is None or len(line) <= width - indent:
        return [line]
    start = line.rstrip().rfind("  ") + 2 if "  " in line.strip() else 0
    room = width - indent - start
    if room < NARROWEST_TEXT or " " not in line[start:].strip():
        return [_cut(line, width - indent)]
    parts = textwrap.wrap(line[start:], room, break_long_words=False, break_on_hyphens=False)
    return [line[:start] + parts[0], *(" " * start + part for part in parts[1:])]


def one_line(name: str, most: int = 40) -> str:
    r"""Return a name as a cell of a table: on one line, without its middle where it is long.

    >>> one_line("two\nlines"), one_line("a" * 30 + "b" * 30, 11)
    ('two\\nlines', 'aaaaa…bbbbb')
    """
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)
    return shorten(shown, most)


CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys: control characters except line ends and tabs, and those that turn the direction."""


def show_controls(text: str) -> str:
    r"""Return text in which characters that a terminal would obey are written as Python writes them.

    Names and cells of a file come with it, and could clear the screen or rename the window.

    >>> show_controls("a\x1b[2Jb\n")
    'a\\x1b[2Jb\n'
    """
    return CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)


def _width() -> int | None:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


TYPED_WORDS: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())
"""The words after the name of the program, as they were typed."""

IN_TRIAL: ContextVar[bool] = ContextVar("in_trial", default=False)
"""Whether a command is only tried before it is suggested: it writes no file, and gives no advice of its own."""


def command_line() -> str:
    """Return the command as it was typed."""
    return shlex.join(["eigenlens", *TYPED_WORDS.get()])


def drop_flags(words: Sequence[str], *flags: str, valued: str = "") -> list[str]:
    """Return words without some flags, and without an option and its value.

    >>> drop_flags(["fit", "-q", "--report", "r.html", "a.csv"], "-q", valued="--report")
    ['fit', 'a.csv']
    """
    kept, skip = [], False
    for word in words:
        if not (skip or word in flags or word == valued or (valued and word.startswith(f"{valued}="))):
            kept.append(word)
        skip = not skip and bool(valued) and word == valued
    return kept


def json_text(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON: arrays as lists, NaN and infinities as null, paths as text.

    >>> json_text({"a": (1, float("nan"))})
    '{"a": [1, null]}'
    """
    text = json.dumps(_plain(value), indent=indent, ensure_ascii=False, allow_nan=False)
    return CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _plain(value: Any) -> Any:
    """Return a value as those that JSON has."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist") or hasattr(value, "to_list"):
        return _plain(value.tolist() if hasattr(value, "tolist") else value.to_list())
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)

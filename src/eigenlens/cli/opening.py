"""The files that a command line names: which they are, how their text is written, what their columns hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eigenlens.cli.columns import column_kinds
from eigenlens.cli.errors import fail
from eigenlens.cli.options import ParsingOptions, RunningOptions
from eigenlens.cli.ragged import refuse_ragged
from eigenlens.cli.sniffing import Text, is_text, sniff
from eigenlens.data.files.decode import COMPRESSED
from eigenlens.data.files.dialect import column_names
from eigenlens.data.files.paths import expand
from eigenlens.data.files.polars import same_columns

__all__ = ["Opened", "memory_limit", "opened"]

BYTES_PER_BYTE = {"text": 4, "compressed": 40, "binary": 4}
"""What the numbers of a file take in memory at most, for each byte on disk."""


@dataclass(frozen=True)
class Opened:
    """Files of one table.

    Attributes:
        files: in order. text: how delimited text is written, None if it is none.
        kinds: {column: what it holds}, in the order of the first file.
    """

    files: tuple[Path, ...]
    text: Text | None
    kinds: dict[Any, str]

    @property
    def is_array(self) -> bool:
        """Whether the files are .npy, whose columns have no names."""
        return self.files[0].suffix.lower() == ".npy"

    @property
    def size(self) -> int:
        """What the files may take in memory, by their size on disk."""
        return sum(path.stat().st_size * BYTES_PER_BYTE[self._form(path)] for path in self.files)

    def _form(self, path: Path) -> str:
        return "binary" if self.text is None else "compressed" if path.suffix.lower() in COMPRESSED else "text"


def opened(paths: Sequence[str], reading: ParsingOptions) -> Opened:
    """The files, after a look at what can be wrong with them."""
    files = expand(list(paths))
    text = sniff(files[0], reading) if is_text(files[0]) else None
    other = next((path for path in files if is_text(path) != (text is not None)), None)
    if other is not None:
        fail(f"'{other}' and '{files[0]}' are of different formats", "give files of one format", "data")
    if text is None:
        _refuse_text_options(files[0], reading)
    else:
        _check_text(files, text)
    return Opened(files, text, column_kinds(files[0], text))


def memory_limit(running: RunningOptions, share: int = 4) -> int:
    """What may be held in memory: what the options say, or else a share of what is free."""
    from eigenlens import checks
    from eigenlens.resources import available_memory

    given = running.max_memory
    if given is None:
        return available_memory() // share
    return checks.memory("max_memory", int(given) if given.strip().isdecimal() else given)


def _check_text(files: tuple[Path, ...], text: Text) -> None:
    """Refuse text that is no table: columns that differ between files, names met twice, rows of another length."""
    names = [column_names(path, text.dialect) for path in files]
    same_columns(files, names, ordered=False)
    for path in files:
        refuse_ragged(path, text, len(names[0]))


def _refuse_text_options(path: Path, reading: ParsingOptions) -> None:
    """Refuse options of delimited text where a file is none."""
    options = ("na", "separator", "decimal", "thousands", "header", "encoding", "text")
    given = [name for name in options if getattr(reading, name, None) not in (None, [])]
    if given:
        flag = "--no-header" if given[0] == "header" and not reading.header else f"--{given[0]}"
        fail(f"{flag} is an option of delimited text, and '{path}' is none", "leave it out")

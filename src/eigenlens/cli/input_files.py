"""The files that a command line names: checked first, before anything that takes time to load."""

from __future__ import annotations

from collections.abc import Sequence

from eigenlens.cli.errors import fail
from eigenlens.data.files.paths import expand_paths


def require_files(*files: str | Sequence[str]) -> None:
    """Raise for standard input, files that are missing or empty, folders, and patterns that match nothing."""
    named = [each for one in files for each in ([one] if isinstance(one, str) else one)]
    if "-" in named:
        fail("'-' is standard input, and rows are read from files, by some models several times",
               "write it to a file first: … > rows.csv", "data")  # fmt: skip
    expand_paths(named)

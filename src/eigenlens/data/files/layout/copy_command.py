"""The advice to copy a text by a program of the shell."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

from eigenlens.data.files.decompress import COMPRESSED

FIRST_BYTES = 4096


def advise_copy(path: Path, program: str) -> str:
    """Return the advice to copy a file without what disturbs, by a program that reads lines of single bytes.

    What is no such text, as a spreadsheet, is saved as one first.

    >>> advise_copy(Path("no such file.txt"), "cat")
    "copy it without them: cat < 'no such file.txt' > 'no such file-cells.txt'"
    >>> advise_copy(Path("t.csv.gz"), "cat")
    'save it as text, and copy that without them: cat < table.txt > table-cells.txt'
    """
    whole = not _is_lines(path)
    source = Path("table.txt") if whole else path
    name, copy = shlex.quote(str(source)), shlex.quote(str(source.with_name(f"{source.stem}-cells{source.suffix}")))
    start = "save it as text, and copy that" if whole else "copy it"
    return f"{start} without them: {program} < {name} > {copy}"


def _is_lines(path: Path) -> bool:
    """Return whether a path is a text of the user's, in an encoding in which a line end is one byte."""
    ours = path.parent.name.startswith("eigenlens-") and path.parent.parent == Path(tempfile.gettempdir())
    if ours or path.suffix.lower() in COMPRESSED:
        return False
    if not path.is_file():
        return True
    with path.open("rb") as file:
        return b"\0" not in file.read(FIRST_BYTES)

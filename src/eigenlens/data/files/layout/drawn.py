r"""Tables drawn with rulers and bars, as SAP, clients of databases, Markdown and LaTeX write them, as delimited text.

Lines of dashes, bars at both ends of a row and commands of LaTeX are layout, no cells. Columns below a ruler such as
`----- --------` have its widths, so that their cells may contain spaces; so do those of `layout/gutters.py`.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from eigenlens.data.files.layout.gutters import (
    BLANKS,
    cells_between_blanks,
    cut_line,
    find_gutters,
    names_index,
    starts_block,
)
from eigenlens.data.files.number_format import is_number
from eigenlens.errors import DataError

MAX_LINES = 40
"""The number of lines among which the first ruler, next to the names, is looked for."""

BARS = str.maketrans(dict.fromkeys("│┃║┆┊", "|"))

RULER = re.compile(r"(?=.*(-{2}|={2}|:-|-:|[─━═╌┄]{2}))[-=+|:,;\s\u2500-\u257f]+")
"""A line of dashes, perhaps with bars, crosses or separators between them."""

COUNT = re.compile(
    r"(?i)\(?[\d,]+ rows?( affected| selected| returned| in set\b.*)?\.?\)?"
    r"|[\d,]+ rows\s+[\d,]+ columns|shape: \([\d_,]+, [\d_,]+\)|\[[\d,]+ rows x [\d,]+ columns\]"
    r"|# A tibble: .*|(<(chr|[dil][nb]*[tl]|fct|ord|date|dttm|time|drtn|cpl|list)>\s*)+"
)
"""The number of rows, which clients of databases and pandas write below a table, Polars and R above it; types of R."""

MORE_ROWS = re.compile(r"# . [\d,]+ more rows?.*|\[ reached .*omitted [\d,]+ rows \]")
"""The line with which R says that it has left out rows."""

TYPE = re.compile(
    r"[fiu]\d+|u?(big|huge|small|tiny)?int(eger)?\d*|double|float\d*|str(ing)?|varchar|bool(ean)?|cat|enum|date|time(stamp)?"
    r"|(datetime|duration|decimal|list|array|struct|enum)[\[(].*[\])]|binary|blob|null|object"
)
"""The type of a column, as Polars and DuckDB write it below the name."""

GROUP = re.compile(r"-{2,}|={2,}|[─━═╌┄]{2,}")

LATEX_ROW = re.compile(r"(?P<cells>.*?(?<!\\)&.*?)\\\\(\[[^]]*\])?\s*(\\hline|\\midrule|\\bottomrule)?\s*")
LATEX_WORDS = re.compile(r"\\(?:text(?:bf|it|tt|sc|rm)?|mathbf|emph)\{([^{}]*)\}|(?<!\\)\$|\\([%&_#$])")


@dataclass(frozen=True)
class DrawnTable:
    """How a table is drawn.

    Attributes:
        kind: "bars" between cells, "columns" of spaces as wide as the ruler's, "blanks" for two or more between
            cells, "ruler" below the names alone, "latex".
        starts: of columns, where each begins; () where spaces alone separate the cells.
    """

    kind: str
    starts: tuple[int, ...] = ()

    def text(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines that hold cells or other text, as delimited text."""
        rows = 0
        for place, line in enumerate(lines):
            bare = line.rstrip("\r\n").removeprefix("\ufeff")
            layout = RULER.fullmatch(bare) and (self.kind != "ruler" or place < MAX_LINES)
            if self.kind == "latex":
                yield from _latex_cells(bare)
            elif not layout and not (self.kind != "ruler" and COUNT.fullmatch(_inner(bare).strip())):
                rows += 1
                yield from self._cells(bare, rows)

    def _cells(self, line: str, row: int) -> Iterator[str]:
        """Yield a line with text as delimited text, unless it is the second row, below the names, and holds types."""
        if self.kind != "bars":
            _require_whole_frame(line, self.starts, row)
            if row != 2 or not names_index(line, self.starts):
                yield self._cut(line) + "\n"
        elif not (row == 2 and _are_types(line)):
            _require_all_rows(line)
            yield _inner(line) + "\n"

    def _cut(self, line: str) -> str:
        """Return a line with a tab between columns; one with a word across the start of a column stays as it is."""
        if self.kind == "blanks":
            return "\t".join(BLANKS.split(line.strip()))
        fits = all(len(line[start - 1 : start + 1].strip()) < 2 for start in self.starts[1:])
        if not self.starts or not fits or not line.strip():
            return line
        return "\t".join(cut_line(line, self.starts))


def find_drawing(head: str) -> DrawnTable | None:
    """Return how the table at the start of a text is drawn; None where nothing is.

    >>> find_drawing("| a | b |\\n|---|---|\\n| 1 | 2 |\\n")
    DrawnTable(kind='bars', starts=())
    >>> find_drawing("name       x\\n-------- ---\\nJan Moe    1\\nAda      2.5\\n")
    DrawnTable(kind='columns', starts=(0, 9))
    >>> find_drawing("a,b\\n1,2\\n") is None
    True
    """
    lines = [line for line in head.removeprefix("\ufeff").splitlines()[:MAX_LINES] if line.strip()]
    if sum(LATEX_ROW.fullmatch(line.strip()) is not None for line in lines) > 1:
        return DrawnTable("latex")
    for place, line in enumerate(lines):
        if RULER.fullmatch(line):
            found = _read_ruler(lines, place)
            if found is not None:
                return found
    whole = [line for line in lines[:-1] if not COUNT.fullmatch(line.strip())]  # the last may be cut off
    starts = find_gutters(whole)
    if not starts and cells_between_blanks(whole):
        return DrawnTable("blanks")
    return DrawnTable("columns", starts) if starts else None


def drawn_text(file: BinaryIO, drawing: DrawnTable) -> BinaryIO:
    """Return a drawn table as delimited text, line by line as it is read."""
    lines = (line.decode(errors="surrogateescape") for line in file)
    return io.BufferedReader(_Written(line.encode(errors="surrogateescape") for line in drawing.text(lines)))


def _read_ruler(lines: Sequence[str], place: int) -> DrawnTable | None:
    """Return how a table is drawn by its first ruler and the lines beside it."""
    ruler = lines[place]
    near = (*lines[max(0, place - 1) : place], *lines[place + 1 : place + 2])
    beside = [line.translate(BARS) for line in near if not RULER.fullmatch(line)]
    if any("|" in line for line in beside):
        return DrawnTable("bars")
    sign = next((sign for sign in ",;\t" if sign in ruler), None)
    if sign is not None:
        alike = any(line.count(sign) == ruler.count(sign) for line in beside)
        return DrawnTable("ruler") if alike else None
    groups = [found.start() for found in GROUP.finditer(ruler)]
    if len(groups) < 2 or not beside or "|" in ruler or "+" in ruler:
        return None
    rows = [line.split() for line in lines if not RULER.fullmatch(line) and not COUNT.fullmatch(line.strip())]
    even = {len(row) for row in rows} == {len(groups)} and all(any(map(is_number, row)) for row in rows[1:])
    return DrawnTable("columns", () if even else tuple(groups))


def _inner(line: str) -> str:
    """Return a row without the bars at both ends."""
    bare = line.translate(BARS)
    ends = bare.strip()
    return ends[1:-1] if len(ends) > 1 and ends[0] == ends[-1] == "|" else bare


def _are_types(line: str) -> bool:
    """Return whether the cells of a row are the types of columns.

    >>> _are_types("│ f64 ┆ str ┆ datetime[μs] │"), _are_types("│ 1.5 ┆ str ┆ date │")
    (True, False)
    """
    cells = [cell.strip() for cell in _inner(line).split("|")]
    return any(cells) and all(TYPE.fullmatch(cell) for cell in cells if cell)  # none below columns that are not shown


def _require_all_rows(line: str) -> None:
    """Check that a row does not represent others, which a printed frame leaves out."""
    _require_filled([cell.strip() for cell in _inner(line).split("|")])


def _require_filled(cells: Sequence[str]) -> None:
    if len(cells) > 1 and all(re.fullmatch(r"…|\.\.\.?|·", cell) for cell in cells):
        what = f"the table is a printed frame that leaves out rows, where it has {cells[0]!r} in every column"
        raise DataError(what, fix=WRITE_FRAME)


WRITE_FRAME = (
    "write the frame itself to a file: frame.write_csv('table.csv') in Polars, frame.to_csv('table.csv') in pandas, "
    "write.csv(frame, 'table.csv') in R"
)


def _require_whole_frame(line: str, starts: Sequence[int], row: int) -> None:
    """Check that a line of a printed frame is one of its rows, and not the start of a second block of its columns."""
    if MORE_ROWS.fullmatch(line.strip()):
        raise DataError(f"the table is a printed frame that leaves out rows: {line.strip()!r}", fix=WRITE_FRAME)
    _require_filled(line.split())
    if row > 1 and len(starts) > 1 and starts_block(line, starts[1]):
        what = f"the table is a printed frame whose columns stand in blocks, one below the other: {line.strip()!r}"
        raise DataError(what, fix=WRITE_FRAME)


def _latex_cells(line: str) -> Iterator[str]:
    """Yield a row of LaTeX with tabs between its cells, and nothing for a line of commands."""
    found = LATEX_ROW.fullmatch(re.sub(r"^(\s*\\(hline|toprule|midrule))+", "", line.strip()).strip())
    if found is not None:
        cells = re.split(r"(?<!\\)&", found["cells"])
        plain = (LATEX_WORDS.sub(lambda word: word[1] or word[2] or "", cell) for cell in cells)
        yield "\t".join(cell.replace("{,}", ",").strip() for cell in plain) + "\n"


class _Written(io.RawIOBase):
    """The lines of an iterator as a file."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines, self._ready = lines, memoryview(b"")

    def readable(self) -> bool:
        """Return True, as file objects that can be read do."""
        return True

    def readinto(self, target: Any) -> int:
        """Read the next bytes into a buffer and return their number, 0 at the end."""
        if not self._ready:
            self._ready = memoryview(b"".join(itertools.islice(self._lines, 1_000)))
        size = min(len(target), len(self._ready))
        target[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

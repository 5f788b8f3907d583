"""ARFF, the text format of Weka: https://waikato.github.io/weka-wiki/formats_and_processing/arff_stable/."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from eigenlens.data.files.base import pl, unreadable
from eigenlens.data.files.layout.widths import MAX_COLUMNS
from eigenlens.errors import DataError

if TYPE_CHECKING:
    from polars import Expr, LazyFrame

TOKEN = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
ATTRIBUTE = re.compile(rf"@attribute\s+({TOKEN}|\S+)\s+(.*)", re.IGNORECASE)
CELL = re.compile(rf"\s*({TOKEN}|[^,]*?)\s*(?:,|$)")
JAVA_DATES = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "'T'": "T"}
ISO_DATE = "yyyy-MM-dd'T'HH:mm:ss"


def open_arff(path: Path) -> LazyFrame:
    """Return the table of an ARFF file, which is read whole: nominal columns are categories, ? is missing."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        lines = path.read_text(encoding="latin-1").splitlines()
    kept = [
        (number, line) for number, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("%")
    ]
    start = next((place for place, (_, line) in enumerate(kept) if line.strip().lower().startswith("@data")), None)
    if (start or 0) > MAX_COLUMNS:
        what = f"'{path}' has {start:,} lines of attributes, and {MAX_COLUMNS:,} are read at most"
        raise DataError(what, fix="write the numbers as .npy")
    found = [ATTRIBUTE.match(line.strip()) for _, line in kept[:start]]
    attributes = {_unquote(match[1]): match[2].strip() for match in found if match}
    if start is None or not attributes:
        what = f"'{path}' is not ARFF: it has no @attribute or no @data line"
        raise DataError(what, fix="write it again, or give it the suffix of its format")
    rows = [_cells(path, number, line, len(attributes)) for number, line in kept[start + 1 :]]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(attributes, pl.String), orient="row")
    try:
        return cast("LazyFrame", frame.select(_typed(path, name, kind) for name, kind in attributes.items()).lazy())
    except pl.exceptions.PolarsError as error:
        raise unreadable(path, error) from error


def _cells(path: Path, number: int, line: str, d: int) -> list[str | None]:
    if line.lstrip().startswith("{"):
        what = f"'{path}' is sparse ARFF (line {number}: {{…}}), which is not read"
        raise DataError(what, fix="write it again with Weka's filter SparseToNonSparse")
    cells = list(_split(line.strip()))
    if len(cells) != d:
        what = f"'{path}' has {len(cells)} values in line {number}, and {d} attributes"
        raise DataError(what, fix="mend that line; values with commas or spaces need quotation marks")
    return cells


def _split(line: str) -> Iterator[str | None]:
    """Yield the values of a line, None for ?."""
    for match in CELL.finditer(line):
        yield None if match[1] == "?" else _unquote(match[1])
        if match.end() == len(line) and not line.endswith(","):
            return


def _unquote(word: str) -> str:
    r"""Return a name or value without its quotation marks.

    >>> _unquote("'it\\'s'"), _unquote("plain")
    ("it's", 'plain')
    """
    quoted = len(word) > 1 and word[0] == word[-1] and word[0] in "'\""
    return re.sub(r"\\(.)", r"\1", word[1:-1]) if quoted else word


def _typed(path: Path, name: str, kind: str) -> Expr:
    """Return a column of text as the type that its attribute declares."""
    column: Expr = pl.col(name)
    word = kind.split()[0].lower() if not kind.startswith("{") else "nominal"
    if word == "nominal":
        inside = kind.strip().removeprefix("{").rpartition("}")[0]
        categories = [value for value in _split(inside.strip()) if value is not None]
        return column.cast(pl.Enum(list(dict.fromkeys(categories))))
    kinds: dict[str, Any] = {"numeric": pl.Float64, "real": pl.Float64, "integer": pl.Float64, "string": pl.String}
    if word in kinds:
        return column.cast(kinds[word])
    if word == "date":
        form = _unquote(kind[len("date") :].strip()) or ISO_DATE
        for java, ours in JAVA_DATES.items():
            form = form.replace(java, ours)
        return column.str.strptime(pl.Datetime("us"), form)
    what = f"'{path}' has an attribute {name!r} of the type {word!r}, which is not read"
    raise DataError(what, columns=[name], fix="leave it out in Weka, or write the table as CSV")

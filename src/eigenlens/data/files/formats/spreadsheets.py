"""Sheets of Excel and OpenDocument files, read as the CSV that they would be saved as, so that cells mean the same."""

from __future__ import annotations

import csv
import datetime
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from eigenlens.data.files.base import unreadable
from eigenlens.data.files.decision import Decision
from eigenlens.data.files.formats.sheet_limits import check_sheets
from eigenlens.data.files.standard_input import TemporaryFile, name_originals
from eigenlens.data.files.text import DelimitedReader
from eigenlens.errors import DataError, MissingExtra, suggest

Cells = list[list[Any]]
Place = tuple[int, int]


class Sheet(NamedTuple):
    """The used part of a sheet, and its merged ranges: the row and column of the first cell, and of the last."""

    cells: Cells
    merged: list[tuple[Place, Place]]

    @classmethod
    def of(cls, sheet: Any) -> Sheet:
        """Return a sheet as python-calamine reads it."""
        cells, (top, left) = sheet.to_python(), sheet.start or (0, 0)
        moved = (((a - top, b - left), (c - top, d - left)) for (a, b), (c, d) in sheet.merged_cell_ranges or ())
        inside = [(first, last) for first, last in moved if min(first) >= 0]
        return cls(cells, [(a, (min(c, len(cells) - 1), min(d, len(cells[0]) - 1))) for a, (c, d) in inside if cells])


class SpreadsheetReader(DelimitedReader):
    """Columns of one sheet of each file: the one that is named, or the first with numbers."""

    options: ClassVar[frozenset[str]] = (DelimitedReader.options | {"sheet"}) - {"separator", "encoding", "comment"}

    def __init__(
        self,
        paths: tuple[Path, ...],
        *,
        sheet: str | None = None,
        fill_down: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        for path in paths:
            _reject_text(path)
            check_sheets(path, options.get("max_ratio"))
        made = [_as_text(path, sheet, merged=fill_down is None) for path in paths]
        self._temporary = [file for file, _ in made]
        self.copies: Mapping[Path, str] = {file.path: file.called for file in self._temporary}
        with name_originals(self.copies):
            super().__init__(tuple(self.copies), separator=",", fill_down=fill_down, **options)
        self.decisions = (*(decision for _, found in made for decision in found), *self.decisions)


def _reject_text(path: Path) -> None:
    """Raise for a web page or delimited text that is called a spreadsheet, as some programs export them."""
    with path.open("rb") as file:
        head = file.read(1_000)
    if re.match(rb"(?is)\s*<(!doctype |\?xml |html|table|meta|div|style)", head):
        fix = "open it in a spreadsheet program, save it as .xlsx, and name that file"
        raise DataError(f"'{path}' is a web page, not a spreadsheet", fix=fix)
    if head and head.isascii() and b"\0" not in head and b"\n" in head:
        copy = f"cp {shlex.quote(str(path))} {shlex.quote(str(path.with_suffix('.csv')))}"
        raise DataError(f"'{path}' is delimited text, not a spreadsheet", fix=f"name a copy that is called so: {copy}")


def _as_text(path: Path, sheet: str | None, *, merged: bool) -> tuple[TemporaryFile, list[Decision]]:
    """Return a sheet as a temporary file of text, and the decisions to read it and to fill its merged cells."""
    sheets = _read_sheets(path)
    if sheet is not None and sheet not in sheets:
        raise DataError(f"'{path}' has no sheet {sheet!r}", fix=suggest([], sheets))
    found = []
    if sheet is None:
        sheet = next((name for name, each in sheets.items() if _has_numbers(each.cells)), None)
        sheet = sheet or next((name for name, each in sheets.items() if len(each.cells) > 1), None)
        found = [] if sheet is None else _other_sheets(path, sheet, sheets)
    if sheet is None:
        raise DataError(f"'{path}' has no sheet with rows", fix="look at it in a spreadsheet program")
    cells, filled = _fill_merged(sheets[sheet]) if merged else (sheets[sheet].cells, 0)
    if filled:
        cells_have = f"{filled:,} cells" if filled > 1 else "1 cell"
        what = f"{cells_have} below the first of merged ones {'have' if filled > 1 else 'has'} its value"
        fix = "if they are missing, give {fill_down}"
        found.append(Decision("merged cells", what, (), fix, {"fill_down": []}))
    return TemporaryFile(str(path), partial(_write, cells=cells)), found


def _other_sheets(path: Path, chosen: str, sheets: Mapping[str, Sheet]) -> list[Decision]:
    """Return the decision to read one sheet of several."""
    others = [name for name, each in sheets.items() if name != chosen and each.cells]
    what = f"sheet {chosen!r} of '{path}' is read, and {len(others)} other{'s' * (len(others) > 1)} not"
    fix = f"choose another with {{sheet}} ({', '.join(map(repr, others[:5]))})"
    return [Decision("sheet", what, (), fix, {"sheet": ...}, surprising=True)] if others else []


def _fill_merged(sheet: Sheet) -> tuple[Cells, int]:
    """Return the cells with those of merged ranges filled, and how many are filled downwards.

    Text is filled to the right too, except in a line of its own, such as a title.
    """
    cells, filled = [list(row) for row in sheet.cells], 0
    for (top, left), (bottom, right) in sheet.merged:
        value = sheet.cells[top][left]
        alone = right > left and sum(cell != "" for cell in sheet.cells[top]) == 1
        last = right if isinstance(value, str) else left
        for i in range(top, bottom + 1) if value != "" and not alone else ():
            cells[i][left : last + 1] = [value] * (last + 1 - left)
            filled += i > top
    return cells, filled


def _read_sheets(path: Path) -> dict[str, Sheet]:
    """Return the sheets that are not hidden."""
    try:
        import python_calamine as calamine
    except ImportError as error:
        raise MissingExtra("python-calamine", extra="excel", need="reading spreadsheets") from error
    try:
        with calamine.CalamineWorkbook.from_path(path) as book:
            shown = [each for each in book.sheets_metadata if each.visible == calamine.SheetVisibleEnum.Visible]
            names = [each.name for each in shown if each.typ == calamine.SheetTypeEnum.WorkSheet]
            return {name: Sheet.of(book.get_sheet_by_name(name)) for name in names}
    except calamine.PasswordError as error:
        raise DataError(f"'{path}' is locked by a password", fix="save a copy without one") from error
    except calamine.CalamineError as error:
        raise unreadable(path, error) from error


def _has_numbers(cells: Cells) -> bool:
    return len(cells) > 1 and any(type(cell) in (int, float) for row in cells for cell in row)


def _write(folder: Path, *, cells: Cells) -> Path:
    """Write the cells as CSV, without the empty columns and the empty rows at the end that formatting leaves."""
    used = [place for place in range(max(map(len, cells))) if any(row[place] != "" for row in cells)]
    last = max(number for number, row in enumerate(cells, 1) if any(cell != "" for cell in row))
    path = folder / "sheet.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        for row in cells[:last]:
            words = [_word(row[place]) for place in used]
            writer.writerow(words if any(words) or len(used) == 1 else [])
    return path


def _word(cell: Any) -> str:
    """Return a cell as text: whole numbers without a point, dates as 2026-01-31, true and false."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(" ") if cell.time() != datetime.time() else cell.date().isoformat()
    return str(cell)

"""Sheets of Excel and OpenDocument files, read as the CSV that they would be saved as, so that cells mean the same."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from eigenlens.data.files.base import unreadable
from eigenlens.data.files.decision import Decision
from eigenlens.data.files.sheet_limits import check_sheets
from eigenlens.data.files.standard_input import TemporaryFile, name_originals
from eigenlens.data.files.text import DelimitedReader
from eigenlens.errors import DataError, MissingExtra, suggest

Cells = list[list[Any]]


class SpreadsheetReader(DelimitedReader):
    """Columns of one sheet of each file: the one that is named, or the first with numbers."""

    options: ClassVar[frozenset[str]] = (DelimitedReader.options | {"sheet"}) - {"separator", "encoding", "comment"}

    def __init__(self, paths: tuple[Path, ...], *, sheet: str | None = None, **options: Any) -> None:
        for path in paths:
            check_sheets(path, options.get("max_ratio"))
        made = [_as_text(path, sheet) for path in paths]
        self._temporary = [file for file, _ in made]
        self.copies: Mapping[Path, str] = {file.path: file.called for file in self._temporary}
        with name_originals(self.copies):
            super().__init__(tuple(self.copies), separator=",", **options)
        self.decisions = (*(decision for _, found in made for decision in found), *self.decisions)


def _as_text(path: Path, sheet: str | None) -> tuple[TemporaryFile, list[Decision]]:
    """Return a sheet as a temporary file of text, and the decision to read that sheet of several."""
    sheets = _read_sheets(path)
    if sheet is not None:
        if sheet not in sheets:
            what = f"'{path}' has no sheet {sheet!r}"
            raise DataError(what, fix=suggest([], sheets))
        return TemporaryFile(str(path), partial(_write, cells=sheets[sheet])), []
    chosen = next((name for name, cells in sheets.items() if _has_numbers(cells)), None)
    chosen = chosen or next((name for name, cells in sheets.items() if len(cells) > 1), None)
    if chosen is None:
        raise DataError(f"'{path}' has no sheet with rows", fix="look at it in a spreadsheet program")
    others = [name for name, cells in sheets.items() if name != chosen and cells]
    what = f"sheet {chosen!r} of '{path}' is read, and {len(others)} other{'s' * (len(others) > 1)} not"
    fix = f"choose another with {{sheet}} ({', '.join(map(repr, others[:5]))})"
    found = [Decision("sheet", what, (), fix, {"sheet": ...}, surprising=True)] if others else []
    return TemporaryFile(str(path), partial(_write, cells=sheets[chosen])), found


def _read_sheets(path: Path) -> dict[str, Cells]:
    """Return the cells of the sheets that are not hidden."""
    try:
        import python_calamine as calamine
    except ImportError as error:
        raise MissingExtra("python-calamine", extra="excel", need="reading spreadsheets") from error
    try:
        with calamine.CalamineWorkbook.from_path(path) as book:
            shown = [each for each in book.sheets_metadata if each.visible == calamine.SheetVisibleEnum.Visible]
            names = [each.name for each in shown if each.typ == calamine.SheetTypeEnum.WorkSheet]
            return {name: book.get_sheet_by_name(name).to_python() for name in names}
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

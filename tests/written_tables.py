"""Small files of formats that no library here writes: sheets of Excel and of OpenDocument."""

from __future__ import annotations

import zipfile
from xml.sax.saxutils import escape

RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" ContentType="application/'
    'vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    # The second format is that of dates.
    "xl/styles.xml": f'<styleSheet xmlns="{SHEET}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
    "</styleSheet>",
}


class Day(float):
    """A day as Excel counts it, shown as a date."""


def write_xlsx(path, sheets, merged=()):
    """Write {name of a sheet: rows of numbers, truths, text, days and None} as an Excel file.

    merged: ranges of the sheets that are merged, such as "A2:A4".
    """
    ranges = "".join(f'<mergeCell ref="{each}"/>' for each in merged)
    ranges = f'<mergeCells count="{len(merged)}">{ranges}</mergeCells>' if merged else ""
    with zipfile.ZipFile(path, "w") as file:
        for name, text in PARTS.items():
            file.writestr(name, text)
        names = "".join(f'<sheet name="{name}" sheetId="{i}" r:id="rId{i}"/>' for i, name in enumerate(sheets, 1))
        book = f'<workbook xmlns="{SHEET}" xmlns:r="{RELATIONS}"><sheets>{names}</sheets></workbook>'
        file.writestr("xl/workbook.xml", book)
        parts = [
            f'Id="rId{i}" Type="{RELATIONS}/worksheet" Target="worksheets/{i}.xml"' for i in range(1, 1 + len(sheets))
        ]
        parts.append(f'Id="rId99" Type="{RELATIONS}/styles" Target="styles.xml"')
        related = "".join(f"<Relationship {part}/>" for part in parts)
        file.writestr(
            "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{PACKAGE}/relationships">{related}</Relationships>'
        )
        for i, rows in enumerate(sheets.values(), 1):
            lines = "".join(f'<row r="{r}">{_cells(row, r)}</row>' for r, row in enumerate(rows, 1))
            file.writestr(
                f"xl/worksheets/{i}.xml",
                f'<worksheet xmlns="{SHEET}"><sheetData>{lines}</sheetData>{ranges}</worksheet>',
            )


def _cells(row, r):
    return "".join(_cell(f"{chr(65 + c)}{r}", value) for c, value in enumerate(row) if value is not None)


def _cell(place, value):
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    kind = ' t="b"' if isinstance(value, bool) else ' s="1"' if isinstance(value, Day) else ""
    return (
        f'<c r="{place}"{kind}><v>{float(value)!r}</v></c>'
        if kind != ' t="b"'
        else f'<c r="{place}"{kind}><v>{int(value)}</v></c>'
    )


OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"


def write_ods(path, rows):
    """Write rows of numbers and text as a sheet of OpenDocument."""
    lines = "".join(f"<table:table-row>{''.join(map(_open_cell, row))}</table:table-row>" for row in rows)
    spaces = f'xmlns:office="{OFFICE}" xmlns:table="{TABLE}" xmlns:text="{TEXT}"'
    body = f'<office:body><office:spreadsheet><table:table table:name="one">{lines}</table:table></office:spreadsheet>'
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("mimetype", kind)
        entry = f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        file.writestr(
            "META-INF/manifest.xml", f'<manifest:manifest xmlns:manifest="{manifest}">{entry}</manifest:manifest>'
        )
        file.writestr(
            "content.xml", f"<office:document-content {spaces}>{body}</office:body></office:document-content>"
        )


def _open_cell(value):
    if isinstance(value, str):
        return f'<table:table-cell office:value-type="string"><text:p>{escape(value)}</text:p></table:table-cell>'
    return f'<table:table-cell office:value-type="float" office:value="{value!r}"/>'

"""Small files of formats that no library here writes: sheets of Excel, also binary ones, and of OpenDocument."""

from __future__ import annotations

import base64
import struct
import zipfile
import zlib
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


# ---- binary sheets of Excel -----------------------------------------------------------------------------------

BEGIN_BOOK, END_BOOK, BEGIN_SHEETS, SHEET_OF_BOOK, END_SHEETS = 131, 132, 143, 156, 144
BEGIN_SHEET, END_SHEET, DIMENSIONS, BEGIN_ROWS, END_ROWS = 129, 130, 148, 145, 146
ROW, TRUTH, NUMBER, WORD = 0, 4, 5, 6
"""Kinds of records, as [MS-XLSB] numbers them."""


def write_xlsb(path, rows):
    """Write rows of numbers, truths, text and None as the one sheet of a binary Excel file."""
    book = [_record(BEGIN_BOOK), _record(BEGIN_SHEETS)]
    book += [_record(SHEET_OF_BOOK, struct.pack("<II", 0, 1) + _wide("rId1") + _wide("one"))]
    book += [_record(END_SHEETS), _record(END_BOOK)]
    size = struct.pack("<IIII", 0, len(rows) - 1, 0, len(rows[0]) - 1)
    sheet = [_record(BEGIN_SHEET), _record(DIMENSIONS, size), _record(BEGIN_ROWS)]
    for r, row in enumerate(rows):
        sheet.append(_record(ROW, struct.pack("<IIHBBBI", r, 0, 300, 0, 0, 0, 0)))
        sheet += [_binary_cell(c, value) for c, value in enumerate(row) if value is not None]
    sheet += [_record(END_ROWS), _record(END_SHEET)]
    related = f'Id="rId1" Type="{RELATIONS}/worksheet" Target="worksheets/sheet1.bin"'
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("[Content_Types].xml", PARTS["[Content_Types].xml"])
        file.writestr("_rels/.rels", PARTS["_rels/.rels"].replace("workbook.xml", "workbook.bin"))
        file.writestr("xl/workbook.bin", b"".join(book))
        relations = f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship {related}/></Relationships>'
        file.writestr("xl/_rels/workbook.bin.rels", relations)
        file.writestr("xl/worksheets/sheet1.bin", b"".join(sheet))


def _record(kind, data=b""):
    return _varying(kind) + _varying(len(data)) + data


def _varying(number):
    """A number in groups of seven bits, the lowest first; the eighth bit says that another follows."""
    return bytes([number]) if number < 128 else bytes([number & 127 | 128, number >> 7])


def _wide(text):
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def _binary_cell(c, value):
    place = struct.pack("<II", c, 0)
    if isinstance(value, str):
        return _record(WORD, place + _wide(value))
    if isinstance(value, bool):
        return _record(TRUTH, place + bytes([value]))
    return _record(NUMBER, place + struct.pack("<d", value))


# ---- files that are kept as they are --------------------------------------------------------------------------

# Rows of `ROWS` in test_other_formats.py, by xlwt 1.3: Workbook().add_sheet("one"), write(i, j, cell), save("t.xls").
XLS = (
    "c-rk)O=uHA6#iy5X?{%8q^3eElu)tS+KcExkao48Jz1(3MFdSv(2}r`Pz60`wdN>@o|Ik!y?Cj5@drKVNkO5a2SE@LJ$e!pJhWNg"
    "yq&E{?4bcITJ~G!?aZ5f-@KjoX7=aJe7sz`-&H{ahG3v-htN`^6I4QOBL?cXZB=#8K`OR~{|ccX1+vADC#|moDuycF6-eCkJtql#"
    "qH+vpFq*eA$yLNK`;ZdKhe478Go*>4lf7zZd6MONmUsEer!4od<{HaEy0$EiV%{9>-=(woi0t9MC=~BQw)w!C?dZTumBp8?3+Gxt"
    "_7)~mxqq{x+ZVwsC~hMeD^p12%1BTEXYt)m0^i(~`Yh?`S644U`XBZBz%u%q(g#ezKEVlI#5%k(RF45#Z42mAq2(1xC6}>IO`fLs"
    "TV#`+u+o&T`7E{1QaKk^TQe`^Slv=?<rI&QOrwqKaZdCYZPp8SzP>#$K4u<g%@l9n&L+QE`2`!7l?53`xyQF8``Ka}%PY*fk?UP7"
    "6O^8G?j7sUmHpFv%~kI0rEzvJ-kDo!>RYK^{BrP7ck#2?NA<ap%7w(-d$WWddg!FdULDgI5Ch`&ErrLXdlq^__{g&Jx6L6aW7>CH"
    "Kgrs#h%i^<ES;8`9kJAsdaj(7K`ldbi3To%W=JsCPJK5QWtjbqa}*SVU_Lc_ei@{e!DA^lxeS|RwoSt~BBhxZyA_)gyRc@H%;wi@"
    "lGz;Jj0QGkYp`up+ZuJA7}}E|*^UQlSlT{+Aq)>5Jb3Wn!Gi}6YYKv2bfI4x!LO9+l{KLM>nu{KdcR55EDj-0$0U82?t?|=0?s#;"
    "KO5i|E|*xLjr+e);V_L}Ko;ZdN4Dwwr4K(*dp|2SjQzPK)a>}xX8ioi<NpK}`Ol;"
)

# Columns sex 1, 2, 1, none; x 1.5 to 4.5; town a, b, empty, d: written by pyreadstat.write_dta, and converted by the
# program of ReadStat 1.1.8, `readstat t.dta t.sas7bdat`.
SAS7BDAT = (
    "c-rmSy-UMD7{~FaFGIx+sdVU2u!w_`B(#W5O~4951)&`stmxoUhbndxcL(ubaTdhIQQh3!ot(7bOH7)pZBAodM2g=}hKKtl&p`qQ"
    "IXIENi~Ga%(`@GI>?9>)m)22k(#RA=rX(hod@CCo)tp*kX}MZibm~s6QZGc2A^iT}IlI_s-8ucL@n<qb;##~gYg(qYVtTdY)w$|+"
    "bFVD`0000000000008_)Den@wO$VcyMELHx%5z%RvC7R}5DUth%1c^qsJyD>*W*F8_4y<6)rcGb008(6Z_jSmsP?}E?e6@iU4Tf^"
    "`zcRpV?&MO-EsH?uA0g%d?a}ZwhsmMdq3^<guSYs{6MCk7jA8}#XrZpyR+YX^!S;!Es-bBPu_Pz)nvr|#IOmBuVYuk%D_m94X%ub"
    "a!@<vMlVtu?WDb-J(KQj!EZVTYOUFud`|!X0002~z&jjBcN_"
)


def write_kept(path, content):
    """Write one of the files above."""
    path.write_bytes(zlib.decompress(base64.b85decode(content)))

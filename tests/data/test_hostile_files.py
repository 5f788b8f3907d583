"""Files made to break their reader: bombs, endless lines, cells far away, and headers that promise too much."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import zipfile

import numpy as np
import polars as pl
import pytest

import eigenlens
from eigenlens.data.files import decode, decompress
from eigenlens.data.files.formats import arff, parquet, sheet_limits
from eigenlens.data.files.layout import widths
from eigenlens.errors import DataError
from written_tables import write_xlsx

MEGABYTE = 1 << 20
FREE = 4 * MEGABYTE
REPEATED = 6
"""Megabytes of text that are more than may grow from nothing, which is less in these tests than it is."""


@pytest.fixture(autouse=True)
def low_limits(monkeypatch):
    monkeypatch.setattr(decompress, "FREE_BYTES", FREE)
    monkeypatch.setattr(sheet_limits, "FREE_BYTES", FREE)
    monkeypatch.setattr(decode, "MAX_SAMPLE_BYTES", FREE)
    monkeypatch.setattr(decode, "MAX_RECORD", FREE)


BOMBS = {
    "rows": (b"a,b\n", b"1,2\n"),
    "blank lines": (b"a,b\n1,2\n", b"\n"),
    "spaces": (b"a,b\n1,2\n", b" "),
    "an open quote": (b'a,b\n1,"', b"x\n"),
    "one quoted cell": (b'a,b\n1,"', b"x"),
    "comments": (b"", b"#\n"),
}


def bomb(path, head, repeated, pack=gzip):
    with pack.open(path, "wb") as file:
        file.write(head)
        piece = repeated * (MEGABYTE // len(repeated))
        for _ in range(REPEATED):
            file.write(piece)
    return path


@pytest.mark.parametrize(("head", "repeated"), BOMBS.values(), ids=BOMBS)
def test_a_file_that_grows_without_end_is_an_error(tmp_path, head, repeated):
    with pytest.raises(DataError, match=r"grows to [\d,]+ times its size.*max_ratio=\d+|over \d+ MB"):
        eigenlens.scan(bomb(tmp_path / "t.csv.gz", head, repeated)).n_rows


@pytest.mark.parametrize(("suffix", "pack"), [(".bz2", bz2), (".xz", lzma)])
def test_other_compressions_have_the_same_limit(tmp_path, suffix, pack):
    path = bomb(tmp_path / f"t.csv{suffix}", *BOMBS["rows"], pack)
    with pytest.raises(DataError, match=r"max_ratio=10+\."):
        eigenlens.scan(path).n_rows


def test_the_limit_can_be_raised(tmp_path):
    path = bomb(tmp_path / "t.csv.gz", *BOMBS["rows"])
    assert eigenlens.scan(path, max_ratio=2000).n_rows == REPEATED * MEGABYTE // 4


@pytest.mark.parametrize("value", [0.5, "10", True])
def test_the_limit_is_a_number_above_one(tmp_path, value):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(eigenlens.errors.OptionError, match="max_ratio"):
        eigenlens.scan(tmp_path / "t.csv", max_ratio=value)


@pytest.mark.parametrize("cell", [b"x", b"1,", b"\x00"])
def test_a_line_without_end_is_an_error(tmp_path, cell):
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(cell * (decode.MAX_SAMPLE_BYTES // len(cell) + 1))
    with pytest.raises(DataError, match=r"a line over 4 MB|binary"):
        eigenlens.scan(path)


def test_a_million_columns_of_text_are_an_error_with_a_way_out(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"c" + b",c" * 999_999 + b"\n" + b"1" + b",1" * 999_999 + b"\n")
    with pytest.raises(DataError, match=r"1,000,000 columns.*transpose=True"):
        eigenlens.scan(path)


@pytest.mark.parametrize(
    ("cell", "readable"), [("AG", False), ('"x"', False), ("1e5", True), ("NA", True), ("true", True)]
)
def test_ten_thousand_columns_of_text_are_an_error(tmp_path, cell, readable):
    path, d = tmp_path / "t.csv", widths.MAX_TEXT_COLUMNS + 1
    path.write_text(f"{','.join(f'c{j}' for j in range(d))}\n{','.join([cell] * d)}\n")
    with (
        contextlib.nullcontext() if readable else pytest.raises(DataError, match=rf"t\.csv' has {d:,} columns of text")
    ):
        widths.check_column_count(path, path.read_text())
    if not readable:
        with pytest.raises(DataError, match="columns of text"):
            eigenlens.scan(path)


def test_an_arff_file_of_many_attributes_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(arff, "MAX_COLUMNS", 50)
    path = tmp_path / "t.arff"
    path.write_text("@relation x\n" + "".join(f"@attribute a{j} numeric\n" for j in range(60)) + "@data\n1,2\n")
    with pytest.raises(DataError, match=r"t\.arff' has 61 lines of attributes, and 50 are read"):
        eigenlens.scan(path)


@pytest.mark.parametrize("piece", [1, 7, 10, 11, 40, 1000])
def test_where_row_groups_end_is_seen_by_pieces(tmp_path, piece, monkeypatch):
    """A file of a few bytes may have more rows of zeros than memory holds."""
    X = np.arange(74.0).reshape(37, 2)
    pl.DataFrame(X, schema=["a", "b"]).write_parquet(tmp_path / "t.parquet", row_group_size=10)
    monkeypatch.setattr(parquet, "PIECE_ROWS", piece)
    reader = parquet.TableReader((tmp_path / "t.parquet",), open_table=pl.scan_parquet)
    lengths = reader._group_lengths(tmp_path / "t.parquet")
    assert sum(lengths) == 37
    assert lengths == [10, 10, 10, 7] or piece < 37
    np.testing.assert_array_equal(np.concatenate(list(reader.blocks())), X)


def test_blanks_between_the_tags_of_a_sheet_are_not_collected(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("sheet.xml", b'<c r="A1"/>' + b" " * (5 * MEGABYTE) + b'<c r="B7"/>')
    with zipfile.ZipFile(tmp_path / "t.zip") as archive:
        pieces = list(sheet_limits._chunks(archive, archive.infolist()[0]))
    assert max(map(len, pieces)) <= 2 * sheet_limits.CHUNK_BYTES
    assert sheet_limits._excel_cells(pieces) == 14


@pytest.mark.parametrize("quoted", ['"two\nlines"', '"a ""word"" and\n\nmore"', '"\n"'])
def test_quoted_lines_are_never_cut(tmp_path, quoted, monkeypatch):
    """Pieces of any size end where a record ends."""
    rows = 50
    (tmp_path / "t.csv").write_text("a,b\n" + f"{quoted},1\n" * rows)
    for size in range(3, 40):
        monkeypatch.setattr(decode, "PIECE_BYTES", size)
        source = eigenlens.scan(tmp_path / "t.csv", drop=["a"])
        dialect = source.dialect
        pieces = list(decode.iterate_pieces(tmp_path / "t.csv", size, dialect))
        assert b"".join(pieces) == f"{quoted},1\n".encode() * rows
        assert all(piece.count(b'"') % 2 == 0 and piece.endswith(b",1\n") for piece in pieces)


# ---- sheets ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ['r="XFD1048576"', "r='XFD1048576'", 's="0" r="xfd1048576"'])
def test_a_cell_far_from_the_table_is_an_error(tmp_path, cell):
    write_xlsx(tmp_path / "t.xlsx", {"s": [["a", "b"], [1.0, 2.0], [3.0, 5.0]]})
    far = f'<row r="1048576"><c {cell}><v>1</v></c></row></sheetData>'.encode()
    _edit(tmp_path / "t.xlsx", lambda name, text: text.replace(b"</sheetData>", far) if "worksheets" in name else text)
    with pytest.raises(DataError, match=r"17,179,869,184 cells.*delete"):
        eigenlens.scan(tmp_path / "t.xlsx")


def test_a_row_with_a_number_of_many_digits_is_an_error(tmp_path):
    write_xlsx(tmp_path / "t.xlsx", {"s": [["a", "b"], [1.0, 2.0], [3.0, 5.0]]})
    _edit(tmp_path / "t.xlsx", lambda name, text: text.replace(b'"B3"', b'"B399999999"'))
    with pytest.raises(DataError, match="delete the cells far from the table"):
        eigenlens.scan(tmp_path / "t.xlsx")


def test_a_sheet_that_grows_without_end_is_an_error(tmp_path):
    write_xlsx(tmp_path / "t.xlsx", {"s": [["a", "b"], [1.0, 2.0], [3.0, 5.0]]})
    with zipfile.ZipFile(tmp_path / "t.xlsx", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/zeros", bytes(REPEATED * MEGABYTE))
    with pytest.raises(DataError, match="max_ratio"):
        eigenlens.scan(tmp_path / "t.xlsx")


def test_repeated_cells_of_open_document_are_counted(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        row = '<table:table-row table:number-rows-repeated="1000000">'
        cell = '<table:table-cell office:value-type="float" office:value="1" table:number-columns-repeated="16000"/>'
        archive.writestr("content.xml", f"<table:table>{row}{cell}</table:table-row></table:table>")
    with pytest.raises(DataError, match="16,000,000,000 cells"):
        sheet_limits.check_sheets(tmp_path / "t.ods")


def _edit(path, change):
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, change(name, text))


# ---- headers and parsers --------------------------------------------------------------------------------------

HEADERS = {
    "open bracket": b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2",
    "huge shape": b"{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999, 99999999)}",
    "negative shape": b"{'descr': '<f8', 'fortran_order': False, 'shape': (-3, -2)}",
    "not a literal": b"{'descr': __import__('os'), 'fortran_order': False, 'shape': (3, 2)}",
    "strange type": b"{'descr': '<q9', 'fortran_order': False, 'shape': (3, 2)}",
    "nested": b"(" * 150,
    "no text": b"\x00\x01\x02",
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_damaged_headers_of_arrays_are_errors(tmp_path, header):
    whole = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(48)
    (tmp_path / "t.npy").write_bytes(whole)
    with pytest.raises(DataError, match=r"t\.npy"):
        eigenlens.scan(tmp_path / "t.npy")


@pytest.mark.parametrize("text", ["[" * 100_000, '[{"a": ' * 5000, '[{"a": 1e999999}, {"a": "x"}]', "{}", "[[1,2],3]"])
def test_damaged_json_is_an_error(tmp_path, text):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(DataError, match=r"t\.json|column"):
        eigenlens.PCA(1).fit(eigenlens.scan(tmp_path / "t.json"))


@pytest.mark.few(12)
@pytest.mark.parametrize("place", range(4, 400, 8))
@pytest.mark.parametrize("write", ["write_parquet", "write_ipc"])
def test_damaged_tables_of_columns_are_errors_or_rows(tmp_path, write, place):
    """Eight bytes after each place are the largest integer, counted from the start and from the end."""
    pl = pytest.importorskip("polars")
    target = io.BytesIO()
    getattr(pl.DataFrame(np.arange(60.0).reshape(20, 3) ** 1.5), write)(target)
    content = bytearray(target.getvalue())
    start = place if place % 16 else len(content) - place
    content[start : start + 8] = b"\xff" * 7 + b"\x7f"
    path = tmp_path / ("t.parquet" if write == "write_parquet" else "t.arrow")
    path.write_bytes(content)
    with contextlib.suppress(DataError):
        source = eigenlens.scan(path)
        assert np.concatenate(list(source.rows())).shape == (source.n_rows, source.n_features)


def test_a_parquet_file_of_hardly_anything_but_zeros_is_a_bomb_unless_that_is_allowed(tmp_path):
    path = tmp_path / "zeros.parquet"
    n = 40_000_000
    pl.select(a=pl.repeat(0.0, n), b=pl.repeat(1.0, n)).write_parquet(path, row_group_size=n)
    with pytest.raises(DataError, match=r"zeros.parquet' grows to [\d,]+ times its size"):
        eigenlens.scan(path)
    assert eigenlens.scan(path, max_ratio=1e6).n_rows == n

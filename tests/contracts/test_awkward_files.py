"""Awkward files are one table, or one error, whether `scan` or the command line reads them."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import warnings

import numpy as np
import pytest

from eigenlens import scan
from eigenlens.cli import main
from eigenlens.cli.input_table import read_table
from eigenlens.cli.options import ReadingOptions, RunningOptions
from eigenlens.data.coerce import as_table
from eigenlens.data.files.scan import open_files
from eigenlens.data.table import codes_of, numbers_of
from eigenlens.errors import DataError

TWO = ["a", "b"], [[1.0, 2.0], [3.0, 4.0]]
FILES = {
    "plain.csv": (
        "a,b,c\n1,2.5,x\n3,4.5,y\n5,6.5,z\n", (["a", "b", "c"], [[1, 2.5, "x"], [3, 4.5, "y"], [5, 6.5, "z"]])
    ),
    "semi_comma.csv": ("x;y\n0,5;1,25\n1,5;2,25\n2,5;3,75\n", (["x", "y"], [[0.5, 1.25], [1.5, 2.25], [2.5, 3.75]])),
    "thousands_de.csv": (
        "x;y\n1.234,5;1\n12.345,5;2\n3.456.789,0;3\n", (["x", "y"], [[1234.5, 1], [12345.5, 2], [3456789, 3]])
    ),
    "thousands_us.csv": (
        'x,y\n"1,234.5",1\n"12,345.5",2\n"3,456,789.0",3\n', (["x", "y"], [[1234.5, 1], [12345.5, 2], [3456789, 3]])
    ),
    "tab.tsv": ("a\tb\n1\t2\n3\t4\n", TWO),
    "spaces.txt": ("a   b  c\n1   2  3\n4   5  6\n7 8 9\n", (["a", "b", "c"], [[1, 2, 3], [4, 5, 6], [7, 8, 9]])),
    "pipe.csv": ("a|b\n1|2\n3|4\n", TWO),
    "latin1.csv": ("länge,breite\n1,2\n3,4\n".encode("latin-1"), (["länge", "breite"], [[1, 2], [3, 4]])),
    "cp1252.csv": ("“name”,x\né,2\nà,4\n".encode("cp1252"), (["“name”", "x"], [["é", 2], ["à", 4]])),
    "utf16.csv": ("a,b\n1,2\n3,4\n".encode("utf-16"), TWO),
    "bom.csv": (b"\xef\xbb\xbfa,b\n1,2\n3,4\n", TWO),
    "crlf.csv": ("a,b\r\n1,2\r\n3,4\r\n", TWO),
    "mac.csv": ("a,b\r1,2\r3,4\r", TWO),
    "noheader.csv": (
        "1,2,3\n4,5,6\n7,8,9\n", (["column_1", "column_2", "column_3"], [[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    ),
    "ragged_short.csv": ("a,b,c\n1,2,3\n4,5\n6,7,8\n", "is ragged: row 3 has 2 cells, and the first has 3"),
    "ragged_long.csv": ("a,b\n1,2\n4,5,6\n6,7\n", "is ragged: row 3 has 3 cells, and the first has 2"),
    "na.csv": ("a,b\n1,NA\nn/a,2\n,3\n-999,4\n", (["a", "b"], [[1, None], [None, 2], [None, 3], [-999, 4]])),
    "na_text.csv": ("a,b\nNA,1\n-,2\nx,.\nNone,3\n", (["a", "b"], [[None, 1], ["-", 2], ["x", None], ["None", 3]])),
    "units.csv": (
        'w,p,r\n12 kg,"$1,200",45%\n5.5 kg,$3.50,0%\n−3 kg,$1,7.5 %\n',
        (["w", "p", "r"], [[12, 1200, 45], [5.5, 3.5, 0], [-3, 1, 7.5]]),
    ),
    "thin_spaces.csv": (
        "a;b\n1\u202f234,5;(1.234,5)\n2\u202f345\u202f678;7\n", (["a", "b"], [[1234.5, -1234.5], [2345678, 7]])
    ),
    "censored.csv": ("a,b\n<0.5,1\n0.7,2\n", "column 'a' has text among numbers in 1 row (first: row 1, '<0.5')"),
    "units_differ.csv": ("a,b\n12 kg,1\n5 g,2\n", (["a", "b"], [["12 kg", 1], ["5 g", 2]])),
    "title.csv": ("Sales of 2020\n\na,b\n1,2\n3,4\n", TWO),
    "title_of_a_spreadsheet.csv": ("Sales of 2020,,\na,b,c\n1,2,3\n4,5,6\n", (["a", "b", "c"], [[1, 2, 3], [4, 5, 6]])),
    "mixed_ends.csv": (b"a,b\r\n1,2\n3,4\r\n", TWO),
    "bom_title.csv": (b"\xef\xbb\xbfSales of 2020\na,b\n1,2\n3,4\n", TWO),
    "bom_quotes.csv": (b'\xef\xbb\xbf"a","b"\n"1","NA"\n"3","4"\n', (["a", "b"], [[1, None], [3, 4]])),
    "empty_names.csv": (",b,\n1,2,3\n4,5,6\n", (["column_1", "b", "column_3"], [[1, 2, 3], [4, 5, 6]])),
    "header_only.csv": ("a,b\n", "has a line of names and no rows"),
    "one_column.csv": ("a\n1\n-\n3\n", (["a"], [[1], [None], [3]])),
    "one_row.csv": ("a,b\n1,2\n", (["a", "b"], [[1, 2]])),
    "nul.csv": (b"a,b\n1,\x002\n3,4\n", "is binary, not delimited text"),
    "binary.csv": (bytes(range(256)) * 20, "is binary, not delimited text"),
    "page.csv": ("<!DOCTYPE html><html><body>1,2</body></html>\n", "is a web page, not delimited text"),
    "german_units.csv": (
        "Länge;Preis\n1,5 m;1.200,50 €\n2,5 m;3,00 €\n", (["Länge", "Preis"], [[1.5, 1200.5], [2.5, 3]])
    ),
    "quoted_newline.csv": ('a,b\n1,"two\nlines"\n2,"x"\n', (["a", "b"], [[1, "two\nlines"], [2, "x"]])),
    "comment.csv": ("# made by hand\na,b\n1,2\n3,4\n", TWO),
    "sep_line.csv": ("sep=;\na;b\n1;2\n3;4\n", TWO),
    "dup_names.csv": ("a,a,b\n1,2,3\n4,5,6\n", (["a", "a_2", "b"], [[1, 2, 3], [4, 5, 6]])),
    "bool.csv": ("flag,x\ntrue,1\nfalse,2\nTRUE,3\n", (["flag", "x"], [[1, 1], [0, 2], [1, 3]])),
    "bigint.csv": (
        "id,x\n9007199254740993,1\n9007199254740995,2\n", (["id", "x"], [[9007199254740993, 1], [9007199254740995, 2]])
    ),
    "text_among.csv": (
        "x,y\n" + "".join(f"{i},{2 * i}\n" for i in range(200)) + "many,3\n",
        "column 'x' has text among numbers in 1 row (first: row 201, 'many')",
    ),
    "years_header.csv": (
        "2001,2002,2003\n1.5,2.5,3.5\n4.5,5.5,6.5\n", (["2001", "2002", "2003"], [[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]])
    ),
    "gz.csv.gz": (gzip.compress(b"a,b\n1,2\n3,4\n"), TWO),
    "xz.csv.xz": (lzma.compress(b"a,b\n1,2\n3,4\n"), TWO),
    "bz2.csv.bz2": (bz2.compress(b"a,b\n1,2\n3,4\n"), TWO),
    "trailing_sep.csv": ("a,b,\n1,2,\n3,4,\n", (["a", "b", "column_3"], [[1, 2, None], [3, 4, None]])),
    "rownames.txt": ("a b\nr1 1 2\nr2 3 4\n", TWO),
    "blank_lines.csv": ("a,b\n\n1,2\n\n3,4\n\n", TWO),
}  # fmt: skip
"""Contents by name, and what is read: (names, rows) or the words of the error."""


def values(source):
    """The names and rows of a table, text and large integers as they are, missing entries None."""
    columns = []
    for j, field in enumerate(source.fields):
        parts = [part for rows in source.rows() for part in _column(rows, j, field.kind)]
        columns.append([None if value != value else value for value in parts])
    return [field.name for field in source.fields], [list(row) for row in zip(*columns, strict=True)]


def _column(rows, j, kind):
    place = np.array([j])
    if kind not in ("text", "integer"):
        return numbers_of(rows, place)[:, 0].tolist()
    codes = codes_of(rows, place)
    return codes[:, 0].tolist() if isinstance(codes, np.ndarray) else [
        None if code < 0 else codes[0].categories[code] for code in codes[0].codes.tolist()
    ]  # fmt: skip


def outcome(read):
    """The table, or the error without the way out."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where scan reads numbers that were text for it once
            return values(read())
    except DataError as error:
        return error.phrased()[0]


@pytest.fixture
def path(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    contents = FILES[request.param][0]
    (tmp_path / request.param).write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    return request.param


@pytest.mark.parametrize("path", FILES, indirect=True)
@pytest.mark.parametrize("memory", ["1GB", "1"])
def test_both_doors_read_the_same(path, memory, capsys):
    expected = FILES[path][1]
    scanned = outcome(lambda: scan(path).table())
    typed = outcome(
        lambda: as_table(read_table([path], ReadingOptions(), RunningOptions(max_memory=memory), mixed=True).source)
    )
    assert scanned == typed
    if not isinstance(expected, str):
        assert scanned == (expected[0], [list(row) for row in expected[1]])
    else:
        assert expected in scanned
    told = main(["info", path, "--json"])
    shown = json.loads(capsys.readouterr().out)
    if not isinstance(scanned, str):
        features = [column for column in shown["columns"] if column["name"] != open_files(path).row_names]
        assert [column["name"] for column in features] == scanned[0]
        assert shown["rows"] == len(scanned[1])
    elif "among numbers" not in scanned:  # info describes such columns
        assert (told, shown["error"]) == (3, scanned)

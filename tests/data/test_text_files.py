"""Text in other encodings, compressed, with other line ends or with spaces between cells is the same table."""

from __future__ import annotations

import bz2
import gzip
import lzma

import numpy as np
import pytest

from eigenlens import scan
from eigenlens.data.files import decode as text_files
from eigenlens.data.files.decode import iterate_pieces
from eigenlens.data.files.dialect import Dialect
from eigenlens.errors import DataError, DataWarning, OptionError

RNG = np.random.default_rng(5)
ROWS = RNG.standard_normal((40, 3)).round(6)
TEXT = "größe,naïve,café\n" + "\n".join(",".join(map(str, row)) for row in ROWS.tolist()) + "\n"


@pytest.fixture(params=[7, 1 << 20], ids=["small pieces", "whole"])
def _chunks(request, monkeypatch):
    """Decoded in chunks that cut characters and lines, and in one."""
    monkeypatch.setattr(text_files, "CHUNK_BYTES", request.param)
    monkeypatch.setattr("eigenlens.data.files.text.PIECE_BYTES", 10 * request.param)


def read(path, **options):
    source = scan(path, **options)
    assert source.names == ("größe", "naïve", "café")
    assert source.n_rows == len(ROWS)
    return np.concatenate(list(source.rows()))


@pytest.mark.usefixtures("_chunks")
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "utf-16-be", "utf-8", "utf-8-sig", "cp037"])
def test_a_named_encoding(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes(TEXT.encode(encoding))
    np.testing.assert_array_equal(read(tmp_path / "t.csv", encoding=encoding), ROWS)


@pytest.mark.usefixtures("_chunks")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_what_the_file_itself_says(tmp_path, encoding, ends):
    (tmp_path / "t.csv").write_bytes(TEXT.replace("\n", ends).encode(encoding))
    np.testing.assert_array_equal(read(tmp_path / "t.csv"), ROWS)


def test_files_of_one_table_may_differ_in_encoding(tmp_path):
    (tmp_path / "a.csv").write_bytes(TEXT.encode("utf-16"))
    (tmp_path / "b.csv").write_bytes(TEXT.encode("utf-8"))
    found = np.concatenate(list(scan(tmp_path / "*.csv").rows()))
    np.testing.assert_array_equal(found, np.concatenate([ROWS, ROWS]))


def test_western_text_is_read_with_a_warning(tmp_path):
    (tmp_path / "t.csv").write_bytes("Höhe,b\n1,2\n3,5\n".encode("latin-1"))
    with pytest.warns(DataWarning, match="is not UTF-8 and is read with encoding='latin-1'"):
        assert scan(tmp_path / "t.csv").names == ("Höhe", "b")
    with pytest.raises(DataError, match="is not UTF-8"):
        scan(tmp_path / "t.csv", encoding="utf-8")


def test_the_end_and_the_letters_of_one_file_say_nothing_about_another(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,4\n\nNote: all in cm\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("a,b\n5,6\n7,8\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"row 4 has 1 cell, .* footer=1"):
        scan(tmp_path / "*.csv")
    (tmp_path / "a.csv").write_bytes("é,b\n1,2\n3,4\n".encode("latin-1"))
    with pytest.raises(DataError, match="is not UTF-8"):
        scan(tmp_path / "*.csv")


@pytest.mark.parametrize("rows", [5, 20_000])
def test_what_stands_below_a_table_of_any_length(tmp_path, rows):
    path, table = tmp_path / "t.csv", "a,b\n" + "".join(f"{i},{i % 7}.5\n" for i in range(rows))
    path.write_text(table + "\nmeasured twice\n* by hand\n", encoding="utf-8")
    with pytest.warns(DataWarning, match="the last 2 lines are taken for remarks"):
        assert sum(map(len, scan(path).rows())) == rows
    path.write_text(table + "\nc,d\n1,2\n3,4\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"a second table below a blank line \('c', 'd'\); fit the first with footer=3"):
        scan(path)
    assert sum(map(len, scan(path, footer=3).rows())) == rows


@pytest.mark.parametrize("pack", [gzip, bz2, lzma])
def test_compressed(tmp_path, pack):
    path = tmp_path / f"t.csv.{ {gzip: 'gz', bz2: 'bz2', lzma: 'xz'}[pack] }"
    whole = pack.compress(TEXT.encode("utf-16"))
    path.write_bytes(whole)
    np.testing.assert_array_equal(read(path), ROWS)
    path.write_bytes(whole[:-20])
    with pytest.raises(DataError, match="is truncated"):
        read(path)
    path.write_bytes(TEXT.encode())
    with pytest.raises(DataError, match="is not an intact"):
        read(path)


@pytest.mark.parametrize("chunk", [7, 50, 1 << 20])
def test_what_cannot_be_decoded_is_named_by_its_place(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(text_files, "CHUNK_BYTES", chunk)
    lines = ["a,b,note", *(f"{i},{i}.5,plain" for i in range(30)), "7,8,caf\u00e9\u00e9\u00e9", "9,10,plain"]
    data = "\n".join(lines).encode("latin-1")
    (tmp_path / "t.csv").write_bytes(data)
    place = f"byte 0xe9 at position {data.index(0xE9)}, in line 32"
    with pytest.raises(DataError, match=rf"is not UTF-8 \({place}\); .*encoding='latin-1'"):
        scan(tmp_path / "t.csv", label="note").read_label()
    with pytest.raises(DataError, match=rf"is not ascii \({place}\)"):
        next(scan(tmp_path / "t.csv", label="note", encoding="ascii").rows())


def test_the_way_out_is_by_the_bytes(tmp_path):
    cases = {
        "\u201cquoted\u201d\u2026\u2026": ("cp1252", "encoding='cp1252'"),
        "plain,text": ("utf-16-le", "encoding='utf-16-le'"),
    }
    for word, (encoding, way) in cases.items():
        (tmp_path / "t.csv").write_bytes(f"{word},b\n1,2\n".encode(encoding))
        with pytest.raises(DataError, match=way):
            scan(tmp_path / "t.csv", encoding="utf-16" if encoding == "utf-16-le" else None)
    (tmp_path / "t.csv").write_bytes("größe,b\n1,2\n".encode())
    with pytest.raises(DataError, match="leave out encoding"):
        scan(tmp_path / "t.csv", encoding="ascii")


@pytest.mark.parametrize("name", ["nope", "base64", "rot13", "a\0b"])
def test_names_of_no_encoding(tmp_path, name):
    (tmp_path / "t.csv").write_text(TEXT, encoding="utf-8")
    with pytest.raises(OptionError, match="is not an encoding of text; use one of 'utf-8'"):
        scan(tmp_path / "t.csv", encoding=name)


def test_an_encoding_is_for_text_only(tmp_path):
    np.save(tmp_path / "t.npy", ROWS)
    with pytest.raises(OptionError, match="encoding='latin-1' is an option of delimited text"):
        scan(tmp_path / "t.npy", encoding="latin-1")


@pytest.mark.usefixtures("_chunks")
def test_decoding_holds_a_piece_and_no_more(tmp_path):
    (tmp_path / "t.csv").write_bytes(TEXT.encode("utf-16"))
    pieces = list(iterate_pieces(tmp_path / "t.csv", 200, Dialect()))
    assert b"".join(pieces).decode() == TEXT.partition("\n")[2]
    assert len(pieces) > 3
    assert max(map(len, pieces)) < 300


def test_a_column_beside_the_features_forgives_what_they_forgive(tmp_path):
    """Spaces around numbers, blank cells, and -999.0 for -999; text loses the spaces around it."""
    (tmp_path / "t.csv").write_text("w,a,n\n 1 ,5, x\n2,6,y\n  ,7,z\n -999.0,8,-999\n")
    weights = scan(tmp_path / "t.csv", label="w", drop=["n"], na=["-999"]).read_label()
    np.testing.assert_array_equal(weights, [1.0, 2.0, np.nan, np.nan])
    assert scan(tmp_path / "t.csv", label="n", drop=["w"], na=["-999"]).read_label().tolist() == ["x", "y", "z", None]
    rows = np.concatenate(list(scan(tmp_path / "t.csv", columns=["w"], na=["-999"]).rows()))
    np.testing.assert_array_equal(rows[:, 0], weights)


def test_lines_above_the_names(tmp_path):
    for above in ("sep=,\n", "\n\n", "\r\n", "\ufeffsep=;\r\n"):
        (tmp_path / "t.csv").write_text(above + TEXT, encoding="utf-8", newline="")
        np.testing.assert_array_equal(read(tmp_path / "t.csv"), ROWS)


def test_spaces_between_cells(tmp_path):
    lines = [f"  {a:12.6f}\t {b:9.6f}   {c:10.6f}  " for a, b, c in ROWS.tolist()]
    (tmp_path / "t.txt").write_text(
        ' größe   "naïve"  café\n' + "\r\n".join(lines) + "\n", encoding="utf-8", newline=""
    )
    np.testing.assert_array_equal(read(tmp_path / "t.txt", separator=" "), ROWS)
    (tmp_path / "q.txt").write_text("x  name\n1   \"two  words\"\n2   'b'\n")
    assert scan(tmp_path / "q.txt", separator=" ", label="name").read_label().tolist() == ["two  words", "'b'"]

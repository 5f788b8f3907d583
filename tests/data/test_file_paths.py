"""Paths: no file is read twice; pipes are files; titles and remarks are left out; rows and columns are exchanged."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading

import numpy as np
import polars as pl
import pytest

from eigenlens import PCA, scan
from eigenlens.data.files import standard_input
from eigenlens.errors import DataError, DataWarning, OptionError

RNG = np.random.default_rng(3)
X = RNG.standard_normal((40, 3)).round(6)
FRAME = pl.DataFrame(X, schema=["a", "b", "c"])


def text_of(frame=FRAME):
    return frame.write_csv()


# ---- one file, one time ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spelling", ["a.csv", "./a.csv", "folder/../a.csv", "link.csv", "hard.csv", "a*.csv", "absolute"]
)
def test_a_file_that_is_named_twice_is_an_error(tmp_path, monkeypatch, spelling):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.csv").write_text(text_of())
    (tmp_path / "copy.csv").write_text(text_of())
    os.symlink("a.csv", "link.csv")
    os.link("a.csv", "hard.csv")
    again = str(tmp_path / "a.csv") if spelling == "absolute" else spelling
    with pytest.raises(DataError, match=r"is named twice.*its rows would be used twice"):
        scan(["a.csv", again])
    assert scan(["a.csv", "copy.csv"]).n_rows == 80


# ---- standard input and pipes ---------------------------------------------------------------------------------


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder of temporary files."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(standard_input, "_kept", {})
    return tmp_path / "temporary"


def give(monkeypatch, content):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


def contents():
    """The same rows in every format that is recognised by its content."""
    parquet, arrow, npy = io.BytesIO(), io.BytesIO(), io.BytesIO()
    FRAME.write_parquet(parquet)
    FRAME.write_ipc(arrow)
    np.save(npy, X)
    import bz2
    import gzip
    import lzma

    csv = text_of().encode()
    arff = "% c\n@relation x\n" + "".join(f"@attribute {name} numeric\n" for name in "abc") + "@data\n" + text_of()[6:]
    found = {
        "csv": csv,
        "gz": gzip.compress(csv),
        "bz2": bz2.compress(csv),
        "xz": lzma.compress(csv),
        "arff": arff.encode(),
    }
    found |= {"json": FRAME.write_json().encode(), "ndjson": FRAME.write_ndjson().encode()}
    return found | {"parquet": parquet.getvalue(), "arrow": arrow.getvalue(), "npy": npy.getvalue()}


@pytest.mark.parametrize("path", ["-", "/dev/stdin"])
@pytest.mark.parametrize("kind", contents())
def test_standard_input_is_known_by_its_content(temporary, monkeypatch, kind, path):
    give(monkeypatch, contents()[kind])
    source = scan(path)
    for _ in range(2):
        np.testing.assert_array_equal(np.concatenate(list(source.rows())), X)
    np.testing.assert_allclose(PCA().fit(scan(path)).explained_variance_, PCA().fit(X).explained_variance_)
    assert len(os.listdir(temporary)) == 1


def test_errors_name_standard_input(temporary, monkeypatch):
    give(monkeypatch, b"a,b\n1,2\n3\n")
    with pytest.raises(DataError, match=r"^standard input is ragged: row 3"):
        scan("-")
    standard_input._kept.clear()
    assert os.listdir(temporary) == []
    give(monkeypatch, b"")
    with pytest.raises(DataError, match="standard input is empty"):
        scan("-")
    assert os.listdir(temporary) == []
    with pytest.raises(DataError, match="'-' is named twice"):
        scan(["-", "/dev/stdin"])
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(DataError, match="standard input is closed"):
        scan("-")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have no names here")
def test_pipes(temporary, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for part in (X[:20], X[20:]):
        frame = pl.DataFrame(part, schema=["a", "b", "c"])
        writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=[text_of(frame)])
        writer.start()
        source = scan(tmp_path / "pipe")
        writer.join()
        for _ in range(2):
            np.testing.assert_array_equal(np.concatenate(list(source.rows())), part)
        assert source.given == (tmp_path / "pipe",)
        del source
        assert os.listdir(temporary) == []


@pytest.mark.parametrize("words", [["info", "-"], ["fit", "pca", "-"], ["info", "no-such-file.csv", "-"]])
def test_the_command_line_removes_its_copy(tmp_path, words):
    environment = os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "eigenlens", *words]
    done = subprocess.run(command, input=text_of().encode(), env=environment, capture_output=True, check=False)
    assert done.returncode == (0 if len(words) < 3 or words[0] == "fit" else 3), done.stderr
    assert os.listdir(tmp_path) == []


# ---- lines above and below ------------------------------------------------------------------------------------

TITLES = {
    "one line": "Sales of 2020\n",
    "several": "Sales of 2020\nby the shop\n\n",
    "of a spreadsheet": "Sales of 2020,,\n,,\n",
    "with a comma": '"Sales, of 2020"\n',
}


@pytest.mark.parametrize("title", TITLES.values(), ids=TITLES)
def test_a_title_is_left_out_and_reported(tmp_path, title):
    (tmp_path / "t.csv").write_text(title + text_of())
    n = title.count("\n")
    with pytest.warns(DataWarning, match="taken for a title and left out; if that is wrong, give skip=0"):
        np.testing.assert_array_equal(next(scan(tmp_path / "t.csv").rows()), X)
    given = scan(tmp_path / "t.csv", skip=n)
    np.testing.assert_array_equal(next(given.rows()), X)
    assert given.decisions == ()


@pytest.mark.parametrize(
    "text", ["a,b\n1,2\n3,4\n", "a,\n1,2\n3,4\n", ",a\nx,1\ny,2\n", "a\n1\n2\n", "a b\n1 2\n3 4\n"]
)
def test_names_are_not_taken_for_a_title(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    assert scan(tmp_path / "t.csv", text=["column_1"] if text.startswith(",a") else ()).dialect.skip == 0


def test_lines_above_that_are_not_certain(tmp_path):
    (tmp_path / "t.csv").write_text("made,by hand\n" + text_of())
    with pytest.raises(DataError, match="is ragged"):
        scan(tmp_path / "t.csv")
    np.testing.assert_array_equal(next(scan(tmp_path / "t.csv", skip=1).rows()), X)
    for option in ("skip", "footer"):
        with pytest.raises(OptionError, match=f"{option}=-1"):
            scan(tmp_path / "t.csv", **{option: -1})


@pytest.mark.parametrize("size", [50, 1 << 20])
@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_remarks_at_the_end(tmp_path, monkeypatch, size, end):
    monkeypatch.setattr("eigenlens.data.files.text.PIECE_BYTES", size)
    monkeypatch.setattr("eigenlens.data.files.text.HEAD_BYTES", size)
    (tmp_path / "t.csv").write_text(text_of() + "Total,1,2\n\nSource: the shop" + end)
    source = scan(tmp_path / "t.csv", footer=2)
    np.testing.assert_array_equal(np.concatenate(list(source.rows())), X)
    assert source.n_rows == 40
    with pytest.warns(DataWarning, match=r"last line is taken for remarks.*footer=1"):
        assert scan(tmp_path / "t.csv", drop=["a"]).n_rows == 41


def test_remarks_below_more_than_the_first_lines(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 5000 + "end\n")
    assert scan(tmp_path / "t.csv", footer=1).n_rows == 5000


# ---- rows that are features -----------------------------------------------------------------------------------

GENES = pl.DataFrame({"gene": ["g1", "g2", "row"]} | {f"s{i}": row for i, row in enumerate(X)})
TURNED = {".csv": "write_csv", ".parquet": "write_parquet", ".arrow": "write_ipc"}


@pytest.mark.parametrize("suffix", TURNED)
def test_genes_as_rows(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    getattr(GENES, TURNED[suffix])(path)
    source = scan(path, transpose=True, block_rows=7)
    assert source.names == ("g1", "g2", "row")
    assert source.n_rows == 40
    np.testing.assert_array_equal(np.concatenate(list(source.rows())), X)
    assert max(map(len, source.rows())) == 7
    assert source.read_ids().tolist() == [f"s{i}" for i in range(40)]
    np.testing.assert_array_equal(next(scan(path, transpose=True, columns=["row", "g1"]).rows()), X[:, [2, 0]])
    np.testing.assert_array_equal(scan(path, transpose=True, label="g2").read_label(), X[:, 1])


ANNOTATED = "symbol,gene_id,chromosome,Length,s1,s2,s3\nTP53,E1,17,100,1,2,3\nTP53,E2,17,120,4,5,6\nMYC,E3,8,90,7,8,9\n"


def test_columns_that_describe_genes_are_left_aside(tmp_path):
    (tmp_path / "t.csv").write_text(ANNOTATED)
    with pytest.warns(UserWarning, match="'symbol', 'chromosome', 'Length' describe the features.*'gene_id' names"):
        source = scan(tmp_path / "t.csv", transpose=True)
    assert source.names == ("E1", "E2", "E3")
    assert source.read_ids().tolist() == ["s1", "s2", "s3"]
    np.testing.assert_array_equal(next(source.rows()), np.arange(1.0, 10.0).reshape(3, 3).T)


GROUPED = {
    "below the names": "gene,s1,s2,s3\ngroup,old,new,new\n",
    "above the names": "group,old,new,new\ngene,s1,s2,s3\n",
    "merged": ",old,new,\ngene,s1,s2,s3\n",
}


@pytest.mark.parametrize("place", GROUPED)
def test_a_line_of_groups_is_a_column_of_rows(tmp_path, place):
    (tmp_path / "t.csv").write_text(GROUPED[place] + "g1,1,2,3\ng2,4,5,6\n")
    source = scan(tmp_path / "t.csv", transpose=True, label="group")
    assert source.names == ("g1", "g2")
    assert source.read_ids().tolist() == ["s1", "s2", "s3"]
    assert source.read_label().tolist() == ["old", "new", "new"]
    np.testing.assert_array_equal(next(source.rows()), [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]])
    assert [each.subject for each in source.decisions] == ["rows"]


def test_tables_that_cannot_be_turned(tmp_path):
    (tmp_path / "t.csv").write_text("gene,s1,s2\ng,1,2\ng,3,4\n")
    with pytest.raises(DataError, match="the first column has 'g' 2 times"):
        scan(tmp_path / "t.csv", transpose=True)
    (tmp_path / "t.csv").write_text("gene,s1,s2\ng,1,x\nh,3,4\n")
    with pytest.raises(DataError, match="'s2' has text"):
        scan(tmp_path / "t.csv", transpose=True)
    (tmp_path / "t.csv").write_text("gene\ng\nh\n")
    with pytest.raises(DataError, match="has one column"):
        scan(tmp_path / "t.csv", transpose=True)
    np.save(tmp_path / "t.npy", X.T)
    np.testing.assert_array_equal(next(scan(tmp_path / "t.npy", transpose=True).rows()), X)

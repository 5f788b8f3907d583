"""Spreadsheets, files of statistics programs, JSON and ARFF are the same table; other formats name their conversion."""

from __future__ import annotations

import json
import os
import pickle
import shlex
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from eigenlens import scan
from eigenlens.data.files.scan import open_files
from eigenlens.errors import DataError, DataWarning, MissingExtra, OptionError
from written_tables import Day, write_ods, write_xlsx

ROWS = [["length", "n", "kind", "ok"], [0.1 + 0.2, 1, "u", True], [1e-20, 2, "v", False], [None, 3, "u", True]]


def frame_of(source):
    return pl.concat(list(source.table().frames()), how="vertical_relaxed")


def hide(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)


def check_rows(source):
    """The rows of `ROWS`, numbers to their last digit."""
    frame = frame_of(source)
    assert frame.columns == ROWS[0]
    assert frame.with_columns(pl.col("ok").cast(pl.Float64)).rows() == [(*row[:3], float(row[3])) for row in ROWS[1:]]


# ---- spreadsheets ---------------------------------------------------------------------------------------------


class TestSpreadsheets:
    @pytest.fixture(autouse=True)
    def _needs(self):
        pytest.importorskip("python_calamine", reason="PYTHON-CALAMINE IS NOT INSTALLED: spreadsheets are not tested")

    def test_a_sheet_is_the_table(self, tmp_path):
        write_xlsx(tmp_path / "t.xlsx", {"one": ROWS})
        source = scan(tmp_path / "t.xlsx")
        check_rows(source)
        assert [field.kind for field in source.fields] == ["number", "integer", "text", "boolean"]
        assert source.decisions == ()

    def test_open_document(self, tmp_path):
        write_ods(tmp_path / "t.ods", [["a", "b"], [0.1, 2], [3.5, "NA"]])
        np.testing.assert_array_equal(next(scan(tmp_path / "t.ods").rows()), [[0.1, 2], [3.5, np.nan]])

    def test_the_first_sheet_with_numbers_is_read_or_the_one_that_is_named(self, tmp_path):
        sheets = {"about": [["made by"], ["hand"]], "one": ROWS, "two": [["z"], [7]], "none": []}
        write_xlsx(tmp_path / "t.xlsx", sheets)
        with pytest.warns(DataWarning, match=r"sheet 'one' of '.*t\.xlsx' is read, and 2 others not.*'about', 'two'"):
            check_rows(scan(tmp_path / "t.xlsx"))
        assert scan(tmp_path / "t.xlsx", sheet="two").names == ("z",)
        with pytest.raises(DataError, match="has no sheet 'three'; use one of 'about', 'one'"):
            scan(tmp_path / "t.xlsx", sheet="three")

    def test_cells_mean_what_they_mean_in_text(self, tmp_path):
        rows = [
            ["Trial of May"],
            [],
            ["day", "dose", None],
            [Day(46053), "12 kg", None],
            [Day(46054.5), "3 kg", None],
            [None],
        ]
        write_xlsx(tmp_path / "t.xlsx", {"one": rows})
        with pytest.warns(DataWarning) as caught:
            source = scan(tmp_path / "t.xlsx", dates=["day"])
        assert {str(each.message).split(" ")[0] for each in caught} == {"the", "'12"}
        np.testing.assert_array_equal(next(source.rows()), [[20484, 12], [20485.5, 3]])

    def test_errors_name_the_sheet_and_not_a_copy(self, tmp_path):
        write_xlsx(tmp_path / "t.xlsx", {"one": [["a", "a"], [1, 2], [3, 4]]})
        with pytest.raises(DataError, match=r"t\.xlsx' has 2 columns named 'a'"):
            scan(tmp_path / "t.xlsx")
        (tmp_path / "u.xlsx").write_bytes(b"PK\x03\x04nothing")
        with pytest.raises(DataError, match=r"u\.xlsx' cannot be read"):
            scan(tmp_path / "u.xlsx")
        with pytest.raises(OptionError, match="separator=';' is an option of delimited text"):
            scan(tmp_path / "t.xlsx", separator=";")
        (tmp_path / "t.csv").write_text("a\n1\n")
        with pytest.raises(OptionError, match="sheet='one' is an option of spreadsheets"):
            scan(tmp_path / "t.csv", sheet="one")

    def test_the_copy_is_removed(self, tmp_path, monkeypatch):
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
        (tmp_path / "temporary").mkdir()
        write_xlsx(tmp_path / "t.xlsx", {"one": ROWS})
        source = scan(tmp_path / "t.xlsx")
        assert len(os.listdir(tmp_path / "temporary")) == 1
        del source
        assert os.listdir(tmp_path / "temporary") == []
        write_xlsx(tmp_path / "t.xlsx", {"one": [["a", "a"], [1, 2]]})
        with pytest.raises(DataError):
            scan(tmp_path / "t.xlsx")
        assert os.listdir(tmp_path / "temporary") == []


def test_libraries_that_are_not_installed(tmp_path, monkeypatch):
    for module, name, extra in (("python_calamine", "t.xlsx", "excel"), ("pyreadstat", "t.sav", "statistics")):
        (tmp_path / name).write_text("x")
        hide(monkeypatch, module)
        with pytest.raises(MissingExtra, match=rf"pip install 'eigenlens\[{extra}\]'"):
            scan(tmp_path / name)


# ---- statistics programs --------------------------------------------------------------------------------------

ANSWERS = {1: "strongly disagree", 2: "disagree", 3: "neutral", 4: "agree", 5: "strongly agree"}


class TestStatisticsPrograms:
    @pytest.fixture
    def pyreadstat(self):
        return pytest.importorskip("pyreadstat", reason="PYREADSTAT IS NOT INSTALLED: .sav and .dta are not tested")

    @pytest.fixture
    def frame(self):
        values = {
            "sex": [1.0, 2.0, 1.0, None],
            "q": [1.0, 5.0, 9.0, 3.0],
            "x": [1.5, 2.5, 3.5, 4.5],
            "town": ["a", "b", "", "d"],
        }
        return pl.DataFrame(values | {"score": [0.0, 10.0, 4.0, 5.0]})

    def test_labels_are_categories_and_declared_missing_values_missing(self, tmp_path, pyreadstat, frame):
        labels = {"sex": {1: "male", 2: "female"}, "q": {**ANSWERS, 9: "no answer"}, "score": {0: "none", 10: "all"}}
        measures = {"sex": "nominal", "q": "ordinal"}
        pyreadstat.write_sav(
            frame,
            str(tmp_path / "t.sav"),
            variable_value_labels=labels,
            missing_ranges={"q": [9]},
            variable_measure=measures,
        )
        source = open_files(tmp_path / "t.sav")
        found = frame_of(source)
        assert found["sex"].to_list() == ["male", "female", "male", None]
        assert found["q"].to_list() == [1.0, 5.0, None, 3.0]
        assert found["score"].to_list() == [0.0, 10.0, 4.0, 5.0]
        assert found["town"].to_list() == ["a", "b", None, "d"]
        assert source.fields[0].categories == ("male", "female")
        [decision] = source.decisions
        assert (decision.columns, decision.settings) == (("q",), {"text": ["q"]})
        as_text = frame_of(open_files(tmp_path / "t.sav", text=["q"]))["q"].to_list()
        assert as_text == ["strongly disagree", "strongly agree", None, "neutral"]

    def test_stata(self, tmp_path, pyreadstat, frame):
        pandas = frame.with_columns(q=pl.Series([1, 5, 2, 3])).to_pandas()
        labels = {"sex": {1: "male", 2: "female"}, "q": ANSWERS}
        pyreadstat.write_dta(pandas, str(tmp_path / "t.dta"), variable_value_labels=labels)
        found = frame_of(open_files(tmp_path / "t.dta"))
        assert found["sex"].to_list() == ["male", "female", "male", None]
        assert found["q"].to_list() == [1, 5, 2, 3]

    def test_a_file_that_is_not_one(self, tmp_path, pyreadstat):
        for name in ("t.sav", "t.dta", "t.sas7bdat", "t.por"):
            (tmp_path / name).write_text("no such thing")
            with pytest.raises(DataError, match=r"cannot be read"):
                scan(tmp_path / name)


# ---- JSON -----------------------------------------------------------------------------------------------------

RECORDS = [dict(zip(ROWS[0], row, strict=True)) for row in ROWS[1:]]
COLUMNS = {name: [record[name] for record in RECORDS] for name in ROWS[0]}
TABLES = {
    "records.json": json.dumps(RECORDS),
    "columns.json": json.dumps(COLUMNS),
    "pandas.json": json.dumps({name: dict(enumerate(values)) for name, values in COLUMNS.items()}),
    "split.json": json.dumps({"columns": ROWS[0], "data": ROWS[1:]}),
    "lines.jsonl": "\n".join(map(json.dumps, RECORDS)),
    "lines.ndjson": "\n".join(map(json.dumps, RECORDS)) + "\n\n",
    "lines.json": "\n".join(map(json.dumps, RECORDS)),
    "mark.json": "\ufeff" + json.dumps(RECORDS, indent=1),
}


@pytest.mark.parametrize("name", TABLES)
def test_json(tmp_path, name):
    (tmp_path / name).write_text(TABLES[name], encoding="utf-8")
    check_rows(scan(tmp_path / name))


NOT_TABLES = {
    '{"a": 1}': "is not a table",
    '{"a": [1, 2], "b": [1]}': "is not a table",
    "[1, 2]": "is not a table",
    "[]": "is not a table",
    '{"a": 1': "cannot be read",
    '[{"a": {"z": 1}}]': "holds nested values",
    '[{"a": 1, "b": 1}, {"a": "low", "b": 1}]': r"'a' of '.*' has text among numbers \(first: row 2, 'low'\)",
}


@pytest.mark.parametrize(("text", "message"), NOT_TABLES.items())
def test_json_that_is_not_a_table(tmp_path, text, message):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(DataError, match=message):
        scan(tmp_path / "t.json")


def test_markers_among_numbers_of_json(tmp_path):
    (tmp_path / "t.json").write_text('[{"a": 1, "b": 2}, {"a": "NA", "b": null}, {"a": 2.5}]')
    np.testing.assert_array_equal(next(scan(tmp_path / "t.json").rows()), [[1, 2], [np.nan, np.nan], [2.5, np.nan]])


# ---- ARFF -----------------------------------------------------------------------------------------------------

ARFF = """% made by hand
@RELATION iris

@attribute 'sepal length' NUMERIC
@attribute n integer
@ATTRIBUTE class {setosa, 'iris versicolor', "it\\'s"}
@attribute seen DATE "yyyy-MM-dd HH:mm"
@attribute note string
@DATA
5.1, 3, setosa, '1970-01-02 12:00', 'a, b'
% a comment
?,4,'iris versicolor',?,"c d"
4.5,?,?,'1970-01-03 00:00',?
"""


def test_arff(tmp_path):
    (tmp_path / "t.arff").write_text(ARFF)
    source = scan(tmp_path / "t.arff", dates=["seen"])
    rows = [
        (5.1, 3.0, "setosa", 1.5, "a, b"),
        (None, 4.0, "iris versicolor", None, "c d"),
        (4.5, None, None, 2.0, None),
    ]
    assert frame_of(source).rows() == rows
    assert source.fields[2].categories == ("setosa", "iris versicolor", "it's")
    with pytest.raises(DataError, match="'seen' holds dates or times"):
        scan(tmp_path / "t.arff")


ODD_ARFF = {
    "{0 5.1}": "is sparse ARFF",
    "5.1,3": "has 2 values in line 10, and 5 attributes",
    "5.1,3,virginica,?,x": "cannot be read",
    "x,3,setosa,?,x": "cannot be read",
}


@pytest.mark.parametrize(("line", "message"), ODD_ARFF.items())
def test_arff_that_cannot_be_read(tmp_path, line, message):
    (tmp_path / "t.arff").write_text(ARFF.partition("5.1")[0] + line + "\n")
    with pytest.raises(DataError, match=message):
        scan(tmp_path / "t.arff")
    (tmp_path / "t.arff").write_text("@relation x\n@attribute bag relational\n@data\n1\n")
    with pytest.raises(DataError, match="of the type 'relational', which is not read"):
        scan(tmp_path / "t.arff")


# ---- formats that are converted -------------------------------------------------------------------------------

X = np.random.default_rng(0).standard_normal((5, 3))


def _write_npz(path):
    np.savez(path, small=np.zeros((1, 2)), one=np.zeros(99), X=X)


def _write_mat(path):
    import scipy.io

    scipy.io.savemat(path, {"X": X, "k": 3})


def _write_pickle(path):
    pd = pytest.importorskip("pandas")
    path.write_bytes(pickle.dumps(pd.DataFrame(X, columns=["a", "b", "c"])))


def _write_h5(path):
    h5py = pytest.importorskip("h5py", reason="H5PY IS NOT INSTALLED")
    with h5py.File(path, "w") as file:
        file["group/X"], file["y"] = X, np.zeros(9)


def _write_h5ad(path):
    anndata = pytest.importorskip("anndata", reason="ANNDATA IS NOT INSTALLED")
    anndata.AnnData(X).write_h5ad(path)


def _write_zarr(path):
    zarr = pytest.importorskip("zarr", reason="ZARR IS NOT INSTALLED")
    zarr.open_group(path, mode="w").create_array("X", data=X)


CONVERTED = {
    "my t.npz": _write_npz,
    "t.mat": _write_mat,
    "t.pkl": _write_pickle,
    "t.h5": _write_h5,
    "t.h5ad": _write_h5ad,
    "t.zarr": _write_zarr,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CONVERTED)
def test_the_command_that_converts_works(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    CONVERTED[name](tmp_path / name)
    with pytest.raises(DataError) as caught:
        scan(name)
    words = shlex.split(caught.value.fix.removeprefix("convert it: "))
    assert words[0] == "python"
    subprocess.run([sys.executable, *words[1:]], check=True, capture_output=True)
    [made] = [path for path in tmp_path.iterdir() if path.suffix in (".npy", ".parquet")]
    found = np.concatenate(list(scan(made, id="row" if name == "t.h5ad" else None).rows()))
    np.testing.assert_allclose(found, X, rtol=1e-6)


COMMANDS = {
    "t.rds": 'Rscript -e \'write.csv(as.data.frame(readRDS("t.rds")), "t.csv")\'',
    "t.rda": 'load("t.rda", e)',
    "t.zip": "unzip t.zip",
    "t.csv.zst": "zstd -d t.csv.zst",
    "t.parquet.gz": "gunzip t.parquet.gz",
}


@pytest.mark.parametrize(("name", "command"), COMMANDS.items())
def test_formats_that_other_programs_convert(tmp_path, monkeypatch, name, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("x")
    with pytest.raises(DataError) as caught:
        scan(name)
    assert command in caught.value.fix

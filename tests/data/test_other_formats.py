"""Spreadsheets, files of statistics programs, JSON, ARFF and GCT are the same table; others name a conversion."""

from __future__ import annotations

import gzip
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
from written_tables import SAS7BDAT, XLS, Day, write_kept, write_ods, write_xlsb, write_xlsx

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

    def test_sheets_of_other_versions_of_excel(self, tmp_path):
        write_xlsb(tmp_path / "t.xlsb", ROWS)
        write_kept(tmp_path / "t.xls", XLS)
        for name in ("t.xlsb", "t.xls"):
            source = scan(tmp_path / name)
            check_rows(source)
            assert [field.kind for field in source.fields] == ["number", "integer", "text", "boolean"]

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
        write_xlsx(tmp_path / "t.xlsx", {"one": [["a", "b"], [1, 2]]})
        with pytest.raises(DataError, match=r"/t\.xlsx' has a line of names and no rows"):
            scan(tmp_path / "t.xlsx", skip=1)
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
        write_xlsx(tmp_path / "t.xlsx", {"one": [["a", "b"], [1, 2]]})
        with pytest.raises(DataError):
            scan(tmp_path / "t.xlsx", skip=1)
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

    def test_portable_files_of_spss(self, tmp_path, pyreadstat, frame):
        pyreadstat.write_por(frame, str(tmp_path / "t.por"))
        found = frame_of(open_files(tmp_path / "t.por"))
        assert found.rename(str.lower).to_dict(as_series=False) == {
            **frame.to_dict(as_series=False), "town": ["a", "b", None, "d"],
        }  # fmt: skip

    @pytest.mark.usefixtures("pyreadstat")
    def test_sas(self, tmp_path):
        write_kept(tmp_path / "t.sas7bdat", SAS7BDAT)
        found = frame_of(open_files(tmp_path / "t.sas7bdat"))
        assert found.to_dict(as_series=False) == {
            "sex": [1.0, 2.0, 1.0, None], "x": [1.5, 2.5, 3.5, 4.5], "town": ["a", "b", None, "d"],
        }  # fmt: skip

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


# ---- gene expression ------------------------------------------------------------------------------------------

GENES = "ENSG1\t{}1.5\t2\t3\nENSG2\t{}4\tNA\t7\nENSG3\t{}7\t1\t9\nENSG4\t{}0\t0.5\t8\n"
SAMPLES = [[1.5, 4, 7, 0], [2, np.nan, 1, 0.5], [3, 7, 9, 8]]
# The numbers that describe genes are no samples.
GCT = "#1.2\n4\t3\nName\tDescription\ts1\ts2\ts3\n" + GENES.format("11\t", "12\t", "13\t", "14\t")
GCT_1_3 = (
    "#1.3\n4\t3\t2\t2\nid\tentrez\tname\ts1\ts2\ts3\ngroup\tna\tna\told\told\tnew\nplace\tna\tna\tU\tV\tU\n"
    + GENES.format("11\tA\t", "12\tB\t", "13\tC\t", "14\tD\t")
)


@pytest.mark.parametrize("name", ["t.gct", "t.gct.gz"])
def test_genes_of_gct_are_columns(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(GCT.encode()) if name.endswith("gz") else GCT.encode())
    source = scan(tmp_path / name)
    assert source.names == ("ENSG1", "ENSG2", "ENSG3", "ENSG4")
    np.testing.assert_array_equal(next(source.rows()), SAMPLES)
    assert source.read_ids().tolist() == ["s1", "s2", "s3"]
    [decision] = [str(each) for each in source.decisions if each.subject == "rows and columns"]
    assert "'Description' of the genes is left aside; fit the genes as rows with transpose=True" in decision


def test_what_describes_samples_in_gct_is_beside_them(tmp_path):
    (tmp_path / "t.gct").write_text(GCT_1_3)
    source = open_files(tmp_path / "t.gct")
    assert source.names == ("row", "group", "place", "ENSG1", "ENSG2", "ENSG3", "ENSG4")
    assert source.read_column("group").tolist() == ["old", "old", "new"]
    np.testing.assert_array_equal(next(source.part([3, 4, 5, 6]).rows()), SAMPLES)


@pytest.mark.filterwarnings("ignore::eigenlens.errors.DataWarning")
@pytest.mark.parametrize("text", [GCT, GCT_1_3])
def test_genes_of_gct_as_rows(tmp_path, text):
    (tmp_path / "t.gct").write_text(text)
    source = scan(tmp_path / "t.gct", transpose=True)
    assert source.names == ("s1", "s2", "s3")
    np.testing.assert_array_equal(next(source.rows()), np.transpose(SAMPLES))
    assert "rows and columns" not in [each.subject for each in source.decisions]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GCT.replace("4\t3", "5\t3"), "declares 5 genes and 3 samples, and has 4 genes and 3 samples"),
        (GCT.replace("#1.2", "#1.1"), "does not start as GCT files do"),
        (GCT.partition("\n")[2], "does not start as GCT files do"),
        (GCT_1_3.replace("\t2\t2\n", "\n", 1), "does not start as GCT files do"),
    ],
)
def test_gct_that_is_not_whole(tmp_path, text, message):
    (tmp_path / "t.gct").write_text(text)
    with pytest.raises(DataError, match=message):
        scan(tmp_path / "t.gct")


def test_gct_that_is_called_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.txt").write_text(GCT)
    with pytest.raises(DataError, match="is GCT, not delimited text") as caught:
        scan("t.txt")
    subprocess.run(shlex.split(caught.value.fix.removeprefix("rename it: ")), check=True)
    assert scan("t.txt.gct").n_rows == 3


def test_text_that_is_made_of_biom(tmp_path):
    text = "# Constructed from biom file\n#OTU ID\tS0\tS1\tS2\nO0\t2.0\t0.0\t7.0\nO1\t1.0\t3.0\t4.0\n"
    (tmp_path / "t.tsv").write_text(text)
    with pytest.warns(DataWarning, match="the first line is taken for a title"):
        source = scan(tmp_path / "t.tsv", transpose=True)
    assert source.names == ("O0", "O1")
    np.testing.assert_array_equal(next(source.rows()), [[2, 1], [0, 3], [7, 4]])


def test_a_series_matrix_of_geo(tmp_path):
    about = '!Series_title\t"A study"\n\n!Sample_title\t"one"\t"two"\n!series_matrix_table_begin\n'
    rows = '"ID_REF"\t"GSM1"\t"GSM2"\n"1007_s_at"\t10.1\t9.8\n"117_at"\t7.5\t8\n'
    (tmp_path / "GSE1_series_matrix.txt").write_text(f"{about}{rows}!series_matrix_table_end\n")
    source = scan(tmp_path / "GSE1_series_matrix.txt", transpose=True)
    assert source.names == ("1007_s_at", "117_at")
    np.testing.assert_array_equal(next(source.rows()), [[10.1, 7.5], [9.8, 8]])
    assert [each.subject for each in source.decisions] == ["comments"]


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


def _write_mtx(path):
    import scipy.io
    import scipy.sparse

    scipy.io.mmwrite(path.with_suffix("") if path.suffix == ".gz" else path, scipy.sparse.coo_matrix(X))
    if path.suffix == ".gz":
        plain = path.with_suffix("")
        path.write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()


def _write_dense_mtx(path):
    import scipy.io

    scipy.io.mmwrite(path, X)


def _write_loom(path):
    h5py = pytest.importorskip("h5py", reason="H5PY IS NOT INSTALLED")
    with h5py.File(path, "w") as file:
        file["matrix"], file["row_attrs/Gene"] = X.T, [b"a", b"b", b"c"]


CONVERTED = {
    "t.mtx": _write_mtx,
    "t.mtx.gz": _write_mtx,
    "dense.mtx": _write_dense_mtx,
    "t.loom": _write_loom,
    "my t.npz": _write_npz,
    "t.mat": _write_mat,
    "t.pkl": _write_pickle,
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
    found = np.concatenate(list(scan(made).rows()))
    np.testing.assert_allclose(found, X, rtol=1e-6)


COMMANDS = {
    "t.rds": 'Rscript -e \'write.csv(as.data.frame(readRDS("t.rds")), "t.csv")\'',
    "t.rda": 'load("t.rda", e)',
    "t.fcs": 'flowio.FlowData("t.fcs")',
    "t.biom": "biom convert -i t.biom -o t.tsv --to-tsv",
    "t.vcf": "plink2 --vcf t.vcf --max-alleles 2 --make-bed --out t",
    "my t.vcf.gz": "plink2 --vcf 'my t.vcf.gz' --max-alleles 2 --make-bed --out 'my t'",
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

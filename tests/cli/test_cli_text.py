"""Text as the world writes it: encodings, thousands, spaces, lines above the names; and commands that start at once."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from eigenlens import PCA, NaiveBayes
from eigenlens.cli import main

RNG = np.random.default_rng(11)
ROWS = (RNG.standard_normal((60, 2)) * [900.0, 2.0] + [5000.0, 3.0]).round(2)
EIGENVALUES = PCA().fit(ROWS).explained_variance_


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A command line in an empty folder: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def command(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        return (code, *capsys.readouterr())

    return command


def eigenvalues(run, *words):
    code, out, err = run("fit", "pca", *words, "--json")
    assert code == 0, err
    return json.loads(out)["explained_variance"]


# ---- encodings ------------------------------------------------------------------------------------------------

TABLE = "Stra\u00dfe;Ertrag;H\u00f6he\n" + "".join(f"Gr\u00fcnweg {i};{a};{b}\n" for i, (a, b) in enumerate(ROWS))


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le"])
def test_an_encoding_goes_with_the_file(run, tmp_path, encoding):
    """Through info and fit to the command that comes next, which runs as it is printed."""
    (tmp_path / "t.csv").write_bytes(TABLE.encode(encoding))
    code, out, err = run("info", "t.csv")
    assert code == (3 if encoding.startswith("utf") else 0)
    assert "--encoding" in out + err
    code, out, _ = run("info", "t.csv", "--encoding", encoding, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["text"]["encoding"] == encoding
    assert [column["name"] for column in told["columns"]] == ["Stra\u00dfe", "Ertrag", "H\u00f6he"]
    following = shlex.split(told["next"])[1:]
    assert following[following.index("--encoding") + 1] == encoding
    code, out, err = run(*following, "--id", "Stra\u00dfe", "-o", "m.safetensors")
    assert code == 0, err
    line = next(line for line in out.splitlines() if line.startswith("next"))
    code, _, err = run(*shlex.split(line)[2:])
    assert code == 0, err
    assert pl.read_csv("scores.csv")["Stra\u00dfe"].to_list()[:2] == ["Gr\u00fcnweg 0", "Gr\u00fcnweg 1"]
    found = eigenvalues(run, "t.csv", "--encoding", encoding, "--id", "Stra\u00dfe")
    np.testing.assert_allclose(found, EIGENVALUES)


def test_marked_files_and_text_columns_in_memory(run, tmp_path):
    (tmp_path / "t.csv").write_bytes(TABLE.encode("utf-16"))
    np.testing.assert_allclose(eigenvalues(run, "t.csv", "--drop", "Stra\u00dfe"), EIGENVALUES)
    assert "encoding utf-16" in run("info", "t.csv")[1]
    code, out, _ = run(
        "fit", "nb", "t.csv", "--label", "Stra\u00dfe", "--where", "Stra\u00dfe != Gr\u00fcnweg 1", "--json"
    )
    assert code == 0
    assert json.loads(out)["read"]["rows"] == 59


def test_a_wrong_encoding_or_none(run, tmp_path):
    (tmp_path / "t.csv").write_bytes(TABLE.encode("utf-8"))
    code, _, err = run("fit", "pca", "t.csv", "--encoding", "ascii")
    assert code == 3
    assert "is not ascii (byte 0xc3 at position 4, in line 1)" in err
    assert "leave out --encoding" in err
    code, _, err = run("fit", "pca", "t.csv", "--encoding", "klingon")
    assert code == 2
    assert "--encoding klingon is not an encoding of text" in err
    np.save(tmp_path / "t.npy", ROWS)
    assert run("fit", "pca", "t.npy", "--encoding", "latin-1")[0] == 2


# ---- numbers --------------------------------------------------------------------------------------------------


def european(x):
    return f"{x:,.2f}".translate(str.maketrans(",.", ".,"))


def test_thousands_and_decimals_of_other_countries(run, tmp_path):
    eu = "ort;umsatz;menge\n" + "".join(f"a.b,{i};{european(a)};{european(b)}\n" for i, (a, b) in enumerate(ROWS))
    us = "place,sales,n\n" + "".join(f'"a,{i}","{a:,.2f}",{b:.2f}\n' for i, (a, b) in enumerate(ROWS))
    (tmp_path / "eu.csv").write_text(eu)
    (tmp_path / "us.csv").write_text(us)
    np.testing.assert_allclose(eigenvalues(run, "eu.csv", "--id", "ort"), EIGENVALUES)
    np.testing.assert_allclose(eigenvalues(run, "us.csv", "--id", "place"), EIGENVALUES)
    assert "decimal sign ',', '.' between thousands" in run("info", "eu.csv")[1]
    told = json.loads(run("info", "us.csv", "--json")[1])
    assert told["text"]["thousands"] == ","
    assert [column["type"] for column in told["columns"]] == ["text", "float", "float"]
    np.testing.assert_allclose(told["columns"][1]["mean"], ROWS[:, 0].mean())
    assert told["columns"][0]["note"].endswith("'a,0'")


def test_thousands_as_columns_beside_the_features(run, tmp_path):
    """Weights, filters and whole tables for naive Bayes read the same numbers; names stay as they are written."""
    lines = [
        f"{'xy'[i % 2]};{european(a)};{european(b)};{1000 * (i % 3 + 1):,}".replace(",000", ".000")
        for i, (a, b) in enumerate(ROWS)
    ]
    (tmp_path / "eu.csv").write_text("c;a;b;w\n" + "\n".join(lines) + "\n")
    weight = np.array([1000.0 * (i % 3 + 1) for i in range(len(ROWS))])
    found = eigenvalues(run, "eu.csv", "--drop", "c", "--weight", "w")
    np.testing.assert_allclose(found, PCA().fit(ROWS, sample_weight=weight).explained_variance_)
    code, out, err = run("fit", "nb", "eu.csv", "--label", "c", "--weight", "w", "-o", "nb.safetensors")
    assert code == 0, err
    y = np.array(["x", "y"] * 30)
    expected = NaiveBayes().fit(ROWS, y, sample_weight=weight).predict_proba(ROWS)
    code, out, _ = run("predict", "nb.safetensors", "eu.csv", "--proba")
    assert code == 0
    np.testing.assert_allclose(pl.read_csv(out.encode())["p(x)"].to_numpy(), expected[:, 0], rtol=1e-9)


def test_a_sign_between_thousands_that_is_given(run, tmp_path):
    (tmp_path / "ch.csv").write_text("a,b\n" + "".join(f"{a:,.2f},{b:.2f}\n".replace(",", "'", 1) for a, b in ROWS))
    np.testing.assert_allclose(eigenvalues(run, "ch.csv"), EIGENVALUES)  # an apostrophe can mean nothing else
    np.testing.assert_allclose(eigenvalues(run, "ch.csv", "--thousands", "'"), EIGENVALUES)
    following = run("fit", "pca", "ch.csv", "--thousands", "'", "-o", "m.safetensors")[1].splitlines()[-1]
    assert run(*shlex.split(following)[2:])[0] == 0
    for words in (["--thousands", "12"], ["--thousands", "."], ["--thousands", "-"]):
        code, _, err = run("info", "ch.csv", "--decimal", ".", *words)
        assert code == 2
        assert "--thousands" in err


def test_cells_side_by_side_are_no_thousands(run, tmp_path):
    """1,234,5.5 are three cells, whatever the options for commas."""
    (tmp_path / "t.csv").write_text("a,b,c\n" + "".join(f"{i},{234 + 7 * i},{i % 5}.5\n" for i in range(30)))
    plain = eigenvalues(run, "t.csv")
    assert eigenvalues(run, "t.csv", "--thousands", ",") == plain


# ---- lines ----------------------------------------------------------------------------------------------------


def test_spaces_of_any_number_between_cells(run, tmp_path):
    lines = [f"  {a:10.2f}   {b:7.2f} " for a, b in ROWS]
    (tmp_path / "named.txt").write_text("  sales  n\n" + "\n".join(lines) + "\n")
    (tmp_path / "bare.txt").write_text("\n".join(lines) + "\n")
    for name in ("named.txt", "bare.txt"):
        np.testing.assert_allclose(eigenvalues(run, name), EIGENVALUES)
    assert "separator spaces" in run("info", "bare.txt")[1]
    out = run("info", "named.txt", "--json")[1]
    assert [column["name"] for column in json.loads(out)["columns"]] == ["sales", "n"]


BELOW = {
    "inside.csv": ("a,b\n1,2\n# stop\n3,4\n", "row 3 has 1 cell", "if that is a comment, add --comment '#'"),
    "packed.csv": ("\x1f\x8b", "is gzip, not delimited text", "mv packed.csv packed.csv.gz"),
    "ends.csv": ("1,2\n3,4,\n5,6,\n", "row 2 has 3 cells", "end the first line with a separator too"),
    "open.csv": ('a,b\n1,"2\n3,4\n', 'has a quote (") in line 2 that is never closed', "write it twice"),
    "inch.csv": ('a,b\n1,x\n2,5"\n', 'has a quote (") in line 3 that is never closed', "leave it out"),
    "returns.csv": ("a,b\n1,2\r3,4\n5,6\n", "has a carriage return inside a line, near line 2", "tr '\\r' '\\n'"),
    "a.csv.zst": ("(\xb5/\xfd", "is packed in a way that is not read", "zstd -d"),
    "a.npz": ("PK", "is several arrays", "np.save"),
    "a.pkl": ("x", "is a pickle", "to_parquet"),
    "a.xyz": ("1,2\n", "has no known suffix", "name a copy so: cp a.xyz a.txt"),
}


@pytest.mark.parametrize("name", BELOW)
def test_what_is_in_the_way_is_named(run, tmp_path, name):
    contents, what, fix = BELOW[name]
    (tmp_path / name).write_text(contents, newline="", encoding="latin-1")
    for command in (["info"], ["fit", "pca"]):
        code, out, err = run(*command, name)
        assert code == 3
        assert what in err
        assert fix in err
        assert not out


COMMENTS = {
    "above": ("# made by us, today\na,b\n1,2\n3,4\n", [], ["a", "b"]),
    "several above": ("# made by us\n\n# today\na,b\n1,2\n3,4\n", [], ["a", "b"]),
    "a line of names": ("#a,b\n1,2\n3,4\n", [], ["#a", "b"]),
    "inside": ("a,b\n1,2\n# stop\n3,4\n", ["--comment", "#"], ["a", "b"]),
    "two signs": ("// made by us\na,b\n1,2\n3,4\n// end\n", ["--comment", "//"], ["a", "b"]),
    "names in one": ("# made by us\n# a,b\n1,2\n3,4\n", [], ["a", "b"]),
    "no names": ("# made by us\n# a,b\n1,2\n3,4\n", ["--comment", "#", "--no-header"], ["column_1", "column_2"]),
}


@pytest.mark.parametrize("case", COMMENTS)
def test_comments_are_skipped(run, tmp_path, case):
    contents, words, names = COMMENTS[case]
    (tmp_path / "t.csv").write_text(contents)
    columns = json.loads(run("info", "t.csv", *words, "--json")[1])["columns"]
    assert [(column["name"], column["mean"]) for column in columns] == list(zip(names, [2.0, 3.0], strict=True))


def test_files_of_one_table_hold_one_kind(run, tmp_path):
    table = pl.DataFrame(ROWS, schema=["a", "b"])
    table.write_parquet(tmp_path / "x1.parquet")
    table.cast(pl.Float32).write_parquet(tmp_path / "x2.parquet")
    assert run("info", "x*.parquet")[0] == 0
    table.cast(pl.String).write_parquet(tmp_path / "x3.parquet")
    for command in (["info"], ["fit", "pca"]):
        code, _, err = run(*command, "x*.parquet")
        assert code == 3
        assert "column 'a' holds" in err
        assert "x3.parquet" in err


def test_cells_of_any_length(run, tmp_path):
    long = "x" * 200_000
    (tmp_path / "t.csv").write_text(f'a,b,"{long}"\n' + "".join(f'{i},{i * i},"{long}"\n' for i in range(4)))
    code, out, err = run("info", "t.csv", "--json")
    assert code == 0, err
    assert [column["name"] for column in json.loads(out)["columns"]] == ["a", "b", long]
    assert run("fit", "pca", "t.csv", "--drop", long)[0] == 0


def test_leading_zeros_are_noticed(run, tmp_path):
    (tmp_path / "t.csv").write_text("zip,a\n" + "".join(f"0{37 * i:04d},0.{i}\n" for i in range(20)))
    notes = {column["name"]: column["note"] for column in json.loads(run("info", "t.csv", "--json")[1])["columns"]}
    assert notes == {"zip": "leading zeros in 20 rows: names, perhaps", "a": ""}


def test_numbers_with_marks_are_no_names_of_rows(run, tmp_path):
    """Every cell of the first column is another, as in names, and they are measurements all the same."""
    (tmp_path / "t.csv").write_text(
        "a,b\n" + "".join(f"{i if i else 'NA'}.5,{i % 3}\n" for i in range(30)).replace("NA.5", "NA")
    )
    assert "--id" not in json.loads(run("info", "t.csv", "--json")[1])["next"]


def test_warnings_of_convergence_are_those_of_scikit_learn_too():
    import pickle

    import sklearn.exceptions

    import eigenlens

    found = eigenlens.errors.ConvergenceWarning
    assert found is eigenlens.ConvergenceWarning
    assert issubclass(found, sklearn.exceptions.ConvergenceWarning)
    assert type(pickle.loads(pickle.dumps(found("slow")))) is found


def test_arrow_streams_are_distinguished_from_files(run, tmp_path):
    pl.DataFrame(ROWS, schema=["a", "b"]).write_ipc_stream(tmp_path / "t.arrow")
    code, _, err = run("info", "t.arrow")
    assert code == 3
    assert "is an Arrow stream" in err
    assert "write_ipc" in err


def test_a_line_of_years_is_names(run, tmp_path):
    (tmp_path / "t.csv").write_text("2019,2020,2021\n" + "".join(f"{i},{i * i % 7},{i % 3}\n" for i in range(9)))
    told = json.loads(run("info", "t.csv", "--json")[1])
    assert [column["name"] for column in told["columns"]] == ["2019", "2020", "2021"]
    (tmp_path / "n.csv").write_text("gene,1,2,3\n" + "".join(f"g{i},{i},{i % 5},{i % 3}\n" for i in range(9)))
    assert json.loads(run("info", "n.csv", "--json")[1])["rows"] == 9
    (tmp_path / "u.csv").write_text("".join(f"{2000 + i},{2001 + i},{2002 + i}\n" for i in range(9)))
    assert json.loads(run("info", "u.csv", "--json")[1])["rows"] == 9


def test_common_missing_value_markers(run, tmp_path):
    marks = ["NA", "n/a", "?", "-", ".", "null"]
    cells = [marks[i] if i < len(marks) else f"{i}.5" for i in range(40)]
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{cell},{i % 7}\n" for i, cell in enumerate(cells)))
    following = shlex.split(json.loads(run("info", "t.csv", "--json")[1])["next"])
    assert "--na" not in following
    code, out, err = run(*following[1:], "-k", "1", "--json")
    assert code == 0, err
    assert json.loads(out)["read"]["missing"] == len(marks)


def test_the_next_command_of_info_passes_over_empty_columns(run, tmp_path):
    words = {f"t{j}": [f"w{i % 5}" for i in range(60)] for j in range(5)}
    table = pl.DataFrame({"a": ROWS[:, 0], "b": ROWS[:, 1], "none": [None] * 60, **words})
    table.write_parquet(tmp_path / "t.parquet")
    following = shlex.split(json.loads(run("info", "t.parquet", "--json")[1])["next"])
    code, _, err = run(*following[1:])
    assert code == 0, err


@pytest.mark.parametrize("name", ['q"uote', "it's", "a b", "$HOME", "a;b", "a,b", "1:2", "\u00e9", "-x"])
def test_advice_can_be_pasted_whatever_a_column_is_called(run, tmp_path, name):
    cells = [str(i) if i % 4 else "lost" for i in range(12)]
    table = pl.DataFrame({name: cells, "k": [i * i for i in range(12)], "m": [i * i % 7 for i in range(12)]})
    table.write_csv(tmp_path / "t.csv")
    code, _, err = run("fit", "pca", "t.csv")
    assert code == 3
    typed = shlex.split(err.splitlines()[1].partition("leave it out with ")[2])
    assert typed == ["--drop", name]
    assert run("fit", "pca", "t.csv", *typed)[0] == 0
    assert run(*shlex.split(json.loads(run("info", "t.csv", "--json")[1])["next"])[1:])[0] == 0


# ---- several models, names in warnings, errors as JSON --------------------------------------------------------


def test_a_report_of_several_models_reads_the_text_that_one_of_them_met(run, tmp_path):
    """In the new table the cells of a column of categories all look like numbers."""
    lines = [f"{'xy'[i % 2]},{a},{b},{(1, 2, '3+')[i % 3]}" for i, (a, b) in enumerate(ROWS)]
    (tmp_path / "old.csv").write_text("c,a,b,code\n" + "\n".join(lines) + "\n")
    (tmp_path / "new.csv").write_text("c,a,b,code\n" + "\n".join(lines).replace("3+", "1") + "\n")
    assert run("fit", "nb", "old.csv", "--label", "c", "--text", "code", "-o", "nb.safetensors")[0] == 0
    assert run("fit", "pca", "old.csv", "--columns", "a,b", "-o", "pca.safetensors")[0] == 0
    code, _, err = run("report", "pca.safetensors", "nb.safetensors", "new.csv", "--label", "c", "-o", "r.html")
    assert code == 0, err


def test_compare_names_columns(run, tmp_path):
    (tmp_path / "t.csv").write_text("price,level\n" + "".join(f"{a},5\n" for a, _ in ROWS))
    words = ["--models", "ppca:k=1,gmm:k=1,fa:k=1", "--cv", "2", "--active", "level"]
    code, out, _ = run("compare", "t.csv", *words)
    assert code == 0
    assert "'level'" in next(line for line in out.splitlines() if line.startswith("warning"))
    assert "Error:" not in out


@pytest.mark.parametrize("words", [["info", "no.csv"], ["fit", "pca", "no.csv", "-k", "1"], ["fit", "nope", "t.csv"]])
def test_errors_as_json(run, tmp_path, words):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    code, out, err = run(*words, "--json")
    told = json.loads(out)
    assert told["exit_code"] == code
    assert told["exit_code"] in (2, 3)
    assert err == f"error: {told['error']}\n  fix: {told['fix']}\n"


def test_no_words_are_answered_with_the_help(run):
    code, out, err = run()
    assert code == 2
    assert "eigenlens demo" in out + err
    assert "error:" not in out + err


# ---- nothing is loaded before it is needed --------------------------------------------------------------------

HEAVY = ("sklearn", "scipy.stats", "pandas", "matplotlib", "torch")


def loaded_by(*words):
    """Which libraries a command line has loaded at its end."""
    code = "import sys; from eigenlens.cli import main; main(sys.argv[1:]); print('\\nLOADED', *sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("LOADED")[2].split())


@pytest.mark.parametrize("words", [["--help"], ["fit", "--help"], ["info", "--help"]], ids=" ".join)
def test_help_loads_no_mathematics(words):
    assert not loaded_by(*words) & {*HEAVY, "numpy", "polars", "pydantic"}


@pytest.mark.parametrize("line", ["info t.csv -q", "info t.parquet -q", "fit pca no.csv",
                                  "transform no.safetensors t.csv", "compare no.csv"])  # fmt: skip
def test_looking_at_files_loads_no_models(tmp_path, monkeypatch, line):
    monkeypatch.chdir(tmp_path)
    table = pl.DataFrame(ROWS, schema=["a", "b"])
    table.write_csv("t.csv")
    table.write_parquet("t.parquet")
    assert not loaded_by(*line.split()) & set(HEAVY)


def test_naive_bayes_reads_labels_as_other_models_do(run, tmp_path):
    """In memory and by blocks: spaces around numbers and marks are forgiven in labels and categories."""
    lines = [f" {i % 2} , {a:.2f},{('red', 'blue', ' NA ')[i % 3]}" for i, (a, _) in enumerate(ROWS)]
    (tmp_path / "t.csv").write_text("y,a,colour\n" + "\n".join(lines) + "\n")
    told = []
    for limit in ("1GB", "1KB"):
        words = (
            "fit",
            "nb",
            "t.csv",
            "--label",
            "y",
            "--na",
            "NA",
            "--max-memory",
            limit,
            "-o",
            f"{limit}.safetensors",
        )
        assert run(*words)[0] == 0
        code, out, err = run("predict", f"{limit}.safetensors", "t.csv", "--na", "NA", "--proba", "--label", "y")
        assert code == 0, err
        told.append(pl.read_csv(out.encode()))
    assert told[0].columns == told[1].columns == ["y", "predicted", "p(0)", "p(1)"]
    np.testing.assert_allclose(told[0].to_numpy(), told[1].to_numpy(), rtol=1e-9)


# ---- numbers that mean missing --------------------------------------------------------------------------------

MARKERS = {
    "spaces": (" -999", ".", "-999"),
    "decimals": ("-999.00", ".", "-999"),
    "commas": ("-999,0", ",", "-999,0"),
    "whole in commas": ("-999", ",", "-999"),
    "thousands": ("-9.999,00", ",", "-9.999,00"),
    "words with points": ("n.a.", ",", "n.a."),
    "spaces around words": (" n.a. ", ".", "n.a."),
}


@pytest.mark.long
@pytest.mark.parametrize("case", MARKERS)
def test_missing_value_markers_in_any_spelling(run, tmp_path, case):
    """The same entries are missing in info, rows, weights, and whole tables; none becomes a number by mistake."""
    mark, decimal, na = MARKERS[case]
    rows = [[mark if i % 7 == j else f"{x:.2f}".replace(".", decimal) for j, x in enumerate(row)]
            for i, row in enumerate(ROWS)]  # fmt: skip
    (tmp_path / "t.csv").write_text("a;b;c\n" + "".join(f"{a};{b};{'xy'[i % 2]}\n" for i, (a, b) in enumerate(rows)))
    count = sum(mark in row for row in rows)
    assert json.loads(run("info", "t.csv", "--na", na, "--json")[1])["missing"] == count
    for words in (["ppca", "-k", "1", "--drop", "c"], ["nb", "--label", "c"]):
        code, out, err = run("fit", words[0], "t.csv", *words[1:], "--na", na, "--json")
        assert code == 0, err
        assert json.loads(out)["read"]["missing"] == count
    code, out, err = run("fit", "ppca", "t.csv", "-k", "1", "--drop", "c", "--na", na, "--max-memory", "1KB", "--json")
    assert code == 0, err
    whole = json.loads(run("fit", "ppca", "t.csv", "-k", "1", "--drop", "c", "--na", na, "--json")[1])
    np.testing.assert_allclose(json.loads(out)["loglik"], whole["loglik"])
    code, _, err = run("fit", "pca", "t.csv", "--columns", "b", "--weight", "a", "--na", na)
    assert code == 3
    assert f"is missing, infinite or negative in {sum(row[0] == mark for row in rows)} row" in err

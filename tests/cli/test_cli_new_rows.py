"""Models applied to new files: names of rows are kept, markers are remembered, rows without an entry are warned of."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import eigenlens
from eigenlens.cli import main
from eigenlens.cli.options import ReadingOptions
from eigenlens.cli.remembered_table import recall_text

N = 24
X = np.random.default_rng(3).standard_normal((N, 3)) @ [[2.0, 1.0, 0.5], [0.0, 1.0, 0.3], [0.0, 0.0, 0.4]]
TABLE = pl.DataFrame(
    {"who": [f"p{i}" for i in range(N)], "a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "kind": ["u", "v"] * (N // 2)}
)


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TABLE.write_csv("t.csv")
    TABLE.write_parquet("t.parquet")

    def call(*words):
        assert main([str(word) for word in words]) == 0, capsys.readouterr().err
        done = capsys.readouterr()
        return done.out + done.err

    return call


@pytest.mark.parametrize("source", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("target", ["z.csv", "z.parquet"])
def test_names_and_colours_of_rows_stand_beside_results(run, source, target):
    run("fit", "ppca", source, "-k", 1, "-o", "m.safetensors")
    run("transform", "m.safetensors", source, "-o", target)
    found = eigenlens.scan(target, id="who", label="kind")
    assert found.names == ("PC1",)
    assert found.read_ids().tolist() == TABLE["who"].to_list()
    assert found.read_label().tolist() == TABLE["kind"].to_list()
    run("score", "m.safetensors", source, "-o", target, "--force")
    assert eigenlens.scan(target, id="who", drop=["kind"]).names == ("log_density",)


def test_names_of_rows_that_the_fit_did_not_have(run):
    TABLE.drop("who", "kind").write_csv("bare.csv")
    run("fit", "ppca", "bare.csv", "-k", 1, "-o", "m.safetensors")
    out = run("transform", "m.safetensors", "t.csv", "-o", "z.csv")
    assert "column 'who' names the rows" in out
    assert pl.read_csv("z.csv").columns == ["who", "PC1"]
    run("transform", "m.safetensors", "t.csv", "--drop", "who", "-o", "y.csv")
    assert pl.read_csv("y.csv").columns == ["PC1"]


def test_an_array_of_numbers_has_no_names_unless_asked(run):
    run("fit", "ppca", "t.csv", "-k", 1, "-o", "m.safetensors")
    run("transform", "m.safetensors", "t.csv", "-o", "z.npy")
    assert np.load("z.npy").shape == (N, 1)
    assert main(["transform", "m.safetensors", "t.csv", "--id", "who", "-o", "y.npy"]) == 2


def test_classes_of_a_new_file_stand_beside_the_predicted_ones(run):
    run("fit", "lda", "t.csv", "--label", "kind", "-o", "m.safetensors")
    TABLE.head(5).write_csv("new.csv")
    assert "accuracy" in run("predict", "m.safetensors", "new.csv", "-o", "p.csv")
    assert pl.read_csv("p.csv").columns == ["who", "kind", "predicted"]
    TABLE.head(5).drop("kind").write_csv("new.csv")
    assert "accuracy" not in run("predict", "m.safetensors", "new.csv", "-o", "p.csv", "--force")
    assert pl.read_csv("p.csv").columns == ["who", "predicted"]


def test_a_result_does_not_replace_a_column_of_its_name(run):
    TABLE.rename({"who": "PC1"}).write_csv("t.csv")
    run("fit", "ppca", "t.csv", "-k", 1, "-o", "m.safetensors")
    run("transform", "m.safetensors", "t.csv", "-o", "z.csv")
    assert pl.read_csv("z.csv").columns == ["PC1", "kind", "PC1_"]


@pytest.mark.parametrize("memory", [(), ("--max-memory", "1kB")])
def test_rows_without_an_entry_are_warned_of(run, memory):
    run("fit", "ppca", "t.csv", "-k", 1, "-o", "m.safetensors")
    run("fit", "nb", "t.csv", "--label", "kind", "-o", "nb.safetensors")
    empty = TABLE.with_columns(pl.when(~pl.int_range(N).is_in([2, 7])).then(pl.col("a", "b", "c")))
    empty.write_csv("e.csv")
    said = {
        ("transform", "m"): "the scores are those of the mean",
        ("impute", "m"): "the means, and the most frequent categories, are filled in",
        ("predict", "nb"): "the class or component of greatest prior probability is predicted",
    }
    for (command, model), what in said.items():
        out = run(command, f"{model}.safetensors", "e.csv", "-o", "z.csv", "--force", *memory)
        assert f"2 rows have no observed entry (rows 3, 8): {what}." in " ".join(out.split())
    out = " ".join(run("score", "m.safetensors", "e.csv", "--where", "who != p7", *memory).split())
    assert "1 row has no observed entry (row 3): the log density is 0, which counts in the mean." in out
    assert "no observed entry" not in run("transform", "m.safetensors", "t.csv", *memory)


def test_markers_are_remembered_and_added_to(run):
    cells = TABLE.with_columns(pl.col("a", "b").cast(pl.String))
    cells[3, "a"], cells[5, "b"] = "lost", "NA"
    cells.write_csv("t.csv")
    run("fit", "ppca", "t.csv", "-k", 1, "--na", "lost", "-o", "m.safetensors")
    cells[8, "a"] = "gone"
    cells.write_csv("new.csv")
    told = json.loads(run("transform", "m.safetensors", "new.csv", "--na", "gone", "--json"))
    assert told["read"]["missing"] == 3
    assert main(["transform", "m.safetensors", "new.csv"]) == 3
    assert main(["transform", "m.safetensors", "t.csv", "--na", "", "--na", "lost"]) == 3


def test_a_model_file_in_which_markers_were_all_there_were_keeps_its_meaning():
    old = SimpleNamespace(table_={"text": {"na": ["lost"]}, "columns": {}})
    assert recall_text(ReadingOptions(), old, ["t.csv"]).na == ["", "lost"]
    assert recall_text(ReadingOptions(na=["", "x"]), old, ["t.csv"]).na == ["", "x"]
    assert recall_text(ReadingOptions(), old, ["t.parquet"]).na == ["", "lost"]
    assert recall_text(ReadingOptions(), old, ["t.npy"]).na is None


UNITS = TABLE.select("who", "b", "c", a=pl.format("{} cm", pl.col("a").round(3)))


@pytest.mark.parametrize("command", ["transform", "score", "impute"])
def test_another_unit_than_that_of_the_fit_is_warned_of(run, command):
    UNITS.write_csv("cm.csv")
    UNITS.with_columns(a=pl.format("{} m", TABLE["a"].round(3))).write_csv("m.csv")
    run("fit", "ppca", "cm.csv", "-k", 1, "-o", "m.safetensors")
    warning = "column 'a' is in m, but the model was fitted to numbers in cm; convert it, unless"
    assert warning in run(command, "m.safetensors", "m.csv")
    assert warning in run("report", "m.safetensors", "m.csv", "-o", "r.html", "--force")
    for same in ("cm.csv", "t.csv"):
        assert "but the model was fitted to numbers" not in run(command, "m.safetensors", same)


def test_a_unit_below_the_names_is_remembered_too(run):
    lines = TABLE.select("a", "b", "c").write_csv().splitlines(keepends=True)
    for unit in ("cm", "m"):
        Path(f"{unit}.csv").write_text("".join([lines[0], f"{unit},kg,s\n", *lines[1:]]))
    run("fit", "ppca", "cm.csv", "-k", 1, "-o", "m.safetensors")
    assert "column 'a' is in m, but" in run("score", "m.safetensors", "m.csv")
    assert "column 'a' is in m, but" not in run("score", "m.safetensors", "cm.csv")


@pytest.mark.parametrize(("model", "given"), [("ppca", ["-k", 1]), ("lda", ["--label", "kind"])])
def test_one_row_has_no_standard_error(run, model, given):
    TABLE.head(1).write_csv("one.csv")
    run("fit", model, "t.csv", *given, "-o", "m.safetensors")
    assert "±" in run("score", "m.safetensors", "t.csv")
    assert "±" not in run("score", "m.safetensors", "one.csv")
    assert json.loads(run("score", "m.safetensors", "one.csv", "--json"))["standard_error"] is None

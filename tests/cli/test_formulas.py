"""Text that spreadsheet programs would run as formulas, in tables that commands write."""

from __future__ import annotations

import polars as pl
import pytest

from eigenlens.cli import main

ROWS = {"name": ["=1+1", "@x", "-y", "ok", "+2", None], "a": [1.0, 2, 4, 5, 3, 2], "b": [2.0, 3, 1, 5, 3, 2]}


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(ROWS).write_csv("t.csv")
    assert main(["fit", "pca", "t.csv", "-k", "1", "--id", "name", "-q", "-o", "m.safetensors"]) == 0
    return "m.safetensors"


def names(path):
    return pl.read_csv(path, infer_schema=False)["name"].to_list()


def test_formulas_are_warned_of_and_written_unchanged(model, capsys):
    assert main(["transform", model, "t.csv", "--id", "name", "-o", "scores.csv"]) == 0
    assert "'name' starts with =, +, - or @" in capsys.readouterr().out
    assert names("scores.csv") == ROWS["name"]


def test_formulas_are_marked_as_text_on_request_and_numbers_are_not(model, capsys):
    assert main(["transform", model, "t.csv", "--id", "name", "--escape-formulas", "-o", "scores.csv"]) == 0
    assert "starts with" not in capsys.readouterr().out
    assert names("scores.csv") == ["'=1+1", "'@x", "'-y", "ok", "+2", None]


def test_formulas_in_parquet_are_nobody_s_business(model, capsys):
    assert main(["transform", model, "t.csv", "--id", "name", "-o", "scores.parquet"]) == 0
    assert "starts with" not in capsys.readouterr().out


def test_names_of_columns_are_looked_at_too(model, capsys):
    pl.DataFrame(ROWS).rename({"name": "=HYPERLINK(1)"}).write_csv("u.csv")
    assert main(["transform", model, "u.csv", "--id", "=HYPERLINK(1)", "--escape-formulas", "-o", "scores.csv"]) == 0
    assert pl.read_csv("scores.csv").columns[0] == "'=HYPERLINK(1)"


def test_formulas_in_several_columns_are_marked(model):
    pl.DataFrame(ROWS).with_columns(pl.col("name").reverse().alias("group")).write_csv("v.csv")
    asked = ["--id", "name", "--label", "group", "--escape-formulas", "-o", "scores.csv"]
    assert main(["transform", model, "v.csv", *asked]) == 0
    assert names("scores.csv") == ["'=1+1", "'@x", "'-y", "ok", "+2", None]
    groups = pl.read_csv("scores.csv", infer_schema=False)["group"].to_list()
    assert groups == [None, "+2", "ok", "'-y", "'@x", "'=1+1"]

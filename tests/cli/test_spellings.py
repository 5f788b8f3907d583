"""Categories that differ in case or spaces alone are warned of, and read as one where that is asked for."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import eigenlens
from eigenlens.cli import main
from eigenlens.cli.advice.spellings import find_spellings

RNG = np.random.default_rng(16)
SEXES = ["Male", "female", "male", "Female", "MALE", "fe  male"]
ROWS = pl.DataFrame(
    {
        "sex": SEXES * 8,
        "site": ["a", "b", "A"] * 16,
        "x": RNG.normal(size=48).round(3),
        "y": RNG.normal(size=48).round(3),
    }
)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A command line in an empty folder that must succeed: what --json prints."""
    monkeypatch.chdir(tmp_path)
    ROWS.write_csv("people.csv")

    def command(*words):
        capsys.readouterr()
        assert main([*map(str, words), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return command


def about_spelling(found: dict) -> list[str]:
    return [each for each in found.get("warnings", []) if "differ in case" in each]


@pytest.mark.parametrize("model", ["pca", "mix", "gmm", "nb"])
def test_columns_of_features_and_colours(run, model):
    given = ["--label", "site"] if model == "nb" else []
    found = about_spelling(run("fit", model, "people.csv", *given))
    assert len(found) == 2
    assert any("'Male', 'male', 'MALE'" in each and "'female', 'Female'" in each for each in found)
    alike = run("fit", model, "people.csv", *given, "--ignore-case", "sex,site")
    assert about_spelling(alike) == []


def test_classes_are_merged_and_new_rows_are_read_alike(run):
    run("fit", "lda", "people.csv", "--label", "sex", "--ignore-case", "sex", "-o", "m.safetensors")
    model = eigenlens.load("m.safetensors")
    assert model.classes_.tolist() == ["fe male", "female", "male"]
    assert "accuracy" in str(run("predict", "m.safetensors", "people.csv", "-o", "p.csv"))
    ROWS.drop("sex").write_csv("new.csv")
    run("predict", "m.safetensors", "new.csv", "-o", "q.csv")
    assert pl.read_csv("q.csv")["predicted"].to_list() == pl.read_csv("p.csv")["predicted"].to_list()


def test_scan_reads_one_category(tmp_path):
    ROWS.write_csv(tmp_path / "t.csv")
    source = eigenlens.scan(tmp_path / "t.csv", label="sex", drop=["site"], ignore_case=["sex"])
    assert sorted(set(source.read_label().tolist())) == ["fe male", "female", "male"]


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical])
def test_files_with_types_are_read_alike(run, dtype):
    """A model of a CSV file predicts the rows of a Parquet file, and a fit to that one takes the option too."""
    ROWS.with_columns(pl.col("sex").cast(dtype)).write_parquet("people.parquet")
    for file in ("people.csv", "people.parquet"):
        run("fit", "lda", file, "--label", "sex", "--drop", "site", "--ignore-case", "sex", "-o", f"{file}.safetensors")
        run("predict", f"{file}.safetensors", "people.parquet", "-o", f"{file}.tsv")
        assert eigenlens.load(f"{file}.safetensors").classes_.tolist() == ["fe male", "female", "male"]
    p, q = (pl.read_csv(f"{file}.tsv", separator="\t") for file in ("people.csv", "people.parquet"))
    assert p.equals(q)
    assert set(p["sex"]) == {"fe male", "female", "male"}
    (found,) = about_spelling(run("fit", "pca", "people.parquet", "--drop", "site"))
    assert found.endswith("give --ignore-case sex.")


@pytest.mark.parametrize("values", [["a", "b"], list("abcdefABCDEF"), ["New York", "York"], ["no", "noo"]])
def test_ordinary_categories_are_left_alone(values):
    assert find_spellings(values) == []

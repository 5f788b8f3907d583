"""Every command with what it cannot use: files that are missing, empty, folders or of the wrong kind, near options."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from eigenlens.cli import COMMANDS, main

START = {
    "info": ["info"],
    "fit": ["fit", "pca"],
    "transform": ["transform", "m.safetensors"],
    "denoise": ["denoise", "m.safetensors"],
    "impute": ["impute", "m.safetensors"],
    "score": ["score", "m.safetensors"],
    "predict": ["predict", "g.safetensors"],
    "compare": ["compare", "-m", "kde"],
    "select": ["select", "-m", "pca"],
    "report": ["report", "m.safetensors"],
}
"""Commands that read tables, up to the table."""

MODELS_ONLY = {"sample": ["sample"], "export": ["export"]}
"""Commands that read a model alone."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table, models, an empty file and a folder."""
    made = tmp_path_factory.mktemp("hostile")
    X = np.random.default_rng(3).standard_normal((30, 3))
    table = pl.DataFrame(X, schema=list("abc")).with_columns(pl.Series("kind", np.resize(["u", "v"], 30)))
    table.write_csv(made / "t.csv")
    (made / "empty.csv").touch()
    (made / "inner").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        assert main(["fit", "ppca", "t.csv", "-k", "1", "-q", "-o", "m.safetensors"]) == 0
        assert main(["fit", "gmm", "t.csv", "-k", "1", "-q", "-o", "g.safetensors"]) == 0
    return made


@pytest.fixture
def fails(folder, monkeypatch, capsys):
    """A command line that must fail in one sentence, the same one in JSON: (exit code, what is wrong)."""
    monkeypatch.chdir(folder)

    def command(*words):
        before = sorted(folder.rglob("*"))
        capsys.readouterr()
        code = main([*words, "--json"])
        out, err = capsys.readouterr()
        told = json.loads(out)
        lines = err.splitlines()
        assert lines[0] == f"error: {told['error']}"
        assert code == told["exit_code"]
        assert "fault in eigenlens" not in lines[0]
        assert told["fix"]
        assert sorted(folder.rglob("*")) == before
        return code, told["error"]

    return command


def test_all_commands_are_here():
    assert {*START, *MODELS_ONLY, "demo", "completion"} == set(COMMANDS)


@pytest.mark.parametrize("name", [*START, *MODELS_ONLY])
def test_files_that_cannot_be_read(fails, name):
    start = (START | MODELS_ONLY)[name]
    assert fails(*start, "none.csv") == (3, "'none.csv' does not exist")
    code, what = fails(*start, "inner")
    assert (code, what) == (3, "'inner' is a folder")
    assert fails(*start, "empty.csv") == (3, "'empty.csv' is empty (0 bytes)")


@pytest.mark.parametrize("name", [name for name in START if name != "info"])
def test_a_model_instead_of_a_table(fails, name):
    code, what = fails(*START[name], "m.safetensors")
    assert code in (2, 3)
    assert "m.safetensors" in what or "data file" in what


@pytest.mark.parametrize(
    "name", [*MODELS_ONLY, *(n for n, words in START.items() if words[-1].endswith("safetensors"))]
)
def test_a_table_instead_of_a_model(fails, name):
    words = (START | MODELS_ONLY)[name]
    code, what = fails(words[0], "t.csv", *(["t.csv"] if name in START else []))
    assert code in (2, 3)
    assert "t.csv" in what or "model file" in what


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_near_a_known_one(fails, name):
    words = (START | {name: [*each, "m.safetensors"] for name, each in MODELS_ONLY.items()}).get(name, [name])
    code, what = fails(*words, *(["t.csv"] if name in START else []), "--quite")
    assert code == 2
    assert "--quite" in what
    assert "--quiet" in what

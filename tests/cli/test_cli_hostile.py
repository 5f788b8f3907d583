"""Every command with what it cannot use: files that are missing, empty, folders or of the wrong kind, near options."""

from __future__ import annotations

import gzip
import json
import sys
from unittest import mock

import numpy as np
import polars as pl
import pytest
from campaigns.processes import run_measured

from eigenlens.cli import COMMANDS, input_table, main
from eigenlens.data.files.file_parts import stack_frames

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
    assert {*START, *MODELS_ONLY, "demo", "completion", "explore"} == set(COMMANDS)


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


# ---- what a terminal would obey -------------------------------------------------------------------------------

OBEYED = "\x1b]0;title\x07\x9b2J\u202e"
SHOWN = "\\x1b]0;title\\x07\\x9b2J\\u202e"


@pytest.fixture
def hostile_names(tmp_path, monkeypatch):
    """A folder with a table whose names, classes and rows would write to the terminal, and models of it."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(5).standard_normal((12, 2))
    lines = [f"row{i}{OBEYED},{x:.3f},{y:.3f},k{i % 2}{OBEYED}" for i, (x, y) in enumerate(X)]
    (tmp_path / "t.csv").write_text("\n".join([f"name,a{OBEYED},b{OBEYED},class{OBEYED}", *lines]), encoding="utf-8")
    (tmp_path / "text.csv").write_text(f"a,b\n1,2\n3,{OBEYED}\n4,5\n", encoding="utf-8")
    for model in ("lda", "ppca"):
        assert (
            main(["fit", model, "t.csv", "-k", "1", "-q", "--label", f"class{OBEYED}", "-o", f"{model}.safetensors"])
            == 0
        )


@pytest.mark.parametrize(
    "command",
    [
        ["info", "t.csv"], ["fit", "pca", "t.csv"], ["fit", "nb", "t.csv", "--label", f"class{OBEYED}"],
        ["info", "lda.safetensors"], ["info", "ppca.safetensors"], ["fit", "pca", "text.csv"], ["info", "text.csv"],
        ["fit", "pca", f"no{OBEYED}.csv"], ["fit", "pca", "t.csv", "--drop", f"c{OBEYED}"], ["fit", OBEYED, "t.csv"],
        ["export", "lda.safetensors"], ["info", "t.csv", "--json"], ["fit", "pca", f"no{OBEYED}.csv", "--json"],
        ["sample", "ppca.safetensors", "-n", "2", "--json"],
    ],
    ids=lambda words: " ".join(words).replace(OBEYED, "…"),
)  # fmt: skip
@pytest.mark.usefixtures("hostile_names")
def test_control_characters_of_a_file_are_shown_and_not_obeyed(command, capsys):
    main(command)
    out, err = capsys.readouterr()
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(out + err)


@pytest.mark.usefixtures("hostile_names")
def test_a_table_on_a_terminal_is_shown_and_one_in_a_pipe_is_exact(capsys, monkeypatch):
    assert main(["predict", "lda.safetensors", "t.csv", "-q"]) == 0
    assert f"k0{OBEYED}" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["predict", "lda.safetensors", "t.csv", "-q"]) == 0
    out = capsys.readouterr().out
    assert f"k0{SHOWN}" in out
    assert "\x1b" not in out


def test_what_may_be_a_bomb_is_not_read_to_try_the_advice(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("eigenlens.data.files.decompress.FREE_BYTES", 1 << 20)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1_000_000))
    assert main(["fit", "pca", "t.csv.gz"]) == 3
    err = capsys.readouterr().err
    assert "--max-ratio 1000" in err
    assert "try:" not in err  # a command that is printed there has worked


@pytest.mark.long
def test_millions_of_constant_rows_in_few_bytes_need_little_memory_to_advise_on(tmp_path):
    n = 20_000_000
    pl.select(a=pl.repeat(0.0, n), b=pl.repeat(1.0, n)).write_parquet(tmp_path / "zeros.parquet", row_group_size=n)
    command = ["fit", "pca", "zeros.parquet", "--max-ratio", "10000", "--json"]
    used = run_measured([sys.executable, "-m", "eigenlens", *command], tmp_path)
    assert "none has two different entries" in json.loads(used.printed)["error"]
    assert used.memory < 10**9


# ---- wide tables ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A table of five rows and 20,001 columns of numbers, and one of classes."""
    path = tmp_path_factory.mktemp("wide") / "wide.csv"
    cells = np.char.mod("%.2f", np.random.default_rng(5).normal(size=(6, 20_001)))
    lines = [",".join([name, *row]) for name, row in zip("ababab", cells, strict=True)]
    path.write_text("\n".join([",".join(["kind", *(f"c{j}" for j in range(20_001))]), *lines]) + "\n")
    return path


@pytest.mark.parametrize(
    ("words", "model"),
    [
        (["fit", "gmm"], "gmm"),
        (["fit", "mix"], "mix"),
        (["fit", "kde"], "kde"),
        (["fit", "bayes", "--density", "gmm", "--label", "kind"], "gmm"),
        (["compare", "-m", "ppca,kde"], "kde"),
    ],
    ids=str,
)
def test_models_of_few_columns_reject_wide_tables_before_they_are_read(words, model, wide, capsys):
    with mock.patch.object(input_table._Request, "_load", side_effect=AssertionError("the rows were read")):
        assert main([*words, str(wide), "-q"]) == 6
    error = capsys.readouterr().err
    assert f"{model} is for at most" in error
    assert "the table has 20,00" in error
    assert "--columns" in error


def test_naive_bayes_takes_wide_tables(wide, capsys):
    assert main(["fit", "nb", str(wide), "--label", "kind", "-q"]) == 0


def test_pieces_of_few_rows_are_stacked_in_order():
    frames = [pl.DataFrame({"a": [float(i)], "b": [str(i)]}) for i in range(23)]
    found = stack_frames(iter(frames))
    assert found.equals(pl.concat(frames))
    assert found.n_chunks() == 1

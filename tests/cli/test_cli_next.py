"""What the command line tells people to type really runs: the examples of its manuals, and the commands to try next."""

from __future__ import annotations

import json
import shlex

import numpy as np
import polars as pl
import pytest

from eigenlens.cli import COMMANDS, main
from eigenlens.cli.commands.demo import DEMO_MODELS

RNG = np.random.default_rng(3)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A command line, as words or in one text, that must succeed: its standard output."""
    monkeypatch.chdir(tmp_path)

    def command(*words):
        typed = shlex.split(words[0]) if len(words) == 1 else [str(word) for word in words]
        capsys.readouterr()
        code = main(typed[1:] if typed[0] == "eigenlens" else typed)
        said = capsys.readouterr()
        assert code == 0, f"{shlex.join(typed)}\n{said.err}"
        return said.out

    return command


def frame(n, *names, **more):
    scores = RNG.standard_normal((n, 2)) @ RNG.standard_normal((2, len(names)))
    X = scores + 0.5 * RNG.standard_normal((n, len(names)))
    return pl.DataFrame(dict(zip(names, X.T, strict=True)) | more)


def make_tables(run, tmp_path, line):
    """Make the tables that an example names, each by one command."""
    for word in shlex.split(line):
        name, _, suffix = word.rpartition(".")
        if suffix in ("csv", "parquet", "npy") and name in DEMO_MODELS and not (tmp_path / word).exists():
            run("demo", name, "--data", word)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Heywood case")
def test_every_example_of_the_manuals_runs(run, tmp_path):
    # Some use what the first two write. The explorer answers until it is stopped, and is tested with its server.
    order = ["demo", "fit", *(name for name in COMMANDS if name not in ("demo", "fit", "explore"))]
    for name in order:
        for example in COMMANDS[name].examples:
            line = example.partition(" | ")[0]
            assert example.startswith(name)
            if line.endswith(".onnx"):
                pytest.importorskip("onnx")
            if "demo" not in line:
                make_tables(run, tmp_path, line)
            out = run(line)
            written = line.partition(" -o ")[2].split()
            assert out
            assert not written or (tmp_path / written[0]).exists()


FITS = {
    "pca": ("--skip-missing",),
    "kpca": ("-k", "2", "--skip-missing"),
    "ppca": (),
    "fa": ("-k", "1"),
    "gmm": ("-k", "2"),
    "kde": ("--skip-missing", "--where", "a > -1"),
    "nb": (),
    "bayes": ("--density", "gmm", "--skip-missing"),
    "lda": ("--skip-missing",),
    "qda": ("--skip-missing",),
}


@pytest.mark.few(3)
@pytest.mark.filterwarnings("ignore:Heywood case")
@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("kept", [True, False])
def test_the_next_command_after_a_fit_runs(run, tmp_path, name, kept):
    """With semicolons, decimal commas, marks for what is missing and odd names, all of which it must repeat."""
    table = frame(
        60, "a", "b b", "c,d", "weiß", kind=np.resize(["x", "y", "z"], 60), who=[f"no {i}" for i in range(60)]
    )
    gaps = table.with_columns(pl.when(pl.int_range(60) % 9 > 0).then(pl.col("a")).alias("a"))
    gaps.write_csv(tmp_path / "my table.csv", separator=";", decimal_comma=True, null_value="?")
    for taken in ("scores.csv", "classes.csv", "model.safetensors", "report.html"):
        (tmp_path / taken).write_text("mine")
    output = ("-o", "my model.safetensors") if kept else ()
    told = json.loads(run("fit", name, "my table.csv", "--na", "?", "--label", "kind", "--id", "who", *FITS[name],
                          *output, "--json"))  # fmt: skip
    before = set(tmp_path.iterdir())
    run(told["next"])
    new = {path.name for path in set(tmp_path.iterdir()) - before}
    wanted = {"kde": set()} if kept else {}
    model = {"report-2.html", "model-2.safetensors"}
    applied = {"scores-2.csv"} if name in ("pca", "kpca", "ppca", "fa") else {"classes-2.csv"}
    assert new == wanted.get(name, applied if kept else model)
    assert (tmp_path / "scores.csv").read_text() == "mine"


@pytest.mark.parametrize("columns", [("-c", "0:2"), ("--drop", "1")])
def test_the_next_command_knows_which_columns_of_an_array(run, columns):
    np.save("x.npy", RNG.standard_normal((30, 4)))
    run(json.loads(run("fit", "pca", "x.npy", *columns, "-o", "m.safetensors", "--json"))["next"])


@pytest.mark.parametrize("marks", [True, False])
def test_the_next_command_after_info_runs(run, tmp_path, marks):
    table = frame(40, "a", "b", "c")
    table.with_columns(pl.when(pl.int_range(40) > 2).then(pl.col("b")).alias("b")).with_columns(
        pl.Series("who, where", ["x;y"] * 40)
    ).write_csv(tmp_path / "t.csv", separator=";", null_value="lost" if marks else "")
    told = json.loads(run("info", "t.csv", "--json"))
    assert ("--na lost" in told["next"]) == marks
    assert ("numbers but for 'lost' in 3 rows" in run("info", "t.csv")) == marks
    assert "40 rows, 3 columns, 3 missing entries" in run(told["next"])


def test_the_next_command_after_a_comparison_runs(run, tmp_path):
    frame(40, "a", "b", "c", kind=["x"] * 40).write_csv(tmp_path / "t.csv")
    told = json.loads(run("compare", "t.csv", "-c", "@float", "--where", "a > -3", "-m", "pca:k=1:standardize=true,kde",
                          "--cv", 3, "--json"))  # fmt: skip
    assert "wrote" in run(told["next"])


@pytest.mark.few(4)
@pytest.mark.parametrize("name", DEMO_MODELS)
def test_an_example_becomes_a_table_and_that_a_model(run, name):
    written = json.loads(run("demo", name, "--data", "t.csv", "--json"))
    assert written["written"] == ["t.csv"]
    assert "found" in run(written["next"])


@pytest.mark.parametrize("name", ["pca", "ppca", "fa"])
def test_rows_are_scored_after_a_fit_without_components(run, tmp_path, name):
    frame(40, "a", "b", "c").write_csv(tmp_path / "t.csv")
    following = json.loads(run("fit", name, "t.csv", "-k", 0, "-o", "none.safetensors", "--json"))["next"]
    assert "log density" in run(following)

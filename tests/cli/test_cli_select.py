"""`select` chooses numbers of components; `completion` prints scripts for shells; `impute` keeps what a file holds."""

from __future__ import annotations

import datetime
import json
import shutil
import subprocess

import numpy as np
import polars as pl
import pytest

from eigenlens import FactorAnalysis, load, select_components, select_mixture
from eigenlens.cli import COMMANDS, main
from eigenlens.cli.model_options import commands
from eigenlens.data import examples

RNG = np.random.default_rng(7)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A command line in an empty folder that must succeed: its standard output."""
    monkeypatch.chdir(tmp_path)

    def command(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert code == 0, err
        return out

    return command


def numbers(out, model):
    found = json.loads(out)["suggested"]
    rows = zip(found["model"], found["rule"], found["number"], strict=True)
    return {rule: number for name, rule, number in rows if name == model}


def test_the_numbers_are_those_of_the_library(run):
    run("demo", "questionnaire", "--data", "q.csv")
    X = examples.load("questionnaire").data
    out = run("select", "q.csv", "-m", "pca,fa", "--standardize", "--json")
    table = select_components(X, standardize=True, random_state=0)
    assert numbers(out, "pca") == {row.rule: row.n_components for row in table}
    expected = {rule: FactorAnalysis(rule, random_state=0).fit(X).n_components_ for rule in ("bic", "parallel", "map")}
    assert {rule: k for rule, k in numbers(out, "fa").items() if rule in expected} == expected
    assert numbers(out, "fa")["parallel"] == 3


def test_mixtures_of_numbers_and_of_text(run, tmp_path):
    run("demo", "old-faithful", "--data", "geyser.csv")
    out = run("select", "geyser.csv", "-m", "gmm", "--most", 3, "--json")
    found = select_mixture(examples.load("old-faithful").data, range(1, 4), random_state=0)
    assert numbers(out, "gmm")["bic"] == found.components[0]
    group = RNG.integers(2, size=200)
    likely = [np.where(RNG.random(200) < 0.9, group, 1 - group) for _ in range(5)]
    words = {f"q{j}": np.array(["yes", "never"])[each] for j, each in enumerate(likely)}
    pl.DataFrame(words).write_csv(tmp_path / "words.csv")
    assert numbers(run("select", "words.csv", "-m", "mix", "--most", 3, "--json"), "mix")["bic"] == 2


def test_the_table_the_file_and_the_next_command(run, tmp_path):
    run("demo", "iris", "--data", "iris.csv")
    out = run("select", "iris.csv", "-m", "pca", "-o", "numbers.csv")
    assert "pca    parallel              1  92.5% of the variance" in out
    assert pl.read_csv("numbers.csv").columns == ["model", "rule", "number", "note"]
    assert out.endswith("next      eigenlens fit pca iris.csv -k 1 -o pca.safetensors\n")
    quiet = run("select", "iris.csv", "-m", "pca", "-q")
    assert quiet.startswith("model  rule")
    assert "next" not in quiet


def test_what_does_not_apply_is_a_line_or_an_error(run, tmp_path, capsys):
    run("demo", "air-quality", "--data", "air.csv")
    found = json.loads(run("select", "air.csv", "-m", "pca,gmm", "--most", 2, "--json"))["suggested"]
    assert found["number"][0] is None
    assert found["note"][0].startswith("does not apply: the table contains NaN")
    assert main(["select", "air.csv", "-m", "pca"]) == 3
    assert "try: eigenlens select air.csv -m pca --skip-missing" in capsys.readouterr().err
    pl.DataFrame({"a": RNG.standard_normal(50)}).write_csv("one.csv")
    assert set(json.loads(run("select", "one.csv", "--json"))["suggested"]["model"]) == {"gmm"}
    assert main(["select", "air.csv", "-m", "kde"]) == 2


# ---- completion -------------------------------------------------------------------------------------------------

ASK = """source script.bash
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _eigenlens; echo "${COMPREPLY[*]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_models_options_and_names(run, tmp_path):
    (tmp_path / "script.bash").write_text(run("completion", "bash"))

    def completed(*words):
        asked = subprocess.run(
            ["bash", "-c", ASK, "bash", "eigenlens", *words], capture_output=True, text=True, check=True
        )
        return asked.stdout.split()

    assert set(completed("")) >= set(COMMANDS)
    assert completed("fit", "") == commands()
    assert completed("fit", "pca", "t.csv", "--stand") == ["--standardize"]
    assert completed("fit", "gmm", "t.csv", "--covariance", "") == [
        "full",
        "tied",
        "diag",
        "spherical",
        "ppca",
        "factor",
    ]
    assert completed("demo", "wi") == ["wine"]
    assert completed("select", "t.csv", "-m", "f") == ["fa"]
    assert completed("info", "") == []  # the shell completes files
    assert {"--na", "--separator"} <= set(completed("info", "t.csv", "--"))


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_completes_commands_models_options_names_and_files(run, tmp_path):
    (tmp_path / "script.fish").write_text(run("completion", "fish"))
    (tmp_path / "t.csv").touch()

    def completed(line):
        ask = f"source script.fish; complete -C '{line}'"
        asked = subprocess.run(["fish", "--no-config", "-c", ask], capture_output=True, text=True, cwd=tmp_path)
        return {each.partition("\t")[0] for each in asked.stdout.splitlines()}

    assert completed("eigenlens ") >= set(COMMANDS)
    assert completed("eigenlens fit ") == set(commands())
    assert "t.csv" in completed("eigenlens fit pca ")
    assert "gmm" not in completed("eigenlens fit pca ")
    assert completed("eigenlens fit pca t.csv --stand") == {"--standardize"}
    assert "spherical" in completed("eigenlens fit gmm t.csv --covariance ")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_takes_the_script_without_any_other_setting(run, tmp_path):
    (tmp_path / "script.zsh").write_text(run("completion", "zsh"))
    ask = "source script.zsh; print $_comps[eigenlens]"
    asked = subprocess.run(["zsh", "-f", "-c", ask], capture_output=True, text=True, cwd=tmp_path)
    assert (asked.stdout.strip(), asked.stderr) == ("_bash_complete -o default -F _eigenlens", "")


def test_other_shells_know_the_same_words(run, capsys):
    fish = run("completion", "fish")
    assert all(f"-a {name} -d" in fish for name in COMMANDS)
    assert "-l covariance -x -a 'full tied diag spherical ppca factor'" in fish
    assert run("completion", "zsh").endswith(run("completion", "bash"))
    assert json.loads(run("completion", "fish", "--json"))["script"] == fish
    assert main(["completion", "tcsh"]) == 2


# ---- impute -----------------------------------------------------------------------------------------------------

CELLS = """who,day,a,b,kind,zip
x1,2024-01-02,1.50,2,u,00123
x2,2024-01-03,,3,v,00124
x3,2024-01-04,2.25,NA,u,00125
x4,2024-01-05,3.0,5,u,00126
x5,2024-01-06,3.5,7,v,00127
x6,2024-01-07,1e1,19,v,00128
"""


@pytest.fixture
def imputer(run, tmp_path):
    """A model of the columns a and b of CELLS, and what it imputes."""
    (tmp_path / "t.csv").write_text(CELLS)
    run("fit", "ppca", "t.csv", "-k", 1, "-o", "m.safetensors")
    X = np.array([[1.5, 2.0], [np.nan, 3.0], [2.25, np.nan], [3.0, 5.0], [3.5, 7.0], [10.0, 19.0]])
    filled, std = load("m.safetensors").impute(pl.DataFrame(X, schema=["a", "b"], nan_to_null=True), return_std=True)
    return np.asarray(filled), np.asarray(std)


def test_imputing_changes_nothing_but_missing_cells(run, imputer):
    a, b = (repr(float(value)) for value in (imputer[0][1, 0], imputer[0][2, 1]))
    expected = CELLS.replace("x2,2024-01-03,,3", f"x2,2024-01-03,{a},3").replace("2.25,NA", f"2.25,{b}")
    assert run("impute", "m.safetensors", "t.csv") == expected
    some = run("impute", "m.safetensors", "t.csv", "--where", "kind == v")
    assert some.splitlines() == [line for line in expected.splitlines() if ",u," not in line]


def test_imputed_tables_keep_their_types(run, imputer):
    typed = pl.read_csv("t.csv", try_parse_dates=True, null_values="NA", schema_overrides={"zip": pl.String})
    typed = typed.with_columns(count=pl.int_range(6, dtype=pl.Int32))
    typed.write_parquet("t.parquet")
    run("impute", "m.safetensors", "t.parquet", "--std", "-o", "f.parquet")
    found = pl.read_parquet("f.parquet")
    assert found.columns == [*typed.columns, "a_std", "b_std"]
    assert found["day"].to_list()[0] == datetime.date(2024, 1, 2)
    assert found.schema["count"] == pl.Int32
    np.testing.assert_allclose(found.select("a", "b").to_numpy(), imputer[0])
    np.testing.assert_allclose(found.select("a_std", "b_std").to_numpy(), imputer[1])
    others = ["who", "day", "kind", "zip", "count"]
    assert found.select(others).equals(typed.select(others))


def test_text_becomes_columns_of_numbers_with_codes_kept(run, imputer):
    run("impute", "m.safetensors", "t.csv", "-o", "f.parquet")
    found = pl.read_parquet("f.parquet")
    assert found["zip"].to_list()[0] == "00123"
    np.testing.assert_allclose(found.select("a", "b").to_numpy(), imputer[0])
    told = json.loads(run("impute", "m.safetensors", "t.csv", "--json"))["columns"]
    np.testing.assert_allclose(told["a"], imputer[0][:, 0])
    run("impute", "m.safetensors", "t.csv", "-o", "f.npy")
    np.testing.assert_allclose(np.load("f.npy"), imputer[0])


def test_a_file_is_not_both_read_and_written(run, imputer, capsys):
    for words in (
        ["impute", "m.safetensors", "t.csv", "-o", "./t.csv"],
        ["transform", "m.safetensors", "*.csv", "-o", "t.csv"],
        ["compare", "t.csv", "-o", "t.csv"],
        ["select", "t.csv", "-o", "t.csv"],
    ):
        assert main([*words, "--force"]) == 2
        assert "is both read and written" in capsys.readouterr().err


@pytest.mark.parametrize(("model", "written"), [("gmm", "t.csv --models gmm"), ("ppca", "t.csv")])
def test_a_model_in_place_of_a_file_leads_to_a_command_that_works(tmp_path, monkeypatch, capsys, model, written):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{i * 7 % 11},{i * 5 % 13}\n" for i in range(20)))
    assert main(["select", model, "t.csv"]) == 2
    assert f"fix: write: eigenlens select {written}\n" in capsys.readouterr().err
    assert main(["select", *written.split()]) == 0

"""Advice is tried before it is given: commands to try next, ways out of errors, numbers that mean missing, totals."""

from __future__ import annotations

import json
import shlex

import numpy as np
import polars as pl
import pytest

from eigenlens.cli import main
from eigenlens.cli.advice import trial
from eigenlens.cli.advice.sentinels import describe_sentinels, find_sentinels
from eigenlens.cli.advice.totals import find_unnamed_totals
from eigenlens.data.examples import EXAMPLES, load

RNG = np.random.default_rng(5)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A command line in an empty folder: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def command(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return command


def following(run, file, *more):
    """The words of the command that `info` suggests, which must run."""
    command = json.loads(run("info", file, *more, "--json")[1])["next"]
    if command is None:
        return None
    words = shlex.split(command)[1:]
    code, _, err = run(*words)
    assert code == 0, err
    return words


X = RNG.standard_normal((60, 3))
KINDS = np.resize(["u", "v", "w"], 60)
TABLES = {
    "numbers": (dict(zip("abc", X.T, strict=True)), ["pca"]),
    "units": ({"a": X[:, 0], "b": 1000.0 * X[:, 1]}, ["pca", "--standardize"]),
    "one": ({"a": X[:, 0]}, ["kde"]),
    "one beside names": ({"who": [f"p{i}" for i in range(60)], "a": X[:, 0]}, ["kde"]),
    "an id first": ({"id": range(101, 161), "a": X[:, 0], "b": X[:, 1]}, ["pca"]),
    "classes": ({"a": X[:, 0], "b": X[:, 1], "species": KINDS}, ["lda", "--label", "species"]),
    "groups": ({"a": X[:, 0], "b": X[:, 1], "shop": KINDS}, ["pca"]),
    "text with classes": ({"p": KINDS, "q": KINDS[::-1], "class": KINDS}, ["nb", "--label", "class"]),
    "text": ({"p": KINDS, "q": KINDS[::-1]}, ["mix"]),
    "a mark": ({"a": ["lost", *map(str, X[1:, 0])], "b": X[:, 1], "c": X[:, 2]}, ["pca", "--na", "lost"]),
    "maximal points": (
        {"id": ["Max points", *(f"{7100 + 13 * i:06d}" for i in range(1, 60))], "a": X[:, 0], "b": X[:, 1]},
        ["pca", "--where", "id != Max points"],
    ),
    "a maximum": (
        {"student": ["Maximum", *map(str, range(9000, 9590, 10))], "a": X[:, 0], "b": X[:, 1]},
        ["pca", "--where", "student != Maximum"],
    ),
    "names again": ({"a": [*map(str, X[1:, 0]), "a"], "b": X[:, 1], "c": X[:, 2]}, ["pca", "--drop", "a"]),
}


@pytest.mark.parametrize("name", TABLES)
def test_info_suggests_what_suits_the_table(run, name):
    columns, expected = TABLES[name]
    pl.DataFrame(columns).write_csv("t.csv")
    found = following(run, "t.csv")
    assert found == ["fit", expected[0], "t.csv", *expected[1:]]


def test_a_command_that_fails_is_not_suggested(run, monkeypatch):
    pl.DataFrame(X, schema=list("abc")).write_csv("t.csv")
    assert "next " in run("info", "t.csv")[1]
    monkeypatch.setattr(trial, "try_words", lambda words: trial.TrialResult(3, "it fails"))
    code, out, _ = run("info", "t.csv")
    assert code == 0
    assert "next " not in out


def test_a_trial_writes_nothing_and_says_nothing(run, tmp_path, capsys):
    pl.DataFrame(X, schema=list("abc")).write_csv(tmp_path / "t.csv")
    before = sorted(tmp_path.iterdir())
    words = ["fit", "pca", "t.csv", "-o", "m.safetensors", "--report", "m.html"]
    assert trial.try_words(words).works
    assert sorted(tmp_path.iterdir()) == before
    assert capsys.readouterr() == ("", "")
    assert trial.try_words(["fit", "pca", "t.csv", "-k", "9"])[:2] == (
        2,
        "-k 9 must be at most 3, the number of features",
    )


def test_a_trial_of_a_large_file_reads_its_first_rows_and_all_where_these_do_not_do(run, monkeypatch):
    monkeypatch.setattr(trial, "SMALL_FILE", 1000)
    many = RNG.standard_normal((3000, 2))
    pl.DataFrame({"a": many[:, 0], "b": many[:, 1], "class": np.repeat(["x", "y"], 1500)}).write_csv("t.csv")
    pl.read_csv("t.csv").write_parquet("t.parquet")
    np.save("t.npy", many)
    read = []
    monkeypatch.setattr(trial, "_run_quietly", lambda words: read.append(words[2]) or trial.TrialResult(3))
    for file in ("t.csv", "t.parquet", "t.npy"):
        read.clear()
        trial.try_words(["fit", "pca", file])
        assert [word == file for word in read] == [False, True]
    monkeypatch.undo()


def test_a_file_sorted_by_class_gets_its_classifier(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trial, "SMALL_FILE", 1000)
    many = RNG.standard_normal((3000, 2))
    pl.DataFrame({"a": many[:, 0], "b": many[:, 1], "class": np.repeat(["x", "y"], 1500)}).write_csv("t.csv")
    assert following(run, "t.csv") == ["fit", "lda", "t.csv", "--label", "class"]


FAULTS = {
    "classes are not missing values": (
        {"a": X[:, 0], "b": X[:, 1], "species": KINDS}, ["pca", "-c", "a,species"], ["--na"], ["--drop", "species"],
    ),
    "the only column is not dropped": (
        {"a": X[:, 0], "kind": KINDS}, ["pca", "-c", "kind"], ["--drop"], ["kde"],
    ),
    "one column": ({"a": X[:, 0], "b": X[:, 1]}, ["ppca", "-k", "2", "-c", "a"], [], ["kde", "-c", "a"]),
    "two mistakes": (
        {"a": ["lost", *map(str, X[1:, 0])], "b": X[:, 1]}, ["pca", "-k", "9"], [], ["--na", "lost", "-k", "2"],
    ),
    "a name that was meant": ({"a": X[:, 0], "b": X[:, 1]}, ["pcaa"], [], ["pca"]),
    "a total among years": (
        {"year": [*map(str, range(2000, 2059)), "Total"], "a": X[:, 0], "b": X[:, 1]}, ["pca"], ["--na"],
        ["--footer", "1"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_the_way_out_of_an_error_works(run, case):
    columns, words, absent, present = FAULTS[case]
    pl.DataFrame(columns).write_csv("t.csv")
    code, _, err = run("fit", words[0], "t.csv", *words[1:])
    assert code in (2, 3)
    assert not any(word in err for word in absent)
    command = shlex.split(err.splitlines()[2].removeprefix("  try: "))[1:]
    assert all(word in command for word in present)
    assert run(*command)[0] == 0


def test_patterns_are_files_too(run):
    pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}).write_csv("t1.csv")
    pl.DataFrame({"a": X[:, 1], "b": X[:, 2]}).write_csv("t2.csv")
    assert following(run, "t*.csv") == ["fit", "pca", "t*.csv"]
    assert run("fit", "pca", "t*.csv", "-k", 5)[2].endswith("  try: eigenlens fit pca 't*.csv' -k 2\n")


def test_the_way_out_is_in_the_json_too(run):
    pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}).write_csv("t.csv")
    code, out, _ = run("fit", "pca", "t.csv", "-k", 5, "--json")
    assert code == 2
    assert json.loads(out)["try"] == "eigenlens fit pca t.csv --json -k 2"


# ---- numbers that mean missing, and totals ----------------------------------------------------------------------


@pytest.mark.parametrize("value", [-999, -9999, 9999, 99999, -99, 999])
def test_numbers_that_mean_missing_are_warned_of_with_a_flag_that_works(run, value):
    cells = [f"{10 + x:.3f}" for x in X[:, 0]]
    cells[4] = cells[9] = str(value)
    pl.DataFrame({"a": cells, "b": ["NA", *map(str, X[1:, 1])], "c": X[:, 2]}).write_csv("t.csv")
    line = next(line for line in run("fit", "pca", "t.csv")[1].splitlines() if line.startswith("warning"))
    assert f"{value} stands in 2 cells of 'a'" in line
    flags = shlex.split(line.partition(": if it means missing, add ")[2].rstrip("."))
    assert flags == ["--na", str(value)]
    code, out, _ = run("fit", "pca", "t.csv", *flags, "--json")
    assert (code, json.loads(out)["read"]["missing"]) == (0, 3)
    assert "warnings" not in json.loads(out)
    assert f"{value} stands in 2 cells" in run("info", "t.csv")[1]


def test_numbers_that_mean_missing_in_other_formats(run):
    values = np.where(np.arange(60) == 7, -999.0, X[:, 0])
    pl.DataFrame({"a": values, "b": X[:, 1]}).write_parquet("t.parquet")
    out = run("fit", "pca", "t.parquet")[1]
    flags = shlex.split(out.partition("if it means missing, add ")[2].partition(".\n")[0])
    assert flags == ["--na", "-999"]
    assert json.loads(run("fit", "pca", "t.parquet", *flags, "--json")[1])["read"]["missing"] == 1


@pytest.mark.parametrize("word", ["Total", "Sum", "Mean", "Average:", "Gesamt", "SUMME", "grand total"])
def test_totals_by_name_are_warned_of_with_a_flag_that_works(run, word):
    names = [*(f"town {i}" for i in range(59)), word]
    for table, file in ((pl.DataFrame({"town": names, "a": X[:, 0], "b": X[:, 1]}), "t.csv"),):
        table.write_csv(file)
        table.write_parquet("t.parquet")
    for file in ("t.csv", "t.parquet"):
        out = run("fit", "pca", file)[1]
        assert f"the last row is called '{word}' in column 'town'" in out
        flags = shlex.split(out.partition("leave it out with -")[2].partition(".\n")[0])
        found = json.loads(run("fit", "pca", file, f"-{flags[0]}", flags[1], "--json")[1])
        assert found["read"]["rows"] == 59
        assert "warnings" not in found
    assert f"the last row is called '{word}'" in run("info", "t.csv")[1]


@pytest.mark.parametrize(("of", "what"), [(np.sum, "sums"), (np.mean, "means")])
@pytest.mark.parametrize("file", ["t.csv", "t.parquet"])
def test_totals_without_a_name(run, of, what, file):
    rows = np.round(X[:20] + 5.0, 2)
    table = pl.DataFrame(np.vstack([rows, np.round(of(rows, axis=0), 3)]), schema=list("abc"))
    table.write_csv(file) if file.endswith("csv") else table.write_parquet(file)
    out = run("fit", "pca", file)[1]
    assert f"the last row holds the {what} of the rows above" in out
    flags = shlex.split(out.partition("leave it out with ")[2].partition(".\n")[0])
    assert json.loads(run("fit", "pca", file, *flags, "--json")[1])["read"]["rows"] == 20


@pytest.mark.parametrize("name", EXAMPLES)
def test_ordinary_data_are_not_suspected(name):
    example = load(name)
    assert describe_sentinels(zip(example.columns, example.data.T, strict=True), ["t.csv"]) == []
    assert find_unnamed_totals(example.data) == []


def test_what_is_not_far_outside_is_not_suspected():
    incomes = np.exp(RNG.normal(9.0, 1.0, 500)).round()
    incomes[:2] = 9999.0
    assert find_sentinels("income", incomes) == []
    years = np.array([997.0, 998, 999, 1000, 1001, 1003, 1004, 1005, 1006])
    assert find_sentinels("weight", years) == []
    assert find_sentinels("few", np.array([1.0, 2.0, -999.0])) == []


@pytest.mark.parametrize("name", ["maximal points", "a maximum"])
def test_the_name_of_a_row_of_maxima_is_no_missing_value(run, name):
    """Nothing offers --na for it: the row stayed, as that of one more student."""
    pl.DataFrame(TABLES[name][0]).write_csv("t.csv")
    first, column = TABLES[name][0].keys(), TABLES[name][1][-1]
    assert "--na" not in "".join(run("info", "t.csv")[1:])
    code, out, err = run("fit", "pca", "t.csv")
    assert (code, "--na" in out + err) == (0, False)
    assert f"leave it out with --where '{column}'" in out
    code, out, _ = run("fit", "pca", "t.csv", "--where", column)
    assert code == 0
    assert "59 rows" in out
    assert "is called" not in out
    assert next(iter(first)) in out

"""Rows and columns that follow from others are warned of, with options that work; ordinary tables are left alone."""

from __future__ import annotations

import json
import shlex
import tracemalloc
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn import datasets as tables

from eigenlens.cli import main
from eigenlens.cli.advice.column_copies import closed_columns, copied_columns
from eigenlens.cli.advice.column_names import misleading_names
from eigenlens.cli.advice.column_totals import are_ranks, derived_columns, find_column_totals, find_outcomes
from eigenlens.cli.advice.copies import copied_rows
from eigenlens.cli.advice.indicators import find_indicator_sets
from eigenlens.cli.advice.totals import MAX_UNNAMED, find_named_totals, find_unnamed_totals
from eigenlens.cli.advice.zeros import zero_warnings
from eigenlens.data.examples import EXAMPLES, load
from written_reports import contents

RNG = np.random.default_rng(4)
X = np.round(RNG.uniform(1.0, 100.0, (12, 3)), 1)
TOWNS = [f"town {i}" for i in range(12)]
ABC = ["a", "b", "c"]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A command line in an empty folder that must succeed: what --json prints."""
    monkeypatch.chdir(tmp_path)

    def command(*words):
        capsys.readouterr()
        assert main([*map(str, words), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return command


def shown_warnings():
    """The warnings of the report."""
    charts = contents(Path("r.html"))["first"]["charts"]
    return {text for chart in charts if chart["title"] == "Warnings" for text in chart["warnings"]}


def flags_of(sentence):
    return shlex.split(sentence.rpartition(" with -")[2].rstrip(".").join(["-", ""]))


def blocks(names=("Subtotal", "Subtotal", "Subtotal", "Grand total")):
    """Three blocks of rows with their sums below them, and all of them below the last."""
    rows, words = [], []
    for k in range(3):
        part = X[4 * k : 4 * k + 4]
        rows += [*part, part.sum(axis=0)]
        words += [*TOWNS[4 * k : 4 * k + 4], names[k]]
    return np.array([*rows, X.sum(axis=0)]), [*words, names[3]]


ROWS = {
    "first": (np.vstack([X.sum(axis=0), X]), ["Total", *TOWNS], ["the first row is called 'Total' in column 'town'"]),
    "middle": (np.insert(X, 5, X.mean(axis=0), axis=0), [*TOWNS[:5], "Durchschnitt", *TOWNS[5:]], ["row 6 is called"]),
    "two at the end": (np.vstack([X, X.sum(axis=0), X.mean(axis=0)]), [*TOWNS, "Sum", "Mean"], ["rows 13, 14 are"]),
    "subtotals": (*blocks(), ["rows 5, 10, 15, 16 are called 'Subtotal', 'Grand total'"]),
    "names of their own": (
        *blocks(("North total", "South total", "East total", "Grand total")),
        ["the last row is called 'Grand total'", "rows 5, 10, 15 hold the sums of the rows above them"],
    ),
    "no names, first": (np.vstack([X.sum(axis=0), X]), None, ["the first row holds the sums of the rows below"]),
    "no names, mean first": (np.vstack([X.mean(axis=0), X]), None, ["the first row holds the means of the rows below"]),
    "no names, subtotals": (blocks()[0], None, ["rows 5, 10, 15 hold the sums", "the last row holds the sums"]),
    "no names, subtotals above": (
        blocks()[0][::-1], None, ["rows 2, 7, 12 hold the sums of the rows below them", "the first row holds the sums"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("file", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("name", ROWS)
def test_rows_of_totals_are_found_and_their_flags_leave_them_out(run, name, file):
    rows, towns, pieces = ROWS[name]
    frame = pl.DataFrame(rows, schema=ABC)
    frame = frame if towns is None else frame.insert_column(0, pl.Series("town", towns))
    frame.write_csv(file) if file.endswith("csv") else frame.write_parquet(file)
    warned = run("fit", "pca", file, "--standardize", "--report", "r.html")["warnings"]
    assert len(warned) == len(pieces)
    assert all(piece in sentence for piece, sentence in zip(pieces, warned, strict=True))
    assert set(warned) <= shown_warnings()
    found = run("fit", "pca", file, "--standardize", *(flag for sentence in warned for flag in flags_of(sentence)))
    assert found["read"]["rows"] == 12
    assert "warnings" not in found


def test_total_rows_that_take_no_part_are_not_warned_of(run):
    pl.DataFrame(ROWS["first"][0], schema=ABC).insert_column(0, pl.Series("town", ROWS["first"][1])).write_csv("t.csv")
    assert "warnings" not in run("fit", "pca", "t.csv", "--supplementary-rows", "town == Total", "--standardize")


def test_names_of_categories_are_not_those_of_totals():
    assert find_named_totals({"size": np.array(["all", "mittel", "hoch", "mittel", "all", "hoch"])}) == []
    assert find_named_totals({"row": np.array(["Total", "a"] * 9)}) == []
    assert find_named_totals({"who": np.array(["Max", "Total SA", "Sumner", None, "Meaney"], dtype=object)}) == []


MANY = {
    "answers": lambda: RNG.integers(1, 6, (40, 6)), "counts": lambda: RNG.poisson(0.5, (50, 6)),
    "zeros and ones": lambda: RNG.integers(0, 2, (40, 8)), "one-hot": lambda: np.eye(5)[RNG.integers(0, 5, 50)],
    "two sets of categories": lambda: np.hstack([np.eye(3)[RNG.integers(0, 3, 60)], np.eye(4)[RNG.integers(0, 4, 60)]]),
    "shares": lambda: np.round(100.0 * RNG.dirichlet(np.ones(6), 50), 1), "wide": lambda: RNG.integers(0, 10, (6, 50)),
    "few rows": lambda: RNG.integers(0, 10, (6, 5)), "normal": lambda: RNG.standard_normal((30, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", MANY)
def test_tables_without_totals(name):
    for _ in range(50):
        rows = np.asarray(MANY[name](), dtype=np.float64)
        assert find_unnamed_totals(rows) == []
        assert find_column_totals(rows) == []


REAL = {name: load(name) for name in EXAMPLES}
REAL |= {name: getattr(tables, f"load_{name}")() for name in ("breast_cancer", "diabetes")}


@pytest.mark.parametrize("name", REAL)
def test_ordinary_data_follow_from_nothing(name):
    rows = np.asarray(REAL[name].data, dtype=np.float64)
    found = REAL[name].columns if name in EXAMPLES else REAL[name].feature_names
    names = [str(each) for each in found]
    assert list(derived_columns(rows, names)) == []
    assert list(copied_rows(rows)) == []
    assert list(misleading_names(rows, names)) == []
    assert find_indicator_sets(rows, names) == []


MONTHS = np.round(RNG.uniform(10.0, 99.0, (30, 12)), 1)
QUARTERS = MONTHS.reshape(30, 4, 3).sum(axis=2)
COLUMNS = {
    "last": (np.column_stack([MONTHS, MONTHS.sum(axis=1)]), {12: "sum"}),
    "first": (np.column_stack([MONTHS.sum(axis=1), MONTHS]), {0: "sum"}),
    "of some": (np.column_stack([MONTHS[:, :7], MONTHS[:, 3:7].sum(axis=1), MONTHS[:, 7:]]), {7: "sum"}),
    "a mean, rounded": (np.column_stack([MONTHS, np.round(MONTHS.mean(axis=1), 1)]), {12: "mean"}),
    "of two": (np.column_stack([MONTHS[:, :2], MONTHS[:, :2].sum(axis=1), MONTHS[:, 2:]]), {2: "sum"}),
    "quarters and the year": (
        np.column_stack([*(part for k in range(4) for part in (MONTHS[:, 3 * k : 3 * k + 3], QUARTERS[:, k])),
                         MONTHS.sum(axis=1)]),
        dict.fromkeys([3, 7, 11, 15, 16], "sum"),
    ),
    "missing values": (
        np.column_stack([np.where(np.eye(30, 12) > 0.0, np.nan, MONTHS), MONTHS.sum(axis=1)]), {12: "sum"}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_totals(name):
    rows, expected = COLUMNS[name]
    found = find_column_totals(rows)
    assert {each.column: each.what for each in found} == expected
    for each in found:
        parts = rows[:, list(each.parts)]
        total = parts.sum(axis=1) if each.what == "sum" else parts.mean(axis=1)
        np.testing.assert_allclose(
            rows[:, each.column], np.where(np.isnan(total), rows[:, each.column], total), atol=0.1
        )


@pytest.mark.parametrize("flag", ["--supplementary", "--drop"])
def test_a_column_of_totals_is_warned_of_with_flags_that_work(run, flag):
    names = [f"m{j + 1}" for j in range(12)]
    pl.DataFrame(COLUMNS["last"][0], schema=[*names, "whole year"]).write_csv("t.csv")
    sentence = (
        "column 'whole year' is the sum of all other columns, so what they have in common counts twice; show it beside "
        "the result with --supplementary 'whole year', or leave it out with --drop 'whole year'."
    )
    assert sentence in run("fit", "pca", "t.csv", "--report", "r.html")["warnings"]
    assert sentence in shown_warnings()
    found = run("fit", "pca", "t.csv", flag, "whole year")
    assert found["read"]["columns"] == 12
    assert "warnings" not in found


def test_outcomes_by_name_and_ranks():
    events = RNG.normal(0.0, 1.0, (60, 6))
    points = np.exp(0.1 * events).sum(axis=1)  # no linear function of them
    place = np.argsort(np.argsort(-points)) + 1.0
    rows, names = np.column_stack([events, points, place]), [*"abcdef", "Points", "Rank"]
    found = [warning.columns for warning in derived_columns(rows, names)]
    assert found == [("Points",), ("Rank",)]
    assert list(derived_columns(rows, [*"abcdefgh"])) == []
    noise = np.column_stack([events, points + RNG.normal(0.0, 2.0, 60)])
    assert find_outcomes(noise, [*"abcdef", "Points"]) == []
    # Scores of one ability are not totals of one another.
    scores = RNG.normal(0.0, 1.0, (60, 1)) + 0.1 * events
    assert find_outcomes(scores, [*"abcde", "score"]) == []
    assert find_outcomes(events, [f"{name} score" for name in "abcdef"]) == []
    assert not are_ranks(RNG.integers(1, 4, 60).astype(float))  # ranks of professors
    assert not are_ranks(np.full(9, np.nan))


LONG = RNG.normal(50.0, 10.0, (40, 4)).round(3)
COPIES = {
    "one row": (np.vstack([LONG, LONG[7]]), "1 row of 41 repeats another exactly in all 4 columns (first: row 41"),
    "some rows": (np.vstack([LONG, LONG[3:9]]), "6 rows of 46 repeat others exactly"),
    "with missing values": (np.where(LONG > 60.0, np.nan, LONG)[[*range(40), *range(3, 9)]], "6 rows of 46 repeat"),
    "twice": (np.vstack([LONG, LONG]), "the second half of the rows repeats the first, 40 rows"),
    "answers, twice": (np.tile(RNG.integers(1, 6, (40, 5)), (2, 1)).astype(float), "the second half of the rows"),
}  # fmt: skip


@pytest.mark.parametrize("name", COPIES)
def test_rows_that_repeat_others(name):
    rows, piece = COPIES[name]
    (found,) = copied_rows(rows)
    assert piece in str(found)


def test_rows_that_are_alike_by_chance():
    for rows in (
        RNG.integers(1, 3, (80, 5)), np.round(RNG.standard_normal((80, 3))),
        np.repeat(RNG.integers(1, 9, (9, 1)), 9, 0),
        np.vstack([RNG.normal(50.0, 10.0, (400, 4)), LONG[:1], LONG[:1]]), LONG[:6].repeat(2, axis=0)[:9],
    ):  # fmt: skip
        assert list(copied_rows(rows.astype(np.float64))) == []


# ---- years ------------------------------------------------------------------------------------------------------

PANEL = np.tile(np.arange(1990.0, 2001.0), 6)
LOOKS = {
    "a panel": ("t", PANEL, True),
    "every fifth year": ("t", np.tile(np.arange(1952.0, 2008.0, 5.0), 5), True),
    "by the name": ("year of birth", RNG.choice(np.arange(1930.0, 2010.0), 60), True),
    "by a part of the name": ("YearBuilt", RNG.choice(np.arange(1830.0, 2010.0), 60), True),
    "with a missing value": ("t", np.append(PANEL, np.nan), True),
    "elevations": ("elevation", RNG.choice(np.arange(1800.0, 2100.0), 60), False),
    "elevations to the next ten": ("elevation", np.tile(np.arange(1800.0, 2100.0, 10.0), 9), False),
    "fractions": ("yearly mean", PANEL + 0.5, False),
    "calories": ("calories", RNG.choice(np.arange(1500.0, 3000.0), 60), False),
    "calories near 1950": ("calories", np.round(RNG.normal(1950.0, 30.0, 60)), False),
    "few rows": ("t", PANEL[:6], False),
}


@pytest.mark.parametrize("case", LOOKS)
def test_numbers_that_look_like_years_are_warned_of_and_no_others(case):
    name, values, expected = LOOKS[case]
    rows = np.column_stack([values, RNG.standard_normal(len(values))])
    found = list(misleading_names(rows, [name, "x"]))
    assert [each.columns for each in found] == ([(name,)] if expected else [])


# ---- categories as columns --------------------------------------------------------------------------------------

PLACE = RNG.integers(0, 3, 40)
HOT = np.column_stack([i == PLACE for i in range(3)]).astype(float)
OTHER = np.round(RNG.standard_normal((40, 2)), 3)
SETS = {
    "two": (np.column_stack([OTHER, HOT[:, 0], 1.0 - HOT[:, 0]]), [*"abcd"], [(2, 3)]),
    "two, apart": (np.column_stack([HOT[:, 0], OTHER, 1.0 - HOT[:, 0]]), [*"abcd"], [(0, 3)]),
    "three": (np.column_stack([OTHER, HOT]), [*"abcde"], [(2, 3, 4)]),
    "two sets": (np.column_stack([HOT, HOT[:, :1], 1.0 - HOT[:, :1]]), [*"abcde"], [(0, 1, 2), (3, 4)]),
    "by name": (
        np.column_stack([HOT[:, 0], RNG.integers(0, 2, 40), HOT[:, 1:]]), ["p_a", "q", "p_b", "p_c"], [(0, 2, 3)]
    ),
    "missing values": (
        np.where(np.eye(40, 5, k=-30) > 0.0, np.nan, np.column_stack([OTHER, HOT])), [*"abcde"], [(2, 3, 4)]
    ),
    "one missing": (np.column_stack([OTHER, HOT[:, :2]]), [*"abcd"], []),
    "answers": (RNG.integers(0, 2, (40, 30)).astype(float), [f"q_{j}" for j in range(30)], []),
    "few rows": (HOT[:6], [*"abc"], []),
    "constant columns": (np.column_stack([OTHER, np.ones(40), np.zeros(40)]), [*"abcd"], []),
}  # fmt: skip


@pytest.mark.parametrize("case", SETS)
def test_columns_that_are_categories_of_one_variable(case):
    rows, names, expected = SETS[case]
    assert find_indicator_sets(rows, names) == expected


def test_flags_for_categories_as_columns_work(run):
    names = ["x", "y", "place a", "place b", "place c"]
    pl.DataFrame(SETS["three"][0], schema=names).write_csv("t.csv")
    sentence = (
        "columns 'place a', 'place b', 'place c' are 0 or 1 and sum to 1 in every row, so one follows from the others; "
        "leave one out with --drop 'place c', or show them beside the result with --supplementary 'place a' "
        "--supplementary 'place b' --supplementary 'place c'."
    )
    assert run("fit", "pca", "t.csv", "--report", "r.html")["warnings"] == [sentence]
    assert sentence in shown_warnings()
    assert run("info", "t.csv")["doubts"] == [sentence]
    for flags, columns in ((["--drop", "place c"], 4), (["--supplementary", "place a:place c"], 2)):
        found = run("fit", "pca", "t.csv", *flags)
        assert found["read"]["columns"] == columns
        assert "warnings" not in found


# ---- what `info` reports ------------------------------------------------------------------------------------------


def test_info_reports_what_a_fit_warns_of(run):
    rows, names = COLUMNS["last"][0], [*(f"m{j + 1}" for j in range(12)), "whole year"]
    pl.DataFrame(np.vstack([rows, rows]), schema=names).write_csv("t.csv")
    warnings = run("fit", "pca", "t.csv")["warnings"]
    assert [each.partition(";")[0] for each in warnings] == [
        "column 'whole year' is the sum of all other columns, so what they have in common counts twice",
        "the second half of the rows repeats the first, 30 rows",
    ]
    assert run("info", "t.csv")["doubts"] == warnings
    # Rows that memory should not hold are not looked at.
    assert "doubts" not in run("info", "t.csv", "--max-memory", "1000")


def test_info_takes_a_matrix_of_correlations_for_none(run):
    R = np.corrcoef(np.column_stack([MONTHS[:, :4], MONTHS[:, :4].sum(axis=1)]).T)
    pl.DataFrame(R, schema=[*"abcde"]).write_csv("t.csv")
    assert "doubts" not in run("info", "t.csv")


def test_copies_reach_the_command_line(run):
    pl.DataFrame(COPIES["twice"][0], schema=[*"abcd"]).write_csv("t.csv")
    sentence = (
        "the second half of the rows repeats the first, 40 rows; if the file was appended to itself, keep one copy."
    )
    assert run("fit", "pca", "t.csv", "--report", "r.html")["warnings"] == [sentence]
    assert sentence in shown_warnings()
    assert run("select", "t.csv", "-m", "pca")["warnings"][0] == sentence


def test_millions_of_rows_are_not_searched_for_totals():
    rows = np.zeros((MAX_UNNAMED + 1, 1))
    tracemalloc.start()
    try:
        assert find_unnamed_totals(rows) == []
        assert tracemalloc.get_traced_memory()[1] < rows.nbytes / 10
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("model", [["nb", "--label", "kind"], ["mix", "-k", 2], ["lda", "--label", "kind"], ["kde"]])
def test_every_model_warns_of_columns_that_follow_from_others(run, model):
    """Where columns are independent given the class they would count twice."""
    n = 60
    rows = np.round(np.random.default_rng(2).uniform(10.0, 100.0, (n, 2)), 2)
    one_of = np.eye(3, dtype=int)[np.arange(n) % 3]
    frame = pl.DataFrame(np.column_stack([rows, rows.sum(axis=1)]).round(2), schema=["a", "b", "all"])
    frame = frame.with_columns(pl.DataFrame(one_of, schema=["red", "green", "blue"]))
    frame = frame.with_columns(kind=pl.Series(["u", "v"] * (n // 2)))
    pl.concat([frame, frame[:6]]).write_csv("t.csv")
    found = run("fit", *model, "t.csv")["warnings"]
    for piece in (
        "'all' is the sum of the 2 columns",
        "'red', 'green', 'blue' are 0 or 1",
        "6 rows of 66 repeat others",
    ):
        assert sum(piece in each for each in found) == 1, found


def about_copies(found: dict) -> list[str]:
    return [each for each in found.get("warnings", []) if "as copies" in each]


@pytest.mark.parametrize("model", [["pca"], ["nb", "--label", "kind"], ["gmm", "-k", 2]])
@pytest.mark.parametrize(
    "copy",
    [lambda x: x, lambda x: (x / 2.54).round(2), lambda x: (100.0 - x).round(1)],
    ids=["copy", "unit", "complement"],
)
def test_columns_that_repeat_others_are_warned_of(run, model, copy):
    rows = np.random.default_rng(5).uniform(10.0, 90.0, (40, 3)).round(1)
    frame = pl.DataFrame(np.column_stack([rows, copy(rows[:, 1])]), schema=[*ABC, "again"])
    frame.with_columns(kind=pl.Series(["u", "v"] * 20)).write_csv("t.csv")
    (found,) = about_copies(run("fit", *model, "t.csv"))
    assert "'again' follows exactly from 'b'" in found
    assert about_copies(run("fit", *model, "t.csv", "--drop", "again")) == []


def test_shares_of_a_whole_are_warned_of(run):
    shares = np.random.default_rng(6).dirichlet([3.0, 4.0, 5.0], 30) * 100.0
    frame = pl.DataFrame(np.column_stack([shares.round(2), X[np.arange(30) % 12, 0]]), schema=[*ABC, "other"])
    frame.write_csv("t.csv")
    found = [each for each in run("fit", "pca", "t.csv")["warnings"] if "as shares" in each]
    assert found == [
        "the columns 'a' to 'c' sum to 100 in every row, as shares of a whole do, so one follows from the others; "
        "leave one out with --drop c."
    ]
    assert "as shares" not in str(run("fit", "pca", "t.csv", "--drop", "c"))


def test_zeros_where_nothing_was_measured_are_warned_of(run):
    rng = np.random.default_rng(7)
    pressure, births = rng.normal(70.0, 9.0, 40).round(0), rng.poisson(3.0, 40)
    pressure[[3, 8, 20]] = 0.0
    pl.DataFrame({"pressure": pressure, "births": births, "z": rng.normal(size=40)}).write_csv("t.csv")
    found = [each for each in run("fit", "pca", "t.csv")["warnings"] if each.startswith("0 stands")]
    assert len(found) == 1
    assert "3 cells of 'pressure'" in found[0]
    way = shlex.split(found[0].partition("rows out with ")[2].rstrip("."))
    assert run("fit", "pca", "t.csv", *way)["read"]["rows"] == 37


@pytest.mark.parametrize("name", [*EXAMPLES])
def test_ordinary_tables_have_no_copies_shares_or_zeros(name):
    table = load(name)
    rows = np.asarray(getattr(table, "data", table), dtype=float)
    names = [str(j) for j in range(rows.shape[1])]
    assert [
        *copied_columns(rows, names),
        *closed_columns(rows, names),
        *zero_warnings(zip(names, rows.T, strict=True)),
    ] == []


def test_the_sum_of_all_other_columns_is_found_among_thousands():
    rows = np.random.default_rng(0).uniform(0.0, 9.0, (20, 1_200))
    assert find_column_totals(rows) == []
    for what, total in (("sum", rows.sum(axis=1)), ("mean", rows.mean(axis=1))):
        (found,) = find_column_totals(np.column_stack([rows[:, :700], total, rows[:, 700:]]))
        assert (found.column, found.what, len(found.parts)) == (700, what, 1_200)

"""Numbers that mean missing are distinguished from others, in columns as people have them."""

from __future__ import annotations

import json
import shlex

import numpy as np
import polars as pl
import pytest

from eigenlens.cli import main
from eigenlens.cli.advice.sentinels import describe_sentinels

RNG = np.random.default_rng(11)
N = 200


def answers(low, high, n=N):
    return RNG.integers(low, high + 1, n).astype(float)


def with_codes(values, **cells):
    """The values with codes, given as {name of no meaning: (code, how often)}."""
    values = np.array(values, dtype=float)
    places = iter(RNG.permutation(values.size))
    for code, often in cells.values():
        for _ in range(often):
            values[next(places)] = code
    return values


SKEWED = RNG.choice([1.0, 2, 3, 4, 5], N, p=[0.5, 0.2, 0.1, 0.1, 0.1])
LIKERT, ELEVEN, SEVEN, BINARY = answers(1, 5), answers(0, 10), answers(1, 7), answers(0, 1)
AGES = np.round(RNG.normal(45.0, 15.0, N)).clip(18, 90)

SUSPECTED = {
    "99 among 1 to 5": (with_codes(LIKERT, a=(99, 4)), [99]),
    "a single 99 among 1 to 5": (with_codes(LIKERT, a=(99, 1)), [99]),
    "9 among 1 to 5": (with_codes(LIKERT, a=(9, 6)), [9]),
    "9 among 1 to 5, skewed": (with_codes(SKEWED, a=(9, 6)), [9]),
    "9 among 1 to 4": (with_codes(answers(1, 4), a=(9, 3)), [9]),
    "8 and 9 among 1 to 5": (with_codes(LIKERT, a=(8, 4), b=(9, 9)), [8, 9]),
    "7 and 9 among 1 and 2": (with_codes(answers(1, 2), a=(7, 3), b=(9, 5)), [7, 9]),
    "98 and 99 among 0 to 10": (with_codes(ELEVEN, a=(98, 5), b=(99, 2)), [98, 99]),
    "77 and 88 among 0 to 10": (with_codes(ELEVEN, a=(77, 5), b=(88, 2)), [77, 88]),
    "88 among 1 to 7": (with_codes(SEVEN, a=(88, 3)), [88]),
    "97 among 1 to 7": (with_codes(SEVEN, a=(97, 2)), [97]),
    "999 among 1 to 5": (with_codes(LIKERT, a=(999, 2)), [999]),
    "888 among 0 to 10": (with_codes(ELEVEN, a=(888, 1)), [888]),
    "777 among 0 and 1": (with_codes(BINARY, a=(777, 2)), [777]),
    "9 among 0 and 1": (with_codes(BINARY, a=(9, 5)), [9]),
    "99 among 0 and 1": (with_codes(BINARY, a=(99, 1)), [99]),
    "99 in most cells": (with_codes(LIKERT, a=(99, 150)), [99]),
    "-9 among 1 to 5": (with_codes(LIKERT, a=(-9, 3)), [-9]),
    "-8 and -9 among 0 to 10": (with_codes(ELEVEN, a=(-8, 3), b=(-9, 2)), [-9, -8]),
    "-1 among 1 to 5": (with_codes(LIKERT, a=(-1, 4)), [-1]),
    "-1 among 0 to 10": (with_codes(ELEVEN, a=(-1, 4)), [-1]),
    "-1 and -2 among 1 to 7": (with_codes(SEVEN, a=(-1, 4), b=(-2, 8)), [-2, -1]),
    "-99 among 1 to 5": (with_codes(LIKERT, a=(-99, 1)), [-99]),
    "-1 among ages": (with_codes(AGES, a=(-1, 3)), [-1]),
    "a single -1 among 20 to 40": (with_codes(answers(20, 40), a=(-1, 1)), [-1]),
    "a single -1 among weights": (with_codes(RNG.uniform(20.0, 40.0, N).round(1), a=(-1, 1)), [-1]),
    "a single -9 among shares": (with_codes(RNG.uniform(0.1, 0.9, N), a=(-9, 1)), [-9]),
    "-9 among ages": (with_codes(AGES, a=(-9, 2)), [-9]),
    "999 among ages": (with_codes(AGES, a=(999, 2)), [999]),
    "-77 among counts": (with_codes(RNG.poisson(20.0, N), a=(-77, 2)), [-77]),
    "99 among numbers of children": (with_codes(RNG.poisson(1.5, N), a=(99, 3)), [99]),
    "99 among years at school": (with_codes(answers(0, 18), a=(99, 3)), [99]),
    "-9999 among temperatures": (with_codes(RNG.normal(8.0, 9.0, N).round(1), a=(-9999, 1)), [-9999]),
    "-99.9 among temperatures": (with_codes(RNG.normal(18.0, 4.0, N).round(1), a=(-99.9, 3)), [-99.9]),
    "99 among decimals": (with_codes(RNG.normal(20.0, 3.0, N).round(2), a=(99, 2)), [99]),
    "-1 twice below decimals": (with_codes(RNG.uniform(15.0, 40.0, N).round(2), a=(-1, 2)), [-1]),
    "-200 among concentrations": (with_codes(RNG.gamma(4.0, 0.5, N).round(1), a=(-200, 9)), [-200]),
    "7777 among counts": (with_codes(RNG.poisson(20.0, N), a=(7777, 3)), [7777]),
    "-999.25 in a well log": (with_codes(RNG.normal(60.0, 9.0, N), a=(-999.25, 2)), [-999.25]),
    "1e30": (with_codes(RNG.normal(1.7, 0.1, N), a=(1e30, 1)), [1e30]),
    "the fill value of NetCDF": (
        with_codes(RNG.normal(1.7, 0.1, N), a=(9.9692099683868690e36, 2)),
        [9.969209968386869e36],
    ),
    "the largest integer of 16 bits": (with_codes(RNG.normal(300.0, 40.0, N).round(), a=(32767, 2)), [32767]),
    "9999 among lengths": (with_codes(RNG.normal(1.7, 0.1, N), a=(9999, 2)), [9999]),
}

UNSUSPECTED = {
    "-2 to 2 without 0": RNG.choice([-2.0, -1, 1, 2], N),
    "-3 to 3": answers(-3, 3),
    "ages": AGES,
    "ages with one 99": with_codes(AGES, a=(99, 1)),
    "ages with four 99": with_codes(AGES, a=(99, 4)),
    "ages to 99": answers(0, 99),
    "years": answers(1950, 1999),
    "years of two digits": answers(50, 99),
    "percentages to 99": np.round(RNG.uniform(0.0, 99.0, N)),
    "percentages that are mostly small": np.append(np.round(RNG.exponential(4.0, N)), [45.0, 60.0, 88.0, 99.0]),
    "scores to 100": np.round(RNG.normal(75.0, 12.0, N)).clip(0, 100),
    "scores of few": np.array([60.0, 62, 65, 70, 77, 88, 88, 61, 64, 99]),
    "prices of 9.99": RNG.choice([1.99, 2.49, 4.99, 9.99], N),
    "prices of 99": RNG.choice([19.0, 29, 49, 99], N),
    "prices to 999": RNG.choice([99.0, 199, 299, 499, 749, 999], N),
    "temperatures": np.round(RNG.normal(2.0, 6.0, N)),
    "warm temperatures": np.round(RNG.normal(12.0, 5.0, N)),
    "temperatures with one -9": np.append(answers(0, 12, 60), -9.0),
    "counts": RNG.poisson(2.0, N).astype(float),
    "counts with an outlier": np.append(RNG.poisson(2.0, N).astype(float), 45.0),
    "counts with one 9": np.append(RNG.poisson(1.0, N).clip(0, 4).astype(float), 9.0),
    "counts with a long tail": RNG.negative_binomial(0.5, 0.2, N).astype(float),
    "z-scores": RNG.standard_normal(N),
    "rounded z-scores": np.round(RNG.standard_normal(N)),
    "log values": np.log(RNG.exponential(1.0, N)),
    "coordinates": np.round(RNG.uniform(-100.0, -98.0, N), 1),
    "coordinates with -99": np.round(RNG.normal(-97.0, 5.0, N)),
    "one loss of 200": with_codes(RNG.normal(5.0, 30.0, N).round(1), a=(-200, 1)),
    "incomes, three of 900": with_codes(RNG.uniform(100.0, 400.0, N), a=(900, 3)),
    "temperatures with one -1.0 below": np.append(RNG.uniform(3.0, 24.0, N).round(2), -1.0),
    "magnitudes over thirty orders": 10.0 ** RNG.uniform(0.0, 30.0, N),
    "answers 1 to 9": answers(1, 9),
    "answers 0 to 10": ELEVEN,
    "answers -3 to 3": answers(-3, 3),
    "answers -1, 0, 1": answers(-1, 1),
    "answers -2 to 2": answers(-2, 2),
    "answers -1, 1": RNG.choice([-1.0, 1.0], N),
    "temperatures with one -1": np.append(RNG.uniform(3.0, 24.0, N).round(1), -1.0),
    "differences of goals": np.round(RNG.normal(0.5, 1.5, N)),
    "codes of two kinds": RNG.choice([1.0, 99.0], N),
    "powers of two": RNG.choice([1.0, 2, 4, 8, 16, 32], N),
    "one in a hundred": np.append(np.zeros(N), [1.0, 1.0, 9.0]),
    "profits": np.round(RNG.normal(50.0, 40.0, N)),
}


def found(**columns):
    sentences = describe_sentinels([(name, np.asarray(values)) for name, values in columns.items()], ["t.csv"])
    return [float(each.partition(" ")[0]) for each in sentences]


@pytest.mark.parametrize("name", SUSPECTED)
def test_a_column_that_has_numbers_for_missing_values(name):
    values, codes = SUSPECTED[name]
    assert sorted(found(column=values)) == codes


@pytest.mark.parametrize("name", UNSUSPECTED)
def test_a_column_that_has_none(name):
    assert found(column=UNSUSPECTED[name]) == []


def test_several_columns_are_evidence():
    """One 99 among whole numbers up to 15 may be true; two columns with it are not a coincidence."""
    one, other = (with_codes(answers(0, 15), a=(99, 1)) for _ in range(2))
    assert found(one=one, more=answers(0, 15)) == []
    assert found(one=one, other=other) == [99.0]


def test_a_negative_code_that_each_column_has_once():
    """As in surveys with a code for each reason not to answer; in few of many columns it may be a measurement."""
    coded = {f"q{j}": with_codes(answers(1, 4), a=(-2, 1)) for j in range(3)}
    assert found(**coded) == [-2.0]
    assert found(**coded, **{f"more {j}": answers(1, 4) for j in range(9)}) == []


def test_the_numbers_of_words_are_no_codes(tmp_path, monkeypatch, capsys):
    """Grades of which nobody has some: 8 and 9 beside 1, 4 and 5."""
    monkeypatch.chdir(tmp_path)
    marks = np.array(["U", "E", "D", "A", "A*"])[RNG.integers(0, 5, (20, 3))]
    pl.DataFrame(marks, schema=["maths", "music", "sports"]).write_csv("t.csv")
    main(["fit", "pca", "t.csv", "--json"])
    assert "warnings" not in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("make", [
    lambda: RNG.negative_binomial(0.5, 0.3, (100, 50)), lambda: RNG.poisson(2.0, (100, 50)),
    lambda: RNG.geometric(0.4, (100, 30)), lambda: np.round(RNG.normal(5.0, 2.0, (200, 30))),
])  # fmt: skip
def test_tables_of_counts_and_rounded_numbers_have_none(make):
    for _ in range(20):
        assert found(**{f"c{j}": values.astype(float) for j, values in enumerate(make().T)}) == []


@pytest.mark.parametrize("name", ["8 and 9 among 1 to 5", "98 and 99 among 0 to 10", "-1 among 1 to 5"])
def test_the_flag_works_and_every_output_has_the_sentence(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    values, codes = SUSPECTED[name]
    pl.DataFrame({"q1": values.astype(int), "q2": answers(1, 5).astype(int), "q3": answers(1, 5)}).write_csv("t.csv")
    main(["fit", "pca", "t.csv", "--json", "--report", "r.html"])
    warned = json.loads(capsys.readouterr().out)["warnings"]
    assert len(warned) >= len(codes)
    flags = shlex.split(warned[0].partition(": if it means missing, add ")[2].rstrip("."))
    assert warned[0].partition(":")[0] in (tmp_path / "r.html").read_text(encoding="utf-8")
    main(["info", "t.csv"])
    assert "means missing" in capsys.readouterr().out
    main(["fit", "pca", "t.csv", *flags, "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert facts["read"]["missing"] == sum(int(np.sum(values == code)) for code in codes)
    assert "warnings" not in facts


@pytest.mark.parametrize("command", ["transform", "score", "impute"])
def test_new_rows_with_sentinels_are_warned_of(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(3).normal([170.0, 70.0, 40.0], [8.0, 9.0, 10.0], (60, 3)).round(1)
    np.savetxt("old.csv", rows, "%.1f", ",", header="height,mass,age", comments="")
    rows[[4, 17, 30], 1] = -999.0
    np.savetxt("new.csv", rows, "%.1f", ",", header="height,mass,age", comments="")
    assert main(["fit", "ppca", "old.csv", "-k", "1", "-o", "m.safetensors"]) == 0
    capsys.readouterr()
    assert main([command, "m.safetensors", "new.csv", "-o", "z.csv"]) == 0
    shown = "".join(capsys.readouterr())
    assert "-999 stands in 3 cells of 'mass'" in shown
    assert "--na -999" in shown
    assert main([command, "m.safetensors", "new.csv", "-o", "z.csv", "--force", "--na", "-999"]) == 0
    assert "-999 stands in" not in "".join(capsys.readouterr())

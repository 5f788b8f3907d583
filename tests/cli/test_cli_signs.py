"""Numbers of delimited text against a slow twin; ambiguous numbers are reported; large integers stay exact."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import itertools
import json
import lzma
import random
import shlex
import warnings

import numpy as np
import pytest

from eigenlens import NaiveBayes, scan
from eigenlens.cli import main
from eigenlens.cli.errors import CommandError
from eigenlens.cli.input_table import read_table
from eigenlens.cli.options import ReadingOptions, RunningOptions
from eigenlens.data.files.dialect import find_dialect, find_separator
from eigenlens.errors import DataError, DataWarning


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A command line in an empty folder: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def command(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        return (code, *capsys.readouterr())

    return command


# ---- a slow twin ----------------------------------------------------------------------------------------------

PACKED = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
ENCODINGS = [("utf-8", None), ("utf-8-sig", None), ("latin-1", "latin-1"), ("utf-16", None), ("utf-16-le", "utf-16-le")]
NAMES = ["a", "b c", "gr\u00f6\u00dfe", "x.y", "1st", "q'q", "p%", "<i>"]
WRITTEN = {
    "whole": lambda rng: str(rng.randint(-9_999_999, 9_999_999)),
    "money": lambda rng: f"{rng.uniform(-1e7, 1e7):.2f}",
    "three": lambda rng: f"{rng.uniform(-999, 999):.3f}",
    "any": lambda rng: rng.choice(["{!r}", "{:.17e}", "{:+.17g}"]).format(rng.gauss(0, 1) * 10 ** rng.randint(-30, 30)),
    "odd": lambda rng: rng.choice([".5", "5.", "+3", "-0", "-.5E-3", "1e400", "inf", "-inf"]),
}
"""Cells as Python reads them, by kind."""


def respelled(cell: str, decimal: str, thousands: str | None) -> str:
    """A number as another country writes it."""
    whole, point, rest = cell.partition(".")
    sign, digits = (whole[0], whole[1:]) if whole[:1] in ("+", "-") else ("", whole)
    grouped = (
        f"{int(digits):,}".replace(",", thousands) if thousands and digits.isdigit() and "e" not in rest else digits
    )
    return sign + grouped + point.replace(".", decimal) + rest


DIALECTS = [
    (separator, decimal, thousands, csv.QUOTE_ALL if thousands == separator else csv.QUOTE_MINIMAL)
    for separator, decimal, thousands in itertools.product(",;\t| ", ".,", [None, ".", ",", "'", " "])
    if decimal not in (separator, thousands) and not thousands == separator == " "
]
"""(separator, decimal sign, sign between thousands, quoting) that can be told apart."""


@pytest.mark.few(12)
@pytest.mark.parametrize(("separator", "decimal", "thousands", "quoting"), DIALECTS)
def test_every_dialect_gives_the_numbers_of_python(tmp_path, separator, decimal, thousands, quoting):
    rng = random.Random(f"{separator}{decimal}{thousands}")
    n, names = rng.choice([1, 2, 30, 400]), NAMES[: rng.randint(2, len(NAMES))]
    plain = [[WRITTEN[kind](rng) for _ in range(n)] for kind in rng.choices(list(WRITTEN), k=len(names))]
    expected = np.array([[float(cell) for cell in column] for column in plain]).T
    text = io.StringIO()
    lines = csv.writer(text, delimiter=separator, quoting=quoting, lineterminator=rng.choice(["\n", "\r\n", "\r"]))
    lines.writerows(
        [names, *zip(*([respelled(c, decimal, thousands) for c in column] for column in plain), strict=True)]
    )
    (encoding, told), (suffix, pack) = rng.choice(ENCODINGS), rng.choice(list(PACKED.items()))
    path = tmp_path / f"t.csv{suffix}"
    path.write_bytes(pack(text.getvalue().encode(encoding)))
    how = {"separator": separator, "header": True, "encoding": told}
    reading = ReadingOptions(decimal=decimal, thousands=thousands, **how)
    table, mixed = (read_table([str(path)], reading, RunningOptions(), mixed=each) for each in (False, True))
    assert list(table.source.names) == names
    np.testing.assert_array_equal(table.rows, expected)
    np.testing.assert_array_equal(mixed.source.to_numpy().astype(float), expected)
    for name, column in zip(names, expected.T, strict=True):
        one = read_table(
            [str(path)], ReadingOptions(decimal=decimal, thousands=thousands, id=name, **how), RunningOptions()
        )
        np.testing.assert_array_equal(np.asarray(one.ids, dtype=float), column)
    source = scan(path, decimal=decimal, thousands=thousands, **how)
    np.testing.assert_array_equal(np.concatenate(list(source.rows())), expected)


@pytest.mark.parametrize(("separator", "decimal", "thousands", "quoting"), DIALECTS)
def test_what_is_not_given_is_found_or_rejected(tmp_path, separator, decimal, thousands, quoting):
    """Without options numbers are the same, or there is an error; they are never others."""
    rng = random.Random(f"sniffed{separator}{decimal}{thousands}")
    plain = [[WRITTEN[kind](rng) for _ in range(50)] for kind in ("whole", "money", "three")]
    text = io.StringIO()
    lines = csv.writer(text, delimiter=separator, quoting=quoting, lineterminator="\n")
    lines.writerows(
        [NAMES[:3], *zip(*([respelled(c, decimal, thousands) for c in column] for column in plain), strict=True)]
    )
    path = tmp_path / "t.csv"
    path.write_text(text.getvalue())
    try:
        table = read_table([str(path)], ReadingOptions(), RunningOptions())
    except (DataError, CommandError, DataWarning):
        assert thousands in (" ", "'") or (separator == " " and thousands is not None)
        return
    np.testing.assert_array_equal(table.rows, np.array([[float(cell) for cell in column] for column in plain]).T)


# ---- what may be read in two ways -----------------------------------------------------------------------------

SIGNS = {
    "1,234 alone, by semicolons": (";", ["1,234", "2,345"], (",", None)),
    "3,14": (";", ["3,14", "1,234"], (",", None)),
    "0,123 is no thousand": ("\t", ["0,123", "1,234"], (",", None)),
    "two groups": (";", ["1,234,567", "1,234"], (".", ",")),
    "two groups of points": (";", ["1.234.567", "1.234"], (",", ".")),
    "both signs": ("|", ["1.234,5", "1.234"], (",", ".")),
    "a decimal point beside": (";", ["1.234.567", "1.234", "3.14"], (".", None)),
    "a point of three decimals below 1": (";", ["1.234.567", "0.123"], (".", None)),
    "addresses": (";", ["192.168.100.200", "10.0.0.1"], (".", None)),
    "1.234 alone": (";", ["1.234", "2.345"], (".", None)),
    "1,234 in quotes between commas": (",", ['"1,234"', '"2,345"'], (".", None)),
    "two groups in quotes between commas": (",", ['"1,234,567"', '"2,345"'], (".", ",")),
    "a decimal comma in quotes": (",", ['"1,234,567"', '"2,5"'], (".", None)),
}


@pytest.mark.filterwarnings("ignore::eigenlens.errors.DataWarning")
@pytest.mark.parametrize(("separator", "cells", "signs"), SIGNS.values(), ids=SIGNS)
def test_signs_are_believed_where_numbers_can_be_nothing_else(tmp_path, separator, cells, signs):
    path = tmp_path / "t.csv"
    path.write_text(f"a{separator}b\n" + "".join(f"{cell}{separator}7\n" for cell in cells))
    assert find_dialect(path).numbers == signs


def test_points_of_percentages_show_that_commas_separate_thousands(run, tmp_path):
    (tmp_path / "t.tsv").write_text("a\tb\n1,234\t45.3%\n2,345\t5.1 %\n9,345\t60.0%\n")
    _, _, err = run("fit", "pca", "t.tsv")
    assert "try: eigenlens fit pca t.tsv --thousands ," in err
    assert "--decimal" not in err


def test_a_number_that_may_be_two_is_rejected_or_warned_of(run, tmp_path):
    (tmp_path / "t.tsv").write_text("a\tb\n1,234\t1\n2,345\t5\n9,345\t3\n")
    (tmp_path / "t.csv").write_text("a;b\n1,234;1\n2,345;5\n9,345;3\n")
    code, _, err = run("fit", "pca", "t.tsv")
    assert code == 3
    assert "'1,234' may mean 1.234 or 1234" in err
    assert "--decimal ',' or --thousands ','" in err
    for words, mean in ((["--decimal", ","], 4.308), (["--thousands", ","], 4308.0)):
        told = json.loads(run("info", "t.tsv", *words, "--json")[1])
        assert told["columns"][0]["mean"] == pytest.approx(mean)
        assert "warnings" not in told
    told = json.loads(run("info", "t.csv", "--json")[1])
    assert told["columns"][0]["mean"] == pytest.approx(4.308)
    assert "if they mean 1234" in told["warnings"][0]
    assert "warning" in run("info", "t.csv")[1]


def test_points_between_semicolons_may_stand_between_thousands(run, tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1.234;1\n2.345;5\n9.345;3\n")
    told = json.loads(run("info", "t.csv", "--json")[1])
    assert told["columns"][0]["mean"] == pytest.approx(4.308)
    assert "--thousands '.' if they mean 1234" in told["warnings"][0]
    assert "warnings" not in json.loads(run("info", "t.csv", "--decimal", ".", "--json")[1])
    told = json.loads(run("info", "t.csv", "--thousands", ".", "--json")[1])
    assert told["columns"][0]["mean"] == 4308.0
    (tmp_path / "t.csv").write_text("a,b\n1.234,1\n2.345,5\n9.345,3\n")
    assert "warnings" not in json.loads(run("info", "t.csv", "--json")[1])


def test_points_among_decimal_commas_are_no_numbers_for_any_command(run, tmp_path):
    """3.141 may be 3141, far below the lines that are looked at first."""
    lines = [f"{i % 7},5;{i};{'uv'[i % 2]}" for i in range(200)] + ["3.141;7;u"]
    (tmp_path / "t.csv").write_text("a;b;y\n" + "\n".join(lines) + "\n")
    for words in (["fit", "pca", "t.csv", "--drop", "y"], ["fit", "nb", "t.csv", "--label", "y"]):
        code, _, err = run(*words)
        assert code == 3
        assert "row 201, '3.141'" in err
    column = json.loads(run("info", "t.csv", "--json")[1])["columns"][0]
    assert column["type"] == "text"
    assert "3.141" in column["note"]


def test_marks_among_decimal_commas_are_advised_as_they_are_written(run, tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1,5;2\nn.a.;3\n2,5;4\n")
    err = run("fit", "pca", "t.csv")[2]
    assert "'n.a.'" in err
    assert "--na n.a." in err
    assert run("fit", "pca", "t.csv", "--na", "n.a.", "--skip-missing")[0] == 0


def test_a_missing_value_marker_with_a_point_is_not_a_number_with_a_comma(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n9,9;2\n1,5;3\n")
    table = read_table([str(path)], ReadingOptions(na=["9.9"]), RunningOptions())
    np.testing.assert_array_equal(table.rows, [[9.9, 2.0], [1.5, 3.0]])


def test_numbers_that_became_categories_are_reported(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n" + "".join(f'"{i + 1},234",{i},{"uv"[i % 2]}\n' for i in range(20)))
    code, out, _ = run("fit", "nb", "t.csv", "--label", "y")
    assert code == 0
    assert "column 'a' is taken for categories" in out
    assert "--thousands" in out
    assert "is taken for" not in run("fit", "nb", "t.csv", "--label", "y", "--thousands", ",")[1]


FIRST_LINES = {
    "NA,1.5": False, "inf,1.5": False, "1'234,2.5": False, "-Infinity,2": False, "?,7.5": False,
    "?,?": False, "Na,K": True, "x,1.5": True, ",y": True,
}  # fmt: skip


@pytest.mark.parametrize(("line", "names"), FIRST_LINES.items())
def test_a_first_row_is_not_lost_for_a_missing_value_or_an_infinity(tmp_path, line, names):
    path = tmp_path / "t.csv"
    path.write_text(f"{line}\n2,3.5\n4,5.5\n")
    assert find_dialect(path, na=["?"]).header == names


EVEN = {
    "1,5;2,5\n3,5;4,5\n": ";", "1,5\t2,5\n3,5\t4,5\n": "\t", "1|2,3.5,4\n2|3,4.5,5\n": ",",
    "a;b,c\n1;2,5\n3;4,5\n": ";",
    '"a,b";"c,d"\n1;2\n': ";", '"a" "b c"\n"1" "2"\n': " ", "a b\nx y\n": ",", '"two\nlines",b\n1,2\n': ",",
}  # fmt: skip


@pytest.mark.parametrize(("text", "separator"), EVEN.items())
def test_the_separator_cuts_lines_evenly_into_numbers(tmp_path, text, separator):
    assert find_separator(tmp_path / "t.csv", text) == separator


# ---- digits ---------------------------------------------------------------------------------------------------


def test_digits_of_other_scripts_are_numbers(tmp_path):
    """Polars reads none of them as a number: they would be missing."""
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n\u0663,3\n")
    for mixed in (False, True):
        table = read_table([str(path)], ReadingOptions(), RunningOptions(), mixed=mixed)
        column = table.source["a"].to_numpy() if mixed else table.rows[:, 0]
        assert column.tolist() == [1.0, 3.0]


def test_large_integers_stay_exact(run, tmp_path):
    """Floats cannot tell 2^60 from 2^60 + 1; a class depends on it."""
    rows = [(2**60 + i % 2, "" if i % 5 == 0 else 2**60 + i % 2, i / 2, "uv"[i % 2]) for i in range(60)]
    (tmp_path / "t.csv").write_text("a,b,c,y\n" + "".join(f"{a},{b},{c},{y}\n" for a, b, c, y in rows))
    assert run("fit", "nb", "t.csv", "--label", "y", "-o", "nb.safetensors")[0] == 0
    assert run("score", "nb.safetensors", "t.csv", "--label", "y", "--quiet")[1] == "1\n"
    source = scan(tmp_path / "t.csv", label="y")
    assert NaiveBayes().fit(source).score(source, source.read_label()) == 1.0


def test_integers_of_more_than_64_bits_are_floats(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"{10**30 + i * 10**28},{'uv'[i > 9]}\n" for i in range(20)))
    assert "use one of those left out with --active a" in run("fit", "nb", "t.csv", "--label", "y")[2]
    assert run("fit", "nb", "t.csv", "--label", "y", "--active", "a", "-o", "nb.safetensors")[0] == 0
    assert float(run("score", "nb.safetensors", "t.csv", "--label", "y", "--quiet")[1]) > 0.9


# ---- what is shown of many columns ----------------------------------------------------------------------------


def wide(tmp_path, d=60, n=300):
    """Columns of which the first ten are constant; x40 tells the classes apart, x50 to x53 go together."""
    rng = np.random.default_rng(5)
    g, X = rng.integers(0, 2, n), rng.standard_normal((n, d))
    X[:, :10], X[:, 40] = 0.0, X[:, 40] + 5.0 * g
    X[:, 50:54] += 2.0 * rng.standard_normal((n, 1))
    names = ",".join(f"x{j}" for j in range(d))
    rows = (",".join(map(str, [*row, "uv"[c]])) for row, c in zip(X.tolist(), g, strict=True))
    (tmp_path / "wide.csv").write_text(f"{names},y\n" + "\n".join(rows) + "\n")


def test_the_columns_that_matter_are_shown(run, tmp_path):
    wide(tmp_path)
    shown = run("fit", "lda", "wide.csv", "--label", "y")[1].split("share %")[1].splitlines()
    assert shown[1].startswith("x40 ")
    assert not any(line.startswith("x0 ") for line in shown)
    loads = run("fit", "fa", "wide.csv", "-k", 1, "--drop", "y,x0:x9")[1].split("uniqueness\n")[1].splitlines()
    loads = [line.split()[0] for line in loads if line.startswith("x")]
    assert set(loads[:4]) == {"x50", "x51", "x52", "x53"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        words = ["-k", 2, "--covariance", "diag", "--drop", "y", "--active", "x0:x9"]
        means = run("fit", "gmm", "wide.csv", *words)[1]
    assert "mean of x5" in means
    assert "mean of x0" not in means
    assert "54 more columns differ less" in means


def test_families_of_many_columns_are_counted(run, tmp_path):
    wide(tmp_path)
    code, out, _ = run("fit", "nb", "wide.csv", "--label", "y")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert next(line for line in lines if "x10," in line)[:5] == ["gaussian", "50", "x10,", "x11,", "x12"]
    assert next(line for line in lines if "x0," in line)[:5] == ["gaussian", "10", "x0,", "x1,", "x2"]


def test_zero_has_no_sign(run, tmp_path):
    wide(tmp_path)
    out = run("fit", "lda", "wide.csv", "--label", "y", "--columns", "x0:x9,x40")[1]
    assert "-0\n" not in out
    assert " -0 " not in out
    (tmp_path / "zero.csv").write_text("a,b\n-0,1\n-0.0,2\n")
    assert "-0" not in run("info", "zero.csv")[1]


# ---- labels ---------------------------------------------------------------------------------------------------


def test_a_column_of_the_models_classes_is_found(run, tmp_path):
    wide(tmp_path)
    assert run("fit", "lda", "wide.csv", "--label", "y", "-o", "lda.safetensors")[0] == 0
    assert run("score", "lda.safetensors", "wide.csv")[0] == 0
    (tmp_path / "renamed.csv").write_text((tmp_path / "wide.csv").read_text().replace(",y\n", ",z\n"))
    code, _, err = run("score", "lda.safetensors", "renamed.csv")
    assert code == 2
    assert "'z' has those of the model in every row" in err
    assert "fix: add --label z" in err
    (tmp_path / "bare.csv").write_text(
        (tmp_path / "wide.csv").read_text().replace(",y\n", ",z\n").replace(",u\n", ",w\n")
    )
    assert "name another with --label COLUMN, or predict them" in run("score", "lda.safetensors", "bare.csv")[2]
    assert run("predict", "lda.safetensors", "bare.csv")[0] == 0


def test_names_with_quotes_are_typed_as_they_are(run, tmp_path):
    (tmp_path / "t.csv").write_text('"q""q",it\'s,n\n1,x,1\nu,4,2\n3,5,5\n')
    code, _, err = run("fit", "pca", "t.csv")
    assert code == 3
    assert "; so does 1 more" in err
    fix = err.splitlines()[1]
    words = shlex.split(fix[fix.index("--drop") :].split(", or name")[0])
    assert words == ["--drop", 'q"q', "--drop", "it's"]
    assert run("fit", "pca", "t.csv", *words)[0] == 0

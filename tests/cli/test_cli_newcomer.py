"""Files as people have them: indices without a name, thousands, percent, trailing commas, odd names, wide tables."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from eigenlens.cli import main
from eigenlens.cli import output as widths

RNG = np.random.default_rng(3)
ROWS = RNG.standard_normal((30, 2)) @ np.array([[1.0, 0.5], [0.0, 0.7]]) + 5.0


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A command line in an empty folder: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def command(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        if code:
            # A third line is a command that works.
            assert [line[:7] for line in err.splitlines()[:2]] == ["error: ", "  fix: "], err
            assert [line[:7] for line in err.splitlines()[2:]] in ([], ["  try: "]), err
        return code, out, err

    return command


def write(path, header, cells):
    path.write_text("\n".join([header, *cells]) + "\n")


def measured(before=lambda i: "", after=""):
    return [f"{before(i)}{a:.4f},{b:.4f}{after}" for i, (a, b) in enumerate(ROWS)]


NEARLY = {
    "thousands": (lambda i: f'"{i + 1},234",', "name the sign between thousands with --thousands ',', or leave it out"),
    "dates": (lambda i: f"2024-01-{i + 1:02d},", "read it as days with --dates x, leave it out"),
}


@pytest.mark.parametrize("name", NEARLY)
def test_cells_that_are_nearly_numbers(run, tmp_path, name):
    cell, fix = NEARLY[name]
    write(tmp_path / "t.csv", "x,a,b", measured(cell))
    code, _, err = run("fit", "pca", "t.csv", "--active", "x")
    assert code == 3
    assert "column 'x' has text in 30 rows" in err
    assert fix in err
    assert "--drop x" in err


READ = {
    "minus": lambda i: f"\u2212{i}.5,",
    "percent": lambda i: f"{i * i % 17}.5%,",
    "money": lambda i: f"${i * i % 17}.5,",
    "flags": lambda i: f"{'yes' if i % 2 else 'no'},",
    "unit": lambda i: f"{i * i % 17} mg/L,",
}


@pytest.mark.parametrize("name", READ)
def test_cells_that_mean_numbers(run, tmp_path, name):
    write(tmp_path / "t.csv", "x,a,b", measured(READ[name]))
    code, out, _ = run("fit", "pca", "t.csv", "--json")
    assert code == 0
    assert json.loads(out)["read"]["columns"] == 3


def test_a_number_over_a_thousand_is_not_taken_for_missing(run, tmp_path):
    """Where only some cells have the sign, --na would throw the largest numbers away."""
    write(tmp_path / "t.csv", "x,a,b", measured(lambda i: '"1,200",' if i == 7 else f"{30 * i},"))
    _, _, err = run("fit", "pca", "t.csv")
    assert "(first: row 8, '1,200')" in err
    assert "--na" not in err


def test_a_column_that_counts_the_rows(run, tmp_path):
    write(tmp_path / "t.csv", ",a,b", measured(lambda i: f"{i},"))
    code, out, _ = run("fit", "pca", "t.csv")
    assert code == 0
    assert "note      column 'column_1' names the rows (whole numbers that count the rows)" in out
    assert "or use it with --active column_1" in out
    out = run("fit", "pca", "t.csv", "--active", "column_1")[1]
    assert "warning   column 'column_1' counts the rows (0, 1, …)" in out
    out = run("info", "t.csv")[1]
    assert "numbers the rows" in out
    assert out.endswith("next      eigenlens fit pca t.csv\n")
    assert "warning" not in run("fit", "pca", "t.csv", "--id", "column_1")[1]


def test_a_column_without_an_entry(run, tmp_path):
    write(tmp_path / "t.csv", "a,b,", measured(after=","))
    assert "note      column 'column_3' is left out (no entry).\n" in run("fit", "pca", "t.csv")[1]
    for words in (["pca"], ["ppca", "-k", 1], ["ppca", "-k", 1, "--max-memory", "200"]):
        code, _, err = run("fit", *words, "t.csv", "--active", "column_3")
        assert code == 3
        assert err.startswith("error: column 'column_3' ")
        assert "has no observed entry" in err
        assert "\n  fix: leave it out with --drop column_3" in err
    assert run("info", "t.csv")[1].endswith("next      eigenlens fit pca t.csv\n")


def test_names_on_several_lines_stay_on_one(run, tmp_path):
    write(tmp_path / "t.csv", f'"two\nlines",{"long " * 20}name', measured())
    lines = run("info", "t.csv")[1].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("column"))
    assert lines[start + 1].startswith("two lines ")
    assert lines[start + 2].startswith("long long long long …")
    assert len({line.index("float") for line in lines[start + 1 : start + 3]}) == 1


def test_tables_end_where_the_terminal_does(monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "30")
    assert widths.cut_lines("name       mean   greatest value") == "name       mean   greatest va…"
    assert widths.cut_lines("length  12.1234  123456.1234567") == "length  12.1234  …"
    assert widths.wrap_line("some words that are longer than the line", indent=4) == [
        "some words that are longer", "than the line",
    ]  # fmt: skip


SPECIAL = {
    "blank.csv": (b"\n\n\n", "holds nothing but blank lines", "write it again"),
    "mark.csv": (b"\xef\xbb\xbf", "holds nothing but a byte order mark", "write it again"),
    "above.csv": (
        b"made by us\na b,b\n1,2\n3,4,5\n",
        "row 2 has 2 cells, and the first has 1",
        "leave out the lines above the names with --skip",
    ),
    "sheet.numbers": (b"PK\x03\x04", "is a spreadsheet", "export it as CSV"),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_files_that_are_no_tables(run, tmp_path, name):
    contents, what, fix = SPECIAL[name]
    (tmp_path / name).write_bytes(contents)
    for command in (["info"], ["fit", "pca"]):
        code, _, err = run(*command, name)
        assert code == 3
        assert what in err
        assert fix in err


def test_paths_that_cannot_be(run, tmp_path):
    write(tmp_path / "t.csv", "a,b", measured())
    assert run("fit", "pca", "t.csv", "-o", "~no-such-user/m.safetensors")[0] == 2
    code, _, err = run("demo", "-o", "t.csv")
    assert code == 2
    assert "name a folder" in err


def test_cells_between_spaces(run, tmp_path):
    (tmp_path / "t.txt").write_text("a b\n" + "\n".join(f"{a:.3f} {b:.3f}" for a, b in ROWS) + "\n")
    found = json.loads(run("info", "t.txt", "--json")[1])
    assert [column["name"] for column in found["columns"]] == ["a", "b"]
    assert found["columns"][0]["mean"] == pytest.approx(np.round(ROWS[:, 0], 3).mean())


def test_a_long_line_of_names_does_not_hide_how_text_is_written(run, tmp_path):
    names = [f"a_long_name_of_a_gene_{i}" for i in range(4000)]  # 100 kB
    lines = [";".join("1,5" if (i + j) % 3 else "2,25" for i in range(4000)) for j in range(3)]
    write(tmp_path / "wide.csv", ";".join(names), lines)
    found = json.loads(run("fit", "pca", "wide.csv", "-k", 1, "--json")[1])
    assert found["read"]["columns"] == 4000


def test_memory_in_bytes(run, tmp_path):
    write(tmp_path / "t.csv", "a,b", measured())
    code, _, err = run("fit", "kde", "t.csv", "--max-memory", 100)
    assert code == 6
    assert "needs all 30 rows in memory" in err


def test_bounds_are_reported_with_the_option(run, tmp_path):
    write(tmp_path / "t.csv", "a,b", measured())
    assert run("fit", "pca", "t.csv", "-k", 7)[2].endswith(
        "  fix: use -k 2 or less\n  try: eigenlens fit pca t.csv -k 2\n"
    )
    assert "  fix: use -k 0 or more\n" in run("fit", "pca", "t.csv", "-k", -1)[2]


# ---- text among numbers, for naive Bayes ------------------------------------------------------------------------

KIDS = RNG.choice(["0", "1", "2", "3+"], 200)
CLASSES = np.where((KIDS == "3+") ^ (RNG.random(200) < 0.1), "many", "few")


@pytest.mark.parametrize("memory", [None, "1kB"])
def test_categories_that_look_like_numbers(run, tmp_path, memory):
    limit = [] if memory is None else ["--max-memory", memory]
    rows = [f"{k},{x:.3f},{c}" for k, x, c in zip(KIDS, RNG.standard_normal(200), CLASSES, strict=True)]
    write(tmp_path / "t.csv", "kids,x,y", rows)
    write(tmp_path / "few.csv", "kids,x,y", [row for row in rows if "+" not in row])
    code, _, err = run("fit", "nb", "t.csv", "--label", "y", *limit)
    assert code == 3
    assert f"column 'kids' has text among numbers in {np.sum(KIDS == '3+')} rows" in err
    assert "not missing at random, read it as text with --text kids, add --na 3+ (the mean is" in err
    code, out, _ = run("fit", "nb", "t.csv", "--label", "y", "--text", "kids", "-o", "m.safetensors", *limit)
    assert code == 0
    assert "kids    categorical  text" in out
    # New rows in which every cell of the column looks like a number need not be told again.
    code, out, err = run("predict", "m.safetensors", "few.csv", *limit)
    assert code == 0, err
    assert pl.read_csv(out.encode())["predicted"].to_list() == ["few"] * int(np.sum(KIDS != "3+"))


def test_columns_kept_as_text_are_not_features_of_models_that_need_numbers(run, tmp_path):
    write(tmp_path / "t.csv", "dose,a,b", measured(lambda i: f"{i % 5} mg,"))
    code, out, _ = run("fit", "pca", "t.csv")
    assert code == 0
    assert "3 columns" in out
    assert "note      '0 mg'" in out or "note      '1 mg'" in out
    assert "--text dose" in out
    code, out, _ = run("fit", "pca", "t.csv", "--text", "dose")
    assert code == 0
    assert "2 columns" in out
    assert "'1 mg'" not in out


def test_words_are_categories_for_naive_bayes(run, tmp_path):
    rows = [f"{('yes', 'no')[i % 2]},{row},{'uv'[i // 2 % 2]}" for i, row in enumerate(measured())]
    write(tmp_path / "t.csv", "tea,a,b,y", rows)
    code, out, _ = run("fit", "nb", "t.csv", "--label", "y")
    assert code == 0
    assert "are read as 1 and 0" not in out
    assert "tea     categorical" in out


def test_a_model_remembers_how_it_read_words(run, tmp_path):
    """A new file may have too few words to show what they mean."""
    answers = ["Agree", "Slightly agree", "Disagree", "neutral"]
    rows = [f"{answers[i % 4]},{('yes', 'no')[i % 3 > 0]},{row}" for i, row in enumerate(measured())]
    write(tmp_path / "t.csv", "q,tea,a,b", rows)
    write(tmp_path / "new.csv", "q,tea,a,b", rows[:1])
    assert run("fit", "pca", "t.csv", "-o", "m.safetensors")[0] == 0
    whole = pl.read_csv(run("transform", "m.safetensors", "t.csv")[1].encode()).to_numpy()
    code, out, err = run("transform", "m.safetensors", "new.csv")
    assert code == 0, err
    np.testing.assert_allclose(pl.read_csv(out.encode()).to_numpy(), whole[:1], rtol=1e-9)


def test_genes_as_rows(run, tmp_path):
    genes = "\n".join(f"g{j}," + ",".join(f"{value:.4f}" for value in column) for j, column in enumerate(ROWS.T))
    (tmp_path / "t.csv").write_text("gene," + ",".join(f"s{i}" for i in range(len(ROWS))) + f"\n{genes}\n")
    found = json.loads(run("fit", "pca", "t.csv", "--transpose", "--json")[1])
    assert (found["read"]["rows"], found["read"]["columns"]) == ROWS.shape


def test_a_column_of_text_has_the_role_of_text_in_a_model_that_takes_none(run, tmp_path):
    write(tmp_path / "t.csv", "x,a,b", measured(lambda i: f"{'yes' if i % 2 else 'no'},"))
    code, out, _ = run("fit", "pca", "t.csv", "--text", "x", "--json")
    assert code == 0
    assert json.loads(out)["read"]["columns"] == 2
    assert json.loads(out)["decisions"] == ["column 'x' colours the rows (2 categories); leave it out with --drop x."]


def test_warnings_speak_of_options(run, tmp_path):
    write(tmp_path / "t.csv", "who,a,b,y", [f"p{i},{row},{'uv'[i % 2]}" for i, row in enumerate(measured())])
    out = run("fit", "nb", "t.csv", "--label", "y", "--active", "who")[1]
    assert "warning   column 'who' has 30 categories in 30 rows" in out
    assert "drop it, or read it as the id of the rows" in out

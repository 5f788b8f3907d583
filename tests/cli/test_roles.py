"""Columns have the role that their entries suggest, decisions are printed, and models remember roles that are named."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import eigenlens
from eigenlens.cli import main
from eigenlens.cli.column_profile import profile_columns, profile_first_rows
from eigenlens.cli.column_roles import choose_roles
from eigenlens.cli.guess_roles import HEAD_ROWS, GuessedRole, Role, guess_roles
from eigenlens.cli.input_table import open_input
from eigenlens.cli.options import ParsingOptions, ReadingOptions
from eigenlens.cli.terminal_plot import ASPECT, draw_scatter
from eigenlens.data.column_kinds import ColumnKind
from eigenlens.errors import DataWarning

N = 40
RNG = np.random.default_rng(3)
X = RNG.standard_normal((N, 3)) @ np.diag([3.0, 2.0, 1.0])
NUMBERS = {"u": X[:, 0], "v": X[:, 1], "w": X[:, 2]}

COLUMNS = {
    "names of people": ([f"person {i}" for i in range(N)], Role.ID),
    "groups": ([f"group {i % 4}" for i in range(N)], Role.LABEL),
    "remarks": ([f"remark {i // 2 if i < 30 else i}" for i in range(N)], Role.ASIDE),
    "days": ([f"2024-01-{i % 28 + 1:02d}" for i in range(N)], Role.ASIDE),
    "nothing": ([None] * N, Role.ASIDE),
    "constant": ([7] * N, Role.ASIDE),
    "constant word": (["yes indeed"] * N, Role.ASIDE),
    "row": (list(range(1, N + 1)), Role.ID),
    "shuffled row": (RNG.permutation(N).tolist(), Role.ID),
    "patient_id": (RNG.choice(10**6, N, replace=False).tolist(), Role.ID),
    "patientId": (RNG.choice(10**6, N, replace=False).tolist(), Role.ID),
    "subject_id": ([100 + i % 9 for i in range(N)], Role.ASIDE),
    "few names": (["north", *[None] * 19, "south", *[None] * 19], Role.LABEL),
    "count": ((1e12 * (1.0 + RNG.choice(10**5, N, replace=False))).tolist(), Role.ACTIVE),
    "opened": ([1000 + 3 * i for i in range(N)], Role.ID),
    "barcode-like": ((10**12 + RNG.choice(10**6, N, replace=False)).tolist(), Role.ID),
    "zip": ((10_000 + RNG.integers(0, 50, N)).tolist(), Role.ASIDE),
    "phone": ((5_550_000 + RNG.integers(0, 9_999, N)).tolist(), Role.ASIDE),
    "population": (RNG.choice(10**6, N, replace=False).tolist(), Role.ACTIVE),
    "number of children": (RNG.integers(0, 5, N).tolist(), Role.ACTIVE),
    "sorted income": (np.sort(RNG.choice(10**5, N, replace=False)).tolist(), Role.ACTIVE),
    "length": (X[:, 0].tolist(), Role.ACTIVE),
    "width": (np.round(X[:, 1]).tolist(), Role.ACTIVE),
    "grid": ([float(i % 5) for i in range(N)], Role.ACTIVE),
    "acid": (np.sort(X[:, 2]).tolist(), Role.ACTIVE),
    "digit": (RNG.integers(0, 10, N).tolist(), Role.LABEL),
    "tumour_class": ([i % 2 for i in range(N)], Role.LABEL),
    "class of 40": (RNG.integers(0, 9, N).tolist(), Role.ACTIVE),
    "target": (RNG.integers(0, 10**6, N).tolist(), Role.ACTIVE),
    "passed": ([bool(i % 3) for i in range(N)], Role.ACTIVE),
    "year": ([1990 + i % 10 for i in range(N)], Role.ASIDE),
    "Yr": ([70 + i % 10 for i in range(N)], Role.ASIDE),
    "Jahr": ([2020 - i for i in range(N)], Role.ID),
    "année": ([1990 + i % 10 for i in range(N)], Role.ASIDE),
    "sample_year": ([1990 + i % 10 for i in range(N)], Role.ASIDE),
    "YrSold": ([2006 + i % 5 for i in range(N)], Role.ASIDE),
    "Month": ([5 + i % 5 for i in range(N)], Role.ASIDE),
    "day": ([1 + 7 * i % 31 for i in range(N)], Role.ASIDE),
    "visit_date": ([45_000 + 7 * i % 300 for i in range(N)], Role.ASIDE),
    "update count": ([45_000 + 77 * i % 300 for i in range(N)], Role.ACTIVE),
    "time (s)": (np.cumsum(RNG.uniform(0.5, 1.5, N)).tolist(), Role.ID),
    "time": (RNG.uniform(0.5, 1.5, N).tolist(), Role.ACTIVE),
    "Survived": ([i % 2 for i in range(N)], Role.LABEL),
    "quarter": ([1 + i % 4 for i in range(N)], Role.ASIDE),
    "week": ([1 + i % 52 for i in range(N // 2)] * 2, Role.ASIDE),
    "hour": ([5 * i % 24 for i in range(N)], Role.ASIDE),
    "hr": ([5 * i % 24 for i in range(N)], Role.ASIDE),
    "HR": ([54 + 7 * i % 41 for i in range(N)], Role.ACTIVE),
    "visit": ([1 + i % 4 for i in range(N)], Role.ASIDE),
    "Visit No.": ([1 + i % 4 for i in range(N)], Role.ASIDE),
    "time_point": ([i % 3 for i in range(N)], Role.ASIDE),
    "visits": ([3 * i % 20 for i in range(N)], Role.ACTIVE),
    "wave height": ([3 * i % 7 for i in range(N)], Role.ACTIVE),
    "rooms": ([1 + i % 4 for i in range(N)], Role.ACTIVE),
    "day of week": ([i % 7 for i in range(N)], Role.ASIDE),
    "year of study": ([1 + i % 4 for i in range(N)], Role.ACTIVE),
    "year built": ([1900 + 7 * i % 90 for i in range(N)], Role.ACTIVE),
    "years": ([10 + 3 * i % 25 for i in range(N)], Role.ACTIVE),
    "hours": ([3 * i % 20 for i in range(N)], Role.ACTIVE),
    "mm": ([1 + 5 * i % 12 for i in range(N)], Role.ACTIVE),
    "calories": ([1900 + i * i % 100 for i in range(N)], Role.ACTIVE),
}


def roles(path, mixed=False):
    return guess_roles(profile_columns(open_input([str(path)], ParsingOptions()))[0], mixed)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("name", COLUMNS)
def test_the_role_of_a_column(tmp_path, name, suffix):
    values, role = COLUMNS[name]
    path = tmp_path / f"t.{suffix}"
    frame = pl.DataFrame({name: values} | NUMBERS)
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path)
    found = roles(path)
    assert found[name].role == role, found[name]
    assert all(found[other].role == Role.ACTIVE for other in NUMBERS)


def test_months_with_leading_zeros(tmp_path):
    months = [f"{1 + i % 12:02d}" for i in range(N)]
    pl.DataFrame({"month": months} | NUMBERS).write_csv(tmp_path / "t.csv")
    assert roles(tmp_path / "t.csv")["month"][1:3] == (Role.ASIDE, "months, by the name")


def test_dates_that_are_asked_for_are_active(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    days = [f"2024-01-{i + 1:02d}" for i in range(28)]
    pl.DataFrame({"day": days, "u": X[:28, 0], "v": X[:28, 1]}).write_csv("t.csv")
    assert main(["fit", "pca", "t.csv", "--dates", "day", "-o", "m.safetensors", "-q"]) == 0
    assert list(eigenlens.load("m.safetensors").feature_names_in_) == ["day", "u", "v"]


def test_points_beside_decimal_commas_separate_thousands(tmp_path):
    """52.503 beside 0,25 is fifty thousand, with a warning; beside 0.25 it is a decimal."""

    def first_row(sign):
        lines = [f"O{i};{52 + i}.503;0{sign}{25 + i}" for i in range(20)]
        (tmp_path / "t.csv").write_text("place;people;share\n" + "\n".join(lines) + "\n")
        return next(eigenlens.scan(tmp_path / "t.csv", id="place").rows())[0].tolist()

    with pytest.warns(DataWarning, match="decimal=',' and thousands='.', as the file shows"):
        assert first_row(",") == [52503.0, 0.25]
    assert first_row(".") == [52.503, 0.25]


def test_codes_with_leading_zeros(tmp_path):
    (tmp_path / "t.csv").write_text("area,a\n" + "".join(f"{i % 7:03d},{i * i % 11}\n" for i in range(N)))
    assert roles(tmp_path / "t.csv")["area"].role == Role.ASIDE


def test_text_is_active_for_a_model_that_takes_it_and_names_rows_before_numbers_do(tmp_path):
    table = {"row": range(N), "who": [f"p{i}" for i in range(N)], "kind": ["a", "b"] * (N // 2)} | NUMBERS
    pl.DataFrame(table).write_csv(tmp_path / "t.csv")
    found = roles(tmp_path / "t.csv", mixed=True)
    assert [found[name].role for name in ("row", "who", "kind", "u")] == [Role.ASIDE, Role.ID, Role.ACTIVE, Role.ACTIVE]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_column_that_is_constant_in_the_first_rows_is_read_to_its_end(tmp_path, suffix):
    n, path = HEAD_ROWS + 50, tmp_path / f"t.{suffix}"
    late = [0.0] * HEAD_ROWS + [1.0] * 50
    words = ["a"] * HEAD_ROWS + ["b"] * 50
    frame = pl.DataFrame({"late": late, "word": words, "constant": [2.5] * n, "x": RNG.standard_normal(n)})
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path)
    found = guess_roles(profile_first_rows(open_input([str(path)], ParsingOptions()), HEAD_ROWS))
    assert [found[name].role for name in frame.columns] == [Role.ACTIVE, Role.LABEL, Role.ASIDE, Role.ACTIVE]


# ---- commands -------------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A command line that must succeed in an empty folder: its standard output."""
    monkeypatch.chdir(tmp_path)

    def command(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        assert code == 0, captured.err
        return captured.out

    return command


@pytest.fixture
def table(tmp_path):
    columns = {"who": [f"p{i}" for i in range(N)], "id": range(100, 100 + N), **NUMBERS,
               "kind": ["a", "b"] * (N // 2), "site": ["n", "n", "s", "s"] * (N // 4), "c": [3.5] * N}  # fmt: skip
    frame = pl.DataFrame(columns)
    frame.write_csv(tmp_path / "t.csv")
    return frame


def decisions(out):
    lines = out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("note"))
    return [line[10:] for line in lines[start : start + next(i for i in range(99) if lines[start + i][:5] == "model")]]


def test_every_decision_is_a_line_and_its_flag_changes_it(run, table):
    out = run("fit", "pca", "t.csv", "-o", "m.safetensors")
    assert decisions(out) == [
        "column 'who' names the rows (a different text in each row); name another with --id.",
        "column 'kind' colours the rows (2 categories); leave it out with --drop kind.",
        "column 'site' colours the rows (2 categories); leave it out with --drop site.",
        "column 'id' is left out (whole numbers that hardly repeat, and by its name an id); use --active id.",
        "column 'c' is left out (constant, 3.5); use --active c.",
    ]
    assert list(eigenlens.load("m.safetensors").feature_names_in_) == ["u", "v", "w"]
    np.testing.assert_allclose(eigenlens.load("m.safetensors").components_, eigenlens.PCA().fit(X).components_)
    run("fit", "pca", "t.csv", "--active", "id,c", "-o", "all.safetensors")
    assert list(eigenlens.load("all.safetensors").feature_names_in_) == ["id", "u", "v", "w", "c"]
    out = run("fit", "pca", "t.csv", "--drop", "who,kind,site,id,c", "--json")
    assert json.loads(out)["decisions"] == []


def test_a_table_of_genes_names_the_option_that_exchanges_rows_and_columns(run, tmp_path):
    pl.DataFrame({"Gene Symbol": [f"g{i}" for i in range(N)]} | NUMBERS).write_csv(tmp_path / "g.csv")
    assert "exchange rows and columns with --transpose" in " ".join(run("fit", "pca", "g.csv").split())
    run("fit", "pca", "g.csv", "--transpose", "-o", "m.safetensors")
    assert list(eigenlens.load("m.safetensors").feature_names_in_) == [f"g{i}" for i in range(N)]


def test_new_rows_of_a_table_that_was_transposed(run, tmp_path, capsys):
    """New rows may lie either way: the next command has the option, and so has the error without it."""
    pl.DataFrame({"gene": [f"g{i}" for i in range(N)]} | NUMBERS).write_csv(tmp_path / "g.csv")
    command = json.loads(run("fit", "pca", "g.csv", "--transpose", "-o", "m.safetensors", "--json"))["next"]
    assert command == "eigenlens transform m.safetensors g.csv --transpose -o scores.csv"
    run(*command.split()[1:])
    capsys.readouterr()
    assert main(["transform", "m.safetensors", "g.csv"]) == 3
    err = capsys.readouterr().err
    assert "fix: exchange its rows and columns with --transpose, as for the fit" in err
    assert "try: eigenlens transform m.safetensors g.csv --transpose" in err
    scores = pl.read_csv("scores.csv").select(pl.selectors.numeric())
    kept = pl.DataFrame({f"g{i}": [NUMBERS[name][i] for name in NUMBERS] for i in range(N)})
    kept.write_csv(tmp_path / "rows.csv")
    run("transform", "m.safetensors", "rows.csv", "-o", "again.csv")
    np.testing.assert_allclose(pl.read_csv("again.csv").select(scores.columns).to_numpy(), scores.to_numpy())


def test_a_year_that_is_left_out_is_used_or_colours_the_rows_on_request(run, tmp_path):
    pl.DataFrame({"year": [1990 + i % 4 for i in range(N)]} | NUMBERS).write_csv(tmp_path / "t.csv")
    [line] = decisions(run("fit", "pca", "t.csv"))
    sentence = "column 'year' is left out (calendar years, by the name); "
    assert line == sentence + "use --active year, or colour by it with --label year."
    for flag, columns in (("--active", 4), ("--label", 3)):
        found = json.loads(run("fit", "pca", "t.csv", flag, "year", "--json"))
        assert found["read"]["columns"] == columns
        assert found["decisions"] == []
        assert not any("calendar" in each for each in found.get("warnings", []))


def test_an_id_beside_the_one_that_is_named_is_left_out_aloud(run, table):
    out = run("fit", "pca", "t.csv", "--id", "kind", "--drop", "who", "--json")
    assert "column 'id' is left out" in json.loads(out)["decisions"][1]


def test_supplementary_columns_and_rows_take_no_part_in_the_fit(run, table):
    run("fit", "pca", "t.csv", "--supplementary", "w", "--supplementary-rows", "1:3,7", "-o", "m.safetensors")
    twin = eigenlens.PCA().fit(np.delete(X, [0, 1, 2, 6], axis=0)[:, :2])
    found = eigenlens.load("m.safetensors")
    np.testing.assert_allclose(found.components_, twin.components_, atol=1e-12)
    assert found.n_samples_ == N - 4
    run("fit", "pca", "t.csv", "--supplementary-rows", "kind == a", "-o", "b.safetensors")
    np.testing.assert_allclose(eigenlens.load("b.safetensors").components_, eigenlens.PCA().fit(X[1::2]).components_)


def test_no_option_is_given_twice(run, table, tmp_path):
    """Markers, names and classes that were given to the fit are those of every later command."""
    text = (
        (tmp_path / "t.csv").read_text().replace("p7,107,", "p7,107,lost;", 1).replace(",", ";").replace("lost;", "", 1)
    )
    lines = [line.split(";") for line in text.splitlines()]
    lines[8][2] = "lost"
    (tmp_path / "s.csv").write_text("\n".join(";".join(cells[:8]) for cells in lines) + "\n")
    run(
        "fit",
        "lda",
        "s.csv",
        "--na",
        "lost",
        "--label",
        "kind",
        "--label",
        "site",
        "--id",
        "who",
        "-o",
        "m.safetensors",
    )
    run("predict", "m.safetensors", "s.csv", "-o", "p.csv")
    found = pl.read_csv("p.csv")
    assert found.columns == ["who", "kind", "site", "predicted"]
    assert "accuracy" in run("score", "m.safetensors", "s.csv")
    run("transform", "m.safetensors", "s.csv", "--id", "id", "-o", "z.csv")
    assert pl.read_csv("z.csv").columns == ["id", "kind", "site", "LD1"]
    run("report", "m.safetensors", "s.csv", "-o", "r.html")
    eigenlens.load("m.safetensors").fit(X, ["a", "b"] * (N // 2)).save("again.safetensors")
    assert not hasattr(eigenlens.load("again.safetensors"), "table_")  # that of the file is forgotten with its fit


def test_accuracy_on_the_rows_of_the_fit_is_called_so(run, table):
    assert "by 5-fold cross-validation" in run("fit", "qda", "t.csv", "--label", "kind", "-o", "m.safetensors")
    blocks = run("fit", "qda", "t.csv", "--label", "kind", "--max-memory", "1kB")
    assert "accuracy  not known for held-out rows: the rows are read by blocks" in blocks
    assert "on the rows of the fit" in run("score", "m.safetensors", "t.csv")
    table.head(N - 1).write_csv("fewer.csv")
    assert "on the rows of the fit" not in run("score", "m.safetensors", "fewer.csv")
    table.write_parquet("copy.parquet")
    assert "on the rows of the fit" in run("predict", "m.safetensors", "copy.parquet", "-o", "p.csv")


# ---- covariance matrices --------------------------------------------------------------------------------------

R = np.array([[1.0, 0.5, 0.4], [0.5, 1.0, 0.3], [0.4, 0.3, 1.0]])


def write_matrix(S, path, half=False, names="uvw"):
    rows = [[name, *("" if half and j > i else repr(float(S[i, j])) for j in range(3))] for i, name in enumerate(names)]
    path.write_text("\n".join([",u,v,w", *(",".join(row) for row in rows)]) + "\n")


@pytest.mark.parametrize("half", [False, True])
def test_a_correlation_matrix_is_fitted_as_one(run, tmp_path, half):
    write_matrix(R, tmp_path / "r.csv", half)
    out = run("fit", "pca", "r.csv", "-o", "m.safetensors")
    assert out.splitlines()[0].endswith(".csv: a correlation matrix of 3 variables")
    assert "the table is a correlation matrix of 3 variables" in out
    np.testing.assert_allclose(
        eigenlens.load("m.safetensors").explained_variance_, np.linalg.eigvalsh(R)[::-1], rtol=1e-12
    )
    out = run("fit", "fa", "r.csv", "-k", 1, "--n-samples", 99, "-o", "f.safetensors")
    twin = eigenlens.FactorAnalysis(1).fit_covariance(R, n_samples=99)
    np.testing.assert_allclose(eigenlens.load("f.safetensors").loadings_, twin.loadings_, rtol=1e-6)
    assert main(["fit", "fa", "r.csv", "-k", "1"]) == 2


def test_a_square_table_that_is_no_covariance_matrix_is_rows(run, tmp_path):
    for name, S in {"distances": 1.0 - np.abs(R), "plain": X[:3], "indefinite": np.eye(3) - 1.0}.items():
        write_matrix(S, tmp_path / f"{name}.csv")
        assert "matrix" not in run("fit", "pca", f"{name}.csv", "-k", 1).partition("found")[0]
    write_matrix(R, tmp_path / "named.csv", names=["tom", "ann", "joe"])
    assert "matrix of" not in run("fit", "pca", "named.csv", "-k", 1)
    write_matrix(R, tmp_path / "r.csv")
    assert "matrix of" not in run("fit", "pca", "r.csv", "--rows", "-k", 1)


# ---- the plot in the terminal ---------------------------------------------------------------------------------


def test_a_plot_has_equal_units_on_both_axes():
    """Two pairs of points at the same distance, one across and one upwards."""
    lines = draw_scatter(np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]]), ["x", "y"], ["a", "b", "c"]).splitlines()[
        1:-2
    ]
    (bottom, left), (_, right), (top, _) = (
        next((i, line.index(mark)) for i, line in enumerate(lines) if mark in line) for mark in "ox+"
    )
    assert abs((right - left) - ASPECT * (bottom - top)) <= 1.0


def test_files_are_written_though_the_reader_of_the_summary_has_stopped(table, tmp_path):
    words = [sys.executable, "-m", "eigenlens", "fit", "pca", "t.csv", "-o", "m.safetensors", "--report", "m.html"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=tmp_path, env=environment) as process:
        assert process.stdout.readline().startswith(b"read")
        process.stdout.close()
        assert process.wait(120) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.html", "m.safetensors", "t.csv"]


class ComparedName(str):
    """A name that counts how often it is compared with another."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        ComparedName.compared += 1
        return str.__eq__(self, other)


def test_the_roles_of_many_columns_are_chosen_in_time_that_grows_with_their_number():
    names = [ComparedName(f"c{j}") for j in range(2_000)]
    kinds = dict.fromkeys(names, ColumnKind.NUMBER)
    guesses = {name: GuessedRole(name, Role.ACTIVE, "numbers", True) for name in names}
    ComparedName.compared = 0
    assert choose_roles(ReadingOptions(), kinds, (), None, lambda: guesses).features == names
    assert ComparedName.compared < 20 * len(names)

"""Reports of models that were fitted to a covariance matrix: what they say of columns, and no rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import eigenlens
from eigenlens.cli import main
from eigenlens.errors import DataError, DataWarning, OptionError
from eigenlens.reporting import report
from written_reports import contents, layers, named, numbers

RNG = np.random.default_rng(7)
X = RNG.standard_normal((60, 2)) @ RNG.standard_normal((2, 6)) + 0.5 * RNG.standard_normal((60, 6))
FRAME = pl.DataFrame(X, schema=list("abcdef"))
S = pl.DataFrame(np.corrcoef(X.T), schema=list("abcdef"))

MODELS = {
    "pca": eigenlens.PCA(),
    "ppca": eigenlens.ProbabilisticPCA(2),
    "fa": eigenlens.FactorAnalysis(2),
    "spca": eigenlens.SparsePCA(2),
}
WITH_ROWS = {"Scores", "Latent values", "Biplot", "Rows that matter most", "Outliers", "Reconstruction"}


@pytest.mark.parametrize("name", MODELS)
def test_a_page_without_rows_has_what_is_known_of_columns(tmp_path, name):
    model = MODELS[name].fit_covariance(S, n_samples=60)
    found = contents(report(model, None, tmp_path / "r.html"))
    titles = {chart["title"] for chart in found["first"]["charts"]}
    assert "Loadings" in titles
    assert not titles & WITH_ROWS
    assert (found["rows"]["shown"], found["rows"]["columns"]) == (0, [])
    script = named(found["overview"]["charts"], "How to make this report again")["code"][0]["text"]
    matrix = S.to_numpy()
    before = {"S": pl.DataFrame(matrix, schema=list("abcdef"))}
    exec(script.replace("'r.html'", repr(str(tmp_path / "again.html"))), before)
    assert contents(tmp_path / "again.html")["first"] == found["first"]


@pytest.mark.parametrize("name", ["pca", "fa"])
def test_the_heading_names_the_matrix_and_the_rows_behind_it(tmp_path, name):
    found = contents(report(MODELS[name].fit_covariance(S, n_samples=60), None, tmp_path / "r.html"))
    assert found["subtitle"] == "a correlation matrix of 6 columns, of 60 rows"
    found = contents(report(MODELS[name].fit_covariance(4.0 * S, n_samples=60), None, tmp_path / "r.html"))
    assert found["subtitle"] == "a covariance matrix of 6 columns, of 60 rows"


def test_the_heading_has_no_number_of_rows_that_is_not_known(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    S.write_csv("r.csv")
    assert main(["fit", "pca", "r.csv", "--report", "r.html"]) == 0
    assert contents(tmp_path / "r.html")["subtitle"] == "a correlation matrix of 6 columns"


def test_the_charts_of_a_correlation_matrix_are_those_of_its_rows(tmp_path):
    model = eigenlens.PCA(standardize=True).fit(FRAME)
    whole = contents(report(model, FRAME, tmp_path / "rows.html"))
    found = contents(report(eigenlens.PCA().fit_covariance(S, n_samples=60), None, tmp_path / "r.html"))
    for title, kind, axis in (
        ("Scree", "bar", "y"),
        ("Correlation circle", "link", "x2"),
        ("Loadings", "cell", "fill"),
    ):
        one, other = (layers(named(each["first"]["charts"], title), kind)[0][axis] for each in (found, whole))
        np.testing.assert_allclose(numbers(one, found), numbers(other, whole), rtol=1e-6, atol=1e-6)


def test_what_belongs_to_rows_needs_them(tmp_path):
    with pytest.raises(OptionError, match="ids has one entry per row, and X is None; give the rows too"):
        report(eigenlens.PCA().fit_covariance(S, 60), None, tmp_path / "r.html", ids=list("abcdef"))
    with pytest.raises(DataError, match="X is None"):
        report([eigenlens.PCA().fit(X), eigenlens.KernelPCA(2).fit(X)], None, tmp_path / "r.html")


def test_the_command_line_reports_a_matrix_without_rows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    S.insert_column(0, pl.Series("", list("abcdef"))).write_csv("cor.csv")
    assert main(["fit", "pca", "cor.csv", "-o", "m.safetensors", "--report", "r.html"]) == 0
    assert "next      eigenlens info m.safetensors" in capsys.readouterr().out  # there are no rows to transform
    assert main(["report", "m.safetensors", "cor.csv", "-o", "again.html"]) == 0
    found, again = contents(tmp_path / "r.html"), contents(tmp_path / "again.html")
    assert found["first"] == again["first"]
    assert named(found["overview"]["charts"], "Decisions about the file")["paragraphs"] == [
        "the table is a correlation matrix of 6 variables, and is fitted as one; --rows takes its lines for rows; "
        "--n-samples N gives the number of rows behind it, which is not known."
    ]


def test_rows_without_an_entry_take_no_part_in_the_band_of_noise(tmp_path):
    rows = np.vstack([X, np.full((1, 6), np.nan)])
    rows[0, 0] = np.nan
    with pytest.warns(DataWarning, match="1 row has no observed entry"):
        model = eigenlens.PCA(missing="em").fit(rows)
    scree = named(contents(report(model, rows, tmp_path / "r.html"))["first"]["charts"], "Scree")
    assert layers(scree, "band")
    assert "left out" not in scree["about"]


def test_supplementary_rows_are_hollow_and_take_no_part_in_the_band_of_noise(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    far = np.vstack([X, 50.0 + RNG.standard_normal((3, 6))])
    pl.DataFrame(far, schema=list("abcdef")).write_csv("t.csv")
    pl.DataFrame(X, schema=list("abcdef")).write_csv("u.csv")
    assert main(["fit", "pca", "t.csv", "--supplementary-rows", "61:63", "--report", "t.html"]) == 0
    assert main(["fit", "pca", "u.csv", "--report", "u.html"]) == 0
    found, twin = contents(tmp_path / "t.html"), contents(tmp_path / "u.html")
    weights = numbers(found["rows"]["weights"], found)
    np.testing.assert_array_equal(np.flatnonzero(weights == 0.0), [60, 61, 62])
    assert "weights" not in twin["rows"]
    assert named(found["first"]["charts"], "Scree")["marks"] == named(twin["first"]["charts"], "Scree")["marks"]

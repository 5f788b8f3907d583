"""Reports of the command line: warnings of the fit, comparisons, and components numbered alike everywhere."""

from __future__ import annotations

import json
import re

import numpy as np
import polars as pl
import pytest

from eigenlens import FactorAnalysis
from eigenlens.cli import main
from written_reports import contents, named, table

RNG = np.random.default_rng(5)
ROWS = RNG.standard_normal((90, 2)) @ RNG.standard_normal((2, 6)) + RNG.standard_normal((90, 6))
ROWS[60:] += 4.0


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A command line in a folder with a table: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(ROWS, schema=["acid", "ash", "hue", "iron", "sugar", "water"]).write_csv("wine.csv")

    def command(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


def done(result):
    code, out, err = result
    assert code == 0, err
    return out


def test_what_a_fit_warned_of_is_in_its_report(run, tmp_path):
    done(run("fit", "fa", "wine.csv", "-k", "1", "--set", "max_iter=1", "--report", "r.html"))
    charts = contents(tmp_path / "r.html")["first"]["charts"]
    (said,) = charts[0]["warnings"]
    assert said.startswith("solver 'quasi-newton' stopped after 1 steps")
    assert "--set max_iter=" in said


def test_units_are_warned_of_once(run, tmp_path):
    pl.DataFrame(ROWS[:, :3] * [1.0, 1.0, 1_000.0], schema=["acid", "ash", "hue"]).write_csv("units.csv")
    done(run("fit", "pca", "units.csv", "-o", "m.safetensors", "--report", "r.html"))
    (said,) = contents(tmp_path / "r.html")["first"]["charts"][0]["warnings"]
    assert said.startswith("column 'hue' has 100% of the variance of all columns")
    assert "--standardize" in said
    done(run("report", "m.safetensors", "units.csv", "-o", "s.html"))
    (again,) = contents(tmp_path / "s.html")["first"]["charts"][0]["warnings"]
    assert again.startswith("column 'hue' has 100% of the variance of all columns")


def test_a_model_file_is_reported_with_what_its_fit_warned_of(run, tmp_path):
    done(run("fit", "fa", "wine.csv", "-k", "1", "--set", "max_iter=1", "-o", "m.safetensors"))
    done(run("report", "m.safetensors", "wine.csv", "-o", "r.html"))
    (said,) = contents(tmp_path / "r.html")["first"]["charts"][0]["warnings"]
    assert said.startswith("solver 'quasi-newton' stopped after 1 steps")
    assert "--set max_iter=1" in said


def test_a_comparison_has_a_report_with_the_best_model(run, tmp_path):
    words = ("compare", "wine.csv", "--models", "gmm:k=1,ppca:k=1", "--report", "r.html")
    assert "wrote     r.html (" in done(run(*words))
    best = json.loads(done(run(*words, "--force", "--json")))["best"]
    found = contents(tmp_path / "r.html")
    assert [page["title"] for page in found["pages"]] == ["All models", "Comparison", best, "Data and code"]
    assert found["first"]["charts"][0]["title"] == "Behind the best"
    assert found["title"] == f"Comparison, {best} of wine.csv"


def test_components_are_numbered_as_predict_numbers_them(run, tmp_path):
    shown = done(run("fit", "gmm", "wine.csv", "-k", "2", "-o", "m.safetensors", "--report", "r.html"))
    done(run("predict", "m.safetensors", "wine.csv", "-o", "p.csv"))
    labels = pl.read_csv("p.csv")["predicted"].to_list()
    assert set(labels) == {0, 1}
    assert re.search(r"^0 +0\.", shown, flags=re.MULTILINE)
    found = contents(tmp_path / "r.html")
    columns = {column["name"]: column["values"] for column in found["rows"]["columns"]}
    assert columns["component"] == [f"component {label}" for label in labels]
    listed = table(named(found["first"]["charts"], "Components: weights, means and standard deviations"))
    assert {"in 0", "in 1"} <= set(listed)


def test_a_factor_analysis_shows_its_fit(run):
    out = done(run("fit", "fa", "wine.csv", "-k", "1"))
    facts = json.loads(done(run("fit", "fa", "wine.csv", "-k", "1", "--json")))
    fit = facts["goodness_of_fit"]
    assert f"chi²            {fit['chi2']:.4f}  (df {fit['df']}, p {fit['p']:.4g})" in out
    for name in ("RMSEA", "TLI", "AIC", "BIC"):
        assert re.search(rf"^{name}  ", out, flags=re.MULTILINE)
    assert f"variance %  {100 * facts['variance_ratio'][0]:.2f}" in re.sub(" {2,}", "  ", out)


def test_a_factor_analysis_with_missing_entries_shows_its_fit_and_keeps_it(run):
    values = np.where((np.arange(len(ROWS))[:, None] % 9 == 0) & (np.arange(6) == 1), np.nan, ROWS)
    pl.DataFrame(values, schema=list("abcdef")).with_columns(pl.all().fill_nan(None)).write_csv("holes.csv")
    out = done(run("fit", "fa", "holes.csv", "-k", "1", "-o", "m.safetensors"))
    fit = FactorAnalysis(1).fit(values).goodness_of_fit(values)
    line = f"chi²            {fit.chi2:.4f}  (df {fit.df}, p {fit.p:.4g})"
    assert line in out
    assert line in done(run("info", "m.safetensors"))


def test_factors_in_the_terminal_have_the_shares_of_their_table(run):
    pl.DataFrame(ROWS * [1.0, 1.0, 1.0, 1.0, 1.0, 50.0], schema=list("abcdef")).write_csv("units.csv")
    out = done(run("fit", "fa", "units.csv", "-k", "2"))
    first, second = re.search(r"variance % +([\d.]+) +([\d.]+)", out).groups()
    assert f"F1 ({float(first):.1f}%)" in out
    assert f"F2 ({float(second):.1f}%)" in out


def test_a_report_of_a_density_whose_kernels_are_narrower_than_its_grid(tmp_path, monkeypatch):
    """Sentinels far away make cells of the grid wider than the kernels, and no contour holds 95%."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(2).normal([165.0, 65.0, 40.0], [8.0, 9.0, 14.0], (90, 3)).round(1)
    X[[3, 20, 41, 66, 80], 1] = -999.0
    np.savetxt("t.csv", X, "%.1f", ",", header="height,weight,age", comments="")
    assert main(["fit", "kde", "t.csv", "-o", "m.safetensors"]) == 0
    assert main(["report", "m.safetensors", "t.csv", "-o", "r.html"]) == 0

"""`--standardize`: kept in the model file, undone in what commands write, and advised where units decide the result."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import eigenlens
from eigenlens.catalogue import MODELS
from eigenlens.cli import main

RNG = np.random.default_rng(3)
UNITS = np.array([1.0, 1000.0, 0.01, 5.0])
COMMON = RNG.standard_normal((120, 1)) * [1.5, 1.0, -1.0, 0.5] + RNG.standard_normal((120, 4))
CLASSES = np.repeat(["low", "high"], 60)
COMMON[60:] += [3.0, 2.0, 0.0, 1.0]


@pytest.fixture(autouse=True)
def tables(tmp_path, monkeypatch):
    """The same rows in two units, with a few missing values in a second pair of files."""
    monkeypatch.chdir(tmp_path)
    holes = np.random.default_rng(0).random(COMMON.shape) < 0.05
    for name, units in (("one", np.ones(4)), ("other", UNITS)):
        rows = dict(zip("abcd", (COMMON * units).T, strict=True))
        pl.DataFrame(rows | {"class": CLASSES}).write_csv(f"{name}.csv")
        missing = np.where(holes, np.nan, COMMON * units)
        pl.DataFrame(dict(zip("abcd", missing.T, strict=True))).fill_nan(None).write_csv(f"{name}-missing.csv")


def run(*words, code=0):
    assert main([*words, "--quiet", "--force"]) == code


def written(name):
    return pl.read_csv(name).select(pl.selectors.numeric()).to_numpy()


COMMANDS = {
    "pca": "-k 2",
    "spca": "-k 1",
    "kpca": "-k 2",
    "ppca": "-k 1",
    "fa": "-k 1",
    "gmm": "-k 2 --covariance spherical",
    "kde": "--bandwidth 0.4",
    "lda": "--label class --shrinkage 0.3 --set target=identity",
    "qda": "--label class --set reg=0.2",
    "bayes": "--label class --density kde --bandwidth 0.4",
}


@pytest.mark.parametrize("model", COMMANDS)
def test_the_file_keeps_it_and_units_change_nothing_but_units(model):
    more = COMMANDS[model].split()
    labelled = [] if "--label" in more else ["--drop", "class"]
    for name in ("one", "other"):
        run("fit", model, f"{name}.csv", *more, *labelled, "--standardize", "-o", f"{name}.safetensors")
    found = [eigenlens.load(f"{name}.safetensors") for name in ("one", "other")]
    rows = [pl.read_csv(f"{name}.csv").select(list("abcd")) for name in ("one", "other")]
    if model == "bayes":
        assert all(density.standardize for density in found[0].densities_)
    else:
        assert found[0].standardize
    score = next(name for name in ("predict_proba", "transform", "score_samples") if hasattr(found[0], name))
    first, second = (getattr(model, score)(X) for model, X in zip(found, rows, strict=True))
    shift = np.log(UNITS).sum() if score == "score_samples" else 0.0
    np.testing.assert_allclose(second + shift, first, rtol=1e-5, atol=1e-5)


def test_options_are_those_of_the_catalogue():
    takers = {entry.command for entry in MODELS.values() if "standardize" in entry.options}
    assert takers == set(COMMANDS) - {"bayes"}  # which hands it on to its density


def test_imputed_rows_are_in_the_units_of_the_columns():
    for name in ("one", "other"):
        run("fit", "ppca", f"{name}-missing.csv", "-k", "1", "--standardize", "-o", "model.safetensors")
        run("impute", "model.safetensors", f"{name}-missing.csv", "--std", "-o", f"{name}-filled.csv")
    one, other = written("one-filled.csv"), written("other-filled.csv")
    np.testing.assert_allclose(other / np.tile(UNITS, other.shape[1] // 4), one, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("model", "command"), [("gmm", "sample"), ("kpca", "denoise"), ("ppca", "denoise")])
def test_rows_that_commands_write_are_in_the_units_of_the_columns(model, command):
    for name in ("one", "other"):
        fit = ["fit", model, f"{name}.csv", *COMMANDS[model].split(), "--drop", "class", "--standardize"]
        run(*fit, "-o", "model.safetensors")
        rows = ["-n", "20", "--seed", "1"] if command == "sample" else [f"{name}.csv", "--drop", "class"]
        run(command, "model.safetensors", *rows, "-o", f"{name}-rows.csv")
    one, other = written("one-rows.csv"), written("other-rows.csv")
    np.testing.assert_allclose(other / UNITS, one, rtol=1e-3, atol=1e-3)


def test_log_densities_are_in_the_units_of_the_columns():
    for name in ("one", "other"):
        run(
            "fit",
            "gmm",
            f"{name}.csv",
            *COMMANDS["gmm"].split(),
            "--drop",
            "class",
            "--standardize",
            "-o",
            "m.safetensors",
        )
        run("score", "m.safetensors", f"{name}.csv", "--drop", "class", "-o", f"{name}-scores.csv")
    one, other = written("one-scores.csv"), written("other-scores.csv")
    np.testing.assert_allclose(other[:, -1] + np.log(UNITS).sum(), one[:, -1], rtol=1e-6)


# ---- advice where units decide ----------------------------------------------------------------------------------


def test_pca_shows_the_standardised_shares_beside_its_own(capsys):
    main(["fit", "pca", "other.csv", "--drop", "class"])
    shown = capsys.readouterr().out
    assert "column 'b' has 100% of the variance of all columns" in shown
    assert "--standardize" in shown
    assert "standardised: share %" in shown
    shares = eigenlens.PCA(standardize=True).fit(COMMON).explained_variance_ratio_
    assert f"{100.0 * shares[0]:.2f}" in shown


def test_json_has_the_shares_and_the_column(capsys):
    main(["fit", "pca", "other.csv", "--drop", "class", "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert facts["units"]["columns"] == ["b"]
    shares = eigenlens.PCA(standardize=True).fit(COMMON).explained_variance_ratio_
    np.testing.assert_allclose(facts["standardized"]["explained_variance_ratio"], shares, rtol=1e-6)


def test_the_standardised_shares_have_the_weights_of_the_fit(capsys):
    weight = np.random.default_rng(5).integers(0, 4, 120)
    pl.read_csv("other.csv").with_columns(w=pl.Series(weight)).write_csv("weighted.csv")
    main(["fit", "pca", "weighted.csv", "--drop", "class", "--weight", "w", "--json"])
    facts = json.loads(capsys.readouterr().out)
    shares = eigenlens.PCA(standardize=True).fit(COMMON, sample_weight=weight).explained_variance_ratio_
    np.testing.assert_allclose(facts["standardized"]["explained_variance_ratio"], shares, rtol=1e-6)


@pytest.mark.parametrize("model", ["pca", "ppca", "kpca"])
def test_no_advice_about_columns_of_one_unit_or_of_standardised_ones(model, capsys):
    more = COMMANDS[model].split()
    main(["fit", model, "one.csv", "--drop", "class", *more])
    main(["fit", model, "other.csv", "--drop", "class", "--standardize", *more])
    shown = capsys.readouterr()
    assert "in different units" not in shown.out + shown.err
    assert "default gamma" not in shown.out + shown.err


def test_kernel_pca_names_a_better_gamma(capsys):
    main(["fit", "kpca", "other.csv", "--drop", "class", "-k", "2"])
    shown = capsys.readouterr()
    assert "--gamma median" in shown.out + shown.err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("gmm -k 2 --covariance spherical", True),
        ("gmm -k 2 --covariance diag", False),
        ("kde --bandwidth 0.5", True),
        ("kde --bandwidth scott", False),
        ("fa -k 1", False),
        ("pca --feature-weight b=0.000001", False),
    ],
)
def test_advice_is_for_models_that_depend_on_units(command, said, capsys):
    model, *more = command.split()
    assert main(["fit", model, "other.csv", "--drop", "class", *more]) == 0
    assert ("in different units" in capsys.readouterr().out) == said


def test_the_units_of_a_covariance_matrix(capsys):
    S = np.cov((COMMON * UNITS).T)
    pl.DataFrame(S, schema=list("abcd")).write_csv("covariance.csv")
    assert main(["fit", "pca", "covariance.csv", "--n-samples", "120"]) == 0
    shown = capsys.readouterr().out
    assert "column 'b' has 100% of the variance" in shown
    assert "standardised: share" not in shown

"""Generated calls end well, and what earlier campaigns found stays mended."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import eigenlens
from eigenlens import densities, plot, textbook
from eigenlens.errors import DataError, EigenlensError, OptionError

pytest.importorskip("torch", reason="PYTORCH IS NOT INSTALLED, of which the campaign makes tensors")
sys.path.append(str(Path(__file__).parents[1]))
from campaigns import base, calls
from campaigns.values import labels, named, rows, scaled, spoilt, weights

X, Y = rows(24, 3), labels(24)
DENSITIES = [eigenlens.GaussianMixture(), eigenlens.KernelDensity(), eigenlens.ProbabilisticPCA(1)]
MODELS = [eigenlens.PCA(), eigenlens.KernelPCA(), eigenlens.FactorAnalysis(1), eigenlens.SparsePCA(1), *DENSITIES]


@pytest.mark.long
def test_calls_end_well():
    results = [result for _, result in base.run("campaigns.calls", 0, range(300))]
    assert len(results) == 300
    assert [result for result in results if result.outcome not in base.FINE] == []


def test_a_case_is_repeated_by_its_seed_and_number():
    assert calls.describe(3, 5) == calls.describe(3, 5) != calls.describe(3, 6)


def test_the_watchdog_outlives_hangs_and_crashes(tmp_path, monkeypatch):
    module = tmp_path / "hostile_campaign.py"
    module.write_text(
        "import os, time\nfrom campaigns.base import Outcome, Result\nLIMIT = 0.5\n"
        "def describe(seed, number): return f'case {number}'\n"
        "def run_case(seed, number):\n"
        "    if number == 0: time.sleep(60)\n"
        "    if number == 1: os._exit(3)\n"
        "    return Result(Outcome.OK, describe(seed, number))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = dict(base.run("hostile_campaign", 0, range(3)))
    assert [found[i].outcome for i in range(3)] == [base.Outcome.HANG, base.Outcome.CRASH, base.Outcome.OK]
    assert found[1].call == "case 1"


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (DataError("has 0 rows", argument="X"), base.Outcome.CLEAR),
        (DataError("there are 0 rows"), base.Outcome.VAGUE),
        (OptionError("must be 1", argument="tolerance"), base.Outcome.VAGUE),
        (ValueError("X has 0 rows"), base.Outcome.FOREIGN),
    ],
)
def test_an_error_is_clear_if_it_is_ours_and_names_its_subject(error, outcome):
    assert base.judge_error(error, {"X", "tol"})[0] is outcome


# ---- what X may not be ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([[1.0, 2.0], [3.0]], "X has 2 entries in row 0 but 1 in row 1"),
        ([[1.0, 2.0], [3.0, [4.0]]], "X holds a list in row 1, column 1"),
        (X[None], "X has 3 dimensions"),
        (X[:, 0], "X has one dimension"),
        (3.0, "X is a single value"),
        (X + 1j, "X has dtype complex128"),
        (X.astype(str), "X holds text"),
        (np.zeros(3, dtype=[("height", "f8")]), "X is a structured array of 'height'"),
        (np.array([[1.0, object()]], dtype=object), "X holds <object"),
        (sparse.coo_array(X[:, 0]), "X has one dimension"),
        (pd.DataFrame(index=range(3)), "X has 0 feature"),
        (pd.DataFrame(X, columns=["mass", 1, 2]), "X has columns whose names are of several types"),
    ],
)
@pytest.mark.parametrize("model", MODELS[:3])
def test_what_is_not_a_table_is_an_error_about_X(model, wrong, words):
    with pytest.raises(DataError, match=words.replace("(", r"\(")):
        model.fit(wrong)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("factor", [1e300, 1e-300])
def test_a_column_whose_squares_floats_cannot_hold_is_named(model, factor):
    with pytest.raises(DataError, match=r"column 'width' of X has entries .*; divide it by 1e[+-](300|299|301)"):
        model.fit(named(scaled(X, factor, 1)))


def test_rows_of_weight_0_may_have_any_size():
    big = spoilt(X, 1e300, (0, 0))
    found = eigenlens.PCA().fit(big, sample_weight=spoilt(np.ones(24), 0.0, 0))
    assert np.all(np.isfinite(found.explained_variance_))


# ---- labels and weights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "y", [1, "red", [[0], [0, 1]] * 12, X, Y + 1j, sparse.csr_array(Y[:, None]), [{}] * 24, X[:, 0], object()]
)
def test_what_is_not_labels_is_an_error_about_y(y):
    for model in (eigenlens.NaiveBayes(), eigenlens.LinearDiscriminant()):
        with pytest.raises(DataError, match=r"\by\b"):
            model.fit(X, y)
        with pytest.raises(DataError, match=r"\by\b"):
            model.fit(X, Y).score(X, y)


def test_the_accuracy_counts_classes_that_the_fit_did_not_meet_as_wrong():
    model = eigenlens.LinearDiscriminant().fit(X, Y)
    right = model.predict(X) == Y
    assert model.score(X, Y) == pytest.approx(right.mean())
    other = np.where(np.arange(24) < 6, 7, Y)
    assert model.score(X, other, sample_weight=weights(24)) == pytest.approx(
        np.average(right & (other < 7), weights=weights(24))
    )


@pytest.mark.parametrize(
    "w",
    [
        np.full(24, 1e300),
        np.full(24, "heavy"),
        np.ones(24) + 1j,
        np.ones(24).astype("datetime64[s]"),
        np.ma.masked_less(weights(24), 1.0),
        [[1.0], 2.0],
        sparse.csr_array(np.ones((24, 1))),
        {0: 1.0},
    ],
)
def test_weights_that_are_not_numbers_or_too_many_are_an_error(w):
    with pytest.raises(DataError, match="sample_weight"):
        eigenlens.PCA().fit(X, sample_weight=w)


# ---- arguments ------------------------------------------------------------------------------------------------

CALLS = {
    "kernel": lambda: eigenlens.KernelPCA(kernel=pd.Series([1.0])).fit(X),
    "whiten": lambda: eigenlens.PCA(whiten=Y).fit(X),
    "missing": lambda: eigenlens.PCA(missing=np.ones(2)).fit(X),
    "verbose": lambda: eigenlens.PCA(verbose=int).fit(X),
    "n_components": lambda: eigenlens.PCA(len).fit(X),
    "n_init": lambda: eigenlens.GaussianMixture(n_init=10**9).fit(X),
    "n_samples": lambda: eigenlens.GaussianMixture().fit(X).sample(10**15),
    "other": lambda: eigenlens.PCA().fit(X).merge(eigenlens.PCA),
    "input_features": lambda: eigenlens.PCA().fit(named(X)).get_feature_names_out(["mass"]),
    "features": lambda: eigenlens.NaiveBayes().fit(X, Y).to_logistic(),
    "covariance_types": lambda: eigenlens.select_mixture(X, covariance_types=pd.NA),
    "rules": lambda: eigenlens.select_components(X, rules=1.5),
    "edges": lambda: eigenlens.GaussianMixture().fit_binned(..., [1, 2]),
    "init": lambda: eigenlens.GaussianMixture(init={1}).fit(X),
    "path": lambda: eigenlens.load(2**63),
    "block_rows": lambda: eigenlens.scan("rows.csv", block_rows=[1]),
    "name": lambda: eigenlens.datasets.load([]),
    "second": lambda: eigenlens.principal_angles(X, [[1, 2], [3]]),
    "model": lambda: plot.confusion(1.0, X, Y),
    "ax": lambda: plot.scree(eigenlens.PCA().fit(X), ax=0.5),
    "table": lambda: plot.comparison("table"),
    "bootstrap": lambda: plot.scree(eigenlens.PCA().fit(X), bootstrap=len),
    "names": lambda: plot.loadings(eigenlens.PCA().fit(X), names=1.0),
    "probability": lambda: densities.Bernoulli([0.1, 0.9]),
    "columns": lambda: densities.Categorical([0.2, 0.8]).marginal(1.5),
    "scale": lambda: densities.LinearGaussian(np.zeros(2), np.ones((2, 1)), 0.5).scaled(True),
    "n": lambda: densities.Multinomial([0.5, 0.5], 4).sample(np.float32(0.5)),
    "fitted": lambda: densities.Gaussian([0.0], [[1.0]], fitted=3).mean,
    "return_std": lambda: densities.Gaussian([0.0], [[1.0]]).impute([[0.0]], return_std=pd.DataFrame()),
    "start": lambda: textbook.em_path({1}, np.eye(3), 40, 3),
}


@pytest.mark.parametrize("argument", CALLS)
def test_the_error_is_ours_and_names_the_argument(argument):
    with pytest.raises(EigenlensError, match=rf"\b{argument}\b"):
        CALLS[argument]()


# ---- results --------------------------------------------------------------------------------------------------


def test_rows_of_density_0_have_no_criterion():
    model = eigenlens.MixtureModel().fit(X)
    with pytest.raises(DataError, match=r"X has 24 of 24 rows of density 0 .*first: row 0"):
        model.aic(X + 1e160)


def test_a_comparison_in_which_all_reject_X_is_an_error():
    pair = {"one": eigenlens.GaussianMixture(), "two": eigenlens.KernelDensity()}
    with pytest.raises(DataError, match="X contains infinity"):
        eigenlens.compare(pair, spoilt(X, np.inf, (1, 0)), cv=3)


def test_the_first_argument_may_be_given_by_name():
    model = eigenlens.GaussianMixture().fit(X[:, :1])
    np.testing.assert_array_equal(model.cdf(x=X[:, 0]), model.cdf(X[:, 0]))


def test_shares_of_replicates_without_variance_are_0():
    found = eigenlens.PCA(1, center=False).fit(X).bootstrap(np.zeros((4, 3)), 3)
    assert np.all(found.ratios == 0.0)

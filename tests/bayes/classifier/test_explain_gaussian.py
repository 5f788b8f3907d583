"""`explain` of Gaussian classes: shares that sum to the log-odds, what they are equal to, and where there are none."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from eigenlens import (
    BayesClassifier,
    DataWarning,
    FactorAnalysis,
    GaussianMixture,
    KernelDensity,
    LinearDiscriminant,
    NaiveBayes,
    OptionError,
    ProbabilisticPCA,
    QuadraticDiscriminant,
)
from eigenlens.bayes.explain import gaussian_shares
from eigenlens.densities import GaussianFamily

CLASSIFIERS = {
    "qda": QuadraticDiscriminant(),
    "shrunk": QuadraticDiscriminant(shrinkage=0.2),
    "full": BayesClassifier(GaussianFamily()),
    "diagonal": BayesClassifier(GaussianFamily("diagonal")),
    "spherical": BayesClassifier(GaussianFamily("spherical")),
    "mixture": BayesClassifier(GaussianMixture(1, n_init=1)),
    "ppca": BayesClassifier(ProbabilisticPCA(2)),
    "factor": BayesClassifier(FactorAnalysis(1)),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    X = rng.standard_normal((150, 1)) * [1.0, 0.8, -0.9, 0.7] + 0.7 * rng.standard_normal((150, 4))
    return (X * (1.0 + y[:, None]) + rng.standard_normal((3, 4))[y]) * [1.0, 10.0, 0.01, 3.0], y


def with_missing(X):
    Z = X[:40].copy()
    Z[np.random.default_rng(2).random(Z.shape) < 0.3] = np.nan
    Z[7] = np.nan
    return Z


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_contributions_sum_to_the_log_odds(name, data):
    X, y = data
    found = CLASSIFIERS[name].fit(X, y)
    for rows in (X, with_missing(X)):
        logs, reasons = found.predict_log_proba(rows), found.explain(rows, of=2, against=0)
        assert_allclose(reasons.log_odds, logs[:, 2] - logs[:, 0], rtol=1e-8, atol=1e-8)
        assert_array_equal(reasons.contributions[np.isnan(rows)], 0.0)
        best = found.explain(rows)
        assert_array_equal(best.of, found.predict(rows))
        ranked = np.sort(logs, axis=1)
        assert_allclose(best.log_odds, ranked[:, -1] - ranked[:, -2], rtol=1e-8, atol=1e-8)


def test_independent_columns_are_those_of_naive_bayes(data):
    X, y = data
    found = BayesClassifier(GaussianFamily("diagonal")).fit(X, y).explain(X, of=0, against=1)
    naive = NaiveBayes("gaussian", floor=0.0).fit(X, y).explain(X, of=0, against=1)
    assert_allclose(found.contributions, naive.contributions, rtol=1e-9, atol=1e-9)


def test_they_are_shapley_values_of_the_distance(data):
    X, y = data
    found = QuadraticDiscriminant(prior="uniform").fit(X, y)
    here = X[:3]
    centre = found.explain(found.means_[:1], of=1, against=2)
    reasons = found.explain(here, of=1, against=2).contributions - centre.contributions

    def distance(c, x, present):
        z = np.where(present, x - found.means_[c], 0.0)  # a feature that is not there stands at the mean
        return -0.5 * z @ np.linalg.solve(found.covariances_[c], z)

    def shapley(c, x):
        shares = np.zeros(4)
        for order in permutations(range(4)):
            present = np.zeros(4, dtype=bool)
            for j in order:
                before = distance(c, x, present)
                present[j] = True
                shares[j] += (distance(c, x, present) - before) / 24
        return shares

    origin = shapley(1, found.means_[0]) - shapley(2, found.means_[0])
    twin = np.stack([shapley(1, x) - shapley(2, x) for x in here]) - origin
    assert_allclose(reasons, twin, rtol=1e-8, atol=1e-8)  # the volumes, which are the same in all rows, cancel


@pytest.mark.parametrize("name", ["qda", "full", "factor"])
def test_units_and_the_order_of_columns_change_nothing(name, data):
    X, y = data
    order, scale = [2, 0, 3, 1], np.array([1e-3, 1.0, 1e4, 7.0])
    found = CLASSIFIERS[name].fit(X, y).explain(X, of=0, against=1).contributions
    other = CLASSIFIERS[name].fit((X * scale)[:, order], y).explain((X * scale)[:, order], of=0, against=1)
    assert_allclose(other.contributions, found[:, order], rtol=1e-6, atol=1e-6)


def test_a_feature_that_says_nothing_adds_nothing():
    half = np.random.default_rng(1).standard_normal((50, 2))
    block = np.concatenate([np.repeat(half, 2, axis=0), np.repeat(2.0 * half[:, ::-1], 2, axis=0) + 1.0])
    idle = np.tile([1.0, -1.0], 100)  # of one mean and variance in both classes, and uncorrelated with the others
    X, y = np.column_stack([block, idle]), np.repeat([0, 1], 100)
    found = QuadraticDiscriminant().fit(X, y).explain(X)
    assert_allclose(found.contributions[:, 2], 0.0, atol=1e-9)
    assert np.abs(found.contributions[:, :2]).max() > 1.0


def test_columns_that_are_left_out_or_have_the_pooled_variance(data):
    X, y = data
    X = np.insert(X, 1, 5.0, axis=1)
    X[y == 1, 3] = 0.5
    frame = pd.DataFrame(X, columns=list("abcde"))
    for model in (QuadraticDiscriminant(), BayesClassifier(GaussianFamily()), BayesClassifier(FactorAnalysis(1))):
        with pytest.warns(DataWarning):
            found = model.fit(frame, np.where(np.arange(150) == 0, 0, y))
        logs, reasons = found.predict_log_proba(frame), found.explain(frame, of=1, against=2)
        assert reasons.names == tuple("abcde")
        assert_array_equal(reasons.contributions[:, 1], 0.0)
        assert_allclose(reasons.log_odds, logs[:, 1] - logs[:, 2], rtol=1e-7, atol=1e-7)


def test_equal_covariances_have_the_sums_of_the_linear_rule_and_other_shares():
    half = np.random.default_rng(3).standard_normal((40, 3)) @ [[1.0, 0.6, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]]
    delta = np.array([1.0, -2.0, 0.5])
    X, y = np.concatenate([half, half + delta]), np.repeat([0, 1], 40)
    ours, linear = (model().fit(X, y).explain(X, of=1) for model in (QuadraticDiscriminant, LinearDiscriminant))
    assert_allclose(ours.log_odds, linear.log_odds, rtol=1e-9, atol=1e-9)
    # Half of x_j (C⁻¹ δ)_j and half of δ_j (C⁻¹ x)_j, about the middle of the two means, against all of the former.
    P, Z = np.linalg.inv(np.cov(half.T, ddof=0)), X - X.mean(axis=0)
    assert_allclose(ours.contributions, 0.5 * (Z * (P @ delta) + delta * (Z @ P)), rtol=1e-8, atol=1e-8)
    assert_allclose(linear.contributions, Z * (P @ delta), rtol=1e-8, atol=1e-8)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    X = rng.standard_normal((20, 30)) + y[:, None]
    found = QuadraticDiscriminant(shrinkage=0.5).fit(X, y)
    logs = found.predict_log_proba(X)
    assert_allclose(found.explain(X, of=0).log_odds, logs[:, 0] - logs[:, 1], rtol=1e-8, atol=1e-8)


def test_where_there_are_none(data):
    X, y = data
    for density in (KernelDensity(bandwidth=1.0), GaussianMixture(2, n_init=1, random_state=0)):
        found = BayesClassifier(density).fit(X, y)
        assert not hasattr(found, "explain")
        with pytest.raises(AttributeError):
            found.explain(X)
        with pytest.raises(OptionError, match=f"shares of features in a {type(density).__name__} have no closed form"):
            gaussian_shares(found.densities_[0], X)
    with pytest.raises(OptionError, match="of holds the class 7, not among the"):
        QuadraticDiscriminant().fit(X, y).explain(X, of=7)

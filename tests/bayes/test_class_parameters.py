"""The parameters of naive Bayes by class, under scikit-learn's names, and the table of all probabilities."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

import eigenlens
from eigenlens import NaiveBayes
from eigenlens.errors import OptionError

IRIS, SPECIES = load_iris(return_X_y=True)


def counts(seed=0, high=5):
    rng = np.random.default_rng(seed)
    return rng.integers(0, high, (60, 4)), np.repeat([0, 1, 2], 20)


def test_gaussian_parameters_are_those_of_gaussian_nb():
    ours, theirs = NaiveBayes("gaussian").fit(IRIS, SPECIES), GaussianNB(var_smoothing=0.0).fit(IRIS, SPECIES)
    assert_allclose(ours.theta_, theirs.theta_, rtol=1e-13)
    assert_allclose(ours.var_, theirs.var_, rtol=1e-12)
    shared = NaiveBayes("shared-gaussian").fit(IRIS, SPECIES)
    assert_allclose(shared.var_, np.tile(theirs.var_.mean(axis=0), (3, 1)), rtol=1e-12)  # classes of equal size


def test_log_probabilities_are_those_of_scikit_learn():
    X, y = counts()
    multinomial = NaiveBayes("multinomial").fit(X, y)
    assert_allclose(multinomial.feature_log_prob_, MultinomialNB().fit(X, y).feature_log_prob_, rtol=1e-13)
    bernoulli = NaiveBayes("bernoulli").fit(X > 2, y)
    assert_allclose(bernoulli.feature_log_prob_, BernoulliNB().fit(X > 2, y).feature_log_prob_, rtol=1e-13)
    ours, theirs = NaiveBayes("categorical").fit(X, y), CategoricalNB().fit(X, y)
    for j in range(4):
        assert_allclose(ours.feature_log_prob_[j], theirs.feature_log_prob_[j], rtol=1e-13)
        assert_array_equal(ours.category_count_[j], theirs.category_count_[j])


def test_smoothing_by_an_array():
    X, y = counts(1)
    alpha = np.array([0.1, 1.0, 2.0, 5.0])
    ours, theirs = NaiveBayes("multinomial", smoothing=alpha).fit(X, y), MultinomialNB(alpha=alpha).fit(X, y)
    assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-13)
    ones = NaiveBayes("bernoulli", smoothing=alpha.tolist()).fit(X > 1, y)  # scikit-learn fails for this array
    by_hand = (np.stack([(X[y == c] > 1).sum(axis=0) for c in range(3)]) + alpha) / (20 + 2 * alpha)
    assert_allclose(np.exp(ones.feature_log_prob_), by_hand, rtol=1e-13)
    with pytest.raises(OptionError, match="smoothing has 3 entries for 4 columns"):
        NaiveBayes("bernoulli", smoothing=[1.0, 2.0, 3.0]).fit(X > 1, y)


def test_array_smoothing_survives_a_file(tmp_path):
    X, y = counts(1)
    model = NaiveBayes("categorical", smoothing=np.array([0.1, 1.0, 2.0, 5.0])).fit(X, y)
    model.save(tmp_path / "m.safetensors")
    assert_array_equal(eigenlens.load(tmp_path / "m.safetensors").predict_proba(X), model.predict_proba(X))


def mixed():
    frame = pd.DataFrame({"h": [1.0, 2.0, 4.0, 7.0], "vote": list("yyny"), "old": [True, False, True, True]})
    return NaiveBayes().fit(frame, ["a", "a", "b", "b"], sample_weight=[1.0, 2.0, 1.0, 1.0])


def test_mixed_columns_have_what_their_families_define():
    model = mixed()
    assert_array_equal(np.isnan(model.theta_), [[False, True, True]] * 2)
    assert model.feature_log_prob_[0] is None
    assert_allclose(np.exp(model.feature_log_prob_[1]), [[1 / 5, 4 / 5], [2 / 4, 2 / 4]])
    assert_allclose(np.exp(model.feature_log_prob_[2]), [[3 / 5, 2 / 5], [1 / 4, 3 / 4]])
    assert_array_equal(model.category_count_[1], [[0.0, 3.0], [1.0, 1.0]])
    with pytest.raises(AttributeError, match="no column has Gaussian columns; the families are categorical"):
        _ = NaiveBayes("categorical").fit(*counts()).theta_
    with pytest.raises(AttributeError, match="no column has categories"):
        _ = NaiveBayes("gaussian").fit(IRIS, SPECIES).category_count_


def test_the_table_of_all_probabilities():
    table = mixed().probability_table()
    assert table.columns == ("vote", "vote", "old", "old")
    assert table.categories == ("n", "y", 0, 1)
    assert_allclose(table.probabilities, [[0.2, 0.5], [0.8, 0.5], [0.6, 0.25], [0.4, 0.75]])
    assert_allclose((table.counts + 1.0) / (table.totals + 2.0), table.probabilities)
    lines = str(table).splitlines()
    assert lines[0].split() == ["column", "category", "a", "b"]
    assert lines[1].split() == ["vote", "n", "0.2", "0.5"]
    assert len(NaiveBayes("gaussian").fit(IRIS, SPECIES).probability_table()) == 0


def test_declared_categories_are_in_the_table():
    frame = pd.DataFrame({"size": pd.Categorical(["s", "m", "s", "m"], categories=["s", "m", "l"])})
    model = NaiveBayes().fit(frame, [0, 0, 1, 1])
    assert_array_equal(model.category_count_[0], [[1.0, 1.0, 0.0]] * 2)
    assert_allclose(model.probability_table().probabilities[:, 0], [0.4, 0.4, 0.2])


@pytest.mark.parametrize(
    ("family", "peer"), [("bernoulli", BernoulliNB()), ("multinomial", MultinomialNB()), ("complement", ComplementNB())]
)
def test_counts_and_priors_of_scikit_learn(family, peer):
    rng = np.random.default_rng(0)
    X, y, w = rng.integers(0, 2, (60, 5)), rng.integers(0, 3, 60), rng.random(60)
    ours, theirs = NaiveBayes(family).fit(X, y, sample_weight=w), peer.fit(X, y, sample_weight=w)
    assert_allclose(ours.feature_count_, theirs.feature_count_, rtol=1e-12)
    assert_allclose(ours.class_log_prior_, theirs.class_log_prior_, rtol=1e-12)
    with pytest.raises(AttributeError, match="zeros and ones, or counts"):
        NaiveBayes("gaussian").fit(X, y).feature_count_


def test_number_of_categories():
    X, y = np.array([[0, 5.5], [1, 2.5], [2, 1.0], [0, 4.0]]), [0, 1, 0, 1]
    assert NaiveBayes({0: "categorical", 1: "gaussian"}).fit(X, y).n_categories_.tolist() == [3, 0]

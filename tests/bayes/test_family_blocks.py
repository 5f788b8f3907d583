"""Families of `eigenlens.densities` as columns and blocks of mixtures and of naive Bayes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

from eigenlens import GaussianMixture, MixtureModel, NaiveBayes, QuadraticDiscriminant
from eigenlens.densities import (
    BernoulliFamily,
    CategoricalFamily,
    GaussianFamily,
    MultinomialFamily,
    ProductFamily,
)
from eigenlens.errors import MissingValues, OptionError


@pytest.fixture
def groups():
    return np.random.default_rng(0).random(400) < 0.4


@pytest.fixture
def counts(groups):
    rng = np.random.default_rng(1)
    shares = np.where(groups[:, None], [0.5, 0.3, 0.2], [0.1, 0.2, 0.7])
    return np.array([rng.multinomial(rng.integers(1, 12), p) for p in shares]).astype(float)


@pytest.fixture
def pairs(groups):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(400, 2)) @ np.array([[1.0, 0.9], [0.0, 0.5]])
    return np.where(groups[:, None], x * [1.0, -1.0] + [4.0, 0.0], x)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("columns", ["all", "block", "each"])
def test_multinomial_family_is_one_block_of_counts(counts, columns, missing):
    if missing:
        counts[np.random.default_rng(3).random(counts.shape) < 0.1] = np.nan
    family = MultinomialFamily()
    features = {"all": family, "block": {(0, 1, 2): family}, "each": dict.fromkeys(range(3), family)}[columns]
    found = MixtureModel(2, features=features, random_state=0).fit(counts)
    named = MixtureModel(2, features="multinomial", random_state=0).fit(counts)
    assert found.loglik_ == named.loglik_ < -400.0
    assert found.bic() == named.bic()
    assert_allclose(found.density(0, 1).probabilities, named.density(0, 1).probabilities)


def test_multinomial_family_has_its_own_smoothing(counts, groups):
    for smoothing in (0.5, [1.0, 2.0, 3.0]):
        own = NaiveBayes(MultinomialFamily(smoothing=smoothing)).fit(counts, groups)
        named = NaiveBayes("multinomial", smoothing=smoothing).fit(counts, groups)
        assert_allclose(own.feature_log_prob_, named.feature_log_prob_, rtol=1e-14)


def test_product_family_has_one_family_per_column(groups):
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.normal(3.0 * groups, 1.0), groups ^ (rng.random(400) < 0.2)])
    X[rng.random(X.shape) < 0.1] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    product = ProductFamily((GaussianFamily(), BernoulliFamily()))
    named = MixtureModel(2, features={0: "gaussian", 1: "bernoulli"}, tol=1e-12, random_state=0).fit(X)
    for features in (product, {(0, 1): product}):
        found = MixtureModel(2, features=features, tol=1e-12, random_state=0).fit(X)
        assert found.loglik_ == pytest.approx(named.loglik_, abs=1e-6)
        assert found.bic() == pytest.approx(named.bic(), abs=1e-6)
        assert_allclose(found.impute(X), named.impute(X), atol=1e-4)
        assert_allclose(found.probability_table().probabilities, named.probability_table().probabilities, atol=1e-4)
    with pytest.raises(OptionError, match="a product of 2 families for 3 columns"):
        MixtureModel(2, features=product).fit(np.zeros((5, 3)))


def test_gaussian_block_is_a_mixture_of_full_covariances(pairs):
    found = MixtureModel(2, features={(0, 1): GaussianFamily()}, tol=1e-12, random_state=0).fit(pairs)
    twin = GaussianMixture(2, random_state=0).fit(pairs)
    assert found.loglik_ == pytest.approx(twin.loglik_, abs=1e-6)
    assert found.bic() == pytest.approx(twin.bic(), abs=1e-6)
    holes = pairs[:4].copy()
    holes[[0, 1, 2], [0, 1, 0]] = np.nan
    holes[2] = np.nan
    assert_allclose(found.score_samples(holes), twin.score_samples(holes), atol=1e-4)
    assert_allclose(found.impute(holes), twin.impute(holes), atol=1e-3)
    rows = found.sample(20_000, random_state=0)
    assert_allclose(np.cov(np.asarray(rows).T), np.cov(pairs.T), atol=0.3)


def test_gaussian_block_of_naive_bayes_is_the_quadratic_discriminant(pairs, groups):
    rule = NaiveBayes({(0, 1): GaussianFamily()}).fit(pairs, groups)
    twin = QuadraticDiscriminant().fit(pairs, groups)
    assert_allclose(rule.predict_joint_log_proba(pairs), twin.predict_joint_log_proba(pairs), rtol=1e-9)
    explained = rule.explain(pairs[:3])
    log_odds = np.abs(np.diff(twin.predict_log_proba(pairs[:3]), axis=1)).ravel()
    assert_allclose(explained.contributions.sum(axis=1) + explained.prior, log_odds, rtol=1e-9)


def test_block_needs_rows_that_are_complete_or_empty(pairs):
    model = MixtureModel(2, features={(0, 1): GaussianFamily()}, random_state=0)
    pairs[3] = np.nan
    with pytest.warns(UserWarning, match="1 rows have no observed entry"):
        assert np.isfinite(model.fit(pairs).loglik_)
    pairs[3, 0] = 0.0
    with pytest.raises(MissingValues, match="1 rows have some entries of a block missing"):
        model.fit(pairs)


def test_known_deviation_has_parameters_and_a_linear_rule(pairs, groups):
    rule = NaiveBayes(GaussianFamily(sigma=2.0)).fit(pairs, groups)
    assert_allclose(rule.theta_, [pairs[groups == c].mean(axis=0) for c in (0, 1)])
    assert_allclose(rule.var_, np.full((2, 2), 4.0))
    assert_allclose(rule.coef_[1] - rule.coef_[0], (rule.theta_[1] - rule.theta_[0]) / 4.0)
    assert_allclose(softmax(pairs @ rule.coef_.T + rule.intercept_, axis=1), rule.predict_proba(pairs), rtol=1e-9)
    with pytest.raises(AttributeError, match="not linear"):
        _ = NaiveBayes(GaussianFamily()).fit(pairs, groups).coef_


def test_categories_of_a_family_are_in_the_tables(groups):
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"colour": rng.choice(list("xyz"), 400), "size": rng.normal(size=400)})
    own = NaiveBayes({"colour": CategoricalFamily(smoothing=1.0, reserve=0.0)}).fit(table, groups)
    named = NaiveBayes("auto").fit(table, groups)
    assert_allclose(own.category_count_[0], named.category_count_[0])
    assert_allclose(own.feature_log_prob_[0], named.feature_log_prob_[0])
    assert str(own.probability_table()) == str(named.probability_table())


def test_text_in_a_family_of_numbers_is_explained(groups):
    table = pd.DataFrame({"colour": ["red", "blue"] * 200})
    with pytest.raises(OptionError, match="column of text the family GaussianFamily"):
        NaiveBayes({"colour": GaussianFamily()}).fit(table, groups)


def test_a_class_of_families_is_not_a_family(groups):
    with pytest.raises(OptionError, match=r"holds the class BernoulliFamily.*write BernoulliFamily\(\)"):
        MixtureModel(2, features=BernoulliFamily).fit(groups[:, None].astype(float))

"""Options and attributes that users of scikit-learn's discriminants expect."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.covariance import OAS, EmpiricalCovariance, LedoitWolf
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.mixture import GaussianMixture as TheirMixture

import eigenlens
from eigenlens import LinearDiscriminant, QuadraticDiscriminant
from eigenlens.errors import OptionError

IRIS, SPECIES = load_iris(return_X_y=True)


@pytest.mark.parametrize("own", [OAS(), LedoitWolf(), EmpiricalCovariance()])
def test_linear_rule_with_a_covariance_estimator(own):
    ours = LinearDiscriminant(covariance_estimator=own).fit(IRIS, SPECIES)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=own).fit(IRIS, SPECIES)
    assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-10)
    assert_allclose(ours.predict_proba(IRIS), theirs.predict_proba(IRIS), atol=1e-9)
    assert ours.solver_.solver == "covariance_estimator"


def test_quadratic_rule_with_a_covariance_estimator(tmp_path):
    model = QuadraticDiscriminant(covariance_estimator=OAS()).fit(IRIS, SPECIES)
    for c in range(3):
        assert_allclose(model.covariances_[c], OAS().fit(IRIS[c == SPECIES]).covariance_, rtol=1e-12)
    model.save(tmp_path / "q.safetensors")
    loaded = eigenlens.load(tmp_path / "q.safetensors")
    assert_allclose(loaded.predict_proba(IRIS), model.predict_proba(IRIS), rtol=1e-12)
    assert loaded.covariance_estimator is None
    plain = QuadraticDiscriminant().fit(IRIS, SPECIES)
    same = QuadraticDiscriminant(covariance_estimator=EmpiricalCovariance()).fit(IRIS, SPECIES)
    assert_allclose(same.covariances_, plain.covariances_, rtol=1e-12)


def test_covariance_estimators_that_do_not_fit():
    w = np.ones(150)
    for options, fit, message in [
        ({"covariance_estimator": "oas"}, {}, "must be an estimator with fit and covariance_"),
        ({"covariance_estimator": OAS(), "shrinkage": 0.1}, {}, "leave out shrinkage"),
        ({"covariance_estimator": OAS()}, {"sample_weight": w}, "OAS, whose fit takes no sample_weight"),
    ]:
        with pytest.raises(OptionError, match=message):
            LinearDiscriminant(**options).fit(IRIS, SPECIES, **fit)
    with pytest.raises(OptionError, match="needs all rows of a class at once"):
        LinearDiscriminant(covariance_estimator=OAS()).partial_fit(IRIS, SPECIES)
    with pytest.raises(ValueError, match="has no finite covariance_"):
        LinearDiscriminant(covariance_estimator=TheirMixture()).fit(IRIS, SPECIES)
    X = IRIS.copy()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        LinearDiscriminant(covariance_estimator=OAS()).fit(X, SPECIES)


def test_decision_function_of_the_quadratic_rule():
    model = QuadraticDiscriminant().fit(IRIS, SPECIES)
    joint = np.stack(
        [
            multivariate_normal(IRIS[c == SPECIES].mean(axis=0), np.cov(IRIS[c == SPECIES].T, bias=True)).logpdf(IRIS)
            for c in range(3)
        ],
        axis=1,
    )
    assert_allclose(model.decision_function(IRIS), joint + np.log(1 / 3) + 2.0 * np.log(2.0 * np.pi), rtol=1e-9)
    two = QuadraticDiscriminant().fit(IRIS[50:], SPECIES[50:])
    log_odds = np.diff(two.predict_log_proba(IRIS[50:])).ravel()
    assert_allclose(two.decision_function(IRIS[50:]), log_odds, rtol=1e-8, atol=1e-8)
    gone = IRIS[50:].copy()
    gone[::3, 2] = np.nan
    assert_allclose(two.decision_function(gone), np.diff(two.predict_log_proba(gone)).ravel(), rtol=1e-8, atol=1e-8)


def test_fishers_criterion_is_the_ratio_of_variances():
    model = LinearDiscriminant().fit(IRIS, SPECIES)
    Z = model.transform(IRIS)
    within = sum(np.var(Z[c == SPECIES], axis=0) for c in range(3)) / 3
    between = np.var([Z[c == SPECIES].mean(axis=0) for c in range(3)], axis=0)
    assert_allclose(model.criterion_, between / within, rtol=1e-10)
    assert_allclose(model.criterion_ / model.criterion_.sum(), model.explained_variance_ratio_, rtol=1e-12)
    assert LinearDiscriminant(1).fit(IRIS, SPECIES).criterion_.shape == (1,)


class ScaledLedoitWolf:
    """An estimator as simple as scikit-learn allows: `fit` alone, which returns nothing."""

    def fit(self, X):
        """Estimate the covariance of standardised columns."""
        s = X.std(axis=0)
        self.covariance_ = LedoitWolf().fit(X / s).covariance_ * np.outer(s, s)


def test_covariance_estimators_need_no_more_than_fit():
    ours = LinearDiscriminant(covariance_estimator=ScaledLedoitWolf()).fit(IRIS, SPECIES)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(IRIS, SPECIES)
    assert_allclose(ours.predict_proba(IRIS), theirs.predict_proba(IRIS), atol=1e-9)
    with pytest.raises(OptionError, match="must be an estimator with fit"):
        LinearDiscriminant(covariance_estimator=LedoitWolf).fit(IRIS, SPECIES)


@pytest.mark.parametrize("model", [LinearDiscriminant, QuadraticDiscriminant])
def test_priors_have_scikit_learns_name_too(model):
    fit = model(prior=[0.2, 0.3, 0.5]).fit(IRIS, SPECIES)
    assert_allclose(fit.priors_, [0.2, 0.3, 0.5])
    assert_allclose(fit.class_log_prior_, np.log(fit.priors_))

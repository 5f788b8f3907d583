"""Reliability of sums, and Velicer's rule: definitions, closed forms, simulation."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from eigenlens import DataError, FactorAnalysis, OptionError, cronbach_alpha, datasets
from eigenlens.latent.n_components import average_partials
from references.factanal import HARMAN_CORRELATIONS

W = np.array([0.8, 0.7, 0.6, 0.5])
R = np.outer(W, W) + np.diag(1.0 - W**2)


def test_alpha_is_its_definition_of_rows_weights_and_matrices():
    X = datasets.load("questionnaire", n=200).data[:, :4]
    variances, total = X.var(axis=0, ddof=1), X.sum(axis=1).var(ddof=1)
    alpha = 4.0 / 3.0 * (1.0 - variances.sum() / total)
    assert cronbach_alpha(X) == pytest.approx(alpha, rel=1e-12)
    assert cronbach_alpha(np.cov(X.T)) == pytest.approx(alpha, rel=1e-12)
    assert cronbach_alpha(pl.DataFrame(X, schema=list("abcd"))) == pytest.approx(alpha, rel=1e-12)
    r = np.corrcoef(X.T)[np.triu_indices(4, 1)].mean()
    standardised = 4.0 * r / (1.0 + 3.0 * r)
    assert cronbach_alpha(X, standardize=True) == pytest.approx(standardised, rel=1e-12)
    assert cronbach_alpha(np.cov(X.T), standardize=True) == pytest.approx(standardised, rel=1e-12)
    w = np.random.default_rng(0).integers(1, 4, 200)
    assert cronbach_alpha(X, sample_weight=w) == pytest.approx(cronbach_alpha(np.repeat(X, w, axis=0)), rel=1e-12)


def test_omega_is_the_reliability_of_the_sum_and_alpha_is_not_above_it():
    fa = FactorAnalysis(1).fit_covariance(R, 500)
    omega = W.sum() ** 2 / (W.sum() ** 2 + np.sum(1.0 - W**2))
    assert fa.omega() == pytest.approx(omega, abs=1e-6)
    assert cronbach_alpha(R) < omega
    equal = np.full((4, 4), 0.36) + 0.64 * np.eye(4)
    assert cronbach_alpha(equal) == pytest.approx(FactorAnalysis(1).fit_covariance(equal, 500).omega(), abs=1e-6)


def test_omega_is_the_squared_correlation_of_the_sum_with_the_factor():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((400_000, 1))
    X = z * W + rng.standard_normal((400_000, 4)) * np.sqrt(1.0 - W**2)
    found = np.corrcoef(X.sum(axis=1), z[:, 0])[0, 1] ** 2
    assert FactorAnalysis(1).fit_covariance(R, 500).omega() == pytest.approx(found, abs=0.003)


@pytest.mark.parametrize("standardize", [False, True])
def test_omega_does_not_depend_on_the_rotation(standardize):
    X = datasets.load("questionnaire", n=300).data * np.linspace(1.0, 3.0, 12)
    plain, oblique = (FactorAnalysis(3, rotation=name, standardize=standardize).fit(X) for name in (None, "oblimin"))
    assert plain.omega() == pytest.approx(oblique.omega(), rel=1e-9)
    L, Phi = oblique.loadings_, oblique.factor_correlations_
    common = np.ones(12) @ L @ Phi @ L.T @ np.ones(12)
    assert oblique.omega() == pytest.approx(common / (common + oblique.noise_variance_.sum()), rel=1e-9)


def test_sums_without_reliability_are_errors():
    with pytest.raises(DataError, match="1 column"):
        cronbach_alpha(np.arange(5.0)[:, None])
    with pytest.raises(DataError, match="does not vary"):
        cronbach_alpha(np.outer(np.arange(5.0), [1.0, -1.0]))
    with pytest.raises(DataError, match="missing entries"):
        cronbach_alpha(np.array([[1.0, 2.0], [np.nan, 1.0], [2.0, 4.0]]))


def test_average_partials_are_those_of_residuals_of_regressions():
    X = datasets.load("questionnaire", n=300).data
    Y = (X - X.mean(axis=0)) / X.std(axis=0)
    scores = Y @ np.linalg.eigh(np.corrcoef(X.T))[1][:, ::-1]
    found = average_partials(np.corrcoef(X.T))
    for m in (0, 1, 3, 6):
        left = Y - scores[:, :m] @ np.linalg.lstsq(scores[:, :m], Y)[0] if m else Y
        partial = np.corrcoef(left.T)[np.triu_indices(12, 1)]
        assert found[m] == pytest.approx(np.mean(partial**2), rel=1e-9)


def test_velicers_rule_finds_four_factors_in_24_tests_and_three_traits():
    # psych: vss(Harman74.cor$cov, n.obs = 145): "The Velicer MAP achieves a minimum of 0.02 with 4 factors".
    fa = FactorAnalysis("map").fit_covariance(HARMAN_CORRELATIONS, 145)
    assert (fa.n_components_, fa.selection_.rule) == (4, "map")
    assert fa.selection_.values.min() == pytest.approx(0.0174, abs=5e-5)
    X = datasets.load("questionnaire", n=400).data
    assert FactorAnalysis("map").fit(X).n_components_ == 3
    X[::7, 2] = np.nan
    assert FactorAnalysis("map").fit(X).n_components_ == 3
    with pytest.raises(OptionError, match="'bic' or 'map'"):
        FactorAnalysis("parallel").fit_covariance(HARMAN_CORRELATIONS, 145)


def test_a_variable_with_nothing_left_ends_the_comparison():
    assert np.isinf(average_partials(np.ones((3, 3)))[1])

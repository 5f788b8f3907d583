"""Minimum residuals and principal axes: closed forms, a general optimiser, and each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import eigenlens
from eigenlens import ConvergenceWarning, DataError, FactorAnalysis, datasets
from eigenlens.latent.factor.least_squares import residual_point
from references.factanal import ABILITY_COVARIANCE, HARMAN_CORRELATIONS

SOLVERS = ("minres", "principal-axis")


def off_diagonal(w, R, k):
    """½ Σ_{i≠j} (r_ij − w_iᵀ w_j)² and its gradient: the definition."""
    W = w.reshape(-1, k)
    E = R - W @ W.T
    np.fill_diagonal(E, 0.0)
    return 0.5 * np.sum(E**2), (-2.0 * E @ W).ravel()


@pytest.mark.parametrize("k", [1, 2, 4, 5])
def test_no_optimiser_of_the_loadings_finds_less(k):
    R = HARMAN_CORRELATIONS
    found = FactorAnalysis(k, solver="minres").fit_covariance(R, 145)
    start = FactorAnalysis(k).fit_covariance(R, 145).loadings_.ravel()
    best = minimize(off_diagonal, start, (R, k), jac=True, method="BFGS", options={"gtol": 1e-10, "maxiter": 5000})
    mine, _ = off_diagonal(found.loadings_.ravel(), R, k)
    assert mine <= best.fun + 1e-10
    V = best.x.reshape(24, k)
    np.testing.assert_allclose(found.loadings_ @ found.loadings_.T, V @ V.T, atol=2e-6)
    assert found.converged_


@pytest.mark.parametrize("k", [1, 2, 4])
def test_principal_axes_end_at_the_same_factors(k):
    R = HARMAN_CORRELATIONS
    first = FactorAnalysis(k, solver="minres", tol=1e-9).fit_covariance(R, 145)
    second = FactorAnalysis(k, solver="principal-axis", tol=1e-10).fit_covariance(R, 145)
    np.testing.assert_allclose(second.loadings_, first.loadings_, atol=1e-7)
    assert second.n_iter_ > first.n_iter_


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_exact_structure_is_found(solver):
    rng = np.random.default_rng(0)
    W = rng.uniform(-0.6, 0.6, (10, 2))
    R = W @ W.T + np.diag(1.0 - (W**2).sum(axis=1))
    found = FactorAnalysis(2, solver=solver, tol=1e-9).fit_covariance(R, 300)
    np.testing.assert_allclose(found.loadings_ @ found.loadings_.T, W @ W.T, atol=1e-6)
    np.testing.assert_allclose(found.uniquenesses_, 1.0 - (W**2).sum(axis=1), atol=1e-6)
    assert found.goodness_of_fit().chi2 == pytest.approx(0.0, abs=1e-6)
    ml = FactorAnalysis(2).fit_covariance(R, 300)
    assert found.loglik_ == pytest.approx(ml.loglik_, abs=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_three_variables_have_a_closed_form(solver):
    R = np.array([[1.0, 0.56, 0.48], [0.56, 1.0, 0.42], [0.48, 0.42, 1.0]])
    found = FactorAnalysis(1, solver=solver, tol=1e-10).fit_covariance(R, 100)
    np.testing.assert_allclose(found.loadings_.ravel(), [0.8, 0.7, 0.6], atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_unrotated_form_the_units_and_the_rows(solver):
    X = datasets.load("questionnaire", n=300).data * np.geomspace(0.1, 100.0, 12)
    found = FactorAnalysis(3, solver=solver, standardize=True, tol=1e-8).fit(X)
    product = found.loadings_.T @ found.loadings_
    np.testing.assert_allclose(product, np.diag(np.sort(product.diagonal())[::-1]), atol=1e-6)
    same = FactorAnalysis(3, solver=solver, tol=1e-8).fit_covariance(np.corrcoef(X.T), 300)
    np.testing.assert_allclose(found.loadings_, same.loadings_, atol=1e-6)
    assert found.score(X) * 300 == pytest.approx(found.loglik_, rel=1e-10)
    assert found.loglik_ < FactorAnalysis(3).fit(X).loglik_


def test_weights_are_repetitions_and_a_file_keeps_the_fit(tmp_path):
    X = datasets.load("questionnaire", n=60).data
    w = np.random.default_rng(0).integers(1, 4, 60)
    first = FactorAnalysis(2, solver="minres").fit(X, sample_weight=w)
    second = FactorAnalysis(2, solver="minres").fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(first.loadings_, second.loadings_, atol=1e-6)
    first.save(tmp_path / "fa.safetensors")
    again = eigenlens.load(tmp_path / "fa.safetensors")
    assert again.solver == "minres"
    np.testing.assert_array_equal(again.loadings_, first.loadings_)


def test_more_columns_than_rows_and_a_rule():
    X = np.random.default_rng(0).standard_normal((12, 40)) + np.random.default_rng(1).standard_normal((12, 1))
    assert FactorAnalysis(1, solver="minres").fit(X).loadings_.shape == (40, 1)
    rows = datasets.load("questionnaire", n=400).data
    assert FactorAnalysis("bic", solver="minres").fit(rows).n_components_ == 3


def test_gradients_are_those_of_the_squares_that_remain():
    R, psi = HARMAN_CORRELATIONS, np.linspace(0.3, 0.7, 24)
    point, h = residual_point(R, 3, psi), 1e-6
    for j in (0, 7, 23):
        step = h * (np.arange(24) == j)
        slope = (residual_point(R, 3, psi + step).F - residual_point(R, 3, psi - step).F) / (2 * h)
        assert point.g[j] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_early_stops_and_missing_values_are_reported(solver):
    with pytest.warns(ConvergenceWarning, match=f"solver '{solver}' stopped after 2 steps with a"):
        FactorAnalysis(2, solver=solver, max_iter=2).fit_covariance(ABILITY_COVARIANCE, 112)
    X = datasets.load("questionnaire", n=50).data
    X[0, 0] = np.nan
    with pytest.raises(DataError, match=f"solver='{solver}' needs complete rows"):
        FactorAnalysis(2, solver=solver).fit(X)


@pytest.mark.parametrize(
    ("given", "same"),
    [
        ({"solver": "ml"}, {}),
        ({"solver": "pa"}, {"solver": "principal-axis"}),
        ({"rotation": "geominQ"}, {"rotation": "geomin"}),
        ({"rotation": "quartimin"}, {"rotation": "oblimin"}),
    ],
)
def test_methods_have_the_names_of_psych_too(given, same):
    named, ours = (FactorAnalysis(2, **each).fit_covariance(HARMAN_CORRELATIONS, 145) for each in (given, same))
    np.testing.assert_array_equal(named.loadings_, ours.loadings_)
    np.testing.assert_array_equal(named.standard_errors().loadings, ours.standard_errors().loadings)

"""Factor analysis: R's numbers, slow twins of the likelihood, and the laws that a maximum obeys."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime, linear_sum_assignment
from scipy.stats import chi2, multivariate_normal, ncx2
from sklearn.datasets import load_iris

from eigenlens.data.memory import ArraySource
from eigenlens.data.source import accumulate
from eigenlens.errors import DataError, OptionError
from eigenlens.latent.factor import profile_likelihood as factor_profile
from eigenlens.latent.factor.adequacy import bartlett_sphericity, correlation_adequacy, correlation_sphericity, kmo
from eigenlens.latent.factor.correlation_operator import (
    DenseCorrelations,
    RowCorrelations,
    StreamedCorrelations,
    choose_correlations,
)
from eigenlens.latent.factor.fit import fit_each_factor, fit_factor, fit_factor_covariance
from eigenlens.latent.factor.goodness_of_fit import (
    degrees_of_freedom,
    goodness_of_fit,
    max_factors,
    reference_likelihoods,
)
from eigenlens.latent.factor.profile_likelihood import profile_point
from eigenlens.latent.factor.solvers import heywood_columns
from eigenlens.linalg.operators import CentredRows
from eigenlens.missing.result import principal_form
from eigenlens.rotation import ROTATIONS
from eigenlens.stats.moments import Moments
from references import airquality as air
from references import factanal as numbers
from references import rotations as rotated

MATRICES = {"ability": (numbers.ABILITY_COVARIANCE, 112), "harman74": (numbers.HARMAN_CORRELATIONS, 145)}


def table(n=300, d=8, k=2, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((d, k))
    return rng.standard_normal((n, k)) @ W.T + noise * rng.uniform(0.3, 1.5, d) * rng.standard_normal((n, d)) + 5.0


def loglik(X, model):
    return multivariate_normal(model.mean, model.covariance()).logpdf(X).sum()


def matched(found, wanted):
    """The columns of `found` in the order and with the signs that come nearest to `wanted`."""
    products = wanted.T @ found
    _, order = linear_sum_assignment(-np.abs(products))
    return found[:, order] * np.sign(products[np.arange(len(order)), order])


def correlation_loadings(S, fit):
    return fit.model.loadings / np.sqrt(np.diag(S))[:, None]


# ---- R ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("data", "k"), numbers.SUMMARY)
def test_factanal_summary(data, k, accuracy):
    S, n = MATRICES[data]
    fit = fit_factor_covariance(S, n, k)
    objective, df, statistic, p, loglik_standardised = numbers.SUMMARY[data, k]
    good = goodness_of_fit(fit.loglik, reference_likelihoods(fit.moments), n, len(S), k)
    assert (good.df, fit.converged) == (df, True)
    what, system = f"factor analysis of {data}, k = {k}", "R 4.2.2, factanal"
    accuracy.close(f"{what}: chi²", good.chi2, statistic, system=system, atol=1e-5)
    assert good.p == pytest.approx(p, rel=1e-5)
    F = 2.0 * (reference_likelihoods(fit.moments).saturated - fit.loglik) / n
    assert pytest.approx(objective, abs=1e-7) == F
    standardised = fit.loglik + 0.5 * n * np.log(np.diag(S)).sum()
    accuracy.close(f"{what}: log-likelihood", standardised, loglik_standardised, system=system, atol=1e-6)
    assert standardised > loglik_standardised - 1e-8  # never below


@pytest.mark.parametrize(("data", "k"), numbers.UNIQUENESSES)
@pytest.mark.parametrize("solver", ["quasi-newton", "em"])
def test_factanal_uniquenesses(data, k, solver, accuracy):
    S, n = MATRICES[data]
    fit = fit_factor_covariance(S, n, k, solver=solver)
    what, wanted = f"factor analysis of {data}, k = {k}, {solver}: uniquenesses", numbers.UNIQUENESSES[data, k]
    accuracy.close(what, fit.model.noise / np.diag(S), wanted, system="R 4.2.2, factanal", atol=2e-5)


@pytest.mark.parametrize("name", ["ABILITY_2", "HARMAN_4", "HARMAN_5"])
@pytest.mark.parametrize("rotation", ["none", "varimax", "promax"])
def test_factanal_loadings(name, rotation, accuracy):
    data, k = ("ability", 2) if name == "ABILITY_2" else ("harman74", int(name[-1]))
    S, n = MATRICES[data]
    L = correlation_loadings(S, fit_factor_covariance(S, n, k))
    if rotation != "none":
        L = ROTATIONS[rotation](L, polish=False).loadings
    wanted = getattr(rotated, f"{name}_{rotation.upper()}")
    what = f"factor analysis of {data}, k = {k}: loadings, rotation {rotation}"
    accuracy.close(what, matched(L, wanted), wanted, system="R 4.2.2, factanal", atol=1e-4)


@pytest.mark.parametrize("scaled", [False, True])
def test_missing_values_against_lavaan(scaled, accuracy):
    X = air.DATA
    scale = np.nanstd(X, axis=0, ddof=1) if scaled else np.ones(4)
    fit = fit_factor(ArraySource(X / scale), 1)
    shift = np.sum(~np.isnan(X) * np.log(scale))
    assert fit.solver == "em"
    what = f"factor analysis of airquality with missing values, k = 1{', scaled' if scaled else ''}: log-likelihood"
    accuracy.close(what, fit.loglik - shift, air.FACTOR_ANALYSIS[1], system="lavaan, FIML", atol=1e-6)


# ---- twins ------------------------------------------------------------------------------------------------


def test_the_profile_is_the_likelihood_and_its_gradient_is_right():
    R, k = numbers.HARMAN_CORRELATIONS, 3
    t = np.log(np.random.default_rng(0).uniform(0.2, 0.9, 24))
    point = profile_point(DenseCorrelations(R), k, t)
    W = point.loadings
    Sigma = W @ W.T + np.diag(np.exp(t))
    assert point.f == pytest.approx(np.linalg.slogdet(Sigma)[1] + np.trace(np.linalg.solve(Sigma, R)), rel=1e-12)
    numeric = approx_fprime(t, lambda s: profile_point(DenseCorrelations(R), k, s).f, 1e-6)
    assert_allclose(point.g, numeric, atol=1e-4)


@pytest.mark.parametrize("solver", ["quasi-newton", "em"])
def test_loglik_is_that_of_the_rows_and_no_small_change_is_better(solver):
    X = table()
    fit = fit_factor(ArraySource(X), 2, solver=solver)
    assert fit.loglik == pytest.approx(loglik(X, fit.model), rel=1e-12)
    assert np.all(np.diff(fit.path) >= 0.0)
    assert fit.path[-1] == fit.loglik
    rng = np.random.default_rng(1)
    for _ in range(20):
        W = fit.model.loadings + 1e-2 * rng.standard_normal((8, 2))
        psi = fit.model.noise * np.exp(1e-2 * rng.standard_normal(8))
        assert loglik(X, type(fit.model)(fit.model.mean, W, psi)) < fit.loglik


def test_em_ends_at_the_maximum_where_a_uniqueness_tends_to_0():
    """There its gains shrink ever more slowly: it seemed to converge 6e-4 below, at one of many places by rounding."""
    X = ArraySource(load_iris().data)
    em, newton = (fit_factor(X, 1, solver=solver) for solver in ("em", "quasi-newton"))
    assert em.converged
    assert em.n_iter == len(em.path) > 20
    assert em.loglik == pytest.approx(newton.loglik, rel=1e-13)
    assert_allclose(em.model.loadings, newton.model.loadings, rtol=1e-8)


def test_at_the_maximum_variances_are_reproduced():
    X = table()
    model = fit_factor(ArraySource(X), 2).model
    assert_allclose(np.diag(model.covariance()), X.var(axis=0), rtol=1e-6)
    assert_allclose(model.mean, X.mean(axis=0))


def test_the_canonical_form():
    model = fit_factor(ArraySource(table(k=3)), 3).model
    G = model.loadings.T @ (model.loadings / model.noise[:, None])
    assert_allclose(G, np.diag(np.diag(G)), atol=1e-9 * G.max())
    assert np.all(np.diff(np.diag(G)) < 0.0)
    largest = np.abs(model.loadings).argmax(axis=0)
    assert np.all(model.loadings[largest, range(3)] > 0.0)


def test_units_do_not_matter():
    X = table()
    scale = np.array([1e-6, 1.0, 1e3, 1e8, 0.1, 1.0, 5.0, 1.0])
    one, other = (fit_factor(ArraySource(rows), 2) for rows in (X, X * scale))
    assert_allclose(other.model.noise / scale**2, one.model.noise, rtol=1e-8)
    assert other.loglik + len(X) * np.log(scale).sum() == pytest.approx(one.loglik, rel=1e-12)


def test_weights_are_copies_and_blocks_change_nothing():
    X = table(n=120)
    w = np.random.default_rng(2).integers(0, 4, len(X))
    copies = fit_factor(ArraySource(np.repeat(X, w, axis=0)), 2)
    weighted = fit_factor(ArraySource(X, block_rows=17).weighted(w.astype(float)), 2)
    assert weighted.loglik == pytest.approx(copies.loglik, rel=1e-12)
    assert_allclose(weighted.model.covariance(), copies.model.covariance(), rtol=1e-7)
    assert weighted.weight == w.sum()


def test_every_way_to_hold_the_correlations_is_the_same():
    X = table(n=30, d=80, k=2)
    rows = CentredRows(ArraySource(X), standardize=True)
    R = np.corrcoef(X.T)
    r, V = np.random.default_rng(3).uniform(0.5, 2.0, 80), np.random.default_rng(4).standard_normal((80, 3))
    w = np.linalg.eigvalsh(R * np.outer(r, r))[::-1][:4]
    assert isinstance(choose_correlations(rows)[0], RowCorrelations)
    ways = [
        DenseCorrelations(R),
        StreamedCorrelations(rows),
        RowCorrelations(np.concatenate(list(rows.centred_blocks()))),
    ]
    for way in ways:
        values, vectors = way.leading(r, 4)
        assert_allclose(values, w, rtol=1e-9)
        assert_allclose((R * np.outer(r, r)) @ vectors, vectors * values, atol=1e-6 * w[0])
        assert_allclose(way.matmat(V), R @ V, atol=1e-10)
        assert np.all((way.uniquenesses(2) > 0.0) & (way.uniquenesses(2) <= 1.0))


def test_large_matrices_by_lanczos(monkeypatch):
    X = table(n=400, d=60, k=2)
    plain = fit_factor(ArraySource(X), 2)
    monkeypatch.setattr("eigenlens.latent.factor.correlation_operator.MAX_LAPACK_COLUMNS", 40)
    monkeypatch.setattr("eigenlens.latent.factor.solvers.MANY_VARIABLES", 40)
    other = fit_factor(ArraySource(X), 2)
    assert other.loglik == pytest.approx(plain.loglik, rel=1e-12)
    assert_allclose(other.model.noise, plain.model.noise, rtol=1e-5)


def test_fewer_rows_than_columns():
    X = table(n=40, d=100, k=2)
    fit = fit_factor(ArraySource(X), 2)
    assert fit.converged
    assert fit.moments is None
    assert fit.loglik == pytest.approx(loglik(X, fit.model), rel=1e-10)
    assert fit.loglik > fit_factor(ArraySource(X), 1).loglik
    assert_allclose(np.diag(fit.model.covariance()), X.var(axis=0), rtol=1e-5)


def test_several_starts_are_at_least_as_good_and_repeatable():
    R, n = MATRICES["harman74"]
    one = fit_factor_covariance(R, n, 6)
    many, again = (fit_factor_covariance(R, n, 6, n_init=5, rng=np.random.default_rng(1)) for _ in range(2))
    assert many.loglik >= one.loglik - 1e-7
    assert many.loglik == again.loglik


def test_several_numbers_of_factors_share_the_pass():
    X = table(k=3)
    fits = list(fit_each_factor(ArraySource(X), [1, 2, 3]))
    assert [fit.model.loadings.shape[1] for fit in fits] == [1, 2, 3]
    assert [fit.loglik for fit in fits] == sorted(fit.loglik for fit in fits)
    assert fits[1].loglik == fit_factor(ArraySource(X), 2).loglik
    assert fits[-1].passes == 1


def test_an_interrupt_keeps_the_best(monkeypatch):
    R, calls = DenseCorrelations(numbers.HARMAN_CORRELATIONS), []
    options = factor_profile.FactorOptions(floor=1e-6, tol=1e-6, max_iter=100)
    whole = factor_profile.minimise_profile(R, 4, np.full(24, 0.5), options)

    class Interrupted(DenseCorrelations):
        def leading(self, r, k):
            calls.append(k)
            if len(calls) == 6:
                raise KeyboardInterrupt
            return super().leading(r, k)

    part = Interrupted(numbers.HARMAN_CORRELATIONS)
    found = factor_profile.minimise_profile(part, 4, np.full(24, 0.5), options)
    assert found.interrupted
    assert not found.converged
    assert whole.path[-1] < found.path[-1] < profile_point(R, 4, np.log(np.full(24, 0.5))).f


# ---- Heywood cases and bad input --------------------------------------------------------------------------


def test_heywood_cases_are_found_and_the_fit_converges():
    R, n = MATRICES["harman74"]
    fit = fit_factor_covariance(R, n, 6)
    assert fit.converged
    assert heywood_columns(fit.model).tolist() == [2]
    assert fit.model.noise[2] == pytest.approx(1e-8, rel=1e-3)
    assert heywood_columns(fit_factor_covariance(R, n, 5).model).size == 0
    assert fit.loglik > fit_factor_covariance(R, n, 6, floor=0.005).loglik + 0.01  # the floor of R's factanal


def test_small_uniquenesses_that_are_real_are_found():
    X = table(n=2000, noise=3e-2)
    fit = fit_factor(ArraySource(X), 2)
    assert fit.converged
    assert 1e-6 < np.min(fit.model.noise / X.var(axis=0)) < 1e-3
    assert heywood_columns(fit.model).size == 0
    assert fit.loglik == pytest.approx(loglik(X, fit.model), rel=1e-8)
    again = fit_factor(ArraySource(X), 2, n_init=3, rng=np.random.default_rng(0))
    assert again.loglik <= fit.loglik + 1e-3


def test_collinear_columns_run_into_the_floor():
    X = table()
    X[:, 1] = 2.0 * X[:, 0] - 1.0
    fit = fit_factor(ArraySource(X), 2)
    assert set(heywood_columns(fit.model)) >= {0, 1}
    assert np.all(np.isfinite(fit.model.loadings))


def test_more_factors_than_correlations_determine():
    X = table(d=6)
    fit = fit_factor(ArraySource(X), 4)
    assert degrees_of_freedom(6, 4) < 0
    good = goodness_of_fit(fit.loglik, reference_likelihoods(fit.moments), len(X), 6, 4)
    assert np.isnan(good.p)
    assert good.chi2 == pytest.approx(0.0, abs=1e-3)
    assert str(good).startswith("test of fit     none  (df -3 leaves nothing to test")
    assert "nan" not in str(good)


def test_what_is_rejected():
    X = table()
    constant = X.copy()
    constant[:, 3] = 7.0
    with pytest.raises(DataError, match="column 3 of X is constant, so"):
        fit_factor(ArraySource(constant), 2)
    constant[:, 5] = 7.0
    with pytest.raises(DataError, match=r"column 3 of X is constant \(and 1 more\), so"):
        fit_factor(ArraySource(constant), 2)
    with pytest.raises(OptionError, match=r"n_components=3 must be at most 2, two less than the number of rows"):
        fit_factor(ArraySource(X[:4]), 3)
    incomplete = X.copy()
    incomplete[0, 0] = np.nan
    with pytest.raises(DataError, match="needs complete rows"):
        fit_factor(ArraySource(incomplete), 2, solver="quasi-newton")
    incomplete[:, 0] = np.nan
    with pytest.raises(DataError, match="column 0 of X has no observed entry"):
        fit_factor(ArraySource(incomplete), 2)
    X[0, 0] = np.inf
    with pytest.raises(DataError, match="infinity"):
        fit_factor(ArraySource(X), 2)


def test_matrices_that_are_rejected():
    with pytest.raises(DataError, match=r"eigenvalue -0\.8, but a covariance matrix has none below 0"):
        fit_factor_covariance([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]], 50, 1)
    with pytest.raises(DataError, match="not symmetric"):
        fit_factor_covariance([[1.0, 0.5], [0.2, 1.0]], 50, 1)
    with pytest.raises(DataError, match="square matrix"):
        fit_factor_covariance(np.ones((2, 3)), 50, 1)
    singular = np.ones((4, 4)) * 0.5 + 0.5 * np.eye(4)
    singular[3] = singular[:, 3] = (singular[0] + singular[1]) / np.sqrt(3.0)
    singular[3, 3] = 1.0
    assert np.isfinite(fit_factor_covariance(singular, 50, 1).loglik)


# ---- missing values -------------------------------------------------------------------------------------------------


def test_without_missing_values_both_likelihoods_have_the_same_maximum():
    from eigenlens.missing.fit import fit_incomplete_rows

    X = table()
    fit = fit_factor(ArraySource(X), 2)
    start = type(fit.model)(np.zeros(8), fit.model.loadings + 0.3, np.ones(8))
    found = fit_incomplete_rows(ArraySource(X), [start], noise="diagonal")
    assert found.path[-1] == pytest.approx(fit.loglik, rel=1e-9)
    assert_allclose(principal_form(found.model).covariance(), fit.model.covariance(), atol=1e-4)


# ---- goodness of fit, adequacy ----------------------------------------------------------------------------


def test_indices_by_their_definitions():
    S, n = MATRICES["harman74"]
    fit = fit_factor_covariance(S, n, 4)
    good = goodness_of_fit(fit.loglik, reference_likelihoods(fit.moments), n, 24, 4)
    assert good.rmsea == pytest.approx(np.sqrt((good.chi2 - 186) / (186 * 144)))
    for edge, share in ((good.rmsea_low, 0.95), (good.rmsea_high, 0.05)):
        assert ncx2(186, edge**2 * 186 * 144).cdf(good.chi2) == pytest.approx(share, abs=1e-6)
    null = -(145 - 1 - 53 / 6) * np.linalg.slogdet(S)[1]
    assert good.tli == pytest.approx((null / 276 - good.chi2 / 186) / (null / 276 - 1.0))
    assert good.parameters == 24 + 24 * 4 - 6 + 24
    assert good.bic - good.aic == pytest.approx(good.parameters * (np.log(145) - 2.0))
    assert "chi²" in str(good)
    assert "df 186" in str(good)


def test_most_factors_is_the_largest_that_can_be_tested():
    for d in range(3, 60):
        k = max_factors(d)
        assert degrees_of_freedom(d, k) >= 0 > degrees_of_freedom(d, k + 1)


def test_chi2_is_chi2_distributed():
    """Over many samples of a true model p is uniform: its mean is a half, and one in ten is below 0.1."""
    rng, p = np.random.default_rng(5), []
    for _ in range(150):
        X = rng.standard_normal((200, 1)) @ np.array([[1.0, 0.8, 1.2, 0.9, 1.1]]) + rng.standard_normal((200, 5))
        fit = fit_factor(ArraySource(X), 1)
        p.append(goodness_of_fit(fit.loglik, reference_likelihoods(fit.moments), 200, 5, 1).p)
    assert abs(np.mean(p) - 0.5) < 0.08
    assert abs(np.mean(np.array(p) < 0.1) - 0.1) < 0.08


def test_kmo_by_regressions_and_bartlett_by_its_formula():
    X = table(n=200, d=5)
    R = np.corrcoef(X.T)
    partial = np.eye(5)
    for i in range(5):
        for j in range(5):
            if i != j:
                others = np.column_stack([np.ones(200), np.delete(X, [i, j], axis=1)])
                left = [X[:, c] - others @ np.linalg.lstsq(others, X[:, c], rcond=None)[0] for c in (i, j)]
                partial[i, j] = np.corrcoef(*left)[0, 1]
    off = ~np.eye(5, dtype=bool)
    found = kmo(X)
    assert found.overall == pytest.approx((R[off] ** 2).sum() / ((R[off] ** 2).sum() + (partial[off] ** 2).sum()))
    r, q = (R[0, 1:] ** 2).sum(), (partial[0, 1:] ** 2).sum()
    assert found.variables[0] == pytest.approx(r / (r + q))
    test = bartlett_sphericity(X)
    assert (test.df, test.chi2) == (10, pytest.approx(-(199 - 15 / 6) * np.linalg.slogdet(R)[1]))
    assert test.p == pytest.approx(chi2(10).sf(test.chi2))
    assert 0.8 < correlation_adequacy(numbers.HARMAN_CORRELATIONS).overall < 0.95
    assert correlation_sphericity(numbers.HARMAN_CORRELATIONS, 145).p < 1e-100


def test_adequacy_of_matrices():
    X = table(n=200, d=5)
    S = np.cov(X.T)
    for matrix in (S, np.corrcoef(X.T), pd.DataFrame(S), S.tolist()):
        assert kmo(matrix).overall == pytest.approx(kmo(X).overall, rel=1e-10)
        found = bartlett_sphericity(matrix, n_samples=200)
        assert found.chi2 == pytest.approx(bartlett_sphericity(X).chi2, rel=1e-10)
    with pytest.raises(OptionError, match="n_samples is needed: X is a correlation or covariance matrix"):
        bartlett_sphericity(S)
    with pytest.raises(OptionError, match="n_samples=200 is the number of rows behind a correlation matrix, but X is"):
        bartlett_sphericity(X, n_samples=200)
    square = table(n=5, d=5)[:, :3]
    assert 0.0 < kmo(np.column_stack([square, square[::-1, :1] + [[0], [1], [0], [2], [5]]])).overall < 1.0
    w = np.ones(200)
    w[:3] = 0.0
    X[:3] = np.nan
    assert kmo(X, sample_weight=w).overall == pytest.approx(kmo(X[3:]).overall, rel=1e-10)


def test_adequacy_rejects_what_has_no_partial_correlations():
    X = table(n=50, d=4)
    incomplete = X.copy()
    incomplete[3, 2] = np.nan
    for measure in (kmo, bartlett_sphericity):
        with pytest.raises(DataError, match=r"missing entries \(NaN\).*ProbabilisticPCA\(3\)\.fit\(X\)"):
            measure(incomplete)
        with pytest.raises(DataError, match="infinity"):
            measure(np.where(np.isnan(incomplete), np.inf, incomplete))
    X[:, 3] = X[:, 0] + X[:, 1]
    for measure in (kmo, bartlett_sphericity):
        with pytest.raises(DataError, match="singular"):
            measure(X)
    with pytest.raises(DataError, match="singular"):
        bartlett_sphericity(table(n=20, d=30))
    with pytest.raises(DataError, match=r"n=3 rows, too few for Bartlett's test of 4 columns; it needs 4"):
        bartlett_sphericity(table(n=3, d=4))
    X[:, 3] = 1.0
    with pytest.raises(DataError, match="column 3 of X is constant"):
        bartlett_sphericity(X)


def test_moments_alone_are_enough():
    X = table()
    moments = accumulate(ArraySource(X), Moments.of)
    fit = fit_factor_covariance(moments.covariance(0.0), moments.weight, 2)
    assert fit.loglik == pytest.approx(fit_factor(ArraySource(X), 2).loglik, rel=1e-12)

"""Models without a latent dimension: a spherical Gaussian, and independent columns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import chi2, norm

import eigenlens
from eigenlens import PCA, FactorAnalysis, ProbabilisticPCA
from eigenlens.errors import OptionError


def rows(n=50, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + np.arange(d)


@pytest.mark.parametrize("solver", ["auto", "closed-form", "em", "accelerated-em"])
def test_it_is_the_spherical_gaussian(solver, tmp_path):
    X = rows()
    ppca = ProbabilisticPCA(0, solver=solver).fit(X)
    noise = np.mean((X - X.mean(axis=0)) ** 2)
    np.testing.assert_allclose(ppca.noise_variance_, noise, rtol=1e-12)
    wanted = norm(X.mean(axis=0), np.sqrt(noise)).logpdf(X)
    np.testing.assert_allclose(ppca.score_samples(X), wanted.sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(ppca.loglik_, wanted.sum(), rtol=1e-12)
    np.testing.assert_allclose(ppca.bic(), -2 * wanted.sum() + 5 * np.log(50), rtol=1e-12)
    assert ppca.transform(X).shape == (50, 0)
    assert ppca.components_.shape == (0, 4)
    np.testing.assert_allclose(ppca.inverse_transform(ppca.transform(X)), np.tile(X.mean(axis=0), (50, 1)))
    np.testing.assert_allclose(ppca.get_covariance(), noise * np.eye(4), rtol=1e-10)
    assert ppca.sample(3).shape == (3, 4)
    ppca.save(tmp_path / "noise.safetensors")
    assert eigenlens.load(tmp_path / "noise.safetensors").score(X) == ppca.score(X)


def test_weights_sparse_rows_covariances_and_truncation():
    X, weight = rows(), np.random.default_rng(1).integers(0, 4, 50)
    whole = ProbabilisticPCA(0).fit(np.repeat(X, weight, axis=0))
    weighted = ProbabilisticPCA(0).fit(X, sample_weight=weight)
    np.testing.assert_allclose([weighted.noise_variance_, weighted.loglik_], [whole.noise_variance_, whole.loglik_])
    plain = ProbabilisticPCA(0).fit(X)
    for other in (
        ProbabilisticPCA(0).fit(sparse.csr_array(X)),
        ProbabilisticPCA(0).fit_covariance(np.cov(X.T, ddof=0), 50, X.mean(axis=0)),
        ProbabilisticPCA(3).fit(X).truncated(0),
    ):
        np.testing.assert_allclose([other.noise_variance_, other.loglik_], [plain.noise_variance_, plain.loglik_])


def test_incomplete_rows_have_a_closed_form():
    X = rows()
    X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    X[7] = np.nan
    with pytest.warns(eigenlens.errors.DataWarning, match="1 rows have no observed entry"):
        ppca = ProbabilisticPCA(0).fit(X)
    mean = np.nanmean(X, axis=0)
    noise = np.nanmean((X - mean) ** 2)
    np.testing.assert_allclose(ppca.mean_, mean, rtol=1e-12)
    np.testing.assert_allclose(ppca.noise_variance_, noise, rtol=1e-12)
    np.testing.assert_allclose(ppca.loglik_, np.nansum(norm(mean, np.sqrt(noise)).logpdf(X)), rtol=1e-12)
    np.testing.assert_allclose(ppca.impute(X), np.where(np.isnan(X), mean, X))
    assert ppca.n_samples_ == 49
    assert ppca.loglik_ < ProbabilisticPCA(1).fit(X[~np.isnan(X).all(axis=1)]).loglik_


@pytest.mark.parametrize("options", [{}, {"solver": "em"}, {"solver": "minres"}, {"rotation": "varimax"}])
def test_no_factors_are_independent_columns(options, tmp_path):
    X = rows()
    fa = FactorAnalysis(0, **options).fit(X)
    wanted = norm(X.mean(axis=0), X.std(axis=0)).logpdf(X)
    np.testing.assert_allclose(fa.score_samples(X), wanted.sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(fa.loglik_, wanted.sum(), rtol=1e-12)
    np.testing.assert_allclose(fa.get_covariance(), np.diag(X.var(axis=0)), atol=1e-10)
    assert fa.transform(X).shape == (50, 0)
    assert fa.communalities_.tolist() == [0.0] * 4
    np.testing.assert_allclose(fa.inverse_transform(fa.transform(X)), np.tile(X.mean(axis=0), (50, 1)))
    fa.save(tmp_path / "none.safetensors")
    assert eigenlens.load(tmp_path / "none.safetensors").score(X) == fa.score(X)


def test_the_fit_of_no_factors_is_bartletts_test_of_sphericity():
    X = rows()
    fit = FactorAnalysis(0).fit(X).goodness_of_fit()
    # factanal's correction with 0 factors is Bartlett's: −(n − 1 − (2d + 5) / 6) ln|R|
    statistic = -(49 - 13 / 6) * np.linalg.slogdet(np.corrcoef(X.T))[1]
    np.testing.assert_allclose(fit.chi2, statistic, rtol=1e-10)
    np.testing.assert_allclose(fit.p, chi2(6).sf(statistic), rtol=1e-8)


def test_no_factors_of_incomplete_rows():
    X = rows()
    X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    mean, spread = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    fa = FactorAnalysis(0).fit(X)
    np.testing.assert_allclose(fa.noise_variance_, spread**2, rtol=1e-12)
    np.testing.assert_allclose(fa.loglik_, np.nansum(norm(mean, spread).logpdf(X)), rtol=1e-12)
    np.testing.assert_allclose(fa.impute(X), np.where(np.isnan(X), mean, X))


def test_no_components_are_the_mean_alone(tmp_path):
    X = rows()
    pca, whole = PCA(0).fit(X), PCA().fit(X)
    assert pca.transform(X).shape == (50, 0)
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(X)), np.tile(X.mean(axis=0), (50, 1)))
    np.testing.assert_allclose(pca.noise_variance_, X.var(axis=0, ddof=1).mean(), rtol=1e-12)
    spread = np.sqrt(pca.noise_variance_)
    np.testing.assert_allclose(pca.score_samples(X), norm(X.mean(axis=0), spread).logpdf(X).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(pca.reconstruction_error(X), whole.reconstruction_error(X, k=0), rtol=1e-12)
    np.testing.assert_allclose(whole.truncated(0).score(X), pca.score(X), rtol=1e-12)
    pca.save(tmp_path / "mean.safetensors")
    assert eigenlens.load(tmp_path / "mean.safetensors").score(X) == pca.score(X)


@pytest.mark.parametrize("model", [PCA, FactorAnalysis, ProbabilisticPCA])
def test_negative_numbers_are_rejected(model):
    with pytest.raises(OptionError, match="n_components=-1 must be at least 0"):
        model(-1).fit(rows())


def test_no_factors_of_columns_of_very_different_sizes():
    """Their precision needs no root of W, whose rows decide how other models of such columns are inverted."""
    X = rows() * [1e-3, 1.0, 1.0, 1e3]
    fa = FactorAnalysis(0).fit(X)
    np.testing.assert_allclose(fa.get_precision(), np.diag(1.0 / X.var(axis=0)), rtol=1e-10)
    np.testing.assert_allclose(fa.standard_errors().noise_variance, X.var(axis=0) * np.sqrt(2.0 / 50), rtol=1e-8)


def test_a_reconstruction_from_no_components_is_not_drawn():
    with pytest.raises(OptionError, match="no components, so there is nothing to show"):
        eigenlens.plot.reconstruction(PCA(0).fit(rows()), rows())

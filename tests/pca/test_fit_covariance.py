"""PCA and probabilistic PCA of a covariance matrix in place of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import eigenlens
from eigenlens import PCA, FactorAnalysis, ProbabilisticPCA
from eigenlens.errors import DataError, OptionError


def rows(n=90, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + np.arange(d)


X = rows()
N = len(X)


def assert_same_pca(made, fitted):
    names = ("components_", "explained_variance_", "singular_values_", "total_variance_", "noise_variance_", "scale_")
    for name in names:
        np.testing.assert_allclose(getattr(made, name), getattr(fitted, name), atol=1e-9)
    assert made.n_samples_ == fitted.n_samples_ == N
    np.testing.assert_allclose(made.transform(X), fitted.transform(X), atol=1e-9)
    np.testing.assert_allclose(made.score_samples(X), fitted.score_samples(X), rtol=1e-9)


@pytest.mark.parametrize("n_components", [2, 0.8, "mle", "kaiser", None])
@pytest.mark.parametrize("standardize", [False, True])
def test_pca_of_a_covariance_is_that_of_its_rows(n_components, standardize):
    made = PCA(n_components, standardize=standardize)
    made.fit_covariance(np.cov(X.T), n_samples=N, mean=X.mean(axis=0))
    assert_same_pca(made, PCA(n_components, standardize=standardize).fit(X))


def test_pca_of_second_moments():
    assert_same_pca(PCA(2, center=False).fit_covariance(X.T @ X / N, N), PCA(2, center=False).fit(X))
    with pytest.raises(OptionError, match="mean has no effect with center=False"):
        PCA(2, center=False).fit_covariance(X.T @ X / N, N, mean=np.zeros(5))


def test_rows_can_be_added_and_the_model_saved(tmp_path):
    pca = PCA(2).fit_covariance(np.cov(X[:50].T), 50, X[:50].mean(axis=0))
    pca.save(tmp_path / "model.safetensors")
    again = eigenlens.load(tmp_path / "model.safetensors")
    assert_same_pca(again.partial_fit(X[50:]), PCA(2).fit(X))
    assert_same_pca(pca.merge(PCA(2).fit(X[50:])), PCA(2).fit(X))


def test_names_constant_columns_and_rules_that_need_rows():
    S = pd.DataFrame(np.diag([4.0, 1.0, 0.0]), columns=["a", "b", "c"])
    pca = PCA(2).fit_covariance(S, 30)
    assert list(pca.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(pca.explained_variance_, [4.0, 1.0])
    np.testing.assert_array_equal(pca.mean_, 0.0)
    with pytest.raises(OptionError, match="needs the rows themselves"):
        PCA("parallel").fit_covariance(np.cov(X.T), N)


@pytest.mark.parametrize("estimator", [PCA(1), ProbabilisticPCA(1), FactorAnalysis(1)])
def test_the_same_checks_for_every_model(estimator):
    S = np.cov(X.T)
    skew = S.copy()
    skew[0, 1] += 1.0
    wrong = [(S[:3], N), (skew, N), (S - 100.0 * np.eye(5), N), (np.full((3, 3), np.nan), N)]
    for matrix, n in wrong:
        with pytest.raises(DataError):
            estimator.fit_covariance(matrix, n)
    with pytest.raises(DataError, match="eigenvalue -1"):
        estimator.fit_covariance(np.array([[1.0, 2.0], [2.0, 1.0]]), N)
    with pytest.raises(OptionError, match="n_samples=0"):
        estimator.fit_covariance(S, 0)
    with pytest.raises(DataError, match=r"mean has shape \(2,\)"):
        estimator.fit_covariance(S, N, mean=[0.0, 1.0])


@pytest.mark.parametrize("n_components", [1, 3, "bic"])
def test_probabilistic_pca_of_a_covariance_is_that_of_its_rows(n_components, tmp_path):
    fitted = ProbabilisticPCA(n_components).fit(X)
    made = ProbabilisticPCA(n_components).fit_covariance(np.cov(X.T, ddof=0), n_samples=N, mean=X.mean(axis=0))
    for name in ("loadings_", "noise_variance_", "mean_", "explained_variance_"):
        np.testing.assert_allclose(getattr(made, name), getattr(fitted, name), atol=1e-9)
    np.testing.assert_allclose([made.loglik_, made.bic()], [fitted.loglik_, fitted.bic()], rtol=1e-12)
    np.testing.assert_allclose(made.transform(X), fitted.transform(X), atol=1e-9)
    assert made.n_samples_ == N
    if n_components == "bic":
        np.testing.assert_allclose(made.selection_.values, fitted.selection_.values, rtol=1e-12)
    made.save(tmp_path / "model.safetensors")
    assert eigenlens.load(tmp_path / "model.safetensors").loglik_ == made.loglik_
    np.testing.assert_allclose(made.truncated(1).loglik_, ProbabilisticPCA(1).fit(X).loglik_, rtol=1e-12)


def test_what_probabilistic_pca_cannot_do_without_rows():
    S = np.cov(X.T)
    with pytest.raises(OptionError, match="n_components='cv' needs the rows themselves"):
        ProbabilisticPCA("cv").fit_covariance(S, N)
    with pytest.raises(OptionError, match="solver='em'"):
        ProbabilisticPCA(1, solver="em").fit_covariance(S, N)
    with pytest.raises(OptionError, match="keeps all the variance"):
        ProbabilisticPCA(2).fit_covariance(np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), N)
    with pytest.raises(OptionError, match="n_components=4 must be at most 3"):
        ProbabilisticPCA(4).fit_covariance(S, 5)

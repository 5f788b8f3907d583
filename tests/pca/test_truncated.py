"""The number of components after the fit: truncated models, errors by number, fewer scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import eigenlens
from eigenlens import PCA, ProbabilisticPCA
from eigenlens.errors import DataError, OptionError


def rows(n=80, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 10.0


PARAMETERS = [{}, {"standardize": True}, {"whiten": True}, {"center": False}, {"solver": "svd"}]


@pytest.mark.parametrize("parameters", PARAMETERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_truncated_pca_is_the_pca_of_fewer_components(parameters, weighted, tmp_path):
    X = rows()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X)) if weighted else None
    made = PCA(5, **parameters).fit(X, sample_weight=weight).truncated(2)
    fitted = PCA(2, **parameters).fit(X, sample_weight=weight)
    assert made.get_params() == fitted.get_params()
    for name in ("components_", "explained_variance_", "explained_variance_ratio_", "noise_variance_", "mean_"):
        np.testing.assert_allclose(getattr(made, name), getattr(fitted, name), atol=1e-9)
    np.testing.assert_allclose(made.transform(X), fitted.transform(X), atol=1e-9)
    np.testing.assert_allclose(made.score_samples(X), fitted.score_samples(X), rtol=1e-9)
    made.save(tmp_path / "truncated.safetensors")
    np.testing.assert_array_equal(eigenlens.load(tmp_path / "truncated.safetensors").components_, made.components_)
    np.testing.assert_allclose(made.partial_fit(X[:9]).components_, fitted.partial_fit(X[:9]).components_, atol=1e-9)


def test_the_fit_itself_does_not_change():
    pca = PCA(5).fit(rows())
    pca.truncated(2)
    assert pca.n_components == pca.n_components_ == 5
    with pytest.raises(OptionError, match="k=6 must be at most 5, the number of components fitted"):
        pca.truncated(6)


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_errors_of_every_number_of_components(parameters):
    X = rows()
    pca = PCA(5, **parameters).fit(X)
    errors = pca.reconstruction_error(X, k="all")
    for q in range(1, 6):
        slow = PCA(q, **parameters).fit(X).reconstruction_error(X)
        np.testing.assert_allclose(errors[:, q - 1], slow, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(pca.reconstruction_error(X, k=q), slow, rtol=1e-8, atol=1e-12)
    curve = pca.reconstruction_error(X, k=range(6), per_row=False)
    np.testing.assert_allclose(curve, pca.total_variance_ - np.append(0, np.cumsum(pca.explained_variance_)), rtol=1e-9)
    assert isinstance(pca.reconstruction_error(X, k=3, per_row=False), float)
    np.testing.assert_allclose(pca.reconstruction_error(X, k=5), pca.reconstruction_error(X), rtol=1e-12)


def test_weights_sparse_rows_and_dask_arrays():
    X, weight = rows(), np.random.default_rng(2).integers(0, 3, 80)
    pca = PCA(4).fit(X, sample_weight=weight)
    found = pca.reconstruction_error(X, k=[0, 2], per_row=False, sample_weight=weight)
    left = pca.total_variance_ - np.array([0.0, pca.explained_variance_[:2].sum()])
    np.testing.assert_allclose(found, left, rtol=1e-9)
    np.testing.assert_allclose(pca.reconstruction_error(sparse.csr_array(X), k=2), pca.reconstruction_error(X, k=2))
    dask = pytest.importorskip("dask.array")
    lazy = pca.reconstruction_error(dask.from_array(X, chunks=(30, 6)), k=[1, 3])
    assert lazy.shape == (80, 2)
    np.testing.assert_allclose(np.asarray(lazy), pca.reconstruction_error(X, k=[1, 3]))


def test_small_errors_keep_their_digits():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((50, 3)) * [1e6, 1.0, 1e-4]
    pca = PCA(3, solver="svd").fit(X)
    slow = PCA(2, solver="svd").fit(X).reconstruction_error(X)
    np.testing.assert_allclose(pca.reconstruction_error(X, k=2), slow, rtol=1e-4)


@pytest.mark.parametrize("k", [-1, 6, 2.5, "some", [1, 9]])
def test_wrong_numbers_of_components(k):
    with pytest.raises(OptionError, match="k="):
        PCA(5).fit(rows()).reconstruction_error(rows(), k=k)


@pytest.mark.parametrize("estimator", [PCA(5), PCA(5, whiten=True), PCA(5, standardize=True), ProbabilisticPCA(5)])
def test_rows_of_fewer_scores(estimator):
    X = rows()
    Z = estimator.fit(X).transform(X)
    padded = Z.copy()
    padded[:, 2:] = 0.0
    np.testing.assert_allclose(estimator.inverse_transform(Z[:, :2]), estimator.inverse_transform(padded), atol=1e-9)
    with pytest.raises(DataError, match=r"5 columns.*or fewer"):
        estimator.inverse_transform(np.ones((3, 6)))
    with pytest.raises(DataError):
        estimator.inverse_transform(np.ones((3, 0)))


def test_a_truncated_probabilistic_pca_is_the_fit_of_fewer_dimensions(tmp_path):
    X, weight = rows(), np.random.default_rng(4).uniform(0.5, 2.0, 80)
    for w in (None, weight):
        made = ProbabilisticPCA(5).fit(X, sample_weight=w).truncated(2)
        fitted = ProbabilisticPCA(2).fit(X, sample_weight=w)
        np.testing.assert_allclose(made.loadings_, fitted.loadings_, atol=1e-9)
        np.testing.assert_allclose(made.noise_variance_, fitted.noise_variance_, rtol=1e-9)
        np.testing.assert_allclose([made.loglik_, made.bic()], [fitted.loglik_, fitted.bic()], rtol=1e-12)
        assert made.get_params() == fitted.get_params()
    made.save(tmp_path / "truncated.safetensors")
    assert eigenlens.load(tmp_path / "truncated.safetensors").loglik_ == made.loglik_
    X[0, 0] = np.nan
    with pytest.raises(OptionError, match="cannot be truncated"):
        ProbabilisticPCA(3).fit(X).truncated(2)

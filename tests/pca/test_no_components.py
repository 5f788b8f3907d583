"""PCA without components: the mean, and noise of one variance, as in scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA as Reference

import eigenlens
from eigenlens import PCA, ProbabilisticPCA
from eigenlens.errors import OptionError
from eigenlens.linalg.solve import SOLVERS

IRIS = load_iris().data


@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
def test_no_components_are_those_of_scikit_learn(solver):
    ours, theirs = PCA(0, solver=solver).fit(IRIS), Reference(0).fit(IRIS)
    assert ours.transform(IRIS).shape == (150, 0)
    assert ours.components_.shape == (0, 4)
    assert_allclose(ours.noise_variance_, theirs.noise_variance_, rtol=1e-12)
    assert_allclose(ours.score_samples(IRIS), theirs.score_samples(IRIS), rtol=1e-12)
    assert_allclose(ours.get_covariance(), theirs.get_covariance(), rtol=1e-12, atol=1e-12)
    assert_allclose(ours.inverse_transform(np.zeros((2, 0))), np.tile(IRIS.mean(axis=0), (2, 1)), rtol=1e-12)


def test_no_components_by_every_way(tmp_path):
    direct = PCA(0).fit(IRIS)
    others = [
        PCA(3).fit(IRIS).truncated(0),
        PCA(0).fit(sparse.csr_array(IRIS)),
        PCA(0).partial_fit(IRIS[:60]).partial_fit(IRIS[60:]),
        PCA(0).partial_fit(IRIS[:60]).merge(PCA(0).partial_fit(IRIS[60:])),
        PCA(0).fit_covariance(np.cov(IRIS.T), n_samples=150),
    ]
    direct.save(tmp_path / "none.safetensors")
    for other in [*others, eigenlens.load(tmp_path / "none.safetensors")]:
        assert other.n_components_ == 0
        assert_allclose(other.noise_variance_, direct.noise_variance_, rtol=1e-12)


@pytest.mark.parametrize("standardize", [False, True])
def test_no_components_of_incomplete_rows(standardize):
    X = IRIS.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    pca = PCA(0, missing="em", standardize=standardize).fit(X)
    scale = np.nanstd(X, axis=0, ddof=1) if standardize else np.ones(4)
    rows = np.count_nonzero(~np.isnan(X).all(axis=1))
    square = np.nansum(((X - np.nanmean(X, axis=0)) / scale) ** 2) / np.count_nonzero(~np.isnan(X))
    assert_allclose(pca.noise_variance_, square * rows / (rows - 1), rtol=1e-12)
    assert_allclose(pca.mean_, np.nanmean(X, axis=0), rtol=1e-12)
    if not standardize:
        assert_allclose(pca.score(X), ProbabilisticPCA(0).fit(X).score(X), rtol=1e-4)


@pytest.mark.parametrize("model", [PCA, ProbabilisticPCA])
def test_there_is_nothing_to_show(model, tmp_path):
    fit = model(0).fit(IRIS)
    for show in (eigenlens.plot.loadings, lambda fit: eigenlens.report(fit, IRIS, tmp_path / "r.html")):
        with pytest.raises(OptionError, match="has no components, so there is nothing to show"):
            show(fit)

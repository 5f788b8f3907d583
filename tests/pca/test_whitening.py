"""ZCA whitening: rows times the inverse root of their covariance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import sqrtm

import eigenlens
from eigenlens import PCA
from eigenlens.errors import DataError, OptionError
from eigenlens.pca.tables import unwhitened_scores


def rows(n=200, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 5.0


def test_zca_is_the_inverse_root_of_the_covariance():
    X = rows()
    pca = PCA(whiten="zca").fit(X)
    Z = pca.transform(X)
    np.testing.assert_allclose(Z, (X - X.mean(axis=0)) @ np.linalg.inv(sqrtm(np.cov(X.T))), atol=1e-9)
    np.testing.assert_allclose(np.cov(Z.T), np.eye(4), atol=1e-9)
    np.testing.assert_allclose(pca.inverse_transform(Z), X, atol=1e-9)
    np.testing.assert_allclose(pca.get_covariance(), np.cov(X.T), atol=1e-9)


def test_zca_is_the_closest_of_all_white_forms():
    X = rows()
    Z = PCA(whiten="zca", standardize=True).fit_transform(X)
    unit = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    rng = np.random.default_rng(1)
    for _ in range(20):
        Q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
        assert np.sum((Z - unit) ** 2) < np.sum((Z @ Q - unit) ** 2)


@pytest.mark.parametrize("center", [True, False])
def test_fewer_components_whiten_their_space(center, tmp_path):
    X = rows()
    pca = PCA(2, whiten="zca", center=center).fit(X)
    Z = pca.transform(X)
    plain = PCA(2, whiten=True, center=center).fit(X)
    np.testing.assert_allclose(Z, plain.transform(X) @ plain.components_, atol=1e-9)
    rebuilt = plain.inverse_transform(plain.transform(X))
    np.testing.assert_allclose(pca.inverse_transform(Z), rebuilt, atol=1e-9)
    np.testing.assert_allclose(unwhitened_scores(pca, X), unwhitened_scores(plain, X), atol=1e-9)
    assert Z.shape == (200, 4)
    assert len(pca.get_feature_names_out()) == 4
    pca.save(tmp_path / "zca.safetensors")
    np.testing.assert_array_equal(eigenlens.load(tmp_path / "zca.safetensors").transform(X), Z)
    assert pca.transform(X.astype(np.float32)).dtype == np.float32
    with pytest.raises(DataError, match="4 columns"):
        pca.inverse_transform(Z[:, :2])


def test_columns_without_variance_and_other_names():
    X = np.column_stack([rows(), np.full(200, 3.0)])
    Z = PCA(whiten="zca").fit_transform(X)
    np.testing.assert_allclose(Z[:, 4], 0.0, atol=1e-9)
    with pytest.raises(OptionError, match="whiten='pca' must be True, False or 'zca'"):
        PCA(whiten="pca").fit(X)


def test_zca_keeps_the_names_of_the_columns():
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((20, 3)), columns=["a", "b", "c"])
    pca = PCA(2, whiten="zca").set_output(transform="pandas").fit(X)
    assert pca.transform(X).columns.tolist() == ["a", "b", "c"]
    assert PCA(2).fit(X).get_feature_names_out().tolist() == ["pca0", "pca1"]

"""Weights of columns in PCA: a column of weight m is m copies of it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import eigenlens
from eigenlens import PCA
from eigenlens.errors import OptionError
from references import decathlon

COPIES = np.array([1, 3, 2, 1, 4])


def rows(n=70, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 5)) @ rng.standard_normal((5, 5)) + 4.0


def repeated(X):
    return np.repeat(X, COPIES, axis=1)


@pytest.mark.parametrize("solver", ["covariance", "gram", "svd", "lanczos", "randomized", "power"])
@pytest.mark.parametrize("parameters", [{}, {"standardize": True}, {"center": False}, {"whiten": True}])
def test_a_weight_is_that_many_copies_of_the_column(solver, parameters):
    X = rows()
    options = {"solver": solver, "random_state": 0, "tol": 1e-11} | parameters
    weighted = PCA(3, **options).fit(X, feature_weight=COPIES)
    copies = PCA(3, **options).fit(repeated(X))
    np.testing.assert_allclose(weighted.explained_variance_, copies.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(weighted.total_variance_, copies.total_variance_, rtol=1e-10)
    signs = np.sign(np.sum(weighted.transform(X) * copies.transform(repeated(X)), axis=0))
    np.testing.assert_allclose(weighted.transform(X) * signs, copies.transform(repeated(X)), atol=1e-6)
    np.testing.assert_allclose(weighted.reconstruction_error(X), copies.reconstruction_error(repeated(X)), atol=1e-6)
    first = np.cumsum(COPIES) - COPIES
    np.testing.assert_allclose(weighted.correlations() * signs, copies.correlations()[first], atol=1e-6)
    np.testing.assert_allclose(weighted.contributions(), copies.contributions()[first] * COPIES[:, None], atol=1e-4)
    rebuilt = copies.inverse_transform(copies.transform(repeated(X)))[:, first]
    np.testing.assert_allclose(weighted.inverse_transform(weighted.transform(X)), rebuilt, atol=1e-6)


def test_the_metric_by_the_textbook():
    """Eigenvectors of S M that are orthonormal in the metric M, as FactoMineR has them."""
    X, m = rows(), np.array([0.5, 1.0, 2.0, 0.1, 1.5])
    pca = PCA(2).fit(X, feature_weight=m)
    S = np.cov(X.T)
    for axis, value in zip(pca.components_, pca.explained_variance_, strict=True):
        v = axis / np.sqrt(m)
        np.testing.assert_allclose(S @ (m * v), value * v, atol=1e-10)
        np.testing.assert_allclose(v @ (m * v), 1.0)
    np.testing.assert_allclose(
        pca.transform(X), (X - X.mean(axis=0)) * m @ (pca.components_ / np.sqrt(m)).T, atol=1e-10
    )
    np.testing.assert_allclose(PCA().fit(X, feature_weight=m).get_covariance(), S, rtol=1e-9)


def test_equal_weights_change_only_the_scale():
    X = rows()
    plain, weighted = PCA(2).fit(X), PCA(2).fit(X, feature_weight=np.full(5, 4.0))
    np.testing.assert_allclose(weighted.components_, plain.components_, atol=1e-10)
    np.testing.assert_allclose(weighted.explained_variance_, 4.0 * plain.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(weighted.score_samples(X), plain.score_samples(X), rtol=1e-9)


def test_chunks_files_sparse_rows_and_resampling(tmp_path):
    X = rows()
    whole = PCA(2).fit(X, feature_weight=COPIES)
    more = PCA(2).fit(X[:30], feature_weight=COPIES)
    more.save(tmp_path / "model.safetensors")
    for part in (more, eigenlens.load(tmp_path / "model.safetensors")):
        part.partial_fit(X[30:])
        np.testing.assert_allclose(part.components_, whole.components_, atol=1e-9)
    halves = [PCA(2).fit(part, feature_weight=COPIES) for part in (X[:30], X[30:])]
    np.testing.assert_allclose(halves[0].merge(halves[1]).components_, whole.components_, atol=1e-9)
    with pytest.raises(OptionError, match="another feature_weight"):
        PCA(2).fit(X).merge(whole)
    thin = PCA(2).fit(sparse.csr_array(X), feature_weight=COPIES)
    np.testing.assert_allclose(thin.components_, whole.components_, atol=1e-9)
    np.testing.assert_allclose(whole.outliers(X).spe_limit, PCA(2).fit(repeated(X)).outliers(repeated(X)).spe_limit)
    assert whole.bootstrap(X, n=5, random_state=0) is not None
    np.testing.assert_array_equal(PCA(2).fit_transform(X, feature_weight=COPIES), whole.transform(X))


def test_missing_values():
    X = rows()
    full = PCA(2, missing="em").fit(X, feature_weight=COPIES)
    np.testing.assert_allclose(full.components_, PCA(2).fit(X, feature_weight=COPIES).components_, atol=1e-9)
    X[::9, 1] = np.nan
    scaled = PCA(2, missing="em").fit(X * np.sqrt(COPIES))
    weighted = PCA(2, missing="em").fit(X, feature_weight=COPIES)
    np.testing.assert_allclose(weighted.explained_variance_, scaled.explained_variance_, rtol=1e-6)


@pytest.mark.parametrize("weights", [[1.0, 2.0], [1, 1, 1, 1, 0], [1, 1, 1, 1, -1], [1, 1, 1, 1, np.inf], "heavy"])
def test_wrong_weights(weights):
    with pytest.raises((OptionError, eigenlens.errors.DataError), match="feature_weight"):
        PCA(2).fit(rows(), feature_weight=weights)


def test_rules_that_resample_columns_are_rejected():
    with pytest.raises(OptionError, match="n_components='parallel'"):
        PCA("parallel").fit(rows(), feature_weight=COPIES)


def same_signs(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    return found * np.sign(np.sum(found * expected, axis=0))


def test_weights_of_rows_and_columns_are_those_of_factominer(accuracy):
    """FactoMineR divides by n, here the sum of weights: its coordinates of rows are √(n/(n − 1)) times ours."""
    w, n = np.arange(1.0, 39.0), 741.0
    X, others = decathlon.DATA[:38], decathlon.DATA[38:]
    pca = PCA(3, standardize=True).fit(X, sample_weight=w, feature_weight=decathlon.COLUMN_WEIGHTS)
    signs = np.sign(np.sum(pca.correlations()[:3] * decathlon.COLUMNS_VARIABLE_COORDINATES, axis=0))
    found = {
        "COLUMNS_ROW_COORDINATES": pca.transform(X)[:2] * signs * np.sqrt(n / (n - 1.0)),
        "COLUMNS_ROW_CONTRIBUTIONS": pca.contributions(X, sample_weight=w)[:2],
        "COLUMNS_SUPPLEMENTARY_ROWS": pca.transform(others) * signs * np.sqrt(n / (n - 1.0)),
        "COLUMNS_SUPPLEMENTARY_COS2": pca.cos2(others),
        "COLUMNS_VARIABLE_COORDINATES": pca.correlations()[:3] * signs,
        "COLUMNS_VARIABLE_CONTRIBUTIONS": pca.contributions()[:, 0],
        "COLUMNS_RANK_POINTS": pca.supplementary(
            np.column_stack([decathlon.RANK, decathlon.POINTS])[:38], X, sample_weight=w
        ).correlations * signs,
    }  # fmt: skip
    for name, values in found.items():
        what = f"PCA of the decathlon with weights of rows and columns: {name.removeprefix('COLUMNS_').lower()}"
        accuracy.close(what.replace("_", " "), values, getattr(decathlon, name), system="R, FactoMineR", atol=1e-8)
    whole = PCA(5, standardize=True).fit(X, sample_weight=w, feature_weight=decathlon.COLUMN_WEIGHTS)
    np.testing.assert_allclose(whole.explained_variance_, decathlon.COLUMNS_EIGENVALUES, atol=1e-8)


def test_weights_of_columns_in_their_own_units_are_those_of_factominer():
    m, n = decathlon.COLUMN_WEIGHTS, 41.0
    pca = PCA(3).fit(decathlon.DATA, feature_weight=m)
    np.testing.assert_allclose(pca.explained_variance_ * (n - 1.0) / n, decathlon.UNSCALED_EIGENVALUES, rtol=1e-9)
    coordinates = pca.loadings_[:2] * np.sqrt((n - 1.0) / n / m[:2, None])
    expected = decathlon.UNSCALED_VARIABLE_COORDINATES
    np.testing.assert_allclose(same_signs(coordinates, expected), expected, atol=1e-8)

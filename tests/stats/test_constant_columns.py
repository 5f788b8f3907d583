"""Constant columns: rounding of their mean must never count as a variance, in any container."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from eigenlens import BayesClassifier, DataWarning, FactorAnalysis, GaussianMixture, KernelDensity, scan
from eigenlens.data.source import Block
from eigenlens.densities import GaussianFamily
from eigenlens.kde.kernels import SMOOTHING_KERNELS
from eigenlens.stats.moments import ColumnMoments, Moments

VALUES = [3.3, 0.1, 1e6 / 7.0, -1e-9 / 3.0]


def rows(value, n=3000):
    X = np.random.default_rng(0).standard_normal((n, 3))
    X[:, 1] = value
    return X


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_observed_entries_of_a_constant_column_do_not_vary(value, weighted):
    X = rows(value)
    X[::7, 1] = np.nan
    w = np.random.default_rng(1).random(len(X)) if weighted else None
    found = ColumnMoments.of_observed(Block(X, w))
    assert found.mean[1] == pytest.approx(value, rel=4e-16)
    assert np.sqrt(found.square[1] / found.weight[1]) <= 4e-16 * abs(value)
    each = np.ones(len(X)) if w is None else w
    mean = np.average(X[:, 0], weights=each)
    assert_allclose(found.square[0], np.sum(each * (X[:, 0] - mean) ** 2), rtol=1e-12)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_constant_columns_do_not_vary(value, weighted):
    X = rows(value)
    X[::2, 2] = 0.0
    w = np.random.default_rng(1).random(len(X)) if weighted else None
    for kind, squares in ((Moments, lambda m: m.scatter.diagonal()), (ColumnMoments, lambda m: m.square)):
        found, dense = (kind.of(Block(part, w)) for part in (sp.csr_matrix(X), X))
        assert np.sqrt(squares(found)[1] / found.weight) <= 4e-16 * abs(value)
        assert_allclose(found.mean, dense.mean, rtol=1e-12, atol=1e-15)
        assert_allclose(squares(found)[[0, 2]], squares(dense)[[0, 2]], rtol=1e-12)


@pytest.mark.few(2)
@pytest.mark.filterwarnings("ignore:.*Heywood")
@pytest.mark.parametrize("incomplete", [False, True])
@pytest.mark.parametrize(
    "density",
    [GaussianFamily(), GaussianFamily("diagonal"), FactorAnalysis(1), GaussianMixture(1, n_init=1),
     KernelDensity(bandwidth="scott")],
    ids=["full", "diagonal", "factor", "mixture", "kernel"],
)  # fmt: skip
def test_a_class_with_a_constant_column_has_the_pooled_variance(density, incomplete, tmp_path):
    X, y = rows(0.0, n=600), np.arange(600) % 3
    X[:, 1] = np.where(y == 1, 3.3, X[:, 0] + X[:, 2] + np.random.default_rng(2).standard_normal(600))
    if incomplete:
        X[::11, 1] = np.nan
    np.save(tmp_path / "X.npy", X)
    found = []
    for Z in (X, scan(tmp_path / "X.npy", block_rows=37), X.astype(np.float32)):
        with pytest.warns(DataWarning) as caught:
            found.append(BayesClassifier(density).fit(Z, y).predict_log_proba(X))
        assert any("class 1 of" in str(w.message) and "is constant in column 1" in str(w.message) for w in caught)
    assert_allclose(found[1], found[0], rtol=1e-6, atol=1e-6)
    assert_allclose(found[2], found[0], rtol=1e-3, atol=1e-3)


def test_canonical_bandwidths_of_many_columns_do_not_vanish():
    for smoother in SMOOTHING_KERNELS.values():
        for d in (1, 3, 10):
            twin = (smoother.roughness**d / smoother.variance**2) ** (1.0 / (d + 4))
            assert smoother.canonical(d) == pytest.approx(twin, rel=1e-12)
        assert smoother.canonical(5000) == pytest.approx(smoother.roughness, rel=0.02)
    assert_array_equal([SMOOTHING_KERNELS["gaussian"].canonical(d) > 0.0 for d in (784, 5000)], True)

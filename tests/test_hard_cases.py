"""Cases that once gave wrong numbers: outliers, odd layouts, weights that hide rows, rows that change under us."""

import copy
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from eigenlens import PCA, DataError, OptionError


def variances(Y, w=None):
    """Eigenvalues of the weighted covariance, centred in long double."""
    w = np.ones(len(Y)) if w is None else w
    centred = Y - np.average(Y.astype(np.longdouble), axis=0, weights=w)
    return np.linalg.svd((np.sqrt(w)[:, None] * centred).astype(float), compute_uv=False) ** 2 / (w.sum() - 1.0)


def test_columns_of_packed_records():
    records = np.zeros(50, dtype=[("x", "f4", (3,)), ("flag", "u2")])
    records["x"] = np.random.default_rng(0).standard_normal((50, 3))
    found = PCA(solver="covariance").fit(records["x"])
    np.testing.assert_allclose(found.explained_variance_, variances(records["x"].astype(float)), rtol=1e-6)


@pytest.mark.few(2)
@pytest.mark.parametrize("size", [1e3, 1e5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["numpy", "numpy wide", "torch"])
def test_an_outlier_in_the_first_row(kind, dtype, size):
    Y = np.random.default_rng(0).standard_normal((2000, 200 if kind == "numpy wide" else 30)).astype(dtype)
    Y[0] = size
    X = pytest.importorskip("torch", reason="PyTorch is not installed").tensor(Y) if kind == "torch" else Y
    found = np.asarray(PCA(3).fit(X).explained_variance_, dtype=float)
    single = dtype == np.float32
    np.testing.assert_allclose(found, variances(Y.astype(float))[:3], rtol=2e-4 if single else 1e-9)


@pytest.mark.parametrize("solver", ["auto", "covariance", "gram", "svd", "lanczos"])
def test_outliers_of_next_to_no_weight(solver):
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((600, 10))
    Y[:128] += 1e6 * (1.0 + rng.random((128, 10)))
    w = np.where(np.arange(600) < 128, 1e-14, 1.0)
    found = PCA(3, solver=solver, random_state=0).fit(Y, sample_weight=w)
    np.testing.assert_allclose(found.explained_variance_, variances(Y, w)[:3], rtol=1e-8)


@pytest.mark.parametrize("solver", ["lanczos", "randomized", "covariance"])
def test_float32_a_million_from_zero(solver):
    rng = np.random.default_rng(0)
    Y = (rng.standard_normal((1000, 60)) + 1e6 * (1.0 + rng.random(60))).astype(np.float32)
    found = PCA(2, solver=solver, random_state=0).fit(Y)
    np.testing.assert_allclose(found.explained_variance_, variances(Y.astype(float))[:2], rtol=1e-5)


def test_sparse_columns_full_where_it_counts():
    Y = np.zeros((1000, 4))
    Y[:400] = 1e6 + np.random.default_rng(0).standard_normal((400, 4))
    w = np.append(np.ones(400), np.zeros(600))
    found = PCA().fit(sparse.csr_matrix(Y), sample_weight=w)
    np.testing.assert_allclose(found.explained_variance_, variances(Y[:400]), rtol=1e-9)


def test_sparse_rows_with_an_empty_column_are_never_dense_as_a_whole():
    X = sparse.random_array((20_000, 200), density=0.005, format="csr", rng=np.random.default_rng(0)).tolil()
    X[:, 3] = 0.0
    X = X.tocsr()
    tracemalloc.start()
    PCA().fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * 8 * 20_000 * 200


def test_rows_that_changed_since_fit_are_noticed():
    B = np.random.default_rng(0).standard_normal((20, 50))
    pca = PCA(3).fit(B)
    assert pca.solver_.solver == "gram"
    B[:] = 7.0 * B + 3.0
    with pytest.raises(DataError, match="changed since fit"):
        pca.partial_fit(B[:5])
    with pytest.raises(DataError, match="not those of the fit"):
        pca.supplementary({"a": np.arange(20)})


def test_merging_other_columns_is_rejected():
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 3)), columns=list("abc"))
    with pytest.raises(OptionError, match="'c', 'b', 'a'"):
        PCA(2).fit(frame).merge(PCA(2).fit(frame[list("cba")]))


def test_masked_entries_are_missing():
    X = np.random.default_rng(0).standard_normal((50, 3))
    with pytest.raises(DataError, match="NaN"):
        PCA().fit(np.ma.array(X, mask=X > 1.5))
    holes = np.where(X > 1.5, np.nan, X)
    masked = PCA(1, missing="em").fit(np.ma.array(X, mask=X > 1.5))
    np.testing.assert_array_equal(masked.components_, PCA(1, missing="em").fit(holes).components_)


def test_gram_components_are_orthonormal_to_the_last_digit():
    X = np.random.default_rng(0).standard_normal((100, 300)) * np.logspace(0, -3, 300)
    V = PCA(90, solver="gram").fit(X).components_
    np.testing.assert_allclose(V @ V.T, np.eye(90), atol=1e-13)


def test_few_rows_can_be_bootstrapped():
    X = np.random.default_rng(0).standard_normal((3, 4))
    assert PCA(2).fit(X).bootstrap(X, 50, random_state=0).variances.shape == (50, 2)


def test_weights_are_copies_for_the_number_of_components_too():
    X, w = np.random.default_rng(0).standard_normal((3, 5)), np.full(3, 10.0)
    assert PCA().fit(X, sample_weight=w).n_components_ == PCA().fit(np.repeat(X, 10, axis=0)).n_components_ == 5
    assert PCA().partial_fit(X, sample_weight=w).n_components_ == PCA(5).fit(X, sample_weight=w).n_components_ == 5


def test_tensors_travel():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed, so nothing was tested about tensors")
    pca = PCA(2).fit(torch.tensor(np.random.default_rng(0).standard_normal((30, 4))))
    for twin in (pickle.loads(pickle.dumps(pca)), copy.deepcopy(pca)):
        assert torch.equal(twin.components_, pca.components_)
    with pytest.raises(DataError, match="sparse tensor"):
        PCA().fit(torch.eye(5).to_sparse())

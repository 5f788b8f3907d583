"""`PCA(center=False)`: the singular value decomposition of X itself, and second moments about zero."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import TruncatedSVD

import eigenlens
from eigenlens import PCA
from eigenlens.errors import DataError, OptionError
from eigenlens.linalg.solve import SOLVERS
from eigenlens.linalg.spectrum import orient


def shifted_rows(n=60, d=7, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * np.arange(1, d + 1) + 3.0


def assert_same(left, right, tol=1e-9):
    np.testing.assert_allclose(left.components_, right.components_, atol=tol)
    np.testing.assert_allclose(left.explained_variance_, right.explained_variance_, rtol=tol)
    np.testing.assert_allclose(left.total_variance_, right.total_variance_, rtol=tol)


@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
@pytest.mark.parametrize("shape", [(60, 7), (7, 60)])
@pytest.mark.parametrize("kind", ["float64", "float32", "sparse"])
def test_every_solver_is_the_singular_value_decomposition(solver, shape, kind):
    X = shifted_rows().reshape(shape) if shape[0] > shape[1] else shifted_rows().T.copy()
    given = sparse.csr_array(X) if kind == "sparse" else X.astype("float32" if kind == "float32" else "float64")
    tol = 1e-4 if kind == "float32" else 1e-8
    pca = PCA(3, center=False, solver=solver, random_state=0, tol=1e-6 if kind == "float32" else 1e-10).fit(given)
    _, s, Vt = np.linalg.svd(X)
    np.testing.assert_allclose(pca.singular_values_, s[:3], rtol=1e-6 if kind == "float32" else 1e-12)
    np.testing.assert_allclose(pca.components_, orient(Vt[:3].T).T, atol=tol)
    np.testing.assert_allclose(pca.explained_variance_, s[:3] ** 2 / len(X), rtol=1e-6)
    np.testing.assert_allclose(pca.total_variance_, (X**2).sum() / len(X), rtol=1e-6)
    np.testing.assert_allclose(pca.transform(given), X @ pca.components_.T, atol=1e-4 if kind == "float32" else 1e-10)
    assert not np.any(pca.mean_)
    assert pca.components_.dtype == given.dtype


def test_the_same_as_truncated_svd_of_scikit_learn():
    X = sparse.random_array((400, 90), density=0.05, rng=np.random.default_rng(1), format="csr")
    theirs = TruncatedSVD(5, algorithm="arpack").fit(X)
    ours = PCA(5, center=False).fit(X)
    np.testing.assert_allclose(ours.singular_values_, theirs.singular_values_, rtol=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(ours.components_ * theirs.components_, axis=1)), 1.0, atol=1e-9)
    np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), atol=1e-8)
    back = theirs.inverse_transform(theirs.transform(X))
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), back, atol=1e-8)


@pytest.mark.parametrize("solver", ["covariance", "gram", "svd", "lanczos"])
@pytest.mark.parametrize("standardize", [False, True])
def test_a_weight_is_that_many_copies(solver, standardize):
    X, weight = shifted_rows(), np.random.default_rng(2).integers(0, 4, 60)
    options = {"center": False, "solver": solver, "standardize": standardize, "random_state": 0}
    copies = PCA(3, **options).fit(np.repeat(X, weight, axis=0))
    assert_same(PCA(3, **options).fit(X, sample_weight=weight), copies)


@pytest.mark.parametrize("solver", ["covariance", "gram", "svd", "lanczos", "randomized", "power"])
def test_standardized_columns_have_mean_square_one(solver):
    X = np.column_stack([shifted_rows(), np.zeros(60)])
    with pytest.warns(eigenlens.errors.DataWarning, match="1 of 8 columns are constant"):
        pca = PCA(3, center=False, standardize=True, solver=solver, random_state=0).fit(X)
    root_mean_square = np.sqrt(np.mean(X**2, axis=0))
    np.testing.assert_allclose(pca.scale_[:-1], root_mean_square[:-1], rtol=1e-12)
    assert pca.scale_[-1] == 1.0
    unit = X[:, :-1] / np.linalg.norm(X[:, :-1], axis=0)
    np.testing.assert_allclose(pca.explained_variance_, np.linalg.eigvalsh(unit.T @ unit)[:-4:-1], rtol=1e-9)


@pytest.mark.parametrize("standardize", [False, True])
def test_chunks_merges_files_and_dask_give_the_same_numbers(standardize, tmp_path):
    X = shifted_rows(300, 5)
    whole = PCA(2, center=False, standardize=standardize).fit(X)
    chunks = PCA(2, center=False, standardize=standardize)
    for part in np.split(X, 3):
        chunks.partial_fit(part)
    assert_same(chunks, whole)
    halves = [PCA(2, center=False, standardize=standardize).fit(part) for part in np.split(X, 2)]
    assert_same(halves[0].merge(halves[1]), whole)
    np.save(tmp_path / "rows.npy", X)
    assert_same(PCA(2, center=False, standardize=standardize).fit(eigenlens.scan(tmp_path / "rows.npy")), whole)
    dask = pytest.importorskip("dask.array")
    lazy = dask.from_array(X, chunks=(70, 5))
    assert_same(PCA(2, center=False, standardize=standardize).fit(lazy), whole)
    np.testing.assert_allclose(np.asarray(whole.transform(lazy)), whole.transform(X), atol=1e-9)


@pytest.mark.parametrize("solver", ["covariance", "svd"])
def test_a_saved_model_can_be_continued(solver, tmp_path):
    X = shifted_rows()
    first = PCA(3, center=False, solver=solver).fit(X[:30])
    first.save(tmp_path / "model.safetensors")
    again = eigenlens.load(tmp_path / "model.safetensors")
    assert again.center is False
    np.testing.assert_array_equal(again.singular_values_, first.singular_values_)
    more = again if solver == "covariance" else first  # only a covariance is stored; the other has its rows here
    assert_same(more.partial_fit(X[30:]), PCA(3, center=False).fit(X))


def test_singular_values_far_below_the_mean_keep_their_digits():
    rng = np.random.default_rng(5)
    U, V = np.linalg.qr(rng.standard_normal((200, 4)))[0], np.linalg.qr(rng.standard_normal((4, 4)))[0]
    s = np.array([1e6, 1.0, 1e-2, 1e-4])
    pca = PCA(center=False).fit(U * s @ V)
    assert pca.solver_.solver == "svd"
    np.testing.assert_allclose(pca.singular_values_, s, rtol=1e-5)


def test_errors_density_and_left_vectors():
    X = shifted_rows()
    weight = np.random.default_rng(3).uniform(0.5, 2.0, 60)
    pca = PCA(3, center=False).fit(X, sample_weight=weight)
    rest = X - pca.inverse_transform(pca.transform(X))
    np.testing.assert_allclose(pca.reconstruction_error(X), (rest**2).sum(axis=1), rtol=1e-9)
    left_out = pca.total_variance_ - pca.explained_variance_.sum()
    np.testing.assert_allclose(pca.reconstruction_error(X, per_row=False, sample_weight=weight), left_out, rtol=1e-9)
    U = pca.left_singular_vectors()
    np.testing.assert_allclose(U.T @ U, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(pca.contributions(X, sample_weight=weight).sum(axis=0), 100.0, rtol=1e-9)
    whole = PCA(center=False).fit(X)
    np.testing.assert_allclose(whole.get_covariance(), X.T @ X / 60, rtol=1e-9)
    np.testing.assert_allclose(np.sum(whole.correlations() ** 2, axis=1), 1.0, rtol=1e-9)
    rebuilt = whole.left_singular_vectors() * whole.singular_values_ @ whole.components_
    np.testing.assert_allclose(rebuilt, X, atol=1e-9)


def test_one_row_and_shares_and_rules():
    row = np.array([[3.0, 4.0]])
    pca = PCA(1, center=False).fit(row)
    np.testing.assert_allclose(pca.components_, [[0.6, 0.8]])
    np.testing.assert_allclose(pca.explained_variance_, [25.0])
    X = shifted_rows()
    s = np.linalg.svd(X, compute_uv=False)
    wanted = int(np.searchsorted(np.cumsum(s**2) / np.sum(s**2), 0.8)) + 1
    assert PCA(0.8, center=False).fit(X).n_components_ == wanted
    assert PCA("kaiser", center=False).fit(X).n_components_ == np.count_nonzero(s**2 > np.mean(s**2))


@pytest.mark.parametrize("parameters", [{"missing": "em"}, {"n_components": "parallel"}, {"n_components": "mle"}])
def test_what_needs_a_mean_is_rejected(parameters):
    with pytest.raises(OptionError, match=f"{next(iter(parameters))}=.*center=False|.*center=True"):
        PCA(**parameters, center=False).fit(shifted_rows())


def test_supplementary_columns_need_a_mean():
    with pytest.raises(OptionError, match="center=False"):
        PCA(2, center=False).fit(shifted_rows()).supplementary(np.arange(60.0))
    with pytest.raises(OptionError, match="center=3"):
        PCA(2, center=3).fit(shifted_rows())


def test_changed_rows_are_detected():
    X = shifted_rows()
    pca = PCA(2, center=False, solver="svd").fit(X)
    X[:, 0] *= 2.0
    with pytest.raises(DataError, match="changed"):
        pca.partial_fit(shifted_rows())

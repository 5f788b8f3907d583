"""Kernel PCA without centring, distances from its components, and `gram`: against NumPy and explicit features."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

import eigenlens
from eigenlens import DataError, KernelPCA, OptionError
from eigenlens.kernel_pca.fit import GRAM_SOLVERS

rng = np.random.default_rng(0)
X, NEW = rng.normal(1.0, 1.0, (60, 3)), rng.normal(1.0, 1.5, (9, 3))
K = rbf_kernel(X, gamma=0.3)


def slow(K, weight=None):
    """Eigenvalues and scores of K itself, S K S with weights."""
    s = np.ones(len(K)) if weight is None else np.sqrt(weight)
    lam, U = np.linalg.eigh(s[:, None] * K * s)
    lam, U = lam[::-1], U[:, ::-1]
    return lam, U


@pytest.mark.parametrize("solver", GRAM_SOLVERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_against_numpy(solver, weighted):
    w = rng.uniform(0.2, 3.0, 60) if weighted else None
    model = KernelPCA(4, gamma=0.3, center=False, solver=solver, random_state=0).fit(X, sample_weight=w)
    lam, U = slow(K, w)
    root = np.ones(60) if w is None else np.sqrt(w)
    Z = rbf_kernel(NEW, X, gamma=0.3) @ (root[:, None] * U[:, :4]) / np.sqrt(lam[:4])
    np.testing.assert_allclose(model.eigenvalues_, lam[:4], rtol=1e-10)
    np.testing.assert_allclose(np.abs(model.eigenvectors_), np.abs(U[:, :4]), atol=1e-9)
    np.testing.assert_allclose(np.abs(model.transform(NEW)), np.abs(Z), atol=1e-9)
    np.testing.assert_allclose(model.explained_variance_, lam[:4] / (60.0 if w is None else w.sum()), rtol=1e-10)
    np.testing.assert_allclose(model.explained_variance_ratio_, lam[:4] / lam.sum(), rtol=1e-10)
    np.testing.assert_allclose(model.reconstruction_error(NEW), 1.0 - np.sum(Z**2, axis=1), atol=1e-9)


@pytest.mark.parametrize("k", [None, 3, 0.9])
def test_a_precomputed_matrix_and_the_rows_agree(k):
    rows, given = (KernelPCA(k, kernel=kernel, gamma=0.3, center=False) for kernel in ("rbf", "precomputed"))
    Z = rows.fit_transform(X)
    np.testing.assert_allclose(given.fit_transform(K), Z, atol=1e-8)
    np.testing.assert_allclose(given.transform(rbf_kernel(NEW, X, gamma=0.3)), rows.transform(NEW), atol=1e-6)
    errors = given.reconstruction_error(rbf_kernel(NEW, X, gamma=0.3), diagonal=np.ones(9))
    assert given.score(rbf_kernel(NEW, X, gamma=0.3), diagonal=np.ones(9)) == -errors.mean()
    np.testing.assert_allclose(errors, rows.reconstruction_error(NEW), atol=1e-10)


def test_weights_are_copies():
    w = rng.integers(0, 4, 60)
    weighted = KernelPCA(3, gamma=0.3, center=False).fit(X, sample_weight=w)
    repeated = KernelPCA(3, gamma=0.3, center=False).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-12)
    np.testing.assert_allclose(weighted.transform(NEW), repeated.transform(NEW), atol=1e-12)
    assert weighted.explained_variance_ratio_ == pytest.approx(repeated.explained_variance_ratio_)


@pytest.mark.parametrize("approximation", ["rpcholesky", "nystroem"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_landmarks_that_span_all_rows_are_exact(approximation, kernel):
    options = {"kernel": kernel, "gamma": 0.3, "center": False}
    near = KernelPCA(2, **options, approximation=approximation, n_landmarks=60, random_state=0).fit(X)
    exact = KernelPCA(2, **options).fit(X)
    np.testing.assert_allclose(near.explained_variance_, exact.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(near.transform(NEW)), np.abs(exact.transform(NEW)), atol=1e-7)
    np.testing.assert_allclose(near.reconstruction_error(NEW), exact.reconstruction_error(NEW), atol=1e-7)


def test_random_features_are_those_of_their_own_matrix():
    model = KernelPCA(3, gamma=0.3, center=False, approximation="fourier", n_landmarks=40, random_state=0).fit(X)
    F, G = (model.model_.kernel(rows, model.model_.rows) for rows in (X, NEW))
    lam, V = np.linalg.eigh(F.T @ F)
    np.testing.assert_allclose(model.eigenvalues_, lam[::-1][:3], rtol=1e-10)
    left = np.sum((G - G @ V[:, -3:] @ V[:, -3:].T) ** 2, axis=1)
    np.testing.assert_allclose(model.reconstruction_error(NEW), left, atol=1e-10)


def test_a_linear_kernel_is_the_singular_value_decomposition():
    model = KernelPCA(kernel="linear", center=False).fit(X + 100.0)
    _, s, Vt = np.linalg.svd(X + 100.0, full_matrices=False)
    np.testing.assert_allclose(np.sqrt(model.eigenvalues_), s, rtol=1e-9)
    np.testing.assert_allclose(np.abs(model.transform(NEW)), np.abs(NEW @ Vt.T), atol=1e-7)
    np.testing.assert_allclose(model.inverse_transform(model.transform(NEW)), NEW, atol=1e-7)


@pytest.mark.parametrize("preimage", ["fixed-point", "mds", "ridge"])
def test_preimages_of_fitted_rows_are_these_rows(preimage):
    model = KernelPCA(gamma=0.3, center=False, preimage=preimage).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-2)


def test_one_more_component_than_with_centring():
    assert KernelPCA(gamma=2.0).fit(X).n_components_ == 59
    assert KernelPCA(gamma=2.0, center=False).fit(X).n_components_ == 60


def test_files_keep_it(tmp_path):
    model = KernelPCA(3, sigma=1.2, center=False).fit(X, sample_weight=np.arange(60.0))
    model.save(tmp_path / "m.safetensors")
    again = eigenlens.load(tmp_path / "m.safetensors")
    assert (again.center, again.sigma) == (False, 1.2)
    np.testing.assert_array_equal(again.transform(NEW), model.transform(NEW))
    np.testing.assert_array_equal(again.eigenvectors_, model.eigenvectors_)
    np.testing.assert_array_equal(again.explained_variance_, model.explained_variance_)


class TestReconstructionError:
    def test_a_linear_kernel_has_that_of_pca(self):
        ours, theirs = KernelPCA(2, kernel="linear").fit(X + 1e4), eigenlens.PCA(2).fit(X + 1e4)
        expected = theirs.reconstruction_error(NEW + 1e4)
        np.testing.assert_allclose(ours.reconstruction_error(NEW + 1e4), expected, rtol=1e-6, atol=1e-9)

    def test_fewer_components(self):
        model, few = KernelPCA(5, gamma=0.3).fit(X), KernelPCA(2, gamma=0.3).fit(X)
        np.testing.assert_allclose(model.reconstruction_error(NEW, 2), few.reconstruction_error(NEW), atol=1e-9)
        with pytest.raises(OptionError, match="k=6 must be at most 5"):
            model.reconstruction_error(NEW, 6)

    def test_over_the_fitted_rows_it_adds_up_to_the_eigenvalues_left_out(self):
        w = rng.uniform(0.5, 2.0, 60)
        model = KernelPCA(3, gamma=0.3).fit(X, sample_weight=w)
        left = (model.model_.trace - model.eigenvalues_.sum()) / w.sum()
        assert model.score(X, sample_weight=w) == pytest.approx(-left, rel=1e-9)

    def test_a_novel_row_is_farther_than_the_fitted_ones(self):
        model = KernelPCA(10, gamma=0.3).fit(X)
        assert model.reconstruction_error([[9.0, -9.0, 9.0]])[0] > model.reconstruction_error(X).max()

    def test_sparse_float32_and_dask_rows(self):
        sparse = pytest.importorskip("scipy.sparse")
        dask = pytest.importorskip("dask.array")
        model = KernelPCA(3, gamma=0.3).fit(X)
        expected = model.reconstruction_error(NEW)
        np.testing.assert_allclose(model.reconstruction_error(sparse.csr_matrix(NEW)), expected, atol=1e-12)
        np.testing.assert_allclose(model.reconstruction_error(NEW.astype(np.float32)), expected, atol=1e-6)
        lazy = model.reconstruction_error(dask.from_array(NEW, chunks=(4, 3)))
        np.testing.assert_allclose(lazy.compute(), expected, atol=1e-12)
        assert model.score(dask.from_array(NEW, chunks=(4, 3))) == pytest.approx(-expected.mean())

    def test_a_precomputed_kernel_needs_the_diagonal(self):
        model = KernelPCA(3, kernel="precomputed").fit(K)
        with pytest.raises(OptionError, match="diagonal must be given"):
            model.reconstruction_error(K)
        with pytest.raises(OptionError, match="has 3 values, but X has 60 rows"):
            model.reconstruction_error(K, diagonal=np.ones(3))
        with pytest.raises(OptionError, match="diagonal is for kernel='precomputed'"):
            KernelPCA(3).fit(X).reconstruction_error(X, diagonal=np.ones(60))

    def test_rows_that_are_not_finite(self):
        with pytest.raises(DataError, match="infinit"):
            KernelPCA(2, kernel="laplacian").fit(X).reconstruction_error([[np.inf, 0.0, 0.0]])


class TestGram:
    @pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "sigmoid", "cosine"])
    def test_the_named_kernels(self, kernel):
        options = {"gamma": 0.3} if kernel in ("poly", "rbf", "laplacian", "sigmoid") else {}
        np.testing.assert_allclose(
            eigenlens.gram(X, NEW, kernel, **options), pairwise_kernels(X, NEW, kernel, **options)
        )
        own = eigenlens.gram(X, kernel=kernel, **options)
        np.testing.assert_array_equal(own, own.T)
        np.testing.assert_allclose(own, pairwise_kernels(X, metric=kernel, **options), atol=1e-14)

    def test_containers_and_dtypes(self):
        sparse = pytest.importorskip("scipy.sparse")
        pd = pytest.importorskip("pandas")
        np.testing.assert_allclose(eigenlens.gram(sparse.csr_matrix(X), gamma=0.3), K, atol=1e-14)
        np.testing.assert_allclose(eigenlens.gram(pd.DataFrame(X), gamma=0.3), K, atol=1e-15)
        assert eigenlens.gram(X.astype(np.float32)).dtype == np.float32

    def test_tensors(self):
        torch = pytest.importorskip("torch")
        found = eigenlens.gram(torch.asarray(X), NEW, gamma=0.3)
        assert isinstance(found, torch.Tensor)
        np.testing.assert_allclose(found.numpy(), rbf_kernel(X, NEW, gamma=0.3), atol=1e-12)
        model = KernelPCA(3, gamma=0.3, center=False).fit(torch.asarray(X))
        errors = model.reconstruction_error(torch.asarray(NEW))
        assert isinstance(errors, torch.Tensor)
        expected = KernelPCA(3, gamma=0.3, center=False).fit(X).reconstruction_error(NEW)
        np.testing.assert_allclose(errors.numpy(), expected, atol=1e-9)

    def test_parameters_of_a_kernel_of_ones_own(self):
        def tilted(X, Y, slope, power=1):
            return (X @ Y.T * slope) ** power

        found = eigenlens.gram(X, NEW, tilted, kernel_params={"slope": 2.0, "power": 3})
        np.testing.assert_allclose(found, (2.0 * X @ NEW.T) ** 3)

    def test_what_is_wrong_is_named(self):
        with pytest.raises(DataError, match="Y has 2 columns, but X has 3"):
            eigenlens.gram(X, NEW[:, :2])
        with pytest.raises(OptionError, match=r"sigma=1\.0 is given beside gamma=2.0"):
            eigenlens.gram(X, sigma=1.0, gamma=2.0)
        with pytest.raises(OptionError, match=r"sigma=1.0 is the width of .* kernel='poly' has none"):
            eigenlens.gram(X, kernel="poly", sigma=1.0)
        with pytest.raises(OptionError, match="kernel='precomputed' has no formula"):
            eigenlens.gram(K, kernel="precomputed")
        with pytest.raises(DataError, match=r"missing|NaN"):
            eigenlens.gram([[np.nan, 1.0]])

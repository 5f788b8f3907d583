"""Kernel PCA through features against the dense eigenproblem of the centred Gram matrix."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import polars as pl
import pytest
from distributed import Client, LocalCluster
from scipy import sparse

import eigenlens
from eigenlens import PCA
from eigenlens.data.coerce import as_source
from eigenlens.data.memory import ArraySource
from eigenlens.errors import DataError, OptionError
from eigenlens.kernel_pca.features import APPROXIMATIONS, fit_feature_components, fit_landmark_components
from eigenlens.kernel_pca.kernels.cosine import Cosine
from eigenlens.kernel_pca.kernels.laplacian import Laplacian
from eigenlens.kernel_pca.kernels.linear import Linear
from eigenlens.kernel_pca.kernels.polynomial import Polynomial
from eigenlens.kernel_pca.kernels.precomputed import Precomputed
from eigenlens.kernel_pca.kernels.rbf import RBF
from eigenlens.kernel_pca.landmarks import draw_pivoted_landmarks
from eigenlens.kernel_pca.random_features import FourierFeatures, FourierMap

CERTIFIED = ["rpcholesky", "nystroem"]


def rows_of(n=150, d=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) * np.linspace(1.0, 2.0, d) + 0.5


def weights_of(n=150, seed=1):
    return np.random.default_rng(seed).integers(0, 4, n).astype(float)


def fit(X, kernel, approximation, n_landmarks, n_components=None, w=None, seed=0, **options):
    source = as_source(X).weighted(w)
    rng = np.random.default_rng(seed)
    found = fit_landmark_components(source, kernel, approximation, n_landmarks, n_components, rng=rng, **options)
    return found.model


def dense_kernel_pca(kernel, X, w, Y):
    """Eigenvalues of W^½ K̄ W^½, the trace, and the scores of Y: kernel PCA by its definition, copies as weights."""
    p = w / w.sum()
    K, k = kernel(X, X), kernel(Y, X)
    centred = K - (K @ p)[:, None] - K @ p + p @ K @ p
    new = k - (k @ p)[:, None] - K @ p + p @ K @ p
    root = np.sqrt(w)
    lam, U = np.linalg.eigh(root[:, None] * centred * root)
    lam, U = lam[::-1], U[:, ::-1]
    keep = lam > 1e-9 * lam[0]
    return lam, w @ np.diag(centred), new @ (root[:, None] * U[:, keep] / np.sqrt(lam[keep]))


def aligned(Z, like):
    return Z * np.sign(np.sum(Z * like, axis=0))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("approximation", CERTIFIED)
@pytest.mark.parametrize("kernel", [RBF(0.4), Laplacian(0.3), Cosine(), Polynomial(0.3, 1.0, 2)], ids=lambda k: k.name)
def test_all_rows_as_landmarks_is_exact_kernel_pca(kernel, approximation, weighted):
    X, w = rows_of(), weights_of() if weighted else np.ones(150)
    Y = rows_of(40, seed=9)
    model = fit(X, kernel, approximation, 150, 3, w if weighted else None)
    lam, trace, Z = dense_kernel_pca(kernel, X, w, Y)
    np.testing.assert_allclose(model.eigenvalues, lam[:3], rtol=1e-8)
    np.testing.assert_allclose(aligned(model.scores(Y), Z[:, :3]), Z[:, :3], atol=1e-8)
    assert model.trace == pytest.approx(trace, rel=1e-8)
    assert model.weight == w.sum()
    assert 0.0 <= model.left_out < 1e-12
    assert np.all(model.coefficients[np.abs(model.coefficients).argmax(axis=0), range(3)] > 0.0)


@pytest.mark.parametrize("approximation", CERTIFIED)
def test_few_landmarks_are_the_dense_nystroem_approximation(approximation):
    X, w, kernel = rows_of(), weights_of(), RBF(0.2)
    Y = rows_of(30, seed=3)
    model = fit(X, kernel, approximation, 20, 4, w, seed=2)
    R, full = model.rows, kernel(X, X)

    def approximate(A, B):
        return kernel(A, R) @ np.linalg.solve(kernel(R, R), kernel(R, B))

    lam, trace, Z = dense_kernel_pca(approximate, X, w, Y)
    np.testing.assert_allclose(model.eigenvalues, lam[:4], rtol=1e-8)
    np.testing.assert_allclose(aligned(model.scores(Y), Z[:, :4]), Z[:, :4], atol=1e-8)
    left = w @ (np.diag(full) - np.diag(approximate(X, X)))
    assert model.left_out == pytest.approx(left / (w @ np.diag(full)), rel=1e-8)
    assert model.trace == pytest.approx(trace + left, rel=1e-10)
    exact = dense_kernel_pca(kernel, X, w, Y)[1]
    assert exact <= model.trace <= exact + left


def test_the_model_is_what_it_says_of_itself():
    X, kernel = rows_of(), RBF(0.3)
    model = fit(X, kernel, "rpcholesky", 25, 5)
    A, q, K = model.coefficients, model.centre, kernel(model.rows, model.rows)
    np.testing.assert_allclose(A.T @ K @ A, np.eye(5), atol=1e-9)
    np.testing.assert_allclose(model.offset, A.T @ K @ q, atol=1e-9)
    assert model.centre_norm == pytest.approx(q @ K @ q, rel=1e-9)
    Z = model.scores(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(Z.T @ Z, np.diag(model.eigenvalues), atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("approximation", CERTIFIED)
def test_the_linear_kernel_with_enough_landmarks_is_pca(approximation, weighted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 6)) + 1.0
    w = weights_of(200) if weighted else None
    model = fit(X, Linear(), approximation, 30, 3, w)
    pca = PCA(3).fit(X, sample_weight=w)
    assert len(model.rows) == 3
    np.testing.assert_allclose(model.variances, pca.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(model.ratio, pca.explained_variance_ratio_, rtol=1e-8)
    Z = pca.transform(X)
    np.testing.assert_allclose(model.scores(X), Z, atol=1e-8)  # signs too: the largest loading is positive
    np.testing.assert_allclose(model.point(model.scores(X)) @ model.rows + model.origin, X, atol=1e-8)


@pytest.mark.parametrize(("dtype", "mean", "digits"), [(np.float64, 1e6, 1e-9), (np.float32, 100.0, 1e-5)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("approximation", CERTIFIED)
def test_the_linear_kernel_far_from_zero_is_pca(approximation, weighted, dtype, mean, digits):
    X, w = (rows_of() + mean).astype(dtype), weights_of() if weighted else None
    model, pca = fit(X, Linear(), approximation, 20, 4, w), PCA(4).fit(X.astype(float), sample_weight=w)
    assert model.rows.dtype == dtype
    np.testing.assert_array_equal(model.origin, model.origin.astype(dtype))
    np.testing.assert_allclose(model.variances, pca.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(model.ratio, pca.explained_variance_ratio_, rtol=1e-10)
    np.testing.assert_allclose(model.scores(X), pca.transform(X.astype(float)), atol=10 * digits)
    np.testing.assert_allclose(model.scores(X.astype(float)), pca.transform(X.astype(float)), atol=digits)


def test_sparse_rows_are_not_shifted():
    X = rows_of() * (np.random.default_rng(4).random((150, 4)) < 0.5)
    model = fit(sparse.csr_matrix(X), Linear(), "rpcholesky", 20, 4)
    assert sparse.issparse(model.rows)
    assert model.origin is None
    np.testing.assert_allclose(model.scores(sparse.csr_matrix(X)), PCA(4).fit_transform(X), atol=1e-8)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_weights_are_copies(approximation):
    X, w = rows_of(), weights_of()
    weighted = fit(X, RBF(0.3), approximation, 30, 4, w, seed=5)
    copies = fit(np.repeat(X, w.astype(int), axis=0), RBF(0.3), approximation, 30, 4, seed=5)
    assert_same(weighted, copies)


def assert_same(one, other, tolerance=1e-9):
    np.testing.assert_allclose(np.asarray(one.rows), np.asarray(other.rows), atol=tolerance)
    for name in ("coefficients", "offset", "centre"):
        scale = np.abs(getattr(other, name)).max()
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=tolerance * scale, err_msg=name)
    for name in ("eigenvalues", "trace", "weight", "centre_norm", "left_out"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=tolerance, err_msg=name)


def memmap(folder, X):
    np.save(folder / "map.npy", X)
    return np.load(folder / "map.npy", mmap_mode="r")


def parquet(folder, X):
    pl.DataFrame(X, schema=[f"x{j}" for j in range(X.shape[1])]).write_parquet(folder / "rows.parquet")
    return eigenlens.scan(folder / "rows.parquet", block_rows=41)


KINDS = {
    "blocks": lambda folder, X: ArraySource(X, block_rows=17),
    "memmap": memmap,
    "parquet": parquet,
    "dask": lambda folder, X: da.from_array(X, chunks=(45, 2)),
    "torch": lambda folder, X: pytest.importorskip("torch").tensor(X),
}


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_rows_gives_the_same_model(tmp_path, kind, approximation):
    X, w = rows_of(), weights_of()
    here = fit(X, RBF(0.3), approximation, 30, 4, w, seed=3)
    assert_same(fit(KINDS[kind](tmp_path, X), RBF(0.3), approximation, 30, 4, w, seed=3), here)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_rows_is_shifted_for_the_linear_kernel(tmp_path, kind):
    X, w = rows_of() + 100.0, weights_of()
    here, there = (fit(rows, Linear(), "rpcholesky", 2, 2, w) for rows in (X, KINDS[kind](tmp_path, X)))
    np.testing.assert_allclose(np.asarray(there.rows), here.rows, atol=1e-9)
    np.testing.assert_allclose(there.coefficients, here.coefficients, atol=1e-9)
    np.testing.assert_allclose(there.eigenvalues, here.eigenvalues, rtol=1e-9)
    np.testing.assert_allclose(there.origin, np.average(X, axis=0, weights=w), rtol=1e-14)


def test_sparse_rows_are_dense_rows():
    X = rows_of() * (np.random.default_rng(4).random((150, 4)) < 0.5)
    here, there = (fit(rows, RBF(0.3), "rpcholesky", 30, 4) for rows in (X, sparse.csr_matrix(X)))
    np.testing.assert_array_equal(there.rows.toarray(), here.rows)
    np.testing.assert_allclose(there.scores(sparse.csr_matrix(X)), here.scores(X), atol=1e-8)
    frequencies = fit(sparse.csr_matrix(X), RBF(0.3), "fourier", 30, 4)
    twin = fit_feature_components(ArraySource(X), FourierMap(FourierFeatures(), frequencies.rows, 0.0), 4)
    np.testing.assert_allclose(frequencies.scores(sparse.csr_matrix(X)), twin.scores(X), atol=1e-8)


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "30s"}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.few(1)
@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize("n_landmarks", [40, 0.05])
def test_two_worker_processes_give_the_model_of_one(client, approximation, n_landmarks):
    if (approximation, n_landmarks) == ("fourier", 0.05):
        n_landmarks = 64
    X, w = rows_of(900), weights_of(900)
    here = fit(X, RBF(0.1), approximation, n_landmarks, 0.5, w, seed=6)
    with client.as_current():
        D = da.from_array(X, chunks=(170, 3))
        assert_same(fit(D, RBF(0.1), approximation, n_landmarks, 0.5, w, seed=6), here)


def test_shares_of_variance_and_all_components():
    X, kernel = rows_of(), RBF(0.1)
    model = fit(X, kernel, "rpcholesky", 1e-6, 0.9)
    assert model.ratio.sum() >= 0.9 > model.ratio[:-1].sum()
    whole = fit(X, kernel, "rpcholesky", 1e-6)
    assert whole.eigenvalues.sum() == pytest.approx(whole.trace, rel=2e-6)
    assert len(whole.eigenvalues) > X.shape[1]
    np.testing.assert_allclose(whole.first(len(model.eigenvalues)).eigenvalues, model.eigenvalues, rtol=1e-10)
    with pytest.raises(OptionError, match=r"n_components=0\.99 is a larger share .* keep, 0\.\d+; .* n_landmarks"):
        fit(X, kernel, "rpcholesky", 10, 0.99)


def test_numbers_that_do_not_fit():
    X = rows_of()
    with pytest.raises(OptionError, match="n_components=4 must be at most 3, the rank of the centred features"):
        fit(X[:, :3], Linear(), "rpcholesky", 50, 4)
    with pytest.raises(OptionError, match="n_components=21 must be at most 20"):
        fit(X, RBF(0.3), "nystroem", 20, 21)
    for approximation in APPROXIMATIONS:
        with pytest.raises(DataError, match="all rows are equal to the kernel"):
            fit(np.full((20, 3), 0.7), RBF(0.3), approximation, 10, 1)
        with pytest.raises(OptionError, match=f"approximation='{approximation}' .* kernel='precomputed'"):
            fit(np.eye(5), Precomputed(), approximation, 3)


def test_large_means_cost_no_digits():
    """The images of shifted rows are the same; a power of two shifts these rows exactly."""
    X = np.round(rows_of() * 2**20) / 2**20
    for approximation in APPROXIMATIONS:
        here, there = (fit(rows, RBF(0.3), approximation, 40, 4) for rows in (X, X + 2.0**20))
        np.testing.assert_allclose(there.eigenvalues, here.eigenvalues, rtol=1e-8)
        np.testing.assert_allclose(there.scores(X + 2.0**20), here.scores(X), atol=1e-8)


@pytest.mark.parametrize("approximation", CERTIFIED)
def test_little_variance_beside_a_large_constant(approximation):
    """k = 1 − 1e-8 or so everywhere: the variance is eight digits down, and is not the difference of two traces."""
    X = rows_of()
    model = fit(X, RBF(1e-9), approximation, 20, 2)
    linear = PCA(2).fit(X)
    np.testing.assert_allclose(model.variances, 2e-9 * linear.explained_variance_, rtol=1e-5)
    np.testing.assert_allclose(model.ratio, linear.explained_variance_ratio_, rtol=1e-5)


@pytest.mark.parametrize("gamma", [0.2, 1e-3, 1e-6])
@pytest.mark.parametrize("approximation", CERTIFIED)
def test_float32_rows_are_float64_rows_to_their_digits(approximation, gamma):
    X = rows_of().astype(np.float32)
    single, double = (fit(rows, RBF(gamma), approximation, 100, 2) for rows in (X, X.astype(float)))
    assert np.asarray(single.rows).dtype == np.float32
    np.testing.assert_allclose(single.eigenvalues, double.eigenvalues, rtol=1e-10)
    assert single.left_out == pytest.approx(double.left_out, rel=1e-6, abs=1e-13)
    lam = dense_kernel_pca(RBF(gamma), X.astype(float), np.ones(150), X[:1].astype(float))[0]
    np.testing.assert_allclose(single.eigenvalues, lam[:2], rtol=1e-2 if gamma > 0.1 else 1e-7)


def test_float32_fourier_features_are_those_of_float64_to_their_digits():
    X = rows_of().astype(np.float32)
    single, double = (fit(rows, RBF(0.2), "fourier", 40, 4) for rows in (X, X.astype(float)))
    np.testing.assert_allclose(single.eigenvalues, double.eigenvalues, rtol=1e-5)
    assert single.left_out == pytest.approx(double.left_out, rel=1e-5)


def test_a_fit_says_how_its_features_were_found():
    source, rng = ArraySource(rows_of(400, 3)), np.random.default_rng(0)
    few = fit_landmark_components(source, RBF(0.05), "rpcholesky", 20, 2, rng=rng)
    assert (few.n_features, few.met) == (20, True)
    assert few.passes >= 2
    assert few.reason == "20 landmarks were asked for"
    rank = fit_landmark_components(source, RBF(0.05), "nystroem", 400, 2, rng=rng)
    assert rank.n_features == len(rank.model.rows) < 400
    assert rank.reason.endswith("up to rounding; 400 were asked for")
    missed = fit_landmark_components(source, RBF(0.05), "nystroem", 1e-14, 2, rng=rng)
    assert not missed.met
    assert missed.model.left_out > 1e-14


def test_a_callable_makes_the_features():
    def landmarks(source, kernel, n_landmarks, rng, progress):
        return draw_pivoted_landmarks(source, kernel, n_landmarks, rng, progress).first(7)

    assert len(fit(rows_of(), RBF(0.3), landmarks, 20, 2).rows) == 7

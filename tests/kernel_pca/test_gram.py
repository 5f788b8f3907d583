"""Gram operators against the matrices that they never make: double loops, and centring by explicit matrices."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from eigenlens.kernel_pca.kernels.cosine import Cosine
from eigenlens.kernel_pca.kernels.custom import Custom
from eigenlens.kernel_pca.kernels.gram import CentredGram, KernelOperator, gram_matrix, upper_gram
from eigenlens.kernel_pca.kernels.laplacian import Laplacian
from eigenlens.kernel_pca.kernels.linear import Linear
from eigenlens.kernel_pca.kernels.polynomial import Polynomial
from eigenlens.kernel_pca.kernels.precomputed import Precomputed
from eigenlens.kernel_pca.kernels.rbf import RBF
from eigenlens.kernel_pca.kernels.sigmoid import Sigmoid
from eigenlens.linalg.lanczos import lanczos
from eigenlens.linalg.spectrum import Requested

KERNELS = [RBF(0.2), Polynomial(0.2, 1.0, 3), Laplacian(0.3), Linear(), Sigmoid(0.1, 0.0), Cosine()]


def name_of(kernel):
    return kernel.name


def rows(n=150, d=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) + np.arange(d)


def weights(n, seed=1):
    w = np.random.default_rng(seed).uniform(0.0, 3.0, n)
    w[::5] = 0.0
    return w


def pairs(kernel, X):
    """One pair of rows at a time."""
    return np.array([[kernel(x[None], y[None])[0, 0] for y in X] for x in X])


def centred(K, weight=None):
    """By the explicit centring matrix I − 1 pᵀ, in float64."""
    K = np.asarray(K, dtype=np.float64)
    w = np.ones(len(K)) if weight is None else weight
    C = np.eye(len(K)) - np.outer(np.ones(len(K)), w / w.sum())
    return np.sqrt(w)[:, None] * (C @ K @ C.T) * np.sqrt(w)


@pytest.mark.few(4)
@pytest.mark.parametrize("kernel", KERNELS, ids=name_of)
def test_the_gram_matrix_holds_every_pair(kernel):
    X = rows(n=81)
    K = gram_matrix(kernel, X)
    np.testing.assert_allclose(K, pairs(kernel, X), rtol=1e-12, atol=1e-13)
    assert np.array_equal(K, K.T)


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 520])
def test_the_tiles_meet(n):
    X = rows(n)
    np.testing.assert_allclose(gram_matrix(RBF(0.2), X), RBF(0.2)(X, X), atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kinds_of_rows(dtype):
    X = (rows(200) * (rows(200, seed=3) > 0.5)).astype(dtype)
    torch = pytest.importorskip("torch")
    K, tol = gram_matrix(RBF(0.2), X), 10 * np.finfo(dtype).eps
    assert K.dtype == dtype
    np.testing.assert_allclose(gram_matrix(RBF(0.2), sparse.csr_matrix(X)), K, atol=tol)
    tensor = gram_matrix(RBF(0.2), torch.from_numpy(X))
    assert tensor.dtype == torch.from_numpy(X).dtype
    np.testing.assert_allclose(tensor.numpy(), K, atol=tol)


def test_a_matrix_given_by_the_user_is_copied():
    given = gram_matrix(RBF(0.2), rows())
    K = gram_matrix(Precomputed(), given)
    assert np.array_equal(K, given)
    assert not np.shares_memory(K, given)
    V = np.eye(150)[:, :2]
    np.testing.assert_allclose(KernelOperator(Precomputed(), given).matmat(V), CentredGram(K).matmat(V), atol=1e-12)


@pytest.mark.parametrize("kernel", [RBF(0.2), Polynomial(0.2, 1.0, 3)], ids=name_of)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_half_the_gram_matrix_is_the_only_large_array(kernel, dtype):
    X = rows(2500).astype(dtype)
    tracemalloc.start()
    with threadpool_limits(2):
        A = CentredGram(upper_gram(kernel, X))
        A.matmat(np.ones((2500, 4)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.6 * 2500 * 2500 * X.itemsize + (4 << 20)


@pytest.mark.parametrize("weight", [None, weights(150)], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_implicit_centring_is_centring(weight, dtype):
    X = rows().astype(dtype)
    K = gram_matrix(Polynomial(0.2, 1.0, 3), X)
    wanted, V = centred(K, weight), np.random.default_rng(2).standard_normal((150, 7))
    A = CentredGram(K, weight)
    size = np.abs(wanted).max()
    assert A.size == 150
    assert A.trace == pytest.approx(np.trace(wanted), rel=1e-12)
    np.testing.assert_allclose(A.matmat(V), wanted @ V, atol=1e-11 * size)
    p = np.full(150, 1 / 150) if weight is None else weight / weight.sum()
    np.testing.assert_allclose(A.row_means, K.astype(float) @ p, rtol=1e-12)
    assert A.grand_mean == pytest.approx(p @ K.astype(float) @ p, rel=1e-12)


@pytest.mark.parametrize("weight", [None, weights(150)], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_dense_matrix(weight, dtype):
    K = gram_matrix(RBF(0.2), rows().astype(dtype))
    before, wanted = K.copy(), centred(K, weight)
    A = CentredGram(K, weight)
    D = A.dense()
    assert D.dtype == np.float64
    np.testing.assert_allclose(D, D.T, atol=1e-15)
    np.testing.assert_allclose(D, wanted, atol=1e-13)
    assert A.trace == pytest.approx(np.trace(wanted), rel=1e-12)
    assert np.array_equal(K, before)


@pytest.mark.few(4)
@pytest.mark.parametrize("weight", [None, weights(70)], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("kernel", KERNELS, ids=name_of)
@pytest.mark.parametrize("block_rows", [None, 9, 1000])
def test_the_operator_without_a_matrix_is_the_same(kernel, weight, block_rows):
    X, V = rows(70), np.random.default_rng(2).standard_normal((70, 5))
    free, held = KernelOperator(kernel, X, weight, block_rows), CentredGram(gram_matrix(kernel, X), weight)
    size = max(1.0, np.abs(held.matmat(V)).max())
    np.testing.assert_allclose(free.matmat(V), held.matmat(V), atol=1e-11 * size)
    assert free.trace == pytest.approx(held.trace, rel=1e-11)
    np.testing.assert_allclose(free.row_means, held.row_means, rtol=1e-10)
    assert free.grand_mean == pytest.approx(held.grand_mean, rel=1e-11)
    np.testing.assert_allclose(free.dense(), centred(pairs(kernel, X), weight), atol=1e-11 * size)


def test_float32_tiles_are_those_of_the_matrix():
    X, V = rows(300).astype(np.float32), rows(300, 5, seed=2)
    free, held = KernelOperator(RBF(0.2), X), CentredGram(gram_matrix(RBF(0.2), X))
    # Tiles round about centres of their own: sums of 300 values, each with an error of a few float32 units.
    rounding = 4 * np.finfo(np.float32).eps * np.sqrt(300) * np.abs(V).max()
    np.testing.assert_allclose(free.matmat(V), held.matmat(V), atol=rounding)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("make", [CentredGram, KernelOperator])
def test_tensors(make, dtype):
    torch = pytest.importorskip("torch")
    X, w, V = rows().astype(dtype), weights(150), rows(150, 3, seed=4)
    wanted = centred(gram_matrix(RBF(0.2), X), w)
    tensor = torch.from_numpy(X)
    A = CentredGram(gram_matrix(RBF(0.2), tensor), w) if make is CentredGram else KernelOperator(RBF(0.2), tensor, w)
    tol = 100 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(A.matmat(V), wanted @ V, atol=10 * tol)
    assert A.trace == pytest.approx(np.trace(wanted), rel=tol)
    np.testing.assert_allclose(A.dense(), wanted, atol=tol)


@pytest.mark.parametrize("make", [CentredGram, KernelOperator])
def test_a_weight_counts_copies(make):
    """The eigenvalues are those of the repeated rows; an eigenvector's entry √w_i u_i is shared by the copies."""
    X, w = rows(40), np.random.default_rng(3).integers(0, 4, 40)
    repeated = np.repeat(X, w, axis=0)

    def operator(X, weight=None):
        kernel = RBF(0.2)
        return CentredGram(gram_matrix(kernel, X), weight) if make is CentredGram else KernelOperator(kernel, X, weight)

    once, copies = operator(X, w.astype(float)), operator(repeated)
    assert once.trace == pytest.approx(copies.trace, rel=1e-12)
    assert once.grand_mean == pytest.approx(copies.grand_mean, rel=1e-12)
    values, vectors = np.linalg.eigh(once.dense())
    wanted, expected = np.linalg.eigh(copies.dense())
    np.testing.assert_allclose(values[::-1][:20], wanted[::-1][:20], atol=1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        shared = np.repeat(vectors[:, -3:] / np.sqrt(w)[:, None], w, axis=0)
    np.testing.assert_allclose(np.abs(np.sum(shared * expected[:, -3:], axis=0)), 1.0, rtol=1e-12)


@pytest.mark.parametrize("make", [CentredGram, KernelOperator])
def test_threads_change_nothing(make):
    X, V = rows(900).astype(np.float32), rows(900, 6, seed=2)
    found = []
    for count in (1, 2, 3):
        with threadpool_limits(count):
            kernel = RBF(0.2)
            A = CentredGram(gram_matrix(kernel, X)) if make is CentredGram else KernelOperator(kernel, X)
            found.append((A.matmat(V), A.trace))
    for product, trace in found[1:]:
        np.testing.assert_allclose(product, found[0][0], atol=1e-12 * np.abs(found[0][0]).max())
        assert trace == pytest.approx(found[0][1], rel=1e-13)


def test_a_function_of_the_user_is_called_by_one_thread():
    import threading

    callers = set()

    def watched(X, Y):
        callers.add(threading.get_ident())
        return X @ Y.T

    with threadpool_limits(2):
        gram_matrix(Custom(watched), rows(300))
    assert callers == {threading.get_ident()}


@pytest.mark.long
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-12), (np.float32, 1e-7)])
def test_lanczos_finds_the_eigenvalues_of_the_exact_matrix(dtype, tol):
    X = (rows(800, 10) * np.linspace(2.0, 0.3, 10)).astype(dtype)
    wanted = np.linalg.eigvalsh(centred(gram_matrix(RBF(0.1), X.astype(float))))[::-1][:15]
    for A in (CentredGram(gram_matrix(RBF(0.1), X)), KernelOperator(RBF(0.1), X)):
        spectrum = lanczos(A, Requested.count(15, 800), 1e-10, np.random.default_rng(0))
        assert spectrum.outcome.converged
        np.testing.assert_allclose(spectrum.values, wanted, atol=tol * wanted[0])
        assert A.passes > 5


def test_a_mean_of_the_features_far_from_zero_costs_few_digits():
    """(x·y + 1000)²: the constant part is 10⁵ times what is left, and cancels before the product."""
    X = rows(300) - rows(300).mean(axis=0)
    K = gram_matrix(Polynomial(1.0, 1000.0, 2), X).astype(np.float32)
    exact, V = centred(K), np.linalg.qr(rows(300, 4, seed=5))[0]
    np.testing.assert_allclose(CentredGram(K).matmat(V), exact @ V, atol=1e-11 * np.linalg.norm(exact, 2))


def test_progress_is_reported_in_rows():
    seen = []
    gram_matrix(RBF(0.2), rows(200), progress=lambda done, n, label: seen.append((done, n, label)))
    assert seen[-1] == (200, 200, "Gram matrix")
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)
    seen.clear()
    free = KernelOperator(RBF(0.2), rows(200), progress=lambda done, n, label: seen.append((done, n, label)))
    free.matmat(np.ones((200, 1)))
    assert seen[-1] == (200, 200, "kernel products")

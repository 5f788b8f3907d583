"""Kernels where rounding, options or a user's own function make them hard."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from eigenlens.errors import DataError, OptionError
from eigenlens.kernel_pca.kernels import make_kernel
from eigenlens.kernel_pca.kernels.cosine import Cosine
from eigenlens.kernel_pca.kernels.custom import Custom
from eigenlens.kernel_pca.kernels.distances import squared_distances
from eigenlens.kernel_pca.kernels.laplacian import Laplacian
from eigenlens.kernel_pca.kernels.linear import Linear
from eigenlens.kernel_pca.kernels.polynomial import Polynomial
from eigenlens.kernel_pca.kernels.precomputed import Precomputed
from eigenlens.kernel_pca.kernels.rbf import RBF
from eigenlens.kernel_pca.kernels.sigmoid import Sigmoid


def rows(n=60, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def distances(X, Y):
    """By differences, in extended precision."""
    X, Y = X.astype(np.longdouble), Y.astype(np.longdouble)
    return np.sum((X[:, None] - Y) ** 2, axis=2).astype(float)


@pytest.mark.parametrize(("dtype", "mean", "tol"), [(np.float64, 1e8, 1e-13), (np.float32, 1e3, 1e-5)])
@pytest.mark.parametrize("kind", ["array", "tensor"])
def test_a_large_mean_costs_no_digits(dtype, mean, tol, kind):
    X, Y = (rows() + mean).astype(dtype), (rows(40, seed=1) + mean).astype(dtype)
    between, within = (np.exp(-0.4 * distances(X, other)) for other in (Y, X))
    if kind == "tensor":
        X, Y = map(pytest.importorskip("torch").from_numpy, (X, Y))
    np.testing.assert_allclose(np.asarray(RBF(0.4)(X, Y)), between, atol=tol)
    np.testing.assert_allclose(np.asarray(RBF(0.4)(X, X)), within, atol=tol)


@pytest.mark.parametrize("kind", ["array", "tensor", "sparse"])
def test_float32_rows_far_apart_beside_the_width_keep_their_kernel(kind):
    X = rows(400, d=3) + 3000.0 * np.repeat([[1.0], [-1.0]], 200, axis=0)
    X = X.astype(np.float32)
    wanted = np.exp(-0.5 * distances(X, X))
    given = {
        "array": lambda: X,
        "sparse": lambda: sparse.csr_matrix(X),
        "tensor": lambda: pytest.importorskip("torch").from_numpy(X),
    }[kind]()
    K = np.asarray(RBF(0.5)(given, given))
    assert K.dtype == np.float32
    np.testing.assert_allclose(K, wanted, atol=1e-5)
    lost = np.exp(-0.5 * squared_distances(X, X))
    assert np.abs(lost - wanted).max() > 1e-2  # what the plain float32 product would have given


def test_float32_rows_whose_squares_overflow():
    X = np.array([[0.0, 1e30], [1.0, -1e30], [0.0, 1e30]], dtype=np.float32)
    np.testing.assert_array_equal(RBF(1.0)(X, X.copy()), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])


@pytest.mark.parametrize("kernel", [RBF(0.3), Laplacian(0.3), Cosine()])
@pytest.mark.parametrize("kind", ["array", "sparse", "tensor"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_diagonal_is_exactly_one(kernel, kind, dtype):
    X = (rows(700, 20) * 10 + 3).astype(dtype)
    if kind == "tensor":
        X = pytest.importorskip("torch").from_numpy(X)
    X = sparse.csr_matrix(X) if kind == "sparse" else X
    K = np.asarray(kernel(X, X))
    assert np.all(np.diag(K) == 1.0)
    assert np.array_equal(K, K.T)


def test_zero_rows_have_no_direction():
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    for given in (X, sparse.csr_matrix(X)):
        np.testing.assert_allclose(Cosine()(given, given), [[0.0, 0.0], [0.0, 1.0]], atol=1e-16)
        np.testing.assert_array_equal(Cosine().diagonal(given), [0.0, 1.0])


@pytest.mark.parametrize("kernel", [RBF(0.1), Polynomial(0.1, 1.0, 3), Sigmoid(0.1, 0.0), Cosine(), Laplacian(0.1)])
def test_a_kernel_matrix_costs_its_own_memory(kernel):
    X, Y = rows(1200, 4), rows(1100, 4, seed=1)
    kernel(X[:5], Y[:5])
    tracemalloc.start()
    K = kernel(X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.35 * K.nbytes


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_powers(degree):
    X = rows(30)
    kernel = Polynomial(gamma=0.5, coef0=-1.0, degree=degree)
    np.testing.assert_allclose(kernel(X, X), (0.5 * X @ X.T - 1.0) ** degree, rtol=1e-12)
    assert kernel.invertible == (degree % 2 == 1)


def test_an_even_power_gives_the_larger_root():
    kernel, P = Polynomial(gamma=2.0, coef0=1.0, degree=2), np.array([0.5, 3.0])
    np.testing.assert_allclose(kernel.dot(kernel.from_dot(P.copy())), P)


def test_kernel_values_outside_their_range_have_finite_arguments():
    assert np.all(np.isfinite(RBF(0.5).distance(np.array([-0.1, 0.0, 1.0, 1.5]))))
    assert RBF(0.5).distance(np.array([1.5]))[0] == 0.0
    assert np.all(np.isfinite(Sigmoid(0.5, 0.0).dot(np.array([-1.0, 1.0, 2.0]))))


def test_values_given_by_the_user_are_passed_on():
    K = np.array([[2.0, 1.0], [1.0, 3.0]])
    assert Precomputed()(K, None) is K
    np.testing.assert_array_equal(Precomputed().diagonal(K), [2.0, 3.0])
    np.testing.assert_array_equal(Precomputed()(sparse.csr_matrix(K), None), K)
    np.testing.assert_array_equal(Precomputed().diagonal(sparse.csr_matrix(K)), [2.0, 3.0])


def pairwise(x, y):
    return float(np.sum(x * y[0]))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X, Y: X @ X.T, r"shape \(4, 4\) for X with 4 rows and Y with 3, not \(4, 3\)"),
        (pairwise, r"kernel pairwise returned an array of shape \(\)"),
        (lambda X, Y: (X @ Y.T) * np.nan, "not finite"),
        (lambda X, Y: (X @ Y.T) * 1j, "dtype complex128; return real numbers"),
        (lambda X, Y: None, "dtype object"),
    ],
)
def test_a_function_that_is_no_kernel_is_rejected(function, message):
    with pytest.raises(DataError, match=message):
        Custom(function)(rows(4), rows(3))


def test_a_function_may_give_a_sparse_matrix_or_integers():
    X = sparse.csr_matrix(rows(4))
    np.testing.assert_array_equal(Custom(lambda X, Y: X @ Y.T)(X, X), Linear()(X, X))
    assert Custom(lambda X, Y: np.ones((len(X), len(Y)), int))(rows(4), rows(3)).dtype == np.float64


def test_the_diagonal_of_a_function_is_made_of_small_blocks():
    largest = 0

    def watched(X, Y):
        nonlocal largest
        largest = max(largest, len(X) * len(Y))
        return np.exp(-distances(X, Y))

    X = rows(500, 2)
    np.testing.assert_allclose(Custom(watched).diagonal(X), np.ones(500))
    assert largest <= 64 * 64


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(OptionError, match="did you mean 'laplacian'"):
        make_kernel("laplace")

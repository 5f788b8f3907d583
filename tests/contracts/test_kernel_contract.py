"""What every kernel in `KERNELS` promises, and one that a user wrote: the values of its formula for every kind of rows.

The twin is a double loop over pairs of rows, with the formula written out.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from eigenlens.arrays import to_numpy
from eigenlens.errors import ModelFileError
from eigenlens.kernel_pca.kernels import KERNELS, make_kernel
from eigenlens.kernel_pca.kernels.base import DistanceKernel, DotProductKernel, Kernel
from eigenlens.kernel_pca.kernels.custom import Custom
from eigenlens.kernel_pca.storage import kernel_from_dict, kernel_to_dict

GAMMA, DEGREE, COEF0 = 0.3, 3, 0.5


def cosine(x, y):
    lengths = np.sqrt((x @ x) * (y @ y))
    return x @ y / lengths if lengths > 0.0 else 0.0


FORMULAS = {
    "linear": lambda x, y: x @ y,
    "poly": lambda x, y: (GAMMA * (x @ y) + COEF0) ** DEGREE,
    "rbf": lambda x, y: np.exp(-GAMMA * np.sum((x - y) ** 2)),
    "laplacian": lambda x, y: np.exp(-GAMMA * np.sum(np.abs(x - y))),
    "sigmoid": lambda x, y: np.tanh(GAMMA * (x @ y) + COEF0),
    "cosine": cosine,
    "callable": lambda x, y: 2.0 * (x @ y) ** 2,
}
NAMES = list(FORMULAS)

KINDS = {
    "C": (np.ascontiguousarray, np.ascontiguousarray),
    "F": (np.asfortranarray, np.asfortranarray),
    "strided": (lambda X: np.repeat(X, 2, axis=1)[:, ::2], lambda X: np.repeat(X, 3, axis=0)[::3]),
    "sparse": (sparse.csr_matrix, sparse.csr_matrix),
    "sparse array": (sparse.csr_array, sparse.csr_array),
    "sparse and dense": (sparse.csr_matrix, np.asarray),
    "dense and sparse": (np.asarray, sparse.csr_matrix),
}
TOLERANCE = {np.float64: 1e-13, np.float32: 3e-6}


def of_a_user(X, Y, times):
    P = X @ Y.T
    P = P.toarray() if sparse.issparse(P) else P
    return times * P * P


def a_kernel(name):
    if name == "callable":
        return make_kernel(of_a_user, parameters={"times": 2})
    return make_kernel(name, gamma=GAMMA, degree=DEGREE, coef0=COEF0)


def rows(n, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    X[2] = 0.0
    return X


def by_loop(name, X, Y):
    return np.array([[FORMULAS[name](x, y) for y in Y.astype(float)] for x in X.astype(float)])


def close(found, wanted, dtype):
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=TOLERANCE[dtype] * max(1.0, np.abs(wanted).max()))


def test_every_named_kernel_has_a_formula_here():
    assert set(KERNELS) | {"callable"} == set(FORMULAS) | {"precomputed"}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_values_are_the_formula(name, kind, dtype):
    X, Y = rows(23).astype(dtype), rows(17, seed=1).astype(dtype)
    left, right = KINDS[kind]
    kernel = a_kernel(name)
    K = kernel(left(X), right(Y))
    assert isinstance(K, np.ndarray)
    assert K.dtype == dtype
    close(K, by_loop(name, X, Y), dtype)
    close(kernel.diagonal(left(X)), np.diag(by_loop(name, X, X)), dtype)
    assert kernel.diagonal(left(X)).dtype == dtype


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_tensors_give_tensors(library, name, dtype):
    xp = pytest.importorskip(library)
    X, Y = rows(23).astype(dtype), rows(17, seed=1).astype(dtype)
    kernel = a_kernel(name)
    K = kernel(xp.asarray(X), xp.asarray(Y))
    assert K.dtype == xp.asarray(X).dtype
    close(to_numpy(K), by_loop(name, X, Y), dtype)
    close(to_numpy(kernel.diagonal(xp.asarray(X))), np.diag(by_loop(name, X, X)), dtype)


@pytest.mark.parametrize("kind", ["C", "sparse", "tensor"])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "callable"])
def test_one_set_of_rows_gives_a_symmetric_matrix(name, kind):
    X = rows(301, d=40).astype(np.float32)
    if kind == "tensor":
        X = pytest.importorskip("torch").from_numpy(X)
    X = sparse.csr_matrix(X) if kind == "sparse" else X
    K = to_numpy(a_kernel(name)(X, X))
    assert np.array_equal(K, K.T)


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_left_as_they_were(name):
    X, Y = rows(9), rows(8, seed=1)
    X.flags.writeable = Y.flags.writeable = False
    kernel = a_kernel(name)
    assert np.array_equal(kernel(X, Y), kernel(X.copy(), Y.copy()))
    kernel(X, X)[:] = np.nan
    kernel.diagonal(X)[:] = np.nan
    assert np.all(np.isfinite(X))


@pytest.mark.parametrize("name", NAMES)
def test_one_row_and_one_column(name):
    X, Y = np.array([[0.5]]), np.array([[-2.0]])
    close(a_kernel(name)(X, Y), by_loop(name, X, Y), np.float64)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "sigmoid"])
def test_no_negative_eigenvalues(name):
    X = rows(40)
    values = np.linalg.eigvalsh(a_kernel(name)(X, X))
    assert values[0] > -1e-12 * values[-1]


@pytest.mark.parametrize("name", KERNELS)
def test_a_named_kernel_is_its_name_and_numbers(name):
    kernel = a_kernel(name)
    assert isinstance(kernel, Kernel)
    assert kernel.name == name
    assert kernel_from_dict(*kernel_to_dict(kernel)) == kernel
    assert all(isinstance(number, int | float) for number in kernel_to_dict(kernel)[1].values())
    assert make_kernel(kernel) is kernel


def test_a_callable_is_not_saved():
    with pytest.raises(ModelFileError, match="named kernels: 'linear'"):
        kernel_to_dict(Custom(lambda X, Y: X @ Y.T))


def test_a_file_with_another_kernel_is_rejected():
    with pytest.raises(ModelFileError, match="'spline' is not known"):
        kernel_from_dict("spline", {})
    with pytest.raises(ModelFileError, match="'rbf' needs gamma"):
        kernel_from_dict("rbf", {"degree": 3})


@pytest.mark.parametrize("name", KERNELS)
def test_only_the_linear_kernel_is_the_identity(name):
    assert a_kernel(name).identity == (name == "linear")


@pytest.mark.parametrize("name", [name for name in NAMES if isinstance(a_kernel(name), DotProductKernel)])
def test_dot_products_and_back(name):
    kernel, X = a_kernel(name), rows(12)
    P = X @ X.T
    K = kernel.from_dot(P.copy())
    close(K, kernel(X, X), np.float64)
    assert kernel.invertible
    np.testing.assert_allclose(kernel.dot(K), P, atol=1e-8)


@pytest.mark.parametrize("name", [name for name in NAMES if isinstance(a_kernel(name), DistanceKernel)])
def test_distances_and_back(name):
    kernel, X = a_kernel(name), rows(12)
    D = np.sum((X[:, None] - X) ** 2, axis=2)
    K = kernel.from_distance(D.copy())
    close(K, kernel(X, X), np.float64)
    np.testing.assert_allclose(kernel.distance(K), D, atol=1e-12)


def test_which_kernels_are_functions_of_what():
    assert {name for name in KERNELS if isinstance(a_kernel(name), DotProductKernel)} == {"linear", "poly", "sigmoid"}
    assert {name for name in KERNELS if isinstance(a_kernel(name), DistanceKernel)} == {"rbf"}

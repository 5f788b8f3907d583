"""Gaussian values and symmetric products against double loops and plain products: every set, dtype and awkward size."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from eigenlens.native.gram import (
    Points,
    Upper,
    gaussian_gram,
    gaussian_gram_numpy,
    gaussian_values,
    gaussian_values_numpy,
    symmetric_product,
    symmetric_product_numpy,
)

EPS = {np.float64: np.finfo(np.float64).eps, np.float32: np.finfo(np.float32).eps}
ROUTES = [gaussian_values, gaussian_values_numpy]


def slow_values(X, Y, gamma):
    X, Y = X.astype(np.float64), Y.astype(np.float64)
    return np.exp(-gamma * ((X[:, None, :] - Y[None, :, :]) ** 2).sum(axis=2))


def values(X, Y, gamma, centre, out, route=gaussian_values, double=False):
    x = Points(X, gamma, centre, double)
    return route(x, x.beside(Y), out)


def normal(n, d, dtype, seed=0, mean=0.0):
    return (np.random.default_rng(seed).standard_normal((n, d)) + mean).astype(dtype)


@pytest.mark.few(24)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [1, 2, 7, 33])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (7, 9), (65, 47), (130, 600)])
def test_values_of_any_size(instructions, route, n, m, d, dtype):
    X, Y = normal(n, d, dtype, 1, 5.0), normal(m, d, dtype, 2, 5.0)
    K = values(X, Y, 0.3, np.full(d, 5.0), np.empty((n, m), dtype), route)
    assert K.dtype == dtype
    np.testing.assert_allclose(K, slow_values(X, Y, 0.3), rtol=40 * d * EPS[dtype], atol=1e-35)


@pytest.mark.few(14)
@pytest.mark.parametrize("route", [gaussian_gram, gaussian_gram_numpy])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "step"), [(1, 64), (5, 64), (64, 64), (65, 64), (200, 128), (700, 64), (700, 1024)])
def test_half_a_gram_matrix(instructions, route, n, step, dtype):
    X = normal(n, 6, dtype)
    K = route(Points(X, 0.2, np.zeros(6)), Upper.empty(n, step, dtype)).full()
    np.testing.assert_allclose(K, slow_values(X, X, 0.2), rtol=200 * EPS[dtype])
    assert np.all(K.diagonal() == 1.0)
    assert np.array_equal(K, K.T)


def test_half_a_matrix_takes_half_the_memory():
    K = Upper.empty(2000, 64, np.float32)
    assert sum(panel.nbytes for panel in K.panels) < 0.52 * 2000 * 2000 * 4
    assert (K.n, K.dtype, len(K.panels)) == (2000, np.float32, 32)
    assert np.shares_memory(K.part(slice(64, 128), slice(640, 700)), K.panels[1])


@pytest.mark.parametrize("layout", ["F", "rows skipped", "columns skipped", "reversed"])
def test_values_of_any_layout(instructions, layout):
    X = normal(90, 12, np.float64)
    X = {"F": np.asfortranarray(X), "rows skipped": X[::3], "columns skipped": X[:, ::3], "reversed": X[::-1, ::-1]}[
        layout
    ]
    K = values(X, X[:7], 0.2, X.mean(axis=0), np.empty((len(X), 7)))
    np.testing.assert_allclose(K, slow_values(X, X[:7], 0.2), rtol=1e-13)


def test_values_written_into_a_part_of_a_matrix(instructions):
    X, K = normal(40, 3, np.float64), np.full((50, 60), 7.0)
    values(X, X[:30], 0.2, np.zeros(3), K[5:45, 10:40])
    np.testing.assert_allclose(K[5:45, 10:40], slow_values(X, X[:30], 0.2), rtol=1e-13)
    outside = np.ones((50, 60), dtype=bool)
    outside[5:45, 10:40] = False
    assert np.all(K[outside] == 7.0)


def test_values_are_symmetric_to_the_last_digit(instructions):
    for dtype in (np.float64, np.float32):
        X = normal(150, 9, dtype)
        K = values(X, X.copy(), 0.2, np.zeros(9), np.empty((150, 150), dtype))
        assert np.array_equal(K, K.T)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_exponential_over_its_whole_range(instructions, dtype):
    """One column and one centre: k(x, 0) = exp(−x²/2), from 1 down to where it is no normal number any more."""
    x = np.sqrt(2.0 * np.linspace(0.0, 900.0 if dtype == np.float64 else 110.0, 20_001)).astype(dtype)[:, None]
    K = values(x, np.zeros((1, 1), dtype), 0.5, np.zeros(1), np.empty((len(x), 1), dtype))
    power = 0.5 * x[:, 0].astype(np.float64) ** 2
    normal_range = power < (708.0 if dtype == np.float64 else 87.0)
    tolerance = (2.0 + power[normal_range]) * EPS[dtype]
    expected = np.exp(-power)
    assert np.all(np.abs(K[normal_range, 0] / expected[normal_range] - 1.0) <= tolerance)
    assert np.all(K[~normal_range, 0] <= 2.0 * expected[~normal_range])
    assert K[-1, 0] == 0.0


def test_float32_rows_multiplied_in_float64(instructions):
    X = normal(60, 20, np.float32, mean=1000.0) * np.float32(30.0)
    centre = np.zeros(20)  # a poor one, on purpose
    K = values(X, X, 1e-4, centre, np.empty((60, 60), np.float32), double=True)
    np.testing.assert_allclose(K, slow_values(X, X, 1e-4), rtol=3e-6)


def test_values_of_float32_rows_as_float64(instructions):
    X, Y = normal(70, 5, np.float32), normal(50, 5, np.float32, 1)
    for double in (False, True):
        wide = values(X, Y, 0.2, np.zeros(5), np.empty((70, 50)), double=double)
        narrow = values(X, Y, 0.2, np.zeros(5), np.empty((70, 50), np.float32), double=double)
        assert np.array_equal(wide.astype(np.float32), narrow)


def test_not_a_number_is_not_hidden(instructions):
    X = normal(20, 3, np.float64)
    X[4, 1] = np.nan
    K = values(X, normal(5, 3, np.float64), 0.2, np.zeros(3), np.empty((20, 5)))
    assert np.isnan(K[4]).all()
    assert np.isfinite(np.delete(K, 4, axis=0)).all()


@pytest.mark.few(16)
@pytest.mark.parametrize("route", [symmetric_product, symmetric_product_numpy])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("b", [1, 8, 13, 24, 50])
@pytest.mark.parametrize("n", [1, 7, 64, 65, 300])
def test_products_read_the_upper_triangle(instructions, route, n, b, dtype):
    A = normal(n, n, dtype)
    K, V = A + A.T, normal(n, b, np.float64, 3)
    expected = K.astype(np.float64) @ V
    K[np.tril_indices(n, -1)] = np.nan
    for step in (64, 128):
        np.testing.assert_allclose(route(Upper.of(K, step), V), expected, atol=1e-12 * n)


def test_products_with_a_part_of_a_matrix(instructions):
    A = normal(200, 200, np.float64)
    part, V = (A + A.T)[20:150, 20:150], normal(130, 4, np.float64)
    np.testing.assert_allclose(symmetric_product(Upper.of(part), V), part @ V, atol=1e-11)
    np.testing.assert_allclose(symmetric_product(Upper.of(part[::2, ::2]), V[::2]), part[::2, ::2] @ V[::2], atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_number_of_threads_changes_nothing(instructions, dtype):
    X, V = normal(500, 5, dtype), normal(500, 10, np.float64)
    found = []
    for limit in (1, 2, 3):
        with threadpool_limits(limit):
            K = gaussian_gram(Points(X, 0.2, np.zeros(5)), Upper.empty(500, 64, dtype))
            found.append((K.full(), symmetric_product(K, V)))
    for K, Z in found[1:]:
        assert np.array_equal(K, found[0][0])
        assert np.array_equal(Z, found[0][1])

"""Blocks of vectors without their part in the span of a basis: every instruction set, awkward sizes, any threads."""

from __future__ import annotations

import numpy as np
import pytest

from eigenlens.native.span import MIN_PRODUCTS, remove_span, remove_span_numpy


def basis_and_block(n, j, b):
    rng = np.random.default_rng(n + j + b)
    V = np.empty((n, j + 3), order="F")
    V[:, :j] = np.linalg.qr(rng.standard_normal((n, j)))[0]
    return V[:, :j], rng.standard_normal((n, b))


@pytest.mark.parametrize(("n", "j", "b"), [(5000, 1, 14), (4999, 21, 8), (5003, 16, 3), (9001, 5, 17), (70, 64, 24)])
def test_what_is_left_is_orthogonal(instructions, n, j, b):
    V, W = basis_and_block(n, j, b)
    assert n * j * b >= MIN_PRODUCTS
    given = W.copy()
    for way in (remove_span, remove_span_numpy):
        left, H = way(V, W)
        np.testing.assert_array_equal(W, given)
        np.testing.assert_allclose(left + V @ H, W, rtol=0, atol=1e-13)
        assert np.abs(V.T @ left).max() < 1e-12
    np.testing.assert_allclose(left, remove_span(V, W)[0], rtol=0, atol=1e-13)


def test_the_number_of_threads_changes_nothing():
    V, W = basis_and_block(6000, 30, 8)
    for one, several in zip(remove_span(V, W, 1), remove_span(V, W, 5), strict=True):
        np.testing.assert_array_equal(one, several)


def test_bases_of_other_orders():
    V, W = basis_and_block(3000, 9, 8)
    np.testing.assert_allclose(remove_span(np.ascontiguousarray(V), W)[0], remove_span(V, W)[0], rtol=0, atol=1e-13)

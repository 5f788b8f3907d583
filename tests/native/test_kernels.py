"""The compiled kernels against their NumPy twins: every instruction set, dtype, order and awkward size."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from eigenlens.native.moments import NARROW, moments_about, moments_about_numpy
from eigenlens.native.runtime import active, kernels
from eigenlens.native.sparse import normal_product, normal_product_numpy
from eigenlens.resources import thread_count
from eigenlens.stats import block_moments

SETS = ["baseline", "avx2", "avx512"]
needs_kernels = pytest.mark.skipif(kernels is None, reason="the kernels were not built here")


def slow_moments(rows, weight, shift):
    C = rows.astype(np.float64) - shift
    w = np.ones(len(rows)) if weight is None else weight
    return w @ C, (C * w[:, None]).T @ C


def agree(found, expected, tolerance):
    scale = np.sqrt(np.outer(expected[1].diagonal(), expected[1].diagonal())) + 1e-300
    assert np.abs((found[1] - expected[1]) / scale).max() < tolerance
    size = np.sqrt(expected[1].diagonal() * 1e3) + 1e-300
    assert np.abs((found[0] - expected[0]) / size).max() < tolerance


@pytest.mark.few(24)
@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 23, 24, 25, 64, 100])
@pytest.mark.parametrize("n", [1, 2, 255, 257])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_moments_of_any_size(instructions, n, d, dtype):
    rng = np.random.default_rng(n * 1000 + d)
    X = (rng.standard_normal((n, d)) + 5.0).astype(dtype)
    shift = np.full(d, 5.0)
    for weight in (None, rng.uniform(0.0, 2.0, n)):
        agree(moments_about(X, weight, shift), slow_moments(X, weight, shift), 1e-13)


@pytest.mark.parametrize("offset", [0.0, 0.3, 1e3, 1e7])
@pytest.mark.parametrize("n", [1, 2, 127, 300, 1000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_moments_about_the_mean(instructions, monkeypatch, n, dtype, offset):
    """A constant column, columns of other units, weights of zero, any strides; a first centre that is far away."""
    rng = np.random.default_rng(n)
    X = (rng.standard_normal((n, 6)) * [1.0, 1e-3, 1e3, 1.0, 1.0, 1.0] + offset * np.arange(6)).astype(dtype)
    X[:, 3] = 0.1
    X[1::2, 4] += 100.0
    for weight in (None, rng.uniform(0.0, 2.0, n) * (np.arange(n) % 3 < 2)):
        total = float(n if weight is None else weight.sum())
        for rows in (X, np.asfortranarray(X), X[:, ::-1]):
            found = block_moments.mean_and_scatter(rows, weight, total)
            with monkeypatch.context() as twin:
                twin.setattr(block_moments, "kernels", None)
                expected = block_moments.mean_and_scatter(rows, weight, total)
            np.testing.assert_allclose(found[0], expected[0], rtol=1e-15, atol=1e-15 * (1.0 + offset))
            deviations = np.sqrt(expected[1].diagonal())
            scale = np.outer(deviations, deviations) + 1e-20 * total * (1.0 + offset) ** 2
            assert np.abs((found[1] - expected[1]) / scale).max() < 1e-12
            np.testing.assert_array_equal(found[1].diagonal() == 0.0, expected[1].diagonal() == 0.0)


def test_moments_about_the_mean_of_entries_that_are_not_finite(instructions):
    for bad in (np.nan, np.inf):
        X = np.ones((5, 2))
        X[3, 1] = bad
        with np.errstate(all="ignore"):
            mean, scatter, _ = block_moments.mean_and_scatter(X, None, 5.0)
        assert mean[0] == 1.0
        assert not np.isfinite(mean[1])
        assert not np.isfinite(scatter[1, 1])


@pytest.mark.few(10)
@pytest.mark.parametrize("d", [1, 15, 16, 17, 47, 49, 130])
@pytest.mark.parametrize("n", [1, 191, 193, 1537])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_moments_of_wide_rows(instructions, monkeypatch, n, d, dtype):
    """As wide rows are treated: tiles shared out, several panels at once, float32 products over one panel."""
    monkeypatch.setitem(NARROW, np.dtype(dtype), 0)
    rng = np.random.default_rng(n * 1000 + d)
    X = (rng.standard_normal((n, d)) + 5.0).astype(dtype)
    shift = np.full(d, 5.0)
    for rows in (X, np.asfortranarray(X), X[:, ::-1]):
        for weight in (None, rng.uniform(0.0, 2.0, n)):
            tolerance = 1e-13 if dtype == np.float64 else 3e-6
            agree(moments_about(rows, weight, shift), slow_moments(rows, weight, shift), tolerance)


@pytest.mark.parametrize("layout", ["C", "F", "rows skipped", "columns skipped", "reversed", "transposed view"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_moments_of_any_layout(instructions, layout, dtype):
    X = np.random.default_rng(0).standard_normal((2500, 20)).astype(dtype)
    X = {
        "C": X,
        "F": np.asfortranarray(X),
        "rows skipped": X[::3],
        "columns skipped": X[:, ::3],
        "reversed": X[::-1, ::-1],
        "transposed view": np.ascontiguousarray(X.T).T,
    }[layout]
    weight = np.random.default_rng(1).uniform(0.0, 2.0, 3 * len(X))[::3]
    shift = X[0].astype(np.float64)
    agree(moments_about(X, weight, shift), slow_moments(X, weight, shift), 1e-13)


@needs_kernels
def test_read_only_and_unaligned_rows():
    raw = np.zeros(8 * 50 * 6 + 3, dtype=np.uint8)
    X = raw[3 : 3 + 8 * 300].view(np.float64).reshape(50, 6)
    X[:] = np.random.default_rng(0).standard_normal((50, 6))
    X.flags.writeable = False
    shift = np.zeros(6)
    agree(moments_about(X, None, shift), slow_moments(X, None, shift), 1e-13)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [100, 20_000])
@pytest.mark.parametrize("wide", [False, True])
def test_moments_do_not_depend_on_the_number_of_threads(instructions, dtype, n, wide):
    X = np.random.default_rng(0).standard_normal((n, 30)).astype(dtype)
    weight = np.random.default_rng(1).uniform(0.0, 2.0, n)
    results = []
    for count in (1, 2, 3, 2):
        total, scatter = np.empty(30), np.empty((30, 30))
        kernel = getattr(kernels, f"moments_{X.dtype.name}")
        kernel(X, weight, np.zeros(30), None, wide, total, scatter, count)
        results.append((total, scatter))
    for total, scatter in results[1:]:
        assert np.array_equal(total, results[0][0])
        assert np.array_equal(scatter, results[0][1])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [3, 170, 460])
def test_the_twin_agrees_with_the_obvious_sum(dtype, d):
    """Also past the widths where float32 is multiplied in float32."""
    rng = np.random.default_rng(d)
    X, weight = (rng.standard_normal((1500, d)) + 3.0).astype(dtype), rng.uniform(0.0, 2.0, 1500)
    shift = np.full(d, 3.0)
    tolerance = 1e-12 if dtype == np.float64 else 3e-6
    for function in (moments_about, moments_about_numpy):
        for rows in (X, np.asfortranarray(X), X[::2]):
            w = weight[: len(rows)]
            agree(function(rows, w, shift), slow_moments(rows, w, shift), tolerance)


def test_not_a_number_comes_through(instructions):
    """Bad rows must not vanish in the sums: validation finds them there."""
    X = np.ones((300, 10))
    X[123, 4] = np.nan
    total, scatter = moments_about(X, None, np.zeros(10))
    assert np.isnan(total[4])
    assert np.isnan(scatter[4]).all()
    assert np.isfinite(total[[0, 9]]).all()


@pytest.mark.few(20)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("b", [1, 7, 8, 9, 20])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_products(instructions, dtype, index, b, weighted):
    rng = np.random.default_rng(b)
    X = sparse.random(300, 40, density=0.1, format="csr", rng=rng, dtype=np.float64).astype(dtype)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    V, offset = rng.standard_normal((40, b)), rng.standard_normal(b)
    weight = rng.uniform(0.0, 2.0, 300) if weighted else None
    dense = X.toarray().astype(np.float64)
    Y = dense @ V - offset
    Y *= 1.0 if weight is None else weight[:, None]
    for function in (normal_product, normal_product_numpy):
        Z, total = function(X, weight, V, offset)
        np.testing.assert_allclose(Z, dense.T @ Y, rtol=1e-6, atol=1e-11 if dtype == np.float64 else 1e-4)
        np.testing.assert_allclose(total, Y.sum(axis=0), rtol=1e-6, atol=1e-11 if dtype == np.float64 else 1e-4)


def test_sparse_products_of_float32_are_summed_in_float64(instructions):
    rng = np.random.default_rng(0)
    X = sparse.random(20_000, 5, density=0.5, format="csr", rng=rng).astype(np.float32)
    V, offset = rng.standard_normal((5, 3)), np.zeros(3)
    dense = X.toarray().astype(np.float64)
    np.testing.assert_allclose(normal_product(X, None, V, offset)[0], dense.T @ (dense @ V), rtol=1e-11)


@pytest.mark.parametrize("n", [1, 3, 4000])
def test_sparse_products_do_not_depend_on_the_number_of_threads(instructions, n):
    rng = np.random.default_rng(0)
    X = sparse.random(n, 10, density=0.4, format="csr", rng=rng)
    V, offset = rng.standard_normal((10, 8)), rng.standard_normal(8)
    results = []
    for limit in (1, 2):
        with threadpool_limits(limit):
            results.append(normal_product(X, None, V, offset))
    assert np.array_equal(results[0][0], results[1][0])
    assert np.array_equal(results[0][1], results[1][1])


def test_sparse_rows_that_are_empty(instructions):
    X = sparse.csr_matrix((5, 4))
    Z, total = normal_product(X, None, np.ones((4, 2)), np.array([1.0, 2.0]))
    assert Z.tolist() == [[0.0, 0.0]] * 4
    assert total.tolist() == [-5.0, -10.0]


@needs_kernels
def test_the_instruction_set_in_use_has_a_name():
    assert active() in SETS


def test_threads_obey_the_usual_limits():
    with threadpool_limits(1):
        assert thread_count() == 1
    assert thread_count() >= 1


@pytest.mark.long
def test_the_environment_turns_the_kernels_off():
    code = (
        "import numpy as np; from eigenlens import PCA; from eigenlens.native.runtime import active;"
        "X = np.random.default_rng(0).standard_normal((50, 4)) + 1e6;"
        "print(active(), *PCA(2).fit(X).explained_variance_.round(9))"
    )
    lines = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "EIGENLENS_KERNELS": kind, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout.split()
        for kind in ("numpy", "")
    ]  # fmt: skip
    assert lines[0][0] == "numpy"
    np.testing.assert_allclose(np.array(lines[0][1:], float), np.array(lines[1][1:], float), rtol=1e-8)


@pytest.mark.parametrize("d", [1, 7, 8, 20, 65])
@pytest.mark.parametrize("weighted", [False, True])
def test_whitened_moments_equal_those_of_solved_rows(instructions, d, weighted):
    """y = (x − c) R⁻¹ row by row, by a dense solve, on every instruction set; 203 rows leave a ragged panel."""
    rng = np.random.default_rng(d)
    X, c = rng.standard_normal((203, d)) + 5.0, rng.standard_normal(d)
    R = np.triu(rng.standard_normal((d, d))) + 4.0 * np.eye(d)
    w = rng.uniform(0.0, 3.0, 203) if weighted else np.ones(203)
    Y = np.linalg.solve(R.T, (X - c).T).T
    for route in (moments_about, moments_about_numpy):
        total, scatter = route(X, w if weighted else None, c, np.asfortranarray(R))
        np.testing.assert_allclose(total, w @ Y, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(scatter, (Y * w[:, None]).T @ Y, rtol=1e-11, atol=1e-11)

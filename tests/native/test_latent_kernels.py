"""Rows with missing entries under a latent Gaussian: kernels and NumPy twins against a row loop, in every size."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from threadpoolctl import threadpool_limits

from eigenlens.densities import linear_gaussian
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.native.incomplete_rows import (
    Frame,
    latent_derivative,
    latent_derivative_numpy,
    latent_expected,
    latent_expected_numpy,
    latent_information,
    latent_information_numpy,
    latent_rows,
    latent_rows_numpy,
)

LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: np.ascontiguousarray(X[::-1])[::-1],
}


def frame_of(d, k, rng):
    W, psi = rng.standard_normal((d, k)), rng.uniform(0.15, 0.6, d)
    return Frame(rng.standard_normal(d), rng.uniform(0.5, 2.0, d), 0.3 * rng.standard_normal(d), W, psi)


def rows_of(n, d, rng, share=0.3):
    X = rng.standard_normal((n, d))
    X[rng.random(X.shape) < share] = np.nan
    return X


def each_row(X, frame):
    """o, M⁻¹, log |M|, z and r of each row, by the definitions."""
    for x in X.astype(np.float64):
        o = ~np.isnan(x)
        y = ((x - frame.centre) / frame.scale - frame.mean)[o]
        W, psi = frame.W[o], frame.psi[o]
        M = np.eye(frame.W.shape[1]) + (W.T / psi) @ W
        z = np.linalg.solve(M, (W.T / psi) @ y)
        yield o, np.linalg.inv(M), np.linalg.slogdet(M)[1], z, y - W @ z


def slow_expected(X, w, frame):
    d, k = frame.W.shape
    lower, upper = np.tril_indices(k), np.tril_indices(k + 1)
    spread, outer = np.zeros((lower[0].size, d)), np.zeros((upper[0].size, d))
    right, square, latent = np.zeros((k + 1, d)), np.zeros(d), np.zeros(upper[0].size)
    length = log_det = rows = 0
    for weight, (o, C, log, z, r) in zip(w, each_row(X, frame), strict=True):
        if weight == 0.0 or not o.any():
            continue
        a = np.append(z, 1.0)
        pairs = np.outer(a, a)[upper]
        spread[:, o] += weight * C[lower][:, None]
        outer[:, o] += weight * pairs[:, None]
        right[:, o] += weight * np.outer(a, r)
        square[o] += weight * r**2
        latent += weight * pairs
        latent[: lower[0].size] += weight * C[lower]
        length, log_det, rows = length + weight * z @ z, log_det + weight * log, rows + 1
    return spread, outer, right, square, latent, length, log_det, rows


def slow_information(X, w, frame):
    d, k = frame.W.shape
    lower = np.tril_indices(k)
    spread, weights, square = np.zeros((lower[0].size, d)), np.zeros(d), np.zeros(d)
    latent, total = np.zeros(lower[0].size), 0.0
    for weight, (o, C, *_) in zip(w, each_row(X, frame), strict=True):
        if weight == 0.0 or not o.any():
            continue
        c = np.where(o, 1.0 - np.einsum("ja,ab,jb->j", frame.W, C, frame.W) / frame.psi, 0.0)
        spread += weight * np.outer(C[lower], c)
        weights, square = weights + weight * c, square + weight * c**2
        latent, total = latent + weight * C[lower], total + weight
    return spread, weights, square, latent, total


def agree(found, expected, tolerance=2e-12):
    for a, b in zip(found, expected, strict=True):
        assert np.shape(a) == np.shape(b)
        assert_allclose(a, b, rtol=0.0, atol=tolerance * np.max(np.abs(b), initial=0.0) + 1e-300)


@pytest.mark.few(8)
@pytest.mark.parametrize("k", [*range(1, 17)])
def test_sums_for_every_number_of_latent_dimensions(instructions, k):
    rng = np.random.default_rng(k)
    for n, d in ((1, k + 1), (9, 2 * k + 1), (131, 23)):
        X, w, frame = rows_of(n, d, rng), rng.uniform(0.5, 2.0, n), frame_of(d, k, rng)
        for run in (latent_expected, latent_expected_numpy):
            agree(run(X, w, frame), slow_expected(X, w, frame))
        for run in (latent_information, latent_information_numpy):
            agree(run(X, w, frame), slow_information(X, w, frame))


@pytest.mark.few(10)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 7, 8, 9, 31, 50])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 33, 127, 128, 129, 300])
def test_sums_of_any_size(instructions, n, d):
    rng = np.random.default_rng(100 * n + d)
    X, frame = rows_of(n, d, rng, 0.5), frame_of(d, 3, rng)
    agree(latent_expected(X, None, frame), slow_expected(X, np.ones(n), frame))
    agree(latent_information(X, None, frame), slow_information(X, np.ones(n), frame))


def test_rows_with_one_entry_or_none_and_rows_of_weight_zero(instructions):
    """The latter may hold anything."""
    rng = np.random.default_rng(0)
    d = 6
    X = np.full((40, d), np.nan)
    X[np.arange(30), rng.integers(d, size=30)] = rng.standard_normal(30)
    w = rng.uniform(0.5, 2.0, 40)
    w[:3] = 0.0
    frame = frame_of(d, 2, rng)
    expected = slow_expected(X, w, frame), slow_information(X, w, frame)
    X[0], X[1] = np.inf, 1e308
    agree(latent_expected(X, w, frame), expected[0])
    agree(latent_information(X, w, frame), expected[1])
    assert latent_expected(X, w, frame).rows == 27


@pytest.mark.few(8)
@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_as_they_lie(instructions, layout, dtype):
    rng = np.random.default_rng(1)
    X, frame = rows_of(200, 11, rng).astype(dtype), frame_of(11, 4, rng)
    agree(latent_expected(LAYOUTS[layout](X), None, frame), slow_expected(X, np.ones(200), frame))


@pytest.mark.parametrize("kind", ["kernel", "twin"])
def test_results_of_each_row(instructions, kind):
    run = latent_rows if kind == "kernel" else latent_rows_numpy
    for n, d, k, dtype in ((1, 2, 1, np.float64), (70, 9, 3, np.float64), (260, 20, 16, np.float32)):
        rng = np.random.default_rng(n)
        X, given = rows_of(n, d, rng).astype(dtype), frame_of(d, k, rng)
        X[n // 2] = np.nan
        frame = Frame.of(given.mean, given.W, given.psi)
        out = {"z": np.empty((n, k)), "C": np.empty((n, k * (k + 1) // 2)), "log_density": np.empty(n)}
        out |= {"filled": np.empty((n, d), dtype), "deviation": np.empty((n, d))}
        run(X, frame, **out)
        for i, (o, C, log, z, r) in enumerate(each_row(X, frame)):
            density = -0.5 * (np.log(2 * np.pi * frame.psi[o]).sum() + log + r**2 @ (1 / frame.psi[o]) + z @ z)
            spread = np.sqrt(frame.psi + np.einsum("ja,ab,jb->j", frame.W, C, frame.W))
            assert_allclose(out["z"][i], z, rtol=1e-10, atol=1e-11)
            assert_allclose(out["C"][i], C[np.tril_indices(k)], rtol=1e-9, atol=1e-12)
            assert_allclose(out["log_density"][i], density, rtol=1e-12)
            filled = np.where(o, X[i], frame.mean + frame.W @ z)
            assert_allclose(out["filled"][i], filled, rtol=1e-9 if dtype == np.float64 else 1e-6, atol=1e-9)
            assert_allclose(out["deviation"][i], np.where(o, 0.0, spread), rtol=1e-11)


def test_a_mean_is_refined_where_noise_is_small(instructions):
    """Where z is exact Σ_j w_j r_j / psi_j = z in each row, and in the sum; one psi of 1e-6 enlarges an error of z.

    What rounding of r alone may leave is about eps Σ |y_j w_j| / psi_j.
    """
    rng = np.random.default_rng(4)
    X, frame = rows_of(500, 12, rng), frame_of(12, 4, rng)
    frame.psi[0] = 1e-6
    y = np.nan_to_num((X - frame.centre) / frame.scale - frame.mean)
    rounding = np.finfo(float).eps * np.max(np.abs(y).sum(axis=0) @ np.abs(frame.W / frame.psi[:, None]))
    for run in (latent_expected, latent_expected_numpy):
        once, twice = (run(X, None, frame, refinements) for refinements in (0, 1))
        errors = [np.abs((each.right[-1] / frame.psi) @ frame.W - each.latent[10:14]).max() for each in (once, twice)]
        assert errors[1] < min(rounding, errors[0])


@pytest.mark.few(10)
@pytest.mark.parametrize("k", [*range(1, 17)])
@pytest.mark.parametrize("refinements", [0, 1])
def test_turns_against_the_twin(instructions, k, refinements):
    rng = np.random.default_rng(k)
    for n, d in ((1, 1), (9, 2 * k + 1), (131, 23)):
        X, w, frame = rows_of(n, d, rng), rng.uniform(0.0, 2.0, n), frame_of(d, k, rng)
        X[0, 0], w[0] = (1.0, 1.0) if n == 1 else (np.inf, 0.0)
        way = rng.standard_normal(d), rng.standard_normal((d, k)), rng.standard_normal(d)
        given = (w, frame, *way, refinements)
        found, expected = latent_derivative(X, *given), latent_derivative_numpy(X, *given)
        agree(found, expected, 1e-11)


@pytest.mark.parametrize("run", [latent_derivative, latent_derivative_numpy])
def test_turns_are_the_derivatives_of_sums(run):
    rng = np.random.default_rng(5)
    n, d, k = 60, 7, 3
    X, w, frame = rows_of(n, d, rng), rng.uniform(0.5, 2.0, n), frame_of(d, k, rng)
    m, D, f = rng.standard_normal(d), rng.standard_normal((d, k)), rng.standard_normal(d)

    def sums(step):
        there = frame._replace(mean=frame.mean + step * m, W=frame.W + step * D, psi=frame.psi * np.exp(step * f))
        found = slow_expected(X, w, there)
        return found[0], found[2] / there.psi, found[3] / there.psi**2

    slopes = [(after - before) / 2e-6 for after, before in zip(sums(1e-6), sums(-1e-6), strict=True)]
    found = run(X, w, frame, m, D, f)
    assert_allclose(found.turned, slopes[0], rtol=1e-6, atol=1e-6)
    back = np.vstack([found.back, np.zeros(d)])
    assert_allclose(-(found.right + back) / frame.psi, slopes[1], rtol=1e-6, atol=1e-5)
    assert_allclose(-2.0 * found.square / frame.psi**2, slopes[2], rtol=1e-6, atol=1e-5)
    assert_allclose(found.spread, slow_expected(X, w, frame)[0], rtol=1e-12)
    assert_allclose(found.weight, w @ ~np.isnan(X), rtol=1e-12)


def test_threads_change_nothing(instructions):
    rng = np.random.default_rng(2)
    X, w, frame = rows_of(5000, 40, rng), rng.uniform(0.0, 2.0, 5000), frame_of(40, 5, rng)
    found = []
    for threads in (1, 2, 5):
        with threadpool_limits(threads):
            turn = latent_derivative(X, w, frame, frame.mean, frame.W, frame.psi)
            found.append([*latent_expected(X, w, frame), *latent_information(X, w, frame), *turn])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 4, 17])
def test_models_say_the_same_with_and_without_kernels(k, dtype, monkeypatch):
    rng = np.random.default_rng(3)
    X, given = rows_of(400, 30, rng).astype(dtype), frame_of(30, k, rng)
    X[7] = np.nan

    def results():
        model = LinearGaussian(given.mean, given.W, given.psi)
        return model.log_density(X), *model.posterior(X), *model.impute(X, return_std=True), model.impute(X)

    ours = results()
    monkeypatch.setattr(linear_gaussian, "latent_compiled", lambda k: False)
    for a, b in zip(ours, results(), strict=True):
        assert a.dtype == b.dtype
        bound = 1e-9 if a.dtype == np.float64 else 1e-6
        assert_allclose(a, b, rtol=bound, atol=bound)

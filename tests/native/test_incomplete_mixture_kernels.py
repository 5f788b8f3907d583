"""Incomplete rows of a mixture: kernels and NumPy twins against textbook formulas for one row at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from threadpoolctl import threadpool_limits

from eigenlens.native import mixture_incomplete as mixture_gaps
from eigenlens.native.mixture_incomplete import (
    incomplete_filled,
    incomplete_filled_numpy,
    incomplete_log_joint,
    incomplete_log_joint_numpy,
    incomplete_passes,
    incomplete_passes_numpy,
)

PASSES, JOINTS, FILLS = (
    (incomplete_passes, incomplete_passes_numpy),
    (incomplete_log_joint, incomplete_log_joint_numpy),
    (incomplete_filled, incomplete_filled_numpy),
)


def components(K, d, rng, S=1):
    """Logarithms of weights, means and covariances of S mixtures."""
    A = rng.standard_normal((S * K, d, d)) / np.sqrt(d) + np.eye(d)
    means = 2.0 * rng.standard_normal((S * K, d))
    return np.log(rng.dirichlet(np.ones(K), S)).ravel(), means, A @ A.transpose(0, 2, 1) + 0.1 * np.eye(d)


def rows(n, d, rng, share=0.4):
    X = 2.0 * rng.standard_normal((n, d))
    X[rng.random(X.shape) < share] = np.nan
    return X


def row_by_row(X, log_weights, means, C):
    """The slow twin: joint (n, K), expected rows (n, K, d), and the covariances left (n, K, d, d)."""
    n, (K, d) = len(X), means.shape
    joint, expected, left = np.empty((n, K)), np.empty((n, K, d)), np.zeros((n, K, d, d))
    for i, x in enumerate(X):
        o, m = np.flatnonzero(~np.isnan(x)), np.flatnonzero(np.isnan(x))
        for k, mu in enumerate(means):
            density = multivariate_normal(mu[o], C[k][np.ix_(o, o)]).logpdf(x[o]) if o.size else 0.0
            B = C[k][np.ix_(m, o)] @ np.linalg.inv(C[k][np.ix_(o, o)])
            joint[i, k] = log_weights[k] + density
            expected[i, k, o], expected[i, k, m] = x[o], mu[m] + B @ (x[o] - mu[o])
            left[i, k][np.ix_(m, m)] = C[k][np.ix_(m, m)] - B @ C[k][np.ix_(o, m)]
    return joint, expected, left


def slow_pass(X, w, log_weights, means, C):
    joint, expected, left = row_by_row(X, log_weights, means, C)
    counts = np.where(np.isnan(X).all(axis=1), 0.0, 1.0 if w is None else w)
    logs, delta = logsumexp(joint, axis=1), expected - means
    r = counts[:, None] * np.exp(joint - logs[:, None])
    spread = np.einsum("nk,nki,nkj->kij", r, delta, delta) + np.einsum("nk,nkij->kij", r, left)
    return counts @ logs, r.sum(axis=0), np.einsum("nk,nki->ki", r, delta), spread


def agree(found, expected, tolerance=1e-10):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0.0, atol=tolerance * (1.0 + np.max(np.abs(b), initial=0.0)))


@pytest.mark.few(4)
@pytest.mark.parametrize("d", [1, 2, 3, 7, 8, 9, 20])
def test_passes_of_any_size(instructions, d):
    rng = np.random.default_rng(d)
    for n, K in ((1, 1), (9, 3), (60, 2)):
        X, mixture = rows(n, d, rng), components(K, d, rng)
        for w in (None, rng.integers(0, 3, n).astype(float)):
            expected = slow_pass(X, w, *mixture)
            for run in PASSES:
                found = run(X, w, *mixture, 1)
                agree((found.loglik[0], *found[1:]), expected)


@pytest.mark.parametrize("d", [1, 4, 11])
def test_results_of_each_row(instructions, d):
    rng = np.random.default_rng(d)
    X, mixture = rows(50, d, rng), components(3, d, rng)
    X[7] = np.nan
    joint, expected, left = row_by_row(X, *mixture)
    r = np.exp(joint - logsumexp(joint, axis=1)[:, None])
    mean = np.einsum("nk,nki->ni", r, expected)
    spread = np.einsum("nk,nki->ni", r, np.einsum("nkii->nki", left) + (expected - mean[:, None]) ** 2)
    for run in JOINTS:
        agree([run(X, *mixture)], [joint])
    for run in FILLS:
        filled, deviation = run(X, *mixture)
        agree((filled, deviation), (mean, np.where(np.isnan(X), np.sqrt(spread), 0.0)))
        np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])


def test_many_rows_of_few_patterns_and_several_mixtures(instructions):
    rng = np.random.default_rng(1)
    X, mixtures = rows(3000, 3, rng), components(2, 3, rng, S=3)
    w = rng.uniform(0.0, 2.0, len(X))
    found = incomplete_passes(X, w, *mixtures, 3)
    agree(found, incomplete_passes_numpy(X, w, *mixtures, 3))
    for s in range(3):
        alone = incomplete_passes(X, w, *(part[2 * s : 2 * s + 2] for part in mixtures), 1)
        assert alone.loglik[0] == found.loglik[s]
        np.testing.assert_array_equal(alone.spread, found.spread[2 * s : 2 * s + 2])


def test_threads_and_layouts_change_nothing(instructions):
    rng = np.random.default_rng(2)
    X, mixture = rows(4000, 10, rng), components(3, 10, rng)
    found = incomplete_passes(X, None, *mixture, 1)
    with threadpool_limits(1):
        alone = incomplete_passes(X, None, *mixture, 1)
    for other in (alone, incomplete_passes(np.asfortranarray(X), None, *mixture, 1)):
        for a, b in zip(found, other, strict=True):
            np.testing.assert_array_equal(a, b)
    single = incomplete_passes(X.astype(np.float32), None, *mixture, 1)
    agree(single, incomplete_passes(X.astype(np.float32).astype(np.float64), None, *mixture, 1))


@pytest.mark.parametrize("d", [65, 130])
def test_patterns_of_many_columns_are_distinguished(d):
    """Rows that differ in their last column alone have patterns of their own."""
    rng = np.random.default_rng(3)
    X, mixture = rng.standard_normal((6, d)), components(2, d, rng)
    X[::2, -1] = np.nan
    X[:3, 0] = np.nan
    for run in PASSES:
        found = run(X, None, *mixture, 1)
        agree((found.loglik[0], *found[1:]), slow_pass(X, None, *mixture))


def test_wide_rows_are_the_work_of_numpy(monkeypatch):
    rng = np.random.default_rng(4)
    X, mixture = rows(40, 5, rng), components(2, 5, rng)
    before = incomplete_passes(X, None, *mixture, 1), incomplete_log_joint(X, *mixture), incomplete_filled(X, *mixture)
    monkeypatch.setattr(mixture_gaps, "WIDEST", 4)
    agree(incomplete_passes(X, None, *mixture, 1), before[0])
    agree([incomplete_log_joint(X, *mixture)], [before[1]])
    agree(incomplete_filled(X, *mixture), before[2])


def test_rows_that_do_not_count(instructions):
    rng = np.random.default_rng(5)
    X, mixture = rows(30, 4, rng), components(2, 4, rng)
    w = np.ones(len(X))
    w[::3] = 0.0
    expected = incomplete_passes(X[w > 0.0], None, *mixture, 1)
    X[::3] = np.inf
    agree(incomplete_passes(X, w, *mixture, 1), expected)
    nothing = incomplete_passes(X[:0], None, *mixture, 1)
    assert nothing.loglik[0] == 0.0
    assert not nothing.weight.any()
    assert not nothing.spread.any()


def test_a_nearly_singular_covariance_keeps_its_digits(instructions):
    """Distances are sums of squares by a factor: with a condition of 1e10 an inverse would lose ten digits of them."""
    rng = np.random.default_rng(6)
    A = rng.standard_normal((8, 3))
    C = (A @ A.T + 1e-10 * np.eye(8))[None]
    X = rng.multivariate_normal(np.zeros(8), C[0], size=200)
    X[rng.random(X.shape) < 0.4] = np.nan
    kernel, twin = (run(X, np.zeros(1), np.zeros((1, 8)), C) for run in JOINTS)
    np.testing.assert_allclose(kernel, twin, rtol=1e-5)


def test_a_component_that_is_far_away_or_has_no_weight(instructions):
    log_weights, means = np.array([np.log(1.0), -np.inf, np.log(1e-3)]), np.array([[0.0, 0.0], [0.0, 0.0], [1e9, 1e9]])
    found = incomplete_passes(
        np.array([[1.0, np.nan], [np.nan, 2.0]]), None, log_weights, means, np.stack([np.eye(2)] * 3), 1
    )
    np.testing.assert_array_equal(found.weight, [2.0, 0.0, 0.0])
    np.testing.assert_allclose(found.spread[0], [[2.0, 0.0], [0.0, 5.0]])
    assert np.all(np.isfinite(found.spread))

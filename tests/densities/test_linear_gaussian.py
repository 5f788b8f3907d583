"""The linear-Gaussian value against SciPy's multivariate normal: Woodbury against dense matrices."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate
from scipy.stats import multivariate_normal

from eigenlens.densities.linear_gaussian import LinearGaussian


def model(d=5, k=2, noise="diagonal", seed=0):
    rng = np.random.default_rng(seed)
    psi = rng.uniform(0.5, 2.0, d) if noise == "diagonal" else 0.7
    return LinearGaussian(rng.standard_normal(d), rng.standard_normal((d, k)), psi)


@pytest.mark.parametrize("noise", ["diagonal", "scalar"])
@pytest.mark.parametrize(("d", "k"), [(1, 1), (5, 2), (3, 5), (40, 3)])
def test_density_covariance_and_precision(d, k, noise):
    m = model(d, k, noise)
    X = np.random.default_rng(1).standard_normal((20, d)) * 3.0
    C = m.loadings @ m.loadings.T + np.diag(np.broadcast_to(m.noise, d))
    np.testing.assert_allclose(m.covariance(), C, rtol=1e-13)
    np.testing.assert_allclose(m.precision() @ C, np.eye(d), atol=1e-11)
    np.testing.assert_allclose(m.log_density(X), multivariate_normal(m.mean, C).logpdf(X).reshape(-1), rtol=1e-11)
    assert m.log_determinant == pytest.approx(np.linalg.slogdet(C)[1], abs=1e-11)


def exact_precision(W, psi):
    """Return (W Wᵀ + Psi)⁻¹ by Gauss-Jordan elimination of exact fractions."""
    d = len(W)
    W, psi = np.vectorize(Fraction)(W), np.vectorize(Fraction)(psi)
    A = np.concatenate([W @ W.T + np.diag(psi), np.vectorize(Fraction)(np.eye(d))], axis=1)
    for j in range(d):
        A[j] = A[j] / A[j, j]
        for i in range(d):
            if i != j:
                A[i] = A[i] - A[j] * A[i, j]
    return A[:, d:].astype(float)


@pytest.mark.parametrize("noise", [1e-2, 1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("cases", [1, 2])
def test_precision_keeps_its_digits_in_heywood_cases(cases, noise):
    m = model(7, 2)
    psi = np.where(np.arange(7) < cases, noise, m.noise)
    precision = LinearGaussian(m.mean, m.loadings, psi).precision()
    np.testing.assert_allclose(precision, exact_precision(m.loadings, psi), rtol=1e-12)


def test_the_density_integrates_to_one():
    m = model(2, 1)
    area, _ = integrate.dblquad(lambda y, x: np.exp(m.log_density(np.array([[x, y]]))[0]), -12, 12, -12, 12)
    assert area == pytest.approx(1.0, abs=1e-6)


def test_posterior_by_conditioning_the_joint():
    m = model(4, 2)
    X = np.random.default_rng(2).standard_normal((7, 4))
    mean, covariance = m.posterior(X)
    gain = m.loadings.T @ np.linalg.inv(m.covariance())
    np.testing.assert_allclose(mean, (X - m.mean) @ gain.T, rtol=1e-11)
    np.testing.assert_allclose(covariance, np.eye(2) - gain @ m.loadings, rtol=1e-10, atol=1e-12)


def test_samples_have_the_models_moments():
    m = model(3, 1)
    X = m.sample(200_000, np.random.default_rng(3))
    error = np.sqrt(m.covariance().diagonal() / len(X))
    assert np.abs((X.mean(axis=0) - m.mean) / error).max() < 4.0
    np.testing.assert_allclose(np.cov(X.T), m.covariance(), atol=0.05)
    assert np.array_equal(m.sample(5, np.random.default_rng(0)), m.sample(5, np.random.default_rng(0)))


def test_far_rows_keep_their_digits():
    """A distance of 1e8 standard deviations is finite, and no log(0)."""
    m = LinearGaussian(np.zeros(2), np.array([[1.0], [1.0]]), 1e-4)
    X = np.array([[1e6, 1e6], [1e6, -1e6]])
    np.testing.assert_allclose(m.log_density(X), multivariate_normal(m.mean, m.covariance()).logpdf(X), rtol=1e-8)


@pytest.mark.parametrize("copies", [1, 200])
@pytest.mark.filterwarnings("error")
def test_rows_with_an_infinite_entry_have_density_0(copies):
    X = np.array([[0.0, 1.0, 2.0], [np.inf, 1.0, 2.0], [-np.inf, np.inf, np.nan], [np.nan, np.nan, 1.0]])
    m = model(3, 1)
    found = m.log_density(np.tile(X, (copies, 1)))
    assert np.array_equal(np.isneginf(found), np.tile([False, True, True, False], copies))
    np.testing.assert_allclose(found[[0, 3]], m.log_density(X[[0, 3]]))


def test_a_frozen_value():
    with pytest.raises(AttributeError):
        model().noise = 2.0


# ---- missing entries: every method against dense matrices, row by row ---------------------------------------


def with_missing(m, n=60, share=0.4, repeated=False, seed=4):
    """Rows of a model with a pattern of missing values per row, or four in all; the first row has no entry."""
    rng = np.random.default_rng(seed)
    X = m.sample(n, rng)
    missing = rng.random(X.shape) < share
    if repeated:
        missing = missing[rng.integers(0, 4, n)]
    missing[0], missing[1] = True, False
    return np.where(missing, np.nan, X)


def conditioned(m, row):
    """log density of what is observed of a row, and mean and covariance of z and of x given it, by dense algebra."""
    C, W, o = m.covariance(), m.loadings, ~np.isnan(row)
    rest = row[o] - m.mean[o]
    latent_gain = np.linalg.solve(C[np.ix_(o, o)], W[o]).T
    gain = np.linalg.solve(C[np.ix_(o, o)], C[o]).T
    density = multivariate_normal(m.mean[o], C[np.ix_(o, o)]).logpdf(row[o]) if o.any() else 0.0
    return (
        density,
        latent_gain @ rest,
        np.eye(W.shape[1]) - latent_gain @ W[o],
        m.mean + gain @ rest,
        C - gain @ C[o],
    )


@pytest.mark.parametrize("noise", ["diagonal", "scalar"])
@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize(("d", "k"), [(6, 2), (4, 5), (30, 4)])
def test_incomplete_rows(d, k, noise, repeated):
    m = model(d, k, noise)
    X = with_missing(m, repeated=repeated)
    twins = [conditioned(m, row) for row in X]
    np.testing.assert_allclose(m.log_density(X), [t[0] for t in twins], rtol=1e-10, atol=1e-10)
    mean, covariance = m.posterior(X)
    np.testing.assert_allclose(mean, [t[1] for t in twins], atol=1e-10)
    np.testing.assert_allclose(covariance, [t[2] for t in twins], atol=1e-10)
    filled, deviation = m.impute(X, return_std=True)
    missing = np.isnan(X)
    np.testing.assert_array_equal(filled[~missing], X[~missing])
    np.testing.assert_array_equal(deviation[~missing], 0.0)
    np.testing.assert_allclose(filled[missing], np.array([t[3] for t in twins])[missing], rtol=1e-9, atol=1e-10)
    variances = np.array([t[4].diagonal() for t in twins])
    np.testing.assert_allclose(deviation[missing] ** 2, variances[missing], rtol=1e-9)
    np.testing.assert_array_equal(m.impute(X), filled)


def test_pieces_change_nothing(monkeypatch):
    """Rows, columns and patterns are worked on a piece at a time; the pieces must not show."""
    from eigenlens.densities import linear_gaussian as latent_rows

    m = model(9, 3)
    X = with_missing(m, 41)
    whole = (m.log_density(X), *m.posterior(X), *m.impute(X, return_std=True))
    monkeypatch.setattr(latent_rows, "MAX_PIECE_ENTRIES", 20)
    small = LinearGaussian(m.mean, m.loadings, m.noise)
    parts = (small.log_density(X), *small.posterior(X), *small.impute(X, return_std=True))
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_a_first_missing_value_late_in_the_rows(monkeypatch):
    """One covariance while rows are complete; one per row, earlier rows too, once a row is incomplete."""
    from eigenlens.densities import linear_gaussian as latent_rows

    monkeypatch.setattr(latent_rows, "MAX_PIECE_ENTRIES", 20)
    m = model(4, 2)
    X = m.sample(30, np.random.default_rng(0))
    shared = m.posterior(X)[1]
    X[20, 1] = np.nan
    each = m.posterior(X)[1]
    assert each.shape == (30, 2, 2)
    np.testing.assert_allclose(each[:20], np.broadcast_to(shared, (20, 2, 2)))
    assert not np.allclose(each[20], shared)
    assert each[20, 0, 0] > shared[0, 0]  # less was seen, less is known


def test_an_empty_row_is_the_prior():
    m = model(5, 2)
    nothing = np.full((1, 5), np.nan)
    mean, covariance = m.posterior(nothing)
    assert m.log_density(nothing)[0] == 0.0
    assert np.array_equal(mean, np.zeros((1, 2)))
    np.testing.assert_allclose(covariance[0], np.eye(2))
    filled, deviation = m.impute(nothing, return_std=True)
    np.testing.assert_allclose(filled[0], m.mean)
    np.testing.assert_allclose(deviation[0], np.sqrt(m.covariance().diagonal()))


def test_little_noise_costs_no_digits():
    """Against 50 digits: the difference of quadratic forms would be wrong by eps · variance / noise, here 1e-3."""
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 50
    rng = np.random.default_rng(5)
    m = LinearGaussian(np.zeros(4), rng.standard_normal((4, 2)) * 1e3, 1e-7)
    x = m.sample(1, rng)
    W, v = mpmath.matrix(m.loadings.tolist()), mpmath.matrix(x[0].tolist())
    C = W * W.T + mpmath.mpf(m.noise) * mpmath.eye(4)
    exact = -(4 * mpmath.log(2 * mpmath.pi) + mpmath.log(mpmath.det(C)) + (v.T * mpmath.lu_solve(C, v))[0]) / 2
    assert m.log_density(x)[0] == pytest.approx(float(exact), rel=1e-6)


# ---- rows from latent values --------------------------------------------------------------------------------


def test_both_reconstructions():
    m = model(6, 2, "scalar")
    X = m.sample(10, np.random.default_rng(6))
    Z = m.posterior(X)[0]
    W = m.loadings
    np.testing.assert_allclose(m.reconstruct(Z), Z @ W.T + m.mean)
    P = W @ np.linalg.solve(W.T @ W, W.T)
    np.testing.assert_allclose(m.reconstruct_orthogonal(Z), (X - m.mean) @ P + m.mean, atol=1e-10)
    nearly_none = LinearGaussian(m.mean, W, 1e-9)
    Z = nearly_none.posterior(X)[0]
    np.testing.assert_allclose(nearly_none.reconstruct(Z), (X - m.mean) @ P + m.mean, atol=1e-7)


def test_a_latent_dimension_without_loadings_projects_to_nothing():
    m = LinearGaussian(np.zeros(3), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]), 0.5)
    X = np.array([[2.0, 4.0, 1.0]])
    np.testing.assert_allclose(m.reconstruct_orthogonal(m.posterior(X)[0]), [[3.0, 3.0, 0.0]], atol=1e-12)


def test_the_latent_map_gives_posterior_means():
    m = model(5, 3)
    X = m.sample(8, np.random.default_rng(7))
    np.testing.assert_allclose((X - m.mean) @ m.latent_map, m.posterior(X)[0], atol=1e-12)


def test_turning_the_latent_space_changes_no_row():
    m = model(6, 3)
    Q = np.linalg.qr(np.random.default_rng(8).standard_normal((3, 3)))[0]
    turned = LinearGaussian(m.mean, m.loadings @ Q, m.noise)
    X = with_missing(m)
    np.testing.assert_allclose(turned.log_density(X), m.log_density(X), atol=1e-10)
    np.testing.assert_allclose(turned.impute(X), m.impute(X), atol=1e-10)
    np.testing.assert_allclose(turned.posterior(X)[0], m.posterior(X)[0] @ Q, atol=1e-10)


def test_wide_rows_need_no_square_matrix():
    """20,000 columns: a square matrix would take 3.2 GB; everything here is a few times the rows."""
    d, n = 20_000, 40
    rng = np.random.default_rng(9)
    m = LinearGaussian(rng.standard_normal(d), rng.standard_normal((d, 8)), rng.uniform(0.5, 1.0, d))
    X = m.sample(n, rng)
    X[rng.random(X.shape) < 0.1] = np.nan
    tracemalloc.start()
    density, (mean, _), (filled, deviation) = m.log_density(X), m.posterior(X), m.impute(X, return_std=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * X.nbytes + (64 << 20)
    assert np.isfinite(density).all()
    np.testing.assert_allclose((mean**2).mean(), 1.0, atol=0.5)
    assert np.all(deviation[np.isnan(X)] >= 0.7)
    assert not np.isnan(filled).any()


# ---- fewer columns ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["diagonal", "scalar"])
def test_a_marginal_and_a_conditional_by_dense_algebra(noise):
    m = model(5, 2, noise)
    C, seen, rest = m.covariance(), [3, 0], [1, 2, 4]
    np.testing.assert_allclose(m.marginal([4, 1]).covariance(), C[np.ix_([4, 1], [4, 1])], rtol=1e-13)
    x = np.array([0.7, -2.0])
    gain = C[np.ix_(rest, seen)] @ np.linalg.inv(C[np.ix_(seen, seen)])
    given = m.condition(seen, x)
    np.testing.assert_allclose(given.mean, m.mean[rest] + gain @ (x - m.mean[seen]), rtol=1e-11)
    np.testing.assert_allclose(given.covariance(), C[np.ix_(rest, rest)] - gain @ C[np.ix_(seen, rest)], rtol=1e-10)
    assert np.ndim(given.noise) == np.ndim(m.noise)


def test_densities_multiply():
    """ln p(x) = ln p(x_o) + ln p(x_m | x_o), and a missing value says nothing."""
    m = model(5, 2)
    x = np.random.default_rng(4).standard_normal((1, 5))
    given = m.condition([1, 3], x[0, [1, 3]])
    parts = m.marginal([1, 3]).log_density(x[:, [1, 3]]) + given.log_density(x[:, [0, 2, 4]])
    np.testing.assert_allclose(parts, m.log_density(x), rtol=1e-12)
    unknown = m.condition([1, 3], np.array([np.nan, x[0, 3]]))
    np.testing.assert_allclose(unknown.mean, m.condition([3], x[0, [3]]).marginal([0, 2, 3]).mean, rtol=1e-12)
    np.testing.assert_allclose(m.condition([], np.array([])).covariance(), m.covariance(), rtol=1e-12)

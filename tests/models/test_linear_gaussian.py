"""The linear-Gaussian value against SciPy's multivariate normal: Woodbury against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate
from scipy.stats import multivariate_normal

from eigenlens.models.linear_gaussian import LinearGaussian


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


def test_a_frozen_value():
    with pytest.raises(AttributeError):
        model().noise = 2.0

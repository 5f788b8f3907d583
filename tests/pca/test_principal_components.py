"""Principal components as a value, built by hand, without data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from eigenlens.errors import OptionError
from eigenlens.pca.model import PrincipalComponents


def model(d=5, k=2, scaled=False, seed=0):
    """Components of a covariance with eigenvalues k+1, …, 2 and noise 0.5 in the other d − k directions."""
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.standard_normal((d, d)))[0]
    values = np.append(np.arange(k + 1.0, 1.0, -1.0), np.full(d - k, 0.5))
    S = (V * values) @ V.T
    scale = rng.uniform(0.1, 10.0, d) if scaled else np.ones(d)
    m = PrincipalComponents(rng.standard_normal(d), scale, V[:, :k].T, values[:k], values.sum(), S.diagonal(), 50.0)
    return m, S * np.outer(scale, scale)


SHAPES = pytest.mark.parametrize(("d", "k"), [(1, 1), (2, 1), (5, 2), (5, 5), (60, 3)])
SCALED = pytest.mark.parametrize("scaled", [False, True])


@SHAPES
@SCALED
def test_covariance_precision_and_density(d, k, scaled):
    m, C = model(d, k, scaled)
    X = m.mean + np.random.default_rng(1).standard_normal((10, d)) * 2.0
    assert m.noise == pytest.approx(0.5 if k < d else 0.0)
    np.testing.assert_allclose(m.covariance(), C, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(m.precision() @ C, np.eye(d), atol=1e-9)
    np.testing.assert_allclose(m.log_density(X), multivariate_normal(m.mean, C).logpdf(X).reshape(-1), rtol=1e-10)


@SCALED
def test_the_same_density_as_a_linear_gaussian(scaled):
    m, _ = model(6, 2, scaled)
    X = np.random.default_rng(1).standard_normal((10, 6))
    np.testing.assert_allclose(m.gaussian().log_density(X), m.log_density(X), rtol=1e-10)
    np.testing.assert_allclose(m.gaussian().covariance(), m.covariance(), rtol=1e-10, atol=1e-12)


@SCALED
def test_projection_and_reconstruction(scaled):
    m, _ = model(6, 2, scaled)
    X = np.random.default_rng(2).standard_normal((10, 6))
    Z = m.project(X)
    np.testing.assert_allclose(Z, (X - m.mean) / m.scale @ m.components.T, rtol=1e-12)
    back = m.reconstruct(Z)
    np.testing.assert_allclose(m.project(back), Z, rtol=1e-10)
    np.testing.assert_allclose(m.squared_error(X), (((X - back) / m.scale) ** 2).sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(m.squared_error(back), 0.0, atol=1e-20)


@SCALED
def test_samples_have_the_models_moments(scaled):
    m, C = model(4, 2, scaled)
    X = m.sample(200_000, np.random.default_rng(0))
    sd = np.sqrt(C.diagonal())
    assert np.abs((X.mean(axis=0) - m.mean) / sd).max() < 0.01
    np.testing.assert_allclose(np.cov(X.T) / np.outer(sd, sd), C / np.outer(sd, sd), atol=0.015)


def test_without_noise_there_is_no_density():
    """Three of three dimensions of variance in a space of five."""
    V = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 3)))[0]
    m = PrincipalComponents(np.zeros(5), np.ones(5), V.T, np.array([3.0, 2.0, 1.0]), 6.0, np.ones(5), 10.0)
    for ask in (lambda: m.log_density(np.zeros((1, 5))), m.precision):
        with pytest.raises(OptionError, match=r"n_components=3.*3 of 5 dimensions.*n_components=2 or fewer"):
            ask()
    with pytest.raises(OptionError, match="fewer components"):
        m.gaussian()
    assert m.sample(3, np.random.default_rng(0)).shape == (3, 5)


def test_noise_of_rounding_is_no_noise():
    m = PrincipalComponents(np.zeros(2), np.ones(2), np.eye(2)[:1], np.array([1.0]), 1.0 + 1e-15, np.ones(2), 9.0)
    assert m.noise == 0.0

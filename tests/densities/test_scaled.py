"""The law of `scaled`: ln p(s x) of the density of s x is ln p(x) − Σ ln s, also of some columns and given others."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from eigenlens.densities import Diagonal, Full, Gaussian, Mixture, Spherical
from eigenlens.densities.covariance_axes import Axes
from eigenlens.densities.linear_gaussian import LinearGaussian

SCALE = np.array([2.0, 0.1, 30.0])
C = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.3], [0.1, 0.3, 0.7]])
MEAN = np.array([1.0, -2.0, 0.5])
X = np.random.default_rng(0).standard_normal((20, 3))
X[3, 1] = X[5, 0] = X[5, 2] = np.nan

DENSITIES = {
    "full": Gaussian(MEAN, Full(C)),
    "diagonal": Gaussian(MEAN, Diagonal(C.diagonal().copy())),
    "spherical": Gaussian(MEAN, Spherical(1.7, 3)),
    "axes": Gaussian(MEAN, Axes.of_matrix(C, np.zeros(3, dtype=bool))),
    "latent": LinearGaussian(MEAN, np.array([[1.0], [0.5], [-1.0]]), 0.4),
    "latent, several noises": LinearGaussian(MEAN, np.array([[1.0], [0.5], [-1.0]]), np.array([0.4, 0.2, 0.9])),
}
DENSITIES["mixture"] = Mixture(np.array([0.3, 0.7]), (DENSITIES["spherical"], DENSITIES["full"]))


@pytest.mark.parametrize("name", DENSITIES)
def test_the_log_density_changes_by_the_units(name):
    density = DENSITIES[name]
    units = (~np.isnan(X)) @ np.log(SCALE)
    assert_allclose(density.scaled(SCALE).log_density(X * SCALE), density.log_density(X) - units, rtol=1e-12)


@pytest.mark.parametrize("name", DENSITIES)
def test_draws_imputed_values_and_conditionals_are_multiplied(name):
    density, scaled = DENSITIES[name], DENSITIES[name].scaled(SCALE)
    filled, deviation = density.impute(X, return_std=True)
    again, its_deviation = scaled.impute(X * SCALE, return_std=True)
    assert_allclose(again, filled * SCALE, rtol=1e-10, atol=1e-12)
    assert_allclose(its_deviation, deviation * SCALE, rtol=1e-10, atol=1e-12)
    given, other = density.condition([0], [0.7]), scaled.condition([0], [0.7 * SCALE[0]])
    assert_allclose(other.mean, given.mean * SCALE[1:], rtol=1e-10)
    draws = density.sample(5, np.random.default_rng(1)) * SCALE
    assert_allclose(scaled.sample(5, np.random.default_rng(1)), draws, rtol=1e-10)

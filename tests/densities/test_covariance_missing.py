"""Incomplete rows: all patterns at once give the same as one pattern after the other, for any covariance."""

from __future__ import annotations

import numpy as np
import pytest

from eigenlens.densities.covariance import Diagonal, Full, Spherical, expected_by_pattern, log_density_by_pattern
from eigenlens.densities.covariance_axes import Axes
from eigenlens.densities.gaussian import Gaussian
from eigenlens.errors import OptionError


def matrix(d, seed=0):
    A = np.random.default_rng(seed).standard_normal((d, d))
    return A @ A.T + 0.5 * np.eye(d)


COVARIANCES = {
    "full": lambda d: Full(matrix(d)),
    "diagonal": lambda d: Diagonal(matrix(d).diagonal()),
    "spherical": lambda d: Spherical(1.7, d),
    "axes": lambda d: Axes.of_matrix(matrix(d), np.zeros(d, dtype=bool)),
}


def rows(n, d, seed=1):
    rng = np.random.default_rng(seed)
    X = 3.0 + rng.standard_normal((n, d))
    X[rng.random(X.shape) < 0.4] = np.nan
    X[0], X[1] = np.nan, 2.0
    return X


@pytest.mark.parametrize("kind", COVARIANCES)
@pytest.mark.parametrize("d", [1, 4, 12])
def test_all_patterns_at_once(kind, d):
    C, X = COVARIANCES[kind](d), rows(80, d)
    model = Gaussian(np.full(d, 2.5), C)
    np.testing.assert_allclose(model.log_density(X), log_density_by_pattern(C, X - 2.5), rtol=1e-11, atol=1e-12)
    filled, deviation = model.impute(X, return_std=True)
    expected, spread = expected_by_pattern(C, X - 2.5)
    np.testing.assert_allclose(filled, 2.5 + expected, rtol=1e-10)
    np.testing.assert_allclose(deviation, spread, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    np.testing.assert_array_equal(model.impute(X), filled)


def test_what_is_imputed_has_the_type_of_the_rows():
    X = rows(20, 3).astype(np.float32)
    filled, deviation = Gaussian(np.zeros(3), Full(matrix(3))).impute(X, return_std=True)
    assert filled.dtype == np.float32
    assert deviation.dtype == np.float64
    assert not np.isnan(filled).any()


def test_a_singular_covariance_has_parts_that_are_not():
    """The third column is the sum of the others: a row without one of them has a density, a complete one none."""
    C = Full(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.0]]))
    model = Gaussian(np.zeros(3), C)
    X = np.array([[1.0, 2.0, np.nan], [1.0, np.nan, 4.0], [np.nan, np.nan, 1.0]])
    filled, deviation = model.impute(X, return_std=True)
    np.testing.assert_allclose(filled, [[1.0, 2.0, 3.0], [1.0, 3.0, 4.0], [0.5, 0.5, 1.0]], atol=1e-12)
    np.testing.assert_allclose(deviation[2], [np.sqrt(0.5), np.sqrt(0.5), 0.0], atol=1e-12)
    assert model.log_density(X)[0] == pytest.approx(-np.log(2.0 * np.pi) - 2.5)
    with pytest.raises(OptionError, match="singular"):
        model.log_density(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, np.nan]]))


def test_axes_that_leave_directions_out():
    """Where columns do not vary there is no matrix to factor, and each pattern has axes of its own."""
    axes = Axes.of_matrix(np.diag([4.0, 1.0, 0.0]), np.array([False, False, True]))
    X = np.array([[2.0, np.nan, 7.0], [np.nan, 1.0, np.nan]])
    found = Gaussian(np.zeros(3), axes).log_density(X)
    expected = [-0.5 * (1.0 + np.log(2.0 * np.pi * 4.0)), -0.5 * (1.0 + np.log(2.0 * np.pi))]
    np.testing.assert_allclose(found, expected, rtol=1e-12)

"""The Tracy–Widom law against published values, and against the eigenvalues that it is the limit of."""

from __future__ import annotations

import numpy as np
import pytest

from eigenlens.stats.tracy_widom import tracy_widom_cdf, tracy_widom_sf


@pytest.mark.parametrize(
    ("share", "quantile"),
    [(0.01, -3.90), (0.05, -3.18), (0.1, -2.78), (0.5, -1.27), (0.9, 0.45), (0.95, 0.98), (0.99, 2.02)],
)
def test_quantiles_are_those_of_johnstone(share, quantile):
    """Johnstone (2001, Ann. Statist. 29, 295), table 1, to the two decimals that are printed."""
    low, high = tracy_widom_cdf([quantile - 0.006, quantile + 0.006])
    assert low < share < high


def test_mean_and_variance_are_those_published():
    x = np.linspace(-10.0, 8.0, 2001)
    density, step = np.gradient(tracy_widom_cdf(x), x), x[1] - x[0]
    mean = (x * density).sum() * step
    assert mean == pytest.approx(-1.2065336, abs=1e-6)  # Bornemann (2010), table 4
    spread = ((x - mean) ** 2 * density).sum() * step - step**2 / 3.0  # a difference quotient averages over 2 steps
    assert spread == pytest.approx(1.6077810, abs=1e-6)


def test_small_p_values_keep_their_digits():
    """The tail is 1 − F₁(s) ≈ exp(−⅔ s^(3/2)) / (4 √π s^(3/4)), ½ ∫ Ai over (s, ∞)."""
    s = np.array([10.0, 30.0, 80.0])
    tail = np.exp(-2.0 / 3.0 * s**1.5) / (4.0 * np.sqrt(np.pi) * s**0.75)
    np.testing.assert_allclose(tracy_widom_sf(s), tail, rtol=0.03)
    assert tracy_widom_sf([200.0, np.nan]).tolist()[0] == 0.0
    assert np.isnan(tracy_widom_sf(np.nan))


@pytest.mark.long
def test_it_is_the_law_of_the_largest_eigenvalue():
    rng, n, m = np.random.default_rng(0), 60, 60
    largest = [np.linalg.norm(rng.standard_normal((n, m)), 2) ** 2 for _ in range(2000)]
    a, b = np.sqrt(n - 0.5), np.sqrt(m - 0.5)  # the centring of Ma (2012), of second order
    scaled = (np.array(largest) - (a + b) ** 2) / ((a + b) * (1 / a + 1 / b) ** (1 / 3))
    for quantile, share in ((-3.1808, 0.05), (-1.2686, 0.5), (0.9793, 0.95)):
        assert np.mean(scaled <= quantile) == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 2000) + 0.005)

"""Mixtures of counted bins: Pearson's crabs, and the law that fine bins are rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from eigenlens.data.memory import ArraySource
from eigenlens.densities.covariance import Full
from eigenlens.densities.gaussian import Gaussian
from eigenlens.densities.mixture import Mixture
from eigenlens.mixture.binned import bin_centres, fit_binned_mixture, truncated_moments
from eigenlens.mixture.fit import MixtureOptions, fit_mixture
from eigenlens.mixture.starts import CENTRE_RULES, from_centres, from_mixture
from references import crabs


def normals(weights, means, deviations):
    parts = (Gaussian(np.array([m]), Full(np.array([[s * s]]))) for m, s in zip(means, deviations, strict=True))
    return Mixture(np.asarray(weights), tuple(parts))


def fitted(edges, counts, K, **options):
    counts = np.asarray(counts, dtype=float)
    return fit_binned_mixture(np.asarray(edges), counts, K, MixtureOptions(**options), np.random.default_rng(0))


def log_mass(model, edges, counts):
    """The slow twin: Σ counts log of differences of the cdf."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nansum(np.where(counts > 0, counts * np.log(np.diff(model.cdf(edges))), 0.0))


def deviations(model):
    return np.array([np.sqrt(part.covariance.matrix()[0, 0]) for part in model.components])


@pytest.mark.parametrize("name", ["full", "diag", "spherical"])
def test_pearsons_crabs(name):
    fit = fitted(crabs.EDGES, crabs.COUNTS, 2, structure=name)
    assert fit.converged
    assert fit.loglik >= crabs.LOGLIK - 1e-5
    np.testing.assert_allclose(fit.model.weights, crabs.WEIGHTS, rtol=1e-3)
    np.testing.assert_allclose(fit.model.means.ravel(), crabs.MEANS, rtol=1e-5)
    spread = np.sqrt([part.covariance.variances[0] for part in fit.model.components])
    np.testing.assert_allclose(spread, crabs.DEVIATIONS, rtol=1e-3)
    assert fit.loglik == pytest.approx(log_mass(fit.model, crabs.EDGES, crabs.COUNTS), abs=1e-8)
    assert (fit.rows, fit.weight) == (1000, 1000.0)


def test_acceleration_saves_nine_steps_of_ten():
    start = from_mixture(normals([0.5, 0.5], [0.62, 0.66], [0.02, 0.02]))
    plain, fast = (
        fitted(crabs.EDGES, crabs.COUNTS, 2, starting=start, accelerate=how, max_iter=5000) for how in (False, True)
    )
    assert plain.converged
    assert fast.converged
    assert plain.n_iter > 623
    assert fast.n_iter <= 62
    assert fast.loglik == pytest.approx(plain.loglik, abs=1e-6)
    assert np.all(np.diff(fast.path) >= 0.0)


def test_no_neighbour_is_likelier():
    model = fitted(crabs.EDGES, crabs.COUNTS, 2, tol=1e-13).model
    best, rng = log_mass(model, crabs.EDGES, crabs.COUNTS), np.random.default_rng(0)
    for size in (1e-2, 1e-3):
        for _ in range(10):
            p = model.weights * np.exp(size * rng.standard_normal(2))
            moved = model.means.ravel() + size * deviations(model) * rng.standard_normal(2)
            other = normals(p / p.sum(), moved, deviations(model) * np.exp(size * rng.standard_normal(2)))
            assert log_mass(other, crabs.EDGES, crabs.COUNTS) < best


def test_fine_bins_are_rows():
    """Bins of width h multiply the likelihood by h a row; what rounding does is of order h²."""
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(0.0, 1.0, 150), rng.normal(5.0, 0.7, 100)])
    edges = np.arange(-4.0, 8.0, 1e-4)
    counts = np.histogram(x, edges)[0]
    start = from_mixture(normals([0.6, 0.4], [0.0, 5.0], [1.0, 0.7]))
    bins = fitted(edges, counts, 2, starting=start, in_order=True)
    exact = fit_mixture(
        ArraySource(x[:, None]), 2, MixtureOptions(starting=start, in_order=True), np.random.default_rng(0)
    )
    np.testing.assert_allclose(bins.model.means, exact.model.means, atol=1e-4)
    np.testing.assert_allclose(deviations(bins.model), deviations(exact.model), atol=1e-4)
    assert bins.loglik == pytest.approx(exact.loglik + 250 * np.log(1e-4), abs=1e-3)


def test_coarse_bins_know_the_deviation_that_centres_do_not():
    """Sheppard: at the centres the variance is h²/12 too large."""
    edges = np.arange(-6.0, 7.0, 1.5)
    counts = 1e6 * np.diff(norm.cdf(edges))
    bins = fitted(edges, counts, 1)
    assert deviations(bins.model)[0] == pytest.approx(1.0, abs=1e-4)
    centres = bin_centres(edges)
    assert np.average(centres**2, weights=counts) == pytest.approx(1.0 + 1.5**2 / 12, abs=1e-2)


def test_open_bins_hold_their_tails():
    edges = np.array([-np.inf, -1.0, 0.0, 1.0, np.inf])
    model = normals([1.0], [0.3], [1.4])
    counts = 1000.0 * np.diff(model.cdf(edges))
    fit = fitted(edges, counts, 1, tol=1e-13)
    assert fit.model.means[0, 0] == pytest.approx(0.3, abs=1e-4)
    assert deviations(fit.model)[0] == pytest.approx(1.4, abs=1e-3)
    assert fit.loglik == pytest.approx(log_mass(fit.model, edges, counts), abs=1e-8)


def test_empty_bins_at_the_ends_change_nothing():
    """Bins without counts are ignored, as values outside the bins are."""
    wider = np.concatenate([crabs.EDGES[:1] - 0.1, crabs.EDGES, crabs.EDGES[-1:] + 0.1])
    fit = fitted(wider, np.concatenate([[0], crabs.COUNTS, [0]]), 2)
    assert fit.loglik == pytest.approx(fitted(crabs.EDGES, crabs.COUNTS, 2).loglik, abs=1e-9)


@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_units_do_not_matter(shift):
    scaled = fitted(crabs.EDGES * 1e3 + shift, crabs.COUNTS, 2)
    assert scaled.loglik == pytest.approx(crabs.LOGLIK, abs=1e-5)
    np.testing.assert_allclose(scaled.model.means.ravel() - shift, 1e3 * np.array(crabs.MEANS), rtol=1e-3)


def test_the_prior_keeps_a_component_in_one_bin_wide():
    edges, counts = np.arange(8.0), np.array([3, 9, 12, 8, 4, 0, 40.0])
    # of several starts, the one that stops short of the floor would be preferred
    one = from_centres(CENTRE_RULES["k-means++"], 1)
    collapsed, wide = (fitted(edges, counts, 2, prior=prior, starting=one) for prior in ("none", "conjugate"))
    assert len(collapsed.clamped) == 1
    assert not wide.clamped
    assert replace(wide, loglik=0.0).bic() == pytest.approx(5 * np.log(76.0))


# ---- truncated Gaussians ------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [-3.0, -0.2, 0.0, 1.0, 4.0, 9.0])
@pytest.mark.parametrize("width", [1e-6, 0.04, 0.45, 0.55, 2.0, 7.0])
def test_moments_are_integrals(a, width):
    found = truncated_moments(np.array([a]), np.array([a + width]))
    integrals = [quad(lambda t, j=j: (a + t) ** j * np.exp(-0.5 * t * (t + 2 * a)), 0.0, width)[0] for j in range(3)]
    expected = np.log(integrals[0]) - 0.5 * (a * a + np.log(2.0 * np.pi))
    assert found.log_mass[0] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert found.first[0] == pytest.approx(integrals[1] / integrals[0], rel=1e-9, abs=1e-9)
    assert found.second[0] == pytest.approx(integrals[2] / integrals[0], rel=1e-9)


def test_tails_are_not_lost():
    """E[z | z > a] is a + 1/a − 2/a³ + … far out, on either side."""
    found = truncated_moments(np.array([40.0, -np.inf]), np.array([np.inf, -40.0]))
    np.testing.assert_allclose(np.abs(found.first), 40.0 + 1 / 40 - 2 / 40**3, rtol=1e-7)
    np.testing.assert_array_equal(np.sign(found.first), [1.0, -1.0])
    np.testing.assert_allclose(found.log_mass, norm.logsf(40.0), rtol=1e-12)
    everything = truncated_moments(np.array([-np.inf]), np.array([np.inf]))
    np.testing.assert_allclose(np.ravel(everything), [0.0, 0.0, 1.0], atol=1e-15)

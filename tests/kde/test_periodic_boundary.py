"""Densities of columns that go round, such as angles: against sums over many periods."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

import eigenlens
from eigenlens import KernelDensity, OptionError
from eigenlens.kde.kernels import SMOOTHING_KERNELS

rng = np.random.default_rng(0)
HOURS = np.mod(rng.normal(23.5, 2.0, 60), 24.0)
Y = np.linspace(0.0, 24.0, 97)


def slow(y, x, h, name, weight=None, W=24.0):
    """The density (m,) as the sum over the copies of every point in many periods."""
    turns = np.arange(-400, 401) * W
    u = (y[:, None, None] - x[None, :, None] - turns) / np.broadcast_to(h, x.shape)[None, :, None]
    each = (SMOOTHING_KERNELS[name].profile(u) / np.broadcast_to(h, x.shape)[None, :, None]).sum(axis=2)
    return np.average(each, axis=1, weights=weight)


@pytest.mark.parametrize("name", SMOOTHING_KERNELS)
@pytest.mark.parametrize("h", [0.3, 2.0, 9.0, 40.0, 300.0])
def test_against_many_periods(name, h):
    w = rng.uniform(0.5, 2.0, 60)
    model = KernelDensity(kernel=name, bandwidth=h, bounds=(0, 24), boundary="periodic").fit(HOURS, sample_weight=w)
    np.testing.assert_allclose(model.density(Y), slow(Y, HOURS, h, name, w), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("h", [0.5, 5.0, 60.0])
def test_both_ends_are_one_place_and_the_mass_is_one(h):
    model = KernelDensity(bandwidth=h, bounds=(0, 24), boundary="periodic").fit(HOURS)
    ends = model.density([0.0, 24.0])
    assert ends[0] == pytest.approx(ends[1], rel=1e-7)
    t = np.linspace(0.0, 24.0, 4801)
    assert np.mean(model.density(t)[:-1]) * 24.0 == pytest.approx(1.0, rel=1e-8)
    np.testing.assert_allclose(model.cdf([0.0, 24.0]), [0.0, 1.0], atol=1e-9)
    steps = (model.density(t)[1:] + model.density(t)[:-1]) * 0.5 * (t[1] - t[0])
    np.testing.assert_allclose(model.cdf(t[1:]), np.cumsum(steps), atol=1e-5)
    q = np.linspace(0.01, 0.99, 25)
    np.testing.assert_allclose(model.cdf(model.ppf(q)), q, atol=1e-8)
    slope = (model.density(Y[1:-1] + 1e-5) - model.density(Y[1:-1] - 1e-5)) / 2e-5
    np.testing.assert_allclose(model.derivative(Y[1:-1]), slope, atol=1e-6)


def test_where_the_period_begins_makes_no_difference():
    early = KernelDensity(bandwidth=1.5, bounds=(0, 24), boundary="periodic").fit(HOURS)
    late = KernelDensity(bandwidth=1.5, bounds=(12, 36), boundary="periodic").fit(
        np.where(HOURS < 12, HOURS + 24, HOURS)
    )
    np.testing.assert_allclose(early.density(Y), late.density(np.where(Y < 12, Y + 24, Y)), rtol=1e-7)


@pytest.mark.parametrize("h", [1.0, 200.0])
def test_draws(h):
    model = KernelDensity(bandwidth=h, bounds=(0, 24), boundary="periodic", random_state=0).fit(HOURS)
    draws = model.sample(5000)[:, 0]
    assert draws.min() >= 0.0
    assert draws.max() <= 24.0
    assert kstest(draws, lambda t: model.cdf(t)).pvalue > 0.01


@pytest.mark.parametrize("h", [[1.0, 0.5], [60.0, 0.5]])
def test_one_column_that_goes_round_beside_one_that_does_not(h):
    X = np.column_stack([HOURS, rng.normal(size=60)])
    model = KernelDensity(bandwidth=h, bounds=[(0, 24), None], boundary="periodic").fit(X)
    places = np.column_stack([[0.1, 23.9, 12.0], [0.0, 1.0, -1.0]])
    other = SMOOTHING_KERNELS["gaussian"].profile((places[:, 1:] - X[:, 1]) / h[1]) / h[1]
    each = np.array([[slow(p[:1], x[:1], h[0], "gaussian")[0] for x in X] for p in places])
    np.testing.assert_allclose(model.density(places), np.mean(each * other, axis=1), rtol=1e-7)
    given = model.condition([1], [0.0])
    weights = SMOOTHING_KERNELS["gaussian"].profile((0.0 - X[:, 1]) / h[1])
    np.testing.assert_allclose(given.density(Y), slow(Y, HOURS, h[0], "gaussian", weights), rtol=1e-6)
    hour = model.condition([0], [3.0])
    assert hour.points.shape == (60, 1)


def test_adaptive_widths():
    model = KernelDensity(bandwidth=1.0, bounds=(0, 24), boundary="periodic", adaptive=True).fit(HOURS)
    expected = slow(Y, HOURS, model.model_.scales * 1.0, "gaussian")
    np.testing.assert_allclose(model.density(Y), expected, rtol=1e-6, atol=1e-12)


def test_logarithms_far_from_every_point():
    model = KernelDensity(bandwidth=0.05, bounds=(0, 24), boundary="periodic").fit([1.0, 23.5])
    nearest = 0.5 * (10.0 / 0.05) ** 2
    assert model.score_samples([11.0])[0] == pytest.approx(-nearest - np.log(2 * 0.05 * np.sqrt(2 * np.pi)), rel=1e-9)


def test_bounds_are_needed():
    with pytest.raises(OptionError, match="bounds=None must be given for boundary='periodic'"):
        KernelDensity(boundary="periodic").fit(HOURS)
    with pytest.raises(OptionError, match="needs both ends of the period"):
        KernelDensity(boundary="periodic", bounds=(0, None)).fit(HOURS)


def test_files_keep_it(tmp_path):
    model = KernelDensity(bounds=(0, 24), boundary="periodic").fit(HOURS)
    model.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(eigenlens.load(tmp_path / "m.safetensors").density(Y), model.density(Y))

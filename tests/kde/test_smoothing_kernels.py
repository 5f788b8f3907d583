"""Smoothing kernels: densities with the constants they claim, and callables that are found out."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest

from eigenlens.errors import OptionError
from eigenlens.kde.kernels import SMOOTHING_KERNELS, smoothing_kernel


def raised_cosine(u):
    return np.where(np.abs(u) < 1.0, 0.5 + 0.5 * np.cos(np.pi * u), 0.0)


ALL = [*SMOOTHING_KERNELS.values(), smoothing_kernel(raised_cosine)]
NAMES = [K.name for K in ALL]
CANONICAL = {  # δ to four places, as commonly tabulated after Marron and Nolan (1988)
    "gaussian": 0.7764,
    "box": 1.3510,
    "triangular": 1.8882,
    "epanechnikov": 1.7188,
    "biweight": 2.0362,
    "triweight": 2.3122,
}


def integral(function, K):
    end = min(K.radius, 60.0)
    return sum(quad(function, a, b, epsabs=1e-13, epsrel=1e-12, limit=200)[0] for a, b in [(-end, 0.0), (0.0, end)])


def at(function, u):
    return float(function(np.array([u]))[0])


def test_every_kernel_of_the_contract_is_there():
    expected = ["gaussian", "box", "epanechnikov", "triangular", "biweight", "triweight", "cosine", "laplace"]
    assert list(SMOOTHING_KERNELS) == expected


@pytest.mark.parametrize("K", ALL, ids=NAMES)
def test_constants_by_quadrature(K):
    assert integral(lambda u: at(K.profile, u), K) == pytest.approx(1.0, abs=1e-11)
    assert integral(lambda u: u * u * at(K.profile, u), K) == pytest.approx(K.variance, rel=1e-10)
    assert integral(lambda u: at(K.profile, u) ** 2, K) == pytest.approx(K.roughness, rel=1e-10)
    assert K.canonical() == pytest.approx((K.roughness / K.variance**2) ** 0.2)
    assert K.canonical(3) == pytest.approx((K.roughness**3 / K.variance**2) ** (1.0 / 7.0))


@pytest.mark.parametrize("name", CANONICAL)
def test_canonical_bandwidths_as_tabulated(name):
    assert SMOOTHING_KERNELS[name].canonical() == pytest.approx(CANONICAL[name], abs=6e-5)


@pytest.mark.parametrize("K", ALL, ids=NAMES)
def test_cdf_derivative_and_quantile_belong_to_the_profile(K):
    u = np.linspace(-0.97, 0.97, 41) + 0.003
    for place in u[::8]:
        end = min(K.radius, 60.0)
        area = sum(
            quad(lambda v: at(K.profile, v), a, b, epsabs=1e-13)[0]
            for a, b in [(-end, -1.0), (-1.0, min(place, 0.0)), (min(place, 0.0), place)]
        )
        assert at(K.cdf, place) == pytest.approx(area, abs=1e-10)
    step = 1e-6
    slope = (K.profile(u + step) - K.profile(u - step)) / (2.0 * step)
    np.testing.assert_allclose(K.derivative(u), slope, atol=1e-7)
    q = np.array([1e-6, 0.01, 0.3, 0.5, 0.9, 1.0 - 1e-9])
    np.testing.assert_allclose(K.cdf(K.quantile(q)), q, atol=1e-12)
    np.testing.assert_allclose(K.profile(u), K.profile(-u), rtol=1e-12)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(K.log_profile(u), np.log(K.profile(u)), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("K", ALL, ids=NAMES)
def test_nothing_beyond_the_radius(K):
    if np.isinf(K.radius):
        assert at(K.log_profile, 100.0) > -6000.0
        return
    assert at(K.profile, 1.0001 * K.radius) == at(K.derivative, 1.0001 * K.radius) == 0.0
    assert at(K.cdf, K.radius) == pytest.approx(1.0, abs=1e-14)
    assert at(K.cdf, -1.5 * K.radius) == 0.0


@pytest.mark.parametrize("K", ALL, ids=NAMES)
def test_draws_follow_the_cdf(K):
    draws = K.sample(20_000, np.random.default_rng(3))
    assert kstest(draws, K.cdf).pvalue > 1e-3
    assert np.all(np.abs(draws) <= K.radius)


@pytest.mark.parametrize("K", ALL, ids=NAMES)
def test_pieces_are_the_profile(K):
    u = np.linspace(-1.0, 1.0, 201)
    total = np.zeros(u.size)
    for piece in K.pieces:
        part = (u >= piece.low) & ((u < piece.high) | (piece is K.pieces[-1]))
        total += part * np.polynomial.polynomial.polyval(u, piece.coefficients)
    if K.pieces:
        np.testing.assert_allclose(total, K.profile(u), atol=1e-14)


def test_a_callable_is_measured():
    K = smoothing_kernel(raised_cosine)
    assert K.radius == pytest.approx(1.0, abs=1e-7)
    assert K.variance == pytest.approx(1.0 / 3.0 - 2.0 / np.pi**2, rel=1e-10)
    assert K.roughness == pytest.approx(0.75, rel=1e-10)
    u = np.linspace(-1.0, 1.0, 11)
    np.testing.assert_allclose(K.cdf(u), 0.5 * (1.0 + u + np.sin(np.pi * u) / np.pi), atol=1e-13)
    assert smoothing_kernel(K) is K


@pytest.mark.parametrize("K", ALL, ids=NAMES)
def test_kernels_travel_between_processes(K):
    again = pickle.loads(pickle.dumps(K))
    assert again.name == K.name
    np.testing.assert_array_equal(again.cdf(np.array([-0.3, 0.4])), K.cdf(np.array([-0.3, 0.4])))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda u: 2.0 * raised_cosine(u), "integral 2"),
        (lambda u: np.where((u > 0.0) & (u < 1.0), 1.0, 0.0), "not symmetric"),
        (lambda u: np.cos(u), "negative"),
        (lambda u: np.where(np.abs(u) < 1.0, np.nan, 0.0), "not finite"),
        (lambda u: 1.0, r"returned shape \(\)"),
        (lambda u: float(u), "failed on an array"),
        (lambda u: 0.0 * u, "is 0 on a grid"),
    ],
)
def test_callables_that_are_no_kernels(function, words):
    with pytest.raises(OptionError, match=words):
        smoothing_kernel(function)


def test_an_unknown_name_gets_a_hint():
    with pytest.raises(OptionError, match="did you mean 'epanechnikov'"):
        smoothing_kernel("epanechikov")

"""Distribution functions that do not go pair by pair, against those that do: callables, and scales of their own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from eigenlens.kde import line as kernel_density_line
from eigenlens.kde.kernels import SMOOTHING_KERNELS, smoothing_kernel
from eigenlens.kde.line import Line
from eigenlens.kde.model import KernelEstimate
from eigenlens.kde.pieces import polynomial_pieces

CALLABLES = {
    "bell": lambda u: np.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi),
    "raised cosine": lambda u: np.where(np.abs(u) < 1.0, 0.5 + 0.5 * np.cos(np.pi * u), 0.0),
    "triangle": lambda u: np.maximum(1.0 - np.abs(u), 0.0),
    "two heights": lambda u: np.where(np.abs(u) < 0.25, 1.0, np.where(np.abs(u) < 1.0, 1.0 / 3.0, 0.0)),
}


@pytest.mark.parametrize("name", CALLABLES)
def test_callables_become_polynomials(name):
    K, rng = smoothing_kernel(CALLABLES[name]), np.random.default_rng(0)
    x, w = rng.standard_normal(300), rng.uniform(0.1, 2.0, 300)
    f = KernelEstimate(x, 0.37, w, K)
    assert f._line.route is kernel_density_line.POLYNOMIAL_SUMS
    y = rng.uniform(-4.0, 4.0, 200)
    u = (y[:, None] - x) / 0.37
    np.testing.assert_allclose(f.cdf(y), K.cdf(u) @ w / w.sum(), atol=2e-13)
    slow = K.profile(u) @ w / w.sum() / 0.37
    np.testing.assert_allclose(f.density(y), slow, rtol=1e-6, atol=1e-12 * slow.max())


def test_a_callables_tail_keeps_its_logarithm():
    f = KernelEstimate(np.array([0.0]), 1.0, None, smoothing_kernel(CALLABLES["bell"]))
    np.testing.assert_allclose(f.log_density(np.array([6.0, 9.6, 30.0])), norm.logpdf([6.0, 9.6, 30.0]), rtol=1e-9)


def test_a_callable_of_too_many_pieces_goes_pair_by_pair():
    def comb(u):
        return np.where(np.abs(u) < 1.0, 0.5 + 0.5 * np.cos(400.0 * np.pi * u), 0.0)

    K = smoothing_kernel(comb)
    assert polynomial_pieces(K) == ()
    f = KernelEstimate(np.array([0.0, 0.3]), 1.0, None, K)
    y = np.linspace(-1.0, 1.0, 21)
    np.testing.assert_allclose(f.cdf(y), 0.5 * (K.cdf(y) + K.cdf(y - 0.3)), atol=1e-12)


@pytest.mark.few(6)
@pytest.mark.parametrize("shape", ["normal", "cauchy", "outlier", "one scale"])
@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
def test_scales_of_their_own(kernel, shape, monkeypatch):
    rng, K = np.random.default_rng(1), SMOOTHING_KERNELS[kernel]
    draws = {"normal": rng.standard_normal(400), "cauchy": rng.standard_cauchy(400)}
    x = draws.get(shape, np.append(rng.standard_normal(399), 1e4))
    w = rng.uniform(0.1, 2.0, 400)
    s = np.ones(400) if shape == "one scale" else 10.0 ** rng.uniform(-1.0, 1.0, 400)
    line = Line(x, w, 0.3, K, s, 1e-8)
    y = np.sort(np.concatenate([rng.choice(x, 100) + 0.1, [-1e6, 1e6]]))
    slow = K.cdf((y[:, None] - x) / (0.3 * s)) @ w
    np.testing.assert_allclose(line.integral(y), slow, atol=1e-12 * w.sum())
    monkeypatch.setattr(kernel_density_line, "MANY_PAIRS", 0)
    np.testing.assert_allclose(line.integral(y), slow, atol=1e-12 * w.sum())
    f = KernelEstimate(x, 0.3, w, K, scales=s)
    q = np.array([1e-6, 0.1, 0.5, 0.999])
    np.testing.assert_allclose(f.cdf(f.ppf(q)), q, atol=1e-12)


@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "biweight"])
def test_the_last_quantile_before_one_is_finite(kernel):
    """0.5 + 0.5 q rounds to 1 there; the tail is as long as at the other end."""
    f = KernelEstimate(np.array([-1.0, 0.0, 1.0]), 0.3, None, SMOOTHING_KERNELS[kernel])
    high, low = f.ppf(np.array([1.0 - 2.0**-53, 2.0**-53]))
    assert 1.0 < high < np.inf
    assert high == pytest.approx(-low, rel=0.03)

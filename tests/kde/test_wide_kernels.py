"""Kernels wide beside their bounds: closed forms against long sums of images, and the limit of them all."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from eigenlens.kde import bounds as kernel_density_bounds
from eigenlens.kde.bounds import Folded
from eigenlens.kde.kernels import SMOOTHING_KERNELS, smoothing_kernel
from eigenlens.kde.model import KernelEstimate
from eigenlens.kde.periodic import periodic_kernel, reflected_kernel
from eigenlens.kde.wide_line import WideLine

W, LOW = 1.3, 0.4
REACHES = {"gaussian": 9.5, "laplace": 42.0}


def raised_cosine(u):
    return np.where(np.abs(u) < 1.0, 0.5 + 0.5 * np.cos(np.pi * u), 0.0)


def raised_cosine_slope(u):
    return np.where(np.abs(u) < 1.0, -0.5 * np.pi * np.sin(np.pi * u), 0.0)


KERNELS = {**SMOOTHING_KERNELS, "callable": smoothing_kernel(raised_cosine)}


def points(n=25, d=1, seed=3):
    rng = np.random.default_rng(seed)
    return LOW + W * rng.random((n, d)), rng.uniform(0.2, 2.0, n)


def images(K, y, x, h, bounds):
    """Every image of x that could matter, one by one."""
    low, high = bounds
    if np.isfinite(low) and np.isfinite(high):
        turns = int(REACHES.get(K.name, K.radius) * np.max(h) / (high - low)) + 3
        shifts = 2.0 * (high - low) * np.arange(-turns, turns + 1)
        places = [x + s for s in shifts] + [2.0 * low - x + s for s in shifts]
    else:
        places = [x] + [2.0 * b - x for b in bounds if np.isfinite(b)]
    return sum(K.profile((y[:, None] - p) / h) / h for p in places)


def cut(K, y, x, h, bounds):
    """Kernels cut off, their mass by quadrature on either side of the point."""
    z, w = np.polynomial.legendre.leggauss(20)
    low, high = bounds
    mass = [
        sum(0.5 * abs(e - c) * w @ K.profile((0.5 * (e - c) * (z + 1.0)) / s) / s for e in (low, high))
        for c, s in zip(x, np.broadcast_to(h, x.shape), strict=True)
    ]
    return K.profile((y[:, None] - x) / h) / h / np.array(mass)


# ---- wound around a ring --------------------------------------------------------------------------------------


@pytest.mark.few(21)
@pytest.mark.parametrize("ratio", [0.1, 0.34, 0.9, 1.0, 2.7, 11.0, 40.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_closed_forms_equal_their_sums(kernel, ratio):
    K, h = KERNELS[kernel], ratio * W
    t = np.linspace(-2.0 * W, 2.0 * W, 61)[1:-1] + 1e-3
    shifts = 2.0 * W * np.arange(-int(REACHES.get(K.name, 1.0) * ratio) - 3, int(REACHES.get(K.name, 1.0) * ratio) + 4)
    u = (t[:, None] + shifts) / h
    tol = {"rtol": 1e-11, "atol": 1e-12}
    np.testing.assert_allclose(periodic_kernel(K, t, np.asarray(h), W), K.profile(u).sum(axis=1) / h, **tol)
    # The images of a callable have difference quotients as slopes, its polynomials the exact ones.
    slopes = raised_cosine_slope if kernel == "callable" and ratio > 32.0 else K.derivative
    np.testing.assert_allclose(periodic_kernel(K, t, np.asarray(h), W, 1), slopes(u).sum(axis=1) / h**2, **tol)
    whole = np.sum(K.cdf(u) - K.cdf(shifts / h), axis=1)
    np.testing.assert_allclose(periodic_kernel(K, t, np.asarray(h), W, -1), whole, **tol)


def test_scales_of_their_own_choose_their_own_form():
    x, y, h = points()[0][:, 0], np.linspace(LOW, LOW + W, 9), np.geomspace(0.05, 30.0, 25)
    for name in ("gaussian", "triweight"):
        slow = images(KERNELS[name], y, x, h, (LOW, LOW + W))
        np.testing.assert_allclose(reflected_kernel(KERNELS[name], y, x, h, LOW, W), slow, rtol=1e-10, atol=1e-13)


# ---- estimates ------------------------------------------------------------------------------------------------


@pytest.mark.few(30)
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("h", [3.0, 14.5, 130.0])
@pytest.mark.parametrize("boundary", ["reflect", "renormalize"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_one_column(kernel, boundary, h, adaptive, monkeypatch):
    monkeypatch.setattr(kernel_density_bounds, "MAX_IMAGES_PER_POINT", 0.5)
    monkeypatch.setattr(kernel_density_bounds, "WIDE_CUT_OFF", 0.5)
    (x, w), K, bounds = points(), KERNELS[kernel], (LOW, LOW + W)
    scales = np.geomspace(0.5, 2.0, 25) if adaptive else None
    f = KernelEstimate(x, h, w, K, [bounds], boundary, scales)
    assert isinstance(f._line, Folded if adaptive else WideLine)
    y = np.concatenate([np.random.default_rng(4).uniform(*bounds, 15), bounds, x[:2, 0]])
    slow = {"reflect": images, "renormalize": cut}[boundary]
    s = h * (np.ones(25) if scales is None else scales)
    expected = slow(K, y, x[:, 0], s, bounds) @ w / w.sum()
    np.testing.assert_allclose(f.density(y), expected, rtol=2e-10)
    z, v = np.polynomial.legendre.leggauss(24)
    edges = np.unique(np.concatenate([_bends(x[:, 0], s, K), np.linspace(*bounds, 4)]))
    edges = edges[(edges >= LOW) & (edges <= LOW + W)]
    half = 0.5 * np.diff(edges)
    grid = edges[:-1, None] + half[:, None] * (1.0 + z)
    parts = half * (f.density(grid.ravel()).reshape(grid.shape) @ v)
    np.testing.assert_allclose(f.cdf(edges), np.concatenate([[0.0], np.cumsum(parts)]), atol=1e-11)
    q = np.array([1e-6, 0.2, 0.71, 1.0 - 1e-6])
    np.testing.assert_allclose(f.cdf(f.ppf(q)), q, atol=1e-13)


def _bends(x, s, K):
    """Where reflected kernels of bounded support begin and end, folded into the interval."""
    ends = [x] if np.isinf(K.radius) else [x, x - s * K.radius, x + s * K.radius]
    t = np.mod(np.concatenate(ends) - LOW, 2.0 * W)
    return LOW + np.minimum(t, 2.0 * W - t)


@pytest.mark.parametrize("kernel", ["gaussian", "laplace", "triangular", "box", "callable"])
def test_slopes_of_wide_kernels(kernel):
    x, w = points()
    f = KernelEstimate(x, 13.0 * W, w, KERNELS[kernel], [[LOW, LOW + W]])
    y, step = np.random.default_rng(5).uniform(LOW + 0.05, LOW + W - 0.05, 30), 1e-4
    slope = (f.density(y + step) - f.density(y - step)) / (2.0 * step)
    smooth = np.abs(slope - (f.density(y + 2 * step) - f.density(y - 2 * step)) / (4.0 * step)) < 1e-10
    assert smooth.sum() > 10
    np.testing.assert_allclose(f.derivative(y)[smooth], slope[smooth], atol=1e-9)


@pytest.mark.few(20)
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("boundary", ["reflect", "renormalize"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("h", [1e12, 1e17, 1e200])
def test_beyond_every_width_the_density_is_uniform(kernel, boundary, h, adaptive):
    f = KernelEstimate(np.linspace(0.1, 0.8, 20), h, None, KERNELS[kernel], [[0.0, 1.0]], boundary)
    f = f.adapted() if adaptive else f
    y = np.array([0.0, 0.3, 1.0])
    np.testing.assert_allclose(f.density(y), np.ones(3), rtol=1e-9)
    np.testing.assert_allclose(f.cdf(y), y, atol=1e-9)
    np.testing.assert_allclose(f.ppf(y), y, atol=1e-9)
    draws = f.sample(4000, np.random.default_rng(0))[:, 0]
    np.testing.assert_allclose([draws.mean(), draws.std()], [0.5, 12.0**-0.5], atol=0.02)


@pytest.mark.few(18)
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("h", [0.2, 0.6, 3.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_products_fold_each_column_on_its_own(kernel, h, adaptive, monkeypatch):
    """Two bounds, one bound, none: the sums of images are within the product."""
    monkeypatch.setattr(kernel_density_bounds, "MAX_IMAGES_PER_POINT", 0.01)
    x, w = points(d=3)
    bounds = np.array([[LOW, LOW + W], [LOW, np.inf], [-np.inf, np.inf]])
    scales = np.geomspace(0.3, 3.0, 25) if adaptive else None
    f = KernelEstimate(x, [h, 0.7, 0.9], w, KERNELS[kernel], bounds, "reflect", scales)
    assert isinstance(f._space, Folded)
    Y = LOW + W * np.random.default_rng(6).random((20, 3))
    s = np.ones(25) if scales is None else scales
    parts = [images(f.kernel, Y[:, j], x[:, j], f.bandwidth[j] * s, bounds[j]) for j in range(3)]
    expected = np.prod(parts, axis=0) @ w / w.sum()
    np.testing.assert_allclose(f.density(Y), expected, rtol=1e-9, atol=1e-12 * expected.max())


def test_products_folded_and_mirrored_agree(monkeypatch):
    x, w = points(d=2)
    options = {"weights": w, "bounds": [[LOW, LOW + W], [-np.inf, LOW + W]]}
    Y = np.vstack([LOW + W * np.random.default_rng(7).random((10, 2)), [[LOW + W, LOW + W], [np.inf, LOW + 0.5]]])
    for kernel in ("gaussian", "laplace", "biweight"):
        mirrored = KernelEstimate(x, 0.3, kernel=SMOOTHING_KERNELS[kernel], **options)
        expected, below = mirrored.log_density(Y[:-1]), mirrored.cdf(Y)
        assert not mirrored._folds
        with monkeypatch.context() as patch:
            patch.setattr(kernel_density_bounds, "MAX_IMAGES_PER_POINT", 0.01)
            folded = KernelEstimate(x, 0.3, kernel=SMOOTHING_KERNELS[kernel], **options)
            assert folded._folds
            np.testing.assert_allclose(folded.log_density(Y[:-1]), expected, rtol=1e-8)
            np.testing.assert_allclose(folded.cdf(Y), below, atol=1e-13)
            given, same = folded.condition([0], [LOW + 0.1]), mirrored.condition([0], [LOW + 0.1])
            np.testing.assert_allclose(given.weights, same.weights, rtol=1e-12)


def test_a_tail_keeps_its_logarithm_when_folded(monkeypatch):
    monkeypatch.setattr(kernel_density_bounds, "MAX_IMAGES_PER_POINT", 0.01)
    for kernel, far in (("gaussian", -0.5 * 1000.0**2 - 0.5 * np.log(2.0 * np.pi)), ("laplace", -1000.0 - np.log(2.0))):
        f = KernelEstimate([[0.0, 0.0]], 1e-3, kernel=SMOOTHING_KERNELS[kernel], bounds=[[0.0, 1.0], [0.0, 1.0]])
        at_corner = 2.0 * (far + np.log(1e3) + np.log(4.0))
        assert f._folds
        assert f.log_density([[1.0, 1.0]])[0] == pytest.approx(at_corner, rel=1e-12)


def test_images_are_counted_before_they_are_made():
    for name, h in (("gaussian", 0.3), ("laplace", 0.1), ("biweight", 2.0)):
        x, _ = points(200)
        K, bounds, s = SMOOTHING_KERNELS[name], np.array([LOW, LOW + W]), np.full(200, h)
        made = kernel_density_bounds._reflected(x, np.ones(200), s[:, None], K, bounds[None])
        counted = kernel_density_bounds._image_counts(x[:, 0], s, K, bounds)
        np.testing.assert_array_equal(np.bincount(made.origin), counted)


def test_five_columns_need_no_memory_for_images():
    X = np.random.default_rng(8).standard_normal((2000, 5)).clip(-6.0, 6.0)
    tracemalloc.start()
    value = KernelEstimate(X, 5.0, bounds=np.tile([-6.0, 6.0], (5, 1))).density(X[:20])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6
    parts = [images(SMOOTHING_KERNELS["gaussian"], X[:20, j], X[:, j], 5.0, (-6.0, 6.0)) for j in range(5)]
    np.testing.assert_allclose(value, np.prod(parts, axis=0).mean(axis=1), rtol=1e-10)

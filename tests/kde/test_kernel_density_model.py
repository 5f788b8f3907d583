"""`KernelEstimate` against double loops and quadrature: kernels, bounds, scales, weights, one and more dimensions."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import kstest, multivariate_normal, norm

from eigenlens.errors import DataError, OptionError
from eigenlens.kde.kernels import SMOOTHING_KERNELS, smoothing_kernel
from eigenlens.kde.model import KernelEstimate
from eigenlens.kde.normal_cdf import normal_cdf


def raised_cosine(u):
    return np.where(np.abs(u) < 1.0, 0.5 + 0.5 * np.cos(np.pi * u), 0.0)


KERNELS = {**SMOOTHING_KERNELS, "callable": smoothing_kernel(raised_cosine)}
BOUNDS = {"open": None, "low": [[0.0, np.inf]], "high": [[-np.inf, 6.0]], "both": [[0.0, 6.0]]}
H = 0.8


def points(n=45, seed=1):
    rng = np.random.default_rng(seed)
    x = np.abs(rng.standard_normal(n)) * 1.5
    return x, rng.uniform(0.2, 3.0, n)


def estimate(kernel, bounds="open", boundary="reflect", adaptive=False, **options):
    x, w = points()
    f = KernelEstimate(x, H, w, KERNELS[kernel], BOUNDS[bounds], boundary, **options)
    return f.adapted() if adaptive else f


def slow_density(f, y):
    """One kernel a point, summed; images far beyond what could matter."""
    x, w, K = f.points[:, 0], f.weights, f.kernel
    s = f.bandwidth[0] * (1.0 if f.scales is None else f.scales) * np.ones(x.size)
    low, high = f.bounds[0]
    at = lambda c: K.profile((y[:, None] - c) / s) / s  # noqa: E731
    if f.boundary == "renormalize":
        values = at(x) / (K.cdf((high - x) / s) - K.cdf((low - x) / s))
    elif np.isfinite(low) and np.isfinite(high):
        shifts = 2.0 * (high - low) * np.arange(-9, 10)
        values = sum(at(x + shift) + at(2.0 * low - x + shift) for shift in shifts)
    else:
        bound = low if np.isfinite(low) else high
        values = at(x) + (at(2.0 * bound - x) if np.isfinite(bound) else 0.0)
    return np.where((y >= low) & (y <= high), values @ w / w.sum(), 0.0)


def panels(f):
    """Gauss–Legendre nodes and weights between every place where the density may bend, and those places."""
    x = f.extended.points[:, 0]
    s = f.bandwidth[0] * (np.ones(x.size) if f._scales is None else f._scales)
    r = f.kernel.radius if f.kernel.radius < 50.0 else 0.0
    ends = np.clip([x.min() - 60.0 * s.max(), x.max() + 60.0 * s.max()], *f.bounds[0])
    kinks = np.concatenate([x, x - r * s, x + r * s, np.linspace(*ends, 200), ends])
    edges = np.unique(np.clip(kinks, *ends))
    nodes, weights = np.polynomial.legendre.leggauss(10)
    half = 0.5 * np.diff(edges)
    return (edges[:-1, None] + half[:, None] * (1.0 + nodes)).ravel(), (half[:, None] * weights).ravel(), edges


CASES = [
    (b, boundary) for b in BOUNDS for boundary in ("reflect", "renormalize") if b != "open" or boundary == "reflect"
]


# ---- one dimension --------------------------------------------------------------------------------------------


@pytest.mark.few(42)
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize(("bounds", "boundary"), CASES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_density_of_one_column(kernel, bounds, boundary, adaptive):
    f = estimate(kernel, bounds, boundary, adaptive, tol=1e-13)
    y = np.concatenate([np.random.default_rng(2).uniform(-3.0, 8.0, 60), f.points[:5, 0], [0.0, 6.0]])
    slow = slow_density(f, y)
    np.testing.assert_allclose(f.density(y), slow, rtol=1e-9, atol=1e-13 * slow.max())
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(f.log_density(y[:, None]), np.log(f.density(y)), rtol=1e-12)
    grid, weights, _ = panels(f)
    assert f.density(grid) @ weights == pytest.approx(1.0, abs=1e-10)


@pytest.mark.few(15)
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize(("bounds", "boundary"), CASES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_cdf_derivative_and_quantiles_of_one_column(kernel, bounds, boundary, adaptive):
    f = estimate(kernel, bounds, boundary, adaptive)
    grid, weights, edges = panels(f)
    upto = np.concatenate([[0.0], np.cumsum(np.sum((f.density(grid) * weights).reshape(-1, 10), axis=1))])
    np.testing.assert_allclose(f.cdf(edges), upto, atol=2e-10)
    q = np.array([1e-9, 0.03, 0.25, 0.5, 0.97, 1.0 - 1e-9])
    np.testing.assert_allclose(f.cdf(f.ppf(q)), q, atol=1e-12)
    assert np.all(np.diff(f.ppf(q)) > 0.0)
    y = np.random.default_rng(4).uniform(0.2, 5.5, 40)
    step = 1e-5
    slope = (slow_density(f, y + step) - slow_density(f, y - step)) / (2.0 * step)
    smooth = np.abs(slope - (slow_density(f, y + 2 * step) - slow_density(f, y - 2 * step)) / (4.0 * step)) < 1e-7
    assert smooth.sum() > 25
    np.testing.assert_allclose(f.derivative(y)[smooth], slope[smooth], atol=2e-6)


@pytest.mark.few(12)
@pytest.mark.parametrize(("bounds", "boundary"), CASES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_draws_follow_the_cdf(kernel, bounds, boundary):
    f = estimate(kernel, bounds, boundary, adaptive=bounds == "both")
    draws = f.sample(4000, np.random.default_rng(5))
    assert draws.shape == (4000, 1)
    assert np.all((draws >= f.bounds[0, 0]) & (draws <= f.bounds[0, 1]))
    assert kstest(draws[:, 0], f.cdf).pvalue > 1e-3


@pytest.mark.parametrize("kernel", KERNELS)
def test_weights_are_copies(kernel):
    x = np.array([0.0, 1.0, 1.5, 4.0])
    copies = np.array([2, 0, 3, 1])
    f = KernelEstimate(x, 0.7, copies, KERNELS[kernel])
    g = KernelEstimate(np.repeat(x, copies), 0.7, None, KERNELS[kernel])
    y = np.linspace(-1.0, 5.0, 33)
    np.testing.assert_allclose(f.density(y), g.density(y), atol=1e-15)
    np.testing.assert_allclose(f.cdf(y), g.cdf(y), atol=1e-15)
    np.testing.assert_allclose(f.adapted().density(y), g.adapted().density(y), atol=1e-14)
    assert len(f.points) == 3


@pytest.mark.parametrize("kernel", KERNELS)
def test_shift_and_scale(kernel):
    """Far from zero and in other units the density is the same one, to twelve digits of its maximum."""
    x, w = points(500)
    x = np.round(x * 1024.0) / 1024.0  # so that the shift by a million is exact
    y = np.round(np.linspace(-1.0, 7.0, 400) * 1024.0) / 1024.0
    f = KernelEstimate(x, 0.5, w, KERNELS[kernel], tol=1e-13)
    moved = KernelEstimate(x + 2.0**20, 0.5, w, KERNELS[kernel], tol=1e-13)
    wide = KernelEstimate(1000.0 * x, 500.0, w, KERNELS[kernel], tol=1e-13)
    peak = f.density(y).max()
    np.testing.assert_allclose(moved.density(y + 2.0**20), f.density(y), atol=1e-12 * peak)
    np.testing.assert_allclose(1000.0 * wide.density(1000.0 * y), f.density(y), atol=1e-11 * peak)


def test_an_outlier_costs_no_digits():
    x = np.append(points(500)[0], 1e6)
    y = np.append(np.linspace(0.0, 5.0, 200), [1e6, 1e6 + 0.3])
    for kernel in KERNELS.values():
        f = KernelEstimate(x, 0.5, None, kernel, tol=1e-13)
        slow = slow_density(f, y)
        np.testing.assert_allclose(f.density(y), slow, rtol=1e-7, atol=1e-12 * slow.max())


def test_the_logarithm_far_out():
    x = np.array([0.0, 1.0, 5.0])
    f = KernelEstimate(x, 0.5)
    y = np.array([25.0, 2e3, -1e6])
    nearest = np.array([5.0, 5.0, 0.0])
    expected = norm.logpdf(y, nearest, 0.5) - np.log(3.0)
    np.testing.assert_allclose(f.log_density(y), expected, rtol=1e-14)
    assert np.isfinite(KernelEstimate(x, 0.5, kernel=SMOOTHING_KERNELS["laplace"]).log_density(y)).all()
    assert np.all(KernelEstimate(x, 0.5, kernel=SMOOTHING_KERNELS["box"]).log_density(y) == -np.inf)
    assert f.log_density(np.array([np.inf, -np.inf])).tolist() == [-np.inf, -np.inf]
    assert f.cdf(np.array([-np.inf, np.inf])).tolist() == [0.0, 1.0]


def test_a_logarithm_beyond_all_numbers_is_minus_infinity():
    for points in (np.array([0.0, 1.0]), np.zeros((2, 2))):
        f = KernelEstimate(points, 1e-200)
        assert f.log_density(np.full((1, f.n_features), 5.0)).tolist() == [-np.inf]
        assert f.log_density(f.points[:1])[0] > 0.0


def test_the_last_digits_at_the_end_of_a_kernel():
    """One point at the very end of the window: its value is not what cancellation left of many."""
    for name, K in SMOOTHING_KERNELS.items():
        if K.radius == 1.0 and name != "box":
            f = KernelEstimate(np.array([0.0, 0.0, 3.0]), 1.0, None, K)
            y = np.array([1.0 - 1e-5, 1.0 - 1e-9])
            np.testing.assert_allclose(f.density(y), 2.0 * K.profile(y) / 3.0, rtol=1e-6)
            assert np.all(f.density(y) > 0.0)


def test_quantiles_between_clusters_and_at_the_ends():
    f = KernelEstimate(np.array([0.0, 10.0]), 1.0, None, SMOOTHING_KERNELS["epanechnikov"])
    assert f.ppf(np.array([0.5]))[0] == pytest.approx(1.0, abs=1e-7)  # the least y with half of the mass below it
    assert f.ppf(np.array([0.0, 1.0])).tolist() == [-1.0, 11.0]
    g = KernelEstimate(np.array([0.0, 10.0]), 1.0, bounds=[[-2.0, np.inf]])
    assert g.ppf(np.array([0.0, 1.0])).tolist() == [-2.0, np.inf]
    tail = KernelEstimate(np.array([3.0]), 2.0)
    np.testing.assert_allclose(tail.ppf(np.array([1e-100, 1e-20])), norm.ppf([1e-100, 1e-20], 3.0, 2.0), rtol=1e-9)


def test_reflection_is_level_at_the_bound():
    f = estimate("gaussian", "low")
    assert f.derivative(np.array([0.0]))[0] == pytest.approx(0.0, abs=1e-12)
    assert estimate("gaussian", "low", "renormalize").density(np.array([0.0]))[0] < f.density(np.array([0.0]))[0]


def test_wide_kernels_between_narrow_bounds_are_uniform():
    f = KernelEstimate(np.array([0.2, 0.3]), 2.0, bounds=[[0.0, 1.0]])
    np.testing.assert_allclose(f.density(np.linspace(0.0, 1.0, 7)), np.ones(7), rtol=1e-8)


def test_an_image_counts_in_the_tail_too():
    """At a bound far from the only point the density is doubled, however small it is."""
    f = KernelEstimate(np.array([40.0]), 1.0, bounds=[[0.0, np.inf]])
    assert f.log_density(np.array([0.0]))[0] == pytest.approx(norm.logpdf(40.0) + np.log(2.0), rel=1e-14)


# ---- several dimensions ---------------------------------------------------------------------------------------


def rows(n=60, d=3, seed=6):
    rng = np.random.default_rng(seed)
    return np.abs(rng.standard_normal((n, d)) @ rng.standard_normal((d, d))) + 0.1, rng.uniform(0.2, 2.0, n)


def slow_product(f, Y):
    """The product of the densities of each column, point by point."""
    total = np.zeros(len(Y))
    for i, w in enumerate(f.weights):
        value = np.full(len(Y), w)
        for j in range(f.n_features):
            own = None if f.scales is None else f.scales[[i]]
            one = KernelEstimate(f.points[[i], j], f.bandwidth[j], None, f.kernel, f.bounds[[j]], f.boundary, own)
            value *= slow_density(one, Y[:, j])
        total += value
    return total / f.weights.sum()


@pytest.mark.few(5)
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_products_over_columns(kernel, adaptive):
    X, w = rows()
    Y = X[::4] + 0.3
    for bounds, boundary in [(None, "reflect"), ("some", "reflect"), ("some", "renormalize")]:
        limits = None if bounds is None else [[0.0, np.inf], [-np.inf, np.inf], [0.0, 9.0]]
        f = KernelEstimate(X, [0.5, 0.9, 1.4], w, KERNELS[kernel], limits, boundary, tol=1e-13)
        f = f.adapted() if adaptive else f
        slow = slow_product(f, Y)
        np.testing.assert_allclose(f.density(Y), slow, rtol=1e-8, atol=1e-13 * slow.max())


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_matrix_of_bandwidths(adaptive):
    X, w = rows()
    A = np.random.default_rng(7).standard_normal((3, 3))
    H = A @ A.T + 0.3 * np.eye(3)
    f = KernelEstimate(X, H, w, tol=1e-13)
    f = f.adapted() if adaptive else f
    own = np.ones(len(X)) if f.scales is None else f.scales
    Y = np.concatenate([X[::5] + 0.2, [[40.0, -30.0, 20.0]]])
    parts = np.array([multivariate_normal(x, s * s * H).logpdf(Y) for x, s in zip(X, own, strict=True)])
    expected = np.logaddexp.reduce(parts + np.log(w / w.sum())[:, None], axis=0)
    np.testing.assert_allclose(f.log_density(Y), expected, rtol=1e-11, atol=1e-11)
    flat = KernelEstimate(X, np.diag([0.25, 0.81, 1.96]), w, tol=1e-13)
    np.testing.assert_allclose(flat.density(Y), KernelEstimate(X, [0.5, 0.9, 1.4], w, tol=1e-13).density(Y), rtol=1e-12)


def test_adaptive_scales_are_abramsons():
    X, w = rows()
    f = KernelEstimate(X, 0.8, w)
    pilot = f.density(X)
    g = np.exp(np.sum(w * np.log(pilot)) / w.sum())
    np.testing.assert_allclose(f.adapted().scales, (pilot / g) ** -0.5, rtol=1e-10)
    np.testing.assert_allclose(f.adapted().adapted().scales, f.adapted().scales)


@pytest.mark.parametrize("shape", ["columns", "matrix", "bounded", "renormalized", "adaptive", "epanechnikov"])
def test_marginal_and_conditional_densities_integrate(shape):
    X, w = rows(25, 2)
    options = {
        "columns": {"bandwidth": [0.6, 0.9]},
        "matrix": {"bandwidth": [[0.5, 0.3], [0.3, 0.6]]},
        "bounded": {"bandwidth": [0.6, 0.9], "bounds": [[0.0, np.inf], [0.0, 8.0]]},
        "renormalized": {"bandwidth": [0.6, 0.9], "bounds": [[0.0, np.inf], [0.0, 8.0]], "boundary": "renormalize"},
        "adaptive": {"bandwidth": [0.6, 0.9], "scales": np.random.default_rng(8).uniform(0.5, 2.0, 25)},
        "epanechnikov": {"bandwidth": [1.6, 1.9], "kernel": SMOOTHING_KERNELS["epanechnikov"]},
    }[shape]
    f = KernelEstimate(points=X, weights=w, tol=1e-12, **options)
    grid = np.linspace(-9.0, 18.0, 2701)
    for value in (0.7, 2.0):
        joint = f.density(np.column_stack([grid, np.full(grid.size, value)]))
        weights = np.where((grid >= f.bounds[0, 0]) & (grid <= f.bounds[0, 1]), 0.01, 0.0)
        weights[np.isclose(grid, f.bounds[0, 0])] = 0.005
        area = joint @ weights
        marginal = f.marginal([1])
        assert marginal.density(np.array([value]))[0] == pytest.approx(area, rel=2e-4)
        given = f.condition([1], value)
        np.testing.assert_allclose(
            given.density(grid) * marginal.density(np.array([value])), joint, rtol=1e-9, atol=1e-13
        )
    swapped = f.marginal([1, 0])
    np.testing.assert_allclose(swapped.density(X[:, ::-1]), f.density(X), rtol=1e-10)


def test_conditions_far_out_and_out_of_reach():
    X, w = rows(25, 2)
    f = KernelEstimate(X, [0.6, 0.9], w)
    far = f.condition([0], 500.0)
    best = int(np.argmax(X[:, 0]))
    assert far.ppf(np.array([0.5]))[0] == pytest.approx(X[best, 1], abs=1e-6)
    with pytest.raises(DataError, match="out of reach of every kernel"):
        KernelEstimate(X, [0.6, 0.9], w, SMOOTHING_KERNELS["box"]).condition([0], 500.0)
    with pytest.raises(DataError, match="outside the bounds"):
        KernelEstimate(X, [0.6, 0.9], w, bounds=[[0.0, np.inf], [0.0, np.inf]]).condition([0], -1.0)
    nothing = f.condition([0], np.nan)
    np.testing.assert_allclose(nothing.density(X[:, 1]), f.marginal([1]).density(X[:, 1]), rtol=1e-12)


@pytest.mark.parametrize("matrix", [False, True])
def test_missing_entries_are_integrated_out(matrix):
    X, w = rows()
    f = KernelEstimate(X, np.diag([0.3, 0.4, 0.5]) + 0.1 if matrix else [0.5, 0.6, 0.7], w)
    Y = X[:5].copy()
    Y[0, 1] = Y[1, [0, 2]] = Y[2] = np.nan
    found = f.log_density(Y)
    assert found[0] == pytest.approx(f.marginal([0, 2]).log_density(Y[[0]][:, [0, 2]])[0])
    assert found[1] == pytest.approx(f.marginal([1]).log_density(Y[[1], 1])[0])
    assert found[2] == 0.0
    np.testing.assert_allclose(found[3:], f.log_density(X[3:5]))


def test_joint_distribution_function():
    X, w = rows(20, 2)
    for bounds, boundary in [
        (None, "reflect"),
        ([[0.0, 9.0], [-np.inf, np.inf]], "reflect"),
        ([[0.0, 9.0], [0.0, 9.0]], "renormalize"),
    ]:
        f = KernelEstimate(X, [0.6, 0.9], w, SMOOTHING_KERNELS["gaussian"], bounds, boundary)
        draws = f.sample(40_000, np.random.default_rng(9))
        for y in ([1.0, 2.0], [3.0, 0.5]):
            share = np.mean(np.all(draws <= y, axis=1))
            assert f.cdf(np.array([y]))[0] == pytest.approx(share, abs=0.012)
        one = f.marginal([0]).cdf(np.array([1.3]))[0]
        assert f.cdf(np.array([[1.3, np.inf]]))[0] == pytest.approx(one, abs=1e-12)
        assert f.cdf(np.array([[1.3, np.nan]]))[0] == pytest.approx(one, abs=1e-12)


def test_draws_in_several_dimensions():
    X, w = rows(30, 2)
    H = np.array([[0.5, 0.3], [0.3, 0.6]])
    f = KernelEstimate(X, H, w)
    draws = f.sample(100_000, np.random.default_rng(10))
    p = w / w.sum()
    spread = (p[:, None] * (X - p @ X)).T @ (X - p @ X) + H
    np.testing.assert_allclose(np.cov(draws.T), spread, atol=0.06)
    np.testing.assert_allclose(draws.mean(axis=0), p @ X, atol=0.02)


def test_what_is_only_for_one_column():
    f = KernelEstimate(rows()[0], 0.5)
    for call in (f.derivative, f.ppf):
        with pytest.raises(OptionError, match="is for X of one column"):
            call(np.array([0.5]))


def test_a_frozen_value_that_travels():
    f = KernelEstimate(rows()[0], 0.5)
    before = f.density(rows()[0][:3])
    again = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(again.density(rows()[0][:3]), before)
    with pytest.raises(ValueError, match="read-only"):
        f.points[0] = 1.0


def plackett_cdf(mp, b, r):
    """Return the distribution function of three Gaussians by integrals over their correlations (Plackett 1954).

    r has the correlations of columns 1 and 2, 1 and 3, 2 and 3. With t r₁₂, t r₁₃ and r₂₃ it is a product at t = 0.
    """

    def pair(h, k, c):
        return mp.exp(-(h * h - 2 * c * h * k + k * k) / (2 * (1 - c * c))) / (2 * mp.pi * mp.sqrt(1 - c * c))

    def slope(t, near, far, own, other):
        c, e, cross = t * near, t * far, r[2]
        mean = ((e - c * cross) * b[0] + (cross - c * e) * own) / (1 - c * c)
        variance = 1 - (e * e - 2 * c * e * cross + cross * cross) / (1 - c * c)
        return near * pair(b[0], own, c) * mp.ncdf((other - mean) / mp.sqrt(variance))

    def refined(end):
        return [end * (1 - mp.mpf(2) ** -j) for j in range(28)] + [end]

    two = mp.ncdf(b[1]) * mp.ncdf(b[2]) + mp.quad(lambda c: pair(b[1], b[2], c), refined(r[2]))
    change = lambda t: slope(t, r[0], r[1], b[1], b[2]) + slope(t, r[1], r[0], b[2], b[1])  # noqa: E731
    return mp.ncdf(b[0]) * two + mp.quad(change, refined(mp.mpf(1)))


class TestDistributionWithAMatrix:
    H = np.array([[0.5, 0.3, 0.1], [0.3, 0.6, -0.2], [0.1, -0.2, 0.4]])

    def model(self, d, **options):
        rng = np.random.default_rng(3)
        points, w = rng.standard_normal((30, d)), rng.uniform(0.5, 2.0, 30)
        return KernelEstimate(points, self.H[:d, :d], w, **options)

    @pytest.mark.parametrize(("d", "atol"), [(2, 1e-12), (3, 2e-5)])  # SciPy's own error in three dimensions
    def test_against_scipy(self, d, atol):
        model = self.model(d)
        Y = np.random.default_rng(4).normal(size=(5, d))
        each = [[multivariate_normal(x, self.H[:d, :d]).cdf(y) for x in model.points] for y in Y]
        np.testing.assert_allclose(model.cdf(Y), np.average(each, axis=1, weights=model.weights), atol=atol)

    @pytest.mark.parametrize("d", [2, 3, 5])
    def test_a_diagonal_matrix_is_a_product(self, d):
        points, h = np.random.default_rng(3).standard_normal((30, d)), np.array([0.5, 0.8, 0.6, 0.7, 0.4])[:d]
        product, Y = KernelEstimate(points, h), np.random.default_rng(4).normal(size=(6, d))
        np.testing.assert_allclose(replace(product, bandwidth=np.diag(h**2)).cdf(Y), product.cdf(Y), atol=1e-14)
        adaptive = product.adapted()
        np.testing.assert_allclose(replace(adaptive, bandwidth=np.diag(h**2)).cdf(Y), adaptive.cdf(Y), atol=1e-14)

    def test_independent_blocks_of_a_matrix_are_a_product(self):
        H = np.eye(5)
        H[np.ix_([0, 2, 4], [0, 2, 4])] = self.H
        H[1, 3] = H[3, 1] = -0.4
        point, Y = np.random.default_rng(5).normal(size=(1, 5)), np.random.default_rng(4).normal(size=(6, 5))
        model = KernelEstimate(point, H)
        parts = [model.marginal(columns).cdf(Y[:, columns]) for columns in ([0, 2, 4], [1, 3])]
        np.testing.assert_allclose(model.cdf(Y), parts[0] * parts[1], atol=1e-15)

    @pytest.mark.long
    @pytest.mark.parametrize("correlations", [(0.6, -0.3, 0.2), (0.998, -0.96, -0.965), (0.3, -0.3, -0.99999999)])
    def test_three_columns_are_exact_to_rounding(self, correlations):
        mp = pytest.importorskip("mpmath")
        r, R = correlations, np.eye(3)
        R[[0, 0, 1], [1, 2, 2]] = R[[1, 2, 2], [0, 0, 1]] = r
        Y = np.random.default_rng(6).normal(size=(3, 3)) + np.array([[0.0], [0.5], [1.0]])
        with mp.workdps(30):
            exact = [float(plackett_cdf(mp, [mp.mpf(b) for b in y], [mp.mpf(c) for c in r])) for y in Y.tolist()]
        np.testing.assert_allclose(normal_cdf(Y, R), exact, rtol=0, atol=2e-14)

    def test_orthants_of_one_kernel_have_a_closed_form(self):
        s = np.sqrt(np.diag(self.H))
        R = np.arcsin(self.H / np.outer(s, s))
        three = normal_cdf(np.zeros((1, 3)), self.H)[0]
        assert three == pytest.approx(1 / 8 + (R[0, 1] + R[0, 2] + R[1, 2]) / (4 * np.pi), abs=1e-12)
        two = normal_cdf(np.zeros((1, 2)), self.H[:2, :2])[0]
        assert two == pytest.approx(1 / 4 + R[0, 1] / (2 * np.pi), abs=1e-15)
        axes = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.0], [-1.0, 0.0]])
        expected = [multivariate_normal([0.0, 0.0], self.H[:2, :2]).cdf(y) for y in axes]
        np.testing.assert_allclose(normal_cdf(axes, self.H[:2, :2]), expected, atol=1e-14)

    @pytest.mark.parametrize("correlations", [(0.999, 0.999, 0.999), (0.5, 0.5, 0.999), (0.5, -0.5, -0.9999)])
    def test_columns_that_depend_on_each_other_closely(self, correlations):
        R = np.eye(3)
        R[[0, 0, 1], [1, 2, 2]] = R[[1, 2, 2], [0, 0, 1]] = correlations
        orthant = 1 / 8 + np.arcsin(correlations).sum() / (4 * np.pi)
        assert normal_cdf(np.zeros((1, 3)), R)[0] == pytest.approx(orthant, abs=1e-12)
        Y = np.random.default_rng(0).standard_normal((20, 3))
        orders = [list(order) for order in permutations(range(3))]
        found = [normal_cdf(Y[:, order], R[np.ix_(order, order)]) for order in orders]
        np.testing.assert_allclose(found, np.tile(found[0], (6, 1)), atol=1e-12)

    def test_limits_that_are_infinite_or_missing(self):
        model = self.model(2)
        one = model.marginal([0]).cdf([[0.3]])[0]
        Y = [[0.3, np.inf], [0.3, np.nan], [np.inf, np.inf], [0.3, -np.inf], [-np.inf, np.nan]]
        np.testing.assert_allclose(model.cdf(Y), [one, one, 1.0, 0.0, 0.0], atol=1e-12)

    def test_more_than_three_columns(self):
        points, H = np.random.default_rng(0).normal(size=(10, 4)), np.eye(4) + 0.1
        with pytest.raises(OptionError, match="more than 3 columns depend on each other"):
            KernelEstimate(points, H).cdf(points)
        assert KernelEstimate(points, H).cdf([[0.0, np.nan, 1.0, np.nan]]).shape == (1,)


@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_log_densities_very_far_from_all_points(kernel, d):
    """Where rounding of the distance is larger than any power of two, the nearest point may not be lost."""
    rng = np.random.default_rng(0)
    X, away = rng.standard_normal((150, d)), rng.standard_normal((40, d))
    Y = away / np.linalg.norm(away, axis=1, keepdims=True) * np.logspace(1.0, 150.0, 40)[:, None]
    f = KernelEstimate(X, 0.5, kernel=SMOOTHING_KERNELS[kernel])
    u = (Y.astype(np.longdouble)[:, None] - X) / 0.5
    power = -0.5 * np.sum(u * u, axis=2) if kernel == "gaussian" else -np.sum(np.abs(u), axis=2)
    top = power.max(axis=1)
    constant = d * np.log(np.sqrt(2.0 * np.pi) * 0.5 if kernel == "gaussian" else 1.0)
    wanted = top + np.log(np.mean(np.exp(power - top[:, None]), axis=1)) - constant
    np.testing.assert_allclose(
        f.log_density(Y), wanted.astype(np.float64), rtol=1e-8 if kernel == "gaussian" else 1e-13
    )
    tight = replace(f, tol=1e-14)
    np.testing.assert_allclose(tight.log_density(Y), wanted.astype(np.float64), rtol=5e-15)

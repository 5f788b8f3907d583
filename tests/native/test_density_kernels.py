"""Fast sums of smoothing kernels against every pair: every instruction set, awkward sizes, offsets, outliers, tails."""

from __future__ import annotations

import math

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from eigenlens.native import kernel_sums as density
from eigenlens.native.kernel_sums import (
    FORMS,
    Cloud,
    cloud_sums,
    cloud_sums_numpy,
    gaussian_integrals,
    gaussian_integrals_numpy,
    gaussian_sums,
    gaussian_sums_numpy,
    laplace_sums,
    laplace_sums_numpy,
    sorted_with_order,
    wave_sums,
    wave_sums_numpy,
    window_sums,
    window_sums_numpy,
)

BELL = {p: np.polynomial.polynomial.polypow([1.0, 0.0, -1.0], p).tolist() for p in range(4)}
TENT = [(-1.0, 0.0, [1.0, 1.0], False), (0.0, 1.0, [1.0, -1.0], True)]
SIZES = [(1, 1), (3, 50), (700, 9), (5000, 9000)]


def line(n, m, seed=0, offset=0.0, spread=1.0):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal(n) * spread + offset, rng.standard_normal(m) * 1.3 * spread + offset
    return np.sort(x), rng.uniform(0.1, 3.0, n), np.sort(y)


def pairs(x, y, h):
    return (y[:, None] - x[None, :]) / h


# ---- along a line ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 7, 999, 1000, 20_000, 150_001])
def test_sorting(n):
    rng = np.random.default_rng(n)
    values = np.concatenate(
        [rng.standard_normal(n - n // 2) * 10.0 ** rng.integers(-9, 9, n - n // 2), np.round(rng.normal(size=n // 2))]
    )
    values[: n // 50] = -0.0
    found, order = sorted_with_order(values)
    np.testing.assert_array_equal(order, np.argsort(values, kind="stable"))
    np.testing.assert_array_equal(found, np.sort(values))


@pytest.mark.parametrize("spread", [0.0, 1e-300, 1e-9, 1.0])
def test_sorting_of_values_whose_first_digits_are_equal(spread):
    """Pieces of the work may not end between such values; with few different ones they are one piece."""
    values = 1.0 + spread * np.random.default_rng(0).standard_normal(120_000)
    values[::1000] = -1e300  # so that the first digits tell little of the others
    for threads in (1, 3):
        with threadpool_limits(threads):
            found, order = sorted_with_order(values)
        np.testing.assert_array_equal(order, np.argsort(values, kind="stable"))
        np.testing.assert_array_equal(found, np.sort(values))


@pytest.mark.few(20)
@pytest.mark.parametrize("route", [window_sums, window_sums_numpy])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "m"), SIZES[:3])
@pytest.mark.parametrize("h", [0.01, 0.4, 30.0])
def test_polynomials_over_a_window(instructions, route, n, m, h, weighted):
    x, w, y = line(n, m)
    w = w if weighted else None
    u = pairs(x, y, h)
    inside = (np.abs(u) <= 1.0) * (1.0 if w is None else w)
    for p, coefficients in BELL.items():
        value, mass = route(x, w, y, h, [(-1.0, 1.0, coefficients, True)])
        np.testing.assert_allclose(
            value, np.sum(inside * (1.0 - u * u) ** p, axis=1), atol=3e-13 * max(1.0, mass.max())
        )
        np.testing.assert_allclose(mass, inside.sum(axis=1), rtol=1e-13, atol=1e-13)
    value, _ = route(x, w, y, h, TENT)
    np.testing.assert_allclose(value, np.sum(inside * (1.0 - np.abs(u)), axis=1), atol=1e-13 * max(1.0, inside.sum()))
    odd = [0.2, -0.3, 0.4, 1.0, 0.0, -1.0, 0.5, 0.1]
    value, mass = route(x, w, y, h, [(-1.0, 1.0, odd, True)])
    slow = np.sum(inside * np.polynomial.polynomial.polyval(u, odd), axis=1)
    np.testing.assert_allclose(value, slow, atol=1e-12 * max(1.0, mass.max()))


def test_windows_with_an_offset_and_an_outlier(instructions):
    """One running sum over all points would lose ten digits here."""
    x, _, y = line(1000, 700, offset=1e6)
    x = np.sort(np.append(x, [-1e6, 0.0, 1e12]))
    for h in (0.003, 0.2):
        for p in (1, 3):
            value, _ = window_sums(x, None, y, h, [(-1.0, 1.0, BELL[p], True)])
            u = pairs(x, y, h)
            slow = np.sum((np.abs(u) <= 1.0) * (1.0 - u * u) ** p, axis=1)
            assert np.abs(value - slow).max() <= 1e-12 * slow.max()


@pytest.mark.parametrize("route", [window_sums, window_sums_numpy])
def test_points_exactly_at_the_ends_of_a_window(instructions, route):
    x = np.repeat(np.arange(10.0), 3)
    y = np.arange(-2.0, 12.0, 0.5)
    value, mass = route(x, None, y, 1.0, [(-1.0, 1.0, [1.0], True)])
    slow = np.sum(np.abs(pairs(x, y, 1.0)) <= 1.0, axis=1)
    np.testing.assert_array_equal(value, slow)
    np.testing.assert_array_equal(mass, slow)
    half, _ = route(x, None, y, 1.0, [(0.0, 1.0, [1.0], False)])
    u = pairs(x, y, 1.0)
    np.testing.assert_array_equal(half, np.sum((u >= 0.0) & (u < 1.0), axis=1))
    tenths = np.round(np.arange(60) * 0.1, 10)
    value, _ = route(tenths, None, tenths, 0.3, [(-1.0, 1.0, [1.0], True)])
    np.testing.assert_array_equal(value, np.sum(np.abs(pairs(tenths, tenths, 0.3)) <= 1.0, axis=1))


def test_a_dense_cluster_adds_nothing_to_the_empty_region_beside_it(instructions):
    x = np.concatenate([np.linspace(0.0, 0.01, 20_000), [1.2]])
    y = np.linspace(1.02, 1.25, 500)
    value, mass = window_sums(x, None, y, 1.0, [(-1.0, 1.0, BELL[1], True)])
    slow = (1.0 - (y - 1.2) ** 2).copy()
    np.testing.assert_array_equal(mass, np.ones(500))
    np.testing.assert_allclose(value, slow, rtol=1e-14)


@pytest.mark.parametrize("route", [wave_sums, wave_sums_numpy])
@pytest.mark.parametrize(("n", "m"), SIZES[:3])
def test_waves_over_a_window(instructions, route, n, m):
    x, w, y = line(n, m, 1)
    for h in (0.05, 2.0):
        u = pairs(x, y, h)
        inside = (np.abs(u) <= 1.0) * w
        found = route(x, w, y, h)
        for value, slow in zip(found, (np.cos(0.5 * np.pi * u), np.sin(0.5 * np.pi * u), 1.0), strict=True):
            np.testing.assert_allclose(value, np.sum(slow * inside, axis=1), atol=1e-13 * max(1.0, inside.sum()))


@pytest.mark.parametrize("route", [laplace_sums, laplace_sums_numpy])
@pytest.mark.parametrize(("n", "m"), SIZES[:3])
def test_laplace_by_two_sweeps(instructions, route, n, m):
    x, w, y = line(n, m, 2)
    y = np.sort(np.append(y, [-1e5, 1e5, x[0]]))
    for h in (1e-3, 0.5):
        before, gap, behind, other = route(x, w, y, h)
        left = x[None, :] <= y[:, None]
        terms = w * np.exp(-np.abs(pairs(x, y, h)))
        np.testing.assert_allclose(before * np.exp(-gap), np.sum(terms * left, axis=1), rtol=1e-11, atol=1e-300)
        np.testing.assert_allclose(behind * np.exp(-other), np.sum(terms * ~left, axis=1), rtol=1e-11, atol=1e-300)
        assert before[0] == 0.0
        assert gap[0] == np.inf
        assert gap[-1] == pytest.approx((1e5 - x[-1]) / h)


@pytest.mark.parametrize("route", [gaussian_sums, gaussian_sums_numpy])
@pytest.mark.parametrize("tol", [1e-8, 1e-13])
@pytest.mark.parametrize(("n", "m"), SIZES[:3])
def test_gaussian_sums(instructions, route, n, m, tol):
    x, w, y = line(n, m, 3)
    for h in (0.01, 0.3, 40.0):
        level, value, slope = route(x, w, y, h, tol)
        u = pairs(x, y, h)
        power = -0.5 * u * u
        most = power.max(axis=1, keepdims=True)
        terms = w * np.exp(power - most)
        scale = np.exp(level - most[:, 0])
        np.testing.assert_allclose(scale * value, terms.sum(axis=1), rtol=max(tol, 3e-14))
        slack = 1e-12 + 10.0 * tol
        error = np.abs(scale * slope * h + np.sum(u * terms, axis=1))
        assert np.all(error <= slack * np.sum((1.0 + np.abs(u)) * terms, axis=1))


def test_many_queries_share_one_expansion(instructions):
    """Enough queries within h/2 of each other that none goes alone; n large enough that rounding would show."""
    x, _, y = line(*SIZES[3], 4)
    level, value, _ = gaussian_sums(x, None, y, 0.2, 1e-13)
    some = slice(0, None, 23)
    slow = np.exp(-0.5 * pairs(x, y[some], 0.2) ** 2).sum(axis=1)
    np.testing.assert_allclose(np.exp(level[some]) * value[some], slow, rtol=2e-13)


@pytest.mark.parametrize("crowd", [1, 50])
def test_gaussian_tails(instructions, crowd):
    """Tens, thousands and millions of bandwidths from the nearest point, alone and in crowds."""
    x = np.array([0.0, 0.1, 0.5, 3.0])
    far = np.array([-1e6, -1000.0, -40.0, -12.0, 12.0, 43.0, 1000.0, 1e6])
    y = np.sort((far[:, None] + np.linspace(0.0, 0.4, crowd)).ravel())
    level, value, slope = gaussian_sums(x, None, y, 1.0, 1e-12)
    for place, found, steep in zip(y, level + np.log(value), slope / value, strict=True):
        nearest = min(x, key=lambda v: abs(place - v))
        rest = [-(nearest - v) * (place - nearest) - 0.5 * (nearest - v) ** 2 for v in x]  # ½d₀² − ½d², exactly
        terms = [math.exp(r) for r in rest]
        expected = -0.5 * (place - nearest) ** 2 + math.log(math.fsum(terms))
        assert found == pytest.approx(expected, rel=1e-15, abs=1e-10)
        mean = sum(t * (v - place) for t, v in zip(terms, x, strict=True)) / sum(terms)
        assert steep == pytest.approx(mean, rel=1e-9)


def test_a_feather_beside_a_mountain(instructions):
    """A point of tiny weight is nearest; the heavy ones behind it decide."""
    x, w = np.array([0.0, 2.0]), np.array([1e-100, 1.0])
    y = np.linspace(-9.0, -8.5, 20)
    level, value, _ = gaussian_sums(x, w, y, 1.0, 1e-12)
    slow = np.logaddexp(np.log(1e-100) - 0.5 * y**2, -0.5 * (y - 2.0) ** 2)
    np.testing.assert_allclose(level + np.log(value), slow, rtol=1e-13)


@pytest.mark.parametrize("route", [gaussian_integrals, gaussian_integrals_numpy])
@pytest.mark.parametrize(("n", "m"), SIZES[:3])
def test_gaussian_integrals(instructions, route, n, m):
    from scipy.special import ndtr

    x, w, y = line(n, m, 5)
    y = np.sort(np.append(y, [-200.0, -20.0, 20.0, 200.0]))
    for h in (0.01, 0.3, 40.0):
        slow = np.sum(w * ndtr(pairs(x, y, h)), axis=1)
        found = route(x, w, y, h, 1e-15)
        np.testing.assert_allclose(found, slow, rtol=1e-11, atol=1e-300)


def test_threads_change_nothing():
    x, w, y = line(*SIZES[3], 6)
    cloud = Cloud(np.random.default_rng(0).standard_normal((500, 3)), np.ones(500), None, "gaussian")
    Y = np.random.default_rng(1).standard_normal((700, 3))
    found = []
    for limit in (1, 2, 3):
        with threadpool_limits(limit):
            sums = gaussian_sums(x, w, y, 0.2, 1e-12), window_sums(x, w, y, 0.2, [(-1.0, 1.0, BELL[1], True)])
            found.append([*sums[0], *sums[1], *cloud_sums(cloud, Y, 1e-12)])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_blocks_of_pairs_are_bounded(monkeypatch):
    """The twins never hold more pairs than they may, and see every pair within reach once."""
    monkeypatch.setattr(density, "PAIRS", 500)
    x, _, y = line(300, 400, 7)
    seen = np.zeros((400, 300), dtype=int)
    for queries, points in density.window_blocks(x, y, 0.5):
        block = seen[queries, points]
        assert block.size <= max(4 * 500, 300)
        block += 1
    assert seen.max() == 1
    assert np.all(seen[np.abs(pairs(x, y, 1.0)) <= 0.5] == 1)


# ---- in space -------------------------------------------------------------------------------------------------


def cloud_of(form, n, d, own, seed=0):
    rng = np.random.default_rng(seed)
    inverse = 1.0 / rng.uniform(0.4, 2.0, n) if own else None
    return Cloud(rng.standard_normal((n, d)) * 1.5, rng.uniform(0.1, 2.0, n), inverse, form)


def slow_sums(cloud, Y):
    """The double loop."""
    out = []
    for y in Y:
        total = 0.0
        for i, x in enumerate(cloud.points):
            u = (y - x) * (1.0 if cloud.inverse is None else cloud.inverse[i])
            power, factor = FORMS[cloud.form](u)
            total += cloud.weights[i] * float(np.exp(power) * factor)
        out.append(total)
    return np.array(out)


@pytest.mark.few(12)
@pytest.mark.parametrize("route", [cloud_sums, cloud_sums_numpy])
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_sums_over_a_cloud(instructions, route, form, own):
    for n, m, d in [(1, 1, 1), (9, 5, 2), (130, 35, 3), (70, 40, 6)]:
        cloud = cloud_of(form, n, d, own)
        Y = np.random.default_rng(8).standard_normal((m, d))
        level, value = route(cloud, Y, 1e-14)
        slow = slow_sums(cloud, Y)
        np.testing.assert_allclose(np.exp(level) * value, slow, rtol=2e-12, atol=1e-15 * slow.max())


def test_the_forms_are_the_kernels():
    """The dictionary of forms, which the tests above trust, by its formulas."""
    u = np.array([[0.3, -0.8], [0.0, 0.0], [1.2, 0.1]])
    a, b = np.abs(u).T
    inside = (a <= 1.0) & (b <= 1.0)
    expected = {
        "gaussian": np.exp(-0.5 * (a**2 + b**2)),
        "laplace": np.exp(-a - b),
        "box": 1.0 * inside,
        "epanechnikov": (1 - a**2) * (1 - b**2) * inside,
        "triangular": (1 - a) * (1 - b) * inside,
        "biweight": ((1 - a**2) * (1 - b**2)) ** 2 * inside,
        "triweight": ((1 - a**2) * (1 - b**2)) ** 3 * inside,
        "cosine": np.cos(0.5 * np.pi * a) * np.cos(0.5 * np.pi * b) * inside,
    }
    assert set(expected) == set(FORMS)
    for name, values in expected.items():
        power, factor = FORMS[name](u)
        np.testing.assert_allclose(np.exp(power) * factor, values, atol=1e-15)


@pytest.mark.parametrize("tol", [1e-4, 1e-8, 1e-14])
def test_boxes_left_out_stay_below_the_tolerance(instructions, tol):
    """Clusters far apart: most tiles are skipped for most queries, also for those between clusters."""
    rng = np.random.default_rng(9)
    centres = rng.uniform(-60.0, 60.0, (12, 2))
    X = (centres[:, None, :] + rng.standard_normal((12, 100, 2))).reshape(-1, 2)
    Y = np.concatenate([X[::7] + 0.1, rng.uniform(-80.0, 80.0, (200, 2))])
    cloud = Cloud(X, np.ones(len(X)), None, "gaussian")
    level, value = cloud_sums(cloud, Y, tol)
    slow, factor = cloud_sums_numpy(cloud, Y, tol)
    np.testing.assert_allclose(level + np.log(value), slow + np.log(factor), rtol=1e-12, atol=tol + 1e-12)


@pytest.mark.parametrize("form", ["gaussian", "laplace"])
def test_tails_in_space_have_their_logarithm(instructions, form):
    cloud = cloud_of(form, 200, 2, own=False)
    Y = np.array([[40.0, -40.0], [1e4, 0.0], [-1e6, 1e6], [0.1, 0.1]])
    level, value = cloud_sums(cloud, Y, 1e-10)
    powers = np.array([[float(FORMS[form](y - x)[0]) for x in cloud.points] for y in Y])
    most = powers.max(axis=1)
    slow = most + np.log(np.exp(powers - most[:, None]) @ cloud.weights)
    np.testing.assert_allclose(level + np.log(value), slow, rtol=1e-12)
    assert np.all(np.isfinite(level + np.log(value)))


def test_clouds_with_equal_points_and_one_query(instructions):
    cloud = Cloud(np.zeros((300, 2)), np.ones(300), None, "gaussian")
    level, value = cloud_sums(cloud, np.array([[1.0, 0.0]]), 1e-12)
    assert np.exp(level[0]) * value[0] == pytest.approx(300.0 * np.exp(-0.5), rel=1e-13)

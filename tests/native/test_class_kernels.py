"""Sums and log densities of classes: kernels and NumPy twins against loops that fit on the screen."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from eigenlens.native import class_sums as naive
from eigenlens.native.class_sums import (
    Lines,
    add_gathered,
    add_gathered_numpy,
    add_normal,
    add_normal_numpy,
    class_counts,
    class_counts_numpy,
    class_sums,
    class_sums_numpy,
    code_ranges,
    code_ranges_numpy,
    decide,
    decide_numpy,
    label_counts,
    label_counts_numpy,
    padded,
    winners,
    winners_numpy,
)

LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: np.ascontiguousarray(X[::-1])[::-1],
}


def incomplete_rows(n, d, rng, dtype=np.float64):
    X = rng.standard_normal((n, d)).astype(dtype)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def slow_sums(X, y, w, centre):
    sums = np.zeros((3, *centre.shape))
    for i, c in enumerate(y):
        for j, x in enumerate(X[i].astype(np.float64)):
            if not np.isnan(x) and w[i] > 0.0:
                delta = x - centre[c, j]
                sums[:, c, j] += w[i] * np.array([1.0, delta, delta * delta])
    return sums


@pytest.mark.few(8)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("d", [1, 7, 70])
def test_class_sums(instructions, layout, dtype, d):
    rng = np.random.default_rng(d)
    X = LAYOUTS[layout](incomplete_rows(150, d, rng, dtype))
    y, w, centre = rng.integers(0, 3, 150).astype(np.int32), rng.integers(0, 3, 150).astype(float), rng.random((4, d))
    X[w == 0.0] = np.inf  # what such a row holds does not matter
    expected = slow_sums(X, y, w, centre)
    for way in (class_sums, class_sums_numpy):
        np.testing.assert_allclose(way(X, y, w, centre), expected, rtol=1e-12, atol=1e-12)
    X[w == 0.0] = 0.0
    once = slow_sums(X, y, np.ones(150), centre)
    np.testing.assert_allclose(class_sums(X, y, None, centre), once, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("d", "incomplete"), [(1, True), (70, True), (130, False)])
def test_normal_densities(instructions, layout, d, incomplete):
    rng = np.random.default_rng(d)
    X = incomplete_rows(130, d, rng) if incomplete else rng.standard_normal((130, d))
    X = LAYOUTS[layout](X)
    means, scales, levels = rng.standard_normal((3, 5, d))
    seen = ~np.isnan(X)[:, None, :]
    terms = np.where(seen, levels - ((np.nan_to_num(X)[:, None, :] - means) * scales) ** 2, 0.0)
    for way in (add_normal, add_normal_numpy):
        joint = np.full((130, 5), 2.0)
        way(X, means, scales, levels, joint)
        np.testing.assert_allclose(joint, 2.0 + terms.sum(axis=2), rtol=1e-12, atol=1e-11)


@pytest.mark.few(20)
@pytest.mark.parametrize("dtype", naive.CODES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_codes(instructions, layout, dtype):
    rng = np.random.default_rng(3)
    codes = LAYOUTS[layout](rng.integers(0, 2 if dtype.kind == "b" else 40, (200, 6)).astype(dtype))
    y, w = rng.integers(0, 3, 200).astype(np.int32), rng.random(200)
    for way in (code_ranges, code_ranges_numpy):
        low, high = way(codes)
        assert low.tolist() == codes.min(axis=0).astype(int).tolist()
        assert high.tolist() == codes.max(axis=0).astype(int).tolist()
    lines = Lines.of(np.arange(6), np.full(6, 20))
    expected = np.zeros((lines.total, 3))
    for i in range(200):
        for j in range(6):
            place = int(codes[i, j]) - j
            expected[21 * j + (place if 0 <= place < 20 else 20), y[i]] += w[i]
    for way in (class_counts, class_counts_numpy):
        np.testing.assert_allclose(way(codes, lines, y, w, 3), expected, rtol=1e-12)
        np.testing.assert_allclose(way(codes, lines, y, None, 3).sum(), 1200)


@pytest.mark.parametrize("C", [1, 2, 5, 8, 9, 20])
def test_gathering(instructions, C):
    rng = np.random.default_rng(C)
    codes, lines = rng.integers(-5, 30, (90, 4)), Lines.of(np.zeros(4), np.full(4, 20))
    table = rng.standard_normal((lines.total, C))
    table[3] = -np.inf
    expected = np.array(
        [sum(table[21 * j + (k if 0 <= k < 20 else 20)] for j, k in enumerate(row)) for row in codes.tolist()]
    )
    for way in (add_gathered, add_gathered_numpy):
        joint = np.zeros((90, C))
        way(codes, lines, padded(table), joint)
        np.testing.assert_allclose(joint, expected, rtol=1e-12)


def test_negative_codes_beyond_their_type_stay_outside():
    codes = np.array([[-128], [127]], dtype=np.int8)
    counts = class_counts(codes, Lines.of(np.array([0]), np.array([300])), np.zeros(2, dtype=np.int32), None, 1)
    assert counts[-1, 0] == 1.0
    assert counts[127, 0] == 1.0


def test_winners_are_the_first_of_equals():
    joint = np.array([[0.0, 1.0, 1.0], [-np.inf, -np.inf, -2.0], [5.0, 5.0, 5.0]])
    assert winners(joint).tolist() == winners_numpy(joint).tolist() == [1, 2, 0]
    rng = np.random.default_rng(0)
    values = rng.standard_normal((1000, 7))
    assert np.array_equal(winners(values), values.argmax(axis=1))


@pytest.mark.parametrize("way", [decide, decide_numpy])
def test_decisions(way):
    rng = np.random.default_rng(1)
    given, levels = rng.standard_normal((70_000, 4)), np.array([0.0, -1.0, 2.0, -np.inf])
    joint = given.copy()
    best, largest, smallest = way(joint, levels)
    expected = given + levels
    np.testing.assert_array_equal(joint, expected)
    np.testing.assert_array_equal(best, expected.argmax(axis=1))
    assert (largest, smallest) == (expected.max(), expected.max(axis=1).min())


@pytest.mark.parametrize("way", [decide, decide_numpy])
def test_decisions_report_rows_without_a_class_and_overflow(way):
    assert way(np.array([[0.0, 1.0], [-np.inf, -np.inf]]), np.zeros(2))[1:] == (1.0, -np.inf)
    assert way(np.array([[0.0, 1.0], [3.0, np.inf]]), np.zeros(2)).largest == np.inf
    for place in (0, 1):
        joint = np.zeros((3, 2))
        joint[1, place] = np.nan
        assert np.isnan(way(joint, np.zeros(2)).largest)
    assert way(np.zeros((0, 2)), np.zeros(2))[1:] == (-np.inf, np.inf)


@pytest.mark.parametrize("n", [0, 3, 400_000])
def test_counts_of_labels(n):
    rng = np.random.default_rng(n)
    y, w = rng.integers(0, 7, n).astype(np.int32), rng.random(n)
    for weight, each in ((None, np.ones(n)), (w, w)):
        expected = [each[y == c].sum() for c in range(8)]
        for way in (label_counts, label_counts_numpy):
            np.testing.assert_allclose(way(y, weight, 8), expected, rtol=1e-12)


def test_sums_do_not_depend_on_threads(instructions):
    rng = np.random.default_rng(0)
    X, y, w = rng.standard_normal((40_000, 9)), rng.integers(0, 4, 40_000).astype(np.int32), rng.random(40_000)
    codes = rng.integers(0, 9, (40_000, 9))
    lines = Lines.of(np.zeros(9), np.full(9, 9))
    both = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            both.append((class_sums(X, y, w, np.zeros((4, 9))), class_counts(codes, lines, y, w, 4)))
    assert np.array_equal(both[0][0], both[1][0])
    assert np.array_equal(both[0][1], both[1][1])

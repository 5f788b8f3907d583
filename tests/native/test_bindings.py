"""What Python may pass to the compiled kernels: anything else is an exception, and nothing is held when a call ends."""

from __future__ import annotations

import sys
from array import array

import numpy as np
import pytest
from scipy import sparse

from eigenlens.native.class_sums import Lines, class_counts, class_sums
from eigenlens.native.kernel_sums import Cloud, cloud_sums, gaussian_sums, laplace_sums, wave_sums, window_sums
from eigenlens.native.moments import moments_about
from eigenlens.native.runtime import kernels
from eigenlens.native.sparse import normal_product

needs_kernels = pytest.mark.skipif(kernels is None, reason="the kernels were not built here")


def moments(place: int | None = None, value: object = None) -> list[object]:
    """Arguments of `moments_float64`, one of them another."""
    given = [np.ones((5, 2)), None, np.zeros(2), None, False, np.empty(2), np.empty((2, 2)), 1]
    return given if place is None else [*given[:place], value, *given[place + 1 :]]


def read_only(shape: tuple[int, ...]) -> np.ndarray:
    found = np.zeros(shape)
    found.flags.writeable = False
    return found


@needs_kernels
@pytest.mark.parametrize(
    ("given", "error"),
    [
        ([], TypeError),
        (moments()[:-1], TypeError),
        ([*moments(), 1], TypeError),
        (moments(0, [[1.0, 2.0]]), TypeError),
        (moments(0, None), TypeError),
        (moments(0, np.ones(5)), ValueError),
        (moments(0, np.ones((5, 2), dtype=np.float32)), TypeError),
        (moments(0, np.ones((5, 2), dtype=np.int64)), TypeError),
        (moments(0, np.ones((5, 2), dtype=complex)), TypeError),
        (moments(0, np.ones((5, 2)).astype(">f8")), TypeError),
        (moments(1, np.ones(5, dtype=np.float32)), TypeError),
        (moments(1, np.ones(10)[::2]), ValueError),
        (moments(2, None), TypeError),
        (moments(5, read_only((2,))), ValueError),
        (moments(6, np.empty((4, 2))[::2]), ValueError),
        (moments(6, np.asfortranarray(np.empty((2, 2)))), ValueError),
        (moments(7, -1), ValueError),
        (moments(7, 1.0), TypeError),
        (moments(7, 1 << 70), OverflowError),
    ],
)
def test_arguments_that_a_kernel_cannot_take(given, error):
    with pytest.raises(error):
        kernels.moments_float64(*given)
    kernels.moments_float64(*moments())


@needs_kernels
def test_objects_of_one_function_are_not_those_of_another():
    narrow, wide = (
        getattr(kernels, f"points_{dtype}")(np.ones((3, 2), dtype=dtype), 1.0, np.zeros(2), 1)
        for dtype in ("float32", "float64")
    )
    kernels.gaussian(wide, wide, np.empty((3, 3)), 1)
    kernels.gaussian_wide(narrow, narrow, np.empty((3, 3)), 1)
    for x, y in ((narrow, wide), (wide, narrow), (wide, None), (np.ones((3, 2)), wide)):
        with pytest.raises(TypeError):
            kernels.gaussian(x, y, np.empty((3, 3)), 1)
    with pytest.raises(ValueError, match="contiguous"):
        kernels.gaussian(wide, wide, np.asfortranarray(np.empty((3, 3))), 1)
    with pytest.raises(TypeError):
        kernels.gaussian_gram_float64(wide, (np.empty((3, 3)),), 64, 1)
    with pytest.raises(TypeError):
        kernels.tile_sums(wide, np.ones((3, 2)), "gaussian", 1e-8, np.empty((2, 3)), 1)


@needs_kernels
def test_names_that_are_not_known():
    tiles = kernels.tiles(np.ones((3, 2)), np.ones(3), None, 1)
    with pytest.raises(ValueError, match="unknown: square"):
        kernels.tile_sums(tiles, np.ones((3, 2)), "square", 1e-8, np.empty((2, 3)), 1)
    with pytest.raises(TypeError):
        kernels.tile_sums(tiles, np.ones((3, 2)), 3, 1e-8, np.empty((2, 3)), 1)
    with pytest.raises(ValueError, match="unknown: mmx"):
        kernels.set_isa("mmx")


@needs_kernels
def test_arrays_are_given_back():
    """Arrays of the standard library do not grow as long as someone reads their memory."""
    values, found, order = array("d", [3.0, 1.0]), array("d", [0.0, 0.0]), array("q", [0, 0])
    kernels.sort_order(values, found, order, 1)
    assert (found.tolist(), order.tolist()) == ([1.0, 3.0], [1, 0])
    with pytest.raises(TypeError):
        kernels.sort_order(values, found, found, 1)
    with pytest.raises(TypeError):
        kernels.sort_order(values, found, order, 1, 1)
    for each in (values, found, order):
        each.append(0)


@needs_kernels
def test_no_reference_is_kept():
    given = moments(1, np.ones(5))
    X = given[0]
    points = kernels.points_float64(X, 1.0, np.zeros(2), 1)
    panels = [np.zeros((5, 5))]
    counted = [*given, points, panels, panels[0], None]
    before = [sys.getrefcount(each) for each in counted]
    for _ in range(100):
        kernels.moments_float64(*given)
        kernels.gaussian_gram_float64(points, panels, 64, 1)
        kernels.points_float64(X, 1.0, given[2], 1)
        with pytest.raises(TypeError):
            kernels.moments_float64(*given, 1)
    after = [sys.getrefcount(each) for each in counted]
    assert np.abs(np.subtract(before, after)).max() < 50


def test_vectors_of_any_layout_and_dtype():
    """Weights, labels and points that lie apart or are float32: as if they were copied first."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), rng.integers(0, 2, 60)
    w = rng.uniform(0.5, 2.0, 60).astype(np.float32)
    codes, lines = rng.integers(0, 4, (60, 3)), Lines.of(np.zeros(3), np.full(3, 4))
    line, queries = np.sort(X[:, 0]), np.sort(X[:, 1])
    S = sparse.random(60, 9, density=0.3, format="csr", rng=rng)
    mixed = S.copy()
    mixed.indptr = mixed.indptr.astype(np.int64)
    V, R = rng.standard_normal((9, 2)), np.triu(rng.standard_normal((3, 3))) + 4.0 * np.eye(3)

    def apart(values: np.ndarray) -> np.ndarray:
        return np.repeat(values, 2)[::2]

    def unaligned(values: np.ndarray) -> np.ndarray:
        return np.frombuffer(b"." + values.tobytes(), values.dtype, offset=1)

    def results(w, y, line, queries, R, S):
        yield from moments_about(X, w, X[0], R)
        yield from class_sums(X, y, w, np.zeros((2, 3)))
        yield class_counts(codes, lines, y, w, 2)
        yield from normal_product(S, w, V, np.zeros(2))
        yield from window_sums(line, w, queries, 0.5, [(-1.0, 1.0, [1.0, 0.0, -1.0], True)])
        yield from wave_sums(line, w, queries, 0.5)
        yield from laplace_sums(line, w, queries, 0.5)
        yield from gaussian_sums(line, w, queries, 0.5, 1e-10)
        yield from cloud_sums(Cloud(X, w, w, "gaussian"), X[::-1], 1e-10)

    expected = [*results(w.astype(np.float64), y.astype(np.int32), line, queries, R, S)]
    for other in (apart, unaligned):
        found = results(*map(other, (w, y, line, queries)), np.asfortranarray(R), mixed)
        for one, same in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", ">f4"])
def test_rows_of_any_byte_order(dtype):
    X, y = np.arange(12.0).reshape(6, 2), np.zeros(6, dtype=np.int32)
    assert class_sums(X.astype(dtype), y, None, np.zeros((1, 2)))[1].tolist() == [[30.0, 36.0]]

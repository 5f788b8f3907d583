"""Calls of the compiled kernels as the package makes them, with what their NumPy twins find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from eigenlens.native import class_sums, gram, incomplete_rows, kernel_sums, mixture, mixture_incomplete, moments
from eigenlens.native.runtime import aligned, kernels
from eigenlens.native.span import remove_span_numpy
from eigenlens.native.sparse import normal_product_numpy

Rng = np.random.Generator
Array = np.ndarray[Any, Any]

FLOAT32_TOL = 1e-4
"""How far sums of float32 in another order may differ, relative to the largest."""

ROWS = (0, 1, 2, 3, 7, 16, 65, 130, 300)
COLUMNS = (1, 1, 2, 3, 5, 8, 9, 17, 33)


class KernelCall(NamedTuple):
    """A call of one compiled function.

    Attributes:
        name: of the function. arguments: what it is called with. outputs: the places of arrays that it writes.
        expected: what these hold afterwards, by NumPy.
        tol: how far both may differ, relative to the largest entry.
    """

    name: str
    arguments: list[Any]
    outputs: tuple[int, ...]
    expected: Callable[[], Sequence[Any]]
    tol: float = 1e-9


def _sizes(rng: Rng) -> tuple[int, int]:
    return int(rng.choice(ROWS)), int(rng.choice(COLUMNS))


def _rows(rng: Rng, n: int, d: int, dtype: Any = np.float64) -> Array:
    return rng.standard_normal((n, d)).astype(dtype)


def _weight(rng: Rng, n: int) -> Array | None:
    return None if rng.random() < 0.5 else rng.integers(0, 4, n).astype(float)


def _dtype(rng: Rng) -> Any:
    return np.dtype(rng.choice(["float32", "float64"]))


def _moments(rng: Rng) -> KernelCall:
    (n, d), dtype = _sizes(rng), _dtype(rng)
    X, w, shift = _rows(rng, n, d, dtype), _weight(rng, n), rng.standard_normal(d)
    wide = bool(rng.random() < 0.3)
    R = None if wide or rng.random() < 0.5 else np.triu(_rows(rng, d, d)) + 4.0 * np.eye(d)
    given = [X, w, shift, R, wide, np.zeros(d), np.zeros((d, d)), 2]
    tol = FLOAT32_TOL if wide and dtype == np.float32 else 1e-9
    return KernelCall(
        f"moments_{dtype}", given, (5, 6), lambda: moments.moments_about_numpy(X.astype(float), w, shift, R), tol
    )


def _normal_product(rng: Rng) -> KernelCall:
    (n, d), dtype, index = _sizes(rng), _dtype(rng), rng.choice(["int32", "int64"])
    X = sparse.random(n, d, 0.3, "csr", dtype, rng=rng)
    w, V, offset = _weight(rng, n), aligned(d, 8), rng.standard_normal(8)
    V[:] = _rows(rng, d, 8)
    Z = aligned(d, 8)
    Z[:] = 0.0
    given = [X.data, X.indices.astype(index), X.indptr.astype(index), w, V, offset, Z, np.zeros(8), 2]
    return KernelCall("normal_product", given, (6, 7), lambda: normal_product_numpy(X.astype(float), w, V, offset))


# ---- kernel matrices ------------------------------------------------------------------------------------------


def _points(rng: Rng, n: int, d: int) -> tuple[gram.Points, Any]:
    dtype = _dtype(rng)
    points = gram.Points(_rows(rng, n, d, dtype), 0.3, np.zeros(d), bool(dtype == np.float32 and rng.random() < 0.5))
    return points, points.packed


def _pack_points(rng: Rng) -> KernelCall:
    (n, d), dtype = _sizes(rng), _dtype(rng)
    given = [_rows(rng, n, d, dtype), 0.3, rng.standard_normal(d), 2]
    return KernelCall(f"points_{dtype}{'_by_float64' * int(dtype == np.float32)}", given, (), tuple)


def _gaussian(rng: Rng) -> KernelCall:
    (n, d), m = _sizes(rng), int(rng.choice(ROWS))
    x, packed = _points(rng, n, d)
    y = x.beside(_rows(rng, m, d, x.rows.dtype))
    single = x.rows.dtype == np.float32 and not x.double
    wide = single and rng.random() < 0.5
    K = np.zeros((n, m), dtype=np.float32 if single and not wide else np.float64)
    given = [packed, y.packed, K, 2]
    found = lambda: [gram.gaussian_values_numpy(x, y, np.zeros((n, m)))] if m else [K]  # noqa: E731
    return KernelCall("gaussian_wide" if wide else "gaussian", given, (2,), found, 1e-4)


def _gaussian_gram(rng: Rng) -> KernelCall:
    n, d = _sizes(rng)
    n += 1
    x, packed = _points(rng, n, d)
    K = gram.Upper.empty(n, 64, x.rows.dtype)
    given = [packed, list(K.panels), K.step, 2]
    return KernelCall(f"gaussian_gram_{K.dtype}", given, (), tuple)


def _symmetric(rng: Rng) -> KernelCall:
    n, width, dtype = int(rng.choice(ROWS)) + 1, int(rng.choice([8, 16, 24])), _dtype(rng)
    K, V, Z = gram.Upper.of(_rows(rng, n, n, dtype), 64), aligned(n, width), aligned(n, width)
    V[:], Z[:] = _rows(rng, n, width), 0.0
    given = [list(K.panels), K.step, V, Z, 2]
    return KernelCall(f"symmetric_{dtype}", given, (3,), lambda: [gram.symmetric_product_numpy(K, V)])


def _remove_span(rng: Rng) -> KernelCall:
    n, j, width = int(rng.choice(ROWS)) + 1, int(rng.choice(COLUMNS)), int(rng.choice([8, 16, 24]))
    V, W, H = np.asfortranarray(_rows(rng, n, j)), aligned(n, width), aligned(j, width)
    W[:], H[:] = _rows(rng, n, width), 0.0
    before = W.copy()
    return KernelCall("remove_span", [V.T, W, H, 2], (1, 2), lambda: list(remove_span_numpy(V, before)))


# ---- classes --------------------------------------------------------------------------------------------------


def _class_moments(rng: Rng) -> KernelCall:
    (n, d), C, dtype = _sizes(rng), int(rng.integers(1, 12)), _dtype(rng)
    X, y, w = _rows(rng, n, d, dtype), rng.integers(0, C, n).astype(np.int32), _weight(rng, n)
    X[rng.random(X.shape) < 0.1] = np.nan
    centre = _rows(rng, C, d)
    given = [X, y, w, centre, np.zeros((C, 3, d)), 2]
    found = lambda: [np.stack(class_sums.class_sums_numpy(X, y, w, centre), axis=1)]  # noqa: E731
    return KernelCall(f"class_moments_{dtype}", given, (4,), found)


def _class_joint(rng: Rng) -> KernelCall:
    (n, d), C, dtype = _sizes(rng), int(rng.integers(1, 12)), _dtype(rng)
    X, means, scales, levels = _rows(rng, n, d, dtype), _rows(rng, C, d), _rows(rng, C, d), _rows(rng, C, d)
    given = [X, levels.sum(axis=1), means, scales, levels, np.zeros((n, C)), 2]

    def found() -> list[Array]:
        joint = np.zeros((n, C))
        class_sums.add_normal_numpy(X, means, scales, levels, joint)
        return [joint]

    return KernelCall(f"class_joint_{dtype}", given, (5,), found)


def _codes(rng: Rng, least: int = 0) -> tuple[Array, class_sums.Lines]:
    n, d = _sizes(rng)
    codes = rng.integers(0, 6, (max(n, least), d)).astype(rng.choice(["int8", "uint8", "int16", "int32", "int64"]))
    return codes, class_sums.Lines.of(rng.integers(0, 3, d), rng.integers(1, 5, d))


def _code_ranges(rng: Rng) -> KernelCall:
    codes, _ = _codes(rng, 1)
    given = [codes, np.zeros((2, codes.shape[1]), dtype=np.int64), 2]
    return KernelCall(f"code_ranges_{codes.dtype}", given, (1,), lambda: [class_sums.code_ranges_numpy(codes)])


def _class_counts(rng: Rng) -> KernelCall:
    (codes, lines), C = _codes(rng), int(rng.integers(1, 12))
    y, w = rng.integers(0, C, len(codes)).astype(np.int32), _weight(rng, len(codes))
    given = [codes, np.stack(lines), y, w, np.zeros((lines.total, C)), 2]
    found = lambda: [class_sums.class_counts_numpy(codes, lines, y, w, C)]  # noqa: E731
    return KernelCall(f"class_counts_{codes.dtype}", given, (4,), found)


def _class_gather(rng: Rng) -> KernelCall:
    (codes, lines), C = _codes(rng), int(rng.integers(1, 20))
    table = class_sums.padded(_rows(rng, lines.total, C))
    given = [codes, np.stack(lines), table, np.zeros((len(codes), C)), 2]

    def found() -> list[Array]:
        joint = np.zeros((len(codes), C))
        class_sums.add_gathered_numpy(codes, lines, table, joint)
        return [joint]

    return KernelCall(f"class_gather_{codes.dtype}", given, (3,), found)


def _class_winners(rng: Rng) -> KernelCall:
    joint = _rows(rng, *_sizes(rng))
    given = [joint, np.zeros(len(joint), dtype=np.int64), 2]
    return KernelCall("class_winners", given, (1,), lambda: [joint.argmax(axis=1)])


def _class_decisions(rng: Rng) -> KernelCall:
    n, C = int(rng.choice(ROWS)) + 1, int(rng.integers(1, 12))
    joint, levels = _rows(rng, n, C), rng.standard_normal(C)
    before = joint.copy()

    def found() -> list[Array]:
        added = before.copy()
        winners, *ends = class_sums.decide_numpy(added, levels)
        return [added, winners, np.array(ends)]

    given = [levels, joint, np.zeros(n, dtype=np.int64), np.zeros(2), 2]
    return KernelCall("class_decisions", given, (1, 2, 3), found)


def _label_counts(rng: Rng) -> KernelCall:
    n, C = int(rng.choice(ROWS)), int(rng.integers(1, 12))
    y, w = rng.integers(0, C, n).astype(np.int32), _weight(rng, n)
    return KernelCall("label_counts", [y, w, np.zeros(C), 2], (2,), lambda: [class_sums.label_counts_numpy(y, w, C)])


# ---- sums of kernels ------------------------------------------------------------------------------------------


def _line(rng: Rng) -> tuple[Array, Array | None, Array]:
    n, m = int(rng.choice(ROWS)) + 1, int(rng.choice(ROWS))
    w = None if rng.random() < 0.5 else rng.random(n) + 0.1
    return np.sort(rng.standard_normal(n)), w, np.sort(2.0 * rng.standard_normal(m))


def _sort_order(rng: Rng) -> KernelCall:
    x = rng.integers(-9, 9, int(rng.choice(ROWS))) * rng.choice([1.0, 1e300, 0.1])
    given = [x, np.zeros(x.size), np.zeros(x.size, dtype=np.int64), 2]
    return KernelCall("sort_order", given, (1, 2), lambda: [np.sort(x), np.argsort(x, kind="stable")])


def _window_powers(rng: Rng) -> KernelCall:
    (x, w, y), c = _line(rng), rng.standard_normal(int(rng.integers(1, 9))).tolist()
    given = [x, w, y, 0.7, -1.0, 1.0, True, kernel_sums._addition(c), np.zeros((2, y.size)), 2]
    found = lambda: [np.stack(kernel_sums.window_sums_numpy(x, w, y, 0.7, [(-1.0, 1.0, c, True)]))]  # noqa: E731
    return KernelCall("window_powers", given, (8,), found)


def _window_waves(rng: Rng) -> KernelCall:
    x, w, y = _line(rng)
    given = [x, w, y, 0.7, np.zeros((3, y.size)), 2]
    return KernelCall("window_waves", given, (4,), lambda: [np.stack(kernel_sums.wave_sums_numpy(x, w, y, 0.7))])


def _laplace(rng: Rng) -> KernelCall:
    x, w, y = _line(rng)
    given = [x, w, y, 0.7, np.zeros((4, y.size)), 2]
    return KernelCall("laplace", given, (4,), lambda: [np.stack(kernel_sums.laplace_sums_numpy(x, w, y, 0.7))])


def _gaussian_line(rng: Rng) -> KernelCall:
    x, w, y = _line(rng)
    integral = bool(rng.random() < 0.5)
    below, plan = kernel_sums._below(x, w), kernel_sums._plan(x, w, 1e-14)
    out = np.zeros(y.size) if integral else np.zeros((3, y.size))
    given = [x, w, below, y, 0.7, *plan, integral, out, 2]
    find = kernel_sums.gaussian_integrals_numpy
    return KernelCall("gaussian_line", given, (9,), lambda: [find(x, w, y, 0.7, 1e-14)] if integral else [])


def _tiles(rng: Rng) -> KernelCall:
    n, d = int(rng.choice(ROWS)) + 1, int(rng.choice(COLUMNS))
    given = [_rows(rng, n, d), rng.random(n), None if rng.random() < 0.5 else 0.5 + rng.random(n), 2]
    return KernelCall("tiles", given, (), tuple)


def _tile_sums(rng: Rng) -> KernelCall:
    (n, d), m, form = _sizes(rng), int(rng.choice(ROWS)), str(rng.choice(list(kernel_sums.FORMS)))
    inverse = None if rng.random() < 0.5 else 0.5 + rng.random(n + 1)
    cloud = kernel_sums.Cloud(_rows(rng, n + 1, d), rng.random(n + 1), inverse, form)
    Y = _rows(rng, m, d) * kernel_sums.SCALES.get(form, 1.0)
    return KernelCall("tile_sums", [cloud.packed, Y, form, 1e-10, np.zeros((2, m)), 2], (4,), list)


# ---- mixtures and latent models -------------------------------------------------------------------------------


def _mixture(rng: Rng, d: int, K: int, full: bool) -> list[Array]:
    shapes = np.tril(0.3 * _rows(rng, K * d, d).reshape(K, d, d)) + np.eye(d) if full else rng.random((K, d)) + 0.1
    return [np.log(rng.dirichlet(np.ones(K))), _rows(rng, K, d), shapes]


def _mixture_passes(rng: Rng) -> KernelCall:
    (n, d), S, dtype = _sizes(rng), int(rng.integers(1, 3)), _dtype(rng)
    K = S * int(rng.integers(1, 4))
    X, w, given = _rows(rng, n, d, dtype), _weight(rng, n), _mixture(rng, d, K, bool(rng.random() < 0.5))
    out = [np.zeros(S), np.zeros(K), np.zeros((K, d)), np.zeros(given[2].shape)]
    found = lambda: mixture.mixture_passes_numpy(X, w, *given, S)  # noqa: E731
    return KernelCall(f"mixture_passes_{dtype}", [X, w, *given, *out, 2], (5, 6, 7, 8), found)


def _mixture_joint(rng: Rng) -> KernelCall:
    (n, d), K, dtype = _sizes(rng), int(rng.integers(1, 5)), _dtype(rng)
    X, given = _rows(rng, n, d, dtype), _mixture(rng, d, K, bool(rng.random() < 0.5))
    found = lambda: [mixture.mixture_log_joint_numpy(X, *given)]  # noqa: E731
    return KernelCall(f"mixture_joint_{dtype}", [X, *given, np.zeros((n, K)), 2], (4,), found)


def _incomplete(rng: Rng, n: int, d: int, dtype: Any) -> Array:
    X = _rows(rng, n, d, dtype)
    X[rng.random(X.shape) < 0.3] = np.nan
    return X


def _covariances(rng: Rng, d: int, K: int) -> list[Array]:
    logs, means, roots = _mixture(rng, d, K, True)
    return [logs, means, roots @ np.swapaxes(roots, 1, 2) + 0.1 * np.eye(d)]


def _mixture_incomplete(rng: Rng) -> KernelCall:
    (n, d), S, dtype = _sizes(rng), int(rng.integers(1, 3)), _dtype(rng)
    K = S * int(rng.integers(1, 4))
    X, w, given = _incomplete(rng, n, d, dtype), _weight(rng, n), _covariances(rng, d, K)
    out = [np.zeros(S), np.zeros(K), np.zeros((K, d)), np.zeros((K, d, d))]
    found = lambda: mixture_incomplete.incomplete_passes_numpy(X, w, *given, S)  # noqa: E731
    return KernelCall(f"mixture_incomplete_{dtype}", [X, w, *given, *out, 2], (5, 6, 7, 8), found)


def _mixture_incomplete_rows(rng: Rng) -> KernelCall:
    (n, d), K, dtype = _sizes(rng), int(rng.integers(1, 5)), _dtype(rng)
    X, given = _incomplete(rng, n, d, dtype), _covariances(rng, d, K)
    out = [np.zeros((n, K)), np.zeros((n, d)), np.zeros((n, d))]
    found = lambda: [mixture_incomplete.incomplete_log_joint_numpy(X, *given)]  # noqa: E731
    return KernelCall(f"mixture_incomplete_rows_{dtype}", [X, *given, *out, 2], (4,), found)


def _latent(rng: Rng, name: str, shapes: Callable[[int, int], list[tuple[int, ...]]], extra: int) -> KernelCall:
    (n, d), dtype, k = _sizes(rng), _dtype(rng), int(rng.choice([1, 2, 3, 5, 16]))
    frame = [np.zeros(d), np.ones(d), rng.standard_normal(d), _rows(rng, d, k), rng.random(d) + 0.1]
    direction = [rng.standard_normal(d), _rows(rng, d, k), rng.standard_normal(d)][:extra]
    refined = [] if name == "information" else [1]
    out = [np.zeros(shape) for shape in shapes(d, k)]
    given = [_incomplete(rng, n, d, dtype), _weight(rng, n), *frame, *refined, *direction, *out, 2]
    return KernelCall(f"latent_{name}_{dtype}", given, (len(given) - 2,), tuple)


def _triangle(k: int) -> int:
    return k * (k + 1) // 2


def _latent_expected(rng: Rng) -> KernelCall:
    def shapes(d: int, k: int) -> list[tuple[int, ...]]:
        lines = _triangle(k) + _triangle(k + 1)
        return [(lines, d), (k + 1, d), (d,), (lines + 2,)]

    return _latent(rng, "expected", shapes, 0)


def _latent_information(rng: Rng) -> KernelCall:
    return _latent(rng, "information", lambda d, k: [(_triangle(k), d), (d,), (d,), (_triangle(k) + 1,)], 0)


def _latent_derivative(rng: Rng) -> KernelCall:
    return _latent(rng, "derivative", lambda d, k: [(2 * _triangle(k) + 1, d), (2 * k + 1, d), (d,)], 3)


def _latent_rows(rng: Rng) -> KernelCall:
    (n, d), dtype, k = _sizes(rng), _dtype(rng), int(rng.choice([1, 2, 3, 5, 16]))
    X, frame = _incomplete(rng, n, d, dtype), incomplete_rows.Frame.of(np.zeros(d), _rows(rng, d, k), np.ones(d))
    out = {"z": np.zeros((n, k)), "C": np.zeros((n, _triangle(k))), "log_density": np.zeros(n)}
    out |= {"filled": np.zeros((n, d), dtype=dtype), "deviation": np.zeros((n, d))}

    def found() -> list[Array]:
        wanted = {name: np.zeros(array.shape, array.dtype) for name, array in out.items()}
        incomplete_rows.latent_rows_numpy(X, frame, **wanted)
        return list(wanted.values())

    return KernelCall(f"latent_rows_{dtype}", [X, *frame, *out.values(), 2], (6, 7, 8, 9, 10), found, 1e-6)


MAKERS: tuple[Callable[[Rng], KernelCall], ...] = (
    _moments, _normal_product, _pack_points, _gaussian, _gaussian_gram, _symmetric, _remove_span, _class_moments,
    _class_joint, _code_ranges, _class_counts, _class_gather, _class_winners, _class_decisions, _label_counts,
    _sort_order, _window_powers, _window_waves, _laplace, _gaussian_line, _tiles, _tile_sums, _mixture_passes,
    _mixture_joint, _mixture_incomplete, _mixture_incomplete_rows, _latent_expected, _latent_information,
    _latent_derivative, _latent_rows,
)  # fmt: skip
"""One function per kind of call."""

INSTRUCTION_SETS = ("baseline", "avx2", "avx512")


def use_instruction_set(rng: Rng) -> None:
    """Use one of the instruction sets that the processor has."""
    try:
        kernels.set_isa(str(rng.choice(INSTRUCTION_SETS)))
    except ValueError:
        kernels.set_isa("baseline")

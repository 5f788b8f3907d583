"""Pre-images: the ways back against slow twins, exact cases, laws, failures, and noisy digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_digits

from eigenlens.errors import OptionError
from eigenlens.kernel_pca.kernels.base import Kernel
from eigenlens.kernel_pca.kernels.cosine import Cosine
from eigenlens.kernel_pca.kernels.custom import Custom
from eigenlens.kernel_pca.kernels.distances import squared_distances
from eigenlens.kernel_pca.kernels.laplacian import Laplacian
from eigenlens.kernel_pca.kernels.linear import Linear
from eigenlens.kernel_pca.kernels.polynomial import Polynomial
from eigenlens.kernel_pca.kernels.precomputed import Precomputed
from eigenlens.kernel_pca.kernels.rbf import RBF
from eigenlens.kernel_pca.kernels.sigmoid import Sigmoid
from eigenlens.kernel_pca.model import KernelComponents
from eigenlens.kernel_pca.preimage import PREIMAGES, PreImageOptions, find_preimages, learn_inverse
from eigenlens.kernel_pca.preimage import base as preimage_support
from eigenlens.kernel_pca.preimage.base import Support
from eigenlens.kernel_pca.preimage.fixed_point import FixedPointDescent, fixed_point_map
from eigenlens.kernel_pca.preimage.mds import place_by_distances

Array = Any
DIGITS = load_digits().data


def components(X: Array, kernel: Kernel, k: int | None = None) -> KernelComponents:
    """Exact kernel PCA by the book."""
    n = len(X)
    K = kernel(X, X).astype(np.float64)
    mean = K.mean(axis=1)
    lam, U = np.linalg.eigh(K - mean - mean[:, None] + mean.mean())
    keep = np.flatnonzero(lam > 1e-10 * lam[-1])[::-1][:k]
    A = U[:, keep] / np.sqrt(lam[keep])
    A -= A.mean(axis=0)
    return KernelComponents(
        kernel, X, A, A.T @ mean, np.full(n, 1 / n), mean.mean(), lam[keep], np.trace(K) - n * mean.mean(), n
    )


def width(X: Array) -> float:
    """1 / the median squared distance."""
    D = squared_distances(X, X)
    return float(1.0 / np.median(D[np.triu_indices(len(X), 1)]))


def cloud(n: int = 60, d: int = 3, seed: int = 0) -> Array:
    """A bent sheet: rows that a straight subspace does not fit."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[:, 0] += X[:, 1] ** 2
    return X


def noisy(seed: int, n: int, test: int, noise: float = 4.0) -> tuple[Array, Array, Array]:
    """Clean digits to learn from, other clean digits, and those with noise."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(DIGITS))
    clean = DIGITS[order[n : n + test]]
    return DIGITS[order[:n]], clean, clean + noise * rng.normal(size=clean.shape)


@pytest.fixture(params=PREIMAGES)
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


SMOOTH = [RBF(0.3), RBF(5.0), Polynomial(0.3, 1.0, 2), Polynomial(0.3, 1.0, 3), Polynomial(0.3, 1.0, 5)]


# ---- all of them ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shift", "dtype", "error"), [(0.0, np.float64, 1e-12), (1e6, np.float64, 1e-9), (1e6, np.float32, 1e-5)]
)
def test_linear_kernel_is_pca(method: str, shift: float, dtype: Any, error: float) -> None:
    """Also far from the origin with coefficients in float32, whose sums are zero only up to rounding."""
    X = cloud() * [3.0, 2.0, 1.0]
    mean = X.mean(axis=0)
    V = np.linalg.svd(X - mean, full_matrices=False)[2][:2]
    scores = (X - mean) @ V.T
    found = find_preimages(KernelComponents(
        Linear(), X + shift, (scores / np.sum(scores**2, axis=0)).astype(dtype), V @ (mean + shift),
        np.full(60, 1 / 60, dtype), 1.0, np.sum(scores**2, axis=0), 1.0, 60.0,
    ), scores, method)  # fmt: skip
    np.testing.assert_allclose(found.rows, mean + scores @ V + shift, rtol=0.0, atol=error)
    assert not found.failed.any()


def test_rows_come_back_when_nothing_is_left_out(method: str) -> None:
    X = cloud()
    model = components(X, RBF(1.0))
    found = find_preimages(model, model.scores(X), method)
    np.testing.assert_allclose(found.rows, X, atol=1e-4)
    assert not found.failed.any()
    assert found.distances.max() < 1e-3


def test_shift_of_the_rows(method: str) -> None:
    """1e6 is added to rows on a grid of 2⁻²⁰, so that the addition itself is exact."""
    X = np.round(cloud() * 2**20) / 2**20
    kernel = RBF(0.5)
    near, far = (components(X + shift, kernel, 8) for shift in (0.0, 1e6))
    Z = near.scores(X)
    flip = np.sign(np.sum(near.coefficients * far.coefficients, axis=0))
    a = find_preimages(near, Z, method, X)
    b = find_preimages(far, Z * flip, method, X + 1e6)
    np.testing.assert_allclose(b.rows - 1e6, a.rows, atol=2e-6)


def test_dtype_follows_the_scores(method: str) -> None:
    X = cloud().astype(np.float32)
    model = components(X, RBF(0.5), 8)
    Z = model.scores(X.astype(np.float64))
    wide, narrow = find_preimages(model, Z, method), find_preimages(model, Z.astype(np.float32), method)
    assert (wide.rows.dtype, narrow.rows.dtype, narrow.distances.dtype) == (np.float64, np.float32, np.float32)
    np.testing.assert_allclose(narrow.rows, wide.rows, atol=1e-4)


def test_a_row_beyond_all_kernel_values_fails_with_a_finite_answer(method: str) -> None:
    X = cloud()
    model = components(X, RBF(0.5), 8)
    asked = np.vstack([X[:3], X[:3] + 1e3])
    found = find_preimages(model, model.scores(asked), method, asked)
    np.testing.assert_array_equal(found.failed, [False] * 3 + [True] * 3)
    assert np.isfinite(found.rows).all()
    assert np.linalg.norm(found.rows - X.mean(axis=0), axis=1).max() < 2.0 * np.linalg.norm(X, axis=1).max()


def test_points_are_independent_of_their_block(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X = cloud()
    model = components(X, RBF(0.5), 5)
    Z = model.scores(X)
    whole = find_preimages(model, Z, method)
    monkeypatch.setattr(preimage_support, "PREIMAGE_BLOCK_BYTES", 8 * len(X) * 7)
    np.testing.assert_allclose(find_preimages(model, Z, method).rows, whole.rows, atol=1e-6)


def test_no_points(method: str) -> None:
    model = components(cloud(), RBF(0.5), 5)
    assert find_preimages(model, np.empty((0, 5)), method, np.empty((0, 3))).rows.shape == (0, 3)


def test_reported_distance(method: str) -> None:
    X, kernel = cloud(), RBF(0.5)
    model = components(X, kernel, 5)
    Z = model.scores(X)
    found = find_preimages(model, Z, method)
    g = model.point(Z)
    square = np.sum(g @ kernel(X, X) * g, axis=1) - 2.0 * np.sum(g * kernel(found.rows, X), axis=1) + 1.0
    np.testing.assert_allclose(found.distances, np.sqrt(square), rtol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1])
def test_noisy_digits_come_out_cleaner_than_by_the_best_pca(method: str, seed: int) -> None:
    """Measured: PCA 6.9 to 7.0; fixed-point 4.3, mds 4.3, ridge 5.1."""
    X, clean, dirty = noisy(seed, 500, 200)
    mean = X.mean(axis=0)
    V = np.linalg.svd(X - mean, full_matrices=False)[2]
    pca = min(np.mean((mean + (dirty - mean) @ V[:k].T @ V[:k] - clean) ** 2) for k in range(1, 64))
    model = components(X, RBF(width(X)), 64)
    found = find_preimages(model, model.scores(dirty), method, dirty)
    assert np.mean((found.rows - clean) ** 2) < 0.85 * pca
    assert not found.failed.any()


# ---- fixed point ------------------------------------------------------------------------------------------


@pytest.mark.long
def test_fixed_point_equals_the_plain_loop() -> None:
    X, _, dirty = noisy(0, 150, 10)
    model = components(X, RBF(width(X)), 30)
    found = find_preimages(model, model.scores(dirty), "fixed-point", dirty)
    for i, g in enumerate(model.point(model.scores(dirty))):
        z = dirty[i]
        for _ in range(200):
            w = g * np.exp(-width(X) * np.sum((z - X) ** 2, axis=1))
            z = w @ X / w.sum()
        np.testing.assert_allclose(found.rows[i], z, atol=1e-4)
    assert found.iterations.max() < 20


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_fixed_point_is_a_minimum_of_the_distance(kernel: Any) -> None:
    X = cloud()
    model = components(X, kernel, 6)
    start = X[:8] + 0.1
    found = find_preimages(model, model.scores(X[:8]), "fixed-point", start)
    assert not found.failed.any()
    for z, g in zip(found.rows, model.point(model.scores(X[:8])), strict=True):

        def distance(y: Array, g: Array = g) -> float:
            return float(kernel.diagonal(y[None])[0] - 2.0 * (kernel(y[None], X) @ g)[0])

        polished = minimize(distance, z, method="BFGS")
        assert distance(z) <= polished.fun + 1e-9 * abs(polished.fun)
        np.testing.assert_allclose(polished.x, z, atol=1e-3)


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_rows_are_fixed_points_when_nothing_is_left_out(kernel: Kernel) -> None:
    X = cloud(80, 4)
    model = components(X, kernel)
    start = X + 0.05 * np.random.default_rng(1).normal(size=X.shape)
    for found in (find_preimages(model, model.scores(X)), find_preimages(model, model.scores(X), start=start)):
        np.testing.assert_allclose(found.rows, X, atol=2e-4)
        assert not found.failed.any()


@pytest.mark.parametrize("kernel", [RBF(5.0), Polynomial(0.3, 1.0, 5)], ids=repr)
def test_distance_never_grows(kernel: Kernel) -> None:
    """From starts far off, where the undamped map of the polynomial kernel makes it grow at once for some points."""
    X = cloud()
    model = components(X, kernel, 20)
    support = Support.of(model)
    start = (X - support.shift)[::-1] + np.random.default_rng(2).normal(size=X.shape) * 0.3
    pull, g = fixed_point_map(support), model.point(model.scores(X))
    before = pull(start, g)
    held = np.isfinite(before.target).all(axis=1)
    plain = pull(np.where(held[:, None], before.target, start), g).value
    assert np.any(plain[held] > before.value[held] * (1.0 + 1e-9)) or isinstance(kernel, RBF)
    descent = FixedPointDescent(pull, g, start, support.spread, 1e-9)
    for _ in range(60):
        last = descent.value.copy()
        descent.run(1)
        assert np.all((descent.value <= last + 1e-12 * np.abs(last)) | ~held)


def test_never_further_than_the_nearest_row() -> None:
    """Starts beyond the basin of the right answer, and too few steps: the best row is at least as good a stand-in."""
    X = cloud()
    model = components(X, RBF(8.0), 20)
    Z = model.scores(X)
    rows = np.sqrt(np.maximum(model.point_norms(Z)[:, None] + 1.0 - 2.0 * model.point(Z) @ RBF(8.0)(X, X), 0.0))
    for steps in (1, 300):
        found = find_preimages(model, Z, "fixed-point", X[::-1], PreImageOptions(max_iter=steps))
        assert np.all(found.distances <= rows.min(axis=1) + 1e-6)
        assert found.failed.any() == (steps == 1)


def at(g: Array, X: Array) -> KernelComponents:
    """A model whose one point is Σ_j g_j phi(x_j)."""
    kernel = RBF(0.5)
    return KernelComponents(kernel, X, np.zeros((60, 1)), np.zeros(1), g, g @ kernel(X, X) @ g, np.ones(1), 1.0, 60.0)


@pytest.mark.parametrize("length", [1.0, 0.3])
def test_a_shortened_image_has_the_same_pre_image(length: float) -> None:
    X = cloud()
    for name in ("fixed-point", "mds"):
        found = find_preimages(at(length * np.eye(60)[7], X), np.zeros((1, 1)), name)
        np.testing.assert_allclose(found.rows[0], X[7], atol=1e-8)
        np.testing.assert_allclose(found.distances, 1.0 - length, atol=1e-7)


def test_a_point_on_the_far_side_of_the_origin_fails() -> None:
    X = cloud()
    for name in ("fixed-point", "mds"):
        found = find_preimages(at(np.full(60, -1 / 60), X), np.zeros((1, 1)), name)
        assert found.failed.all()
        assert np.any(np.all(found.rows == X, axis=1))


# ---- distances --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [RBF(0.5), Polynomial(0.3, 1.0, 3), Sigmoid(1e-3, 0.0)], ids=repr)
def test_distances_place_rows_exactly(kernel: Kernel) -> None:
    """The sigmoid is narrow enough for what its negative eigenvalues take away to be small."""
    X = cloud()
    model = components(X, kernel)
    np.testing.assert_allclose(find_preimages(model, model.scores(X), "mds").rows, X, atol=1e-3)


def test_neighbours_on_a_line_and_copies() -> None:
    """Rank-deficient neighbours: the answer is the nearest point of what they span."""
    line = np.outer([0.0, 1.0, 1.0, 3.0], [1.0, 2.0, 2.0])
    z = np.array([0.5, 1.0, 1.0]) + np.array([2.0, -1.0, 0.0])
    found = place_by_distances(line[None], np.sum((line - z) ** 2, axis=1)[None])
    np.testing.assert_allclose(found[0], [0.5, 1.0, 1.0], atol=1e-12)
    copies = np.ones((1, 4, 3))
    np.testing.assert_allclose(place_by_distances(copies, np.zeros((1, 4))), np.ones((1, 3)))


def test_distances_that_contradict_each_other_stay_in_reach() -> None:
    flat = np.array([[[0.0, 0.0], [1.0, 0.0], [0.5, 1e-3]]])
    far = np.linalg.norm(place_by_distances(flat, np.array([[0.1, 0.1, 4.0]])) - flat[0].mean(axis=0))
    assert far < 1.0


# ---- ridge ------------------------------------------------------------------------------------------------


def test_learned_map_is_ridge_regression_with_the_least_leave_one_out_error() -> None:
    """Three scores do not determine these rows; generalised cross-validation would take no ridge at all for best."""
    X = cloud(40)
    model = components(X, RBF(0.5), 3)
    learned = learn_inverse(model)
    K, Y = RBF(learned.gamma)(learned.scores, learned.scores), X - X.mean(axis=0)

    def left_out(ridge: float) -> float:
        errors = []
        for i in range(40):
            rest = np.delete(np.arange(40), i)
            w = np.linalg.solve(K[np.ix_(rest, rest)] + ridge * np.eye(39), Y[rest])
            errors.append(np.sum((Y[i] - K[i, rest] @ w) ** 2))
        return float(np.mean(errors))

    assert learned.error == pytest.approx(left_out(learned.ridge), rel=1e-8)
    assert learned.error <= min(map(left_out, np.logspace(-8, 1, 37))) * 1.02
    twin = X.mean(axis=0) + K @ np.linalg.solve(K + learned.ridge * np.eye(40), Y)
    np.testing.assert_allclose(learned(model.scores(X)), twin, atol=1e-8)


def test_learned_map_is_used() -> None:
    X = cloud()
    model = components(X, RBF(0.5), 3)
    Z, learned = model.scores(X), learn_inverse(model)
    given = find_preimages(model, Z, "ridge", options=PreImageOptions(learned=learned))
    np.testing.assert_array_equal(given.rows, find_preimages(model, Z, "ridge").rows)
    np.testing.assert_allclose(given.rows, learned(Z), atol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [Laplacian(0.005), Cosine(), Custom(lambda X, Y: (X @ Y.T + 2.0) ** 2)],
    ids=lambda kernel: type(kernel).__name__,
)
def test_ridge_goes_with_every_kernel(kernel: Kernel) -> None:
    X = DIGITS[:200]
    model = components(X, kernel, 40)
    found = find_preimages(model, model.scores(X), "ridge", X)
    assert np.mean((found.rows - X) ** 2) < 0.2 * np.mean(X.var(axis=0))


# ---- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "kernel", "message"),
    [
        ("fixed-point", Laplacian(1.0), "preimage='fixed-point'.*laplacian.*'ridge'"),
        ("fixed-point", Sigmoid(0.01, 0.0), "preimage='fixed-point'.*sigmoid.*'mds'"),
        ("mds", Polynomial(1.0, 1.0, 2), "preimage='mds'.*poly.*degree 2.*'ridge'"),
        ("mds", Laplacian(1.0), "preimage='mds'.*laplacian.*'ridge'"),
        ("mds", Cosine(), "preimage='mds'.*cosine.*'ridge'"),
    ],
)
def test_kernels_that_a_method_cannot_invert(method: str, kernel: Kernel, message: str) -> None:
    model = components(cloud(), kernel, 2)
    with pytest.raises(OptionError, match=message):
        find_preimages(model, np.zeros((1, 2)), method)


def test_precomputed_kernels_have_no_rows(method: str) -> None:
    K = RBF(0.5)(cloud(), cloud())
    model = KernelComponents(
        Precomputed(), K, np.ones((60, 1)), np.ones(1), np.full(60, 1 / 60), 1.0, np.ones(1), 1.0, 60.0
    )
    with pytest.raises(OptionError, match="precomputed"):
        find_preimages(model, np.zeros((1, 1)), method)

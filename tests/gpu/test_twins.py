"""Operations on tensors beside those on NumPy arrays, with tensors in memory: what runs on a device without kernels."""

from __future__ import annotations

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import eigenlens as el
from eigenlens.arrays import to_numpy
from eigenlens.bayes.class_moments import summarise_pooled
from eigenlens.data.source import Block
from eigenlens.errors import ResourceError
from eigenlens.gpu.class_sums import class_members, integer_classes, tensor_class_sums, tensor_pooled_sums
from eigenlens.gpu.eigen import device_eigenpairs
from eigenlens.gpu.kernel_sums import kernel_matmul
from eigenlens.gpu.krylov import block_krylov, chirps, orthonormal_columns
from eigenlens.gpu.log_sums import DevicePoints
from eigenlens.gpu.mixture import tensor_mixture_pass
from eigenlens.gpu.moments import tensor_moments, tensor_squares
from eigenlens.gpu.runtime import device_memory, on_device, runs_triton
from eigenlens.kernel_pca.kernels import Laplacian, Polynomial
from eigenlens.kernel_pca.kernels.rbf import RBF
from eigenlens.native.class_sums import class_sums_numpy
from eigenlens.native.kernel_sums import Cloud, cloud_sums_numpy
from eigenlens.native.mixture import mixture_passes_numpy
from eigenlens.native.moments import moments_about_numpy
from eigenlens.stats.moments import ColumnMoments

RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 4)) @ RNG.standard_normal((4, 4)) + [0.0, 1.0, -1.0, 2.0]
Y = (X[:, 0] > 0.5).astype(int)
W = np.arange(400) % 3 + 0.0
UNEVEN = np.arange(400) % 3 + 0.5


@pytest.fixture
def xp(library):
    return library


def test_a_tensor_in_memory_is_not_on_a_device(xp):
    assert not on_device(xp.asarray(X))
    assert not runs_triton(xp.asarray(X))
    assert not on_device(X)


@pytest.mark.parametrize("weight", [None, UNEVEN])
def test_moments_are_those_of_numpy(xp, weight):
    shift = X.mean(axis=0)
    expected = moments_about_numpy(X, weight, shift)
    for found, true in zip(tensor_moments(xp.asarray(X), weight, shift), expected, strict=True):
        np.testing.assert_allclose(found, true, rtol=1e-12, atol=1e-10)
    total, squares = tensor_squares(xp.asarray(X), weight, shift)
    np.testing.assert_allclose(total, expected[0], atol=1e-10)
    np.testing.assert_allclose(squares, expected[1].diagonal(), rtol=1e-12)


@pytest.mark.parametrize("kernel", [RBF(0.3), Polynomial(0.2, 1.0, 3), Laplacian(0.1)], ids=lambda k: k.name)
def test_a_product_with_a_kernel_matrix_needs_no_matrix(xp, kernel, monkeypatch):
    monkeypatch.setattr("eigenlens.gpu.kernel_sums.PANEL_BYTES", 1 << 16)
    Q = RNG.standard_normal((150, 3))
    found = kernel_matmul(xp.asarray(X), xp.asarray(X[:150]), xp.asarray(Q), kernel)
    np.testing.assert_allclose(to_numpy(found), kernel(X, X[:150]) @ Q, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("form", ["gaussian", "laplace"])
def test_log_sums_are_those_of_numpy_also_far_away(xp, form):
    queries = np.vstack([X[:30] * 2.0, np.full((1, 4), 1e4)])
    exponent, value = cloud_sums_numpy(Cloud(X, UNEVEN, None, form), queries, 1e-12)
    found = DevicePoints(X, UNEVEN, form, xp.asarray(queries)).log_sums(xp.asarray(queries))
    np.testing.assert_allclose(found, exponent + np.log(value), rtol=1e-10)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("weight", [None, W])
def test_a_mixture_pass_is_that_of_numpy(xp, full, weight):
    means = X[:3]
    roots = np.linalg.inv(np.linalg.cholesky(np.cov(X.T)))
    shapes = np.stack([roots, 2.0 * roots, 0.5 * roots]) if full else np.abs(X[3:6]) + 0.1
    constants = np.array([0.1, -0.5, -np.inf])
    rows = X.copy()
    if weight is not None:
        rows[W == 0.0] = np.nan  # absent rows may hold anything
    expected = mixture_passes_numpy(rows, weight, constants, means, shapes)
    loglik, *sums = tensor_mixture_pass(xp.asarray(rows), weight, constants, means, shapes)
    np.testing.assert_allclose(loglik, expected.loglik[0], rtol=1e-12)
    for found, true in zip(sums, expected[1:], strict=True):
        np.testing.assert_allclose(found, true, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weight", [None, W])
def test_class_sums_are_those_of_numpy(xp, weight):
    rows = np.where(np.arange(1600).reshape(400, 4) % 29 == 3, np.nan, X)
    centre = np.stack([rows[0], rows[2]])
    y = Y.astype(np.int32)
    expected = class_sums_numpy(rows, y, weight, np.nan_to_num(centre))
    found = tensor_class_sums(xp.asarray(rows), y, weight, np.nan_to_num(centre))
    for one, true in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, true, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("weight", [None, "weighted"])
def test_class_sums_of_many_rows_are_sums_of_short_products(xp, weight, monkeypatch):
    monkeypatch.setattr("eigenlens.gpu.class_sums.PANEL_ENTRIES", 10_000)
    rows, y = RNG.standard_normal((7000, 4)) + 3.0, (np.arange(7000) // 3 % 3).astype(np.int32)
    w = None if weight is None else np.arange(7000) % 4 + 0.25
    rows[6000:, 2] = np.nan  # missing in some panels alone
    centre = np.full((3, 4), 2.5)
    for found, true in zip(
        tensor_class_sums(xp.asarray(rows), y, w, centre), class_sums_numpy(rows, y, w, centre), strict=True
    ):
        np.testing.assert_allclose(found, true, rtol=1e-12)


def note_written(sizes):
    """Return the mode that notes the bytes of every tensor that an operation of PyTorch makes, views left out."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Noted(TorchDispatchMode):
        def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
            found = operation(*args, **(kwargs or {}))
            if hasattr(found, "untyped_storage") and not operation.is_view:
                sizes.append(found.numel() * found.element_size())
            return found

    return Noted()


def pooled_by_class(rows, y, weight, C):
    """The weights and means of classes, and the scatter about these, class by class in long arithmetic."""
    w = np.ones(len(rows)) if weight is None else weight
    rows = np.where(w[:, None] > 0.0, rows, 0.0).astype(np.longdouble)
    weights = np.array([w[y == c].sum() for c in range(C)])
    means = np.stack([w[y == c] @ rows[y == c] / weights[c] for c in range(C)])
    D = rows - means[y]
    return weights, means, (D * w[:, None]).T @ D


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", ["mixed", "sorted"])
@pytest.mark.parametrize("apart", [0.0, 20.0])
def test_one_scatter_for_all_classes_keeps_its_digits(dtype, weighted, order, apart, as_if_on_device, monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed, so nothing was tested about its tensors")
    monkeypatch.setattr("eigenlens.gpu.class_sums.PANEL_ENTRIES", 5 * 4000)
    y = RNG.integers(0, 3, 9001).astype(np.int32)
    y = np.sort(y) if order == "sorted" else y
    rows = (RNG.standard_normal((9001, 5)) * np.linspace(2.0, 0.5, 5) + 3.0 + apart * y[:, None]).astype(dtype)
    w = np.arange(9001) % 3 + 0.0 if weighted else None
    if weighted:
        rows[w == 0.0] = np.nan  # absent rows may hold anything
    marks = y[:, None] if w is None else np.column_stack([w, y])
    found = summarise_pooled(Block(torch.asarray(rows), marks), 3)
    weights, means, scatter = pooled_by_class(rows, y, w, 3)
    scale = np.sqrt(np.outer(scatter.diagonal(), scatter.diagonal()))
    deviations = np.sqrt(scatter.diagonal() / weights.sum())
    tolerance = 1e-12 if dtype == np.float64 else 1e-5  # float32 sums over runs of 4096 rows
    np.testing.assert_allclose(found.weight, weights, rtol=1e-14)
    np.testing.assert_array_equal(found.rows, [np.sum((y == c) & (True if w is None else w > 0.0)) for c in range(3)])
    assert np.abs(((found.mean - means) + found.rest) / deviations).max() <= tolerance
    assert np.abs((found.scatter - scatter) / scale).max() <= tolerance


def test_columns_that_are_constant_within_classes_have_no_scatter(as_if_on_device):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed, so nothing was tested about its tensors")
    y = np.arange(3000, dtype=np.int32) % 3
    rows = np.column_stack([RNG.standard_normal(3000), 0.1 * y, np.full(3000, 7.3)]).astype(np.float32)
    found = summarise_pooled(Block(torch.asarray(rows), y[:, None]), 3)
    np.testing.assert_array_equal(found.scatter[1:, 1:], 0.0)
    np.testing.assert_allclose(found.mean[:, 1], [0.0, 0.1, 0.2], atol=1e-7)


@pytest.mark.parametrize("name", ["NaiveBayes", "LinearDiscriminant"])
def test_classes_of_many_rows_need_few_tensors_and_no_copy_on_the_processor(name, as_if_on_device):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed, so nothing was tested about its tensors")
    n, written = 300_000, []
    rows, labels = torch.asarray(RNG.standard_normal((n, 12)).astype(np.float32)), torch.arange(n) // 7 % 3
    with note_written([]):  # imports are not counted
        model = getattr(el, name)().fit(rows[:5000], labels[:5000])
    tracemalloc.start()
    with note_written(written):
        model.fit(rows, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * n  # a column of the labels alone would be as large
    if name == "NaiveBayes":  # centres of rows, deviations and their squares in float64, and memberships
        assert sum(written) <= 9 * rows.numel() * rows.element_size()


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8"])
def test_classes_of_a_narrow_and_of_a_wide_range(xp, dtype):
    for values in ([3, 5, 3, 120], [9, 9]):
        classes, codes = integer_classes(xp.asarray(np.array(values, dtype=dtype)))
        assert classes.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(classes, np.unique(values))
        np.testing.assert_array_equal(codes, np.unique(values, return_inverse=True)[1])
    assert integer_classes(xp.asarray(np.array([1, 2], dtype=np.uint16))) is None  # which no device compares
    assert integer_classes(xp.asarray(np.arange(101))) is None


def test_classes_and_their_rows_are_found_without_sorting(xp):
    labels = np.array([7, -2, 7, 5, -2])
    classes, codes = integer_classes(xp.asarray(labels))
    assert classes.tolist() == [-2, 5, 7]
    assert codes.tolist() == [2, 0, 2, 1, 0]
    members = {c: to_numpy(index).tolist() for c, index in class_members(np.array([1, -1, 0, 1]), xp.asarray(labels))}
    assert members == {0: [2], 1: [0, 3]}
    assert integer_classes(xp.asarray(X[:, 0])) is None


def test_eigenpairs_are_descending(xp):
    S = np.cov(X.T)
    values, leading, vectors = device_eigenpairs(S, xp.asarray(X), lambda values: 2)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(S)[::-1], rtol=1e-12)
    np.testing.assert_allclose(S @ vectors, vectors * leading, atol=1e-12)


def symmetric(n, values):
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((n, n)))[0]
    return (Q * values) @ Q.T


def test_block_krylov_finds_close_eigenvalues(xp):
    A = symmetric(300, np.r_[10.0, 9.999, 9.998, 1.0 / np.arange(1, 298)])
    T = xp.asarray(A)
    found = block_krylov(lambda V: xp.matmul(T, V), chirps(300, 8, T), 3, 1e-10, 100)
    assert found.residuals.max() <= 1e-10
    np.testing.assert_allclose(found.values[:3], [10.0, 9.999, 9.998], rtol=1e-12)
    V = to_numpy(found.vectors)
    np.testing.assert_allclose(V.T @ V, np.eye(8), atol=1e-12)


def test_block_krylov_ends_where_the_space_is_invariant(xp):
    A = symmetric(40, np.r_[3.0, 2.0, np.zeros(38)])
    T = xp.asarray(A)
    found = block_krylov(lambda V: xp.matmul(T, V), chirps(40, 6, T), 2, 0.0, 50)
    np.testing.assert_allclose(found.values[:2], [3.0, 2.0], rtol=1e-12)


def test_block_krylov_ends_after_its_products_or_where_they_are_not_finite(xp):
    A = xp.asarray(symmetric(60, np.linspace(1.0, 2.0, 60)))
    found = block_krylov(lambda V: xp.matmul(A, V), chirps(60, 4, A), 3, 1e-14, 5)
    assert found.products == 5
    assert found.residuals.max() > 1e-14
    lost = block_krylov(lambda V: V * float("nan"), chirps(60, 4, A), 3, 1e-14, 5)
    assert lost.products == 1


def test_dependent_columns_are_left_out(xp):
    W = xp.asarray(np.column_stack([X, X[:, 0] + X[:, 1], np.zeros(400)]))
    Q = to_numpy(orthonormal_columns(W))
    assert Q.shape == (400, 4)
    np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-12)


def test_an_error_of_memory_names_the_need_and_the_way_out():
    class OutOfMemoryError(RuntimeError):
        pass

    with (
        pytest.raises(ResourceError, match=r"a covariance matrix needs 2\.0 GB; use less"),
        device_memory("a covariance matrix", 2_000_000_000, "use less"),
    ):
        raise OutOfMemoryError
    with pytest.raises(ValueError, match="another"), device_memory("x", 1, "y"):
        raise ValueError("another error")


MODELS = {
    "PCA": lambda X, y, **w: el.PCA(2).fit(X, **w).transform(X),
    "KernelPCA": lambda X, y, **w: el.KernelPCA(2, gamma=0.1, solver="lanczos").fit(X, **w).transform(X),
    "KernelPCA laplacian": lambda X, y, **w: el.KernelPCA(
        2, kernel="laplacian", gamma=0.1, center=False, solver="lanczos").fit(X, **w).eigenvalues_,
    "KernelPCA share": lambda X, y, **w: el.KernelPCA(0.9, kernel="poly", solver="lanczos").fit(X, **w).eigenvalues_,
    "KernelPCA landmarks": lambda X, y, **w: el.KernelPCA(
        2, approximation="rpcholesky", n_landmarks=40, random_state=0).fit(X, **w).eigenvalues_,
    "KernelDensity": lambda X, y, **w: el.KernelDensity(bandwidth=0.5).fit(X, **w).score_samples(3.0 * X),
    "KernelDensity bounds": lambda X, y, **w: el.KernelDensity(
        bandwidth=0.5, bounds=[(-20.0, 20.0)] * 4).fit(X, **w).score_samples(X),
    "GaussianMixture": lambda X, y, **w: el.GaussianMixture(2, random_state=0).fit(X, **w).means_,
    "GaussianMixture diag": lambda X, y, **w: el.GaussianMixture(
        2, covariance_type="diag", random_state=0).fit(X, **w).means_,
    "NaiveBayes": lambda X, y, **w: el.NaiveBayes("gaussian").fit(X, y, **w).predict_proba(X),
    "LinearDiscriminant": lambda X, y, **w: el.LinearDiscriminant().fit(X, y, **w).predict_proba(X),
    "QuadraticDiscriminant": lambda X, y, **w: el.QuadraticDiscriminant().fit(X, y, **w).predict_proba(X),
}  # fmt: skip


@pytest.mark.parametrize("weight", [None, UNEVEN], ids=["", "weighted"])
@pytest.mark.parametrize("name", MODELS)
def test_models_on_a_device_are_those_of_numpy(name, weight, as_if_on_device):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed, so nothing was tested about its tensors")
    given = {} if weight is None else {"sample_weight": weight}
    expected = np.asarray(MODELS[name](X, Y, **given))
    found = to_numpy(MODELS[name](torch.asarray(X), torch.asarray(Y), **given))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("offset", [0.0, 2.0, 1e3, 1e6])
def test_scores_on_a_device_keep_their_digits_whatever_the_mean(offset, as_if_on_device):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed, so nothing was tested about its tensors")
    rows = (RNG.standard_normal((3000, 60)) * np.linspace(3.0, 1.0, 60) + offset * np.linspace(-1.0, 1.0, 60)).astype(
        np.float32
    )
    model = el.PCA(5).fit(torch.asarray(rows))
    frozen = model.model_
    expected = (rows.astype(np.float64) - frozen.mean) @ frozen.score_map()
    error = np.abs(to_numpy(model.transform(torch.asarray(rows))) - expected)
    plain = (rows - frozen.mean.astype(np.float32)) @ frozen.score_map().astype(np.float32)
    assert error.max() <= 4.0 * np.abs(plain - expected).max()  # two bits, which a near mean may cost
    written = []
    with note_written(written):
        model.transform(torch.asarray(rows))
    copies = sum(size >= rows.nbytes for size in written)
    assert copies == (offset >= 1e3)  # rows less their mean are made only where the product needs them


@pytest.mark.parametrize("unit", [1e-30, 1e-22, 1.0, 1e22])
@pytest.mark.parametrize("weight", [None, UNEVEN, 1e-60 * UNEVEN])
def test_class_sums_of_float32_rows_do_not_leave_its_range(xp, unit, weight):
    rows, y = (X * unit).astype(np.float32), Y.astype(np.int32)
    centre = np.stack([rows[y == c].mean(axis=0) for c in (0, 1)]).astype(np.float64)
    exact = rows.astype(np.float64)
    expected = class_sums_numpy(exact, y, weight, centre)
    near = centre.astype(np.float32).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # NumPy warns of it where it stands in for another library
        sums = tensor_class_sums(xp.asarray(rows), y, weight, centre)
        weights, totals, scatter = tensor_pooled_sums(xp.asarray(rows), y, weight, near)
    w, delta = np.ones(len(y)) if weight is None else weight, exact - near[y]
    sizes = [(w[:, None] * np.abs(delta) ** power).sum(axis=0) for power in (0, 1, 2)]
    for found, true, size in zip(sums, expected, sizes, strict=True):
        assert (np.abs(found - true) <= 1e-6 * size).all()
    np.testing.assert_allclose(weights, np.bincount(y, w), rtol=1e-12)
    assert (np.abs(totals - [(w[:, None] * delta)[y == c].sum(axis=0) for c in (0, 1)]) <= 1e-6 * sizes[1]).all()
    true = (w[:, None] * delta).T @ delta
    assert (np.abs(scatter - true) <= 1e-6 * np.sqrt(np.outer(sizes[2], sizes[2]))).all()


@pytest.mark.parametrize("away", [0.0, 3.0, 9.0, 1e3])
def test_moments_of_sorted_classes_keep_the_digits_of_float32(away, as_if_on_device):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed, so nothing was tested about its tensors")
    rows, y = RNG.standard_normal((20_000, 3)).astype(np.float32), np.repeat([0, 1], 10_000).astype(np.int32)
    rows[5_000:] += np.float32(away)  # no row of the second class, and of the first few far ones, is among those first
    found = ColumnMoments.of_classes(torch.asarray(rows), y, None, 2)
    exact = ColumnMoments.of_classes(rows.astype(np.float64), y, None, 2)
    np.testing.assert_allclose(found.square, exact.square, rtol=1e-6)
    assert np.abs((found.mean - exact.mean) / np.sqrt(exact.variance())).max() <= 1e-6


VIEWS = {
    "every second row": lambda rows: rows[::2],
    "every third column": lambda rows: rows[:, ::3],
    "in column order": lambda rows: rows.T.contiguous().T,
    "reversed": lambda rows: rows.flip(0)[:, 1:],
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", ["PCA", "NaiveBayes", "LinearDiscriminant"])
def test_strided_and_transposed_rows(name, view, as_if_on_device):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed, so nothing was tested about its tensors")
    given = VIEWS[view](torch.asarray(X))
    y = Y[: len(given)]
    expected = MODELS[name](np.ascontiguousarray(given), y)
    np.testing.assert_allclose(to_numpy(MODELS[name](given, torch.asarray(y))), expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", ["PCA", "NaiveBayes", "LinearDiscriminant", "QuadraticDiscriminant"])
def test_labels_and_weights_may_be_arrays_or_tensors(name, as_if_on_device):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed, so nothing was tested about its tensors")
    expected = MODELS[name](X, Y, sample_weight=UNEVEN)
    for labels in (Y, torch.asarray(Y)):
        for weights in (UNEVEN, torch.asarray(UNEVEN)):
            found = to_numpy(MODELS[name](torch.asarray(X), labels, sample_weight=weights))
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)


FAILURES = {"PCA": "block_moments.tensor_moments", "LinearDiscriminant": "class_moments.tensor_pooled_sums"}
PLACES = {"block_moments": "eigenlens.stats", "class_moments": "eigenlens.bayes"}


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("cause", ["no memory", "interrupt"])
def test_a_fit_that_ends_early_keeps_nothing(name, cause, as_if_on_device, monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed, so nothing was tested about its tensors")
    made = []

    def fail(rows, *given):
        copy = rows * 2.0
        made.append(weakref.ref(copy))
        raise (
            torch.OutOfMemoryError("tried to allocate 3.00 GiB. GPU 0 has")
            if cause == "no memory"
            else (KeyboardInterrupt)
        )

    monkeypatch.setattr(f"{PLACES[FAILURES[name].split('.')[0]]}.{FAILURES[name]}", fail)
    model = getattr(el, name)()
    with pytest.raises(ResourceError if cause == "no memory" else KeyboardInterrupt) as raised:
        model.fit(torch.asarray(X), torch.asarray(Y))
    if cause == "no memory":
        assert "tried to allocate 3.00 GiB" in str(raised.value)
        assert "give fewer rows, or leave them in the host's memory" in str(raised.value)
    del raised
    gc.collect()
    assert made[0]() is None
    assert not hasattr(model, "model_")


def test_the_outcome_names_the_solver_of_a_device(as_if_on_device):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed, so nothing was tested about its tensors")
    fit = el.KernelPCA(2, gamma=0.1, solver="lanczos").fit(torch.asarray(X))
    assert fit.solver_.solver == "krylov"
    assert "on a device" in fit.solver_.reason
    assert fit.solver_.residuals.max() <= 1e-9


def test_a_fit_without_memory_names_the_way_out(as_if_on_device):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed, so nothing was tested about its tensors")
    with pytest.raises(ResourceError, match="a basis on the device") as raised:
        el.KernelPCA(2, solver="lanczos", max_memory="10kB").fit(torch.asarray(X))
    assert "approximation='rpcholesky'" in str(raised.value)


def test_nan_is_found_by_every_model(as_if_on_device):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed, so nothing was tested about its tensors")
    rows = X.copy()
    rows[7, 2] = np.nan
    for model in (el.PCA(2), el.KernelPCA(2, solver="lanczos"), el.LinearDiscriminant()):
        given = (torch.asarray(rows), torch.asarray(Y))
        if isinstance(model, el.LinearDiscriminant):
            model.fit(*given)  # a missing value, by maximum likelihood
            continue
        with pytest.raises(el.DataError, match="NaN"):
            model.fit(given[0])


def test_a_device_that_is_absent_is_an_error():
    pytest.importorskip("torch", reason="PyTorch is not installed, so nothing was tested about its devices")
    with pytest.raises(el.OptionError, match="'cuda:99' is not a device of this machine"), el.fitting(device="cuda:99"):
        pass
    with pytest.raises(el.OptionError, match="is not a device that rows can be sent to"), el.fitting(device="abacus"):
        pass


def test_the_processor_is_no_device_to_send_rows_to():
    with el.fitting(device="cpu"):
        expected = el.PCA(2).fit(X).components_
    np.testing.assert_array_equal(expected, el.PCA(2).fit(X).components_)

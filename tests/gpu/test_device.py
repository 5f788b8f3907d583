"""Everything on a CUDA device beside float64 on the processor; skipped, with the reason, where there is none."""

from __future__ import annotations

import gc
from types import SimpleNamespace

import numpy as np
import pytest

import eigenlens as el
from eigenlens.arrays import to_numpy
from eigenlens.errors import ResourceError
from eigenlens.gpu.kernel_sums import MAX_FUSED_COLUMNS, KernelSums, kernel_matmul
from eigenlens.gpu.log_sums import DevicePoints
from eigenlens.gpu.mixture import tensor_mixture_pass
from eigenlens.gpu.moments import tensor_moments
from eigenlens.gpu.sender import Sender
from eigenlens.kernel_pca.kernels import Laplacian, Polynomial
from eigenlens.kernel_pca.kernels.rbf import RBF
from eigenlens.native.mixture import mixture_passes

# One factor of these blobs leaves a column without noise, which is warned of on any device.
pytestmark = [pytest.mark.cuda, pytest.mark.filterwarnings("ignore:Heywood case:eigenlens.errors.DataWarning")]
RNG = np.random.default_rng(0)


def rows(n=5000, d=20, offset=0.0, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((n, d)) * np.linspace(2.0, 0.2, d) + offset).astype(dtype)


def cuda(X):
    import torch

    return torch.as_tensor(X, device="cuda")


def allocated():
    import torch

    gc.collect()
    return torch.cuda.memory_allocated()


# ---- operations -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 20, 129, 300])
@pytest.mark.parametrize("weighted", [False, True])
def test_variances_to_one_in_a_million(d, weighted):
    X = rows(20_000, d, offset=3.0)
    w = np.arange(20_000) % 4 + 0.0 if weighted else None
    if weighted:
        X[w == 0.0] = np.nan  # absent rows may hold anything
    true = np.nan_to_num(X.astype(np.float64)) - 3.0
    root = np.ones(20_000) if w is None else w
    total, scatter = tensor_moments(cuda(X), w, np.full(d, 3.0))
    expected = (true * root[:, None]).T @ true
    scale = np.sqrt(np.outer(expected.diagonal(), expected.diagonal()))
    assert np.abs((scatter - expected) / scale).max() < 1e-6
    np.testing.assert_allclose(total, root @ true, atol=1e-4 * np.sqrt(expected.diagonal()).max() * 10.0)


def test_columns_of_any_size_keep_their_digits():
    X = rows(10_000, 6) * np.float32(10.0) ** np.array([-25, -10, 0, 3, 10, 15], dtype=np.float32)
    _, scatter = tensor_moments(cuda(X), None, np.zeros(6))
    true = X.astype(np.float64)
    np.testing.assert_allclose(scatter.diagonal(), np.einsum("ij,ij->j", true, true), rtol=1e-6)


VIEWS = {
    "every second row": (lambda X: X[::2], lambda X: X[::2]),
    "every third column": (lambda X: X[:, ::3], lambda X: X[:, ::3]),
    "in column order": (lambda X: X, lambda X: X.T.contiguous().T),
    "reversed": (lambda X: X[::-1, 1:], lambda X: X.flip(0)[:, 1:]),
}


@pytest.mark.parametrize("view", VIEWS)
def test_strided_and_transposed_rows(view):
    X = rows(9000, 31)
    of_array, of_tensor = VIEWS[view]
    some, tensor = of_array(X), of_tensor(cuda(X))
    assert not tensor.is_contiguous()
    expected = el.PCA(3).fit(some.astype(np.float64)).explained_variance_
    np.testing.assert_allclose(to_numpy(el.PCA(3).fit(tensor).explained_variance_), expected, rtol=1e-6)
    kernel = el.KernelPCA(3, gamma=0.05).fit(tensor[:900])
    expected = el.KernelPCA(3, gamma=0.05).fit(some[:900].astype(np.float64))
    np.testing.assert_allclose(to_numpy(kernel.eigenvalues_), expected.eigenvalues_, rtol=1e-5)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("weighted", [False, True])
def test_classes_of_strided_and_transposed_rows(view, weighted):
    X = rows(9000, 31, offset=2.0)
    of_array, of_tensor = VIEWS[view]
    some, tensor = of_array(X), of_tensor(cuda(X))
    y = np.arange(len(some)) // 5 % 3
    given = {"sample_weight": np.arange(len(some)) % 3 + 0.5} if weighted else {}
    for model, name in ((el.NaiveBayes("gaussian"), "var_"), (el.LinearDiscriminant(), "covariance_")):
        expected = getattr(model.fit(some.astype(np.float64), y, **given), name)
        found = to_numpy(getattr(model.fit(tensor, cuda(y), **given), name))
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_classes_with_entries_that_are_not_finite(bad):
    X, y = rows(3000, 5), np.arange(3000) % 3
    X[1234, 3] = bad
    for model in (el.NaiveBayes("gaussian"), el.LinearDiscriminant()):
        if np.isinf(bad):
            with pytest.raises(el.DataError, match="infinit"):
                model.fit(cuda(X), cuda(y))
            continue
        found = model.fit(cuda(X), cuda(y)).predict_proba(cuda(X))  # a missing entry is left out
        expected = model.fit(X.astype(np.float64), y).predict_proba(X.astype(np.float64))
        np.testing.assert_allclose(to_numpy(found), expected, atol=2e-5)


def test_an_interrupt_while_rows_are_sent_leaves_nothing(monkeypatch):
    monkeypatch.setattr("eigenlens.gpu.sender.BLOCK_BYTES_ON_DEVICE", 1 << 20)
    X, before = rows(100_000, 20), allocated()

    def interrupt(done, total, what):
        raise KeyboardInterrupt

    model = el.PCA(3, verbose=interrupt)
    with el.fitting(device="cuda"), pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert not hasattr(model, "model_")
    assert allocated() <= before


@pytest.mark.parametrize(
    "kernel", [RBF(0.01), Polynomial(0.05, 1.0, 3), Polynomial(0.05, -0.5, 2), Laplacian(0.03)], ids=repr
)
@pytest.mark.parametrize(
    ("n", "m", "d", "b"),
    [
        (700, 700, 20, 5),
        (130, 3000, 1, 1),
        (900, 257, 64, 64),
        (600, 500, 110, 140),
        (300, 500, 200, 64),
        (300, 500, 300, 3),
    ],
)
def test_products_with_a_kernel_matrix_are_as_accurate_as_float32(kernel, n, m, d, b):
    X, Y, Q = rows(n, d, 1.0), rows(m, d, 1.0, seed=1), RNG.standard_normal((m, b))
    K = kernel(X.astype(np.float64), Y.astype(np.float64))
    found = to_numpy(kernel_matmul(cuda(X), cuda(Y), cuda(Q), kernel))
    bound = np.linalg.norm(K, axis=1)[:, None] * np.linalg.norm(Q, axis=0)
    assert np.abs(found - K @ Q).max() <= 2e-6 * bound.max()
    sums = KernelSums(cuda(X), cuda(Y), kernel)
    assert (sums.fused is None) == (d > MAX_FUSED_COLUMNS and kernel.name != "laplacian")
    rough = to_numpy(sums.product(cuda(Q), precise=False))
    assert np.linalg.norm(rough - K @ Q) <= 1e-3 * np.linalg.norm(K) * np.linalg.norm(Q, 2)


def test_distances_that_float32_would_lose_are_made_in_float64():
    X = np.vstack([rows(300, 5), rows(300, 5) + 3000.0])  # two groups far apart beside their widths
    kernel = RBF(0.5)
    sums = KernelSums(cuda(X), cuda(X), kernel)
    assert sums.fused is None
    Q = RNG.standard_normal((600, 2))
    np.testing.assert_allclose(
        to_numpy(sums.product(cuda(Q))), kernel(X.astype(np.float64), X.astype(np.float64)) @ Q, atol=1e-4
    )


@pytest.mark.parametrize("form", ["gaussian", "laplace"])
@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_density_sums_to_one_in_a_hundred_thousand(form, d):
    points, weights = 40.0 * RNG.standard_normal((3000, d)) + 500.0, RNG.random(3000) + 0.1
    queries = np.vstack([points[:100] + 0.3, np.full((1, d), 1e5), 500.0 + 60.0 * RNG.standard_normal((500, d))])
    queries = queries.astype(np.float32)
    near = cuda(queries)
    found = DevicePoints(points, weights, form, near).log_sums(near.double())
    in_memory = near.cpu().double()
    expected = DevicePoints(points, weights, form, in_memory).log_sums(in_memory)
    assert np.abs(np.expm1(found - expected)).max() <= 1e-5


def test_a_mixture_pass_is_in_float64():
    X = rows(9001, 7)
    means, roots = X[:4].astype(np.float64), np.tile(np.eye(7), (4, 1, 1))
    constants = np.full(4, -1.0)
    expected = mixture_passes(X.astype(np.float64), None, constants, means, roots)
    loglik, *sums = tensor_mixture_pass(cuda(X), None, constants, means, roots)
    np.testing.assert_allclose(loglik, expected.loglik[0], rtol=1e-12)
    for found, true in zip(sums, expected[1:], strict=True):
        np.testing.assert_allclose(found, true, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_rows_arrive_as_they_were(dtype):
    X = np.asfortranarray((100.0 * RNG.standard_normal((100_000, 33))).astype(dtype))
    kind = np.dtype(np.float32 if dtype is np.float32 else np.float64)
    locked = X.copy()
    locked.flags.writeable = False
    for given in (X, np.ascontiguousarray(X), X[::2, ::3], X[::-1], locked):
        with Sender(kind, cuda(X[:1]).device) as sender:
            parts = list(sender.blocks(given))
        np.testing.assert_array_equal(np.concatenate([to_numpy(part) for part in parts]), given)


# ---- models -----------------------------------------------------------------------------------------------------


def blobs():
    X, y = rows(6000, 5, offset=2.0), np.arange(6000) % 3
    X[np.arange(6000), y] += 4.0
    return X, y


MODELS = {
    "PCA": lambda X, y, **w: el.PCA(3).fit(X, **w).explained_variance_,
    "PCA transform": lambda X, y, **w: el.PCA(3).fit(X, **w).transform(X),
    "KernelPCA": lambda X, y, **w: el.KernelPCA(4, gamma=0.05).fit(X, **w).eigenvalues_,
    "KernelPCA transform": lambda X, y, **w: el.KernelPCA(2, gamma=0.05).fit(X, **w).transform(X[:500]),
    "KernelPCA poly": lambda X, y, **w: el.KernelPCA(4, kernel="poly").fit(X, **w).eigenvalues_,
    "KernelPCA laplacian": lambda X, y, **w: el.KernelPCA(4, kernel="laplacian", gamma=0.1).fit(X, **w).eigenvalues_,
    "KernelPCA sigmoid": lambda X, y, **w: el.KernelPCA(2, kernel="cosine").fit(X[:900], **w).eigenvalues_,
    "KernelPCA uncentred": lambda X, y, **w: el.KernelPCA(4, gamma=0.05, center=False).fit(X, **w).eigenvalues_,
    "KernelPCA all": lambda X, y, **w: el.KernelPCA(gamma=0.05).fit(X[:300]).eigenvalues_[:50],
    "KernelPCA share": lambda X, y, **w: el.KernelPCA(0.6, gamma=0.05).fit(X, **w).eigenvalues_,
    "landmarks": lambda X, y, **w: el.KernelPCA(
        4, gamma=0.05, approximation="rpcholesky", n_landmarks=200, random_state=0).fit(X, **w).eigenvalues_,
    "KernelDensity": lambda X, y, **w: np.exp(
        to_numpy(el.KernelDensity(bandwidth=0.7).fit(X, **w).score_samples(X[:900]))),
    "GaussianMixture": lambda X, y, **w: el.GaussianMixture(3, random_state=0).fit(X, **w).means_,
    "GaussianMixture diag": lambda X, y, **w: el.GaussianMixture(
        3, covariance_type="diag", random_state=0).fit(X, **w).means_,
    "ProbabilisticPCA": lambda X, y, **w: el.ProbabilisticPCA(2).fit(X, **w).score_samples(X),
    "FactorAnalysis": lambda X, y, **w: el.FactorAnalysis(1).fit(X, **w).score_samples(X),
    "NaiveBayes": lambda X, y, **w: el.NaiveBayes("gaussian").fit(X, y, **w).predict_proba(X),
    "LinearDiscriminant": lambda X, y, **w: el.LinearDiscriminant().fit(X, y, **w).predict_proba(X),
    "QuadraticDiscriminant": lambda X, y, **w: el.QuadraticDiscriminant().fit(X, y, **w).predict_proba(X),
}  # fmt: skip


@pytest.mark.parametrize("weight", ["", "weighted"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", MODELS)
def test_models_are_those_of_float64_on_the_processor(name, dtype, weight):
    X, y = blobs()
    given = {"sample_weight": np.arange(6000) % 3 + 0.5} if weight and "sigmoid" not in name else {}
    expected = to_numpy(MODELS[name](X.astype(np.float64), y, **given))
    found = to_numpy(MODELS[name](cuda(X.astype(dtype)), cuda(y), **given))
    tolerance = {"float32": 2e-5, "float64": 1e-7}[dtype]
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


SENT = [name for name in MODELS if name not in ("KernelDensity", "NaiveBayes")]


@pytest.mark.parametrize("name", SENT)
def test_rows_in_memory_are_sent_to_the_device(name):
    X, y = blobs()
    expected = MODELS[name](X.astype(np.float64), y)
    with el.fitting(device="cuda"):
        found = MODELS[name](X, y)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5 * np.abs(expected).max())


def test_containers_of_all_kinds_are_sent(tmp_path):
    pd = pytest.importorskip("pandas")

    X, _ = blobs()
    expected = el.PCA(2).fit(X.astype(np.float64)).explained_variance_
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    for given in (
        X,
        np.asfortranarray(X),
        X.astype(np.float64),
        mapped,
        pd.DataFrame(X, columns=list("abcde")),
        el.scan(tmp_path / "rows.npy"),
    ):
        with el.fitting(device="cuda:0"):
            found = el.PCA(2).fit(given)
        np.testing.assert_allclose(found.explained_variance_, expected, rtol=1e-6)
        found.transform(given)


def test_a_model_of_one_device_takes_rows_of_another():
    X, _ = blobs()
    for model in (el.PCA(2), el.KernelPCA(2, gamma=0.05)):
        on_device = model.fit(cuda(X))
        there = on_device.transform(cuda(X[:50]))
        np.testing.assert_allclose(on_device.transform(X[:50]), to_numpy(there), atol=1e-4)
        assert on_device.transform(cuda(X[:50]).cpu()).device.type == "cpu"
        in_memory = type(model)(**model.get_params()).fit(X)
        back = in_memory.transform(cuda(X[:50]))
        assert back.device.type == "cuda"
        np.testing.assert_allclose(to_numpy(back), to_numpy(there), atol=1e-4)


def test_labels_and_weights_may_be_on_either_side():
    X, y = blobs()
    w = np.arange(6000) % 3 + 0.5
    expected = el.LinearDiscriminant().fit(X, y, sample_weight=w).coef_
    for labels in (y, cuda(y), cuda(y).cpu()):
        for weights in (w, cuda(w), cuda(w).cpu()):
            found = to_numpy(el.LinearDiscriminant().fit(cuda(X), labels, sample_weight=weights).coef_)
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


# ---- what goes wrong --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_entries_that_are_not_finite_are_found(bad, dtype):
    X = rows(3000, 5, dtype=dtype)
    X[1234, 3] = bad
    for model in (el.PCA(2), el.KernelPCA(2), el.KernelPCA(2, approximation="rpcholesky", n_landmarks=50)):
        with pytest.raises(el.DataError, match="NaN" if np.isnan(bad) else "infinit"):
            model.fit(cuda(X))
    before = allocated()
    with el.fitting(device="cuda"), pytest.raises(el.DataError):
        el.PCA(2).fit(X)
    assert allocated() <= before


@pytest.fixture
def little_memory():
    """A device that gives this process 1 per cent of its memory."""
    import torch

    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(0.01)
    yield SimpleNamespace(bytes=0.01 * torch.cuda.get_device_properties(0).total_memory)
    torch.cuda.set_per_process_memory_fraction(1.0)


def fails_without_memory(work):
    try:
        work()
    except ResourceError as error:
        return str(error)
    return "no error"


def test_too_little_memory_is_an_error_that_leaves_nothing(little_memory):
    X = cuda(rows(150_000, 20))
    before = allocated()
    model = el.KernelPCA(100)
    text = fails_without_memory(lambda: model.fit(X))
    assert "GB" in text
    assert "use fewer rows" in text or "approximation='rpcholesky'" in text or "max_memory" in text
    assert not hasattr(model, "model_")
    assert allocated() <= before
    el.PCA(3).fit(X)  # and the device goes on


def test_an_interrupt_leaves_the_model_and_the_memory_as_they_were():
    X = cuda(rows(20_000, 20))
    before = allocated()

    def interrupt(done, total, what):
        if what == "kernel products" and done >= 3:
            raise KeyboardInterrupt

    model = el.KernelPCA(5, verbose=interrupt)
    try:
        model.fit(X)
    except KeyboardInterrupt:
        interrupted = True
    assert interrupted
    assert not hasattr(model, "model_")
    assert allocated() <= before + 1024


def test_a_fit_leaves_no_memory_behind():
    X = cuda(rows(30_000, 20))
    before = allocated()
    el.PCA(5).fit(X).transform(X)
    el.KernelPCA(5).fit(X[:5000])
    with pytest.warns(el.ConvergenceWarning):
        el.GaussianMixture(2, random_state=0, max_iter=3).fit(X)
    with el.fitting(device="cuda"):
        el.PCA(5).fit(rows(30_000, 20))
    assert allocated() <= before


def test_a_second_device_that_is_absent():
    import torch

    name = f"cuda:{torch.cuda.device_count()}"
    with (
        pytest.raises(el.OptionError, match=f"'{name}' is not a device of this machine, which has cuda:0"),
        el.fitting(device=name),
    ):
        pass


def test_the_answer_is_the_same_every_time():
    X = cuda(rows(20_000, 50))
    for model in (el.PCA(5), el.KernelPCA(5)):
        first = to_numpy(model.fit(X).transform(X[:100]))
        np.testing.assert_array_equal(to_numpy(model.fit(X).transform(X[:100])), first)

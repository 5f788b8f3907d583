"""A Dask array gives lazy Dask arrays: the answers of the array, computed and checked chunk by chunk, on demand."""

from __future__ import annotations

import numpy as np
import pytest

import eigenlens as el

da = pytest.importorskip("dask.array")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4)) @ RNG.standard_normal((4, 4)) + [0.0, 1.0, -1.0, 2.0]
INCOMPLETE = np.where(np.arange(240).reshape(60, 4) % 23 == 5, np.nan, X)
Y = np.where(X[:, 0] > 0.5, "high", np.where(X[:, 0] < -0.5, "low", "middle"))

DENSITIES = [
    el.PCA(2), el.ProbabilisticPCA(2), el.FactorAnalysis(1), el.GaussianMixture(2, random_state=0), el.KernelDensity(),
    el.MixtureModel(2, n_init=2, random_state=0),
]  # fmt: skip
CLASSIFIERS = [
    el.NaiveBayes(), el.BayesClassifier(el.GaussianMixture(1)), el.LinearDiscriminant(), el.QuadraticDiscriminant(),
]  # fmt: skip
CASES = [
    *((model, "score_samples", X) for model in DENSITIES),
    *((el.PCA(2), method, X) for method in ("transform", "reconstruction_error", "cos2")),
    *((el.SparsePCA(2), method, X) for method in ("transform", "reconstruction_error")),
    (el.PCA(2, missing="em"), "transform", INCOMPLETE),
    *((el.KernelPCA(2), method, X) for method in ("transform", "denoise")),
    *((model, "impute", INCOMPLETE) for model in (*DENSITIES[1:4], DENSITIES[5])),
    *((DENSITIES[3], method, X) for method in ("predict", "predict_proba")),
    *((el.KernelDensity(), method, X) for method in ("density",)),
    *(
        (model, method, X)
        for model in CLASSIFIERS
        for method in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba")
    ),
    (el.LinearDiscriminant(), "decision_function", X),
]


# A Heywood case is warned of, in whatever the rows come.
@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("model", "method", "rows"), CASES, ids=[f"{type(m).__name__}.{f}" for m, f, _ in CASES])
def test_results_are_lazy_and_those_of_the_array(model, method, rows, dtype):
    rows = rows.astype(dtype)
    model.fit(rows, Y)
    expected = getattr(model, method)(rows)
    found = getattr(model, method)(da.from_array(rows, chunks=(25, 3)))
    assert isinstance(found, da.Array)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    computed = found.compute()
    assert computed.dtype == expected.dtype
    if expected.dtype.kind == "f":
        tolerance = 1e-10 if dtype == np.float64 else 1e-4
        np.testing.assert_allclose(computed, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())
    else:
        assert np.array_equal(computed, expected)


@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning")
@pytest.mark.parametrize("model", [*DENSITIES[1:4], DENSITIES[5]], ids=repr)
def test_imputed_rows_have_the_dtype_of_the_rows(model):
    rows = INCOMPLETE.astype(np.float32)
    for found in model.fit(rows).impute(rows, return_std=True):
        assert found.dtype == np.float32


def test_standard_deviations_of_imputed_values_are_lazy_too():
    model = el.GaussianMixture(2, random_state=0).fit(X)
    found = model.impute(da.from_array(INCOMPLETE, chunks=(25, 4)), return_std=True)
    for lazy, expected in zip(found, model.impute(INCOMPLETE, return_std=True), strict=True):
        assert isinstance(lazy, da.Array)
        np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning")
@pytest.mark.parametrize(
    "model",
    [el.PCA(2), el.SparsePCA(2), el.ProbabilisticPCA(2), el.FactorAnalysis(1), el.KernelPCA(2, kernel="rbf")],
    ids=repr,
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_scores_are_lazy(model, dtype):
    scores = model.fit(X.astype(dtype)).transform(X.astype(dtype))
    found = model.inverse_transform(da.from_array(scores, chunks=(25, 1)))
    assert isinstance(found, da.Array)
    expected = model.inverse_transform(scores)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found.compute(), expected, rtol=1e-5 if dtype == np.float32 else 1e-10)
    with pytest.raises(el.DataError, match=r"have \d column"):
        model.inverse_transform(da.zeros((60, 3), chunks=25))


@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning")
@pytest.mark.parametrize("rows", [X, INCOMPLETE], ids=["complete", "incomplete"])
@pytest.mark.parametrize(
    "model", [el.ProbabilisticPCA(2), el.FactorAnalysis(1), el.FactorAnalysis(2, rotation="varimax")], ids=repr
)
def test_posteriors_are_lazy_with_a_covariance_for_every_row(model, rows):
    means, covariances = model.fit(X).posterior(rows)
    lazy_rows, runs = counted(rows, "all")
    found = model.posterior(lazy_rows)
    assert runs == []
    k = means.shape[1]
    assert [(each.ndim, each.shape[1:], each.dtype) for each in found] == [(2, (k,), X.dtype), (3, (k, k), X.dtype)]
    np.testing.assert_allclose(found[0].compute(), means, rtol=1e-10, atol=1e-12)
    expected = np.broadcast_to(covariances, (60, k, k))
    np.testing.assert_allclose(found[1].compute(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weight", [None, 1.0 + np.arange(60.0)], ids=["plain", "weighted"])
@pytest.mark.parametrize("method", ["contributions", "left_singular_vectors"])
def test_results_that_depend_on_weights_are_lazy(method, weight, dtype):
    rows = X.astype(dtype)
    model = el.PCA(2).fit(rows, sample_weight=weight)
    expected = getattr(model, method)(rows, sample_weight=weight)
    lazy_rows, runs = counted(rows, "all")
    found = getattr(model, method)(lazy_rows, sample_weight=weight)
    assert isinstance(found, da.Array)
    assert len(runs) == 0 if weight is None else found.shape == (60, 2)  # weights need the lengths of chunks
    tolerance = 1e-10 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(found.compute(), expected, rtol=tolerance, atol=tolerance)


def counted(rows, kept="some"):
    """A Dask array of chunks of unknown length, and how many chunks were computed so far."""
    runs = []

    def chunk(part):
        runs.append(len(part))
        return part

    lazy = da.from_array(rows, chunks=(25, 4)).map_blocks(chunk, dtype=rows.dtype, meta=np.empty((0, 0)))
    return lazy[da.ones(60, chunks=25) > 0.0] if kept == "all" else lazy[lazy[:, 0] > -0.5], runs


@pytest.mark.parametrize(
    ("model", "method"),
    [(el.PCA(2), "transform"), (el.PCA(2), "score_samples"), (el.KernelPCA(2), "transform"),
     (el.LinearDiscriminant(), "predict"), (el.NaiveBayes(), "predict_proba"), (el.ProbabilisticPCA(2), "impute")],
)  # fmt: skip
def test_chunks_of_unknown_length_are_not_computed_before_they_are_needed(model, method):
    model.fit(X, Y)
    lazy, runs = counted(X)
    found = getattr(model, method)(lazy)
    assert runs == []
    wanted = getattr(model, method)(X[X[:, 0] > -0.5])
    if isinstance(model, el.KernelPCA):  # BLAS may add the products of other numbers of rows in another order
        np.testing.assert_allclose(found.compute(), wanted, rtol=1e-13, atol=1e-15)
    else:
        np.testing.assert_array_equal(found.compute(), wanted)


def test_models_are_fitted_to_chunks_of_unknown_length():
    kept, w = X[X[:, 0] > -0.5], 1.0 + np.arange(60.0)[X[:, 0] > -0.5]
    found = el.PCA(2).fit(counted(X)[0], sample_weight=w)
    np.testing.assert_allclose(found.components_, el.PCA(2).fit(kept, sample_weight=w).components_, atol=1e-12)
    assert found.n_samples_ == len(kept)


def test_a_kernel_fit_gives_lazy_scores():
    rows = da.from_array(X, chunks=(25, 4))
    found = el.KernelPCA(2).fit_transform(rows)
    assert isinstance(found, da.Array)
    assert found.chunks[0] == rows.chunks[0]
    np.testing.assert_allclose(found.compute(), el.KernelPCA(2).fit_transform(X), atol=1e-9)


def test_chunks_without_rows_have_results_without_rows():
    model = el.GaussianMixture(2, random_state=0).fit(X)
    empty = da.concatenate([da.from_array(X[:30], chunks=10), da.from_array(X[:0], chunks=10)])
    assert np.array_equal(model.predict(empty).compute(), model.predict(X[:30]))
    assert model.predict_proba(empty).compute().shape == (30, 2)


def test_rows_are_checked_at_once_and_values_where_they_are_computed():
    model = el.LinearDiscriminant().fit(X, Y)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(da.from_array(X[:, :3], chunks=25))
    lazy = model.predict(da.from_array(np.where(np.arange(60)[:, None] == 50, np.inf, X), chunks=25))
    with pytest.raises(el.DataError, match="infinity"):
        lazy.compute()

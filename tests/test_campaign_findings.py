"""What generated calls found in densities, families, textbook steps and rows of odd containers stays mended."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path

import dask.array
import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest
from scipy import sparse

import eigenlens
from eigenlens import datasets, densities, plot, textbook
from eigenlens.cli.options import ParsingOptions
from eigenlens.data.coerce import as_source
from eigenlens.data.source import Block
from eigenlens.errors import DataError, DataWarning, EigenlensError, ModelFileError, OptionError
from eigenlens.estimator.storage import TABLE_ENTRY_TYPES, TEXTS

pytest.importorskip("torch", reason="PYTORCH IS NOT INSTALLED")
sys.path.append(str(Path(__file__).parents[1]))
import torch
from campaigns.containers import outside
from campaigns.values import labels, rows, spoilt, weights

X, Y = rows(24, 3), labels(24)
FAMILIES = {
    "Gaussian": densities.GaussianFamily(),
    "diagonal": densities.GaussianFamily("diagonal"),
    "sigma": densities.GaussianFamily(sigma=2.0),
    "Bernoulli": densities.BernoulliFamily(),
    "Categorical": densities.CategoricalFamily(),
    "Histogram": densities.HistogramFamily([-20.0, 0.0, 20.0]),
    "Multinomial": densities.MultinomialFamily(),
    "Product": densities.ProductFamily([densities.GaussianFamily(), densities.GaussianFamily()]),
}
COVARIANCES = [densities.Full(np.eye(2)), densities.Diagonal([1.0, 2.0]), densities.Spherical(2.0, 2)]
MODEL = densities.LinearGaussian(np.zeros(3), np.ones((3, 1)), 1.0)
LATENTS = textbook.expected_latents(MODEL, X)


# ---- families -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_block_and_statistics_of_another_type_are_named(family):
    for block in (3.0, X, None, (X, None)):
        with pytest.raises(OptionError, match=r"block is a \w+, and must be a Block"):
            family.summarise(block)
    for statistics in (3.0, X, None, len):
        with pytest.raises(OptionError, match=r"statistics is a \w+, and must be a \w+"):
            family.estimate(statistics)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize(
    "weight", [np.ones(3), np.full(4, np.nan), np.full(4, -1.0), np.full(4, 1e300), np.array(["a"] * 4), [None] * 4]
)
def test_weights_of_a_block_are_one_finite_number_per_row(family, weight):
    with pytest.raises(OptionError, match="weight"):
        family.summarise(densities.Block(np.ones((4, 2)), weight))


@pytest.mark.parametrize("family", [FAMILIES["Gaussian"], FAMILIES["sigma"], FAMILIES["Multinomial"]])
@pytest.mark.parametrize("wrong", ["red", len, {1.0}, np.zeros((2, 2, 2)), np.full((4, 2), "red"), [[1.0], [2.0, 3.0]]])
def test_a_block_without_numbers_is_named(family, wrong):
    with pytest.raises(EigenlensError, match="block"):
        family.summarise(densities.Block(wrong))


def test_a_block_may_be_a_list_a_frame_or_any_sparse_matrix():
    whole = FAMILIES["Gaussian"].summarise(densities.Block(X, weights(24)))
    frame, matrix = pd.DataFrame(X), sparse.csc_array(X)
    for given in (
        X.tolist(),
        frame,
        matrix,
        X.astype(np.longdouble),
        np.ma.masked_array(X),
    ):  # of which the last has no masked entry
        found = FAMILIES["Gaussian"].summarise(densities.Block(given, pd.Series(weights(24))))
        np.testing.assert_allclose(found.scatter, whole.scatter, rtol=1e-12)


def test_a_multinomial_family_rejects_what_are_not_counts():
    for wrong in ([[1.0, -2.0]], [[0.5, 1.0]], [[np.nan, 1.0]]):
        with pytest.raises(DataError, match="whole numbers from 0 on"):
            FAMILIES["Multinomial"].summarise(densities.Block(np.array(wrong)))


def test_masked_entries_are_missing_for_a_latent_gaussian():
    masked, gaps = np.ma.masked_greater(X, 4.0), np.where(X > 4.0, np.nan, X)
    assert np.isnan(gaps).any()
    np.testing.assert_array_equal(MODEL.log_density(masked), MODEL.log_density(gaps))
    np.testing.assert_array_equal(MODEL.posterior(masked)[0], MODEL.posterior(gaps)[0])


# ---- covariances ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda C: C.whiten([[1.0, 2.0, 3.0]]), "deviations"),
        (lambda C: C.whiten("red"), "deviations"),
        (lambda C: C.colour(len), "z"),
        (lambda C: C.observed_log_density(np.zeros((2, 3))), "deviations"),
        (lambda C: C.expected({1.0}), "deviations"),
        (lambda C: C.given([0], 2.5, [[1.0]]), "rest"),
        (lambda C: C.given(["mass"], [1], [[1.0]]), "columns"),
        (lambda C: C.part([2]), "columns"),
        (lambda C: C.part(np.array([0, 0])), "columns"),
        (lambda C: C.scaled([1.0]), "scale"),
        (lambda C: C.scaled([1.0, np.nan]), "scale"),
        (lambda C: C.errors([0.0, 1.0]), "weight"),
        (lambda C: C.degrees(len), "weight"),
    ],
)
def test_arguments_of_covariances_are_named(covariance, call, argument):
    with pytest.raises(EigenlensError, match=rf"\b{argument}\b"):
        call(covariance)


@pytest.mark.parametrize("sigma", [1e200, 1e-200, [1.0, 1e-300, 1.0]])
def test_a_sigma_whose_square_floats_cannot_hold_is_an_error(sigma):
    with pytest.raises(OptionError, match=r"sigma=.* between 1e-150 and 1e150"):
        densities.Gaussian.fit(X, sigma=sigma)
    if np.ndim(sigma) == 0:
        with pytest.raises(OptionError, match=r"sigma=.* between 1e-150 and 1e\+150"):
            eigenlens.gram(X, sigma=sigma)


# ---- the likelihood, and steps of EM --------------------------------------------------------------------------


def _two(mean, variance):
    return densities.Gaussian([mean], densities.Spherical(variance, 1))


@pytest.mark.filterwarnings("ignore::eigenlens.errors.DataWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: densities.log_likelihood(3.0, [0, 1], 0.5), "make"),
        (lambda: densities.log_likelihood(densities.Bernoulli, {"a": 1}, 0.5), "x"),
        (lambda: densities.log_likelihood(densities.Bernoulli, [[0], [0, 1]], 0.5), "x"),
        (lambda: densities.log_likelihood(_two, [0.0, 1.0], [0.5] * 2, [1.0] * 3), "theta"),
        (lambda: densities.maximise_likelihood(_two, [0.0, 1.0], 0.5), "make"),
        (lambda: densities.maximise_likelihood(_two, [0.0, 1.0], np.eye(2)), "start"),
        (lambda: densities.maximise_likelihood(_two, [0.0, 1.0], [0.0, -1.0]), "start"),
        (lambda: textbook.maximise_expected(np.zeros(3), X, 3.0), "latents"),
        (lambda: textbook.maximise_expected(np.zeros(3), X[:5], LATENTS), "latents"),
        (lambda: textbook.maximise_expected(np.zeros(3), X, LATENTS._replace(squares=np.zeros((1, 1)))), "latents"),
        (lambda: textbook.maximise_expected({}, X, LATENTS), "mean"),
        (lambda: textbook.em_step(MODEL, np.empty((0, 3))), "X"),
        (lambda: FAMILIES["Histogram"].summarise(densities.Block(X)), "block"),
        (lambda: textbook.expected_complete_log_likelihood(MODEL, X, X), "latents"),
        (lambda: eigenlens.accumulate(X, len), "source"),
        (lambda: eigenlens.accumulate(as_source(X), 3.0), "summarise"),
        (lambda: eigenlens.accumulate(as_source(X), len, progress=3.0), "progress"),
        (lambda: eigenlens.procrustes(X, X * 1e300), "target"),
        (lambda: eigenlens.bandwidth(spoilt(X[:, 0], 1e308, 0)), "X"),
        (lambda: eigenlens.bandwidth([[1.0, 2.0], [3.0]]), "x"),
        (lambda: eigenlens.cronbach_alpha(X, standardize=np.eye(2)), "standardize"),
        (lambda: eigenlens.load(""), "path"),
        (lambda: densities.Multinomial.fit([[1, 2], [3]]), "X"),
        (lambda: densities.Categorical([0.5, 0.5], np.zeros((2, 2, 2))), "levels"),
        (lambda: densities.Histogram([0.0, 1.0], [1.0]).condition(sparse.eye_array(3), [0.0]), "columns"),
        (lambda: eigenlens.PCA().fit(X).get_feature_names_out(3.0), "input_features"),
        (lambda: eigenlens.PCA().fit(X).reconstruction_error(X, per_row=np.eye(2)), "per_row"),
        (lambda: eigenlens.NaiveBayes().fit(X, Y).explain(X, of=[[0], [1, 0]]), "of"),
        (lambda: eigenlens.NaiveBayes().fit(X, Y).explain(X, against=sparse.eye_array(3)), "against"),
        (lambda: plot.confusion(eigenlens.GaussianMixture().fit(X), X, Y), "model"),
        (lambda: plot.explanation(eigenlens.GaussianMixture().fit(X), X), "model"),
        (lambda: plot.calibration(eigenlens.NaiveBayes().fit(X, Y), X, [[0, 1], [1]]), "y"),
        (lambda: plot.density(eigenlens.KernelDensity().fit(X[:, :1]), histogram=["red", "blue"]), "histogram"),
        (lambda: eigenlens.LinearDiscriminant().fit(rows(3, 6), labels(3)).predict_proba(rows(3, 6) * 1e307), "X"),
        (lambda: densities.Categorical.fit([0, 1], reserve=10**400), "reserve"),
        (lambda: eigenlens.accumulate(as_source(X), len, progress=type(None)), "progress"),
        (lambda: plot.biplot(eigenlens.PCA().fit(X), X, alpha=sparse.eye_array(3)), "alpha"),
    ],
)
def test_the_argument_is_named(call, argument):
    with pytest.raises(EigenlensError, match=rf"\b{argument}\b"):
        call()


def test_parameters_that_a_density_rejects_late_have_likelihood_0():
    found = densities.log_likelihood(_two, [0.0, 1.0], 0.5, [1.0, -1.0])
    assert np.isfinite(found[0])
    assert found[1] == -np.inf


# ---- rows -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.bsr_matrix])
def test_a_sparse_matrix_with_entries_outside_its_shape_is_an_error(make):
    """SciPy would write to foreign memory."""
    for model in (eigenlens.PCA(1), eigenlens.ProbabilisticPCA(1), eigenlens.KernelDensity()):
        with pytest.raises(DataError, match=r"X is a sparse matrix .* outside it"):
            model.fit(outside(make(X)))
    with pytest.raises(DataError, match=r"X is a sparse matrix .* outside it"):
        MODEL.log_density(outside(make(X)))


def test_a_tensor_without_numbers_is_an_error():
    with pytest.raises(DataError, match="X is a tensor on the device 'meta'"):
        eigenlens.PCA(1).fit(torch.ones((5, 3), device="meta"))
    with pytest.raises(OptionError, match="second"):
        eigenlens.principal_angles(X, torch.ones((24, 3), device="meta"))


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.float16])
def test_scores_may_be_tensors_of_any_numbers(dtype):
    model, Z = eigenlens.PCA(2).fit(X), torch.ones((4, 2), dtype=dtype)
    np.testing.assert_allclose(model.inverse_transform(Z).numpy(), model.inverse_transform(np.ones((4, 2))))


@pytest.mark.parametrize(
    "call",
    [
        eigenlens.KernelPCA(None).fit,
        plot.pairs,
    ],
)
def test_chunks_that_are_all_empty_are_no_rows(call):
    empty = dask.array.from_array(X, chunks=(8, 3))
    with pytest.raises(DataError, match="X has 0 rows"):
        call(empty[empty[:, 0] > 1e9])


def test_a_posterior_of_chunks_that_are_all_empty_has_no_rows():
    empty = dask.array.from_array(X, chunks=(8, 3))
    means, _ = eigenlens.ProbabilisticPCA(1).fit(X).posterior(empty[empty[:, 0] > 1e9])
    assert means.compute().shape == (0, 1)


@pytest.mark.parametrize("density", [densities.Categorical([0.5, 0.5]), densities.Bernoulli(0.5)])
def test_categories_may_be_sparse_or_of_dask(density):
    x = np.array([[0.0], [1.0], [1.0]])
    lazy = dask.array.from_array(x, chunks=2)
    for given in (sparse.csr_matrix(x), sparse.dia_matrix(x), lazy, lazy[lazy[:, 0] > -1.0]):
        np.testing.assert_array_equal(density.log_density(given), density.log_density(x))


def test_a_bootstrap_of_a_single_row_ends():
    model = eigenlens.PCA(1).fit(X[:3])
    for w in ([0.3, 0.7, 0.3], [3.0, 0.0, 0.0], [2.0, 1e-300, 0.0]):
        with pytest.raises(DataError, match="sample_weight gives draws of"):
            model.bootstrap(X[:3], 5, sample_weight=w, random_state=0)


def test_groups_may_be_one_column_by_name_or_number(tmp_path):
    path = tmp_path / "plots.csv"
    path.write_text("site,height\nnorth,1.5\n,2.5\nsouth,3.5\n")
    for given in ("site", 0, ["site"]):
        assert eigenlens.scan(path, label="site", fill_down=given).read_label().tolist() == ["north", "north", "south"]
    with pytest.raises(OptionError, match="fill_down"):
        eigenlens.scan(path, fill_down=[[1], [2, 3]])


def test_a_frame_of_one_block_is_converted_once():
    source = as_source(pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [1.5, 2.5, 3.5]}))
    first, second = (next(source.rows()) for _ in range(2))
    assert first is second
    np.testing.assert_array_equal(first, [[1.0, 1.5], [np.nan, 2.5], [3.0, 3.5]])


# ---- select_mixture -------------------------------------------------------------------------------------------


def test_folds_have_all_the_starts_of_a_fit():
    flowers = datasets.load("iris").data
    table = eigenlens.select_mixture(flowers, 3, "full", cv=2, random_state=0)
    alone = eigenlens.GaussianMixture(3, random_state=0)
    assert table.held_out[0] == eigenlens.compare({"": alone}, flowers, cv=2, random_state=0).means[0]


# ---- digits, odd options and files --------------------------------------------------------------------------------


@pytest.mark.parametrize("center", [True, False])
def test_many_partial_fits_keep_the_digits_of_small_variances(center, tmp_path):
    A = np.random.default_rng(3).standard_normal((200, 4)) * [1.0, 1e-2, 1e-4, 1e-6]
    A = A @ np.linalg.qr(np.random.default_rng(4).standard_normal((4, 4)))[0]
    model = eigenlens.PCA(center=center)
    for part in np.array_split(A, 9):
        model.partial_fit(part)
    model.save(tmp_path / "model.safetensors")
    again = eigenlens.load(tmp_path / "model.safetensors").partial_fit(A[:7])
    for fitted, used in ((model, A), (again, np.concatenate([A, A[:7]]))):
        wide = used.astype(np.longdouble)
        wide = wide - wide.mean(axis=0) if center else wide
        wanted = np.linalg.svd(wide.astype(float), compute_uv=False) ** 2 / (len(used) - center)
        np.testing.assert_allclose(fitted.explained_variance_, wanted, rtol=1e-8)


def test_offsets_that_are_exact_do_not_change_a_bit():
    grid = np.round(1024.0 * X) / 1024.0
    here, there = (eigenlens.FactorAnalysis(1).fit(grid + offset).noise_variance_ for offset in (0.0, 1e6))
    np.testing.assert_array_equal(here, there)


def test_a_flat_likelihood_of_factors_is_followed_to_its_maximum():
    """Of this table the curvature is 3e-5 in one direction, where a small gradient says little."""
    from campaigns.accuracy import _grid
    from campaigns.base import case_rng

    from eigenlens.latent.factor.newton import ProfileStack

    table = _grid(case_rng(7, 29), 300, 6)
    found = eigenlens.FactorAnalysis(2).fit(table)
    point = ProfileStack(np.corrcoef(table.T), 2, 1e-8).at(np.log(found.noise_variance_ / table.var(axis=0))[None])
    assert np.linalg.eigvalsh(point.H[0])[0] < 1e-4
    assert np.abs(point.g).max() < 1e-12


@pytest.mark.parametrize("pooled", [True, False])
def test_expected_moments_of_incomplete_rows_are_those_of_one_pattern_at_a_time(pooled, monkeypatch):
    gaps = np.where(np.random.default_rng(5).random(X.shape) < 0.3, np.nan, X)
    kind = eigenlens.LinearDiscriminant if pooled else eigenlens.QuadraticDiscriminant
    fast = kind().fit(gaps, Y)
    monkeypatch.setattr(densities.Full, "regular", False)
    slow = kind().fit(gaps, Y)
    np.testing.assert_allclose(fast.means_, slow.means_, rtol=1e-7)
    np.testing.assert_allclose(fast.predict_log_proba(gaps), slow.predict_log_proba(gaps), rtol=1e-5, atol=1e-6)


LDA = eigenlens.LinearDiscriminant().fit(X, Y)
ODD_CALLS = {
    "rows of 1.7e308, transform": lambda: LDA.transform(np.full((2, 3), 1.7e308)),
    "rows of 1.7e308, decision": lambda: LDA.decision_function(np.array([[1.7e308, 1.7e308, -1.7e308]] * 2)),
    "a covariance of zeros": lambda: textbook.em_path(MODEL, np.zeros((3, 3)), 40, 3),
    "a report of rows of 1e155": lambda: eigenlens.report(eigenlens.PCA().fit(X), X * 1e155, path="page.html"),
    "chromosomes": lambda: eigenlens.GenotypePCA(chromosomes=np.array([np.inf, 1.0])).fit(X),
    "a checkpoint of a long name": lambda: eigenlens.PCA().fit(X, checkpoint="x" * 5000),
    "a prefix": lambda: eigenlens.GenotypePCA(2).fit(np.rint(np.abs(X)).clip(0, 2)).write_plink([1.0]),
    "a class": lambda: densities.Gaussian(np.zeros(2), eigenlens.PCA),
    "a spoilt matrix": lambda: eigenlens.LinearDiscriminant(target=outside(sparse.csr_matrix(X))).fit(X, Y),
    "a supplementary model": lambda: plot.correlation_circle(eigenlens.PCA().fit(X), supplementary=eigenlens.PCA()),
    "a large degree": lambda: eigenlens.KernelPCA(kernel="poly", degree=2**31).fit(X),
    "a large smoothing": lambda: eigenlens.NaiveBayes("bernoulli", smoothing=1e308).fit(X > 0.0, Y),
}


@pytest.mark.parametrize("name", ODD_CALLS)
def test_odd_calls_are_errors_of_the_package(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EigenlensError):
        ODD_CALLS[name]()


def test_calibration_takes_tiny_weights():
    table = eigenlens.NaiveBayes().fit(X, Y)
    assert plot.calibration(table, X, Y, sample_weight=np.full(24, 1e-300)) is not None


# ---- names, empty blocks and columns that overflow ------------------------------------------------------------


@pytest.mark.parametrize("names", [[1, True, "b"], [1, "1", "b"], ["b", "b", 1]])
def test_names_that_are_equal_are_an_error(names):
    frame = pd.DataFrame(X)
    frame.columns = names
    for fit in (eigenlens.PCA(1).fit, lambda rows: eigenlens.NaiveBayes().fit(rows, Y), densities.Gaussian.fit):
        with pytest.raises(DataError, match="two columns named"):
            fit(frame)


def test_equal_columns_of_arrow_have_names_of_their_own():
    table = pyarrow.table({"a": X[:, 0], "b": X[:, 0]})
    assert eigenlens.PCA(1).fit(table).feature_names_in_.tolist() == ["a", "b"]


def test_blocks_of_rows_that_weigh_nothing_change_nothing():
    n = len(X)
    weight, whole = np.r_[np.zeros(n), np.ones(n)], np.concatenate([X + 5.0, X])
    chunks = dask.array.from_array(whole, chunks=(n, 3))
    for model in (eigenlens.LinearDiscriminant(), eigenlens.QuadraticDiscriminant(), eigenlens.NaiveBayes()):
        fitted = model.fit(chunks, np.r_[Y, Y], sample_weight=weight).predict_log_proba(X)
        np.testing.assert_allclose(fitted, model.fit(X, Y).predict_log_proba(X), rtol=1e-9, atol=1e-12)
    loadings = eigenlens.ProbabilisticPCA(1).fit(chunks, sample_weight=weight).get_covariance()
    np.testing.assert_allclose(loadings, eigenlens.ProbabilisticPCA(1).fit(X).get_covariance(), rtol=1e-9)


def test_a_chunk_without_rows_has_a_largest_modulus_of_0():
    empty = dask.array.concatenate([dask.array.zeros((0, 3)), dask.array.from_array(X, chunks=(8, 3))])
    np.testing.assert_allclose(eigenlens.PCA(2).fit(empty).mean_, X.mean(axis=0))


@pytest.mark.filterwarnings("ignore:column 0 is constant in class 0")
def test_a_variance_that_overflows_between_classes_is_an_error():
    with pytest.raises(DataError, match=r"squares overflow, in 1 of 2 Gaussian columns \(1\)"):
        eigenlens.NaiveBayes("gaussian").fit([[1.0, 1e160], [2.0, -1e160], [4.0, 5e159]], [0, 1, 2])


def test_draws_of_a_column_without_entries_are_missing_with_a_warning():
    rows = np.column_stack([np.arange(24) % 3, np.full(24, np.nan)])
    model = eigenlens.NaiveBayes("categorical").fit(rows, Y)
    with pytest.warns(DataWarning, match="column 1 of X had no observed entry in the fit"):
        drawn = model.sample(5, random_state=0)
    assert pd.isna(drawn[:, 1]).all()
    assert not pd.isna(drawn[:, 0]).any()


@pytest.mark.parametrize("returned", ["text", None, [[1.0], [2.0, 3.0]], {}, 10**400], ids=repr)
def test_a_rotation_that_returns_no_matrix_is_named(returned):
    def mine(L):
        return returned

    model = eigenlens.PCA(2).fit(X)
    for call in (lambda: plot.rotation(model, mine), lambda: eigenlens.PCA(2, rotation=mine).fit(X)):
        with pytest.raises(OptionError, match="rotation='mine' returned"):
            call()


@pytest.mark.parametrize("solver", ["minres", "principal-axis"])
def test_without_factors_uniquenesses_have_the_errors_of_variances(solver):
    errors = eigenlens.FactorAnalysis(0, solver=solver).fit(X).standard_errors()
    expected = X.var(axis=0) * np.sqrt(2.0 / len(X))
    np.testing.assert_allclose(errors.noise_variance, expected, rtol=1e-9)


# ---- what a model file remembers of its table -----------------------------------------------------------------

REMEMBERED = {"separator": ";", "na": ["x"], "header": True, "skip": 1, "max_ratio": 300.5, "transpose": False}


def _with_table(path, text=(), columns=()):
    model = eigenlens.PCA(1).fit(X)
    model.table_ = {"text": dict(text), "columns": dict(columns), "rows": 24, "digest": ""}
    model.save(path)
    return eigenlens.load(path).table_


def test_options_of_a_table_are_of_their_types(tmp_path):
    path = tmp_path / "model.safetensors"
    assert _with_table(path, REMEMBERED, {"id": "a", "label": ["b"]})["text"] == REMEMBERED
    for name, value in {
        "separator": True,
        "na": "x",
        "header": 1,
        "skip": "auto",
        "max_ratio": "much",
        "what": "x",
    }.items():
        with pytest.raises(ModelFileError, match=name):
            _with_table(tmp_path / "other.safetensors", REMEMBERED | {name: value})
    for name, value in {"id": ["a"], "label": "b", "weight": 3, "text": ["c"]}.items():
        with pytest.raises(ModelFileError, match=name):
            _with_table(tmp_path / "other.safetensors", {}, {name: value})


def test_every_option_for_reading_a_table_has_a_type_in_model_files():
    types = {"str": "str", "bool": "bool", "int": "int", "float": "float"}
    options = {each.name: types.get(str(each.type).partition(" ")[0], TEXTS) for each in fields(ParsingOptions)}
    assert TABLE_ENTRY_TYPES["text"] == options | {"markers": TEXTS, "text": TEXTS}


def test_a_checkpoint_with_a_null_character_is_an_error():
    with pytest.raises(OptionError, match="checkpoint"):
        eigenlens.PCA(1).fit(X, checkpoint="nul\x00byte")


def test_products_take_tensors_that_record_gradients():
    torch = pytest.importorskip("torch")
    density = densities.Product((densities.Bernoulli(0.3), densities.Gaussian(np.zeros(1), np.eye(1))))
    rows = torch.tensor([[1.0, 0.5], [0.0, -1.0]], dtype=torch.float64, requires_grad=True)
    np.testing.assert_array_equal(density.log_density(rows), density.log_density(rows.detach().numpy()))


def _changed_file(model, path, change):
    from campaigns.model_files import Content

    model.save(path)
    content = Content(path.read_bytes())
    change(content)
    path.write_bytes(content.to_bytes())
    return path


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tol", "0.1"),
        ("standardize", 1),
        ("solver", 3),
        ("n_components", True),
        ("rotation_options", [1]),
        ("tol", None),
    ],
)
def test_parameters_of_model_files_are_of_the_types_of_the_signature(name, value, tmp_path):
    def change(content):
        content.envelope["header"]["parameters"][name] = value

    path = _changed_file(eigenlens.PCA(1).fit(X), tmp_path / "pca.safetensors", change)
    with pytest.raises(ModelFileError, match=rf"'{name}' of 'parameters'"):
        eigenlens.load(path)


def test_bounds_in_model_files_are_those_of_the_density(tmp_path):
    def change(content):
        content.envelope["header"]["parameters"]["bounds"] = [None, 1e100]

    model = eigenlens.KernelDensity(bounds=(None, X.max() + 1.0)).fit(X)
    with pytest.raises(ModelFileError, match="'bounds' of 'parameters'"):
        eigenlens.load(_changed_file(model, tmp_path / "density.safetensors", change))


@pytest.mark.parametrize("cls", [eigenlens.PCA, eigenlens.FactorAnalysis])
def test_options_of_a_rotation_in_model_files_are_those_it_takes(cls, tmp_path):
    def change(content):
        content.envelope["header"]["parameters"]["rotation_options"] = {"powr": 3.0}

    path = _changed_file(cls(2, rotation="promax").fit(X), tmp_path / "model.safetensors", change)
    with pytest.raises(ModelFileError, match="do not fit rotation='promax'"):
        eigenlens.load(path)


@pytest.mark.parametrize("model", [eigenlens.GaussianMixture(2, random_state=0), eigenlens.FactorAnalysis(1)])
def test_paths_of_model_files_are_not_longer_than_the_iteration(model, tmp_path):
    model.fit(X)

    def longer(content):
        path = content.arrays["path"]
        content.arrays["path"] = np.concatenate([np.full(model.n_iter_ + 2, path[0]), path])

    with pytest.raises(ModelFileError, match="'path' has more steps"):
        eigenlens.load(_changed_file(model, tmp_path / "model.safetensors", longer))


def test_a_folder_is_not_a_file_name():
    with pytest.raises(OptionError, match=r"path='\.' is not a file name"):
        eigenlens.PCA(1).fit(X).save(".")


def test_a_likelihood_maximum_made_by_hand_is_checked():
    good = {"parameters": np.ones(2), "density": None, "loglik": 0.0, "information": np.eye(2), "converged": True}
    np.testing.assert_array_equal(densities.LikelihoodMaximum(**good, fitted=None).standard_errors(), [1.0, 1.0])
    for name, value in {"parameters": "a", "information": [1, 2], "converged": 3}.items():
        with pytest.raises(OptionError, match=name):
            densities.LikelihoodMaximum(**good | {name: value}, fitted=None)


def test_a_rotated_component_without_variance_gets_no_contributions():
    found = eigenlens.PCA(rotation="quartimax").fit(rows(2, 3, 2)).contributions()
    np.testing.assert_allclose(found.sum(axis=0), [100.0, 0.0], atol=1e-9)


def test_contributions_that_overflow_are_an_error_about_the_rows():
    model = eigenlens.LinearDiscriminant().fit(rows(12, 3, 1), labels(12))
    with pytest.raises(EigenlensError, match=r"\bX\b"):
        model.explain(rows(12, 3, 1) * 1e307)


@pytest.mark.parametrize("family", [densities.CategoricalFamily, densities.BernoulliFamily])
def test_nan_is_not_a_category(family):
    with pytest.raises(OptionError, match="levels"):
        family(levels=[np.nan])


def test_a_missing_file_of_genotypes_names_x():
    with pytest.raises(EigenlensError, match="X: 'nonsense' does not exist"):
        eigenlens.GenotypePCA().fit("nonsense")


def test_records_and_lists_are_not_supplementary_columns():
    records, lists = np.zeros(2, dtype=[("height", "f8"), ("mass", "i4")]), np.empty(2, dtype=object)
    lists[:] = [[1], [1, 2]]
    for given in (records, {"width": lists}):
        with pytest.raises(EigenlensError, match="neither numbers nor categories"):
            eigenlens.PCA().fit(rows(2, 3, 0)).supplementary(given)


def test_a_plane_too_wide_to_plot_is_an_error():
    X = rows(12, 2)
    model = eigenlens.LinearDiscriminant().fit(X, labels(12))
    with pytest.raises(EigenlensError, match="'x0' and 'x1' of X extend too far"):
        plot.decision(model, spoilt(X, -1.7e308, (0, -1)), grid=20)


def test_arguments_that_overflow_or_lack_a_part_are_named(tmp_path):
    with pytest.raises(OptionError, match="reg_covar"):
        eigenlens.GaussianMixture(reg_covar=1e308).fit(X)
    with pytest.raises(OptionError, match="bins"):
        plot.mixture_density(eigenlens.GaussianMixture().fit(X), bins=(1,))
    with pytest.raises(EigenlensError, match=r"\bX\b"):
        eigenlens.report(eigenlens.PCA().fit(X), "x" * 5000, tmp_path / "report.html")


@pytest.mark.parametrize(
    "density",
    [densities.Multinomial([0.2, 0.3, 0.5], 4), densities.Product((densities.Bernoulli(0.5),) * 3)],
    ids=["Multinomial", "Product"],
)
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array])
def test_entries_stored_outside_a_sparse_matrix_are_an_error_before_they_are_read(density, kind):
    with pytest.raises(DataError, match=r"X is a sparse matrix of shape .* stored outside it"):
        density.log_density(outside(kind(X)))


@pytest.mark.parametrize("model", [eigenlens.LinearDiscriminant, eigenlens.QuadraticDiscriminant])
@pytest.mark.parametrize(
    ("argument", "taken"), [("shrinkage", "n, d, trace, square, quartic"), ("target", "variances")]
)
def test_a_rule_of_other_arguments_is_named_with_those_that_it_is_given(model, argument, taken):
    with pytest.raises(OptionError, match=rf"{argument}=.* must be a function of \({taken}\)"):
        model(**{argument: lambda: 0.5}).fit(X, Y)


@pytest.mark.parametrize("answer", [None, np.nan, 0.0, [1.0, 2.0], "wide"])
def test_what_a_rule_for_bandwidths_of_classes_returns_is_checked(answer):
    with pytest.raises(OptionError, match="bandwidth=<built-in function len> must be a function of"):
        eigenlens.NaiveBayes("kde", bandwidth=len).fit(X, Y)
    with pytest.raises(OptionError, match=r"the rule .* returned .* as a bandwidth"):
        eigenlens.NaiveBayes("kde", bandwidth=lambda x, weight: answer).fit(X, Y)


def test_a_lazy_table_without_rows_is_an_error_about_x():
    with pytest.raises(DataError, match="X has 0 rows"):
        eigenlens.GenotypePCA().fit(pl.LazyFrame({"a": [], "b": []}, schema={"a": pl.Float64, "b": pl.Float64}))


@pytest.mark.parametrize("noise", [-1.0, 0.0, [1.0, 0.0, 1.0]])
def test_noise_of_a_linear_gaussian_is_positive(noise):
    with pytest.raises(OptionError, match="noise has"):
        densities.LinearGaussian(np.zeros(3), np.ones((3, 1)), noise)


@pytest.mark.parametrize("model", [eigenlens.GaussianMixture(), eigenlens.ProbabilisticPCA(1)], ids=str)
def test_criteria_of_rows_without_any_entry_are_an_error(model):
    model.fit(X)
    for criterion in ("aic", "bic", "icl")[: 3 if hasattr(model, "icl") else 2]:
        with pytest.raises(DataError, match="X has no row with an observed entry"):
            getattr(model, criterion)(np.full((2, 3), np.nan))


@pytest.mark.parametrize("weight", [1e-320, 1e300])
def test_weights_of_columns_whose_squares_overflow_are_an_error(weight):
    with pytest.raises(OptionError, match="feature_weight"):
        eigenlens.PCA().fit(X, feature_weight=[weight] * 3)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_folds_of_one_row_do_not_warn_of_arithmetic():
    found = eigenlens.select_components(rows(3, 12), standardize=True, random_state=0)
    assert all(0 <= each.n_components <= 2 for each in found.rows)


@pytest.mark.parametrize(
    ("argument", "given"), [("mean", {"mean": [1e300, 0.0, 0.0]}), ("loadings", {"loadings": 1e200})]
)
def test_a_linear_gaussian_whose_squares_overflow_is_an_error(argument, given):
    mean, scale = np.array(given.get("mean", [0.0] * 3)), given.get("loadings", 1.0)
    with pytest.raises(OptionError, match=f"{argument} has entries"):
        densities.LinearGaussian(mean, np.full((3, 1), scale), 1.0)


def test_a_covariance_that_is_no_square_matrix_names_the_argument():
    with pytest.raises(OptionError, match="covariance must be a matrix"):
        densities.Gaussian(np.zeros(5), np.ones((5, 1)))
    with pytest.raises(OptionError, match=r"variance=-1.0 must be above 0"):
        densities.Gaussian(np.zeros(1), densities.Spherical(-1.0, 1)).log_density([1.0])


@pytest.mark.parametrize("row", [1j, 2, -1, "first", None])
def test_a_row_of_an_explanation_is_a_number(row):
    explanation = eigenlens.LinearDiscriminant().fit(X, Y).explain(X[:2])
    assert [name for name, _ in explanation.row(np.int64(1))] == [name for name, _ in explanation.row(1)]
    with pytest.raises(OptionError, match=r"^i="):
        explanation.row(row)


def test_rows_whose_squares_overflow_are_named_where_gamma_is_chosen():
    with pytest.raises(DataError, match="column 0 of X has entries as large as 1e"):
        eigenlens.choose_gamma(spoilt(X, 1e160, (0, 0)), 1)


def test_bounds_and_collected_rows_of_a_density_have_squares():
    with pytest.raises(OptionError, match=r"bounds=.* whose square overflows"):
        eigenlens.KernelDensity(bounds=(-1e300, 1e300)).fit(X[:, :1])
    with pytest.raises(DataError, match="column 0 of X has entries as large as 1e"):
        eigenlens.KernelDensity(bandwidth="lscv-exact").fit(dask.array.from_array(spoilt(X, 1e300, (0, 0)), chunks=6))


def test_objects_of_a_lazy_frame_are_named():
    frame = pl.DataFrame({"width": pl.Series([np.longdouble(1), np.longdouble(2)], dtype=pl.Object)})
    assert eigenlens.gram(frame).shape == (2, 2)
    with pytest.raises(DataError, match=r"column 'width' holds Python objects.*collect"):
        eigenlens.gram(frame.lazy())


def test_a_lazy_frame_without_rows_has_no_kernel_matrix():
    with pytest.raises(DataError, match="X has 0 rows"):
        eigenlens.gram(pl.LazyFrame({"width": []}, schema={"width": pl.Float64}))


def test_a_covariance_of_more_columns_than_memory_has_is_an_error():
    with pytest.raises(OptionError, match="size=1000000000000000000 must be at most"):
        densities.Spherical(1.0, 10**18)


def test_eigenvalues_of_a_kernel_sum_to_no_more_than_the_trace(tmp_path):
    def change(content):
        content.envelope["header"]["numbers"]["trace"] = 1e-3

    path = _changed_file(eigenlens.KernelPCA(2).fit(X), tmp_path / "kernel.safetensors", change)
    with pytest.raises(ModelFileError, match="'eigenvalues' sum to more than 'trace'"):
        eigenlens.load(path)


def test_a_class_is_no_function_of_blocks():
    with pytest.raises(OptionError, match=r"summarise=<class 'int'> is a class"):
        eigenlens.accumulate(as_source(X), int)


def test_a_list_of_lists_and_numbers_is_not_a_table():
    with pytest.raises(DataError, match="X is a tuple that is not a table"):
        eigenlens.PCA().fit(([], -1, 0))


def test_missing_values_that_a_warning_announces_are_no_fault_of_a_call():
    from campaigns import calls

    target = calls.Target("eigenlens.NaiveBayes", eigenlens.NaiveBayes, ("NaiveBayes",), "NaiveBayes")
    drawn = "eigenlens.NaiveBayes().fit(spoilt(rows(4, 2), nan, (slice(None), 0)), labels(4)).sample()"
    assert calls.judge_call(drawn, target).outcome == "ok"
    assert calls.judge_call("np.array([nan])", target).outcome == "silent NaN"


def test_a_step_of_em_without_any_error_names_x():
    few = rows(3, 4, 3)
    model = densities.LinearGaussian(np.zeros(4), np.ones((4, 1)), 1.0)
    with pytest.raises(DataError, match=r"^X lies on the plane of its latents"):
        textbook.maximise_expected(np.zeros(4), few * 5e-324, textbook.expected_latents(model, few))


def test_a_plot_of_decisions_needs_the_columns_of_the_fit():
    columns = pd.MultiIndex.from_product([["a", "b"], [0, 1]])
    wide = pd.DataFrame(rows(24, 4), columns=columns)
    with pytest.raises(DataError, match="X has 4 columns, and the model was fitted to 1"):
        plot.decision(eigenlens.NaiveBayes().fit(X[:, :1], Y), wide, Y)


def test_a_class_of_rows_too_wide_for_a_bandwidth_names_x():
    with pytest.raises(DataError, match="X has a column whose deviations are too large"):
        eigenlens.NaiveBayes("kde").fit(spoilt(rows(3, 2, 3), 1e300, (0, 0)), labels(3))


def test_a_rule_for_latent_dimensions_in_a_file_has_a_choice(tmp_path):
    def change(content):
        content.envelope["header"]["parameters"]["n_components"] = "bic"

    path = _changed_file(eigenlens.ProbabilisticPCA(1).fit(X), tmp_path / "latent.safetensors", change)
    with pytest.raises(ModelFileError, match="lacks 'selection', what the rule 'bic' chose"):
        eigenlens.load(path)


def test_a_rug_is_drawn_or_not():
    with pytest.raises(OptionError, match=r"(?s)rug=.* must be True or False"):
        plot.density(eigenlens.KernelDensity().fit(X), X, column=0, rug=np.ones((2, 2)))


@pytest.mark.parametrize("wanted", [1, -1, 10**40])
def test_a_choice_of_latent_dimensions_in_a_file_has_a_rule(wanted, tmp_path):
    def change(content):
        content.envelope["header"]["parameters"]["n_components"] = wanted

    path = _changed_file(eigenlens.ProbabilisticPCA("bic").fit(X), tmp_path / "latent.safetensors", change)
    with pytest.raises(ModelFileError, match=r"has 'selection', what a rule chose, but n_components = -?\d+ is none"):
        eigenlens.load(path)


@pytest.mark.parametrize("cls", [eigenlens.PCA, eigenlens.FactorAnalysis])
def test_options_of_no_rotation_are_an_error(cls):
    with pytest.raises(OptionError, match=r"rotation_options=\{'power': 2\} are of no use where rotation=None"):
        cls(1, rotation_options={"power": 2}).fit(X)


def test_the_mean_that_covariances_are_about_is_asked_by_true_or_false():
    with pytest.raises(OptionError, match="center=array"):
        eigenlens.PCA(1, center=np.ones(3)).fit_covariance(np.eye(3), 40)


@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical"])
def test_a_constant_column_whose_squares_overflow_is_named(covariance):
    with pytest.raises(DataError, match=r"column '0' has entries from 1e\+300 to 1e\+300, whose squared deviations"):
        densities.Gaussian.fit(np.full((12, 3), 1e300), covariance=covariance)


@pytest.mark.parametrize("family", [densities.GaussianFamily, densities.MultinomialFamily])
def test_families_have_one_name_per_column(family):
    counts = Block(np.array([[1.0, 2.0], [3.0, 1.0], [2.0, 5.0]]))
    named = family(names=["a", "b"])
    assert named.estimate(named.summarise(counts)).fitted.names == ("a", "b")
    assert family(names=[]).names is None
    for names in (["a"], ["a", "b", "c"]):
        with pytest.raises(OptionError, match=r"names=.* must be 2, one per column"):
            family(names=names).estimate(family(names=names).summarise(counts))

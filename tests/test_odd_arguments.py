"""Odd values of single arguments, found by a walk over all public calls, are errors that name the argument."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import eigenlens
from eigenlens import densities, plot, rotation
from eigenlens.errors import DataError, EigenlensError

pytest.importorskip("torch", reason="PYTORCH IS NOT INSTALLED")
sys.path.append(str(Path(__file__).parents[1]))
import torch
from campaigns import values

NAMES = {name: getattr(values, name) for name in values.__all__} | {"rotation": rotation}
X, Y = values.rows(12, 3), values.labels(12)
PCA = "eigenlens.PCA().fit(rows(12, 3))"
FACTORS = "eigenlens.FactorAnalysis(1).fit(rows(12, 3))"
CLASSES = "eigenlens.NaiveBayes().fit(rows(12, 3), labels(12))"
MAKE = "(lambda m: densities.Gaussian([m], densities.Spherical(1.0, 1)))"

CALLS = [
    ("X", f"{PCA}.transform(X=pd.NaT)"),
    ("X", "densities.Categorical([0.2, 0.8]).log_density(pd.DataFrame(rows(24, 1)).groupby(0))"),
    ("X", f"{PCA}.transform(X=pd.Timestamp('2020'))"),
    ("X", f"{PCA}.transform(X=pd.Categorical(['a', 'b']))"),
    ("X", f"{PCA}.cos2(X=rows(12, 3) * 1e160)"),
    ("X", f"{PCA}.outliers(X=rows(12, 3) * 1e160)"),
    ("X", "eigenlens.cronbach_alpha(X=np)"),
    ("X", "densities.Multinomial([0.2, 0.8]).fit(X=torch.ones(2).to('meta'))"),
    ("x", "densities.Categorical.fit(x=str)"),
    ("x", f"densities.log_likelihood({MAKE}, np, 0.5)"),
    ("y", "eigenlens.LinearDiscriminant().fit(rows(12, 3), y=torch.ones(12).to('meta'))"),
    ("y", "eigenlens.LinearDiscriminant().fit(rows(12, 3), y=torch.ones(12).to_sparse())"),
    ("y", f"plot.calibration({CLASSES}, rows(12, 3), y=torch.ones(12).to('meta'))"),
    ("y", f"eigenlens.report({PCA}, rows(12, 3), scratch('r.html'), y=sparse.csr_array(labels(12)[:, None]))"),
    ("against", f"{CLASSES}.explain(rows(12, 3), against=torch.ones(2).to('meta'))"),
    ("columns", "densities.Bernoulli(0.3).condition(columns=torch.ones(2).to('meta'), values=[0.5])"),
    ("columns", "plot.pairs(rows(12, 3), columns=np)"),
    ("columns", f"{PCA}.supplementary(columns=named(rows(12, 2)).set_axis(['mass', 'mass'], axis=1))"),
    ("values", "densities.LinearGaussian([0.0, 1.0], [[1.0], [1.0]], 0.5).condition(0, values=inf)"),
    ("k", f"plot.reconstruction({PCA}, rows(12, 3), k=int)"),
    ("k", f"plot.reconstruction({PCA}, rows(12, 3), k=-0.5)"),
    ("k", f"plot.reconstruction({PCA}, rows(12, 3), k=sparse.eye_array(3))"),
    ("components", f"plot.scores({PCA}, rows(12, 3), components=sparse.eye_array(3))"),
    ("components", f"plot.loadings({PCA}, components=set())"),
    ("color", "plot.pairs(rows(12, 3), color='height')"),
    ("color", "plot.pairs(rows(12, 3), color=[['a'], ['b', 'c']])"),
    ("model", "plot.explanation(named(rows(12, 3), pl).lazy(), rows(12, 3))"),
    ("rotation", f"plot.rotation({FACTORS}, rotation=np.ones(12))"),
    ("decisions", f"eigenlens.report({PCA}, rows(12, 3), scratch('r.html'), decisions=0.5)"),
    ("standardize", "eigenlens.ProbabilisticPCA(1, standardize=np.eye(2)).fit(rows(12, 3))"),
    ("approximation", "eigenlens.KernelPCA(approximation=(lambda rows: rows)).fit(rows(12, 3))"),
    ("approximation", "eigenlens.KernelPCA(approximation=(lambda *given: nan)).fit(rows(12, 3))"),
    ("n_nonzero", "eigenlens.SparsePCA(n_nonzero=sparse.eye_array(3)).fit(rows(12, 3))"),
    ("n_nonzero", "eigenlens.SparsePCA(n_nonzero=np).fit(rows(12, 3))"),
    ("shrinkage", "eigenlens.LinearDiscriminant(shrinkage=(lambda *given: 'x')).fit(rows(12, 3), labels(12))"),
    ("target", "eigenlens.LinearDiscriminant(target=(lambda *given: 'x')).fit(rows(12, 3), labels(12))"),
    ("k", f"{PCA}.reconstruction_error(rows(12, 3), k=np.array(1))"),
    ("n_components", "eigenlens.select_mixture(rows(12, 3), [['a'], ['b', 'c']])"),
    ("smoothing", "eigenlens.NaiveBayes(smoothing=[[1, 2], [3]]).fit(rows(12, 3), labels(12))"),
    ("bins", "densities.Histogram.fit(rows(12, 1), bins=[[1, 2], [3]])"),
    ("bounds", "densities.Histogram.fit(rows(12, 1), bounds=range(3))"),
    ("columns", f"eigenlens.report({PCA}, rows(12, 3), scratch('r.html'), columns=sparse.dok_array(rows(12, 3)))"),
    ("n", "textbook.em_path(densities.LinearGaussian(np.zeros(2), np.ones((2, 1)), 1.0), np.eye(2), 1e308, 3)"),
    ("histogram", "eigenlens.plot.density(eigenlens.KernelDensity().fit(rows(12, 1)), histogram=2**63)"),
    ("bounds", "eigenlens.KernelDensity(bounds=[[1, 2], [3]]).fit(rows(12, 3))"),
    ("sigma", "densities.GaussianFamily(sigma=[inf])"),
    ("bounds", "eigenlens.KernelDensity(bounds=np.array(1)).fit(rows(12, 3))"),
    ("components", f"plot.correlation_circle({PCA}, components=sparse.coo_array(np.ones(3)))"),
    ("solver", "eigenlens.PCA(solver=(lambda *given: given[0])).fit(rows(12, 3))"),
    ("columns", f"{PCA}.supplementary(columns=[['a'], ['b', 'c']])"),
    ("X", "densities.Multinomial.fit(X=np)"),
    ("smoothing", "densities.HistogramFamily([0.0, 1.0], smoothing=nan)"),
    ("model", "plot.density(eigenlens.PCA(2).fit(rows(12, 3)), column=0)"),
    ("deviations", "densities.Spherical(2.0, 2).observed_log_density(np.array([1.0, 2.0]))"),
    ("gammas", "eigenlens.choose_gamma(rows(12, 3), 1, gammas=sparse.eye_array(3))"),
    ("cv", "eigenlens.select_mixture(rows(12, 3), cv='auto')"),
    ("skip", "eigenlens.scan(table_file(rows(12, 3)), skip=10**12)"),
    ("footer", "eigenlens.scan(table_file(rows(12, 3)), footer=10**12)"),
    ("header_rows", "eigenlens.scan(table_file(rows(12, 3)), header_rows=10**9)"),
    ("fill_down", "eigenlens.scan(table_file(rows(12, 3)), fill_down=np.bool_(True))"),
    ("path", "eigenlens.scan(np.ma.masked)"),
    ("path", r"eigenlens.scan('rows\x00.csv')"),
    ("path", f"{PCA}.save('x' * 5000)"),
    ("make|start", "densities.maximise_likelihood(dict, [1.0, 2.0], [1.0, 0.5, 0.2])"),
    ("deviations", "densities.Full(np.eye(2)).expected(np.zeros((2, 2, 2)))"),
    ("probabilities", "densities.Categorical([0.2, 0.8], unknown=fractions.Fraction(1, 2))"),
    ("smoothing", "densities.CategoricalFamily(smoothing=nan)"),
    ("smoothing", "densities.BernoulliFamily(smoothing=[inf, 1.0])"),
    ("smoothing", "densities.MultinomialFamily(smoothing=np.array(1 + 1j))"),
    ("reserve", "densities.CategoricalFamily(reserve=nan)"),
    ("levels", "densities.BernoulliFamily(levels=-inf)"),
    ("names", "densities.GaussianFamily(names=3.0)"),
    ("names", "densities.MultinomialFamily(names={'a': nan})"),
    ("weight", "densities.Fitted(nan, -3.0, 2)"),
    ("loglik", "densities.Fitted(20.0, nan, 2)"),
    ("prior", "densities.Fitted(20.0, -3.0, 2, prior=inf)"),
    ("known", "densities.Fitted(20.0, -3.0, 2, known=inf)"),
    ("X", "eigenlens.PCA().fit(pd.DataFrame(rows(12, 3)).groupby(0))"),
    ("X", "eigenlens.PCA().fit(torch.quantize_per_tensor(torch.ones(3, 2), 0.1, 0, torch.qint8))"),
    ("X", f"{CLASSES}.predict(spoilt(rows(12, 3).astype(object), 10**400, (1, 1)))"),
    ("X", "densities.Gaussian([0.0, 1.0], densities.Full(np.eye(2))).impute(X=[[inf, nan]])"),
    ("X", "densities.LinearGaussian([0.0, 1.0], [[1.0], [1.0]], 0.5).impute(X=[[inf, nan]])"),
    ("X", "densities.Mixture([1.0], (densities.Gaussian([0.0], densities.Full([[1.0]])),)).impute(X=[inf])"),
    ("n_samples", "eigenlens.FactorAnalysis(1).fit_covariance(np.cov(rows(40, 3).T), n_samples=1e308)"),
    ("n_samples", "eigenlens.bartlett_sphericity(np.cov(rows(40, 3).T), n_samples=1e308)"),
    ("path", r"eigenlens.load('\ud800')"),
    ("path", r"eigenlens.scan('\ud800.csv')"),
    ("path", "eigenlens.scan('x' * 5000)"),
    ("path", rf"{PCA}.save('\ud800')"),
    ("checkpoint", r"eigenlens.PCA().fit(rows(12, 3), checkpoint='\ud800')"),
    ("X", "eigenlens.LinearDiscriminant().fit(pd.DataFrame(rows(12, 3)).groupby(0), labels(12))"),
    ("X", "eigenlens.KernelPCA().fit(rows(12, 3)).score(lazy(rows(12, 3), 'empty'))"),
    ("X", f"{CLASSES}.score(lazy(rows(12, 3), 'empty'), [])"),
    ("loglik", "densities.Fitted(20.0, inf, 2)"),
    ("columns", f"{PCA}.supplementary(columns={{'height': 1}})"),
    ("columns", f"{PCA}.supplementary(columns={{'height': rows(12, 2)}})"),
    ("columns", f"{PCA}.supplementary(columns=pl.DataFrame({{'height': [{{'x': 1}}] * 12}}))"),
    ("sample_weight", f"{PCA}.bootstrap(rows(12, 3), sample_weight=2**63)"),
    ("X", f"{PCA}.inverse_transform(torch.quantize_per_tensor(torch.ones(3, 3), 0.1, 0, torch.qint8))"),
    ("X", "eigenlens.LinearDiscriminant().fit(rows(12, 3), labels(12)).decision_function(np.full((1, 3), 1.7e308))"),
    ("n_components", "eigenlens.FactorAnalysis('map').fit(np.repeat(rows(5, 1), 4, axis=1))"),
    ("smoothing", "densities.Histogram.fit(rows(12, 1)[:, 0], smoothing=1e308)"),
    ("missing", "eigenlens.PCA(missing=sparse.coo_array(np.ones(3))).fit(rows(12, 3).tolist())"),
    ("L", "rotation.varimax('red')"),
    ("L", "rotation.equamax([[1, 2], [3]])"),
    ("L", "rotation.promax([1.0, 2.0])"),
    ("L", "rotation.oblimin(np.zeros((0, 2)))"),
    ("L", "rotation.geomin(np.array([[nan, 1.0]]))"),
    ("L", "rotation.quartimax(rows(12, 3) * 1e100)"),
    ("gamma", "rotation.orthomax(rows(12, 3), gamma=nan)"),
    ("gamma", "rotation.oblimin(rows(12, 3), gamma='red')"),
    ("delta", "rotation.geomin(rows(12, 3), delta=0.0)"),
    ("power", "rotation.promax(rows(12, 3), power=1e300)"),
    ("kaiser", "rotation.varimax(rows(12, 3), kaiser=1)"),
    ("n_starts", "rotation.geomin(rows(12, 3), n_starts=0)"),
    ("rng", "rotation.geomin(rows(12, 3), rng='red')"),
    ("tol", "rotation.oblimin(rows(12, 3), tol=None)"),
    ("max_iter", "rotation.varimax(rows(12, 3), max_iter=0)"),
    ("rotation", "rotation.rotate(rows(12, 3), None)"),
    ("scale", "rotation.rotate(rows(12, 3), 'varimax', scale=np.zeros(12))"),
    ("S", "eigenlens.PCA(1).fit_covariance('cov.csv', 12)"),
    ("S", "eigenlens.FactorAnalysis(1).fit_covariance(np.eye(3) * 1j, 12)"),
    ("S", "eigenlens.SparsePCA(1).fit_covariance({'a': [1.0], 'b': [2.0]}, 12)"),
    ("S", "eigenlens.ProbabilisticPCA(1).fit_covariance(pd.Series([1.0, 2.0]), 12)"),
    ("panels", "plot.denoising({'noisy': 'rows.csv'})"),
    ("n_components", "eigenlens.PCA(np.timedelta64(2, 's')).fit(rows(12, 3))"),
    ("components", f"plot.scores({PCA}, rows(12, 3), components=np.timedelta64(2, 's'))"),
    ("bandwidth", "eigenlens.KernelDensity(bandwidth=np.complex64(1)).fit(rows(12, 3))"),
    ("points", "eigenlens.procrustes(np.zeros((0, 2)), np.zeros((0, 2)))"),
    ("probabilities", "densities.Multinomial(1.0)"),
    ("trials", "densities.Multinomial([0.2, 0.8], trials=2**63)"),
]  # fmt: skip


@pytest.mark.parametrize(("argument", "call"), CALLS, ids=[call for _, call in CALLS])
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:torch.quantize_per_tensor:UserWarning")
def test_the_error_names_the_argument(argument, call):
    with pytest.raises(EigenlensError, match=rf"\b({argument})\b"):
        eval(call, dict(NAMES))


# ---- odd values that mean something ---------------------------------------------------------------------------


def test_a_level_may_be_a_fraction():
    table = eigenlens.compare({"one": eigenlens.GaussianMixture(), "two": eigenlens.KernelDensity()}, X[:, :1])
    assert "(50% paired" in plot.comparison(table, level=Fraction(1, 2)).get_xlabel()


def test_integers_of_128_bits_are_read_as_floats():
    values = [2**100, 1, 2, 5]
    frame = pl.DataFrame({"a": pl.Series(values, dtype=pl.Int128), "b": [2.0, 1.0, 2.0, 4.0]})
    expected = eigenlens.PCA(1).fit(np.column_stack([np.array(values, dtype=float), frame["b"]])).explained_variance_
    for given in (frame, frame.lazy()):
        np.testing.assert_array_equal(eigenlens.PCA(1).fit(given).explained_variance_, expected)


def test_supplementary_columns_may_be_integers_of_128_bits_and_labels_may_not():
    wide = pl.Series("wide", [2**100, 1] * 6, dtype=pl.Int128)
    fitted = eigenlens.PCA(1).fit(X)
    expected = fitted.supplementary(columns={"wide": np.array([2.0**100, 1.0] * 6)}).correlations
    for columns in (wide, pl.DataFrame(wide), {"wide": wide}):
        np.testing.assert_array_equal(fitted.supplementary(columns=columns).correlations, expected)
    with pytest.raises(DataError, match=r"y has dtype Int128, .*; make them shorter, y\.cast\(pl\.Int64\)"):
        eigenlens.LinearDiscriminant().fit(X, wide)


@pytest.mark.parametrize(
    ("kind", "method"),
    [("SparsePCA", "reconstruction_error"), *(("PCA", name) for name in ("reconstruction_error", "score", "outliers"))],
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_infinite_rows_are_an_error_and_no_warning_of_numpy(kind, method):
    rows = np.where(np.arange(36).reshape(12, 3) == 4, np.inf, X)
    with pytest.raises(DataError, match="X contains infinity"):
        getattr(getattr(eigenlens, kind)(1).fit(X), method)(rows)


def test_an_error_shows_an_array_in_one_line():
    with pytest.raises(EigenlensError) as found:
        eigenlens.PCA(np.eye(3)).fit(X)
    assert "\n" not in str(found.value)


def test_labels_and_categories_may_be_tensors_of_bfloat16():
    y = torch.tensor([0, 1] * 6)
    found = eigenlens.LinearDiscriminant().fit(X, y.bfloat16()).predict(X)
    np.testing.assert_array_equal(found, eigenlens.LinearDiscriminant().fit(X, y.float()).predict(X))
    assert densities.Bernoulli.fit(y.bfloat16()).probability == 0.5


def test_labels_of_a_plot_may_be_missing_in_any_way():
    y = pd.array([0, 1] * 5 + [None, None], dtype="Int64")
    table = plot.calibration(eigenlens.NaiveBayes().fit(X, Y), X[:10], y[:10])
    assert table is not None
    with pytest.raises(EigenlensError, match="y"):
        plot.calibration(eigenlens.NaiveBayes().fit(X, Y), X, y)


@pytest.mark.parametrize("call", [eigenlens.cronbach_alpha, eigenlens.kmo])
def test_questions_of_correlations_take_dask_frames(call):
    frame = pd.DataFrame(values.rows(40, 3), columns=["a", "b", "c"])
    lazy = dask.dataframe.from_pandas(frame, npartitions=2)
    found, wanted = call(lazy), call(frame)
    found, wanted = getattr(found, "overall", found), getattr(wanted, "overall", wanted)
    assert found == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("scale", [1e307, 1e-300, 1e150])
def test_correlations_of_supplementary_columns_do_not_depend_on_their_scale(scale):
    model, columns = eigenlens.PCA(2).fit(X), values.rows(12, 2, 1)
    found = model.supplementary(scale * columns).correlations
    np.testing.assert_allclose(found, model.supplementary(columns).correlations, rtol=1e-12, atol=1e-14)


def test_supplementary_columns_far_from_zero_keep_their_digits():
    model, columns = eigenlens.PCA(2).fit(X), np.rint(9.0 * values.rows(12, 2, 1))
    far = model.supplementary(columns + 2.0**40).correlations
    np.testing.assert_allclose(far, model.supplementary(columns).correlations, atol=1e-10)


def test_rows_of_a_gram_matrix_may_be_of_two_libraries():
    found = eigenlens.gram(X, torch.tensor(X), sigma=1.0)
    np.testing.assert_allclose(found, eigenlens.gram(X, X, sigma=1.0), rtol=1e-12)


def test_a_tolerance_may_be_a_fraction():
    from fractions import Fraction

    model = eigenlens.ProbabilisticPCA(1, tol=Fraction(1, 10**9), max_iter=1, solver="em")
    with pytest.warns(eigenlens.ConvergenceWarning, match="tol"):
        model.fit(X)


def test_values_that_differ_by_rounding_have_one_bin():
    model = eigenlens.GaussianMixture(1, n_init=1).fit(X[:, :1])
    assert plot.mixture_density(model, X[:, :1] + 1e16) is not None


def test_a_sparse_tensor_in_a_block_is_an_error():
    block = densities.Block(torch.eye(3).to_sparse(), None)
    for family in (densities.GaussianFamily(), densities.HistogramFamily([-1.0, 2.0]), densities.MultinomialFamily()):
        with pytest.raises(DataError, match="block is a sparse tensor"):
            family.summarise(block)


def test_names_of_a_family_may_be_any_list():
    family = densities.GaussianFamily(names=np.array(["a", "b", "c"]))
    assert family.names == ("a", "b", "c")
    assert family.estimate(family.summarise(densities.Block(X, None))).fitted.names == ("a", "b", "c")


@pytest.mark.parametrize("far", [1e30, 1e60, 1e100])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_value_far_away_leaves_the_plug_in_rule_a_bandwidth(far):
    X = values.rows(30, 3)
    X[3, 1] = far
    found = eigenlens.KernelDensity(bandwidth="sheather-jones").fit(X).bandwidth_
    assert np.all(np.isfinite(found) & (found > 0.0))


class Silent:
    """An object whose text and numbers fail."""

    def __repr__(self):
        raise LookupError("no text")

    def __array__(self, *arguments, **options):
        raise RuntimeError("no numbers")


def test_values_whose_own_methods_fail_are_named():
    with pytest.raises(EigenlensError, match="tol=a Silent must be"):
        eigenlens.ProbabilisticPCA(1, tol=Silent()).fit(X)
    with pytest.raises(DataError, match=r"X is a Silent that is not a table .*no numbers"):
        eigenlens.PCA().fit(Silent())
    with pytest.raises(DataError, match=r"y is a Silent that gives no array .*no numbers"):
        eigenlens.LinearDiscriminant().fit(X, Silent())


def test_an_integer_of_more_digits_than_python_writes_is_an_error():
    with pytest.raises(EigenlensError, match="n_components=an int must be"):
        eigenlens.PCA(10**5000).fit(X)


@pytest.mark.filterwarnings("error")
def test_lazy_frames_are_read_without_a_warning_of_polars():
    lazy = pl.LazyFrame({"a": [1, 0, 1]})
    assert densities.Bernoulli(0.25).log_density(lazy)[1] == pytest.approx(np.log(0.75))
    assert densities.Multinomial([1.0]).log_density(lazy).shape == (3,)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_overflows_on_the_way_to_an_answer_or_an_error_are_no_warnings():
    with pytest.raises(DataError, match=r"X has .* as large as 1e\+300"):
        eigenlens.PCA(1).fit(X).score_samples(np.full((1, 3), 1e300))
    assert eigenlens.GaussianMixture(1, n_init=1).fit_binned([0.0, 1.0, 2.0], [3e299, 6e299]).converged_
    assert eigenlens.NaiveBayes().fit(X * [1.0, 1.0, 1e-200], Y).predict(X).shape == (12,)


MODELS_IN_PARTS = [
    eigenlens.PCA(1),
    eigenlens.GaussianMixture(2, n_init=1),
    eigenlens.NaiveBayes(),
    eigenlens.LinearDiscriminant(),
    eigenlens.QuadraticDiscriminant(),
    eigenlens.BayesClassifier(eigenlens.PCA(1)),
    eigenlens.BayesClassifier(densities.GaussianFamily()),
]


@pytest.mark.parametrize("model", MODELS_IN_PARTS, ids=repr)
@pytest.mark.parametrize(("name", "value"), [("sample_weight", np.full(12, np.nan)), ("checkpoint", 3)])
def test_a_partial_fit_that_fails_changes_nothing(model, name, value):
    model = clone(model)
    before = dict(vars(model))
    with pytest.raises(EigenlensError, match=name):
        model.partial_fit(X, Y, **{name: value})
    assert vars(model) == before

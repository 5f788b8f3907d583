"""Comparisons of densities: means and paired errors by hand, units, weights, sources, failures."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA as SklearnPCA
from sklearn.decomposition import FastICA
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import eigenlens
from eigenlens import PCA, ProbabilisticPCA
from eigenlens.comparison.compare import compare
from eigenlens.comparison.jacobian import LOG_DERIVATIVES, log_abs_det_jacobian
from eigenlens.data.coerce import as_source
from eigenlens.densities import GaussianFamily, Histogram
from eigenlens.errors import OptionError


def rows(n=120, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 5.0


def models():
    return {"one": GaussianMixture(1), "ppca": ProbabilisticPCA(1), "narrow": KernelDensity(bandwidth=0.1)}


def test_means_and_paired_errors_by_hand():
    X = rows()
    table = compare(models(), X, cv=4, random_state=3)
    folds = np.random.default_rng(3).permutation(len(X)) % 4
    values = {}
    for name, estimator in models().items():
        values[name] = np.empty(len(X))
        for fold in range(4):
            held = folds == fold
            values[name][held] = estimator.fit(X[~held]).score_samples(X[held])
    for i, name in enumerate(table.names):
        assert_allclose(table.values[i], values[name])
        assert table.means[i] == pytest.approx(values[name].mean())
        assert table.errors[i] == pytest.approx(values[name].std(ddof=1) / np.sqrt(len(X)))
        difference = values[table.best] - values[name]
        assert table.behind[i] == pytest.approx(difference.mean(), abs=1e-12)
        assert table.behind_errors[i] == pytest.approx(difference.std(ddof=1) / np.sqrt(len(X)), abs=1e-12)
    assert np.all(np.diff(table.means) <= 0.0)
    assert_allclose(table.folds, folds)
    assert np.all(table.fit_seconds > 0.0)


def test_pairing_pays():
    """Two nearly equal models differ by far less than either mean is uncertain."""
    table = compare({"full": GaussianMixture(), "ppca": ProbabilisticPCA(2)}, rows(300), random_state=0)
    assert table.behind_errors[1] < 0.5 * table.errors[1]


def test_the_units_of_x_whatever_a_pipeline_does():
    """A Gaussian is a Gaussian in every affine frame, so scaling and whitening must not change its likelihood."""
    X = rows()
    gauss = GaussianMixture(reg_covar=0.0)
    pipelines = {
        "plain": gauss,
        "scaled": make_pipeline(StandardScaler(), gauss),
        "whitened": make_pipeline(StandardScaler(), SklearnPCA(whiten=True), gauss),
        "searched": GridSearchCV(make_pipeline(StandardScaler(), gauss), {"gaussianmixture__n_components": [1]}, cv=2),
    }
    table = compare(pipelines, X, random_state=0)
    assert not table.failures
    assert_allclose(table.values, np.broadcast_to(table.values[0], table.values.shape), rtol=1e-7)


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda data: pl.DataFrame(dict(data))], ids=["pandas", "polars"])
def test_units_of_frames(frame):
    X = rows()
    named = frame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    gauss = make_pipeline(StandardScaler(), GaussianMixture(reg_covar=0.0))
    table = compare({"scaled": gauss, "ppca": ProbabilisticPCA(1)}, named, random_state=0)
    plain = compare({"scaled": gauss, "ppca": ProbabilisticPCA(1)}, X, random_state=0)
    assert not table.failures
    assert_allclose(table.means, plain.means, rtol=1e-10)


def test_a_curved_transformation_has_a_derivative_at_every_row():
    """x lognormal, log x normal: log p(x) = log φ(log x) − log x."""
    X = np.exp(np.random.default_rng(0).standard_normal((80, 1)))
    table = compare({"lognormal": make_pipeline(FunctionTransformer(np.log), GaussianMixture())}, X, random_state=0)
    z = np.log(X[:, 0])
    for fold in range(5):
        held, kept = table.folds == fold, z[table.folds != fold]
        expected = norm.logpdf(z[held], kept.mean(), np.sqrt(kept.var() + 1e-6)) - z[held]
        assert_allclose(table.values[0][held], expected, rtol=1e-7)


@pytest.mark.parametrize("method", ["box-cox", "yeo-johnson"])
@pytest.mark.parametrize("standardize", [False, True])
def test_power_transformations_have_the_derivative_of_their_formula(method, standardize):
    X = np.random.default_rng(0).gamma(2.0, size=(50, 2)) + (1.0 if method == "box-cox" else -1.5)
    power = PowerTransformer(method=method, standardize=standardize).fit(X)
    step = 1e-6
    slopes = [(power.transform(X + step * e) - power.transform(X - step * e))[:, j] for j, e in enumerate(np.eye(2))]
    assert_allclose(log_abs_det_jacobian(power, X), np.log(np.array(slopes) / (2.0 * step)).sum(axis=0), atol=1e-6)


@pytest.mark.parametrize("function", LOG_DERIVATIVES)
def test_functions_have_the_derivative_of_their_formula(function):
    X, step = np.random.default_rng(0).gamma(2.0, size=(50, 2)) + 0.1, 1e-6
    slopes = (function(X + step) - function(X - step)) / (2.0 * step)
    assert_allclose(log_abs_det_jacobian(FunctionTransformer(function), X), np.log(slopes).sum(axis=1), atol=1e-6)


@pytest.mark.parametrize("sigma", [1.0, 2.0, 3.0])
def test_logarithms_and_powers_of_ordinary_positive_data(sigma):
    """The smallest values are a millionth of the range from 0: steps must stay above it, and small beside them."""
    X = np.exp(sigma * np.random.default_rng(0).standard_normal((300, 1)))
    gauss = GaussianMixture(reg_covar=0.0)
    pipelines = {
        "log": make_pipeline(FunctionTransformer(np.log), gauss),
        "box-cox": make_pipeline(PowerTransformer("box-cox", standardize=False), gauss),
        "scaled box-cox": make_pipeline(PowerTransformer("box-cox"), gauss),
    }
    table = compare(pipelines, X, random_state=0)
    assert not table.failures
    z = np.log(X[:, 0])
    found = dict(zip(table.names, table.values, strict=True))
    for fold in range(5):
        held, kept = table.folds == fold, z[table.folds != fold]
        assert_allclose(found["log"][held], norm.logpdf(z[held], kept.mean(), kept.std()) - z[held], atol=1e-8)
        power = PowerTransformer("box-cox", standardize=False).fit(X[~held])
        y, before = power.transform(X[held])[:, 0], power.transform(X[~held])[:, 0]
        exact = norm.logpdf(y, before.mean(), before.std()) + (power.lambdas_[0] - 1.0) * z[held]
        assert_allclose(found["box-cox"][held], exact, atol=1e-7)
    assert_allclose(found["scaled box-cox"], found["box-cox"], atol=1e-7)


class LogRatios(TransformerMixin, BaseEstimator):
    """log(x_j / (1 − Σ x)), with |det T′| = 1 / (x_1 x_2 (1 − Σ x)): a transformer of a user's own."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.log(X / (1.0 - X.sum(axis=1, keepdims=True)))

    def log_abs_det_jacobian(self, X):
        return -np.log(X).sum(axis=1) - np.log(1.0 - X.sum(axis=1))


def test_a_transformer_of_your_own_has_a_method_for_its_determinant():
    X = np.random.default_rng(0).dirichlet([2.0, 3.0, 1.0], 200)
    gauss = GaussianMixture(reg_covar=0.0)
    table = compare({"ratios": make_pipeline(LogRatios(), gauss)}, X[:, :2], random_state=0)
    inner = compare({"ratios": gauss}, LogRatios().transform(X[:, :2]), random_state=0)
    assert_allclose(table.values, inner.values - np.log(X).sum(axis=1), rtol=1e-10)


def test_one_row_held_out_at_a_time():
    X = np.exp(np.random.default_rng(0).standard_normal((12, 2)))
    pipelines = {
        "log": make_pipeline(FunctionTransformer(np.log), GaussianMixture(reg_covar=0.0)),
        "scaled": make_pipeline(StandardScaler(), GaussianMixture(reg_covar=0.0)),
        "plain": GaussianMixture(reg_covar=0.0),
    }
    table = compare(pipelines, X, cv=12, random_state=0)
    assert not table.failures
    found = dict(zip(table.names, table.values, strict=True))
    assert_allclose(found["scaled"], found["plain"], rtol=1e-7)
    logs = compare({"plain": GaussianMixture(reg_covar=0.0)}, np.log(X), cv=12, random_state=0).values[0]
    assert_allclose(found["log"], logs - np.log(X).sum(axis=1), rtol=1e-7)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_steps_that_are_not_affine_and_without_a_formula_are_failures(d):
    """Some have no inverse, so what they call a density does not integrate to one: that of |x| has the mass 2^d."""
    X = np.random.default_rng(0).standard_normal((200, d))
    wrap = FunctionTransformer(lambda X: X % 1.0, lambda X: X, check_inverse=False)
    bins = KBinsDiscretizer(encode="ordinal", strategy="uniform", subsample=None)
    steps = {
        "abs": FunctionTransformer(np.abs),
        "square": FunctionTransformer(np.square),
        "normalize": Normalizer(),
        "round": FunctionTransformer(np.round),
        "bins": bins,
        "wrap": wrap,
        "clipped": QuantileTransformer(n_quantiles=20),
        "cubed": FunctionTransformer(lambda X: X**3 + X),
    }
    table = compare({name: make_pipeline(step, GaussianMixture()) for name, step in steps.items()}, X, random_state=0)
    assert set(table.failures) == set(steps)
    for name, step in steps.items():
        assert f"{type(step).__name__} is not affine" in table.failures[name]
        assert "give it a method log_abs_det_jacobian(X)" in table.failures[name]


def test_affine_steps_of_any_kind_pass():
    X = np.random.default_rng(0).standard_normal((200, 2)) @ np.array([[1.0, 0.999], [0.0, 0.001]])
    gauss = GaussianMixture(reg_covar=0.0)
    steps = {
        "plain": [],
        "whitened": [SklearnPCA(whiten=True)],
        "independent": [FastICA(random_state=0, whiten="unit-variance")],
        "robust": [RobustScaler(), MinMaxScaler(), MaxAbsScaler()],
        "mirrored": [FunctionTransformer(np.negative), "passthrough", StandardScaler()],
        "nested": [make_pipeline(StandardScaler(), SklearnPCA())],
        "our own": [PCA(whiten=True, standardize=True)],
    }
    table = compare({name: make_pipeline(*some, gauss) for name, some in steps.items()}, X, random_state=0)
    assert not table.failures
    assert_allclose(table.values, np.broadcast_to(table.values[0], table.values.shape), rtol=1e-5)


def test_far_from_zero_scalers_keep_their_digits():
    X = 1e7 + np.random.default_rng(0).standard_normal((100, 2))
    scaler = StandardScaler().fit(X)
    assert_allclose(log_abs_det_jacobian(scaler, X), -np.log(scaler.scale_).sum(), rtol=1e-6)


def test_a_map_without_an_inverse_is_a_failure():
    X = rows()
    flat = FunctionTransformer(lambda X: X @ np.diag([1.0, 1.0, 0.0]))
    with pytest.raises(OptionError, match="FunctionTransformer has no inverse"):
        log_abs_det_jacobian(flat, X)


def test_records_make_a_frame():
    table = compare({"too many": GaussianMixture(500), **models()}, rows(), random_state=0)
    frame = pd.DataFrame(table.records())
    assert list(frame["estimator"]) == list(table.names)
    assert_allclose(frame["log_density"], table.means)
    assert_allclose(frame["behind_error"], table.behind_errors)
    assert list(frame["failure"] != "") == [name in table.failures for name in table.names]


def test_dask_arrays_in_steps_of_scikit_learn():
    dask = pytest.importorskip("dask.array")
    X = rows(90)
    pipelines = {"scaled": make_pipeline(StandardScaler(), ProbabilisticPCA(1))}
    table = compare(pipelines, dask.from_array(X, chunks=(30, 3)), random_state=0)
    assert not table.failures  # warnings are errors here
    assert_allclose(table.values, compare(pipelines, X, random_state=0).values, rtol=1e-6)


def test_columns_lost_on_the_way_cannot_be_compared():
    X = rows()
    table = compare({"flat": make_pipeline(SklearnPCA(2), GaussianMixture()), "one": GaussianMixture()}, X)
    assert table.best == "one"
    assert "3 columns into 2" in table.failures["flat"]
    with pytest.raises(OptionError, match="columns into"):
        log_abs_det_jacobian(FunctionTransformer(lambda X: X[:, :2]), X)


def test_a_failure_is_named_and_the_others_stay():
    table = compare({"too many": GaussianMixture(500), "one": GaussianMixture()}, rows(), random_state=0)
    assert table.names == ("one", "too many")
    assert np.isnan(table.means[1])
    assert "in fold 1: ValueError" in table.failures["too many"]
    lines = str(table).splitlines()
    assert lines[1].startswith("one ")
    assert lines[2].startswith("too many   failed: in fold 1")


def test_no_estimator_at_all_fits():
    table = compare({"a": GaussianMixture(500)}, rows(), random_state=0)
    assert np.isnan(table.means).all()
    assert "failed" in str(table)


def test_density_zero_at_a_held_out_row():
    table = compare({"box": KernelDensity(bandwidth=0.5, kernel="tophat"), "one": GaussianMixture()}, rows())
    assert table.names == ("one", "box")
    assert table.means[1] == -np.inf
    assert table.behind[1] == np.inf
    assert "-inf" in str(table)


def test_weights_are_copies_in_means_and_errors():
    """The same folds cannot be drawn for copies, so the values are compared that came with the weights."""
    X, weight = rows(60), np.random.default_rng(1).integers(0, 4, 60)
    table = compare({"ppca": ProbabilisticPCA(1)}, X, sample_weight=weight, random_state=0)
    copies = np.repeat(table.values[0], weight)
    assert table.means[0] == pytest.approx(copies.mean())
    assert table.errors[0] == pytest.approx(copies.std(ddof=1) / np.sqrt(len(copies)))
    held = table.folds == 0
    fitted = ProbabilisticPCA(1).fit(np.repeat(X[~held], weight[~held], axis=0))
    assert_allclose(table.values[0][held], fitted.score_samples(X[held]), rtol=1e-6)


def test_weights_reach_every_step_that_takes_them():
    X, weight = rows(60), np.random.default_rng(1).integers(1, 4, 60)
    models = {
        "scaled": make_pipeline(StandardScaler(), ProbabilisticPCA(2)),
        "scaled mixture": make_pipeline(StandardScaler(), GaussianMixture()),
        "mixture": GaussianMixture(),
    }
    table = compare(models, X, sample_weight=weight, random_state=0)
    assert table.best == "scaled"
    assert all("takes no sample_weight" in table.failures[name] for name in ("mixture", "scaled mixture"))
    held = table.folds == 0
    copies = np.repeat(X[~held], weight[~held], axis=0)
    mean, scale = copies.mean(axis=0), copies.std(axis=0)
    fitted = ProbabilisticPCA(2).fit((copies - mean) / scale)
    expected = fitted.score_samples((X[held] - mean) / scale) - np.log(scale).sum()
    assert_allclose(table.values[0][held], expected, rtol=1e-6)


def test_sources_leave_folds_out_by_weights():
    X = rows()
    streamed = compare({"ppca": ProbabilisticPCA(1), "one": GaussianMixture()}, as_source(X), random_state=0)
    plain = compare({"ppca": ProbabilisticPCA(1)}, X, random_state=0)
    assert_allclose(streamed.values[0], plain.values[0], rtol=1e-8)
    assert list(streamed.failures) == ["one"]


def test_same_seed_same_table_and_nothing_is_changed():
    X, estimator = rows(), GaussianMixture()
    first, second = (compare({"one": estimator}, X, random_state=7) for _ in range(2))
    assert_allclose(first.values, second.values)
    assert not hasattr(estimator, "means_")
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.means = None
    with pytest.raises(ValueError):
        first.values[0, 0] = 0.0


def test_bad_input():
    with pytest.raises(OptionError, match="dictionary"):
        compare([GaussianMixture()], rows())
    with pytest.raises(OptionError, match="cv=1 must be at least 2"):
        compare(models(), rows(), cv=1)
    with pytest.raises(OptionError, match="number of rows"):
        compare(models(), rows(4), cv=5)


@pytest.mark.parametrize("kind", [list, np.asarray, pd.Series])
def test_one_column_may_have_one_dimension(kind):
    x = np.random.default_rng(0).gamma(2.0, size=200)
    models = {"histogram": Histogram, "normal": GaussianFamily(), "kde": KernelDensity(bandwidth=0.4)}
    column, table = (compare(models, X, random_state=0) for X in (kind(x), x[:, None]))
    assert_allclose(column.means, table.means)
    assert "normal" not in column.failures


def test_a_fit_that_was_interrupted_ends_the_comparison():
    """A mixture keeps the best so far, with a warning; the user who stops it wants no further fold."""
    X, steps = np.random.default_rng(0).normal(size=(300, 2)), []

    def interrupt_once(done, total, label):
        steps.append(done)
        if len(steps) == 12:
            raise KeyboardInterrupt

    options = {"init": "k-means++", "n_init": 1, "tol": 0.0, "random_state": 0, "verbose": interrupt_once}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = eigenlens.GaussianMixture(3, **options).fit(X)
        assert not alone.converged_  # its own fit ends with the best so far
        steps.clear()
        with pytest.raises(KeyboardInterrupt):
            compare({"mixture": eigenlens.GaussianMixture(3, **options)}, X, cv=3)

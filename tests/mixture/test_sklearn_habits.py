"""What users of scikit-learn's GaussianMixture expect: its starts, its regularisation, its attributes, its samples."""

from __future__ import annotations

import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture as Reference

import eigenlens
from eigenlens import GaussianMixture

IRIS = load_iris().data
TYPES = ["full", "tied", "diag", "spherical"]


def start(name: str) -> dict[str, np.ndarray]:
    """Return a start some steps away from the maximum."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rough = Reference(3, covariance_type=name, random_state=0, max_iter=3).fit(IRIS)
    return {"weights_init": rough.weights_, "means_init": rough.means_, "precisions_init": rough.precisions_}


@pytest.mark.parametrize("reg_covar", [0.0, 1e-6, 0.1])
@pytest.mark.parametrize("name", TYPES)
def test_the_same_start_and_reg_covar_give_the_same_mixture(name, reg_covar):
    options = {"covariance_type": name, "reg_covar": reg_covar, "max_iter": 5000} | start(name)
    theirs = Reference(3, tol=1e-13, **options).fit(IRIS)
    ours = GaussianMixture(3, **options).fit(IRIS)
    assert_allclose(ours.score(IRIS), theirs.score(IRIS), rtol=0, atol=1e-9)
    assert_allclose(ours.weights_, theirs.weights_, atol=1e-5)
    for attribute in ("means_", "covariances_", "precisions_", "precisions_cholesky_"):
        assert_allclose(getattr(ours, attribute), getattr(theirs, attribute), rtol=1e-5, atol=1e-5, err_msg=attribute)
    assert ours.converged_


@pytest.mark.parametrize("name", [*TYPES, "ppca"])
def test_reg_covar_of_one_component_is_added_to_the_variances(name):
    X = np.random.default_rng(0).normal(size=(200, 3)) * [1.0, 2.0, 3.0]
    plain = GaussianMixture(1, covariance_type=name).fit(X)
    wide = GaussianMixture(1, covariance_type=name, reg_covar=0.7).fit(X)
    added = wide.model_.covariance() - plain.model_.covariance()
    assert_allclose(added, 0.7 * np.eye(3), atol=1e-8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("K", [1, 2])
@pytest.mark.parametrize("name", TYPES)
def test_reg_covar_fits_equal_rows_and_constant_columns(name, K):
    equal = np.full((20, 2), 3.0)
    part = np.where(np.arange(40).reshape(20, 2) % 7 == 0, np.nan, equal)  # 3 of 20 are missing in either column
    one_varies = np.column_stack([equal[:, 0], 1e3 * np.arange(20.0)])
    options = {"covariance_type": name, "reg_covar": 1e-3, "random_state": 0}
    theirs = Reference(K, **options).fit(equal)
    ours, incomplete = (GaussianMixture(K, **options).fit(X) for X in (equal, part))
    assert_allclose(ours.score(equal), theirs.score(equal), rtol=0, atol=1e-10)
    assert_allclose(ours.model_.covariance(), 1e-3 * np.eye(2), rtol=1e-10, atol=1e-15)
    # The fixed point of v = 1e-3 + 0.15 v: a missing entry has the variance v in every E-step.
    assert_allclose(incomplete.model_.covariance(), 1e-3 / 0.85 * np.eye(2), rtol=1e-6, atol=1e-9)
    if K == 1:
        pair = [cls(1, **options).fit(one_varies).score(one_varies) for cls in (GaussianMixture, Reference)]
        assert_allclose(*pair, rtol=0, atol=1e-10)
    with pytest.raises(eigenlens.errors.DataError, match=r"every column is constant .*positive reg_covar"):
        GaussianMixture(K, covariance_type=name).fit(equal)


@pytest.mark.filterwarnings("ignore::eigenlens.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("max_iter", [1, 2, 3, 7])
def test_max_iter_bounds_the_steps_from_a_guess(name, max_iter):
    options = {"covariance_type": name, "init": "k-means", "n_init": 1, "random_state": 0, "accelerate": False}
    guess = GaussianMixture(4, max_iter=0, **options).fit(IRIS)
    ours = GaussianMixture(4, max_iter=max_iter, **options).fit(IRIS)
    given = {"weights_init": guess.weights_, "means_init": guess.means_, "precisions_init": guess.precisions_}
    plain = Reference(4, covariance_type=name, max_iter=max_iter, tol=0.0, reg_covar=0.0, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = plain.fit(IRIS)
    assert_allclose(ours.score(IRIS), theirs.score(IRIS), rtol=0, atol=1e-9)


def test_reg_covar_with_weights_missing_values_chunks_and_bins():
    X = IRIS.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    w = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    options = {"reg_covar": 0.1, "means_init": IRIS[[0, 100]]}
    weighted = GaussianMixture(2, **options).fit(X, sample_weight=w)
    repeated = GaussianMixture(2, **options).fit(np.repeat(X, w.astype(int), axis=0))
    assert_allclose(weighted.means_, repeated.means_, rtol=1e-6)
    assert weighted.converged_
    one = GaussianMixture(1, reg_covar=0.1).partial_fit(IRIS[:80]).partial_fit(IRIS[80:], decay=1.0)
    assert_allclose(one.covariances_[0], np.cov(IRIS.T, bias=True) + 0.1 * np.eye(4), rtol=1e-9)
    edges, counts = np.linspace(-4.0, 4.0, 33), np.bincount(np.clip(np.arange(640) % 32, 0, 31), minlength=32)
    narrow, wide = (GaussianMixture(1, reg_covar=r).fit_binned(edges, counts).covariances_ for r in (0.0, 0.5))
    assert wide > narrow


def test_max_iter_0_keeps_the_start():
    given = start("diag")
    fit = GaussianMixture(3, covariance_type="diag", max_iter=0, **given).fit(IRIS)
    for name, value in given.items():
        assert_allclose(getattr(fit, name.replace("init", "")), value, rtol=1e-12)
    assert fit.n_iter_ == 0
    assert not fit.converged_
    assert_allclose(fit.loglik_, fit.score_samples(IRIS).sum(), rtol=1e-12)
    assert GaussianMixture(3, max_iter=0, random_state=0).fit(IRIS).n_iter_ == 0


def test_max_iter_0_keeps_a_component_without_rows():
    means = np.array([[20.0, 30.0], [30.0, 25.0]])
    X = np.random.default_rng(0).normal(means[1], 1.0, (30, 2))
    fit = GaussianMixture(2, max_iter=0, means_init=means, precisions_init=np.tile(4.0 * np.eye(2), (2, 1, 1))).fit(X)
    assert_array_equal(fit.means_, means)
    assert_allclose(fit.loglik_, fit.score_samples(X).sum(), rtol=1e-12)


@pytest.mark.parametrize("max_iter", [1, 2, 5])
@pytest.mark.parametrize("name", TYPES)
def test_as_many_steps_lead_to_the_same_mixture(name, max_iter):
    options = {"covariance_type": name, "max_iter": max_iter, "tol": 0.0, "reg_covar": 0.0} | start(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = Reference(3, **options).fit(IRIS)
        ours = GaussianMixture(3, accelerate=False, **options).fit(IRIS)
    assert ours.n_iter_ == theirs.n_iter_ == max_iter
    for attribute in ("weights_", "means_", "covariances_"):
        assert_allclose(getattr(ours, attribute), getattr(theirs, attribute), rtol=1e-10, err_msg=attribute)


@pytest.mark.parametrize("max_iter", [1, 2, 10])
def test_a_few_steps_at_a_time_converge(max_iter):
    options = {"tol": 1e-6, "random_state": 0, "init": "random_from_data", "n_init": 1, "accelerate": False}
    fit, scores = GaussianMixture(2, warm_start=True, max_iter=max_iter, **options), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while not scores or not fit.converged_:
            scores.append(fit.fit(IRIS).score(IRIS))
            assert len(scores) < 200
    assert np.all(np.diff(scores) >= 0.0)
    assert_allclose(scores[-1], GaussianMixture(2, **options).fit(IRIS).score(IRIS), rtol=0, atol=2e-6)


def test_names_of_starts():
    for alias, name in {"kmeans": "k-means", "random_from_data": "random"}.items():
        theirs, ours = (GaussianMixture(3, init=init, random_state=0).fit(IRIS) for init in (alias, name))
        assert_array_equal(theirs.means_, ours.means_)


def test_tol_0_runs_until_steps_gain_nothing():
    exact = GaussianMixture(3, tol=0, random_state=0).fit(IRIS)
    assert exact.converged_
    assert exact.loglik_ >= GaussianMixture(3, random_state=0).fit(IRIS).loglik_
    assert np.all(np.diff(exact.loglik_path_) >= 0.0)


def test_parts_of_a_start_alone():
    best = GaussianMixture(3, random_state=0).fit(IRIS)
    turned = best.means_[[2, 0, 1]]
    by_means = GaussianMixture(3, means_init=turned).fit(IRIS)  # no seed: nothing is random
    assert_allclose(by_means.means_, turned, atol=1e-3)  # components keep the order of the start
    for part in ({"weights_init": best.weights_}, {"precisions_init": best.precisions_}):
        assert_allclose(GaussianMixture(3, random_state=0, **part).fit(IRIS).loglik_, best.loglik_, rtol=1e-8)
    kept = GaussianMixture(3, means_init=turned, max_iter=0).fit(IRIS)
    assert_array_equal(kept.means_, turned)
    for name, part in {"weights_": [0.2, 0.7, 0.1], "precisions_": 2.0 * np.stack([np.eye(4)] * 3)}.items():
        kept = GaussianMixture(3, max_iter=0, random_state=0, **{f"{name}init": part}).fit(IRIS)
        assert_allclose(getattr(kept, name), part)


def test_precisions_must_be_symmetric():
    skew = np.stack([np.array([[1.0, 0.2], [0.3, 1.0]])] * 2)
    with pytest.raises(ValueError, match="precisions_init must be symmetric"):
        GaussianMixture(2, precisions_init=skew).fit(IRIS[:, :2])


def test_warm_start_goes_on():
    once = GaussianMixture(
        3, covariance_type="tied", random_state=0, max_iter=40, accelerate=False, init="random", n_init=1
    )
    paths = []
    again = clone(once).set_params(warm_start=True, max_iter=4, tol=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paths = [again.fit(IRIS).loglik_path_ for _ in range(4)]
    assert all(late[0] >= early[-1] for early, late in itertools.pairwise(paths))
    assert again.set_params(max_iter=1000).fit(IRIS).converged_
    assert again.set_params(n_components=2).fit(IRIS).n_components_ == 2  # another size starts anew


def test_new_parameters_survive_a_file(tmp_path):
    fit = GaussianMixture(3, reg_covar=0.01, warm_start=True, **start("full")).fit(IRIS)
    fit.save(tmp_path / "m.safetensors")
    loaded = eigenlens.load(tmp_path / "m.safetensors")
    assert (loaded.reg_covar, loaded.warm_start, loaded.means_init) == (0.01, True, None)
    assert_array_equal(loaded.precisions_, fit.precisions_)


def test_two_rows_are_not_a_pair():
    fit = GaussianMixture(2, random_state=0).fit(IRIS)
    rows = fit.sample(2)
    for n in (2, 5):
        with pytest.raises(ValueError, match="return_labels=True"):
            _, _ = fit.sample(n)
    X, y = fit.sample(2, return_labels=True)
    assert_array_equal(X, rows)
    a, b = np.asarray(fit.sample(2))
    one, _, _ = fit.sample(3)
    first, second = fit.sample(7)[:, :2].T
    assert isinstance(rows, np.ndarray)
    assert y.shape == (2,)
    assert a.shape == b.shape == one.shape == (4,)
    assert first.shape == second.shape == (7,)
    assert len([row for row in rows]) == len(list(rows)) == 2  # noqa: C416
    assert type(pickle.loads(pickle.dumps(rows))) is type(rows[:1]) is type(rows + 1.0) is np.ndarray


def test_classifiers_draw_rows_and_on_request_classes():
    lda = eigenlens.LinearDiscriminant().fit(IRIS, np.repeat([0, 1, 2], 50))
    X, y = lda.sample(20, random_state=0, return_labels=True)
    assert_array_equal(lda.sample(20, random_state=0), X)
    assert y.shape == (20,)
    for n in (2, 20):
        with pytest.raises(ValueError, match="return_labels=True"):
            _, _ = lda.sample(n)


@pytest.mark.parametrize("kind", ["torch", "pandas", "polars"])
def test_tensors_and_frames_are_not_a_pair_either(kind):
    library = pytest.importorskip(kind)
    table = library.asarray(IRIS[:, :2]) if kind == "torch" else library.DataFrame({"a": IRIS[:, 0], "b": IRIS[:, 1]})
    models = [eigenlens.MixtureModel(2, random_state=0), eigenlens.NaiveBayes()]
    for model in [*models, GaussianMixture(2, random_state=0)] if kind == "torch" else models:
        model.fit(table, np.repeat([0, 1, 2], 50))
        with pytest.raises(ValueError, match="sample returns rows, not a pair"):
            _, _ = model.sample(2)
        rows = model.sample(2)
        assert tuple(rows.shape) == (2, 2)
        X, y = model.sample(2, return_labels=True)
        assert tuple(X.shape) == (2, 2)
        assert len(y) == 2


@pytest.mark.parametrize("kind", [list, tuple, np.asarray, pd.Series, pl.Series])
def test_one_column_may_have_one_dimension(kind):
    x = IRIS[:, 2]
    table, column = (GaussianMixture(2, random_state=0).fit(X) for X in (x[:, None], kind(x)))
    assert_array_equal(column.means_, table.means_)
    for method in ("predict", "predict_proba", "score_samples", "score", "bic", "icl", "cdf"):
        assert_array_equal(getattr(column, method)(kind(x)), getattr(table, method)(x[:, None]), err_msg=method)
    assert_array_equal(column.fit_predict(kind(x)), table.predict(x[:, None]))
    chunk = GaussianMixture(2, random_state=0).partial_fit(kind(x[::2])).partial_fit(kind(x[1::2]))
    assert chunk.means_.shape == (2, 1)
    assert eigenlens.select_mixture(kind(x), [1, 2], ["full"], random_state=0).best.n_components == 2


def test_one_dimension_with_labels_is_an_error():
    with pytest.raises(ValueError, match="X has one dimension"):
        GaussianMixture(2).fit(IRIS[:, 0], np.zeros(150))

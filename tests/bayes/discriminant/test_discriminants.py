"""The discriminants: scikit-learn's numbers, what they mean, every kind of X, missing values, files and bad input."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenlens import DataError, DataWarning, OptionError, scan
from eigenlens import model_file as io
from eigenlens.bayes.classifier.estimator import BayesClassifier
from eigenlens.bayes.discriminant.estimator import LinearDiscriminant, QuadraticDiscriminant
from eigenlens.bayes.discriminant.model import FisherRule
from eigenlens.bayes.discriminant.shrinkage import SHRINKAGE_TARGETS, PairMoments, pairwise_intensity
from eigenlens.data.memory import ArraySource
from eigenlens.data.source import Block
from eigenlens.densities import GaussianFamily
from eigenlens.densities.covariance_axes import Axes

BOTH = [LinearDiscriminant, QuadraticDiscriminant]
IRIS = load_iris(return_X_y=True)


def classes(n=120, d=4, seed=0, spread=2.0, C=3):
    rng = np.random.default_rng(seed)
    y = rng.choice(C, size=n, p=np.arange(1, C + 1) / (C * (C + 1) / 2))
    turns = rng.standard_normal((C, d, d)) * 0.4 + np.eye(d)
    X = np.stack([turns[c] @ rng.standard_normal(d) for c in y])
    return (X + spread * rng.standard_normal((C, d))[y]) * rng.uniform(0.1, 10.0, d) + 3.0, y


def loaded(estimator, path):
    """As `eigenlens.load` reads it, whether or not the estimator is in its list."""
    estimator.save(path)
    kind, arrays, header = io.read(path)
    assert kind == type(estimator).__name__
    return type(estimator)._restored(arrays, header)


# ---- scikit-learn on its own ground -------------------------------------------------------------------------

LINEAR = [
    ({}, {"solver": "svd"}),
    ({}, {"solver": "eigen"}),
    ({"shrinkage": 0.3, "target": "identity"}, {"solver": "eigen", "shrinkage": 0.3}),
    ({"shrinkage": 1, "target": "identity"}, {"solver": "lsqr", "shrinkage": 1.0}),
    ({"shrinkage": "ledoit-wolf-by-class"}, {"solver": "eigen", "shrinkage": "auto"}),
    ({"shrinkage": "auto"}, {"solver": "lsqr", "shrinkage": "auto"}),
]


@pytest.mark.parametrize(("ours", "theirs"), LINEAR)
@pytest.mark.parametrize("data", [IRIS, load_wine(return_X_y=True), classes()], ids=["iris", "wine", "made"])
def test_the_linear_rule_is_scikit_learns(ours, theirs, data):
    X, y = data
    found, peer = LinearDiscriminant(**ours).fit(X, y), LinearDiscriminantAnalysis(**theirs).fit(X, y)
    assert_allclose(found.predict_log_proba(X), peer.predict_log_proba(X), rtol=1e-8, atol=1e-8)
    assert_array_equal(found.predict(X), peer.predict(X))
    assert_allclose(found.means_, peer.means_, rtol=1e-12)
    if theirs["solver"] == "svd":
        assert_allclose(found.coef_, peer.coef_, rtol=1e-8, atol=1e-8)
        assert_allclose(found.intercept_, peer.intercept_, rtol=1e-8, atol=1e-8)
    if not ours:
        assert_allclose(found.explained_variance_ratio_, peer.explained_variance_ratio_, rtol=1e-8)


def test_directions_are_scikit_learns_but_for_signs():
    X, y = classes(C=4)
    found, peer = LinearDiscriminant().fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(np.abs(found.scalings_), np.abs(peer.scalings_), rtol=1e-8)
    assert_allclose(np.abs(found.transform(X)), np.abs(peer.transform(X)), rtol=1e-7, atol=1e-7)
    assert_allclose(LinearDiscriminant(2).fit_transform(X, y), found.transform(X)[:, :2])


def test_given_priors_are_scikit_learns():
    X, y = classes()
    prior = [0.2, 0.5, 0.3]
    found, peer = LinearDiscriminant(prior=prior).fit(X, y), LinearDiscriminantAnalysis(priors=prior).fit(X, y)
    assert_allclose(found.predict_log_proba(X), peer.predict_log_proba(X), rtol=1e-8, atol=1e-8)
    assert_allclose(found.explained_variance_ratio_, peer.explained_variance_ratio_, rtol=1e-8)
    quadratic = QuadraticDiscriminant(prior=dict(enumerate(prior))).fit(X, y)
    peer = QuadraticDiscriminantAnalysis(priors=prior).fit(X, y)
    assert_allclose(quadratic.predict_log_proba(X), peer.predict_log_proba(X), rtol=1e-8, atol=1e-8)
    assert_allclose(QuadraticDiscriminant(prior="uniform").fit(X, y).class_prior_, 1 / 3)
    for kind in BOTH:
        never = kind(prior=[0.5, 0.5, 0.0]).fit(X, y)
        assert_array_equal(never.predict_proba(X)[:, 2], 0.0)
        log_odds = np.diff(kind(prior="uniform").fit(X, y).predict_log_proba(X)[:, :2])
        assert_allclose(np.diff(never.predict_log_proba(X)[:, :2]), log_odds, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {}),
        ({"reg": 0.2}, {"reg_param": 0.2}),
        ({"shrinkage": 0.3, "target": "identity"}, {"solver": "eigen", "shrinkage": 0.3}),
        ({"shrinkage": "ledoit-wolf"}, {"solver": "eigen", "shrinkage": "auto"}),
        ({"shrinkage": "auto"}, {"solver": "eigen", "shrinkage": "auto"}),
    ],
)
@pytest.mark.parametrize("data", [IRIS, classes()], ids=["iris", "made"])
def test_the_quadratic_rule_is_scikit_learns(ours, theirs, data):
    X, y = data
    found, peer = QuadraticDiscriminant(**ours).fit(X, y), QuadraticDiscriminantAnalysis(**theirs).fit(X, y)
    assert_allclose(found.predict_log_proba(X), peer.predict_log_proba(X), rtol=1e-8, atol=1e-8)
    assert_array_equal(found.predict(X), peer.predict(X))


def test_the_covariance_shrunk_by_class_is_the_mean_of_scikit_learns():
    X, y = classes(60, 6)
    found = LinearDiscriminant(shrinkage="ledoit-wolf-by-class").fit(X, y)
    expected = np.zeros((6, 6))
    for c in range(3):
        own = X[y == c]
        C, a = ledoit_wolf((own - own.mean(axis=0)) / own.std(axis=0))
        expected += np.mean(y == c) * C * np.outer(own.std(axis=0), own.std(axis=0))
        assert found.shrinkage_[c] == pytest.approx(a, rel=1e-10)
    assert_allclose(found.covariance_, expected, rtol=1e-10, atol=1e-12)


def test_scores_are_those_of_both_solvers_of_scikit_learn():
    X, y = IRIS
    found = LinearDiscriminant().fit(X, y)
    for solver in ("svd", "eigen"):
        theirs = LinearDiscriminantAnalysis(solver=solver).fit(X, y).transform(X)
        theirs -= found.class_prior_ @ np.stack([theirs[y == c].mean(axis=0) for c in range(3)])  # "eigen" does not
        deviations = theirs - np.stack([theirs[y == c].mean(axis=0) for c in range(3)])[y]
        theirs /= np.sqrt(np.mean(deviations**2, axis=0))  # "svd" divides by n − C, here it is n
        assert_allclose(np.abs(found.transform(X)), np.abs(theirs), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("shrinkage", [None, 0.3])
def test_more_columns_than_rows_is_scikit_learns(shrinkage):
    X, y = classes(40, 120)
    theirs = {} if shrinkage is None else {"solver": "eigen", "shrinkage": shrinkage}
    peer = LinearDiscriminantAnalysis(**theirs).fit(X, y)
    found = LinearDiscriminant(shrinkage=shrinkage, target="identity")
    if shrinkage is None:
        with pytest.warns(DataWarning, match="vary in 37 directions of 120"):
            found.fit(X, y)
    else:
        found.fit(X, y)
    assert found.solver_.solver == "gram"
    Z = classes(30, 120, seed=1)[0]
    assert_allclose(found.predict_log_proba(Z), peer.predict_log_proba(Z), rtol=1e-7, atol=1e-6)


# ---- what the numbers mean ----------------------------------------------------------------------------------


def test_the_rule_is_linear():
    X, y = classes()
    found = LinearDiscriminant().fit(X, y)
    scores = X @ found.coef_.T + found.intercept_
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    assert_allclose(found.predict_proba(X), shares / shares.sum(axis=1, keepdims=True), rtol=1e-10, atol=1e-12)
    differences = found.decision_function(X) - scores
    assert_allclose(differences, differences[:, :1] + np.zeros(3), atol=1e-9)


def test_joint_probabilities_are_densities():
    X, y = classes()
    linear, quadratic = (kind().fit(X, y) for kind in BOTH)
    D = X - linear.means_[y]
    S = D.T @ D / len(X)
    assert_allclose(linear.covariance_, S, rtol=1e-9, atol=1e-9)
    for c in range(3):
        own = np.cov(X[y == c].T, bias=True)
        for found, C in ((linear, S), (quadratic, own)):
            value = multivariate_normal(X[y == c].mean(axis=0), C).logpdf(X) + np.log(np.mean(y == c))
            assert_allclose(found.predict_joint_log_proba(X)[:, c], value, rtol=1e-9)


def test_directions_make_every_class_round_and_set_their_means_apart():
    X, y = classes(C=4)
    found = LinearDiscriminant().fit(X, y)
    Z = found.transform(X)
    means = np.stack([Z[y == c].mean(axis=0) for c in range(4)])
    D = Z - means[y]
    assert_allclose(D.T @ D / len(Z), np.eye(3), atol=1e-9)
    assert_allclose(found.class_prior_ @ means, 0.0, atol=1e-9)
    between = (means * found.class_prior_[:, None]).T @ means
    assert_allclose(between, np.diag(np.diag(between)), atol=1e-9)
    assert_allclose(np.diag(between) / np.trace(between), found.explained_variance_ratio_, rtol=1e-9)
    assert np.all(np.diff(found.explained_variance_ratio_) < 0.0)


def test_pooled_ledoit_wolf_is_that_of_the_deviations_from_class_means():
    X, y = classes(60, 8)
    found = LinearDiscriminant(shrinkage="ledoit-wolf").fit(X, y)
    D = X - np.stack([X[y == c].mean(axis=0) for c in range(3)])[y]
    sd = np.sqrt(np.mean(D**2, axis=0))
    C, a = ledoit_wolf(D / sd, assume_centered=True)
    assert found.shrinkage_ == pytest.approx(a, rel=1e-9)
    assert_allclose(found.covariance_, C * np.outer(sd, sd), rtol=1e-9, atol=1e-12)


def test_shrinkage_helps_where_columns_are_many():
    rng = np.random.default_rng(0)
    means = 0.35 * rng.standard_normal((3, 200))
    y, truth = np.arange(45) % 3, np.arange(600) % 3
    X, Z = rng.standard_normal((45, 200)) + means[y], rng.standard_normal((600, 200)) + means[truth]
    with pytest.warns(DataWarning, match="give shrinkage"):
        plain = LinearDiscriminant().fit(X, y).score(Z, truth)
    assert LinearDiscriminant(shrinkage="ledoit-wolf").fit(X, y).score(Z, truth) > plain + 0.02


def test_samples_have_the_classes_and_moments_of_the_model():
    X, y = classes()
    for kind in BOTH:
        found = kind(random_state=0).fit(X, y)
        rows, labels = found.sample(40_000, return_labels=True)
        assert_allclose(np.bincount(labels) / 40_000, found.class_prior_, atol=0.01)
        for c in range(3):
            sd = X.std(axis=0)
            assert_allclose(rows[labels == c].mean(axis=0) / sd, found.means_[c] / sd, atol=0.05)
        again = found.sample(40_000)
        assert_array_equal(rows, again)
        assert found.score(rows, labels) == pytest.approx(found.score(X, y), abs=0.1)


def test_explanations_add_up_to_the_log_odds():
    X, y = classes()
    found = LinearDiscriminant().fit(X, y)
    reasons = found.explain(X)
    log_proba = np.sort(found.predict_log_proba(X), axis=1)
    assert_allclose(reasons.log_odds, log_proba[:, -1] - log_proba[:, -2], rtol=1e-8, atol=1e-8)
    assert_array_equal(reasons.of, found.predict(X))
    pair = found.explain(X, of=0, against=2)
    assert_allclose(
        pair.log_odds, found.predict_log_proba(X)[:, 0] - found.predict_log_proba(X)[:, 2], rtol=1e-8, atol=1e-8
    )


def test_explanations_of_classes_that_are_named():
    X, y = classes()
    found = LinearDiscriminant().fit(X, y)
    best = found.predict(X)
    against = found.explain(X, against=1)
    assert_array_equal(against.of[best != 1], best[best != 1])
    assert np.all(against.of != 1)
    each = found.explain(X, of=(best + 1) % 3)
    assert_array_equal(each.against, best)
    assert np.all(each.log_odds <= 0.0)
    with pytest.raises(OptionError, match="same class"):
        found.explain(X, of=1, against=1)


def test_no_underflow_with_many_columns():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 10_000)), np.arange(60) % 2
    X[:, :5] += 3.0 * y[:, None]
    for kind in BOTH:
        found = kind(shrinkage=0.5).fit(X, y)
        joint = found.predict_joint_log_proba(X)
        assert np.all(np.isfinite(joint))
        assert joint.max() < -5_000.0
        assert_allclose(found.predict_proba(X).sum(axis=1), 1.0)


# ---- laws ---------------------------------------------------------------------------------------------------

OPTIONS = [{}, {"shrinkage": 0.3}, {"shrinkage": "ledoit-wolf"}]


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("options", OPTIONS)
def test_units_and_the_order_of_columns_change_nothing(kind, options):
    X, y = classes()
    order, scale = np.array([2, 0, 3, 1]), np.array([1e-3, 1.0, 1e5, 7.0])
    found = kind(**options).fit(X, y).predict_log_proba(X)
    other = kind(**options).fit((X * scale - 5.0)[:, order], y).predict_log_proba((X * scale - 5.0)[:, order])
    assert_allclose(other, found, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(("n", "d"), [(120, 4), (30, 50)])
@pytest.mark.parametrize("options", OPTIONS[1:])
def test_weights_are_copies_and_rows_of_weight_0_may_hold_anything(kind, n, d, options):
    X, y = classes(n, d)
    w = np.random.default_rng(0).integers(0, 4, n)
    repeated = kind(**options).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    spoiled = X.copy()
    spoiled[w == 0] = np.inf
    weighted = kind(**options).fit(spoiled, y, sample_weight=w)
    assert_allclose(weighted.predict_log_proba(X), repeated.predict_log_proba(X), rtol=1e-7, atol=1e-7)
    assert_allclose(weighted.class_count_, repeated.class_count_)
    assert weighted.n_samples_ == np.count_nonzero(w)


@pytest.mark.parametrize("kind", BOTH)
def test_weights_may_be_small_and_a_heavy_row_is_several(kind):
    X, y = classes()
    found = kind().fit(X, y, sample_weight=np.full(120, 1e-3))
    assert_allclose(found.predict_proba(X), kind().fit(X, y).predict_proba(X), rtol=1e-9, atol=1e-12)
    with pytest.raises(DataError, match=r"no column varies|every class has 1 row|more than 1 row"):
        kind().fit(X[:2], [0, 1], sample_weight=[0.5, 0.5])


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("options", OPTIONS)
def test_partial_fit_is_exact(kind, options):
    X, y = classes()
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    whole, parts = kind(**options).fit(X, y, sample_weight=w), kind(**options)
    order = np.argsort(y, kind="stable")  # classes one after the other: none has all at first
    for part in np.array_split(order, 7):
        parts.partial_fit(X[part], y[part], classes=[0, 1, 2], sample_weight=w[part])
    assert_allclose(parts.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-8, atol=1e-9)
    assert_allclose(parts.class_prior_, whole.class_prior_)
    assert_allclose(parts.shrinkage_, whole.shrinkage_, rtol=1e-9)
    more = kind(**options).fit(X[:60], y[:60], sample_weight=w[:60]).partial_fit(X[60:], y[60:], sample_weight=w[60:])
    assert_allclose(more.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-8, atol=1e-9)


def test_a_far_offset_costs_few_digits():
    X, y = classes()
    for kind in BOTH:
        near, far = kind().fit(X, y), kind().fit(X + 1e6, y)
        assert_allclose(far.predict_log_proba(X + 1e6), near.predict_log_proba(X), rtol=1e-5, atol=1e-5)


def test_rows_are_moved_to_the_centre_only_where_digits_would_be_lost():
    C = Axes.of_matrix(np.eye(2), np.zeros(2, dtype=bool))
    near, far = (FisherRule(np.full(2, 0.5), np.array([[0.0, 0.0], [1.0, 0.0]]) + shift, C) for shift in (8.0, 2.0**40))
    X = np.random.default_rng(0).integers(-20, 20, (50, 2)) / 8.0
    plain = FisherRule(np.full(2, 0.5), np.array([[0.0, 0.0], [1.0, 0.0]]), C).log_likelihoods(X)
    assert_array_equal(far.log_likelihoods(X + 2.0**40), plain)
    assert_allclose(near.log_likelihoods(X + 8.0), plain, rtol=1e-13, atol=1e-13)


# ---- every kind of X ----------------------------------------------------------------------------------------


def kinds(X, tmp_path):
    import dask.array as da
    import polars as pl
    import pyarrow as pa

    np.save(tmp_path / "rows.npy", X)
    frame = {f"c{j}": X[:, j] for j in range(X.shape[1])}
    return {
        "fortran": np.asfortranarray(X),
        "list": X.tolist(),
        "pandas": pd.DataFrame(frame),
        "polars": pl.DataFrame(frame),
        "arrow": pa.table(frame),
        "sparse": sp.csr_matrix(X),
        "dask": da.from_array(X, chunks=(37, 2)),
        "blocks": ArraySource(X, block_rows=17),
        "file": scan(tmp_path / "rows.npy", block_rows=11),
    }


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("options", OPTIONS[1:])
def test_every_kind_of_rows_gives_the_same_rule(kind, options, tmp_path):
    X, y = classes()
    for name, rows in kinds(X, tmp_path).items():
        assert_same_rule(kind, options, rows, X, y, name)


@pytest.mark.parametrize("kind", BOTH)
def test_tensors_give_the_same_rule(kind):
    torch = pytest.importorskip("torch")
    X, y = classes()
    assert_same_rule(kind, OPTIONS[-1], torch.from_numpy(X), X, y, "torch")


def assert_same_rule(kind, options, rows, X, y, name):
    plain, found = kind(**options).fit(X, y), kind(**options).fit(rows, y)
    assert_allclose(
        np.asarray(found.predict_log_proba(rows)), plain.predict_log_proba(X), rtol=1e-7, atol=1e-8, err_msg=name
    )
    if hasattr(found, "transform"):
        assert_allclose(np.asarray(found.transform(rows)), plain.transform(X), rtol=1e-7, atol=1e-7, err_msg=name)


def test_labels_of_a_file(tmp_path):
    X, y = classes()
    table = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.array(["x", "y", "z"])[y])
    table.to_csv(tmp_path / "rows.csv", index=False)
    found = LinearDiscriminant().fit(scan(tmp_path / "rows.csv", label="kind"))
    assert found.classes_.tolist() == ["x", "y", "z"]
    assert list(found.feature_names_in_) == list("abcd")
    assert found.score(table[list("abcd")], table["kind"]) == LinearDiscriminant().fit(X, y).score(X, y)


def test_single_precision_in_and_out():
    X, y = classes()
    for kind in BOTH:
        single, double = kind().fit(X.astype(np.float32), y), kind().fit(X, y)
        assert single.means_.dtype == np.float32
        assert_allclose(single.predict_proba(X.astype(np.float32)), double.predict_proba(X), atol=2e-4)
    assert LinearDiscriminant().fit(X.astype(np.float32), y).transform(X.astype(np.float32)).dtype == np.float32


def test_in_pipelines_with_names():
    X, y = classes()
    frame = pd.DataFrame(X, columns=list("abcd"))
    pipe = make_pipeline(StandardScaler(), LinearDiscriminant()).set_output(transform="pandas")
    out = pipe.fit(frame, y).transform(frame)
    assert list(out.columns) == ["lineardiscriminant0", "lineardiscriminant1"]
    assert list(out.index) == list(frame.index)
    assert clone(pipe).fit(frame, y).score(frame, y) == pipe.score(frame, y)


# ---- missing values -----------------------------------------------------------------------------------------


def with_missing(X, share=0.15, seed=3):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


@pytest.mark.parametrize(("n", "d", "options"), [(120, 4, {}), (30, 40, {"shrinkage": 0.5})])
@pytest.mark.parametrize("kind", BOTH)
def test_missing_values_in_rows_to_be_classified_are_marginalised(kind, n, d, options):
    X, y = classes(n, d)
    found = kind(**options).fit(X, y)
    Z = with_missing(X[:12])
    Z[0] = np.nan
    C = [found.covariance_] * 3 if kind is LinearDiscriminant else found.covariances_
    twin = np.zeros((12, 3))
    for i, x in enumerate(Z):
        o = ~np.isnan(x)
        for c in range(3 if o.any() else 0):
            twin[i, c] = multivariate_normal(found.means_[c][o], C[c][np.ix_(o, o)]).logpdf(x[o])
    twin += np.log(found.class_prior_)
    assert_allclose(found.predict_joint_log_proba(Z), twin, rtol=1e-7)
    assert_allclose(found.predict_proba(Z)[0], found.class_prior_)
    shifted = twin - twin.max(axis=1, keepdims=True)
    assert_allclose(
        found.predict_proba(Z), np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True), rtol=1e-6, atol=1e-9
    )


def observed_likelihood(X, y, means, covariances):
    total = 0.0
    for x, c in zip(X, y, strict=True):
        o = ~np.isnan(x)
        if o.any():
            total += multivariate_normal(means[c][o], covariances[c][np.ix_(o, o)]).logpdf(x[o])
    return total


@pytest.mark.parametrize("kind", BOTH)
def test_incomplete_rows_in_fit_maximise_the_likelihood_of_the_observed_entries(kind):
    X, y = classes(60, 2, C=2)
    X = with_missing(X / X.std(axis=0))
    found = kind().fit(X, y)
    assert found.solver_.solver == "em"
    C = np.array([found.covariance_] * 2 if kind is LinearDiscriminant else found.covariances_)
    assert_allclose(found.class_prior_, np.bincount(y) / 60)

    def loss(p):
        factors = [np.array([[a, 0.0], [b, c]]) for a, b, c in p[4:].reshape(-1, 3)]
        spreads = [L @ L.T for L in factors] * (2 if len(factors) == 1 else 1)
        return -observed_likelihood(X, y, p[:4].reshape(2, 2), spreads)

    factors = [np.linalg.cholesky(S)[np.tril_indices(2)] for S in (C[:1] if kind is LinearDiscriminant else C)]
    start = np.concatenate([found.means_.ravel(), *factors])
    best = minimize(loss, start, method="BFGS", options={"gtol": 1e-6})
    assert loss(start) == pytest.approx(best.fun, abs=1e-8)
    assert_allclose(start, best.x, atol=1e-4)


def test_fits_of_incomplete_rows_keep_their_laws():
    X, y = classes(40, 3, C=2)
    X = with_missing(X)
    w = np.random.default_rng(0).integers(0, 3, 40)
    for kind in BOTH:
        weighted, repeated = kind().fit(X, y, sample_weight=w), kind().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        assert_allclose(weighted.predict_log_proba(X), repeated.predict_log_proba(X), rtol=1e-6, atol=1e-6)
        blocks = kind().fit(ArraySource(X, block_rows=23), y)
        assert_allclose(blocks.predict_log_proba(X), kind().fit(X, y).predict_log_proba(X), rtol=1e-6, atol=1e-6)
    with pytest.raises(OptionError, match="incomplete rows"):
        LinearDiscriminant().fit(X, y).partial_fit(X, y)
    X[y == 1, 2] = np.nan
    with pytest.raises(DataError, match="column 2 of class 1 has no observed entry"):
        LinearDiscriminant().fit(X, y)


@pytest.mark.few(1)
@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning")
@pytest.mark.parametrize("kind", BOTH)
def test_missing_values_in_columns_that_are_constant_or_depend_on_others(kind):
    X, y = classes()
    Z = with_missing(X, 0.1)
    copy = np.where(np.arange(120) % 9 == 4, np.nan, X[:, 0])
    whole = np.where(np.isnan(Z[:, 0]), copy, Z[:, 0])
    expected = kind().fit(np.column_stack([whole, Z[:, 1:]]), y).predict_proba(X)
    twice = kind().fit(np.column_stack([Z, copy]), y)
    assert twice.solver_.converged
    assert_allclose(twice.predict_proba(np.column_stack([X, X[:, 0]])), expected, atol=1e-5)
    flat = np.column_stack([Z, np.where(np.isnan(copy), np.nan, 0.1)])
    expected = kind().fit(Z, y).predict_proba(X)
    assert_allclose(kind().fit(flat, y).predict_proba(flat), kind().fit(Z, y).predict_proba(Z), atol=1e-5)
    assert_allclose(kind().fit(flat, y).predict_proba(np.column_stack([X, np.full(120, 0.1)])), expected, atol=1e-5)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", BOTH)
def test_rules_of_shrinkage_take_incomplete_rows(kind):
    X, y = classes(90, 4)
    Z = with_missing(X, 0.1)
    found = kind(shrinkage="ledoit-wolf").fit(Z, y)
    assert (found.solver_.solver, found.solver_.converged) == ("em", True)
    D = Z - np.stack([np.nanmean(Z[y == c], axis=0) for c in range(3)])[y]
    groups = [D] if kind is LinearDiscriminant else [D[y == c] for c in range(3)]
    amounts = [
        pairwise_intensity(
            "ledoit-wolf", PairMoments.of(Block(group), np.zeros(4), np.ones(4)), SHRINKAGE_TARGETS["diagonal"]
        )
        for group in groups
    ]
    assert_allclose(np.ravel(found.shrinkage_), amounts, rtol=1e-10)
    same = [kind(shrinkage=amount).fit(Z, y) for amount in amounts]
    if kind is LinearDiscriminant:
        assert_allclose(found.covariance_, same[0].covariance_, rtol=1e-7)
    else:
        for c in range(3):
            assert_allclose(found.covariances_[c], same[c].covariances_[c], rtol=1e-7)
    few = np.where(np.arange(90)[:, None] < 3, Z, X)
    near, whole = (kind(shrinkage="ledoit-wolf").fit(rows, y).shrinkage_ for rows in (few, X))
    assert_allclose(near, whole, atol=0.03)
    w = np.random.default_rng(0).integers(1, 3, 90)
    weighted = kind(shrinkage="ledoit-wolf").fit(ArraySource(Z, block_rows=23), y, sample_weight=w)
    repeated = kind(shrinkage="ledoit-wolf").fit(np.repeat(Z, w, axis=0), np.repeat(y, w))
    assert_allclose(weighted.shrinkage_, repeated.shrinkage_, rtol=1e-9)


def test_a_row_without_entries_counts_for_its_class_alone():
    X, y = classes(60, 3, C=2)
    more, labels = np.vstack([X, np.full((3, 3), np.nan)]), np.append(y, [0, 0, 0])
    for kind in BOTH:
        found, plain = kind().fit(more, labels), kind().fit(X, y)
        assert_allclose(found.means_, plain.means_, rtol=1e-12)
        assert_allclose(found.class_prior_, np.bincount(labels) / 63)
        assert (found.n_samples_, found.class_count_.sum()) == (63, 63.0)


@pytest.mark.parametrize("shrinkage", [None, 0.5])
def test_many_columns_with_missing_values_by_the_slow_way(shrinkage):
    X, y = classes(30, 50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        found = LinearDiscriminant(shrinkage=shrinkage).fit(X, y)
    Z = with_missing(X[:6], 0.3)
    S, m, V = found.covariance_, found.means_, found.scalings_
    reasons, scores, pair = found.explain(Z, of=0, against=2), found.transform(Z), found.predict_log_proba(Z)
    for i, z in enumerate(Z):
        o = ~np.isnan(z)
        sd = np.sqrt(S.diagonal()[o])
        inverse = np.linalg.pinv(S[np.ix_(o, o)] / np.outer(sd, sd), hermitian=True) / np.outer(sd, sd)
        expected = (m[0] - m[2])[o] @ inverse * (z - 0.5 * (m[0] + m[2]))[o]
        assert_allclose(reasons.contributions[i, o], expected, rtol=1e-5, atol=1e-7 * np.abs(expected).max())
        assert_array_equal(reasons.contributions[i, ~o], 0.0)
        assert reasons.log_odds[i] == pytest.approx(pair[i, 0] - pair[i, 2], rel=1e-7, abs=1e-6)
        filled = sum(p * (m[c] + S[:, o] @ inverse @ (z - m[c])[o]) for c, p in enumerate(np.exp(pair[i])))
        assert_allclose(scores[i], (filled - found.centre_) @ V, rtol=1e-5, atol=1e-5)


def test_directions_of_rows_with_missing_are_expectations():
    X, y = classes()
    found = LinearDiscriminant().fit(X, y)
    Z = np.array([[X[0, 0], np.nan, X[0, 2], X[0, 3]]])
    rows = found.sample(200_000, random_state=0)
    near = np.all(np.abs(rows[:, [0, 2, 3]] - Z[0, [0, 2, 3]]) < 0.15 * X.std(axis=0)[[0, 2, 3]], axis=1)
    Z[0, 1] = rows[near, 1].mean()
    expected = found.transform(Z)
    Z[0, 1] = np.nan
    assert_allclose(found.transform(Z), expected, atol=0.4)


# ---- files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("options", [{}, {"shrinkage": "ledoit-wolf", "prior": {"a": 0.5, "b": 0.3, "c": 0.2}}])
@pytest.mark.parametrize("d", [4, 60])
def test_save_and_load(kind, options, d, tmp_path):
    X, y = classes(40, d)
    labels = np.array(["a", "b", "c"])[y]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        found = kind(**options).fit(pd.DataFrame(X, columns=[f"c{j}" for j in range(d)]), labels)
    again = loaded(found, tmp_path / "model")
    frame = pd.DataFrame(X, columns=found.feature_names_in_)
    assert_array_equal(again.predict_log_proba(frame), found.predict_log_proba(frame))
    assert_array_equal(again.predict(frame), found.predict(frame))
    assert_array_equal(again.sample(5, random_state=0), found.sample(5, random_state=0))
    assert_allclose(again.shrinkage_, found.shrinkage_)
    assert (again.n_samples_, again.solver_.solver) == (40, found.solver_.solver)
    assert_array_equal(pickle.loads(pickle.dumps(found)).predict_proba(frame), found.predict_proba(frame))
    with pytest.raises(OptionError, match="loaded from a file"):
        again.partial_fit(frame, labels)


# ---- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BOTH)
def test_bad_labels(kind):
    X, y = classes()
    with pytest.raises(DataError, match="40 of 120 labels are missing"):
        kind().fit(X, ["a", "b", float("nan")] * 40)
    with pytest.raises(DataError, match="mixes labels"):
        kind().fit(X, ["a", "b", 3] * 40)
    with pytest.raises(DataError, match=r"1 class \(7\)"):
        kind().fit(X, np.full(120, 7))
    with pytest.raises(DataError, match="contains NaN"):
        kind().fit(X, np.where(y == 1, np.nan, y))
    with pytest.raises(DataError, match="labels are missing"):
        kind().fit(X, [None if label == 1 else str(label) for label in y])
    with pytest.raises(DataError, match="119 labels, but X has 120 rows"):
        kind().fit(X, y[:-1])
    with pytest.raises(DataError, match="class 9"):
        kind().fit(X, y).partial_fit(X, np.where(y == 2, 9, y))
    with pytest.raises(DataError, match="class 2"):
        kind().partial_fit(X, np.minimum(y, 1)).partial_fit(X, y)
    with pytest.raises(OptionError, match="must be those of the first call"):
        kind().fit(X, y).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(DataError, match=r"class 5 \(0\) does not have; give the rows of every class"):
        kind().partial_fit(X, y, classes=[0, 1, 2, 5]).predict(X)
    with pytest.raises(DataError, match=r"np\.char\.decode"):
        kind().fit(X, np.array([b"a", b"b", b"c"])[y])


@pytest.mark.parametrize("kind", BOTH)
def test_infinities_in_rows_of_weight_0_do_not_matter_beside_missing_values(kind):
    X, y = classes()
    X[3, 1] = np.nan
    more, w = np.vstack([X, np.full((1, 4), np.inf)]), np.append(np.ones(120), 0.0)
    expected = kind().fit(X, y).predict_proba(X)
    for rows in (more, sp.csr_array(more)):
        assert_allclose(kind().fit(rows, np.append(y, 0), sample_weight=w).predict_proba(X), expected, rtol=1e-9)
        with pytest.raises(DataError, match="infinity"):
            kind().fit(rows, np.append(y, 0))


@pytest.mark.parametrize(
    "estimator", [LinearDiscriminant(), QuadraticDiscriminant(), BayesClassifier(GaussianFamily())]
)
def test_a_fit_that_failed_changes_nothing(estimator):
    X, y = classes()
    fresh = clone(estimator)
    with pytest.raises((DataError, OptionError)):
        fresh.fit(X, np.arange(120))
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    fitted = clone(estimator).fit(X, y)
    before = fitted.predict_proba(X)
    with pytest.raises((DataError, OptionError)):
        fitted.fit(X[:, :3], np.arange(120))
    assert_array_equal(fitted.predict_proba(X), before)


def test_numbers_near_the_largest():
    X, y = classes()
    found = LinearDiscriminant().fit(X, y)
    assert np.all(np.isfinite(found.transform(np.full((3, 4), 1e300))))
    assert_allclose(found.predict_proba(np.full((3, 4), 1e300)).sum(axis=1), 1.0)


@pytest.mark.few(2)
@pytest.mark.parametrize("options", [{}, {"shrinkage": "ledoit-wolf"}, {"shrinkage": 0.5, "target": "identity"}])
@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("rows", ["many", "few", "incomplete"])
def test_units_of_any_size_change_nothing_or_are_rejected(kind, options, rows):
    X, y = classes()
    if rows == "few":
        X, y = np.hstack([X[:50], np.random.default_rng(0).standard_normal((50, 56))]), y[:50]
        options = options or {"shrinkage": 0.5}
    if rows == "incomplete":
        X = np.where(np.random.default_rng(1).random(X.shape) < 0.03, np.nan, X)
    expected = kind(**options).fit(X, y).predict_log_proba(X)
    for scale in (1e-120, 1e120):
        assert_allclose(kind(**options).fit(X * scale, y).predict_log_proba(X * scale), expected, rtol=1e-6, atol=1e-7)
    for scale, message in ((1e-155, "below 1e-150"), (1e155, "above 1e150")):
        with pytest.raises(DataError, match=message):
            kind(**options).fit(X * scale, y)


def test_a_class_with_one_row():
    X, y = classes()
    y = y.copy()
    y[0] = 9
    linear = LinearDiscriminant().fit(X, y)
    assert_allclose(linear.means_[3], X[0])
    with pytest.raises(DataError, match=r"class 9 \(1\) does not have; one row has no covariance"):
        QuadraticDiscriminant().fit(X, y)
    with pytest.raises(DataError, match="every class has 1 row"):
        LinearDiscriminant().fit(X[:3], [0, 1, 2])


def test_columns_that_are_constant_within_classes():
    X, y = classes()
    flat = np.column_stack([X, np.full(120, 0.1)])
    with pytest.warns(DataWarning, match=r"1 columns are constant within every class \(4\) and are left out\."):
        found = LinearDiscriminant().fit(flat, y)
    assert_allclose(
        found.predict_log_proba(flat), LinearDiscriminant().fit(X, y).predict_log_proba(X), rtol=1e-9, atol=1e-9
    )
    assert_array_equal(found.coef_[:, 4], 0.0)
    with pytest.warns(DataWarning, match="although 4 differs between classes"):
        LinearDiscriminant().fit(np.column_stack([X, y.astype(float)]), y)
    alone = QuadraticDiscriminant().fit(X, y)
    with pytest.warns(DataWarning, match=r"1 columns are constant in all rows \(4\) and are left out\."):
        left = QuadraticDiscriminant().fit(flat, y)
    assert_allclose(left.predict_joint_log_proba(flat), alone.predict_joint_log_proba(X), rtol=1e-9)
    with pytest.warns(DataWarning, match="3 of 3 classes have a singular covariance"):
        clamped = QuadraticDiscriminant().fit(np.column_stack([X, X[:, 0] - X[:, 1]]), y)
    assert_allclose(clamped.predict_proba(np.column_stack([X, X[:, 0] - X[:, 1]])), alone.predict_proba(X), atol=1e-5)
    one = np.column_stack([X, np.where(y == 1, 5.0, X[:, 0] + X[:, 1] ** 2)])
    with pytest.warns(DataWarning, match="1 of 3 classes have a singular covariance.*1 of 32 rows"):
        QuadraticDiscriminant().fit(one, y)
    with pytest.raises(DataError, match="no column varies"):
        LinearDiscriminant().fit(np.repeat(np.eye(3), 5, axis=0), np.repeat([0, 1, 2], 5))
    with pytest.warns(DataWarning, match="vary in 4 directions of 5"):
        LinearDiscriminant().fit(np.column_stack([X, X[:, 0] + X[:, 1]]), y)


@pytest.mark.parametrize("kind", BOTH)
def test_columns_at_predict(kind):
    X, y = classes()
    frame = pd.DataFrame(X, columns=list("abcd"))
    found = kind().fit(frame, y)
    with pytest.raises(ValueError, match="same order"):
        found.predict(frame[list("bacd")])
    with pytest.raises(ValueError, match="seen at fit time, yet now missing"):
        found.predict(frame[list("abc")])
    with pytest.raises(ValueError, match="3 features, but"):
        kind().fit(X, y).predict(X[:, :3])
    X[3, 1] = np.inf
    with pytest.raises(DataError, match="infinity"):
        kind().fit(X, y)
    with pytest.raises(DataError, match="infinity"):
        found.predict(pd.DataFrame(X, columns=list("abcd")))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shrinkage": 1.5}, r"shrinkage=1\.5 must be a number from 0 to 1"),
        ({"shrinkage": True}, "shrinkage=True"),
        ({"shrinkage": "ledoit"}, "did you mean 'ledoit-wolf'"),
        ({"target": "round"}, "target='round' is not known"),
        ({"prior": [0.5, 0.5]}, "3 probabilities"),
        ({"prior": [0.5, 0.3, 0.3]}, "sum to 1"),
        ({"prior": {"a": 1.0}}, "names the classes"),
        ({"prior": "flat"}, "prior='flat'"),
    ],
)
@pytest.mark.parametrize("kind", BOTH)
def test_options(kind, options, message):
    with pytest.raises(OptionError, match=message):
        kind(**options).fit(*classes())


def test_more_options():
    X, y = classes()
    with pytest.raises(OptionError, match="n_components=3 must be at most 2, the smaller of 3 classes less one"):
        LinearDiscriminant(3).fit(X, y)
    with pytest.raises(OptionError, match="reg=-1"):
        QuadraticDiscriminant(reg=-1).fit(X, y)
    reports = []
    LinearDiscriminant(verbose=lambda done, total, what: reports.append((done, total, what))).fit(X, y)
    assert reports == [(120, 120, "reading classes")]


def test_copies_of_rows_named_as_classes_have_no_covariance():
    X = np.repeat(np.random.default_rng(4).normal(size=(6, 2)), 2, axis=0)
    with pytest.raises(DataError, match=r"no column varies within any class.*rather than names of rows"):
        LinearDiscriminant().fit(X, np.repeat(list("abcdef"), 2))

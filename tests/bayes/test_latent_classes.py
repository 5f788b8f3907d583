"""Mixtures of any family: EM against an independent one, laws, mixed tables, files and choices."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import gammaln, logsumexp
from scipy.stats import bernoulli, multinomial, poisson
from sklearn.datasets import load_digits, load_iris
from sklearn.mixture import GaussianMixture as Reference
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_limits

import eigenlens
from eigenlens import GaussianMixture, KernelDensity, MixtureModel, select_mixture
from eigenlens.bayes.latent_classes import distinct_rows
from eigenlens.bayes.naive.class_parameters import gaussian_parameters
from eigenlens.bayes.naive.families import FACTORS
from eigenlens.bayes.naive.families.base import Factor, NaiveOptions
from eigenlens.data.coerce import as_table
from eigenlens.data.column_kinds import Field
from eigenlens.data.table import encode_columns
from eigenlens.densities import Bernoulli, BernoulliFamily, Block, CategoricalFamily, GaussianFamily
from eigenlens.errors import DataError, OptionError


def coins(n=600, seed=0, d=6):
    """Rows of zeros and ones from two classes, some entries missing."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < np.where(rng.random((n, 1)) < 0.4, 0.85, 0.25)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def table(n=400, seed=1):
    rng = np.random.default_rng(seed)
    second = np.arange(n) >= n // 2
    frame = pd.DataFrame(
        {
            "height": rng.normal(np.where(second, 4.0, 0.0), 1.0),
            "city": [rng.choice(list("abc"), p=[0.1, 0.2, 0.7] if late else [0.7, 0.2, 0.1]) for late in second],
            "member": rng.random(n) < np.where(second, 0.8, 0.2),
        }
    )
    frame.loc[rng.random(n) < 0.15, "height"] = np.nan
    frame.loc[rng.random(n) < 0.15, "city"] = None
    return frame, second


def bernoulli_em(X, p, pi, steps):
    """EM for a mixture of independent coins with missing entries, in plain formulas."""
    seen = ~np.isnan(X)
    filled = np.where(seen, X, 0.0)
    path = []
    for _ in range(steps):
        joint = np.log(pi) + filled @ np.log(p).T + (seen - filled) @ np.log1p(-p).T
        path.append(logsumexp(joint, axis=1).sum())
        r = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        pi, p = r.mean(axis=0), (r.T @ filled) / (r.T @ seen)
    return p, pi, path


def test_coins_reach_the_maximum_of_an_independent_em():
    X = coins()
    model = MixtureModel(2, random_state=0, tol=1e-13).fit(X)
    p = np.stack([[model.density(j, k).probability for j in range(6)] for k in range(2)])
    found, weights, path = bernoulli_em(X, p, np.array(model.weights_), 400)
    assert_allclose(model.loglik_, path[-1], rtol=1e-12)
    assert_allclose(p, found, atol=1e-5)
    assert_allclose(model.weights_, weights, atol=1e-5)
    away, _, far = bernoulli_em(X, np.random.default_rng(5).uniform(0.3, 0.7, (2, 6)), np.array([0.5, 0.5]), 2000)
    assert model.loglik_ >= far[-1] - 1e-6
    assert away.shape == p.shape


@pytest.mark.parametrize("features", ["gaussian", {0: GaussianFamily()}])
def test_one_gaussian_column_is_a_gaussian_mixture(features):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0.0, 1.0, 300), rng.normal(5.0, 0.7, 150)])[:, None]
    model = MixtureModel(2, features=features, random_state=0, tol=1e-13).fit(x)
    gaussian = GaussianMixture(2, random_state=0).fit(x)
    assert_allclose(model.loglik_, gaussian.loglik_, rtol=1e-11)
    assert_allclose(model.weights_, gaussian.weights_, atol=1e-6)
    assert_allclose(model.predict_proba(x), gaussian.predict_proba(x), atol=1e-5)
    assert_allclose(model.score_samples(x), gaussian.score_samples(x), atol=1e-5)
    ours, theirs = ([each.bic(), each.aic(), each.icl(x)] for each in (model, gaussian))
    assert_allclose(ours, theirs, rtol=1e-8)


def test_gaussian_columns_are_those_of_a_diagonal_gaussian_mixture():
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(0.0, 1.0, (200, 3)), rng.normal(4.0, 2.0, (200, 3))])
    ours = MixtureModel(2, features="gaussian", random_state=0, tol=1e-12)
    theirs = GaussianMixture(2, covariance_type="diag", random_state=0)
    assert_allclose(ours.fit(X).loglik_, theirs.fit(X).loglik_, rtol=1e-10)
    gone = X.copy()
    gone[rng.random(X.shape) < 0.2] = np.nan
    gone[:3] = np.nan
    with pytest.warns(UserWarning, match="8 rows have no observed entry"):
        ours.fit(gone)
    with pytest.warns(UserWarning, match="8 rows have no observed entry"):
        theirs.fit(gone)
    assert_allclose(ours.loglik_, theirs.loglik_, rtol=1e-10)
    for criterion in ("bic", "aic", "icl"):
        assert_allclose(getattr(ours, criterion)(gone), getattr(theirs, criterion)(gone), rtol=1e-7)
    assert_allclose(ours.bic(), ours.bic(gone), rtol=1e-12)
    assert ours.n_samples_ == theirs.n_samples_ == len(gone) - np.isnan(gone).all(axis=1).sum()
    assert_allclose(ours.score(gone), theirs.score(gone), rtol=1e-9)


@pytest.mark.parametrize("features", ["auto", {"height": "shared-gaussian"}])
def test_likelihood_never_falls_and_is_that_of_the_model(features):
    frame, _ = table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paths = [MixtureModel(3, features=features, n_init=1, random_state=s).fit(frame).loglik_path_ for s in range(5)]
    assert all(np.all(np.diff(path) >= -1e-9) for path in paths)
    model = MixtureModel(2, features=features, random_state=0).fit(frame)
    assert_allclose(model.score_samples(frame).sum(), model.loglik_, rtol=1e-10)


def test_mixed_columns_find_the_classes():
    frame, second = table()
    model = MixtureModel(2, random_state=0).fit(frame)
    labels = model.predict(frame)
    assert max(np.mean(labels == second), np.mean(labels != second)) > 0.9
    assert [choice.family for choice in model.features_] == ["gaussian", "categorical", "bernoulli"]
    assert model.weights_[0] >= model.weights_[1]
    assert_allclose(model.probability_table().probabilities[:3].sum(axis=0), 1.0)
    assert model._n_parameters == 1 + 2 * 2 + 2 * 2 + 2
    drawn, component = model.sample(20_000, return_labels=True)
    assert_allclose(np.bincount(component) / 20_000, model.weights_, atol=0.01)
    assert list(drawn.columns) == list(frame.columns)
    for k in range(2):
        assert_allclose(drawn["height"][component == k].mean(), model.density("height", k).mean[0], atol=0.05)
        assert_allclose(drawn["member"][component == k].mean(), model.density("member", k).probability, atol=0.02)


def test_weights_are_repetitions_and_rows_of_weight_0_do_not_count():
    frame, _ = table()
    w = np.random.default_rng(2).integers(0, 3, len(frame)).astype(float)
    copies = np.repeat(np.arange(len(frame)), w.astype(int))
    weighted = MixtureModel(2, random_state=0, tol=1e-12).fit(frame, sample_weight=w)
    repeated = MixtureModel(2, random_state=0, tol=1e-12).fit(frame.iloc[copies])
    assert_allclose(weighted.loglik_, repeated.loglik_, rtol=1e-9)
    assert_allclose(weighted.bic(), repeated.bic(), rtol=1e-9)
    assert_allclose(weighted.bic(frame, w), weighted.bic(), rtol=1e-9)
    assert weighted.n_samples_ == np.count_nonzero(w)


def test_counts_are_mixtures_of_multinomials():
    rng = np.random.default_rng(4)
    shares = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6]])
    X = np.stack([rng.multinomial(30, shares[c]) for c in rng.integers(0, 2, 300)])
    model = MixtureModel(2, features="multinomial", random_state=0).fit(sparse.csr_matrix(X))
    theta = np.stack([model.density(0, k).probabilities for k in range(2)])
    assert min(np.abs(theta - shares).max(), np.abs(theta - shares[::-1]).max()) < 0.02
    rows = np.stack([multinomial(30, t).logpmf(X) for t in theta], axis=1) + np.log(model.weights_)
    r = np.exp(rows - logsumexp(rows, axis=1, keepdims=True))
    assert_allclose(model.predict_proba(X), r, atol=1e-9)
    assert_allclose(theta, (r.T @ X) / (r.T @ X).sum(axis=1, keepdims=True), atol=1e-6)  # a fixed point of EM


def counts_em(X, theta, pi, steps):
    """EM for mixtures of multinomials judged given the totals of their observed counts, by the gradient of each θ."""
    seen, x = ~np.isnan(X), np.nan_to_num(X)
    for _ in range(steps):
        share = seen @ theta.T
        joint = np.log(pi) + x @ np.log(theta).T - x.sum(axis=1, keepdims=True) * np.log(share)
        r = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        # Hunter's step (2004) for choices among some of the columns: θ_j = wins of j / Σ choices with j / their share.
        theta = (r.T @ x) / ((r * x.sum(axis=1, keepdims=True) / share).T @ seen)
        theta, pi = theta / theta.sum(axis=1, keepdims=True), r.mean(axis=0)
    return theta, pi, logsumexp(joint, axis=1).sum()


def test_missing_counts_are_left_out_given_the_total_of_the_others():
    rng = np.random.default_rng(6)
    shares = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6]])
    X = np.stack([rng.multinomial(20, shares[c]) for c in rng.integers(0, 2, 400)]).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    model = MixtureModel(2, features="multinomial", random_state=0, tol=1e-13).fit(X)
    assert np.all(np.diff(model.loglik_path_) >= -1e-9)
    ours = np.stack([model.density(0, k).probabilities for k in range(2)])
    theta, weights, loglik = counts_em(X, shares if ours[0, 0] > ours[1, 0] else shares[::-1], np.full(2, 0.5), 600)
    assert_allclose(model.loglik_, loglik, rtol=1e-12)
    assert_allclose(ours, theta, atol=1e-6)
    assert_allclose(model.weights_, weights, atol=1e-6)


def test_a_file_keeps_everything(tmp_path):
    frame, _ = table()
    model = MixtureModel(2, features={"height": "shared-gaussian"}, random_state=0).fit(frame)
    model.save(tmp_path / "m.safetensors")
    loaded = eigenlens.load(tmp_path / "m.safetensors")
    assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    assert (loaded.loglik_, loaded.bic(), loaded.converged_) == (model.loglik_, model.bic(), model.converged_)
    assert str(loaded.features_) == str(model.features_)
    assert loaded.sample(5, random_state=0).equals(model.sample(5, random_state=0))


def test_choice_of_the_number_of_components():
    frame, _ = table()
    found = select_mixture(frame, range(1, 5), features="auto", random_state=0)
    assert found.components[0] == 2
    assert found.types == ("independent",) * 4
    assert found.best.n_components_ == 2
    with pytest.raises(OptionError, match="belongs to Gaussian mixtures, and features are given"):
        select_mixture(frame, 2, "full", features="auto")


def test_options_that_do_not_fit():
    frame, _ = table()
    for options, message in [
        ({"features": {"height": "kde"}}, "the family 'kde', which EM cannot fit"),
        ({"features": {"height": KernelDensity()}}, "which EM cannot fit"),
        ({"n_components": 1000}, "n_components=1000 must be at most 400"),
        ({"floor": 0.0}, "floor=0.0 must be a number above 0"),
        ({"n_init": 0}, "n_init=0"),
    ]:
        with pytest.raises(OptionError, match=message):
            MixtureModel(**options).fit(frame)
    with pytest.raises(ValueError, match="return_labels=True"):
        _, _ = MixtureModel(1).fit(coins()).sample(2)


def test_infinity_is_not_a_category():
    X = np.array([[0.0, 1.0], [np.inf, 2.0], [1.0, 0.0], [2.0, 1.0]] * 3)
    with pytest.raises(DataError, match="contains infinity in column 0"):
        MixtureModel(2, features="categorical").fit(X)
    absent = MixtureModel(1, features="categorical").fit(X, sample_weight=[1, 0, 1, 1] * 3)
    assert absent.density(0, 0).levels == (0, 1, 2)


def test_an_unknown_category_has_no_density():
    frame, _ = table()
    model = MixtureModel(2, random_state=0).fit(frame)
    new = frame[:2].assign(city=["elsewhere", None])
    assert_array_equal(np.isfinite(model.score_samples(new)), [False, True])
    assert_allclose(model.predict_proba(new)[0], model.weights_)


def test_a_component_that_collapses_is_reported():
    x = np.concatenate([np.full(20, 3.0), np.random.default_rng(0).normal(size=30)])[:, None]
    with pytest.warns(UserWarning, match="have collapsed"):
        MixtureModel(2, features="gaussian", random_state=0).fit(x)


# ---- other systems --------------------------------------------------------------------------------------------

ROLE_CONFLICT = np.array(list(product([1.0, 0.0], repeat=4)))
"""Four answers, universalistic (1) or particularistic (0), of the 216 respondents of Stouffer and Toby (1951)."""

RESPONDENTS = np.array([42.0, 23, 6, 25, 6, 24, 7, 38, 1, 4, 1, 6, 2, 9, 2, 20])


def test_latent_classes_of_role_conflict_are_those_of_goodman_and_flexmix(accuracy):
    model = MixtureModel(2, random_state=0, tol=1e-14).fit(ROLE_CONFLICT, sample_weight=RESPONDENTS)
    p = np.stack([[model.density(j, k).probability for j in range(4)] for k in range(2)])
    published = [[0.714, 0.330, 0.354, 0.132], [0.993, 0.940, 0.927, 0.769]]  # Goodman, Biometrika 61 (1974) 215
    assert_allclose(p, published, atol=5.1e-4)
    assert_allclose(model.weights_, [0.721, 0.279], atol=5e-4)
    expected = 216.0 * np.exp(model.score_samples(ROLE_CONFLICT))
    assert_allclose(2.0 * RESPONDENTS @ np.log(RESPONDENTS / expected), 2.720, atol=5e-4)
    what, theirs = "MixtureModel of role conflict (Goodman): log-likelihood, BIC", [-504.46767012, 1057.31284591]
    accuracy.close(what, [model.loglik_, model.bic()], theirs, system="R, flexmix 2.3", rtol=1e-10)


def test_mixed_columns_with_missing_entries_are_those_of_stepmix(accuracy):
    """StepMix(2, measurement={gaussian_diag_nan, categorical_nan, binary_nan}, n_init=5), stepmix 2.2.3."""
    rng = np.random.default_rng(7)
    second = rng.random(500) < 0.4
    X = np.column_stack(
        [
            rng.normal(np.where(second, 2.0, 0.0), 1.0),
            rng.normal(np.where(second, -1.0, 1.0), 0.7),
            [rng.choice(3, p=[0.6, 0.3, 0.1] if late else [0.1, 0.3, 0.6]) for late in second],
            rng.random(500) < np.where(second, 0.8, 0.3),
            rng.random(500) < np.where(second, 0.7, 0.2),
        ]
    ).astype(float)
    for j in range(5):
        X[rng.random(500) < 0.1, j] = np.nan
    model = MixtureModel(2, features={2: "categorical"}, random_state=0, tol=1e-13).fit(X)
    what = "MixtureModel of 5 mixed columns with missing entries: log-likelihood, BIC"
    theirs = [-2270.65072397576, 4646.949785624697]
    accuracy.close(what, [model.loglik_, model.bic()], theirs, system="StepMix 2.2.3", rtol=1e-11)
    assert_allclose(model.weights_, [0.61078558, 0.38921442], atol=1e-6)


def test_scikit_learn_finds_nothing_better_near_the_gaussian_columns():
    X = load_iris().data
    model = MixtureModel(3, features="gaussian", random_state=0, tol=1e-13).fit(X)
    means, variances = gaussian_parameters(model.model_)
    start = {"weights_init": model.weights_, "means_init": means, "precisions_init": 1.0 / variances}
    theirs = Reference(3, covariance_type="diag", reg_covar=0.0, tol=1e-12, max_iter=500, **start).fit(X)
    assert_allclose(theirs.score(X) * len(X), model.loglik_, rtol=1e-10)
    assert_allclose(theirs.bic(X), model.bic(), rtol=1e-10)
    assert model.loglik_ > -307.177571598  # mclust 6.1 VVI, from its hierarchical start


# ---- fast paths and their slow twins --------------------------------------------------------------------------


@pytest.mark.parametrize("features", ["bernoulli", "categorical"])
def test_equal_rows_are_merged_and_change_nothing(features, monkeypatch):
    X = coins(2000, d=4)
    X[np.isnan(X).all(axis=1)] = 1.0
    options = {"features": features, "random_state": 0, "tol": 1e-13}
    merged = MixtureModel(2, **options).fit(X)
    monkeypatch.setattr(distinct_rows, "MAX_DISTINCT_SHARE", 0.0)
    whole = MixtureModel(2, **options).fit(X)
    assert_allclose(merged.loglik_, whole.loglik_, rtol=1e-11)
    assert_allclose(merged.predict_proba(X), whole.predict_proba(X), atol=1e-5)


def test_merged_rows_have_the_weights_of_the_distinct_ones():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (500, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    w = rng.random(500)
    merged = distinct_rows.merge_equal_rows(Block(encode_columns(X, [0, 1, 2]), w))
    first = {}
    for row, weight in zip(map(tuple, np.nan_to_num(X, nan=-1.0)), w, strict=True):
        first[row] = first.get(row, 0.0) + weight
    assert_allclose(sorted(merged.weight), sorted(first.values()))


@pytest.mark.parametrize("name", ["gaussian", "shared-gaussian", "categorical", "bernoulli", "multinomial"])
@pytest.mark.parametrize("missing", [False, True])
def test_statistics_of_shared_rows_are_those_of_weighted_copies(name, missing):
    rng = np.random.default_rng(1)
    X = 1e6 + rng.normal(size=(200, 3)) if "gaussian" in name else rng.integers(0, 2, (200, 3)).astype(float)
    X[rng.random(X.shape) < 0.2 * missing] = np.nan
    shares, factor, columns = rng.dirichlet(np.ones(4), 200) * rng.random((200, 1)), FACTORS[name], np.arange(3)
    fast, slow = (of(factor, X, columns, shares) for of in (type(factor).summarise_shared, Factor.summarise_shared))
    fields = tuple(Field(j, "number") for j in range(3))
    ours, twins = (factor.estimate(found, fields, NaiveOptions(smoothing=0.0)) for found in (fast, slow))
    assert_allclose(ours.terms(X, columns), twins.terms(X, columns), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("features", ["auto", {"height": "shared-gaussian"}])
def test_extrapolated_steps_end_where_plain_ones_do(features):
    frame, _ = table()
    fits = [
        MixtureModel(2, features=features, random_state=0, tol=1e-12, accelerate=a).fit(frame) for a in (True, False)
    ]
    assert_allclose(fits[0].loglik_, fits[1].loglik_, rtol=1e-11)
    assert_allclose(fits[0].predict_proba(frame), fits[1].predict_proba(frame), atol=1e-4)
    assert fits[0].n_iter_ <= fits[1].n_iter_


def test_blocks_and_orders_of_classes():
    frame, _ = table()
    model = MixtureModel(3, features={"height": "shared-gaussian"}, n_init=2, random_state=0).fit(frame).model_
    order = np.array([2, 0, 1])
    rows = next(as_table(frame).rows())
    assert_allclose(model.take(order).log_joint(rows), model.log_joint(rows)[:, order])


# ---- families of the user's own -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Poisson:
    """P(x) = e^−λ λ^x / x!."""

    rate: float
    n_parameters = 1

    def log_density(self, X):
        x = np.ravel(X)
        return x * np.log(self.rate) - self.rate - gammaln(x + 1.0)

    def sample(self, n, rng):
        return rng.poisson(self.rate, (n, 1)).astype(float)


class PoissonFamily:
    """Weights and sums of counts to rates."""

    def summarise(self, block):
        w = np.ones(len(block.rows)) if block.weight is None else block.weight
        return np.array([w.sum(), w @ np.ravel(block.rows)])

    def estimate(self, statistics):
        return Poisson(statistics[1] / statistics[0])


def test_a_family_of_your_own_is_fitted_by_em():
    rng = np.random.default_rng(8)
    second = rng.random(400) < 0.3
    x, vote = (
        rng.poisson(np.where(second, 9.0, 2.0)).astype(float),
        (rng.random(400) < np.where(second, 0.8, 0.3)) * 1.0,
    )
    x[:30], vote[20:60] = np.nan, np.nan
    X = np.column_stack([x, vote])[~(np.isnan(x) & np.isnan(vote))]
    model = MixtureModel(2, features={0: PoissonFamily()}, random_state=0, tol=1e-13).fit(X)
    lam, p, pi = np.array([3.0, 8.0]), np.array([0.4, 0.6]), np.array([0.5, 0.5])
    seen, filled = ~np.isnan(X), np.nan_to_num(X)
    for _ in range(300):
        logs = seen[:, :1] * poisson(lam).logpmf(filled[:, :1]) + seen[:, 1:] * bernoulli(p).logpmf(filled[:, 1:])
        r = np.exp(logs + np.log(pi) - logsumexp(logs + np.log(pi), axis=1, keepdims=True))
        pi, lam, p = (
            r.mean(axis=0),
            (r.T @ filled[:, 0]) / (r.T @ seen[:, 0]),
            (r.T @ filled[:, 1]) / (r.T @ seen[:, 1]),
        )
    assert_allclose(model.loglik_, logsumexp(logs + np.log(pi), axis=1).sum(), rtol=1e-10)
    assert_allclose([model.density(0, k).rate for k in range(2)], lam, atol=1e-5)
    assert_allclose(model.bic(), -2.0 * model.loglik_ + 5 * np.log(len(X)), rtol=1e-12)
    assert model.sample(10, random_state=0).shape == (10, 2)
    found = select_mixture(X, [1, 2, 3], features={0: PoissonFamily()}, random_state=0, n_init=3)
    assert found.components[0] == 2


@pytest.mark.parametrize(
    ("family", "named"),
    [(GaussianFamily(), "gaussian"), (BernoulliFamily(), "bernoulli"), (CategoricalFamily(), "categorical")],
)
def test_the_families_of_densities_are_those_with_names(family, named):
    rng = np.random.default_rng(9)
    second = rng.random(300) < 0.5
    column = rng.normal(3.0 * second, 1.0) if named == "gaussian" else (rng.random(300) < 0.3 + 0.4 * second) * 1.0
    X = np.column_stack([column, rng.normal(4.0 * second, 1.0)])
    ours, theirs = (MixtureModel(2, features={0: f}, random_state=0, tol=1e-12).fit(X) for f in (family, named))
    assert (ours.loglik_, ours.bic()) == (theirs.loglik_, theirs.bic())
    # Named columns are one group, and add up in another order: by the last bits a run may end one pass sooner.
    assert abs(ours.n_iter_ - theirs.n_iter_) <= 1


def test_families_of_densities_with_other_values_and_with_options():
    rng = np.random.default_rng(3)
    second = rng.random(200) < 0.5
    yes = rng.random((200, 3)) < np.where(second, 0.8, 0.2)[:, None]
    zero_one = MixtureModel(2, features="bernoulli", random_state=0).fit(yes * 1.0)
    for other in (yes, yes + 1, np.where(yes, "yes", "no")):
        model = MixtureModel(2, features=BernoulliFamily(), random_state=0).fit(pd.DataFrame(other))
        assert_allclose(model.loglik_, zero_one.loglik_, rtol=1e-9)
    assert isinstance(MixtureModel(1, features=BernoulliFamily()).fit(yes * 1.0).density(0, 0), Bernoulli)
    known = MixtureModel(1, features=GaussianFamily(sigma=2.0)).fit(yes * 1.0)
    assert_allclose(known.density(0, 0).covariance.matrix(), [[4.0]])
    smooth = MixtureModel(1, features=CategoricalFamily(smoothing=np.array([1.0, 3.0]))).fit(yes * 1.0)
    assert_allclose(smooth.density(0, 0).probabilities[1], (yes[:, 0].sum() + 3.0) / 204.0)


def test_a_family_without_a_count_of_its_parameters_has_no_bic():
    class Silent(PoissonFamily):
        def estimate(self, statistics):
            return SilentPoisson(Poisson(statistics[1] / statistics[0]))

    x = np.random.default_rng(0).poisson(3.0, (50, 1)).astype(float)
    model = MixtureModel(1, features={0: Silent()}).fit(x)
    with pytest.raises(OptionError, match="n_parameters of densities, which SilentPoisson has not"):
        model.bic()
    with pytest.raises(OptionError, match="a family of your own, which a model file cannot hold"):
        model.save("never.safetensors")


@dataclass(frozen=True)
class SilentPoisson:
    inner: Poisson

    def log_density(self, X):
        return self.inner.log_density(X)


# ---- rows ------------------------------------------------------------------------------------------------------


def test_rows_without_entries_count_nowhere():
    frame, _ = table()
    empty = pd.concat([frame, frame[:5].assign(height=np.nan, city=None, member=None)], ignore_index=True)
    empty["member"] = empty["member"].astype("boolean")
    whole = frame.astype({"member": "boolean"})
    model = MixtureModel(2, random_state=0, tol=1e-12).fit(whole)
    with pytest.warns(UserWarning, match="5 rows have no observed entry"):
        more = MixtureModel(2, random_state=0, tol=1e-12).fit(empty)
    assert_allclose([more.loglik_, more.bic(), more.bic(empty)], [model.loglik_, model.bic(), model.bic()], rtol=1e-9)
    assert more.n_samples_ == model.n_samples_
    assert_allclose(more.predict_proba(empty)[-1], more.weights_)
    assert_allclose(more.icl(empty), model.icl(whole), rtol=1e-6)


@pytest.mark.parametrize("features", ["gaussian", "bernoulli", "categorical", "multinomial"])
def test_a_row_of_weight_0_is_absent_whatever_its_entries(features):
    X = np.random.default_rng(0).integers(0, 2, (60, 3)).astype(float) + (features == "gaussian") * 0.5
    more = np.vstack([X, np.full((2, 3), np.inf)])
    w = np.r_[np.ones(60), 0.0, 0.0]
    options = {"features": features, "n_init": 2, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, plain = MixtureModel(2, **options).fit(more, sample_weight=w), MixtureModel(2, **options).fit(X)
    assert_allclose(ours.loglik_, plain.loglik_, rtol=1e-9)


def test_max_iter_bounds_the_passes_of_a_start():
    with pytest.warns(UserWarning, match="EM stopped after"):
        model = MixtureModel(3, max_iter=3, random_state=0).fit(coins())
    assert model.n_iter_ <= 4  # one more step sorts the components


def test_rows_that_no_fit_takes():
    with pytest.raises(DataError, match="no observed entry in any row"):
        MixtureModel(1, features="gaussian").fit(np.full((3, 2), np.nan))
    model = MixtureModel(1, features="gaussian").fit(np.eye(3))
    with pytest.raises(DataError, match="contains infinity"):
        model.predict(np.full((1, 3), np.inf))
    with pytest.raises(DataError, match="infinity"):
        MixtureModel(1, features="gaussian").fit(np.full((4, 2), np.inf))


def test_an_interrupted_fit_keeps_the_best_mixture():
    calls = []

    def interrupt(done, total, label):
        calls.append(done)
        if len(calls) == 30:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        model = MixtureModel(2, random_state=0, verbose=interrupt).fit(coins())
    assert np.isfinite(model.loglik_)
    assert not model.converged_ or model.n_iter_ > 0


def test_bic_chooses_the_number_of_simulated_classes_with_weights():
    rng = np.random.default_rng(11)
    p = np.array([[0.9] * 4 + [0.1] * 4, [0.1] * 4 + [0.9] * 4, [0.85] * 8])
    X = (rng.random((900, 8)) < p[rng.integers(0, 3, 900)]).astype(float)
    found = select_mixture(X, range(1, 6), features="bernoulli", random_state=0, n_init=4)
    assert found.components[0] == 3
    assert_allclose(found.bic, -2.0 * found.loglik + found.parameters * np.log(900.0), rtol=1e-12)
    assert_array_equal(found.parameters, found.components - 1 + 8 * found.components)
    w = rng.integers(1, 4, 900).astype(float)
    weighted = select_mixture(X, 2, features="bernoulli", sample_weight=w, random_state=0, n_init=4)
    repeated = select_mixture(np.repeat(X, w.astype(int), axis=0), 2, features="bernoulli", random_state=0, n_init=4)
    assert_allclose([weighted.bic, weighted.icl], [repeated.bic, repeated.icl], rtol=1e-6)
    with pytest.raises(OptionError, match="n_init=0"):
        select_mixture(X, 2, features="bernoulli", n_init=0)
    with pytest.raises(OptionError, match="not a family"):
        select_mixture(X, 2, features="normal")
    with pytest.raises(TypeError, match="covariance_type"):
        select_mixture(X, 2, features="bernoulli", covariance_type="full")
    held_out = select_mixture(X, [1, 3], features="bernoulli", criterion="held_out", cv=3, random_state=0, n_init=2)
    assert held_out.components[0] == 3


NOT_A_CLASSIFIER = {
    f"check_estimator_sparse_{kind}": "asks for the probabilities of two or four classes of whatever takes sparse rows"
    for kind in ("array", "matrix")
}


@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning", "ignore::eigenlens.ConvergenceWarning")
@pytest.mark.parametrize(("K", "features"), [(1, "auto"), (2, "gaussian")])
def test_scikit_learns_own_checks(K, features):
    check_estimator(
        MixtureModel(K, features=features, n_init=1, max_iter=20, random_state=0),
        expected_failed_checks=NOT_A_CLASSIFIER,
        on_skip=None,
        on_fail="raise",
    )


# ---- missing entries -------------------------------------------------------------------------------------------


def test_imputed_numbers_are_those_of_the_gaussian_mixture():
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(0.0, 1.0, (200, 3)), rng.normal(4.0, 2.0, (200, 3))])
    X[rng.random(X.shape) < 0.2] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    ours = MixtureModel(2, features="gaussian", random_state=0, tol=1e-13).fit(X)
    theirs = GaussianMixture(2, covariance_type="diag", random_state=0, tol=1e-13).fit(X)
    for found, expected in zip(ours.impute(X, return_std=True), theirs.impute(X, return_std=True), strict=True):
        assert_allclose(found, expected, atol=1e-4)
    assert_array_equal(ours.impute(X)[~np.isnan(X)], X[~np.isnan(X)])


def test_imputed_categories_are_the_most_likely_ones():
    frame, _ = table()
    model = MixtureModel(2, random_state=0).fit(frame)
    found, std = model.impute(frame, return_std=True)
    assert found["city"].notna().all()
    assert found.index.equals(frame.index)
    assert found["member"].dtype == bool
    gone = frame["city"].isna().to_numpy()
    proba = model.predict_proba(frame)[gone]
    p = np.stack([model.density("city", k).probabilities for k in range(2)])
    assert_array_equal(found["city"][gone], np.array(list("abc"))[(proba @ p).argmax(axis=1)])
    assert np.isnan(std[gone, 1]).all()
    assert_array_equal(std[~gone, 1], 0.0)
    means = np.array([model.density("height", k).mean[0] for k in range(2)])
    absent = frame["height"].isna().to_numpy()
    assert_allclose(found["height"][absent], model.predict_proba(frame)[absent] @ means)


def test_imputed_counts_are_expected_given_the_others():
    rng = np.random.default_rng(6)
    X = rng.multinomial(20, [0.5, 0.3, 0.2], 300).astype(float)
    model = MixtureModel(1, features="multinomial").fit(X)
    theta = model.density(0, 0).probabilities
    gone = X.copy()
    gone[:, 2] = np.nan
    assert_allclose(model.impute(gone)[:, 2], gone[:, :2].sum(axis=1) * theta[2] / theta[:2].sum())


def test_a_family_of_your_own_is_imputed_by_its_mean():
    x = np.random.default_rng(0).poisson(3.0, (50, 1)).astype(float)
    X = np.column_stack([x, x])
    model = MixtureModel(1, features={0: PoissonFamily(), 1: GaussianFamily()}).fit(X)
    X[0, 1] = np.nan
    assert_allclose(model.impute(X)[0, 1], x.mean())
    X[0, 0] = np.nan
    with pytest.raises(OptionError, match="the attribute mean of densities, which Poisson has not"):
        model.impute(X)


@pytest.mark.parametrize("kind", [list, np.asarray, pd.Series])
def test_one_column_may_have_one_dimension(kind):
    x = np.random.default_rng(7).normal([[0.0], [5.0]], 1.0, (2, 60)).ravel()
    table, column = (MixtureModel(2, features="gaussian", random_state=0).fit(X) for X in (x[:, None], kind(x)))
    assert column.loglik_ == table.loglik_
    for method in ("predict", "predict_proba", "score_samples", "score", "bic", "icl"):
        assert_array_equal(getattr(column, method)(kind(x)), getattr(table, method)(x[:, None]), err_msg=method)
    with pytest.raises(ValueError, match="must have two"):
        MixtureModel(2).fit(x, np.zeros(120))


def test_starts_are_the_same_for_categories_of_numbers_in_memory_and_in_a_file(tmp_path):
    """In memory they are encoded, in a file they are not; the rows that starts are drawn from must not differ."""
    X = load_digits().data[:200, 10:16]
    X[::9, 2] = np.nan
    np.save(tmp_path / "digits.npy", X)
    here, there = (
        MixtureModel(2, features="categorical", n_init=2, random_state=0).fit(rows)
        for rows in (X, eigenlens.scan(tmp_path / "digits.npy", block_rows=64))
    )
    assert_allclose(there.score_samples(X), here.score_samples(X), rtol=1e-10)


def test_the_number_of_threads_changes_nothing():
    """A sum whose last bits depend on the threads decides how many passes are taken, and so on the answer."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 12)) + 4.0 * rng.standard_normal((3, 12))[rng.integers(3, size=60_000)]
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(MixtureModel(2, n_init=1, random_state=0).fit(X))
    assert_array_equal(found[1].score_samples(X[:500]), found[0].score_samples(X[:500]))
    assert found[0].loglik_ == found[1].loglik_

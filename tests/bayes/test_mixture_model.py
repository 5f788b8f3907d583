"""Mixtures of any family: EM against an independent one, laws, mixed tables, files and choices."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import logsumexp
from scipy.stats import multinomial

import eigenlens
from eigenlens import GaussianMixture, KernelDensity, MixtureModel, select_mixture
from eigenlens.densities import GaussianFamily
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
    if features == "gaussian":
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
    gone = gone[~np.isnan(gone).all(axis=1)]
    assert_allclose(ours.fit(gone).loglik_, theirs.fit(gone).loglik_, rtol=1e-10)


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
    gone = X.astype(float)
    gone[0, 0] = np.nan
    with pytest.raises(DataError, match="missing counts in a 'multinomial' block"):
        MixtureModel(2, features="multinomial").fit(gone)


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
    assert found.types == ("product",) * 4
    assert found.best.n_components_ == 2
    with pytest.raises(OptionError, match="belongs to Gaussian mixtures, and features are given"):
        select_mixture(frame, 2, "full", features="auto")


def test_options_that_do_not_fit():
    frame, _ = table()
    for options, message in [
        ({"features": {"height": "kde"}}, "the family 'kde', which EM cannot share out"),
        ({"features": {"height": KernelDensity()}}, "which EM cannot share out"),
        ({"n_components": 1000}, "n_components=1000 must be at most 400"),
        ({"floor": 0.0}, "floor=0.0 must be a number above 0"),
        ({"n_init": 0}, "n_init=0"),
    ]:
        with pytest.raises(OptionError, match=message):
            MixtureModel(**options).fit(frame)
    with pytest.raises(ValueError, match="return_labels=True"):
        _, _ = MixtureModel(1).fit(coins()).sample(2)


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

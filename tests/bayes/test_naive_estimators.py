"""Density estimators as columns of naive Bayes, kernels of choice, and complement naive Bayes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture as TheirMixture
from sklearn.naive_bayes import ComplementNB
from sklearn.neighbors import KernelDensity as TheirDensity

import eigenlens
from eigenlens import GaussianMixture, KernelDensity, NaiveBayes
from eigenlens.errors import OptionError

IRIS, SPECIES = load_iris(return_X_y=True)


def log_sum(X, density):
    """Return Σ_j ln p(x_j | c) + ln 1/3 (n, C), with the densities density(x) of each column and class."""
    return np.stack(
        [sum(density(IRIS[c == SPECIES, j])(X[:, j]) for j in range(X.shape[1])) for c in range(3)], axis=1
    ) - np.log(3.0)


def epanechnikov(h):
    def density(x):
        def log(z):
            u = (z[:, None] - x) / h
            with np.errstate(divide="ignore"):
                return np.log(np.mean(0.75 * np.clip(1.0 - u * u, 0.0, None), axis=1) / h)

        return log

    return density


def test_any_density_estimator_is_a_column():
    own = NaiveBayes(KernelDensity(kernel="epanechnikov", bandwidth=2.0)).fit(IRIS, SPECIES)
    assert_allclose(own.predict_joint_log_proba(IRIS), log_sum(IRIS, epanechnikov(2.0)), rtol=1e-9)
    theirs = NaiveBayes(TheirDensity(kernel="epanechnikov", bandwidth=2.0)).fit(IRIS, SPECIES)
    assert_allclose(theirs.predict_proba(IRIS), own.predict_proba(IRIS), atol=1e-9)


def test_a_kernel_of_choice_for_kde_columns(tmp_path):
    rule = NaiveBayes("kde", kernel="epanechnikov", bandwidth=2.0).fit(IRIS, SPECIES)
    assert_allclose(rule.predict_joint_log_proba(IRIS), log_sum(IRIS, epanechnikov(2.0)), rtol=1e-9)
    gaussian, wide = (NaiveBayes("kde", bandwidth="scott", kernel=k).fit(IRIS, SPECIES) for k in ("gaussian", "box"))
    ratio = wide.density(0, 0).bandwidth / gaussian.density(0, 0).bandwidth
    assert_allclose(ratio, (9 / 2) ** 0.2 / (4 * np.pi) ** -0.1, rtol=1e-12)  # Marron and Nolan (1988)
    rule.save(tmp_path / "m.safetensors")
    assert_array_equal(eigenlens.load(tmp_path / "m.safetensors").predict_proba(IRIS), rule.predict_proba(IRIS))
    with pytest.raises(OptionError, match=r"kernel='epanechnikow'.*epanechnikov"):
        NaiveBayes("kde", kernel="epanechnikow").fit(IRIS, SPECIES)


def frame():
    rng = np.random.default_rng(0)
    x = np.where(rng.random(200) < 0.5, rng.normal(-2.0, 1.0, 200), rng.normal(2.0, 0.5, 200))
    table = pd.DataFrame({"x": x, "z": rng.normal(size=200), "city": rng.choice(["a", "b"], 200)})
    table.loc[rng.random(200) < 0.2, "x"] = np.nan
    return table, np.where(np.nan_to_num(table["x"]) + rng.normal(size=200) > 0.0, "up", "down")


def mixed():
    return {"x": KernelDensity(kernel="epanechnikov", bandwidth=3.0), "z": GaussianMixture(2, random_state=0)}


def test_mixed_columns_with_missing_values_weights_and_files(tmp_path):
    table, y = frame()
    w = np.random.default_rng(1).integers(0, 3, 200).astype(float)
    rule = NaiveBayes(mixed()).fit(table, y, sample_weight=w)
    copies = np.repeat(np.arange(200), w.astype(int))
    repeated = NaiveBayes(mixed()).fit(table.iloc[copies], y[copies])
    assert_allclose(rule.predict_proba(table), repeated.predict_proba(table), atol=1e-6)
    assert_array_equal(np.exp(rule.model_.terms(np.array([[np.nan, 0.0, "a"]], dtype=object))[0, 0]), 1.0)
    rule.save(tmp_path / "m.safetensors")
    loaded = eigenlens.load(tmp_path / "m.safetensors")
    assert_array_equal(loaded.predict_proba(table), rule.predict_proba(table))
    assert str(loaded.features_) == str(rule.features_)
    assert "KernelDensity(bandwidth=3.0, kernel='epanechnikov')" in str(rule.features_)
    assert isinstance(loaded.features["z"], GaussianMixture)
    assert_array_equal(loaded.partial_fit(table, y).predict(table), rule.partial_fit(table, y).predict(table))


def test_estimator_columns_explain_and_draw():
    table, y = frame()
    rule = NaiveBayes(mixed(), random_state=0).fit(table, y)
    explanation = rule.explain(table[:5])
    odds = np.diff(np.sort(rule.predict_log_proba(table[:5]), axis=1)).ravel()
    assert_allclose(explanation.log_odds, odds, rtol=1e-8)
    drawn, labels = rule.sample(4000, return_labels=True)
    assert drawn["x"].between(-9.0, 9.0).all()
    for label in ("up", "down"):
        mean = table["x"][(y == label) & table["x"].notna()].mean()
        assert_allclose(drawn["x"][labels == label].mean(), mean, atol=0.15)
    same = clone(rule).fit(table, y)
    assert_array_equal(same.predict_proba(table), rule.predict_proba(table))


def test_equal_values_and_classes_without_entries():
    X = np.array([[1.0, 0.0], [2.0, 0.0], [4.0, 0.0], [3.0, 5.0], [3.0, 6.0], [np.nan, 7.0], [np.nan, 8.0]])
    y = [0, 0, 0, 1, 1, 2, 2]
    rule = NaiveBayes(KernelDensity(bandwidth="silverman")).fit(X, y)
    assert np.isfinite(rule.predict_proba(X)).all()
    assert rule.predict([[2.0, 0.0]]) == 0
    assert_allclose(rule.density(0, 1).covariance.matrix(), np.var([1.0, 2.0, 4.0, 3.0, 3.0]) / 2.0)


def test_estimators_that_do_not_fit():
    table, y = frame()
    with pytest.raises(OptionError, match="gives column 'city', which holds text"):
        NaiveBayes(KernelDensity()).fit(table, y)
    with pytest.raises(OptionError, match="whose fit takes no sample_weight"):
        NaiveBayes(TheirMixture()).fit(IRIS, SPECIES, sample_weight=np.full(150, 2.0))
    with pytest.raises(OptionError, match="which is not a family"):
        NaiveBayes({"x": KernelDensity}).fit(table, y)
    with pytest.raises(OptionError, match="cannot be saved"):
        NaiveBayes(TheirDensity(bandwidth=1.0)).fit(IRIS, SPECIES).save("never.safetensors")


# ---- complement -----------------------------------------------------------------------------------------------


def words(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(4, 120, p=[0.6, 0.2, 0.15, 0.05])
    shares = rng.dirichlet(np.full(12, 0.5), 4)
    return np.stack([rng.multinomial(20, shares[c]) for c in y]), y


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_complement_is_that_of_scikit_learn(normalized, weighted):
    X, y = words()
    w = np.random.default_rng(1).random(120) if weighted else None
    name = "normalized-complement" if normalized else "complement"
    ours = NaiveBayes(name, prior="uniform", smoothing=0.5).fit(X, y, sample_weight=w)
    theirs = ComplementNB(alpha=0.5, norm=normalized).fit(X, y, sample_weight=w)
    assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-12)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
    rows = sparse.csr_matrix(X)
    first, rest = (None, None) if w is None else (w[:60], w[60:])
    again = clone(ours).partial_fit(rows[:60], y[:60], range(4), first)
    again.partial_fit(rows[60:], y[60:], sample_weight=rest)
    assert_allclose(again.predict_proba(rows), ours.predict_proba(X), atol=1e-12)


def test_complement_has_scores_but_no_density(tmp_path):
    X, y = words()
    rule = NaiveBayes("complement").fit(X, y)
    assert_allclose(X @ rule.coef_.T + rule.intercept_, rule.predict_joint_log_proba(X), rtol=1e-10)
    assert_allclose(rule.explain(X[:3]).log_odds, np.diff(np.sort(rule.predict_log_proba(X[:3])))[:, -1], rtol=1e-9)
    with pytest.raises(OptionError, match="has no density of rows; use 'multinomial'"):
        rule.sample(3)
    missing = X.astype(float)
    missing[0, 0] = np.nan
    zero = np.where(np.isnan(missing), 0.0, missing)
    assert_array_equal(rule.predict_joint_log_proba(missing), rule.predict_joint_log_proba(zero))
    with pytest.raises(OptionError, match="give a positive smoothing"):
        NaiveBayes("complement", smoothing=0).fit(np.eye(4, dtype=int), [0, 1, 2, 3])
    rule.save(tmp_path / "m.safetensors")
    assert_array_equal(eigenlens.load(tmp_path / "m.safetensors").predict_proba(X), rule.predict_proba(X))

"""Hotelling's T² and squared prediction errors: closed forms, limits by simulation, contributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import eigenlens
from eigenlens import PCA
from eigenlens.errors import DataError, OptionError
from eigenlens.pca.outliers import SPE_LIMITS, spe_limit, t2_limit

SPREAD = np.array([5.0, 3.0, 2.0, 1.0, 0.7, 0.5, 0.3, 0.2])


def normal_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(np.random.default_rng(99).standard_normal((8, 8)))[0]
    return (rng.standard_normal((n, 8)) * SPREAD) @ Q + 10.0


@pytest.mark.parametrize("parameters", [{}, {"standardize": True}, {"whiten": True}, {"center": False}])
def test_distances_by_the_textbook(parameters):
    X, new = normal_rows(200), normal_rows(50, seed=1)
    pca = PCA(3, **parameters).fit(X)
    found = pca.outliers(new)
    rows = (new - pca.mean_) / pca.scale_
    Z = rows @ pca.components_.T
    np.testing.assert_allclose(found.t2, (Z**2 / pca.explained_variance_).sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(found.spe, ((rows - Z @ pca.components_) ** 2).sum(axis=1), rtol=1e-8)
    np.testing.assert_allclose(found.spe, pca.reconstruction_error(new), rtol=1e-8)
    np.testing.assert_allclose(found.t2_contributions.sum(axis=1), found.t2, rtol=1e-10)
    np.testing.assert_allclose(found.spe_contributions.sum(axis=1), found.spe, rtol=1e-10)


def test_t2_with_all_components_is_the_mahalanobis_distance():
    X = normal_rows(100)
    found = PCA().fit(X).outliers(X)
    centred = X - X.mean(axis=0)
    slow = np.einsum("ij,jk,ik->i", centred, np.linalg.inv(np.cov(X.T)), centred)
    np.testing.assert_allclose(found.t2, slow, rtol=1e-8)
    assert not found.beyond_spe.any()
    assert found.spe_limit == np.inf


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("level", [0.9, 0.99])
def test_limits_of_t2_are_exact_for_all_components(center, level):
    """Twenty rows in four columns, where the F and the beta distribution differ much: simulated false alarms."""
    rng, trials = np.random.default_rng(5), 40_000
    X, new = rng.standard_normal((trials, 20, 4)), rng.standard_normal((trials, 4))
    mean = X.mean(axis=1) if center else np.zeros((trials, 4))
    rows = X - mean[:, None]
    precision = np.linalg.inv(np.einsum("tij,tik->tjk", rows, rows) / (19 if center else 20))
    t2 = [np.einsum("tj,tjk,tk->t", x, precision, x) for x in (new - mean, rows[:, 0])]
    model = PCA(center=center).fit(X[0]).model_
    new_alarms, old_alarms = (
        np.count_nonzero(found > t2_limit(model, level, fitted=fitted))
        for found, fitted in zip(t2, (False, True), strict=True)
    )
    error = 4.0 * np.sqrt(level * (1 - level) / trials)
    assert abs(new_alarms / trials - (1 - level)) < error
    assert abs(old_alarms / trials - (1 - level)) < error


@pytest.mark.parametrize("level", [0.95, 0.99])
@pytest.mark.parametrize("k", [1, 3, 6])
def test_false_alarms_of_new_rows(k, level):
    pca = PCA(k).fit(normal_rows(20_000))
    found = pca.outliers(normal_rows(20_000, seed=7), level=level)
    error = 4.0 * np.sqrt(level * (1 - level) / 20_000)
    assert abs(found.beyond_t2.mean() - (1 - level)) < error
    assert abs(found.beyond_spe.mean() - (1 - level)) < error + 0.1 * (1 - level)  # the limit is an approximation


UNEVEN = [np.ones(1), np.ones(30), SPREAD**2, np.array([100.0, 1e-3, 1e-3]), 1.0 / np.arange(1.0, 30.0)]


@pytest.mark.parametrize("values", UNEVEN)
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_the_limit_of_spe_against_simulation(values, level):
    draws = np.random.default_rng(0).chisquare(1.0, (400_000, len(values))) @ values
    assert abs(np.mean(draws > spe_limit(values, level)) - (1 - level)) < 0.085 * (1 - level)  # it is an approximation


@pytest.mark.parametrize(
    ("rule", "values", "wanted"), [("jackson-mudholkar", SPREAD**2, 0.70), ("box", 1.0 / np.arange(1.0, 30.0), 1.62)]
)
def test_the_customary_limits_of_spe_are_off_for_uneven_variances(rule, values, wanted):
    """False alarms at 99%, over those promised: up to a third too few, or two thirds too many."""
    draws = np.random.default_rng(0).chisquare(1.0, (400_000, len(values))) @ values
    assert np.mean(draws > spe_limit(values, 0.99, rule)) / 0.01 == pytest.approx(wanted, abs=0.05)


@pytest.mark.parametrize("rule", SPE_LIMITS)
def test_other_limits_of_spe(rule):
    """All are near χ² where variances are equal; and at 95% for uneven ones too."""
    for count in (1, 4, 50):
        for level in (0.9, 0.99):
            wanted = 2.5 * stats.chi2.ppf(level, count)
            assert spe_limit(np.full(count, 2.5), level, rule) == pytest.approx(wanted, rel=0.03)
    assert spe_limit(SPREAD**2, 0.95, rule) == pytest.approx(spe_limit(SPREAD**2, 0.95), rel=0.1)
    X = normal_rows(300)
    assert PCA(2).fit(X).outliers(X, spe_rule=rule).spe_limit > 0.0


def test_the_formula_of_jackson_and_mudholkar():
    """Their formula, written out again with other groupings."""
    values, level = np.array([3.0, 2.0, 1.0, 0.5]), 0.95
    t1, t2, t3 = values.sum(), (values**2).sum(), (values**3).sum()
    h, c = 1 - 2 * t1 * t3 / (3 * t2**2), stats.norm.ppf(level)
    wanted = t1 * (c * np.sqrt(2 * t2 * h**2) / t1 + t2 * h * (h - 1) / t1**2 + 1) ** (1 / h)
    assert spe_limit(values, level, "jackson-mudholkar") == pytest.approx(wanted, rel=1e-12)


def test_limits_do_not_depend_on_the_solver_and_survive_files(tmp_path):
    X = normal_rows(300)
    wanted = PCA(3).fit(X).outliers(X).spe_limit
    for solver in ("svd", "gram", "lanczos", "covariance"):
        pca = PCA(3, solver=solver, random_state=0).fit(X)
        assert pca.outliers(X).spe_limit == pytest.approx(wanted, rel=1e-9)
    pca.save(tmp_path / "model.safetensors")
    assert eigenlens.load(tmp_path / "model.safetensors").outliers(X).spe_limit == pytest.approx(wanted, rel=1e-9)
    assert PCA(8).fit(X).truncated(3).outliers(X).spe_limit == pytest.approx(wanted, rel=1e-9)
    chunks = PCA(3).partial_fit(X[:100]).partial_fit(X[100:])
    assert chunks.outliers(X).spe_limit == pytest.approx(wanted, rel=1e-9)


def test_rows_out_of_line_are_found_with_the_column_to_blame():
    X = normal_rows(500)
    new = normal_rows(3, seed=3)
    new[1] = X.mean(axis=0)
    new[1, 4] += 20.0
    table = PCA(3).fit(X).outliers(new, labels=["a", "b", "c"])
    assert table.flags[1]
    assert table.beyond_spe[1]
    assert np.argmax(table.spe_contributions[1]) == 4
    assert "b  " in repr(table)
    assert "x4" in repr(table)


def test_the_fitted_rows_have_their_own_limit():
    X = normal_rows(30)
    pca = PCA(4).fit(X)
    assert pca.outliers().t2_limit < pca.outliers(X).t2_limit
    np.testing.assert_array_equal(pca.outliers().t2, pca.outliers(X).t2)
    assert np.all(pca.outliers().t2 <= 29**2 / 30)
    with pytest.raises(DataError, match="not remembered"):
        PCA(2).partial_fit(X).outliers()
    with pytest.raises(OptionError, match="level=2"):
        pca.outliers(X, level=2)


def test_missing_values_and_rows_that_span_few_dimensions():
    X = normal_rows(100)
    X[::7, 2] = np.nan
    found = PCA(3, missing="em").fit(X).outliers(X)
    assert np.all(np.isfinite(found.t2))
    assert found.spe_limit > 0.0
    flat = np.zeros((20, 5))
    flat[:, :2] = np.random.default_rng(0).standard_normal((20, 2))
    new = flat[:2].copy()
    new[0, 4] = 1e-3
    np.testing.assert_array_equal(PCA(2).fit(flat).outliers(new).beyond_spe, [True, False])


@pytest.mark.parametrize("parameters", [{}, {"center": False}, {"standardize": True}])
def test_false_alarms_of_new_rows_where_few_were_fitted(parameters):
    """Thirty rows: the discarded variances of the fit alone would give two to three times the alarms."""
    rng, spread = np.random.default_rng(3), np.sqrt([9.0, 5.0, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    Q = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    alarms, customary = [], []
    for _ in range(200):
        fitted, new = (rng.standard_normal((n, 8)) * spread @ Q for n in (30, 200))
        pca = PCA(3, **parameters).fit(fitted)
        alarms.append(pca.outliers(new, level=0.95).beyond_spe.mean())
        customary.append(pca.outliers(new, level=0.95, spe_rule="box").beyond_spe.mean())
    assert abs(np.mean(alarms) - 0.05) < 0.015
    assert np.mean(customary) > 0.09

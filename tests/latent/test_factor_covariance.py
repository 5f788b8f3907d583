"""FactorAnalysis of a covariance matrix, its rotations by default, and the warnings of doubtful fits."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linear_sum_assignment

from eigenlens import load
from eigenlens.errors import ConvergenceWarning, DataError, DataWarning, OptionError
from eigenlens.latent.factor.estimator import FactorAnalysis
from references import factanal as numbers
from references import rotations as rotated

TESTS = ["general", "picture", "blocks", "maze", "reading", "vocab"]
ABILITY, HARMAN = numbers.ABILITY_COVARIANCE, numbers.HARMAN_CORRELATIONS


def table(n=300, d=8, k=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, k)) @ rng.standard_normal((k, d)) + rng.standard_normal((n, d)) + np.arange(d)


def matched(found, wanted):
    """The columns of `found` in the order and with the signs that come nearest to `wanted`."""
    products = wanted.T @ found
    _, order = linear_sum_assignment(-np.abs(products))
    return found[:, order] * np.sign(products[np.arange(len(order)), order])


# ---- R's figures by default -------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "S", "n", "k"), [
    ("ABILITY_2", ABILITY, 112, 2), ("HARMAN_4", HARMAN, 145, 4), ("HARMAN_5", HARMAN, 145, 5),
])  # fmt: skip
@pytest.mark.parametrize("rotation", [None, "varimax", "promax"])
@pytest.mark.parametrize("standardize", [False, True])
def test_loadings_of_factanal(name, S, n, k, rotation, standardize, accuracy):
    fa = FactorAnalysis(k, rotation=rotation, standardize=standardize).fit_covariance(S, n)
    wanted = getattr(rotated, f"{name}_{(rotation or 'none').upper()}")
    L = fa.loadings_ if standardize else fa.loadings_ / np.sqrt(np.diag(S))[:, None]
    data = name.split("_")[0].lower().replace("harman", "harman74")
    what = f"FactorAnalysis of the matrix {data}, k = {k}{', standardised' * standardize}, {rotation or 'not rotated'}"
    accuracy.close(f"{what}: loadings", matched(L, wanted), wanted, system="R 4.2.2, factanal", atol=1e-5)
    assert fa.goodness_of_fit().chi2 == pytest.approx(numbers.SUMMARY[data, k][2], abs=1e-5)


def test_to_the_top_of_the_criterion_if_asked_for():
    plain = FactorAnalysis(2, rotation="varimax", standardize=True)
    polished = FactorAnalysis(2, rotation="varimax", rotation_options={"polish": True}, standardize=True)
    rough, best = (fa.fit_covariance(ABILITY, 112).loadings_ for fa in (plain, polished))

    def criterion(L):
        B2 = (L / np.linalg.norm(L, axis=1, keepdims=True)) ** 2
        return (B2**2).sum() - (B2.sum(axis=0) ** 2).sum() / len(L)

    assert criterion(best) > criterion(rough) + 1e-5
    assert 1e-3 < np.abs(matched(best, rough) - rough).max() < 4e-3


@pytest.mark.parametrize("rotation", ["varimax", "quartimax", "equamax", "promax", "oblimin"])
def test_rotations_do_not_depend_on_units(rotation):
    X = table(d=9, k=3)
    unit = np.array([1e-3, 1.0, 1e4, 1.0, 10.0, 1.0, 1e-2, 5.0, 1.0])
    one, other = (FactorAnalysis(3, rotation=rotation).fit(rows) for rows in (X, X * unit))
    assert_allclose(other.loadings_ / unit[:, None], one.loadings_, atol=2e-4)
    assert_allclose(other.factor_correlations_, one.factor_correlations_, atol=2e-4)
    scaled = FactorAnalysis(3, rotation=rotation, standardize=True).fit(X)
    assert_allclose(np.abs(scaled.loadings_ * X.std(axis=0)[:, None]), np.abs(one.loadings_), atol=1e-4)


def test_options_of_rotations():
    steep = FactorAnalysis(2, rotation="promax", rotation_options={"power": 2.0}).fit_covariance(ABILITY, 112)
    plain = FactorAnalysis(2, rotation="promax").fit_covariance(ABILITY, 112)
    assert abs(steep.factor_correlations_[0, 1]) < abs(plain.factor_correlations_[0, 1]) - 0.05
    with pytest.raises(OptionError, match=r"rotation_options=\{'powr': 2\} do not fit rotation='promax'"):
        FactorAnalysis(2, rotation="promax", rotation_options={"powr": 2}).fit_covariance(ABILITY, 112)
    with pytest.raises(OptionError, match=r"rotation_options=3 must be a dictionary"):
        FactorAnalysis(2, rotation_options=3).fit_covariance(ABILITY, 112)


# ---- the door for matrices --------------------------------------------------------------------------------


@pytest.mark.parametrize("rotation", [None, "oblimin"])
def test_a_matrix_is_as_good_as_its_rows(rotation):
    X = table()
    rows = FactorAnalysis(2, rotation=rotation).fit(X)
    matrix = FactorAnalysis(2, rotation=rotation).fit_covariance(np.cov(X.T, ddof=0), len(X), X.mean(axis=0))
    assert matrix.loglik_ == pytest.approx(rows.loglik_, rel=1e-12)
    for name in ("loadings_", "noise_variance_", "communalities_", "factor_correlations_", "mean_"):
        assert_allclose(getattr(matrix, name), getattr(rows, name), atol=1e-5)
    assert (matrix.n_samples_, matrix.n_features_in_, matrix.n_components_) == (300, 8, 2)
    assert str(matrix.goodness_of_fit()) == str(rows.goodness_of_fit())
    assert_allclose(matrix.transform(X), rows.transform(X), atol=1e-4)
    assert matrix.score(X) == pytest.approx(rows.score(X), rel=1e-9)
    assert matrix.bic() == pytest.approx(rows.bic(), rel=1e-9)
    X[0, 0] = np.nan
    assert_allclose(matrix.impute(X), rows.impute(X), atol=1e-4)


def test_without_a_mean_rows_are_about_zero():
    fa = FactorAnalysis(2).fit_covariance(ABILITY, 112)
    assert_allclose(fa.mean_, 0.0)
    assert_allclose(fa.transform(np.zeros((1, 6))), 0.0)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_from_a_frame_and_a_file(tmp_path, frame):
    S = frame({name: ABILITY[:, j] for j, name in enumerate(TESTS)})
    fa = FactorAnalysis(2, rotation="promax", standardize=True).fit_covariance(S, 112)
    assert fa.feature_names_in_.tolist() == TESTS
    fa.save(tmp_path / "fa.safetensors")
    again = load(tmp_path / "fa.safetensors")
    assert again.goodness_of_fit() == fa.goodness_of_fit()
    assert again.feature_names_in_.tolist() == TESTS
    assert again.get_params() == fa.get_params()
    np.testing.assert_array_equal(again.loadings_, fa.loadings_)


def test_a_heywood_case_is_named():
    S = pd.DataFrame(HARMAN, columns=[f"test {j}" for j in range(24)])
    with pytest.warns(DataWarning, match=r"Heywood case: the uniqueness of 1 of 24 variables \('test 2'\)"):
        FactorAnalysis(6).fit_covariance(S, 145)


def test_the_number_of_factors_by_bic():
    fa = FactorAnalysis("bic").fit_covariance(HARMAN, 145)
    values = [FactorAnalysis(k).fit_covariance(HARMAN, 145).bic() for k in (1, 2, 3, 4, 5)]
    assert fa.n_components_ == 1 + int(np.argmin(values))
    assert_allclose(fa.selection_.values[:5], values)
    with pytest.raises(OptionError, match="n_components='cv' needs the rows themselves; give a number, 'bic' or 'map'"):
        FactorAnalysis("cv").fit_covariance(HARMAN, 145)


def with_entry(i, j, value):
    S = ABILITY.copy()
    S[i, j] = value
    return S


@pytest.mark.parametrize(("S", "message"), [
    (ABILITY[:4], r"S has shape \(4, 6\); it must be a square matrix"),
    (with_entry(0, 1, 9.0), "S is not symmetric"),
    (with_entry(2, 2, 0.0), "variable 2 of S has the variance 0, and it must be above 0"),
    (with_entry(2, 2, np.nan), "finite numbers"),
    (np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]]), r"eigenvalue -0\.8"),
    (np.diag([1e8, 1.0, 1.0]) + np.array([[0, 0, 0], [0, 0, 1.5], [0, 1.5, 0]]), r"eigenvalue -0\.5"),
])  # fmt: skip
def test_matrices_that_are_rejected(S, message):
    with pytest.raises(DataError, match=message):
        FactorAnalysis(1).fit_covariance(S, 50)


def test_arguments_that_are_rejected():
    with pytest.raises(OptionError, match="n_samples=1 must be a number above 1"):
        FactorAnalysis(1).fit_covariance(ABILITY, 1)
    with pytest.raises(OptionError, match="n_components=2 must be at most 1, two less than the number of rows"):
        FactorAnalysis(2).fit_covariance(ABILITY, 3)
    with pytest.raises(OptionError, match="n_components=6 must be at most 5"):
        FactorAnalysis(6).fit_covariance(ABILITY, 100)
    with pytest.raises(DataError, match=r"mean has shape \(2,\); it must be 6 finite numbers"):
        FactorAnalysis(2).fit_covariance(ABILITY, 100, mean=[0.0, 1.0])
    with pytest.raises(OptionError, match="min_uniqueness=0 must be a number above 0 and below 1"):
        FactorAnalysis(2, min_uniqueness=0).fit_covariance(ABILITY, 100)


def test_a_singular_matrix_is_fitted_down_to_the_floor():
    X = table(d=5)
    S = np.cov(np.column_stack([X, X[:, 0] + X[:, 1]]).T, ddof=0)
    with pytest.warns(DataWarning, match="Heywood case"):
        fa = FactorAnalysis(2).fit_covariance(S, 300)
    assert np.isfinite(fa.loglik_)
    assert np.isnan(fa.goodness_of_fit().chi2)
    assert fa.uniquenesses_.min() == pytest.approx(1e-8, rel=1e-3)


# ---- the floor, and how a fit ended -----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Heywood case")
def test_the_least_uniqueness_is_an_option():
    with pytest.warns(DataWarning, match=r"Heywood case: the uniqueness of 1 of 24 variables \(2\)"):
        high = FactorAnalysis(6, min_uniqueness=0.005).fit_covariance(HARMAN, 145)
    low = FactorAnalysis(6).fit_covariance(HARMAN, 145)
    assert high.uniquenesses_.min() == pytest.approx(0.005, rel=1e-4)
    assert low.uniquenesses_.min() == pytest.approx(1e-8, rel=1e-4)
    assert low.loglik_ > high.loglik_


def test_the_warning_of_a_fit_that_did_not_converge():
    with pytest.warns(ConvergenceWarning, match=r"after 2 steps with a gradient of .*; raise max_iter=2, or tol"):
        FactorAnalysis(2, max_iter=2).fit_covariance(HARMAN, 145)
    with pytest.warns(ConvergenceWarning, match="rounding hides what is left to gain: more steps would not help"):
        FactorAnalysis(2, tol=1e-18).fit_covariance(HARMAN, 145)


def test_goodness_of_fit_keeps_bartletts_correction_if_only_rows_of_weight_zero_have_missing_values():
    X = table()
    w = np.ones(300)
    w[:4] = 0.0
    plain = FactorAnalysis(2).fit(X[4:]).goodness_of_fit()
    X[:4, 1] = np.nan
    fa = FactorAnalysis(2).fit(X, sample_weight=w)
    assert fa.goodness_of_fit().chi2 == pytest.approx(plain.chi2, rel=1e-6)
    assert fa.goodness_of_fit(X, sample_weight=w).chi2 == pytest.approx(plain.chi2, rel=1e-6)


def test_a_small_uniqueness_well_above_the_floor_is_no_heywood_case():
    """With R's floor, 0.005, a uniqueness of 0.02 has a standard error, and no warning; at the floor it has none."""
    W = np.sqrt([0.98, 0.5, 0.4, 0.3])
    R = np.outer(W, W) + np.diag(1.0 - W**2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fa = FactorAnalysis(1, min_uniqueness=0.005).fit_covariance(R, 200)
    np.testing.assert_allclose(fa.uniquenesses_[0], 0.02, atol=1e-6)
    assert np.all(np.isfinite(fa.standard_errors().uniquenesses))
    with pytest.warns(DataWarning, match=r"Heywood case.*1 of 4"):
        fa = FactorAnalysis(1, min_uniqueness=0.05).fit_covariance(R, 200)
    assert np.isnan(fa.standard_errors().uniquenesses[0])

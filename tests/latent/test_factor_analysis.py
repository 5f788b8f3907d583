"""FactorAnalysis: the estimator, its views, rotations, scores and files, and the errors of bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from eigenlens.errors import ConvergenceWarning, DataError, DataWarning, OptionError
from eigenlens.latent.factor.adequacy import bartlett_sphericity, kmo
from eigenlens.latent.factor.estimator import FactorAnalysis
from eigenlens.rotation import ROTATIONS
from references import airquality as air
from references import factanal as numbers
from references import rotations as rotated


def table(n=400, d=9, k=3, seed=0):
    """Three groups of columns, each with a factor, the factors correlated."""
    rng = np.random.default_rng(seed)
    W = np.zeros((d, k))
    W[np.arange(d), np.arange(d) % k] = rng.uniform(1.5, 3.0, d)
    Z = rng.multivariate_normal(np.zeros(k), 0.3 + 0.7 * np.eye(k), n)
    return Z @ W.T + rng.uniform(0.5, 1.5, d) * rng.standard_normal((n, d)) + np.arange(d)


def rows_with_covariance(S, n, seed=0):
    """n rows of mean 0 whose covariance with divisor n is S."""
    X = np.random.default_rng(seed).standard_normal((n, len(S)))
    X -= X.mean(axis=0)
    return X @ np.linalg.inv(np.linalg.cholesky(X.T @ X / n)).T @ np.linalg.cholesky(S).T


@pytest.mark.few(1)
@pytest.mark.filterwarnings("ignore:Heywood case")  # scikit-learn's random columns have nothing in common
@parametrize_with_checks([FactorAnalysis(1), FactorAnalysis(1, rotation="varimax", standardize=True)])
def test_scikit_learn(estimator, check):
    check(estimator)


# ---- views ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("standardize", [False, True])
def test_loadings_and_noise_give_the_covariance(standardize):
    X = table()
    fa = FactorAnalysis(3, standardize=standardize).fit(X)
    C = fa.loadings_ @ fa.loadings_.T + np.diag(fa.noise_variance_)
    assert_allclose(C * np.outer(fa.scale_, fa.scale_), fa.get_covariance(), rtol=1e-10)
    assert_allclose(fa.scale_, X.std(axis=0) if standardize else np.ones(9), rtol=1e-6)
    assert_allclose(fa.communalities_ + fa.uniquenesses_, 1.0)
    assert_allclose(fa.mean_, X.mean(axis=0))
    if standardize:
        assert_allclose(fa.uniquenesses_, fa.noise_variance_, rtol=1e-6)
        assert_allclose(fa.communalities_, (fa.loadings_**2).sum(axis=1), rtol=1e-6)


def test_standardising_changes_units_and_nothing_else():
    X = table()
    plain, scaled = FactorAnalysis(3).fit(X), FactorAnalysis(3, standardize=True).fit(X)
    assert scaled.loglik_ == plain.loglik_ == pytest.approx(plain.score_samples(X).sum(), rel=1e-12)
    assert_allclose(scaled.get_covariance(), plain.get_covariance())
    assert_allclose(np.abs(scaled.loadings_ * X.std(axis=0)[:, None]), np.abs(plain.loadings_), rtol=1e-6)
    assert_allclose(np.abs(scaled.transform(X)), np.abs(plain.transform(X)), rtol=1e-9)


def test_factanal_by_way_of_rows():
    X = rows_with_covariance(numbers.ABILITY_COVARIANCE, 112)
    fa = FactorAnalysis(2, rotation="promax", standardize=True).fit(X)
    assert_allclose(fa.uniquenesses_, numbers.UNIQUENESSES["ability", 2], atol=1e-5)
    good = fa.goodness_of_fit()
    assert (good.df, good.chi2) == (4, pytest.approx(6.10661649875023, abs=1e-5))
    U = rotated.ABILITY_2_PROMAX_U
    assert fa.factor_correlations_[0, 1] == pytest.approx(abs(np.linalg.inv(U.T @ U)[0, 1]), abs=1e-3)


@pytest.mark.parametrize("rotation", [None, *ROTATIONS, lambda L: np.eye(3)[:, ::-1]])
@pytest.mark.parametrize("standardize", [False, True])
def test_a_rotation_changes_the_loadings_and_not_the_density(rotation, standardize):
    X = table()
    plain = FactorAnalysis(3, standardize=standardize).fit(X)
    fa = FactorAnalysis(3, rotation=rotation, standardize=standardize).fit(X)
    Phi, L, T = fa.factor_correlations_, fa.loadings_, fa.rotation_matrix_
    assert_allclose(L @ Phi @ L.T, plain.loadings_ @ plain.loadings_.T, atol=1e-9)
    assert_allclose(np.diag(Phi), 1.0)
    assert_allclose(Phi, T.T @ T, atol=1e-12)
    assert fa.score(X) == plain.score(X)
    Z = fa.transform(X)
    assert_allclose(Z, plain.transform(X) @ T, atol=1e-10)
    assert_allclose(fa.inverse_transform(Z), plain.inverse_transform(plain.transform(X)), atol=1e-9)
    means, C = fa.posterior(X)
    assert_allclose(means, Z)
    # E[z | x] has the covariance Φ − C over draws of x, so that prior = explained + left
    assert_allclose(np.cov(fa.transform(fa.sample(20_000, random_state=0)).T) + C, Phi, atol=0.05)


def test_oblique_rotations_find_the_correlated_groups():
    fa = FactorAnalysis(3, rotation="oblimin", standardize=True).fit(table(n=4000))
    groups = np.abs(fa.loadings_).argmax(axis=1)
    assert [len(set(groups[i::3])) for i in range(3)] == [1, 1, 1]
    off = np.abs(fa.factor_correlations_[np.triu_indices(3, 1)])
    assert_allclose(off, 0.3, atol=0.06)


def test_regression_and_bartlett_scores():
    X = table()
    fa = FactorAnalysis(3, rotation="oblimin", standardize=True).fit(X)
    L, psi, Phi = fa.loadings_, fa.noise_variance_, fa.factor_correlations_
    Y = (X - fa.mean_) / fa.scale_
    R = L @ Phi @ L.T + np.diag(psi)
    assert_allclose(fa.scores(X), Y @ np.linalg.solve(R, L @ Phi), atol=1e-9)  # Thomson's
    P = L / psi[:, None]
    assert_allclose(fa.scores(X, method="bartlett"), Y @ P @ np.linalg.inv(L.T @ P), atol=1e-9)
    with pytest.raises(OptionError, match="method='thomson' is not known"):
        fa.scores(X, method="thomson")


def test_bartlett_scores_of_incomplete_rows():
    X = table()
    fa = FactorAnalysis(3).fit(X)
    M = X[:20].copy()
    M[::2, [1, 4]] = np.nan
    found = fa.scores(M, method="bartlett")
    for row, z in zip(M, found, strict=True):
        o = ~np.isnan(row)
        P = fa.loadings_[o] / fa.noise_variance_[o, None]
        assert_allclose(z, np.linalg.solve(fa.loadings_[o].T @ P, P.T @ (row[o] - fa.mean_[o])), atol=1e-8)


# ---- missing values -------------------------------------------------------------------------------------------------


def test_missing_values_fit_transform_score_and_goodness():
    X = air.DATA
    fa = FactorAnalysis(1).fit(X)
    assert fa.loglik_ == pytest.approx(air.FACTOR_ANALYSIS[1], abs=1e-4)
    assert fa.score_samples(X).sum() == pytest.approx(fa.loglik_, rel=1e-11)
    assert np.all(np.diff(fa.loglik_path_) >= 0.0)
    good = fa.goodness_of_fit(X)
    assert good.chi2 == pytest.approx(2.0 * (air.SATURATED - air.FACTOR_ANALYSIS[1]), abs=1e-4)
    assert good.df == 2
    assert not np.isnan(fa.impute(X)).any()
    with pytest.raises(DataError, match="give them as X="):
        FactorAnalysis(1).fit(X).goodness_of_fit()


def test_intervals_of_imputed_values_cover():
    X = table(n=3000)
    M = X.copy()
    M[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    fa = FactorAnalysis(3).fit(M)
    filled, deviation = fa.impute(M, return_std=True)
    missing = np.isnan(M)
    inside = np.abs(filled - X)[missing] <= 1.96 * deviation[missing]
    assert abs(inside.mean() - 0.95) < 0.01


# ---- how many ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["parallel", "bic", "cv"])
def test_rules_find_three_factors(rule):
    fa = FactorAnalysis(rule, random_state=0).fit(table(n=1500))
    assert fa.n_components_ == 3
    assert fa.selection_.rule == rule
    assert fa.loglik_ == pytest.approx(FactorAnalysis(3).fit(table(n=1500)).loglik_, rel=1e-9)


@pytest.mark.few(1)
@pytest.mark.parametrize("rule", ["parallel", "bic"])
def test_rules_with_missing_values(rule):
    X = table(n=800)
    X[np.random.default_rng(1).random(X.shape) < 0.05] = np.nan
    assert FactorAnalysis(rule, random_state=0).fit(X).n_components_ == 3


# ---- sources, weights, dtypes, files ----------------------------------------------------------------------


def test_weights_are_copies():
    X = table(n=100)
    w = np.random.default_rng(2).integers(0, 3, 100)
    weighted, copies = FactorAnalysis(2).fit(X, sample_weight=w), FactorAnalysis(2).fit(np.repeat(X, w, axis=0))
    assert weighted.loglik_ == pytest.approx(copies.loglik_, rel=1e-12)
    assert weighted.goodness_of_fit().chi2 == pytest.approx(copies.goodness_of_fit().chi2, rel=1e-6)


def test_dask_frames_and_float32():
    da = pytest.importorskip("dask.array")
    X = table()
    plain = FactorAnalysis(3, rotation="varimax").fit(X)
    lazy = FactorAnalysis(3, rotation="varimax").fit(da.from_array(X, chunks=(90, 9)))
    assert_allclose(lazy.loadings_, plain.loadings_, atol=1e-7)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(9)])
    assert FactorAnalysis(3).fit(frame).feature_names_in_.tolist() == list(frame.columns)
    single = FactorAnalysis(3, rotation="varimax").fit(X.astype(np.float32))
    assert single.loadings_.dtype == single.transform(X.astype(np.float32)).dtype == np.float32
    assert_allclose(single.loadings_, plain.loadings_, atol=1e-3)


def test_pipelines_and_clones():
    X = table()
    pipeline = make_pipeline(StandardScaler(), FactorAnalysis(3, rotation="varimax")).fit(X)
    direct = FactorAnalysis(3, rotation="varimax", standardize=True).fit(X)
    assert_allclose(pipeline.transform(X), direct.transform(X), atol=1e-6)
    assert clone(direct).get_params() == direct.get_params()
    assert pipeline.get_feature_names_out().tolist() == ["factoranalysis0", "factoranalysis1", "factoranalysis2"]


@pytest.mark.parametrize("rotation", [None, "promax"])
def test_saved_and_read_again(tmp_path, rotation):
    X = table()
    fa = FactorAnalysis(3, rotation=rotation, standardize=True).fit(X)
    fa.save(tmp_path / "fa.safetensors")
    from eigenlens import model_file as io

    kind, arrays, header = io.read(tmp_path / "fa.safetensors")
    again = FactorAnalysis._restored(arrays, header)
    assert kind == "FactorAnalysis"
    for name in ("loadings_", "noise_variance_", "scale_", "factor_correlations_", "rotation_matrix_", "loglik_path_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(fa, name))
    np.testing.assert_array_equal(again.transform(X), fa.transform(X))
    assert again.goodness_of_fit() == fa.goodness_of_fit()
    assert again.get_params() == fa.get_params()


def test_progress_and_an_interrupt_keep_the_best():
    X = table()
    X[0, 0] = np.nan

    def stop(done, total, what):
        if "step 4," in what:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match=r"interrupted after [34] steps"):
        fa = FactorAnalysis(2, verbose=stop).fit(X)
    assert not fa.converged_
    assert fa.n_iter_ in {3, 4}  # the step that was reported may count or not


# ---- warnings and errors ----------------------------------------------------------------------------------


def test_scores_of_infinity_are_an_error_and_nothing_else():
    X, bad = table(), table()
    bad[0, 0] = np.inf
    for method in ("bartlett", "regression"):
        with pytest.raises(DataError, match="infinity: 1 entry"):  # a warning of NumPy would be raised before
            FactorAnalysis(2).fit(X).scores(bad, method=method)


def test_a_fold_in_which_a_column_does_not_vary_is_not_blamed_on_the_rows():
    X = table()
    X[:, 2] = 0.0
    with pytest.raises(DataError, match=r"^column 2 of X is constant"):
        FactorAnalysis("cv", random_state=0).fit(X)
    X[0, 2] = 1.0
    with pytest.raises(DataError, match=r"'cv' leaves out some rows.* column 2 .* constant.*All rows can; use 'bic'"):
        FactorAnalysis("cv", random_state=0).fit(X)


@pytest.mark.parametrize("missing", [False, True])
def test_too_few_rows_to_leave_some_out(missing):
    X = table()[:3]
    X[0, 0] = np.nan if missing else X[0, 0]
    with pytest.raises(DataError, match=r"'cv' needs at least 4 rows.*there are 3"):
        FactorAnalysis("cv", random_state=0).fit(X)


def test_heywood_cases_are_named():
    X = pd.DataFrame(table(), columns=list("abcdefghi"))
    X["b"] = 3.0 * X["a"]
    with pytest.warns(DataWarning, match=r"Heywood case: the uniqueness of \d of 9 variables \('a', 'b'"):
        FactorAnalysis(2).fit(X)


def test_too_few_steps_are_warned_of():
    with pytest.warns(ConvergenceWarning, match=r"stopped after 2 steps with a gradient of .*raise max_iter=2"):
        FactorAnalysis(3, max_iter=2).fit(table())
    with pytest.warns(ConvergenceWarning, match=r"solver 'em' stopped after 3 steps .*raise max_iter=3"):
        FactorAnalysis(3, solver="em", max_iter=3).fit(table())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 9}, "n_components=9 must be at most 8, one less than the number of features"),
        ({"n_components": -1}, "n_components=-1 must be at least 0"),
        ({"n_components": "horn"}, "n_components='horn' is not known"),
        ({"n_components": 2, "rotation": "varimx"}, "rotation='varimx' is not known; did you mean 'varimax'"),
        ({"n_components": 2, "solver": "closed-form"}, "solver='closed-form' is not known"),
        ({"n_components": 2, "tol": 0.0}, "tol=0.0 must be a number above 0"),
        ({"n_components": 2, "max_iter": 0}, "max_iter=0 must be at least 1"),
        ({"n_components": 2, "n_init": 0}, "n_init=0 must be at least 1"),
        ({"n_components": 2, "standardize": "yes"}, "standardize='yes' must be True or False"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(OptionError, match=message):
        FactorAnalysis(**options).fit(table())


def test_rows_that_cannot_be_used():
    X = table()
    with pytest.raises(OptionError, match="n_components=3 must be at most 2, two less than the number of rows"):
        FactorAnalysis(3).fit(X[:4])
    X[:, 2] = 5.0
    with pytest.raises(DataError, match="column 2 of X is constant"):
        FactorAnalysis(2).fit(X)
    X[:, 2] = np.nan
    with pytest.raises(DataError, match="column 2 of X has no observed entry"):
        FactorAnalysis(2).fit(X)


def test_more_factors_than_can_be_tested():
    fa = FactorAnalysis(4).fit(table(d=6))
    good = fa.goodness_of_fit()
    assert good.df < 0
    assert np.isnan(good.p)
    assert np.isfinite(good.bic)


def test_fewer_rows_than_columns_cannot_be_tested():
    fa = FactorAnalysis(2).fit(table(n=20, d=60, k=2))
    good = fa.goodness_of_fit()
    assert np.isnan([good.chi2, good.p, good.rmsea, good.tli]).all()
    assert good.bic == pytest.approx(fa.bic())


def test_adequacy_is_at_hand():
    X = table()
    assert 0.5 < kmo(X).overall < 1.0
    assert bartlett_sphericity(X).p < 1e-10


def test_goodness_of_fit_is_of_the_fitted_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 8)) + rng.standard_normal((300, 8))
    X[rng.random(X.shape) < 0.2] = np.nan
    model = FactorAnalysis(2).fit(X)
    expected = model.goodness_of_fit(X).chi2
    with pytest.raises(DataError, match="give the rows, and the sample_weight, of the fit"):
        model.goodness_of_fit(X[:60])
    assert model.goodness_of_fit(X).chi2 == expected


@pytest.mark.parametrize(("n", "d"), [(5, 6), (7, 12), (8, 20)])
@pytest.mark.filterwarnings("ignore")
def test_cross_validation_of_few_rows(n, d):
    X = np.random.default_rng(0).standard_normal((n, d))
    assert 1 <= FactorAnalysis("cv", random_state=0).fit(X).n_components_ <= n - 2


@pytest.mark.parametrize("power", [2.0, 4.0, 5.0])
def test_goodness_of_fit_does_not_depend_on_units(power):
    """With missing values too, the free covariance matrix is fitted to columns divided by their standard deviations."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 2)) @ rng.standard_normal((2, 6)) + rng.standard_normal((500, 6))
    X[rng.random(X.shape) < 0.2] = np.nan
    expected = FactorAnalysis(1).fit(X).goodness_of_fit(X).chi2
    X[:, 3] *= 10.0**power
    assert FactorAnalysis(1).fit(X).goodness_of_fit(X).chi2 == pytest.approx(expected, rel=1e-6)

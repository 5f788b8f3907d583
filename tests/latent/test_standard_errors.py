"""Standard errors of factors: lavaan, derivatives of whole fits by differences, simulation, and Heywood cases."""

from __future__ import annotations

import numpy as np
import pytest

from eigenlens import DataError, DataWarning, FactorAnalysis, OptionError, load
from eigenlens.data.memory import ArraySource
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.missing.observed_information import observed_information
from references import standard_errors as lavaan
from references.factanal import ABILITY_COVARIANCE

L = np.array([[0.8, 0.1], [0.7, 0.2], [0.6, 0.0], [0.1, 0.7], [0.0, 0.6], [0.2, 0.8], [0.5, 0.4]])
UNITS = np.array([1.0, 2.0, 3.0, 1.0, 0.5, 1.0, 1.0])
ROTATIONS = [
    (None, None),
    ("varimax", {"polish": True}),
    ("quartimax", None),
    ("equamax", {"kaiser": False}),
    ("promax", {"polish": True}),
    ("promax", {"polish": True, "normalize": True, "power": 3.0}),
    ("oblimin", None),
    ("oblimin", {"kaiser": True, "gamma": -0.5}),
    ("geomin", None),
]


def rows(n: int, rng: np.random.Generator, loadings: np.ndarray = L) -> np.ndarray:
    Z, e = rng.standard_normal((n, 2)), rng.standard_normal((n, len(loadings)))
    return (Z @ loadings.T + e * np.sqrt(1.0 - (loadings**2).sum(axis=1))) * UNITS[: len(loadings)]


def reported(fa: FactorAnalysis) -> np.ndarray:
    parts = fa.loadings_, fa.noise_variance_, fa.uniquenesses_, fa.factor_correlations_
    return np.concatenate([np.ravel(part) for part in parts])


def errors(found) -> np.ndarray:
    parts = found.loadings, found.noise_variance, found.uniquenesses, found.factor_correlations
    return np.concatenate([np.ravel(part) for part in parts])


def errors_by_differences(make, S: np.ndarray, n: float) -> np.ndarray:
    """The delta method from the covariances themselves: refit after each of them has moved a little."""
    d, slopes, pairs = len(S), [], [(i, j) for i in range(len(S)) for j in range(i + 1)]
    for i, j in pairs:
        moved = np.zeros((d, d))
        moved[i, j] = moved[j, i] = h = 1e-4 * np.sqrt(S[i, i] * S[j, j])
        up, down = (reported(make().fit_covariance(S + sign * moved, n)) for sign in (1.0, -1.0))
        slopes.append((up - down) / (2.0 * h))
    gamma = np.array([[S[i, k] * S[j, l] + S[i, l] * S[j, k] for k, l in pairs] for i, j in pairs]) / n
    J = np.array(slopes).T
    return np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", J, gamma, J), 0.0))


@pytest.mark.few(6)
@pytest.mark.parametrize("solver", ["auto", "minres"])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize(("rotation", "options"), ROTATIONS)
def test_they_are_those_of_the_whole_fit_as_a_function_of_the_covariances(rotation, options, standardize, solver):
    def make() -> FactorAnalysis:
        return FactorAnalysis(
            2, rotation=rotation, rotation_options=options, standardize=standardize, solver=solver, tol=1e-10
        )

    S = make().fit(rows(500, np.random.default_rng(0))).get_covariance()  # the model fits this matrix exactly
    found = errors(make().fit_covariance(S, 500).standard_errors())
    expected = errors_by_differences(make, S, 500)
    kept = expected > 1e-6
    np.testing.assert_allclose(found[kept], expected[kept], rtol=1e-6)
    assert np.all(found[~kept] < 1e-6)


def test_they_are_those_of_lavaan(accuracy):
    fa = FactorAnalysis(2, rotation="varimax", rotation_options={"polish": True}, tol=1e-10)
    fa.fit_covariance(ABILITY_COVARIANCE, 112)
    found = fa.standard_errors()
    np.testing.assert_allclose(fa.loadings_[:, ::-1], lavaan.VARIMAX_LOADINGS, rtol=2e-5)
    what = "FactorAnalysis of the matrix ability, k = 2, varimax: standard errors of loadings"
    accuracy.close(what, found.loadings[:, ::-1], lavaan.VARIMAX_ERRORS, system="R, lavaan: efa", rtol=2e-4)
    np.testing.assert_allclose(found.noise_variance, lavaan.NOISE_ERRORS, rtol=2e-4)


def test_one_factor_has_lavaans_errors_in_both_units():
    plain = FactorAnalysis(1, tol=1e-10).fit_covariance(ABILITY_COVARIANCE, 112).standard_errors()
    np.testing.assert_allclose(plain.loadings[:, 0], lavaan.ONE_FACTOR_ERRORS, rtol=2e-4)
    np.testing.assert_allclose(plain.noise_variance, lavaan.ONE_NOISE_ERRORS, rtol=2e-4)
    units = FactorAnalysis(1, standardize=True, tol=1e-10).fit_covariance(ABILITY_COVARIANCE, 112).standard_errors()
    np.testing.assert_allclose(units.loadings[:, 0], lavaan.ONE_STANDARDIZED_ERRORS, rtol=2e-4)
    np.testing.assert_allclose(units.uniquenesses, lavaan.ONE_UNIQUENESS_ERRORS, rtol=2e-4)
    np.testing.assert_allclose(plain.uniquenesses, units.uniquenesses, rtol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("rotation", ["varimax", "oblimin"])
def test_estimates_of_many_samples_vary_as_they_say(rotation, missing):
    rng, found, said = np.random.default_rng(0), [], []
    for _ in range(1000 if missing == 0.0 else 300):
        X = rows(1000, rng)
        X[:, 1:][rng.random((1000, 6)) < missing] = np.nan
        fa = FactorAnalysis(2, rotation=rotation, standardize=True).fit(X)
        order = np.argsort(-np.abs(fa.loadings_[0]))  # the first column measures the first factor
        each = fa.standard_errors(X if missing else None)
        found.append(np.r_[fa.loadings_[:, order].ravel(), fa.uniquenesses_])
        said.append(np.r_[each.loadings[:, order].ravel(), each.uniquenesses])
    ratio = np.sqrt(np.mean(np.square(said), axis=0)) / np.std(found, axis=0)
    assert abs(ratio.mean() - 1.0) < 0.03
    assert np.all(np.abs(ratio - 1.0) < (0.1 if missing == 0.0 else 0.17))


def test_observed_information_is_minus_the_hessian():
    rng = np.random.default_rng(1)
    X = rows(200, rng)
    X[rng.random(X.shape) < 0.15] = np.nan
    model = FactorAnalysis(2, tol=1e-8).fit(X).model_
    d, k = model.loadings.shape
    s = np.sqrt(np.diag(model.covariance()))

    def loglik(v: np.ndarray) -> float:
        mean, loadings, noise = np.split(v, [d, d + d * k])
        W, psi = model.loadings + loadings.reshape(d, k) * s[:, None], model.noise + noise * s**2
        return float(LinearGaussian(model.mean + mean * s, W, psi).log_density(X).sum())

    p, h = d * (k + 2), 1e-4
    steps, H = h * np.eye(p), np.zeros((p, p))
    for i in range(p):
        for j in range(i + 1):
            a, b = steps[i], steps[j]
            change = loglik(a + b) - loglik(a - b) - loglik(b - a) + loglik(-a - b)
            H[i, j] = H[j, i] = -change / (4.0 * h * h)
    expected = H[d:, d:] - H[d:, :d] @ np.linalg.solve(H[:d, :d], H[:d, d:])
    found = observed_information(ArraySource(X), model, s)
    np.testing.assert_allclose(found, expected, atol=2e-6 * np.abs(found).max())


def test_rows_that_lack_a_few_entries_have_nearly_the_errors_of_complete_ones():
    X = rows(2000, np.random.default_rng(2))
    whole = FactorAnalysis(2, rotation="varimax").fit(X).standard_errors()
    X[0, 0] = np.nan
    fa = FactorAnalysis(2, rotation="varimax").fit(X)
    np.testing.assert_allclose(fa.standard_errors(X).loadings, whole.loadings, rtol=0.1)
    with pytest.raises(DataError, match="give them as X="):
        fa.standard_errors()
    with pytest.raises(DataError, match="give the rows, and the sample_weight, of the fit"):
        fa.standard_errors(X[:1000])


def test_weights_count_rows():
    rng = np.random.default_rng(3)
    X, w = rows(100, rng), rng.integers(1, 4, 100)
    weighted = FactorAnalysis(2, rotation="oblimin").fit(X, sample_weight=w).standard_errors()
    repeated = FactorAnalysis(2, rotation="oblimin").fit(np.repeat(X, w, axis=0)).standard_errors()
    np.testing.assert_allclose(errors(weighted), errors(repeated), rtol=1e-6)


@pytest.mark.parametrize("solver", ["auto", "minres"])
def test_a_heywood_case_has_no_error_of_its_own(solver):
    loadings = np.vstack([[0.9999, 0.0], L[1:6]])
    X = rows(60, np.random.default_rng(0), loadings)
    with pytest.warns(DataWarning, match="Heywood"):
        fa = FactorAnalysis(2, rotation="varimax", standardize=True, solver=solver).fit(X)
    found = fa.standard_errors()
    assert found.fixed == (0,)
    assert np.isnan(found.uniquenesses[0])
    assert np.all(np.isfinite(found.uniquenesses[1:]))
    assert np.all(np.isfinite(found.loadings))
    # the first column is a factor without noise: its row of loadings keeps length 1
    along = np.abs(fa.loadings_[0] @ np.diag(found.loadings[0] ** 2) @ fa.loadings_[0])
    assert along < 1e-2


def test_they_print_and_outlive_a_file(tmp_path):
    fa = FactorAnalysis(2, rotation="oblimin").fit(rows(300, np.random.default_rng(4)))
    fa.save(tmp_path / "fa.safetensors")
    found, again = fa.standard_errors(), load(tmp_path / "fa.safetensors").standard_errors()
    np.testing.assert_array_equal(errors(found), errors(again))
    text = str(found)
    assert text.startswith("Standard errors of loadings and uniquenesses\ncolumn      F1      F2  uniqueness\nx0 ")
    assert "Standard errors of the factors' correlations" in text
    assert found.factor_correlations[0, 0] == pytest.approx(0.0, abs=1e-12)


def test_what_has_no_standard_errors_says_so():
    X = rows(200, np.random.default_rng(5))
    with pytest.raises(OptionError, match="fit resampled rows"):
        FactorAnalysis(2, rotation=lambda A: np.eye(2)).fit(X).standard_errors()
    with pytest.warns(DataWarning, match="Heywood"):
        many = FactorAnalysis(4).fit(X)
    with pytest.raises(OptionError, match="must be at most 3"):
        many.standard_errors()
    independent = FactorAnalysis(2, rotation="varimax").fit_covariance(np.diag(UNITS), 100)
    with pytest.raises(
        DataError, match=r"loadings_ have no standard errors: the rows do not determine .* n_components"
    ):
        independent.standard_errors()


@pytest.mark.parametrize("rotation", [None, "varimax", "promax", "oblimin", "geomin"])
def test_no_factors_leave_the_errors_of_variances(rotation):
    fa = FactorAnalysis(0, rotation=rotation).fit(rows(50, np.random.default_rng(6)))
    np.testing.assert_allclose(fa.standard_errors().noise_variance, fa.noise_variance_ * np.sqrt(2.0 / 50.0))

"""Tables of psych and factanal within 5e-5, and where our definitions differ, by how much exactly."""

from __future__ import annotations

import numpy as np
import pytest

from eigenlens import DataWarning, FactorAnalysis, cronbach_alpha
from eigenlens.latent.n_components import average_partials
from references import psych_factors as psych
from references.factanal import HARMAN_CORRELATIONS

WITHIN = 5e-5
PSYCH = "R, psych 2.2.9"


def factors(**options) -> FactorAnalysis:
    return FactorAnalysis(2, standardize=True, tol=1e-9, **options).fit_covariance(psych.HARMAN23, psych.N)


@pytest.mark.parametrize("solver", ["minres", "principal-axis"])
def test_minres_and_oblimin(solver, accuracy):
    fa = factors(rotation="oblimin", solver=solver, max_iter=100_000)
    what = f"FactorAnalysis of 8 measures of the body (Harman), k = 2, {solver}"
    accuracy.close(f"{what}, oblimin: loadings", fa.loadings_, psych.MINRES_OBLIMIN, system=PSYCH, atol=WITHIN)
    accuracy.close(f"{what}: uniquenesses", fa.uniquenesses_, psych.MINRES_UNIQUENESSES, system=PSYCH, atol=WITHIN)
    np.testing.assert_allclose(fa.communalities_, 1.0 - psych.MINRES_UNIQUENESSES, atol=WITHIN)
    assert fa.factor_correlations_[0, 1] == pytest.approx(psych.MINRES_CORRELATION, abs=WITHIN)
    varimax = factors(rotation="varimax", solver=solver, max_iter=100_000)
    accuracy.close(f"{what}, varimax: loadings", varimax.loadings_, psych.MINRES_VARIMAX, system=PSYCH, atol=WITHIN)


def test_maximum_likelihood_and_promax(accuracy):
    fa = factors(rotation="promax", rotation_options={"normalize": True})
    what = "FactorAnalysis of 8 measures of the body (Harman), k = 2, promax of normalised rows: loadings"
    accuracy.close(what, fa.loadings_, psych.ML_PROMAX, system=PSYCH, atol=WITHIN)
    assert fa.factor_correlations_[0, 1] == pytest.approx(psych.ML_CORRELATION, abs=WITHIN)
    varimax = factors(rotation="varimax")
    np.testing.assert_allclose(varimax.loadings_, psych.FACTANAL_VARIMAX, atol=WITHIN)
    np.testing.assert_allclose(varimax.uniquenesses_, psych.FACTANAL_UNIQUENESSES, atol=WITHIN)


def test_indices_of_fit_follow_from_one_another():
    """Psych's RMSEA, TLI and BIC have other definitions; each is a function of the same chi²."""
    fit, n, d, k = factors().goodness_of_fit(), psych.N, 8, 2
    assert fit.chi2 == pytest.approx(psych.CHI2, abs=WITHIN)
    assert np.sqrt(fit.chi2 / (fit.df * n) - 1.0 / (n - 1.0)) == pytest.approx(psych.RMSEA, abs=WITHIN)
    assert fit.chi2 - fit.df * np.log(n) == pytest.approx(psych.BIC, abs=WITHIN)
    null = -np.linalg.slogdet(psych.HARMAN23)[1] * (n - 1.0 - (2 * d + 5) / 6.0 - 2.0 * k / 3.0) / (d * (d - 1) / 2.0)
    assert (null - fit.chi2 / fit.df) / (null - 1.0) == pytest.approx(psych.TLI, abs=WITHIN)


def test_reliability_and_the_number_of_factors(accuracy):
    R = psych.HARMAN23
    accuracy.close(
        "Cronbach's alpha of 8 measures of the body", cronbach_alpha(R), psych.ALPHA, system=PSYCH, atol=1e-8
    )
    what = "Velicer's average squared partial correlations of 8 measures of the body"
    accuracy.close(what, average_partials(R)[1:], psych.AVERAGE_PARTIALS, system=PSYCH, atol=1e-8)
    three = FactorAnalysis(3, standardize=True, solver="minres", tol=1e-9).fit_covariance(HARMAN_CORRELATIONS, 145)
    # psych divides by the variance of the sum that was observed, we by the model's: they differ by the residuals
    observed = 1.0 - three.noise_variance_.sum() / HARMAN_CORRELATIONS.sum()
    assert observed == pytest.approx(psych.OMEGA_TOTAL, abs=1e-6)
    assert three.omega() == pytest.approx(psych.OMEGA_TOTAL, abs=WITHIN)


def test_a_heywood_case_agrees_at_the_same_floor():
    fa = FactorAnalysis(2, standardize=True, rotation="varimax", min_uniqueness=0.005, tol=1e-9)
    with pytest.warns(DataWarning, match="Heywood"):
        fa.fit_covariance(psych.SWISS, 47)
    signs = np.sign(np.sum(fa.loadings_ * psych.SWISS_ML_VARIMAX, axis=0))
    np.testing.assert_allclose(fa.loadings_ * signs, psych.SWISS_ML_VARIMAX, atol=WITHIN)

"""Goodness of fit of k factors: the likelihood ratio against a free covariance matrix, and indices based on it.

The models of reference are a free covariance matrix and independent columns, for complete and for incomplete rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtrc, chndtr

from eigenlens.arrays import Array
from eigenlens.data.memory import MappedSource
from eigenlens.data.rows import positive_weight_rows
from eigenlens.data.source import Source, accumulate
from eigenlens.latent.ppca.fit import fit_ppca
from eigenlens.laws import Laws
from eigenlens.missing.result import divide_columns, free_parameters, observed_moments
from eigenlens.resources import interruptible_call
from eigenlens.stats.moments import Moments


@dataclass(frozen=True)
class ReferenceLikelihoods:
    """Log-likelihoods of a free covariance matrix and of independent columns, between which a model lies.

    `exact` is True if the rows were complete: Bartlett's correction is for those.
    """

    laws: ClassVar[Laws] = {"saturated": "any", "independent": "any"}

    saturated: float
    independent: float
    exact: bool = True


@dataclass(frozen=True)
class GoodnessOfFit:
    """A test of the model, and indices of fit; it prints as a table.

    Attributes:
        chi2, df, p: the likelihood-ratio test that k factors suffice, with Bartlett's correction (1950) where no entry
            is missing. A small p is evidence against the model. NaN where there is no test: df ≤ 0, or too few rows.
        rmsea: √max(0, (chi2 − df) / (df (n − 1))), and its 90% interval: below 0.05 is called close.
        tli: the Tucker–Lewis index, 1 for a model as good as chance allows, 0 for one no better than independence.
        aic, bic: −2 loglik + 2 parameters, and + parameters log n; smaller is better.
        loglik, parameters, n: the log-likelihood, the number of free parameters and Σw, from which they are computed.
    """

    chi2: float
    df: int
    p: float
    rmsea: float
    rmsea_low: float
    rmsea_high: float
    tli: float
    aic: float
    bic: float
    loglik: float
    parameters: int
    n: float

    def __str__(self) -> str:
        rows = [
            *self._test_rows(),
            ("AIC", f"{self.aic:.3f}"),
            ("BIC", f"{self.bic:.3f}"),
            ("log-likelihood", f"{self.loglik:.4f}  ({self.parameters} parameters, n {self.n:g})"),
        ]
        return "\n".join(f"{name:<14}  {value}" for name, value in rows)

    __repr__ = __str__

    def _test_rows(self) -> list[tuple[str, str]]:
        """Return the lines of the test and of the indices from it, or one that says why there is none."""
        if not np.isnan(self.p):
            return [
                ("chi²", f"{self.chi2:.4f}  (df {self.df}, p {self.p:.4g})"),
                ("RMSEA", f"{self.rmsea:.4f}  (90% interval {self.rmsea_low:.4f} to {self.rmsea_high:.4f})"),
                ("TLI", f"{self.tli:.4f}"),
            ]
        why = f"df {self.df} leaves nothing to test; use fewer factors" if self.df <= 0 else "too few rows"
        return [("test of fit", f"none  ({why})")]


def degrees_of_freedom(d: int, k: int) -> int:
    """Return ((d − k)² − d − k) / 2, correlations minus free parameters; below 0 the model is not identified.

    >>> degrees_of_freedom(6, 2), degrees_of_freedom(6, 4)
    (4, -3)
    """
    return ((d - k) ** 2 - d - k) // 2


def max_factors(d: int) -> int:
    """Return the largest number of factors of d variables with degrees_of_freedom ≥ 0 (Ledermann 1937), at least 1.

    >>> max_factors(6), max_factors(24)
    (3, 17)
    """
    return max(1, int((2 * d + 1 - np.sqrt(8 * d + 1)) / 2))


def reference_likelihoods(moments: Moments) -> ReferenceLikelihoods:
    """Return the log-likelihoods for complete rows, from their moments.

    That of a free covariance matrix is infinite if it is singular.

    >>> found = reference_likelihoods(Moments(10.0, np.zeros(2), 10.0 * np.eye(2)))
    >>> found.saturated == found.independent
    True
    """
    n, d = moments.weight, moments.mean.size
    variance = moments.scatter.diagonal() / n
    scale = np.sqrt(variance)
    independent = float(-0.5 * n * (d * np.log(2.0 * np.pi) + np.log(variance).sum() + d))
    log_det = _log_det(moments.scatter / n / np.outer(scale, scale))
    return ReferenceLikelihoods(independent - 0.5 * n * log_det, independent)


MIN_EIGENVALUE_SHARE = 1e-13
"""The smallest eigenvalue of an invertible correlation matrix, as a share of the largest: below it is rounding."""


def _log_det(R: Array) -> float:
    values = interruptible_call(np.linalg.eigvalsh, R)
    return float(np.log(values).sum()) if values[0] > MIN_EIGENVALUE_SHARE * values[-1] else -np.inf


def goodness_of_fit(loglik: float, others: ReferenceLikelihoods, n: float, d: int, k: int) -> GoodnessOfFit:
    """Return the test and the indices for a model of log-likelihood `loglik` with k factors of d variables, n rows.

    chi² = (n − 1 − (2d + 5)/6 − 2k/3) · F with F = 2 (saturated − loglik) / n, as R's factanal has it; without
    Bartlett's correction, n F, where entries are missing.
    """
    df, parameters = degrees_of_freedom(d, k), free_parameters(d, k, scalar_noise=False)
    chi2 = _statistic(others.saturated - loglik, n, d, k, others.exact)
    null = _statistic(others.saturated - others.independent, n, d, 0, others.exact) / max(d * (d - 1) / 2.0, 1.0)
    testable = df > 0 and np.isfinite(chi2)
    low, high = _rmsea_interval(chi2, df, n) if testable else (np.nan, np.nan)
    return GoodnessOfFit(
        chi2=chi2,
        df=df,
        p=float(chdtrc(df, chi2)) if testable else np.nan,
        rmsea=float(np.sqrt(max(0.0, (chi2 - df) / (df * (n - 1.0))))) if testable else np.nan,
        rmsea_low=low,
        rmsea_high=high,
        tli=(null - chi2 / df) / (null - 1.0) if testable and null != 1.0 else np.nan,
        aic=-2.0 * loglik + 2.0 * parameters,
        bic=-2.0 * loglik + parameters * float(np.log(n)),
        loglik=loglik,
        parameters=parameters,
        n=n,
    )


def _statistic(gain: float, n: float, d: int, k: int, exact: bool) -> float:
    factor = n - 1.0 - (2 * d + 5) / 6.0 - 2.0 * k / 3.0 if exact else n
    return float(2.0 * max(gain, 0.0) / n * factor) if np.isfinite(gain) and factor > 0.0 else np.nan


def _rmsea_interval(chi2: float, df: int, n: float) -> tuple[float, float]:
    """Return the 90% interval, by the noncentralities at which chi² is the 95% and the 5% point.

    See Browne and Cudeck (1993).
    """
    low, high = (_noncentrality(chi2, df, point) for point in (0.95, 0.05))
    return float(np.sqrt(low / (df * (n - 1.0)))), float(np.sqrt(high / (df * (n - 1.0))))


def _noncentrality(chi2: float, df: int, point: float) -> float:
    if 1.0 - chdtrc(df, chi2) <= point:
        return 0.0
    above = max(10.0, chi2)
    while chndtr(chi2, df, above) > point:
        above *= 2.0
    return float(brentq(lambda value: chndtr(chi2, df, value) - point, 0.0, above, xtol=1e-10))


def reference_likelihoods_missing(source: Source) -> ReferenceLikelihoods:
    """Return the log-likelihoods for the observed entries of a source.

    With d − 1 latent dimensions probabilistic PCA has a free covariance matrix, so its fit serves, on columns over
    their standard deviations s_j: log p(x) = log p(x / s) − Σ log s_j over the observed entries. Cost: that of k = d.

    >>> from eigenlens.data.memory import ArraySource
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 3))
    >>> X[0, 0] = np.nan
    >>> found = reference_likelihoods_missing(ArraySource(X))
    >>> found.saturated > found.independent, found.exact
    (True, False)
    """
    source = positive_weight_rows(source)
    observed = observed_moments(source)
    if not observed.missing.any():
        return reference_likelihoods(accumulate(source, Moments.of))
    variance = observed.square / observed.weight
    independent = -0.5 * float(np.sum(observed.weight * (np.log(2.0 * np.pi * variance) + 1.0)))
    scale = np.sqrt(np.where(variance > 0.0, variance, 1.0))
    scaled = fit_ppca(
        MappedSource(source, partial(divide_columns, scale=scale)), source.n_features - 1, tol=1e-12
    ).loglik
    saturated = scaled - float(observed.weight @ np.log(scale))
    return ReferenceLikelihoods(saturated, independent, exact=False)

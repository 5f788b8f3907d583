"""Reliability of a sum of columns: Cronbach's α from covariances alone, McDonald's ω from factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import DataError
from eigenlens.latent.factor.adequacy import as_covariance, complete_covariance


def cronbach_alpha(X: Any, *, standardize: bool = False, sample_weight: Any = None) -> float:
    """Return Cronbach's α of the sum of the columns of X (n, d): how much of its variance is common to them.

    α = d / (d − 1) · (1 − tr S / Σ_ij s_ij) (Cronbach 1951). It equals the reliability of the sum where all columns
    measure one factor with equal loadings, and is below it where loadings differ: see `FactorAnalysis.omega`. Columns
    that count the other way must be reversed first.

    X may be anything with rows, or, as for `kmo`, a covariance or correlation matrix (d, d). It must not have NaN.

    Args:
        standardize: for the sum of standardised columns, whose S is the correlation matrix.

    >>> S = np.array([[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]])
    >>> cronbach_alpha(S)
    0.75
    """
    S = as_covariance(X)
    S = complete_covariance(X, sample_weight, standardize=standardize)[0] if S is None else S
    if standardize:
        scale = np.sqrt(S.diagonal())
        S = S / np.outer(scale, scale)
    d, total = len(S), float(S.sum())
    if d < 2:
        raise DataError("has 1 column, and the columns of a sum must be at least 2", argument="X")
    if total <= 0.0:
        raise DataError("has a sum of its columns that does not vary, so it has no reliability", argument="X")
    return float(d / (d - 1.0) * (1.0 - np.trace(S) / total))


def factor_omega(W: Array, Phi: Array, psi: Array) -> float:
    """Return ω = 1ᵀ Λ Φ Λᵀ 1 / (1ᵀ Λ Φ Λᵀ 1 + Σ psi): the share of the variance of the sum that the factors explain.

    Args:
        W: loadings Λ (d, k). Phi: correlations of the factors (k, k). psi: (d,) noise variances.

    >>> factor_omega(np.array([[0.8], [0.7], [0.6]]), np.eye(1), np.array([0.36, 0.51, 0.64]))
    0.7449...
    """
    total = W.sum(axis=0)
    common = float(total @ Phi @ total)
    return common / (common + float(np.sum(psi)))

"""Tests of whether a factor analysis makes sense: Kaiser–Meyer–Olkin and Bartlett's test of sphericity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc

from eigenlens import checks
from eigenlens.arrays import Array, dense, dimensions, is_sparse
from eigenlens.data.coerce import as_source, is_dask
from eigenlens.data.number_array import table_array
from eigenlens.data.rows import positive_weight_rows
from eigenlens.data.source import Source
from eigenlens.errors import DataError, OptionError
from eigenlens.estimator.covariance_matrix import MAX_SAMPLES, correlations_from_covariance
from eigenlens.linalg.operators import CentredRows
from eigenlens.missing.result import constant_column_indices, missing_or_reraise
from eigenlens.resources import interruptible_call

MIN_EIGENVALUE_RATIO = 1e-12
"""The smallest eigenvalue of a correlation matrix that is inverted, as a share of the largest."""


@dataclass(frozen=True, eq=False)
class Adequacy:
    """The Kaiser–Meyer–Olkin measure: how large correlations are beside partial correlations.

    Attributes:
        overall: Σ r² / (Σ r² + Σ q²) over pairs, with r their correlations and q their partial correlations given all
            others. Above 0.8 is called meritorious, below 0.5 unacceptable (Kaiser 1974).
        variables: (d,) the same over the pairs of each variable.
    """

    overall: float
    variables: Array


@dataclass(frozen=True)
class Sphericity:
    """The test that all correlations are zero: chi², degrees of freedom, p. A large p leaves nothing to factor."""

    chi2: float
    df: int
    p: float


def kmo(X: Any, *, sample_weight: Any = None) -> Adequacy:
    """Return the Kaiser–Meyer–Olkin measure of rows X (n, d): whether columns share more than pairs of them do.

    It is Σ r_ij² / (Σ r_ij² + Σ p_ij²) over i ≠ j, with r the correlations and p the partial correlations given all
    other columns (Kaiser 1970; Kaiser and Rice 1974).

    X may be anything with rows, or a correlation or covariance matrix (d, d): a symmetric matrix with a positive
    diagonal is taken for one. It must not have NaN, nor a column that is a combination of others.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 1)) + rng.standard_normal((500, 6))
    >>> round(kmo(X).overall, 1)
    0.9
    >>> bool(np.isclose(kmo(np.corrcoef(X.T)).overall, kmo(X).overall))
    True
    """
    S = as_covariance(X)
    return correlation_adequacy(
        complete_covariance(X, sample_weight, standardize=True)[0] if S is None else correlations_from_covariance(S)
    )


def bartlett_sphericity(X: Any, *, n_samples: float | None = None, sample_weight: Any = None) -> Sphericity:
    """Test that the columns of rows X (n, d) are uncorrelated (Bartlett 1951).

    X may be anything with rows, or, as for `kmo`, the correlation or covariance matrix (d, d) of `n_samples` rows.

    >>> rng = np.random.default_rng(0)
    >>> bartlett_sphericity(rng.standard_normal((500, 6))).p > 0.01
    True
    """
    S = as_covariance(X)
    if S is None:
        if n_samples is not None:
            what = (
                "is the number of rows behind a correlation matrix, but X is not one: it must be symmetric with a "
                "positive diagonal"
            )
            raise OptionError(what, argument="n_samples", value=n_samples, fix="leave n_samples out if X holds rows")
        return correlation_sphericity(*complete_covariance(X, sample_weight, standardize=True))
    if n_samples is None:
        what = "is needed: X is a correlation or covariance matrix, from which the number of rows cannot be read"
        raise OptionError(what, argument="n_samples")
    return correlation_sphericity(
        correlations_from_covariance(S), checks.real("n_samples", n_samples, 1.0, MAX_SAMPLES)
    )


def correlation_adequacy(R: Array) -> Adequacy:
    """Return the Kaiser–Meyer–Olkin measure of a correlation matrix R (d, d) (Kaiser and Rice 1974).

    >>> correlation_adequacy(np.array([[1.0, 0.5, 0.5], [0.5, 1.0, 0.5], [0.5, 0.5, 1.0]])).overall
    0.6923...
    """
    _require_inverse(R)
    inverse = np.linalg.inv(R)
    scale = np.sqrt(np.diag(inverse))
    partial, plain = (inverse / np.outer(scale, scale)) ** 2, R**2
    for squares in (partial, plain):
        np.fill_diagonal(squares, 0.0)
    shared, alone = plain.sum(axis=0), partial.sum(axis=0)
    total = shared.sum() + alone.sum()
    return Adequacy(float(shared.sum() / total) if total > 0.0 else 0.0, shared / np.maximum(shared + alone, 1e-300))


def correlation_sphericity(R: Array, n: float) -> Sphericity:
    """Return Bartlett's test of a correlation matrix R (d, d) of n rows: chi² = −(n − 1 − (2d + 5)/6) log |R|.

    >>> correlation_sphericity(np.eye(3), 100).p
    1.0
    """
    d = len(R)
    if d < 2:
        raise DataError("has 1 column, and correlations need at least 2", argument="X", fix="give more columns")
    factor = n - 1.0 - (2 * d + 5) / 6.0
    if factor <= 0.0:
        what = f"has n={n:g} rows, too few for Bartlett's test of {d} columns"
        raise DataError(what, argument="X", fix=f"it needs {(2 * d + 11) // 6 + 1}")
    _require_inverse(R)
    df = d * (d - 1) // 2
    chi2 = max(-factor * float(interruptible_call(np.linalg.slogdet, R)[1]), 0.0)
    return Sphericity(chi2, df, float(chdtrc(df, chi2)))


def _require_inverse(R: Array) -> None:
    """Raise an error for a singular R: it has no partial correlations, and its log-determinant is infinite."""
    values = interruptible_call(np.linalg.eigvalsh, R)
    if values[0] <= MIN_EIGENVALUE_RATIO * values[-1]:
        raise DataError(
            f"X: the correlation matrix is singular (its smallest eigenvalue is {values[0]:.1e}): some column is a "
            "combination of others, or there are fewer rows than columns",
            fix="leave such columns out, or take more rows",
        )


def as_covariance(X: Any) -> Array | None:
    """Return X (d, d) if it is symmetric with a positive diagonal, which rows never are by chance; else None."""
    X = table_array(X) if isinstance(X, list | tuple) else X
    shape: tuple[int, ...] = getattr(X, "shape", ()) if dimensions(X) == 2 and not is_dask(X) else ()
    if isinstance(X, Source) or is_sparse(X) or len(shape) != 2 or shape[0] != shape[1] or shape[0] < 2:
        return None
    S = np.concatenate([dense(rows) for rows in as_source(X).rows()])
    size = float(np.abs(S).max())
    symmetric = np.all(np.isfinite(S)) and np.abs(S - S.T).max() <= 1e-8 * size
    return S if symmetric and np.all(S.diagonal() > 0.0) else None


def complete_covariance(X: Any, sample_weight: Any, *, standardize: bool) -> tuple[Array, float]:
    """Return the covariance matrix (d, d) of complete rows, or their correlation matrix, and the sum of the weights."""
    checks.boolean("standardize", standardize)
    source = as_source(X)
    source = positive_weight_rows(source.weighted(checks.weights(sample_weight, source.n_rows)))
    rows = CentredRows(source, standardize=standardize)
    try:
        R = rows.dense()
    except DataError as error:
        missing_or_reraise(source, error)
        raise DataError(
            "X has missing entries (NaN), and correlations need complete rows",
            fix="leave such rows out, or give the maximum likelihood covariance matrix of the observed entries: "
            f"ProbabilisticPCA({source.n_features - 1}).fit(X).get_covariance()",
        ) from None
    constant = constant_column_indices(rows.columns.mean, rows.columns.square / rows.columns.weight)
    if constant and standardize:
        name = source.names[constant[0]] if source.names else constant[0]
        what = f"column {name!r} of X is constant and has no correlations"
        raise DataError(what, columns=[str(name)], fix="leave it out")
    return R, rows.columns.weight

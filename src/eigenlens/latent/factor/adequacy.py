"""Whether there is anything to factor: Kaiser–Meyer–Olkin and Bartlett's test of sphericity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc

from eigenlens import checks
from eigenlens.arrays import Array, dense, is_sparse
from eigenlens.data.coerce import as_source
from eigenlens.data.rows import positive_weight_rows
from eigenlens.data.source import Source
from eigenlens.errors import DataError, OptionError
from eigenlens.latent.factor.fit import correlations_from
from eigenlens.linalg.operators import CentredRows
from eigenlens.missing.result import explained_by_gaps

__all__ = ["Adequacy", "Sphericity", "adequacy_of", "bartlett_sphericity", "kmo", "sphericity_of"]

SINGULAR = 1e-12
"""The least eigenvalue of a correlation matrix with an inverse, as a share of the largest."""


@dataclass(frozen=True, eq=False)
class Adequacy:
    """The share of squared correlations that is not explained away pair by pair.

    Attributes:
        overall: Σ r² / (Σ r² + Σ q²) over pairs, r their correlations and q their partial ones given all others.
            Above 0.8 is called meritorious, below 0.5 unacceptable (Kaiser 1974).
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
    """The Kaiser–Meyer–Olkin measure of rows X (n, d): whether their columns share more than pairs do.

    Σ r_ij² / (Σ r_ij² + Σ p_ij²) over i ≠ j, with r the correlations and p the partial ones given all other columns
    (Kaiser 1970; Kaiser and Rice 1974).

    X may be anything with rows, or the correlation or covariance matrix (d, d) of some: a symmetric matrix whose
    diagonal is positive is taken for one. Without NaN, and without a column that is a combination of others.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 1)) + rng.standard_normal((500, 6))
    >>> round(kmo(X).overall, 1)
    0.9
    >>> bool(np.isclose(kmo(np.corrcoef(X.T)).overall, kmo(X).overall))
    True
    """
    S = _as_covariance(X)
    return adequacy_of(_correlations(X, sample_weight)[0] if S is None else correlations_from(S))


def bartlett_sphericity(X: Any, *, n_samples: float | None = None, sample_weight: Any = None) -> Sphericity:
    """Bartlett's test (1951) that the columns of rows X (n, d) are uncorrelated.

    X may be anything with rows, or as for `kmo` the correlation or covariance matrix (d, d) of `n_samples` rows.

    >>> rng = np.random.default_rng(0)
    >>> bartlett_sphericity(rng.standard_normal((500, 6))).p > 0.01
    True
    """
    S = _as_covariance(X)
    if S is None:
        if n_samples is not None:
            raise OptionError(
                f"n_samples={n_samples!r} is the number of rows behind a correlation matrix, but X is not one: it must "
                "be symmetric with a positive diagonal. Leave n_samples out if X holds rows."
            )
        return sphericity_of(*_correlations(X, sample_weight))
    if n_samples is None:
        raise OptionError("n_samples is needed: X is a correlation or covariance matrix, and does not say of how many.")
    return sphericity_of(correlations_from(S), checks.real("n_samples", n_samples, 1.0))


def adequacy_of(R: Array) -> Adequacy:
    """The Kaiser–Meyer–Olkin measure of a correlation matrix R (d, d) (Kaiser and Rice 1974).

    >>> adequacy_of(np.array([[1.0, 0.5, 0.5], [0.5, 1.0, 0.5], [0.5, 0.5, 1.0]])).overall
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


def sphericity_of(R: Array, n: float) -> Sphericity:
    """Bartlett's test of a correlation matrix R (d, d) of n rows: chi² = −(n − 1 − (2d + 5)/6) log |R|.

    >>> sphericity_of(np.eye(3), 100).p
    1.0
    """
    d = len(R)
    factor = n - 1.0 - (2 * d + 5) / 6.0
    if factor <= 0.0:
        raise DataError(
            f"n={n:g} rows are too few for Bartlett's test of {d} columns; it needs {(2 * d + 11) // 6 + 1}."
        )
    _require_inverse(R)
    df = d * (d - 1) // 2
    chi2 = max(-factor * float(np.linalg.slogdet(R)[1]), 0.0)
    return Sphericity(chi2, df, float(chdtrc(df, chi2)))


def _require_inverse(R: Array) -> None:
    """Refuse a singular R: it has no partial correlations, and the logarithm of its determinant is infinite."""
    values = np.linalg.eigvalsh(R)
    if values[0] <= SINGULAR * values[-1]:
        raise DataError(
            f"the correlation matrix is singular (its least eigenvalue is {values[0]:.1e}): some column is a "
            "combination of others, or there are fewer rows than columns; leave such columns out, or take more rows."
        )


def _as_covariance(X: Any) -> Array | None:
    """X (d, d) if it is symmetric with a positive diagonal, which rows never are by chance; else None."""
    shape: tuple[int, ...] = np.shape(X) if isinstance(X, list | tuple) else getattr(X, "shape", ())
    if isinstance(X, Source) or is_sparse(X) or len(shape) != 2 or shape[0] != shape[1] or shape[0] < 2:
        return None
    S = np.concatenate([dense(rows) for rows in as_source(X).rows()])
    size = float(np.abs(S).max())
    symmetric = np.all(np.isfinite(S)) and np.abs(S - S.T).max() <= 1e-8 * size
    return S if symmetric and np.all(S.diagonal() > 0.0) else None


def _correlations(X: Any, sample_weight: Any) -> tuple[Array, float]:
    source = as_source(X)
    source = positive_weight_rows(source.weighted(checks.weights(sample_weight, source.n_rows)))
    rows = CentredRows(source, standardize=True)
    try:
        R = rows.dense()
    except DataError as error:
        explained_by_gaps(source, error)
        raise DataError(
            "X has missing entries (NaN), and correlations need complete rows; leave such rows out, or give the "
            f"covariance matrix that is likeliest for what is observed: ProbabilisticPCA({source.n_features - 1})"
            ".fit(X).get_covariance()."
        ) from None
    constant = np.flatnonzero(rows.columns.square <= 1e-26 * rows.columns.weight * rows.columns.mean**2)
    if constant.size:
        name = source.names[constant[0]] if source.names else int(constant[0])
        raise DataError(f"column {name!r} of X is constant and has no correlations; leave it out.")
    return R, rows.columns.weight

"""Whether there is anything to factor: Kaiser–Meyer–Olkin and Bartlett's test of sphericity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.data.resolve import as_source
from eigenlens.errors import DataError
from eigenlens.linalg.operators import CentredRows

__all__ = ["Adequacy", "Sphericity", "adequacy_of", "bartlett_sphericity", "kmo", "sphericity_of"]


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
    """The Kaiser–Meyer–Olkin measure of the rows of X (n, d): whether their columns share more than pairs do.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 1)) + rng.standard_normal((500, 6))
    >>> round(kmo(X).overall, 1)
    0.9
    """
    return adequacy_of(_correlations(X, sample_weight)[0])


def bartlett_sphericity(X: Any, *, sample_weight: Any = None) -> Sphericity:
    """Bartlett's test (1951) that the columns of X (n, d) are uncorrelated.

    >>> rng = np.random.default_rng(0)
    >>> bartlett_sphericity(rng.standard_normal((500, 6))).p > 0.01
    True
    """
    return sphericity_of(*_correlations(X, sample_weight))


def adequacy_of(R: Array) -> Adequacy:
    """The Kaiser–Meyer–Olkin measure of a correlation matrix R (d, d) (Kaiser and Rice 1974).

    >>> adequacy_of(np.array([[1.0, 0.5, 0.5], [0.5, 1.0, 0.5], [0.5, 0.5, 1.0]])).overall
    0.6923...
    """
    if np.linalg.cond(R) > 1e12:
        raise DataError(
            "the correlation matrix is singular: some column is a combination of others, or there are fewer rows than "
            "columns; leave such columns out."
        )
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
    sign, log_det = np.linalg.slogdet(R)
    df = d * (d - 1) // 2
    chi2 = -(n - 1.0 - (2 * d + 5) / 6.0) * float(log_det) if sign > 0 else np.inf
    chi2 = max(chi2, 0.0)
    return Sphericity(chi2, df, float(chdtrc(df, chi2)))


def _correlations(X: Any, sample_weight: Any) -> tuple[Array, float]:
    source = as_source(X)
    source = source.weighted(checks.weights(sample_weight, source.n_rows))
    rows = CentredRows(source, standardize=True)
    R = rows.dense()
    constant = np.flatnonzero(rows.columns.square <= 1e-26 * rows.columns.weight * rows.columns.mean**2)
    if constant.size:
        name = source.names[constant[0]] if source.names else int(constant[0])
        raise DataError(f"column {name!r} of X is constant and has no correlations; leave it out.")
    return R, rows.columns.weight

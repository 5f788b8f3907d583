"""Covariance matrices in place of rows: what `fit_covariance` of every model reads, checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.data.source import Source
from eigenlens.errors import DataError
from eigenlens.estimator.rows import dense_blocks, validate_rows
from eigenlens.resources import interruptible_call
from eigenlens.stats.moments import Moments

MAX_SAMPLES = 2.0**53
"""From here on, floats do not tell every number of rows from the next."""


class GivenCovariance(NamedTuple):
    """A covariance matrix S (d, d) of n rows with this mean (d,); the source has the names of its columns."""

    S: Array
    n: float
    mean: Array
    source: Source

    def moments(self, divisor: float) -> Moments:
        """Return the moments of the rows, whose covariances S have this divisor."""
        return Moments(self.n, self.mean, self.S * divisor, round(self.n))


def unknown_samples(d: int) -> int:
    """Return the number of rows that is given where it is not known: the fewest that d components can have."""
    return d + 1


def read_covariance(
    estimator: Any, S: Any, n_samples: Any, mean: Any = None, *, constant: bool = False
) -> GivenCovariance:
    """Check the arguments of `fit_covariance`, and set the estimator's feature names; mean None is 0.

    constant: whether a variable may have no variance.
    """
    try:
        source = validate_rows(estimator, S, reset=True)
        matrix = np.concatenate(list(dense_blocks(source)))
    except DataError as error:  # which calls the entries X
        raise error.about("S") from None
    correlations_from_covariance(matrix, source.names, constant=constant)
    mu = _check_mean(mean, source.n_features)
    return GivenCovariance(0.5 * (matrix + matrix.T), checks.real("n_samples", n_samples, 1.0, MAX_SAMPLES), mu, source)


def _check_mean(mean: Any, d: int) -> Array:
    mu = np.zeros(d) if mean is None else checks.numbers("mean", mean)
    if mu.shape != (d,) or not np.all(np.isfinite(mu)):
        what = f"has shape {mu.shape}; it must be {d} finite numbers, one per variable, or None for zeros"
        raise DataError(what, argument="mean")
    return mu


def correlations_from_covariance(S: Array, names: tuple[str, ...] | None = None, *, constant: bool = False) -> Array:
    """Return the correlation matrix (d, d) of S (d, d), after checking that S is a covariance matrix.

    constant: whether a variable may have the variance 0; its correlations are 0.

    >>> correlations_from_covariance(np.array([[4.0, 1.0], [1.0, 1.0]]))
    array([[1. , 0.5], [0.5, 1. ]])
    """
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not np.all(np.isfinite(S)):
        raise DataError(f"has shape {S.shape}; it must be a square matrix of finite numbers", argument="S")
    _require_variances(S, names, constant)
    scale = np.sqrt(np.where(S.diagonal() > 0.0, S.diagonal(), 1.0))
    R = S / np.outer(scale, scale)
    if np.abs(R - R.T).max() > 1e-8:
        what = "is not symmetric, as a covariance matrix is"
        raise DataError(what, argument="S", fix="use (S + S.T) / 2 if the difference is rounding")
    R = 0.5 * (R + R.T)
    smallest = float(interruptible_call(np.linalg.eigvalsh, R)[0])
    if smallest < -1e-8 * len(R):
        what = (
            f"over its standard deviations has the eigenvalue {smallest:.3g}, but a covariance matrix has none below 0 "
            "(correlations computed pair by pair from incomplete rows may have)"
        )
        raise DataError(what, argument="S", fix="fit the rows themselves, NaN where an entry is missing")
    return np.asarray(R)


def _require_variances(S: Array, names: tuple[str, ...] | None, constant: bool) -> None:
    variance = S.diagonal()
    flat = np.flatnonzero(variance < 0.0 if constant else variance <= 0.0)
    if flat.size:
        column = names[flat[0]] if names else str(flat[0])
        bound = "at least 0" if constant else "above 0"
        what = f"variable {repr(column) if names else column} of S has the variance {variance[flat[0]]:g}, and it must "
        raise DataError(what + f"be {bound}", columns=[column], fix="leave it out")

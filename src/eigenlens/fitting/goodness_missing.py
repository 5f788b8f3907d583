"""What a model of rows with gaps stands between: a free covariance matrix and independent columns."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.memory import Mapped
from eigenlens.data.source import Source, accumulate
from eigenlens.fitting.counted import counted
from eigenlens.fitting.goodness import Likelihoods, likelihoods_of
from eigenlens.fitting.latent import observed_columns
from eigenlens.fitting.ppca import fit_ppca
from eigenlens.stats.moments import Moments

__all__ = ["likelihoods_of_gaps"]


def likelihoods_of_gaps(source: Source) -> Likelihoods:
    """The two log-likelihoods of the observed entries of a source.

    With d − 1 latent dimensions probabilistic PCA has a free covariance matrix, so its EM serves, on columns over their
    deviations s_j: log p(x) = log p(x / s) − Σ log s_j over the observed entries. Cost: that of k = d.

    >>> from eigenlens.data.memory import ArraySource
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 3))
    >>> X[0, 0] = np.nan
    >>> found = likelihoods_of_gaps(ArraySource(X))
    >>> found.saturated > found.independent, found.exact
    (True, False)
    """
    source = counted(source)
    observed = observed_columns(source)
    if not observed.missing.any():
        return likelihoods_of(accumulate(source, Moments.of))
    variance = observed.square / observed.weight
    independent = -0.5 * float(np.sum(observed.weight * (np.log(2.0 * np.pi * variance) + 1.0)))
    scale = np.sqrt(np.where(variance > 0.0, variance, 1.0))
    scaled = fit_ppca(Mapped(source, partial(_divide, scale=scale)), source.n_features - 1, tol=1e-12).loglik
    saturated = scaled - float(observed.weight @ np.log(scale))
    return Likelihoods(saturated, independent, exact=False)


def _divide(rows: Any, scale: Array) -> Array:
    return np.asarray(dense(rows) / scale)

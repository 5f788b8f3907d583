"""Rows of a linear-Gaussian model that may miss entries: their latent posteriors, a piece at a time.

What is observed of a row is x_o = W_o z + mu_o + e_o, so its posterior needs M = I + W_oᵀ Psi_o⁻¹ W_o, which depends on
which entries are there and not on their values. Rows that miss the same entries share it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.models.density import patterns as patterns_of

__all__ = ["Observed", "conditional_variances", "latent_pieces", "scattered", "whitening"]

PIECE = 1 << 21
"""Entries of the largest array that a piece of rows, or a table of columns, may take."""


LOOKED_AT, FEW = 1024, 1.0 / 16.0
"""So many rows tell whether patterns repeat: where there are at most this many of them a row, grouping pays."""


class Observed(NamedTuple):
    """Some rows and their latent posteriors; u is the number of different patterns among them.

    Attributes:
        part: which rows. rest: (n, d) x − mu, 0 where x is missing.
        latent: (n, k) E[z | x_o].
        patterns: (u, d) which entries are observed. which: (n,) the pattern of each row.
        root: (u, k, k) L⁻¹ with L the lower Cholesky factor of M; cov[z | x_o] = L⁻ᵀL⁻¹.
    """

    part: slice
    rest: Array
    latent: Array
    patterns: Array
    which: Array
    root: Array

    @property
    def complete(self) -> bool:
        """Whether no entry is missing."""
        return len(self.patterns) == 1 and bool(self.patterns.all())


def latent_pieces(X: Array, mean: Array, W: Array, psi: Array, root: Array) -> Iterator[Observed]:
    """The rows of X (n, d) with their posteriors; `root` (k, k) is L⁻¹ of a complete row.

    Cost: n d k for complete rows; u d k² + u k³ more for u patterns with gaps. No array is larger than a piece.
    """
    d, k = W.shape
    step = max(1, PIECE // max(d, k * k))
    scaled = W / psi[:, None]
    for start in range(0, len(X), step):
        part = slice(start, min(start + step, len(X)))
        rest = X[part] - mean
        patterns, which = patterns_of(rest)
        if len(patterns) == 1 and patterns.all():
            roots = root[None]
            half = (rest @ scaled) @ root.T
            latent = half @ root
        else:
            rest[~patterns[which]] = 0.0
            roots = whitening(patterns, W, psi)
            mine = roots[which]
            half = mine @ (rest @ scaled)[:, :, None]
            latent = (np.swapaxes(mine, 1, 2) @ half)[:, :, 0]
        yield Observed(part, rest, latent, patterns, which, roots)


def scattered(X: Array) -> bool:
    """Whether nearly every row of X (n, d) misses entries of its own, as far as some of them tell.

    >>> scattered(np.array([[1.0, np.nan], [np.nan, 2.0]])), scattered(np.ones((2, 2)))
    (True, False)
    """
    seen = ~np.isnan(X[:: max(1, len(X) // LOOKED_AT)])
    if seen.all():
        return False
    keys = seen @ np.random.default_rng(0).random(seen.shape[1])  # of each pattern its own number
    return np.unique(keys).size > FEW * len(seen)


def whitening(patterns: Array, W: Array, psi: Array) -> Array:
    """L⁻¹ (u, k, k) for each pattern (u, d), L Lᵀ = M = I + Σ_j seen_j w_j w_jᵀ / psi_j: a GEMM, then small ones."""
    k = W.shape[1]
    upper = np.triu_indices(k)
    sums = np.zeros((len(patterns), upper[0].size))
    for part in _column_parts(*W.shape):
        table = W[part][:, upper[0]] * (W[part] / psi[part, None])[:, upper[1]]
        sums += patterns[:, part].astype(np.float64) @ table
    M = np.empty((len(patterns), k, k))
    M[:, upper[0], upper[1]] = M[:, upper[1], upper[0]] = sums
    M += np.eye(k)
    return np.asarray(np.tril(np.linalg.inv(np.linalg.cholesky(M))))


def conditional_variances(root: Array, W: Array, psi: Array) -> Array:
    """psi_j + w_jᵀ cov[z | x_o] w_j (u, d): what is not known of entry j, for each pattern; a GEMM."""
    k = W.shape[1]
    rows, columns = np.triu_indices(k)
    covariance = (np.swapaxes(root, 1, 2) @ root)[:, rows, columns] * np.where(rows == columns, 1.0, 2.0)
    found = np.empty((len(root), len(W)))
    for part in _column_parts(*W.shape):
        found[:, part] = covariance @ (W[part][:, rows] * W[part][:, columns]).T
    return np.asarray(np.maximum(found, 0.0) + psi)


def _column_parts(d: int, k: int) -> Iterator[slice]:
    """Ranges of columns whose tables of w_j w_jᵀ are no larger than a piece."""
    step = max(1, PIECE // max(1, k * k))
    return (slice(start, start + step) for start in range(0, d, step))

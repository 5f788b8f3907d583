"""The pass of a mixture of Gaussians over rows with missing entries (Ghahramani and Jordan 1994), exact.

A pattern of gaps observes columns o and misses m. Of component k it needs one Cholesky factor of C_oo, the regression
C_mo C_oo⁻¹ on the observed entries, and the covariance C_mm − C_mo C_oo⁻¹ C_om that is left: filled rows and what is
left, weighted by responsibilities, are the moments of complete rows as far as these are known. So the M-step is that of
complete rows, whatever the structure, and EM climbs the likelihood of the observed entries.

Patterns are worked on together where they have equally many rows. In the place of C_oo stands a matrix (d, d) that is
the identity where columns are missing: its inverse and determinant are those of C_oo, and shapes are all alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.source import Block
from eigenlens.models.density import patterns
from eigenlens.models.mixture import Mixture, matrix_of
from eigenlens.models.mixture_terms import DiagonalTerms, FullTerms, Reading
from eigenlens.stats.grouped import GroupedColumns, GroupedMoments

__all__ = ["observed_entries", "shares_of"]

PIECE, BATCH = 1 << 20, 1 << 19
"""Entries of rows whose patterns are compared at a time, and of the matrices that are worked on together."""

LOG_2PI = float(np.log(2.0 * np.pi))


def observed_entries(mixture: Mixture) -> Callable[[Block], Reading]:
    """What a pass for this mixture makes of a block of rows (b, d) in which NaN is missing.

    Rows without entries say nothing, and are left out. Cost of a row as that of a complete one, and K d³ a pattern.

    >>> from eigenlens.models.covariances import Full
    >>> from eigenlens.models.gaussian import Gaussian
    >>> model = Mixture(np.ones(1), (Gaussian(np.zeros(2), Full(np.array([[2.0, 1.0], [1.0, 2.0]]))),))
    >>> moments = observed_entries(model)(Block(np.array([[4.0, np.nan], [np.nan, np.nan]]))).moments
    >>> moments.weight, moments.mean, moments.scatter[0]
    (array([1.]), array([[4., 2.]]), array([[0. , 0. ], [0. , 1.5]]))
    """
    terms = mixture.terms
    return partial(_summed, read=READERS[type(terms)](mixture, terms))


def _summed(block: Block, read: Callable[[Array, Array], Reading]) -> Reading:
    """Σ read(rows, weights) over pieces of the rows that count and have an entry."""
    step = max(1, PIECE // block.rows.shape[1])
    parts = (slice(start, start + step) for start in range(0, max(1, block.rows.shape[0]), step))
    return reduce(add, (read(*_counted(block, part)) for part in parts))


def _counted(block: Block, part: slice) -> tuple[Array, Array]:
    X = dense(block.rows[part])
    w = np.ones(len(X)) if block.weight is None else block.weight[part]
    keep = (w > 0.0) & ~np.isnan(X).all(axis=1)
    return (X, w) if keep.all() else (X[keep], w[keep])


def shares_of(joint: Array, w: Array) -> tuple[float, Array]:
    """Σ w ln Σ_k exp(joint) and the responsibilities times w, of joint (..., K, c) and w (..., c)."""
    top = joint.max(axis=-2)
    shares = np.exp(joint - top[..., None, :])
    total = shares.sum(axis=-2)
    return float(np.sum(w * (top + np.log(total)))), shares * (w / total)[..., None, :]


# ---- covariance matrices ------------------------------------------------------------------------------------


class _Matrices:
    """Reads rows (n, d) with weights (n,) by the covariances of a mixture, (K, d, d), or (1, d, d) if they are one."""

    def __init__(self, mixture: Mixture, terms: FullTerms) -> None:
        parts: list[Any] = list(mixture.components)
        shared = all(part.covariance is parts[0].covariance for part in parts)
        self.terms, self.log_weights = terms, np.log(mixture.weights)
        self.C = np.stack([matrix_of(part) for part in (parts[:1] if shared else parts)])

    def __call__(self, X: Array, w: Array) -> Reading:
        whole = ~np.isnan(X).any(axis=1)
        found = [self.terms.read(Block(X[whole], w[whole]))] if whole.any() else []
        found += [self._batch(*batch) for batch in _batches(X[~whole], w[~whole], len(self.log_weights))]
        return reduce(add, found, _nothing(self.terms.means))

    def _batch(self, X: Array, seen: Array, w: Array) -> Reading:
        """Of u patterns with c rows each: X (u, c, d), which columns they observe (u, d), and weights (u, c)."""
        mu, known = self.terms.means, _given(self.C, seen.astype(np.float64))
        D = np.where(seen[:, None, None, :], X[:, None] - mu[:, None, :], 0.0)
        z = D @ np.swapaxes(known.root, 2, 3)
        distance = np.einsum("ukcd,ukcd->ukc", z, z)
        joint = self.log_weights[:, None] - 0.5 * (distance + known.log_determinant[:, :, None])
        loglik, r = shares_of(joint, w)
        D = np.where(seen[:, None, None, :], D, z @ known.half)
        D, R = (np.moveaxis(a, 1, 0).reshape(len(mu), -1, *a.shape[3:]) for a in (D, r))
        weighted = D * R[:, :, None]
        left = np.einsum("uk,ukij->kij", r.sum(axis=2), np.broadcast_to(known.left, (*r.shape[:2], *self.C.shape[1:])))
        scatter = np.swapaxes(weighted, 1, 2) @ D + left
        return Reading(loglik, GroupedMoments.about(mu, R.sum(axis=1), weighted.sum(axis=1), scatter))


class _Given(NamedTuple):
    """Of u patterns and covariances C (K, d, d).

    Attributes:
        root: L⁻¹ (u, K, d, d), L the factor of C_oo.
        half: L⁻¹ C_o· (u, K, d, d): with z = L⁻¹ (x_o − mu_o), z half is C_·o C_oo⁻¹ (x_o − mu_o).
        left: (u, K, d, d), the covariance of what is missing given the rest, 0 elsewhere.
        log_determinant: ln |2π C_oo| (u, K).
    """

    root: Array
    half: Array
    left: Array
    log_determinant: Array


def _given(C: Array, O: Array) -> _Given:
    rows, columns, gap = O[:, None, :, None], O[:, None, None, :], 1.0 - O
    some = C * rows
    L = np.linalg.cholesky(some * columns + gap[:, None, :, None] * np.eye(C.shape[1]))
    root = np.tril(np.linalg.inv(L))
    half = root @ some
    left = (C - np.swapaxes(half, 2, 3) @ half) * (gap[:, None, :, None] * gap[:, None, None, :])
    log_determinant = 2.0 * np.log(np.einsum("ukii->uki", L)).sum(axis=2) + LOG_2PI * O.sum(axis=1)[:, None]
    return _Given(root, half, left, log_determinant)


def _batches(X: Array, w: Array, K: int) -> Iterator[tuple[Array, Array, Array]]:
    """Patterns with equally many rows c, some at a time: rows (u, c, d), observed columns (u, d), weights (u, c)."""
    if not len(X):
        return
    seen, which = patterns(X)
    order, counts = np.argsort(which, kind="stable"), np.bincount(which)
    first, d = np.cumsum(counts) - counts, X.shape[1]
    for c in np.unique(counts):
        alike = np.flatnonzero(counts == c)
        longest = max(1, BATCH // (K * d))  # rows of one pattern that are worked on together
        step = max(1, BATCH // (K * d * max(d, min(c, longest))))
        for start in range(0, len(alike), step):
            some = alike[start : start + step]
            rows = order[first[some][:, None] + np.arange(c)]
            for low in range(0, c, longest):
                part = rows[:, low : low + longest]
                yield X[part], seen[some], w[part]


def _nothing(means: Array) -> Reading:
    K, d = means.shape
    return Reading(0.0, GroupedMoments(np.zeros(K), means, np.zeros((K, d, d))))


# ---- independent columns ------------------------------------------------------------------------------------


class _Columns:
    """Reads rows (n, d) with weights (n,) by variances (K, d): a missing entry is as far off as its variance says."""

    def __init__(self, mixture: Mixture, terms: DiagonalTerms) -> None:
        self.terms, self.log_weights = terms, np.log(mixture.weights)

    def __call__(self, X: Array, w: Array) -> Reading:
        mu, variances = self.terms.means, 1.0 / self.terms.precisions
        K, d = mu.shape
        found = Reading(0.0, GroupedColumns(np.zeros(K), mu, np.zeros((K, d))))
        step = max(1, BATCH // (K * d))
        for start in range(0, len(X), step):
            rows, weight = X[start : start + step], w[start : start + step]
            seen = ~np.isnan(rows)
            D = np.where(seen, rows - mu[:, None, :], 0.0)
            distance = np.einsum("kcd,kcd,kd->kc", D, D, self.terms.precisions)
            logs = (np.log(variances) + LOG_2PI) @ seen.T
            loglik, r = shares_of(self.log_weights[:, None] - 0.5 * (distance + logs), weight)
            square = np.einsum("kc,kcd,kcd->kd", r, D, D) + (r @ ~seen) * variances
            total = np.einsum("kc,kcd->kd", r, D)
            found = found + Reading(loglik, GroupedColumns.about(mu, r.sum(axis=1), total, square))
        return found


READERS: dict[type, Callable[[Mixture, Any], Callable[[Array, Array], Reading]]] = {
    FullTerms: _Matrices,
    DiagonalTerms: _Columns,
}
"""How rows with gaps are read, by how the components are stacked."""

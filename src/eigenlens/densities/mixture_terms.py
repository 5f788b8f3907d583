"""The terms of a mixture of Gaussians stacked in arrays, for passes over many rows: ln pi_k + ln N(x | mu_k, C_k).

A term is a level less half a squared distance: levels_k − ½ |R_k (x − mu_k)|² with R_kᵀ R_k = C_k⁻¹ and
levels_k = ln pi_k − ½ ln |C_k| − ½ d ln 2π. R_k is a triangle, or a diagonal where columns are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from eigenlens.arrays import Array, dense, is_sparse, to_numpy
from eigenlens.data.source import Block
from eigenlens.densities.base import Density
from eigenlens.densities.covariance import Diagonal, Full, Spherical
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.native.mixture import (
    diagonal_log_joint,
    diagonal_pass,
    diagonal_passes,
    full_log_joint,
    full_pass,
    full_passes,
)
from eigenlens.stats.moments import ColumnMoments, Moments

__all__ = ["DiagonalTerms", "EStep", "FullTerms", "StackedEStep", "Terms", "stack_terms"]

DENSE_PIECE_BYTES = 16 << 20
"""Sparse rows are made dense this much at a time."""


@dataclass(frozen=True, eq=False)
class EStep:
    """What one pass of EM leaves: the log-likelihood, and the moments of the rows as the components share them."""

    loglik: float
    moments: Moments | ColumnMoments

    def __add__(self, other: Self) -> Self:
        return type(self)(self.loglik + other.loglik, self.moments + other.moments)  # type: ignore[operator]


@dataclass(frozen=True, eq=False)
class StackedEStep:
    """What one pass for S mixtures of K components leaves: the log-likelihoods (S,), and the moments of S K groups."""

    logliks: Array
    moments: Moments | ColumnMoments

    def __add__(self, other: Self) -> Self:
        return type(self)(self.logliks + other.logliks, self.moments + other.moments)  # type: ignore[operator]


EStepT = TypeVar("EStepT", EStep, StackedEStep)


class Terms(Protocol):
    """The K terms of a mixture; n rows of d columns."""

    @property
    def levels(self) -> Array:
        """(K,)."""
        ...

    @property
    def means(self) -> Array:
        """mu_k (K, d)."""
        ...

    @property
    def log_determinants(self) -> Array:
        """ln |C_k| (K,)."""
        ...

    @property
    def log_weights(self) -> Array:
        """ln pi_k (K,)."""
        ...

    def log_joint(self, X: Array) -> Array:
        """ln pi_k + ln N(x_i | mu_k, C_k) (n, K) of rows X (n, d)."""
        ...

    def read(self, block: Block) -> EStep:
        """The log-likelihood of a block, and its moments weighted by responsibilities."""
        ...

    def stacked_e_step(self, block: Block, S: int) -> StackedEStep:
        """As `read`, the terms being those of S mixtures, one after the other."""
        ...

    def traces(self, scatter: Array) -> Array:
        """tr C_k⁻¹ S (K,) of a scatter S (d, d), or of one that is diagonal (d,)."""
        ...

    def distances(self, x: Array) -> Array:
        """(x − mu_k)ᵀ C_k⁻¹ (x − mu_k) (K,) of one point (d,)."""
        ...


@dataclass(frozen=True, eq=False)
class FullTerms:
    """Levels (K,), means (K, d), C and triangles R (K, d, d), and ln |C_k| (K,) of components with full covariances."""

    levels: Array
    means: Array
    covariances: Array
    roots: Array
    log_determinants: Array

    @classmethod
    def of(cls, weights: Array, means: Array, covariances: Array) -> Self:
        """From weights (K,), means (K, d) and covariances (K, d, d). Cost K d³.

        >>> terms = FullTerms.of(np.ones(1), np.zeros((1, 2)), np.diag([1.0, 4.0])[None])
        >>> terms.log_joint(np.array([[0.0, 2.0]])) + np.log(2.0 * np.pi) + np.log(2.0)
        array([[-0.5]])
        """
        L = np.linalg.cholesky(covariances)
        roots = np.tril(np.linalg.inv(L))
        log_determinants = 2.0 * np.log(np.einsum("kii->ki", L)).sum(axis=1)
        constants = _log_constants(weights, log_determinants, means.shape[1])
        return cls(constants, means, covariances, roots, log_determinants)

    @property
    def log_weights(self) -> Array:
        """ln pi_k (K,)."""
        return _log_weights(self)

    def log_joint(self, X: Array) -> Array:
        """ln pi_k + ln N(x_i | mu_k, C_k) (n, K)."""
        return full_log_joint(X, self.levels, self.means, self.roots)

    def read(self, block: Block) -> EStep:
        """The log-likelihood of a block, and its moments weighted by responsibilities. Cost 2 b K d² flops."""
        return _sum_over_pieces(self._read, block)

    def _read(self, rows: Array, weight: Array | None) -> EStep:
        found = full_pass(rows, weight, self.levels, self.means, self.roots)
        return EStep(found.loglik, Moments.about(self.means, found.weight, found.total, found.scatter))

    def stacked_e_step(self, block: Block, S: int) -> StackedEStep:
        """As `read`, the terms being those of S mixtures, one after the other."""
        return _sum_over_pieces(partial(self._read_each, S=S), block)

    def _read_each(self, rows: Array, weight: Array | None, S: int) -> StackedEStep:
        found = full_passes(rows, weight, self.levels, self.means, self.roots, S)
        return StackedEStep(found.loglik, Moments.about(self.means, found.weight, found.total, found.spread))

    def traces(self, scatter: Array) -> Array:
        """tr C_k⁻¹ S (K,)."""
        return np.asarray(np.einsum("kij,kil,jl->k", self.roots, self.roots, scatter, optimize=True))

    def distances(self, x: Array) -> Array:
        """Squared distances (K,) of x (d,)."""
        z = self.roots @ (x - self.means)[:, :, None]
        return np.asarray(np.sum(z * z, axis=(1, 2)))


@dataclass(frozen=True, eq=False)
class DiagonalTerms:
    """Levels (K,), means (K, d) and precisions 1/sigma² (K, d) of components with independent columns."""

    levels: Array
    means: Array
    precisions: Array
    log_determinants: Array

    @classmethod
    def of(cls, weights: Array, means: Array, variances: Array) -> Self:
        """From weights (K,), means (K, d) and variances (K, d)."""
        log_determinants = np.log(variances).sum(axis=1)
        return cls(_log_constants(weights, log_determinants, means.shape[1]), means, 1.0 / variances, log_determinants)

    @property
    def log_weights(self) -> Array:
        """ln pi_k (K,)."""
        return _log_weights(self)

    def log_joint(self, X: Array) -> Array:
        """ln pi_k + ln N(x_i | mu_k, C_k) (n, K)."""
        return diagonal_log_joint(X, self.levels, self.means, self.precisions)

    def read(self, block: Block) -> EStep:
        """The log-likelihood of a block, and its moments weighted by responsibilities. Cost 4 b K d flops."""
        return _sum_over_pieces(self._read, block)

    def _read(self, rows: Array, weight: Array | None) -> EStep:
        found = diagonal_pass(rows, weight, self.levels, self.means, self.precisions)
        return EStep(found.loglik, ColumnMoments.about(self.means, found.weight, found.total, found.square))

    def stacked_e_step(self, block: Block, S: int) -> StackedEStep:
        """As `read`, the terms being those of S mixtures, one after the other."""
        return _sum_over_pieces(partial(self._read_each, S=S), block)

    def _read_each(self, rows: Array, weight: Array | None, S: int) -> StackedEStep:
        found = diagonal_passes(rows, weight, self.levels, self.means, self.precisions, S)
        return StackedEStep(found.loglik, ColumnMoments.about(self.means, found.weight, found.total, found.spread))

    def traces(self, scatter: Array) -> Array:
        """tr C_k⁻¹ S (K,)."""
        return np.asarray(self.precisions @ (scatter if scatter.ndim == 1 else scatter.diagonal()))

    def distances(self, x: Array) -> Array:
        """Squared distances (K,) of x (d,)."""
        return np.asarray(np.sum(self.precisions * (x - self.means) ** 2, axis=1))


def _log_constants(weights: Array, log_determinants: Array, d: int) -> Array:
    with np.errstate(divide="ignore"):  # a component of weight 0 has no rows
        return np.asarray(np.log(weights) - 0.5 * (log_determinants + d * np.log(2.0 * np.pi)))


def _log_weights(terms: Terms) -> Array:
    return np.asarray(terms.levels + 0.5 * (terms.log_determinants + terms.means.shape[1] * np.log(2.0 * np.pi)))


def _sum_over_pieces(read: Callable[[Array, Array | None], EStepT], block: Block) -> EStepT:
    return reduce(add, (read(*piece) for piece in _pieces(block)))


def _pieces(block: Block) -> Iterator[tuple[Array, Array | None]]:
    """Rows as the kernels read them, with their weights: arrays as they lie, sparse rows dense a piece at a time."""
    rows, weight = block
    if not is_sparse(rows):
        yield to_numpy(rows), weight
        return
    step = max(1, DENSE_PIECE_BYTES // (8 * rows.shape[1]))
    for start in range(0, rows.shape[0], step):
        part = slice(start, start + step)
        yield dense(rows[part]), None if weight is None else weight[part]


# ---- from components ----------------------------------------------------------------------------------------


def stack_terms(weights: Array, components: Sequence[Density]) -> Terms | None:
    """The stacked terms of components that are all Gaussian with the same structure; None for any others.

    >>> from eigenlens.densities.gaussian import Gaussian
    >>> type(stack_terms(np.ones(1), [Gaussian(np.zeros(2), Spherical(1.0, 2))])).__name__
    'DiagonalTerms'
    """
    kinds = {_covariance_kind(component) for component in components}
    stack = TERMS_BY_COVARIANCE.get(kinds.pop()) if len(kinds) == 1 else None
    return None if stack is None else stack(weights, components)


def _covariance_kind(component: Any) -> type:
    return type(getattr(component, "covariance", None)) if not isinstance(component, LinearGaussian) else LinearGaussian


def _full_terms(weights: Array, components: Sequence[Any]) -> Terms:
    return FullTerms.of(weights, _means(components), np.stack([c.covariance.matrix() for c in components]))


def _diagonal_terms(weights: Array, components: Sequence[Any]) -> Terms:
    return DiagonalTerms.of(weights, _means(components), np.stack([c.covariance.variances for c in components]))


def _latent_terms(weights: Array, components: Sequence[Any]) -> Terms:
    return FullTerms.of(weights, _means(components), np.stack([c.covariance() for c in components]))


def _means(components: Sequence[Any]) -> Array:
    return np.stack([component.mean for component in components])


TERMS_BY_COVARIANCE: dict[type, Callable[[Array, Sequence[Density]], Terms]] = {
    Full: _full_terms,
    Diagonal: _diagonal_terms,
    Spherical: _diagonal_terms,
    LinearGaussian: _latent_terms,
}
"""How components are stacked, by the structure of their covariance."""

"""The terms of a mixture of Gaussians stacked in arrays, for passes over many rows: ln pi_k + ln N(x | mu_k, C_k).

A term is a constant less half a squared distance: c_k − ½ |R_k (x − mu_k)|² with R_kᵀ R_k = C_k⁻¹ and
c_k = ln pi_k − ½ ln |C_k| − ½ d ln 2π. R_k is a triangle, or a diagonal where columns are independent.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, ClassVar, Self

import numpy as np

from eigenlens.arrays import Array, dense, is_sparse, slices, to_numpy
from eigenlens.data.source import Block
from eigenlens.densities.base import Density
from eigenlens.densities.covariance import Diagonal, Full, Spherical
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.gpu.mixture import tensor_mixture_pass
from eigenlens.gpu.runtime import on_device
from eigenlens.native.mixture import Passes, mixture_log_joint, mixture_passes
from eigenlens.stats.moments import ColumnMoments, Moments

DENSE_PIECE_BYTES = 16 << 20
"""Sparse rows are made dense this much at a time."""


@dataclass(frozen=True, eq=False)
class EStep:
    """The result of the E-step for S mixtures of K components, which merges over blocks of rows.

    Attributes:
        logliks: (S,) log-likelihoods. moments: of S K groups, the rows weighted by their responsibilities.
    """

    logliks: Array
    moments: Moments | ColumnMoments

    def __add__(self, other: Self) -> Self:
        return type(self)(self.logliks + other.logliks, self.moments + other.moments)  # type: ignore[operator]


@dataclass(frozen=True, eq=False)
class Terms(ABC):
    """The K terms of a mixture, for n rows of d columns.

    Attributes:
        log_constants: c_k (K,). means: mu_k (K, d). log_determinants: ln |C_k| (K,).
        shapes: triangles R_k (K, d, d), or the inverse variances of independent columns (K, d).
    """

    log_constants: Array
    means: Array
    log_determinants: Array
    shapes: Array

    moments: ClassVar[type[Moments] | type[ColumnMoments]]
    """The moments that the E-step sums."""

    @property
    def log_weights(self) -> Array:
        """The logarithms ln pi_k (K,)."""
        logs = self.log_determinants + self.means.shape[1] * np.log(2.0 * np.pi)
        return np.asarray(self.log_constants + 0.5 * logs)

    def log_joint(self, X: Array) -> Array:
        """Return ln pi_k + ln N(x_i | mu_k, C_k) (n, K) of rows X (n, d)."""
        return mixture_log_joint(X, self.log_constants, self.means, self.shapes)

    def e_step(self, block: Block, S: int = 1) -> EStep:
        """Return the log-likelihoods of a block and its moments, the terms being those of S mixtures in turn.

        Cost 2 b K d² flops, or 4 b K d where columns are independent.
        """
        return reduce(add, (self._e_step(*piece, S) for piece in _pieces(block)))

    def _e_step(self, rows: Any, weight: Array | None, S: int) -> EStep:
        if on_device(rows):
            parts = zip(*(np.split(array, S) for array in (self.log_constants, self.means, self.shapes)), strict=True)
            found = Passes.joined(tensor_mixture_pass(rows, weight, *part) for part in parts)
        else:
            found = mixture_passes(rows, weight, self.log_constants, self.means, self.shapes, S)
        return EStep(found.loglik, self.moments.about(self.means, found.weight, found.total, found.spread))

    @abstractmethod
    def traces(self, scatter: Array) -> Array:
        """Return tr C_k⁻¹ S (K,) of a scatter S (d, d), or of one that is diagonal (d,)."""

    @abstractmethod
    def distances(self, x: Array) -> Array:
        """Return (x − mu_k)ᵀ C_k⁻¹ (x − mu_k) (K,) of one point (d,)."""


@dataclass(frozen=True, eq=False)
class FullTerms(Terms):
    """The terms of components with full covariances (K, d, d)."""

    covariances: Array

    moments = Moments

    @classmethod
    def of(cls, weights: Array, means: Array, covariances: Array) -> Self:
        """Return the terms of weights (K,), means (K, d) and covariances (K, d, d). Cost K d³.

        >>> terms = FullTerms.of(np.ones(1), np.zeros((1, 2)), np.diag([1.0, 4.0])[None])
        >>> terms.log_joint(np.array([[0.0, 2.0]])) + np.log(2.0 * np.pi) + np.log(2.0)
        array([[-0.5]])
        """
        L = np.linalg.cholesky(covariances)
        roots = np.linalg.inv(L) * _lower_ones(means.shape[1])
        log_determinants = 2.0 * np.log(np.einsum("kii->ki", L)).sum(axis=1)
        constants = _log_constants(weights, log_determinants, means.shape[1])
        return cls(constants, means, log_determinants, roots, covariances)

    def traces(self, scatter: Array) -> Array:
        """Return tr C_k⁻¹ S (K,)."""
        return np.asarray(np.einsum("kij,kil,jl->k", self.shapes, self.shapes, scatter, optimize=True))

    def distances(self, x: Array) -> Array:
        """Return the squared distances (K,) of x (d,)."""
        z = self.shapes @ (x - self.means)[:, :, None]
        return np.asarray(np.sum(z * z, axis=(1, 2)))


@dataclass(frozen=True, eq=False)
class DiagonalTerms(Terms):
    """The terms of components with independent columns."""

    moments = ColumnMoments

    @classmethod
    def of(cls, weights: Array, means: Array, variances: Array) -> Self:
        """Return the terms of weights (K,), means (K, d) and variances (K, d)."""
        log_determinants = np.log(variances).sum(axis=1)
        constants = _log_constants(weights, log_determinants, means.shape[1])
        return cls(constants, means, log_determinants, 1.0 / variances)

    def traces(self, scatter: Array) -> Array:
        """Return tr C_k⁻¹ S (K,)."""
        return np.asarray(self.shapes @ (scatter if scatter.ndim == 1 else scatter.diagonal()))

    def distances(self, x: Array) -> Array:
        """Return the squared distances (K,) of x (d,)."""
        return np.asarray(np.sum(self.shapes * (x - self.means) ** 2, axis=1))


@functools.cache
def _lower_ones(d: int) -> Array:
    """Return ones on and below the diagonal (d, d), read-only; a product with them is faster than np.tril."""
    ones = np.tri(d)
    ones.flags.writeable = False
    return ones


def _log_constants(weights: Array, log_determinants: Array, d: int) -> Array:
    with np.errstate(divide="ignore"):  # a component of weight 0 has no rows, and a constant of −∞
        return np.asarray(np.log(weights) - 0.5 * (log_determinants + d * np.log(2.0 * np.pi)))


def _pieces(block: Block) -> Iterator[tuple[Any, Array | None]]:
    """Yield rows in a form that kernels can read, with their weights: arrays uncopied, sparse rows dense in pieces.

    Tensors on a device stay there.
    """
    rows, weight = block
    if not is_sparse(rows):
        yield rows if on_device(rows) else to_numpy(rows), weight
        return
    step = max(1, DENSE_PIECE_BYTES // (8 * rows.shape[1]))
    for part in slices(rows.shape[0], step):
        yield dense(rows[part]), None if weight is None else weight[part]


# ---- from components ----------------------------------------------------------------------------------------


def stack_terms(weights: Array, components: Sequence[Density]) -> Terms | None:
    """Return the stacked terms of components that are all Gaussian with the same structure; None for any others.

    >>> from eigenlens.densities.gaussian import Gaussian
    >>> type(stack_terms(np.ones(1), [Gaussian(np.zeros(2), Spherical(1.0, 2))])).__name__
    'DiagonalTerms'
    """
    kinds = {_covariance_kind(component) for component in components}
    stack = TERMS_BY_COVARIANCE.get(kinds.pop()) if len(kinds) == 1 else None
    return None if stack is None else stack(weights, components)


def _covariance_kind(component: Any) -> type:
    return type(getattr(component, "covariance", None)) if not isinstance(component, LinearGaussian) else LinearGaussian


def covariance_matrix(component: Any) -> Array:
    """Return the covariance (d, d) of a component: a method of some densities, a value with a matrix of others."""
    covariance = component.covariance
    return np.asarray(covariance() if callable(covariance) else covariance.matrix())


def _stack_full(weights: Array, components: Sequence[Any]) -> Terms:
    return FullTerms.of(weights, _means(components), np.stack(list(map(covariance_matrix, components))))


def _stack_diagonal(weights: Array, components: Sequence[Any]) -> Terms:
    return DiagonalTerms.of(weights, _means(components), np.stack([c.covariance.variances for c in components]))


def _means(components: Sequence[Any]) -> Array:
    return np.stack([component.mean for component in components])


TERMS_BY_COVARIANCE: dict[type, Callable[[Array, Sequence[Density]], Terms]] = {
    Full: _stack_full,
    Diagonal: _stack_diagonal,
    Spherical: _stack_diagonal,
    LinearGaussian: _stack_full,
}
"""How components are stacked, by the class of their covariance."""

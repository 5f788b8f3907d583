"""The protocol of covariance structures, and the parts that structures share.

A structure ties down the covariances of the K components of a mixture. To add one, subclass `JointStructure` or
`IndependentStructure`, implement the rest of `CovarianceStructure`, and add a line to `COVARIANCE_STRUCTURES`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from eigenlens.arrays import Array
from eigenlens.densities.base import Density
from eigenlens.densities.mixture_terms import DiagonalTerms, FullTerms, Terms, covariance_matrix
from eigenlens.laws import Laws
from eigenlens.stats.moments import ColumnMoments, Moments

CovarianceArrays = Mapping[str, Array]
"""The arrays that covariances are made of, by the names in `parameters.PARAMETERS`."""


class CovarianceStructure(Protocol):
    """The map from the moments of K groups to K components, and between components and arrays."""

    laws: ClassVar[Laws]
    """The laws of the arrays: K components of d columns, and q latent dimensions."""

    @property
    def joint(self) -> bool:
        """Whether columns are correlated: moments have scatters then, and squares otherwise."""

    @property
    def moments(self) -> Any:
        """The class of the moments: `Moments`, or `ColumnMoments` where columns are independent."""

    def estimate(self, moments: Any, floor: Array, start: CovarianceArrays | None) -> CovarianceArrays:
        """Return the most likely covariances of groups with these moments, nowhere below the floor.

        From a `start`, covariances that are more likely than those of the start are enough. Moments and arrays are
        those of S mixtures, so all of them have a first axis (S, …).
        """

    def terms(self, weights: Array, means: Array, arrays: CovarianceArrays) -> Terms:
        """Return the terms of S mixtures, one after the other: weights (S, K), means (S, K, d), arrays (S, …)."""

    def components(self, means: Array, arrays: CovarianceArrays) -> tuple[Density, ...]:
        """Return the densities with means (K, d) and the covariances of the arrays."""

    def arrays(self, components: Sequence[Any]) -> CovarianceArrays:
        """Return the arrays from which `components` made these densities."""

    def covariances(self, components: Sequence[Any]) -> Array:
        """Return the covariances as users see them."""

    def covariance_shape(self, d: int, K: int) -> tuple[int, ...]:
        """Return the shape of `covariances`."""

    def from_covariances(self, covariances: Array) -> CovarianceArrays:
        """Return the arrays of covariances that the user gives in that shape."""

    def n_parameters(self, d: int, K: int) -> int:
        """Return the number of free parameters of the covariances."""

    def in_any_units(self) -> CovarianceStructure:
        """Return the structure of the same covariances once each column is multiplied by a number of its own."""

    def prior_rows(self, d: int, K: int) -> tuple[float, float]:
        """Return how many rows the conjugate prior of one component adds, and its share of the prior's scale."""

    def start_coordinates(self, covariance: Array) -> tuple[Array, ...]:
        """Return matrices A (d, d), or diagonals (d,): starts search the rows x A for centres, for each A in turn.

        A must make distances comparable where the structure does not depend on the units of the columns.
        """


class JointStructure:
    """The part that structures with correlated columns share."""

    laws: ClassVar[Laws] = {}
    joint: ClassVar[bool] = True
    moments: ClassVar[type[Moments]] = Moments

    def in_any_units(self) -> Any:
        """Return this structure: the covariances of columns in other units have it too."""
        return self

    def covariances(self, components: Sequence[Any]) -> Array:
        """Return the covariances (K, d, d)."""
        return np.stack([covariance_matrix(component) for component in components])

    def covariance_shape(self, d: int, K: int) -> tuple[int, ...]:
        """Return (K, d, d)."""
        return K, d, d

    def prior_rows(self, d: int, K: int) -> tuple[float, float]:
        """Return 2 d + 4 and 1: the prior of C_k has the exponent d + 2 + d + 1, and that of mu_k adds one."""
        return 2.0 * d + 4.0, 1.0


class IndependentStructure:
    """The part that structures with independent columns share."""

    laws: ClassVar[Laws] = {}
    joint: ClassVar[bool] = False
    moments: ClassVar[type[ColumnMoments]] = ColumnMoments

    def in_any_units(self) -> Any:
        """Return this structure: the covariances of columns in other units have it too."""
        return self


def positive_weight(moments: Moments | ColumnMoments) -> Array:
    """Return the weight of each group, and 1 for an empty one: its scatter is 0, and so is its covariance."""
    return np.asarray(np.where(moments.weight > 0.0, moments.weight, 1.0))


def precision_factors(covariances: Array, *, joint: bool) -> Array:
    """Return U = L⁻ᵀ (..., d, d), upper triangular, with L Lᵀ the covariance; 1 / √v of variances v where not `joint`.

    >>> precision_factors(np.array([[4.0, 2.0], [2.0, 2.0]]), joint=True)
    array([[ 0.5, -0.5], [ 0. ,  1. ]])
    """
    if not joint:
        return np.asarray(1.0 / np.sqrt(covariances))
    L = np.linalg.cholesky(covariances)
    return np.asarray(np.swapaxes(np.linalg.solve(L, np.eye(L.shape[-1])), -2, -1))


def precisions(covariances: Array, *, joint: bool) -> Array:
    """Return the inverses of covariances (..., d, d), or of variances where not `joint`.

    >>> precisions(np.array([[4.0, 2.0], [2.0, 2.0]]), joint=True)
    array([[ 0.5, -0.5], [-0.5,  1. ]])
    """
    U = precision_factors(covariances, joint=joint)
    return np.asarray(U @ np.swapaxes(U, -2, -1) if joint else U * U)


def full_terms(weights: Array, means: Array, covariances: Array) -> Terms:
    """Return the terms of S mixtures, one after the other, with covariances that broadcast to (S, K, d, d)."""
    d = means.shape[-1]
    shape = (*means.shape, d)
    each = covariances if covariances.shape == shape else np.broadcast_to(covariances, shape)
    return FullTerms.of(weights.ravel(), means.reshape(-1, d), each.reshape(-1, d, d))


def diagonal_terms(weights: Array, means: Array, variances: Array) -> Terms:
    """Return the terms of S mixtures, one after the other, with variances that broadcast to (S, K, d)."""
    d = means.shape[-1]
    each = np.broadcast_to(variances, means.shape)
    return DiagonalTerms.of(weights.ravel(), means.reshape(-1, d), each.reshape(-1, d))

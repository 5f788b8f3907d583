"""What a structure of covariances can do for a mixture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import Block
from eigenlens.densities.base import Density
from eigenlens.densities.mixture_terms import DiagonalTerms, FullTerms, Terms
from eigenlens.stats.moments import ColumnMoments, Moments

__all__ = ["CovarianceArrays", "CovarianceStructure", "diagonal_terms", "full_terms"]

CovarianceArrays = Mapping[str, Array]
"""The arrays that covariances are made of, by the names of `mixture_parts.PARTS`."""


class CovarianceStructure(Protocol):
    """From the moments of K groups to K components, and from components to arrays and back."""

    @property
    def joint(self) -> bool:
        """Whether columns vary together: moments hold scatters then, else squares."""
        ...

    def overall(self, block: Block) -> Any:
        """The moments of all rows that the structure needs: `Moments`, or `ColumnMoments` where columns are apart."""
        ...

    def grouped(self, block: Block, shares: Array) -> Moments | ColumnMoments:
        """The moments of K groups that have these shares (b, K) of the rows."""
        ...

    def spread(self, moments: Any, least: Array, start: CovarianceArrays | None) -> CovarianceArrays:
        """The likeliest covariances of groups with these moments that are nowhere below `least`.

        From a `start` it is enough to be likelier than that. Moments and arrays are those of S mixtures: all have a
        first axis (S, …) more than with one.
        """
        ...

    def terms(self, weights: Array, means: Array, spread: CovarianceArrays) -> Terms:
        """The terms of S mixtures, one after the other: weights (S, K), means (S, K, d) and arrays (S, …)."""
        ...

    def components(self, means: Array, spread: CovarianceArrays) -> tuple[Density, ...]:
        """The densities with these means (K, d) and covariances."""
        ...

    def arrays(self, components: Sequence[Any]) -> CovarianceArrays:
        """The arrays of which `components` were made."""
        ...

    def covariances(self, components: Sequence[Any]) -> Array:
        """The covariances as users see them."""
        ...

    def shape(self, d: int, K: int) -> tuple[int, ...]:
        """The shape of `covariances`."""
        ...

    def given(self, covariances: Array) -> CovarianceArrays:
        """The arrays of covariances as users give them, of that shape."""
        ...

    def parameters(self, d: int, K: int) -> int:
        """How many numbers of the covariances are free."""
        ...

    def pseudo(self, d: int, K: int) -> tuple[float, float]:
        """How many rows the conjugate prior of one component adds, and which share of its scale."""
        ...

    def views(self, covariance: Array) -> tuple[Array, ...]:
        """(d, d) or (d,), for a diagonal: starts are looked for among the rows x A, for one A after the other."""
        ...


def full_terms(weights: Array, means: Array, covariances: Array) -> Terms:
    """Of covariances that spread out to (S, K, d, d)."""
    d = means.shape[-1]
    spread = np.broadcast_to(covariances, (*means.shape, d))
    return FullTerms.of(weights.ravel(), means.reshape(-1, d), spread.reshape(-1, d, d))


def diagonal_terms(weights: Array, means: Array, variances: Array) -> Terms:
    """Of variances that spread out to (S, K, d)."""
    d = means.shape[-1]
    return DiagonalTerms.of(
        weights.ravel(), means.reshape(-1, d), np.broadcast_to(variances, means.shape).reshape(-1, d)
    )

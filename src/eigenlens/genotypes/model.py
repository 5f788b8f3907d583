"""Principal components of genotypes as a frozen model: variants with weights, and people with coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eigenlens.arrays import Array, read_only
from eigenlens.data.genotypes.variants import People, Variants
from eigenlens.genotypes.significance import SignificanceTable, component_significance
from eigenlens.laws import Laws


@dataclass(frozen=True, eq=False)
class GenotypeComponents:
    """Leading eigenpairs G u = λ u of the relationship matrix of n people at m variants.

    A person with standardised calls z (m,), 0 where missing, has the score z vᵀ / √m, with v = Zᵀu / √(m λ); that of a
    person of the fit is √λ u. Without missing calls the v are unit vectors, and all this is the PCA of Z / √m.

    Attributes:
        variants: (m,) those that were used. frequency: (m,) p of the counted allele.
        components: (k, m) v, whose entry of largest modulus is positive.
        values: (k,) λ. vectors: (n, k) u, of unit length. people: (n,) of the fit.
        total, squares: the sums of all eigenvalues, and of their squares.
        missing: the number of missing calls. pairwise: whether they are left out pair by pair, else at the mean.
    """

    laws: ClassVar[Laws] = {
        "frequency": "(m) positive, at most 1",
        "components": "(k, m) of a finite square",
        "values": "(k) not negative, descending",
        "vectors": "(n, k) orthonormal columns",
        "total": "positive",
        "squares": "positive",
        "missing": "not negative",
    }

    variants: Variants
    people: People
    frequency: Array
    components: Array
    values: Array
    vectors: Array
    total: float
    squares: float
    missing: int
    pairwise: bool

    def __post_init__(self) -> None:
        read_only(self, "frequency", "components", "values", "vectors")

    @property
    def scores(self) -> Array:
        """√λ u (n, k), the scores of the people of the fit."""
        return np.asarray(self.vectors * np.sqrt(self.values))

    @property
    def weights(self) -> Array:
        """√m v (m, k), the weights of variants as PLINK writes them: Zᵀu / √λ."""
        return np.asarray(self.components.T * np.sqrt(len(self.variants)))

    @property
    def significance(self) -> SignificanceTable:
        """The Tracy–Widom test of each component."""
        return component_significance(self.values, self.total, self.squares, len(self.people))

"""Sparse principal components as a frozen model: unit vectors with few entries, and what each adds in variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eigenlens.arrays import Array, read_only
from eigenlens.laws import SUM_TOLERANCE, Laws, Relations


@dataclass(frozen=True, eq=False)
class SparseComponents:
    """Sparse directions of a set of rows, whose scores are correlated, unlike those of principal components.

    A row x has the standardised form x̃ = (x − mean) / scale and the scores z = components x̃. Its projection onto the
    space of the components is mean + scale · Vᵀ(V Vᵀ)⁻¹ z, V the components.

    Attributes:
        mean, scale: (d,); scale is ones if the rows were not standardised.
        components: (k, d) of unit length, oriented by `linalg.spectrum.orient`.
        variances: (k,) the variance of the scores of each that those before do not explain.
        bounds: (k,) no component as sparse would have added more.
        total: the sum of the variances of all columns. weight: Σw, the number of rows behind it.

    >>> V = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]])
    >>> model = SparseComponents(np.zeros(3), np.ones(3), V, np.ones(2), np.ones(2), 3.0, 10.0)
    >>> model.reconstruct(model.project(np.array([[1.0, 2.0, 3.0]]))).round(9)
    array([[1., 2., 0.]])
    """

    laws: ClassVar[Laws] = {
        "mean": "(d) of a finite square",
        "scale": "(d) positive, of a finite square, 0 or of a finite inverse square",
        "components": "(k, d) unit rows",
        "variances": "(k) not negative",
        "bounds": "(k) not negative",
        "total": "not negative",
        "weight": "positive",
    }

    relations: ClassVar[Relations] = {
        "'variances' have a sum above 'total'": lambda model: (
            model.variances.sum() <= model.total * (1.0 + SUM_TOLERANCE)
        ),
        "'variances' are above 'bounds'": lambda model: model.variances <= model.bounds + SUM_TOLERANCE * model.total,
    }

    mean: Array
    scale: Array
    components: Array
    variances: Array
    bounds: Array
    total: float
    weight: float

    def __post_init__(self) -> None:
        read_only(self, "mean", "scale", "components", "variances", "bounds")

    @property
    def loadings(self) -> Array:
        """components.T * sqrt(variances), (d, k)."""
        return np.asarray(self.components.T * np.sqrt(self.variances))

    @property
    def counts(self) -> Array:
        """The number (k,) of columns that each component uses."""
        return np.asarray(np.count_nonzero(self.components, axis=1))

    @property
    def score_map(self) -> Array:
        """The matrix (d, k) from x − mean to scores."""
        return np.asarray((self.components / self.scale).T)

    @property
    def row_map(self) -> Array:
        """The matrix (k, d) from scores to x − mean, (V Vᵀ)⁻¹ V times the scale: the pseudo-inverse of V."""
        return np.asarray(np.linalg.pinv(self.components).T * self.scale)

    def project(self, X: Array) -> Array:
        """Return the scores (n, k) of the rows of X (n, d)."""
        return np.asarray((X - self.mean) @ self.score_map)

    def reconstruct(self, Z: Array) -> Array:
        """Return the rows (n, d) in the space of the components whose scores are Z (n, k)."""
        return np.asarray(Z @ self.row_map + self.mean)

    def squared_error(self, X: Array) -> Array:
        """Return ‖x̃ − its projection‖² for each row of X, (n,)."""
        rest = (X - self.reconstruct(self.project(X))) / self.scale
        return np.asarray(np.einsum("ij,ij->i", rest, rest))

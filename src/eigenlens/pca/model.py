"""Principal components as a frozen model: axes, variances, and the Gaussian density that they imply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from eigenlens.arrays import Array, read_only
from eigenlens.densities.base import Density
from eigenlens.densities.covariance import Full
from eigenlens.densities.gaussian import Gaussian
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.errors import OptionError
from eigenlens.laws import SUM_TOLERANCE, Laws, Relations
from eigenlens.linalg.operators import covariance_divisor


@dataclass(frozen=True, eq=False)
class PrincipalComponents:
    """The k leading principal axes of a set of rows.

    A row x has the standardised form x̃ = (x − mean) / scale, the scores z = components x̃, and its projection is
    mean + scale · componentsᵀ z. Covariances below are of x̃ unless stated otherwise.

    Attributes:
        mean: (d,).
        scale: (d,), ones if the rows were not standardised.
        components: (k, d), orthonormal rows, oriented by `linalg.spectrum.orient`.
        variances: (k,) leading eigenvalues, descending.
        total: the sum of all eigenvalues, the trace.
        column_variances: (d,) variances of the columns of x̃.
        weight: Σw, the number of rows behind it.
        center: whether the axes are those of the rows about their mean; if not, the mean is zero, and variances are
            second moments about zero.
        rotation: T (k, k) with columns of unit length, or None. Rotated components have the scores Tᵀ Λ^{-½} z, of unit
            variance; they span the same space, so the density and the projection of a row do not depend on T.

    >>> model = PrincipalComponents(np.zeros(2), np.ones(2), np.array([[0.6, 0.8]]), np.array([4.0]), 5.0,
    ...                             np.array([2.0, 3.0]), 10.0)
    >>> model.noise, model.project(np.array([[3.0, 4.0]]))
    (1.0, array([[5.]]))
    """

    laws: ClassVar[Laws] = {
        "mean": "(d) of a finite square",
        "scale": "(d) positive, of a finite square, 0 or of a finite inverse square",
        "components": "(k, d) orthonormal rows",
        "variances": "(k) not negative, descending",
        "column_variances": "(d) not negative",
        "total": "not negative",
        "weight": "above 1",
        "rotation": "(k, k) unit columns",
    }

    relations: ClassVar[Relations] = {
        "'column_variances' do not have the sum 'total'": lambda model: (
            abs(model.column_variances.sum() - model.total) <= SUM_TOLERANCE * model.total
        ),
        "'variances' have a sum above 'total'": lambda model: (
            model.variances.sum() <= model.total * (1.0 + SUM_TOLERANCE)
        ),
        "'components' explain more of a column than 'column_variances'": lambda model: (
            model.variances @ model.components**2 <= model.column_variances + SUM_TOLERANCE * model.total
        ),
        # By a factor of 2, since approximate solvers may miss some variance.
        "'variances' are below those that were discarded": lambda model: (
            not model.variances.size or model.noise <= 2.0 * model.variances[-1]
        ),
    }

    mean: Array
    scale: Array
    components: Array
    variances: Array
    total: float
    column_variances: Array
    weight: float
    center: bool = True
    rotation: Array | None = None

    def __post_init__(self) -> None:
        rotation = [] if self.rotation is None else ["rotation"]
        read_only(self, "mean", "scale", "components", "variances", "column_variances", *rotation)

    @property
    def divisor(self) -> float:
        """The divisor of the variances: Σw − 1, or Σw about zero, where no mean is estimated."""
        return covariance_divisor(self.weight, self.center)

    @property
    def singular_values(self) -> Array:
        """(k,) singular values of the rows x̃ (times √w), √(divisor · variances)."""
        return np.asarray(np.sqrt(np.maximum(self.variances, 0.0) * self.divisor))

    @property
    def noise(self) -> float:
        """The mean of the d − k discarded eigenvalues, (total − kept) / (d − k); 0 if none is discarded.

        The divisor is d − k also for n < d: eigenvalues that the sample made zero are discarded ones too
        (Tipping and Bishop 1999, eq. 8).
        """
        k, d = self.components.shape
        rest = self.total - float(self.variances.sum())
        return max(rest, 0.0) / (d - k) if d > k and rest > 1e-12 * self.total else 0.0

    @property
    def loadings(self) -> Array:
        """components.T * sqrt(variances), (d, k); times T⁻ᵀ if they are rotated."""
        L = np.asarray(self.components.T * np.sqrt(self.variances))
        return L if self.rotation is None else np.linalg.solve(self.rotation, L.T).T

    @property
    def component_correlations(self) -> Array:
        """The correlations (k, k) of the components: TᵀT, the identity unless a rotation is oblique."""
        return np.eye(self.variances.size) if self.rotation is None else np.asarray(self.rotation.T @ self.rotation)

    @property
    def explained(self) -> Array:
        """The variance (k,) of the rows that each component explains: the variances, or diag(Φ WᵀW) of rotated ones.

        Their sum does not depend on the rotation.
        """
        if self.rotation is None:
            return self.variances
        return np.asarray(np.sum(self.loadings * (self.loadings @ self.component_correlations), axis=0))

    @property
    def axes(self) -> Array:
        """The rows (k, d) whose transposes times √explained are the loadings: the components, or their rotations."""
        if self.rotation is None:
            return self.components
        root = np.sqrt(self.explained)
        return np.asarray((self.loadings / np.where(root > 0.0, root, 1.0)).T)

    @property
    def score_variances(self) -> Array:
        """The variances (k,) of `scores`: those of the components, or ones if they are rotated."""
        return self.variances if self.rotation is None else np.ones(self.variances.size)

    def scores(self, X: Array) -> Array:
        """Return the scores (n, k) of the rows of X (n, d) on the components as reported, rotated or not."""
        return np.asarray((X - self.mean) @ self.score_map())

    def unrotated(self) -> PrincipalComponents:
        """Return the principal components themselves."""
        return self if self.rotation is None else replace(self, rotation=None)

    def standardised(self, X: Array) -> Array:
        """Return x̃ for each row of X (n, d)."""
        return np.asarray((X - self.mean) / self.scale)

    def project(self, X: Array) -> Array:
        """Return the scores (n, k) of the rows of X (n, d)."""
        return np.asarray((X - self.mean) @ (self.components / self.scale).T)

    def reconstruct(self, Z: Array) -> Array:
        """Return the rows (n, d) whose scores are Z (n, k)."""
        return np.asarray(Z @ (self.components * self.scale) + self.mean)

    def score_map(self, whiten: bool | str = False) -> Array:
        """Return the matrix (d, k) from x − mean to scores, whitened if wanted: diag(scale)⁻¹ Vᵀ, times Λ^{-½}.

        "zca" turns whitened scores back to the axes of the columns, (d, d): Vᵀ Λ^{-½} V, which is S^{-½} if all
        components are kept. A component without variance has scores of 0. Rotated scores are whitened ones times T.
        """
        A = (self.components / self.scale).T
        if not whiten and self.rotation is None:
            return np.asarray(A)
        deviation = np.sqrt(self.variances)
        A = A * np.where(deviation > 0.0, 1.0 / np.where(deviation > 0.0, deviation, 1.0), 0.0)
        if self.rotation is not None:
            return np.asarray(A @ self.rotation)
        return np.asarray(A @ self.components if whiten == "zca" else A)

    def row_map(self, whiten: bool | str = False) -> Array:
        """Return the matrix (k, d) from scores to x − mean: the inverse of `score_map` within the components."""
        if self.rotation is not None:
            return np.asarray(self.loadings.T * self.scale)
        B = self.components * self.scale
        if not whiten:
            return np.asarray(B)
        B = B * np.sqrt(self.variances)[:, None]
        return np.asarray(self.components.T @ B if whiten == "zca" else B)

    def squared_error(self, X: Array) -> Array:
        """Return ‖x̃ − its projection‖² for each row of X, (n,).

        Over the fitted rows it sums to Σw − 1 (Σw about zero) times the discarded eigenvalues (Eckart and Young 1936).
        """
        rest = self.standardised(X)
        rest -= (rest @ self.components.T) @ self.components
        return np.asarray(np.einsum("ij,ij->i", rest, rest))

    def squared_errors(self, X: Array, counts: Sequence[int]) -> Array:
        """Return ‖x̃ − its projection onto the q leading axes‖² for each row of X and each q of counts, (n, m).

        The error with all axes, plus the squares of the scores left out: a sum, in which no digits cancel.

        >>> model = PrincipalComponents(np.zeros(2), np.ones(2), np.eye(2)[:1], np.array([4.0]), 5.0, np.ones(2), 9.0)
        >>> model.squared_errors(np.array([[3.0, 4.0]]), [0, 1])
        array([[25., 16.]])
        """
        squares = np.column_stack([self.project(X) ** 2, self.squared_error(X)])
        return np.asarray(np.cumsum(squares[:, ::-1], axis=1)[:, ::-1][:, list(counts)])

    def truncated(self, k: int) -> PrincipalComponents:
        """Return the model of the k leading principal components, not rotated; the others are discarded."""
        return replace(self, components=self.components[:k], variances=self.variances[:k], rotation=None)

    def covariance(self) -> Array:
        """Return the model's covariance of x (d, d): scale · (V (Λ − σ²I) Vᵀ + σ²I) · scale."""
        excess = np.maximum(self.variances - self.noise, 0.0)
        C = (self.components.T * excess) @ self.components + self.noise * np.eye(self.mean.size)
        return np.asarray(C * self.scale * self.scale[:, None])

    def precision(self) -> Array:
        """Return the inverse of `covariance` (d, d), from the axes."""
        self._require_density()
        rest = 1.0 / self.noise if self.noise else 0.0
        inner = (self.components.T * (1.0 / self.variances - rest)) @ self.components + rest * np.eye(self.mean.size)
        return np.asarray(inner / self.scale / self.scale[:, None])

    def log_density(self, X: Array) -> Array:
        """Return log N(x | mean, covariance) for each row of X (n, d), shape (n,).

        −½ (d log 2π + Σ log λ + (d − k) log σ² + Σ z²/λ + ‖rest‖²/σ²) − Σ log scale, in O(dk) per row.
        """
        self._require_density()
        k, d = self.components.shape
        Z = self.project(X)
        distance = (Z * Z / self.variances).sum(axis=1)
        log_det = np.log(self.variances).sum() + 2.0 * np.log(self.scale).sum()
        if self.noise:
            distance += self.squared_error(X) / self.noise
            log_det += (d - k) * np.log(self.noise)
        return np.asarray(-0.5 * (d * np.log(2.0 * np.pi) + log_det + distance))

    def observed_log_density(self, X: Array) -> Array:
        """Return the log density (n,) of the observed entries of each row; 0 for a row without any. NaN is missing."""
        incomplete = np.isnan(X).any(axis=1)
        found = self.log_density(X)
        if incomplete.any():
            joint: Density = self.gaussian() if self.noise else Gaussian(self.mean, Full(self.covariance()))
            found[incomplete] = joint.log_density(X[incomplete])
        return found

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Return n draws (n, d) from the Gaussian with this mean and covariance."""
        Z = rng.standard_normal((n, self.variances.size)) * np.sqrt(np.maximum(self.variances - self.noise, 0.0))
        noise = rng.standard_normal((n, self.mean.size)) * np.sqrt(self.noise)
        return np.asarray(self.mean + self.scale * (Z @ self.components + noise))

    def gaussian(self, floor: float = 0.0) -> LinearGaussian:
        """Return the same density as a linear-Gaussian model, W = scale · V (Λ − σ²)^½; it needs some noise.

        `floor` is the smallest noise, as a share of the mean variance: for models that keep all the variance. It stays
        below half the smallest variance kept, so that no component vanishes where columns differ much in scale.
        """
        smallest = float(self.variances[self.variances > 0.0].min(initial=self.total))
        noise = max(self.noise, min(floor * self.total / self.mean.size, 0.5 * smallest))
        if not noise:
            what = "the components keep all the variance, so no noise is left"
            raise OptionError(what, fix="choose fewer components")
        W = self.components.T * np.sqrt(np.maximum(self.variances - noise, 0.0))
        return LinearGaussian(self.mean, W * self.scale[:, None], noise * self.scale**2)

    def _require_density(self) -> None:
        k, d = self.components.shape
        rank = int(np.count_nonzero(self.variances > 1e-14 * self.total))
        if rank < k or (k < d and not self.noise):
            what = f"keeps all the variance, which fills only {rank} of {d} dimensions, so rows have no density"
            fix, settings = "choose {n_components} or fewer", {"n_components": max(1, rank - 1)}
            raise OptionError(what, argument="n_components", value=k, fix=fix, settings=settings)

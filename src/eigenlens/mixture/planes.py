"""Planes on which a mixture is drawn: of two columns, of most variance, and of the best separation of components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.memory import ArraySource
from eigenlens.densities.covariance import Full
from eigenlens.densities.gaussian import Gaussian
from eigenlens.densities.mixture import Mixture
from eigenlens.densities.mixture_terms import covariance_matrix
from eigenlens.linalg.spectrum import orient
from eigenlens.pca.fit import fit_pca


def ellipse_radius(level: Any) -> Any:
    """Return the r for which the ellipse xᵀ C⁻¹ x = r² has the mass `level` = 1 − exp(−r²/2) of a Gaussian (2,)."""
    return np.sqrt(-2.0 * np.log1p(-level))


@dataclass(frozen=True)
class Ellipse:
    """An ellipse: its centre, half axes a ≥ b, and the angle of the longer one, in radians from the x axis."""

    x: float
    y: float
    a: float
    b: float
    angle: float


@dataclass(frozen=True, eq=False)
class Plane:
    """A plane on which a mixture is shown.

    Attributes:
        centre: (d,). axes: (d, 2) what is multiplied by x − centre. points: (n, 2) the rows on it.
        ellipses: (K,), each with the share `level` of its component's mass. shares: (2,) per cent of the rows' variance
            along each axis, or of the separation of the components.
    """

    centre: Array
    axes: Array
    points: Array
    ellipses: tuple[Ellipse, ...]
    level: float
    shares: Array

    @property
    def separation_names(self) -> list[str]:
        """Return names of the axes of `separating_plane`, with their shares of the separation of the means."""
        return [
            f"D{j + 1} ({share:.0f}% of the separation)"
            if share > 0.0
            else f"D{j + 1} (means agree, covariances differ)"
            for j, share in enumerate(self.shares)
        ]

    def project(self, rows: Array) -> Array:
        """Return the coordinates (n, 2) of rows (n, d)."""
        return np.asarray((rows - self.centre) @ self.axes)


def ellipse(mean: Array, C: Array, level: float) -> Ellipse:
    """Return the ellipse (x − mean)ᵀ C⁻¹ (x − mean) = −2 ln(1 − level), which has the mass `level` of a Gaussian.

    >>> found = ellipse(np.zeros(2), np.diag([4.0, 1.0]), 0.5)
    >>> round(found.a, 3), round(found.b, 3), round(abs(found.angle), 3)
    (2.355, 1.177, 0.0)
    """
    values, vectors = np.linalg.eigh(C)
    r = ellipse_radius(level)
    b, a = (float(r * np.sqrt(max(0.0, value))) for value in values)
    u = vectors[:, 1]
    return Ellipse(float(mean[0]), float(mean[1]), a, b, float(np.arctan(u[1] / u[0]) if u[0] else np.pi / 2.0))


def principal_plane(mixture: Mixture, X: Array, weight: Array | None = None, level: float = 0.95) -> Plane:
    """Return the plane of the two directions along which rows (n, d) vary most; missing values are imputed.

    Cost: one PCA of the rows.
    """
    filled = mixture.impute(X) if np.isnan(X).any() else X
    if len(X) < 3:  # too few to vary: the plane of the mixture itself
        values, vectors = np.linalg.eigh(mixture.covariance())
        shares = 100.0 * values[:-3:-1] / (values.sum() or 1.0)
        return _plane(mixture, filled, mixture.mean, vectors[:, :-3:-1], level, shares)
    model = fit_pca(ArraySource(filled).weighted(weight), 2).model
    V = np.asarray(model.components.T, dtype=np.float64)
    shares = 100.0 * np.asarray(model.variances) / (model.total or 1.0)
    return _plane(mixture, filled, np.asarray(model.mean), V, level, shares)


def pair_plane(mixture: Mixture, X: Array, pair: tuple[int, int], level: float = 0.95) -> Plane:
    """Return the plane of two columns; a row with a missing value there has no place in it."""
    d = mixture.means.shape[1]
    axes = np.zeros((d, 2))
    axes[pair[0], 0] = axes[pair[1], 1] = 1.0
    found = _plane(mixture, X[:, :0], np.zeros(d), axes, level, np.full(2, np.nan))
    return Plane(found.centre, axes, X[:, list(pair)], found.ellipses, level, found.shares)


def _plane(mixture: Mixture, X: Array, centre: Array, V: Array, level: float, shares: Array) -> Plane:
    parts: list[Any] = list(mixture.components)
    ellipses = tuple(ellipse((part.mean - centre) @ V, V.T @ covariance_matrix(part) @ V, level) for part in parts)
    points = (X - centre) @ V if X.shape[1] else np.empty((len(X), 2))
    return Plane(centre, V, points, ellipses, level, shares)


def separating_plane(mixture: Mixture, X: Array, level: float = 0.95) -> Plane:
    """Return the plane of the two directions a along which the components lie farthest apart; missing values imputed.

    They maximise aᵀ B a / aᵀ W a, with B = Σ pi_k (m_k − m)(m_k − m)ᵀ and W = Σ pi_k C_k, and have unit variance within
    components (Fisher 1936). There are K − 1 of them: for two components, the second is the direction in which the
    covariances differ most (Cook and Weisberg 1991).

    >>> from eigenlens.densities.covariance import Diagonal
    >>> parts = [Gaussian(np.array([0.0, m]), Diagonal(np.array([100.0, 1.0]))) for m in (-2.0, 2.0)]
    >>> found = separating_plane(Mixture(np.full(2, 0.5), tuple(parts)), np.zeros((1, 2)))
    >>> np.abs(found.axes), [round(abs(each.x), 6) for each in found.ellipses]
    (array([[0. , 0.1], [1. , 0. ]]), [2.0, 2.0])
    """
    parts: list[Any] = list(mixture.components)
    covariances = np.stack([covariance_matrix(part) for part in parts])
    T = _whitening(np.tensordot(mixture.weights, covariances, 1))
    means = np.sqrt(mixture.weights)[:, None] * (mixture.means - mixture.mean) @ T
    _, s, Vt = np.linalg.svd(means)
    kept = int(np.clip(np.count_nonzero(s > 1e-9 * max(1.0, float(s[0]))), 0, 2))
    rest = Vt[kept:].T
    spread = np.stack([rest.T @ T.T @ C @ T @ rest for C in covariances]) - np.eye(rest.shape[1])
    others = rest @ np.linalg.eigh(np.tensordot(mixture.weights, spread @ spread, 1))[1][:, ::-1]
    # Rows that vary along a line have one direction, and no second coordinate.
    V = orient(T @ np.column_stack([Vt[:kept].T, others, np.zeros((len(Vt), 2))])[:, :2])
    squares = np.append(s[:kept] ** 2, [0.0, 0.0])[:2]
    filled = mixture.impute(X) if np.isnan(X).any() else X
    return _plane(mixture, filled, mixture.mean, V, level, 100.0 * squares / (float((s**2).sum()) or 1.0))


def mixture_on_plane(mixture: Mixture) -> tuple[Mixture, tuple[str, ...]]:
    """Return a mixture as it lies on its separating plane, and the names of the two axes.

    >>> from eigenlens.densities.covariance import Diagonal
    >>> parts = [Gaussian(np.array([0.0, m, 0.0]), Diagonal(np.array([100.0, 1.0, 9.0]))) for m in (-2.0, 2.0)]
    >>> found, names = mixture_on_plane(Mixture(np.full(2, 0.5), tuple(parts)))
    >>> np.abs(found.means[:, 0]), names[0]
    (array([2., 2.]), 'D1 (100% of the separation)')
    """
    plane = separating_plane(mixture, np.empty((0, mixture.means.shape[1])))
    V, parts = plane.axes, list[Any](mixture.components)
    flat = [Gaussian((part.mean - plane.centre) @ V, Full(V.T @ covariance_matrix(part) @ V)) for part in parts]
    return Mixture(mixture.weights, tuple(flat)), tuple(plane.separation_names)


def _whitening(C: Array) -> Array:
    """Return T (d, r) with Tᵀ C T = I, over the directions that vary."""
    values, vectors = np.linalg.eigh(C)
    seen = values > 1e-12 * values[-1]
    return np.asarray(vectors[:, seen] / np.sqrt(values[seen]))


def plane_correlations(mixture: Mixture, plane: Plane) -> Array:
    """Return the correlations (d, 2) of the columns with the axes of a plane, if rows are drawn from the mixture."""
    C = mixture.covariance()
    both = C @ plane.axes
    deviations = np.sqrt(np.outer(np.diag(C), np.diag(plane.axes.T @ both)))
    return np.asarray(both / np.where(deviations > 0.0, deviations, 1.0))

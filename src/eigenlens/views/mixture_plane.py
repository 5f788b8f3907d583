"""Mixtures in a plane: rows and ellipses on two directions, weighted bins, and how sure rows are of their component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.memory import ArraySource
from eigenlens.fitting.pca import fit_pca
from eigenlens.models.mixture import Mixture, matrix_of
from eigenlens.views.window import worth_showing

__all__ = ["Ellipse", "Plane", "ellipse", "pair_plane", "principal_plane", "unsure", "weighted_bins"]


@dataclass(frozen=True)
class Ellipse:
    """An ellipse: its middle, half axes a ≥ b, and the angle of the longer one, in radians from the x axis."""

    x: float
    y: float
    a: float
    b: float
    angle: float


@dataclass(frozen=True, eq=False)
class Plane:
    """A plane on which a mixture is looked at.

    Attributes:
        centre: (d,). axes: (d, 2) what is multiplied by x − centre. points: (n, 2) the rows on it.
        ellipses: (K,), of which each holds `level` of its component's mass. shares: (2,) per cent of the rows' variance
            along each axis.
    """

    centre: Array
    axes: Array
    points: Array
    ellipses: tuple[Ellipse, ...]
    level: float
    shares: Array

    def project(self, rows: Array) -> Array:
        """(n, 2) of rows (n, d)."""
        return np.asarray((rows - self.centre) @ self.axes)


def ellipse(mean: Array, C: Array, level: float) -> Ellipse:
    """The ellipse (x − mean)ᵀ C⁻¹ (x − mean) = −2 ln(1 − level), which holds `level` of a Gaussian in the plane.

    >>> found = ellipse(np.zeros(2), np.diag([4.0, 1.0]), 0.5)
    >>> round(found.a, 3), round(found.b, 3), round(abs(found.angle), 3)
    (2.355, 1.177, 0.0)
    """
    values, vectors = np.linalg.eigh(C)
    r = np.sqrt(-2.0 * np.log1p(-level))
    b, a = (float(r * np.sqrt(max(0.0, value))) for value in values)
    u = vectors[:, 1]
    return Ellipse(float(mean[0]), float(mean[1]), a, b, float(np.arctan(u[1] / u[0]) if u[0] else np.pi / 2.0))


def principal_plane(mixture: Mixture, X: Array, weight: Array | None = None, level: float = 0.95) -> Plane:
    """The two directions along which rows (n, d) vary most; entries that are missing are taken as what is expected.

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
    """The plane of two columns, of rows (n, d) as they are: one with a gap there has no place in it."""
    d = mixture.means.shape[1]
    axes = np.zeros((d, 2))
    axes[pair[0], 0] = axes[pair[1], 1] = 1.0
    found = _plane(mixture, X[:, :0], np.zeros(d), axes, level, np.full(2, np.nan))
    return Plane(found.centre, axes, X[:, list(pair)], found.ellipses, level, found.shares)


def _plane(mixture: Mixture, X: Array, centre: Array, V: Array, level: float, shares: Array) -> Plane:
    parts: list[Any] = list(mixture.components)
    ellipses = tuple(ellipse((part.mean - centre) @ V, V.T @ matrix_of(part) @ V, level) for part in parts)
    points = (X - centre) @ V if X.shape[1] else np.empty((len(X), 2))
    return Plane(centre, V, points, ellipses, level, shares)


def unsure(proba: Array) -> Array:
    """1 − P(likeliest component) (n,) of responsibilities (n, K)."""
    return np.asarray(np.maximum(0.0, 1.0 - proba.max(axis=1)))


def weighted_bins(x: Array, weight: Array | None, most: int = 120) -> tuple[Array, Array]:
    """Edges (m + 1,) and weights (m,) of a histogram of values (n,): a bin a value where few values are evenly spaced.

    Values that lie far off are counted in a bin without an end.

    >>> weighted_bins(np.array([1.0, 2.0, 3.0]), np.array([5.0, 1.0, 2.0]))
    (array([0.5, 1.5, 2.5, 3.5]), array([5., 1., 2.]))
    """
    seen = np.isfinite(x)
    x, w = x[seen], np.ones(int(seen.sum())) if weight is None else weight[seen]
    low, high = worth_showing(x, w)
    edges = _bin_edges(x[(x >= low) & (x <= high)], most)
    below, above = [-np.inf] * bool(x.min() < low), [np.inf] * bool(x.max() > high)
    edges = np.array([*below, *edges, *above])
    return edges, np.histogram(x, edges, weights=w)[0]


def _bin_edges(x: Array, most: int) -> Array:
    values = np.unique(x)
    gaps = np.diff(values)
    if 1 < values.size <= most and np.ptp(gaps) < 1e-6 * gaps.mean():
        return np.append(values - 0.5 * gaps.mean(), values[-1] + 0.5 * gaps.mean())
    count = int(np.clip(max(len(np.histogram_bin_edges(x, rule)) - 1 for rule in ("fd", "sqrt")), 5, most))
    return np.histogram_bin_edges(x, count)

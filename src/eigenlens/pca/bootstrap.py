"""Bootstrap intervals of principal components, whose axes are aligned by Procrustes rotation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.data.rows import MAX_ROWS
from eigenlens.errors import DataError
from eigenlens.linalg.procrustes import procrustes_rotation
from eigenlens.pca.model import PrincipalComponents


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Replicates of a fit on rows drawn with replacement.

    Attributes:
        variances: (r, k) eigenvalues. ratios: (r, k) their shares of the total.
        components: (r, k, d) axes, rotated onto the fitted ones.
        loadings: (r, d, k) axes times standard deviations, rotated likewise; those of a PCA with a rotation are rotated
            by it in each replicate, and in the order and with the signs that bring them closest to the fitted ones.
    """

    variances: Array
    ratios: Array
    components: Array
    loadings: Array

    def interval(self, what: str = "variances", level: float = 0.95) -> tuple[Array, Array]:
        """Return lower and upper percentile limits of one of the attributes."""
        checks.name("what", what, ["variances", "ratios", "components", "loadings"])
        tail = (1.0 - checks.real("level", level, 0.0, 1.0)) / 2.0
        low, high = np.quantile(getattr(self, what), [tail, 1.0 - tail], axis=0)
        return low, high


MAX_DRAWS = 1_000
"""Draws of a single row that are repeated; of two rows of equal weight, half of the draws are."""


def column_matches(loadings: Array, target: Array) -> Array:
    """Return the signed permutation P (k, k) for which the columns of loadings P (d, k) are closest to the target's.

    >>> column_matches(np.array([[0.0, -1.0], [2.0, 0.0]]), np.eye(2))
    array([[ 0.,  1.], [-1.,  0.]])
    """
    products = target.T @ (loadings / np.maximum(np.linalg.norm(loadings, axis=0), 1e-300))
    rows, columns = linear_sum_assignment(-np.abs(products))
    P = np.zeros(products.shape)
    P[columns, rows] = np.where(products[rows, columns] < 0.0, -1.0, 1.0)
    return P


def _draw(n: int, chance: Array, rng: np.random.Generator) -> Array:
    """Return how often each row is drawn; a draw of a single row has no variance and is repeated."""
    for _ in range(MAX_DRAWS if n > 1 else 0):
        counts = rng.multinomial(n, chance).astype(np.float64)
        if np.count_nonzero(counts) > 1:
            return counts
    what = f"gives draws of {n} of the rows of X, of which nearly all are one row, so they have no variance"
    fix = "give two rows or more weights of a similar size, which sum to the number of rows"
    raise DataError(what, argument="sample_weight", fix=fix)


def bootstrap_components(
    model: PrincipalComponents,
    refit: Callable[[Array], PrincipalComponents],
    weight: Array,
    n_replicates: int,
    rng: np.random.Generator,
) -> Bootstrap:
    """Refit `n_replicates` times with row weights drawn as counts: rows are weighted, never copied.

    `refit(counts)` fits the same rows with these weights; `weight` (n,) are the weights of the fit itself.
    Eigenvalues stay in their order; axes are rotated to the fitted ones, since neighbours with close eigenvalues swap
    and mix between replicates.
    """
    n = round(float(weight.sum()))
    if n > MAX_ROWS:
        what = f"has weights that sum to {n:.3g}, and a draw has at most {MAX_ROWS:.3g} rows"
        raise DataError(what, argument="sample_weight", fix="divide the weights by a constant")
    k, d = model.components.shape
    variances, ratios = np.empty((n_replicates, k)), np.empty((n_replicates, k))
    components, loadings = np.empty((n_replicates, k, d)), np.empty((n_replicates, d, k))
    for r in range(n_replicates):
        found = refit(_draw(n, weight / weight.sum(), rng))
        variances[r], ratios[r] = found.variances, found.variances / (found.total or 1.0)
        R = procrustes_rotation(found.components, model.components)
        P = R.T if model.rotation is None else column_matches(found.loadings, model.loadings)
        components[r], loadings[r] = R @ found.components, found.loadings @ P
    return Bootstrap(variances, ratios, components, loadings)

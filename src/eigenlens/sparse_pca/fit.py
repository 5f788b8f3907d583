"""Sparse principal components of a covariance matrix, one after the other.

Each component maximises what it adds to the variance explained by those before. That variance is of the part of its
scores that a regression on the scores before leaves, the adjusted variance of Zou, Hastie and Tibshirani (2006, J.
Comput. Graph. Statist. 15, 265), and it is vᵀA v with the Schur complement (Mackey 2008, NIPS 21)

    A ← A − A v vᵀA / (vᵀA v)

of the components before. A stays positive semidefinite, which Hotelling's deflation A − (vᵀA v) v vᵀ does not promise
for a v that is not an eigenvector, and what is explained once is not counted again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import Progress
from eigenlens.errors import OptionError
from eigenlens.linalg.operators import CentredRows
from eigenlens.linalg.spectrum import orient
from eigenlens.sparse_pca.best_support import SparseDirection, best_direction
from eigenlens.sparse_pca.model import SparseComponents

NOTHING_LEFT = 1e-10
"""Less than this share of the variance is nothing to find a component in."""

NODE_FLOPS, MAX_NODES = 4e8, 5000
"""Branch and bound opens so many nodes that their eigenvectors take about a second."""


def default_nodes(d: int) -> int:
    """Return the number of nodes that branch and bound may open among d columns.

    >>> default_nodes(13), default_nodes(100), default_nodes(2000)
    (5000, 400, 0)
    """
    return int(min(MAX_NODES, NODE_FLOPS / d**3))


def sparse_directions(
    S: Array, counts: Sequence[int], max_nodes: int | None = None, progress: Progress | None = None
) -> list[SparseDirection]:
    """Return sparse directions with at most `counts` (k,) entries each, of a covariance matrix S (d, d).

    >>> S = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 2.0], [0.0, 2.0, 3.0]])
    >>> [found.vector.round(3) for found in sparse_directions(S, [2, 1])]
    [array([0.   , 0.707, 0.707]), array([1., 0., 0.])]
    """
    A, found = np.array(S), list[SparseDirection]()
    nodes = default_nodes(len(S)) if max_nodes is None else max_nodes
    for i, s in enumerate(counts):
        if np.trace(A) <= NOTHING_LEFT * np.trace(S):
            what = f"is more than the {i} that explain all the variance"
            settings = {"n_components": max(i, 1)}
            raise OptionError(
                what, argument="n_components", value=len(counts), fix="use {n_components}", settings=settings
            )
        direction = best_direction(A, s, nodes)
        found.append(direction._replace(vector=orient(direction.vector[:, None])[:, 0]))
        product = A @ direction.vector
        A -= np.outer(product, product) / direction.variance
        A = 0.5 * (A + A.T)
        if progress is not None:
            progress(i + 1, len(counts), f"sparse components: {i + 1} of {len(counts)}")
    return found


def fit_sparse_components(
    rows: CentredRows, counts: Sequence[int], max_nodes: int | None, progress: Progress | None = None
) -> tuple[SparseComponents, list[SparseDirection]]:
    """Return the sparse components of the rows, with at most `counts` (k,) columns each, and the searches."""
    S = rows.dense()
    found = sparse_directions(S, counts, max_nodes, progress)
    scale = np.ones(rows.size) if rows.scale is None else rows.scale
    components, variances, bounds = (np.array(part) for part in list(zip(*found, strict=True))[:3])
    of_rows = float(np.trace(S)), float(rows.columns.weight)
    return SparseComponents(rows.columns.mean, scale, components, variances, bounds, *of_rows), found

"""Clusters within some of the rows: a Gaussian mixture of their scores, whose number of clusters BIC chooses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.categories import EncodedColumn
from eigenlens.errors import DataError
from eigenlens.tables.text_table import count_noun

MAX_CLUSTERS, ROWS_PER_CLUSTER = 6, 5
"""The largest number of clusters that is tried, and the smallest number of rows for each."""

MAX_TRIED = 1_000
"""The number of clusters is chosen with at most this many rows, drawn at random."""

TRIED_STRUCTURES = ("spherical", "full")
"""Covariances of the clusters that are tried: two extremes, so that the answer comes within seconds."""


class FoundClusters(NamedTuple):
    """The cluster (m,) of each row shown, -1 for rows outside, and a sentence on how they were found."""

    column: EncodedColumn
    words: str


def find_clusters(Z: Array, inside: Array) -> FoundClusters:
    """Return the clusters of some of the rows, by their scores Z (m, k); inside: (m,) which.

    The clusters are in the order of their sizes.

    >>> Z = np.concatenate([np.zeros((20, 1)), np.full((10, 1), 9.0)]) + 0.1 * np.sin(np.arange(30.0))[:, None]
    >>> find_clusters(Z, np.ones(30, dtype=bool)).column.values().tolist()[::10]
    ['cluster 1', 'cluster 1', 'cluster 2']
    """
    X = Z[inside]
    if len(X) < 2 * ROWS_PER_CLUSTER:
        raise DataError(
            f"clusters among {count_noun(len(X), 'row')} would be chance",
            fix=f"select at least {2 * ROWS_PER_CLUSTER} rows",
        )
    from eigenlens.mixture.select import select_mixture  # which the first page does not need

    rng = np.random.default_rng(0)
    tried = X if len(X) <= MAX_TRIED else X[rng.permutation(len(X))[:MAX_TRIED]]
    most = min(MAX_CLUSTERS, len(tried) // ROWS_PER_CLUSTER)
    found = select_mixture(tried, range(1, most + 1), TRIED_STRUCTURES, random_state=0)
    if found.best is None:
        raise DataError("no mixture could be fitted to the scores of these rows", fix="select other rows")
    labels = np.asarray(found.best.predict(X))
    sizes = np.bincount(labels)
    kept = [int(k) for k in np.argsort(-sizes, kind="stable") if sizes[k]]
    place = np.full(sizes.size, -1, dtype=np.int32)
    place[kept] = np.arange(len(kept))
    codes = np.full(len(Z), -1, dtype=np.int32)
    codes[inside] = place[labels]
    names = tuple(f"cluster {i + 1}" for i in range(len(kept)))
    listed = ", ".join(f"{sizes[k]:,}" for k in kept)
    what = f"{count_noun(len(X), 'row')} in {count_noun(Z.shape[1], 'score')}"
    words = (
        f"BIC finds no clusters among {what}: one Gaussian is best."
        if len(kept) == 1
        else f"BIC finds {len(kept)} clusters among {what}, of {listed} rows: Gaussians, {found.types[0]} covariances."
    )
    return FoundClusters(EncodedColumn(codes, names), words)

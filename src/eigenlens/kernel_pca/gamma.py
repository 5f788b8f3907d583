"""Rules that choose gamma, the width of a kernel, from the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eigenlens.arrays import Array, is_sparse, to_numpy
from eigenlens.data.coerce import as_source, require_finite
from eigenlens.data.rows import row_count, select_rows, take_rows
from eigenlens.data.source import Source, accumulate
from eigenlens.errors import DataError
from eigenlens.kernel_pca.kernels.distances import squared_distances
from eigenlens.stats.moments import ColumnMoments

MAX_MEDIAN_ROWS = 1000
"""Rows whose pairwise distances the median heuristic takes: half a million pairs."""

CONSTANT_ENTRIES = 1e-13
"""A standard deviation below this share of the largest mean is rounding."""

EQUAL_ROWS_DISTANCE = 1e-6
"""Rows nearer than this share of the largest distance are copies of each other, up to rounding."""


def resolve_gamma(
    gamma: float | str | None, X: Any, weight: Array | None = None, generator: np.random.Generator | None = None
) -> float:
    """Return gamma as a number: unchanged, or by a rule of `GAMMA_RULES` from X, rows (n, d) or a Source.

    >>> X = np.array([[0.0, 0.0], [2.0, 0.0]])
    >>> resolve_gamma(0.25, X), resolve_gamma(None, X), resolve_gamma("scale", X), resolve_gamma("median", X)
    (0.25, 0.5, 0.6667, 0.125)
    """
    if gamma is not None and not isinstance(gamma, str):
        return float(gamma)
    source = as_source(X)
    source = source if weight is None else source.weighted(weight)
    return GAMMA_RULES[gamma](source, np.random.default_rng(0) if generator is None else generator)


def scale_gamma(source: Source, generator: np.random.Generator) -> float:
    """Return gamma = 1 / (d v), with v the weighted variance of all n d entries about their common mean m, in one pass.

    v = Σ_j [ Σ_i w_i (x_ij − m_j)² / Σw + (m_j − m)² ] / d,    m = Σ_j m_j / d
    """
    with np.errstate(all="ignore"):
        columns = accumulate(source, ColumnMoments.of, label="column means")
        between = columns.mean - columns.mean.mean()
        variance = float(np.mean(columns.square / columns.weight + between**2))
    require_finite(source, variance)
    if variance <= (CONSTANT_ENTRIES * np.abs(columns.mean).max()) ** 2:
        raise _no_variance("scale", "every entry of X is the same number")
    return 1.0 / (source.n_features * variance)


def median_gamma(source: Source, generator: np.random.Generator) -> float:
    """Return gamma = 1 / (2 m²), m the median distance between two different rows: the width of exp(−|x−y|² / 2m²).

    The median is over the pairs of at most 1000 rows, sampled without replacement; pair (i, j) counts w_i w_j times,
    and pairs of equal rows are left out, so that many copies of one row cannot make the width zero.
    """
    rows, weight = _sample(source, generator)
    with np.errstate(all="ignore"):
        D = to_numpy(squared_distances(rows, rows))
    i, j = np.triu_indices(len(D), 1)
    distances, counts = np.sqrt(D[i, j]), weight[i] * weight[j]
    require_finite(source, distances)
    different = distances > EQUAL_ROWS_DISTANCE * distances.max(initial=0.0)
    if not different.any():
        raise _no_variance("median", "all sampled rows are equal")
    return 1.0 / (2.0 * _median(distances[different], counts[different]) ** 2)


GAMMA_RULES: dict[str | None, Callable[[Source, np.random.Generator], float]] = {
    None: lambda source, generator: 1.0 / source.n_features,
    "scale": scale_gamma,
    "median": median_gamma,
}
"""Rules for gamma: from a source and a generator to a number. None is 1/d."""


def nearest_and_mean(kernel: Any, rows: Any) -> tuple[float, float]:
    """Return the median, over rows (m, d), of the kernel value with the nearest other, and the mean over all pairs.

    Of a kernel with k(x, x) = 1. If the first is nearly 0, the kernel matrix is nearly the identity and every row is
    a component of its own; if the second is nearly 1, it is nearly constant.

    >>> from eigenlens.kernel_pca.kernels.rbf import RBF
    >>> nearest_and_mean(RBF(1.0), np.array([[0.0], [100.0], [200.0]]))
    (0.0, 0.0)
    """
    with np.errstate(all="ignore"):
        K = np.array(to_numpy(kernel(rows, rows)), dtype=np.float64)
    m = len(K)
    mean = float((K.sum() - np.trace(K)) / (m * (m - 1)))
    np.fill_diagonal(K, -np.inf)
    return float(np.median(K.max(axis=1))), mean


def some_rows(source: Source, most: int) -> Any:
    """Return at most this many rows of positive weight, in float64, at random from the first block of a source."""
    block = next(iter(source.blocks()))
    n = block.rows.shape[0]
    positive = np.arange(n) if block.weight is None else np.flatnonzero(block.weight > 0.0)
    drawn = np.random.default_rng(0).permutation(positive)[:most]
    rows = select_rows(block.rows, np.sort(drawn))
    return (rows if is_sparse(rows) else to_numpy(rows)).astype(np.float64)


def _no_variance(rule: str, reason: str) -> DataError:
    fix = "give gamma as a number, or rows that are not constant"
    return DataError(f"needs rows of X that differ, but {reason}", argument="gamma", value=rule, fix=fix)


def _median(values: Array, weight: Array) -> float:
    """Return the weighted median: the mean of the two middle values where half the weight lies between them."""
    order = np.argsort(values)
    values, below = values[order], np.cumsum(weight[order])
    half = below[-1] / 2.0
    first = int(np.searchsorted(below, half * (1.0 - 1e-12)))
    last = min(int(np.searchsorted(below, half * (1.0 + 1e-12), side="right")), len(values) - 1)
    return float(values[first] + values[last]) / 2.0


def _sample(source: Source, generator: np.random.Generator) -> tuple[Any, Array]:
    """Return at most `MAX_MEDIAN_ROWS` rows with positive weight, in float64, and their weights."""
    n = row_count(source)
    weight = np.ones(n) if source.weight is None else source.weight
    positive = np.flatnonzero(weight)
    size = min(MAX_MEDIAN_ROWS, positive.size)
    chosen = positive if size == positive.size else np.sort(generator.choice(positive, size, replace=False))
    rows = take_rows(source, chosen, n)
    return (rows if is_sparse(rows) else to_numpy(rows)).astype(np.float64), weight[chosen]

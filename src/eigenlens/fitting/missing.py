"""Maximum likelihood of x = W z + mu + e, e ~ N(0, Psi), from the entries that are observed.

Plain EM crawls here. With parameter expansion (Liu, Rubin and Wu 1998) the latent mean and covariance are estimated
too and absorbed into mu and W at each step, which takes a handful of steps where plain EM takes hundreds. What is left
of the crawl (noise variances near zero) is shortened by extrapolation (`fitting.ascent`).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from eigenlens.arrays import Array
from eigenlens.compiled import each_alone, one_thread, threads
from eigenlens.data.source import Block, Progress, Source, accumulate
from eigenlens.fitting.ascent import Chart, ascend
from eigenlens.fitting.latent import step_label
from eigenlens.fitting.observed_rows import Expected, Piece, expected_of, pieces_of
from eigenlens.linalg.packed import unpack
from eigenlens.models.linear_gaussian import LinearGaussian
from eigenlens.stats.observed import ObservedColumns

__all__ = ["NOISES", "MissingFit", "fit_observed"]

REMEMBERED_BYTES = 256 << 20
"""Rows in memory are prepared once if that takes no more than this."""

FARTHEST = 3.0
"""An extrapolated noise variance is at most exp(3) times, or a part of, that of the plain step."""


@dataclass(frozen=True, eq=False)
class MissingFit:
    """What EM found.

    Attributes:
        model: the best model so far. path: the log-likelihood of each model accepted, never decreasing.
        converged: whether the maximum is estimated to be nearer than tol an entry. gap: that estimate.
        weight: Σ w over the rows that have an observed entry, and rows: how many they are; the others say nothing.
        entries: Σ w over observed entries. interrupted: whether the user stopped it.
    """

    model: LinearGaussian
    path: tuple[float, ...]
    converged: bool
    weight: float
    rows: int = 0
    entries: float = 0.0
    gap: float = 0.0
    interrupted: bool = False


def fit_observed(
    source: Source,
    start: LinearGaussian,
    *,
    noise: str = "isotropic",
    tol: float = 1e-12,
    max_iter: int = 500,
    floor: float = 1e-12,
    observed: ObservedColumns | None = None,
    progress: Progress | None = None,
) -> MissingFit:
    """EM with parameter expansion from `start`, a pass a step, until the maximum is within tol an observed entry.

    Args:
        source: rows (n, d), NaN where missing; every column has an observed entry.
        start: the model to begin with.
        noise: "isotropic" (one variance) or "diagonal" (one a column).
        tol: of the log-likelihood still to gain, a weighted observed entry, by the ratio of the last gains.
        max_iter: the most passes.
        floor: the least noise variance, as a share of the columns' variance.
        observed: the moments of the observed entries, if they are known already.

    The likelihood never falls. Cost: 2 n d k² + n k³ / 2 flops a step, memory O(block + d k²).

    >>> from eigenlens.data.memory import ArraySource
    >>> X = np.array([[1.0, 2.1], [2.0, np.nan], [3.0, 5.9], [np.nan, 8.2], [5.0, 9.8]])
    >>> found = fit_observed(ArraySource(X), LinearGaussian(np.zeros(2), np.ones((2, 1)), 1.0))
    >>> found.converged, round(found.path[-1], 3)
    (True, -2.589)
    """
    if observed is None:
        observed = accumulate(source, ObservedColumns.of, progress, "observed entries")
    sweep = _sweep(source, observed.mean, start.loadings.shape[1], progress)
    step, entries = _Step(sweep, observed, NOISES[noise], floor), float(observed.weight.sum())

    def note(steps: int, loglik: float) -> None:
        if progress is not None:
            progress(step.rows, step.rows, step_label(steps, loglik))

    chart = _chart(observed, floor)
    found = ascend(step, start, chart, tol=tol * entries, max_iter=max_iter, note=note)
    gap = 0.0 if _without_noise(found.best, observed, floor) else found.gap / entries
    return MissingFit(found.best, found.path, gap <= tol, step.weight, step.rows, entries, gap, found.interrupted)


def _sweep(source: Source, centre: Array, k: int, progress: Progress | None) -> Callable[[LinearGaussian], Expected]:
    """A function from a model to the expected statistics; small rows in memory are prepared once for all passes."""
    if source.in_memory and source.n_rows is not None and 16 * source.n_rows * source.n_features <= REMEMBERED_BYTES:
        pieces = [piece for block in source.blocks() for piece in pieces_of(block, centre, k)]
        return partial(_expect_pieces, pieces, centre=centre)
    return lambda model: accumulate(source, partial(_expect, model=model, centre=centre), progress, "EM")


def _expect_pieces(pieces: list[Piece], model: LinearGaussian, centre: Array) -> Expected:
    """The pieces shared out over threads and added in their order; BLAS has too little to do for its own threads."""
    workers = min(threads(), len(pieces))
    with one_thread(), each_alone(workers) as each:
        parts: Iterable[Expected] = each(partial(expected_of, model=model, centre=centre), pieces)
        return functools.reduce(operator.add, parts)


def _expect(block: Block, model: LinearGaussian, centre: Array) -> Expected:
    pieces = pieces_of(block, centre, model.loadings.shape[1])
    return functools.reduce(operator.add, (expected_of(piece, model, centre) for piece in pieces))


@dataclass(eq=False)
class _Step:
    """One EM step: the log-likelihood of a model, and a model that is better."""

    sweep: Callable[[LinearGaussian], Expected]
    observed: ObservedColumns
    pool: Callable[[Array, ObservedColumns, float], float | Array]
    floor: float
    weight: float = 0.0
    rows: int = 0

    def __call__(self, model: LinearGaussian) -> tuple[float, LinearGaussian]:
        expected = self.sweep(model)
        self.weight, self.rows = expected.weight, expected.rows
        return expected.loglik(model, self.observed), self._maximised(expected)

    def _maximised(self, expected: Expected) -> LinearGaussian:
        """W, mu and Psi from one least-squares problem a column, then the latent space whitened again."""
        observed, q = self.observed, len(expected.right)
        k = q - 1
        theta = np.linalg.solve(unpack(expected.normal, q), expected.right.T[:, :, None])[:, :, 0]
        rest = observed.square - np.einsum("jq,qj->j", theta, expected.right)
        latent = unpack(expected.latent[:, None], q)[0] / expected.weight
        m = latent[:k, k]
        root = np.linalg.cholesky(latent[:k, :k] - np.outer(m, m))
        mean = observed.mean + theta[:, k] + theta[:, :k] @ m
        return LinearGaussian(mean, theta[:, :k] @ root, self.pool(rest, observed, self.floor))


def _one_variance(rest: Array, observed: ObservedColumns, floor: float) -> float:
    entries = float(observed.weight.sum())
    return max(float(rest.sum()), floor * float(observed.square.sum())) / entries


def _variance_each(rest: Array, observed: ObservedColumns, floor: float) -> Array:
    return np.asarray(np.maximum(rest, floor * observed.square) / observed.weight)


NOISES: dict[str, Callable[[Array, ObservedColumns, float], float | Array]] = {
    "isotropic": _one_variance,
    "diagonal": _variance_each,
}
"""Noise structures: (Σ w E[e²] of each column (d,), the observed moments, the floor) → psi."""


def _without_noise(model: LinearGaussian, observed: ObservedColumns, floor: float) -> bool:
    """Whether all noise is at its floor: the rows fit exactly, and no step leads anywhere."""
    return bool(np.all(model.noise <= 1.01 * floor * _spread(observed, np.ndim(model.noise) > 0)))


def _spread(observed: ObservedColumns, each: bool) -> Array:
    """The variance of each column (d,), or the mean over all entries."""
    return np.asarray(observed.square / observed.weight if each else observed.square.sum() / observed.weight.sum())


def _chart(observed: ObservedColumns, floor: float) -> Chart[LinearGaussian]:
    """mu and W in standard deviations of the columns, and log psi, which stays near the step's and above its floor."""
    variance = observed.square / observed.weight
    s = np.sqrt(np.where(variance > 0.0, variance, 1.0))

    def vector(model: LinearGaussian) -> Array:
        W, psi = model.loadings / s[:, None], np.atleast_1d(model.noise)
        return np.concatenate([model.mean / s, W.ravel(), np.log(psi)])

    def model(v: Array, like: LinearGaussian) -> LinearGaussian:
        d, k = like.loadings.shape
        change = np.clip(v[d + d * k :] - np.log(like.noise), -FARTHEST, FARTHEST)
        least = floor * _spread(observed, np.ndim(like.noise) > 0)
        psi = np.maximum(np.atleast_1d(like.noise) * np.exp(change), least)
        noise = psi if np.ndim(like.noise) else float(psi[0])
        return LinearGaussian(v[:d] * s, v[d : d + d * k].reshape(d, k) * s[:, None], noise)

    return Chart(vector, model)

"""Maximum likelihood of x = W z + mu + e, e ~ N(0, Psi), from the entries that are observed.

Plain EM crawls here. With parameter expansion (Liu, Rubin and Wu 1998) the latent mean and covariance are estimated
too and absorbed into mu and W at each step, which takes a handful of steps where plain EM takes hundreds. Where it
still crawls (noise variances near zero, few rows) Newton's method ends the climb (`fitting.missing_newton`), and its
estimate of what is left to gain, not the size of the last step, decides whether that is the top.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from eigenlens.data.source import Progress, Source, accumulate
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.missing.em import Climb, best_climb
from eigenlens.missing.passes import Passes
from eigenlens.missing.result import step_label
from eigenlens.missing.units import NOISES, Noise, Units, stirred
from eigenlens.stats.moments import ColumnMoments

__all__ = ["MissingFit", "fit_best", "fit_observed", "further_starts", "random_starts"]

ROUGH = 1e-5
"""Of several starts each is climbed until this much an entry seems to be left to gain."""

SEEN = 64.0 * float(np.finfo(np.float64).eps)
"""A share of the log-likelihood below which gains cannot be told from rounding."""


FEW, LITTLE, FURTHER = 40, 1e7, 4
"""Up to so many columns, and so many products a pass, so many more starts take milliseconds."""


@dataclass(frozen=True, eq=False)
class MissingFit:
    """What was found.

    Attributes:
        model: the best model so far. path: the log-likelihood of each model accepted, never decreasing.
        converged: whether the maximum is estimated to be nearer than tol an entry, or than rounding shows.
        gap: that estimate. ended: by what: "converged", "rounding", "max_iter" or "interrupted".
        weight: Σ w over the rows that have an observed entry, and rows: how many they are; the others say nothing.
        entries: Σ w over observed entries. interrupted: whether the user stopped it. passes: over the rows.
    """

    model: LinearGaussian
    path: tuple[float, ...]
    converged: bool
    weight: float
    rows: int = 0
    entries: float = 0.0
    gap: float = 0.0
    interrupted: bool = False
    ended: str = "converged"
    passes: int = 0


def fit_observed(
    source: Source,
    start: LinearGaussian,
    *,
    noise: str = "isotropic",
    tol: float = 1e-12,
    max_iter: int = 500,
    floor: float = 1e-12,
    observed: ColumnMoments | None = None,
    progress: Progress | None = None,
) -> MissingFit:
    """EM with parameter expansion from `start`, then Newton, until the maximum is within tol an observed entry.

    Args:
        source: rows (n, d), NaN where missing; every column has an observed entry.
        start: the model to begin with.
        noise: "isotropic" (one variance) or "diagonal" (one a column).
        tol: of the log-likelihood still to gain, a weighted observed entry.
        max_iter: the most steps: a pass each, and one for each product with the Hessian in Newton's.
        floor: the least noise variance, as a share of the columns' variance.
        observed: the moments of the observed entries, if they are known already.

    The likelihood never falls. Cost: 3 n d k² + n k³ / 2 flops a pass, memory O(block + d k²).

    >>> from eigenlens.data.memory import ArraySource
    >>> X = np.array([[1.0, 2.1], [2.0, np.nan], [3.0, 5.9], [np.nan, 8.2], [5.0, 9.8]])
    >>> found = fit_observed(ArraySource(X), LinearGaussian(np.zeros(2), np.ones((2, 1)), 1.0))
    >>> found.converged, round(found.path[-1], 3)
    (True, -2.589)
    """
    return fit_best(
        source, [start], noise=noise, tol=tol, max_iter=max_iter, floor=floor, observed=observed, progress=progress
    )


def fit_best(
    source: Source,
    starts: Sequence[LinearGaussian],
    others: Sequence[LinearGaussian] = (),
    *,
    noise: str = "isotropic",
    tol: float = 1e-12,
    max_iter: int = 500,
    floor: float = 1e-12,
    observed: ColumnMoments | None = None,
    progress: Progress | None = None,
) -> MissingFit:
    """The highest of the maxima that several starts lead to; arguments as of `fit_observed`.

    The likelihood can have several. Each start is climbed roughly, and only what may still be the highest to its end.
    The `others` are tried where the starts do not agree, or lead to noise variances near 0.
    """
    if observed is None:
        observed = accumulate(source, ColumnMoments.of_observed, progress, "observed entries")
    units = Units.of(observed)
    structure, entries = NOISES[noise](observed, units, floor), float(observed.weight.sum())
    passes = Passes(source, units, starts[0].loadings.shape[1], progress)
    climb = Climb(passes, structure, max_iter, partial(_note, progress, units, max_iter))
    rng = np.random.default_rng(0)
    inside, more = [[stirred(units.inside(start), rng) for start in each] for each in (starts, others)]
    found = best_climb(climb, inside, more, rough=max(ROUGH, tol) * entries, tol=tol * entries)
    path = tuple(value - units.log_scale for value in found.path)
    gap = 0.0 if _without_noise(found.best, structure) else found.remaining_gain / entries
    converged = not found.interrupted and gap <= max(tol, SEEN * abs(path[-1]) / entries)
    return MissingFit(
        units.outside(found.best, structure), path, converged, climb.weight, climb.rows, entries, gap,
        found.interrupted, "converged" if converged and gap <= tol else found.ended, passes.count,
    )  # fmt: skip


def further_starts(observed: ColumnMoments, k: int) -> int:
    """How many more starts cost little: with gaps the likelihood can have several maxima."""
    few = observed.mean.size <= FEW and float(observed.weight.sum()) * k * k <= LITTLE
    return FURTHER if few else 0


def random_starts(observed: ColumnMoments, k: int) -> list[LinearGaussian]:
    """More models with one noise variance to start from, where a climb takes milliseconds."""
    variances, rng = observed.square / observed.weight, np.random.default_rng(0)
    spread, noise = 0.7 * np.sqrt(variances)[:, None], float(np.median(variances)) or float(variances.mean())
    draws = [rng.standard_normal((variances.size, k)) for _ in range(further_starts(observed, k))]
    return [LinearGaussian(observed.mean, spread * Z, noise) for Z in draws if noise > 0.0]


def _note(progress: Progress | None, units: Units, most: int, start: int, steps: int, value: float) -> None:
    """`start` is 0 where there is but one; else it is named, since each counts its own steps."""
    if progress is not None:
        label = step_label(steps, value - units.log_scale)
        progress(steps, most, label.replace("EM:", f"EM: start {start},", 1) if start else label)


def _without_noise(model: LinearGaussian, noise: Noise) -> bool:
    """Whether all noise is at its floor: the rows fit exactly, and no step leads anywhere."""
    return bool(np.all(noise.phi(np.asarray(model.noise)) <= noise.least + 0.01))

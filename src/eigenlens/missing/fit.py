"""Maximum likelihood for x = W z + mu + e, e ~ N(0, Psi), from the observed entries of incomplete rows.

Plain EM is slow here. With parameter expansion (Liu, Rubin and Wu 1998) the latent mean and covariance are estimated
too and absorbed into mu and W at each step, which takes a handful of steps where plain EM takes hundreds. Where it is
still slow (noise variances near zero, few rows) Newton's method takes over (`missing.newton`), and its estimate of the
log-likelihood still to be gained, not the size of the last step, decides whether the maximum has been reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from eigenlens.data.source import Progress, Source, accumulate
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.missing.em import LikelihoodOptimiser, optimise_from_starts
from eigenlens.missing.expectation import IncompleteRowPasses
from eigenlens.missing.result import INCOMPLETE_ROWS, LatentFit, step_label
from eigenlens.missing.units import NOISE_STRUCTURES, NoiseStructure, Units, perturb_loadings
from eigenlens.stats.moments import ColumnMoments

SCREENING_TOL = 1e-5
"""Each of several starts is first optimised until this log-likelihood per entry seems to remain to be gained."""

RELATIVE_ROUNDING = 64.0 * float(np.finfo(np.float64).eps)
"""Gains below this share of the log-likelihood cannot be distinguished from rounding."""

MAX_COLUMNS, MAX_PRODUCTS, MORE_STARTS = 40, 1e7, 4
"""Up to this many columns and products per pass, this many further starts take milliseconds."""


def fit_incomplete_rows(
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
) -> LatentFit:
    """Maximise the likelihood of the observed entries by EM with parameter expansion, then Newton's method.

    The likelihood can have several maxima: the highest that the starts lead to is returned. Each start is optimised
    roughly, and only those that may still be the highest to the end. The likelihood never falls.

    Args:
        source: rows (n, d), NaN where missing; every column has an observed entry.
        starts: models to start from. others: more of them, tried where the starts do not agree, or lead to noise
            variances near 0.
        noise: a key of `NOISE_STRUCTURES`: "isotropic" (one variance) or "diagonal" (one per column).
        tol: the log-likelihood per weighted observed entry that may remain to be gained.
        max_iter: the largest number of steps per start: one pass each, and one more for each product with the Hessian.
        floor: the smallest noise variance, as a share of the columns' variance. Without one the likelihood may be
            unbounded.
        observed: the moments of the observed entries, if they are known already.

    Cost: 3 n d k² + n k³ / 2 flops per pass, memory O(block + d k²).

    >>> from eigenlens.data.memory import ArraySource
    >>> X = np.array([[1.0, 2.1], [2.0, np.nan], [3.0, 5.9], [np.nan, 8.2], [5.0, 9.8]])
    >>> found = fit_incomplete_rows(ArraySource(X), [LinearGaussian(np.zeros(2), np.ones((2, 1)), 1.0)])
    >>> found.converged, round(found.path[-1], 3)
    (True, -2.589)
    """
    if observed is None:
        observed = accumulate(source, ColumnMoments.of_observed, progress, "observed entries")
    units = Units.of(observed)
    structure, entries = NOISE_STRUCTURES[noise](observed, units, floor), float(observed.weight.sum())
    passes = IncompleteRowPasses(source, units, starts[0].loadings.shape[1], progress)
    optimiser = LikelihoodOptimiser(passes, structure, max_iter, partial(_report_step, progress, units, max_iter))
    rng = np.random.default_rng(0)
    first, more = [[perturb_loadings(units.scale_model(start), rng) for start in each] for each in (starts, others)]
    screening_tol = max(SCREENING_TOL, tol) * entries
    found = optimise_from_starts(optimiser, first, more, screening_tol=screening_tol, tol=tol * entries)
    path = tuple(value - units.log_scale for value in found.path)
    remaining = 0.0 if _has_no_noise(found.best, structure) else found.remaining_gain / entries
    converged = not found.interrupted and remaining <= max(tol, RELATIVE_ROUNDING * abs(path[-1]) / entries)
    ended = "converged" if converged and remaining <= tol else found.ended
    return LatentFit(
        units.unscale_model(found.best, structure), path[-1], path, len(path), converged, remaining, optimiser.weight,
        optimiser.rows, None, INCOMPLETE_ROWS, "em", found.interrupted, passes.count, ended=ended,
    )  # fmt: skip


def more_start_count(observed: ColumnMoments, k: int) -> int:
    """Return the number of further starts that cost little: with missing values there can be several maxima."""
    products = float(observed.weight.sum()) * k * k
    return MORE_STARTS if observed.mean.size <= MAX_COLUMNS and products <= MAX_PRODUCTS else 0


def random_starts(observed: ColumnMoments, k: int) -> list[LinearGaussian]:
    """Draw further starting models with one noise variance, where a fit takes milliseconds."""
    variances, rng = observed.square / observed.weight, np.random.default_rng(0)
    spread, noise = 0.7 * np.sqrt(variances)[:, None], float(np.median(variances)) or float(variances.mean())
    draws = [rng.standard_normal((variances.size, k)) for _ in range(more_start_count(observed, k))]
    return [LinearGaussian(observed.mean, spread * Z, noise) for Z in draws if noise > 0.0]


def _report_step(progress: Progress | None, units: Units, max_iter: int, start: int, steps: int, value: float) -> None:
    """Report a step; a `start` other than 0 is named, since each counts its own steps."""
    if progress is not None:
        label = step_label(steps, value - units.log_scale)
        progress(steps, max_iter, label.replace("EM:", f"EM: start {start},", 1) if start else label)


def _has_no_noise(model: LinearGaussian, noise: NoiseStructure) -> bool:
    """Return whether all noise is at its floor: the rows are fitted exactly, and there is nothing left to gain."""
    return bool(np.all(noise.phi(np.asarray(model.noise)) <= noise.min_phi + 0.01))

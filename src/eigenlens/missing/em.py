"""Maximisation of observed-data likelihoods: EM, then Newton's method, from one start or the best of several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from eigenlens.arrays import Array
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.linalg.packed import unpack_symmetric
from eigenlens.missing.curvature import join_parameters, partial_derivatives, split_parameters
from eigenlens.missing.expectation import ExpectedStatistics, IncompleteRowPasses
from eigenlens.missing.newton import Iterate, StoppingRule, evaluate_model, run_newton
from eigenlens.missing.units import NoiseStructure
from eigenlens.optim.em import EMResult, ParameterMap, run_em

MAX_LOG_NOISE_EXTRAPOLATION = 3.0
"""An extrapolated noise variance is within a factor exp(±3) of that of the plain EM step."""

MAX_EM_STEPS = 25
"""EM steps before Newton's method takes over."""

EM_TOL_SHARE = 0.01
"""EM goes on to this share of tol: a step of it costs less than the product with the Hessian that it may save."""

DOUBTFUL_NOISE_SHARE = 0.01
"""With a noise variance below this share of its column's variance there may well be a higher maximum."""

SAME_COVARIANCE_SHARE = 0.02
"""Two ends whose covariances differ by no more than this share are the same maximum."""

MAX_STEPS_BEFORE_STAGES = 75
"""After this many steps an optimisation that meets the floor under the noise is repeated with falling floors."""

STAGE_TOL = 0.02
"""The log-likelihood that may remain to be gained at each floor but the last."""

Result = EMResult[LinearGaussian]
NumberedResults = list[tuple[int, Result]]
Models = list[LinearGaussian]
NumberedModels = list[tuple[int, LinearGaussian]]


class LikelihoodOptimiser:
    """Maximises an observed-data likelihood from a starting model.

    Where columns can be fitted exactly, as with few rows, the iteration may move slowly along narrow ridges from one
    set of noise variances at their floor to the next. It is then repeated with a high floor that is lowered in stages.

    `note` is called with the number of the start, the steps taken from it, and the log-likelihood. `weight` and `rows`
    are Σ w and the number of rows with an observed entry.
    """

    def __init__(
        self, passes: IncompleteRowPasses, noise: NoiseStructure, max_iter: int, note: Callable[[int, int, float], None]
    ) -> None:
        self._passes, self._noise, self._max_iter, self._note = passes, noise, max_iter, note
        self._last: Iterate | None = None
        self.weight, self.rows = 0.0, 0

    def optimise(self, start: LinearGaussian, tol: float, number: int = 0, *, checks_saddle: bool = True) -> Result:
        """Return the maximum reached from a start, of which no more than tol is left to gain."""
        stop = StoppingRule(
            tol, min(MAX_STEPS_BEFORE_STAGES, self._max_iter), partial(self._note, number), checks_saddle
        )
        found, stages = self._run(start, stop, (self._noise,)), self._noise.stages()
        left = self._max_iter - len(found.path)
        if found.ended != "max_iter" or left == 0:
            return found
        try:
            if len(stages) > 1 and _is_at_floor(found.best, self._noise):
                again = self._run(start, replace(stop, max_steps=left), stages)
                if again.interrupted or _value(again) > _value(found):
                    return _best_result([found, again])
            return self.resume(found, tol, number)
        except KeyboardInterrupt:
            return replace(found, ended="interrupted")

    def resume(self, end: Result, tol: float, number: int = 0) -> Result:
        """Continue from where an optimisation ended, with its path."""
        before = end.path[:-1]

        def note(steps: int, value: float) -> None:
            self._note(number, len(before) + steps, value)

        found = self._run(end.best, StoppingRule(tol, self._max_iter - len(before), note), (self._noise,))
        return replace(found, path=before + found.path)

    def _run(self, start: LinearGaussian, stop: StoppingRule, stages: Sequence[NoiseStructure]) -> Result:
        """Run EM with the first floor, then Newton's method with each of the floors in turn."""
        step, parameters = partial(self._em_step, noise=stages[0]), _parameter_map(stages[0])
        max_iter = min(MAX_EM_STEPS, stop.max_steps)
        found = run_em(step, start, parameters, tol=EM_TOL_SHARE * stop.tol, max_iter=max_iter, note=stop.note)
        for before, noise in zip((None, *stages), stages, strict=False):
            last = noise is stages[-1]
            free = before is not None and not _is_at_floor(found.best, before)  # then a lower floor changes nothing
            if found.interrupted or self._last is None or (free and not last):
                continue
            rule = stop if last else replace(stop, tol=max(stop.tol, STAGE_TOL), checks_saddle=False)
            found = run_newton(self._passes, found, noise, self._last, rule)
        return found

    def _em_step(self, model: LinearGaussian, noise: NoiseStructure) -> tuple[float, LinearGaussian]:
        """Return the log-likelihood of a model, and the model after one EM step."""
        self._last = here = evaluate_model(self._passes, model)
        self.weight, self.rows = here.expected.weight, here.expected.rows
        better = _m_step(here.expected, here.model, noise)
        return here.value, LinearGaussian(better.mean, better.loadings @ here.Q.T, better.noise)


def _is_at_floor(model: LinearGaussian, noise: NoiseStructure) -> bool:
    return bool(np.any(noise.at_floor(np.asarray(model.noise))))


def _m_step(expected: ExpectedStatistics, model: LinearGaussian, noise: NoiseStructure) -> LinearGaussian:
    """Return the maximising W, mu and Psi, one least-squares problem per column, with the latent space whitened again.

    The regressions are those of the residuals on (z, 1): their solutions are the changes of (w_j, mu_j).
    """
    W, psi, N = model.loadings, np.asarray(model.noise), expected.outer[-1]
    k = W.shape[1]
    by_mean, by_loadings, by_log_psi = partial_derivatives(expected, model)
    right = np.column_stack([by_loadings, by_mean]) * psi[:, None]
    normal = unpack_symmetric(expected.outer, k + 1)
    normal[:, :k, :k] += unpack_symmetric(expected.spread, k)
    change = _solve_columns(normal, right)
    rest = psi * (2.0 * by_log_psi + N) - np.einsum("jq,jq->j", change, right)
    loadings = W + change[:, :k]
    latent = unpack_symmetric(expected.latent[:, None], k + 1)[0] / expected.weight
    m = latent[:k, k]
    root = np.linalg.cholesky(latent[:k, :k] - np.outer(m, m))
    mean = model.mean + change[:, k] + loadings @ m
    return LinearGaussian(mean, loadings @ root, noise.estimate(rest, N))


def _solve_columns(normal: Array, right: Array) -> Array:
    """Return the solutions (d, k + 1) of the normal equations of all columns, the shortest where there are many.

    The rows in which a column is observed may not vary along a latent axis at all, if that is one entry of another
    column, 1e9 times as large as the rest.
    """
    try:
        return np.asarray(np.linalg.solve(normal, right[:, :, None])[:, :, 0])
    except np.linalg.LinAlgError:
        return np.asarray((np.linalg.pinv(normal, hermitian=True) @ right[:, :, None])[:, :, 0])


def _parameter_map(noise: NoiseStructure) -> ParameterMap[LinearGaussian]:
    """Return the map between models and vectors (mu, W, phi) for the extrapolation of EM steps."""

    def vector(model: LinearGaussian) -> Array:
        return join_parameters(model.mean, model.loadings, noise.phi(np.asarray(model.noise)))

    def model(v: Array, like: LinearGaussian) -> LinearGaussian:
        mean, loadings, phi = split_parameters(v, *like.loadings.shape)
        near = noise.phi(np.asarray(like.noise))
        change = np.clip(phi - near, -MAX_LOG_NOISE_EXTRAPOLATION, MAX_LOG_NOISE_EXTRAPOLATION)
        return LinearGaussian(mean, loadings, noise.psi(near + change))

    return ParameterMap(vector, model)


# ---- several starts ---------------------------------------------------------------------------------------


def optimise_from_starts(
    optimiser: LikelihoodOptimiser, starts: Models, others: Models, *, screening_tol: float, tol: float
) -> Result:
    """Return the highest maximum of several starts.

    All are optimised to `screening_tol`, and only those that may still be the highest to tol. The `others` are tried
    only if the first starts leave doubt.
    """
    if len(starts) + len(others) == 1:
        return optimiser.optimise(starts[0], tol)
    numbered = [*enumerate([*starts, *others], 1)]

    def screen(some: NumberedModels) -> Iterable[tuple[int, Result]]:
        return ((i, optimiser.optimise(start, screening_tol, i, checks_saddle=False)) for i, start in some)

    results = _collect(screen(numbered[: len(starts)]), [])
    if not results[-1][1].interrupted and _leaves_doubt([result for _, result in results]):
        results = _collect(screen(numbered[len(starts) :]), results)
    if not results[-1][1].interrupted:
        results = _collect(((i, optimiser.resume(one, tol, i)) for i, one in _promising(results)), results)
    return _best_result([result for _, result in results])


def _leaves_doubt(results: list[Result]) -> bool:
    """Return whether there may be a higher maximum than these: they differ, or a noise variance tends to 0."""
    first, *rest = results
    smallest = float(np.min(first.best.noise))
    return smallest < DOUBTFUL_NOISE_SHARE or not all(_is_same_maximum(first.best, one.best) for one in rest)


def _best_result(results: list[Result]) -> Result:
    """Return the result of largest value, marked as interrupted if the last one was.

    Of equal values the last is returned: it was optimised to the end.
    """
    best = max(reversed(results), key=_value)
    return replace(best, ended="interrupted") if results[-1].interrupted else best


def _value(result: Result) -> float:
    return result.path[-1]


def _collect(running: Iterable[tuple[int, Result]], before: NumberedResults) -> NumberedResults:
    """Append results as they are made, until one is interrupted; an interrupt in between marks the last, if any."""
    results = [*before]
    try:
        for number, result in running:
            results.append((number, result))
            if result.interrupted:
                break
    except KeyboardInterrupt:
        if not results:
            raise
        number, result = results[-1]
        results[-1] = (number, replace(result, ended="interrupted"))
    return results


def _promising(results: NumberedResults) -> NumberedResults:
    """Return the best result, and others that may still rise above it, no maximum twice."""
    best, *others = sorted(results, key=lambda each: _value(each[1]), reverse=True)
    kept = [best]
    for number, result in others:
        may_win = _value(result) + 2.0 * result.remaining_gain > _value(best[1])
        if may_win and not any(_is_same_maximum(result.best, one.best) for _, one in kept):
            kept.append((number, result))
    return kept


def _is_same_maximum(a: LinearGaussian, b: LinearGaussian) -> bool:
    """Return whether two covariances are about the same, without forming them."""
    A, B = a.loadings, b.loadings
    size = float(np.sum((A.T @ A) ** 2))
    change = size + float(np.sum((B.T @ B) ** 2)) - 2.0 * float(np.sum((A.T @ B) ** 2))
    psi, other = np.asarray(a.noise), np.asarray(b.noise)
    bound = SAME_COVARIANCE_SHARE**2
    return bool(change <= bound * size and np.sum((psi - other) ** 2) <= bound * np.sum(psi**2))

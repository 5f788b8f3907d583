"""EM for probabilistic PCA as it is taught, from one product with the covariance S per step.

A step is that of Tipping and Bishop (1999, eq. 29 and 30), the same as `em_steps.em_step_of_covariance`:

    W_new = S W (sigma² I + M⁻¹ WᵀSW)⁻¹ ,      sigma_new² = (tr S − tr(S W M⁻¹ W_newᵀ)) / d ,      M = WᵀW + sigma² I .

It is computed so that small noise does not vanish in a difference of traces. With the singular value decomposition
W = Q s Vᵀ, which is kept from one product to the next, m = s² + sigma², D = s / m^½, a root L of QᵀSQ = L Lᵀ, the part
U of SQ outside the space of Q, and the singular value decomposition D L = A f Cᵀ,

    W_new = SQ D A (sigma² + f²)⁻¹ Aᵀ m^½ Vᵀ ,
    d sigma_new² = tr S − tr LLᵀ + Σ ‖L c_i‖² sigma² / (sigma² + f_i²) − ‖U D A (sigma² + f²)^−½‖² ,

where tr S − tr LLᵀ comes from the rows themselves where it is small, and U tends to 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import Progress
from eigenlens.latent.ppca.em import (
    MAX_CONTRACTION,
    MIN_REST,
    PPCAEMResult,
    Subspace,
    apply_covariance,
    best_in_subspace,
    enough_gain,
    exact_first,
)
from eigenlens.linalg.operators import CentredRows
from eigenlens.missing.fit import RELATIVE_ROUNDING
from eigenlens.missing.result import step_label

N_RATIOS = 3
"""The gain still to come is estimated by the largest of this many ratios of successive gains."""

N_ROUNDING_STEPS = 8
"""EM ends where this many steps together gain no more than rounding."""

CLEAR_GAIN = 100.0
"""Gains of this many times their rounding show by which factor they shrink."""


class PPCAStart(NamedTuple):
    """The model that EM starts from: W (d, k) and sigma²."""

    loadings: Array
    noise: float


def random_ppca_start(trace: float, d: int, k: int, rng: np.random.Generator) -> PPCAStart:
    """Draw entries of W with the mean variance of the columns of the rows, trace / d, which is also sigma²."""
    return PPCAStart(np.sqrt(trace / d) * rng.standard_normal((d, k)), trace / d)


def run_plain_em(
    rows: CentredRows, start: PPCAStart, tol: float, max_iter: int, progress: Progress | None
) -> PPCAEMResult:
    """Take steps of EM from a start until less than `tol` per entry seems left to be gained, as in `run_ppca_em`.

    The path has the log-likelihood after each step. Gains shrink by a fixed factor in the end, so those to come are the
    rest of a geometric series, and at least what the best model within the present space would gain: where the noise is
    small, EM finds the space soon, and hardly moves within it (ended "stalled"). Where little seems left, the end is
    that model, since rounding decides after which step it is. An interrupt by the user ends it with the last model
    evaluated. Cost: one pass and 4 n d k flops per step, and one pass more.
    """
    n, d = rows.columns.weight, rows.size
    trace, exact, enough = rows.trace * rows.divisor / n, exact_first(rows), enough_gain(tol, n * d)
    model, best, rest, path, left, contraction, ended = start, start, trace, list[float](), np.inf, 0.0, ""
    try:
        for step in range(max_iter + 1):
            Q, s, Vt = np.linalg.svd(model.loadings, full_matrices=False)
            space, exact = apply_covariance(rows, Q, trace, exact)
            path.append(-0.5 * n * _deviance(s, model.noise, space, d))
            best, rest = model, space.rest
            if progress is not None and step > 0:
                progress(step, max_iter, step_label(step, path[-1]))
            within = -0.5 * n * best_in_subspace(space.lam, space.rest, d)[2] - path[-1]
            contraction = _contraction(path[-N_RATIOS - 2 :], contraction)
            left = max(_remaining(path, contraction), within)
            ended = _ended(path, left, within, enough)
            if ended in ("converged", "rounding"):
                best, path[-1] = _best_model(Q, space, d), path[-1] + max(within, 0.0)
            if ended:
                break
            loadings, noise = _step(Q, s, model.noise, space)
            model = PPCAStart(loadings @ Vt, max(noise, MIN_REST * trace) / d)
    except KeyboardInterrupt:
        if len(path) < 2:
            raise
        ended = "interrupted"
    steps = tuple(np.minimum(np.maximum.accumulate(path[1:]), path[-1]).tolist())
    converged = ended != "interrupted" and bool(left <= max(enough, _rounding(path)))
    return PPCAEMResult(*best, steps, converged, float(left), ended or "max_iter", min(rest, best.noise * d))


def _best_model(Q: Array, space: Subspace, d: int) -> PPCAStart:
    """Return the best model within the space of Q (d, k)."""
    excess, noise, _ = best_in_subspace(space.lam, space.rest, d)
    return PPCAStart((Q @ space.T) * np.sqrt(excess), noise)


def _ended(path: Sequence[float], left: float, within: float, enough: float) -> str:
    """Return why EM ends here; "" if it goes on.

    A step whose gain is rounding still brings W and sigma² closer, by the square root of what it gains, so several must
    pass before EM ends for that.
    """
    rounding = len(path) > N_ROUNDING_STEPS and path[-1] - path[-N_ROUNDING_STEPS - 1] <= _rounding(path)
    if len(path) < 2 or (left > enough and not rounding):
        return ""
    if left <= enough:
        return "converged"
    return "stalled" if within > _rounding(path) else "rounding"


def _rounding(path: Sequence[float]) -> float:
    """Return the size of differences of log-likelihoods that may be rounding."""
    return RELATIVE_ROUNDING * abs(path[-1])


def _deviance(s: Array, noise: float, space: Subspace, d: int) -> float:
    """Return d log 2π + log |C| + tr C⁻¹S for W = Q s Vᵀ, twice the negative log-likelihood per row."""
    m = s**2 + noise
    inside = float(np.sum(space.root**2 / m[:, None]))
    log_det = (d - s.size) * np.log(noise) + float(np.log(m).sum())
    return float(d * np.log(2.0 * np.pi) + log_det + space.rest / noise + inside)


def _step(Q: Array, s: Array, noise: float, space: Subspace) -> tuple[Array, float]:
    """Return W_new V and d sigma_new² of one step from W = Q s Vᵀ."""
    L, scale = space.root, np.sqrt(s**2 + noise)
    D = s / scale
    A, f, Ct = np.linalg.svd(D[:, None] * L)
    kept, DA = noise + f**2, D[:, None] * A
    unexplained = float(np.sum((L @ Ct.T) ** 2 * (noise / kept)))
    U = space.SQ - Q @ (Q.T @ space.SQ)
    moved = float(np.sum((U @ DA) ** 2 / kept))
    return space.SQ @ (DA / kept) @ (A.T * scale), space.rest + unexplained - moved


def _contraction(path: Sequence[float], before: float) -> float:
    """Return the factor by which the last gains shrink from step to step; that of `before` where rounding blurs them.

    >>> _contraction([0.0, 4.0, 6.0, 7.0], 0.0)
    0.5
    """
    gains, rounding = np.diff(path), _rounding(path)
    if gains.size < 2 or gains[-1] <= CLEAR_GAIN * rounding:
        return before
    return min(float(np.max(gains[1:] / np.maximum(gains[:-1], rounding))), MAX_CONTRACTION)


def _remaining(path: Sequence[float], contraction: float) -> float:
    """Return the gain still to come, the rest of a geometric series: the last gain was 1, and 1/2 + 1/4 + … follow.

    >>> _remaining([0.0, 4.0, 6.0, 7.0], 0.5)
    1.0
    """
    gain = path[-1] - path[-2] if len(path) > 1 else np.inf
    if contraction == 0.0:
        return float("inf") if gain > _rounding(path) else 0.0
    return max(gain, 0.0) * contraction / (1.0 - contraction)

"""Newton's method on the profile likelihood of factor analysis, from many starts at once.

With few variables the likelihood has many maxima, most of them with a uniqueness at its floor, and only many starts
find the highest. One eigendecomposition gives f (`profile_likelihood`), its gradient and its second derivatives in
t = log psi: with (w, V) the eigenpairs of Psi^-½ R Psi^-½, M_l = V_l V_lᵀ, "top" those of the k largest w_l that
exceed 1 and "rest" the others,

    ∂f/∂t = Σ_rest (1 − w_l) diag M_l,
    ∂²f/∂t² = (Σ_rest M_l) ∘ (Σ_rest w_l M_l) + Σ_top Σ_rest (w_l + w_m)(1 − w_m)/(w_l − w_m) M_l ∘ M_m

(Clarke 1970, in log psi). Where R has an inverse, w and V are computed from (Psi^½ R⁻¹ Psi^½)⁻¹: no digits are lost
however small a uniqueness becomes.

SciPy has no bounded Newton method that takes many starts at once; small problems would spend their time in Python.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eigenlens.arrays import Array
from eigenlens.latent.factor.profile_likelihood import FactorOptions, within
from eigenlens.resources import interruptible_call

MAX_LOG_STEP = 2.5
"""The longest step in an entry of t: a factor of 12 in a uniqueness. The quadratic model is wrong beyond it."""

SMALLEST_CURVATURE = 1e-4
"""Curvatures below this are replaced by it, so that no step is determined by rounding."""

SMALL_UNIQUENESS = 0.02
"""Below this uniqueness f is nearly linear in psi, and a step may go to the floor at once."""

MERGE_DISTANCE = 0.05
"""Iterations whose log psi differ nowhere by more than this continue as one."""

MIN_SLOPE_TO_LEAVE = 1e-2
"""A uniqueness at its floor leaves it again if the slope of f in psi is steeper than this."""

MIN_EIGENVALUE_DISTANCE = 1e-10
"""Eigenvalues that are closer than this, relatively, are treated as this far apart."""

MAX_LAST_STEPS, LAST_CURVATURE = 8, 1e-10
"""The largest number of steps for the last digits, and the smallest curvature by which they divide a gradient."""

FIRST_DAMPING, MAX_DAMPING = 0.1, 1e8
"""The damping added to the second derivatives after a step that did not lower f, and the damping that ends it."""


@dataclass(frozen=True, eq=False)
class ProfilePoints:
    """f (s,), its gradient g (s, d) and second derivatives H (s, d, d) at s points t (s, d)."""

    t: Array
    f: Array
    g: Array
    H: Array

    def projected_gradients(self, low: float) -> Array:
        """Return the largest |t − P(t − g)| of each point (s,), P the projection on low ≤ t ≤ 0."""
        return np.asarray(np.abs(self.t - within(self.t - self.g, low, 0.0)).max(axis=1))

    def __getitem__(self, which: Array | list[int]) -> ProfilePoints:
        return ProfilePoints(self.t[which], self.f[which], self.g[which], self.H[which])

    def replace(self, which: Array, by: ProfilePoints) -> ProfilePoints:
        """Return these points with those at `which` replaced."""
        parts = [getattr(self, name).copy() for name in ("t", "f", "g", "H")]
        for part, new in zip(parts, (by.t, by.f, by.g, by.H), strict=True):
            part[which] = new
        return ProfilePoints(*parts)


class ProfileStack:
    """f and its derivatives for one correlation matrix R (d, d), k factors and uniquenesses of at least `floor`.

    `rounding` bounds the rounding error of f.

    >>> stack = ProfileStack(np.eye(3), 1, 1e-8)
    >>> stack.at(np.zeros((1, 3))).f
    array([3.])
    """

    def __init__(self, R: Array, k: int, floor: float) -> None:
        self._R, self._k = R, k
        values, U = interruptible_call(np.linalg.eigh, R)
        self._inverse = (U / values) @ U.T if values[0] > floor * values[-1] else None
        self._log_det = float(np.log(np.maximum(values, np.finfo(float).tiny)).sum())
        spread = values[-1] / values[0] if self._inverse is not None else 1.0 / floor
        self.rounding = 4.0 * len(R) * np.finfo(float).eps * float(spread)

    def at(self, t: Array) -> ProfilePoints:
        """Evaluate f, g and H at t (s, d); d³ (k + 10) flops each."""
        w, V = self._eigenpairs(t)
        top = (np.arange(w.shape[1]) < self._k) & (w > 1.0)
        rest = np.where(top, 0.0, w)
        g = (V * V) @ np.where(top, 0.0, 1.0 - w)[:, :, None]
        return ProfilePoints(t, self._value(t, w, top), g[:, :, 0], self._second(w, V, top, rest))

    def _eigenpairs(self, t: Array) -> tuple[Array, Array]:
        """Return w (s, d), descending, and V (s, d, d)."""
        if self._inverse is None:
            r = np.exp(-0.5 * t)
            w, V = interruptible_call(np.linalg.eigh, self._R * r[:, :, None] * r[:, None, :])
            return w[:, ::-1], V[:, :, ::-1]
        r = np.exp(0.5 * t)
        theta, V = interruptible_call(np.linalg.eigh, self._inverse * r[:, :, None] * r[:, None, :])
        return 1.0 / np.maximum(theta, np.finfo(float).tiny), V

    def _value(self, t: Array, w: Array, top: Array) -> Array:
        """Return Σ t + Σ_rest w + Σ_top (1 + log w), or log |R| + Σ_rest (w − log w) + |top| if log |R| is known."""
        others, leading = np.where(top, 1.0, w), np.where(top, w, 1.0)
        if self._inverse is None:
            return np.asarray(t.sum(axis=1) + (others + np.log(leading)).sum(axis=1))
        return np.asarray(self._log_det + (others - np.log(np.maximum(others, np.finfo(float).tiny))).sum(axis=1))

    def _second(self, w: Array, V: Array, top: Array, rest: Array) -> Array:
        Vt = V.transpose(0, 2, 1)
        H = ((V * ~top[:, None, :]) @ Vt) * ((V * rest[:, None, :]) @ Vt)
        for j in range(self._k):
            mine, pairs = w[:, j : j + 1], top[:, j : j + 1] & ~top
            distance = np.maximum(mine - w, MIN_EIGENVALUE_DISTANCE * mine)
            share = np.where(pairs, (mine + w) * (1.0 - w) / np.where(pairs, distance, 1.0), 0.0)
            v = V[:, :, j]
            H += ((V * share[:, None, :]) @ Vt) * (v[:, :, None] * v[:, None, :])
        return np.asarray(H)


@dataclass(frozen=True, eq=False)
class NewtonMinimum:
    """The end of the lowest of several iterations.

    Attributes:
        t: (d,) log psi. path: f after each step. residual: the largest entry of the projected gradient.
        ended: why it ended, a key of `missing.result.STOP_REASONS`.
    """

    t: Array
    path: tuple[float, ...]
    residual: float
    ended: str


def minimise_by_newton(stack: ProfileStack, starts: Array, options: FactorOptions) -> NewtonMinimum:
    """Take damped Newton steps from each of `starts` (s, d), uniquenesses between floor and 1; return the lowest end.

    Iterations that have merged continue as one. They stop where no entry of the projected gradient exceeds tol, or
    where no step lowers f. `options.note` is called with the lowest f. An interrupt ends all at the best so far.

    >>> R = np.array([[1.0, 0.56, 0.48], [0.56, 1.0, 0.42], [0.48, 0.42, 1.0]])
    >>> found = minimise_by_newton(ProfileStack(R, 1, 1e-8), np.full((1, 3), 0.5), FactorOptions(tol=1e-9))
    >>> (1.0 - np.exp(found.t)).round(6)
    array([0.64, 0.49, 0.36])
    """
    low, tol = float(np.log(options.floor)), options.tol
    points = stack.at(within(np.log(starts), low, 0.0))
    paths, damping = [points.f], np.zeros(len(starts))
    live, ended = np.arange(len(starts)), "max_iter"
    try:
        for step in range(options.max_iter):
            live = _unfinished(points, live, damping, low, tol)
            if step % 4 == 3:
                live = _drop_followers(points, live)
            if not live.size:  # a dropped iteration may have been lower than the end of the one that it followed
                live = _unfinished(points, np.array([np.argmin(points.f)]), damping, low, tol)
            if not live.size:
                ended = "converged"
                break
            here = points[live]
            tried = stack.at(within(here.t + _step(here, damping[live], low), low, 0.0))
            good = _is_better(tried, here, low, stack.rounding)
            points = points.replace(live[good], tried[good])
            damping[live] = np.where(good, _relax(damping[live]), np.maximum(4.0 * damping[live], FIRST_DAMPING))
            paths.append(points.f)
            options.note(step + 1, float(points.f.min()))
    except KeyboardInterrupt:
        ended = "interrupted"
    best = int(np.argmin(points.f))
    end = _last_digits(stack, points[[best]], low, MAX_LAST_STEPS if ended == "converged" else 0)
    residual = float(end.projected_gradients(low)[0])
    if ended == "converged" and residual > tol:
        ended = "rounding"
    path = np.unique(np.minimum.accumulate([values[best] for values in paths]))[::-1]
    return NewtonMinimum(end.t[0], tuple(path[len(path) > 1 :].tolist()), residual, ended)


def _last_digits(stack: ProfileStack, end: ProfilePoints, low: float, most: int) -> ProfilePoints:
    """Return an end after at most `most` plain Newton steps, for as long as they halve its gradient.

    Along flat directions a gradient within the tolerance leaves few digits of psi; these steps cost little.
    """
    for _ in range(most):
        step = within(_newton_step(end, _fixed(end, low), LAST_CURVATURE), -MAX_LOG_STEP, MAX_LOG_STEP)
        tried = stack.at(within(end.t + step, low, 0.0))
        shorter = tried.projected_gradients(low) < 0.5 * end.projected_gradients(low)
        if not shorter[0] or tried.f[0] > end.f[0] + stack.rounding:
            break
        end = tried
    return end


def _relax(damping: Array) -> Array:
    return np.where(damping > 1e-2 * FIRST_DAMPING, 0.25 * damping, 0.0)


def _is_better(tried: ProfilePoints, here: ProfilePoints, low: float, rounding: float) -> Array:
    """Return whether f fell at each point (s,); where rounding hides that, whether the gradient did."""
    gain = here.f - tried.f
    better = gain > rounding
    if (better | (gain < -rounding)).all():
        return np.asarray(better)
    return np.asarray(better | ((gain >= -rounding) & (tried.projected_gradients(low) < here.projected_gradients(low))))


def _unfinished(points: ProfilePoints, live: Array, damping: Array, low: float, tol: float) -> Array:
    """Return those of `live` whose gradient is above tol, or that are at a floor which they should leave."""
    unfinished = (points.projected_gradients(low) > tol) | _leaves_floor(points).any(axis=1)
    return np.asarray(live[unfinished[live] & (damping[live] < MAX_DAMPING)])


def _drop_followers(points: ProfilePoints, live: Array) -> Array:
    """Return those of `live` that are not near another one that is lower or has ended."""
    ended = np.ones(len(points.f), dtype=bool)
    ended[live] = False
    compared = np.flatnonzero(ended).tolist()
    kept: list[int] = []
    for one in live[np.argsort(points.f[live], kind="stable")]:
        others = points.t[compared]
        if np.abs(others - points.t[one]).max(axis=1, initial=0.0).min(initial=np.inf) > MERGE_DISTANCE:
            kept.append(int(one))
            compared.append(int(one))
    return np.sort(np.array(kept, dtype=np.intp))


def _step(here: ProfilePoints, damping: Array, low: float) -> Array:
    """Return −(|H| + damping)⁻¹ g over the entries that are not at their bounds, at most `MAX_LOG_STEP` in each."""
    fixed = _fixed(here, low)
    step = within(_newton_step(here, fixed, SMALLEST_CURVATURE, damping[:, None]), -MAX_LOG_STEP, MAX_LOG_STEP)
    step = np.where(_falls_to_floor(here) & ~fixed & (damping[:, None] < 10.0 * FIRST_DAMPING), low - here.t, step)
    return np.asarray(np.where(_leaves_floor(here), MAX_LOG_STEP / (1.0 + damping[:, None]), step))


def _fixed(here: ProfilePoints, low: float) -> Array:
    """Return where (s, d) an entry is at its bound, and the gradient keeps it there."""
    return np.asarray(((here.t <= low) & (here.g >= 0.0)) | ((here.t >= 0.0) & (here.g <= 0.0)))


def _newton_step(here: ProfilePoints, fixed: Array, smallest: float, damping: Array | float = 0.0) -> Array:
    """Return −(|H| + damping)⁻¹ g (s, d) over the entries that are not fixed, |H| having no curvature below this."""
    free = ~fixed
    H = here.H * free[:, :, None] * free[:, None, :] + fixed[:, :, None] * np.eye(here.t.shape[1])
    values, Q = interruptible_call(np.linalg.eigh, H)
    curvature = np.maximum(np.abs(values), smallest) + damping
    along = (Q.transpose(0, 2, 1) @ (here.g * free)[:, :, None])[:, :, 0] / curvature
    return np.asarray(-(Q @ along[:, :, None])[:, :, 0])


def _falls_to_floor(here: ProfilePoints) -> Array:
    """Return where (s, d) the parabola in psi, of slope g/psi and curvature (h − g)/psi², has no minimum above 0."""
    return np.asarray((here.t < np.log(SMALL_UNIQUENESS)) & (here.g > 0.0) & (_bend(here) <= here.g))


def _leaves_floor(here: ProfilePoints) -> Array:
    """Return where (s, d) that minimum is far above psi; in log psi all slopes near the floor are small and hide it."""
    steep = here.g < -MIN_SLOPE_TO_LEAVE * np.exp(here.t)
    return np.asarray((here.t < np.log(SMALL_UNIQUENESS)) & steep & (np.exp(MAX_LOG_STEP) * _bend(here) <= -here.g))


def _bend(here: ProfilePoints) -> Array:
    return np.asarray(np.diagonal(here.H, axis1=1, axis2=2) - here.g)

"""Pre-images as fixed points of a weighted mean of the rows, for all points of a block at once.

At a nearest phi(z) to P phi = Σ_j g_j phi(r_j) the gradient of |P phi − phi(z)|² vanishes, which reads z = T(z) with

    rbf:   T(z) = Σ_j g_j k(z, r_j) r_j / Σ_j g_j k(z, r_j)                      (Mika et al. 1998, eq. 10)
    poly:  T(z) = Σ_j g_j (γ z·r_j + c)^(p−1) r_j / (γ |z|² + c)^(p−1)           (Schölkopf et al. 1999, section IV)

T(z) − z is a descent direction while the denominator is positive. So each step is judged by the distance after it: a
step that does not shorten the distance is halved, and the distance never grows. Anderson extrapolation from the last
steps needs two to five times fewer of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import OptionError
from eigenlens.kernel_pca.kernels.base import Kernel
from eigenlens.kernel_pca.kernels.polynomial import Polynomial
from eigenlens.kernel_pca.kernels.rbf import RBF
from eigenlens.kernel_pca.preimage.base import PreImageOptions, RawPreImages, Support, nearest_columns

MAX_START_ROWS = 2048
"""The number of rows that are searched for the nearest starts."""

ANDERSON_DEPTH = 3
"""Past steps that the extrapolation uses."""

MIN_STEP_SHARE = 2.0**-12
"""A step halved below this share of its length is given up: rounding hides any descent."""

ROW_DISTANCE_SLACK = 1e-8
"""How much farther than the nearest row a result may be, relative to k(r, r): their distances round differently."""

FLOAT64_EPS = float(np.finfo(np.float64).eps)


class MapValue(NamedTuple):
    """The map at points z: |P phi − phi(z)|² − |P phi|² (n,), T(z) (n, d), and the rounding errors of both (n,)."""

    value: Array
    target: Array
    noise: Array
    blur: Array


FixedPointMap = Callable[[Array, Array], MapValue]


def fixed_point_preimages(support: Support, Z: Array, start: Array | None, options: PreImageOptions) -> RawPreImages:
    """Find pre-images of the points with scores Z (n, k), from `start` (n, d) where given, then from the nearest rows.

    The best result of all starts is kept; it is never farther from P phi than the nearest row tried. A point fails
    where that best result is not a fixed point: no start has a positive denominator, or the steps ran out. Cost: n m d
    per step, about ten steps per point; once m d for each of up to 2048 rows to start from.
    """
    pull = fixed_point_map(support)
    candidates = support.rows[:: -(-len(support.rows) // MAX_START_ROWS)]
    images, own = support.images(candidates), support.model.kernel.diagonal(candidates)
    parts = []
    for part in support.blocks(len(Z)):
        distances = own - 2.0 * (images[:, 0] + Z[part] @ images[:, 1:].T)  # squared, less |P phi|²
        near = nearest_columns(distances, options.restarts)
        starts = [] if start is None else [start[part]]
        starts += [candidates[near[:, i]] for i in range(near.shape[1])]
        g = np.asarray(support.model.point(Z[part]), dtype=np.float64)
        value = np.take_along_axis(distances, near[:, :1], axis=1)[:, 0] + ROW_DISTANCE_SLACK * own[near[:, 0]]
        parts.append(_best(pull, g, starts, candidates[near[:, 0]], value, support.spread, options))
    return RawPreImages.joined(parts)


def _best(
    pull: FixedPointMap,
    g: Array,
    starts: list[Array],
    rows: Array,
    value: Array,
    spread: float,
    options: PreImageOptions,
) -> RawPreImages:
    """Return the best results (n, d) over the starts, each tried for the points that have failed so far."""
    rows, value = rows.copy(), value.copy()
    failed, iterations = np.ones(len(rows), dtype=bool), np.zeros(len(rows), dtype=np.int64)
    for start in starts:
        i = np.flatnonzero(failed)
        if not i.size:
            break
        descent = FixedPointDescent(pull, g[i], start[i], spread, options.tol)
        descent.run(options.max_iter)
        iterations[i] += descent.iterations
        with np.errstate(invalid="ignore"):
            better = descent.value <= value[i] + descent.noise
        j = i[better]
        rows[j], value[j], failed[j] = descent.z[better], descent.value[better], ~descent.converged[better]
    return RawPreImages(rows, failed, iterations)


class FixedPointDescent:
    """A descent of points z (n, d), each with its own step length and its own past steps."""

    def __init__(self, pull: FixedPointMap, g: Array, z: Array, spread: float, tol: float) -> None:
        self._pull, self._g, self._spread, self._tol = pull, g, spread, tol
        n, d = z.shape
        self.z = np.array(z, dtype=np.float64)
        self.value, target, self.noise, blur = pull(self.z, g)
        self.step = target - self.z
        self.iterations = np.zeros(n, dtype=np.int64)
        self.converged = self._small(self.step, blur)
        self._moving = np.isfinite(self.step).all(axis=1) & np.isfinite(self.value) & ~self.converged
        self._reach = np.ones(n)
        self._extrapolated, self._extrapolating = np.zeros((n, d)), np.zeros(n, dtype=bool)
        self._steps, self._targets = np.zeros((n, ANDERSON_DEPTH, d)), np.zeros((n, ANDERSON_DEPTH, d))

    def run(self, most: int) -> None:
        """Iterate until each point has converged, is stuck, or is out of steps."""
        for _ in range(most):
            i = np.flatnonzero(self._moving)
            if not i.size:
                return
            self._advance(i)

    def _advance(self, i: Array) -> None:
        trial = self.z[i] + np.where(
            self._extrapolating[i, None], self._extrapolated[i], self._reach[i, None] * self.step[i]
        )
        found = self._pull(trial, self._g[i])
        with np.errstate(invalid="ignore"):
            good = (found.value <= self.value[i] + found.noise) & np.isfinite(found.target).all(axis=1)
        self.iterations[i] += 1
        self._reject(i[~good])
        self._accept(i[good], trial[good], MapValue(*(part[good] for part in found)))

    def _accept(self, i: Array, z: Array, value: MapValue) -> None:
        step = value.target - z
        self._steps[i] = np.roll(self._steps[i], 1, axis=1)
        self._targets[i] = np.roll(self._targets[i], 1, axis=1)
        self._steps[i, 0] = step - self.step[i]
        self._targets[i, 0] = value.target - (self.z[i] + self.step[i])
        self._extrapolated[i], self._extrapolating[i] = step - _excess(self._steps[i], self._targets[i], step), True
        self.z[i], self.step[i], self.value[i], self.noise[i] = z, step, value.value, value.noise
        self._reach[i] = np.minimum(1.0, 2.0 * self._reach[i])
        self.converged[i] = self._small(step, value.blur)
        self._moving[i] = ~self.converged[i]

    def _reject(self, i: Array) -> None:
        """Drop an extrapolation that went too far, with its past steps; halve a plain step."""
        self._reach[i] = np.where(self._extrapolating[i], self._reach[i], 0.5 * self._reach[i])
        self._extrapolating[i], self._steps[i], self._targets[i] = False, 0.0, 0.0
        stuck = self._reach[i] < MIN_STEP_SHARE  # no step is short enough: rounding hides any descent
        self.converged[i] = stuck & (np.linalg.norm(self.step[i], axis=1) <= np.sqrt(self._tol) * self._spread)
        self._moving[i] = ~stuck

    def _small(self, step: Array, blur: Array) -> Array:
        with np.errstate(invalid="ignore"):
            return np.asarray(np.linalg.norm(step, axis=1) <= self._spread * (self._tol + blur))


def _excess(steps: Array, targets: Array, step: Array) -> Array:
    """Return Σ_h b_h ΔT_h (n, d), b the least squares solution of Σ_h b_h ΔF_h = F (Anderson 1965; Walker and Ni 2011).

    steps ΔF and targets ΔT are (n, DEPTH, d), zeros where there are no past steps yet.
    """
    normal = steps @ steps.transpose(0, 2, 1)
    size = np.trace(normal, axis1=1, axis2=2)
    normal += np.where(size > 0.0, 1e-12 * size, 1.0)[:, None, None] * np.eye(ANDERSON_DEPTH)
    b = np.linalg.solve(normal, steps @ step[:, :, None])
    return np.asarray(np.sum(b * targets, axis=1))


def fixed_point_map(support: Support) -> FixedPointMap:
    """Return the map T of the model's kernel on its rows, with the distance that judges a step."""
    kernel, R = support.model.kernel, support.rows
    if type(kernel) not in FIXED_POINT_MAPS:
        known = " or ".join(repr(kind.name) for kind in FIXED_POINT_MAPS)
        what = f"needs the kernel {known}, not {kernel.name!r}"
        fix = "use {preimage} for any kernel, or 'mds' for one whose values determine distances"
        settings = {"preimage": "ridge"}
        raise OptionError(what, argument="preimage", value="fixed-point", fix=fix, settings=settings)
    pull = FIXED_POINT_MAPS[type(kernel)]

    def pulled(z: Array, g: Array) -> MapValue:
        with np.errstate(over="ignore", invalid="ignore"):  # a step too far is judged by its value and rejected
            return pull(kernel, R, z, g)

    return pulled


def _gaussian(kernel: RBF, R: Array, z: Array, g: Array) -> MapValue:
    w = kernel(z, R)
    w *= g
    total, size = w.sum(axis=1), np.abs(w).sum(axis=1)
    noise = 4.0 * FLOAT64_EPS * size
    divisor = np.where(total > 2.0 * noise, total, np.nan)
    return MapValue(1.0 - 2.0 * total, (w @ R) / divisor[:, None], noise, noise / divisor)


def _polynomial(kernel: Polynomial, R: Array, z: Array, g: Array) -> MapValue:
    P = kernel.gamma * (z @ R.T) + kernel.coef0
    w = P ** (kernel.degree - 1)
    w *= g
    own = kernel.gamma * np.sum(z * z, axis=1) + kernel.coef0
    slope = own ** (kernel.degree - 1)
    P *= w
    noise = 4.0 * FLOAT64_EPS * (np.abs(P).sum(axis=1) + np.abs(slope * own))
    divisor = np.where(slope > 0.0, slope, np.nan)
    blur = 4.0 * FLOAT64_EPS * np.abs(w).sum(axis=1) / divisor
    return MapValue(slope * own - 2.0 * P.sum(axis=1), (w @ R) / divisor[:, None], noise, blur)


FIXED_POINT_MAPS: dict[type[Kernel], Callable[[Any, Array, Array, Array], MapValue]] = {
    RBF: _gaussian,
    Polynomial: _polynomial,
}
"""The map T of each kernel that has one: (kernel, rows (m, d), z (n, d), g (n, m)) → its value at z."""

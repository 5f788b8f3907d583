"""The kernel density estimate as a frozen value: density, derivative, distribution function, quantiles, samples."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from eigenlens import checks
from eigenlens.arrays import Array, read_only
from eigenlens.densities.base import Columns, as_rows, check_columns, known_values, other_columns, rows_by_pattern
from eigenlens.errors import DataError, OptionError
from eigenlens.kde.bounded_column import Column
from eigenlens.kde.bounds import BOUNDARIES, Extended, Folded, open_bounds, within_bounds
from eigenlens.kde.kernels import SMOOTHING_KERNELS, SmoothingKernel
from eigenlens.kde.line import Line
from eigenlens.kde.local_linear import LocalLinearLine
from eigenlens.kde.normal_cdf import MAX_CDF_COLUMNS, dependent_columns, sum_normal_cdfs
from eigenlens.kde.quantiles import invert_cdf
from eigenlens.kde.space import Space
from eigenlens.kde.wide_line import WideLine
from eigenlens.laws import Laws

MAX_KERNEL_REACH = 1e4
"""Bandwidths beyond which no kernel has any mass left."""

MAX_CDF_KNOTS, MIN_CDF_KNOTS = 2048, 64
"""Points, at most and at least, at which the distribution function is tabulated before it is inverted."""


@dataclass(frozen=True, eq=False, repr=False)
class KernelEstimate:
    """A kernel density estimate f(y) = Σ_i w_i Π_j K((y_j − x_ij) / (h_j s_i)) / (h_j s_i) / Σ w.

    In several dimensions the kernel is a product of one per column, or a Gaussian of any covariance.

    Attributes:
        points: (n, d), or (n,) for one column. Those of weight 0 are left out.
        bandwidth: h, one for all columns or (d,); or H (d, d), the covariance of a Gaussian kernel.
        weights: (n,), a weight of w being w copies; None for ones.
        kernel: K.
        bounds: (d, 2) the min and max of each column, ±inf where there is none; None for no bounds.
        boundary: how bounds are respected, a key of `BOUNDARIES`.
        scales: (n,) s_i of adaptive bandwidths, or None.
        tol: the relative error that Gaussian sums may have.

    >>> f = KernelEstimate(np.array([0.0, 1.0]), 0.5)
    >>> f.density(np.array([0.0, 0.5])), f.cdf(np.array([0.5])), f.ppf(np.array([0.5]))
    (array([0.4529, 0.4839]), array([0.5]), array([0.5]))
    """

    laws: ClassVar[Laws] = {
        "points": "(n, d) of a finite square",
        "bandwidth": "(d) positive, of a finite square, 0 or of a finite inverse square | (d, d) positive definite",
        "weights": "(n) positive, of a finite square",
        "bounds": "(d, 2) not NaN, infinite or of a finite square",
        "scales": "(n) positive, of a finite square, 0 or of a finite inverse square",
        "tol": "positive, at most 1",
    }

    points: Array
    bandwidth: Any
    weights: Any = None
    kernel: SmoothingKernel = SMOOTHING_KERNELS["gaussian"]
    bounds: Any = None
    boundary: str = "reflect"
    scales: Array | None = None
    tol: float = 1e-8

    def __post_init__(self) -> None:
        points = as_rows(self.points)
        n, d = points.shape
        weights = np.ones(n) if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        counts = np.flatnonzero(weights > 0.0) if not np.all(weights > 0.0) else slice(None)
        h = np.asarray(self.bandwidth, dtype=np.float64)
        bounds = open_bounds(d) if self.bounds is None else np.asarray(self.bounds, dtype=np.float64)
        values = {"points": points[counts], "weights": weights[counts], "bounds": bounds}
        h = np.sqrt(h[0]) if h.shape == (1, 1) else h
        values["bandwidth"] = np.broadcast_to(h, (d,)).copy() if h.ndim < 2 else h
        if self.scales is not None:
            values["scales"] = np.asarray(self.scales, dtype=np.float64)[counts]
        for name, value in values.items():
            object.__setattr__(self, name, value)
        read_only(self, *values)
        if self._is_local_linear and (d > 1 or self.scales is not None):
            here = f"X has {d}" if d > 1 else "the estimate is adaptive"
            what = f"corrects the density of one column with one bandwidth, and {here}"
            raise OptionError(what, argument="boundary", value=self.boundary, fix="use 'reflect' or 'renormalize'")

    def __repr__(self) -> str:
        n, d = self.points.shape
        shown = ", ".join(f"{h:.4g}" for h in self.bandwidth.ravel()[:6]) + (", …" if self.bandwidth.size > 6 else "")
        h = f"matrix ({d}, {d})" if self.bandwidth.ndim == 2 else shown if d == 1 else f"({shown})"
        extra = ", adaptive" if self.scales is not None else ""
        extra += f", boundary={self.boundary!r}" if np.isfinite(self.bounds).any() else ""
        rows = f"{n:,} points of {d} column{'s' if d > 1 else ''}"
        return f"KernelEstimate({rows}, kernel={self.kernel.name!r}, bandwidth={h}{extra})"

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # without the caches of the sums

    @property
    def n_features(self) -> int:
        """The number d of columns."""
        return int(self.points.shape[1])

    # ---- the density ------------------------------------------------------------------------------------

    def log_density(self, X: Array) -> Array:
        """Return ln f (m,) at the rows of X (m, d); −inf outside the bounds, and beyond kernels of bounded support.

        The relative error of f is small everywhere: far from every point a Gaussian still has its true logarithm. NaN
        is a missing value: the density is then that of the observed columns.
        """
        rows = as_rows(X)
        out = np.empty(len(rows))
        for which, columns in rows_by_pattern(rows):
            whole = columns.size == self.n_features
            part = self if whole else self._part(columns)
            here = rows[which] if whole else rows[which][:, columns]
            out[which] = 0.0 if part is None else part._log_density(here)
        return out

    def device_log_density(self, X: Any) -> Array | None:
        """Return ln f (m,) at complete rows X (m, d) of a tensor, summed on its device; None where that cannot be done.

        Sums of float32 rows have a relative error of about 1e-6, whatever `tol` is.
        """
        open_ended = not np.isfinite(self.bounds).any()
        if self.n_features == 1 or not (open_ended and isinstance(self._space, Space) and self._space.on_device):
            return None
        return np.asarray(self._space.device_log_density(X) - np.log(self.total))

    def density(self, X: Array) -> Array:
        """Return f (m,) at the rows of X (m, d)."""
        return np.exp(self.log_density(X))

    def derivative(self, y: Array) -> Array:
        """Return f′ (m,) at y (m,) of one column; 0 outside the bounds."""
        places = self._places(y, "derivative")
        slope = self._line.derivative(np.clip(places, *self._ends)) / self.total
        return np.where(within_bounds(places[:, None], self.bounds), slope, 0.0)

    def _log_density(self, rows: Array) -> Array:
        finite = np.isfinite(rows)
        places = rows if finite.all() else np.where(finite, rows, 0.0)
        value = self._line.log_density(places[:, 0]) if self.n_features == 1 else self._space.log_density(places)
        value -= np.log(self.total)
        value[~within_bounds(rows, self.bounds) | np.isnan(value)] = -np.inf  # NaN: the logarithm itself overflows
        return value

    # ---- distribution function, quantiles, draws --------------------------------------------------------

    def cdf(self, X: Array) -> Array:
        """Return the probability (m,) of rows not above those of X (m, d) in any column; NaN in X is no limit.

        With a matrix as bandwidth, at most three columns may depend on each other. Cost: n m, and 96 n m for three.
        """
        rows = as_rows(X)
        if self.bandwidth.ndim == 2:
            return self._cdf_by_matrix(rows)
        rows = np.where(np.isnan(rows), np.inf, rows)  # a missing value may be anything
        Y = np.clip(rows, self.bounds[:, 0], self.bounds[:, 1])
        if self.n_features == 1:
            value = self._line.integral(np.clip(Y[:, 0], *self._ends)) - self._below
        else:
            value = self._space.integral(Y, self.bounds[:, 0])
        value = np.clip(value / self.total, 0.0, 1.0)
        below, above = np.any(rows < self.bounds[:, 0], axis=1), np.all(rows >= self.bounds[:, 1], axis=1)
        return np.where(below, 0.0, np.where(above, 1.0, value))

    def _cdf_by_matrix(self, rows: Array) -> Array:
        """Return the distribution function with a matrix H, where there are no bounds: columns without a limit go."""
        limits = np.where(rows == np.inf, np.nan, rows)
        out = np.empty(len(rows))
        for which, columns in rows_by_pattern(limits):
            part, Y = self._part(columns), limits[which][:, columns]
            if part is not None and max(map(len, dependent_columns(np.atleast_2d(part.bandwidth)))) > MAX_CDF_COLUMNS:
                what = f"is a matrix in which more than {MAX_CDF_COLUMNS} columns depend on each other, for which the"
                fix = "use bandwidths (d,), or marginals of fewer columns"
                raise OptionError(f"{what} distribution function is not computed", argument="bandwidth", fix=fix)
            if part is None or columns.size == 1:
                out[which] = 1.0 if part is None else part.cdf(Y)
            else:
                out[which] = sum_normal_cdfs(Y, part.points, part.weights, part.scales, part.bandwidth) / part.total
        return out

    def ppf(self, q: Array) -> Array:
        """Return the smallest y (m,) with cdf(y) ≥ q (m,), for one column. 0 and 1 give the ends of the support."""
        q = np.asarray(q, dtype=np.float64)
        self._places(q, "ppf")
        low, high = self._bracket(q)
        out = np.where(q <= 0.0, low, high)
        some = np.flatnonzero((q > 0.0) & (q < 1.0))
        if some.size:
            order = np.sort(self.points[:, 0])
            most = min(order.size, MAX_CDF_KNOTS, max(MIN_CDF_KNOTS, 4 * some.size))
            table = np.unique(order[np.linspace(0, order.size - 1, most).astype(np.intp)])
            out[some] = invert_cdf(self.cdf, self.density, q[some], low[some], high[some], table)
        return out

    def _bracket(self, q: Array) -> tuple[Array, Array]:
        """Return limits of the quantiles: those of a mixture lie between those of its components."""
        if self._is_local_linear or (self.boundary == "periodic" and np.isfinite(self.bounds).all()):
            low, high = self._ends  # mass that moves has no such limits
            return np.where(q <= 0.0, -np.inf, low).clip(*self.bounds[0]), np.where(q >= 1.0, np.inf, high).clip(
                *self.bounds[0]
            )
        x, ends = self.points[:, 0], self.kernel.quantile(np.array([0.0, 1.0]))
        scales = np.array([1.0] if self.scales is None else [self.scales.min(), self.scales.max()])
        scale = self.bandwidth[0] * scales[:, None]
        down = np.where(q <= 0.0, ends[0], self.kernel.quantile(0.5 * q))
        up = np.where(q >= 1.0, ends[1], -self.kernel.quantile(0.5 * (1.0 - q)))  # 0.5 + 0.5 q may round to 1
        low, high = x.min() + np.min(scale * down, axis=0), x.max() + np.max(scale * up, axis=0)
        return np.clip(low, *self.bounds[0]), np.clip(high, *self.bounds[0])

    def sample(self, n: int, rng: Any = None) -> Array:
        """Draw n rows (n, d): a point with probability proportional to its weight, and a draw from its kernel."""
        draw, rng = BOUNDARIES[self.boundary].draw, checks.generator(rng, "rng")
        if draw is None:
            return self.ppf(rng.random(n))[:, None]
        cumulated = np.cumsum(self.weights)
        which = np.searchsorted(cumulated, rng.random(n) * cumulated[-1], side="right")
        which = np.minimum(which, len(self.points) - 1)
        own = 1.0 if self.scales is None else self.scales[which, None]
        if self.bandwidth.ndim == 2:
            z = rng.standard_normal((n, self.n_features))
            return np.asarray(self.points[which] + own * (z @ np.linalg.cholesky(self.bandwidth).T))
        spread = np.broadcast_to(self.bandwidth * own, (n, self.n_features))
        return draw(self.points[which], spread, self.kernel, self.bounds, rng)

    # ---- other estimates --------------------------------------------------------------------------------

    def marginal(self, columns: Columns) -> KernelEstimate:
        """Return the density of these columns, in this order."""
        chosen = check_columns(columns, self.n_features)
        h = self.bandwidth[chosen] if self.bandwidth.ndim == 1 else self.bandwidth[np.ix_(chosen, chosen)]
        return replace(self, points=self.points[:, chosen], bandwidth=h, bounds=self.bounds[chosen])

    def condition(self, columns: Columns, values: Any) -> KernelEstimate:
        """Return the density of the other columns, in their order, given these columns' values (c,); NaN means unknown.

        Points are weighted by their kernels at the values; with a matrix H they move too (regression within the
        kernel).
        """
        rest = other_columns(columns, self.n_features)
        chosen, given = known_values(columns, values, self.n_features)
        if not np.all(within_bounds(given[None, :], self.bounds[chosen])):
            what = f"lie outside the bounds {self.bounds[chosen].tolist()}"
            raise DataError(what, argument="values", value=given.tolist())
        by_kernel = self._given_by_matrix if self.bandwidth.ndim == 2 else self._given_by_columns
        points, log_weights, h = by_kernel(chosen, given, rest)
        most = float(log_weights.max())
        if not np.isfinite(most):
            what = "are out of reach of every kernel, so no density is left"
            fix = "use a kernel of unbounded support, such as 'gaussian', or a wider bandwidth"
            raise DataError(what, argument="values", value=given.tolist(), fix=fix)
        weights = np.exp(log_weights - most)
        return replace(self, points=points, weights=weights, bandwidth=h, bounds=self.bounds[rest])

    def _given_by_columns(self, columns: Array, values: Array, rest: Array) -> tuple[Array, Array, Array]:
        """Return points, ln of weights and bandwidths of the columns `rest`, by each point's kernels at the values."""
        logs = np.log(self.weights)
        for j, value in zip(columns, values, strict=True):
            level, factor = self.column(int(j)).density(np.array([value]))
            with np.errstate(divide="ignore"):
                logs = logs + (level[0] + np.log(factor[0] * self.bandwidth[j]))
        return self.points[:, rest], logs, self.bandwidth[rest]

    def _given_by_matrix(self, columns: Array, values: Array, rest: Array) -> tuple[Array, Array, Array]:
        """Return each point's Gaussian given the values: mean x_r + H_ro H_oo⁻¹ (v − x_o), covariance by Schur."""
        own = np.ones(len(self.points)) if self.scales is None else self.scales
        H_rr, H_ro = self.bandwidth[np.ix_(rest, rest)], self.bandwidth[np.ix_(rest, columns)]
        factor = cho_factor(self.bandwidth[np.ix_(columns, columns)], lower=True)
        deviations = values - self.points[:, columns]
        solved = cho_solve(factor, deviations.T).T
        distances = np.sum(deviations * solved, axis=1) / own**2
        logs = np.log(self.weights) - 0.5 * distances - columns.size * np.log(own)
        return self.points[:, rest] + solved @ H_ro.T, logs, H_rr - H_ro @ cho_solve(factor, H_ro.T)

    def adapted(self) -> KernelEstimate:
        """Return the adaptive estimate with bandwidths times s_i = (f(x_i) / g)^(−½) (Abramson 1982).

        g is the geometric mean of f at the points. This estimate is the pilot: points in its tails get wider kernels,
        those at its peaks narrower ones.
        """
        log_pilot = replace(self, scales=None).log_density(self.points)
        g = float(np.average(log_pilot, weights=self.weights))
        return replace(self, scales=np.exp(-0.5 * (log_pilot - g)))

    # ---- parts ------------------------------------------------------------------------------------------

    @cached_property
    def total(self) -> float:
        """The total weight Σ w."""
        return float(self.weights.sum())

    @cached_property
    def extended(self) -> Extended:
        """The points, weights and origins whose unbounded kernels add up to the density within the bounds."""
        if not np.isfinite(self.bounds).any():
            return Extended(self.points, self.weights)
        return BOUNDARIES[self.boundary].extend(self.points, self.weights, self._spread, self.kernel, self.bounds)

    @cached_property
    def _folds(self) -> bool:
        """Whether kernels are reflected in closed form: too wide beside the bounds for images of the points."""
        if self.bandwidth.ndim == 2 or not np.isfinite(self.bounds).any():
            return False
        return BOUNDARIES[self.boundary].too_wide(self.points, self._spread, self.kernel, self.bounds)

    @property
    def _spread(self) -> Array:
        """Bandwidths (n, d) of every point in every column."""
        own = np.ones(len(self.points)) if self.scales is None else self.scales
        return np.asarray(self.bandwidth * own[:, None])

    def column(self, j: int) -> Column:
        """Return the kernels of column j, one per point."""
        low, high = map(float, self.bounds[j])
        return BOUNDARIES[self.boundary].column(self.points[:, j], self._spread[:, j], self.kernel, low, high)

    @cached_property
    def _folded(self) -> Folded:
        return Folded(tuple(map(self.column, range(self.n_features))), self.weights)

    @property
    def _scales(self) -> Array | None:
        origin, own = self.extended.origin, self.scales
        return own if origin is None or own is None else np.asarray(own[origin])

    @cached_property
    def _line(self) -> Line | WideLine | Folded | LocalLinearLine:
        h = float(self.bandwidth[0])
        make = BOUNDARIES[self.boundary].wide_line
        if self._folds and self.scales is None and make is not None:
            return make(self.points[:, 0], self.weights, h, self.kernel, *map(float, self.bounds[0]))
        if self._folds:
            return self._folded
        whole = self.extended
        line = Line(whole.points[:, 0], whole.weights, h, self.kernel, self._scales, self.tol)
        return LocalLinearLine(line, *map(float, self.bounds[0])) if self._is_local_linear else line

    @property
    def _is_local_linear(self) -> bool:
        return self.boundary == "linear" and bool(np.isfinite(self.bounds).any())

    @cached_property
    def _space(self) -> Space | Folded:
        if self._folds:
            return self._folded
        whole = self.extended
        return Space(whole.points, whole.weights, self.bandwidth, self.kernel, self._scales, self.tol)

    @cached_property
    def _ends(self) -> Array:
        """The ends of a line, beyond which there is no mass."""
        if np.isfinite(self.bounds[0]).all():
            return np.asarray(self.bounds[0])
        x, widest = self.extended.points[:, 0], 1.0 if self.scales is None else float(self.scales.max())
        far = MAX_KERNEL_REACH * float(self.bandwidth[0]) * widest
        return np.array([x.min() - far, x.max() + far])

    @cached_property
    def _below(self) -> float:
        """The mass of unbounded kernels below the lower bound of one column."""
        low = self.bounds[0, 0]
        return float(self._line.integral(np.array([low]))[0]) if np.isfinite(low) else 0.0

    @cached_property
    def _parts(self) -> dict[bytes, KernelEstimate | None]:
        return {}

    def _part(self, columns: Array) -> KernelEstimate | None:
        """Return the marginal of the columns that a row has, made once; None for an empty row."""
        if columns.size and columns.tobytes() not in self._parts:
            self._parts[columns.tobytes()] = self.marginal(columns)
        return self._parts.get(columns.tobytes())

    def _places(self, y: Array, what: str) -> Array:
        if self.n_features != 1:
            what = f"{what} is for X of one column, and this density has {self.n_features} columns"
            raise OptionError(what, fix="take one of them first: marginal(columns=[0])")
        return np.asarray(y, dtype=np.float64).reshape(-1)

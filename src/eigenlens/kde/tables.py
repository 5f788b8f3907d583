"""Plain arrays of a density for plots and reports: its curve with a band, bandwidth criteria, mass over a plane.

A model here is a fitted estimator whose `model_` is a `Density` (`KernelDensity`, `GaussianMixture`, …), or any
`Density` itself. Of several columns those requested are used, as a marginal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.densities.base import Density
from eigenlens.densities.bins import MAX_BINS
from eigenlens.densities.fitting import single_column_table
from eigenlens.errors import DataError, OptionError
from eigenlens.kde.bandwidth.curve import CROSS_VALIDATION_CURVES, bandwidths_by_rule
from eigenlens.kde.confidence_band import BANDS
from eigenlens.kde.kernels import SMOOTHING_KERNELS
from eigenlens.kde.model import KernelEstimate
from eigenlens.tables.names import feature_names
from eigenlens.tables.rows import count_outside, first_rows, visible_range

RANGE_DRAWS = 500
"""Draws that locate a density, if there are no rows."""

SHOWN_DRAW_SHARE = 0.98
"""The share of the draws that is always shown: the others lie far off by chance."""

SHOWN_BANDWIDTHS, SHOWN_MARGIN = 3.5, 0.15
"""The margin of a figure beyond the rows: in bandwidths of kernels of unbounded support, or in ranges of the rows."""

MIN_CURVE_PLACES, MAX_CURVE_PLACES, PLACES_PER_BANDWIDTH = 512, 8_192, 6.0
"""Places along a line, at least and at most, and per bandwidth where kernels are narrow."""


MAX_RULE_RATIO = 30.0
"""A rule farther than this factor from the median of all is not shown: some fail where values repeat."""


@dataclass(frozen=True, eq=False)
class DensityTable:
    """A density along a line.

    Attributes:
        name: of the column. x: (m,) places. values: (m,) f. low, high: (m,) the band, or None. rows: (n,) data.
        band: its kind, "" without one. level: its coverage.
        kernel: its name, "" if this is not a kernel density. bandwidth: h, or NaN.
        beyond: number of rows that lie outside the range of x.
    """

    name: str
    x: Array
    values: Array
    low: Array | None
    high: Array | None
    rows: Array
    band: str
    level: float
    kernel: str
    bandwidth: float
    beyond: int = 0


@dataclass(frozen=True, eq=False)
class HistogramTable:
    """A histogram: edges (b + 1,) of its bins, and heights (b,), shares of all rows over widths."""

    edges: Array
    heights: Array


@dataclass(frozen=True, eq=False)
class BandwidthTable:
    """A cross-validation criterion as a function of the bandwidth.

    Attributes:
        name: of the column. criterion: "lscv" or "mlcv". h: (m,), in the scale of the kernel. values: (m,).
        fitted: the bandwidth of the density. rules: {rule: its bandwidth}, in ascending order.
        kernel: its name. remarks: warnings and errors of the rules. hidden: {rule: its bandwidth} of rules that are too
            far from the others to be shown.
    """

    name: str
    criterion: str
    h: Array
    values: Array
    fitted: float
    rules: dict[str, float]
    kernel: str
    remarks: tuple[str, ...]
    hidden: dict[str, float]

    def at(self, h: float) -> float:
        """Return the criterion at a bandwidth, interpolated between those tried."""
        return float(np.interp(np.log(h), np.log(self.h), self.values))


@dataclass(frozen=True, eq=False)
class MassLevels:
    """Levels of a density, each with the mass above it.

    Attributes:
        masses: (k,) shares of the mass, ascending. levels: (k,) of the density, descending; NaN where the grid holds
            less than that mass. covered: the mass that the whole grid holds.
    """

    masses: Array
    levels: Array
    covered: float


@dataclass(frozen=True, eq=False)
class MassTable:
    """A density over the plane of two columns.

    Attributes:
        names: of the columns. rows: (n, 2). x: (p,), y: (q,) the centres of the grid's cells.
        values: (q, p), values[i, j] the density at (x[j], y[i]). mass: levels, and the shares of the mass above them.
        beyond: number of rows that lie outside the grid.
    """

    names: tuple[str, str]
    rows: Array
    x: Array
    y: Array
    values: Array
    mass: MassLevels
    beyond: int = 0

    def outside(self) -> Array:
        """Return the rows that lie in no region, by the nearest place of the grid."""
        i, j = _nearest(self.y, self.rows[:, 1]), _nearest(self.x, self.rows[:, 0])
        return np.asarray(self.rows[np.isnan(self.regions()[i, j])])

    def regions(self) -> Array:
        """Return for each place (q, p) the smallest mass whose region contains it, NaN outside all."""
        found = np.full(self.values.shape, np.nan)
        for share, level in zip(self.mass.masses[::-1], self.mass.levels[::-1], strict=True):
            found[self.values >= level] = share
        return found


def density(
    model: Any,
    X: Any = None,
    *,
    column: int | str | None = None,
    band: str | None = "auto",
    level: float = 0.95,
    random_state: Any = 0,
) -> DensityTable:
    """Return a density of one column along a line, with a band if it is a kernel density.

    Args:
        model: see above. X: rows (n, d) or (n,); those of a kernel density if None.
        column: its number or name, if there are several. band: a key of `BANDS`, None, or "auto": "asymptotic" for
            kernel densities, none for others. level: its coverage at each place. random_state: of the bootstrap.

    >>> from eigenlens.densities import Gaussian
    >>> table = density(Gaussian.fit([-1.0, 1.0]))
    >>> float(table.values.max().round(4)), table.band
    (0.3989, '')
    """
    (name,), f, rows, drawn = _select(model, X, None if column is None else [column], 1)
    level = checks.real("level", level, 0.0, 1.0)
    kind = _kind_of_band(band, f)
    x = _places(f, rows, drawn)
    low = high = None
    if kind and isinstance(f, KernelEstimate):
        low, high = BANDS[kind](f, x, level, checks.generator(random_state))
    kernel, h = (f.kernel.name, float(f.bandwidth[0])) if isinstance(f, KernelEstimate) else ("", np.nan)
    values, off = np.exp(f.log_density(x[:, None])), _off(f, X, rows, x[:1], x[-1:])
    return DensityTable(name, x, values, low, high, rows[:, 0], kind, level, kernel, h, off)


def histogram(
    model: Any, X: Any = None, *, column: int | str | None = None, bins: int | str | Sequence[float] = "auto"
) -> HistogramTable:
    """Return a histogram of the rows behind a density, of total area 1, weighted as a kernel density weights its rows.

    Args:
        model, X, column: as for `density`. bins: their number, their edges, or a rule of `numpy.histogram_bin_edges`.

    >>> from eigenlens import KernelDensity
    >>> table = histogram(KernelDensity(bandwidth=1.0).fit([[0.0], [1.0], [1.5], [4.0]]), bins=2)
    >>> table.edges, table.heights
    (array([0., 2., 4.]), array([0.375, 0.125]))
    """
    _, f, rows, _ = _select(model, X, None if column is None else [column], 1)
    if X is None and not isinstance(f, KernelEstimate):
        what = "needs rows, and this density keeps none"
        raise OptionError(what, argument="histogram", value=bins, fix="give the rows as X")
    weight = f.weights if X is None and isinstance(f, KernelEstimate) else np.ones(len(rows))
    if isinstance(bins, Integral):
        bins = checks.integer("histogram", bins, 1, MAX_BINS)
    try:
        given: Any = bins if np.ndim(bins) == 0 else checks.numbers("histogram", bins)
        edges = np.histogram_bin_edges(rows[:, 0], given)
    except (TypeError, ValueError) as error:
        fix = "give the number of bins, their ascending edges, or a rule of numpy.histogram_bin_edges"
        raise OptionError(f"is not a number of bins: {error}", argument="histogram", value=bins, fix=fix) from error
    counts = np.histogram(rows[:, 0], edges, weights=weight)[0]
    return HistogramTable(edges, counts / (weight.sum() * np.diff(edges)))


def bandwidths(
    model: Any, criterion: str = "lscv", *, column: int | str | None = None, count: int = 120
) -> BandwidthTable:
    """Return the cross-validation criterion at bandwidths around those of all rules, for rows of a kernel density.

    The criterion is that of the Gaussian kernel; for other kernels bandwidths are converted by canonical ones.

    >>> from eigenlens import KernelDensity
    >>> x = np.random.default_rng(0).standard_normal((300, 1))
    >>> table = bandwidths(KernelDensity().fit(x), "mlcv")
    >>> bool(abs(np.log(table.h[np.argmax(table.values)] / table.rules["mlcv"])) < 0.1)
    True
    """
    (name,), f, rows, _ = _select(model, None, None if column is None else [column], 1)
    if not isinstance(f, KernelEstimate):
        what = f"of type {type(model).__name__} has no bandwidth"
        raise OptionError(what, argument="model", fix="give a fitted KernelDensity")
    kind, count = checks.name("criterion", criterion, CROSS_VALIDATION_CURVES), checks.integer("count", count, 2)
    x, weight = np.ascontiguousarray(rows[:, 0]), None if np.all(f.weights == 1.0) else f.weights
    factor = f.kernel.canonical() / SMOOTHING_KERNELS["gaussian"].canonical()
    found, remarks = bandwidths_by_rule(x, weight)
    if not found:
        raise DataError(f"no rule has a bandwidth for these rows: {remarks[0]}")
    middle = float(np.median(list(found.values())))
    near = {rule: value for rule, value in found.items() if 1.0 / MAX_RULE_RATIO < value / middle < MAX_RULE_RATIO}
    hidden = {rule: factor * value for rule, value in found.items() if rule not in near}
    remarks += tuple(f"{rule}: h = {value:.3g}, not shown" for rule, value in hidden.items())
    fitted = float(f.bandwidth[0]) / factor
    about = [*near.values(), *([fitted] if 1.0 / MAX_RULE_RATIO < fitted / middle < MAX_RULE_RATIO else [])]
    h = np.geomspace(min(about) / 3.0, max(about) * 3.0, count)
    rules = {rule: factor * value for rule, value in sorted(near.items(), key=lambda item: item[1])}
    values = CROSS_VALIDATION_CURVES[kind](x, weight, h)
    return BandwidthTable(name, kind, factor * h, values, factor * fitted, rules, f.kernel.name, remarks, hidden)


def masses_of_plane(
    model: Any,
    X: Any = None,
    *,
    columns: Sequence[int | str] | None = None,
    masses: Sequence[float] = (0.5, 0.8, 0.95),
    resolution: int = 200,
) -> MassTable:
    """Return a density of two columns on a grid, and the levels of the smallest regions of given mass.

    Args:
        model, X: as for `density`. columns: two columns, by number or name. masses: shares between 0 and 1.
        resolution: the grid has as many places along each axis. Cost: `resolution`² densities.

    >>> from eigenlens.densities import Gaussian
    >>> table = masses_of_plane(Gaussian.fit([[-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]), masses=[0.5])
    >>> table.mass.levels.round(3), round(1.0 / (4.0 * np.pi), 3)
    (array([0.08]), 0.08)
    """
    names, f, rows, drawn = _select(model, X, columns, 2)
    p = checks.integer("resolution", resolution, 2, checks.MAX_GRID)
    shares = [checks.real("masses", share, 0.0, 1.0) for share in checks.listed("masses", masses)]
    if not shares:
        raise OptionError("is empty", argument="masses", fix="give at least one share between 0 and 1")
    ends = np.array([_window(f, rows, drawn, j) for j in range(2)])
    x, y = (_centres(low, high, p) for low, high in ends.tolist())
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    values = np.exp(f.log_density(grid)).reshape(p, p)
    found = mass_levels(values, float((x[1] - x[0]) * (y[1] - y[0])), shares)
    return MassTable((names[0], names[1]), rows, x, y, values, found, _off(f, X, rows, *ends.T))


def mass_levels(values: Array, cell: float, masses: Sequence[float]) -> MassLevels:
    """Return the levels t with ∫ f [f ≥ t] = mass: {f ≥ t} is the smallest region of that mass (Hyndman 1996, §2).

    Args:
        values: f at the centres of equal cells, of any shape. cell: their length, area or volume.
        masses: between 0 and 1.

    Mass beyond the grid is assumed to lie below every level. Cost: O(p log p) for p cells.

    >>> f = np.array([1.0, 2.0, 4.0, 2.0, 1.0]) / 10.0
    >>> found = mass_levels(f, 1.0, [0.2, 0.6, 0.99])
    >>> found.levels, found.covered
    (array([0.4, 0.2, 0.1]), 1.0)
    """
    f = np.sort(np.ravel(values))[::-1]
    mass = np.cumsum(f) * cell
    # Half of a cell's own mass counts as above its level: so equal levels make no jump.
    middles = mass - 0.5 * cell * f
    wanted = np.sort(np.asarray(masses, dtype=np.float64))
    levels = np.interp(wanted, middles, f)
    return MassLevels(wanted, np.where(wanted > mass[-1], np.nan, levels), float(mass[-1]))


# ---- the density, its columns and the range shown ----------------------------------------------------------


def _select(model: Any, X: Any, columns: Any, count: int) -> tuple[tuple[str, ...], Density, Array, Array]:
    """Return names, the density of `count` columns, rows (n, count) and draws; rows are X, or points or draws of f."""
    whole = _frozen(model)
    drawn = np.asarray(whole.sample(RANGE_DRAWS, np.random.default_rng(0)))
    if drawn.dtype.kind != "f":
        what = f"of type {type(model).__name__} is a density of categories, not of numbers along an axis"
        raise OptionError(what, argument="model")
    d, argument = drawn.shape[1], "column" if count == 1 else "columns"
    known = feature_names(model, d)
    if columns is None and d != count:
        fix = f"choose {'one' if count == 1 else 'two'} of them with {argument}=…"
        raise OptionError(f"is a density of {d} columns, but the figure is of {count}", argument="model", fix=fix)
    wanted = range(d) if columns is None else columns
    chosen = checks.column_numbers(argument, wanted, d, known, low=count, high=count)
    names = tuple(known[j] for j in chosen)
    rows = drawn if X is None and not isinstance(whole, KernelEstimate) else _rows(whole, X, d)
    if chosen != list(range(d)) and not hasattr(whole, "marginal"):
        what = "is no density of which one column could be drawn alone"
        raise OptionError(what, argument="model", fix="give a density, such as KernelDensity")
    f = whole if chosen == list(range(d)) else whole.marginal(chosen)
    return names, f, rows[:, chosen], drawn[:, chosen]


def _frozen(model: Any) -> Density:
    found = model.model_ if hasattr(type(model), "model_") else model
    if not (hasattr(found, "log_density") and hasattr(found, "sample")):
        what = f"of type {type(model).__name__} is not a density"
        raise OptionError(what, argument="model", fix="give a fitted KernelDensity, or any density")
    return found  # type: ignore[no-any-return]


def _rows(whole: Any, X: Any, d: int) -> Array:
    if X is None:
        return np.asarray(whole.points)
    rows = first_rows(single_column_table(X))
    if rows.shape[1] != d:
        raise DataError(f"X has {rows.shape[1]} columns, but the density is of {d}")
    rows = rows[np.all(np.isfinite(rows), axis=1)]
    if not len(rows):
        raise DataError("X has no row without NaN or infinity, so there is nothing to show")
    return rows


def _kind_of_band(band: str | None, f: Density) -> str:
    """Return the band's name, "" for none."""
    if band is None or (band == "auto" and not isinstance(f, KernelEstimate)):
        return ""
    kind = "asymptotic" if band == "auto" else checks.name("band", band, BANDS)
    if not isinstance(f, KernelEstimate):
        what = f"is for kernel densities; this is a {type(f).__name__}"
        raise OptionError(what, argument="band", value=band, fix="leave band out")
    return kind


def _window(f: Density, rows: Array, drawn: Array, j: int) -> tuple[float, float]:
    """Return the range to show of column j: that of most rows and most of the mass, with a margin."""
    if isinstance(f, KernelEstimate):
        return _kernel_window(f, rows, j)
    ends = [visible_range(drawn[:, j], kept=SHOWN_DRAW_SHARE)]
    if rows.size and not np.array_equal(rows[:, j], drawn[:, j]):
        ends.append(visible_range(rows[:, j]))
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    more = SHOWN_MARGIN * (high - low) or 1.0
    return low - more, high + more


def _kernel_window(f: KernelEstimate, rows: Array, j: int) -> tuple[float, float]:
    """Return the range to show of column j of a kernel density, from its points, within the bounds."""
    ends = [visible_range(f.points[:, j], f.weights)]
    if not np.array_equal(f.points[:, j], rows[:, j]):
        ends.append(visible_range(rows[:, j]))
    h = float(f.bandwidth[j] if f.bandwidth.ndim == 1 else np.sqrt(f.bandwidth[j, j]))
    # The adaptive kernel of an isolated row may be wider than all the rest; three bandwidths of tail are enough.
    widest = 1.0 if f.scales is None else min(3.0, float(f.scales.max()))
    more = 1.02 * h * widest * min(SHOWN_BANDWIDTHS, f.kernel.radius)
    low, high = min(low for low, _ in ends) - more, max(high for _, high in ends) + more
    return max(low, float(f.bounds[j, 0])), min(high, float(f.bounds[j, 1]))


def _off(f: Density, X: Any, rows: Array, low: Array, high: Array) -> int:
    """Return how many rows lie outside; draws do not count."""
    return count_outside(rows, low, high) if X is not None or isinstance(f, KernelEstimate) else 0


def _places(f: Density, rows: Array, drawn: Array) -> Array:
    low, high = _window(f, rows, drawn, 0)
    wanted = PLACES_PER_BANDWIDTH * (high - low) / float(f.bandwidth[0]) if isinstance(f, KernelEstimate) else 0.0
    return np.linspace(low, high, int(np.clip(wanted, MIN_CURVE_PLACES, MAX_CURVE_PLACES)))


def _nearest(places: Array, values: Array) -> Array:
    """Return the index of the place nearest to each value."""
    return np.searchsorted(0.5 * (places[1:] + places[:-1]), values)


def _centres(low: float, high: float, p: int) -> Array:
    """Return the centres of p equal cells between two ends."""
    return low + (high - low) * (np.arange(p) + 0.5) / p

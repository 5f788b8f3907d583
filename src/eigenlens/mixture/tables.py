"""Tables of Gaussian mixtures for plots and reports: ellipses in a plane, densities on a line, responsibilities.

A model here is a fitted `GaussianMixture` or the frozen `Mixture`. Components are numbered from 0, as `predict` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, to_numpy
from eigenlens.data.memory import ArraySource
from eigenlens.densities.bins import range_edges
from eigenlens.densities.mixture import Mixture
from eigenlens.densities.mixture_terms import covariance_matrix
from eigenlens.errors import DataError, OptionError, recorded_warnings
from eigenlens.mixture.options import warn_mixture_fit
from eigenlens.mixture.planes import ellipse_radius
from eigenlens.mixture.select import SELECTION_CRITERIA, MixtureSelection
from eigenlens.tables.names import feature_names
from eigenlens.tables.rows import count_outside, first_rows, visible_range

ELLIPSE_POINTS, LINE_POINTS, MOST_BINS = 181, 400, 200
"""Points around an ellipse and along a line, which look smooth at any size, and the most bins of a histogram."""

LINE_REACH = 4.0
"""A line goes to this many standard deviations on either side of each component."""


@dataclass(frozen=True, eq=False)
class EllipseTable:
    """The components in the plane of two columns, as ellipses.

    Attributes:
        names: of the columns. weights: (K,). means: (K, 2).
        levels: (p,) the share of its component's mass in each ellipse. outlines: (K, p, m, 2) their borders.
        rows: (n, 2) those that are complete in these columns. labels: (n,) their most likely component.
        positions: (n,) of these rows among those of X. hidden: the number of rows left out because of missing values.
    """

    names: tuple[str, str]
    weights: Array
    means: Array
    levels: Array
    outlines: Array
    rows: Array
    labels: Array
    positions: Array
    hidden: int


@dataclass(frozen=True, eq=False)
class LineTable:
    """The density of one column along a line, and its components.

    Attributes:
        name: of the column. x: (p,). parts: (K, p) pi_k N(x | mu_k, s_k²). weights: (K,).
        edges: (m + 1,) of a histogram, finite; heights: (m,) its density. Both are empty without rows.
        beyond: the number of rows beyond the ends of the line.
    """

    name: str
    x: Array
    parts: Array
    weights: Array
    edges: Array
    heights: Array
    beyond: int = 0

    @property
    def density(self) -> Array:
        """(p,) the sum of the parts."""
        return np.asarray(self.parts.sum(axis=0))


@dataclass(frozen=True, eq=False)
class ShareTable:
    """Responsibilities of rows, sorted by their most likely component and within it the most certain first.

    Attributes:
        order: (n,) which rows of X. values: (n, K). labels: (n,) most likely components.
    """

    order: Array
    values: Array
    labels: Array

    @property
    def uncertain(self) -> int:
        """The number of rows without a component of probability 0.9 or more."""
        return int(np.count_nonzero(self.values.max(axis=1) < 0.9))


@dataclass(frozen=True, eq=False)
class CurveTable:
    """A criterion over the number of components, one curve per covariance structure.

    Attributes:
        criterion: its name. types: (t,). components: one array (m,) per type, ascending, and values and usable
        likewise. best: the type and number of components of the best.
        failed: (type, number) pairs without a value.
    """

    criterion: str
    types: tuple[str, ...]
    components: tuple[Array, ...]
    values: tuple[Array, ...]
    usable: tuple[Array, ...]
    best: tuple[str, int]
    failed: tuple[tuple[str, int], ...]

    @property
    def best_value(self) -> float:
        """The criterion of the best mixture."""
        t = self.types.index(self.best[0])
        return float(self.values[t][self.components[t] == self.best[1]][0])


def frozen_mixture(model: Any) -> Mixture:
    """Return the frozen mixture of an estimator, or the mixture itself."""
    found = model if isinstance(model, Mixture) else getattr(model, "model_", None)
    if not isinstance(found, Mixture):
        what = f"is a {type(model).__name__}, not a mixture"
        raise OptionError(what, argument="model", fix="give a fitted GaussianMixture")
    return found


def ellipses(
    model: Any,
    X: Any = None,
    columns: Sequence[Any] = (0, 1),
    *,
    levels: Sequence[float] = (0.5, 0.95),
    names: Iterable[str] | None = None,
) -> EllipseTable:
    """Return ellipses of the components' marginal densities in two columns, and the rows of X with their components.

    Rows belong to components by all of their columns, not only by those two.

    >>> from eigenlens.densities.covariance import Full
    >>> from eigenlens.densities.gaussian import Gaussian
    >>> one = Mixture(np.ones(1), (Gaussian(np.zeros(2), Full(np.diag([4.0, 1.0]))),))
    >>> ellipses(one, levels=[0.5]).outlines[0, 0].max(axis=0).round(3)
    array([2.355, 1.177])
    """
    mixture = frozen_mixture(model)
    known = feature_names(model, mixture.means.shape[1], names)
    pair = checks.column_numbers("columns", columns, len(known), known, low=2, high=2)
    masses = np.array([checks.real("levels", level, 0.0, 1.0) for level in checks.listed("levels", levels)])
    plane = mixture.marginal(pair)
    labelled = _label_rows(model, X, pair)
    outlines = np.stack([_outlines(part, masses) for part in plane.components])
    return EllipseTable((known[pair[0]], known[pair[1]]), mixture.weights, plane.means, masses, outlines, *labelled)


def _outlines(component: Any, levels: Array) -> Array:
    """Return ellipses (p, m, 2), x = mu + r L u, one per level."""
    turn = np.linspace(0.0, 2.0 * np.pi, ELLIPSE_POINTS)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    r = ellipse_radius(levels)
    return np.asarray(component.mean + r[:, None, None] * (circle @ np.linalg.cholesky(covariance_matrix(component)).T))


def _label_rows(model: Any, X: Any, pair: list[int]) -> tuple[Array, Array, Array, int]:
    """Return the rows that are complete in two columns, their components and positions, and the number of others."""
    if X is None:
        return np.empty((0, 2)), np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), 0
    labels, rows = _responsibilities(model, X).argmax(axis=1), first_rows(X)[:, pair]
    positions = np.flatnonzero(np.isfinite(rows).all(axis=1))
    return rows[positions], labels[positions], positions, len(rows) - len(positions)


def _responsibilities(model: Any, X: Any) -> Array:
    """Return P(component | row) (n, K); an estimator takes every kind of X, and checks its columns."""
    if hasattr(model, "predict_proba") and hasattr(model, "weights_"):
        return np.asarray(to_numpy(model.predict_proba(X)), dtype=np.float64)
    mixture = frozen_mixture(model)
    return mixture.responsibilities(_rows_of_width(X, mixture.means.shape[1]))


def _rows_of_width(X: Any, d: int) -> Array:
    rows = first_rows(X)
    if rows.shape[1] != d:
        raise DataError(f"X has {rows.shape[1]} columns, but the mixture has {d}")
    return rows


def line(
    model: Any,
    X: Any = None,
    column: Any = 0,
    *,
    bins: int | tuple[Any, Any] | None = None,
    names: Iterable[str] | None = None,
) -> LineTable:
    """Return the marginal density of one column along a line, with the histogram of that column of X or of bins.

    bins: how many, or None for the rule of Freedman and Diaconis, but at least √n; without X a pair (edges, counts), as
    `fit_binned` takes it, of which open bins are not drawn.

    >>> from eigenlens.densities.covariance import Full
    >>> from eigenlens.densities.gaussian import Gaussian
    >>> one = Mixture(np.ones(1), (Gaussian(np.zeros(1), Full(np.eye(1))),))
    >>> table = line(one, bins=([-1.0, 0.0, 1.0], [2, 6]))
    >>> table.heights, round(float(np.trapezoid(table.density, table.x)), 3)
    (array([0.25, 0.75]), 1.0)
    """
    mixture = frozen_mixture(model)
    if isinstance(bins, tuple) and len(bins) != 2:
        raise OptionError("must be a number, or a pair (edges, counts)", argument="bins", value=bins)
    known = feature_names(model, mixture.means.shape[1], names)
    j = checks.column_number("column", column, len(known), known)
    alone = mixture.marginal([j])
    values = None if X is None else _values(X, j, len(known))
    ends = _ends(alone, values, bins)
    edges, heights = _histogram(values, bins, ends)
    x = _grid(alone, ends)
    off = 0 if values is None else count_outside(values[:, None], *np.array(ends)[:, None])
    return LineTable(known[j], x, np.exp(alone.log_joint(x[:, None]).T), mixture.weights, edges, heights, off)


def _values(X: Any, j: int, d: int) -> Array:
    """Return the observed values of column j."""
    rows = _rows_of_width(X, d)
    return np.asarray(rows[np.isfinite(rows[:, j]), j])


def _component_points(alone: Mixture) -> Array:
    """Return points (K, q) along each component, to four standard deviations on either side."""
    parts: list[Any] = list(alone.components)
    s = np.sqrt([covariance_matrix(part)[0, 0] for part in parts])[:, None]
    return np.asarray(alone.means + s * np.linspace(-LINE_REACH, LINE_REACH, 81))


def _ends(alone: Mixture, values: Array | None, bins: Any) -> tuple[float, float]:
    """Return the interval that has the components, the rows and the bins, without distant parts of little mass."""
    each = _component_points(alone)
    found = [visible_range(each.ravel(), np.repeat(alone.weights, each.shape[1]))]
    if values is not None and values.size:
        found.append(visible_range(values))
    elif isinstance(bins, tuple):
        edges = checks.numbers("bins", bins[0])
        found += [(float(edge), float(edge)) for edge in edges[np.isfinite(edges)][[0, -1]]]
    return min(low for low, _ in found), max(high for _, high in found)


def _histogram(values: Array | None, bins: Any, ends: tuple[float, float]) -> tuple[Array, Array]:
    """Return edges and heights; heights are shares of all rows, also of those beyond the ends."""
    if values is None and not isinstance(bins, tuple):
        return np.empty(0), np.empty(0)
    if values is None:
        edges, counts = (checks.numbers("bins", part) for part in bins)
        n = counts.sum()
    else:
        edges = _edges(values[(values >= ends[0]) & (values <= ends[1])], bins)
        counts, n = np.histogram(values, edges)[0].astype(np.float64), values.size
    drawn = np.isfinite(edges)
    closed = drawn[1:] & drawn[:-1]
    return edges[drawn], counts[closed] / (n * np.diff(edges[drawn]))


def _edges(values: Array, bins: int | None) -> Array:
    if bins is not None:
        return range_edges(values, checks.integer("bins", bins, 1, checks.MAX_GRID))
    return range_edges(values, min(_bin_count(values), MOST_BINS))


def _bin_count(values: Array) -> int:
    # The quartiles of a mixture lie far apart, so that the rule of Freedman and Diaconis alone would hide narrow
    # components.
    return max(len(range_edges(values, rule)) - 1 for rule in ("fd", "sqrt"))


def _grid(alone: Mixture, ends: tuple[float, float]) -> Array:
    """Return points (p,) evenly between the ends, and closer where components are narrow."""
    each = _component_points(alone).ravel()
    return np.unique(np.append(each[(each >= ends[0]) & (each <= ends[1])], np.linspace(*ends, LINE_POINTS)))


def shares(model: Any, X: Any) -> ShareTable:
    """Return P(component | row) of the rows of X, sorted by component and then by certainty.

    >>> from eigenlens.densities.covariance import Full
    >>> from eigenlens.densities.gaussian import Gaussian
    >>> two = Mixture(np.full(2, 0.5), tuple(Gaussian(np.array([m]), Full(np.eye(1))) for m in (0.0, 4.0)))
    >>> shares(two, [[4.0], [1.9], [0.0]]).order
    array([2, 1, 0])
    """
    return sort_shares(_responsibilities(model, X))


def sort_shares(values: Array) -> ShareTable:
    """Return P(component | row) (n, K) sorted by component and then by certainty."""
    labels = values.argmax(axis=1)
    order = np.lexsort((-values.max(axis=1), labels))
    return ShareTable(order, values[order], labels[order])


def curves(table: MixtureSelection, criterion: str | None = None) -> CurveTable:
    """Return the table of `select_mixture` as curves over the number of components."""
    chosen = table.criterion if criterion is None else checks.name("criterion", criterion, SELECTION_CRITERIA)
    values, found = np.asarray(getattr(table, chosen)), np.isfinite(getattr(table, chosen))
    if not found.any():
        raise DataError(f"the table has no {chosen}: no fit succeeded, or select_mixture was called without cv")
    types = tuple(dict.fromkeys(table.types))
    rows_by_type = [np.flatnonzero((np.array(table.types) == kind) & found) for kind in types]
    index = [rows[np.argsort(table.components[rows])] for rows in rows_by_type]
    loss = SELECTION_CRITERIA[chosen] * values
    rank = np.where(found & table.usable, loss, np.inf)
    best = int(np.argmin(rank if np.isfinite(rank).any() else np.where(found, loss, np.inf)))
    failed = tuple((table.types[i], int(table.components[i])) for i in np.flatnonzero(~found))
    components, curve_values, usable = (
        tuple(whole[rows] for rows in index) for whole in (table.components, values, table.usable)
    )
    winner = table.types[best], int(table.components[best])
    return CurveTable(chosen, types, components, curve_values, usable, winner, failed)


def mixture_remarks(model: Any) -> list[Warning]:
    """Return what the fit of a GaussianMixture warned of: an early stop, components that collapsed or were lost."""
    names = getattr(model, "feature_names_in_", None)
    columns = ArraySource(np.empty((0, model.means_.shape[1])), names=names)
    return recorded_warnings(warn_mixture_fit, model._fitted, columns, model.tol, model.max_iter)


def has_collapsed(model: Any) -> bool:
    """Return whether a component of a fitted mixture is clamped or was lost: its likelihood is not to be compared."""
    return bool(model._fitted.clamped or model._fitted.lost)


def component_separation(model: Any) -> Array:
    """Return the variance (d,) of the component means in each column, over the mean variance within components.

    It is infinite where the means differ and the components have no variance.

    >>> from eigenlens.densities.covariance import Diagonal
    >>> from eigenlens.densities.gaussian import Gaussian
    >>> parts = [Gaussian(np.array([m, 0.0, 0.0]), Diagonal(np.array([4.0, 1.0, 1.0]))) for m in (-2.0, 2.0)]
    >>> component_separation(Mixture(np.full(2, 0.5), tuple(parts)))
    array([1., 0., 0.])
    """
    mixture = frozen_mixture(model)
    within = mixture.weights @ np.stack([_variances(part) for part in mixture.components])
    between = mixture.weights @ (mixture.means - mixture.mean) ** 2
    fallback = np.where(between > 0.0, np.inf, 0.0)
    return np.asarray(np.divide(between, within, out=fallback, where=within > 0.0))


def _variances(component: Any) -> Array:
    covariance = component.covariance
    return np.asarray(np.diag(covariance()) if callable(covariance) else covariance.variances)


def uncertainty(proba: Array) -> Array:
    """Return 1 − P(most likely component) (n,) of responsibilities (n, K)."""
    return np.asarray(np.maximum(0.0, 1.0 - proba.max(axis=1)))


def weighted_bins(x: Array, weight: Array | None, most: int = 120) -> tuple[Array, Array]:
    """Return edges (m + 1,) and weights (m,) of a histogram of values (n,), one bin per value where few are evenly
    spaced.

    Values that lie far off are counted in an open bin.

    >>> weighted_bins(np.array([1.0, 2.0, 3.0]), np.array([5.0, 1.0, 2.0]))
    (array([0.5, 1.5, 2.5, 3.5]), array([5., 1., 2.]))
    """
    seen = np.isfinite(x)
    x, w = x[seen], np.ones(int(seen.sum())) if weight is None else weight[seen]
    low, high = visible_range(x, w)
    edges = _bin_edges(x[(x >= low) & (x <= high)], most)
    below, above = [-np.inf] * bool(x.min() < low), [np.inf] * bool(x.max() > high)
    edges = np.array([*below, *edges, *above])
    return edges, np.histogram(x, edges, weights=w)[0]


def _bin_edges(x: Array, most: int) -> Array:
    values = np.unique(x)
    widths = np.diff(values)
    if 1 < values.size <= most and np.ptp(widths) < 1e-6 * widths.mean():
        return np.append(values - 0.5 * widths.mean(), values[-1] + 0.5 * widths.mean())
    return np.histogram_bin_edges(x, int(np.clip(_bin_count(x), 5, most)))

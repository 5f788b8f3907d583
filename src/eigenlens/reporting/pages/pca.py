"""The page of a PCA: scores, variance, columns, what took no part in the fit, outliers and reconstruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenlens.arrays import Array
from eigenlens.data.memory import ArraySource
from eigenlens.linalg.resampling import permuted_spectra
from eigenlens.pca import interpret as reading
from eigenlens.pca import tables
from eigenlens.pca.outliers import OutlierTable, outlier_limits, row_distances
from eigenlens.reporting.charts import (
    Chart,
    arrow,
    axes_points,
    axes_shown,
    facts,
    heat,
    layer,
    loading_heat,
    marks,
    plane_points,
    points,
    table_chart,
)
from eigenlens.reporting.packing import RowNumbers
from eigenlens.reporting.pages.covariates import covariate_charts, find_covariates, supplementary_categories
from eigenlens.reporting.pages.reconstruction import image_components, reconstruction_chart
from eigenlens.reporting.remarks import dominant_columns
from eigenlens.reporting.rows import ShownRows, axes_backdrop
from eigenlens.tables.names import axis_names, axis_stem
from eigenlens.tables.text_table import count_noun
from eigenlens.tables.values import VarianceTable

BARS, CELLS, ARROWS = 30, 40, 25
"""The largest numbers of components in a scree plot, rows in a heat map, and arrows in a plane."""

FIRST_PLANE = (0, 1)

MAX_LENGTHS = 20_000
"""Of more rows the page does not name first those that two components show best."""

SHUFFLED, TIMES = 100_000_000, 40
"""Parallel analysis is run if n · d · min(n, d) is at most this, with this many shuffled data sets."""


def pca_page(model: Any, rows: ShownRows) -> list[Chart]:
    """Return the charts of a fitted PCA."""
    if not rows.total:
        return _without_rows(model, rows)
    Z = tables.unwhitened_scores(model, rows.given)
    fitted = _took_part(rows)
    rows = _filled(model, rows, Z)
    backdrop, words = axes_backdrop(rows, Z, model.model_.scores)
    side = tables.image_side(rows.X)
    others = find_covariates(model, rows, Z)
    axes = range(axes_shown(*Z.shape))
    charts = [_scores(model, Z, axes, others, backdrop, words), *_standardised(model, rows)]
    charts += [_scree(model, *_noise(model, _without(rows, np.flatnonzero(~fitted)))), *covariate_charts(model, others)]
    charts += [image_components(model, side)] if side else _columns(model, rows, Z, others)
    charts += [] if side else _contributions(model, rows)
    charts += [_row_table(model, Z, rows), *_outliers(model, rows), reconstruction_chart(model, rows, side)]
    return [*charts, _about(model)]


def pca_live(model: Any, rows: ShownRows, Z: Array, which: Array, axes: Sequence[int], spectrum: Array) -> list[Chart]:
    """Return the charts of a PCA that cost little more than the scores Z (m, k) of the rows shown, on two components.

    rows: those of which columns are looked at, at the positions `which` among the rows shown. spectrum: (d,) all
    eigenvalues, of which the scree plot shows more than the model keeps.
    """
    rows = _filled(model, rows, Z[which])
    others = find_covariates(model, rows, Z[which])
    beside = covariate_charts(model, others, len(which) if len(which) < len(Z) else 0)
    main = _scores(model, Z, axes, others, _lengths(model, Z, rows.X), "")
    charts = [main, _scree(model, None, "", spectrum), *beside]
    side = tables.image_side(rows.X)
    if side:
        return [*charts, image_components(model, side), _about(model)]
    plane = [_biplot(model, rows, Z, axes, others), _circle(model, rows, others, axes)] if len(axes) > 1 else []
    return [*charts, *plane, _loadings(model, rows), *_contributions(model, rows, axes), _about(model)]


def _without_rows(model: Any, rows: ShownRows) -> list[Chart]:
    """Return the charts of a PCA of a covariance matrix, which has no scores."""
    circle = [_circle(model, rows, None)] if model.n_components_ > 1 else []
    scree = _scree(model, None, " Parallel analysis is left out: it needs rows.")
    return [*circle, scree, _loadings(model, rows), *_contributions(model, rows), _about(model)]


def _columns(model: Any, rows: ShownRows, Z: Array, supplementary: reading.Supplementary | None) -> list[Chart]:
    """Return the charts of what components say of columns; a table of images has images of the components instead."""
    if Z.shape[1] == 1:
        return [_loadings(model, rows)]
    axes = range(axes_shown(*Z.shape))
    return [_loadings(model, rows), _biplot(model, rows, Z, axes, supplementary), _circle(model, rows, supplementary)]


def _filled(model: Any, rows: ShownRows, Z: Array) -> ShownRows:
    """Return the rows with missing values imputed from the components."""
    missing, found = np.isnan(rows.X), model.model_
    return replace(rows, X=np.where(missing, Z @ found.row_map() + found.mean, rows.X)) if missing.any() else rows


def _took_part(rows: ShownRows) -> Array:
    """Return which rows (m,) took part in the fit: those with an entry and a positive weight."""
    seen = np.asarray(np.isfinite(rows.X).any(axis=1))
    return seen if rows.weight is None else seen & (rows.weight > 0.0)


def _without(rows: ShownRows, places: Array) -> ShownRows:
    """Return the rows without some of those shown."""
    if not places.size:
        return rows
    kept = np.delete(np.arange(len(rows.X)), places)
    return replace(rows.take(kept), total=rows.total - places.size)


def _noise(model: Any, rows: ShownRows) -> tuple[Array | None, str]:
    """Return the 5% and 95% points (2, q) of the eigenvalues of shuffled columns, or why there are none.

    Noise shrinks as rows grow, so a sample of them, or other rows than those of the fit, would have another band.
    """
    n, d = rows.X.shape
    weight = float(n if rows.weight is None else rows.weight.sum())
    reasons = {
        "only a sample of the rows is shown": rows.sampled,
        "it would shuffle too many entries": n * d * min(n, d) > SHUFFLED,
        "it needs 3 rows": n < 3,
        "these are not the rows, or the weights, of the fit": abs(weight - model.model_.weight) > 1e-6 * weight,
    }
    if any(reasons.values()):
        return None, f" Parallel analysis is left out: {next(why for why, holds in reasons.items() if holds)}."
    rng = np.random.default_rng(0)
    spectra = permuted_spectra(rows.X, TIMES, rng, standardize=bool(model.standardize), weight=rows.weight)
    return np.quantile(spectra, [0.05, 0.95], axis=0), (
        f" The band is where 90% of {TIMES} tables with shuffled columns lie: components above it are more than noise."
    )


def _about(model: Any) -> Chart:
    enough = tables.variance(model).reaching(90.0)
    kept = 100.0 * float(np.sum(model.model_.variances)) / model.model_.total if model.model_.total else 0.0
    return facts(
        "The model",
        [
            ("components", model.n_components_),
            ("variance kept", f"{kept:.1f}%"),
            ("90% of the variance", count_noun(enough, "component") if enough else "more components than are kept"),
            ("columns", "standardised" if model.standardize else "centred, in their own units"),
            ("solver", model.solver_),
        ],
    )


def _scree(model: Any, band: Array | None, words: str, spectrum: Array | None = None) -> Chart:
    """Return the shares of components; of a whole spectrum (d,), those that the model keeps and those after them."""
    found = model.model_
    variance = tables.variance(model) if spectrum is None else VarianceTable(spectrum, found.total, axis_stem(found))
    q, kept = min(BARS, len(variance.shares)), BARS if spectrum is None else model.n_components_
    x = [str(i) for i in range(1, q + 1)]
    layers = [layer("bar", "share of a component", x=x[:kept], y=variance.shares[:q][:kept])]
    if q > kept:
        layers.append(layer("bar", "not kept", x=x[kept:], y=variance.shares[kept:q], colour="grey"))
    if band is not None and band.size:
        low, high = 100.0 * band[:, :q] / (model.model_.total or 1.0)
        label = "noise (parallel analysis)"
        layers.append(layer("band", x=x[: len(low)], low=low, high=high, colour="orange"))
        layers.append(layer("line", label, x=x[: len(high)], y=high, colour="orange", dash=True))
    layers += [
        layer("line", "cumulative", x=x, y=variance.cumulative[:q], colour="#e69f00"),
        layer("dot", x=x, y=variance.cumulative[:q], colour="#e69f00"),
        layer("rule-y", y=[90.0], text=["90%"], colour="grey", dash=True),
    ]
    about = "How much of the variance each component holds." + words
    about += f" The first {q} of {len(variance.shares)} components." if q < len(variance.shares) else ""
    return marks("Scree", *layers, about=about, x="component", y="% of the variance")


def _axis(model: Any, j: int) -> str:
    return f"{axis_stem(model)}{j + 1} ({tables.variance(model).shares[j]:.1f}%)"


def _scores(
    model: Any, Z: Array, axes: Sequence[int], others: reading.Supplementary | None, backdrop: Chart, words: str
) -> Chart:
    if Z.shape[1] == 1:
        return plane_points("Scores", Z, [_axis(model, 0)], "The rows on the only component.")
    about = "Every row at its place on two components; rows near each other are alike." + words
    names = [_axis(model, j) for j in axes]
    found = supplementary_categories(others, axes)
    about += " Triangles are the means of categories that took no part in the fit." if found else ""
    more: Chart = ({"categories": found} if found else {}) | backdrop
    return axes_points("Scores", Z[:, axes], names, about, equal=True, **more)


def _lengths(model: Any, Z: Array, X: Array) -> Chart:
    """Return the squared distances (m,) of the rows from their mean, for the cos² of any two components.

    Rotated components are not orthogonal, so that rows have no cos²; X may be some of the rows alone.
    """
    if len(X) != len(Z) or len(Z) > MAX_LENGTHS or model.model_.rotation is not None:
        return {}
    return {"lengths": RowNumbers((Z * Z).sum(axis=1) + model.model_.squared_error(X))}


def _standardised(model: Any, rows: ShownRows) -> list[Chart]:
    """Return the scores of standardised columns, where units decide those of the columns as they are."""
    if dominant_columns(model, rows) is None:
        return []
    other = clone(model).set_params(standardize=True, n_components=min(model.n_components_, 4), whiten=False)
    Z = np.asarray(other.fit(ArraySource(rows.X), sample_weight=rows.weight).transform(ArraySource(rows.X)))
    about = "The same rows if every column is divided by its standard deviation, so that units do not matter."
    names = [_axis(other, j) for j in range(Z.shape[1])]
    return [axes_points("Scores if columns are standardised", Z, names, about, equal=True)]


def _biplot(
    model: Any, rows: ShownRows, Z: Array, axes: Sequence[int], supplementary: reading.Supplementary | None
) -> Chart:
    """Return rows, U Sᵅ, and columns, V S¹⁻ᵅ, in one unit on all axes; of many columns the longest."""
    found = model.model_
    columns = tables.biplot(found, rows.X[:1], [j + 1 for j in axes], names=rows.labels).columns
    rotated = found.rotation is not None
    S = np.full(len(axes), np.sqrt(found.divisor)) if rotated else np.sqrt(found.singular_values[list(axes)])
    scales = 1.0 / np.where(S > 0.0, S, 1.0)
    longest = np.argsort(-np.linalg.norm(columns, axis=1), kind="stable")[:ARROWS]
    arrows = [arrow(rows.labels[j], columns[j]) for j in longest]
    about = "Rows and columns together: a row lies far along an arrow if it is high in that column."
    if len(columns) > ARROWS:
        about += f" The {ARROWS} longest arrows of {len(columns):,}."
    # In units of their own, columns that took no part in the fit cannot be compared with those that did.
    if supplementary and supplementary.names and model.standardize and not rotated:
        others = np.sqrt(found.divisor) * supplementary.correlations[:ARROWS, axes] * scales
        arrows += [
            arrow(name, place, supplementary=True) for name, place in zip(supplementary.names, others, strict=False)
        ]
        about += " Dashed arrows are columns that took no part in the fit."
    names = [_axis(model, j) for j in axes]
    return axes_points("Biplot", Z[:, axes], names, about, scales=scales, equal=True, arrows=arrows, stretch=True)


def _circle(
    model: Any, rows: ShownRows, supplementary: reading.Supplementary | None, axes: Sequence[int] = FIRST_PLANE
) -> Chart:
    found = tables.correlations(model.model_, [j + 1 for j in axes], names=rows.labels).values
    longest = np.argsort(-np.hypot(*found.T))[:ARROWS]
    names, ends = [rows.labels[j] for j in longest], found[longest]
    turn = np.linspace(0.0, 2.0 * np.pi, 181)
    layers = [
        layer("line", x=np.cos(turn), y=np.sin(turn), colour="grey"),
        _correlation_arrows(model, names, ends, axes, "active" if supplementary and supplementary.names else ""),
    ]
    if supplementary and supplementary.names:
        correlations = supplementary.correlations[:, axes]
        others = np.argsort(-np.hypot(*correlations.T))[:ARROWS]
        more = [supplementary.names[j] for j in others], correlations[others]
        layers.append(_correlation_arrows(model, *more, axes, "supplementary", colour="orange", dash=True))
        names, ends = [*names, *more[0]], np.concatenate([ends, more[1]])
    x, y = ends.T
    sides = ["end" if value < 0.0 else "start" for value in x]
    heights = _apart(x, y)
    places = {"x": _aside(x, y, heights), "y": heights, "tip x": x, "tip y": y}
    layers.append(layer("text", text=names, side=sides, **places))
    # Names that all lie on one side have the room of both.
    sideways = [-1.1, 2.3] if np.all(x >= 0.0) else [-2.3, 1.1] if np.all(x < 0.0) else [-1.7, 1.7]
    across, up = (
        {"label": _axis(model, j), "domain": domain, "within": [-1.0, 1.0]}
        for j, domain in zip(axes, (sideways, [-1.15, 1.15]), strict=True)
    )
    about = "Correlations of columns with components: an arrow near the circle is well shown by these two."
    return marks("Correlation circle", *layers, about=about, x=across, y=up, equal=True, height=460)


def _correlation_arrows(
    model: Any, names: list[str], ends: Array, axes: Sequence[int], label: str, *, colour: str = "blue",
    dash: bool = False,
) -> Chart:  # fmt: skip
    every = axis_names(model, max(axes) + 1)
    first, second = (every[j] for j in axes)
    titles = [f"{name}: {a:.3f} with {first}, {b:.3f} with {second}" for name, (a, b) in zip(names, ends, strict=True)]
    zero = np.zeros(len(names))
    return layer("link", label, x1=zero, y1=zero, x2=ends[:, 0], y2=ends[:, 1], title=titles, colour=colour, dash=dash)


def _apart(x: Array, y: Array, distance: float = 0.105) -> Array:
    """Return the heights of labels at (x, y), moved as little as possible so that those on one side are apart.

    They are at least `distance` apart and within the height of the circle; where a side has too many for it, they are
    as far apart as it allows.

    >>> _apart(np.array([0.5, 0.6, -0.5]), np.array([0.2, 0.2, 0.2]), 0.1).round(3)
    array([0.15, 0.25, 0.2 ])
    """
    found = y.copy()
    for side in (np.flatnonzero(x < 0.0), np.flatnonzero(x >= 0.0)):
        order = side[np.argsort(y[side], kind="stable")]
        steps = min(distance, 2.2 / max(1, len(side) - 1)) * np.arange(len(side))
        heights = steps + _increasing(y[order] - steps)
        if len(side):
            found[order] = heights - max(0.0, heights[-1] - 1.1) + max(0.0, -1.1 - heights[0])
    return found


def _aside(x: Array, y: Array, heights: Array, distance: float = 0.105) -> Array:
    """Return where labels of arrows to (x, y) begin: beside the tips, or outside the circle on a side that is crowded.

    It is crowded if its labels had to move so far up or down that they would lie on other arrows.
    """
    reach = np.abs(x)
    for side in (x < 0.0, x >= 0.0):
        if np.any(np.abs(heights - y)[side] > 2.0 * distance):
            reach = np.where(side, np.maximum(reach, np.sqrt(np.maximum(0.0, 1.0 - heights**2))), reach)
    return np.where(x < 0.0, -1.0, 1.0) * (reach + 0.04)


def _increasing(y: Array) -> Array:
    """Return the values nearest to y (n,) that never fall: means of neighbours (isotonic regression, O(n²) here).

    >>> _increasing(np.array([1.0, 3.0, 2.0]))
    array([1. , 2.5, 2.5])
    """
    i, j = np.indices((len(y), len(y)))
    total = np.concatenate([[0.0], np.cumsum(y)])
    means = np.where(j >= i, (total[j + 1] - total[i]) / np.maximum(j - i + 1, 1), np.inf)
    return np.array([means[: k + 1, k:].min(axis=1).max() for k in range(len(y))])


def _loadings(model: Any, rows: ShownRows) -> Chart:
    values = tables.loadings(model.model_, names=rows.labels).values[:, :8]
    about = "How a column moves when a component moves by one standard deviation."
    components = axis_names(model, values.shape[1])
    alike = bool(model.standardize)
    return loading_heat("Loadings", values, rows.labels, components, what="loading", about=about, standardised=alike)


def _contributions(model: Any, rows: ShownRows, axes: Sequence[int] = FIRST_PLANE) -> list[Chart]:
    """Return the contributions of columns to components, and their quality (cos²) in a plane, the first by default."""
    shown = [j + 1 for j in axes] if model.n_components_ > 1 else [1]
    found = tables.column_contributions(model.model_, shown, names=rows.labels).values
    most = np.argsort(-found.max(axis=1), kind="stable")[:BARS]
    order = most[np.argsort(-found[most, 0], kind="stable")]
    columns = [rows.labels[j] for j in order]
    every = axis_names(model, max(shown))
    components = [every[c - 1] for c in shown]
    layers = [layer("bar-x", name, x=found[order, c], y=columns) for c, name in enumerate(components)]
    even = layer("rule-x", x=[100.0 / len(rows.labels)], text=["if all were equal"], colour="grey", dash=True)
    some = f" The {BARS} columns that make up most of either." if len(found) > BARS else ""
    about = "What each component is made of." + some
    height = int(np.clip(24 * len(order) + 80, 160, 900))
    cos2 = 100.0 * tables.correlations(model.model_, shown, names=rows.labels).values ** 2
    best = np.argsort(-cos2.sum(axis=1), kind="stable")[:BARS]
    names = [rows.labels[j] for j in best]
    values = heat(
        "cos² of columns", cos2[best], names, components, what="% of the column's variance",
        about="How much of a column's variance each component shows." + (" Those shown best." if some else ""),
        texts=[f"{value:.0f}" for value in cos2[best].ravel()], whole=100.0,
    )  # fmt: skip
    bars = marks("Contributions of columns", *layers, even, about=about, x="% of the component", height=height)
    return [bars, values]


def _row_table(model: Any, Z: Array, rows: ShownRows) -> Chart:
    rotated = model.model_.rotation is not None  # rotated components are not orthogonal, so that rows have no cos²
    cos2 = reading.row_cos2(Z, model.model_.squared_error(rows.X))
    contributions = reading.contributions_by_row(model.model_, Z, rows.weight)
    best = np.argsort(-contributions[:, 0])[:BARS]
    columns: dict[str, Any] = {"row": [rows.name(int(i)) for i in best]}
    for c, name in enumerate(axis_names(model, min(2, Z.shape[1]))):
        columns |= {f"{name} contribution %": contributions[best, c]}
        columns |= {} if rotated else {f"{name} cos²": cos2[best, c]}
    words = "." if rotated else "; cos² says how well a component shows the row."
    about = f"The {len(best)} rows that make up most of {axis_names(model, 1)[0]}{words}"
    return table_chart("Rows that matter most", columns, about)


def _outliers(model: Any, rows: ShownRows) -> list[Chart]:
    distances, level = row_distances(model.model_, rows.X), 0.99
    limits = outlier_limits(model.model_, model.discarded_variances(), level)
    found = OutlierTable(*distances, level, *limits, tuple(rows.labels), ())
    if not found.spe.max() > 1e-12 * model.model_.total:
        return _within(found)
    drawn = (("x", found.t2_limit, f"{level:.0%} of normal rows"), ("y", found.spe_limit, f"{level:.0%}"))
    lines = [{axis: limit, "label": label} for axis, limit, label in drawn if np.isfinite(limit)]
    about = "To the right: far from the mean within the components. Above: badly shown by them."
    names = "Hotelling's T²", "squared residual"
    return [points("Outliers", found.t2, found.spe, *names, about, lines=lines)]


SAME = 1e-6
"""Values of T² that differ by less, as part of their size, are the same for every row."""


def _within(found: OutlierTable) -> list[Chart]:
    """Return T² against the row order, for a model without residuals because it keeps all the variance.

    Where all directions of the rows are kept and there are no more rows than that, T² says nothing: it is the same
    number, (n − 1)² / n, for each of them.
    """
    if np.ptp(found.t2) <= SAME * float(found.t2.max()):
        return []
    limit, label = found.t2_limit, f"{found.level:.0%} of normal rows"
    lines = [{"y": limit, "label": label}] if np.isfinite(limit) else []
    about = "Above: far from the mean. All the variance is kept, so no row is badly shown."
    order = np.arange(1.0, len(found.t2) + 1.0)
    return [points("Outliers", order, found.t2, "row", "Hotelling's T²", about, lines=lines)]

"""The page of a kernel density: its curve for any bandwidth, the bandwidth rules, and pairs of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import DataError
from eigenlens.kde import tables as density_tables
from eigenlens.kde.bandwidth.curve import CROSS_VALIDATION_CURVES
from eigenlens.kde.model import KernelEstimate
from eigenlens.reporting.charts import (
    Chart,
    box_span,
    cell_box,
    contour_regions,
    facts,
    frames,
    histogram_layer,
    layer,
    marks,
    note_rows_outside,
    points,
    table_chart,
)
from eigenlens.reporting.rows import ShownRows
from eigenlens.tables.rows import visible_range

STEPS, PLACES = 25, 400
"""Bandwidths of the slider besides those of the rules, and points along each of its curves."""

MARGINALS, PAIRED, CELLS = 6, 4, 72
"""The largest numbers of columns with a curve and of columns that are paired; cells along each axis of a pair."""

LEAST, SCORED = 20, 20_000
"""Rows in the list of the least likely, and the largest number of rows that are scored for it."""

SLID = 20_000
"""The largest number of rows for which each of several columns has a bandwidth slider."""

GATHERED = 20_000
"""Beyond this many rows, the rows of a small cell are merged in the curves of the slider."""


def density_page(model: Any, rows: ShownRows) -> list[Chart]:
    """Return the charts of a fitted KernelDensity."""
    d = model.n_features_in_
    names = rows.labels if len(rows.names) == d else tuple(f"x{j}" for j in range(d))
    if d == 1:
        return [*_only_column(model.model_, names[0]), *_least_likely(model, rows), _about(model)]
    pairs = [_pair(model.model_, rows, (i, j), (names[i], names[j])) for i, j in combinations(range(min(d, PAIRED)), 2)]
    marginals = {names[j]: model.model_.marginal([j]) for j in range(min(d, MARGINALS))}
    curves = [_curve(f, name, f"Density of {name}") for name, f in marginals.items()]
    sliders = [chart for name, f in marginals.items() for chart in _own_slider(f, name)]
    return [*pairs, *curves, *sliders, *_least_likely(model, rows), _about(model)]


def density_live(model: Any, rows: ShownRows, axes: Sequence[int]) -> list[Chart]:
    """Return the charts of a KernelDensity of one or two columns that follow each change of its bandwidth."""
    f, names = model.model_, rows.labels
    if model.n_features_in_ == 1:
        return [_curve(f, names[0], "Density"), _about(model)]
    curves = [_curve(f.marginal([j]), names[j], f"Density of {names[j]}") for j in range(2)]
    return [_pair(f, rows, (0, 1), (names[0], names[1])) | {"title": "Density"}, *curves, _about(model)]


def _about(model: Any) -> Chart:
    f: KernelEstimate = model.model_
    rule = f" ({model.bandwidth})" if isinstance(model.bandwidth, str) else ""
    pairs = [("rows with positive weight", f"{model.n_samples_:,}"), ("kernel", f.kernel.name)]
    pairs.append(("bandwidth", _written(f.bandwidth) + rule))
    if f.scales is not None:
        pairs.append(("adaptive", f"times {f.scales.min():.3g} to {f.scales.max():.3g}, wider where rows are rare"))
    if np.isfinite(f.bounds).any():
        pairs.append(("bounds", f"{f.boundary}: " + "; ".join(f"{low:g} to {high:g}" for low, high in f.bounds[:8])))
    return facts("The model", pairs)


def _written(h: Array) -> str:
    """Return one bandwidth, one per column, or the square roots of a matrix's diagonal, as text."""
    if h.ndim == 1:
        return ", ".join(f"{value:.5g}" for value in h[:8]) + (", …" if h.size > 8 else "")
    return "a matrix; standard deviations " + _written(np.sqrt(np.diag(h)))


# ---- one column ---------------------------------------------------------------------------------------------


def _only_column(f: KernelEstimate, name: str) -> list[Chart]:
    """Return the curve with its confidence band, the slider, the criteria and the rules."""
    try:
        tables = {kind: density_tables.bandwidths(f, kind) for kind in CROSS_VALIDATION_CURVES}
    except DataError as error:  # rows all alike, or too few of them
        return [_curve(f, name, "Density"), facts("Bandwidth", paragraphs=[str(error)])]
    first = next(iter(tables.values()))
    charts = [_curve(f, name, "Density"), _slider(f, name, first), *map(_criterion, tables.values())]
    remarks = list(dict.fromkeys(remark for found in tables.values() for remark in found.remarks))
    return [*charts, _rules(tables), *([facts("Warnings of the bandwidth rules", warnings=remarks)] if remarks else [])]


def _own_slider(f: KernelEstimate, name: str) -> list[Chart]:
    """Return the slider of one of several columns, if the rules give it a bandwidth."""
    if len(f.points) > SLID:
        return []
    try:
        found = density_tables.bandwidths(f, next(iter(CROSS_VALIDATION_CURVES)))
    except DataError:  # rows all alike, or too few of them
        return []
    return [_slider(f, name, found) | {"title": f"Bandwidth of {name}"}]


def _curve(f: KernelEstimate, name: str, title: str) -> Chart:
    found = density_tables.density(f)
    x, step = found.x, max(1, found.x.size // 1_024)
    assert found.low is not None
    assert found.high is not None
    shown, low, high, values = (each[::step] for each in (x, found.low, found.high, found.values))
    layers = [
        _histogram(f),
        layer("band", "95% interval at each place", x=shown, low=low, high=high, colour="#56b4e9"),
        layer("line", "density", x=shown, y=values, colour="blue"),
    ]
    about = (
        "The band is for the density as this kernel smooths it: where peaks are narrower than the bandwidth, "
        "smoothing itself is the larger error."
    ) + note_rows_outside(found.beyond)
    return marks(title, *layers, about=about, x=name, y="density")


def _histogram(f: KernelEstimate) -> Chart:
    """Return a histogram of area one."""
    x, n = f.points[:, 0], len(f.points)
    bins = int(np.clip(2.0 * n ** (1.0 / 3.0), 5, 80))
    masses, edges = np.histogram(x, bins, visible_range(x, f.weights), weights=f.weights)
    return histogram_layer(edges, masses / (f.weights.sum() * np.diff(edges)))


def _slider(f: KernelEstimate, name: str, found: density_tables.BandwidthTable) -> Chart:
    """Return the curve for bandwidths from small to large, with a button for the bandwidth of each rule."""
    named = _by_bandwidth({**found.rules, "as fitted": found.fitted})
    low, high = min(named), max(named)
    between = [
        h for h in np.geomspace(low / 4.0, high * 4.0, STEPS) if np.all(np.abs(np.log(h / np.array([*named]))) > 0.02)
    ]
    widths = sorted([*between, *named])
    x = np.linspace(*_ends(f, high), PLACES)
    bars, f = _histogram(f), _gathered(f, widths[0] / 16.0)
    top = 1.15 * float(replace(f, bandwidth=low).density(x).max())
    steps = []
    for h in widths:
        values = replace(f, bandwidth=h).density(x)
        curve = layer("line", "density", x=x, y=values, colour="blue")
        words = f"{h:.4g}" + (f" ({named[h]})" if h in named else "")
        # One scale for all, so that peaks can be compared; spikes of the narrowest kernels make theirs longer.
        up = {"label": "density", "domain": [0.0, max(top, 1.05 * float(values.max()))]}
        steps.append((words, [marks("", bars, curve, x=name, y=up)]))
    at = [{"at": widths.index(h), "label": names} for h, names in named.items()]
    start = next(i for i, h in enumerate(widths) if "as fitted" in named.get(h, ""))
    about = "Narrow kernels show every row, wide ones hide the shape. Each button is the bandwidth of a rule."
    return frames("Bandwidth", "bandwidth h", steps, start=start, marks=at, about=about)


def _gathered(f: KernelEstimate, width: float) -> KernelEstimate:
    """Return the same density with the points of each cell replaced by their mean, so that many curves are cheap.

    Cells are so small beside the bandwidths that nobody sees it: the error is (width / h)² / 24 of the curvature.
    """
    x, w = f.points[:, 0], f.weights
    cell = np.floor((x - x.min()) / width)
    if x.size <= GATHERED or float(cell.max()) > x.size:
        return f
    _, which = np.unique(cell, return_inverse=True)
    mass = np.bincount(which, w)
    scales = None if f.scales is None else np.bincount(which, w * f.scales) / mass
    middle = np.clip(np.bincount(which, w * x) / mass, *f.bounds[0])
    return replace(f, points=middle[:, None], weights=mass, scales=scales)


def _by_bandwidth(rules: dict[str, float]) -> dict[float, str]:
    """Return the rule names by bandwidth, ascending; rules that agree to three digits share an entry."""
    found: dict[float, str] = {}
    for name, h in sorted(rules.items(), key=lambda item: item[1]):
        near = next((at for at in found if abs(np.log(h / at)) < 5e-4), None)
        found[h if near is None else near] = name if near is None else f"{found[near]}, {name}"
    return found


def _ends(f: KernelEstimate, h: float) -> tuple[float, float]:
    more = h * min(3.0, f.kernel.radius)
    low, high = visible_range(f.points[:, 0], f.weights)
    return max(low - more, float(f.bounds[0, 0])), min(high + more, float(f.bounds[0, 1]))


ABOUT = {
    "lscv": (
        "Squared error by bandwidth",
        "squared error",
        "Cross-validated squared error of the density, less a constant: low is good.",
    ),
    "mlcv": ("Likelihood by bandwidth", "log density left out", "Likelihood of rows left out: high is good."),
}


def _criterion(found: density_tables.BandwidthTable) -> Chart:
    title, label, about = ABOUT[found.criterion]
    rules = np.array(list(found.rules.values()))
    seen = (found.h > 0.5 * rules.min()) & (found.h < 1.5 * rules.max())
    at = np.array([found.at(h) for h in rules])
    titles = [f"{name}: h = {h:.4g}" for name, h in found.rules.items()]
    layers = [
        layer("line", "criterion", x=found.h[seen], y=found.values[seen], colour="blue"),
        layer("dot", "rules", x=rules, y=at, title=titles, colour="orange"),
    ]
    if found.h[seen][0] < found.fitted < found.h[seen][-1]:
        layers.append(layer("rule-x", x=[found.fitted], text=["as fitted"], colour="grey", dash=True))
    about += " Point at a dot to see its rule."
    return marks(title, *layers, about=about, x="bandwidth h", y=label)


def _rules(tables: dict[str, density_tables.BandwidthTable]) -> Chart:
    first = next(iter(tables.values()))
    columns: dict[str, Any] = {"rule": list(first.rules), "bandwidth": np.array(list(first.rules.values()))}
    for kind, found in tables.items():
        columns[ABOUT[kind][1]] = np.array([found.at(h) for h in first.rules.values()])
    return table_chart("Rules", columns, "The bandwidth of each rule, in the scale of the kernel, and its criterion.")


# ---- pairs of columns ---------------------------------------------------------------------------------------


def _pair(f: KernelEstimate, rows: ShownRows, pair: tuple[int, int], names: tuple[str, str]) -> Chart:
    """Return the rows over the highest-density regions of 50%, 80% and 95%."""
    found = density_tables.masses_of_plane(f, columns=list(pair), resolution=CELLS)
    edges = sorted(zip(found.mass.masses, found.mass.levels, strict=True), reverse=True)
    levels = {f"{100.0 * mass:g}% of the mass": level for mass, level in edges}
    about = "Shaded: the smallest regions that hold these shares of the mass."
    more: dict[str, Any] = {"contours": contour_regions(found.x, found.y, found.values, levels)}
    if found.beyond:
        about += note_rows_outside(found.beyond, ": zoom out")
        more["span"] = box_span(cell_box(found.x, found.y))
    i, j = pair
    return points(f"{names[0]} and {names[1]}", rows.X[:, i], rows.X[:, j], *names, about, **more)


def _least_likely(model: Any, rows: ShownRows) -> list[Chart]:
    """Return the rows with the lowest log density, unless scoring all rows would take long."""
    if rows.X.shape[1] != model.n_features_in_ or (model.n_features_in_ > 1 and len(rows.X) > SCORED):
        return []
    values = model.model_.log_density(rows.X)
    lowest = np.argsort(values, kind="stable")[:LEAST]
    shown = {name: rows.X[lowest, j] for j, name in enumerate(rows.labels[:8])}
    columns = {"row": [rows.name(int(i)) for i in lowest], "log density": values[lowest]}
    return [table_chart("Least likely rows", columns | {f"{name} ": column for name, column in shown.items()})]

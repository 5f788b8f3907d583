"""The page of a Gaussian mixture: ellipses, responsibilities, parameters, and mixtures of other sizes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenlens.arrays import Array
from eigenlens.data.memory import ArraySource
from eigenlens.densities.mixture_terms import covariance_matrix
from eigenlens.errors import EigenlensError
from eigenlens.mixture import planes
from eigenlens.mixture import tables as mixture_tables
from eigenlens.mixture.select import MixtureSelection, select_mixture
from eigenlens.reporting.charts import (
    Chart,
    PageContent,
    component_table,
    facts,
    frames,
    heat,
    histogram_layer,
    layer,
    marks,
    note_rows_outside,
    points,
)
from eigenlens.reporting.pages.likelihood_path import likelihood_path_chart
from eigenlens.reporting.pages.selection_criteria import criteria
from eigenlens.reporting.rows import ShownRows, density_backdrops
from eigenlens.tables.rows import count_outside
from eigenlens.tables.text_table import join_words

PAIRED, MATRIX, NAMED = 5, 40, 20
"""The largest numbers of columns paired and in a matrix, and of components with a curve or a matrix."""

STRIPES, BINS = 100, 20
"""Groups of rows in the plot of responsibilities, and bins of the uncertainty of rows."""

TRIED, MORE, STARTS = 20_000, 3, 3
"""The largest number of entries for which mixtures of other sizes are fitted for comparison, the number of components
that they may have beyond those of the model, and the starts of each."""

OTHER_STARTS = 8
"""The number of other starts whose likelihood paths are shown."""

OTHERS = "Other starts begin at their guesses; the start of this model had been improved before its first step."

PATTERNS = 60
"""The largest number of patterns of missing values for which they are fitted."""

LEVEL = 0.95

FISHER, NEAREST = 500, 2
"""The largest number of columns for which the plane that separates components is sought, and columns that name an axis.
"""


def mixture_page(model: Any, rows: ShownRows) -> PageContent:
    """Return the charts of a fitted GaussianMixture, and columns to colour by: components and uncertainty.

    The first criterion by the number of components stands beside the main plot.
    """
    found, sizes = mixture_charts(model, rows), _other_sizes(model, rows)
    main, *charts, last = found.charts
    beside = 1 if sizes[0]["kind"] == "marks" else 0
    return PageContent([main, *sizes[:beside], *charts, *sizes[beside:], last], found.columns)


def mixture_charts(model: Any, rows: ShownRows) -> PageContent:
    """Return the charts of one mixture, without those of other sizes; the facts about it come last."""
    proba = np.asarray(model.model_.responsibilities(rows.X))
    several = rows.X.shape[1] > 1
    charts = _planes(model, rows) if several else [_line(model, rows)]
    charts += [_components(model, rows), uncertainty_chart(proba, rows), responsibility_chart(proba)]
    charts += [_covariances(model, rows)] if several else []
    charts += likelihood_path_chart(np.asarray(model.loglik_path_), _other_starts(model, rows), OTHERS)
    components = np.array([f"component {k}" for k in proba.argmax(axis=1)])
    columns = {"component": components, "uncertainty": mixture_tables.uncertainty(proba)}
    return PageContent([*charts, _about(model, rows, proba)], columns)


def mixture_live(model: Any, rows: ShownRows, axes: Sequence[int], selection: MixtureSelection | None) -> list[Chart]:
    """Return the charts of a GaussianMixture that follow each change; selection: other mixtures, if they are known."""
    proba = np.asarray(model.model_.responsibilities(rows.X))
    main = (
        [*_planes(model, rows)[:1], *_chosen_pair(model, rows, axes)] if rows.X.shape[1] > 1 else [_line(model, rows)]
    )
    own = (model.n_components_, {"bic": model.bic(), "aic": model.aic()})
    others = [] if selection is None else criteria(selection, own=own)
    charts = [_components(model, rows), uncertainty_chart(proba, rows), responsibility_chart(proba)]
    return [main[0], *others[:1], *main[1:], *charts, *others[1:], _about(model, rows, proba)]


def _chosen_pair(model: Any, rows: ShownRows, axes: Sequence[int]) -> list[Chart]:
    """Return the components over two columns, where the main plot is not of these two."""
    if rows.X.shape[1] == 2:
        return []
    i, j = axes
    names = (rows.labels[i], rows.labels[j])
    pair = planes.pair_plane(model.model_, rows.X, (i, j), LEVEL)
    return [_plane(f"{names[0]} and {names[1]}", pair, rows, names, WORDS)]


def _other_starts(model: Any, rows: ShownRows) -> list[Array]:
    """Return the likelihood paths from other starts, if fitting is quick and the model has several components."""
    if model.n_components_ < 2 or _long(model, rows) or not isinstance(model.init, str):
        return []
    given, paths = ArraySource(rows.X, names=rows.names if rows.named else None), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # only the likelihood of these fits is shown
        for seed in range(1, OTHER_STARTS + 1):
            other = clone(model).set_params(n_init=1, random_state=seed, verbose=False)
            try:
                paths += _whole_path(other, given, rows.weight)
            except EigenlensError:  # a start that leaves a component without rows
                continue
    return paths


def _whole_path(model: Any, given: ArraySource, weight: Array | None) -> list[Array]:
    """Return the likelihood path from the guess of a start; none where it collapses.

    A fit improves its guess by EM before its path begins, which would then begin near its end: so it takes one step
    from the guess alone, and goes on from there.
    """
    most = model.max_iter
    first = model.set_params(max_iter=1, warm_start=True).fit(given, sample_weight=weight).loglik_path_[:1]
    model.set_params(max_iter=most).fit(given, sample_weight=weight)
    return [] if mixture_tables.has_collapsed(model) else [np.concatenate([first, model.loglik_path_])]


def _about(model: Any, rows: ShownRows, proba: Array) -> Chart:
    doubtful = int(np.count_nonzero(proba.max(axis=1) < 0.9))
    pairs = [
        ("components", model.n_components_),
        ("covariances", model.covariance_type),
        ("log-likelihood", f"{model.loglik_:.6g}"),
        ("BIC, AIC", f"{model.bic():.6g}, {model.aic():.6g}"),
        ("steps", f"{model.n_iter_}, {'converged' if model.converged_ else 'not converged'}"),
        ("rows without a sure component", f"{doubtful:,} of {len(rows.X):,} have none above 90%"),
    ]
    try:
        icl = model.icl(rows.given, rows.weight) if not rows.sampled else np.nan
        bic = model.bic(rows.given, rows.weight) if not rows.sampled else np.nan
    except EigenlensError:
        icl = bic = np.nan
    if np.isfinite(icl) and abs(bic - model.bic()) < 1e-6 * abs(bic):
        pairs.insert(4, ("ICL", f"{icl:.6g}"))
    return facts("The model", pairs)


# ---- plots --------------------------------------------------------------------------------------------------


def _line(model: Any, rows: ShownRows) -> Chart:
    bins = mixture_tables.weighted_bins(rows.X[:, 0], rows.weight)
    found = mixture_tables.line(model, bins=bins, names=rows.names)
    layers = [
        histogram_layer(found.edges, found.heights),
        layer("line", "density", x=found.x, y=found.density, colour="blue"),
    ]
    for k, (share, part) in enumerate(zip(100.0 * found.weights[:NAMED], found.parts, strict=False)):
        label, colour = f"component {k} ({share:.3g}%)", COMPONENT_COLOURS[k % len(COMPONENT_COLOURS)]
        layers.append(layer("line", label, x=found.x, y=part, dash=True, colour=colour))
    x = rows.X[np.isfinite(rows.X[:, 0])]
    off = count_outside(x, found.x[:1], found.x[-1:])
    about = "The density is the weighted sum of its components; bars are the rows." + note_rows_outside(off)
    return marks("Density", *layers, about=about, x=rows.labels[0], y="density")


COMPONENT_COLOURS = ("#e69f00", "#009e73", "#cc79a7", "#d55e00", "#8a8a00", "#7b4fb5", "#9c6644", "#5fd3b0")
"""Colours of the components; the density has its own."""


def _planes(model: Any, rows: ShownRows) -> list[Chart]:
    d, names, mixture = rows.X.shape[1], rows.labels, model.model_
    if d == 2:
        plane = planes.pair_plane(mixture, rows.X, (0, 1), LEVEL)
        return [_plane(f"{names[0]} and {names[1]}", plane, rows, names, WORDS)]
    charts = [_separation(model, rows) if model.n_components_ > 1 and d <= FISHER else _variation(model, rows)]
    chosen = np.sort(np.argsort(-mixture_tables.component_separation(model))[:PAIRED])
    steps = []
    for i, j in combinations(chosen.tolist(), 2):
        pair = planes.pair_plane(mixture, rows.X, (i, j), LEVEL)
        steps.append((f"{names[i]}, {names[j]}", [_plane("", pair, rows, (names[i], names[j]), "")]))
    about = WORDS + (f" The {PAIRED} columns in which components lie farthest apart." if d > PAIRED else "")
    return [*charts, frames("Pairs of columns", "columns", steps, about=about)]


def _separation(model: Any, rows: ShownRows) -> Chart:
    """Return the plane on which the components lie farthest apart, and which columns its axes correlate with."""
    plane = planes.separating_plane(model.model_, rows.X, LEVEL)
    correlations = np.abs(planes.plane_correlations(model.model_, plane))
    made = [
        f"D{j + 1} is near {join_words([rows.labels[i] for i in np.argsort(-correlations[:, j])[:NEAREST]], 'and')}"
        for j in range(2)
    ]
    words = "The two directions along which the components lie farthest apart, in standard deviations within them: "
    words += f"{'; '.join(made)}. {WORDS}{_imputed(rows)}"
    return _plane("Components", plane, rows, plane.separation_names, words, equal=True)


def _variation(model: Any, rows: ShownRows) -> Chart:
    """Return the plane of the two directions along which the rows vary most."""
    plane = planes.principal_plane(model.model_, rows.X, rows.weight, LEVEL)
    axes = [f"PC{j + 1} ({share:.1f}%)" for j, share in enumerate(plane.shares)]
    words = f"Rows on the two directions along which they vary most. {WORDS}{_imputed(rows)}"
    return _plane("Components", plane, rows, axes, words, equal=True)


def _imputed(rows: ShownRows) -> str:
    return " Missing values are replaced by their expectations." if np.isnan(rows.X).any() else ""


WORDS = f"Each ellipse holds {LEVEL:.0%} of the rows that its component would draw."


def _plane(title: str, plane: planes.Plane, rows: ShownRows, axes: Any, about: str, *, equal: bool = False) -> Chart:
    ellipses = [
        {"x": each.x, "y": each.y, "a": each.a, "b": each.b, "angle": each.angle, "label": f"component {k}"}
        for k, each in enumerate(plane.ellipses)
    ]
    more, words = ({}, "") if not title else density_backdrops(rows, plane.points, [(0, 1)], plane.project)[0]
    (x, y), (across, up) = plane.points.T, axes
    return points(title, x, y, across, up, about + words, ellipses=ellipses, equal=equal, **more)


def uncertainty_chart(proba: Array, rows: ShownRows) -> Chart:
    """Return how many rows have which probability of other than their most likely component, by P (n, K)."""
    edges = np.linspace(0.0, 1.0, BINS + 1)
    counts = np.histogram(mixture_tables.uncertainty(proba), edges, weights=rows.weight)[0]
    names = [f"{100 * low:.0f}" for low in edges[:-1]]
    seen = np.flatnonzero(counts)
    last = max(int(seen[-1]) + 1 if seen.size else 1, BINS // 2)
    bars = layer("bar", x=names[:last], y=counts[:last])
    about = "How many rows have this probability of not being of their most likely component: at 0% it is certain."
    up = "rows" if rows.weight is None else "rows, by their weight"
    return marks("Uncertainty", bars, about=about, x="uncertainty of the row, from this % on", y=up)


def responsibility_chart(proba: Array) -> Chart:
    """Return the mean responsibilities of groups of consecutive rows, from P(component | row) (n, K)."""
    found = mixture_tables.sort_shares(proba)
    groups = np.array_split(np.arange(len(found.order)), min(STRIPES, len(found.order)))
    values = 100.0 * np.stack([found.values[group].mean(axis=0) for group in groups], axis=1)
    K = min(len(values), NAMED)
    names = [f"component {k}" for k in range(K)]
    order = f"in {len(groups)} groups of equal size" if len(groups) < len(found.order) else "one by one"
    about = f"Rows by their most likely component, the most certain first, {order}"
    about += ": shades between the ends are rows that lie between components."
    groups_named = [str(i + 1) for i in range(len(groups))]
    return heat(
        "Responsibilities", values[:K], names, groups_named, what="% of the row", about=about, x="rows, in order",
        whole=100.0,
    )  # fmt: skip


# ---- tables -------------------------------------------------------------------------------------------------


def _components(model: Any, rows: ShownRows) -> Chart:
    mixture = model.model_
    parts: list[Any] = list(mixture.components)
    deviations = np.sqrt(np.stack([np.diag(covariance_matrix(part)) for part in parts]))
    title = "Components: weights, means and standard deviations"
    return component_table(title, mixture.weights, rows.labels, mixture.means, deviations)


def _covariances(model: Any, rows: ShownRows) -> Chart:
    """Return the covariance matrix of each component as numbers, shaded by its correlations."""
    parts: list[Any] = list(model.model_.components)
    chosen = np.sort(np.argsort(-mixture_tables.component_separation(model))[:MATRIX])
    names, steps = [rows.labels[j] for j in chosen], []
    for k, part in enumerate(parts[:NAMED]):
        C = covariance_matrix(part)[np.ix_(chosen, chosen)]
        s = np.sqrt(np.diag(C))
        R = C / np.outer(s, s)
        texts = [f"{value:.3g}" for value in C.ravel()] if len(chosen) <= 10 else None
        matrix = heat("", R, names, names, what="correlation", texts=texts, top=1.0)
        steps.append((f"component {k}", [matrix]))
    words = f"Shades are correlations within the component{', numbers its covariances' * (len(chosen) <= 10)}."
    words += f" The {MATRIX} columns in which components lie farthest apart." if rows.X.shape[1] > MATRIX else ""
    words += f" The first {NAMED} of {len(parts)} components." if len(parts) > NAMED else ""
    return frames("Covariances", "of", steps, about=words)


# ---- how many -----------------------------------------------------------------------------------------------


def _other_sizes(model: Any, rows: ShownRows) -> list[Chart]:
    """Return BIC, ICL and AIC for other numbers of components if fitting them is quick, else how to get them."""
    reason = _long(model, rows)
    if reason:
        words = (
            f"Mixtures of other sizes are not fitted here: {reason}. "
            "eigenlens.select_mixture(X) compares them, and report() accepts its result."
        )
        return [facts("How many components", paragraphs=[words])]
    found = _selection(model, rows)
    if isinstance(found, str):
        return [facts("How many components", paragraphs=[found])]
    own = {"bic": model.bic(), "aic": model.aic()}
    words = f"Each from {STARTS} starts; the model itself may have had more."
    return criteria(found, own=(model.n_components_, own), words=words)


def _long(model: Any, rows: ShownRows) -> str:
    """Return why fitting mixtures of other sizes would take long, or ""."""
    if rows.sampled or rows.X.size * model.n_components_ > 4 * TRIED or rows.X.size > TRIED:
        return f"{rows.total:,} rows of {len(rows.names):,} columns are many"
    patterns = len(np.unique(np.isnan(rows.X), axis=0))
    if patterns > PATTERNS:
        return f"entries are missing in {patterns:,} ways, and each takes a step of its own"
    return ""


def _selection(model: Any, rows: ShownRows) -> MixtureSelection | str:
    most = max(model.n_components_ + MORE, 6)
    sizes = range(1, min(most, max(1, len(np.unique(rows.X, axis=0)) // 2)) + 1)
    set_here = {"n_components", "covariance_type", "init", "verbose", "random_state", "n_init"}
    options = {name: value for name, value in model.get_params(deep=False).items() if name not in set_here}
    seed = model.random_state if isinstance(model.random_state, int | np.integer) else 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the table reports the warnings of each fit
        try:
            return select_mixture(
                ArraySource(rows.X, names=rows.names), sizes, [model.covariance_type], random_state=seed,
                sample_weight=rows.weight, n_init=STARTS, **options,
            )  # fmt: skip
        except EigenlensError as error:
            return f"Mixtures of other sizes could not be fitted: {error}"

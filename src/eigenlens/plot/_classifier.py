"""Plots of classifiers: calibration, confusion matrix, regions over two columns, and the reasons for one row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.bayes import tables as class_tables
from eigenlens.errors import OptionError
from eigenlens.plot import _style
from eigenlens.plot._arguments import checked_plot
from eigenlens.plot._points import MAX_VECTOR_POINTS, marker_area
from eigenlens.plot._style import BLUE, PALETTE, VERMILLION
from eigenlens.tables.names import shorten, shorten_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MAX_CLASS_LETTERS = 28
"""Characters of the name of a class, or of a model."""

MAX_NUMBERED_CLASSES = 20
"""With more classes than this, the cells of a confusion matrix have no numbers."""


# ---- calibration ----------------------------------------------------------------------------------------------


@checked_plot(model="classes_")
def calibration(
    model: Any,
    X: Any,
    y: Any,
    *,
    label: Any = None,
    bins: int = 10,
    level: float = 0.95,
    sample_weight: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often predictions came true against their probability; calibrated ones lie on the diagonal.

    Args:
        model: a fitted classifier with predict_proba, or a dict with a name for each of several.
        X, y: rows and classes that it was not fitted on; on its own rows every model looks too good.
        label: the class whose probability is used; None for the predicted class.
        bins: of equal width from 0 to 1. level: the coverage of the intervals (Wilson). ax: where to draw.

    Grey bars below the curve are the shares of the rows in each bin, of the first model; markers are larger for bins
    with more rows.

    >>> import numpy as np
    >>> from eigenlens import LinearDiscriminant, NaiveBayes, datasets, plot
    >>> air = datasets.load("air-quality")
    >>> X, hot = air.data[:, :3], np.where(air.data[:, 3] > 79, "hot", "mild")
    >>> models = {"naive Bayes": NaiveBayes(), "linear discriminant": LinearDiscriminant()}
    >>> fitted = {name: model.fit(X[::2], hot[::2]) for name, model in models.items()}
    >>> ax = plot.calibration(fitted, X[1::2], hot[1::2], label="hot", bins=5)
    >>> ax.get_ylabel()
    'share that came true (95% intervals)'
    """
    models = model if isinstance(model, dict) else {"": model}
    given = {"label": label, "bins": bins, "level": level, "sample_weight": sample_weight}
    tables = {name: class_tables.calibration(one, X, y, **given) for name, one in models.items()}
    if not tables:
        raise OptionError("is an empty dict", argument="model", fix="give a fitted classifier, or some by name")
    ax = _style.new_axes(ax, (5.6, 4.8))
    _style.style_axes(ax)
    first = next(iter(tables.values()))
    _draw_shares(ax, first)
    ax.plot([0.0, 1.0], [0.0, 1.0], color=_style.muted_color(), linewidth=1.0, linestyle=_style.DASHES, zorder=1)
    handles = [_draw_curve(ax, table, **_style.category_look(i)) for i, table in enumerate(tables.values())]
    names = [f"{shorten(str(name), MAX_CLASS_LETTERS)}: {_quality(table)}" for name, table in tables.items()]
    if isinstance(model, dict):
        _style.draw_legend(ax, handles, names, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    else:
        _style.write_note(ax, _quality(first))
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set_ylabel(f"share that came true ({100 * first.level:g}% intervals)")
    _style.as_plain_text(ax.set_xlabel(f"probability of {first.what} (bars: share of the rows)", wrap=True))
    return ax


def _quality(table: class_tables.CalibrationTable) -> str:
    return f"Brier score {table.brier:.3f}, calibration error {table.error:.3f}"


def _draw_shares(ax: Axes, table: class_tables.CalibrationTable) -> None:
    heights, width = 0.22 * (table.weight / table.weight.sum()), np.diff(table.edges)
    look: Any = {"color": _style.grid_color(), "edgecolor": _style.page_color(), "zorder": 0.5}
    ax.bar(table.edges[:-1], heights, width=width, align="edge", **look)


def _draw_curve(ax: Axes, table: class_tables.CalibrationTable, color: str, marker: str) -> Any:
    shown = table.weight > 0.0
    x, observed, limits = table.predicted[shown], table.observed[shown], table.limits[shown]
    share = np.sqrt(table.weight[shown] / table.weight.sum())
    ax.vlines(x, limits[:, 0], limits[:, 1], color=color, linewidth=1.0, alpha=0.55, zorder=2)
    ax.scatter(x, observed, s=(3.0 + 6.0 * share) ** 2, color=color, marker=marker, zorder=4)
    return ax.plot(x, observed, color=color, linewidth=1.2, alpha=0.8, marker=marker, markersize=3.0, zorder=3)[0]


# ---- confusion matrix -----------------------------------------------------------------------------------------


@checked_plot(model="classes_")
def confusion(model: Any, X: Any, y: Any, *, sample_weight: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the confusion matrix: for each true class, the share of its rows assigned to each class, and their number.

    Args:
        model: a fitted classifier. X, y: rows and their classes. sample_weight: (n,). ax: where to draw.

    >>> import numpy as np
    >>> from eigenlens import NaiveBayes, datasets, plot
    >>> iris = datasets.load("iris")
    >>> X, species = iris.frame(), np.array(iris.labels)
    >>> ax = plot.confusion(NaiveBayes().fit(X[::2], species[::2]), X[1::2], species[1::2])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['setosa', 'versicolor', 'virginica']
    """
    table = class_tables.confusion(model, X, y, sample_weight=sample_weight)
    C, names = len(table.classes), shorten_names(table.classes, MAX_CLASS_LETTERS)
    longest = max(map(len, names))
    side = float(np.clip(1.6 + 0.62 * C + 0.06 * longest, 3.6, 9.0))
    ax = _style.new_axes(ax, (side, side))
    ax.imshow(_cells(table), zorder=0)
    between = np.arange(-0.5, C)
    ax.vlines(between, -0.5, C - 0.5, color=_style.grid_color(), linewidth=0.6, zorder=1)
    ax.hlines(between, -0.5, C - 0.5, color=_style.grid_color(), linewidth=0.6, zorder=1)
    if C <= MAX_NUMBERED_CLASSES:
        _draw_numbers(ax, table)
    _style.style_axes(ax, None)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0.0)
    turned: dict[str, Any] = {"rotation": 45.0, "ha": "right", "rotation_mode": "anchor"}
    turned = turned if longest > 4 or longest * C > 60 else {}
    _style.name_ticks(ax, "x", range(C), names, **turned)
    _style.name_ticks(ax, "y", range(C), names)
    ax.set(xlabel="given class", ylabel="true class")
    _style.write_note(ax, f"accuracy {100.0 * table.accuracy:.2f}%")
    return ax


def _cells(table: class_tables.ConfusionTable) -> Array:
    """Return colours (C, C, 4): blue for correct, vermillion for wrong, more opaque for larger shares."""
    from matplotlib.colors import to_rgb

    right = np.eye(len(table.classes), dtype=bool)[:, :, None]
    colors = np.where(right, to_rgb(BLUE), to_rgb(VERMILLION))
    shares = np.nan_to_num(table.shares) / 100.0
    strength = np.where(right[:, :, 0], 0.85 * shares, np.minimum(0.9, 2.5 * shares))
    return np.concatenate([colors, strength[:, :, None]], axis=2)


def _draw_numbers(ax: Axes, table: class_tables.ConfusionTable) -> None:
    from matplotlib.colors import to_rgb

    cells, page = _cells(table), np.array(to_rgb(_style.page_color()))
    size = _style.small_size(1.0 if len(table.classes) <= 10 else 0.7)
    for i, j in np.ndindex(*table.counts.shape):
        if table.counts[i, j] > 0.0:
            color, opacity = cells[i, j, :3], cells[i, j, 3]
            seen = opacity * color + (1.0 - opacity) * page
            text = f"{table.shares[i, j]:.1f}%\n{table.counts[i, j]:g}"
            ax.text(j, i, text, ha="center", va="center", fontsize=size, color=_style.text_color_on(seen))


MIN_OPACITY, MAX_OPACITY = 0.06, 0.38
"""The opacity of a region where the classes are equally likely, and where its class is certain."""

MAX_CLASS_KEYS = 24
"""With more classes than this, regions have names and no key."""


@checked_plot(model="classes_")
def decision(
    model: Any, X: Any, y: Any = None, *, features: Sequence[Any] | None = None, grid: int = 200, ax: Axes | None = None
) -> Axes:
    """Draw the regions of a classifier in the plane of two columns, more opaque where it is more certain.

    Args:
        model: a fitted classifier with predict_proba. X: rows; they set the range. y: their classes, to draw them.
        features: two columns, by number or name; the first two if None. Other columns are left out of the rule where
            the model can do without them, else fixed at their medians; a note names which.
        grid: points along each axis. ax: where to draw; a new figure if None.

    >>> from eigenlens import QuadraticDiscriminant, datasets, plot
    >>> iris = datasets.load("iris")
    >>> X = iris.frame()
    >>> model = QuadraticDiscriminant().fit(X, iris.labels)
    >>> ax = plot.decision(model, X, iris.labels, features=["petal length", "petal width"])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('petal length', 'petal width')
    """
    table = class_tables.decision(model, X, y, features=features, grid=grid)
    ax = _style.new_axes(ax, (6.0, 4.8))
    _style.style_axes(ax, None)
    extent = (table.x[0], table.x[-1], table.y[0], table.y[-1])
    ax.imshow(_shades(table), origin="lower", extent=extent, aspect="auto", interpolation="bilinear", zorder=0)
    _draw_boundaries(ax, table)
    _draw_rows(ax, table)
    if len(table.classes) > len(PALETTE):
        _draw_names(ax, table)
    _style.name_axes(ax, *table.names)
    _style.write_note(ax, table.others, "rows jittered about their categories" if any(table.steps) else "")
    return ax


def _shades(table: class_tables.DecisionTable) -> Array:
    """Return colours (q, p, 4): that of the most likely class, more opaque where it is more likely."""
    from matplotlib.colors import to_rgb

    C = len(table.classes)
    colors = np.array([to_rgb(_style.category_color(c)) for c in range(C)])
    top = np.clip(table.proba.max(axis=2), 1.0 / C, 1.0)
    strength = MIN_OPACITY + (MAX_OPACITY - MIN_OPACITY) * (top - 1.0 / C) / (1.0 - 1.0 / C)
    return np.concatenate([colors[table.regions], strength[:, :, None]], axis=2)


def _draw_boundaries(ax: Axes, table: class_tables.DecisionTable) -> None:
    """Draw lines where a class is as likely as the most likely other."""
    two = len(table.classes) == 2
    for c in range(1 if two else len(table.classes)):
        if not np.any(table.regions == c) or np.all(table.regions == c):
            continue
        look: Any = {"levels": [0.5], "colors": _style.text_color(), "linewidths": 1.1, "zorder": 1}
        ax.contour(table.x, table.y, table.against_next(c), **look)


def _draw_rows(ax: Axes, table: class_tables.DecisionTable) -> None:
    n = len(table.points)
    many = n >= MAX_VECTOR_POINTS
    style: dict[str, Any] = {"s": marker_area(n, smallest=2.0), "linewidths": 0.0 if many else 0.4, "zorder": 2}
    style |= {"edgecolors": _style.page_color(), "rasterized": many}
    points, handles = _spread(table), []
    for c in range(len(table.classes)):
        mine = points[table.codes == c] if table.codes is not None else points[:0]
        handles.append(ax.scatter(mine[:, 0], mine[:, 1], **_style.category_look(c), **style))
    if table.codes is None:
        ax.scatter(points[:, 0], points[:, 1], color=_style.muted_color(), **style)
    names = list(table.classes)
    if table.codes is not None and np.any(table.codes < 0):
        odd = points[table.codes < 0]
        handles.append(ax.scatter(odd[:, 0], odd[:, 1], color=_style.muted_color(), marker="x", s=style["s"], zorder=2))
        names.append("not known")
    if len(names) <= MAX_CLASS_KEYS:
        words = shorten_names(names, MAX_CLASS_LETTERS)
        made = _style.draw_legend(ax, handles, words, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        for handle in made.legend_handles:
            handle.set(sizes=[26.0], alpha=1.0)  # type: ignore[union-attr]
    ax.set(xlim=(table.x[0], table.x[-1]), ylim=(table.y[0], table.y[-1]))


def _spread(table: class_tables.DecisionTable) -> Array:
    """Return the rows (n, 2), those of few distinct values jittered, as they would hide one another."""
    if not any(table.steps):
        return table.points
    moves = np.random.default_rng(0).uniform(-0.3, 0.3, table.points.shape)
    return np.asarray(table.points + moves * np.array(table.steps))


def _draw_names(ax: Axes, table: class_tables.DecisionTable) -> None:
    """Write the names of classes into their regions, where there are more classes than colours; largest first."""
    from matplotlib.patheffects import withStroke

    names = shorten_names(table.classes, 12)
    size = _style.small_size(1.25 if len(table.classes) <= MAX_CLASS_KEYS else 1.0)
    area = np.bincount(table.regions.ravel(), minlength=len(names))
    inches, taken = np.asarray(ax.bbox.size) / ax.figure.dpi, list[Array]()
    for c in np.argsort(-area, kind="stable")[: np.count_nonzero(area)]:
        half = 0.5 * np.array([0.6 * len(names[c]), 1.1]) * size / 72.0 / inches
        middle = np.clip(_amid(table, int(c)), half, 1.0 - half)
        if any(np.all(np.abs(middle - other) < half + extent) for other, extent in taken):
            continue  # no room: its colour and markers identify it
        taken.append(np.array([middle, half]))
        style: dict[str, Any] = {"ha": "center", "va": "center", "weight": "bold", "fontsize": size, "zorder": 4}
        text = ax.text(*_in_plane(table, middle), names[c], color=_style.text_color(), **style)
        _style.as_plain_text(text).set_path_effects([withStroke(linewidth=3.0, foreground=_style.page_color())])


def _amid(table: class_tables.DecisionTable, c: int) -> Array:
    """Return the point (2,) of a region nearest to its centre, weighted by certainty, in shares of the plane."""
    up, across = np.nonzero(table.regions == c)
    places = np.column_stack([across, up]) / [len(table.x) - 1.0, len(table.y) - 1.0]
    centre = np.average(places, axis=0, weights=table.proba[up, across, c])
    return np.asarray(places[np.argmin(np.sum((places - centre) ** 2, axis=1))])


def _in_plane(table: class_tables.DecisionTable, shares: Array) -> tuple[float, float]:
    x, y = (ends[0] + share * np.ptp(ends) for ends, share in zip((table.x, table.y), shares, strict=True))
    return float(x), float(y)


MAX_FEATURE_LETTERS, MAX_ENTRY_LETTERS, MAX_OPPONENT_LETTERS = 26, 16, 18
"""Characters of the name of a feature, of its value, and of a class."""


@checked_plot()
def explanation(
    model: Any, X: Any, row: int = 0, *, of: Any = None, against: Any = None, top: int = 12, ax: Axes | None = None
) -> Axes:
    """Draw what each feature adds to the log-odds of a row's class against another class, the largest first.

    Args:
        model: a fitted classifier with `explain`: NaiveBayes, a discriminant, or a BayesClassifier of Gaussian classes.
        X: rows. row: which of them.
        of, against: two classes; the most likely of the row and the next if None.
        top: how many features; the sum of the others is one bar. ax: where to draw.

    Beside the name of a feature is the value of the row. The last bar is the sum of all.

    >>> from eigenlens import LinearDiscriminant, datasets, plot
    >>> wine = datasets.load("wine")
    >>> X = wine.frame()
    >>> ax = plot.explanation(LinearDiscriminant().fit(X, wine.labels), X, row=70)
    >>> ax.get_xlabel()
    'what is added to ln p(Grignolino | x) / p(Barbera | x)'
    """
    if not hasattr(model, "explain") or not hasattr(model, "classes_"):
        fix = "give a NaiveBayes, a discriminant or a BayesClassifier of Gaussian classes"
        raise OptionError(f": {type(model).__name__} has no explain", argument="model", fix=fix)
    found = model.explain(X, of=of, against=against)
    i = checks.integer("row", row, 0, len(found.of) - 1, "the last row of X")
    table = class_tables.explanation(found, i, top=top, entries=class_tables.row_entries(X, i))
    m = len(table.names)
    ax = _style.new_axes(ax, (6.4, 1.6 + 0.3 * m))
    values, heights = np.append(table.values, table.total), np.append(np.arange(m), m + 0.35)
    # With a prior of 0 the bar would be infinite: it has no length, and its number shows the value.
    lengths = np.where(np.isfinite(values), values, 0.0)
    _draw_bars(ax, heights, lengths, [BLUE if value >= 0.0 else VERMILLION for value in values])
    ax.axhline(m - 0.33, color=_style.muted_color(), linewidth=0.7)
    _style.style_axes(ax, "x")
    _style.name_ticks(ax, "y", heights, [*_names(table), "log-odds"], most=MAX_FEATURE_LETTERS + MAX_ENTRY_LETTERS + 3)
    ax.set_ylim(m + 0.95, -0.6)
    _beside_bars(ax, heights, lengths, values)
    of_class, other = shorten_names((table.of, table.against), MAX_OPPONENT_LETTERS)
    _style.as_plain_text(ax.set_xlabel(f"what is added to ln p({of_class} | x) / p({other} | x)", wrap=True))
    _style.write_note(ax, f"row {row}: {of_class} against {other}, log-odds {table.total:.3g}")
    return ax


def _draw_bars(ax: Axes, heights: Array, lengths: Array, colors: list[str]) -> None:
    """Draw the bars of the features filled, and the last one, their sum, as an outline."""
    ax.barh(heights[:-1], lengths[:-1], height=0.62, color=colors[:-1], zorder=2)
    outline: dict[str, Any] = {"facecolor": _style.page_color(), "edgecolor": colors[-1], "linewidth": 1.4}
    ax.barh(heights[-1:], lengths[-1:], height=0.62, zorder=2, **outline)
    ax.axvline(0.0, color=_style.muted_color(), linewidth=0.9)


def _names(table: class_tables.ExplanationTable) -> list[str]:
    names = shorten_names(table.names, MAX_FEATURE_LETTERS)
    pairs = zip(names, table.entries, strict=True)
    return [f"{name} = {shorten(entry, MAX_ENTRY_LETTERS)}" if entry else name for name, entry in pairs]


def _beside_bars(ax: Axes, heights: Array, lengths: Array, values: Array) -> None:
    for height, length, value in zip(heights, lengths, values, strict=True):
        side = 1.0 if value >= 0.0 else -1.0
        look = {"va": "center", "ha": "left" if side > 0.0 else "right"}
        _style.write_at(ax, f"{value:+.2f}", (float(length), float(height)), (3.0 * side, 0.0), **look)
    ax.margins(x=0.02 * _style.small_size())

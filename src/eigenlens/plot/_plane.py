"""Plots of one or two components: scores, biplot and correlation circle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.errors import OptionError
from eigenlens.kernel_pca import tables as kernel_tables
from eigenlens.pca import tables
from eigenlens.pca.model import PrincipalComponents
from eigenlens.plot import _style
from eigenlens.plot._arguments import checked_plot
from eigenlens.plot._ellipses import describe_ellipses, draw_ellipses
from eigenlens.plot._labels import LabelPlacer
from eigenlens.plot._points import MAX_INNER_KEYS, check_color, draw_points
from eigenlens.plot._strip import draw_strip
from eigenlens.plot._style import BLUE, GREEN, VERMILLION
from eigenlens.tables.ellipses import group_ellipses

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from eigenlens.pca.interpret import Supplementary
    from eigenlens.tables.values import BiplotTable, ScoreTable


MAX_ARROWS = 30


@checked_plot()
def scores(
    model: Any,
    X: Any,
    components: int | Sequence[int] | None = None,
    *,
    labels: Iterable[Any] | None = None,
    color: Any = None,
    ellipses: str | None = None,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw the rows of X on two axes of a model, with equal units; or on one, as a strip.

    Args:
        model: a fitted PCA, KernelPCA, ProbabilisticPCA, FactorAnalysis or LinearDiscriminant.
        X: rows (n, d), fitted or new.
        components: one or two numbers counted from 1; the first two if None, or the only one.
        labels: one per row, written beside it where there is room.
        color: a colour; or one value per row: categories get a legend, or a strip each, and numbers a scale.
        ellipses: "concentration" for an ellipse that holds `level` of a Gaussian with the covariance of each category;
            "mean" for one that covers the true mean of the category with that confidence. None for none.
        level: of the ellipses, between 0 and 1.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import PCA, datasets, plot
    >>> wine = datasets.load("wine")
    >>> X = wine.frame()
    >>> ax = plot.scores(PCA(2, standardize=True).fit(X), X, color=wine.labels, ellipses="concentration")
    >>> ax.get_xlabel()
    'PC1 (36.2%)'
    >>> food = datasets.load("uk-food")
    >>> ax = plot.scores(PCA(1).fit(food.data), food.data, labels=food.rows)
    >>> ax.get_xlabel()
    'PC1 (67.4%)'
    """
    chosen = check_components(components, model)
    frozen = isinstance(model, PrincipalComponents)
    table = (tables.scores if frozen else kernel_tables.embedding_scores)(model, X, chosen, labels=labels)
    if len(chosen) == 2:
        return draw_scores(table, color, ax, ellipses, level)
    if ellipses is not None:
        raise OptionError("needs two components", argument="ellipses", value=ellipses)
    return draw_strip(table, color, ax)


def draw_scores(
    table: ScoreTable, color: Any, ax: Axes | None, ellipses: str | None = None, level: float = 0.95
) -> Axes:
    """Draw the scores of rows on two components, of any model."""
    colours = check_color(color, len(table.values))
    found = None if ellipses is None else group_ellipses(table.values, colours, ellipses, level)
    ax = _style.new_axes(ax)
    square_plane(ax)
    draw_points(ax, table.values, colours)
    draw_ellipses(ax, found or (), colours)
    ax.set(xlabel=table.axis_labels[0], ylabel=table.axis_labels[1])
    wanted = LabelPlacer(ax)
    if table.labels is not None:
        wanted.want(table.values, table.labels, _style.text_color())
        wanted.keep_clear(zero_lines(ax))
    place_labels(ax, wanted, "" if found is None else describe_ellipses(found, colours, str(ellipses), level))
    return ax


@checked_plot()
def biplot(
    model: Any,
    X: Any,
    components: tuple[int, int] = (1, 2),
    *,
    alpha: float = 0.5,
    labels: Iterable[Any] | None = None,
    names: Iterable[str] | None = None,
    color: Any = None,
    top: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw rows as points, U Sᵅ, and columns as arrows, V S¹⁻ᵅ: their products are the centred data (Gabriel 1971).

    A row lies far along an arrow where its value in that column is far above the mean. With alpha=1 distances of
    points are those of the rows; with alpha=0 cosines of arrows are the columns' correlations; 0.5 is a compromise.
    If the arrows need a scale of their own, it is at the top and right, in their colour.

    Args:
        model: a fitted PCA. X: rows (n, d). components: two numbers counted from 1. alpha: 0, 0.5 or 1.
        labels: one per row. names: column names, if the model has none. color: as for `scores`.
        top: how many arrows, longest first; 30 at most if None.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import PCA, datasets, plot
    >>> wine = datasets.load("wine")
    >>> X = wine.frame()
    >>> ax = plot.biplot(PCA(2, standardize=True).fit(X), X, color=wine.labels)
    >>> ax.get_xlabel()
    'PC1 (36.2%)   rows U·Sᵅ, α = 0.5'
    """
    table = tables.biplot(model, X, component_pair(components), alpha=alpha, labels=labels, names=names)
    order, remark = _longest(table.columns, top)
    colours = check_color(color, len(table.rows))
    ax = _style.new_axes(ax)
    square_plane(ax)
    draw_points(ax, table.rows, colours)
    factor = _factor(table.rows, table.columns)
    tips = factor * table.columns[order]
    colour = VERMILLION if isinstance(colours, str) else _style.text_color()  # apart from the colours of categories
    _arrows(ax, tips, colour)
    _name_scales(ax, table, factor, colour)
    wanted = LabelPlacer(ax)
    if table.labels is not None:
        wanted.want(table.rows, table.labels, _style.text_color() if colour == VERMILLION else _style.muted_color())
    long = _worth_a_name(tips)
    wanted.want(tips[long], [table.names[j] for j in order[long]], colour, tips[long])
    wanted.keep_clear(np.concatenate([_along(tips), table.rows[:2000], zero_lines(ax)]))
    short = int((~long).sum())
    place_labels(ax, wanted, remark, f"{short} short arrows not named" if short else "")
    return ax


@checked_plot(supplementary="categories")
def correlation_circle(
    model: Any,
    components: tuple[int, int] = (1, 2),
    *,
    names: Iterable[str] | None = None,
    top: int | None = None,
    supplementary: Supplementary | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the correlations of the columns with two components as arrows in the unit circle.

    An arrow that reaches the circle lies entirely in this plane; the cosine of two such arrows is their correlation.

    Args:
        model: a fitted PCA. components: two numbers counted from 1. names: column names, if the model has none.
        top: how many arrows, longest first; 30 at most if None.
        supplementary: the result of `model.supplementary(columns)`, drawn dashed.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import PCA, datasets, plot
    >>> ax = plot.correlation_circle(PCA(2, standardize=True).fit(datasets.load("wine").frame()))
    >>> ax.get_xlabel()
    'PC1 (36.2%)'
    """
    pair = component_pair(components)
    table = tables.correlations(model, pair, names=names)
    order, remark = _longest(table.values, top)
    ax = _style.new_axes(ax, (5.2, 5.0))
    _circle(ax)
    ax.set_xlabel(_style.component_label(pair[0], table.shares[0], table.stem))
    ax.set_ylabel(_style.component_label(pair[1], table.shares[1], table.stem))
    wanted = LabelPlacer(ax)
    groups = [(table.values[order], [table.names[j] for j in order], BLUE, "solid")]
    if supplementary is not None:
        index = [c - 1 for c in pair]
        groups.append((supplementary.correlations[:, index], list(supplementary.names), GREEN, "dashed"))
    for tips, texts, colour, line in groups:
        _arrows(ax, tips, colour, line)
        wanted.want(tips, texts, colour, tips)
        wanted.keep_clear(np.concatenate([_along(tips), _unit_circle()]))
    place_labels(ax, wanted, remark)
    return ax


def check_components(components: int | Sequence[int] | None, model: Any) -> tuple[int, ...]:
    """Check the numbers of one or two components; the first two that the model has, or its only one, if None."""
    if components is None:
        shares = getattr(model, "explained_variance_ratio_", getattr(model, "variances", (1, 1)))
        return (1, 2)[: max(1, min(2, len(shares)))]
    if isinstance(components, int | np.integer):
        return (checks.integer("components", components, 1),)
    chosen = checks.listed("components", components)
    return (chosen[0],) if len(chosen) == 1 else component_pair(components)


def component_pair(components: Sequence[int]) -> tuple[int, int]:
    """Check the numbers of two components."""
    several = isinstance(components, Iterable) and not isinstance(components, str)
    given = checks.listed("components", components) if several else ()
    if len(given) != 2:
        what = "must be two numbers, for the horizontal and the vertical axis"
        raise OptionError(what, argument="components", value=components)
    return given[0], given[1]


def _longest(vectors: Array, top: int | None) -> tuple[Array, str]:
    """Return the indices of the longest vectors, in their own order, and a remark if some are left out."""
    d = len(vectors)
    shown = min(d, MAX_ARROWS) if top is None else checks.integer("top", top, 0, d, "the number of columns")
    order = np.sort(np.argsort(-np.linalg.norm(vectors, axis=1), kind="stable")[:shown])
    return order, f"the {shown} longest of {d} arrows" if shown < d else ""


def square_plane(ax: Axes) -> None:
    """Set equal units, so that distances and angles are true, and mark the origin."""
    _style.style_axes(ax)
    shared = len(ax.get_shared_x_axes().get_siblings(ax)) > 1 or len(ax.get_shared_y_axes().get_siblings(ax)) > 1
    ax.set_aspect("equal", adjustable="box" if shared else "datalim")
    ax.margins(0.1)
    ax.axhline(0.0, color=_style.muted_color(), linewidth=0.6, zorder=1)
    ax.axvline(0.0, color=_style.muted_color(), linewidth=0.6, zorder=1)


def _circle(ax: Axes) -> None:
    from matplotlib.patches import Circle

    _style.style_axes(ax, None)
    ax.add_patch(Circle((0.0, 0.0), 1.0, fill=False, edgecolor=_style.muted_color(), linewidth=0.9))
    ax.add_patch(Circle((0.0, 0.0), 0.5, fill=False, edgecolor=_style.grid_color(), linewidth=0.8))
    ax.axhline(0.0, color=_style.grid_color(), linewidth=0.8, zorder=1)
    ax.axvline(0.0, color=_style.grid_color(), linewidth=0.8, zorder=1)
    ax.set_aspect("equal", adjustable="box")
    ax.set(xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), xticks=[-1, -0.5, 0, 0.5, 1], yticks=[-1, -0.5, 0, 0.5, 1])


def _factor(rows: Array, columns: Array) -> float:
    """Return the factor, 1, 2 or 5 times a power of ten, that makes the arrows about as long as the points are far.

    It is 1 if they nearly are.

    >>> _factor(np.array([[480.0, 0.0]]), np.array([[0.0, 0.8]]))
    500.0
    """
    far, long = (float(np.linalg.norm(found, axis=1).max(initial=0.0)) for found in (rows, columns))
    if far == 0.0 or long == 0.0 or 0.4 <= long / far <= 1.5:
        return 1.0
    power = 10.0 ** np.floor(np.log10(far / long))
    return float(power * max(step for step in (1, 2, 5) if step * power <= far / long * (1.0 + 1e-9)))


def _arrows(ax: Axes, tips: Array, colour: str, line: str = "solid") -> None:
    for x, y in tips:
        style: Any = {"arrowstyle": "-|>,head_width=0.15,head_length=0.35", "color": colour, "linewidth": 0.9}
        style |= {"linestyle": line, "shrinkA": 0, "shrinkB": 0, "joinstyle": "miter"}
        ax.annotate("", (x, y), (0.0, 0.0), arrowprops=style, zorder=2.5)
    if len(tips):
        ax.update_datalim(tips)
        ax.autoscale_view()


def _along(tips: Array) -> Array:
    """Return points along the arrows, which labels should not cover."""
    steps = np.linspace(0.1, 1.0, 12)
    return np.asarray((steps[:, None, None] * tips[None]).reshape(-1, 2))


def zero_lines(ax: Axes) -> Array:
    """Return points along the lines through the origin, which labels should not cover."""
    x, y = (np.linspace(*limits, 80) for limits in (ax.get_xlim(), ax.get_ylim()))
    return np.concatenate([np.column_stack([x, 0.0 * x]), np.column_stack([0.0 * y, y])])


def _unit_circle() -> Array:
    turn = np.linspace(0.0, 2.0 * np.pi, 120)
    return np.column_stack([np.cos(turn), np.sin(turn)])


def _worth_a_name(tips: Array) -> Array:
    """Return which arrows (d,) are long enough for a name: at least an eighth of the longest."""
    length = np.linalg.norm(tips, axis=1)
    return np.asarray(length > 0.125 * length.max(initial=0.0))


def _name_scales(ax: Axes, table: BiplotTable, factor: float, colour: str) -> None:
    """Write the scaling of rows and columns on the axes, and draw the scale of the arrows if it differs."""
    rows = f"rows U·Sᵅ, α = {table.alpha:g}"
    columns = "columns V·S¹⁻ᵅ"
    if factor == 1.0:
        rows, columns = f"rows U·Sᵅ and columns V·S¹⁻ᵅ, α = {table.alpha:g}", ""
    ax.set_xlabel(f"{_style.component_label(table.components[0], table.shares[0], table.stem)}   {rows}")
    ax.set_ylabel(_style.component_label(table.components[1], table.shares[1], table.stem))
    if not columns:
        return
    scale: Any = (lambda x: x / factor, lambda x: x * factor)
    for side, axis in (("top", ax.secondary_xaxis("top", scale)), ("right", ax.secondary_yaxis("right", scale))):
        axis.tick_params(labelsize=_style.small_size(), colors=colour)
        axis.spines[side].set_color(colour)
        axis.spines[side].set_linewidth(0.6)
        if side == "top":
            axis.set_xlabel(f"{columns} (arrows, their own scale)", fontsize=_style.small_size(), color=colour)
    key = ax.get_legend()
    if key is not None and len(key.get_texts()) > MAX_INNER_KEYS:
        key.set_bbox_to_anchor((1.14, 1.0), ax.transAxes)  # beyond the scale of the arrows


def place_labels(ax: Axes, wanted: LabelPlacer, *remarks: str) -> None:
    """Draw the labels, and above the axes remarks and the number of labels left out.

    The line above is reserved first: the layout must not change after the labels are placed.
    """
    _style.write_note(ax, *remarks, " ")
    missing = wanted.draw()
    left_out = f"{missing} label{'s' if missing > 1 else ''} without room left out" if missing else ""
    _style.write_note(ax, *remarks, left_out)

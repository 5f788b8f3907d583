"""The common style of all plots: axes, colours, light grids, plain text, and names shortened to the room available."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.errors import MissingExtra
from eigenlens.tables.names import shorten_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.colorbar import Colorbar
    from matplotlib.colors import Colormap
    from matplotlib.legend import Legend
    from matplotlib.text import Text


BLUE, VERMILLION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
PURPLE, SKY, BLACK, SILVER = "#CC79A7", "#56B4E9", "#000000", "#999999"
PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK, SILVER)
"""The colours of Okabe and Ito (2008), distinguishable with any common colour vision; grey for their faint yellow."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""Marker shapes that cycle with the colours: seven shapes and eight colours make 56 different pairs."""

TEXT_COLORS, MUTED_COLORS, GRID_COLORS = ("#222222", "#EEEEEE"), ("#666666", "#AAAAAA"), ("#DDDDDD", "#444444")
"""Colours of text, of axes and notes, and of grids: on a light page, and on a dark one."""

MAX_TICK_LETTERS, MAX_AXIS_LETTERS = 30, 50
"""Characters of a name beside a tick, and along an axis."""

MAX_RANGE_RATIO = 3.0
"""Two columns whose ranges differ by no more than this factor are drawn with one unit as long on both axes."""

DASHES: Any = (0, (4, 3))
"""The dashes and spaces of guide lines, in points."""

LUMINANCE = (0.299, 0.587, 0.114)
"""The weights of red, green and blue in perceived lightness (ITU-R BT.601)."""


def page_color() -> str:
    """Return the colour behind the data, from matplotlib's settings: white, unless a style sheet changes it."""
    from matplotlib import rcParams
    from matplotlib.colors import to_hex

    return to_hex(rcParams["axes.facecolor"])


def is_dark(color: Any) -> bool:
    """Return whether light text is easier to read on a colour than dark text.

    >>> is_dark("white"), is_dark("#0072B2"), is_dark((0.1, 0.1, 0.2))
    (False, True, True)
    """
    from matplotlib.colors import to_rgb

    return sum(weight * part for weight, part in zip(LUMINANCE, to_rgb(color), strict=True)) < 0.55


def text_color_on(color: Any) -> str:
    """Return the colour of text on a coloured background."""
    return TEXT_COLORS[is_dark(color)]


def text_color() -> str:
    """Return the colour of text and important lines, on a light or a dark page."""
    return TEXT_COLORS[is_dark(page_color())]


def muted_color() -> str:
    """Return the colour of axes, notes and guide lines."""
    return MUTED_COLORS[is_dark(page_color())]


def grid_color() -> str:
    """Return the colour of grids and of background areas."""
    return GRID_COLORS[is_dark(page_color())]


def category_color(i: int) -> str:
    """Return the colour of category number i; black is white on a dark page.

    >>> category_color(0) == category_color(8) == BLUE
    True
    """
    color = PALETTE[i % len(PALETTE)]
    return "#FFFFFF" if color == BLACK and is_dark(page_color()) else color


def category_look(i: int) -> dict[str, Any]:
    """Return the colour and the marker of category number i."""
    return {"color": category_color(i), "marker": MARKERS[i % len(MARKERS)]}


def small_size(factor: float = 1.0) -> float:
    """Return the size in points of small text: 0.8 of matplotlib's own, times a factor.

    >>> import matplotlib
    >>> with matplotlib.rc_context({"font.size": 20.0}):
    ...     small_size(), small_size(0.5)
    (16.0, 8.0)
    """
    from matplotlib import rcParams

    return float(0.8 * rcParams["font.size"] * factor)


def new_axes(ax: Axes | None, size: tuple[float, float] = (6.0, 4.5)) -> Axes:
    """Return `ax` itself, or the axes of a new figure, `size` in inches."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtra("matplotlib", extra="plot", need="drawing") from error
    return plt.subplots(figsize=size, dpi=150, layout="constrained")[1]


def style_axes(ax: Axes, grid: str | None = "both") -> None:
    """Draw a light grid behind the data and no box around it."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(muted_color())
    _style_ticks(ax)
    ax.set_axisbelow(True)
    if grid is not None:
        ax.grid(axis=grid, color=grid_color(), linewidth=0.6)  # type: ignore[arg-type]


def _style_ticks(ax: Axes) -> None:
    ax.tick_params(colors=muted_color(), labelcolor=text_color(), labelsize=small_size())


def draw_color_scale(ax: Axes, drawn: Any, shrink: float, label: str = "", **style: Any) -> Colorbar:
    """Draw the scale of colours beside the axes, as high as this share of them."""
    bar = ax.figure.colorbar(drawn, ax=ax, shrink=shrink, pad=0.02, **style)
    bar.set_label(label, fontsize=small_size())
    _style_ticks(bar.ax)
    bar.outline.set_visible(False)
    return bar


def as_plain_text(text: Text) -> Text:
    """Return the text with its characters unchanged: `$` and `\\` in a user's name are not mathematics or TeX."""
    text.set_parse_math(False)
    text.set_usetex(False)
    return text


def write_note(ax: Axes, *remarks: str) -> None:
    """Write remarks in a small line above the axes; empty remarks are left out."""
    text = "; ".join(filter(None, remarks))
    as_plain_text(ax.set_title(text, loc="left", fontsize=small_size(), color=muted_color(), wrap=True))


def write_note_below(ax: Axes, *remarks: str, **style: Any) -> None:
    """Write remarks in a small line below the axes, where other text is above them; empty remarks are left out."""
    text = "; ".join(filter(None, remarks))
    as_plain_text(ax.set_xlabel(text, fontsize=small_size(), color=muted_color(), **style))


def write_at(ax: Axes, text: str, place: tuple[float, float], offset: tuple[float, float], **style: Any) -> Text:
    """Write small text beside a place in the data, at an offset in points."""
    look: dict[str, Any] = {"textcoords": "offset points", "fontsize": small_size(), "color": text_color()}
    return as_plain_text(ax.annotate(text, place, offset, **look | style))


def text_frame() -> dict[str, Any]:
    """Return a box in the colour of the page, on which text over lines can be read."""
    return {"facecolor": page_color(), "edgecolor": "none", "alpha": 0.8, "pad": 1.0}


def mark_point(ax: Axes, x: float, y: float, color: str) -> None:
    """Draw a ring around one point of a curve."""
    look: dict[str, Any] = {"markersize": 7.0, "markerfacecolor": page_color(), "markeredgewidth": 1.6}
    ax.plot(x, y, "o", color=color, **look)


def name_ticks(
    ax: Axes, axis: str, positions: Iterable[float], names: Iterable[str], most: int = MAX_TICK_LETTERS, **style: Any
) -> None:
    """Write names, of at most `most` characters each, small, at positions along an axis ("x" or "y")."""
    found = ax.xaxis if axis == "x" else ax.yaxis
    found.set_ticks(list(positions), labels=shorten_names(list(names), most), **{"fontsize": small_size()} | style)
    for text in found.get_ticklabels():
        as_plain_text(text)


def name_bars(ax: Axes, names: Sequence[str]) -> None:
    """Write the names of horizontal bars at 0, 1, … beside them, the first on top."""
    name_ticks(ax, "y", range(len(names)), names)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) - 0.4, -0.6)


def name_axes(ax: Axes, x: str = "", y: str = "") -> None:
    """Write the names of columns along the axes; an axis without one keeps its label."""
    across, up = shorten_names((x, y), MAX_AXIS_LETTERS)
    if across:
        as_plain_text(ax.set_xlabel(across))
    if up:
        as_plain_text(ax.set_ylabel(up))


def set_aspect(ax: Axes, x: float, y: float, adjustable: Any = "box") -> bool:
    """Draw one unit as long on both axes if the ranges x and y are comparable; return whether they are."""
    equal = bool(1.0 / MAX_RANGE_RATIO <= x / max(y, float(np.finfo(float).tiny)) <= MAX_RANGE_RATIO)
    ax.set_aspect("equal" if equal else "auto", adjustable=adjustable)
    return equal


def draw_legend(ax: Axes, handles: list[Any], names: list[str], **style: Any) -> Legend:
    """Draw a legend with the names unchanged: matplotlib would hide those that begin with an underscore."""
    made = ax.legend(handles, [" "] * len(handles), fontsize=small_size(), **({"frameon": False} | style))
    for text, name in zip(made.get_texts(), names, strict=True):
        as_plain_text(text).set_text(name)
    return made


def draw_legend_above(ax: Axes, handles: list[Any], names: list[str], ncols: int) -> None:
    """Draw a legend in columns above the axes."""
    draw_legend(ax, handles, names, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=ncols)


def count_in_integers(axis: Axis) -> None:
    """Put ticks at about a dozen whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=12, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))


def component_label(number: int, share: float, stem: str = "PC") -> str:
    """Return the name of a component, or a factor, on an axis.

    >>> component_label(1, 67.444), component_label(2, 9.0, "F")
    ('PC1 (67.4%)', 'F2 (9.0%)')
    """
    return f"{stem}{number} ({share:.1f}%)"


def diverging_colors() -> Colormap:
    """Return a colour map with blue below zero, the page colour at zero, vermillion above."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("eigenlens", [BLUE, page_color(), VERMILLION])

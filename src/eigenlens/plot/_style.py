"""What all pictures have in common: new axes, colours, quiet grids, text that is never read as mathematics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from eigenlens.errors import MissingExtra
from eigenlens.plot._names import told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.legend import Legend
    from matplotlib.text import Text

__all__ = [
    "BLUE", "GREEN", "MARKERS", "PALETTE", "VERMILLION",
    "component_label", "diverging", "grey", "ink", "is_dark", "legend", "name_axes", "new_axes", "note", "paper",
    "plain", "quiet", "readable_on", "rule", "shade", "small", "tick_names",
]  # fmt: skip

BLUE, VERMILLION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
PURPLE, SKY, BLACK, SILVER = "#CC79A7", "#56B4E9", "#000000", "#999999"
PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK, SILVER)
"""The colours of Okabe and Ito (2008), told apart with any common colour vision; grey for their yellow, too faint."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""Shapes that go round with the colours. Seven against eight colours: 56 pairs before one comes again."""

INKS, GREYS, RULES = ("#222222", "#EEEEEE"), ("#666666", "#AAAAAA"), ("#DDDDDD", "#444444")
"""For text, for what is beside the data, and for grids: on a light page, and on a dark one."""

LONGEST, LONGEST_AXIS = 30, 50
"""Characters of a name beside a tick, and along an axis."""

LUMINANCE = (0.299, 0.587, 0.114)
"""What red, green and blue add to the lightness that the eye sees."""


def paper() -> str:
    """The colour behind the data, of matplotlib's own settings: white, unless a style says otherwise."""
    from matplotlib import rcParams
    from matplotlib.colors import to_hex

    return to_hex(rcParams["axes.facecolor"])


def is_dark(color: Any) -> bool:
    """Whether light text is easier to read on a colour than dark text.

    >>> is_dark("white"), is_dark("#0072B2"), is_dark((0.1, 0.1, 0.2))
    (False, True, True)
    """
    from matplotlib.colors import to_rgb

    return sum(weight * part for weight, part in zip(LUMINANCE, to_rgb(color), strict=True)) < 0.55


def readable_on(color: Any) -> str:
    """The colour of text on a colour."""
    return INKS[is_dark(color)]


def ink() -> str:
    """The colour of text and of lines that matter, on a light or a dark page."""
    return INKS[is_dark(paper())]


def grey() -> str:
    """The colour of axes, notes and lines for orientation."""
    return GREYS[is_dark(paper())]


def rule() -> str:
    """The colour of grids and of areas that only fill."""
    return RULES[is_dark(paper())]


def shade(i: int) -> str:
    """The colour of category number i; black is white on a dark page.

    >>> shade(0) == shade(8) == BLUE
    True
    """
    color = PALETTE[i % len(PALETTE)]
    return "#FFFFFF" if color == BLACK and is_dark(paper()) else color


def small(factor: float = 1.0) -> float:
    """The size in points of text beside the data: 0.8 of matplotlib's own, times a factor.

    >>> import matplotlib
    >>> with matplotlib.rc_context({"font.size": 20.0}):
    ...     small(), small(0.5)
    (16.0, 8.0)
    """
    from matplotlib import rcParams

    return float(0.8 * rcParams["font.size"] * factor)


def new_axes(ax: Axes | None, size: tuple[float, float] = (6.0, 4.5)) -> Axes:
    """`ax` itself, or the axes of a new figure of its own, `size` in inches."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtra("matplotlib", extra="plot", need="drawing") from error
    return plt.subplots(figsize=size, dpi=150, layout="constrained")[1]


def quiet(ax: Axes, grid: str | None = "both") -> None:
    """A light grid behind the data and no box around it."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(grey())
    ax.tick_params(colors=grey(), labelcolor=ink(), labelsize=small())
    ax.set_axisbelow(True)
    if grid is not None:
        ax.grid(axis=grid, color=rule(), linewidth=0.6)  # type: ignore[arg-type]


def plain(text: Text) -> Text:
    """The text as it is written: `$` and `\\` in a user's name are no mathematics and no TeX."""
    text.set_parse_math(False)
    text.set_usetex(False)
    return text


def note(ax: Axes, *remarks: str) -> None:
    """A small line above the axes, for what a reader must know and could not see; nothing if there is nothing."""
    said = "; ".join(remark for remark in remarks if remark)
    plain(ax.set_title(said, loc="left", fontsize=small(), color=grey(), wrap=True))


def tick_names(
    ax: Axes, axis: str, positions: Iterable[float], names: Iterable[str], most: int = LONGEST, **style: Any
) -> None:
    """Names of things, of at most so many characters, at positions along an axis ("x" or "y")."""
    found = ax.xaxis if axis == "x" else ax.yaxis
    found.set_ticks(list(positions), labels=told_apart(list(names), most), **style)
    for text in found.get_ticklabels():
        plain(text)


def name_axes(ax: Axes, x: str = "", y: str = "") -> None:
    """The names of columns along the axes; an axis without one keeps its label."""
    across, up = told_apart((x, y), LONGEST_AXIS)
    if across:
        plain(ax.set_xlabel(across))
    if up:
        plain(ax.set_ylabel(up))


def legend(ax: Axes, handles: list[Any], names: list[str], **style: Any) -> Legend:
    """A legend with the names as they are: matplotlib would hide those that begin with an underscore."""
    made = ax.legend(handles, [" "] * len(handles), fontsize=small(), **({"frameon": False} | style))
    for text, name in zip(made.get_texts(), names, strict=True):
        plain(text).set_text(name)
    return made


def component_label(number: int, share: float, stem: str = "PC") -> str:
    """How a component, or a factor, is called on an axis.

    >>> component_label(1, 67.444), component_label(2, 9.0, "F")
    ('PC1 (67.4%)', 'F2 (9.0%)')
    """
    return f"{stem}{number} ({share:.1f}%)"


def diverging() -> Colormap:
    """Blue for below zero, white (or what the page is) for zero, vermillion for above."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("eigenlens", [BLUE, paper(), VERMILLION])

"""Figures for a light and a dark page: each matplotlib figure is saved twice, the second time recoloured.

The light file is the figure as it was drawn. For the dark one, backgrounds become transparent, and neutral colours
(black text, grey grids, white edges) change their lightness; colours that carry meaning stay, only the very dark ones
are lifted. A map of colours on paper (white for nothing, or in its middle) becomes one on slate; photographs and other
maps stay, and so does text over them.
"""

from __future__ import annotations

import colorsys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

PIXELS_PER_INCH = 96
"""CSS pixels per inch; figures are saved at twice this resolution."""

SHOWN_WIDTH = 760
"""Figures wider than this are shown at this width, in CSS pixels."""

STYLE = {
    "figure.figsize": (6.8, 4.2),
    "figure.dpi": 100,
    "savefig.dpi": 2 * PIXELS_PER_INCH,
    "figure.constrained_layout.use": True,
    "font.size": 10.5,
    "axes.titlesize": "large",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "eigenlens",
}

GETTERS = ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor")
NEUTRAL = 0.14
"""Colours less saturated than this (range of their red, green and blue) are text, grids and edges."""

MIDDLE = 0.18
"""The relative luminance between the colours on which light text, and those on which dark text, can be read better."""

TURNED = "-dark"
"""Ends the name of a map of colours that was made for the dark page."""

PAPER = 0.9
"""Colours whose red, green and blue are all above this are as good as white."""


def reset() -> None:
    """Matplotlib as every page and every script of the gallery finds it."""
    import matplotlib.pyplot as plt

    plt.close("all")
    mpl.rcdefaults()
    mpl.use("agg")
    mpl.rcParams.update(STYLE)


def save_twice(figure: Any, path: Path) -> tuple[Path, Path]:
    """Save `figure` as path (light) and as its -dark sibling. The figure is spoilt by it: close it afterwards."""
    dark = dark_sibling(path)
    figure.savefig(path, dpi=STYLE["savefig.dpi"], bbox_inches="tight", facecolor="white")
    darken(figure)
    figure.savefig(dark, dpi=STYLE["savefig.dpi"], bbox_inches="tight", transparent=False, facecolor="none")
    return path, dark


def dark_sibling(path: Path) -> Path:
    """Return where the dark version of a figure is."""
    return path.with_name(f"{path.stem}-dark{path.suffix}")


def darken(figure: Any) -> None:
    """Recolour every artist of a figure for a dark page."""
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    kept = _over_images(figure)
    backgrounds = {figure.patch, *(axes.patch for axes in figure.findobj(Axes))}  # those within others too
    for artist in figure.findobj(Artist):
        if artist in backgrounds:
            artist.set_facecolor("none")
        elif artist not in kept:
            _recolour(artist)
    for axes in figure.axes:
        for image in (image for image in axes.images if image.get_cmap().name.endswith(TURNED)):
            _write_on_cells(image)


def _write_on_cells(image: Any) -> None:
    """Make texts over a map that was turned light or dark, whichever can be read on the cell below them."""
    values, (left, right, bottom, top) = image.get_array(), image.get_extent()
    first, last = (top, bottom) if image.origin == "upper" else (bottom, top)
    for text in (text for text in image.axes.texts if text.get_transform() == image.axes.transData):
        x, y = text.get_position()
        place = np.array([(y - first) / (last - first), (x - left) / (right - left)]) * values.shape
        if (place >= 0.0).all() and (place < values.shape).all():
            cell = image.to_rgba(values[tuple(place.astype(int))])
            luminance = np.array(cell[:3]) ** 2.2 @ [0.2126, 0.7152, 0.0722]
            text.set_color(for_dark(np.array([0.0, 0.0, 0.0, 1.0] if luminance < MIDDLE else [1.0, 1.0, 1.0, 1.0])))


def _over_images(figure: Any) -> set[Any]:
    """Texts drawn over an image or a mesh whose colours stay, and light ones over one that lets the page through."""
    from matplotlib.collections import QuadMesh

    kept: set[Any] = set()
    for axes in figure.axes:
        filled = [*axes.images, *(part for part in axes.collections if isinstance(part, QuadMesh))]
        if any(_stays(part) for part in filled):
            kept.update(axes.texts)
        elif any(np.ndim(part.get_array()) > 2 for part in filled):
            kept.update(text for text in axes.texts if min(mpl.colors.to_rgb(text.get_color())) > PAPER)
    return kept


def _stays(part: Any) -> bool:
    """Whether an image or a mesh looks the same on any page; colours that are half clear let the page through."""
    values = part.get_array()
    if np.ndim(values) > 2:
        return bool(np.shape(values)[2] == 3 or np.min(values[:, :, 3]) == 1.0)
    return not on_paper(part.get_cmap())


def _recolour(artist: Any) -> None:
    box = artist.get_bbox_patch() if hasattr(artist, "get_bbox_patch") else None
    for part in (box, getattr(artist, "arrow_patch", None)):  # what a text has behind it and points with: no children
        if part is not None:
            _recolour(part)
    for effect in artist.get_path_effects() or ():  # halos around text
        given = getattr(effect, "_gc", {})
        if "foreground" in given:
            given["foreground"] = for_dark(np.array(mpl.colors.to_rgba(given["foreground"])))
    if getattr(artist, "colors", None) is not None:  # contours whose colours were given one by one
        artist.set_cmap(mpl.colors.ListedColormap([for_dark(c) for c in mpl.colors.to_rgba_array(artist.cmap.colors)]))
        return
    if hasattr(artist, "get_array") and artist.get_array() is not None:
        if on_paper(artist.get_cmap()):
            artist.set_cmap(on_slate(artist.get_cmap()))
        return  # its colours are data
    # All are read before any is set: "auto" colours of markers follow that of their line.
    for name, old in [(name, _colours(artist, name)) for name in GETTERS]:
        if len(old) and old[:, 3].any():  # "none" has no colour to turn, and set again it would have the artist's alpha
            new = [for_dark(colour) for colour in old]
            getattr(artist, f"set_{name}")(new[0] if len(new) == 1 else np.array(new))


def _colours(artist: Any, name: str) -> np.ndarray:
    """The (m, 4) colours of an artist under one of GETTERS; none if it has no such colours."""
    get = getattr(artist, f"get_{name}", None)
    if get is None or not hasattr(artist, f"set_{name}") or (name == "color" and hasattr(artist, "get_facecolor")):
        return np.empty((0, 4))
    try:
        return np.atleast_2d(mpl.colors.to_rgba_array(get()))
    except (ValueError, TypeError):
        return np.empty((0, 4))  # "none", "auto" and the like


def on_paper(cmap: Any) -> bool:
    """Whether a map of colours takes white, and opaque, for its lowest value or its middle."""
    ends = cmap([0.0, 0.5])
    return bool(((ends[:, :3].min(axis=1) > PAPER) & (ends[:, 3] > 0.5)).any())


def on_slate(cmap: Any) -> Any:
    """The same hues, light where they were dark."""
    table = cmap(np.linspace(0.0, 1.0, 256))
    turned = [_turned(*colorsys.rgb_to_hls(*colour[:3])) for colour in table]
    made = mpl.colors.ListedColormap(np.column_stack([turned, table[:, 3]]), name=f"{cmap.name}{TURNED}")
    return made.with_extremes(bad=for_dark(np.array(cmap.get_bad())))


def _turned(hue: float, light: float, saturation: float) -> tuple[float, float, float]:
    return colorsys.hls_to_rgb(hue, 0.09 + 0.83 * (1.0 - light), saturation)


def for_dark(colour: np.ndarray) -> tuple[float, float, float, float]:
    """The (4,) colour that does on a dark page what this one does on a white page."""
    r, g, b, alpha = (float(part) for part in colour)
    hue, light, saturation = colorsys.rgb_to_hls(r, g, b)
    if max(r, g, b) - min(r, g, b) < NEUTRAL:
        return (*_turned(hue, light, saturation), alpha)
    return (*colorsys.hls_to_rgb(hue, max(light, 0.42), saturation), alpha)


def css_width(path: Path) -> int:
    """Return the width of a figure on the page in CSS pixels, given its file at twice the resolution."""
    import struct

    with path.open("rb") as file:
        header = file.read(24)
    return int(struct.unpack(">I", header[16:20])[0]) // 2

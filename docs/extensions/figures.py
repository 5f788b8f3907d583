"""Pictures for a light and a dark page: each matplotlib figure is saved twice, the second time recoloured.

The light picture is the figure as it was drawn. For the dark one, backgrounds become transparent, and neutral colours
(black text, grey grids, white edges) change their lightness; colours that carry meaning stay, only the very dark ones
are lifted. Text over an image or a mesh stays as it is, for its background does.
"""

from __future__ import annotations

import colorsys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

PIXELS_PER_INCH = 96
"""What a browser takes an inch to be; pictures are saved at twice that."""

STYLE = {
    "figure.figsize": (6.8, 4.2),
    "figure.dpi": 100,
    "savefig.dpi": 2 * PIXELS_PER_INCH,
    "figure.constrained_layout.use": True,
    "font.size": 10.5,
    "axes.titlesize": 11.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "eigenlens",
}

GETTERS = ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor")
NEUTRAL = 0.14
"""Colours less saturated than this (range of their red, green and blue) are text, grids and edges."""


def reset() -> None:
    """Matplotlib as every page and every script of the gallery finds it."""
    import matplotlib.pyplot as plt

    plt.close("all")
    mpl.rcdefaults()
    mpl.use("agg")
    mpl.rcParams.update(STYLE)


def save_twice(figure: Any, path: Path) -> tuple[Path, Path]:
    """Save `figure` as path (light) and as its -dark sibling. The figure is spoilt by it: close it afterwards."""
    dark = path.with_name(f"{path.stem}-dark{path.suffix}")
    figure.savefig(path, dpi=STYLE["savefig.dpi"], bbox_inches="tight", facecolor="white")
    darken(figure)
    figure.savefig(dark, dpi=STYLE["savefig.dpi"], bbox_inches="tight", transparent=False, facecolor="none")
    return path, dark


def darken(figure: Any) -> None:
    """Recolour every artist of a figure for a dark page."""
    from matplotlib.artist import Artist

    kept = _over_images(figure)
    backgrounds = {figure.patch, *(axes.patch for axes in figure.axes)}
    for artist in figure.findobj(Artist):
        if artist in backgrounds:
            artist.set_facecolor("none")
        elif artist not in kept:
            _recolour(artist)


def _over_images(figure: Any) -> set[Any]:
    """Texts and lines drawn over an image or a mesh; their background does not change."""
    from matplotlib.collections import QuadMesh

    kept: set[Any] = set()
    for axes in figure.axes:
        filled = axes.images or any(isinstance(part, QuadMesh) for part in axes.collections)
        if filled:
            kept.update(axes.texts)
    return kept


def _recolour(artist: Any) -> None:
    box = artist.get_bbox_patch() if hasattr(artist, "get_bbox_patch") else None  # behind a text, and no child of it
    if box is not None:
        _recolour(box)
    for effect in artist.get_path_effects() or ():  # halos around text
        given = getattr(effect, "_gc", {})
        if "foreground" in given:
            given["foreground"] = for_dark(np.array(mpl.colors.to_rgba(given["foreground"])))
    if hasattr(artist, "get_array") and artist.get_array() is not None:
        return  # its colours are data
    for name in GETTERS:
        get, set_ = getattr(artist, f"get_{name}", None), getattr(artist, f"set_{name}", None)
        if get is None or set_ is None or (name == "color" and hasattr(artist, "get_facecolor")):
            continue
        try:
            old = np.atleast_2d(mpl.colors.to_rgba_array(get()))
        except (ValueError, TypeError):
            continue  # "none", "auto" and the like
        if len(old):
            new = np.array([for_dark(colour) for colour in old])
            set_(tuple(new[0]) if len(new) == 1 else new)


def for_dark(colour: np.ndarray) -> tuple[float, float, float, float]:
    """The (4,) colour that does on a dark page what this one does on a white page."""
    r, g, b, alpha = (float(part) for part in colour)
    hue, light, saturation = colorsys.rgb_to_hls(r, g, b)
    if max(r, g, b) - min(r, g, b) < NEUTRAL:
        light = 0.09 + 0.83 * (1.0 - light)
    else:
        light = max(light, 0.42)
    return (*colorsys.hls_to_rgb(hue, light, saturation), alpha)


def css_width(path: Path) -> int:
    """Width at which a picture of twice the resolution is shown, in pixels of the page."""
    import struct

    with path.open("rb") as file:
        header = file.read(24)
    return int(struct.unpack(">I", header[16:20])[0]) // 2

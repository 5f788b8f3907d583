"""Placement of labels that do not overlap: each takes the cheapest free position around its anchor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.plot import _style
from eigenlens.tables.names import shorten_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes


DIRECTIONS = 24
LABEL_DISTANCES = (4.0, 8.0, 14.0, 22.0, 32.0, 44.0)
"""Distances in points between an anchor and its label, tried from the nearest."""

MIN_LEADER_DISTANCE = 10.0
"""A label farther away than this, in points, is connected to its anchor by a thin line."""

MAX_LABELS = 100
"""More labels than this nobody reads; the outermost are tried."""

MAX_LABELS_WITH_LEADERS = 30
"""Among more labels than this, lines to distant ones would cross: a label is drawn at its anchor or not at all."""

MAX_LABEL_LETTERS = 32
"""Letters of a label; a longer one loses its middle, since names often differ at their ends."""


class LabelPlacer:
    """Texts for one Axes, collected first and placed together, so that they do not overlap."""

    def __init__(self, ax: Axes) -> None:
        self.ax = ax
        self.anchors: list[Array] = []
        self.directions: list[Array] = []
        self.texts: list[str] = []
        self.colours: list[str] = []
        self.avoid: list[Array] = []
        self.weights: list[float] = []

    def want(self, anchors: Array, texts: Sequence[str], colour: str, directions: Array | None = None) -> None:
        """Request a label at each anchor (m, 2), in data units, preferably on the side of its direction (m, 2).

        An empty text is no label.
        """
        toward = np.broadcast_to(np.array([1.0, 0.4]), anchors.shape) if directions is None else directions
        self.keep_clear(anchors, 3.0)
        for anchor, direction, text in zip(anchors, toward, shorten_names(texts, MAX_LABEL_LETTERS), strict=True):
            if text:
                self.anchors.append(anchor)
                self.directions.append(direction)
                self.texts.append(text)
                self.colours.append(colour)

    def keep_clear(self, points: Array, weight: float = 0.7) -> None:
        """Avoid covering points (p, 2), in data units, where there is a choice."""
        self.avoid.extend(points)
        self.weights.extend([weight] * len(points))

    def draw(self) -> int:
        """Place the labels; return the number of those left out for lack of room."""
        if not self.texts:
            return 0
        order = _outermost_first(np.array(self.anchors))
        tried = order[:MAX_LABELS]
        self.ax.figure.canvas.figure.draw_without_rendering()  # fixes the layout and the aspect
        offsets, kept = self._offsets(tried)
        for i, offset, keep in zip(tried, offsets, kept, strict=True):
            if keep:
                self._annotate(self.anchors[i], self.texts[i], self.colours[i], offset)
        return len(self.texts) - int(kept.sum())

    def _offsets(self, tried: Array) -> tuple[Array, Array]:
        to_pixels, point = self.ax.transData.transform, self.ax.figure.dpi / 72.0
        box = self.ax.get_window_extent()
        sizes = np.array([self._size(self.texts[i]) for i in tried])
        anchors = to_pixels(np.array(self.anchors)[tried])
        avoid = np.column_stack([to_pixels(np.array(self.avoid)) / point, self.weights])
        toward = np.array(self.directions)[tried]
        frame = np.array([box.x0, box.y0, box.x1, box.y1]) / point
        taken = self._taken() / point
        centres, kept = arrange_labels(anchors / point, sizes / point, toward, avoid, frame, taken)
        return centres - anchors / point, kept

    def _taken(self) -> Array:
        """Return the legend's box (0 or 1, 4: centre, size), in pixels."""
        drawn = self.ax.get_legend()
        if drawn is None:
            return np.empty((0, 4))
        box = drawn.get_window_extent()
        return np.array([[(box.x0 + box.x1) / 2.0, (box.y0 + box.y1) / 2.0, box.width, box.height]])

    def _size(self, text: str) -> tuple[float, float]:
        drawn = _style.as_plain_text(
            self.ax.text(0.5, 0.5, text, fontsize=_style.small_size(), transform=self.ax.transAxes)
        )
        extent = drawn.get_window_extent()
        drawn.remove()
        return extent.width, extent.height

    def _annotate(self, anchor: Array, text: str, colour: str, offset: Array) -> None:
        from matplotlib.patheffects import withStroke

        far = _beyond(offset, *self._size(text), self.ax.figure.dpi / 72.0) > MIN_LEADER_DISTANCE
        leader: Any = {"arrowstyle": "-", "color": _style.muted_color(), "linewidth": 0.5, "shrinkA": 0, "shrinkB": 2}
        look: Any = {"ha": "center", "va": "center_baseline", "color": colour, "zorder": 5}
        place, beside = (anchor[0], anchor[1]), (offset[0], offset[1])
        label = _style.write_at(self.ax, text, place, beside, arrowprops=leader if far else None, **look)
        label.set_path_effects([withStroke(linewidth=2.0, foreground=_style.page_color())])


def arrange_labels(
    anchors: Array, sizes: Array, directions: Array, avoid: Array, frame: Array, taken: Array
) -> tuple[Array, Array]:
    """Return centres (m, 2) for labels of the given sizes (m, 2), and which of them (m,) do not overlap.

    Greedy in the order given, then twice more with all others in place. The cost of a position is what it covers, then
    its distance, then its angle to the preferred direction; the outside of the frame (4,) counts as covered, and so do
    boxes that are occupied (t, 4: centre, size). Points to avoid (p, 3) have a weight beside their coordinates.

    >>> anchors, sizes = np.array([[50.0, 50.0], [52.0, 50.0]]), np.array([[30.0, 10.0], [30.0, 10.0]])
    >>> right, frame = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0.0, 0.0, 100.0, 100.0])
    >>> centres, free = arrange_labels(anchors, sizes, right, np.empty((0, 3)), frame, np.empty((0, 4)))
    >>> free.tolist(), bool(abs(centres[0] - centres[1])[1] >= 10 or abs(centres[0] - centres[1])[0] >= 30)
    ([True, True], True)
    """
    centres = np.full(anchors.shape, np.inf)
    crowding = np.zeros(len(anchors))
    distances = np.array(LABEL_DISTANCES if len(anchors) <= MAX_LABELS_WITH_LEADERS else LABEL_DISTANCES[:2])
    for _ in range(3):
        for i in range(len(anchors)):
            others = np.delete(np.column_stack([centres, sizes]), i, axis=0)
            others = np.concatenate([taken, others[np.isfinite(others[:, 0])]])
            places, price = _places(anchors[i], sizes[i], directions[i], distances)
            covered = _overlap(places, sizes[i], others) + _outside(places, sizes[i], frame)
            hidden = np.minimum(_inside(places, sizes[i], avoid), 8.0)
            best = int(np.argmin(100.0 * covered + hidden + price))
            centres[i], crowding[i] = places[best], covered[best]
    return centres, _free(centres, sizes, crowding, frame, taken)


def _free(centres: Array, sizes: Array, crowding: Array, frame: Array, taken: Array) -> Array:
    """Return which labels to draw: each that hardly overlaps with those kept before it."""
    kept = np.zeros(len(centres), dtype=bool)
    for i in np.argsort(crowding > 0.02, kind="stable"):
        others = np.concatenate([taken, np.column_stack([centres, sizes])[kept]])
        place = centres[i : i + 1]
        kept[i] = _overlap(place, sizes[i], others)[0] + _outside(place, sizes[i], frame)[0] <= 0.05
    return kept


def _outermost_first(anchors: Array) -> Array:
    """Return the order of anchors from the farthest from their mean to the nearest, each axis in its own scale."""
    spread = anchors.std(axis=0)
    scaled = (anchors - anchors.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return np.argsort(-np.linalg.norm(scaled, axis=1), kind="stable")


def _places(anchor: Array, size: Array, direction: Array, distances: Array) -> tuple[Array, Array]:
    """Return centres (c, 2) around an anchor, and the price (c,) of each: distance, and angle to the direction."""
    angle = np.arctan2(direction[1], direction[0]) + np.arange(DIRECTIONS) * (2.0 * np.pi / DIRECTIONS)
    u = np.column_stack([np.cos(angle), np.sin(angle)])
    edge = u / np.abs(u).max(axis=1, keepdims=True) * size / 2.0  # from the centre to the border of the box
    turn = 1.0 - u @ (direction / (np.linalg.norm(direction) or 1.0))
    distance = np.repeat(distances, DIRECTIONS)[:, None]
    places = anchor + np.tile(edge, (distances.size, 1)) + distance * np.tile(u, (distances.size, 1))
    return places, distance[:, 0] / 6.0 + np.tile(turn, distances.size)


def _overlap(places: Array, size: Array, others: Array) -> Array:
    """Return the share (c,) of a box of this size, at each position, covered by other boxes (m, 4: centre, size)."""
    reach = (size + 1.0 + others[None, :, 2:]) / 2.0
    common = np.clip(reach - np.abs(places[:, None] - others[None, :, :2]), 0.0, np.minimum(size, others[None, :, 2:]))
    return np.asarray(common.prod(axis=2).sum(axis=1) / max(float(size.prod()), 1.0))


def _outside(places: Array, size: Array, frame: Array) -> Array:
    """Return how far (c,) boxes reach outside the frame, as shares of their sides."""
    low = np.clip(frame[:2] - (places - size / 2.0), 0.0, None)
    high = np.clip(places + size / 2.0 - frame[2:], 0.0, None)
    return np.asarray(((low + high) / np.maximum(size, 1.0)).sum(axis=1))


def _inside(places: Array, size: Array, points: Array) -> Array:
    """Return the weight (c,) of the points (p, 3) that a box of this size covers at each position."""
    near = np.abs(points[None, :, :2] - places[:, None]) < size / 2.0 + 1.5
    return np.asarray(near.all(axis=2) @ points[:, 2])


def _beyond(offset: Array, width: float, height: float, point: float) -> float:
    """Return the distance, in points, from the anchor to the nearest side of its label."""
    away = np.clip(np.abs(offset) - np.array([width, height]) / point / 2.0, 0.0, None)
    return float(np.linalg.norm(away))

"""The plot of an explanation: what each feature of a row adds to the log-odds of its class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.bayes import tables as class_reasons
from eigenlens.errors import OptionError
from eigenlens.plot import _style
from eigenlens.plot._style import BLUE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from eigenlens.bayes.tables import ExplanationTable


MAX_FEATURE_LETTERS, MAX_ENTRY_LETTERS, MAX_OPPONENT_LETTERS = 26, 16, 18
"""Characters of the name of a feature, of its value, and of a class."""


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

    >>> from eigenlens.bayes.discriminant.estimator import LinearDiscriminant
    >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0], [4.0, 1.5], [5.0, 1.0]]), ["a", "a", "b", "b"]
    >>> ax = explanation(LinearDiscriminant().fit(X, y), X)
    >>> ax.get_xlabel(), [text.get_text() for text in ax.get_yticklabels()]
    ('what is added to ln p(a | x) / p(b | x)', ['0 = 0', '1 = 1', 'prior', 'log-odds'])
    """
    if not hasattr(model, "explain"):
        raise OptionError(
            f"{type(model).__name__} has no explain; NaiveBayes, the discriminants and a BayesClassifier of Gaussian "
            "classes have."
        )
    found = model.explain(X, of=of, against=against)
    i = checks.integer("row", row, 0, len(found.of) - 1, "the last row of X")
    table = class_reasons.explanation(found, i, top=top, entries=class_reasons.row_entries(X, i))
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
    of_class, other = _style.shorten_names((table.of, table.against), MAX_OPPONENT_LETTERS)
    _style.as_plain_text(ax.set_xlabel(f"what is added to ln p({of_class} | x) / p({other} | x)", wrap=True))
    _style.write_note(ax, f"row {row}: {of_class} against {other}, log-odds {table.total:.3g}")
    return ax


def _draw_bars(ax: Axes, heights: Array, lengths: Array, colors: list[str]) -> None:
    """Draw the bars of the features filled, and the last one, their sum, as an outline."""
    ax.barh(heights[:-1], lengths[:-1], height=0.62, color=colors[:-1], zorder=2)
    outline: dict[str, Any] = {"facecolor": _style.page_color(), "edgecolor": colors[-1], "linewidth": 1.4}
    ax.barh(heights[-1:], lengths[-1:], height=0.62, zorder=2, **outline)
    ax.axvline(0.0, color=_style.muted_color(), linewidth=0.9)


def _names(table: ExplanationTable) -> list[str]:
    names = _style.shorten_names(table.names, MAX_FEATURE_LETTERS)
    pairs = zip(names, table.entries, strict=True)
    return [f"{name} = {_style.shorten(entry, MAX_ENTRY_LETTERS)}" if entry else name for name, entry in pairs]


def _beside_bars(ax: Axes, heights: Array, lengths: Array, values: Array) -> None:
    for height, length, value in zip(heights, lengths, values, strict=True):
        side = 1.0 if value >= 0.0 else -1.0
        ax.annotate(
            f"{value:+.2f}", (float(length), float(height)), (3.0 * side, 0.0), textcoords="offset points", va="center",
            ha="left" if side > 0.0 else "right", fontsize=_style.small_size(), color=_style.text_color(),
        )  # fmt: skip
    ax.margins(x=0.02 * _style.small_size())

"""The tree of questions of the page "Which model?", as one SVG whose leaves are links."""

from __future__ import annotations

import html
from typing import Any, NamedTuple


class Leaf(NamedTuple):
    """A model, and its page under methods/."""

    name: str
    page: str


TREE: dict[str, Any] = {
    "Are there classes to predict?": {
        "yes": {
            "What are the columns?": {
                "of mixed kinds": Leaf("naive Bayes", "naive-bayes"),
                "correlated": Leaf("discriminants", "discriminants"),
                "any density": Leaf("Bayes classifier", "bayes-classifier"),
            }
        },
        "no": {
            "What do you want to know?": {
                "directions": {
                    "Which structure?": {
                        "straight": Leaf("PCA", "pca"),
                        "curved": Leaf("kernel PCA", "kernel-pca"),
                        "missing values to fill in": Leaf("probabilistic PCA", "probabilistic-pca"),
                        "hidden traits": Leaf("factor analysis", "factor-analysis"),
                    }
                },
                "groups": Leaf("Gaussian mixture", "gaussian-mixture"),
                "how they spread": {
                    "Is the shape known?": {
                        "yes": Leaf("simple densities", "simple-densities"),
                        "no": Leaf("kernel density", "kernel-density"),
                    }
                },
            }
        },
    }
}

STEP, ROW, BOX, WIDE = 318, 50, 34, 164
"""From a question to the next, from a row to the next, the height of a model and the width of a question."""


def pages() -> dict[str, str]:
    """generated/chooser.svg."""
    parts: list[str] = []
    height, _ = _draw(TREE, 0, 0.0, parts)
    size = f"0 0 {STEP * 3 + WIDE + 10} {height * ROW + 8:.0f}"
    head = f'<svg class="chooser" viewBox="{size}" role="img" aria-label="From questions to models">'
    return {"chooser.svg": "\n".join([head, *parts, "</svg>"]) + "\n"}


def _draw(tree: dict[str, Any], depth: int, top: float, parts: list[str]) -> tuple[float, float]:
    """Draw a question and what hangs on it; how many rows it takes, and the row of the question itself."""
    (question, answers), row, rows = next(iter(tree.items())), top, []
    for below in answers.values():
        if isinstance(below, Leaf):
            taken, at = 1.0, row
            parts.append(_leaf(below, depth + 1, at))
        else:
            taken, at = _draw(below, depth + 1, row, parts)
        rows.append(at)
        row += taken
    middle = (rows[0] + rows[-1]) / 2
    parts += [_edge(answer, depth, middle, at) for answer, at in zip(answers, rows, strict=True)]
    parts.append(_question(question, depth, middle))
    return row - top, middle


def _at(depth: int, row: float) -> tuple[float, float]:
    return 4.0 + STEP * depth, row * ROW + ROW / 2


def _edge(answer: str, depth: int, start: float, end: float) -> str:
    """From a question along a trunk to the answer's row, and on to what comes next; the answer above the line."""
    (x, y), (to, below) = _at(depth, start), _at(depth + 1, end)
    trunk = x + WIDE + 16
    return (
        f'<path class="edge" d="M{x + WIDE} {y:.1f} H{trunk} V{below:.1f} H{to}"/>'
        f'<text class="answer" x="{trunk + 8}" y="{below - 9:.1f}">{html.escape(answer)}</text>'
    )


def _question(text: str, depth: int, row: float) -> str:
    x, y = _at(depth, row)
    words = text.split(" ")
    half = (len(words) + 1) // 2
    first, second = " ".join(words[:half]), " ".join(words[half:])
    return (
        f'<rect class="question" x="{x}" y="{y - 24:.1f}" width="{WIDE}" height="48" rx="8"/>'
        f'<text class="middle" x="{x + WIDE / 2}" y="{y - 9:.1f}">{html.escape(first)}</text>'
        f'<text class="middle" x="{x + WIDE / 2}" y="{y + 10:.1f}">{html.escape(second)}</text>'
    )


def _leaf(leaf: Leaf, depth: int, row: float) -> str:
    x, y = _at(depth, row)
    return (
        f'<a href="methods/{leaf.page}.html"><rect class="leaf" x="{x}" y="{y - BOX / 2:.1f}" '
        f'width="{WIDE}" height="{BOX}" rx="{BOX / 2}"/>'
        f'<text class="leaf middle" x="{x + WIDE / 2}" y="{y:.1f}">{html.escape(leaf.name)}</text></a>'
    )

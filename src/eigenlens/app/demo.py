"""The main job on embedded data: the principal components of what four countries eat, in words and two pictures.

Run it with `python -m eigenlens.app.demo`, and a folder for the pictures if not `report`.
"""

from __future__ import annotations

import io
import os
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eigenlens import PCA, datasets, plot
from eigenlens.data.examples import Example
from eigenlens.views import tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["findings", "main"]


def main(folder: str | os.PathLike[str] = "report") -> list[Path]:
    """Print the variance table and what it means; write scree.png and biplot.png into `folder`; the paths."""
    food = datasets.load("uk-food")
    model = PCA().fit(food.data)
    print(food.about, tables.variance(model), "\n".join(findings(model, food)), sep="\n\n", end="\n\n")
    written = [
        _write(Path(folder) / "scree.png", plot.scree(model)),
        _write(Path(folder) / "biplot.png", plot.biplot(model, food.data, labels=food.rows, names=food.columns)),
    ]
    for path in written:
        print(f"wrote {path}")
    return written


def findings(model: PCA, example: Example, top: int = 3) -> list[str]:
    """What the first component shows, in sentences made from the numbers.

    The row that stands apart is the one farthest from its nearest neighbour on the first component; the columns
    named are those that contribute most to it, each with the side of the mean on which that row lies.
    """
    variance, z = tables.variance(model), tables.scores(model, example.data, [1]).values[:, 0]
    enough, k = variance.reaching(90.0), variance.shares.size
    apart = _apart(z)
    others, name = np.delete(z, apart), example.rows[apart]
    biggest = tables.column_contributions(model, [1], names=example.columns).largest(top)
    deviation = dict(zip(example.columns, example.data[apart] - model.mean_, strict=True))
    sides = [f"{column} ({'more' if deviation[column] > 0 else 'less'})" for column in biggest.names]
    low, high = others.min(), others.max()
    return [
        f"PC1 holds {variance.shares[0]:.1f}% of the variance; {enough} of {k} components reach 90%.",
        f"On PC1, {name} stands apart: {z[apart]:.0f}, with the others between {low:.0f} and {high:.0f}.",
        f"What sets {name} apart from the mean: {', '.join(sides)}; together {biggest.values.sum():.0f}% of PC1.",
    ]


def _apart(z: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> int:
    """The index of the value whose nearest neighbour is farthest.

    >>> _apart(np.array([1.0, 9.0, 2.0, 4.0]))
    1
    """
    gaps = np.abs(z[:, None] - z) + np.diag(np.full(z.size, np.inf))
    return int(np.argmax(gaps.min(axis=1)))


def _write(path: Path, ax: Axes) -> Path:
    """The picture in a file, whole or not at all: completed under another name, then renamed. Closes the figure."""
    import matplotlib.pyplot as plt

    picture = io.BytesIO()
    figure = ax.figure.canvas.figure
    figure.savefig(picture, format="png", dpi=150)
    plt.close(figure)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(8)}.tmp")
    try:
        temporary.write_bytes(picture.getvalue())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


if __name__ == "__main__":
    main(*sys.argv[1:2])

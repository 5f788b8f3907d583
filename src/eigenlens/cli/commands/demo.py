"""The main job on embedded data: the principal components of what four countries eat, in words, pictures and a report.

Run it with `python -m eigenlens.cli.commands.demo`, and a folder for the files if not `report`;
`eigenlens demo` shows the other embedded examples too.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens import PCA, datasets, plot
from eigenlens.data.examples import Example
from eigenlens.data.memory import ArraySource
from eigenlens.pca import tables
from eigenlens.reporting import PAGES, report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MODELS", "findings", "main", "run", "targets"]


MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "uk-food": ("pca", {}),
    "crabs": ("gmm", {"k": 2}),
    "old-faithful": ("gmm", {"k": 2}),
    "two-circles": ("kpca", {"k": 4, "gamma": 5.0}),
    "digits": ("pca", {"k": 10}),
    "gene-map": ("pca", {"k": 10}),
    "questionnaire": ("fa", {"k": 3, "rotation": "varimax"}),
}
"""What is shown of each example: a model of the command line, and its options."""


def main(folder: str | os.PathLike[str] = "report") -> list[Path]:
    """Print the variance table and what it means; write two pictures and report.html into `folder`; the paths."""
    return run("uk-food", folder)


def targets(name: str, folder: str | os.PathLike[str]) -> list[Path]:
    """The files that `run` writes."""
    pictures = ["scree.png", "biplot.png"] if name == "uk-food" else []
    return [Path(folder) / each for each in [*pictures, "report.html"]]


def run(name: str, folder: str | os.PathLike[str] = "report", *, say: Callable[..., None] | None = print) -> list[Path]:
    """Fit a model to an embedded example, say what it shows, write pictures and a report into `folder`; the paths."""
    from eigenlens.cli.models import make
    from eigenlens.cli.summaries import call, summary

    tell = say or (lambda *words, **more: None)
    example = datasets.load(name)
    model, options = MODELS[name]
    estimator = make(model, options, {}, seed=0)
    weight = {} if example.weight is None else {"sample_weight": example.weight}
    estimator.fit(_named(example), **weight)
    line, shown, _ = summary(estimator)
    said = "\n".join(findings(estimator, example)) if name == "uk-food" else f"{call(estimator)}: {line}."
    tell(example.about, shown, said, sep="\n\n", end="\n\n")
    jobs = _pictures(estimator, example, Path(folder)) if name == "uk-food" else []
    if type(estimator).__name__ in PAGES:
        page = Path(folder) / "report.html"
        jobs.append((page, lambda path: _report(estimator, example, path)))
    _write(Path(folder), jobs)
    for path, _ in jobs:
        tell(f"wrote {path}")
    return [path for path, _ in jobs]


Job = tuple[Path, Callable[[Path], Any]]
"""A file, and what writes it."""


def _write(folder: Path, jobs: list[Job]) -> None:
    """All files or none; a folder that was made for them goes again if they do not come."""
    from eigenlens.cli.output_files import write_whole

    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        write_whole(*jobs)
    except BaseException:
        if new:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def _pictures(model: PCA, example: Example, folder: Path) -> list[Job]:
    def biplot() -> Axes:
        return plot.biplot(model, _named(example), labels=example.rows, names=example.columns)

    return [
        (folder / "scree.png", lambda path: _draw(path, plot.scree(model))),
        (folder / "biplot.png", lambda path: _draw(path, biplot())),
    ]


def _report(model: Any, example: Example, path: Path) -> Path:
    labels = {} if example.labels is None else {"label": list(example.labels)}
    command = "eigenlens demo" + (f" {example.name}" if example.name != "uk-food" else "")
    return report(
        model, _named(example), path, title=example.about.split(":")[0].rstrip("."), ids=example.rows,
        columns=labels | dict(example.others), sample_weight=example.weight, command=command,
    )  # fmt: skip


def _named(example: Example) -> ArraySource:
    """The rows with their columns' names."""
    return ArraySource(example.data, names=example.columns)


def findings(model: PCA, example: Example, top: int = 3) -> list[str]:
    """What the first component shows, in sentences made from the numbers.

    The row that stands apart is the one farthest from its nearest neighbour on the first component; the columns
    named are those that contribute most to it, each with the side of the mean on which that row lies.
    """
    variance, z = tables.variance(model), tables.scores(model, _named(example), [1]).values[:, 0]
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


def _draw(path: Path, ax: Axes) -> None:
    """The picture in a file. Closes the figure."""
    import matplotlib.pyplot as plt

    figure = ax.figure.canvas.figure
    figure.savefig(path, format="png", dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])

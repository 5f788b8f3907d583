"""`eigenlens demo`: a model of an embedded example, in words, plots and a report.

`python -m eigenlens.cli.commands.demo` shows the first example, the principal components of what four countries eat;
its optional argument is the folder for the files, instead of `report`.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenlens.cli.errors import fail
from eigenlens.cli.files import OUTPUT_FORMATS, check_target, free_name, write_files, write_table
from eigenlens.cli.model_options import flag_of, make_estimator
from eigenlens.cli.options import RunningOptions, takes
from eigenlens.cli.session import Session, session
from eigenlens.errors import closest, suggest
from eigenlens.tables.text_table import align, count_noun

if TYPE_CHECKING:
    from eigenlens.arrays import Array
    from eigenlens.data.examples import Example
    from eigenlens.data.memory import ArraySource
    from eigenlens.pca.estimator import PCA


DEMO_MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "uk-food": ("pca", {}),
    "crabs": ("gmm", {"k": 2}),
    "role-conflict": ("mix", {"k": 2}),
    "old-faithful": ("gmm", {"k": 2}),
    "tobamovirus": ("ppca", {"k": 2}),
    "trees": ("pca", {"standardize": True}),
    "iris": ("pca", {}),
    "wine": ("pca", {"standardize": True}),
    "air-quality": ("ppca", {"k": 2}),
    "digits": ("pca", {"k": 10}),
    "two-circles": ("kpca", {"k": 4, "gamma": 5.0}),
    "arc": ("kpca", {"k": 2, "gamma": 1.0}),
    "gene-map": ("pca", {"k": 10}),
    "questionnaire": ("fa", {"k": 3, "rotation": "varimax"}),
    "simulated-geyser": ("gmm", {"k": 2}),
}
"""The model that each example is shown with, by its name on the command line, and its options."""

FIRST = "uk-food"
"""The example that is shown unless another is asked for; the only one with plots and findings in sentences."""


@takes(running=RunningOptions)
def demo(
    running: RunningOptions,
    example: Annotated[
        str, typer.Argument(metavar="[EXAMPLE]", help="An embedded example; --list names them.")
    ] = FIRST,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Write plots and the report here.")
    ] = "report",
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="FILE", help="Only write the example's table here (.csv, .parquet, …)."),
    ] = None,
    list_examples: Annotated[bool, typer.Option("--list", metavar="", help="List the examples and stop.")] = False,
) -> None:
    """See what eigenlens does, on data that comes with it.

    Fits a model to an embedded example, describes the result, and writes a report.
    """
    from eigenlens.data.examples import EXAMPLES

    with session(running) as now:
        if list_examples:
            return _list_examples(now)
        if example not in EXAMPLES:
            fail(f"{example!r} is not an example", suggest(closest(example, EXAMPLES), EXAMPLES))
        if data is not None:
            return _write_example(example, data, now)
        _check_folder(example, output, running)
        if running.dry_run:
            return now.show_plan(targets=targets(example, output))
        with now.progress("making the report"):
            written = run_demo(example, output, say=None if running.quiet or running.json else print)
        now.check_interrupt()
        now.add_facts(example=example, written=written)
        now.show_next(_next_command(example), tried=True)
    return None


def _check_folder(example: str, output: str, running: RunningOptions) -> None:
    if Path(output).exists() and not Path(output).is_dir():
        fail(f"-o {output} is a file, and several are written", "name a folder")
    for each in targets(example, output):
        if each.exists() and not running.force:
            fail(f"'{each}' exists already", "choose another folder with -o, or replace it with --force")


def _next_command(example: str) -> str:
    """Return the command that writes the same data as a table."""
    return shlex.join(["eigenlens", "demo", example, "--data", free_name(f"{example}.csv")])


def _list_examples(now: Any) -> None:
    from eigenlens.data.examples import EXAMPLES, load

    found = [load(name) for name in EXAMPLES]
    lines = [(each.name, f"{each.data.shape[0]} × {each.data.shape[1]}", each.about) for each in found]
    now.say("examples", align(lines[0], lines[1:], "<><"))
    now.add_facts(examples={each.name: {"shape": each.data.shape, "about": each.about} for each in found})


def _write_example(name: str, path: str, now: Session) -> None:
    import numpy as np

    from eigenlens.data.examples import load

    target = check_target(path, now.running.force, OUTPUT_FORMATS)
    assert target is not None
    if now.running.dry_run:
        return now.show_plan(targets=[target])
    example = load(name)
    named = {
        "id": ("id", example.rows),
        "label": (example.classes, example.labels),
        "weight": ("weight", example.weight),
    }
    text = target.suffix.lower() != ".npy"
    roles = {role: name for role, (name, values) in named.items() if text and values is not None}
    columns = {roles[role]: np.asarray(values) for role, (_, values) in named.items() if role in roles}
    write_table(columns | dict(zip(example.columns, example.data.T, strict=True)), target, now)
    now.show_written(target, note=count_noun(len(example.data), "row"))
    return now.show_next(_fit_command(name, target, roles), tried=True)


def _fit_command(name: str, target: Path, roles: dict[str, str]) -> str:
    """Return the fit that shows the example best; `roles`: the columns with a role."""
    if target.suffix.lower() == ".json":  # can be written, not read
        return _next_command(name)
    model, options = DEMO_MODELS[name]
    given = [
        word
        for option, value in options.items()
        for word in [flag_of(option), *([] if value is True else [str(value)])]
    ]
    other = [word for role, column in roles.items() for word in (f"--{role}", column)]
    return shlex.join(["eigenlens", "fit", model, str(target), *given, *other])


# ---- the demonstration itself -------------------------------------------------------------------------------


def show_first_example(folder: str | os.PathLike[str] = "report") -> list[Path]:
    """Print the variance table and what it means, write two plots and report.html into `folder`; return the paths."""
    return run_demo(FIRST, folder)


def targets(name: str, folder: str | os.PathLike[str]) -> list[Path]:
    """Return the files that `run_demo` writes."""
    plots = ["scree.png", "biplot.png"] if name == FIRST else []
    return [Path(folder) / each for each in [*plots, "report.html"]]


def run_demo(
    name: str, folder: str | os.PathLike[str] = "report", *, say: Callable[..., None] | None = print
) -> list[Path]:
    """Fit a model to an embedded example, describe it, and write plots and a report into `folder`; return the paths."""
    from eigenlens.cli.summaries import python_call, summarise
    from eigenlens.data.examples import load

    show = say or (lambda *words, **more: None)
    example = load(name)
    model, options = DEMO_MODELS[name]
    estimator = make_estimator(model, options, {}, seed=0)
    weight = {} if example.weight is None else {"sample_weight": example.weight}
    estimator.fit(_named_rows(example), **weight)
    line, table, _ = summarise(estimator)
    sentences = "\n".join(findings(estimator, example)) if name == FIRST else f"{python_call(estimator)}: {line}."
    show(example.about, table, sentences, sep="\n\n", end="\n\n")
    paths = targets(name, folder)
    with _folder(Path(folder)):
        write_files(*((path, partial(_write_file, estimator, example)) for path in paths))
    for path in paths:
        show(f"wrote {path}")
    return paths


@contextlib.contextmanager
def _folder(folder: Path) -> Iterator[None]:
    """Make a folder for files; one that was made for them is removed if they cannot be written."""
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if new:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def _write_file(model: Any, example: Example, path: Path) -> None:
    """Write the report, or the plot that a file is called by."""
    if path.suffix == ".html":
        _write_report(model, example, path)
        return
    import matplotlib.pyplot as plt

    from eigenlens import plot

    biplot: dict[str, Any] = {"labels": example.rows, "names": example.columns}
    ax = plot.scree(model) if path.stem == "scree" else plot.biplot(model, _named_rows(example), **biplot)
    figure = ax.figure.canvas.figure
    figure.savefig(path, format="png", dpi=150)
    plt.close(figure)


def _write_report(model: Any, example: Example, path: Path) -> None:
    from eigenlens.reporting import report

    labels = {} if example.labels is None else {example.classes: list(example.labels)}
    command = "eigenlens demo" + (f" {example.name}" if example.name != FIRST else "")
    report(
        model, _named_rows(example), path, title=example.about.split(":")[0].rstrip("."), ids=example.rows,
        columns=labels | dict(example.others), sample_weight=example.weight, command=command,
    )  # fmt: skip


def _named_rows(example: Example) -> ArraySource:
    """Return the rows with the names of their columns."""
    from eigenlens.data.memory import ArraySource

    return ArraySource(example.data, names=example.columns)


def findings(model: PCA, example: Example, top: int = 3) -> list[str]:
    """Return what the first component shows, in sentences made from the numbers.

    The row that stands apart is the one farthest from its nearest neighbour on the first component; the columns
    named are those that contribute most to it, each with the side of the mean on which that row lies.
    """
    import numpy as np

    from eigenlens.pca import tables

    variance, z = tables.variance(model), tables.scores(model, _named_rows(example), [1]).values[:, 0]
    enough, k = variance.reaching(90.0), variance.shares.size
    apart = _most_isolated(z)
    others, name = np.delete(z, apart), example.rows[apart]
    largest = tables.column_contributions(model, [1], names=example.columns).largest(top)
    deviation = dict(zip(example.columns, example.data[apart] - model.mean_, strict=True))
    sides = [f"{column} ({'more' if deviation[column] > 0 else 'less'})" for column in largest.names]
    low, high = others.min(), others.max()
    return [
        f"PC1 holds {variance.shares[0]:.1f}% of the variance; {enough} of {k} components reach 90%.",
        f"On PC1, {name} stands apart: {z[apart]:.0f}, with the others between {low:.0f} and {high:.0f}.",
        f"What sets {name} apart from the mean: {', '.join(sides)}; together {largest.values.sum():.0f}% of PC1.",
    ]


def _most_isolated(z: Array) -> int:
    """Return the index of the value whose nearest neighbour is farthest.

    >>> import numpy as np
    >>> _most_isolated(np.array([1.0, 9.0, 2.0, 4.0]))
    1
    """
    import numpy as np

    distances = np.abs(z[:, None] - z) + np.diag(np.full(z.size, np.inf))
    return int(np.argmax(distances.min(axis=1)))


if __name__ == "__main__":
    show_first_example(*sys.argv[1:2])

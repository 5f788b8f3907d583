"""`eigenlens report` and `eigenlens demo`: pictures."""

from __future__ import annotations

import difflib
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenlens.cli.errors import refuse
from eigenlens.cli.options import Reading, Running, takes
from eigenlens.cli.output import counted
from eigenlens.cli.present import require_files

__all__ = ["demo", "report"]


@takes(reading=Reading, running=Running)
def report(
    files: Annotated[
        list[str],
        typer.Argument(metavar="MODEL… FILE…", help="Model files (.safetensors), and the data files to show them on."),
    ],
    reading: Reading,
    running: Running,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Write here (.html).")] = "report.html",
) -> None:
    """Write one self-contained HTML file with interactive charts.

    An overview, and a page for each model. It needs no network and no server: open it in any browser, send it by
    mail. Points can be coloured by --label and found by --id.
    """
    require_files(files)
    from eigenlens.cli.models import takes_text
    from eigenlens.cli.output_files import checked_target, write_whole
    from eigenlens.cli.reading import read_table
    from eigenlens.cli.reports import require_page, write_report
    from eigenlens.cli.session import session
    from eigenlens.estimator.storage import load

    with session(running) as now:
        target = checked_target(output, running.force, (".html", ".htm"))
        models = [file for file in files if file.lower().endswith(".safetensors")]
        tables = [file for file in files if file not in models]
        if not models or not tables:
            lacking = "model file (.safetensors)" if not models else "data file"
            refuse(f"report needs a {lacking}", "write: eigenlens report MODEL.safetensors FILE -o report.html")
        found = _named([load(path) for path in models], models)
        for each in found.values():
            require_page(each, target)
        together, mixed = _together(list(found.values())), any(map(takes_text, found.values()))
        with now.progress("reading"):
            table = read_table(tables, reading, running, model=together, mixed=mixed)
        now.say("read", str(table))
        now.tell(read=table.facts, models=list(found))
        if running.dry_run or target is None:
            return now.would(f"write {target}", would_write=[target])
        with now.progress("writing the report"):
            write_whole((target, lambda path: write_report(found, table, path, reading, running)), check=now.check)
        now.warned()
        now.wrote(target)
        now.say("next", f"open {target} in a browser")
    return None


class Together:
    """Several models, for a table that has the columns of all of them."""

    called = "models"

    def __init__(self, models: list[Any], columns: list[str]) -> None:
        self.models, self.feature_names_in_ = models, columns


def _together(models: list[Any]) -> Any:
    names = [list(getattr(model, "feature_names_in_", ())) for model in models]
    if len(models) == 1 or not all(names):
        return models[0]
    return Together(models, list(dict.fromkeys(name for own in names for name in own)))


def _named(models: list[Any], paths: list[str]) -> dict[str, Any]:
    """Models by the names of their classes, and of their files where two are of one class."""
    classes = [type(model).__name__ for model in models]
    names = [
        name if classes.count(name) == 1 else f"{name} ({Path(path).stem})"
        for name, path in zip(classes, paths, strict=True)
    ]
    return dict(zip(names, models, strict=True))


@takes(running=Running)
def demo(
    running: Running,
    example: Annotated[
        str, typer.Argument(metavar="[EXAMPLE]", help="An embedded example; --list names them.")
    ] = "uk-food",
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Write pictures and the report here.")
    ] = "report",
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="FILE", help="Only write the example's table here (.csv, .parquet, …)."),
    ] = None,
    list_examples: Annotated[bool, typer.Option("--list", metavar="", help="List the examples and stop.")] = False,
) -> None:
    """See what eigenlens does, on data that comes with it.

    Fits a model to an embedded example, says what it shows, and writes a report.
    """
    from eigenlens.cli.commands import demo as shows
    from eigenlens.cli.session import session
    from eigenlens.data.examples import EXAMPLES

    with session(running) as now:
        if list_examples:
            return _list(now)
        if example not in EXAMPLES:
            near = difflib.get_close_matches(example, EXAMPLES, n=1)
            guess = f"did you mean {near[0]}? " if near else ""
            refuse(f"{example!r} is no example", f"{guess}use one of {', '.join(EXAMPLES)}")
        if data is not None:
            return _write_example(example, data, now)
        if Path(output).exists() and not Path(output).is_dir():
            refuse(f"-o {output} is a file, and several are written", "name a folder")
        targets = shows.targets(example, output)
        for each in targets:
            if each.exists() and not running.force:
                refuse(f"'{each}' exists already", "choose another folder with -o, or replace it with --force")
        if running.dry_run:
            return now.would(f"write {', '.join(map(str, targets))}", would_write=targets)
        with now.progress("making the report"):
            written = shows.run(example, output, say=None if running.quiet or running.json else print)
        now.check()
        now.tell(example=example, written=written, next=_shown_next(example))
        now.say("next", _shown_next(example))
    return None


def _shown_next(example: str) -> str:
    """The same data as a table of one's own."""
    from eigenlens.cli.output_files import free_name

    return shlex.join(["eigenlens", "demo", example, "--data", free_name(f"{example}.csv")])


def _list(now: Any) -> None:
    from eigenlens.data.examples import EXAMPLES, load

    found = [load(name) for name in EXAMPLES]
    lines = [(each.name, f"{each.data.shape[0]} × {each.data.shape[1]}", each.about) for each in found]
    wide, tall = (max(len(line[j]) for line in lines) for j in (0, 1))
    now.say("examples", *(f"{name:<{wide}}  {shape:>{tall}}  {about}" for name, shape, about in lines))
    now.tell(examples={each.name: {"shape": each.data.shape, "about": each.about} for each in found})


def _write_example(name: str, path: str, now: Any) -> None:
    import numpy as np

    from eigenlens.cli.output_files import FORMATS, checked_target, write_table
    from eigenlens.data.examples import load

    target = checked_target(path, now.running.force, FORMATS)
    assert target is not None
    if now.running.dry_run:
        now.would(f"write {target}", would_write=[target])
        return
    example = load(name)
    columns: dict[str, Any] = {} if target.suffix.lower() == ".npy" else {"id": np.array(example.rows)}
    if target.suffix.lower() != ".npy":
        columns |= {} if example.labels is None else {"label": np.array(example.labels)}
        columns |= {} if example.weight is None else {"weight": example.weight}
    write_table(columns | dict(zip(example.columns, example.data.T, strict=True)), target, now.check)
    now.wrote(target, note=counted(len(example.data), "row"))
    following = _example_next(name, target, list(columns))
    now.say("next", following)
    now.tell(next=following)


def _example_next(name: str, target: Path, roles: list[str]) -> str:
    """The fit that shows the example best."""
    from eigenlens.cli.commands.demo import MODELS

    if target.suffix.lower() == ".json":  # which is written and not read
        return _shown_next(name)
    model, options = MODELS[name]
    given = [word for option, value in options.items()
             for word in ("-k" if option == "k" else f"--{option}", str(value))]  # fmt: skip
    other = [word for role in roles for word in (f"--{role}", role)]
    return shlex.join(["eigenlens", "fit", model, str(target), *given, *other])

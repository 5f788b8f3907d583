"""`eigenlens report` and `eigenlens demo`: pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from eigenlens.app.cli.errors import refuse
from eigenlens.app.cli.options import Reading, Running, takes

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
    from eigenlens.app.cli.apply import _loaded
    from eigenlens.app.cli.fit import write_report
    from eigenlens.app.cli.models import takes_text
    from eigenlens.app.cli.reading import read_table
    from eigenlens.app.cli.running import session
    from eigenlens.app.cli.writing import checked_target, size_of

    with session(running) as now:
        target = checked_target(output, running.force, (".html", ".htm"))
        models = [file for file in files if file.lower().endswith(".safetensors")]
        tables = [file for file in files if file not in models]
        if not models or not tables:
            lacking = "model file (.safetensors)" if not models else "data file"
            refuse(f"report needs a {lacking}", "write: eigenlens report MODEL.safetensors FILE -o report.html")
        found = _named([_loaded(path) for path in models], models)
        first, mixed = next(iter(found.values())), any(map(takes_text, found.values()))
        table = read_table(tables, reading, running, model=first, mixed=mixed)
        now.say("read", str(table))
        _ = mixed or table.rows
        if running.dry_run or target is None:
            return now.say("would", f"write {target}")
        with now.progress("writing the report"):
            write_report(found, table, target, reading, running)
        now.check()
        for text in now.told():
            now.say("warning", text)
        now.say("wrote", f"{target} ({size_of(target)})")
        now.say("next", f"open {target} in a browser")
        now.tell(written=[target], models=list(found), rows=table.n)
    return None


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
    list_examples: Annotated[bool, typer.Option("--list", help="List the examples and stop.")] = False,
) -> None:
    """See what eigenlens does, on data that comes with it.

    Fits a model to an embedded example, says what it shows, and writes a report.
    """
    from eigenlens.app import demo as shows
    from eigenlens.app.cli.running import session
    from eigenlens.data.examples import EXAMPLES, load

    with session(running) as now:
        if list_examples:
            _list(now)
            return
        if example not in EXAMPLES:
            refuse(f"{example!r} is no example", f"use one of {', '.join(EXAMPLES)}")
        if data is not None:
            _write_example(load(example), data, now)
            return
        for each in shows.targets(example, output):
            if each.exists() and not running.force:
                refuse(f"'{each}' exists already", "choose another folder with -o, or replace it with --force")
        if running.dry_run:
            now.say("would", f"write {', '.join(map(str, shows.targets(example, output)))}")
            return
        written = shows.run(example, output, say=None if running.quiet or running.json else print)
        now.tell(example=example, written=written)


def _list(now: Any) -> None:
    from eigenlens.data.examples import EXAMPLES, load

    found = [load(name) for name in EXAMPLES]
    lines = [[each.name, f"{each.data.shape[0]} × {each.data.shape[1]}  {each.about}"] for each in found]
    width = max(len(name) for name, _ in lines)
    now.say("examples", *(f"{name:<{width}}  {text}" for name, text in lines))
    now.tell(examples={each.name: {"shape": each.data.shape, "about": each.about} for each in found})


def _write_example(example: Any, path: str, now: Any) -> None:
    import numpy as np

    from eigenlens.app.cli.writing import FORMATS, checked_target, size_of, write_table

    target = checked_target(path, now.running.force, FORMATS)
    assert target is not None
    columns: dict[str, Any] = {} if target.suffix.lower() == ".npy" else {"id": np.array(example.rows)}
    if target.suffix.lower() != ".npy":
        columns |= {} if example.labels is None else {"label": np.array(example.labels)}
        columns |= {} if example.weight is None else {"weight": example.weight}
    write_table(columns | dict(zip(example.columns, example.data.T, strict=True)), target)
    now.say("wrote", f"{target} ({len(example.data)} rows, {size_of(target)})")
    other = [f"--{name} {name}" for name in columns]
    now.say("next", " ".join(["eigenlens fit pca", str(target), *other]))
    now.tell(written=[target])

"""Options that several commands share, as frozen groups; `takes` makes a typer command of a function of groups."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, get_type_hints

import typer

from eigenlens.cli.errors import ReaderGone, Stopped

__all__ = ["DataFiles", "ModelFile", "Output", "Parsing", "Reading", "Running", "flags", "takes"]

READING, RUNNING = "Reading", "Running"

DataFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE…",
        help="CSV (also .gz, .bz2, .xz), Parquet, Arrow or .npy files; quote a pattern such as 'sales/*.parquet'.",
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file that `fit` wrote (.safetensors).")]
Output = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="FILE",
        help="Write here: .parquet, .arrow, .csv, .tsv, .npy or .json, by its suffix. Default: CSV on standard output.",
    ),
]  # fmt: skip


def _option(*names: str, panel: str, **settings: Any) -> Any:
    # A flag takes no value, and its help must not look as if it did.
    return typer.Option(*names, rich_help_panel=panel, **({"metavar": ""} | settings))


@dataclass(frozen=True)
class Selecting:
    """Which columns and rows of a table are used, and for what."""

    columns: Annotated[
        list[str] | None,
        _option(
            "--columns", "-c", panel=READING, metavar="LIST",
            help="Columns to use: names, ranges (a:f), or types (@number, @float, @integer, @boolean, @text); "
            "separated by commas, or given several times; columns of .npy are 0, 1, … Default: all.",
        ),
    ] = None  # fmt: skip
    drop: Annotated[
        list[str] | None,
        _option("--drop", panel=READING, metavar="LIST", help="Columns to leave out, written as for --columns."),
    ] = None
    id: Annotated[str | None, _option("--id", panel=READING, metavar="COLUMN", help="A column that names rows.")] = None
    label: Annotated[
        str | None,
        _option("--label", panel=READING, metavar="COLUMN", help="A column of classes or outcomes; it is not fitted."),
    ] = None
    weight: Annotated[
        str | None,
        _option("--weight", panel=READING, metavar="COLUMN", help="A column that says how often each row counts."),
    ] = None
    where: Annotated[
        list[str] | None,
        _option(
            "--where", panel=READING, metavar="TEST",
            help="Keep rows that pass, e.g. 'age >= 18' or 'site == north'; may be repeated.",
        ),
    ] = None  # fmt: skip
    skip_missing: Annotated[
        bool, _option("--skip-missing", panel=READING, help="Leave out rows with a missing entry.")
    ] = False


@dataclass(frozen=True)
class Parsing:
    """How delimited text is read."""

    na: Annotated[
        list[str] | None,
        _option("--na", panel=READING, metavar="TEXT", help="Text that means missing, in CSV; may be repeated."),
    ] = None
    separator: Annotated[
        str | None,
        _option(
            "--separator",
            panel=READING,
            metavar="CHAR",
            help="Between cells of CSV; tab, or ' ' for spaces of any number. Default: sniffed.",
        ),
    ] = None
    header: Annotated[
        bool | None,
        _option("--header/--no-header", panel=READING, help="Whether the first line is names. Default: sniffed."),
    ] = None
    decimal: Annotated[
        str | None,
        _option("--decimal", panel=READING, metavar="CHAR", help="Of numbers in CSV: '.' or ','. Default: sniffed."),
    ] = None
    thousands: Annotated[
        str | None,
        _option(
            "--thousands", panel=READING, metavar="CHAR",
            help="Between thousands in CSV, as in 1.234,5 or 1,234.5. Default: none, unless such numbers are met.",
        ),
    ] = None  # fmt: skip
    comment: Annotated[
        str | None,
        _option(
            "--comment", panel=READING, metavar="TEXT",
            help="What lines of CSV start with that are skipped. Default: # in lines above the names.",
        ),
    ] = None  # fmt: skip
    encoding: Annotated[
        str | None,
        _option(
            "--encoding", panel=READING, metavar="NAME",
            help="Of CSV: latin-1, cp1252, shift_jis, … Default: UTF-8, or UTF-16 where the file is marked so.",
        ),
    ] = None  # fmt: skip


@dataclass(frozen=True)
class Reading(Parsing, Selecting):
    """How a table is read, and which of its columns and rows are used."""

    text: Annotated[
        list[str] | None,
        _option(
            "--text", panel=READING, metavar="LIST",
            help="nb: columns of CSV that hold categories though their cells look like numbers (0, 1, 2, 3+); "
            "written as for --columns.",
        ),
    ] = None  # fmt: skip


@dataclass(frozen=True)
class Running:
    """How a command works and what it says."""

    seed: Annotated[int, _option("--seed", panel=RUNNING, metavar="N", min=0, help="Seed of everything random.")] = 0
    threads: Annotated[
        int | None, _option("--threads", panel=RUNNING, metavar="N", min=1, help="Most threads. Default: all cores.")
    ] = None
    max_memory: Annotated[
        str | None,
        _option(
            "--max-memory", panel=RUNNING, metavar="SIZE",
            help="What rows and kernels may take in memory, e.g. 4GB; beyond it rows are read by blocks, pass by pass, "
            "or where that cannot be the command stops with exit code 6. Default: a quarter of what is free.",
        ),
    ] = None  # fmt: skip
    json: Annotated[bool, _option("--json", panel=RUNNING, help="Print one JSON value instead of words.")] = False
    quiet: Annotated[
        bool, _option("--quiet", "-q", panel=RUNNING, help="Print results and errors only, no words and no progress.")
    ] = False
    progress: Annotated[
        bool | None,
        _option(
            "--progress/--no-progress", panel=RUNNING,
            help="Show progress on standard error after a second. Default: if that is a terminal.",
        ),
    ] = None  # fmt: skip
    dry_run: Annotated[
        bool, _option("--dry-run", panel=RUNNING, help="Read and check everything, say what would be done, do nothing.")
    ] = False
    force: Annotated[bool, _option("--force", "-f", panel=RUNNING, help="Replace files that exist.")] = False


def flags(group: Any, *names: str) -> list[str]:
    """The words that would give these options of a group again, where they are not the default.

    >>> flags(Reading(na=["n/a", "-"], header=False), "na", "header", "decimal")
    ['--na', 'n/a', '--na', '-', '--no-header']
    """
    words: list[str] = []
    for field in (each for each in fields(group) if each.name in names):
        value = getattr(group, field.name)
        if value == field.default:
            continue
        flag = f"--{field.name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{field.name}")
        else:
            words += [word for each in (value if isinstance(value, list) else [value]) for word in (flag, str(each))]
    return words


def takes(**groups: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator: the parameters named here are option groups, whose fields become options of the command.

    >>> @takes(running=Running)
    ... def hello(name: str, running: Running) -> None:
    ...     print(name, running.seed)
    >>> hello(name="you", seed=3)
    you 3
    >>> list(inspect.signature(hello).parameters)[:3]
    ['name', 'seed', 'threads']
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        own = [p for name, p in inspect.signature(function).parameters.items() if name not in groups]
        own = [parameter.replace(annotation=hints[parameter.name]) for parameter in own]
        added = {group: _parameters(kind) for group, kind in groups.items()}

        @functools.wraps(function)
        def command(**given: Any) -> None:
            made = {
                group: kind(**{p.name: given.pop(p.name) for p in added[group] if p.name in given})
                for group, kind in groups.items()
            }
            try:
                function(**given, **made)
            except BrokenPipeError as error:  # typer would end the process on this and the next
                raise ReaderGone from error
            except KeyboardInterrupt as error:
                raise Stopped from error

        flat = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in itertools.chain(own, *added.values())]
        command.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in flat} | {"return": None}
        del command.__wrapped__  # or typer would look at the groups
        return command

    return decorate


def _parameters(kind: type) -> list[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    only = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(
            field.name, only, annotation=hints[field.name],
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
        )
        for field in fields(kind)
    ]  # fmt: skip

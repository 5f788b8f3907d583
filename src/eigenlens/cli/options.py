"""Options that several commands share, as frozen groups; `takes` makes a typer command of a function of groups."""

from __future__ import annotations

import functools
import inspect
import itertools
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, get_type_hints

import typer

from eigenlens.cli.errors import Interrupted, OutputClosed, flag_setting
from eigenlens.cli.files import OUTPUT_FORMATS
from eigenlens.tables.text_table import join_words

DataFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE…",
        help="CSV (also .gz, .bz2, .xz), Parquet, Arrow, .npy, HDF5, AnnData, Zarr, .bed, Excel, SPSS, Stata, SAS, "
        "JSON or ARFF files, or - for standard input; quote a pattern like 'sales/*.parquet'.",
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file that `fit` wrote (.safetensors).")]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help=f"Write here: {join_words([*OUTPUT_FORMATS])}, by its suffix. Default: CSV on standard output.",
    ),
]


def option_field(flag: str, about: str, *more: str, panel: str, default: Any = None, **settings: Any) -> Any:
    """Return a field of a group that is an option of commands, in a panel of their help."""
    # An option without a value has no metavar, so that its help does not look as if it took one.
    option = typer.Option(flag, *more, help=about, rich_help_panel=panel, **({"metavar": ""} | settings))
    return field(default=default, metadata={"option": option})


_reading = functools.partial(option_field, panel="Reading")
_running = functools.partial(option_field, panel="Running")


@dataclass(frozen=True)
class SelectionOptions:
    """Options that choose columns and rows of a table, and what they are used for."""

    columns: list[str] | None = _reading(
        "--columns",
        "Columns to use: names, ranges (a:f), or types (@number, @float, @integer, @boolean, @text); "
        "separated by commas, or given several times; columns of .npy are 0, 1, … Default: all.",
        "-c",
        metavar="LIST",
    )
    drop: list[str] | None = _reading("--drop", "Columns to leave out, written as for --columns.", metavar="LIST")
    active: list[str] | None = _reading(
        "--active",
        "Columns to use though they look like ids, codes or constants, written as for --columns.",
        metavar="LIST",
    )
    supplementary: list[str] | None = _reading(
        "--supplementary",
        "Columns that take no part in the fit and are shown with its result, written as for --columns.",
        metavar="LIST",
    )
    supplementary_rows: list[str] | None = _reading(
        "--supplementary-rows",
        "Rows that take no part in the fit and are shown with its result: numbers from 1, ranges (39:41), or a test "
        "as for --where.",
        metavar="ROWS",
    )
    id: str | None = _reading("--id", "A column with names of the rows.", metavar="COLUMN")
    label: list[str] | None = _reading(
        "--label",
        "A column of classes, or to colour by; it is not a feature. May be repeated: the first holds the classes.",
        metavar="COLUMN",
    )
    weight: str | None = _reading("--weight", "A column of weights: 3 means three copies of the row.", metavar="COLUMN")
    where: list[str] | None = _reading(
        "--where", "Keep rows that pass, e.g. 'age >= 18' or 'site == north'; may be repeated.", metavar="TEST"
    )
    people: str | None = _reading(
        "--people",
        "Genotypes: a table of the people, found by their names (IID): --label names one of its columns to colour by.",
        metavar="FILE",
    )
    skip_missing: bool = _reading("--skip-missing", "Leave out rows with missing values.", default=False)


@dataclass(frozen=True)
class ParsingOptions:
    """Options for reading delimited text."""

    na: list[str] | None = _reading(
        "--na",
        "A missing-value marker besides the usual ones (NA, n/a, null, -, ?, …); may be repeated. "
        "--na '' leaves out the usual ones: --na '' --na X means X alone.",
        metavar="TEXT",
    )
    dates: list[str] | None = _reading(
        "--dates", "A column of dates, read as days since 1970-01-01; may be repeated.", metavar="COLUMN"
    )
    separator: str | None = _reading(
        "--separator",
        "Separator of cells in CSV; tab, or ' ' for any number of spaces. Default: detected.",
        metavar="CHAR",
    )
    header: bool | None = _reading(
        "--header/--no-header", "Whether the first line holds column names. Default: detected."
    )
    header_rows: int | None = _reading(
        "--header-rows",
        "Lines that hold names: 2 where groups or units have a line of their own. Default: detected.",
        metavar="N",
        min=1,
    )
    fill_down: list[str] | None = _reading(
        "--fill-down",
        "A column whose blank cells have the value above them; may be repeated. Default: merged cells; "
        "--fill-down '' for none.",
        metavar="COLUMN",
    )
    decimal: str | None = _reading("--decimal", "Decimal sign in CSV: '.' or ','. Default: detected.", metavar="CHAR")
    thousands: str | None = _reading(
        "--thousands",
        "Sign between thousands in CSV, as in 1.234,5 or 1,234.5. Default: none, unless detected.",
        metavar="CHAR",
    )
    comment: str | None = _reading(
        "--comment", "Start of lines of CSV that are skipped. Default: # in lines above the names.", metavar="TEXT"
    )
    encoding: str | None = _reading(
        "--encoding",
        "Encoding of CSV: latin-1, cp1252, shift_jis, … Default: UTF-8, or UTF-16 with a byte order mark.",
        metavar="NAME",
    )
    skip: int | None = _reading("--skip", "Lines above the names to leave out. Default: a title.", metavar="N", min=0)
    footer: int | None = _reading("--footer", "Lines at the end to leave out.", metavar="N", min=0)
    max_ratio: float | None = _reading(
        "--max-ratio", "How many times its size a compressed file may grow to. Default: 250.", metavar="NUMBER"
    )
    sheet: str | None = _reading("--sheet", "The sheet of a spreadsheet. Default: the first with rows.", metavar="NAME")
    dataset: str | None = _reading(
        "--dataset",
        "The matrix of an HDF5 file or a Zarr store, such as layers/counts. Default: X of AnnData, or the only one.",
        metavar="NAME",
    )
    transpose: bool | None = _reading(
        "--transpose", "Exchange rows and columns: the first column names the columns, the first line the rows."
    )


TEXT_OPTIONS = tuple(each.name for each in fields(ParsingOptions))
"""Options about how delimited text is written, which `scan` takes too."""


@dataclass(frozen=True)
class ReadingOptions(ParsingOptions, SelectionOptions):
    """Options for reading a table and choosing its columns and rows."""

    ignore_case: list[str] | None = _reading(
        "--ignore-case",
        "Columns of text in which Male, male and MALE. are one category, called in lower case; written as for "
        "--columns.",
        metavar="LIST",
    )
    text: list[str] | None = _reading(
        "--text",
        "Columns that hold categories though their cells look like numbers (0, 1, 2, 3+) or are read as such; "
        "written as for --columns.",
        metavar="LIST",
    )


@dataclass(frozen=True)
class RunningOptions:
    """Options that all commands share: how they work and what they print."""

    seed: int = _running("--seed", "Seed of all random numbers.", metavar="N", min=0, default=0)
    threads: int | None = _running("--threads", "Maximal number of threads. Default: all cores.", metavar="N", min=1)
    max_memory: str | None = _running(
        "--max-memory",
        "Memory that rows and kernels may take, e.g. 4GB; beyond it rows are read in blocks, pass by pass, or, "
        "where that is not possible, the command stops with exit code 6. Default: a quarter of what is free, "
        "and at most 512 MB where a model is applied to new rows.",
        metavar="SIZE",
    )
    device: str | None = _running(
        "--device",
        "Device of PyTorch to which rows are sent while a model is fitted, such as cuda (extra torch). Default: none.",
        metavar="NAME",
    )
    json: bool = _running("--json", "Print one JSON value instead of text.", default=False)
    quiet: bool = _running("--quiet", "Print results and errors only.", "-q", default=False)
    progress: bool | None = _running(
        "--progress/--no-progress", "Show progress on standard error after a second. Default: if that is a terminal."
    )
    dry_run: bool = _running(
        "--dry-run", "Read and check everything, print what would be done, write nothing.", default=False
    )
    force: bool = _running("--force", "Replace files that exist.", "-f", default=False)
    escape_formulas: bool = _running(
        "--escape-formulas",
        "Write text that starts with =, +, - or @ with an apostrophe before it in CSV: spreadsheets run it otherwise.",
        default=False,
    )


@dataclass(frozen=True)
class CheckpointOptions:
    """Options of commands that go on where they were killed."""

    checkpoint: str | None = _running(
        "--checkpoint",
        "Save the totals of passes over the rows here while working: after a crash or an interrupt the same command "
        "goes on from there, with the same result. The file is removed at the end.",
        metavar="FILE",
    )
    checkpoint_seconds: float = _running(
        "--checkpoint-seconds",
        "Seconds between saves of the total of a pass under way.",
        metavar="N",
        min=0,
        default=30.0,
    )


def given_flags(group: Any, *names: str) -> list[str]:
    """Return the words that give these options of a group again, or all, where they are not the default.

    >>> given_flags(ReadingOptions(na=["n/a", "-"], header=False), "na", "header", "decimal")
    ['--na', 'n/a', '--na', '-', '--no-header']
    """
    words: list[str] = []
    for each in fields(group):
        value = getattr(group, each.name)
        if value != each.default and (not names or each.name in names):
            words += shlex.split(flag_setting(each.name, value))
    return words


def takes(**groups: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a command: the parameters named here are option groups, whose fields become its options.

    >>> @takes(running=RunningOptions)
    ... def hello(name: str, running: RunningOptions) -> None:
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
                raise OutputClosed from error
            except KeyboardInterrupt as error:
                raise Interrupted from error

        flat = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in itertools.chain(own, *added.values())]
        command.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in flat} | {"return": None}
        del command.__wrapped__  # or typer would look at the groups
        return command

    return decorate


def _parameters(kind: type) -> list[inspect.Parameter]:
    hints, make = get_type_hints(kind), inspect.Parameter
    typed = [(each, Annotated[hints[each.name], each.metadata["option"]]) for each in fields(kind)]
    return [make(each.name, make.KEYWORD_ONLY, annotation=hint, default=each.default) for each, hint in typed]

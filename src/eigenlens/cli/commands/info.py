"""`eigenlens info`: what is in a data file or a model file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenlens.cli.errors import fail
from eigenlens.cli.files import file_size, is_model_file, require_files
from eigenlens.cli.options import ParsingOptions, RunningOptions, given_flags, takes
from eigenlens.cli.output import format_figure, limited_table
from eigenlens.cli.session import session
from eigenlens.tables.text_table import count_noun

SHOWN = 50
"""The most columns listed in words; --json has all."""


@takes(reading=ParsingOptions, running=RunningOptions)
def info(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="Data files of one table, or one model file (.safetensors).")
    ],
    reading: ParsingOptions,
    running: RunningOptions,
) -> None:
    """Describe a data file (types, missing values, ranges) or a model file.

    A model file holds numbers and text only: nothing in it is ever executed.
    """
    require_files(files)
    with session(running) as now:
        models = [file for file in files if is_model_file(file)]
        if models and len(files) > 1:
            fail("info describes one model at a time", f"give {models[0]} alone")
        if models:
            _describe_model(Path(models[0]), now)
        else:
            _describe_table(files, reading, now)


# ---- a model ------------------------------------------------------------------------------------------------


def _describe_model(path: Path, now: Any) -> None:
    """Describe a model file by its header and array shapes; the estimator is loaded only for its summary."""
    from eigenlens import model_file
    from eigenlens.catalogue import MODELS
    from eigenlens.cli.summaries import python_call, summarise
    from eigenlens.estimator.storage import load

    kind, arrays, header = model_file.read(path)
    listed = [[name, str(array.dtype), " × ".join(map(str, array.shape)) or "1"] for name, array in arrays.items()]
    now.say("file", f"{path}: {kind} ({file_size(path)}, digest intact)")
    now.add_facts(file=path, kind=kind, arrays={name: list(array.shape) for name, array in arrays.items()})
    if kind in MODELS:
        model = load(path)
        line, shown, facts = summarise(model)
        names = [str(name) for name in getattr(model, "feature_names_in_", ())]
        now.say("model", python_call(model))
        now.say("fitted to", _fitted_to(model, names))
        now.say("found", line)
        now.show(shown, always=True)
        now.add_facts(
            model=python_call(model), columns=names, **{key: value for key, value in facts.items() if key != "columns"}
        )
    now.say("holds", limited_table(["array", "type", "shape"], listed, most=SHOWN))
    now.add_facts(header={key: value for key, value in header.items() if key in ("parameters", "dtype")})


def _fitted_to(model: Any, names: list[str]) -> str:
    n = getattr(model, "n_samples_", None)
    rows = "" if n is None else f"{count_noun(n, 'row')}, "
    listed = f": {', '.join(names[:8])}{', …' if len(names) > 8 else ''}" if names else ""
    return f"{rows}{count_noun(model.n_features_in_, 'column')}{listed}"


# ---- a table ------------------------------------------------------------------------------------------------


def _describe_table(files: list[str], reading: ParsingOptions, now: Any) -> None:
    from eigenlens.cli.column_profile import profile_columns
    from eigenlens.cli.input_table import open_input

    with now.progress("reading"):
        source = open_input(files, reading)
        columns, n = profile_columns(source)
    paths, found = source.paths, [column.facts for column in columns]
    size = f"{len(paths)} files, {file_size(*paths)}" if len(paths) > 1 else file_size(*paths)
    place = str(source.given[0]) if len(paths) == 1 else files[0] if len(files) == 1 else f"{paths[0]} and more"
    now.say("file", f"{place}: {count_noun(n, 'row')}, {count_noun(len(columns), 'column')} ({size})")
    written = _written(source)
    if written is not None:
        cut = SEPARATORS.get(written["separator"], repr(written["separator"]))
        names = "first line is names" if written["header"] else "no line of names"
        thousands = f", '{written['thousands']}' between thousands" if written["thousands"] else ""
        signs = f"decimal sign '{written['decimal']}'{thousands}"
        now.say("text", f"separator {cut}, {signs}, {names}, encoding {written['encoding']}")
    missing = sum(column["missing"] for column in found)
    now.say("missing", f"{missing:,} of {n * len(found):,} entries ({missing / (n * len(found)):.1%})")
    lines = [_line(column) for column in found]
    now.show(limited_table(TITLES, lines, most=SHOWN, sides="<<>>>><"), always=True)
    now.show_warnings()
    marks = list(dict.fromkeys(mark for column in columns for mark in column.perhaps_missing))
    following = _next(files, columns, reading, marks)
    now.say(*(("next", following) if following else ("note", NO_NUMBERS)))
    now.add_facts(files=paths, rows=n, missing=missing, columns=found, text=written, next=following)


def _written(source: Any) -> dict[str, Any] | None:
    """Return how delimited text is written, for --json; None for other formats."""
    from eigenlens.data.files.decode import file_encoding

    dialect = source.dialect
    if dialect is None:
        return None
    return {**dialect.settings, "encoding": file_encoding(source.paths[0], dialect.encoding)}


SEPARATORS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar", " ": "spaces"}
NUMBERS = ("float", "integer", "boolean")
NO_NUMBERS = "no column holds numbers: only nb takes text, and it needs a column of classes (--label)"
TITLES = ["column", "type", "missing", "least", "mean", "greatest", "note"]


def _next(files: list[str], columns: list[Any], reading: ParsingOptions, marks: list[str]) -> str | None:
    """Return a `fit` command for the numeric columns, likely missing-value markers given as --na; None without one."""
    # The first column may name or number the rows.
    names = columns[:1] if len(columns) > 1 and (columns[0].numbers_rows or columns[0].names_rows) else []
    rest = columns[len(names) :]
    usable, other = [c for c in rest if _usable(c)], [str(c.name) for c in rest if not _usable(c)]
    if not usable:
        return None
    model = "ppca" if any(c.missing for c in usable) or marks else "pca"
    words = ["eigenlens", "fit", model, *files, *given_flags(reading)]
    words += [word for mark in marks for word in ("--na", mark)]
    words += [word for column in names for word in ("--id", str(column.name))]
    if len(other) > 4:  # then columns of text are reported by their type
        words += ["--columns", "@number"]
        other = [str(c.name) for c in rest if c.type in NUMBERS and not _usable(c)]
    return shlex.join(words + [word for name in other for word in ("--drop", name)])


def _usable(column: Any) -> bool:
    """Return whether a column can be fitted: it holds numbers, apart from likely missing-value markers."""
    return (column.type in NUMBERS or bool(column.perhaps_missing)) and column.missing < column.rows


def _line(column: dict[str, Any]) -> list[str]:

    number = column["mean"] is not None
    shown = [format_figure(column[key], ".6g") if number else "" for key in ("least", "mean", "greatest")]
    missing = f"{column['missing']:,}" if column["missing"] else ""
    return [str(column["name"]), column["type"], missing, *shown, column["note"]]

"""`eigenlens info`: what is in a data file or a model file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenlens.cli.errors import fail, warning_line
from eigenlens.cli.files import file_size, is_model_file, require_files
from eigenlens.cli.options import ParsingOptions, RunningOptions, takes
from eigenlens.cli.output import format_figure, limited_table
from eigenlens.cli.session import session
from eigenlens.tables.text_table import count_noun

BYTES_PER_NUMBER = 8
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
    from eigenlens.cli.advice.suggested_fit import suggest_fits
    from eigenlens.cli.column_profile import profile_columns
    from eigenlens.cli.files import memory_limit
    from eigenlens.cli.guess_roles import guess_roles
    from eigenlens.cli.input_table import open_input

    with now.progress("reading"):
        source = open_input(files, reading)
        columns, n = profile_columns(source)
    roles = guess_roles(columns)
    paths = source.paths
    facts = ({"role": str(roles[c.name].role), "reason": roles[c.name].reason or None} for c in columns)
    found = [c.facts | more | {"unit": source.units.get(c.name)} for c, more in zip(columns, facts, strict=True)]
    size = f"{len(paths)} files, {file_size(*paths)}" if len(paths) > 1 else file_size(*paths)
    place = str(source.given[0]) if len(paths) == 1 else files[0] if len(files) == 1 else f"{paths[0]} and more"
    now.say("file", f"{place}: {count_noun(n, 'row')}, {count_noun(len(columns), 'column')} ({size})")
    written = _written(source)
    if written is not None:
        now.say("text", _writing(written))
    decisions = [warning_line(each) for each in source.decisions]
    now.say("note", *decisions)
    missing = sum(column["missing"] for column in found)
    now.say("missing", f"{missing:,} of {n * len(found):,} entries ({missing / (n * len(found)):.1%})")
    lines = [_line(column) for column in found]
    now.show(limited_table(TITLES, lines, most=SHOWN, sides="<<<>>>><"), always=True)
    now.show_warnings()
    now.add_facts(files=paths, rows=n, missing=missing, columns=found, text=written, decisions=decisions)
    doubts = [*_doubts(source, columns), *_column_doubts(source, roles, n, memory_limit(now.running))]
    now.say("warning", *doubts)
    now.add_facts(**({"doubts": doubts} if doubts else {}))
    now.show_next(*suggest_fits(files, columns, reading))


def _doubts(source: Any, columns: list[Any]) -> list[str]:
    """Return sentences on numbers that probably mean missing, and on a row of totals."""
    import numpy as np

    from eigenlens.cli.advice.sentinels import describe_sentinels, may_hold_codes
    from eigenlens.data.files.cell_formats.total_names import is_total

    suspects = [
        j for j, c in enumerate(columns) if c.numbers and c.type != "text" and may_hold_codes(c.least, c.greatest)
    ]
    blocks = list(source.part(suspects).rows()) if suspects else []
    values = zip((str(columns[j].name) for j in suspects), np.concatenate(blocks).T, strict=True) if blocks else ()
    found = describe_sentinels(values, source.paths)
    last = next((str(cell) for c in columns if c.type == "text" and is_total(cell := c.last_text)), None)
    return found if last is None else [*found, f"the last row is called '{last}': it may not be data."]


def _column_doubts(source: Any, roles: Mapping[Any, Any], n: int, most: int) -> list[str]:
    """Return sentences on columns that are not measurements or follow from others, and on copied rows.

    Looked at are the n rows of the columns that a fit would take, if they need at most `most` bytes.
    """
    import numpy as np

    from eigenlens.cli.table_checks import describe_columns

    active = [j for j, field in enumerate(source.fields) if roles[field.name].is_measured]
    # A square table is a matrix of correlations or distances, perhaps.
    if not active or len(active) == n or n * len(active) * BYTES_PER_NUMBER > most:
        return []
    part = source.part(active)
    names = [str(field.name) for field in part.fields]
    return [warning_line(each) for each in describe_columns(np.concatenate(list(part.rows())), names)]


def _written(source: Any) -> dict[str, Any] | None:
    """Return how delimited text is written, for --json; None for other formats."""
    from eigenlens.data.files.decode import file_encoding

    dialect = source.dialect
    if dialect is None:
        return None
    return {**dialect.settings, "encoding": file_encoding(source.paths[0], dialect.encoding)}


def _writing(written: dict[str, Any]) -> str:
    """Return how delimited text is written, in words."""
    cut = SEPARATORS.get(written["separator"], repr(written["separator"]))
    lines = f"first {written['header_rows']} lines are names" if written["header_rows"] else "first line is names"
    names = lines if written["header"] else "no line of names"
    thousands = f", '{written['thousands']}' between thousands" if written["thousands"] else ""
    signs = f"decimal sign '{written['decimal']}'{thousands}"
    return f"separator {cut}, {signs}, {names}, encoding {written['encoding']}"


SEPARATORS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar", " ": "spaces"}
TITLES = ["column", "type", "role", "missing", "least", "mean", "greatest", "note"]


def _line(column: dict[str, Any]) -> list[str]:
    number = column["mean"] is not None
    shown = [format_figure(column[key], ".6g") if number else "" for key in ("least", "mean", "greatest")]
    missing = f"{column['missing']:,}" if column["missing"] else ""
    unit = f"in {column['unit']}" if column["unit"] else ""
    note = "; ".join(filter(None, (unit, column["note"], _shown_reason(column))))
    return [str(column["name"]), column["type"], column["role"], missing, *shown, note]


def _shown_reason(column: dict[str, Any]) -> str:
    """Return why a column is left out or names the rows, where the note does not say so."""
    said = column["note"] in ("empty", "constant", "numbers the rows") or column["role"] == "label"
    return "" if said else column["reason"] or ""

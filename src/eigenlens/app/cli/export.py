"""`eigenlens export`: the parameters of a model as plain JSON or CSV, or a linear projection as ONNX."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigenlens.app.cli.errors import refuse
from eigenlens.app.cli.options import ModelFile, Running, takes
from eigenlens.app.cli.present import require_files

if TYPE_CHECKING:
    from eigenlens.app.cli.parameters import Parameter

__all__ = ["export"]


@takes(running=Running)
def export(
    model: ModelFile,
    running: Running,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write here: .json, .csv or .onnx. Default: JSON on stdout."
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="NAME", help="One parameter, as a table with named rows and columns in CSV."),
    ] = None,
) -> None:
    """Write what a model has learned for other programs.

    JSON holds every parameter by its name in Python, and the names of the places along its axes. CSV has a line an
    entry (parameter, row, column, value, text), or with --only a plain table of one parameter.

    ONNX holds the projection of pca, ppca, fa and lda: X in, scores out, in float64; of lda also the label and the
    probabilities. It is checked against this package where onnxruntime is installed (the extra onnx).
    """
    require_files(model)
    from eigenlens.app.cli.parameters import parameters
    from eigenlens.app.cli.running import session
    from eigenlens.app.cli.writing import checked_target, write_whole
    from eigenlens.estimators import load

    with session(running) as now:
        target = checked_target(output, running.force, WRITERS)
        found = load(model)
        values = _chosen(parameters(found), only, found)
        if running.dry_run:
            return now.would(f"export {', '.join(values)}", *([] if target is None else [f"write {target}"]))
        if target is None:
            _print(found, values)
            now.running = replace(running, json=False)  # the document is the JSON value
            return None
        notes: list[str] = []

        def fill(path: Path) -> None:
            notes.append(WRITERS[target.suffix.lower()](found, values, path, only is not None) or "")

        with now.progress("exporting"):
            write_whole((target, fill), check=now.check)
        now.wrote(target, note=notes[0])
        now.tell(parameters=list(values), note=notes[0] or None)
    return None


def _chosen(values: dict[str, Parameter], only: str | None, model: Any) -> dict[str, Parameter]:
    if only is None:
        return values
    found = {name: value for name, value in values.items() if name.rstrip("_") == only.rstrip("_")}
    if not found:
        refuse(f"--only {only}: a {type(model).__name__} has no such parameter", f"it has {', '.join(values)}")
    return found


def _print(found: Any, values: dict[str, Parameter]) -> None:
    from eigenlens.app.cli.running import plain

    print(json.dumps(plain(_document(found, values)), indent=2, ensure_ascii=False, allow_nan=False))


def _document(model: Any, values: dict[str, Parameter]) -> dict[str, Any]:
    from eigenlens.app.cli.summaries import call

    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    numbers = {name: each.value for name, each in values.items()}
    places = {name: each.axes for name, each in values.items() if each.axes}
    return {"model": type(model).__name__, "call": call(model), "columns": names, "parameters": numbers, "axes": places}


def _to_json(model: Any, values: dict[str, Parameter], path: Path, one: bool) -> None:
    from eigenlens.app.cli.running import plain

    text = json.dumps(plain(_document(model, values)), indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _to_csv(model: Any, values: dict[str, Parameter], path: Path, one: bool) -> None:
    from eigenlens.app.cli.writing import FORMATS

    FORMATS[".csv"](_wide(*next(iter(values.items()))) if one else _long(values), path)


def _wide(name: str, found: Parameter) -> dict[str, Any]:
    """One parameter as a table: a name a row, and the values."""
    import numpy as np

    array = np.asarray(found.value)
    if array.ndim > 2:
        refuse(f"{name} has {array.ndim} axes, which no table has", "leave out --only, or write .json")
    rows = found.axes[0] if found.axes else [name.rstrip("_")]
    if array.ndim < 2:
        return {"name": rows, name.rstrip("_"): np.atleast_1d(array)}
    return {"name": rows, **dict(zip(found.axes[1], array.T, strict=True))}


def _long(values: dict[str, Parameter]) -> dict[str, Any]:
    """A line an entry: numbers in one column, texts in another."""
    import numpy as np

    lines: list[tuple[str, str, str, float | None, str | None]] = []
    for name, found in values.items():
        array = np.asarray(found.value)
        number = array.dtype.kind in "fiub"
        for place in np.ndindex(array.shape):
            named = [found.axes[axis][i] for axis, i in enumerate(place)]
            value = (float(array[place]), None) if number else (None, str(array[place]))
            lines.append((name, named[0] if named else "", "/".join(named[1:]), *value))
    columns = dict(zip(("parameter", "row", "column", "value", "text"), zip(*lines, strict=True), strict=True))
    return {name: np.array(column, dtype=np.float64 if name == "value" else object) for name, column in columns.items()}


def _to_onnx(model: Any, values: dict[str, Parameter], path: Path, one: bool) -> str:
    from eigenlens.app.cli.onnx import write_projection

    if one:
        refuse("--only is for .json and .csv, and an ONNX file holds the whole projection", "leave out --only")
    return write_projection(model, path)


WRITERS = {".json": _to_json, ".csv": _to_csv, ".onnx": _to_onnx}
"""How parameters are written, by suffix."""

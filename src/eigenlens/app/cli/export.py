"""`eigenlens export`: the parameters of a model as plain JSON or CSV, or a linear projection as ONNX."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenlens.app.cli.errors import refuse
from eigenlens.app.cli.options import ModelFile, Running, takes

__all__ = ["export", "parameters"]


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

    JSON holds every parameter by its name in Python. CSV has a line a number (parameter, row, column, value), or with
    --only a plain table of one parameter. ONNX holds the projection of pca, ppca, fa and lda, and is checked against
    this package where onnxruntime is installed (pip install 'eigenlens[onnx]').
    """
    from eigenlens.app.cli.apply import _loaded
    from eigenlens.app.cli.running import session
    from eigenlens.app.cli.writing import checked_target, size_of, write_whole

    with session(running) as now:
        target = checked_target(output, running.force, WRITERS)
        found = _loaded(model)
        values = parameters(found)
        if only is not None and only.rstrip("_") not in {name.rstrip("_") for name in values}:
            refuse(f"--only {only}: a {type(found).__name__} has no such parameter", f"it has {', '.join(values)}")
        if only is not None:
            values = {name: value for name, value in values.items() if name.rstrip("_") == only.rstrip("_")}
        if running.dry_run:
            return now.say("would", f"export {', '.join(values)}" + (f" to {target}" if target else ""))
        if target is None:
            _print(found, values)
            return None
        note = None

        def fill(path: Path) -> None:
            nonlocal note
            note = WRITERS[target.suffix.lower()](found, values, path, only is not None)

        write_whole(target, fill)
        now.say("wrote", f"{target} ({size_of(target)}{'' if note is None else ', ' + note})")
        now.tell(written=[target], parameters=list(values), note=note)
    return None


def _print(found: Any, values: dict[str, Any]) -> None:
    from eigenlens.app.cli.running import plain

    print(json.dumps(plain(_document(found, values)), indent=2, ensure_ascii=False, allow_nan=False))


def parameters(model: Any) -> dict[str, Any]:
    """{name: number, text or array} of what a fitted model has learned: its public attributes that end in `_`."""
    import numpy as np

    found = {}
    for name in sorted(set(dir(type(model))) | set(vars(model))):
        if not name.endswith("_") or name.startswith("_"):
            continue
        try:
            value = getattr(model, name)
        except (AttributeError, ValueError):  # not every fit has every attribute
            continue
        if isinstance(value, bool | int | float | str | np.generic | np.ndarray):
            found[name] = value
        elif isinstance(value, list | tuple) and all(
            isinstance(each, int | float | str | np.generic) for each in value
        ):
            found[name] = np.asarray(value)
    return found


def _document(model: Any, values: dict[str, Any]) -> dict[str, Any]:
    from eigenlens.app.cli.summaries import call

    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    return {"model": type(model).__name__, "call": call(model), "columns": names, "parameters": values}


def _to_json(model: Any, values: dict[str, Any], path: Path, one: bool) -> None:
    from eigenlens.app.cli.running import plain

    text = json.dumps(plain(_document(model, values)), indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


AXES = {
    "components_": ("axis", "column"),
    "loadings_": ("column", "axis"),
    "mean_": ("column",),
    "scale_": ("column",),
    "noise_variance_": ("column",),
    "communalities_": ("column",),
    "uniquenesses_": ("column",),
    "explained_variance_": ("axis",),
    "explained_variance_ratio_": ("axis",),
    "singular_values_": ("axis",),
    "eigenvalues_": ("axis",),
    "factor_correlations_": ("axis", "axis"),
    "rotation_matrix_": ("axis", "axis"),
    "means_": ("component", "column"),
    "weights_": ("component",),
    "bandwidth_": ("column", "column"),
}
"""What the places along each axis of a parameter are; those not listed are numbered."""


def _labels(model: Any, name: str, axis: int, size: int) -> list[str]:
    from eigenlens.app.cli.summaries import axis_names
    from eigenlens.views.tables import names_of

    kinds = AXES.get(name, ())
    kind = kinds[axis] if axis < len(kinds) else None
    if kind == "column" and size == model.n_features_in_:
        return list(names_of(model, size))
    return axis_names(model, size) if kind == "axis" else [str(i) for i in range(size)]


def _to_csv(model: Any, values: dict[str, Any], path: Path, one: bool) -> None:
    from eigenlens.app.cli.writing import FORMATS

    FORMATS[".csv"](_wide(model, *next(iter(values.items()))) if one else _long(model, values), path)


def _wide(model: Any, name: str, value: Any) -> dict[str, Any]:
    """One parameter as a table: a name a row, and the values."""
    import numpy as np

    array = np.asarray(value)
    if array.ndim > 2:
        refuse(f"{name} has {array.ndim} axes, which no table has", "leave out --only, or write .json")
    if array.ndim < 2:
        column = np.atleast_1d(array)
        return {"name": _labels(model, name, 0, column.size), name.rstrip("_"): column}
    columns = dict(zip(_labels(model, name, 1, array.shape[1]), array.T, strict=True))
    return {"name": _labels(model, name, 0, array.shape[0]), **columns}


def _long(model: Any, values: dict[str, Any]) -> dict[str, Any]:
    """A line a number; text is left to JSON."""
    import numpy as np

    lines: list[tuple[str, str, str, float]] = []
    for name, value in values.items():
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            continue
        labels = [_labels(model, name, axis, size) for axis, size in enumerate(array.shape)]
        for place in np.ndindex(array.shape):
            named = [labels[axis][i] for axis, i in enumerate(place)]
            lines.append((name, named[0] if named else "", "/".join(named[1:]), float(array[place])))
    parameter, row, column, numbers = zip(*lines, strict=True)
    return {"parameter": list(parameter), "row": list(row), "column": list(column), "value": np.array(numbers)}


def _to_onnx(model: Any, values: dict[str, Any], path: Path, one: bool) -> str:
    from eigenlens.app.cli.onnx import write_projection

    return write_projection(model, path)


WRITERS = {".json": _to_json, ".csv": _to_csv, ".onnx": _to_onnx}
"""How parameters are written, by suffix."""

"""`eigenlens export`: the parameters of a model as JSON or CSV, with names along every axis, or as ONNX."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from eigenlens.catalogue import entry_of, import_part
from eigenlens.cli.errors import fail
from eigenlens.cli.files import OUTPUT_FORMATS, check_target, require_files, write_files
from eigenlens.cli.options import ModelFile, RunningOptions, takes
from eigenlens.cli.output import json_text
from eigenlens.cli.session import session
from eigenlens.cli.summaries import python_call
from eigenlens.tables.names import axis_names, feature_names


@takes(running=RunningOptions)
def export(
    model: ModelFile,
    running: RunningOptions,
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
    """Write the parameters of a model for other programs.

    JSON holds every parameter by its name in Python, and the names along its axes. CSV has one line per entry
    (parameter, row, column, value, text), or with --only a plain table of one parameter.

    ONNX holds the projection of pca, ppca, fa and lda: X in, scores out, in float64; for lda also the label and the
    probabilities. It is checked against this package where onnxruntime is installed (the extra onnx).
    """
    require_files(model)
    from eigenlens.estimator.storage import load

    with session(running) as now:
        target = check_target(output, running.force, EXPORT_FORMATS, [model])
        found = load(model)
        values = _chosen(parameters(found), only, found)
        if running.dry_run:
            return now.show_plan(f"export {', '.join(values)}", targets=[target])
        if target is None:
            print(json_text(_document(found, values), indent=2))
            now.running = replace(running, json=False)  # the document is the JSON value
            return None
        notes: list[str] = []

        def fill(path: Path) -> None:
            notes.append(EXPORT_FORMATS[target.suffix.lower()](found, values, path, only is not None) or "")

        with now.progress("exporting"):
            write_files((target, fill), check=now.check_interrupt)
        now.show_written(target, note=notes[0])
        now.add_facts(parameters=list(values), note=notes[0] or None)
    return None


def _chosen(values: dict[str, Parameter], only: str | None, model: Any) -> dict[str, Parameter]:
    if only is None:
        return values
    found = {name: value for name, value in values.items() if name.rstrip("_") == only.rstrip("_")}
    if not found:
        fail(f"--only {only}: a {type(model).__name__} has no such parameter", f"it has {', '.join(values)}")
    return found


def _document(model: Any, values: dict[str, Parameter]) -> dict[str, Any]:
    return {
        "model": type(model).__name__,
        "call": python_call(model),
        "columns": [str(name) for name in getattr(model, "feature_names_in_", ())],
        "parameters": {name: each.value for name, each in values.items()},
        "axes": {name: each.axes for name, each in values.items() if each.axes},
    }


def _to_json(model: Any, values: dict[str, Parameter], path: Path, one: bool) -> None:
    path.write_text(json_text(_document(model, values), indent=1) + "\n", encoding="utf-8")


def _to_csv(model: Any, values: dict[str, Parameter], path: Path, one: bool) -> None:
    with OUTPUT_FORMATS[".csv"](path) as table:
        table.write(_wide(*next(iter(values.items()))) if one else _long(values))


def _wide(name: str, found: Parameter) -> dict[str, Any]:
    """Return one parameter as a table, with the names of its rows."""
    array = np.asarray(found.value)
    if array.ndim > 2:
        fail(f"{name} has {array.ndim} axes, and a table has two", "leave out --only, or write .json")
    rows = found.axes[0] if found.axes else [name.rstrip("_")]
    if array.ndim < 2:
        return {"name": rows, name.rstrip("_"): np.atleast_1d(array)}
    return {"name": rows, **dict(zip(found.axes[1], array.T, strict=True))}


def _long(values: dict[str, Parameter]) -> dict[str, Any]:
    """Return one line per entry: numbers in one column, texts in another."""
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
    from eigenlens.cli.onnx import write_projection

    if one:
        fail("--only is for .json and .csv, and an ONNX file holds the whole projection", "leave out --only")
    return write_projection(model, path)


EXPORT_FORMATS = {".json": _to_json, ".csv": _to_csv, ".onnx": _to_onnx}
"""Writers of parameters, by suffix."""


@dataclass(frozen=True, eq=False)
class Parameter:
    """A number, a text or an array, and the names of the places along each of its axes."""

    value: Any
    axes: tuple[list[str], ...] = ()


def parameters(model: Any) -> dict[str, Parameter]:
    """Return the parameters of a fitted model by name: its attributes that end in `_`, and what its entry exports."""
    entry = entry_of(model)
    more: dict[str, Parameter] = import_part(entry.export)(model) if entry and entry.export else {}
    return _attributes(model) | more


def _attributes(model: Any) -> dict[str, Parameter]:
    found = {}
    for name in sorted(set(dir(type(model))) | set(vars(model))):
        if not name.endswith("_") or name.startswith("_"):
            continue
        try:
            value = getattr(model, name)
        except (AttributeError, ValueError):  # not every fit has every attribute
            continue
        if _is_plain(value):
            plain = np.asarray(value) if isinstance(value, list | tuple) else value
            found[name] = Parameter(plain, _axes(model, name, plain))
    return found


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(each, int | float | str | np.generic) for each in value)
    return isinstance(value, bool | int | float | str | np.generic | np.ndarray)


# ---- names along the axes ----------------------------------------------------------------------

AXES_OF_PARAMETERS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("axis",): ("explained_variance_", "explained_variance_ratio_", "singular_values_", "eigenvalues_", "offset"),
    ("axis", "axis"): ("factor_correlations_", "rotation_matrix_"),
    ("axis", "column"): ("components_",),
    ("column",): ("mean_", "centre_", "scale_", "noise_variance_", "communalities_", "uniquenesses_"),
    ("column", "axis"): ("loadings_", "scalings_"),
    ("column", "bound"): ("bounds",),
    ("column", "column"): ("covariance_", "bandwidth_"),
    ("group",): ("weights_", "class_prior_", "class_count_", "intercept_"),
    ("group", "column"): ("means_", "coef_"),
    ("group", "column", "column"): ("covariances_",),
    ("row",): ("weights", "scales"),
    ("row", "axis"): ("eigenvectors_", "coefficients"),
    ("row", "column"): ("points", "rows"),
}
"""The parameters by the kinds of names along their axes; axes of those that are not listed are numbered."""

PARAMETER_AXES = {name: axes for axes, names in AXES_OF_PARAMETERS.items() for name in names}


def _axes(model: Any, name: str, value: Any) -> tuple[list[str], ...]:
    kinds = PARAMETER_AXES.get(name, ())
    if name == "covariances_" and getattr(model, "covariance_type", "") == "tied":
        kinds = ("column", "column")
    return tuple(_places(model, kinds[i] if i < len(kinds) else "", size) for i, size in enumerate(np.shape(value)))


def _places(model: Any, kind: str, size: int) -> list[str]:
    if kind == "column" and size == model.n_features_in_:
        return list(feature_names(model, size))
    if kind == "group" and hasattr(model, "classes_") and len(model.classes_) == size:
        return [str(each) for each in model.classes_]
    if kind == "bound":
        return ["least", "greatest"]
    return axis_names(model, size) if kind == "axis" else [str(i) for i in range(size)]


# ---- parameters besides attributes ----------------------------------------------------------------------------


def kernel_parameters(model: Any) -> dict[str, Parameter]:
    """Return the rows that kernels are centred at, and their coefficients."""
    names = ("points", "weights", "bounds", "scales", "rows", "coefficients", "offset", "centre")
    found = {name: value for name, value in _parts(model.model_) if name in names and value is not None}
    return {name: Parameter(value, _axes(model, name, value)) for name, value in found.items()}


def density_parameters(model: Any) -> dict[str, Parameter]:
    """Return the parameters of the density of each class, prefixed by the name of the class."""
    found: dict[str, Parameter] = {}
    for name, density in zip(model.classes_, model.densities_, strict=True):
        found |= {f"{name}.{each}": value for each, value in _one_density(density).items()}
    return found


def _one_density(density: Any) -> dict[str, Parameter]:
    """Return the parameters of an estimator or a frozen value; of a density of some columns also those inside it."""
    if hasattr(density, "get_params"):
        return {name: value for name, value in parameters(density).items() if name != "feature_names_in_"}
    inner = getattr(density, "density", None)
    inside = {} if inner is None else {f"density.{name}": value for name, value in _one_density(inner).items()}
    return dict(_flat(density)) | inside


def family_parameters(model: Any) -> dict[str, Parameter]:
    """Return the parameters of naive Bayes by family: one row per class or component, one column per feature."""
    labels = getattr(model, "classes_", range(len(model.model_.prior)))
    classes, names = [str(each) for each in labels], feature_names(model, model.n_features_in_)
    families = [str(choice.family) for choice in model.features_]
    found = {"families": Parameter(np.array(families), (list(names),))}
    for columns, conditional in model.model_.groups:
        own, family = [names[j] for j in columns], families[int(columns[0])]
        for place, value in _parts(conditional):
            found |= _of_columns(f"{family}.{place}", value, classes, own, conditional)
    return found


def _of_columns(name: str, value: Any, classes: list[str], own: list[str], conditional: Any) -> dict[str, Parameter]:
    if isinstance(value, np.ndarray) and value.shape == (len(classes), len(own)):
        return {name: Parameter(value, (classes, own))}
    if isinstance(value, tuple) and len(value) == len(own) and all(isinstance(each, np.ndarray) for each in value):
        levels = [[str(level) for level in each] for each in conditional.categories]
        return {f"{name}.{column}": Parameter(each, (classes, level[: each.shape[1]]))
                for column, each, level in zip(own, value, levels, strict=True)}  # fmt: skip
    if name.endswith(".densities"):
        pairs = [(f"{name}.{column}.{label}", density) for column, row in zip(own, value, strict=True)
                 for label, density in zip(classes, row, strict=True)]  # fmt: skip
        return {f"{start}.{end}": each for start, density in pairs for end, each in _flat(density)}
    return {}


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a frozen value."""
    yield from ((each.name, getattr(value, each.name)) for each in fields(value) if each.repr)


def _flat(value: Any) -> Iterator[tuple[str, Parameter]]:
    """Yield the numbers and texts in a frozen value, and those of values inside it, prefixed by their names."""
    if not is_dataclass(value) or hasattr(value, "get_params"):  # the fields of an estimator are its parameters
        return
    for name, part in _parts(value):
        inside = list(enumerate(part)) if isinstance(part, list | tuple) and any(map(is_dataclass, part)) else []
        for start, other in [(name, part), *((f"{name}.{i}", each) for i, each in inside)]:
            yield from ((f"{start}.{end}", each) for end, each in _flat(other))
        if is_dataclass(part) or inside:
            continue
        if part is not None and _is_plain(part):
            array = np.asarray(part)
            yield name, Parameter(array, tuple([str(i) for i in range(size)] for size in array.shape))

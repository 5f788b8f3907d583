"""`write_results`: a file of what a method of a fitted model gives for rows, written in constant memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenlens import checks
from eigenlens.arrays import to_numpy
from eigenlens.catalogue import MODELS
from eigenlens.data.coerce import as_source, as_table
from eigenlens.data.files.file_parts import FilePart, RowCursor, file_parts, small_block
from eigenlens.data.files.scan import FileSource
from eigenlens.data.files.write import WRITERS, raise_system_errors
from eigenlens.data.source import Source
from eigenlens.errors import DataError, OptionError
from eigenlens.file_replacement import move_into_place, temporary_folder
from eigenlens.tables.names import axis_names, feature_names

NAMES: dict[str, Callable[[Any, int], Any]] = {
    "transform": axis_names,
    "predict": lambda model, k: ["predicted"],
    "predict_proba": lambda model, k: [f"p({name})" for name in getattr(model, "classes_", range(k))],
    "score_samples": lambda model, k: ["log_density"],
    "impute": feature_names,
    "denoise": feature_names,
}
"""The names of the columns of results, by the methods that give them."""


def write_results(method: Callable[..., Any], X: Any, output: str | os.PathLike[str], **options: Any) -> int:
    """Write what a method of a fitted model gives for the rows of X to a file, block by block; return their number.

    The memory that this takes does not depend on the number of rows. The file is written whole or not at all: an old
    one stays where the rows cannot be read to their end, or the disk is full.

    Args:
        method: of a fitted model: its transform, impute, predict, predict_proba, score_samples, denoise, …
        X: rows of any kind, such as `scan("rows.parquet", id="name")`, whose ids are written beside the results.
        output: .parquet, .csv, .tsv, .arrow, .feather, .npy or .json, which keeps all results in memory.
        options: of the method, such as return_std=True of `impute`: the deviations of a column x are a column x_std.

    >>> import pathlib, tempfile
    >>> from eigenlens import PCA, scan
    >>> folder = tempfile.TemporaryDirectory()
    >>> pca, path = PCA(1).fit(np.eye(3)), pathlib.Path(folder.name, "scores.csv")
    >>> write_results(pca.transform, np.zeros((2, 3)), path), path.read_text().split()[0]
    (2, 'PC1')
    >>> folder.cleanup()
    """
    model = getattr(method, "__self__", None)
    if model is None or not hasattr(model, "fit"):
        raise OptionError(
            "is not a method of a fitted model", argument="method", value=method, fix="give pca.transform"
        )
    check_is_fitted(model)
    target = checks.target_file(output, overwrite=True)
    if target.suffix.lower() not in WRITERS:
        fix = f"use one of {', '.join(WRITERS)}"
        raise OptionError("has no suffix of a table", argument="output", value=str(output), fix=fix)
    takes_text = any(MODELS[each.__name__].mixed for each in type(model).__mro__ if each.__name__ in MODELS)
    source = as_table(X) if takes_text else as_source(X)
    place, n = Path(os.path.realpath(target)), 0
    with temporary_folder(place.parent) as folder:
        with raise_system_errors(), WRITERS[place.suffix.lower()](folder / place.name) as table:
            for columns in _results(method, source, options):
                table.write(columns)
                n += len(next(iter(columns.values())))
        move_into_place(folder / place.name, place)
    return n


def _results(method: Callable[..., Any], source: Source, options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the named columns of the results of each block of rows, after the ids of a scan."""
    name = source.id if isinstance(source, FileSource) else None
    small = small_block(source.n_features)
    cursor = (
        RowCursor(source.column_frames(name, small)) if isinstance(source, FileSource) and name is not None else None
    )
    for part in file_parts(source):
        try:
            found = method(part.rows, **options)
        except DataError as error:
            raise error.replace(within=_which(part)) from error
        beside = {} if cursor is None else {str(name): cursor.take(part).to_series(0)}
        yield beside | _named(method, found if isinstance(found, tuple) else (found,), beside)


def _which(part: FilePart) -> str:
    return f"rows {part.start + 1:,} to {part.start + part.n_read:,}"


def _named(method: Any, results: tuple[Any, ...], taken: dict[str, Any]) -> dict[str, Any]:
    """Return results (b,) or (b, k) as named columns; those of a second one are standard deviations."""
    columns: dict[str, Any] = {}
    for place, result in enumerate(results):
        values: Any = np.asarray(to_numpy(result))
        wide = values[:, None] if values.ndim == 1 else values
        name_columns: Callable[[Any, int], Any] = NAMES.get(method.__name__, _numbered(method.__name__))
        names = name_columns(method.__self__, int(wide.shape[1]))
        for name, column in zip(names, wide.T, strict=True):
            full = f"{name}_std" if place else str(name)
            columns[f"{full}_" if full in taken or full in columns else full] = column
    return columns


def _numbered(name: str) -> Callable[[Any, int], list[str]]:
    return lambda model, k: [name] if k == 1 else [f"{name}{j + 1}" for j in range(k)]

"""Columns that took no part in a fit, as the user gives them, placed on its components."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import Source
from eigenlens.errors import DataError
from eigenlens.estimators.rows import dense_blocks
from eigenlens.fitting import reading
from eigenlens.models.principal import PrincipalComponents

__all__ = ["place"]


def place(columns: Any, Z: Array, source: Source, model: PrincipalComponents) -> Any:
    """Supplementary columns, numeric and categorical, on the scores Z of the fitted rows."""
    named = _named_columns(columns)
    for name, values in named.items():
        if len(values) != len(Z):
            raise DataError(f"columns[{name!r}] has {len(values)} rows, but the fit had {len(Z)}.")
    numeric = {name: values for name, values in named.items() if values.dtype.kind in "fiub"}
    placed: dict[str, Any] = {}
    if numeric:
        table = np.column_stack([values.astype(np.float64) for values in numeric.values()])
        placed["numeric"] = reading.supplementary_columns(tuple(numeric), table, Z, source.weight)
    for name in named.keys() - numeric.keys():
        rest = _off_axes(named[name].astype(str), source, model)
        placed[name] = reading.supplementary_categories(name, named[name].astype(str), Z, rest, source.weight)
    return next(iter(placed.values())) if len(placed) == 1 else placed


def _off_axes(values: Array, source: Source, model: PrincipalComponents) -> Array:
    """Squared distance (l,) of each level's mean row from the space of the components."""
    levels, codes = np.unique(values, return_inverse=True)
    w = np.ones(len(values)) if source.weight is None else source.weight
    sums, start = np.zeros((levels.size, source.n_features)), 0
    for block in dense_blocks(source):
        stop = start + len(block)
        np.add.at(sums, codes[start:stop], w[start:stop, None] * block)
        start = stop
    return model.squared_error(sums / np.bincount(codes, w)[:, None])


def _named_columns(columns: Any) -> dict[str, Array]:
    if isinstance(columns, dict):
        return {str(name): np.asarray(values) for name, values in columns.items()}
    if isinstance(columns, np.ndarray | list | tuple):
        array = np.asarray(columns)
        array = array[:, None] if array.ndim == 1 else array
        return {str(j): array[:, j] for j in range(array.shape[1])}
    import narwhals.stable.v2 as nw

    native = nw.from_native(columns, eager_only=True, allow_series=True)
    frame = native.to_frame() if isinstance(native, nw.Series) else native
    return {str(name): np.asarray(frame[name].to_numpy()) for name in frame.columns}

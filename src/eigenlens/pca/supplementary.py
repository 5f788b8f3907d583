"""Projection of columns that took no part in a fit onto its components."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import Source
from eigenlens.errors import DataError
from eigenlens.estimator.rows import dense_blocks
from eigenlens.pca.interpret import Supplementary, supplementary_categories, supplementary_correlations
from eigenlens.pca.model import PrincipalComponents


def project_columns(columns: Any, Z: Array, source: Source, model: PrincipalComponents) -> Supplementary:
    """Return supplementary columns, numeric and categorical, on the scores Z (n, k); rows of weight 0 are left out."""
    named = _named_columns(columns)
    for name, values in named.items():
        if len(values) != len(Z):
            raise DataError(f"columns[{name!r}] has {len(values)} rows, but the fit had {len(Z)}", columns=[name])
    numeric = {name: values for name, values in named.items() if values.dtype.kind in "fiub"}
    table = np.empty((len(Z), len(numeric)))
    for j, values in enumerate(numeric.values()):
        table[:, j] = values
    found = supplementary_correlations(table, Z, source.weight)
    texts = {name: values.astype(str) for name, values in named.items() if name not in numeric}
    positive = np.ones(len(Z), dtype=bool) if source.weight is None else source.weight > 0.0
    weight = None if source.weight is None else source.weight[positive]
    categories = {
        name: supplementary_categories(
            name, values[positive], Z[positive], _off_axes(values, positive, source, model), weight
        )
        for name, values in texts.items()
    }
    return Supplementary(tuple(numeric), found, categories)


def _off_axes(values: Array, positive: Array, source: Source, model: PrincipalComponents) -> Array:
    """Return the squared distance (l,) of each category's mean row from the space of the components."""
    categories, inverse = np.unique(values[positive], return_inverse=True)
    codes = np.zeros(len(values), dtype=int)
    codes[positive] = inverse
    w = np.ones(len(values)) if source.weight is None else source.weight
    sums, start = np.zeros((categories.size, source.n_features)), 0
    for block in dense_blocks(source):
        stop = start + len(block)
        np.add.at(sums, codes[start:stop], w[start:stop, None] * block)
        start = stop
    return model.squared_error(sums / np.bincount(codes, w, minlength=categories.size)[:, None])


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

"""Whether the entries of columns are of a size whose squares floats can hold, asked of a few rows before a fit."""

from __future__ import annotations

from functools import partial

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.source import Source
from eigenlens.errors import DataError
from eigenlens.resources import in_slices

MAX_ENTRY, MIN_ENTRY = 1e152, 1e-151
"""Columns whose largest entry is beyond these have squares that overflow, or are 0 or not exact."""

ROWS_LOOKED_AT = 1000
"""Rows spread over those in memory: units are the same in all rows, and a single large entry is found by its square."""


SLICE_COLUMNS = 1024
"""The number of columns that a thread looks at, at a time."""


def require_range(source: Source) -> Source:
    """Return a source of rows in memory if the squares of its columns can be held; of others, the source unchanged.

    >>> from eigenlens.data.memory import ArraySource
    >>> require_range(ArraySource(np.array([[1.0, 2e300], [2.0, 0.0]])))
    Traceback (most recent call last):
      ...
    eigenlens.errors.DataError: column 1 of X has entries as large as 2e+300, above 1e150, and squares overflow; \
divide it by 1e+300.
    """
    if not source.in_memory or not source.n_rows or hasattr(source, "fields"):  # which has columns of text
        return source
    largest = _largest_entries(source)
    odd = np.flatnonzero((largest > MAX_ENTRY) | ((largest < MIN_ENTRY) & (largest > 0.0)))
    if odd.size:
        raise _out_of_range(source, int(odd[0]), float(largest[odd[0]]))
    return source


def _largest_entries(source: Source) -> Array:
    """Return the largest finite modulus (d,) of each column, in rows of positive weight."""
    largest, start, weight = np.zeros(source.n_features), 0, source.weight
    step = max(1, (source.n_rows or 1) // ROWS_LOOKED_AT)
    for rows in source.rows():
        values = dense(rows[::step, :])
        if weight is not None:
            values = values[weight[start : start + rows.shape[0]][::step] > 0.0]
        found = in_slices(partial(_largest_moduli, values), values.shape[1], SLICE_COLUMNS)
        largest = np.maximum(largest, found[0] if len(found) == 1 else np.concatenate(found))
        start += rows.shape[0]
    return largest


def _largest_moduli(values: Array, part: slice) -> Array:
    """Return the largest finite modulus of some columns, 0 where there is none."""
    moduli = np.abs(values[:, part])
    found = np.maximum.reduce(moduli, axis=0, initial=0.0)
    if np.isfinite(found).all():
        return np.asarray(found)
    return np.asarray(np.max(moduli, axis=0, where=np.isfinite(moduli), initial=0.0))


def _out_of_range(source: Source, j: int, size: float) -> DataError:
    name = repr(str(source.names[j])) if source.names else str(j)
    unit = f"1e{int(np.floor(np.log10(size))):+d}"
    if size > MAX_ENTRY:
        what = f"has entries as large as {size:.3g}, above 1e150, and squares overflow"
    else:
        what = f"has entries no larger than {size:.3g}, below 1e-150, and squares outside the range of floats"
    return DataError(f"column {name} of X {what}", columns=[name.strip("'")], fix=f"divide it by {unit}")

"""Rows back in the frame that they came in: the same kind, columns and index."""

from __future__ import annotations

from typing import Any

from eigenlens.arrays import Array
from eigenlens.data.memory import FrameSource
from eigenlens.data.source import Source

__all__ = ["framed"]


def framed(values: Array, X: Any, source: Source) -> Any:
    """`values` (n, d), rows of X (n, d): as a frame of X's kind, index and columns if X is one, else as they are.

    >>> import numpy as np, pandas as pd
    >>> X = pd.DataFrame({"a": [1, 2]}, index=["first", "second"])
    >>> framed(np.array([[0.5], [1.5]]), X, FrameSource(X))
              a
    first   0.5
    second  1.5
    """
    if not isinstance(source, FrameSource) or isinstance(X, Source):
        return values
    import narwhals.stable.v2 as nw

    columns = {name: values[:, j] for j, name in enumerate(source.frame.columns)}
    made = nw.from_dict(columns, backend=source.frame.implementation).to_native()
    if nw.dependencies.is_pandas_like_dataframe(X):
        made.index, made.columns = X.index, X.columns
    return made

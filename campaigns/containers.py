"""Containers of rows of other libraries, written as Python for generated calls; `campaigns.values` has the others."""

from __future__ import annotations

from typing import Any

import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
import pyarrow
from scipy import sparse

from eigenlens import densities

__all__ = ["arrow", "block", "dask", "lazy", "outside", "pyarrow", "twice_stored"]


def lazy(X: Any, kind: str = "known") -> Any:
    """Return a Dask array of three chunks of rows: of known or unknown length, all empty, of columns, or a frame."""
    X = np.asarray(X)
    if kind == "frame":
        return dask.dataframe.from_pandas(pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]), npartitions=2)
    array = dask.array.from_array(X, chunks=(len(X), 1) if kind == "columns" else (max(1, len(X) // 3), X.shape[1]))
    bound = {"unknown": -np.inf, "empty": np.inf}.get(kind)
    return array if bound is None else array[array[:, 0] > bound]


def arrow(X: Any, **others: Any) -> Any:
    """Return an Arrow table of two chunks, with other columns added."""
    columns = {f"c{j}": column for j, column in enumerate(np.asarray(X).T.copy())}
    table = pyarrow.table(columns | others)
    return pyarrow.concat_tables([table.slice(0, 2), table.slice(2)])


def outside(matrix: Any) -> Any:
    """Return a compressed sparse matrix whose first entry is stored outside its shape."""
    matrix.indices = np.array(matrix.indices)
    matrix.indices[:1] = 10**6
    return matrix


def twice_stored(n: int, d: int) -> Any:
    """Return a sparse matrix in which two entries are stored twice."""
    return sparse.coo_matrix((np.ones(4), ([0, 0, 1, 1], [0, 0, 0, 0])), shape=(n, d))


def block(rows: Any, weight: Any = None) -> Any:
    """Return a block of rows with weights."""
    return densities.Block(rows, weight)


def _tensors() -> list[str]:
    kinds = ["half()", "bfloat16()", "requires_grad_()", "long()", "to_sparse()", "to('meta')", "T.contiguous().T"]
    kinds += ["to(torch.complex128)", "float()"]
    return [f"torch.tensor(rows({{n}}, {{d}}, {{s}})).{kind}" for kind in kinds]


CONTAINERS = [
    *(f"lazy(rows({{n}}, {{d}}, {{s}}), '{kind}')" for kind in ("known", "unknown", "empty", "columns", "frame")),
    "lazy(rows({n}, {d}, {s}))[:, 0]",
    "lazy(rows({n}, {d}, {s}) > 0)",
    "lazy(rows({n}, {d}, {s}).astype(object))",
    *_tensors(),
    "torch.tensor(rows({n}, {d}, {s})) > 0",
    "torch.tensor(rows({n}, {d}, {s}))[:, 0]",
    "torch.tensor(rows({n}, {d}, {s}))[None]",
    "torch.quantize_per_tensor(torch.tensor(rows({n}, {d}, {s})).float(), 0.1, 0, torch.qint8)",
    "pd.DataFrame(rows({n}, {d}, {s})).groupby(0)",
    "named(rows({n}, {d}, {s}), pl, width=pl.Series([2**100] * {n}, dtype=pl.Int128))",
    "spoilt(rows({n}, {d}, {s}).astype(object), 10**400, (1, 0))",
    "arrow(rows({n}, {d}, {s}))",
    "arrow(rows({n}, {d}, {s})).to_batches()[0]",
    "arrow(rows({n}, {d}, {s}), width=[None, 1.5] * ({n} // 2) + [2.5] * ({n} % 2))",
    "arrow(rows({n}, {d}, {s}), width=[decimal.Decimal('1.5')] * {n})",
    "arrow(rows({n}, {d}, {s}), kind=pyarrow.array(['red'] * {n}).dictionary_encode())",
    "pyarrow.chunked_array([rows({n}, 1, {s})[:, 0]] * 2)",
    "outside(sparse.csr_matrix(rows({n}, {d}, {s})))",
    "outside(sparse.csc_array(rows({n}, {d}, {s})))",
    "twice_stored({n}, {d})",
    "np.memmap(scratch('rows'), shape=({n}, {d}), mode='w+')",
    "memoryview(rows({n}, {d}, {s}))",
    "np.broadcast_to(rows(1, {d}, {s}), ({n}, {d}))",
    "rows({n}, {d}, {s})[::-1, ::-1]",
    "np.array([[decimal.Decimal('1.5')] * {d}] * {n})",
    "np.array([[fractions.Fraction(1, 3)] * {d}] * {n})",
    "[[10**400] * {d}] * {n}",
    "[[2**70] * {d}] * {n}",
    "np.abs(rows({n}, {d}, {s}) * 1e3).astype('uint64') + np.uint64(2**60)",
    "named(rows({n}, {d}, {s}), kind=pd.Series(['red'] * {n}, dtype='string'))",
    "named(rows({n}, {d}, {s}), width=pd.period_range('2020', periods={n}, freq='D'))",
    "named(rows({n}, {d}, {s}), width=pd.to_timedelta(range({n}), unit='s'))",
    "named(rows({n}, {d}, {s}), width=pd.interval_range(0, {n}))",
    "named(rows({n}, {d}, {s})).astype('double[pyarrow]')",
    "pd.DataFrame(rows({n}, 4, {s}), columns=pd.MultiIndex.from_product([['a', 'b'], [0, 1]]))",
]
"""Templates of tables in containers of other libraries, some of which are not tables."""

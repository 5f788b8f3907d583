"""Values for generated calls, written as Python: what makes tables, labels and weights, and things that none means.

Each is a text to be evaluated with the names of this module, so that the call of a case can be pasted into a session
after `from campaigns.values import *`.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import io
import pathlib
import tempfile
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import torch
from scipy import sparse

import eigenlens
from campaigns.containers import arrow, block, dask, lazy, outside, pyarrow, twice_stored
from eigenlens import datasets, densities, plot, textbook
from eigenlens.data.coerce import as_source

__all__ = [
    "arrow", "as_source", "block", "copies", "dask", "datasets", "datetime", "decimal", "densities", "eigenlens",
    "fractions", "inf", "io", "labels", "lazy", "named", "nan", "np", "outside", "pathlib", "pd", "pl", "plot",
    "pyarrow", "read_only", "rows", "scaled", "scratch", "sparse", "spoilt", "table_file", "textbook", "torch",
    "twice_stored", "weights",
]  # fmt: skip

nan, inf = float("nan"), float("inf")
NAMES = ("height", "width", "mass", "speed", "ph", "zinc", "iron", "lead", "salt", "sand", "clay", "silt")


def rows(n: int, d: int, seed: int = 0) -> Any:
    """Return n rows of d correlated columns in two groups."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, max(1, d // 2)))
    return latent @ rng.normal(size=(latent.shape[1], d)) + rng.normal(size=(n, d)) + 3.0 * (np.arange(n) % 2)[:, None]


def copies(n: int, d: int, seed: int = 0) -> Any:
    """Return n people and the copies of an allele, 0, 1 or 2, of d variants that they have."""
    rng = np.random.default_rng(seed)
    return rng.binomial(2, rng.uniform(0.2, 0.8, d), size=(n, d)).astype(float)


def labels(n: int) -> Any:
    """Return the groups of such rows."""
    return np.arange(n) % 2


def weights(n: int, seed: int = 0) -> Any:
    """Return positive weights."""
    return np.random.default_rng(seed).uniform(0.5, 2.0, n)


def scaled(X: Any, factor: float, column: int) -> Any:
    """Return X with one column multiplied by a factor."""
    X = np.array(X)
    X[:, column % max(1, X.shape[1])] *= factor
    return X


def spoilt(X: Any, value: Any, *places: tuple[Any, Any]) -> Any:
    """Return X with a value at some places."""
    X = np.array(X)
    for place in places:
        X[place] = value
    return X


def read_only(X: Any) -> Any:
    """Return X, not to be written to."""
    X = np.array(X)
    X.flags.writeable = False
    return X


def named(X: Any, library: Any = pd, **others: Any) -> Any:
    """Return a frame of pandas or Polars with names of columns, of which some are replaced or added."""
    columns = dict(zip(NAMES, np.asarray(X).T.copy(), strict=False)) | others
    return library.DataFrame(columns)


def table_file(X: Any, suffix: str = ".csv") -> str:
    """Return the path of a file of a table, with names of columns."""
    path, frame = scratch(f"rows{suffix}"), named(X, pl)
    frame.write_parquet(path) if suffix == ".parquet" else frame.write_csv(path)
    return path


def scratch(name: str) -> str:
    """Return the path of a file that does not exist, in a folder of its own."""
    return str(pathlib.Path(tempfile.mkdtemp(prefix="campaign-")) / name)


# ---- things ---------------------------------------------------------------------------------------------------

JUNK = [
    "None", "True", "False", "-1", "0", "1", "2", "3", "10**9", "10**20", "-10**20", "2**63", "0.5", "1.5", "-0.5",
    "1.0", "nan", "inf", "-inf", "1e-300", "1e300", "5e-324", "1.0 + 2.0j", "'auto'", "'nonsense'", "''", "b'bytes'",
    "[]", "[1]", "[1, 2]", "[0, 0]", "(1, 2)", "(1,)", "{{}}", "{{'height': 1}}", "{{0: 1}}", "set()", "{{1, 2}}",
    "object()", "len", "int", "range(3)", "slice(2)", "...", "np.array(1)", "np.array([1.0, 2.0])",
    "np.array([[1.0]])", "np.array([nan, 1.0])", "np.array([])", "np.array(['red'])", "np.float32(0.5)",
    "np.int64(2)", "np.bool_(True)", "np.nan", "np.str_('auto')", "decimal.Decimal('0.5')", "decimal.Decimal('NaN')",
    "fractions.Fraction(1, 2)", "datetime.date(2020, 1, 1)", "np.datetime64('2020-01-01')", "np.datetime64('NaT')",
    "pd.NA", "pd.NaT", "pathlib.Path('rows.csv')", "'height'", "['height', 'mass']", "['height', 'nonsense']",
    "(lambda *values, **options: None)", "(lambda *values, **options: nan)", "rows({n}, {d})", "labels({n})",
    "named(rows({n}, {d}))", "pd.Series([1.0, 2.0])", "iter([1, 2])", "[[1, 2], [3]]", "[None]", "[nan]", "[inf]",
    "[-1]", "[10**20]", "['red', 1]", "np.random.default_rng(0)", "np.array([[1.0, 2.0], [3.0, 4.0]])",
    "[1.0, 'red']", "'1'", "'NaN'", "eigenlens.PCA", "eigenlens.PCA()", "torch.ones(3)", "np.ma.masked_all(3)",
    "np.array([[1.0, 2.0], [3.0, 4.0], [5.0, nan]])", "10**400", "memoryview(b'rows')", "type(None)",
    "sparse.eye_array(3)", "(lambda *values: values[0])",
    "lazy(rows({n}, {d}), 'frame')", "lazy(rows({n}, {d}))", "torch.ones(3, 3).to_sparse()", "torch.ones(2).to('meta')",
    "arrow(rows({n}, {d}))", "pyarrow.array([1.0, 2.0])", "pl.Series([1.0, 2.0])", "named(rows({n}, {d}), pl).lazy()",
    "np", "NotImplemented", "'x' * 5000", "'nul\\x00byte'", "'\\ud800'", "'/'", "np.zeros((2, 2, 2))",
    "np.array([None, object()])", "np.zeros(3, dtype=[('a', 'f8')])", "[['a'], ['b', 'c']]",
    "sparse.coo_array(np.ones(3))", "[10**400]", "[[]]",
    "{{'height': nan}}", "pd.Categorical(['a', 'b'])", "pd.Index(['a', 'b'])", "pd.Timestamp('2020')", "np.ma.masked",
    "np.array(1.0 + 2.0j)", "frozenset([1])", "bytearray(b'x')", "np.array([inf, 1.0])", "(i for i in range(3))",
    "(lambda *values, **options: 'x')", "(lambda *values, **options: [])", "1e308", "np.matrix([[1.0, 2.0]])",
    "np.ones({n})", "np.ones({d})", "rows({d}, {n})", "np.full((3, 3), nan)",
]  # fmt: skip
"""Things for arguments that they do not mean, and for some that they do."""

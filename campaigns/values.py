"""Values for generated calls, written as Python: tables, labels, weights, and things that no argument means.

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
from eigenlens import datasets, densities, plot, textbook

__all__ = [
    "datasets", "datetime", "decimal", "densities", "eigenlens", "fractions", "inf", "io", "labels", "named",
    "nan", "np", "pathlib", "pd", "pl", "plot", "read_only", "rows", "scaled", "scratch", "sparse", "spoilt",
    "table_file", "textbook", "torch", "weights",
]  # fmt: skip

nan, inf = float("nan"), float("inf")
NAMES = ("height", "width", "mass", "speed", "ph", "zinc", "iron", "lead", "salt", "sand", "clay", "silt")


def rows(n: int, d: int, seed: int = 0) -> Any:
    """Return n rows of d correlated columns in two groups."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, max(1, d // 2)))
    return latent @ rng.normal(size=(latent.shape[1], d)) + rng.normal(size=(n, d)) + 3.0 * (np.arange(n) % 2)[:, None]


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


# ---- tables ---------------------------------------------------------------------------------------------------

PLAIN = ["rows({n}, {d}, {s})"] * 6 + [
    "rows({n}, {d}, {s}).astype('float32')",
    "rows({n}, {d}, {s}).astype('>f8')",
    "np.asfortranarray(rows({n}, {d}, {s}))",
    "rows({n}, {d}, {s})[::-1]",
    "rows({n}, 2 * {d}, {s})[:, ::2]",
    "read_only(rows({n}, {d}, {s}))",
    "rows({n}, {d}, {s}).tolist()",
    "named(rows({n}, {d}, {s}))",
    "named(rows({n}, {d}, {s}), pl)",
    "sparse.csr_array(rows({n}, {d}, {s}))",
    "np.rint(3 * rows({n}, {d}, {s})).astype(int)",
    "torch.tensor(rows({n}, {d}, {s}))",
]
"""Templates of tables that every model can use; they differ in their containers and dtypes."""

ODD = [
    "rows({n}, {d}, {s}).astype('float16')",
    "rows({n}, {d}, {s}).astype(np.longdouble)",
    "rows({n}, {d}, {s}).astype(object)",
    "rows({n}, {d}, {s}).astype(str)",
    "rows({n}, {d}, {s}).astype(bytes)",
    "rows({n}, {d}, {s}) > 0",
    "rows({n}, {d}, {s}) + 1j",
    "rows({n}, {d}, {s}).astype('datetime64[s]')",
    "rows({n}, {d}, {s}).astype('timedelta64[s]')",
    "rows({n}, {d}, {s}).astype('int8')",
    "rows({n}, {d}, {s}).astype('uint64')",
    "np.full(({n}, {d}), 2**62)",
    "np.zeros({n}, dtype=[('height', 'f8'), ('mass', 'i4')])",
    "np.zeros({n}, dtype=[('height', 'f8'), ('mass', 'U4')])",
    "np.ma.masked_less(rows({n}, {d}, {s}), 0.0)",
    "np.ma.masked_all(({n}, {d}))",
    "np.ma.masked_less(rows({n}, {d}, {s}).astype(int), 0)",
    "np.matrix(rows({n}, {d}, {s}))",
    "rows({n}, {d}, {s})[:, :0]",
    "rows({n}, {d}, {s})[:0]",
    "np.zeros((0, 0))",
    "rows({n}, {d}, {s})[:1]",
    "rows({n}, {d}, {s})[:2]",
    "rows({n}, {d}, {s})[:, :1]",
    "rows({n}, {d}, {s})[:, 0]",
    "rows({n}, {d}, {s})[None]",
    "rows({n}, {d}, {s})[:, :, None, None]",
    "rows(3, 9, {s})",
    "rows({n}, {d}, {s})[0].tolist()",
    "[[1.0, 2.0], [3.0]]",
    "[[1.0, 2.0], [3.0, [4.0]]]",
    "[[[1.0, 2.0]], [[3.0, 4.0]]]",
    "[[1.0, 'red'], [2.0, 'blue'], [4.0, 'red']]",
    "[[1.0, None], [2.0, 3.0], [4.0, 1.0]]",
    "[]",
    "[[]]",
    "[[], []]",
    "[None, None]",
    "[{{'height': 1.0}}, {{'height': 2.0}}]",
    "['red', 'blue']",
    "np.array([[[1.0], [2.0, 3.0]], [[4.0], [5.0]]], dtype=object)",
    "np.array([{{'height': 1}}, {{'height': 2}}], dtype=object)",
    "np.array([[1.0, object()], [2.0, 3.0]], dtype=object)",
    "None",
    "3.0",
    "np.array(3.0)",
    "'rows.csv'",
    "b'rows'",
    "{{1.0, 2.0}}",
    "{{'height': [1.0, 2.0]}}",
    "object()",
    "(row for row in rows({n}, {d}, {s}))",
    "range(5)",
    "iter([1.0, 2.0])",
    "len",
    "int",
    "pd.Series([1.0, 2.0, 3.0])",
    "pl.Series([1.0, 2.0, 3.0])",
    "sparse.csc_matrix(rows({n}, {d}, {s}))",
    "sparse.coo_array(rows({n}, {d}, {s}))",
    "sparse.lil_matrix(rows({n}, {d}, {s}))",
    "sparse.dok_array(rows({n}, {d}, {s}))",
    "sparse.bsr_matrix(rows({n}, {d}, {s}))",
    "sparse.dia_array(np.eye({n}, {d}))",
    "sparse.csr_matrix(({n}, {d}))",
    "sparse.csr_matrix((0, {d}))",
    "sparse.csr_matrix(rows({n}, {d}, {s}) + 1j)",
    "sparse.csr_matrix(spoilt(rows({n}, {d}, {s}), nan, (1, 0)))",
    "sparse.csr_matrix(spoilt(rows({n}, {d}, {s}), inf, (1, 0)))",
    "sparse.csr_matrix(rows({n}, {d}, {s}) > 0)",
    "sparse.coo_array(rows({n}, {d}, {s})[:, 0])",
    "named(rows({n}, {d}, {s}), kind=pd.Categorical(['red', 'blue'] * {n})[:{n}])",
    "named(rows({n}, {d}, {s}), width=pd.array([1, None] * {n}, dtype='Int64')[:{n}])",
    "named(rows({n}, {d}, {s}), width=pd.array([1, 2] * {n}, dtype='Int64')[:{n}])",
    "named(rows({n}, {d}, {s}), width=pd.array([True, None] * {n}, dtype='boolean')[:{n}])",
    "named(rows({n}, {d}, {s}), width=pd.array([1.5, None] * {n}, dtype='Float64')[:{n}])",
    "named(rows({n}, {d}, {s}), width=pd.arrays.SparseArray([0.0, 1.0] * {n})[:{n}])",
    "named(rows({n}, {d}, {s}), kind='red')",
    "named(rows({n}, {d}, {s}), when=pd.date_range('2020-01-01', periods={n}))",
    "named(rows({n}, {d}, {s}), width=[[1]] * {n})",
    "named(rows({n}, {d}, {s}), width=1j)",
    "named(rows({n}, {d}, {s})).set_axis(['mass'] * min({d}, 12), axis=1)",
    "named(rows({n}, {d}, {s})).set_axis(range(min({d}, 12)), axis=1)",
    "named(rows({n}, {d}, {s})).set_axis([1, *'mass'][:min({d}, 5)] + ['x'] * (min({d}, 12) - 5), axis=1)",
    "named(rows({n}, {d}, {s})).T",
    "named(rows({n}, {d}, {s})).iloc[:0]",
    "pd.DataFrame()",
    "pd.DataFrame(index=range(3))",
    "named(rows({n}, {d}, {s}), pl, kind=pl.Series(['red', 'blue'] * {n})[:{n}].cast(pl.Categorical))",
    "named(rows({n}, {d}, {s}), pl, width=pl.Series([1, None] * {n})[:{n}])",
    "named(rows({n}, {d}, {s}), pl, width=pl.Series([[1]] * {n}))",
    "named(rows({n}, {d}, {s}), pl, width=pl.Series([{{'x': 1}}] * {n}))",
    "named(rows({n}, {d}, {s}), pl, when=pl.Series([datetime.date(2020, 1, 1)] * {n}))",
    "named(rows({n}, {d}, {s}), pl, width=pl.Series([decimal.Decimal('1.5')] * {n}))",
    "named(rows({n}, {d}, {s}), pl).lazy()",
    "pl.DataFrame()",
]
"""Templates of tables that are unusual, or are not tables."""

EXTREME = [
    "rows({n}, {d}, {s}) * 1e300",
    "rows({n}, {d}, {s}) * 1e-300",
    "rows({n}, {d}, {s}) * 1e307",
    "rows({n}, {d}, {s}) * 1e160",
    "rows({n}, {d}, {s}) * 1e-160",
    "rows({n}, {d}, {s}) * 5e-324",
    "rows({n}, {d}, {s}) * 1e-310",
    "rows({n}, {d}, {s}) + 1e300",
    "rows({n}, {d}, {s}) + 1e16",
    "(rows({n}, {d}, {s}) * 1e30).astype('float32')",
    "(rows({n}, {d}, {s}) * 1e-30).astype('float32')",
    "(rows({n}, {d}, {s}) * 1e-43).astype('float32')",
    "scaled(rows({n}, {d}, {s}), 1e300, {s})",
    "scaled(rows({n}, {d}, {s}), 1e-300, {s})",
    "scaled(rows({n}, {d}, {s}), 1e155, {s})",
    "scaled(rows({n}, {d}, {s}), 1e-155, {s})",
    "scaled(rows({n}, {d}, {s}), 1e20, {s})",
    "scaled(rows({n}, {d}, {s}), 0.0, {s})",
    "scaled(scaled(rows({n}, {d}, {s}), 1e200, 0), 1e-200, 1)",
    "rows({n}, {d}, {s}) * 0.0",
    "np.full(({n}, {d}), 1e300)",
    "np.full(({n}, {d}), 0.1)",
    "spoilt(rows({n}, {d}, {s}), 1e300, (0, 0))",
    "spoilt(rows({n}, {d}, {s}), 1.7e308, (0, 0), (1, 0))",
    "spoilt(rows({n}, {d}, {s}), -1.7e308, (0, -1))",
    "spoilt(rows({n}, {d}, {s}), 5e-324, (slice(None), 0))",
    "np.repeat(rows({n}, {d}, {s})[:, :1], {d}, axis=1)",
    "np.repeat(rows({n}, {d}, {s})[:1], {n}, axis=0)",
    "spoilt(rows({n}, {d}, {s}), nan, (1, 0))",
    "spoilt(rows({n}, {d}, {s}), nan, (slice(None), 0))",
    "spoilt(rows({n}, {d}, {s}), nan, (0, slice(None)))",
    "spoilt(rows({n}, {d}, {s}), nan, slice(None))",
    "spoilt(rows({n}, {d}, {s}), nan, (slice(1, None), 0))",
    "spoilt(rows({n}, {d}, {s}), inf, (1, 0))",
    "spoilt(rows({n}, {d}, {s}), -inf, (1, -1))",
    "spoilt(spoilt(rows({n}, {d}, {s}), -inf, (1, -1)), inf, (0, -1))",
]
"""Templates of numbers that are hard: scales, constants, repeated columns and rows, missing values, infinities."""

LABELS = [
    "np.array(['red', 'blue'])[labels({n})]",
    "labels({n}).astype(bool)",
    "labels({n}).astype(float)",
    "labels({n}).tolist()",
    "pd.Series(labels({n}))",
    "pd.Categorical.from_codes(labels({n}), ['red', 'blue', 'green'])",
    "pl.Series(labels({n}))",
    "labels({n})[:, None]",
    "np.arange({n}) % 5",
    "np.arange({n})",
    "np.zeros({n}, dtype=int)",
    "labels({n})[:-1]",
    "labels({n} + 1)",
    "rows({n}, 1)[:, 0]",
    "rows({n}, 2)",
    "spoilt(labels({n}).astype(float), nan, 1)",
    "spoilt(labels({n}).astype(float), inf, 1)",
    "spoilt(labels({n}).astype(object), None, 1)",
    "np.array([0, 'red'] * {n}, dtype=object)[:{n}]",
    "np.array([(1, 2), 3] * {n}, dtype=object)[:{n}]",
    "[[0, 1]] * {n}",
    "[[0], [0, 1]] * {n}",
    "np.array(['2020-01-01', '2020-01-02'], dtype='datetime64[D]')[labels({n})]",
    "labels({n}) + 1j",
    "labels({n}).astype(bytes)",
    "2**62 + labels({n})",
    "sparse.csr_array(labels({n})[:, None])",
    "None",
    "1",
    "'red'",
    "[]",
    "{{0, 1}}",
    "object()",
]

WEIGHTS = [
    "np.ones({n})",
    "np.ones({n}, dtype=int)",
    "np.zeros({n})",
    "labels({n})",
    "-weights({n})",
    "spoilt(weights({n}), -1.0, 1)",
    "spoilt(weights({n}), nan, 1)",
    "spoilt(weights({n}), inf, 1)",
    "weights({n}) * 1e300",
    "weights({n}) * 1e-300",
    "weights({n}) * 5e-324",
    "weights({n}) * 1e-3",
    "weights({n}) * 1e15",
    "spoilt(weights({n}), 1e300, 1)",
    "spoilt(weights({n}), 1.7e308, slice(None))",
    "spoilt(np.zeros({n}), 1.0, 0)",
    "spoilt(np.zeros({n}), 5.0, 0)",
    "weights({n})[:-1]",
    "weights({n} + 1)",
    "weights({n})[:, None]",
    "rows({n}, {n})",
    "weights({n}).tolist()",
    "weights({n}).astype(object)",
    "weights({n}).astype(str)",
    "weights({n}) + 1j",
    "weights({n}).astype('datetime64[s]')",
    "np.ma.masked_less(weights({n}), 1.0)",
    "np.array(['heavy'] * {n})",
    "[[1.0], 2.0]",
    "[None] * {n}",
    "pd.Series(weights({n}))",
    "pd.array([1, None] * {n}, dtype='Int64')[:{n}]",
    "pl.Series(weights({n}))",
    "sparse.csr_array(weights({n})[:, None])",
    "2.0",
    "-1.0",
    "nan",
    "'balanced'",
    "{{0: 1.0}}",
    "[]",
    "object()",
    "True",
    "(w for w in weights({n}))",
]

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
]  # fmt: skip
"""Things for arguments that they do not mean, and for some that they do."""

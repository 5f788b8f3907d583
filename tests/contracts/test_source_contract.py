"""What every kind of rows promises: two passes give the same rows in order, and PCA gives the NumPy answer to 1e-10."""

from __future__ import annotations

import importlib.util

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import eigenlens
from eigenlens import PCA
from eigenlens.arrays import to_numpy
from eigenlens.data.coerce import as_source
from eigenlens.data.memory import ArraySource, FrameSource, SparseSource, TensorSource

N, D = 300, 8
COLUMNS = [f"x{j}" for j in range(D)]


def table():
    """Whole numbers over 8, so that float32, integers of it and text hold them exactly; a third are zero."""
    rng = np.random.default_rng(0)
    X = rng.integers(-40, 41, (N, D)) / 8.0 * np.arange(1, D + 1)
    X[rng.random((N, D)) < 0.3] = 0.0
    X[:, 0] += 0.5 * X[:, 1]
    return X


X = table()
WEIGHT = np.random.default_rng(1).uniform(0.0, 2.0, N)


def memmap(folder):
    np.save(folder / "map.npy", X)
    return np.load(folder / "map.npy", mmap_mode="r")


def pandas_frame(folder):
    import pandas as pd

    return pd.DataFrame(X, columns=COLUMNS)


def arrow_table(folder):
    import pyarrow as pa

    return pa.table(dict(zip(COLUMNS, X.T, strict=True)))


def dask_array(folder):
    import dask.array as da

    return da.from_array(X, chunks=(70, 3))


def tensor(name, dtype):
    def make(folder):
        library = pytest.importorskip(name, reason=f"{name} is not installed, so nothing was tested about its arrays")
        return library.asarray(X, dtype=getattr(library, dtype))

    return make


def npy(order, dtype=np.float64):
    def make(folder):
        np.save(folder / "rows.npy", np.asarray(X, dtype=dtype, order=order))
        return eigenlens.scan(folder / "rows.npy", block_rows=37)

    return make


def written(suffix, write, **options):
    def make(folder):
        write(pl.DataFrame(X, schema=COLUMNS), folder / f"rows{suffix}", **options)
        return eigenlens.scan(folder / f"rows{suffix}", block_rows=41)

    return make


def several_files(folder):
    for i, part in enumerate(np.array_split(X, 3)):
        pl.DataFrame(part, schema=COLUMNS).write_parquet(folder / f"part{i}.parquet")
    return eigenlens.scan(str(folder / "part*.parquet"))


KINDS = {
    "list": lambda folder: X.tolist(),
    "numpy C": lambda folder: X,
    "numpy F": lambda folder: np.asfortranarray(X),
    "numpy strided": lambda folder: np.repeat(X, 2, axis=0)[::2],
    "numpy float32": lambda folder: X.astype(np.float32),
    "numpy int": lambda folder: (X * 8).astype(np.int32),
    "numpy big-endian": lambda folder: X.astype(">f8"),
    "numpy float16": lambda folder: X.astype(np.float16),
    "memmap": memmap,
    "csr": lambda folder: sparse.csr_matrix(X),
    "csr array": lambda folder: sparse.csr_array(X),
    "csc": lambda folder: sparse.csc_matrix(X),
    "coo array": lambda folder: sparse.coo_array(X),
    "csr float32": lambda folder: sparse.csr_matrix(X.astype(np.float32)),
    "csr int": lambda folder: sparse.csr_matrix((X * 8).astype(np.int64)),
    "pandas": pandas_frame,
    "polars": lambda folder: pl.DataFrame(X, schema=COLUMNS),
    "pyarrow": arrow_table,
    "dask": dask_array,
    "torch float64": tensor("torch", "float64"),
    "torch float32": tensor("torch", "float32"),
    "strict float64": tensor("array_api_strict", "float64"),
    "strict float32": tensor("array_api_strict", "float32"),
    "blocks": lambda folder: ArraySource(X, block_rows=11),
    "sparse blocks": lambda folder: SparseSource(sparse.csr_matrix(X), block_rows=11),
    "frame blocks": lambda folder: FrameSource(pl.DataFrame(X, schema=COLUMNS), block_rows=11),
    "npy C": npy("C"),
    "npy F": npy("F"),
    "npy float32": npy("C", np.float32),
    "csv": written(".csv", pl.DataFrame.write_csv),
    "parquet": written(".parquet", pl.DataFrame.write_parquet, row_group_size=90),
    "arrow": written(".arrow", pl.DataFrame.write_ipc),
    "several parquet files": several_files,
}
SINGLE = {"numpy float32", "csr float32", "torch float32", "strict float32", "npy float32"}
EIGHTHS = {"numpy int", "csr int"}
every_kind = pytest.mark.parametrize("kind", KINDS)


def dense(rows):
    return np.asarray(rows.toarray() if sparse.issparse(rows) else to_numpy(rows))


def expected(kind):
    return X * 8 if kind in EIGHTHS else X


@every_kind
def test_two_passes_give_the_same_rows_in_order(kind, tmp_path):
    source = as_source(KINDS[kind](tmp_path))
    first, second = (np.concatenate([dense(rows) for rows in source.rows()]) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, expected(kind))
    assert source.n_features == D
    assert source.n_rows in (N, None)
    assert source.dtype == (np.float32 if kind in SINGLE else np.float64)
    assert {dense(rows).dtype for rows in source.rows()} == {source.dtype}
    assert source.names is None or list(source.names) == COLUMNS


@every_kind
def test_weights_follow_their_rows(kind, tmp_path):
    source = as_source(KINDS[kind](tmp_path)).weighted(WEIGHT)
    blocks = list(source.blocks())
    np.testing.assert_array_equal(np.concatenate([block.weight for block in blocks]), WEIGHT)
    assert all(len(block.weight) == block.rows.shape[0] for block in blocks)


@pytest.mark.few(60)
@every_kind
@pytest.mark.parametrize("solver", ["auto", "gram", "svd", "lanczos"])
@pytest.mark.parametrize("weighted", [False, True])
def test_pca_gives_the_numpy_answer(kind, solver, weighted, tmp_path):
    w = WEIGHT if weighted else None
    twin = PCA(3, solver=solver, tol=1e-11, random_state=0).fit(expected(kind), sample_weight=w)
    tol = 1e-5 if kind in SINGLE else 1e-11
    found = PCA(3, solver=solver, tol=tol, random_state=0).fit(KINDS[kind](tmp_path), sample_weight=w)
    single = kind in SINGLE
    rtol = 1e-5 if single else 1e-10
    np.testing.assert_allclose(to_numpy(found.explained_variance_), twin.explained_variance_, rtol=rtol)
    np.testing.assert_allclose(to_numpy(found.components_), twin.components_, atol=1e-3 if single else 1e-8)
    np.testing.assert_allclose(to_numpy(found.mean_), twin.mean_, rtol=1e-6 if single else 1e-10)
    assert to_numpy(found.components_).dtype == (np.float32 if single else np.float64)
    assert found.n_samples_ == N


@pytest.mark.few(31)
@every_kind
@pytest.mark.parametrize("standardize", [False, True])
def test_scores_errors_and_densities(kind, standardize, tmp_path):
    data = KINDS[kind](tmp_path)
    found = PCA(3, standardize=standardize).fit(data)
    twin = PCA(3, standardize=standardize).fit(expected(kind))
    single = kind in SINGLE
    scores = found.transform(data)
    scores = scores.compute() if hasattr(scores, "compute") else to_numpy(scores)
    assert scores.dtype == (np.float32 if single else np.float64)
    atol = 1e-3 if single else 1e-8
    np.testing.assert_allclose(scores, twin.transform(expected(kind)), atol=atol)
    np.testing.assert_allclose(
        to_numpy(found.reconstruction_error(data)), twin.reconstruction_error(expected(kind)), rtol=1e-4, atol=atol
    )
    np.testing.assert_allclose(to_numpy(found.score_samples(data)), twin.score_samples(expected(kind)), rtol=1e-4)
    assert found.score(data) == pytest.approx(twin.score(expected(kind)), rel=1e-5)


@every_kind
def test_partial_fit_of_all_rows(kind, tmp_path):
    found = PCA(3).partial_fit(KINDS[kind](tmp_path))
    twin = PCA(3, solver="covariance").fit(expected(kind))
    rtol = 1e-5 if kind in SINGLE else 1e-10
    np.testing.assert_allclose(to_numpy(found.explained_variance_), twin.explained_variance_, rtol=rtol)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "csv", "parquet", "arrow"])
def test_names_are_kept(kind, tmp_path):
    assert PCA(2).fit(KINDS[kind](tmp_path)).feature_names_in_.tolist() == COLUMNS


@pytest.mark.parametrize("kind", ["numpy C", "numpy F", "memmap", "csr", "pandas", "polars", "dask"])
def test_the_rows_are_left_as_they_were(kind, tmp_path):
    data = KINDS[kind](tmp_path)
    PCA(2, standardize=True).fit(data, sample_weight=WEIGHT).transform(data)
    source = as_source(data)
    np.testing.assert_array_equal(np.concatenate([dense(rows) for rows in source.rows()]), X)


def test_nulls_in_frames_are_missing_values():
    frame = pl.DataFrame({"a": [1.0, None, 3.0], "b": [1, 2, None]})
    rows = np.concatenate(list(as_source(frame).rows()))
    np.testing.assert_array_equal(rows, [[1.0, 1.0], [np.nan, 2.0], [3.0, np.nan]])


def test_a_tensor_is_recognised_only_when_its_library_is_there():
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed, so nothing was tested about tensors")
    import torch

    assert isinstance(as_source(torch.ones(3, 2)), TensorSource)


def test_dask_scores_stay_lazy(tmp_path):
    import dask.array as da

    data = dask_array(tmp_path)
    scores = PCA(2).fit(data).transform(data)
    assert isinstance(scores, da.Array)
    assert scores.shape == (N, 2)
    assert scores.chunks[0] == data.chunks[0]

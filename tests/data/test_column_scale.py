"""Rows with columns divided by one number each: of every kind, by blocks, and where they are."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from eigenlens.data.coerce import as_source
from eigenlens.data.column_scale import ScaledSource, divide_source
from eigenlens.data.memory import ArraySource, SparseSource
from eigenlens.data.source import BLOCK_BYTES, accumulate
from eigenlens.missing.standardize import column_units
from eigenlens.stats.moments import ColumnMoments, Moments

SCALE = np.array([2.0, 0.5, 4.0])


def table(n=50):
    X = np.random.default_rng(0).standard_normal((n, 3)) * SCALE + [1.0, 0.0, -3.0]
    X[::7, 1] = 0.0
    return X


def rows_of(source):
    return np.concatenate([np.asarray(block.todense()) if sparse.issparse(block) else block for block in source.rows()])


def test_arrays_lists_of_blocks_and_maps_give_the_same_rows(tmp_path):
    X = table()
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    for source in (ArraySource(X), ArraySource(X, block_rows=7), ArraySource(mapped), as_source(np.asfortranarray(X))):
        assert_allclose(rows_of(divide_source(source, SCALE)), X / SCALE, rtol=1e-15)
    assert isinstance(divide_source(ArraySource(mapped), SCALE), ScaledSource)  # a map is not copied into memory


def test_float32_stays_float32_and_integers_become_floats():
    X = table().astype(np.float32)
    divided = divide_source(ArraySource(X), SCALE)
    assert divided.dtype == next(divided.rows()).dtype == np.float32
    whole = divide_source(ArraySource(np.arange(6).reshape(2, 3)), SCALE)
    assert_allclose(rows_of(whole), np.arange(6.0).reshape(2, 3) / SCALE)


def test_sparse_rows_stay_sparse_and_the_matrix_is_not_changed():
    X = sparse.random(40, 3, 0.3, format="csr", random_state=0)
    before = X.copy()
    divided = divide_source(SparseSource(X), SCALE)
    assert isinstance(divided, SparseSource)
    assert divided.matrix.nnz == X.nnz
    assert_allclose(rows_of(divided), X.toarray() / SCALE)
    assert (before != X).nnz == 0


def test_tensors_stay_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed, so nothing was tested about its arrays")
    X = torch.asarray(table())
    (rows,) = divide_source(as_source(X), SCALE).rows()
    assert isinstance(rows, torch.Tensor)
    assert_allclose(rows.numpy(), X.numpy() / SCALE)


def test_dask_arrays_are_folded_where_they_are():
    da = pytest.importorskip("dask.array", reason="Dask is not installed, so nothing was tested about its arrays")
    X = table()
    divided = divide_source(as_source(da.from_array(X, chunks=(20, 2))), SCALE).weighted(np.arange(50.0))
    found = accumulate(divided, Moments.of)
    expected = accumulate(ArraySource(X / SCALE).weighted(np.arange(50.0)), Moments.of)
    assert_allclose(found.scatter, expected.scatter, rtol=1e-12)


def test_large_views_are_divided_in_portions():
    n = 2 * BLOCK_BYTES // (8 * 3)
    source = ScaledSource(ArraySource(np.ones((n, 3))).weighted(np.arange(n) % 2.0), SCALE)
    sizes = [block.rows.shape[0] for block in source.blocks()]
    assert sum(sizes) == n
    assert max(sizes) * 24 <= BLOCK_BYTES
    assert accumulate(source, ColumnMoments.of).weight == n // 2


def test_weights_names_and_missing_values_come_along():
    X = table()
    X[3, 0] = np.nan
    source = ArraySource(X, names=("a", "b", "c")).weighted(np.arange(50.0))
    for divided in (divide_source(source, SCALE), ScaledSource(source, SCALE)):
        assert divided.names == ("a", "b", "c")
        assert_allclose(np.concatenate([block.weight for block in divided.blocks()]), np.arange(50.0))
        assert_allclose(rows_of(divided), X / SCALE)


def test_units_are_those_of_observed_entries_and_positive_weights():
    X, w = table(), np.arange(50) % 3.0
    X[w == 0.0] = np.inf
    units = column_units(ArraySource(X).weighted(w))
    copies = np.repeat(X, w.astype(int), axis=0)
    assert_allclose(units.scale, copies.std(axis=0), rtol=1e-12)
    assert_allclose(units.log_scale, w.sum() * np.log(units.scale).sum(), rtol=1e-12)
    X[4, 1] = np.nan
    units = column_units(ArraySource(X).weighted(w))
    copies = np.repeat(X, w.astype(int), axis=0)
    assert_allclose(units.scale, np.nanstd(copies, axis=0), rtol=1e-12)
    assert_allclose(units.log_scale, (~np.isnan(copies)).sum(axis=0) @ np.log(units.scale), rtol=1e-12)

"""Moments against two-pass sums in extended precision: blocks, weights, shifts, sparse rows, and merging."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from eigenlens.data.memory import ArraySource, SparseSource
from eigenlens.data.source import Block, accumulate
from eigenlens.stats.moments import ColumnMoments, Moments

KINDS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "csr": sparse.csr_matrix,
}


def exact(X, weight=None):
    """Weight, mean and scatter by two passes in extended precision."""
    X = (X.toarray() if sparse.issparse(X) else np.asarray(X)).astype(np.longdouble)
    w = np.ones(len(X), np.longdouble) if weight is None else np.asarray(weight, np.longdouble)
    mean = w @ X / w.sum()
    C = X - mean
    return float(w.sum()), mean.astype(float), ((C * w[:, None]).T @ C).astype(float)


def rows(n=400, d=7, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) * np.logspace(0, 2, d) + np.arange(d)


def weights(n, seed=1):
    w = np.random.default_rng(seed).uniform(0.0, 3.0, n)
    w[::5] = 0.0
    return w


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_a_block(kind, dtype, weighted):
    X = rows().astype(dtype)
    X[np.abs(X) < 0.5] = 0.0
    w = weights(len(X)) if weighted else None
    found = Moments.of(Block(KINDS[kind](X), w))
    weight, mean, scatter = exact(X, w)
    scale = np.sqrt(np.outer(scatter.diagonal(), scatter.diagonal()))
    assert found.weight == pytest.approx(weight, rel=1e-14)
    assert found.rows == (np.count_nonzero(w) if weighted else len(X))
    np.testing.assert_allclose(found.mean, mean, rtol=1e-6 if dtype == np.float32 else 1e-13, atol=1e-6)
    assert np.abs((found.scatter - scatter) / scale).max() < (1e-6 if dtype == np.float32 else 1e-13)
    columns = ColumnMoments.of(Block(KINDS[kind](X), w))
    np.testing.assert_allclose(columns.square, scatter.diagonal(), rtol=1e-6 if dtype == np.float32 else 1e-12)
    np.testing.assert_allclose(columns.mean, mean, rtol=1e-6 if dtype == np.float32 else 1e-13, atol=1e-6)
    assert columns.rows == found.rows


@pytest.mark.parametrize("kind", ["C", "F", "csr"])
@pytest.mark.parametrize(("dtype", "offset", "tolerance"), [(np.float64, 1e8, 1e-12), (np.float32, 1e3, 1e-6)])
@pytest.mark.parametrize("d", [5, 500])
def test_an_offset_costs_no_digits(kind, dtype, offset, tolerance, d):
    """The textbook formula X'X − n m m' keeps no digit of either."""
    X = (np.random.default_rng(0).standard_normal((600, d)) + offset).astype(dtype)
    _, _, scatter = exact(X)
    found = Moments.of(Block(KINDS[kind](X)))
    assert np.abs(found.scatter - scatter).max() < tolerance * scatter.diagonal().max() * np.sqrt(d)
    columns = ColumnMoments.of(Block(KINDS[kind](X)))
    np.testing.assert_allclose(columns.square, scatter.diagonal(), rtol=max(tolerance, 1e-11))


def test_float32_sums_are_kept_in_float64():
    """Many rows: single precision sums would lose the last four of these digits."""
    X = (np.random.default_rng(0).standard_normal((300_000, 3)) + 1e3).astype(np.float32)
    C = X.astype(np.float64) - X.astype(np.float64).mean(axis=0)
    np.testing.assert_allclose(Moments.of(Block(X)).scatter.diagonal(), (C * C).sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(Moments.of(Block(X)).mean, X.astype(np.float64).mean(axis=0), rtol=1e-12)


def test_rows_without_weight_do_not_move_the_provisional_mean():
    """A row that does not count may hold anything finite; it must cost no digits of the others."""
    X = np.vstack([np.full((3, 4), 1e9), np.random.default_rng(0).standard_normal((200, 4))])
    w = np.append(np.zeros(3), np.ones(200))
    _, _, scatter = exact(X[3:])
    for kind in ("C", "F", "csr"):
        found = Moments.of(Block(KINDS[kind](X), w))
        np.testing.assert_allclose(found.scatter.diagonal(), scatter.diagonal(), rtol=1e-10)
        found = ColumnMoments.of(Block(KINDS[kind](X), w))
        np.testing.assert_allclose(found.square, scatter.diagonal(), rtol=1e-10)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("weighted", [False, True])
def test_random_splits_merge_to_the_whole(seed, weighted):
    rng = np.random.default_rng(seed)
    X = rows(seed=seed) + 1e6
    w = weights(len(X), seed) if weighted else None
    cuts = np.sort(rng.integers(0, len(X) + 1, 5))
    pieces = [Block(X[a:b], None if w is None else w[a:b]) for a, b in zip([0, *cuts], [*cuts, len(X)], strict=True)]
    pieces = [piece for piece in pieces if len(piece.rows)]
    order = rng.permutation(len(pieces))
    for kind in (Moments, ColumnMoments):
        parts = [kind.of(pieces[i]) for i in order]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        whole = kind.of(Block(X, w))
        assert total.rows == whole.rows
        assert total.weight == pytest.approx(whole.weight, rel=1e-13)
        np.testing.assert_allclose(total.mean, whole.mean, rtol=1e-13)
        name = "scatter" if kind is Moments else "square"
        scale = np.abs(getattr(whole, name)).max()
        np.testing.assert_allclose(getattr(total, name), getattr(whole, name), rtol=1e-11, atol=1e-12 * scale)


@pytest.mark.parametrize("kind", [Moments, ColumnMoments])
def test_nothing_is_the_neutral_element(kind):
    some = kind.of(Block(rows(30)))
    nothing = kind.of(Block(rows(5), np.zeros(5)))
    assert nothing.rows == nothing.weight == 0
    for total in (some + nothing, nothing + some):
        assert total.rows == 30
        assert total.weight == 30.0
        np.testing.assert_array_equal(total.mean, some.mean)
        name = "scatter" if kind is Moments else "square"
        np.testing.assert_array_equal(getattr(total, name), getattr(some, name))
    assert (nothing + nothing).weight == 0.0


def test_merging_does_not_change_its_operands():
    a, b = Moments.of(Block(rows(20, seed=1))), Moments.of(Block(rows(20, seed=2) + 9.0))
    before = a.scatter.copy(), b.scatter.copy()
    a + b
    np.testing.assert_array_equal(a.scatter, before[0])
    np.testing.assert_array_equal(b.scatter, before[1])


@pytest.mark.parametrize("weighted", [False, True])
def test_the_scatter_is_symmetric_and_its_diagonal_never_negative(weighted):
    X = np.column_stack([np.full(50, 1e8 + 0.1), rows(50, 3)])
    w = weights(50) if weighted else None
    found = Moments.of(Block(X, w))
    np.testing.assert_array_equal(found.scatter, found.scatter.T)
    assert np.all(found.columns.square >= 0.0)
    assert np.all(ColumnMoments.of(Block(X, w)).square >= 0.0)


@pytest.mark.parametrize("make", [ArraySource, lambda X, **o: SparseSource(sparse.csr_matrix(X), **o)])
@pytest.mark.parametrize("block_rows", [1, 3, 64, 10_000])
def test_blocks_of_any_size(make, block_rows):
    X, w = rows() + 50.0, weights(400)
    found = accumulate(make(X, block_rows=block_rows).weighted(w), Moments.of)
    weight, mean, scatter = exact(X, w)
    assert found.weight == pytest.approx(weight)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-13)
    np.testing.assert_allclose(found.scatter, scatter, rtol=1e-10, atol=1e-12 * scatter.max())


def test_integers_and_explicit_zeros_in_sparse_rows():
    X = sparse.csr_matrix(np.random.default_rng(0).integers(-2, 3, (50, 6)))
    X.data[::3] = 0
    found = accumulate(SparseSource(X, block_rows=7), Moments.of)
    np.testing.assert_allclose(found.covariance(), np.cov(X.toarray().T), rtol=1e-12, atol=1e-14)


def test_duplicate_entries_in_sparse_rows_are_summed():
    """CSR allows an entry to be stored twice: it counts as the sum."""
    duplicated = sparse.csr_matrix(([1.0, 2.0, 5.0], [0, 0, 1], [0, 2, 3, 3]), shape=(3, 2))
    found = accumulate(SparseSource(duplicated), Moments.of)
    np.testing.assert_allclose(found.covariance(), np.cov(duplicated.toarray().T), rtol=1e-12)


def test_covariance_divisors():
    X, w = rows(30), weights(30)
    m = Moments.of(Block(X, w))
    np.testing.assert_allclose(m.covariance(), m.scatter / (w.sum() - 1.0))
    np.testing.assert_allclose(m.covariance(ddof=0.0), np.cov(X.T, aweights=w, ddof=0), rtol=1e-11)
    np.testing.assert_allclose(m.columns.variance(), m.covariance().diagonal())

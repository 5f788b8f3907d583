"""Moments against two-pass sums in extended precision: blocks, weights, shifts, sparse rows, and merging."""

from __future__ import annotations

import functools
import operator
from dataclasses import replace

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


@pytest.mark.few(4)
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


# ---- the merge law, for every way to make moments -------------------------------------------------------------


def shares(n):
    """Weights (n, 3) of three groups, the second of which has none."""
    R = np.random.default_rng(2).dirichlet(np.ones(3), n)
    R[:, 1] = 0.0
    return R


def classes(n):
    return (np.arange(n) * 7 % 3).astype(np.int32)


def with_missing(X):
    return np.where(np.random.default_rng(3).uniform(size=X.shape) < 0.2, np.nan, X)


MAKERS = {
    "Moments": (np.asarray, lambda X, w, R, y: Moments.of(Block(X, w))),
    "ColumnMoments": (np.asarray, lambda X, w, R, y: ColumnMoments.of(Block(X, w))),
    "Moments of groups": (np.asarray, lambda X, w, R, y: Moments.of_groups(Block(X, w), R)),
    "ColumnMoments of groups": (np.asarray, lambda X, w, R, y: ColumnMoments.of_groups(Block(X, w), R)),
    "ColumnMoments of classes": (with_missing, lambda X, w, R, y: ColumnMoments.of_classes(X, y, w, 4)),
    "observed ColumnMoments": (with_missing, lambda X, w, R, y: ColumnMoments.of_observed(Block(X, w))),
}  # fmt: skip
"""How rows X (b, d) of weights w, group shares R and classes y are summarised, and what they are before."""


def spread_of(moments):
    return moments.scatter if isinstance(moments, Moments) else moments.square


def assert_same(found, wanted, rtol):
    """The same moments up to rounding, the spread in units of its largest entry."""
    assert type(found) is type(wanted)
    assert found.rows == wanted.rows
    np.testing.assert_allclose(found.weight, wanted.weight, rtol=1e-13)
    np.testing.assert_array_equal(getattr(found, "missing", 0), getattr(wanted, "missing", 0))
    weight = np.asarray(wanted.weight)
    per_entry = weight if weight.ndim == wanted.mean.ndim else weight[..., None]
    there = np.broadcast_to(per_entry > 0.0, wanted.mean.shape)
    np.testing.assert_allclose(found.mean[there], wanted.mean[there], rtol=1e-13)
    spread = spread_of(wanted)
    np.testing.assert_allclose(spread_of(found), spread, rtol=rtol, atol=0.1 * rtol * np.abs(spread).max())


@pytest.mark.few(12)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("maker", MAKERS)
def test_random_splits_merge_to_the_whole_in_any_order(maker, weighted, seed):
    prepare, make = MAKERS[maker]
    rng, X = np.random.default_rng(seed), prepare(rows(seed=seed) + 1e6)
    w, R, y = weights(len(X), seed) if weighted else None, shares(len(X)), classes(len(X))
    cuts = np.sort(rng.integers(0, len(X) + 1, 5))
    slices = [slice(a, b) for a, b in zip([0, *cuts], [*cuts, len(X)], strict=True) if a < b]
    parts = [make(X[s], None if w is None else w[s], R[s], y[s]) for s in slices]
    before = [(part.mean.copy(), spread_of(part).copy()) for part in parts]
    total = functools.reduce(operator.add, [parts[i] for i in rng.permutation(len(parts))])
    assert_same(total, make(X, w, R, y), rtol=1e-11)
    for part, (mean, spread) in zip(parts, before, strict=True):  # merging does not change its operands
        np.testing.assert_array_equal(part.mean, mean)
        np.testing.assert_array_equal(spread_of(part), spread)


@pytest.mark.parametrize("maker", MAKERS)
def test_rows_of_weight_zero_are_the_neutral_element(maker):
    prepare, make = MAKERS[maker]
    X = prepare(rows(30))
    some = make(X, np.ones(30), shares(30), classes(30))
    nothing = make(rows(5) + 1e200, np.zeros(5), shares(5), classes(5))
    assert not np.any(nothing.weight)
    assert nothing.rows == 0
    for total in (some + nothing, nothing + some):
        assert_same(total, some, rtol=0.0)
    assert not np.any((nothing + nothing).weight)


@pytest.mark.parametrize("maker", MAKERS)
def test_weights_are_copies(maker):
    prepare, make = MAKERS[maker]
    X, w = prepare(rows(60)), np.arange(60) % 3
    copies = make(*(np.repeat(a, w, axis=0) for a in (X, np.ones(60), shares(60), classes(60))))
    weighted = make(X, w.astype(float), shares(60), classes(60))
    missing = {"missing": getattr(weighted, "missing", 0)} if isinstance(weighted, ColumnMoments) else {}
    assert_same(replace(copies, rows=weighted.rows, **missing), weighted, rtol=1e-11)


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


# ---- groups of rows -------------------------------------------------------------------------------------------


def rows_and_shares(offset=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(offset, [1.0, 2.0, 0.5], (60, 3)), rng.dirichlet(np.ones(4), 60)


def group_twin(X, R):
    means = np.stack([np.average(X, axis=0, weights=r) for r in R.T])
    scatter = np.stack([((X - m) * r[:, None]).T @ (X - m) for m, r in zip(means, R.T, strict=True)])
    return R.sum(axis=0), means, scatter


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_moments_of_groups(offset):
    X, R = rows_and_shares(offset)
    weight, mean, scatter = group_twin(X - offset, R)
    whole, columns = Moments.of_groups(Block(X), R), ColumnMoments.of_groups(Block(X), R)
    for found in (whole, columns):
        np.testing.assert_allclose(found.weight, weight, rtol=1e-12)
        np.testing.assert_allclose(found.mean - offset, mean, atol=1e-9)
    np.testing.assert_allclose(whole.scatter, scatter, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(columns.square, np.einsum("kii->ki", scatter), rtol=1e-8)
    np.testing.assert_allclose(whole.columns.square, columns.square, rtol=1e-8)


def test_groups_of_sparse_rows():
    X, R = rows_and_shares()
    X[X < 0.3] = 0.0
    sparse_rows, dense_rows = (Moments.of_groups(Block(kind(X)), R) for kind in (sparse.csr_matrix, np.asarray))
    np.testing.assert_allclose(sparse_rows.mean, dense_rows.mean, rtol=1e-12)
    np.testing.assert_allclose(sparse_rows.scatter, dense_rows.scatter, rtol=1e-10, atol=1e-10)


def test_moments_from_sums_about_centres():
    X, R = rows_and_shares()
    weight, mean, scatter = group_twin(X, R)
    centre = mean + 0.5
    total = weight[:, None] * (mean - centre)
    about = scatter + np.stack([w * np.outer(v, v) for w, v in zip(weight, mean - centre, strict=True)])
    found = Moments.about(centre, weight, total, about)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(found.scatter, scatter, rtol=1e-10, atol=1e-10)
    columns = ColumnMoments.about(centre, weight, total, np.einsum("kii->ki", about))
    np.testing.assert_allclose(columns.square, np.einsum("kii->ki", scatter), rtol=1e-10)


def test_groups_pooled_chosen_and_of_some_columns():
    X, R = rows_and_shares()
    found, whole = Moments.of_groups(Block(X), R), Moments.of(Block(X))
    np.testing.assert_allclose(found.pooled.scatter, whole.scatter, rtol=1e-10)
    np.testing.assert_allclose(found.pooled.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(found.columns.pooled.square, whole.columns.square, rtol=1e-10)
    np.testing.assert_array_equal(found.regroup(lambda a: a[2]).scatter, found.scatter[2])
    np.testing.assert_array_equal(found.subset(np.array([2, 0])).columns.square, found.columns.square[:, [2, 0]])


def test_an_empty_group_has_a_finite_mean_and_no_scatter():
    X, R = rows_and_shares()
    R[:, 1] = 0.0
    found = Moments.of_groups(Block(X[:30]), R[:30]) + Moments.of_groups(Block(X[30:]), R[30:])
    assert found.weight[1] == 0.0
    assert not found.scatter[1].any()
    assert np.all(np.isfinite(found.mean))


@pytest.mark.parametrize("offset", [1e6, 1e8, 1e10, 1e12])
@pytest.mark.parametrize("summarise", [ColumnMoments.of, ColumnMoments.of_observed])
def test_merging_keeps_what_the_means_lose_by_rounding(offset, summarise):
    """At an offset of 1e12 a mean is rounded by 1e-4: without its rest, ten blocks would lose half of the digits."""
    X = np.round(1024.0 * np.random.default_rng(0).standard_normal((500, 3))) / 1024.0 + offset
    wanted = exact(X)[2].astype(np.float64)
    parts = [Block(np.ascontiguousarray(part)) for part in np.array_split(X, 10)]
    merged = functools.reduce(operator.add, map(Moments.of, parts))
    columns = functools.reduce(operator.add, map(summarise, parts))
    np.testing.assert_allclose(merged.scatter, wanted, rtol=0.0, atol=1e-13 * wanted.max())
    np.testing.assert_allclose(columns.square, wanted.diagonal(), rtol=1e-13)
    np.testing.assert_allclose(merged.subset(np.array([2, 0])).rest, merged.rest[[2, 0]], rtol=0.0)


def test_pooled_groups_keep_what_the_means_lose_by_rounding():
    X = np.round(1024.0 * np.random.default_rng(1).standard_normal((300, 2))) / 1024.0 + 1e10
    shares = np.eye(3)[np.repeat(np.arange(3), 100)]
    wanted = exact(X)[2].astype(np.float64)
    np.testing.assert_allclose(
        Moments.of_groups(Block(X), shares).pooled.scatter, wanted, rtol=0.0, atol=1e-12 * wanted.max()
    )

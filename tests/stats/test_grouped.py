"""Moments of several groups: merged, weighted, and far from the origin."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from eigenlens.data.source import Block
from eigenlens.stats.grouped import GroupedColumns, GroupedMoments
from eigenlens.stats.moments import Moments


def rows_and_shares(offset=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(offset, [1.0, 2.0, 0.5], (60, 3)), rng.dirichlet(np.ones(4), 60)


def twin(X, R):
    means = np.stack([np.average(X, axis=0, weights=r) for r in R.T])
    scatter = np.stack([((X - m) * r[:, None]).T @ (X - m) for m, r in zip(means, R.T, strict=True)])
    return R.sum(axis=0), means, scatter


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_of_and_merging(offset):
    X, R = rows_and_shares(offset)
    weight, mean, scatter = twin(X - offset, R)
    whole = GroupedMoments.of(Block(X), R)
    parts = GroupedMoments.of(Block(X[:7]), R[:7]) + GroupedMoments.of(Block(X[7:]), R[7:])
    columns = GroupedColumns.of(Block(X[:7]), R[:7]) + GroupedColumns.of(Block(X[7:]), R[7:])
    for found in (whole, parts, columns):
        np.testing.assert_allclose(found.weight, weight, rtol=1e-12)
        np.testing.assert_allclose(found.mean - offset, mean, atol=1e-9)
    np.testing.assert_allclose(whole.scatter, scatter, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(parts.scatter, scatter, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(columns.square, np.einsum("kii->ki", scatter), rtol=1e-8)
    np.testing.assert_allclose(whole.columns.square, columns.square, rtol=1e-8)


def test_weights_are_copies_and_sparse_rows_are_rows():
    X, R = rows_and_shares()
    X[X < 0.3] = 0.0
    w = np.arange(60) % 3
    weighted = GroupedMoments.of(Block(sparse.csr_matrix(X), w.astype(float)), R)
    copies = GroupedMoments.of(Block(np.repeat(X, w, axis=0)), np.repeat(R, w, axis=0))
    np.testing.assert_allclose(weighted.mean, copies.mean, rtol=1e-12)
    np.testing.assert_allclose(weighted.scatter, copies.scatter, rtol=1e-10, atol=1e-10)


def test_from_sums_about_centres():
    X, R = rows_and_shares()
    weight, mean, scatter = twin(X, R)
    centre = mean + 0.5
    total = weight[:, None] * (mean - centre)
    about = scatter + np.stack([w * np.outer(v, v) for w, v in zip(weight, mean - centre, strict=True)])
    found = GroupedMoments.about(centre, weight, total, about)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(found.scatter, scatter, rtol=1e-10, atol=1e-10)
    columns = GroupedColumns.about(centre, weight, total, np.einsum("kii->ki", about))
    np.testing.assert_allclose(columns.square, np.einsum("kii->ki", scatter), rtol=1e-10)


def test_pooled_and_single_groups():
    X, R = rows_and_shares()
    found, whole = GroupedMoments.of(Block(X), R), Moments.of(Block(X))
    np.testing.assert_allclose(found.pooled.scatter, whole.scatter, rtol=1e-10)
    np.testing.assert_allclose(found.pooled.mean, whole.mean, rtol=1e-12)
    np.testing.assert_array_equal(found.group(2).scatter, found.scatter[2])


def test_an_empty_group_is_no_number_less():
    X, R = rows_and_shares()
    R[:, 1] = 0.0
    found = GroupedMoments.of(Block(X[:30]), R[:30]) + GroupedMoments.of(Block(X[30:]), R[30:])
    assert found.weight[1] == 0.0
    assert not found.scatter[1].any()
    assert np.all(np.isfinite(found.mean))

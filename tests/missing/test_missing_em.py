"""EM over observed entries, both noise structures: against a row-by-row twin, and however the rows come."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.datasets import load_wine

from eigenlens import ProbabilisticPCA
from eigenlens.data.coerce import as_source
from eigenlens.data.memory import ArraySource
from eigenlens.data.source import accumulate
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.linalg import packed
from eigenlens.linalg.packed import apply_packed, invert_packed, packed_size, unpack_symmetric
from eigenlens.missing import em, expectation
from eigenlens.missing.curvature import remove_rotation
from eigenlens.missing.fit import fit_incomplete_rows
from eigenlens.stats.moments import ColumnMoments

NOISES = ["isotropic", "diagonal"]


def table(n=200, d=6, k=2, share=0.2, seed=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, k)) @ rng.standard_normal((k, d)) * 2.0 + 3.0
    X += rng.uniform(0.3, 1.5, d) * rng.standard_normal((n, d))
    X[rng.random(X.shape) < share] = np.nan
    return X


def start_of(d, k, noise, seed=1):
    psi = 1.0 if noise == "isotropic" else np.ones(d)
    return LinearGaussian(np.zeros(d), np.random.default_rng(seed).standard_normal((d, k)), psi)


def observed_loglik(X, model):
    C, total = model.covariance(), 0.0
    for row in X:
        o = ~np.isnan(row)
        if o.any():
            total += multivariate_normal(model.mean[o], C[np.ix_(o, o)]).logpdf(row[o])
    return total


def expectations(X, w, model):
    """The sums of `Expected`, a row at a time, from the formulas of a conditional Gaussian."""
    d, k = model.loadings.shape
    spread, outer, right = np.zeros((d, k, k)), np.zeros((d, k + 1, k + 1)), np.zeros((d, k + 1))
    latent, square = np.zeros((k + 1, k + 1)), np.zeros(d)
    C = model.covariance()
    for row, weight in zip(X, w, strict=True):
        o = ~np.isnan(row)
        gain = np.linalg.solve(C[np.ix_(o, o)], model.loadings[o]).T
        a = np.append(gain @ (row[o] - model.mean[o]), 1.0)
        r = row[o] - model.mean[o] - model.loadings[o] @ a[:k]
        M = np.eye(k) - gain @ model.loadings[o]
        spread[o] += weight * M
        outer[o] += weight * np.outer(a, a)
        right[o] += weight * np.outer(r, a)
        square[o] += weight * r**2
        latent += weight * np.outer(a, a)
        latent[:k, :k] += weight * M
    return spread, outer, right, square, latent


@pytest.mark.parametrize("steep", [expectation.ROTATED_SIGNAL, 0.0])
@pytest.mark.parametrize("noise", NOISES)
def test_expected_statistics_against_the_row_loop(noise, steep, monkeypatch):
    """By sweeping and by rotations."""
    monkeypatch.setattr(expectation, "ROTATED_SIGNAL", steep)
    X = table(n=60)
    X = X[~np.isnan(X).all(axis=1)]
    w = np.random.default_rng(2).uniform(0.5, 2.0, len(X))
    start = start_of(6, 2, noise)
    model = LinearGaussian(start.mean, start.loadings, np.broadcast_to(start.noise, 6).copy())
    piece = expectation.IncompleteRows(X, w, np.zeros(6), np.ones(6), 2)
    found = expectation.expected_statistics(expectation.Posterior(piece, model), model)
    spread, outer, right, square, latent = expectations(X, w, model)
    assert_allclose(unpack_symmetric(found.spread, 2), spread, rtol=1e-10)
    assert_allclose(unpack_symmetric(found.outer, 3), outer, rtol=1e-9, atol=1e-9)
    assert_allclose(found.right.T, right, rtol=1e-9, atol=1e-9)
    assert_allclose(found.square, square, rtol=1e-10)
    assert_allclose(unpack_symmetric(found.latent[:, None], 3)[0], latent, rtol=1e-10)
    V = model.loadings / model.noise[:, None]
    assert_allclose(found.gain, np.einsum("jab,jb->ja", spread, V), rtol=1e-10)
    assert_allclose(found.free, outer[:, 2, 2] - np.einsum("ja,jab,jb->j", V, spread, model.loadings), rtol=1e-9)
    twin = sum(weight * observed_loglik(row[None], model) for row, weight in zip(X, w, strict=True))
    assert found.loglik(model) == pytest.approx(twin, rel=1e-11)


@pytest.mark.parametrize("most", [1, 7, 64, 1000])
def test_parts_hold_every_row_once_and_in_order(most, monkeypatch):
    monkeypatch.setattr(expectation, "PIECE_ENTRIES", most * 6)
    X, w = table(n=300), np.arange(300.0)
    parts = expectation.IncompleteRows(X, w, np.zeros(6), np.ones(6), 2).parts
    assert max(len(part.X) for part in parts) <= max(64, most)
    np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), X)
    np.testing.assert_array_equal(np.concatenate([part.w for part in parts]), w)


@pytest.mark.parametrize("noise", NOISES)
def test_the_end_is_a_maximum_of_the_observed_likelihood(noise):
    X = table()
    found = fit_incomplete_rows(ArraySource(X), [start_of(6, 2, noise)], noise=noise)
    assert found.converged
    assert np.all(np.diff(found.path) >= 0.0)
    assert found.path[-1] == pytest.approx(observed_loglik(X, found.model), rel=1e-11)
    rng = np.random.default_rng(3)
    for _ in range(15):
        moved = LinearGaussian(
            found.model.mean + 1e-2 * rng.standard_normal(6),
            found.model.loadings + 1e-2 * rng.standard_normal((6, 2)),
            found.model.noise * np.exp(1e-2 * rng.standard_normal(np.shape(found.model.noise))),
        )
        assert observed_loglik(X, moved) < found.path[-1]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("share", [0.02, 0.3])
def test_grouped_patterns_are_the_same_as_none(noise, share, monkeypatch):
    X, start = table(n=400, share=share), start_of(6, 2, noise)
    X = X[~np.isnan(X).all(axis=1)]
    rows = (X, None, np.zeros(6), np.ones(6), 2)
    assert len(expectation.IncompleteRows(*rows).grouped.patterns) == len({tuple(row) for row in np.isnan(X)})
    one = fit_incomplete_rows(ArraySource(X), [start], noise=noise, max_iter=5)
    monkeypatch.setattr(expectation, "MAX_PATTERNS_PER_ROW", 0.0)
    assert expectation.IncompleteRows(*rows).grouped.which is None
    other = fit_incomplete_rows(ArraySource(X), [start], noise=noise, max_iter=5)
    assert_allclose(one.path, other.path, rtol=1e-12)


@pytest.mark.parametrize("noise", NOISES)
def test_pieces_passes_and_weights_change_nothing(noise, monkeypatch):
    X, start = table(n=300, seed=2), start_of(6, 2, noise)
    w = np.random.default_rng(4).integers(0, 3, len(X))
    copies = fit_incomplete_rows(ArraySource(np.repeat(X, w, axis=0)), [start], noise=noise)
    monkeypatch.setattr(expectation, "MAX_PREPARED_BYTES", 0)
    monkeypatch.setattr(expectation, "PIECE_ENTRIES", 1)
    weighted = fit_incomplete_rows(ArraySource(X, block_rows=101).weighted(w.astype(float)), [start], noise=noise)
    assert weighted.path[-1] == pytest.approx(copies.path[-1], rel=1e-11)
    assert_allclose(weighted.model.covariance(), copies.model.covariance(), rtol=1e-5)
    assert (weighted.weight, weighted.rows) == (copies.weight, np.count_nonzero(w))


def test_a_dask_array_is_the_same_a_pass_a_step():
    da = pytest.importorskip("dask.array")
    X, start = table(n=150), start_of(6, 2, "diagonal")
    one = fit_incomplete_rows(ArraySource(X), [start], noise="diagonal")
    other = fit_incomplete_rows(as_source(da.from_array(X, chunks=(40, 6))), [start], noise="diagonal")
    assert other.path[-1] == pytest.approx(one.path[-1], rel=1e-10)
    assert_allclose(other.path[:8], one.path[:8], rtol=1e-11)


def test_rows_without_entries_say_nothing():
    X, start = table(n=80), start_of(6, 2, "diagonal")
    X = X[~np.isnan(X).all(axis=1)]
    padded = np.insert(X, [0, 40, len(X)], np.nan, axis=0)
    one, other = (fit_incomplete_rows(ArraySource(rows), [start], noise="diagonal") for rows in (X, padded))
    assert other.path[-1] == pytest.approx(one.path[-1], rel=1e-10)
    assert other.rows == len(X) == other.weight


def test_newton_reaches_the_same_top_in_fewer_steps(monkeypatch):
    X, start = table(n=300, seed=1), start_of(6, 2, "diagonal")
    quick = fit_incomplete_rows(ArraySource(X), [start], noise="diagonal")
    monkeypatch.setattr(em, "MAX_EM_STEPS", 3000)
    plain = fit_incomplete_rows(ArraySource(X), [start], noise="diagonal", max_iter=3000)
    assert quick.converged
    assert quick.path[-1] == pytest.approx(plain.path[-1], abs=1e-8)
    assert len(quick.path) <= len(plain.path)


def test_units_do_not_matter_to_diagonal_noise():
    X, start = table(), start_of(6, 2, "diagonal")
    scale = np.array([1e-4, 1.0, 1e3, 1.0, 10.0, 1e6])
    scaled = LinearGaussian(start.mean, start.loadings * scale[:, None], start.noise * scale**2)
    one, other = (
        fit_incomplete_rows(ArraySource(rows), [begin], noise="diagonal")
        for rows, begin in ((X, start), (X * scale, scaled))
    )
    assert_allclose(other.model.noise / scale**2, one.model.noise, rtol=1e-3)
    assert other.path[-1] + np.sum(~np.isnan(X) * np.log(scale)) == pytest.approx(one.path[-1], rel=1e-9)


def test_an_interrupt_keeps_the_best_so_far():
    X, seen = table(), []

    def stop(done, total, what):
        if what.startswith("EM: step 3"):
            raise KeyboardInterrupt
        seen.append(what)

    found = fit_incomplete_rows(ArraySource(X), [start_of(6, 2, "diagonal")], noise="diagonal", progress=stop)
    assert found.interrupted
    assert not found.converged
    assert len(found.path) == 3
    assert seen[-1].startswith("EM: step 2, log-likelihood")
    assert np.isfinite(observed_loglik(X, found.model))


def test_too_few_steps_say_how_far_it_is():
    X = table()
    short, longer, whole = (
        fit_incomplete_rows(ArraySource(X), [start_of(6, 2, "diagonal")], noise="diagonal", max_iter=m)
        for m in (6, 16, 500)
    )
    assert not short.converged
    assert short.residual > longer.residual > whole.residual
    assert short.residual > (whole.path[-1] - short.path[-1]) / np.count_nonzero(~np.isnan(X)) / 10.0


@pytest.mark.parametrize("k", [1, 2, 5, packed.MAX_SWEPT_SIZE + 1])
def test_packed_inverses_and_products(k):
    rng = np.random.default_rng(k)
    V = rng.standard_normal((20, 2 * k, k))
    A = np.einsum("nij,nil->njl", V, V) + 0.1 * np.eye(k)
    rows, columns = np.tril_indices(k)
    P = np.ascontiguousarray(A[:, rows, columns].T)
    assert P.shape == (packed_size(k), 20)
    assert_allclose(unpack_symmetric(P, k), A)
    b = rng.standard_normal((k, 20))
    assert_allclose(apply_packed(P, b), np.einsum("nij,jn->in", A, b), rtol=1e-10, atol=1e-10)
    log_det = invert_packed(P, k)
    assert_allclose(log_det, np.linalg.slogdet(A)[1], rtol=1e-10)
    assert_allclose(unpack_symmetric(P, k), np.linalg.inv(A), rtol=1e-7, atol=1e-9)


def test_observed_moments_given_or_not():
    X, start = table(), start_of(6, 2, "isotropic")
    observed = accumulate(ArraySource(X), ColumnMoments.of_observed)
    assert (
        fit_incomplete_rows(ArraySource(X), [start], observed=observed).path
        == fit_incomplete_rows(ArraySource(X), [start]).path
    )


def test_what_rotates_loadings_is_removed_and_nothing_else():
    """Also of loadings with equal columns, with one of zeros, and far apart in size."""
    rng = np.random.default_rng(0)
    W, V = rng.standard_normal((9, 5)) * [1e6, 1.0, 1.0, 1e-6, 0.0], rng.standard_normal((9, 5))
    W[:, 2] = W[:, 1]
    skew = rng.standard_normal((5, 5))
    skew -= skew.T
    kept = remove_rotation(V, W)
    assert_allclose(remove_rotation(kept, W), kept, atol=1e-9)
    assert_allclose(remove_rotation(W @ skew, W), 0.0, atol=1e-9 * 1e6)
    product = W.T @ kept
    assert_allclose(product, product.T, rtol=1e-9, atol=1e-9 * np.abs(product).max())  # orthogonal to each W A


def test_blocks_change_nothing_where_rotations_are_flat():
    """Wines of which 10% are missing: a Newton step along rotations of three components would be of any length."""
    X = load_wine().data
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    whole, pieces = (ProbabilisticPCA(3).fit(ArraySource(X, block_rows=b)) for b in (None, 17))
    assert_allclose(pieces.score_samples(X), whole.score_samples(X), rtol=1e-10)

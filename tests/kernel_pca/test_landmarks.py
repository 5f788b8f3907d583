"""Landmarks against dense algebra: the certificate, the law of their choice, and the rows behind them in any form."""

from __future__ import annotations

import itertools
import re
import threading
import tracemalloc
from contextlib import ExitStack
from decimal import Decimal, localcontext

import dask.array as da
import numpy as np
import polars as pl
import pytest
from scipy import linalg, sparse, stats
from threadpoolctl import threadpool_limits

import eigenlens
from eigenlens.data.coerce import as_source
from eigenlens.data.memory import ArraySource
from eigenlens.data.rows import take_rows
from eigenlens.errors import DataError, OptionError, ResourceError
from eigenlens.kernel_pca.features import fit_feature_components
from eigenlens.kernel_pca.kernels.cosine import Cosine
from eigenlens.kernel_pca.kernels.custom import Custom
from eigenlens.kernel_pca.kernels.laplacian import Laplacian
from eigenlens.kernel_pca.kernels.linear import Linear
from eigenlens.kernel_pca.kernels.polynomial import Polynomial
from eigenlens.kernel_pca.kernels.rbf import RBF
from eigenlens.kernel_pca.kernels.sigmoid import Sigmoid
from eigenlens.kernel_pca.landmarks import Landmarks, draw_pivoted_landmarks, draw_uniform_landmarks
from eigenlens.resources import single_threaded_map, thread_count

METHODS = {"rpcholesky": draw_pivoted_landmarks, "nystroem": draw_uniform_landmarks}
KERNELS = [RBF(0.3), Laplacian(0.4), Polynomial(0.5, 1.0, 3), Cosine()]


def rows_of(n=200, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) + 0.5


def weights_of(n=200, seed=1):
    return np.random.default_rng(seed).integers(0, 4, n).astype(float)


def true_share(kernel, X, w, index):
    """trace(K − K_nL K_LL⁻¹ K_Ln) / trace K of the rows, each as often as its weight says."""
    K = kernel(X, X)
    rest = K - K[:, index] @ np.linalg.solve(K[np.ix_(index, index)], K[index])
    return (w @ np.diag(rest)) / (w @ np.diag(K))


def clusters(n, seed):
    """One crowd and many small groups far from it and from each other."""
    rng = np.random.default_rng(seed)
    centres = 6.0 * rng.standard_normal((40, 4))
    group = np.where(rng.random(n) < 0.9, 0, rng.integers(0, 40, n))
    return centres[group] + 0.3 * rng.standard_normal((n, 4))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_the_certificate_is_the_true_residual_trace(kernel, method, weighted):
    X, w = rows_of(), weights_of() if weighted else np.ones(200)
    source = ArraySource(X, block_rows=33).weighted(w if weighted else None)
    found = METHODS[method](source, kernel, 4, np.random.default_rng(3))
    share = fit_feature_components(source, found).left_out
    assert 1e-4 < share < 1.0
    assert share == pytest.approx(true_share(kernel, X, w, found.index), rel=1e-8)
    assert np.all(w[found.index] > 0.0)
    assert len(set(found.index)) == 4
    np.testing.assert_array_equal(found.rows, X[found.index])


def test_a_tiny_residual_is_neither_negative_nor_lost():
    """28 landmarks of a smooth kernel leave 1e-9 of the trace: the certificate is right to rounding of the trace."""
    X, kernel = rows_of(d=2), RBF(0.05)
    found = draw_pivoted_landmarks(ArraySource(X), kernel, 28, np.random.default_rng(0))
    share = fit_feature_components(ArraySource(X), found).left_out
    # The twin in long double: Cholesky by its definition.
    K, d = kernel(X, X).astype(np.longdouble), np.ones(200, dtype=np.longdouble)
    F = np.zeros((200, 28), dtype=np.longdouble)
    for j, i in enumerate(found.index):
        F[:, j] = (K[:, i] - F[:, :j] @ F[i, :j]) / np.sqrt(d[i])
        d = np.diag(K) - (F * F).sum(axis=1)
    assert 1e-11 < share < 1e-7
    assert share == pytest.approx(float(d.mean()), rel=1e-6, abs=1e-14)
    everything = draw_pivoted_landmarks(ArraySource(X), kernel, 200, np.random.default_rng(0))
    assert "up to rounding" in everything.reason
    assert everything.size < 200
    assert 0.0 <= fit_feature_components(ArraySource(X), everything).left_out < 1e-12


def crowded(n=200, far=10, seed=0):
    """Rows close together, and a few far from them that uniform landmarks seldom meet."""
    rng = np.random.default_rng(seed)
    return np.vstack([0.01 * rng.standard_normal((n - far, 3)), 3.0 * rng.standard_normal((far, 3))])


def share_to_50_digits(gamma, X, index):
    """The share that Gaussian landmarks leave, by Cholesky's method in decimal numbers."""
    with localcontext() as context:
        context.prec = 50
        rows = [[Decimal(float(x)) for x in row] for row in X]
        one, C = Decimal(1), []

        def features(x):
            f = []
            for r, c in zip(index, C, strict=False):
                k = (-Decimal(gamma) * sum((a - b) ** 2 for a, b in zip(x, rows[r], strict=True))).exp()
                f.append((k - sum(a * b for a, b in zip(c, f, strict=False))) / c[-1])
            return f

        for r in index:
            f = features(rows[r])
            C.append([*f, (one - sum(a * a for a in f)).sqrt()])
        left = sum(one - sum(a * a for a in features(x)) for x in rows)
        return float(left / len(rows))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", METHODS)
def test_the_certificate_is_right_where_landmarks_nearly_coincide(method, seed):
    """The rows of a crowd span each other to ten digits, and what they say of rows far away is extrapolation."""
    X, kernel = crowded(seed=seed), RBF(0.3)
    found = METHODS[method](ArraySource(X), kernel, 15, np.random.default_rng(seed))
    share = fit_feature_components(ArraySource(X), found, 1).left_out
    assert found.size == 15
    assert share == pytest.approx(share_to_50_digits(kernel.gamma, X, found.index), rel=1e-8, abs=1e-14)


@pytest.mark.long
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kernel", [RBF(0.05), Custom(lambda X, Y: RBF(0.05)(X, Y))], ids=lambda k: k.name)
def test_rounding_is_never_taken_for_an_indefinite_kernel(kernel, method, dtype):
    smooth, crowd = np.random.default_rng(1).standard_normal((400, 3)).astype(dtype), crowded().astype(dtype)
    for X, n_landmarks in ((smooth, 300), (smooth, 1e-9), (crowd, 100)):
        found = METHODS[method](ArraySource(X), kernel, n_landmarks, np.random.default_rng(0))
        assert fit_feature_components(ArraySource(X), found, 2).left_out < 1e-8
        K = kernel(X.astype(float), X.astype(float))
        rest = K - found.features(X) @ found.features(X).T
        assert np.abs(rest).max() < 1e-6  # K − K̂ is positive semidefinite: no entry exceeds the diagonal


def test_uniform_landmarks_are_those_drawn_whatever_their_order():
    """The first distinct rows of the stream of proposals, the one that adds most first."""
    X, kernel = rows_of(60), RBF(0.3)
    found = draw_uniform_landmarks(ArraySource(X), kernel, 12, np.random.default_rng(3))
    below = np.random.default_rng(3).random(4 * 12 + 64) * 60
    drawn = list(dict.fromkeys(below.astype(int)))[:12]
    assert set(found.index) == set(drawn)
    pivots = np.diag(found.factor)
    first = len(set(below.astype(int)[:12]))  # those drawn later, in the place of copies, stand behind
    assert first > 8
    assert np.all(np.diff(pivots[:first]) <= 0.0)


def pair_probabilities(K, w, power):
    """The law of two landmarks one at a time: w_i r_i^power at each step, r the residual diagonal."""
    law = {}
    for i, j in itertools.permutations(range(len(K)), 2):
        first = w * np.diag(K) ** power
        rest = np.maximum(np.diag(K) - K[:, i] ** 2 / K[i, i], 0.0) if w[i] else np.ones(len(K))
        rest[i] = 0.0
        second = w * rest**power * (rest > 0.0)
        law[i, j] = first[i] / first.sum() * second[j] / second.sum()
    return law


@pytest.mark.long
@pytest.mark.parametrize(("method", "power"), [("rpcholesky", 1), ("nystroem", 0)])
def test_proposals_with_rejection_follow_the_law_of_one_at_a_time(method, power):
    X = np.array([[0.0, 0.2], [0.3, 0.0], [2.0, 2.0], [2.5, 2.0], [-1.0, 0.5]])
    w, kernel, rng = np.array([1.0, 3.0, 0.5, 0.0, 1.5]), Polynomial(0.5, 1.0, 2), np.random.default_rng(5)
    law = pair_probabilities(kernel(X, X), w, power)
    source, n = ArraySource(X).weighted(w), 2500
    found = [tuple(map(int, METHODS[method](source, kernel, 2, rng).index)) for _ in range(n)]
    seen = [pair for pair in law if law[pair] > 0.0]
    assert set(found) <= set(seen)
    counts, expected = [found.count(pair) for pair in seen], [n * law[pair] for pair in seen]
    assert stats.chisquare(counts, expected).pvalue > 1e-3


def one_at_a_time(K, m, rng):
    """Randomly pivoted Cholesky as it is defined: the share of the trace left by m pivots."""
    rest = K.copy()
    for _ in range(m):
        d = np.maximum(np.diag(rest), 0.0)
        i = rng.choice(len(K), p=d / d.sum())
        rest = rest - np.outer(rest[:, i], rest[i]) / rest[i, i]
    return np.trace(rest) / np.trace(K)


@pytest.mark.long
def test_many_rounds_leave_what_one_pivot_at_a_time_leaves():
    X, kernel = clusters(120, 0), RBF(0.1)
    K, source, seeds = kernel(X, X), ArraySource(X), range(250)
    found = [draw_pivoted_landmarks(source, kernel, 10, np.random.default_rng(seed)) for seed in seeds]
    ours = [true_share(kernel, X, np.ones(120), landmarks.index) for landmarks in found]
    twin = [one_at_a_time(K, 10, np.random.default_rng(seed)) for seed in seeds]
    assert stats.ks_2samp(ours, twin).pvalue > 1e-3


def test_pivoting_is_no_worse_than_uniform_on_clustered_rows():
    kernel = RBF(0.1)
    shares = {name: [] for name in METHODS}
    for seed in range(8):
        X = clusters(600, seed)
        for name, method in METHODS.items():
            found = method(ArraySource(X), kernel, 40, np.random.default_rng(seed))
            shares[name].append(fit_feature_components(ArraySource(X), found).left_out)
    assert np.mean(shares["rpcholesky"]) < 0.5 * np.mean(shares["nystroem"])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("error", [0.2, 0.01, 1e-5])
def test_an_error_asked_for_is_met_by_no_more_landmarks_than_needed(method, error):
    X, w, kernel = rows_of(400, 3), weights_of(400), RBF(0.2)
    source = ArraySource(X).weighted(w)
    found = METHODS[method](source, kernel, error, np.random.default_rng(0))
    assert fit_feature_components(source, found).left_out <= error
    assert true_share(kernel, X, w, found.index[:-1]) > error
    assert f"at most {error:g}" in found.reason


def test_an_error_out_of_reach_is_rejected_with_what_was_reached():
    with pytest.raises(ResourceError, match=r"n_landmarks=0\.001 .* 30 landmarks do not reach: they leave out 0\.\d"):
        draw_pivoted_landmarks(ArraySource(rows_of()), RBF(1.0), 0.001, np.random.default_rng(0), most=30)


def test_an_error_beyond_rounding_is_missed_and_says_so():
    found = draw_uniform_landmarks(ArraySource(rows_of(400, 3)), RBF(0.05), 1e-14, np.random.default_rng(0))
    assert not found.met
    reason = r"all rows are spanned by \d+ landmarks, up to rounding; they leave out \S+ of the trace and 1e-14 was .*"
    assert re.fullmatch(reason, found.reason)


def test_passes_are_counted():
    X, told = rows_of(), []
    rows = as_source(da.from_array(X, chunks=(50, 5)))
    for source, kernel in itertools.product((rows, ArraySource(X)), (RBF(0.3), Linear())):
        told.clear()
        found = draw_pivoted_landmarks(source, kernel, 4, np.random.default_rng(0), lambda *step: told.append(step))
        assert found.passes == sum(done == 200 for done, _, _ in told)
    assert [what for _, _, what in told] == ["column means", "measuring landmarks"]


@pytest.mark.parametrize("method", METHODS)
def test_landmarks_stop_at_the_rank(method):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3)) @ rng.standard_normal((3, 7))
    for n_landmarks in (50, 1e-9):
        found = METHODS[method](ArraySource(X), Linear(), n_landmarks, np.random.default_rng(1))
        assert found.size == 3
        assert found.met
    fifty = METHODS[method](ArraySource(X), Linear(), 50, np.random.default_rng(1))
    assert fifty.reason == "all rows are spanned by 3 landmarks, up to rounding; 50 were asked for"
    copies = np.repeat(rng.standard_normal((4, 2)), 25, axis=0)
    assert METHODS[method](ArraySource(copies), RBF(1.0), 30, np.random.default_rng(1)).size == 4
    assert METHODS[method](ArraySource(rows_of(20)), RBF(2.0), 500, np.random.default_rng(1)).size == 20


@pytest.mark.parametrize("method", METHODS)
def test_weights_choose_as_copies_do(method):
    X, w = rows_of(90), weights_of(90)
    copies = np.repeat(X, w.astype(int), axis=0)
    one = METHODS[method](ArraySource(X).weighted(w), RBF(0.2), 30, np.random.default_rng(4))
    other = METHODS[method](ArraySource(copies), RBF(0.2), 30, np.random.default_rng(4))
    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_allclose(one.factor, other.factor, atol=1e-12)


def memmap(folder, X):
    np.save(folder / "map.npy", X)
    return np.load(folder / "map.npy", mmap_mode="r")


def npy(folder, X):
    np.save(folder / "rows.npy", X)
    return eigenlens.scan(folder / "rows.npy", block_rows=37)


def parquet(folder, X):
    pl.DataFrame(X, schema=[f"x{j}" for j in range(X.shape[1])]).write_parquet(folder / "rows.parquet")
    return eigenlens.scan(folder / "rows.parquet", block_rows=41)


KINDS = {
    "blocks": lambda folder, X: ArraySource(X, block_rows=17),
    "fortran": lambda folder, X: np.asfortranarray(X),
    "memmap": memmap,
    "npy": npy,
    "parquet": parquet,
    "frame": lambda folder, X: pl.DataFrame(X, schema=[f"x{j}" for j in range(X.shape[1])]),
    "dask": lambda folder, X: da.from_array(X, chunks=(45, 2)),
    "sparse": lambda folder, X: sparse.csr_matrix(X),
    "torch": lambda folder, X: pytest.importorskip("torch").tensor(X),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_rows_gives_the_same_landmarks(tmp_path, kind, method, weighted):
    X, w = rows_of(), weights_of() if weighted else None
    here = METHODS[method](ArraySource(X).weighted(w), RBF(0.3), 25, np.random.default_rng(2))
    source = as_source(KINDS[kind](tmp_path, X)).weighted(w)
    there = METHODS[method](source, RBF(0.3), 25, np.random.default_rng(2))
    np.testing.assert_array_equal(there.index, here.index)
    np.testing.assert_allclose(there.factor, here.factor, atol=1e-12)
    rows = there.rows.toarray() if sparse.issparse(there.rows) else np.asarray(there.rows)
    np.testing.assert_array_equal(rows, here.rows)


def test_float32_rows_stay_and_integers_become_float64():
    X = np.random.default_rng(0).integers(-4, 5, (60, 3))
    for rows, dtype in ((X.astype(np.float32), np.float32), (X, np.float64)):
        found = draw_pivoted_landmarks(ArraySource(rows), RBF(0.1), 8, np.random.default_rng(0))
        assert (found.rows.dtype, found.factor.dtype) == (dtype, np.float64)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kernel", [*KERNELS, Linear(), RBF(1e-3)], ids=lambda kernel: kernel.name)
def test_float32_rows_are_worked_on_in_float64(kernel, method):
    X = rows_of().astype(np.float32)
    one, other = (METHODS[method](ArraySource(A), kernel, 150, np.random.default_rng(0)) for A in (X, X.astype(float)))
    np.testing.assert_array_equal(one.index, other.index)
    # Where phi(x) = x, landmarks are kept less the mean, which float32 rounds.
    np.testing.assert_allclose(one.factor, other.factor, rtol=0.0, atol=1e-5 if kernel.identity else 1e-13)
    assert one.reason == other.reason


def test_nothing_of_size_n_times_m_is_kept():
    X = rows_of(60_000, 3)
    source = ArraySource(X, block_rows=5000)
    tracemalloc.start()
    found = draw_pivoted_landmarks(source, RBF(0.5), 150, np.random.default_rng(0))
    fit_feature_components(source, found, 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 60_000 * 150 / 2


def test_rows_are_taken_in_the_order_asked_for():
    X = rows_of(30)
    index = np.array([7, 0, 7, 29, 3])
    for source in (ArraySource(X), as_source(da.from_array(X, chunks=(8, 5))), as_source(pl.DataFrame(X))):
        np.testing.assert_array_equal(take_rows(source, index, 30), X[index])


def test_features_and_spread_are_dense_algebra():
    X, kernel = rows_of(40), Laplacian(0.3)
    found = draw_uniform_landmarks(ArraySource(X), kernel, 12, np.random.default_rng(0))
    R = X[found.index]
    np.testing.assert_allclose(found.factor @ found.factor.T, kernel(R, R), atol=1e-12)
    F, V = found.features(X), np.random.default_rng(1).standard_normal((12, 3))
    np.testing.assert_allclose(F @ F.T, kernel(X, R) @ np.linalg.solve(kernel(R, R), kernel(R, X)), atol=1e-10)
    np.testing.assert_allclose(kernel(X, R) @ found.spread(V), F @ V, atol=1e-10)
    np.testing.assert_allclose(found.first(5).features(X), F[:, :5], atol=1e-12)
    assert Landmarks(kernel, None, np.zeros((0, 0)), np.zeros(0, dtype=int)).features(X).shape == (40, 0)


def test_substitution_by_blocks_is_substitution():
    """150 landmarks are two blocks and a part of one; the twin goes column by column."""
    X, kernel = rows_of(300), RBF(0.1)
    found = draw_pivoted_landmarks(ArraySource(X), kernel, 150, np.random.default_rng(0))
    assert np.linalg.cond(found.factor) > 100.0
    twin = linalg.solve_triangular(found.factor, kernel(found.rows, X), lower=True).T
    np.testing.assert_allclose(found.features(X), twin, atol=1e-12)


def fitted(X, w):
    source = ArraySource(X).weighted(w)
    found = draw_pivoted_landmarks(source, RBF(0.3), 200, np.random.default_rng(0))
    return found.index, fit_feature_components(source, found, 4)


def assert_identical(one, other):
    np.testing.assert_array_equal(one[0], other[0])
    for name in ("coefficients", "eigenvalues", "centre", "left_out", "trace"):
        np.testing.assert_array_equal(getattr(one[1], name), getattr(other[1], name), err_msg=name)


def test_the_number_of_threads_changes_no_bit():
    X, w = rows_of(30_000, 4), weights_of(30_000)  # six panels
    with threadpool_limits(1):
        alone = fitted(X, w)
    with threadpool_limits(3):
        assert thread_count() == 3
        assert_identical(fitted(X, w), alone)
        assert thread_count() == 3


def test_two_at_once_leave_the_limits_of_threads_as_they_were():
    """As two threads of Dask may: the second comes while the first is there, and leaves after it."""
    with threadpool_limits(2):
        first, second = ExitStack(), ExitStack()
        for stack in (first, second):
            each = stack.enter_context(single_threaded_map(2))
            assert list(each(abs, [-1, 2])) == [1, 2]
            assert thread_count() == 1
        first.close()
        second.close()
        assert thread_count() == 2


def test_a_kernel_of_the_user_is_called_by_one_thread():
    callers = set()

    def kernel(A, B):
        callers.add(threading.get_ident())
        return A @ B.T

    with threadpool_limits(2):
        source = ArraySource(rows_of(30_000, 40))  # two panels
        fit_feature_components(source, draw_uniform_landmarks(source, Custom(kernel), 5, np.random.default_rng(0)), 2)
    assert callers == {threading.get_ident()}


@pytest.mark.parametrize("method", METHODS)
def test_what_cannot_be_approximated(method):
    choose, rng = METHODS[method], np.random.default_rng(0)
    with pytest.raises(OptionError, match=r"'sigmoid' is not positive semidefinite .* use approximation=None"):
        choose(ArraySource(rows_of()), Sigmoid(2.0, -1.0), 20, rng)
    with pytest.raises(OptionError, match="'callable' is not positive semidefinite"):
        choose(ArraySource(rows_of()), Custom(lambda X, Y: -X @ Y.T), 20, rng)
    for rows, kernel in ((np.zeros((5, 2)), Polynomial(1.0, 0.0, 2)), (np.full((5, 2), 0.7), Linear())):
        with pytest.raises(DataError, match="no variance in feature space: all rows are equal"):
            choose(ArraySource(rows), kernel, 3, rng)
    broken = rows_of()
    broken[3, 1] = np.nan
    with pytest.raises(DataError, match="NaN: 1 entry in 1"):
        choose(ArraySource(broken), Linear(), 3, rng)
    with pytest.raises(DataError, match="NaN: 1 entry in 1"):
        fit_feature_components(ArraySource(broken), choose(ArraySource(broken), RBF(1.0), 3, rng))


def test_progress_is_reported_in_every_pass():
    told = []
    source = as_source(pl.LazyFrame(rows_of()))
    draw_pivoted_landmarks(source, RBF(0.3), 10, np.random.default_rng(0), lambda *step: told.append(step))
    assert {what for _, _, what in told} == {"measuring landmarks", "fetching landmarks"}
    assert all((done, total) == (200, 200) for done, total, _ in told)


def test_landmarks_of_a_dask_array_are_fetched_without_a_pass():
    told = []
    source = as_source(da.from_array(rows_of(), chunks=(50, 5)))
    draw_pivoted_landmarks(source, RBF(0.3), 10, np.random.default_rng(0), lambda *step: told.append(step))
    assert {what for _, _, what in told} == {"measuring landmarks"}
    assert all((done, total) == (200, 200) for done, total, _ in told)

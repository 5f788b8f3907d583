"""Shrunk covariances against scikit-learn's, their moments against plain sums, both routes against one another."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.covariance import ledoit_wolf as peer

from eigenlens import LinearDiscriminant, QuadraticDiscriminant
from eigenlens.bayes.class_moments import attach_classes, split_by_class
from eigenlens.bayes.discriminant.covariances import Shrinkage, class_covariances, pooled_covariance, read_classes
from eigenlens.bayes.discriminant.shrinkage import (
    SHRINKAGE_TARGETS,
    PairMoments,
    QuarticMoments,
    ledoit_wolf,
    pairwise_intensity,
    power_of_two_units,
    quartic_sums,
    shrinkage_intensity,
)
from eigenlens.data.coerce import as_source
from eigenlens.data.source import Block
from eigenlens.densities.covariance import Full
from eigenlens.densities.covariance_axes import Axes
from eigenlens.densities.gaussian import Gaussian


def rows(n=40, d=5, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) * rng.uniform(0.1, 10.0, d) + shift


def plain(X, w=None):
    w = np.ones(len(X)) if w is None else w
    Y = X - np.average(X, axis=0, weights=w)
    return (Y * w[:, None]).T @ Y, (Y**2 * w[:, None]).T @ Y, (Y**2 * w[:, None]).T @ Y**2


# ---- moments ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_quartic_moments_merge_and_are_plain_sums(shift):
    X, w = rows(shift=shift), np.random.default_rng(1).integers(0, 4, 40).astype(float)
    whole = QuarticMoments.of(Block(X, w))
    pieces = [QuarticMoments.of(Block(X[i : i + 7], w[i : i + 7])) for i in range(0, 40, 7)]
    merged = pieces[0]
    for piece in pieces[1:]:
        merged = merged + piece
    tol = 1e-12 if shift == 0.0 else 1e-9
    for found in (whole, merged):
        u = found.unit
        made = (found.scatter, found.third * np.outer(u**2, u), found.fourth * np.outer(u**2, u**2))
        for sums, value in zip(made, plain(X, w), strict=True):
            assert_allclose(sums, value, rtol=tol, atol=tol * np.abs(value).max())
    assert (whole.rows, whole.weight) == (np.count_nonzero(w), w.sum())


def test_weights_are_copies():
    X, w = rows(), np.random.default_rng(1).integers(0, 4, 40)
    weighted, repeated = QuarticMoments.of(Block(X, w.astype(float))), QuarticMoments.of(Block(np.repeat(X, w, axis=0)))
    assert_allclose(weighted.unit, repeated.unit)
    assert_allclose(weighted.fourth, repeated.fourth, rtol=1e-11)
    assert weighted.weight == repeated.weight


# ---- intensities --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d"), [(40, 5), (12, 30)])
def test_ledoit_wolf_is_scikit_learns(n, d):
    X = rows(n, d)
    m = QuarticMoments.of(Block(X))
    S = m.scatter / n
    found = shrinkage_intensity("ledoit-wolf", S, m, SHRINKAGE_TARGETS["identity"](S.diagonal()))
    C, a = peer(X)
    assert found == pytest.approx(a, rel=1e-10)
    assert_allclose(Shrinkage(found, "identity").apply(S, found), C, rtol=1e-9, atol=1e-12)
    D = X - X.mean(axis=0)
    by_rows = ledoit_wolf(n, d, *quartic_sums(D, np.ones(n), SHRINKAGE_TARGETS["identity"](S.diagonal())))
    assert by_rows == pytest.approx(a, rel=1e-10)


def test_the_diagonal_target_is_that_of_standardised_columns_and_units_do_not_matter():
    X = rows()
    _, a = peer((X - X.mean(axis=0)) / X.std(axis=0))
    for scale in (1.0, np.array([1e-3, 1.0, 1e4, 7.0, 0.2])):
        m = QuarticMoments.of(Block(X * scale))
        S = m.scatter / m.weight
        found = shrinkage_intensity("ledoit-wolf", S, m, S.diagonal())
        assert found == pytest.approx(a, rel=1e-9)
        assert_allclose(Shrinkage(found).apply(S, found).diagonal(), S.diagonal(), rtol=1e-14)


@pytest.mark.parametrize("target", SHRINKAGE_TARGETS)
def test_pairs_of_complete_rows_give_the_same_intensity(target):
    X, w = rows(), np.random.default_rng(1).integers(1, 4, 40).astype(float)
    m = QuarticMoments.of(Block(X, w))
    S = m.scatter / m.weight
    whole = shrinkage_intensity("ledoit-wolf", S, m, SHRINKAGE_TARGETS[target](S.diagonal()))
    u = np.array([1.0, 2.0, 0.5, 64.0, 1.0])
    pairs = PairMoments.of(Block(X[:15], w[:15]), m.mean, u) + PairMoments.of(Block(X[15:], w[15:]), m.mean, u)
    assert pairwise_intensity("ledoit-wolf", pairs, SHRINKAGE_TARGETS[target]) == pytest.approx(whole, rel=1e-10)


def test_pairs_of_incomplete_rows_by_the_definition():
    X, w, centre = rows(), np.random.default_rng(1).uniform(0.5, 2.0, 40), np.array([1.0, -2.0, 0.0, 3.0, 5.0])
    X[np.random.default_rng(2).random(X.shape) < 0.3] = np.nan
    pairs, spread, error = PairMoments.of(Block(X, w), centre, np.ones(5)), 0.0, 0.0
    Y, S = X - centre, np.empty((5, 5))
    for j, k in np.ndindex(5, 5):
        both = ~np.isnan(Y[:, j] * Y[:, k])
        product, each = Y[both, j] * Y[both, k], w[both]
        S[j, k] = np.average(product, weights=each)
        assert_allclose([pairs.weight[j, k], pairs.second[j, k]], [each.sum(), each @ product])
        error += (np.average(product**2, weights=each) - S[j, k] ** 2) / each.sum()
    mean = np.trace(S) / 5
    spread = np.sum((S - mean * np.eye(5)) ** 2)
    found = pairwise_intensity("ledoit-wolf", pairs, SHRINKAGE_TARGETS["identity"])
    assert found == pytest.approx(min(1.0, error / spread), rel=1e-10)


def test_the_intensity_falls_with_more_rows_and_stays_within_bounds():
    amounts = []
    for n in (5, 50, 500, 5000):
        m = QuarticMoments.of(Block(rows(n, seed=3)))
        S = m.scatter / n
        amounts.append(shrinkage_intensity("ledoit-wolf", S, m, S.diagonal()))
    assert all(0.0 <= a <= 1.0 for a in amounts)
    assert np.all(np.diff(amounts) < 0.0)
    assert ledoit_wolf(4.0, 0, 0.0, 0.0, 0.0) == 0.0


@pytest.mark.parametrize("scale", [1e-150, 1e-90, 1e90, 1e150])
def test_intensities_do_not_leave_the_range_of_numbers(scale):
    X = rows(6)
    expected = peer(X)[1]
    merged = QuarticMoments.of(Block(scale * X[:1])) + QuarticMoments.of(Block(scale * X[1:2]))
    merged = merged + QuarticMoments.of(Block(scale * X[2:]))
    S = merged.scatter / 6
    assert shrinkage_intensity("ledoit-wolf", S, merged, SHRINKAGE_TARGETS["identity"](S.diagonal())) == pytest.approx(
        expected, rel=1e-9
    )
    D, u = scale * (X - X.mean(axis=0)), power_of_two_units(np.full(5, scale))
    by_rows = ledoit_wolf(6, 5, *quartic_sums(D, np.ones(6), SHRINKAGE_TARGETS["identity"](S.diagonal())))
    assert by_rows == pytest.approx(expected, rel=1e-9)
    pairs = PairMoments.of(Block(scale * X), scale * X.mean(axis=0), u)
    assert pairwise_intensity("ledoit-wolf", pairs, SHRINKAGE_TARGETS["identity"]) == pytest.approx(expected, rel=1e-9)


# ---- classes ------------------------------------------------------------------------------------------------


def test_classes_travel_with_their_rows():
    X, y, w = rows(), np.arange(40) % 3, np.arange(40.0) % 4
    for source, weight in ((as_source(X), None), (as_source(X).weighted(w), w)):
        (block,) = attach_classes(source, y).blocks()
        for c, mine in split_by_class(block):
            kept = (y == c) if weight is None else (y == c) & (w > 0.0)
            np.testing.assert_array_equal(mine.rows, X[kept])
            assert (mine.weight is None) if weight is None else np.array_equal(mine.weight, w[kept])


SHRUNK = [
    Shrinkage(0.3),
    Shrinkage(0.3, "identity"),
    Shrinkage(1.0),
    Shrinkage("ledoit-wolf"),
    Shrinkage("ledoit-wolf", "identity"),
    Shrinkage("ledoit-wolf", by_class=True),
    Shrinkage(0.0),
]


@pytest.mark.parametrize("shrinkage", SHRUNK)
def test_few_rows_and_moments_give_the_same_shared_covariance(shrinkage):
    X, y, w = rows(20, 30), np.arange(20) % 3, np.random.default_rng(0).uniform(0.5, 2.0, 20)
    source = as_source(X).weighted(w)
    by_rows = read_classes(source, y, 3, shrinkage, pooled=True)
    by_moments = read_classes(source, y, 3, shrinkage, pooled=True, mergeable=True)
    assert type(by_rows) is not type(by_moments)
    (A, a), (B, b) = pooled_covariance(by_rows, shrinkage), pooled_covariance(by_moments, shrinkage)
    assert_allclose(a, b, rtol=1e-10)
    assert A.rank == B.rank
    assert_allclose(A.matrix(), B.matrix(), rtol=1e-8, atol=1e-10 * B.matrix().max())
    assert_allclose(A.solve(X[:4]), B.solve(X[:4]), rtol=1e-6, atol=1e-6 * np.abs(B.solve(X[:4])).max())


@pytest.mark.parametrize("shrinkage", [*SHRUNK[:5], Shrinkage(0.0, reg=0.2), Shrinkage(0.2, reg=0.2), Shrinkage(0.0)])
def test_few_rows_and_moments_give_the_same_covariances_of_classes(shrinkage):
    X, y = rows(20, 30), np.arange(20) % 3
    by_rows = class_covariances(read_classes(as_source(X), y, 3, shrinkage, pooled=False), shrinkage)
    by_moments = class_covariances(read_classes(as_source(X), y, 3, shrinkage, pooled=False, mergeable=True), shrinkage)
    np.testing.assert_array_equal(by_rows.clamped, by_moments.clamped)
    assert by_rows.clamped.all() == (shrinkage == Shrinkage(0.0))
    for A, B in zip(by_rows.covariances, by_moments.covariances, strict=True):
        assert_allclose(A.matrix(), B.matrix(), rtol=1e-8, atol=1e-10 * B.matrix().max())
        assert A.log_determinant == pytest.approx(B.log_determinant, rel=1e-6)


# ---- covariances by their axes ------------------------------------------------------------------------------


@pytest.fixture(params=["matrix", "rows"])
def axes(request):
    X = rows(4, 6) if request.param == "rows" else rows(40, 6)
    if request.param == "matrix":
        return Axes.of_matrix(np.cov(X.T), np.zeros(6, dtype=bool))
    return Axes.of_rows(X, np.linspace(0.5, 2.0, 6), np.zeros(6, dtype=bool))


def test_axes_do_what_the_full_matrix_does(axes):
    full, X = Full(axes.matrix()), rows(10, 6, seed=4)
    assert axes.log_determinant == pytest.approx(full.log_determinant)
    assert_allclose(axes.variances, full.variances)
    assert_allclose((axes.whiten(X) ** 2).sum(axis=1), (full.whiten(X) ** 2).sum(axis=1), rtol=1e-9)
    assert_allclose(axes.solve(X), np.linalg.solve(full.matrix(), X.T).T, rtol=1e-7, atol=1e-9)
    assert_allclose(axes.colour(np.eye(6)).T @ axes.colour(np.eye(6)), full.matrix(), rtol=1e-9, atol=1e-10)
    assert_allclose(axes.part([4, 1]).matrix(), full.part([4, 1]).matrix(), rtol=1e-9, atol=1e-12)
    X[0, 2] = X[1, :5] = np.nan
    assert_allclose(Gaussian(np.zeros(6), axes).log_density(X), Gaussian(np.zeros(6), full).log_density(X), rtol=1e-9)


def test_what_does_not_vary_is_left_out():
    C = np.diag([4.0, 0.0, 1.0])
    axes = Axes.of_matrix(C, np.array([False, True, False]))
    assert axes.rank == 2
    assert_allclose((axes.whiten(np.array([[2.0, 99.0, 3.0]])) ** 2).sum(), 1.0 + 9.0)
    left = Gaussian(np.zeros(2), Full(np.diag([4.0, 1.0])))
    found = Gaussian(np.zeros(3), axes).log_density(np.array([[2.0, 99.0, 3.0]]))
    assert_allclose(found, left.log_density(np.array([[2.0, 3.0]])))
    B = rows(3, 8)
    flat = Axes.of_rows(B, np.zeros(8), np.zeros(8, dtype=bool))
    assert flat.rank == 3
    assert_allclose(flat.matrix(), B.T @ B, rtol=1e-9, atol=1e-10 * (B.T @ B).max())
    pseudo = np.linalg.slogdet(B @ B.T)[1]
    assert flat.log_determinant + 5 * np.log(2 * np.pi) == pytest.approx(pseudo)


@pytest.mark.parametrize("kind", [LinearDiscriminant, QuadraticDiscriminant])
@pytest.mark.parametrize(("n", "missing"), [(90, False), (90, True), (24, False)])
def test_a_function_serves_as_rule_and_as_target(kind, n, missing):
    """By name or by function: from moments, from incomplete rows, and from fewer rows than columns."""
    X, y = rows(n, 30), np.arange(n) % 3
    X[y == 1] += 2.0
    if missing:
        X[::7, 3] = np.nan
    named = kind(shrinkage="ledoit-wolf", target="identity").fit(X, y)
    by_function = kind(shrinkage=ledoit_wolf, target=SHRINKAGE_TARGETS["identity"]).fit(X, y)
    assert_allclose(by_function.shrinkage_, named.shrinkage_, rtol=0.0)
    assert_allclose(by_function.predict_log_proba(X), named.predict_log_proba(X), rtol=0.0)

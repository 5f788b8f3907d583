"""The passes of a mixture: kernels and NumPy twins against a brute force that fits on the screen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from threadpoolctl import threadpool_limits

from eigenlens.native.mixture import (
    mixture_log_joint,
    mixture_log_joint_numpy,
    mixture_passes,
    mixture_passes_numpy,
)

MANY, JOINTS = (mixture_passes, mixture_passes_numpy), (mixture_log_joint, mixture_log_joint_numpy)
KINDS = ["full", "diagonal"]


def alone(passes):
    """One mixture, whose log-likelihood is a number."""

    def one(*given):
        found = passes(*given)
        return found._replace(loglik=found.loglik[0])

    return one


PASSES = tuple(map(alone, MANY))


def components(K, d, rng, spread=2.0):
    """Levels, means, and the shapes of both kinds; the weights of the components are equal."""
    means = spread * rng.standard_normal((K, d))
    A = rng.standard_normal((K, d, d)) / np.sqrt(d) + np.eye(d)
    roots = np.linalg.inv(np.linalg.cholesky(A @ A.transpose(0, 2, 1) + 0.1 * np.eye(d)))
    shapes = {"full": np.tril(roots), "diagonal": np.diagonal(roots, axis1=1, axis2=2) ** 2}
    levels = np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1) - np.log(K) - d / 2 * np.log(2 * np.pi)
    return levels, means, shapes


def slow_joint(rows, levels, means, shapes):
    delta = rows.astype(np.float64)[:, None, :] - means
    if shapes.ndim == 3:
        return levels - 0.5 * (np.einsum("kij,nkj->nki", shapes, delta) ** 2).sum(axis=2)
    return levels - 0.5 * (shapes * delta**2).sum(axis=2)


def slow_pass(rows, weight, levels, means, shapes):
    joint, delta = slow_joint(rows, levels, means, shapes), rows.astype(np.float64)[:, None, :] - means
    w, log = np.ones(len(rows)) if weight is None else weight, logsumexp(joint, axis=1)
    r = w[:, None] * np.exp(joint - log[:, None])
    outer = "nk,nki,nkj->kij" if shapes.ndim == 3 else "nk,nki,nki->ki"
    return w @ log, r.sum(axis=0), np.einsum("nk,nki->ki", r, delta), np.einsum(outer, r, delta, delta)


def agree(found, expected, tolerance=1e-12):
    """Sums may cancel: the totals are measured by the squares that bound them."""
    spread = expected[3].sum(axis=-1) if expected[3].ndim == 2 else np.trace(expected[3], axis1=1, axis2=2)
    bound = np.sqrt(spread * expected[1]).max(initial=0.0)
    sizes = (np.abs(expected[0]), np.max(expected[1], initial=0.0), bound, spread.max(initial=0.0))
    for a, b, size in zip(found, expected, sizes, strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=0.0, atol=tolerance * size + 1e-300)


@pytest.mark.few(16)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 8, 10, 15, 16, 17, 24, 33, 50])
@pytest.mark.parametrize("n", [1, 7, 97, 300])
def test_passes_of_any_size(instructions, kind, n, d):
    rng = np.random.default_rng(1000 * n + d)
    for K in (1, 5):
        levels, means, shapes = components(K, d, rng)
        X = means[rng.integers(K, size=n)] + rng.standard_normal((n, d))
        for weight in (None, rng.uniform(0.0, 2.0, n)):
            expected = slow_pass(X, weight, levels, means, shapes[kind])
            for run in PASSES:
                agree(run(X, weight, levels, means, shapes[kind]), expected)


@pytest.mark.few(8)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spread", [0.0, 0.5, 3.0, 30.0])
def test_any_overlap(instructions, kind, spread):
    """From rows that belong to every component alike to rows that belong to one alone."""
    rng = np.random.default_rng(3)
    for d, K in ((6, 12), (30, 7)):
        levels, means, shapes = components(K, d, rng, spread)
        X = means[rng.integers(K, size=700)] + rng.standard_normal((700, d))
        expected = slow_pass(X, None, levels, means, shapes[kind])
        for run in PASSES:
            agree(run(X, None, levels, means, shapes[kind]), expected)


@pytest.mark.few(20)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", ["C", "F", "rows skipped", "columns skipped", "reversed", "packed"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_any_layout(instructions, kind, layout, dtype):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((603, 22)).astype(dtype)
    packed = np.zeros(603, dtype=[("label", "S1"), ("x", dtype, 22)])
    packed["x"] = X
    X = {
        "C": X,
        "F": np.asfortranarray(X),
        "rows skipped": X[::3],
        "columns skipped": X[:, ::3],
        "reversed": X[::-1, ::-1],
        "packed": packed["x"],
    }[layout]
    levels, means, shapes = components(3, X.shape[1], rng)
    weight = rng.uniform(0.0, 2.0, 2 * len(X))[::2]
    for K in (3, 1):
        given = levels[:K], means[:K], shapes[kind][:K]
        expected = slow_pass(X, weight, *given)
        for run in PASSES:
            agree(run(X, weight, *given), expected)
        for joint in JOINTS:
            np.testing.assert_allclose(joint(X, *given), slow_joint(X, *given), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 4, 9, 40])
def test_joint_densities(instructions, kind, d):
    rng = np.random.default_rng(d)
    levels, means, shapes = components(6, d, rng)
    levels[2] = -np.inf
    for n in (0, 1, 95, 2000):
        X = 3.0 * rng.standard_normal((n, d))
        for joint in JOINTS:
            found = joint(X, levels, means, shapes[kind])
            assert found.shape == (n, 6)
            np.testing.assert_allclose(found, slow_joint(X, levels, means, shapes[kind]), rtol=1e-12)


def test_log_likelihood_is_that_of_scipy(instructions):
    rng = np.random.default_rng(8)
    levels, means, shapes = components(3, 4, rng)
    X = 2.0 * rng.standard_normal((500, 4))
    density = sum(
        multivariate_normal(mean, np.linalg.inv(root.T @ root)).pdf(X) / 3
        for mean, root in zip(means, shapes["full"], strict=True)
    )
    assert PASSES[0](X, None, levels, means, shapes["full"]).loglik == pytest.approx(np.log(density).sum(), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_no_rows(instructions, kind):
    levels, means, shapes = components(3, 5, np.random.default_rng(0))
    for weight in (None, np.zeros(0)):
        for run in PASSES:
            for part in run(np.zeros((0, 5)), weight, levels, means, shapes[kind]):
                assert not np.any(part)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [3, 20])
def test_a_weight_is_a_number_of_copies(instructions, kind, d):
    rng = np.random.default_rng(2)
    levels, means, shapes = components(4, d, rng)
    X, copies = rng.standard_normal((300, d)), rng.integers(0, 4, 300)
    for run in PASSES:
        weighed = run(X, copies.astype(float), levels, means, shapes[kind])
        agree(weighed, run(np.repeat(X, copies, axis=0), None, levels, means, shapes[kind]))
        tiny = run(X, 1e-200 * copies, levels, means, shapes[kind])
        agree([1e200 * np.asarray(part) for part in tiny], weighed)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [3, 20])
def test_rows_without_weight_may_hold_anything(instructions, kind, d):
    rng = np.random.default_rng(4)
    levels, means, shapes = components(3, d, rng)
    X, weight = rng.standard_normal((500, d)), np.ones(500)
    weight[[0, 99, 400]] = 0.0
    X[0], X[99, 1], X[400] = np.nan, np.inf, 1e200
    kept = weight > 0
    for run in PASSES:
        agree(
            run(X, weight, levels, means, shapes[kind]),
            slow_pass(X[kept], None, levels, means, shapes[kind]),
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [2, 20])
@pytest.mark.parametrize("distance", [1e2, 1e5, 1e100])
def test_rows_far_from_every_component(instructions, kind, d, distance):
    """exp(joint) is zero in all components, yet the row has a likelihood and belongs somewhere."""
    rng = np.random.default_rng(6)
    levels, means, shapes = components(4, d, rng)
    X = distance * rng.choice([-1.0, 1.0], (150, d))
    for run in PASSES:
        found = run(X, None, levels, means, shapes[kind])
        agree(found, slow_pass(X, None, levels, means, shapes[kind]))
        assert np.isfinite(found.loglik)
        assert found.weight.sum() == pytest.approx(150, rel=1e-13)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [2, 20])
def test_rows_whose_distance_is_beyond_the_numbers(instructions, kind, d):
    levels, means, shapes = components(4, d, np.random.default_rng(6))
    for run in PASSES:
        found = run(np.full((3, d), 1e160), None, levels, means, shapes[kind])
        assert np.isfinite(found.loglik)
        assert found.loglik < -1e299
        np.testing.assert_allclose(found.weight, 0.75)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [2, 20])
def test_empty_components(instructions, kind, d):
    rng = np.random.default_rng(7)
    levels, means, shapes = components(5, d, rng)
    X = rng.standard_normal((200, d))
    levels[[0, 3]] = -np.inf
    for run in PASSES:
        found = run(X, None, levels, means, shapes[kind])
        kept = [1, 2, 4]
        others = slow_pass(X, None, levels[kept], means[kept], shapes[kind][kept])
        agree((found[0], *(part[kept] for part in found[1:])), others)
        assert not any(np.any(part[[0, 3]]) for part in found[1:])
        nothing = run(X, None, np.full(5, -np.inf), means, shapes[kind])
        assert nothing.loglik == -np.inf
        assert not any(np.any(part) for part in nothing[1:])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [2, 20])
def test_a_missing_entry_shows(instructions, kind, d):
    rng = np.random.default_rng(9)
    levels, means, shapes = components(3, d, rng)
    X = rng.standard_normal((300, d))
    X[150, d - 1] = np.nan
    for run in PASSES:
        found = run(X, None, levels, means, shapes[kind])
        assert np.isnan(found.loglik)
        assert all(np.isnan(part).any() for part in found[1:])
    for joint in JOINTS:
        found = np.isnan(joint(X, levels, means, shapes[kind]))
        assert found[150].all()
        assert found.sum() == 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [3, 20])
def test_a_large_mean_costs_no_digits(instructions, kind, d):
    """At 2²⁰ times the spread the rows are still exact, and so are their deviations."""
    rng = np.random.default_rng(10)
    levels, means, shapes = components(3, d, rng)
    means = np.round(means * 1024) / 1024
    X = np.round((means[rng.integers(3, size=400)] + rng.standard_normal((400, d))) * 1024) / 1024
    for run in PASSES:
        near = run(X, None, levels, means, shapes[kind])
        far = run(X + 2.0**20, None, levels, means + 2.0**20, shapes[kind])
        agree(far, near, 1e-15)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [3, 20])
def test_a_tiny_share_in_far_rows_counts(instructions, kind, d):
    """The second component has a share of e⁻⁷⁵ in each row and no other: nothing where rows are near, a lot far out."""
    rng = np.random.default_rng(11)
    shape = components(1, d, rng)[2][kind]
    given = np.array([0.0, -75.0]), np.zeros((2, d)), np.concatenate([shape, shape])
    X = 1e6 * rng.standard_normal((300, d))
    expected = slow_pass(X, None, *given)
    assert 1e-25 < expected[3][1].max() < 1e-15
    for run in PASSES:
        found = run(X, None, *given)
        agree((0.0, *(part[1:] for part in found[1:])), (0.0, *(part[1:] for part in expected[1:])))
        near = run(X / 1e6, None, *given)
        assert near.weight[1] < 300 * 1e-30
        np.testing.assert_allclose(near.weight[0], 300.0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [4, 24])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_number_of_threads_changes_nothing(instructions, kind, d, dtype):
    rng = np.random.default_rng(12)
    levels, means, shapes = components(4, d, rng)
    X, weight = rng.standard_normal((30001, d)).astype(dtype), rng.uniform(0.0, 2.0, 30001)
    results = []
    for threads in (1, 2, 5):
        with threadpool_limits(threads):
            found = PASSES[0](X, weight, levels, means, shapes[kind])
            results.append((*found, JOINTS[0](X, levels, means, shapes[kind])))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("d", [6, 20])
def test_scatters_are_symmetric(instructions, d):
    rng = np.random.default_rng(13)
    levels, means, shapes = components(3, d, rng)
    scatter = PASSES[0](rng.standard_normal((500, d)), None, levels, means, shapes["full"]).spread
    np.testing.assert_array_equal(scatter, scatter.transpose(0, 2, 1))
    assert np.linalg.eigvalsh(scatter).min() > 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_of_any_layout_and_type(instructions, kind):
    rng = np.random.default_rng(14)
    levels, means, shapes = components(3, 6, rng)
    X = rng.standard_normal((200, 6))
    X.flags.writeable = False
    shape = shapes[kind]
    expected = slow_pass(X, np.ones(200), levels, means, shape)
    found = PASSES[0](X, np.ones(200, dtype=int), levels, np.asfortranarray(means), np.asfortranarray(shape))
    agree(found, expected)
    single = PASSES[0](X, None, levels.astype(np.float32), means.astype(np.float32), shape.astype(np.float32))
    agree(single, expected, 1e-5)


def test_what_stands_above_the_diagonal_of_a_root_is_not_read(instructions):
    rng = np.random.default_rng(15)
    levels, means, shapes = components(2, 6, rng)
    X, roots = rng.standard_normal((100, 6)), shapes["full"]
    spoiled = roots + np.triu(np.full((6, 6), np.nan), 1)
    for run in PASSES:
        for a, b in zip(run(X, None, levels, means, spoiled), run(X, None, levels, means, roots), strict=True):
            np.testing.assert_array_equal(a, b)
    for joint in JOINTS:
        np.testing.assert_array_equal(joint(X, levels, means, spoiled), joint(X, levels, means, roots))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "d", "K", "S"), [(29, 1, 3, 5), (300, 4, 2, 1), (3000, 7, 3, 4), (150, 20, 2, 3)])
@pytest.mark.parametrize("kind", KINDS)
def test_many_mixtures_are_each_as_alone(kind, n, d, K, S, dtype):
    rng = np.random.default_rng(0)
    rows, weight = rng.standard_normal((n, d)).astype(dtype), rng.random(n)
    levels, means, shapes = components(S * K, d, rng)
    for passes, one in zip(MANY, PASSES, strict=True):
        found = []
        for limit in (1, 2, 4):
            with threadpool_limits(limit):
                found.append(passes(rows, weight, levels, means, shapes[kind], S))
        for a, b, c in zip(*found, strict=True):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(a, c)
        for s in range(S):
            part = slice(s * K, (s + 1) * K)
            alone = one(rows, weight, levels[part], means[part], shapes[kind][part])
            assert found[0].loglik[s] == alone[0]
            for many, single in zip(found[0][1:], alone[1:], strict=True):
                np.testing.assert_array_equal(many[part], single)

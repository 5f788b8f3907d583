"""EM from several starts at once: each run is what it would be alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_limits

from eigenlens.data.memory import ArraySource
from eigenlens.mixture.em import (
    BestEnd,
    ComponentLost,
    clamped_components,
    em_steps,
    estimate_state,
    run_from_start,
    run_from_starts,
)
from eigenlens.mixture.fit import MixtureOptions, fit_mixture, summarise_rows
from eigenlens.mixture.problem import make_problem
from eigenlens.mixture.starts import _smallest, _sorted_order, _squared_distances, k_means_plus_plus
from eigenlens.mixture.structures import COVARIANCE_STRUCTURES, make_structure
from eigenlens.mixture.structures.parameters import raise_to_floor

IRIS = load_iris().data


def with_missing(X):
    rows = X.copy()
    rows[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return rows


def asked(X, K, name, prior="none", weight=None):
    structure = make_structure(name, 1)
    return make_problem(summarise_rows(ArraySource(X).weighted(weight), structure), K, structure, prior=prior)


def starts(problem, X, K, count):
    """The mixtures of the rows nearest to some of them."""
    filled, found = problem.fill_missing(X), []
    for seed in range(count):
        centres = k_means_plus_plus(filled, np.ones(len(X)), K, np.random.default_rng(seed))
        labels = np.sum((filled[:, None] - centres) ** 2, axis=2).argmin(axis=1)
        found.append(
            estimate_state(
                problem, problem.structure.moments.of_groups(ArraySource(filled).blocks().__next__(), np.eye(K)[labels])
            )
        )
    return found


@pytest.mark.parametrize("rows", ["complete", "with gaps"])
@pytest.mark.parametrize("name", COVARIANCE_STRUCTURES)
def test_side_by_side_as_alone(name, rows):
    X = IRIS[::2] if rows == "complete" else with_missing(IRIS[::3])
    problem = asked(X, 3, name, prior="conjugate")
    some = starts(problem, X, 3, 4)
    for one, alone in zip(
        run_from_starts(problem, some, tol=1e-4, max_iter=12),
        [run_from_start(problem, start, tol=1e-4, max_iter=12) for start in some],
        strict=True,
    ):
        # A last step that changes nothing but the last bit may be accepted by one of them and not by the other.
        both = min(len(one.path), len(alone.path))
        np.testing.assert_allclose(one.path[:both], alone.path[:both], rtol=1e-9)
        np.testing.assert_allclose([*one.path[both:], *alone.path[both:]], alone.path[both - 1], rtol=1e-12)
        np.testing.assert_allclose(one.mixture.means, alone.mixture.means, rtol=1e-5)
        assert one.steps == alone.steps


@pytest.mark.parametrize("name", ["full", "diag"])
def test_runs_out_of_reach_of_the_best_end_are_given_up_and_no_other(name):
    """The best ends are those without it; what is given up ends lower, and takes fewer steps."""
    problem = asked(IRIS, 4, name, prior="conjugate")
    some, options = starts(problem, IRIS, 4, 24), {"tol": 1e-5, "max_iter": 200}
    alone, best_end = run_from_starts(problem, some, **options), BestEnd()
    found = run_from_starts(problem, some, **options, best_end=best_end)
    assert best_end.value == max(one.path[-1] for one in found if not clamped_components(problem, one.state).any())
    given_up = [i for i, (one, full) in enumerate(zip(found, alone, strict=True)) if one.steps < full.steps]
    assert given_up
    for i, (one, full) in enumerate(zip(found, alone, strict=True)):
        if i in given_up:
            assert not one.converged
            assert full.path[-1] < best_end.value
        else:
            np.testing.assert_allclose(one.path[-1], full.path[-1], rtol=1e-9)
    assert sum(one.steps for one in found) < sum(full.steps for full in alone)


def test_rows_equally_far_from_two_centres_belong_to_the_first():
    """Four rows in three columns are equally far from each other: weights and copies must not make them differ."""
    Y = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    for order in ([0, 1], [1, 0]):
        nearest = _smallest(_squared_distances(Y, Y[order]))
        assert nearest.tolist() == [order.index(0), order.index(1), 0, 0]


def test_a_step_is_that_of_the_book():
    """The responsibilities, and the means and covariances that they weigh, for mixtures of two numbers of rows."""
    problem = asked(IRIS, 2, "full")
    some = starts(problem, IRIS, 2, 3)
    for state, (value, better) in zip(some, em_steps(problem, some), strict=True):
        parts = zip(state.weights, state.means, state.arrays["covariances"], strict=True)
        joint = np.stack([pi * multivariate_normal(mean, C).pdf(IRIS) for pi, mean, C in parts], axis=1)
        R = joint / joint.sum(axis=1, keepdims=True)
        assert value == pytest.approx(np.log(joint.sum(axis=1)).sum(), rel=1e-12)
        np.testing.assert_allclose(better.weights, R.mean(axis=0), rtol=1e-10)
        for k in range(2):
            np.testing.assert_allclose(better.means[k], np.average(IRIS, axis=0, weights=R[:, k]), rtol=1e-10)
            C = np.cov(IRIS.T, aweights=R[:, k], ddof=0)
            np.testing.assert_allclose(better.arrays["covariances"][k], C, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["full", "tied", "diag"])
def test_a_mixture_that_loses_a_component_leaves_the_others_alone(name):
    problem = asked(IRIS, 3, name)
    some = starts(problem, IRIS, 3, 3)
    far = replace(some[1], means=some[1].means + 1e4 * (np.arange(3) == 2)[:, None])
    states = [some[0], far, some[2]]
    first, lost, last = em_steps(problem, states)
    assert isinstance(lost, ComponentLost)
    assert lost.k == 2
    assert lost.state is far
    for found, state in ((first, states[0]), (last, states[2])):
        (alone,) = em_steps(problem, [state])
        assert found[0] == pytest.approx(alone[0], rel=1e-13)
        np.testing.assert_allclose(found[1].means, alone[1].means, rtol=1e-12)
    left = run_from_starts(problem, states, tol=1e-3, max_iter=30)
    assert [len(one.mixture.weights) for one in left] == [3, 2, 3]
    assert [len(one.lost) for one in left] == [0, 1, 0]


@pytest.mark.parametrize("d", [3, 40])
def test_only_what_is_below_the_bound_is_raised(d):
    rng = np.random.default_rng(0)
    B = rng.standard_normal((5, 2, d, d + 5))
    C = B @ np.swapaxes(B, -2, -1)
    C[1, 0] *= 1e-3
    C[4, 1, 0], C[4, 1, :, 0] = 0.0, 0.0
    least = 0.05 * np.eye(d)
    found = raise_to_floor(C, least)
    for one, before in zip(found.reshape(-1, d, d), C.reshape(-1, d, d), strict=True):
        np.testing.assert_allclose(one, raise_to_floor(before[None], least)[0], rtol=1e-9, atol=1e-12)
        assert np.linalg.eigvalsh(one - least)[0] > -1e-10 * np.trace(one)
    assert not np.allclose(found[1, 0], C[1, 0])
    assert not np.allclose(found[4, 1], C[4, 1])


def test_how_many_iterations_go_side_by_side_does_not_matter(monkeypatch):
    from eigenlens.mixture import starts as mixture_starts

    found = []
    for at_once in (1, 7, 1000):
        monkeypatch.setattr(mixture_starts, "_starts_at_once", lambda problem, K, n=at_once: n)
        found.append(fit_mixture(ArraySource(IRIS), 4, MixtureOptions(), np.random.default_rng(0)))
    for fit in found[1:]:
        assert fit.loglik == pytest.approx(found[0].loglik, rel=1e-10)
        np.testing.assert_allclose(fit.model.means, found[0].model.means, rtol=1e-5)


@pytest.mark.parametrize("name", COVARIANCE_STRUCTURES)
def test_the_number_of_threads_does_not_matter(name):
    paths = []
    for limit in (1, 3):
        with threadpool_limits(limit):
            options = MixtureOptions(structure=name)
            paths.append(fit_mixture(ArraySource(IRIS), 3, options, np.random.default_rng(0)).path)
    assert paths[0] == paths[1]


def test_progress_reports_the_iteration_that_is_ahead():
    told = []
    fit = fit_mixture(ArraySource(IRIS), 3, MixtureOptions(), np.random.default_rng(0), lambda *args: told.append(args))
    steps = [step for step, most, label in told if label.startswith("EM")]
    assert steps == list(range(1, len(steps) + 1))
    assert told[-1][2].endswith(f"{fit.path[-1]:.8g}")


@pytest.mark.parametrize("rows", ["distinct", "ties", "missing"])
def test_rows_are_sorted_as_by_every_column(rows):
    rng = np.random.default_rng(0)
    X = rng.integers(3, size=(400, 3)).astype(float) if rows == "ties" else rng.standard_normal((400, 3))
    X[rng.random(X.shape) < (0.3 if rows == "missing" else 0.0)] = np.nan
    np.testing.assert_array_equal(_sorted_order(X), np.lexsort(X.T))

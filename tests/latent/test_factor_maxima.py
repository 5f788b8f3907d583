"""Which maximum factor analysis finds: derivatives, other programs' maxima, floors, doubts, progress."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from sklearn.decomposition import FactorAnalysis as PeerFactorAnalysis

from eigenlens.data.memory import ArraySource
from eigenlens.latent.factor import solvers
from eigenlens.latent.factor.correlation_operator import DenseCorrelations
from eigenlens.latent.factor.fit import fit_factor, fit_factor_covariance
from eigenlens.latent.factor.newton import ProfileStack, minimise_by_newton
from eigenlens.latent.factor.profile_likelihood import FactorOptions, minimise_profile, profile_point
from eigenlens.latent.factor.solvers import (
    CLEAR_IF_CHEAP,
    alternate_updates,
    first_starts,
    heywood_columns,
    is_clear_maximum,
    many_starts,
    minimise_from_starts,
)
from references import factanal as numbers

HARMAN = numbers.HARMAN_CORRELATIONS


def table(n, d, k, seed, noise=(0.5, 1.5)):
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((d, k))
    return rng.standard_normal((n, k)) @ W.T + rng.standard_normal((n, d)) * rng.uniform(*noise, d)


def dense_covariance(n, d, seed):
    """Columns that no few factors explain: many maxima."""
    rng = np.random.default_rng(seed)
    L = rng.standard_normal((d, d + 3))
    return rng.multivariate_normal(np.zeros(d), L @ L.T / d, n)


def unequal_noise(n, d, k, seed):
    """Columns of which some are nearly without error: uniquenesses from 1e-5 to 1."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((d, k))
    return rng.standard_normal((n, k)) @ W.T + rng.standard_normal((n, d)) * 10 ** rng.uniform(-2.0, 0.7, d)


def best_of_random_starts(R, k, floor, count=20, seed=0):
    """The slow twin: f at the lowest end of many random starts."""
    rng, C = np.random.default_rng(seed), DenseCorrelations(R)
    starts = rng.uniform(0.02, 0.98, (count, len(R)))
    return min(minimise_profile(C, k, s, FactorOptions(floor=floor, tol=1e-6, max_iter=500)).path[-1] for s in starts)


# ---- derivatives ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("singular", [False, True])
@pytest.mark.parametrize("k", [1, 4, 9])
def test_derivatives_by_differences(singular, k):
    R = np.corrcoef(table(8 if singular else 200, 10, 3, 0).T)
    stack = ProfileStack(R, k, 1e-8)
    t = np.log(np.random.default_rng(1).uniform(0.1, 0.9, 10))
    point = stack.at(t[None])
    assert point.f[0] == pytest.approx(profile_point(DenseCorrelations(R), k, t).f, rel=1e-11)
    assert_allclose(point.g[0], profile_point(DenseCorrelations(R), k, t).g, atol=1e-9)
    numeric = approx_fprime(t, lambda s: stack.at(s[None]).g[0], 1e-6)
    assert_allclose(point.H[0], numeric, atol=2e-4 * max(1.0, np.abs(numeric).max()))


def test_tiny_uniquenesses_cost_no_digits():
    """f at 1e-8 against the same in long arithmetic, by the determinant and the trace."""
    R, k = HARMAN[:8, :8], 2
    t = np.log(np.array([1e-8, 0.5, 0.4, 0.6, 0.3, 0.7, 0.5, 0.2]))
    mpmath = pytest.importorskip("mpmath")
    mpmath.mp.dps = 50
    root = [mpmath.exp(mpmath.mpf(float(value)) / 2) for value in t]
    A = mpmath.matrix([[mpmath.mpf(float(R[i, j])) / (root[i] * root[j]) for j in range(8)] for i in range(8)])
    w = sorted((mpmath.re(value) for value in mpmath.eigsy(A, eigvals_only=True)), reverse=True)
    exact = mpmath.fsum(mpmath.mpf(float(s)) for s in t) + mpmath.fsum(w[k:])
    exact += mpmath.fsum(mpmath.log(value) + 1 for value in w[:k])
    assert ProfileStack(R, k, 1e-8).at(t[None]).f[0] == pytest.approx(float(exact), abs=1e-13)


def test_a_uniqueness_leaves_the_floor_if_it_ought_to():
    """In log psi the slope at the floor is 1e-8 of that in psi, and below every tolerance."""
    R = HARMAN[:10, :10]
    stack = ProfileStack(R, 2, 1e-8)
    inside = minimise_by_newton(stack, np.full((1, 10), 0.5), FactorOptions(floor=1e-8, tol=1e-7, max_iter=200))
    assert np.exp(inside.t).min() > 0.05
    start = np.exp(inside.t)
    start[3] = 1e-8
    again = minimise_by_newton(stack, start[None], FactorOptions(floor=1e-8, tol=1e-7, max_iter=200))
    assert again.ended == "converged"
    assert np.exp(again.t)[3] > 1e-3


# ---- never below ------------------------------------------------------------------------------------------

HARD = {
    "seed 1": (table(200, 10, 3, 1), 3),
    "seed 10": (table(30, 8, 4, 10), 4),
    "seed 34": (table(30, 8, 4, 34), 4),
    "nothing in common": (np.random.default_rng(4).standard_normal((60, 8)), 3),
    "no few factors": (dense_covariance(40, 9, 3), 2),
    "small noise": (unequal_noise(25, 9, 3, 5), 3),
}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:FactorAnalysis did not converge")  # scikit-learn's, after 3000 steps
@pytest.mark.parametrize("name", HARD)
def test_never_below_scikit_learn_and_many_random_starts(name):
    X, k = HARD[name]
    fit = fit_factor(ArraySource(X), k)
    peer = PeerFactorAnalysis(k, tol=1e-6, max_iter=3000, svd_method="lapack").fit(X)
    n, d = X.shape
    twin = best_of_random_starts(np.corrcoef(X.T), k, FactorOptions.floor)
    constant = d * np.log(2.0 * np.pi) + np.log(X.var(axis=0)).sum()
    assert fit.converged
    assert fit.loglik >= peer.score(X) * n - 1e-5
    assert fit.loglik >= -0.5 * n * (constant + twin) - 1e-5


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_subsets_of_harman_against_factanal_with_ten_starts(seed):
    """factanal keeps uniquenesses above 0.005 and takes the best of its starts."""
    rng = np.random.default_rng(seed)
    columns = rng.choice(24, 12, replace=False)
    R = HARMAN[np.ix_(columns, columns)]
    for k in (3, 5):
        peer = best_of_random_starts(R, k, 0.005, count=10, seed=seed)
        found = minimise_from_starts(DenseCorrelations(R), k, "quasi-newton", FactorOptions())
        assert found.path[-1] <= peer + 1e-8


def test_more_variables_go_on_from_where_alternation_leads():
    X = dense_covariance(120, 45, 5)
    R = np.corrcoef(X.T)
    C = DenseCorrelations(R)
    psi = alternate_updates(C, 4, np.ones((1, 45)), 1e-8)[0]
    peer = minimise_profile(C, 4, psi, FactorOptions(floor=1e-8, tol=1e-6, max_iter=1000))
    found = minimise_from_starts(C, 4, "quasi-newton", FactorOptions())
    assert found.path[-1] <= peer.path[-1] + 1e-9
    first = first_starts(C, 4, FactorOptions())
    two = min(minimise_profile(C, 4, s, FactorOptions(floor=1e-8, tol=1e-6, max_iter=1000)).path[-1] for s in first)
    assert found.path[-1] <= two + 1e-12


@pytest.mark.parametrize("k", [1, 3])
def test_alternation_from_several_starts_at_once_is_that_from_each(monkeypatch, k):
    C = DenseCorrelations(HARMAN[:12, :12])
    starts = np.stack([np.ones(12), np.full(12, 0.3), np.linspace(0.1, 0.9, 12)])
    together = alternate_updates(C, k, starts, 1e-8, 20)
    monkeypatch.setattr(solvers, "MAX_VARIABLES_NEWTON_FIRST", 0)
    np.testing.assert_allclose(together, alternate_updates(C, k, starts, 1e-8, 20), rtol=1e-12)


def test_the_floor_costs_likelihood():
    X = unequal_noise(20, 10, 2, 10)
    lower, default, higher = (fit_factor(ArraySource(X), 3, floor=floor) for floor in (1e-10, 1e-8, 1e-6))
    assert heywood_columns(default.model).size > 0
    assert default.converged
    assert 1e-4 < default.loglik - higher.loglik < 1.0
    assert -1e-6 < lower.loglik - default.loglik < 1e-3
    assert np.all(heywood_columns(default.model) == heywood_columns(higher.model, 1e-6))


# ---- doubt ------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_doubt():
    options = FactorOptions()

    def clear(X, k):
        C = DenseCorrelations(np.corrcoef(X.T))
        ends = [minimise_from_starts(C, k, "em", options), *(_quasi(C, k, s) for s in first_starts(C, k, options))]
        return is_clear_maximum(C, k, ends[1:], CLEAR_IF_CHEAP)

    assert clear(table(2000, 10, 2, 0, noise=(0.8, 1.5)), 2)
    assert not clear(table(2000, 10, 2, 0, noise=(0.8, 1.5)), 3)  # a third factor does not stand out
    assert not clear(np.random.default_rng(0).standard_normal((100, 8)), 2)
    assert not clear(table(2000, 10, 4, 0, noise=(0.8, 1.5)), 2)  # two are left over


def _quasi(C, k, start):
    return minimise_profile(C, k, start, FactorOptions(floor=1e-8, tol=1e-7, max_iter=500))


def test_further_starts_put_every_variable_near_the_floor():
    starts = many_starts(np.full(5, 0.4), np.random.default_rng(0))
    assert starts.shape == (5 + 5 + 32, 5)
    assert np.all(np.sort(starts[:10], axis=1)[:, 0] <= 1e-2)
    assert sorted(starts[:5].argmin(axis=1)) == list(range(5))
    wide = many_starts(np.linspace(0.1, 0.9, 30), np.random.default_rng(0))
    assert wide.shape == (18, 30)
    assert wide[:10].argmin(axis=1).tolist() == list(range(10))


@pytest.mark.long
def test_neighbours_are_looked_at():
    """Two uniquenesses at the floor at once, which starts with one there do not lead to."""
    rng = np.random.default_rng([154, ord("C")])
    d, k, n = int(rng.integers(4, 21)), int(rng.integers(1, 6)), 500
    rng.choice(6)
    R = np.corrcoef(rng.standard_normal((n, d)).T)
    found = minimise_from_starts(DenseCorrelations(R), k, "quasi-newton", FactorOptions())
    assert found.path[-1] <= best_of_random_starts(R, k, 1e-8, count=40) + 1e-9


def test_the_answer_does_not_depend_on_who_else_starts():
    """A stack of starts is no worse than each of them alone, and repeats itself."""
    R = np.corrcoef(dense_covariance(40, 9, 3).T)
    stack = ProfileStack(R, 2, 1e-8)
    starts = many_starts(np.clip(DenseCorrelations(R).uniquenesses(2), 1e-8, 1.0), np.random.default_rng(0))
    options = FactorOptions(floor=1e-8, tol=1e-6, max_iter=200)
    together, again = (minimise_by_newton(stack, starts, options) for _ in range(2))
    alone = min(minimise_by_newton(stack, s[None], options).path[-1] for s in starts)
    assert together.path[-1] <= alone + 1e-9
    assert together.path == again.path


# ---- progress, interrupts, ends ---------------------------------------------------------------------------


@pytest.mark.parametrize(("solver", "d"), [("quasi-newton", 8), ("quasi-newton", 60), ("em", 8)])
def test_progress_tells_the_log_likelihood_of_each_step(solver, d):
    X, told = table(300, d, 2, 0), []
    fit = fit_factor(ArraySource(X), 2, solver=solver, progress=lambda *args: told.append(args))
    name = {"quasi-newton": "quasi-Newton", "em": "EM"}[solver]
    steps = [args for args in told if args[2].startswith(f"{name}: step")]
    values = [float(what.rsplit(" ", 1)[1]) for _, _, what in steps]
    assert values == sorted(values)
    assert values[-1] == pytest.approx(fit.loglik, rel=1e-7)
    assert all(step <= total == 1000 for step, total, _ in steps)
    assert len(steps) >= fit.n_iter


@pytest.mark.parametrize(("solver", "d"), [("quasi-newton", 8), ("quasi-newton", 60), ("em", 8)])
def test_an_interrupt_keeps_the_best(solver, d):
    X = table(300, d, 2, 0)

    def stop(done, total, what):
        if "step 3" in what:
            raise KeyboardInterrupt

    whole = fit_factor(ArraySource(X), 2, solver=solver)
    part = fit_factor(ArraySource(X), 2, solver=solver, progress=stop)
    assert (part.interrupted, part.converged, part.ended) == (True, False, "interrupted")
    assert part.loglik < whole.loglik
    assert part.loglik > whole.loglik - 0.05 * abs(whole.loglik)


def test_how_it_ended():
    X = table(300, 8, 2, 0)
    assert fit_factor(ArraySource(X), 2).ended == "converged"
    for d in (8, 60):
        assert fit_factor(ArraySource(table(300, d, 2, 0)), 2, max_iter=2).ended == "max_iter"
    tight = fit_factor(ArraySource(X), 2, tol=1e-18)
    assert (tight.converged, tight.ended) == (False, "rounding")
    assert tight.n_iter < 1000


def test_zero_weight_rows_may_hold_anything():
    X = table(200, 6, 2, 0)
    w = np.ones(200)
    w[:5] = 0.0
    holes = X.copy()
    holes[:5, 2] = np.nan
    plain = fit_factor(ArraySource(X[5:]), 2)
    weighted = fit_factor(ArraySource(holes).weighted(w), 2)
    assert weighted.solver == "quasi-newton"
    assert weighted.moments is not None
    assert weighted.loglik == pytest.approx(plain.loglik, rel=1e-12)


def test_a_matrix_and_the_rows_behind_it():
    X = table(150, 7, 2, 3) + 4.0
    S = np.cov(X.T, ddof=0)
    rows, matrix = fit_factor(ArraySource(X), 2), fit_factor_covariance(S, 150, 2, mean=X.mean(axis=0))
    assert matrix.loglik == pytest.approx(rows.loglik, rel=1e-12)
    assert_allclose(matrix.model.loadings, rows.model.loadings, atol=1e-6)
    assert_allclose(matrix.model.mean, X.mean(axis=0))

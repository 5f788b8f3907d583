"""Gaussian mixtures: the references of mclust, and the laws that every fit obeys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_limits

from eigenlens.data.memory import ArraySource, SparseSource
from eigenlens.densities.covariance import Full
from eigenlens.densities.gaussian import Gaussian
from eigenlens.densities.mixture import Mixture
from eigenlens.errors import DataError, OptionError
from eigenlens.latent.factor.fit import fit_factor
from eigenlens.latent.ppca.fit import fit_ppca
from eigenlens.mixture.em import MixtureState, clamped_components, run_from_start
from eigenlens.mixture.fit import MixtureOptions, fit_mixture, summarise_rows
from eigenlens.mixture.problem import covariance_floor, make_problem
from eigenlens.mixture.starts import (
    CENTRE_RULES,
    Start,
    from_centres,
    from_mixture,
    from_responsibilities,
    inclusion_probabilities,
)
from eigenlens.mixture.structures import COVARIANCE_STRUCTURES, make_structure
from eigenlens.mixture.structures.parameters import PARAMETERS, raise_to_floor
from references import crabs, mclust

IRIS = load_iris().data
DATA = {"faithful": mclust.FAITHFUL, "iris": IRIS}
CRABS = crabs.CENTRES, crabs.COUNTS


def fitted(X, K, seed=0, weight=None, n_init=4, **options):
    source = X if not isinstance(X, np.ndarray) else ArraySource(X)
    options = {"starting": from_centres(CENTRE_RULES["k-means++"], n_init)} | options
    return fit_mixture(source.weighted(weight), K, MixtureOptions(**options), np.random.default_rng(seed))


def clusters(n=300, d=3, K=3, seed=0, spread=4.0):
    rng = np.random.default_rng(seed)
    centres = spread * rng.standard_normal((K, d))
    return np.concatenate([c + rng.standard_normal((n // K, d)) @ rng.standard_normal((d, d)) for c in centres])


def gaussians(weights, means, covariances):
    return Mixture(
        np.asarray(weights), tuple(Gaussian(np.asarray(m), Full(C)) for m, C in zip(means, covariances, strict=True))
    )


# ---- references ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", mclust.STRUCTURES)
@pytest.mark.parametrize("data", DATA)
def test_at_least_as_likely_as_mclust(data, name, accuracy):
    """One component agrees to rounding; more are never worse than what mclust's one start finds."""
    for K in (1, 2, 3):
        fit = fitted(DATA[data], K, n_init=20, structure=name)
        reference = mclust.LOGLIK[data, mclust.STRUCTURES[name]][K - 1]
        what = f"mixture of {data}, {name}, K = {K}: log-likelihood"
        accuracy.at_least(what, fit.loglik, reference, system="mclust 6.0", slack=1e-6)
        assert fit.converged
        assert not fit.clamped
        if abs(fit.loglik - reference) < 1e-3:
            assert fit.bic() == pytest.approx(-mclust.BIC[data, mclust.STRUCTURES[name]][K - 1], abs=1e-4)


@pytest.mark.parametrize(
    ("data", "name", "K", "loglik"),
    [
        ("faithful", "tied", 3, -1126.31592782723),
        ("faithful", "full", 2, -1130.26396018475),
        ("iris", "full", 3, -180.185477131345),
    ],
)
def test_known_maxima(data, name, K, loglik):
    assert fitted(DATA[data], K, n_init=20, structure=name).loglik == pytest.approx(loglik, abs=1e-5)


def test_mclusts_choice_for_old_faithful():
    """`Mclust` stops a hundredth short of the maximum; from its parameters ours reaches it."""
    known = mclust.FAITHFUL_EEE_3
    start = gaussians(known["weights"], known["means"], [known["covariance"]] * 3)
    assert start.log_density(mclust.FAITHFUL).sum() == pytest.approx(known["loglik"], abs=1e-2)
    fit = fitted(mclust.FAITHFUL, 3, structure="tied", starting=from_mixture(start), in_order=True)
    assert fit.loglik == pytest.approx(-1126.31592782723, abs=1e-6)
    np.testing.assert_allclose(fit.model.means, known["means"], rtol=0.02)


def crab_start():
    return from_mixture(gaussians([0.5, 0.5], [[0.62], [0.66]], [np.array([[4e-4]])] * 2))


def test_acceleration_saves_nine_steps_of_ten():
    x, counts = CRABS
    options = {"starting": crab_start(), "tol": 1e-10, "max_iter": 5000, "weight": counts.astype(float)}
    plain, fast = (fitted(x[:, None], 2, accelerate=how, **options) for how in (False, True))
    assert plain.converged
    assert fast.converged
    assert plain.n_iter > 600
    assert fast.n_iter <= 62
    assert fast.loglik == pytest.approx(plain.loglik, abs=1e-6)
    np.testing.assert_allclose(np.sort(fast.model.means.ravel()), [0.63374, 0.65658], atol=2e-5)


@pytest.mark.parametrize("tol", [1e-8, 1e-10])
def test_the_reported_remaining_gain_is_not_exceeded(tol):
    """From many starts, a fit reported as converged is within tol per row of the limit of far more steps."""
    cases = [(CRABS[0][:, None], CRABS[1], 2, "full"), (mclust.FAITHFUL, None, 3, "full"), (IRIS, None, 2, "tied")]
    cases += [(clusters(d=2, K=3, seed=seed, spread=0.8), None, 3, "diag") for seed in (1, 2)]
    for X, weight, K, name in cases:
        structure = make_structure(name, 1)
        source = ArraySource(X).weighted(None if weight is None else weight.astype(float))
        problem = make_problem(summarise_rows(source, structure), K, structure)
        for seed in range(4):
            start = from_centres(CENTRE_RULES["random"], 1)(problem, K, np.random.default_rng(seed), 1000)[0].state
            found = run_from_start(problem, start, tol=tol * problem.weight, max_iter=2000)
            if not found.converged or clamped_components(problem, found.state).any():
                continue
            further = run_from_start(problem, found.state, tol=0.0, max_iter=300)
            assert further.path[-1] - found.path[-1] <= tol * problem.weight


# ---- the step -----------------------------------------------------------------------------------------------


def test_plain_steps_are_the_textbooks():
    X = clusters()
    start = gaussians([0.2, 0.3, 0.5], X[[0, 120, 250]], [np.cov(X.T)] * 3)
    fit = fitted(X, 3, starting=from_mixture(start), accelerate=False, max_iter=7, tol=1e-15, in_order=True)
    pi, mu, C = start.weights, start.means, [np.cov(X.T)] * 3
    path = []
    for _ in range(8):
        p = np.stack([w * multivariate_normal(m, S).pdf(X) for w, m, S in zip(pi, mu, C, strict=True)], axis=1)
        path.append(np.log(p.sum(axis=1)).sum())
        kept = pi, mu, C
        R = p / p.sum(axis=1, keepdims=True)
        n = R.sum(axis=0)
        pi, mu = n / len(X), R.T @ X / n[:, None]
        C = [((X - m) * r[:, None]).T @ (X - m) / r.sum() for m, r in zip(mu, R.T, strict=True)]
    np.testing.assert_allclose(fit.path, path, rtol=1e-11)
    np.testing.assert_allclose(fit.model.weights, kept[0], rtol=1e-9)
    np.testing.assert_allclose(fit.model.means, kept[1], rtol=1e-8)
    assert fit.n_iter == 7
    assert not fit.converged


@pytest.mark.parametrize("name", COVARIANCE_STRUCTURES)
def test_likelihood_never_falls_and_is_that_of_the_model(name):
    X = clusters(d=4, spread=1.0)
    for accelerate in (False, True):
        fit = fitted(
            X, 3, structure=name, n_factors=2, accelerate=accelerate, starting=from_centres(CENTRE_RULES["random"], 1)
        )
        gains = np.diff(fit.path)
        assert np.all(gains >= 0.0)
        assert fit.loglik == pytest.approx(fit.model.log_density(X).sum(), rel=1e-11)
        assert fit.model.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("name", COVARIANCE_STRUCTURES)
def test_one_component_is_one_gaussian(name):
    X = clusters(K=1, d=4)
    fit = fitted(X, 1, structure=name, n_factors=2)
    np.testing.assert_allclose(fit.model.means[0], X.mean(axis=0), rtol=1e-10)
    C = {"full": np.cov(X.T, ddof=0), "tied": np.cov(X.T, ddof=0), "diag": np.diag(X.var(axis=0))}
    C["spherical"] = np.eye(4) * X.var(axis=0).mean()
    if name in C:
        np.testing.assert_allclose(fit.model.covariance(), C[name], rtol=1e-9, atol=1e-9)


def test_latent_structures_reach_their_one_group_maxima():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2)) @ rng.standard_normal((2, 6)) + rng.standard_normal((400, 6)) * np.arange(1, 7)
    assert fitted(X, 1, structure="ppca", n_factors=2).loglik == pytest.approx(fit_ppca(ArraySource(X), 2).loglik)
    mine = fitted(X, 1, structure="factor", n_factors=2).loglik
    assert mine == pytest.approx(fit_factor(ArraySource(X), 2, rng=np.random.default_rng(0)).loglik, abs=1e-5)


@pytest.mark.parametrize("name", ["ppca", "factor"])
def test_latent_structures_lie_between_less_and_more(name):
    """With d − 1 dimensions ppca is full; with fewer it is no likelier, and no less likely than none."""
    X = clusters(d=4)
    R = np.random.default_rng(5).dirichlet(np.ones(3), len(X)) + 5.0 * np.eye(3)[np.arange(len(X)) // 100]
    start = {"starting": from_responsibilities(R / R.sum(axis=1, keepdims=True)), "in_order": True}
    lower = fitted(X, 3, structure={"ppca": "spherical", "factor": "diag"}[name], **start)
    upper = fitted(X, 3, structure="full", **start)
    mine = [fitted(X, 3, structure=name, n_factors=q, **start) for q in (1, 2, 3)]
    values = [lower.loglik, *(fit.loglik for fit in mine), upper.loglik]
    assert np.all(np.diff(values) > -1e-4)
    assert mine[2].loglik == pytest.approx(upper.loglik, abs=1e-3)
    assert lower.parameters < mine[0].parameters < mine[1].parameters


def test_free_parameters():
    X = clusters(d=4)
    found = {name: fitted(X, 3, structure=name, n_factors=2, max_iter=2).parameters for name in COVARIANCE_STRUCTURES}
    assert found == {
        "full": 2 + 12 + 30, "tied": 2 + 12 + 10, "diag": 2 + 12 + 12, "spherical": 2 + 12 + 3,
        "ppca": 2 + 12 + 3 * (8 - 1 + 1), "factor": 2 + 12 + 3 * (8 - 1 + 4),
    }  # fmt: skip


# ---- laws ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COVARIANCE_STRUCTURES)
def test_weights_are_copies(name):
    X = clusters(d=4, n=150)
    w = np.random.default_rng(3).integers(0, 4, len(X)).astype(float)
    weighted = fitted(X, 3, structure=name, weight=w)
    copies = fitted(np.repeat(X, w.astype(int), axis=0), 3, structure=name)
    assert weighted.loglik == pytest.approx(copies.loglik, rel=1e-8)  # where climbs end depends on rounding
    np.testing.assert_allclose(weighted.model.means, copies.model.means, rtol=1e-4, atol=1e-4)
    assert weighted.bic() == pytest.approx(copies.bic(), rel=1e-8)
    assert weighted.rows == np.count_nonzero(w)


@pytest.mark.parametrize("name", COVARIANCE_STRUCTURES)
def test_blocks_change_nothing(name):
    X = clusters(d=4)
    start = from_responsibilities(np.random.default_rng(1).dirichlet(np.ones(3), len(X)))
    whole, blocks = (
        fitted(source, 3, structure=name, starting=start, max_iter=20, accelerate=False)
        for source in (ArraySource(X), ArraySource(X, block_rows=37))
    )
    assert blocks.loglik == pytest.approx(whole.loglik, rel=1e-10)
    np.testing.assert_allclose(blocks.model.means, whole.model.means, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["full", "diag"])
def test_sparse_rows_are_rows(name):
    X = clusters(d=4)
    X[np.abs(X) < 0.5] = 0.0
    dense = fitted(X, 3, structure=name)
    sparse = fitted(SparseSource(sp.csr_matrix(X), block_rows=50), 3, structure=name)
    assert sparse.loglik == pytest.approx(dense.loglik, rel=1e-10)


def test_full_covariances_know_no_units_or_directions():
    X = clusters()
    A = np.array([[2.0, 1.0, 0.0], [0.0, 0.5, -3.0], [1.0, 0.0, 40.0]])
    Y = X @ A.T + np.array([1e4, -5.0, 3.0])
    R = np.eye(3)[np.arange(300) // 100] * 0.8 + 0.2 / 3
    plain, mapped = (fitted(Z, 3, starting=from_responsibilities(R), in_order=True, tol=1e-13) for Z in (X, Y))
    jacobian = len(X) * np.linalg.slogdet(A)[1]
    assert mapped.loglik == pytest.approx(plain.loglik - jacobian, rel=1e-10)
    np.testing.assert_allclose(mapped.model.means, plain.model.means @ A.T + [1e4, -5.0, 3.0], rtol=1e-6)
    np.testing.assert_allclose(mapped.model.responsibilities(Y), plain.model.responsibilities(X), atol=1e-5)


@pytest.mark.parametrize("prior", ["none", "conjugate"])
@pytest.mark.parametrize("name", ["full", "tied", "diag", "factor"])
def test_units_of_columns_do_not_matter(name, prior):
    X, s = clusters(d=4), np.array([1e-3, 1.0, 50.0, 1e5])
    R = np.eye(3)[np.arange(300) // 100] * 0.8 + 0.2 / 3
    options = {"structure": name, "prior": prior, "starting": from_responsibilities(R), "in_order": True}
    plain, scaled = (fitted(Z, 3, **options) for Z in (X, X * s))
    assert scaled.loglik == pytest.approx(plain.loglik - len(X) * np.log(s).sum(), rel=1e-8)


@pytest.mark.parametrize("name", COVARIANCE_STRUCTURES)
def test_float32_has_no_negative_variances(name):
    X = (clusters(d=4) + 1000.0).astype(np.float32)
    single, double = fitted(X, 3, structure=name), fitted(X.astype(np.float64), 3, structure=name)
    assert single.loglik == pytest.approx(double.loglik, rel=1e-6)
    assert np.linalg.eigvalsh(single.model.covariance()).min() > 0.0
    assert not single.clamped


def test_same_seed_same_mixture_whatever_the_threads():
    X = clusters(spread=1.5)
    found = []
    for limit in (1, 2):
        with threadpool_limits(limit):
            found.append(fitted(X, 4, seed=7))
    np.testing.assert_array_equal(found[0].model.means, found[1].model.means)
    assert found[0].path == found[1].path


@pytest.mark.parametrize("name", ["full", "diag"])
def test_the_order_of_rows_does_not_matter(name):
    """Where there are many maxima, the same seed finds the same one."""
    X = clusters(spread=1.0)
    order = np.random.default_rng(1).permutation(len(X))
    plain, turned = (fitted(rows, 5, n_init=2, structure=name) for rows in (X, X[order]))
    assert turned.loglik == pytest.approx(plain.loglik, rel=1e-8)
    np.testing.assert_allclose(turned.model.means, plain.model.means, atol=1e-2)


def test_a_sample_of_many_rows_is_enough_to_start(monkeypatch):
    from eigenlens.mixture import starts as mixture_starts

    monkeypatch.setattr(mixture_starts, "MIN_SAMPLE_ROWS", 300)
    monkeypatch.setattr(mixture_starts, "SAMPLE_ROWS_PER_COMPONENT", 50)
    X = clusters(n=6000, spread=8.0)
    fit = fitted(X, 3)
    np.testing.assert_allclose(np.sort(fit.model.weights), 1 / 3, atol=0.05)
    assert fit.converged


# ---- the prior ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COVARIANCE_STRUCTURES)
def test_with_the_prior_the_posterior_never_falls(name):
    fit = fitted(IRIS, 3, structure=name, prior="conjugate")
    assert np.all(np.diff(fit.path) >= 0.0)
    assert fit.converged
    assert fit.loglik <= fitted(IRIS, 3, structure=name).loglik + 1e-6


def test_the_prior_is_fraleys_and_rafterys():
    """One component: covariance (scatter + cov) / (n + 2d + 4), and likewise for the other structures."""
    X = IRIS
    n, d = X.shape
    S = np.cov(X.T, ddof=0)
    C = fitted(X, 1, prior="conjugate").model.covariance()
    np.testing.assert_allclose(C, (n * S + S) / (n + 2 * d + 4), rtol=1e-9)
    v = fitted(X, 1, structure="spherical", prior="conjugate").model.covariance()[0, 0]
    assert v == pytest.approx((n * np.trace(S) + np.trace(S) / d) / (n * d + 2 * d + 4), rel=1e-9)
    diagonal = np.diag(fitted(X, 1, structure="diag", prior="conjugate").model.covariance())
    np.testing.assert_allclose(diagonal, (n + 1) * np.diag(S) / (n + d + 5), rtol=1e-9)
    tied = fitted(X, 1, structure="tied", prior="conjugate").model.covariance()
    np.testing.assert_allclose(tied, (n + 1) * S / (n + 2 * d + 4), rtol=1e-9)


def test_the_prior_keeps_components_on_single_rows_wide():
    X = np.concatenate([clusters(K=1, d=2), [[50.0, 50.0]]])
    start = from_responsibilities(np.eye(2)[np.append(np.zeros(300, dtype=int), 1)])
    collapsed = fitted(X, 2, starting=start, in_order=True)
    assert collapsed.clamped == (1,)
    assert np.all(np.diff(collapsed.path) >= 0.0)
    wide = fitted(X, 2, starting=start, in_order=True, prior="conjugate")
    assert not wide.clamped
    assert np.linalg.eigvalsh(wide.model.components[1].covariance.matrix()).min() > 1e-3


# ---- what could go wrong ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COVARIANCE_STRUCTURES)
def test_duplicated_rows_are_clamped_at_the_floor(name):
    X = np.concatenate([clusters(K=1, d=3), np.tile([[9.0, 9.0, 9.0]], (60, 1))])
    fit = fitted(X, 2, structure=name)
    assert np.isfinite(fit.loglik)
    assert np.all(np.diff(fit.path) >= 0.0)
    assert fit.weight == 360
    if name != "tied":
        assert len(fit.clamped) == 1
        assert fit.model.weights[fit.clamped[0]] == pytest.approx(1 / 6, abs=0.01)


def test_a_component_without_rows_is_removed():
    X = clusters(K=1, d=2)
    start = gaussians([0.5, 0.5], [X.mean(axis=0), [1e3, 1e3]], [np.cov(X.T)] * 2)
    fit = fitted(X, 2, starting=from_mixture(start), in_order=True)
    assert len(fit.lost) == 1
    assert fit.lost[0].mean == (1e3, 1e3)
    assert len(fit.model.weights) == 1
    assert fit.loglik == pytest.approx(fitted(X, 1).loglik)


def test_rows_in_a_plane_and_fewer_rows_than_columns():
    X = clusters(K=2, d=3)
    flat = np.column_stack([X, X.sum(axis=1)])
    fit = fitted(flat, 2)
    assert np.isfinite(fit.loglik)
    assert len(fit.clamped) == 2
    few = fitted(np.random.default_rng(0).standard_normal((6, 10)), 2)
    assert np.isfinite(few.loglik)


def test_more_components_than_rows():
    with pytest.raises(OptionError, match="n_components=4 must be at most 3, the number of rows"):
        fitted(np.eye(3), 4)
    with pytest.raises(OptionError, match="at most 2"):
        fitted(np.eye(3), 3, weight=np.array([1.0, 0.0, 2.0]))
    assert np.isfinite(fitted(np.eye(3), 3).loglik)


def test_no_spread():
    with pytest.raises(DataError, match="no variance"):
        fitted(np.ones((20, 3)), 2)
    X = clusters(K=2)
    X[:, 1] = 7.0
    fit = fitted(X, 2)
    assert fit.constant == (1,)
    assert np.isfinite(fit.loglik)


def test_missing_entries_and_infinities_are_explained():
    X = clusters()
    X[3, 1] = np.inf
    with pytest.raises(DataError, match="infinity"):
        fitted(X, 2)


class StoppedAt(ArraySource):
    """Rows whose reader loses patience in a certain pass."""

    passes, last = 0, 8

    def rows(self):
        self.passes += 1
        if self.passes == self.last:
            raise KeyboardInterrupt
        return super().rows()


def test_an_interrupt_keeps_the_best():
    X = clusters(spread=1.0)
    start = from_mixture(gaussians([0.2, 0.3, 0.5], X[[0, 120, 250]], [np.cov(X.T)] * 3))
    fit = fit_mixture(StoppedAt(X), 3, MixtureOptions(starting=start), np.random.default_rng(0))
    assert fit.interrupted
    assert not fit.converged
    assert 3 <= len(fit.path) <= 6
    assert fit.loglik == pytest.approx(fit.model.log_density(X).sum(), rel=1e-11)


def impatient_from(monkeypatch, call):
    """Stop EM from guesses in its eighth pass, from this call on; the list has one entry per call."""
    from eigenlens.mixture import starts as mixture_starts

    calls, calm = [], mixture_starts.run_from_starts

    def run_all(problem, starts, **options):
        calls.append(len(starts))
        if len(calls) >= call:
            rows = StoppedAt(problem.source.array).weighted(problem.source.weight)
            problem = replace(problem, source=rows)
        return calm(problem, starts, **options)

    monkeypatch.setattr(mixture_starts, "run_from_starts", run_all)
    return calls


def test_an_interrupt_among_the_guesses_ends_the_fit(monkeypatch):
    X = clusters(spread=1.0)
    calls = impatient_from(monkeypatch, call=1)
    fit = fitted(X, 3, n_init=8)
    assert fit.interrupted
    assert not fit.converged
    assert calls == [16]
    assert len(fit.path) == 1
    assert fit.loglik == pytest.approx(fit.model.log_density(X).sum(), rel=1e-11)


def test_an_interrupt_keeps_the_starts_that_were_used(monkeypatch):
    from eigenlens.mixture import starts as mixture_starts

    monkeypatch.setattr(mixture_starts, "_starts_at_once", lambda problem, K: 5)
    X = clusters(spread=1.0)
    calls = impatient_from(monkeypatch, call=2)
    fit = fitted(X, 3, n_init=8)
    assert fit.interrupted
    assert calls == [5, 5]
    assert fit.loglik > fitted(X, 1).loglik


def test_an_interrupt_in_iterations_side_by_side_keeps_the_best():
    X = clusters()
    covariances = {"covariances": np.stack([np.cov(X.T)] * 3)}
    some = [Start(MixtureState(np.array([0.2, 0.3, 0.5]), X[[i, 120, 250]], covariances)) for i in (0, 40)]
    each = [fitted(X, 3, starting=lambda problem, K, rng, max_iter, one=one: [one], max_iter=4).loglik for one in some]
    stopped = StoppedAt(X)
    stopped.last = 1 + 5 + 1
    fit = fit_mixture(
        stopped, 3, MixtureOptions(starting=lambda problem, K, rng, max_iter: some), np.random.default_rng(0)
    )
    assert fit.interrupted
    assert fit.loglik == pytest.approx(max(each), rel=1e-12)


def test_an_interrupt_before_there_is_a_mixture_is_one():
    X = clusters()
    X[::7, 0] = np.nan
    stopped = StoppedAt(X)
    stopped.last = 5
    with pytest.raises(KeyboardInterrupt):
        fit_mixture(stopped, 3, MixtureOptions(), np.random.default_rng(0))


# ---- few rows that count ------------------------------------------------------------------------------------


def test_guesses_are_made_on_the_rows_with_positive_weight():
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((30_000, 2)), np.zeros(30_000)
    counts = rng.choice(30_000, 6, replace=False)
    w[counts] = 1.0
    X[counts[:3]] += 50.0
    fit = fitted(X, 2, weight=w, structure="spherical", prior="conjugate")
    assert fit.loglik == pytest.approx(fitted(X[np.sort(counts)], 2, structure="spherical", prior="conjugate").loglik)
    X[w == 0.0] = np.nan
    holes = fitted(X, 2, structure="spherical", prior="conjugate")
    assert holes.loglik == pytest.approx(fit.loglik)
    assert holes.empty == 30_000 - 6


def test_heavy_rows_are_likelier_drawn():
    w = np.append(np.linspace(0.1, 2.0, 200), [1e3, 1e9])
    p = inclusion_probabilities(w, 40)
    assert p.sum() == pytest.approx(40.0)
    np.testing.assert_array_equal(p[-2:], 1.0)
    np.testing.assert_allclose(p[:-2] / p[0], w[:-2] / w[0])


@pytest.mark.parametrize("lacking", [np.nan, np.inf])
def test_responsibilities_of_rows_of_weight_0_are_dropped_with_them(lacking):
    X, rng = clusters(), np.random.default_rng(0)
    order = rng.permutation(len(X))
    X, R = X[order], np.eye(3)[np.repeat(np.arange(3), len(X) // 3)[order]]
    w = (rng.random(len(X)) < 0.6).astype(float)
    X[w == 0.0] = lacking
    options = {"in_order": True, "max_iter": 1}
    whole = fitted(X, 3, weight=w, starting=from_responsibilities(R, w), **options)
    kept = fitted(X[w > 0.0], 3, starting=from_responsibilities(R[w > 0.0]), **options)
    np.testing.assert_allclose(whole.model.means, kept.model.means, rtol=1e-9)


@pytest.mark.long
def test_random_guesses_find_what_seeds_do_not():
    """Overlapping groups: from rows far from each other alone the two seeds reach -6967.1 and -6956.7."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(800, 5))
    Z[300:] = Z[300:] * 1.5 + 1.2
    found = [fitted(Z, 3, seed=seed, n_init=20, tol=1e-8).loglik for seed in (0, 1)]
    assert min(found) > -6956.0
    assert max(found) > -6950.0


@pytest.mark.parametrize("K", [1, 2])
def test_the_prior_of_fewer_rows_than_columns_is_no_plane(K):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 20, 40))
    fit = fitted(X, K, prior="conjugate")
    assert not fit.clamped
    assert np.linalg.eigvalsh(fit.model.components[0].covariance.matrix())[0] > 1e-3
    assert fit.model.log_density(Y).mean() > -5e3  # the prior of a plane has these rows at -1e11


# ---- parts --------------------------------------------------------------------------------------------------


def test_raising_is_the_most_likely_covariance_within_the_bound():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((3, 3))
    S, least = root @ np.diag([3.0, 1.0, 1e-4]) @ root.T, 0.1 * np.eye(3)
    best = raise_to_floor(S[None], least)[0]

    def value(C):
        return -np.linalg.slogdet(C)[1] - np.trace(np.linalg.solve(C, S))

    assert np.linalg.eigvalsh(best - least).min() > -1e-12
    for _ in range(200):
        E = 0.1 * rng.standard_normal((3, 3))
        other = raise_to_floor((best + E @ E.T * rng.choice([-0.3, 1.0]))[None], least)[0]
        assert value(other) <= value(best) + 1e-12


@pytest.mark.parametrize("name", PARAMETERS)
def test_coordinates_go_there_and_back(name):
    rng = np.random.default_rng(1)
    B = rng.standard_normal((4, 2, 3, 3))
    arrays = {"covariances": B @ np.swapaxes(B, -2, -1) + np.eye(3), "loadings": B}
    array = arrays.get(name, rng.random((4, 2, 3)) + 0.1)
    s = np.array([1.0, 10.0, 0.1])
    part = PARAMETERS[name]
    assert part.to_vector(array, s).shape == (4, part.size(array))
    np.testing.assert_allclose(part.from_vector(part.to_vector(array, s), s, array), array, rtol=1e-10)
    far = part.from_vector(part.to_vector(array, s) + 50.0, s, array)
    assert np.all(np.isfinite(far))


def test_the_bound_has_no_flat_direction():
    C = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1e-6]])
    least = covariance_floor(C, 1e-8)
    units = np.sqrt(np.diag(C))
    assert np.linalg.eigvalsh(least / np.outer(units, units)).min() == pytest.approx(1e-10, rel=1e-3)
    np.testing.assert_allclose(covariance_floor(np.diag([2.0, 3.0]), 1e-8), np.diag([2e-8, 3e-8]), rtol=1e-9)

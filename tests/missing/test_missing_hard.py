"""Likelihoods of incomplete rows that are hard to maximise: uniquenesses that run to 0, units far apart, few rows.

The twin knows nothing of latent variables: dense covariance matrices, its own gradient, and SciPy's L-BFGS-B from
where the fit ended.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from eigenlens.data.memory import ArraySource
from eigenlens.data.source import Block
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.errors import ConvergenceWarning, OptionError
from eigenlens.latent.factor.estimator import FactorAnalysis
from eigenlens.latent.factor.fit import fit_factor
from eigenlens.latent.ppca.estimator import ProbabilisticPCA
from eigenlens.latent.ppca.fit import fit_ppca
from eigenlens.missing import em, expectation, newton
from eigenlens.missing import units as units_module
from eigenlens.missing.curvature import (
    Direction,
    directional_sums,
    hessian_product,
    join_parameters,
    likelihood_gradient,
    split_parameters,
)
from eigenlens.missing.fit import fit_incomplete_rows
from eigenlens.missing.units import NOISE_STRUCTURES, Units
from eigenlens.optim.trust_region import negative_curvature_step, newton_step
from eigenlens.pca.fit import PCAOptions
from eigenlens.pca.missing import fit_pca_missing
from eigenlens.stats.moments import ColumnMoments

FLOORS = {"isotropic": 1e-12, "diagonal": 1e-8}


class Twin:
    """Minus the observed-data log-likelihood and its gradient, in columns of unit variance; psi = exp(phi) share."""

    def __init__(self, X, k, noise):
        self.O, self.k, self.d = ~np.isnan(X), k, X.shape[1]
        N, var = self.O.sum(axis=0), np.nanvar(X, axis=0)
        self.mean, self.scale = np.nanmean(X, axis=0), np.sqrt(var)
        self.Y = np.where(self.O, (X - self.mean) / self.scale, 0.0)
        self.log_scale, self.pooled = N @ np.log(self.scale), noise == "isotropic"
        self.share = 1.0 / var if self.pooled else np.ones(self.d)
        self.least = np.log(FLOORS[noise] * ((var @ N) / N.sum() if self.pooled else 1.0))

    def __call__(self, v):
        mu, W, phi = np.split(v, [self.d, self.d * (self.k + 1)])
        W = W.reshape(self.d, self.k)
        psi = np.exp(phi) * self.share
        both = self.O[:, :, None] & self.O[:, None, :]
        C = np.where(both, W @ W.T + np.diag(psi), 0.0) + np.einsum("nd,de->nde", ~self.O, np.eye(self.d))
        P = np.where(both, np.linalg.inv(C), 0.0)
        r = np.where(self.O, self.Y - mu, 0.0)
        u = np.einsum("nde,ne->nd", P, r)
        f = self.O.sum() * np.log(2.0 * np.pi) + np.linalg.slogdet(C)[1].sum() + np.sum(r * u)
        G = 0.5 * (u.T @ u - P.sum(axis=0))
        by_phi = np.diag(G) * psi
        slopes = [u.sum(axis=0), (2.0 * G @ W).ravel(), by_phi.sum(keepdims=True) if self.pooled else by_phi]
        return 0.5 * f + self.log_scale, -np.concatenate(slopes)

    def vector(self, model):
        phi = np.log(model.noise if self.pooled else model.noise / self.scale**2)
        mean, loadings = (model.mean - self.mean) / self.scale, model.loadings / self.scale[:, None]
        return np.concatenate([mean, loadings.ravel(), np.atleast_1d(phi)])

    def maximised(self, v):
        """The log-likelihood where long L-BFGS runs end."""
        size = self.d * (self.k + 1)
        bounds = [(None, None)] * size + [(self.least, None)] * (len(v) - size)
        for _ in range(3):
            options = {"maxiter": 2000, "maxfun": 5000, "maxcor": 40, "ftol": 0.0, "gtol": 1e-10}
            found = minimize(self, v, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
            v = found.x
        return -found.fun


def hard_table(seed, *, heywood, scales):
    """Few rows of d = 3..8 columns, 5 to 40% missing; one column nearly without noise, or units far apart."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(30, 120)), int(rng.integers(3, 9))
    psi = rng.uniform(0.3, 1.5, d)
    if heywood:
        psi[rng.integers(d)] = 1e-3
    q = int(rng.integers(1, min(4, d)))
    X = rng.standard_normal((n, q)) @ rng.standard_normal((q, d)) + np.sqrt(psi) * rng.standard_normal((n, d)) + 3.0
    if scales:
        X *= 10.0 ** rng.uniform(-3.0, 3.0, d)
    X[rng.random(X.shape) < rng.uniform(0.05, 0.4)] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    return X, int(rng.integers(1, d))


FIT = {"isotropic": fit_ppca, "diagonal": fit_factor}


@pytest.mark.long
@pytest.mark.parametrize("noise", list(FIT))
@pytest.mark.parametrize(("heywood", "scales"), [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("seed", range(4))
def test_no_brute_force_finds_anything_higher_nearby(noise, heywood, scales, seed):
    X, k = hard_table(100 + seed, heywood=heywood, scales=scales)
    fit, twin = FIT[noise](ArraySource(X), k), Twin(X, k, noise)
    v = twin.vector(fit.model)
    assert fit.converged
    assert np.all(np.diff(fit.path) >= 0.0)
    assert fit.loglik == pytest.approx(-twin(v)[0], abs=1e-6)
    assert twin.maximised(v) - fit.loglik < 1e-6


def test_columns_of_very_different_scale():
    """300×8 rows, seven latent dimensions: EM alone stopped hundreds of units short here."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 8)) + rng.standard_normal((300, 8))
    X[:, 1] *= 10.0**3.5
    X[:, 2] *= 10.0**-1.17
    X[rng.random(X.shape) < 0.2] = np.nan
    fit, twin = fit_ppca(ArraySource(X), 7), Twin(X, 7, "isotropic")
    start = np.concatenate([np.zeros(8), np.eye(8, 7).ravel(), [np.log(1e-2)]])
    assert fit.converged
    assert fit.loglik == pytest.approx(twin.maximised(start), abs=1e-6)


def prepared(noise, steep, monkeypatch):
    """Rows in the units of the optimisation, a model, and the results of a pass, by sweeping or by rotations."""
    if steep:
        monkeypatch.setattr(expectation, "ROTATED_SIGNAL", 0.0)
    X, _ = hard_table(3, heywood=False, scales=False)
    observed = ColumnMoments.of_observed(Block(X))
    units = Units.of(observed)
    structure = NOISE_STRUCTURES[noise](observed, units, 1e-12)
    piece = expectation.IncompleteRows(X, None, units.centre, units.scale, 2)
    d, rng = X.shape[1], np.random.default_rng(1)
    v = join_parameters(
        0.1 * rng.standard_normal(d), rng.standard_normal((d, 2)), rng.uniform(-1.0, 0.0, 1 if structure.pooled else d)
    )

    def at(v):
        mean, W, phi = split_parameters(v, d, 2)
        model = LinearGaussian(mean, W, structure.psi(phi))
        posterior = expectation.Posterior(piece, model)
        return model, posterior, expectation.expected_statistics(posterior, model)

    return X, v, at, structure


@pytest.mark.parametrize("steep", [False, True])
@pytest.mark.parametrize("noise", list(FIT))
def test_gradient_and_hessian_against_the_twin(noise, steep, monkeypatch):
    X, v, at, structure = prepared(noise, steep, monkeypatch)
    twin = Twin(X, 2, noise)
    model, posterior, expected = at(v)
    assert expected.loglik(model) == pytest.approx(-twin(v)[0] + twin.log_scale, rel=1e-12)
    assert_allclose(likelihood_gradient(expected, model, structure), -twin(v)[1], rtol=1e-9, atol=1e-9)
    way = np.random.default_rng(2).standard_normal(len(v))
    d = X.shape[1]
    mean, W, phi = split_parameters(way, d, 2)
    direction = Direction(mean, W, np.broadcast_to(phi, (d,)))
    monkeypatch.setattr("eigenlens.missing.units.SMALL_NOISE_SHARE", 0.0)
    found = hessian_product(directional_sums(posterior, model, direction), expected, model, structure, direction)
    slope = (twin(v - 1e-5 * way)[1] - twin(v + 1e-5 * way)[1]) / 2e-5
    assert_allclose(found, slope, rtol=1e-6, atol=1e-6 * np.abs(slope).max())


def test_rotations_keep_what_sweeping_loses():
    """A noise variance of 1e-12: sums of the steep path against 50-digit arithmetic."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(50):
        W, psi = np.array([[1.0, 0.3], [0.8, -0.6], [0.2, 0.9]]), np.array([1e-12, 0.3, 1e-10])
        model, O = LinearGaussian(np.zeros(3), W, psi), np.array([[1.0, 1.0, 0.0]])
        piece = expectation.PatternRows(np.array([[0.7, -0.2, 0.0]]), O, np.ones(1), O, None, np.ones(1))
        found = expectation.expected_statistics(expectation.Posterior(piece, model), model)
        Wo, C = mpmath.matrix(W[:2].tolist()), mpmath.matrix(2, 2)
        for i in range(2):
            for j in range(2):
                C[i, j] = sum(Wo[i, a] * Wo[j, a] for a in range(2)) + (mpmath.mpf(float(psi[i])) if i == j else 0)
        P, y = C**-1, mpmath.matrix([0.7, -0.2])
        loglik = -(mpmath.log(mpmath.det(C)) + (y.T * P * y)[0] + 2 * mpmath.log(2 * mpmath.pi)) / 2
        assert found.loglik(model) == pytest.approx(float(loglik), rel=1e-12)
        assert_allclose(found.free[:2], [float(P[0, 0] * psi[0]), float(P[1, 1] * psi[1])], rtol=1e-3)
        assert_allclose(found.gain[:2], np.array((P * Wo).tolist(), dtype=float), rtol=1e-3)


def test_a_step_of_newton_knows_edges_and_flat_directions():
    H = np.diag([-1.0, -1e-3, 0.0, 0.5])
    g = np.array([1.0, 1e-3, 0.0, 0.0])
    found = newton_step(g, lambda v: H @ v, lambda v: v, radius=10.0, tol=1e-14, share=1e-9)
    assert_allclose(found.change, [1.0, 1.0, 0.0, 0.0], atol=1e-9)
    assert found.remaining_gain == pytest.approx(0.5 + 5e-4, rel=1e-6)
    short = newton_step(g, lambda v: H @ v, lambda v: v, radius=0.5, tol=1e-14, share=1e-9)
    assert (short.bounded, short.remaining_gain) == (True, np.inf)
    assert np.linalg.norm(short.change) == pytest.approx(0.5)
    upward = newton_step(np.array([0.0, 0.0, 0.0, 1.0]), lambda v: H @ v, lambda v: v, radius=2.0, tol=1e-14, share=0.1)
    assert_allclose(upward.change, [0.0, 0.0, 0.0, 2.0])


def test_the_estimate_of_what_is_left_is_one():
    """After few steps the estimated gain is, within a factor, what a full optimisation still gains."""
    X, _ = hard_table(7, heywood=True, scales=False)
    start = LinearGaussian(np.nanmean(X, axis=0), np.eye(X.shape[1], 2), np.nanvar(X, axis=0))
    whole = fit_incomplete_rows(ArraySource(X), [start], noise="diagonal", floor=1e-8)
    assert whole.ended == "converged"
    for steps in (12, 20):
        short = fit_incomplete_rows(ArraySource(X), [start], noise="diagonal", floor=1e-8, max_iter=steps)
        left = (whole.path[-1] - short.path[-1]) / np.count_nonzero(~np.isnan(X))
        assert (short.converged, short.ended) == (False, "max_iter")
        assert left / 20.0 < short.residual < 20.0 * left


def test_the_highest_of_several_starts_counts(monkeypatch):
    X, k = hard_table(104, heywood=True, scales=False)
    rng, d = np.random.default_rng(0), X.shape[1]
    mean, psi = np.nanmean(X, axis=0), np.nanvar(X, axis=0)
    starts = [LinearGaussian(mean, rng.standard_normal((d, k)), psi) for _ in range(4)]
    alone = [fit_incomplete_rows(ArraySource(X), [start], noise="diagonal").path[-1] for start in starts]
    monkeypatch.setattr(em, "DOUBTFUL_NOISE_SHARE", np.inf)
    best = fit_incomplete_rows(ArraySource(X), starts[:1], starts[1:], noise="diagonal")
    assert best.path[-1] == pytest.approx(max(alone), abs=1e-6)
    assert np.all(np.diff(best.path) >= 0.0)


def test_an_interrupt_in_any_start_keeps_the_best_so_far():
    X, k = hard_table(104, heywood=True, scales=False)
    rng, d = np.random.default_rng(0), X.shape[1]
    mean, psi = np.nanmean(X, axis=0), np.nanvar(X, axis=0)
    starts = [LinearGaussian(mean, rng.standard_normal((d, k)), psi) for _ in range(3)]
    given, steps = {"noise": "diagonal", "observed": ColumnMoments.of_observed(Block(X))}, []
    whole = fit_incomplete_rows(ArraySource(X), starts, progress=lambda *what: steps.append(what), **given)
    for last in range(2, len(steps), 7):
        calls = []

        def stop(done, total, what, last=last, calls=calls):
            calls.append(what)
            if len(calls) == last:
                raise KeyboardInterrupt

        found = fit_incomplete_rows(ArraySource(X), starts, progress=stop, **given)
        assert (found.interrupted, found.converged, found.ended) == (True, False, "interrupted")
        reached = [float(what.split()[-1]) for what in calls]
        assert found.path[-1] == pytest.approx(max(reached), rel=1e-6)
        assert found.path[-1] <= whole.path[-1] + 1e-9


# ---- saddles ----------------------------------------------------------------------------------------------


def structured_table(design, seed):
    """180 rows in parts that lack different columns, rounded to integers for every other seed."""
    rng = np.random.default_rng(seed)
    n, d, k = 180, 12, int(rng.integers(1, 3))
    X = rng.standard_normal((n, k)) @ (1.3 * rng.standard_normal((k, d))) + 3.0 * rng.standard_normal(d)
    X += 0.7 * rng.uniform(0.5, 1.5, d) * rng.standard_normal((n, d))
    X[lacking(design, n, d)] = np.nan
    return (np.round(X) if seed % 2 else X), k


def lacking(design, n, d):
    """Blocks that are never seen together; three forms that leave out a block each; two files with some in common."""
    third, block = np.arange(n)[:, None] * 3 // n, np.arange(d) * 3 // d
    first = np.arange(n)[:, None] < n // 2
    return {
        "blocks": first == (np.arange(d) < d // 2),
        "three blocks": third != block,
        "forms": third == block,
        "files": (first & (block == 1)) | (~first & (block == 2)),
    }[design]


@pytest.mark.long
@pytest.mark.parametrize("design", ["blocks", "three blocks", "forms", "files"])
@pytest.mark.parametrize("seed", range(3))
def test_structured_missing_values_end_at_the_highest_of_many_starts(design, seed):
    X, k = structured_table(design, seed)
    factors, components = fit_factor(ArraySource(X), k), fit_ppca(ArraySource(X), k)
    assert factors.converged
    assert components.converged
    assert factors.loglik >= components.loglik - 1e-6  # one noise variance is a special case
    rng, scale = np.random.default_rng(50 + seed), np.nanstd(X, axis=0)
    for noise, found, psi in (("isotropic", components, np.median(scale**2)), ("diagonal", factors, scale**2 / 2.0)):
        starts = [
            LinearGaussian(np.nanmean(X, axis=0), 0.7 * scale[:, None] * rng.standard_normal((12, k)), psi)
            for _ in range(4)
        ]
        ends = [fit_incomplete_rows(ArraySource(X), [s], noise=noise, floor=FLOORS[noise]).path[-1] for s in starts]
        assert found.loglik >= max(ends) - 1e-6


def saddle(seed=0):
    """Two blocks never seen together and a model that is 0 on one of them: its slope there is 0, yet it is no top."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 1)) @ rng.standard_normal((1, 6)) * 1.3 + rng.standard_normal((200, 6))
    X[:100, :3] = X[100:, 3:] = np.nan
    block = fit_ppca(ArraySource(X[100:, :3]), 1).model.loadings
    return X, LinearGaussian(np.nanmean(X, axis=0), np.concatenate([block, np.zeros((3, 1))]), np.nanvar(X, axis=0))


@pytest.mark.parametrize("noise", list(FIT))
def test_a_saddle_is_left_by_its_curvature(noise, monkeypatch):
    """Starts that are not stirred stay where the slope is 0, and only the look at the curvature leads away."""
    X, start = saddle()
    start = LinearGaussian(start.mean, start.loadings, start.noise if noise == "diagonal" else 1.0)
    monkeypatch.setattr(units_module, "PERTURBATION", 0.0)
    found = fit_incomplete_rows(ArraySource(X), [start], noise=noise)
    monkeypatch.setattr(newton, "MAX_SADDLE_PASSES", 0)
    stuck = fit_incomplete_rows(ArraySource(X), [start], noise=noise)
    assert_allclose(stuck.model.loadings[3:], 0.0, atol=1e-12)
    assert found.converged
    assert np.all(np.diff(found.path) >= 0.0)
    assert found.path[-1] == pytest.approx(FIT[noise](ArraySource(X), 1).loglik, abs=1e-6)
    assert found.path[-1] > stuck.path[-1] + 1.0


@pytest.mark.parametrize("noise", list(FIT))
def test_a_start_at_a_saddle_is_stirred(noise, monkeypatch):
    """A look at the curvature is not needed then."""
    X, start = saddle()
    start = LinearGaussian(start.mean, start.loadings, start.noise if noise == "diagonal" else 1.0)
    monkeypatch.setattr(newton, "MAX_SADDLE_PASSES", 0)
    found = fit_incomplete_rows(ArraySource(X), [start], noise=noise)
    assert found.path[-1] == pytest.approx(FIT[noise](ArraySource(X), 1).loglik, abs=1e-6)


def test_principal_components_of_missing_values_leave_a_saddle_too():
    X, _ = saddle()
    found = fit_pca_missing(ArraySource(X), 1, PCAOptions()).model
    W = found.components[0] * np.sqrt(found.variances[0] - (found.total - found.variances[0]) / 5.0)
    model = fit_ppca(ArraySource(X), 1).model
    shrink = 199.0 / 200.0
    assert_allclose(np.outer(W, W) * shrink, model.loadings @ model.loadings.T, atol=1e-4)


def test_the_look_at_the_curvature_finds_one_upward_direction_among_many():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((60, 60)))[0]
    values = -np.append(rng.uniform(0.2, 1.0, 59), -0.1)
    H = Q * values @ Q.T
    found = negative_curvature_step(
        np.zeros(60), rng.standard_normal(60), lambda v: H @ v, lambda v: v, radius=2.0, max_products=24
    )
    assert found is not None
    assert np.linalg.norm(found.change) == pytest.approx(2.0)
    assert found.predicted_gain == pytest.approx(0.5 * found.change @ H @ found.change)
    assert found.predicted_gain > 0.0
    down = -H @ H
    assert (
        negative_curvature_step(
            np.zeros(60), rng.standard_normal(60), lambda v: down @ v, lambda v: v, radius=2.0, max_products=24
        )
        is None
    )


# ---- few rows ---------------------------------------------------------------------------------------------


@pytest.mark.long
def test_few_rows_do_not_take_many_steps_from_floor_to_floor():
    """10 rows of 40 columns: 300 steps from one start ended at −73.5, and were still gaining."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((10, 2)) @ (1.3 * rng.standard_normal((40, 2))).T
    X += 0.7 * rng.standard_normal((10, 40)) * rng.uniform(0.5, 1.5, 40)
    X[rng.random(X.shape) < 0.2] = np.nan
    start = LinearGaussian(np.nanmean(X, axis=0), rng.standard_normal((40, 4)), np.nanvar(X, axis=0))
    given = {"noise": "diagonal", "floor": 1e-8, "max_iter": 400}
    found = fit_incomplete_rows(ArraySource(X), [start], **given)
    assert found.converged
    assert np.all(np.diff(found.path) >= 0.0)
    at_floor = found.model.noise / np.nanvar(X, axis=0) < 2e-8
    assert at_floor.sum() >= 4


# ---- what is said and kept ---------------------------------------------------------------------------------


def interrupted_at(fit, X, k, last):
    labels = []

    def stop(done, total, what):
        assert done <= total
        if what.startswith("EM:"):
            labels.append(what)
        if len(labels) == last:
            raise KeyboardInterrupt

    return fit(ArraySource(X), k, progress=stop), labels


@pytest.mark.parametrize("noise", list(FIT))
@pytest.mark.parametrize("last", [1, 2, 3, 4, 5, 6, 30, 45])
def test_an_interrupt_keeps_the_value_of_the_model_kept(noise, last):
    X, k = structured_table("files", 0)
    fit, labels = interrupted_at(FIT[noise], X, k, last)
    twin = Twin(X, k, noise)
    assert (fit.interrupted, len(labels)) == (True, last)
    assert fit.loglik == pytest.approx(-twin(twin.vector(fit.model))[0], abs=1e-7)
    assert fit.loglik == pytest.approx(max(float(what.split()[-1]) for what in labels), rel=1e-7)


@pytest.mark.parametrize("noise", list(FIT))
@pytest.mark.parametrize("last", [1, 2, 3, 4, 5, 6, 120])
def test_an_interrupt_of_a_choice_by_bic_keeps_a_model_with_its_value(noise, last):
    X, _ = structured_table("files", 0)
    estimator = {"isotropic": ProbabilisticPCA, "diagonal": FactorAnalysis}[noise]
    labels = []

    def stop(done, total, what):
        if what.startswith("EM:"):
            labels.append(what)
        if len(labels) == last:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = estimator("bic", verbose=stop).fit(X)
    assert model.loglik_ == pytest.approx(float(model.score_samples(X).sum()), abs=1e-7)


def test_steps_are_those_of_a_start_which_is_named():
    X, k = structured_table("blocks", 0)
    said = []
    fit = fit_factor(ArraySource(X), k, progress=lambda *what: said.append(what))
    said = [what for what in said if what[2].startswith("EM:")]
    starts = {what.split(",")[0] for _, _, what in said}
    assert {"EM: start 1", "EM: start 2"} <= starts
    for done, total, what in said:
        assert what.split(", ")[1] == f"step {done}"
        assert done <= total == 1000
    top = [done for done, _, what in said if float(what.split()[-1]) == pytest.approx(fit.loglik, rel=1e-7)]
    assert fit.n_iter in top


def test_extremes_raise_no_warnings_of_arithmetic():
    """Warnings are errors in these tests: a column twice, and units near the ends of the range."""
    X, _ = structured_table("files", 0)
    with pytest.raises(OptionError, match="noise variance"):
        fit_ppca(ArraySource(np.column_stack([X[:, :6], X[:, 0]])), 6)
    large, small = fit_factor(ArraySource(X * 1e150), 2), fit_factor(ArraySource(X * 1e-150), 2)
    plain, entries = fit_factor(ArraySource(X), 2), np.sum(~np.isnan(X))
    assert large.loglik + entries * np.log(1e150) == pytest.approx(plain.loglik, abs=1e-6)
    assert small.loglik + entries * np.log(1e-150) == pytest.approx(plain.loglik, abs=1e-6)


def test_rows_of_weight_zero_say_nothing():
    X, _ = hard_table(5, heywood=False, scales=False)
    X = X[~np.isnan(X).any(axis=1)]
    padded = np.vstack([X, np.full((2, X.shape[1]), np.nan), np.full((1, X.shape[1]), np.inf)])
    w = np.append(np.ones(len(X)), np.zeros(3))
    with_, without = ColumnMoments.of_observed(Block(padded, w)), ColumnMoments.of_observed(Block(X))
    assert not with_.missing.any()
    assert_allclose(with_.mean, without.mean)
    assert_allclose(with_.square, without.square)
    fit = fit_factor(ArraySource(padded).weighted(w), 1)
    assert (fit.solver, fit.rows) == ("quasi-newton", len(X))

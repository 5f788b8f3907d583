"""Families of latent Gaussians: the fit of a single group, steps that never lose, and a mixture of them by plain EM."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from eigenlens.data.memory import ArraySource
from eigenlens.data.source import Block, accumulate
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.latent.factor.fit import fit_factor
from eigenlens.latent.families import FactorFamily, PPCAFamily
from eigenlens.latent.ppca.fit import fit_ppca
from eigenlens.stats.moments import Moments

FAMILIES = {"ppca": (PPCAFamily, fit_ppca), "factor": (FactorFamily, fit_factor)}


def rows(n=200, d=6, k=2, seed=0):
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((n, d)) * np.linspace(0.8, 1.5, d)
    return rng.standard_normal((n, k)) @ rng.standard_normal((k, d)) * 2.0 + noise + 3.0


def expected_loglik(model, moments):
    """Σ w log N(x | mean, C) from the moments, by dense algebra; the mean of the model is that of the rows."""
    C, d = model.covariance(), model.mean.size
    distance = np.trace(np.linalg.solve(C, moments.scatter))
    return -0.5 * (moments.weight * (d * np.log(2.0 * np.pi) + np.linalg.slogdet(C)[1]) + distance)


# ---- one group ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_one_group_is_the_fit_of_its_rows(name, weighted):
    family, fit = FAMILIES[name]
    source = ArraySource(rows(), block_rows=37)
    if weighted:
        source = source.weighted(np.random.default_rng(1).uniform(0.0, 2.0, 200))
    member = family(2)
    model = member.estimate(accumulate(source, member.summarise))
    whole = fit(source, 2)
    assert_allclose(model.mean, whole.model.mean, rtol=1e-12)
    near = 1e-8 if name == "ppca" else 1e-5  # the maximum of factor analysis is found to a gradient of 1e-6
    assert_allclose(model.loadings, whole.model.loadings, atol=near)
    assert_allclose(model.noise, whole.model.noise, rtol=near)
    moments = accumulate(source, Moments.of)
    assert expected_loglik(model, moments) == pytest.approx(whole.loglik, rel=1e-12)
    assert member.free_parameters(6) == 6 + 6 * 2 - 1 + (1 if name == "ppca" else 6)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("seed", range(6))
def test_from_any_start_the_likelihood_does_not_fall(name, seed):
    """Starts with too little noise, with more noise than there is variance, and from other rows."""
    member, rng = FAMILIES[name][0](2), np.random.default_rng(seed)
    moments = Moments.of(Block(rows(seed=seed)))
    noise = np.exp(rng.uniform(-20.0, 6.0, 6)) if name == "factor" else float(np.exp(rng.uniform(-20.0, 6.0)))
    model = LinearGaussian(moments.mean, rng.standard_normal((6, 2)), noise)
    reached = [expected_loglik(model, moments)]
    for _ in range(25):
        model = member.estimate(moments, model)
        reached.append(expected_loglik(model, moments))
    assert np.all(np.diff(reached) >= -1e-9 * abs(reached[-1]))
    if name == "ppca" or np.min(noise) > 1e-3:
        assert reached[-1] == pytest.approx(expected_loglik(member.estimate(moments), moments), abs=1e-4)


def test_few_steps_are_not_the_whole_way():
    moments = Moments.of(Block(rows()))
    start = LinearGaussian(moments.mean, np.zeros((6, 2)), np.full(6, 0.01))
    few, many = (FactorFamily(2, steps=s).estimate(moments, start) for s in (1, 50))
    assert expected_loglik(start, moments) < expected_loglik(few, moments) < expected_loglik(many, moments)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_prior_is_more_rows(name):
    """Scatter and weight that are added when reading, and not stored."""
    family, X, more = FAMILIES[name][0], rows(60), rows(40, seed=1)
    moments, extra = Moments.of(Block(X)), Moments.of(Block(more - more.mean(axis=0) + X.mean(axis=0)))
    before = moments.scatter.copy()
    with_prior = family(2, prior=extra.scatter, prior_weight=40.0).estimate(moments)
    assert_allclose(with_prior.covariance(), family(2).estimate(moments + extra).covariance(), atol=1e-6)
    assert_allclose(moments.scatter, before, rtol=0.0)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("X", [rows(2), np.repeat(rows(1), 3, axis=0), rows(50) * [1.0, 1.0, 0.0, 1.0, 1.0, 1.0]])
def test_groups_of_few_rows_have_a_density(name, X):
    """Two rows, one row thrice, a constant column: a group may come to that while a mixture is fitted."""
    moments = Moments.of(Block(X))
    for prior in (0.0, 1e-3):
        model = FAMILIES[name][0](2, prior=prior).estimate(moments)
        assert np.all(np.asarray(model.noise) > 0.0)
        assert np.all(np.isfinite(model.log_density(rows(5))))


def test_an_interrupt_is_for_the_caller(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    moments = Moments.of(Block(rows()))
    start = FactorFamily(2).estimate(moments)
    monkeypatch.setattr("eigenlens.latent.factor.profile_likelihood._polish", stop)
    with pytest.raises(KeyboardInterrupt):
        FactorFamily(2, steps=50).estimate(moments, LinearGaussian(start.mean, start.loadings, start.noise * 1.1))


# ---- a mixture ----------------------------------------------------------------------------------------------


def mixture(X, member, K, steps, seed=0):
    """EM for a mixture, written out: responsibilities, moments weighted by them, one estimate per component."""
    rng = np.random.default_rng(seed)
    R = rng.dirichlet(np.ones(K), len(X))
    models, path = [None] * K, []
    for _ in range(steps):
        models = [member.estimate(Moments.of(Block(X, r)), m) for r, m in zip(R.T, models, strict=True)]
        joint = np.log(R.mean(axis=0)) + np.column_stack([m.log_density(X) for m in models])
        total = logsumexp(joint, axis=1)
        path.append(float(total.sum()))
        R = np.exp(joint - total[:, None])
    return models, R, np.array(path)


def two_planes(n=300, d=5, seed=3):
    """Rows on two planes through one point, with a little noise: no mixture of round clusters can tell them apart."""
    rng = np.random.default_rng(seed)
    planes = [np.linalg.qr(rng.standard_normal((d, 2)))[0] for _ in range(2)]
    parts = [rng.standard_normal((n, 2)) @ P.T * 3.0 + 0.2 * rng.standard_normal((n, d)) for P in planes]
    return np.concatenate(parts), planes


@pytest.mark.few(1)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_mixture_improves_and_finds_two_planes(name):
    X, planes = two_planes()
    ends = [mixture(X, FAMILIES[name][0](2), 2, 60, seed) for seed in range(3)]
    for _, _, path in ends:
        assert np.all(np.diff(path) >= -1e-8 * np.abs(path[:-1]))
    models, R, _ = max(ends, key=lambda end: end[2][-1])
    truth = np.repeat([0, 1], 300)
    found = R.argmax(axis=1)
    swapped = np.mean(found == truth) < 0.5
    assert np.mean(found == (1 - truth if swapped else truth)) > 0.95
    for model, P in zip(models[::-1] if swapped else models, planes, strict=True):
        U = np.linalg.svd(model.loadings, full_matrices=False)[0]
        assert np.linalg.svd(U.T @ P)[1].min() > 0.995  # cosines of the angles between the planes

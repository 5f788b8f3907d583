"""Mixtures of rows with missing entries: the pass is that of conditional Gaussians, and the maxima are FIML's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal

from eigenlens.data.memory import ArraySource, SparseSource
from eigenlens.data.source import Block
from eigenlens.densities.mixture import Mixture
from eigenlens.errors import DataError, OptionError
from eigenlens.latent.factor.fit import fit_factor
from eigenlens.latent.ppca.fit import fit_ppca
from eigenlens.mixture import missing as mixture_missing
from eigenlens.mixture.fit import MixtureOptions, fit_mixture
from eigenlens.mixture.missing import observed_e_step
from eigenlens.mixture.starts import CENTRE_RULES, from_centres, from_mixture, from_responsibilities
from eigenlens.mixture.structures import COVARIANCE_STRUCTURES, make_structure
from references import airquality


def rows(n=90, d=3, seed=0, share=0.25, spread=4.0):
    rng = np.random.default_rng(seed)
    centres = spread * rng.standard_normal((3, d))
    X = np.concatenate([c + rng.standard_normal((n // 3, d)) @ rng.standard_normal((d, d)) for c in centres])
    X[rng.random(X.shape) < share] = np.nan
    return X


def fitted(X, K, seed=0, weight=None, n_init=4, **options):
    source = ArraySource(X) if isinstance(X, np.ndarray) else X
    options = {"starting": from_centres(CENTRE_RULES["k-means++"], n_init)} | options
    return fit_mixture(source.weighted(weight), K, MixtureOptions(**options), np.random.default_rng(seed))


def some_mixture(name, d=3, K=2):
    """Any mixture of the structure, from random groups of random rows."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((80, d)) @ rng.standard_normal((d, d)) + rng.standard_normal(d)
    structure = make_structure(name, 1)
    moments = structure.moments.of_groups(Block(X), rng.dirichlet(np.ones(K), len(X)))
    spread = structure.estimate(moments, 1e-6 * (np.eye(d) if structure.joint else np.ones(d)), None)
    return Mixture(np.array([0.3, 0.7]), structure.components(moments.mean, spread))


def row_by_row(mixture, X, w):
    """The slow twin: log-likelihood, and weight, mean and scatter of each component, by E[x xᵀ | x_o] of each row."""
    K, d = mixture.means.shape
    C = [part.covariance() if callable(part.covariance) else part.covariance.matrix() for part in mixture.components]
    loglik, weight, first, second = 0.0, np.zeros(K), np.zeros((K, d)), np.zeros((K, d, d))
    for x, each in zip(X, w, strict=True):
        o, m = np.flatnonzero(~np.isnan(x)), np.flatnonzero(np.isnan(x))
        if not o.size or each == 0.0:
            continue
        p, means, left = np.zeros(K), np.zeros((K, d)), np.zeros((K, d, d))
        for k, mu in enumerate(mixture.means):
            p[k] = mixture.weights[k] * multivariate_normal(mu[o], C[k][np.ix_(o, o)]).pdf(x[o])
            B = C[k][np.ix_(m, o)] @ np.linalg.inv(C[k][np.ix_(o, o)])
            means[k, o], means[k, m] = x[o], mu[m] + B @ (x[o] - mu[o])
            left[k][np.ix_(m, m)] = C[k][np.ix_(m, m)] - B @ C[k][np.ix_(o, m)]
        loglik += each * np.log(p.sum())
        r = each * p / p.sum()
        weight += r
        first += r[:, None] * means
        second += r[:, None, None] * (means[:, :, None] * means[:, None, :] + left)
    mean = first / weight[:, None]
    return loglik, weight, mean, second - weight[:, None, None] * mean[:, :, None] * mean[:, None, :]


@pytest.mark.parametrize("name", COVARIANCE_STRUCTURES)
def test_a_pass_is_that_of_conditional_gaussians(name):
    X = rows(share=0.4)
    X[7] = np.nan
    w = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    mixture = some_mixture(name)
    found = observed_e_step(mixture.terms)(Block(X, w))
    loglik, weight, mean, scatter = row_by_row(mixture, X, w)
    assert found.logliks[0] == pytest.approx(loglik, rel=1e-11)
    np.testing.assert_allclose(found.moments.weight, weight, rtol=1e-10)
    np.testing.assert_allclose(found.moments.mean, mean, rtol=1e-9, atol=1e-9)
    if make_structure(name, 1).joint:
        np.testing.assert_allclose(found.moments.scatter, scatter, rtol=1e-8, atol=1e-8)
    else:
        np.testing.assert_allclose(found.moments.square, np.einsum("kii->ki", scatter), rtol=1e-8)


@pytest.mark.parametrize("name", ["full", "tied", "diag"])
def test_pieces_and_batches_change_nothing(name, monkeypatch):
    X, mixture = rows(n=300, share=0.4), some_mixture(name)
    whole = observed_e_step(mixture.terms)(Block(X))
    monkeypatch.setattr(mixture_missing, "PATTERN_PIECE_ENTRIES", 60)
    monkeypatch.setattr(mixture_missing, "DEVIATION_ENTRIES", 40)
    parts = observed_e_step(mixture.terms)(Block(X))
    assert parts.logliks[0] == pytest.approx(whole.logliks[0], rel=1e-12)
    for field in vars(whole.moments):
        np.testing.assert_allclose(getattr(parts.moments, field), getattr(whole.moments, field), rtol=1e-9, atol=1e-9)


def test_a_block_without_rows_adds_nothing():
    mixture, X = some_mixture("full"), rows()
    found = observed_e_step(mixture.terms)(Block(X))
    for nothing in (Block(X[:0]), Block(np.full((3, 3), np.nan)), Block(X, np.zeros(len(X)))):
        both = found + observed_e_step(mixture.terms)(nothing)
        assert both.logliks[0] == found.logliks[0]
        np.testing.assert_allclose(both.moments.scatter, found.moments.scatter, rtol=1e-14)


# ---- references ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "q", "loglik"),
    [
        ("full", 1, airquality.SATURATED),
        ("tied", 1, airquality.SATURATED),
        ("ppca", 1, airquality.PPCA[1][0]),
        ("ppca", 2, airquality.PPCA[2][0]),
        ("ppca", 3, airquality.SATURATED),
        ("factor", 1, airquality.FACTOR_ANALYSIS[1]),
    ],
)
def test_one_component_is_lavaans_fiml(name, q, loglik, accuracy):
    fit = fitted(airquality.DATA, 1, structure=name, n_factors=q)
    what = f"mixture of one, {name}, q = {q}, of airquality with missing values: log-likelihood"
    accuracy.close(what, fit.loglik, loglik, system="lavaan, FIML", atol=1e-7)
    assert fit.converged
    assert fit.model.log_density(airquality.DATA).sum() == pytest.approx(fit.loglik, abs=1e-9)


def test_latent_gaussians_are_the_other_estimators():
    """Another algorithm for the same likelihood, by latent sums instead of patterns."""
    X, rng = airquality.DATA, np.random.default_rng(0)
    s = np.nanstd(X, axis=0, ddof=1)
    assert fitted(X / s, 1, structure="ppca").loglik == pytest.approx(fit_ppca(ArraySource(X / s), 1).loglik, abs=1e-7)
    factor = fit_factor(ArraySource(X), 1, rng=rng)
    np.testing.assert_allclose(
        fitted(X, 1, structure="factor").model.covariance(), factor.model.covariance(), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("name", ["diag", "spherical"])
def test_independent_columns_have_a_closed_form(name):
    """With one component the observed entries of each column are all there is."""
    X = airquality.DATA
    fit = fitted(X, 1, structure=name)
    np.testing.assert_allclose(fit.model.means[0], np.nanmean(X, axis=0), rtol=1e-5)
    v = np.nanvar(X, axis=0)
    if name == "spherical":
        v = np.full(4, np.nansum((X - np.nanmean(X, axis=0)) ** 2) / np.count_nonzero(~np.isnan(X)))
    np.testing.assert_allclose(np.diag(fit.model.covariance()), v, rtol=1e-4)


# ---- laws ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COVARIANCE_STRUCTURES)
def test_likelihood_never_falls_and_no_neighbour_is_likelier(name):
    X = rows()
    fit = fitted(X, 2, structure=name, prior="none")
    assert fit.converged
    assert np.all(np.diff(fit.path) >= 0.0)
    assert fit.loglik == pytest.approx(fit.model.log_density(X).sum(), rel=1e-11)
    structure, rng = make_structure(name, 1), np.random.default_rng(2)
    spread = structure.arrays(fit.model.components)
    for _ in range(20):
        means = fit.model.means + 0.02 * rng.standard_normal(fit.model.means.shape)
        nudged = {part: a * np.exp(0.01 * rng.standard_normal()) for part, a in spread.items()}
        other = Mixture(fit.model.weights, structure.components(means, nudged))
        assert other.log_density(X).sum() < fit.loglik


@pytest.mark.parametrize("name", COVARIANCE_STRUCTURES)
def test_without_missing_values_it_is_the_fit_of_complete_rows(name):
    """A far incomplete row with next to no weight makes it take the other route."""
    X = rows(share=0.0)
    gap = np.where(np.arange(3) == 1, np.nan, X[:1])
    shares = np.eye(3)[np.arange(90) // 30] * 0.8 + 0.2 / 3
    complete = fitted(X, 3, structure=name, starting=from_responsibilities(shares), in_order=True)
    w = np.append(np.ones(90), 1e-12)
    start = from_mixture(complete.model)
    other = fitted(np.concatenate([X, gap]), 3, weight=w, structure=name, starting=start, in_order=True)
    assert other.loglik == pytest.approx(complete.loglik, abs=1e-6)
    np.testing.assert_allclose(other.model.means, complete.model.means, atol=1e-3)


@pytest.mark.parametrize("name", ["full", "diag", "factor"])
def test_weights_are_copies_and_blocks_change_nothing(name):
    X = rows()
    w = np.random.default_rng(3).integers(0, 4, len(X)).astype(float)
    copies = fitted(np.repeat(X, w.astype(int), axis=0), 2, structure=name, n_init=1)
    there = ~np.isnan(X).all(axis=1)
    for source in (ArraySource(X), ArraySource(X, block_rows=37), SparseSource(sp.csr_matrix(X), block_rows=50)):
        weighted = fitted(source, 2, structure=name, weight=w, n_init=1)
        assert weighted.loglik == pytest.approx(copies.loglik, rel=1e-8)
        assert weighted.bic() == pytest.approx(copies.bic(), rel=1e-8)
        assert weighted.rows == np.count_nonzero(w[there])


@pytest.mark.parametrize("prior", ["none", "conjugate"])
def test_units_of_columns_do_not_matter(prior):
    X, s = rows(), np.array([1e-3, 1.0, 1e5])
    R = np.eye(3)[np.arange(90) // 30] * 0.8 + 0.2 / 3
    options = {"prior": prior, "starting": from_responsibilities(R), "in_order": True}
    plain, scaled = (fitted(Z, 3, **options) for Z in (X, X * s))
    jacobian = np.log(s) @ (~np.isnan(X)).sum(axis=0)
    assert scaled.loglik == pytest.approx(plain.loglik - jacobian, rel=1e-8)


def test_components_are_found_where_a_third_is_missing():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0, 0.0, 0.0], [6.0, 0.0, 6.0, 0.0], [0.0, 6.0, 0.0, 6.0]])
    labels = rng.integers(3, size=900)
    X = centres[labels] + rng.standard_normal((900, 4))
    X[rng.random(X.shape) < 0.33] = np.nan
    fit = fitted(X, 3)
    order = np.argsort(fit.model.means @ [1.0, 2.0, 0.0, 0.0])
    np.testing.assert_allclose(fit.model.means[order], centres, atol=0.35)
    np.testing.assert_allclose(fit.model.weights, 1 / 3, atol=0.05)


# ---- what could go wrong ------------------------------------------------------------------------------------


def test_rows_and_columns_without_entries():
    X = rows()
    X[[3, 50]] = np.nan
    empty = np.count_nonzero(np.isnan(X).all(axis=1))
    fit = fitted(X, 2)
    assert (fit.rows, fit.empty) == (90 - empty, empty)
    assert fit.weight == 90 - empty
    assert fit.loglik == pytest.approx(fitted(X[~np.isnan(X).all(axis=1)], 2).loglik, rel=1e-9)
    X[:, 1] = np.nan
    with pytest.raises(DataError, match="column 1 of X has no observed entry"):
        fitted(X, 2)
    with pytest.raises(OptionError, match="n_components=3 must be at most 2, the number of rows"):
        fitted(np.array([[1.0, np.nan], [2.0, 3.0], [np.nan, np.nan]]), 3)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", COVARIANCE_STRUCTURES)
def test_a_constant_column_with_missing_values(name):
    X = rows()
    X[:, 1] = np.where(np.isnan(X[:, 1]), np.nan, 7.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = fitted(X, 2, structure=name)
    assert fit.constant == (1,)
    assert np.isfinite(fit.loglik)
    assert not fit.clamped
    with pytest.raises(DataError, match="no variance"):
        fitted(np.where(np.isnan(X), np.nan, 1.0), 2, structure=name)


def test_infinities_are_explained():
    X = rows()
    X[0, 0] = np.inf
    with pytest.raises(DataError, match="infinity"):
        fitted(X, 2)
    w = np.ones(90)
    w[0] = 0.0
    assert fitted(X, 2, weight=w).loglik == pytest.approx(fitted(X[1:], 2).loglik, rel=1e-9)

"""Probabilistic PCA: three algorithms, one maximum, and slow twins that know only the textbook."""

from __future__ import annotations

import tracemalloc
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris

from eigenlens import DataError, OptionError
from eigenlens.data.memory import ArraySource, SparseSource
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.latent.n_components import DIMENSION_RULES
from eigenlens.latent.ppca.em import best_in_subspace, products_and_rest
from eigenlens.latent.ppca.fit import fit_each_ppca, fit_ppca
from eigenlens.linalg.operators import CentredRows
from eigenlens.linalg.spectrum import orient
from eigenlens.missing.fit import fit_incomplete_rows
from eigenlens.missing.result import free_parameters, missing_or_reraise, principal_form
from references import airquality, tobamovirus

TIGHT = {"tol": 1e-16, "rng": np.random.default_rng(0)}


def rows(n=300, d=8, k=3, seed=0, shift=4.0):
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((d, k)) * np.linspace(3.0, 1.0, k)
    return rng.standard_normal((n, k)) @ W.T + 0.8 * rng.standard_normal((n, d)) + shift


def with_missing(X, share=0.2, seed=1):
    M = X.copy()
    M[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return M


def closed_form(X, k):
    """Tipping and Bishop 1999, eq. 7 and 8, from all eigenvalues."""
    S = np.cov(X.T, bias=True)
    lam, U = np.linalg.eigh(S)
    lam, U = lam[::-1], U[:, ::-1]
    noise = lam[k:].mean()
    return LinearGaussian(X.mean(axis=0), orient(U[:, :k]) * np.sqrt(lam[:k] - noise), noise)


def textbook_em(X, k, steps):
    """EM with its two steps written out (ibid., appendix B): posterior moments of every row, then regressions."""
    mu, (n, d) = X.mean(axis=0), X.shape
    R = X - mu
    W, noise = np.random.default_rng(0).standard_normal((d, k)), 1.0
    for _ in range(steps):
        M = W.T @ W + noise * np.eye(k)
        Z = np.linalg.solve(M, W.T @ R.T).T
        ZZ = n * noise * np.linalg.inv(M) + Z.T @ Z
        W = np.linalg.solve(ZZ, Z.T @ R).T
        noise = (np.sum(R * R) - 2.0 * np.sum(Z * (R @ W)) + np.trace(ZZ @ W.T @ W)) / (n * d)
    return LinearGaussian(mu, W, noise)


def loglik(model, X):
    return float(multivariate_normal(model.mean, model.covariance()).logpdf(X).sum())


# ---- one maximum --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize(("n", "d"), [(300, 8), (20, 30)])
def test_the_closed_form(n, d, k):
    X = rows(n, d)
    fit, twin = fit_ppca(ArraySource(X), k), closed_form(X, k)
    assert fit.model.noise == pytest.approx(twin.noise, rel=1e-11)
    np.testing.assert_allclose(fit.model.loadings, twin.loadings, atol=1e-9)
    assert fit.loglik == pytest.approx(loglik(twin, X), rel=1e-11)
    assert (fit.solver, fit.converged, fit.rows, fit.weight) == ("closed-form", True, n, n)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_every_algorithm_ends_at_the_same_likelihood(k):
    """Closed form, fused EM, textbook EM, and the EM for missing entries on rows that miss none."""
    X = rows()
    best = fit_ppca(ArraySource(X), k).loglik
    em = fit_ppca(ArraySource(X), k, solver="accelerated-em", **TIGHT)
    start = LinearGaussian(np.zeros(8), np.random.default_rng(1).standard_normal((8, k)), 1.0)
    assert em.loglik == pytest.approx(best, abs=1e-8)
    assert loglik(textbook_em(X, k, 3000), X) == pytest.approx(best, abs=1e-8)
    assert fit_incomplete_rows(ArraySource(X), [start], tol=1e-16).path[-1] == pytest.approx(best, abs=1e-8)
    assert loglik(em.model, X) == pytest.approx(em.loglik, rel=1e-12)


@pytest.mark.parametrize("k", [1, 3])
def test_em_returns_the_same_loadings(k):
    X = rows()
    a, b = fit_ppca(ArraySource(X), k), fit_ppca(ArraySource(X), k, solver="accelerated-em", **TIGHT)
    np.testing.assert_allclose(b.model.loadings, a.model.loadings, atol=1e-5)
    assert b.model.noise == pytest.approx(a.model.noise, rel=1e-8)


def test_k_one_less_than_d_is_the_saturated_gaussian():
    X, M = rows(d=5), airquality.DATA
    for solver in ("closed-form", "accelerated-em"):
        fit = fit_ppca(ArraySource(X), 4, solver=solver, **TIGHT)
        np.testing.assert_allclose(fit.model.covariance(), np.cov(X.T, bias=True), rtol=1e-5)
    assert fit_ppca(ArraySource(M), 3).loglik == pytest.approx(airquality.SATURATED, abs=1e-6)
    assert free_parameters(5, 4, scalar_noise=True) == 5 + 15


def test_no_noise_left_is_the_projection_of_pca():
    """As the noise tends to 0 the posterior mean, scaled by the deviations, is the score of PCA."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((50, 2)) @ rng.standard_normal((2, 6)) + 1e-5 * rng.standard_normal((50, 6))
    model = fit_ppca(ArraySource(X), 2).model
    U, s, _ = np.linalg.svd((X - X.mean(axis=0)).T, full_matrices=False)
    scores = (X - X.mean(axis=0)) @ orient(U[:, :2])
    np.testing.assert_allclose(model.posterior(X)[0] * s[:2] / np.sqrt(50), scores, atol=1e-8)


# ---- references ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["closed-form", "em"])
@pytest.mark.parametrize("k", tobamovirus.MAXIMA)
def test_tobamovirus(k, solver, accuracy):
    fit = fit_ppca(ArraySource(tobamovirus.DATA), k, solver=solver, **TIGHT)
    noise, best = tobamovirus.MAXIMA[k]
    what, system = f"probabilistic PCA of tobamovirus, k = {k}, {solver}", "closed form, in R 4.2.2"
    accuracy.close(f"{what}: noise", fit.model.noise, noise, system=system, rtol=1e-7)
    accuracy.close(f"{what}: log-likelihood", fit.loglik, best, system=system, atol=1e-8)


@pytest.mark.parametrize("k", airquality.PPCA)
def test_airquality_against_full_information_maximum_likelihood(k, accuracy):
    scaled = airquality.DATA / np.nanstd(airquality.DATA, axis=0, ddof=1)
    for X, (best, noise) in ((airquality.DATA, airquality.PPCA[k]), (scaled, airquality.SCALED_PPCA[k])):
        fit, how = fit_ppca(ArraySource(X), k), ", scaled" if X is scaled else ""
        what, system = f"probabilistic PCA of airquality with missing values, k = {k}{how}", "lavaan, FIML"
        accuracy.close(f"{what}: log-likelihood", fit.loglik, best, system=system, atol=1e-6)
        accuracy.close(f"{what}: noise", fit.model.noise, noise, system=system, rtol=1e-4)
        assert fit.loglik == pytest.approx(float(fit.model.log_density(X).sum()), rel=1e-12)


# ---- EM -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_the_likelihood_never_falls(seed):
    X = rows(seed=seed)
    for M in (X, with_missing(X)):
        fit = fit_ppca(ArraySource(M), 2, solver="accelerated-em", rng=np.random.default_rng(seed))
        assert np.all(np.diff(fit.path) >= 0.0)
        assert fit.converged
        assert fit.loglik == fit.path[-1]
        assert fit.n_iter == len(fit.path)


def test_the_best_model_within_a_space():
    """Its likelihood is what dense algebra says, and no change of the loadings within the space is better."""
    X, rng = rows(d=5), np.random.default_rng(3)
    S, n = np.cov(X.T, bias=True), len(X)
    for Q in (np.linalg.qr(rng.standard_normal((5, 3)))[0], np.linalg.eigh(S)[1][:, [0, 2, 4]]):
        values, T = np.linalg.eigh(Q.T @ S @ Q)
        lam, T = values[::-1], T[:, ::-1]
        excess, noise, deviance = best_in_subspace(lam, np.trace(S) - lam.sum(), 5)
        best = LinearGaussian(X.mean(axis=0), Q @ T * np.sqrt(excess), noise)
        assert -0.5 * n * deviance == pytest.approx(loglik(best, X), rel=1e-12)
        for _ in range(50):
            A = T * np.sqrt(excess) + 1e-2 * rng.standard_normal((3, 3))
            other = LinearGaussian(best.mean, Q @ A, noise * np.exp(1e-2 * rng.standard_normal()))
            assert loglik(other, X) < loglik(best, X)
    assert excess[2] == 0.0  # the least variance is below the mean of the rest: it is noise


def test_a_step_gains_at_least_what_the_textbooks_does():
    """W ← S W (sigma² I + M⁻¹ WᵀSW)⁻¹ spans the same space as the next loadings, and is no better than they are."""
    X, k = rows(), 2
    S, d = np.cov(X.T, bias=True), 8
    options = {"solver": "accelerated-em", "tol": 1e-300}
    for steps in (3, 4):
        now, after = (
            fit_ppca(ArraySource(X), k, max_iter=m, rng=np.random.default_rng(0), **options) for m in (steps, steps + 1)
        )
        W, noise = now.model.loadings, now.model.noise
        M, SW = W.T @ W + noise * np.eye(k), S @ W
        plain = SW @ np.linalg.inv(noise * np.eye(k) + np.linalg.solve(M, W.T @ SW))
        plain_noise = np.trace(S - SW @ np.linalg.solve(M, plain.T)) / d
        em = LinearGaussian(now.model.mean, plain, plain_noise)
        assert now.loglik < loglik(em, X) <= after.loglik + 1e-9
        P = plain @ np.linalg.pinv(plain)
        np.testing.assert_allclose(P @ after.model.loadings, after.model.loadings, atol=1e-10)


def test_it_takes_fewer_steps_than_the_textbook():
    X = rows()
    steps = fit_ppca(ArraySource(X), 3, solver="accelerated-em", tol=1e-10, rng=np.random.default_rng(0)).n_iter
    best = fit_ppca(ArraySource(X), 3).loglik
    assert best - loglik(textbook_em(X, 3, steps), X) > 1e-3


def test_an_honest_stop():
    """The reported remaining gain is of the size of the true one."""
    X = rows()
    best = fit_ppca(ArraySource(X), 2).loglik
    fit = fit_ppca(ArraySource(X), 2, solver="accelerated-em", max_iter=5, rng=np.random.default_rng(0))
    assert not fit.converged
    assert fit.n_iter == 5
    assert 0.1 < fit.residual / ((best - fit.loglik) / X.size) < 10.0


def test_an_interrupt_keeps_the_best_so_far():
    def stop(done, total, what):
        if what.startswith("EM: step 4"):
            raise KeyboardInterrupt

    fit = fit_ppca(ArraySource(rows()), 2, solver="accelerated-em", progress=stop, rng=np.random.default_rng(0))
    assert (fit.interrupted, fit.converged, fit.n_iter) == (True, False, 4)
    assert fit.loglik == pytest.approx(loglik(fit.model, rows()), rel=1e-12)

    def stop_at_once(done, total, what):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_ppca(ArraySource(rows()), 2, solver="accelerated-em", progress=stop_at_once)


def test_columns_of_very_different_sizes():
    """With two dimensions 6e-12 of the variance is left for the noise, of which the trace keeps four digits."""
    X = rows(d=6) * np.array([1e6, 1.0, 1e-3, 1e3, 1.0, 1.0])
    for k in (1, 2):
        a, b = (fit_ppca(ArraySource(X), k, solver=solver, **TIGHT) for solver in ("closed-form", "accelerated-em"))
        assert b.loglik == pytest.approx(a.loglik, rel=1e-5)


def highest(X, k):
    """The maximum, from the singular values of the centred rows, which keep what their squares lose."""
    n, d = X.shape
    lam = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2 / n
    noise = lam[k:].sum() / (d - k)
    return -0.5 * n * (d * np.log(2.0 * np.pi) + np.log(lam[:k]).sum() + (d - k) * np.log(noise) + d)


def with_noise(small, n=500, d=30):
    rng = np.random.default_rng(1)
    signal = rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)) * 1.3
    return signal + small * rng.standard_normal((n, d)) * rng.uniform(0.5, 1.5, d) + 3.0


@pytest.mark.parametrize("small", [0.7, 1e-2, 1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("k", [3, 8])
def test_em_is_at_the_maximum_where_it_says_so(small, k):
    """With eight components of three it takes hundreds of steps, each a gain that rounding hides at the end."""
    X = with_noise(small)
    fit = fit_ppca(ArraySource(X, block_rows=177), k, solver="accelerated-em", rng=np.random.default_rng(0))
    assert (fit.converged, fit.ended) == (True, "converged")
    assert fit.loglik == pytest.approx(highest(X, k), rel=0.0, abs=1e-8 if small > 1e-5 else 4e-8)
    assert np.all(np.diff(fit.path) >= 0.0)
    assert fit.path[-1] == fit.loglik


def test_em_says_that_rounding_stopped_it():
    """Of noise 1e-9 of the signal the rows themselves hold seven digits: the last of the likelihood cannot be found."""
    X = with_noise(1e-9)
    fit = fit_ppca(ArraySource(X), 8, solver="accelerated-em", rng=np.random.default_rng(0))
    assert (fit.converged, fit.ended) == (False, "rounding")
    assert abs(highest(X, 8) - fit.loglik) < 1e-2


@pytest.mark.parametrize("offset", [0.0, 1e5])
@pytest.mark.parametrize("k", [3, 8])
def test_em_of_single_precision_rows_is_at_their_maximum(offset, k):
    X = (with_noise(0.7) + offset).astype(np.float32)
    fit = fit_ppca(ArraySource(X), k, solver="accelerated-em", rng=np.random.default_rng(0))
    assert fit.loglik == pytest.approx(highest(X.astype(np.float64), k), rel=0.0, abs=1e-8)
    assert fit.converged


@pytest.mark.long
def test_what_is_left_is_of_all_rows():
    """tol an entry of 100,000 would be 1e-7; it is 2500 tol."""
    X = rows(5000, 20, 3)
    fit = fit_ppca(ArraySource(X), 6, solver="accelerated-em", rng=np.random.default_rng(0))
    assert fit.loglik == pytest.approx(highest(X, 6), rel=0.0, abs=1e-8)


@pytest.mark.parametrize("max_iter", [20, 60, 150])
def test_what_is_left_to_gain_is_known(max_iter):
    """The estimate against the truth while the gains shrink slowly."""
    X = with_noise(0.7)
    fit = fit_ppca(ArraySource(X), 8, solver="accelerated-em", max_iter=max_iter, rng=np.random.default_rng(0))
    assert 0.3 < fit.residual * X.size / (highest(X, 8) - fit.loglik) < 3.0


def test_triangles_against_all_rows_at_once():
    rng = np.random.default_rng(3)
    X, w = rows(120), rng.integers(0, 3, 120).astype(float)
    Q = np.linalg.qr(rng.standard_normal((8, 3)))[0]
    source = CentredRows(ArraySource(X, block_rows=50).weighted(w))
    products, rest, R = products_and_rest(source, Q)
    Y = (X - np.average(X, axis=0, weights=w)) * np.sqrt(w / (w.sum() - 1.0))[:, None]
    np.testing.assert_allclose(products, Y.T @ Y @ Q, rtol=1e-10)
    np.testing.assert_allclose(R.T @ R, Q.T @ Y.T @ Y @ Q, rtol=1e-10)
    assert rest == pytest.approx(np.sum((Y - Y @ Q @ Q.T) ** 2), rel=1e-12)


# ---- laws ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["closed-form", "em", "accelerated-em"])
def test_weights_are_copies_and_blocks_do_not_show(solver):
    X, w = rows(80), np.random.default_rng(4).integers(0, 4, 80)
    fit = partial(fit_ppca, k=2, solver=solver, tol=1e-16)
    weighted = fit(ArraySource(X, block_rows=13).weighted(w.astype(float)), rng=np.random.default_rng(0))
    copies = fit(ArraySource(np.repeat(X, w, axis=0)), rng=np.random.default_rng(0))
    assert weighted.loglik == pytest.approx(copies.loglik, rel=1e-12)
    assert weighted.weight == copies.weight == w.sum()
    np.testing.assert_allclose(weighted.model.covariance(), copies.model.covariance(), rtol=1e-5)


def test_weights_are_copies_with_missing_values():
    M, w = with_missing(rows(80)), np.random.default_rng(4).integers(0, 4, 80)
    weighted = fit_ppca(ArraySource(M, block_rows=13).weighted(w.astype(float)), 2)
    copies = fit_ppca(ArraySource(np.repeat(M, w, axis=0)), 2)
    assert weighted.loglik == pytest.approx(copies.loglik, rel=1e-10)


def test_shift_turn_and_scale():
    X = rows()
    Q = np.linalg.qr(np.random.default_rng(5).standard_normal((8, 8)))[0]
    a, b = fit_ppca(ArraySource(X), 2), fit_ppca(ArraySource(3.0 * X @ Q + 1e5), 2)
    np.testing.assert_allclose(b.model.covariance(), 9.0 * Q.T @ a.model.covariance() @ Q, rtol=1e-6, atol=1e-6)
    assert b.loglik == pytest.approx(a.loglik - X.size * np.log(3.0), abs=1e-6)
    np.testing.assert_allclose(b.model.mean, 3.0 * a.model.mean @ Q + 1e5, rtol=1e-12)


def test_single_precision_rows():
    X = rows(2000).astype(np.float32)
    exact = fit_ppca(ArraySource(X.astype(np.float64)), 2)
    for solver in ("closed-form", "accelerated-em"):
        fit = fit_ppca(ArraySource(X), 2, solver=solver, rng=np.random.default_rng(0))
        assert fit.loglik == pytest.approx(exact.loglik, rel=1e-6)
        assert np.all(np.diff(fit.path) >= 0.0)


def test_sparse_rows_stay_sparse():
    X = sp.random(4000, 4000, density=1e-3, random_state=0, format="csr")
    tracemalloc.start()
    fit = fit_ppca(SparseSource(X), 2, rng=np.random.default_rng(0))
    em = fit_ppca(SparseSource(X), 2, solver="accelerated-em", max_iter=5, rng=np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4000 * 4000  # an eighth of the rows made dense
    assert fit.loglik > em.loglik
    assert fit.model.noise == pytest.approx(em.model.noise, rel=1e-2)


def test_a_start_does_not_matter():
    M = with_missing(rows())
    ends = [
        fit_ppca(ArraySource(rows()), 3, solver="accelerated-em", rng=np.random.default_rng(i)).loglik for i in range(4)
    ]
    np.testing.assert_allclose(ends, fit_ppca(ArraySource(rows()), 3).loglik, atol=1e-6)
    assert fit_ppca(ArraySource(M), 3).reason == "X has missing entries"
    assert fit_ppca(ArraySource(M), 3, solver="accelerated-em").reason == "asked for"


def test_canonical_loadings_are_orthogonal_and_oriented():
    model = LinearGaussian(np.zeros(5), np.random.default_rng(6).standard_normal((5, 3)), 1.0)
    turned = principal_form(model)
    G = turned.loadings.T @ turned.loadings
    np.testing.assert_allclose(G, np.diag(np.diag(G)), atol=1e-12)
    assert np.all(np.diff(np.diag(G)) <= 0.0)
    np.testing.assert_allclose(turned.covariance(), model.covariance(), atol=1e-12)
    assert np.all(turned.loadings[np.abs(turned.loadings).argmax(axis=0), range(3)] > 0.0)


# ---- the number of dimensions -------------------------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("rule", DIMENSION_RULES)
@pytest.mark.parametrize("share", [0.0, 0.15])
def test_the_number_of_dimensions_is_found(rule, share):
    M = with_missing(rows(250, 12), share)
    choice = DIMENSION_RULES[rule](fit_each_ppca, ArraySource(M), range(1, 12), np.random.default_rng(0))
    assert choice.k == 3
    assert choice.counts.tolist() == list(range(1, 9))  # five more were no better
    best = np.argmin(choice.values) if rule == "bic" else np.argmax(choice.values)
    assert choice.counts[best] == 3


def test_the_criteria_by_hand():
    X = rows(100, 5)
    bic = DIMENSION_RULES["bic"](fit_each_ppca, ArraySource(X), range(1, 5), np.random.default_rng(0))
    twins = [-2.0 * loglik(closed_form(X, k), X) + (6 + 5 * k - k * (k - 1) / 2) * np.log(100) for k in range(1, 5)]
    np.testing.assert_allclose(bic.values, twins, rtol=1e-10)
    assert bic.fit.loglik == pytest.approx(fit_ppca(ArraySource(X), bic.k).loglik)
    cv = DIMENSION_RULES["cv"](fit_each_ppca, ArraySource(X), range(1, 5), np.random.default_rng(7))
    fold = np.random.default_rng(7).permutation(100) % 5
    for k in range(1, 5):
        each = [loglik(closed_form(X[fold != i], k), X[fold == i]) / 20 for i in range(5)]
        assert cv.values[k - 1] == pytest.approx(np.mean(each), rel=1e-10)
        assert cv.errors[k - 1] == pytest.approx(np.std(each, ddof=1) / np.sqrt(5), rel=1e-8)


def test_each_number_as_if_alone():
    for M in (rows(), with_missing(rows())):
        each = [fit.loglik for fit in fit_each_ppca(ArraySource(M), [1, 2, 4])]
        np.testing.assert_allclose(each, [fit_ppca(ArraySource(M), k).loglik for k in (1, 2, 4)], rtol=1e-9)


def test_numbers_that_leave_no_noise_are_not_tried():
    X = rows(6, 30)
    assert len(list(fit_each_ppca(ArraySource(X), range(1, 20)))) == 4


# ---- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "em"])
def test_rows_that_fill_too_few_dimensions(solver):
    rng = np.random.default_rng(8)
    collinear = rng.standard_normal((100, 2)) @ rng.standard_normal((2, 5))
    with pytest.raises(
        OptionError, match=r"n_components=3 keeps all the variance.*fill only 2 of 5.*choose n_components=1 or fewer"
    ):
        fit_ppca(ArraySource(collinear), 3, solver=solver, max_iter=3000, rng=np.random.default_rng(0))
    assert fit_ppca(ArraySource(collinear), 1, solver=solver, rng=np.random.default_rng(0)).converged
    with pytest.raises(OptionError, match=r"n_components=3 .*(the 4 rows fill|number of rows, 4)"):
        fit_ppca(ArraySource(rows(4)), 3, solver=solver)
    with pytest.raises(DataError, match="no variance"):
        fit_ppca(ArraySource(np.full((9, 4), 1e6 / 3.0)), 2, solver=solver)


@pytest.mark.parametrize("small", [1e-4, 1e-7, 1e-10, 1e-13])
@pytest.mark.parametrize("solver", ["auto", "accelerated-em"])
def test_little_noise_is_still_noise(solver, small):
    """Beyond 1e-8 a covariance matrix holds nothing of it; the maximum is there all the same."""
    X = np.random.default_rng(9).standard_normal((100, 2)) * [1.0, small]
    fit = fit_ppca(ArraySource(X), 1, solver=solver, rng=np.random.default_rng(0))
    a, b = (X - X.mean(axis=0)).T
    least = (b @ b - (a @ b) ** 2 / (a @ a)) / 100  # the second eigenvalue, but for terms of small⁴
    tight = 1e-8 if small > 1e-10 else 1e-2  # a rounding of 1e-16 in the rows is felt beside 1e-13
    assert fit.model.noise == pytest.approx(least, rel=tight)
    assert fit.loglik == pytest.approx(-50.0 * (2.0 * np.log(2.0 * np.pi) + np.log(a @ a / 100) + np.log(least) + 2.0))


@pytest.mark.parametrize("small", [1e-3, 1e-5])
def test_little_noise_beside_missing_values(small):
    """With entries missing the noise is estimated all the same, down to 1e-12 of the variance."""
    rng = np.random.default_rng(13)
    X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 5)) + small * rng.standard_normal((300, 5))
    assert fit_ppca(ArraySource(with_missing(X, 0.1)), 2).model.noise == pytest.approx(small**2, rel=0.15)


@pytest.mark.parametrize("seed", range(4))
def test_collinear_incomplete_rows_are_rejected(seed):
    rng = np.random.default_rng(seed)
    X = with_missing(rng.standard_normal((100, 2)) @ rng.standard_normal((2, 6)), 0.1)
    with pytest.raises(OptionError, match=r"fill only 2 of 6 dimensions.*cannot be distinguished from 0"):
        fit_ppca(ArraySource(X), 2)


def three_forms():
    """Standardised iris, each flower with one of three sets of columns: none has all four."""
    X = load_iris().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    form = np.random.default_rng(5).integers(0, 3, len(X))
    X[np.arange(4) % 3 == form[:, None]] = np.nan
    return X


@pytest.mark.long
def test_noise_at_its_floor_is_kept_where_the_likelihood_has_a_bound():
    """Three dimensions fit what is seen of a row without noise, but the rows are not alike: the density is bounded."""
    X = three_forms()
    fit = fit_ppca(ArraySource(X), 3)
    assert fit.floored
    assert fit.loglik == pytest.approx(-427.94353, abs=1e-4)  # the limit of fits with floors of 1e-2 to 1e-12
    assert fit.model.noise < 1e-8
    assert not fit_ppca(ArraySource(X), 1).floored


def test_noise_above_its_floor_is_not_reported_to_be_at_it():
    rng = np.random.default_rng(13)
    X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 5)) + 1e-5 * rng.standard_normal((300, 5))
    assert not fit_ppca(ArraySource(with_missing(X, 0.1)), 2).floored


def test_one_component_of_collinear_rows_cannot_be_fewer():
    rng = np.random.default_rng(1)
    X = with_missing(rng.standard_normal((100, 1)) @ rng.standard_normal((1, 6)), 0.1)
    with pytest.raises(OptionError, match=r"n_components=1 .*more rows or other columns are needed"):
        fit_ppca(ArraySource(X), 1)


@pytest.mark.parametrize("solver", ["auto", "em"])
def test_constant_rows_with_a_missing_value_have_no_variance_either(solver):
    X = np.full((9, 4), 1e6 / 3.0)
    X[2, 1] = np.nan
    with pytest.raises(DataError, match="X has no variance: every column is constant"):
        fit_ppca(ArraySource(X), 1, solver=solver)


def test_folds_are_fitted_from_one_start():
    """The passes that a fit takes tell how many starts it made."""
    few, many = (fit_ppca(ArraySource(with_missing(rows(150, 6))), 2, thorough=thorough) for thorough in (False, True))
    assert few.passes < many.passes / 2
    assert few.loglik == pytest.approx(many.loglik, abs=1e-6)


@pytest.mark.parametrize(("n", "d"), [(60, 10), (12, 40)])
def test_an_exact_rest_against_singular_values(n, d):
    """Three large directions and noise 1e-9 of them: what is left of the trace is rounding, of the rows it is not."""
    rng = np.random.default_rng(10)
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)) + 1e-9 * rng.standard_normal((n, d))
    s = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    for k in (3, 5):
        fit = fit_ppca(ArraySource(X, block_rows=7), k)
        assert fit.model.noise == pytest.approx((s[k:] ** 2).sum() / n / (d - k), rel=1e-5)
    each = [fit.model.noise for fit in fit_each_ppca(ArraySource(X), [2, 3, 5])]
    np.testing.assert_allclose(each, [(s[k:] ** 2).sum() / n / (d - k) for k in (2, 3, 5)], rtol=1e-5)
    em = fit_ppca(ArraySource(X), 3, solver="accelerated-em", rng=np.random.default_rng(0))
    assert em.model.noise == pytest.approx((s[3:] ** 2).sum() / n / (d - 3), rel=1e-5)


def collinear(seed, offset):
    rng = np.random.default_rng(seed)
    r, d = 2 + seed % 3, (5, 8, 20, 50)[seed % 4]
    return rng.standard_normal((100, r)) @ rng.standard_normal((r, d)) * 10.0 ** rng.uniform(-3.0, 3.0, d) + offset, r


@pytest.mark.few(8)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("solver", ["auto", "em"])
def test_rounding_is_not_noise(seed, dtype, solver):
    """Columns that are sums of others, rounded to their dtype, far from 0 or not."""
    X, r = collinear(seed, (seed > 3) * 1e3)
    fit = partial(fit_ppca, ArraySource(X.astype(dtype)), solver=solver, max_iter=3000, rng=np.random.default_rng(0))
    for k in (r, r + 1):
        with pytest.raises(OptionError, match="keeps all the variance"):
            fit(k)


def test_single_precision_rows_may_have_columns_of_little_variance():
    """A column 1e-9 of the others is as precise as they are: float32 is no reason to call it rounding."""
    X = (np.random.default_rng(11).standard_normal((200, 3)) * [1.0, 1.0, 1e-9]).astype(np.float32)
    assert fit_ppca(ArraySource(X), 2).model.noise == pytest.approx(float(X[:, 2].astype(float).var()), rel=0.05)


# ---- rows that do not count ---------------------------------------------------------------------------------


def spoilt(X, w):
    """The rows of weight 0 full of what may not be read."""
    A = X.copy()
    A[w == 0.0] = np.nan
    A[np.flatnonzero(w == 0.0)[0]] = np.inf
    A[np.flatnonzero(w == 0.0)[1]] = 1e300
    return A


@pytest.mark.parametrize("share", [0.0, 0.2])
@pytest.mark.parametrize("solver", ["auto", "closed-form", "em", "accelerated-em"])
@pytest.mark.parametrize("kind", [partial(ArraySource, block_rows=33), lambda X: SparseSource(sp.csr_matrix(X))])
def test_rows_of_weight_zero_may_hold_anything(solver, share, kind):
    if share and solver == "closed-form":
        pytest.skip("needs complete rows")
    X, w = with_missing(rows(120), share), np.random.default_rng(12).integers(0, 3, 120).astype(float)
    w[33:66] = 0.0  # a whole block
    fit = partial(fit_ppca, k=2, solver=solver)
    found = fit(kind(spoilt(X, w)).weighted(w), rng=np.random.default_rng(0))
    left = fit(ArraySource(X[w > 0.0]).weighted(w[w > 0.0]), rng=np.random.default_rng(0))
    assert found.loglik == pytest.approx(left.loglik, rel=1e-12)
    assert (found.rows, found.weight, found.solver) == (np.count_nonzero(w), w.sum(), left.solver)


@pytest.mark.long
@pytest.mark.parametrize("rule", DIMENSION_RULES)
@pytest.mark.parametrize("share", [0.0, 0.15])
def test_rows_of_weight_zero_are_in_no_fold(rule, share):
    X, w = with_missing(rows(80, 5), share), np.ones(80)
    w[::4] = 0.0
    choose = partial(DIMENSION_RULES[rule], fit_each_ppca, counts=range(1, 5))
    found = choose(source=ArraySource(spoilt(X, w)).weighted(w), rng=np.random.default_rng(0))
    left = choose(source=ArraySource(X[w > 0.0]), rng=np.random.default_rng(0))
    np.testing.assert_allclose(found.values, left.values, rtol=1e-10)
    np.testing.assert_allclose(found.errors, left.errors, rtol=1e-6)


@pytest.mark.long
def test_missing_values_only_in_the_rows_left_out_of_a_fold():
    X = rows(50, 5)
    X[7, 2] = np.nan
    choice = DIMENSION_RULES["cv"](fit_each_ppca, ArraySource(X), range(1, 4), np.random.default_rng(0))
    assert np.all(np.isfinite(choice.values))


# ---- interrupts while choosing ------------------------------------------------------------------------------


def fits_until(stop, source, counts, **options):
    """Fits of which number `stop` is interrupted before it is done."""
    for i, fit in enumerate(fit_each_ppca(source, counts, **options)):
        if i == stop:
            raise KeyboardInterrupt
        yield fit


@pytest.mark.parametrize("rule", DIMENSION_RULES)
def test_an_interrupt_leaves_the_best_so_far(rule):
    choose = partial(DIMENSION_RULES[rule], source=ArraySource(rows()), counts=range(1, 8))
    whole = choose(fit_each_ppca, rng=np.random.default_rng(0))
    cut = choose(partial(fits_until, 2), rng=np.random.default_rng(0))
    assert (cut.interrupted, whole.interrupted) == (True, False)
    assert cut.counts.tolist() == [1, 2]
    assert cut.k == 2
    np.testing.assert_allclose(cut.values, whole.values[:2], rtol=1e-12)
    with pytest.raises(KeyboardInterrupt):
        choose(partial(fits_until, 0), rng=np.random.default_rng(0))
    if rule == "bic":
        assert cut.fit.loglik == pytest.approx(fit_ppca(ArraySource(rows()), 2).loglik, rel=1e-12)


def test_bic_keeps_a_first_fit_that_was_cut_short():
    def stop(done, total, what):
        if what.startswith("EM: step 4"):
            raise KeyboardInterrupt

    fit_each = partial(fit_each_ppca, solver="accelerated-em", progress=stop, rng=np.random.default_rng(0))
    choice = DIMENSION_RULES["bic"](fit_each, ArraySource(rows()), range(1, 4), np.random.default_rng(0))
    assert (choice.k, choice.interrupted, choice.fit.interrupted, choice.fit.ended) == (1, True, True, "interrupted")


def test_how_em_ended():
    source = ArraySource(rows())
    em = partial(fit_ppca, source, 2, solver="accelerated-em")
    assert em(rng=np.random.default_rng(0)).ended == "converged"
    assert em(max_iter=3, rng=np.random.default_rng(0)).ended == "max_iter"
    unending = em(tol=1e-300, rng=np.random.default_rng(0))
    assert (unending.ended, unending.converged) == ("rounding", True)
    assert fit_ppca(source, 2).ended == ""


# ---- memory -------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_incomplete_sparse_rows_become_dense_by_blocks():
    """What EM reads is blocks of 16 MB when dense, and the pass before it holds no more."""
    X = sp.random(30_000, 1000, density=0.002, random_state=0, format="csr")
    X.data[::50] = np.nan
    source = SparseSource(X).weighted(np.tile([0.0, 1.0, 2.0], 10_000))
    tracemalloc.start()
    rows, observed = missing_or_reraise(source, DataError("about missing values"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 30_000 * 1000 / 2
    sizes = [8 * block.rows.shape[0] * block.rows.shape[1] for block in rows.blocks()]
    assert max(sizes) <= 1 << 24
    assert (rows.n_rows, rows.weight.sum()) == (20_000, 30_000.0)
    twin = X[np.arange(30_000) % 3 > 0]
    assert observed.missing.tolist() == np.bincount(twin.indices[np.isnan(twin.data)], minlength=1000).tolist()


@pytest.mark.parametrize("share", [0.0, 0.1])
@pytest.mark.parametrize("solver", ["auto", "em"])
def test_no_square_matrix_of_many_columns(solver, share):
    d = 6000
    X = with_missing(rows(30, d, 2), share)
    tracemalloc.start()
    fit = fit_ppca(ArraySource(X), 2, solver=solver, max_iter=20, rng=np.random.default_rng(0))
    for method in (fit.model.posterior, fit.model.log_density, partial(fit.model.impute, return_std=True)):
        method(with_missing(X, 0.1))
    fit.model.sample(10, np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * d * d / 4


def test_bad_incomplete_rows():
    M = with_missing(rows())
    with pytest.raises(DataError, match="closed-form' needs complete rows"):
        fit_ppca(ArraySource(M), 2, solver="closed-form")
    with pytest.raises(DataError, match="closed-form' needs complete rows"):
        next(fit_each_ppca(ArraySource(M), [1, 2], solver="closed-form"))
    with pytest.raises(OptionError, match=r"n_components=4 must be at most 3, two less than the number of rows"):
        fit_ppca(ArraySource(M[:5]), 4)
    with pytest.raises(DataError, match="X has 2 samples, but at least 3 rows"):
        fit_ppca(ArraySource(M[:2]), 1)
    with_infinity = M.copy()
    with_infinity[3, 4] = np.inf
    with pytest.raises(DataError, match="infinity: 1 entry"):
        fit_ppca(ArraySource(with_infinity), 2)
    with pytest.raises(DataError, match="squares overflow"):
        fit_ppca(ArraySource(M * 1e160), 2)
    M[:, 2] = np.nan
    with pytest.raises(DataError, match="column 2 of X has no observed entry"):
        fit_ppca(ArraySource(M), 2)


def test_an_error_that_is_not_about_missing_values_is_kept():
    with pytest.raises(DataError, match="X has 1 sample of positive weight"):
        fit_ppca(ArraySource(rows(1)), 1)


def test_columns_of_very_different_scale_do_not_hide_a_component():
    """One column ten thousand times the others: the start must not put a component at zero, where EM would leave it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 2)) @ rng.standard_normal((2, 6)) * 3.0 + rng.standard_normal((500, 6))
    X[:, 0] *= 1e4
    missing = rng.random(X.shape) < 0.1
    missing[:, 0] = False
    fits = [fit_ppca(ArraySource(np.where(missing, np.nan, X)), k) for k in (1, 2, 3)]
    assert fits[1].loglik > fits[0].loglik + 600.0
    assert fits[2].loglik > fits[1].loglik
    assert float(fits[1].model.noise) == pytest.approx(1.0656, abs=1e-3)

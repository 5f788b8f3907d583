"""`ProbabilisticPCA(solver="em")`: EM as it is taught, from random starts and from one of the user's own."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine

import eigenlens
from eigenlens import ConvergenceWarning, OptionError, ProbabilisticPCA
from eigenlens.densities import LinearGaussian
from eigenlens.errors import DataError, MissingValues
from eigenlens.textbook import complete_log_likelihood, em_path, em_step, em_step_of_covariance, expected_latents

X = load_wine().data
X = (X - X.mean(axis=0)) / X.std(axis=0)
N, D = X.shape
W = np.random.default_rng(1).standard_normal((D, 2))


def taught(X, W, noise, steps, weight=None):
    """Return the log-likelihoods of EM by dense matrices, from the covariance alone."""
    w = np.ones(len(X)) if weight is None else weight
    mean = w @ X / w.sum()
    S = (X - mean).T @ ((X - mean) * w[:, None]) / w.sum()
    return em_path(LinearGaussian(mean, W, noise), S, w.sum(), steps)


def few_steps(X, steps, init, **fit):
    with pytest.warns(ConvergenceWarning, match=f"'em' stopped after {steps} steps"):
        return ProbabilisticPCA(init[0].shape[1], solver="em", init=init, max_iter=steps).fit(X, **fit)


@pytest.mark.parametrize(("k", "noise"), [(1, 1.0), (2, 0.3), (5, 4.0), (12, 1.0)])
def test_every_step_is_that_of_the_textbook(k, noise):
    start = np.random.default_rng(k).standard_normal((D, k))
    ppca, path = few_steps(X, 12, (start, noise)), taught(X, start, noise, 12)
    np.testing.assert_allclose(ppca.loglik_path_, path.logliks[1:], rtol=1e-12)
    np.testing.assert_allclose(ppca.get_covariance(), path.models[-1].covariance(), atol=1e-12)
    assert (ppca.n_iter_, len(ppca.loglik_path_), ppca.solver_.solver) == (12, 12, "em")
    np.testing.assert_allclose(ppca.score_samples(X).sum(), ppca.loglik_, rtol=1e-12)


def test_weights_sparse_rows_and_single_precision():
    weight = np.random.default_rng(0).integers(0, 3, N).astype(float)
    path = taught(X, W, 1.0, 8, weight)
    np.testing.assert_allclose(
        few_steps(X, 8, (W, 1.0), sample_weight=weight).loglik_path_, path.logliks[1:], rtol=1e-12
    )
    rows = sparse.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))
    path = taught(rows.toarray(), W, 1.0, 8)
    np.testing.assert_allclose(few_steps(rows, 8, (W, 1.0)).loglik_path_, path.logliks[1:], rtol=1e-12)
    single = X.astype(np.float32)
    path = taught(single.astype(float), W, 1.0, 8)
    np.testing.assert_allclose(few_steps(single, 8, (W, 1.0)).loglik_path_, path.logliks[1:], rtol=1e-10)


def test_it_takes_about_twice_the_steps_of_the_accelerated_one():
    top = ProbabilisticPCA(2).fit(X).loglik_
    needed = {}
    for solver in ("em", "accelerated-em"):
        fits = [ProbabilisticPCA(2, solver=solver, random_state=seed).fit(X) for seed in range(4)]
        assert all(fit.converged_ and abs(top - fit.loglik_) < 1e-8 for fit in fits)
        needed[solver] = [int(np.argmax(top - np.asarray(fit.loglik_path_) < 1e-7)) + 1 for fit in fits]
    assert needed == {"em": [47, 43, 37, 42], "accelerated-em": [23, 22, 19, 21]}


def test_a_start_at_the_maximum_stays_there():
    best = ProbabilisticPCA(2).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ppca = ProbabilisticPCA(2, solver="em", init=(best.loadings_, best.noise_variance_)).fit(X)
    assert ppca.converged_
    assert ppca.n_iter_ <= 2
    np.testing.assert_allclose(ppca.loadings_, best.loadings_, atol=1e-12)


@pytest.mark.parametrize("small", [1e-3, 1e-6, 1e-8])
def test_little_noise_is_found_but_not_the_lengths_and_a_warning_says_what_is_left(small):
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 6)) + small * rng.standard_normal((200, 6))
    best = ProbabilisticPCA(2).fit(Y)
    with pytest.warns(ConvergenceWarning, match="still to be gained"):
        ppca = ProbabilisticPCA(2, solver="em", random_state=0, max_iter=100).fit(Y)
    assert not ppca.converged_
    assert ppca.noise_variance_ == pytest.approx(best.noise_variance_, rel=1e-5)
    assert ppca._fit.residual * Y.size == pytest.approx(best.loglik_ - ppca.loglik_, rel=1e-4)


def test_incomplete_rows_start_from_init():
    Y = np.where(np.random.default_rng(3).random(X.shape) < 0.1, np.nan, X)
    ppca = ProbabilisticPCA(2, solver="em", init=(W, 1.0)).fit(Y)
    assert ppca.loglik_ == pytest.approx(ProbabilisticPCA(2).fit(Y).loglik_, abs=1e-6)


def test_init_is_kept_in_files_and_clones(tmp_path):
    ppca = ProbabilisticPCA(2, solver="em", init=(W, 1.0)).fit(X)
    ppca.save(tmp_path / "ppca.safetensors")
    again = eigenlens.load(tmp_path / "ppca.safetensors")
    np.testing.assert_array_equal(again.init[0], W)
    np.testing.assert_array_equal(again.fit(X).loadings_, clone(ppca).fit(X).loadings_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init": (W, 1.0)}, "init is the start of EM, but solver='auto'"),
        ({"init": (W[:5], 1.0), "solver": "em"}, r"init has loadings of shape \(5, 2\)"),
        ({"init": (W, 0.0), "solver": "em"}, r"init\[1\]=0.0 must be a number above 0"),
        ({"init": (W * [1.0, 0.0], 1.0), "solver": "em"}, "a column of zeros"),
        ({"init": W, "solver": "em"}, r"must be a pair \(W, sigma²\)"),
        ({"init": (W, 1.0), "solver": "em", "n_components": "bic"}, "n_components='bic' of 13 columns"),
    ],
)
def test_a_wrong_start_is_an_error(options, message):
    with pytest.raises(OptionError, match=message):
        ProbabilisticPCA(**({"n_components": 2} | options)).fit(X)


def test_single_steps_take_tables_and_reject_missing_values():
    X = np.random.default_rng(0).standard_normal((30, 3))
    model = LinearGaussian(X.mean(axis=0), np.ones((3, 1)), 1.0)
    assert np.allclose(em_step(model, pd.DataFrame(X)).loadings, em_step(model, X).loadings, rtol=1e-12)
    assert complete_log_likelihood(model, X.tolist(), np.zeros(30).tolist()) < 0.0
    X[3, 1] = np.nan
    for step in (em_step, expected_latents):
        with pytest.raises(MissingValues, match="these steps are for complete rows"):
            step(model, X)
    X[3, 1] = np.inf
    with pytest.raises(DataError, match="infinity"):
        em_step(model, X)


def test_single_steps_reject_what_is_not_probabilistic_pca():
    model, X = LinearGaussian(np.zeros(3), np.ones((3, 1)), 1.0), np.eye(3)
    factors = LinearGaussian(np.zeros(3), np.ones((3, 1)), np.ones(3))
    for step in (lambda: em_step(factors, X), lambda: em_step_of_covariance(factors, X)):
        with pytest.raises(OptionError, match="one noise variance per column"):
            step()
    for S in (np.eye(2), np.full((3, 3), np.nan)):
        with pytest.raises(DataError, match=r"S has shape .* must be a covariance matrix of finite numbers \(3, 3\)"):
            em_path(model, S, n=10, steps=1)
    with pytest.raises(OptionError, match=r"steps=2\.5 must be an integer"):
        em_path(model, np.eye(3), n=10, steps=2.5)
    with pytest.raises(DataError, match=r"Z has shape \(2, 1\), but the rows and the model need \(3, 1\)"):
        complete_log_likelihood(model, X, np.zeros((2, 1)))

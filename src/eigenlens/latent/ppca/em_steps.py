"""EM for probabilistic PCA as it is taught, one step at a time: from the rows, and from their covariance alone.

The solver "em" of `ProbabilisticPCA` takes these steps in a form that suits many rows and small noise
(`latent.ppca.plain_em`); "accelerated-em" maximises more in each, and needs fewer (`latent.ppca.em`). Here are the two
steps of Tipping and Bishop (1999, J. R. Statist. Soc. B 61, 611, appendix B), on the frozen `LinearGaussian`: with
M = WᵀW + sigma² I, the expectations given the rows are

    ⟨z_i⟩ = M⁻¹ Wᵀ(x_i − mu),     Σ ⟨z_i z_iᵀ⟩ = n sigma² M⁻¹ + Σ ⟨z_i⟩⟨z_i⟩ᵀ .

    >>> X = np.random.default_rng(0).standard_normal((50, 3)) * [3.0, 1.0, 1.0]
    >>> model = LinearGaussian(X.mean(axis=0), np.ones((3, 1)), 1.0)
    >>> S = np.cov(X.T, ddof=0)
    >>> by_rows, fused = em_step(model, X), em_step_of_covariance(model, S)
    >>> np.allclose(by_rows.loadings, fused.loadings), np.allclose(by_rows.noise, fused.noise)
    (True, True)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.data.column_range import MAX_ENTRY
from eigenlens.data.rows import MAX_ROWS
from eigenlens.densities.base import as_rows
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.errors import DataError, MissingValues, OptionError


class ExpectedLatents(NamedTuple):
    """The expectations of the latent values: ⟨z_i⟩ (n, k), and Σ ⟨z_i z_iᵀ⟩ (k, k)."""

    means: Array
    squares: Array


def expected_latents(model: LinearGaussian, X: Any) -> ExpectedLatents:
    """Return the expectations of the latent values given the rows of X (n, d): the E-step."""
    noise = _one_noise(model)
    X, W = _complete_rows(X, model.mean), model.loadings
    M = W.T @ W + noise * np.eye(W.shape[1])
    Z = np.linalg.solve(M, W.T @ (X - model.mean).T).T
    return ExpectedLatents(Z, len(X) * noise * np.linalg.inv(M) + Z.T @ Z)


def maximise_expected(mean: Array, X: Any, latents: ExpectedLatents) -> LinearGaussian:
    """Return the model that maximises the expected complete-data log-likelihood: the M-step.

    W = [Σ (x_i − mu) ⟨z_i⟩ᵀ] [Σ ⟨z_i z_iᵀ⟩]⁻¹,
    sigma² = Σ {‖x_i − mu‖² − 2 ⟨z_i⟩ᵀ Wᵀ(x_i − mu) + tr(⟨z_i z_iᵀ⟩ WᵀW)} / (n d).
    """
    mean = checks.numbers("mean", mean)
    if mean.ndim != 1 or not np.all(np.isfinite(mean)):
        raise OptionError("must be finite numbers (d,), one per column", argument="mean", value=mean)
    X = _complete_rows(X, mean)
    latents, centred = _check_latents(latents, len(X)), X - mean
    W = np.linalg.solve(latents.squares, latents.means.T @ centred).T
    error = _expected_error(centred, W, latents)
    if not error > 0.0:
        what = "lies on the plane of its latents, or too near for floats: the noise variance would be 0"
        raise DataError(what, argument="X", fix="use fewer latent dimensions, or divide X by a constant")
    return LinearGaussian(mean, W, error / X.size)


def _expected_error(centred: Array, W: Array, latents: ExpectedLatents) -> float:
    """Return the expectation of Σ ‖x_i − mu − W z_i‖² over the latent values."""
    explained = 2.0 * np.sum(latents.means * (centred @ W)) - np.sum(latents.squares * (W.T @ W))
    return float(np.sum(centred**2) - explained)


def em_step(model: LinearGaussian, X: Any) -> LinearGaussian:
    """Return the model after one step of EM on the rows of X (n, d): expectations, then their maximum."""
    latents = expected_latents(model, X)
    return maximise_expected(model.mean, X, latents)


def em_step_of_covariance(model: LinearGaussian, S: Any) -> LinearGaussian:
    """Return the model after one step of EM on the covariance S (d, d), divisor n: both steps fused.

    W ← S W (sigma² I + M⁻¹ WᵀSW)⁻¹,    sigma² ← (tr S − tr(S W M⁻¹ W̃ᵀ)) / d with W̃ the new W (ibid., eq. 29 and 30).
    """
    noise = _one_noise(model)
    W, S = model.loadings, _check_covariance(S, model.mean.size)
    eye = np.eye(W.shape[1])
    M, SW = W.T @ W + noise * eye, S @ W
    new = np.linalg.solve((noise * eye + np.linalg.solve(M, W.T @ SW)).T, SW.T).T
    left = np.trace(S) - np.sum(np.linalg.solve(M, SW.T).T * new)
    if not left > 0.0:
        what = "has no variance beyond the directions of the model, so that sigma² becomes 0 and no step can follow"
        raise DataError(what, argument="S", fix="give the covariance of more rows, or a model of fewer directions")
    return LinearGaussian(model.mean, new, float(left / len(S)))


def complete_log_likelihood(model: LinearGaussian, X: Any, Z: Any) -> float:
    """Return Σ log p(x_i, z_i) = Σ log N(x_i | W z_i + mu, sigma² I) + log N(z_i | 0, I), as if Z (n, k) were known."""
    noise = _one_noise(model)
    X, Z = _complete_rows(X, model.mean), as_rows(Z, argument="Z")
    wanted = len(X), model.loadings.shape[1]
    if Z.shape != wanted:
        raise DataError(f"has shape {Z.shape}, but the rows and the model need {wanted}", argument="Z")
    left = X - model.mean - Z @ model.loadings.T
    of_rows = X.size * np.log(2.0 * np.pi * noise) + np.sum(left**2) / noise
    return float(-0.5 * (of_rows + Z.size * np.log(2.0 * np.pi) + np.sum(Z**2)))


def expected_complete_log_likelihood(model: LinearGaussian, X: Any, latents: ExpectedLatents) -> float:
    """Return the expectation of `complete_log_likelihood`, which the M-step maximises over models (ibid.)."""
    noise = _one_noise(model)
    X = _complete_rows(X, model.mean)
    latents = _check_latents(latents, len(X), model.loadings.shape[1])
    left = _expected_error(X - model.mean, model.loadings, latents)
    of_latents = latents.means.size * np.log(2.0 * np.pi) + np.trace(latents.squares)
    return float(-0.5 * (X.size * np.log(2.0 * np.pi * noise) + left / noise + of_latents))


def _complete_rows(X: Any, mean: Array) -> Array:
    """Return X as float64 rows (n, d); raise if an entry is missing or infinite."""
    rows = as_rows(X, mean.size)
    if not len(rows):
        raise DataError("has 0 rows; at least 1 is needed", argument="X")
    if np.isnan(rows).any():
        fix = "leave those rows out; ProbabilisticPCA(solver='em') takes them"
        raise MissingValues("X has missing values, and these steps are for complete rows", fix=fix)
    if not np.isfinite(rows).all():
        raise DataError("X contains infinity", fix="replace the values, or leave those rows out")
    if np.abs(rows).max(initial=0.0) > MAX_ENTRY:
        what = f"X has entries as large as {np.abs(rows).max():.3g}, and squares overflow"
        raise DataError(what, fix="divide its columns by a constant")
    return rows


def _one_noise(model: Any, argument: str = "model") -> float:
    """Return sigma²; raise for a model with one noise variance per column, which is factor analysis."""
    checks.instance(argument, model, LinearGaussian, "make one, or give model_ of a fitted ProbabilisticPCA")
    if np.ndim(model.noise):
        what = "has one noise variance per column, but probabilistic PCA has one sigma²"
        raise OptionError(what, argument=argument, fix="use FactorAnalysis(solver='em')")
    return float(model.noise)


def _check_latents(latents: Any, n: int, k: int | None = None) -> ExpectedLatents:
    """Return the expectations of the latent values of n rows; k, if it is given, is the number of latent dimensions."""
    checks.instance("latents", latents, ExpectedLatents, "give those of expected_latents")
    means, squares = checks.numbers("latents", latents.means), checks.numbers("latents", latents.squares)
    k = squares.shape[-1] if k is None and squares.ndim else k
    if means.shape != (n, k) or squares.shape != (k, k):
        what = f"has shapes {means.shape} and {squares.shape} for {n} rows; they must be (n, k) and (k, k)"
        raise OptionError(what, argument="latents", fix="give those of the same rows")
    lam = np.linalg.eigvalsh(squares) if np.all(np.isfinite(squares)) else np.zeros(1)
    if not np.all(np.isfinite(means)) or not np.all(lam > 0.0):
        what = "must be finite, and its squares positive definite"
        raise OptionError(what, argument="latents", fix="give those of expected_latents")
    return ExpectedLatents(means, squares)


def _check_covariance(S: Any, d: int) -> Array:
    """Return S as a matrix (d, d) of finite numbers."""
    matrix = checks.numbers("S", S)
    if matrix.shape != (d, d) or not np.all(np.isfinite(matrix)):
        what = f"has shape {matrix.shape}; it must be a covariance matrix of finite numbers ({d}, {d})"
        raise DataError(what, argument="S")
    return matrix


class EMPath(NamedTuple):
    """The models of EM, the start first, and the log-likelihood (T + 1,) of each."""

    models: tuple[LinearGaussian, ...]
    logliks: Array


def em_path(start: LinearGaussian, S: Any, n: float, steps: int) -> EMPath:
    """Return the models of `steps` steps of EM on the covariance S (d, d), divisor n, of n rows."""
    _one_noise(start, "start")
    S, weight = _check_covariance(S, start.mean.size), checks.real("n", n, 0.0, MAX_ROWS)
    models = [start]
    for _ in range(checks.integer("steps", steps, 0, checks.MAX_REPLICATES)):
        models.append(em_step_of_covariance(models[-1], S))
    return EMPath(tuple(models), np.array([_log_likelihood(model, S, weight) for model in models]))


def _log_likelihood(model: LinearGaussian, S: Array, n: float) -> float:
    """Return −n/2 (d log 2π + log |C| + tr C⁻¹S)."""
    C = model.covariance()
    return float(-0.5 * n * (len(S) * np.log(2.0 * np.pi) + np.linalg.slogdet(C)[1] + np.trace(np.linalg.solve(C, S))))

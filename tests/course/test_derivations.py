"""Items of the courses that are proofs: what they state holds for the numbers of public names, to rounding."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from eigenlens import PCA, DataError, FactorAnalysis, KernelPCA, OptionError, ProbabilisticPCA, principal_angles
from eigenlens.densities import Gaussian, LinearGaussian, Mixture, Spherical

RNG = np.random.default_rng(0)
NOISE = np.array([0.5, 0.6, 0.7, 0.9, 1.1, 1.3])
X = RNG.standard_normal((2000, 2)) @ RNG.standard_normal((2, 6)) + NOISE * RNG.standard_normal((2000, 6))
X -= X.mean(axis=0)
S = X.T @ X / len(X)
VALUES, VECTORS = (part[..., ::-1] for part in np.linalg.eigh(S))


def stationary(kept):
    """Return the model of probabilistic PCA whose loadings are along these eigenvectors, with its best noise."""
    noise = np.delete(VALUES, kept).mean()
    return LinearGaussian(np.zeros(6), VECTORS[:, kept] * np.sqrt(VALUES[kept] - noise), noise)


def test_item_34_the_first_component_is_stationary_under_its_constraint():
    u = PCA(1).fit(X).components_[0]
    np.testing.assert_allclose(S @ u, (u @ S @ u) * u, atol=1e-12)
    assert u @ u == pytest.approx(1.0)


def test_item_48_latent_values_are_drawn_first_and_rows_given_them():
    model = ProbabilisticPCA(2).fit(X)
    rows, Z = model.sample(50_000, random_state=0, return_latent=True)
    assert np.array_equal(rows, model.sample(50_000, random_state=0))
    np.testing.assert_allclose(Z.T @ Z / len(Z), np.eye(2), atol=0.02)
    residuals = rows - model.inverse_transform(Z)
    np.testing.assert_allclose(residuals.T @ residuals / len(Z), model.noise_variance_ * np.eye(6), atol=0.02)


def test_item_48_latent_values_follow_a_rotation():
    model = FactorAnalysis(2, rotation="promax").fit(X)
    rows, Z = model.sample(50_000, random_state=0, return_latent=True)
    correlations = np.corrcoef(Z.T)
    np.testing.assert_allclose(correlations, model.factor_correlations_, atol=0.02)
    assert np.abs(np.corrcoef(Z[:, 0], model.transform(rows)[:, 0])[0, 1]) > 0.8


def test_item_53_a_rotation_of_the_loadings_is_the_same_density():
    model, turn = stationary([0, 1]), np.linalg.qr(RNG.standard_normal((2, 2)))[0]
    turned = LinearGaussian(model.mean, model.loadings @ turn, model.noise)
    np.testing.assert_allclose(turned.log_density(X), model.log_density(X), atol=1e-12)


def test_item_91_the_error_of_a_basis_is_what_its_variance_leaves():
    pca = PCA(2).fit(X)
    E = pca.components_.T
    error = np.linalg.norm(X) ** 2 - len(X) * np.trace(E.T @ S @ E)
    assert pca.reconstruction_error(X).sum() == pytest.approx(error, rel=1e-12)


def test_item_98_planes_of_probabilistic_pca_and_of_factor_analysis():
    pca, factors = PCA(2).fit(X), FactorAnalysis(2).fit(X)
    assert principal_angles(ProbabilisticPCA(2).fit(X), pca).max() < 1e-7
    found = principal_angles(factors, pca)
    cosines = np.linalg.svd(np.linalg.qr(factors.loadings_)[0].T @ pca.components_.T, compute_uv=False)
    np.testing.assert_allclose(np.sort(found), np.arccos(cosines), atol=1e-7)
    assert found.max() > 0.01


def test_angles_need_two_spans_of_the_same_columns():
    with pytest.raises(DataError, match="length 3, and the second of length 6"):
        principal_angles(np.eye(3)[:, :2], PCA(2).fit(X))
    with pytest.raises(DataError, match=r"second has shape \(6, 1\).* not all of them 0"):
        principal_angles(PCA(2).fit(X), np.zeros(6))
    for model in (PCA(2), KernelPCA(2).fit(X)):
        with pytest.raises(OptionError, match=r"first=.* is not fitted, or has no axes"):
            principal_angles(model, X[0])


def test_a_vector_is_a_direction():
    pca = PCA(2).fit(X)
    np.testing.assert_allclose(principal_angles(pca.components_[0] - pca.components_[1], pca), 0.0, atol=1e-7)
    np.testing.assert_allclose(principal_angles([1.0, 0.0], [1.0, 1.0]), np.pi / 4.0, rtol=1e-12)


def test_item_101_the_gradient_of_the_likelihood_is_zero_at_the_estimate():
    model = ProbabilisticPCA(2).fit(X)
    P, W = model.get_precision(), model.loadings_
    np.testing.assert_allclose(len(X) * (P @ S @ P @ W - P @ W), 0.0, atol=1e-7)


SPECTRUM = np.array([5.0, 3.0, 2.6, 2.4, 0.5, 0.3])
"""Eigenvalues of which several choices of two exceed the mean of the others."""


def log_likelihood_of(kept):
    """Return the log-likelihood of 100 rows with this spectrum, and its gradient over n; None where W is not real."""
    noise = np.delete(SPECTRUM, kept).mean()
    if noise >= SPECTRUM[list(kept)].min():
        return None
    W = np.eye(6)[:, kept] * np.sqrt(SPECTRUM[list(kept)] - noise)
    model, S = LinearGaussian(np.zeros(6), W, noise), np.diag(SPECTRUM)
    P = model.precision()
    loglik = -50.0 * (6.0 * np.log(2.0 * np.pi) + model.log_determinant + np.trace(P @ S))
    return loglik, P @ S @ P @ W - P @ W


def test_item_103_other_eigenvectors_are_worse():
    best = ProbabilisticPCA(2).fit_covariance(np.diag(SPECTRUM), n_samples=100).loglik_
    found = {kept: log_likelihood_of(kept) for kept in combinations(range(6), 2)}
    others = [value for kept, value in found.items() if value is not None and kept != (0, 1)]
    assert found[0, 1][0] == pytest.approx(best, rel=1e-12)
    assert len(others) >= 3  # (0, 2), (0, 3), (1, 2), ...
    for loglik, gradient in others:
        np.testing.assert_allclose(gradient, 0.0, atol=1e-12)  # stationary too
        assert loglik < best - 1.0
    assert found[2, 5] is None  # the noise would exceed a kept eigenvalue, and W would not be real


def test_item_106_the_discarded_eigenvalues_are_adjacent_and_the_smallest():
    ppca = ProbabilisticPCA(2).fit_covariance(np.diag(SPECTRUM), n_samples=100)
    full = multivariate_normal(np.zeros(6), np.diag(SPECTRUM)).entropy() * -100.0  # the likelihood of all of S
    loss = {}
    for kept in combinations(range(6), 2):
        left = np.delete(SPECTRUM, kept)
        loss[kept] = np.log(left.mean()) - np.log(left).mean()  # E of the third lecture
        if (found := log_likelihood_of(kept)) is not None:
            assert (full - found[0]) / (100.0 * 4.0 / 2.0) == pytest.approx(loss[kept], rel=1e-12)
    assert min(loss.values()) >= 0.0
    assert ppca.loglik_ == pytest.approx(full - 200.0 * loss[0, 1], rel=1e-12)
    assert min(loss, key=loss.__getitem__) in {(0, 1), (0, 5), (4, 5)}  # four adjacent ones are left
    possible = [kept for kept in loss if log_likelihood_of(kept) is not None]
    assert min(possible, key=loss.__getitem__) == (0, 1)


def test_item_107_no_component_is_the_worst_model():
    levels = [stationary(list(range(k))).log_density(X).sum() for k in range(5)]
    assert np.all(np.diff(levels) > 0.0)


def test_item_150_the_bayes_optimal_classifier_from_known_densities():
    rule = Mixture(np.array([0.5, 0.5]), [Gaussian(np.array([m]), Spherical(1.0, 1)) for m in (-1.0, 1.0)])
    error = 1.0 - rule.responsibilities(rule.sample(200_000, np.random.default_rng(1))).max(axis=1).mean()
    assert error == pytest.approx(norm.cdf(-1.0), abs=0.002)

"""Items of the courses about kernels: Gram matrices, kernel PCA without centring, distances in feature space."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import eigenlens
from eigenlens import KernelPCA

rng = np.random.default_rng(0)
X, NEW = rng.normal(size=(40, 2)), rng.normal(size=(7, 2))
CENTRED = np.eye(40) - 1.0 / 40


def squares(X):
    """The features phi (n, 6) of (x·y + 1)²."""
    a, b = X.T
    return np.column_stack([a**2, b**2, 2**0.5 * a * b, 2**0.5 * a, 2**0.5 * b, np.ones(len(X))])


def eigenpairs(K):
    values, vectors = np.linalg.eigh(K)
    return values[::-1], vectors[:, ::-1]


def test_item_15_gram_matrix():
    np.testing.assert_allclose(eigenlens.gram(X, kernel="poly", degree=2, gamma=1.0), squares(X) @ squares(X).T)
    np.testing.assert_allclose(eigenlens.gram(X, NEW, kernel="linear"), X @ NEW.T)


def test_item_17_leading_eigenvectors_and_their_coefficients():
    model = KernelPCA(3, sigma=1.0).fit(X)
    lam, U = eigenpairs(CENTRED @ np.exp(-(cdist(X, X) ** 2) / 2.0) @ CENTRED)
    np.testing.assert_allclose(np.abs(model.eigenvectors_), np.abs(U[:, :3]), atol=1e-12)
    np.testing.assert_allclose(np.abs(model.coefficients_), np.abs(U[:, :3] / np.sqrt(lam[:3])), atol=1e-12)


def test_item_74_kernel_pca_without_centring():
    model = KernelPCA(3, sigma=1.0, center=False).fit(X)
    lam, U = eigenpairs(np.exp(-(cdist(X, X) ** 2) / 2.0))
    scores = np.exp(-(cdist(NEW, X) ** 2) / 2.0) @ U[:, :3] / np.sqrt(lam[:3])
    np.testing.assert_allclose(model.eigenvalues_, lam[:3], rtol=1e-12)
    np.testing.assert_allclose(np.abs(model.transform(NEW)), np.abs(scores), atol=1e-12)
    np.testing.assert_allclose(model.explained_variance_ratio_, lam[:3] / 40.0, rtol=1e-12)


def test_item_118_directions_are_combinations_of_the_images():
    model = KernelPCA(3, kernel="poly", degree=2, gamma=1.0, center=False).fit(X)
    V = squares(X).T @ model.coefficients_
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)  # of unit length in the six features
    np.testing.assert_allclose(squares(NEW) @ V, model.transform(NEW), atol=1e-12)


def test_item_119_two_maps_have_one_kernel():
    other = np.column_stack([X[:, 0] ** 2, X[:, 0] * X[:, 1], X[:, 1] * X[:, 0], X[:, 1] ** 2])
    K = eigenlens.gram(X, kernel="poly", degree=2, gamma=1.0, coef0=0.0)
    np.testing.assert_allclose(K, other @ other.T, atol=1e-12)
    assert np.linalg.eigvalsh(K)[0] > -1e-12  # Mercer: positive semidefinite


def test_item_120_the_null_space_is_harmless():
    K = eigenlens.gram(X, kernel="poly", degree=2, gamma=1.0)
    null = np.linalg.eigh(K)[1][:, 0]
    alpha = KernelPCA(1, kernel="precomputed", center=False).fit(K).coefficients_[:, 0]
    lam = alpha @ K @ alpha / (alpha @ alpha)
    np.testing.assert_allclose(K @ K @ (alpha + null), lam * K @ (alpha + null), atol=1e-9)
    np.testing.assert_allclose(squares(X).T @ (alpha + null), squares(X).T @ alpha, atol=1e-6)


def test_item_121_normalisation_of_coefficients():
    model = KernelPCA(4, sigma=0.7, center=False).fit(X)
    np.testing.assert_allclose(model.eigenvalues_ * np.sum(model.coefficients_**2, axis=0), 1.0, rtol=1e-12)


def test_item_122_eigenvalues_of_the_covariance_in_feature_space():
    model = KernelPCA(3, kernel="poly", degree=2, gamma=1.0, center=False).fit(X)
    S = squares(X).T @ squares(X) / 40.0
    np.testing.assert_allclose(model.explained_variance_, np.linalg.eigvalsh(S)[::-1][:3], rtol=1e-12)


def test_item_181_the_equation_of_the_coefficients():
    model = KernelPCA(2, kernel="poly", degree=2, gamma=1.0, center=False).fit(X)
    A, K = model.coefficients_, eigenlens.gram(X, kernel="poly", degree=2, gamma=1.0)
    np.testing.assert_allclose(squares(X).T @ (K @ A - A * model.eigenvalues_), 0.0, atol=1e-9)


def test_item_185_polynomial_kernel_of_the_course():
    Z = KernelPCA(2, kernel="poly", degree=2, gamma=1.0).fit_transform(X)
    U, s, _ = np.linalg.svd(CENTRED @ squares(X), full_matrices=False)
    np.testing.assert_allclose(np.abs(Z), np.abs(U[:, :2] * s[:2]), atol=1e-12)


def test_item_186_gaussian_kernel_by_its_standard_deviation():
    np.testing.assert_allclose(eigenlens.gram(X, NEW, sigma=0.8), np.exp(-(cdist(X, NEW) ** 2) / (2.0 * 0.8**2)))
    assert KernelPCA(2, sigma=0.8).fit(X).gamma_ == pytest.approx(1.0 / (2.0 * 0.8**2))


def test_item_188_distance_to_the_components_in_feature_space():
    errors = KernelPCA(2, kernel="poly", degree=2, gamma=1.0).fit(X).reconstruction_error(NEW)
    centred = squares(X) - squares(X).mean(axis=0)
    V = np.linalg.svd(centred)[2][:2]
    new = squares(NEW) - squares(X).mean(axis=0)
    np.testing.assert_allclose(errors, np.sum((new - new @ V.T @ V) ** 2, axis=1), rtol=1e-9)

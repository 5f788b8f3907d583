"""Fourier features against the kernel matrix that they approach."""

from __future__ import annotations

import numpy as np
import pytest

from eigenlens.data.memory import ArraySource
from eigenlens.errors import OptionError
from eigenlens.kernel_pca.features import APPROXIMATIONS, COUNTED_IN_FEATURES, fit_landmark_components
from eigenlens.kernel_pca.kernels import KERNELS
from eigenlens.kernel_pca.kernels.laplacian import Laplacian
from eigenlens.kernel_pca.kernels.polynomial import Polynomial
from eigenlens.kernel_pca.kernels.rbf import RBF
from eigenlens.kernel_pca.random_features import FourierFeatures, draw_fourier_features
from eigenlens.kernel_pca.storage import kernel_from_dict, kernel_to_dict


def rows_of(n=150, d=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) * np.linspace(1.0, 2.0, d) + 0.5


def fit(X, kernel, n_features, n_components=None):
    rng = np.random.default_rng(0)
    return fit_landmark_components(ArraySource(X), kernel, "fourier", n_features, n_components, rng=rng).model


@pytest.mark.parametrize("kernel", [RBF(0.1), Laplacian(0.15)], ids=lambda k: k.name)
def test_fourier_features_approach_the_kernel(kernel):
    X = rows_of(300)
    K, errors = kernel(X, X), np.empty((3, 6))
    for i, m in enumerate((32, 128, 512)):
        for seed in range(6):
            found = draw_fourier_features(ArraySource(X), kernel, m, np.random.default_rng(seed))
            F = found.features(X)
            assert F.shape == (300, m)
            np.testing.assert_allclose(np.sum(F * F, axis=1), 1.0, rtol=1e-12)
            errors[i, seed] = np.linalg.norm(K - F @ F.T) / np.linalg.norm(K)
            assert found.error(0.0) == pytest.approx(errors[i, seed], rel=0.1)
    mean = errors.mean(axis=1)
    assert np.all(mean[:-1] > 1.6 * mean[1:])  # 1/√4 each, in the mean


@pytest.mark.long
def test_fourier_features_are_unbiased():
    """The mean of K̂ over many draws of 8 features: orthogonal frequencies are each drawn from the right law."""
    X, kernel = rows_of(6, 3), RBF(0.2)
    draws = [
        draw_fourier_features(ArraySource(X), kernel, 8, np.random.default_rng(seed)).features(X) for seed in range(200)
    ]
    products = np.array([F @ F.T for F in draws])
    deviation = products.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(products.mean(axis=0) - kernel(X, X)) < 4.5 * deviation + 1e-12)


def test_fourier_scores_approach_the_exact_ones():
    X, kernel = rows_of(), RBF(0.1)
    K = kernel(X, X)
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    lam, U = np.linalg.eigh(centred)
    model = fit(X, kernel, 1000, 2)
    np.testing.assert_allclose(model.eigenvalues, lam[:-3:-1], rtol=0.1)
    assert model.trace == pytest.approx(np.trace(centred), rel=0.05)
    assert np.abs(np.corrcoef(model.scores(X)[:, 0], U[:, -1])[0, 1]) > 0.98


def test_there_may_be_more_features_than_rows():
    X, rng = rows_of(30), np.random.default_rng(0)
    found = fit_landmark_components(ArraySource(X), RBF(0.1), "fourier", 201, 2, rng=rng)
    assert found.n_features == len(found.model.coefficients) == 202
    assert found.reason == "202 features were asked for, the cosine and the sine of each of 101 frequencies"
    assert found.met
    assert "fourier" in COUNTED_IN_FEATURES < set(APPROXIMATIONS)


def test_fourier_knows_two_kernels_and_no_certificate():
    with pytest.raises(OptionError, match=r"approximation='fourier' .* kernel='poly', only with 'rbf' and 'laplacian'"):
        fit(rows_of(), Polynomial(1.0, 1.0, 2), 20)
    with pytest.raises(OptionError, match=r"n_landmarks=0\.1 asks for an error, and approximation='fourier'"):
        fit(rows_of(), RBF(1.0), 0.1)


def test_random_features_in_place_of_a_kernel_can_be_stored_but_not_requested():
    assert FourierFeatures.name not in KERNELS
    assert kernel_to_dict(FourierFeatures()) == ("fourier", {})
    assert kernel_from_dict("fourier", {}) == FourierFeatures()
    model = fit(rows_of(), RBF(0.1), 20, 2)
    again = kernel_from_dict(*kernel_to_dict(model.kernel))
    np.testing.assert_array_equal(again(rows_of(), model.rows), model.kernel(rows_of(), model.rows))

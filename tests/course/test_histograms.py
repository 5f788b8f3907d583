"""Items of the courses about histograms, kernel densities of one column, and densities with known parameters."""

from __future__ import annotations

import numpy as np
from scipy import stats

from eigenlens import KernelDensity, NaiveBayes
from eigenlens.densities import Gaussian, GaussianFamily, Histogram

SIX = [-2.1, -1.3, -0.4, 1.9, 5.1, 6.2]


def test_item_26_multivariate_normal_density():
    mean, C = np.array([1.0, -1.0]), np.array([[2.0, 0.5], [0.5, 1.0]])
    rows = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_allclose(Gaussian(mean, C).log_density(rows), stats.multivariate_normal(mean, C).logpdf(rows))


def test_item_139_histogram_estimator():
    x = np.random.default_rng(0).normal(size=200)
    found = Histogram.fit(x, bins=12)
    np.testing.assert_allclose(found.heights, np.histogram(x, 12, density=True)[0])
    assert abs(np.sum(found.heights * found.widths) - 1.0) < 1e-12


def test_item_140_from_a_histogram_to_bumps():
    boxes = Histogram.fit(SIX, bins=[-4, -2, 0, 2, 4, 6, 8])
    bumps = KernelDensity(bandwidth=1.5).fit(SIX)  # Wikipedia's six points
    y = np.linspace(-5.0, 9.0, 57)
    np.testing.assert_allclose(boxes.heights, np.array([1, 2, 1, 0, 1, 1]) / 12.0)
    np.testing.assert_allclose(bumps.density(y), stats.norm.pdf(y[:, None], SIX, 1.5).mean(axis=1), rtol=1e-8)


def test_item_149_kernel_density_is_a_convolution_of_a_fine_histogram():
    x = np.random.default_rng(0).normal(2.0, 3.0, size=200)
    fine = Histogram.fit(x, bins=5000)
    binned = KernelDensity(bandwidth=1.0).fit(fine.centres, sample_weight=200 * fine.probabilities)
    y = np.linspace(-8.0, 12.0, 41)
    np.testing.assert_allclose(binned.density(y), KernelDensity(bandwidth=1.0).fit(x).density(y), atol=1e-4)


def test_item_162_one_known_standard_deviation():
    rng = np.random.default_rng(0)
    x, y = np.r_[rng.normal(0.0, 1.0, 20), rng.normal(2.0, 1.0, 30)], np.repeat([0, 1], [20, 30])
    model = NaiveBayes({0: GaussianFamily(sigma=1.0)}).fit(x[:, None], y)
    joint = [0.4 * stats.norm(x[:20].mean()).pdf(0.7), 0.6 * stats.norm(x[20:].mean()).pdf(0.7)]
    np.testing.assert_allclose(model.predict_proba([[0.7]])[0], joint / np.sum(joint))

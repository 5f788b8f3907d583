"""Items of the courses on maximum likelihood, each in three lines or fewer of the library."""

from __future__ import annotations

import numpy as np
from scipy import stats

from eigenlens import GaussianMixture, datasets
from eigenlens.densities import Bernoulli, Gaussian, Histogram, bin_edges, log_likelihood, maximise_likelihood

X = stats.gamma(2.0, scale=3.0).rvs(200, random_state=0)


def test_item_20_maximum_likelihood_of_any_density():
    best = maximise_likelihood(lambda a, scale: stats.gamma(a, scale=scale), X, start=[1.0, 1.0])
    a, _, scale = stats.gamma.fit(X, floc=0)
    np.testing.assert_allclose(best.parameters, [a, scale], rtol=1e-7)


def test_item_21_the_likelihood_of_a_coin_as_a_curve():
    theta = np.linspace(0.01, 0.99, 99)
    curve = log_likelihood(Bernoulli, [1] * 7 + [0] * 3, theta)
    np.testing.assert_allclose(curve, 7.0 * np.log(theta) + 3.0 * np.log(1.0 - theta), rtol=1e-12)
    assert abs(theta[np.argmax(curve)] - 0.7) < 1e-12


def test_item_29_pearsons_crabs_from_the_middles_of_their_bins():
    crabs = datasets.load("crabs")
    two = GaussianMixture(2, random_state=0).fit_binned(bin_edges(crabs.data[:, 0]), crabs.weight)
    edges = np.append(crabs.data[:, 0] - 0.002, crabs.data[-1, 0] + 0.002)
    P = sum(
        w * np.diff(stats.norm(m, s).cdf(edges))
        for w, m, s in zip(two.weights_, two.means_.ravel(), np.sqrt(two.covariances_.ravel()), strict=True)
    )
    np.testing.assert_allclose(two.loglik_, crabs.weight @ np.log(P), rtol=1e-9)
    np.testing.assert_allclose(two.loglik_, -2953.8818, atol=1e-3)
    counted = Histogram.fit(crabs.data[:, 0], crabs.weight, bins=bin_edges(crabs.data[:, 0]))
    np.testing.assert_allclose(counted.probabilities, crabs.weight / crabs.weight.sum())


def test_item_134_maximum_likelihood_is_the_argmax_of_a_sum():
    best = maximise_likelihood(lambda mu, sigma: Gaussian(mu, sigma**2), X, start=[1.0, 1.0])
    np.testing.assert_allclose(best.parameters, [X.mean(), X.std()], rtol=1e-8)
    others = best.parameters * np.random.default_rng(0).uniform(0.8, 1.2, (200, 2))
    assert np.all(log_likelihood(lambda mu, sigma: Gaussian(mu, sigma**2), X, *others.T) < best.loglik)

"""`Mixture` as a value built by hand: densities, parts, draws, against slow twins."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest, multivariate_normal, norm

from eigenlens.data.source import Block
from eigenlens.densities.covariance import Diagonal, Full, Spherical
from eigenlens.densities.discrete import Categorical
from eigenlens.densities.gaussian import Gaussian
from eigenlens.densities.histogram import Histogram
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.densities.mixture import Mixture
from eigenlens.errors import OptionError

COVARIANCES = np.array(
    [[[1.0, 0.6, 0.1], [0.6, 2.0, 0.3], [0.1, 0.3, 0.5]], [[0.5, -0.2, 0.0], [-0.2, 0.4, 0.1], [0.0, 0.1, 3.0]]]
)
MEANS = np.array([[0.0, 1.0, 2.0], [2.0, -1.0, 2.5]])
WEIGHTS = np.array([0.3, 0.7])

KINDS = {
    "full": [Gaussian(m, Full(C)) for m, C in zip(MEANS, COVARIANCES, strict=True)],
    "diagonal": [Gaussian(m, Diagonal(np.diag(C))) for m, C in zip(MEANS, COVARIANCES, strict=True)],
    "spherical": [Gaussian(m, Spherical(v, 3)) for m, v in zip(MEANS, [1.0, 0.5], strict=True)],
    "latent": [LinearGaussian(m, m[:, None] / 3.0, np.array([0.5, 1.0, 2.0])) for m in MEANS],
    "mixed": [Gaussian(MEANS[0], Full(COVARIANCES[0])), Gaussian(MEANS[1], Spherical(2.0, 3))],
}


@pytest.fixture(params=KINDS)
def mixture(request):
    return Mixture(WEIGHTS, tuple(KINDS[request.param]))


def matrices(mixture):
    return [c.covariance() if isinstance(c, LinearGaussian) else c.covariance.matrix() for c in mixture.components]


def twin_joint(mixture, X):
    parts = zip(mixture.weights, mixture.components, matrices(mixture), strict=True)
    return np.stack([np.log(w) + multivariate_normal(c.mean, C).logpdf(X) for w, c, C in parts], axis=1)


def rows(n=50, seed=0):
    return np.random.default_rng(seed).normal(1.0, 2.0, (n, 3))


def test_densities_and_responsibilities(mixture):
    X = rows()
    joint = twin_joint(mixture, X)
    np.testing.assert_allclose(mixture.log_joint(X), joint, rtol=1e-11)
    p = np.exp(joint).sum(axis=1)
    np.testing.assert_allclose(mixture.log_density(X), np.log(p), rtol=1e-11)
    np.testing.assert_allclose(mixture.responsibilities(X), np.exp(joint) / p[:, None], rtol=1e-9, atol=1e-300)


def test_incomplete_rows_have_their_marginal_density(mixture):
    X = rows(4)
    X[0, 1] = X[1, [0, 2]] = X[2] = np.nan
    expected = [
        mixture.marginal([0, 2]).log_density(X[:1, [0, 2]])[0],
        mixture.marginal([1]).log_density(X[1:2, [1]])[0],
        0.0,
        mixture.log_density(X[3:])[0],
    ]
    np.testing.assert_allclose(mixture.log_density(X), expected, atol=1e-12)
    np.testing.assert_allclose(mixture.responsibilities(X)[2], WEIGHTS)


def test_far_rows_have_finite_log_densities(mixture):
    far = np.full((1, 3), 1e6)
    assert np.isfinite(mixture.log_density(far)).all()
    assert mixture.responsibilities(far).sum() == pytest.approx(1.0)


def test_conditional_is_joint_over_marginal(mixture):
    x = np.array([0.4, 0.2, 1.7])
    given = mixture.condition([2, 0], [x[2], x[0]])
    expected = mixture.log_density(x[None]) - mixture.marginal([0, 2]).log_density(x[None, [0, 2]])
    np.testing.assert_allclose(given.log_density(np.array([[x[1]]])), expected, rtol=1e-10)
    t = np.linspace(-30.0, 30.0, 4001)
    assert np.exp(given.log_density(t)).sum() * (t[1] - t[0]) == pytest.approx(1.0, abs=1e-9)


def test_marginals_integrate_and_impute_is_the_conditional_mean(mixture):
    t = np.linspace(-16.0, 20.0, 241)
    grid = np.stack(np.meshgrid(t, t), axis=-1).reshape(-1, 2)
    mass = np.exp(mixture.marginal([2, 0]).log_density(grid)).sum() * (t[1] - t[0]) ** 2
    assert mass == pytest.approx(1.0, abs=1e-6)
    X = np.array([[0.4, np.nan, np.nan]])
    filled, std = mixture.impute(X, return_std=True)
    given = mixture.condition([0], [0.4])
    np.testing.assert_allclose(filled[0], [0.4, *given.mean], rtol=1e-10)
    np.testing.assert_allclose(std[0], [0.0, *np.sqrt(np.diag(given.covariance()))], rtol=1e-10)
    np.testing.assert_array_equal(mixture.impute(X), filled)


def test_draws_have_the_moments_and_labels(mixture):
    X, labels = mixture.sample_labelled(200_000, np.random.default_rng(1))
    np.testing.assert_allclose(X.mean(axis=0), mixture.mean, atol=0.03)
    np.testing.assert_allclose(np.cov(X.T), mixture.covariance(), atol=0.08)
    np.testing.assert_allclose(np.bincount(labels) / len(X), WEIGHTS, atol=0.005)
    np.testing.assert_allclose(X[labels == 1].mean(axis=0), mixture.means[1], atol=0.03)


def test_cdf_of_one_dimension():
    mixture = Mixture(WEIGHTS, (Gaussian(np.zeros(1), Spherical(1.0, 1)), Gaussian(np.ones(1), Spherical(4.0, 1))))
    x = np.linspace(-5, 5, 11)
    np.testing.assert_allclose(mixture.cdf(x), 0.3 * norm.cdf(x) + 0.7 * norm.cdf(x, 1.0, 2.0), rtol=1e-12)
    draws = mixture.sample(4000, np.random.default_rng(0)).ravel()
    assert kstest(draws, mixture.cdf).pvalue > 0.01


@pytest.mark.parametrize("kind", ["full", "diagonal", "spherical", "latent"])
def test_reading_rows_is_the_textbook_e_step(kind):
    mixture, X = Mixture(WEIGHTS, tuple(KINDS[kind])), rows()
    w = np.random.default_rng(2).integers(0, 4, len(X)).astype(float)
    found = mixture.terms.e_step(Block(X, w))
    R = mixture.responsibilities(X) * w[:, None]
    n = R.sum(axis=0)
    means = R.T @ X / n[:, None]
    assert found.logliks[0] == pytest.approx(w @ mixture.log_density(X), rel=1e-12)
    np.testing.assert_allclose(found.moments.weight, n, rtol=1e-11)
    np.testing.assert_allclose(found.moments.mean, means, rtol=1e-11)
    scatter = np.stack([(X - m).T @ ((X - m) * r[:, None]) for m, r in zip(means, R.T, strict=True)])
    mine = found.moments.scatter if hasattr(found.moments, "scatter") else found.moments.square
    np.testing.assert_allclose(mine, scatter if mine.ndim == 3 else np.einsum("kii->ki", scatter), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["full", "diagonal"])
def test_terms_know_traces_and_distances(kind):
    mixture = Mixture(WEIGHTS, tuple(KINDS[kind]))
    S, x = COVARIANCES[0] + np.eye(3), np.array([0.3, -0.2, 1.0])
    inverses = [np.linalg.inv(C) for C in matrices(mixture)]
    np.testing.assert_allclose(mixture.terms.traces(S), [np.trace(P @ S) for P in inverses], rtol=1e-12)
    distances = [(x - m) @ P @ (x - m) for m, P in zip(MEANS, inverses, strict=True)]
    np.testing.assert_allclose(mixture.terms.distances(x), distances, rtol=1e-12)
    determinants = [np.linalg.slogdet(C)[1] for C in matrices(mixture)]
    np.testing.assert_allclose(mixture.terms.log_determinants, determinants, rtol=1e-12)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([0.3, 0.6], "sum to 1, not 0.9"),
        ([1.5, -0.5], "not be negative"),
        ([1.0], r"shape \(1,\) for 2"),
        ("a", "number"),
    ],
)
def test_weights_are_checked(weights, said):
    with pytest.raises(OptionError, match=said):
        Mixture(weights, KINDS["full"])


def test_categories_and_rows_that_no_component_can_have():
    urns = Mixture([0.25, 0.75], (Categorical([0.5, 0.5], ("red", "blue")), Categorical([1.0], ("blue",))))
    np.testing.assert_allclose(np.exp(urns.log_density(["red", "blue", "green"])), [0.125, 0.875, 0.0])
    shares = urns.responsibilities(["red", "blue", "green"])
    np.testing.assert_allclose(shares, [[1.0, 0.0], [1 / 7, 6 / 7], [0.25, 0.75]])
    boxes = Mixture([0.25, 0.75], (Histogram([0, 1], [1.0]), Histogram([0, 2], [1.0])))
    np.testing.assert_allclose(boxes.responsibilities([0.5, 5.0]), [[0.4, 0.6], [0.25, 0.75]])

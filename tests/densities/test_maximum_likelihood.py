"""The likelihood as a curve, and its maximum, against closed forms and SciPy's fits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from eigenlens import ConvergenceWarning, DataError, GaussianMixture, OptionError
from eigenlens.densities import (
    Bernoulli,
    Categorical,
    Gaussian,
    Mixture,
    bin_edges,
    log_likelihood,
    maximise_likelihood,
)

THROWS = [1, 0, 1, 1, 0, 1, 1, 1, 0, 1]


def bell(mu, sigma):
    return Gaussian(mu, sigma**2)


def test_a_curve_and_a_surface():
    theta = np.linspace(0.01, 0.99, 99)
    curve = log_likelihood(Bernoulli, THROWS, theta)
    np.testing.assert_allclose(curve, 7.0 * np.log(theta) + 3.0 * np.log(1.0 - theta), rtol=1e-13)
    x, mu, sigma = np.random.default_rng(0).normal(2.0, 3.0, 40), np.linspace(0.0, 4.0, 5), np.array([1.0, 3.0])
    surface = log_likelihood(bell, x, mu[:, None], sigma)
    want = [[stats.norm(m, s).logpdf(x).sum() for s in sigma] for m in mu]
    np.testing.assert_allclose(surface, want, rtol=1e-12)
    assert log_likelihood(bell(1.0, 2.0), x) == pytest.approx(stats.norm(1.0, 2.0).logpdf(x).sum(), rel=1e-13)


def test_weights_missing_values_and_parameters_that_are_not_valid():
    w = np.array([1.0, 2.0, 0.0])
    copies = log_likelihood(bell, [1.0, 4.0, 4.0], 2.0, 1.5)
    assert log_likelihood(bell, [1.0, 4.0, np.inf], 2.0, 1.5, sample_weight=w) == pytest.approx(copies, rel=1e-14)
    assert log_likelihood(bell, [1.0, 4.0, np.nan, 4.0], 2.0, 1.5) == pytest.approx(copies, rel=1e-14)
    assert log_likelihood(Bernoulli, THROWS, [-0.1, 1.1]).tolist() == [-np.inf, -np.inf]
    letters = log_likelihood(lambda p: Categorical([p, 1.0 - p], ("a", "b")), ["a", "b", None, "a"], 0.25)
    assert letters == pytest.approx(2.0 * np.log(0.25) + np.log(0.75))


@pytest.mark.parametrize(("n", "mu", "sigma"), [(50, 2.0, 3.0), (1000, 1e4, 1e-3), (5, 0.0, 1e6), (40, -1e-9, 1e-9)])
def test_a_bell(n, mu, sigma):
    x = np.random.default_rng(0).normal(mu, sigma, n)
    best = maximise_likelihood(bell, x, [x[0], 3.0 * sigma])
    errors = x.std() / np.sqrt([n, 2.0 * n])
    assert best.converged
    np.testing.assert_allclose((best.parameters - [x.mean(), x.std()]) / errors, 0.0, atol=1e-6)
    np.testing.assert_allclose(best.standard_errors(), errors, rtol=1e-5)
    assert best.loglik == pytest.approx(Gaussian.fit(x).fitted.loglik, rel=1e-12)
    assert best.fitted.bic == pytest.approx(2.0 * np.log(n) - 2.0 * best.loglik)


def test_families_of_scipy():
    x = stats.gamma(2.3, scale=0.7).rvs(500, random_state=1)
    a, _, scale = stats.gamma.fit(x, floc=0)
    best = maximise_likelihood(lambda a, s: stats.gamma(a, scale=s), x, [1.0, 1.0])
    np.testing.assert_allclose(best.parameters, [a, scale], rtol=1e-8)
    counts = stats.poisson(3.3).rvs(200, random_state=0)
    best = maximise_likelihood(stats.poisson, counts, 1.0)
    np.testing.assert_allclose(best.parameters, counts.mean(), rtol=1e-9)
    np.testing.assert_allclose(best.standard_errors(), np.sqrt(counts.mean() / 200), rtol=1e-6)
    y = stats.weibull_min(1.7, scale=3.0).rvs(300, random_state=2)
    c, _, scale = stats.weibull_min.fit(y, floc=0)
    best = maximise_likelihood(lambda c, s: stats.weibull_min(c, scale=s), y, [1.0, 1.0])
    assert best.loglik >= stats.weibull_min(c, scale=scale).logpdf(y).sum()
    np.testing.assert_allclose(best.parameters, [c, scale], rtol=1e-4)


def test_two_bells_are_those_of_em():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0.0, 1.0, 60), rng.normal(5.0, 0.7, 40)])

    def two(p, a, s, b, t):
        return Mixture([p, 1.0 - p], [bell(a, s), bell(b, t)])

    best, em = (
        maximise_likelihood(two, x, [0.5, 0.0, 1.0, 4.0, 1.0]),
        GaussianMixture(2, random_state=0).fit(x[:, None]),
    )
    assert best.loglik == pytest.approx(em.loglik_, abs=1e-8)
    np.testing.assert_allclose(sorted(best.parameters[[1, 3]]), sorted(em.means_.ravel()), atol=1e-5)


def test_a_maximum_at_the_end_has_no_standard_errors():
    with pytest.warns(ConvergenceWarning, match="no smooth maximum"):
        best = maximise_likelihood(Bernoulli, [1, 1, 1], 0.5)
    np.testing.assert_allclose(best.parameters, 1.0, atol=1e-6)
    assert np.isnan(best.standard_errors()).all()


@pytest.mark.parametrize("n", [5, 100, 101])
def test_a_kink_has_no_standard_errors(n):
    """The likelihood of Laplace's density has kinks at the rows, and for even n a flat top."""
    x = np.random.default_rng(0).laplace(size=n)
    with pytest.warns(ConvergenceWarning, match="no smooth maximum"):
        found = maximise_likelihood(lambda mu, b: stats.laplace(mu, b), x, [0.1, 1.0])
    assert not found.converged
    assert np.isnan(found.standard_errors()).all()
    middle = np.sort(x)[[(n - 1) // 2, n // 2]]
    assert middle[0] - 1e-6 < found.parameters[0] < middle[1] + 1e-6
    assert found.parameters[1] == pytest.approx(np.abs(x - np.median(x)).mean(), rel=1e-5)


def test_errors():
    with pytest.raises(OptionError, match=r"probability=1.5 must be between 0 and 1"):
        maximise_likelihood(Bernoulli, THROWS, 1.5)
    with pytest.raises(OptionError, match=r"start=0.0 gives the rows a likelihood that is 0"):
        maximise_likelihood(Bernoulli, THROWS, 0.0)
    with pytest.raises(DataError, match="make gives a float, which has no method log_density"):
        maximise_likelihood(lambda t: t, THROWS, 0.5)


def test_edges_of_bins():
    np.testing.assert_allclose(bin_edges([2.0, 2.5, 3.0]), [1.75, 2.25, 2.75, 3.25])
    for wrong in ([1.0], [1.0, 2.0, 4.0], [2.0, 1.0]):
        with pytest.raises(OptionError, match="centres"):
            bin_edges(wrong)

"""`boundary="linear"`: the local linear density near bounds, against the published formulas and against its aim."""

import warnings

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest

import eigenlens
from eigenlens import KernelDensity
from eigenlens.kde.kernels import SMOOTHING_KERNELS

REACH = {"gaussian": 9.0, "laplace": 42.0}


def jones_foster(x, weight, h, name, low, high):
    """Return f̄ exp(f_L / f̄ − 1) of Jones and Foster (1996), eq. (2.4), not normalised, with moments by quadrature."""
    kernel = SMOOTHING_KERNELS[name]
    reach = REACH.get(name, kernel.radius)

    def f(y):
        a, b = max((y - high) / h, -reach), min((y - low) / h, reach)
        edges = [(a, 0.0), (0.0, b)]
        moments = [
            sum(quad(lambda u, j=j: u**j * float(kernel.profile(np.array(u))), *e, epsabs=1e-14)[0] for e in edges)
            for j in range(3)
        ]
        u = (y - x) / h
        K = weight * kernel.profile(u) / (h * weight.sum())
        normalised = K.sum() / moments[0]
        line = (moments[2] * K.sum() - moments[1] * (u @ K)) / (moments[0] * moments[2] - moments[1] ** 2)
        return normalised * np.exp(line / normalised - 1.0)

    return f


@pytest.fixture(params=[(0.0, np.inf), (-np.inf, 4.0), (0.0, 4.0)], ids=["low", "high", "both"])
def bounds(request):
    return request.param


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    return rng.uniform(0.0, 4.0, 25) ** 2 / 4.0, rng.uniform(0.5, 2.0, 25)


@pytest.mark.parametrize("name", SMOOTHING_KERNELS)
@pytest.mark.parametrize("h", [0.5, 3.0, 60.0])
def test_the_density_is_that_of_jones_and_foster_normalised(name, h, bounds, rows):
    if h == 60.0 and not np.isfinite(bounds).all():
        pytest.skip("so wide a kernel on half a line is no estimate")
    x, weight = rows
    kde = KernelDensity(kernel=name, bandwidth=h, bounds=bounds, boundary="linear", tol=1e-12)
    f, slow = kde.fit(x, sample_weight=weight), jones_foster(x, weight, h, name, *bounds)
    y = np.array([0.0, 0.01, 0.4, 1.3, 2.2, 3.9, 4.0])
    expected = np.array([slow(t) for t in y])
    seen = expected > 0.0
    ratio = f.density(y)[seen] / expected[seen]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-11)
    np.testing.assert_array_equal(f.density(y)[~seen], 0.0)


@pytest.mark.parametrize("name", SMOOTHING_KERNELS)
@pytest.mark.parametrize("h", [0.5, 3.0])
def test_the_distribution_function_is_the_integral_of_the_density(name, h, bounds, rows):
    x, weight = rows
    f = KernelDensity(kernel=name, bandwidth=h, bounds=bounds, boundary="linear").fit(x, sample_weight=weight)
    kinks = np.concatenate([x - h, x, x + h, h + np.array([0.0, 4.0]), 4.0 - h - np.array([0.0, 4.0])])
    start = max(bounds[0], -130.0)
    nodes, shares = np.polynomial.legendre.leggauss(20)
    for y in (0.3, 2.7, min(bounds[1], 130.0)):
        edges = np.unique(np.concatenate([np.arange(start, y, 0.5), kinks[(kinks > start) & (kinks < y)], [y]]))
        half = 0.5 * np.diff(edges)[:, None]
        places = edges[:-1, None] + half * (1.0 + nodes)
        expected = np.sum(half * shares * f.density(places.ravel()).reshape(places.shape))
        np.testing.assert_allclose(f.cdf([y])[0], expected, atol=1e-10)
    np.testing.assert_allclose(f.cdf(f.ppf([0.1, 0.5, 0.9])), [0.1, 0.5, 0.9], atol=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "laplace", "biweight", "cosine", "triweight"])
@pytest.mark.parametrize("h", [0.5, 3.0])
def test_the_derivative_is_that_of_the_density(name, h, bounds, rows):
    x, weight = rows
    f = KernelDensity(kernel=name, bandwidth=h, bounds=bounds, boundary="linear", tol=1e-14)
    f.fit(x, sample_weight=weight)
    y, step = np.array([0.05, 0.7, 2.1, 3.95]), 1e-5
    differences = (f.density(y + step) - f.density(y - step)) / (2.0 * step)
    np.testing.assert_allclose(f.derivative(y), differences, rtol=1e-5, atol=1e-7)


def test_away_from_the_bounds_it_is_the_plain_estimate_up_to_one_factor(rows):
    x = rows[0] + 10.0
    y = np.linspace(10.0, 14.0, 9)
    linear, plain = (KernelDensity(bandwidth=0.3, bounds=b, boundary="linear").fit(x) for b in ((0, None), None))
    np.testing.assert_allclose(linear.density(y), plain.density(y), rtol=1e-12)


def test_the_bias_at_the_bound_is_of_second_order():
    """The exponential density is 1 at 0, with slope −1: reflection is off by O(h), and truncation too."""
    x = -np.log1p(-(np.arange(200_000) + 0.5) / 200_000)  # its quantiles, so that nothing is left but bias
    miss = {
        boundary: [
            abs(KernelDensity(bandwidth=h, bounds=(0, None), boundary=boundary).fit(x).density([0.0])[0] - 1.0)
            for h in (0.2, 0.1)
        ]
        for boundary in ("linear", "reflect", "renormalize")
    }
    assert miss["linear"][1] < 0.02
    assert miss["linear"][0] / miss["linear"][1] > 3.3  # four times smaller for half the bandwidth
    for boundary in ("reflect", "renormalize"):
        assert miss[boundary][1] > 0.06
        assert miss[boundary][0] / miss[boundary][1] < 2.2


def test_draws_follow_the_distribution_function():
    x = np.random.default_rng(0).exponential(size=200)
    kde = KernelDensity(bounds=(0, None), boundary="linear", random_state=1).fit(x)
    drawn = kde.sample(4000)[:, 0]
    assert drawn.min() >= 0.0
    assert kstest(drawn, lambda y: kde.cdf(y)).pvalue > 0.01


def test_weights_are_copies_and_missing_rows_have_log_density_zero():
    x, weight = np.array([0.1, 0.5, 0.6, 2.0]), np.array([1.0, 2.0, 0.0, 3.0])
    kde = KernelDensity(bandwidth=0.4, bounds=(0, None), boundary="linear")
    y = np.linspace(0.0, 3.0, 7)
    weighted = kde.fit(x, sample_weight=weight).density(y)
    np.testing.assert_allclose(kde.fit(np.repeat(x, [1, 2, 0, 3])).density(y), weighted, rtol=1e-12)
    assert kde.score_samples([[np.nan], [-1.0]]).tolist() == [0.0, -np.inf]


def test_far_from_the_rows_the_logarithm_is_true():
    kde = KernelDensity(bandwidth=0.01, bounds=(0.0, 10.0), boundary="linear", tol=1e-13).fit([0.3, 0.31])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = kde.score_samples([9.0, 9.999, 10.0])
    assert np.all(np.isfinite(found))
    assert found[0] == pytest.approx(-0.5 * (8.69 / 0.01) ** 2 - np.log(2 * 0.01 * np.sqrt(2 * np.pi)), rel=1e-12)


def test_files_keep_the_boundary(tmp_path, rows):
    kde = KernelDensity(bounds=(0, None), boundary="linear").fit(rows[0])
    kde.save(tmp_path / "kde.safetensors")
    again = eigenlens.load(tmp_path / "kde.safetensors")
    np.testing.assert_array_equal(again.density([0.0, 1.0]), kde.density([0.0, 1.0]))


@pytest.mark.parametrize(
    ("options", "X", "said"),
    [
        ({}, np.ones((4, 2)) * [[1], [2], [3], [4]], "X has 2"),
        ({"adaptive": True}, np.arange(4.0)[:, None], "adaptive"),
    ],
)
def test_several_columns_and_adaptive_widths_are_rejected(options, X, said):
    with pytest.raises(eigenlens.EigenlensError, match=f"boundary='linear'.*{said}.*'reflect'"):
        KernelDensity(bounds=(0, None), boundary="linear", bandwidth=1.0, **options).fit(X)

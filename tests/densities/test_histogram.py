"""Histograms as densities: against NumPy's counts and rules, brute-force cross-validation, and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from eigenlens import DataError, OptionError
from eigenlens.densities import Block, Histogram, HistogramFamily, Product
from eigenlens.densities.bins import BIN_RULES, SortedValues

x = np.random.default_rng(0).gamma(3.0, size=300)
EDGES = [0.0, 0.5, 2.0, 3.0, 7.0, 20.0]


def test_given_bins_are_numpys():
    found = Histogram.fit(x, bins=EDGES)
    np.testing.assert_allclose(found.heights, np.histogram(x, EDGES, density=True)[0], rtol=1e-12)
    np.testing.assert_allclose(
        found.log_density(x), stats.rv_histogram((np.histogram(x, EDGES)), density=False).logpdf(x)
    )
    assert found.fitted.loglik == pytest.approx(found.log_density(x).sum())
    assert found.fitted.free == 4


@pytest.mark.parametrize(("bins", "theirs"), [(7, 7), ("scott", "scott"), ("freedman-diaconis", "fd"), ("fd", "fd")])
def test_bins_of_one_width_are_numpys(bins, theirs):
    np.testing.assert_allclose(Histogram.fit(x, bins=bins).edges, np.histogram_bin_edges(x, theirs), rtol=1e-12)


@pytest.mark.parametrize("rule", ["scott", "fd", "knuth", "cv"])
def test_units_do_not_change_the_number_of_bins(rule):
    counts = [Histogram.fit(unit * x, bins=rule).probabilities.size for unit in (1.0, 1e-300, 1e300)]
    assert counts == counts[:1] * 3


def test_knuths_rule_against_its_formula():
    def posterior(M):
        n = np.histogram(x, M)[0]
        each = gammaln(n + 0.5).sum() - M * gammaln(0.5)
        return len(x) * np.log(M) + gammaln(M / 2) - gammaln(len(x) + M / 2) + each

    best = 1 + int(np.argmax([posterior(M) for M in range(1, 301)]))
    assert Histogram.fit(x, bins="knuth").probabilities.size == best


def test_cross_validation_against_leaving_each_value_out():
    few = x[:40]

    def risk(M):
        edges = np.linspace(few.min(), few.max(), M + 1)
        square = np.sum(np.histogram(few, edges, density=True)[0] ** 2 * np.diff(edges))
        left = [Histogram.fit(np.delete(few, i), bins=edges).log_density(few[[i]])[0] for i in range(40)]
        return square - 2.0 * np.mean(np.exp(left))

    risks = [risk(M) for M in range(1, 41)]
    assert Histogram.fit(few, bins="cv").probabilities.size == 1 + int(np.argmin(risks))


@pytest.mark.parametrize("bins", [*BIN_RULES, 9, EDGES])
def test_weights_are_copies(bins):
    w = np.random.default_rng(1).integers(0, 4, 300)
    weighted, repeated = Histogram.fit(x, w, bins=bins), Histogram.fit(np.repeat(x, w), bins=bins)
    np.testing.assert_allclose(weighted.edges, repeated.edges, rtol=1e-12)
    np.testing.assert_allclose(weighted.heights, repeated.heights, rtol=1e-10)
    np.testing.assert_allclose(weighted.standard_errors(), repeated.standard_errors(), rtol=1e-10)


def test_it_integrates_to_one_and_its_cdf_is_the_integral():
    found = Histogram.fit(x, bins=EDGES)
    t = np.linspace(-1.0, 21.0, 220_001)
    f = np.exp(found.log_density(t))
    np.testing.assert_allclose(np.cumsum(f) * (t[1] - t[0]), found.cdf(t), atol=2e-4)
    q = np.linspace(0.0, 1.0, 101)
    np.testing.assert_allclose(found.cdf(found.ppf(q)), q, atol=1e-12)
    np.testing.assert_allclose(found.ppf([0.0, 1.0, np.nan]), [0.0, 20.0, np.nan])
    gap = Histogram([0.0, 1.0, 2.0, 3.0], [0.5, 0.0, 0.5])
    np.testing.assert_allclose(gap.ppf([0.5, 0.75]), [1.0, 2.5])  # the smallest value of the gap


def test_draws_have_its_distribution():
    found = Histogram.fit(x, bins=EDGES)
    draws = found.sample(20_000, np.random.default_rng(2))
    assert draws.shape == (20_000, 1)
    assert stats.kstest(draws[:, 0], lambda t: found.cdf(t)).pvalue > 0.01


def test_standard_errors_are_those_of_repeated_samples():
    rng = np.random.default_rng(3)
    edges = [0.0, 1.0, 3.0, 60.0]
    heights = np.array([Histogram.fit(rng.gamma(3.0, size=100), bins=edges).heights for _ in range(3000)])
    p = np.diff(stats.gamma(3.0).cdf(edges))
    truth = Histogram.fit(stats.gamma(3.0).ppf((np.arange(100) + 0.5) / 100), bins=edges)
    np.testing.assert_allclose(heights.std(axis=0), np.sqrt(p * (1 - p) / 100) / np.diff(edges), rtol=0.06)
    np.testing.assert_allclose(truth.standard_errors(), heights.std(axis=0), rtol=0.08)
    low, high = truth.confidence_intervals().T
    assert np.all((low < truth.heights) & (truth.heights < high))


def test_parts_merge_and_missing_values_are_left_out():
    family = HistogramFamily(EDGES)
    halves = family.summarise(Block(x[:100, None])) + family.summarise(Block(x[100:, None]))
    np.testing.assert_allclose(family.estimate(halves).heights, Histogram.fit(x, bins=EDGES).heights)
    with_gaps = Histogram.fit([*x, np.nan, None], bins=EDGES)
    np.testing.assert_allclose(with_gaps.heights, Histogram.fit(x, bins=EDGES).heights)
    assert with_gaps.log_density([np.nan, -1.0]).tolist() == [0.0, -np.inf]


def test_smoothing_fills_empty_bins():
    found = Histogram.fit([0.5, 0.6], bins=[0.0, 1.0, 2.0], smoothing=1.0)
    np.testing.assert_allclose(found.probabilities, [0.75, 0.25])


def test_values_on_edges_and_containers():
    pd = pytest.importorskip("pandas")
    found = Histogram.fit(pd.Series([0, 1, 2, 2]), bins=[0, 1, 2])
    np.testing.assert_allclose(found.probabilities, [0.25, 0.75])
    assert Histogram.fit(x.astype(np.float32)[:, None], bins=5).heights.dtype == np.float64
    assert isinstance(found.marginal([]), Product)
    assert isinstance(found.condition([0], [1.0]), Product)
    assert "Histogram of 2 bins, n = 4" in str(found)


def test_a_rule_of_ones_own():
    assert Histogram.fit(x, bins=lambda values, low, high: round(values.total**0.5)).heights.size == 17


def test_quantiles_of_sorted_values_are_numpys():
    values = SortedValues.of(x)
    for q in (0.0, 0.1, 0.25, 0.5, 0.99, 1.0):
        assert values.quantile(q) == pytest.approx(np.quantile(x, q), rel=1e-12)
    assert values.deviation == pytest.approx(x.std(), rel=1e-12)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"bins": 0}, OptionError, "bins=0 must be at least 1"),
        ({"bins": "sturgess"}, OptionError, "bins='sturgess'"),
        ({"bins": [0.0, 2.0, 1.0]}, OptionError, "ascending"),
        ({"bins": [0.0, 1.0]}, DataError, "outside the bins, whose edges reach from 0 to 1"),
        ({"bounds": (0.0, 1.0)}, DataError, "outside the bins"),
        ({"bounds": (5.0, 1.0)}, OptionError, "ascending"),
        ({"bins": EDGES, "bounds": (0.0, 30.0)}, OptionError, "no effect"),
    ],
)
def test_what_is_wrong_is_named(options, error, said):
    with pytest.raises(error, match=said):
        Histogram.fit(x, **options)


def test_values_that_cannot_be_binned():
    with pytest.raises(DataError, match="every value of x is 3"):
        Histogram.fit([3.0, 3.0])
    assert Histogram.fit([3.0, 3.0], bins="scott", bounds=(2.0, 4.0)).heights.tolist() == [0.5]
    with pytest.raises(DataError, match="no value that is not missing"):
        Histogram.fit([np.nan])
    with pytest.raises(DataError, match="has 2 columns; a histogram has one"):
        Histogram.fit(np.ones((3, 2)))
    with pytest.raises(OptionError, match=r"would be 1\.71e\+12"):
        Histogram.fit([*x, 1e12], bins="freedman-diaconis")

"""Bandwidth rules against R, against double loops, and their laws: shifts, scalings, weights, outliers, ties."""

from __future__ import annotations

import math
import warnings

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq, minimize_scalar
from scipy.spatial.distance import cdist
from scipy.stats import norm

from eigenlens.errors import DataError, DataWarning, OptionError
from eigenlens.kde.bandwidth import BANDWIDTH_RULES, bandwidth
from eigenlens.kde.bandwidth import likelihood as bandwidth_likelihood
from eigenlens.kde.bandwidth import pairs as bandwidth_pairs
from eigenlens.kde.bandwidth.binned import make_sample
from eigenlens.kde.bandwidth.pairs import sample_distinct_rows
from eigenlens.kde.bandwidth.search import search_bandwidth
from eigenlens.kde.bandwidth.ties import separates_peaks, usual_step
from eigenlens.kde.estimator import KernelDensity
from eigenlens.kde.kernels import SMOOTHING_KERNELS
from references import bandwidths
from references.mclust import FAITHFUL

COLUMNS = {"eruptions": FAITHFUL[:, 0], "waiting": FAITHFUL[:, 1]}
RULES = sorted(BANDWIDTH_RULES)


def normal(n=500, seed=0):
    return np.random.default_rng(seed).standard_normal(n)


def two_peaks(n=400, seed=1):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(0.0, 1.0, n // 2), rng.normal(5.0, 0.3, n - n // 2)])


def quietly(x, rule):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return bandwidth(x, rule)


# ---- slow twins ---------------------------------------------------------------------------------------------


def hermite_sum(x, r, g):
    """Σ_ij φ_g^(2r)(x_i − x_j), φ_g the normal density of standard deviation g."""
    u = (x[:, None] - x) / g
    t = u * u
    polynomial = {0: lambda: 1.0, 2: lambda: t * t - 6 * t + 3, 3: lambda: t * t * t - 15 * t * t + 45 * t - 15}[r]()
    return (polynomial * np.exp(-t / 2)).sum() / (math.sqrt(2 * math.pi) * g ** (2 * r + 1))


def slow_sheather_jones(x, direct=False, low=None, high=None):
    n = len(x)
    q = np.quantile(x, [0.25, 0.75])
    s = min(x.std(ddof=1), (q[1] - q[0]) / 1.349)
    a, b = 1.24 * s * n ** (-1 / 7), 1.23 * s * n ** (-1 / 9)

    def S(g):
        return hermite_sum(x, 2, g) / (n * (n - 1))

    T = -hermite_sum(x, 3, b) / (n * (n - 1))
    c = 1 / (2 * math.sqrt(math.pi) * n)
    if direct:
        return (c / S((2.394 / (n * T)) ** (1 / 7))) ** 0.2
    alpha = 1.357 * (S(a) / T) ** (1 / 7)
    top = 1.144 * s * n**-0.2
    return brentq(lambda h: (c / S(alpha * h ** (5 / 7))) ** 0.2 - h, low or 0.1 * top, high or 2 * top, xtol=1e-15)


def slow_lscv(x, h):
    n = len(x)
    others = hermite_sum(x, 0, h) - n / (math.sqrt(2 * math.pi) * h)
    return (hermite_sum(x, 0, math.sqrt(2) * h) - 2 * others) / n**2


def slow_mlcv(x, h):
    """Minus the log-likelihood of left-out points."""
    K = np.exp(-((x[:, None] - x) ** 2) / (2 * h * h)) / h
    np.fill_diagonal(K, 0.0)
    return -np.log(K.sum(axis=1)).sum()


# ---- references ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("column", "rule"), bandwidths.R)
def test_equals_r(column, rule, accuracy):
    rtol = 1e-12 if rule in ("silverman", "scott") else 5e-4
    ours, theirs = bandwidth(COLUMNS[column], rule), bandwidths.R[column, rule]
    unbinned = (column, rule) == ("eruptions", "lscv")
    system = "R 4.2.2, ks" if unbinned else "R 4.2.2, stats"
    accuracy.close(f"bandwidth of Old Faithful, {column}: {rule}", ours, theirs, system=system, rtol=rtol)


def test_normal_scale_of_several_columns_equals_ks(accuracy):
    what, ours = "bandwidth matrix of Old Faithful: normal scale", bandwidth(FAITHFUL, "silverman")
    accuracy.close(what, ours, bandwidths.NORMAL_SCALE, system="R 4.2.2, ks", rtol=1e-12)


@pytest.mark.parametrize("x", [normal(), two_peaks(), FAITHFUL[:, 1]], ids=["normal", "two peaks", "integers"])
def test_sheather_jones_equals_the_double_loop(x):
    assert bandwidth(x) == pytest.approx(slow_sheather_jones(x), rel=2e-6)
    assert bandwidth(x, "sheather-jones-dpi") == pytest.approx(slow_sheather_jones(x, direct=True), rel=2e-6)


@pytest.mark.long
def test_clusters_far_narrower_than_the_spread():
    """The pilot bandwidth lies far below the first guess, so that the cells must become smaller."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, 400) + 1e-4 * rng.standard_normal(400)
    assert bandwidth(x, "sheather-jones-dpi") == pytest.approx(slow_sheather_jones(x, direct=True), rel=2e-6)
    h = bandwidth(x)
    assert h == pytest.approx(slow_sheather_jones(x, low=0.5 * h, high=2.0 * h), rel=2e-6)
    assert h < 0.05
    assert bandwidth(x, "isj") < 1e-4
    assert bandwidth(x, "lscv") < 1e-4


def test_sheather_jones_from_cells_equals_the_double_loop():
    """Above 32,768 rows the cells of the whole range serve; repeated rows make the same sums cheap."""
    x = normal(800)
    many = np.repeat(x, 50)
    weighted = bandwidth(x, sample_weight=np.full(800, 50.0))
    assert bandwidth(many) == pytest.approx(weighted, rel=1e-10)
    sample = make_sample(many, None)
    spectrum = sample.spectrum(0.01, 0.2)
    for g in (0.01, 0.05, 0.2):
        for r in (0, 2, 3):
            slow = (-1) ** r * hermite_sum(make_sample(x, None).points, r, g) * 2500.0
            assert spectrum.pair_sum(r, g * g / 2) == pytest.approx(slow, rel=1e-6)


def test_isj_on_normal_samples():
    """Near the best bandwidth of a normal sample, 1.06 n^(−1/5) = 0.266; scaled by a grid's wrong range it was 0.12."""
    found = [bandwidth(normal(1000, seed), "isj") for seed in range(20)]
    assert 0.24 < np.median(found) < 0.31
    assert bandwidth(normal(1000), "isj") == pytest.approx(0.28, abs=0.01)


def test_isj_sees_two_peaks_where_silverman_does_not():
    x = two_peaks(2000)
    assert bandwidth(x, "isj") < 0.2 < 0.4 < bandwidth(x, "silverman")


def test_lscv_is_the_least_of_the_double_loop():
    for x in (normal(), two_peaks()):
        h = bandwidth(x, "lscv")
        grid = np.geomspace(h / 20, 3 * h, 40)
        assert slow_lscv(x, h) <= min(slow_lscv(x, g) for g in grid)
        least = minimize_scalar(lambda g, x=x: slow_lscv(x, g), bounds=(0.8 * h, 1.2 * h), options={"xatol": 1e-9})
        assert h == pytest.approx(least.x, rel=1e-5)


def test_mlcv_is_the_largest_of_the_double_loop():
    for x in (normal(300), two_peaks(300), normal(1500)):
        h = bandwidth(x, "mlcv")
        assert slow_mlcv(x, h) <= min(slow_mlcv(x, g) for g in np.geomspace(h / 5, 3 * h, 25)) + 1e-3


@pytest.mark.long
def test_mlcv_by_cells_equals_pairs(monkeypatch):
    """With lonely points, whose density the FFT cannot see."""
    rng = np.random.default_rng(3)
    samples = [rng.standard_cauchy(1200), rng.standard_normal(600), rng.gamma(0.7, size=900)]
    by_cells = [bandwidth(x, "mlcv") for x in samples]
    monkeypatch.setattr(bandwidth_likelihood, "MAX_PAIRED_VALUES", 2000)
    assert_allclose(by_cells, [bandwidth(x, "mlcv") for x in samples], rtol=1e-5)


@pytest.mark.parametrize("n", [600, 5000])
def test_mlcv_by_cells_of_a_mirrored_sample(n):
    """The cells stand about the middle of the sample, and values where they are in them."""
    x = normal(n, seed=4)
    assert bandwidth(-x, "mlcv") == pytest.approx(bandwidth(x, "mlcv"), rel=1e-8)


def test_a_lonely_point_far_beyond_the_reach_of_an_fft():
    points = np.sort(np.append(normal(600), [40.0, 75.0]))
    sample = make_sample(points, None)
    fast = bandwidth_likelihood.likelihood_criterion(sample, np.ones(602))
    slow = bandwidth_likelihood.pair_likelihood(
        (sample.points[:, None] - sample.points) ** 2, np.ones(602), np.ones(602)
    )
    for h in (0.001, 0.004, 0.02):
        assert fast(h, h, True)(h) == pytest.approx(slow(h), rel=1e-5)


# ---- laws ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1000.0), (3.0, 1e-6), (-2.0, -1.0)])
def test_goes_with_shifts_and_scalings(rule, shift, scale):
    x = two_peaks(300)
    exact = 1e-10 if rule not in ("lscv", "mlcv") else 1e-7
    if scale < 0.0:  # cells begin at the least value, so that a mirrored sample has others
        exact = 2e-6
    assert bandwidth(shift + scale * x, rule) == pytest.approx(abs(scale) * bandwidth(x, rule), rel=exact)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.filterwarnings("ignore:x holds equal values")
def test_weights_are_copies(rule):
    x, copies = two_peaks(200), np.random.default_rng(2).integers(0, 4, 200)
    weighted = bandwidth(x, rule, sample_weight=copies)
    assert weighted == pytest.approx(bandwidth(np.repeat(x, copies), rule), rel=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_fractional_weights(rule):
    """Halves count half: of a sample twice as large, each row of weight one half, the bandwidth differs little."""
    x = normal(800)
    halved = bandwidth(x, rule, sample_weight=np.full(800, 0.5))
    assert halved == pytest.approx(bandwidth(x, rule) * 2**0.2, rel=0.35)


@pytest.mark.parametrize("rule", RULES)
def test_order_and_dtype_do_not_matter(rule):
    x = two_peaks(300)
    assert bandwidth(np.random.default_rng(0).permutation(x), rule) == pytest.approx(bandwidth(x, rule), rel=1e-7)
    assert bandwidth(x.astype(np.float32), rule) == pytest.approx(bandwidth(x, rule), rel=1e-4)


@pytest.mark.parametrize("rule", ["silverman", "scott", "sheather-jones", "sheather-jones-dpi", "isj", "lscv"])
def test_an_outlier_changes_little(rule):
    x = normal(1000)
    assert bandwidth(np.append(x, 1e6), rule) == pytest.approx(bandwidth(x, rule), rel=0.02)


def test_an_outlier_among_many_rows():
    """Most cells are empty then; order statistics and the spectrum come from the sorted values."""
    x = normal(40_000)
    assert bandwidth(np.append(x, [-1e7, 1e7])) == pytest.approx(bandwidth(x), rel=1e-3)


@pytest.mark.parametrize("rule", RULES)
def test_heavy_tails(rule):
    x = np.random.default_rng(0).standard_cauchy(2000)
    h = bandwidth(x, rule)
    assert (0.1 < h < 1.0) if rule != "mlcv" else h > 1.0


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("rule", RULES)
def test_few_rows(rule, n):
    x = np.array([0.0, 1.0, 3.0, 3.5, 7.0])[:n]
    assert 0.0 < bandwidth(x, rule) < 10.0 * x.std()


@pytest.mark.parametrize("weighted", [False, True])
def test_quartiles_from_cells(weighted):
    rng = np.random.default_rng(0)
    x, copies = rng.gamma(2.0, size=50_000), rng.integers(0, 3, 50_000)
    sample = make_sample(x, copies.astype(float) if weighted else None)
    low, high = np.quantile(np.repeat(x, copies) if weighted else x, [0.25, 0.75])
    assert sample.quartile_range * sample.span == pytest.approx(high - low, rel=1e-12)
    whole = np.repeat(x, copies) if weighted else x
    assert sample.deviation * sample.span == pytest.approx(whole.std(ddof=1), rel=1e-12)


# ---- ties and bad input -------------------------------------------------------------------------------------


def test_lscv_says_that_values_are_equal():
    x = normal(1000)
    with pytest.warns(DataWarning, match="equal values"):
        doubled = bandwidth(np.repeat(x, 2), "lscv")
    assert doubled == pytest.approx(bandwidth(x, "lscv"), rel=1e-6)


@pytest.mark.parametrize("rule", ["lscv", "mlcv"])
def test_counts_get_a_sensible_bandwidth(rule):
    x = np.random.default_rng(0).poisson(5, 500)
    with pytest.warns(DataWarning, match="equal values"):
        h = bandwidth(x, rule)
    assert 0.3 < h < 2.5


@pytest.mark.parametrize("rule", ["sheather-jones", "sheather-jones-dpi"])
def test_separate_peaks_are_reported_and_stay(rule):
    """R's values stay. A few values among 1,000 rows, and the same as weights."""
    x = np.random.default_rng(0).integers(0, 4, 1000).astype(float)
    text = r"4 distinct among 1000\), and h = .* step of 1: the density has a separate peak"
    with pytest.warns(DataWarning, match=text):
        h = bandwidth(x, rule)
    values, copies = np.unique(x, return_counts=True)
    with pytest.warns(DataWarning, match="4 distinct among 1000"):
        assert bandwidth(values, rule, sample_weight=copies) == pytest.approx(h, rel=1e-9)
    slow = slow_sheather_jones(x, rule == "sheather-jones-dpi", 0.9 * h, 1.1 * h)
    assert h == pytest.approx(slow, rel=2e-6)
    assert h < 0.35
    with pytest.warns(DataWarning, match="column 1 of X holds many equal values"):
        bandwidth(np.column_stack([normal(1000), x]), rule)
    frame = pl.DataFrame({"height": normal(1000), "answer": x})
    with pytest.warns(DataWarning, match="column 'answer' holds many equal values"):
        KernelDensity(bandwidth=rule).fit(frame)
    several = pl.DataFrame({"height": normal(1000)} | {f"q{i}": x + i for i in range(6)})
    with pytest.warns(DataWarning) as met:
        KernelDensity(bandwidth=rule).fit(several)
    (text,) = (str(each.message) for each in met)
    assert text.startswith("column 'q0' holds many equal values")
    assert text.endswith("The same is true of column 'q1', column 'q2', column 'q3' and 2 more.")


def test_errors_of_a_rule_name_the_column():
    X = np.column_stack([normal(20), np.ones(20)])
    for rule, text in (("scott", "column 'b' has zero spread"), ("sheather-jones", "column 'b': x ")):
        with pytest.raises(DataError, match=text):
            BANDWIDTH_RULES[rule](X, None, False, ("a", "b"))


def test_a_comb_among_many_rows():
    """Above 32,768 rows the cells tell without a sort where there is none."""
    rng = np.random.default_rng(0)
    with pytest.warns(DataWarning, match="separate peak"):
        bandwidth(np.round(rng.standard_normal(50_000)) + 0.0)
    sample = make_sample(rng.standard_normal(50_000), None)
    assert not separates_peaks(sample, 0.001)
    assert "values" not in sample.__dict__
    bandwidth(np.round(rng.standard_normal(50_000), 3))


def test_the_usual_step_is_that_of_most_rows():
    x = np.concatenate([np.repeat(np.arange(5.0), 20), [100.0, 200.0, 400.0, 800.0, 1600.0, 3200.0, 6400.0]])
    for weight in (None, np.where(x < 5.0, 1.0, 2.0)):
        sample = make_sample(x, weight)
        assert usual_step(sample) * sample.span == pytest.approx(1.0)


def test_no_rule_falls_back_on_separate_peaks():
    """Five values: no criterion has a minimum, and that of Sheather and Jones separates the peaks."""
    x = np.random.default_rng(0).integers(0, 5, 1000).astype(float)
    for rule in ("lscv", "mlcv", "isj"):
        with pytest.warns(DataWarning, match=r"h = \d"):
            assert bandwidth(x, rule) >= 0.5 - 1e-12


def test_warnings_name_the_line_that_asked_and_what_was_found():
    x = np.random.default_rng(0).poisson(5, 500).astype(float)
    with pytest.warns(DataWarning) as of_function:
        h = bandwidth(x, "lscv")
    with pytest.warns(DataWarning) as of_estimator:
        KernelDensity(bandwidth="isj").fit(x[:, None])
    assert [each.filename for said in (of_function, of_estimator) for each in said] == [__file__, __file__]
    assert f"h = {h:.3g} is that of" in str(of_function[0].message)


def test_zero_quartile_range_falls_back_on_the_deviation():
    x = np.concatenate([np.zeros(80), np.arange(20.0)])
    assert bandwidth(x, "silverman") == pytest.approx(0.9 * x.std(ddof=1) * 100**-0.2)
    with pytest.warns(DataWarning, match="separate peak"):
        assert bandwidth(x) > 0.0


@pytest.mark.parametrize("rule", RULES)
def test_zero_spread(rule):
    with pytest.raises(DataError, match=r"zero spread.*as a number"):
        bandwidth(np.full(10, 3.0), rule)


def test_bad_input():
    with pytest.raises(DataError, match="1 row"):
        bandwidth([1.0])
    with pytest.raises(DataError, match="NaN"):
        bandwidth([1.0, np.nan, 2.0])
    with pytest.raises(OptionError, match="did you mean 'silverman'"):
        bandwidth(normal(10), "silvermann")
    with pytest.raises(DataError, match="normalised weights"):
        bandwidth(normal(10), sample_weight=np.full(10, 0.05))
    with pytest.raises(DataError, match="zero spread"):
        bandwidth([1.0, 1.0, 2.0], sample_weight=[1.0, 1.0, 0.0])


def test_a_rule_of_ones_own():
    assert bandwidth(normal(10), lambda x, weight: 0.5) == 0.5
    wide = SMOOTHING_KERNELS["box"].canonical(2) / SMOOTHING_KERNELS["gaussian"].canonical(2)
    assert bandwidth(rows(10), lambda X, weight: 0.5, kernel="box") == pytest.approx(0.5 * wide)
    assert_allclose(bandwidth(rows(10), lambda X, weight: [[2.0, 1.0], [1.0, 2.0]]), [[2.0, 1.0], [1.0, 2.0]])


@pytest.mark.parametrize(
    "value", [-0.3, 0.0, np.nan, np.inf, "a", None, True, [0.1, 0.2, 0.3], [[1.0, 2.0], [2.0, 1.0]]]
)
def test_what_a_rule_of_ones_own_gives_is_checked(value):
    for X in (normal(10), rows(10)):
        with pytest.raises(OptionError, match="it must return a finite number above 0"):
            bandwidth(X, lambda x, weight: value)
    with pytest.raises(OptionError, match="it must return a finite number above 0"):
        KernelDensity(bandwidth=lambda x, weight: value).fit(rows(10))


def test_a_matrix_of_ones_own_is_not_for_products():
    with pytest.raises(OptionError, match="product over columns"):
        KernelDensity(bandwidth=lambda X, weight: np.eye(2), bounds=(-99.0, 99.0)).fit(rows(10))


def test_weights_without_measure():
    for X in (normal(20), rows(20)):
        for rule in ("sheather-jones", "lscv"):
            with pytest.raises(DataError, match=r"as large as 1e\+300; their sum must be at most 1e\+100"):
                bandwidth(X, rule, sample_weight=np.full(20, 1e300))


def test_nan_has_a_way_out_that_is_one():
    with pytest.raises(DataError, match=r"NaN in 1 of 3 rows.*leave them out"):
        bandwidth([1.0, np.nan, 2.0])


def test_other_kernels_by_canonical_bandwidths():
    """Marron and Nolan 1988: 1.7188 for Epanechnikov's kernel, 0.7764 for the Gaussian."""
    x = normal(100)
    assert bandwidth(x, kernel="epanechnikov") == pytest.approx(bandwidth(x) * 1.7188 / 0.7764, rel=1e-4)


# ---- several columns ----------------------------------------------------------------------------------------


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)) @ np.array([[2.0, 0.5], [0.0, 0.3]])


@pytest.mark.parametrize("rule", RULES)
def test_matrices_go_with_the_units_of_columns(rule):
    X, units = rows(), np.array([1000.0, 0.01])
    H, scaled = BANDWIDTH_RULES[rule](X, None), BANDWIDTH_RULES[rule](X * units + 5.0, None)
    assert_allclose(scaled, H * (units if H.ndim == 1 else np.outer(units, units)), rtol=1e-6)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.filterwarnings("ignore:x holds equal values")
def test_matrices_of_weighted_rows(rule):
    X, copies = rows(150), np.random.default_rng(1).integers(0, 3, 150)
    weighted = bandwidth(X, rule, sample_weight=copies)
    assert_allclose(weighted, bandwidth(np.repeat(X, copies, axis=0), rule), rtol=1e-6)


def slow_matrix_criterion(X, H, likelihood):
    n, d = X.shape
    white = np.linalg.solve(np.linalg.cholesky(H), X.T).T
    D = ((white[:, None] - white) ** 2).sum(axis=2)
    scale = (2 * math.pi) ** (-d / 2) / math.sqrt(np.linalg.det(H))
    K = scale * np.exp(-D / 2)
    np.fill_diagonal(K, 0.0)
    if likelihood:
        return -np.log(K.sum(axis=1)).sum()
    return (scale * 2 ** (-d / 2) * np.exp(-D / 4).sum() - 2 * K.sum()) / n**2


@pytest.mark.parametrize("rule", ["lscv", "mlcv"])
def test_cross_validated_matrices_are_best_among_their_multiples(rule):
    X = rows(200)
    H = bandwidth(X, rule)
    values = [slow_matrix_criterion(X, c * H, rule == "mlcv") for c in (0.25, 0.5, 0.9, 1.0, 1.1, 2.0, 4.0)]
    assert np.argmin(values) == 3
    assert_allclose(H / np.cov(X.T), (H / np.cov(X.T))[0, 0], rtol=1e-9)


def test_plug_in_rules_widen_as_the_normal_reference():
    X, n = rows(500), 500
    wider = (4 / (4 * n)) ** (1 / 6) / (4 / (3 * n)) ** (1 / 5)
    assert_allclose(bandwidth(X), [bandwidth(X[:, 0]) * wider, bandwidth(X[:, 1]) * wider])


def test_a_sample_of_many_rows_represents_them(monkeypatch):
    X = rows(2500)
    whole = bandwidth(X, "lscv")
    monkeypatch.setattr(bandwidth_pairs.sample_distinct_rows, "__defaults__", (1500,))
    drawn = bandwidth(X, "lscv")
    assert_allclose(drawn, whole, rtol=0.35)
    assert np.any(drawn != whole)


@pytest.mark.parametrize("rule", ["lscv", "mlcv"])
def test_many_weighted_rows_are_copies_in_any_order(rule, monkeypatch):
    """More than 1,000 rows, and more than are drawn: what is drawn depends on neither order, nor copies, nor units."""
    rng = np.random.default_rng(0)
    X, copies = rng.standard_normal((1700, 2)), rng.integers(0, 3, 1700)
    for most in (5000, 1050):
        monkeypatch.setattr(bandwidth_pairs.sample_distinct_rows, "__defaults__", (most,))
        with pytest.warns(DataWarning, match="X holds equal values") if rule == "lscv" else warnings.catch_warnings():
            weighted = bandwidth(X, rule, sample_weight=copies)
            repeated = bandwidth(rng.permutation(np.repeat(X, copies, axis=0)), rule)
            scaled = bandwidth(1000.0 * X + 7.0, rule, sample_weight=copies)
        assert_allclose(repeated, weighted, rtol=1e-7)
        assert_allclose(scaled, 1e6 * weighted, rtol=1e-6)


def test_drawn_rows_are_like_the_others():
    X = np.random.default_rng(0).standard_normal((20_000, 2))
    drawn, copies = sample_distinct_rows(X, np.ones(20_000), 2000)
    assert len(drawn) == 2000
    assert copies.sum() == 2000
    assert np.all(np.abs(drawn.mean(axis=0)) < 4 / math.sqrt(2000))
    assert_allclose(drawn.std(axis=0), 1.0, atol=0.06)
    few, copies = sample_distinct_rows(np.round(X), np.ones(20_000), 2000)
    assert len(few) == len(np.unique(np.round(X), axis=0))
    assert copies.sum() == 20_000


def test_likelihood_by_sums_equals_pairs(monkeypatch):
    """With lonely rows, whose others are lost beside their own share."""
    X = np.vstack([rows(300), [[40.0, 3.0], [41.0, -3.0]]])
    pairs = bandwidth(X, "mlcv")
    monkeypatch.setattr(bandwidth_pairs, "MAX_STORED_ROWS", 10)
    assert_allclose(bandwidth(X, "mlcv"), pairs, rtol=1e-8)


# ---- products over columns ----------------------------------------------------------------------------------


def ridge(n=600, seed=0):
    return np.random.default_rng(seed).multivariate_normal([0.0, 0.0], [[1.0, 0.99], [0.99, 1.0]], n)


@pytest.mark.parametrize("rule", ["lscv", "mlcv"])
def test_products_are_cross_validated_as_products(rule):
    """Bounds that touch nothing make the kernel a product: the scale must be the best of such kernels."""
    X, fresh = ridge(), ridge(1000, 1)
    h = KernelDensity(bandwidth=rule, bounds=(-50.0, 50.0)).fit(X).bandwidth_
    assert_allclose(h / h[0], X.std(axis=0) / X[:, 0].std(), rtol=1e-9)
    likelihood = rule == "mlcv"
    values = [slow_matrix_criterion(X, np.diag((c * h) ** 2), likelihood) for c in (0.5, 0.95, 1.0, 1.05, 2.0)]
    assert np.argmin(values) == 2
    score = KernelDensity(bandwidth=h, bounds=(-50.0, 50.0)).fit(X).score(fresh)
    assert score > KernelDensity(bandwidth=rule).fit(X).score(fresh) - 0.35


@pytest.mark.parametrize("rule", RULES)
def test_other_kernels_have_one_bandwidth_per_column(rule):
    X = ridge(200)
    h = bandwidth(X, rule, kernel="epanechnikov")
    assert h.shape == (2,)
    assert_allclose(KernelDensity(kernel="epanechnikov", bandwidth=rule).fit(X).bandwidth_, h)
    ratio = SMOOTHING_KERNELS["epanechnikov"].canonical(2) / SMOOTHING_KERNELS["gaussian"].canonical(2)
    assert_allclose(h, ratio * BANDWIDTH_RULES[rule](X, None, True))


@pytest.mark.parametrize("rule", ["silverman", "scott", "lscv", "mlcv"])
def test_products_do_not_mind_columns_that_depend_on_each_other(rule):
    X = rows(60)
    plane = np.column_stack([X, X.sum(axis=1)])
    h = KernelDensity(kernel="epanechnikov", bandwidth=rule).fit(plane).bandwidth_
    assert h.shape == (3,)
    assert np.all(h > 0.0)
    few = KernelDensity(bandwidth=rule, bounds=(-100.0, 100.0)).fit(rows(20)[:2])
    assert np.all(few.bandwidth_ > 0.0)
    with pytest.raises(DataError, match=r"linearly.*sheather-jones"):
        bandwidth(plane, rule)


def test_rows_in_a_plane():
    X = rows(50)
    with pytest.raises(DataError, match="linearly"):
        bandwidth(np.column_stack([X, X.sum(axis=1)]), "scott")
    with pytest.raises(DataError, match="column 1"):
        bandwidth(np.column_stack([X[:, 0], np.ones(50)]), "lscv")
    with pytest.raises(DataError, match="column 1 of X: x has zero spread"):
        bandwidth(np.column_stack([X[:, 0], np.ones(50)]))


# ---- the search ---------------------------------------------------------------------------------------------


def test_the_search_is_global():
    """Two minima; the deeper and narrower one is found from anywhere."""

    def criterion(h):
        return -math.exp(-(math.log(h / 0.02) ** 2) * 20) - 0.9 * math.exp(-(math.log(h / 3.0) ** 2))

    assert search_bandwidth(lambda low, high, fine: criterion, 0.001, 100.0)[0] == pytest.approx(0.02, rel=1e-4)


def test_the_last_trial_is_not_taken_for_a_minimum():
    x = np.array([0.0, 1.0])
    h = bandwidth(x, "lscv")
    assert slow_lscv(x, h) < min(slow_lscv(x, c * h) for c in (0.5, 0.9, 1.1, 2.0, 5.0))


def test_isj_of_repeated_values_says_so_and_is_no_needle():
    rng = np.random.default_rng(0)
    for x in (rng.poisson(20.0, 20_000).astype(float), rng.integers(0, 5, 1_000).astype(float)):
        with pytest.warns(DataWarning, match="many equal values"):
            h = bandwidth(x, "isj")
        assert h >= 0.5 - 1e-12  # half the step between the values
        assert h == pytest.approx(max(0.5, quietly(x, "sheather-jones")), rel=1e-12)


@pytest.mark.parametrize("n", [12, 60])
def test_exact_cross_validation_minimises_the_error_with_each_value_left_out(n):
    x = np.random.default_rng(n).gamma(3.0, size=n)

    def criterion(h):
        pairs = np.subtract.outer(x, x)
        square = norm.pdf(pairs, scale=np.sqrt(2.0) * h).mean()
        left = (norm.pdf(pairs, scale=h).sum(axis=1) - norm.pdf(0.0, scale=h)) / (n - 1)
        return square - 2.0 * left.mean()

    h = bandwidth(x, "lscv-exact")
    near = minimize_scalar(criterion, bounds=(0.7 * h, 1.4 * h), method="bounded", options={"xatol": 1e-10}).x
    assert h == pytest.approx(near, rel=1e-4)
    assert bandwidth(x, "lscv") != pytest.approx(h, rel=1e-3)
    assert bandwidth(np.repeat(x, 3), "lscv-exact", sample_weight=np.full(3 * n, 1 / 3)) > 0.0


def test_exact_cross_validation_of_several_columns():
    X = np.random.default_rng(0).normal(size=(40, 2)) @ [[1.0, 0.5], [0.0, 1.0]]
    S = np.cov(X.T)
    Y = np.linalg.solve(np.linalg.cholesky(S), X.T).T
    squares = cdist(Y, Y, "sqeuclidean")

    def criterion(c):
        whole = np.exp(-squares / (4.0 * c * c)).mean() / 2.0
        left = (np.exp(-squares / (2.0 * c * c)).sum() - 40.0) / (40.0 * 39.0)
        return (whole - 2.0 * left) / c**2

    H = bandwidth(X, "lscv-exact")
    c = np.sqrt(H[0, 0] / S[0, 0])
    near = minimize_scalar(criterion, bounds=(0.7 * c, 1.4 * c), method="bounded", options={"xatol": 1e-10}).x
    assert c == pytest.approx(near, rel=1e-3)
    np.testing.assert_allclose(H, c**2 * S, rtol=1e-10)

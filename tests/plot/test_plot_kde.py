"""Densities in tables and plots: curves, bands, criteria and regions against their definitions."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.exceptions import NotFittedError

from eigenlens import KernelDensity, bandwidth
from eigenlens.densities import Categorical, Full, Gaussian
from eigenlens.errors import DataError, OptionError
from eigenlens.kde import tables as density_tables
from eigenlens.kde.bandwidth.curve import CROSS_VALIDATION_CURVES, bandwidths_by_rule
from eigenlens.kde.confidence_band import BANDS, asymptotic_band
from eigenlens.kde.model import KernelEstimate
from eigenlens.kde.tables import mass_levels
from eigenlens.plot._kde import bandwidth_curve, density, density_contours
from eigenlens.plot._style import VERMILLION, muted_color

x = np.concatenate([np.random.default_rng(0).normal(0.0, 1.0, 120), np.random.default_rng(1).normal(6.0, 0.7, 80)])
FRAME = pd.DataFrame({"$x$": x, "y": np.random.default_rng(2).standard_normal(200), "z": -x + np.sin(7.0 * x)})


@pytest.fixture(scope="module")
def line():
    return KernelDensity().fit(FRAME[["$x$"]])


@pytest.fixture(scope="module")
def space():
    return KernelDensity(bandwidth="scott").fit(FRAME)


# ---- mass -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.05, 0.5, 0.8, 0.95, 0.999])
def test_levels_of_a_normal_density_are_known(share):
    """In the plane the region of mass p of a normal density ends where it is (1 − p) times its peak."""
    at = np.linspace(-6.0, 6.0, 301)
    f = norm.pdf(at)[:, None] * norm.pdf(at)
    found = mass_levels(f, (at[1] - at[0]) ** 2, [share])
    assert_allclose(found.levels, (1.0 - share) / (2.0 * np.pi), rtol=0.01)
    assert found.covered == pytest.approx(1.0, abs=1e-6)


def test_levels_come_in_order_and_never_beyond_the_grid():
    at = np.linspace(-1.0, 1.0, 400)
    found = mass_levels(norm.pdf(at), at[1] - at[0], [0.9, 0.3])
    assert_allclose(found.masses, [0.3, 0.9])
    assert found.covered == pytest.approx(norm.cdf(1.0) - norm.cdf(-1.0), abs=2e-3)
    assert_allclose(found.levels[0], norm.pdf(norm.ppf(0.65)), rtol=1e-3)
    assert np.isnan(found.levels[1])


@pytest.mark.parametrize("options", [{}, {"kernel": "box"}, {"adaptive": True}, {"bounds": [(-5, 9), (-4, None)]}])
def test_regions_hold_their_share_of_draws(options):
    model = KernelDensity(bandwidth="scott", **options).fit(FRAME[["$x$", "y"]])
    table = density_tables.masses_of_plane(model, masses=[0.5, 0.95])
    f = model.model_.density(model.model_.sample(20_000, np.random.default_rng(0)))
    assert_allclose([np.mean(f >= level) for level in table.mass.levels], [0.5, 0.95], atol=0.015)


def test_regions_and_the_rows_outside(space):
    table = density_tables.masses_of_plane(space, columns=["$x$", "z"])
    part = space.marginal([0, 2])
    f = part.density(table.rows)
    clear = np.abs(np.log(f / table.mass.levels[-1])) > 0.15  # a row near the edge may fall into a cell beyond it
    kept = {tuple(row) for row in table.outside()}
    assert all(
        (tuple(row) in kept) == (value < table.mass.levels[-1])
        for row, value in zip(table.rows[clear], f[clear], strict=True)
    )
    regions = table.regions()
    i, j = np.unravel_index(np.argmax(table.values), table.values.shape)
    assert (regions[i, j], np.isnan(regions[0, 0])) == (0.5, True)
    assert_allclose(table.values[i, j], part.density(np.array([[table.x[j], table.y[i]]]))[0], rtol=1e-12)


# ---- bands ----------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(("kernel", "reach"), [("gaussian", 1.0), ("epanechnikov", 5.0**-0.5)])
def test_the_asymptotic_band_holds_the_smoothed_density(kernel, reach):
    """E f̂ of normal rows: exactly normal for the Gaussian kernel; another is summed by quadrature."""
    rng, y, h = np.random.default_rng(0), np.array([-1.5, 0.0, 1.0]), 0.3 / reach
    u = np.linspace(-8.0, 8.0, 4001)
    profile = KernelEstimate(np.zeros(1), h, kernel=kernel_of(kernel))
    truth = np.array([np.trapezoid(profile.density(at - u) * norm.pdf(u), u) for at in y])
    inside = np.zeros(3)
    for _ in range(1_500):
        f = KernelEstimate(rng.standard_normal(500), h, kernel=profile.kernel)
        low, high = asymptotic_band(f, y, 0.9, rng)
        inside += (low <= truth) & (truth <= high)
    assert_allclose(inside / 1_500, 0.9, atol=0.03)


def kernel_of(name):
    return KernelDensity(kernel=name, bandwidth=1.0).fit([[0.0], [1.0]]).model_.kernel


def test_the_bootstrap_agrees_with_the_formula_where_both_hold():
    model = KernelDensity(bandwidth=0.3).fit(np.random.default_rng(4).standard_normal((2_000, 1))).model_
    y = np.linspace(-2.0, 2.0, 9)
    widths = [np.subtract(*band(model, y, 0.95, np.random.default_rng(0))[::-1]) for band in BANDS.values()]
    assert_allclose(widths[1], widths[0], rtol=0.25)
    assert_allclose(np.mean(widths[1]), np.mean(widths[0]), rtol=0.1)


def test_a_weight_is_a_number_of_copies_in_the_asymptotic_band():
    w = np.random.default_rng(5).integers(1, 4, x.size)
    y = np.linspace(-2.0, 8.0, 30)
    for scales in (None, np.exp(0.1 * x)):
        weighted = KernelEstimate(x, 0.5, weights=w, scales=scales)
        repeated = KernelEstimate(np.repeat(x, w), 0.5, scales=None if scales is None else np.repeat(scales, w))
        ours, theirs = (asymptotic_band(f, y, 0.95, np.random.default_rng(0)) for f in (weighted, repeated))
        assert_allclose(ours, theirs, rtol=1e-10)


def test_adaptive_kernels_count_by_their_own_width():
    """The variance of f̂(y) by its terms K_i(y), pair by pair."""
    f = KernelEstimate(np.random.default_rng(6).standard_t(3, 3_000), 0.25).adapted()
    y = np.array([-4.0, -1.0, 0.0, 2.0, 5.0])
    spread = 0.25 * f.scales
    pairs = norm.pdf((y[:, None] - f.points[:, 0]) / spread) / spread
    deviation = pairs.std(axis=1) / np.sqrt(len(f.points))
    low, high = asymptotic_band(f, y, 0.95, np.random.default_rng(0))
    assert_allclose((high - low)[1:4], 2.0 * norm.ppf(0.975) * deviation[1:4], rtol=0.01)
    assert np.all(high - low > 2.0 * norm.ppf(0.975) * deviation * 0.99)  # more where a row or two are all there is


def test_an_empty_place_keeps_a_limit():
    f = KernelEstimate(x, 0.2)
    low, high = asymptotic_band(f, np.array([100.0]), 0.95, np.random.default_rng(0))
    assert low[0] == 0.0
    assert high[0] == pytest.approx(norm.ppf(0.975) ** 2 / (2.0 * np.sqrt(np.pi)) / (4.0 * 0.2 * x.size), rel=1e-6)


def test_bands_of_the_table():
    model = KernelDensity(bounds=(0, None), boundary="renormalize").fit(np.abs(x)[:, None])
    table = density_tables.density(model, band="bootstrap", level=0.8, random_state=1)
    assert (table.x[0], table.band, table.level) == (0.0, "bootstrap", 0.8)
    assert table.low[0] < table.values[0] < table.high[0]
    again = density_tables.density(model, band="bootstrap", level=0.8, random_state=1)
    assert_allclose(again.low, table.low)
    wider = density_tables.density(model, band="bootstrap", level=0.99, random_state=1)
    assert np.all(wider.high >= table.high)
    assert density_tables.density(model, band=None).low is None


# ---- criteria -------------------------------------------------------------------------------------------------


def left_out(values, weight, h):
    """Log densities of points without one copy of each, and ∫f̂² − 2 Σ_{i≠j}, pair by pair."""
    copies = np.repeat(values, weight)
    n = copies.size
    apart = copies[:, None] - copies
    K = norm.pdf(apart, scale=h)
    rest = K.sum(axis=1) - norm.pdf(0.0, scale=h)
    squares = norm.pdf(apart, scale=np.sqrt(2.0) * h).sum() / n**2 - 2.0 * rest.sum() / n**2
    return {"lscv": squares, "mlcv": np.log(rest / (n - 1)).mean()}


@pytest.mark.parametrize("kind", CROSS_VALIDATION_CURVES)
@pytest.mark.parametrize("weighted", [False, True])
def test_criteria_are_their_sums_over_pairs(kind, weighted):
    values = 1e3 + 40.0 * x
    w = np.random.default_rng(7).integers(1, 4, x.size) if weighted else np.ones(x.size, dtype=int)
    h = np.geomspace(4.0, 300.0, 25)
    found = CROSS_VALIDATION_CURVES[kind](values, w.astype(float) if weighted else None, h)
    assert_allclose(found, [left_out(values, w, each)[kind] for each in h], rtol=2e-5)


@pytest.mark.parametrize(("kind", "best"), [("lscv", np.argmin), ("mlcv", np.argmax)])
def test_the_curve_is_best_where_its_rule_is(line, kind, best):
    table = density_tables.bandwidths(line, kind, count=400)
    assert table.h[best(table.values)] == pytest.approx(table.rules[kind], rel=0.02)
    assert table.fitted == table.rules["sheather-jones"] == line.bandwidth_
    assert list(table.rules.values()) == sorted(table.rules.values())


def test_bandwidths_are_in_the_scale_of_the_kernel():
    model = KernelDensity(kernel="box", bandwidth="silverman").fit(x[:, None])
    table = density_tables.bandwidths(model)
    assert table.rules["isj"] == pytest.approx(bandwidth(x, "isj", kernel="box"), rel=1e-12)
    assert table.fitted == pytest.approx(table.rules["silverman"], rel=1e-12)
    plain = density_tables.bandwidths(KernelDensity(bandwidth=bandwidth(x, "silverman")).fit(x[:, None]))
    assert_allclose(table.values, plain.values, rtol=1e-9)
    assert_allclose(table.h / plain.h, table.h[0] / plain.h[0])


def test_warnings_of_rules_are_kept_and_not_repeated():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, remarks = bandwidths_by_rule(np.round(2.0 * x) / 2.0)
    assert set(found) >= {"silverman", "lscv"}
    assert any("equal values" in remark for remark in remarks)
    found, remarks = bandwidths_by_rule(np.full(5, 2.0))
    assert found == {}
    assert all("zero spread" in remark for remark in remarks)
    with pytest.raises(DataError, match="no rule has a bandwidth"):
        bandwidth_curve(KernelDensity(bandwidth=1.0).fit(np.full((5, 1), 2.0)))


def test_a_rule_that_failed_does_not_spoil_the_plot():
    """One lonely row makes mlcv ask for kernels that reach it."""
    model = KernelDensity().fit(np.append(x, 1e4)[:, None])
    assert bandwidth(np.append(x, 1e4), "mlcv") > 100.0
    table = density_tables.bandwidths(model)
    assert "mlcv" not in table.rules
    assert table.h[-1] < 10.0
    assert "mlcv: h = 705, not shown" in bandwidth_curve(model).get_xlabel()


# ---- the picture of a density ---------------------------------------------------------------------------------


def test_a_density_with_band_and_strokes(line):
    ax = density(line, level=0.9)
    curve, strokes = ax.lines
    assert_allclose(curve.get_ydata(), line.density(pd.DataFrame({"$x$": curve.get_xdata()})))
    assert curve.get_xdata()[0] < x.min() - 3.0 * line.bandwidth_
    assert_allclose(strokes.get_xdata(), np.sort(x))
    low, high = asymptotic_band(line.model_, curve.get_xdata(), 0.9, np.random.default_rng(0))
    corners = ax.collections[0].get_paths()[0].vertices
    assert_allclose([corners[:, 1].min(), corners[:, 1].max()], [low.min(), high.max()])
    assert ax.get_xlabel() == "$x$"
    assert ax.get_title(loc="left") == (
        f"gaussian kernel, h = {line.bandwidth_:.4g}; band: 90% at each place, asymptotic"
    )
    assert ax.get_ylim()[0] == 0.0
    ax.figure.canvas.draw()


def test_any_density_on_the_same_axes(line):
    ax = density(line, label="_kernel")
    said = ax.get_title(loc="left")
    normal = Gaussian(mean=np.array([2.0]), covariance=Full(np.array([[4.0]])))
    assert density(normal, ax=ax, color="black", label="normal") is ax
    assert_allclose(ax.lines[-1].get_ydata(), norm.pdf(ax.lines[-1].get_xdata(), 2.0, 2.0))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["_kernel", "normal"]
    assert (ax.get_title(loc="left"), ax.get_xlabel(), len(ax.collections)) == (said, "$x$", 1)
    alone = density(normal, x)
    assert_allclose(alone.lines[1].get_xdata(), np.sort(x))
    assert alone.lines[0].get_xdata()[0] < x.min()
    assert len(density(normal).lines) == 1


def test_one_of_several_columns(space):
    ax = density(space, column="z", rug=False)
    curve = ax.lines[0]
    assert_allclose(curve.get_ydata(), space.marginal([2]).density(curve.get_xdata()))
    assert ax.get_xlabel() == "z"
    with pytest.raises(OptionError, match="3 columns, but the figure is of 1; choose one of them with column="):
        density(space)
    with pytest.raises(OptionError, match="column='w' is not one of the 3 columns"):
        density(space, column="w")


def test_strokes_of_many_rows_are_thinned_and_curves_of_narrow_kernels_are_not():
    many = np.random.default_rng(8).standard_normal((6_001, 1))
    many[0] = 1_000.0
    ax = density(KernelDensity(bandwidth=0.5).fit(many))
    curve, strokes = ax.lines
    assert strokes.get_xdata().size == 5_000
    assert strokes.get_xdata()[-1] == many[1:].max()
    assert "1 row lies far off" in ax.get_title(loc="left")
    assert "strokes: 5,000 of 6,001 rows" in ax.get_title(loc="left")
    assert np.diff(curve.get_xdata()).max() < 0.25


def test_a_kernel_with_an_end_is_drawn_to_its_end():
    ax = density(KernelDensity(kernel="box", bandwidth=1.0).fit([[0.0], [4.0]]), band=None)
    at, f = ax.lines[0].get_data()
    assert (f[0], f[-1]) == (0.0, 0.0)
    assert at[0] > -1.1
    assert_allclose(np.trapezoid(f, at), 1.0, rtol=0.01)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: density(KernelDensity()), NotFittedError, "not fitted"),
        (lambda: density(object()), OptionError, "object is not a density"),
        (lambda: density(Categorical.fit(["a", "b"])), OptionError, "a density of categories"),
        (lambda: density(Gaussian.fit(x), band="bootstrap"), OptionError, "band='bootstrap' is for kernel densities"),
        (lambda: density(Gaussian.fit(x), [[1.0, 2.0]]), DataError, "X has 2 columns, but the density is of 1"),
        (lambda: density(Gaussian.fit(x), [np.nan]), DataError, "nothing to show"),
        (lambda: density(Gaussian.fit(x), x, level=1.5), OptionError, "level=1.5"),
        (lambda: bandwidth_curve(Gaussian.fit(x)), OptionError, "has no bandwidth"),
        (lambda: density_contours(Gaussian.fit(x)), OptionError, "density of 1 columns, but the figure is of 2"),
    ],
)
def test_plots_that_cannot_be_drawn_are_reported(call, error, said):
    with pytest.raises(error, match=said):
        call()


def test_bad_options(line, space):
    for call, said in (
        (lambda: density(line, band="exact"), "band='exact' is not known"),
        (lambda: bandwidth_curve(line, "cv"), "criterion='cv' is not known"),
        (lambda: density_contours(space, columns=[0, 1], masses=[]), "masses is empty"),
        (lambda: density_contours(space, columns=[0, 1], masses=[95]), "masses=95"),
        (lambda: density_contours(space, columns=[0, 1, 2]), "columns names 3 columns; give 2 of the 3"),
        (lambda: density_contours(space, columns=[0, 1], resolution=1), "resolution=1"),
    ):
        with pytest.raises(OptionError, match=said):
            call()


# ---- the other pictures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CROSS_VALIDATION_CURVES)
def test_rules_stand_on_the_curve(line, kind):
    ax = bandwidth_curve(line, kind)
    table = density_tables.bandwidths(line, kind)
    assert_allclose(ax.lines[0].get_data(), [table.h, table.values])
    dots = {float(one.get_xdata()[0]): one for one in ax.lines if one.get_marker() == "o"}
    assert_allclose(sorted(dots), list(table.rules.values()))
    for h, dot in dots.items():
        assert dot.get_ydata()[0] == pytest.approx(np.interp(h, table.h, table.values), rel=1e-3)
        assert to_hex(dot.get_color()).upper() == (VERMILLION if h == line.bandwidth_ else muted_color()).upper()
    assert {text.get_text().split()[0] for text in ax.texts} == set(table.rules)
    assert ax.get_xscale() == "log"
    ax.figure.canvas.draw()


def test_a_bandwidth_of_no_rule_has_a_line_of_its_own():
    ax = bandwidth_curve(KernelDensity(bandwidth=0.77).fit(np.round(2.0 * x)[:, None] / 2.0), "mlcv")
    assert " h = 0.77" in [text.get_text() for text in ax.texts]
    assert "equal values" in ax.get_xlabel()
    assert "tends to 0" in ax.get_xlabel()


def test_edges_of_regions_are_levels_of_the_mass(space):
    ax = density_contours(space, columns=["$x$", "y"], masses=[0.9, 0.25], resolution=80)
    table = density_tables.masses_of_plane(space, columns=["$x$", "y"], masses=[0.9, 0.25], resolution=80)
    areas, edges = (part for part in ax.collections if hasattr(part, "levels"))
    assert_allclose(edges.levels, np.sort(table.mass.levels))
    assert_allclose(areas.levels[:2], edges.levels)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["25%", "90% of the mass"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x$", "y")
    assert_allclose(ax.collections[-1].get_offsets(), FRAME[["$x$", "y"]])
    ax.figure.canvas.draw()


def test_a_crowd_is_shown_by_those_outside():
    X = np.random.default_rng(9).standard_normal((5_000, 2))
    ax = density_contours(KernelDensity(bandwidth="scott").fit(X), resolution=60)
    shown = ax.collections[-1].get_offsets()
    assert 100 < len(shown) < 400  # 5% of 5,000, and the kernel widens the region
    assert np.hypot(*np.asarray(shown).T).min() > 2.0
    assert ax.get_title(loc="left") == "points: rows outside the regions"


def test_a_grid_too_coarse_for_the_kernels_says_so():
    X = np.random.default_rng(10).standard_normal((30, 2))
    ax = density_contours(KernelDensity(bandwidth=1e-3).fit(X), resolution=20)
    assert "of the mass" in ax.get_title(loc="left")

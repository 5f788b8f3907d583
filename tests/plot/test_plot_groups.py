"""Ellipses, strips, pairs, histograms and images of components."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_rgb
from scipy import stats
from sklearn.datasets import load_iris

from eigenlens import PCA, DataError, FactorAnalysis, KernelDensity, OptionError, datasets, plot
from eigenlens.densities import Gaussian
from eigenlens.kde import tables as density_tables
from eigenlens.plot import _style
from eigenlens.tables.ellipses import concentration_radius, group_ellipses, mean_radius

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


def test_radii_are_quantiles():
    for level in (0.5, 0.9, 0.95):
        assert concentration_radius(9, level) == pytest.approx(np.sqrt(stats.chi2.ppf(level, 2)), rel=1e-12)
        hotelling = 2 * 29 / (30 * 28) * stats.f.ppf(level, 2, 28)
        assert mean_radius(30, level) == pytest.approx(np.sqrt(hotelling), rel=1e-12)


def test_the_ellipse_of_the_mean_covers_it_as_often_as_it_promises():
    rng = np.random.default_rng(0)
    L, n, trials = np.array([[2.0, 0.0], [1.0, 0.5]]), 8, 4000
    covered = 0
    for _ in range(trials):
        (found,) = group_ellipses(rng.standard_normal((n, 2)) @ L.T, "blue", "mean", 0.9)
        covered += found.mean @ np.linalg.solve(found.covariance, found.mean) <= found.radius**2
    assert covered / trials == pytest.approx(0.9, abs=4.0 * np.sqrt(0.09 / trials))


def test_outlines_are_at_the_distance_of_the_radius():
    for found in group_ellipses(X[:, :2], NAMES, "concentration", 0.8):
        centred = found.outline() - X[found.name == NAMES, :2].mean(axis=0)
        C = np.cov(X[found.name == NAMES, :2].T)
        np.testing.assert_allclose(np.einsum("ij,ij->i", centred, np.linalg.solve(C, centred.T).T), -2 * np.log(0.2))


def test_groups_without_a_covariance_have_no_ellipse_and_missing_points_do_not_count():
    points = np.vstack([X[:10, :2], [[np.nan, 1.0]]])
    groups = np.array(["a"] * 8 + ["b"] * 2 + ["a"])
    (found,) = group_ellipses(points, groups, "mean")
    np.testing.assert_allclose(found.mean, X[:8, :2].mean(axis=0))


def test_ellipses_are_drawn_in_scores():
    pca = PCA(2).fit(X)
    ax = plot.scores(pca, X, color=NAMES, ellipses="concentration", level=0.5)
    assert len(ax.patches) == 6
    assert ax.get_title(loc="left") == "ellipses: 50% of a Gaussian"
    assert len(plot.scores(pca, X, ellipses="mean").patches) == 2
    with pytest.raises(OptionError, match="ellipses='circle'"):
        plot.scores(pca, X, ellipses="circle")
    with pytest.raises(OptionError, match=r"level=1\.0 must be a number above 0 and below 1"):
        plot.scores(pca, X, ellipses="mean", level=1.0)
    with pytest.raises(OptionError, match="ellipses='mean' needs two components"):
        plot.scores(pca, X, 1, ellipses="mean")


def test_a_strip_for_each_category():
    ax = plot.scores(PCA(2).fit(X), X, 2, color=NAMES)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["setosa", "versicolor", "virginica"]
    assert ax.get_legend() is None
    for i, drawn in enumerate(ax.collections):
        assert np.all(np.abs(np.asarray(drawn.get_offsets())[:, 1] - i) <= 0.36)
    assert np.ptp(np.asarray(ax.collections[0].get_offsets())[:, 1]) > 0.3


def test_components_of_scores_are_checked():
    pca = PCA(2).fit(X)
    with pytest.raises(OptionError, match="components"):
        plot.scores(pca, X, (1, 2, 3))
    with pytest.raises(OptionError, match="components"):
        plot.scores(pca, X, 3)
    assert plot.scores(pca.model_, X, 1).get_xlabel() == "PC1 (92.5%)"
    with pytest.raises(OptionError, match="of type KernelDensity has no components"):
        plot.scores(KernelDensity().fit(X[:, :1]), X)


def test_pairs_of_a_frame_with_missing_entries_and_categories():
    frame = pl.DataFrame({"a": [1.0, None, 3.0, 4.0], "b": [4.0, 2.0, 1.0, 3.0], "c": [0.0, 1.0, 0.0, 1.0]})
    ax = plot.pairs(frame, ["b", "a"], color=["u", "v", "u", "v"])
    assert len(ax.child_axes) == 4
    shown = np.concatenate([np.asarray(each.get_offsets()) for each in ax.child_axes[2].collections])
    shown = shown[np.isfinite(shown).all(axis=1)]  # matplotlib draws no others
    assert sorted(map(tuple, shown)) == [(1.0, 3.0), (3.0, 4.0), (4.0, 1.0)]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["u", "v"]


def test_pairs_of_many_columns():
    ax = plot.pairs(datasets.load("uk-food").data)
    assert len(ax.child_axes) == 64
    assert ax.get_title(loc="left") == "the first 8 of 17 columns"
    with pytest.raises(OptionError, match="names"):
        plot.pairs(X, names=["a"])
    with pytest.raises(DataError, match="color"):
        plot.pairs(X, color=[1, 2])


def test_a_histogram_under_a_density_has_area_one_and_follows_weights():
    x = np.array([[0.0], [1.0], [1.5], [4.0]])
    kde = KernelDensity(bandwidth=1.0).fit(x, sample_weight=[1.0, 2.0, 1.0, 4.0])
    found = density_tables.histogram(kde, bins=[0.0, 1.2, 4.0])
    np.testing.assert_allclose(found.heights, [3 / 8 / 1.2, 5 / 8 / 2.8])
    ax = plot.density(kde, histogram=3)
    assert sum(bar.get_height() * bar.get_width() for bar in ax.patches) == pytest.approx(1.0)
    with pytest.raises(OptionError, match="histogram='auto' needs rows"):
        plot.density(Gaussian.fit([0.0, 1.0]), histogram=True)
    with pytest.raises(OptionError, match="histogram='many' is not a number of bins"):
        plot.density(kde, histogram="many")


def test_densities_drawn_one_by_one_share_a_legend_and_a_rug():
    x = np.random.default_rng(1).standard_normal((40, 1))
    narrow, wide = (KernelDensity(bandwidth=h).fit(x) for h in (0.1, 1.0))
    ax = plot.density(narrow, label="narrow", band=None)
    plot.density(wide, label="wide", band=None, color="black", ax=ax)
    assert sum(line.get_linestyle() == "None" for line in ax.lines) == 1
    assert ax.get_title(loc="left") == ""
    ax.legend()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["narrow", "wide"]


def test_densities_drawn_one_by_one_have_colours_of_their_own():
    x = np.random.default_rng(0).standard_normal(40)
    ax = None
    for h in (0.1, 0.5, 1.0):
        ax = plot.density(KernelDensity(bandwidth=h).fit(x), label=f"h = {h}", ax=ax)
    curves = [line for line in ax.lines if line.get_label().startswith("h = ")]
    assert [line.get_color() for line in curves] == [_style.category_color(i) for i in range(3)]


def test_labels_that_are_missing_are_not_written():
    model = PCA(2).fit(X)
    ax = plot.scores(model, X[:4], labels=["first", None, np.nan, "nan"])
    assert sorted(text.get_text() for text in ax.texts) == ["first", "nan"]


def test_categories_and_values_that_are_missing_have_a_name_in_the_legend():
    model, n = PCA(2).fit(X), len(X)
    groups = np.where(np.arange(n) % 3 == 0, None, np.where(np.arange(n) % 3 == 1, "u", "v"))
    ax = plot.scores(model, X, color=groups)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["missing", "u", "v"]
    values = np.where(np.arange(n) < 20, np.nan, np.arange(n))
    ax = plot.scores(model, X, color=values)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["missing"]
    ax.figure.canvas.draw()
    drawn = ax.collections[0].get_facecolors()
    assert len(drawn) == n
    np.testing.assert_allclose(drawn[:20, :3], to_rgb(_style.category_color(1)) * np.ones((20, 1)), atol=1e-6)


def test_groups_too_small_for_an_ellipse_are_counted():
    ax = plot.scores(PCA(2).fit(X), X[:8], color=list("aaaabbcc"), ellipses="mean")
    note = "ellipses: 95% confidence of the mean, 2 groups with fewer than 3 rows left out"
    assert ax.get_title(loc="left") == note


def test_pairs_by_value_have_one_scale_and_one_range_of_colours():
    rows = X.copy()
    rows[:50, 2] = np.nan  # the rows with the smallest values
    ax = plot.pairs(rows, color=np.arange(150.0))
    assert len(ax.figure.axes) == 2  # the matrix, and its scale
    drawn = [panel.collections[0] for i, panel in enumerate(ax.child_axes) if i % 5]
    assert {scatter.get_clim() for scatter in drawn} == {(0.0, 149.0)}


def test_a_category_without_entries_in_a_panel_leaves_the_colours_of_the_others():
    rows, groups = X.copy(), np.repeat(["a", "b", "c"], 50)
    rows[:50, 0] = np.nan
    ax = plot.pairs(rows, color=groups)
    colours = [scatter.get_facecolor()[0, :3] for scatter in ax.child_axes[1].collections]
    np.testing.assert_allclose(colours, [to_rgb(_style.category_color(i)) for i in range(3)])


def test_a_legend_of_long_names_is_no_wider_than_the_pairs():
    names = np.array([f"a class with a long name, number {i}" for i in range(10)])
    ax = plot.pairs(X, color=names[np.arange(150) % 10])
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().width < ax.figure.bbox.width


def test_several_densities_are_checked():
    kde = KernelDensity().fit(X[:, :1])
    with pytest.raises(OptionError, match="model is an empty dict"):
        plot.density({})
    with pytest.raises(OptionError, match="label"):
        plot.density({"a": kde}, label="b")
    with pytest.raises(OptionError, match="color has 1 colours, but there are 2 densities"):
        plot.density({"a": kde, "b": kde}, color=["red"])


def test_images_of_components_are_checked():
    pca = PCA(3).fit(X)
    with pytest.raises(OptionError, match=r"image_shape=\(3, 3\)"):
        plot.loadings(pca, image_shape=(3, 3))
    with pytest.raises(OptionError, match="top=2 would leave pixels out"):
        plot.loadings(pca, image_shape=(2, 2), top=2)
    assert len(plot.loadings(pca, [3, 1], image_shape=(2, 2)).images) == 2


def test_shares_of_factors_are_sums_of_squared_loadings():
    rows = datasets.load("questionnaire").data
    fa = FactorAnalysis(3, rotation="varimax", standardize=True).fit(rows)
    np.testing.assert_allclose(fa.explained_variance_ratio_, (fa.loadings_**2).sum(axis=0) / 12, rtol=1e-10)
    oblique = FactorAnalysis(3, rotation="oblimin", standardize=True).fit(rows)
    assert oblique.explained_variance_ratio_.sum() == pytest.approx(fa.explained_variance_ratio_.sum())
    # psych: diag(Phi %*% t(loadings) %*% loadings) over the number of columns.
    by_hand = np.diag(oblique.factor_correlations_ @ oblique.loadings_.T @ oblique.loadings_) / 12
    np.testing.assert_allclose(oblique.explained_variance_ratio_, by_hand, rtol=1e-10)

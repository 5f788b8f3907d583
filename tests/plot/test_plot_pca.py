"""Plots, really drawn: the axes show the tables."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from eigenlens import (
    PCA,
    GaussianMixture,
    KernelDensity,
    MixtureModel,
    NaiveBayes,
    compare,
    datasets,
    plot,
    select_mixture,
)
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.errors import DataError, MissingExtra, OptionError
from eigenlens.pca import tables
from eigenlens.plot._labels import arrange_labels
from eigenlens.tables.rows import first_rows


@pytest.fixture(scope="module")
def food():
    return datasets.load("uk-food")


@pytest.fixture(scope="module")
def model(food):
    return PCA().fit(food.data)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    return rng.standard_normal((40, 5)) * [5.0, 4.0, 3.0, 2.0, 1.0]


def texts(ax):
    """The words on the axes, without the empty ones of the arrows."""
    return [text.get_text() for text in ax.texts if text.get_text()]


def tips(ax):
    return np.array([text.xy for text in ax.texts if not text.get_text()])


def points(ax):
    return np.concatenate([collection.get_offsets() for collection in ax.collections])


# ---- scree ------------------------------------------------------------------------------------------------


def test_scree_draws_the_variance_table(model):
    ax, table = plot.scree(model), tables.variance(model)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], table.shares)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), table.cumulative)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), 90.0)
    np.testing.assert_allclose(ax.lines[2].get_xydata(), [[2.0, table.cumulative[1]]])
    assert "2 components reach 90%" in texts(ax)
    assert "67.4" in texts(ax)


@pytest.mark.parametrize(
    ("kept", "threshold", "words"),
    [
        (4, 0.6, "1 component reaches 60%"),
        (4, 0.98, "3 components reach 98%"),
        (2, 0.99, "2 kept hold 96.5%, less than 99%"),
    ],
)
def test_scree_says_how_many_are_enough(food, kept, threshold, words):
    assert words in texts(plot.scree(PCA(kept).fit(food.data), threshold=threshold))


def test_scree_shows_bootstrap_intervals(rows):
    model = PCA().fit(rows)
    boot = model.bootstrap(rows, 20, random_state=0)
    ax = plot.scree(model, bootstrap=boot, level=0.8)
    low, high = boot.interval("ratios", 0.8)
    drawn = np.array([segment[:, 1] for segment in ax.collections[0].get_segments()])
    np.testing.assert_allclose(drawn, 100 * np.column_stack([low, high]))
    assert "80% bootstrap interval" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_scree_of_many_components_keeps_its_ticks_few():
    spectrum = PCA().fit(np.random.default_rng(0).standard_normal((300, 200)))
    ax = plot.scree(spectrum)
    assert len(ax.patches) == 200
    assert len(ax.get_xticks()) < 20


# ---- scores -----------------------------------------------------------------------------------------------


def test_scores_are_drawn_where_transform_puts_them(model, food):
    ax = plot.scores(model, food.data, (3, 1), labels=food.rows)
    np.testing.assert_allclose(points(ax), model.transform(food.data)[:, [2, 0]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("PC3 (3.5%)", "PC1 (67.4%)")
    assert sorted(texts(ax)) == sorted(food.rows)
    where = {text.get_text(): text.xy for text in ax.texts}
    np.testing.assert_allclose(where["N Ireland"], model.transform(food.data)[1, [2, 0]])


def test_scores_have_equal_units_and_say_when_they_are_whitened(rows):
    ax = plot.scores(PCA(2, whiten=True).fit(rows), rows)
    assert ax.get_aspect() == 1.0
    assert ax.get_xlabel().endswith("unit variance")


def test_categories_get_a_legend_with_their_names_as_they_are(rows):
    names = np.array(["_low", "$high_$"])[(rows[:, 0] > 0).astype(int)]
    ax = plot.scores(PCA().fit(rows), rows, color=names)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["$high_$", "_low"]
    assert not any(text.get_parse_math() for text in ax.get_legend().get_texts())
    assert [len(part.get_offsets()) for part in ax.collections] == [(names == n).sum() for n in ("$high_$", "_low")]
    colours = {tuple(part.get_facecolor()[0][:3]) for part in ax.collections}
    assert len(colours) == 2


def test_numbers_get_a_colour_scale(rows):
    ax = plot.scores(PCA().fit(rows), rows, color=rows[:, 3])
    np.testing.assert_array_equal(ax.collections[0].get_array(), rows[:, 3])
    assert len(ax.figure.axes) == 2


def test_a_colour_by_name_colours_all(rows):
    ax = plot.scores(PCA().fit(rows), rows, color="black")
    assert ax.collections[0].get_facecolor()[0, :3].tolist() == [0.0, 0.0, 0.0]


def test_many_points_are_small_faint_and_rasterised():
    X = np.random.default_rng(0).standard_normal((20_000, 3))
    few, many = (plot.scores(PCA(2).fit(X), part).collections[0] for part in (X[:100], X))
    assert many.get_sizes()[0] < few.get_sizes()[0] / 5
    assert many.get_alpha() < few.get_alpha()
    assert (bool(few.get_rasterized()), many.get_rasterized()) == (False, True)


# ---- biplot -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", tables.BIPLOT_SCALINGS)
def test_biplot_draws_rows_and_stretched_columns_and_names_the_scales(model, food, alpha):
    ax = plot.biplot(model, food.data, alpha=alpha, labels=food.rows, names=food.columns)
    table = tables.biplot(model, food.data, (1, 2), alpha=alpha)
    np.testing.assert_allclose(points(ax), table.rows)
    factor = np.linalg.norm(tips(ax)) / np.linalg.norm(table.columns)
    np.testing.assert_allclose(tips(ax), factor * table.columns, atol=1e-9)
    assert ax.get_xlabel().startswith("PC1 (67.4%)")
    assert f"α = {alpha:g}" in ax.get_xlabel()
    assert "U·Sᵅ" in ax.get_xlabel()
    assert len(ax.child_axes) == (0 if factor == 1.0 else 2)
    for second in ax.child_axes:
        ax.figure.draw_without_rendering()
        ratio = (
            np.divide(ax.get_xlim(), second.get_xlim())
            if second.get_xlabel()
            else np.divide(ax.get_ylim(), second.get_ylim())
        )
        np.testing.assert_allclose(ratio, factor)
    assert {"Fresh fruit", "Fresh potatoes", "Alcoholic drinks", "Soft drinks", *food.rows} <= set(texts(ax))


def test_biplot_scale_of_arrows_is_named_when_it_is_another(model, food):
    ax = plot.biplot(model, food.data, alpha=1)
    assert [child.get_xlabel() for child in ax.child_axes if child.get_xlabel()] == [
        "columns V·S¹⁻ᵅ (arrows, their own scale)"
    ]


def test_biplot_top_keeps_the_longest_arrows_and_says_so(model, food):
    ax = plot.biplot(model, food.data, names=food.columns, top=3)
    assert sorted(texts(ax)) == ["Fresh fruit", "Fresh potatoes", "Soft drinks"]
    assert ax.get_title(loc="left") == "the 3 longest of 17 arrows"
    assert len(tips(plot.biplot(model, food.data, top=0)).reshape(-1, 2)) == 0


# ---- correlation circle -----------------------------------------------------------------------------------


def test_circle_draws_correlations_and_supplementary_columns(rows):
    model = PCA(standardize=True).fit(rows)
    extra = model.supplementary({"sum": rows.sum(axis=1)}, rows)
    ax = plot.correlation_circle(model, (2, 3), supplementary=extra)
    expected = np.concatenate([model.correlations()[:, 1:3], extra.correlations[:, 1:3]])
    np.testing.assert_allclose(tips(ax), expected)
    assert set(texts(ax)) == {"x0", "x1", "x2", "x3", "x4", "sum"}
    assert ax.patches[0].get_radius() == 1.0


# ---- loadings and contributions ---------------------------------------------------------------------------


def test_loadings_of_few_columns_are_a_heat_map(model, food):
    ax = plot.loadings(model, [2, 1], names=food.columns)
    np.testing.assert_array_equal(ax.images[0].get_array(), model.loadings_[:, [1, 0]])
    assert [text.get_text() for text in ax.get_yticklabels()] == list(food.columns)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["PC2\n(29.1%)", "PC1\n(67.4%)"]
    low, high = ax.images[0].get_clim()
    assert low == -high  # zero is white
    assert "205" in texts(ax)


def test_loadings_of_many_columns_are_lines_unless_the_largest_are_asked_for():
    X = np.cumsum(np.random.default_rng(0).standard_normal((90, 80)), axis=1)
    model = PCA(6).fit(X)
    ax = plot.loadings(model)
    np.testing.assert_array_equal(np.array([line.get_ydata() for line in ax.lines[:4]]), model.loadings_.T[:4])
    ax = plot.loadings(model, [1], top=5)
    np.testing.assert_allclose(ax.images[0].get_array()[:, 0], -np.sort(-np.abs(model.loadings_[:, 0]))[:5])
    assert ax.get_title(loc="left") == "5 of 80 columns, largest first"


def test_contributions_are_sorted_bars_with_their_average(model, food):
    ax = plot.contributions(model, 2, names=food.columns)
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths, np.sort(model.contributions()[:, 1])[::-1])
    assert ax.get_yticklabels()[0].get_text() == "Fresh potatoes"
    np.testing.assert_allclose(ax.lines[0].get_xdata(), 100 / 17)
    assert "PC2 (29.1%)" in ax.get_xlabel()


def test_contributions_of_rows_and_of_a_few_only(model, food):
    ax = plot.contributions(model, 1, X=food.data, labels=food.rows, top=2)
    np.testing.assert_allclose(
        [bar.get_width() for bar in ax.patches], np.sort(model.contributions(food.data)[:, 0])[:1:-1]
    )
    assert ax.get_yticklabels()[0].get_text() == "N Ireland"
    assert ax.get_title(loc="left").startswith("2 of 4 rows, together ")


# ---- reconstruction ---------------------------------------------------------------------------------------


def test_reconstruction_as_images_is_one_mosaic(rows):
    X = np.column_stack([rows, rows[:, :1]])
    model = PCA().fit(X)
    ax = plot.reconstruction(model, X, k=[1, 5], image_shape=(2, 3), n_rows=4, labels=range(40))
    table = tables.reconstruction(model, X, [1, 5], limit=4)
    mosaic = np.ma.filled(ax.images[0].get_array(), np.nan)
    assert mosaic.shape == (3 * 3 - 1, 4 * 4 - 1)
    np.testing.assert_allclose(mosaic[0:2, 8:11], X[2].reshape(2, 3))
    np.testing.assert_allclose(mosaic[3:5, 12:15], table.reconstructions[0, 3].reshape(2, 3))
    captions = [text.get_text() for text in ax.get_yticklabels()]
    assert captions == ["original", f"k = 1 ({table.lost[0]:.1f}% lost)", "k = 5 (0.0% lost)"]


def test_reconstruction_as_lines(model, food):
    ax = plot.reconstruction(model, food.data[1:2], k=1, names=food.columns, labels=["N Ireland"])
    table = tables.reconstruction(model, food.data[1:2], 1)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), food.data[1])
    np.testing.assert_allclose(ax.lines[1].get_ydata(), table.reconstructions[0, 0])
    assert ax.get_xticklabels()[3].get_text() == "Cereals"


def test_reconstruction_of_several_rows_shifts_them_apart(model, food):
    ax = plot.reconstruction(model, food.data, k=[3], labels=food.rows)
    originals, rebuilt = ([line.get_ydata() for line in ax.lines[i : i + 3]] for i in (0, 3))
    np.testing.assert_allclose(originals, rebuilt)  # three components are all there is
    for i, line in enumerate(originals):
        np.testing.assert_allclose(line - line[0], food.data[i] - food.data[i, 0])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["England", "N Ireland", "Scotland"]


def test_reconstruction_rejects_a_shape_that_is_not_the_columns(model, food):
    with pytest.raises(OptionError, match=r"image_shape=\(4, 4\) must be .* product of 17"):
        plot.reconstruction(model, food.data, image_shape=(4, 4))


# ---- all of them ------------------------------------------------------------------------------------------


def first_two(X):
    return X.iloc[:, :2] if hasattr(X, "iloc") else X[:, :2]


def with_missing(X):
    rows = np.array(X)
    rows[::4, :2] = np.nan
    return rows


def latent(model):
    """A fitted PCA as a latent Gaussian: one direction, and noise in the others."""
    frozen = LinearGaussian(np.zeros(5), model.loadings_[:, :1], 1.0)
    known = {"feature_names_in_": model.feature_names_in_} if hasattr(model, "feature_names_in_") else {}
    return SimpleNamespace(
        loadings_=frozen.loadings,
        noise_variance_=1.0,
        loglik_path_=[-3.0, -2.0],
        impute=lambda X, return_std: frozen.impute(first_rows(X), return_std=return_std),
        **known,
    )


def kernel_density(X):
    return KernelDensity(bandwidth=0.5).fit(X)


def two_components(X):
    return GaussianMixture(2, covariance_type="diag", n_init=2, random_state=0).fit(X)


def latent_classes(X):
    return MixtureModel(2, features="gaussian", n_init=2, random_state=0).fit(X)


def labels_of(X):
    return np.where(np.arange(len(X)) % 3 == 0, "$odd_", "even$")


def classifier(X):
    return NaiveBayes(features="gaussian").fit(X, labels_of(X))


@cache
def selected():
    X = np.random.default_rng(0).standard_normal((60, 2))
    return select_mixture(X, n_components=[1, 2], covariance_types=["diag"], random_state=0)


@cache
def compared():
    X = np.random.default_rng(0).standard_normal((60, 2))
    return compare({"$a_": KernelDensity(bandwidth=0.5), "b$": KernelDensity(bandwidth=1.0)}, X, random_state=0)


PICTURES = {
    "scree": lambda m, X, **how: plot.scree(m, **how),
    "scores": lambda m, X, **how: plot.scores(m, X, labels=range(len(X)), **how),
    "pairs": lambda m, X, **how: plot.pairs(X, **how),
    "biplot": lambda m, X, **how: plot.biplot(m, X, labels=range(len(X)), **how),
    "correlation_circle": lambda m, X, **how: plot.correlation_circle(m, **how),
    "loadings": lambda m, X, **how: plot.loadings(m, **how),
    "contributions": lambda m, X, **how: plot.contributions(m, **how),
    "reconstruction": lambda m, X, **how: plot.reconstruction(m, X, **how),
    "embedding": lambda m, X, **how: plot.embedding(m, X, labels=range(len(X)), **how),
    "component_contours": lambda m, X, **how: plot.component_contours(PCA().fit(first_two(X)), first_two(X), **how),
    "denoising": lambda m, X, **how: plot.denoising({"original": X, "$noisy_": X}, image_shape=(1, 5), **how),
    "likelihood_path": lambda m, X, **how: plot.likelihood_path(latent(m), **how),
    "rotation": lambda m, X, **how: plot.rotation(m, **how),
    "noise": lambda m, X, **how: plot.noise(latent(m), **how),
    "imputed": lambda m, X, **how: plot.imputed(latent(m), with_missing(X), **how),
    "density": lambda m, X, **how: plot.density(kernel_density(X), column=0, **how),
    "density_contours": lambda m, X, **how: plot.density_contours(kernel_density(X), columns=(0, 1), **how),
    "bandwidth_curve": lambda m, X, **how: plot.bandwidth_curve(kernel_density(X), column=0, **how),
    "mixture": lambda m, X, **how: plot.mixture(two_components(X), X, **how),
    "mixture_density": lambda m, X, **how: plot.mixture_density(two_components(X), X, **how),
    "mixture_selection": lambda m, X, **how: plot.mixture_selection(selected(), **how),
    "responsibilities": lambda m, X, **how: plot.responsibilities(two_components(X), X, **how),
    "profile": lambda m, X, **how: plot.profile(latent_classes(X), **how),
    "comparison": lambda m, X, **how: plot.comparison(compared(), **how),
    "decision": lambda m, X, **how: plot.decision(classifier(X), X, labels_of(X), grid=20, **how),
    "calibration": lambda m, X, **how: plot.calibration(classifier(X), X, labels_of(X), **how),
    "confusion": lambda m, X, **how: plot.confusion(classifier(X), X, labels_of(X), **how),
    "explanation": lambda m, X, **how: plot.explanation(classifier(X), X, **how),
}


def test_every_public_plot_is_tested_below():
    assert sorted(PICTURES) == sorted(plot.__all__)


@pytest.mark.few(6)
@pytest.mark.parametrize("name", PICTURES)
def test_given_axes_are_drawn_on_and_no_figure_is_made(rows, name, tmp_path):
    ax = Figure().subplots()
    assert PICTURES[name](PCA().fit(rows), rows, ax=ax) is ax
    assert plt.get_fignums() == []
    ax.figure.savefig(tmp_path / "picture.pdf")


@pytest.mark.few(6)
@pytest.mark.parametrize("name", PICTURES)
def test_a_new_figure_is_made_without_touching_another(rows, name):
    mine = plt.figure()
    ax = PICTURES[name](PCA().fit(rows), rows)
    assert ax.figure is not mine
    assert mine.axes == []


@pytest.mark.few(5)
@pytest.mark.parametrize("name", PICTURES)
def test_names_are_never_read_as_mathematics(rows, name, tmp_path):
    frame = pd.DataFrame(rows, columns=["$x_", "\\alpha$", "_hidden", "a$b$c", "$\\frac{1}{"])
    ax = PICTURES[name](PCA().fit(frame), frame)
    ax.figure.savefig(tmp_path / "picture.png")  # unbalanced mathematics would raise here


@pytest.mark.parametrize("name", ["biplot", "correlation_circle"])
def test_a_plane_needs_two_components(rows, name):
    with pytest.raises(OptionError, match="components=2 must be two numbers"):
        PICTURES[name](PCA().fit(rows), rows, components=2)


@pytest.mark.parametrize("name", ["scores", "embedding", "biplot", "correlation_circle"])
@pytest.mark.parametrize(
    ("components", "message"),
    [
        ((1, 9), r"components=\(1, 9\) has 9, which must be at most 5, the number of components that the model keeps"),
        ((0, 1), r"components=\(0, 1\) has 0, which must be at least 1"),
        ((1, 2, 3), r"components=\(1, 2, 3\) must be two numbers"),
    ],
)
def test_components_out_of_range_are_named(rows, name, components, message):
    with pytest.raises(OptionError, match=message):
        PICTURES[name](PCA().fit(rows), rows, components=components)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m, X: plot.contributions(m, 6), OptionError, "components=6 must be at most 5"),
        (lambda m, X: plot.loadings(m, top=9), OptionError, "top=9 must be at most 5, the number of columns"),
        (lambda m, X: plot.biplot(m, X, top=-1), OptionError, "top=-1 must be at least 0"),
        (lambda m, X: plot.scree(m, threshold=90), OptionError, "threshold=90 must be a number above 0 and below 1"),
        (lambda m, X: plot.scores(m, X, color=[1, 2]), DataError, r"color has shape \(2,\), but X has 40 rows"),
        (lambda m, X: plot.reconstruction(m, X, n_rows=0), OptionError, "n_rows=0 must be at least 1"),
    ],
)
def test_wrong_arguments_are_named_and_leave_no_figure(rows, call, error, message):
    before = plt.get_fignums()
    with pytest.raises(error, match=message):
        call(PCA().fit(rows), rows)
    assert plt.get_fignums() == before


def test_without_matplotlib_the_extra_is_named(rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtra, match=r"drawing needs matplotlib: pip install 'eigenlens\[plot\]'"):
        plot.scree(PCA().fit(rows))


def test_the_module_is_imported_without_matplotlib():
    code = "import sys, eigenlens.plot; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- labels -----------------------------------------------------------------------------------------------


def overlapping(ax):
    """Pairs of labels whose inner boxes cross, by the renderer's own measure."""
    ax.figure.draw_without_rendering()
    boxes = [Text.get_window_extent(text).padded(-2) for text in ax.texts if text.get_text()]  # without their leaders
    return [(a, b) for i, a in enumerate(boxes) for b in boxes[:i] if a.overlaps(b)]


@pytest.mark.long
def test_labels_do_not_cover_one_another(model, food, rows):
    for alpha in tables.BIPLOT_SCALINGS:
        assert not overlapping(plot.biplot(model, food.data, alpha=alpha, labels=food.rows, names=food.columns))
    assert not overlapping(plot.scores(PCA().fit(rows), rows, labels=[f"row number {i}" for i in range(40)]))
    assert not overlapping(plot.correlation_circle(PCA(standardize=True).fit(food.data), names=food.columns))


def test_labels_without_room_are_left_out_and_counted():
    X = np.random.default_rng(0).standard_normal((200, 3))
    ax = plot.scores(PCA().fit(X), X, labels=[f"individual {i}" for i in range(200)])
    assert 0 < len(texts(ax)) < 200
    assert ax.get_title(loc="left") == f"{200 - len(texts(ax))} labels without room left out"


def test_long_labels_keep_their_ends(rows):
    ax = plot.scores(PCA().fit(rows), rows[:2], labels=["the same long beginning of a name, number 1"] * 2)
    assert {(text[:8], text[-8:], len(text)) for text in texts(ax)} == {("the same", "number 1", 32)}


def test_arranged_labels_stay_in_the_frame_and_off_what_is_taken():
    rng = np.random.default_rng(0)
    anchors, sizes = rng.uniform(0, 300, (20, 2)), np.tile([40.0, 10.0], (20, 1))
    frame, legend = np.array([0.0, 0.0, 300.0, 300.0]), np.array([[250.0, 250.0, 80.0, 60.0]])
    toward = np.tile([1.0, 0.0], (20, 1))
    centres, kept = arrange_labels(anchors, sizes, toward, np.empty((0, 3)), frame, legend)
    assert kept.sum() >= 18
    low, high = centres[kept] - sizes[kept] / 2, centres[kept] + sizes[kept] / 2
    assert low.min() > -2.0
    assert high.max() < 302.0
    assert not np.any(np.all(np.abs(centres[kept] - legend[0, :2]) < (sizes[kept] + legend[0, 2:]) / 2 - 2.0, axis=1))


def test_rows_whitened_along_the_columns_are_drawn_on_components():
    X = np.random.default_rng(0).normal(size=(40, 3)) * [3.0, 2.0, 1.0]
    ax = plot.scores(PCA(whiten="zca").fit(X), X)
    np.testing.assert_allclose(ax.collections[0].get_offsets(), PCA(whiten=True).fit_transform(X)[:, :2], atol=1e-10)
    assert ax.get_xlabel().startswith("PC1 (")

"""Kernel PCA in tables and plots: the axes show the tables, and the tables equal the model's results."""

from __future__ import annotations

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from scipy import sparse
from sklearn.datasets import load_digits, make_circles

from eigenlens import PCA, KernelPCA, plot
from eigenlens.errors import DataError, OptionError
from eigenlens.kernel_pca import tables as kernel_tables
from eigenlens.pca import tables


@pytest.fixture(scope="module")
def circles():
    X, y = make_circles(120, factor=0.3, noise=0.05, random_state=0)
    return X, np.array(["outer", "inner"])[y]


@pytest.fixture(scope="module")
def rbf(circles):
    return KernelPCA(4, kernel="rbf", gamma=2.0).fit(circles[0])


@pytest.fixture(scope="module")
def images():
    """Digits, the same with noise, and what the noise becomes in the space of a few components."""
    X = load_digits().data
    clean, fitted = X[:40], X[200:500]
    noisy = clean + np.random.default_rng(0).normal(0.0, 4.0, clean.shape)
    model = PCA(12).fit(fitted)
    return {"original": clean, "noisy": noisy, "PCA": model.inverse_transform(model.transform(noisy))}


def points(ax):
    return np.concatenate([part.get_offsets() for part in ax.collections if len(part.get_offsets()) > 1])


def bands_and_lines(ax):
    return [part for part in ax.collections if part.__class__.__name__ == "QuadContourSet"]


def names_in(legend):
    return [text.get_text() for text in legend.get_texts()]


def captions(ax):
    return [text.get_text() for text in ax.get_xticklabels()]


# ---- embedding --------------------------------------------------------------------------------------------


def test_score_table_is_transform_with_shares_of_the_trace(rbf, circles):
    X, _ = circles
    table = kernel_tables.embedding_scores(rbf, X[:7], (3, 1), labels=range(7))
    np.testing.assert_allclose(table.values, rbf.transform(X[:7])[:, [2, 0]])
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    K = np.exp(-2.0 * D)
    H = np.eye(120) - 1.0 / 120
    lam = np.linalg.eigvalsh(H @ K @ H)[::-1]
    np.testing.assert_allclose(table.shares, 100.0 * lam[[2, 0]] / lam.sum(), rtol=1e-8)
    assert (table.components, table.labels[:2], table.whitened) == ((3, 1), ("0", "1"), False)


def test_score_table_of_pca_is_that_of_the_other_tables(circles):
    X, _ = circles
    for model in (PCA().fit(X), PCA(whiten=True).fit(X)):
        ours, theirs = kernel_tables.embedding_scores(model, X), tables.scores(model, X)
        np.testing.assert_allclose(ours.values, theirs.values, atol=1e-12)
        np.testing.assert_allclose(ours.shares, theirs.shares)
        assert ours.whitened is theirs.whitened


@pytest.mark.parametrize("kind", [np.asfortranarray, sparse.csr_matrix, pd.DataFrame])
def test_the_frozen_model_gives_the_estimators_scores(rbf, circles, kind):
    X, _ = circles
    np.testing.assert_allclose(kernel_tables.embedding_scores(rbf.model_, kind(X)).values, rbf.transform(X), atol=1e-12)
    shares = kernel_tables.embedding_scores(rbf.model_, X).shares
    np.testing.assert_allclose(shares, 100.0 * rbf.explained_variance_ratio_)


def test_embedding_draws_scores_and_names_components_with_their_shares(rbf, circles):
    X, ring = circles
    ax = plot.embedding(rbf, X, (2, 1), color=ring)
    inner, outer = (rbf.transform(X[ring == name])[:, [1, 0]] for name in ("inner", "outer"))
    np.testing.assert_allclose(points(ax), np.concatenate([inner, outer]))
    assert names_in(ax.get_legend()) == ["inner", "outer"]
    shares = 100.0 * rbf.explained_variance_ratio_
    assert ax.get_xlabel() == f"PC2 ({shares[1]:.1f}%)"
    assert ax.get_ylabel() == f"PC1 ({shares[0]:.1f}%)"
    assert ax.get_aspect() == 1.0


def test_embedding_of_numbers_has_a_scale_and_labels_their_place(rbf, circles):
    X, _ = circles
    ax = plot.embedding(rbf, X, color=X[:, 0])
    np.testing.assert_array_equal(ax.collections[0].get_array(), X[:, 0])
    assert len(ax.figure.axes) == 2
    ax = plot.embedding(rbf, X[:3], labels=["first", "second", "third"])
    where = {text.get_text(): text.xy for text in ax.texts}
    np.testing.assert_allclose(where["third"], rbf.transform(X[:3])[2, :2])


# ---- contour lines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_contour_table_holds_the_score_of_every_place_of_the_grid(circles, kernel):
    X, _ = circles
    model = KernelPCA(2, kernel=kernel, degree=2, gamma=1.5).fit(X)
    table = kernel_tables.contours(model, X, 2, resolution=9)
    assert table.values.shape == (9, 9)
    for i, j in [(0, 0), (0, 8), (3, 5), (8, 1)]:
        place = [[table.x[j], table.y[i]]]
        np.testing.assert_allclose(table.values[i, j], model.transform(place)[0, 1], atol=1e-12)
    assert table.component == 2
    np.testing.assert_allclose(table.share, 100.0 * model.explained_variance_ratio_[1])
    np.testing.assert_array_equal(table.rows, X)


def test_the_grid_goes_a_little_beyond_the_rows(circles):
    X, _ = circles
    table = kernel_tables.contours(PCA().fit(X), X * [1.0, 50.0] + 7.0, resolution=5)
    low, high = X.min(axis=0) * [1.0, 50.0] + 7.0, X.max(axis=0) * [1.0, 50.0] + 7.0
    np.testing.assert_allclose([table.x[0], table.y[0]], low - 0.15 * (high - low))
    np.testing.assert_allclose([table.x[-1], table.y[-1]], high + 0.15 * (high - low))


def test_contours_of_the_frozen_model_are_those_of_the_estimator(rbf, circles):
    X, _ = circles
    ours, theirs = (kernel_tables.contours(model, X, 3, resolution=6) for model in (rbf.model_, rbf))
    np.testing.assert_allclose(ours.values, theirs.values, atol=1e-12)
    assert ours.names == theirs.names == ("x0", "x1")


def test_contours_separate_the_circles_and_are_drawn_under_all_rows(rbf, circles):
    X, ring = circles
    ax = plot.component_contours(rbf, X, color=ring, resolution=40)
    bands, lines = bands_and_lines(ax)
    assert bands.filled
    assert not lines.filled
    assert 0.0 in lines.levels  # the thick line; the circles lie on its two sides
    Z = rbf.transform(X)[:, 0]
    assert len(set(np.sign(Z[ring == "inner"]))) == 1
    assert set(np.sign(Z[ring == "inner"])) == set(-np.sign(Z[ring == "outer"]))
    drawn = points(ax)
    np.testing.assert_allclose(drawn, np.concatenate([X[ring == "inner"], X[ring == "outer"]]))
    assert max(part.get_zorder() for part in (bands, lines)) < ax.collections[-1].get_zorder()
    assert names_in(ax.get_legend()) == ["inner", "outer"]


def test_bands_hold_every_value_and_lines_below_zero_are_dashed(rbf, circles):
    X, _ = circles
    ax = plot.component_contours(rbf, X, 2, resolution=30)
    bands, lines = bands_and_lines(ax)
    table = kernel_tables.contours(rbf, X, 2, resolution=30)
    assert bands.levels[0] <= table.values.min()
    assert bands.levels[-1] >= table.values.max()
    low, high = bands.get_clim()
    assert low == -high  # zero is white
    widths = dict(zip(lines.levels, lines.get_linewidth(), strict=True))
    assert max(widths, key=widths.get) == 0.0
    dashed = [style[1] is not None for style in lines.get_linestyle()]
    assert dashed == [level < 0.0 for level in lines.levels]


def test_lines_of_pca_are_straight_and_its_scale_is_named(circles):
    X, _ = circles
    ax = plot.component_contours(PCA().fit(X), X, resolution=20)
    _, lines = bands_and_lines(ax)
    v = PCA().fit(X).components_[0]
    for path in lines.get_paths():
        np.testing.assert_allclose(np.ptp(path.vertices @ v), 0.0, atol=1e-9)
    share = 100.0 * PCA().fit(X).explained_variance_ratio_[0]
    assert ax.figure.axes[1].get_ylabel() == f"score on PC1 ({share:.1f}%)"


def test_column_names_come_from_the_frame_or_the_argument(circles):
    frame = pd.DataFrame(circles[0], columns=["$width_", "_height"])
    model = KernelPCA(2, kernel="poly", degree=2).fit(frame)
    ax = plot.component_contours(model, frame, resolution=8)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$width_", "_height")
    ax = plot.component_contours(model, frame, resolution=8, names=["a", "b"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "b")


@pytest.mark.long
def test_units_are_equal_unless_the_columns_have_very_different_ones(circles):
    X, _ = circles
    for scale, aspect in [([1.0, 1.0], 1.0), ([1.0, 2.5], 1.0), ([1.0, 200.0], "auto"), ([200.0, 1.0], "auto")]:
        ax = plot.component_contours(PCA().fit(X * scale), X * scale, resolution=8)
        assert ax.get_aspect() == aspect
        assert ax.get_xlim()[1] < 1.6 * scale[0]  # no empty margins beyond the grid


def test_one_row_and_a_flat_score_can_be_drawn(circles):
    X, _ = circles
    flat = KernelPCA(1, kernel=lambda A, B: A[:, :1] @ B[:, :1].T).fit(X)
    plot.component_contours(flat, [[1.0, 2.0]], resolution=6).figure.draw_without_rendering()
    far = KernelPCA(1, kernel="rbf", gamma=50.0).fit(
        X
    )  # so far from the rows the kernel is zero and the score constant
    ax = plot.component_contours(far, X + 100.0, resolution=6)
    assert len(bands_and_lines(ax)) == 1
    ax.figure.draw_without_rendering()


# ---- denoising --------------------------------------------------------------------------------------------


def test_denoising_table_measures_all_rows_and_shows_the_first(images):
    table = kernel_tables.denoising(images, limit=3, labels=range(40))
    assert table.names == ("original", "noisy", "PCA")
    assert table.labels == ("0", "1", "2")
    assert table.values.shape == (3, 3, 64)
    expected = [np.mean((rows - images["original"]) ** 2) for rows in images.values()]
    np.testing.assert_allclose(table.errors, expected)
    assert table.errors[0] == 0.0
    assert table.errors[2] < table.errors[1]
    np.testing.assert_array_equal(table.limits[:, 1], images["original"][:3].max(axis=1))


def test_without_an_original_there_are_no_errors_and_all_panels_share_the_scale(images):
    table = kernel_tables.denoising({"before": images["noisy"], "after": images["PCA"]})
    assert table.original is None
    assert np.all(np.isnan(table.errors))
    both = np.concatenate([images["noisy"], images["PCA"]], axis=1)
    np.testing.assert_array_equal(table.limits, np.column_stack([both.min(axis=1), both.max(axis=1)]))


def test_any_panel_can_be_the_original(images):
    table = kernel_tables.denoising({"PCA": images["PCA"], "clean": images["original"]}, original="clean")
    np.testing.assert_allclose(table.errors, [np.mean((images["PCA"] - images["original"]) ** 2), 0.0])


def test_denoising_draws_one_line_per_row_in_its_own_scale(images):
    ax = plot.denoising(images, n_rows=2, labels=["zero", "one", *[""] * 38])
    assert len(ax.images) == 2
    for i, line in enumerate(ax.images):
        values = np.ma.filled(line.get_array(), np.nan)
        assert values.shape == (8, 3 * 9 - 1)
        for j, rows in enumerate(images.values()):
            np.testing.assert_allclose(values[:, 9 * j : 9 * j + 8], rows[i].reshape(8, 8))
        assert line.get_clim() == (images["original"][i].min(), images["original"][i].max())
    assert [text.get_text() for text in ax.get_yticklabels()] == ["zero", "one"]
    assert ax.get_xlabel() == "2 of 40 rows; errors over all 40"


def test_captions_are_names_and_errors_that_do_not_touch(images):
    error = {name: np.mean((rows - images["original"]) ** 2) for name, rows in images.items()}
    ax = plot.denoising(images)
    assert captions(ax) == ["original", f"noisy\nMSE {error['noisy']:.3g}", f"PCA\nMSE {error['PCA']:.3g}"]
    long = {f"the panel with the $long name {i}": images["noisy"][:4] for i in range(7)}
    ax = plot.denoising(long)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.get_xticklabels()]
    assert all(a.x1 <= b.x0 for a, b in pairwise(boxes))
    figure = ax.figure.bbox
    assert all(box.x0 >= 0 and box.y1 <= figure.y1 for box in boxes)


def test_denoising_by_the_model_itself(images):
    fitted = load_digits().data[200:500]
    model = KernelPCA(30, kernel="rbf", gamma=5e-4).fit(fitted)
    ax = plot.denoising(images | {"kernel PCA": model.denoise(images["noisy"])}, n_rows=3)
    assert captions(ax)[3].startswith("kernel PCA\nMSE ")
    assert float(captions(ax)[3].split()[-1]) < float(captions(ax)[1].split()[-1])


def test_images_need_not_be_square(images):
    halves = {name: rows[:, :32] for name, rows in images.items()}
    ax = plot.denoising(halves, image_shape=(4, 8), n_rows=1)
    assert ax.images[0].get_array().shape == (4, 26)
    with pytest.raises(OptionError, match="32 columns are not a square"):
        plot.denoising(halves)
    with pytest.raises(OptionError, match=r"image_shape=\(5, 8\) must be .* product of 32"):
        plot.denoising(halves, image_shape=(5, 8))


# ---- all of them ------------------------------------------------------------------------------------------

PICTURES = {
    "embedding": lambda m, X, **how: plot.embedding(m, X, labels=range(len(X)), **how),
    "component_contours": lambda m, X, **how: plot.component_contours(m, X, resolution=10, **how),
    "denoising": lambda m, X, **how: plot.denoising({"original": X, "$noisy": X}, image_shape=(1, 2), **how),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", PICTURES)
def test_given_axes_are_drawn_on_and_no_figure_is_made(rbf, circles, name, tmp_path):
    ax = Figure().subplots()
    assert PICTURES[name](rbf, circles[0], ax=ax) is ax
    assert plt.get_fignums() == []
    ax.figure.savefig(tmp_path / "picture.pdf")


@pytest.mark.few(2)
@pytest.mark.parametrize("name", PICTURES)
def test_a_new_figure_is_made_without_touching_another(rbf, circles, name, tmp_path):
    mine = plt.figure()
    ax = PICTURES[name](rbf, circles[0])
    assert ax.figure is not mine
    assert mine.axes == []
    assert to_rgb(ax.figure.get_facecolor()) == (1.0, 1.0, 1.0)
    ax.figure.savefig(tmp_path / "picture.png")


def wide(X):
    return np.column_stack([X, X[:, 0]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda m, X: plot.embedding(m, X, (1, 9)),
            OptionError,
            r"=\(1, 9\) has 9, which must be at most 4, the number",
        ),
        (lambda m, X: plot.embedding(m, X, (1, 2, 3)), OptionError, r"components=\(1, 2, 3\) must be two numbers"),
        (lambda m, X: plot.embedding(m, X, color=[1]), DataError, r"color has shape \(1,\), but X has 120 rows"),
        (lambda m, X: plot.embedding(m, X, labels=["a"]), DataError, "labels has 1 entries, but X has 120 rows"),
        (
            lambda m, X: plot.embedding(PCA(), X),
            OptionError,
            "model of type PCA has no components",
        ),
        (lambda m, X: plot.component_contours(m, X, 0), OptionError, "component=0 must be at least 1"),
        (lambda m, X: plot.component_contours(m, X, 5), OptionError, "component=5 must be at most 4, the number of"),
        (lambda m, X: plot.component_contours(m, X, resolution=1), OptionError, "resolution=1 must be at least 2"),
        (
            lambda m, X: plot.component_contours(m, X, names=list("abc")),
            OptionError,
            "names has 3 entries, but there are 2",
        ),
        (lambda m, X: plot.component_contours(m, wide(X)), DataError, "X has 3 columns; contour lines are .* have 2"),
        (lambda m, X: plot.component_contours(m, X * np.nan), DataError, "X contains NaN or infinity"),
        (lambda m, X: plot.denoising({}), OptionError, "panels must be a dict with a name and rows"),
        (lambda m, X: plot.denoising(X), OptionError, "panels must be a dict with a name and rows .* not ndarray"),
        (lambda m, X: plot.denoising({"a": X, "b": X[1:]}), DataError, r"panels\['b'\] has shape \(119, 2\), but"),
        (lambda m, X: plot.denoising({"a": X * np.inf}), DataError, r"panels\['a'\] contains NaN or infinity"),
        (lambda m, X: plot.denoising({"a": X}, original="b"), OptionError, "original='b' is not a panel; known: 'a'"),
        (lambda m, X: plot.denoising({"a": X}, n_rows=0), OptionError, "n_rows=0 must be at least 1"),
    ],
)
def test_wrong_arguments_are_named_and_leave_no_figure(rbf, circles, call, error, message):
    with pytest.raises(error, match=message), np.errstate(invalid="ignore"):
        call(rbf, circles[0])
    assert plt.get_fignums() == []


def test_contours_need_a_model_of_two_columns(circles):
    X = wide(circles[0])
    with pytest.raises(OptionError, match=r"model was fitted on 3 columns, .* plane of 2; .*plot\.embedding"):
        plot.component_contours(KernelPCA(2).fit(X), X)
    with pytest.raises(OptionError, match="model was fitted on 3 columns"):
        plot.component_contours(KernelPCA(2).fit(X).model_, X)


def test_contours_of_a_kernel_matrix_have_no_input_space(circles):
    K = circles[0] @ circles[0].T
    model = KernelPCA(2, kernel="precomputed").fit(K)
    for given in (model, model.model_):
        with pytest.raises(OptionError, match="kernel='precomputed' has no input space"):
            plot.component_contours(given, circles[0])
    assert plot.embedding(model, K).get_xlabel().startswith("PC1 (")


def test_rows_are_no_name_of_a_panel():
    X = np.eye(4)
    with pytest.raises(OptionError, match="original must be the name of a panel, not ndarray"):
        plot.denoising({"noisy": X}, original=X)

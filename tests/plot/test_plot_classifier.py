"""Classifiers in tables and plots: the tables equal the models' results, and the plots show the tables."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import calibration_curve
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import brier_score_loss, confusion_matrix

from eigenlens import plot as draw
from eigenlens.bayes import tables as class_tables
from eigenlens.bayes.discriminant.estimator import LinearDiscriminant, QuadraticDiscriminant
from eigenlens.bayes.naive.estimator import NaiveBayes
from eigenlens.data.memory import ArraySource
from eigenlens.densities.intervals import proportion_intervals
from eigenlens.errors import DataError, OptionError
from eigenlens.plot._style import BLUE, PALETTE, VERMILLION

mpl.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    plt.close("all")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.array(["ash", "$oak$", "_elm"])[np.arange(150) % 3]
    X = rng.standard_normal((150, 3)) + 2.0 * rng.standard_normal((3, 3))[np.arange(150) % 3]
    return pd.DataFrame(X, columns=["height", "girth", "age"]), y


@pytest.fixture(scope="module")
def model(data):
    return QuadraticDiscriminant().fit(*data)


# ---- regions ------------------------------------------------------------------------------------------------


def test_regions_leave_other_columns_out_where_the_model_can(data, model):
    X, y = data
    table = class_tables.decision(model, X, y, features=["age", "height"], grid=15)
    rows = pd.DataFrame({"height": table.y[4], "girth": np.nan, "age": table.x[9]}, index=[0])
    assert_allclose(table.proba[4, 9], model.predict_proba(rows)[0])
    assert table.others == "other columns left out"
    assert table.names == ("age", "height")
    assert_array_equal(table.points, X[["age", "height"]])
    assert_array_equal(np.array(table.classes)[table.codes], y)
    assert table.x[0] < X["age"].min() < X["age"].max() < table.x[-1]
    assert_array_equal(table.regions, table.proba.argmax(axis=2))


def test_regions_hold_other_columns_at_medians_where_it_cannot(data):
    X, y = data
    peer = LinearDiscriminantAnalysis().fit(X, y)
    table = class_tables.decision(peer, X, features=[0, 1], grid=7)
    rows = pd.DataFrame({"height": table.x[2], "girth": table.y[5], "age": X["age"].median()}, index=[0])
    assert_allclose(table.proba[5, 2], peer.predict_proba(rows)[0])
    assert table.others == "other columns at their medians"
    assert table.codes is None


def test_the_plot_of_regions(data, model):
    X, y = data
    ax = draw.decision(model, X, y, features=["height", "girth"], grid=40)
    table = class_tables.decision(model, X, y, features=["height", "girth"], grid=40)
    image = ax.images[0].get_array()
    for c in range(3):
        q, p = np.unravel_index(table.proba[:, :, c].argmax(), table.regions.shape)
        assert_allclose(image[q, p, :3], to_rgb(PALETTE[c]), atol=1e-6)
    sure, unsure = table.proba.max(axis=2).argmax(), table.proba.max(axis=2).argmin()
    opacity = np.asarray(image)[:, :, 3].ravel()
    assert 0.0 < opacity[unsure] < opacity[sure] < 0.5
    drawn = np.concatenate([points.get_offsets() for points in ax.collections if len(points.get_offsets())])
    assert {tuple(point) for point in table.points} <= {tuple(point) for point in np.asarray(drawn)}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["$oak$", "_elm", "ash"]
    assert (ax.get_xlabel(), ax.get_title(loc="left")) == ("height", "other columns left out")
    ax.figure.canvas.draw()


def test_boundaries_are_where_classes_are_equally_likely(data):
    X, y = data
    two = LinearDiscriminant().fit(X.to_numpy()[y != "ash", :2], y[y != "ash"])
    ax = draw.decision(two, X.to_numpy()[:, :2], grid=120)
    (lines,) = [c for c in ax.collections if c.__class__.__name__ == "QuadContourSet"]
    places = np.concatenate([path.vertices for path in lines.get_paths()])
    assert len(places) > 20
    assert_allclose(two.predict_proba(places)[:, 0], 0.5, atol=0.02)


def test_regions_have_names_where_classes_are_more_than_colours():
    rng, y = np.random.default_rng(0), np.arange(200) % 10
    X = rng.standard_normal((200, 2)) + 8.0 * np.column_stack([np.cos(y), np.sin(y)])
    found = LinearDiscriminant().fit(X, y)
    ax = draw.decision(found, X, y, grid=60)
    assert sorted(text.get_text() for text in ax.texts) == sorted(map(str, range(10)))
    for text in ax.texts:
        assert found.predict([text.get_position()])[0] == int(text.get_text())


@pytest.mark.long
def test_regions_of_many_classes_have_short_names_that_do_not_overlap():
    rng, y = np.random.default_rng(0), np.arange(600) % 30
    X, names = (
        rng.standard_normal((600, 2)) + 6.0 * rng.standard_normal((30, 2))[y],
        np.array([f"wood {c} by the river Isar" for c in range(30)]),
    )
    ax = draw.decision(LinearDiscriminant().fit(X, names[y]), X, names[y], grid=60)
    assert ax.get_legend() is None
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert {text.get_text() for text in ax.texts} <= {f"wood {c}…" for c in range(30)}
    assert len(boxes) > 12
    assert all(ax.bbox.x0 <= box.x0 and box.x1 <= ax.bbox.x1 for box in boxes)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_text_follows_the_size_set_in_matplotlib(data, model):
    X, y = data
    sizes = {}
    for points in (10.0, 15.0):
        with mpl.rc_context({"font.size": points}):
            made = [draw.confusion(model, X, y), draw.explanation(LinearDiscriminant().fit(X, y), X)]
            made += [draw.decision(model, X, y, grid=10), draw.calibration(model, X, y)]
            texts = [text for ax in made for text in (ax.get_xticklabels()[0], ax._left_title, *ax.texts)]
            sizes[points] = np.array([text.get_size() for text in texts])
    assert_allclose(sizes[15.0], 1.5 * sizes[10.0])
    assert made[0].texts[0].get_size() == 12.0


def test_rows_on_levels_are_spread_within_them():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 80) == 1, rng.standard_normal(80)])
    frame = pd.DataFrame({"on": X[:, 0] == 1.0, "size": X[:, 1]})
    y = np.where(rng.random(80) < 0.5, "a", "b")
    found = NaiveBayes().fit(frame, y)
    table = class_tables.decision(found, frame, y, grid=10)
    assert table.steps == (1.0, 0.0)
    assert_array_equal(table.points, X)
    ax = draw.decision(found, frame, y, grid=10)
    drawn = np.concatenate([points.get_offsets() for points in ax.collections if points.get_offsets().size > 2])
    drawn = drawn[np.argsort(drawn[:, 1])]
    true = X[np.argsort(X[:, 1])]
    assert_array_equal(drawn[:, 1], true[:, 1])
    assert_array_equal(np.round(drawn[:, 0]), true[:, 0])
    assert len(np.unique(drawn[:, 0])) == 80
    assert ax.get_xlim() == (-0.5, 1.5)
    assert "jittered" in ax.get_title(loc="left")


def test_rows_of_classes_that_the_model_does_not_know(data):
    X, y = data
    known = y != "ash"
    ax = draw.decision(LinearDiscriminant().fit(X[known], y[known]), X, y, grid=10)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["$oak$", "_elm", "not known"]


# ---- reliability --------------------------------------------------------------------------------------------


def test_calibration_is_scikit_learns(data, model):
    X, y = data
    for label, c in (("ash", 2), ("_elm", 1)):
        table = class_tables.calibration(model, X, y, label=label, bins=5)
        p = model.predict_proba(X)[:, c]
        share, mean = calibration_curve(y == label, p, n_bins=5)
        shown = table.weight > 0.0
        assert_allclose(table.observed[shown], share)
        assert_allclose(table.predicted[shown], mean)
        assert table.brier == pytest.approx(brier_score_loss(y == label, p))
        assert table.weight.sum() == 150
        assert table.error == pytest.approx(np.sum(np.abs(share - mean) * table.weight[shown]) / 150)
        last = int(np.flatnonzero(shown)[-1])
        limits = proportion_intervals(table.observed[last : last + 1], float(table.weight[last]))
        assert_allclose(table.limits[last], limits[0])


def test_calibration_of_the_predicted_class_and_weights(data, model):
    X, y = data
    top = class_tables.calibration(model, X, y)
    shown = top.weight > 0.0
    assert np.sum(top.observed[shown] * top.weight[shown]) / 150 == pytest.approx(model.score(X, y))
    assert top.what == "the predicted class"
    w = np.arange(150) % 3
    weighted = class_tables.calibration(model, X, y, sample_weight=w)
    repeated = class_tables.calibration(model, X.iloc[np.repeat(np.arange(150), w)], np.repeat(y, w))
    assert_allclose(weighted.observed, repeated.observed)
    assert_allclose(weighted.limits, repeated.limits)


class EchoClassifier:
    """A classifier of two classes whose probabilities are the entries of the rows."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        return np.column_stack([1.0 - X[:, 0], X[:, 0]])


@pytest.mark.parametrize("bins", [1, 4, 5, 10])
def test_probabilities_on_the_edges_of_bins_are_placed_as_by_scikit_learn(bins):
    p = np.round(np.arange(0, 101) / 100, 2)
    y = np.random.default_rng(0).integers(0, 2, 101)
    table = class_tables.calibration(EchoClassifier(), p[:, None], y, label=1, bins=bins)
    share, mean = calibration_curve(y, p, n_bins=bins)
    assert_allclose(table.observed, share)
    assert_allclose(table.predicted, mean)
    assert_array_equal(table.weight[1:], np.full(bins - 1, 100 // bins))


def test_calibration_by_the_definition_with_weights_and_few_rows():
    p, y, w = np.array([0.12, 0.15, 0.9, 1.0]), np.array([0, 1, 1, 1]), np.array([2.0, 0.5, 0.0, 3.0])
    table = class_tables.calibration(EchoClassifier(), p[:, None], y, label=1, sample_weight=w)
    assert_allclose(table.weight, [0, 2.5, 0, 0, 0, 0, 0, 0, 0, 3.0])
    assert_allclose(table.predicted[[1, 9]], [(2 * 0.12 + 0.5 * 0.15) / 2.5, 1.0])
    assert_allclose(table.observed[[1, 9]], [0.2, 1.0])
    assert table.brier == pytest.approx((2 * 0.12**2 + 0.5 * 0.85**2) / 5.5)
    assert table.error == pytest.approx(2.5 * abs(0.2 - table.predicted[1]) / 5.5)
    z2 = 1.959963984540054**2
    low = (0.2 + z2 / 5.0) / (1 + z2 / 2.5) - np.sqrt(z2 * (0.16 / 2.5 + z2 / 25.0)) / (1 + z2 / 2.5)
    assert table.limits[1, 0] == pytest.approx(low)
    assert table.limits[9, 1] == 1.0
    assert np.isnan(table.observed[0])
    one = class_tables.calibration(EchoClassifier(), p[:1, None], y[:1])
    assert (one.observed[8], one.weight.sum(), one.brier) == (1.0, 1.0, pytest.approx(0.0144))


def test_a_true_model_is_calibrated_and_a_boastful_one_is_not(data, model):
    rows, labels = model.sample(20_000, random_state=0, return_labels=True)
    rows = pd.DataFrame(rows, columns=data[0].columns)

    class Boastful:
        classes_ = model.classes_

        def predict_proba(self, X):
            sharp = model.predict_proba(X) ** 4
            return sharp / sharp.sum(axis=1, keepdims=True)

    honest, boastful = (class_tables.calibration(m, rows, labels) for m in (model, Boastful()))
    assert honest.error < 0.01
    assert boastful.error > 3.0 * honest.error
    assert boastful.brier > honest.brier
    middle = (boastful.weight > 100.0) & (boastful.predicted < 0.9)
    assert np.all(boastful.observed[middle] < boastful.predicted[middle])


def test_the_plot_of_calibration(data, model):
    X, y = data
    ax = draw.calibration(model, X, y, label="ash", bins=4)
    table = class_tables.calibration(model, X, y, label="ash", bins=4)
    shown = table.weight > 0.0
    assert_allclose(ax.lines[1].get_xydata(), np.column_stack([table.predicted, table.observed])[shown])
    assert_allclose([bar.get_height() for bar in ax.patches], 0.22 * table.weight / 150)
    assert "class ash" in ax.get_xlabel()
    assert f"Brier score {table.brier:.3f}" in ax.get_title(loc="left")
    both = draw.calibration({"linear": LinearDiscriminant().fit(X, y), "quadratic": model}, X, y)
    assert [text.get_text().split(":")[0] for text in both.get_legend().get_texts()] == ["linear", "quadratic"]
    both.figure.canvas.draw()


# ---- errors -------------------------------------------------------------------------------------------------


def test_confusion_is_scikit_learns(data, model):
    X, y = data
    w = np.arange(150) % 4
    table = class_tables.confusion(model, X, y, sample_weight=w)
    assert_array_equal(table.counts, confusion_matrix(y, model.predict(X), labels=model.classes_, sample_weight=w))
    assert_allclose(table.shares.sum(axis=1), 100.0)
    assert table.accuracy == pytest.approx(model.score(X, y, sample_weight=w))


def test_the_plot_of_confusion(data, model):
    X, y = data
    ax = draw.confusion(model, X, y)
    table = class_tables.confusion(model, X, y)
    texts = {tuple(map(int, text.get_position())): text.get_text() for text in ax.texts}
    for i, j in np.ndindex(3, 3):
        if table.counts[i, j]:
            assert texts[j, i] == f"{table.shares[i, j]:.1f}%\n{table.counts[i, j]:g}"
        else:
            assert (j, i) not in texts
    assert [text.get_text() for text in ax.get_xticklabels()] == ["$oak$", "_elm", "ash"]
    assert ax.get_title(loc="left") == f"accuracy {100 * table.accuracy:.2f}%"
    ax.figure.canvas.draw()


# ---- reasons ------------------------------------------------------------------------------------------------


def test_the_plot_of_an_explanation(data):
    X, y = data
    linear = LinearDiscriminant().fit(X, y)
    ax = draw.explanation(linear, X, 7, top=2)
    found = linear.explain(X)
    table = class_tables.explanation(found, 7, top=2)
    assert table.names == (*[str(found.names[j]) for j in found.order[7, :2]], "1 other", "prior")
    assert table.values.sum() == pytest.approx(table.total)
    assert table.total == pytest.approx(found.log_odds[7])
    assert_allclose([bar.get_width() for bar in ax.patches], [*table.values, table.total])
    colors = [mpl.colors.to_hex(bar.get_facecolor()).upper() for bar in ax.patches[:-1]]
    assert colors == [BLUE if value >= 0 else VERMILLION for value in table.values]
    held = [f"{name} = {X[name].iloc[7]:.4g}" for name in table.names[:2]]
    assert [text.get_text() for text in ax.get_yticklabels()] == [*held, "1 other", "prior", "log-odds"]
    assert ax.get_xlabel() == f"what is added to ln p({found.of[7]} | x) / p({found.against[7]} | x)"
    ax.figure.canvas.draw()
    pair = draw.explanation(linear, X, 7, of="ash", against="_elm")
    assert "ash against _elm" in pair.get_title(loc="left")


def test_an_explanation_of_a_class_of_prior_0(data):
    X, y = data
    never = LinearDiscriminant(prior={"$oak$": 0.5, "_elm": 0.5, "ash": 0.0}).fit(X, y)
    ax = draw.explanation(never, X, of="ash")
    assert [text.get_text() for text in ax.texts][-2:] == ["-inf", "-inf"]
    assert np.all(np.isfinite([bar.get_width() for bar in ax.patches]))
    ax.figure.canvas.draw()


def test_what_a_row_holds_stands_beside_its_features():
    frame = pd.DataFrame({"tall": [1.5, None], "kind": ["oak", None], "n": [3, 4], "on": [True, False]})
    rows = [("1.5", "oak", "3", "True"), ("missing", "missing", "4", "False")]
    kinds = {"pandas": frame, "polars": pl.from_pandas(frame), "arrow": pa.Table.from_pandas(frame)}
    for name, X in kinds.items():
        assert [class_tables.row_entries(X, i) for i in (0, 1)] == rows, name
    numbers = np.array([[1.0, 2.25], [np.nan, 1e7]])
    for X in (numbers, numbers.tolist(), ArraySource(numbers, block_rows=1), sp.csr_matrix(numbers)):
        assert class_tables.row_entries(X, 1) == ("missing", "1e+07")


def test_long_names_are_shortened(data):
    X, y = data
    long = X.rename(columns=lambda name: f"{name} at the height of the breast of a grown man, {name} again")
    ax = draw.explanation(LinearDiscriminant().fit(long, np.char.add(y, " of the wood by the northern river")), long)
    said = [text.get_text() for text in ax.get_yticklabels()]
    assert all("…" in text and len(text) < 45 for text in said[:3])
    assert len(ax.get_xlabel()) < 80
    ax.figure.canvas.draw()


# ---- bad input ----------------------------------------------------------------------------------------------


def test_what_cannot_be_drawn(data, model):
    X, y = data
    with pytest.raises(OptionError, match="features='weight' is not one of the 3 columns; did you mean 'height'"):
        draw.decision(model, X, features=["height", "weight"])
    with pytest.raises(OptionError, match="features names the column 1 twice"):
        draw.decision(model, X, features=[1, 1])
    with pytest.raises(DataError, match="X has 1 column"):
        draw.decision(model, X[["age"]])
    with pytest.raises(DataError, match="149 labels"):
        draw.decision(model, X, y[1:])
    with pytest.raises(OptionError, match="label holds the class 'fir', not among the"):
        draw.calibration(model, X, y, label="fir")
    with pytest.raises(OptionError, match="empty dict"):
        draw.calibration({}, X, y)
    with pytest.raises(DataError, match="y holds the class 'fir', not among the 3 known"):
        draw.confusion(model, X, np.where(y == "ash", "fir", y))
    with pytest.raises(OptionError, match="LinearDiscriminantAnalysis has no explain"):
        draw.explanation(LinearDiscriminantAnalysis().fit(X, y), X)
    with pytest.raises(OptionError, match="row=150 must be at most 149"):
        draw.explanation(LinearDiscriminant().fit(X, y), X, 150)

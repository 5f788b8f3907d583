"""Items of the courses that are figures: each takes three lines of the library or fewer."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris

from eigenlens import (
    PCA,
    FactorAnalysis,
    KernelDensity,
    KernelPCA,
    LinearDiscriminant,
    ProbabilisticPCA,
    datasets,
    plot,
)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def offsets(ax):
    return np.concatenate([np.asarray(drawn.get_offsets()) for drawn in ax.collections])


def test_item_37_components_as_images():
    digits = datasets.load("digits")
    pca = PCA(2).fit(digits.data)
    ax = plot.loadings(pca, image_shape=(8, 8))
    shown = [np.asarray(image.get_array()) for image in ax.images]
    for u, image in zip(np.linalg.svd(digits.data - digits.data.mean(axis=0))[2][:2], shown, strict=True):
        sign = np.sign(u @ image.ravel())
        np.testing.assert_allclose(image.ravel(), sign * u / np.abs(u).max(), atol=1e-10)


def test_item_40_discriminant_scores_on_axes_of_their_own_name():
    X, y = load_iris(return_X_y=True)
    lda = LinearDiscriminant().fit(X, y)
    ax = plot.scores(lda, X, color=y)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("LD1 (99.1%)", "LD2 (0.9%)")
    assert plot.embedding(lda, X, color=y).get_xlabel() == "LD1 (99.1%)"
    np.testing.assert_allclose(np.sort(offsets(ax)[:, 0]), np.sort(lda.transform(X)[:, 0]))


def test_item_92_matrix_of_scatter_plots():
    trees = datasets.load("trees")
    panels = np.reshape(plot.pairs(trees.data, names=trees.columns).child_axes, (3, 3))
    np.testing.assert_array_equal(offsets(panels[2, 0]), trees.data[:, [0, 2]])
    assert panels[2, 0].get_ylabel() == "volume (cu ft)"
    assert sum(bar.get_height() for bar in panels[1, 1].patches) == 31


def test_item_146_several_bandwidths_with_one_key_and_one_rug():
    x = np.random.default_rng(0).standard_normal((100, 1))
    models = {f"h = {h}": KernelDensity(bandwidth=h).fit(x) for h in (0.05, 0.337, 2.0)}
    ax = plot.density(models, x)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(models)
    assert ax.get_title(loc="left") == ""
    assert sum(line.get_linestyle() == "None" for line in ax.lines) == 1
    curve = ax.lines[2]
    by_hand = np.exp(-0.5 * ((curve.get_xdata()[:, None] - x.T) / 2.0) ** 2).mean(axis=1) / (2.0 * np.sqrt(2.0 * np.pi))
    np.testing.assert_allclose(curve.get_ydata(), by_hand, rtol=1e-6)


@pytest.mark.parametrize("item", [170, 177])
def test_item_170_and_177_one_component_as_a_strip(item):
    food = datasets.load("uk-food")
    ax = plot.scores(PCA(1).fit(food.data), food.data, labels=food.rows)
    assert ax.get_xlabel() == "PC1 (67.4%)"
    centred = food.data - food.data.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    x = offsets(ax)[:, 0]
    np.testing.assert_allclose(np.abs(x), np.abs(u[:, 0] * s[0]), atol=1e-9)
    assert food.rows[np.argmax(np.abs(x))] == "N Ireland"
    assert {text.get_text() for text in ax.texts} >= set(food.rows)
    assert np.ptp(offsets(ax)[:, 1]) == 0.0


@pytest.mark.parametrize(
    ("model", "name"), [(PCA(3), "PC"), (KernelPCA(3), "PC"), (ProbabilisticPCA(3), "PC"), (FactorAnalysis(3), "F")]
)
def test_item_177_scores_of_every_model(model, name):
    X = datasets.load("questionnaire", n=80).data
    ax = plot.scores(model.fit(X), X, (3, 1))
    assert ax.get_xlabel().startswith(f"{name}3 (")
    np.testing.assert_allclose(offsets(ax), model.transform(X)[:, [2, 0]])
    assert plot.scores(model, X, 2).get_xlabel().startswith(f"{name}2 (")


def test_item_40_contours_of_a_discriminant_have_its_name():
    X, y = load_iris(return_X_y=True)
    ax = plot.component_contours(LinearDiscriminant().fit(X[:, :2], y), X[:, :2], resolution=20)
    assert any("score on LD1" in other.get_ylabel() for other in ax.figure.axes)

"""Plots of awkward tables: long names, very many classes, backgrounds of any colour."""

from __future__ import annotations

import numpy as np
import pytest

from eigenlens import PCA, FactorAnalysis, KernelDensity, KernelPCA, NaiveBayes, plot
from eigenlens.plot._style import PALETTE, category_color, is_dark, text_color_on
from eigenlens.tables.names import shorten_names

plt = pytest.importorskip("matplotlib.pyplot")
Text = pytest.importorskip("matplotlib.text").Text

LONG = [f"how often in the last {i} weeks did you feel calm, rested and at ease with the world" for i in range(12)]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.standard_normal((80, 2)) @ rng.standard_normal((2, 12)) + rng.standard_normal((80, 12))


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture
def dark():
    with plt.style.context("dark_background"):
        yield


def drawings(X):
    """One plot of each kind that has names or filled areas."""
    y = np.where(X[:, 0] > 0.0, "above", "below")
    pca, factors, bayes = PCA(4).fit(X), FactorAnalysis(2).fit(X), NaiveBayes().fit(X, y)
    two = X[:, :2]
    yield plot.scree(pca)
    yield plot.biplot(pca, X, names=LONG)
    yield plot.correlation_circle(pca, names=LONG)
    yield plot.loadings(pca, names=LONG)
    yield plot.contributions(pca, names=LONG)
    yield plot.noise(factors, names=LONG)
    yield plot.reconstruction(pca, X)
    yield plot.decision(bayes, X, y)
    yield plot.confusion(bayes, X, y)
    yield plot.explanation(bayes, X)
    yield plot.density_contours(KernelDensity().fit(two), resolution=40)
    yield plot.component_contours(KernelPCA(2, gamma="median").fit(two), two)


def seen(text):
    return text.get_visible() and text.get_text().strip()


@pytest.mark.long
def test_text_can_be_read_on_a_dark_page(rows, dark):
    for ax in drawings(rows):
        ax.figure.draw_without_rendering()
        own = {*ax.texts}  # those may stand on colours of their own
        for text in ax.figure.findobj(Text):
            if seen(text) and text not in own and text.get_color() not in (PALETTE[0], PALETTE[1]):
                assert not is_dark(text.get_color()), text


@pytest.mark.long
def test_text_is_dark_on_a_white_page(rows):
    for ax in drawings(rows):
        words = [text for text in ax.get_xticklabels() + ax.get_yticklabels() + [ax.xaxis.label] if seen(text)]
        assert words
        assert all(is_dark(text.get_color()) for text in words)


def test_areas_let_the_page_through(rows):
    bayes = NaiveBayes().fit(rows, rows[:, 0] > 0.0)
    image = np.asarray(plot.decision(bayes, rows).images[0].get_array())
    assert image.shape[2] == 4
    assert image[:, :, 3].max() < 0.5
    regions = plot.density_contours(KernelDensity().fit(rows[:, :2]), resolution=40).collections[0]
    assert np.all(regions.get_facecolor()[:, 3] < 0.5)


@pytest.mark.parametrize(
    "draw",
    [
        lambda X: plot.loadings(PCA(2).fit(X), names=LONG).get_yticklabels(),
        lambda X: plot.contributions(PCA(2).fit(X), names=LONG).get_yticklabels(),
        lambda X: plot.noise(FactorAnalysis(2).fit(X), names=LONG).get_yticklabels(),
        lambda X: plot.reconstruction(PCA(2).fit(X), X, names=LONG).get_xticklabels(),
        lambda X: plot.correlation_circle(PCA(2).fit(X), names=LONG).texts,
    ],
)
def test_long_names_leave_room_and_are_distinguished(rows, draw):
    names = [text.get_text() for text in draw(rows) if text.get_text()]
    assert max(map(len, names)) <= 32
    assert len(set(names)) == len(names) > 3


def test_names_are_cut_where_they_are_alike():
    assert shorten_names(LONG[:2], 20) == ["…ften in the last 0…", "…ften in the last 1…"]
    assert shorten_names(["short", *LONG[:2]], 30)[0] == "short"
    assert shorten_names([], 10) == []
    assert shorten_names(["the same long name", "the same long name"], 10) == ["the s…name", "the s…name"]


@pytest.mark.parametrize("groups", [3, 20, 60])
def test_a_key_of_many_categories_stands_beside_the_points(groups):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4 * groups, 3))
    ax = plot.scores(
        PCA(2).fit(X), X, color=[f"a strain with a rather long name {i % groups:02}" for i in range(len(X))]
    )
    ax.figure.draw_without_rendering()
    key = ax.get_legend()
    names = [text.get_text() for text in key.get_texts()]
    assert len(set(names)) == len(names) == min(groups, 20)
    assert (names[-1] == "and 41 others") == (groups == 60)
    beside = key.get_window_extent().x0 >= ax.get_window_extent().x1
    assert beside == (groups > 12)
    assert key.get_window_extent().x1 <= ax.figure.bbox.x1
    assert key.get_window_extent().y0 >= ax.figure.bbox.y0


def test_the_seventh_category_is_not_black_on_black(dark):
    assert len({category_color(i) for i in range(8)}) == 8
    assert not is_dark(category_color(6))


def test_text_on_colours():
    assert is_dark(text_color_on("white"))
    assert not is_dark(text_color_on("#0072B2"))

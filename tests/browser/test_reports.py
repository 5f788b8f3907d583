"""Reports as `eigenlens.report` writes them, in a real browser: every page, in both schemes, wide and narrow."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest

import eigenlens
from browser.made import EVIL, IMAGE
from browser.visitor import CONTRAST
from eigenlens import datasets

pytestmark = pytest.mark.browser

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def foods(chromium, tmp_path_factory):
    """The report of what four countries eat, its model and its rows."""
    example = datasets.load("uk-food")
    X = pd.DataFrame(example.data, columns=list(example.columns))
    pca = eigenlens.PCA(3).fit(X)
    path = eigenlens.report(pca, X, tmp_path_factory.mktemp("foods") / "r.html", ids=example.rows, title="Foods")
    return path, pca, X, example.rows


@pytest.fixture(scope="module")
def several(chromium, tmp_path_factory):
    """A report of several models, of incomplete rows, and with names that look like markup."""
    X = pd.DataFrame(RNG.standard_normal((80, 3)) @ RNG.standard_normal((3, 3)), columns=["a", EVIL, IMAGE])
    density = eigenlens.KernelDensity().fit(X)
    found = eigenlens.compare({"kde": eigenlens.KernelDensity(), EVIL: eigenlens.ProbabilisticPCA(1)}, X)
    models = {"PCA": eigenlens.PCA(2).fit(X), IMAGE: eigenlens.KernelPCA(2, gamma=0.1).fit(X), "KDE": density}
    extra = {"label": np.where(X["a"] > 0, EVIL, "other")}
    folder = tmp_path_factory.mktemp("several")
    return eigenlens.report({**models, "which": found}, X, folder / "r.html", title=EVIL, columns=extra)


def pages(seen):
    """Every page in turn, drawn."""
    for tab in seen.page.get_by_role("tab").all():
        tab.click()
        seen.settle()
        yield tab.inner_text()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 800), ("dark", 400)])
def test_every_page_of_several_models_is_readable(several, visit, scheme, width):
    seen = visit(several, scheme=scheme, width=width)
    titles = []
    for title in pages(seen):
        titles.append(title)
        found = seen.page.evaluate(CONTRAST)
        assert [each for each in found if each[0] < 4.5] == []
        assert [each for each in found if each[2] < 11.0] == []
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        assert all(box["width"] > 100 for box in (s.bounding_box() for s in seen.page.locator(".stage:visible").all()))
    assert titles == ["All models", "PCA", IMAGE, "KDE", "which", "Data and code"]
    assert seen.page.title() == EVIL


def test_the_scores_of_a_real_model_are_what_is_seen_and_saved(foods, visit):
    path, pca, X, names = foods
    seen = visit(path)
    seen.page.get_by_role("tab", name="PCA").click()
    seen.settle()
    card = seen.page.locator("article", has=seen.page.locator(".stage")).first
    assert set(names) <= set(card.locator("text.name").all_text_contents())
    text = seen.download(card.get_by_role("button", name="Save the numbers")).read_text(encoding="utf-8")
    head, *rows = csv.reader(io.StringIO(text))
    assert head[0] == "row"
    assert [row[0] for row in rows] == list(names)
    np.testing.assert_allclose(np.array([row[1:3] for row in rows], dtype=float), pca.transform(X)[:, :2], rtol=1e-5)


def test_a_row_found_by_its_name_is_ringed_in_every_scatter(foods, visit):
    seen = visit(foods[0])
    seen.page.get_by_role("tab", name="PCA").click()
    seen.page.get_by_label("Find").fill("wales")
    seen.settle()
    stages = seen.page.locator(".stage:visible")
    assert stages.count() == 2  # scores and biplot: outliers are left out, as T² is the same for four rows
    assert seen.page.locator(".stage:visible circle.ring").count() == 2


PRINTED = """addEventListener("beforeprint", () => {
  const empty = (panel) => [...panel.querySelectorAll(".plot, .stage")].filter((n) => !n.querySelector("svg *")).length;
  window.printed = [...document.querySelectorAll("[role=tabpanel]")].map((panel) => [panel.hidden, empty(panel)]);
  document.documentElement.dataset.printed = "yes";
})"""


def test_printing_shows_every_page_drawn_and_then_the_one_before(several, visit):
    seen = visit(several)
    seen.page.evaluate(PRINTED)
    seen.page.get_by_role("button", name="Print").click()
    seen.page.wait_for_selector("html[data-printed]")
    assert seen.page.evaluate("window.printed") == [[False, 0]] * 6
    alone = "[...document.querySelectorAll('[role=tabpanel]')].filter((panel) => !panel.hidden).length === 1"
    seen.until(alone)
    assert [panel.is_visible() for panel in seen.page.locator("[role=tabpanel]").all()] == [True] + [False] * 5


def test_the_browsers_own_print_has_every_page_too(several, visit):
    """Nothing of the page is pressed: this is what Ctrl and P do."""
    seen = visit(several)
    seen.page.evaluate(PRINTED)
    assert seen.page.pdf().startswith(b"%PDF")
    assert seen.page.evaluate("window.printed") == [[False, 0]] * 6
    assert [panel.is_visible() for panel in seen.page.locator("[role=tabpanel]").all()] == [True] + [False] * 5


def test_plots_have_the_width_of_their_cards_again_after_a_print(several, visit):
    seen = visit(several, page="page-1-pca")
    widths = (
        "[...document.querySelectorAll('.stage > canvas')].map((n) => [n.clientWidth, n.parentElement.clientWidth])"
    )
    before = seen.page.evaluate(widths)
    seen.page.pdf()
    seen.settle()
    shown = [pair for pair in seen.page.evaluate(widths) if pair[1]]
    assert len(shown) > 1
    assert shown == [pair for pair in before if pair[1]]
    assert all(drawn == room for drawn, room in shown)
    assert seen.page.evaluate("document.documentElement.scrollWidth") == 1400


def test_paper_is_white_and_says_what_the_colours_mean(several, visit):
    seen = visit(several, scheme="dark")
    seen.page.get_by_role("tab", name="PCA").click()
    seen.page.emulate_media(media="print", color_scheme="dark")
    seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    light = "getComputedStyle(document.documentElement).getPropertyValue('--card').trim()"
    assert seen.page.evaluate(light) == "rgb(255 255 255)"
    assert seen.page.locator(".bar .legend .entry").first.is_visible()
    assert not seen.page.get_by_label("Find").is_visible()
    assert [each for each in seen.page.evaluate(CONTRAST) if each[0] < 4.5] == []


# ---- names ----------------------------------------------------------------------------------------------------

OUTSIDE = """() => [...document.querySelectorAll("article")].flatMap((card) => {
  if (!card.checkVisibility()) return [];
  const box = card.getBoundingClientRect();
  return [...card.querySelectorAll("svg text")].filter((text) => text.checkVisibility() && text.textContent.trim())
    .map((text) => [text, text.getBoundingClientRect()])
    .filter(([, { left, right, width }]) => width && (left < box.left || right > box.right))
    .map(([text]) => [card.querySelector("h3").textContent, text.textContent]);
})"""
"""Texts of charts that reach out of their cards, to the left or to the right."""

LYING = """(card) => {
  const boxes = [...card.querySelectorAll("[aria-label=text] text")].filter((text) => text.checkVisibility())
    .map((text) => text.getBoundingClientRect());
  return boxes.filter((a, i) => boxes.some((b, j) => j > i && a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - 4 && b.top < a.bottom - 4)).length;
}"""
"""How many texts on the cells of a chart lie on others."""


@pytest.fixture(scope="module")
def wordy(chromium, tmp_path_factory):
    """Columns and 40 classes whose names are as long as sentences."""
    names = [f"the answer to question {j} of the survey that everybody was asked in spring" for j in range(8)]
    which = np.arange(400) % 40
    X = pd.DataFrame(RNG.standard_normal((400, 8)) + RNG.standard_normal((40, 8))[which] * 3.0, columns=names)
    y = np.array([f"people of the {k}th town along the long river" for k in range(40)])[which]
    models = {
        "PCA": eigenlens.PCA(3).fit(X),
        "mixture": eigenlens.GaussianMixture(2, n_init=1, random_state=0).fit(X),
        "linear": eigenlens.LinearDiscriminant().fit(X, y),
    }
    return eigenlens.report(models, X, tmp_path_factory.mktemp("wordy") / "r.html", y)


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_long_names_stay_on_their_cards(wordy, visit, width):
    seen = visit(wordy, width=width)
    for title in pages(seen):
        assert seen.page.evaluate(OUTSIDE) == []
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        if title == "mixture":
            assert seen.card("Covariances").evaluate(LYING) == 0


def test_of_many_classes_some_have_regions_of_their_own_and_the_others_are_grey(wordy, visit):
    seen = visit(wordy)
    seen.page.get_by_role("tab", name="linear").click()
    seen.settle()
    entries = seen.card("Decision regions").locator(".legend .entry").all_inner_texts()
    assert len(entries) == 11
    assert entries[-1] == "30 others"
    bar = seen.page.locator(".bar .legend .entry").all_inner_texts()
    assert sorted(bar) == sorted(entries)
    seen.page.get_by_label("Colour by").select_option("one colour")
    seen.settle()
    again = seen.card("Decision regions").locator(".legend .entry").all_inner_texts()
    assert len(again) == 11
    assert again[-1] == "30 others"

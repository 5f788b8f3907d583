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
    """A report of several models, of rows with gaps and names that try to be markup."""
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
    assert titles == ["Overview", "PCA", IMAGE, "KDE", "which"]
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
    assert stages.count() >= 3
    assert seen.page.locator(".stage:visible circle.ring").count() == stages.count()


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
    assert seen.page.evaluate("window.printed") == [[False, 0]] * 5
    seen.settle()
    assert [panel.is_visible() for panel in seen.page.locator("[role=tabpanel]").all()] == [True] + [False] * 4

"""How often, and when, the explorer draws the charts of an answer."""

from __future__ import annotations

import pytest

from browser.explorer_visit import answered

pytestmark = pytest.mark.browser

COUNT = """() => {
  window.drawn = new Map();
  const count = (node) => window.drawn.set(node, 1 + (window.drawn.get(node) ?? 0));
  const plain = CanvasRenderingContext2D.prototype.clearRect;
  CanvasRenderingContext2D.prototype.clearRect = function (...box) {
    if (this.canvas.closest(".stage")) count(this.canvas.closest(".stage"));
    return plain.apply(this, box);
  };
  new MutationObserver((changes) => {
    for (const { target, addedNodes } of changes) if (target.matches(".plot") && addedNodes.length) count(target);
  }).observe(document.body, { childList: true, subtree: true });
}"""
"""Counts how often the points of each chart, and each chart of other marks, are drawn."""

DRAWN = """() => [...document.querySelectorAll(".answers :is(.stage, .plot:has(svg))")].map((node) =>
  [node.closest("article").querySelector("h3").textContent, window.drawn.get(node) ?? 1])"""

READY = """() => new Promise((done) => {
  new MutationObserver(() => {
    const shown = [...document.querySelectorAll(".answers :is(.stage, .plot)")];
    const title = (node) => node.closest("article").querySelector("h3").textContent;
    done(shown.map((node) => [title(node), node.querySelector("svg text") !== null]));
  }).observe(document.documentElement, { attributeFilter: ["data-answered"] });
  const field = document.querySelector("#scaling");
  field.selectedIndex = 1;
  field.dispatchEvent(new Event("change", { bubbles: true }));
})"""
"""Changes the scaling; once that is answered, and before the next frame: which charts are there, and whether drawn."""


def test_a_chart_is_drawn_once_for_each_answer(explore, wine):
    seen = explore(wine)
    seen.page.evaluate(COUNT)
    seen.page.locator("#scaling").select_option("in their own units")
    answered(seen, 2)
    counts = dict(seen.page.evaluate(DRAWN))
    assert {"Scores", "Biplot", "Scree", "Loadings"} <= counts.keys()
    assert set(counts.values()) == {1}, counts


def test_the_charts_in_view_are_drawn_before_the_frame_that_shows_them(explore, wine):
    seen = explore(wine)
    found = dict(seen.page.evaluate(READY))
    assert {"Scores", "Scree"} <= found.keys()
    assert all(found.values()), found
    answered(seen, 2)

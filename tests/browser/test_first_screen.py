"""What is seen first: every page opens on a plot, under its warnings, in both schemes, wide and narrow."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import eigenlens
from browser.visitor import CONTRAST

pytestmark = pytest.mark.browser

RNG = np.random.default_rng(0)
KIND = np.array(["red", "green", "blue"])[np.arange(90) % 3]
X = pd.DataFrame(RNG.standard_normal((90, 5)) @ RNG.standard_normal((5, 5)), columns=list("abcde"))
X["a"] += 3.0 * (KIND == "red")
MIXED = X.assign(f=np.where(X["b"] > 0, "up", "down"))

DENSITIES = {"ppca": eigenlens.ProbabilisticPCA(1), "kde": eigenlens.KernelDensity()}

MADE = {
    "pca": lambda: (eigenlens.PCA(3).fit(X), MIXED, None),
    "sparse": lambda: (eigenlens.SparsePCA(2, n_nonzero=2).fit(X), X, None),
    "kernel": lambda: (eigenlens.KernelPCA(3).fit(X), X, None),
    "latent": lambda: (eigenlens.ProbabilisticPCA(2).fit(X), X, None),
    "factors": lambda: (eigenlens.FactorAnalysis(1).fit(X), X, None),
    "mixture": lambda: (eigenlens.GaussianMixture(2, n_init=1, random_state=0).fit(X), X, None),
    "classes": lambda: (eigenlens.MixtureModel(2, n_init=1, random_state=0).fit(MIXED), MIXED, None),
    "density": lambda: (eigenlens.KernelDensity(bandwidth=0.5).fit(X), X, None),
    "naive": lambda: (eigenlens.NaiveBayes().fit(MIXED, KIND), MIXED, KIND),
    "linear": lambda: (eigenlens.LinearDiscriminant().fit(X, KIND), X, KIND),
    "quadratic": lambda: (eigenlens.QuadraticDiscriminant().fit(X, KIND), X, KIND),
    "bayes": lambda: (eigenlens.BayesClassifier(eigenlens.KernelDensity(bandwidth=1.0)).fit(X, KIND), X, KIND),
    "comparison": lambda: (eigenlens.compare(DENSITIES, X), X, None),
    "choice": lambda: (eigenlens.select_mixture(X, [1, 2], n_init=1, random_state=0), X, None),
}  # fmt: skip

FIRST = """() => [...document.querySelectorAll("article")].filter((card) => card.checkVisibility())
  .map((card) => [card.querySelector("h3").textContent, card.getBoundingClientRect().top,
    card.querySelectorAll("canvas, svg").length])"""
"""Of each card that is seen: its title, where it begins, and how many drawings it has."""


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize(("scheme", "width", "lowest"), [("light", 1400, 400), ("dark", 390, 620)])
def test_a_report_opens_on_a_plot(name, scheme, width, lowest, visit, tmp_path):
    model, rows, y = MADE[name]()
    given = {} if y is not None else {"columns": {"kind": KIND}}
    path = eigenlens.report(model, rows, tmp_path / "r.html", y, **given)
    seen = visit(path, scheme=scheme, width=width)
    seen.settle()
    cards = [card for card in seen.page.evaluate(FIRST) if card[0] != "Warnings"]
    title, top, drawn = cards[0]
    assert drawn, title
    assert top < lowest
    found = seen.page.evaluate(CONTRAST)
    assert [each for each in found if each[0] < 4.5] == []
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_warnings_are_above_the_plots(visit, tmp_path):
    rows = X.assign(e=1_000.0 * X["e"])
    seen = visit(eigenlens.report(eigenlens.PCA(2).fit(rows), rows, tmp_path / "r.html"))
    seen.settle()
    (title, top, _), (second, below, _), *_ = seen.page.evaluate(FIRST)
    assert (title, second) == ("Warnings", "Scores")
    assert top < below < 600
    assert "Column 'e' has 100% of the variance" in seen.page.locator("p.warning").first.inner_text()


def test_the_first_plot_is_seen_at_once_below_four_warnings(visit, tmp_path):
    rows = X.assign(points=1_000.0 * X.sum(axis=1), rank=np.arange(90.0), year=2_000.0 + np.arange(90) % 9)
    path = tmp_path / "r.html"
    warnings = [f"Column {name!r} is too long to be said in one line " + "and goes on " * 10 for name in "abc"]
    model = eigenlens.PCA(3).fit(rows)
    seen = visit(eigenlens.report(model, rows, path, columns={"kind": KIND}, warnings={"PCA": warnings}))
    seen.settle()
    assert seen.page.locator("p.warning").count() == 4
    assert seen.stage("Scores").bounding_box()["y"] < 690
    assert seen.page.get_by_role("heading", level=2).all_inner_texts() == ["PCA"]
    assert seen.page.get_by_role("heading", level=2).bounding_box()["height"] <= 1.0


def test_warnings_are_one_line_where_it_is_narrow(visit, tmp_path):
    rows = X.assign(e=1_000.0 * X["e"])
    seen = visit(eigenlens.report(eigenlens.PCA(2).fit(rows), rows, tmp_path / "r.html"), width=390)
    seen.settle()
    line, text = seen.page.locator("summary"), seen.page.locator("p.warning").first
    assert line.bounding_box()["height"] < 40
    assert line.inner_text().startswith("1 warning: column 'e' has 100% of the variance")
    assert seen.stage("Scores").bounding_box()["y"] < 600
    assert not text.is_visible()
    line.click()
    assert "weigh them alike" in text.inner_text()

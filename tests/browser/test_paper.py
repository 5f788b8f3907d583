"""Reports on paper: sheets are filled, plots have their size, and the screen is as before afterwards."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import eigenlens
from browser.made import report, written

pytestmark = pytest.mark.browser

SHEET = (279.4 - 24.0) * 96.0 / 25.4 / 0.86
"""Pixels of a sheet of Letter between its margins, at the zoom of printed pages; one of A4 is as wide, and higher."""

LAID = """() => {
  dispatchEvent(new Event("beforeprint"));
  const top = document.body.getBoundingClientRect().top;
  return [...document.querySelectorAll("h2, .slot")].map((node) => {
    const box = node.getBoundingClientRect();
    const card = node.matches(".slot") && node.firstElementChild;
    const title = (card && card.querySelector("h3") || node).textContent;
    const parts = !!card && getComputedStyle(card).breakInside === "auto";
    return [title, box.top - top, box.bottom - top, node.matches(".new-sheet"), parts];
  });
}"""
"""Lays a report out for print. Of each heading and card: title, top, bottom, whether it begins a sheet, may break."""


def table(rows, columns, seed, scale):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((rows, 3)) @ rng.standard_normal((3, columns)) + rng.standard_normal((rows, columns))
    return pd.DataFrame(values * scale, columns=[f"measure {j}" for j in range(columns)])


def pca_with_names(path):
    X = table(41, 12, 0, np.r_[1_000.0, np.ones(11)])
    ids = [f"ATHLETE {i}" for i in range(41)]
    kind = np.where(np.arange(41) % 2, "here", "there")
    return eigenlens.report(eigenlens.PCA().fit(X), X, path, ids=ids, columns={"meeting": kind})


def matrix_of_many(path):
    return eigenlens.report(eigenlens.PCA().fit_covariance(table(200, 24, 1, 1.0).corr(), n_samples=200), None, path)


def mixture_and_choice(path):
    X = table(90, 2, 2, 1.0)
    choice = eigenlens.select_mixture(X, [1, 2, 3], n_init=1, random_state=0)
    mixture = eigenlens.GaussianMixture(2, n_init=1, random_state=0).fit(X)
    return eigenlens.report({"Mixture": mixture, "Choice": choice}, X, path)


def factors(path):
    X = table(120, 9, 3, 1.0)
    return eigenlens.report(eigenlens.FactorAnalysis(2).fit(X), X, path)


def factors_of_matrix(path):
    model = eigenlens.FactorAnalysis(4).fit_covariance(table(200, 24, 1, 1.0).corr(), n_samples=200)
    return eigenlens.report(model, None, path)


MADE = {
    each.__name__: each for each in (pca_with_names, matrix_of_many, mixture_and_choice, factors, factors_of_matrix)
}


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("name", MADE)
def test_no_sheet_but_the_last_is_left_half_blank(name, width, visit, tmp_path):
    seen = visit(MADE[name](tmp_path / "r.html"), width=width)
    blocks = seen.page.evaluate(LAID)
    starts = [k for k, block in enumerate(blocks) if block[3]]
    assert starts
    for first, last in zip([0, *starts], starts, strict=False):
        top = blocks[first][1] if first else 0.0
        high = blocks[last - 1][2] - top
        breaks = any(block[4] for block in blocks[first:last])
        assert breaks or high <= SHEET, blocks[first:last]
        assert (high % SHEET if breaks else high) > 0.72 * SHEET, blocks[first:last]


@pytest.mark.parametrize("name", MADE)
def test_sheets_of_a4_and_letter_hold_the_same(name, visit, tmp_path):
    path = MADE[name](tmp_path / "r.html")
    counts = {len(re.findall(rb"/Type\s*/Page\b", visit(path).page.pdf(format=size))) for size in ("A4", "Letter")}
    seen = visit(path)
    blocks = seen.page.evaluate(LAID)
    # A card that may break adds the sheets that it goes on to, and on the higher sheets of A4 it may go on to fewer.
    more = sum(int((block[2] - block[1]) // SHEET) + 1 for block in blocks if block[4])
    planned = 1 + sum(block[3] for block in blocks)
    assert planned <= min(counts) <= max(counts) <= planned + more
    assert max(counts) - min(counts) <= sum(block[4] for block in blocks)


def test_a_plot_fills_its_card_on_paper_and_has_its_size_again_afterwards(visit, tmp_path):
    seen = visit(pca_with_names(tmp_path / "r.html"))
    sizes = "[...document.querySelectorAll('.stage, .plot svg')].map((n) => [n.clientWidth, n.clientHeight])"
    before = seen.page.evaluate(sizes)
    seen.page.evaluate(LAID)
    stage = seen.stage("Outliers").evaluate("(n) => [n.clientWidth, n.closest('.card').clientWidth]")
    assert stage[0] > 0.9 * stage[1] - 40.0
    assert seen.page.evaluate(sizes) != before
    seen.page.evaluate("dispatchEvent(new Event('afterprint'))")
    seen.settle()
    assert seen.page.evaluate(sizes) == before
    assert seen.page.locator(".new-sheet").count() == 0


@pytest.mark.parametrize("scale", [1.0, 0.0])
def test_the_circle_has_all_names_on_paper_and_no_correlation_above_one(scale, visit, tmp_path):
    X = table(60, 16, 4, 1.0) + scale * np.random.default_rng(4).standard_normal((60, 1)) * 4.0
    X.columns = [f"measured quantity {j}" for j in range(16)]
    seen = visit(eigenlens.report(eigenlens.PCA(standardize=True).fit(X), X, tmp_path / "r.html"))
    seen.page.evaluate(LAID)
    card = seen.card("Correlation circle")
    names = card.locator("[aria-label=text] text").evaluate_all("(all) => all.map((n) => n.style.display)")
    assert names == [""] * 16
    for side in ("x", "y"):
        ticks = card.locator(f"[aria-label='{side}-axis tick label'] text").all_text_contents()
        values = [float(tick.replace("−", "-")) for tick in ticks]
        assert len(values) > 2
        assert (min(values), max(values)) == (-1.0, 1.0)


def test_cells_are_as_high_as_their_numbers_on_paper(visit, tmp_path):
    seen = visit(factors_of_matrix(tmp_path / "r.html"))
    seen.page.evaluate(LAID)
    high = "(all) => all.map((n) => n.getBoundingClientRect().height)"
    cells = seen.card("Loadings").locator("[aria-label=cell] rect").evaluate_all(high)
    numbers = seen.card("Loadings").locator("[aria-label=text] text").evaluate_all(high)
    assert len(cells) == 96
    assert min(cells) >= max(numbers)


def test_a_table_has_as_many_columns_on_paper_as_have_room(visit, tmp_path):
    X = table(150, 9, 5, 1.0)
    seen = visit(eigenlens.report(eigenlens.FactorAnalysis(4).fit(X), X, tmp_path / "r.html"))
    seen.page.evaluate(LAID)
    grid = seen.card("Loadings with standard errors").locator(".grid")
    heads = grid.locator("th").evaluate_all("(all) => all.filter((n) => n.checkVisibility()).map((n) => n.textContent)")
    assert heads[0] == "column"
    assert heads[-1] == "error of uniqueness"
    assert grid.evaluate("(n) => n.scrollWidth - n.clientWidth") <= 0
    assert not grid.locator(".on-paper").count()


def test_tables_are_never_wider_than_paper(visit, tmp_path):
    found = report()
    found["pages"] = [{"id": "all", "title": "All", "charts": []}]
    for k in range(2, 30, 3):
        names = [f"{'Column'[: k % 7]}{'x' * (k * j % 11)} of {j}" for j in range(14)]
        values = (np.random.default_rng(k).standard_normal(20) * 10.0 ** (k % 5)).tolist()
        columns = [{"name": "m" * k, "kind": "text", "values": ["m" * k] * 20}]
        columns += [{"name": name, "kind": "number", "values": values} for name in names]
        found["pages"][0]["charts"].append({"kind": "table", "title": f"Table {k}", "columns": columns})
    seen = visit(written(tmp_path, found))
    seen.page.evaluate(LAID)
    over = seen.page.locator(".grid").evaluate_all(
        "(all) => all.map((n) => [n.scrollWidth - n.clientWidth,"
        " [...n.querySelectorAll('th')].filter((each) => each.checkVisibility()).length])"
    )
    assert len(over) == 10
    assert [wide for wide, heads in over if heads > 8 and wide > 0] == []
    assert len({heads for _, heads in over}) > 2


def test_a_wide_table_is_cut_on_paper_and_says_so(visit, tmp_path):
    X = table(60, 12, 6, 1.0)
    covariates = {f"a covariate with a long name {j}": np.arange(60.0) for j in range(3)}
    model = eigenlens.GaussianMixture(9, covariance_type="diag", n_init=1, random_state=0).fit(X)
    seen = visit(eigenlens.report(model, X, tmp_path / "r.html", columns=covariates))
    seen.page.evaluate(LAID)
    grid = seen.card("Components: weights, means and standard deviations").locator(".grid")
    heads = grid.locator("th").evaluate_all("(all) => all.filter((n) => n.checkVisibility()).length")
    assert 8 <= heads < 19
    assert grid.evaluate("(n) => n.scrollWidth - n.clientWidth") <= 0
    assert grid.locator(".on-paper").inner_text() == f"On paper the first {heads} of 19 columns; the CSV has all."


def test_counts_along_an_axis_have_no_ticks_between_them(visit, tmp_path):
    seen = visit(mixture_and_choice(tmp_path / "r.html"), page="page-2-choice")
    seen.page.evaluate(LAID)
    names = seen.card("BIC by the number of components").first.locator("[aria-label='x-axis tick label'] text")
    counts = [int(name) for name in names.all_text_contents()]
    assert counts == list(range(1, len(counts) + 1))
    assert len(counts) > 2

"""Densities, mixtures, kernel PCA and classifiers in the explorer: sliders, rules, criteria, regions and reasons."""

from __future__ import annotations

import re

import numpy as np
import pytest

import eigenlens
from browser.explorer_visit import FRAME, NAMES, answered, expect

pytestmark = pytest.mark.browser


def choose(seen, title, count):
    """Choose a model, and wait for its charts, the answers having this number by then."""
    seen.page.locator("#model").select_option(title)
    answered(seen, count)


def at_rest(seen):
    """Wait until the last of several questions is answered and drawn."""
    now = "document.documentElement.dataset"
    seen.until(f"!{now}.asking && {now}.drawn === {now}.answered")


def test_the_bandwidth_slider_changes_the_density_and_its_marks_are_rules(explore, wine):
    seen = explore(wine)
    choose(seen, "Kernel density", 2)
    facts = seen.card("The model").locator("dd")
    X = FRAME[NAMES[:2]].to_numpy()
    expect(facts.nth(2)).to_contain_text("sheather-jones")
    slider = seen.page.get_by_label("Bandwidth as a number")
    before = seen.page.locator("#option-bandwidth ~ output").inner_text()
    slider.focus()
    for _ in range(5):
        slider.press("ArrowRight")
    expect(seen.page.locator("#option-bandwidth ~ output")).not_to_have_text(before)
    at_rest(seen)
    h = float(seen.page.locator("#option-bandwidth ~ output").inner_text()) * X.std(axis=0)
    expect(facts.nth(2)).to_have_text(", ".join(f"{value:.5g}" for value in h))
    count = int(seen.page.evaluate("document.documentElement.dataset.answered"))
    seen.page.get_by_role("button", name=re.compile("^silverman: ")).click()
    answered(seen, count + 1)
    expect(seen.page.locator("#option-bandwidth")).to_have_value("silverman")
    expect(facts.nth(2)).to_contain_text("silverman")
    seen.page.locator("#up").select_option("proline")
    answered(seen, count + 2)
    assert "proline" in seen.stage("Density").get_attribute("aria-label")


def test_one_column_has_a_curve(explore):
    seen = explore(FRAME[["hue", "cultivar"]])
    choose(seen, "Kernel density", 2)
    expect(seen.page.locator("#across")).to_be_hidden()
    expect(seen.card("Density").locator("[aria-label=line] path").first).to_be_visible()


def test_a_mixture_shows_its_criteria_when_asked_to_and_follows_components_and_structure(explore, wine):
    seen = explore(wine)
    choose(seen, "Gaussian mixture", 2)
    expect(seen.stage("Components").locator("polygon.ellipse")).to_have_count(3)
    seen.page.get_by_role("button", name="Run", exact=True).click()
    answered(seen, 3)
    expect(seen.card("BIC by the number of components")).to_be_visible()
    seen.page.locator("#k").fill("2")
    seen.page.locator("#k").press("Enter")
    answered(seen, 4)
    expect(seen.stage("Components").locator("polygon.ellipse")).to_have_count(2)
    expect(seen.card("BIC by the number of components")).to_be_visible()
    seen.page.locator("#option-covariance").select_option("diag")
    answered(seen, 5)
    direct = eigenlens.GaussianMixture(2, covariance_type="diag", standardize=True, random_state=0).fit(FRAME[NAMES])
    expect(seen.card("The model")).to_contain_text(f"{direct.bic():.6g}")


def test_the_gamma_slider_of_kernel_pca_ends_at_the_exact_embedding(explore, wine):
    seen = explore(wine)
    choose(seen, "Kernel PCA", 2)
    slider = seen.page.get_by_label("Gamma as a number")
    slider.focus()
    slider.press("ArrowLeft")
    slider.press("ArrowLeft")
    expect(seen.page.locator("#option-gamma ~ output")).not_to_have_text("0.07692")
    at_rest(seen)
    expect(seen.page.locator(".options .note")).to_contain_text("The embedding is exact")
    gamma = float(seen.page.locator("#option-gamma ~ output").inner_text())
    direct = eigenlens.KernelPCA(3, gamma=gamma, standardize=True, random_state=0).fit(FRAME[NAMES])
    share = f"{direct.explained_variance_ratio_[0]:.1%}"
    expect(seen.stage("Embedding")).to_have_attribute("aria-label", re.compile(re.escape(f"component 1 ({share})")))
    seen.page.get_by_role("button", name="Undo").click()
    at_rest(seen)
    expect(seen.page.locator("#option-gamma")).to_have_value("")


def test_a_row_that_is_clicked_has_the_reasons_for_its_class(explore, wine):
    seen = explore(wine)
    choose(seen, "Linear discriminant", 2)
    seen.page.locator("#across").select_option("proline")
    answered(seen, 3)
    X = FRAME[["proline", "malic acid"]].to_numpy()
    lonely = int(np.argmax(X[:, 0]))
    spot = seen.places("Decision regions", X[lonely : lonely + 1, 0], X[lonely : lonely + 1, 1])[0]
    seen.page.mouse.click(*seen.mouse("Decision regions", spot))
    expect(seen.page.locator(".reasons h3")).to_have_text(f"Why {FRAME['bottle'][lonely]}")
    wanted = eigenlens.LinearDiscriminant(standardize=True).fit(FRAME[NAMES], FRAME["cultivar"]).predict(FRAME[NAMES])
    expect(seen.page.locator(".reasons .about")).to_contain_text(f"is put into {wanted[lonely]}")
    seen.page.get_by_role("button", name="Clear selection").click()
    expect(seen.page.locator(".reasons")).to_be_hidden()

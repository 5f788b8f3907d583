"""The explorer in a real browser: columns are dragged, options change, steps are undone, selections compared."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import eigenlens
from browser.conftest import SKIPPED
from browser.explorer_visit import FRAME, NAMES, answered, axes, expected, place, role
from browser.test_axe import AXE, RUN
from explorer.requests_to import page_data

pytestmark = pytest.mark.browser


def test_a_column_is_dragged_to_another_role_and_the_plot_follows(explore, wine):
    seen = explore(wine)
    assert axes(seen) == expected(NAMES, standardize=True)
    chip = seen.page.locator(".chip", has_text="proline")
    chip.drag_to(place(seen, "ignore"))
    answered(seen, 2)
    rest = [name for name in NAMES if name != "proline"]
    assert axes(seen) == expected(rest, standardize=True)
    assert "proline" in place(seen, "ignore").inner_text()
    seen.page.locator(".chip", has_text="ash").nth(1).drag_to(place(seen, "supplementary"))
    answered(seen, 3)
    assert "alcalinity of ash" in seen.card("Covariates against components").inner_text()
    seen.page.locator(".chip", has_text="cultivar").drag_to(place(seen, "active"))  # text cannot be active
    seen.settle()
    assert "cultivar" in place(seen, "colour").inner_text()


def test_components_scaling_rotation_and_plane_are_live_and_undone(explore, wine):
    seen = explore(wine)
    seen.page.locator("#k").fill("3")
    seen.page.locator("#k").press("Enter")
    answered(seen, 2)
    assert "3" in seen.card("The model").locator("dd").first.inner_text()
    seen.page.locator("#scaling").select_option("in their own units")
    answered(seen, 3)
    assert axes(seen) == expected(NAMES, 3)
    assert "proline" in seen.page.locator(".warnings").inner_text()
    seen.page.locator("#scaling").select_option("standardised")
    answered(seen, 4)
    seen.page.locator("#rotation").select_option("varimax")
    answered(seen, 5)
    assert axes(seen) == expected(NAMES, 3, standardize=True, rotation="varimax")
    seen.page.locator("#up").select_option("3")
    answered(seen, 6)
    assert axes(seen)[1].startswith("RC3")
    undo, redo = (seen.page.get_by_role("button", name=name, exact=True) for name in ("Undo", "Redo"))
    undo.click()
    answered(seen, 7)
    undo.click()
    answered(seen, 8)
    assert axes(seen) == expected(NAMES, 3, standardize=True)
    assert seen.page.locator("#rotation").input_value() == ""
    seen.page.keyboard.press("Control+z")
    answered(seen, 9)
    assert axes(seen) == expected(NAMES, 3)
    redo.click()
    answered(seen, 10)
    seen.page.keyboard.press("Control+Shift+z")
    answered(seen, 11)
    assert axes(seen) == expected(NAMES, 3, standardize=True, rotation="varimax")


def test_the_axis_that_the_other_way_has_changes_places(explore, wine):
    seen = explore(wine)
    seen.page.locator("#across").select_option("2")
    answered(seen, 2)
    assert [label.split()[0] for label in axes(seen)] == ["PC2", "PC1"]


def test_a_slider_that_is_dragged_is_one_step(explore, wine):
    seen = explore(wine)
    slider = seen.page.get_by_label("Components kept")
    slider.focus()
    for _ in range(4):
        slider.press("ArrowRight")
    seen.until("!document.documentElement.dataset.asking")
    seen.until("document.querySelector('#k').value === '9'")
    assert seen.page.locator("#k").get_attribute("max") == "13"


def test_everything_is_done_by_keyboard_alone(explore, wine):
    seen = explore(wine)
    role(seen, "ash").focus()
    seen.page.keyboard.press("I")  # one letter: more of them, typed slowly, would begin other names
    answered(seen, 2)
    assert "ash" in [text.strip() for text in place(seen, "ignore").locator(".name").all_inner_texts()]
    assert seen.page.evaluate("document.activeElement.dataset.column") == "ash"
    seen.page.locator("#filter").fill("phenol")
    move = seen.page.get_by_label("Move all 2 columns shown in Active")
    move.focus()
    seen.page.keyboard.press("S")
    answered(seen, 3)
    assert "nonflavanoid phenols" in place(seen, "supplementary").inner_text()


def test_names_weights_and_colours_follow_their_roles(explore, tmp_path):
    frame = FRAME.assign(times=np.arange(len(FRAME)) % 3 + 0.25)
    frame.to_csv(tmp_path / "wine.csv", index=False)
    seen = explore(tmp_path / "wine.csv")
    role(seen, "times").select_option("Weight")
    answered(seen, 2)
    weight = frame["times"].to_numpy()
    shares = eigenlens.PCA(2, standardize=True).fit(FRAME[NAMES], sample_weight=weight).explained_variance_ratio_
    assert axes(seen)[0] == f"PC1 ({100 * shares[0]:.1f}%)"
    role(seen, "cultivar").select_option("Names")
    answered(seen, 3)
    assert "bottle" in place(seen, "ignore").inner_text()
    seen.page.locator("#search").fill("Barolo")
    assert "59 of 178 rows selected: Barolo" in seen.page.locator(".selected").inner_text()
    assert seen.page.locator("#colour").evaluate("each => each.selectedOptions[0].textContent") == "one colour"
    role(seen, "hue").select_option("Colour")
    answered(seen, 4)
    assert seen.page.locator("#colour").evaluate("each => each.selectedOptions[0].textContent") == "hue"


def test_a_lasso_is_compared_with_the_others_and_with_another_selection(explore, wine):
    seen = explore(wine)
    Z = np.asarray(eigenlens.PCA(2, standardize=True).fit_transform(FRAME[NAMES]))
    spots = seen.places("Scores", Z[:, 0], Z[:, 1])
    x = np.sort(spots[:, 0])
    middle = 60 + int(np.argmax(np.diff(x)[60:120]))  # no point is near the edge of the lasso
    left, right = x[middle : middle + 2].mean(), x[-1] + 6
    inside = spots[:, 0] > left
    low, high = spots[:, 1].min() - 6, spots[:, 1].max() + 6
    seen.lasso("Scores", [(left, low), (right, low), (right, high), (left, high)])
    assert f"{inside.sum()} of 178 rows selected" in seen.page.locator(".selected").inner_text()
    seen.page.get_by_role("button", name="What makes them different?").click()
    seen.page.get_by_role("article", name="Differences", exact=True).wait_for()
    rows = seen.card("Differences").locator("tbody tr")
    cells = [row.split("\t") for row in rows.all_inner_texts()]
    found = {line[0]: float(line[1].replace("−", "-")) for line in cells}
    x, y = (FRAME["flavanoids"][part] for part in (inside, ~inside))
    n, m = len(x), len(y)
    pooled = np.sqrt(((n - 1) * x.var() + (m - 1) * y.var()) / (n + m - 2))
    assert found["flavanoids"] == pytest.approx((1 - 3 / (4 * (n + m) - 9)) * (x.mean() - y.mean()) / pooled, abs=1e-3)
    assert abs(float(cells[0][1])) == max(abs(value) for value in found.values())
    seen.page.get_by_role("button", name="Keep", exact=True).click()
    seen.page.locator(".legend button", has_text="Barbera").first.click()
    name = seen.page.get_by_label("Name of the selection A")
    name.fill("to the right")
    name.press("Enter")
    seen.page.get_by_label("Compare with the rows selected now: to the right").click()
    seen.until("document.querySelector('.comparison').textContent.includes('to the right lies above the selection')")
    seen.page.get_by_role("button", name="Close the comparison").click()
    assert not seen.page.locator(".comparison").is_visible()


def test_what_was_asked_of_a_plot_stays_while_the_model_changes(explore, wine):
    seen = explore(wine)
    answered(seen, 1)
    seen.card("Scores").get_by_role("button", name="95% of rows").click()
    three = "document.querySelectorAll('[aria-label^=\"Scores:\"] .group').length === 3"
    seen.until(three)
    seen.page.locator("#scaling").select_option("in their own units")
    answered(seen, 2)
    assert seen.card("Scores").get_by_role("button", name="95% of rows").get_attribute("aria-pressed") == "true"
    seen.until(three)


def test_what_is_seen_is_saved_as_report_script_and_table(explore, wine, visit):
    seen = explore(wine)
    seen.page.locator("#k").fill("2")
    seen.page.locator("#k").press("Enter")
    answered(seen, 2)
    seen.page.locator(".menu summary").click()
    report = seen.download(seen.page.get_by_role("button", name="Report (HTML)"))
    copy = wine.parent / "saved.html"
    copy.write_bytes(report.read_bytes())
    assert visit(copy).card("Scores").is_visible()
    seen.page.locator(".menu summary").click()
    seen.page.get_by_role("button", name="Command and Python script").click()
    seen.page.locator(".scripts pre").first.wait_for()
    assert f"eigenlens fit pca {wine} -k 2 --standardize" in seen.page.locator(".scripts pre").first.inner_text()
    python = seen.download(seen.page.get_by_role("button", name="Save: In Python")).read_text()
    assert "eigenlens.PCA(n_components=2, standardize=True" in python
    table = seen.download(seen.card("Scores").get_by_role("button", name=re.compile("^CSV")))
    saved = pd.read_csv(table)
    direct = eigenlens.PCA(2, standardize=True).fit_transform(FRAME[NAMES])
    np.testing.assert_allclose(saved.iloc[:, 1:3], direct, rtol=1e-4, atol=1e-4)
    assert b"<svg" in seen.download(seen.card("Scores").get_by_role("button", name=re.compile("^SVG"))).read_bytes()


def test_a_page_that_is_loaded_again_asks_the_same(explore, wine):
    seen = explore(wine)
    role(seen, "hue").select_option("Ignored")
    answered(seen, 2)
    seen.page.reload()
    answered(seen, 1)
    assert "hue" in place(seen, "ignore").inner_text()
    assert axes(seen) == expected([name for name in NAMES if name != "hue"], standardize=True)


def test_a_server_that_was_stopped_is_missed_and_found_again(serve, visit, wine):
    first, _ = serve(wine)
    seen = visit(first.guard.link)
    answered(seen, 1)
    first.stop()
    end = time.monotonic() + 10.0
    while time.monotonic() < end:
        try:
            page_data(first)
        except OSError:
            break
    seen.page.locator("#scaling").select_option("in their own units")
    seen.until("document.querySelector('.says').textContent.includes('does not answer')")
    serve(wine, port=first.guard.port, token=first.guard.token)
    answered(seen, 2)
    assert not seen.page.locator(".says").inner_text()
    assert axes(seen) == expected(NAMES)
    seen.complaints = [each for each in seen.complaints if "ERR_CONNECTION_REFUSED" not in each]


def test_the_button_stops_the_explorer(explore, wine):
    seen = explore(wine)
    seen.page.get_by_role("button", name="Stop").click()
    seen.until("document.querySelector('.says').textContent.includes('has stopped')")
    assert seen.page.locator("#k").is_disabled()


def test_a_wrong_link_says_so(serve, chromium, wine):
    server, _ = serve(wine)
    page = chromium.new_page()
    page.goto(server.guard.link + "x")
    assert "not complete" in page.inner_text("body")
    page.close()


def test_markup_in_names_and_cells_is_text(explore, tmp_path):
    bad = "<img src=x onerror='window.hit=1'>"
    frame = FRAME.rename(columns={"ash": bad, "cultivar": "</script><script>window.hit=1</script>"})
    frame.iloc[:, 1] = frame.iloc[:, 1].replace("Barolo", "<svg onload=window.hit=1>")
    frame.to_csv(tmp_path / "<b>wine.csv", index=False)
    seen = explore(tmp_path / "<b>wine.csv")
    assert bad in place(seen, "active").inner_text()
    assert seen.page.locator("h1").inner_text() == "<b>wine.csv"
    seen.page.locator(".legend button").first.click()
    seen.page.get_by_role("button", name="What makes them different?").click()
    seen.page.get_by_role("article", name="Differences", exact=True).wait_for()
    role(seen, bad).select_option("Supplementary")
    answered(seen, 2)
    assert seen.page.evaluate("window.hit") is None


def test_a_slow_fit_is_run_when_asked_and_can_be_given_up(explore, monkeypatch):
    monkeypatch.setattr("eigenlens.explorer.answer.LIVE_ENTRIES", 1_000)
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.standard_normal((12_000, 10)) @ rng.standard_normal((10, 10)), columns=list("abcdefghij"))
    X["k"] = rng.standard_normal(len(X))
    X.loc[rng.random(len(X)) < 0.3, list("abc")] = np.nan
    X.loc[rng.random(len(X)) < 0.3, list("efg")] = np.nan
    seen = explore(X, drawn=False)
    seen.until("document.querySelector('.says').textContent.includes('several times')")
    seen.page.get_by_role("button", name="Run", exact=True).click()
    seen.until("document.querySelector('.says').textContent.includes('Fitting')")
    seen.page.get_by_role("button", name="Cancel").click()
    seen.until("document.querySelector('.says').textContent.includes('given up')")
    for name in "abcefg":
        role(seen, name).select_option("Ignored")
        seen.until("!document.documentElement.dataset.asking")
    answered(seen, 1)
    assert seen.card("Scores").is_visible()
    seen.page.get_by_role("button", name="Undo", exact=True).click()
    seen.until("document.querySelector('.says').textContent.includes('still those before: PCA')")
    seen.page.get_by_role("button", name="Redo", exact=True).click()
    answered(seen, 2)
    assert not seen.page.locator(".says").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_axe_finds_nothing_to_complain_of(explore, wine, scheme, width):
    if not AXE.exists():
        pytest.skip(f"{SKIPPED}: axe-core is not installed (npm ci in web/)")
    seen = explore(wine, scheme=scheme, width=width)
    if width < 600:
        seen.page.get_by_role("button", name="Choose columns").click()
    seen.page.locator(".legend button").first.click()
    seen.page.get_by_role("button", name="What makes them different?").click()
    seen.page.get_by_role("article", name="Differences", exact=True).wait_for()
    seen.page.locator(".menu summary").click()
    seen.page.get_by_role("button", name="Command and Python script").click()
    seen.page.locator(".scripts pre").first.wait_for()
    seen.page.locator(".menu summary").click()
    seen.page.evaluate(AXE.read_text(encoding="utf-8"))
    assert seen.page.evaluate(RUN) == []
    assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    seen.page.locator(".menu summary").click()


def test_another_model_has_its_own_charts_and_options(explore, wine):
    seen = explore(wine)
    seen.page.locator("#k").fill("2")
    seen.page.locator("#k").press("Enter")
    answered(seen, 2)
    seen.page.locator("#model").select_option("Factor analysis")
    answered(seen, 3)
    assert seen.page.locator("#k").get_attribute("max") == "12"
    seen.page.locator("#rotation").select_option("varimax")
    answered(seen, 4)
    direct = eigenlens.FactorAnalysis(2, rotation="varimax", standardize=True, random_state=0).fit(FRAME[NAMES])
    label = seen.stage("Latent values").get_attribute("aria-label")
    shares = 100.0 * np.square(direct.loadings_).sum(axis=0) / len(NAMES)
    assert f"F1 ({shares[0]:.1f}%)" in label
    seen.page.locator("#model").select_option("Probabilistic PCA")
    answered(seen, 5)
    assert not seen.page.locator("#rotation").is_visible()
    seen.page.keyboard.press("Control+z")
    answered(seen, 6)
    assert f"F1 ({shares[0]:.1f}%)" in seen.stage("Latent values").get_attribute("aria-label")


def test_a_question_is_in_the_link(explore, wine):
    seen = explore(wine)
    question = json.loads(seen.page.evaluate("decodeURIComponent(location.hash.slice(1))"))
    assert question["roles"]["cultivar"] == "colour"
    assert Path(wine).name in seen.page.title()

"""The page in a real browser: what people do with it, by mouse and by keyboard, and what comes of it."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from browser.made import ACROSS, BARS, DEEP, EVIL, GROUPS, HEIGHTS, IDS, IMAGE, SHARES, TURNED, UP, written
from browser.visitor import CONTRAST

pytestmark = pytest.mark.browser


@pytest.fixture
def at(visit, tmp_path):
    """The page of points."""
    return visit(written(tmp_path), page="page-points")


def cells(table):
    return [row.locator("th, td").all_inner_texts() for row in table.locator("tr").all()]


# ---- safety -------------------------------------------------------------------------------------------------


def test_names_that_try_to_be_markup_are_text_on_every_page(visit, tmp_path):
    seen = visit(written(tmp_path))
    assert seen.page.title() == f"Report of {EVIL}"
    assert seen.page.locator("h1").inner_text() == f"Report of {EVIL}"
    for tab in seen.page.get_by_role("tab").all():
        tab.click()
        seen.settle()
    assert seen.page.locator("img").count() == 0
    assert seen.page.locator("script").count() == 2
    assert seen.page.get_by_role("tab", name=EVIL).get_attribute("aria-selected") == "true"


def test_a_strict_policy_stands_in_the_page_and_is_kept(visit, tmp_path):
    seen = visit(written(tmp_path))
    policy = seen.page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", rules["script-src"])
    seen.page.evaluate(
        "const s = document.createElement('script'); s.textContent = 'window.other = 1'; document.body.append(s);"
    )
    assert seen.page.evaluate("window.other") is None
    assert any("script-src" in each for each in seen.page.evaluate("window.violations.splice(0)"))
    seen.complaints.clear()  # the violation made here


# ---- going about --------------------------------------------------------------------------------------------


def shown(seen):
    return [panel.get_attribute("id") for panel in seen.page.locator("[role=tabpanel]").all() if panel.is_visible()]


def test_pages_by_mouse_keyboard_and_address(visit, tmp_path):
    seen = visit(written(tmp_path))
    assert shown(seen) == ["panel-overview"]
    seen.page.get_by_role("tab", name="Points").click()
    assert shown(seen) == ["panel-page-points"]
    assert seen.page.url.endswith("#page-points")
    seen.page.keyboard.press("ArrowDown")
    assert shown(seen) == ["panel-page-more"]
    seen.page.keyboard.press("ArrowDown")
    assert shown(seen) == ["panel-overview"]
    seen.page.keyboard.press("End")
    assert shown(seen) == ["panel-page-more"]
    seen.page.go_back()
    seen.settle()
    assert shown(seen) == ["panel-overview"]


def test_the_tab_key_reaches_one_tab_then_the_bar(visit, tmp_path):
    seen = visit(written(tmp_path))
    order = []
    for _ in range(6):
        seen.page.keyboard.press("Tab")
        order.append(seen.page.evaluate("document.activeElement.id || document.activeElement.textContent"))
    assert order[:5] == ["To the content", "Print", "Light / dark", "tab-overview", "colour"]


# ---- pointing -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [0, 25, 7])
def test_the_tip_says_the_row_under_the_pointer(at, row):
    at.page.mouse.move(*at.mouse("Grid", at.places("Grid", ACROSS, UP)[row]))
    tip = at.stage("Grid").locator(".tip")
    assert tip.inner_text().split("\n") == [
        IDS[row], f"x of it: {ACROSS[row]:g}", f"y of it: {UP[row]:g}", f"group: {GROUPS[row]}",
    ]  # fmt: skip
    at.page.mouse.move(*at.mouse("Grid", at.places("Grid", ACROSS, UP)[row] + [15.0, -15.0]))
    assert not tip.is_visible()


def test_the_tip_says_what_the_colour_means(at):
    at.page.get_by_label("Colour by").select_option("height")
    places = at.places("Grid", ACROSS, UP)
    at.page.mouse.move(*at.mouse("Grid", places[12]))
    assert at.stage("Grid").locator(".tip").inner_text().split("\n")[-1] == "height: 162"
    at.page.mouse.move(*at.mouse("Grid", places[7]))
    assert at.stage("Grid").locator(".tip").inner_text().split("\n")[-1] == "height: missing"


# ---- zooming ------------------------------------------------------------------------------------------------


def spread(seen):
    return seen.axis("Grid", up=False)[0]


def test_buttons_zoom_and_reset(at):
    before = at.axis("Grid", up=False)
    card = at.card("Grid")
    card.get_by_role("button", name="Zoom in").click()
    at.settle()
    assert spread(at) == pytest.approx(before[0] / 0.7, rel=0.02)
    card.get_by_role("button", name="Zoom out").click()
    at.settle()
    assert spread(at) == pytest.approx(before[0], rel=0.02)
    card.get_by_role("button", name="Zoom in").click()
    card.get_by_role("button", name="Reset view").click()
    at.settle()
    np.testing.assert_allclose(at.axis("Grid", up=False), before, rtol=1e-6)


def turn(seen, by):
    """Turn the wheel, and wait until the page has heard of it and drawn."""
    seen.page.evaluate(
        "window.turned = false; addEventListener('wheel', () => (window.turned = true), { once: true });"
    )
    seen.page.mouse.wheel(0, by)
    seen.until("window.turned")
    seen.settle()


def test_the_wheel_zooms_about_the_pointer_once_the_chart_is_clicked(at):
    before = spread(at)
    place = at.places("Grid", [4.5], [2.5])[0]
    at.page.mouse.move(*at.mouse("Grid", place))
    turn(at, 100)
    assert spread(at) == pytest.approx(before, rel=1e-6)  # the page scrolls instead
    at.page.mouse.move(*at.mouse("Grid", place))
    at.page.mouse.down()
    at.page.mouse.up()
    turn(at, -300)
    assert spread(at) > 1.3 * before
    np.testing.assert_allclose(at.places("Grid", [4.5], [2.5])[0], place, atol=3.0)


def test_dragging_moves_the_view_and_keys_bring_it_back(at):
    before = at.places("Grid", [0.0], [0.0])[0]
    x, y = at.mouse("Grid", at.places("Grid", [4.5], [2.5])[0])
    at.page.mouse.move(x, y)
    at.page.mouse.down()
    at.page.mouse.move(x + 60, y - 30, steps=5)
    at.page.mouse.up()
    at.settle()
    np.testing.assert_allclose(at.places("Grid", [0.0], [0.0])[0] - before, [60.0, -30.0], atol=2.0)
    at.page.keyboard.press("0")
    at.settle()
    np.testing.assert_allclose(at.places("Grid", [0.0], [0.0])[0], before, atol=0.5)


# ---- selecting ----------------------------------------------------------------------------------------------


def selected(seen):
    text = seen.page.locator(".selected [role=status]").inner_text()
    found = re.match(r"(\d+) of 60 rows selected", text)
    return int(found.group(1)) if found else 0


def around(seen, low, high):
    """Corners of a box around the points of the grid from `low` to `high`."""
    (x0, y0), (x1, y1) = low, high
    return seen.places("Grid", [x0, x1, x1, x0], [y0, y0, y1, y1])


def test_a_lasso_selects_the_rows_inside_it_in_every_chart(at):
    inside = (ACROSS < 2.5) & (UP < 1.5)
    at.lasso("Grid", around(at, (-0.4, -0.4), (2.5, 1.5)))
    assert selected(at) == inside.sum() == 6
    for title, x, y in (("Grid", ACROSS, UP), ("Spiral", TURNED, DEEP)):
        opacity = at.colours(title, at.places(title, x, y))[:, 3]
        assert opacity[inside].min() > 240
        assert np.median(opacity[~inside]) < 100
    at.page.get_by_role("button", name="Show rows").click()
    table = cells(at.page.locator("#selected table"))
    assert [row[0] for row in table[1:]] == [IDS[i] for i in np.flatnonzero(inside)]
    assert [float(row[2]) for row in table[1:]] == HEIGHTS[inside].tolist()
    assert at.page.evaluate("document.documentElement.scrollWidth") <= 1400


def test_the_lasso_button_the_linked_chart_and_clearing(at):
    button = at.card("Spiral").get_by_role("button", name="Lasso")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    corners = at.places("Spiral", [-2.0, 2.0, 2.0, -2.0], [-2.0, -2.0, 2.0, 2.0])
    places = [at.mouse("Spiral", corner) for corner in corners]
    at.page.mouse.move(*places[0])
    at.page.mouse.down()
    for place in places[1:]:
        at.page.mouse.move(*place, steps=4)
    at.page.mouse.up()
    at.settle()
    inside = (np.abs(TURNED) < 2.0) & (np.abs(DEEP) < 2.0)
    assert selected(at) == inside.sum() > 2
    assert at.colours("Grid", at.places("Grid", ACROSS, UP))[inside, 3].min() > 240
    at.page.get_by_role("button", name="Clear selection").click()
    assert selected(at) == 0
    assert not at.page.get_by_role("button", name="Clear selection").is_visible()
    assert at.colours("Grid", at.places("Grid", ACROSS, UP))[:, 3].min() > 180


def test_a_click_selects_one_row_and_control_adds_another(at):
    places = at.places("Grid", ACROSS, UP)
    at.page.mouse.click(*at.mouse("Grid", places[3]))
    assert selected(at) == 1
    at.page.keyboard.down("Control")
    at.page.mouse.click(*at.mouse("Grid", places[44]))
    at.page.keyboard.up("Control")
    assert "2 of 60 rows selected: person 03, person 44" in at.page.locator(".selected [role=status]").inner_text()


def test_the_keyboard_walks_from_point_to_point_and_selects(at):
    stage = at.stage("Grid")
    stage.focus()
    at.page.keyboard.press("ArrowRight")
    heard = at.card("Grid").locator(".heard")
    first = re.match(r"person (\d+), x of it: (\d), y of it: (\d)", heard.inner_text())
    start = int(first.group(1))
    assert [ACROSS[start], UP[start]] == [float(first.group(2)), float(first.group(3))]
    for key, step in (("ArrowRight", 1), ("ArrowUp", 10), ("ArrowLeft", -1), ("ArrowDown", -10)):
        at.page.keyboard.press(key)
        start += step
        assert heard.inner_text().startswith(IDS[start])
    at.page.keyboard.press("Enter")
    assert selected(at) == 1
    at.page.keyboard.press("ArrowRight")
    at.page.keyboard.press(" ")
    said = at.page.locator(".selected [role=status]").inner_text()
    assert f"2 of 60 rows selected: {IDS[start]}, {IDS[start + 1]}" in said
    at.settle()
    ring = at.stage("Spiral").locator("circle.ring")
    here = [float(ring.get_attribute(name)) for name in ("cx", "cy")]
    np.testing.assert_allclose(here, at.places("Spiral", TURNED, DEEP)[start + 1], atol=1.0)
    at.page.keyboard.press("Escape")
    at.settle()
    assert selected(at) == 0
    assert ring.count() == 0


def test_a_name_that_is_searched_is_looked_at_in_every_chart(at):
    at.page.get_by_label("Find").fill("person 42")
    at.settle()
    assert selected(at) == 1
    for title, x, y in (("Grid", ACROSS, UP), ("Spiral", TURNED, DEEP)):
        ring = at.stage(title).locator("circle.ring")
        here = [float(ring.get_attribute(name)) for name in ("cx", "cy")]
        np.testing.assert_allclose(here, at.places(title, x, y)[42], atol=1.0)
        assert "person 42" in at.stage(title).locator("text.name").all_text_contents()
    at.page.get_by_label("Find").fill("person 4")
    assert selected(at) == 10
    at.page.keyboard.press("Enter")
    at.settle()
    assert "person 41" in at.stage("Grid").locator("text.strong").all_text_contents()
    at.page.get_by_label("Find").fill("nobody")
    assert selected(at) == 0


def test_a_row_out_of_view_is_gone_to_once(at):
    zoom = at.card("Grid").get_by_role("button", name="Zoom in")
    for _ in range(5):
        zoom.click()
    at.page.get_by_label("Find").fill("person 00")
    at.settle()
    assert at.stage("Grid").locator("circle.ring").count() == 1
    at.stage("Grid").focus()
    for _ in range(12):
        at.page.keyboard.press("Shift+ArrowRight")
    at.page.get_by_label("Colour by").select_option("height")
    at.settle()
    assert at.stage("Grid").locator("circle.ring").count() == 0  # where its reader has gone, the view stays


# ---- colours ------------------------------------------------------------------------------------------------


def test_colours_follow_the_column_and_the_legend_says_how(at):
    places = at.places("Grid", ACROSS, UP)
    legend = at.page.get_by_role("group", name="Legend")
    assert sorted(legend.get_by_role("button").all_inner_texts()) == sorted(["first", "second", EVIL])
    by_group = at.colours("Grid", places)[:, :3].astype(int)
    for name in np.unique(GROUPS):
        mine = by_group[name == GROUPS]
        assert np.abs(mine - np.median(mine, axis=0)).max(axis=1).min() < 12
    middles = [np.median(by_group[name == GROUPS], axis=0) for name in np.unique(GROUPS)]
    assert min(np.abs(a - b).max() for i, a in enumerate(middles) for b in middles[:i]) > 60
    at.page.get_by_label("Colour by").select_option("height")
    assert "height: 150" in legend.inner_text()
    shade = at.colours("Grid", places)[:, :3].astype(float) @ [0.2126, 0.7152, 0.0722]
    seen = ~np.isnan(HEIGHTS)
    assert np.corrcoef(shade[seen], HEIGHTS[seen])[0, 1] > 0.97  # lightness rises with the value
    at.page.get_by_label("Colour by").select_option("")
    assert legend.inner_text() == ""
    assert np.ptp(at.colours("Grid", places)[:20, :3].astype(int), axis=0).max() < 40


def test_an_entry_of_the_legend_selects_its_rows(at):
    at.page.get_by_role("group", name="Legend").get_by_role("button", name="second").click()
    assert selected(at) == (GROUPS == "second").sum()


# ---- files --------------------------------------------------------------------------------------------------


def rows_of(path):
    return list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))


def test_the_numbers_of_a_chart_as_a_file(at):
    found = rows_of(at.download(at.card("Spiral").get_by_role("button", name="Save the numbers")))
    assert found[0] == ["row", "x of it", "y of it"]
    assert [row[0] for row in found[1:]] == IDS
    saved = np.array([row[1:] for row in found[1:]], dtype=float)
    np.testing.assert_array_equal(saved, np.stack([TURNED, DEEP], axis=1))


def test_the_selected_rows_as_a_file(at):
    at.page.get_by_label("Find").fill("person 07")
    found = rows_of(at.download(at.page.get_by_role("button", name="Selection as CSV")))
    assert found == [["row", "group", "height", EVIL], ["person 07", "second", "", "7"]]


@pytest.mark.parametrize("title", ["Grid", "Bars", "Steps"])
def test_figures_as_files(at, title):
    drawing = at.download(at.card(title).get_by_role("button", name="as SVG"))
    root = ElementTree.fromstring(drawing.read_text(encoding="utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert title in texts
    if title == "Grid":
        shapes = [node.get("class") for node in root.iter("{http://www.w3.org/2000/svg}path")]
        assert (shapes.count("point"), shapes.count("sign")) == (60, 3)  # the points and the legend
        rules = [n for n in root.iter("{http://www.w3.org/2000/svg}line") if n.get("class") == "rule"]
        assert rules
        assert all("stroke: rgb(" in node.get("style") for node in rules)
    picture = at.download(at.card(title).get_by_role("button", name="as PNG")).read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    size = int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big")
    assert abs(size[0] - 2 * float(root.get("width"))) <= 2
    assert abs(size[1] - 2 * float(root.get("height"))) <= 2
    assert len(picture) > 5_000


# ---- sliders, tables, and those who listen ------------------------------------------------------------------


def heights(seen):
    bars = seen.card("Steps").locator("svg [aria-label=bar] rect")
    return bars.evaluate_all("(all) => all.map((each) => +each.getAttribute('height'))")


def test_a_slider_moves_the_frames_and_the_table_behind_them(at):
    card = at.card("Steps")
    slider = card.get_by_role("slider")
    card.get_by_role("button", name="Data table").click()
    shown = lambda: [float(row[1]) for row in cells(card.locator("table"))[1:]]  # noqa: E731
    assert card.locator("output").inner_text() == "step 1"
    assert shown() == SHARES
    slider.focus()
    at.page.keyboard.press("ArrowRight")
    at.settle()
    assert card.locator("output").inner_text() == "step 2"
    assert shown() == [2 * s for s in SHARES]
    np.testing.assert_allclose(np.array(heights(at)) / heights(at)[0], np.array(SHARES) / SHARES[0], atol=0.01)
    card.get_by_role("button", name="last").click()
    assert card.locator("output").inner_text() == "step 3"
    assert shown() == [3 * s for s in SHARES]


def test_a_frame_that_comes_back_knows_what_was_selected_meanwhile(at):
    card = at.card("Turning")
    slider = card.get_by_role("slider")
    slider.focus()
    at.page.keyboard.press("ArrowRight")
    at.settle()
    assert card.locator("h4").inner_text() == "turned"
    at.page.get_by_label("Find").fill("person 42")
    at.settle()
    slider.focus()
    at.page.keyboard.press("ArrowLeft")
    at.settle()
    assert card.locator("h4").inner_text() == "straight"
    opacity = at.colours("Turning", at.places("Turning", ACROSS, UP))[:, 3]
    assert opacity[42] > 240
    assert np.median(opacity) < 100


def test_every_chart_has_a_table_with_its_numbers(at):
    for title in ("Grid", "Spiral", "Bars", "Steps", "Pictures"):
        button = at.card(title).get_by_role("button", name="Data table")
        assert button.get_attribute("aria-expanded") == "false"
        button.focus()
        at.page.keyboard.press("Enter")
        assert button.get_attribute("aria-expanded") == "true"
        assert at.card(title).get_by_role("table").is_visible()
    found = cells(at.card("Grid").locator("table"))
    rows = [[name, f"{x:g}", f"{y:g}", "", "", ""] for name, x, y in zip(IDS, ACROSS, UP, strict=True)]
    rows[0][3:] = [EVIL, "4", "3"]
    assert found == [["row", "x of it", "y of it", "arrow", "arrow: x of it", "arrow: y of it"], *rows]
    shares = [[name, f"{share:.3f}"] for name, share in zip(BARS, SHARES, strict=True)]
    assert cells(at.card("Bars").locator("table"))[1:] == shares
    assert at.card("Grid").locator("th").first.get_attribute("scope") == "col"


NAMELESS = """() => {
  const worked = "button, input, select, a, [tabindex], [role=img], article, section, nav";
  const said = (n) => n.ariaLabel || n.getAttribute("aria-labelledby") || n.textContent.trim() || n.labels?.length
    || n.closest("figure")?.textContent.trim();
  return [...document.querySelectorAll(worked)].filter((n) => n.checkVisibility() && n.id !== "content" && !said(n))
    .map((n) => n.outerHTML.slice(0, 120));
}"""


def test_everything_that_can_be_worked_has_a_name(at):
    assert at.page.evaluate(NAMELESS) == []
    assert at.card("Bars").get_by_role("img").first.get_attribute("aria-label").startswith("Bars: a chart")
    assert "60 points" in at.stage("Grid").get_attribute("aria-label")
    assert at.page.locator("main h2").all_inner_texts()[0] == "Points"


def test_what_has_the_focus_is_seen_to_have_it(at):
    at.page.get_by_role("tab", name="Points").focus()
    at.page.keyboard.press("Tab")
    style = at.page.evaluate("getComputedStyle(document.activeElement).outline")
    assert "solid 3px" in style


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 400])
def test_all_text_can_be_read(visit, tmp_path, scheme, width):
    seen = visit(written(tmp_path), scheme=scheme, width=width)
    for tab in seen.page.get_by_role("tab").all():
        tab.click()
        seen.settle()
        found = seen.page.evaluate(CONTRAST)
        assert len(found) > 10
        assert [each for each in found if each[0] < 4.5] == []
        assert [each for each in found if each[2] < 11.0] == []
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_theme_button_turns_the_paper(visit, tmp_path):
    seen = visit(written(tmp_path))
    paper = lambda: seen.page.evaluate("getComputedStyle(document.body).backgroundColor")  # noqa: E731
    before = paper()
    seen.page.get_by_role("button", name="Light / dark").click()
    assert paper() != before
    assert [each for each in seen.page.evaluate(CONTRAST) if each[0] < 4.5] == []
    seen.page.get_by_role("button", name="Light / dark").click()
    assert paper() == before


def test_labels_of_markup_are_labels(at):
    assert EVIL in at.card("Grid").locator("text.name").all_text_contents()
    assert IMAGE[:14] in "".join(at.card("Bars").locator("svg text").all_text_contents())

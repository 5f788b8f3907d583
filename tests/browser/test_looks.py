"""How charts look in a real browser: in the dark, at the ends of colour scales, on paper and on narrow screens."""

from __future__ import annotations

import re
import zlib

import numpy as np
import pytest

from browser.made import bars, listed, points, report, written

pytestmark = pytest.mark.browser

NAMES = ["a", "b", "c"]
VALUES = np.array([[0.0, 1.0, -1.0], [0.5, 0.0, -0.5], [1.0, -1.0, 0.0]])


def heat(values, scheme, domain, title="Heat"):
    cells = {"x": NAMES * 3, "y": np.repeat(NAMES, 3).tolist(), "fill": listed(np.ravel(values))}
    return {
        "kind": "marks", "title": title, "marks": [{"type": "cell", "data": cells}], "x": {"type": "band"},
        "y": {"type": "band"}, "colour": {"scheme": scheme, "label": "value", "domain": domain},
    }  # fmt: skip


def page(folder, *charts):
    found = report()
    found["pages"] = [{"id": "all", "title": "All", "charts": list(charts)}]
    return written(folder, found)


def lightness(colours):
    """About how light colours rgb(…) are, from 0 to 255."""
    return np.array([[float(v) for v in re.findall(r"[\d.]+", each)[:3]] for each in colours]) @ [
        0.2126,
        0.7152,
        0.0722,
    ]


def fills(seen, title="Heat"):
    cells = seen.card(title).locator("[aria-label=cell] rect")
    return lightness(cells.evaluate_all("(all) => all.map((n) => getComputedStyle(n).fill)"))


def paper(seen):
    return lightness([seen.page.evaluate("getComputedStyle(document.querySelector('.card')).backgroundColor")])[0]


# ---- light and dark -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_near_zero_is_near_the_paper_and_what_is_large_stands_out(visit, tmp_path, scheme):
    charts = heat(VALUES, "diverging", [-1.0, 1.0]), heat(np.abs(VALUES), "sequential", [0.0, 1.0], "Amounts")
    seen = visit(page(tmp_path, *charts), scheme=scheme)
    size = np.abs(VALUES.ravel())
    for title in ("Heat", "Amounts"):
        far = np.abs(fills(seen, title) - paper(seen))
        assert far[size == 0.0].max() < 15.0
        assert far[size == 0.5].min() > far[size == 0.0].max() + 15.0
        assert far[size == 1.0].min() > far[size == 0.5].max() + 15.0


def test_the_theme_button_turns_heat_maps_and_classes_too(visit, tmp_path):
    seen = visit(
        page(
            tmp_path, heat(VALUES, "diverging", [-1.0, 1.0]), points("Grid", *np.random.default_rng(0).random((2, 60)))
        )
    )
    colours = lambda: seen.page.locator(".bar .swatch").evaluate_all("(all) => all.map((n) => n.style.background)")  # noqa: E731
    before, light = fills(seen), colours()
    seen.page.get_by_role("button", name="Light / dark").click()
    seen.settle()
    assert np.abs(fills(seen) - before)[0] > 100.0
    assert colours() != light
    seen.page.get_by_role("button", name="Light / dark").click()
    seen.settle()
    np.testing.assert_allclose(fills(seen), before)
    assert colours() == light


def test_layers_with_a_place_in_the_palette_are_bright_in_the_dark(visit, tmp_path):
    """The line and the dots of a curve have one colour, which is lighter on dark paper than on light."""
    layers = [
        {"type": kind, "colour": k, "data": {"x": [1, 2], "y": [k, k + 1]}} for k in (0, 1) for kind in ("line", "dot")
    ]
    path = page(tmp_path, {"kind": "marks", "title": "Curves", "marks": layers, "x": {}, "y": {}})
    drawn = {}
    for scheme in ("light", "dark"):
        shown = visit(path, scheme=scheme).card("Curves")
        lines = shown.locator("[aria-label=line]").evaluate_all("(all) => all.map((n) => getComputedStyle(n).stroke)")
        dots = shown.locator("[aria-label=dot]").evaluate_all("(all) => all.map((n) => getComputedStyle(n).fill)")
        assert dots[:2] == lines
        assert len(set(lines)) == 2
        drawn[scheme] = lightness(lines)
    assert drawn["dark"][0] > drawn["light"][0] + 20.0


# ---- the ends of scales -------------------------------------------------------------------------------------


def test_a_scale_that_clips_says_so(visit, tmp_path):
    charts = heat(3.0 * VALUES, "diverging", [-1.0, 1.0]), heat(VALUES, "diverging", [-1.0, 1.0], "Whole")
    image = {"kind": "images", "title": "Images", "width": 2, "height": 1, "columns": 1, "range": [0.0, 1.0],
             "images": [{"label": "one", "pixels": [0.5, 7.0]}]}  # fmt: skip
    seen = visit(page(tmp_path, *charts, image))
    assert (
        seen.card("Heat").locator(".note").inner_text()
        == "6 values lie beyond the scale, and have the colour of its end."
    )
    assert seen.card("Whole").locator(".note").count() == 0
    assert seen.card("Images").locator(".entry").inner_text().split() == ["0", "≥", "1"]


@pytest.mark.parametrize(("values", "words"), [(np.arange(300) % 2, "it: 0 1"), (np.arange(300), "it: ≤ 3 ≥ 297")])
def test_the_ramp_of_the_rows_says_what_it_clips(visit, tmp_path, values, words):
    """A hundredth of the rows at either end is beyond the scale."""
    found = report()
    found["rows"] |= {"total": 300, "shown": 300, "ids": [str(i) for i in range(300)], "colour": 0}
    found["rows"]["columns"] = [{"name": "it", "kind": "number", "values": listed(values)}]
    seen = visit(written(tmp_path, found))
    assert " ".join(seen.page.locator(".bar .legend .entry").inner_text().split()) == words


# ---- components as images -----------------------------------------------------------------------------------


def test_components_of_images_have_colours_of_both_signs(visit, tmp_path):
    both = [{"label": "PC1", "pixels": [-2.0, 0.0, 2.0]}, {"label": "PC2", "pixels": [0.0, 0.1, 0.1]}]
    image = {"kind": "images", "title": "Images", "width": 3, "height": 1, "columns": 2, "scheme": "diverging"}
    seen = visit(page(tmp_path, image | {"images": both}))
    shades = "(n) => [...n.getContext('2d').getImageData(0, 0, 3, 1).data]"
    first, second = (
        np.array(each.evaluate(shades)).reshape(3, 4)[:, :3] for each in seen.card("Images").locator("canvas").all()
    )
    assert first[1].min() > 240
    assert first[0][2] > first[0][0]
    assert first[2][0] > first[2][2]
    np.testing.assert_array_equal(second[1], first[2])
    assert "negative" in seen.card("Images").inner_text()


def test_many_components_go_on_in_the_next_line_where_it_is_narrow(visit, tmp_path):
    both = [{"label": f"PC{i}", "pixels": [-2.0, 0.0, 2.0, 1.0]} for i in range(16)]
    image = {"kind": "images", "title": "Images", "width": 2, "height": 2, "columns": 8, "scheme": "diverging"}
    for width, columns in ((1400, 8), (390, 5)):
        seen = visit(page(tmp_path, image | {"images": both}), width=width)
        boxes = [each.bounding_box() for each in seen.card("Images").locator("canvas").all()]
        assert len({round(box["x"]) for box in boxes}) == columns
        assert min(box["width"] for box in boxes) > 45.0


# ---- sliders ------------------------------------------------------------------------------------------------


def test_a_slider_says_where_the_fitted_model_is(visit, tmp_path):
    chart = points("", *np.random.default_rng(0).random((2, 60)))
    frames = [{"value": f"{h}", "charts": [chart]} for h in (0.1, 0.2, 0.4)]
    slider = {"kind": "frames", "title": "Widths", "label": "width", "start": 1, "fitted": 1, "frames": frames}
    seen = visit(page(tmp_path, slider))
    card = seen.card("Widths")
    assert card.locator("output").inner_text() == "0.2, as fitted"
    card.get_by_role("slider").focus()
    seen.page.keyboard.press("ArrowRight")
    assert card.locator("output").inner_text() == "0.4"
    card.get_by_role("button", name="as fitted: 0.2").click()
    assert card.locator("output").inner_text() == "0.2, as fitted"
    assert card.get_by_role("slider").input_value() == "1"


# ---- tips ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [390, 1400])
def test_tips_stay_on_the_screen(visit, tmp_path, width):
    long = "a name that goes on and on, as the names of questions in a survey do, and never ends"
    drawn = {"type": "bar", "data": {"x": [long, "b", f"{long} either"], "y": [1.0, 2.0, 3.0]}}
    chart = {
        "kind": "marks",
        "title": "Bars",
        "marks": [drawn],
        "x": {"type": "band", "label": long},
        "y": {"label": long},
    }
    found = report()
    found["rows"]["ids"] = [f"{long} {i}" for i in range(60)]
    grid = points("Grid", *np.random.default_rng(0).random((2, 60)))
    found["pages"] = [{"id": "all", "title": "All", "charts": [chart, grid]}]
    seen = visit(written(tmp_path, found), width=width)
    for title, stage in (("Bars", ".plot"), ("Grid", ".stage")):
        place = seen.card(title).locator(stage)
        place.scroll_into_view_if_needed()
        box, count = place.bounding_box(), 0
        for across in np.linspace(0.05, 0.95, 12):
            for up in np.linspace(0.1, 0.9, 8):
                seen.page.mouse.move(box["x"] + across * box["width"], box["y"] + up * box["height"])
                tip = seen.card(title).locator(".tip")
                if not tip.is_visible():
                    continue
                count += 1
                edge = tip.bounding_box()
                assert edge["x"] >= 0.0
                assert edge["x"] + edge["width"] <= width
                assert tip.evaluate("(n) => n.scrollWidth <= n.clientWidth + 1")
        assert count > 3
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


# ---- paper --------------------------------------------------------------------------------------------------


def inks(pdf):
    """The colours that the pages of a PDF fill with, as (n, 3) from 0 to 255."""
    found = set()
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", pdf, flags=re.DOTALL):
        try:
            text = zlib.decompressobj().decompress(stream)
        except zlib.error:
            continue
        found |= {tuple(map(float, each)) for each in re.findall(rb"([\d.]+) ([\d.]+) ([\d.]+) rg", text)}
    return np.round(255 * np.array(sorted(found))).astype(int)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_paper_keeps_the_legends_in_the_colours_of_light_paper(visit, tmp_path, scheme):
    """Browsers leave backgrounds out when they print, and the colours of a legend are backgrounds."""
    path = page(tmp_path, heat(VALUES, "diverging", [-1.0, 1.0]), bars("Bars", [3.0, 2.5, 0.125]))
    light = visit(path)
    swatches = light.page.locator(".bar .swatch").evaluate_all(
        "(all) => all.map((n) => getComputedStyle(n).backgroundColor)"
    )
    cells = (
        light.card("Heat")
        .locator("[aria-label=cell] rect")
        .evaluate_all("(all) => all.map((n) => getComputedStyle(n).fill)")
    )
    columns = (
        light.card("Bars").locator("[aria-label=bar]").evaluate_all("(all) => all.map((n) => getComputedStyle(n).fill)")
    )
    seen = visit(path, scheme=scheme)
    before = seen.page.locator(".bar .swatch").evaluate_all(
        "(all) => all.map((n) => getComputedStyle(n).backgroundColor)"
    )
    found = inks(seen.page.pdf(print_background=False))
    for colour in [*swatches, *cells, *columns]:
        meant = [int(v) for v in re.findall(r"\d+", colour)[:3]]
        assert np.abs(found - meant).max(axis=1).min() <= 1
    seen.settle()
    after = seen.page.locator(".bar .swatch").evaluate_all(
        "(all) => all.map((n) => getComputedStyle(n).backgroundColor)"
    )
    assert after == before

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


# ---- numbers and words --------------------------------------------------------------------------------------


def column(name, values):
    kind = "text" if isinstance(values[0], str) else "number"
    return {"name": name, "kind": kind, "values": values}


def test_a_line_with_a_unit_of_its_own_has_the_decimals_that_it_needs(visit, tmp_path):
    values = {"mean": [0.475, 1115.711, 0.0625], "± sd": [None, 221.521, 0.00125]}
    columns = [{"name": "parameter", "kind": "text", "values": ["weight", "proline", "ash"]}]
    columns += [{"name": name, "kind": "number", "values": each} for name, each in values.items()]
    seen = visit(page(tmp_path, {"kind": "table", "title": "Table", "columns": columns, "lines": True}))
    lines = [line.locator("td").all_inner_texts() for line in seen.card("Table").locator("tbody tr").all()]
    assert lines == [["weight", "0.475", ""], ["proline", "1116", "221.5"], ["ash", "0.06250", "0.00125"]]


def test_counts_beside_measurements_have_no_decimals(visit, tmp_path):
    values = {"missing": [12, 7], "mean": [0.4421, 25.5], "max": [1, 99]}
    columns = [{"name": "column", "kind": "text", "values": ["V1", "V2"]}]
    columns += [column(name, each) for name, each in values.items()]
    seen = visit(page(tmp_path, {"kind": "table", "title": "Table", "columns": columns, "lines": True}))
    lines = [line.locator("td").all_inner_texts() for line in seen.card("Table").locator("tbody tr").all()]
    assert lines == [["V1", "12", "0.4421", "1"], ["V2", "7", "25.50", "99"]]


def test_numbers_of_a_column_have_the_same_decimals(visit, tmp_path):
    columns = [
        column("share", [0.9982, 0.5, 8.57e-6]),
        column("count", [12, 7, 123456]),
        column("size", [13.2, 10, 8.1]),
    ]
    seen = visit(page(tmp_path, {"kind": "table", "title": "Table", "columns": columns}))
    shown = np.reshape(seen.card("Table").locator("td").all_inner_texts(), (3, 3)).T.tolist()
    assert shown == [["0.9982", "0.5000", "8.57e-6"], ["12", "7", "123456"], ["13.2", "10.0", "8.1"]]


def test_sentences_start_with_a_capital_letter_and_options_do_not_break(visit, tmp_path):
    texts = ["column 'a' is left out with --drop a.", "'b' stays.", "n_init=3 is small."]
    chart = {"kind": "text", "title": "Words", "paragraphs": [*texts, "--text " + "V1," * 80]}
    seen = visit(page(tmp_path, chart), width=390)
    shown = seen.card("Words").locator("p").all_inner_texts()
    assert shown[:3] == ["Column 'a' is left out with --drop a.", *texts[1:]]
    assert seen.card("Words").locator("code").all_inner_texts() == ["--drop", "--text"]
    assert seen.page.evaluate("document.documentElement.scrollWidth") == 390


def test_numbers_on_cells_have_a_minus_sign(visit, tmp_path):
    chart = heat(VALUES, "diverging", [-1.0, 1.0])
    chart["marks"][0]["data"]["text"] = [f"{value:.1f}" for value in VALUES.ravel()]
    seen = visit(page(tmp_path, chart))
    shown = seen.card("Heat").locator("[aria-label=text] text").all_text_contents()
    assert shown == [f"{value:.1f}".replace("-", "−") for value in VALUES.ravel()]


def test_many_narrow_cells_have_no_stripes_between_them(visit, tmp_path):
    names = [str(i) for i in range(200)]
    cells = {"x": names, "y": ["all"] * 200, "fill": [1.0] * 200}
    chart = heat(VALUES, "sequential", [0.0, 1.0]) | {"marks": [{"type": "cell", "data": cells}]}
    seen = visit(page(tmp_path, chart))
    boxes = (
        seen.card("Heat")
        .locator("[aria-label=cell] rect")
        .evaluate_all("(all) => all.map((n) => [Number(n.getAttribute('x')), Number(n.getAttribute('width'))])")
    )
    left, wide = np.array(boxes).T
    np.testing.assert_allclose(left[1:], (left + wide)[:-1], atol=1e-6)


def test_an_axis_that_is_cut_leaves_out_what_lies_beyond(visit, tmp_path):
    data = {"x": [1, 2, 3], "y": [100.0, 2.0, 1.0]}
    layers = [{"type": kind, "data": data, "colour": 0} for kind in ("line", "dot")]
    axis = {"label": "y", "domain": [0.0, 4.0], "cut": True}
    chart = {"kind": "marks", "title": "Cut", "marks": layers, "x": {"label": "x"}, "y": axis}
    seen = visit(page(tmp_path, chart))
    assert seen.card("Cut").locator("[aria-label=dot] circle").count() == 2
    assert seen.card("Cut").locator("[aria-label=line][clip-path], [aria-label=line] [clip-path]").count() == 1


def test_the_unit_of_arrows_is_not_covered_by_names(visit, tmp_path):
    rng = np.random.default_rng(0)
    chart = points("Biplot", rng.standard_normal(60), 0.2 * rng.standard_normal(60), equal=True, stretch=True)
    seen = visit(page(tmp_path, chart | {"arrows": [{"at": [30.0, 0.0], "label": "a"}]}))
    boxes = (
        seen.stage("Biplot")
        .locator("text.unit, text.name")
        .evaluate_all(
            "(all) => all.map((n) => [n.matches('.unit'), ...Object.values(n.getBoundingClientRect().toJSON())])"
        )
    )
    (unit,) = [each[1:] for each in boxes if each[0]]
    names = np.array([each[1:] for each in boxes if not each[0]])
    x, y, wide, high = unit[:4]
    apart = (
        (names[:, 0] > x + wide)
        | (names[:, 0] + names[:, 2] < x)
        | (names[:, 1] > y + high)
        | (names[:, 1] + names[:, 3] < y)
    )
    assert len(names) > 5
    assert apart.all()

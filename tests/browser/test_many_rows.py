"""Pages of many rows in a real browser: drawn dot by dot, and as usable as those of few."""

from __future__ import annotations

import re

import numpy as np
import pytest

from browser.made import floats, many, written

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("n", [10_000, 200_000])
def test_many_rows_are_drawn_and_selected_in_both_charts(visit, tmp_path, n):
    seen = visit(written(tmp_path, many(n)))
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, n)).astype(np.float32)
    far = np.argsort(-np.hypot(x, y))[:5]
    assert seen.colours("Cloud", seen.places("Cloud", x[far], y[far]))[:, 3].min() > 20
    seen.lasso("Cloud", seen.places("Cloud", [1.0, 5.5, 5.5, 1.0], [1.0, 1.0, 5.5, 5.5]))
    seen.page.locator(".selected [role=status]", has_text="rows selected").wait_for()
    seen.settle()
    said = seen.page.locator(".selected [role=status]").inner_text()
    count = int(re.match(r"([\d,]+) of", said).group(1).replace(",", ""))
    slack = 0.01  # a pixel of the lasso's edge
    least, most = (np.sum((x > 1.0 + s) & (y > 1.0 + s)) for s in (slack, -slack))
    assert least <= count <= most
    inside = np.argsort(-(x + y))[:3]
    assert seen.colours("Turned", seen.places("Turned", y[inside], -x[inside]))[:, 3].min() > 200
    seen.page.mouse.move(*seen.mouse("Cloud", seen.places("Cloud", x[far], y[far])[0]))
    assert seen.stage("Cloud").locator(".tip strong").inner_text() == f"row {far[0] + 1}"


def test_many_charts_are_all_drawn(visit, tmp_path):
    """Each is drawn when it comes into view; all share one sheet."""
    found = many(4_000)
    charts = found["pages"][0]["charts"]
    found["pages"][0]["charts"] = [charts[0] | {"title": f"Chart {i}"} for i in range(20)]
    seen = visit(written(tmp_path, found))
    x, y = np.random.default_rng(0).standard_normal((2, 4_000))
    for i in (0, 10, 19):
        seen.stage(f"Chart {i}").scroll_into_view_if_needed()
        seen.stage(f"Chart {i}").locator("text.tick").first.wait_for()
        assert seen.colours(f"Chart {i}", seen.places(f"Chart {i}", x[:50], y[:50]))[:, 3].min() > 100


def test_shades_of_all_rows_lie_behind_the_sample(visit, tmp_path):
    found = many(100)
    cells = {"x0": -4.0, "x1": 4.0, "y0": -4.0, "y1": 4.0, "width": 2, "height": 2, "counts": [9.0, 0.0, 0.0, 1.0]}
    found["pages"][0]["charts"][0]["density"] = cells
    seen = visit(written(tmp_path, found))
    corners = seen.places("Cloud", [-2.1, 2.1, -2.1, 2.1], [-2.1, -2.1, 2.1, 2.1])
    opacity = seen.colours("Cloud", corners)[:, 3]
    assert opacity[[0, 3]].min() > 50
    assert opacity[[1, 2]].max() == 0


def test_dots_lie_where_the_axes_say_and_blend_as_light_does(visit, tmp_path):
    """A lone point far out has its own colour; where points crowd the paper is covered."""
    n = 4_000
    found = many(n)
    x, y = np.random.default_rng(0).standard_normal((2, n))
    x[0], y[0] = 9.0, 9.0
    found["pages"][0]["charts"][0] |= {"x": floats(x), "y": floats(y)}
    seen = visit(written(tmp_path, found))
    lone, *crowd = seen.places("Cloud", [9.0, 0.0, 0.02], [9.0, 0.0, 0.02])
    alone = seen.colours("Cloud", [lone])[0]
    assert alone[3] == pytest.approx(0.85 * 255, abs=3)
    assert seen.colours("Cloud", crowd)[:, 3].min() > alone[3]
    around = [(lone[0] + dx, lone[1] + dy) for dx in (-4.5, 0.0, 4.5) for dy in (-4.5, 0.0, 4.5) if dx or dy]
    assert seen.colours("Cloud", around)[:, 3].max() == 0


def test_one_row_far_off_leaves_a_way_to_the_others(visit, tmp_path):
    found = many(400)
    x, y = np.random.default_rng(0).standard_normal((2, 400))
    x[0] = 1e6
    found["pages"][0]["charts"][0] |= {"x": floats(x), "y": floats(y)}
    seen = visit(written(tmp_path, found))
    assert seen.card("Turned").get_by_role("button", name="Zoom to most rows").count() == 0
    before = seen.axis("Cloud", up=False)[0]
    seen.card("Cloud").get_by_role("button", name="Zoom to most rows").click()
    seen.settle()
    assert seen.axis("Cloud", up=False)[0] > 1e4 * before
    low, high = np.sort(x)[[4, -5]]  # all but 1% at either end, and some room
    ends = np.polyval(seen.axis("Cloud", up=False), [low - 0.07 * (high - low), high + 0.07 * (high - low)])
    rule = seen.stage("Cloud").locator("line.rule").last
    np.testing.assert_allclose(ends, [float(rule.get_attribute(name)) for name in ("x1", "x2")], atol=1.0)
    most = seen.places("Cloud", *np.quantile([x, y], [0.1, 0.9], axis=1).T)
    box = seen.stage("Cloud").bounding_box()
    assert most.min() > 0
    assert (most < [box["width"], box["height"]]).all()
    seen.card("Cloud").get_by_role("button", name="Reset view").click()
    seen.settle()
    assert seen.axis("Cloud", up=False)[0] == pytest.approx(before)


def test_one_row_found_among_many_is_seen(visit, tmp_path):
    n = 60_000
    seen = visit(written(tmp_path, many(n)))
    x, y = np.random.default_rng(0).standard_normal((2, n))
    row = int(np.argmin(np.hypot(x, y)))  # where the others are thickest
    seen.page.get_by_label("Find").fill(f"row {row + 1}")
    seen.page.locator(".selected [role=status]", has_text=f"row {row + 1}").wait_for()
    place = seen.places("Cloud", [x[row]], [y[row]])[0]
    around = [place, place - [2.0, 0.0], place - [0.0, 2.0]]
    assert seen.colours("Cloud", around)[:, 3].min() > 250

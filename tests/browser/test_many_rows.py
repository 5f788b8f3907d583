"""Pages of many rows in a real browser: drawn by WebGL, and as usable as those of few."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest

from browser.made import many, written
from browser.visitor import FLAGS, Visit

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("n", [10_000, 200_000])
def test_many_rows_are_drawn_and_selected_in_both_charts(visit, tmp_path, n):
    seen = visit(written(tmp_path, many(n)))
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, n)).astype(np.float32)
    far = np.argsort(-np.hypot(x, y))[:5]
    assert seen.colours("Cloud", seen.places("Cloud", x[far], y[far]))[:, 3].min() > 20
    seen.lasso("Cloud", seen.places("Cloud", [1.0, 5.5, 5.5, 1.0], [1.0, 1.0, 5.5, 5.5]))
    seen.page.wait_for_timeout(300)
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
    """Browsers allow a page some sixteen WebGL contexts: charts must share one."""
    found = many(4_000)
    charts = found["pages"][0]["charts"]
    found["pages"][0]["charts"] = [charts[0] | {"title": f"Chart {i}"} for i in range(20)]
    seen = visit(written(tmp_path, found))
    x, y = np.random.default_rng(0).standard_normal((2, 4_000))
    for i in (0, 10, 19):
        seen.stage(f"Chart {i}").scroll_into_view_if_needed()
        seen.page.wait_for_timeout(150)
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


def test_without_webgl_points_are_drawn_all_the_same(chromium, tmp_path):
    browser = chromium.browser_type.launch(executable_path=shutil.which("chromium"), args=[*FLAGS, "--disable-3d-apis"])
    try:
        seen = Visit(browser, written(tmp_path, many(4_000)))
        assert seen.page.evaluate("document.createElement('canvas').getContext('webgl2')") is None
        x, y = np.random.default_rng(0).standard_normal((2, 4_000))
        assert seen.colours("Cloud", seen.places("Cloud", x[:50], y[:50]))[:, 3].min() > 100
        seen.complaints.clear()  # the browser says that it has no WebGL
        seen.leave()
    finally:
        browser.close()

"""Points where they belong to a part of a pixel, and numbers with the digits that they have."""

from __future__ import annotations

import csv
import io
from itertools import pairwise

import numpy as np
import pytest

from browser.made import bars, floats, many, points, report, written
from eigenlens import PCA, GaussianMixture
from eigenlens import report as make_report

pytestmark = pytest.mark.browser

OPACITY = """(canvas) => {
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  const values = Array.from({ length: width * height }, (_, i) => data[4 * i + 3]);
  return { width, height, across: canvas.getBoundingClientRect().width, values };
}"""
BOXES = "(all) => all.map((each) => [each.y, each.height, each.width].map((side) => side.baseVal.value))"
GREYS = """(all) => all.map((canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return Array.from({ length: canvas.width * canvas.height }, (_, i) => data[4 * i]);
})"""


def opacity(seen, title):
    """(height, width) of the canvas, and its dots a pixel."""
    seen.settle()
    found = seen.stage(title).locator("canvas").evaluate(OPACITY)
    return np.array(found["values"]).reshape(found["height"], found["width"]), found["width"] / found["across"]


def middles(image, places, reach):
    """(n, 2) the centre of what is drawn about each place, in dots."""
    found = []
    for x, y in places:
        i0, j0 = int(y) - reach, int(x) - reach
        box = image[i0 : i0 + 2 * reach, j0 : j0 + 2 * reach].astype(float)
        i, j = np.indices(box.shape) + 0.5
        found.append([(box * j).sum() / box.sum() + j0, (box * i).sum() / box.sum() + i0])
    return np.array(found)


def apart(n):
    """A report whose first points are alone, and the others in a corner; (x, y) of the first."""
    x, y = (axis.ravel() for axis in np.meshgrid(np.linspace(-7.0, 9.0, 8), np.linspace(-7.0, 9.0, 5)))
    x, y = (values + np.random.default_rng(k).uniform(-0.3, 0.3, 40) for k, values in enumerate((x, y)))
    found = many(n)
    found["pages"][0]["charts"][0] |= {
        axis: floats(np.append(values, np.full(n - 40, -9.0))) for axis, values in (("x", x), ("y", y))
    }
    return found, np.float32(x), np.float32(y)


@pytest.mark.parametrize(("n", "across"), [(1_000, 6.0), (4_000, 6.0), (60_000, 2.5)])
@pytest.mark.parametrize("ratio", [1.0, 2.0])
def test_points_lie_where_the_axes_say_to_an_eighth_of_a_dot(visit, tmp_path, n, across, ratio):
    found, x, y = apart(n)
    seen = visit(written(tmp_path, found), ratio=ratio)
    image, dots = opacity(seen, "Cloud")
    assert dots == pytest.approx(ratio, rel=2e-3)
    places = seen.places("Cloud", x, y) * dots
    assert np.abs(middles(image, places, round(14 * ratio)) - places).max() < 0.2
    alone = image[: int(places[0][1]) + 20]
    wide = np.sqrt(4.0 / np.pi * (alone > alone.max() / 2).sum() / np.count_nonzero(places[:, 1] < len(alone) - 20))
    assert wide / ratio == pytest.approx(across, abs=1.2)


def test_points_grow_as_they_are_looked_at_more_closely(visit, tmp_path):
    found, x, y = apart(60_000)
    seen = visit(written(tmp_path, found))
    drawn = []
    for _ in range(2):
        image, _ = opacity(seen, "Cloud")
        place = seen.places("Cloud", x[19:20], y[19:20])[0].astype(int)
        box = image[place[1] - 12 : place[1] + 12, place[0] - 12 : place[0] + 12]
        drawn.append((np.count_nonzero(box), box.max()))
        for _ in range(3):
            seen.card("Cloud").get_by_role("button", name="Zoom in").click()
    assert drawn[1][0] > 1.5 * drawn[0][0]
    assert drawn[1][1] > 1.3 * drawn[0][1]


def test_of_points_at_one_place_the_one_on_top_is_named(visit, tmp_path):
    found = many(400)
    x, y = np.random.default_rng(0).standard_normal((2, 400))
    x[[3, 200, 377]], y[[3, 200, 377]] = 5.0, 5.0
    found["pages"][0]["charts"][0] |= {"x": floats(x), "y": floats(y)}
    seen = visit(written(tmp_path, found))
    seen.page.mouse.move(*seen.mouse("Cloud", seen.places("Cloud", [5.0], [5.0])[0]))
    assert seen.stage("Cloud").locator(".tip strong").inner_text() == "row 378"


# ---- numbers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "high"), [(2e5, 2.3e6), (1.7e9, 1.7e9 + 8.0), (-3e-8, 9e-8), (1e8, 1e8 + 0.3)])
def test_ticks_are_distinguished(visit, tmp_path, low, high):
    found = report()
    found["pages"][1]["charts"][0] = points("Grid", np.linspace(low, high, 60), np.linspace(low, high, 60))
    seen = visit(written(tmp_path, found), page="page-points")
    for side in ("end", "middle"):
        names = seen.stage("Grid").locator(f"text.tick[text-anchor={side}]").all_text_contents()
        assert len(set(names)) == len(names) >= 3


def test_numbers_close_together_and_far_from_zero_keep_their_digits(visit, tmp_path):
    X = np.random.default_rng(0).standard_normal((300, 2)) + np.array([1e8, 1.7e9])
    model = GaussianMixture(1).fit(X)
    seen = visit(make_report(model, X, tmp_path / "x.html"), page="page-1-gaussianmixture")
    title = "x0 and x1"
    across = seen.axis(title, up=False)
    place = np.polyval(across, X[:, 0]), np.polyval(seen.axis(title, up=True), X[:, 1])
    far = int(np.argmax(np.hypot(*(X - X.mean(axis=0)).T)))
    seen.page.mouse.move(*seen.mouse(title, (place[0][far], place[1][far])))
    said = seen.stage(title).locator(".tip").inner_text().splitlines()
    assert said[0] == f"row {far + 1}"
    np.testing.assert_allclose([float(line.split(": ")[1]) for line in said[1:3]], X[far], atol=1e-3, rtol=0)
    saved = seen.download(seen.card(title).get_by_role("button", name="Save the numbers"))
    values = np.array([line[1:] for line in csv.reader(io.StringIO(saved.read_text(encoding="utf-8")))][1:], float)
    np.testing.assert_allclose(values, X, atol=1e-6, rtol=0)


def test_files_have_the_digits_that_were_kept_and_no_others(visit, tmp_path):
    found = many(300)
    seen = visit(written(tmp_path, found))
    saved = seen.download(seen.card("Cloud").get_by_role("button", name="Save the numbers"))
    lines = list(csv.reader(io.StringIO(saved.read_text(encoding="utf-8"))))[1:]
    x, y = np.random.default_rng(0).standard_normal((2, 300)).astype(np.float32)
    assert [line[1:] for line in lines] == [[str(float(str(a))), str(float(str(b)))] for a, b in zip(x, y, strict=True)]


# ---- bars, pictures and paper -----------------------------------------------------------------------------------


def test_bars_that_lie_share_the_band_of_their_name(visit, tmp_path):
    wide = np.random.default_rng(2).standard_normal((80, 50))
    model = PCA(3).fit(wide)
    seen = visit(make_report(model, wide, tmp_path / "x.html"), page="page-1-pca")
    card = seen.card("Contributions of columns")
    card.scroll_into_view_if_needed()
    first, second = (
        group.locator("rect").evaluate_all(BOXES)
        for group in card.locator("g[aria-label=bar]").all()
    )  # fmt: skip
    first, second = np.array(first), np.array(second)
    assert len(first) == len(second) == 30
    assert np.all(second[:, 0] >= first[:, 0] + first[:, 1] - 0.5)
    assert np.all(second[:-1, 0] + second[:-1, 1] <= first[1:, 0])
    V = 100.0 * model.components_[:2] ** 2
    order = [int(name[1:]) for name in card.locator("[aria-label='y-axis tick label'] text").all_text_contents()]
    np.testing.assert_allclose(first[:, 2] / first[0, 2], V[0, order] / V[0, order[0]], atol=0.01)
    np.testing.assert_allclose(second[:, 2] / first[0, 2], V[1, order] / V[0, order[0]], atol=0.01)
    names = card.locator("[aria-label='y-axis tick label'] text").evaluate_all(
        "(all) => all.map((t) => [t.getBoundingClientRect().top, t.getBoundingClientRect().bottom])"
    )
    assert all(a[1] <= b[0] + 3 for a, b in pairwise(names))


def test_images_have_one_scale(visit, tmp_path):
    found = report()
    (chart,) = [each for each in found["pages"][1]["charts"] if each["title"] == "Pictures"]
    chart["range"] = [0.0, 4.0]
    seen = visit(written(tmp_path, found), page="page-points")
    greys = np.array(seen.card("Pictures").locator("canvas").evaluate_all(GREYS))
    np.testing.assert_allclose(greys, 255.0 - np.minimum(255.0, np.arange(4.0) * [[1.0], [2.0]] * 255.0 / 4.0), atol=1)


def test_a_wide_table_does_not_make_the_paper_wider(visit, tmp_path):
    found = report()
    columns = [{"name": f"a column {j}", "kind": "number", "values": [1.23456789]} for j in range(30)]
    found["pages"][0]["charts"].append({"kind": "table", "title": "Wide", "columns": columns})
    found["pages"][2]["charts"] = [bars("More", [1.0, 2.0, 3.0])]
    seen = visit(written(tmp_path, found), width=720)
    seen.page.emulate_media(media="print")
    seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    seen.settle()
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 720
    heads = seen.card("Wide").locator("th").evaluate_all("(all) => all.filter((n) => n.checkVisibility()).length")
    assert 8 <= heads < 20
    assert seen.card("Wide").get_by_text(f"On paper the first {heads} of 30 columns").is_visible()


def test_the_page_opens_with_the_colours_that_are_asked_for(visit, tmp_path):
    found = report()
    for place, name in ((1, "height"), (-1, "one colour"), (None, "group")):
        found["rows"] |= {} if place is None else {"colour": place}
        if place is None:
            del found["rows"]["colour"]
        seen = visit(written(tmp_path, found), page="page-points")
        chosen = seen.page.get_by_label("Colour by").evaluate("(each) => each.selectedOptions[0].textContent")
        assert chosen == name

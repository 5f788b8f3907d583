"""Charts of real reports in a real browser: tooltips, names on cells, saved images, regions, and many rows."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest

import eigenlens
from browser.made import ACROSS, UP, points, report, written
from eigenlens import datasets

pytestmark = pytest.mark.browser

ON_CELLS = """(card) => {
  const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (c) => c.slice(0, 3).reduce((sum, v, i) => sum + linear(v / 255) * [0.2126, 0.7152, 0.0722][i], 0);
  const rects = [...card.querySelectorAll("[aria-label=cell] rect")];
  return [...card.querySelectorAll("[aria-label=text] text")].map((text, i) => {
    const [a, b] = [text, rects[i]].map((n) => light(parse(getComputedStyle(n).fill))).sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  });
}"""
"""The contrast of every text with the cell that it stands on."""

N = 150
RNG = np.random.default_rng(0)
GROUP = np.array(["ash", "birch", "oak"])[np.arange(N) % 3]
LEAVES = pd.DataFrame(
    RNG.standard_normal((N, 3)) + 3.0 * np.eye(3)[np.arange(N) % 3], columns=["length", "width", "weight"]
)


@pytest.fixture(scope="module")
def leaves(chromium, tmp_path_factory):
    """A classifier and a PCA of leaves."""
    models = {"bayes": eigenlens.NaiveBayes().fit(LEAVES, GROUP), "pca": eigenlens.PCA(2).fit(LEAVES)}
    return eigenlens.report(models, LEAVES, tmp_path_factory.mktemp("leaves") / "r.html", GROUP)


@pytest.fixture(scope="module")
def digits(chromium, tmp_path_factory):
    X = datasets.load("digits").data[:200]
    return eigenlens.report(eigenlens.PCA(5).fit(X), X, tmp_path_factory.mktemp("digits") / "r.html"), X


def opened(visit, path, page):
    seen = visit(path)
    seen.page.get_by_role("tab", name=page).click()
    seen.settle()
    return seen


# ---- tips ---------------------------------------------------------------------------------------------------


def tips(seen, title, across, up):
    """What the tips of a chart say with the pointer at a share of its width and height."""
    picture = seen.card(title).locator(".plot > svg, .plot figure > svg:last-of-type")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    seen.page.mouse.move(box["x"] + across * box["width"], box["y"] + up * box["height"])
    seen.settle()
    shown = [tip for tip in seen.card(title).locator(".tip").all() if tip.is_visible()]
    return [tip.inner_text().replace("\n", " ") for tip in shown]


def test_of_many_layers_one_tip_is_seen(digits, leaves, visit):
    seen = opened(visit, digits[0], "PCA")
    found = [tips(seen, "Scree", across, up) for across in (0.3, 0.6, 0.9) for up in (0.2, 0.8)]
    assert [len(each) for each in found] == [1] * 6
    assert "cumulative" in found[0][0]
    assert len({each[0] for each in found}) == 6
    (said,) = tips(opened(visit, leaves, "pca"), "Contributions of columns", 0.5, 0.6)
    assert "% of the component" in said


def test_the_tip_of_an_arrow_names_its_column(leaves, visit):
    seen = opened(visit, leaves, "pca")
    places = [(across, up) for across in np.linspace(0.3, 0.8, 6) for up in np.linspace(0.2, 0.8, 4)]
    found = [each for each in (tips(seen, "Correlation circle", *place) for place in places) if each]
    assert {len(each) for each in found} == {1}
    assert len({each[0] for each in found}) >= 2
    words = r"(length|width|weight): -?\d\.\d{3} with PC1, -?\d\.\d{3} with PC2"
    assert all(re.fullmatch(words, each[0]) for each in found)


@pytest.mark.parametrize(("page", "title"), [("bayes", "Confusion"), ("pca", "cos² of columns")])
def test_names_on_cells_can_be_read(leaves, visit, page, title):
    seen = opened(visit, leaves, page)
    found = seen.card(title).evaluate(ON_CELLS)
    assert len(found) >= 6
    assert min(found) >= 4.5


# ---- regions ------------------------------------------------------------------------------------------------


def test_rows_on_decision_regions_are_linked_with_all_others(leaves, visit):
    seen = opened(visit, leaves, "bayes")
    title = "Decision regions"
    labels = seen.stage(title).locator("text.label").all_text_contents()
    x, y = (LEAVES[name].to_numpy() for name in labels)
    low, high = np.quantile(x, 0.7), x.max() + 0.1
    seen.lasso(title, seen.places(title, [low, high, high, low], [y.min(), y.min(), y.max(), y.max()]))
    said = seen.page.locator(".selected [role=status]").inner_text()
    count = int(said.split(" ")[0])
    assert abs(count - np.sum(x > low)) <= 2
    seen.page.get_by_role("tab", name="pca").click()
    seen.settle()
    assert seen.page.locator(".selected [role=status]").inner_text() == said
    seen.page.get_by_role("tab", name="bayes").click()
    place = seen.places(title, x, y)[int(x.argmax())]
    seen.page.mouse.move(*seen.mouse(title, place))
    assert seen.stage(title).locator(".tip strong").inner_text() == f"row {x.argmax() + 1}"


def hues(seen, title, places):
    found = seen.colours(title, places)[:, :3].astype(int)
    return [tuple(colour) for colour in found.tolist()]


def test_regions_have_the_colours_of_their_classes(leaves, visit):
    seen = opened(visit, leaves, "bayes")
    title = "Decision regions"
    entries = seen.card(title).locator(".legend .entry")
    assert entries.all_inner_texts() == ["ash", "birch", "oak"]
    mine = entries.locator(".swatch").evaluate_all("(all) => all.map((n) => getComputedStyle(n).backgroundColor)")
    bar = seen.page.locator(".bar .legend .swatch")
    assert bar.evaluate_all("(all) => all.map((n) => getComputedStyle(n).backgroundColor)") == mine
    box = seen.stage(title).bounding_box()
    corners = [[box["width"] - 22.0, 20.0], [box["width"] - 22.0, 368.0]]
    found = hues(seen, title, corners)
    allowed = [tuple(map(int, re.findall(r"\d+", colour))) for colour in mine]
    for colour in found:
        assert min(np.abs(np.subtract(colour, each)).max() for each in allowed) < 12
    seen.page.get_by_label("Colour by").select_option("weight")
    assert hues(seen, title, corners) == found


def test_edges_of_regions_are_smooth(visit, tmp_path):
    """Between the middles of two cells the strength of the colour goes evenly from one to the other."""
    found = report()
    box = {"width": 2, "height": 1, "x0": 0.0, "x1": 9.0, "y0": 0.0, "y1": 5.0}
    regions = box | {"classes": ["first", "second"], "codes": [0, 0], "sure": [0.0, 1.0]}
    found["pages"][0]["charts"] = [points("Regions", ACROSS, UP, regions=regions)]
    seen = visit(written(tmp_path, found))
    across = np.array([2.25, 3.6, 4.4, 5.4, 6.75])
    strength = seen.colours("Regions", seen.places("Regions", across, np.full(5, 2.5)))[:, 3]
    np.testing.assert_allclose(strength / 255, np.interp(across, [2.25, 6.75], [0.1, 0.42]), atol=0.03)


# ---- files --------------------------------------------------------------------------------------------------


def test_a_row_that_is_an_image_is_shown_in_its_tip_and_when_selected(digits, visit):
    path, X = digits
    seen = opened(visit, path, "PCA")
    Z = eigenlens.PCA(5).fit_transform(X)[:, :2]
    far = int(np.argmax(Z[:, 0]))
    place = seen.mouse("Scores", seen.places("Scores", *Z[[far]].T)[0])
    seen.page.mouse.move(*place)
    shades = seen.stage("Scores").locator(".tip canvas").evaluate(
        "(n) => [...n.getContext('2d').getImageData(0, 0, 8, 8).data].filter((_, i) => i % 4 === 0)"
    )  # fmt: skip
    np.testing.assert_allclose(shades, 255.0 * (1.0 - X[far] / X.max()), atol=0.6)
    box, tip = (seen.stage("Scores").locator(each).bounding_box() for each in (".tip canvas", ".tip"))
    assert box["width"] == box["height"] < 100
    assert box["y"] + box["height"] <= tip["y"] + tip["height"]
    seen.page.mouse.click(*place)
    assert seen.page.get_by_role("img", name=f"row {far + 1} as an image").count() == 1
    assert seen.page.locator(".pictures canvas").count() == 1


def test_images_of_rows_are_files_too(digits, visit):
    path, X = digits
    seen = opened(visit, path, "PCA")
    card = seen.card("Reconstruction")
    text = seen.download(card.get_by_role("button", name="Save the numbers")).read_text(encoding="utf-8")
    head, *lines = csv.reader(io.StringIO(text))
    assert head[:3] == ["pixel (row, column)", "row 1", "row 2"]
    np.testing.assert_allclose(np.array([line[1:3] for line in lines], dtype=float), X[:2].T)
    tree = ElementTree.parse(seen.download(card.get_by_role("button", name="Save the picture as SVG")))
    assert len(list(tree.iter("{http://www.w3.org/2000/svg}image"))) == 16
    png = seen.download(card.get_by_role("button", name="Save the picture as PNG")).read_bytes()
    assert png.startswith(b"\x89PNG")
    assert len(png) > 5_000
    labels = card.locator("canvas[role=img]").evaluate_all("(all) => all.map((n) => n.ariaLabel)")
    assert labels[:1] + labels[-1:] == ["row 1", "row 8, built again"]


def test_the_plot_of_a_slider_has_all_its_charts(leaves, visit):
    seen = opened(visit, leaves, "pca")
    tree = ElementTree.parse(
        seen.download(seen.card("Reconstruction").get_by_role("button", name="Save the picture as SVG"))
    )
    bars = [each for each in tree.iter() if each.get("aria-label") == "bar"]
    assert len(bars) == 3
    words = "".join(tree.getroot().itertext())
    assert all(f"row {i}" in words for i in (1, 2, 3))


# ---- many rows ----------------------------------------------------------------------------------------------


def test_more_rows_than_are_points_have_a_density_behind_a_stated_sample(visit, tmp_path):
    n = 201_000
    X = RNG.standard_normal((n, 3)) + 4.0 * (np.arange(n) % 2)[:, None]
    models = {"PCA": eigenlens.PCA(2).fit(X), "mixture": eigenlens.GaussianMixture(2, n_init=1, random_state=0).fit(X)}
    path = eigenlens.report(models, X, tmp_path / "r.html")
    assert path.stat().st_size < 10_000_000
    seen = opened(visit, path, "PCA")
    title = "Scores"
    seen.stage(title).scroll_into_view_if_needed()
    seen.settle()
    assert "200,000 of 201,000 rows, drawn at random, are shown as points." in seen.page.locator(".bar").inner_text()
    assert "the shades behind count all 201,000 rows" in seen.card(title).inner_text()
    box = seen.stage(title).bounding_box()
    corners = [[0.3, 0.1], [0.9, 0.1], [0.9, 0.8], [0.3, 0.8]]
    seen.lasso(title, [[x * box["width"], y * box["height"]] for x, y in corners])
    said = seen.page.locator(".selected [role=status]").inner_text()
    count = int(said.split(" ")[0].replace(",", ""))
    assert 1_000 < count < 200_000
    seen.page.get_by_role("tab", name="mixture").click()
    seen.settle()
    assert seen.page.locator(".selected [role=status]").inner_text() == said


def test_rows_of_a_sample_are_called_by_their_places_exactly(visit, tmp_path):
    n = 201_000
    X = RNG.standard_normal((n, 2))
    model = eigenlens.PCA(2).fit(X)
    seen = opened(visit, eigenlens.report(model, X, tmp_path / "r.html"), "PCA")
    title, Z = "Scores", model.transform(X)
    far = np.argsort(-np.hypot(*Z.T))[:15]
    told = []
    for place in seen.places(title, *Z[far].T):
        seen.page.mouse.move(*seen.mouse(title, place))
        if seen.stage(title).locator(".tip").is_visible():
            told.append(seen.stage(title).locator(".tip").inner_text().split("\n")[:3])
    assert len(told) > 8
    for name, *scores in told:
        found = [float(score.split(": ")[1]) for score in scores]
        np.testing.assert_allclose(found, Z[int(name.removeprefix("row ")) - 1], atol=2e-3)

"""Scatter plots in a real browser: pairs of axes, names at any number of rows, groups, supplementary parts."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from browser.made import floats, listed, many, written
from eigenlens.tables.ellipses import group_ellipses

pytestmark = pytest.mark.browser

N = 300
RNG = np.random.default_rng(1)
GROUPS = np.array(["ash", "birch", "oak"])[np.arange(N) % 3]
Z = RNG.standard_normal((N, 4)) * [4.0, 2.0, 1.0, 0.5] + 5.0 * np.eye(3, 4)[np.arange(N) % 3]
IDS = [f"tree {i:03d}" for i in range(N)]
LABELS = ["PC1 (60.0%)", "PC2 (20.0%)", "PC3 (15.0%)", "PC4 (5.0%)"]
ARROWS = [
    {"label": "height", "at": [0.4, 0.1, 0.0, 0.2]},
    {"label": "age", "at": [-0.1, 0.3, 0.5, 0.0], "dash": True},
]


def axes(values, **more):
    """A chart of the rows on several axes."""
    shown = [{"label": label, "values": listed(each)} for label, each in zip(LABELS, values.T, strict=False)]
    return {"kind": "rows", "title": "Scores", "equal": True, "axes": shown} | more


def report(chart, **more):
    columns = [
        {"name": "kind", "kind": "text", "values": GROUPS.tolist()},
        {"name": "size", "kind": "number", "values": listed(Z[:, 0])},
    ]
    rows = {"total": N, "shown": N, "note": "", "ids": IDS, "columns": columns} | more
    pages = [{"id": "all", "title": "All", "charts": [chart, axes(-Z) | {"title": "Mirrored"}]}]
    return {"title": "Trees", "subtitle": "", "version": "0", "rows": rows, "pages": pages}


@pytest.fixture
def open_chart(visit, tmp_path):
    """Open a page of one chart beside another of the same rows."""
    return lambda chart, width=1400, scheme="light", **more: visit(
        written(tmp_path, report(chart, **more)), width=width, scheme=scheme
    )


def labels(seen, title="Scores"):
    return seen.stage(title).locator("text.label").all_text_contents()


def choose(seen, label, option, title="Scores"):
    seen.card(title).get_by_label(label, exact=True).select_option(option)
    seen.settle()


# ---- axes ---------------------------------------------------------------------------------------------------


def test_any_two_axes_can_be_chosen(open_chart):
    seen = open_chart(axes(Z))
    assert labels(seen) == LABELS[:2]
    choose(seen, "Up", "PC4 (5.0%)")
    assert labels(seen) == ["PC1 (60.0%)", "PC4 (5.0%)"]
    far = int(np.argmax(Z[:, 0]))
    seen.page.mouse.move(*seen.mouse("Scores", seen.places("Scores", [Z[far, 0]], [Z[far, 3]])[0]))
    said = seen.stage("Scores").locator(".tip").inner_text().split("\n")
    assert said[0] == IDS[far]
    assert float(said[2].removeprefix("PC4 (5.0%): ")) == pytest.approx(Z[far, 3], rel=1e-3)
    assert "PC1 (60.0%) against PC4 (5.0%)" in seen.stage("Scores").get_attribute("aria-label")


def empty(seen, values):
    """The share of the frame's height in which no row lies."""
    rules = seen.stage("Scores").locator("line.rule").first
    high = float(rules.get_attribute("y2")) - float(rules.get_attribute("y1"))
    places = seen.places("Scores", values[:, 0], values[:, 1])[:, 1]
    return 1.0 - np.ptp(places) / high


def test_a_plot_with_equal_units_is_no_higher_than_its_rows_need(open_chart):
    """Rows in a flat strip would otherwise lie in a frame that is mostly empty; the unit is the same on both axes."""
    flat = Z / np.ptp(Z, axis=0) * [10.0, 4.0, 9.0, 0.1]
    seen = open_chart(axes(flat))
    assert seen.stage("Scores").bounding_box()["height"] < 400.0
    assert empty(seen, flat[:, :2]) < 0.2
    assert seen.axis("Scores", up=False)[0] == pytest.approx(-seen.axis("Scores", up=True)[0], rel=1e-2)
    before = seen.stage("Scores").bounding_box()["height"]
    seen.stage("Scores").press("+")
    seen.settle()
    assert seen.stage("Scores").bounding_box()["height"] == before
    choose(seen, "Up", LABELS[2])
    assert seen.stage("Scores").bounding_box()["height"] == 420.0
    choose(seen, "Up", LABELS[3])
    assert seen.stage("Scores").bounding_box()["height"] == 220.0


def test_rows_that_differ_by_rounding_alone_have_one_place(open_chart):
    """Ticks between them would have fifteen digits."""
    values = 38.025 * (1.0 + 2.2e-16 * (np.arange(N) % 5))
    ids = np.arange(N, dtype=float)
    seen = open_chart(axes(np.stack([ids, values], axis=1), equal=False))
    assert max(len(text) for text in seen.stage("Scores").locator("text.tick").all_text_contents()) <= 4


def test_an_axis_that_the_other_has_changes_places_with_it(open_chart):
    seen = open_chart(axes(Z))
    choose(seen, "Across", "PC2 (20.0%)")
    assert labels(seen) == ["PC2 (20.0%)", "PC1 (60.0%)"]
    assert seen.card("Scores").get_by_label("Up", exact=True).input_value() == "0"


def test_the_selection_is_kept_when_axes_change(open_chart):
    seen = open_chart(axes(Z))
    low = np.quantile(Z[:, 0], 0.8)
    left, right = seen.places("Scores", [low, Z[:, 0].max() + 0.5], [0.0, 0.0])[:, 0]
    seen.lasso("Scores", [[left, 14.0], [right, 14.0], [right, 370.0], [left, 370.0]])
    said = seen.page.locator(".selected [role=status]").inner_text()
    count = int(said.split(" ")[0])
    assert count == pytest.approx(np.sum(Z[:, 0] > low), abs=2)
    choose(seen, "Across", "PC3 (15.0%)")
    assert seen.page.locator(".selected [role=status]").inner_text() == said
    opacity = seen.colours("Scores", seen.places("Scores", Z[:, 2], Z[:, 1]))[:, 3]
    assert np.median(opacity[low + 0.3 < Z[:, 0]]) > 240
    assert np.median(opacity[low - 0.3 > Z[:, 0]]) < 120


def test_the_arrows_of_a_biplot_follow_the_axes_in_one_unit(open_chart):
    seen = open_chart(axes(Z, arrows=ARROWS, stretch=True))
    for pair in ((0, 1), (0, 2)):
        choose(seen, "Up", LABELS[pair[1]])
        (across, _), (up, _) = seen.axis("Scores", up=False), seen.axis("Scores", up=True)
        assert across == pytest.approx(-up, rel=1e-2)
        paths = (
            seen.stage("Scores")
            .locator("path.arrow:not(.halo)")
            .evaluate_all("(all) => all.map((n) => n.getAttribute('d'))")
        )
        ends = np.array([[float(v) for v in d.split("L")[1].split()] for d in paths[::2]])
        start = seen.places("Scores", [0.0], [0.0])[0]
        meant = np.array([[each["at"][j] for j in pair] for each in ARROWS]) * [1.0, -1.0]
        factor = (ends - start)[np.abs(meant) > 0.05] / meant[np.abs(meant) > 0.05]
        np.testing.assert_allclose(factor, factor[0], rtol=0.03)
    assert seen.stage("Scores").locator("text.unit").text_content() == "arrows × 20"
    dashed = seen.stage("Scores").locator("path.dashed")
    assert dashed.count() == 1
    assert dashed.evaluate("(n) => getComputedStyle(n).strokeDasharray") != "none"


def test_the_file_of_a_biplot_holds_every_axis_and_the_arrows(open_chart):
    seen = open_chart(axes(Z, arrows=ARROWS, categories=[{"label": "tall", "at": [1.0, 2.0, 3.0, 4.0], "of": "size"}]))
    text = seen.download(seen.card("Scores").get_by_role("button", name="Save the numbers")).read_text(encoding="utf-8")
    head, *rows = csv.reader(io.StringIO(text))
    assert head == [
        "row",
        *LABELS,
        "arrow",
        *(f"arrow: {name}" for name in LABELS),
        "category",
        *(f"category: {name}" for name in LABELS),
    ]
    np.testing.assert_allclose(np.array([row[1:5] for row in rows], dtype=float), Z, rtol=1e-6)
    assert [row[5] for row in rows[:3]] == ["height", "age", ""]
    assert [float(v) for v in rows[1][6:10]] == ARROWS[1]["at"]
    assert rows[0][10:] == ["tall", "1", "2", "3", "4"]


def test_a_factor_of_an_axis_is_in_the_places_and_the_file(open_chart):
    shown = axes(Z[:, :3])
    shown["axes"][0]["times"] = 0.25
    seen = open_chart(shown)
    far = int(np.argmax(Z[:, 0]))
    seen.page.mouse.move(*seen.mouse("Scores", seen.places("Scores", [Z[far, 0] / 4], [Z[far, 1]])[0]))
    assert seen.stage("Scores").locator(".tip strong").inner_text() == IDS[far]


def test_shades_of_all_rows_follow_the_axes(open_chart):
    box = {"x0": -10.0, "x1": 10.0, "y0": -10.0, "y1": 10.0, "width": 2, "height": 2}
    cells = [
        {**box, "pair": [0, 1], "counts": [9.0, 0.0, 0.0, 0.0]},
        {**box, "pair": [1, 2], "counts": [0.0, 9.0, 0.0, 0.0]},
    ]
    seen = open_chart(axes(0.01 * Z[:, :3], span={"x": [-9.0, 9.0], "y": [-9.0, 9.0]}, densities=cells))
    corners = [[-7.0, -7.0], [7.0, -7.0], [-7.0, 7.0], [7.0, 7.0]]
    shaded = lambda: seen.colours("Scores", seen.places("Scores", *np.array(corners).T))[:, 3] > 50  # noqa: E731
    assert shaded().tolist() == [True, False, False, False]
    choose(seen, "Up", LABELS[2])
    assert not shaded().any()
    choose(seen, "Across", LABELS[1])
    assert shaded().tolist() == [False, True, False, False]
    choose(seen, "Across", LABELS[2])
    assert shaded().tolist() == [False, False, True, False]
    assert "rows in a cell: 1" in seen.card("Scores").locator(".legend").inner_text()


# ---- names --------------------------------------------------------------------------------------------------

LYING = """(card) => {
  const boxes = [...card.querySelectorAll("text.name")].map((text) => text.getBoundingClientRect());
  return boxes.filter((a, i) => boxes.some((b, j) => j > i && a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - 3 && b.top < a.bottom - 3)).length;
}"""
"""How many names lie on others."""


def shown_names(seen, title="Scores"):
    return seen.stage(title).locator("text.name").all_text_contents()


def test_names_are_shown_at_any_number_of_rows_and_never_on_each_other(open_chart):
    seen = open_chart(axes(Z))
    found = shown_names(seen)
    assert len(found) > 15
    assert seen.card("Scores").evaluate(LYING) == 0
    far = np.argsort(-np.sum((Z[:, :2] - Z[:, :2].mean(axis=0)) ** 2, axis=1))
    assert {IDS[i] for i in far[:5]} <= set(found)


def test_more_rows_are_named_as_one_zooms_in(open_chart):
    seen = open_chart(axes(Z))
    before = set(shown_names(seen))
    for _ in range(4):
        seen.card("Scores").get_by_role("button", name="Zoom in").click()
    seen.settle()
    inside = set(shown_names(seen))
    assert inside - before
    assert seen.card("Scores").evaluate(LYING) == 0
    a, b = seen.axis("Scores", up=False)
    named = np.array([a * Z[IDS.index(name), 0] + b for name in inside])
    assert named.min() > 0
    assert named.max() < seen.stage("Scores").bounding_box()["width"]


def test_names_can_be_none_or_all(open_chart):
    seen = open_chart(axes(Z))
    choose(seen, "Names", "none")
    assert shown_names(seen) == []
    choose(seen, "Names", "all")
    assert sorted(shown_names(seen)) == IDS
    seen.page.get_by_label("Find").fill("tree 007")
    choose(seen, "Names", "none")
    assert shown_names(seen) == ["tree 007"]


def test_a_given_weight_decides_who_is_named_first(open_chart):
    worth = np.zeros(N)
    worth[[5, 6]] = 1.0
    crowd = np.full((N, 2), 0.5) + 1e-3 * Z[:, :2]
    crowd[[5, 6]] = [[0.4, 0.5], [0.6, 0.5]]
    seen = open_chart(axes(crowd, priority=listed(worth)))
    assert {"tree 005", "tree 006"} <= set(shown_names(seen))


def test_names_among_200_000_rows(visit, tmp_path):
    n = 200_000
    found = many(n)
    found["rows"]["ids"] = [f"p{i}" for i in range(n)]
    seen = visit(written(tmp_path, found))
    x, y = np.random.default_rng(0).standard_normal((2, n))
    names = shown_names(seen, "Cloud")
    assert len(names) > 5
    assert seen.card("Cloud").evaluate(LYING) == 0
    assert f"p{np.argmax(x**2 / np.ptp(x) ** 2 + y**2 / np.ptp(y) ** 2)}" in names
    for _ in range(12):
        seen.card("Cloud").get_by_role("button", name="Zoom in").click()
    seen.settle()
    assert set(shown_names(seen, "Cloud")) - set(names)


LONG = [f"Department of Forestry, plot {i:03d} of the northern slope" for i in range(N)]


@pytest.mark.parametrize(("width", "letters"), [(390, 20), (1400, 32)])
def test_long_names_are_shortened(open_chart, width, letters):
    seen = open_chart(axes(Z), width=width, ids=LONG)
    names = shown_names(seen)
    assert len(names) >= 5
    assert all("…" in name and len(name) <= letters for name in names)
    far = int(np.argmax(Z[:, 0]))
    seen.page.mouse.move(*seen.mouse("Scores", seen.places("Scores", [Z[far, 0]], [Z[far, 1]])[0]))
    assert seen.stage("Scores").locator(".tip strong").inner_text() == LONG[far]


def test_letters_are_not_cut_apart(open_chart):
    """Signs of two units of text, and such as are joined, stay whole where a name is shortened."""
    family = "👩‍👩‍👧"
    seen = open_chart(axes(Z), ids=[f"{family * 30} {i}" for i in range(N)])
    for name in shown_names(seen):
        start, _, end = name.partition("…")
        assert start == family * (len(start) // len(family))
        assert end.partition(" ")[0].replace(family, "") == ""


def test_names_of_many_categories_do_not_lie_on_each_other(open_chart):
    places = 0.05 * np.random.default_rng(2).standard_normal((25, 4))
    spots = [{"label": f"category {i:02d}", "at": at.tolist()} for i, at in enumerate(places)]
    seen = open_chart(axes(Z, categories=spots))
    count = seen.stage("Scores").locator("text.category-name").count()
    assert 2 < count < 25
    assert seen.stage("Scores").locator("path.category").count() == 25
    assert seen.card("Scores").evaluate(LYING) == 0


def test_an_axis_without_a_name_has_no_numbers(open_chart):
    chart = {
        "kind": "rows",
        "title": "Scores",
        "x": listed(Z[:, 0]),
        "y": listed(Z[:, 1]),
        "xlabel": "PC1",
        "ylabel": "",
    }
    stage = open_chart(chart).stage("Scores")
    assert stage.locator("text.tick").count() > 2
    assert stage.locator("text.tick[text-anchor=end]").count() == 0
    assert stage.bounding_box()["height"] < 300


# ---- groups -------------------------------------------------------------------------------------------------


def outlines(seen, kind):
    """The ellipses of a kind in pixels, and their colours."""
    found = seen.stage("Scores").locator(f"polygon.{kind}")
    texts = found.evaluate_all("(all) => all.map((n) => n.getAttribute('points'))")
    return [np.array([[float(v) for v in pair.split(",")] for pair in text.split(" ")]) for text in texts]


@pytest.mark.parametrize(
    ("button", "kind", "name"), [("95% of rows", "rows", "concentration"), ("95% of mean", "mean", "mean")]
)
@pytest.mark.parametrize("pair", [(0, 1), (2, 3)])
def test_ellipses_of_groups_are_those_of_the_tables(open_chart, button, kind, name, pair):
    seen = open_chart(axes(Z))
    choose(seen, "Across", LABELS[pair[0]])
    choose(seen, "Up", LABELS[pair[1]])
    seen.card("Scores").get_by_role("button", name=button, exact=True).click()
    seen.settle()
    found = outlines(seen, kind)
    meant = group_ellipses(Z[:, list(pair)], GROUPS, name)
    assert len(found) == len(meant) == 3
    for drawn, ellipse in zip(found, meant, strict=True):
        a, b = seen.axis("Scores", up=False), seen.axis("Scores", up=True)
        places = np.stack([(drawn[:, 0] - a[1]) / a[0], (drawn[:, 1] - b[1]) / b[0]], axis=1) - ellipse.mean
        radius = np.sqrt(np.einsum("ni,ij,nj->n", places, np.linalg.inv(ellipse.covariance), places))
        np.testing.assert_allclose(radius, ellipse.radius, rtol=0.05)
    assert "of each colour" in seen.card("Scores").locator(".note").inner_text()


def test_ellipses_of_classes_have_their_colours(open_chart):
    around = {"y": 0.0, "a": 2.0, "b": 1.0, "angle": 0.0}
    ellipses = [around | {"x": 0.0, "label": "birch"}, around | {"x": 9.0, "label": "all"}]
    seen = open_chart(axes(Z, ellipses=ellipses))
    stroke = "(all) => all.map((n) => getComputedStyle(n).stroke)"
    found = seen.stage("Scores").locator(".ellipse").evaluate_all(stroke)
    swatch = seen.page.locator(".bar .entry", has_text="birch").locator(".swatch")
    ink = seen.page.evaluate("getComputedStyle(document.body).color")
    assert found == [swatch.evaluate("(n) => getComputedStyle(n).backgroundColor"), ink]
    seen.page.get_by_label("Colour by").select_option("size")
    seen.settle()
    assert seen.stage("Scores").locator(".ellipse").evaluate_all(stroke) == [ink, ink]


def test_centroids_are_named_and_rows_outside_the_fit_do_not_count(open_chart):
    outside = (np.arange(N) >= 240).astype(float)
    far = Z + 30.0 * np.outer(outside, [1.0, 0.0, 0.0, 0.0])
    seen = open_chart(axes(far), weights=listed(1.0 - outside))
    choose(seen, "Names", "none")
    seen.card("Scores").get_by_role("button", name="Centroids").click()
    seen.settle()
    assert sorted(shown_names(seen)) == ["ash", "birch", "oak"]
    paths = (
        seen.stage("Scores")
        .locator("path.centroid")
        .evaluate_all("(all) => all.map((n) => { const b = n.getBBox(); return b.x + b.width / 2; })")
    )
    a = seen.axis("Scores", up=False)
    means = [far[(name == GROUPS) & (outside == 0), 0].mean() for name in ("ash", "birch", "oak")]
    np.testing.assert_allclose((np.array(paths) - a[1]) / a[0], means, atol=0.3)
    assert "hollow: took no part in the fit" in seen.page.locator(".bar .legend").inner_text()


@pytest.mark.parametrize(("button", "kind"), [("95% of rows", "rows"), ("95% of mean", "mean")])
def test_a_weight_of_three_counts_as_three_rows(button, kind, open_chart):
    times = 1 + np.arange(N) % 3
    copies = np.repeat(np.arange(N), times)
    seen = open_chart(axes(Z), weights=listed(times.astype(float)))
    seen.card("Scores").get_by_role("button", name=button, exact=True).click()
    seen.settle()
    name = {"rows": "concentration", "mean": "mean"}[kind]
    a, b = seen.axis("Scores", up=False), seen.axis("Scores", up=True)
    for drawn, meant in zip(outlines(seen, kind), group_ellipses(Z[copies][:, :2], GROUPS[copies], name), strict=True):
        places = np.stack([(drawn[:, 0] - a[1]) / a[0], (drawn[:, 1] - b[1]) / b[0]], axis=1)
        ends = np.stack([meant.outline().min(axis=0), meant.outline().max(axis=0)])
        np.testing.assert_allclose([places.min(axis=0), places.max(axis=0)], ends, atol=0.02)


def test_a_sample_says_that_its_ellipses_are_of_a_sample(open_chart):
    seen = open_chart(axes(Z), total=1_000)
    seen.card("Scores").get_by_role("button", name="95% of mean", exact=True).click()
    assert "300 rows shown, a sample" in seen.card("Scores").locator(".note").inner_text()


def test_there_are_no_groups_without_classes(open_chart):
    seen = open_chart(axes(Z))
    seen.card("Scores").get_by_role("button", name="95% of rows").click()
    seen.page.get_by_label("Colour by").select_option("size")
    seen.settle()
    assert outlines(seen, "group") == []
    assert not seen.card("Scores").get_by_role("button", name="Centroids").is_visible()


# ---- what took no part in the fit ---------------------------------------------------------------------------


def test_rows_outside_the_fit_are_hollow(open_chart):
    lone = np.array([[-9.0, 0.0], [9.0, 0.0]])
    places = np.concatenate([lone, np.zeros((N - 2, 2))])
    seen = open_chart(axes(places), weights=[1.0, 0.0] + [1.0] * (N - 2))
    spots = seen.places("Scores", *lone.T)
    assert (seen.colours("Scores", spots)[:, 3] > 150).tolist() == [True, False]
    rim = seen.colours("Scores", [[spots[1, 0] + dx, spots[1, 1]] for dx in (3.0, 4.0, 5.0)])
    assert rim[:, 3].max() > 100


def test_hollow_rows_among_many_are_hollow_too(visit, tmp_path):
    n = 4_000
    found = many(n)
    x, y = np.random.default_rng(0).standard_normal((2, n))
    x[:2], y[:2] = [8.0, 9.0], 9.0
    found["pages"][0]["charts"][0] |= {"x": floats(x), "y": floats(y)}
    found["rows"]["weights"] = [0.0] + [1.0] * (n - 1)
    seen = visit(written(tmp_path, found), ratio=3.0)
    centre = seen.colours("Cloud", seen.places("Cloud", [8.0, 9.0], [9.0, 9.0]))[:, 3]
    assert centre[0] < 40
    assert centre[1] > 150


def test_categories_outside_the_fit_are_named_points(open_chart):
    spots = [{"label": "young", "at": [3.0, 3.0, 0.0, 0.0]}, {"label": "old", "at": [-3.0, -3.0, 0.0, 0.0]}]
    seen = open_chart(axes(Z, categories=spots))
    assert seen.stage("Scores").locator("path.category").count() == 2
    assert {"young", "old"} <= set(shown_names(seen))
    assert (
        seen.stage("Scores").locator("text.category-name").first.evaluate("(n) => getComputedStyle(n).fontStyle")
        == "italic"
    )


# ---- densities ----------------------------------------------------------------------------------------------


def test_regions_of_a_density_are_smooth_and_have_a_legend(visit, tmp_path):
    at = np.linspace(-2.9, 2.9, 30)
    values = np.exp(-(at[:, None] ** 2 + at**2) / 2)
    levels = [{"label": f"{share:.0%} of the mass", "at": 1.0 - share} for share in (0.95, 0.5)]
    box = {"x0": -3.0, "x1": 3.0, "y0": -3.0, "y1": 3.0, "width": 30, "height": 30}
    found = many(1)
    found["pages"][0]["charts"][0] |= {
        "x": [2.9], "y": [2.9], "equal": True, "span": {"x": [-3.0, 3.0], "y": [-3.0, 3.0]},
        "contours": box | {"values": listed(values.ravel()), "levels": levels},
    }  # fmt: skip
    seen = visit(written(tmp_path, found))
    assert seen.card("Cloud").locator(".legend .entry").all_inner_texts() == ["95% of the mass", "50% of the mass"]
    saved = seen.download(seen.card("Cloud").get_by_role("button", name="as SVG")).read_text(encoding="utf-8")
    assert "95% of the mass" in saved
    turn = np.linspace(0.0, 2.0 * np.pi, 40)
    for share, shade in ((0.95, 0.0), (0.5, 41.0)):
        radius = np.sqrt(-2.0 * np.log(1.0 - share))
        for side in (-1, 1):
            ring = (radius + 0.04 * side) * np.array([np.cos(turn), np.sin(turn)])
            opacity = seen.colours("Cloud", seen.places("Cloud", *ring))[:, 3].astype(float)
            assert np.ptp(opacity) <= 2.0
            assert (opacity.mean() > shade + 20.0) == (side < 0)

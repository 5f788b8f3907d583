"""Interactions of the explorer: names, passive rows, clusters, kept selections, saved states, colours, loadings."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

import eigenlens
from browser.explorer_visit import FRAME, NAMES, answered, axes, expect, expected

pytestmark = pytest.mark.browser


@pytest.fixture(params=[(1400, "light"), (390, "dark")], ids=["wide and light", "narrow and dark"])
def explore(explore, request):
    """Open the page as readers have it."""
    width, scheme = request.param
    return partial(explore, width=width, scheme=scheme)


def named_rows(seen):
    """Names of rows in the plot of the scores, and their boxes (q, 4): left, top, right, bottom."""
    found = (
        seen.stage("Scores")
        .locator("text.name:not(.strong)")
        .evaluate_all(
            "(all) => all.map((each) => { const b = each.getBoundingClientRect(); "
            "return [each.textContent, b.left, b.top, b.right, b.bottom]; })"
        )
    )
    return [each[0] for each in found], np.array([each[1:] for each in found])


def selected(seen, name):
    """Select the rows of a cultivar."""
    seen.page.locator(".legend button", has_text=name).click()
    expect(seen.page.locator(".selected .note").first).to_contain_text("rows selected")


# ---- names -------------------------------------------------------------------------------------------------------


def test_names_lie_apart_and_zooming_in_shows_more_of_them(explore, wine):
    seen = explore(wine)
    names, boxes = named_rows(seen)
    assert len(names) > (20 if seen.page.viewport_size["width"] > 600 else 10)
    left, top, right, bottom = boxes.T
    meet = (np.minimum.outer(right, right) - np.maximum.outer(left, left) > 1.0) & (
        np.minimum.outer(bottom, bottom) - np.maximum.outer(top, top) > 4.0
    )
    assert np.array_equal(np.argwhere(meet)[:, 0], np.argwhere(meet)[:, 1])
    zoom = seen.card("Scores").get_by_role("button", name="Zoom in")
    for _ in range(4):
        zoom.click()
    seen.settle()
    closer, _ = named_rows(seen)
    assert set(closer) - set(names)


def test_rows_are_named_by_contribution_or_by_what_the_plane_shows_of_them(explore, wine):
    seen = explore(wine)
    Z = np.asarray(eigenlens.PCA(len(NAMES), standardize=True).fit_transform(FRAME[NAMES]))
    cos2 = (Z[:, :2] ** 2).sum(axis=1) / (Z**2).sum(axis=1)
    far = (Z[:, :2] ** 2).sum(axis=1)
    bottle = {name: i for i, name in enumerate(FRAME["bottle"])}

    def mean_of(values):
        names, _ = named_rows(seen)
        return np.mean([values[bottle[name]] for name in names if name in bottle])

    by_far = mean_of(far), mean_of(cos2)
    seen.card("Scores").get_by_label("by", exact=True).select_option("cos²")
    seen.settle()
    by_cos2 = mean_of(far), mean_of(cos2)
    assert by_cos2[1] > by_far[1]
    assert by_cos2[0] < by_far[0]


# ---- groups and covariates ---------------------------------------------------------------------------------------


def test_groups_have_ellipses_and_barycentres_at_the_means_of_their_rows(explore, wine):
    seen = explore(wine)
    for name in ("Centroids", "95% of rows", "95% of mean"):
        seen.card("Scores").get_by_role("button", name=name).click()
    stage = seen.stage("Scores")
    expect(stage.locator(".group.rows")).to_have_count(3)
    expect(stage.locator(".group.mean")).to_have_count(3)
    expect(stage.locator(".centroid")).to_have_count(3)
    Z = np.asarray(eigenlens.PCA(2, standardize=True).fit_transform(FRAME[NAMES]))
    means = np.array([Z[FRAME["cultivar"] == name].mean(axis=0) for name in ("Barbera", "Barolo", "Grignolino")])
    spots = seen.places("Scores", *means.T)
    boxes = stage.locator(".centroid").evaluate_all("(all) => all.map((each) => { const b = each.getBBox(); "
                                                    "return [b.x + b.width / 2, b.y + b.height / 2]; })")  # fmt: skip
    # A triangle's box is not about its middle.
    assert np.abs(np.array(boxes) - spots).max() < 3.0


def test_covariates_are_a_heat_map_beside_the_scree(explore, wine):
    seen = explore(wine)
    card = seen.card("Covariates against components")
    Z = np.asarray(eigenlens.PCA(5, standardize=True).fit_transform(FRAME[NAMES]))
    groups = [Z[FRAME["cultivar"] == name] for name in ("Barbera", "Barolo", "Grignolino")]
    eta2 = sum(len(part) * part.mean(axis=0) ** 2 for part in groups) / (Z**2).sum(axis=0)
    cells = card.locator("[aria-label=text] text").all_text_contents()
    np.testing.assert_allclose([float(cell) for cell in cells], eta2, atol=0.0051)
    scree, beside = (seen.card(title).bounding_box() for title in ("Scree", "Covariates against components"))
    assert abs(scree["y"] - beside["y"]) < 700  # the next card, below the scree or to the right of it


# ---- passive rows and clusters -----------------------------------------------------------------------------------


def test_rows_are_set_aside_fitted_alone_and_brought_back(explore, wine):
    seen = explore(wine)
    selected(seen, "Barolo")
    seen.page.get_by_role("button", name="Set aside").click()
    answered(seen, 2)
    expect(seen.page.locator(".part")).to_contain_text("59 rows are passive")
    rest = FRAME[FRAME["cultivar"] != "Barolo"][NAMES]
    shares = eigenlens.PCA(2, standardize=True).fit(rest).explained_variance_ratio_
    assert axes(seen)[0] == f"PC1 ({100 * shares[0]:.1f}%)"
    expect(seen.page.locator(".bar .legend")).to_contain_text("took no part in the fit")
    seen.page.get_by_role("button", name="Fit these alone").click()
    answered(seen, 3)
    shares = (
        eigenlens.PCA(2, standardize=True).fit(FRAME[FRAME["cultivar"] == "Barolo"][NAMES]).explained_variance_ratio_
    )
    assert axes(seen)[0] == f"PC1 ({100 * shares[0]:.1f}%)"
    seen.page.get_by_role("button", name="Fit all rows").click()
    answered(seen, 4)
    assert axes(seen) == expected(NAMES, standardize=True)
    expect(seen.page.locator(".part")).to_be_hidden()
    seen.page.get_by_role("button", name="Undo").click()
    answered(seen, 5)
    expect(seen.page.locator(".part")).to_contain_text("59 rows alone")


def test_clusters_within_a_selection_colour_its_rows(explore, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4)) + 9.0 * (np.arange(120) % 3 == 0)[:, None]
    frame = pd.DataFrame(X, columns=list("abcd")).assign(half=np.where(np.arange(120) < 60, "first", "second"))
    frame.to_csv(tmp_path / "two.csv", index=False)
    seen = explore(tmp_path / "two.csv")
    seen.page.locator(".legend button", has_text="first").click()
    seen.page.get_by_role("button", name="Clusters within").click()
    expect(seen.page.locator(".says")).to_contain_text("2 clusters among 60 rows", timeout=30_000)
    expect(seen.page.locator(".legend button")).to_have_count(3)
    seen.page.locator(".legend button", has_text="cluster 2").click()
    expect(seen.page.locator(".selected .note").first).to_contain_text("20 of 120 rows selected")


# ---- kept selections and saved states ----------------------------------------------------------------------------


def test_a_state_is_in_the_link_and_in_a_file(explore, wine, visit):
    seen = explore(wine)
    selected(seen, "Barolo")
    seen.page.get_by_role("button", name="Keep", exact=True).click()
    name = seen.page.get_by_label("Name of the selection A")
    name.fill("mine")
    name.press("Enter")
    seen.page.locator("#colour").select_option("kept selections")
    seen.page.locator("#scaling").select_option("in their own units")
    answered(seen, 2)
    seen.page.locator(".menu summary").click()
    file = seen.download(seen.page.get_by_role("button", name="State (JSON)"))
    assert json.loads(file.read_text())["selections"][0]["name"] == "mine"
    seen.until("decodeURIComponent(location.hash).includes('\"standardize\":false')")
    link = seen.page.url
    again = visit(link)
    answered(again, 1)
    expect(again.page.get_by_label("Name of the selection mine")).to_have_value("mine")
    assert axes(again) == expected(NAMES, 5)
    expect(again.page.locator(".bar .legend")).to_contain_text("mine")
    fresh = visit(link.partition("#")[0])
    answered(fresh, 1)
    assert axes(fresh) == expected(NAMES, standardize=True)
    fresh.page.get_by_label("A saved state").set_input_files(file)
    answered(fresh, 2)
    assert axes(fresh) == expected(NAMES, 5)
    fresh.page.get_by_label("Select these rows again: mine").click()
    expect(fresh.page.locator(".selected .note").first).to_contain_text("59 of 178 rows selected")


def test_a_state_of_another_table_says_so(explore, wine, tmp_path):
    seen = explore(wine)
    for content, words in (("no JSON", "no saved state"), ("{}", "no saved state"), ("null", "no saved state"), (
        json.dumps({"kind": "Eigenlens explorer", "question": {"roles": {}}, "rows": 3, "shown": 3}), "has 178"), (
        json.dumps({"kind": "Eigenlens explorer", "question": {"roles": {"zzz": "active"}}, "rows": 178, "shown": 178}),
        "other columns")):  # fmt: skip
        (tmp_path / "state.json").write_text(content)
        seen.page.get_by_label("A saved state").set_input_files(tmp_path / "state.json")
        expect(seen.page.locator(".says")).to_contain_text(words)


# ---- colours -----------------------------------------------------------------------------------------------------


def test_numbers_colour_the_rows_on_the_scale_that_is_chosen(explore, wine):
    seen = explore(wine)
    expect(seen.page.locator("#palette")).to_be_hidden()
    seen.page.locator("#colour").select_option("proline")
    ramp = seen.page.locator(".bar .ramp")
    expect(ramp).to_have_attribute("style", "background: linear-gradient(90deg, rgb(91, 55, 148), rgb(61, 109, 176), "
                                   "rgb(31, 150, 139), rgb(77, 187, 109), rgb(194, 207, 48));")  # fmt: skip
    Z = np.asarray(eigenlens.PCA(2, standardize=True).fit_transform(FRAME[NAMES]))
    least = int(FRAME["proline"].argmin())
    spot = seen.places("Scores", Z[least : least + 1, 0], Z[least : least + 1, 1])
    before = seen.colours("Scores", spot)[0, :3]
    seen.page.locator("#palette").select_option("blue to orange")
    seen.settle()
    after = seen.colours("Scores", spot)[0, :3]
    assert before[2] > before[1]  # purple
    assert after[2] > 150 > after[0]  # blue
    assert np.abs(before.astype(float) - after).max() > 30


# ---- loadings ----------------------------------------------------------------------------------------------------


def cells(seen):
    """The names of the lines of the loadings, from above, and the numbers in the cells."""
    card = seen.card("Loadings")
    lines = card.locator("[aria-label='y-axis tick label'] text").all_text_contents()
    return lines, [text for text in card.locator("[aria-label=text] text").all_text_contents() if text]


def test_loadings_are_sorted_by_size_and_small_ones_hidden_while_the_rotation_changes(explore, wine):
    seen = explore(wine)
    seen.page.locator("#k").fill("3")
    seen.page.locator("#k").press("Enter")
    answered(seen, 2)
    lines, numbers = cells(seen)
    assert len(numbers) == 3 * len(NAMES)
    seen.card("Loadings").get_by_role("button", name="Sort by size").click()
    seen.card("Loadings").get_by_label("Hide loadings smaller than").fill("0.4")
    seen.page.locator("#rotation").select_option("varimax")
    answered(seen, 3)
    loadings = eigenlens.PCA(3, standardize=True, rotation="varimax").fit(FRAME[NAMES]).model_.loadings
    main = np.abs(loadings).argmax(axis=1)
    order = sorted(range(len(NAMES)), key=lambda j: (main[j], -abs(loadings[j, main[j]])))
    sorted_lines, kept = cells(seen)
    assert [line[:8] for line in sorted_lines] == [NAMES[j][:8] for j in order]
    assert sorted_lines != lines
    assert len(kept) == np.count_nonzero(np.abs(loadings) >= 0.4)


def test_scores_of_all_rows_are_saved_beside_the_file_and_over_no_other(explore, wine):
    seen = explore(wine)
    for name in ("wine-scores.csv", "wine-scores-2.csv"):
        seen.page.locator(".menu summary").click()
        seen.page.get_by_role("button", name="Scores of all rows, beside the file").click()
        expect(seen.page.locator(".says")).to_contain_text(name)
        found = pd.read_csv(wine.parent / name)
        direct = eigenlens.PCA(5, standardize=True).fit_transform(FRAME[NAMES])
        assert list(found["bottle"]) == list(FRAME["bottle"])
        np.testing.assert_allclose(found.iloc[:, 1:], direct, rtol=1e-8, atol=1e-10)


# ---- rows that are images ----------------------------------------------------------------------------------------


def test_rows_that_are_images_are_shown_as_thumbnails(explore, tmp_path):
    digits = load_digits()
    frame = pd.DataFrame(digits.data[:300], columns=[f"p{j}" for j in range(64)]).assign(digit=digits.target[:300])
    frame.to_csv(tmp_path / "digits.csv", index=False)
    seen = explore(tmp_path / "digits.csv")
    seen.card("Scores").get_by_label("Names", exact=True).select_option("as images")
    pictures = seen.stage("Scores").locator("image.row-image")
    expect(pictures.first).to_be_visible()
    boxes = np.array(pictures.evaluate_all("(all) => all.map((each) => [each.x.baseVal.value, each.y.baseVal.value])"))
    apart = np.abs(boxes[:, None] - boxes[None, :]).max(axis=2)
    assert np.sort(apart, axis=1)[:, 1].min() >= 28.0
    seen.page.locator("#search").fill("row 12")
    expect(seen.page.locator(".pictures canvas")).to_have_count(11)  # row 12, 120 to 129
    fold = seen.page.get_by_role("button", name="Choose columns")
    if fold.is_visible():  # on a narrow page, where the shelf is behind it
        fold.click()
    seen.page.get_by_label("Move all 9 columns shown in Ignored").select_option("Active")  # constant pixels
    answered(seen, 2)
    expect(seen.card("Components as images").locator("canvas").first).to_be_visible()

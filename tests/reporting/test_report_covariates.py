"""Columns and rows that took no part in the fit of a PCA, and rows that are images."""

from __future__ import annotations

import base64

import numpy as np
import pandas as pd
import pytest

from eigenlens import PCA, report
from eigenlens.pca.tables import image_side
from eigenlens.reporting.pages import reconstruction
from references import decathlon
from written_reports import contents, layers, named, numbers

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.standard_normal((80, 4)) @ RNG.standard_normal((4, 4)), columns=list("abcd"))
GROUP = np.where(X["a"] > 0, "high", "low")
AGE = np.where(np.arange(80) == 5, np.nan, X["b"] + RNG.standard_normal(80))


def covariates(charts):
    """The lines of the heat map by their names, each with its values on the components."""
    (cells,) = layers(named(charts, "Covariates against components"), "cell")
    found = {}
    for line, value in zip(cells["y"], cells["fill"], strict=True):
        found.setdefault(line, []).append(value)
    return found


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    model = PCA(3, standardize=True).fit(X)
    rows = X.assign(kind=GROUP)
    given = {"age": AGE, "name": [f"row {i}" for i in range(80)], "same": np.ones(80)}
    found = contents(report(model, rows, tmp_path_factory.mktemp("covariates") / "x.html", columns=given))
    return model, found["first"]["charts"], found


def test_columns_beside_the_fit_are_compared_with_the_components(page):
    model, charts, _ = page
    found, Z = covariates(charts), model.transform(X)
    assert list(found) == ["age (r)", "kind (η², 2 categories)"]
    seen = np.isfinite(AGE)
    for k in range(3):
        r = np.corrcoef(AGE[seen], Z[seen, k])[0, 1]
        means = [Z[name == GROUP, k].mean() for name in ("high", "low")]
        counts = [np.sum(name == GROUP) for name in ("high", "low")]
        eta2 = np.dot(counts, np.square(means)) / np.sum(Z[:, k] ** 2)
        np.testing.assert_allclose([each[k] for each in found.values()], [r, eta2], rtol=1e-5)


def test_categories_are_named_points_at_the_means_of_their_rows(page):
    model, charts, _ = page
    Z = model.transform(X)
    found = {each["label"]: each for each in named(charts, "Scores")["categories"]}
    assert set(found) == {"high", "low"}
    np.testing.assert_allclose(found["high"]["at"], Z[GROUP == "high"].mean(axis=0), rtol=1e-6)
    assert found["low"]["of"] == "kind"


def test_numbers_are_arrows_of_the_correlation_circle(page):
    model, charts, _ = page
    chart = named(charts, "Correlation circle")
    arrows = {layer["label"]: layer["data"] for layer in chart["marks"] if layer["type"] == "link"}
    assert set(arrows) == {"active", "supplementary"}
    seen = np.isfinite(AGE)
    r = np.corrcoef(AGE[seen], model.transform(X)[seen, 0])[0, 1]
    np.testing.assert_allclose(arrows["supplementary"]["x2"], [r], rtol=1e-6)
    assert "age" in layers(chart, "text")[0]["text"]


def test_few_whole_numbers_are_classes_as_they_are_for_colours(tmp_path):
    found = contents(report(PCA(2).fit(X), X, tmp_path / "x.html", columns={"digit": np.arange(80) % 3}))
    assert list(covariates(found["first"]["charts"])) == ["digit (η², 3 categories)"]


def test_values_that_differ_in_every_row_are_no_classes(tmp_path):
    few = X.iloc[:6]
    given = {"total": [70, 90, 20, 40, 10, 50], "town": list("uvwxyz")}
    found = contents(report(PCA(2).fit(few), few, tmp_path / "x.html", columns=given))
    assert found["rows"]["columns"][0]["kind"] == "number"
    assert list(covariates(found["first"]["charts"])) == ["total (r)"]


def test_rows_of_weight_zero_are_supplementary(tmp_path):
    weight = (np.arange(80) >= 10).astype(float)
    model = PCA(2, standardize=True).fit(X, sample_weight=weight)
    found = contents(report(model, X, tmp_path / "x.html", sample_weight=weight, columns={"kind": GROUP}))
    np.testing.assert_array_equal(numbers(found["rows"]["weights"], found), weight)
    centre = {each["label"]: each["at"] for each in named(found["first"]["charts"], "Scores")["categories"]}
    Z, active = model.transform(X), (weight > 0.0) & (GROUP == "high")
    np.testing.assert_allclose(centre["high"], Z[active].mean(axis=0), rtol=1e-6)


def test_the_decathlon_is_that_of_factominer(tmp_path):
    rows = pd.DataFrame(decathlon.DATA, columns=decathlon.EVENTS)
    model = PCA(3, standardize=True).fit(rows)
    given = rows.assign(Rank=decathlon.RANK, Points=decathlon.POINTS, Competition=decathlon.COMPETITION)
    charts = contents(report(model, given, tmp_path / "x.html"))["first"]["charts"]
    listed = covariates(charts)
    assert [line.partition(" ")[0] for line in listed] == ["Rank", "Points", "Competition"]
    found = np.abs(list(listed.values())[:2])
    np.testing.assert_allclose(found, np.abs(decathlon.RANK_POINTS_COORDINATES), atol=1e-6)
    # FactoMineR divides by standard deviations with divisor n
    means = {each["label"]: each["at"] for each in named(charts, "Scores")["categories"]}
    found = np.abs([means["Decastar"], means["OlympicG"]]) * np.sqrt(41 / 40)
    np.testing.assert_allclose(found, np.abs(decathlon.COMPETITION_COORDINATES), atol=1e-6)


# ---- images -----------------------------------------------------------------------------------------------------


def blobs(n=40, side=8):
    """Blurred blobs."""
    y, x = np.mgrid[:side, :side]
    middles = RNG.uniform(2, side - 2, (n, 2))
    return np.exp(-((x - middles[:, :1, None]) ** 2 + (y - middles[:, 1:, None]) ** 2) / 6.0).reshape(n, -1)


def test_components_of_images_are_images(tmp_path):
    rows = blobs()
    frame = pd.DataFrame(rows, columns=[f"pixel {j}" for j in range(64)])
    model = PCA(3).fit(frame)
    found = contents(report(model, frame, tmp_path / "x.html"))
    chart = named(found["first"]["charts"], "Components as images")
    assert (chart["width"], chart["height"], chart["scheme"]) == (8, 8, "diverging")
    assert [image["label"].split()[0] for image in chart["images"]] == ["PC1", "PC2", "PC3"]
    pixels = numbers(chart["images"][1]["pixels"], found)
    np.testing.assert_allclose(pixels, model.components_[1], rtol=1e-5, atol=1e-7)
    assert "Loadings" not in [chart["title"] for chart in found["first"]["charts"]]


def test_rows_that_are_images_are_in_the_page_in_256_shades(tmp_path):
    rows = blobs()
    frame = pd.DataFrame(rows, columns=[f"pixel {j}" for j in range(64)]).assign(label="a")
    model = PCA(3).fit(frame.iloc[:, :64])
    found = contents(report(model, frame, tmp_path / "x.html"))["rows"]["images"]
    assert (found["width"], found["height"]) == (8, 8)
    shades = np.frombuffer(base64.b64decode(found["u8"]), dtype=np.uint8).reshape(40, 64)
    np.testing.assert_allclose(shades, 255.0 * (rows - rows.min()) / np.ptp(rows), atol=0.51)


def test_many_images_are_smaller_and_too_many_are_left_out(tmp_path, monkeypatch):
    rows = blobs(40, 16)
    shapes = []
    for room in (40 * 256, 40 * 256 - 1, 40 * 64 - 1):
        monkeypatch.setattr(reconstruction, "MAX_IMAGE_BYTES", room)
        found = contents(report(PCA(3).fit(rows), rows, tmp_path / "x.html"))["rows"]
        shapes.append(found["images"]["width"] if "images" in found else 0)
    assert shapes == [16, 8, 0]


def test_columns_that_are_no_pixels_are_no_image():
    assert image_side(RNG.standard_normal((50, 36))) == 0
    assert image_side(blobs()) == 8
    assert image_side(blobs()[:, :63]) == 0


def test_samples_of_one_kind_series_and_spectra_are_no_images():
    """Their columns are alike too, but the nearer ones no less than those a row apart."""
    place, peaks = np.linspace(0.0, 1.0, 64), RNG.uniform(0.0, 1.0, 5)
    spectra = RNG.uniform(size=(50, 5)) @ np.exp(-((place - peaks[:, None]) ** 2) / 0.02)
    genes = RNG.gamma(2.0, 3.0, (500, 1)) + RNG.standard_normal((500, 36))
    for rows in (genes, np.cumsum(RNG.standard_normal((100, 144)), axis=1), spectra):
        assert image_side(rows) == 0


def test_the_biplot_multiplies_to_the_table_and_shows_columns_beside_the_fit_dashed(tmp_path):
    """A copy of a fitted column has its arrow; in units of their own other columns would have arrows of any length."""
    X = pd.DataFrame(np.random.default_rng(3).standard_normal((40, 4)) * [1.0, 5.0, 0.1, 2.0], columns=list("abcd"))
    found = contents(report(PCA(standardize=True).fit(X), X, tmp_path / "x.html", columns={"again": X["b"].to_numpy()}))
    chart = named(found["first"]["charts"], "Biplot")
    arrows = {each["label"]: each for each in chart["arrows"]}
    np.testing.assert_allclose(arrows["again"]["at"], arrows["b"]["at"], rtol=1e-6)
    assert [name for name, each in arrows.items() if each.get("dash")] == ["again"]
    rows = np.stack([each["times"] * numbers(each["values"], found) for each in chart["axes"]], axis=1)
    scaled = (X - X.mean()) / X.std()
    for name in "abcd":
        np.testing.assert_allclose(rows @ arrows[name]["at"], scaled[name], atol=1e-5)
    plain = contents(report(PCA().fit(X), X, tmp_path / "y.html", columns={"again": X["b"].to_numpy()}))
    assert len(named(plain["first"]["charts"], "Biplot")["arrows"]) == 4

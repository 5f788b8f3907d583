"""The colours of classes, as colour-blind eyes see them: far enough apart, on light paper and on dark."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest

from browser.made import report, written

pytestmark = pytest.mark.browser

VISION = {
    "normal": np.eye(3),
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
}
"""What an eye makes of linear red, green and blue: Machado, Oliveira and Fernandes (2009), of full severity."""

LEAST = {"normal": 22.0, "deuteranopia": 14.5, "protanopia": 12.5}
"""The smallest CIEDE2000 distance of two of ten classes and the grey of all others; about 2 is just noticed."""

SRGB = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def linear(colours):
    return np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)


def lab(light):
    """CIE L*a*b* of linear red, green and blue, white being D65."""
    ratio = light @ SRGB.T / SRGB.sum(axis=1)
    x, y, z = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def ciede2000(one, two):
    """The difference of two colours (Sharma, Wu and Dalal 2005, equations 2 to 22)."""
    (L1, a1, b1), (L2, a2, b2) = one, two
    middle = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    G = 0.5 * (1 - np.sqrt(middle**7 / (middle**7 + 25**7)))
    C1, C2 = np.hypot((1 + G) * a1, b1), np.hypot((1 + G) * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, (1 + G) * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = 0.0 if C1 * C2 == 0 else (h2 - h1 + 180) % 360 - 180
    dH = 2 * np.sqrt(C1 * C2) * np.sin(np.radians(turn / 2))
    L, C = (L1 + L2) / 2, (C1 + C2) / 2
    h = h1 + h2 if C1 * C2 == 0 else (h1 + turn / 2) % 360
    T = sum(
        weight * np.cos(np.radians(times * h + by))
        for weight, times, by in ((1, 0, 0), (-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.20, 4, -63))
    )
    SL, SC, SH = 1 + 0.015 * (L - 50) ** 2 / np.sqrt(20 + (L - 50) ** 2), 1 + 0.045 * C, 1 + 0.015 * C * T
    RC = 2 * np.sqrt(C**7 / (C**7 + 25**7))
    RT = -np.sin(np.radians(60 * np.exp(-(((h - 275) / 25) ** 2)))) * RC
    parts = (L2 - L1) / SL, (C2 - C1) / SC, dH / SH
    return np.sqrt(sum(part**2 for part in parts) + RT * parts[1] * parts[2])


@pytest.mark.parametrize(
    ("one", "two", "far"),
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, -1.0, 2.0), (50.0, 0.0, 0.0), 2.3669),
        ((50.0, 2.5, 0.0), (61.0, -5.0, 29.0), 22.8977),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_the_difference_is_that_of_the_published_pairs(one, two, far):
    """Sharma, Wu and Dalal (2005), table 1."""
    assert ciede2000(one, two) == pytest.approx(far, abs=1e-4)


def classes(folder):
    """A report of twelve classes, of which two share the grey."""
    found = report()
    groups = [f"class {i % 12:02d}" for i in range(60)]
    found["rows"]["columns"][0]["values"] = [groups[min(i, i % 54)] for i in range(60)]
    return written(folder, found)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colour_blind_eyes_see_ten_classes_apart(visit, tmp_path, scheme):
    seen = visit(classes(tmp_path), scheme=scheme, page="page-points")
    shown = seen.page.locator(".bar .legend .swatch")
    found = shown.evaluate_all("(all) => all.map((n) => getComputedStyle(n).backgroundColor)")
    assert len(found) == 11
    colours = np.array([[int(v) for v in re.findall(r"\d+", each)] for each in found]) / 255
    for vision, matrix in VISION.items():
        places = [lab(np.clip(np.asarray(matrix) @ colour, 0.0, 1.0)) for colour in linear(colours)]
        assert min(ciede2000(a, b) for a, b in combinations(places, 2)) > LEAST[vision]
    paper = {"light": np.ones(3), "dark": np.array([30, 33, 38]) / 255}[scheme]
    light, behind = linear(colours) @ SRGB[1] + 0.05, linear(paper) @ SRGB[1] + 0.05
    contrast = np.maximum(light / behind, behind / light)
    assert contrast.min() > 3.0


def test_classes_have_shapes_too(visit, tmp_path):
    seen = visit(classes(tmp_path), page="page-points")
    shapes = seen.page.locator(".bar .legend .swatch").evaluate_all("(all) => all.map((n) => n.dataset.shape)")
    assert shapes[:7] == [str(i) for i in range(7)]
    assert len({*zip(shapes, range(11), strict=True)}) == 11


def test_classes_that_share_the_grey_are_no_group(visit, tmp_path):
    seen = visit(classes(tmp_path), page="page-points")
    seen.card("Spiral").get_by_role("button", name="Centroids").click()
    seen.settle()
    assert seen.page.locator(".bar .legend .entry").last.inner_text() == "2 others"
    assert seen.stage("Spiral").locator("path.centroid").count() == 10

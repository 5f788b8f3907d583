"""Names beside points and arrows: they hide no point of few rows, no line to a name and no name of a limit."""

from __future__ import annotations

import numpy as np
import pytest

from browser.made import listed, written

pytestmark = pytest.mark.browser

RNG = np.random.default_rng(3)
MIDDLES = np.array([[0.0, 0.0], [20.0, 1.0], [22.0, -12.0]])

DRAWN = """(stage) => {
  const at = stage.getBoundingClientRect();
  return [...stage.querySelectorAll("text.name, line.leader")].map((node) => {
    const { left, right, top, bottom } = node.getBoundingClientRect();
    const ends = ["x1", "y1", "x2", "y2"].map((name) => Number(node.getAttribute(name)));
    return { text: node.textContent, kind: node.getAttribute("class"), ends,
      box: [left - at.left, right - at.left, top - at.top + 2, bottom - at.top - 3] };
  });
}"""
"""Of each name and each line to one: its words, its classes, and where it is in the stage."""


def opened(visit, folder, Z, width=1400, **more):
    """A page of one scatter of named rows."""
    chart = {"kind": "rows", "title": "Scores", "equal": True, "x": listed(Z[:, 0]), "y": listed(Z[:, 1]),
             "xlabel": "PC1", "ylabel": "PC2"}  # fmt: skip
    rows = {"total": len(Z), "shown": len(Z), "note": "", "ids": [f"sample {i}" for i in range(len(Z))], "columns": []}
    pages = [{"id": "all", "title": "All", "charts": [chart | more]}]
    found = {"title": "Samples", "subtitle": "", "version": "0", "rows": rows, "pages": pages}
    return visit(written(folder, found), width=width)


def drawn(seen):
    found = seen.stage("Scores").evaluate(DRAWN)
    return [each for each in found if "name" in each["kind"]], [each for each in found if each["kind"] == "leader"]


def inside(box, places, by=0.0):
    """Which places (n, 2) are in a box, at least so far from its edges."""
    x0, x1, y0, y1 = box
    x, y = np.asarray(places, dtype=float).T
    return (x > x0 + by) & (x < x1 - by) & (y > y0 + by) & (y < y1 - by)


def test_names_of_few_rows_hide_no_points_and_no_lines_to_names(visit, tmp_path):
    Z = np.concatenate([middle + RNG.normal(0.0, 1.0, (12, 2)) for middle in MIDDLES])
    seen = opened(visit, tmp_path, Z)
    names, leaders = drawn(seen)
    places = seen.places("Scores", *Z.T)
    assert len(names) > 15
    assert leaders
    assert [each["text"] for each in names if inside(each["box"], places).any()] == []
    for line in leaders:
        start, end = np.reshape(line["ends"], (2, 2))
        along = start + np.linspace(0.0, 1.0, 60)[:, None] * (end - start)
        assert [each["text"] for each in names if inside(each["box"], along, 2.0).any()] == []


def test_names_of_arrows_go_on_in_their_direction(visit, tmp_path):
    turns = np.linspace(0.0, 2.0 * np.pi, 8, endpoint=False)
    ends = 3.0 * np.column_stack([np.cos(turns), np.sin(turns)])
    arrows = [{"label": f"arrow {k}", "at": end.tolist()} for k, end in enumerate(ends)]
    seen = opened(visit, tmp_path, RNG.normal(0.0, 2.0, (200, 2)), arrows=arrows)
    found = {each["text"]: each["box"] for each in drawn(seen)[0] if "tip-name" in each["kind"]}
    (origin,) = seen.places("Scores", [0.0], [0.0])
    tips = seen.places("Scores", *ends.T)
    assert sorted(found) == sorted(each["label"] for each in arrows)
    for arrow, tip in zip(arrows, tips, strict=True):
        x0, x1, y0, y1 = found[arrow["label"]]
        middle = np.array([(x0 + x1) / 2, (y0 + y1) / 2])
        assert (middle - tip) @ (tip - origin) > -1.0, arrow["label"]


def test_no_name_of_a_row_lies_on_the_name_of_a_limit(visit, tmp_path):
    Z = np.column_stack([np.arange(40.0), 10.0 + 0.05 * RNG.standard_normal(40)])
    lines = [{"y": 10.0, "label": "99% of normal rows"}, {"x": 3.0, "label": "99%"}]
    seen = opened(visit, tmp_path, Z, equal=False, lines=lines)
    names, _ = drawn(seen)
    labels = {line["label"]: next(each["box"] for each in names if each["text"] == line["label"]) for line in lines}
    rows = [each for each in names if each["text"].startswith("sample")]
    assert len(rows) > 5
    for x0, x1, y0, y1 in labels.values():
        over = [each["text"] for each in rows for a0, a1, b0, b1 in [each["box"]]
                if a0 < x1 and x0 < a1 and b0 < y1 and y0 < b1]  # fmt: skip
        assert over == []


def test_names_of_categories_in_one_place_do_not_lie_on_each_other(visit, tmp_path):
    """Means of categories lie near each other; of a flat strip of rows, all of them do."""
    rng = np.random.default_rng(1)
    Z = np.column_stack([rng.uniform(-25.0, 25.0, 180), rng.normal(0.0, 1.5, 180)])
    called = ["female", "male", "other", "(missing)", "nice survey", "ok", "once more"]
    categories = [{"label": name, "at": rng.normal(0.0, 0.4, 2).tolist()} for name in called]
    for width in (1400, 390):
        seen = opened(visit, tmp_path, Z, width, categories=categories)
        boxes = [each["box"] for each in drawn(seen)[0] if "category-name" in each["kind"]]
        assert len(boxes) > 3
        for k, (x0, x1, y0, y1) in enumerate(boxes):
            assert not [box for box in boxes[:k] if box[0] < x1 and x0 < box[1] and box[2] < y1 and y0 < box[3]]

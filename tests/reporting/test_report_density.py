"""The pages of kernel densities and of comparisons: their numbers are those of the models."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import written_reports
from eigenlens import KernelDensity, bandwidth
from eigenlens.comparison.compare import Comparison
from eigenlens.data.coerce import as_table
from eigenlens.kde.bandwidth import BANDWIDTH_RULES
from eigenlens.reporting import report
from eigenlens.reporting.packing import RowNumbers
from eigenlens.reporting.pages.comparison import comparison_page
from eigenlens.reporting.pages.kde import density_page
from eigenlens.reporting.rows import make_shown_rows
from eigenlens.tables.rows import sample_rows
from written_reports import contents

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(0.0, 1.0, 150), RNG.normal(5.0, 0.5, 100)])[:, None]
PLANE = pd.DataFrame({"<b>": X[:, 0], "y": RNG.exponential(size=250), "z": RNG.standard_normal(250)})


def rows(values, names):
    return make_shown_rows(sample_rows(as_table(np.asarray(values, dtype=float)), len(values), RNG), tuple(names))


def numbers(values):
    if isinstance(values, list):
        return np.array([np.nan if v is None else v for v in values], dtype=float)
    if isinstance(values, RowNumbers):
        return values.values
    return written_reports.numbers(values, {})


def named(charts, title):
    return next(chart for chart in charts if chart["title"] == title)


def drawn(chart, label):
    return next(layer for layer in chart["marks"] if layer.get("label") == label)["data"]


@pytest.fixture(scope="module")
def line():
    model = KernelDensity(kernel="epanechnikov", bandwidth="silverman").fit(X)
    return model, density_page(model, rows(X, ["minutes"]))


def test_the_charts_of_one_column(line):
    assert [chart["title"] for chart in line[1]] == [
        "Density", "Bandwidth", "Squared error by bandwidth", "Likelihood by bandwidth", "Rules", "Least likely rows",
        "The model",
    ]  # fmt: skip


def test_the_curve_and_its_histogram(line):
    model, charts = line
    curve = drawn(named(charts, "Density"), "density")
    x, y = numbers(curve["x"]), numbers(curve["y"])
    np.testing.assert_allclose(y, model.density(x[:, None]), atol=2e-7)
    bars = drawn(named(charts, "Density"), "histogram")
    assert np.trapezoid(numbers(bars["y"]), numbers(bars["x"])) == pytest.approx(1.0, rel=1e-5)
    band = drawn(named(charts, "Density"), "95% interval at each place")
    assert np.all(numbers(band["low"]) <= y + 1e-6)
    assert np.all(numbers(band["high"]) >= y - 1e-6)


def test_every_rule_has_a_button_that_leads_to_its_curve(line):
    model, charts = line
    slider = named(charts, "Bandwidth")
    widths = [float(frame["value"].split()[0]) for frame in slider["frames"]]
    assert widths == sorted(widths)
    said = slider["frames"][slider["start"]]["value"]
    assert said in {f"{model.bandwidth_:.4g} (as fitted, silverman)", f"{model.bandwidth_:.4g} (silverman, as fitted)"}
    for rule in ("scott", "lscv", "isj"):
        (mark,) = [mark for mark in slider["marks"] if rule in mark["label"].split(", ")]
        frame = slider["frames"][mark["at"]]
        h = bandwidth(X, rule, kernel="epanechnikov")
        assert float(frame["value"].split()[0]) == pytest.approx(h, rel=1e-3)
        curve = drawn(frame["charts"][0], "density")
        other = KernelDensity(kernel="epanechnikov", bandwidth=h).fit(X)
        np.testing.assert_allclose(numbers(curve["y"]), other.density(numbers(curve["x"])[:, None]), atol=1e-3)
        assert frame["charts"][0]["y"]["domain"][1] > numbers(curve["y"]).max()


def test_many_rows_are_gathered_without_a_trace():
    big = np.random.default_rng(1).standard_normal((25_000, 1))
    model = KernelDensity(bandwidth="scott").fit(big)
    slider = named(density_page(model, rows(big, ["x"])), "Bandwidth")
    for frame in (slider["frames"][0], slider["frames"][slider["start"]]):
        curve = drawn(frame["charts"][0], "density")
        h = float(frame["value"].split()[0])
        exact = KernelDensity(bandwidth=h).fit(big).density(numbers(curve["x"])[:, None])
        np.testing.assert_allclose(numbers(curve["y"]), exact, atol=1e-3 * exact.max())  # h is printed to four digits


def test_the_table_of_rules(line):
    found = {column["name"]: column["values"] for column in named(line[1], "Rules")["columns"]}
    assert set(found["rule"]) == set(BANDWIDTH_RULES)
    best = found["rule"][int(np.argmin(numbers(found["squared error"])))]
    assert best == "lscv"
    assert found["rule"][int(np.argmax(numbers(found["log density left out"])))] == "mlcv"


def test_the_least_likely_rows_come_first(line):
    model, charts = line
    found = {column["name"]: column["values"] for column in named(charts, "Least likely rows")["columns"]}
    order = np.argsort(model.score_samples(X), kind="stable")[:20]
    assert found["row"] == [f"row {i + 1}" for i in order]


def test_pairs_of_columns_lie_on_their_regions():
    model = KernelDensity(bandwidth="scott").fit(PLANE)
    charts = density_page(model, rows(PLANE, PLANE.columns))
    titles = [chart["title"] for chart in charts]
    assert titles[:6] == ["<b> and y", "<b> and z", "y and z", "Density of <b>", "Density of y", "Density of z"]
    chart = named(charts, "<b> and y")
    np.testing.assert_allclose(numbers(chart["x"]), PLANE["<b>"], rtol=1e-6)
    box = chart["contours"]
    edges = {level["label"]: level["at"] for level in box["levels"]}
    assert list(edges) == ["95% of the mass", "80% of the mass", "50% of the mass"]
    values = numbers(box["values"]).reshape(box["height"], box["width"])
    draws = model.marginal([0, 1]).sample(20_000, np.random.default_rng(2))
    column = ((draws[:, 0] - box["x0"]) / (box["x1"] - box["x0"]) * box["width"]).astype(int)
    row = ((draws[:, 1] - box["y0"]) / (box["y1"] - box["y0"]) * box["height"]).astype(int)
    inside = (column >= 0) & (column < box["width"]) & (row >= 0) & (row < box["height"])
    at = np.zeros(len(draws))
    at[inside] = values[row[inside], column[inside]]
    for edge, mass in zip(edges.values(), (0.95, 0.8, 0.5), strict=True):
        assert np.mean(at >= edge) == pytest.approx(mass, abs=0.02)


def test_rows_all_alike_have_a_page():
    model = KernelDensity(bandwidth=0.5).fit(np.full((5, 1), 3.0))
    charts = density_page(model, rows(np.full((5, 1), 3.0), ["x"]))
    assert "zero spread" in named(charts, "Bandwidth")["paragraphs"][0]


def test_the_report_holds_the_page_and_names_stay_text(tmp_path):
    nasty = PLANE[["<b>"]].rename(columns={"<b>": "</script>"})
    path = report(KernelDensity(bounds=(-10, None), adaptive=True).fit(nasty), nasty, tmp_path / "kde.html")
    text = path.read_text(encoding="utf-8")
    found = json.loads(re.search(r'id="report">(.*?)</script>', text, flags=re.DOTALL).group(1))
    assert text.count("<script") == 2
    charts = found["pages"][0]["charts"]
    assert named(charts, "Density")["x"]["label"] == "</script>"
    assert [name for name, _ in named(charts, "The model")["facts"]] == [
        "rows with positive weight", "kernel", "bandwidth", "adaptive", "bounds",
    ]  # fmt: skip


# ---- comparisons --------------------------------------------------------------------------------------------


def comparison():
    values = np.array([[-1.0, -2.0, -3.0, -2.0], [-1.5, -2.5, -2.5, -2.5], [-1.0, -np.inf, 0.0, 0.0], [np.nan] * 4])
    return Comparison(
        names=("mixture", "<kde>", "box", "broken"),
        means=np.array([-2.0, -2.25, -np.inf, np.nan]),
        errors=np.array([0.4, 0.3, np.nan, np.nan]),
        behind=np.array([0.0, 0.25, np.inf, np.nan]),
        behind_errors=np.array([0.0, 0.1, np.nan, np.nan]),
        fit_seconds=np.array([0.2, 0.1, 0.1, np.nan]),
        values=values,
        folds=np.array([0, 1, 0, 1]),
        weight=np.array([1.0, 1.0, 3.0, 1.0]),
        failures={"broken": "in fold 1: ValueError: no"},
    )


def test_a_comparison_says_what_the_table_says():
    charts, _, said = comparison_page(comparison(), rows(np.zeros((4, 1)), ["x"]))
    assert said == ["broken failed in fold 1: ValueError: no", "box gives a held-out row density zero"]
    assert charts[0]["title"] == "Behind the best"
    found = {column["name"]: column["values"] for column in named(charts, "Held-out log density")["columns"]}
    assert found["estimator"] == ["mixture", "<kde>", "box", "broken"]
    assert found["log density"] == [-2.0, -2.25, None, None]
    dots = next(layer for layer in named(charts, "Behind the best")["marks"] if layer["type"] == "interval")["data"]
    assert dots["x"] == ["mixture", "<kde>"]
    np.testing.assert_allclose(dots["y"], [0.0, -0.25])
    np.testing.assert_allclose(dots["high"][1], -0.25 + 0.1959964, rtol=1e-6)


def test_folds_and_rows_of_a_comparison():
    charts = comparison_page(comparison(), rows(np.zeros((4, 1)), ["x"])).charts
    lines = named(charts, "Fold by fold")["marks"]
    assert [layer["label"] for layer in lines] == ["mixture", "<kde>"]
    # fold 1 holds rows 0 and 2, of weights 1 and 3: (−0.5 + 3 · 0.5) / 4; fold 2 rows 1 and 3
    np.testing.assert_allclose(lines[1]["data"]["y"], [0.25, -0.5])
    chart = named(charts, "mixture against <kde>")
    np.testing.assert_allclose(chart["y"], [0.5, 0.5, -0.5, 0.5])
    fewer = comparison_page(comparison(), rows(np.zeros((3, 1)), ["x"])).charts
    assert all("against" not in chart["title"] for chart in fewer)


def test_what_the_rules_had_to_say_stands_once(tmp_path):
    X = np.random.default_rng(0).integers(0, 4, (200, 1)).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such rows are warned of at the fit
        model = KernelDensity().fit(X)
    charts = contents(report(model, X, tmp_path / "r.html"))["first"]["charts"]
    said = named(charts, "Warnings of the bandwidth rules")["warnings"]
    assert len(said) == len(set(said)) >= 2
    assert not any(remark in chart.get("about", "") for chart in charts for remark in said)

"""Reports as files: what is in them, what cannot get out of them, and that none is left half-written."""

import base64
import re

import numpy as np
import pandas as pd
import pytest

from eigenlens import PCA, OptionError
from eigenlens.reporting import report
from eigenlens.reporting.page import FINE, pack_numbers, render_page
from written_reports import axis, layers, named
from written_reports import contents as read

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.standard_normal((60, 5)) @ RNG.standard_normal((5, 5)), columns=[f"c{j}" for j in range(5)])


def contents(path):
    return path.read_text(encoding="utf-8"), read(path)


def test_every_chart_of_a_pca_is_in_its_report(tmp_path):
    path = report(PCA(4).fit(X), X, tmp_path / "pca.html", title="Five columns", ids=[f"id{i}" for i in range(60)])
    _, found = contents(path)
    titles = [chart["title"] for chart in found["first"]["charts"]]
    assert titles == [
        "Scores", "Scree", "Loadings", "Biplot", "Correlation circle", "Contributions of columns", "cos² of columns",
        "Rows that matter most", "Outliers", "Reconstruction", "The model",
    ]  # fmt: skip
    assert found["rows"]["ids"][:2] == ["id0", "id1"]
    assert [column["name"] for column in found["rows"]["columns"]] == list(X.columns)
    assert [page["title"] for page in found["pages"]] == ["PCA", "Data and code"]


def test_the_scores_in_the_page_are_the_scores(tmp_path):
    pca = PCA(3).fit(X)
    _, found = contents(report(pca, X, tmp_path / "pca.html"))
    chart = next(chart for chart in found["first"]["charts"] if chart["title"].startswith("Scores"))
    np.testing.assert_allclose(axis(chart, 0), pca.transform(X)[:, 0], rtol=1e-6)
    np.testing.assert_allclose(axis(chart, 2), pca.transform(X)[:, 2], rtol=1e-6)


def test_loadings_have_their_numbers_where_there_is_room(tmp_path):
    pca = PCA(3, standardize=True).fit(X)
    (cells,) = layers(named(read(report(pca, X, tmp_path / "x.html"))["first"]["charts"], "Loadings"), "cell")
    loadings = pca.components_.T * np.sqrt(pca.explained_variance_)
    assert cells["text"] == [f"{value:.2f}" for value in loadings.ravel()]
    large = 1_000.0 * X
    charts = read(report(PCA(3).fit(large), large, tmp_path / "y.html"))["first"]["charts"]
    (cells,) = layers(named(charts, "Loadings"), "cell")
    large_loadings = 1_000.0 * PCA(3).fit(X).loadings_
    assert [float(text) for text in cells["text"]] == pytest.approx(large_loadings.ravel(), rel=5e-3, abs=0.5)


def test_loadings_of_columns_in_small_units_are_not_zero(tmp_path):
    """Three digits of the largest loading of each column of the data, however large those of others are."""
    units = X * np.geomspace(1e-4, 1e4, X.shape[1])
    pca = PCA(3).fit(units)
    charts = read(report(pca, units, tmp_path / "x.html"))["first"]["charts"]
    (cells,) = layers(named(charts, "Loadings"), "cell")
    found = np.reshape(list(map(float, cells["text"])), pca.loadings_.shape)
    largest = np.abs(pca.loadings_).max(axis=1, keepdims=True)
    np.testing.assert_allclose(found / largest, pca.loadings_ / largest, rtol=0.0, atol=5e-3)


def test_hostile_names_stay_text(tmp_path):
    nasty = "</script><script>alert(1)</script>"
    rows = X.rename(columns={"c0": nasty})
    path = report(PCA(2).fit(rows), rows, tmp_path / "x.html", title=nasty, columns={nasty + "!": [nasty] * 60})
    text, found = contents(path)
    assert text.count("<script") == 2
    assert found["title"] == nasty
    assert "default-src 'none'" in text


def test_nothing_is_loaded_from_anywhere(tmp_path):
    text, _ = contents(report(PCA(2).fit(X), X, tmp_path / "x.html"))
    assert not re.search(r'(src|href)\s*=\s*["\']?(https?:)?//', text)


def test_a_model_without_a_page_is_rejected_and_nothing_is_written(tmp_path):
    with pytest.raises(OptionError, match="models\\['dict'\\] is a dict, which has no page"):
        report([{}], X, tmp_path / "x.html")
    assert not list(tmp_path.iterdir())


def test_numbers_come_back_from_their_packing():
    values = np.concatenate([RNG.standard_normal(30_000), [np.nan]])
    found = pack_numbers(values, fine=FINE)
    back = np.frombuffer(base64.b64decode(found["u16"]), "<u2").astype(float)
    back = np.where(back == 65_535, np.nan, found["low"] + back * (found["high"] - found["low"]) / 65_534)
    np.testing.assert_allclose(back, values, atol=1e-4)
    assert pack_numbers([1.0, np.nan, np.inf]) == [1.0, None, None]


def test_a_page_rejects_numbers_that_json_has_not():
    with pytest.raises(ValueError, match="JSON"):
        render_page({"title": float("nan")})

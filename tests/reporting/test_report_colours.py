"""What colours the rows of a report at first, and which columns are classes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from eigenlens import PCA, GaussianMixture, NaiveBayes, report
from eigenlens.cli import main
from eigenlens.data.categories import EncodedColumn
from eigenlens.reporting.packing import RowNumbers
from eigenlens.reporting.rows import colour_column, is_informative
from written_reports import contents, named

X = np.random.default_rng(0).standard_normal((60, 3))
DIGITS = np.arange(60) % 10
MODEL = PCA(2).fit(X)


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        (DIGITS, [str(k) for k in range(10)]),
        (DIGITS.astype(np.uint8), [str(k) for k in range(10)]),
        (np.where(DIGITS == 3, np.nan, DIGITS - 1.0), ["-1", "0", "1", "3", "4", "5", "6", "7", "8"]),
        (np.array([None if k == 3 else int(k % 2) for k in DIGITS], dtype=object), ["0", "1"]),
        (DIGITS > 4, ["False", "True"]),
        (np.array(["b", "a"])[DIGITS % 2], ["b", "a"]),
    ],
)
def test_few_whole_numbers_texts_and_truths_are_classes(values, levels):
    found = colour_column(values, classes=True)
    assert isinstance(found, EncodedColumn)
    assert list(found.categories) == levels
    told = [None if text is None else text for text in found.values().tolist()]
    meant = [None if value is None or value != value else value for value in np.asarray(values).tolist()]
    assert told == [
        None if value is None else str(int(value) if isinstance(value, float) else value) for value in meant
    ]


@pytest.mark.parametrize("values", [np.arange(60), DIGITS + 0.5, X[:, 0], np.full(60, np.nan)])
def test_measurements_are_no_classes(values):
    assert isinstance(colour_column(values, classes=True), RowNumbers)


def test_fitted_columns_stay_numbers():
    assert isinstance(colour_column(DIGITS.astype(float)), RowNumbers)


def start(found):
    place = found["rows"]["colour"]
    return found["rows"]["columns"][place] if place >= 0 else None


@pytest.mark.parametrize(("values", "kind"), [(DIGITS, "text"), (X[:, 0] ** 2, "number"), (DIGITS > 3, "text")])
def test_a_column_given_colours_the_rows_at_first(tmp_path, values, kind):
    column = start(contents(report(MODEL, X, tmp_path / "x.html", columns={"label": values})))
    assert (column["name"], column["kind"]) == ("label", kind)


def test_what_says_nothing_does_not_colour(tmp_path):
    names = [f"person {i}" for i in range(60)]
    table = pd.DataFrame(X, columns=list("abc")).assign(who=names, group=["u", "v"] * 30)
    found = contents(report(PCA(2).fit(table[list("abc")]), table, tmp_path / "x.html"))
    assert start(found)["name"] == "group"
    alone = contents(report(MODEL, X, tmp_path / "y.html", columns={"same": [1] * 60}))
    assert start(alone) is None
    assert not is_informative(colour_column(np.array(names)))


def test_what_a_page_makes_colours_where_nothing_is_given(tmp_path):
    model = GaussianMixture(2, random_state=0).fit(X)
    assert start(contents(report(model, X, tmp_path / "x.html")))["name"] == "component"
    given = contents(report(model, X, tmp_path / "y.html", columns={"height": X[:, 1]}))
    assert start(given)["name"] == "height"


def test_classes_stand_there_once_and_as_names(tmp_path):
    y = np.arange(60) // 4  # fifteen classes: more than there are colours
    model = NaiveBayes().fit(X, y)
    columns = contents(report(model, X, tmp_path / "x.html", y, columns={"sort": y}))["rows"]["columns"]
    (mine,) = [column for column in columns if column["name"] in ("class", "sort")]
    assert (mine["name"], mine["kind"]) == ("sort", "text")
    found = contents(report(model, X, tmp_path / "y.html", columns={"sort": y}))
    assert start(found) == mine


def test_the_label_of_a_file_colours_the_page_of_a_pca(tmp_path):
    table = tmp_path / "t.csv"
    pd.DataFrame(X, columns=list("abc")).assign(digit=DIGITS).to_csv(table, index=False)
    page = tmp_path / "t.html"
    words = ["fit", "pca", table, "--label", "digit", "-k", "2", "-o", tmp_path / "m.safetensors", "--report", page]
    assert main([str(word) for word in words]) == 0
    column = start(contents(page))
    assert (column["name"], column["kind"]) == ("digit", "text")


# ---- pictures and bars ----------------------------------------------------------------------------------------


def test_rebuilt_images_have_the_scale_of_the_rows(tmp_path):
    shades = np.random.default_rng(1).integers(0, 9, (20, 1, 8))
    pictures = (shades + np.arange(8)[:, None] * np.ones((20, 8, 8))).reshape(20, 64)
    found = contents(report(PCA(3).fit(pictures), pictures, tmp_path / "x.html"))
    (frames,) = [chart for chart in found["first"]["charts"] if chart["title"] == "Reconstruction"]
    ranges = [frame["charts"][0]["range"] for frame in frames["frames"]]
    assert ranges == [[pictures[:8].min(), pictures[:8].max()]] * len(ranges)


def test_contributions_are_the_largest_of_both_components(tmp_path):
    wide = np.random.default_rng(2).standard_normal((80, 50))
    model = PCA(3).fit(wide)
    found = contents(report(model, wide, tmp_path / "x.html"))
    first, second, _ = named(found["first"]["charts"], "Contributions of columns")["marks"]
    V = 100.0 * model.components_[:2] ** 2
    most = np.argsort(-V.max(axis=0))[:30]
    names = first["data"]["y"]
    assert set(names) == {f"x{j}" for j in most}
    places = [int(name[1:]) for name in names]
    assert np.all(np.diff(V[0, places]) <= 0.0)
    np.testing.assert_allclose(first["data"]["x"], V[0, places], rtol=1e-6)
    np.testing.assert_allclose(second["data"]["x"], V[1, places], rtol=1e-6)

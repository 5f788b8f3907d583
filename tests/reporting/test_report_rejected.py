"""Reports that are rejected, with a message that says what to do and nothing written; and those that only look odd."""

import base64

import numpy as np
import pandas as pd
import pytest
import sklearn.decomposition
import sklearn.pipeline

import eigenlens
from eigenlens import PCA, GaussianMixture, KernelDensity, KernelPCA, NaiveBayes, OptionError, ProbabilisticPCA
from eigenlens.errors import DataError
from eigenlens.reporting import packing, report
from written_reports import contents

X = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 4)), columns=list("abcd"))
MODEL = PCA(2).fit(X)


def check_rejected(tmp_path, words, *given, **more):
    """Check that a report is rejected with this message, and that an older file stays unchanged."""
    path = tmp_path / "r.html"
    path.write_text("older")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises((OptionError, DataError), match=words):
        report(*given, more.pop("path", path), **more)
    assert path.read_text() == "older"
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "model", [PCA(2), KernelPCA(2), ProbabilisticPCA(1), GaussianMixture(2), KernelDensity(), NaiveBayes()]
)
def test_models_that_are_not_fitted_are_rejected(tmp_path, model):
    check_rejected(tmp_path, rf"models\['{type(model).__name__}'\] is a \w+ that is not fitted", model, X)


def test_anything_but_a_model_of_this_package_is_rejected(tmp_path):
    check_rejected(tmp_path, "is the class PCA; give a model that was fitted", PCA, X)
    check_rejected(tmp_path, r"is a sklearn\.PCA, which has no page", sklearn.decomposition.PCA(2).fit(X), X)
    pipeline = sklearn.pipeline.make_pipeline(PCA(2)).fit(X)
    check_rejected(tmp_path, "give the model inside it", pipeline, X)
    check_rejected(tmp_path, "names that are equal as text", {1: MODEL, "1": MODEL}, X)


def test_a_model_derived_from_one_of_this_package_has_its_page(tmp_path):
    class Own(PCA):
        """A PCA by another name."""

    found = contents(report(Own(2).fit(X), X, tmp_path / "r.html"))
    assert "Scree" in [chart["title"] for chart in found["first"]["charts"]]


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (r"y has the shape \(30, 2\)", {"y": np.zeros((30, 2))}),
        ("y has 3 entries, but X has 30 rows", {"y": [1, 2, 3]}),
        ("columns is a list", {"columns": ["a"]}),
        (r"sample_weight is -1 at index 0", {"sample_weight": -np.ones(30)}),
        (r"sample_weight is nan at index 0", {"sample_weight": np.full(30, np.nan)}),
        ("it must hold numbers", {"sample_weight": ["a"] * 30}),
        ("is not a file name", {"path": ""}),
        ("is not a file name", {"path": 5}),
        ("is not a file name", {"path": "a\0b"}),
    ],
)
def test_what_does_not_fit_is_rejected(tmp_path, words, more):
    check_rejected(tmp_path, words, MODEL, X, **more)


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        (r"X='rows\.csv' is text, and no file is called so; .* eigenlens\.scan", "rows.csv"),
        (r"X has the shape \(5,\); .* X\.reshape\(-1, 1\) is one column", np.arange(5.0)),
        (r"X has the shape \(3,\)", [1, 2, 3]),
        (r"X has the shape \(0,\)", []),
        (r"X has the shape \(2, 3, 4\); .* X\.reshape\(2, -1\)", np.zeros((2, 3, 4))),
        (r"X is a mapping; give a frame: pandas\.DataFrame", {"a": [1.0]}),
        ("X is a float; give the rows", 1.5),
        ("X is a generator; give the rows", (row for row in [[1.0]])),
        ("X has no 'a': give X with the columns of the fit", X.rename(columns={"a": "z"})),
        ("X has 2 columns, 2 of them numbers, but PCA was fitted on 4; give X with the columns", X.to_numpy()[:, :2]),
        ("column 'b' of X holds text or dates, but PCA takes numbers", X.assign(b="text")),
    ],
)
def test_what_is_no_table_of_the_model_is_rejected(tmp_path, words, rows):
    check_rejected(tmp_path, words, MODEL, rows)


def test_a_file_is_no_table_but_its_scan_is(tmp_path):
    path = tmp_path / "rows.csv"
    X.to_csv(path, index=False)
    check_rejected(tmp_path, r"is the name of a file; give its rows: eigenlens\.scan\('", MODEL, str(path))
    assert contents(report(MODEL, eigenlens.scan(path), tmp_path / "s.html"))["rows"]["total"] == 30


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ("ids='abc' is a str; give one entry per row", {"ids": "abc"}),
        ("y=5 is a int; give one entry per row", {"y": 5}),
        ("title=None is a NoneType; give text", {"title": None}),
        ("command=5 is a int; give text", {"command": 5}),
    ],
)
def test_what_is_of_another_kind_is_rejected(tmp_path, words, more):
    check_rejected(tmp_path, words, MODEL, X, **more)


def test_folders_are_no_files(tmp_path):
    check_rejected(tmp_path, "is a folder; give a file in it", MODEL, X, path=tmp_path)
    check_rejected(tmp_path, "which is a file, not a folder", MODEL, X, path=tmp_path / "r.html" / "x.html")


def test_halves_of_characters_are_shown_as_question_marks(tmp_path):
    path = report(MODEL, X, tmp_path / "r.html", ids=[f"\udcff{i}" for i in range(30)], command="eigenlens \udcff.csv")
    found = contents(path)
    assert found["rows"]["ids"][:2] == ["?0", "?1"]
    (text,) = [code["text"] for code in found["overview"]["charts"][-1]["code"] if code["label"] == "Command line"]
    assert text == "eigenlens ?.csv"


def test_a_report_with_regions_shrinks_to_its_room(tmp_path, monkeypatch):
    """Rows are left out of a file that is too large; cells of a plane are no rows."""
    monkeypatch.setattr(packing, "MAX_FILE_BYTES", 700_000)
    rows = np.random.default_rng(0).standard_normal((15_000, 3))
    y = np.where(rows[:, 0] > 0, "a", "b")
    path = report(NaiveBayes().fit(rows, y), rows, tmp_path / "r.html", y)
    assert path.stat().st_size <= 700_000
    found = contents(path)
    assert 500 <= found["rows"]["shown"] < 15_000
    chart = next(chart for chart in found["first"]["charts"] if chart["title"] == "Decision regions")
    assert len(base64.b64decode(chart["regions"]["codes"]["f32"])) == 4 * 100 * 100


def test_the_python_of_a_model_of_some_columns_names_them(tmp_path):
    model = PCA(1).fit(X[["d", "a"]])
    found = contents(report({"few": model, "all": MODEL}, X, tmp_path / "r.html"))
    (text,) = [code["text"] for code in found["overview"]["charts"][-1]["code"] if code["label"] == "Python"]
    assert "few = eigenlens.PCA(n_components=1).fit(X[['d', 'a']])" in text
    assert "all = eigenlens.PCA(n_components=2).fit(X)" in text

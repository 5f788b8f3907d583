"""What a fit warned of is at the top of its page, and decisions about the file are on the last page."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from eigenlens import (
    PCA,
    FactorAnalysis,
    GaussianMixture,
    LinearDiscriminant,
    MixtureModel,
    NaiveBayes,
    ProbabilisticPCA,
    QuadraticDiscriminant,
    load,
    report,
)
from eigenlens.errors import OptionError
from written_reports import axis, contents, named, numbers

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.standard_normal((60, 4)) @ RNG.standard_normal((4, 4)), columns=list("abcd"))
Y = np.array(["one", "two"])[np.arange(60) % 2]


def quietly(fit, *arguments):
    """What a fit gives, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = fit(*arguments)
    return found, [str(each.message) for each in caught]


def top(path):
    """The warnings of the page of the first model."""
    charts = contents(path)["first"]["charts"]
    return charts[0].get("warnings", []) if charts[0]["title"] == "Warnings" else []


TIED = np.array([[1.0, 2.0, 1.0], [2.0, 1.0, 1.0], [3.0, 5.0, 1.0], [5.0, 3.0, 2.0], [4.0, 4.0, 2.0], [6.0, 7.0, 2.0]])

FITS = {
    "EM stopped": lambda: (GaussianMixture(2, n_init=1, max_iter=2, tol=1e-12, random_state=0).fit, X),
    "stopped after": lambda: (FactorAnalysis(1, max_iter=1).fit, X),
    "collapsed": lambda: (GaussianMixture(2, n_init=1, random_state=0).fit, [[0.0], [0.0], [0.0], [5.0], [6.0], [7.0]]),
    "Heywood": lambda: (FactorAnalysis(1).fit, X.assign(b=X["a"], c=X["a"] + 1e-9)),
    "columns are constant": lambda: (ProbabilisticPCA(1).fit, X.assign(d=1.0)),
    "left out": lambda: (MixtureModel(1, n_init=1).fit, X.mask(np.arange(60)[:, None] == np.full(4, 3))),
    "constant within every class": lambda: (LinearDiscriminant().fit, TIED, [0, 0, 0, 1, 1, 1]),
    "constant in class": lambda: (NaiveBayes("gaussian").fit, TIED, [0, 0, 0, 1, 1, 1]),
}


@pytest.mark.parametrize("words", FITS)
def test_warnings_of_a_fit_are_derived_from_the_model(words, tmp_path):
    fit, rows, *y = FITS[words]()
    model, given = quietly(fit, rows, *y)
    given = [text for text in given if words in text]
    assert given, words
    said = top(report(model, rows, tmp_path / "x.html", *y))
    assert set(given) <= set(said)


def test_warnings_are_derived_from_a_model_that_was_saved(tmp_path):
    model, _ = quietly(GaussianMixture(2, n_init=1, max_iter=2, tol=1e-12, random_state=0).fit, X)
    model.save(tmp_path / "m.safetensors")
    said = top(report(load(tmp_path / "m.safetensors"), X, tmp_path / "x.html"))
    assert any(text.startswith("EM stopped after 2 steps") for text in said)


def test_singular_classes_are_named(tmp_path):
    rows = np.column_stack([X["a"], X["b"], X["a"] + X["b"]])
    model, given = quietly(QuadraticDiscriminant().fit, rows, Y)
    assert any("singular" in text for text in given)
    said = top(report(model, rows, tmp_path / "x.html", Y))
    assert any("2 of 2 classes is singular" in text and "'one', 'two'" in text for text in said)


def test_missing_values_are_counted(tmp_path):
    rows = X.copy()
    rows.iloc[:5, 1] = np.nan
    said = top(report(ProbabilisticPCA(1).fit(rows), rows, tmp_path / "x.html"))
    assert said == [
        "5 values are missing (2.08%), in 1 of 4 columns ('b'): the fit maximises the likelihood of the observed ones."
    ]


def test_a_column_with_nearly_all_the_variance_is_named(tmp_path):
    rows = X.assign(d=1_000.0 * X["d"])
    path = report(PCA(2).fit(rows), rows, tmp_path / "x.html")
    (said,) = top(path)
    assert said.startswith("column 'd' has 100% of the variance of all columns")
    found = contents(path)
    beside = axis(named(found["first"]["charts"], "Scores if columns are standardised"), 0)
    Z = PCA(2, standardize=True).fit_transform(rows)
    np.testing.assert_allclose(numbers(beside, found), Z[:, 0], atol=1e-5)
    assert top(report(PCA(2, standardize=True).fit(rows), rows, tmp_path / "y.html")) == []
    assert top(report(PCA(2).fit(X), X, tmp_path / "z.html")) == []


def test_given_warnings_replace_those_of_the_fit_but_not_those_of_the_rows(tmp_path):
    rows = X.copy()
    rows.iloc[:5, 1] = np.nan
    model, given = quietly(ProbabilisticPCA(1, max_iter=1).fit, rows)
    assert given
    said = top(report({"mine": model}, rows, tmp_path / "x.html", warnings={"mine": ["as the command line says it"]}))
    assert said[0] == "as the command line says it"
    assert len(said) == 2
    assert "5 values are missing" in said[1]


def test_warnings_of_no_model_are_rejected(tmp_path):
    model = PCA(2).fit(X)
    with pytest.raises(OptionError, match="names 'pca', which is not among the models; their names are \\['PCA'\\]"):
        report(model, X, tmp_path / "x.html", warnings={"pca": ["a"]})
    with pytest.raises(OptionError, match="warnings is a list"):
        report(model, X, tmp_path / "x.html", warnings=["a"])


def test_several_models_open_on_the_main_plot_of_each(tmp_path):
    models = {"pca": PCA(2).fit(X), "gmm": GaussianMixture(2, n_init=1, random_state=0).fit(X)}
    found = contents(report(models, X, tmp_path / "x.html"))
    assert [page["title"] for page in found["pages"]] == ["All models", "pca", "gmm", "Data and code"]
    assert [chart["title"] for chart in found["pages"][0]["charts"]] == ["pca: Scores", "gmm: Components"]


def test_decisions_about_the_file_and_the_code_are_last(tmp_path):
    found = contents(report(PCA(2).fit(X), X, tmp_path / "x.html", decisions=["3 cells are missing", "id is a name"]))
    titles = [chart["title"] for chart in found["overview"]["charts"]]
    assert titles == ["What this is", "Decisions about the file", "Columns", "How to make this report again"]
    assert named(found["overview"]["charts"], titles[1])["paragraphs"] == ["3 cells are missing", "id is a name"]

"""A notebook shows the main plot of an estimator once it is fitted, and scikit-learn's diagram before."""

from __future__ import annotations

import base64
import pickle
import re
import sys
import warnings
from html.parser import HTMLParser
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
import sklearn

import eigenlens
from bed_files import write_bed
from eigenlens.catalogue import MODELS, estimator_class, import_part
from eigenlens.estimator.main_plot_html import MAIN_PLOTS

mpl.use("Agg")
import matplotlib.pyplot as plt

RNG = np.random.default_rng(3)
HOSTILE = ["<script>alert(1)</script>", "$\\frac{x", "a & b", "]]>", "--><img src=x onerror=alert(2)>", "name " * 40]
X = RNG.normal(size=(60, 6)) + np.outer(np.repeat([0.0, 6.0, 12.0], 20), [1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
X[:, 3:] += 2.0 * RNG.normal(size=(60, 1))
FRAME = pl.DataFrame(X, schema=HOSTILE)
LABELS = np.repeat(["<b>x</b>", "$y", "z & \\z"], 20)
OPTIONS = {
    "SparsePCA": {"n_components": 2, "n_nonzero": 3},
    "GenotypePCA": {"n_components": 2},
    "KernelPCA": {"n_components": 3},
    "ProbabilisticPCA": {"n_components": 2},
    "FactorAnalysis": {"n_components": 2, "rotation": "varimax"},
    "GaussianMixture": {"n_components": 3, "covariance_type": "diag", "random_state": 0},
    "MixtureModel": {"n_components": 3, "random_state": 0},
    "BayesClassifier": {"density": eigenlens.KernelDensity()},
}
FEWER_COMPONENTS = {"SparsePCA": 2, "ProbabilisticPCA": 2, "FactorAnalysis": 2}
"""Models that need more columns than these."""

SVG = "{http://www.w3.org/2000/svg}"


class Tags(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text, self.open = [], "", []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def fitted(name, folder, columns=6):
    model = estimator_class(name)(**OPTIONS.get(name, {}))
    if MODELS[name].genotypes:
        calls = np.random.default_rng(0).integers(0, 3, (20, 50)).astype(float)
        return model.fit(eigenlens.scan(write_bed(folder, calls)))
    rows = FRAME[:, :columns]
    return model.fit(rows, LABELS) if MODELS[name].classes else model.fit(rows)


def drawn(model):
    """Return the image that a notebook shows, after checks of the HTML around it."""
    page = Tags(model._repr_html_())
    assert not page.open
    assert [tag for tag, _ in page.elements] == ["figure", "figcaption", "code", "img"]
    assert page.text == repr(model)
    image = page.elements[-1][1]
    assert type(model).__name__ in image["alt"]
    kind, _, content = image["src"].partition(",")
    assert kind == "data:image/svg+xml;base64"
    return ElementTree.fromstring(base64.b64decode(content, validate=True))


def check_self_contained(image):
    assert image.tag == f"{SVG}svg"
    assert len(image.findall(f".//{SVG}path")) > 10
    assert {each.tag for each in image.iter()} & {f"{SVG}{tag}" for tag in ("script", "foreignObject", "a")} == set()
    for name, value in (pair for each in image.iter() for pair in each.attrib.items()):
        assert not name.startswith("on")
        assert not name.endswith("href") or value.startswith(("#", "data:image/png;base64,"))


CASES = [(name, columns) for name in MODELS for columns in (1, 2, 6) if columns > FEWER_COMPONENTS.get(name, 0)]


@pytest.mark.parametrize(("name", "columns"), CASES)
def test_a_fitted_model_shows_its_plot_and_is_left_as_it_was(name, columns, tmp_path):
    model = fitted(name, tmp_path, columns)
    model._repr_html_()  # what is computed once and kept is there now
    before, settings = pickle.dumps(model), dict(mpl.rcParams)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        check_self_contained(drawn(model))
    assert pickle.dumps(model) == before
    assert dict(mpl.rcParams) == settings
    assert plt.get_fignums() == []


def test_every_model_has_a_plot():
    assert list(import_part(MAIN_PLOTS)) == list(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_one_that_is_not_fitted_shows_the_diagram(name):
    model = estimator_class(name)(**OPTIONS.get(name, {}))
    shown = model._repr_html_()
    assert "sk-top-container" in shown
    assert "<figcaption>" not in shown


def test_the_same_model_shows_the_same_plot_each_time(tmp_path):
    model = fitted("PCA", tmp_path)
    assert model._repr_html_() == model._repr_html_()
    bundle = model._repr_mimebundle_()
    assert bundle == {"text/plain": repr(model), "text/html": model._repr_html_()}
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert list(model._repr_mimebundle_()) == ["text/plain"]


def test_parameters_are_escaped():
    model = eigenlens.NaiveBayes(features={"<i>a</i>": "gaussian"}).fit(pl.DataFrame({"<i>a</i>": X[:, 0]}), LABELS)
    assert "&lt;i&gt;a&lt;/i&gt;" in model._repr_html_()
    check_self_contained(drawn(model))


def test_without_matplotlib_the_diagram_is_shown(monkeypatch, tmp_path):
    model = fitted("PCA", tmp_path)
    for name in [each for each in sys.modules if each.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "sk-top-container" in model._repr_html_()


def test_a_model_without_anything_to_draw_shows_the_diagram():
    model = eigenlens.PCA(0).fit(X)
    assert "sk-top-container" in model._repr_html_()


def test_a_subclass_of_a_user_is_drawn_as_its_parent(tmp_path):
    class Mine(eigenlens.PCA):
        pass

    assert drawn(Mine().fit(X)).tag == f"{SVG}svg"


def words(model):
    """Return the texts of a plot: matplotlib writes each as a comment beside its outlines."""
    content = base64.b64decode(re.search('base64,([^"]*)', model._repr_html_())[1]).decode()
    return re.findall(r"<!-- (.*?) -->", content, re.DOTALL)


def test_plots_say_what_the_models_found():
    wine = eigenlens.datasets.load("wine")
    table = wine.frame()
    shares = eigenlens.PCA(3, standardize=True).fit(table).explained_variance_ratio_
    assert {f"{100.0 * share:.1f}" for share in shares} <= set(words(eigenlens.PCA(3, standardize=True).fit(table)))
    naive = eigenlens.NaiveBayes().fit(table, wine.labels)
    assert {"flavanoids", "the column that separates the classes best, of 13", *set(wine.labels)} <= set(words(naive))
    two = np.array(wine.labels) == "Barolo"
    line = words(eigenlens.LinearDiscriminant().fit(table, two))
    assert {"LD1 (100.0%)", "False: 66.9%", "True: 33.1%"} <= set(line)
    plane = words(eigenlens.QuadraticDiscriminant().fit(table, wine.labels))
    assert {"class", "Barbera: 27%", "Barolo: 33.1%", "Grignolino: 39.9%"} <= set(plane)


def test_naive_bayes_of_categories_shows_bars():
    colours = pl.DataFrame({"colour": list("rrgrbggbb") * 5, "noise": RNG.normal(size=45)})
    model = eigenlens.NaiveBayes().fit(colours, list("aaabbbccc") * 5)
    assert {"% of the class", "colour", "r", "g", "b"} <= set(words(model))


def test_naive_bayes_of_counts_shows_the_words_that_differ():
    counts = np.random.default_rng(0).poisson([[1, 9, 3], [9, 1, 3]] * 20)
    model = eigenlens.NaiveBayes("multinomial").fit(pl.DataFrame(counts, schema=["cat", "dog", "$the"]), [0, 1] * 20)
    shown = words(model)
    assert {"cat", "dog", "$the", "the 3 of 3 counts that differ most"} <= set(shown)
    shares = np.array([counts[0::2].sum(axis=0), counts[1::2].sum(axis=0)]) + 1.0
    shares /= shares.sum(axis=1, keepdims=True)
    assert {f"{value:.2f}" for value in np.log2(shares / shares.mean(axis=0))[:, :2].ravel()} <= set(shown)

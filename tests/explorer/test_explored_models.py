"""Models of the explorer that are fitted to rows have the numbers of their estimators and take their options."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import eigenlens
from eigenlens.catalogue import import_part
from eigenlens.explorer.explored_model import LIVE_MODELS, explored_model
from explorer.requests_to import ask, axis_values, chart, page_data, send

WINE = eigenlens.datasets.load("wine")
NAMES = ["alcohol", "flavanoids", "proline", "hue"]
FRAME = pd.DataFrame(np.asarray(WINE.data), columns=[str(name) for name in WINE.columns])[NAMES]
FRAME["cultivar"] = list(WINE.labels)


@pytest.fixture
def asked(serve):
    """Ask for a model of the wines: `asked("kde", k=3, options={…})` gives the server, the question and the answer."""
    server, _ = serve(FRAME)
    first = page_data(server)["question"]

    def answer(model, **more):
        body = {name: more.pop(name) for name in ("run", "draft") if name in more}
        question = first | {"model": model, "axes": [0, 1]} | more
        return server, question, ask(server, "answer", question=question, **body)

    return answer


def test_a_density_is_of_the_two_columns_that_are_looked_at(asked):
    _, _, found = asked("kde", axes=[2, 1], options={"bandwidth": 0.4})
    density = chart(found, "Density")
    assert {density["xlabel"], density["ylabel"]} == {"flavanoids", "proline"}
    slider = found["scales"]["bandwidth"]
    assert slider["at"] == pytest.approx(0.4)
    X = FRAME[["flavanoids", "proline"]].to_numpy()
    h = eigenlens.KernelDensity(bandwidth="sheather-jones").fit(X).bandwidth_ / X.std(axis=0)
    marks = {each["name"]: each["at"] for each in slider["marks"]}
    assert marks["sheather-jones"] == pytest.approx(np.sqrt(h.prod()))
    assert slider["low"] < min(marks.values()) < max(marks.values()) < slider["high"]


def test_the_command_of_a_density_gives_its_bandwidth(asked, serve, tmp_path):
    FRAME.to_csv(tmp_path / "wine.csv", index=False)
    server, _ = serve(tmp_path / "wine.csv")
    question = page_data(server)["question"] | {"model": "kde", "options": {"bandwidth": 0.4}}
    found = ask(server, "scripts", question=question)
    assert "eigenlens fit kde" in found["command"]
    assert "--bandwidth 0.4 --standardize" in found["command"]
    assert "KernelDensity(" in found["python"]


def test_a_mixture_waits_for_its_criteria_and_then_keeps_them(asked):
    server, question, found = asked("gmm", k=3)
    assert "BIC" in found["slow"]
    titles = [each["title"] for each in found["charts"]]
    assert titles[0] == "Components"
    assert "BIC by the number of components" not in titles
    found = ask(server, "answer", question=question, run=True)
    curve = chart(found, "BIC by the number of components")
    table = chart(found, "Mixtures compared")
    best = {column["name"]: column["values"] for column in table["columns"]}
    direct = eigenlens.select_mixture(FRAME[NAMES], range(1, 9), random_state=0, standardize=True)
    assert (best["covariance type"] if "covariance type" in best else best[direct.title_of_types])[0] == direct.types[0]
    assert curve["marks"]
    again = ask(server, "answer", question=question | {"k": 4})
    assert not again["slow"]
    assert chart(again, "BIC by the number of components")


def test_an_embedding_is_exact_once_its_slider_rests(asked):
    direct = eigenlens.KernelPCA(3, gamma=0.3, standardize=True, random_state=0)
    Z = np.asarray(direct.fit_transform(FRAME[NAMES]))
    _, _, found = asked("kpca", k=3, options={"gamma": 0.3})
    embedding = chart(found, "Embedding")
    first = axis_values(embedding, 0, found.get("shared", ()))
    np.testing.assert_allclose(np.abs(first), np.abs(Z[:, 0]), atol=1e-5)
    assert "exact" in found["note"]
    _, _, near = asked("kpca", k=3, options={"gamma": 0.31}, draft=True)
    assert "landmarks" in near["note"]
    rough = axis_values(chart(near, "Embedding"), 0, near.get("shared", ()))
    assert abs(np.corrcoef(rough, Z[:, 0])[0, 1]) > 0.99


@pytest.mark.parametrize("model", ["nb", "lda", "qda"])
def test_a_classifier_has_regions_and_reasons(asked, model):
    server, question, found = asked(model, axes=[2, 0])
    regions = chart(found, "Decision regions")
    assert (regions["xlabel"], regions["ylabel"]) == ("proline", "alcohol")
    assert regions["regions"]["classes"] == ["Barbera", "Barolo", "Grignolino"]
    (reasons,) = ask(server, "reasons", question=question, row=100)["charts"]
    estimator = {
        "nb": eigenlens.NaiveBayes,
        "lda": eigenlens.LinearDiscriminant,
        "qda": eigenlens.QuadraticDiscriminant,
    }
    options = {} if model == "nb" else {"standardize": True}
    direct = estimator[model](**options).fit(FRAME[NAMES], FRAME["cultivar"])
    wanted = direct.explain(FRAME[NAMES].iloc[[100]])
    (bars,) = reasons["marks"]
    shown = dict(zip(bars["data"]["x"], bars["data"]["y"], strict=True))
    for name, value in zip(NAMES, wanted.contributions[0], strict=True):
        drawn = next(each for label, each in shown.items() if label.startswith(f"{name} ="))
        assert drawn == pytest.approx(value, rel=1e-5)
    assert str(direct.predict(FRAME[NAMES].iloc[[100]])[0]) in reasons["about"]


def test_a_classifier_without_classes_says_what_to_do(asked):
    server, question, _ = asked("pca")
    question = question | {"model": "lda", "roles": question["roles"] | {"cultivar": "ignore"}}
    status, _, content = send(server, "POST", "/answer", {"question": question})
    assert status == 400
    assert b"drag one to Colour" in content


@pytest.mark.parametrize("row", [-1, 178, "x", None, 1e9])
def test_an_unknown_row_is_an_error(asked, row):
    server, question, _ = asked("lda")
    status, _, content = send(server, "POST", "/reasons", {"question": question, "row": row})
    assert status == 400
    assert b"row" in content


def test_an_option_that_a_model_has_not_is_named(asked):
    server, question, _ = asked("kde")
    for options in ({"gamma": 1.0}, {"bandwidth": -1.0}, {"bandwidth": "nonsense"}, {"kernel": 2.0}):
        status, _, content = send(server, "POST", "/answer", {"question": question | {"options": options}})
        assert (status, next(iter(options)).encode() in content) == (400, True)


def test_the_options_start_at_the_defaults_of_the_classes():
    first = {(command, each.name): each.first for command in LIVE_MODELS for each in explored_model(command).options}
    assert {"bandwidth", "kernel", "covariance", "gamma"} == {name for _, name in first}
    for (command, name), value in first.items():
        entry = LIVE_MODELS[command]
        known = inspect.signature(import_part(entry.estimator)).parameters[entry.options[name]]
        assert value == (known.default or "")


def test_listing_the_models_imports_none_that_is_not_asked_for():
    code = """
import json, sys
from eigenlens.explorer.explored_model import LIVE_MODELS, explored_model
names = [option.name for command in LIVE_MODELS for option in explored_model(command).options]
print(json.dumps([len(names), sorted(sys.modules)]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, loaded = json.loads(done.stdout)
    assert count == 5
    kept = {"KernelPCA", "FactorAnalysis", "ProbabilisticPCA", "NaiveBayes", "LinearDiscriminant"}
    modules = {eigenlens.catalogue.MODELS[name].estimator.rpartition(".")[0] for name in kept}
    assert not modules & set(loaded)

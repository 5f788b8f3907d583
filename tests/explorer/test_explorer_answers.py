"""Answers from the moments are the numbers of the estimators, fitted to the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import eigenlens
from eigenlens.errors import DataError, OptionError

pytest.importorskip("polars")
from eigenlens.explorer.answer import ExplorerAnswers, fit_question, question_scores
from eigenlens.explorer.explored_model import SlowFit
from eigenlens.explorer.explored_table import open_explored
from eigenlens.explorer.page_data import page_data
from eigenlens.explorer.question import first_question, read_question
from explorer.requests_to import bits_of

WINE = eigenlens.datasets.load("wine")
RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def wine(tmp_path_factory):
    """The wine data as a file, with a column of whole weights and a constant one."""
    path = tmp_path_factory.mktemp("wine") / "wine.csv"
    names = [str(name) for name in WINE.columns]
    frame = pd.DataFrame(np.asarray(WINE.data), columns=names)
    frame.insert(0, "cultivar", np.asarray(WINE.labels))
    frame["times"] = RNG.integers(0, 4, len(frame)) + 0.5
    frame["same"] = 7
    frame.to_csv(path, index=False)
    return path, frame, names


@pytest.fixture(scope="module")
def table(wine):
    return open_explored(wine[0])


def ask_for(table, **change):
    """A question with some changes; roles: {column: role}."""
    first = first_question(table)
    roles = dict(first.roles) | change.pop("roles", {})
    return read_question(first.as_json() | {"roles": roles} | change, table)


def test_roles_are_those_that_the_command_line_guesses(table):
    roles = dict(first_question(table).roles)
    assert roles["cultivar"] == "colour"
    assert roles["same"] == "ignore"
    assert table.column("same").reason == "constant, 7"
    assert roles["alcohol"] == roles["times"] == "active"


CASES = {
    "first": {},
    "own units": {"standardize": False, "k": 3},
    "rotated": {"k": 3, "rotation": "varimax"},
    "fewer columns": {"roles": {"alcohol": "ignore", "proline": "supplementary"}, "k": 4},
    "weighted": {"roles": {"times": "weight"}, "k": 2},
}


@pytest.mark.parametrize("case", CASES)
def test_a_fit_from_the_moments_is_the_fit_of_the_rows(table, wine, case):
    question = ask_for(table, **CASES[case])
    frame, names = wine[1], list(question.columns("active"))
    weight = None if question.weight is None else frame[question.weight].to_numpy()
    options = {"standardize": question.standardize, "rotation": question.rotation}
    direct = eigenlens.PCA(question.k, **options).fit(frame[names], sample_weight=weight)
    found = fit_question(table, question).model
    np.testing.assert_allclose(found.explained_variance_, direct.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(found.loadings_, direct.loadings_, atol=1e-8 * np.abs(direct.loadings_).max())
    np.testing.assert_allclose(found.transform(frame[names]), direct.transform(frame[names]), atol=1e-7, rtol=1e-7)


LATENT = {
    "ppca": (eigenlens.ProbabilisticPCA, {}),
    "ppca in units of its own": (eigenlens.ProbabilisticPCA, {"standardize": False}),
    "fa": (eigenlens.FactorAnalysis, {}),
    "fa rotated": (eigenlens.FactorAnalysis, {"rotation": "oblimin"}),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", LATENT)
def test_latent_models_from_the_moments_are_those_of_the_rows(table, wine, case, weighted):
    make, change = LATENT[case]
    roles = {"times": "weight" if weighted else "ignore"}
    question = ask_for(table, model=case.split()[0], k=2, roles=roles, axes=[1, 0], **change)
    frame, names = wine[1], list(question.columns("active"))
    options = {"standardize": question.standardize} | {key: each for key, each in change.items() if key == "rotation"}
    weight = frame["times"].to_numpy() if weighted else None
    direct = make(2, **options, random_state=0).fit(frame[names], sample_weight=weight)
    answers = ExplorerAnswers(table)
    found = answers.fitted(question).model
    np.testing.assert_allclose(found.loadings_, direct.loadings_, atol=2e-4 * np.abs(direct.loadings_).max())
    assert found.loglik_ == pytest.approx(direct.loglik_, rel=1e-6)
    charts = answers.charts(question)["charts"]
    shown = next(each for each in charts if each["title"] == "Latent values")
    Z = np.asarray(direct.transform(frame[names]))
    np.testing.assert_allclose(shown["axes"][0]["values"], Z[:, 1], atol=2e-3)


def test_a_model_with_noise_has_fewer_components_than_columns(table):
    roles = {name: "ignore" for name, role in first_question(table).roles if role == "active"}
    question = ask_for(table, model="ppca", k=9, roles=roles | {"ash": "active", "hue": "active"})
    assert (question.k, question.axes) == (1, (0,))
    with pytest.raises(DataError, match="needs two"):
        ask_for(table, model="fa", roles=roles | {"ash": "active"})


def test_the_whole_spectrum_is_that_of_all_components(table, wine):
    question = ask_for(table, k=2)
    names = list(question.columns("active"))
    every = eigenlens.PCA(standardize=True).fit(wine[1][names])
    np.testing.assert_allclose(fit_question(table, question).spectrum, every.explained_variance_, rtol=1e-8)


def test_the_plane_shows_the_components_that_are_asked_for(table, wine):
    question = ask_for(table, k=4, axes=[2, 0])
    charts = ExplorerAnswers(table).charts(question)["charts"]
    scores = next(each for each in charts if each["title"] == "Scores")
    direct = eigenlens.PCA(4, standardize=True).fit(wine[1][list(question.columns("active"))])
    Z = direct.transform(wine[1][list(question.columns("active"))])
    assert [axis["label"].split()[0] for axis in scores["axes"]] == ["PC3", "PC1"]
    for axis, j in zip(scores["axes"], (2, 0), strict=True):
        np.testing.assert_allclose(axis["values"], np.asarray(Z)[:, j], rtol=1e-5, atol=1e-5)


def test_a_fit_is_kept_for_another_plane_and_not_for_other_columns(table):
    answers = ExplorerAnswers(table)
    question = ask_for(table, k=3)
    first = answers.fitted(question)
    assert answers.fitted(replace(question, axes=(1, 2))) is first
    assert answers.fitted(ask_for(table, k=3, roles={"ash": "ignore"})) is not first
    assert answers.fitted(ask_for(table, k=2)) is not first


PARTS = {"without": np.arange(178) % 5 == 0, "only": np.arange(178) < 59}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", PARTS)
def test_passive_rows_have_scores_and_take_no_part_in_the_fit(table, wine, kind, weighted):
    _, frame, names = wine
    roles = {"times": "weight" if weighted else "ignore"}
    question = ask_for(table, rows={"kind": kind, "bits": bits_of(PARTS[kind])}, roles=roles)
    kept = PARTS[kind] if kind == "only" else ~PARTS[kind]
    model = fit_question(table, question).model
    weight = frame["times"][kept] if weighted else None
    direct = eigenlens.PCA(question.k, standardize=True).fit(frame.loc[kept, names], sample_weight=weight)
    np.testing.assert_allclose(model.explained_variance_, direct.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(model.components_, direct.components_, atol=1e-10)
    scores = question_scores(table, question, model)
    np.testing.assert_allclose(scores, direct.transform(frame[names]), atol=1e-8)
    weights = page_data(table, question, "")["rows"]["weights"]
    np.testing.assert_array_equal(np.array(weights) > 0.0, kept)


def test_rows_with_missing_values_are_fitted_without_the_passive_ones(wine, tmp_path):
    _, frame, names = wine
    bad = frame.drop(columns="times")
    bad.loc[3:30, "ash"] = np.nan
    bad.to_csv(tmp_path / "bad.csv", index=False)
    table = open_explored(tmp_path / "bad.csv")
    question = ask_for(table, k=2, rows={"kind": "without", "bits": bits_of(PARTS["without"])})
    direct = eigenlens.PCA(2, standardize=True, missing="em", random_state=0).fit(bad.loc[~PARTS["without"], names])
    np.testing.assert_allclose(fit_question(table, question).model.loadings_, direct.loadings_, atol=1e-6)


def test_a_fit_of_too_few_rows_is_an_error_in_words(table):
    with pytest.raises(DataError, match="1 of 178 rows would be fitted"):
        ask_for(table, rows={"kind": "only", "bits": bits_of(np.arange(178) == 4)})
    with pytest.raises(OptionError, match="all, without, only"):
        ask_for(table, rows={"kind": "some", "bits": ""})
    assert ask_for(table, rows={"kind": "only", "bits": bits_of(np.arange(178) < 4)}, k=9).k == 3
    assert ask_for(table, rows={"kind": "without", "bits": bits_of(np.arange(178) < 0)}).rows.whole


def test_missing_values_are_fitted_as_the_command_line_does(tmp_path):
    X = RNG.standard_normal((60, 4)) @ RNG.standard_normal((4, 4))
    X[RNG.random(X.shape) < 0.1] = np.nan
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.to_csv(tmp_path / "holes.csv", index=False)
    table = open_explored(tmp_path / "holes.csv")
    question = ask_for(table, k=2)
    direct = eigenlens.PCA(2, standardize=True, missing="em", random_state=0).fit(frame)
    answers = ExplorerAnswers(table)
    charts = answers.charts(question)
    np.testing.assert_allclose(answers.fitted(question).model.loadings_, direct.loadings_, atol=1e-6)
    assert str(int(np.isnan(X).sum())) in charts["warnings"][0]


def test_a_slow_fit_waits_to_be_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr("eigenlens.explorer.answer.LIVE_ENTRIES", 10)
    frame = pd.DataFrame({"a": [1.0, 2.0, np.nan, 5.0, 1.0, 0.5], "b": [2.0, 1.0, 3.0, 3.5, 0.0, 0.1]})
    table = open_explored(frame)
    answers = ExplorerAnswers(table)
    with pytest.raises(SlowFit, match="6 rows"):
        answers.charts(first_question(table))
    assert answers.charts(first_question(table), run=True)["charts"]


def test_rows_in_memory_have_the_same_answers_as_their_file(wine, table):
    _, frame, _ = wine
    memory = open_explored(frame)
    assert [each[:4] for each in memory.columns] == [each[:4] for each in table.columns]
    np.testing.assert_allclose(memory.moments.scatter, table.moments.scatter, rtol=1e-9)
    plain = open_explored(frame[["ash", "hue"]].to_numpy())
    assert [each.name for each in plain.columns] == ["x0", "x1"]


def test_dates_and_empty_columns_can_only_be_ignored(tmp_path):
    path = tmp_path / "dates.csv"
    rows = [f"2024-01-{day:02},{day * 1.5 + (day % 3)},{day % 5},," for day in range(1, 29)]
    path.write_text("day,x,y,void,other\n" + "\n".join(rows) + "\n")
    table = open_explored(path)
    assert not table.column("void").usable
    assert dict(first_question(table).roles)["void"] == "ignore"
    with pytest.raises(DataError, match="can only be ignored"):
        ask_for(table, roles={"void": "active"})


WRONG = {
    "role": ({"roles": {"ash": "king"}}, "not a role"),
    "text as active": ({"roles": {"cultivar": "active"}}, "holds text"),
    "unknown column": ({"roles": {"nobody": "active"}}, "no column 'nobody'"),
    "two names": ({"roles": {"ash": "name", "hue": "name"}}, "both have the role name"),
    "model": ({"model": "magic"}, "magic"),
    "rotation": ({"rotation": "twist"}, "rotation"),
    "k": ({"k": "many"}, "integer"),
    "axes": ({"axes": 3}, "axes"),
    "scale": ({"standardize": "yes"}, "True or False"),
    "negative weights": ({"roles": {"minus": "weight"}}, "cannot weight"),
    "nothing active": ({"roles": dict.fromkeys(["ash", "hue", "minus"], "ignore")}, "no column is active"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_asked_is_an_error_in_words(wine, case):
    frame = wine[1][["cultivar", "ash", "hue"]].assign(minus=np.linspace(-1.0, 1.0, len(wine[1])) ** 3)
    table = open_explored(frame)
    change, words = WRONG[case]
    with pytest.raises((OptionError, DataError), match=words):
        fit_question(table, ask_for(table, **change))


def test_more_components_than_columns_are_as_many_as_there_are(table):
    question = ask_for(table, k=500, axes=[400, 401])
    assert question.k == len(question.columns("active"))
    assert question.axes == (0, 1)


def test_a_sample_of_many_rows_is_shown_and_all_of_them_fitted(monkeypatch):
    monkeypatch.setattr("eigenlens.tables.rows.MAX_POINTS", 500)
    X = RNG.standard_normal((3_000, 3)) @ RNG.standard_normal((3, 3)) + 1e3
    table = open_explored(X)
    assert (len(table.sample.chosen), table.n) == (500, 3_000)
    np.testing.assert_allclose(table.sample.numbers, X[table.sample.chosen])
    found = fit_question(table, ask_for(table, standardize=False, k=3)).model
    np.testing.assert_allclose(found.explained_variance_, eigenlens.PCA(3).fit(X).explained_variance_, rtol=1e-9)


def test_rows_that_do_not_fit_into_memory_are_read_again_for_weights(wine, monkeypatch):
    monkeypatch.setattr("eigenlens.explorer.explored_table.memory_limit", lambda running: 1_000)
    table = open_explored(wine[0])
    assert table.X is None
    question = ask_for(table, roles={"times": "weight"}, k=2)
    names = list(question.columns("active"))
    direct = eigenlens.PCA(2, standardize=True).fit(wine[1][names], sample_weight=wine[1]["times"].to_numpy())
    np.testing.assert_allclose(fit_question(table, question).model.loadings_, direct.loadings_, atol=1e-8)

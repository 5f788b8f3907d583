"""The page of a mixture of any families: its numbers are those of the model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from eigenlens import MixtureModel, report, select_mixture
from eigenlens.bayes.latent_classes.tables import class_profile
from written_reports import contents, layers, named, numbers, table

RNG = np.random.default_rng(0)
OLD = RNG.random(200) < 0.4
PEOPLE = pd.DataFrame(
    {
        "age": RNG.normal(np.where(OLD, 60.0, 30.0), 8.0),
        "city": np.where(RNG.random(200) < 0.2 + 0.6 * OLD, "north", "south"),
        "reads": (RNG.random(200) < 0.2 + 0.6 * OLD).astype(int),
    }
)
PEOPLE.loc[:9, "city"] = None


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    model = MixtureModel(2, n_init=3, random_state=0).fit(PEOPLE)
    found = contents(report(model, PEOPLE, tmp_path_factory.mktemp("classes") / "x.html"))
    return model, found, found["first"]["charts"]


def test_the_charts_of_latent_classes(page):
    assert [chart["title"] for chart in page[2]] == [
        "Warnings", "Profile of the components", "Sizes of the components", "Numbers: means and standard deviations",
        "Uncertainty", "Responsibilities", "Families of columns", "Likelihood path", "BIC by the number of components",
        "ICL by the number of components", "AIC by the number of components", "Mixtures compared", "The model",
    ]  # fmt: skip


def test_sizes_profile_and_numbers_are_those_of_the_model(page):
    model, found, charts = page
    (bars,) = layers(named(charts, "Sizes of the components"), "bar")
    assert_allclose(numbers(bars["y"], found), 100.0 * model.weights_, rtol=1e-5)
    (dots,) = layers(named(charts, "Sizes of the components"), "dot")
    shares = np.bincount(model.predict(PEOPLE)) / 2.0
    assert_allclose(numbers(dots["y"], found), shares, rtol=1e-5)
    (cells,) = layers(named(charts, "Profile of the components"), "cell")
    assert_allclose(numbers(cells["fill"], found), 100.0 * class_profile(model).probabilities.ravel(), rtol=1e-4)
    listed = table(named(charts, "Numbers: means and standard deviations"))
    line = listed["parameter"].index("mean of age")
    for k in (0, 1):
        assert numbers(listed[f"in {k}"], found)[line] == pytest.approx(model.density("age", k).mean[0], rel=1e-5)


def test_a_choice_of_latent_classes_has_a_page(tmp_path):
    found = select_mixture(PEOPLE, [1, 2], features="auto", random_state=0, n_init=2)
    charts = contents(report(found, PEOPLE, tmp_path / "x.html"))["first"]["charts"]
    titles = [chart["title"] for chart in charts if chart["title"] != "Warnings"]
    assert titles[:2] == ["BIC by the number of components", "The best: 2 components, independent"]
    assert titles[-1] == "The comparison"
    assert named(charts, titles[1])["y"]["type"] == "band"

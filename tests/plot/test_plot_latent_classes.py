"""The profile of latent classes: its table and its plot have the parameters of the model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from eigenlens import GaussianMixture, MixtureModel, plot
from eigenlens.bayes.latent_classes.tables import class_profile
from eigenlens.densities import GaussianFamily
from eigenlens.errors import DataError, OptionError


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    old = rng.random(300) < 0.4
    return pd.DataFrame(
        {
            "age": rng.normal(np.where(old, 60.0, 30.0), 8.0),
            "city": np.where(
                rng.random(300) < 0.3, "west", np.where(rng.random(300) < 0.2 + 0.5 * old, "north", "south")
            ),
            "reads": np.where(rng.random(300) < 0.2 + 0.6 * old, "yes", "no"),
            "votes": rng.random(300) < 0.3 + 0.4 * old,
        }
    )


def test_the_lines_of_the_profile_are_probabilities_of_the_model(people):
    model = MixtureModel(2, random_state=0).fit(people)
    table = class_profile(model)
    means = [model.density("age", k).mean[0] for k in range(2)]
    middle = model.weights_ @ means
    assert table.labels == (
        f"age > {middle:.4g}", "city = north", "city = south", "city = west", "reads = yes", "votes",
    )  # fmt: skip
    assert table.columns == (0, 1, 1, 1, 2, 3)
    sd = [np.sqrt(model.density("age", k).covariance.variances[0]) for k in range(2)]
    assert_allclose(table.probabilities[0], norm.sf(middle, means, sd), rtol=1e-9)
    assert_allclose(table.probabilities[1:4].sum(axis=0), 1.0)
    assert_allclose(table.probabilities[5], [model.density("votes", k).probability for k in range(2)])
    assert str(table).splitlines()[-1].startswith("votes")


def test_the_plot_has_a_line_per_component(people):
    model = MixtureModel(2, random_state=0).fit(people)
    ax = plot.profile(model)
    table = class_profile(model)
    for k, line in enumerate(ax.get_lines()):
        assert_allclose(line.get_ydata(), table.probabilities[:, k])
    assert [text.get_text() for text in ax.get_xticklabels()] == list(table.labels)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"{k}: {w:.1%}" for k, w in enumerate(model.weights_)
    ]
    few = plot.profile(model, most=2)
    assert len(few.get_xticks()) == 2
    assert few.get_title(loc="left") == "the 2 of 6 that differ most"


def test_counts_have_shares_and_own_families_are_left_out():
    rng = np.random.default_rng(1)
    counts = rng.multinomial(10, [0.2, 0.3, 0.5], 60).astype(float)
    table = class_profile(MixtureModel(2, features="multinomial", random_state=0, n_init=2).fit(counts))
    assert table.labels == ("share of 0", "share of 1", "share of 2")
    assert_allclose(table.probabilities.sum(axis=0), 1.0)
    x = rng.normal(size=(50, 1))
    with pytest.raises(DataError, match="have no probabilities"):
        plot.profile(MixtureModel(1, features={0: GaussianFamily(sigma=1.0)}).fit(x))
    with pytest.raises(OptionError, match="which has no latent classes"):
        plot.profile(GaussianMixture(1).fit(x))


def test_other_plots_of_mixtures_take_it(people):
    model = MixtureModel(2, random_state=0).fit(people)
    assert plot.responsibilities(model, people).get_ylabel() == "P(component | row)"
    assert_allclose(plot.likelihood_path(model).get_lines()[0].get_ydata()[-1], model.loglik_, rtol=1e-6)

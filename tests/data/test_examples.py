"""The embedded examples show what they promise."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial import procrustes
from sklearn.datasets import load_digits

from eigenlens import PCA, FactorAnalysis, GaussianMixture, KernelPCA, OptionError, datasets
from eigenlens.data.examples import EXAMPLES
from references import mclust, tobamovirus


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_a_whole_table(name):
    example = datasets.load(name)
    n, d = example.data.shape
    assert example.name == name
    assert example.data.dtype == np.float64
    assert np.sum(~np.isfinite(example.data)) == (44 if name == "air-quality" else 0)
    assert (len(example.rows), len(example.columns)) == (n, d)
    assert len(set(example.columns)) == d
    assert len(set(example.rows)) == n
    assert example.labels is None or len(example.labels) == n
    assert example.weight is None or example.weight.shape == (n,)
    assert all(values.shape == (n,) for values in example.others.values())
    assert example.about.endswith(".")


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_the_same_each_time(name):
    first, again = datasets.load(name), datasets.load(name)
    np.testing.assert_array_equal(first.data, again.data)
    assert (first.rows, first.columns, first.labels) == (again.rows, again.columns, again.labels)
    for key, values in first.others.items():
        np.testing.assert_array_equal(values, again.others[key])
    if first.weight is not None:
        np.testing.assert_array_equal(first.weight, again.weight)


SIMULATIONS = [name for name, made in EXAMPLES.items() if "seed" in inspect.signature(made).parameters]


def test_simulations_say_so_and_tables_do_not():
    assert SIMULATIONS == ["two-circles", "arc", "gene-map", "questionnaire", "simulated-geyser"]
    for name in EXAMPLES:
        assert datasets.load(name).about.startswith("Simulated") == (name in SIMULATIONS)


@pytest.mark.parametrize("name", SIMULATIONS)
def test_simulations_follow_their_seed(name):
    smaller = {"generations": 5} if name == "gene-map" else {}
    first, same, other = (datasets.load(name, n=40, seed=seed, **smaller).data for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    assert len(first) == 40
    assert not np.array_equal(first, other)


def test_unknown_names_and_options_are_rejected():
    with pytest.raises(OptionError, match=r"known: 'uk-food', 'crabs'"):
        datasets.load("uk_food")
    with pytest.raises(OptionError, match=r"n=3 is not an option of the example 'digits', which takes no options"):
        datasets.load("digits", n=3)
    with pytest.raises(OptionError, match="takes n, seed, noise, inner"):
        datasets.load("two-circles", size=3)


def test_the_crabs_are_pearsons():
    crabs = datasets.load("crabs")
    assert crabs.data.shape == (29, 1)
    assert crabs.weight.sum() == 1000
    np.testing.assert_allclose(crabs.data[[0, -1], 0], [0.5835, 0.6955])
    # Pearson (1894): mean 0.64602 of the 1000 ratios, in units of 0.004 from 0.5795: 16.799 (his first moment).
    mean = np.average(crabs.data[:, 0], weights=crabs.weight)
    assert (mean - 0.5795) / 0.004 == pytest.approx(16.799, abs=1e-9)
    # Maximum likelihood of two Gaussians on the bins: shares 0.433 and 0.567 of narrow and wide foreheads.
    mixture = GaussianMixture(2, random_state=0).fit(crabs.data, sample_weight=crabs.weight)
    np.testing.assert_allclose(mixture.weights_, [0.567, 0.433], atol=0.002)
    np.testing.assert_allclose(mixture.means_[:, 0], [0.6566, 0.6337], atol=2e-4)


def test_two_components_redraw_the_map_of_genes():
    people = datasets.load("gene-map")
    place = np.column_stack([people.others["east"], people.others["north"]])
    lost = procrustes(place, PCA(2).fit_transform(people.data))[2]
    assert np.sqrt(1.0 - lost) > 0.9
    shuffled = np.random.default_rng(0).permutation(people.data)
    assert np.sqrt(1.0 - procrustes(place, PCA(2).fit_transform(shuffled))[2]) < 0.3
    assert set(np.unique(people.data)) == {0.0, 1.0, 2.0}


def test_factors_find_the_traits_behind_the_answers():
    answers = datasets.load("questionnaire")
    assert set(np.unique(answers.data)) <= set(range(1, 8))
    found = FactorAnalysis(3, rotation="varimax").fit(answers.data)
    traits = np.column_stack(list(answers.others.values()))
    match = np.abs(np.corrcoef(found.transform(answers.data).T, traits.T)[:3, 3:])
    factors, places = linear_sum_assignment(-match)
    assert match[factors, places].min() > 0.8
    asked = [name.split()[0] for name in answers.columns]
    largest = np.argmax(np.abs(found.loadings_), axis=1)
    names = np.array(list(answers.others))[places[largest]]
    assert names.tolist() == asked


def test_kernel_components_part_the_circles_and_straight_ones_do_not():
    circles = datasets.load("two-circles")
    inner = np.array(circles.labels) == "inner"

    def parted(Z):
        return any(z[inner].min() > z[~inner].max() or z[~inner].min() > z[inner].max() for z in Z.T)

    assert parted(KernelPCA(3, kernel="rbf", gamma=2.0).fit_transform(circles.data))
    assert not parted(PCA(2).fit_transform(circles.data))


def test_simulated_eruptions_are_of_two_kinds():
    geyser = datasets.load("simulated-geyser", n=2000)
    mixture = GaussianMixture(2, random_state=0).fit(geyser.data)
    np.testing.assert_allclose(mixture.means_, [[4.29, 80.0], [2.04, 54.5]], rtol=0.02)
    agree = (mixture.predict(geyser.data) == 0) == (np.array(geyser.labels) == "long")
    assert agree.mean() > 0.98


def test_old_faithful_is_the_real_one():
    geyser = datasets.load("old-faithful")
    np.testing.assert_array_equal(geyser.data, mclust.FAITHFUL)
    # Mclust(faithful) of mclust 6.0, tied covariances, three components: BIC −2314.2957.
    mixture = GaussianMixture(3, covariance_type="tied", n_init=5, random_state=0).fit(geyser.data)
    assert mixture.bic() == pytest.approx(2314.2957, abs=1e-3)


def test_tobamovirus_is_the_table_of_tipping_and_bishop():
    viruses = datasets.load("tobamovirus")
    np.testing.assert_array_equal(viruses.data, tobamovirus.DATA)
    # The coat protein of the common tobacco mosaic virus has 158 residues: no histidine, no methionine, one cysteine.
    tobacco = dict(zip(viruses.columns, viruses.data[2], strict=True))
    assert sum(tobacco.values()) == 158
    assert [tobacco[name] for name in ("His", "Met", "Cys", "Trp", "Arg")] == [0, 0, 1, 3, 11]


def test_trees_are_those_of_r():
    # summary(trees) in R: means 13.25, 76, 30.17, medians 12.9, 76, 24.2.
    trees = datasets.load("trees")
    np.testing.assert_allclose(trees.data.mean(axis=0), [13.2484, 76.0, 30.1710], atol=5e-5)
    np.testing.assert_allclose(np.median(trees.data, axis=0), [12.9, 76.0, 24.2])
    # coef(lm(Volume ~ Girth + Height, trees)) in R: −57.98766, 4.70816, 0.33925.
    A = np.column_stack([np.ones(31), trees.data[:, :2]])
    np.testing.assert_allclose(np.linalg.lstsq(A, trees.data[:, 2])[0], [-57.98766, 4.70816, 0.33925], atol=5e-6)


def test_one_straight_component_loses_the_arc():
    arc = datasets.load("arc")
    lost = PCA(1).fit(arc.data).reconstruction_error(arc.data).mean() / arc.data.var(axis=0).sum()
    assert lost > 0.2
    radius = np.linalg.norm(arc.data, axis=1)
    np.testing.assert_allclose([radius.mean(), radius.std()], [1.0, 0.05], atol=0.01)
    near = datasets.load("arc", noise=0.0, turn=0.25)
    assert np.ptp(near.others["angle"]) <= np.pi / 2.0
    np.testing.assert_allclose(np.arctan2(*near.data.T), near.others["angle"], atol=1e-12)


def test_digits_are_scikit_learns():
    digits = datasets.load("digits")
    found = load_digits()
    np.testing.assert_array_equal(digits.data, found.data)
    assert digits.labels[:3] == ("0", "1", "2")
    assert digits.columns[9] == "pixel 1 1"

"""Items of the courses on Bayes classifiers, three lines or fewer each."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from eigenlens import KernelDensity, LinearDiscriminant, NaiveBayes

IRIS, SPECIES = load_iris(return_X_y=True)


def test_item_39_fishers_direction_and_criterion_value():
    lda = LinearDiscriminant().fit(IRIS, SPECIES)
    S_w = sum((d := IRIS[c == SPECIES] - IRIS[c == SPECIES].mean(axis=0)).T @ d for c in range(3))
    middle = np.array([IRIS[c == SPECIES].mean(axis=0) for c in range(3)]) - IRIS.mean(axis=0)
    values = np.linalg.eigvals(np.linalg.solve(S_w, 50 * middle.T @ middle)).real
    assert_allclose(lda.criterion_[0], values.max(), rtol=1e-9)
    assert round(float(lda.criterion_[0]), 2) == 32.19


def test_item_155_all_probabilities_of_categories_as_fractions():
    people = pd.DataFrame({"height": ["low", "low", "high", "low", "high", "high", "high", "high"]})
    age = ["5-10", "5-10", "5-10", "10-15", "10-15", "10-15", "10-15", "10-15"]
    rule = NaiveBayes(smoothing=0).fit(people, age)
    table = rule.probability_table()
    exact = {("low", "5-10"): Fraction(2, 3), ("low", "10-15"): Fraction(1, 5), ("high", "5-10"): Fraction(1, 3)}
    for (category, label), p in exact.items():
        i, c = table.categories.index(category), table.classes.tolist().index(label)
        assert Fraction(int(table.counts[i, c]), int(table.totals[i, c])) == p
        assert_allclose(table.probabilities[i, c], float(p), rtol=1e-15)


def test_item_157_means_and_deviations_of_gaussian_features():
    rule = NaiveBayes("gaussian").fit(IRIS, SPECIES)
    for c in range(3):
        assert_allclose(rule.theta_[c], IRIS[c == SPECIES].mean(axis=0), rtol=1e-13)
        assert_allclose(np.sqrt(rule.var_[c]), IRIS[c == SPECIES].std(axis=0), rtol=1e-12)


def test_item_158_kernel_features_with_kernel_and_bandwidth():
    rule = NaiveBayes("kde", kernel="epanechnikov", bandwidth=1.5).fit(IRIS, SPECIES)
    same = NaiveBayes({0: KernelDensity(kernel="epanechnikov", bandwidth=1.5)}).fit(IRIS, SPECIES)
    grid = np.linspace(4.0, 8.0, 9)
    for c in range(3):
        u = (grid[:, None] - IRIS[c == SPECIES, 0]) / 1.5
        by_hand = np.mean(np.maximum(0.75 * (1.0 - u**2), 0.0), axis=1) / 1.5
        for found in (rule, same):
            assert_allclose(np.exp(found.density(0, c).log_density(grid)), by_hand, rtol=1e-10)

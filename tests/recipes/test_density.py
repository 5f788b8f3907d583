"""The recipe for a density: a frozen value with four methods and a family with two work wherever a density does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose

from eigenlens import BayesClassifier, NaiveBayes, compare
from eigenlens.data.coerce import as_source
from eigenlens.densities import Block, GaussianFamily, Mixture, ProductFamily


@dataclass(frozen=True, eq=False)
class Exponential:
    """Independent columns x_j ≥ 0 with density r_j exp(−r_j x_j)."""

    rates: np.ndarray

    def log_density(self, X):
        rows = np.reshape(np.asarray(X, dtype=float), (-1, self.rates.size))
        logs = np.where(rows >= 0.0, np.log(self.rates) - self.rates * rows, -np.inf)
        return np.where(np.isnan(rows), 0.0, logs).sum(axis=1)

    def sample(self, n, rng):
        return rng.exponential(1.0 / self.rates, (n, self.rates.size))

    def marginal(self, columns):
        return Exponential(self.rates[np.asarray(columns, dtype=int)])

    def condition(self, columns, values):
        return Exponential(np.delete(self.rates, columns))


@dataclass(frozen=True)
class ExponentialFamily:
    """Exponential densities: weights and sums of columns to rates."""

    def summarise(self, block):
        rows = np.asarray(block.rows, dtype=float)
        w = np.ones(len(rows)) if block.weight is None else block.weight
        return np.array([w @ ~np.isnan(rows), w @ np.nan_to_num(rows)])

    def estimate(self, statistics):
        weight, total = statistics
        return Exponential(weight / total)


def rows(scale, n=300, seed=0):
    return np.random.default_rng(seed).exponential(scale, (n, 2))


FAST, SLOW = Exponential(np.array([4.0, 2.0])), Exponential(np.array([0.5, 0.25]))


def test_a_component_of_a_mixture():
    model = Mixture(np.array([0.25, 0.75]), (FAST, SLOW))
    X = np.array([[0.1, 0.2], [3.0, np.nan], [np.nan, np.nan]])
    joint = np.column_stack([np.log(0.25) + FAST.log_density(X), np.log(0.75) + SLOW.log_density(X)])
    assert_allclose(model.log_density(X), np.logaddexp(*joint.T))
    assert_allclose(model.responsibilities(X)[2], [0.25, 0.75])
    assert_allclose(model.sample(20_000, np.random.default_rng(0)).mean(axis=0), [1.5625, 3.125], rtol=0.05)
    assert_allclose(model.marginal([1]).log_density([0.2]), model.log_density([[np.nan, 0.2]]))
    given = model.condition([0], [0.1])
    difference = model.log_density([[0.1, 0.2]]) - model.marginal([0]).log_density([0.1])
    assert_allclose(given.log_density([0.2]), difference)


def test_statistics_merge():
    family, X = ExponentialFamily(), rows(1.0)
    halves = family.summarise(Block(X[:100])) + family.summarise(Block(X[100:]))
    assert_allclose(family.estimate(halves).rates, 1.0 / X.mean(axis=0))


def test_the_density_of_a_class():
    X, y = np.vstack([rows(0.3), rows(3.0, seed=1)]), np.repeat(["fast", "slow"], 300)
    model = BayesClassifier(ExponentialFamily()).fit(X, y)
    fast, slow = (Exponential(1.0 / X[y == label].mean(axis=0)) for label in ("fast", "slow"))
    odds = fast.log_density(X) - slow.log_density(X)
    assert_allclose(model.predict_proba(X)[:, 0], 1.0 / (1.0 + np.exp(-odds)), rtol=1e-9)
    holes = np.where(np.random.default_rng(2).random(X.shape) < 0.3, np.nan, X)
    assert_allclose(
        model.predict_proba(holes)[:, 0], 1.0 / (1.0 + np.exp(slow.log_density(holes) - fast.log_density(holes)))
    )
    weight = np.random.default_rng(3).integers(1, 4, len(X))
    weighted = BayesClassifier(ExponentialFamily()).fit(X, y, sample_weight=weight)
    copies = BayesClassifier(ExponentialFamily()).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.predict_proba(X), copies.predict_proba(X), rtol=1e-9)


def test_a_factor_of_naive_bayes():
    X, y = np.vstack([rows(0.3), rows(3.0, seed=1)]), np.repeat([0, 1], 300)
    naive = NaiveBayes({0: ExponentialFamily(), 1: ExponentialFamily()}).fit(X, y)
    assert_allclose(naive.predict_proba(X), BayesClassifier(ExponentialFamily()).fit(X, y).predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("kind", [lambda X: X, as_source], ids=["array", "source"])
def test_compared_with_other_densities(kind):
    X = rows(1.0)
    families = {"exponential": ExponentialFamily(), "gaussian": GaussianFamily()}
    table = compare(families, kind(X), random_state=0)
    assert not table.failures
    assert table.best == "exponential"
    fold = table.folds == 0
    assert_allclose(table.values[0][fold], Exponential(1.0 / X[~fold].mean(axis=0)).log_density(X[fold]))
    weighted = compare(families, kind(X), sample_weight=np.arange(300) % 3, random_state=0)
    assert not weighted.failures


def test_a_column_of_a_product():
    X = np.column_stack([rows(2.0)[:, 0], np.random.default_rng(1).standard_normal(300)])
    family = ProductFamily((ExponentialFamily(), GaussianFamily()))
    model = family.estimate(family.summarise(Block(X)))
    assert_allclose(model.factors[0].rates, 1.0 / X[:, 0].mean())


def test_a_plot():
    pytest.importorskip("matplotlib").use("Agg")
    from eigenlens import plot

    assert plot.density(Exponential(np.array([2.0])), rows(0.5)[:, 0]) is not None

"""Where one column dominates because of its units, and where columns of one unit merely differ."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import datasets as tables

from eigenlens import datasets
from eigenlens.data.examples import EXAMPLES
from eigenlens.stats.unequal_units import unequal_units

RNG = np.random.default_rng(0)


def of(X):
    return unequal_units(X.mean(axis=0), X.var(axis=0))


def spectra():
    place = np.linspace(0.0, 1.0, 200)
    peaks = [np.exp(-((place - centre) ** 2) / width) for centre, width in ((0.3, 0.002), (0.7, 0.01))]
    return RNG.normal(1.0, 0.3, (80, 2)) @ peaks + 0.001 * RNG.standard_normal((80, 200))


ONE_UNIT = {
    "iris": tables.load_iris().data,
    "digits": tables.load_digits().data,
    "diabetes, scaled": tables.load_diabetes().data,
    "spectra": spectra(),
    "one-hot": np.eye(20)[RNG.choice(20, 500, p=np.r_[0.7, np.full(19, 0.3 / 19)])],
    "words": RNG.poisson(200.0 / np.arange(1, 1001) * np.exp(RNG.normal(0.0, 0.7, (300, 1)))),
    "species": RNG.poisson(np.exp(RNG.normal(0.0, 2.5, 12)) * np.exp(RNG.normal(0.0, 1.5, (100, 1)))),
    "genes": np.exp(RNG.normal(0.0, 2.0, (60, 500)) + RNG.normal(2.0, 2.0, 500)),
    "two columns": RNG.standard_normal((50, 2)) * [1.0, 1e6],
} | {name: datasets.load(name).data for name in EXAMPLES if name not in ("wine", "air-quality")}  # those have several


@pytest.mark.parametrize("name", ONE_UNIT)
def test_columns_of_one_unit_are_left_alone(name):
    assert of(ONE_UNIT[name]) is None


@pytest.mark.parametrize(("name", "column"), [("wine", "proline"), ("breast_cancer", "worst area")])
def test_columns_of_different_units(name, column):
    table = getattr(tables, f"load_{name}")()
    found = of(table.data)
    assert table.feature_names[found.column] == column
    variances = table.data.var(axis=0)
    assert found.share == pytest.approx(variances.max() / variances.sum())
    assert found.ratio == pytest.approx(np.sqrt(variances.max() / variances.min()))


def test_it_depends_on_ratios_alone():
    X = tables.load_wine().data
    one, other = of(X), of(X * 1e-30)
    assert one.column == other.column
    assert one[1:] == pytest.approx(other[1:])
    assert of((X - X.mean(axis=0)) / X.std(axis=0)) is None


def test_constant_columns_do_not_count():
    X = np.column_stack([RNG.standard_normal((50, 3)), np.full(50, 0.1)])
    assert of(X) is None
    assert unequal_units(np.ones(4), np.zeros(4)) is None

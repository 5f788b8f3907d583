"""Where one column dominates because of its units, and where columns of one unit merely differ."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import datasets as tables

from eigenlens import datasets
from eigenlens.data.examples import EXAMPLES
from eigenlens.stats.unequal_units import unequal_units, unit_warning, units_of_names

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
    "two columns": RNG.standard_normal((50, 2)) * [1.0, 12.0],
    "few species": RNG.poisson(np.exp(RNG.normal(0.0, 2.5, 6)) * np.exp(RNG.normal(0.0, 1.5, (100, 1)))),
    "prices of shares": np.exp(np.cumsum(RNG.normal(0.0, 0.02, (250, 10)), axis=0)) * np.exp(RNG.normal(3.5, 1.0, 10)),
    "test scores": RNG.normal(50.0, [8.0, 10.0, 12.0, 9.0, 15.0], (100, 5)),
} | {name: datasets.load(name).data for name in EXAMPLES if name not in ("wine", "air-quality")}  # those have several


@pytest.mark.parametrize("name", ONE_UNIT)
def test_columns_of_one_unit_are_left_alone(name):
    assert of(ONE_UNIT[name]) is None


@pytest.mark.parametrize(("name", "columns"), [("wine", ["proline"]), ("breast_cancer", ["worst area", "mean area"])])
def test_columns_of_different_units(name, columns):
    table = getattr(tables, f"load_{name}")()
    found = of(table.data)
    assert [table.feature_names[j] for j in found.columns] == columns
    variances = table.data.var(axis=0)
    assert found.share == pytest.approx(variances[list(found.columns)].sum() / variances.sum())
    assert found.ratio == pytest.approx(np.sqrt(variances.max() / variances.min()))


@pytest.mark.parametrize("money", [1, 2, 3])
def test_columns_share_the_dominance(money):
    """Incomes beside ratios, in tables of two columns and more."""
    ratios = RNG.normal(1.0, 0.2, (100, money))
    found = of(np.column_stack([RNG.lognormal(10.0, 0.5, (100, money)), ratios]))
    assert set(found.columns) == set(range(money))
    assert found.share == pytest.approx(1.0, abs=1e-6)


NAMED = {
    ("height (cm)", "mass_kg"): ("cm", "kg"),
    ("Temp [°C]", "wind.kmh", "note"): ("°C", "kmh"),
    ("glucose (mg/dl)", "BMI (kg/m2)"): ("mg/dl", "kg/m2"),
    ("sepal length (cm)", "petal width (cm)"): (),
    ("length_cm", "width (CM)"): (),
    ("sex_m", "sex_f"): (),
    ("temp_min", "temp_max"): (),
    ("check_in", "check_out"): (),
    ("mean (sd)", "median (iqr)"): (),
    ("height", "mass"): (),
    ("share (%)", "pct"): (),
}


@pytest.mark.parametrize("names", NAMED)
def test_units_in_names(names):
    assert units_of_names(names) == NAMED[names]


def test_units_in_names_count_though_the_variances_are_alike():
    mean, names = np.array([170.0, 70.0]), ["height (cm)", "mass_kg"]
    found = unequal_units(mean, np.array([60.0, 100.0]), names)
    assert str(unit_warning(found, names)) == (
        "columns are in different units (cm, kg), and their standard deviations differ by a factor of 1.3; "
        "weigh them alike with standardize=True."
    )
    assert unequal_units(mean, np.array([60.0, 61.0]), names) is None  # standardising would change nothing
    assert unequal_units(mean, np.array([60.0, 100.0])) is None


def test_it_depends_on_ratios_alone():
    X = tables.load_wine().data
    one, other = of(X), of(X * 1e-30)
    assert one.columns == other.columns
    assert one[1:3] == pytest.approx(other[1:3])
    assert of((X - X.mean(axis=0)) / X.std(axis=0)) is None


def test_constant_columns_do_not_count():
    X = np.column_stack([RNG.standard_normal((50, 3)), np.full(50, 0.1)])
    assert of(X) is None
    assert unequal_units(np.ones(4), np.zeros(4)) is None

"""Independent columns of any kinds."""

from __future__ import annotations

import numpy as np
import pytest

from eigenlens.data.source import Block
from eigenlens.densities import (
    Bernoulli,
    Categorical,
    CategoricalFamily,
    Full,
    Gaussian,
    GaussianFamily,
    Product,
    ProductFamily,
    Spherical,
)
from eigenlens.errors import DataError

NORMAL = Gaussian(np.array([1.0]), Spherical(4.0, 1))
WORDS = Categorical(np.array([0.2, 0.8]), ("b", "a"))
COIN = Bernoulli(0.3)
MODEL = Product((NORMAL, WORDS, COIN))
ROWS = np.array([[0.5, "a", 1], [None, "b", 0], [2.0, None, None], [None, None, None], [3.0, "z", 1]], dtype=object)


def by_hand(rows):
    """Factor by factor, row by row."""
    total = []
    for row in rows:
        parts = (f.log_density([x]) for f, x in zip(MODEL.factors, row, strict=True) if x is not None)
        total.append(float(sum(part[0] for part in parts)))
    return total


def test_a_sum_over_columns():
    np.testing.assert_allclose(MODEL.log_density(ROWS), by_hand(ROWS))
    assert MODEL.log_density(ROWS)[3] == 0.0
    assert MODEL.log_density(ROWS)[4] == -np.inf


def test_frames_as_they_are():
    pd, pl, pa = map(pytest.importorskip, ("pandas", "polars", "pyarrow"))
    columns = {"x": [0.5, None, 2.0], "w": ["a", "b", None], "c": [True, False, None]}
    words = pd.DataFrame(columns).astype({"w": "category"})
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), words, pa.table(columns)):
        np.testing.assert_allclose(MODEL.log_density(frame), by_hand(ROWS[:3]))


def test_integers_of_128_bits_are_numbers():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"x": [0.5, 1.5], "n": pl.Series([1, 2**100], dtype=pl.Int128)})
    np.testing.assert_allclose(
        Product((NORMAL, NORMAL)).log_density(frame),
        NORMAL.log_density([0.5, 1.5]) + NORMAL.log_density([1.0, 2.0**100]),
    )


def test_lists_and_other_shapes():
    np.testing.assert_allclose(MODEL.log_density(ROWS.tolist()), by_hand(ROWS))
    with pytest.raises(DataError, match=r"shape \(2, 4\), and the density has 3 columns"):
        MODEL.log_density(np.zeros((2, 4)))


def test_it_prints_its_factors():
    assert str(MODEL).splitlines()[:2] == ["Product of 3 columns", "Gaussian"]


def test_draws_are_numbers_where_all_are():
    rng = np.random.default_rng(0)
    assert MODEL.sample(5, rng).dtype == object
    assert Product((NORMAL, COIN)).sample(5, rng).dtype == np.float64
    assert np.all(np.isfinite(MODEL.log_density(MODEL.sample(50, rng))))


def test_strings_of_digits_stay_strings():
    model = Product((Categorical(np.array([0.25, 0.75]), ("1", "2")), COIN))
    rows = np.array([["1", 0], ["2", 1]], dtype=object)
    np.testing.assert_allclose(np.exp(model.log_density(rows)), [0.25 * 0.7, 0.75 * 0.3])


def test_independent_gaussians_are_a_diagonal_one():
    rng = np.random.default_rng(1)
    mean, v = rng.standard_normal(4), rng.uniform(0.5, 2.0, 4)
    product = Product(tuple(Gaussian(mean[[j]], Full(v[[[j]]])) for j in range(4)))
    X = rng.standard_normal((20, 4))
    X[rng.random(X.shape) < 0.3] = np.nan
    joint = Gaussian(mean, Full(np.diag(v)))
    np.testing.assert_allclose(product.log_density(X), joint.log_density(X), atol=1e-12)
    np.testing.assert_allclose(
        product.marginal([3, 0]).log_density(X[:, [3, 0]]), joint.marginal([3, 0]).log_density(X[:, [3, 0]])
    )
    np.testing.assert_allclose(
        product.condition([1, 2], [9.0, 9.0]).log_density(X[:, [0, 3]]),
        joint.marginal([0, 3]).log_density(X[:, [0, 3]]),
    )


def test_no_columns():
    nothing = Product(())
    assert nothing.log_density(np.empty((3, 0))).tolist() == [0.0, 0.0, 0.0]
    assert nothing.sample(2, np.random.default_rng(0)).shape == (2, 0)


def test_a_family_of_kinds():
    family = ProductFamily((GaussianFamily(), CategoricalFamily(smoothing=1.0)))
    X = np.array([[1.0, "a"], [3.0, "b"], [None, "a"], [8.0, None]], dtype=object)
    w = np.array([1.0, 2.0, 3.0, 1.0])
    whole = family.estimate(family.summarise(Block(X, w)))
    np.testing.assert_allclose(whole.factors[0].mean, [(1 + 6 + 8) / 4])
    np.testing.assert_allclose(whole.factors[1].probabilities, np.array([5.0, 3.0]) / 9)
    halves = family.summarise(Block(X[:3], w[:3])) + family.summarise(Block(X[3:], w[3:]))
    np.testing.assert_allclose(family.estimate(halves).log_density(X), whole.log_density(X))

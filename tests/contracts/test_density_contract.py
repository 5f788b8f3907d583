"""What every density and every family promises. A new density is a line in DENSITIES, a new family one in FAMILIES.

The twin is summation: over a grid for densities of numbers, over all rows for densities of levels and counts.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import norm

from eigenlens.data.memory import ArraySource
from eigenlens.data.source import Block, accumulate
from eigenlens.densities.covariance import Diagonal, Full, Spherical
from eigenlens.densities.discrete import Bernoulli, BernoulliFamily, Categorical, CategoricalFamily
from eigenlens.densities.gaussian import Gaussian, GaussianFamily
from eigenlens.densities.histogram import Histogram, HistogramFamily
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.densities.mixture import Mixture
from eigenlens.densities.multinomial import Multinomial, MultinomialFamily
from eigenlens.densities.product import Product, ProductFamily


@dataclass(frozen=True)
class Axis:
    """Values of one column that all its mass lies on, and the width of each."""

    values: np.ndarray
    width: float = 1.0


def line(low, high, points=401):
    """A fine grid; the sum over it is exact to rounding for densities that are smooth and vanish at its ends."""
    values = np.linspace(low, high, points)
    return Axis(values, values[1] - values[0])


def levels(*values):
    array = np.empty(len(values), dtype=object if isinstance(values[0], str) else None)
    array[:] = values
    return Axis(array)


C2 = Full(np.array([[2.0, -0.9], [-0.9, 0.8]]))
C3 = Full(np.array([[2.0, 0.5, 0.3], [0.5, 1.0, -0.4], [0.3, -0.4, 0.7]]))
NEAR, FAR = Gaussian(np.array([-1.0, 1.0]), C2), Gaussian(np.array([3.0, 0.0]), Diagonal(np.array([0.5, 1.5])))
COLOURS = Categorical(np.array([0.2, 0.5, 0.3]), ("blue", "green", "red"))
NORMAL = Gaussian(np.array([0.5]), Full(np.array([[1.3]])))
LINEAR = LinearGaussian(np.array([0.0, 1.0]), np.array([[1.0], [-0.5]]), 0.6)
COARSE = line(-10.0, 10.0, 81)

DENSITIES = {
    "gaussian full 1": (NORMAL, line(-12, 12)),
    "gaussian full 2": (NEAR, line(-14, 14), line(-9, 10)),
    "gaussian full 3": (Gaussian(np.array([0.1, -0.2, 0.3]), C3), COARSE, COARSE, COARSE),
    "gaussian diagonal": (FAR, line(-6, 12), line(-12, 12)),
    "gaussian spherical": (Gaussian(np.array([0.0, 2.0]), Spherical(1.7, 2)), line(-13, 13), line(-11, 15)),
    "linear gaussian": (LINEAR, line(-12, 12), line(-9, 11)),
    "mixture": (Mixture(np.array([0.3, 0.7]), (NEAR, FAR)), line(-14, 14), line(-12, 12)),
    "histogram": (Histogram([-1.99, -0.99, 1.51, 3.99], [0.2, 0.5, 0.3]), line(-3, 5)),
    "bernoulli": (Bernoulli(0.3), levels(0, 1)),
    "bernoulli of strings": (Bernoulli(0.3, ("tails", "heads")), levels("heads", "tails")),
    "categorical": (COLOURS, levels("blue", "green", "red")),
    "categorical of numbers": (Categorical(np.array([0.25, 0.75, 0.0]), (1, 4, 9)), levels(1, 4, 9)),
    "multinomial": (Multinomial(np.array([0.2, 0.3, 0.5]), 4), *[levels(0, 1, 2, 3, 4)] * 3),
    "multinomial with a rest": (Multinomial(np.array([0.2, 0.3]), 5), *[levels(0, 1, 2, 3, 4, 5)] * 2),
    "product of one": (Product((NORMAL,)), line(-12, 12)),
    "product": (Product((NORMAL, Bernoulli(0.4))), line(-12, 12), levels(0, 1)),
    "product of kinds": (Product((NORMAL, COLOURS)), line(-12, 12), levels("blue", "green", "red")),
}  # fmt: skip
"""A density, and an axis for each of its columns."""


@pytest.fixture(params=DENSITIES, scope="module")
def case(request):
    density, *axes = DENSITIES[request.param]
    return density, axes, points(axes), tuple(len(axis.values) for axis in axes)


def points(axes):
    """All rows (m, d) with these columns' values, the last varying fastest."""
    columns = np.meshgrid(*(axis.values for axis in axes), indexing="ij")
    kind = np.float64 if all(column.dtype.kind in "fi" for column in columns) else object
    return np.stack([column.ravel().astype(kind) for column in columns], axis=1)


def density_of(density, X):
    with np.errstate(under="ignore"):
        return np.exp(density.log_density(X))


def volume(axes):
    return np.prod([axis.width for axis in axes])


def summaries(X, axes):
    """Numbers (n, m) whose means tell distributions apart: powers and products, or which level it is."""
    columns = []
    for x, axis in zip(X.T, axes, strict=True):
        if axis.values.dtype == object:
            columns += [(x == value).astype(float) for value in axis.values]
        else:
            columns += [x.astype(float), np.cos(x.astype(float))]
    products = [a * b for a, b in itertools.combinations_with_replacement(columns, 2)]
    return np.stack([*columns, *products], axis=1)


def test_it_sums_to_one(case):
    density, axes, X, _ = case
    assert density_of(density, X).sum() * volume(axes) == pytest.approx(1.0, abs=1e-10)


def test_samples_have_the_densitys_moments(case):
    density, axes, X, _ = case
    n = 40_000
    draws = density.sample(n, np.random.default_rng(0))
    assert draws.shape == (n, len(axes))
    p, f = density_of(density, X) * volume(axes), summaries(X, axes)
    mean = p @ f
    error = np.sqrt(np.maximum(p @ f**2 - mean**2, 0.0) / n)
    # About 20 means in 15 cases: 4.5 standard errors come by chance in one seed of 500.
    assert np.all(np.abs(summaries(draws, axes).mean(axis=0) - mean) <= 4.5 * error + 1e-12)
    assert np.all(np.isfinite(density.log_density(draws[:100])))


def test_samples_follow_the_generator(case):
    density, *_ = case
    a, b, c = (density.sample(20, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


def test_marginals_are_sums_of_the_joint(case):
    density, axes, X, shape = case
    joint = density_of(density, X).reshape(shape)
    for size in range(1, len(axes) + 1):
        for columns in itertools.combinations(range(len(axes)), size):
            others = tuple(j for j in range(len(axes)) if j not in columns)
            twin = joint.sum(axis=others) * volume([axes[j] for j in others])
            some = [axes[j] for j in columns]
            np.testing.assert_allclose(density_of(density.marginal(columns), points(some)), twin.ravel(), atol=1e-11)


def test_the_order_of_columns_is_the_callers(case):
    density, axes, X, _ = case
    turned = list(reversed(range(len(axes))))
    some = X[:: max(1, len(X) // 500)]
    found = density.marginal(turned).log_density(some[:, turned])
    np.testing.assert_allclose(found, density.log_density(some), rtol=1e-10, atol=1e-10)


def test_conditionals_are_the_joint_over_the_marginal(case):
    density, axes, _, _ = case
    given = density.sample(3, np.random.default_rng(3))
    for row, columns in itertools.product(given, [(0,), (len(axes) - 1,), tuple(range(len(axes)))]):
        others = [j for j in range(len(axes)) if j not in columns]
        there = density.marginal(columns).log_density(row[None, list(columns)])
        rows = points([Axis(row[[j]]) if j in columns else axes[j] for j in range(len(axes))])
        with np.errstate(under="ignore"):
            twin = np.exp(density.log_density(rows) - there)
        found = density_of(density.condition(columns, row[list(columns)]), rows[:, others])
        np.testing.assert_allclose(found, twin, atol=1e-10, rtol=1e-9)


def test_a_value_not_known_says_nothing(case):
    """Conditioning on a missing value is leaving the column out."""
    density, axes, X, _ = case
    nothing = np.array([None if X.dtype == object else np.nan], dtype=X.dtype)
    some = X[:: max(1, len(X) // 300), 1:]
    twin = density.marginal(range(1, len(axes))).log_density(some)
    np.testing.assert_allclose(density.condition([0], nothing).log_density(some), twin, rtol=1e-12, atol=1e-12)


def test_missing_values_are_marginalised(case):
    density, _, X, _ = case
    rng = np.random.default_rng(4)
    rows = X[rng.integers(0, len(X), 300)].copy()
    gaps = rng.random(rows.shape) < 0.4
    gaps[0] = True
    rows[gaps] = None if X.dtype == object else np.nan
    found = density.log_density(rows)
    for row, gap, value in zip(rows, gaps, found, strict=True):
        seen = np.flatnonzero(~gap)
        twin = density.marginal(seen).log_density(row[None, seen])[0] if seen.size else 0.0
        assert value == pytest.approx(twin, rel=1e-10, abs=1e-10)


def test_a_single_column_may_be_flat(case):
    density, axes, X, _ = case
    if len(axes) == 1:
        np.testing.assert_array_equal(density.log_density(X[:, 0]), density.log_density(X))


def test_another_number_of_columns_is_rejected(case):
    density, _, X, _ = case
    with pytest.raises(ValueError, match=r"shape|columns"):
        density.log_density(np.hstack([X, X]))


def test_no_rows_have_no_densities(case):
    density, axes, X, _ = case
    assert density.log_density(X[:0]).shape == (0,)
    assert density.sample(0, np.random.default_rng(0)).shape == (0, len(axes))


# ---- families -----------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
NORMALS = RNG.standard_normal((60, 3)) @ np.array([[1.0, 0.4, 0.0], [0.0, 1.0, 0.7], [0.0, 0.0, 0.5]]) + 1e4
GAPS = np.where(RNG.random(NORMALS.shape) < 0.2, np.nan, NORMALS)
DIGITS = RNG.integers(0, 4, (60, 1)).astype(float)
THROWS = RNG.multinomial(6, [0.5, 0.3, 0.2, 0.0], size=60).astype(float)
BITS = (RNG.random((60, 1)) < 0.3).astype(float)
MIXED = np.hstack([GAPS[:, :1], DIGITS, BITS])

FAMILIES = {
    "gaussian full": (GaussianFamily("full"), NORMALS),
    "gaussian diagonal": (GaussianFamily("diagonal"), NORMALS),
    "gaussian diagonal with gaps": (GaussianFamily("diagonal"), GAPS),
    "gaussian spherical": (GaussianFamily("spherical"), NORMALS),
    "gaussian spherical with gaps": (GaussianFamily("spherical"), GAPS),
    "gaussian one column with gaps": (GaussianFamily("full"), GAPS[:, :1]),
    "histogram": (HistogramFamily(1e4 + np.array([-9.0, -1.0, 0.0, 2.0, 9.0])), GAPS[:, :1]),
    "bernoulli": (BernoulliFamily(), BITS),
    "categorical": (CategoricalFamily(), DIGITS),
    "categorical smoothed": (CategoricalFamily(smoothing=0.5), np.where(DIGITS == 3.0, np.nan, DIGITS)),
    "categorical of levels": (CategoricalFamily(levels=(9, 3, 2, 1, 0)), DIGITS),
    "multinomial": (MultinomialFamily(), THROWS),
    "multinomial smoothed": (MultinomialFamily(smoothing=1.0), THROWS),
    "product": (ProductFamily((GaussianFamily(), CategoricalFamily(), BernoulliFamily())), MIXED),
}  # fmt: skip
"""A family, and 60 rows to fit."""
LARGEST = [name for name in FAMILIES if not any(word in name for word in ("smoothed", "gaps"))]


@pytest.fixture(params=FAMILIES)
def family(request):
    return FAMILIES[request.param]


def fitted(family, X, weight=None, block_rows=None):
    return family.estimate(accumulate(ArraySource(X, block_rows=block_rows).weighted(weight), family.summarise))


def assert_same(a, b, X):
    np.testing.assert_allclose(a.log_density(X), b.log_density(X), rtol=1e-9, atol=1e-9)


def test_weights_are_repetitions(family):
    family, X = family
    weight = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
    weight[:8] = 2.0
    assert_same(fitted(family, X, weight), fitted(family, np.repeat(X, weight.astype(int), axis=0)), X)


@pytest.mark.parametrize("block_rows", [1, 7, 59])
def test_parts_merge_to_the_whole(family, block_rows):
    family, X = family
    assert_same(fitted(family, X, block_rows=block_rows), fitted(family, X), X)


def test_the_order_of_rows_does_not_matter(family):
    family, X = family
    assert_same(fitted(family, X[::-1]), fitted(family, X), X)


def test_the_record_holds_the_likelihood(family):
    family, X = family
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(X))
    model = fitted(family, X, weight)
    if not isinstance(model, Product):
        assert model.fitted.loglik == pytest.approx(weight @ model.log_density(X), rel=1e-9)


@pytest.mark.parametrize("name", LARGEST)
def test_no_neighbour_is_likelier(name):
    """Maximum likelihood: the estimate of slightly other weights fits these rows less well, whichever way they lean."""
    family, X = FAMILIES[name]
    best = fitted(family, X).log_density(X).sum()
    rng = np.random.default_rng(3)
    for _ in range(20):
        other = fitted(family, X, 1.0 + 0.2 * rng.standard_normal(len(X)).clip(-2, 2))
        assert other.log_density(X).sum() < best


@pytest.mark.parametrize("name", FAMILIES)
def test_float32_rows_give_the_same_member(name):
    family, X = FAMILIES[name]
    single = np.asarray(X, dtype=np.float32)
    assert_same(fitted(family, single), fitted(family, single.astype(np.float64)), X)


def test_the_cdf_of_one_dimension_is_the_integral():
    x = np.linspace(-3, 4, 9)
    np.testing.assert_allclose(NORMAL.cdf(x), norm(0.5, np.sqrt(1.3)).cdf(x), rtol=1e-12)
    np.testing.assert_allclose(NORMAL.ppf(NORMAL.cdf(x)), x, rtol=1e-10)


def test_a_block_alone_is_enough():
    """`summarise` needs a Block only: the protocol of any Source, cluster or file."""
    family, X = FAMILIES["gaussian full"]
    assert_same(family.estimate(family.summarise(Block(X))), fitted(family, X), X)

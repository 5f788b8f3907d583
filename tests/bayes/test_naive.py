"""Statistics and estimates of naive Bayes: they merge, lose no digits, and leave out what is missing."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import pytest
from scipy import sparse, stats

from eigenlens.bayes.naive.estimator import NaiveBayes
from eigenlens.bayes.naive.families import FACTORS
from eigenlens.bayes.naive.families.base import NaiveOptions
from eigenlens.bayes.naive.families.bernoulli import BernoulliColumns
from eigenlens.bayes.naive.families.categorical import CategoricalColumns, CategoricalFactor, CategoryCounts
from eigenlens.bayes.naive.families.gaussian import GaussianColumns, GaussianFactor
from eigenlens.bayes.naive.families.kde import KdeFactor, class_bandwidth
from eigenlens.bayes.naive.families.multinomial import MultinomialColumns
from eigenlens.bayes.naive.families.per_class_density import ClassRows, DensityPerClass
from eigenlens.bayes.naive.fit import attach_labels, estimate_naive, summarise_naive
from eigenlens.bayes.naive.inspect_columns import ColumnValues, DistinctValues
from eigenlens.bayes.naive.model import Group, NaiveModel
from eigenlens.bayes.naive.plan import choose_family, make_plan
from eigenlens.data.coerce import as_table
from eigenlens.data.column_kinds import Field
from eigenlens.data.memory import ArraySource, SparseSource
from eigenlens.data.source import Block
from eigenlens.data.table import codes_of
from eigenlens.densities import GaussianFamily
from eigenlens.errors import DataError, OptionError
from eigenlens.stats.moments import ColumnMoments


def table(rng, n=120, family="gaussian"):
    """Rows that a family takes, with missing values, and three classes."""
    y = rng.integers(0, 3, n).astype(np.int32)
    X = rng.standard_normal((n, 4)) + y[:, None] * np.arange(4.0)
    if family in ("categorical", "multinomial", "complement", "normalized-complement"):
        X = np.abs(np.rint(X))
    if family == "bernoulli":
        X = (X > 0.5).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def model_of(X, y, family, weight=None, options=None, prior=None):
    source = as_table(X)
    plan = make_plan(source, family)
    found = summarise_naive(source, y, weight, plan, 3)
    return estimate_naive(found, plan, np.full(3, 1 / 3) if prior is None else prior, options or NaiveOptions())


# ---- laws -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FACTORS)
def test_halves_merge_to_the_whole(family):
    X, y = table(np.random.default_rng(0), family=family)
    plan = make_plan(as_table(X), family)
    whole = summarise_naive(as_table(X), y, None, plan, 3)
    parts = [summarise_naive(as_table(X[part]), y[part], None, plan, 3) for part in (slice(0, 50), slice(50, None))]
    options, prior = NaiveOptions(), np.full(3, 1 / 3)
    joints = [estimate_naive(s, plan, prior, options).log_joint(X) for s in (whole, parts[0] + parts[1])]
    np.testing.assert_allclose(joints[1], joints[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("family", FACTORS)
def test_weights_are_repetitions(family):
    rng = np.random.default_rng(1)
    X, y = table(rng, family=family)
    times = rng.integers(0, 4, len(X))
    X[times == 0] = {"bernoulli": 1.0}.get(family, 7.0)
    weighted = model_of(X, y, family, times.astype(float))
    repeated = model_of(np.repeat(X, times, axis=0), np.repeat(y, times), family)
    seen = X[times > 0]
    np.testing.assert_allclose(weighted.log_joint(seen), repeated.log_joint(seen), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("family", FACTORS)
def test_terms_add_up_and_missing_values_add_nothing(family):
    X, y = table(np.random.default_rng(2), family=family)
    model = model_of(X, y, family)
    terms = model.terms(X)
    np.testing.assert_allclose(terms.sum(axis=1), model.log_likelihood(X), rtol=1e-10, atol=1e-9)
    assert np.all(np.abs(terms[np.isnan(X)]) <= 1e-15)
    nothing = np.full((1, 4), np.nan)
    np.testing.assert_allclose(model.log_likelihood(nothing), 0.0, atol=1e-13)


@pytest.mark.parametrize("family", ["gaussian", "shared-gaussian", "kde", "mixture"])
def test_units_do_not_matter(family):
    X, y = table(np.random.default_rng(3))
    units, origin = np.array([1e-6, 1.0, 1e3, 1e9]), np.array([3.0, -7.0, 1e5, 0.0])
    here, there = model_of(X, y, family), model_of(X * units + origin, y, family)
    found = there.log_likelihood(X * units + origin) + np.where(np.isnan(X), 0.0, np.log(units)).sum(axis=1)[:, None]
    np.testing.assert_allclose(found, here.log_likelihood(X), rtol=1e-5, atol=1e-4 if family == "mixture" else 1e-5)


@pytest.mark.parametrize("family", ["gaussian", "shared-gaussian", "categorical", "bernoulli", "multinomial"])
def test_draws_have_the_fitted_probabilities(family):
    X, y = table(np.random.default_rng(4), n=400, family=family)
    model = model_of(X, y, family, options=NaiveOptions(smoothing=0.0))
    labels = np.repeat(np.arange(3), 20_000).astype(np.int32)
    drawn = np.column_stack([c.astype(float) for c in model.sample(labels, np.random.default_rng(0))])
    for c in range(3):
        seen = [X[(y == c) & ~np.isnan(X[:, j]), j] for j in range(4)]
        expected = [x.mean() for x in seen]
        spread = np.array([x.std() + 0.5 for x in seen])
        if family == "multinomial":  # a block with missing values has shares, and the mean total
            expected = model.groups[0].conditional.shares[c] * round(model.groups[0].conditional.trials[c])
        assert np.all(np.abs(drawn[labels == c].mean(axis=0) - expected) < 0.1 * spread)


# ---- Gaussian columns ---------------------------------------------------------------------------------------------


def test_moments_far_from_zero_keep_their_digits():
    rng = np.random.default_rng(5)
    small, y = rng.standard_normal((20_000, 2)), rng.integers(0, 2, 20_000).astype(np.int32)
    far = np.ldexp(np.rint(np.ldexp(small, 20)), -20) + np.where(y, 1e9, -1e9)[:, None]
    found = ColumnMoments.of_classes(far, y, None, 2)
    for c in range(2):
        exact = (far[y == c] - np.array([-1e9, 1e9])[c]).var(axis=0)
        np.testing.assert_allclose(found.square[c] / found.weight[c], exact, rtol=1e-9)


def test_first_rows_that_are_unlike_the_rest_cost_no_digits():
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((9000, 1)), np.zeros(9000, dtype=np.int32)
    X[:5000] += 1e8
    X[:5000] = 1e8
    found = ColumnMoments.of_classes(X, y, None, 1)
    exact = ((X - X.mean()) ** 2).sum()
    np.testing.assert_allclose(found.square[0, 0], exact, rtol=1e-12)
    late = np.r_[np.full((4096, 1), 1e8), rng.standard_normal((10_000, 1))]
    late_y = np.r_[np.zeros(4096), np.ones(10_000)].astype(np.int32)
    late[0], late_y[0] = 1e8, 1  # the only row of its class among the first
    found = ColumnMoments.of_classes(late, late_y, None, 2)
    own = late[late_y == 1, 0]
    np.testing.assert_allclose(found.square[1, 0], ((own - own.mean()) ** 2).sum(), rtol=1e-12)


def test_floor_and_constants():
    X = np.array([[1.0, 5.0], [1.0, 5.0], [2.0, 5.0], [4.0, 5.0]])
    y = np.array([0, 0, 1, 1], dtype=np.int32)
    fields = (Field("a", "number"), Field("b", "number"))
    found = GaussianFactor().estimate(ColumnMoments.of_classes(X, y, None, 2), fields, NaiveOptions(floor=1e-3))
    assert found.variances[0, 0] == pytest.approx(1e-3 * X[:, 0].var())
    assert found.variances[1, 0] == pytest.approx(1.0)
    assert np.all(found.variances[:, 1] == 1.0)
    assert np.all(found.means[:, 1] == 5.0)
    shared = GaussianFactor(shared=True).estimate(ColumnMoments.of_classes(X, y, None, 2), fields, NaiveOptions())
    assert shared.variances.shape == (1, 2)
    assert shared.variances[0, 0] == pytest.approx(0.5)


def test_a_class_without_entries_has_those_of_all():
    X = np.array([[1.0], [3.0], [np.nan], [np.nan]])
    y = np.array([0, 0, 1, 1], dtype=np.int32)
    for family in ("gaussian", "kde", "mixture"):
        source = as_table(X)
        plan = make_plan(source, family)
        model = estimate_naive(summarise_naive(source, y, None, plan, 2), plan, np.full(2, 0.5), NaiveOptions())
        np.testing.assert_allclose(np.diff(model.log_likelihood(X[:1])), 0.0, atol=1e-9)


# ---- categories -------------------------------------------------------------------------------------------------


def test_counted_fractions_are_exact():
    values = np.array([["a"], ["b"], ["a"], [None], ["c"], ["a"]], dtype=object)
    y = np.array([0, 0, 0, 0, 1, 1], dtype=np.int32)
    counts = CategoryCounts.of(codes_of(values, np.array([0])), y, None, 2)
    assert counts.categories == (("a", "b", "c"),)
    found = CategoricalFactor().estimate(counts, (Field("v", "text"),), NaiveOptions(smoothing=0.0))
    assert found.probabilities[0].tolist() == [[2 / 3, 1 / 3, 0.0], [0.5, 0.0, 0.5]]


def test_smoothing_by_column_and_category():
    values, y = np.array([[0], [0], [1]]), np.array([0, 0, 1], dtype=np.int32)
    counts = CategoryCounts.of(values, y, None, 2)
    field = (Field("v", "integer", (0, 1, 2)),)
    laplace = CategoricalFactor().estimate(counts, field, NaiveOptions(smoothing={"v": 2.0})).probabilities[0]
    assert laplace[0].tolist() == [4 / 8, 2 / 8, 2 / 8]
    prior = NaiveOptions(smoothing={"v": {0: 1.0, 2: 3.0}})
    assert CategoricalFactor().estimate(counts, field, prior).probabilities[0][1].tolist() == [1 / 5, 1 / 5, 3 / 5]


@pytest.mark.parametrize(("unknown", "expected"), [("smooth", [1 / 6, 1 / 4]), ("ignore", [1.0, 1.0])])
def test_unknown_categories(unknown, expected):
    values, y = np.array([[5], [5], [8], [8]]), np.array([0, 0, 0, 1], dtype=np.int32)
    counts = CategoryCounts.of(values, y, None, 2)
    found = CategoricalFactor().estimate(counts, (Field("v", "integer"),), NaiveOptions(unknown=unknown))
    for odd in (np.array([[6]]), np.array([[99]]), np.array([[6.5]]), np.array([["x"]], dtype=object)):
        assert np.exp(found.terms(odd, np.array([0])))[0, 0] == pytest.approx(expected)


def test_unknown_categories_can_be_rejected():
    values, y = np.array([[5], [8]]), np.array([0, 1], dtype=np.int32)
    found = CategoricalFactor().estimate(
        CategoryCounts.of(values, y, None, 2), (Field("v", "integer"),), NaiveOptions(unknown="error")
    )
    joint = np.zeros((1, 2))
    for odd in (np.array([[6]]), np.array([[6.5]]), np.array([["x"]], dtype=object)):
        with pytest.raises(DataError, match="'v' holds"):
            found.add_log(odd, np.array([0]), joint)
    found.add_log(np.array([[np.nan]]), np.array([0]), joint)
    assert np.all(joint == 0.0)


def test_integers_of_wide_range_are_sorted():
    rng = np.random.default_rng(0)
    values = rng.choice([-(10**12), 0, 7, 10**12], (300, 2))
    y = rng.integers(0, 2, 300).astype(np.int32)
    found = CategoryCounts.of(values, y, None, 2)
    assert found.categories[0] == (-(10**12), 0, 7, 10**12)
    model = CategoricalFactor().estimate(
        found, (Field("a", "integer"), Field("b", "integer")), NaiveOptions(smoothing=0.0)
    )
    joint = np.zeros((300, 2))
    model.add_log(values, np.array([0, 1]), joint)
    share = np.array(
        [[np.mean(values[y == c, 0] == v[0]) * np.mean(values[y == c, 1] == v[1]) for c in range(2)] for v in values]
    )
    np.testing.assert_allclose(np.exp(joint), share, rtol=1e-12)


def test_the_range_of_integers_may_show_late():
    values = np.zeros((20_000, 1), dtype=np.int64)
    values[7_777] = 40
    found = CategoryCounts.of(values, np.zeros(20_000, dtype=np.int32), None, 1)
    assert found.categories == ((0, 40),)
    assert found.counts[0].tolist() == [[19_999.0, 1.0]]


# ---- zeros, ones and counts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["bernoulli", "multinomial"])
@pytest.mark.parametrize("smoothing", [0.0, 1.0])
def test_sparse_rows_equal_dense_ones(family, smoothing):
    rng = np.random.default_rng(7)
    X, y = (
        rng.integers(0, 2 if family == "bernoulli" else 4, (60, 9)).astype(float),
        rng.integers(0, 3, 60).astype(np.int32),
    )
    X[:, 0] = y == 1  # in one class always there, in the others never
    options = NaiveOptions(smoothing=smoothing)
    models = []
    for source in (ArraySource(X), SparseSource(sparse.csr_matrix(X))):
        plan = make_plan(source, family)
        models.append(estimate_naive(summarise_naive(source, y, None, plan, 3), plan, np.full(3, 1 / 3), options))
    shown = X.copy()
    shown[::7, 3] = 5.0  # a count like others, and neither 0 nor 1
    expected = models[0].terms(shown).sum(axis=1)
    for model in models:
        for rows in (shown, sparse.csr_matrix(shown)):
            np.testing.assert_allclose(model.log_likelihood(rows), expected, rtol=1e-12)
    assert np.isneginf(expected).any() == (smoothing == 0.0)


def test_counts_with_missing_values_are_judged_by_what_is_shown():
    model = MultinomialColumns(np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]), np.array([4.0, 4.0]))
    joint = np.zeros((1, 2))
    model.add_log(np.array([[2.0, 1.0, np.nan]]), np.arange(3), joint)
    expected = [2 * np.log(5 / 8) + np.log(3 / 8), 2 * np.log(2 / 5) + np.log(3 / 5)]
    np.testing.assert_allclose(joint[0], expected, rtol=1e-12)


def test_wrong_values_are_rejected():
    y = np.array([0, 1], dtype=np.int32)
    for family, X in (("bernoulli", [[0.0], [0.5]]), ("multinomial", [[-1.0], [2.0]]), ("gaussian", [[np.inf], [1.0]])):
        source = as_table(np.array(X))
        plan = make_plan(source, family)
        with pytest.raises(DataError, match="0"):
            estimate_naive(summarise_naive(source, y, None, plan, 2), plan, np.full(2, 0.5), NaiveOptions())
    refusing = BernoulliColumns(np.array([[0.5]]), np.array([[np.nan]]), ("wet",))
    with pytest.raises(DataError, match=r"'wet' holds 2.*unknown='error'"):
        refusing.add_log(np.array([[2.0]]), np.array([0]), np.zeros((1, 1)))


# ---- kernel densities and mixtures --------------------------------------------------------------------------------


def test_kernel_columns_are_sums_of_bumps():
    X, y = table(np.random.default_rng(8), n=60)
    model = model_of(X, y, "kde", options=NaiveOptions(bandwidth=0.5))
    points = np.array([[0.3, 1.0, -2.0, 40.0]])
    for c in range(3):
        slow = sum(
            np.log(np.mean(stats.norm.pdf(points[0, j], X[(y == c) & ~np.isnan(X[:, j]), j], 0.5))) for j in range(3)
        )
        far = X[(y == c) & ~np.isnan(X[:, 3]), 3]
        slow += np.log(np.mean(np.exp(-0.5 * ((40.0 - far) ** 2 - (40.0 - far.max()) ** 2) / 0.25)))
        slow += stats.norm.logpdf(40.0, far.max(), 0.5)
        assert model.log_likelihood(points)[0, c] == pytest.approx(slow, rel=1e-7)


def test_bandwidths_of_equal_rows_go_with_the_units():
    everywhere = (np.array([0.0, 1.0, 2.0, 6.0]), np.ones(4))

    def rule(x, w):
        return 1e-9

    for scale in (1.0, 1e6):
        rows = (everywhere[0] * scale, everywhere[1])
        assert class_bandwidth(rows[0][:1], np.ones(1), rows, rule) == pytest.approx(scale * everywhere[0].std())
        assert class_bandwidth(rows[0], rows[1], rows, rule) == 1e-9
        rounding = scale**2 * 2.0**2 / 12.0  # the neighbours are 2 apart, in the mean
        copies = (np.repeat(rows[0], 2), np.ones(8))
        for ties in (copies, (rows[0], np.full(4, 2.0))):
            assert class_bandwidth(*ties, ties, rule) == pytest.approx(np.sqrt(rounding))
            alone = class_bandwidth(rows[0][:1], np.ones(1), ties, rule)
            assert alone == pytest.approx(np.sqrt(scale**2 * everywhere[0].var() + rounding))
    assert class_bandwidth(np.ones(3), np.ones(3), (np.ones(3), np.ones(3)), rule) == 1.0


def test_mixtures_find_two_peaks():
    rng = np.random.default_rng(9)
    two = np.r_[rng.normal(-3, 1, 400), rng.normal(3, 1, 400)]
    X, y = np.r_[two, rng.normal(0, 1, 800)][:, None], np.repeat([0, 1], 800).astype(np.int32)
    source = as_table(X)
    plan = make_plan(source, "mixture")
    model = estimate_naive(summarise_naive(source, y, None, plan, 2), plan, np.full(2, 0.5), NaiveOptions())
    assert len(model.density(0, 0).weights) == 2
    assert len(model.density(1, 0).weights) == 1
    likelier = model.log_likelihood(np.array([[-3.0], [0.0], [3.0]])).argmax(axis=1)
    assert likelier.tolist() == [0, 1, 0]


def test_kept_rows_leave_out_rows_without_weight():
    kept = ClassRows.of(np.array([[1.0], [np.inf], [3.0]]), np.zeros(3, dtype=np.int32), np.array([1.0, 0.0, 2.0]), 1)
    assert kept.column(0)[0].tolist() == [1.0, 3.0]
    rows = ClassRows.of(np.full((2, 1), np.nan), np.zeros(2, dtype=np.int32), None, 1)
    with pytest.raises(DataError, match="no entry"):
        KdeFactor().estimate(rows, (Field("a", "number"),), NaiveOptions())


# ---- which family -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "found", "family"),
    [
        (Field("a", "text"), ColumnValues(), "categorical"),
        (Field("a", "text", ("x", "y")), ColumnValues(), "categorical"),
        (Field("a", "boolean"), ColumnValues(), "bernoulli"),
        (Field("a", "number"), ColumnValues(frozenset({0, 1}), 3), "bernoulli"),
        (Field("a", "integer"), ColumnValues(frozenset({0, 1}), 3), "bernoulli"),
        (Field("a", "number"), ColumnValues(frozenset({1, 2}), 3), "categorical"),
        (Field("a", "integer"), ColumnValues(frozenset(range(20)), 100), "categorical"),
        (Field("a", "number"), ColumnValues(frozenset(range(20)), 100), "categorical"),
        (Field("a", "number"), ColumnValues(frozenset(range(20)), 99), "gaussian"),
        (Field("a", "integer"), ColumnValues(frozenset(range(21)), 1000), "gaussian"),
        (Field("a", "integer"), ColumnValues(frozenset({0}), 1000), "gaussian"),
        (Field("a", "number"), ColumnValues(frozenset(), 0), "categorical"),
        (Field("a", "empty"), ColumnValues(), "categorical"),
        (Field("a", "integer"), ColumnValues(), "gaussian"),
    ],
)
def test_the_choice_of_a_family(field, found, family):
    choice = choose_family(field, found)
    assert choice.family == family
    assert choice.reason


def test_what_the_values_show():
    rng = np.random.default_rng(0)
    n = 5000
    X = np.column_stack([rng.random(n), rng.integers(0, 2, n), rng.integers(0, 6, n), rng.integers(0, 900, n)])
    late = rng.integers(0, 2, n).astype(float)
    late[-1] = 0.5
    X = np.column_stack([X, late])
    families = [choice.family for choice in make_plan(as_table(X), "auto").choices]
    assert families == ["gaussian", "bernoulli", "categorical", "gaussian", "gaussian"]
    families = [choice.family for choice in make_plan(as_table(X[:, 1:4].astype(int)), "auto").choices]
    assert families == ["bernoulli", "categorical", "gaussian"]
    going_on = [choice.family for choice in make_plan(as_table(X[:, 1:4].astype(int)), "auto", complete=False).choices]
    assert going_on == ["categorical", "categorical", "gaussian"]
    counts = sparse.csr_matrix(rng.integers(0, 4, (30, 3)).astype(float))
    assert {choice.family for choice in make_plan(as_table(counts), "auto").choices} == {"multinomial"}
    assert {choice.family for choice in make_plan(as_table(counts > 0), "auto").choices} == {"bernoulli"}


def test_values_met_merge_like_the_rows():
    """Thirds, in any cut and with weights, show what all rows show; so do rows of integers and of floats."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.integers(0, k, 900) for k in (2, 7, 20, 22)]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[::450, 3] = np.inf
    weight = rng.integers(0, 3, 900).astype(float)
    kept = X[weight > 0.0]
    for cuts in ([300, 600], [1, 899], [450]):
        parts = zip(np.split(X, cuts), np.split(weight, cuts), strict=True)
        met = reduce(add, (DistinctValues.of(Block(rows, w), range(4)) for rows, w in parts)).columns
        assert sorted(met) == [0, 1, 2]
        for j, part in met.items():
            assert part.values == set(kept[~np.isnan(kept[:, j]), j])
            assert part.rows == weight[~np.isnan(X[:, j])].sum()
    whole = np.nan_to_num(X[:, :3]).astype(np.int16)
    assert (
        DistinctValues.of(Block(whole), range(3)).columns
        == DistinctValues.of(Block(whole.astype(float)), range(3)).columns
    )


def test_only_columns_left_open_are_read_again():
    class Counting(ArraySource):
        passes = 0

        def rows(self):
            Counting.passes += 1
            return super().rows()

    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((3000, 2))
    make_plan(Counting(numbers, block_rows=500), "auto")
    assert Counting.passes == 1
    make_plan(Counting(np.rint(numbers), block_rows=500), "auto")
    assert Counting.passes == 3
    make_plan(Counting(np.rint(numbers), block_rows=500), "gaussian")
    assert Counting.passes == 3


def test_values_of_rows_without_weight_are_not_rejected():
    X, y = np.array([[1.0], [0.0], [1.0], [0.0], [-7.0]]), np.array([0, 0, 1, 1, 1], dtype=np.int32)
    weight = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    for family in ("bernoulli", "multinomial"):
        for form in (np.asarray, sparse.csr_matrix):
            source = as_table(form(X))
            plan = make_plan(source, family)
            found = estimate_naive(summarise_naive(source, y, weight, plan, 2), plan, np.full(2, 0.5), NaiveOptions())
            source = as_table(form(X[:4]))
            alone = estimate_naive(summarise_naive(source, y[:4], None, plan, 2), plan, np.full(2, 0.5), NaiveOptions())
            np.testing.assert_array_equal(found.log_joint(X[:4]), alone.log_joint(X[:4]))


def test_families_by_column_make_groups():
    source = as_table(np.random.default_rng(0).random((5, 6)))
    plan = make_plan(source, {0: "kde", (1, 3): "multinomial", (2, 4): "multinomial", 5: GaussianFamily()})
    assert sorted(columns for _, columns in plan.groups) == [(0,), (1, 3), (2, 4), (5,)]
    plan = make_plan(source, {1: "multinomial", 3: "multinomial"})
    assert sorted(columns for _, columns in plan.groups) == [(0, 2, 4, 5), (1, 3)]


def test_the_documentation_names_every_family():
    for family in FACTORS:
        assert f'"{family}"' in NaiveBayes.__doc__


@pytest.mark.parametrize(
    ("features", "words"),
    [
        ("gausian", "did you mean 'gaussian'"),
        ({"hight": "kde"}, "'hight'.*'height'"),
        ({"colour": "gaussian"}, "'colour', which holds text"),
        ({"height": 3}, "not a family"),
    ],
)
def test_features_that_are_wrong(features, words):
    X = np.array([(1.0, "x")], dtype=[("height", float), ("colour", "U1")])
    with pytest.raises(OptionError, match=words):
        make_plan(as_table(X), features)


def test_labels_travel_with_the_rows():
    source = attach_labels(ArraySource(np.zeros((5, 1)), block_rows=2), np.arange(5, dtype=np.int32), None)
    assert [block.weight.tolist() for block in source.blocks()] == [[0, 1], [2, 3], [4]]


def test_a_model_by_hand():
    rows = np.array([[1.0, 2.0, 1.0], [0.0, np.nan, 0.0]])
    parts = (
        Group(np.array([1]), GaussianColumns(np.array([[0.0], [2.0]]), np.array([[1.0], [4.0]]))),
        Group(np.array([0]), BernoulliColumns(np.array([[0.25], [0.5]]), np.ones((2, 1)), ("b",))),
        Group(
            np.array([2]), CategoricalColumns(((0, 1),), (np.array([[0.1, 0.9], [0.5, 0.5]]),), np.ones((1, 2)), ("v",))
        ),
    )
    model = NaiveModel(np.array([0.75, 0.25]), parts)
    first = [0.75 * 0.25 * stats.norm.pdf(2.0) * 0.9, 0.25 * 0.5 * stats.norm.pdf(0.0) / 2.0 * 0.5]
    np.testing.assert_allclose(
        np.exp(model.log_joint(rows)), [first, [0.75 * 0.75 * 0.1, 0.25 * 0.5 * 0.5]], rtol=1e-12
    )
    assert model.linear() is None
    family = GaussianFamily()
    density = family.estimate(family.summarise(Block(np.array([[0.0], [2.0]]))))
    own = DensityPerClass(((density, density),))
    assert own.terms(rows, np.array([1])).shape == (2, 1, 2)

"""Coins, dice and counts: the estimates of the textbook, intervals against SciPy, and values that nobody expected."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import beta, binomtest, multinomial, norm

from eigenlens.data.memory import ArraySource
from eigenlens.densities import (
    Bernoulli,
    BernoulliFamily,
    Block,
    Categorical,
    CategoricalFamily,
    Multinomial,
    MultinomialFamily,
)
from eigenlens.densities.intervals import PROPORTION_INTERVALS, proportion_intervals
from eigenlens.errors import DataError, OptionError

# ---- a coin ----------------------------------------------------------------------------------------------------


def test_a_coin():
    """theta = H / n, with its standard error and likelihood."""
    coin = Bernoulli.fit([1] * 7 + [0] * 3)
    assert coin.probability == 0.7
    assert coin.standard_errors() == pytest.approx(np.sqrt(0.21 / 10))
    assert coin.fitted.loglik == pytest.approx(7 * np.log(0.7) + 3 * np.log(0.3))
    assert coin.fitted.weight == 10.0
    assert coin.fitted.free == 1


@pytest.mark.parametrize(
    ("x", "levels"),
    [
        ([1, 0, 1], (0, 1)),
        ([1, 1, 1], (0, 1)),
        ([1.0, 0.0, np.nan, 1.0], (0.0, 1.0)),
        ([True, True, False], (False, True)),
        (np.array([True, True]), (False, True)),
        (["yes", "no", "yes", None], ("no", "yes")),
        ([5, 3, 5], (3, 5)),
        (np.array([[1], [0], [1]], dtype=np.int8), (0, 1)),
    ],
)
def test_two_values_of_any_kind(x, levels):
    coin = Bernoulli.fit(x)
    assert coin.levels == levels
    flat = [value for value in np.ravel(np.asarray(x, dtype=object)) if value is not None and value == value]
    assert coin.probability == pytest.approx(sum(value == levels[1] for value in flat) / len(flat))
    np.testing.assert_allclose(np.exp(coin.log_density(list(levels))), [1 - coin.probability, coin.probability])


def test_which_level_is_counted():
    x = ["H", "T", "H", "H"]
    assert Bernoulli.fit(x).probability == 0.25  # of the last in order, as the table shows
    assert Bernoulli.fit(x, levels=("T", "H")).probability == 0.75
    assert "T" in str(Bernoulli.fit(x))
    assert set(Bernoulli.fit(x).sample(100, np.random.default_rng(0)).ravel()) == {"H", "T"}


def test_beta_smoothing():
    x = [1, 1, 1, 0]
    assert Bernoulli.fit(x, smoothing=1.0).probability == pytest.approx(4 / 6)
    assert Bernoulli.fit(x, smoothing=(2.0, 0.5)).probability == pytest.approx(3.5 / 6.5)
    assert Bernoulli.fit([1, 1], smoothing=1.0).log_density([0])[0] == pytest.approx(np.log(0.25))
    assert Bernoulli.fit([1, 1]).log_density([0])[0] == -np.inf
    assert Bernoulli.fit(x, smoothing=1.0).fitted.loglik == pytest.approx(3 * np.log(4 / 6) + np.log(2 / 6))


@pytest.mark.parametrize(
    ("x", "levels", "said"),
    [
        (["a", "b", "c"], None, r"3 different values \('a', 'b', 'c'\).*Categorical.fit"),
        (["a", "a"], None, r"is constant \('a'\).*levels=\(other, 'a'\)"),
        (["a", "b"], ("a", "c"), "x holds .'b'.*not among levels"),
        ([], None, "0 rows"),
        ([None, None], None, "no value that is not missing|is constant"),
        ("HTH", None, "x='HTH' is one value"),
        (3, None, "x=3 is one value"),
        (np.array(3), None, r"x=array\(3\) is one value"),
        ({"H": 3, "T": 4}, None, "x is a dict.*sample_weight"),
        (np.zeros((3, 2)), None, r"shape \(3, 2\)"),
    ],
)
def test_what_is_no_coin(x, levels, said):
    with pytest.raises(DataError, match=said):
        Bernoulli.fit(x, levels=levels)


def test_probabilities_have_bounds():
    with pytest.raises(OptionError, match=r"probability=1.5 must be between 0 and 1"):
        Bernoulli(1.5)


# ---- intervals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
@pytest.mark.parametrize(("k", "n"), [(0, 5), (1, 5), (5, 5), (7, 10), (499, 1000), (1, 100_000)])
def test_intervals_are_scipys(k, n, level):
    p, tail = np.array([k / n]), 0.5 * (1 - level)
    for method in ("wilson", "exact"):
        twin = binomtest(k, n).proportion_ci(level, method=method)
        np.testing.assert_allclose(proportion_intervals(p, n, level, method)[0], twin, atol=1e-12)
    half = norm.ppf(1 - tail) * np.sqrt(p[0] * (1 - p[0]) / n)
    twin = np.clip([p[0] - half, p[0] + half], 0.0, 1.0)
    np.testing.assert_allclose(proportion_intervals(p, n, level, "wald")[0], twin, atol=1e-12)
    posterior = beta(k + 0.5, n - k + 0.5)
    twin = [posterior.ppf(tail) if k else 0.0, posterior.ppf(1 - tail) if k < n else 1.0]
    np.testing.assert_allclose(proportion_intervals(p, n, level, "jeffreys")[0], twin, atol=1e-12)


def test_wilson_covers_better_than_wald():
    """Exactly, by summing the binomial: 95% intervals of 10 throws, over 99 values of p."""
    p, k = np.linspace(0.01, 0.99, 99)[:, None], np.arange(11)
    mass = np.array([[binomtest_mass(x, 10, q) for x in k] for q in p.ravel()])
    cover = {}
    for method in PROPORTION_INTERVALS:
        low, high = proportion_intervals(k / 10, 10.0, 0.95, method).T
        cover[method] = (mass * ((low <= p) & (p <= high))).sum(axis=1)
    assert abs(cover["wilson"].mean() - 0.95) < 0.01
    assert cover["wald"].mean() < 0.85
    assert cover["exact"].min() >= 0.95 - 1e-12


def binomtest_mass(k, n, p):
    return np.exp(Multinomial(np.array([p, 1 - p])).log_density([[k, n - k]])[0])


def test_two_rows_of_smoothing_make_walds_interval_agrestis():
    coin = Bernoulli.fit([1] * 9 + [0], smoothing=2.0)
    middle = 11 / 14
    half = norm.ppf(0.975) * np.sqrt(middle * (1 - middle) / 14)
    assert coin.confidence_intervals(method="wald") == pytest.approx((middle - half, min(1.0, middle + half)))


def test_options_of_intervals():
    coin = Bernoulli.fit([0, 1])
    with pytest.raises(OptionError, match="method='score' is not known"):
        coin.confidence_intervals(method="score")
    with pytest.raises(OptionError, match="level=95"):
        coin.confidence_intervals(95)
    with pytest.raises(OptionError, match=r"not fitted to rows.*Bernoulli.fit\(x\)"):
        Bernoulli(0.5).standard_errors()


# ---- a die -----------------------------------------------------------------------------------------------------------


def test_shares_are_counts_over_their_number():
    x = ["red"] * 5 + ["blue"] * 3 + ["green"] * 2
    die = Categorical.fit(x)
    assert die.levels == ("blue", "green", "red")
    np.testing.assert_allclose(die.probabilities, [0.3, 0.2, 0.5])
    np.testing.assert_allclose(die.standard_errors(), np.sqrt(np.array([0.21, 0.16, 0.25]) / 10))
    assert die.fitted.loglik == pytest.approx(die.log_density(x).sum())
    assert die.fitted.free == 2
    twin = [Bernoulli.fit([value == level for value in x]).confidence_intervals() for level in die.levels]
    np.testing.assert_allclose(die.confidence_intervals(), twin)


def test_a_level_never_met():
    die = Categorical.fit(["a", "b", "a"])
    assert die.log_density(["c", "a", None, float("nan")]).tolist() == [-np.inf, np.log(2 / 3), 0.0, 0.0]


def test_smoothing_reserves_a_share_for_levels_never_met():
    """(n_k + a) / (n + (K + 1) a): any other level together has as much as one that was met 0 times."""
    die = Categorical.fit(["a", "b", "a"], smoothing=0.5)
    np.testing.assert_allclose(die.probabilities, np.array([2.5, 1.5]) / 4.5)
    assert die.unknown == pytest.approx(0.5 / 4.5)
    assert die.log_density(["c"])[0] == pytest.approx(np.log(0.5 / 4.5))
    assert die.probabilities.sum() + die.unknown == pytest.approx(1.0)
    closed = Categorical.fit(["a", "b", "a"], smoothing=0.5, reserve=0.0)
    np.testing.assert_allclose(closed.probabilities, np.array([2.5, 1.5]) / 4.0)
    assert closed.log_density(["c"])[0] == -np.inf
    assert Categorical.fit(["a"], smoothing=1.0, reserve=3.0).unknown == pytest.approx(3 / 5)
    assert set(die.sample(200, np.random.default_rng(0)).ravel()) == {"a", "b"}


def test_declared_levels_are_all_there_are():
    die = Categorical.fit(["a", "b", "a"], levels=("c", "b", "a"), smoothing=1.0)
    np.testing.assert_allclose(die.probabilities, np.array([1.0, 2.0, 3.0]) / 6)
    assert die.unknown == 0.0
    assert Categorical.fit(["a", "b", "a"], levels=("c", "b", "a")).log_density(["c"])[0] == -np.inf
    prior = Categorical.fit(["a", "b", "a"], levels=("c", "b", "a"), smoothing=[3.0, 1.0, 0.0])
    np.testing.assert_allclose(prior.probabilities, np.array([3.0, 2.0, 2.0]) / 7)
    with pytest.raises(DataError, match=r"x holds \('b'\), not among levels=\('a', 'c'\)"):
        Categorical.fit(["a", "b"], levels=("a", "c"))


def test_categoricals_of_frames_keep_their_empty_levels():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    values, names = ["low", "high", "low", None], ["low", "mid", "high"]
    for x in (pd.Series(pd.Categorical(values, names)), pl.Series(values, dtype=pl.Enum(names))):
        die = Categorical.fit(x, smoothing=1.0)
        assert die.levels == ("low", "mid", "high")
        np.testing.assert_allclose(die.probabilities, np.array([3.0, 1.0, 2.0]) / 6)
        np.testing.assert_allclose(die.log_density(x), [*np.log([3 / 6, 2 / 6, 3 / 6]), 0.0])
        assert Bernoulli.fit(x, levels=("low", "high")).probability == pytest.approx(1 / 3)
    text = pd.Series(values, name="speed")
    assert Categorical.fit(text).levels == Categorical.fit(pl.from_pandas(text)).levels == ("high", "low")


def test_numbers_score_as_numbers():
    """1, 1.0, True and NumPy's ones are the same level; "1" is another."""
    die = Categorical.fit([1, 2, 2])
    ones = [[1], [1.0], [True], np.array([1], dtype=np.int8), np.array([1.0], dtype=np.float32), np.array([[1.0]])]
    for one in ones:
        assert die.log_density(one)[0] == pytest.approx(np.log(1 / 3))
    assert die.log_density(["1"])[0] == -np.inf


def test_streams_and_chunks():
    rng = np.random.default_rng(1)
    x, w = rng.integers(0, 5, 500), rng.uniform(0.0, 3.0, 500)
    twin = Categorical.fit(x, w)
    found = Categorical.fit(ArraySource(x[:, None].astype(float), block_rows=17), w)
    assert found.levels == twin.levels
    np.testing.assert_allclose(found.probabilities, twin.probabilities, rtol=1e-12)
    family = CategoricalFamily()
    text = np.array(["p", "q", "r", "s", "t"])[x]
    parts = [family.summarise(Block(text[i : i + 100], w[i : i + 100])) for i in range(0, 500, 100)]
    merged = family.estimate(sum(parts[1:], parts[0]))
    np.testing.assert_allclose(merged.probabilities, twin.probabilities, rtol=1e-12)
    assert merged.fitted.loglik == pytest.approx(twin.fitted.loglik)
    with pytest.raises(DataError, match="2 columns"):
        Categorical.fit(ArraySource(np.zeros((4, 2))))


def test_dask_columns():
    da = pytest.importorskip("dask.array")
    x = np.random.default_rng(2).integers(0, 3, 100)
    for column in (da.from_array(x, chunks=30), da.from_array(x[:, None], chunks=30)):
        np.testing.assert_allclose(Categorical.fit(column).probabilities, np.bincount(x) / 100)


def test_sparse_blocks_of_one_column():
    x = np.array([[0.0], [1.0], [0.0], [1.0], [0.0]])
    assert BernoulliFamily().estimate(BernoulliFamily().summarise(Block(sparse.csr_matrix(x)))).probability == 0.4


def test_a_prior_alone():
    """No value at all: with smoothing the prior is left; without, there is nothing to say."""
    nothing = CategoricalFamily(levels=("a", "b"), smoothing=1.0).summarise(Block([None]))
    np.testing.assert_allclose(CategoricalFamily(smoothing=1.0).estimate(nothing).probabilities, [0.5, 0.5])
    with pytest.raises(DataError, match="no value that is not missing"):
        CategoricalFamily().estimate(nothing)
    with pytest.raises(DataError, match="no value that is not missing"):
        Categorical.fit([None, None], smoothing=1.0)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Categorical(np.array([0.5, 0.6])), r"sum to 1, not 1.1"),
        (lambda: Categorical(np.array([-0.5, 1.5])), "must not be negative"),
        (lambda: Categorical(np.array([0.5, 0.5]), ("a", "a")), "2 different values"),
        (lambda: Categorical(np.array([0.5, 0.5]), ("a",)), "2 different values"),
        (lambda: Categorical.fit(["a"], smoothing=-1.0), r"smoothing=-1.0 must be from 0 to"),
        (lambda: Categorical.fit(["a"], smoothing="laplace"), "smoothing='laplace' must be a number"),
        (lambda: Categorical.fit(["a"], smoothing=[1.0, 2.0]), "2 numbers for 1 categories"),
        (
            lambda: Categorical.fit(["a"], smoothing=1.0, reserve=-1.0),
            r"reserve=-1.0 must be a finite number from 0 on",
        ),
        (lambda: Bernoulli.fit([0, 1], levels=(0, 1, 2)), r"levels=\(0, 1, 2\) must be 2 different values"),
        (lambda: Multinomial(np.array([0.5, 0.6])), "sum to 1"),
        (lambda: Multinomial(np.array([0.5, 0.4])), "sum to 1"),
    ],
)
def test_options_that_cannot_be(made, said):
    with pytest.raises(OptionError, match=said):
        made()


def test_weights_must_fit():
    with pytest.raises(DataError, match="sample_weight has 1 entry, but X has 2 rows"):
        Categorical.fit(["a", "b"], [1.0])
    with pytest.raises(DataError, match="finite and not negative"):
        Bernoulli.fit([0, 1], [1.0, -1.0])
    assert Bernoulli.fit([0, 1], [1.0, 3.0]).probability == 0.75


def test_tables_are_small():
    table = str(Categorical.fit(["a"] * 3 + ["b"], smoothing=1.0)).splitlines()
    assert table[0] == "Categorical, n = 4, log-likelihood -2.9316"
    assert table[1].split() == ["category", "probability", "std.", "error", "low", "high"]
    assert [line.split()[0] for line in table[2:]] == ["a", "b", "any"]
    assert str(Bernoulli(0.25)).splitlines() == [
        "Bernoulli",
        "category  probability",
        "0                0.75",
        "1                0.25",
    ]
    assert len(str(Categorical.fit(range(1000))).splitlines()) < 30


# ---- counts ---------------------------------------------------------------------------------------------------------

P = np.array([0.2, 0.5, 0.3])


def test_multinomial_is_scipys():
    X = np.random.default_rng(3).multinomial(9, P, size=50)
    twin = multinomial(9, P).logpmf(X)
    for model in (Multinomial(P), Multinomial(P, 9)):
        np.testing.assert_allclose(model.log_density(X), twin, rtol=1e-10)
        np.testing.assert_allclose(model.log_density(sparse.csr_matrix(X)), twin, rtol=1e-10)
        np.testing.assert_allclose(model.log_density(sparse.coo_array(X)), twin, rtol=1e-10)


def test_multinomial_shares():
    X = np.array([[3, 1, 0], [1, 2, 1]])
    model = Multinomial.fit(X)
    np.testing.assert_allclose(model.probabilities, [0.5, 0.375, 0.125])
    np.testing.assert_allclose(model.standard_errors(), np.sqrt(model.probabilities * (1 - model.probabilities) / 8))
    assert model.fitted.loglik == pytest.approx(multinomial(4, model.probabilities).logpmf(X).sum())
    np.testing.assert_allclose(Multinomial.fit([4, 3, 1]).probabilities, model.probabilities)
    np.testing.assert_allclose(
        Multinomial.fit(sparse.csr_matrix(X), smoothing=1.0).probabilities, np.array([5, 4, 2]) / 11
    )
    np.testing.assert_allclose(Multinomial.fit(X, [2.0, 0.0]).probabilities, [0.75, 0.25, 0.0])


def test_rows_of_different_totals_are_judged_given_them():
    model = Multinomial(P)
    np.testing.assert_allclose(model.log_density([[1, 0, 0], [0, 2, 0]]), np.log([0.2, 0.25]))
    with pytest.raises(OptionError, match="pass trials"):
        model.sample(3, np.random.default_rng(0))
    assert np.all(model.sample(3, np.random.default_rng(0), trials=7).sum(axis=1) == 7)


def test_a_count_not_known_leaves_its_throws_out():
    """Without trials the row is judged given the counts that it shows: of cells 0 and 2, which share as 2 to 3."""
    found = Multinomial(P).log_density([[1, np.nan, 2], [np.nan, 4, np.nan]])
    np.testing.assert_allclose(np.exp(found), [3 * 0.4 * 0.6**2, 1.0])
    assert np.exp(Multinomial(P, 5).log_density([[1, np.nan, 2]]))[0] == pytest.approx(30 * 0.2 * 0.5**2 * 0.3**2)


def test_what_are_no_counts():
    model = Multinomial(P, 4)
    X = np.array([[4.0, 1.0, -1.0], [0.5, 3.5, 0.0], [1.0, 1.0, 1.0], [2.0, 2.0, 1.0], [2.0, 1.0, 1.0]])
    for rows in (X, sparse.csr_matrix(X)):
        assert np.isneginf(model.log_density(rows)).tolist() == [True, True, True, True, False]
    assert np.isneginf(Multinomial(np.array([1.0, 0.0])).log_density([[1, 1]])[0])
    for bad in (-1.0, 0.5, np.nan, np.inf):
        with pytest.raises(DataError, match=f"X has {bad:g} .*whole numbers"):
            Multinomial.fit([[1.0, bad]])
    with pytest.raises(DataError, match="a row of 4 counts, not trials=3"):
        Multinomial.fit([[1, 2], [3, 1]], trials=3)
    with pytest.raises(DataError, match="no counts above 0"):
        Multinomial.fit([[0, 0]])
    with pytest.raises(OptionError, match="sum to more than trials=4"):
        model.condition([0], [5])


def test_names_and_chunks_of_counts():
    pd = pytest.importorskip("pandas")
    X = np.random.default_rng(4).poisson(2.0, (40, 3))
    model = Multinomial.fit(pd.DataFrame(X, columns=["gin", "rum", "tea"]))
    assert [line.split()[0] for line in str(model).splitlines()[2:]] == ["gin", "rum", "tea"]
    family = MultinomialFamily()
    merged = family.estimate(family.summarise(Block(X[:7])) + family.summarise(Block(X[7:])))
    np.testing.assert_allclose(merged.probabilities, model.probabilities)
    assert merged.fitted.loglik == pytest.approx(model.fitted.loglik)


def test_frozen_values():
    with pytest.raises(AttributeError):
        Bernoulli(0.5).probability = 0.2
    with pytest.raises(ValueError, match="read-only"):
        Categorical(np.array([1.0])).probabilities[0] = 0.0

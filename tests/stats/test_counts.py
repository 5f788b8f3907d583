"""Counts of levels, whatever the column is made of, against a dictionary and a loop."""

from __future__ import annotations

import datetime
from collections import defaultdict
from math import lgamma

import numpy as np
import pytest
from scipy import sparse

from eigenlens.data.categories import MAX_LOOKUP_RANGE, encode
from eigenlens.data.source import Block
from eigenlens.errors import DataError
from eigenlens.stats.counts import Counts, CountTotals


def counted(values, weight=None):
    """Weights by level, and of the missing ones, by the obvious loop over a list of Python values."""
    found, missing = defaultdict(float), 0.0
    for value, w in zip(values, np.ones(len(values)) if weight is None else weight, strict=True):
        if value is None or value != value:
            missing += w
        else:
            found[value] += w
    return dict(found), missing


def as_dict(counts):
    return {level: w for level, w in zip(counts.categories, counts.weight, strict=True) if w}, counts.missing


RNG = np.random.default_rng(0)
WORDS = np.array(["tin", "copper", "zinc", ""])[RNG.integers(0, 4, 200)].tolist()
WITH_MISSING = [None if RNG.random() < 0.2 else word for word in WORDS]

COLUMNS = {
    "list of strings": WORDS,
    "list with missing values": WITH_MISSING,
    "tuple": tuple(WORDS),
    "array of strings": np.array(WORDS),
    "array of objects": np.array(WITH_MISSING, dtype=object),
    "integers": RNG.integers(-3, 5, 200),
    "small integers": RNG.integers(-128, 128, 200).astype(np.int8),
    "far integers": RNG.integers(0, 50, 200) * MAX_LOOKUP_RANGE,
    "large unsigned": RNG.integers(0, 5, 200).astype(np.uint64) + np.uint64(2**63 + 11),
    "huge python integers": [10**30 + i % 3 for i in range(50)],
    "floats": np.where(RNG.random(200) < 0.3, np.nan, RNG.integers(0, 3, 200) / 4.0),
    "booleans": RNG.random(200) < 0.3,
    "rows of one column": RNG.integers(0, 4, (200, 1)),
    "list of rows": [["a"], ["b"], ["a"]],
    "mixed": ["a", 1, 2.5, None, "a", float("nan"), 1, True],
    "tuples": [(1, 2), (3, 4), (1, 2)],
    "nothing": [],
    "nothing but missing values": [None, float("nan")],
}


def plain(values):
    """The column as a list of Python values."""
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value[0] if isinstance(value, list | np.ndarray) else value
    return [value.item() if isinstance(value, np.generic) else value for value in array]


@pytest.mark.parametrize("name", COLUMNS)
def test_levels_are_counted(name):
    column = COLUMNS[name]
    weight = np.random.default_rng(1).uniform(0.1, 3.0, len(column))
    assert as_dict(Counts.of(column)) == counted(plain(column))
    found, missing = as_dict(Counts.of(column, weight))
    twin, twin_missing = counted(plain(column), weight)
    assert found == pytest.approx(twin)
    assert missing == pytest.approx(twin_missing)


@pytest.mark.parametrize("name", COLUMNS)
def test_codes_lead_back_to_the_values(name):
    column = plain(COLUMNS[name])
    codes, levels, _ = encode(COLUMNS[name])
    for code, value in zip(codes, column, strict=True):
        assert (value is None or value != value) if code == -1 else levels[code] == value


@pytest.mark.parametrize(
    "name", ["list with missing values", "integers", "floats", "mixed", "tuples", "booleans", "far integers"]
)
def test_parts_merge_to_the_whole_in_any_order(name):
    column = COLUMNS[name]
    whole = Counts.of(column)
    parts = [Counts.of(column[i : i + 3]) for i in range(0, len(column), 3)]
    for order in (parts, parts[::-1]):
        merged = sum(order[1:], order[0])
        assert merged.categories == whole.categories
        assert merged.declared == whole.declared
        np.testing.assert_allclose(merged.weight, whole.weight)
        assert merged.missing == whole.missing


def test_levels_are_in_order_whichever_came_first():
    assert Counts.of(["b", 2, "a", 10, 1.5, (1,)]).categories == (1.5, 2, 10, "a", "b", (1,))


def test_booleans_are_two_levels_also_if_one_is_there():
    assert Counts.of([True, True]).categories == (False, True)
    assert Counts.of(np.array([True])).declared


def test_masked_is_missing():
    assert as_dict(Counts.of(np.ma.array([1, 2, 2], mask=[False, False, True]))) == ({1: 1.0, 2: 1.0}, 1.0)


def test_dates_are_levels():
    days = np.array(["2020-01-02", "2019-05-01", "NaT", "2020-01-02"], dtype="datetime64[ns]")
    found = Counts.of(days)
    assert [str(level)[:10] for level in found.categories] == ["2019-05-01", "2020-01-02"]
    assert found.missing == 1.0
    assert Counts.of([datetime.date(2020, 1, 2)]).categories == (datetime.date(2020, 1, 2),)


def test_declared_levels():
    found = Counts.of(["b", "a", "b"]).within(("c", "b", "a"))
    assert found.categories == ("c", "b", "a")
    assert found.weight.tolist() == [0.0, 2.0, 1.0]
    assert found.declared
    with pytest.raises(DataError, match=r"x holds \('b'\), not among levels=\('a', 'c'\); add it to levels"):
        Counts.of(["b", "a"]).within(("a", "c"))
    with pytest.raises(DataError, match="twice"):
        Counts.of(["a"]).within(("a", "a"))


def test_a_list_cannot_be_a_level():
    with pytest.raises(DataError, match=r"holds \{'b': 1\} in row 1: the argument must be a string or a number"):
        Counts.of(["a", {"b": 1}])


def test_several_columns_are_rejected():
    with pytest.raises(DataError, match=r"shape \(4, 2\)"):
        Counts.of(np.zeros((4, 2)))


# ---- frames --------------------------------------------------------------------------------------------------


def test_pandas_columns():
    pd = pytest.importorskip("pandas")
    twin = counted(WITH_MISSING)
    for column in (
        pd.Series(WITH_MISSING),
        pd.Series(WITH_MISSING, dtype="string"),
        pd.Series(WITH_MISSING, dtype=object),
    ):
        assert as_dict(Counts.of(column)) == twin
        assert as_dict(Counts.of(column.to_frame())) == twin
    numbers = pd.Series([1, None, 3, 1], dtype="Int64")
    assert as_dict(Counts.of(numbers)) == ({1: 2.0, 3: 1.0}, 1.0)
    flags = Counts.of(pd.Series([True, None], dtype="boolean"))
    assert (flags.categories, flags.weight.tolist(), flags.missing, flags.declared) == (
        (False, True),
        [0.0, 1.0],
        1.0,
        True,
    )
    assert as_dict(Counts.of(pd.Series([1.5, None]))) == ({1.5: 1.0}, 1.0)


def test_pandas_categoricals_declare_their_levels():
    pd = pytest.importorskip("pandas")
    column = pd.Categorical(["low", None, "low"], categories=["low", "mid", "high"], ordered=True)
    for given in (column, pd.Series(column), pd.DataFrame({"x": column})):
        found = Counts.of(given)
        assert found.categories == ("low", "mid", "high")
        assert found.weight.tolist() == [2.0, 0.0, 0.0]
        assert found.missing == 1.0
        assert found.declared


def test_polars_columns():
    pl = pytest.importorskip("polars")
    twin = counted(WITH_MISSING)
    text = pl.Series("x", WITH_MISSING)
    for column in (text, text.cast(pl.Categorical), pl.DataFrame({"x": text})):
        assert as_dict(Counts.of(column)) == twin
        assert not Counts.of(column).declared
    enum = Counts.of(pl.Series(["b", None, "b"], dtype=pl.Enum(["a", "b"])))
    assert (enum.categories, enum.weight.tolist(), enum.missing, enum.declared) == (("a", "b"), [0.0, 2.0], 1.0, True)
    assert as_dict(Counts.of(pl.Series([1, None, 1]))) == ({1: 2.0}, 1.0)
    assert as_dict(Counts.of(pl.Series([1.5, float("nan"), None]))) == ({1.5: 1.0}, 2.0)
    flags = Counts.of(pl.Series([False, None]))
    assert (flags.categories, flags.weight.tolist(), flags.missing) == ((False, True), [1.0, 0.0], 1.0)
    assert Counts.of(pl.Series([True, True])).categories == (False, True)


def test_arrow_columns():
    pa = pytest.importorskip("pyarrow")
    for column in (
        pa.array(WITH_MISSING),
        pa.chunked_array([WITH_MISSING[:50], WITH_MISSING[50:]]),
        pa.array(WITH_MISSING).dictionary_encode(),
    ):
        assert as_dict(Counts.of(column)) == counted(WITH_MISSING)
    assert Counts.of(pa.array([True, None])).categories == (False, True)


# ---- rows of counts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, lambda X: X.astype(np.float32)])
def test_totals_of_counts(kind):
    X = RNG.integers(0, 5, (12, 4)).astype(float)
    w = RNG.uniform(0.0, 2.0, 12)
    found = CountTotals.of(Block(kind(X), w))
    inner = [lgamma(row.sum() + 1) - sum(lgamma(x + 1) for x in row) for row in X]
    assert found.weight == pytest.approx(w.sum())
    np.testing.assert_allclose(found.total, w @ X)
    assert found.coefficient == pytest.approx(w @ inner, rel=1e-12)
    halves = CountTotals.of(Block(kind(X[:5]), w[:5])) + CountTotals.of(Block(kind(X[5:]), w[5:]))
    assert halves.coefficient == pytest.approx(found.coefficient, rel=1e-12)
    np.testing.assert_allclose(halves.total, found.total)

"""One encoder of categories: every container, and everything that reads categories, gives the same answer."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from eigenlens.bayes.labels import encode_labels
from eigenlens.data.categories import encode
from eigenlens.densities import Categorical
from eigenlens.errors import CategoryError, DataError
from eigenlens.reporting.packing import encode_names as report_codes
from eigenlens.stats.counts import Counts

NAN = float("nan")
BIG = 2**60 + 1
DAY, NEXT = datetime.date(2020, 2, 29), datetime.date(2020, 3, 1)


def objects(*values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def dictionary(values, categories):
    return pa.DictionaryArray.from_arrays(pa.array(values), pa.array(categories))


# name: (column, its entries, None where missing, its categories in order, whether its type declares them)
CASES = {
    "booleans": (np.array([True, True]), [True, True], (False, True), True),
    "booleans, a list": ([True, False], [True, False], (False, True), True),
    "booleans, masked": (np.ma.array([True, True], mask=[0, 1]), [True, None], (False, True), True),
    "booleans, pandas": (pd.Series([True, None], dtype="boolean"), [True, None], (False, True), True),
    "booleans, Polars": (pl.Series([True, None]), [True, None], (False, True), True),
    "booleans, Arrow": (pa.array([True, None]), [True, None], (False, True), True),
    "booleans, objects": (objects(True, None), [True, None], (True,), False),
    "booleans among integers": (objects(2, True, 0, 1), [2, 1, 0, 1], (0, 1, 2), False),
    "booleans among integers, first": (objects(True, 1, 0, 2), [1, 1, 0, 2], (0, 1, 2), False),
    "integers": (np.array([3, 1, 3]), [3, 1, 3], (1, 3), False),
    "integers, unsigned": (np.array([2**64 - 1, 0], dtype=np.uint64), [2**64 - 1, 0], (0, 2**64 - 1), False),
    "integers, masked": (np.ma.array([3, 1, 7], mask=[0, 0, 1]), [3, 1, None], (1, 3), False),
    "integers, far apart": (np.array([10**12, -(10**12)]), [10**12, -(10**12)], (-(10**12), 10**12), False),
    "integers, large, objects": (objects(BIG, None, BIG - 1), [BIG, None, BIG - 1], (BIG - 1, BIG), False),
    "integers, large, pandas": (
        pd.Series([BIG, None, BIG - 1], dtype="Int64"), [BIG, None, BIG - 1], (BIG - 1, BIG), False,
    ),
    "integers, large, Polars": (pl.Series([BIG, None, BIG - 1]), [BIG, None, BIG - 1], (BIG - 1, BIG), False),
    "integers, 128 bits": (pl.Series([2**70, None], dtype=pl.Int128), [2**70, None], (2**70,), False),
    "integers, large, Arrow": (pa.array([BIG, None, BIG - 1]), [BIG, None, BIG - 1], (BIG - 1, BIG), False),
    "integers, Polars": (pl.Series([2, 1]), [2, 1], (1, 2), False),
    "whole floats": (np.array([3.0, NAN, 1.0]), [3, None, 1], (1, 3), False),
    "whole floats, far apart": (np.array([1e6, NAN, 1.0]), [10**6, None, 1], (1, 10**6), False),
    "whole floats, pandas": (pd.Series([3, None, 1]), [3, None, 1], (1, 3), False),
    "whole floats, Polars": (pl.Series([3.0, NAN, None]), [3, None, None], (3,), False),
    "whole floats, Arrow": (pa.array([3.0, NAN, None]), [3, None, None], (3,), False),
    "whole floats, objects": (objects(3.0, NAN, 1), [3, None, 1], (1, 3), False),
    "fractions": (np.array([0.5, 1.0]), [0.5, 1.0], (0.5, 1.0), False),
    "fractions, objects": (objects(0.5, 1.0), [0.5, 1.0], (0.5, 1.0), False),
    "1, 1.0, True and '1'": (objects("1", 1.0, True, 1), ["1", 1, 1, 1], (1, "1"), False),
    "text": (np.array(["b", "a", "b"]), ["b", "a", "b"], ("a", "b"), False),
    "text and numbers, a list": (["b", 2, None], ["b", 2, None], (2, "b"), False),
    "text, objects": (objects("b", None, NAN, pd.NA, pd.NaT, "a"), ["b", *[None] * 4, "a"], ("a", "b"), False),
    "text, pandas": (pd.Series(["b", None, "a"], dtype="string"), ["b", None, "a"], ("a", "b"), False),
    "text, Polars": (pl.Series(["b", None, "a"]), ["b", None, "a"], ("a", "b"), False),
    "text, Arrow": (pa.chunked_array([["b", None], ["a"]]), ["b", None, "a"], ("a", "b"), False),
    "bytes": (np.array([b"b", b"a"]), [b"b", b"a"], (b"a", b"b"), False),
    "tuples": (objects((1, 2), None), [(1, 2), None], ((1, 2),), False),
    "decimals": (objects(Decimal("0.5"), Decimal("NaN")), [Decimal("0.5"), None], (Decimal("0.5"),), False),
    "NumPy's NaT among objects": (objects("a", np.datetime64("NaT")), ["a", None], ("a",), False),
    "dates, NumPy": (
        np.array(["2020-03-01", "NaT"], dtype="M8[D]"), [np.datetime64(NEXT), None], (np.datetime64(NEXT),), False,
    ),
    "dates, Polars": (pl.Series([NEXT, None, DAY]), [NEXT, None, DAY], (DAY, NEXT), False),
    "dates, Arrow": (pa.array([NEXT, None, DAY]), [NEXT, None, DAY], (DAY, NEXT), False),
    "dates, objects": (objects(NEXT, None, DAY), [NEXT, None, DAY], (DAY, NEXT), False),
    "categories, pandas": (
        pd.Series(pd.Categorical(["b", None], categories=["c", "b", "a"])), ["b", None], ("c", "b", "a"), True,
    ),
    "categories, pandas' own": (pd.Categorical(["b", None], categories=["b", "a"]), ["b", None], ("b", "a"), True),
    "categories, Polars' Enum": (
        pl.Series(["b", None], dtype=pl.Enum(["c", "b"])), ["b", None], ("c", "b"), True,
    ),
    "categories, Polars' Categorical": (pl.Series(["b", None], dtype=pl.Categorical), ["b", None], ("b",), False),
    "categories, Arrow's dictionary": (dictionary([1, None], ["c", "b"]), ["b", None], ("c", "b"), True),
    "categories, Arrow's dictionary with a null": (dictionary([1, 0], [None, "b"]), ["b", None], ("b",), True),
    "categories, Arrow's dictionary in chunks": (
        pa.chunked_array([dictionary([0], ["c"]), dictionary([1], ["c", "b"])]), ["c", "b"], ("c", "b"), True,
    ),
    "a frame of one column": (pd.DataFrame({"x": ["b", None]}), ["b", None], ("b",), False),
    "an array of one column": (np.array([["b"], ["a"]]), ["b", "a"], ("a", "b"), False),
    "no rows": (np.empty(0), [], (), False),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_container_gives_the_same_codes(case):
    column, entries, categories, declared = CASES[case]
    found = encode(column)
    decoded = [None if code < 0 else found.categories[code] for code in found.codes.tolist()]
    assert decoded == entries
    assert list(map(type, decoded)) == list(map(type, entries))
    assert found.codes.dtype == np.int32
    assert (found.in_order().categories, found.declared) == (categories, declared)


@pytest.mark.parametrize("case", CASES)
def test_counts_have_the_categories_of_the_encoder(case):
    column, entries, categories, declared = CASES[case]
    counts = Counts.of(column)
    assert (counts.categories, counts.declared) == (categories, declared)
    assert counts.weight.tolist() == [sum(entry == category for entry in entries) for category in categories]
    assert counts.missing == entries.count(None)


NO_LABELS = ("dates", "bytes", "128 bits", "of one column")
"""Columns that are no labels; scikit-learn warns of a frame or an array of one column."""


@pytest.mark.parametrize("case", [case for case in CASES if not any(word in case for word in NO_LABELS)])
def test_labels_have_the_categories_that_occur(case):
    """Labels must be there, and comparable; a class that no row has is none."""
    column, entries, categories, _ = CASES[case]
    if None in entries:
        with pytest.raises(DataError, match=f"{entries.count(None)} of {len(entries)} labels are missing"):
            encode_labels(column)
    elif {str} < set(map(type, entries)):
        with pytest.raises(DataError, match="mixes"):
            encode_labels(column)
    elif "fractions" not in case and entries:
        found = encode_labels(column)
        assert found.classes.tolist() == sorted(category for category in categories if category in entries)
        assert found.classes[found.codes].tolist() == entries


@pytest.mark.parametrize("case", [case for case in CASES if "of one column" not in case])
def test_reports_show_the_categories_by_name(case):
    column, entries, *_ = CASES[case]
    assert report_codes(column).values().tolist() == [None if entry is None else str(entry) for entry in entries]


def test_a_density_takes_values_in_whatever_type_they_come():
    die = Categorical.fit([1, 2, 2, True])
    for same in ([1.0], objects(True), pl.Series([1]), pa.array([1.0]), pd.Series([1], dtype="Int8")):
        assert die.log_density(same).tolist() == [np.log(0.5)]
    assert die.log_density(["1"]).tolist() == [-np.inf]


@pytest.mark.parametrize("column", [objects("a", [1]), pl.Series([[1]]), pa.array([[1]]), pd.Series([{"a": 1}])])
def test_values_that_cannot_be_categories(column):
    with pytest.raises(CategoryError, match=r"holds .* in row \d: the argument must be a string or a number, not a"):
        encode(column)


@pytest.mark.parametrize("make", [np.array, pd.DataFrame, pl.DataFrame])
def test_one_column_is_needed(make):
    with pytest.raises(DataError, match="one column of categories is needed"):
        encode(make([[1, 2], [3, 4]]))


@pytest.mark.parametrize("size", [1, 3, 100])
def test_text_is_encoded_alike_in_slices_of_any_size(size, monkeypatch):
    values = np.array(["b", "a", "ccc", "b", "", "a", "longer than a word", "b"])
    monkeypatch.setattr("eigenlens.data.categories.SLICE_ENTRIES", size)
    found = encode(values)
    assert found.codes.tolist() == [0, 1, 2, 0, 3, 1, 4, 0]
    assert found.categories == ("b", "a", "ccc", "", "longer than a word")

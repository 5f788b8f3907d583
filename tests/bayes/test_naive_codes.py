"""Naive Bayes on codes of any type: large integers, whole floats, frames; extreme scales; and missing labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

from eigenlens.bayes.naive.estimator import NaiveBayes
from eigenlens.bayes.naive.families.categorical import CategoryCounts
from eigenlens.errors import DataError, OptionError

RNG = np.random.default_rng(12)
N = 120
ODD = np.arange(N) % 2
LARGE = 2**60 + ODD


@pytest.mark.parametrize("features", ["auto", "categorical"])
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_classes_that_only_large_integers_tell_apart(library, features):
    X = library({"a": LARGE, "b": RNG.normal(size=N)})
    given = features if features == "auto" else {"a": features}
    rule = NaiveBayes(given).fit(X, ODD)
    assert rule.score(X, ODD) == 1.0
    assert rule.features_[0].family == "categorical"
    assert rule.density("a", 1).levels == (2**60, 2**60 + 1)
    drawn, labels = rule.sample(50, random_state=0, return_labels=True)
    assert set(np.asarray(drawn["a"]).tolist()) <= {2**60, 2**60 + 1}
    assert rule.score(drawn, labels) > 0.9


def test_integers_beyond_any_of_numpy_are_categories_and_drawn_as_they_are():
    X = pd.DataFrame({"a": [2**70 + i % 2 for i in range(N)]})
    rule = NaiveBayes().fit(X, ODD)
    assert rule.score(X, ODD) == 1.0
    assert set(rule.sample(20, random_state=0)["a"]) <= {2**70, 2**70 + 1}


def test_unsigned_integers_beyond_the_signed_ones_classify():
    X = (np.uint64(2**63) + LARGE.astype(np.uint64))[:, None]
    assert NaiveBayes().fit(X, ODD).score(X, ODD) == 1.0


@pytest.mark.parametrize("family", ["gaussian", "kde", "mixture"])
def test_large_integers_are_numbers_for_a_family_of_numbers(family):
    large = 2**58 + RNG.integers(0, 2**50, N)
    frame = pd.DataFrame({"a": large, "b": RNG.normal(size=N)})
    features = {"a": family, "b": "gaussian"}
    floats = frame.astype(float)
    expected = NaiveBayes(features).fit(floats, ODD).predict_proba(floats)
    np.testing.assert_array_equal(NaiveBayes(features).fit(frame, ODD).predict_proba(frame), expected)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("features", ["auto", "categorical"])
def test_codes_say_the_same_in_every_type_and_container(features, missing):
    codes = np.column_stack([RNG.integers(0, k, N) for k in (2, 3, 9)])
    floats = codes.astype(float)
    floats[::7, 1] = np.nan if missing else floats[::7, 1]
    frame = pd.DataFrame(floats, columns=list("abc"))
    tables = [floats, floats.astype(np.float32), np.asfortranarray(floats), frame, frame.astype("Int64")]
    tables += [pl.from_pandas(frame), pl.from_pandas(frame.astype("Int64")), pa.Table.from_pandas(frame)]
    tables += [] if missing else [codes, codes.astype(np.uint8), frame.astype(int), frame.astype({"a": "int8"})]
    rules = [NaiveBayes(features).fit(X, ODD) for X in tables]
    for X, rule in zip(tables, rules, strict=True):
        np.testing.assert_allclose(rule.predict_proba(X), rules[0].predict_proba(floats), rtol=1e-6)
        assert [choice.family for choice in rule.features_] == [choice.family for choice in rules[0].features_]


def test_fractions_at_predict_are_unknown_categories_of_codes():
    codes = RNG.integers(0, 3, (N, 2)).astype(float)
    rule = NaiveBayes("categorical", unknown="ignore").fit(codes, ODD)
    query = np.array([[0.5, 1.0]])
    expected = rule.predict_proba(np.array([[np.nan, 1.0]]))
    np.testing.assert_allclose(rule.predict_proba(query), expected, rtol=1e-14)


def test_many_categories_over_pieces_are_those_of_the_whole():
    names = np.array([f"k{i}" for i in RNG.permutation(3000)], dtype=object)
    y = RNG.integers(0, 2, len(names))
    frame = pd.DataFrame({"a": names, "b": RNG.normal(size=len(names))})
    with pytest.warns(UserWarning, match="seems to identify rows"):
        whole = NaiveBayes().fit(frame, y)
    parts = NaiveBayes()
    for rows in np.array_split(RNG.permutation(len(names)), 5):
        parts.partial_fit(frame.iloc[rows], y[rows], classes=[0, 1])
    assert parts.density("a", 0).levels == whole.density("a", 0).levels == tuple(sorted(names))
    few = frame.iloc[[5, 700, 2999]]
    np.testing.assert_allclose(parts.predict_proba(few), whole.predict_proba(frame)[[5, 700, 2999]], rtol=1e-10)


def test_counts_of_mixed_categories_merge_in_one_order():
    y = np.zeros(2, dtype=np.int32)
    halves = [CategoryCounts.of([_coded(categories)], y, None, 1) for categories in (("b", 2), (10, "a"))]
    for both in (halves[0] + halves[1], halves[1] + halves[0]):
        assert both.categories == ((2, 10, "a", "b"),)
        assert both.counts[0].tolist() == [[1.0] * 4]


def _coded(categories):
    from eigenlens.data.categories import EncodedColumn

    return EncodedColumn(np.arange(len(categories), dtype=np.int32), categories)


# ---- scales, labels, asking too soon --------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [2.0**-500, 1e-150, 1e150, 2.0**500])
def test_mixtures_do_not_depend_on_the_unit(scale):
    X = RNG.normal(size=(80, 2)) + 5.0 * RNG.integers(0, 2, (80, 1))
    y = RNG.integers(0, 2, 80)
    expected = NaiveBayes("mixture").fit(X, y).predict_proba(X)
    np.testing.assert_allclose(NaiveBayes("mixture").fit(X * scale, y).predict_proba(X * scale), expected, atol=1e-7)


def test_masked_labels_are_missing():
    y = np.ma.masked_array([0, 1, 0, 1], mask=[False, False, True, False])
    with pytest.raises(DataError, match=r"1 of 4 labels are missing \(first: row 2\)"):
        NaiveBayes().fit(np.ones((4, 1)), y)
    assert NaiveBayes("gaussian").fit(RNG.normal(size=(4, 1)), np.ma.masked_array([0, 1, 0, 1])).classes_.tolist() == [
        0,
        1,
    ]


def test_the_density_of_unknown_values():
    with pytest.raises(NotFittedError):
        NaiveBayes().density("a", 0)
    rule = NaiveBayes().fit(pd.DataFrame({"height": RNG.normal(size=N)}), ODD)
    with pytest.raises(OptionError, match=r"column='hight' is not one of the 1 columns; did you mean 'height'\?"):
        rule.density("hight", 0)

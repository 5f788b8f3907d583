"""Naive Bayes on tables as they come: columns without entries, rare values late, odd objects, labels of any library."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from eigenlens.errors import DataError, DataWarning, OptionError
from eigenlens.estimators.discriminant import LinearDiscriminant, QuadraticDiscriminant
from eigenlens.estimators.naive_bayes import NaiveBayes
from eigenlens.views import class_tables

RNG = np.random.default_rng(6)
N = 200
CLASSES = RNG.integers(0, 2, N)
PEOPLE = pd.DataFrame({"h": RNG.normal(size=N) + CLASSES, "b": RNG.random(N) < 0.3 + 0.4 * CLASSES})


def families(X, y):
    return [tuple(choice[1:]) for choice in NaiveBayes().fit(X, y).features_]


@pytest.mark.parametrize(
    "row",
    [
        pd.DataFrame({"h": [1.0], "b": [None]}),
        pd.DataFrame({"h": [1.0], "b": pd.array([None], dtype="string")}),
        pl.DataFrame({"h": [1.0], "b": [None]}),
        pa.table({"h": [1.0], "b": pa.nulls(1)}),
    ],
    ids=["pandas", "pandas text", "polars", "arrow"],
)
def test_a_column_without_entries_leaves_its_factor_out(row):
    alone = NaiveBayes().fit(PEOPLE[["h"]], CLASSES).predict_proba(pd.DataFrame({"h": [1.0]}))
    np.testing.assert_allclose(NaiveBayes().fit(PEOPLE, CLASSES).predict_proba(row), alone, rtol=1e-12)


def test_text_where_numbers_were_is_still_refused():
    with pytest.raises(DataError, match="'b' holds text"):
        NaiveBayes().fit(PEOPLE, CLASSES).predict(pd.DataFrame({"h": [1.0, 2.0], "b": [None, "yes"]}))


@pytest.mark.parametrize("kind", [object, "string"])
def test_a_column_without_entries_can_be_fitted(kind):
    table = PEOPLE.assign(e=pd.Series([None] * N, dtype=kind))
    rule = NaiveBayes().fit(table, CLASSES)
    alone = NaiveBayes().fit(PEOPLE, CLASSES).predict_proba(PEOPLE)
    np.testing.assert_allclose(rule.predict_proba(table), alone, rtol=1e-12)
    assert len(rule.sample(5, random_state=0)[0]) == 5


def test_a_rare_value_in_the_last_block_counts():
    n, d = 60_000, 40
    table = pd.DataFrame(np.zeros((n, d)), columns=[f"c{j}" for j in range(d)])
    table["kids"] = np.arange(n) % 2
    table.loc[n - 2, "kids"] = 3
    assert families(table, np.arange(n) % 3)[-1] == ("categorical", "integers of 3 different values")


def test_families_do_not_depend_on_the_container():
    table = pl.DataFrame({"few": np.arange(N) % 5, "two": (np.arange(N) % 2).astype(float), "x": RNG.normal(size=N)})
    wanted = [
        ("categorical", "integers of 5 different values"),
        ("bernoulli", "zeros and ones"),
        ("gaussian", "numbers"),
    ]
    batch = table.to_arrow().combine_chunks().to_batches()[0]
    for container in (table, table.to_pandas(), table.to_arrow(), table.lazy(), batch):
        assert families(container, CLASSES) == wanted


def test_integers_are_levels_only_with_rows_for_each():
    ages = pd.DataFrame({"age": np.arange(20, 38)})
    assert families(ages, [0, 1] * 9) == [("gaussian", "integers of 18 different values in 18 rows")]
    many = np.arange(100)[:, None] % 20
    assert families(many, np.arange(100) % 3) == [("categorical", "integers of 20 different values")]
    assert families(np.array([[0], [10]] * 9), [0, 1, 1] * 6) == [("categorical", "integers of 2 different values")]


def test_sparse_columns_are_their_values():
    sparse = pd.DataFrame({"s": pd.arrays.SparseArray([0.0, 1.0, 0.0] * 20)})
    assert families(sparse, [0, 1] * 30) == [("bernoulli", "zeros and ones")]


@pytest.mark.parametrize(
    ("values", "family"),
    [([1, pd.NA, 40], "categorical"), ([True, pd.NA, False], "bernoulli"), ([1.5, pd.NA, 4], "gaussian")],
)
def test_objects_with_missing_entries(values, family):
    objects = pd.DataFrame({"o": pd.Series(values * 20, dtype=object)})
    plain = pd.DataFrame({"o": pd.Series([None if value is pd.NA else value for value in values] * 20, dtype=object)})
    y = np.arange(60) % 2
    rule = NaiveBayes().fit(objects, y)
    assert rule.features_[0].family == family
    np.testing.assert_array_equal(rule.predict_proba(objects), NaiveBayes().fit(plain, y).predict_proba(plain))


@pytest.mark.parametrize(
    "column",
    [
        [datetime.date(2020, 1, 1 + i) for i in range(6)],
        pd.Series([pd.Timestamp("2020")] * 6, dtype=object),
        pd.period_range("2020", periods=6),
        pd.interval_range(0, 6),
        np.arange(6) * 1j,
    ],
    ids=["dates", "times", "periods", "intervals", "complex"],
)
def test_columns_that_are_neither_numbers_nor_levels(column):
    with pytest.raises(DataError, match=r"column 'x' holds .* or leave it out"):
        NaiveBayes().fit(pd.DataFrame({"x": column}), [0, 1] * 3)


def test_dictionaries_of_arrow_declare_their_levels():
    frame = pd.DataFrame({"c": pd.Categorical(["p", "q", "p", "q"], categories=["p", "q", "r"])})
    rule = NaiveBayes().fit(pa.Table.from_pandas(frame, preserve_index=False), [0, 1, 1, 1])
    assert rule.density("c", 0).levels == ("p", "q", "r")


def test_a_frame_without_columns():
    with pytest.raises(DataError, match="0 feature"):
        NaiveBayes().fit(pd.DataFrame(index=range(4)), [0, 1, 0, 1])


LETTERS = pd.DataFrame({"t": list("ababa"), "u": list("ppqqq")})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"smoothing": {"tt": 5}}, "smoothing names the column 'tt'"),
        ({"smoothing": {"t": {"aa": 5}}}, r"smoothing\['t'\] names the level 'aa'"),
        ({"added_variance": {"tt": 5}}, "added_variance names the column 'tt'"),
        ({"features": {"t": "categorical", 0: "bernoulli"}}, "'t' twice"),
    ],
)
def test_keys_that_are_no_columns(options, words):
    with pytest.raises(OptionError, match=words):
        NaiveBayes(**options).fit(LETTERS, [0, 0, 0, 1, 1])


def test_columns_of_options_by_number():
    assert NaiveBayes(smoothing={1: 5}).fit(LETTERS, [0, 0, 0, 1, 1]).density("u", 0).probabilities[0] == 7 / 13


def test_no_floor_and_no_variance():
    X, y = np.array([[1.0], [1.0], [2.0], [3.5]]), [0, 0, 1, 1]
    with pytest.raises(DataError, match="column 0 is constant in class 0, and floor=0"):
        NaiveBayes("gaussian", floor=0.0).fit(X, y)


def test_reasons_of_a_row_that_no_class_allows():
    rule = NaiveBayes(smoothing=0.0).fit(LETTERS, [0, 0, 0, 1, 1])
    found = rule.explain(pd.DataFrame({"t": ["z"], "u": ["p"]}))
    assert found.of[0] == 0
    assert not found.contributions.any()
    assert found.log_odds[0] == pytest.approx(np.log(3 / 2))


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (pa.array(["b", "a", "b", "a"]), ["a", "b"]),
        (np.array([2**63 + 5, 2**63, 2**63 + 5, 2**63], dtype=np.uint64), [2**63, 2**63 + 5]),
        (np.array([7, 3, 7, 3], dtype=object), [3, 7]),
        (np.array([True, False, True, False], dtype=object), [False, True]),
        (np.array([127, -128, 127, -128], dtype=np.int8), [-128, 127]),
    ],
    ids=["arrow", "uint64", "objects", "booleans", "int8"],
)
def test_labels_of_any_kind(labels, classes):
    X = np.array([[1.0], [5.0], [1.5], [5.5]])
    rule = NaiveBayes("gaussian").fit(X, labels)
    assert rule.classes_.tolist() == classes
    assert rule.predict(X).tolist() == [classes[1], classes[0]] * 2


def test_dates_are_no_labels():
    with pytest.raises(DataError, match="y has dtype datetime64"):
        NaiveBayes().fit(np.arange(4.0)[:, None], pd.date_range("2020", periods=2).repeat(2))


def test_a_column_that_tells_the_classes_apart_decides():
    X = np.c_[RNG.normal(size=(N, 2)), CLASSES]
    with pytest.warns(DataWarning, match="singular"):
        assert QuadraticDiscriminant().fit(X, CLASSES).score(X, CLASSES) == 1.0


def test_reasons_of_rows_with_gaps_sum_to_the_log_odds():
    X = RNG.normal(size=(N, 3)) @ RNG.normal(size=(3, 3)) + CLASSES[:, None]
    rule = LinearDiscriminant().fit(X, CLASSES)
    X[::2, 2], X[::3, 0] = np.nan, np.nan
    found = rule.explain(X, of=1, against=0)
    np.testing.assert_allclose(found.log_odds, np.diff(rule.predict_log_proba(X), axis=1)[:, 0], atol=1e-9)
    assert not found.contributions[np.isnan(X)].any()


def test_regions_of_mixed_tables():
    table = PEOPLE.assign(w=RNG.choice(list("abc"), N), x=RNG.normal(size=N))[["w", "h", "x", "b"]]
    rule = NaiveBayes().fit(table, CLASSES)
    found = class_tables.decision(rule, table, CLASSES, grid=5)
    assert found.names == ("h", "x")
    corner = pd.DataFrame({"w": [None], "h": found.x[:1], "x": found.y[:1], "b": [None]})
    np.testing.assert_allclose(found.proba[0, 0], rule.predict_proba(corner)[0], rtol=1e-12)
    flags = class_tables.decision(rule, table, features=["h", "b"], grid=4)
    np.testing.assert_array_equal(flags.proba[0], flags.proba[1])  # both at the level 0
    assert np.any(flags.proba[1] != flags.proba[2])
    with pytest.raises(OptionError, match="'w' holds text"):
        class_tables.decision(rule, table, features=["h", "w"])


def test_calibration_of_labels_that_are_no_classes():
    with pytest.raises(DataError, match="does not know"):
        class_tables.calibration(NaiveBayes().fit(PEOPLE, CLASSES), PEOPLE, CLASSES + 5)

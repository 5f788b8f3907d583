"""Naive Bayes on tables as they come: columns without entries, rare values late, odd objects, labels of any library."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from eigenlens.bayes import tables as class_tables
from eigenlens.bayes.discriminant.estimator import LinearDiscriminant, QuadraticDiscriminant
from eigenlens.bayes.naive.estimator import NaiveBayes
from eigenlens.data.coerce import as_table
from eigenlens.data.files.scan import scan
from eigenlens.data.memory import ArraySource
from eigenlens.errors import DataError, DataWarning, OptionError

try:
    import dask.array as da
except ImportError:
    da = None

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


def test_text_where_numbers_were_is_still_rejected():
    with pytest.raises(DataError, match="'b' holds text"):
        NaiveBayes().fit(PEOPLE, CLASSES).predict(pd.DataFrame({"h": [1.0, 2.0], "b": [None, "yes"]}))


@pytest.mark.parametrize("form", [lambda f: f, pl.from_pandas, lambda f: f.to_numpy(dtype=float)])
def test_numbers_where_text_was_are_rejected_unless_they_are_missing(form):
    table = pd.DataFrame({"zip": ["1", "2"] * 20, "x": np.arange(40.0)})
    rule = NaiveBayes().fit(table.to_numpy(dtype=object), [0, 0, 1, 1] * 10)
    with pytest.raises(DataError, match=r"holds numbers, and was fitted on text; .*astype\(str\)"):
        rule.predict(np.asarray(form(pd.DataFrame({"zip": [np.nan, 1.0], "x": [1.0, 2.0]})), dtype=float))
    named = NaiveBayes().fit(table, [0, 0, 1, 1] * 10)
    gone = form(pd.DataFrame({"zip": [np.nan] * 2, "x": [1.0, 2.0]}))
    if hasattr(gone, "columns"):
        with pytest.raises(DataError, match="'zip' holds numbers"):
            named.predict(form(pd.DataFrame({"zip": [1.0, 2.0], "x": [1.0, 2.0]})))
    without = NaiveBayes().fit(table[["x"]], [0, 0, 1, 1] * 10).predict_proba(pd.DataFrame({"x": [1.0, 2.0]}))
    fitted = named if hasattr(gone, "columns") else rule
    np.testing.assert_allclose(fitted.predict_proba(gone), without, rtol=1e-12)


def test_categories_that_are_numbers_are_met_as_numbers():
    """A column of categories 1 and 2 is the same as plain numbers at predict."""
    table = pd.DataFrame({"v": pd.Categorical([1, 2] * 20)})
    rule = NaiveBayes().fit(table, [0, 0, 0, 1] * 10)
    np.testing.assert_array_equal(
        rule.predict_proba(pd.DataFrame({"v": [1.0, 2.0]})), rule.predict_proba(table.iloc[:2])
    )


@pytest.mark.parametrize("kind", [object, "string"])
def test_a_column_without_entries_can_be_fitted(kind):
    table = PEOPLE.assign(e=pd.Series([None] * N, dtype=kind))
    rule = NaiveBayes().fit(table, CLASSES)
    alone = NaiveBayes().fit(PEOPLE, CLASSES).predict_proba(PEOPLE)
    np.testing.assert_allclose(rule.predict_proba(table), alone, rtol=1e-12)
    with pytest.warns(DataWarning, match="had no observed entry in the fit, and its draws are missing values"):
        assert len(rule.sample(5, random_state=0)) == 5


def test_a_rare_value_in_the_last_block_counts():
    n, d = 60_000, 40
    table = pd.DataFrame(np.zeros((n, d)), columns=[f"c{j}" for j in range(d)])
    table["kids"] = np.arange(n) % 2
    table.loc[n - 2, "kids"] = 3
    assert families(table, np.arange(n) % 3)[-1] == ("categorical", "whole numbers of 3 values")


def containers(table, folder):
    """A table of numbers in everything that can hold one."""
    array, frame = table.to_numpy().astype(float), table.to_pandas()
    table.write_csv(folder / "t.csv")
    table.write_parquet(folder / "t.parquet", row_group_size=30)
    table.write_ipc(folder / "t.arrow")
    np.save(folder / "t.npy", array)
    files = {name: scan(folder / name, block_rows=17) for name in ("t.csv", "t.parquet", "t.arrow", "t.npy")}
    made = {
        "polars": table,
        "pandas": frame,
        "pandas floats": frame.astype(float),
        "arrow": table.to_arrow(),
        "lazy": table.lazy(),
        "batch": table.to_arrow().combine_chunks().to_batches()[0],
        "array": array,
        "float32": array.astype(np.float32),
        "source": ArraySource(array, block_rows=11),
    }
    made |= {"dask": da.from_array(array, chunks=(40, 2))} if da else {}
    return made | files


def test_families_do_not_depend_on_the_container(tmp_path):
    """The same values have the same family for the same reason, as integers or floats, complete or incomplete."""
    table = pl.DataFrame(
        {
            "few": np.arange(N) % 5,
            "floats": (np.arange(N) % 3).astype(float),
            "missing": pl.Series([None if i % 7 == 0 else i % 4 for i in range(N)], dtype=pl.Int64),
            "two": (np.arange(N) % 2).astype(float),
            "late": [0.5 if i == N - 1 else float(i % 2) for i in range(N)],
            "one": np.full(N, 3),
            "x": RNG.normal(size=N),
        }
    )
    wanted = [
        ("categorical", "whole numbers of 5 values"),
        ("categorical", "whole numbers of 3 values"),
        ("categorical", "whole numbers of 4 values"),
        ("bernoulli", "zeros and ones"),
        ("gaussian", "numbers"),
        ("gaussian", "constant column"),
        ("gaussian", "numbers"),
    ]
    probabilities = {}
    for name, container in containers(table, tmp_path).items():
        rule = NaiveBayes().fit(container, CLASSES)
        assert [tuple(choice[1:]) for choice in rule.features_] == wanted, name
        probabilities[name] = np.asarray(rule.predict_log_proba(container))
    for name, found in probabilities.items():
        near = 1e-5 if name == "float32" else 1e-11
        np.testing.assert_allclose(found, probabilities["polars"], rtol=near, atol=near, err_msg=name)


def test_booleans_are_booleans_in_every_container(tmp_path):
    """Even where one of the two is all that occurs: the other has its share of smoothing."""
    table = pl.DataFrame({"b": [True] * N, "x": RNG.normal(size=N)})
    table.write_csv(tmp_path / "t.csv")
    table.write_parquet(tmp_path / "t.parquet")
    for container in (table, table.to_pandas(), scan(tmp_path / "t.csv"), scan(tmp_path / "t.parquet")):
        rule = NaiveBayes().fit(container, CLASSES)
        assert tuple(rule.features_[0][1:]) == ("bernoulli", "booleans")
        assert rule.density("b", 0).probability == pytest.approx(1 - 1 / (np.sum(CLASSES == 0) + 2))
    flags = np.ones((N, 1), dtype=bool)
    np.save(tmp_path / "t.npy", flags)
    for container in (flags, scan(tmp_path / "t.npy"), *([da.from_array(flags, chunks=50)] if da else [])):
        assert families(container, CLASSES) == [("bernoulli", "booleans")]


def test_weights_are_repetitions_for_the_choice_too():
    ages = pd.DataFrame({"age": np.arange(10) % 5, "flag": [0.0, 1.0] * 4 + [0.5, 0.25]})
    y, weight = np.arange(10) % 2, np.r_[np.full(8, 5.0), 0.0, 0.0]
    copies = np.repeat(np.arange(10), weight.astype(int))
    weighted = NaiveBayes().fit(ages, y, sample_weight=weight)
    repeated = NaiveBayes().fit(ages.iloc[copies], y[copies])
    assert weighted.features_ == repeated.features_
    assert [choice.family for choice in weighted.features_] == ["categorical", "bernoulli"]
    np.testing.assert_allclose(weighted.predict_proba(ages[:8]), repeated.predict_proba(ages[:8]), rtol=1e-12)
    alone = NaiveBayes().fit(ages[:8], y[:8])
    assert [choice.family for choice in alone.features_] == ["gaussian", "bernoulli"]
    counts = sparse.csr_matrix([[0.0, 1.0], [1.0, 1.0], [3.0, 0.0]])
    assert NaiveBayes().fit(counts, [0, 1, 1], sample_weight=[1, 1, 0]).features_[0].family == "bernoulli"


def test_integers_are_categories_only_with_rows_for_each():
    ages = pd.DataFrame({"age": np.arange(20, 38)})
    assert families(ages, [0, 1] * 9) == [("gaussian", "whole numbers of 18 values in 18 rows")]
    many = np.arange(100)[:, None] % 20
    assert families(many, np.arange(100) % 3) == [("categorical", "whole numbers of 20 values")]
    assert families(np.array([[0], [10]] * 9), [0, 1, 1] * 6) == [("categorical", "whole numbers of 2 values")]


def test_later_parts_may_not_turn_categories_into_numbers():
    X = np.arange(60.0)[:, None] % 3
    rule = NaiveBayes().partial_fit(X, np.arange(60) % 2)
    assert rule.features_[0].family == "categorical"
    before = rule.predict_proba(X)
    with pytest.raises(DataError, match=r"taken for categories .* holds 0\.5 now; .*features=\{0: 'gaussian'\}"):
        rule.partial_fit(np.array([[0.5], [1.0]]), [0, 1])
    np.testing.assert_array_equal(rule.predict_proba(X), before)
    named = NaiveBayes("categorical").partial_fit(X, np.arange(60) % 2).partial_fit(np.array([[0.5]]), [1])
    assert named.density(0, 1).levels == (0, 0.5, 1, 2)


def test_later_parts_must_have_the_kinds_of_the_first():
    """Text among numbers would be as good as missing, and numbers among text a category that nothing else has."""
    table = PEOPLE.assign(t=RNG.choice(list("ab"), N))
    rule = NaiveBayes().partial_fit(table, CLASSES)
    before = rule.predict_proba(table)
    with pytest.raises(DataError, match="'h' holds text or categories, and was fitted on numbers"):
        rule.partial_fit(table.assign(h="tall"), CLASSES)
    with pytest.raises(DataError, match="'t' holds numbers, and was fitted on text"):
        rule.partial_fit(table.assign(t=1.5), CLASSES)
    with pytest.raises(OptionError, match=r"classes=\[0, 1, 2\] must be those of the first call, \[0, 1\]"):
        rule.partial_fit(table, CLASSES, classes=[0, 1, 2])
    np.testing.assert_array_equal(rule.predict_proba(table), before)
    rule.partial_fit(table.assign(t=None, h=np.nan), CLASSES, classes=[0, 1])
    assert rule.class_count_.sum() == 2 * N


def test_a_fit_that_fails_changes_nothing():
    rule = NaiveBayes().fit(PEOPLE, CLASSES)
    before = rule.predict_proba(PEOPLE)
    for wrong in ({"prior": [0.2, 0.3, 0.5]}, {"smoothing": {"t": {"zz": 1.0}}, "prior": None}):
        with pytest.raises(OptionError):
            rule.set_params(**wrong).fit(PEOPLE.assign(b="a", t="b").drop(columns="b"), np.where(CLASSES, "x", "y"))
        assert rule.classes_.tolist() == [0, 1]
        np.testing.assert_array_equal(rule._model.log_joint(next(as_table(PEOPLE).rows())).argmax(axis=1) == 1,
                                      before[:, 1] > before[:, 0])  # fmt: skip


def test_sparse_columns_are_their_values():
    table = pd.DataFrame({"s": pd.arrays.SparseArray([0.0, 1.0, 0.0] * 20)})
    assert families(table, [0, 1] * 30) == [("bernoulli", "zeros and ones")]


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
def test_columns_that_are_neither_numbers_nor_categories(column):
    with pytest.raises(DataError, match=r"column 'x' holds .* or leave it out"):
        NaiveBayes().fit(pd.DataFrame({"x": column}), [0, 1] * 3)


def test_dictionaries_of_arrow_declare_their_categories():
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
        ({"smoothing": {"tt": 5}}, "smoothing='tt' is not one of the 2 columns"),
        ({"smoothing": {"t": {"aa": 5}}}, r"smoothing\['t'\] names the category 'aa'"),
        ({"added_variance": {"tt": 5}}, "added_variance='tt' is not one of the 2 columns"),
        ({"features": {"t": "categorical", 0: "bernoulli"}}, "names the column 0 twice"),
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


def test_reasons_of_incomplete_rows_sum_to_the_log_odds():
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
    np.testing.assert_array_equal(flags.proba[0], flags.proba[1])  # both at the category 0
    assert np.any(flags.proba[1] != flags.proba[2])
    with pytest.raises(OptionError, match="'w', which holds text"):
        class_tables.decision(rule, table, features=["h", "w"])


def test_calibration_of_labels_that_are_no_classes():
    with pytest.raises(DataError, match="y holds the class 5 and 1 more, not among the 2 known"):
        class_tables.calibration(NaiveBayes().fit(PEOPLE, CLASSES), PEOPLE, CLASSES + 5)


def test_columns_like_names_of_rows_are_warned_of():
    table = PEOPLE.assign(who=[f"person {i}" for i in range(N)])
    with pytest.warns(DataWarning, match="'who' has 200 categories in 200 rows, and seems to identify rows"):
        NaiveBayes().fit(table, CLASSES)
    NaiveBayes({"who": "categorical"}).fit(table, CLASSES)  # whoever says so means it
    NaiveBayes().fit(PEOPLE.assign(town=[f"town {i % 90}" for i in range(N)]), CLASSES)

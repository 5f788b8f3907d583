"""Naive Bayes on values that were not met in fit, and the automatic choice of families on tables that people use."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB

from eigenlens import NaiveBayes, load
from eigenlens.errors import DataError, DataWarning, OptionError

Y = np.array([0] * 12 + [1] * 8)
ONES = np.array([[0.0], [1.0], [1.0]] * 6 + [[0.0], [0.0]])


# ---- values that are not known ------------------------------------------------------------------------------------


@pytest.mark.parametrize("unknown", ["smooth", "ignore"])
@pytest.mark.parametrize("smoothing", [0.5, 1.0, {0: {0: 3.0, 1: 1.0}}])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, lambda rows: pd.DataFrame(rows, columns=["a"])])
def test_coins_meet_other_values_as_categories_do(unknown, smoothing, form):
    coins, categories = (
        NaiveBayes(family, unknown=unknown, smoothing=smoothing).fit(ONES, Y) for family in ("bernoulli", "categorical")
    )
    rows = np.array([[0.0], [1.0], [2.0], [0.5], [-1.0]])
    found = NaiveBayes("bernoulli", unknown=unknown, smoothing=smoothing).fit(form(ONES), Y)
    np.testing.assert_allclose(
        found.predict_log_proba(form(rows)), categories.predict_log_proba(rows), rtol=1e-12, atol=1e-15
    )
    np.testing.assert_allclose(coins.explain(rows).log_odds, categories.explain(rows).log_odds, rtol=1e-12, atol=1e-15)


def test_the_probability_of_another_value_by_hand():
    model = NaiveBayes("bernoulli", prior="uniform").fit(ONES, Y)
    p = np.array([1 / (12 + 2 + 1), 1 / (8 + 2 + 1)])
    np.testing.assert_allclose(model.predict_proba([[2.0]])[0], p / p.sum(), rtol=1e-12)


def test_other_values_among_missing_values_and_impossible_ones():
    X = np.column_stack([ONES, Y])  # the second is 0 in one class and 1 in the other: with smoothing 0, for certain
    model = NaiveBayes("bernoulli", smoothing=0.0, unknown="ignore").fit(X, Y)
    np.testing.assert_allclose(model.predict_proba([[7.0, np.nan]])[0], [0.6, 0.4], rtol=1e-12)
    assert model.predict_proba([[7.0, 1.0]])[0].tolist() == [0.0, 1.0]
    with pytest.warns(DataWarning, match="density 0 in every class"):
        lost = NaiveBayes("bernoulli", smoothing=0.0).fit(X, Y).predict_proba([[7.0, 1.0]])
    np.testing.assert_allclose(lost[0], [0.6, 0.4], rtol=1e-12)


def test_other_values_are_rejected_where_asked(tmp_path):
    model = NaiveBayes("bernoulli", unknown="error").fit(pd.DataFrame(ONES, columns=["wet"]), Y)
    model.save(tmp_path / "model")
    for rule in (model, load(tmp_path / "model")):
        for ask in (rule.predict, rule.explain):
            with pytest.raises(DataError, match=r"'wet' holds 2.*unknown='error'"):
                ask(pd.DataFrame({"wet": [1.0, 2.0]}))


@pytest.mark.parametrize("family", ["bernoulli", "categorical", "gaussian", "kde", "multinomial"])
def test_infinity_is_rejected_by_every_family(family):
    model = NaiveBayes(family).fit(ONES, Y)
    for value in (np.inf, -np.inf):
        with pytest.raises(DataError, match="inf"):
            model.predict(np.array([[1.0], [value]]))
    rows = np.r_[ONES[:-1], [[np.inf]]]
    if family == "categorical":  # where it was met, it is a category like others
        assert NaiveBayes(family).fit(rows, Y).predict_proba(rows).min() > 0.0
        return
    with pytest.raises(DataError, match=r"infinity|other value"):
        NaiveBayes(family).fit(rows, Y)


def test_numbers_so_far_out_that_only_the_prior_is_left():
    model = NaiveBayes("gaussian").fit(np.linspace(0.0, 1.0, 20)[:, None], Y)
    with pytest.warns(DataWarning, match="density 0 in every class"):
        np.testing.assert_allclose(model.predict_proba([[1e300]])[0], [0.6, 0.4], rtol=1e-12)
    np.testing.assert_allclose(model.explain([[1e300]]).log_odds, np.log(1.5), rtol=1e-12)


def test_squares_that_overflow_are_rejected_by_mixtures():
    X = np.random.default_rng(0).normal(size=(20, 1))
    with pytest.raises(DataError, match="overflows"):
        NaiveBayes("mixture").fit(X * 1e300, Y)
    near = NaiveBayes("mixture").fit(X * 1e140, Y).predict_proba(X * 1e140)
    np.testing.assert_allclose(near, NaiveBayes("mixture").fit(X, Y).predict_proba(X), rtol=1e-6)


def test_missing_values_add_nothing_whatever_a_density_makes_of_them():
    x = np.r_[np.random.default_rng(1).normal(-4.0, 1.0, 40), np.random.default_rng(2).normal(4.0, 1.0, 40)]
    model = NaiveBayes("mixture").fit(x[:, None], np.arange(80) % 2)
    assert model.explain(np.array([[np.nan]])).contributions.tolist() == [[0.0]]


# ---- the automatic choice -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_automatic_families_in_cross_validation(data):
    X, y = data(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # that a column is constant within a class
        found = cross_val_score(NaiveBayes(), X, y, cv=folds, error_score="raise")
    assert found.mean() > cross_val_score(GaussianNB(), X, y, cv=folds).mean() - 0.015


def test_a_table_like_a_list_of_passengers():
    rng = np.random.default_rng(3)
    n = 400
    survived = rng.random(n) < 0.4
    table = pd.DataFrame(
        {
            "class": rng.choice([1, 2, 3], n),
            "sex": np.where(rng.random(n) < np.where(survived, 0.7, 0.2), "female", "male"),
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.integers(1, 80, n)),
            "siblings": rng.poisson(0.5, n),
            "fare": rng.gamma(2.0, 15.0, n).round(2),
            "port": rng.choice(["C", "Q", "S", None], n),
            "alone": rng.random(n) < 0.5,
        }
    )
    model = NaiveBayes()
    scores = cross_val_score(model, table, survived, cv=5, error_score="raise")
    assert scores.mean() > 0.7  # the sex alone says three quarters
    chosen = {choice.column: choice.family for choice in model.fit(table, survived).features_}
    assert chosen == {
        "class": "categorical", "sex": "categorical", "age": "gaussian", "siblings": "categorical",
        "fare": "gaussian", "port": "categorical", "alone": "bernoulli",
    }  # fmt: skip


def test_draws_of_integers_are_integers():
    rng = np.random.default_rng(4)
    table = pd.DataFrame(
        {
            "zero": rng.integers(0, 2, 60),
            "few": rng.integers(0, 4, 60),
            "a": rng.poisson(3, 60),
            "b": rng.poisson(5, 60),
        }
    )
    model = NaiveBayes({("a", "b"): "multinomial"}).fit(table, np.arange(60) % 2)
    assert {str(kind) for kind in model.sample(8, random_state=0).dtypes} == {"int64"}


# ---- kinds that are not those of the fit --------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["auto", "categorical"])
def test_text_where_all_categories_are_numbers(family):
    """A file that holds 3+ once reads as text: every category would be unknown, and nobody would say so."""
    table = pd.DataFrame({"rooms": [1, 2, 3] * 10})
    model = NaiveBayes(family).fit(table, np.arange(30) % 2)
    with pytest.raises(DataError, match="'rooms' holds text or categories, and was fitted on numbers"):
        model.predict(pd.DataFrame({"rooms": ["1", "3+"]}))
    expected = model.predict_proba(table)
    for same in (table.astype("category"), table.astype(object)):
        np.testing.assert_array_equal(model.predict_proba(same), expected)
    some = pd.DataFrame({"rooms": [1, "3+"]}, dtype=object)
    np.testing.assert_array_equal(model.predict_proba(some)[0], expected[0])


@pytest.mark.parametrize("smoothing", [0.0, 1.0])
@pytest.mark.parametrize("dtype", [object, float])
def test_a_column_that_is_empty_in_fit_takes_anything_and_says_nothing(smoothing, dtype):
    """As in a fold of cross-validation that has none of the few entries."""
    known = pd.DataFrame({"a": ONES[:, 0], "b": pd.Series([None] * 20, dtype=dtype)})
    model = NaiveBayes(smoothing=smoothing).fit(known, Y)
    assert model.features_[1] == ("b", "categorical", "no observed entries")
    expected = NaiveBayes(smoothing=smoothing).fit(known[["a"]], Y).predict_proba(known[["a"]][:2])
    for came in (["x", "y"], [1.5, 2.5], [1, 0], [True, None], [None, None]):
        rows = pd.DataFrame({"a": ONES[:2, 0], "b": came})
        np.testing.assert_allclose(model.predict_proba(rows), expected, rtol=1e-12)
    with pytest.warns(DataWarning, match="column 1 of X had no observed entry"):
        assert model.sample(4, random_state=0)["b"].isna().all()


def test_text_that_few_rows_have_in_cross_validation():
    table = pd.DataFrame({"a": np.tile([0.5, 1.25], 30), "note": [None] * 60}, dtype=object).astype({"a": float})
    table.loc[[3, 4], "note"] = ["see below", "late"]
    scores = cross_val_score(NaiveBayes(), table, np.arange(60) % 4 // 2, cv=5, error_score="raise")
    assert scores.shape == (5,)


def test_categories_where_numbers_were_are_rejected():
    model = NaiveBayes("gaussian").fit(pd.DataFrame({"rooms": np.arange(30) % 7}), np.arange(30) % 2)
    for odd in (pd.DataFrame({"rooms": pd.Categorical([1, 2])}), pd.DataFrame({"rooms": [1.5, "a"]}, dtype=object)):
        with pytest.raises(DataError, match="convert it to numbers"):
            model.predict(odd)


def test_lazy_frames_of_objects_are_rejected():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"a": polars.Series(["x", "y"] * 4, dtype=polars.Object)})
    assert NaiveBayes().fit(table, [0, 1] * 4).features_[0].family == "categorical"
    with pytest.raises(DataError, match="'a' of a LazyFrame holds Python objects"):
        NaiveBayes().fit(table.lazy(), [0, 1] * 4)


def test_long_integers_of_polars():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"a": [0, 1, 1, 0, 3, 3] * 4})
    wide = table.cast(polars.Int128)
    y = [0, 1, 1] * 8
    model = NaiveBayes().fit(table, y)
    for form in (wide, wide.lazy()):
        np.testing.assert_array_equal(NaiveBayes().fit(form, y).predict_proba(form), model.predict_proba(table))


def test_missing_values_in_sparse_rows_do_not_change_families():
    rows = np.where(np.arange(40).reshape(20, 2) % 7 == 0, np.nan, np.c_[ONES, 1.0 - ONES])
    found = NaiveBayes().fit(sparse.csr_matrix(rows), Y)
    assert [choice.family for choice in found.features_] == ["bernoulli"] * 2
    np.testing.assert_allclose(found.predict_proba(rows), NaiveBayes().fit(rows, Y).predict_proba(rows), rtol=1e-12)


@pytest.mark.parametrize(
    ("table", "words"),
    [({"a": {"yes": 3.0}}, r"category 'yes'.*\(0, 1\)"), ({"b": {"yes": 3.0}}, "category 'yes'.*give a number")],
)
def test_smoothing_of_unknown_categories(table, words):
    rows = pd.DataFrame({"a": ONES[:, 0], "b": np.linspace(0.0, 1.0, 20)})
    with pytest.raises(OptionError, match=words):
        NaiveBayes(smoothing=table).fit(rows, Y)


def test_draws_of_many_categories():
    """As many as would fill the memory, were each draw compared with each category."""
    table = pd.DataFrame({"a": np.arange(30_000) // 2})
    model = NaiveBayes("categorical", smoothing=0.0).fit(table, np.arange(30_000) % 2)
    rows = model.sample(20_000, random_state=0)
    assert set(rows["a"]) <= set(table["a"])
    assert abs(rows["a"].mean() - 7500.0) < 5.0 * 15_000 / np.sqrt(12 * 20_000)

"""NaiveBayes: results of scikit-learn and e1071 on their own examples, any table and source, and what is rejected."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.utils.estimator_checks import check_estimator

from eigenlens import model_file as io
from eigenlens.bayes.labels import encode_labels
from eigenlens.bayes.naive.estimator import NaiveBayes
from eigenlens.bayes.rule import log_posterior
from eigenlens.data.files.scan import scan
from eigenlens.densities import GaussianFamily
from eigenlens.errors import DataError, DataWarning, OptionError
from references import house_votes

IRIS, SPECIES = load_iris(return_X_y=True)
DIGITS, NUMBERS = load_digits(return_X_y=True)


def people(n=400, seed=0, missing=0.0):
    """A mixed table, and a class for each row."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["adult", "child", "senior"], n, p=[0.5, 0.3, 0.2])
    at = {"adult": 0, "child": 1, "senior": 2}
    code = np.array([at[label] for label in y])
    frame = pd.DataFrame(
        {
            "height": rng.normal(np.array([172, 120, 168])[code], 8.0),
            "works": rng.random(n) < np.array([0.8, 0.01, 0.1])[code],
            "drink": np.array(["coffee", "juice", "tea"])[(code + (rng.random(n) < 0.3) * rng.integers(0, 3, n)) % 3],
            "visits": rng.poisson(np.array([2, 4, 7])[code]),
        }
    )
    for column in ("height", "drink"):
        frame.loc[rng.random(n) < missing, column] = None
    return frame, y


def restored(path):
    kind, arrays, header = io.read(path)
    assert kind == "NaiveBayes"
    return NaiveBayes._restored(arrays, header)


# ---- on the ground of others --------------------------------------------------------------------------------------


def test_gaussian_as_scikit_learn_has_it():
    theirs = GaussianNB().fit(IRIS, SPECIES)
    ours = NaiveBayes(added_variance=1e-9 * IRIS.var(axis=0).max(), floor=0.0).fit(IRIS, SPECIES)
    np.testing.assert_allclose(ours.predict_joint_log_proba(IRIS), theirs.predict_joint_log_proba(IRIS), rtol=1e-8)
    np.testing.assert_allclose(ours.predict_proba(IRIS), theirs.predict_proba(IRIS), atol=1e-10)
    weight = np.random.default_rng(0).random(len(IRIS))
    theirs, ours = (c.fit(IRIS, SPECIES, sample_weight=weight) for c in (GaussianNB(var_smoothing=0.0), NaiveBayes()))
    np.testing.assert_allclose(ours.predict_log_proba(IRIS), theirs.predict_log_proba(IRIS), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ours.class_count_, theirs.class_count_)


@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_categorical_as_scikit_learn_has_it(alpha):
    X = DIGITS.astype(int) // 4  # every category up to the greatest occurs
    theirs = CategoricalNB(alpha=alpha).fit(X, NUMBERS)
    met = [j for j in range(64) if len(set(X[:, j])) == X[:, j].max() + 1]
    theirs = CategoricalNB(alpha=alpha).fit(X[:, met], NUMBERS)
    ours = NaiveBayes("categorical", smoothing=alpha).fit(X[:, met], NUMBERS)
    np.testing.assert_allclose(
        ours.predict_joint_log_proba(X[:, met]), theirs.predict_joint_log_proba(X[:, met]), rtol=1e-8
    )
    assert len(met) > 55


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, pd.DataFrame, lambda X: X.astype(np.float32)])
def test_bernoulli_and_multinomial_as_scikit_learn_has_them(form):
    binary = (DIGITS > 8).astype(float)
    ours = NaiveBayes("bernoulli", smoothing=0.5).fit(form(binary), NUMBERS)
    expected = BernoulliNB(alpha=0.5).fit(binary, NUMBERS).predict_joint_log_proba(binary)
    loose = 1e-5 if form(binary).__class__ is np.ndarray and form(binary).dtype == np.float32 else 1e-8
    np.testing.assert_allclose(ours.predict_joint_log_proba(form(binary)), expected, rtol=loose)
    ours = NaiveBayes("multinomial", smoothing=0.5).fit(form(DIGITS), NUMBERS)
    expected = MultinomialNB(alpha=0.5).fit(DIGITS, NUMBERS).predict_joint_log_proba(DIGITS)
    np.testing.assert_allclose(ours.predict_joint_log_proba(form(DIGITS)), expected, rtol=loose)


@pytest.mark.parametrize(
    ("smoothing", "expected"), [(0, house_votes.DEMOCRAT_LAPLACE_0), (3, house_votes.DEMOCRAT_LAPLACE_3)]
)
@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_votes_with_missing_values_as_e1071_has_them(form, smoothing, expected, accuracy):
    X = form(house_votes.VOTES) if form is not pl.DataFrame else pl.DataFrame(house_votes.VOTES.tolist(), orient="row")
    rule = NaiveBayes(smoothing=smoothing).fit(X, house_votes.PARTIES)
    assert int((rule.predict(X) == house_votes.PARTIES).sum()) == house_votes.CORRECT
    what, found = f"naive Bayes of HouseVotes84, smoothing {smoothing}", rule.predict_proba(X)[:, 0]
    ninth = found[house_votes.EVERY_NINTH]
    accuracy.close(f"{what}: probabilities", ninth, expected, system="R 4.2.2, e1071 naiveBayes", rtol=1e-10)


@pytest.mark.few(1)
@pytest.mark.filterwarnings("ignore::eigenlens.errors.DataWarning")
@pytest.mark.parametrize("features", ["auto", "shared-gaussian", "categorical", "multinomial", "kde", "mixture"])
def test_scikit_learn_checks_pass(features):
    """Only the family "bernoulli" is absent: it rejects the numbers of these checks."""
    found = check_estimator(NaiveBayes(features, max_components=1), on_fail=None, on_skip=None)
    assert [check["check_name"] for check in found if check["status"] == "failed"] == []
    assert len(found) > 40


# ---- the age example ----------------------------------------------------------------------------------------------


def test_independent_given_the_class():
    """Height and vocabulary both grow with age: correlated over all rows, not within an age, as the model says."""
    rng = np.random.default_rng(0)
    age = rng.choice(["child", "adult"], 20_000)
    grown = (age == "adult").astype(float)
    X = np.column_stack([110 + 60 * grown + rng.normal(0, 7, 20_000), 3 + 20 * grown + rng.normal(0, 3, 20_000)])
    rule = NaiveBayes().fit(X, age)
    drawn, labels = rule.sample(20_000, random_state=1, return_labels=True)
    assert np.corrcoef(drawn.T)[0, 1] > 0.9
    assert np.corrcoef(X.T)[0, 1] == pytest.approx(np.corrcoef(drawn.T)[0, 1], abs=0.01)
    for label in ("child", "adult"):
        assert abs(np.corrcoef(drawn[labels == label].T)[0, 1]) < 0.03
        np.testing.assert_allclose(drawn[labels == label].mean(axis=0), X[age == label].mean(axis=0), rtol=0.02)
    # Given the class one column says nothing about the other: with it missing, the other's factor is all there is.
    alone = NaiveBayes().fit(X[:, :1], age)
    half = np.column_stack([X[:100, 0], np.full(100, np.nan)])
    np.testing.assert_allclose(rule.predict_proba(half), alone.predict_proba(X[:100, :1]), rtol=1e-12)


def test_probabilities_are_counted_fractions():
    X = np.array([["y"], ["y"], ["n"], ["y"], ["n"], ["n"], ["n"]], dtype=object)
    y = ["a", "a", "a", "b", "b", "b", "b"]
    rule = NaiveBayes(smoothing=0).fit(X, y)
    assert rule.class_prior_.tolist() == [3 / 7, 4 / 7]
    assert rule.density(0, "a").probabilities.tolist() == [1 / 3, 2 / 3]
    assert rule.density(0, "b").probabilities.tolist() == [3 / 4, 1 / 4]
    np.testing.assert_allclose(rule.predict_proba(X[:1])[0], [2 / 3, 1 / 3], rtol=1e-15)


# ---- tables -------------------------------------------------------------------------------------------------------


def test_a_mixed_table_by_hand():
    frame, y = people(missing=0.1)
    rule = NaiveBayes({"visits": "gaussian"}).fit(frame, y)
    assert [choice.family for choice in rule.features_] == ["gaussian", "bernoulli", "categorical", "gaussian"]
    assert "text" in str(rule.features_)
    row = frame.iloc[0]
    logs = []
    for label in rule.classes_:
        own = frame[y == label]
        total = np.log(np.mean(y == label))
        if not np.isnan(row["height"]):
            total += stats.norm.logpdf(row["height"], own["height"].mean(), own["height"].std(ddof=0))
        total += stats.norm.logpdf(row["visits"], own["visits"].mean(), own["visits"].std(ddof=0))
        ones = (own["works"].sum() + 1) / (len(own) + 2)
        total += np.log(ones if row["works"] else 1 - ones)
        if row["drink"] is not None and row["drink"] == row["drink"]:
            drinks = own["drink"].dropna()
            total += np.log(((drinks == row["drink"]).sum() + 1) / (len(drinks) + 3))
        logs.append(total)
    np.testing.assert_allclose(rule.predict_joint_log_proba(frame.iloc[:1])[0], logs, rtol=1e-10)


@pytest.mark.parametrize("form", [pl.DataFrame, pl.LazyFrame, pa.Table.from_pandas, lambda f: f.to_numpy(dtype=object)])
def test_every_kind_of_table_gives_the_same(form):
    frame, y = people(missing=0.1)
    expected = NaiveBayes().fit(frame, y).predict_log_proba(frame)
    made = form(frame) if form not in (pl.DataFrame, pl.LazyFrame) else pl.from_pandas(frame)
    made = made.lazy() if form is pl.LazyFrame else made
    found = NaiveBayes().fit(made, y).predict_log_proba(made)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_order_and_names_of_columns():
    frame, y = people()
    rule = NaiveBayes().fit(frame, y)
    turned = frame[frame.columns[::-1]]
    again = NaiveBayes().fit(turned, y)
    np.testing.assert_allclose(again.predict_proba(turned), rule.predict_proba(frame), rtol=1e-12)
    with pytest.raises(ValueError, match="same order"):
        rule.predict(turned)
    with pytest.raises(ValueError, match="missing"):
        rule.predict(frame[["height", "works"]])
    with pytest.raises(DataError, match="'height' holds text"):
        rule.predict(frame.assign(height="tall"))


def test_unknown_categories_at_predict():
    frame, y = people()
    odd = frame.iloc[:3].assign(drink="milk")
    without = frame.iloc[:3].assign(drink=None)
    rules = {unknown: NaiveBayes(unknown=unknown).fit(frame, y) for unknown in ("smooth", "ignore", "error")}
    np.testing.assert_allclose(rules["ignore"].predict_proba(odd), rules["ignore"].predict_proba(without), rtol=1e-12)
    counts = pd.Series(y).value_counts()
    expected = rules["smooth"].predict_joint_log_proba(without) - np.log(
        [counts[c] + 4 for c in rules["smooth"].classes_]
    )
    np.testing.assert_allclose(rules["smooth"].predict_joint_log_proba(odd), expected, rtol=1e-12)
    with pytest.raises(DataError, match="'drink' holds 'milk'"):
        rules["error"].predict(odd)


def test_categories_that_never_occur_are_smoothed():
    categories = pd.CategoricalDtype(["a", "b", "c"])
    X = pd.DataFrame({"v": pd.Series(["a", "b", "a", "b"], dtype=categories)})
    rule = NaiveBayes().fit(X, [0, 0, 1, 1])
    assert rule.density("v", 0).probabilities.tolist() == [2 / 5, 2 / 5, 1 / 5]


# ---- streams and parts --------------------------------------------------------------------------------------------

ONE_PASS = {
    "gaussian": IRIS,
    "shared-gaussian": IRIS,
    "categorical": np.rint(IRIS).astype(int),
    "bernoulli": (IRIS.mean(axis=0) < IRIS).astype(float),
    "multinomial": np.rint(IRIS),
    "kde": IRIS,
}


@pytest.mark.parametrize("family", ONE_PASS)
def test_parts_make_the_whole(family):
    X = ONE_PASS[family].copy().astype(float)
    X[::7, 1] = np.nan
    weight = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    whole = NaiveBayes(family).fit(X, SPECIES, sample_weight=weight)
    parts = NaiveBayes(family)
    for start in range(0, len(X), 40):
        part = slice(start, start + 40)
        parts.partial_fit(X[part], SPECIES[part], classes=[0, 1, 2], sample_weight=weight[part])
    np.testing.assert_allclose(parts.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-9, atol=1e-9)


def test_files_and_labels_in_them(tmp_path):
    frame = pl.DataFrame(IRIS, schema=["a", "b", "c", "d"]).with_columns(kind=pl.Series(SPECIES).cast(pl.String))
    for suffix, write in ((".csv", frame.write_csv), (".parquet", frame.write_parquet)):
        write(tmp_path / f"iris{suffix}")
        source = scan(tmp_path / f"iris{suffix}", label="kind", block_rows=37)
        rule = NaiveBayes().fit(source)
        assert rule.classes_.tolist() == ["0", "1", "2"] or rule.classes_.tolist() == [0, 1, 2]
        expected = NaiveBayes().fit(IRIS, SPECIES).predict_log_proba(IRIS)
        np.testing.assert_allclose(rule.predict_log_proba(source), expected, rtol=1e-10, atol=1e-10)
        with pytest.raises(DataError, match="keeps all rows"):
            NaiveBayes({"a": "kde"}).fit(source)


def test_dask_arrays():
    da = pytest.importorskip("dask.array")
    X, y = da.from_array(IRIS, chunks=(40, 2)), da.from_array(SPECIES, chunks=40)
    weight = np.random.default_rng(0).random(len(IRIS))
    expected = NaiveBayes().fit(IRIS, SPECIES, sample_weight=weight)
    found = NaiveBayes().fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(found.predict_log_proba(X), expected.predict_log_proba(IRIS), rtol=1e-9, atol=1e-9)


def test_a_tensor_gives_a_tensor():
    torch = pytest.importorskip("torch")
    X = torch.tensor(IRIS, dtype=torch.float32)
    proba = NaiveBayes().fit(X, torch.tensor(SPECIES)).predict_proba(X)
    assert isinstance(proba, torch.Tensor)
    assert proba.dtype == torch.float32
    np.testing.assert_allclose(proba.numpy(), NaiveBayes().fit(IRIS, SPECIES).predict_proba(IRIS), atol=1e-5)


# ---- the rule -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_shared_variances_are_linear(classes):
    X, y = IRIS[classes > SPECIES], SPECIES[classes > SPECIES]
    rule = NaiveBayes("shared-gaussian").fit(X, y)
    lines = X @ rule.coef_.T + rule.intercept_
    np.testing.assert_allclose(np.exp(log_posterior(lines)), rule.predict_proba(X), atol=1e-12, rtol=0)
    logistic = rule.to_logistic()
    np.testing.assert_allclose(logistic.predict_proba(X), rule.predict_proba(X), atol=1e-12, rtol=0)
    assert np.array_equal(logistic.predict(X), rule.predict(X))


def test_counts_and_ones_are_linear_and_variances_of_their_own_are_not():
    binary = np.column_stack([IRIS.mean(axis=0) < IRIS]).astype(float)
    X = np.column_stack([binary, np.rint(IRIS), IRIS])
    features = dict(enumerate(["bernoulli"] * 4 + ["multinomial"] * 4 + ["shared-gaussian"] * 4))
    rule = NaiveBayes(features).fit(X, SPECIES)
    lines = X @ rule.coef_.T + rule.intercept_
    np.testing.assert_allclose(np.exp(log_posterior(lines)), rule.predict_proba(X), atol=1e-11)
    own = NaiveBayes().fit(IRIS, SPECIES)
    assert not hasattr(own, "coef_")
    with pytest.raises(OptionError, match="shared-gaussian"):
        own.to_logistic()


def test_ten_thousand_features_do_not_underflow():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(0, 1, (60, 10_000)) + 0.3 * y[:, None]
    rule = NaiveBayes().fit(X, y)
    assert np.all(rule.predict_joint_log_proba(X) < -10_000)
    log_proba = rule.predict_log_proba(X)
    assert np.all(np.isfinite(log_proba))
    np.testing.assert_allclose(np.exp(log_proba).sum(axis=1), 1.0, rtol=1e-12)
    assert rule.score(X, y) == 1.0
    words = sparse.random(60, 10_000, 0.05, random_state=0, data_rvs=lambda n: np.ones(n), format="csr")
    assert np.all(np.isfinite(NaiveBayes().fit(words, y).predict_log_proba(words)))


@pytest.mark.parametrize("prior", ["uniform", [0.2, 0.3, 0.5], {0: 0.2, 1: 0.3, 2: 0.5}])
def test_priors(prior):
    rule = NaiveBayes(prior=prior).fit(IRIS[:120], SPECIES[:120])
    p = np.full(3, 1 / 3) if prior == "uniform" else np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(rule.class_prior_, p)
    fitted = NaiveBayes().fit(IRIS[:120], SPECIES[:120])
    np.testing.assert_allclose(fitted.class_prior_, [50 / 120, 50 / 120, 20 / 120])
    difference = rule.predict_joint_log_proba(IRIS) - fitted.predict_joint_log_proba(IRIS)
    np.testing.assert_allclose(difference, np.tile(np.log(p / fitted.class_prior_), (150, 1)), rtol=1e-9)


def test_units_and_copies_change_nothing():
    units = np.array([1e-5, 1.0, 1e7, 42.0])
    expected = NaiveBayes().fit(IRIS, SPECIES).predict_proba(IRIS)
    scaled = NaiveBayes().fit(IRIS * units, SPECIES).predict_proba(IRIS * units)
    np.testing.assert_allclose(scaled, expected, atol=1e-10)
    twice = NaiveBayes().fit(np.r_[IRIS, IRIS], np.r_[SPECIES, SPECIES]).predict_proba(IRIS)
    np.testing.assert_allclose(twice, expected, atol=1e-10)
    order = [2, 0, 3, 1]
    np.testing.assert_allclose(
        NaiveBayes().fit(IRIS[:, order], SPECIES).predict_proba(IRIS[:, order]), expected, atol=1e-12
    )


def test_rows_possible_in_no_class_have_the_prior():
    X = np.array([["a", "x"], ["b", "y"]], dtype=object)
    rule = NaiveBayes(smoothing=0, prior=[0.3, 0.7]).fit(X, [0, 1])
    with pytest.warns(DataWarning, match="1 rows have density 0"):
        assert rule.predict_proba(np.array([["a", "y"]], dtype=object))[0] == pytest.approx([0.3, 0.7])


def test_far_tails_of_kernel_densities_decide_by_distance():
    X = np.r_[np.random.default_rng(0).normal(0, 1, (200, 1)), np.random.default_rng(1).normal(5, 1, (200, 1))]
    rule = NaiveBayes("kde", bandwidth=0.3).fit(X, np.repeat([0, 1], 200))
    assert rule.predict([[-500.0], [500.0]]).tolist() == [0, 1]
    assert np.all(np.isfinite(rule.predict_joint_log_proba([[1e6]])))


def test_a_family_of_ones_own():
    rule = NaiveBayes({j: GaussianFamily() for j in range(4)}).fit(IRIS, SPECIES)
    expected = NaiveBayes("gaussian").fit(IRIS, SPECIES)
    np.testing.assert_allclose(rule.predict_log_proba(IRIS), expected.predict_log_proba(IRIS), rtol=1e-6, atol=1e-6)
    with pytest.raises(OptionError, match="family of your own"):
        rule.save("nowhere.safetensors")


# ---- explanations -------------------------------------------------------------------------------------------------


def test_explanations_add_up_to_the_log_odds():
    frame, y = people(missing=0.2)
    rule = NaiveBayes().fit(frame, y)
    found = rule.explain(frame[:50])
    proba = rule.predict_log_proba(frame[:50])
    first, second = np.sort(proba, axis=1)[:, ::-1][:, :2].T
    np.testing.assert_allclose(found.log_odds, first - second, rtol=1e-9, atol=1e-9)
    assert np.array_equal(found.of, rule.predict(frame[:50]))
    assert np.all(found.contributions[frame["height"][:50].isna().to_numpy(), 0] == 0.0)
    sizes = [abs(value) for _, value in found.row(3)]
    assert sizes == sorted(sizes, reverse=True)
    against = rule.explain(frame[:50], of="child", against="senior")
    k = rule.classes_.tolist()
    np.testing.assert_allclose(
        against.log_odds, proba[:, k.index("child")] - proba[:, k.index("senior")], rtol=1e-9, atol=1e-9
    )
    assert "child against senior" in str(against)
    with pytest.raises(OptionError, match="of holds the class 'baby', not among the 3 known"):
        rule.explain(frame[:1], of="baby")


# ---- draws and files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [lambda f: f, pl.from_pandas, lambda f: f.to_numpy(dtype=object)])
def test_draws_look_like_the_table(form):
    frame, y = people()
    rule = NaiveBayes(random_state=0).fit(form(frame), y)
    X, labels = rule.sample(3000, return_labels=True)
    assert type(X) is type(form(frame))
    again = NaiveBayes().fit(X, labels)
    assert [choice.family for choice in again.features_] == [choice.family for choice in rule.features_]
    assert again.model_.density(1, 0).mean[0] == pytest.approx(120, abs=2)
    np.testing.assert_allclose(again.class_prior_, rule.class_prior_, atol=0.05)
    repeat = rule.sample(3000)
    assert np.array_equal(np.asarray(repeat, dtype=object), np.asarray(X, dtype=object))


@pytest.mark.parametrize(
    "features", ["auto", {"height": "shared-gaussian", "visits": "kde"}, {"height": "mixture"}, {"visits": "gaussian"}]
)
def test_saved_and_read_again(tmp_path, features):
    frame, y = people(missing=0.1)
    rule = NaiveBayes(features, smoothing={"drink": {"tea": 2.0, "juice": 1.0, "coffee": 1.0}}, prior="uniform").fit(
        frame, y
    )
    rule.save(tmp_path / "rule.safetensors")
    back = restored(tmp_path / "rule.safetensors")
    assert back.get_params() == rule.get_params()
    assert np.array_equal(back.predict_log_proba(frame), rule.predict_log_proba(frame))
    assert str(back.features_) == str(rule.features_)
    assert np.array_equal(back.predict(frame), rule.predict(frame))
    more, labels = people(seed=1)
    np.testing.assert_allclose(
        back.partial_fit(more, labels).predict_log_proba(frame),
        clone(rule).fit(pd.concat([frame, more]), np.r_[y, labels]).predict_log_proba(frame),
        rtol=1e-9,
        atol=1e-9,
    )


def test_labels_of_every_kind_are_saved(tmp_path):
    for labels in (
        SPECIES,
        SPECIES > 0,
        SPECIES.astype(str),
        SPECIES.astype(float),
        SPECIES.astype(str).astype(object),
    ):
        rule = NaiveBayes({(0, 1): "multinomial"}).fit(IRIS, labels)
        rule.save(tmp_path / "rule.safetensors")
        back = restored(tmp_path / "rule.safetensors")
        assert back.predict(IRIS).tolist() == rule.predict(IRIS).tolist()
        assert back.predict(IRIS).dtype == rule.predict(IRIS).dtype


# ---- what is rejected ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (None, "y is None"),
        ([1] * 150, "1 class"),
        ([1.0, np.nan] * 75, "75 of 150 labels are missing"),
        ([None, "a", "b"] * 50, "50 of 150 labels are missing"),
        (SPECIES[:-1], "149 labels.*150 rows"),
        (np.linspace(0, 1, 150), "Unknown label type"),
        ([1, "a", "b"] * 50, "no order"),
    ],
)
def test_labels_that_are_rejected(y, words):
    with pytest.raises(ValueError, match=words):
        NaiveBayes().fit(
            IRIS, y if y is None or isinstance(y, np.ndarray) else np.array(y, dtype=object if "a" in y else None)
        )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"smoothing": -1}, "smoothing=-1"),
        ({"smoothing": {"a": {"x": -1}}}, r"smoothing\['a'\]\['x'\]=-1"),
        ({"unknown": "smoth"}, "did you mean 'smooth'"),
        ({"floor": "low"}, "floor='low'"),
        ({"bandwidth": 0.0}, "bandwidth=0"),
        ({"bandwidth": "shether-jones"}, "did you mean 'sheather-jones'"),
        ({"prior": [0.5, 0.5]}, "3 probabilities"),
        ({"prior": [0.5, 0.5, 0.5]}, "sum to 1"),
        ({"prior": {"a": 1.0}}, "prior names"),
        ({"prior": "flat"}, "prior='flat'"),
        ({"max_components": 0}, "max_components=0"),
        ({"features": "gauss"}, "did you mean 'gaussian'"),
    ],
)
def test_options_that_are_rejected(options, words):
    with pytest.raises(OptionError, match=words):
        NaiveBayes(**options).fit(IRIS, SPECIES)


def test_rows_that_are_rejected():
    odd = IRIS.copy()
    odd[3, 2] = np.inf
    for family in ("gaussian", "shared-gaussian", "kde", "mixture"):
        with pytest.raises(DataError, match="infinity"):
            NaiveBayes(family).fit(odd, SPECIES)
        with pytest.raises(DataError, match="infinity"):
            NaiveBayes(family).fit(IRIS, SPECIES).predict(odd)
    with pytest.raises(DataError, match=r"holds the class 2, not among the 2 known"):
        NaiveBayes().partial_fit(IRIS[:80], SPECIES[:80]).partial_fit(IRIS[100:], SPECIES[100:])


def test_few_rows_and_constants_are_warned_of():
    X = np.array([[1.0, 2.0], [1.5, 2.5], [1.2, 2.4], [9.0, 7.0]])
    with pytest.warns(DataWarning, match=r"constant in class 1 \(1 rows; 2 such cases"):
        rule = NaiveBayes().fit(X, [0, 0, 0, 1])
    assert rule.predict(X).tolist() == [0, 0, 0, 1]
    assert NaiveBayes("shared-gaussian").fit(X, [0, 0, 0, 1]).predict(X).tolist() == [0, 0, 0, 1]
    assert NaiveBayes("kde").fit(X, [0, 0, 0, 1]).predict(X).tolist() == [0, 0, 0, 1]
    flat = np.column_stack([IRIS, np.full(150, 1e10)])
    np.testing.assert_allclose(
        NaiveBayes().fit(flat, SPECIES).predict_proba(flat),
        NaiveBayes().fit(IRIS, SPECIES).predict_proba(IRIS),
        rtol=1e-9,
    )


def test_labels_are_coded_without_sorting():
    rng = np.random.default_rng(0)
    for y in (
        rng.integers(-5, 5, 500),
        rng.integers(0, 2, 500).astype(bool),
        rng.integers(0, 2**40, 50).repeat(10),
        rng.choice(["b", "a", "c"], 500),
        rng.choice(np.array(["b", "a", "c"], dtype=object), 500),
        rng.integers(0, 3, 500).astype(np.uint8) * 100,
    ):
        classes, codes = encode_labels(y)
        expected, places = np.unique(y, return_inverse=True)
        assert classes.tolist() == expected.tolist()
        assert np.array_equal(codes, places)
        assert codes.dtype == np.int32


def test_rounded_columns_are_classified_nearly_as_well_as_whole_ones():
    """Kernels as narrow as the rule says would have peaks at the values met, and valleys between them."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 3000)
    X = rng.standard_normal((3000, 6)) + 0.5 * rng.standard_normal((3, 6))[y]

    def loss(rows, **options):
        model = NaiveBayes("kde", **options).fit(rows[:1500], y[:1500])
        return -np.mean(model.predict_log_proba(rows[1500:])[np.arange(1500), y[1500:]])

    rounded = np.rint(X)
    assert loss(rounded) < loss(X) + 0.02
    assert loss(rounded, bandwidth=0.1) > loss(X) + 0.1

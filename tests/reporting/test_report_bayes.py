"""The page of classifiers: errors on rows held out, reliability, regions and reasons, of numbers and mixed tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from eigenlens import (
    BayesClassifier,
    DataError,
    GaussianMixture,
    KernelDensity,
    LinearDiscriminant,
    NaiveBayes,
    QuadraticDiscriminant,
    report,
)
from eigenlens.bayes import held_out
from eigenlens.bayes.tables import count_confusion
from eigenlens.reporting.pages import bayes
from written_reports import contents, layers, named, numbers, table

IRIS = load_iris(as_frame=True)
X = IRIS.data
Y = pd.Series(IRIS.target_names[IRIS.target], name="species")


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    models = {"naive": NaiveBayes().fit(X, Y), "linear": LinearDiscriminant().fit(X, Y)}
    return models, contents(report(models, X, tmp_path_factory.mktemp("bayes") / "x.html", y=Y))


def held_out_by_hand(model):
    """The slow twin: five folds, each predicted by a fit without it, from the folds that the report draws."""
    codes = IRIS.target.to_numpy()
    folds = held_out.stratified_folds(codes, 5, np.random.default_rng(0))
    proba = np.empty((150, 3))
    for fold in range(5):
        fitted = clone(model).fit(X[folds != fold], Y[folds != fold])
        proba[folds == fold] = fitted.predict_proba(X[folds == fold])
    return proba


def test_the_charts_of_a_classifier(iris):
    titles = [chart["title"] for chart in iris[1]["first"]["charts"]]
    assert titles == [
        "Distributions within classes", "Confusion", "What is confused most", "Decision regions",
        "Feature contributions", "Rows worth a look", "Why", "Reliability", "How sure it was", "Class priors",
        "Families of columns", "The model",
    ]  # fmt: skip


def test_columns_have_the_densities_of_their_classes(iris):
    models, found = iris
    (frame,) = named(found["first"]["charts"], "Distributions within classes")["frames"]
    titles = [chart["title"] for chart in frame["charts"]]
    assert set(titles[:2]) == {"petal length (cm)", "petal width (cm)"}
    assert set(titles) == set(X.columns)
    chart = frame["charts"][titles.index("sepal width (cm)")]
    assert [layer["label"] for layer in chart["marks"]] == ["setosa", "versicolor", "virginica"]
    for c, layer in enumerate(chart["marks"]):
        x, y = (numbers(layer["data"][name], found) for name in "xy")
        density = models["naive"].model_.density(c, 1)
        np.testing.assert_allclose(y, np.exp(density.log_density(x[:, None])), rtol=1e-4, atol=1e-6)


def test_counts_are_shown_by_their_shares_in_each_class(tmp_path):
    counts = np.random.default_rng(0).poisson([[8.0, 1.0, 4.0], [1.0, 8.0, 4.0]] * 30)
    y = np.array(["left", "right"] * 30)
    model = NaiveBayes("multinomial").fit(counts, y)
    chart = contents(report(model, counts, tmp_path / "x.html", y=y))["first"]["charts"][0]
    assert chart["title"] == "Counts within classes"
    (cells,) = layers(chart, "cell")
    shares = np.exp(model.feature_log_prob_)
    expected = np.log2(shares / (model.class_prior_ @ shares)).T
    np.testing.assert_allclose(np.reshape(cells["fill"], (3, 2)), expected, rtol=1e-5, atol=1e-6)


def test_the_plane_of_a_linear_discriminant_has_its_classes(tmp_path):
    model = LinearDiscriminant().fit(X, Y)
    found = contents(report(model, X, tmp_path / "x.html", y=Y))
    chart = found["first"]["charts"][0]
    assert chart["title"] == "Discriminant plane"
    Z = np.column_stack([numbers(chart[name], found) for name in "xy"])
    for label, ellipse in zip(model.classes_, chart["ellipses"], strict=True):
        assert ellipse["label"] == label
        np.testing.assert_allclose([ellipse["x"], ellipse["y"]], Z[(label == Y).to_numpy()].mean(axis=0), atol=1e-4)
        assert ellipse["a"] == ellipse["b"] == pytest.approx(np.sqrt(5.991464547), rel=1e-6)


def test_a_quadratic_discriminant_has_an_ellipse_per_class(tmp_path):
    model = QuadraticDiscriminant().fit(X, Y)
    found = contents(report(model, X, tmp_path / "x.html", y=Y))
    chart = found["first"]["charts"][0]
    assert chart["title"] == "Class plane"
    inside = []
    for label, e in zip(model.classes_, chart["ellipses"], strict=True):
        x, y = (numbers(chart[name], found)[(label == Y).to_numpy()] - e[name] for name in "xy")
        turned = x * np.cos(e["angle"]) + y * np.sin(e["angle"]), y * np.cos(e["angle"]) - x * np.sin(e["angle"])
        inside.append(np.mean((turned[0] / e["a"]) ** 2 + (turned[1] / e["b"]) ** 2 <= 1.0))
    np.testing.assert_allclose(inside, 0.95, atol=0.05)


def test_the_values_of_a_row_are_beside_its_reasons(iris):
    _, found = iris
    charts = found["first"]["charts"]
    listed = table(named(charts, "Rows worth a look"))
    i = int(listed["row"][0].split()[1]) - 1
    first = listed["largest contributions"][0].split("; ")[0]
    column, value = first.split(": ")[0].split(" = ")
    assert float(value) == X.iloc[i][column]
    (bars,) = layers(named(charts, "Why")["frames"][0]["charts"][0], "bar")
    assert f"{column} = {value}" in bars["x"]


def test_the_confusion_is_of_rows_held_out(iris):
    models, found = iris
    charts, proba = found["first"]["charts"], held_out_by_hand(models["naive"])
    counts = np.zeros((3, 3), dtype=int)
    np.add.at(counts, (IRIS.target.to_numpy(), proba.argmax(axis=1)), 1)
    (cells,) = layers(named(charts, "Confusion"), "cell")
    assert [int(text) for text in cells["text"]] == counts.ravel().tolist()
    assert cells["y"][:3] == ["setosa"] * 3
    assert "on rows held out in 5-fold cross-validation." in named(charts, "Confusion")["about"]
    said = dict(named(charts, "The model")["facts"])["accuracy"]
    assert said.startswith(f"{np.trace(counts) / 150:.1%} ±")
    worst = table(named(charts, "What is confused most"))
    assert worst["rows"][0] == (counts - np.diag(np.diag(counts))).max()


def test_weights_count_in_the_report_as_on_the_command_line(tmp_path):
    w = 1.0 + np.arange(150) % 3
    model = LinearDiscriminant().fit(X, Y, sample_weight=w)
    charts = contents(report(model, X, tmp_path / "x.html", y=Y, sample_weight=w))["first"]["charts"]
    codes = IRIS.target.to_numpy()
    folds, predicted = held_out.stratified_folds(codes, 5, np.random.default_rng(0)), np.empty(150, dtype=object)
    for fold in range(5):
        fitted = clone(model).fit(X[folds != fold], Y[folds != fold], sample_weight=w[folds != fold])
        predicted[folds == fold] = fitted.predict(X[folds == fold])
    found = count_confusion(model.classes_, Y, predicted, w)
    said = dict(named(charts, "The model")["facts"])
    assert said["accuracy"].startswith(f"{found.accuracy:.1%} ± {found.accuracy_error:.1%}, ")
    assert found.accuracy == pytest.approx(np.average(predicted == Y, weights=w))
    (cells,) = layers(named(charts, "Confusion"), "cell")
    np.testing.assert_array_equal(np.array(cells["text"], dtype=float), found.counts.ravel())
    (bars,) = layers(named(charts, "How sure it was"), "bar")
    assert sum(bars["y"]) == w.sum()


def test_reliability_counts_what_came_true(iris):
    models, found = iris
    charts, proba = found["first"]["charts"], held_out_by_hand(models["naive"])
    top, right = proba.max(axis=1), proba.argmax(axis=1) == IRIS.target.to_numpy()
    (dots,) = layers(named(charts, "Reliability"), "interval")
    last = top >= 0.9
    assert dots["x"][-1] == pytest.approx(100.0 * top[last].mean(), rel=1e-5)
    assert dots["y"][-1] == pytest.approx(100.0 * right[last].mean(), rel=1e-5)
    assert dots["low"][-1] < dots["y"][-1] <= dots["high"][-1] <= 100.0
    (bars,) = layers(named(charts, "How sure it was"), "bar")
    assert bars["y"][-1] == last.sum()
    assert sum(bars["y"]) == 150


def test_regions_are_the_predictions_of_the_plane(iris):
    models, found = iris
    chart = named(found["first"]["charts"], "Decision regions")
    assert (chart["xlabel"], chart["ylabel"]) == ("petal length (cm)", "petal width (cm)")
    grid = chart["regions"]
    codes = numbers(grid["codes"], found).round().astype(int).reshape(grid["height"], grid["width"])
    edges = [np.linspace(grid[f"{axis}0"], grid[f"{axis}1"], 101) for axis in "xy"]
    x, y = ((edge[1:] + edge[:-1]) / 2.0 for edge in edges)
    rows = pd.DataFrame(np.full((100, 4), np.nan), columns=X.columns)
    rows["petal length (cm)"], rows["petal width (cm)"] = x, y[40]
    assert [grid["classes"][c] for c in codes[40]] == models["naive"].predict(rows).tolist()
    top = models["naive"].predict_proba(rows).max(axis=1)
    sure = numbers(grid["sure"], found).reshape(100, 100)[40]
    np.testing.assert_allclose(sure, (top - 1.0 / 3.0) * 1.5, atol=1e-5)
    np.testing.assert_allclose(numbers(chart["x"], found), X["petal length (cm)"], rtol=1e-6)


def test_contributions_are_those_of_explain(iris):
    models, found = iris
    charts = found["first"]["charts"]
    (bars,) = layers(named(charts, "Feature contributions"), "bar")
    parts = np.abs(models["naive"].explain(X).contributions).mean(axis=0)
    np.testing.assert_allclose(bars["y"], np.sort(parts)[::-1], rtol=1e-6)
    assert bars["x"][0] == X.columns[parts.argmax()]
    rows = table(named(charts, "Rows worth a look"))
    first = int(rows["row"][0].removeprefix("row ")) - 1
    proba = held_out_by_hand(models["naive"])
    wrong = np.flatnonzero(proba.argmax(axis=1) != IRIS.target.to_numpy())
    assert first == wrong[proba[wrong].max(axis=1).argmax()]
    assert rows["why here"].count("wrong") == 6
    why = named(charts, "Why")["frames"][0]["charts"][0]
    (bars,) = layers(why, "bar")
    explanation = models["naive"].explain(X.iloc[[first]])
    np.testing.assert_allclose(sum(bars["y"]), explanation.log_odds[0], rtol=1e-5)
    assert bars["x"][-1] == "prior"


def test_the_linear_discriminant_has_its_plane(iris):
    models, found = iris
    chart = named(found["pages"][2]["charts"], "Discriminant plane")
    np.testing.assert_allclose(numbers(chart["x"], found), models["linear"].transform(X)[:, 0], rtol=1e-5)
    assert chart["xlabel"] == f"LD1 ({100 * models['linear'].explained_variance_ratio_[0]:.1f}%)"


def test_what_was_predicted_colours_the_rows(iris):
    models, found = iris
    columns = {column["name"]: column["values"] for column in found["rows"]["columns"]}
    assert columns["species"] == Y.tolist()
    assert "naive: predicted class" in columns
    proba = held_out_by_hand(models["linear"])
    assert columns["linear: right or wrong"].count("wrong") == np.sum(proba.argmax(axis=1) != IRIS.target.to_numpy())


def test_other_densities_have_reasons_where_columns_can_be_left_out(tmp_path):
    mixture = BayesClassifier(GaussianMixture(1, n_init=1)).fit(X, Y)
    models = {"quadratic": QuadraticDiscriminant().fit(X, Y), "mixture": mixture}
    found = contents(report(models, X, tmp_path / "x.html", y=Y))
    for page in found["pages"][1:3]:
        (bars,) = layers(named(page["charts"], "Feature contributions"), "bar")
        assert set(bars["x"][:2]) <= {"petal length (cm)", "petal width (cm)", "sepal width (cm)"}
    code = found["overview"]["charts"][-1]["code"][0]["text"]
    assert "eigenlens.BayesClassifier(density=eigenlens.GaussianMixture(n_init=1)).fit(X, y)" in code


def test_kernel_densities_have_reasons_too(tmp_path):
    few, y = X.iloc[::5], Y.iloc[::5]
    model = BayesClassifier(KernelDensity(bandwidth=0.5)).fit(few, y)
    charts = contents(report(model, few, tmp_path / "x.html", y=y))["first"]["charts"]
    assert named(charts, "Feature contributions")["kind"] in ("marks", "text")


# ---- mixed tables ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def customers():
    rng = np.random.default_rng(1)
    leaves = rng.random(300) < 0.4
    table = pd.DataFrame(
        {
            "age": rng.normal(50.0 - 15.0 * leaves, 8.0),
            "plan": np.where(rng.random(300) < 0.7 - 0.4 * leaves, "basic", "<plus>"),
            "calls": rng.poisson(1 + 3 * leaves),
            "city": pd.Categorical(rng.choice(["Rome", "Oslo"], 300), categories=["Rome", "Oslo", "Kyiv"]),
            "paid": rng.random(300) < 0.5,
        }
    )
    table.loc[::10, "age"] = np.nan
    table.loc[::15, "plan"] = None
    return table, np.where(leaves, "leaves", "stays")


def test_text_columns_are_read_and_colour_the_rows(customers, tmp_path):
    table_, y = customers
    model = NaiveBayes().fit(table_, y)
    found = contents(report(model, table_, tmp_path / "x.html", y=y))
    columns = {column["name"]: column["values"] for column in found["rows"]["columns"]}
    decoded = [None if c < 0 else columns["plan"]["levels"][int(c)] for c in numbers(columns["plan"]["codes"], found)]
    assert decoded == [None if pd.isna(value) else value for value in table_["plan"]]
    charts = found["first"]["charts"]
    families = table(named(charts, "Families of columns"))
    assert families["column"] == list(table_.columns)
    assert families["family"][1] == "categorical"
    overview = found["overview"]["charts"]
    texts = table(named(overview, "Columns of text"))
    assert texts["column"] == ["plan", "city"]
    assert texts["missing"] == [20.0, 0.0]
    assert texts["categories"] == [2.0, 2.0]
    assert dict(overview[0]["facts"])["missing values"].startswith("50 (")
    probability = numbers(columns["probability of the predicted class"], found)
    assert np.all((probability >= 0.5 - 1e-6) & (probability <= 1.0))


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "objects"])
def test_other_frames_say_the_same(customers, tmp_path, kind):
    table_, y = customers
    given = {
        "polars": lambda: pytest.importorskip("polars").from_pandas(table_.astype({"city": str})),
        "pyarrow": lambda: pytest.importorskip("pyarrow").Table.from_pandas(table_.astype({"city": str})),
        "objects": lambda: table_.astype({"city": str}).to_numpy(dtype=object),
    }[kind]()
    plain = NaiveBayes().fit(table_.astype({"city": str}), y)
    model = NaiveBayes().fit(given, y)
    charts = [contents(report(m, T, tmp_path / f"{i}.html", y=y))["first"]["charts"]
              for i, (m, T) in enumerate([(plain, table_.astype({"city": str})), (model, given)])]  # fmt: skip
    first, second = (layers(named(each, "Confusion"), "cell")[0]["text"] for each in charts)
    assert first == second


def test_a_model_of_some_columns_takes_its_own(customers, tmp_path):
    table_, y = customers
    numeric = table_[["calls", "paid"]].astype(float)
    models = {"all": NaiveBayes().fit(table_, y), "two": LinearDiscriminant().fit(numeric, y)}
    found = contents(report(models, table_, tmp_path / "x.html", y=y))
    (bars,) = layers(named(found["pages"][2]["charts"], "Feature contributions"), "bar")
    assert set(bars["x"]) == {"calls", "paid"}
    with pytest.raises(DataError, match="X has no 'calls'"):
        report(models["two"], table_[["age", "paid"]], tmp_path / "y.html", y=y)


# ---- without labels, and with odd ones ------------------------------------------------------------------------


def test_without_classes_no_errors_are_reported(tmp_path):
    found = contents(report(NaiveBayes().fit(X, Y), X, tmp_path / "x.html"))
    charts = found["first"]["charts"]
    assert "y was not given" in charts[0]["warnings"][0]
    assert not [chart for chart in charts if chart["title"] in ("Confusion", "Reliability")]
    assert "predicted class" in [column["name"] for column in found["rows"]["columns"]]
    text = found["overview"]["charts"][-1]["code"][0]["text"]
    assert "# y: their classes, which this report was not given.\nnaivebayes = eigenlens.NaiveBayes().fit(X, y)" in text


def test_classes_are_found_among_the_columns(tmp_path):
    model = NaiveBayes().fit(X, Y)
    found = contents(report(model, X, tmp_path / "x.html", columns={"odd": ["z"] * 150, "kind": Y.tolist()}))
    assert named(found["first"]["charts"], "Confusion")["about"]
    assert [column["name"] for column in found["rows"]["columns"]][:2] == ["odd", "kind"]
    assert "eigenlens.NaiveBayes().fit(X, columns['kind'])" in found["overview"]["charts"][-1]["code"][0]["text"]


def test_classes_that_the_model_does_not_know_are_left_out(tmp_path):
    model = NaiveBayes().fit(X[:100], Y[:100])
    charts = contents(report(model, X, tmp_path / "x.html", y=Y))["first"]["charts"]
    assert charts[0]["warnings"][0].startswith("50 rows have a class that the model does not know")
    (cells,) = layers(named(charts, "Confusion"), "cell")
    assert sum(map(float, cells["text"])) == 100.0


def test_where_folds_fail_the_rows_of_the_fit_are_shown_and_a_warning(tmp_path):
    y = np.array(["a"] * 5 + ["b"])
    rows = np.arange(12.0).reshape(6, 2) ** 2
    model = LinearDiscriminant().fit(rows, y)
    charts = contents(report(model, rows, tmp_path / "x.html", y=y))["first"]["charts"]
    assert "Cross-validation failed" in charts[0]["warnings"][0]
    assert "which the fit may have seen" in named(charts, "Confusion")["about"]


def test_labels_of_the_wrong_length_are_rejected(tmp_path):
    with pytest.raises(DataError, match="y has 3 entries, but X has 150 rows"):
        report(NaiveBayes().fit(X, Y), X, tmp_path / "x.html", y=["a", "b", "c"])


def test_many_classes_show_those_confused_most(tmp_path):
    rng = np.random.default_rng(0)
    code = np.arange(800) % 80
    rows = np.column_stack([code + rng.normal(0.0, 1.0, 800), rng.standard_normal(800)])
    y = np.array([f"class {c:02d}" for c in code])
    charts = contents(report(LinearDiscriminant().fit(rows, y), rows, tmp_path / "x.html", y=y))["first"]["charts"]
    (cells,) = layers(named(charts, "Confusion"), "cell")
    assert len(set(cells["x"])) == 30
    assert "The 30 of 80 classes that are confused most." in named(charts, "Confusion")["about"]


# ---- tables ---------------------------------------------------------------------------------------------------


def test_leaving_a_column_out_is_the_marginal():
    model = QuadraticDiscriminant().fit(X, Y)
    rows = X.to_numpy()[::30]
    found = held_out.contributions_by_omission(model, rows, tuple(X.columns))
    without = X.iloc[::30].copy()
    without["petal width (cm)"] = np.nan
    whole, fewer = (model.predict_joint_log_proba(each) for each in (X.iloc[::30], without))
    classes = list(model.classes_)
    for i in range(len(rows)):
        a, b = classes.index(found.of[i]), classes.index(found.against[i])
        expected = (whole[i, a] - whole[i, b]) - (fewer[i, a] - fewer[i, b])
        assert found.values[i, 3] == pytest.approx(expected, rel=1e-9)


def test_folds_are_even_in_every_class():
    codes = np.repeat([0, 1, 2], [13, 7, 1])
    folds = held_out.stratified_folds(codes, 5, np.random.default_rng(0))
    for c in range(3):
        counts = np.bincount(folds[codes == c], minlength=5)
        assert counts.max() - counts.min() <= 1
    assert np.ptp(np.bincount(folds)) <= 1


def test_a_class_that_a_fold_has_not_met_has_probability_zero():
    y = np.array(["a"] * 10 + ["b"] * 10 + ["c"])
    rows = np.concatenate([np.arange(10.0), 20.0 + np.arange(10.0), [50.0]])[:, None]
    codes = np.repeat([0, 1, 2], [10, 10, 1])
    model = NaiveBayes({0: "shared-gaussian"}).fit(rows, y)
    found = held_out.cross_validate_classifier(model, lambda index: rows[index], y, codes, 5, np.random.default_rng(0))
    assert found.failure == ""
    assert found.proba[-1, 2] == 0.0
    np.testing.assert_allclose(found.proba.sum(axis=1), 1.0)


def test_many_classes_have_regions_and_too_many_have_a_note_instead(tmp_path, monkeypatch):
    which = np.arange(320) % 40
    rows = np.random.default_rng(0).standard_normal((320, 2)) + np.stack([which % 8, which // 8], axis=1) * 6.0
    labels = np.array([f"class {'of a long name ' * 4}{k}" for k in range(40)])[which]
    model = LinearDiscriminant().fit(rows, labels)
    found = contents(report(model, rows, tmp_path / "r.html", labels))
    chart = named(found["first"]["charts"], "Decision regions")
    assert "Of the 40 classes ten have colours of their own" in chart["about"]
    (column,) = [each for each in found["rows"]["columns"] if each["name"] == "class"]
    assert set(chart["regions"]["classes"]) == set(column["values"]["levels"])  # their colours are found by name
    monkeypatch.setattr(bayes, "REGIONS", 30)
    charts = contents(report(model, rows, tmp_path / "r.html", labels))["first"]["charts"]
    assert "no plot of the regions of 40 classes" in named(charts, "Decision regions")["paragraphs"][0]

"""Classifiers, and mixtures whose size is not given, from the command line: what is printed, written and exported."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import eigenlens
from eigenlens import BayesClassifier, GaussianMixture, LinearDiscriminant, NaiveBayes, QuadraticDiscriminant
from eigenlens.bayes.tables import count_confusion
from eigenlens.cli import main

RNG = np.random.default_rng(11)
KIND = np.repeat(["red", "green", "blue"], 25)
CENTRES = {"red": (0.0, 0.0), "green": (3.0, 0.5), "blue": (0.0, 4.0)}
ROWS = np.array([CENTRES[kind] for kind in KIND]) + RNG.standard_normal((75, 2)) @ np.array([[1.0, 0.3], [0.0, 0.8]])
SKY = np.where(RNG.random(75) < 0.7, np.where(KIND == "red", "sun", "rain"), "fog")
WET = (RNG.random(75) < np.where(KIND == "blue", 0.8, 0.2)).astype(int)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A command line that must succeed, beside a table of flowers: its standard output."""
    monkeypatch.chdir(tmp_path)
    table = {"plot": [f"p{i}" for i in range(75)], "x": ROWS[:, 0], "y": ROWS[:, 1], "sky": SKY, "wet": WET}
    pl.DataFrame(table | {"kind": KIND}).write_csv("flowers.csv")

    def command(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        assert (code, said.err) == (0, "")
        return said.out

    return command


def confusion(found):
    return np.array(found["confusion"]["counts"])


TWINS = {
    "nb": ((), NaiveBayes()),
    "lda": (("--shrinkage", "ledoit-wolf"), LinearDiscriminant(shrinkage="ledoit-wolf")),
    "qda": (("--shrinkage", "0.1"), QuadraticDiscriminant(shrinkage=0.1)),
    "bayes": (("--density", "gmm"), BayesClassifier(GaussianMixture(random_state=0), random_state=0)),
}


@pytest.mark.parametrize("name", TWINS)
def test_what_predictions_are_worth(run, name):
    options, twin = TWINS[name]
    told = run("fit", name, "flowers.csv", "-c", "x,y", "--label", "kind", *options, "-o", "m.safetensors")
    predicted = twin.fit(ROWS, KIND).predict(ROWS)
    wanted = [[int(((a == KIND) & (predicted == b)).sum()) for b in twin.classes_] for a in twin.classes_]
    assert "class  rows   prior\nblue     25  0.3333\n" in told
    assert told.splitlines()[-1] == "next      eigenlens predict m.safetensors flowers.csv -o classes.csv"
    found = json.loads(run("predict", "m.safetensors", "flowers.csv", "--label", "kind", "--json"))
    assert found["columns"]["predicted"] == predicted.tolist()
    assert found["confusion"]["true"] == found["confusion"]["predicted"] == ["blue", "green", "red"]
    np.testing.assert_array_equal(confusion(found), wanted)
    assert found["accuracy"] == pytest.approx((predicted == KIND).mean())
    out = run("score", "m.safetensors", "flowers.csv", "--label", "kind")
    assert f"score     accuracy {found['accuracy']:.6g} ± " in out
    assert "true \\ predicted  blue  green  red\n" in out
    for name, row in zip(twin.classes_, wanted, strict=True):
        assert [str(count) for count in row] == next(
            line.split()[1:] for line in out.splitlines() if line.split()[:1] == [name]
        )


def test_a_class_that_the_model_does_not_know_and_rows_without_one(run):
    run("fit", "lda", "flowers.csv", "-c", "x,y", "--label", "kind", "--where", "kind != blue", "-o", "m.safetensors")
    found = json.loads(run("score", "m.safetensors", "flowers.csv", "--label", "kind", "--json"))
    assert found["confusion"]["true"] == ["green", "red", "blue"]
    assert confusion(found).sum(axis=1).tolist() == [25, 25, 25]
    flowers = pl.read_csv("flowers.csv").with_columns(
        pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise(pl.col("kind")).alias("kind")
    )
    flowers.filter(pl.col("kind").is_null() | (pl.col("kind") != "blue")).write_csv("some.csv")
    found = json.loads(run("predict", "m.safetensors", "some.csv", "--label", "kind", "--json"))
    assert confusion(found).sum() == 45  # only the rows whose class is known are judged
    assert found["rows"] == 50


def test_weights_count_in_the_accuracy(run):
    run("fit", "lda", "flowers.csv", "-c", "x,y", "--label", "kind", "-o", "m.safetensors")
    found = json.loads(run("score", "m.safetensors", "flowers.csv", "--label", "kind", "--weight", "wet", "--json"))
    predicted = LinearDiscriminant().fit(ROWS, KIND).predict(ROWS)
    assert found["accuracy"] == pytest.approx(np.average(predicted == KIND, weights=WET))
    assert confusion(found).sum() == WET.sum()
    copies = count_confusion(np.unique(KIND), np.repeat(KIND, WET), np.repeat(predicted, WET))
    assert (found["accuracy"], found["standard_error"]) == (copies.accuracy, copies.accuracy_error)
    np.testing.assert_array_equal(confusion(found), copies.counts)


def test_naive_bayes_says_the_family_of_each_column_and_why(run):
    out = run("fit", "nb", "flowers.csv", "--drop", "plot", "--label", "kind", "-o", "nb.safetensors")
    for said in (out, run("info", "nb.safetensors")):
        assert "found     3 classes; columns: 2 gaussian, 1 categorical, 1 bernoulli" in said
        assert "sky     categorical  text\n" in said
        assert "wet     bernoulli    zeros and ones\n" in said
    told = json.loads(run("info", "nb.safetensors", "--json"))
    assert told["families"][2] == {"column": "sky", "family": "categorical", "reason": "text"}
    assert (told["classes"], told["class_count"]) == (["blue", "green", "red"], [25.0, 25.0, 25.0])


def test_memory_does_not_grow_with_rows_that_a_model_is_applied_to(run, monkeypatch):
    run("fit", "nb", "flowers.csv", "--drop", "plot", "--label", "kind", "-o", "nb.safetensors")
    whole = run("predict", "nb.safetensors", "flowers.csv", "--proba", "-o", "whole.csv")
    monkeypatch.setattr("eigenlens.cli.files.MAX_APPLIED_BYTES", 1000)
    blocks = run("predict", "nb.safetensors", "flowers.csv", "--proba", "-o", "blocks.csv")
    more = run("predict", "nb.safetensors", "flowers.csv", "-o", "more.csv", "--max-memory", "1GB")
    assert "read by blocks" in blocks
    assert "read by blocks" not in whole + more
    assert Path("blocks.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert "read by blocks" not in run(
        "fit", "nb", "flowers.csv", "--drop", "plot", "--label", "kind", "-o", "b.safetensors"
    )


def test_naive_bayes_by_blocks_is_naive_bayes_in_memory(run):
    words = ("fit", "nb", "flowers.csv", "--drop", "plot", "--label", "kind")
    for more in ((), ("--where", "sky != fog")):
        assert "read by blocks" not in run(*words, *more, "-o", "whole.safetensors", "--force")
        out = run(*words, *more, "-o", "blocks.safetensors", "--force", "--max-memory", "1kB")
        assert "read by blocks" in out
        whole, blocks = (json.loads(run("export", f"{name}.safetensors"))["parameters"] for name in ("whole", "blocks"))
        assert whole.keys() == blocks.keys()
        for name, value in whole.items():
            if isinstance(value[0] if isinstance(value, list) else value, str):
                assert blocks[name] == value
            else:
                found, expected = (np.array(each, dtype=float) for each in (blocks[name], value))  # null is NaN
                np.testing.assert_allclose(found, expected, rtol=1e-12)
        run("predict", "whole.safetensors", "flowers.csv", "--proba", "-o", "P.csv", "--force")
        run("predict", "blocks.safetensors", "flowers.csv", "--proba", "--max-memory", "1kB", "-o", "Q.csv", "--force")
        P, Q = pl.read_csv("P.csv"), pl.read_csv("Q.csv")
        assert P.columns == Q.columns
        assert P["predicted"].equals(Q["predicted"])


@pytest.mark.parametrize(
    ("cells", "classes"),
    [
        (["TRUE", "FALSE"], ["FALSE", "TRUE"]),
        (["1", "2"], ["1", "2"]),
        (["1.0", "2.0"], ["1", "2"]),
        (["007", "008"], ["007", "008"]),
    ],
)
@pytest.mark.parametrize("name", ["nb", "lda"])
def test_classes_are_called_as_they_are_written(run, tmp_path, cells, classes, name):
    lines = [f"{x:.6f},{cells[int(x > 1.5)]}" for x in ROWS[:50, 0]]
    (tmp_path / "t.csv").write_text("x,y\n" + "\n".join(lines) + "\n")
    told = json.loads(run("fit", name, "t.csv", "--label", "y", "-o", "t.safetensors", "--json"))
    assert told["classes"] == classes
    found = json.loads(run("score", "t.safetensors", "t.csv", "--label", "y", "--json"))
    assert found["accuracy"] > 0.8
    assert confusion(found).shape == (2, 2)


# ---- how many Gaussians ----------------------------------------------------------------------------------------


def test_a_mixture_chooses_its_number_of_gaussians(run):
    words = ("fit", "gmm", "flowers.csv", "-c", "x,y", "--set", "n_init=2")
    out = run(*words, "-k", "1:4", "--covariance", "full", "-o", "g.safetensors", "--report", "g.html")
    twin = eigenlens.select_mixture(ROWS, range(1, 5), "full", n_init=2, random_state=0)
    assert "compared  4 mixtures by BIC, the smaller the better" in out
    assert f"{twin.bic[0]:>11.2f}" in out
    assert f"model     {' '.join(repr(twin.best).split())}" in out
    np.testing.assert_allclose(eigenlens.load("g.safetensors").means_, twin.best.means_, rtol=1e-9)
    told = json.loads(run(*words, "-k", "icl", "--covariance", "spherical", "--json"))
    assert told["criterion"] == "icl"
    assert sorted(told["compared"]["components"]) == list(range(1, 7))
    assert told["compared"]["icl"][0] == min(told["compared"]["icl"])
    most = run(*words, "-k", "1:2", "--covariance", "spherical")
    assert "note      2 is the most that was tried: -k 2:4 tries more" in most
    assert "fit GaussianMixture(n_init=2, random_state=0), as many components as BIC chooses" in run(
        *words, "--dry-run"
    )


def test_latent_classes_of_columns_of_all_kinds(run):
    words = ("fit", "mix", "flowers.csv", "--drop", "plot,kind", "--set", "n_init=2")
    out = run(*words, "-k", "2", "-o", "m.safetensors", "--report", "m.html")
    model = eigenlens.load("m.safetensors")
    assert f"found     2 components, log-likelihood {model.loglik_:,.2f}, BIC {model.bic():,.2f}" in out
    assert "sky" in out
    assert f"weight {model.weights_[0]:.4f} {model.weights_[1]:.4f}" in " ".join(out.split())
    told = json.loads(run(*words, "-k", "1:3", "--json"))
    assert sorted(told["compared"]["components"]) == [1, 2, 3]
    rows = pl.read_csv(io.StringIO(run("predict", "m.safetensors", "flowers.csv", "--proba")))
    np.testing.assert_allclose(rows["p(0)"] + rows["p(1)"], 1.0)
    assert "log density" in run("score", "m.safetensors", "flowers.csv")
    assert "MixtureModel" in run("info", "m.safetensors")
    assert "sky" in run("sample", "m.safetensors", "-n", "2")
    run("export", "m.safetensors", "-o", "m.csv")
    assert long("m.csv")["families", "sky", ""] == "categorical"
    gaps = pl.read_csv("flowers.csv").with_columns(sky=pl.when(pl.int_range(75) > 2).then("sky"))
    gaps.write_csv("gaps.csv")
    filled = pl.read_csv(io.StringIO(run("impute", "m.safetensors", "gaps.csv")))
    assert filled["sky"].null_count() == 0
    assert filled["sky"].to_list()[3:] == gaps["sky"].to_list()[3:]
    assert "x_std" in run("impute", "m.safetensors", "gaps.csv", "--std")
    compared = run("compare", "flowers.csv", "--drop", "plot,kind", "--models", "mix:k=1,mix:k=2", "--cv", "3")
    assert "mix:k=2" in compared


# ---- export ------------------------------------------------------------------------------------------------------


def long(path):
    """A long table of parameters: {(parameter, row, column): value}."""
    return {(p, row, column): value if value is not None else text
            for p, row, column, value, text in pl.read_csv(path).iter_rows()}  # fmt: skip


def test_export_of_naive_bayes_is_enough_to_predict(run):
    run("fit", "nb", "flowers.csv", "--drop", "plot", "--label", "kind", "-o", "nb.safetensors")
    run("export", "nb.safetensors", "-o", "nb.csv")
    found = long("nb.csv")
    assert found["families", "sky", ""] == "categorical"

    def log_joint(i, c):
        total = np.log(found["class_prior_", c, ""])
        for name, value in zip("xy", ROWS[i], strict=True):
            mean, variance = found["gaussian.means", c, name], found["gaussian.variances", c, name]
            total -= 0.5 * np.log(2.0 * np.pi * variance) + 0.5 * (value - mean) ** 2 / variance
        total += np.log(found["categorical.probabilities.sky", c, SKY[i]])
        p = found["bernoulli.probabilities", c, "wet"]
        return total + np.log(p if WET[i] else 1.0 - p)

    joint = np.array([[log_joint(i, c) for c in ("blue", "green", "red")] for i in range(75)])
    model = eigenlens.load("nb.safetensors")
    np.testing.assert_allclose(
        joint, model.predict_joint_log_proba(pl.read_csv("flowers.csv").select("x", "y", "sky", "wet")), rtol=1e-10
    )


def test_export_of_densities_of_classes_and_of_kernels(run):
    run("fit", "bayes", "flowers.csv", "-c", "x,y", "--label", "kind", "--density", "gmm", "-o", "b.safetensors")
    run("export", "b.safetensors", "-o", "b.json")
    with open("b.json", encoding="utf-8") as file:
        found = json.load(file)["parameters"]
    np.testing.assert_allclose(found["green.means_"], [ROWS[KIND == "green"].mean(axis=0)], rtol=1e-9)
    run("fit", "kde", "flowers.csv", "-c", "x,y", "-o", "k.safetensors")
    run("export", "k.safetensors", "--only", "points", "-o", "k.csv")
    points = pl.read_csv("k.csv")
    assert points.columns == ["name", "x", "y"]
    np.testing.assert_allclose(np.sort(points["x"].to_numpy()), np.sort(ROWS[:, 0]))
    run("fit", "gmm", "flowers.csv", "-c", "x,y", "-k", 2, "-o", "g.safetensors")
    run("export", "g.safetensors", "-o", "g.csv")
    g = eigenlens.load("g.safetensors")
    assert long("g.csv")["covariances_", "1", "x/y"] == pytest.approx(g.covariances_[1, 0, 1])


@pytest.mark.parametrize("label", ["kind", "wet"])
def test_onnx_of_discriminants_projects_and_predicts(run, label):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    run("fit", "lda", "flowers.csv", "-c", "x,y", "--label", label, "-o", "l.safetensors")
    assert "checked with onnxruntime" in run("export", "l.safetensors", "-o", "l.onnx")
    session = onnxruntime.InferenceSession("l.onnx")
    found = dict(zip(["scores", "probabilities", "label"], session.run(None, {"X": ROWS}), strict=True))
    twin = LinearDiscriminant().fit(ROWS, KIND if label == "kind" else WET)
    np.testing.assert_allclose(found["scores"], twin.transform(ROWS), atol=1e-9)
    np.testing.assert_allclose(found["probabilities"], twin.predict_proba(ROWS), atol=1e-12)
    assert found["label"].tolist() == twin.predict(ROWS).tolist()
    assert json.loads(session.get_modelmeta().custom_metadata_map["columns"]) == ["x", "y"]


@pytest.mark.parametrize("words", [("pca", "--standardize", "--whiten"), ("ppca",), ("fa", "--rotation", "promax")])
def test_onnx_of_projections(run, words):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    X = RNG.standard_normal((60, 2)) @ RNG.standard_normal((2, 6)) + 0.3 * RNG.standard_normal((60, 6))
    np.save("x.npy", X)
    run("fit", words[0], "x.npy", "-k", 2, *words[1:], "-o", "m.safetensors")
    run("export", "m.safetensors", "-o", "m.onnx")
    (scores,) = onnxruntime.InferenceSession("m.onnx").run(None, {"X": X})
    np.testing.assert_allclose(scores, eigenlens.load("m.safetensors").transform(X), atol=1e-9)


def test_a_class_of_one_row_names_the_model_that_takes_it(run, capsys):
    kind = ["u", "v"] * 10 + ["rare"]
    pl.DataFrame({"a": np.arange(21.0) ** 2 % 17, "b": np.arange(21.0) ** 3 % 19, "kind": kind}).write_csv("rare.csv")
    assert main(["fit", "qda", "rare.csv", "--label", "kind"]) == 3
    said = capsys.readouterr().err
    assert "class 'rare' (1)" in said
    assert "or use lda" in said
    assert "try: eigenlens fit lda rare.csv --label kind" in said


def test_rows_without_the_column_of_classes_name_it(run, capsys):
    frame = pl.DataFrame({"a": np.arange(20.0) ** 2 % 17, "b": np.arange(20.0) ** 3 % 19, "kind": ["u", "v"] * 10})
    frame.write_csv("t.csv")
    frame.drop("kind").write_csv("new.csv")
    assert main(["fit", "lda", "t.csv", "--label", "kind", "-o", "lda.safetensors"]) == 0
    assert main(["score", "lda.safetensors", "new.csv"]) == 2
    said = capsys.readouterr().err
    assert "the file lacks the column 'kind', which has the classes of the model" in said
    assert "eigenlens predict" in said

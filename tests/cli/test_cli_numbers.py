"""The commands write what Python computes: for every model, columns in any order, missing values and filters."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import eigenlens
from eigenlens.cli import main

RNG = np.random.default_rng(11)
N, NAMES = 60, ["a", "b", "c", "d"]
LABEL = RNG.choice(["in", "out"], N)
X = RNG.standard_normal((N, 2)) @ RNG.standard_normal((2, 4)) + 0.3 * RNG.standard_normal((N, 4))
X[LABEL == "out"] += 1.5
NEW = np.round(X[::-1] + 0.1, 6)
GAPS = NEW.copy()
GAPS[RNG.random(NEW.shape) < 0.15] = np.nan
IDS = [f"row {i}" for i in range(N)]

FITS = {
    "pca": ["-k", "2", "--standardize"],
    "kpca": ["-k", "3", "--gamma", "0.1"],
    "ppca": ["-k", "2"],
    "fa": ["-k", "1", "--rotation", "varimax"],
    "gmm": ["-k", "2", "--covariance", "tied"],
    "kde": ["--bandwidth", "scott"],
    "nb": [],
    "bayes": ["--density", "gmm", "-k", "1"],
    "lda": ["--shrinkage", "0.1"],
    "qda": [],
}
WELCOME = {"ppca", "fa", "gmm", "nb", "lda", "qda"}
"""Models that take new rows with gaps."""


def table(rows, order):
    columns = dict(zip(NAMES, rows.T, strict=True))
    frame = {"who": IDS, "side": LABEL[::-1], "other": ["x"] * N} | {name: columns[name] for name in order}
    return pl.DataFrame(frame).with_columns(pl.selectors.float().fill_nan(None))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models fitted by the command line, and new rows, complete and incomplete, with their columns in another order."""
    place = tmp_path_factory.mktemp("numbers")
    fitted = pl.DataFrame(dict(zip(NAMES, X.T, strict=True)) | {"side": LABEL})
    fitted.write_csv(place / "fit.csv")
    for name, rows in (("new", NEW), ("gaps", GAPS)):
        table(rows, ["d", "b", "a", "c"]).write_csv(place / f"{name}.csv")
        table(rows, ["c", "d", "b", "a"]).write_parquet(place / f"{name}.parquet")
    for name, words in FITS.items():
        assert main(["fit", name, f"{place}/fit.csv", "--label", "side", *words, "-o", f"{place}/{name}.st.safetensors",
                     "-q"]) == 0  # fmt: skip
    return place


@pytest.fixture
def run(folder, capsys, monkeypatch):
    """A command on a model and a file, as JSON; and the model itself."""
    monkeypatch.chdir(folder)

    def command(name, *words):
        capsys.readouterr()
        code = main([words[0], f"{name}.st.safetensors", *words[1:], "--json"])
        out, err = capsys.readouterr()
        assert code == 0, err
        return json.loads(out), eigenlens.load(f"{name}.st.safetensors")

    return command


def cells(found, names):
    return np.array([[np.nan if v is None else v for v in found["columns"][name]] for name in names], dtype=float).T


def rows_for(name, suffix):
    which = "gaps" if name in WELCOME else "new"
    return f"{which}.{suffix}", GAPS if which == "gaps" else NEW


def frame(rows):
    return pl.DataFrame(dict(zip(NAMES, rows.T, strict=True)))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["pca", "kpca", "ppca", "fa", "lda"])
def test_scores(run, name, suffix):
    file, rows = rows_for(name, suffix)
    found, model = run(name, "transform", file, "--id", "who", "--label", "side")
    wanted = np.asarray(model.transform(frame(rows)))
    axes = [key for key in found["columns"] if key not in ("who", "side")]
    np.testing.assert_allclose(cells(found, axes), wanted, rtol=1e-12, atol=1e-12)
    assert found["columns"]["who"] == IDS
    assert found["columns"]["side"] == LABEL[::-1].tolist()


@pytest.mark.parametrize("name", ["pca", "kpca", "ppca", "fa"])
def test_denoised_rows(run, name):
    file, rows = rows_for(name, "csv")
    found, model = run(name, "denoise", file)
    assert [column for column in found["columns"] if column not in ("who", "side")] == NAMES
    X = frame(rows)
    wanted = model.denoise(X) if hasattr(model, "denoise") else model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(cells(found, NAMES), np.asarray(wanted), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["ppca", "fa", "gmm"])
def test_imputed_rows(run, name):
    found, model = run(name, "impute", "gaps.parquet", "--std", "--id", "who")
    filled, deviations = (np.asarray(each) for each in model.impute(frame(GAPS), return_std=True))
    np.testing.assert_allclose(cells(found, NAMES), filled, rtol=1e-12)
    np.testing.assert_allclose(cells(found, [f"{n}_std" for n in NAMES]), deviations, rtol=1e-12, atol=1e-15)
    there = ~np.isnan(GAPS)
    np.testing.assert_array_equal(cells(found, NAMES)[there], GAPS[there])


@pytest.mark.parametrize("name", ["gmm", "nb", "bayes", "lda", "qda"])
def test_classes_and_their_probabilities(run, name):
    file, rows = rows_for(name, "csv")
    found, model = run(name, "predict", file, "--proba", "--id", "who")
    assert found["columns"]["predicted"] == np.asarray(model.predict(frame(rows))).tolist()
    given = [key for key in found["columns"] if key.startswith("p(")]
    np.testing.assert_allclose(cells(found, given), model.predict_proba(frame(rows)), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["pca", "ppca", "fa", "gmm", "kde"])
def test_mean_log_density(run, name):
    file, rows = rows_for(name, "csv")
    found, model = run(name, "score", file)
    assert found["log_density"] == pytest.approx(float(model.score(frame(rows))), rel=1e-12)


@pytest.mark.parametrize("name", ["nb", "bayes", "lda", "qda"])
def test_accuracy(run, name):
    file, rows = rows_for(name, "csv")
    found, model = run(name, "score", file, "--label", "side")
    assert found["accuracy"] == pytest.approx(float(np.mean(model.predict(frame(rows)) == LABEL[::-1])), rel=1e-12)


@pytest.mark.parametrize("name", ["pca", "ppca", "fa", "gmm", "kde", "nb", "bayes", "lda", "qda"])
def test_rows_drawn_by_a_seed(run, name):
    found, model = run(name, "sample", "-n", "7", "--seed", "5")
    labelled = {"return_labels": True} if hasattr(model, "classes_") else {}
    drawn = model.sample(7, random_state=5, **labelled)
    rows, label = drawn if labelled else (drawn, None)
    np.testing.assert_allclose(cells(found, NAMES), np.asarray(rows, dtype=float), rtol=1e-12)
    assert found["columns"].get("label") == (None if label is None else np.asarray(label).tolist())


@pytest.mark.parametrize("name", ["ppca", "lda"])
def test_filters_keep_ids_beside_their_rows(run, name):
    found, model = run(name, "transform", "gaps.csv", "--id", "who", "--where", "side == in", "--skip-missing")
    keep = (LABEL[::-1] == "in") & ~np.isnan(GAPS).any(axis=1)
    assert 2 < keep.sum() < N
    assert found["columns"]["who"] == [name for name, kept in zip(IDS, keep, strict=True) if kept]
    axes = [key for key in found["columns"] if key not in ("who", "side")]
    wanted = np.asarray(model.transform(frame(GAPS[keep])))
    np.testing.assert_allclose(cells(found, axes), wanted, rtol=1e-12, atol=1e-12)


def test_a_comparison_is_that_of_python(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["compare", "fit.csv", "--drop", "side", "-m", "ppca:k=1,gmm:k=2,kde", "--cv", "3", "--seed", "4",
                 "--json"]) == 0  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    models = {"ppca:k=1": eigenlens.ProbabilisticPCA(1, random_state=4),
              "gmm:k=2": eigenlens.GaussianMixture(2, random_state=4),
              "kde": eigenlens.KernelDensity(random_state=4)}  # fmt: skip
    wanted = eigenlens.compare(models, X, cv=3, random_state=4)
    assert found["table"]["model"] == list(wanted.names)
    np.testing.assert_allclose(found["table"]["log_density"], wanted.means, rtol=1e-9)
    np.testing.assert_allclose(found["table"]["standard_error"], wanted.errors, rtol=1e-9)

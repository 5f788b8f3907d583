"""Options of models on the command line: each command fits what the same parameters fit in Python."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import eigenlens
from eigenlens import PCA, FactorAnalysis, KernelDensity, KernelPCA, ProbabilisticPCA
from eigenlens.cli import main

RNG = np.random.default_rng(7)
LOADINGS = np.kron(np.eye(2), [1.0, 0.8, 1.2])
VALUES = RNG.standard_normal((200, 2)) @ LOADINGS + 0.7 * RNG.standard_normal((200, 6)) + [5.0, 0.0, 1.0, 2.0, 0.0, 0.0]
ROWS = pl.DataFrame(dict(zip("abcdef", VALUES.T, strict=True)))
HOURS = pl.DataFrame({"hour": RNG.uniform(0.0, 24.0, 80)})

CASES = [
    ("pca -k 2 --no-center", PCA(2, center=False)),
    ("pca -k 2 --center", PCA(2)),
    ("pca -k 2 --zca", PCA(2, whiten="zca")),
    ("pca -k 2 --solver arpack", PCA(2, solver="lanczos")),
    ("kpca -k 2 --no-center --sigma 2", KernelPCA(2, center=False, gamma=1 / 8)),
    ("kpca -k 2 --kernel poly --degree 2 --coef0 2.5", KernelPCA(2, kernel="poly", degree=2, coef0=2.5)),
    ("kpca -k 2 --solver arpack", KernelPCA(2, solver="lanczos")),
    ("ppca -k 1 --solver accelerated-em", ProbabilisticPCA(1, solver="accelerated-em")),
    ("fa -k 1 --solver minres", FactorAnalysis(1, solver="minres")),
    ("fa -k 1 --solver principal-axis", FactorAnalysis(1, solver="principal-axis")),
    ("fa -k 2 --rotation geomin", FactorAnalysis(2, rotation="geomin")),
]


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ROWS.write_csv("rows.csv")
    HOURS.write_csv("hours.csv")


def fitted(command, file="rows.csv"):
    model, *options = command.split()
    assert main(["fit", model, file, *options, "-o", "model.safetensors", "--quiet", "--force"]) == 0
    return eigenlens.load("model.safetensors")


@pytest.mark.parametrize(("command", "twin"), CASES, ids=[command for command, _ in CASES])
def test_an_option_is_the_parameter(table, command, twin):
    found, twin = fitted(command), twin.set_params(random_state=0).fit(ROWS)
    np.testing.assert_allclose(found.transform(ROWS), twin.transform(ROWS), atol=1e-8)


def test_weights_of_columns(table):
    found = fitted("pca -k 2 --feature-weight a=3 --feature-weight c=0.5")
    twin = PCA(2).fit(ROWS, feature_weight=[3.0, 1.0, 0.5, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(found.transform(ROWS), twin.transform(ROWS), atol=1e-9)
    assert "_feature_weight" not in twin.get_params()


def test_bounds_of_a_density(table):
    grid = pl.DataFrame({"hour": np.linspace(0.0, 24.0, 7)})
    found = fitted("kde --bounds 0:24 --boundary periodic --kernel tophat --bandwidth 3", "hours.csv")
    twin = KernelDensity(kernel="box", bandwidth=3.0, bounds=(0, 24), boundary="periodic").fit(HOURS)
    np.testing.assert_allclose(found.score_samples(grid), twin.score_samples(grid), rtol=1e-12)
    half = fitted("kde --bounds 0: --bandwidth 3", "hours.csv")
    assert half.bounds == [0, None]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["pca", "rows.csv", "--feature-weight", "z=3"], "names no column"),
        (["pca", "rows.csv", "--feature-weight", "a=x"], "has no number after ="),
        (["ppca", "rows.csv", "--feature-weight", "a=3"], "not an option of this model"),
        (["kpca", "rows.csv", "--coef0", "1"], "--coef0 has no effect without --kernel poly or sigmoid"),
        (["fa", "rows.csv", "--no-center"], "--center is not an option of fa"),
        (["kde", "hours.csv", "--boundary", "periodic"], "--bounds must be given"),
    ],
)
def test_a_wrong_option_is_an_error(table, capsys, words, said):
    assert main(["fit", *words]) == 2
    assert said in capsys.readouterr().err

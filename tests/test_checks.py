"""One way to name a column or a class, one kind of suggestion, and warnings at the line of the user."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import eigenlens as el
from eigenlens import checks, plot
from eigenlens.densities import Gaussian
from eigenlens.errors import closest, suggest

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.standard_normal((60, 3)), columns=["height", "width", "mass"])
Y = np.repeat(["child", "adult"], 30)
MIXTURE = el.GaussianMixture(1).fit(FRAME)
KDE = el.KernelDensity(bandwidth=0.5).fit(FRAME)
NAIVE = el.NaiveBayes("gaussian").fit(FRAME, Y)
PPCA = el.ProbabilisticPCA(1).fit(FRAME)

DOORS = {
    "mixture": ("columns", lambda column: MIXTURE.marginal([column])),
    "mixture-condition": ("columns", lambda column: MIXTURE.condition(column, 0.0)),
    "kde": ("columns", lambda column: KDE.marginal([column])),
    "kde-condition": ("columns", lambda column: KDE.condition(column, 0.0)),
    "kde-plot": ("column", lambda column: plot.density(KDE, column=column)),
    "mixture-plot": ("columns", lambda column: plot.mixture(MIXTURE, columns=(column, "width"))),
    "imputed": ("columns", lambda column: plot.imputed(PPCA, FRAME, column)),
    "decision": ("features", lambda column: plot.decision(NAIVE, FRAME, features=(column, "width"))),
    "density": ("column", lambda column: NAIVE.density(column, "child")),
    "features": ("features", lambda column: el.NaiveBayes({column: "gaussian"}).fit(FRAME, Y)),
    "smoothing": ("smoothing", lambda column: el.NaiveBayes(smoothing={column: 1.0}).fit(FRAME, Y)),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_column_is_named_alike_everywhere(door):
    argument, call = DOORS[door]
    for column in ("mass", 2, np.int64(2), np.str_("mass")):
        call(column)
    for wrong in (True, np.bool_(True), -1, 3, 0.5):
        with pytest.raises(el.OptionError, match=r"is not one of the 3 columns.* a number from 0 to 2") as caught:
            call(wrong)
        assert (caught.value.argument, str(caught.value.value)) == (argument, str(wrong))
    with pytest.raises(el.OptionError, match=rf"{argument}='hight' is not one of .*; did you mean 'height'\?"):
        call("hight")


@pytest.mark.parametrize("scan_option", ["columns", "drop", "id", "label", "text"])
def test_a_column_of_a_file_is_named_alike_too(tmp_path, scan_option):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    found = [el.scan(tmp_path / "a.csv", **{scan_option: column}).names for column in ("mass", 2, np.int64(2))]
    assert found[0] == found[1] == found[2]
    for wrong in (True, -1, 3, "mas"):
        with pytest.raises(el.OptionError, match=f"{scan_option}={wrong!r} is not one of the 3 columns"):
            el.scan(tmp_path / "a.csv", **{scan_option: wrong})


def test_the_label_of_a_file_may_be_a_number(tmp_path):
    FRAME.assign(who=Y).to_csv(tmp_path / "a.csv", index=False)
    assert el.scan(tmp_path / "a.csv", label=3).read_label().tolist() == Y.tolist()


def test_columns_are_given_once_and_some_are_left():
    for model in (MIXTURE, KDE):
        with pytest.raises(el.OptionError, match="columns names the column 0 twice; name each column once"):
            model.marginal(["height", 0])
        with pytest.raises(el.OptionError, match="columns names every column, so none is left"):
            model.condition(range(3), np.zeros(3))
        with pytest.raises(el.DataError, match="values=inf must be 1 numbers"):
            model.condition("mass", np.inf)
        nothing = model.condition("mass", np.nan).log_density(FRAME[["height", "width"]].to_numpy())
        np.testing.assert_allclose(nothing, model.marginal([0, 1]).log_density(FRAME[["height", "width"]].to_numpy()))


def test_a_single_column_of_a_density():
    density = Gaussian.fit(FRAME.to_numpy())
    assert density.marginal(1).mean == density.marginal([1]).mean
    assert density.condition(1, 0.5).mean.tolist() == density.condition([1], [0.5]).mean.tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda label: NAIVE.density(0, label),
        lambda label: NAIVE.explain(FRAME, of=label),
        lambda label: plot.calibration(NAIVE, FRAME, Y, label=label),
        lambda label: plot.confusion(NAIVE, FRAME, np.where(Y == "adult", label, Y)),
        lambda label: el.NaiveBayes("gaussian").partial_fit(FRAME, Y).partial_fit(FRAME, np.full(60, label)),
    ],
)
def test_a_class_is_named_alike_everywhere(call):
    call("child")
    with pytest.raises(ValueError, match=r"^(label|of|y) holds the class 'adlt', not among the 2 known; "):
        call("adlt")


def test_suggestions():
    assert closest("Ledoit", ["auto", "ledoit-wolf"]) == ["ledoit-wolf"]
    assert closest("pca", ["PCA", "kde"]) == ["PCA"]
    assert closest("xyz", ["PCA", "kde"]) == []
    assert suggest(["a"], "abc") == "did you mean 'a'? Known: 'a', 'b', 'c'"
    assert suggest([], range(99)).endswith("15, …")


CONSTANT = np.column_stack([RNG.standard_normal((40, 2)), np.ones(40)])
WARNED = {
    "pca": lambda: el.PCA(1, standardize=True).fit(CONSTANT),
    "pca-transform": lambda: el.PCA(1, standardize=True).fit_transform(CONSTANT),
    "pipeline": lambda: make_pipeline(el.PCA(1, standardize=True)).fit(CONSTANT),
    "ppca": lambda: el.ProbabilisticPCA(1).fit(CONSTANT),
    "factor": lambda: el.FactorAnalysis(1).fit_transform(CONSTANT[:, [0, 1, 0]]),
    "mixture": lambda: el.GaussianMixture(1).fit(CONSTANT),
    "mixture-predict": lambda: el.GaussianMixture(1).fit_predict(CONSTANT),
    "kde": lambda: el.KernelDensity(bandwidth="lscv").fit(np.repeat([0.0, 1.0, 2.0], 20)[:, None]),
    "bandwidth": lambda: el.bandwidth(np.repeat([0.0, 1.0, 2.0], 20), "lscv"),
    "naive": lambda: el.NaiveBayes().fit(pd.DataFrame({"id": [f"row {i}" for i in range(40)]}), np.arange(40) % 2),
    "classifier": lambda: el.BayesClassifier(el.ProbabilisticPCA(1)).fit(CONSTANT, np.arange(40) % 2),
    "discriminant": lambda: el.LinearDiscriminant().fit(CONSTANT, np.arange(40) % 2),
    "kernel": lambda: el.KernelPCA(1, kernel="sigmoid", gamma=9.0, coef0=-5.0).fit(CONSTANT),
}


@pytest.mark.parametrize("name", WARNED)
def test_warnings_point_at_the_line_of_the_user(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        WARNED[name]()
    ours = [warning.filename for warning in caught if issubclass(warning.category, el.DataWarning | UserWarning)]
    assert ours
    assert set(ours) == {__file__}


def test_numbers_of_few_digits_are_compared_with_bounds_beyond_their_range():
    with pytest.raises(el.OptionError, match="sigma"):
        checks.width("sigma", np.float32(0.0))  # 1e-150 is 0 as a float32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert checks.real("tol", np.float32(0.5), 0.0) == checks.not_negative("tol", np.float16(0.5)) == 0.5

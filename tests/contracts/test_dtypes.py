"""float32 rows: what has their units, or shares them out, is float32; what is added and compared is float64."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import eigenlens as el
from eigenlens.arrays import to_numpy

RNG = np.random.default_rng(0)
Y = np.arange(60) % 3
X = (RNG.normal(size=(60, 4)) + 3.0 * Y[:, None] * [1.0, 0.7, 0.5, 0.6]).astype(np.float32)

MODELS = [
    el.PCA(2), el.SparsePCA(2), el.KernelPCA(2), el.ProbabilisticPCA(2), el.FactorAnalysis(1),
    el.GaussianMixture(2, random_state=0), el.MixtureModel(2, features="gaussian", random_state=0),
    el.KernelDensity(bandwidth=[1.0, 1.0, 1.0, 1.0]), el.NaiveBayes("gaussian"),
    el.BayesClassifier(el.GaussianMixture(1)), el.LinearDiscriminant(), el.QuadraticDiscriminant(),
]  # fmt: skip

SINGLE = ("transform", "inverse_transform", "impute", "denoise", "scores", "posterior", "sample", "predict_proba")
"""Methods whose results have the dtype of the rows."""

DOUBLE = (
    "score_samples", "density", "cdf", "decision_function", "predict_log_proba", "predict_joint_log_proba",
    "reconstruction_error", "cos2", "contributions",
)  # fmt: skip
"""Methods whose results are float64 whatever the rows are."""

TABLES = (el.NaiveBayes, el.MixtureModel)
SURE = (el.BayesClassifier, el.LinearDiscriminant, el.QuadraticDiscriminant)


def expected_dtype(model, method):
    """Return the dtype of what a method of a model returns for float32 rows, as the page on notation has it."""
    if isinstance(model, el.NaiveBayes) and method.startswith("predict"):
        return np.float32
    drawn_by_kind = method == "sample" and isinstance(model, TABLES)
    near_one = method == "predict_proba" and isinstance(model, SURE)
    return np.float32 if method in SINGLE and not drawn_by_kind and not near_one else np.float64


CASES = [
    pytest.param(model, method, id=f"{type(model).__name__}.{method}")
    for model in MODELS
    for method in (*SINGLE, *DOUBLE)
    if hasattr(model, method)
    and not isinstance(getattr(type(model), method, None), property)
    # `density` of these is an option, or takes a column and a class or component; cdf of a mixture takes one column.
    and not (method == "density" and not isinstance(model, el.KernelDensity))
    and not (method == "cdf" and isinstance(model, el.GaussianMixture))
]


def answer(model, method, rows):
    """Return what a method returns of rows, of their scores, or of no rows at all; of several results the first."""
    model.fit(rows, Y)
    given = {"sample": 3, "inverse_transform": None}.get(method, rows)
    given = model.transform(rows) if given is None else given
    found = getattr(model, method)(given)
    return found[0] if isinstance(found, tuple) else found


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize(("model", "method"), CASES)
def test_results_of_float32_rows(model, method, library):
    xp = pytest.importorskip(library)
    found = answer(model, method, xp.asarray(X))
    assert isinstance(found, xp.Tensor if library == "torch" else np.ndarray)
    assert to_numpy(found).dtype == expected_dtype(model, method)
    double = to_numpy(answer(model, method, xp.asarray(X.astype(np.float64))))
    assert double.dtype == np.float64
    if method != "sample":
        np.testing.assert_allclose(to_numpy(found), double, rtol=1e-3, atol=2e-4 * np.abs(double).max())


@pytest.mark.parametrize("model", MODELS[9:], ids=repr)
def test_logarithms_of_probabilities_near_one_keep_their_digits(model):
    rows, far = X.copy(), X.copy()
    rows[:, 0] += 4 * Y
    far[:, 0] += 4 * Y + 1
    logs = model.fit(rows, Y).predict_log_proba(far)
    near = logs[(logs > -1e-8) & (logs < -1e-15)]
    assert near.size
    np.testing.assert_allclose(np.log(model.predict_proba(far)), logs, rtol=1e-7, atol=1e-15)


@pytest.mark.parametrize("frame", ["pandas", "polars"])
@pytest.mark.parametrize("model", MODELS[5:7] + MODELS[8:9], ids=repr)
def test_responsibilities_of_float32_frames(model, frame):
    rows = importlib.import_module(frame).DataFrame({f"x{j}": X[:, j] for j in range(4)})
    assert model.fit(rows, Y).predict_proba(rows).dtype == np.float32

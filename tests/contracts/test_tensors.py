"""Arrays of other libraries: every model computes with them, and answers in the library that it was given.

array-api-strict has the functions of the array API standard and nothing else, so what works with it and with PyTorch
uses no function that another library might lack.
"""

from __future__ import annotations

import numpy as np
import pytest

import eigenlens as el
from eigenlens.arrays import to_numpy

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4)) @ RNG.standard_normal((4, 4)) + [0.0, 1.0, -1.0, 2.0]
INCOMPLETE = np.where(np.arange(240).reshape(60, 4) % 23 == 5, np.nan, X)
Y = (X[:, 0] > 0.0).astype(int)
W = np.arange(60) % 3 + 0.5


def transform(model, rows=X, **given):
    return lambda x: model.fit(x(rows), **given).transform(x(rows))


def answer(model, method, y=None):
    return lambda x: getattr(model.fit(x(X), y), method)(x(X))


def learned(model, name):
    return lambda x: getattr(model.fit(x(X), Y), name)


def draw(model):
    """Rows that a model draws, or the classes of such rows where it has classes."""

    def drawn(x):
        fitted = model.fit(x(X), Y)
        labelled = {"return_labels": True} if hasattr(fitted, "classes_") else {}
        found = fitted.sample(5, random_state=0, **labelled)
        return found[1] if labelled else found

    return drawn


CLASSIFIERS = (
    el.NaiveBayes(), el.BayesClassifier(el.GaussianMixture(1)), el.LinearDiscriminant(), el.QuadraticDiscriminant(),
)  # fmt: skip

CASES = {
    **{f"PCA {solver}": transform(el.PCA(2, solver=solver, random_state=0)) for solver in
       ("covariance", "gram", "svd", "lanczos", "randomized", "power")},
    "PCA standardized": transform(el.PCA(2, standardize=True)),
    "PCA weighted": transform(el.PCA(2), sample_weight=W),
    "PCA inverse": lambda x: (model := el.PCA(2).fit(x(X))).inverse_transform(model.transform(x(X))),
    "PCA incomplete": transform(el.PCA(2, missing="em"), INCOMPLETE),
    "SparsePCA": transform(el.SparsePCA(2, n_nonzero=2)),
    "SparsePCA inverse": lambda x: (model := el.SparsePCA(2).fit(x(X))).inverse_transform(model.transform(x(X))),
    **{f"KernelPCA {kernel}": transform(el.KernelPCA(2, kernel=kernel)) for kernel in
       ("rbf", "poly", "linear", "laplacian", "sigmoid", "cosine")},
    **{f"KernelPCA {way}": transform(el.KernelPCA(2, approximation=way, n_landmarks=20, random_state=0)) for way in
       ("rpcholesky", "nystroem", "fourier")},
    "KernelPCA weighted": transform(el.KernelPCA(2), sample_weight=W),
    "KernelPCA denoised": lambda x: el.KernelPCA(2).fit(x(X)).denoise(x(X)),
    "ProbabilisticPCA": transform(el.ProbabilisticPCA(2)),
    "ProbabilisticPCA imputed": lambda x: el.ProbabilisticPCA(2).fit(x(INCOMPLETE)).impute(x(INCOMPLETE)),
    "FactorAnalysis": transform(el.FactorAnalysis(1)),
    "GaussianMixture": lambda x: el.GaussianMixture(2, random_state=0).fit(x(X)).predict_proba(x(X)),
    "MixtureModel": lambda x: el.MixtureModel(2, n_init=2, random_state=0).fit(x(X)).predict_proba(x(X)),
    "NaiveBayes": lambda x: el.NaiveBayes().fit(x(X), Y).predict_proba(x(X)),
    "BayesClassifier": lambda x: el.BayesClassifier(el.GaussianMixture(1)).fit(x(X), Y).predict_proba(x(X)),
    "LinearDiscriminant": transform(el.LinearDiscriminant(), y=Y),
    "QuadraticDiscriminant": lambda x: el.QuadraticDiscriminant().fit(x(X), Y).predict_proba(x(X)),
    **{f"PCA {method}": answer(el.PCA(2), method) for method in
       ("score_samples", "reconstruction_error", "cos2", "contributions")},
    **{f"{type(model).__name__} score_samples": answer(model, "score_samples") for model in
       (el.ProbabilisticPCA(2), el.FactorAnalysis(1), el.GaussianMixture(2, random_state=0), el.KernelDensity())},
    "GaussianMixture cdf": lambda x: el.GaussianMixture(2, random_state=0).fit(x(X[:, :1])).cdf(x(X[:, 0])),
    "GaussianMixture predict": answer(el.GaussianMixture(2, random_state=0), "predict"),
    "MixtureModel imputed": lambda x: el.MixtureModel(2, random_state=0).fit(x(INCOMPLETE)).impute(x(INCOMPLETE)),
    "MixtureModel predict": answer(el.MixtureModel(2, n_init=2, random_state=0), "predict"),
    "MixtureModel score_samples": answer(el.MixtureModel(2, n_init=2, random_state=0), "score_samples"),
    "KernelDensity density": answer(el.KernelDensity(), "density"),
    **{f"{type(model).__name__} {method}": answer(model, method, Y) for model in CLASSIFIERS for method in
       ("predict", "predict_log_proba", "predict_joint_log_proba")},
    "LinearDiscriminant decision_function": answer(el.LinearDiscriminant(), "decision_function", Y),
    **{f"{type(model).__name__} {name}": learned(model, name) for model in CLASSIFIERS for name in
       ("class_prior_", "class_count_")},
    **{f"NaiveBayes {name}": learned(el.NaiveBayes("shared-gaussian"), name) for name in ("coef_", "intercept_")},
    "QuadraticDiscriminant shrinkage": learned(el.QuadraticDiscriminant(shrinkage=0.1), "shrinkage_"),
    "SparsePCA optimal": learned(el.SparsePCA(2), "optimal_"),
    "MixtureModel weights": learned(el.MixtureModel(2, n_init=2, random_state=0), "weights_"),
    "GaussianMixture incomplete": lambda x: el.GaussianMixture(2, random_state=0).fit(x(INCOMPLETE)).means_,
    **{f"{type(model).__name__} draw": draw(model) for model in (*CLASSIFIERS, el.PCA(2), el.KernelDensity())},
}  # fmt: skip


# A sigmoid kernel that is not definite and a Heywood case are warned of, with tensors as with arrays.
@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_a_tensor_gives_the_answer_of_the_array_as_a_tensor(library, name, dtype):
    expected = CASES[name](lambda rows: rows.astype(dtype))
    found = CASES[name](lambda rows: library.asarray(rows.astype(dtype)))
    assert type(found) is type(library.asarray(X))
    assert found.dtype == getattr(library, expected.dtype.name)
    # Sums are taken in another order; an answer in float32 is rounded, and its distances cancel.
    tolerance = 1e-9 if dtype == np.float64 else 2e-3
    np.testing.assert_allclose(to_numpy(found), expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


def test_a_class_derived_from_a_tensor_is_a_tensor(library):
    if library.__name__ != "torch":
        pytest.skip("array-api-strict has no derived classes")
    found = el.PCA(2).fit(library.nn.Parameter(library.asarray(X))).transform(library.asarray(X))
    np.testing.assert_allclose(to_numpy(found), el.PCA(2).fit(X).transform(X), atol=1e-9)

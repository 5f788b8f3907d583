"""Small fitted models of every kind that a file can hold, and questions to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

import eigenlens
from eigenlens import densities

X = np.random.default_rng(5).normal(size=(24, 3)) @ np.array([[2.0, 0.5, 0.1], [0.0, 1.0, 0.4], [0.0, 0.0, 0.3]]) + 1.0
Y = np.array(["left", "right", "middle"])[np.arange(24) % 3]
GAPS = np.where(np.random.default_rng(6).random(X.shape) < 0.1, np.nan, X)
COUNTS = np.random.default_rng(7).poisson(2.0, size=(24, 3)).astype(np.float64)
WORDS = np.column_stack([np.array(["red", "green", "blue"])[COUNTS[:, 0].astype(int) % 3], COUNTS[:, 1] > 1.0]).astype(
    object
)
BITS = (COUNTS > 1.0).astype(np.float64)
WEIGHTS = np.tile([1.0, 2.0, 0.5], 8)


def _table(model: Any) -> Any:
    """Return a model that remembers a table, as the command line leaves it."""
    model.table_ = {
        "text": {"separator": ";", "decimal": ",", "header": True, "na": ["-"], "skip": 1},
        "columns": {"id": "name", "label": ["kind"], "weight": "w"},
        "rows": 24,
        "digest": "0" * 64,
        "words": {"yes": "1"},
    }
    return model


def _mixture(covariance_type: str) -> Any:
    return eigenlens.GaussianMixture(2, covariance_type=covariance_type, n_init=2, random_state=0)


MODELS: dict[str, tuple[Callable[[], Any], Any]] = {
    "pca": (lambda: eigenlens.PCA(2).fit(X), X),
    "pca-standardize": (lambda: _table(eigenlens.PCA(2, standardize=True, whiten=True).fit(X)), X),
    "pca-rotation": (lambda: eigenlens.PCA(2, rotation="promax").fit(X.astype(np.float32)), X),
    "pca-uncentred": (lambda: eigenlens.PCA(2, center=False, random_state=3).partial_fit(X), X),
    "pca-columns-weighted": (lambda: eigenlens.PCA(0.9).fit(X, feature_weight=[1.0, 2.0, 3.0]), X),
    "spca": (lambda: eigenlens.SparsePCA(2, n_nonzero=[2, 1], standardize=True).fit(X), X),
    "kpca": (lambda: eigenlens.KernelPCA(2, gamma=0.1).fit(X), X),
    "kpca-poly-uncentred": (lambda: eigenlens.KernelPCA(2, kernel="poly", center=False, standardize=True).fit(X), X),
    "kpca-sparse": (lambda: eigenlens.KernelPCA(2, gamma=0.1).fit(sparse.csr_array(np.where(X > 1.0, X, 0.0))), X),
    "kpca-landmarks": (
        lambda: eigenlens.KernelPCA(2, approximation="nystroem", n_landmarks=9, preimage="ridge").fit(X),
        X,
    ),
    "kpca-fourier": (
        lambda: eigenlens.KernelPCA(2, approximation="fourier", n_landmarks=9, gamma=0.2, random_state=0).fit(X),
        X,
    ),
    "ppca": (lambda: eigenlens.ProbabilisticPCA("bic").fit(X), GAPS),
    "ppca-missing": (lambda: eigenlens.ProbabilisticPCA(1, standardize=True).fit(GAPS), GAPS),
    "fa": (lambda: eigenlens.FactorAnalysis(1).fit(X), GAPS),
    "fa-rotation": (lambda: eigenlens.FactorAnalysis(1, standardize=True, rotation="varimax").fit(GAPS), GAPS),
    **{
        f"gmm-{name}": (lambda name=name: _mixture(name).fit(X), GAPS)
        for name in ("full", "tied", "diag", "spherical", "ppca", "factor")
    },
    "gmm-partial": (lambda: _mixture("full").partial_fit(X), GAPS),
    "gmm-diag-partial": (lambda: _mixture("diag").partial_fit(X), GAPS),
    "mix": (lambda: eigenlens.MixtureModel(2, n_init=2, random_state=0).fit(WORDS), WORDS),
    "mix-gaussian": (lambda: eigenlens.MixtureModel(2, features="gaussian", n_init=2, random_state=0).fit(X), GAPS),
    "kde": (lambda: eigenlens.KernelDensity().fit(X[:, :1]), X[:, :1]),
    "kde-adaptive": (lambda: eigenlens.KernelDensity(bandwidth=0.4, adaptive=True).fit(X, sample_weight=WEIGHTS), X),
    "kde-matrix": (lambda: eigenlens.KernelDensity(bandwidth=np.cov(X.T)).fit(X), X),
    "kde-bounds": (
        lambda: eigenlens.KernelDensity(kernel="epanechnikov", bounds=(-9.0, None), boundary="renormalize").fit(X),
        X,
    ),
    "nb": (lambda: eigenlens.NaiveBayes().fit(X, Y), GAPS),
    "nb-kde": (lambda: eigenlens.NaiveBayes("kde").fit(GAPS, Y), GAPS),
    "nb-mixture": (lambda: eigenlens.NaiveBayes("mixture").fit(GAPS, Y), GAPS),
    "nb-words": (lambda: eigenlens.NaiveBayes(prior=[0.2, 0.3, 0.5], smoothing=0.5).fit(WORDS, Y), WORDS),
    "nb-bernoulli": (lambda: eigenlens.NaiveBayes("bernoulli").fit(BITS, np.arange(24) % 2), BITS),
    "nb-multinomial": (lambda: eigenlens.NaiveBayes("multinomial").fit(COUNTS, np.arange(24) % 2 == 1), COUNTS),
    "nb-complement": (lambda: eigenlens.NaiveBayes("complement").fit(COUNTS, Y), COUNTS),
    "nb-estimator": (lambda: eigenlens.NaiveBayes({0: eigenlens.KernelDensity(bandwidth=0.5)}).fit(X, Y), X),
    "bayes-gmm": (lambda: eigenlens.BayesClassifier(eigenlens.GaussianMixture(1)).fit(X, Y), X),
    "bayes-full": (lambda: eigenlens.BayesClassifier(densities.GaussianFamily()).fit(X, Y), X),
    "bayes-diagonal": (lambda: eigenlens.BayesClassifier(densities.GaussianFamily("diagonal")).fit(X, Y), X),
    "bayes-histogram": (
        lambda: eigenlens.BayesClassifier(densities.HistogramFamily([-9.0, 0.0, 9.0])).fit(X[:, :1], Y),
        X[:, :1],
    ),
    "bayes-kde-thin": (
        lambda: eigenlens.BayesClassifier(eigenlens.KernelDensity(bandwidth=0.5)).fit(np.c_[X, np.arange(24) % 3], Y),
        np.c_[X, np.arange(24) % 3],
    ),
    "bayes-ppca": (lambda: eigenlens.BayesClassifier(eigenlens.ProbabilisticPCA(1)).fit(X, Y), GAPS),
    "lda": (lambda: eigenlens.LinearDiscriminant().fit(X, Y), GAPS),
    "lda-standardize": (lambda: eigenlens.LinearDiscriminant(shrinkage=0.2, standardize=True).fit(X, Y), GAPS),
    "lda-wide": (lambda: eigenlens.LinearDiscriminant(shrinkage=0.2).fit(np.tile(X, 12), Y), np.tile(X, 12)),
    "qda": (lambda: eigenlens.QuadraticDiscriminant(prior=[0.2, 0.3, 0.5]).fit(X, Y), GAPS),
    "qda-wide": (lambda: eigenlens.QuadraticDiscriminant(shrinkage=0.3).fit(np.tile(X, 12), Y), np.tile(X, 12)),
}
"""Models by name: how each is fitted, and rows to ask it about."""

METHODS = (
    "transform",
    "inverse_transform",
    "predict",
    "predict_proba",
    "score_samples",
    "impute",
    "reconstruction_error",
)
LEARNED = (
    "explained_variance_ratio_", "components_", "noise_variance_", "loadings_", "weights_", "means_", "covariances_",
    "bandwidth_", "classes_", "n_iter_", "loglik_", "feature_names_in_", "eigenvalues_", "priors_", "n_samples_",
    "solver_",
)  # fmt: skip


@cache
def fitted(name: str) -> Any:
    """Return the fitted model of a name."""
    return MODELS[name][0]()


def answers(name: str, model: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a model says about its rows, and has learned; where it declines, the error of the package."""
    rows = MODELS[name][1]
    for question in (each for each in METHODS + LEARNED if hasattr(fitted(name), each)):
        try:
            answer = getattr(model, question)
            if question in METHODS:
                answer = answer(model.transform(rows) if question == "inverse_transform" else rows)
        except eigenlens.EigenlensError as error:
            answer = str(error)
        yield question, answer
    yield "parameters", repr(model.get_params(deep=False))

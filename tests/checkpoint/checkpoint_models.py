"""Every model whose fit makes passes, with rows for it: what checkpoints are tested with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eigenlens import (
    PCA,
    BayesClassifier,
    FactorAnalysis,
    GaussianMixture,
    KernelPCA,
    LinearDiscriminant,
    MixtureModel,
    NaiveBayes,
    ProbabilisticPCA,
    QuadraticDiscriminant,
    SparsePCA,
)

N, D = 240, 5


def _rows() -> np.ndarray:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((N, D)) @ rng.standard_normal((D, D)) + 2.0
    X[: N // 2] += 3.0
    return X


COMPLETE = _rows()
INCOMPLETE = np.where(np.random.default_rng(8).random((N, D)) < 0.1, np.nan, COMPLETE)
COUNTS = np.column_stack([COMPLETE[:, 0].round(), COMPLETE[:, 1] > 3.0]).astype(np.float64)
CLASSES = np.repeat(["a", "b"], N // 2)


class Case(NamedTuple):
    """An unfitted estimator, and the rows and classes that it is fitted to."""

    estimator: Any
    X: np.ndarray = COMPLETE
    y: np.ndarray | None = None

    @property
    def targets(self) -> tuple[Any, ...]:
        return () if self.y is None else (self.y,)


CASES = {
    **{f"pca {solver}": Case(PCA(2, solver=solver, random_state=3)) for solver in (
        "covariance", "gram", "svd", "lanczos", "randomized", "power")},
    "pca with missing values": Case(PCA(2, missing="em"), INCOMPLETE),
    "pca by cross-validation": Case(PCA("cv", random_state=0)),
    "sparse pca": Case(SparsePCA(2, n_nonzero=3)),
    "ppca": Case(ProbabilisticPCA(2)),
    "ppca by em": Case(ProbabilisticPCA(2, solver="em", random_state=0)),
    "ppca with missing values": Case(ProbabilisticPCA(2), INCOMPLETE),
    "ppca by bic": Case(ProbabilisticPCA("bic"), INCOMPLETE),
    "factor analysis": Case(FactorAnalysis(2)),
    "factor analysis by cross-validation": Case(FactorAnalysis("cv", random_state=0)),
    "factor analysis with missing values": Case(FactorAnalysis(2, rotation="varimax"), INCOMPLETE),
    **{f"kernel pca {name}": Case(KernelPCA(2, approximation=name, n_landmarks=30, random_state=0)) for name in (
        "rpcholesky", "nystroem")},
    "kernel pca fourier": Case(KernelPCA(2, approximation="fourier", random_state=0)),
    **{f"mixture {kind}": Case(GaussianMixture(2, covariance_type=kind, n_init=2, random_state=0)) for kind in (
        "full", "tied", "diag", "spherical", "ppca", "factor")},
    "mixture with missing values": Case(GaussianMixture(2, n_init=2, random_state=0), INCOMPLETE),
    "latent classes": Case(MixtureModel(2, features="categorical", n_init=2, random_state=0), COUNTS),
    "mixture of families": Case(MixtureModel(2, n_init=2, random_state=0)),
    "naive bayes": Case(NaiveBayes(), COMPLETE, CLASSES),
    "naive bayes of categories": Case(NaiveBayes("categorical"), COUNTS, CLASSES),
    "linear discriminant": Case(LinearDiscriminant(), COMPLETE, CLASSES),
    "linear discriminant with missing values": Case(LinearDiscriminant(), INCOMPLETE, CLASSES),
    "quadratic discriminant": Case(QuadraticDiscriminant(), COMPLETE, CLASSES),
    "bayes classifier": Case(BayesClassifier(GaussianMixture(2, n_init=2, random_state=0)), COMPLETE, CLASSES),
}  # fmt: skip

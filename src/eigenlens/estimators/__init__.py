"""The scikit-learn faces, and reading them back from files."""

from __future__ import annotations

import os
from typing import Any

from eigenlens import io
from eigenlens.errors import ModelFileError
from eigenlens.estimators.bayes import BayesClassifier
from eigenlens.estimators.discriminant import LinearDiscriminant, QuadraticDiscriminant
from eigenlens.estimators.factor import FactorAnalysis
from eigenlens.estimators.kernel_density import KernelDensity
from eigenlens.estimators.kernel_pca import KernelPCA
from eigenlens.estimators.mixture import GaussianMixture
from eigenlens.estimators.naive_bayes import NaiveBayes
from eigenlens.estimators.pca import PCA
from eigenlens.estimators.ppca import ProbabilisticPCA

__all__ = [
    "ESTIMATORS",
    "PCA",
    "BayesClassifier",
    "FactorAnalysis",
    "GaussianMixture",
    "KernelDensity",
    "KernelPCA",
    "LinearDiscriminant",
    "NaiveBayes",
    "ProbabilisticPCA",
    "QuadraticDiscriminant",
    "load",
]

_ALL = (
    PCA, KernelPCA, ProbabilisticPCA, FactorAnalysis, GaussianMixture, KernelDensity, NaiveBayes, BayesClassifier,
    LinearDiscriminant, QuadraticDiscriminant,
)  # fmt: skip

ESTIMATORS: dict[str, Any] = {estimator.__name__: estimator for estimator in _ALL}
"""Every estimator that can be saved, by the name that its files carry."""


def load(path: str | os.PathLike[str]) -> Any:
    """The estimator that `save` wrote to `path`. Nothing in the file is executed."""
    kind, arrays, header = io.read(path)
    if kind not in ESTIMATORS:
        raise ModelFileError(
            f"{os.fspath(path)} holds a {kind!r}, which this version does not know; upgrade eigenlens."
        )
    return ESTIMATORS[kind]._restored(arrays, header)

"""The list of models: the one place that says which there are and where each one's parts live.

Parts are named by strings and imported on first use, so that every package may ask the catalogue, from the public
names of `eigenlens` and the command line to a classifier that reads back a density of any other package.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

__all__ = ["MODELS", "ModelEntry", "estimator_class"]


@dataclass(frozen=True)
class ModelEntry:
    """One model: `home`, the module that defines its estimator."""

    home: str


MODELS: dict[str, ModelEntry] = {
    "PCA": ModelEntry("eigenlens.pca.estimator"),
    "KernelPCA": ModelEntry("eigenlens.kernel_pca.estimator"),
    "ProbabilisticPCA": ModelEntry("eigenlens.latent.ppca.estimator"),
    "FactorAnalysis": ModelEntry("eigenlens.latent.factor.estimator"),
    "GaussianMixture": ModelEntry("eigenlens.mixture.estimator"),
    "KernelDensity": ModelEntry("eigenlens.kde.estimator"),
    "NaiveBayes": ModelEntry("eigenlens.bayes.naive.estimator"),
    "BayesClassifier": ModelEntry("eigenlens.bayes.classifier.estimator"),
    "LinearDiscriminant": ModelEntry("eigenlens.bayes.discriminant.linear"),
    "QuadraticDiscriminant": ModelEntry("eigenlens.bayes.discriminant.quadratic"),
}
"""Every model by the name of its estimator class, which is also the name that its files carry."""


def estimator_class(name: str) -> Any:
    """Return the estimator class of a model of the catalogue.

    >>> estimator_class("PCA").__name__
    'PCA'
    """
    return getattr(importlib.import_module(MODELS[name].home), name)

"""Eigenlens: find structure and estimate densities in data.

>>> import eigenlens
>>> food = eigenlens.datasets.load("uk-food")
>>> eigenlens.PCA(n_components=2).fit(food.data).explained_variance_ratio_.round(3)
array([0.674, 0.291])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers, which do not read the catalogue; a test compares the two
    from eigenlens import datasets as datasets
    from eigenlens import densities as densities
    from eigenlens import plot as plot
    from eigenlens import textbook as textbook
    from eigenlens.bayes.classifier.estimator import BayesClassifier as BayesClassifier
    from eigenlens.bayes.discriminant.estimator import LinearDiscriminant as LinearDiscriminant
    from eigenlens.bayes.discriminant.estimator import QuadraticDiscriminant as QuadraticDiscriminant
    from eigenlens.bayes.latent_classes.estimator import MixtureModel as MixtureModel
    from eigenlens.bayes.naive.estimator import NaiveBayes as NaiveBayes
    from eigenlens.checkpoint.passes import Checkpoint as Checkpoint
    from eigenlens.comparison.compare import compare as compare
    from eigenlens.data.device_rows import fitting as fitting
    from eigenlens.data.files.scan import scan as scan
    from eigenlens.data.source import Source as Source
    from eigenlens.data.source import accumulate as accumulate
    from eigenlens.errors import ConvergenceWarning as ConvergenceWarning
    from eigenlens.errors import DataError as DataError
    from eigenlens.errors import DataWarning as DataWarning
    from eigenlens.errors import EigenlensError as EigenlensError
    from eigenlens.errors import OptionError as OptionError
    from eigenlens.estimator.storage import load as load
    from eigenlens.estimator.write_results import write_results as write_results
    from eigenlens.explorer import explore as explore
    from eigenlens.genotypes.estimator import GenotypePCA as GenotypePCA
    from eigenlens.kde.bandwidth import bandwidth as bandwidth
    from eigenlens.kde.estimator import KernelDensity as KernelDensity
    from eigenlens.kernel_pca.choose_gamma import choose_gamma as choose_gamma
    from eigenlens.kernel_pca.estimator import KernelPCA as KernelPCA
    from eigenlens.kernel_pca.gram import gram as gram
    from eigenlens.latent.factor.adequacy import bartlett_sphericity as bartlett_sphericity
    from eigenlens.latent.factor.adequacy import kmo as kmo
    from eigenlens.latent.factor.estimator import FactorAnalysis as FactorAnalysis
    from eigenlens.latent.factor.reliability import cronbach_alpha as cronbach_alpha
    from eigenlens.latent.ppca.estimator import ProbabilisticPCA as ProbabilisticPCA
    from eigenlens.linalg.principal_angles import principal_angles as principal_angles
    from eigenlens.linalg.procrustes import procrustes as procrustes
    from eigenlens.mixture.estimator import GaussianMixture as GaussianMixture
    from eigenlens.mixture.select import select_mixture as select_mixture
    from eigenlens.pca.estimator import PCA as PCA
    from eigenlens.pca.select_components import select_components as select_components
    from eigenlens.reporting import report as report
    from eigenlens.sparse_pca.estimator import SparsePCA as SparsePCA
    from eigenlens.versions import show_versions as show_versions

__version__ = "0.1.0"

_FUNCTIONS = {
    "Checkpoint": "eigenlens.checkpoint.passes",
    "ConvergenceWarning": "eigenlens.errors",
    "DataError": "eigenlens.errors",
    "DataWarning": "eigenlens.errors",
    "EigenlensError": "eigenlens.errors",
    "OptionError": "eigenlens.errors",
    "Source": "eigenlens.data.source",
    "accumulate": "eigenlens.data.source",
    "bandwidth": "eigenlens.kde.bandwidth",
    "bartlett_sphericity": "eigenlens.latent.factor.adequacy",
    "choose_gamma": "eigenlens.kernel_pca.choose_gamma",
    "compare": "eigenlens.comparison.compare",
    "cronbach_alpha": "eigenlens.latent.factor.reliability",
    "explore": "eigenlens.explorer",
    "fitting": "eigenlens.data.device_rows",
    "gram": "eigenlens.kernel_pca.gram",
    "kmo": "eigenlens.latent.factor.adequacy",
    "load": "eigenlens.estimator.storage",
    "principal_angles": "eigenlens.linalg.principal_angles",
    "procrustes": "eigenlens.linalg.procrustes",
    "report": "eigenlens.reporting",
    "scan": "eigenlens.data.files.scan",
    "select_components": "eigenlens.pca.select_components",
    "select_mixture": "eigenlens.mixture.select",
    "show_versions": "eigenlens.versions",
    "write_results": "eigenlens.estimator.write_results",
}
"""Public names besides the models, by the module that defines each."""

_MODULES = ("datasets", "densities", "plot", "textbook")


def __getattr__(name: str) -> Any:
    """Return a public name, imported on first use and kept, so that the command line starts at once."""
    if name in _MODULES:
        found: Any = importlib.import_module(f"eigenlens.{name}")
    elif name in _FUNCTIONS:
        found = getattr(importlib.import_module(_FUNCTIONS[name]), name)
    else:
        found = _from_catalogue(name)
    globals()[name] = found
    return found


def _from_catalogue(name: str) -> Any:
    """Return a model, or the list of all public names; the catalogue is read on first use too."""
    catalogue = importlib.import_module("eigenlens.catalogue")
    if name == "__all__":
        return sorted([*catalogue.MODELS, *_FUNCTIONS, *_MODULES])
    if name not in catalogue.MODELS:
        here = importlib.import_module("eigenlens.estimator.names_elsewhere").CLASSES_ELSEWHERE.get(name)
        raise AttributeError(f"module 'eigenlens' has no attribute {name!r}{f'; use {here}' if here else ''}")
    return catalogue.import_part(catalogue.MODELS[name].estimator)


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})

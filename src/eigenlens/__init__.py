"""Eigenlens: find structure and estimate densities in data.

>>> import eigenlens
>>> food = eigenlens.datasets.load("uk-food")
>>> eigenlens.PCA(n_components=2).fit(food.data).explained_variance_ratio_.round(3)
array([0.674, 0.291])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from eigenlens.catalogue import MODELS

if TYPE_CHECKING:
    from eigenlens import datasets, densities
    from eigenlens.bayes.classifier.estimator import BayesClassifier
    from eigenlens.bayes.discriminant.linear import LinearDiscriminant
    from eigenlens.bayes.discriminant.quadratic import QuadraticDiscriminant
    from eigenlens.bayes.naive.estimator import NaiveBayes
    from eigenlens.comparison.compare import compare
    from eigenlens.data.files.scan import scan
    from eigenlens.data.source import Source, accumulate
    from eigenlens.errors import ConvergenceWarning, DataError, DataWarning, EigenlensError, OptionError
    from eigenlens.estimator.storage import load
    from eigenlens.kde.bandwidth import bandwidth
    from eigenlens.kde.estimator import KernelDensity
    from eigenlens.kernel_pca.choose_gamma import choose_gamma
    from eigenlens.kernel_pca.estimator import KernelPCA
    from eigenlens.latent.factor.adequacy import bartlett_sphericity, kmo
    from eigenlens.latent.factor.estimator import FactorAnalysis
    from eigenlens.latent.ppca.estimator import ProbabilisticPCA
    from eigenlens.mixture.estimator import GaussianMixture
    from eigenlens.mixture.select import select_mixture
    from eigenlens.pca.estimator import PCA
    from eigenlens.pca.select_components import select_components
    from eigenlens.reporting import report
    from eigenlens.versions import show_versions

__version__ = "0.1.0"
__all__ = [
    "PCA",
    "BayesClassifier",
    "ConvergenceWarning",
    "DataError",
    "DataWarning",
    "EigenlensError",
    "FactorAnalysis",
    "GaussianMixture",
    "KernelDensity",
    "KernelPCA",
    "LinearDiscriminant",
    "NaiveBayes",
    "OptionError",
    "ProbabilisticPCA",
    "QuadraticDiscriminant",
    "Source",
    "accumulate",
    "bandwidth",
    "bartlett_sphericity",
    "choose_gamma",
    "compare",
    "datasets",
    "densities",
    "kmo",
    "load",
    "plot",
    "report",
    "scan",
    "select_components",
    "select_mixture",
    "show_versions",
]

_HOMES = {
    "eigenlens.data.files.scan": ("scan",),
    "eigenlens.data.source": ("Source", "accumulate"),
    "eigenlens.datasets": ("datasets",),
    "eigenlens.errors": ("ConvergenceWarning", "DataError", "DataWarning", "EigenlensError", "OptionError"),
    "eigenlens.reporting": ("report",),
    "eigenlens.densities": ("densities",),
    "eigenlens.estimator.storage": ("load",),
    "eigenlens.kernel_pca.choose_gamma": ("choose_gamma",),
    "eigenlens.comparison.compare": ("compare",),
    "eigenlens.mixture.select": ("select_mixture",),
    "eigenlens.latent.factor.adequacy": ("bartlett_sphericity", "kmo"),
    "eigenlens.kde.bandwidth": ("bandwidth",),
    "eigenlens.pca.select_components": ("select_components",),
    "eigenlens.plot": ("plot",),
    "eigenlens.versions": ("show_versions",),
}
"""Where each public name lives. All are imported on first use, so that the command line can answer at once."""

_LATE = {name: home for home, names in _HOMES.items() for name in names}
_LATE |= {name: entry.home for name, entry in MODELS.items()}


def __getattr__(name: str) -> Any:
    """A public name, imported on first use and kept."""
    if name not in _LATE:
        raise AttributeError(f"module 'eigenlens' has no attribute {name!r}")
    module = importlib.import_module(_LATE[name])
    found = module if module.__name__ == f"eigenlens.{name}" else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

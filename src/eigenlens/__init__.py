"""Eigenlens: find structure and estimate densities in data.

>>> import eigenlens
>>> food = eigenlens.datasets.load("uk-food")
>>> eigenlens.PCA(n_components=2).fit(food.data).explained_variance_ratio_.round(3)
array([0.674, 0.291])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigenlens import datasets, densities, plot
    from eigenlens.app.report import report
    from eigenlens.data.files import scan
    from eigenlens.data.source import Source, accumulate
    from eigenlens.errors import ConvergenceWarning, DataError, DataWarning, EigenlensError, OptionError
    from eigenlens.estimators import (
        PCA,
        BayesClassifier,
        FactorAnalysis,
        GaussianMixture,
        KernelDensity,
        KernelPCA,
        LinearDiscriminant,
        NaiveBayes,
        ProbabilisticPCA,
        QuadraticDiscriminant,
        load,
    )
    from eigenlens.estimators.compare import compare
    from eigenlens.estimators.select_mixture import select_mixture
    from eigenlens.fitting.adequacy import bartlett_sphericity, kmo
    from eigenlens.fitting.bandwidth import bandwidth
    from eigenlens.fitting.choose import select_components
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
    "eigenlens.data.files": ("scan",),
    "eigenlens.data.source": ("Source", "accumulate"),
    "eigenlens.datasets": ("datasets",),
    "eigenlens.errors": ("ConvergenceWarning", "DataError", "DataWarning", "EigenlensError", "OptionError"),
    "eigenlens.app.report": ("report",),
    "eigenlens.densities": ("densities",),
    "eigenlens.estimators": (
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
    ),
    "eigenlens.estimators.compare": ("compare",),
    "eigenlens.estimators.select_mixture": ("select_mixture",),
    "eigenlens.fitting.adequacy": ("bartlett_sphericity", "kmo"),
    "eigenlens.fitting.bandwidth": ("bandwidth",),
    "eigenlens.fitting.choose": ("select_components",),
    "eigenlens.plot": ("plot",),
    "eigenlens.versions": ("show_versions",),
}
"""Where each public name lives. All are imported on first use, so that the command line can answer at once."""

_LATE = {name: home for home, names in _HOMES.items() for name in names}


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

"""Eigenlens: find structure and estimate densities in data.

>>> import eigenlens
>>> food = eigenlens.datasets.load("uk-food")
>>> eigenlens.PCA(n_components=2).fit(food.data).explained_variance_ratio_.round(3)
array([0.674, 0.291])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from eigenlens import datasets
from eigenlens.data.files import scan
from eigenlens.data.source import Source, accumulate
from eigenlens.errors import ConvergenceWarning, DataError, DataWarning, EigenlensError, OptionError
from eigenlens.estimators import PCA, FactorAnalysis, KernelPCA, ProbabilisticPCA, load
from eigenlens.versions import show_versions

if TYPE_CHECKING:
    from eigenlens import plot
    from eigenlens.fitting.choose import select_components

__version__ = "0.1.0"
__all__ = [
    "PCA",
    "ConvergenceWarning",
    "DataError",
    "DataWarning",
    "EigenlensError",
    "FactorAnalysis",
    "KernelPCA",
    "OptionError",
    "ProbabilisticPCA",
    "Source",
    "accumulate",
    "datasets",
    "load",
    "plot",
    "scan",
    "select_components",
    "show_versions",
]

_LATE = {"plot": "eigenlens.plot", "select_components": "eigenlens.fitting.choose"}


def __getattr__(name: str) -> Any:
    """Names whose modules are imported on first use."""
    if name not in _LATE:
        raise AttributeError(f"module 'eigenlens' has no attribute {name!r}")
    module = importlib.import_module(_LATE[name])
    return module if module.__name__ == f"eigenlens.{name}" else getattr(module, name)

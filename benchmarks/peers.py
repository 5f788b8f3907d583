"""The contestants by name. Each takes rows, or the path of a file, and a number of components, and returns a `Fit`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Fit:
    """Explained variances (k,), what to say of the fit, passes over the rows, and the share of them that was fitted."""

    variances: np.ndarray
    note: str = ""
    passes: int = 0
    share: float = 1.0


def eigenlens(X: Any, k: int | float, solver: str = "auto") -> Fit:
    """Ours. The model's variances are float64 even where the attribute is float32, as the rows are."""
    from eigenlens import PCA

    pca = PCA(k, solver=solver, random_state=0).fit(X)
    return Fit(pca.model_.variances, pca.solver_.solver, pca.solver_.passes)


def scikit_learn(X: Any, k: int | float, solver: str = "auto") -> Fit:
    from sklearn.decomposition import PCA

    pca = PCA(k, svd_solver=solver, random_state=0).fit(X)
    return Fit(pca.explained_variance_, getattr(pca, "_fit_svd_solver", solver))


def intelex(X: Any, k: int | float) -> Fit:
    from sklearnex.decomposition import PCA

    pca = PCA(k, random_state=0).fit(X)
    note = "oneDAL" if hasattr(pca, "_onedal_estimator") else "fell back to scikit-learn"
    return Fit(pca.explained_variance_, note)


def product(X: np.ndarray, k: int | float) -> Fit:
    """Not a PCA: the product X'X that any route through the covariance needs, for scale."""
    X.T @ X
    return Fit(np.zeros(0), "no centring, no eigenvalues")


def eigenlens_file(path: str, k: int) -> Fit:
    from eigenlens import scan

    return eigenlens(scan(path), k)


def incremental(path: str, k: int, share: float = 1.0, batch: int = 10_000) -> Fit:
    """IncrementalPCA by batches of a memory map, of the first `share` of the rows."""
    from sklearn.decomposition import IncrementalPCA

    X = np.load(path, mmap_mode="r")
    rows = max(batch, round(len(X) * share)) if len(X) > batch else len(X)
    pca = IncrementalPCA(k)
    for start in range(0, rows, batch):
        pca.partial_fit(X[start : start + batch])
    return Fit(pca.explained_variance_, f"batches of {batch:,} rows", 1, rows / len(X))


def dask_ml(path: str, k: int, solver: str) -> Fit:
    import dask.array
    from dask_ml.decomposition import PCA

    X = np.load(path, mmap_mode="r")
    rows = dask.array.from_array(X, chunks=(min(10_000, len(X)), X.shape[1]))
    pca = PCA(k, svd_solver=solver, random_state=0).fit(rows)
    return Fit(np.asarray(pca.explained_variance_), "chunks of 10,000 rows")


CONTESTANTS: dict[str, Callable[..., Fit]] = {
    "Eigenlens": eigenlens,
    "Eigenlens svd": partial(eigenlens, solver="svd"),
    "scikit-learn": scikit_learn,
    "scikit-learn full": partial(scikit_learn, solver="full"),
    "scikit-learn covariance_eigh": partial(scikit_learn, solver="covariance_eigh"),
    "scikit-learn arpack": partial(scikit_learn, solver="arpack"),
    "scikit-learn randomized": partial(scikit_learn, solver="randomized"),
    "scikit-learn-intelex": intelex,
    "NumPy X'X": product,
    "Eigenlens .npy": eigenlens_file,
    "Eigenlens Parquet": eigenlens_file,
    "scikit-learn IncrementalPCA": incremental,
    "dask-ml tsqr": partial(dask_ml, solver="tsqr"),
    "dask-ml randomized": partial(dask_ml, solver="randomized"),
}

NEEDS = {"scikit-learn-intelex": "sklearnex.decomposition", "dask-ml": "dask_ml.decomposition"}
"""Libraries that may be missing, and what is imported from them."""


IMPORTS = {
    "Eigenlens Parquet": ("eigenlens", "polars"),
    "Eigenlens": ("eigenlens",),
    "scikit-learn-intelex": ("sklearnex.decomposition",),
    "scikit-learn": ("sklearn.decomposition",),
    "dask-ml": ("dask.array", "dask_ml.decomposition"),
}
"""What to import before the clock starts, by the beginning of a name; the first that fits."""


def prepare(name: str) -> None:
    """Import what a contestant needs, so that imports are not timed."""
    modules = next((modules for start, modules in IMPORTS.items() if name.startswith(start)), ())
    for module in modules:
        importlib.import_module(module)


def missing() -> dict[str, str]:
    """Peers that cannot run here, and why: they are left out and named."""
    reasons = {}
    for library, module in NEEDS.items():
        try:
            importlib.import_module(module)
        except Exception as error:  # a peer may fail to import in any way; that must not stop the others
            reasons[library] = f"{type(error).__name__}: {error}"
    return reasons


def available(names: tuple[str, ...], absent: dict[str, str]) -> tuple[str, ...]:
    """The names whose library is here."""
    return tuple(name for name in names if not any(name.startswith(library) for library in absent))


def is_ours(name: str) -> bool:
    return name.startswith("Eigenlens")


def is_peer(name: str) -> bool:
    """Whether a contestant does the same work: a bare product does not."""
    return not is_ours(name) and name != "NumPy X'X"


def versions() -> dict[str, str]:
    """Versions of all that takes part."""
    found = {}
    libraries = ("eigenlens", "numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "dask", "dask-ml", "polars")
    for library in libraries:
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            module = importlib.import_module("eigenlens") if library == "eigenlens" else None
            found[library] = getattr(module, "__version__", "not installed")
    return found

"""The contestants by name. Each takes rows, or the path of a file, and a number of components, and returns a `Fit`.

Those of `READY` take what that made of the rows before the clock started.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Fit:
    """What a contestant found.

    Attributes:
        variances: (k,) explained, or eigenvalues of the centred Gram matrix.
        note: what to say of the fit.
        passes: over the rows, or over the Gram matrix.
        share: of the rows that was fitted.
        kernel_bytes: of the kernel values that a fit is made of: n² of them, or n times the landmarks.
        left_out: the share of the trace that an approximation certifies to have left out.
    """

    variances: np.ndarray
    note: str = ""
    passes: int = 0
    share: float = 1.0
    kernel_bytes: float = float("nan")
    left_out: float = float("nan")


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


def kernel_pca(X: np.ndarray, k: int, dtype: str | None = None) -> Fit:
    """Ours, exact, with the Gaussian kernel and gamma = 1/d, which is the peer's choice too."""
    from eigenlens import KernelPCA

    pca = KernelPCA(k, random_state=0).fit(X if dtype is None else X.astype(dtype))
    size = float(len(X)) ** 2 * np.dtype(dtype or X.dtype).itemsize
    return Fit(pca.model_.eigenvalues, pca.solver_.solver, pca.solver_.passes, kernel_bytes=size)


def scikit_learn_kernel_pca(X: np.ndarray, k: int, solver: str) -> Fit:
    from sklearn.decomposition import KernelPCA

    pca = KernelPCA(k, kernel="rbf", eigen_solver=solver, random_state=0).fit(X)
    return Fit(pca.eigenvalues_, solver, kernel_bytes=float(len(X)) ** 2 * X.dtype.itemsize)


def pivoted_kernel_pca(X: np.ndarray, k: int, share: float = 1.0, error: float = 0.01) -> Fit:
    """Ours by randomly pivoted Cholesky of the first `share` of the rows, leaving out at most `error` of the trace."""
    from eigenlens import KernelPCA

    rows = X[: round(len(X) * share)]
    pca = KernelPCA(k, approximation="rpcholesky", n_landmarks=error, random_state=0).fit(rows)
    landmarks, left_out = len(pca.model_.rows), float(pca.approximation_error_)
    note = f"{landmarks:,} landmarks leave out {left_out:.3%} of the trace"
    return Fit(pca.model_.eigenvalues, note, pca.solver_.passes, share, 8.0 * len(rows) * landmarks, left_out)


def fitted(estimator: Callable[[int], Any]) -> Callable[[np.ndarray, int], tuple[Any, np.ndarray]]:
    """(rows, k) → the estimator fitted to the first of them, and the others."""

    def ready(X: np.ndarray, k: int) -> tuple[Any, np.ndarray]:
        train, new = parted(X)
        return estimator(k).fit(train), new

    return ready


def _kernel_pca(k: int) -> Any:
    from eigenlens import KernelPCA

    return KernelPCA(k, random_state=0)


def _scikit_learn_kernel_pca(k: int) -> Any:
    from sklearn.decomposition import KernelPCA

    return KernelPCA(k, kernel="rbf", eigen_solver="arpack", random_state=0)


def parted(X: np.ndarray, most: int = 5_000) -> tuple[np.ndarray, np.ndarray]:
    """Rows to fit a model to, and new ones to transform."""
    m = min(most, len(X) // 2)
    return X[:m], X[m:]


def transform(ready: tuple[Any, np.ndarray], k: int) -> Fit:
    """Scores of new rows by a model fitted before; as variances, the mean squares of the scores."""
    pca, new = ready
    return Fit(mean_squares(pca.transform(new)), f"{len(new):,} new rows")


def mean_squares(Z: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", Z, Z, dtype=np.float64) / len(Z)


def ready_products(X: np.ndarray, k: int) -> tuple[np.ndarray, ...]:
    train, new = parted(X)
    return new, np.ascontiguousarray(2.0 / X.shape[1] * train.T), np.full((len(train), k), 1.0 / len(train), X.dtype)


def exponentials(ready: tuple[np.ndarray, ...], k: int, side: int = 256, width: int = 1_250) -> Fit:
    """No transform, but the arithmetic of one: exp(2 gamma x·y), up to factors of x and of y, times k columns.

    Tiles stay in cache and are used again, and every core has its own, so nothing is left to save but the arithmetic.
    """
    from threadpoolctl import threadpool_limits

    new, Yt, A = ready
    Z = np.zeros((len(new), k), new.dtype)
    cores = os.cpu_count() or 1

    def work(rows: np.ndarray) -> None:
        tile, part = np.empty((side, width), new.dtype), np.empty((side, k), new.dtype)
        for i in rows:
            x, z = new[i : i + side], Z[i : i + side]
            for j in range(0, Yt.shape[1], width):
                y = Yt[:, j : j + width]
                t, p = tile[: len(x), : y.shape[1]], part[: len(x)]
                np.exp(np.matmul(x, y, out=t), out=t)
                z += np.matmul(t, A[j : j + width], out=p)

    with threadpool_limits(1), ThreadPoolExecutor(cores) as pool:
        list(pool.map(work, np.array_split(np.arange(0, len(new), side), cores)))
    return Fit(np.zeros(0), "no distances, no centring, no scores")


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
    "Eigenlens KernelPCA": kernel_pca,
    "Eigenlens KernelPCA float32": partial(kernel_pca, dtype="float32"),
    "Eigenlens KernelPCA rpcholesky": pivoted_kernel_pca,
    "Eigenlens KernelPCA rpcholesky, 1/2": partial(pivoted_kernel_pca, share=0.5),
    "Eigenlens KernelPCA rpcholesky, 1/4": partial(pivoted_kernel_pca, share=0.25),
    "Eigenlens KernelPCA transform": transform,
    "scikit-learn KernelPCA arpack": partial(scikit_learn_kernel_pca, solver="arpack"),
    "scikit-learn KernelPCA randomized": partial(scikit_learn_kernel_pca, solver="randomized"),
    "scikit-learn KernelPCA dense": partial(scikit_learn_kernel_pca, solver="dense"),
    "scikit-learn KernelPCA transform": transform,
    "NumPy GEMM + exp": exponentials,
}

READY: dict[str, Callable[[np.ndarray, int], Any]] = {
    "Eigenlens KernelPCA transform": fitted(_kernel_pca),
    "scikit-learn KernelPCA transform": fitted(_scikit_learn_kernel_pca),
    "NumPy GEMM + exp": ready_products,
}
"""What is done before the clock starts: (rows, k) → what the contestant of that name takes in place of the rows."""

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


def ready(name: str, X: Any, k: int | float) -> Any:
    """What a contestant takes: the rows, or what is made of them before the clock starts."""
    return READY[name](X, int(k)) if name in READY else X


def few(name: str, k: int | float) -> int:
    """Rows for a fit that only loads libraries: a kernel matrix must be large enough for the threads to start."""
    if "KernelPCA" in name:
        return 1_000
    return 4 * int(k) if k >= 1 else 200


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
    """Whether a contestant does the same work: the bare arithmetic in NumPy does not."""
    return not is_ours(name) and not name.startswith("NumPy")


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

"""The cases: rows, contestants, truth, arithmetic and targets, each a value in the dictionary `CASES`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import data
import reference
from peers import Fit
from targets import Target, faster, lean, resident, right, slower_at_most

DENSE = ("Eigenlens", "scikit-learn", "scikit-learn-intelex", "NumPy X'X")


@dataclass(frozen=True)
class Case:
    """One line of the table.

    Attributes:
        shape, small: (n, d) in full and for trying the benchmark itself.
        k: components, or the share of variance.
        make: (n, d) → rows in memory; None where the rows are written to files (`files`).
        truth: rows → eigenvalues, descending.
        flops: (n, d, our fit) → the arithmetic that cannot be avoided.
        read: (bytes of the rows, our fit) → the bytes that must be read.
        show_first: print the first variance, for data that some contestants get wrong.
        show_all: print the error of every singular value.
    """

    shape: tuple[int, int]
    small: tuple[int, int]
    k: int | float
    what: str
    make: Callable[[int, int], Any] | None
    contestants: tuple[str, ...]
    targets: tuple[Target, ...]
    truth: Callable[[Any], np.ndarray] = field(default=lambda X: np.zeros(0))
    dtype: str = "float64"
    flops: Callable[[int, int, Fit], float] = lambda n, d, fit: float(n) * d * min(n, d)
    read: Callable[[float, Fit], float] = lambda size, fit: size
    show_first: bool = False
    show_all: bool = False

    @property
    def files(self) -> bool:
        return self.make is None

    def sizes(self, small: bool) -> tuple[int, int]:
        return self.small if small else self.shape

    def title(self, small: bool = False) -> str:
        n, d = self.sizes(small)
        return f"{n:,}×{d:,}, {self.what}"


def leading(k: int | None) -> Callable[[Any], np.ndarray]:
    return lambda X: reference.variances(X, k)


def _tall(
    shape: tuple[int, int], k: int, dtype: str, *targets: Target, small: tuple[int, int], mean: float = 0.0
) -> Case:
    what = f"k={k}, {dtype}" + (f", mean {mean:g}" if mean else "")
    make = partial(data.tall, dtype=dtype, decay=0.0 if mean else 0.3, mean=mean)
    return Case(shape, small, k, what, make, DENSE, targets, leading(k), dtype, show_first=bool(mean))


def _sparse(make: Callable[..., Any], what: str) -> Case:
    return Case(
        (200_000, 20_000), (5_000, 4_000), 50, f"sparse, density 0.002, {what}, k=50",
        partial(make, density=0.002), ("Eigenlens", "scikit-learn arpack"),
        (faster(1.0, "scikit-learn arpack"), right(1e-9)), leading(50),
        flops=lambda n, d, fit: 0.0, read=lambda size, fit: size * fit.passes,
    )  # fmt: skip


def _beats(name: str) -> tuple[Target, Target]:
    """What each of our readers of files is asked to reach."""
    return faster(20.0, "scikit-learn IncrementalPCA", name), faster(5.0, "dask-ml", name)


CASES: dict[str, Case] = {
    "tall-f64": _tall((1_000_000, 100), 10, "float64", faster(1.7), right(1e-9), lean(), small=(20_000, 100)),
    "tall-f32": _tall((1_000_000, 100), 10, "float32", faster(1.7), right(1e-9), lean(), small=(20_000, 100)),
    "offset-f32": _tall((1_000_000, 100), 10, "float32", right(1e-9), small=(20_000, 100), mean=1000.0),
    "tall-50": _tall((2_000_000, 50), 10, "float64", faster(1.4, "scikit-learn"), right(1e-9), small=(40_000, 50)),
    "tall-200": _tall((500_000, 200), 10, "float64", faster(1.4, "scikit-learn"), right(1e-9), small=(10_000, 200)),
    "many-f64": _tall((200_000, 1_000), 20, "float64", slower_at_most(1.05), right(1e-9), small=(8_000, 400)),
    "many-f32": _tall((200_000, 1_000), 20, "float32", slower_at_most(1.05), right(1e-7), small=(8_000, 400)),
    "wide": Case(
        (500, 100_000), (100, 5_000), 20, "k=20, float64", data.wide,
        ("Eigenlens", "scikit-learn arpack", "scikit-learn randomized", "scikit-learn full"),
        (faster(4.0, "scikit-learn arpack"), right(1e-9), lean()), leading(20),
    ),
    "square": Case(
        (5_000, 5_000), (600, 600), 50, "k=50, singular values i^-0.12", lambda n, d: data.square(n),
        ("Eigenlens", "scikit-learn arpack", "scikit-learn randomized"),
        (faster(1.2, "scikit-learn arpack"), right(1e-6)), leading(50),
    ),
    "share": Case(
        (20_000, 2_000), (2_000, 400), 0.9, "PCA(0.9), float64", partial(data.tall, dtype="float64", decay=0.6),
        ("Eigenlens", "scikit-learn", "scikit-learn covariance_eigh", "scikit-learn-intelex"),
        (faster(4.0, "scikit-learn"), right(1e-9)), leading(None),
    ),
    "sparse": _sparse(data.words, "like words"),
    "sparse-flat": _sparse(data.scattered, "flat spectrum"),
    "files": Case(
        (1_000_000, 1_000), (20_000, 200), 20, "k=20, float32 in files", None,
        ("Eigenlens .npy", "Eigenlens Parquet", "scikit-learn IncrementalPCA", "dask-ml randomized", "dask-ml tsqr"),
        (
            resident(600e6),
            *_beats("Eigenlens .npy"),
            *_beats("Eigenlens Parquet"),
        ),
        leading(20), "float32",
    ),
    "graded": Case(
        (20_000, 50), (2_000, 50), 50, "singular values 1…1e-9, means up to 1e3", data.graded,
        ("Eigenlens", "Eigenlens svd", "scikit-learn full"),
        (faster(5.0, "scikit-learn full"), right(1e-6, singular=True), right(1e-6, "Eigenlens svd", singular=True)),
        reference.exact_variances, flops=lambda n, d, fit: 2.0 * n * d * d, show_all=True,
    ),
}  # fmt: skip
"""Every case by its name."""

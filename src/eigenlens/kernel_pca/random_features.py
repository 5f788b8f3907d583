"""Random Fourier features: frequencies drawn from the Fourier transform of the kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from eigenlens.arrays import Array, is_sparse, is_tensor, namespace
from eigenlens.data.rows import ROW_LOOKUPS, draw_rows, row_count, take_rows
from eigenlens.data.source import Progress, Source
from eigenlens.errors import OptionError
from eigenlens.kernel_pca.kernels.base import Kernel
from eigenlens.kernel_pca.kernels.distances import constant_vector
from eigenlens.kernel_pca.panels import float64_values, to_float64_rows

ERROR_SAMPLE_ROWS = 512
"""Rows whose pairs estimate the error of Fourier features."""


@dataclass(frozen=True)
class FourierFeatures:
    """Random features in place of a kernel: k(x, Y) is a row whose dot products are kernel values in expectation.

        Y = (o, ω_1, …, ω_m):    k(x, Y) = [cos ω_j·(x − o), …, sin ω_j·(x − o), …] / √m    (2m values)

    The origin o changes no dot product; it keeps the digits of rows far from zero. Cost n m (2d + 1 cos + 1 sin).

    >>> FourierFeatures()(np.array([[0.0], [np.pi]]), np.array([[0.0], [1.0]]))
    array([[ 1.,  0.], [-1.,  0.]])
    """

    name: ClassVar[str] = "fourier"
    identity: ClassVar[bool] = False
    definite: ClassVar[bool] = True

    def __call__(self, X: Any, Y: Any) -> Any:
        """Return the features (n, 2m) of X (n, d), with Y (1 + m, d) the origin on top of the frequencies."""
        origin, frequencies = Y[:1, :], Y[1:, :]
        phase = X @ frequencies.T - origin @ frequencies.T if is_sparse(X) else (X - origin) @ frequencies.T
        xp = namespace(phase)
        return xp.concat([xp.cos(phase), xp.sin(phase)], axis=1) / frequencies.shape[0] ** 0.5

    def diagonal(self, X: Any) -> Any:
        """Return ones (n,), as cos² + sin² = 1."""
        return constant_vector(X, 1.0)


@dataclass(frozen=True, eq=False)
class FourierMap:
    """Fourier features as a feature map, with the error that was measured: T is the identity.

    Attributes:
        kernel: computes the features.
        rows: (1 + m, d), the origin on top of the frequencies.
        measured: ‖K − K̂‖_F / ‖K‖_F of a sample of rows.
        passes: number of passes over the rows that it took.
    """

    kernel: FourierFeatures
    rows: Any
    measured: float
    passes: int = 0
    origin: ClassVar[None] = None
    met: ClassVar[bool] = True

    @property
    def size(self) -> int:
        """The number 2m of features."""
        return 2 * int(self.rows.shape[0] - 1)

    @property
    def reason(self) -> str:
        """The reason why there are 2m features."""
        return f"{self.size} features were asked for, the cosine and the sine of each of {self.size // 2} frequencies"

    def features(self, X: Any) -> Array:
        """Return F (n, 2m) in float64."""
        return float64_values(self.kernel(to_float64_rows(X), to_float64_rows(self.rows)))

    def spread(self, V: Array) -> Array:
        """Return V itself: T is the identity."""
        return V

    def error(self, left: float) -> float:
        """Return the error measured on pairs of rows: the trace is always met exactly and has no information on it."""
        return self.measured


def draw_fourier_features(
    source: Source,
    kernel: Kernel,
    n_landmarks: int | float,
    rng: np.random.Generator,
    progress: Progress | None = None,
    *,
    center: bool = True,
) -> FourierMap:
    """Draw random Fourier features, `n_landmarks` of them (one more if odd), for a kernel in `FREQUENCIES`.

    k(x, y) = E cos ω·(x − y) with ω drawn from the Fourier transform of k (Rahimi and Recht 2007, theorem 1). There is
    no certificate: every k(x, x) is met exactly. The error reported is an estimate of ‖K − K̂‖_F / ‖K‖_F, the root of
    the ratio of two unbiased estimates from the pairs of 512 rows drawn with probabilities proportional to w_i.
    It falls as 1 / √n_landmarks. There may be more features than rows. They do not depend on `center`: dot products of
    these features do not change where rows are shifted.
    """
    _require_frequencies(kernel, n_landmarks)
    n = row_count(source)
    drawn = draw_rows(np.ones(n) if source.weight is None else source.weight, ERROR_SAMPLE_ROWS, rng)
    sample = take_rows(source, drawn, n, progress)
    frequencies = FREQUENCIES[kernel.name](kernel, (int(n_landmarks) + 1) // 2, source.n_features, rng)
    rows = _beside(sample, np.vstack([_origin(sample), frequencies]), source.dtype)
    passes = (source.n_rows is None) + (type(source) not in ROW_LOOKUPS)
    return FourierMap(FourierFeatures(), rows, _pair_error(kernel, rows, sample), passes)


def _require_frequencies(kernel: Kernel, n_landmarks: int | float) -> None:
    if kernel.name not in FREQUENCIES:
        raise OptionError(
            f"approximation='fourier' does not work with kernel={kernel.name!r}, only with "
            f"{' and '.join(map(repr, FREQUENCIES))}; use approximation='rpcholesky'."
        )
    if isinstance(n_landmarks, float):
        raise OptionError(
            f"n_landmarks={n_landmarks:g} asks for an error, and approximation='fourier' cannot certify one; "
            "give a number of features, or use approximation='rpcholesky'."
        )


def _origin(sample: Any) -> Array:
    """Return a point (1, d) amid the rows; zero for sparse rows, which are not shifted."""
    return np.zeros((1, sample.shape[1])) if is_sparse(sample) else float64_values(sample).mean(axis=0, keepdims=True)


def _beside(sample: Any, rows: Array, dtype: np.dtype[Any]) -> Any:
    """Return rows in the library and on the device of the sample."""
    rows = rows.astype(dtype)
    return namespace(sample).asarray(rows, device=sample.device) if is_tensor(sample) else rows


def _pair_error(kernel: Kernel, rows: Any, sample: Any) -> float:
    """Return ‖K − K̂‖_F / ‖K‖_F over the pairs of two different draws, which may be draws of one row."""
    sample = to_float64_rows(sample)
    F, K = float64_values(FourierFeatures()(sample, to_float64_rows(rows))), float64_values(kernel(sample, sample))
    pairs = ~np.eye(len(K), dtype=bool)
    return float(np.linalg.norm((K - F @ F.T)[pairs]) / np.linalg.norm(K[pairs]))


def _gaussian_frequencies(kernel: Any, m: int, d: int, rng: np.random.Generator) -> Array:
    """Draw from N(0, 2 gamma I) in orthogonal groups of d, which lowers the error (Yu et al. 2016)."""
    groups = [np.linalg.qr(rng.standard_normal((d, min(d, m - start))))[0].T for start in range(0, m, d)]
    lengths = np.sqrt(2.0 * kernel.gamma * rng.chisquare(d, m))
    return np.asarray(np.vstack(groups) * lengths[:, None])


def _cauchy_frequencies(kernel: Any, m: int, d: int, rng: np.random.Generator) -> Array:
    """Draw from the Cauchy distribution of scale gamma in every column: the transform of exp(−gamma |t|)."""
    return np.asarray(kernel.gamma * rng.standard_cauchy((m, d)))


FREQUENCIES: dict[str, Callable[[Any, int, int, np.random.Generator], Array]] = {
    "rbf": _gaussian_frequencies,
    "laplacian": _cauchy_frequencies,
}
"""Kernels of x − y by name: (kernel, m, d, rng) → frequencies (m, d)."""

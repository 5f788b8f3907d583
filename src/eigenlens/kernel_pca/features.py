"""Approximate kernel PCA: PCA of features f(x) (p,) with f(x)·f(y) ≈ k(x, y), in a few passes without a Gram matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.coerce import require_finite
from eigenlens.data.source import Block, FieldSums, Progress, Source, accumulate
from eigenlens.errors import OptionError
from eigenlens.kernel_pca.kernels.base import Kernel
from eigenlens.kernel_pca.landmarks import draw_pivoted_landmarks, draw_uniform_landmarks
from eigenlens.kernel_pca.model import KernelComponents
from eigenlens.kernel_pca.panels import (
    input_directions,
    no_variance_error,
    residual_diagonal,
    sum_panels,
    to_float64_rows,
)
from eigenlens.kernel_pca.random_features import draw_fourier_features
from eigenlens.linalg import n_components as select
from eigenlens.linalg.spectrum import Requested, column_signs
from eigenlens.linalg.symmetric import leading_eigenpairs
from eigenlens.stats.moments import Moments

ROUNDING_OF_TRACE = 1e-15
"""An eigenvalue below this share of the trace of the Gram matrix is rounding."""


class FeatureMap(Protocol):
    """A map f from rows to p features, linear in kernel values: f(x) = T' k(x − origin, rows)."""

    @property
    def kernel(self) -> Kernel:
        """The kernel that computes the values."""

    @property
    def rows(self) -> Any:
        """The landmarks less the origin, or the frequencies of Fourier features."""

    @property
    def origin(self) -> Array | None:
        """The vector (d,) that is subtracted from every row before the kernel is evaluated, or None."""

    @property
    def reason(self) -> str:
        """The reason why there are p features."""

    @property
    def met(self) -> bool:
        """Whether the requested error was met; true where a number of landmarks was requested."""

    @property
    def passes(self) -> int:
        """The number of passes over the rows that finding it took."""

    @property
    def size(self) -> int:
        """The number p of features."""

    def features(self, X: Any) -> Array:
        """Return F (n, p) of rows as given, in float64 throughout."""

    def spread(self, V: Array) -> Array:
        """Return T V: directions (p, k) among the features as coefficients of kernel values."""

    def error(self, left: float) -> float:
        """Return the error to report where the share `left` of the trace was measured to be left out."""


@dataclass(frozen=True)
class LandmarkFit:
    """The result of an approximate fit: the frozen model, and how its features were found.

    Attributes:
        model: the components.
        reason: why there are this many features.
        met: whether the requested error was met; true where a number of landmarks was requested.
        passes: over the rows, in total.
        n_features: p, which is the number of landmarks, or that of Fourier features.
    """

    model: KernelComponents
    reason: str
    met: bool
    passes: int
    n_features: int


def fit_landmark_components(
    source: Source,
    kernel: Kernel,
    approximation: str | Callable[..., FeatureMap],
    n_landmarks: int | float,
    n_components: int | float | None = None,
    *,
    rng: np.random.Generator,
    progress: Progress | None = None,
    center: bool = True,
) -> LandmarkFit:
    """Fit kernel PCA to the rows of a source through an approximation: a key of `APPROXIMATIONS`, or a callable.

    Args:
        source: the rows, with their weights.
        kernel: k(x, y).
        approximation: a name, or a function (source, kernel, n_landmarks, rng, progress) → FeatureMap.
        n_landmarks: the number of features, or, as a float below 1, the share of the trace that may be left out.
        n_components: a number, the share of variance to explain (a float), or None for all of them.
        rng: draws the landmarks.
        progress: called with the rows done in each pass.
        center: whether the mean of phi is subtracted.

    Cost: a few passes of n m (2d + m) flops, m³ for the solve; memory O(n + m²) and a block.

    >>> from eigenlens.data.memory import ArraySource
    >>> from eigenlens.kernel_pca.kernels.linear import Linear
    >>> X, rng = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]), np.random.default_rng(0)
    >>> fit = fit_landmark_components(ArraySource(X), Linear(), "rpcholesky", 2, 1, rng=rng)
    >>> fit.model.variances, round(fit.model.left_out, 12), fit.reason
    (array([2.]), 0.0, 'all rows are spanned by 1 landmark, up to rounding; 2 were asked for')
    """
    if kernel.name == "precomputed":
        what = "chooses among rows, and kernel='precomputed' has none"
        fix = "use approximation=None, or give the rows and a kernel"
        raise OptionError(what, argument="approximation", value=approximation, fix=fix)
    named = None if callable(approximation) else partial(APPROXIMATIONS[approximation], center=center)
    mapping = (named or approximation)(source, kernel, n_landmarks, rng, progress)  # type: ignore[operator]
    if not hasattr(mapping, "features"):
        what = f"gives a {type(mapping).__name__}, which has no features"
        raise OptionError(what, argument="approximation", value=approximation, fix="return a map of rows to features")
    model = fit_feature_components(source, mapping, n_components, progress, center)
    return LandmarkFit(model, mapping.reason, mapping.met, mapping.passes + 1, mapping.size)


def fit_feature_components(
    source: Source,
    mapping: FeatureMap,
    n_components: int | float | None = None,
    progress: Progress | None = None,
    center: bool = True,
) -> KernelComponents:
    """Fit principal components to the features f(x) of the rows: one pass of n p² flops, one symmetric solve.

        S = Σ w_i (f_i − m)(f_i − m)ᵀ = V diag(lam) Vᵀ,    A = T V,    q = T m,    c = Vᵀm,    |centre|² = |m|²

    Without centring m = 0, and S = Σ w_i f_i f_iᵀ. The trace reported is tr S + Σ w_i (k_ii − |f_i|²). It exceeds that
    of the centred Gram matrix by Σw times the squared length of the mean of the part that the features leave out, which
    is at most the last sum: never by more than `left_out` times the trace of the Gram matrix. Without centring it is
    exact. Signs: the largest coefficient is positive; where phi(x) = x, the largest loading, as in PCA. The rule of an
    exact fit, the largest score, would take one more pass over the rows.
    """
    with np.errstate(all="ignore"):  # values that are not finite are found in the result and explained there
        sums = accumulate(source, partial(_summarise, mapping=mapping), progress, "features")
    require_finite(source, sums.trace, sums.moments.mean)
    moments, (mean, S) = sums.moments, _about(sums.moments, center)
    total = float(np.trace(S)) + sums.left
    lam, V = _eigenpairs(S, n_components, total, ROUNDING_OF_TRACE * sums.trace, mapping.rows)
    A = mapping.spread(V)
    signs = column_signs(input_directions(mapping.rows, A) if mapping.kernel.identity else A)
    return KernelComponents(
        mapping.kernel,
        mapping.rows,
        A * signs,
        (mean @ V) * signs,
        mapping.spread(mean[:, None])[:, 0],
        float(mean @ mean),
        lam,
        total,
        moments.weight,
        mapping.error(sums.left / sums.trace),
        mapping.origin,
        center,
    )


def _about(moments: Moments, center: bool) -> tuple[Array, Array]:
    """Return the mean (p,) of the features, or zero without centring, and their scatter about it (p, p)."""
    if center:
        return moments.mean, moments.scatter
    return np.zeros_like(moments.mean), moments.scatter_about_zero


@dataclass(frozen=True, eq=False)
class _Sums(FieldSums):
    """The moments of the features, Σ w_i (k_ii − |f_i|²) and Σ w_i k_ii."""

    moments: Moments
    left: float
    trace: float


def _summarise(block: Block, mapping: FeatureMap) -> _Sums:
    return sum_panels(partial(_panel_sums, mapping=mapping), block, mapping.size, mapping.kernel)


def _panel_sums(block: Block, mapping: FeatureMap) -> _Sums:
    F = mapping.features(block.rows)
    k, left = residual_diagonal(mapping.kernel, to_float64_rows(block.rows, mapping.origin), F)
    w = np.ones(len(k)) if block.weight is None else block.weight
    return _Sums(Moments.of(Block(F, block.weight)), float(w @ left), float(w @ k))


def _eigenpairs(
    S: Array, n_components: int | float | None, total: float, floor: float, near: Any
) -> tuple[Array, Array]:
    """Return the requested eigenpairs: a number of them, a share of the total, or all above the floor.

    They are computed where the rows `near` are.
    """
    p = len(S)

    def choose(values: Array, _: float) -> int | None:
        rank = int(np.count_nonzero(values > max(floor, p * np.finfo(np.float64).eps * values[0])))
        return _chosen(n_components, rank, values[:rank], total)

    _, lam, V = leading_eigenpairs(S, Requested(p, p, choose), near=near)
    return lam, V


def _chosen(n_components: int | float | None, rank: int, values: Array, total: float) -> int:
    """Return the number of components; raise if the features have fewer."""
    if not rank:
        raise no_variance_error()
    if n_components is None:
        return rank
    if isinstance(n_components, int):
        if n_components > rank:
            what = f"must be at most {rank}, the rank of the centred features"
            fix = "ask for fewer, or raise n_landmarks"
            raise OptionError(what, argument="n_components", value=n_components, fix=fix)
        return n_components
    k = select.share(values, total, n_components)
    if k is None:
        what = f"is a larger share of the variance than the features keep, {values.sum() / total:.4g}"
        raise OptionError(what, argument="n_components", value=n_components, fix="ask for less, or raise n_landmarks")
    return k


APPROXIMATIONS: dict[str, Callable[..., FeatureMap]] = {
    "rpcholesky": draw_pivoted_landmarks,
    "nystroem": draw_uniform_landmarks,
    "fourier": draw_fourier_features,
}
"""Approximations by name: (source, kernel, n_landmarks, rng, progress, *, center) → FeatureMap. Only if the mean of phi
is subtracted may a map subtract an origin from the rows. A user's own function is called without `center`, and must not
subtract one."""

COUNTED_IN_FEATURES = frozenset({"fourier"})
"""Approximations whose n_landmarks counts features, not rows: it may exceed the number of rows."""

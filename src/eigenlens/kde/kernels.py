"""Smoothing kernels K(u): the densities about zero that a kernel density puts on every point, each a frozen value.

K is symmetric and integrates to one; at scale h it is K(u / h) / h. The scale is always the kernel's own: kernels of
bounded support live on [−h, h], the Gaussian has standard deviation h, the Laplace kernel mean deviation h. A rule
stated for the Gaussian is converted by the ratio of canonical bandwidths (Marron and Nolan 1988). The constants of a
user's own kernel are computed by quadrature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import special

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.errors import OptionError

Function = Callable[[Array], Array]


@dataclass(frozen=True)
class PolynomialPiece:
    """An interval of u on which K is a polynomial.

    Attributes:
        low, high: the interval; it includes `high`, and `low` only where no other piece does.
        coefficients: of 1, u, u², …
    """

    low: float
    high: float
    coefficients: tuple[float, ...]


@dataclass(frozen=True)
class SmoothingKernel:
    """A smoothing kernel.

    Attributes:
        name: its key in `SMOOTHING_KERNELS`, or "callable".
        radius: K is 0 beyond it; infinite for the Gaussian and Laplace kernels.
        variance: κ2 = ∫ u² K(u) du.
        roughness: R = ∫ K(u)² du.
        profile: K(u), of any shape.
        derivative: K′(u); at a kink the one from the right.
        cdf: ∫ K from −∞ to u.
        quantile: the inverse of `cdf`.
        pieces: K as polynomials where it is piecewise polynomial, sorted by interval.

    >>> round(SMOOTHING_KERNELS["epanechnikov"].canonical(), 4), round(SMOOTHING_KERNELS["gaussian"].canonical(), 4)
    (1.7188, 0.7764)
    """

    name: str
    radius: float
    variance: float
    roughness: float
    profile: Function = field(repr=False)
    derivative: Function = field(repr=False)
    cdf: Function = field(repr=False)
    quantile: Function = field(repr=False)
    pieces: tuple[PolynomialPiece, ...] = field(default=(), repr=False)

    def canonical(self, d: int = 1) -> float:
        """Return (R^d / κ2²)^(1/(d + 4)): kernels with bandwidths in the ratio of these canonical ones smooth alike."""
        return float(np.exp((d * np.log(self.roughness) - 2.0 * np.log(self.variance)) / (d + 4)))

    def log_profile(self, u: Array) -> Array:
        """Return log K(u), −inf where K is 0, which Gaussian and Laplace kernels never are."""
        if self.name in LOG_PROFILES:
            return LOG_PROFILES[self.name](u)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.profile(u)))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n values (n,) from K."""
        return self.quantile(rng.random(n))


# ---- (1 − u²)^p: box, Epanechnikov, biweight, triweight -----------------------------------------------------


def _bell(name: str, p: int) -> SmoothingKernel:
    """Return K = c (1 − u²)^p on [−1, 1], which is a Beta(p + 1, p + 1) distribution scaled to that interval."""
    c = float(1.0 / (2.0 ** (2 * p + 1) * special.beta(p + 1, p + 1)))
    roughness = c * c * 2.0 ** (4 * p + 1) * special.beta(2 * p + 1, 2 * p + 1)
    coefficients = np.zeros(2 * p + 1)
    coefficients[::2] = c * special.binom(p, np.arange(p + 1)) * (-1.0) ** np.arange(p + 1)
    return SmoothingKernel(
        name,
        1.0,
        1.0 / (2 * p + 3),
        float(roughness),
        partial(_bell_profile, p=p, c=c),
        partial(_bell_derivative, p=p, c=c),
        partial(_bell_cdf, p=p),
        partial(_bell_quantile, p=p),
        (PolynomialPiece(-1.0, 1.0, tuple(coefficients.tolist())),),
    )


def _bell_profile(u: Array, p: int, c: float) -> Array:
    a = np.abs(u)
    return np.where(a <= 1.0, c * ((1.0 - a) * (1.0 + a)) ** p, 0.0)


def _bell_derivative(u: Array, p: int, c: float) -> Array:
    a = np.abs(u)
    return np.where(a <= 1.0, -2.0 * p * c * u * ((1.0 - a) * (1.0 + a)) ** max(p - 1, 0), 0.0)


def _bell_cdf(u: Array, p: int) -> Array:
    return np.asarray(special.betainc(p + 1.0, p + 1.0, np.clip(0.5 + 0.5 * np.asarray(u), 0.0, 1.0)))


def _bell_quantile(q: Array, p: int) -> Array:
    return np.asarray(2.0 * special.betaincinv(p + 1.0, p + 1.0, q) - 1.0)


# ---- the others ---------------------------------------------------------------------------------------------

ROOT_2PI = float(np.sqrt(2.0 * np.pi))
HALF_PI = 0.5 * float(np.pi)


def _gaussian_profile(u: Array) -> Array:
    return np.asarray(np.exp(-0.5 * u * u) / ROOT_2PI)


def _gaussian_derivative(u: Array) -> Array:
    return np.asarray(-u * np.exp(-0.5 * u * u) / ROOT_2PI)


def _triangular_profile(u: Array) -> Array:
    return np.maximum(1.0 - np.abs(u), 0.0)


def _triangular_derivative(u: Array) -> Array:
    return np.where(np.abs(u) <= 1.0, np.where(np.asarray(u) < 0.0, 1.0, -1.0), 0.0)


def _triangular_cdf(u: Array) -> Array:
    rest = np.clip(1.0 - np.abs(u), 0.0, 1.0) ** 2 / 2.0
    return np.where(np.asarray(u) < 0.0, rest, 1.0 - rest)


def _triangular_quantile(q: Array) -> Array:
    q = np.asarray(q)
    return np.where(q < 0.5, np.sqrt(2.0 * q) - 1.0, 1.0 - np.sqrt(2.0 * (1.0 - q)))


def _cosine_profile(u: Array) -> Array:
    a = np.abs(u)  # cos(πa/2) = sin(π(1 − a)/2), which is accurate near the end of the support
    return np.where(a <= 1.0, 0.5 * HALF_PI * np.sin(HALF_PI * (1.0 - a)), 0.0)


def _cosine_derivative(u: Array) -> Array:
    return np.where(np.abs(u) <= 1.0, -0.5 * HALF_PI**2 * np.sin(HALF_PI * u), 0.0)


def _cosine_cdf(u: Array) -> Array:
    return np.asarray(np.sin(0.5 * HALF_PI * (1.0 + np.clip(u, -1.0, 1.0))) ** 2)


def _cosine_quantile(q: Array) -> Array:
    return np.asarray(np.arcsin(np.sqrt(q)) * (2.0 / HALF_PI) - 1.0)


def _laplace_profile(u: Array) -> Array:
    return np.asarray(0.5 * np.exp(-np.abs(u)))


def _laplace_derivative(u: Array) -> Array:
    return np.where(np.asarray(u) < 0.0, 0.5, -0.5) * np.exp(-np.abs(u))


def _laplace_cdf(u: Array) -> Array:
    tail = 0.5 * np.exp(-np.abs(u))
    return np.where(np.asarray(u) < 0.0, tail, 1.0 - tail)


def _laplace_quantile(q: Array) -> Array:
    q = np.asarray(q)
    with np.errstate(divide="ignore"):
        return np.where(q < 0.5, np.log(2.0 * q), -np.log(2.0 * (1.0 - q)))


LOG_PROFILES: dict[str, Function] = {
    "gaussian": lambda u: np.asarray(-0.5 * u * u - np.log(ROOT_2PI)),
    "laplace": lambda u: np.asarray(-np.abs(u) - np.log(2.0)),
}
"""log K of the kernels whose tails underflow."""

GAUSSIAN = SmoothingKernel(
    "gaussian",
    np.inf,
    1.0,
    1.0 / (2.0 * float(np.sqrt(np.pi))),
    _gaussian_profile,
    _gaussian_derivative,
    special.ndtr,
    special.ndtri,
)

TRIANGULAR = SmoothingKernel(
    "triangular",
    1.0,
    1.0 / 6.0,
    2.0 / 3.0,
    _triangular_profile,
    _triangular_derivative,
    _triangular_cdf,
    _triangular_quantile,
    (PolynomialPiece(-1.0, 0.0, (1.0, 1.0)), PolynomialPiece(0.0, 1.0, (1.0, -1.0))),
)

COSINE = SmoothingKernel(
    "cosine",
    1.0,
    1.0 - 8.0 / float(np.pi) ** 2,
    float(np.pi) ** 2 / 16.0,
    _cosine_profile,
    _cosine_derivative,
    _cosine_cdf,
    _cosine_quantile,
)

LAPLACE = SmoothingKernel(
    "laplace", np.inf, 2.0, 0.25, _laplace_profile, _laplace_derivative, _laplace_cdf, _laplace_quantile
)

BELLS = ("box", "epanechnikov", "biweight", "triweight")
BOX, EPANECHNIKOV, BIWEIGHT, TRIWEIGHT = (_bell(name, p) for p, name in enumerate(BELLS))

SMOOTHING_KERNELS: dict[str, SmoothingKernel] = {
    kernel.name: kernel for kernel in (GAUSSIAN, BOX, EPANECHNIKOV, TRIANGULAR, BIWEIGHT, TRIWEIGHT, COSINE, LAPLACE)
}
"""Every smoothing kernel that has a name."""

SMOOTHING_KERNEL_ALIASES = {
    "tophat": "box",
    "rectangular": "box",
    "uniform": "box",
    "linear": "triangular",
    "tri": "triangular",
    "epa": "epanechnikov",
    "exponential": "laplace",
    "optcosine": "cosine",
}
"""Names of scikit-learn, R and KDEpy for kernels that have another one here; for one column the functions are the same.

R's own "cosine", ½ (1 + cos πu), is not among the kernels here."""


def smoothing_kernel(kernel: str | SmoothingKernel | Callable[[Array], Any]) -> SmoothingKernel:
    """Return the kernel of a name, or of a callable K(u) of arrays: symmetric, not negative, of integral one.

    The constants, cdf and quantiles of a callable are computed by quadrature; it should be smooth except at a few
    points, and is cut off at |u| = 100.

    >>> smoothing_kernel("box").roughness
    0.5
    >>> round(smoothing_kernel(lambda u: 0.5 * np.exp(-np.abs(u))).variance, 6)
    2.0
    """
    if isinstance(kernel, SmoothingKernel):
        return kernel
    chosen: Any = checks.choice("kernel", kernel, SMOOTHING_KERNELS, SMOOTHING_KERNEL_ALIASES, "u")
    return SMOOTHING_KERNELS[chosen] if isinstance(chosen, str) else _of_callable(_measure_callable(chosen))


def _of_callable(K: CallableKernel) -> SmoothingKernel:
    return SmoothingKernel("callable", K.radius, K.variance, K.roughness, K.profile, K.derivative, K.cdf, K.quantile)


MAX_RADIUS = 100.0
"""The radius beyond which a callable is cut off."""

QUADRATURE_PANELS = 2000
"""Panels, with 12 Gauss–Legendre nodes each, over the support of a callable."""

PANEL_NODES, PANEL_WEIGHTS = np.polynomial.legendre.leggauss(12)
DIFFERENCE_STEP = 1e-5
"""The step of central differences, where truncation and rounding errors balance: about the cube root of 1e-16."""

INTEGRAL_ERROR = 1e-6
"""The largest error of the integral of a kernel, which should be one."""


@dataclass(frozen=True, eq=False)
class CallableKernel:
    """A callable K(u) with its constants.

    Attributes:
        function: the callable.
        radius: K is 0 beyond it.
    """

    function: Callable[[Array], Any]
    radius: float

    def profile(self, u: Array) -> Array:
        """Return K(u), and 0 beyond the radius."""
        u = np.asarray(u, dtype=np.float64)
        K = _call_kernel(self.function, np.clip(u, -self.radius, self.radius))
        return np.where(np.abs(u) <= self.radius, K, 0.0)

    def derivative(self, u: Array) -> Array:
        """Return K′(u) by central differences."""
        step = DIFFERENCE_STEP * min(self.radius, 1.0)
        return (self.profile(np.asarray(u) + step) - self.profile(np.asarray(u) - step)) / (2.0 * step)

    def cdf(self, u: Array) -> Array:
        """Return ∫ K from −∞ to u: whole panels, and a part of the last one."""
        u = np.clip(np.asarray(u, dtype=np.float64), -self.radius, self.radius)
        panel = np.clip(np.searchsorted(self._edges, u, side="right") - 1, 0, len(self._edges) - 2)
        half = 0.5 * (u - self._edges[panel])
        places = self._edges[panel][..., None] + half[..., None] * (1.0 + PANEL_NODES)
        return np.asarray(np.clip(self._below[panel] + half * (self.profile(places) @ PANEL_WEIGHTS), 0.0, 1.0))

    def quantile(self, q: Array) -> Array:
        """Return the inverse of `cdf`, by bisection within a panel."""
        q = np.asarray(q, dtype=np.float64)
        panel = np.clip(np.searchsorted(self._below, q, side="left") - 1, 0, len(self._edges) - 2)
        low, high = self._edges[panel], self._edges[panel + 1]
        for _ in range(45):
            middle = 0.5 * (low + high)
            under = self.cdf(middle) < q
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        return 0.5 * (low + high)

    @property
    def total(self) -> float:
        """The integral ∫ K."""
        return float(np.sum(self._integrals(lambda u, K: K)))

    @property
    def variance(self) -> float:
        """The variance ∫ u² K."""
        return float(np.sum(self._integrals(lambda u, K: u * u * K)))

    @property
    def roughness(self) -> float:
        """The roughness ∫ K²."""
        return float(np.sum(self._integrals(lambda u, K: K * K)))

    @cached_property
    def _edges(self) -> Array:
        """Edges of panels that are finest about 0, where kernels are most curved."""
        half = self.radius * np.linspace(0.0, 1.0, QUADRATURE_PANELS // 2 + 1) ** 2
        return np.concatenate([-half[:0:-1], half])

    @cached_property
    def _below(self) -> Array:
        """The integral up to each edge, normalised to one in total."""
        parts = np.cumsum(self._integrals(lambda u, K: K))
        return np.asarray(np.concatenate([[0.0], parts / parts[-1]]))

    def _integrals(self, integrand: Callable[[Array, Array], Array]) -> Array:
        low, half = self._edges[:-1, None], 0.5 * np.diff(self._edges)[:, None]
        u = low + half * (1.0 + PANEL_NODES)
        return np.asarray((half * integrand(u, self.profile(u))) @ PANEL_WEIGHTS)


def _call_kernel(function: Callable[[Array], Any], u: Array) -> Array:
    """Return the values of a user's kernel, checked."""
    called = _name(function)
    try:
        K = np.asarray(function(u), dtype=np.float64)
    except (TypeError, ValueError) as error:
        what = f"{called} failed on an array of shape {u.shape}: {error}"
        fix = "it is called with arrays u and must return K(u) in their shape"
        raise OptionError(what, argument="kernel", fix=fix) from error
    if K.shape != u.shape:
        what = f"{called} returned shape {K.shape} for an array of shape {u.shape}"
        raise OptionError(what, argument="kernel", fix="it must return the same shape")
    if not np.all(np.isfinite(K)) or np.any(K < 0.0):
        what = f"{called} returned values that are negative or not finite"
        raise OptionError(what, argument="kernel", fix="a density must be neither")
    return K


def _measure_callable(function: Callable[[Array], Any]) -> CallableKernel:
    """Return a callable with its radius, after checking that it is a symmetric density.

    >>> K = _measure_callable(lambda u: np.maximum(1.0 - np.abs(u), 0.0))
    >>> K.radius, round(K.roughness, 9)
    (1.0, 0.666666667)
    """
    called = _name(function)
    K = CallableKernel(function, _radius(function))
    u = K.radius * np.linspace(0.0, 1.0, 1001)[1:-1]
    right, left = K.profile(u), K.profile(-u)
    if np.max(np.abs(right - left)) > 1e-9 * max(float(right.max()), 1e-300):
        what = f"{called} is not symmetric: K(u) and K(−u) differ"
        raise OptionError(what, argument="kernel", fix="use a kernel with K(u) = K(−u)")
    if abs(K.total - 1.0) > INTEGRAL_ERROR:
        what = f"{called} has the integral {K.total:.8g} over |u| ≤ {K.radius:g}, which must be 1"
        raise OptionError(what, argument="kernel", fix="divide by that")
    return K


def _name(function: Callable[[Array], Any]) -> str:
    return str(getattr(function, "__name__", repr(function)))


def _radius(function: Callable[[Array], Any]) -> float:
    """Return where K has fallen to 0 for good, to ten digits; at most `MAX_RADIUS`."""
    grid = np.linspace(0.0, MAX_RADIUS, 100_001)
    alive = np.flatnonzero(_call_kernel(function, grid) > 0.0)
    if not alive.size:
        what = "is 0 on a grid of |u| ≤ 100; K(u) must be a density at a scale of about one"
        raise OptionError(what, argument="kernel")
    if alive[-1] == len(grid) - 1:
        return MAX_RADIUS
    low, high = grid[alive[-1]], grid[alive[-1] + 1]
    for _ in range(60):
        middle = 0.5 * (low + high)
        alive_there = bool(_call_kernel(function, np.asarray([middle]))[0] > 0.0)
        low, high = (middle, high) if alive_there else (low, middle)
    nearest = round(float(high), 9)  # K(1) = 0 puts the end of the support just below 1
    return nearest if abs(nearest - high) < 1e-12 else float(high)

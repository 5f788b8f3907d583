"""Rules for the number of principal components to keep, by name, and those that need the eigenvalues alone.

n rows, d features; `values` are eigenvalues of the sample covariance (divisor n - 1), descending, all d or all
min(n, d) of them unless stated otherwise. X and a multiple of X have the same k by every rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.special

from eigenlens.arrays import Array, working_dtype
from eigenlens.data.memory import ArraySource
from eigenlens.data.rows import dense_rows
from eigenlens.linalg.operators import CentredRows
from eigenlens.linalg.resampling import bi_cross_validation, parallel, permuted_spectra
from eigenlens.linalg.solve import solve
from eigenlens.linalg.spectrum import Requested

N_PERMUTATIONS = 40
"""Permutations of parallel analysis: the 95% point of each eigenvalue rests on the two largest of them."""

MAX_CROSS_VALIDATED = 200
"""The largest number of components that cross-validation tries."""

_TIE = 1e-8
"""Eigenvalues closer than this, relatively, are equal up to rounding: those of real samples are never so close."""


def share(values: Array, total: float, target: float) -> int | None:
    """Return the smallest k ≥ 1 whose leading `values` make up the share `target` of `total`; None if they do not.

    `values` may be any leading part of the spectrum: None means that more of it is needed. Sums that miss the target by
    their own rounding error count as reaching it, so that 0.6 + 0.3 is 90% of 1.

    >>> values = np.array([0.6, 0.3, 0.06, 0.04])
    >>> share(values, 1.0, 0.9), share(values[:1], 1.0, 0.9)
    (2, None)
    """
    values = np.asarray(values, dtype=working_dtype(values.dtype))
    # Each value is good to its own dtype; the sum and the trace are float64.
    rounding = 4 * (np.finfo(values.dtype).eps + len(values) * np.finfo(np.float64).eps) * total
    reached = np.cumsum(values, dtype=np.float64) >= target * total - rounding
    return int(np.argmax(reached)) + 1 if reached.any() else None


def minka(values: Array, n: int, d: int) -> tuple[int, Array]:
    """Return the k in 1 … D - 1 of largest Bayesian evidence, and the log evidence of each.

    Up to a constant, with N rows of D features, D' = D - k of them discarded, v the mean of the discarded
    eigenvalues and m = Dk - k(k + 1)/2,

        log p(X | k) ≈ log p(U) - N/2 Σ_{i≤k} log λ_i - N D'/2 log v + (m + k)/2 log 2π - log|A|/2 - k/2 log N
        log p(U) = -k log 2 + Σ_{i≤k} [log Γ((D - i + 1)/2) - (D - i + 1)/2 log π]
        log|A| = Σ_{i≤k} Σ_{i<j≤D} log[(1/λ̂_j - 1/λ̂_i)(λ_i - λ_j) N],   λ̂_j = λ_j for j ≤ k, v beyond

    (Minka 2000, Automatic choice of dimensionality for PCA, NIPS 13: the Laplace evidence.) Three things are
    left open there:

    - Which N and D. For n ≤ d there are only D = n - 1 directions, seen through d columns. A low rank plus isotropic
      noise is the same model for the transpose, so then N = d. (With N = n, pure noise is often taken for dozens of
      components.)
    - No noise. Where columns depend on one another exactly, the evidence of k = rank is infinite. Eigenvalues below
      rounding count as rounding, so that the answer is the same with a trace of noise and with none.
    - Ties. Where two eigenvalues meet, A is singular and the evidence infinite, though the data merely carry no
      information about the angle between the two directions. Its posterior is then its prior: see `_min_separations`.

    Args:
        values: all the eigenvalues; those that are zero may be left out.
        n, d: the shape of the data, without constant columns.

    Returns:
        k and the log evidence (D - 1,) of k = 1 … D - 1; 1 and an empty array where D < 2. Time O(D²), memory
        O(D).

    >>> k, evidence = minka(np.array([9.0, 4.0, 1.1, 1.0, 0.9]), n=100, d=5)
    >>> k, evidence.shape
    (2, (4,))
    >>> minka(np.array([9.0, 4.0, 1.1]), n=100, d=5)[0]
    3
    """
    found = _nonzero(values, n, d)
    lam = np.full(max(min(n - 1, d), 0), found[0] * max(n, d) * np.finfo(np.float64).eps if len(found) else 0.0)
    lam[: len(found)] = found
    evidence = _laplace_evidence(lam, max(n, d)) if len(found) else np.empty(0)
    return (int(np.argmax(evidence)) + 1 if len(evidence) else 1), evidence


def _nonzero(values: Array, n: int, d: int) -> Array:
    """Return the eigenvalues above rounding, in float64: at most min(n - 1, d), for centred rows have no more."""
    lam = np.asarray(values, dtype=np.float64)[: max(min(n - 1, d), 0)]
    return lam[lam > lam[0] * max(n, d) * np.finfo(np.float64).eps] if len(lam) else lam


def _laplace_evidence(lam: Array, N: int) -> Array:
    D = len(lam)
    if D < 2:
        return np.empty(0)
    k = np.arange(1, D)
    log_lam = np.log(lam[:-1])
    v = np.cumsum(lam[::-1])[::-1][1:] / (D - k)
    volume = (D - k + 1) / 2
    log_prior = np.cumsum(scipy.special.gammaln(volume) - volume * math.log(math.pi) - math.log(2))
    log_likelihood = -N / 2 * (np.cumsum(log_lam) + (D - k) * np.log(v))
    m = D * k - k * (k + 1) / 2
    log_a = _log_curvature(lam, v, _min_separations(D, N)) + m * math.log(N)
    log_evidence: Array = (
        log_prior + log_likelihood + (m + k) / 2 * math.log(2 * math.pi) - log_a / 2 - k / 2 * math.log(N)
    )
    return log_evidence


def _min_separations(D: int, N: int) -> Array:
    """Return the relative separation (D - 1,) that leaves the angles of direction i as uncertain as before the data.

    Direction i lies on a half sphere of D - i angles, of volume V = π^((D-i+1)/2) / Γ((D-i+1)/2): V^(1/(D-i))
    belongs to each angle. The posterior of an angle of relative separation g has the width √(2π/N) / g.
    """
    angles = np.arange(D - 1, 0, -1)
    half = (angles + 1) / 2
    log_volume = half * math.log(math.pi) - scipy.special.gammaln(half)
    separations: Array = math.sqrt(2 * math.pi / N) * np.exp(-log_volume / angles)
    return separations


def _log_curvature(lam: Array, v: Array, smallest: Array) -> Array:
    """Return log|A| without its N, for k = 1 … D - 1, from sums that differ little between one k and the next.

    With relative separations α_ij = 1 - λ_j/λ_i and β_ik = λ_i/v_k - 1, a pair within the first k adds
    2 log α_ij + log λ_i - log λ_j, and a pair across adds log α_ij + log β_ik.
    """
    D = len(lam)
    k = np.arange(1, D)
    right, left, excess = np.zeros(D), np.zeros(D), np.zeros(D - 1)
    for i in range(D - 1):
        separations = _log_separations(1 - lam[i + 1 :] / lam[i], smallest[i])
        right[i] = separations.sum()
        left[i + 1 :] += separations
        excess[i] = _log_separations(lam[: i + 1] / v[i] - 1, smallest[: i + 1]).sum()
    within = np.cumsum(left)[:-1]
    across = np.cumsum(right)[:-1] - within
    log_lam = np.log(lam[:-1])
    ratios = (k + 1) * np.cumsum(log_lam) - 2 * np.cumsum(k * log_lam)
    curvature: Array = 2 * within + ratios + across + (D - k) * excess
    return curvature


def _log_separations(separations: Array, unknown: Any) -> Array:
    return np.log(np.where(separations > _TIE, separations, unknown))


def gavish_donoho(values: Array, n: int, d: int) -> int:
    """Return the number of singular values above the optimal hard threshold ω(β) · median, for unknown noise variance.

    β = min/max of (n - 1, d), the shape that centring leaves; see `_threshold` for ω. Where more than half of the
    singular values are zero there is practically no noise, and the others are all kept. (Gavish, Donoho 2014, The
    optimal hard threshold for singular values is 4/√3, IEEE Trans. Inf. Theory 60(8).)

    >>> gavish_donoho(np.array([90.0, 40.0, 1.2, 1.0, 0.9]), n=101, d=5)
    2
    """
    rank = min(n - 1, d)
    singular = np.zeros(max(rank, 0))
    found = np.sqrt(_nonzero(values, n, d))
    singular[: len(found)] = found
    if not len(found):
        return 0
    return int(np.count_nonzero(singular > _threshold(rank / max(n - 1, d)) * np.median(singular)))


def _threshold(beta: float) -> float:
    """Return ω(β) = λ*(β) / √μ(β), with λ*² = 2(β + 1) + 8β / (β + 1 + √(β² + 14β + 1)) and μ from `_median`.

    >>> round(_threshold(1.0), 4)
    2.8584
    """
    optimum = 2 * (beta + 1) + 8 * beta / (beta + 1 + math.sqrt(beta**2 + 14 * beta + 1))
    return math.sqrt(optimum / _median(beta))


def _median(beta: float) -> float:
    """Return the median of the Marchenko-Pastur law √((b - t)(t - a)) / (2πβt) on a, b = (1 ∓ √β)².

    t = a + (b - a) sin²φ takes away both square roots at the ends, and the pole at 0 where β = 1.
    """
    a, width = (1 - math.sqrt(beta)) ** 2, 4 * math.sqrt(beta)

    def point(phi: float) -> float:
        return a + width * math.sin(phi) ** 2

    def density(phi: float) -> float:
        return (width * math.sin(phi) * math.cos(phi)) ** 2 / (math.pi * beta * point(phi))

    def excess(phi: float) -> float:
        return float(scipy.integrate.quad(density, 0, phi, epsabs=1e-13, epsrel=1e-12)[0]) - 0.5

    return point(float(scipy.optimize.brentq(excess, 0, math.pi / 2, xtol=1e-13)))


def kaiser(values: Array, mean: float = 1.0) -> int:
    """Return the number of eigenvalues above the mean: 1 for a correlation matrix, trace / d for a covariance.

    Eigenvalues that exceed it by rounding alone are not counted: uncorrelated columns have none. (Kaiser 1960.)

    >>> kaiser(np.array([2.3, 1.0, 0.4, 0.3])), kaiser(np.array([23.0, 10.0, 4.0, 3.0]), mean=10.0)
    (1, 1)
    """
    values = np.asarray(values, dtype=working_dtype(values.dtype))
    return int(np.count_nonzero(values > mean * (1 + 4 * len(values) * np.finfo(values.dtype).eps)))


# ---- rules by name --------------------------------------------------------------------------------------------


def _minka_rule(values: Array, rows: CentredRows, rng: np.random.Generator) -> int:
    """Return the number of components of largest evidence."""
    return minka(values, _row_count(rows), int(np.count_nonzero(rows.variances)))[0]


def _gavish_donoho_rule(values: Array, rows: CentredRows, rng: np.random.Generator) -> int:
    """Return the number of singular values above the optimal hard threshold for unknown noise."""
    lost = 0 if rows.center else 1  # the rule counts one dimension less than rows, for the mean
    return gavish_donoho(values, _row_count(rows) + lost, rows.size)


def _kaiser_rule(values: Array, rows: CentredRows, rng: np.random.Generator) -> int:
    """Return the number of eigenvalues above the mean eigenvalue, which is 1 for a correlation matrix."""
    return kaiser(values, rows.trace / rows.size)


def _parallel_rule(values: Array, rows: CentredRows, rng: np.random.Generator) -> int:
    """Return the number of components by Horn's parallel analysis, against rows whose columns were permuted."""
    X, weight = dense_rows(rows.source, rng)
    if len(X) != rows.source.n_rows:  # a sample needs its own spectrum: noise eigenvalues depend on n
        sample = CentredRows(ArraySource(X).weighted(weight), standardize=rows.standardize)
        values = solve(sample, Requested.count(min(X.shape), min(X.shape)), rng=rng).values
    return parallel(values, permuted_spectra(X, N_PERMUTATIONS, rng, standardize=rows.standardize, weight=weight))


def _cross_validation_rule(values: Array, rows: CentredRows, rng: np.random.Generator) -> int:
    """Return the number of components that best predicts blocks of entries held out (bi-cross-validation)."""
    X, weight = dense_rows(rows.source, rng)
    most = min(*X.shape, MAX_CROSS_VALIDATED)
    return bi_cross_validation(X, most, rng, standardize=rows.standardize, weight=weight)[0]


def _row_count(rows: CentredRows) -> int:
    return round(float(rows.columns.weight))


N_COMPONENTS_RULES: dict[str, Callable[[Array, CentredRows, np.random.Generator], int]] = {
    "mle": _minka_rule,
    "parallel": _parallel_rule,
    "gavish-donoho": _gavish_donoho_rule,
    "cv": _cross_validation_rule,
    "kaiser": _kaiser_rule,
}
"""Rules for the number of components by name: (all eigenvalues, rows, rng) → k."""

RESAMPLING_RULES = ("parallel", "cv")
"""Rules that read the rows again, with their columns unweighted."""

UNCENTRED_RULES = ("gavish-donoho", "kaiser")
"""Rules that hold for rows about zero too; the others compare variances about the mean."""

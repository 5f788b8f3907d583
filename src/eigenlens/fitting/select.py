"""How many principal components to keep: six rules as pure functions, and the table that shows them.

n rows, d features; `values` are eigenvalues of the sample covariance (divisor n - 1), descending, all d or
all min(n, d) of them unless a function says otherwise. X and a multiple of X have the same k by every rule.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.special

from eigenlens.arrays import Array, working_dtype
from eigenlens.errors import OptionError

__all__ = [
    "ComponentTable",
    "Suggestion",
    "bi_cross_validation",
    "gavish_donoho",
    "kaiser",
    "minka",
    "parallel",
    "permuted_spectra",
    "share",
]


_TIE = 1e-8
"""Eigenvalues closer than this, relatively, are equal but for rounding: samples do not come so close."""


# ---- rules that read the spectrum -------------------------------------------------------------------------


def share(values: Array, total: float, target: float) -> int | None:
    """The smallest k ≥ 1 whose leading `values` make up the share `target` of `total`; None if they do not.

    `values` may be any leading part of the spectrum: None says that more of it is needed. Sums that miss the
    target by their own rounding error count as reaching it, so that 0.6 + 0.3 is 90% of 1.

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
    """Bayesian model selection: the k in 1 … r - 1 of largest evidence, and the log evidence of each.

    Up to a constant, with N rows of D features, D' = D - k of them discarded, v the mean of the discarded
    eigenvalues and m = Dk - k(k + 1)/2,

        log p(X | k) ≈ log p(U) - N/2 Σ_{i≤k} log λ_i - N D'/2 log v + (m + k)/2 log 2π - log|A|/2 - k/2 log N
        log p(U) = -k log 2 + Σ_{i≤k} [log Γ((D - i + 1)/2) - (D - i + 1)/2 log π]
        log|A| = Σ_{i≤k} Σ_{i<j≤D} log[(1/λ̂_j - 1/λ̂_i)(λ_i - λ_j) N],   λ̂_j = λ_j for j ≤ k, v beyond

    (Minka 2000, Automatic choice of dimensionality for PCA, NIPS 13: the Laplace evidence.) Two things are
    left open there:

    - Which N and D. Exact linear dependence says nothing about noise, so D = r, the number of eigenvalues
      above rounding, and N = n. For n ≤ d the rows run out: r = n - 1 directions, seen through d columns.
      A low rank plus isotropic noise is the same model for the transpose, so then N = d. (With N = n, pure
      noise is often taken for dozens of components.)
    - Ties. Where two eigenvalues meet, A is singular and the evidence infinite, though the data merely say
      nothing about the angle between the two directions. Its posterior is then its prior: see `_least_gaps`.

    Args:
        values: all the eigenvalues; those that are zero may be left out.
        n, d: the shape of the data.

    Returns:
        k and the log evidence (r - 1,) of k = 1 … r - 1; 1 and an empty array where r < 2. Time O(r²), memory
        O(r).

    >>> k, evidence = minka(np.array([9.0, 4.0, 1.1, 1.0, 0.9]), n=100, d=5)
    >>> k, evidence.shape
    (2, (4,))
    """
    evidence = _laplace_evidence(_nonzero(values, n, d), max(n, d))
    return (int(np.argmax(evidence)) + 1 if len(evidence) else 1), evidence


def _nonzero(values: Array, n: int, d: int) -> Array:
    """The eigenvalues above rounding, in float64: at most min(n - 1, d), for centred rows have no more."""
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
    log_a = _log_curvature(lam, v, _least_gaps(D, N)) + m * math.log(N)
    log_evidence: Array = (
        log_prior + log_likelihood + (m + k) / 2 * math.log(2 * math.pi) - log_a / 2 - k / 2 * math.log(N)
    )
    return log_evidence


def _least_gaps(D: int, N: int) -> Array:
    """The relative gap (D - 1,) that leaves the angles of direction i as uncertain as before the data.

    Direction i lies on a half sphere of D - i angles, of volume V = π^((D-i+1)/2) / Γ((D-i+1)/2): V^(1/(D-i))
    belongs to each angle. The posterior of an angle of relative gap g has the width √(2π/N) / g.
    """
    angles = np.arange(D - 1, 0, -1)
    half = (angles + 1) / 2
    log_volume = half * math.log(math.pi) - scipy.special.gammaln(half)
    gaps: Array = math.sqrt(2 * math.pi / N) * np.exp(-log_volume / angles)
    return gaps


def _log_curvature(lam: Array, v: Array, least: Array) -> Array:
    """log|A| without its N, for k = 1 … D - 1, from sums that differ little between one k and the next.

    With relative gaps α_ij = 1 - λ_j/λ_i and β_ik = λ_i/v_k - 1, a pair within the first k adds
    2 log α_ij + log λ_i - log λ_j, and a pair across adds log α_ij + log β_ik.
    """
    D = len(lam)
    k = np.arange(1, D)
    right, left, excess = np.zeros(D), np.zeros(D), np.zeros(D - 1)
    for i in range(D - 1):
        gaps = _log_gaps(1 - lam[i + 1 :] / lam[i], least[i])
        right[i] = gaps.sum()
        left[i + 1 :] += gaps
        excess[i] = _log_gaps(lam[: i + 1] / v[i] - 1, least[: i + 1]).sum()
    within = np.cumsum(left)[:-1]
    across = np.cumsum(right)[:-1] - within
    log_lam = np.log(lam[:-1])
    ratios = (k + 1) * np.cumsum(log_lam) - 2 * np.cumsum(k * log_lam)
    curvature: Array = 2 * within + ratios + across + (D - k) * excess
    return curvature


def _log_gaps(gaps: Array, unknown: Any) -> Array:
    return np.log(np.where(gaps > _TIE, gaps, unknown))


def gavish_donoho(values: Array, n: int, d: int) -> int:
    """The singular values above the optimal hard threshold ω(β) · median, for noise of unknown variance.

    β = min/max of (n - 1, d), the shape that centring leaves; see `_threshold` for ω. Where more than half of
    the singular values are zero there is no noise to speak of, and the others are all kept. (Gavish, Donoho
    2014, The optimal hard threshold for singular values is 4/√3, IEEE Trans. Inf. Theory 60(8).)

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
    """ω(β) = λ*(β) / √μ(β), with λ*² = 2(β + 1) + 8β / (β + 1 + √(β² + 14β + 1)) and μ from `_median`.

    >>> round(_threshold(1.0), 4)
    2.8584
    """
    optimum = 2 * (beta + 1) + 8 * beta / (beta + 1 + math.sqrt(beta**2 + 14 * beta + 1))
    return math.sqrt(optimum / _median(beta))


def _median(beta: float) -> float:
    """The median of the Marchenko-Pastur law √((b - t)(t - a)) / (2πβt) on a, b = (1 ∓ √β)².

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
    """The number of eigenvalues above the mean: 1 for a correlation matrix, trace / d for a covariance.

    Eigenvalues that exceed it by rounding alone do not count: uncorrelated columns have none. (Kaiser 1960.)

    >>> kaiser(np.array([2.3, 1.0, 0.4, 0.3])), kaiser(np.array([23.0, 10.0, 4.0, 3.0]), mean=10.0)
    (1, 1)
    """
    values = np.asarray(values, dtype=working_dtype(values.dtype))
    return int(np.count_nonzero(values > mean * (1 + 4 * len(values) * np.finfo(values.dtype).eps)))


# ---- Horn's parallel analysis -----------------------------------------------------------------------------


def parallel(values: Array, permuted_values: Array, quantile: float = 0.95) -> int:
    """How many leading eigenvalues exceed the `quantile` of their permuted twins, up to the first failure.

    Args:
        values: eigenvalues of the data (m,).
        permuted_values: eigenvalues (r, m) of r permutations, of the same scaling: see `permuted_spectra`.
        quantile: 1 - the chance that a component of pure noise is kept.

    (Horn 1965, Psychometrika 30; with permutations, Buja and Eyuboglu 1992.)

    >>> parallel(np.array([3.0, 0.9, 1.4]), np.array([[1.5, 1.0, 0.5], [1.4, 1.1, 0.5]]))
    1
    """
    threshold = np.quantile(permuted_values, quantile, axis=0)
    m = min(len(values), len(threshold))
    below = np.flatnonzero(~(np.asarray(values)[:m] > threshold[:m]))
    return int(below[0]) if len(below) else m


def permuted_spectra(
    X: Array,
    n_permutations: int,
    rng: np.random.Generator,
    standardize: bool = False,
    weight: Array | None = None,
) -> Array:
    """Eigenvalues (r, m) of r data sets whose columns are those of X (n, d), each shuffled on its own.

    Shuffling keeps each column's distribution and breaks every tie between columns. m = min(n, d), and the
    smaller of covariance and Gram matrix is used: time O(r n d m), memory O(n d).

    Args:
        X: the rows (n, d), without missing entries.
        n_permutations: the number r of data sets.
        rng: the source of the permutations.
        standardize: whether columns are divided by their standard deviations (divisor n - 1); constant ones
            stay as they are.
        weight: how often each row counts (n,): n is then Σ weight, rounded. Whole numbers repeat the rows;
            fractions round up or down at random, by systematic sampling.

    >>> permuted_spectra(np.array([[1.0, 2.0], [2.0, 4.0], [4.0, 8.0]]), 2, np.random.default_rng(0)).shape
    (2, 2)
    """
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    n, d = round(float(weight.sum())), X.shape[1]
    if n < 2:
        raise OptionError(f"sample_weight sums to {weight.sum():g}, and shuffling needs at least 2 rows in all.")
    spectra = np.empty((n_permutations, min(n, d)))
    for spectrum in spectra:
        columns = rng.permuted(X[_systematic(weight, n, rng)].T, axis=1).astype(np.float64, copy=False)
        mean, scale = _mean_and_scale(columns.T, standardize)
        columns = (columns - mean[:, None]) / scale[:, None]
        product = columns @ columns.T if d <= n else columns.T @ columns
        spectrum[:] = np.maximum(np.linalg.eigvalsh(product)[::-1], 0) / (n - 1)
    return spectra


def _systematic(weight: Array, n: int, rng: np.random.Generator) -> Array:
    """n row numbers, row i in them ⌊n w_i / Σw⌋ or ⌈n w_i / Σw⌉ times: one every unit of cumulated weight."""
    ends = np.cumsum(weight)
    # Offsets keep clear of 0 and 1, so that the rounding of `ends` cannot move a whole number of repetitions.
    marks = (np.arange(n) + rng.uniform(0.01, 0.99)) * (ends[-1] / n)
    chosen: Array = np.searchsorted(ends, marks, side="right")
    return chosen


def _mean_and_scale(X: Array, standardize: bool) -> tuple[Array, Array]:
    mean = X.mean(axis=0)
    if not standardize:
        return mean, np.ones(X.shape[1])
    deviation = X.std(axis=0, ddof=1)
    varies = deviation > 64 * np.finfo(np.float64).eps * np.abs(mean)
    return mean, np.where(varies, deviation, 1.0)


# ---- bi-cross-validation ----------------------------------------------------------------------------------


def bi_cross_validation(
    X: Array,
    max_components: int,
    rng: np.random.Generator,
    folds: tuple[int, int] = (2, 2),
    rotations: int = 10,
    standardize: bool = False,
) -> tuple[int, Array]:
    """The k in 0 … K that best predicts blocks of entries from the rest, and the error of each k.

    Rows and columns are split at random, and for each pair of folds the data are X = [A B; C D]: A is held
    out, D shares neither rows nor columns with it. With D_k the best approximation of D of rank k,

        Â_k = B D_k⁺ C = Σ_{l≤k} (B v_l)(u_l' C) / s_l,    error(k) = mean of (A - Â_k)² over all blocks

    (Owen and Perry 2009, Bi-cross-validation of the SVD and the nonnegative matrix factorization, Ann. Appl.
    Stat. 3(2).) PCA has an intercept, so every column is first centred (and scaled) by its mean (and standard
    deviation) over the held-in rows, which C and D show: nothing of A enters its own prediction.

    Args:
        X: the rows (n, d), without missing entries.
        max_components: the largest k to try; K is this or what D can give, whichever is less.
        rng: the source of the splits.
        folds: into how many parts rows and columns are split.
        rotations: how many random splits are averaged. Few give an answer that depends on the split: of 30
            simulations of 30×80 with two components, 5 said three with 2 rotations, 3 with 5, 1 with 10.
        standardize: whether columns are scaled too; the errors are then in units of each column's variance.

    Returns:
        k, the smallest where several are best to 13 digits, and the errors (K + 1,) of k = 0 … K. One QR and
        one small SVD of each D serve every k: time O(n d min(n, d)) a rotation, memory a few copies of X.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 10)) + 0.1 * rng.normal(size=(60, 10))
    >>> bi_cross_validation(X, 4, rng)[0]
    2
    """
    X = np.asarray(X, dtype=np.float64)
    K = _largest_rank(X.shape, folds, max_components)
    errors = np.zeros(K + 1)
    for _ in range(rotations):
        row_folds, column_folds = (
            np.array_split(rng.permutation(size), parts) for size, parts in zip(X.shape, folds, strict=True)
        )
        for rows in row_folds:
            mean, scale = _mean_and_scale(np.delete(X, rows, axis=0), standardize)
            Y = (X - mean) / scale
            for columns in column_folds:
                errors += _block_errors(Y, rows, columns, K)
    errors /= X.size * rotations
    return int(np.argmax(errors <= errors.min() + 1e-13 * errors[0])), errors


def _largest_rank(shape: tuple[int, ...], folds: tuple[int, int], max_components: int) -> int:
    for size, parts, what in zip(shape, folds, ("rows", "columns"), strict=True):
        if not 2 <= parts <= size:
            raise OptionError(f"folds={folds}: {size} {what} cannot be split in {parts}; use 2 … {size} folds.")
    rows, columns = (size - -(-size // parts) for size, parts in zip(shape, folds, strict=True))
    return max(min(max_components, rows - 1, columns), 0)


def _block_errors(Y: Array, rows: Array, columns: Array, K: int) -> Array:
    """Σ (A - Â_k)² for k = 0 … K of one held-out block, from ‖A‖² - 2⟨A, Â_k⟩ + ‖Â_k‖²."""
    kept, others = np.delete(Y, columns, axis=1), Y[:, columns]
    A, B = others[rows], kept[rows]
    C, D = np.delete(others, rows, axis=0), np.delete(kept, rows, axis=0)
    U, reciprocal, V = _leading_svd(D, K)
    P, Q = (B @ V) * reciprocal, U.T @ C
    overlap = np.cumsum(np.sum((P.T @ A) * Q, axis=1))
    squares = np.diag(np.cumsum(np.cumsum((P.T @ P) * (Q @ Q.T), axis=0), axis=1))
    total = float(np.sum(A * A))
    return np.maximum(total + np.concatenate([[0.0], squares - 2 * overlap]), 0)


def _leading_svd(D: Array, k: int) -> tuple[Array, Array, Array]:
    """U (n, k), 1/s (k,) and V (d, k) of the k largest singular values; 1/s is 0 where s is rounding."""
    if D.shape[0] < D.shape[1]:
        V, reciprocal, U = _leading_svd(D.T, k)
        return U, reciprocal, V
    # The triangle has the singular values and V of D, as accurate, at a fraction of the cost when D is tall.
    _, s, Vt = np.linalg.svd(np.linalg.qr(D, mode="r"))
    real = s[:k] > s[0] * max(D.shape) * np.finfo(np.float64).eps
    reciprocal = np.where(real, 1 / np.where(real, s[:k], 1), 0)
    V = Vt[:k].T
    return (D @ V) * reciprocal, reciprocal, V


# ---- the answers side by side -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Suggestion:
    """What one rule says: how many components, the share of variance they hold, and a remark."""

    rule: str
    n_components: int
    share: float
    note: str = ""

    def cells(self) -> tuple[str, str, str, str]:
        """The row as text; a share that is NaN is left blank."""
        shown = "" if math.isnan(self.share) else f"{self.share:.1%}"
        return self.rule, str(self.n_components), shown, " ".join(self.note.split())


@dataclass(frozen=True, repr=False)
class ComponentTable:
    """The suggestions of several rules, one row each; `table["minka"]` is that row.

    >>> rows = Suggestion("kaiser", 3, 0.71), Suggestion("parallel", 12, 0.934, "20 permutations")
    >>> ComponentTable(rows)
    rule      components  share  note
    kaiser             3  71.0%
    parallel          12  93.4%  20 permutations
    >>> ComponentTable(rows)["kaiser"].n_components
    3
    """

    rows: tuple[Suggestion, ...]

    def __getitem__(self, rule: str) -> Suggestion:
        for row in self.rows:
            if row.rule == rule:
                return row
        known = ", ".join(repr(row.rule) for row in self.rows)
        raise OptionError(f"rule={rule!r} is not in this table, which has {known or 'no rows'}.")

    def __iter__(self) -> Iterator[Suggestion]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        lines = [_TITLES, *(row.cells() for row in self.rows)]
        a, b, c, _ = (max(len(cell) for cell in column) for column in zip(*lines, strict=True))
        return "\n".join(f"{rule:<{a}}  {k:>{b}}  {held:>{c}}  {note}".rstrip() for rule, k, held, note in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        body = "".join(_html_row(row.cells(), "td") for row in self.rows)
        return f"<table><thead>{_html_row(_TITLES, 'th')}</thead><tbody>{body}</tbody></table>"


_TITLES = ("rule", "components", "share", "note")


def _html_row(cells: tuple[str, ...], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

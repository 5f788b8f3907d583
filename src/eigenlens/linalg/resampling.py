"""Rules for the number of principal components that need the rows again, permuted or held out.

n rows, d features. X and a multiple of X have the same k by every rule.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.linalg import qr

from eigenlens import checks
from eigenlens.arrays import Array, slices
from eigenlens.data.coerce import require_finite
from eigenlens.errors import OptionError
from eigenlens.resources import interruptible


def parallel(values: Array, permuted_values: Array, quantile: float = 0.95) -> int:
    """Return how many leading eigenvalues exceed the `quantile` of their permuted twins, up to the first failure.

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


PANEL_ENTRIES = 1 << 21
"""The number of entries that are permuted at a time, in a few hundredths of a second."""


def permuted_spectra(
    X: Array, n_permutations: int, rng: np.random.Generator, standardize: bool = False, weight: Array | None = None
) -> Array:
    """Return eigenvalues (r, m) of r data sets whose columns are those of X (n, d), each shuffled on its own.

    Shuffling keeps each column's distribution and breaks all dependence between columns. m = min(n, d), and the
    smaller of covariance and Gram matrix is used: time O(r n d m), memory O(n d).

    Args:
        X: the rows (n, d), without missing values.
        n_permutations: the number r of data sets.
        rng: the source of the permutations.
        standardize: whether columns are divided by their standard deviations (divisor n - 1); constant ones are not.
        weight: how often each row counts (n,): n is then Σ weight, rounded. Whole numbers repeat the rows; fractions
            are rounded up or down at random, by systematic sampling.

    >>> permuted_spectra(np.array([[1.0, 2.0], [2.0, 4.0], [4.0, 8.0]]), 2, np.random.default_rng(0)).shape
    (2, 2)
    """
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    n, d = round(float(weight.sum())), X.shape[1]
    if n < 2:
        raise OptionError(f"sums to {weight.sum():g}, but permutations need at least 2 rows", argument="sample_weight")
    checks.sample_size("sample_weight", n, d)
    spectra = np.empty((n_permutations, min(n, d)))
    for spectrum in spectra:
        chosen, columns = _systematic(weight, n, rng), np.empty((d, n))
        for part in slices(d, max(1, PANEL_ENTRIES // n)):  # an interrupt is answered after each
            panel = rng.permuted(X[chosen, part].T, axis=1).astype(np.float64, copy=False)
            mean, scale = _mean_and_scale(panel.T, standardize)
            columns[part] = (panel - mean[:, None]) / scale[:, None]
        A = columns if d <= n else columns.T
        with np.errstate(over="ignore", invalid="ignore"):
            products = interruptible(lambda A=A: A @ A.T, A.size)  # type: ignore[misc]
        require_finite(X, products)
        values = interruptible(partial(np.linalg.eigvalsh, products), A.size)
        spectrum[:] = np.maximum(values[::-1], 0) / (n - 1)
    return spectra


def _systematic(weight: Array, n: int, rng: np.random.Generator) -> Array:
    """Return n row numbers, row i ⌊n w_i / Σw⌋ or ⌈n w_i / Σw⌉ times: one every unit of cumulated weight."""
    ends = np.cumsum(weight)
    # Offsets keep clear of 0 and 1, so that the rounding of `ends` cannot change a whole number of repetitions.
    marks = (np.arange(n) + rng.uniform(0.01, 0.99)) * (ends[-1] / n)
    chosen: Array = np.searchsorted(ends, marks, side="right")
    return chosen


def _mean_and_scale(X: Array, standardize: bool, weight: Array | None = None) -> tuple[Array, Array]:
    w = np.ones(len(X)) if weight is None else weight
    mean = w @ X / w.sum()
    if not standardize:
        return mean, np.ones(X.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):  # of one row, which has no deviation
        deviation = np.sqrt(w @ (X - mean) ** 2 / (w.sum() - 1))
    varies = deviation > 64 * np.finfo(np.float64).eps * np.abs(mean)
    return mean, np.where(varies, deviation, 1.0)


def bi_cross_validation(
    X: Array,
    max_components: int,
    rng: np.random.Generator,
    folds: tuple[int, int] = (2, 2),
    rotations: int = 10,
    standardize: bool = False,
    weight: Array | None = None,
) -> tuple[int, Array]:
    """Return the k in 0 … K that best predicts blocks of entries from the rest, and the error of each k.

    Rows and columns are split at random, and for each pair of folds the data are X = [A B; C D]: A is held
    out, D shares neither rows nor columns with it. With D_k the best approximation of D of rank k,

        Â_k = B D_k⁺ C = Σ_{l≤k} (B v_l)(u_l' C) / s_l,    error(k) = mean of (A - Â_k)² over all blocks

    (Owen and Perry 2009, Bi-cross-validation of the SVD and the nonnegative matrix factorization, Ann. Appl.
    Stat. 3(2).) PCA has an intercept, so every column is first centred (and scaled) by its mean (and standard
    deviation) over the other rows, which C and D show: nothing of A enters its own prediction.

    Args:
        X: the rows (n, d), without missing values.
        max_components: the largest k to try; K is this or what D can give, whichever is less.
        rng: the source of the splits.
        folds: into how many parts rows and columns are split.
        rotations: how many random splits are averaged. Few give an answer that depends on the split: of 30 simulations
            of 30×80 with two components, 5 found three with 2 rotations, 3 with 5, 1 with 10.
        standardize: whether columns are scaled too; the errors are then in units of each column's variance.
        weight: how often each row counts (n,); all copies of a row are held out together.

    Returns:
        k, the smallest where several are best to 13 digits, and the errors (K + 1,) of k = 0 … K. One QR and
        one small SVD of each D serve every k: time O(n d min(n, d)) per rotation, memory a few copies of X.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 10)) + 0.1 * rng.normal(size=(60, 10))
    >>> bi_cross_validation(X, 4, rng)[0]
    2
    """
    X = np.asarray(X, dtype=np.float64)
    w = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    X, w = X[w > 0.0], w[w > 0.0]
    K = _largest_rank(X.shape, folds, max_components)
    errors = np.zeros(K + 1)
    for _ in range(rotations):
        row_folds, column_folds = (
            np.array_split(rng.permutation(size), parts) for size, parts in zip(X.shape, folds, strict=True)
        )
        for rows in row_folds:
            mean, scale = _mean_and_scale(np.delete(X, rows, axis=0), standardize, np.delete(w, rows))
            # Squares of rows times √w are weighted squares, in the approximation of D and in the error alike.
            Y = (X - mean) / scale * np.sqrt(w)[:, None]
            for columns in column_folds:
                errors += _block_errors(Y, rows, columns, K)
    errors /= w.sum() * X.shape[1] * rotations
    return int(np.argmax(errors <= errors.min() + 1e-13 * errors[0])), errors


def _largest_rank(shape: tuple[int, ...], folds: tuple[int, int], max_components: int) -> int:
    for size, parts, what in zip(shape, folds, ("rows", "columns"), strict=True):
        if not 2 <= parts <= size:
            raise OptionError(
                f"cannot split {size} {what} into {parts}", argument="folds", value=folds, fix=f"use 2 … {size} folds"
            )
    rows, columns = (size - -(-size // parts) for size, parts in zip(shape, folds, strict=True))
    return max(min(max_components, rows - 1, columns), 0)


def _block_errors(Y: Array, rows: Array, columns: Array, K: int) -> Array:
    """Return Σ (A - Â_k)² for k = 0 … K of one held-out block, from ‖A‖² - 2⟨A, Â_k⟩ + ‖Â_k‖²."""
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
    """Return U (n, k), 1/s (k,) and V (d, k) of the k largest singular values; 1/s is 0 where s is rounding."""
    if D.shape[0] < D.shape[1]:
        V, reciprocal, U = _leading_svd(D.T, k)
        return U, reciprocal, V
    # The triangle has the singular values and V of D, as accurate, at a fraction of the cost when D is tall.
    _, s, Vt = np.linalg.svd(interruptible(partial(qr, D, mode="r", check_finite=False), D.size)[0][: D.shape[1]])
    real = s[:k] > s[0] * max(D.shape) * np.finfo(np.float64).eps
    reciprocal = np.where(real, 1 / np.where(real, s[:k], 1), 0)
    V = Vt[:k].T
    return (D @ V) * reciprocal, reciprocal, V

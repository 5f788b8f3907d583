"""The correlation matrix R of rows, as factor analysis needs it: eigenpairs of diag(r) R diag(r), products, a start.

Three ways to hold it, one for each shape of the rows: the matrix itself, the standardised rows where they are fewer
than the columns, or neither, where each product is a pass over the source.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg import lapack

from eigenlens.arrays import Array
from eigenlens.linalg.lanczos import lanczos
from eigenlens.linalg.operators import CentredRows, Matrix, SymmetricOperator
from eigenlens.linalg.spectrum import Requested
from eigenlens.linalg.symmetric import leading_eigenpairs

__all__ = ["Correlations", "DenseCorrelations", "RowCorrelations", "StreamedCorrelations", "choose_correlations"]

MAX_LAPACK_COLUMNS = 600
"""Up to this many columns LAPACK finds the eigenpairs; beyond, Lanczos does, where few of them are wanted."""

MIN_LANCZOS_COLUMNS, MIN_EIGENVALUE_GAP_RATIO = 300, 2.0
"""From so many columns on Lanczos takes over where eigenvalues just found stood this many times above the next."""

MAX_LANCZOS_SHARE = 1 / 10
MAX_MATRIX_COLUMNS = 12_000
"""Up to here the matrix is formed at all (1.2 GB)."""

MAX_ROW_BYTES = 1 << 30
EIGENPAIR_TOL = 1e-11
MIN_PIVOT = 1e-9


class Correlations(Protocol):
    """A correlation matrix R (d, d), however it is held."""

    @property
    def size(self) -> int:
        """d."""

    def leading(self, r: Array, k: int) -> tuple[Array, Array]:
        """The k largest eigenvalues (k,) of diag(r) R diag(r), descending, and their vectors (d, k)."""

    def matmat(self, V: Array) -> Array:
        """R V for V (d, b)."""

    def uniquenesses(self, k: int) -> Array:
        """A first guess (d,) at the share of each variable that k factors leave over."""


class DenseCorrelations:
    """R in memory.

    >>> DenseCorrelations(np.array([[1.0, 0.5], [0.5, 1.0]])).leading(np.ones(2), 1)[0]
    array([1.5])
    """

    def __init__(self, R: Array) -> None:
        self.matrix = R
        self.size = len(R)
        self._apart = False

    def leading(self, r: Array, k: int) -> tuple[Array, Array]:
        """By LAPACK, or by Lanczos where the matrix is large and k is small.

        In between Lanczos is faster if the eigenvalues stand well above the rest, which the last ones found tell of:
        a climb asks for those of matrices that differ little.
        """
        A = (self.matrix * r[:, None]) * r
        if k <= MAX_LANCZOS_SHARE * self.size and (
            self.size > MAX_LAPACK_COLUMNS or (self.size > MIN_LANCZOS_COLUMNS and self._apart)
        ):
            found = lanczos(Matrix(A), Requested.count(k, self.size), EIGENPAIR_TOL, np.random.default_rng(0))
            if found.outcome.converged:
                return found.values, found.vectors
        values, w, V = leading_eigenpairs(A, Requested.count(k, self.size))
        self._apart = bool(k < self.size and w[-1] > MIN_EIGENVALUE_GAP_RATIO * values[k])
        return w, V

    def matmat(self, V: Array) -> Array:
        """R V."""
        return np.asarray(self.matrix @ V)

    def uniquenesses(self, k: int) -> Array:
        """(1 − k/2d) / diag R⁻¹ (Jöreskog 1967): one less the squared multiple correlations, shrunk."""
        factor, failed = lapack.dpotrf(self.matrix, lower=1)
        if failed or np.min(np.diag(factor)) ** 2 < MIN_PIVOT:
            return _spectral_start(self, k)
        inverse, _ = lapack.dpotri(factor, lower=1)
        return np.asarray((1.0 - 0.5 * k / self.size) / np.diag(inverse))


class RowCorrelations:
    """R = YᵀY by rows Y (n, d), fewer than columns: eigenpairs by those of an n×n matrix, n² d flops."""

    def __init__(self, Y: Array) -> None:
        self._Y = Y
        self.size = Y.shape[1]

    def leading(self, r: Array, k: int) -> tuple[Array, Array]:
        """V = (Y r)ᵀ U w^-½ from the eigenpairs of (Y r)(Y r)ᵀ; k beyond the rank are filled with zeros."""
        Y = self._Y * r
        _, w, U = leading_eigenpairs(Y @ Y.T, Requested.count(min(k, len(Y)), len(Y)))
        positive = np.maximum(w, np.finfo(float).tiny)
        V = (Y.T @ U) / np.sqrt(positive)
        missing = k - len(w)
        return np.append(w, np.zeros(missing)), np.column_stack([V, np.zeros((self.size, missing))])

    def matmat(self, V: Array) -> Array:
        """Yᵀ(Y V)."""
        return np.asarray(self._Y.T @ (self._Y @ V))

    def uniquenesses(self, k: int) -> Array:
        """By principal components: R has no inverse."""
        return _spectral_start(self, k)


class StreamedCorrelations:
    """R by its products alone, each a pass over the source: for more columns than a matrix could have."""

    def __init__(self, rows: CentredRows) -> None:
        self._rows = rows
        self.size = rows.size

    def leading(self, r: Array, k: int) -> tuple[Array, Array]:
        """By Lanczos."""
        found = lanczos(
            _Scaled(self._rows, r),
            Requested.count(k, self.size),
            EIGENPAIR_TOL,
            np.random.default_rng(0),
            block=max(8, k),
        )
        return found.values, found.vectors

    def matmat(self, V: Array) -> Array:
        """R V in one pass."""
        return self._rows.matmat(V)

    def uniquenesses(self, k: int) -> Array:
        """By principal components."""
        return _spectral_start(self, k)


class _Scaled:
    """diag(r) A diag(r)."""

    def __init__(self, base: SymmetricOperator, r: Array) -> None:
        self._base, self._r = base, r[:, None]
        self.size = base.size
        self.trace = float(r @ r)

    def matmat(self, V: Array) -> Array:
        return self._r * self._base.matmat(self._r * V)

    def dense(self) -> Array:
        return np.asarray(self._r * self._base.dense() * self._r.T)


def _spectral_start(correlations: Correlations, k: int) -> Array:
    """1 − diag W Wᵀ with W from the k leading components, less their share of noise; between 0.1 and 1."""
    d = correlations.size
    w, V = correlations.leading(np.ones(d), k)
    noise = max(d - float(w.sum()), 0.0) / (d - k)
    return np.asarray(np.clip(1.0 - (V * V) @ np.maximum(w - noise, 0.0), 0.1, 1.0))


def choose_correlations(rows: CentredRows) -> tuple[Correlations, str]:
    """The way to hold R for these standardised rows, and why.

    | if                                      | R is                              |
    |-----------------------------------------|-----------------------------------|
    | in memory, 2 n ≤ d, rows within 1 GiB   | YᵀY by the standardised rows Y    |
    | d ≤ 12000                               | a matrix                          |
    | anything larger                         | its products, each a pass         |
    """
    n, d = rows.source.n_rows, rows.size
    if rows.source.in_memory and n is not None and 2 * n <= d and 8 * n * d <= MAX_ROW_BYTES:
        return RowCorrelations(np.concatenate(list(rows.centred_blocks()))), "rows are far fewer than columns"
    if d <= MAX_MATRIX_COLUMNS:
        return DenseCorrelations(rows.dense()), "the correlation matrix fits in memory"
    return StreamedCorrelations(rows), "the correlation matrix is too large to be formed"

"""The correlation matrix R of rows, as factor analysis needs it: eigenpairs of diag(r) R diag(r), products, a start.

There are three representations, one for each shape of the rows: the matrix itself; the standardised rows where they are
fewer than the columns; or neither, where each product is a pass over the source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy.linalg import lapack

from eigenlens.arrays import Array
from eigenlens.linalg.lanczos import lanczos
from eigenlens.linalg.operators import CentredRows, Matrix, SymmetricOperator
from eigenlens.linalg.solve import MAX_MATRIX_SIZE
from eigenlens.linalg.spectrum import Requested
from eigenlens.linalg.symmetric import leading_eigenpairs

MAX_LAPACK_COLUMNS = 600
"""Up to this many columns LAPACK computes the eigenpairs; beyond, Lanczos does, where few of them are wanted."""

MIN_LANCZOS_COLUMNS, MIN_EIGENVALUE_RATIO = 300, 2.0
"""From this many columns on Lanczos takes over if the last eigenvalues found exceeded the next by this factor."""

MAX_LANCZOS_SHARE = 1 / 10
"""The largest share of the eigenpairs for which Lanczos is faster than LAPACK."""

MAX_ROW_BYTES = 1 << 30
"""Standardised rows are kept in memory, instead of the matrix, if they take no more than this."""

EIGENPAIR_TOL = 1e-11
"""Relative residual of Lanczos: the gradient of the likelihood needs more digits than its value."""

MIN_PIVOT = 1e-9
"""With a smaller squared pivot of its Cholesky factor, R has no inverse that could be trusted for a start."""


class Correlations(ABC):
    """A correlation matrix R (d, d) in any representation; `size` is the number d of variables."""

    size: int

    @abstractmethod
    def leading(self, r: Array, k: int) -> tuple[Array, Array]:
        """Return the k largest eigenvalues (k,) of diag(r) R diag(r), descending, and their vectors (d, k)."""

    @abstractmethod
    def matmat(self, V: Array) -> Array:
        """Return R V for V (d, b)."""

    def uniquenesses(self, k: int) -> Array:
        """Return a first guess (d,) at the share of each variable's variance that k factors leave unexplained.

        It is 1 − diag W Wᵀ with W from the k leading components, less their share of noise, clamped to 0.1 … 1.
        """
        w, V = self.leading(np.ones(self.size), k)
        noise = max(self.size - float(w.sum()), 0.0) / (self.size - k)
        return np.asarray(np.clip(1.0 - (V * V) @ np.maximum(w - noise, 0.0), 0.1, 1.0))


class DenseCorrelations(Correlations):
    """A correlation matrix R that is in memory.

    >>> DenseCorrelations(np.array([[1.0, 0.5], [0.5, 1.0]])).leading(np.ones(2), 1)[0]
    array([1.5])
    """

    def __init__(self, R: Array) -> None:
        self.matrix = R
        self.size = len(R)
        self._well_separated = False

    def leading(self, r: Array, k: int) -> tuple[Array, Array]:
        """Return the leading eigenpairs by LAPACK, or by Lanczos where the matrix is large and k is small.

        For sizes in between Lanczos is faster if the eigenvalues are well above the rest. The last ones found predict
        that: one minimisation asks for the eigenpairs of matrices that differ little.
        """
        A = (self.matrix * r[:, None]) * r
        large = self.size > MAX_LAPACK_COLUMNS or (self.size > MIN_LANCZOS_COLUMNS and self._well_separated)
        if large and k <= MAX_LANCZOS_SHARE * self.size:
            found = lanczos(Matrix(A), Requested.count(k, self.size), EIGENPAIR_TOL, np.random.default_rng(0))
            if found.outcome.converged:
                return found.values, found.vectors
        values, w, V = leading_eigenpairs(A, Requested.count(k, self.size), all_values=True)
        self._well_separated = bool(k < self.size and w[-1] > MIN_EIGENVALUE_RATIO * values[k])
        return w, V

    def matmat(self, V: Array) -> Array:
        """Return R V, one matrix product."""
        return np.asarray(self.matrix @ V)

    def uniquenesses(self, k: int) -> Array:
        """Return (1 − k/2d) / diag R⁻¹ (Jöreskog 1967): 1 minus the squared multiple correlations, shrunk."""
        factor, failed = lapack.dpotrf(self.matrix, lower=1)
        if failed or np.min(np.diag(factor)) ** 2 < MIN_PIVOT:
            return super().uniquenesses(k)
        inverse, _ = lapack.dpotri(factor, lower=1)
        return np.asarray((1.0 - 0.5 * k / self.size) / np.diag(inverse))


class RowCorrelations(Correlations):
    """R = YᵀY by its rows Y (n, d), fewer than columns: eigenpairs by those of an n×n matrix, n² d flops."""

    def __init__(self, Y: Array) -> None:
        self._Y = Y
        self.size = Y.shape[1]

    def leading(self, r: Array, k: int) -> tuple[Array, Array]:
        """Return V = (Y r)ᵀ U w^-½ from the eigenpairs of (Y r)(Y r)ᵀ, and zeros beyond the rank."""
        Y = self._Y * r
        _, w, U = leading_eigenpairs(Y @ Y.T, Requested.count(min(k, len(Y)), len(Y)))
        positive = np.maximum(w, np.finfo(float).tiny)
        V = (Y.T @ U) / np.sqrt(positive)
        beyond = k - len(w)
        return np.append(w, np.zeros(beyond)), np.column_stack([V, np.zeros((self.size, beyond))])

    def matmat(self, V: Array) -> Array:
        """Return Yᵀ(Y V), two products with the rows."""
        return np.asarray(self._Y.T @ (self._Y @ V))


class StreamedCorrelations(Correlations):
    """R by its products alone, each a pass over the source: for more columns than a matrix in memory could have."""

    def __init__(self, rows: CentredRows) -> None:
        self._rows = rows
        self.size = rows.size

    def leading(self, r: Array, k: int) -> tuple[Array, Array]:
        """Return the leading eigenpairs by Lanczos."""
        wanted, rng = Requested.count(k, self.size), np.random.default_rng(0)
        found = lanczos(_Scaled(self._rows, r), wanted, EIGENPAIR_TOL, rng, block=max(8, k))
        return found.values, found.vectors

    def matmat(self, V: Array) -> Array:
        """Return R V, by one pass over the rows."""
        return self._rows.matmat(V)


class _Scaled:
    """The operator diag(r) A diag(r)."""

    def __init__(self, base: SymmetricOperator, r: Array) -> None:
        self._base, self._r = base, r[:, None]
        self.size = base.size
        self.trace = float(r @ r)

    def matmat(self, V: Array) -> Array:
        return self._r * self._base.matmat(self._r * V)


def choose_correlations(rows: CentredRows) -> tuple[Correlations, str]:
    """Choose the representation of R for these standardised rows; return it, and why.

    | if                                      | R is                              |
    |-----------------------------------------|-----------------------------------|
    | in memory, 2 n ≤ d, rows within 1 GiB   | YᵀY by the standardised rows Y    |
    | d ≤ 12000                               | a matrix                          |
    | anything larger                         | its products, each a pass         |
    """
    n, d = rows.source.n_rows, rows.size
    if rows.source.in_memory and n is not None and 2 * n <= d and 8 * n * d <= MAX_ROW_BYTES:
        return RowCorrelations(np.concatenate(list(rows.centred_blocks()))), "rows are far fewer than columns"
    if d <= MAX_MATRIX_SIZE:
        return DenseCorrelations(rows.dense()), "the correlation matrix fits in memory"
    return StreamedCorrelations(rows), "the correlation matrix is too large to be formed"

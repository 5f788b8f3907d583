"""The solver "lanczos": leading eigenpairs from products alone, by thick-restart block Lanczos.

A V = V T + Q B Eᵀ holds throughout (Wu and Simon 2000, eq. 3.2, in blocks), so residual norms are read off B without a
product. The basis is orthogonalised in full, twice; it never outgrows a fixed size.
"""

from __future__ import annotations

import functools
import operator
import sys
from dataclasses import dataclass

import numpy as np

from eigenlens.arrays import Array
from eigenlens.linalg.operators import SymmetricOperator
from eigenlens.linalg.spectrum import Outcome, Requested, Spectrum, orient
from eigenlens.native.span import remove_span
from eigenlens.resources import in_slices, thread_count

MAX_LANCZOS_PRODUCTS = 3000
"""Products after which the iteration ends, converged or not."""

CONFIRMATION_STEPS = 4
"""Steps from a fresh random block in search of missed eigenvalues."""

BASIS_BLOCKS = 16
"""Blocks in the basis beside the wanted pairs: a larger basis restarts less often and costs more per step."""

START_SEED = 0
"""The seed of starts and fresh blocks: answers depend on them only below their tolerance, and are always the same."""

SLICE_ROWS = 1 << 13
"""Rows of a tall matrix that a thread multiplies at a time."""

PRODUCTS_BETWEEN_CHECKS = 3
"""Products between two checks of the residuals, each of which solves the small projected problem."""


def lanczos(
    operator: SymmetricOperator,
    wanted: Requested,
    tol: float,
    rng: np.random.Generator,
    block: int = 8,
    workers: int | None = None,
) -> Spectrum:
    """Return the leading eigenpairs of A, each with ‖A v − λ v‖ ≤ tol λ₁.

    A block Krylov space holds at most `block` copies of a repeated eigenvalue, so a converged answer is confirmed: a
    fresh random block, orthogonal to it, must find nothing larger. If `wanted` needs more values than are known (for a
    share of the trace), the iteration continues for more. The random blocks are the same in every run, whatever `rng`
    is. Cost per step: one product with b columns and 8 N m b flops, for a basis of m columns, on `workers` threads or
    as many as BLAS may use.
    """
    total, k = operator.trace, min(wanted.initial_guess, wanted.limit)
    basis = _Basis(operator, k, min(block, operator.size), np.random.default_rng(START_SEED), workers or thread_count())
    while True:
        values, converged = _converge(basis, k, tol)
        enough = wanted.choose(np.maximum(values, 0.0), total)
        if enough is not None or k >= wanted.limit or not converged:
            break
        k = min(2 * k, wanted.limit)
        basis.grow(k)
    k = min(values.size, wanted.limit if enough is None else enough)
    V = basis.ritz_vectors(k)
    residuals = residual_norms(operator, V, values[:k])
    met = converged and bool(np.all(residuals <= 10.0 * tol))
    outcome = Outcome("lanczos", iterations=basis.products, residuals=residuals, converged=met)
    return Spectrum(np.maximum(values[:k], 0.0), orient(V), total, outcome)


def residual_norms(operator: SymmetricOperator, V: Array, values: Array) -> Array:
    """Return ‖A v − λ v‖ / λ₁ for each column of V (N, k)."""
    largest = max(float(values.max(initial=0.0)), sys.float_info.min)
    return _column_norms(operator.matmat(V) - V * values) / largest


def _column_norms(W: Array) -> Array:
    """Return the norm of each column of W (N, k), whose squares may be too large or too small for floating point."""
    size = max(float(np.abs(W).max(initial=0.0)), sys.float_info.min)
    scaled = W / size
    return np.asarray(size * np.sqrt(np.einsum("ij,ij->j", scaled, scaled)))


def _converge(basis: _Basis, k: int, tol: float) -> tuple[Array, bool]:
    """Iterate until k pairs have converged and a fresh random block confirms that none was missed."""
    while True:
        values, converged = basis.iterate(k, tol)
        if basis.exhausted:
            return values, True
        if not converged:
            return values[:k], False
        before = values[:k]
        after = basis.challenge(k)
        if np.all(after <= before + 1e-8 * max(before[0], 0.0)):
            return before, True
        if basis.products >= MAX_LANCZOS_PRODUCTS:
            return before, False


def orthonormal(W: Array) -> tuple[Array, Array]:
    """Return Q and R with Q R = W (N, b), by Cholesky twice, or by Householder where W is too dependent or too large.

    The small triangles are inverted, not solved with: the second round repairs what the first one lost.
    """
    Q = np.empty_like(W)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # squares beyond 1e308 overflow, which is detected below
            first = _triangle(W)
            _multiply(W, np.linalg.inv(first), Q)
            second = _triangle(Q)
    except np.linalg.LinAlgError:
        return np.linalg.qr(W)
    if not np.abs(second - np.eye(len(second))).max() <= 1e-2:
        return np.linalg.qr(W)
    _multiply(Q, np.linalg.inv(second), Q)
    return Q, second @ first


def _triangle(W: Array) -> Array:
    """Return the upper triangle R (b, b) with RᵀR = WᵀW."""
    squares = in_slices(lambda part: W[part].T @ W[part], len(W), SLICE_ROWS)
    return np.asarray(np.linalg.cholesky(functools.reduce(operator.add, squares)).T)


def _multiply(W: Array, A: Array, out: Array) -> None:
    """Write W A (N, c) to `out`, which may be W itself."""

    def fill(part: slice) -> None:
        out[part] = W[part] @ A

    in_slices(fill, len(W), SLICE_ROWS)


@dataclass
class _Basis:
    """The growing orthonormal basis V (N, j), the projected matrix T (j, j) and the next block Q (N, b)."""

    operator: SymmetricOperator
    k: int
    block: int
    rng: np.random.Generator
    workers: int

    def __post_init__(self) -> None:
        self.products = self.size = self.check = 0
        self.V, self.T = np.empty((self.operator.size, 0)), np.empty((0, 0))
        self._allocate()
        start = self.rng.standard_normal((self.operator.size, self.block))
        self.next = np.linalg.qr(start)[0]
        self.coupling = np.zeros((0, 0))

    def _allocate(self) -> None:
        N = self.operator.size
        self.capacity = min(N, self.k + BASIS_BLOCKS * self.block)
        V, T = np.empty((N, self.capacity), order="F"), np.zeros((self.capacity, self.capacity))
        V[:, : self.size], T[: self.size, : self.size] = self.V[:, : self.size], self.T[: self.size, : self.size]
        self.V, self.T = V, T

    @property
    def exhausted(self) -> bool:
        """Whether the basis spans the whole space: then the answer is exact."""
        return self.size >= self.operator.size

    def grow(self, k: int) -> None:
        """Make room for k pairs, keeping the basis."""
        self.k = k
        self._allocate()

    def iterate(self, k: int, tol: float) -> tuple[Array, bool]:
        """Take steps and restart until k Ritz pairs have residuals below tol λ₁, or the products are used up."""
        while True:
            self._step()
            full = self.size + self.block > self.capacity < self.operator.size
            if not (full or self.exhausted or (self.size >= k and self.products >= self.check)):
                continue
            self.check = self.products + PRODUCTS_BETWEEN_CHECKS
            values, Y = self._ritz()
            left = self.coupling @ Y[self.size - self.coupling.shape[1] :, :k]
            if self.exhausted or np.all(_column_norms(left) <= tol * max(values[0], np.finfo(float).tiny)):
                return values, True
            if self.products >= MAX_LANCZOS_PRODUCTS:
                return values, False
            if full:
                self._restart(values, Y, k + (self.capacity - k) // 3)

    def challenge(self, k: int) -> Array:
        """Take a few steps from a random block orthogonal to the k pairs found; return the k largest values then."""
        values, Y = self._ritz()
        self._restart(values, Y, k)
        fresh = self.rng.standard_normal((self.operator.size, self.block))
        self.next, self.coupling = self._orthonormal(fresh)[0], np.zeros((self.block, 0))
        for _ in range(CONFIRMATION_STEPS):
            self._step()
            if self.exhausted or self.size + self.block > self.capacity:
                break
        return self._ritz()[0][:k]

    def ritz_vectors(self, k: int) -> Array:
        """Return the k leading Ritz vectors (N, k)."""
        return np.asarray(self.V[:, : self.size] @ self._ritz()[1][:, :k])

    def _step(self) -> None:
        """Add the next block to the basis, project its product, and make the block after it."""
        Q, j = self.next, self.size
        room = min(Q.shape[1], self.capacity - j)
        Q = Q[:, :room]
        self.V[:, j : j + room] = Q
        self.size = j + room
        self.products += 1
        W, H = remove_span(self.V[:, : self.size], self.operator.matmat(Q), self.workers)
        self.T[: self.size, j : self.size] = H
        self.T[j : self.size, : self.size] = H.T
        if self.exhausted:
            self.next, self.coupling = np.empty((self.operator.size, 0)), np.zeros((0, room))
        else:
            self.next, self.coupling = self._orthonormal(W)

    def _orthonormal(self, W: Array) -> tuple[Array, Array]:
        """Return Q (N, b') and B with W = Q B beside the basis; dependent columns are replaced by random ones.

        A remainder that is small beside A is mostly rounding error, which lies in the basis: it is cleaned once more.
        """
        basis = self.V[:, : self.size]
        W = remove_span(basis, W, self.workers)[0]  # the second time: once is not enough, its errors grow
        Q, B = orthonormal(W)
        size = np.abs(np.diag(B)) / max(np.abs(self.T[: self.size, : self.size]).max(initial=0.0), 1e-300)
        if np.any(size < 1e-8):
            Q[:, size < 1e-13] = self.rng.standard_normal((W.shape[0], int(np.sum(size < 1e-13))))
            for _ in range(2):
                Q = np.linalg.qr(Q - basis @ (basis.T @ Q))[0]
            B = Q.T @ W
        room = min(Q.shape[1], self.operator.size - self.size)
        return Q[:, :room], B[:room]

    def _ritz(self) -> tuple[Array, Array]:
        T = self.T[: self.size, : self.size]
        values, Y = np.linalg.eigh((T + T.T) / 2)
        return values[::-1], Y[:, ::-1]

    def _restart(self, values: Array, Y: Array, keep: int) -> None:
        """Replace the basis by its `keep` leading Ritz vectors; the next block stays."""
        _multiply(self.V[:, : self.size], Y[:, :keep], self.V[:, :keep])
        self.coupling = self.coupling @ Y[self.size - self.coupling.shape[1] :, :keep]
        self.T[:keep, :keep] = np.diag(values[:keep])
        self.size = keep

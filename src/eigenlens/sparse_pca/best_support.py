"""The unit vector v with at most s entries other than 0 that maximises vᵀA v, for a covariance matrix A.

For given places of those entries, the support, the answer is the first eigenvector of A there, so the search is over
supports. Truncated power steps (Yuan and Zhang 2013, J. Mach. Learn. Res. 14, 899), v ← A v with all but its s largest
entries set to 0, find a good one from many starts; branch and bound (Berk and Bertsimas 2019, Math. Program. Comput.
11, 381) then finds a better one, or proves that there is none, or ends with a bound on what is left.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import eigsh

from eigenlens.arrays import Array

MAX_STARTS = 200
"""Truncated power steps start from at most this many columns, those of largest variance."""

MAX_POWER_ROUNDS = 200

DENSE_SIZE = 150
"""Beyond this size the first eigenvector is computed by Lanczos steps."""

PROOF_TOL = 1e-9
"""A support is the best if no other can exceed its variance by more than this share."""


class SparseDirection(NamedTuple):
    """A sparse unit vector (d,), its variance vᵀA v, a bound on that of any other as sparse, and the nodes searched."""

    vector: Array
    variance: float
    bound: float
    nodes: int


def best_direction(A: Array, s: int, max_nodes: int) -> SparseDirection:
    """Return the best vector with at most s entries other than 0 that was found, and a bound on the best there is.

    A (d, d) is positive semidefinite. Cost: up to 200 truncated power iterations of d s flops per step, then
    `max_nodes` eigenvectors of parts of A.

    >>> A = np.array([[4.0, 0.0, 0.0], [0.0, 3.0, 2.0], [0.0, 2.0, 3.0]])
    >>> best_direction(A, 1, 100).vector, best_direction(A, 2, 100).vector.round(3)
    (array([1., 0., 0.]), array([0.   , 0.707, 0.707]))
    """
    best = _best_of_starts(A, s)
    support, bound, nodes = _branch_and_bound(A, s, best, max_nodes)
    value, u = first_eigenpair(A[np.ix_(support, support)])
    vector = np.zeros(len(A))
    vector[support] = u
    return SparseDirection(vector, value, max(bound, value), nodes)


def first_eigenpair(A: Array) -> tuple[float, Array]:
    """Return the largest eigenvalue of a symmetric matrix (d, d), from above where it is not exact, and its vector."""
    if len(A) <= DENSE_SIZE:
        values, vectors = np.linalg.eigh(A)
        return float(values[-1]), vectors[:, -1]
    start = A[:, int(np.argmax(A.diagonal()))]
    values, vectors = eigsh(A, k=1, which="LA", v0=start if np.any(start) else np.ones(len(A)))
    v = vectors[:, 0]
    return float(values[0] + np.linalg.norm(A @ v - values[0] * v)), v


def truncated_power(A: Array, v: Array, s: int) -> Array:
    """Return the support (s,) at which truncated power steps from v arrive; vᵀA v never falls.

    After each truncation v is the first eigenvector on its support, a longer step than the power step.
    """
    support = _largest(v, s)
    for _ in range(MAX_POWER_ROUNDS):
        u = first_eigenpair(A[np.ix_(support, support)])[1]
        moved = _largest(A[:, support] @ u, s)
        if np.array_equal(moved, support):
            break
        support = moved
    return support


def _largest(v: Array, s: int) -> Array:
    """Return the places (s,) of the largest moduli, ascending; of equal ones the first."""
    return np.sort(np.argsort(-np.abs(v), kind="stable")[:s])


def _best_of_starts(A: Array, s: int) -> Array:
    """Return the best support of truncated power steps from the first eigenvector and from the columns of A."""
    starts = [first_eigenpair(A)[1], *(A[:, j] for j in np.argsort(-A.diagonal(), kind="stable")[:MAX_STARTS])]
    found = [np.array(each) for each in sorted({tuple(truncated_power(A, v, s).tolist()) for v in starts})]
    values = np.array([_value(A, support) for support in found])
    return found[int(np.argmax(values >= values.max() * (1.0 - PROOF_TOL)))]  # of equal ones the first


def _value(A: Array, support: Array) -> float:
    return first_eigenpair(A[np.ix_(support, support)])[0]


# ---- branch and bound -------------------------------------------------------------------------------------


class _Node(NamedTuple):
    """The supports of s places that have all of `fixed`, and the rest among `free`, which are in order of promise."""

    fixed: tuple[int, ...]
    free: tuple[int, ...]
    bound: float

    def guess(self, s: int) -> Array:
        """Return the most promising of these supports, (s,)."""
        return np.sort([*self.fixed, *self.free[: s - len(self.fixed)]])

    def children(self, A: Array, s: int) -> list[_Node]:
        """Return the supports with the most promising place, and those without it."""
        first, *rest = self.free
        return [_make_node(A, s, (*self.fixed, first), rest), _make_node(A, s, self.fixed, rest)]


def _make_node(A: Array, s: int, fixed: tuple[int, ...], free: Sequence[int]) -> _Node:
    """Return a node with the smaller of two bounds on the variances of its supports.

    Of a part of a matrix the first eigenvalue is no larger (Cauchy), and it is at most the largest sum of the moduli
    of a row (Gershgorin), of which a support has those at `fixed` places and at most s − |fixed| others.
    """
    most = s - len(fixed)
    if most == 0 or len(free) <= most:
        places = [*fixed, *free[:most]]
        return _Node(tuple(places), (), first_eigenpair(A[np.ix_(places, places)])[0])
    places = [*fixed, *free]
    part = A[np.ix_(places, places)]
    value, v = first_eigenpair(part)
    sizes, k = np.abs(part), len(fixed)
    sums = sizes[:, :k].sum(axis=1) + np.sort(sizes[:, k:], axis=1)[:, -most:].sum(axis=1)
    order = np.argsort(-np.abs(v[k:]), kind="stable")
    return _Node(fixed, tuple(free[j] for j in order), min(value, float(sums.max())))


def _branch_and_bound(A: Array, s: int, support: Array, max_nodes: int) -> tuple[Array, float, int]:
    """Return the best support, a bound on the variance of every one, and the number of nodes opened.

    The node of largest bound is opened first, so its bound is that of all supports not yet excluded.
    """
    value, nodes = _value(A, support), 0
    root = _make_node(A, s, (), range(len(A)))
    heap = [(-root.bound, 0, root)]
    while heap and -heap[0][0] > value * (1.0 + PROOF_TOL) and nodes < max_nodes:
        node, nodes = heapq.heappop(heap)[2], nodes + 1
        for number, child in enumerate(node.children(A, s) if node.free else []):
            guess = child.guess(s)
            if (reached := _value(A, guess)) > value * (1.0 + PROOF_TOL):
                support, value = guess, reached
            if child.bound > value * (1.0 + PROOF_TOL):
                heapq.heappush(heap, (-child.bound, 2 * nodes + number, child))
    return support, max([value, *(-negative for negative, _, _ in heap)]), nodes

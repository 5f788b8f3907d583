"""What every solver in `SOLVERS` promises, whatever its method: LAPACK's answer, weights that count, honest residuals.

The twin is `numpy.linalg.svd` of rows that were centred, scaled and weighted by hand.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from eigenlens.data.memory import ArraySource, SparseSource
from eigenlens.linalg.operators import CentredRows
from eigenlens.linalg.solve import MIN_RESIDUAL, SOLVERS, solve
from eigenlens.linalg.spectrum import Requested, orient

NAMES = ["auto", *SOLVERS]
DIRECT = ["auto", "covariance", "gram", "svd"]


def with_spectrum(n, d, sigma, seed=0):
    """Rows (n, d) whose centred form has the singular values `sigma`."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((n, len(sigma))) - 0.0)[0]
    U = np.linalg.qr(U - U.mean(axis=0))[0]
    V = np.linalg.qr(rng.standard_normal((d, len(sigma))))[0]
    return (U * sigma) @ V.T + rng.standard_normal(d)


def lapack(X, weight=None, standardize=False):
    """Eigenvalues and vectors (d, m) by the SVD of the centred, weighted copy that the package never makes."""
    w = np.ones(len(X)) if weight is None else weight
    C = X - w @ X / w.sum()
    if standardize:
        C = C / np.sqrt(w @ C**2 / (w.sum() - 1.0))
    _, s, Vt = np.linalg.svd(C * np.sqrt(w)[:, None] / np.sqrt(w.sum() - 1.0), full_matrices=False)
    return s**2, Vt.T


def found(X, k, solver, weight=None, standardize=False, tol=1e-10, block_rows=None):
    source = (SparseSource if sparse.issparse(X) else ArraySource)(X, block_rows=block_rows).weighted(weight)
    rows = CentredRows(source, standardize=standardize)
    limit = min(X.shape)
    return solve(rows, Requested.count(k, limit), solver, tol=tol, rng=np.random.default_rng(0))


DECAY = 0.75 ** np.arange(30)
TIED = np.repeat([3.0, 2.0, 1.0], [3, 7, 20])
CASES = {
    "tall": (with_spectrum(400, 30, DECAY), 8),
    "wide": (with_spectrum(31, 300, DECAY), 8),
    "square": (with_spectrum(60, 60, DECAY), 8),
    "rank-deficient tall": (with_spectrum(200, 30, DECAY[:6]), 6),
    "rank-deficient wide": (with_spectrum(30, 200, DECAY[:6]), 6),
    "rank-deficient square": (with_spectrum(40, 40, DECAY[:5]), 5),
    "one row": (np.ones((2, 1)) * [[1.0], [4.0]], 1),
    "one column": (np.random.default_rng(0).standard_normal((50, 1)), 1),
    "repeated": (with_spectrum(120, 60, np.append(TIED, 0.5 ** np.arange(1, 10))), 30),
    "repeated wide": (with_spectrum(60, 120, np.append(TIED, 0.5 ** np.arange(1, 10))), 30),
    "repeated, cut within": (with_spectrum(120, 60, np.append(TIED, 0.5 ** np.arange(1, 10))), 15),
}


@pytest.mark.parametrize("solver", NAMES)
@pytest.mark.parametrize("case", CASES)
def test_agrees_with_lapack(case, solver):
    X, k = CASES[case]
    spectrum = found(X, k, solver)
    values, V = lapack(X)
    np.testing.assert_allclose(spectrum.values, values[:k], rtol=1e-9)
    assert spectrum.vectors.shape == (X.shape[1], k)
    np.testing.assert_allclose(spectrum.vectors.T @ spectrum.vectors, np.eye(k), atol=1e-10)
    # Within a repeated eigenvalue the vectors are free: compare S V = V Λ, not V.
    C = (X - X.mean(axis=0)) / np.sqrt(len(X) - 1.0)
    off = C.T @ (C @ spectrum.vectors) - spectrum.vectors * values[:k]
    assert np.linalg.norm(off, axis=0).max() <= 1e-9 * values[0]
    assert spectrum.total == pytest.approx(values.sum(), rel=1e-12)
    if "repeated" not in case:
        np.testing.assert_allclose(spectrum.vectors, orient(V[:, :k]), atol=1e-7)


@pytest.mark.parametrize("solver", NAMES)
@pytest.mark.parametrize("shape", [(90, 12), (12, 90), (30, 30)])
def test_all_components(solver, shape):
    """k = min(n, d): for n ≤ d the last has no variance, and still gets an axis orthogonal to the others."""
    X = with_spectrum(*shape, 0.8 ** np.arange(min(shape) - (shape[0] <= shape[1])))
    spectrum = found(X, min(shape), solver)
    values = lapack(X)[0]
    values = np.where(values > 1e-20, values, 0.0)
    np.testing.assert_allclose(spectrum.values, values, rtol=1e-9, atol=1e-14 * values[0])
    np.testing.assert_allclose(spectrum.vectors.T @ spectrum.vectors, np.eye(min(shape)), atol=1e-10)


@pytest.mark.parametrize("solver", NAMES)
@pytest.mark.parametrize("shape", [(60, 8), (20, 50)])
@pytest.mark.parametrize("standardize", [False, True])
def test_a_weight_is_a_number_of_copies(solver, shape, standardize):
    rng = np.random.default_rng(1)
    X = rng.standard_normal(shape) * 0.7 ** np.arange(shape[1]) + rng.standard_normal(shape[1]) * 5.0
    weight = rng.integers(0, 4, shape[0]).astype(float)
    weight[:2] = 3.0, 0.0
    weighted = found(X, 4, solver, weight, standardize)
    copies = found(np.repeat(X, weight.astype(int), axis=0), 4, solver, None, standardize)
    np.testing.assert_allclose(weighted.values, copies.values, rtol=1e-10)
    np.testing.assert_allclose(weighted.vectors, copies.vectors, atol=1e-7)
    assert weighted.total == pytest.approx(copies.total, rel=1e-12)


@pytest.mark.parametrize("solver", NAMES)
@pytest.mark.parametrize("shape", [(60, 8), (20, 50)])
@pytest.mark.parametrize("standardize", [False, True])
def test_fractional_weights_by_algebra(solver, shape, standardize):
    rng = np.random.default_rng(2)
    X = rng.standard_normal(shape) * 0.7 ** np.arange(shape[1]) + 3.0
    weight = rng.uniform(0.1, 4.0, shape[0])
    values, V = lapack(X, weight, standardize)
    spectrum = found(X, 4, solver, weight, standardize)
    np.testing.assert_allclose(spectrum.values, values[:4], rtol=1e-9)
    np.testing.assert_allclose(spectrum.vectors, orient(V[:, :4]), atol=1e-6)


@pytest.mark.parametrize("solver", NAMES)
@pytest.mark.parametrize("shape", [(60, 8), (20, 50)])
def test_a_weight_of_zero_removes_the_row_whatever_it_holds(solver, shape):
    rng = np.random.default_rng(3)
    X = rng.standard_normal(shape) * 0.7 ** np.arange(shape[1])
    spoilt = np.vstack([X[:5], np.full((1, shape[1]), 1e6), X[5:]])
    weight = np.ones(len(spoilt))
    weight[5] = 0.0
    np.testing.assert_allclose(found(spoilt, 3, solver, weight).values, found(X, 3, solver).values, rtol=1e-9)


@pytest.mark.parametrize("solver", NAMES)
@pytest.mark.parametrize("block_rows", [1, 7, 50, 1000])
def test_the_size_of_blocks_changes_nothing(solver, block_rows):
    X = with_spectrum(120, 15, 0.7 ** np.arange(15))
    weight = np.random.default_rng(4).uniform(0.5, 2.0, 120)
    whole, parts = found(X, 4, solver, weight), found(X, 4, solver, weight, block_rows=block_rows)
    np.testing.assert_allclose(parts.values, whole.values, rtol=1e-10)
    np.testing.assert_allclose(parts.vectors, whole.vectors, atol=1e-7)


@pytest.mark.parametrize("solver", NAMES)
@pytest.mark.parametrize("block_rows", [None, 13])
@pytest.mark.parametrize("standardize", [False, True])
def test_sparse_rows(solver, block_rows, standardize):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((150, 20)) * (rng.random((150, 20)) < 0.2) * 0.8 ** np.arange(20)
    X[:, 3] = 5.0 + rng.standard_normal(150)  # a column that is stored in full
    weight = rng.uniform(0.0, 3.0, 150)
    dense = lapack(X, weight, standardize)
    spectrum = found(sparse.csr_matrix(X), 5, solver, weight, standardize, block_rows=block_rows)
    np.testing.assert_allclose(spectrum.values, dense[0][:5], rtol=1e-9)
    np.testing.assert_allclose(spectrum.vectors, orient(dense[1][:, :5]), atol=1e-6)


@pytest.mark.parametrize("solver", NAMES)
def test_residuals_are_what_they_say(solver):
    X = with_spectrum(200, 25, 0.8 ** np.arange(25))
    spectrum = found(X, 5, solver, tol=1e-6)
    C = (X - X.mean(axis=0)) / np.sqrt(199.0)
    off = np.linalg.norm(C.T @ (C @ spectrum.vectors) - spectrum.vectors * spectrum.values, axis=0)
    off /= spectrum.values[0]
    assert spectrum.outcome.converged
    assert spectrum.outcome.residuals.shape == (5,)
    assert off.max() <= 1e-5
    np.testing.assert_allclose(spectrum.outcome.residuals, off, rtol=0.5, atol=1e-14)
    assert spectrum.outcome.solver in SOLVERS
    assert spectrum.outcome.reason
    assert spectrum.outcome.passes >= 1


@pytest.mark.parametrize("solver", NAMES)
@pytest.mark.parametrize("case", ["tall", "used up", "float32", "float32 far off"])
def test_converged_means_small_residuals(solver, case):
    """Nobody may say that it converged with a residual above its tolerance, whatever its own bookkeeping says."""
    X = np.random.default_rng(0).standard_normal((50, 200) if case == "used up" else (300, 40))
    if solver == "power" and case != "tall":
        pytest.skip("close eigenvalues, or a tolerance below float32's rounding: 50,000 steps a component")
    X = X * (1.0 if case == "used up" else 0.97) ** np.arange(X.shape[1])
    k = 45 if case == "used up" else 3
    X = (X + 1e3 * (case == "float32 far off")).astype(np.float32 if "float32" in case else np.float64)
    spectrum = found(X, k, solver, tol=1e-9)
    C = X.astype(np.float64) - X.astype(np.float64).mean(axis=0)
    off = C.T @ (C @ spectrum.vectors) / (len(X) - 1.0) - spectrum.vectors * spectrum.values
    true = np.linalg.norm(off, axis=0).max() / spectrum.values[0]
    assert spectrum.outcome.converged or solver not in DIRECT
    allowed = 10.0 * max(1e-9, MIN_RESIDUAL[X.dtype])  # what a tolerance below the rounding of the rows means
    assert not spectrum.outcome.converged or spectrum.outcome.residuals.max() <= allowed
    assert true <= (1e-5 if "float32" in case else 1e-8)


@pytest.mark.parametrize("solver", NAMES)
def test_no_variance_at_all(solver):
    """Equal rows: zero eigenvalues and orthonormal axes, no NaN."""
    spectrum = found(np.full((6, 4), 2.5), 3, solver)
    assert spectrum.values.tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(spectrum.vectors.T @ spectrum.vectors, np.eye(3), atol=1e-14)


@pytest.mark.parametrize("solver", NAMES)
@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
def test_a_share_of_variance_asks_for_just_enough(solver, share):
    X = with_spectrum(150, 40, 0.85 ** np.arange(40))
    values = lapack(X)[0]
    expected = int(np.searchsorted(np.cumsum(values) / values.sum(), share)) + 1
    rows = CentredRows(ArraySource(X))

    def choose(leading, total):
        enough = np.flatnonzero(np.cumsum(leading) >= share * total)
        return int(enough[0]) + 1 if enough.size else None

    spectrum = solve(rows, Requested(4, 40, choose), solver, tol=1e-10, rng=np.random.default_rng(0))
    assert spectrum.values.size == expected
    np.testing.assert_allclose(spectrum.values, values[:expected], rtol=1e-8)


@pytest.mark.parametrize("solver", DIRECT)
@pytest.mark.parametrize(("dtype", "offset", "rtol"), [(np.float64, 1e8, 1e-6), (np.float32, 1e3, 1e-4)])
@pytest.mark.parametrize("shape", [(400, 6), (40, 90)])
def test_a_shift_changes_nothing(solver, dtype, offset, rtol, shape):
    rng = np.random.default_rng(6)
    X = (rng.standard_normal(shape) + offset).astype(dtype)
    values = lapack(X.astype(np.longdouble).astype(np.float64) - offset)[0]
    np.testing.assert_allclose(found(X, 5, solver).values, values[:5], rtol=rtol)


@pytest.mark.parametrize("solver", ["lanczos", "randomized", "power"])
@pytest.mark.parametrize(("dtype", "offset", "rtol"), [(np.float64, 1e8, 1e-6), (np.float32, 1e3, 1e-4)])
def test_a_shift_changes_nothing_in_products_either(solver, dtype, offset, rtol):
    rng = np.random.default_rng(7)
    X = (rng.standard_normal((500, 8)) * 0.6 ** np.arange(8) * 2.0 + offset).astype(dtype)
    values = lapack(X.astype(np.float64) - offset)[0]
    tol = 1e-9 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(found(X, 3, solver, tol=tol).values, values[:3], rtol=rtol)

"""A solver of one's own: a function and one entry, and every model that finds eigenpairs takes it by name."""

from __future__ import annotations

import numpy as np
import pytest

from eigenlens import PCA, load
from eigenlens.errors import OptionError
from eigenlens.linalg.solve import SOLVERS
from eigenlens.linalg.spectrum import Outcome, Spectrum, orient


def jacobi(rows, wanted, tol, rng):
    """Jacobi's rotations (1846): zero the largest entry off the diagonal, again and again."""
    A, V, steps = rows.dense().copy(), np.eye(rows.size), 0
    while np.abs(off := A - np.diag(np.diag(A))).max() > tol * np.abs(A).max():
        i, j = np.unravel_index(np.argmax(np.abs(off)), A.shape)
        angle = 0.5 * np.arctan2(2.0 * A[i, j], A[i, i] - A[j, j])
        R = np.eye(rows.size)
        R[[i, i, j, j], [i, j, i, j]] = np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)
        A, V, steps = R.T @ A @ R, V @ R, steps + 1
    order = np.argsort(-np.diag(A))
    values = np.diag(A)[order]
    k = wanted.choose(values, rows.trace)
    return Spectrum(values[:k], orient(V[:, order[:k]]), rows.trace, Outcome("mine", iterations=steps))


@pytest.fixture(autouse=True)
def entry(monkeypatch):
    monkeypatch.setitem(SOLVERS, "mine", jacobi)


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((60, 6)) * [3.0, 2.5, 2.0, 1.5, 1.0, 0.5]


@pytest.mark.parametrize("n_components", [3, 0.9, "kaiser", None])
def test_the_solver_is_taken_by_name(X, n_components):
    mine, other = (PCA(n_components, solver=solver).fit(X) for solver in ("mine", "svd"))
    assert mine.solver_.solver == "mine"
    assert mine.solver_.iterations > 0
    np.testing.assert_allclose(mine.explained_variance_, other.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(mine.components_, other.components_, atol=1e-7)


def test_it_is_saved_and_named_in_errors(X, tmp_path):
    PCA(2, solver="mine").fit(X).save(tmp_path / "model")
    assert load(tmp_path / "model").solver_.solver == "mine"
    with pytest.raises(OptionError, match="did you mean 'mine'"):
        PCA(2, solver="mime").fit(X)


def test_a_function_needs_no_name(X):
    assert PCA(2, solver=jacobi).fit(X).solver_.solver == "mine"

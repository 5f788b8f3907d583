"""Estimates of memory against what is taken, and the choice of a route, line by line."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from eigenlens.errors import ResourceError
from eigenlens.kernel_pca.fit import fit_kernel_pca
from eigenlens.kernel_pca.kernels.rbf import RBF
from eigenlens.kernel_pca.route import choose_eigen_route, memory_needed
from eigenlens.resources import available_memory

GB = 1 << 30


@pytest.mark.few(1)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("route", ["dense", "matrix", "matrix_free"])
def test_the_memory_needed_is_at_least_the_memory_taken(dtype, route):
    n = 2600  # with fewer rows the larger blocks of the matrix-free route take more than a matrix
    X = np.random.default_rng(0).standard_normal((n, 4)).astype(dtype)
    needed = memory_needed(n, X.itemsize, 10)
    options = {"solver": "dense" if route == "dense" else "lanczos"}
    if route == "matrix_free":
        options["max_memory"] = needed.matrix - 1
    tracemalloc.start()
    fit = fit_kernel_pca(X, RBF(0.2), 10, rng=np.random.default_rng(0), **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert ("would take" in fit.outcome.reason) == (route == "matrix_free")
    assert 0.25 * getattr(needed, route) < peak <= getattr(needed, route)


@pytest.mark.parametrize(
    ("n", "k", "budget", "solver", "route"),
    [
        (400, 5, GB, "auto", ("dense", False)),
        (5000, None, 2 * GB, "auto", ("dense", False)),
        (5000, 1000, 2 * GB, "auto", ("dense", False)),
        (5000, 20, GB, "auto", ("lanczos", False)),
        (50_000, 20, 4 * GB, "auto", ("lanczos", True)),
        (400, 5, GB, "lanczos", ("lanczos", False)),
        (50_000, 20, 4 * GB, "randomized", ("randomized", True)),
        (2000, 5, GB, "dense", ("dense", False)),
    ],
)
def test_the_table(n, k, budget, solver, route):
    found = choose_eigen_route(n, k, 8, budget, solver)
    assert (found.solver, found.matrix_free) == route
    assert found.reason


def test_a_given_matrix_is_used():
    assert choose_eigen_route(50_000, 20, 8, GB, stored=True).matrix_free is False


@pytest.mark.parametrize(("n", "k", "solver"), [(50_000, None, "auto"), (50_000, 20, "dense"), (3_000_000, 20, "auto")])
def test_what_does_not_fit_names_the_way_out(n, k, solver):
    with pytest.raises(ResourceError, match=rf"n={n} rows needs .* GB .* approximation='rpcholesky'"):
        choose_eigen_route(n, k, 8, 4 * GB, solver)


def test_there_is_memory():
    assert available_memory() > 1 << 20

"""The parameters of `KernelPCA`, checked once, and the warnings of a fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, is_sparse, is_tensor, slices, to_numpy
from eigenlens.data.source import Source
from eigenlens.errors import ConvergenceWarning, DataError, DataWarning, OptionError, warn_user
from eigenlens.estimator.rows import collect_rows
from eigenlens.gpu.runtime import free_memory
from eigenlens.kernel_pca.features import COUNTED_IN_FEATURES
from eigenlens.kernel_pca.fit import GRAM_SOLVER_ALIASES, GRAM_SOLVERS, KernelPCAFit
from eigenlens.kernel_pca.gamma import GAMMA_RULES, nearest_and_mean, resolve_gamma, some_rows
from eigenlens.kernel_pca.kernels import KERNEL_ALIASES, KERNELS, kernel_options, make_kernel
from eigenlens.kernel_pca.kernels.base import Kernel
from eigenlens.kernel_pca.kernels.laplacian import Laplacian
from eigenlens.kernel_pca.kernels.rbf import RBF
from eigenlens.kernel_pca.preimage import PREIMAGES
from eigenlens.resources import available_memory

DEFAULT_LANDMARKS = 1000

SYMMETRY_ROWS = 256
"""Rows of a precomputed matrix that are compared with its columns at once: no copy of the whole matrix is made."""


class KernelOptions(NamedTuple):
    """The parameters that make a kernel, as `KernelPCA` has them."""

    kernel: Any
    gamma: Any
    sigma: Any
    degree: Any
    coef0: Any
    kernel_params: Any


def resolve_kernel(
    estimator: Any, rows: Any, rng: np.random.Generator, weight: Array | None = None
) -> tuple[Kernel, float | None]:
    """Return the kernel with its options, from an estimator or `KernelOptions`, and gamma where the kernel has one."""
    name, asked, make = check_kernel(estimator)
    takes_gamma = isinstance(name, str) and "gamma" in kernel_options(KERNELS[name])
    gamma = resolve_gamma(asked, rows, weight, rng) if takes_gamma else None
    return make(1.0 if gamma is None else gamma), gamma


def check_kernel(estimator: Any) -> tuple[Any, Any, Callable[[float], Kernel]]:
    """Return the name of the kernel, gamma as it is asked for, and the kernel of a gamma."""
    name = checks.choice("kernel", estimator.kernel, KERNELS, KERNEL_ALIASES, "X, Y")
    parameters = estimator.kernel_params
    if parameters is not None and not isinstance(parameters, Mapping):
        what = "must be a dict of options of the kernel, or None"
        raise OptionError(what, argument="kernel_params", value=parameters)
    degree, coef0 = checks.integer("degree", estimator.degree, 1), checks.real("coef0", estimator.coef0, -np.inf)
    asked = _check_width(estimator.gamma, estimator.sigma, name)
    return name, asked, lambda gamma: make_kernel(name, gamma, degree, coef0, parameters)


def _check_width(gamma: Any, sigma: Any, kernel: Any) -> Any:
    """Return gamma, as given or 1 / (2 sigma²), once only one of the two is given and it is valid."""
    if sigma is not None:
        if gamma is not None:
            what = f"is given beside gamma={gamma!r}, and both are the width of the kernel"
            raise OptionError(what, argument="sigma", value=sigma, fix="give one of them; gamma = 1 / (2 sigma²)")
        if kernel != "rbf":
            what = f"is the width of exp(−|x − y|² / 2 sigma²), kernel='rbf', and kernel={kernel!r} has none"
            raise OptionError(what, argument="sigma", value=sigma, fix="give gamma, coef0 or kernel_params")
        return 1.0 / (2.0 * checks.width("sigma", sigma) ** 2)
    if isinstance(gamma, str):
        checks.name("gamma", gamma, [rule for rule in GAMMA_RULES if rule])
    elif gamma is not None:
        checks.real("gamma", gamma, 0.0)
    return gamma


def check_gram_solver(solver: Any) -> str:
    """Return the name of the solver for the eigenpairs of a Gram matrix."""
    return checks.name("solver", solver, ["auto", *GRAM_SOLVERS], GRAM_SOLVER_ALIASES)


def check_kernel_components(estimator: Any, source: Source) -> int | float | None:
    """Return n_components once it is valid: a number, a share of the variance, or None for all."""
    check_gram_solver(estimator.solver)
    checks.name("preimage", estimator.preimage, PREIMAGES)
    checks.boolean("center", estimator.center)
    if _is_precomputed(estimator) and checks.boolean("standardize", estimator.standardize):
        what = "holds kernel values, and no columns that could be standardised"
        raise OptionError(what, argument="kernel", value="precomputed", fix="standardise the rows before the kernel")
    n, k = source.n_rows, estimator.n_components
    if n == 1:
        raise DataError("has 1 sample, but a component needs at least 2 rows", argument="X", fix="give more rows")
    if isinstance(k, float | np.floating):
        return None if k == 1.0 else checks.real("n_components", float(k), 0.0, 1.0)
    return None if k is None else checks.integer("n_components", k, 1, n, "the number of rows")


def _is_precomputed(estimator: Any) -> bool:
    return isinstance(estimator.kernel, str) and estimator.kernel == "precomputed"


def check_diagonal(estimator: Any, diagonal: Any, n_rows: int | None) -> Array | None:
    """Return the values k(x, x) (n,) that a precomputed kernel needs for distances, and no other takes."""
    if not _is_precomputed(estimator):
        if diagonal is not None:
            what, fix = "is for kernel='precomputed'; other kernels compute k(x, x) themselves", "leave it out"
            raise OptionError(what, argument="diagonal", fix=fix)
        return None
    if diagonal is None:
        fix = "for the fitted matrix K itself it is numpy.diag(K)"
        raise OptionError(
            "must be given for kernel='precomputed': the values k(x, x) of the rows", argument="diagonal", fix=fix
        )
    values = checks.numbers("diagonal", diagonal).ravel()
    if n_rows is not None and len(values) != n_rows:
        what = f"has {len(values)} values, but X has {n_rows} rows"
        raise OptionError(what, argument="diagonal", fix="give one value k(x, x) per row")
    return values


def check_n_landmarks(estimator: Any, source: Source) -> int | float:
    """Return n_landmarks once it is valid: a number, or the share of the trace that may be left out."""
    n, m = source.n_rows, estimator.n_landmarks
    if m is None:
        return DEFAULT_LANDMARKS if n is None else min(n, DEFAULT_LANDMARKS)
    if isinstance(m, float | np.floating):
        return checks.real("n_landmarks", float(m), 0.0, 1.0)
    bound = None if callable(estimator.approximation) or estimator.approximation in COUNTED_IN_FEATURES else n
    return checks.integer("n_landmarks", m, 1, bound, "the number of rows")


def rows_in_memory(estimator: Any, source: Source) -> Any:
    """Return all rows; those of a precomputed kernel must be a symmetric matrix."""
    rows = collect_rows(source)
    if _is_precomputed(estimator):
        _require_symmetric(rows)
    return rows


def memory_budget(max_memory: Any, rows: Any = None) -> int:
    """Return the bytes that an exact fit may use beside the rows: by default 80 per cent of the free memory.

    For rows on a device that is the memory of the device.
    """
    if max_memory is None:
        free = free_memory(rows)
        return int(0.8 * (available_memory() if free is None else free))
    return checks.memory("max_memory", max_memory)


def warn_kernel_fit(fit: KernelPCAFit, estimator: Any) -> None:
    """Warn where the kernel is not positive semidefinite on the rows, and where the solver stopped early."""
    outcome = fit.outcome
    if fit.smallest < 0.0:
        matrix = "centred Gram matrix" if estimator.center else "Gram matrix"
        what = (
            "is not positive semidefinite on these rows: the smallest eigenvalue of the "
            f"{matrix} is {fit.smallest:.4g}, the largest {fit.model.eigenvalues[0]:.4g}; components of negative "
            "variance were left out"
        )
        fix = "check that X is a kernel matrix" if _is_precomputed(estimator) else ""
        warn_user(DataWarning(what, argument="kernel", value=estimator.kernel, fix=fix))
    if not outcome.converged:
        what = (
            f"solver {outcome.solver!r} stopped after {outcome.iterations} iterations with a residual of "
            f"{outcome.residuals.max():.1e}, above {{tol}}"
        )
        settings = {"tol": estimator.tol, "solver": "dense"}
        warning = ConvergenceWarning(what, fix="raise that, or use {solver}", settings=settings)
        warn_user(warning)


WIDTH_ROWS = 300
"""Rows whose kernel values show whether the default gamma suits them."""

NO_NEIGHBOUR, ALL_NEAR = 0.01, 0.999
"""With a kernel value below the first, the nearest of these rows is no neighbour; above the second, all are alike."""


def warn_default_gamma(estimator: Any, kernel: Kernel, source: Source) -> None:
    """Warn where gamma = 1/d, which nobody chose, makes the kernel matrix of the rows nearly the identity, or constant.

    In the units of the columns 1/d may be wrong by any factor; for standardised columns it is right.
    """
    if estimator.gamma is not None or estimator.sigma is not None or not isinstance(kernel, RBF | Laplacian):
        return
    rows = some_rows(source, WIDTH_ROWS)
    if rows.shape[0] < 3:
        return
    nearest, mean = nearest_and_mean(kernel, rows)
    if not (nearest < NO_NEIGHBOUR or mean > ALL_NEAR):  # or if neither is a number, which is an error elsewhere
        return
    found = f"nearly constant (mean kernel value of two rows: {mean:.5f})"
    if nearest < NO_NEIGHBOUR:
        found = f"nearly the identity (median kernel value of nearest rows: {nearest:.1g}), so that components are rows"
    settings = {"gamma": "median"} | ({} if estimator.standardize else {"standardize": True})
    fix = "give {gamma}" + ("" if estimator.standardize else ", or {standardize}")
    what = f"the default gamma, 1/d = {1.0 / source.n_features:.3g}, makes the kernel matrix {found}"
    warn_user(DataWarning(what, fix=fix, settings=settings))


def _require_symmetric(K: Any) -> None:
    """Check that a kernel matrix given by the user is square and symmetric."""
    values = K if is_tensor(K) else (K.toarray() if is_sparse(K) else K)
    needed = "kernel='precomputed' needs the square, symmetric matrix of kernel values between all pairs of rows"
    if values.shape[0] != values.shape[1]:
        raise DataError(f"X has shape {tuple(values.shape)}", fix=needed)
    host = to_numpy(values)
    size, eps = float(np.abs(host).max(initial=0.0)), float(np.finfo(host.dtype).eps)
    for part in slices(len(host), SYMMETRY_ROWS):
        difference = np.abs(host[part] - host[:, part].T)
        if difference.max(initial=0.0) > 1e3 * eps * size:
            i, j = np.unravel_index(int(difference.argmax()), difference.shape)
            i += part.start
            what = f"X is not symmetric: X[{i}, {j}]={host[i, j]:g} but X[{j}, {i}]={host[j, i]:g}"
            raise DataError(what, fix=f"{needed}; if they differ by rounding, use (X + X.T) / 2")

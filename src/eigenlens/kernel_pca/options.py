"""The gate of `KernelPCA`, and what is said about a fit that deserves a second look."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, is_sparse, is_tensor, to_numpy
from eigenlens.data.source import Source
from eigenlens.errors import ConvergenceWarning, DataError, DataWarning, OptionError
from eigenlens.estimator.rows import collect_rows
from eigenlens.kernel_pca.features import COUNTED_IN_FEATURES
from eigenlens.kernel_pca.fit import GRAM_SOLVERS, INDEFINITE_SHARE, KernelPCAFit
from eigenlens.kernel_pca.gamma import GAMMA_RULES, resolve_gamma
from eigenlens.kernel_pca.kernels.mercer import KERNELS, Kernel, make_kernel
from eigenlens.kernel_pca.preimage import PREIMAGES
from eigenlens.resources import available_memory

__all__ = [
    "check_kernel_components",
    "check_n_landmarks",
    "memory_budget",
    "resolve_kernel",
    "rows_in_memory",
    "warn_kernel_fit",
]  # fmt: skip

DEFAULT_LANDMARKS = 1000


def resolve_kernel(
    estimator: Any, rows: Any, rng: np.random.Generator, weight: Array | None = None
) -> tuple[Kernel, float | None]:
    """The kernel with its numbers, and gamma where it has one."""
    name = checks.choice("kernel", estimator.kernel, KERNELS)
    if estimator.kernel_params is not None and not isinstance(estimator.kernel_params, Mapping):
        raise OptionError(
            f"kernel_params={estimator.kernel_params!r} must be a dict of keywords for the kernel, or None."
        )
    degree, coef0 = checks.integer("degree", estimator.degree, 1), checks.real("coef0", estimator.coef0, -np.inf)
    if isinstance(estimator.gamma, str):
        checks.name("gamma", estimator.gamma, [rule for rule in GAMMA_RULES if rule])
    elif estimator.gamma is not None:
        checks.real("gamma", estimator.gamma, 0.0)
    takes_gamma = isinstance(name, str) and "gamma" in KERNELS[name].__dataclass_fields__  # type: ignore[attr-defined]
    gamma = resolve_gamma(estimator.gamma, rows, weight, rng) if takes_gamma else None
    kernel = make_kernel(name, 1.0 if gamma is None else gamma, degree, coef0, estimator.kernel_params)
    return kernel, gamma


def check_kernel_components(estimator: Any, source: Source) -> int | float | None:
    """n_components at the gate: a number, a share of the variance, or None for all."""
    checks.name("solver", estimator.solver, ["auto", *GRAM_SOLVERS])
    checks.name("preimage", estimator.preimage, PREIMAGES)
    n, k = source.n_rows, estimator.n_components
    if n == 1:
        raise DataError("X has 1 row (n_samples = 1); at least 2 are needed for a component.")
    if isinstance(k, float | np.floating):
        return None if k == 1.0 else checks.real("n_components", float(k), 0.0, 1.0)
    return None if k is None else checks.integer("n_components", k, 1, n, "the number of rows")


def check_n_landmarks(estimator: Any, source: Source) -> int | float:
    """n_landmarks at the gate: a number, or the share of the trace that may be left out."""
    n, m = source.n_rows, estimator.n_landmarks
    if m is None:
        return DEFAULT_LANDMARKS if n is None else min(n, DEFAULT_LANDMARKS)
    if isinstance(m, float | np.floating):
        return checks.real("n_landmarks", float(m), 0.0, 1.0)
    bound = None if callable(estimator.approximation) or estimator.approximation in COUNTED_IN_FEATURES else n
    return checks.integer("n_landmarks", m, 1, bound, "the number of rows")


def rows_in_memory(estimator: Any, source: Source) -> Any:
    """All rows; those of a precomputed kernel are a symmetric matrix."""
    rows = collect_rows(source)
    if estimator.kernel == "precomputed":
        _require_symmetric(rows)
    return rows


def memory_budget(max_memory: Any) -> int:
    """Bytes that an exact fit may use beside the rows."""
    if max_memory is None:
        return int(0.8 * available_memory())
    return checks.memory("max_memory", max_memory)


def warn_kernel_fit(fit: KernelPCAFit, source: Source, estimator: Any) -> None:
    """Refuse or warn of a kernel that is not one on these rows, and of a solver that stopped early."""
    outcome, limit = fit.outcome, INDEFINITE_SHARE[source.dtype]
    if fit.negative > limit:
        message = (
            f"kernel={estimator.kernel!r} is not positive semidefinite on these rows: the smallest eigenvalue is at or "
            f"below {-fit.negative:.2g} times the largest"
        )
        if estimator.kernel == "precomputed":
            raise DataError(f"{message}; check that X is a kernel matrix, or clip its negative eigenvalues first.")
        warnings.warn(f"{message}; components of negative variance were left out.", DataWarning, stacklevel=6)
    if not outcome.converged:
        warnings.warn(
            f"solver {outcome.solver!r} stopped after {outcome.iterations} iterations with a residual of "
            f"{outcome.residuals.max():.1e}, above tol={estimator.tol:g}; raise tol or use solver='dense'.",
            ConvergenceWarning,
            stacklevel=6,
        )


def _require_symmetric(K: Any) -> None:
    """A kernel matrix given by the user must be square and symmetric."""
    values = K if is_tensor(K) else (K.toarray() if is_sparse(K) else K)
    if values.shape[0] != values.shape[1]:
        raise DataError(
            f"X has shape {tuple(values.shape)}; kernel='precomputed' needs the square matrix of kernel values between "
            "all pairs of fitted rows."
        )
    host = to_numpy(values)
    size, eps = float(np.abs(host).max(initial=0.0)), float(np.finfo(host.dtype).eps)
    for start in range(0, len(host), 256):
        gap = np.abs(host[start : start + 256] - host[:, start : start + 256].T)
        if gap.max(initial=0.0) > 1e3 * eps * size:
            i, j = np.unravel_index(int(gap.argmax()), gap.shape)
            raise DataError(
                f"X is not symmetric: X[{start + i}, {j}]={host[start + i, j]:g} but X[{j}, {start + i}]="
                f"{host[j, start + i]:g}; kernel='precomputed' needs k(x, y) = k(y, x). Use (X + X.T) / 2 if that is "
                "rounding."
            )

"""The solver "covariance": eigenpairs of the covariance matrix, which one pass over the rows makes."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from eigenlens.gpu.runtime import on_device
from eigenlens.linalg.lanczos import lanczos, residual_norms
from eigenlens.linalg.operators import CentredRows, Matrix
from eigenlens.linalg.spectrum import Outcome, Requested, Spectrum, orient
from eigenlens.linalg.symmetric import leading_eigenpairs
from eigenlens.resources import one_thread

MAX_LAPACK_SIZE = 3000
"""Up to this size a matrix is reduced by LAPACK; beyond, Lanczos finds a few of its eigenpairs faster."""


def covariance(rows: CentredRows, wanted: Requested, tol: float, rng: np.random.Generator) -> Spectrum:
    """Return eigenpairs of the covariance matrix (d, d). Cost: one pass, n d² flops."""
    return matrix_spectrum(Matrix(rows.dense()), wanted, tol, rng, "covariance", near=rows.source.near)


def matrix_spectrum(
    matrix: Matrix, wanted: Requested, tol: float, rng: np.random.Generator, solver: str, near: Any = None
) -> Spectrum:
    """Return eigenpairs of a matrix in memory: by LAPACK, or by Lanczos where few of many are wanted.

    `solver` is the name under which the outcome is recorded: the one that the user knows. `near` are rows on whose
    device the eigenpairs may be computed.
    """
    if matrix.size > MAX_LAPACK_SIZE and not wanted.needs_all and wanted.initial_guess <= matrix.size // 20:
        spectrum = lanczos(matrix, wanted, tol, rng, block=16)
        return replace(spectrum, outcome=replace(spectrum.outcome, solver=solver))
    _, values, V = leading_eigenpairs(matrix.dense(), wanted, near=near)
    with one_thread() if on_device(near) else nullcontext():  # others would spin beside the copies of the next pass
        residuals = residual_norms(matrix, V, values)
    return Spectrum(np.maximum(values, 0.0), orient(V), matrix.trace, Outcome(solver, residuals=residuals))

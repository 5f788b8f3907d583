"""The solver "gram": eigenpairs of the matrix of inner products of rows, for few rows of many columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eigenlens.linalg.covariance import matrix_spectrum
from eigenlens.linalg.lanczos import orthonormal
from eigenlens.linalg.operators import CentredRows, Matrix
from eigenlens.linalg.spectrum import Requested, Spectrum, nonzero, orient


def gram(rows: CentredRows, wanted: Requested, tol: float, rng: np.random.Generator) -> Spectrum:
    """Return eigenpairs by way of the dual: those of X̃X̃ᵀ (n, n), then v = X̃ᵀu / s.

    Cost: n² d flops, and never a d×d matrix.
    """
    dual = matrix_spectrum(Matrix(rows.gram()), wanted, tol, rng, "gram")
    V = rows.rmatmat(dual.vectors)
    alive = nonzero(dual.values)
    if alive.any():
        W = V if alive.all() else V[:, alive]
        W /= np.sqrt(np.einsum("ij,ij->j", W, W))
        V[:, alive] = orthonormal(W)[0]
    return replace(dual, vectors=orient(V), total=rows.trace)

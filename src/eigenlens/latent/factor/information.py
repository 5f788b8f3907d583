"""The information about factors, and the covariance matrix of their estimates under the equations of a rotation.

W and W Q with an orthogonal Q have the same density, so the information about W is singular along rotations; the
equations that the reported loadings satisfy take those directions away. With I the information and the columns of Z a
basis of the changes that keep the equations, the covariance matrix is Z (Zᵀ I Z)⁻¹ Zᵀ (Silvey 1975, section 4.7; it is
the block of the inverse of the information bordered by the equations' derivatives).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from eigenlens.arrays import Array
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.latent.factor.parameters import Equations, FactorParameters

COMPLEX_STEP = 1e-30
"""The imaginary step of a derivative: nothing is subtracted, so it may be so small that its square does not count."""

MIN_PIVOT_SHARE = 1e-12
"""A squared pivot of the scaled information below this share of the largest means that it is singular."""


def factor_information(model: LinearGaussian, scale: Array) -> Array:
    """Return the expected information of one row about W (d k, by rows) and psi (d), of columns over `scale` (d,).

    With P = (W Wᵀ + Psi)⁻¹, C = P W and B = Wᵀ P W its parts are, for (w_ir, w_js), (w_ir, psi_j) and (psi_i, psi_j),

        p_ij b_rs + c_is c_jr,        p_ij c_jr,        ½ p_ij²

    (Lawley and Maxwell 1971, chapter 5; Jennrich and Thayer 1973). Cost: O(d² k²).

    >>> factor_information(LinearGaussian(np.zeros(1), np.zeros((1, 1)), np.array([2.0])), np.ones(1))
    array([[0.   , 0.   ], [0.   , 0.125]])
    """
    W, P = model.loadings / scale[:, None], model.precision() * np.outer(scale, scale)
    d, k = W.shape
    C = P @ W
    B = W.T @ C
    by_loadings = np.einsum("ij,rs->irjs", P, B) + np.einsum("is,jr->irjs", C, C)
    mixed = np.einsum("ij,jr->irj", P, C).reshape(d * k, d)
    return np.block([[by_loadings.reshape(d * k, d * k), mixed], [mixed.T, 0.5 * P * P]])


def change_of_loadings(rotated: Array, T: Array, pairs: tuple[Array, Array]) -> Array:
    """Return the derivatives of W = Λ Tᵀ (d k) by Λ (d k) and by the correlations of `pairs` of factors (m).

    TᵀT = Φ, so a change of Φ turns T by dT = ½ T⁻ᵀ dΦ, up to a rotation of W, and dW = dΛ Tᵀ + ½ Λ dΦ T⁻¹.
    """
    d, k = rotated.shape
    inverse, columns = np.linalg.inv(T), [np.kron(np.eye(d), T)]
    for r, s in zip(*pairs, strict=True):
        turned = np.outer(rotated[:, r], inverse[s]) + np.outer(rotated[:, s], inverse[r])
        columns.append(0.5 * turned.reshape(d * k, 1))
    return np.hstack(columns)


def likelihood_covariance(
    parameters: FactorParameters, T: Array, equations: Equations, information: Array
) -> Array | None:
    """Return the covariance matrix (p, p) of parameters from the information about W = Λ Tᵀ (d k) and psi (d).

    None if the information is singular under the equations.
    """
    d, k = parameters.at.loadings.shape
    kept = np.concatenate([np.arange(d * k), d * k + np.flatnonzero(~parameters.fixed)])
    known, change = information[np.ix_(kept, kept)], change_of_loadings(parameters.at.loadings, T, parameters.pairs)
    by_loadings, mixed = change.T @ known[: d * k, : d * k] @ change, change.T @ known[: d * k, d * k :]
    known = np.block([[by_loadings, mixed], [mixed.T, known[d * k :, d * k :]]])

    def residuals(vector: Array) -> Array:
        return equations(*parameters.unpack(vector).standardized())

    return constrained_covariance(known, complex_step_jacobian(residuals, parameters.vector))


def complex_step_jacobian(function: Callable[[Array], Array], at: Array) -> Array:
    """Return the derivatives (m, p) of an analytic function from (p,) to (m,), by p evaluations at complex arguments.

    >>> complex_step_jacobian(lambda x: np.array([x[0] * x[1], np.sin(x[0])]), np.array([0.0, 2.0]))
    array([[2., 0.], [1., 0.]])
    """
    columns = []
    for j in range(at.size):
        moved = at.astype(np.complex128)
        moved[j] += 1j * COMPLEX_STEP
        columns.append(function(moved).imag / COMPLEX_STEP)
    return np.stack(columns, axis=1)


def constrained_covariance(information: Array, equations: Array) -> Array | None:
    """Return Z (Zᵀ I Z)⁻¹ Zᵀ (p, p), Z a basis of the null space of the equations (m, p); None if it is singular.

    >>> constrained_covariance(np.array([[2.0, 2.0], [2.0, 2.0]]), np.array([[1.0, -1.0]]))
    array([[0.125, 0.125], [0.125, 0.125]])
    """
    size = np.sqrt(np.maximum(information.diagonal(), np.finfo(float).tiny))
    Z = scipy.linalg.null_space(equations / size) if len(equations) else np.eye(size.size)
    inner = Z.T @ (information / np.outer(size, size)) @ Z
    try:
        root = np.linalg.cholesky(inner)
    except np.linalg.LinAlgError:
        return None
    pivots = root.diagonal() ** 2
    if pivots.min(initial=1.0) <= MIN_PIVOT_SHARE * pivots.max(initial=1.0):
        return None
    half = scipy.linalg.solve_triangular(root, Z.T, lower=True) / size
    return np.asarray(half.T @ half)

"""The covariance matrix of factors found by least squares, through the derivatives of the estimates by covariances.

Least squares take the loadings from correlations, and noise and units from variances: all are smooth functions of the
covariance matrix S of the rows. Its errors dS are known: for Gaussian rows and symmetric matrices X and Y

    cov(tr X dS, tr Y dS) = 2 tr(X S Y S) / n,

so each parameter needs the matrix X of its derivatives by S (Browne 1984, who has it for any weight matrix).
"""

from __future__ import annotations

import numpy as np

from eigenlens.arrays import Array
from eigenlens.latent.factor.information import complex_step_jacobian, constrained_covariance
from eigenlens.latent.factor.parameters import Equations, Estimates, FactorParameters


def least_squares_covariance(parameters: FactorParameters, T: Array, equations: Equations, n: float) -> Array | None:
    """Return the covariance matrix (p, p) of parameters found by least squares of the correlations of n rows.

    None if the equations do not determine them. Cost: memory for d³ k numbers.
    """
    at, d = parameters.at, len(parameters.at.loadings)
    shape = np.concatenate([at.loadings.ravel(), at.correlations[parameters.pairs]])

    def correlations(v: Array) -> Array:
        A, Phi, _ = _of_unit_variance(parameters, v)
        return np.asarray((A @ Phi @ A.T)[~np.eye(d, dtype=bool)])

    def residuals(v: Array) -> Array:
        found = _of_unit_variance(parameters, v)
        return np.concatenate([equations(*found), found.noise[parameters.fixed]])

    slopes = complex_step_jacobian(correlations, shape)
    inverse = constrained_covariance(slopes.T @ slopes, complex_step_jacobian(residuals, shape))
    if inverse is None:
        return None
    R = at.loadings @ at.correlations @ at.loadings.T + np.diag(at.noise)
    influence = np.concatenate([_by_covariances(inverse @ slopes.T, R), _deviations_by_covariances(d)])
    change = complex_step_jacobian(lambda v: _in_units(parameters, v), np.concatenate([shape, np.zeros(d)]))
    influence = (change @ influence.reshape(-1, d * d)).reshape(-1, d, d)
    return np.asarray(2.0 / n * (R @ influence @ R).reshape(-1, d * d) @ influence.reshape(-1, d * d).T)


def _of_unit_variance(parameters: FactorParameters, v: Array) -> Estimates:
    """Return the estimates of loadings and correlations of factors: the noise is what they leave of variance 1."""
    d, k = parameters.at.loadings.shape
    A, Phi = v[: d * k].reshape(d, k), np.eye(k, dtype=v.dtype)
    Phi[parameters.pairs] = Phi.T[parameters.pairs] = v[d * k :]
    return Estimates(A, Phi, 1.0 - np.sum((A @ Phi) * A, axis=1))


def _in_units(parameters: FactorParameters, v: Array) -> Array:
    """Return the vector of parameters of loadings, correlations and logarithms of standard deviations (d)."""
    d = len(parameters.at.loadings)
    found, scale = _of_unit_variance(parameters, v[:-d]), np.exp(v[-d:])
    noise = (found.noise * scale**2)[~parameters.fixed]
    return np.concatenate([(found.loadings * scale[:, None]).ravel(), found.correlations[parameters.pairs], noise])


def _by_covariances(by_correlations: Array, R: Array) -> Array:
    """Return derivatives by S (q, d, d) at S = R from those by r_ij off the diagonal.

    dr_ij = ds_ij − ½ r_ij (ds_ii + ds_jj).
    """
    d = len(R)
    found = np.zeros((len(by_correlations), d, d))
    found[:, ~np.eye(d, dtype=bool)] = by_correlations
    found[:, np.arange(d), np.arange(d)] = -np.einsum("aij,ij->ai", found, R)
    return found


def _deviations_by_covariances(d: int) -> Array:
    """Return the derivatives by S (d, d, d) of log standard deviations, at variances of 1: ½ on the diagonal."""
    found = np.zeros((d, d, d))
    found[np.arange(d), np.arange(d), np.arange(d)] = 0.5
    return found

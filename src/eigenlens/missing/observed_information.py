"""The observed information of a latent Gaussian: minus the Hessian of the log-likelihood of incomplete rows."""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.linalg

from eigenlens.arrays import Array
from eigenlens.data.source import Source
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.missing.curvature import Direction, directional_sums, split_parameters
from eigenlens.missing.expectation import IncompleteRowPasses
from eigenlens.missing.units import Units


def observed_information(source: Source, model: LinearGaussian, scale: Array) -> Array:
    """Return the information of all rows about W (d k, by rows) and psi (d) at a maximum, mu being estimated too.

    W and psi are those of columns over `scale` (d,). For entries that are missing at random this, and not the expected
    information, is what standard errors follow from (Kenward and Molenberghs 1998).

    Cost: d (k + 2) passes over the rows, which are kept in memory if they are not too many.

    >>> from eigenlens.data.memory import ArraySource
    >>> X = np.array([[1.0], [-1.0], [2.0], [-2.0]])
    >>> model = LinearGaussian(np.zeros(1), np.zeros((1, 1)), np.array([2.5]))
    >>> observed_information(ArraySource(X), model, np.ones(1)).round(12) + 0.0
    array([[0.  , 0.  ], [0.  , 0.32]])
    """
    d, k = model.loadings.shape
    units = Units(model.mean, scale, 0.0)
    scaled = units.scale_model(model)
    total = IncompleteRowPasses(source, units, k, None).totals_at(scaled)
    psi = np.asarray(scaled.noise)
    H = np.empty((d * (k + 2), d * (k + 2)))
    for j, unit in enumerate(np.eye(len(H))):
        mean, loadings, change = split_parameters(unit, d, k)
        along = Direction(mean, loadings, change / psi)
        sums = total(partial(directional_sums, model=scaled, along=along))
        # at a maximum the derivative by log psi_j is 0, so that by psi_j has the derivative of its sums alone
        by_noise = sums.energy - 0.5 * sums.precision / psi
        H[j] = -np.concatenate([sums.u, (sums.cross.T - sums.gain).ravel(), by_noise])
    H = 0.5 * (H + H.T)
    by_mean, mixed = H[:d, :d], H[:d, d:]
    return np.asarray(H[d:, d:] - mixed.T @ scipy.linalg.solve(by_mean, mixed, assume_a="pos"))

"""How well the parameters of a fitted Gaussian are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, ndtri, stdtrit

from eigenlens.arrays import Array
from eigenlens.errors import OptionError
from eigenlens.models.covariances import Covariance

__all__ = ["INTERVALS", "GaussianErrors", "GaussianIntervals"]


class GaussianErrors(NamedTuple):
    """Standard errors of the means (d,), and of the covariances: (d, d), or (d,) for variances only."""

    mean: Array
    covariance: Array


class GaussianIntervals(NamedTuple):
    """Confidence limits of the means (d, 2) and of the variances (d, 2)."""

    mean: Array
    variances: Array


def exact(mean: Array, covariance: Covariance, n: Array, tail: float) -> GaussianIntervals:
    """Means by Student's t, variances by chi², both with the deviations' degrees of freedom (one lost a mean)."""
    if not np.all(n > 1.0):
        raise OptionError(
            f"method='exact' needs more than 1 row behind each mean, and there are {n.min():g}; a weight says how "
            "often its row counts, so scale sample_weight to sum to the number of rows, or take method='wald'."
        )
    freedom = covariance.degrees(n - 1.0)
    square = covariance.variances * covariance.degrees(n)
    half = -stdtrit(freedom, tail) * np.sqrt(square / freedom / n)
    spread = [square / chdtri(freedom, tail), square / chdtri(freedom, 1.0 - tail)]
    return GaussianIntervals(np.column_stack([mean - half, mean + half]), np.column_stack(spread))


def wald(mean: Array, covariance: Covariance, n: Array, tail: float) -> GaussianIntervals:
    """Estimate ± z standard errors: for many rows."""
    z, v = -float(ndtri(tail)), covariance.variances
    half, spread = z * np.sqrt(v / n), z * v * np.sqrt(2.0 / covariance.degrees(n))
    means = np.column_stack([mean - half, mean + half])
    return GaussianIntervals(means, np.column_stack([np.maximum(v - spread, 0.0), v + spread]))


INTERVALS: dict[str, Callable[[Array, Covariance, Array, float], GaussianIntervals]] = {"exact": exact, "wald": wald}
"""Rules: the means, their covariance, the rows (d,) behind each mean and the probability of one tail to limits."""

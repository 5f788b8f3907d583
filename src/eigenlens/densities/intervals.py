"""The record of a fit, and the confidence intervals that follow from it: of proportions and of Gaussian parameters.

Standard errors follow from the density and the number of rows, so they are computed on request. A density built by hand
has no record.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincinv, chdtri, ndtri, stdtrit

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.densities.covariance import Covariance
from eigenlens.errors import OptionError


@dataclass(frozen=True, eq=False)
class Fitted:
    """The record of the fit of a density.

    Attributes:
        weight: Σw, the number n of rows, or of trials in rows of counts; (d,) where columns have missing values.
        loglik: the log-likelihood of the rows, Σ w ln p(x); minus infinity if one is outside the support.
        free: the number of free parameters.
        prior: the number of rows that smoothing added.
        names: (d,) the columns, where they have names.
        known: whether the variances of a Gaussian were given, not estimated.

    >>> Fitted(weight=10.0, loglik=-6.0, free=1).aic
    14.0
    """

    weight: float | Array
    loglik: float
    free: int
    prior: float = 0.0
    names: tuple[str, ...] | None = None
    known: bool = False

    def __post_init__(self) -> None:
        for name, check in {"weight": checks.finite, "loglik": checks.numbers, "prior": checks.finite}.items():
            given = check(name, getattr(self, name))
            if given.ndim > (name == "weight"):
                raise OptionError("must be one number", argument=name, value=getattr(self, name))
            object.__setattr__(self, name, given if given.ndim else float(given))
        if not self.loglik < math.inf:
            raise OptionError("must be a number, or minus infinity", argument="loglik", value=self.loglik)
        checks.integer("free", self.free, 0)
        checks.boolean("known", self.known)
        object.__setattr__(self, "names", check_names(self.names))

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2 free − 2 loglik; smaller is better."""
        return 2.0 * self.free - 2.0 * self.loglik

    @property
    def bic(self) -> float:
        """Schwarz's criterion, free ln n − 2 loglik; smaller is better."""
        return float(self.free * np.log(np.max(self.weight)) - 2.0 * self.loglik)


def check_names(names: Any) -> tuple[str, ...] | None:
    """Return names of columns as a tuple of texts; None if there are none."""
    return None if names is None else tuple(map(str, checks.listed("names", names))) or None


def column_labels(names: tuple[str, ...] | None, d: int) -> tuple[str, ...]:
    """Return the names of d columns, or their numbers if they have none; raise if there is another number of names.

    >>> column_labels(None, 2)
    ('0', '1')
    """
    if names is not None and len(names) != d:
        raise OptionError(f"must be {d}, one per column", argument="names", value=list(names))
    return names or tuple(map(str, range(d)))


def fit_record(density: Any) -> Fitted:
    """Return the record of a fitted density; one that was built by hand is an error."""
    if density.fitted is None:
        kind = type(density).__name__
        what = f": this {kind} was not fitted to rows, so it has no errors"
        raise OptionError(what, argument="fitted", value=None, fix=f"make it with {kind}.fit(x)")
    record: Fitted = density.fitted
    return record


def check_record(fitted: Any, d: int = 1) -> None:
    """Raise unless `fitted` of a density of d columns is the record of a fit, or None."""
    if fitted is not None and not isinstance(fitted, Fitted):
        raise OptionError("must be a Fitted or None", argument="fitted", value=fitted)
    if fitted is not None:
        column_labels(fitted.names, d)


def smoothed_count(density: Any) -> float:
    """Return the number of rows behind the probabilities of a density, with those that smoothing added."""
    record = fit_record(density)
    return float(record.weight + record.prior)


def format_numbers(values: Any) -> list[str]:
    """Return numbers as text, with five significant digits."""
    return [f"{float(value):.5g}" for value in np.ravel(values)]


def _rule_and_tail(method: Any, level: Any, rules: Mapping[str, Any]) -> tuple[Any, float]:
    """Return the rule of a name, or the user's own, and the probability of one tail."""
    rule = checks.name("method", method, rules) if not callable(method) else checks.function("method", method)
    tail = 0.5 * (1.0 - checks.real("level", level, 0.0, 1.0))
    return rule if callable(rule) else rules[rule], tail


# ---- proportions --------------------------------------------------------------------------------------------


def proportion_intervals(p: Array, n: float, level: float = 0.95, method: Any = "wilson") -> Array:
    """Return confidence limits (K, 2) of proportions p (K,) counted among n.

    `method` is a name in PROPORTION_INTERVALS, or a function of the same form.

    >>> proportion_intervals(np.array([0.5]), 10.0).round(4)
    array([[0.2366, 0.7634]])
    """
    rule, tail = _rule_and_tail(method, level, PROPORTION_INTERVALS)
    low, high = rule(np.asarray(p, dtype=np.float64), n, tail)
    return np.column_stack([np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)])


def _wilson_proportions(p: Array, n: float, tail: float) -> tuple[Array, Array]:
    """Return the p₀ that a score test does not reject (Wilson 1927); good for few rows too (Brown et al. 2001)."""
    z2 = float(ndtri(tail)) ** 2
    centre = (n * p + 0.5 * z2) / (n + z2)
    half = np.sqrt(z2 * (n * p * (1.0 - p) + 0.25 * z2)) / (n + z2)
    return np.where(p > 0.0, centre - half, 0.0), np.where(p < 1.0, centre + half, 1.0)


def _wald_proportions(p: Array, n: float, tail: float) -> tuple[Array, Array]:
    """Return p ± z √(p (1 − p) / n), for many rows only; with smoothing=2 that of Agresti and Coull (1998)."""
    half = -float(ndtri(tail)) * np.sqrt(p * (1.0 - p) / n)
    return p - half, p + half


def _exact_proportions(p: Array, n: float, tail: float) -> tuple[Array, Array]:
    """Return the limits of Clopper and Pearson (1934), whose coverage is at least the level, and mostly above it."""
    x, rest = p * n, (1.0 - p) * n
    low = np.where(x > 0.0, betaincinv(np.maximum(x, 1e-300), rest + 1.0, tail), 0.0)
    high = np.where(rest > 0.0, betaincinv(x + 1.0, np.maximum(rest, 1e-300), 1.0 - tail), 1.0)
    return low, high


def _jeffreys_proportions(p: Array, n: float, tail: float) -> tuple[Array, Array]:
    """Return quantiles of Beta(x + ½, n − x + ½), the posterior under Jeffreys' prior; 0 and 1 where x is 0 or n."""
    a, b = p * n + 0.5, (1.0 - p) * n + 0.5
    low, high = betaincinv(a, b, tail), betaincinv(a, b, 1.0 - tail)
    return np.where(p > 0.0, low, 0.0), np.where(p < 1.0, high, 1.0)


PROPORTION_INTERVALS: dict[str, Callable[[Array, float, float], tuple[Array, Array]]] = {
    "wilson": _wilson_proportions,
    "wald": _wald_proportions,
    "exact": _exact_proportions,
    "jeffreys": _jeffreys_proportions,
}
"""Rules for proportions: from p, n and the probability of one tail to lower and upper limits."""


# ---- Gaussian parameters ------------------------------------------------------------------------------------


class GaussianErrors(NamedTuple):
    """Standard errors of the means (d,), and of the covariances: (d, d), or (d,) for variances only."""

    mean: Array
    covariance: Array


class GaussianIntervals(NamedTuple):
    """Confidence limits of the means (d, 2) and of the variances (d, 2)."""

    mean: Array
    variances: Array


def gaussian_intervals(
    mean: Array, covariance: Covariance, n: Array, level: float = 0.95, method: Any = "exact"
) -> GaussianIntervals:
    """Return confidence limits of the means (d,) and variances of a Gaussian fitted to n (d,) rows per column.

    `method` is a name in GAUSSIAN_INTERVALS, or a function of the same form.
    """
    rule, tail = _rule_and_tail(method, level, GAUSSIAN_INTERVALS)
    limits: GaussianIntervals = rule(mean, covariance, n, tail)
    return limits


def _exact_gaussian(mean: Array, covariance: Covariance, n: Array, tail: float) -> GaussianIntervals:
    """Return limits of means by Student's t and of variances by chi², with one degree of freedom lost per mean."""
    if not np.all(n > 1.0):
        raise OptionError(
            f"needs more than 1 row behind each mean, and there are {n.min():g}; a weight is the number of times that "
            "its row counts",
            argument="method",
            value="exact",
            fix="scale sample_weight to sum to the number of rows, or use {method}",
            settings={"method": "wald"},
        )
    freedom = covariance.degrees(n - 1.0)
    square = covariance.variances * covariance.degrees(n)
    half = -stdtrit(freedom, tail) * np.sqrt(square / freedom / n)
    spread = [square / chdtri(freedom, tail), square / chdtri(freedom, 1.0 - tail)]
    return GaussianIntervals(np.column_stack([mean - half, mean + half]), np.column_stack(spread))


def known_variance_intervals(mean: Array, variances: Array, n: Array, level: float = 0.95) -> GaussianIntervals:
    """Return limits mean ± z σ / √n, exact where the variances (d,) are known; theirs are the variances themselves."""
    tail = 0.5 * (1.0 - checks.real("level", level, 0.0, 1.0))
    half = -float(ndtri(tail)) * np.sqrt(variances / n)
    return GaussianIntervals(np.column_stack([mean - half, mean + half]), np.column_stack([variances, variances]))


def _wald_gaussian(mean: Array, covariance: Covariance, n: Array, tail: float) -> GaussianIntervals:
    """Return estimate ± z standard errors, for many rows."""
    z, v = -float(ndtri(tail)), covariance.variances
    half, spread = z * np.sqrt(v / n), z * v * np.sqrt(2.0 / covariance.degrees(n))
    means = np.column_stack([mean - half, mean + half])
    return GaussianIntervals(means, np.column_stack([np.maximum(v - spread, 0.0), v + spread]))


GAUSSIAN_INTERVALS: dict[str, Callable[[Array, Covariance, Array, float], GaussianIntervals]] = {
    "exact": _exact_gaussian,
    "wald": _wald_gaussian,
}
"""Rules for Gaussians: from means, covariance, rows (d,) behind each mean and the probability of one tail to limits."""

"""The likelihood as a function of parameters: its values on a grid, and where it is largest, for any density."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from scipy.optimize import minimize

from eigenlens import checks
from eigenlens.arrays import Array, read_only
from eigenlens.densities.intervals import Fitted
from eigenlens.errors import ConvergenceWarning, DataError, OptionError, warn_user

LOG_DENSITY_NAMES = ("log_density", "logpdf", "logpmf")
"""Methods that give ln p(x) of values: those of this package, and of the distributions of SciPy."""

STEP = 3e-3
"""Derivatives are taken over this many standard errors: rounding and curvature then cost about as many digits."""

ROUNDING = 1e-13
"""Differences below this share of the log-likelihood may be rounding."""

MAX_NEWTON_STEPS, MAX_SCALINGS = 30, 12

SMALL_STEP = 1e-7
"""Newton steps shorter than this many standard errors are the end."""

SIMPLEX_RUNS = 3
"""The simplex search is repeated from its end, since it may stall; repetitions cost little."""

Make = Callable[..., Any]
"""From parameters to a density: a class such as `Bernoulli`, or a function of one's own."""


def log_likelihood(make: Any, x: Any, *theta: Any, sample_weight: Any = None) -> Any:
    """Return the log-likelihood L(theta) = Σ w ln p_theta(x), for one value of the parameters or for many.

    Args:
        make: from parameters to a density, such as `Bernoulli` or `lambda mu, s: Gaussian(mu, s**2)`; a density has
            `log_density`, or `logpdf` or `logpmf` as those of SciPy do. Without theta, the density itself.
        x: the rows, as the density takes them.
        theta: one argument per parameter, numbers or arrays that are broadcast against each other.
        sample_weight: (n,), a weight of 3 counting as three rows.

    Returns a number, or an array of the common shape of theta; −inf where parameters are not valid. Cost: one
    log-density of all rows per value.

    >>> from eigenlens.densities import Bernoulli
    >>> throws = [1, 0, 1, 1, 0, 1, 1, 1, 0, 1]
    >>> log_likelihood(Bernoulli, throws, [0.5, 0.7, 0.9])  # 7 ln theta + 3 ln (1 − theta)
    array([-6.931, -6.109, -7.645])
    """
    loglik = _Likelihood(make, x, sample_weight)
    if not theta:
        return loglik.of(make)
    _check_maker(make, len(theta))
    grid = _broadcast([checks.numbers("theta", each) for each in theta])
    values = [loglik(each) for each in zip(*(axis.ravel().tolist() for axis in grid), strict=True)]
    return values[0] if grid[0].ndim == 0 else np.array(values).reshape(grid[0].shape)


@dataclass(frozen=True, eq=False)
class LikelihoodMaximum:
    """The parameters of largest likelihood.

    Attributes:
        parameters: (p,) theta. density: the density with these parameters.
        loglik: L(theta). information: (p, p) −∂²L, the observed information.
        converged: whether L has a smooth maximum, with positive definite information there.
        fitted: the record of the fit, with `aic` and `bic`.
    """

    parameters: Array
    density: Any
    loglik: float
    information: Array
    converged: bool
    fitted: Fitted = field(repr=False)

    def __post_init__(self) -> None:
        """Check the types of what is given, and make the arrays read-only."""
        p = checks.numbers("parameters", self.parameters).size
        if checks.numbers("information", self.information).shape != (p, p):
            what = f"has shape {np.shape(self.information)}, and there are {p} parameters"
            raise OptionError(what, argument="information", fix=f"give a matrix ({p}, {p})")
        checks.boolean("converged", self.converged)
        read_only(self, "parameters", "information")

    def standard_errors(self) -> Array:
        """Return the roots (p,) of the diagonal of the inverse information; NaN where there is no smooth maximum."""
        if not self.converged:
            return np.full(self.parameters.size, np.nan)
        return np.sqrt(np.diag(np.linalg.inv(self.information)))


def maximise_likelihood(make: Make, x: Any, start: Any, sample_weight: Any = None) -> LikelihoodMaximum:
    """Return the parameters that maximise Σ w ln p_theta(x) of any density with a few parameters.

    A simplex search (Nelder and Mead 1965), which needs no derivatives and no bounds, as parameters that `make` rejects
    have likelihood 0; then Newton's method with differences. It finds a maximum near the start, not the largest of
    several. Families with a closed form are faster by their own `fit`.

    Args:
        make: from p parameters to a density, as for `log_likelihood`.
        x, sample_weight: as for `log_likelihood`.
        start: (p,) valid parameters, or a number where there is one.

    Cost: about a hundred log-densities of all rows per parameter.

    >>> from scipy.stats import gamma
    >>> x = [0.9, 2.3, 1.6, 4.0, 0.4, 1.2]
    >>> best = maximise_likelihood(lambda a, scale: gamma(a, scale=scale), x, start=[1.0, 1.0])
    >>> best.parameters.round(3), best.standard_errors().round(3)
    (array([2.221, 0.781]), array([1.198, 0.472]))
    """
    loglik = _Likelihood(make, x, sample_weight)
    theta = np.atleast_1d(checks.numbers("start", start)).astype(np.float64)
    if theta.ndim > 1 or not theta.size:
        raise OptionError("must be one number per parameter", argument="start", value=start)
    _check_maker(make, theta.size)
    _check_start(loglik, start, theta)
    theta, information, converged = _newton(loglik, _simplex(loglik, theta))
    if not converged:
        what = f"the likelihood has no smooth maximum near {theta.tolist()}, so standard errors are not known"
        warn_user(ConvergenceWarning(what, fix="another start, or fewer parameters, may have one"))
    value = loglik(theta)
    record = Fitted(weight=loglik.weight, loglik=value, free=theta.size)
    return LikelihoodMaximum(theta, make(*theta.tolist()), value, information, converged, record)


class _Likelihood:
    """Σ w ln p_theta(x) as a function of theta; −inf where it is not defined."""

    def __init__(self, make: Any, x: Any, sample_weight: Any) -> None:
        self.make, self._x = make, x if isinstance(getattr(x, "shape", None), tuple) else _values(x)
        n = self._x.shape[0] if self._x.shape else None
        if not isinstance(n, Integral):  # of a Dask array it may not be known
            what = "is one value, or not in memory; a list, array or Series of values is needed"
            raise DataError(what, argument="x", value=x)
        n = int(n)
        self._w = checks.weights(sample_weight, n)
        self.weight = float(n if self._w is None else self._w.sum())

    def __call__(self, theta: Any) -> float:
        with np.errstate(all="ignore"):
            try:
                density = self.make(*theta)
            except (ValueError, ArithmeticError, np.linalg.LinAlgError):  # parameters that are not valid
                return -np.inf
            try:
                return self.of(density)
            except OptionError:  # parameters that the density checks when it needs them
                return -np.inf

    def of(self, density: Any) -> float:
        """Return the log-likelihood of one density."""
        name = next((each for each in LOG_DENSITY_NAMES if callable(getattr(density, each, None))), None)
        if name is None:
            what = f"gives a {type(density).__name__}, which has no method {', '.join(LOG_DENSITY_NAMES)}"
            raise DataError(what, argument="make", fix="return a density")
        logs = np.asarray(getattr(density, name)(self._x), dtype=np.float64).ravel()
        used = logs if self._w is None else logs[self._w > 0.0] * self._w[self._w > 0.0]
        total = float(np.sum(used))
        return -np.inf if np.isnan(total) else total


def _values(x: Any) -> Array:
    """Return a list of values as an array."""
    try:
        return np.asarray(x)
    except ValueError as error:
        raise DataError(f"is not a list of values ({error})", argument="x", fix="give one value per row") from None


def _check_maker(make: Any, count: int) -> None:
    """Raise unless `make` can be called with this number of parameters."""
    what = f"must be a function or class of {count} parameter{'s' if count > 1 else ''}"
    try:
        inspect.signature(make).bind(*range(count))
    except TypeError:
        raise OptionError(what, argument="make", value=make, fix="give as many as it takes") from None
    except ValueError:  # built-in functions without a signature
        pass


def _check_start(loglik: _Likelihood, start: Any, theta: Array) -> None:
    """Raise unless the start is valid, and every row possible there."""
    try:
        possible = np.isfinite(loglik.of(loglik.make(*theta.tolist())))
    except DataError:
        raise
    except (TypeError, ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        raise OptionError(f"is not valid: {str(error).rstrip('.')}", argument="start", value=start) from None
    if not possible:
        what = "gives the rows a likelihood that is 0 or infinite"
        raise OptionError(what, argument="start", value=start, fix="start where every row is possible")


def _broadcast(parameters: list[Array]) -> list[Array]:
    try:
        return list(np.broadcast_arrays(*parameters))
    except ValueError:
        shapes = ", ".join(str(each.shape) for each in parameters)
        raise OptionError(f"has the shapes {shapes}, which do not go together", argument="theta") from None


def _simplex(loglik: _Likelihood, theta: Array) -> Array:
    options = {"maxfev": 400 * theta.size, "xatol": 1e-6, "fatol": 1e-8, "adaptive": theta.size > 4}
    search: Any = minimize  # whose stubs know no options of this method
    for _ in range(SIMPLEX_RUNS):
        found = search(lambda t: -loglik(t), theta, method="Nelder-Mead", options=options)
        theta = np.asarray(found.x)
    return theta


def _newton(loglik: _Likelihood, theta: Array) -> tuple[Array, Array, bool]:
    """Return the end of Newton's method, the information there, and whether it is a maximum."""
    scale, value = np.maximum(1e-3 * np.abs(theta), 1e-6), loglik(theta)
    for _ in range(MAX_NEWTON_STEPS):
        scale = _difference_steps(loglik, theta, scale)
        gradient, information = _derivatives(partial(_moved, loglik, theta, scale), theta.size)
        observed = information / np.outer(scale, scale)
        if not (np.all(np.isfinite(information)) and np.all(np.linalg.eigvalsh(information) > 0.0)):
            return theta, observed, False
        change = np.linalg.solve(information, gradient)
        while loglik(theta + change * scale) < value - ROUNDING * abs(value) and np.any(np.abs(change) > SMALL_STEP):
            change = 0.5 * change
        theta = theta + change * scale
        value = loglik(theta)
        if np.all(np.abs(change) * STEP <= SMALL_STEP):
            break
    return theta, observed, True


def _moved(loglik: _Likelihood, theta: Array, scale: Array, u: Array) -> float:
    return loglik(theta + scale * u)


def _difference_steps(loglik: _Likelihood, theta: Array, scale: Array) -> Array:
    """Return steps (p,) over which each parameter alone changes L by about STEP² / 2, its curvature permitting."""
    value, steps = loglik(theta), scale.copy()
    for j in range(theta.size):
        for _ in range(MAX_SCALINGS):
            move = np.where(np.arange(theta.size) == j, steps, 0.0)
            bend = 2.0 * value - loglik(theta + move) - loglik(theta - move)
            if not np.isfinite(bend):
                steps[j] *= 0.1  # a neighbour is not valid
            elif bend <= ROUNDING * abs(value):
                steps[j] *= 10.0  # too close to differ
            else:
                ratio = STEP / np.sqrt(bend)
                steps[j] *= ratio
                if 0.5 < ratio < 2.0:
                    break
    return steps


def _derivatives(f: Callable[[Array], float], p: int) -> tuple[Array, Array]:
    """Return the gradient (p,) and minus the Hessian (p, p) of f at 0, by differences over ±1 and ±2.

    A smooth f bends four times as much over twice the distance, one with a kink twice; where it is not near four, the
    Hessian is NaN on its diagonal.
    """
    eye, f0 = np.eye(p), f(np.zeros(p))
    one, two = ([[f(sign * t * e) for e in eye] for sign in (1.0, -1.0)] for t in (1.0, 2.0))
    (a, b), (c, d) = np.asarray(one), np.asarray(two)
    with np.errstate(invalid="ignore"):  # neighbours that are not valid give NaN
        gradient = (8.0 * (a - b) - (c - d)) / 12.0
        bend, twice = 2.0 * f0 - a - b, 2.0 * f0 - c - d
        hessian = np.diag(np.where(np.abs(twice - 4.0 * bend) < np.abs(bend), (twice - 16.0 * bend) / 12.0, np.nan))
    for i in range(p):
        for j in range(i):
            corners = [s * t * f(s * eye[i] + t * eye[j]) for s in (1.0, -1.0) for t in (1.0, -1.0)]
            hessian[i, j] = hessian[j, i] = sum(corners) / 4.0
    return gradient, -hessian

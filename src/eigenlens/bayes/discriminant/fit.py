"""Gaussian classes from rows: one covariance for all (linear discriminants) or one per class (quadratic)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eigenlens.arrays import Array, read_only
from eigenlens.bayes.class_moments import attach_classes, read_class_deviations
from eigenlens.bayes.discriminant.covariances import Shrinkage, choose_summary
from eigenlens.data.source import Progress, Source, accumulate
from eigenlens.densities.covariance import Covariance
from eigenlens.densities.covariance_axes import MIN_AXIS_SHARE, Axes
from eigenlens.densities.gaussian import Gaussian
from eigenlens.densities.mixture import Mixture
from eigenlens.linalg.spectrum import orient

MAX_ROUNDING = 1e-11
"""The most that the logarithm of a probability, or a score, may lose to rounding because rows are far from zero."""


@dataclass(frozen=True, eq=False)
class FisherRule:
    """The linear rule of Gaussian classes with one covariance C: ln p(c | x) = w_c·x + b_c + a constant.

        w_c = C⁻¹ (m_c − m),   b_c = ln pi_c − ½ |m_c − m|²_C − w_c·m,   m = Σ pi_c m_c

    Attributes:
        prior: pi (C,). means: (C, d). covariance: C, of the rows about the means of their classes.

    >>> C = Axes.of_matrix(np.eye(2), np.zeros(2))
    >>> rule = FisherRule(np.array([0.5, 0.5]), np.array([[0.0, 0.0], [2.0, 0.0]]), C)
    >>> rule.coef, rule.intercept.round(3), rule.directions.ravel()
    (array([[-1.,  0.], [ 1.,  0.]]), array([-0.193, -2.193]), array([1., 0.]))
    """

    prior: Array
    means: Array
    covariance: Axes

    def __post_init__(self) -> None:
        read_only(self, "prior", "means")

    @property
    def centre(self) -> Array:
        """The mean m (d,) of the classes."""
        return np.asarray(self.prior @ self.means)

    @cached_property
    def coef(self) -> Array:
        """The coefficients w (C, d)."""
        return self.covariance.solve(self.means - self.centre)

    @cached_property
    def offsets(self) -> Array:
        """The offsets −½ |m_c − m|²_C (C,)."""
        return np.asarray(-0.5 * np.einsum("cj,cj->c", self.coef, self.means - self.centre))

    @property
    def intercept(self) -> Array:
        """The intercepts b (C,)."""
        with np.errstate(divide="ignore"):  # a class of prior 0 is never chosen
            return np.asarray(np.log(self.prior) + self.offsets - self.coef @ self.centre)

    def log_likelihoods(self, X: Array) -> Array:
        """Return ln p(x | c) (n, C) of complete rows X (n, d), up to one number per row. Cost n C d."""
        return centred_product(X, self.centre, self.coef.T, self.offsets)

    @cached_property
    def classes(self) -> Mixture:
        """The classes as a mixture, which has all densities, also those of incomplete rows."""
        return Mixture(self.prior, tuple(Gaussian(mean, self.covariance) for mean in self.means))

    # ---- Fisher's directions ----------------------------------------------------------------------------

    @property
    def directions(self) -> Array:
        """The directions V (d, q), Vᵀ C V = I, q below the number of classes, that best separate the class means."""
        return self._fisher[1]

    @property
    def ratios(self) -> Array:
        """The variance (q,) between classes along each direction, divided by the variance within classes."""
        return self._fisher[0]

    @cached_property
    def _fisher(self) -> tuple[Array, Array]:
        """Eigenpairs of M C⁻¹ Mᵀ (C, C), M = √pi_c (m_c − m): Fisher's problem, whatever d is."""
        M = np.sqrt(self.prior)[:, None] * (self.means - self.centre)
        solved = np.sqrt(self.prior)[:, None] * self.coef
        products = M @ solved.T
        values, U = np.linalg.eigh(0.5 * (products + products.T))
        values, U = values[::-1][: len(M) - 1], U[:, ::-1][:, : len(M) - 1]
        kept = values > len(M) * MIN_AXIS_SHARE * values.max(initial=0.0)
        V = solved.T @ (U[:, kept] / np.sqrt(values[kept]))
        return values[kept], orient(V)


def centred_product(X: Array, centre: Array, V: Array, offset: Array | float = 0.0) -> Array:
    """Return (X − 1 mᵀ) V + offset (n, q) for X (n, d), by one product.

    X is only centred, which takes a copy, where rounding would otherwise exceed `MAX_ROUNDING`.

    >>> centred_product(np.array([[2.0, 3.0]]), np.array([1.0, 1.0]), np.eye(2))
    array([[1., 2.]])
    """
    rounding = float(np.max(np.abs(centre) @ np.abs(V), initial=0.0)) * float(np.finfo(np.float64).eps)
    near = rounding < MAX_ROUNDING
    found = X @ V if near else (X - centre) @ V
    found += offset - centre @ V if near else offset
    return np.asarray(found)


# ---- from rows to classes -------------------------------------------------------------------------------------


def choose_covariance_route(n: int, d: int) -> tuple[str, str]:
    """Return how covariances are found, and why.

        n < d     "gram"       products of the rows with one another (n, n); no d×d matrix is made
        else      "moments"    one pass over the rows, in memory O(d²)

    >>> choose_covariance_route(50, 2000), choose_covariance_route(1000, 3)[0]
    (('gram', '50 rows of 2000 columns'), 'moments')
    """
    return "gram" if n < d else "moments", f"{n} rows of {d} columns"


def read_classes(
    source: Source,
    codes: Array,
    n_classes: int,
    shrinkage: Shrinkage,
    *,
    pooled: bool,
    mergeable: bool = False,
    progress: Progress | None = None,
) -> Any:
    """Read the moments of the classes, or all rows, by the route of `choose_covariance_route`.

    With `mergeable` always the moments, to which those of further rows can be added.
    """
    n = len(codes) if source.weight is None else int(np.count_nonzero(source.weight))
    rows = attach_classes(source, codes)
    if not mergeable and choose_covariance_route(n, source.n_features)[0] == "gram":
        return read_class_deviations(rows, n_classes)
    return accumulate(rows, choose_summary(n_classes, shrinkage, pooled), progress, "reading classes")


def gaussian_classes(prior: Array, means: Array, covariances: Sequence[Covariance]) -> Mixture:
    """Return classes with one covariance each as a mixture."""
    return Mixture(prior, tuple(Gaussian(mean, C) for mean, C in zip(means, covariances, strict=True)))

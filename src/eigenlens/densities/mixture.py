"""A mixture: rows drawn from one of K densities, chosen at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, overload

import numpy as np
from scipy.special import logsumexp, softmax

from eigenlens import checks
from eigenlens.arrays import Array, read_only
from eigenlens.densities.base import Columns, Density, as_rows, check_parts, reject_infinite
from eigenlens.densities.mixture_terms import Terms, covariance_matrix, stack_terms
from eigenlens.errors import OptionError
from eigenlens.laws import Laws


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture of densities, p(x) = Σ_k pi_k p_k(x).

    Attributes:
        weights: pi (K,), positive, of sum 1.
        components: K densities of the same columns: `Gaussian`, `LinearGaussian`, or any other.

    NaN in a row is a missing value, everywhere: results are exact for the observed entries.

    >>> from eigenlens.densities.covariance import Full
    >>> from eigenlens.densities.gaussian import Gaussian
    >>> C = Full(np.array([[1.0, 0.8], [0.8, 1.0]]))
    >>> model = Mixture(np.array([0.5, 0.5]), (Gaussian(np.zeros(2), C), Gaussian(np.array([4.0, 0.0]), C)))
    >>> model.responsibilities(np.array([[2.0, 0.0], [0.0, 0.0], [4.0, np.nan]])).round(3)
    array([[0.5, 0.5], [1. , 0. ], [0. , 1. ]])
    >>> model.condition([0], [4.0]).mean.round(3)
    array([0.001])
    """

    laws: ClassVar[Laws] = {"weights": "(K) not negative, sum 1", "means": "(K, d) of a finite square"}

    weights: Array
    components: tuple[Density, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "components", check_parts("components", self.components, "log_density"))
        object.__setattr__(self, "weights", checks.numbers("weights", self.weights))
        read_only(self, "weights")
        pi = self.weights
        if pi.shape != (len(self.components),):
            what = f"has shape {pi.shape} for {len(self.components)} components"
            raise OptionError(what, argument="weights", fix="give one per component")
        if not (np.all(pi >= 0.0) and abs(pi.sum() - 1.0) <= 1e-6):
            what = f"must not be negative and sum to 1, not {pi.sum():.10g}"
            raise OptionError(what, argument="weights", value=pi.tolist()[:8], fix="divide them by their sum")

    # ---- densities --------------------------------------------------------------------------------------

    def log_joint(self, X: Any) -> Array:
        """Return ln pi_k + ln p_k(x_i) (n, K) of rows X (n, d)."""
        rows = _numbers_or_text(X) if self.terms is None else as_rows(X, self.terms.means.shape[1])
        if self.terms is not None and not np.isnan(rows).any():
            return self.terms.log_joint(rows)
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)
        return np.stack([component.log_density(rows) for component in self.components], axis=1) + log_weights

    def log_density(self, X: Any) -> Array:
        """Return ln p(x) (n,) of rows X (n, d)."""
        return np.asarray(logsumexp(self.log_joint(X), axis=1))

    def responsibilities(self, X: Any) -> Array:
        """Return P(component k | x_i) (n, K); the rows sum to 1. A row that no component can have gets the weights."""
        joint = self.log_joint(X)
        impossible = np.isneginf(joint).all(axis=1)
        joint[impossible] = 0.0
        shares = np.asarray(softmax(joint, axis=1))
        shares[impossible] = self.weights
        return shares

    def cdf(self, x: Any) -> Array:
        """Return P(X ≤ x) (n,), in one dimension."""
        parts: list[Any] = list(self.components)
        if not all(hasattr(part, "cdf") for part in parts):
            kinds = ", ".join(sorted({type(part).__name__ for part in parts}))
            raise OptionError(f"have no cdf ({kinds})", argument="components", fix="use log_density")
        return np.asarray(sum(pi * part.cdf(x) for pi, part in zip(self.weights, parts, strict=True)))

    # ---- draws ------------------------------------------------------------------------------------------

    def sample(self, n: int, rng: Any = None) -> Array:
        """Draw n rows (n, d), in random order."""
        return self.sample_labelled(n, rng)[0]

    def sample_labelled(self, n: int, rng: Any = None) -> tuple[Array, Array]:
        """Draw n rows (n, d), and return also the component (n,) that each came from."""
        rng, n = checks.generator(rng, "rng"), checks.sample_size("n", n, 1, 0)
        labels = rng.choice(len(self.weights), size=n, p=self.weights)
        counts = np.bincount(labels, minlength=len(self.weights))
        draws = [part.sample(int(count), rng) for part, count in zip(self.components, counts, strict=True)]
        rows = np.empty_like(draws[0], shape=(n, draws[0].shape[1]))
        rows[np.argsort(labels, kind="stable")] = np.concatenate(draws)
        return rows, labels

    # ---- parts ------------------------------------------------------------------------------------------

    def scaled(self, scale: Array) -> Mixture:
        """Return the mixture of the columns times `scale` (d,)."""
        components: Sequence[Any] = self.components
        return Mixture(self.weights, tuple(component.scaled(scale) for component in components))

    def marginal(self, columns: Columns) -> Mixture:
        """Return the mixture of these columns, in this order."""
        return Mixture(self.weights, tuple(component.marginal(columns) for component in self.components))

    def condition(self, columns: Columns, values: Any) -> Mixture:
        """Return the mixture of the other columns, given these columns' values.

        Its weights are P(component | values); its mean is the regression on those columns.
        """
        given = checks.numbers("values", values).reshape(1, -1)
        shares = self.marginal(columns).responsibilities(given)[0]
        return Mixture(shares, tuple(component.condition(columns, given[0]) for component in self.components))

    @overload
    def impute(self, X: Array, return_std: Literal[False] = False) -> Array: ...

    @overload
    def impute(self, X: Array, return_std: Literal[True]) -> tuple[Array, Array]: ...

    @overload
    def impute(self, X: Array, return_std: bool) -> Array | tuple[Array, Array]: ...

    def impute(self, X: Array, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Return X (n, d) with NaN replaced by its mean given the observed entries of the row, E[x_m | x_o].

        Σ_k r_k E_k[x_m | x_o] with r_k = P(component k | x_o). With return_std, also the standard deviations (n, d),
        by the law of total variance: Σ_k r_k (var_k + (E_k − E)²); 0 for observed entries.
        """
        rows, return_std = reject_infinite(as_rows(X)), checks.boolean("return_std", return_std)
        shares = self.responsibilities(X)
        parts: list[Any] = list(self.components)
        found = [part.impute(rows, return_std=True) for part in parts]
        filled = sum(r[:, None] * mean for r, (mean, _) in zip(shares.T, found, strict=True))
        filled = np.where(np.isnan(rows), filled, rows)
        if not return_std:
            return filled
        spread = (r[:, None] * (std**2 + (mean - filled) ** 2) for r, (mean, std) in zip(shares.T, found, strict=True))
        return filled, np.sqrt(np.asarray(sum(spread)))

    # ---- moments ----------------------------------------------------------------------------------------

    @cached_property
    def means(self) -> Array:
        """The means (K, d), where components have means."""
        parts: list[Any] = list(self.components)
        return np.stack([part.mean for part in parts])

    @property
    def mean(self) -> Array:
        """The mean E[x] (d,) = Σ pi_k mu_k."""
        return np.asarray(self.weights @ self.means)

    def covariance(self) -> Array:
        """Return cov[x] (d, d) = Σ pi_k (C_k + (mu_k − mu)(mu_k − mu)ᵀ)."""
        parts: list[Any] = list(self.components)
        between = self.means - self.mean
        within = sum(pi * covariance_matrix(part) for pi, part in zip(self.weights, parts, strict=True))
        return np.asarray(within + (self.weights[:, None] * between).T @ between)

    @cached_property
    def terms(self) -> Terms | None:
        """The components stacked for passes over many rows, where they are Gaussian with one structure."""
        return stack_terms(self.weights, self.components)


def _numbers_or_text(X: Any) -> Any:
    """Return rows as numbers (n, d), or unchanged where they hold text, which is for densities of categories."""
    try:
        return as_rows(X)
    except (TypeError, ValueError):
        return X

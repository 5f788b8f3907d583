"""Attributes and criteria shared by estimators fitted by maximum likelihood: log-likelihood, iterations, AIC, BIC."""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenlens.arrays import Array
from eigenlens.data.rows import positive_weight_rows
from eigenlens.data.source import Source
from eigenlens.errors import OptionError
from eigenlens.estimator.base import forward
from eigenlens.estimator.rows import validate_rows


class _FitResult(Protocol):
    """The part of a fit's result that does not depend on the model."""

    @property
    def loglik(self) -> float: ...
    @property
    def path(self) -> tuple[float, ...]: ...
    @property
    def n_iter(self) -> int: ...
    @property
    def converged(self) -> bool: ...
    @property
    def weight(self) -> float: ...
    @property
    def rows(self) -> int: ...


R = TypeVar("R", bound=_FitResult)


class IterativeFit(Generic[R]):
    """Learned attributes and criteria of an estimator that keeps its fit (`_fit`).

    The estimator has the number of free parameters (`_n_parameters`) and log densities (`_density_and_presence`).
    """

    _fit: R
    _state = "_fit"

    @property
    def _n_parameters(self) -> int:
        raise NotImplementedError

    def _density_and_presence(self, source: Source) -> Array:
        """Return (n, 2): the log density of the observed entries of each row, and 1 if there are any, else 0."""
        raise NotImplementedError

    # ---- criteria ---------------------------------------------------------------------------------------

    def aic(self, X: Any = None, sample_weight: Any = None) -> float:
        """Return −2 log-likelihood + 2 parameters of the fitted rows or of X; smaller is better."""
        return -2.0 * self._likelihood(X, sample_weight)[0] + 2.0 * self._n_parameters

    def bic(self, X: Any = None, sample_weight: Any = None) -> float:
        """Return −2 log-likelihood + parameters · log Σw of the fitted rows or of X; smaller is better.

        As in `fit`, row i counts sample_weight[i] times, and a row without an observed entry does not count.
        """
        loglik, weight = self._likelihood(X, sample_weight)
        return -2.0 * loglik + self._n_parameters * float(np.log(weight))

    def _likelihood(self, X: Any, sample_weight: Any) -> tuple[float, float]:
        """Return Σ w log p(x observed) and Σw over the rows with an observed entry."""
        if X is None:
            if sample_weight is not None:
                what = "belongs to the rows of X, which are not given"
                raise OptionError(what, argument="sample_weight", fix="give X too, or neither for the fitted rows")
            return self._fitted_likelihood()
        check_is_fitted(self)
        source = positive_weight_rows(validate_rows(self, X, sample_weight))
        found = self._density_and_presence(source)
        weight = np.ones(len(found)) if source.weight is None else source.weight
        return float(weight @ found[:, 0]), float(weight @ found[:, 1])

    def _fitted_likelihood(self) -> tuple[float, float]:
        return self._fitted.loglik, self._fitted.weight

    # ---- learned attributes -----------------------------------------------------------------------------

    @property
    def _fitted(self) -> R:
        check_is_fitted(self)
        return self._fit

    loglik_ = forward("_fitted.loglik", "The log-likelihood of the fitted rows, Σ w log p(x observed).")
    n_iter_ = forward(
        "_fitted.n_iter", "Steps or passes of the iteration: 1 for a closed form, chunks after `partial_fit`."
    )
    converged_ = forward(
        "_fitted.converged", "Whether the iteration met its tolerance; False while `partial_fit` goes on."
    )
    n_samples_ = forward("_fitted.rows", "The number of rows with positive weight and an observed entry.")

    @property
    def loglik_path_(self) -> Array:
        """The log-likelihood after each accepted step; it never decreases."""
        return np.asarray(self._fitted.path)

"""The bases of all estimators: files, scikit-learn's tags, views of the frozen model, scores and log densities of rows.

An estimator is a dataclass of its parameters, without comparison: scikit-learn reads them from the `__init__` that
`dataclass` writes. Those fitted by maximum likelihood share log-likelihood, iterations, AIC and BIC.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from types import ModuleType
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from eigenlens import checks, model_file
from eigenlens.arrays import Array, Like, check_tensor, is_tensor, namespace, to_numpy
from eigenlens.data.coerce import as_source, rereadable
from eigenlens.data.number_array import number_array
from eigenlens.data.rows import mean_over_rows, positive_weight_rows
from eigenlens.data.source import Source
from eigenlens.errors import DataError, OptionError
from eigenlens.estimator.main_plot_html import main_plot_html
from eigenlens.estimator.names_elsewhere import reject_foreign_parameters
from eigenlens.estimator.resume import resume_call
from eigenlens.estimator.rows import map_blocks, per_row, validate_rows
from eigenlens.estimator.storage import pack_estimator, restore_estimator, restore_parameters
from eigenlens.gpu.runtime import device_memory
from eigenlens.layout import part_of_file

DEVICE_MEMORY_FIX = "give fewer rows, or leave them in the host's memory and fit within eigenlens.fitting(device=...)"


def guard_fit(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Return a fit that leaves the estimator as it was where it raises, also for an interrupt, and has checkpoints.

    Where its arithmetic fails (a matrix without a factor, a division by 0), the error is one about X.
    """

    @wraps(fit)
    def guarded(estimator: Any, *arguments: Any, **options: Any) -> Any:
        before = dict(vars(estimator))
        try:
            # An overflow on the way says nothing: what is fitted is checked.
            with np.errstate(over="ignore"), device_memory("the fit", None, DEVICE_MEMORY_FIX):
                return resume_call(fit, estimator, *arguments, **options)
        except BaseException as error:
            vars(estimator).clear()
            vars(estimator).update(before)
            if not isinstance(error, np.linalg.LinAlgError | ArithmeticError):
                raise
            what = f"cannot be fitted: the arithmetic fails ({type(error).__name__}: {str(error).rstrip('.')})"
            fix = "look for columns that are constant, repeated or of very different sizes; standardize=True may help"
            raise DataError(what, argument="X", fix=fix) from error

    return guarded


def require_uninterrupted(estimator: Any) -> Any:
    """Return a fitted estimator; raise KeyboardInterrupt if the user interrupted its fit, which kept the best so far.

    For work that takes several fits: the user who stops one of them wants no other.
    """
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if any(getattr(getattr(last, name, None), "interrupted", False) for name in ("_fit", "_choice")):
        raise KeyboardInterrupt
    return estimator


class ModelEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that keeps a frozen model, and can be saved.

    Attributes:
        _storage: the module whose `pack_fit` and `restore_fit` turn a fit into arrays and header entries, and back.
        _state: the attribute that every fit sets, by which an estimator is known to be fitted.
        _takes_missing: whether NaN in X is a missing value.
        _takes_column: whether X may be one-dimensional, (n,), where the model has one column.
        _rows_like: the array kind of the fitted rows.
        _saves_dtype: whether a file keeps their dtype.
        _makes_passes: whether a fit makes passes over the rows, which a checkpoint can record.
        axis_stem: the letters before the number of one of its axes, in tables and plots: PC1, PC2, …
    """

    axis_stem: ClassVar[str] = "PC"
    _storage: ModuleType
    _state = "_model"
    _takes_missing = False
    _takes_column = False
    _rows_like: Like
    _saves_dtype = True
    _makes_passes = True

    def __init_subclass__(cls, **options: Any) -> None:
        """Guard the fits of a class: one that fails changes nothing."""
        super().__init_subclass__(**options)
        for name, method in list(vars(cls).items()):
            if name.startswith(("fit", "partial_fit")) and callable(method):
                setattr(cls, name, guard_fit(method))

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Make an estimator, unless it is asked for a parameter by the name of another package."""
        reject_foreign_parameters(cls, options)
        made: Self = super().__new__(cls)
        return made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model, with what `partial_fit` needs, to one safetensors file, whole or not at all.

        `eigenlens.load` reads it.
        """
        check_is_fitted(self)
        kind, arrays, header = pack_estimator(self)
        with part_of_file(f"{kind} cannot be saved"):  # nothing is written that could not be read
            restore_estimator(kind, arrays, model_file.as_read(header))
        model_file.write(path, kind, arrays, header)

    @classmethod
    def _restored(cls, arrays: dict[str, Array], header: dict[str, Any]) -> Self:
        estimator: Self = restore_parameters(cls, header)
        if hasattr(cls, "_scale"):
            estimator._scale = arrays.get("scale")
        cls._storage.restore_fit(estimator, arrays, header)
        return estimator

    @property
    def _like(self) -> Like:
        """The array kind of attributes and draws: that of the fitted rows."""
        check_is_fitted(self)
        return self._rows_like

    def _html_repr(self) -> str:
        """Return what a notebook shows: the main plot of a fitted model, else the diagram of scikit-learn."""
        return main_plot_html(self) or str(super()._html_repr())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self._state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._takes_missing
        return tags


def forward(path: str, doc: str) -> property:
    """Return a property of an estimator that is an attribute of one of its parts, by its dotted path."""
    return property(attrgetter(path), doc=doc)


def model_view(attribute: str, doc: str) -> property:
    """Return a property of an estimator that is an array of its `model_`, in the array kind of the fitted rows."""
    return property(lambda estimator: estimator._like(getattr(estimator.model_, attribute)), doc=doc)


class NamedScores(ClassNamePrefixFeaturesOutMixin, TransformerMixin):  # type: ignore[misc]
    """A transformer whose scores are named after its class: pca0, pca1, …"""

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns of `transform`; `input_features` may be those of the fit, or None."""
        given = None if input_features is None else checks.listed("input_features", input_features)
        try:
            return super().get_feature_names_out(given)
        except ValueError as error:
            if isinstance(error, NotFittedError):
                raise
            what, fix = f": {error}", "give the names of the columns of the fit, or None"
            raise OptionError(what, argument="input_features", value=input_features, fix=fix) from None


class ProjectionEstimator(NamedScores, ModelEstimator):
    """An estimator that maps rows to `n_components_` scores and back, in the dtype of the rows."""

    _score_words = ("scores", "component")  # what scores, and their columns, are called

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the rows of X, and return their scores (n, k)."""
        X = rereadable(X)
        return self.fit(X, y, sample_weight=sample_weight).transform(X)

    def _check_scores(self, X: Any, *, fewer: bool = False) -> Any:
        """Return scores X (n, k) as an array or tensor; raise if they are not finite, or not one per component.

        fewer: whether scores of the leading components only will do.
        """
        check_is_fitted(self)
        Z: Any = X if is_tensor(X) or isinstance(X, np.ndarray) else number_array(X)
        if is_tensor(Z):
            check_tensor(Z)
        self._check_score_shape(Z, fewer)
        if is_tensor(Z) and not str(Z.dtype).endswith(("float32", "float64")):
            Z = namespace(Z).astype(Z, namespace(Z).float64)
        Z = number_array(Z) if isinstance(Z, np.ndarray) and Z.shape[1] else Z
        if not np.all(np.isfinite(to_numpy(Z))):
            what = f"contains NaN or infinity, so there are no rows with these {self._score_words[0]}"
            raise DataError(what, argument="X", fix="give finite numbers")
        return Z

    def _check_score_shape(self, Z: Any, fewer: bool) -> None:
        scores, component = self._score_words
        most = self._n_features_out
        if Z.ndim != 2 or not (min(1, most) if fewer else most) <= Z.shape[1] <= most:
            what = f"X has shape {tuple(Z.shape)}, but {scores} have {most} columns, one per {component}"
            raise DataError(
                what + (", or fewer for the leading ones" if fewer else ""), fix="give what transform returns"
            )

    def _score_source(self, X: Any) -> Source:
        """Return Dask scores as a source; those of the leading components only are checked chunk by chunk."""
        self._check_score_shape(X, fewer=True)
        source = as_source(X)
        source.names = None  # those of scores are not the model's
        return source

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


per_score = per_row(
    lambda estimator: estimator.n_features_in_,
    lambda estimator, scores: scores.dtype,
    lambda estimator, scores: estimator._score_source(scores),
)
"""The decorator of a method from scores to rows; a Dask array gives a Dask array."""


class DensityEstimator(ModelEstimator):
    """An estimator whose `model_` has the log density of rows, and draws rows."""

    model_: Any
    random_state: Any

    @per_row()
    def score_samples(self, X: Any) -> Any:
        """Return the log density (n,) of the observed entries of each row; 0 for a row without any."""
        check_is_fitted(self)
        return self._log_densities(validate_rows(self, X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log density per row."""
        check_is_fitted(self)
        source = validate_rows(self, X, sample_weight)
        return mean_over_rows(self._log_densities(source), source.weight)

    def _log_densities(self, source: Source) -> Array:
        with np.errstate(all="ignore"):  # what is not finite is detected in the result, and explained
            return map_blocks(source, self.model_.log_density)

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> Any:
        """Draw rows (n_samples, d) from the model."""
        check_is_fitted(self)
        rng = checks.generator(self.random_state if random_state is None else random_state)
        return self._like(self.model_.sample(checks.sample_size("n_samples", n_samples, self.n_features_in_), rng))

    def _column_numbers(self, columns: Any) -> list[int]:
        """Return the numbers of columns of the fitted rows that are given by name or number."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return checks.column_numbers("columns", columns, self.n_features_in_, names)

    def _condition(self, columns: Any, values: Any) -> Any:
        """Return the density of the other columns given values of these, by number or name; NaN is a missing value."""
        chosen, given = self._column_numbers(columns), np.atleast_1d(checks.numbers("values", values))
        if len(chosen) == self.n_features_in_:
            what = "names every column, so none is left"
            raise OptionError(what, argument="columns", fix="score_samples has their density")
        if given.shape != (len(chosen),) or np.isinf(given).any():
            what = f"must be {len(chosen)} numbers, one per column, NaN where it is missing"
            raise DataError(what, argument="values", value=values)
        return self.model_.condition(chosen, given)


def require_possible(log_density: Array) -> None:
    """Raise where rows (n,) have density 0, so that the log-likelihood of all is minus infinity."""
    lost = np.flatnonzero(np.isneginf(log_density))
    if lost.size:
        what = f"has {lost.size} of {log_density.size} rows of density 0 under this model (first: row {lost[0]})"
        raise DataError(
            f"{what}, so their likelihood is 0", argument="X", fix="leave them out; score_samples finds them"
        )


# ---- maximum likelihood ---------------------------------------------------------------------------------------


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
        if not found[:, 1].any():
            raise DataError("has no row with an observed entry, so there is no likelihood", argument="X")
        weight = np.ones(len(found)) if source.weight is None else source.weight
        require_possible(found[:, 0])
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

"""Comparison of densities by cross-validated log-likelihood, in the same units, with paired standard errors."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from eigenlens import checks
from eigenlens.arrays import Array, is_tensor, read_only, to_numpy
from eigenlens.comparison.jacobian import log_abs_det_jacobian
from eigenlens.data.coerce import as_source, as_table, is_streamed, rereadable
from eigenlens.data.rows import random_folds, row_count, select_rows
from eigenlens.data.source import accumulate
from eigenlens.errors import DataError, OptionError
from eigenlens.estimator.base import require_uninterrupted
from eigenlens.estimator.resume import resumable
from eigenlens.estimator.rows import column_as_table, map_blocks


@dataclass(frozen=True, eq=False)
class Comparison:
    """The mean log density of held-out rows under each estimator, best first; those that failed come last.

    Attributes:
        names: (m,). means: (m,) log density of a held-out row, NaN where the estimator failed.
        errors: (m,) standard errors of the means.
        behind: (m,) by how much the mean lies below the best. behind_errors: (m,) standard errors of these differences,
            from differences row by row, so that rows of low density under all estimators cancel.
        fit_seconds: (m,) of one fit, on average over the folds.
        values: (m, n) log density of every row, from the fit that did not see it.
        folds: (n,) the fold in which each row was held out. weight: (n,).
        failures: {name: what went wrong}. causes: {name: the exception} of failures that had one.
    """

    names: tuple[str, ...]
    means: Array
    errors: Array
    behind: Array
    behind_errors: Array
    fit_seconds: Array
    values: Array
    folds: Array
    weight: Array
    failures: Mapping[str, str] = field(default_factory=dict)
    causes: Mapping[str, Exception] = field(default_factory=dict)

    def __post_init__(self) -> None:
        arrays = "means", "errors", "behind", "behind_errors", "fit_seconds", "values", "folds", "weight"
        read_only(self, *arrays)

    @property
    def best(self) -> str:
        """The name of the estimator with the largest mean."""
        return self.names[0]

    def margins(self, level: float = 0.95) -> Array:
        """Return half the widths (m,) of confidence intervals of `behind`, by the normal approximation."""
        from scipy.special import ndtri

        return np.asarray(float(ndtri(0.5 + 0.5 * checks.real("level", level, 0.0, 1.0))) * self.behind_errors)

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary per estimator, best first, for a frame: `pandas.DataFrame(table.records())`."""
        columns = {
            "estimator": self.names,
            "log_density": self.means.tolist(),
            "error": self.errors.tolist(),
            "behind": self.behind.tolist(),
            "behind_error": self.behind_errors.tolist(),
            "fit_seconds": self.fit_seconds.tolist(),
            "failure": [self.failures.get(name, "") for name in self.names],
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def __str__(self) -> str:
        width = max(map(len, (*self.names, "estimator")))
        lines = [
            f"{'estimator':<{width}}  {'log density':>12} {'± se':>8}  {'behind best':>12} {'± se':>8}  {'fit s':>8}"
        ]
        for i, name in enumerate(self.names):
            if name in self.failures:
                lines.append(f"{name:<{width}}  failed: {self.failures[name]}")
                continue
            behind = f"{self.behind[i]:>12.4f} {self.behind_errors[i]:>8.4f}" if i else f"{'':>21}"
            lines.append(
                f"{name:<{width}}  {self.means[i]:>12.4f} {self.errors[i]:>8.4f}  {behind}  {self.fit_seconds[i]:>8.3g}"
            )
        return "\n".join(lines)

    __repr__ = __str__


@resumable
def compare(
    estimators: Mapping[str, Any],
    X: Any,
    *,
    cv: int = 5,
    sample_weight: Any = None,
    random_state: Any = None,
    checkpoint: Any = None,
) -> Comparison:
    """Return the mean log density of held-out rows under each estimator, best first, with paired standard errors.

    Every estimator is fitted to the same cv − 1 folds, and its `score_samples` is taken of the fold left out. All are
    put into the units of X: a Pipeline's density of the transformed row is multiplied by |det| of the transformation's
    derivative there. Scalers and other affine steps, power transformations, and logarithms and other functions of
    `comparison.jacobian.LOG_DERIVATIVES` have one in closed form; a transformer of your own may have a method
    `log_abs_det_jacobian(X)` -> (n,). A Pipeline with any other step is named among the failures. Standard errors treat
    the rows as independent, which held-out rows nearly are.

    Args:
        estimators: {name: unfitted estimator} with `fit` and `score_samples`, of this package or of scikit-learn, or a
            Pipeline that ends in one and keeps the number of columns; or a `Family` of `eigenlens.densities` or of your
            own. Each is cloned, and none is changed.
        X: rows of any kind that the estimators take, or (n,) for one column; folds of a Source or Dask array are left
            out by zero weights.
        cv: the number of folds. sample_weight: (n,) counts of rows, in fits and in means. random_state: of the folds.
        checkpoint: a path, or a `Checkpoint`, from which the same call resumes if its process was killed.

    An estimator that raises an error in a fold stays in the table, with the error, unless all have the same. Cost: cv
    fits each.

    >>> from sklearn.mixture import GaussianMixture
    >>> from sklearn.neighbors import KernelDensity
    >>> X = np.random.default_rng(0).standard_normal((300, 2))
    >>> models = {"normal": GaussianMixture(), "narrow": KernelDensity(bandwidth=0.05)}
    >>> table = compare(models, X, random_state=0)
    >>> table.best, bool(table.behind[1] > 3 * table.behind_errors[1])
    ('normal', True)
    """
    if not isinstance(estimators, Mapping) or not estimators:
        what = "must be a dictionary of at least one name and its estimator"
        raise OptionError(what, argument="estimators", value=estimators)
    X = column_as_table(rereadable(X))
    streamed = is_streamed(X)
    n = row_count(as_table(X))
    weight = checks.weights(sample_weight, n)
    if not n:
        raise DataError("has 0 rows; at least 2 are needed", argument="X")
    k = checks.integer("cv", cv, 2, n, "the number of rows")
    folds = random_folds(n, k, checks.generator(random_state))
    rows = _Streamed(X, weight, folds) if streamed else _Sliced(X, weight, folds)
    results = {str(name): _cross_validate_one(estimator, rows, k) for name, estimator in estimators.items()}
    causes = [found.cause if isinstance(found, _Failure) else None for found in results.values()]
    if len(causes) > 1 and isinstance(causes[0], DataError) and len(set(map(str, causes))) == 1:
        raise causes[0]  # it concerns X, not the estimators
    return _rank_results(results, folds, np.ones(n) if weight is None else weight)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows with their weights (n,), and the fold (n,) in which each is held out."""

    X: Any
    weight: Array | None
    folds: Array


class _Sliced(_Rows):
    """Rows in memory, of which a fold is taken by row numbers."""

    def fit(self, estimator: Any, fold: int) -> Any:
        kept = np.flatnonzero(self.folds != fold)
        return _fit_estimator(estimator, self._rows(kept), None if self.weight is None else self.weight[kept])

    def score(self, fitted: Any, fold: int) -> Array:
        return _log_density(fitted, self._rows(np.flatnonzero(self.folds == fold)))

    def _rows(self, index: Array) -> Any:
        return select_rows(self.X, index) if is_tensor(self.X) else _safe_indexing(self.X, index)


class _Streamed(_Rows):
    """Rows that come in blocks: a fold is left out by zero weights, and its scores are taken from those of all rows."""

    def fit(self, estimator: Any, fold: int) -> Any:
        weight = np.ones(self.folds.size) if self.weight is None else self.weight
        with _quiet_dask():
            return _fit_estimator(estimator, self.X, np.where(self.folds == fold, 0.0, weight))

    def score(self, fitted: Any, fold: int) -> Array:
        with _quiet_dask():
            return np.asarray(_log_density(fitted, self.X)[self.folds == fold])


@contextmanager
def _quiet_dask() -> Iterator[None]:
    """Silence the warnings of Dask where scikit-learn checks the memory of its arrays: no caller can act on them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The `numpy.* function is not implemented by Dask", FutureWarning)
        yield


@dataclass(frozen=True)
class _Failure:
    """The reason why an estimator has no log density of held-out rows, and the exception if there was one."""

    why: str
    cause: Exception | None = None


def _cross_validate_one(estimator: Any, rows: _Sliced | _Streamed, k: int) -> tuple[Array, float] | _Failure:
    """Return log densities (n,) of the rows, each by the fit that did not see it, and seconds per fit; or a failure."""
    values, seconds = np.full(rows.folds.size, np.nan), 0.0
    for fold in range(k):
        try:
            start = time.perf_counter()
            fitted = require_uninterrupted(rows.fit(clone(estimator, safe=False), fold))
            seconds += time.perf_counter() - start
            values[rows.folds == fold] = rows.score(fitted, fold)
        except Exception as error:  # one failure must not lose the other estimators
            why = f"in fold {fold + 1}: {type(error).__name__}: {error}"
            return _Failure(why, error.with_traceback(None))  # the frames of a traceback would keep their rows alive
    if np.isnan(values).any():
        return _Failure(f"its log density is NaN in {int(np.isnan(values).sum())} rows")
    return values, seconds / k


def _fit_estimator(estimator: Any, X: Any, weight: Array | None) -> Any:
    if hasattr(estimator, "summarise"):  # a family of densities
        source = as_source(X)
        statistics = accumulate(source if weight is None else source.weighted(weight), estimator.summarise)
        return estimator.estimate(statistics)
    if weight is None:
        return estimator.fit(X)
    if isinstance(estimator, Pipeline):
        taking = [name for name, step in estimator.steps if has_fit_parameter(step, "sample_weight")]
        if not taking or taking[-1] != estimator.steps[-1][0]:
            raise OptionError(f"{type(estimator[-1]).__name__} takes no sample_weight")
        return estimator.fit(X, **{f"{name}__sample_weight": weight for name in taking})
    if not has_fit_parameter(estimator, "sample_weight"):
        raise OptionError(f"{type(estimator).__name__} takes no sample_weight")
    return estimator.fit(X, sample_weight=weight)


def _log_density(fitted: Any, X: Any) -> Array:
    """Return log p(x) (n,) in the units of X."""
    fitted = getattr(fitted, "best_estimator_", fitted)
    if not hasattr(fitted, "score_samples") and hasattr(fitted, "log_density"):
        return map_blocks(as_source(X), fitted.log_density)
    values = np.asarray(to_numpy(fitted.score_samples(X)), dtype=np.float64)
    if values.ndim != 1:
        raise DataError(f"score_samples returned an array of shape {values.shape}; it must be one log density per row")
    if isinstance(fitted, Pipeline) and len(fitted.steps) > 1:
        values = values + log_abs_det_jacobian(fitted[:-1], X)
    return values


def _rank_results(results: dict[str, tuple[Array, float] | _Failure], folds: Array, weight: Array) -> Comparison:
    failed = {name: found for name, found in results.items() if isinstance(found, _Failure)}
    failures = {name: found.why for name, found in failed.items()}
    causes = {name: found.cause for name, found in failed.items() if found.cause is not None}
    done = {name: found for name, found in results.items() if not isinstance(found, _Failure)}
    order = sorted(done, key=lambda name: -_mean_and_error(done[name][0], weight)[0])
    names = (*order, *failures)
    nothing = np.full(folds.size, np.nan)
    values = np.array([done[name][0] if name in done else nothing for name in names])
    means, errors = np.array([_mean_and_error(row, weight) for row in values]).T
    with np.errstate(invalid="ignore"):
        behind, behind_errors = np.array([_mean_and_error(values[0] - row, weight) for row in values]).T
    seconds = np.array([done[name][1] if name in done else np.nan for name in names])
    return Comparison(names, means, errors, behind, behind_errors, seconds, values, folds, weight, failures, causes)


def _mean_and_error(values: Array, weight: Array) -> tuple[float, float]:
    """Return the weighted mean of values (n,) and its standard error; a weight of w counts as w values."""
    n, used = float(weight.sum()), weight > 0.0
    with np.errstate(invalid="ignore"):
        mean = float(weight[used] @ values[used]) / n
        variance = float(weight[used] @ (values[used] - mean) ** 2) / (n - 1.0) if n > 1.0 else np.nan
    return mean, float(np.sqrt(variance / n))

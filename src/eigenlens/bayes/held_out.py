"""Cross-validated predictions of a classifier, and the separation of the classes by each column.

A model here is any fitted classifier with `classes_` and `predict_proba`. Rows are given as a function of row numbers,
so that frames, mixed columns and arrays are one case.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from eigenlens.arrays import Array, to_numpy
from eigenlens.bayes.labels import class_positions
from eigenlens.data.memory import ArraySource
from eigenlens.estimator.base import require_uninterrupted

FOLDS = 5
"""The number of folds of the cross-validation."""

MAX_ROWS_FITTED, MAX_ENTRIES_FITTED = 20_000, 2_000_000
"""The largest numbers of rows and entries that are cross-validated; of more rows, a random sample is."""


def max_rows_fitted(d: int) -> int:
    """Return the largest number of rows of d columns that are cross-validated.

    >>> max_rows_fitted(10), max_rows_fitted(1_000)
    (20000, 2000)
    """
    return min(MAX_ROWS_FITTED, max(200, MAX_ENTRIES_FITTED // max(1, d)))


Take = Callable[[Array], Any]
"""A function from row numbers (q,) to rows as a model takes them."""


@dataclass(frozen=True, eq=False)
class CrossValidatedModel:
    """A model that returns stored probabilities: those of the rows it was cross-validated on.

    Attributes:
        classes_: (C,). proba: (n, C), each row from a fit without it, or from the fit to all rows.
        folds: (n,) the fold in which each row was held out; None if cross-validation failed. failure: the reason.
    """

    classes_: Array
    proba: Array
    folds: Array | None = None
    failure: str = ""

    def predict_proba(self, X: Any) -> Array:
        """Return the stored probabilities (n, C), whatever X is."""
        return self.proba

    def predict(self, X: Any) -> Array:
        """Return the most likely class (n,)."""
        return np.asarray(np.asarray(self.classes_)[self.proba.argmax(axis=1)])


def stratified_folds(codes: Array, k: int, rng: np.random.Generator) -> Array:
    """Return the fold (n,) of each row, from 0: the folds have equally many rows of each class, up to one.

    >>> folds = stratified_folds(np.array([0, 0, 0, 0, 1, 1]), 2, np.random.default_rng(0))
    >>> np.bincount(folds[:4]), np.bincount(folds[4:])
    (array([2, 2]), array([1, 1]))
    """
    folds, start = np.empty(len(codes), dtype=np.intp), 0
    for c in np.unique(codes):
        mine = np.flatnonzero(codes == c)
        # Each class starts in the fold after the last one's, so that the folds are equally long.
        folds[rng.permutation(mine)] = (start + np.arange(mine.size)) % k
        start += mine.size
    return folds


def cross_validate_classifier(
    model: Any, take: Take, y: Array, codes: Array, k: int, rng: np.random.Generator, weight: Array | None = None
) -> CrossValidatedModel:
    """Return P(class | row) (n, C) of every row by a clone of the model that was fitted without the row's fold.

    A class without rows in a fit has probability 0 there. Where a fit fails, the probabilities are those of the model
    itself, and `failure` has the reason. Cost: k fits.
    """
    n, classes = len(codes), np.asarray(model.classes_)
    folds, proba = stratified_folds(codes, k, rng), np.zeros((n, len(classes)))
    try:
        for fold in range(k):
            fit, held_out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            if not held_out.size:
                continue
            fitted = _fit(clone(model), take(fit), y[fit], None if weight is None else weight[fit])
            found = np.asarray(to_numpy(fitted.predict_proba(take(held_out))), dtype=np.float64)
            columns = class_positions(classes, "y", np.asarray(fitted.classes_).tolist())
            proba[np.ix_(held_out, columns)] = found
    except Exception as error:  # a class of one row, say: the predictions of the model itself are still worth seeing
        words = f"{type(error).__name__}: {error}"
        return CrossValidatedModel(classes, _proba(model, take(np.arange(n))), None, words)
    return CrossValidatedModel(classes, proba, folds)


def _fit(estimator: Any, X: Any, y: Array, weight: Array | None) -> Any:
    taken = weight is not None and has_fit_parameter(estimator, "sample_weight")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit to all rows has warned already
        return require_uninterrupted(estimator.fit(X, y, **({"sample_weight": weight} if taken else {})))


def _proba(model: Any, X: Any) -> Array:
    return np.asarray(to_numpy(model.predict_proba(X)), dtype=np.float64)


def log_loss(proba: Array, codes: Array, weight: Array | None = None) -> float:
    """Return the mean of −ln P(true class), with probabilities of at least 1e−12.

    >>> round(log_loss(np.array([[0.5, 0.5], [0.9, 0.1]]), np.array([0, 0])), 4)
    0.3993
    """
    p = np.clip(proba[np.arange(len(codes)), codes], 1e-12, 1.0)
    return float(np.average(-np.log(p), weights=weight))


# ---- columns ------------------------------------------------------------------------------------------------


def separation(X: Array, codes: Array) -> Array:
    """Return η² (d,), the share of each column's variance that lies between classes; NaN for text and empty columns.

    >>> separation(np.array([[0.0, 1.0], [0.0, 2.0], [4.0, 1.0], [4.0, 2.0]]), np.array([0, 0, 1, 1]))
    array([1., 0.])
    """
    found = np.full(X.shape[1], np.nan)
    for j, column in enumerate(X.T):
        observed = np.isfinite(column) & (codes >= 0)
        if observed.any():
            x, c = column[observed] - column[observed].mean(), codes[observed]
            count = np.bincount(c)
            between = float(np.sum(np.bincount(c, x)[count > 0] ** 2 / count[count > 0]))
            whole = float(x @ x)
            found[j] = between / whole if whole > 0.0 else 0.0
    return found


@dataclass(frozen=True, eq=False)
class ColumnLogOdds:
    """The contributions of columns to the log-odds of the most likely class against the next.

    Attributes:
        names: (d,). of, against: (n,) the two classes of each row. values: (n, d). prior: (n,), or None where it is
            part of the others. what: a description of the values.
    """

    names: tuple[str, ...]
    of: Array
    against: Array
    values: Array
    prior: Array | None
    what: str

    @property
    def mean(self) -> Array:
        """Return the mean |contribution| (d,) over the rows, infinite ones as 700, near ln of the largest float."""
        return np.asarray(np.abs(np.clip(self.values, -700.0, 700.0)).mean(axis=0))


def column_log_odds(model: Any, X: Any, rows: Array, names: tuple[str, ...]) -> ColumnLogOdds | None:
    """Return contributions by the model's own `explain`, or by leaving columns out; None where it needs every column.

    X: the rows as the model takes them. rows: (n, d) the same as numbers.
    """
    if hasattr(model, "explain"):
        found = model.explain(X)
        words = "its part of the log-odds against the next class"
        return ColumnLogOdds(names, found.of, found.against, found.contributions, found.prior, words)
    try:
        return contributions_by_omission(model, rows, names)
    except ValueError:  # a model that needs every column
        return None


def contributions_by_omission(model: Any, rows: Array, names: tuple[str, ...]) -> ColumnLogOdds:
    """Return by how much the log-odds of each row (n, d) change when a column is left out (marginalised).

    Cost: d + 1 predictions.
    """
    whole = _log_joint(model, rows)
    order = np.argsort(-whole, axis=1, kind="stable")
    i, (a, b) = np.arange(len(rows)), order[:, :2].T
    odds, values = whole[i, a] - whole[i, b], np.empty(rows.shape)
    for j in range(rows.shape[1]):
        fewer = rows.copy()
        fewer[:, j] = np.nan
        there = _log_joint(model, fewer)
        values[:, j] = odds - (there[i, a] - there[i, b])
    classes = np.asarray(model.classes_)
    words = "log-odds, less those without the column"
    return ColumnLogOdds(names, classes[a], classes[b], np.nan_to_num(values), None, words)


def _log_joint(model: Any, rows: Array) -> Array:
    known = getattr(model, "feature_names_in_", None)
    names = None if known is None else tuple(map(str, known))
    return np.asarray(to_numpy(model.predict_joint_log_proba(ArraySource(rows, names=names))), dtype=np.float64)

"""What a classifier says of rows that it has not seen, which columns tell classes apart, and what each adds.

A model here is any fitted classifier with `classes_` and `predict_proba`. Rows come as a function from row numbers to
what the model takes, so that frames, mixed columns and arrays are one case.
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
from eigenlens.data.memory import ArraySource

__all__ = [
    "ColumnLogOdds",
    "CrossValidatedModel",
    "column_log_odds",
    "contributions_by_omission",
    "cross_validate_classifier",
    "log_loss",
    "separation",
    "stratified_folds",
]  # fmt: skip

Take = Callable[[Array], Any]
"""Row numbers (q,) → rows as a model takes them."""


@dataclass(frozen=True, eq=False)
class CrossValidatedModel:
    """Probabilities that are known already, as a model that repeats them for the same rows.

    Attributes:
        classes_: (C,). proba: (n, C), each row from a fit that did not see it, or from the fit to all.
        folds: (n,) in which fold each row was held out; None if it was not. failure: why not, in words.
    """

    classes_: Array
    proba: Array
    folds: Array | None = None
    failure: str = ""

    def predict_proba(self, X: Any) -> Array:
        """(n, C), whatever X is."""
        return self.proba

    def predict(self, X: Any) -> Array:
        """The likeliest class (n,)."""
        return np.asarray(np.asarray(self.classes_)[self.proba.argmax(axis=1)])


def stratified_folds(codes: Array, k: int, rng: np.random.Generator) -> Array:
    """The fold (n,) of each row, from 0: in every fold as many rows of each class as in any other, but for one.

    >>> folds = stratified_folds(np.array([0, 0, 0, 0, 1, 1]), 2, np.random.default_rng(0))
    >>> np.bincount(folds[:4]), np.bincount(folds[4:])
    (array([2, 2]), array([1, 1]))
    """
    folds, start = np.empty(len(codes), dtype=np.intp), 0
    for c in np.unique(codes):
        mine = np.flatnonzero(codes == c)
        # Classes go on where the last one ended, so that the folds are equally long.
        folds[rng.permutation(mine)] = (start + np.arange(mine.size)) % k
        start += mine.size
    return folds


def cross_validate_classifier(
    model: Any, take: Take, y: Array, codes: Array, k: int, rng: np.random.Generator, weight: Array | None = None
) -> CrossValidatedModel:
    """P(class | row) (n, C) of every row by a clone of the model that was fitted without the row's fold.

    A class that a fit has not met has probability 0 there. Where a fit fails the rows are given to the model itself,
    and `failure` says why. Cost: k fits.
    """
    n, classes = len(codes), np.asarray(model.classes_)
    folds, proba = stratified_folds(codes, k, rng), np.zeros((n, len(classes)))
    places = {label: c for c, label in enumerate(classes.tolist())}
    try:
        for fold in range(k):
            fit, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            if not held.size:
                continue
            fitted = _fitted(clone(model), take(fit), y[fit], None if weight is None else weight[fit])
            found = np.asarray(to_numpy(fitted.predict_proba(take(held))), dtype=np.float64)
            columns = [places[label] for label in np.asarray(fitted.classes_).tolist()]
            proba[np.ix_(held, np.array(columns))] = found
    except Exception as error:  # a class of one row, say: what the model itself says is still worth seeing
        words = f"{type(error).__name__}: {error}"
        return CrossValidatedModel(classes, _proba(model, take(np.arange(n))), None, words)
    return CrossValidatedModel(classes, proba, folds)


def _fitted(estimator: Any, X: Any, y: Array, weight: Array | None) -> Any:
    taken = weight is not None and has_fit_parameter(estimator, "sample_weight")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is to be said of the fit was said of the fit to all rows
        return estimator.fit(X, y, **({"sample_weight": weight} if taken else {}))


def _proba(model: Any, X: Any) -> Array:
    return np.asarray(to_numpy(model.predict_proba(X)), dtype=np.float64)


def log_loss(proba: Array, codes: Array, weight: Array | None = None) -> float:
    """Mean of −ln P(true class), probabilities below 1e−12 taken as that.

    >>> round(log_loss(np.array([[0.5, 0.5], [0.9, 0.1]]), np.array([0, 0])), 4)
    0.3993
    """
    p = np.clip(proba[np.arange(len(codes)), codes], 1e-12, 1.0)
    return float(np.average(-np.log(p), weights=weight))


# ---- columns ------------------------------------------------------------------------------------------------


def separation(X: Array, codes: Array) -> Array:
    """η² (d,) of each column: the share of its variance that lies between classes; NaN where it is all text or gaps.

    >>> separation(np.array([[0.0, 1.0], [0.0, 2.0], [4.0, 1.0], [4.0, 2.0]]), np.array([0, 0, 1, 1]))
    array([1., 0.])
    """
    found = np.full(X.shape[1], np.nan)
    for j, column in enumerate(X.T):
        seen = np.isfinite(column) & (codes >= 0)
        if seen.any():
            x, c = column[seen] - column[seen].mean(), codes[seen]
            count = np.bincount(c)
            between = float(np.sum(np.bincount(c, x)[count > 0] ** 2 / count[count > 0]))
            whole = float(x @ x)
            found[j] = between / whole if whole > 0.0 else 0.0
    return found


@dataclass(frozen=True, eq=False)
class ColumnLogOdds:
    """What columns add to the log-odds of the likeliest class against the next.

    Attributes:
        names: (d,). of, against: (n,) the two classes of each row. values: (n, d). prior: (n,), or None where it is
            part of the others. what: what the values are, in words.
    """

    names: tuple[str, ...]
    of: Array
    against: Array
    values: Array
    prior: Array | None
    what: str

    @property
    def mean(self) -> Array:
        """(d,) mean |contribution| over the rows; what is infinite counts as 700, the log of a very large number."""
        return np.asarray(np.abs(np.clip(self.values, -700.0, 700.0)).mean(axis=0))


def column_log_odds(model: Any, X: Any, rows: Array, names: tuple[str, ...]) -> ColumnLogOdds | None:
    """By the model's own `explain`, or by leaving columns out where it can do without them; None if neither works.

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
    """By how much the log-odds of each row (n, d) change when a column is left out of it (marginalised).

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

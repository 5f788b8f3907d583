"""Covariances of classes by an estimator of the user's choice, such as those of `sklearn.covariance`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.bayes.class_moments import ClassMoments
from eigenlens.data.coerce import require_finite
from eigenlens.data.rows import dense_rows
from eigenlens.data.source import Source
from eigenlens.errors import DataError, OptionError
from eigenlens.stats.moments import Moments

NAME = "covariance_estimator"


def check_covariance_estimator(estimator: Any, shrinkage: Any, weighted: bool) -> None:
    """Raise unless an estimator has `fit`, is the only regularisation, and takes weights where there are some."""
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        what = "must be an estimator with fit and covariance_, such as sklearn.covariance.OAS()"
        raise OptionError(what, argument=NAME, value=estimator)
    if shrinkage is not None:
        raise OptionError("estimates the covariances itself", argument=NAME, fix="leave out shrinkage, or this")
    if weighted and not has_fit_parameter(estimator, "sample_weight"):
        what = f"is {type(estimator).__name__}, whose fit takes no sample_weight"
        raise OptionError(what, argument=NAME, fix="leave out the weights, or use shrinkage")


def estimate_class_moments(source: Source, codes: Array, n_classes: int, estimator: Any) -> ClassMoments:
    """Return the moments of classes with the covariances that clones of the estimator find, one per class.

    Rows are kept in memory. The scatter of a class of weight n is n times its covariance, so that the covariance of
    all classes is Σ n_c S_c / n, as scikit-learn pools them.
    """
    X, weight = dense_rows(source, np.random.default_rng(0), limit=np.iinfo(np.int64).max)
    require_finite(source, X.sum(axis=0))
    w = np.ones(len(X)) if weight is None else weight
    return ClassMoments(tuple(_estimate(X, w, weight is not None, codes == c, estimator) for c in range(n_classes)))


def _estimate(X: Array, w: Array, weighted: bool, members: Array, estimator: Any) -> Moments | None:
    mine = members & (w > 0.0)
    if not mine.any():
        return None
    rows, n = X[mine], float(w[mine].sum())
    options = {"sample_weight": w[mine]} if weighted else {}
    own = clone(estimator, safe=False)
    own.fit(rows, **options)
    C = checks.numbers("covariance_estimator", getattr(own, "covariance_", np.nan))
    if C.shape != 2 * rows.shape[1:] or not np.all(np.isfinite(C)):
        what = f"{type(estimator).__name__} has no finite covariance_ {2 * rows.shape[1:]} after fit"
        raise DataError(what, within="covariance_estimator", fix="give one of sklearn.covariance, or None")
    mean = np.average(rows, axis=0, weights=w[mine])
    return Moments(n, mean, n * 0.5 * (C + C.T), len(rows))

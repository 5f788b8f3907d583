"""Warnings of the fit of a classifier, from what the model keeps: columns and classes that do not vary."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.class_variances import VARIANCE_FLOOR
from eigenlens.bayes.discriminant.model import FisherRule
from eigenlens.bayes.discriminant.options import warn_about_linear
from eigenlens.bayes.naive.options import check_naive_options, warn_naive_fit
from eigenlens.densities.mixture import Mixture
from eigenlens.errors import DataWarning, join_limited, recorded_warnings
from eigenlens.resources import interruptible_call

MAX_COLUMNS = 500
"""The largest number of columns for which the covariance of each class is looked at."""


def classifier_remarks(model: Any) -> list[Warning]:
    """Return what the fit of a naive Bayes classifier or of a discriminant warned of."""
    if hasattr(model, "_statistics") and hasattr(model, "_plan"):
        options = check_naive_options(model, model._plan.fields)
        return recorded_warnings(warn_naive_fit, model._statistics, model._plan, options, model.classes_)
    found = getattr(model, "model_", None)
    if isinstance(found, FisherRule):
        return recorded_warnings(warn_about_linear, found, model)
    if not isinstance(found, Mixture) or not hasattr(model, "covariances_") or model.n_features_in_ > MAX_COLUMNS:
        return []
    singular = singular_classes(np.asarray(model.covariances_), found.covariance().diagonal())
    if not singular.size:
        return []
    names = join_limited([repr(model.classes_.tolist()[c]) for c in singular])
    what = f"the covariance of {singular.size} of {len(model.classes_)} classes is singular, and clamped ({names})"
    return [DataWarning(what, fix="give {shrinkage}, or use LinearDiscriminant", settings={"shrinkage": "ledoit-wolf"})]


def singular_classes(covariances: Array, total: Array) -> Array:
    """Return which of the covariances (C, d, d) are at the floor in some direction, in units of the variances (d,).

    >>> singular_classes(np.stack([np.eye(2), np.diag([1.0, 1e-8])]), np.ones(2))
    array([1])
    """
    scale = np.sqrt(np.where(total > 0.0, total, 1.0))
    smallest = interruptible_call(np.linalg.eigvalsh, covariances / scale / scale[:, None])[:, 0]
    return np.flatnonzero(smallest < 2.0 * VARIANCE_FLOOR)

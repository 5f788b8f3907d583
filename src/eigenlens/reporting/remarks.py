"""Remarks on a fit that deserve a second look, derived from the model and its rows: no model keeps its warnings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.catalogue import entry_of, import_part
from eigenlens.errors import ConvergenceWarning, list_columns
from eigenlens.pca.tables import image_side
from eigenlens.reporting.rows import ShownRows
from eigenlens.stats.unequal_units import WEIGH_ALIKE, UnequalUnits, unequal_units, unit_warning

FIT_REMARKS = {
    "ProbabilisticPCA": "eigenlens.latent.tables.latent_remarks",
    "FactorAnalysis": "eigenlens.latent.tables.latent_remarks",
    "GenotypePCA": "eigenlens.genotypes.options.genotype_remarks",
    "GaussianMixture": "eigenlens.mixture.tables.mixture_remarks",
    "MixtureModel": "eigenlens.bayes.latent_classes.tables.latent_class_remarks",
    "NaiveBayes": "eigenlens.bayes.fit_remarks.classifier_remarks",
    "LinearDiscriminant": "eigenlens.bayes.fit_remarks.classifier_remarks",
    "QuadraticDiscriminant": "eigenlens.bayes.fit_remarks.classifier_remarks",
}
"""Functions that give the warnings of a fit again, by the class of the model: dotted paths, imported on first use."""

MISSING_METHODS = {
    "PCA": "the components are those of maximum likelihood given the observed ones",
    "ProbabilisticPCA": "the fit maximises the likelihood of the observed ones",
    "FactorAnalysis": "the fit maximises the likelihood of the observed ones",
    "GaussianMixture": "the fit maximises the likelihood of the observed ones",
    "MixtureModel": "the fit maximises the likelihood of the observed ones",
    "NaiveBayes": "a missing value is left out of its row's product",
    "LinearDiscriminant": "moments and probabilities are those given the observed ones",
    "QuadraticDiscriminant": "moments and probabilities are those given the observed ones",
}
"""What a model does with missing values, by its class."""


def fit_remarks(model: Any) -> list[Warning]:
    """Return what the fit of a model warned of, where that can be derived: no convergence, degenerate parameters."""
    path = FIT_REMARKS.get(type(model).__name__)
    if path is not None:
        found: list[Warning] = import_part(path)(model)
        return found
    outcome: Any = getattr(model, "solver_", None)
    if getattr(outcome, "converged", True):
        return []
    return [ConvergenceWarning(f"solver {outcome.solver!r} stopped before its tolerance, and its result is not exact")]


def data_remarks(model: Any, rows: ShownRows, known: Sequence[str] = ()) -> list[str]:
    """Return what is notable about the rows for this model: missing values, constant columns, unequal scales.

    known: warnings that the page has already.
    """
    numbers = np.array([j for j in range(len(rows.names)) if j not in rows.texts], dtype=np.intp)
    X = rows.X[:, numbers]
    return [*_missing(model, rows), *_constant(model, rows, numbers, X), *_scale(model, rows, known)]


def _missing(model: Any, rows: ShownRows) -> list[str]:
    missing = np.isnan(rows.X)
    for j, values in rows.texts.items():
        missing[:, j] = [value is None or value != value for value in values.tolist()]
    count = int(missing.sum())
    if not count:
        return []
    columns = np.flatnonzero(missing.any(axis=0))
    of = " of the rows shown" if rows.sampled else ""
    where = f"in {columns.size} of {len(rows.names)} columns ({list_columns(columns, rows.labels)})"
    how = MISSING_METHODS.get(type(model).__name__)
    many = f"1 value{of} is" if count == 1 else f"{count:,} values{of} are"
    return [f"{many} missing ({count / missing.size:.2%}), {where}{f': {how}' if how else ''}."]


def _constant(model: Any, rows: ShownRows, numbers: Array, X: Array) -> list[str]:
    """Return a sentence on constant columns, for models whose own warnings do not name them."""
    if type(model).__name__ in FIT_REMARKS or len(X) < 2 or image_side(rows.X):
        return []  # images have corners where nothing is drawn
    with np.errstate(all="ignore"):
        constant = numbers[np.fmax.reduce(X, axis=0) == np.fmin.reduce(X, axis=0)]
    if not constant.size:
        return []
    verb = "column is" if constant.size == 1 else "columns are"
    return [f"{constant.size} {verb} constant in these rows ({list_columns(constant, rows.labels)})."]


def _scale(model: Any, rows: ShownRows, known: Sequence[str]) -> list[str]:
    """Return a sentence on columns that have nearly all the variance, if units may be the reason."""
    found = dominant_columns(model, rows)
    if found is None or any(WEIGH_ALIKE in text for text in known):
        return []
    return [str(unit_warning(found, rows.labels))]


MAX_SQUARED = 1e100
"""Larger entries are divided by a common factor before they are squared."""


def dominant_columns(model: Any, rows: ShownRows) -> UnequalUnits | None:
    """Return the columns whose units decide the result of a fit to columns in their own units, or None."""
    entry = entry_of(model)
    if entry is None or not entry.by_units or model.standardize or rows.texts or len(rows.X) < 2:
        return None
    seen = np.maximum(1, np.count_nonzero(~np.isnan(rows.X), axis=0))
    X = rows.X / max(1.0, np.abs(np.nan_to_num(rows.X)).max() / MAX_SQUARED)  # squares are finite
    mean = np.nansum(X, axis=0) / seen
    return unequal_units(mean, np.nansum((X - mean) ** 2, axis=0) / seen, list(map(str, rows.labels)))

"""The columns that separate the classes of a fitted classifier, by rows that it draws: it keeps none of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array, to_numpy
from eigenlens.bayes.classifier.class_density import sample_density
from eigenlens.bayes.held_out import separation
from eigenlens.bayes.rule import sample_by_class

DRAWN_ROWS, MIN_DRAWN_ROWS, MAX_DRAWN_ENTRIES = 400, 100, 1_000_000
"""Rows that are drawn, enough to order columns and to find their ranges; fewer where there are many columns."""


def draw_class_rows(model: Any) -> tuple[Array, Array]:
    """Return rows (n, d) that a naive Bayes or Bayes classifier draws, text as codes, and their classes (n,).

    >>> from eigenlens import NaiveBayes
    >>> model = NaiveBayes().fit([[1.0, 1.0], [2.0, 3.0], [11.0, 1.0], [12.0, 3.0]], [0, 0, 1, 1])
    >>> rows, codes = draw_class_rows(model)
    >>> separating_columns(rows, codes)[0]
    0
    """
    rng, d = np.random.default_rng(0), model.n_features_in_
    n = int(np.clip(MAX_DRAWN_ENTRIES // d, MIN_DRAWN_ROWS, DRAWN_ROWS))
    prior = np.asarray(to_numpy(model.class_prior_), dtype=np.float64)
    codes = rng.choice(len(prior), size=n, p=prior / prior.sum())
    if hasattr(model, "model_"):
        return np.column_stack([_as_numbers(column) for column in model.model_.sample(codes, rng)]), codes
    densities = model.densities_
    return sample_by_class(codes, d, lambda c, m: sample_density(densities[c], m, rng)), codes


def separating_columns(rows: Array, codes: Array) -> list[int]:
    """Return the numbers of the columns of rows (n, d) of classes (n,), those that separate the classes best first."""
    apart = np.nan_to_num(separation(rows, codes), nan=-1.0, posinf=1e300)
    return [int(j) for j in np.argsort(-apart, kind="stable")]


def _as_numbers(column: Any) -> Array:
    """Return a column (n,) as numbers, its categories as their codes."""
    values = np.asarray(column)
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    return np.unique([str(value) for value in values.tolist()], return_inverse=True)[1].astype(np.float64)

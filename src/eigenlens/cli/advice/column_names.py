"""Columns that by their names are not measurements: weights of rows, scores of an earlier fit, and years."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from eigenlens.arrays import Array
from eigenlens.cli.advice.calendar_columns import calendar_warnings
from eigenlens.errors import DataWarning, join_limited

WEIGHT_NAME = re.compile(r"(?i)w|(.*[\W_]|p|f|a)?(weights?|weighting|wts?|wgts?)")
"""Names of weights of rows, some of which name masses too."""

SCORE_NAME = re.compile(r"(?i)(PC|Dim\.?|Comp\.?|Factor)[ _]?\d+")
"""Names of the scores that a fit writes beside the rows."""

MIN_MEAN, MAX_MEAN = 0.5, 2.0
"""Where the mean of weights of rows lies; that of masses hardly does."""


def misleading_names(X: Array, names: Sequence[str]) -> Iterator[DataWarning]:
    """Yield a warning of columns of X (n, d) that are called weights of rows, scores beside other columns, or years."""
    for name, values in zip(names, X.T, strict=True):
        if len(names) > 1 and WEIGHT_NAME.fullmatch(name) and are_weights(values):
            what = f"column {name!r} may hold weights of rows (positive, mean {values.mean():.3g}) and is fitted"
            yield DataWarning(what, columns=[name], fix="if it does, give {weight}", settings={"weight": name})
    yield from _scores(names)
    yield from calendar_warnings(X, names)


def are_weights(values: Array) -> bool:
    """Return whether numbers (n,) are positive fractions that are near 1 on average.

    >>> are_weights(np.array([0.6, 1.7, 0.9])), are_weights(np.array([61.5, 70.2, 58.0]))
    (True, False)
    """
    if not np.isfinite(values).all() or values.min() <= 0.0 or np.all(values == np.floor(values)):
        return False
    return bool(MIN_MEAN <= values.mean() <= MAX_MEAN)


def _scores(names: Sequence[str]) -> Iterator[DataWarning]:
    found = [name for name in names if SCORE_NAME.fullmatch(name)]
    if 0 < len(found) < len(names):
        several = len(found) > 1
        listed = f"column{'s' * several} {join_limited([repr(name) for name in found])}"
        what = f"{listed} {'are' if several else 'is'} called like scores of an earlier fit, which follow from the rest"
        it = "them" if several else "it"
        fix = f"show {it} beside the result with {{supplementary}}, or leave {it} out with {{drop}}"
        yield DataWarning(what, columns=found, fix=fix, settings={"supplementary": found, "drop": found})

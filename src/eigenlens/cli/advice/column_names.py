"""Columns that by their names are not measurements: weights of rows, earlier scores, places, years, classes."""

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

PLACE_NAMES = (
    (re.compile(r"(?i)(.*[\W_])?(lat|latitude|breite(ngrad)?|latitud)([\W_].*)?"), 90.0),
    (re.compile(r"(?i)(.*[\W_])?(lon|long|lng|longitude|länge(ngrad)?|longitud)([\W_].*)?"), 360.0),
)
"""Names of the coordinates of places, and the largest that each can be."""

MIN_BESIDE = 3
"""The fewest columns beside coordinates that are what was measured there; with fewer the places are the data."""

NO_NAME = re.compile(r"column_\d+")
MAX_CLASSES, MIN_ROWS = 10, 10

MIN_MEAN, MAX_MEAN = 0.5, 2.0
"""Where the mean of weights of rows lies; that of masses hardly does."""


def misleading_names(X: Array, names: Sequence[str]) -> Iterator[DataWarning]:
    """Yield a warning of columns of X (n, d) that are called weights of rows, scores, coordinates of places, or years.

    In a table without names, also of one at an end that may hold classes.
    """
    for name, values in zip(names, X.T, strict=True):
        if len(names) > 1 and WEIGHT_NAME.fullmatch(name) and are_weights(values):
            what = f"column {name!r} may hold weights of rows (positive, mean {values.mean():.3g}) and is fitted"
            yield DataWarning(what, columns=[name], fix="if it does, give {weight}", settings={"weight": name})
    yield from _scores(names)
    yield from _places(X, names)
    yield from _classes(X, names)
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
        yield _beside(what, found)


def _places(X: Array, names: Sequence[str]) -> Iterator[DataWarning]:
    """Yield a warning of a latitude and a longitude beside what was measured there."""
    found = [
        next((name for name, values in zip(names, X.T, strict=True) if _is_place(name, values, *place)), None)
        for place in PLACE_NAMES
    ]
    if None not in found and len(names) >= len(found) + MIN_BESIDE:
        listed = [str(name) for name in found]
        what = f"columns {join_limited([repr(name) for name in listed])} hold places, and are fitted like measurements"
        yield _beside(what, listed)


def _is_place(name: str, values: Array, called: re.Pattern[str], most: float) -> bool:
    return called.fullmatch(name) is not None and bool(np.nanmax(np.abs(values), initial=0.0) <= most)


def _classes(X: Array, names: Sequence[str]) -> Iterator[DataWarning]:
    """Yield a warning of a few whole numbers in the last or the first column, where no column has a name."""
    if len(names) < 3 or len(X) < MIN_ROWS or not all(map(NO_NAME.fullmatch, names)):
        return
    few = [j for j, values in enumerate(X.T) if _are_few_integers(values)]
    if few in ([0], [len(names) - 1]):
        name, count = names[few[0]], np.unique(X[:, few[0]]).size
        what = f"column {name!r} holds {count} different whole numbers beside measurements, and is fitted like these"
        yield DataWarning(what, columns=[name], fix="if they are classes, give {label}", settings={"label": [name]})


def _are_few_integers(values: Array) -> bool:
    """Return whether values (n,) are a few whole numbers from 0 or 1 on, or -1 and 1."""
    if not np.isin(values[:MIN_ROWS], np.arange(-1.0, MAX_CLASSES + 1.0)).all():
        return False
    seen = np.unique(values)
    whole = np.isfinite(seen).all() and np.all(seen == np.floor(seen))
    return bool(whole and 1 < seen.size <= MAX_CLASSES and seen[0] in (-1.0, 0.0, 1.0) and seen[-1] <= MAX_CLASSES)


def _beside(what: str, names: list[str]) -> DataWarning:
    """Return a warning of columns that may be shown beside the result, or left out."""
    it = "them" if len(names) > 1 else "it"
    fix = f"show {it} beside the result with {{supplementary}}, or leave {it} out with {{drop}}"
    return DataWarning(what, columns=names, fix=fix, settings={"supplementary": names, "drop": names})

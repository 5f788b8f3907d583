"""What is said about a fit of naive Bayes that deserves a second look, or cannot be."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import DataError, DataWarning, OptionError
from eigenlens.fitting.naive import NaiveStatistics
from eigenlens.fitting.naive_factors import Plan
from eigenlens.fitting.naive_gaussian import ClassMoments, GaussianFactor
from eigenlens.fitting.naive_levels import LevelFactor
from eigenlens.fitting.naive_options import NaiveOptions
from eigenlens.models.naive import NaiveModel
from eigenlens.models.naive_binary import BinaryColumns
from eigenlens.models.naive_levels import LevelColumns
from eigenlens.stats.levels import listed

__all__ = ["refuse_fractions", "refuse_levels", "warn_about_constants", "warn_about_names"]

MANY = 20
"""Levels of a column of text below which nothing is said about them."""


def warn_about_names(statistics: NaiveStatistics, plan: Plan) -> None:
    """Say which columns of text are more like the names of rows: few rows share a level, so new ones will not."""
    for (factor, columns), part in zip(plan.groups, statistics.parts, strict=True):
        if not isinstance(factor, LevelFactor):
            continue
        for j, levels, counts in zip(columns, part.levels, part.counts, strict=True):
            if plan.choices[j].reason == "text" and len(levels) > max(MANY, counts.sum() / 2.0):
                warnings.warn(
                    f"column {plan.fields[j].name!r} has {len(levels)} levels in {counts.sum():g} rows, like names of "
                    "rows, which say nothing about others: leave it out (of a scan by id= or drop=).",
                    DataWarning,
                    stacklevel=3,
                )


def refuse_levels(model: NaiveModel, options: NaiveOptions) -> None:
    """Raise where smoothing is given for a level that its column does not have."""
    given = options.smoothing if isinstance(options.smoothing, Mapping) else {}
    known = dict(pair for group in model.groups for pair in _levels_in(group.conditional))
    for name, asked in given.items():
        levels = known.get(name, ())
        odd = [level for level in asked if level not in levels] if isinstance(asked, Mapping) else []
        if odd:
            said = f"its levels are {listed(levels)}" if levels else "its family has none: give a number"
            raise OptionError(
                f"smoothing[{name!r}] names the level {odd[0]!r}, which the column does not have; {said}."
            )


def _levels_in(part: Any) -> Iterable[tuple[Any, tuple[Any, ...]]]:
    """The columns of a group that has levels, by name, and their levels."""
    if isinstance(part, LevelColumns):
        return zip(part.names, part.levels, strict=True)
    return [(name, (0, 1)) for name in part.names] if isinstance(part, BinaryColumns) else []


def refuse_fractions(more: NaiveStatistics, plan: Plan) -> None:
    """Raise where rows of a later call have fractions in a column that was taken for levels by its first rows."""
    for (factor, columns), part in zip(plan.groups, more.parts, strict=True):
        if not isinstance(factor, LevelFactor):
            continue
        for j, levels in zip(columns, part.levels, strict=True):
            odd = [level for level in levels if isinstance(level, float) and not level.is_integer()]
            if odd and plan.fields[j].kind != "text" and plan.choices[j].reason != "as given":
                raise DataError(
                    f"column {plan.fields[j].name!r} was taken for levels in the first call of partial_fit "
                    f"({plan.choices[j].reason}), and holds {odd[0]!r} now; name its family from the first call on: "
                    f"features={{{plan.fields[j].name!r}: 'gaussian'}}."
                )


def warn_about_constants(statistics: NaiveStatistics, plan: Plan, options: NaiveOptions, classes: Array) -> None:
    """Say which Gaussian columns are constant within a class, so that the floor is their variance; 0 is an error."""
    for (factor, columns), part in zip(plan.groups, statistics.parts, strict=True):
        if not isinstance(factor, GaussianFactor) or factor.shared:
            continue
        held = _held(part, options)
        if held.any():
            c, j = (int(place[0]) for place in np.nonzero(held))
            name, label = repr(plan.fields[columns[j]].name), repr(classes[c].item())
            if options.floor == 0.0 and not np.all(options.added_to(plan.fields_in(columns))[held.any(axis=0)]):
                raise DataError(
                    f"column {name} is constant in class {label}, and floor=0 leaves it without a variance; give floor "
                    "above 0 (1e-9), added_variance, or 'shared-gaussian'."
                )
            warnings.warn(
                f"column {name} is constant in class {label} ({part.weight[c, j]:g} rows; {int(held.sum())} such cases "
                f"in all): its variance there is held at floor={options.floor:g} of the column's. 'shared-gaussian' or "
                "a larger floor is safer.",
                DataWarning,
                stacklevel=3,
            )


def _held(part: ClassMoments, options: NaiveOptions) -> Array:
    """Where (C, g) the floor is above the variance of a class."""
    with np.errstate(invalid="ignore"):  # what is not finite is refused by the estimate
        total = part.pooled()[2]
    return np.asarray((part.weight > 0.0) & (part.square <= options.floor * total * part.weight) & (total > 0.0))

"""The options of `NaiveBayes`, each checked into the frozen `NaiveOptions`, and the warnings of a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.bayes.naive.families.base import UNKNOWN_RULES, NaiveOptions
from eigenlens.bayes.naive.families.kde import CLASS_BANDWIDTHS
from eigenlens.bayes.naive.fit import NaiveStatistics
from eigenlens.bayes.naive.model import NaiveModel
from eigenlens.bayes.naive.plan import Plan
from eigenlens.data.categories import format_categories
from eigenlens.data.column_kinds import Field
from eigenlens.errors import OptionError, warn_user
from eigenlens.kde.bandwidth import BANDWIDTH_RULE_ALIASES
from eigenlens.kde.options import check_smoothing_kernel

MAX_ADDED = 1e150
"""The largest count, or variance, that is added to those of the rows: sums and products of larger ones overflow."""


def check_naive_options(estimator: Any, fields: Sequence[Field]) -> NaiveOptions:
    """Return the options of an estimator for a table of these columns, each checked."""
    bandwidth = estimator.bandwidth
    if isinstance(bandwidth, str) or callable(bandwidth):
        bandwidth = checks.choice("bandwidth", bandwidth, CLASS_BANDWIDTHS, BANDWIDTH_RULE_ALIASES, "x, weight")
    else:
        bandwidth = checks.real("bandwidth", bandwidth, 0.0)
    return NaiveOptions(
        smoothing=_check_by_column("smoothing", estimator.smoothing, fields, categories=True),
        unknown=checks.name("unknown", estimator.unknown, UNKNOWN_RULES),
        floor=checks.not_negative("floor", estimator.floor, MAX_ADDED),
        added_variance=_check_by_column("added_variance", estimator.added_variance, fields),
        bandwidth=bandwidth,
        kernel=check_smoothing_kernel(estimator.kernel),
        max_components=checks.integer("max_components", estimator.max_components, 1, checks.MAX_STARTS),
    )


def _check_by_column(argument: str, value: Any, fields: Sequence[Field], categories: bool = False) -> Any:
    """Return a number, or numbers by the names of columns, which may be given by number too, or one for each."""
    if checks.is_list(value):
        value = dict(enumerate(_check_length(argument, value, len(fields))))
    if not isinstance(value, Mapping):
        return checks.not_negative(argument, value, MAX_ADDED)
    checked = {
        column: {key: checks.not_negative(f"{argument}[{column!r}][{key!r}]", n, MAX_ADDED) for key, n in given.items()}
        if categories and isinstance(given, Mapping)
        else checks.not_negative(f"{argument}[{column!r}]", given, MAX_ADDED)
        for column, given in value.items()
    }
    names = [field.name for field in fields]
    found = checks.column_numbers(argument, list(checked), len(names), names, low=0)
    return {names[j]: given for j, given in zip(found, checked.values(), strict=True)}


def _check_length(argument: str, value: Any, d: int) -> list[Any]:
    given = checks.listed(argument, value)
    if len(given) != d:
        raise OptionError(f"has {len(given)} entries for {d} columns", argument=argument, fix="give one per column")
    return given


def check_smoothed_categories(model: NaiveModel, plan: Plan, options: NaiveOptions) -> None:
    """Raise where smoothing is given for a category that its column does not have."""
    given = options.smoothing if isinstance(options.smoothing, Mapping) else {}
    known = {
        plan.fields[column].name: conditional.categories_of(place)
        for columns, conditional in model.groups
        for place, column in enumerate(columns)
    }
    for name, asked in given.items():
        unknown = [category for category in asked if category not in known[name]] if isinstance(asked, Mapping) else []
        if unknown:
            listed = format_categories(known[name])
            what = f"names the category {unknown[0]!r}, which the column does not have"
            fix = f"its categories are {listed}" if known[name] else "its family has none: give a number"
            raise OptionError(what, argument=f"smoothing[{name!r}]", fix=fix)


def check_partial_fit(more: NaiveStatistics, plan: Plan) -> None:
    """Raise where rows of a later `partial_fit` contradict the families that were chosen by the first ones."""
    for (factor, columns), part in zip(plan.groups, more.parts, strict=True):
        factor.check_more(part, plan.fields_in(columns), plan.reasons_in(columns))


def warn_naive_fit(statistics: NaiveStatistics, plan: Plan, options: NaiveOptions, classes: Array) -> None:
    """Warn of columns whose fit deserves a second look: constant in a class, or the names of rows."""
    for (factor, columns), part in zip(plan.groups, statistics.parts, strict=True):
        fields, reasons = plan.fields_in(columns), plan.reasons_in(columns)
        for message in factor.fit_warnings(part, fields, reasons, options, classes):
            warn_user(message)

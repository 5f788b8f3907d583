"""Store naive Bayes in a file, as statistics and options, from which the model follows; export it to scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.naive.families import FACTORS
from eigenlens.bayes.naive.families.base import Factor, LinearRule, NaiveOptions
from eigenlens.bayes.naive.families.categorical import CategoricalFactor
from eigenlens.bayes.naive.families.density_estimator import EstimatorFactor
from eigenlens.bayes.naive.feature_table import FRAMES
from eigenlens.bayes.naive.fit import NaiveStatistics
from eigenlens.bayes.naive.model import Group, NaiveModel
from eigenlens.bayes.naive.options import check_naive_options
from eigenlens.bayes.naive.plan import FamilyChoice, Plan, check_families
from eigenlens.bayes.rule import check_prior
from eigenlens.bayes.storage import unpack_labels
from eigenlens.catalogue import estimator_class
from eigenlens.data.category_storage import pack_categories, unpack_categories
from eigenlens.data.column_kinds import ColumnKind, Field
from eigenlens.errors import ModelFileError, OptionError
from eigenlens.estimator.base import ModelEstimator
from eigenlens.estimator.storage import storable_parameters
from eigenlens.laws import Laws, check_laws, require
from eigenlens.layout import arrays_under, entry, part_of_file

STORED_FACTORS = FACTORS | {"two levels": CategoricalFactor(two=True)}
"""Families by the name that a file has for them."""

ESTIMATOR = "estimator"
"""The name of all density estimators, which the choice of the column holds."""


def pack_fit(estimator: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the plan of the columns, the statistics from which the model follows, and the classes."""
    plan: Plan = estimator._plan
    arrays, groups = pack_groups(plan, estimator._statistics, estimator.model_)
    header = {
        "parameters": {name: pack_parameter(value, name) for name, value in storable_parameters(estimator).items()},
        "classes": pack_categories(estimator.classes_.tolist(), "y"),
        "class_dtype": estimator.classes_.dtype.str,
        **pack_plan(plan),
        "groups": groups,
        "frame": estimator._frame,
    }
    return arrays, header


def pack_plan(plan: Plan) -> dict[str, Any]:
    """Return the columns and their families for a header."""
    return {
        "fields": [
            [*pack_categories([f.name], f.name), f.kind, f.categories and pack_categories(f.categories, f.name)]
            for f in plan.fields
        ],
        "choices": [[pack_parameter(choice.family, "features"), choice.reason] for choice in plan.choices],
    }


def pack_groups(plan: Plan, statistics: NaiveStatistics, model: NaiveModel) -> tuple[dict[str, Array], list[Any]]:
    """Return the arrays of all groups by name, and the entry of each in the header."""
    arrays: dict[str, Array] = {"weight": statistics.weight, "prior": model.prior}
    groups = []
    for g, ((factor, columns), part) in enumerate(zip(plan.groups, statistics.parts, strict=True)):
        packed, entry = factor.pack(part, model.groups[g].conditional)
        arrays |= {f"group{g}.{name}": array for name, array in packed.items()}
        groups.append({"family": _stored_name(factor), "columns": list(columns), "said": entry})
    return arrays, groups


def _stored_name(factor: Factor) -> str:
    """Return the name that a file has for a family."""
    if isinstance(factor, EstimatorFactor):
        return ESTIMATOR
    return next(name for name, known in STORED_FACTORS.items() if known == factor and type(known) is type(factor))


def pack_parameter(value: Any, name: str) -> Any:
    """Return a parameter for the header: a mapping as pairs, since its keys need not be text, and arrays as lists."""
    if isinstance(value, Mapping):
        return {
            "$pairs": [[*pack_categories([key], name), pack_parameter(inner, name)] for key, inner in value.items()]
        }
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if value is None or isinstance(value, str | int | float | bool | list | tuple):
        return value
    if isinstance(value, ModelEstimator):
        return {"$estimator": [type(value).__name__, storable_parameters(value)]}
    raise OptionError(f"holds {value!r}, which cannot be saved", argument=name, fix="use names and numbers")


def unpack_parameter(value: Any) -> Any:
    """Return the parameter of `pack_parameter`."""
    if not isinstance(value, dict):
        return value
    if "$estimator" in value:
        kind, parameters = value["$estimator"]
        return estimator_class(kind)(**parameters)
    return {unpack_categories([key])[0]: unpack_parameter(inner) for key, inner in value["$pairs"]}


def restore_fit(estimator: Any, arrays: dict[str, Array], header: dict[str, Any]) -> None:
    """Give a classifier the fit of `pack_fit`, and its parameters."""
    plan = unpack_plan(header)
    estimator.set_params(**{name: unpack_parameter(value) for name, value in header["parameters"].items()})
    options = check_naive_options(estimator, plan.fields)
    estimator._statistics, estimator._model = unpack_groups(plan, arrays, header["groups"], options)
    estimator._plan, estimator._frame = plan, unpack_frame(header)
    estimator.n_features_in_ = len(plan.fields)
    estimator.classes_ = unpack_labels(header, len(estimator._model.prior))
    check_prior(estimator.prior, estimator.classes_, estimator._statistics.weight)
    check_families(estimator.features, plan.fields)


def unpack_frame(header: dict[str, Any]) -> str | None:
    """Return the library of the frame that was fitted; None for arrays."""
    found: str | None = entry(header, "frame", "str | None")
    if found not in (None, *FRAMES):
        raise ModelFileError(f"'frame' is {found!r}, not one of {', '.join(FRAMES)}")
    return found


def unpack_plan(header: dict[str, Any]) -> Plan:
    """Return the plan of `pack_plan` and the groups of `pack_groups`."""
    fields = tuple(_unpack_field(stored) for stored in entry(header, "fields", "list"))
    _check_names([field.name for field in fields])
    stored_choices, groups = entry(header, "choices", "list"), entry(header, "groups", "list")
    if len(stored_choices) != len(fields):
        raise ModelFileError(f"'choices' has {len(stored_choices)} families for {len(fields)} columns")
    choices = tuple(
        FamilyChoice(field.name, unpack_parameter(family), str(reason))
        for field, stored in zip(fields, stored_choices, strict=True)
        for family, reason in [_entries_of("choices", stored, 2)]
    )
    columns = [j for group in groups for j in entry(group, "columns", "list")]
    if sorted(map(repr, columns)) != sorted(map(repr, range(len(fields)))):
        raise ModelFileError(f"the columns of 'groups' must be those from 0 to {len(fields) - 1}, each once")
    return Plan(fields, choices, tuple((_stored_factor(g, fields, choices), tuple(g["columns"])) for g in groups))


def _unpack_field(stored: Any) -> Field:
    name, kind, categories = _entries_of("fields", stored, 3)
    if kind not in list(ColumnKind):
        raise ModelFileError(f"'fields' has a column of the kind {kind!r}, not one of {', '.join(ColumnKind)}")
    return Field(unpack_categories([name])[0], kind, None if categories is None else unpack_categories(categories))


def _entries_of(name: str, stored: Any, count: int) -> list[Any]:
    """Return what a list of the header has for one column: `count` entries."""
    if not isinstance(stored, list) or len(stored) != count:
        raise ModelFileError(f"{name!r} must have a list of {count} entries for each column")
    return stored


def _check_names(names: list[Any]) -> None:
    """Raise unless columns have different names, none of them a number that is not finite."""
    if any(isinstance(name, float) and not np.isfinite(name) for name in names):
        raise ModelFileError("'fields' has a column whose name is not finite")
    if len(set(names)) < len(names):
        raise ModelFileError("'fields' has two columns of the same name")


def _stored_factor(group: dict[str, Any], fields: tuple[Field, ...], choices: tuple[FamilyChoice, ...]) -> Factor:
    """Return the family of a group, which must be the one that was chosen for each of its columns."""
    name, families = entry(group, "family", "str"), [choices[j].family for j in group["columns"]]
    if name == ESTIMATOR and len(families) == 1 and isinstance(families[0], ModelEstimator):
        return EstimatorFactor(families[0])
    factor = STORED_FACTORS.get(name)
    for j, family in zip(group["columns"], families, strict=True):
        chosen = FACTORS.get(family) if isinstance(family, str) else None
        if factor is None or chosen is None or factor not in (chosen, chosen.for_text()):
            raise ModelFileError(f"'groups' has the family {name!r} for column {fields[j].name!r}, of {family!r}")
    assert factor is not None
    return factor


STATISTICS_LAWS: Laws = {"prior": "(C) not negative, sum 1", "weight": "(C) not negative"}


def unpack_groups(
    plan: Plan, arrays: dict[str, Array], entries: list[Any], options: NaiveOptions
) -> tuple[NaiveStatistics, NaiveModel]:
    """Return the statistics and the model that `pack_groups` stored."""
    require(arrays, *STATISTICS_LAWS)
    C = check_laws(STATISTICS_LAWS, arrays)["C"]
    parts, groups = [], []
    for g, (factor, columns) in enumerate(plan.groups):
        with part_of_file(f"group{g}"):
            own = arrays_under(f"group{g}", arrays)
            require(entries[g], "said")
            part, conditional = factor.unpack(own, entries[g]["said"], plan.fields_in(columns), options, C)
        parts.append(part)
        groups.append(Group(np.array(columns), conditional))
    return NaiveStatistics(arrays["weight"], tuple(parts)), NaiveModel(arrays["prior"], tuple(groups))


def logistic(estimator: Any, rule: LinearRule) -> Any:
    """Return the LogisticRegression of a linear rule; for two classes, of the difference of their lines."""
    from sklearn.linear_model import LogisticRegression

    two = len(estimator.classes_) == 2
    found = LogisticRegression()
    found.classes_ = estimator.classes_
    found.coef_ = rule.coef[1:] - rule.coef[:1] if two else rule.coef.copy()
    found.intercept_ = rule.intercept[1:] - rule.intercept[:1] if two else rule.intercept.copy()
    found.n_features_in_ = estimator.n_features_in_
    found.n_iter_ = np.zeros(1, dtype=np.int32)
    if hasattr(estimator, "feature_names_in_"):
        found.feature_names_in_ = estimator.feature_names_in_
    return found

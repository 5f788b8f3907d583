"""The plan of a fit: which columns have which family, chosen by their values or given by the user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.bayes.naive.families import FACTORS
from eigenlens.bayes.naive.families.base import Factor
from eigenlens.bayes.naive.families.bernoulli import BernoulliFactor
from eigenlens.bayes.naive.families.custom import FamilyFactor
from eigenlens.bayes.naive.families.density_estimator import EstimatorFactor, is_density_estimator
from eigenlens.bayes.naive.families.multinomial import MultinomialFactor
from eigenlens.bayes.naive.inspect_columns import ColumnValues, inspect_columns
from eigenlens.data.coerce import fields_of
from eigenlens.data.column_kinds import Field
from eigenlens.data.source import Source
from eigenlens.densities.discrete import BernoulliFamily, CategoricalFamily
from eigenlens.densities.gaussian import GaussianFamily
from eigenlens.densities.multinomial import MultinomialFamily
from eigenlens.densities.product import ProductFamily
from eigenlens.errors import OptionError, closest, suggest
from eigenlens.tables.text_table import align

NO_VALUES = "no observed entries"
"""Why a column in which every entry is missing has no categories."""

ZEROS_AND_ONES = "zeros and ones"
"""Why a column of numbers that are 0 and 1 is a Bernoulli one."""


class FamilyChoice(NamedTuple):
    """A column, its family, and the reason for it."""

    column: Any
    family: Any
    reason: str


class FeatureTable(tuple[FamilyChoice, ...]):
    """The family of each column: a tuple of `FamilyChoice(column, family, reason)` that prints as a table."""

    def __str__(self) -> str:
        rows = [(str(column), str(family), reason) for column, family, reason in self]
        return align(("column", "family", "reason"), rows, "<<<")


@dataclass(frozen=True, eq=False)
class Plan:
    """The columns of a table in groups of one family each.

    Attributes:
        fields: (d,) the columns. choices: (d,) their families and the reasons.
        groups: each a family and its columns, by number.
    """

    fields: tuple[Field, ...]
    choices: tuple[FamilyChoice, ...]
    groups: tuple[tuple[Factor, tuple[int, ...]], ...]

    def fields_in(self, columns: Sequence[int]) -> tuple[Field, ...]:
        """Return the fields of some columns."""
        return tuple(self.fields[j] for j in columns)

    def reasons_in(self, columns: Sequence[int]) -> tuple[str, ...]:
        """Return the reasons for the families of some columns."""
        return tuple(self.choices[j].reason for j in columns)


def choose_family(field: Field, values: ColumnValues, counts: bool | None = None) -> FamilyChoice:
    """Return the family of a column by its values, whatever the container and the type of its numbers.

    | column                                                             | family      |
    |--------------------------------------------------------------------|-------------|
    | text, categories, bytes                                            | categorical |
    | booleans; numbers that are 0 and 1, both occurring                 | bernoulli   |
    | whole numbers of 2 to 20 different values, at least 5 rows for     |             |
    | each on average (any number of rows for two values)                | categorical |
    | all of a sparse matrix that holds 0 and 1 alone                    | bernoulli   |
    | all of a sparse matrix of whole numbers from 0 on (`counts`)       | multinomial |
    | columns without an observed entry: any value may come later        | categorical |
    | any other numbers; constant columns                                | gaussian    |

    A row of weight w counts as w rows. `counts` is None for rows that are not sparse.

    >>> choose_family(Field("vote", "text"), ColumnValues())
    FamilyChoice(column='vote', family='categorical', reason='text')
    """
    if field.kind == "text":
        return FamilyChoice(field.name, "categorical", "text" if field.categories is None else "categories of its type")
    if field.kind == "boolean":
        return FamilyChoice(field.name, "bernoulli", "booleans")
    if field.kind == "empty" or values.values == frozenset():
        return FamilyChoice(field.name, "categorical", NO_VALUES)
    if values.are_binary:
        return FamilyChoice(field.name, "bernoulli", ZEROS_AND_ONES + " in a sparse matrix" * (counts is not None))
    if counts:
        return FamilyChoice(field.name, "multinomial", "counts in a sparse matrix")
    if values.are_categories and values.values is not None:
        return FamilyChoice(field.name, "categorical", f"whole numbers of {len(values.values)} values")
    return FamilyChoice(field.name, "gaussian", _number_reason(values))


def _number_reason(values: ColumnValues) -> str:
    if values.values is None:
        return "numbers"
    if len(values.values) == 1:
        return "constant column"
    return f"whole numbers of {len(values.values)} values in {values.rows:g} rows"


def make_plan(source: Source, features: Any, *, weight: Array | None = None, complete: bool = True) -> Plan:
    """Return the families of the columns of a source by `features`: "auto", a family for all, or families by column.

    Weights (n,) count the rows. With `complete` False more rows will come, among which a column of zeros and ones may
    have other values.
    """
    fields = fields_of(source)
    asked, blocks = check_families(features, fields)
    automatic = [j for j, family in enumerate(asked) if family == "auto"]
    found, counts = inspect_columns(source, automatic, weight)
    choices: list[FamilyChoice] = []
    for field, family, values in zip(fields, asked, found, strict=True):
        given = FamilyChoice(field.name, family, "as given")
        chosen = choose_family(field, values, counts) if family == "auto" else given
        choices.append(chosen if complete else _provisional(chosen))
    groups, sizes = dict[Any, tuple[Factor, list[int]]](), Counter(blocks)
    for j, choice in enumerate(choices):
        factor = _factor(choice.family, fields[j], joint=blocks[j] > 0 and sizes[blocks[j]] > 1)
        groups.setdefault(_group_key(factor, blocks[j], j), (factor, []))[1].append(j)
    return Plan(fields, tuple(choices), tuple((factor, tuple(columns)) for factor, columns in groups.values()))


def name_families(plan: Plan, source: Source, weight: Array | None = None) -> Plan:
    """Return the plan with families of the library that have no options as the families of their names.

    Without smoothing these have the same densities, and are many times faster. A Bernoulli column of other values than
    0 and 1 is a categorical one of two categories.
    """
    own = [(factor.family, j) for factor, columns in plan.groups if _is_single(factor) for j in columns]
    names = {j: name for family, j in own if (name := _name_of(family)) is not None}
    values, _ = inspect_columns(source, [j for j, name in names.items() if name == "bernoulli"], weight)
    groups = dict[Any, tuple[Factor, list[int]]]()
    for i, (factor, columns) in enumerate(plan.groups):
        for j in columns:
            known = _factor(names[j], plan.fields[j]) if j in names else factor
            if isinstance(known, BernoulliFactor) and j in names and plan.fields[j].kind != "boolean":
                known = known if values[j].are_binary else known.for_text()
            groups.setdefault(known if j in names else i, (known, []))[1].append(j)
    return replace(plan, groups=tuple((factor, tuple(columns)) for factor, columns in groups.values()))


def _is_single(factor: Factor) -> TypeGuard[FamilyFactor]:
    return isinstance(factor, FamilyFactor) and not factor.joint


def _name_of(family: Any) -> str | None:
    """Return the name of a family of the library that has no options, of a single column; None for any other."""
    match family:
        case GaussianFamily(sigma=None):
            return "gaussian"
        case BernoulliFamily(levels=None, smoothing=float() | int() as added) if added == 0:
            return "bernoulli"
        case CategoricalFamily(levels=None, smoothing=float() | int() as added, reserve=None) if added == 0:
            return "categorical"
    return None


def _group_key(factor: Factor, block: int, column: int) -> Any:
    """Return what the columns of one group have in common; a family of the user's own need not be hashable."""
    if isinstance(factor, FamilyFactor) and factor.joint:
        return block
    alone = isinstance(factor, FamilyFactor | EstimatorFactor)
    return ("column", column) if alone else (type(factor), factor, block)


def _provisional(choice: FamilyChoice) -> FamilyChoice:
    """Return the choice while more rows may come: zeros and ones are categories, to which others may be added."""
    families = {ZEROS_AND_ONES: "categorical", NO_VALUES: "gaussian"}
    return choice._replace(family=families.get(choice.reason, choice.family))


def _factor(family: Any, field: Field, *, joint: bool = False) -> Factor:
    """Return the factor of a family, by name or the user's own, for a column of text or numbers, or a joint block."""
    if isinstance(family, MultinomialFamily) and family.trials is None:
        given = family.smoothing
        return MultinomialFactor(tuple(given) if isinstance(given, Sequence | np.ndarray) else given)
    if not isinstance(family, str) and not is_density_estimator(family):
        return FamilyFactor(family, joint)
    known = FACTORS[family] if isinstance(family, str) else EstimatorFactor(family)
    factor = known.for_text() if field.kind == "text" else known
    if factor is None:
        what = f"gives column {field.name!r}, which holds text, the family {family!r}, which needs numbers"
        fix = "use 'categorical', or leave the column out"
        raise OptionError(what, argument="features", columns=[str(field.name)], fix=fix)
    return factor


def check_families(features: Any, fields: tuple[Field, ...]) -> tuple[list[Any], list[int]]:
    """Return the family asked for each column, and its block: columns named together are one block."""
    if not isinstance(features, Mapping):
        return _check_families(features, len(fields)), [int(isinstance(features, MultinomialFamily))] * len(fields)
    names = [field.name for field in fields]
    known, given = set(names), list[tuple[Any, Any, int]]()
    for block, (key, family) in enumerate(features.items(), 1):
        together = isinstance(key, tuple) and key not in known
        columns = key if together else (key,)
        block = block if together and not isinstance(family, ProductFamily) else 0
        given += [(c, part, block) for c, part in zip(columns, _check_families(family, len(columns)), strict=True)]
    found = checks.column_numbers("features", [column for column, _, _ in given], len(fields), names, low=0)
    asked: list[Any] = ["auto"] * len(fields)
    blocks = [0] * len(fields)
    for j, (_, family, block) in zip(found, given, strict=True):
        asked[j], blocks[j] = family, block
    return asked, blocks


def _check_families(family: Any, count: int) -> list[Any]:
    """Return the family of each of some columns: a product has one for each, and any other is that of all."""
    if not isinstance(family, ProductFamily):
        return [_check_family(family)] * count
    if len(family.families) != count:
        what = f"holds a product of {len(family.families)} families for {count} columns"
        raise OptionError(what, argument="features", fix="give one family per column")
    return list(map(_check_family, family.families))


def _check_family(family: Any) -> Any:
    """Return a family that is a name in `FACTORS`, "auto", a density estimator, or the user's own."""
    known = ["auto", *FACTORS]
    if isinstance(family, str) and family in known:
        return family
    if not isinstance(family, str) and hasattr(family, "summarise") and hasattr(family, "estimate"):
        if isinstance(family, type):
            what = f"holds the class {family.__name__}, not one of its families"
            raise OptionError(what, argument="features", fix=f"write {family.__name__}(), with its options")
        return family
    if is_density_estimator(family):
        return family
    fix = suggest(
        closest(family, known), known, "a density estimator, or a family of your own with summarise and estimate"
    )
    raise OptionError(f"holds {family!r}, which is not a family", argument="features", fix=fix)

"""Which columns of a table have which family: chosen by their kind, or as the user says."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.naive.families.categorical import CategoricalFactor
from eigenlens.bayes.naive.families.counts import BernoulliFactor, MultinomialFactor
from eigenlens.bayes.naive.families.custom import FamilyFactor
from eigenlens.bayes.naive.families.gaussian import GaussianFactor
from eigenlens.bayes.naive.families.kde import KdeFactor
from eigenlens.bayes.naive.families.mixture import MixtureFactor
from eigenlens.bayes.naive.inspect_columns import ColumnValues, inspect_columns
from eigenlens.bayes.naive.options import Factor
from eigenlens.data.coerce import fields_of
from eigenlens.data.column_kinds import Field
from eigenlens.data.source import Source
from eigenlens.errors import OptionError

__all__ = ["FACTORS", "FamilyChoice", "Plan", "choose_family", "column_position", "make_plan"]

FACTORS: dict[str, Factor] = {
    "gaussian": GaussianFactor(),
    "shared-gaussian": GaussianFactor(shared=True),
    "categorical": CategoricalFactor(),
    "bernoulli": BernoulliFactor(),
    "multinomial": MultinomialFactor(),
    "kde": KdeFactor(),
    "mixture": MixtureFactor(),
}
"""Families by name; a family of the user's own stands in for a name anywhere."""


NO_VALUES = "no entry is there"
"""Why a column without entries has no categories."""


class FamilyChoice(NamedTuple):
    """A column, the family that it has, and why."""

    column: Any
    family: Any
    reason: str


@dataclass(frozen=True, eq=False)
class Plan:
    """The columns of a table in groups of one family each.

    Attributes:
        fields: (d,) the columns. choices: (d,) their families and why.
        groups: each a family and its columns, by number.
    """

    fields: tuple[Field, ...]
    choices: tuple[FamilyChoice, ...]
    groups: tuple[tuple[Factor, tuple[int, ...]], ...]

    def fields_in(self, columns: Sequence[int]) -> tuple[Field, ...]:
        """The fields of some columns."""
        return tuple(self.fields[j] for j in columns)


def choose_family(field: Field, found: ColumnValues, counts: bool | None = None) -> FamilyChoice:
    """The family of a column by what it holds, whatever the container and the type of its numbers.

    | column                                                             | family      |
    |--------------------------------------------------------------------|-------------|
    | text, categories, bytes                                            | categorical |
    | booleans; numbers that are 0 and 1, both occurring                 | bernoulli   |
    | whole numbers of 2 to 20 different values, at least 5 rows for     |             |
    | each on average (any number of rows for two values)                | categorical |
    | all of a sparse matrix that holds 0 and 1 alone                    | bernoulli   |
    | all of a sparse matrix of whole numbers from 0 on (`counts`)       | multinomial |
    | columns without an entry, so that anything may come                | categorical |
    | any other numbers; columns of one value                            | gaussian    |

    A row of weight w is w rows, and one of weight 0 is none. `counts` is None for what is not sparse.

    >>> choose_family(Field("vote", "text"), ColumnValues())
    FamilyChoice(column='vote', family='categorical', reason='text')
    """
    if field.kind == "text":
        return FamilyChoice(field.name, "categorical", "text" if field.categories is None else "categories of its type")
    if field.kind == "boolean":
        return FamilyChoice(field.name, "bernoulli", "booleans")
    if field.kind == "empty" or found.values == frozenset():
        return FamilyChoice(field.name, "categorical", NO_VALUES)
    if found.binary:
        return FamilyChoice(field.name, "bernoulli", "zeros and ones" + " in a sparse matrix" * (counts is not None))
    if counts:
        return FamilyChoice(field.name, "multinomial", "counts in a sparse matrix")
    if found.categories and found.values is not None:
        return FamilyChoice(field.name, "categorical", f"whole numbers of {len(found.values)} values")
    return FamilyChoice(field.name, "gaussian", _number_reason(found))


def _number_reason(found: ColumnValues) -> str:
    if found.values is None:
        return "numbers"
    if len(found.values) == 1:
        return "one value, which says nothing"
    return f"whole numbers of {len(found.values)} values in {found.rows:g} rows"


# ---- what the user says ---------------------------------------------------------------------------------------


def make_plan(source: Source, features: Any, *, weight: Array | None = None, settled: bool = True) -> Plan:
    """The families of the columns of a source: `features` is "auto", a family for all columns, or families by column.

    Weights (n,) count the rows. Not `settled` where more rows will come: numbers that are 0 and 1 so far may be others
    then.
    """
    fields = fields_of(source)
    asked, blocks = _asked(features, fields)
    choices: list[FamilyChoice] = []
    automatic = [j for j, family in enumerate(asked) if family == "auto"]
    found, counts = inspect_columns(source, automatic, weight)
    for field, family, shown in zip(fields, asked, found, strict=True):
        chosen = (
            choose_family(field, shown, counts) if family == "auto" else FamilyChoice(field.name, family, "as given")
        )
        choices.append(chosen if settled else _unsettled(chosen))
    groups: dict[Any, tuple[Factor, list[int]]] = {}
    for j, choice in enumerate(choices):
        factor = _factor(choice.family, fields[j])
        key = (type(factor), factor, blocks[j]) if isinstance(choice.family, str) else j
        groups.setdefault(key, (factor, []))[1].append(j)
    return Plan(fields, tuple(choices), tuple((factor, tuple(columns)) for factor, columns in groups.values()))


def _unsettled(choice: FamilyChoice) -> FamilyChoice:
    """Return the choice while more rows may come: zeros and ones are categories, to which others may be added."""
    families = {"zeros and ones": "categorical", NO_VALUES: "gaussian"}
    return choice._replace(family=families.get(choice.reason, choice.family))


def _factor(family: Any, field: Field) -> Factor:
    if not isinstance(family, str):
        return FamilyFactor(family)
    if family == "bernoulli" and field.kind == "text":
        return CategoricalFactor(two=True)
    factor = FACTORS[family]
    if field.kind == "text" and not factor.takes_text:
        raise OptionError(
            f"features: column {field.name!r} holds text, and {family!r} needs numbers; use 'categorical', or leave "
            "the column out."
        )
    return factor


def _asked(features: Any, fields: tuple[Field, ...]) -> tuple[list[Any], list[int]]:
    """What is asked for each column, and which block it belongs to: columns named together are one."""
    if not isinstance(features, Mapping):
        return [_known_family(features)] * len(fields), [0] * len(fields)
    places = {field.name: j for j, field in enumerate(fields)}
    asked: list[Any] = ["auto"] * len(fields)
    blocks = [0] * len(fields)
    given: set[int] = set()
    for block, (key, family) in enumerate(features.items(), 1):
        together = isinstance(key, tuple) and key not in places
        for column in key if together else (key,):
            j = column_position(column, places, len(fields), "features")
            if j in given:
                raise OptionError(f"features names the column {fields[j].name!r} twice; give it one family.")
            given.add(j)
            asked[j], blocks[j] = _known_family(family), block if together else 0
    return asked, blocks


def column_position(column: Any, places: Mapping[Any, int], d: int, option: str) -> int:
    """The number of a column that an option names, by its name or its number."""
    if column in places:
        return places[column]
    if isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < d:
        return int(column)
    near = difflib.get_close_matches(str(column), list(map(str, places)), n=3) or list(places)[:5]
    raise OptionError(
        f"{option} names the column {column!r}, which X does not have; near it: {', '.join(map(repr, near))}."
    )


def _known_family(family: Any) -> Any:
    known = ["auto", *FACTORS]
    if isinstance(family, str) and family in known:
        return family
    if not isinstance(family, str) and hasattr(family, "summarise") and hasattr(family, "estimate"):
        return family
    near = difflib.get_close_matches(str(family), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise OptionError(
        f"features holds {family!r}, which is no family{hint} Known: {', '.join(map(repr, known))}, or a family of "
        "your own with summarise and estimate; by column as {column: family}."
    )

"""Which columns of a table have which family: chosen by their kind, or as the user says."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array, is_sparse
from eigenlens.compiled.naive import code_ranges
from eigenlens.data.mixed import Field, MixedRows, fields_of, numbers_of
from eigenlens.data.source import Source
from eigenlens.errors import OptionError
from eigenlens.fitting.naive_counts import BinaryFactor, CountFactor
from eigenlens.fitting.naive_family import FamilyFactor
from eigenlens.fitting.naive_gaussian import GaussianFactor
from eigenlens.fitting.naive_levels import LevelFactor
from eigenlens.fitting.naive_options import Factor
from eigenlens.fitting.naive_rows import KernelFactor, MixtureFactor

__all__ = ["FACTORS", "Choice", "Evidence", "Plan", "choose_family", "evidence_of", "plan_of"]

FACTORS: dict[str, Factor] = {
    "gaussian": GaussianFactor(),
    "shared-gaussian": GaussianFactor(shared=True),
    "categorical": LevelFactor(),
    "bernoulli": BinaryFactor(),
    "multinomial": CountFactor(),
    "kde": KernelFactor(),
    "mixture": MixtureFactor(),
}
"""Families by name; a family of the user's own stands in for a name anywhere."""

FEW = 20
"""Integers of at most so many different values are levels."""

LOOKED_AT = 2000
"""Rows that are looked at first: most columns show there what they are not."""


class Choice(NamedTuple):
    """A column, the family that it has, and why."""

    column: Any
    family: Any
    reason: str


class Evidence(NamedTuple):
    """What the values of a column are: all 0 and 1, both occurring; how many, if they are few whole numbers."""

    binary: bool = False
    different: int | None = None


@dataclass(frozen=True, eq=False)
class Plan:
    """The columns of a table in groups of one family each.

    Attributes:
        fields: (d,) the columns. choices: (d,) their families and why.
        groups: each a family and its columns, by number.
    """

    fields: tuple[Field, ...]
    choices: tuple[Choice, ...]
    groups: tuple[tuple[Factor, tuple[int, ...]], ...]

    def fields_in(self, columns: Sequence[int]) -> tuple[Field, ...]:
        """The fields of some columns."""
        return tuple(self.fields[j] for j in columns)


def choose_family(field: Field, found: Evidence, counts: bool = False) -> Choice:
    """The family of a column by its kind and its values.

    | column                                                   | family      |
    |----------------------------------------------------------|-------------|
    | text, categories                                         | categorical |
    | booleans; numbers that are all 0 and 1                   | bernoulli   |
    | integers of at most 20 different values                  | categorical |
    | whole numbers from 0 on in a sparse matrix (`counts`)    | multinomial |
    | any other numbers                                        | gaussian    |

    >>> choose_family(Field("vote", "text"), Evidence())
    Choice(column='vote', family='categorical', reason='text')
    """
    if field.kind == "text":
        return Choice(field.name, "categorical", "text" if field.levels is None else "categories of its type")
    if field.kind == "boolean":
        return Choice(field.name, "bernoulli", "booleans")
    if found.binary:
        return Choice(field.name, "bernoulli", "zeros and ones")
    if counts:
        return Choice(field.name, "multinomial", "counts in a sparse matrix")
    if field.kind == "integer" and found.different is not None and found.different <= FEW:
        return Choice(field.name, "categorical", f"integers of {found.different} different values")
    return Choice(field.name, "gaussian", "integers of many values" if field.kind == "integer" else "numbers")


# ---- what the values are --------------------------------------------------------------------------------------


def evidence_of(source: Source, fields: tuple[Field, ...], rows: Any) -> tuple[list[Evidence], bool]:
    """What the first block of rows shows of each column, and whether it is a sparse matrix of counts.

    Numbers that are only read once, from files or on a cluster, are not looked at.
    """
    if is_sparse(rows):
        whole = bool(np.all((rows.data >= 0.0) & (rows.data == np.floor(rows.data))))
        binary = whole and bool(np.all(rows.data <= 1.0))
        return [Evidence(binary)] * len(fields), whole and not binary
    if not isinstance(rows, np.ndarray | MixedRows):
        return [Evidence()] * len(fields), False
    if isinstance(rows, np.ndarray) and rows.dtype.kind in "iu":
        low, high = code_ranges(rows)
        return [_integers(rows[:, j], int(low[j]), int(high[j])) for j in range(len(fields))], False
    return [_numbers(rows, j) if field.kind != "text" else Evidence() for j, field in enumerate(fields)], False


def _integers(column: Array, low: int, high: int) -> Evidence:
    if high - low < FEW:
        return Evidence(low == 0 and high == 1, high - low + 1)
    different = np.unique(column[:LOOKED_AT]).size
    return Evidence(False, None if different > FEW else np.unique(column).size)


def _numbers(rows: Any, j: int) -> Evidence:
    head = numbers_of(rows[:LOOKED_AT], np.array([j]))[:, 0]
    if not _few_whole(head):
        return Evidence()
    column = numbers_of(rows, np.array([j]))[:, 0]
    values = np.unique(column[~np.isnan(column)]) if _few_whole(column) else np.empty(0)
    if not values.size:
        return Evidence()
    return Evidence(values.size == 2 and values[0] == 0.0 and values[1] == 1.0, int(values.size))


def _few_whole(x: Array) -> bool:
    seen = x[~np.isnan(x)]
    return bool(np.all(seen == np.floor(seen))) and np.unique(seen).size <= FEW


# ---- what the user says ---------------------------------------------------------------------------------------


def plan_of(source: Source, features: Any, *, settled: bool = True) -> Plan:
    """The families of the columns of a source: `features` is "auto", a family for all columns, or families by column.

    Not `settled` where more rows will come: numbers that are 0 and 1 so far may be others then.
    """
    fields = fields_of(source)
    asked, blocks = _asked(features, fields)
    choices: list[Choice] = []
    automatic = [j for j, family in enumerate(asked) if family == "auto"]
    found, counts = _look(source, fields, settled) if automatic else ([Evidence()] * len(fields), False)
    for j, (field, family) in enumerate(zip(fields, asked, strict=True)):
        choices.append(
            choose_family(field, found[j], counts) if family == "auto" else Choice(field.name, family, "as given")
        )
    groups: dict[Any, tuple[Factor, list[int]]] = {}
    for j, choice in enumerate(choices):
        factor = _factor(choice.family, fields[j])
        key = (type(factor), factor, blocks[j]) if isinstance(choice.family, str) else j
        groups.setdefault(key, (factor, []))[1].append(j)
    return Plan(fields, tuple(choices), tuple((factor, tuple(columns)) for factor, columns in groups.values()))


def _look(source: Source, fields: tuple[Field, ...], settled: bool) -> tuple[list[Evidence], bool]:
    if not source.in_memory:
        return [Evidence()] * len(fields), False
    found, counts = evidence_of(source, fields, next(source.rows()))
    if not settled:
        found = [
            Evidence(False, part.different) if fields[j].kind == "integer" else Evidence()
            for j, part in enumerate(found)
        ]
    return found, counts


def _factor(family: Any, field: Field) -> Factor:
    if not isinstance(family, str):
        return FamilyFactor(family)
    if family == "bernoulli" and field.kind == "text":
        return LevelFactor(two=True)
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
    for block, (key, family) in enumerate(features.items(), 1):
        together = isinstance(key, tuple) and key not in places
        for column in key if together else (key,):
            j = _place(column, places, len(fields))
            asked[j], blocks[j] = _known_family(family), block if together else 0
    return asked, blocks


def _place(column: Any, places: Mapping[Any, int], d: int) -> int:
    if column in places:
        return places[column]
    if isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < d:
        return int(column)
    near = difflib.get_close_matches(str(column), list(map(str, places)), n=3) or list(places)[:5]
    raise OptionError(
        f"features names the column {column!r}, which X does not have; near it: {', '.join(map(repr, near))}."
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

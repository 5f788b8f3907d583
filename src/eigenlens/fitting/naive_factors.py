"""Which columns of a table have which family: chosen by their kind, or as the user says."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array, is_sparse, to_numpy
from eigenlens.compiled.naive import code_ranges
from eigenlens.data.encoded import encode_numbers
from eigenlens.data.mixed import Field, MixedRows, MixedSource, fields_of, numbers_of
from eigenlens.data.source import Source
from eigenlens.errors import OptionError
from eigenlens.fitting.naive_counts import BinaryFactor, CountFactor
from eigenlens.fitting.naive_family import FamilyFactor
from eigenlens.fitting.naive_gaussian import GaussianFactor
from eigenlens.fitting.naive_levels import LevelFactor
from eigenlens.fitting.naive_options import Factor
from eigenlens.fitting.naive_rows import KernelFactor, MixtureFactor

__all__ = ["FACTORS", "Choice", "Evidence", "Plan", "choose_family", "evidence_of", "place_of", "plan_of"]

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
"""Integers of at most so many different values are levels,"""

ROWS_EACH = 5
"""if there are so many rows for each of them: 18 ages of 18 people are numbers. Two values always are levels."""

LOOKED_AT = 2000
"""Rows that are looked at first: most columns show there what they are not."""


class Choice(NamedTuple):
    """A column, the family that it has, and why."""

    column: Any
    family: Any
    reason: str


class Evidence(NamedTuple):
    """What the values of a column are: 0 and 1, both occurring; how many, if few whole numbers; in how many rows."""

    binary: bool = False
    different: int | None = None
    rows: int | None = None

    @property
    def few(self) -> bool:
        """Whether the values are few enough to be levels."""
        if self.different is None or self.different > FEW:
            return False
        return self.rows is None or self.different <= max(2, self.rows // ROWS_EACH)


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
    | integers of at most 20 different values, and of at most  |             |
    | one for 5 rows (or of two)                               | categorical |
    | whole numbers from 0 on in a sparse matrix (`counts`)    | multinomial |
    | any other numbers; columns without an entry              | gaussian    |

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
    if field.kind == "integer" and found.few:
        return Choice(field.name, "categorical", f"integers of {_values(found.different)}")
    return Choice(field.name, "gaussian", _number_reason(field, found))


def _values(n: int | None) -> str:
    return f"{n} different values" if n != 1 else "one value"


def _number_reason(field: Field, found: Evidence) -> str:
    if field.kind == "integer":
        few = found.different is not None and found.different <= FEW
        return f"integers of {_values(found.different)} in {found.rows} rows" if few else "integers of many values"
    return "no entry is there" if field.kind == "empty" else "numbers"


# ---- what the values are --------------------------------------------------------------------------------------


def evidence_of(source: Source, fields: tuple[Field, ...]) -> tuple[list[Evidence], bool]:
    """What all rows show of each column, and whether they are a sparse matrix of counts.

    Numbers that are only read once, from arrays in files or on a cluster, are not looked at.
    """
    if isinstance(source, MixedSource):
        return _of_columns(source, fields), False
    if not source.in_memory:
        return [Evidence()] * len(fields), False
    if is_sparse(next(source.rows())):
        return _of_sparse(source, len(fields))
    found = _met(source, range(len(fields)))
    return [_evidence(found.get(j), source.n_rows) for j in range(len(fields))], False


def _of_sparse(source: Source, d: int) -> tuple[list[Evidence], bool]:
    whole = binary = True
    for rows in source.rows():
        whole = whole and bool(np.all((rows.data >= 0.0) & (rows.data == np.floor(rows.data))))
        binary = binary and whole and bool(np.all(rows.data <= 1.0))
    return [Evidence(binary)] * d, whole and not binary


def _of_columns(source: MixedSource, fields: tuple[Field, ...]) -> list[Evidence]:
    """Of columns that can be read apart: the first rows leave few of them to be looked at whole."""
    columns = [j for j, field in enumerate(fields) if field.kind in ("number", "integer")]
    for n in (LOOKED_AT, None):
        found = _met(source.part(columns, n), range(len(columns))) if columns else {}
        kept = {j: found[place] for place, j in enumerate(columns) if place in found}
        columns = list(kept)
    return [_evidence(kept.get(j), source.n_rows) for j in range(len(fields))]


def _evidence(values: set[Any] | None, n: int | None) -> Evidence:
    if not values:
        return Evidence()
    return Evidence(values == {0, 1}, len(values), n)


def _met(source: Source, columns: Sequence[int]) -> dict[int, set[Any]]:
    """The values of columns that are few whole numbers, in one pass; columns that are not are not in the answer."""
    met: dict[int, set[Any]] = {j: set() for j in columns}
    for block in source.rows():
        rows: Any = block if isinstance(block, MixedRows) else to_numpy(block)
        whole = isinstance(rows, np.ndarray) and rows.dtype.kind in "iu"
        ranges = code_ranges(rows) if whole else None
        for j in list(met):
            values = _integers(rows[:, j], int(ranges[0][j]), int(ranges[1][j])) if ranges else _numbers(rows, j)
            both = None if values is None else met[j] | values
            if both is None or len(both) > FEW:
                del met[j]
            else:
                met[j] = both
        if not met:
            break
    return met


def _integers(column: Array, low: int, high: int) -> set[Any] | None:
    """The values of a column of integers from low to high, None if they are many."""
    head = set(np.unique(column[:LOOKED_AT]).tolist())
    if len(head) > FEW or len(head) == high - low + 1:  # none is missing of the range that all rows have
        return head if len(head) <= FEW else None
    return set(encode_numbers(column).levels)


def _numbers(rows: Any, j: int) -> set[Any] | None:
    """The values of a column of numbers, None if they are many or not whole."""
    for part in (rows[:LOOKED_AT], rows):
        column = numbers_of(part, np.array([j]))[:, 0]
        seen = column[~np.isnan(column)]
        if not np.all(seen == np.floor(seen)):
            return None
        values = set(encode_numbers(seen).levels)
        if len(values) > FEW:
            return None
    return values


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
    found, counts = evidence_of(source, fields)
    if not settled:
        found = [
            part._replace(binary=False) if fields[j].kind == "integer" else Evidence() for j, part in enumerate(found)
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
    given: set[int] = set()
    for block, (key, family) in enumerate(features.items(), 1):
        together = isinstance(key, tuple) and key not in places
        for column in key if together else (key,):
            j = place_of(column, places, len(fields), "features")
            if j in given:
                raise OptionError(f"features names the column {fields[j].name!r} twice; give it one family.")
            given.add(j)
            asked[j], blocks[j] = _known_family(family), block if together else 0
    return asked, blocks


def place_of(column: Any, places: Mapping[Any, int], d: int, option: str) -> int:
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

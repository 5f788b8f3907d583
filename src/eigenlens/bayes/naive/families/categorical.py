"""Columns of categories: in each class a probability for every category, looked up in a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, Self

import numpy as np
from scipy import sparse

from eigenlens.arrays import Array
from eigenlens.bayes.naive.families.base import (
    Conditional,
    Factor,
    NaiveOptions,
    contains_infinity,
    unknown_category_error,
)
from eigenlens.data.categories import (
    MAX_LOOKUP_RANGE,
    EncodedColumn,
    category_order,
    category_positions,
    encode_numbers,
    format_categories,
    merge_categories,
)
from eigenlens.data.category_storage import pack_categories, unpack_categories
from eigenlens.data.column_kinds import ColumnKind, Field
from eigenlens.data.table import codes_of
from eigenlens.densities.discrete import Categorical
from eigenlens.errors import DataError, ModelFileError
from eigenlens.laws import check_law, require
from eigenlens.native.class_sums import Lines, add_gathered, class_counts, code_ranges, padded

SAMPLED_ROWS = 4096
"""The number of first rows that give the range of integers: it is mostly that of all rows, which saves a pass."""

MANY_CATEGORIES = 20
"""A column of text with fewer categories is not taken for identifiers of rows, however few rows there are."""

NUMERIC_KINDS = (ColumnKind.NUMBER, ColumnKind.INTEGER, ColumnKind.BOOLEAN)
"""Kinds of columns whose categories are numbers."""

MAX_FLOAT = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class CategoricalColumns(Conditional):
    """P(x_j = category | c) of g columns.

    Attributes:
        categories: (g,) the categories of each column.
        probabilities: (g,) arrays (C, categories of the column), which sum to one over the categories.
        unknown: (g, C) the factor of an unknown category in each class; 1 leaves the column out, NaN is an error.
        names: (g,) of the columns, for that error.

    >>> p = np.array([[0.75, 0.25], [0.5, 0.5]])
    >>> votes = CategoricalColumns((("no", "yes"),), (p,), np.ones((1, 2)), ("vote",))
    >>> np.exp(votes.terms(np.array([["no"], ["maybe"]], dtype=object), np.array([0])))[:, 0]
    array([[0.75, 0.5 ], [1.  , 1.  ]])
    """

    categories: tuple[tuple[Any, ...], ...]
    probabilities: tuple[Array, ...]
    unknown: Array
    names: tuple[Any, ...]

    def add_log(self, rows: Any, columns: Array, joint: Array) -> None:
        """Add the log probabilities of the observed entries to joint (n, C)."""
        codes, lines, table = self._tables(codes_of(rows, columns))
        add_gathered(codes, lines, table, joint)

    def terms(self, rows: Any, columns: Array) -> Array:
        """Return ln P(x_ij | c) (n, g, C), 0 where an entry is missing."""
        codes, lines, table = self._tables(codes_of(rows, columns))
        C = self.unknown.shape[1]
        return np.stack([table[lines.places(codes[:, j], j), :C] for j in range(codes.shape[1])], axis=1)

    def sample(self, labels: Array, rng: np.random.Generator) -> list[Array]:
        """Draw a category (n,) of each column, as objects."""
        return [self._draw(j, labels, rng) for j in range(len(self.categories))]

    def take(self, classes: Array) -> CategoricalColumns:
        """Return the probabilities of some classes."""
        probabilities = tuple(p[classes] for p in self.probabilities)
        return CategoricalColumns(self.categories, probabilities, self.unknown[:, classes], self.names)

    def density(self, label: int, place: int) -> Categorical:
        """Return the probabilities of a column in a class."""
        return Categorical(self.probabilities[place][label], self.categories[place])

    def category_probabilities(self, place: int) -> Array:
        """Return the probabilities (C, L) of a column."""
        return self.probabilities[place]

    def n_parameters(self) -> int:
        """Return the number of probabilities, less one per column and class; a category that never occurs has none."""
        return sum(len(p) * max(0, int(p.any(axis=0).sum()) - 1) for p in self.probabilities)

    def categories_of(self, place: int) -> tuple[Any, ...]:
        """Return the categories of a column."""
        return self.categories[place]

    # ---- tables -----------------------------------------------------------------------------------------

    def _tables(self, coded: Array | list[EncodedColumn]) -> tuple[Array, Lines, Array]:
        """Return codes (n, g), their lines in a table, and that table (lines, ≥ C) of log probabilities."""
        if isinstance(coded, np.ndarray):
            if self._integers is not None and not (coded.dtype == np.uint64 and coded.max(initial=0) > 2**62):
                self._check_integers(coded)
                return coded, *self._integers
            coded = [encode_numbers(column) for column in coded.T]
        lines = Lines.of(np.full(len(coded), -1), np.array([len(column.categories) + 1 for column in coded]))
        table = np.concatenate([self._lines(j, column) for j, column in enumerate(coded)])
        return _stack_codes(coded), lines, padded(table)

    def _lines(self, j: int, column: EncodedColumn) -> Array:
        """Return the log probabilities of a missing entry, of each category of the column, and of an unknown one."""
        known, met = self._places[j], column.categories
        places = np.fromiter(map(known.get, met, repeat(-1)), np.intp, len(met))
        unknown = [met[k] for k in np.flatnonzero(places < 0)]
        if unknown and (np.isnan(self.unknown[j, 0]) or contains_infinity(unknown)):
            self._check_known(j, [category for category in column.drop_unused().categories if category not in known])
        logs = self._logs[j]
        inner = logs[places] if len(places) else logs[:0]
        return np.concatenate([np.zeros((1, logs.shape[1])), inner, logs[-1:]])

    @cached_property
    def _places(self) -> tuple[dict[Any, int], ...]:
        return tuple({category: k for k, category in enumerate(categories)} for categories in self.categories)

    @cached_property
    def _logs(self) -> tuple[Array, ...]:
        """Return the log probabilities (categories + 1, C) of each column, the last those of an unknown category."""
        with np.errstate(divide="ignore"):
            return tuple(np.log(np.vstack([p.T, u])) for p, u in zip(self.probabilities, self.unknown, strict=True))

    @cached_property
    def _integers(self) -> tuple[Lines, Array] | None:
        """Return lines and table for integers that are their own categories; None where their range is too wide."""
        whole = [_whole(places) for places in self._places]
        low = np.array([min(values, default=0) for values in whole])
        high = np.array([max(values, default=0) for values in whole])
        if np.any(np.abs(np.r_[low, high]) > 2**62) or np.any(high - low >= MAX_LOOKUP_RANGE):
            return None
        lines = Lines.of(low, high - low + 1)
        unknown = np.stack([logs[-1] for logs in self._logs])
        table = np.repeat(unknown, lines.width + 1, axis=0)
        at = [
            np.array(list(values), dtype=np.int64) + offset
            for values, offset in zip(whole, lines.start - low, strict=True)
        ]
        known = [logs[list(values.values())] for logs, values in zip(self._logs, whole, strict=True)]
        table[np.concatenate(at)] = np.concatenate(known)
        return lines, padded(table)

    def _check_integers(self, codes: Array) -> None:
        if not np.isnan(self.unknown).any():
            return
        for j, column in enumerate(codes.T):
            met = encode_numbers(column).categories
            self._check_known(j, [category for category in met if category not in self._places[j]])

    def _check_known(self, j: int, unknown: list[Any]) -> None:
        if unknown:
            raise unknown_category_error(self.names[j], unknown)

    def _draw(self, j: int, labels: Array, rng: np.random.Generator) -> Array:
        categories = self.categories[j]
        if not categories:  # every entry was missing
            return np.full(len(labels), None, dtype=object)
        cumulated = np.cumsum(self.probabilities[j], axis=1)
        at, places = rng.random(len(labels)) * cumulated[labels, -1], np.empty(len(labels), dtype=np.intp)
        for c in np.unique(labels):
            places[labels == c] = np.searchsorted(cumulated[c], at[labels == c], side="right")
        places = np.minimum(places, len(categories) - 1)
        values = np.empty(len(categories), dtype=object)
        values[:] = categories
        return np.asarray(values[places])


def _whole(places: dict[Any, int]) -> dict[int, int]:
    """Return the categories that are whole numbers, with their positions."""
    return {int(v): k for v, k in places.items() if isinstance(v, int) or (isinstance(v, float) and v.is_integer())}


def _stack_codes(coded: list[EncodedColumn]) -> Array:
    """Return the codes of columns as one array (n, g) in column-major order."""
    codes = np.empty((len(coded[0].codes), len(coded)), dtype=np.int32, order="F")
    for j, column in enumerate(coded):
        codes[:, j] = column.codes
    return codes


def _count_codes(codes: Array, lines: Lines, y: Array, weight: Array | None, C: int) -> list[Array]:
    """Return Σ w of each class and code, (C, width + 1) per column; the last is that of codes outside the range."""
    counts = class_counts(codes, lines, y, weight, C)
    return [counts[start : start + width + 1].T for start, width in zip(lines.start, lines.width, strict=True)]


@dataclass(frozen=True, eq=False)
class CategoryCounts:
    """Counts of each category in each class, per column; those of halves merge to those of the whole.

    Attributes:
        categories: (g,) the categories that occur in each column, in order. counts: (g,) arrays (C, L) of Σ w.

    >>> y = np.zeros(2, dtype=np.int32)
    >>> halves = [CategoryCounts.of(np.array(part), y, None, 1) for part in ([[3], [1]], [[1], [2]])]
    >>> (halves[0] + halves[1]).categories, (halves[0] + halves[1]).counts
    (((1, 2, 3),), (array([[2., 1., 1.]]),))
    """

    categories: tuple[tuple[Any, ...], ...]
    counts: tuple[Array, ...]

    @classmethod
    def of(cls, coded: Array | list[EncodedColumn], y: Array, weight: Array | None, C: int) -> Self:
        """Return the counts of encoded columns, or of integers (n, g) that are their own categories."""
        if isinstance(coded, np.ndarray):
            found = cls._of_integers(coded, y, weight, C)
            if found is not None:
                return found
            coded = [encode_numbers(column) for column in coded.T]
        lines = Lines.of(np.full(len(coded), -1), np.array([len(column.categories) + 1 for column in coded]))
        counts = _count_codes(_stack_codes(coded), lines, y, weight, C)
        return cls._sorted([column.categories for column in coded], [part[:, 1:-1] for part in counts])

    @classmethod
    def _of_integers(cls, codes: Array, y: Array, weight: Array | None, C: int) -> Self | None:
        """Return the counts of integers by value; None where a range is too wide."""
        for some in (codes[:: max(1, len(codes) // SAMPLED_ROWS)], codes):
            low, high = code_ranges(some)
            if np.any(high.astype(np.float64) - low.astype(np.float64) >= MAX_LOOKUP_RANGE):
                return None
            counts = _count_codes(codes, Lines.of(low, high - low + 1), y, weight, C)
            if not any(part[:, -1].any() for part in counts):
                categories = [range(int(a), int(b) + 1) for a, b in zip(low, high, strict=True)]
                return cls._sorted(categories, [part[:, :-1] for part in counts])
        return None

    @classmethod
    def of_shared(cls, coded: Array | list[EncodedColumn], shares: Array) -> Self:
        """Return the counts in classes that share the rows by weights (n, C): a product with indicators of codes."""
        columns = [encode_numbers(column) for column in coded.T] if isinstance(coded, np.ndarray) else coded
        lines = Lines.of(np.full(len(columns), -1), np.array([len(column.categories) + 1 for column in columns]))
        places = np.ascontiguousarray(_stack_codes(columns) + (lines.start + 1).astype(np.int32))
        n, g = places.shape
        ends = np.arange(0, n * g + 1, g)
        members = sparse.csr_matrix((np.ones(n * g), places.ravel(), ends), shape=(n, lines.total))
        counts = np.asarray((members.T @ shares).T)
        parts = [counts[:, start + 1 : start + width] for start, width in zip(lines.start, lines.width, strict=True)]
        return cls._sorted([column.categories for column in columns], parts)

    @classmethod
    def _sorted(cls, categories: list[Any], counts: list[Array]) -> Self:
        """Return the counts in order, without the categories that have no weight."""
        found = [_sort_counts(values, part) for values, part in zip(categories, counts, strict=True)]
        return cls(tuple(values for values, _ in found), tuple(part for _, part in found))

    def __add__(self, other: Self) -> Self:
        parts = zip(self.categories, self.counts, other.categories, other.counts, strict=True)
        found = [_merge(*part) for part in parts]
        return type(self)(tuple(categories for categories, _ in found), tuple(counts for _, counts in found))


def _sort_counts(categories: Sequence[Any], counts: Array) -> tuple[tuple[Any, ...], Array]:
    """Return the categories that have weight, in order, and their counts (C, L)."""
    kept = np.flatnonzero(counts.any(axis=0))
    names = tuple(categories) if len(kept) == len(categories) else tuple(map(categories.__getitem__, kept.tolist()))
    order = category_order(names)
    return tuple(map(names.__getitem__, order)), np.ascontiguousarray(counts[:, kept[np.array(order, dtype=np.intp)]])


def _merge(a: tuple[Any, ...], m: Array, b: tuple[Any, ...], n: Array) -> tuple[tuple[Any, ...], Array]:
    """Return the categories of two halves in order, and the sums of their counts."""
    both = merge_categories(a, b)
    return both, _spread(a, m, both) + _spread(b, n, both)


def _spread(categories: tuple[Any, ...], counts: Array, wanted: tuple[Any, ...]) -> Array:
    """Return counts (C, L) of categories as those of the wanted ones, 0 for one that does not occur."""
    if categories == wanted:
        return counts
    wide = np.concatenate([counts, np.zeros((len(counts), 1))], axis=1)
    return wide[:, category_positions(categories, wanted)]


@dataclass(frozen=True)
class CategoricalFactor(Factor):
    """The categorical family; `two` rejects columns of more than two categories."""

    two: bool = False
    takes_text = True

    def summarise(self, rows: Any, columns: Array, y: Array, weight: Array | None, C: int) -> CategoryCounts:
        """Return the counts in each class."""
        return CategoryCounts.of(codes_of(rows, columns), y, weight, C)

    def summarise_shared(
        self, rows: Any, columns: Array, shares: Array, model: CategoricalColumns | None = None
    ) -> CategoryCounts:
        """Return the counts in classes that share the rows."""
        return CategoryCounts.of_shared(codes_of(rows, columns), shares)

    def estimate(
        self, statistics: CategoryCounts, fields: tuple[Field, ...], options: NaiveOptions
    ) -> CategoricalColumns:
        """Return p_l = (n_l + a_l) / (n + Σ a), the mean under a Dirichlet prior, a being the smoothing."""
        found = [
            self._column(categories, counts, field, options)
            for categories, counts, field in zip(statistics.categories, statistics.counts, fields, strict=True)
        ]
        categories, probabilities, unknown = zip(*found, strict=True)
        return CategoricalColumns(categories, probabilities, np.array(unknown), tuple(field.name for field in fields))

    def _column(
        self, met: tuple[Any, ...], counts: Array, field: Field, options: NaiveOptions
    ) -> tuple[tuple[Any, ...], Array, Array]:
        """Return the categories of a column, declared ones first, their probabilities, and those of unknown ones."""
        declared = field.categories or ()
        known = set(declared)
        categories = (*declared, *(category for category in met if category not in known))
        if self.two and len(categories) > 2:
            raise DataError(
                f"column {field.name!r} holds {len(categories)} categories {format_categories(categories)}, and "
                "'bernoulli' takes two",
                columns=[str(field.name)],
                fix="use 'categorical'",
            )
        n = _spread(met, counts, categories)
        added = options.smoothing_of(field.name, categories)
        return categories, _shares(n + added), options.unknown_of(n.sum(axis=1), added)

    def category_counts(self, statistics: CategoryCounts, conditional: CategoricalColumns, place: int) -> Array:
        """Return the counts (C, L) of the categories of a column, 0 for one that is only declared."""
        return _spread(statistics.categories[place], statistics.counts[place], conditional.categories[place])

    def pack(self, statistics: CategoryCounts, conditional: CategoricalColumns) -> tuple[dict[str, Array], Any]:
        """Return the counts, and the categories for the header."""
        arrays = {f"counts.{j}": counts for j, counts in enumerate(statistics.counts)}
        return arrays, list(map(pack_categories, statistics.categories, conditional.names))

    def unpack(
        self, arrays: Mapping[str, Array], header: Any, fields: tuple[Field, ...], options: NaiveOptions, C: int
    ) -> tuple[CategoryCounts, CategoricalColumns]:
        """Return the stored counts, and the densities that follow from them."""
        if not isinstance(header, list) or len(header) != len(fields) or not all(isinstance(x, list) for x in header):
            raise ModelFileError(f"must have lists of the categories of {len(fields)} columns")
        categories = tuple(map(unpack_categories, header))
        names = [f"counts.{j}" for j in range(len(categories))]
        require(arrays, *names)
        for name, known, field in zip(names, categories, fields, strict=True):
            check_law(name, "(C, L) not negative", arrays[name], {"C": C, "L": len(known)})
            if field.kind in NUMERIC_KINDS and not all(map(_is_float, known)):
                raise ModelFileError(f"the categories of {name!r} are not all numbers, as those of its column are")
            if len(set(known)) < len(known):
                raise ModelFileError(f"the categories of {name!r} are not different")
        statistics = CategoryCounts(categories, tuple(arrays[name] for name in names))
        return statistics, self.estimate(statistics, fields, options)

    def fit_warnings(
        self, statistics: CategoryCounts, fields: tuple[Field, ...], chosen: Sequence[str], options: NaiveOptions,
        classes: Array,
    ) -> Iterator[str]:  # fmt: skip
        """Yield a warning for a column of text with few rows per category: identifiers, which new rows do not share."""
        for field, reason, counts in zip(fields, chosen, statistics.counts, strict=True):
            total, L = counts.sum(), counts.shape[1]
            if reason == "text" and max(MANY_CATEGORIES, total / 2.0) < L:
                yield (
                    f"column {field.name!r} has {L} categories in {total:g} rows, and seems to identify rows, "
                    "which does not help to classify new ones: drop it, or read it as the id of the rows."
                )

    def check_more(self, statistics: CategoryCounts, fields: tuple[Field, ...], chosen: Sequence[str]) -> None:
        """Raise for fractions in a column of numbers whose first rows were taken for categories."""
        for field, reason, categories in zip(fields, chosen, statistics.categories, strict=True):
            fractions = [value for value in categories if isinstance(value, float) and not value.is_integer()]
            if fractions and field.kind != "text" and reason != "as given":
                raise DataError(
                    f"column {field.name!r} was taken for categories in the first call of partial_fit ({reason}), and "
                    f"holds {fractions[0]!r} now",
                    columns=[str(field.name)],
                    fix="name its family from the first call on: {features}",
                    settings={"features": {field.name: "gaussian"}},
                )


def _shares(n: Array) -> Array:
    """Return each line of counts (C, L) as shares; a line without counts has the shares of all lines, or equal ones."""
    total = n.sum(axis=1, keepdims=True)
    if np.all(total > 0.0):
        return np.asarray(n / total)
    overall = n.sum(axis=0)
    if not overall.any():
        return np.full(n.shape, 1.0 / max(1, n.shape[1]))
    return np.where(total > 0.0, n / np.where(total > 0.0, total, 1.0), overall / overall.sum())


def _is_float(value: Any) -> bool:
    """Return whether a category is a number that floats can hold; NaN is a missing value, never a category."""
    return value == value if isinstance(value, float) else isinstance(value, int) and abs(value) <= MAX_FLOAT

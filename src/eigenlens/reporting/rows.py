"""The rows that a report shows, with the names, columns and classes to label, colour and search them by.

Where they are a sample, the density of all rows is drawn behind them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from eigenlens.arrays import Array, to_numpy
from eigenlens.catalogue import entry_of
from eigenlens.data.categories import EncodedColumn, encode_numbers
from eigenlens.data.coerce import fields_of
from eigenlens.data.column_kinds import ColumnKind, Field
from eigenlens.data.memory import ArraySource
from eigenlens.data.source import Source
from eigenlens.data.table import MixedSource
from eigenlens.errors import DataError
from eigenlens.estimator.covariance_matrix import unknown_samples
from eigenlens.reporting.charts import Chart, axes_shown
from eigenlens.reporting.inputs import format_dates
from eigenlens.reporting.packing import RowNumbers, RowPositions, RowTexts, encode_names
from eigenlens.reporting.page import FINE, pack_numbers
from eigenlens.tables.names import shorten, shorten_names
from eigenlens.tables.rows import PlaneCounts, RowSample, numeric_blocks, plane_counts
from eigenlens.tables.text_table import count_noun

MAX_COLUMN_BYTES, MAX_COLOUR_COLUMNS = 3_000_000, 200
"""The largest size in bytes, and the largest number, of the columns to colour by."""

MAX_ID_BYTES = 3_000_000
"""The largest size in bytes of the row names; beyond it, rows are called by their position."""

MAX_CLASSES = 11
"""A column given beside X with at most this many distinct integers holds classes: the page has a colour for each."""

BACKDROP_CELLS = 120, 90
"""Width and height of the density of all rows, in cells."""


@dataclass(frozen=True, eq=False)
class ShownRows:
    """The rows of a table that a report shows.

    Attributes:
        X: (m, d) the rows shown, float64, NaN where missing or text. chosen: (m,) their places.
        total: how many rows there are.
        names: (d,) column names. ids: (m,) names of rows, or None. extra: columns that were not fitted, by name.
        texts: (m,) columns of text by their place among the d, None where missing. fields: (d,) kinds of columns.
        y: (m,) classes, or None. weight: (m,) sample weights, or None for ones.
        source: all rows, where those shown are a sample. columns: (d,) which of its columns these are.
        named: whether the columns have names of their own. mixed: whether the model takes columns of all kinds.
    """

    X: Array
    chosen: Array
    total: int
    names: tuple[str, ...]
    ids: tuple[str, ...] | None
    extra: Mapping[str, Any]
    texts: Mapping[int, Array]
    fields: tuple[Field, ...]
    y: Array | None = None
    weight: Array | None = None
    source: Source | None = None
    columns: tuple[int, ...] = ()
    named: bool = True
    mixed: bool = False

    def name(self, i: int) -> str:
        """Return the name of the i-th row shown."""
        return f"row {self.chosen[i] + 1}" if self.ids is None else shorten(self.ids[i])

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Return the column names (d,) as they are shown, of at most 60 characters and distinct."""
        short = shorten_names(self.names, 60)
        if len(set(short)) == len(short):
            return tuple(short)
        counts = Counter(short)
        return tuple(f"{name} ({j + 1})" if counts[name] > 1 else name for j, name in enumerate(short))

    @property
    def sampled(self) -> bool:
        """Return whether there are more rows than are shown."""
        return self.total > len(self.X)

    def of(self, model: Any) -> ShownRows:
        """Return the rows with the columns that a model was fitted on."""
        entry = entry_of(model)
        if entry is not None and entry.genotypes:
            return self
        found = replace(self._fitted(model), mixed=hasattr(model, "features_"))
        if found.texts and not found.mixed:
            name = found.names[next(iter(found.texts))]
            what = f"column {name!r} of X holds text or dates, but {type(model).__name__} takes numbers"
            raise DataError(what, fix="give it as numbers")
        return found

    def _fitted(self, model: Any) -> ShownRows:
        """Return the rows with the columns of a fit, found by name, or by number if it has no names."""
        known = getattr(model, "feature_names_in_", None)
        d = getattr(model, "n_features_in_", len(self.names))
        wanted = None if known is None else [str(name) for name in known]
        if wanted is not None and set(wanted) <= set(self.names):
            return self if wanted == list(self.names) else self.part([self.names.index(name) for name in wanted])
        if wanted is not None and self.named:
            missing = [name for name in wanted if name not in self.names]
            raise DataError(
                f"the columns of X are {list(self.names)[:8]}, but {type(model).__name__} was fitted on "
                f"{wanted[:8]}; X has no {missing[0]!r}: give X with the columns of the fit."
            )
        numeric = [j for j in range(len(self.names)) if j not in self.texts]
        places = next((each for each in (list(range(len(self.names))), numeric) if len(each) == d), None)
        if places is None:
            raise DataError(
                f"X has {len(self.names)} columns, {len(numeric)} of them numbers, but {type(model).__name__} was "
                f"fitted on {d}; give X with the columns of the fit."
            )
        part = self.part(places)
        return part if wanted is None else replace(part, names=tuple(wanted), named=True)

    def part(self, places: list[int]) -> ShownRows:
        """Return the rows with some of the columns, in this order."""
        if places == list(range(len(self.names))):
            return self
        return replace(
            self, X=self.X[:, places], names=tuple(self.names[j] for j in places), extra=self._with_others(places),
            texts={i: self.texts[j] for i, j in enumerate(places) if j in self.texts},
            fields=tuple(self.fields[j] for j in places), columns=tuple(self.columns[j] for j in places),
        )  # fmt: skip

    def _with_others(self, places: list[int]) -> Mapping[str, Any]:
        """Return the columns that were not fitted, with those of the table outside `places`."""
        rest = sorted(set(range(len(self.names))) - set(places))
        others = {self.names[j]: self.texts.get(j, self.X[:, j]) for j in rest}
        return others | dict(self.extra)

    def draw(self, most: int) -> Array:
        """Return the positions of `most` of the rows shown, drawn at random and in order; of all if they are fewer."""
        return np.sort(np.random.default_rng(0).permutation(len(self.X))[:most])

    def take(self, index: Array) -> ShownRows:
        """Return some of the rows shown, by index."""
        return replace(
            self,
            X=self.X[index],
            chosen=self.chosen[index],
            y=None if self.y is None else self.y[index],
            weight=None if self.weight is None else self.weight[index],
            ids=None if self.ids is None else tuple(self.ids[i] for i in index),
            texts={j: values[index] for j, values in self.texts.items()},
            extra={},
        )

    @property
    def given(self) -> Source:
        """Return the rows as a model takes them: numbers, or a table with columns of their original kinds."""
        if not self.mixed or all(field.kind == "number" for field in self.fields):
            return ArraySource(self.X, names=self.names if self.named else None)
        columns = [self.texts.get(j, self.X[:, j]) for j in range(len(self.names))]
        return MixedSource.of_slices(columns, self.fields, named=self.named)

    def blocks(self) -> Iterator[Array]:
        """Yield all rows of the source in blocks (b, d)."""
        assert self.source is not None
        return numeric_blocks(self.source, np.array(self.columns))

    # ---- for the page -----------------------------------------------------------------------------------

    def data(self, more: Mapping[str, Any] | None = None, keep: Array | None = None) -> Chart:
        """Return the rows of report.ts; columns that would make the page too large are left out, as its note says.

        more: columns that pages made. keep: (q,) which of the rows shown are written, or None for all.
        """
        kept = len(self.X) if keep is None else len(keep)
        columns: list[Chart] = []
        spent, left = 0, 0
        start = -1
        for name, given in self._offered(more or {}).items():
            values = colour_column(given, classes=name in self.extra) if len(columns) < MAX_COLOUR_COLUMNS else None
            size = 0 if values is None else _size(values, kept)
            if values is None or spent + size > MAX_COLUMN_BYTES:
                left += 1
                continue
            if start < 0 and (name in self.extra or isinstance(values, EncodedColumn)) and is_informative(values):
                start = len(columns)
            kind = "number" if isinstance(values, RowNumbers) else "text"
            columns.append({"name": shorten(name), "kind": kind, "values": values})
            spent += size
        ids, said = self._named
        steps = {} if "ids" in ids or self.total == kept else {"steps": RowPositions(self.chosen + 1)}
        coarse = "Numbers of so many rows are kept to 16 bits." if kept > FINE else ""
        note = " ".join(filter(None, (self._note(kept), said, _left(left), coarse)))
        head = {"total": self.total, "shown": kept, "note": note, "colour": start}
        weights = {} if self.weight is None or np.all(self.weight == 1.0) else {"weights": RowNumbers(self.weight)}
        return head | {"columns": columns} | ids | steps | weights

    def _offered(self, more: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns to colour by: classes, given columns, columns that pages made, text, numbers."""
        if not self.total:
            return {}
        found: dict[str, Any] = dict(self.extra) | dict(more)
        found |= {self.names[j]: values for j, values in self.texts.items()}
        return found | {name: self.X[:, j] for j, name in enumerate(self.names) if j not in self.texts}

    @cached_property
    def _named(self) -> tuple[Chart, str]:
        """Return the row names for the page, and a sentence if there is no room for them."""
        if self.ids is None:
            return {}, ""
        names = tuple(map(shorten, self.ids))
        if sum(len(name.encode("utf-8")) + 3 for name in names) > MAX_ID_BYTES:
            return {}, "Rows are called by their position: their names would make the file too large."
        return {"ids": RowTexts(names)}, ""

    def _note(self, kept: int) -> str:
        if not self.total:
            return "There are no rows, as of a covariance matrix."
        if kept == self.total:
            return f"All {self.total:,} rows are shown."
        return f"{kept:,} of {self.total:,} rows, drawn at random, are shown as points."


def _left(left: int) -> str:
    words = "1 column is" if left == 1 else f"{left:,} columns are"
    return f"{words} not offered for colouring, to keep the file small." if left else ""


def colour_column(values: Any, *, classes: bool = False) -> RowNumbers | EncodedColumn:
    """Return a column to colour by: numbers, or names.

    classes: whether a few integers that occur repeatedly are names; they are in a given label, not in a fitted column.

    >>> colour_column(np.array([2.0, np.nan, 10.0, 2.0]), classes=True).categories
    ('2', '10')
    """
    array = values if isinstance(values, np.ndarray) else np.asarray(values)
    if array.dtype.kind == "O":
        array = _plain(array)
    if array.dtype.kind not in "fiu":
        return encode_names(array.tolist())
    distinct = encode_numbers(array) if classes else None
    repeated = distinct and len(distinct.categories) < np.count_nonzero(distinct.codes >= 0)
    if distinct and repeated and len(distinct.categories) <= MAX_CLASSES and all(map(_is_whole, distinct.categories)):
        return distinct._replace(categories=tuple(str(int(value)) for value in distinct.categories))
    return RowNumbers(array.astype(np.float64))


def _plain(array: Array) -> Array:
    """Return numbers among objects as float64, NaN for None; other objects unchanged."""
    found = [value for value in array.tolist() if value is not None]
    if found and all(isinstance(value, int | float) and not isinstance(value, bool) for value in found):
        return np.array([np.nan if value is None else value for value in array.tolist()], dtype=np.float64)
    return array


def _is_whole(value: float) -> bool:
    return bool(np.isfinite(value)) and value == int(value)


def is_informative(values: RowNumbers | EncodedColumn) -> bool:
    """Return whether colours would show anything: values differ, and names are not all distinct."""
    if isinstance(values, RowNumbers):
        seen = values.values[np.isfinite(values.values)]
        return bool(seen.size and seen.min() < seen.max())
    return 1 < len(values.categories) <= max(MAX_CLASSES, len(values.codes) // 2)


def _size(values: RowNumbers | EncodedColumn, m: int) -> int:
    """Return the approximate size in bytes of a column in the page."""
    if isinstance(values, RowNumbers):
        return m * 6 if m <= 20_000 else m * 3
    names = sum(len(level.encode("utf-8")) + 3 for level in values.categories)
    many = len(values.categories) > 30_000
    return m * (names // max(1, len(values.categories)) if many else 3) + (0 if many else names)


# ---- which rows ---------------------------------------------------------------------------------------------


def make_shown_rows(
    sample: RowSample, names: tuple[str, ...], *, ids: Any = None, extra: Mapping[str, Any] | None = None,
    y: Any = None, weight: Any = None, named: bool = True,
) -> ShownRows:  # fmt: skip
    """Return the rows of a sample with their names, classes and weights, which are given for all rows."""
    n, chosen = sample.total, sample.chosen

    def of(what: str, values: Any) -> Array:
        return format_dates(values_per_row(what, values, n)[chosen])

    return ShownRows(
        X=sample.numbers,
        chosen=chosen,
        total=n,
        names=names,
        ids=None if ids is None else tuple(str(value) for value in of("ids", ids)),
        extra={str(name): of(f"columns[{name!r}]", values) for name, values in (extra or {}).items()},
        texts=sample.texts,
        fields=fields_of(sample.source),
        y=None if y is None else values_per_row("y", y, n)[chosen],
        weight=None if weight is None else of("sample_weight", weight).astype(np.float64),
        source=sample.source if n > len(chosen) else None,
        columns=tuple(range(len(names))),
        named=named,
    )


def no_rows(models: Iterable[Any]) -> ShownRows:
    """Return no rows, with the columns of models that were fitted to a covariance matrix."""
    known = [getattr(model, "feature_names_in_", None) for model in models]
    names = tuple(dict.fromkeys(str(name) for each in known if each is not None for name in each))
    d = max(model.n_features_in_ for model in models)
    names, named = (names, True) if names else (tuple(f"x{j}" for j in range(d)), False)
    fields = tuple(Field(name, ColumnKind.NUMBER) for name in names)
    return ShownRows(
        X=np.empty((0, len(names))), chosen=np.empty(0, dtype=np.intp), total=0, names=names, ids=None, extra={},
        texts={}, fields=fields, columns=tuple(range(len(names))), named=named,
    )  # fmt: skip


def matrix_words(model: Any, columns: str) -> str:
    """Return the matrix that a model without rows was fitted to, in words: what it is, and how many rows it is of."""
    found = model.model_
    if hasattr(found, "column_variances"):
        variances = found.column_variances * found.scale**2
    else:
        W = getattr(found, "loadings", np.zeros((1, 1)))
        variances = np.sum(np.square(W), axis=1) + getattr(found, "noise", 0.0)
    called = "correlation matrix" if np.allclose(variances, 1.0, rtol=0.0, atol=1e-6) else "covariance matrix"
    known = model.n_samples_ != unknown_samples(model.n_features_in_)
    return f"a {called} of {columns}" + (f", of {count_noun(model.n_samples_, 'row')}" if known else "")


def values_per_row(what: str, values: Any, n: int) -> Array:
    """Return values (n,) of any kind as an array with one entry per row; None is kept."""
    if not hasattr(values, "__array__") and (isinstance(values, str | bytes) or not isinstance(values, Iterable)):
        kind = type(values).__name__
        raise DataError(f"is a {kind}", argument=what, value=values, fix=f"give one entry per row, ({n},)")
    given = to_numpy(values, what) if hasattr(values, "dtype") or hasattr(values, "__array__") else list(values)
    if not isinstance(given, np.ndarray) or given.ndim != 1:
        shape = given.shape if isinstance(given, np.ndarray) else (len(given),)
        if not shape or int(np.prod(shape)) != shape[0]:
            raise DataError(f"has the shape {shape}", argument=what, fix=f"give one entry per row, ({n},)")
        flat = given.ravel().tolist() if isinstance(given, np.ndarray) else given
        given = np.empty(len(flat), dtype=object)
        given[:] = flat
    if len(given) != n:
        raise DataError(f"has {len(given)} entries, but X has {n} rows", argument=what, fix="give one entry per row")
    return given


def density_backdrops(
    rows: ShownRows, Z: Array, pairs: list[tuple[int, int]], project: Callable[[Array], Array]
) -> list[tuple[Chart, str]]:
    """Return for each pair of axes the density of all rows and a sentence on it; nothing if all rows are points.

    Z: (m, k) places of the rows shown. project: rows (b, d) → places (b, k). Cost: one pass over all rows.
    """
    if not rows.sampled or rows.source is None:
        return [({}, "") for _ in pairs]
    found = plane_counts((project(block) for block in rows.blocks()), pairs, Z, BACKDROP_CELLS)
    return [({"density": _box(each)}, _words(rows, each)) for each in found]


def axes_backdrop(rows: ShownRows, Z: Array, project: Callable[[Array], Array]) -> tuple[Chart, str]:
    """Return the density of all rows for every pair of axes that a plot of Z (m, k) offers, and a sentence on it."""
    pairs = list(combinations(range(axes_shown(*Z.shape)), 2))
    if not pairs or not rows.sampled or rows.source is None:
        return {}, ""
    found = plane_counts((project(block) for block in rows.blocks()), pairs, Z, BACKDROP_CELLS)
    boxes = [_box(each) | {"pair": list(pair)} for pair, each in zip(pairs, found, strict=True)]
    return {"densities": boxes}, _words(rows, found[0])


def _box(found: PlaneCounts) -> Chart:
    height, width = found.counts.shape
    ends = {"x0": found.x[0], "x1": found.x[1], "y0": found.y[0], "y1": found.y[1]}
    return ends | {"width": width, "height": height, "counts": pack_numbers(found.counts)}


def _words(rows: ShownRows, found: PlaneCounts) -> str:
    beyond = f" except {found.outside:,} outside the range" if found.outside else ""
    return f" Points are a sample; the shades behind count all {rows.total:,} rows{beyond}."

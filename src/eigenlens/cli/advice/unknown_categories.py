"""Categories and classes of new rows that the model was not fitted on, which it cannot tell apart or predict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.cli.advice.missing_entries import row_blocks
from eigenlens.data.table import MixedRows
from eigenlens.errors import DataWarning, join_limited, warn_user
from eigenlens.tables.text_table import count_noun

MAX_LISTED = 3
"""The number of categories that are listed."""


def warn_unknown_categories(model: Any, table: Any) -> None:
    """Warn of each column with categories that the model does not know; the rows are read once more for this."""
    known = _known_categories(model)
    if not known:
        return
    found: dict[int, Counter[Any]] = {place: Counter() for place in known}
    for block in row_blocks(table.source):
        for place in known:
            found[place].update(_count_values(block, place))
    for place, categories in known.items():
        name = table.roles.features[place]
        new = {value: n for value, n in found[place].items() if value not in categories}
        if new:
            what = f"column {str(name)!r} has {_list(new)} that the model was not fitted on"
            fix = f"if they are spelled otherwise, write them as it knows them: {_show(categories)}"
            near = _near_equal(new, categories)
            settings = {"ignore_case": [str(name)]} if near else {}
            warn_user(DataWarning(what, columns=[str(name)], fix=near or fix, settings=settings))


def warn_unknown_classes(model: Any, label: Array, column: Any = None) -> None:
    """Warn of known classes of rows, in a column of this name, that the model cannot predict."""
    counts = Counter(label.tolist())
    classes = np.asarray(model.classes_).tolist()
    new = {value: n for value, n in counts.items() if value not in set(classes)}
    if new:
        rows = count_noun(sum(new.values()), "row")
        what = f"{rows} of classes that the model was not fitted on ({_show(new)}) count as wrong"
        near = _near_equal(new, classes) if column is not None else ""
        fix = near or f"its classes are {_show(classes)}"
        warn_user(DataWarning(what, fix=fix, settings={"ignore_case": [str(column)]} if near else {}))


def _near_equal(new: Iterable[Any], known: Iterable[Any]) -> str:
    """Return the way out where new categories differ from known ones in case, spaces and points at the end alone.

    >>> _near_equal(["<=50K."], ["<=50K", ">50K"])
    "if '<=50K.' means '<=50K', fit again with {ignore_case}"
    >>> _near_equal(["north"], ["south"])
    ''
    """
    folded = {_fold(value): value for value in known if isinstance(value, str)}
    pairs = [(value, folded.get(_fold(value))) for value in new if isinstance(value, str)]
    if not pairs or any(meant is None for _, meant in pairs):
        return ""
    value, meant = pairs[0]
    return f"if {value!r} means {meant!r}, fit again with {{ignore_case}}"


def _fold(value: str) -> str:
    return " ".join(value.lower().split()).rstrip(" .")


def _known_categories(model: Any) -> dict[int, tuple[Any, ...]]:
    """Return the categories of the columns of a model that have some, by the places of the columns."""
    found: dict[int, tuple[Any, ...]] = {}
    for group in getattr(getattr(model, "model_", None), "groups", ()):
        several = getattr(group.conditional, "categories", None)
        found |= {} if several is None else dict(zip(map(int, group.columns), several, strict=True))
    return {place: categories for place, categories in found.items() if categories}


def _count_values(block: Any, place: int) -> Mapping[Any, int]:
    """Return how often each value of a column occurs in a block, missing ones aside."""
    if isinstance(block, MixedRows) and block.places[place] < 0:
        code = -1 - int(block.places[place])
        codes = block.codes[:, code]
        counts = np.bincount(codes[codes >= 0], minlength=len(block.categories[code]))
        return {value: int(n) for value, n in zip(block.categories[code], counts, strict=True) if n}
    if isinstance(block, MixedRows | np.ndarray):
        numbers = block.numbers[:, block.places[place]] if isinstance(block, MixedRows) else block[:, place]
        return Counter(numbers[~np.isnan(numbers)].tolist())
    return Counter(block.to_series(place).drop_nulls().to_list())


def _list(new: Mapping[Any, int]) -> str:
    kinds = "a category" if len(new) == 1 else f"{len(new):,} categories"
    return f"{kinds} ({_show(new)}, in {count_noun(sum(new.values()), 'row')})"


def _show(values: Iterable[Any]) -> str:
    return join_limited([f"{value:g}" if isinstance(value, float) else repr(value) for value in values], MAX_LISTED)

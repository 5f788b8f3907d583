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
            warn_user(DataWarning(what, columns=[str(name)], fix=fix))


def warn_unknown_classes(model: Any, label: Array) -> None:
    """Warn of known classes of rows that the model cannot predict."""
    counts = Counter(label.tolist())
    classes = np.asarray(model.classes_).tolist()
    new = {value: n for value, n in counts.items() if value not in set(classes)}
    if new:
        rows = count_noun(sum(new.values()), "row")
        what = f"{rows} of classes that the model was not fitted on ({_show(new)}) count as wrong"
        warn_user(DataWarning(what, fix=f"its classes are {_show(classes)}"))


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

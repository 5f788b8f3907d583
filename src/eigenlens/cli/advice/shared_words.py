"""Columns with the same few words, such as answers of a questionnaire whose order is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.files.number_format import is_number
from eigenlens.errors import DataWarning, join_limited

ANSWERS = range(4, 8)
"""The numbers of points of scales in common use; fewer words may be anything."""

MIN_ALIKE = 3
"""The fewest columns with the same words that are answers."""


def shared_word_warnings(labels: Mapping[str, Array]) -> Iterator[DataWarning]:
    """Yield a warning of the columns, of those that only colour rows, that have the same words as several others.

    >>> words = np.array(["nigdy", "rzadko", "czasem", "zawsze"])
    >>> [warning.columns for warning in shared_word_warnings({"q1": words, "q2": words[::-1], "q3": words})]
    [('q1', 'q2', 'q3')]
    >>> list(shared_word_warnings({"q1": words, "town": np.array(["Graz", "Linz"]), "q3": words}))
    []
    """
    sets = {name: _words(values) for name, values in labels.items() if values.dtype.kind in "UO"}
    alike: dict[frozenset[str], list[str]] = {}
    for words in sorted(sets.values(), key=len, reverse=True):
        if len(words) in ANSWERS and not any(words <= larger for larger in alike):
            alike[words] = [name for name, others in sets.items() if len(others) > 1 and others <= words]
    for words, names in alike.items():
        if len(names) >= MIN_ALIKE:
            d = len(words)
            what = f"columns {join_limited(list(map(repr, names)))} have the same {d} words, whose order is not known"
            fix = f"to fit them as numbers write 1 to {d} for the words in the file; fit mix takes them as categories"
            yield DataWarning(f"{what}, and are not fitted", columns=names, fix=fix)


def _words(values: Array) -> frozenset[Any]:
    """Return the different texts of a column; none where one of them is a number."""
    found = frozenset(str(value) for value in np.unique(values.astype(str)) if value)
    return frozenset() if any(map(is_number, found)) else found

"""Categories that are spelled in several ways: Male, male and MALE."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from eigenlens.data.files.scan import format_options
from eigenlens.errors import DataWarning, join_limited

MAX_LETTERS = 4
"""More letters than this that occur in both cases are letters, as in handwriting, and no spellings."""

MAX_CATEGORIES = 1_000
"""With more different texts than this a column holds names, in which case may matter."""


def spelling_warnings(table: Any) -> Iterator[DataWarning]:
    """Yield a warning of each column of text, a feature or a label, with spellings that differ in case or spaces."""
    taken = "ignore_case" in format_options(table.paths)
    for name, values in _columns_of_text(table):
        groups = find_spellings(values) if len(values) <= MAX_CATEGORIES else []
        if groups:
            shown = " and ".join(join_limited([repr(each) for each in group], 3) for group in groups[:2])
            more = f" and {len(groups) - 2} more sets" if len(groups) > 2 else ""
            what = f"column {name!r} has categories that differ in case or spaces alone ({shown}{more}) and count apart"
            fix = "if they are the same, " + ("give {ignore_case}" if taken else "spell them alike in the file")
            settings = {"ignore_case": [name]} if taken else {}
            yield DataWarning(what, columns=[name], fix=fix, settings=settings)


def find_spellings(values: Iterable[str]) -> list[list[str]]:
    """Return sets of different texts that are alike in lower case and with single spaces.

    >>> find_spellings(["Male", "not known", "male", "MALE", "Not  known"])
    [['Male', 'male', 'MALE'], ['not known', 'Not  known']]
    >>> find_spellings("abcdeABCDE")
    []
    """
    groups: dict[str, list[str]] = {}
    for value in dict.fromkeys(values):
        groups.setdefault(" ".join(value.lower().split()), []).append(value)
    found = [group for group in groups.values() if len(group) > 1]
    letters = sum(len(group[0]) == 1 for group in found)
    return [] if letters > MAX_LETTERS else found


def _columns_of_text(table: Any) -> Iterator[tuple[str, list[str]]]:
    """Yield the columns of text that are features, classes or colours, with their different entries."""
    if hasattr(table.source, "iter_columns"):
        for column in table.source.iter_columns():
            if str(column.dtype) == "String":
                yield column.name, column.drop_nulls().unique(maintain_order=True).head(MAX_CATEGORIES + 1).to_list()
    for name, values in table.labels.items():
        if values.dtype.kind in "UO":
            _, first = np.unique(values.astype(str), return_index=True)
            yield name, [str(values[place]) for place in np.sort(first)[: MAX_CATEGORIES + 1] if values[place]]

"""The columns of a file that are features: those asked for, less the dropped, the ids and the labels."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from eigenlens.errors import DataError, OptionError

__all__ = ["Selection", "listed_columns"]

Name = Any  # a column's name, or its position where columns have no names


@dataclass(frozen=True)
class Selection:
    """The columns that the user asks for (None: all), and those that are not features."""

    columns: Sequence[Name] | None = None
    drop: Sequence[Name] | None = None
    id: Name | None = None
    label: Name | None = None

    def features(self, available: Sequence[Name]) -> tuple[Name, ...]:
        """Return the features among the available columns, in the order asked for, or else in the file's.

        >>> Selection(drop=["b"], id="a").features(["a", "b", "c", "d"])
        ('c', 'd')
        >>> Selection(columns=["hight"]).features(["height", "mass"])
        Traceback (most recent call last):
          ...
        eigenlens.errors.OptionError: columns='hight' is not a column of the file; near it: 'height'.
        """
        wanted = listed_columns(self.columns, "columns", available)
        dropped = listed_columns(self.drop, "drop", available)
        others = [name for name in (self.id, self.label) if name is not None]
        for option, name in (("id", self.id), ("label", self.label)):
            if name is not None:
                _check_known(name, option, available)
        left = list(available) if self.columns is None else wanted
        excluded = {*dropped, *others}
        chosen = tuple(name for name in left if name not in excluded)
        if not chosen:
            raise DataError(f"no column is left as a feature of the {len(available)} in the file", fix="drop fewer")
        return chosen


def listed_columns(names: Sequence[Name] | None, option: str, available: Sequence[Name]) -> list[Name]:
    """Return the columns that an option names, each once, all of them among the available ones."""
    listed = [] if names is None else [names] if isinstance(names, str | int) else list(names)
    known = available if isinstance(available, range) else set(available)
    for name in listed:
        if name not in known or isinstance(known, range):
            _check_known(name, option, available)
    repeated = [name for name, times in Counter(listed).items() if times > 1]
    if repeated:
        raise OptionError(f"names {repeated[0]!r} twice", argument=option, fix="name each column once")
    return listed


def _check_known(name: Hashable, option: str, available: Sequence[Name]) -> None:
    if isinstance(available, range):
        if not isinstance(name, int) or name not in available:
            bound = f"0 to {len(available) - 1}"
            what = f"must be a position from {bound}: .npy columns have no names"
            raise OptionError(what, argument=option, value=name)
    elif name not in available:
        near = difflib.get_close_matches(str(name), list(available), n=3, cutoff=0.5) or list(available)[:5]
        offer = ", ".join(map(repr, near))
        raise OptionError("is not a column of the file", argument=option, value=name, fix=f"near it: {offer}")

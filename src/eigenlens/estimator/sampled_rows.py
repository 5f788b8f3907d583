"""Rows drawn from a model, which cannot be mistaken for the pair of rows and labels."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np

from eigenlens.errors import OptionError


class SampledRows(np.ndarray):
    """Rows (n, d) that `sample` returns: an array in everything, except that `X, y = model.sample(n)` is an error.

    scikit-learn's mixtures return rows and labels, and two rows would be taken for these silently. Only this
    array itself behaves so, not what is made of it: `x, y = rows.T` has the two columns.

    >>> rows = sampled_rows(np.zeros((2, 3)))
    >>> len([row for row in rows]), type(rows[:1]).__name__, type(rows + 1.0).__name__
    (2, 'ndarray', 'ndarray')
    >>> x, y, z = rows.T
    >>> X, y = rows
    Traceback (most recent call last):
      ...
    eigenlens.errors.OptionError: sample returns rows, not a pair; for rows and labels write \
X, y = sample(…, return_labels=True), and for two rows np.asarray(sample(2)).
    """

    _is_drawn = False

    def __iter__(self) -> Iterator[Any]:
        if self._is_drawn and _unpacks_pair(sys._getframe(1)):
            raise _pair_error()
        return iter(self.view(np.ndarray))

    def __getitem__(self, key: Any) -> Any:
        return self.view(np.ndarray)[key]

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))

    def __reduce__(self) -> Any:
        return self.view(np.ndarray).__reduce__()


def sampled_rows(rows: Any) -> Any:
    """Return drawn rows as `SampledRows`; tensors and frames unchanged, for a method `sample` whose caller keeps them.

    Two rows of a tensor, or two columns of a frame, would be unpacked as silently, so `X, y = model.sample(n)` is an
    error here already: these containers cannot look at what is done with them later.
    """
    if type(rows) is not np.ndarray:
        if _unpacks_pair(sys._getframe(2), after_call=True):
            raise _pair_error()
        return rows
    drawn = rows.view(SampledRows)
    drawn._is_drawn = True
    return drawn


def _pair_error() -> OptionError:
    fix = "for rows and labels write X, y = sample(…, return_labels=True), and for two rows np.asarray(sample(2))"
    return OptionError("sample returns rows, not a pair", fix=fix)


def _unpacks_pair(frame: FrameType, *, after_call: bool = False) -> bool:
    """Return whether a frame assigns the two parts of a sequence to two names, now or after the call that it makes."""
    if sys.implementation.name != "cpython":  # others have other instructions: there two rows unpack as two rows
        return False
    code, place = frame.f_code.co_code, frame.f_lasti
    if after_call:
        place += 2
        while dis.opname[code[place]] == "CACHE":
            place += 2
    return dis.opname[code[place]] == "UNPACK_SEQUENCE" and code[place + 1] == 2

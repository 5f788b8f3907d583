"""Digests of what a pass or a call depends on: arrays by their entries, functions by their names and what they hold.

Two equal digests mean the same work. Values of classes that are not dataclasses enter by the names of their classes
alone: a digest confirms that a recorded total belongs to a pass, whose place among the others says the rest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from eigenlens.arrays import Array, is_sparse

DIGEST_BYTES = 16


def digest(*values: Any) -> str:
    """Return the digest of values as hexadecimal text.

    >>> digest(np.arange(3.0), "a") == digest(np.arange(3.0), "a"), digest([1, 2]) == digest([1, 3])
    (True, False)
    """
    found = _Digest()
    for value in values:
        found.add(value)
    return found.hash.hexdigest()


class _Digest:
    """A hash to which values are added; one that is met inside itself is not followed again."""

    def __init__(self) -> None:
        self.hash = hashlib.blake2b(digest_size=DIGEST_BYTES)
        self._within: set[int] = set()

    def text(self, *words: object) -> None:
        """Add texts, their ends marked."""
        self.hash.update("\0".join([*map(str, words), "\1"]).encode("utf-8", "surrogatepass"))

    def add(self, value: Any) -> None:
        """Add a value and everything that it depends on."""
        if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic | np.dtype):
            self.text(type(value).__name__, repr(value))
        elif isinstance(value, np.ndarray):
            self._array(value)
        elif id(value) not in self._within:
            self._within.add(id(value))
            self._nested(value)
            self._within.discard(id(value))

    def _array(self, value: Array) -> None:
        # The order in memory decides about the last bits; an array in column order is not copied either.
        by_columns = value.flags.f_contiguous and not value.flags.c_contiguous
        self.text("array", value.dtype, value.shape, by_columns)
        if value.dtype.kind in "OT":
            self.text(*map(repr, value.ravel().tolist()))
        else:
            self.hash.update(np.ascontiguousarray(value.T if by_columns else value).reshape(-1).view(np.uint8).data)

    def _nested(self, value: Any) -> None:
        self.text(type(value).__qualname__)
        for part in _parts(value):
            self.add(part)


def _parts(value: Any) -> list[Any]:
    """Return what a value depends on."""
    if isinstance(value, Mapping):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value))
    if isinstance(value, list | tuple | range):
        return list(value)
    if isinstance(value, FunctionType | BuiltinFunctionType | MethodType | partial):
        return _function_parts(value)
    if isinstance(value, type | np.ufunc):
        return [getattr(value, "__module__", ""), value.__name__]
    if isinstance(value, np.random.Generator):
        return [value.bit_generator.state]
    if isinstance(value, np.random.RandomState):
        return [value.get_state(legacy=False)]
    if is_sparse(value):
        return [value.shape, *(getattr(value.tocsr(), name) for name in ("data", "indices", "indptr"))]
    if hasattr(value, "fold"):
        return _source_parts(value)
    return [getattr(value, each.name, None) for each in fields(value)] if is_dataclass(value) else []


def _function_parts(function: Any) -> list[Any]:
    if isinstance(function, partial):
        return [function.func, function.args, function.keywords]
    if isinstance(function, MethodType):
        return [function.__func__, function.__self__]
    inner = [cell.cell_contents for cell in getattr(function, "__closure__", None) or () if _is_set(cell)]
    given = getattr(function, "__defaults__", None), getattr(function, "__kwdefaults__", None)
    return [function.__module__, function.__qualname__, *inner, *given]


def _is_set(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # a variable that has no value yet
        return False


def _source_parts(source: Any) -> list[Any]:
    """Return the parts of a source: of one made of another what it does to that; its rows are those of the call."""
    own = {name: value for name, value in vars(source).items() if not name.startswith("_")} if _is_made(source) else {}
    return [source.n_features, str(source.dtype), source.weight, own]


def _is_made(source: Any) -> bool:
    return hasattr(source, "source")

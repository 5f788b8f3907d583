"""Totals of passes as bytes, without pickle: numbers, texts, arrays, containers and values of this package's classes.

What is read back has the same bits, types and memory order, so that what is computed of it has the same bits too.
Nothing in the bytes is executed: classes are looked up in this package, and their values are made without a call.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.format import descr_to_dtype, dtype_to_descr

from eigenlens.arrays import Array, is_sparse

PACKAGE = __name__.partition(".")[0]

LENGTH_BYTES = 8
"""The bytes of the length of the JSON, which comes first."""


class Unencodable(TypeError):
    """A value has a part that has no encoding, such as a function or a value of another package's class."""


Buffer = bytes | bytearray | memoryview


def encode_value(value: Any) -> list[Buffer]:
    """Return a value as bytes, in parts that follow each other; those of arrays are views, so that nothing is copied.

    A value without an encoding raises `Unencodable`.

    >>> decode_value(b"".join(encode_value({"mean": np.arange(3.0), "rows": (3, None)})))
    {'mean': array([0., 1., 2.]), 'rows': (3, None)}
    """
    arrays: list[Array] = []
    text = json.dumps(_tree(value, arrays), separators=(",", ":")).encode()
    return [len(text).to_bytes(LENGTH_BYTES, "little"), text, *map(_array_bytes, arrays)]


def decode_value(data: Buffer) -> Any:
    """Return the value whose parts `encode_value` gave, joined."""
    view = memoryview(data)
    start = LENGTH_BYTES + int.from_bytes(view[:LENGTH_BYTES], "little")
    return _value(json.loads(bytes(view[LENGTH_BYTES:start])), _Buffers(view[start:]))


# ---- values to trees ----------------------------------------------------------------------------------------


def _tree(value: Any, arrays: list[Array]) -> Any:
    """Return JSON for a value: plain values as themselves, others as [kind, …]; arrays are added to the list."""
    if value is None or isinstance(value, bool | str) or type(value) is int:
        return value
    if type(value) is float:
        return ["float", value.hex()]
    for kind, (fits, parts, _) in KINDS.items():
        if fits(value):
            return [kind, *(_tree(part, arrays) if nested else part for nested, part in parts(value, arrays))]
    raise Unencodable(f"a {type(value).__module__}.{type(value).__qualname__} has no encoding")


Parts = Iterator[tuple[bool, Any]]
"""The parts of a value: whether each is a value itself, and the part."""


def _array_parts(value: Array, arrays: list[Array]) -> Parts:
    if value.dtype.kind == "O":
        yield from [(False, None), (False, list(value.shape)), (True, value.ravel().tolist())]
        return
    order = sorted(range(value.ndim), key=lambda axis: -abs(value.strides[axis]))
    arrays.append(value.transpose(order))
    yield from [(False, dtype_to_descr(value.dtype)), (False, list(value.shape)), (False, order)]


def _array_bytes(value: Array) -> Buffer:
    plain = np.ascontiguousarray(value)
    return plain.reshape(-1).view(np.uint8).data if plain.size else b""


def _scalar_parts(value: Any, arrays: list[Array]) -> Parts:
    yield True, np.asarray(value)


def _list_parts(value: Any, arrays: list[Array]) -> Parts:
    return ((True, item) for item in value)


def _dict_parts(value: dict[Any, Any], arrays: list[Array]) -> Parts:
    return ((True, item) for pair in value.items() for item in pair)


def _sparse_parts(value: Any, arrays: list[Array]) -> Parts:
    if value.format != "csr":
        raise Unencodable(f"a {value.format} matrix has no encoding")
    yield False, type(value).__name__
    yield False, list(value.shape)
    yield from ((True, part) for part in (value.data, value.indices, value.indptr))


def _object_parts(value: Any, arrays: list[Array]) -> Parts:
    kind = type(value)
    if find_class(kind.__module__, kind.__qualname__) is not kind:
        raise Unencodable(f"a {kind.__module__}.{kind.__qualname__} cannot be found by its name")
    yield from [(False, kind.__module__), (False, kind.__qualname__)]
    yield True, tuple(value) if isinstance(value, tuple) else None
    yield True, _attributes(value)


def _attributes(value: Any) -> dict[str, Any]:
    slots = [name for each in type(value).__mro__ for name in getattr(each, "__slots__", ())]
    return {name: getattr(value, name) for name in slots if hasattr(value, name)} | getattr(value, "__dict__", {})


# ---- trees to values ----------------------------------------------------------------------------------------


class _Buffers:
    """The bytes of arrays, taken one after the other."""

    def __init__(self, data: memoryview) -> None:
        self._data = data

    def take(self, size: int) -> memoryview:
        if size > len(self._data):
            raise ValueError("the bytes of an array are missing")
        found, self._data = self._data[:size], self._data[size:]
        return found


def _value(tree: Any, buffers: _Buffers) -> Any:
    if not isinstance(tree, list):
        return tree
    kind, *parts = tree
    return float.fromhex(parts[0]) if kind == "float" else KINDS[kind][2](parts, buffers)


def _values(trees: list[Any], buffers: _Buffers) -> list[Any]:
    return [_value(tree, buffers) for tree in trees]


def _make_array(parts: list[Any], buffers: _Buffers) -> Array:
    descr, shape, order = parts
    if descr is None:
        found = np.empty(int(np.prod(shape)), dtype=object)
        found[:] = _value(order, buffers)
        return found.reshape(shape)
    dtype = descr_to_dtype(_tuples(descr))
    stored = np.empty([shape[axis] for axis in order], dtype=dtype)  # a copy of its own, aligned and writable
    stored.reshape(-1).view(np.uint8).data[:] = buffers.take(stored.nbytes)
    return np.asarray(stored.transpose(np.argsort(order)) if order else stored)


def _tuples(descr: Any) -> Any:
    """Return the description of a type with the tuples that JSON makes lists of."""
    return [tuple(map(_tuples, each)) for each in descr] if isinstance(descr, list) else descr


def _make_dict(parts: list[Any], buffers: _Buffers) -> dict[Any, Any]:
    items = _values(parts, buffers)
    return dict(zip(items[::2], items[1::2], strict=True))


def _make_sparse(parts: list[Any], buffers: _Buffers) -> Any:
    from scipy import sparse

    name, shape, *arrays = parts
    make = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}[name]
    return make(tuple(_values(arrays, buffers)), shape=tuple(shape))


def _make_object(parts: list[Any], buffers: _Buffers) -> Any:
    module, name, items, attributes = parts
    kind = find_class(module, name)
    if kind is None:
        raise ValueError(f"this version has no {module}.{name}")
    entries = _value(items, buffers)
    base: Any = object if entries is None else tuple
    made = base.__new__(kind, *([] if entries is None else [entries]))
    for attribute, value in _value(attributes, buffers).items():
        object.__setattr__(made, attribute, value)
    return made


def find_class(module: str, name: str) -> type[Any] | None:
    """Return the class of this package with a name, or None."""
    if module != PACKAGE and not module.startswith(f"{PACKAGE}."):
        return None
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return None
    return found if isinstance(found, type) and found.__module__.startswith(PACKAGE) else None


Fits = Callable[[Any], bool]
Take = Callable[[Any, list[Array]], Parts]
Make = Callable[[list[Any], _Buffers], Any]

KINDS: dict[str, tuple[Fits, Take, Make]] = {
    "array": (lambda value: type(value) is np.ndarray and value.dtype.kind in "fiubcUSO", _array_parts, _make_array),
    "record": (lambda value: type(value) is np.ndarray and value.dtype.names is not None, _array_parts, _make_array),
    "scalar": (
        lambda value: isinstance(value, np.generic),
        _scalar_parts,
        lambda parts, buffers: _value(parts[0], buffers)[()],
    ),
    "tuple": (lambda value: type(value) is tuple, _list_parts, lambda parts, buffers: tuple(_values(parts, buffers))),
    "list": (lambda value: type(value) is list, _list_parts, _values),
    "set": (lambda value: type(value) is set, _list_parts, lambda parts, buffers: set(_values(parts, buffers))),
    "dict": (lambda value: type(value) is dict, _dict_parts, _make_dict),
    "sparse": (is_sparse, _sparse_parts, _make_sparse),
    "object": (
        lambda value: type(value).__module__.partition(".")[0] == PACKAGE,
        _object_parts,
        _make_object,
    ),
}
"""What can be encoded besides numbers and texts: how it is recognised, its parts, and how it is made of them."""

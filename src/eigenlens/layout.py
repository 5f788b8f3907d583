"""Frozen dataclasses in model files: their fields have names there, obey the laws of their class, and come back.

A `Layout` gives the fields their names in the file, so that fields can be renamed while files keep their format: `pack`
and `unpack` work for every dataclass of arrays, numbers, texts, tuples and dataclasses.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import EigenlensError, ModelFileError
from eigenlens.laws import check_law, check_relations, require


@dataclass(frozen=True)
class Layout:
    """The names that the fields of a frozen dataclass have in a model file.

    Attributes:
        kind: the dataclass.
        arrays: fields stored as arrays: a sequence of names, or {field: stored name}. Arrays, tuples of numbers, and
            numbers; None is not stored.
        header: fields stored in the header, likewise.
        parts: {field: layout} of fields that are dataclasses themselves.
        prefix: what the stored names of the arrays begin with.
        place: the header entry with the fields; by default they are entries themselves.
        as_list: whether that entry is a list of their values, in order, rather than a dict.
        later: fields that the files of earlier versions lack.
        optional: whether the value may be None.

    The class may state the `laws` of its fields, and `relations` between them: see `eigenlens.laws`.
    """

    kind: type[Any]
    arrays: Iterable[str] | Mapping[str, str] = ()
    header: Iterable[str] | Mapping[str, str] = ()
    parts: Mapping[str, Layout] = field(default_factory=dict)
    prefix: str = ""
    place: str = ""
    as_list: bool = False
    later: Sequence[str] = ()
    optional: bool = False


def pack(value: Any, layout: Layout) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the arrays and the header entries of a frozen dataclass, for `write`.

    >>> @dataclass(frozen=True)
    ... class Line:
    ...     slope: Array
    ...     knots: tuple[int, ...]
    ...     residual: float = 0.0
    >>> layout = Layout(Line, arrays={"slope": "a", "knots": "knots"}, header=["residual"], place="fit")
    >>> pack(Line(np.array([2.0]), (1, 2), 0.5), layout)
    ({'a': array([2.]), 'knots': array([1, 2])}, {'fit': {'residual': 0.5}})
    >>> unpack(layout, *pack(Line(np.array([2.0]), (1, 2), 0.5), layout))
    Line(slope=array([2.]), knots=(1, 2), residual=0.5)
    """
    if value is None:
        return {}, {layout.place: None}
    types = _field_types(layout)
    pairs = [(name, getattr(value, own), types[own]) for own, name in _stored_names(layout.arrays)]
    arrays = {layout.prefix + name: _as_array(item, kind) for name, item, kind in pairs if item is not None}
    entries = {name: getattr(value, own) for own, name in _stored_names(layout.header)}
    header: dict[str, Any] = entries
    if layout.place:
        header = {layout.place: list(entries.values()) if layout.as_list else entries}
    more, others = pack_all(*((getattr(value, own), part) for own, part in layout.parts.items()))
    return arrays | more, header | others


def pack_all(*pairs: tuple[Any, Layout]) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the arrays and the header entries of several frozen dataclasses together, each with its layout."""
    arrays: dict[str, Array] = {}
    header: dict[str, Any] = {}
    for value, layout in pairs:
        more, others = pack(value, layout)
        arrays, header = arrays | more, header | others
    return arrays, header


def unpack(
    layout: Layout,
    arrays: Mapping[str, Array],
    header: Mapping[str, Any],
    sizes: dict[str, int] | None = None,
    **others: Any,
) -> Any:
    """Return the frozen dataclass of `pack`, whose fields obey the `laws` and `relations` of the class; or raise.

    Args:
        layout: as for `pack`.
        arrays: of the file.
        header: of the file.
        sizes: of the letters of the laws that are known already; the others are added.
        others: fields that the file does not have.
    """
    known = {} if sizes is None else sizes
    entries = _entries(layout, header)
    if entries is None:
        return None
    parts = {own: unpack(part, arrays, header, known) for own, part in layout.parts.items()}
    types, laws = _field_types(layout), getattr(layout.kind, "laws", {})
    names = {own: layout.prefix + name for own, name in _stored_names(layout.arrays)}
    found = {own: arrays[name] for own, name in names.items() if name in arrays}
    values = {
        own: entry(entries, name, types[own], laws.get(own, "any"))
        for own, name in _stored_names(layout.header)
        if name in entries
    }
    _require_fields(layout, values.keys() | found.keys())
    for own in (each for each in laws if each in found):
        check_law(names[own], laws[own], found[own], known)
    values |= {own: _from_array(array, types[own]) for own, array in found.items()}
    value = layout.kind(**values | parts | others)
    check_relations(value)
    return value


def entry(header: Mapping[str, Any], name: str, kind: str = "int", law: str = "not negative") -> Any:
    """Return an entry of a header, once it is of the type that `kind` names and, if it is a number, obeys the law.

    >>> entry({"rows": 3}, "rows")
    3
    >>> entry({"rows": -3}, "rows")
    Traceback (most recent call last):
      ...
    eigenlens.errors.ModelFileError: 'rows' holds -3.0, and must be not negative.
    """
    require(header, name)
    value, kind_alone = header[name], kind.removesuffix(" | None")
    if value is None and kind_alone != kind:
        return None
    of, _, inner = kind_alone.partition("[")
    is_right, is_inner = JSON_TYPES.get(of), JSON_TYPES.get(inner.partition(",")[0])
    if is_right is not None and not (is_right(value) and (is_inner is None or all(map(is_inner, value)))):
        raise ModelFileError(f"{name!r} is {shorten_value(value)}, and must be of the type {kind}")
    if kind_alone in ("int", "float"):
        check_law(name, law, np.float64(value), {})
    if kind_alone.startswith("tuple"):
        return tuple(value)
    return float(value) if kind_alone == "float" else value


def shorten_value(value: Any) -> str:
    """Return a value of a header in at most 80 characters, lists and objects by that word, for an error."""
    text = repr(value) if not isinstance(value, list | dict) else f"a {'list' if isinstance(value, list) else 'object'}"
    return text if len(text) < 80 else f"{text[:80]}…"


def _entries(layout: Layout, header: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the entries of the header by their stored names; None for a value that was None."""
    if not layout.place:
        return header
    require(header, layout.place)
    entries, names = header[layout.place], [name for _, name in _stored_names(layout.header)]
    if entries is None and layout.optional:
        return None
    if not isinstance(entries, list if layout.as_list else dict):
        raise ModelFileError(f"{layout.place!r} must be {'a list' if layout.as_list else 'an object'}")
    if isinstance(entries, dict):
        return entries
    if len(entries) > len(names):
        raise ModelFileError(f"{layout.place!r} has {len(entries)} values for {', '.join(names)}")
    return dict(zip(names, entries, strict=False))


def _require_fields(layout: Layout, found: Iterable[str]) -> None:
    """Raise for stored fields that the file lacks, unless they may be None or came with a later version."""
    types, there = _field_types(layout), set(found)
    for own, name in (*_stored_names(layout.arrays), *_stored_names(layout.header)):
        if own not in there and own not in layout.later and "None" not in types[own]:
            raise ModelFileError(f"lacks {layout.prefix + name!r}")


@contextlib.contextmanager
def part_of_file(name: str) -> Iterator[None]:
    """Let errors about entries say in which part of a file they are; an option that no model has is such an error."""
    try:
        yield
    except EigenlensError as error:
        own = error if isinstance(error, ModelFileError) else ModelFileError(error.phrased()[0])
        raise own.replace(within=f"{name}: {own.within}" if own.within else name) from error
    except (KeyError, IndexError, AttributeError, TypeError, ArithmeticError, RecursionError, ValueError) as error:
        what = f"holds what no such model has ({type(error).__name__}: {shorten_value(str(error))})"
        raise ModelFileError(what, within=name) from error


def arrays_under(prefix: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the arrays named `prefix`, or `prefix` and a point, by the rest of their names.

    >>> arrays_under("a", {"a": np.zeros(1), "a.b": np.ones(1), "ab": np.ones(2)})
    {'': array([0.]), 'b': array([1.])}
    """
    parts = ((name.partition("."), array) for name, array in arrays.items())
    return {rest: array for (first, _, rest), array in parts if first == prefix}


def _stored_names(names: Iterable[str] | Mapping[str, str]) -> list[tuple[str, str]]:
    return list(names.items()) if isinstance(names, Mapping) else [(name, name) for name in names]


def _field_types(layout: Layout) -> dict[str, str]:
    """Return the annotations of the fields, as text: they tell tuples and whole numbers, which arrays forget."""
    return {each.name: str(each.type) for each in fields(layout.kind)}


def _as_array(value: Any, kind: str) -> Array:
    if isinstance(value, tuple):  # an empty one has no type of its own
        return np.asarray(value, dtype=np.int64 if "int" in kind else np.float64)
    return np.asarray(value)


def _from_array(array: Array, kind: str) -> Any:
    if kind.startswith("tuple"):
        return tuple(array.tolist())
    return array if array.ndim else float(array)


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**1000)


JSON_TYPES: dict[str, Callable[[Any], bool]] = {
    "float": _is_number,
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63,
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "list": lambda value: isinstance(value, list),
    "tuple": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
"""The values of a header that fields of these types may have."""

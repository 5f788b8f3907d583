"""Model files: safetensors with a JSON header and a digest, no pickle.

A file is written whole or not at all, and read whole or not at all: a truncated, altered, foreign or newer file raises
a `ModelFileError` that names which of these it is. Nothing in a file is ever executed.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.errors import ModelFileError, OptionError
from eigenlens.file_replacement import replace_file

FORMAT = 1
"""The newest file format this version writes and reads."""

_KEY = "eigenlens"
_DTYPES = frozenset(map(np.dtype, ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]))
_LONGEST_HEADER = 100_000_000  # safetensors reads no longer one
_NONFINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_UPGRADE = "upgrade with pip install --upgrade eigenlens"
_COPY_AGAIN = "copy it again from its origin, or save the model again"


def write(
    path: str | os.PathLike[str],
    kind: str,
    arrays: Mapping[str, Array],
    header: Mapping[str, Any],
    *,
    overwrite: bool = True,
) -> None:
    """Write named arrays and a header of JSON values to `path`, atomically.

    The file is completed in a temporary folder beside it and then renamed, so that `path` holds either what it
    held before or the whole new value, whatever interrupts the call.

    Args:
        path: where to write; its folder must exist. A symbolic link stays a link.
        kind: the kind of value, by which the reader chooses how to restore it.
        arrays: float32, float64, integer or boolean arrays of any shape, also 0-d and empty.
        header: numbers (NaN and infinities too), strings, booleans, None, and lists and dicts of these. NumPy
            scalars become Python's, tuples become lists.
        overwrite: whether a file at `path` may be replaced.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "line.safetensors"
    ...     write(path, "line", {"slope": np.array([2.0])}, {"names": ["x"], "missing": float("nan")})
    ...     read(path)
    ('line', {'slope': array([2.])}, {'names': ['x'], 'missing': nan})
    """
    target = checks.target_file(path, overwrite=overwrite)
    tensors = {_check_name(name): _storable(name, array) for name, array in arrays.items()}
    envelope = {"format": FORMAT, "kind": str(kind), "version": _version(), "digest": ""}
    envelope["header"] = _encode(dict(header), "header")
    envelope["digest"] = _digest(envelope, tensors)
    data = safetensors.numpy.save(tensors, metadata={_KEY: _dumps(envelope)})
    if int.from_bytes(data[:8], "little") > _LONGEST_HEADER:
        what = f"needs more than {_LONGEST_HEADER} bytes of JSON"
        raise OptionError(what, argument="header", fix="put large values in arrays")
    replace_file(target, data)


def read(path: str | os.PathLike[str]) -> tuple[str, dict[str, Array], dict[str, Any]]:
    """Return the (kind, arrays, header) that `write` put into `path`; arrays by name, in alphabetical order.

    Every byte is checked: the digest covers kind, header, names, dtypes, shapes and values, and what it does not cover
    (the container's own text) must have the one form that `write` gives it.
    """
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        fix = "give that of a file saved by eigenlens"
        raise OptionError("is not a file name", argument="path", value=path, fix=fix)
    checks.possible_path(os.fspath(path))
    data = _bytes(path)
    text, container = _container(path, data)
    envelope = _envelope(path, container)
    _check_length(path, len(data), 8 + len(text) + _extent(path, container))
    if text.rstrip(b" ")[-1:] != b"}":
        raise _error(path, "was altered after it was saved (in its padding)")
    try:
        loaded = safetensors.numpy.load(data)
        arrays = {name: loaded[name] for name in sorted(loaded)}
        intact = envelope["digest"] == _digest(envelope, arrays)
        header = _decode(envelope["header"])
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise _error(path, f"was altered after it was saved ({error})") from error
    if not intact:
        raise _error(path, "was altered after it was saved (its digest does not match)")
    return envelope["kind"], arrays, header


def as_read(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return a header as `read` returns what `write` wrote: tuples as lists, numbers of NumPy as Python's."""
    plain: dict[str, Any] = _decode(_encode(dict(header), "header"))
    return plain


def version_advice(path: str | os.PathLike[str]) -> str:
    """Return the way out for a file whose entries are not understood: another version may have written it."""
    written = _envelope(path, _container(path, _bytes(path))[1])["version"]
    if written == _version():
        return _COPY_AGAIN
    return f"it was written by eigenlens {written}, and this is {_version()}: {_UPGRADE}"


def _error(path: str | os.PathLike[str], what: str, fix: str = _COPY_AGAIN) -> ModelFileError:
    return ModelFileError(f"{os.fspath(path)} {what}", fix=fix)


def _version() -> str:
    try:
        return importlib.metadata.version("eigenlens")
    except importlib.metadata.PackageNotFoundError:  # run from a source tree
        return "unknown"


# ---- the header: JSON, with the three floats that JSON lacks ----------------------------------------------


def _dumps(value: Any, *, sort_keys: bool = False) -> str:
    return json.dumps(value, sort_keys=sort_keys, separators=(",", ":"), allow_nan=False)


def _encode(value: Any, key: str) -> Any:
    """Return `value` as plain JSON values; `key` is its place, for the error."""
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if math.isfinite(number) else {"$float": repr(number)}
    if isinstance(value, (list, tuple)):
        return [_encode(item, f"{key}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, dict):
        return {_escaped(name, key): _encode(item, f"{key}[{name!r}]") for name, item in value.items()}
    what = f"{key} is of type {type(value).__name__}, which a model file's header cannot hold"
    raise OptionError(what, fix="use numbers, strings, booleans, None, lists and dicts, and put arrays in arrays")


def _escaped(name: Any, key: str) -> str:
    if not isinstance(name, str):
        raise OptionError(f"{key} has the key {name!r} of type {type(name).__name__}, but keys must be strings")
    return f"${name}" if name.startswith("$") else str(name)


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if isinstance(value, dict):
        if "$float" in value:
            return _NONFINITE[value["$float"]]
        return {name[1:] if name.startswith("$") else name: _decode(item) for name, item in value.items()}
    return value


# ---- the arrays -------------------------------------------------------------------------------------------


def _check_name(name: str) -> str:
    try:
        name.encode()
    except (AttributeError, UnicodeEncodeError):
        raise OptionError(f"the name {name!r} of an array must be a string of valid Unicode") from None
    if name == "__metadata__":
        raise OptionError("the name '__metadata__' of an array is reserved by the file format", fix="choose another")
    return name


def _storable(name: str, array: Any) -> Array:
    """Return the array in C order and native byte order: the container copies its memory unchanged."""
    array = np.asarray(array)
    native = array.dtype.newbyteorder("=")
    if native not in _DTYPES:
        what = f"arrays[{name!r}] has dtype {array.dtype}, which a model file cannot hold"
        raise OptionError(what, fix="use float32, float64, an integer type or bool, and put strings in the header")
    return np.asarray(array, dtype=native, order="C")


def _digest(envelope: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    """Return the SHA-256 of the canonical envelope and of each array's name, dtype, shape and little-endian bytes."""
    sha = hashlib.sha256()
    claims = {key: value for key, value in envelope.items() if key != "digest"}
    sha.update(_dumps(claims, sort_keys=True).encode() + b"\n")
    for name in sorted(arrays):
        array = arrays[name]
        sha.update(_dumps([name, array.dtype.name, list(array.shape)]).encode() + b"\n")
        sha.update(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
    return sha.hexdigest()


# ---- the file, in -----------------------------------------------------------------------------------------


def _bytes(path: str | os.PathLike[str]) -> bytes:
    if os.path.isdir(path):
        raise _error(path, "is a folder", "name the model file in it")
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise _error(path, "does not exist", "check the name") from None
    except OSError as error:
        raise _error(path, f"cannot be read ({error.strerror})", "check its permissions") from error


def _container(path: str | os.PathLike[str], data: bytes) -> tuple[bytes, dict[str, Any]]:
    """Return the safetensors header of `data`, as text and parsed: 8 bytes of length, then a JSON object."""
    if not data:
        raise _error(path, "is empty")
    length = int.from_bytes(data[:8], "little")
    if data[8:9] != b"{" or length > _LONGEST_HEADER:
        raise _error(path, "is not a safetensors file, or lost its beginning", "name a file saved by eigenlens")
    _check_length(path, len(data), 8 + length, more=True)
    text = data[8 : 8 + length]
    container = _parsed(text)
    if container is None:
        raise _error(path, "is not a safetensors file, or was altered (its header is not JSON)")
    return text, container


def _parsed(text: bytes | str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _envelope(path: str | os.PathLike[str], container: Mapping[str, Any]) -> dict[str, Any]:
    metadata = container.get("__metadata__")
    if not isinstance(metadata, dict) or not isinstance(metadata.get(_KEY), str):
        raise _error(path, "is a safetensors file, but not one of eigenlens", "name a file saved by eigenlens")
    envelope = _parsed(metadata[_KEY])
    if envelope is None or not _typed(envelope, {"format": int, "version": str}):
        raise _error(path, "was altered after it was saved (in its header)")
    if isinstance(envelope["format"], bool) or envelope["format"] < 1:
        raise _error(path, f"was altered after it was saved (its format is {envelope['format']})")
    if envelope["format"] > FORMAT:
        raise _error(
            path,
            f"was written by eigenlens {envelope['version']} in format {envelope['format']}, and this is eigenlens "
            f"{_version()}, which reads up to format {FORMAT}",
            _UPGRADE,
        )
    if not _typed(envelope, {"kind": str, "digest": str, "header": dict}) or not _is_canonical(
        metadata[_KEY], envelope
    ):
        raise _error(path, "was altered after it was saved (in its header)")
    return envelope


def _typed(envelope: Mapping[str, Any], kinds: Mapping[str, type]) -> bool:
    return all(isinstance(envelope.get(key), kind) for key, kind in kinds.items())


def _is_canonical(text: str, envelope: Mapping[str, Any]) -> bool:
    """Return whether `text` is written as `write` does: JSON has several spellings of one value."""
    try:
        return text == _dumps(envelope)
    except (ValueError, RecursionError):
        return False


def _extent(path: str | os.PathLike[str], container: Mapping[str, Any]) -> int:
    """Return the number of bytes of tensors that the container announces."""
    entries = [entry for name, entry in container.items() if name != "__metadata__"]
    try:
        return max((int(entry["data_offsets"][1]) for entry in entries), default=0)
    except (KeyError, IndexError, TypeError, ValueError):
        raise _error(path, "was altered after it was saved (in its header)") from None


def _check_length(path: str | os.PathLike[str], found: int, announced: int, *, more: bool = False) -> None:
    if found < announced:
        raise _error(path, f"is truncated ({found} of {'at least ' if more else ''}{announced} bytes)")

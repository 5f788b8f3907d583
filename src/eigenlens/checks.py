"""Checks of parameters: each returns the valid value, or raises an error that has the argument, value and way out."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Hashable, Iterable, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from eigenlens.arrays import Array, check_indices, dimensions, is_sparse, is_tensor, to_numpy
from eigenlens.checkpoint.passes import seed_entropy
from eigenlens.errors import DataError, OptionError, ResourceError, closest, suggest
from eigenlens.resources import available_memory

MAX_FLOAT = float(np.finfo(np.float64).max)


MAX_STARTS, MAX_REPLICATES, MAX_GRID = 1_000, 100_000, 2_000
"""More starts of an iteration, resampled fits or steps, and points along an axis than these are a slip of the pen."""


def choice(
    argument: str, value: Any, known: Iterable[str], aliases: Mapping[str, str] | None = None, takes: str = ""
) -> Any:
    """Return `value` if it is one of the known names or a function; an alias gives the name that it means.

    takes: the names of what the function is called with, separated by commas, if that is to be checked.

    >>> choice("solver", "lanczoz", ["svd", "lanczos"])
    Traceback (most recent call last):
      ...
    eigenlens.errors.OptionError: solver='lanczoz' is not known; did you mean 'lanczos'? Known: 'svd', 'lanczos'.
    """
    names = list(known)
    if aliases is not None and isinstance(value, str) and value in aliases:
        return aliases[value]
    if callable(value):
        return function(argument, value, takes)
    if isinstance(value, str) and value in names:
        return value
    raise OptionError("is not known", argument=argument, value=value, fix=suggest(closest(value, names), names))


def function(argument: str, value: Any, takes: str = "") -> Any:
    """Return a function of the user's, unless it is a class, or cannot be called with the arguments named in `takes`.

    >>> function("verbose", len, "done, total, label")
    Traceback (most recent call last):
      ...
    eigenlens.errors.OptionError: verbose=<built-in function len> must be a function of (done, total, label).
    """
    if isinstance(value, type):
        raise OptionError("is a class", argument=argument, value=value, fix="give a function, or an instance of it")
    try:
        inspect.signature(value).bind_partial(*takes.split(",")) if takes else None
    except TypeError:
        raise OptionError(f"must be a function of ({takes})", argument=argument, value=value) from None
    except ValueError:  # built-in functions without a signature
        pass
    return value


def column_number(argument: str, value: Any, d: int, names: Iterable[Any] | None = None) -> int:
    """Return the number of one of d columns, given by its name or its number."""
    return _position(argument, value, d, _positions(names))


def column_numbers(
    argument: str, value: Any, d: int, names: Iterable[Any] | None = None, *, low: int = 1, high: int | None = None
) -> list[int]:
    """Return the numbers of between low and high of d columns, given by name or number, each once.

    `value` is a single column or several. A name goes before a number, for columns whose names are numbers.

    >>> column_numbers("columns", ["mass", 0], 3, ["height", "width", "mass"])
    [2, 0]
    >>> column_numbers("columns", "hight", 3, ["height", "width", "mass"])
    Traceback (most recent call last):
      ...
    eigenlens.errors.OptionError: columns='hight' is not one of the 3 columns; did you mean 'height'? Known: 'height', \
'width', 'mass', or a number from 0 to 2.
    """
    if (dimensions(value) or 0) > 1:
        raise OptionError("must be a column or a list of them", argument=argument, value=value)
    value = _in_memory(argument, value)
    value = value.tolist() if dimensions(value) is not None and hasattr(value, "tolist") else value
    single = isinstance(value, str) or not isinstance(value, Iterable)
    given, positions = [value] if single else list(value), _positions(names)
    found = [_position(argument, each, d, positions) for each in given]
    if len(set(found)) < len(found):
        repeated = next(each for place, each in enumerate(given) if found[place] in found[:place])
        raise OptionError(f"names the column {repeated!r} twice", argument=argument, fix="name each column once")
    most = d if high is None else high
    if not low <= len(found) <= most:
        needed = str(low) if low == most else f"between {low} and {most}"
        raise OptionError(f"names {len(found)} columns", argument=argument, fix=f"give {needed} of the {d}, each once")
    return found


# Tuples, since a union of types would be made anew for each column.
_TRUTH_VALUES = (bool, np.bool_)
_NO_NUMBERS = (bool, np.bool_, np.timedelta64)  # NumPy counts durations among the integers
_WHOLE_NUMBERS = (int, np.integer)


def _positions(names: Iterable[Any] | None) -> dict[Any, int]:
    return {} if names is None else {name: j for j, name in enumerate(names)}


def _position(argument: str, value: Any, d: int, positions: Mapping[Any, int]) -> int:
    """Return the number of a column; True and False are neither names nor numbers, and numbers are not negative."""
    is_truth_value = isinstance(value, _TRUTH_VALUES)
    if positions and not is_truth_value and isinstance(value, Hashable) and value in positions:
        return positions[value]
    if isinstance(value, _WHOLE_NUMBERS) and not is_truth_value and 0 <= value < d:
        return int(value)
    number = f"a number from 0 to {d - 1}"
    named = [name for name in positions if isinstance(name, str)]  # others are numbers themselves
    fix = suggest(closest(value, named, 3), named, number) if named else f"use {number}"
    raise OptionError(f"is not one of the {d} columns", argument=argument, value=value, fix=fix)


def distinct_values(argument: str, value: Any, count: int | None = None) -> tuple[Any, ...]:
    """Return `value` as a tuple of different values that can be categories, `count` of them if that is given."""
    value = _in_memory(argument, value)
    given = tuple(value.tolist() if hasattr(value, "tolist") else value) if is_list(value) else ()
    usable = all(isinstance(each, Hashable) for each in given) and len(set(given)) == len(given)
    if not usable or not given or (count is not None and len(given) != count):
        number = "one or more" if count is None else str(count)
        raise OptionError(f"must be {number} different values", argument=argument, value=value)
    if any(isinstance(each, float) and each != each for each in given):
        raise OptionError("holds NaN, which is a missing value and no category", argument=argument, value=value)
    return given


def listed(argument: str, value: Any) -> list[Any]:
    """Return the entries of a list, an array or another iterable; a text or a dictionary is not one."""
    if not is_list(value):
        raise OptionError("must be a list", argument=argument, value=value)
    return list(_in_memory(argument, value))


def is_list(value: Any) -> bool:
    """Return whether value is a list, an array of one dimension or another iterable, but no text and no dictionary."""
    one = isinstance(value, str | bytes | Mapping) or dimensions(value) not in (None, 1)
    return isinstance(value, Iterable) and not one


def _in_memory(argument: str, value: Any) -> Any:
    """Return sparse vectors, tensors and Dask arrays as NumPy's, and anything else unchanged."""
    if is_sparse(value):
        check_indices(value, argument)
        return value.toarray()
    return to_numpy(value, argument) if is_tensor(value) or hasattr(value, "dask") else value


def instance(argument: str, value: Any, kind: type | tuple[type, ...], fix: str = "") -> Any:
    """Return `value` if it is of this class, or of one of these.

    >>> instance("source", 3.5, dict, "give a dictionary")
    Traceback (most recent call last):
      ...
    eigenlens.errors.OptionError: source is a float, and must be a dict; give a dictionary.
    """
    if not isinstance(value, kind):
        names = " or ".join(each.__name__ for each in (kind if isinstance(kind, tuple) else (kind,)))
        raise OptionError(f"is a {type(value).__name__}, and must be a {names}", argument=argument, fix=fix)
    return value


def boolean(argument: str, value: Any) -> bool:
    """Return `value` if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise OptionError("must be True or False", argument=argument, value=value)
    return bool(value)


def name(argument: str, value: Any, known: Iterable[str], aliases: Mapping[str, str] | None = None) -> str:
    """Return `value` if it is one of the known names; a callable is not. An alias gives the name that it means."""
    if callable(value):
        raise OptionError(f"must be one of {', '.join(map(repr, known))}", argument=argument, value=value)
    return str(choice(argument, value, known, aliases))


def integer(argument: str, value: Any, low: int, high: int | None = None, bound: str = "") -> int:
    """Return `value` as an int if it lies between low and high; `bound` explains in words what high is.

    >>> integer("n_components", 12, 1, 8, "the number of features")
    Traceback (most recent call last):
      ...
    eigenlens.errors.OptionError: n_components=12 must be at most 8, the number of features; use n_components=8 or less.
    """
    if not _is_number(value, Integral):
        raise OptionError("must be an integer", argument=argument, value=value)
    if value < low:
        fix = f"use {{{argument}}} or more"
        raise OptionError(f"must be at least {low}", argument=argument, value=value, fix=fix, settings={argument: low})
    if high is not None and value > high:
        what, fix = f"must be at most {high}{', ' + bound if bound else ''}", f"use {{{argument}}} or less"
        raise OptionError(what, argument=argument, value=value, fix=fix, settings={argument: high})
    return int(value)


def sample_size(argument: str, value: Any, width: int, low: int = 1) -> int:
    """Return the number of rows of `width` float64 numbers to draw, from `low` on, that fit into memory."""
    n, most = integer(argument, value, low), available_memory() // (4 * 8 * max(1, width))  # a draw takes copies
    if n > most:
        what = f"is more rows of {width} numbers than fit into the memory that is free, at most {most:.3g}"
        raise ResourceError(what, argument=argument, value=value, fix="draw fewer at a time")
    return n


def integers(argument: str, values: Iterable[Any], low: int, high: int, bound: str = "") -> tuple[int, ...]:
    """Return several integers that all lie between low and high; an error about one of several names all.

    >>> integers("components", (1, 9), 1, 5, "the number of components")
    Traceback (most recent call last):
      ...
    eigenlens.errors.OptionError: components=(1, 9) has 9, which must be at most 5, the number of components.
    """
    given = tuple(listed(argument, values))
    try:
        return tuple(integer(argument, each, low, high, bound) for each in given)
    except OptionError as error:
        if len(given) == 1:
            raise
        what = f"has {error.value!r}, which {error.what}"
        raise OptionError(what, argument=argument, value=given) from None


def _is_number(value: Any, kind: type) -> bool:
    """Return whether value is of this numeric kind; True, False and durations are not numbers here."""
    return isinstance(value, kind) and not isinstance(value, _NO_NUMBERS)


def _as_python(value: Any) -> Any:
    """Return a scalar of NumPy as Python's: compared with a float32, bounds beyond its range would be 0 or infinite."""
    return value.item() if isinstance(value, np.generic) else value


def real(argument: str, value: Any, low: float, high: float = np.inf) -> float:
    """Return `value` as a float if it lies strictly between low and high.

    >>> real("tol", -1.0, 0.0)
    Traceback (most recent call last):
      ...
    eigenlens.errors.OptionError: tol=-1.0 must be a number above 0.
    """
    found = _as_python(value)
    if not _is_number(found, Real) or not low < found < high or not abs(found) <= MAX_FLOAT:
        below = f" and below {high:g}" if high < np.inf else ""
        raise OptionError(f"must be a number above {low:g}{below}", argument=argument, value=value)
    return float(found)


MAX_WIDTH, MIN_WIDTH = 1e150, 1e-150
"""Standard deviations and widths of kernels are between these, so that their squares are normal floats."""


def width(argument: str, value: Any) -> float:
    """Return a standard deviation or a width as a float, whose square floats can hold.

    >>> width("sigma", 1e200)
    Traceback (most recent call last):
      ...
    eigenlens.errors.OptionError: sigma=1e+200 must be a number between 1e-150 and 1e+150.
    """
    found = _as_python(value)
    if not _is_number(found, Real) or not MIN_WIDTH <= found <= MAX_WIDTH:
        what = f"must be a number between {MIN_WIDTH:g} and {MAX_WIDTH:g}"
        raise OptionError(what, argument=argument, value=value)
    return float(found)


def not_negative(argument: str, value: Any, high: float = MAX_FLOAT) -> float:
    """Return `value` as a float if it is finite, at least 0 and at most `high`.

    >>> not_negative("reg_covar", -1)
    Traceback (most recent call last):
      ...
    eigenlens.errors.OptionError: reg_covar=-1 must be a finite number from 0 on.
    """
    found = _as_python(value)
    if not _is_number(found, Real) or not 0.0 <= found <= high:
        bound = "from 0 on" if high == MAX_FLOAT else f"from 0 to {high:g}"
        raise OptionError(f"must be a finite number {bound}", argument=argument, value=value)
    return float(found)


def numbers(argument: str, value: Any) -> Array:
    """Return `value` as an array of float64, of any shape; masked entries are NaN."""
    try:
        array = np.asarray(to_numpy(np.ma.filled(value.astype(float), np.nan) if _is_masked(value) else value))
        real_numbers = array.dtype.kind in "fiub" or (array.dtype.kind == "O" and value is not None)
        found = np.asarray(array, dtype=np.float64) if real_numbers else None
    except (TypeError, ValueError, OverflowError, NotImplementedError):  # the last of tensors that hold no numbers
        found = None
    if found is None:
        raise OptionError("must be a number or an array of numbers", argument=argument, value=value) from None
    return found


def finite(argument: str, value: Any) -> Array:
    """Return `value` as an array of float64, of any shape, none of which is NaN or infinite.

    >>> finite("mean", [0.0, np.nan])
    Traceback (most recent call last):
      ...
    eigenlens.errors.OptionError: mean has nan, and its numbers must be finite.
    """
    found = numbers(argument, value)
    if not np.isfinite(found).all():
        odd = found[~np.isfinite(found)][0]
        raise OptionError(f"has {odd:g}, and its numbers must be finite", argument=argument)
    return found


def _is_masked(value: Any) -> bool:
    return isinstance(value, np.ma.MaskedArray)


def memory(argument: str, value: Any) -> int:
    """Return a number of bytes, given as a positive number or as a text such as "4GB" or "500 MB".

    >>> memory("max_memory", "1.5 GB")
    1500000000
    """
    if isinstance(value, str):
        size = re.fullmatch(r"\s*([0-9.]+)\s*([kMGT]?)(i?)B\s*", value, flags=re.IGNORECASE)
        if size is None or size[1].count(".") > 1 or size[1] == ".":
            what = "must be a number of bytes, or a text such as '4GB' or '500 MB'"
            raise OptionError(what, argument=argument, value=value)
        step = 1024.0 if size[3] else 1000.0
        value = float(size[1]) * step ** ("kmgt".index(size[2].lower()) + 1 if size[2] else 0)
    return int(real(argument, value, 0.0))


def weights(sample_weight: Any, n_rows: int | None) -> Array | None:
    """Return row weights as float64 (n,), or None. A weight of 3 means three copies of the row, 0 leaves it out."""
    if sample_weight is None:
        return None
    try:
        w = numbers("sample_weight", sample_weight)
    except OptionError:
        what = f"is a {type(sample_weight).__name__}{_dtype_of(sample_weight)}; it must hold numbers"
        raise DataError(what, argument="sample_weight", fix="give one weight per row") from None
    if n_rows is not None and w.ndim == 0:
        w = np.full(n_rows, w)
    if w.ndim != 1:  # scikit-learn's checks of estimators look for the last words
        what, fix = f"has {w.ndim} dimensions", "give one weight per row: Sample weights must be 1D"
        raise DataError(what, argument="sample_weight", fix=fix)
    if n_rows is not None and w.size != n_rows:
        what = f"has {w.size} {'entry' if w.size == 1 else 'entries'}, but X has {n_rows} rows"
        raise DataError(what, argument="sample_weight", fix="give one weight per row")
    _check_weights(w)
    return np.array(w)


def _dtype_of(value: Any) -> str:
    return f" of dtype {value.dtype}" if hasattr(value, "dtype") else ""


MAX_TOTAL_WEIGHT = 1e100
"""The largest sum of weights: sums of weighted squares, and their products, must not overflow."""


def _check_weights(w: Array) -> None:
    bad = np.flatnonzero(~np.isfinite(w) | (w < 0.0))
    if bad.size:
        more = f" (and {bad.size - 1} more)" if bad.size > 1 else ""
        what = f"is {w[bad[0]]:g} at index {bad[0]}{more}; weights must be finite and not negative"
        raise DataError(what, argument="sample_weight", fix="correct the weight, or use 0 to leave the row out")
    if not w.any():
        what = "is zero for every row"
        raise DataError(what, argument="sample_weight", fix="give at least one row a positive weight")
    if not w.max() <= MAX_TOTAL_WEIGHT / w.size:
        what = f"has weights as large as {w.max():.3g}; their sum must be at most {MAX_TOTAL_WEIGHT:g}"
        raise DataError(what, argument="sample_weight", fix="divide the weights by a constant")


def total_weight(total: float) -> None:
    """Raise an error unless weights, each of which counts copies of its row, sum to more than one row."""
    if not total > 1.0:
        what = f"sums to {total:g}, but a weight counts copies of its row, so the sum must exceed 1"
        raise DataError(what, argument="sample_weight", fix="multiply the weights by the number of rows")


MAX_NAME_BYTES = 255
"""The longest name of a file or folder that file systems in common use take."""


def file_name(path: Any, argument: str = "path") -> Path:
    """Return the path that an argument means, after checking that a file can have this name.

    >>> file_name("no\\0name", "checkpoint")
    Traceback (most recent call last):
      ...
    eigenlens.errors.OptionError: checkpoint='no\\x00name' is not a file name; give one such as 'results/wine.html'.
    """
    text = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
    if not Path(text).parts:
        fix = "give one such as 'results/wine.html'"
        raise OptionError("is not a file name", argument=argument, value=text or path, fix=fix)
    return possible_path(text, argument)


def possible_path(text: str, argument: str = "path") -> Path:
    """Return a path, unless its letters or their number are those of no file name."""
    try:
        lengths = [len(os.fsencode(part)) for part in Path(text).parts]
    except UnicodeEncodeError:  # halves of characters
        lengths = []
    named: dict[str, Any] = {"argument": argument, "value": text}
    if (text and not lengths) or "\0" in text:
        raise OptionError("is not a file name", **named, fix="give one such as 'results/wine.html'")
    if max(lengths, default=0) > MAX_NAME_BYTES:
        raise OptionError(f"is longer than {MAX_NAME_BYTES} bytes, the most of a file name", **named, fix="shorten it")
    return Path(text)


def target_file(path: Any, *, overwrite: bool = True, make_folder: bool = False) -> Path:
    """Return the path of a file to write, after checking that it can be, and may be replaced.

    make_folder: whether a folder that does not exist is made by the caller, rather than an error.

    >>> target_file("")
    Traceback (most recent call last):
      ...
    eigenlens.errors.OptionError: path='' is not a file name; give one such as 'results/wine.html'.
    """
    target = file_name(path)
    named: dict[str, Any] = {"argument": "path", "value": str(target)}
    if target.is_dir():
        raise OptionError("is a folder", **named, fix="give a file in it")
    if target.exists() and not overwrite:
        fix, settings = "choose another name, or replace it with {overwrite}", {"overwrite": True}
        raise OptionError("exists already", **named, fix=fix, settings=settings)
    if target.exists() and not target.is_file():
        raise OptionError("is a device or a pipe, and no file", **named, fix="give the name of a file")
    if target.exists() and not os.access(target, os.W_OK):
        raise DataError("is read-only", **named, fix="choose another name, or allow it to be written")
    place = Path(os.path.realpath(target))  # where a link leads to
    folder = next(each for each in place.parents if each.exists())
    if not folder.is_dir():
        raise OptionError(f"lies in {str(folder)!r}, which is a file, not a folder", **named, fix="give another path")
    if folder != place.parent and not make_folder:
        missing = place.parent if target.is_symlink() else target.parent
        fix = f"create it first: mkdir -p {str(missing)!r}"
        raise OptionError(f"lies in the folder {missing}, which does not exist", **named, fix=fix)
    if not os.access(folder, os.W_OK):
        what = f"lies in {str(folder)!r}, which cannot be written to"
        raise DataError(what, **named, fix="choose another folder")
    return target


def has_components(model: Any) -> None:
    """Raise for a fitted model of n_components=0, which has no scores or loadings to show."""
    if getattr(model, "n_components_", None) == 0:
        what = f"{type(model).__name__} has no components, so there is nothing to show"
        raise OptionError(what, fix="fit it with n_components=1 or more")


def generator(random_state: Any, argument: str = "random_state") -> np.random.Generator:
    """Return the Generator that `random_state` means: a seed, a Generator, a RandomState or None.

    >>> bool(generator(0).integers(10) == generator(0).integers(10))
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    if random_state is None or (_is_number(random_state, Integral) and random_state >= 0):
        return np.random.default_rng(seed_entropy() if random_state is None else int(random_state))
    what = "must be a non-negative integer, a Generator, a RandomState or None"
    raise OptionError(what, argument=argument, value=random_state)

"""The one gate for parameters: after it nothing validates again. Errors name argument, value, bound and way out."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from eigenlens.arrays import Array, to_numpy
from eigenlens.errors import DataError, OptionError

__all__ = ["boolean", "choice", "generator", "integer", "memory", "name", "real", "weights"]


def choice(name: str, value: Any, known: Iterable[str]) -> Any:
    """`value` if it is one of the known names or a callable.

    >>> choice("solver", "lanczoz", ["svd", "lanczos"])
    Traceback (most recent call last):
      ...
    eigenlens.errors.OptionError: solver='lanczoz' is not known; did you mean 'lanczos'? Known: 'svd', 'lanczos'.
    """
    names = list(known)
    if callable(value) or (isinstance(value, str) and value in names):
        return value
    near = difflib.get_close_matches(str(value), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise OptionError(f"{name}={value!r} is not known{hint} Known: {', '.join(map(repr, names))}.")


def boolean(name: str, value: Any) -> bool:
    """`value` if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise OptionError(f"{name}={value!r} must be True or False.")
    return bool(value)


def name(argument: str, value: Any, known: Iterable[str]) -> str:
    """`value` if it is one of the known names; a callable is not."""
    if callable(value):
        raise OptionError(f"{argument}={value!r} must be one of {', '.join(map(repr, known))}.")
    return str(choice(argument, value, known))


def integer(name: str, value: Any, low: int, high: int | None = None, bound: str = "") -> int:
    """`value` as an int between low and high; `bound` says in words what high is.

    >>> integer("n_components", 12, 1, 8, "the number of features")
    Traceback (most recent call last):
      ...
    eigenlens.errors.OptionError: n_components=12 must be at most 8, the number of features.
    """
    if not _is_number(value, Integral):
        raise OptionError(f"{name}={value!r} must be an integer.")
    if value < low:
        raise OptionError(f"{name}={value} must be at least {low}.")
    if high is not None and value > high:
        raise OptionError(f"{name}={value} must be at most {high}{', ' + bound if bound else ''}.")
    return int(value)


def _is_number(value: Any, kind: type) -> bool:
    """Whether value is of this numeric kind; True and False are not numbers here."""
    return isinstance(value, kind) and not isinstance(value, bool | np.bool_)


def real(name: str, value: Any, low: float, high: float = np.inf) -> float:
    """`value` as a float strictly between low and high.

    >>> real("tol", -1.0, 0.0)
    Traceback (most recent call last):
      ...
    eigenlens.errors.OptionError: tol=-1.0 must be a number above 0 and below inf.
    """
    if not _is_number(value, Real) or not low < float(value) < high:
        raise OptionError(f"{name}={value!r} must be a number above {low:g} and below {high:g}.")
    return float(value)


def memory(name: str, value: Any) -> int:
    """`value` as a number of bytes: a positive number, or a text such as "4GB" or "500 MB".

    >>> memory("max_memory", "1.5 GB")
    1500000000
    """
    if isinstance(value, str):
        found = re.fullmatch(r"\s*([0-9.]+)\s*([kMGT]?)(i?)B\s*", value, flags=re.IGNORECASE)
        if found is None or found[1].count(".") > 1 or found[1] == ".":
            raise OptionError(f"{name}={value!r} must be a number of bytes, or a text such as '4GB' or '500 MB'.")
        step = 1024.0 if found[3] else 1000.0
        value = float(found[1]) * step ** ("kmgt".index(found[2].lower()) + 1 if found[2] else 0)
    return int(real(name, value, 0.0))


def weights(sample_weight: Any, n_rows: int | None) -> Array | None:
    """Row weights as float64 (n,), or None. A weight of 3 is three copies of the row, 0 leaves it out."""
    if sample_weight is None:
        return None
    w = np.asarray(to_numpy(sample_weight))
    if n_rows is not None and w.ndim == 0:
        w = np.full(n_rows, w)
    try:
        w = w.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(f"sample_weight has dtype {w.dtype}; it must hold numbers.") from None
    if w.ndim != 1:
        raise DataError(
            f"sample_weight has {w.ndim} dimensions; it must be one weight a row: Sample weights must be 1D."
        )
    if n_rows is not None and w.size != n_rows:
        raise DataError(f"sample_weight has {w.size} entries, but X has {n_rows} rows; give one weight a row.")
    bad = np.flatnonzero(~np.isfinite(w) | (w < 0.0))
    if bad.size:
        first = int(bad[0])
        raise DataError(
            f"sample_weight[{first}]={w[first]:g} (and {bad.size - 1} more) must be finite and not negative; "
            "a weight says how often its row counts, and 0 leaves it out."
        )
    if not w.any():
        raise DataError(
            "sample_weight is zero for every row, so no row counts; give at least one row a positive weight."
        )
    return np.ascontiguousarray(w)


def generator(random_state: Any) -> np.random.Generator:
    """A seed, a Generator, a RandomState or None becomes a Generator, here and only here.

    >>> bool(generator(0).integers(10) == generator(0).integers(10))
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    if random_state is None or (_is_number(random_state, Integral) and random_state >= 0):
        return np.random.default_rng(None if random_state is None else int(random_state))
    raise OptionError(
        f"random_state={random_state!r} must be a non-negative integer, a Generator, a RandomState or None."
    )

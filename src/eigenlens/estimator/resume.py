"""Calls with a checkpoint: what is compared between the call that was killed and the one that resumes it."""

from __future__ import annotations

import importlib.metadata
import inspect
import platform
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from eigenlens.checkpoint.describe import digest
from eigenlens.checkpoint.passes import record_passes
from eigenlens.data.coerce import is_dask, rereadable
from eigenlens.data.fingerprint import describe_rows
from eigenlens.errors import OptionError, show_value
from eigenlens.estimator.rows import column_as_table
from eigenlens.resources import thread_count

LIBRARIES = ("eigenlens", "numpy", "scipy")
"""Packages whose versions decide about the last bits."""

NOT_COMPARED = ("verbose", "checkpoint")
"""Arguments that do not change the result."""


def resume_call(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function or method whose argument `checkpoint` is taken away, and its passes recorded there, or read."""
    checkpoint = options.get("checkpoint")
    if checkpoint is None:  # without a look at the signature, which takes as long as some fits
        return function(*arguments, **options)
    signature = inspect.signature(function)
    if "checkpoint" not in signature.parameters:
        return function(*arguments, **options)
    bound = signature.bind(*arguments, **options | {"checkpoint": None})
    given = {name: value for name, value in bound.arguments.items() if name != "options"} | bound.kwargs
    given["X"] = rereadable(given["X"])  # a stream of batches is read twice: for what it is, and by the fit
    if isinstance(given.get("self"), BaseEstimator):
        require_passes(given["self"], checkpoint)
    with record_passes(checkpoint, lambda: describe_call(function.__qualname__, given)):
        return function(**given)


P = ParamSpec("P")
R = TypeVar("R")


def resumable(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function of X whose argument `checkpoint` is a file from which a killed call goes on."""

    @wraps(function)
    def resumed(*arguments: P.args, **options: P.kwargs) -> R:
        found: R = resume_call(function, *arguments, **options)
        return found

    return resumed


def require_passes(estimator: Any, checkpoint: Any) -> None:
    """Raise an error for an estimator whose fit makes no passes that could be recorded."""
    if not estimator._makes_passes:
        name = type(estimator).__name__
        what = f"has no use for {name}, which makes no passes over blocks of rows"
        raise OptionError(what, argument="checkpoint", value=checkpoint, fix="leave it out")


def describe_call(name: str, given: dict[str, Any]) -> dict[str, str]:
    """Return descriptions of everything that the result of a call depends on, by names for messages."""
    about = {"the call": name}
    for argument, value in given.items():
        if argument == "X":
            about |= describe_rows(column_as_table(value))
        elif argument == "self":
            about |= {"the class": type(value).__name__} | _parameters(value)
        elif argument not in NOT_COMPARED:
            about[argument] = describe_value(value)
    versions = {f"the version of {library}": _version(library) for library in LIBRARIES}
    machine = {"the kind of processor": platform.machine(), "the number of threads": str(thread_count())}
    return about | versions | machine


def _parameters(estimator: Any) -> dict[str, str]:
    found = estimator.get_params(deep=True)
    return {name: describe_value(value) for name, value in found.items() if name.split("__")[-1] not in NOT_COMPARED}


SHOWN_LETTERS = 60
"""Texts of values that are longer enter by their digests."""


def describe_value(value: Any) -> str:
    """Return a short text that differs for other values.

    >>> describe_value(0.5), describe_value(np.zeros(3))[:13]
    ('0.5', 'array(3,) of ')
    """
    if isinstance(value, BaseEstimator):
        return f"{type(value).__name__} {digest(sorted(_parameters(value).items()))}"
    if isinstance(value, dict) and any(isinstance(each, BaseEstimator) for each in value.values()):
        return digest({name: describe_value(each) for name, each in value.items()})
    if hasattr(value, "shape") or hasattr(value, "to_numpy"):
        return _describe_array(value)
    text = show_value(value)
    plain = value is None or isinstance(value, bool | int | float | str | np.generic)
    return text if plain and len(text) <= SHOWN_LETTERS else f"{type(value).__name__} {digest(value)}"


def _describe_array(value: Any) -> str:
    if is_dask(value):  # computed where it is used; its name is that of the graph behind it
        return f"Dask {getattr(value, 'shape', '')}"
    array = np.asarray(value)
    return f"array{array.shape} of {array.dtype} {digest(array)}"


def _version(library: str) -> str:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:  # run from a source tree
        return "unknown"

"""Rows and the densities of classes: what a rule wants of a density, and errors and warnings that name the class."""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from eigenlens.arrays import Array, to_numpy
from eigenlens.data.coerce import as_source, explain_nonfinite
from eigenlens.errors import DataError, EigenlensError, OptionError
from eigenlens.estimator.rows import dense_blocks, join_limited, validate_rows

__all__ = [
    "draw_rows",
    "finite_blocks",
    "is_eigenlens_estimator",
    "log_densities",
    "log_density",
    "merge_class_warnings",
    "require_no_infinity",
    "run_for_class",
]  # fmt: skip


class ClassMessage(str):
    """A warning about the density of a class: `stem` names the class, `text` is what the density said."""

    stem: str
    text: str

    def __new__(cls, stem: str, text: str) -> Self:
        """As one sentence."""
        made = super().__new__(cls, f"{stem}: {text}")
        made.stem, made.text = stem, text
        return made


def run_for_class(label: Any, rows: int | None, work: Callable[[], Any]) -> Any:
    """What `work` gives; its errors and warnings are told with the class they belong to."""
    stem = f"class {label!r}" if rows is None else f"class {label!r} ({rows} rows)"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = work()
        except NotFittedError as error:
            raise DataError(f"class {label!r} has no rows yet.") from error
        except EigenlensError as error:
            raise type(error)(f"{stem}: {error}") from error
        except ValueError as error:
            raise DataError(f"{stem}: {error}") from error
    for warning in told:
        warnings.warn(ClassMessage(stem, str(warning.message)), warning.category, stacklevel=2)
    return found


@contextmanager
def merge_class_warnings() -> Iterator[None]:
    """Warnings that several classes have in common, but for numbers and names, are told once, with all the classes."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        yield
    alike: dict[Any, list[warnings.WarningMessage]] = {}
    for i, warning in enumerate(told):
        said = _said(warning)
        key = (warning.category, _shape(said.text)) if isinstance(said, ClassMessage) else i
        alike.setdefault(key, []).append(warning)
    for first, *others in alike.values():
        stems = list(dict.fromkeys(_stem(warning) for warning in (first, *others)))[1:]
        text = (
            f"{first.message} Much the same is so of {join_limited(stems, of=' classes')}."
            if stems
            else str(first.message)
        )
        warnings.warn(text, first.category, stacklevel=_level_of_caller())


def _stem(warning: warnings.WarningMessage) -> str:
    """The class of a warning about one, or nothing."""
    said = _said(warning)
    return said.stem if isinstance(said, ClassMessage) else ""


def _said(warning: warnings.WarningMessage) -> Any:
    return warning.message.args[0] if isinstance(warning.message, Warning) else warning.message


def _level_of_caller() -> int:
    """The `stacklevel`, for who asks, of the first caller outside of this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("eigenlens.", "contextlib")):
        frame, level = frame.f_back, level + 1
    return level


def _shape(text: str) -> str:
    """A text without its numbers, its names and what stands in brackets."""
    before = ""
    while before != text:
        before, text = text, re.sub(r"\([^()]*\)", "", text)
    return re.sub(r"'[^']*'|[-+\d.,]*\d[\d.,e+-]*", "", text)


# ---- rows to be classified ------------------------------------------------------------------------------------


def finite_blocks(estimator: Any, X: Any) -> Iterator[Array]:
    """Dense float64 pieces of the rows of X for a fitted estimator; NaN is a missing entry, infinity an error."""
    check_is_fitted(estimator)
    return map(require_no_infinity, dense_blocks(validate_rows(estimator, X)))


def require_no_infinity(rows: Array) -> Array:
    """The rows, if they hold no infinity."""
    if np.isinf(rows).any():
        raise explain_nonfinite(as_source(rows))
    return rows


# ---- what a rule wants of a density -----------------------------------------------------------------------------


def log_densities(densities: Sequence[Any], classes: Array, rows: Array) -> Array:
    """ln p(x | c) (n, C) of dense rows (n, d), with gaps where the densities can do without entries."""
    pairs = zip(classes.tolist(), densities, strict=True)
    with merge_class_warnings():
        found = [run_for_class(label, None, partial(log_density, density, rows)) for label, density in pairs]
    return np.stack(found, axis=1)


def log_density(density: Any, rows: Array) -> Array:
    """ln p(x) (n,) of dense rows (n, d), with gaps where the density can do without entries."""
    if not hasattr(density, "score_samples"):
        return np.asarray(density.log_density(rows))
    gaps = np.isnan(rows).any(axis=1)
    frozen = getattr(density, "model_", None)
    if not gaps.any() or not hasattr(frozen, "marginal"):
        return np.asarray(to_numpy(density.score_samples(rows)), dtype=np.float64)
    found = np.empty(len(rows))
    if not gaps.all():
        found[~gaps] = to_numpy(density.score_samples(rows[~gaps]))
    found[gaps] = _of_gaps(density, frozen, rows[gaps])
    return found


def _of_gaps(density: Any, frozen: Any, rows: Array) -> Array:
    try:
        return np.asarray(to_numpy(density.score_samples(rows)), dtype=np.float64)
    except DataError:  # an estimator that refuses gaps, with a model that does not
        return np.asarray(frozen.log_density(rows))


def draw_rows(density: Any, n: int, rng: np.random.Generator) -> Array:
    """n draws (n, d)."""
    if not hasattr(density, "score_samples"):
        return np.asarray(density.sample(n, rng))
    if not hasattr(density, "sample"):
        raise OptionError(f"{density!r} cannot draw rows: it has no sample.")
    given: dict[str, Any] = {}
    if "random_state" in inspect.signature(density.sample).parameters:
        given["random_state"] = rng if is_eigenlens_estimator(density) else int(rng.integers(2**31))
    rows = density.sample(n, **given)
    return np.asarray(to_numpy(rows[0] if isinstance(rows, tuple) else rows), dtype=np.float64)


def is_eigenlens_estimator(estimator: Any) -> bool:
    """Whether an estimator is of this package: it takes any Source, and a Generator as its random_state."""
    return type(estimator).__module__.startswith("eigenlens.")

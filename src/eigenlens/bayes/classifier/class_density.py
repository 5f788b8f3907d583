"""The densities of classes on rows: log densities and draws, with errors and warnings that name the class."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from eigenlens.arrays import Array, to_numpy
from eigenlens.data.coerce import require_no_infinity
from eigenlens.errors import DataError, EigenlensError, MissingExtra, OptionError, warn_user
from eigenlens.estimator.rows import dense_blocks, join_limited, validate_rows

# ---- messages that name the class -----------------------------------------------------------------------------


class ClassMessage(str):
    """The text of a warning about the density of a class: `stem` names the class, `text` is the density's own."""

    stem: str
    text: str

    def __new__(cls, stem: str, text: str) -> Self:
        """Join both to one sentence."""
        made = super().__new__(cls, f"{stem}: {text}")
        made.stem, made.text = stem, text
        return made


def run_for_class(label: Any, rows: int | None, work: Callable[[], Any]) -> Any:
    """Return what `work` returns; its errors and warnings name the class they belong to."""
    stem = f"class {label!r}" if rows is None else f"class {label!r} ({rows} rows)"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = work()
        except NotFittedError as error:
            raise DataError(f"class {label!r} has no rows yet", fix="give its rows first") from error
        except MissingExtra:
            raise
        except EigenlensError as error:
            raise _name_class(stem, error) from error
        except ValueError as error:
            raise DataError(f"{stem}: {error}") from error
    for warning in caught:
        warn_user(ClassMessage(stem, str(warning.message)), warning.category)
    return found


def _name_class(stem: str, error: EigenlensError) -> EigenlensError:
    """Return an error of the same kind whose sentence begins with the class; its way out and columns stay."""
    what, fix = error.phrased()
    return type(error)(f"{stem}: {what}", columns=error.columns, fix=fix)


@contextmanager
def merge_class_warnings() -> Iterator[None]:
    """Warn once of what several classes have in common except for numbers and names, with all these classes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    alike: dict[Any, tuple[Any, list[str]]] = {}
    for i, warning in enumerate(map(attrgetter("message"), caught)):
        message = getattr(warning, "what", warning.args[0])
        if isinstance(message, ClassMessage):
            alike.setdefault((type(warning), _without_values(message.text)), (warning, []))[1].append(message.stem)
        else:
            alike[i] = warning, []
    for first, stems in alike.values():
        others = list(dict.fromkeys(stems))[1:]
        also = f" Similar warnings apply to {join_limited(others, of=' classes')}." if others else ""
        warn_user(f"{first}{also}", type(first))


def _without_values(text: str) -> str:
    """Return a text without numbers, quoted names and brackets: warnings that only differ there are the same.

    A density may be the user's own, so its warnings have no fields to compare; their texts are compared, not read.
    """
    before = ""
    while before != text:
        before, text = text, re.sub(r"\([^()]*\)", "", text)
    return re.sub(r"'[^']*'|[-+\d.,]*\d[\d.,e+-]*", "", text)


# ---- rows to be classified ------------------------------------------------------------------------------------


def finite_blocks(estimator: Any, X: Any) -> Iterator[Array]:
    """Return dense float64 pieces of the rows of X for a fitted estimator; an infinity is an error, NaN is not."""
    check_is_fitted(estimator)
    return map(require_no_infinity, dense_blocks(validate_rows(estimator, X)))


# ---- log densities and draws ----------------------------------------------------------------------------------


def log_densities(densities: Sequence[Any], classes: Array, rows: Array) -> Array:
    """Return ln p(x | c) (n, C) of dense rows (n, d), which may be incomplete where the densities allow it."""
    pairs = zip(classes.tolist(), densities, strict=True)
    with merge_class_warnings():
        found = [run_for_class(label, None, partial(log_density, density, rows)) for label, density in pairs]
    return np.stack(found, axis=1)


def log_density(density: Any, rows: Array) -> Array:
    """Return ln p(x) (n,) of dense rows (n, d), which may be incomplete where the density allows it."""
    if not hasattr(density, "score_samples"):
        return np.asarray(density.log_density(rows))
    incomplete = np.isnan(rows).any(axis=1)
    frozen = getattr(density, "model_", None)
    if not incomplete.any() or not hasattr(frozen, "marginal"):
        return np.asarray(to_numpy(density.score_samples(rows)), dtype=np.float64)
    found = np.empty(len(rows))
    if not incomplete.all():
        found[~incomplete] = to_numpy(density.score_samples(rows[~incomplete]))
    found[incomplete] = _incomplete_log_density(density, frozen, rows[incomplete])
    return found


def _incomplete_log_density(density: Any, frozen: Any, rows: Array) -> Array:
    try:
        return np.asarray(to_numpy(density.score_samples(rows)), dtype=np.float64)
    except DataError:  # an estimator that rejects missing values, with a model that does not
        return np.asarray(frozen.log_density(rows))


def sample_density(density: Any, n: int, rng: np.random.Generator) -> Array:
    """Return n draws (n, d) from a frozen density or a fitted estimator."""
    if not hasattr(density, "score_samples"):
        return np.asarray(density.sample(n, rng))
    if not hasattr(density, "sample"):
        raise OptionError("cannot draw rows: it has no sample", argument="density", value=density)
    given: dict[str, Any] = {}
    if "random_state" in inspect.signature(density.sample).parameters:
        given["random_state"] = rng if is_eigenlens_estimator(density) else int(rng.integers(2**31))
    rows = density.sample(n, **given)
    return np.asarray(to_numpy(rows[0] if isinstance(rows, tuple) else rows), dtype=np.float64)


def is_eigenlens_estimator(estimator: Any) -> bool:
    """Return whether an estimator is of this package: it takes any Source, and a Generator as its random_state."""
    return type(estimator).__module__.startswith("eigenlens.")

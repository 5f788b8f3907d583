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
from eigenlens.errors import (
    ConvergenceWarning,
    DataError,
    DataWarning,
    EigenlensError,
    MissingExtra,
    OptionError,
    join_limited,
    warn_user,
)
from eigenlens.estimator.rows import dense_blocks, validate_rows

# ---- messages that name the class -----------------------------------------------------------------------------


class ClassMessage(str):
    """The text of a warning of a user's own density: `stem` names the class, `text` is the density's."""

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
            raise error.replace(within=stem) from error
        except ValueError as error:
            raise DataError(str(error), within=stem) from error
    for warning in map(attrgetter("message"), caught):
        if isinstance(warning, DataWarning | ConvergenceWarning):
            warn_user(warning.replace(within=stem))
        else:
            warn_user(ClassMessage(stem, str(warning)), type(warning))
    return found


@contextmanager
def merge_class_warnings() -> Iterator[None]:
    """Warn once of what several classes have in common except for numbers and names, with all these classes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    alike: dict[Any, tuple[Any, list[str]]] = {}
    for i, warning in enumerate(map(attrgetter("message"), caught)):
        stem, text = _class_and_text(warning)
        alike.setdefault((type(warning), _without_values(text)) if stem else i, (warning, []))[1].append(stem)
    for first, stems in alike.values():
        others = list(dict.fromkeys(stems))[1:]
        also = f"Similar warnings apply to {join_limited(others, of=' classes')}." if others else ""
        warn_user(_add_sentence(first, also) if also else first)


def _class_and_text(warning: Any) -> tuple[str, str]:
    """Return the class that a warning is about, "" if none, and its text without the class."""
    if isinstance(warning, DataWarning | ConvergenceWarning):
        return warning.within, warning.what
    message = warning.args[0] if warning.args else ""
    return (message.stem, message.text) if isinstance(message, ClassMessage) else ("", str(message))


def _add_sentence(warning: Any, sentence: str) -> Any:
    """Return a warning of the same kind with one more sentence at its end."""
    if not isinstance(warning, DataWarning | ConvergenceWarning):
        return type(warning)(f"{warning} {sentence}")
    last = "fix" if warning.fix else "what"
    return warning.replace(**{last: f"{getattr(warning, last).rstrip('.')}. {sentence}"})


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

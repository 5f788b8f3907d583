"""Whether the result of a generated call holds NaN or an infinity that is not meant."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from campaigns.base import Outcome


def inspect_result(found: Any, call: str) -> tuple[Outcome, str]:
    """Return whether the result of a call, named by its text, holds NaN or an infinity, and where."""
    if type(found).__name__ in NAN_WHERE_NOT_TESTED or getattr(found, "failures", None) or _has_failed_fits(found):
        return Outcome.OK, ""
    for place, numbers in _numbers(found, "result", 0):
        if np.isnan(numbers).any() and not re.search(NAN_IS_MEANT, place) and not call.endswith(AS_GIVEN):
            return Outcome.NAN, f"NaN in {place}"
        infinite = np.isposinf(numbers) if re.search(MAY_BE_MINUS_INFINITY, place) else np.isinf(numbers)
        if infinite.any() and not re.search(INFINITY_IS_MEANT, place) and not call.endswith(AS_GIVEN):
            return Outcome.INFINITE, f"infinity in {place}"
    return Outcome.OK, ""


def _has_failed_fits(found: Any) -> bool:
    """Return whether a table of mixtures has remarks about fits that failed, whose numbers are NaN."""
    return bool(getattr(found, "remarks", None))


NAN_IS_MEANT = r"held_out|significance_|\.share$|theta_|var_|feature_count_|categories\[.*\]\.cos2$"
"""Documented: without folds, of a rule that does not apply, columns that are not Gaussian, or no counts, and tests of
the last components of genotypes, without eigenvalues after them; and shares of distances on rotated components."""

AS_GIVEN = ("ppf", "cdf", "whiten", "colour", "given", "eigenlens.accumulate")
"""Methods of densities that are documented to give NaN for NaN, and an infinity for the end of an open range.

And `accumulate`, whose total is what the caller's function gave.
"""

NAN_WHERE_NOT_TESTED = {"GoodnessOfFit", "FactorErrors"}
"""Results with NaN for tests without degrees of freedom, and errors of parameters at their bound, as documented."""

INFINITY_IS_MEANT = r"bounds|edges|kernel\.radius|_limit$|levels\[\d+\]$"
"""Open ends, kernels of unbounded support, the limit of a residual that is 0, and a category that was given."""

MAY_BE_MINUS_INFINITY = r"^result$|^result\.loglik$|class_log_prior_"
"""The logarithm of the density of a row outside the support, alone or in that of all rows, or of a probability of 0."""


def _numbers(found: Any, place: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the arrays of numbers in a result, and where they are."""
    if depth > 3 or found is None or isinstance(found, str | bytes | type | np.random.Generator):
        return
    if isinstance(found, float | np.floating):
        yield place, np.array(found)
    elif isinstance(found, np.ndarray):
        yield from [(place, found)] if found.dtype.kind == "f" else []
    elif hasattr(found, "to_numpy") and hasattr(found, "columns"):
        yield from _numbers(found.to_numpy(), place, depth)
    elif isinstance(found, dict):
        for key, value in found.items():
            yield from _numbers(value, f"{place}[{key!r}]", depth + 1)
    elif isinstance(found, list | tuple):
        for i, value in enumerate(found[:5]):
            yield from _numbers(value, f"{place}[{i}]", depth + 1)
    elif dataclasses.is_dataclass(found) and not hasattr(found, "get_params"):
        for field in dataclasses.fields(found):
            yield from _numbers(getattr(found, field.name, None), f"{place}.{field.name}", depth + 1)
    elif hasattr(found, "get_params"):
        yield from _learned(found, place, depth)


def _learned(estimator: Any, place: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the learned attributes of an estimator; those that a fit does not have raise AttributeError."""
    for name in dir(estimator):
        if name.endswith("_") and not name.startswith("_"):
            yield from _numbers(getattr(estimator, name, None), f"{place}.{name}", depth + 1)

"""What the files of all estimators have in common."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from eigenlens import model_file as io
from eigenlens.arrays import Array
from eigenlens.catalogue import MODELS, estimator_class
from eigenlens.errors import ModelFileError, OptionError
from eigenlens.linalg.spectrum import Outcome

__all__ = ["load", "named_features", "outcome_of", "outcome_values", "storable_parameters"]


def storable_parameters(estimator: Any) -> dict[str, Any]:
    """The parameters of an estimator, for a header; a callable cannot be saved."""
    parameters: dict[str, Any] = estimator.get_params(deep=False)
    for name, value in parameters.items():
        if callable(value):
            raise OptionError(
                f"{name}={value!r} is a callable and cannot be saved; use a name, or set_params({name}=…) first."
            )
    if not isinstance(parameters.get("random_state"), int | np.integer | None):
        parameters["random_state"] = None  # a generator's state is not part of the model
    return parameters


def named_features(estimator: Any) -> list[str] | None:
    """The names of the columns, or None."""
    return list(getattr(estimator, "feature_names_in_", [])) or None


def outcome_values(outcome: Outcome) -> list[Any]:
    """An outcome without its residuals, for a header."""
    return [outcome.solver, outcome.reason, outcome.passes, outcome.iterations, outcome.converged]


def outcome_of(values: list[Any], residuals: Array) -> Outcome:
    """The outcome of `outcome_values`."""
    solver, reason, passes, iterations, converged = values
    return Outcome(solver, reason, passes, iterations, residuals, converged)


def load(path: str | os.PathLike[str]) -> Any:
    """The estimator that `save` wrote to `path`. Nothing in the file is executed."""
    kind, arrays, header = io.read(path)
    if kind not in MODELS:
        raise ModelFileError(
            f"{os.fspath(path)} holds a {kind!r}, which this version does not know; upgrade eigenlens."
        )
    return estimator_class(kind)._restored(arrays, header)

"""Estimators in model files: what those of all estimators have in common, and reading one back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from eigenlens import model_file
from eigenlens.arrays import Array, Like
from eigenlens.catalogue import MODELS, estimator_class
from eigenlens.errors import ModelFileError, OptionError
from eigenlens.linalg.spectrum import Outcome
from eigenlens.model_file import Layout

OUTCOME_LAYOUT = Layout(
    Outcome,
    arrays=["residuals"],
    header=["solver", "reason", "passes", "iterations", "converged"],
    place="solver",
    as_list=True,
)


def storable_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator for a header; a callable cannot be saved."""
    parameters: dict[str, Any] = estimator.get_params(deep=False)
    for name, value in parameters.items():
        if callable(value):
            what = "is a callable and cannot be saved"
            raise OptionError(what, argument=name, value=value, fix=f"use a name, or set_params({name}=…) first")
    if not isinstance(parameters.get("random_state"), int | np.integer | None):
        parameters["random_state"] = None  # a generator's state is not part of the model
    return parameters


def write_estimator(
    estimator: Any, path: str | os.PathLike[str], arrays: Mapping[str, Array], header: Mapping[str, Any]
) -> None:
    """Write a fitted estimator to `path`, whole or not at all: arrays and header entries beside what all have."""
    common: dict[str, Any] = {"parameters": storable_parameters(estimator)}
    if hasattr(estimator, "_like"):
        common["dtype"] = estimator._like.dtype.name
    common["feature_names"] = list(getattr(estimator, "feature_names_in_", [])) or None
    kind = next(each.__name__ for each in type(estimator).__mro__ if each.__name__ in MODELS)
    model_file.write(path, kind, arrays, common | dict(header))


def new_estimator(cls: Any, header: Mapping[str, Any], n_features: int, **parameters: Any) -> Any:
    """Return an estimator with the stored parameters and feature names; `parameters` replace stored ones."""
    estimator = cls(**header["parameters"] | parameters)
    estimator.n_features_in_ = n_features
    if header["feature_names"]:
        estimator.feature_names_in_ = np.asarray(header["feature_names"], dtype=object)
    return estimator


def stored_like(header: Mapping[str, Any], array: Array) -> Like:
    """Return the kind of array that a restored estimator gives: NumPy, of the stored dtype."""
    return Like(array, np.dtype(header["dtype"]))


def load(path: str | os.PathLike[str]) -> Any:
    """Return the estimator that `save` wrote to `path`. Nothing in the file is executed."""
    kind, arrays, header = model_file.read(path)
    if kind not in MODELS:
        what = f"{os.fspath(path)} contains a {kind!r}, which this version does not know"
        raise ModelFileError(what, fix="upgrade eigenlens")
    return estimator_class(kind)._restored(arrays, header)

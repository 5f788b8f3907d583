"""Estimators in model files: the parts that all of them share, and reading one back."""

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
    """Return the parameters of an estimator for a header, arrays as lists; a callable cannot be saved."""
    parameters: dict[str, Any] = estimator.get_params(deep=False)
    for name, value in parameters.items():
        if callable(value):
            what = "is a callable and cannot be saved"
            raise OptionError(what, argument=name, value=value, fix=f"use a name, or set_params({name}=…) first")
    if not isinstance(parameters.get("random_state"), int | np.integer | None):
        parameters["random_state"] = None  # a generator's state is not part of the model
    return {name: _as_lists(value) for name, value in parameters.items()}


def _as_lists(value: Any) -> Any:
    """Return arrays as lists, also those within a list or a tuple."""
    if isinstance(value, list | tuple):
        return [_as_lists(each) for each in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def pack_estimator(estimator: Any) -> tuple[str, dict[str, Array], dict[str, Any]]:
    """Return the kind, the arrays and the header of a fitted estimator, for a file.

    The header of its fit may have `parameters` in place of some that a file cannot hold.
    """
    arrays, header = estimator._storage.pack_fit(estimator)
    if getattr(estimator, "_scale", None) is not None:
        arrays["scale"] = estimator._scale
    header["parameters"] = storable_parameters(estimator) | header.get("parameters", {})
    if estimator._saves_dtype:
        header["dtype"] = estimator._rows_like.dtype.name
    header["feature_names"] = list(getattr(estimator, "feature_names_in_", [])) or None
    if hasattr(estimator, "table_"):  # how the command line read the table, and the roles of its columns
        header["table"] = estimator.table_
    kind = next(each.__name__ for each in type(estimator).__mro__ if each.__name__ in MODELS)
    return kind, arrays, header


def restore_parameters(cls: Any, header: Mapping[str, Any]) -> Any:
    """Return an estimator with the stored parameters, feature names and dtype; its arrays are NumPy's."""
    estimator = cls(**header["parameters"])
    if "dtype" in header:
        estimator._rows_like = Like(np.empty(0), np.dtype(header["dtype"]))
    if header["feature_names"]:
        estimator.feature_names_in_ = np.asarray(header["feature_names"], dtype=object)
    if "table" in header:
        estimator.table_ = header["table"]
    return estimator


def load(path: str | os.PathLike[str]) -> Any:
    """Return the estimator that `save` wrote to `path`. Nothing in the file is executed."""
    kind, arrays, header = model_file.read(path)
    if kind not in MODELS:
        what = f"{os.fspath(path)} contains a {kind!r}, which this version does not know"
        raise ModelFileError(what, fix="upgrade eigenlens")
    return estimator_class(kind)._restored(arrays, header)

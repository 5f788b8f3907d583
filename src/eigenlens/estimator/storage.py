"""Estimators in model files: the parts that all of them share, and reading one back."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from types import NoneType
from typing import Any

import numpy as np

from eigenlens import checks, model_file
from eigenlens.arrays import Array, Like
from eigenlens.catalogue import MODELS, estimator_class
from eigenlens.data.source import progress_callback
from eigenlens.errors import ModelFileError, OptionError
from eigenlens.laws import check_law
from eigenlens.layout import Layout, entry, part_of_file, shorten_value
from eigenlens.linalg.spectrum import Outcome

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
    estimator = cls(**check_parameter_names(cls, entry(header, "parameters", "object")))
    if cls._saves_dtype:
        if entry(header, "dtype", "str") not in ROW_DTYPES:
            raise ModelFileError(f"'dtype' is {header['dtype']!r}, and must be one of {', '.join(ROW_DTYPES)}")
        estimator._rows_like = Like(np.empty(0), np.dtype(header["dtype"]))
    if entry(header, "feature_names", "list | None"):
        if not all(isinstance(name, str) for name in header["feature_names"]):
            raise ModelFileError("'feature_names' must be texts")
        estimator.feature_names_in_ = np.asarray(header["feature_names"], dtype=object)
    if "table" in header:
        estimator.table_ = _check_table(entry(header, "table", "object"))
    return estimator


ROW_DTYPES = ("float32", "float64")
"""The dtypes of rows, and so of results, that a model keeps."""

LATER_PARAMETERS: dict[str, tuple[str, ...]] = {
    "GaussianMixture": ("means_init", "precisions_init", "reg_covar", "standardize", "warm_start", "weights_init"),
    "KernelDensity": ("standardize",),
    "KernelPCA": ("center", "sigma", "standardize"),
    "LinearDiscriminant": ("covariance_estimator", "standardize"),
    "NaiveBayes": ("kernel",),
    "PCA": ("center", "rotation", "rotation_options"),
    "ProbabilisticPCA": ("init", "standardize"),
    "QuadraticDiscriminant": ("covariance_estimator", "standardize"),
}
"""Parameters that the files of earlier versions lack."""

TABLE_TYPES = {
    "text": "object", "columns": "object", "rows": "int", "digest": "str", "words": "object", "units": "object",
}  # fmt: skip
"""What a model knows of the table of its fit, see `cli.remembered_table`, and the types of these entries."""

OPTIONAL_PARTS = ("words", "units")
"""What it knows of some tables only."""

TEXTS = "tuple[str, ...]"

TABLE_ENTRY_TYPES = {
    "text": dict.fromkeys(("markers", "na", "dates", "fill_down", "text"), TEXTS)
    | dict.fromkeys(("separator", "decimal", "thousands", "comment", "encoding", "sheet", "dataset"), "str")
    | {"header": "bool", "transpose": "bool", "header_rows": "int", "skip": "int", "footer": "int"}
    | {"max_ratio": "float"},
    "columns": {"id": "str", "weight": "str"}
    | dict.fromkeys(("label", "supplementary", "ignore_case", "columns"), TEXTS),
}
"""The options for reading a table and the roles of its columns, with the type of each."""


def check_parameter_names(cls: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a class once they are all that it takes, or all that an earlier version took."""
    known = cls._get_param_names()
    for name in sorted(set(parameters) ^ set(known)):
        if name not in known:
            raise ModelFileError(f"'parameters' has {name!r}, which {cls.__name__} does not take")
        if name not in LATER_PARAMETERS.get(cls.__name__, ()):
            raise ModelFileError(f"'parameters' lacks {name!r}")
    for name, value in parameters.items():
        _check_parameter_type(name, value, str(inspect.signature(cls).parameters[name].annotation))
    return parameters


PARAMETER_TYPES: dict[str, tuple[type, ...]] = {
    "None": (NoneType,), "bool": (bool,), "int": (int,), "float": (int, float), "str": (str,), "dict": (dict,),
    "Mapping": (dict,), "Sequence": (list,),
}  # fmt: skip
"""The types of parameters in files, by the names of their types in signatures."""


def _check_parameter_type(name: str, value: Any, annotation: str) -> None:
    """Raise unless a parameter is of one of the types of its annotation; a type that no file can hold permits any."""
    names = [each.partition("[")[0] for each in annotation.split(" | ") if "Callable" not in each]
    if not set(names) <= set(PARAMETER_TYPES):
        return
    types = tuple(kind for each in names for kind in PARAMETER_TYPES[each])
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise ModelFileError(
            f"{name!r} of 'parameters' is {shorten_value(value)}, and must be of the type {annotation}"
        )


def _check_table(table: dict[str, Any]) -> dict[str, Any]:
    """Return what is known of a table once every option, role and word is of its type."""
    for name in table:
        if name not in TABLE_TYPES:
            raise ModelFileError(f"'table' has {name!r}, which is not one of {', '.join(TABLE_TYPES)}")
        value = entry(table, name, TABLE_TYPES[name])
        for key in value if isinstance(value, dict) else ():
            kind = TABLE_ENTRY_TYPES[name].get(key) if name in TABLE_ENTRY_TYPES else "str"
            if kind is None:
                raise ModelFileError(f"{name!r} of 'table' has {key!r}, which is not an option of tables")
            entry(value, key, kind)
    missing = [name for name in TABLE_TYPES if name not in table and name not in OPTIONAL_PARTS]
    if missing:
        raise ModelFileError(f"'table' lacks {missing[0]!r}")
    return table


def load(path: str | os.PathLike[str]) -> Any:
    """Return the estimator that `save` wrote to `path`. Nothing in the file is executed."""
    kind, arrays, header = model_file.read(path)
    try:
        with part_of_file(os.fspath(path)):
            return restore_estimator(kind, arrays, header)
    except ModelFileError as error:
        raise error.replace(fix=model_file.version_advice(path)) from error


SCALE_LAW = "(d) positive, of a finite square, 0 or of a finite inverse square"
"""The law of the scales of columns, of any model."""


def _require_same(
    arrays: Mapping[str, Array],
    header: Mapping[str, Any],
    stored: Mapping[str, Array],
    stored_header: Mapping[str, Any],
) -> None:
    """Raise unless all that a file holds is in the arrays and the header of the model that was made of it.

    What is not would be ignored without a word. The model may have more: entries that earlier versions did not store.
    """
    for name, array in stored.items():
        own = arrays.get(name)
        if own is None:
            raise ModelFileError(f"has the array {name!r}, which is not part of such a model")
        if own.dtype != array.dtype or not np.array_equal(own, array, equal_nan=array.dtype.kind == "f"):
            raise ModelFileError(f"{name!r} is not what such a model would store")
    _require_same_entry(model_file.as_read(header), stored_header, "the header")


def _require_same_entry(own: Any, stored: Any, name: str) -> None:
    """Raise unless a stored entry is that of the model; objects and lists of the model may have more entries."""
    if isinstance(own, dict) and isinstance(stored, dict):
        for key, value in stored.items():
            if key not in own:
                raise ModelFileError(f"{name} has {key!r}, which is not part of such a model")
            _require_same_entry(own[key], value, repr(key))
    elif isinstance(own, list) and isinstance(stored, list) and len(stored) <= len(own):
        for each, value in zip(own, stored, strict=False):
            _require_same_entry(each, value, name)
    elif isinstance(own, bool) != isinstance(stored, bool) or not (own == stored or (own != own and stored != stored)):
        raise ModelFileError(f"{name} is {shorten_value(stored)}, and such a model would store {shorten_value(own)}")


def restore_estimator(kind: str, arrays: dict[str, Array], header: Mapping[str, Any]) -> Any:
    """Return the fitted estimator of `pack_estimator`, once every entry is one that such a model may have."""
    if kind not in MODELS:
        raise ModelFileError(f"contains a {kind!r}, which this version does not know")
    if not isinstance(header, dict):
        raise ModelFileError(f"the header of the {kind} must be an object")
    estimator = estimator_class(kind)._restored(arrays, header)
    with progress_callback(getattr(estimator, "verbose", False)):
        checks.generator(getattr(estimator, "random_state", None))
    if "scale" in arrays:
        check_law("scale", SCALE_LAW, arrays["scale"], {"d": estimator.n_features_in_})
    if hasattr(estimator, "_storage"):  # a class of the user's own may write and read its files in its own way
        _require_same(*pack_estimator(estimator)[1:], arrays, header)
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and len(names) != estimator.n_features_in_:
        raise ModelFileError(f"'feature_names' has {len(names)} names for {estimator.n_features_in_} columns")
    return estimator

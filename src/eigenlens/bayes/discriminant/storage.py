"""Saving and loading of discriminants, and of what they share with other classifiers: labels and covariances."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens import model_file
from eigenlens.arrays import Array, Like
from eigenlens.bayes.discriminant.fit import FisherRule, gaussian_classes
from eigenlens.densities.covariance import Covariance, Diagonal, Full, Spherical
from eigenlens.densities.covariance_axes import Axes
from eigenlens.estimator.storage import named_features, outcome_of, outcome_values, storable_parameters

__all__ = [
    "STORED_COVARIANCES",
    "StoredCovariance",
    "arrays_under",
    "class_header",
    "restore",
    "restore_classes",
    "save",
]

POOLED, OWN = "covariance", "covariance{}"
"""Names of the covariance of all classes, and of that of class number c, in a file."""


# ---- covariances ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StoredCovariance:
    """How a kind of covariance is stored: its arrays by name, and the covariance of d columns from these arrays."""

    type: type
    pack: Callable[[Any], dict[str, Array]]
    unpack: Callable[[dict[str, Array], int], Covariance]


def _pack_axes(C: Axes) -> dict[str, Array]:
    return {"scale": C.scale, "axes": C.axes, "along": C.variances_along, "rest": np.asarray(C.rest)}


def _unpack_axes(arrays: dict[str, Array], d: int) -> Axes:
    return Axes(arrays["scale"], arrays["axes"], arrays["along"], float(arrays["rest"]))


STORED_COVARIANCES: dict[str, StoredCovariance] = {
    "axes": StoredCovariance(Axes, _pack_axes, _unpack_axes),
    "full": StoredCovariance(Full, lambda C: {"": C.matrix()}, lambda arrays, d: Full(arrays[""])),
    "diagonal": StoredCovariance(Diagonal, lambda C: {"": C.variances}, lambda arrays, d: Diagonal(arrays[""])),
    "spherical": StoredCovariance(
        Spherical, lambda C: {"": C.variances}, lambda arrays, d: Spherical(float(arrays[""][0]), d)
    ),
}
"""Kinds of covariances by their name in a file; a single array has no name of its own."""


# ---- labels and parameters of a classifier --------------------------------------------------------------------


def class_header(estimator: Any) -> dict[str, Any]:
    """Return the part of a header that all classifiers share."""
    parameters = storable_parameters(estimator)
    if not isinstance(parameters["prior"], str | None):
        parameters["prior"] = estimator.class_prior_.tolist()
    return {
        "classes": estimator.classes_.tolist(),
        "class_dtype": estimator.classes_.dtype.str,
        "parameters": parameters,
        "rows": estimator.n_samples_,
        "dtype": estimator._like.dtype.name,
        "feature_names": named_features(estimator),
    }


def restore_classes(estimator: Any, arrays: dict[str, Array], header: dict[str, Any]) -> None:
    """Set the attributes that `class_header` describes, and the number of columns."""
    estimator.classes_ = np.asarray(header["classes"], dtype=np.dtype(header["class_dtype"]))
    estimator.class_prior_, estimator._counts, estimator._rows = arrays["prior"], arrays["counts"], header["rows"]
    estimator._like = Like(arrays["prior"], np.dtype(header["dtype"]))
    if header["feature_names"]:
        estimator.feature_names_in_ = np.asarray(header["feature_names"], dtype=object)


# ---- discriminants --------------------------------------------------------------------------------------------


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted discriminant to `path`."""
    model, amounts = estimator._solved
    if isinstance(model, FisherRule):
        covariances = {POOLED: model.covariance}
    else:
        covariances = {OWN.format(c): part.covariance for c, part in enumerate(model.components)}
    arrays = {"prior": estimator.class_prior_, "means": model.means, "counts": estimator.class_count_}
    arrays["amounts"] = amounts
    for name, covariance in covariances.items():
        parts = _pack_axes(covariance) if isinstance(covariance, Axes) else {"entries": covariance.matrix()}
        arrays |= {f"{name}.{part}": array for part, array in parts.items()}
    header = class_header(estimator) | {"solver": outcome_values(estimator.solver_)}
    model_file.write(path, estimator._kind, arrays, header)


def restore(cls: Any, arrays: dict[str, Array], header: dict[str, Any]) -> Any:
    """Return the estimator that `save` wrote."""
    estimator = cls(**header["parameters"])
    prior, means = arrays["prior"], arrays["means"]
    if f"{POOLED}.axes" in arrays:
        model: Any = FisherRule(prior, means, _unpack_axes(arrays_under(POOLED, arrays), means.shape[1]))
    else:
        model = gaussian_classes(prior, means, [_own_covariance(arrays, c) for c in range(len(means))])
    restore_classes(estimator, arrays, header)
    estimator._made, estimator._moments = (model, arrays["amounts"]), None
    estimator.solver_ = outcome_of(header["solver"], np.zeros(0))
    estimator.n_features_in_ = means.shape[1]
    return estimator


def _own_covariance(arrays: dict[str, Array], c: int) -> Covariance:
    parts = arrays_under(OWN.format(c), arrays)
    return Full(parts["entries"]) if "entries" in parts else _unpack_axes(parts, 0)


def arrays_under(prefix: str, arrays: dict[str, Array]) -> dict[str, Array]:
    """Return the arrays named `prefix`, or `prefix` and a dot, by the rest of their names.

    >>> arrays_under("a", {"a": np.zeros(1), "a.b": np.ones(1), "ab": np.ones(2)})
    {'': array([0.]), 'b': array([1.])}
    """
    parts = ((name.partition("."), array) for name, array in arrays.items())
    return {rest: array for (first, _, rest), array in parts if first == prefix}

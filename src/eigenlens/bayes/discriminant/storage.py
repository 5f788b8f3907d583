"""Discriminants to a file and back: numbers only."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from eigenlens import model_file as io
from eigenlens.arrays import Array, Like
from eigenlens.bayes.discriminant.fit import FisherRule, gaussian_classes
from eigenlens.densities.covariance import Covariance, Full
from eigenlens.densities.covariance_axes import Axes
from eigenlens.estimator.storage import named_features, outcome_of, outcome_values, storable_parameters

__all__ = ["covariance_arrays", "covariance_from", "restore", "save"]

SINGLE, EACH = "covariance", "covariance{}"


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted discriminant to `path`."""
    model, amounts = estimator._solved
    spread = (
        {SINGLE: model.covariance}
        if isinstance(model, FisherRule)
        else {EACH.format(c): part.covariance for c, part in enumerate(model.components)}
    )
    arrays = {"prior": estimator.class_prior_, "means": model.means, "counts": estimator.class_count_}
    arrays["amounts"] = amounts
    for name, covariance in spread.items():
        arrays |= {f"{name}.{part}": array for part, array in covariance_arrays(covariance).items()}
    parameters = storable_parameters(estimator)
    if not isinstance(parameters["prior"], str | None):
        parameters["prior"] = estimator.class_prior_.tolist()
    header = {
        "classes": estimator.classes_.tolist(),
        "class_dtype": estimator.classes_.dtype.str,
        "parameters": parameters,
        "rows": estimator.n_samples_,
        "solver": outcome_values(estimator.solver_),
        "dtype": estimator._like.dtype.name,
        "feature_names": named_features(estimator),
    }
    io.write(path, estimator._kind, arrays, header)


def restore(cls: Any, arrays: dict[str, Array], header: dict[str, Any]) -> Any:
    """The estimator that `save` wrote."""
    estimator = cls(**header["parameters"])
    prior, means = arrays["prior"], arrays["means"]
    if f"{SINGLE}.axes" in arrays:
        model: Any = FisherRule(prior, means, _axes(arrays, SINGLE))
    else:
        model = gaussian_classes(prior, means, [covariance_from(arrays, EACH.format(c)) for c in range(len(means))])
    estimator.classes_ = np.asarray(header["classes"], dtype=np.dtype(header["class_dtype"]))
    estimator.class_prior_, estimator._made, estimator._moments = prior, (model, arrays["amounts"]), None
    estimator._counts, estimator._rows = arrays["counts"], header["rows"]
    estimator._like = Like(means, np.dtype(header["dtype"]))
    estimator.solver_ = outcome_of(header["solver"], np.zeros(0))
    estimator.n_features_in_ = means.shape[1]
    if header["feature_names"]:
        estimator.feature_names_in_ = np.asarray(header["feature_names"], dtype=object)
    return estimator


def covariance_arrays(covariance: Covariance) -> dict[str, Array]:
    """What is written of a covariance."""
    if not isinstance(covariance, Axes):
        return {"entries": covariance.matrix()}
    parts = {"scale": covariance.scale, "axes": covariance.axes, "along": covariance.variances_along}
    return parts | {"rest": np.asarray(covariance.rest)}


def covariance_from(arrays: dict[str, Array], name: str) -> Covariance:
    """The covariance whose arrays have names that begin with `name` and a point."""
    return Full(arrays[f"{name}.entries"]) if f"{name}.entries" in arrays else _axes(arrays, name)


def _axes(arrays: dict[str, Array], name: str) -> Axes:
    scale, axes, along, rest = (arrays[f"{name}.{part}"] for part in ("scale", "axes", "along", "rest"))
    return Axes(scale, axes, along, float(rest))

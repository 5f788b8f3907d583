"""Discriminants in a model file."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from eigenlens.arrays import Array
from eigenlens.bayes.discriminant.fit import FisherRule, gaussian_classes
from eigenlens.bayes.storage import pack_classes, restore_classes
from eigenlens.densities.covariance import Covariance, Full
from eigenlens.densities.covariance_axes import Axes
from eigenlens.estimator.storage import OUTCOME, new_estimator, stored_like, write_estimator
from eigenlens.model_file import Layout, pack, unpack

__all__ = ["pack_covariance", "restore", "save", "unpack_covariance"]

AXES = Layout(Axes, arrays={"scale": "scale", "axes": "axes", "variances_along": "along", "rest": "rest"})

DIRECT = replace(OUTCOME, arrays=())
"""The outcome of a solver that has no residuals."""

SINGLE, EACH = "covariance", "covariance{}"


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted discriminant to `path`."""
    model, amounts = estimator._solved
    covariances = (
        {SINGLE: model.covariance}
        if isinstance(model, FisherRule)
        else {EACH.format(c): part.covariance for c, part in enumerate(model.components)}
    )
    arrays, header = pack_classes(estimator)
    arrays |= {"means": model.means, "amounts": amounts}
    for name, covariance in covariances.items():
        arrays |= pack_covariance(covariance, name)
    write_estimator(estimator, path, arrays, header | pack(estimator.solver_, DIRECT)[1])


def restore(cls: Any, arrays: dict[str, Array], header: dict[str, Any]) -> Any:
    """Return the estimator that `save` wrote."""
    prior, means = arrays["prior"], arrays["means"]
    if f"{SINGLE}.axes" in arrays:
        model: Any = FisherRule(prior, means, unpack(replace(AXES, prefix=f"{SINGLE}."), arrays, {}))
    else:
        model = gaussian_classes(prior, means, [unpack_covariance(arrays, EACH.format(c)) for c in range(len(means))])
    estimator = new_estimator(cls, header, means.shape[1])
    restore_classes(estimator, arrays, header)
    estimator._made, estimator._moments = (model, arrays["amounts"]), None
    estimator._like, estimator.solver_ = stored_like(header, means), unpack(DIRECT, arrays, header)
    return estimator


def pack_covariance(covariance: Covariance, name: str) -> dict[str, Array]:
    """Return the arrays of a covariance, with names that begin with `name` and a point."""
    if isinstance(covariance, Axes):
        return pack(covariance, replace(AXES, prefix=f"{name}."))[0]
    return {f"{name}.entries": covariance.matrix()}


def unpack_covariance(arrays: dict[str, Array], name: str) -> Covariance:
    """Return the covariance of `pack_covariance`."""
    if f"{name}.entries" in arrays:
        return Full(arrays[f"{name}.entries"])
    restored: Axes = unpack(replace(AXES, prefix=f"{name}."), arrays, {})
    return restored

"""Bayes classifiers to a file and back: the file of each density inside one, numbers only."""

from __future__ import annotations

import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenlens import model_file as io
from eigenlens.arrays import Array, Like
from eigenlens.bayes.classifier.column_subset import InColumns
from eigenlens.bayes.classifier.densities import FittedDensities, is_family
from eigenlens.bayes.discriminant.storage import covariance_arrays, covariance_from
from eigenlens.catalogue import estimator_class
from eigenlens.densities.covariance import COVARIANCES
from eigenlens.densities.covariance_axes import Axes
from eigenlens.densities.gaussian import Gaussian, GaussianFamily
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.errors import OptionError
from eigenlens.estimator.storage import named_features, storable_parameters
from eigenlens.latent.families import FactorFamily, PPCAFamily

__all__ = ["restore", "save"]

FAMILIES: dict[str, Any] = {family.__name__: family for family in (GaussianFamily, PPCAFamily, FactorFamily)}
"""Families whose members can be saved."""


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to `path`."""
    arrays = {"prior": estimator.class_prior_, "counts": estimator.class_count_}
    parts = []
    for c, density in enumerate(estimator.densities_):
        kind, kept, said = _parts(density)
        arrays |= {f"{c}.{name}": array for name, array in kept.items()}
        parts.append([kind, said])
    parameters = storable_parameters(estimator) | {"density": None}
    if not isinstance(parameters["prior"], str | None):
        parameters["prior"] = estimator.class_prior_.tolist()
    header = {
        "classes": estimator.classes_.tolist(),
        "class_dtype": estimator.classes_.dtype.str,
        "parameters": parameters,
        "densities": parts,
        "family": _said_family(estimator.density) if is_family(estimator.density) else None,
        "estimator": None if is_family(estimator.density) else _said_estimator(estimator),
        "rows": estimator.n_samples_,
        "features": estimator.n_features_in_,
        "seedless": getattr(estimator.density, "random_state", 0) is None,
        "dtype": estimator._like.dtype.name,
        "feature_names": named_features(estimator),
    }
    io.write(path, estimator._kind, arrays, header)


def restore(cls: Any, arrays: dict[str, Array], header: dict[str, Any]) -> Any:
    """The classifier that `save` wrote."""
    pairs = enumerate(header["densities"])
    densities = tuple(_density(kind, said, _under(str(c), arrays)) for c, (kind, said) in pairs)
    density = _unfitted(header, densities)
    if header.get("seedless"):
        density.set_params(random_state=None)  # the fitted ones have their seeds from the classifier
    estimator = cls(**header["parameters"] | {"density": density})
    estimator._kept = FittedDensities(densities, can_go_on=False)
    estimator.classes_ = np.asarray(header["classes"], dtype=np.dtype(header["class_dtype"]))
    estimator.class_prior_, estimator._counts, estimator._rows = arrays["prior"], arrays["counts"], header["rows"]
    estimator._like = Like(arrays["prior"], np.dtype(header["dtype"]))
    estimator.n_features_in_ = header["features"]
    if header["feature_names"]:
        estimator.feature_names_in_ = np.asarray(header["feature_names"], dtype=object)
    return estimator


def _parts(density: Any) -> tuple[str, dict[str, Array], Any]:
    """Kind, arrays and header of a density: those of its own file, or of a frozen value."""
    if isinstance(density, InColumns):
        kind, kept, said = _parts(density.density)
        placed = {"columns": density.columns, "mean": density.mean, "variances": density.variances}
        return "InColumns", placed | {f"density.{name}": array for name, array in kept.items()}, [kind, said]
    if isinstance(density, Gaussian) and isinstance(density.covariance, Axes):
        spread = {f"spread.{name}": array for name, array in covariance_arrays(density.covariance).items()}
        return "Gaussian", {"mean": density.mean} | spread, "axes"
    if isinstance(density, Gaussian):
        kind = next(name for name, structure in COVARIANCES.items() if isinstance(density.covariance, structure))  # type: ignore[arg-type]
        return "Gaussian", {"mean": density.mean, "spread": _spread(density.covariance, kind)}, kind
    if isinstance(density, LinearGaussian):
        kept = {"mean": density.mean, "loadings": density.loadings, "noise": np.asarray(density.noise)}
        return "LinearGaussian", kept, None
    if not hasattr(density, "save"):
        raise OptionError(f"a density of type {type(density).__name__} cannot be saved; use an estimator of eigenlens.")
    with tempfile.TemporaryDirectory() as folder:
        density.save(Path(folder, "density"))
        return io.read(Path(folder, "density"))


def _density(kind: str, said: Any, mine: dict[str, Array]) -> Any:
    if kind == "InColumns":
        inner = _density(said[0], said[1], _under("density", mine))
        return InColumns(inner, mine["columns"], mine["mean"], mine["variances"])
    if kind == "Gaussian" and said == "axes":
        return Gaussian(mine["mean"], covariance_from(mine, "spread"))
    if kind == "Gaussian":
        return Gaussian(mine["mean"], _covariance(said, mine["spread"], mine["mean"].size))
    if kind == "LinearGaussian":
        noise = mine["noise"]
        return LinearGaussian(mine["mean"], mine["loadings"], noise if noise.ndim else float(noise))
    return estimator_class(kind)._restored(mine, said)


def _under(prefix: str, arrays: dict[str, Array]) -> dict[str, Array]:
    """The arrays whose names begin with a prefix and a point, by what follows."""
    parts = ((name.partition("."), array) for name, array in arrays.items())
    return {rest: array for (first, _, rest), array in parts if first == prefix}


# ---- what is fitted, before it is -----------------------------------------------------------------------------


def _said_estimator(estimator: Any) -> list[Any] | None:
    """The density by name and parameters, where no class has one to tell them by."""
    if any(_estimator_in(density) is not None for density in estimator.densities_):
        return None
    parameters = storable_parameters(estimator.density)
    plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in parameters.items()}
    return [type(estimator.density).__name__, plain]


def _estimator_in(density: Any) -> Any:
    """The estimator that a density is, or is of some columns; None if it is a frozen value."""
    if isinstance(density, InColumns):
        return _estimator_in(density.density)
    return density if hasattr(density, "get_params") else None


def _unfitted(header: dict[str, Any], densities: tuple[Any, ...]) -> Any:
    family, said = header["family"], header.get("estimator")
    if family:
        return FAMILIES[family[0]](**family[1])
    if said:
        return estimator_class(said[0])(**said[1])
    return clone(next(found for found in map(_estimator_in, densities) if found is not None))


def _spread(covariance: Any, kind: str) -> Array:
    return np.asarray(covariance.matrix() if kind == "full" else covariance.variances)


def _covariance(kind: str, spread: Array, d: int) -> Any:
    return COVARIANCES[kind](float(spread[0]), d) if kind == "spherical" else COVARIANCES[kind](spread)


def _said_family(family: Any) -> list[Any]:
    name = type(family).__name__
    if name not in FAMILIES:
        raise OptionError(f"density={family!r} cannot be saved; families that can are {', '.join(FAMILIES)}.")
    said = asdict(family)
    if any(isinstance(value, np.ndarray) for value in said.values()):
        raise OptionError(f"density={name}(prior=…) has an array as its prior and cannot be saved.")
    return [name, said]

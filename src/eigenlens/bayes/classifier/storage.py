"""Bayes classifiers in a model file: the content of each density's own file, with its class as a prefix."""

from __future__ import annotations

import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenlens import model_file
from eigenlens.arrays import Array
from eigenlens.bayes.classifier.column_subset import InColumns
from eigenlens.bayes.classifier.densities import Estimated, is_family
from eigenlens.bayes.discriminant.storage import pack_covariance, unpack_covariance
from eigenlens.bayes.storage import pack_classes, restore_classes
from eigenlens.catalogue import estimator_class
from eigenlens.densities.covariance import COVARIANCES
from eigenlens.densities.covariance_axes import Axes
from eigenlens.densities.gaussian import Gaussian, GaussianFamily
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.errors import OptionError
from eigenlens.estimator.storage import new_estimator, storable_parameters, stored_like, write_estimator
from eigenlens.latent.families import FactorFamily, PPCAFamily
from eigenlens.latent.storage import LINEAR_GAUSSIAN
from eigenlens.model_file import Layout, arrays_under, pack, unpack

__all__ = ["restore", "save"]

FAMILIES: dict[str, Any] = {family.__name__: family for family in (GaussianFamily, PPCAFamily, FactorFamily)}
"""Families whose members can be saved."""

IN_COLUMNS = Layout(InColumns, arrays=["columns", "mean", "variances"])


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to `path`."""
    arrays, header = pack_classes(estimator)
    kinds, density = [], estimator.density
    for c, fitted in enumerate(estimator.densities_):
        kind, own, entries = _pack_density(fitted)
        arrays |= {f"{c}.{name}": array for name, array in own.items()}
        kinds.append([kind, entries])
    header["parameters"]["density"] = None
    header |= {
        "densities": kinds,
        "family": _pack_family(density) if is_family(density) else None,
        "estimator": None if is_family(density) else _pack_unfitted(estimator),
        "features": estimator.n_features_in_,
        "seedless": getattr(density, "random_state", 0) is None,
    }
    write_estimator(estimator, path, arrays, header)


def restore(cls: Any, arrays: dict[str, Array], header: dict[str, Any]) -> Any:
    """Return the classifier that `save` wrote."""
    pairs = enumerate(header["densities"])
    densities = tuple(_unpack_density(kind, entries, arrays_under(str(c), arrays)) for c, (kind, entries) in pairs)
    density = _unfitted(header, densities)
    if header.get("seedless"):
        density.set_params(random_state=None)  # the fitted ones have their seeds from the classifier
    estimator = new_estimator(cls, header, header["features"], density=density)
    restore_classes(estimator, arrays, header)
    estimator._kept = Estimated(densities, can_go_on=False)
    estimator._like = stored_like(header, arrays["prior"])
    return estimator


def _pack_density(density: Any) -> tuple[str, dict[str, Array], Any]:
    """Return kind, arrays and header of a density: those of its own file, or of a frozen value."""
    if isinstance(density, InColumns):
        kind, own, entries = _pack_density(density.density)
        arrays = pack(density, IN_COLUMNS)[0]
        return "InColumns", arrays | {f"density.{name}": array for name, array in own.items()}, [kind, entries]
    if isinstance(density, Gaussian):
        return _pack_gaussian(density)
    if isinstance(density, LinearGaussian):
        return "LinearGaussian", pack(density, LINEAR_GAUSSIAN)[0], None
    if not hasattr(density, "save"):
        raise OptionError(
            f"a density of type {type(density).__name__} cannot be saved", fix="use an estimator of eigenlens"
        )
    with tempfile.TemporaryDirectory() as folder:
        density.save(Path(folder, "density"))
        return model_file.read(Path(folder, "density"))


def _pack_gaussian(density: Gaussian) -> tuple[str, dict[str, Array], str]:
    covariance: Any = density.covariance
    if isinstance(covariance, Axes):
        return "Gaussian", {"mean": density.mean} | pack_covariance(covariance, "spread"), "axes"
    kind = next(name for name, structure in COVARIANCES.items() if isinstance(covariance, structure))  # type: ignore[arg-type]
    spread = np.asarray(covariance.matrix() if kind == "full" else covariance.variances)
    return "Gaussian", {"mean": density.mean, "spread": spread}, kind


def _unpack_density(kind: str, entries: Any, arrays: dict[str, Array]) -> Any:
    if kind == "InColumns":
        inner = _unpack_density(entries[0], entries[1], arrays_under("density", arrays))
        return unpack(IN_COLUMNS, arrays, {}, density=inner)
    if kind == "Gaussian" and entries == "axes":
        return Gaussian(arrays["mean"], unpack_covariance(arrays, "spread"))
    if kind == "Gaussian":
        spread, d = arrays["spread"], arrays["mean"].size
        make: Any = COVARIANCES[entries]
        return Gaussian(arrays["mean"], make(float(spread[0]), d) if entries == "spherical" else make(spread))
    if kind == "LinearGaussian":
        return unpack(LINEAR_GAUSSIAN, arrays, {})
    return estimator_class(kind)._restored(arrays, entries)


# ---- the parameter `density` ----------------------------------------------------------------------------------


def _pack_unfitted(estimator: Any) -> list[Any] | None:
    """Return the name and parameters of the density, where no class has a fitted one with the same."""
    if any(_estimator_in(density) is not None for density in estimator.densities_):
        return None
    parameters = storable_parameters(estimator.density)
    plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in parameters.items()}
    return [type(estimator.density).__name__, plain]


def _estimator_in(density: Any) -> Any:
    """Return the estimator that a density is, or has for some columns; None if it is a frozen value."""
    if isinstance(density, InColumns):
        return _estimator_in(density.density)
    return density if hasattr(density, "get_params") else None


def _unfitted(header: dict[str, Any], densities: tuple[Any, ...]) -> Any:
    family, stored = header["family"], header.get("estimator")
    if family:
        return FAMILIES[family[0]](**family[1])
    if stored:
        return estimator_class(stored[0])(**stored[1])
    return clone(next(found for found in map(_estimator_in, densities) if found is not None))


def _pack_family(family: Any) -> list[Any]:
    name = type(family).__name__
    if name not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise OptionError("cannot be saved", argument="density", value=family, fix=f"use one of {known}")
    parameters = asdict(family)
    if any(isinstance(value, np.ndarray) for value in parameters.values()):
        raise OptionError(f"density={name}(prior=…) has an array as its prior and cannot be saved")
    return [name, parameters]

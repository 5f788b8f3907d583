"""Bayes classifiers in a model file: the arrays and header of each density inside one file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.bayes.classifier.degenerate_classes import InColumns
from eigenlens.bayes.classifier.densities import FittedDensities, is_family
from eigenlens.bayes.storage import STORED_COVARIANCES, pack_classes, restore_classes
from eigenlens.catalogue import estimator_class
from eigenlens.densities.gaussian import GAUSSIAN_FITS, Gaussian, GaussianFamily
from eigenlens.densities.histogram import Histogram, HistogramFamily
from eigenlens.errors import ModelFileError, OptionError
from eigenlens.estimator.base import ModelEstimator
from eigenlens.estimator.storage import check_parameter_names, pack_estimator, restore_estimator, storable_parameters
from eigenlens.latent.families import FactorFamily, PPCAFamily
from eigenlens.latent.storage import LINEAR_GAUSSIAN_LAYOUT
from eigenlens.laws import check_laws, require
from eigenlens.layout import Layout, arrays_under, entry, pack, part_of_file, unpack

STORED_FAMILIES: dict[str, Any] = {
    family.__name__: family for family in (GaussianFamily, PPCAFamily, FactorFamily, HistogramFamily)
}
"""Families that can be saved, by name."""


def pack_fit(estimator: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the classes, the density of each, and the parameter `density` unless a fitted density implies it."""
    arrays, header = pack_classes(estimator)
    densities, family = [], is_family(estimator.density)
    for c, density in enumerate(estimator.densities_):
        kind, parts, about = pack_density(density)
        arrays |= {f"{c}.{name}": array for name, array in parts.items()}
        densities.append([kind, about])
    header["parameters"]["density"] = None
    header |= {
        "densities": densities,
        "family": _pack_family(estimator.density) if family else None,
        "estimator": None if family else _pack_unfitted(estimator),
        "features": estimator.n_features_in_,
        "seedless": getattr(estimator.density, "random_state", 0) is None,
    }
    return arrays, header


def restore_fit(estimator: Any, arrays: dict[str, Array], header: dict[str, Any]) -> None:
    """Give a classifier the fit of `pack_fit`, and its parameter `density`."""
    restore_classes(estimator, arrays, header)
    d, stored = entry(header, "features", law="positive"), entry(header, "densities", "list")
    if len(stored) != len(estimator.classes_):
        raise ModelFileError(f"'densities' has {len(stored)} entries for {len(estimator.classes_)} classes")
    densities = tuple(unpack_density(f"{c}", arrays, each, d) for c, each in enumerate(stored))
    estimator.density = _restore_unfitted(header, densities)
    if entry(header, "seedless", "bool"):
        estimator.density.set_params(random_state=None)  # the seeds of the fitted densities came from the classifier
    estimator._kept, estimator.n_features_in_ = FittedDensities(densities, can_continue=False), d


# ---- densities ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StoredDensity:
    """How a kind of density is stored: its arrays and a JSON value, and the density from these."""

    type: type
    pack: Callable[[Any], tuple[dict[str, Array], Any]]
    unpack: Callable[[dict[str, Array], Any], Any]


IN_COLUMNS_LAYOUT = Layout(InColumns, arrays=["columns", "mean", "variances"])


def _pack_in_columns(density: InColumns) -> tuple[dict[str, Array], Any]:
    kind, parts, about = pack_density(density.density)
    arrays = pack(density, IN_COLUMNS_LAYOUT)[0]
    return arrays | {f"density.{name}": array for name, array in parts.items()}, [kind, about]


def _unpack_in_columns(arrays: dict[str, Array], about: Any) -> Any:
    sizes: dict[str, int] = {}
    whole = unpack(IN_COLUMNS_LAYOUT, arrays, {}, sizes, density=None)
    return replace(whole, density=unpack_density("density", arrays, about, sizes["o"]))


def _pack_gaussian(density: Gaussian) -> tuple[dict[str, Array], Any]:
    C = density.covariance
    name, stored = next((name, stored) for name, stored in STORED_COVARIANCES.items() if isinstance(C, stored.type))
    parts = {f"spread.{part}".rstrip("."): array for part, array in stored.pack(C).items()}
    return {"mean": density.mean} | parts, name


def _unpack_gaussian(arrays: dict[str, Array], about: Any) -> Gaussian:
    require(arrays, "mean")
    sizes = check_laws({"mean": "(d) of a finite square"}, arrays)
    if about not in STORED_COVARIANCES:
        raise ModelFileError(f"the covariance {about!r} is not one of {', '.join(STORED_COVARIANCES)}")
    return Gaussian(arrays["mean"], STORED_COVARIANCES[about].unpack(arrays_under("spread", arrays), sizes["d"]))


def _stored_arrays(layout: Layout) -> StoredDensity:
    """Return how a density is stored that consists of arrays alone."""
    return StoredDensity(
        layout.kind, lambda density: (pack(density, layout)[0], None), lambda arrays, about: unpack(layout, arrays, {})
    )


STORED_DENSITIES: dict[str, StoredDensity] = {
    "InColumns": StoredDensity(InColumns, _pack_in_columns, _unpack_in_columns),
    "Gaussian": StoredDensity(Gaussian, _pack_gaussian, _unpack_gaussian),
    "LinearGaussian": _stored_arrays(LINEAR_GAUSSIAN_LAYOUT),
    "Histogram": _stored_arrays(Layout(Histogram, arrays=["edges", "probabilities"])),
}
"""Kinds of frozen densities by their name in a file; every other density is an estimator with a file of its own."""


def pack_density(density: Any) -> tuple[str, dict[str, Array], Any]:
    """Return kind, arrays and header of a density: of a frozen value, or as in the estimator's own file."""
    for kind, stored in STORED_DENSITIES.items():
        if isinstance(density, stored.type):
            return kind, *stored.pack(density)
    if not isinstance(density, ModelEstimator):
        what = f"a density of type {type(density).__name__} cannot be saved"
        raise OptionError(what, fix="use an estimator of eigenlens")
    return pack_estimator(density)


def unpack_density(place: str, arrays: dict[str, Array], stored: Any, d: int) -> Any:
    """Return the density of d columns of `pack_density`, stored as [kind, header] and arrays named `place` and more."""
    with part_of_file(place):
        if not isinstance(stored, list) or len(stored) != 2 or not isinstance(stored[0], str):
            raise ModelFileError("must be the kind of a density and what is known of it")
        (kind, about), own = stored, arrays_under(place, arrays)
        if kind in STORED_DENSITIES:
            density = STORED_DENSITIES[kind].unpack(own, about)
        else:
            density = restore_estimator(kind, own, about)
        if _n_columns(density) != d:
            raise ModelFileError(f"is a density of {_n_columns(density)} columns, and must have {d}")
        return density


def _n_columns(density: Any) -> int:
    """Return the number of columns that a density is of: of a histogram one."""
    known = getattr(density, "n_features_in_", None)
    return int(getattr(density, "mean", np.zeros(1)).size if known is None else known)


# ---- the density parameter, unfitted --------------------------------------------------------------------------


def _pack_unfitted(estimator: Any) -> list[Any] | None:
    """Return the density's name and parameters, if no class has a fitted one that implies them."""
    if any(_find_estimator(density) is not None for density in estimator.densities_):
        return None
    return [type(estimator.density).__name__, storable_parameters(estimator.density)]


def _find_estimator(density: Any) -> Any:
    """Return the estimator that a density is, or is of some columns; None if it is a frozen value."""
    if isinstance(density, InColumns):
        return _find_estimator(density.density)
    return density if hasattr(density, "get_params") else None


def _restore_unfitted(header: dict[str, Any], densities: tuple[Any, ...]) -> Any:
    family, unfitted = (entry(header, name, "list | None") for name in ("family", "estimator"))
    if family:
        if len(family) != 2:
            raise ModelFileError("'family' must be a name and its options")
        found = _unpack_family(family[0], family[1], entry(header, "features"))
        if any(hasattr(each, "edges") and not np.array_equal(each.edges, found.edges) for each in densities):
            raise ModelFileError("'family' has other edges than its densities")
        return found
    if unfitted:
        return estimator_class(unfitted[0])(**check_parameter_names(estimator_class(unfitted[0]), unfitted[1]))
    found = next((found for found in map(_find_estimator, densities) if found is not None), None)
    if found is None:
        raise ModelFileError("lacks 'family' or 'estimator'")
    return clone(found)


def _pack_family(family: Any) -> list[Any]:
    name = type(family).__name__
    if name not in STORED_FAMILIES:
        fix = f"use one of {', '.join(STORED_FAMILIES)}"
        raise OptionError("cannot be saved", argument="density", value=family, fix=fix)
    return [name, {name: _pack_parameter(value) for name, value in asdict(family).items()}]


def _unpack_family(name: str, options: dict[str, Any], d: int) -> Any:
    """Return the family of `_pack_family` for d columns; its class states the laws of its options."""
    kind, values = STORED_FAMILIES[name], {key: _unpack_parameter(value) for key, value in options.items()}
    for each in fields(kind):
        if each.name not in values and each.name not in LATER_OPTIONS:
            raise ModelFileError(f"'family' lacks {each.name!r}")
        if each.name in values:
            entry(values, each.name, str(each.type))
            empty = values[each.name] is None and "None" not in str(each.type) and each.default is not None
            if empty or isinstance(values[each.name], bool):
                raise ModelFileError(f"'family' has {values[each.name]!r} for {each.name!r}")
    if "covariance" in values:
        checks.name("covariance", values["covariance"], GAUSSIAN_FITS)
    numbers = {key: np.asarray(values[key], dtype=np.float64) for key in kind.laws if values.get(key) is not None}
    check_laws(kind.laws, numbers, {"d": d, "B": np.size(values.get("edges", 0)) - 1})
    return kind(**values)


LATER_OPTIONS = ("sigma",)
"""Options of families that the files of earlier versions lack."""


def _pack_parameter(value: Any) -> Any:
    return {"$array": value.tolist()} if isinstance(value, np.ndarray) else value


def _unpack_parameter(value: Any) -> Any:
    return np.asarray(value["$array"]) if isinstance(value, dict) else value

"""The parts of a classifier in a model file that do not depend on its kind: classes, priors and covariances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.rule import check_prior
from eigenlens.data.category_storage import unpack_categories
from eigenlens.densities.covariance import Covariance, Diagonal, Full, Spherical
from eigenlens.densities.covariance_axes import Axes
from eigenlens.errors import ModelFileError
from eigenlens.laws import Laws, check_law, check_laws, require
from eigenlens.layout import Layout, entry, pack, unpack


def pack_classes(estimator: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return arrays and header entries with the classes of a fitted classifier; a prior of the user as a list."""
    prior = estimator._prior
    header = {
        "parameters": {} if isinstance(estimator.prior, str | None) else {"prior": prior.tolist()},
        "classes": estimator.classes_.tolist(),
        "class_dtype": estimator.classes_.dtype.str,
        "rows": estimator.n_samples_,
    }
    return {"prior": prior, "counts": estimator._counts}, header


def restore_classes(estimator: Any, arrays: dict[str, Array], header: dict[str, Any]) -> None:
    """Give a classifier the classes of `pack_classes`."""
    require(arrays, *CLASS_LAWS)
    sizes = check_laws(CLASS_LAWS, arrays)
    estimator.classes_ = unpack_labels(header, sizes["C"])
    estimator._prior, estimator._counts, estimator._rows = arrays["prior"], arrays["counts"], entry(header, "rows")
    check_prior(estimator.prior, estimator.classes_, estimator._counts)


CLASS_LAWS: Laws = {"prior": "(C) not negative, sum 1", "counts": "(C) not negative"}

MAX_LABEL_BYTES = 1 << 20
"""The most bytes that the dtype of labels may give each of them."""


def unpack_labels(header: dict[str, Any], C: int) -> Array:
    """Return the labels (C,) of the classes, each another, in their dtype."""
    stored, name = unpack_categories(entry(header, "classes", "list")), entry(header, "class_dtype", "str")
    if len(stored) != C or len(set(stored)) < C:
        raise ModelFileError(f"'classes' must be {C} different labels")
    if len({type(label) for label in stored}) == 1 and list(stored) != sorted(stored):
        raise ModelFileError("'classes' are not in ascending order")
    labels = _as_labels(stored, name)
    if labels is None or labels.tolist() != list(stored):
        raise ModelFileError(f"'classes' are not labels of the dtype {name!r}")
    return labels


def _as_labels(stored: tuple[Any, ...], name: str) -> Array | None:
    """Return labels as an array of the dtype of this name; None where they cannot be one."""
    try:
        dtype = np.dtype(name)
        if dtype.itemsize > MAX_LABEL_BYTES:
            return None
        labels = np.empty(len(stored), dtype=dtype)
        labels[:] = stored
    except (TypeError, ValueError, OverflowError):
        return None
    return labels


AXES_LAYOUT = Layout(Axes, arrays={"scale": "scale", "axes": "axes", "variances_along": "along", "rest": "rest"})


def _single(arrays: dict[str, Array], law: str, d: int) -> Array:
    """Return the array of a covariance that has only one."""
    require(arrays, "")
    check_law("spread", law, arrays[""], {"d": d})
    return arrays[""]


@dataclass(frozen=True)
class StoredCovariance:
    """How a kind of covariance is stored: its arrays by name, and the covariance of d columns from these arrays."""

    type: type
    pack: Callable[[Any], dict[str, Array]]
    unpack: Callable[[dict[str, Array], int], Covariance]


STORED_COVARIANCES: dict[str, StoredCovariance] = {
    "axes": StoredCovariance(
        Axes, lambda C: pack(C, AXES_LAYOUT)[0], lambda arrays, d: unpack(AXES_LAYOUT, arrays, {}, {"d": d})
    ),
    "full": StoredCovariance(
        Full, lambda C: {"": C.matrix()}, lambda arrays, d: Full(_single(arrays, "(d, d) positive definite", d))
    ),
    "diagonal": StoredCovariance(
        Diagonal, lambda C: {"": C.variances}, lambda arrays, d: Diagonal(_single(arrays, "(d) positive", d))
    ),
    "spherical": StoredCovariance(
        Spherical,
        lambda C: {"": C.variances},
        lambda arrays, d: Spherical(float(_single(arrays, "(d) positive, descending, never decreasing", d)[0]), d),
    ),
}
"""Kinds of covariances by their name in a file; a single array has no name of its own."""

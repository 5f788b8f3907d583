"""The parts of a classifier in a model file that do not depend on its kind: classes, priors and covariances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.densities.covariance import Covariance, Diagonal, Full, Spherical
from eigenlens.densities.covariance_axes import Axes
from eigenlens.model_file import Layout, pack, unpack


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
    estimator.classes_ = np.asarray(header["classes"], dtype=np.dtype(header["class_dtype"]))
    estimator._prior, estimator._counts, estimator._rows = arrays["prior"], arrays["counts"], header["rows"]


AXES_LAYOUT = Layout(Axes, arrays={"scale": "scale", "axes": "axes", "variances_along": "along", "rest": "rest"})


@dataclass(frozen=True)
class StoredCovariance:
    """How a kind of covariance is stored: its arrays by name, and the covariance of d columns from these arrays."""

    type: type
    pack: Callable[[Any], dict[str, Array]]
    unpack: Callable[[dict[str, Array], int], Covariance]


STORED_COVARIANCES: dict[str, StoredCovariance] = {
    "axes": StoredCovariance(
        Axes, lambda C: pack(C, AXES_LAYOUT)[0], lambda arrays, d: unpack(AXES_LAYOUT, arrays, {})
    ),
    "full": StoredCovariance(Full, lambda C: {"": C.matrix()}, lambda arrays, d: Full(arrays[""])),
    "diagonal": StoredCovariance(Diagonal, lambda C: {"": C.variances}, lambda arrays, d: Diagonal(arrays[""])),
    "spherical": StoredCovariance(
        Spherical, lambda C: {"": C.variances}, lambda arrays, d: Spherical(float(arrays[""][0]), d)
    ),
}
"""Kinds of covariances by their name in a file; a single array has no name of its own."""

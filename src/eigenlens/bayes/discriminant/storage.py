"""Discriminants in a model file, and what they share with other classifiers: classes, priors and covariances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.discriminant.model import FisherRule, gaussian_classes
from eigenlens.densities.covariance import Covariance, Diagonal, Full, Spherical
from eigenlens.densities.covariance_axes import Axes
from eigenlens.estimator.storage import OUTCOME_LAYOUT
from eigenlens.model_file import Layout, arrays_under, pack, unpack


def pack_classes(estimator: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return arrays and header entries with the classes of a fitted classifier; a prior of the user as a list."""
    prior = estimator.class_prior_
    header = {
        "parameters": {} if isinstance(estimator.prior, str | None) else {"prior": prior.tolist()},
        "classes": estimator.classes_.tolist(),
        "class_dtype": estimator.classes_.dtype.str,
        "rows": estimator.n_samples_,
    }
    return {"prior": prior, "counts": estimator.class_count_}, header


def restore_classes(estimator: Any, arrays: dict[str, Array], header: dict[str, Any]) -> None:
    """Give a classifier the classes of `pack_classes`."""
    estimator.classes_ = np.asarray(header["classes"], dtype=np.dtype(header["class_dtype"]))
    estimator.class_prior_, estimator._counts, estimator._rows = arrays["prior"], arrays["counts"], header["rows"]


AXES_LAYOUT = Layout(Axes, arrays={"scale": "scale", "axes": "axes", "variances_along": "along", "rest": "rest"})

DIRECT_OUTCOME_LAYOUT = replace(OUTCOME_LAYOUT, arrays=())
"""The outcome of a solver that has no residuals."""

POOLED, OWN = "covariance", "covariance{}"
"""Names of the covariance of all classes, and of that of class number c, in a file."""


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


def pack_fit(estimator: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the classes, their means and covariances, and how these were found."""
    model, amounts = estimator._solved
    if isinstance(model, FisherRule):
        covariances = {POOLED: model.covariance}
    else:
        covariances = {OWN.format(c): part.covariance for c, part in enumerate(model.components)}
    arrays, header = pack_classes(estimator)
    arrays |= {"means": model.means, "amounts": amounts}
    for name, covariance in covariances.items():
        parts = pack(covariance, AXES_LAYOUT)[0] if isinstance(covariance, Axes) else {"entries": covariance.matrix()}
        arrays |= {f"{name}.{part}": array for part, array in parts.items()}
    return arrays, header | pack(estimator.solver_, DIRECT_OUTCOME_LAYOUT)[1]


def restore_fit(estimator: Any, arrays: dict[str, Array], header: dict[str, Any]) -> None:
    """Give an estimator the fit of `pack_fit`."""
    prior, means = arrays["prior"], arrays["means"]
    if f"{POOLED}.axes" in arrays:
        model: Any = FisherRule(prior, means, unpack(AXES_LAYOUT, arrays_under(POOLED, arrays), {}))
    else:
        model = gaussian_classes(prior, means, [_own_covariance(arrays, c) for c in range(len(means))])
    restore_classes(estimator, arrays, header)
    estimator._made, estimator._moments = (model, arrays["amounts"]), None
    estimator.solver_, estimator.n_features_in_ = unpack(DIRECT_OUTCOME_LAYOUT, arrays, header), means.shape[1]


def _own_covariance(arrays: dict[str, Array], c: int) -> Any:
    parts = arrays_under(OWN.format(c), arrays)
    return Full(parts["entries"]) if "entries" in parts else unpack(AXES_LAYOUT, parts, {})

"""Gaussian mixtures to a model file and back."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from eigenlens import model_file as io
from eigenlens.arrays import Array, Like
from eigenlens.densities.mixture import Mixture
from eigenlens.estimator.storage import named_features, storable_parameters
from eigenlens.mixture.em import LostComponent
from eigenlens.mixture.fit import MixtureFit
from eigenlens.mixture.online import OnlineFit
from eigenlens.mixture.structures import make_structure, structure_name
from eigenlens.mixture.structures.base import CovarianceStructure
from eigenlens.stats.moments import ColumnMoments, Moments

__all__ = ["restore", "save"]

STORED_NUMBERS = {"gap": "remaining_gain"} | {
    name: name for name in ("loglik", "n_iter", "converged", "interrupted", "weight", "rows", "parameters", "empty")
}
"""The numbers of a fit in a file, and the fields that they are of; files keep the names of the first release."""


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to `path`."""
    fit: MixtureFit = estimator._fitted
    parameters = storable_parameters(estimator)
    if not isinstance(parameters["init"], str):
        parameters["init"] = "k-means++"  # a start is not part of the model
    arrays = {"weights": fit.model.weights, "means": fit.model.means, "path": np.asarray(fit.path)}
    arrays |= {"held": np.asarray(fit.clamped, dtype=np.int64), "constant": np.asarray(fit.constant, dtype=np.int64)}
    if estimator._chunks is not None:  # so that partial_fit can go on
        squares = "scatter" if estimator._structure.joint else "square"
        moments = estimator._chunks.moments
        arrays |= {f"moments.{name}": getattr(moments, name) for name in ("weight", "mean", squares)}
    header = {
        "parameters": parameters,
        "structure": structure_name(estimator._structure),  # parameters may have been set since the fit
        "fit": {name: getattr(fit, field) for name, field in STORED_NUMBERS.items()},
        "lost": [[list(lost.mean), lost.step] for lost in fit.lost],
        "dtype": estimator._like.dtype.name,
        "chunks": 0 if estimator._chunks is None else estimator._chunks.chunks,
        "feature_names": named_features(estimator),
    }
    io.write(path, estimator._kind, arrays | estimator._structure.arrays(fit.model.components), header)


def restore(cls: Any, arrays: dict[str, Array], header: dict[str, Any]) -> Any:
    """Return the estimator that `save` wrote."""
    estimator = cls(**header["parameters"])
    means = arrays["means"]
    structure = make_structure(*header.get("structure", (estimator.covariance_type, estimator.n_factors)))
    fit = MixtureFit(
        model=Mixture(arrays["weights"], structure.components(means, arrays)),
        path=tuple(arrays["path"].tolist()),
        clamped=tuple(arrays["held"].tolist()),
        constant=tuple(arrays["constant"].tolist()),
        lost=tuple(LostComponent(tuple(mean), step) for mean, step in header["lost"]),
        **{STORED_NUMBERS[name]: value for name, value in header["fit"].items()},
    )
    like = Like(means, np.dtype(header["dtype"]))
    estimator._remember(fit, structure, like, _restore_chunks(fit, structure, arrays, header))
    estimator.n_features_in_ = means.shape[1]
    if header["feature_names"]:
        estimator.feature_names_in_ = np.asarray(header["feature_names"], dtype=object)
    return estimator


def _restore_chunks(
    fit: MixtureFit, structure: CovarianceStructure, arrays: dict[str, Array], header: dict[str, Any]
) -> OnlineFit | None:
    if not header["chunks"]:
        return None
    stored = ((name.removeprefix("moments."), array) for name, array in arrays.items() if name.startswith("moments."))
    parts: dict[str, Any] = dict(stored)
    moments = Moments(**parts) if structure.joint else ColumnMoments(**parts)
    return OnlineFit(fit, moments, header["chunks"])

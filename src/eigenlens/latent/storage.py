"""Latent Gaussian models to a file and back; a file holds numbers and names only."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from eigenlens import model_file as io
from eigenlens.arrays import Array, Like
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.estimator.storage import named_features, storable_parameters
from eigenlens.latent.n_components import DimensionChoice
from eigenlens.missing.result import LatentFit

__all__ = ["restore", "save"]

SAME_NAMES = ("loglik", "n_iter", "converged", "weight", "rows", "passes", "reason", "solver", "interrupted", "ended")

STORED_FIELDS = {name: name for name in SAME_NAMES} | {"residual": "gap"}
"""Fields of a `LatentFit` that files hold beside its model, and their names in files."""


def save(estimator: Any, path: str | os.PathLike[str], arrays: Any = None, header: Any = None) -> None:
    """Write a fitted estimator to `path`; `arrays` and `header` are further entries of a subclass."""
    fit: LatentFit = estimator._fitted
    model, choice = fit.model, estimator.selection_
    kept = {"mean": model.mean, "loadings": model.loadings, "noise": np.asarray(model.noise)}
    kept |= {"path": np.asarray(fit.path), "constant": np.asarray(fit.constant, dtype=np.int64)}
    if estimator._rotation_matrix is not None:
        kept["turn"] = estimator._rotation_matrix
    if choice is not None:
        kept |= {"counts": choice.counts, "criterion": choice.values, "errors": choice.errors}
    values = {
        "parameters": storable_parameters(estimator),
        "fit": {stored: getattr(fit, name) for name, stored in STORED_FIELDS.items()},
        "selection": None if choice is None else [choice.rule, choice.k, choice.interrupted],
        "dtype": estimator._like.dtype.name,
        "feature_names": named_features(estimator),
    }
    io.write(path, estimator._kind, kept | (arrays or {}), values | (header or {}))


def restore(cls: Any, arrays: dict[str, Array], header: dict[str, Any]) -> Any:
    """Return the estimator that `save` wrote."""
    estimator = cls(**header["parameters"])
    noise = arrays["noise"]
    model = LinearGaussian(arrays["mean"], arrays["loadings"], noise if noise.ndim else float(noise))
    path, constant = tuple(arrays["path"].tolist()), tuple(arrays["constant"].tolist())
    fields = {name: header["fit"][stored] for name, stored in STORED_FIELDS.items() if stored in header["fit"]}
    fit = LatentFit(model, path=path, constant=constant, **fields)
    estimator._remember(fit, Like(model.mean, np.dtype(header["dtype"])), _restore_choice(arrays, header["selection"]))
    estimator._rotation_matrix = arrays.get("turn")
    estimator.n_features_in_ = model.mean.size
    if header["feature_names"]:
        estimator.feature_names_in_ = np.asarray(header["feature_names"], dtype=object)
    return estimator


def _restore_choice(arrays: dict[str, Array], stored: list[Any] | None) -> DimensionChoice | None:
    if stored is None:
        return None
    rule, k, *interrupted = stored
    return DimensionChoice(rule, k, arrays["counts"], arrays["criterion"], arrays["errors"], None, *interrupted)

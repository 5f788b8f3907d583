"""Latent Gaussian models to a file and back: numbers only."""

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

STORED_NUMBERS = ("loglik", "n_iter", "converged", "weight", "rows", "passes")
STORED_WORDS = ("reason", "solver", "interrupted", "ended")


def save(estimator: Any, path: str | os.PathLike[str], arrays: Any = None, header: Any = None) -> None:
    """Write a fitted estimator to `path`; a face with more to keep gives further `arrays` and `header` entries."""
    fit: LatentFit = estimator._fitted
    model, choice = fit.model, estimator.selection_
    kept = {"mean": model.mean, "loadings": model.loadings, "noise": np.asarray(model.noise)}
    kept |= {"path": np.asarray(fit.path), "constant": np.asarray(fit.constant, dtype=np.int64)}
    if estimator._turn is not None:
        kept["turn"] = estimator._turn
    if choice is not None:
        kept |= {"counts": choice.counts, "criterion": choice.values, "errors": choice.errors}
    values = {
        "parameters": storable_parameters(estimator),
        "fit": {name: getattr(fit, name) for name in STORED_NUMBERS + STORED_WORDS} | {"gap": fit.residual},
        "selection": None if choice is None else [choice.rule, choice.k, choice.interrupted],
        "dtype": estimator._like.dtype.name,
        "feature_names": named_features(estimator),
    }
    io.write(path, estimator._kind, kept | (arrays or {}), values | (header or {}))


def restore(cls: Any, arrays: dict[str, Array], header: dict[str, Any]) -> Any:
    """The estimator that `save` wrote."""
    estimator = cls(**header["parameters"])
    noise = arrays["noise"]
    model = LinearGaussian(arrays["mean"], arrays["loadings"], noise if noise.ndim else float(noise))
    path, constant = tuple(arrays["path"].tolist()), tuple(arrays["constant"].tolist())
    fit = LatentFit(model, path=path, constant=constant, **_stored_fit(header["fit"]))
    estimator._remember(fit, Like(model.mean, np.dtype(header["dtype"])), _choice(arrays, header["selection"]))
    estimator._turn = arrays.get("turn")
    estimator.n_features_in_ = model.mean.size
    if header["feature_names"]:
        estimator.feature_names_in_ = np.asarray(header["feature_names"], dtype=object)
    return estimator


def _choice(arrays: dict[str, Array], said: list[Any] | None) -> DimensionChoice | None:
    if said is None:
        return None
    rule, k, *interrupted = said
    return DimensionChoice(rule, k, arrays["counts"], arrays["criterion"], arrays["errors"], None, *interrupted)


def _stored_fit(stored: dict[str, Any]) -> dict[str, Any]:
    """Return the stored fields of a `LatentFit`; files call its residual "gap"."""
    return {"residual" if name == "gap" else name: value for name, value in stored.items()}

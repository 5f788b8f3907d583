"""`PCA` to a file and back: numbers only."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from eigenlens import model_file as io
from eigenlens.arrays import Array, Like
from eigenlens.estimator.storage import named_features, outcome_of, outcome_values, storable_parameters
from eigenlens.pca.model import PrincipalComponents
from eigenlens.stats.moments import Moments

__all__ = ["restore", "save"]

ARRAYS = ("mean", "scale", "components", "variances", "column_variances")


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted PCA to `path`, whole or not at all, with its moments if it holds them."""
    model: PrincipalComponents = estimator.model_
    moments: Moments | None = estimator._moments
    arrays = {name: getattr(model, name) for name in ARRAYS} | {"residuals": estimator.solver_.residuals}
    header = {
        "parameters": storable_parameters(estimator),
        "total": model.total,
        "weight": model.weight,
        "n_samples": estimator.n_samples_,
        "dtype": estimator._like.dtype.name,
        "feature_names": named_features(estimator),
        "solver": outcome_values(estimator.solver_),
    }
    if moments is not None:
        arrays["moments_scatter"] = moments.scatter
        header["moments_rows"] = moments.rows
    io.write(path, "PCA", arrays, header)


def restore(cls: Any, arrays: dict[str, Array], header: dict[str, Any]) -> Any:
    """The estimator that `save` wrote."""
    estimator = cls(**header["parameters"])
    residuals, scatter = arrays.pop("residuals"), arrays.pop("moments_scatter", None)
    model = PrincipalComponents(**arrays, total=header["total"], weight=header["weight"])
    estimator._model, estimator._fitted_source = model, None
    estimator._outcome = outcome_of(header["solver"], residuals)
    estimator._like = Like(model.mean, np.dtype(header["dtype"]))
    estimator._moments = None if scatter is None else Moments(model.weight, model.mean, scatter, header["moments_rows"])
    estimator.n_features_in_, estimator.n_samples_ = model.mean.size, header["n_samples"]
    if header["feature_names"]:
        estimator.feature_names_in_ = np.asarray(header["feature_names"], dtype=object)
    return estimator

"""`KernelPCA` to a file and back: numbers only, so a callable kernel cannot be saved."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from scipy import sparse

from eigenlens import model_file as io
from eigenlens.arrays import Array, Like, is_sparse, to_numpy
from eigenlens.estimator.storage import named_features, outcome_of, outcome_values, storable_parameters
from eigenlens.kernel_pca.kernels.storing import from_dict, to_dict
from eigenlens.kernel_pca.model import KernelComponents

__all__ = ["restore", "save"]

_ARRAYS = ("coefficients", "offset", "centre", "eigenvalues")
_NUMBERS = ("centre_norm", "trace", "weight", "left_out")


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted KernelPCA to `path`, whole or not at all."""
    model: KernelComponents = estimator.model_
    name, numbers = to_dict(model.kernel)
    arrays = {field: getattr(model, field) for field in _ARRAYS} | _rows_to_arrays(model.rows)
    if model.origin is not None:
        arrays["origin"] = model.origin
    arrays["residuals"] = estimator.solver_.residuals
    header = {
        "parameters": storable_parameters(estimator),
        "kernel": [name, numbers],
        "numbers": {field: float(getattr(model, field)) for field in _NUMBERS},
        "gamma": estimator.gamma_,
        "exact": estimator._exact_fit,
        "n_samples": estimator.n_samples_,
        "n_features": estimator.n_features_in_,
        "dtype": estimator._like.dtype.name,
        "feature_names": named_features(estimator),
        "solver": outcome_values(estimator.solver_),
    }
    io.write(path, "KernelPCA", arrays, header)


def restore(cls: Any, arrays: dict[str, Array], header: dict[str, Any]) -> Any:
    """The estimator that `save` wrote."""
    estimator = cls(**header["parameters"])
    fields = {field: arrays[field] for field in _ARRAYS} | header["numbers"]
    kernel = from_dict(*header["kernel"])
    estimator.model_ = KernelComponents(kernel, _rows_from(arrays), origin=arrays.get("origin"), **fields)
    estimator.solver_, estimator._inverse = outcome_of(header["solver"], arrays["residuals"]), {}
    estimator._like = Like(estimator.model_.centre, np.dtype(header["dtype"]))
    estimator.gamma_, estimator.n_samples_, estimator._exact_fit = header["gamma"], header["n_samples"], header["exact"]
    estimator.n_features_in_ = header["n_features"]
    if header["feature_names"]:
        estimator.feature_names_in_ = np.asarray(header["feature_names"], dtype=object)
    return estimator


def _rows_to_arrays(rows: Any) -> dict[str, Array]:
    if not is_sparse(rows):
        return {"rows": to_numpy(rows)}
    shape = np.asarray(rows.shape, dtype=np.int64)
    return {"rows_data": rows.data, "rows_indices": rows.indices, "rows_indptr": rows.indptr, "rows_shape": shape}


def _rows_from(arrays: dict[str, Array]) -> Any:
    if "rows" in arrays:
        return arrays["rows"]
    parts = (arrays["rows_data"], arrays["rows_indices"], arrays["rows_indptr"])
    n, d = (int(size) for size in arrays["rows_shape"])
    return sparse.csr_matrix(parts, shape=(n, d))

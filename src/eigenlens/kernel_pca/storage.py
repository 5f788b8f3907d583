"""`KernelPCA` in a model file: numbers only, so a model with a callable kernel cannot be saved."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from scipy import sparse

from eigenlens.arrays import Array, is_sparse, to_numpy
from eigenlens.estimator.storage import OUTCOME, new_estimator, stored_like, write_estimator
from eigenlens.kernel_pca.kernels.storing import from_dict, to_dict
from eigenlens.kernel_pca.model import KernelComponents
from eigenlens.model_file import Layout, pack, unpack

__all__ = ["restore", "save"]

MODEL = Layout(
    KernelComponents,
    arrays=["coefficients", "offset", "centre", "eigenvalues", "origin"],
    header=["centre_norm", "trace", "weight", "left_out"],
    place="numbers",
)


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted KernelPCA to `path`, whole or not at all."""
    model: KernelComponents = estimator.model_
    (arrays, header), (residuals, outcome) = pack(model, MODEL), pack(estimator.solver_, OUTCOME)
    header |= {
        "kernel": to_dict(model.kernel),
        "gamma": estimator.gamma_,
        "exact": estimator._exact_fit,
        "n_samples": estimator.n_samples_,
        "n_features": estimator.n_features_in_,
    }
    write_estimator(estimator, path, arrays | residuals | _rows_to_arrays(model.rows), header | outcome)


def restore(cls: Any, arrays: dict[str, Array], header: dict[str, Any]) -> Any:
    """Return the estimator that `save` wrote."""
    estimator = new_estimator(cls, header, header["n_features"])
    kernel, rows = from_dict(*header["kernel"]), _rows_from_arrays(arrays)
    estimator.model_ = unpack(MODEL, arrays, header, kernel=kernel, rows=rows)
    estimator.solver_, estimator._inverse = unpack(OUTCOME, arrays, header), {}
    estimator._like = stored_like(header, estimator.model_.centre)
    estimator.gamma_, estimator.n_samples_, estimator._exact_fit = header["gamma"], header["n_samples"], header["exact"]
    return estimator


def _rows_to_arrays(rows: Any) -> dict[str, Array]:
    if not is_sparse(rows):
        return {"rows": to_numpy(rows)}
    shape = np.asarray(rows.shape, dtype=np.int64)
    return {"rows_data": rows.data, "rows_indices": rows.indices, "rows_indptr": rows.indptr, "rows_shape": shape}


def _rows_from_arrays(arrays: dict[str, Array]) -> Any:
    if "rows" in arrays:
        return arrays["rows"]
    parts = (arrays["rows_data"], arrays["rows_indices"], arrays["rows_indptr"])
    n, d = (int(size) for size in arrays["rows_shape"])
    return sparse.csr_matrix(parts, shape=(n, d))

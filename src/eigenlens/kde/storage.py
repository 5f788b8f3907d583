"""`KernelDensity` in a model file."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.estimator.storage import new_estimator, storable_parameters, stored_like, write_estimator
from eigenlens.kde.kernels import SMOOTHING_KERNELS
from eigenlens.kde.model import KernelEstimate
from eigenlens.model_file import Layout, pack, unpack

KDE_LAYOUT = Layout(
    KernelEstimate,
    arrays=["points", "weights", "bandwidth", "bounds", "scales"],
    header=["boundary", "tol"],
)


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted KernelDensity to `path`: its rows and bandwidths."""
    parameters = storable_parameters(estimator)
    arrays, header = pack(estimator.model_, KDE_LAYOUT)
    header |= {
        "parameters": {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in parameters.items()},
        "kernel": estimator.model_.kernel.name,
    }
    write_estimator(estimator, path, arrays, header)


def restore(cls: Any, arrays: dict[str, Array], header: dict[str, Any]) -> Any:
    """Return the estimator that `save` wrote."""
    model = unpack(KDE_LAYOUT, arrays, header, kernel=SMOOTHING_KERNELS[header["kernel"]])
    estimator = new_estimator(cls, header, model.n_features)
    estimator._model, estimator._like = model, stored_like(header, model.points)
    return estimator

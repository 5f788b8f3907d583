"""`KernelDensity` in a model file: its rows and bandwidths."""

from __future__ import annotations

from typing import Any

from eigenlens.arrays import Array
from eigenlens.kde.kernels import SMOOTHING_KERNELS
from eigenlens.kde.model import KernelEstimate
from eigenlens.model_file import Layout, pack, unpack

KDE_LAYOUT = Layout(
    KernelEstimate, arrays=["points", "weights", "bandwidth", "bounds", "scales"], header=["boundary", "tol"]
)


def pack_fit(estimator: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the estimate, with its kernel by name."""
    arrays, header = pack(estimator.model_, KDE_LAYOUT)
    return arrays, header | {"kernel": estimator.model_.kernel.name}


def restore_fit(estimator: Any, arrays: dict[str, Array], header: dict[str, Any]) -> None:
    """Give an estimator the fit of `pack_fit`."""
    estimator._model = unpack(KDE_LAYOUT, arrays, header, kernel=SMOOTHING_KERNELS[header["kernel"]])
    estimator.n_features_in_ = estimator._model.n_features

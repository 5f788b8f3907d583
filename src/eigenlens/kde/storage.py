"""`KernelDensity` in a model file: its rows and bandwidths."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.errors import ModelFileError
from eigenlens.kde.bounds import BOUNDARIES
from eigenlens.kde.kernels import SMOOTHING_KERNELS
from eigenlens.kde.model import KernelEstimate
from eigenlens.kde.options import check_bandwidth, check_bounds, check_kde_options
from eigenlens.laws import check_laws
from eigenlens.layout import Layout, entry, pack, unpack

KDE_LAYOUT = Layout(
    KernelEstimate, arrays=["points", "weights", "bandwidth", "bounds", "scales"], header=["boundary", "tol"]
)


def pack_fit(estimator: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the estimate, with its kernel by name."""
    arrays, header = pack(estimator.model_, KDE_LAYOUT)
    return arrays, header | {"kernel": estimator.model_.kernel.name}


def restore_fit(estimator: Any, arrays: dict[str, Array], header: dict[str, Any]) -> None:
    """Give an estimator the fit of `pack_fit`."""
    kernel = checks.name("kernel", entry(header, "kernel", "str"), SMOOTHING_KERNELS)
    checks.name("boundary", entry(header, "boundary", "str"), BOUNDARIES)
    sizes: dict[str, int] = {}
    estimator._model = unpack(KDE_LAYOUT, arrays, header, sizes, kernel=SMOOTHING_KERNELS[kernel])
    if sizes["d"] == 1 and arrays["bandwidth"].ndim > 1:
        raise ModelFileError("'bandwidth' is a matrix, and there is one column")
    _check_parts(estimator)
    check_laws({"scale": "(d) positive, of a finite square, 0 or of a finite inverse square"}, arrays, sizes)
    estimator.n_features_in_ = estimator._model.n_features
    check_kde_options(estimator)
    bounds = check_bounds(estimator.bounds, estimator._model.points, estimator.boundary)
    if not np.array_equal(bounds, estimator._model.bounds):
        raise ModelFileError("'bounds' of 'parameters' are not the 'bounds' of the density")
    check_bounds(estimator._model.bounds, estimator._model.points, estimator._model.boundary)
    check_bandwidth(estimator.bandwidth, estimator.n_features_in_)


def _check_parts(estimator: Any) -> None:
    """Raise for parts that do not go together."""
    model = estimator._model
    product = model.kernel.name != "gaussian" or np.isfinite(model.bounds).any()
    if model.bandwidth.ndim > 1 and product:
        raise ModelFileError("'bandwidth' is a matrix, which is for 'gaussian' kernels without bounds")
    if estimator.adaptive is True and model.scales is None:
        raise ModelFileError("lacks 'scales', and 'adaptive' is true")

"""`KernelPCA` in a model file: numbers only, so a model with a callable kernel cannot be saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from scipy import sparse

from eigenlens.arrays import Array, is_sparse, to_numpy
from eigenlens.errors import ModelFileError
from eigenlens.estimator.storage import OUTCOME_LAYOUT
from eigenlens.kernel_pca.kernels import KERNELS, kernel_options
from eigenlens.kernel_pca.kernels.base import Kernel
from eigenlens.kernel_pca.model import KernelComponents
from eigenlens.kernel_pca.random_features import FourierFeatures
from eigenlens.model_file import Layout, pack_all, unpack

KERNEL_PCA_LAYOUT = Layout(
    KernelComponents,
    arrays=["coefficients", "offset", "centre", "eigenvalues", "origin", "row_weight", "scale"],
    header=["centre_norm", "trace", "weight", "left_out", "centred"],
    place="numbers",
)


def pack_fit(estimator: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the model, its kernel by name, and its solver."""
    model: KernelComponents = estimator.model_
    arrays, header = pack_all((model, KERNEL_PCA_LAYOUT), (estimator.solver_, OUTCOME_LAYOUT))
    header |= {
        "kernel": kernel_to_dict(model.kernel),
        "gamma": estimator.gamma_,
        "exact": estimator._exact_fit,
        "n_samples": estimator.n_samples_,
        "n_features": estimator.n_features_in_,
    }
    return arrays | _rows_to_arrays(model.rows), header


def restore_fit(estimator: Any, arrays: dict[str, Array], header: dict[str, Any]) -> None:
    """Give an estimator the fit of `pack_fit`."""
    kernel, rows = kernel_from_dict(*header["kernel"]), _rows_from_arrays(arrays)
    estimator.model_ = unpack(KERNEL_PCA_LAYOUT, arrays, header, kernel=kernel, rows=rows)
    estimator.solver_, estimator._inverse = unpack(OUTCOME_LAYOUT, arrays, header), {}
    estimator.gamma_, estimator._exact_fit = header["gamma"], header["exact"]
    estimator.n_samples_, estimator.n_features_in_ = header["n_samples"], header["n_features"]


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


def kernel_to_dict(kernel: Kernel) -> tuple[str, dict[str, Any]]:
    """Return the name of a kernel and its options, for a file.

    >>> from eigenlens.kernel_pca.kernels.rbf import RBF
    >>> kernel_to_dict(RBF(0.5))
    ('rbf', {'gamma': 0.5})
    """
    if _storable_kernels().get(kernel.name) is not type(kernel):
        what = "is a callable, and a file holds numbers, not code"
        fix = f"save a model with one of the named kernels: {', '.join(map(repr, KERNELS))}"
        raise ModelFileError(what, argument="kernel", value=kernel, fix=fix)
    return kernel.name, asdict(kernel)  # type: ignore[call-overload]


def kernel_from_dict(name: str, options: Mapping[str, Any]) -> Kernel:
    """Return the kernel of `kernel_to_dict`; options that it does not take are ignored.

    >>> from eigenlens.kernel_pca.kernels.polynomial import Polynomial
    >>> kernel_from_dict(*kernel_to_dict(Polynomial(gamma=0.5, coef0=1.0, degree=3)))
    Polynomial(gamma=0.5, coef0=1.0, degree=3)
    """
    known = _storable_kernels()
    if name not in known:
        raise ModelFileError(f"the kernel {name!r} is not known", fix=f"known: {', '.join(map(repr, known))}")
    takes = kernel_options(known[name])
    if missing := [option for option, required in takes.items() if required and option not in options]:
        raise ModelFileError(f"the kernel {name!r} needs {', '.join(missing)}, which the file does not hold")
    return known[name](**{option: value for option, value in options.items() if option in takes})


def _storable_kernels() -> dict[str, type[Kernel]]:
    """Return the kernels that a file may hold: every named kernel, and random Fourier features in place of one."""
    return KERNELS | {FourierFeatures.name: FourierFeatures}

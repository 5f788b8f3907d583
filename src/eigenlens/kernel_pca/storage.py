"""`KernelPCA` in a model file: numbers only, so a model with a callable kernel cannot be saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from eigenlens import checks
from eigenlens.arrays import Array, dense, is_sparse, to_numpy
from eigenlens.data.memory import ArraySource
from eigenlens.errors import ModelFileError
from eigenlens.estimator.storage import OUTCOME_LAYOUT
from eigenlens.kernel_pca.features import APPROXIMATIONS
from eigenlens.kernel_pca.kernels import KERNELS, kernel_options
from eigenlens.kernel_pca.kernels.base import Kernel
from eigenlens.kernel_pca.kernels.precomputed import Precomputed
from eigenlens.kernel_pca.model import KernelComponents
from eigenlens.kernel_pca.options import check_kernel, check_kernel_components, check_n_landmarks
from eigenlens.kernel_pca.random_features import FourierFeatures
from eigenlens.laws import SUM_TOLERANCE, Laws, check_law, check_laws, require
from eigenlens.layout import Layout, entry, pack_all, unpack

KERNEL_PCA_LAYOUT = Layout(
    KernelComponents,
    arrays=["coefficients", "offset", "centre", "eigenvalues", "origin", "row_weight", "scale"],
    header=["centre_norm", "trace", "weight", "left_out", "centred"],
    place="numbers",
    later=["centred"],
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
    named = entry(header, "kernel", "list")
    if len(named) != 2 or not isinstance(named[0], str) or not isinstance(named[1], dict):
        raise ModelFileError("'kernel' must be a name and its options")
    kernel, d = kernel_from_dict(*named), entry(header, "n_features", law="positive")
    rows = _rows_from_arrays(arrays, 0 if isinstance(kernel, Precomputed) else d)
    m = 2 * (rows.shape[0] - 1) if isinstance(kernel, FourierFeatures) else rows.shape[0]
    if rows.dtype != np.float64 and header["dtype"] != rows.dtype.name:
        raise ModelFileError(f"'rows' are of the type {rows.dtype}, and 'dtype' is {header['dtype']}")
    sizes = {"m": m, "d": d}
    estimator.model_ = unpack(KERNEL_PCA_LAYOUT, arrays, header, sizes, kernel=kernel, rows=rows)
    estimator.solver_, estimator._inverse = unpack(OUTCOME_LAYOUT, arrays, header, sizes), {}
    estimator.gamma_, estimator._exact_fit = (
        entry(header, "gamma", "float | None", "positive"),
        entry(header, "exact", "bool"),
    )
    estimator.n_samples_, estimator.n_features_in_ = entry(header, "n_samples"), d
    _check_fitted_scores(estimator)
    if getattr(kernel, "gamma", estimator.gamma_) != estimator.gamma_:
        raise ModelFileError(f"'kernel' has another gamma than 'gamma', {estimator.gamma_}")
    _check_parameters(estimator)


FEW_ROWS = 3
"""Rows of the fit whose scores are computed again when a model is loaded."""

MAX_SCORE_ERROR = 1e-3
"""How far scores may be from those of the fit, in standard deviations: solvers have tolerances, float32 few digits."""


def _check_fitted_scores(estimator: Any) -> None:
    """Raise unless the scores of some rows of an exact fit are those of the eigenvectors, z_ij = lam_j a_ij / w_i."""
    model: KernelComponents = estimator.model_
    if isinstance(model.kernel, FourierFeatures):
        check_law("coefficients", "(m, k) orthonormal columns", model.coefficients, {})
    if not estimator._exact_fit or isinstance(model.kernel, Precomputed) or not model.eigenvalues.size:
        return
    weight = model.centre * model.weight if model.row_weight is None else model.row_weight
    if weight.shape != (model.rows.shape[0],) or (model.centred and abs(model.centre.sum() - 1.0) > SUM_TOLERANCE):
        raise ModelFileError("'centre' is not the mean of 'rows'")
    few = np.flatnonzero(weight > 0.0)[:: max(1, len(weight) // FEW_ROWS)][:FEW_ROWS]
    with np.errstate(all="ignore"):
        found = replace(model, origin=None, scale=None).scores(dense(model.rows[few]).astype(np.float64))
        apart = np.abs(found - model.eigenvalues * model.coefficients[few] / weight[few][:, None])
    if not np.all(apart <= MAX_SCORE_ERROR * np.sqrt(model.eigenvalues[0] / model.weight)):
        raise ModelFileError("'rows', 'coefficients' and 'eigenvalues' are not those of one fit")


def _check_parameters(estimator: Any) -> None:
    """Raise for parameters that a fit would not take."""
    source = ArraySource(np.empty((estimator.n_samples_, 0)))
    check_kernel(estimator)  # options that a kernel does not take were accepted by earlier versions
    check_kernel_components(estimator, source)
    check_n_landmarks(estimator, source)
    checks.boolean("standardize", estimator.standardize)
    checks.real("tol", estimator.tol, 0.0, 1.0)
    if estimator.approximation is not None:
        checks.name("approximation", estimator.approximation, APPROXIMATIONS)
    if estimator.max_memory is not None:
        checks.memory("max_memory", estimator.max_memory)


def _rows_to_arrays(rows: Any) -> dict[str, Array]:
    if not is_sparse(rows):
        return {"rows": to_numpy(rows)}
    shape = np.asarray(rows.shape, dtype=np.int64)
    return {"rows_data": rows.data, "rows_indices": rows.indices, "rows_indptr": rows.indptr, "rows_shape": shape}


SPARSE_LAWS: Laws = {
    "rows_shape": "(2) integer, positive",
    "rows_data": "(e) single or double",
    "rows_indices": "(e) integer, below d",
    "rows_indptr": "(n+1) integer, not negative, never decreasing",
}
"""The rows of a model of sparse rows, (n, d) with e entries."""


def _rows_from_arrays(arrays: dict[str, Array], d: int) -> Any:
    if "rows" in arrays:
        check_law("rows", KernelComponents.laws["rows"], arrays["rows"], {"d": d})
        return arrays["rows"]
    require(arrays, *SPARSE_LAWS)
    data, indices, ends, shape = (arrays[f"rows_{part}"] for part in ("data", "indices", "indptr", "shape"))
    check_laws(SPARSE_LAWS, arrays, {"d": d, "n": int(shape[0]) if shape.shape == (2,) else 0})
    if shape[1] != d or ends[0] != 0 or ends[-1] != len(data):
        raise ModelFileError(f"'rows_shape' and 'rows_indptr' do not belong to rows of {d} columns")
    return sparse.csr_matrix((data, indices, ends), shape=(len(ends) - 1, d))


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
    types = {each.name: str(each.type) for each in fields(known[name])}  # type: ignore[arg-type]
    return known[name](
        **{option: entry(options, option, types[option], "finite") for option in options if option in takes}
    )


def _storable_kernels() -> dict[str, type[Kernel]]:
    """Return the kernels that a file may hold: every named kernel, and random Fourier features in place of one."""
    return KERNELS | {FourierFeatures.name: FourierFeatures}

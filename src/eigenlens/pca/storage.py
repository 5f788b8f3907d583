"""`PCA` in a model file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.memory import ArraySource
from eigenlens.errors import ModelFileError
from eigenlens.estimator.storage import OUTCOME_LAYOUT
from eigenlens.laws import ORTHONORMAL_TOLERANCE, Laws, check_laws
from eigenlens.layout import Layout, entry, pack_all, unpack
from eigenlens.pca.model import PrincipalComponents
from eigenlens.pca.options import check_pca_options
from eigenlens.stats.moments import Moments

PCA_LAYOUT = Layout(
    PrincipalComponents,
    arrays=["mean", "scale", "components", "variances", "column_variances"],
    header=["total", "weight", "center"],
    later=["center"],
)

REST_LAWS: Laws = {
    "turn": PrincipalComponents.laws["rotation"],
    "feature_weight": "(d) positive",
    "moments_scatter": "(d, d) covariance",
    "moments_mean": "(d) of a finite square",
    "moments_rest": "(d) finite",
    "moments_triangle": "(r, d) of a finite square",
}
"""Arrays of a fit that are not part of its model."""


MAX_REST_SHARE = 1e-15
"""The largest share of a mean that is lost by rounding."""


def pack_fit(estimator: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the model, its solver, and its moments if it has them; their mean and weight are the model's.

    Only the mean of a model about zero is stored again: that model's own is zero.
    """
    arrays, header = pack_all((estimator.model_, PCA_LAYOUT), (estimator.solver_, OUTCOME_LAYOUT))
    header["n_samples"] = estimator.n_samples_
    if header["center"]:
        del header["center"]  # the default, which files of earlier versions do not mention
    if estimator.model_.rotation is not None:
        arrays["turn"] = estimator.model_.rotation
    if estimator._feature_weight is not None:
        arrays["feature_weight"] = estimator._feature_weight
    moments: Moments | None = estimator._moments
    if moments is not None:
        arrays["moments_scatter"], header["moments_rows"] = moments.scatter, moments.rows
        if not estimator.model_.center:
            arrays["moments_mean"] = moments.mean
        if np.any(moments.rest):
            arrays["moments_rest"] = moments.rest
        if estimator._triangle is not None:
            arrays["moments_triangle"] = estimator._triangle
    return arrays, header


def restore_fit(estimator: Any, arrays: dict[str, Array], header: dict[str, Any]) -> None:
    """Give an estimator the fit of `pack_fit`."""
    sizes: dict[str, int] = {}
    model, moments = replace(unpack(PCA_LAYOUT, arrays, header, sizes), rotation=arrays.get("turn")), None
    check_laws(REST_LAWS, arrays, sizes)
    if estimator.rotation is not None and sizes["k"] > 1 and model.rotation is None:
        raise ModelFileError(f"lacks 'turn', the rotation {estimator.rotation!r}")
    if "moments_scatter" in arrays:
        mean = arrays.get("moments_mean", model.mean)
        rows, rest = entry(header, "moments_rows"), arrays.get("moments_rest", 0.0)
        if np.any(np.abs(rest) > MAX_REST_SHARE * np.abs(mean)):
            raise ModelFileError("'moments_rest' is more than the mean can lose by rounding")
        moments = Moments(model.weight, mean, arrays["moments_scatter"], rows, rest)
        _check_moments(model, moments)
    estimator._model, estimator._outcome = model, unpack(OUTCOME_LAYOUT, arrays, header, sizes)
    estimator._moments, estimator._fitted_source = moments, None
    estimator._triangle = _check_triangle(arrays.get("moments_triangle"), moments)
    estimator._feature_weight = arrays.get("feature_weight")
    check_pca_options(estimator, ArraySource(np.empty((1, model.mean.size))), rows_known=False)
    estimator.n_samples_, estimator.n_features_in_ = entry(header, "n_samples"), model.mean.size


def _check_triangle(R: Array | None, moments: Moments | None) -> Array | None:
    """Return the triangle once RᵀR is the scatter of the moments, by its product with a random vector."""
    if R is None:
        return None
    if moments is None or len(R) > R.shape[1]:
        raise ModelFileError("'moments_triangle' is not a triangle of 'moments_scatter'")
    scale = np.sqrt(moments.scatter.diagonal())
    g = np.random.default_rng(0).standard_normal(scale.size) / np.where(scale > 0.0, scale, 1.0)
    apart = np.abs(R.T @ (R @ g) - moments.scatter @ g)
    if not np.all(apart <= ORTHONORMAL_TOLERANCE * scale * (1.0 + np.linalg.norm(scale * g))):
        raise ModelFileError("'moments_triangle' is not a triangle of 'moments_scatter'")
    return R


def _check_moments(model: PrincipalComponents, moments: Moments) -> None:
    """Raise unless the components are eigenvectors of the moments, by a random combination of them: S Vᵀg = Vᵀ Λ g."""
    scatter = moments.scatter if model.center else moments.scatter + model.weight * np.outer(moments.mean, moments.mean)
    S = scatter / (model.divisor * np.outer(model.scale, model.scale))
    g = np.random.default_rng(0).standard_normal(model.variances.size)
    apart = S @ (model.components.T @ g) - model.components.T @ (model.variances * g)
    near = np.abs(apart) <= ORTHONORMAL_TOLERANCE * model.total * (1.0 + np.linalg.norm(g))
    if not np.all(near) or not np.allclose(S.diagonal(), model.column_variances, rtol=1e-6, atol=1e-9 * model.total):
        raise ModelFileError("'components' and 'variances' are not those of 'moments_scatter'")

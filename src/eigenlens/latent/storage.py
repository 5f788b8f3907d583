"""Probabilistic PCA and factor analysis in a model file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.errors import ModelFileError
from eigenlens.latent.factor.goodness_of_fit import ReferenceLikelihoods
from eigenlens.latent.n_components import DimensionChoice
from eigenlens.laws import check_laws
from eigenlens.layout import Layout, pack, pack_all, unpack
from eigenlens.missing.result import LatentFit

LINEAR_GAUSSIAN_LAYOUT = Layout(LinearGaussian, arrays=["mean", "loadings", "noise"])

SAME_NAMES = ("loglik", "n_iter", "converged", "weight", "rows", "passes", "reason", "solver", "interrupted", "ended")
"""Fields of a `LatentFit` that have the same names in files."""

LATENT_FIT_LAYOUT = Layout(
    LatentFit,
    arrays=["path", "constant"],
    header={name: name for name in SAME_NAMES} | {"residual": "gap"},
    parts={"model": LINEAR_GAUSSIAN_LAYOUT},
    place="fit",
)

SELECTION_LAYOUT = Layout(
    DimensionChoice,
    arrays={"counts": "counts", "values": "criterion", "errors": "errors"},
    header=["rule", "k", "interrupted"],
    place="selection",
    as_list=True,
    later=["interrupted"],
    optional=True,
)

LIKELIHOODS_LAYOUT = Layout(
    ReferenceLikelihoods,
    header=["saturated", "independent", "exact"],
    place="others",
    as_list=True,
    later=["exact"],
    optional=True,
)


def pack_fit(estimator: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the fit, the choice of its dimensions, and the further results of factor analysis."""
    fit = estimator._fitted
    arrays, header = pack_all((fit, LATENT_FIT_LAYOUT), (estimator.selection_, SELECTION_LAYOUT))
    if estimator._rotation_matrix is not None:
        arrays["turn"] = estimator._rotation_matrix
    if hasattr(estimator, "_others"):
        if fit.moments is not None:
            estimator._likelihoods(None, None)  # the moments, from which they are computed, are not stored
        header |= pack(estimator._others, LIKELIHOODS_LAYOUT)[1]
    return arrays, header


def restore_fit(estimator: Any, arrays: dict[str, Array], header: dict[str, Any]) -> None:
    """Give an estimator the fit of `pack_fit`."""
    sizes: dict[str, int] = {}
    estimator._fit = unpack(LATENT_FIT_LAYOUT, arrays, header, sizes)
    check_laws(
        {
            "turn": "(k, k) regular, unit columns",
            "scale": "(d) positive, of a finite square, 0 or of a finite inverse square",
        },
        arrays,
        sizes,
    )
    _check_scale(estimator)
    estimator._choice, estimator._rotation_matrix = unpack(SELECTION_LAYOUT, arrays, header), arrays.get("turn")
    if isinstance(estimator.n_components, str) and estimator._choice is None:
        raise ModelFileError(f"lacks 'selection', what the rule {estimator.n_components!r} chose")
    if estimator._choice is not None and not isinstance(estimator.n_components, str):
        raise ModelFileError(
            f"has 'selection', what a rule chose, but n_components = {estimator.n_components!r} is none"
        )
    if estimator._choice is not None and estimator._choice.k != sizes["k"]:
        raise ModelFileError(f"'loadings' have {sizes['k']} columns, and 'selection' chose {estimator._choice.k}")
    estimator.n_features_in_ = estimator.model_.mean.size
    estimator._checked_options(estimator.n_features_in_)
    if estimator._scalar_noise:
        estimator._fit = replace(estimator._fit, scale=estimator._scale)
        return
    if estimator.rotation is not None and sizes["k"] > 1 and estimator._rotation_matrix is None:
        raise ModelFileError(f"lacks 'turn', the rotation {estimator.rotation!r}")
    estimator._others = unpack(LIKELIHOODS_LAYOUT, arrays, header)


def _check_scale(estimator: Any) -> None:
    """Raise unless the scale is the one that the model implies.

    One noise variance of standardised columns is, in the units of the columns, one for each, times scale². The scale
    of factor loadings is the standard deviation of the model, or 1.
    """
    model, scale = estimator._fit.model, estimator._scale
    if np.ndim(model.noise) == 0 and not estimator._scalar_noise:
        raise ModelFileError("'noise' must have one variance per column")
    if scale is None and np.ndim(model.noise) == 0:
        return
    deviations = np.sqrt(model.noise + np.sum(model.loadings**2, axis=1))
    known = [np.sqrt(model.noise / np.max(model.noise)) if estimator._scalar_noise else deviations / deviations.max()]
    known += [] if estimator._scalar_noise else [np.ones(model.mean.size)]
    if scale is None or not any(np.allclose(scale / scale.max(), each / each.max(), rtol=1e-6) for each in known):
        raise ModelFileError("'scale' is not that of 'noise' and 'loadings'")

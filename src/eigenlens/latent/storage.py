"""Probabilistic PCA and factor analysis in a model file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from eigenlens.arrays import Array
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.latent.factor.goodness_of_fit import ReferenceLikelihoods
from eigenlens.latent.n_components import DimensionChoice
from eigenlens.laws import check_values
from eigenlens.missing.result import LatentFit
from eigenlens.model_file import Layout, pack, pack_all, unpack

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
)

LIKELIHOODS_LAYOUT = Layout(
    ReferenceLikelihoods, header=["saturated", "independent", "exact"], place="others", as_list=True, later=["exact"]
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
    check_values({"turn": "(k, k) finite", "scale": "(d) positive"}, arrays, sizes)
    estimator._choice, estimator._rotation_matrix = unpack(SELECTION_LAYOUT, arrays, header), arrays.get("turn")
    estimator.n_features_in_ = estimator.model_.mean.size
    estimator._checked_options(estimator.n_features_in_)
    if estimator._scalar_noise:
        estimator._fit = replace(estimator._fit, scale=estimator._scale)
    else:
        estimator._others = unpack(LIKELIHOODS_LAYOUT, arrays, header)

"""Probabilistic PCA and factor analysis in a model file."""

from __future__ import annotations

import os
from typing import Any

from eigenlens.arrays import Array
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.estimator.storage import new_estimator, stored_like, write_estimator
from eigenlens.latent.factor.goodness_of_fit import ReferenceLikelihoods
from eigenlens.latent.n_components import DimensionChoice
from eigenlens.missing.result import LatentFit
from eigenlens.model_file import Layout, pack, unpack

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
)

LIKELIHOODS_LAYOUT = Layout(
    ReferenceLikelihoods, header=["saturated", "independent", "exact"], place="others", as_list=True
)


def save(
    estimator: Any,
    path: str | os.PathLike[str],
    others: tuple[dict[str, Array], dict[str, Any]] = ({}, {}),
) -> None:
    """Write a fitted estimator to `path`; `others` are arrays and header entries that only some estimators have."""
    (arrays, header), (criterion, selection) = (
        pack(estimator._fitted, LATENT_FIT_LAYOUT),
        pack(estimator.selection_, SELECTION_LAYOUT),
    )
    if estimator._rotation_matrix is not None:
        arrays["turn"] = estimator._rotation_matrix
    write_estimator(estimator, path, arrays | criterion | others[0], header | selection | others[1])


def restore(cls: Any, arrays: dict[str, Array], header: dict[str, Any]) -> Any:
    """Return the estimator that `save` wrote."""
    fit: LatentFit = unpack(LATENT_FIT_LAYOUT, arrays, header)
    mean = fit.model.mean
    estimator = new_estimator(cls, header, mean.size)
    estimator._remember(fit, stored_like(header, mean), unpack(SELECTION_LAYOUT, arrays, header))
    estimator._rotation_matrix = arrays.get("turn")
    return estimator

"""Gaussian mixtures in a model file."""

from __future__ import annotations

import os
from typing import Any

from eigenlens.arrays import Array
from eigenlens.densities.mixture import Mixture
from eigenlens.estimator.storage import new_estimator, storable_parameters, stored_like, write_estimator
from eigenlens.mixture.em import LostComponent
from eigenlens.mixture.fit import MixtureFit
from eigenlens.mixture.online import OnlineFit
from eigenlens.mixture.structures import make_structure, structure_name
from eigenlens.model_file import Layout, pack, unpack
from eigenlens.stats.moments import ColumnMoments, Moments

UNCHANGED_NAMES = ("loglik", "n_iter", "converged", "interrupted", "weight", "rows", "parameters", "empty")
"""Fields of a fit that are stored under their own names."""

MIXTURE_FIT_LAYOUT = Layout(
    MixtureFit,
    arrays={"path": "path", "clamped": "held", "constant": "constant"},
    header={"remaining_gain": "gap"} | {name: name for name in UNCHANGED_NAMES},
    place="fit",
)

MOMENTS_LAYOUTS = {
    True: Layout(Moments, arrays=["weight", "mean", "scatter"], prefix="moments."),
    False: Layout(ColumnMoments, arrays=["weight", "mean", "square"], prefix="moments."),
}
"""The moments of `partial_fit`, of all columns together (True) or of each on its own."""


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted mixture to `path`, with the moments with which `partial_fit` can go on."""
    fit, structure, chunks = estimator._fitted, estimator._structure, estimator._chunks
    arrays, header = pack(fit, MIXTURE_FIT_LAYOUT)
    arrays |= {"weights": fit.model.weights, "means": fit.model.means} | structure.arrays(fit.model.components)
    if chunks is not None:
        arrays |= pack(chunks.moments, MOMENTS_LAYOUTS[structure.joint])[0]
    header |= {
        "parameters": _parameters(estimator),
        "structure": structure_name(structure),  # parameters may have been set since the fit
        "lost": [[list(lost.mean), lost.step] for lost in fit.lost],
        "chunks": 0 if chunks is None else chunks.chunks,
    }
    write_estimator(estimator, path, arrays, header)


def _parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters without a start of one's own, which is not part of the model."""
    parameters = storable_parameters(estimator)
    return parameters if isinstance(parameters["init"], str) else parameters | {"init": "k-means++"}


def restore(cls: Any, arrays: dict[str, Array], header: dict[str, Any]) -> Any:
    """Return the estimator that `save` wrote."""
    means = arrays["means"]
    estimator = new_estimator(cls, header, means.shape[1])
    structure = make_structure(*header.get("structure", (estimator.covariance_type, estimator.n_factors)))
    model = Mixture(arrays["weights"], structure.components(means, arrays))
    lost = tuple(LostComponent(tuple(mean), step) for mean, step in header["lost"])
    fit = unpack(MIXTURE_FIT_LAYOUT, arrays, header, model=model, lost=lost)
    chunks = None
    if header["chunks"]:
        chunks = OnlineFit(fit, unpack(MOMENTS_LAYOUTS[structure.joint], arrays, header), header["chunks"])
    estimator._remember(fit, structure, stored_like(header, means), chunks)
    return estimator

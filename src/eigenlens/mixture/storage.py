"""Gaussian mixtures in a model file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.data.memory import ArraySource
from eigenlens.densities.mixture import Mixture
from eigenlens.errors import ModelFileError
from eigenlens.laws import SUM_TOLERANCE, check_law, check_laws, require
from eigenlens.layout import Layout, entry, pack, unpack
from eigenlens.mixture.em import LostComponent
from eigenlens.mixture.fit import MixtureFit, mixture_parameters
from eigenlens.mixture.online import OnlineFit
from eigenlens.mixture.options import check_mixture_options
from eigenlens.mixture.start_rule import PART_NAMES
from eigenlens.mixture.structures import COVARIANCE_STRUCTURES, make_structure, structure_name
from eigenlens.mixture.structures.base import CovarianceStructure
from eigenlens.stats.moments import ColumnMoments, Moments, full_rest

UNCHANGED_NAMES = ("loglik", "n_iter", "converged", "interrupted", "weight", "rows", "parameters", "empty")
"""Fields of a fit that are stored under their own names."""

MIXTURE_FIT_LAYOUT = Layout(
    MixtureFit,
    arrays={"path": "path", "clamped": "held", "constant": "constant"},
    header={"remaining_gain": "gap"} | {name: name for name in UNCHANGED_NAMES},
    place="fit",
)

JOINT_MOMENTS_LAYOUT = Layout(Moments, arrays=["weight", "mean", "scatter", "rest"], prefix="moments.", later=["rest"])
COLUMN_MOMENTS_LAYOUT = Layout(
    ColumnMoments, arrays=["weight", "mean", "square", "rest"], prefix="moments.", later=["rest"]
)


def _moments_layout(structure: CovarianceStructure) -> Layout:
    """Return the layout of the moments of `partial_fit`: of all columns together, or of each on its own."""
    return JOINT_MOMENTS_LAYOUT if structure.joint else COLUMN_MOMENTS_LAYOUT


def pack_fit(estimator: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the fit, with the moments with which `partial_fit` can go on."""
    fit, structure, chunks = estimator._fitted, estimator._structure, estimator._chunks
    arrays, header = pack(fit, MIXTURE_FIT_LAYOUT)
    arrays |= {"weights": fit.model.weights, "means": fit.model.means} | structure.arrays(fit.model.components)
    if chunks is not None:
        moments = replace(chunks.moments, rest=full_rest(chunks.moments))
        arrays |= pack(moments, _moments_layout(structure))[0]
        if not moments.rest.any():
            del arrays["moments.rest"]  # the default, which files of earlier versions do not have
    header |= {
        # A start given by the user is not part of the model.
        "parameters": dict.fromkeys(PART_NAMES) | ({} if isinstance(estimator.init, str) else {"init": "k-means++"}),
        "structure": structure_name(structure),  # parameters may have been set since the fit
        "lost": [[list(lost.mean), lost.step] for lost in fit.lost],
        "chunks": 0 if chunks is None else chunks.chunks,
    }
    return arrays, header


def restore_fit(estimator: Any, arrays: dict[str, Array], header: dict[str, Any]) -> None:
    """Give an estimator the fit of `pack_fit`."""
    name, q = _structure_entry(header)
    structure, sizes = make_structure(name, q), {"q": q}
    laws = {**Mixture.laws, **structure.laws}
    require(arrays, *laws)
    check_laws(laws, arrays, sizes)
    model = Mixture(arrays["weights"], structure.components(arrays["means"], arrays))
    model.terms  # noqa: B018  # factored now, so that covariances that cannot be are an error of the file
    lost = tuple(_lost_component(each, sizes["d"]) for each in entry(header, "lost", "list"))
    fit, chunks = unpack(MIXTURE_FIT_LAYOUT, arrays, header, sizes, model=model, lost=lost), None
    if entry(header, "chunks"):
        chunks = OnlineFit(fit, unpack(_moments_layout(structure), arrays, header, sizes), header["chunks"])
        weight = chunks.moments.weight
        if abs(float(np.sum(weight if weight.ndim == 1 else weight.max(axis=1))) / fit.weight - 1.0) > SUM_TOLERANCE:
            raise ModelFileError("'moments.weight' does not have the sum 'weight'")
    # A structure of standardised columns may be another one in their own units, and is counted as it was fitted.
    known = [make_structure(each, q) for each in COVARIANCE_STRUCTURES]
    fitted = [each for each in known if structure in (each, each.in_any_units())]
    if fit.parameters not in [mixture_parameters(model, each) for each in fitted]:
        raise ModelFileError(f"'parameters' is not the number of {sizes['K']} components of {sizes['d']} columns")
    estimator._fit, estimator._structure, estimator._chunks = fit, structure, chunks
    estimator.n_features_in_ = sizes["d"]
    checks.boolean("standardize", estimator.standardize)
    checks.boolean("warm_start", estimator.warm_start)
    check_mixture_options(estimator, ArraySource(np.empty((1, sizes["d"]))))


def _structure_entry(header: dict[str, Any]) -> tuple[str, int]:
    """Return the name of the covariance structure and the number of its latent dimensions."""
    found = entry(header, "structure", "list")
    if len(found) != 2 or not isinstance(found[0], str) or found[0] not in COVARIANCE_STRUCTURES:
        raise ModelFileError(f"'structure' is not one of {', '.join(COVARIANCE_STRUCTURES)} with a number")
    return found[0], entry({"structure": found[1]}, "structure", law="positive")


def _lost_component(stored: Any, d: int) -> LostComponent:
    if not isinstance(stored, list) or len(stored) != 2:
        raise ModelFileError("'lost' must hold means and steps")
    check_law("lost", "(d) number", np.asarray(stored[0]), {"d": d})
    return LostComponent(tuple(stored[0]), entry({"lost": stored[1]}, "lost"))

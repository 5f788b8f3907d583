"""Mixtures of any family in a model file: statistics of the components, from which the model follows."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.bayes.latent_classes.fit import LatentClassFit
from eigenlens.bayes.latent_classes.options import check_latent_class_options
from eigenlens.bayes.naive.plan import check_families
from eigenlens.bayes.naive.storage import (
    pack_groups,
    pack_parameter,
    pack_plan,
    unpack_frame,
    unpack_groups,
    unpack_parameter,
    unpack_plan,
)
from eigenlens.errors import ModelFileError
from eigenlens.estimator.storage import storable_parameters
from eigenlens.layout import Layout, pack, unpack

LATENT_CLASS_LAYOUT = Layout(
    LatentClassFit,
    arrays=["path"],
    header=["loglik", "n_iter", "remaining_gain", "converged", "interrupted", "weight", "clamped", "rows", "empty"],
    place="fit",
)


def pack_fit(estimator: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the plan of the columns, the statistics of the components, and how they were fitted."""
    fit, plan = estimator._fitted, estimator._plan
    arrays, header = pack(fit, LATENT_CLASS_LAYOUT)
    own, groups = pack_groups(plan, fit.statistics, fit.model)
    parameters = {name: pack_parameter(value, name) for name, value in storable_parameters(estimator).items()}
    header |= pack_plan(plan) | {"parameters": parameters, "groups": groups, "frame": estimator._frame}
    return arrays | own, header


def restore_fit(estimator: Any, arrays: dict[str, Array], header: dict[str, Any]) -> None:
    """Give an estimator the fit of `pack_fit`, and its parameters."""
    plan = unpack_plan(header)
    estimator.set_params(**{name: unpack_parameter(value) for name, value in header["parameters"].items()})
    naive = check_latent_class_options(estimator).naive
    check_families(estimator.features, plan.fields)
    checks.integer("n_components", estimator.n_components, 1)
    statistics, model = unpack_groups(plan, arrays, header["groups"], naive)
    if not np.allclose(model.prior, statistics.weight / statistics.weight.sum()):
        raise ModelFileError("'prior' does not have the shares of 'weight'")
    estimator._fit = unpack(LATENT_CLASS_LAYOUT, arrays, header, model=model, statistics=statistics)
    estimator._plan, estimator._frame, estimator.n_features_in_ = plan, unpack_frame(header), len(plan.fields)

"""`PCA` in a model file."""

from __future__ import annotations

import os
from typing import Any

from eigenlens.arrays import Array
from eigenlens.estimator.storage import OUTCOME_LAYOUT, new_estimator, stored_like, write_estimator
from eigenlens.model_file import Layout, pack, unpack
from eigenlens.pca.model import PrincipalComponents
from eigenlens.stats.moments import Moments

PCA_LAYOUT = Layout(
    PrincipalComponents,
    arrays=["mean", "scale", "components", "variances", "column_variances"],
    header=["total", "weight"],
)


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted PCA to `path`, with its moments if it has them; their mean and weight are the model's."""
    (arrays, header), (residuals, outcome) = pack(estimator.model_, PCA_LAYOUT), pack(estimator.solver_, OUTCOME_LAYOUT)
    header |= {"n_samples": estimator.n_samples_}
    moments: Moments | None = estimator._moments
    if moments is not None:
        arrays, header = arrays | {"moments_scatter": moments.scatter}, header | {"moments_rows": moments.rows}
    write_estimator(estimator, path, arrays | residuals, header | outcome)


def restore(cls: Any, arrays: dict[str, Array], header: dict[str, Any]) -> Any:
    """Return the estimator that `save` wrote."""
    model = unpack(PCA_LAYOUT, arrays, header)
    estimator = new_estimator(cls, header, model.mean.size)
    estimator._model, estimator._outcome, estimator._fitted_source = model, unpack(OUTCOME_LAYOUT, arrays, header), None
    estimator._like, estimator.n_samples_, estimator._moments = (
        stored_like(header, model.mean),
        header["n_samples"],
        None,
    )
    if "moments_scatter" in arrays:
        estimator._moments = Moments(model.weight, model.mean, arrays["moments_scatter"], header["moments_rows"])
    return estimator

"""Discriminants in a model file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.bayes.discriminant.model import FisherRule, gaussian_classes
from eigenlens.bayes.storage import AXES_LAYOUT, pack_classes, restore_classes
from eigenlens.densities.covariance import Full
from eigenlens.densities.covariance_axes import Axes
from eigenlens.errors import ModelFileError
from eigenlens.estimator.storage import OUTCOME_LAYOUT
from eigenlens.laws import Laws, check_law, check_laws, require
from eigenlens.layout import pack, unpack

DIRECT_OUTCOME_LAYOUT = replace(OUTCOME_LAYOUT, arrays=())
"""The outcome of a solver that has no residuals."""

POOLED, OWN = "covariance", "covariance{}"
"""Names of the covariance of all classes, and of that of class number c, in a file."""


def pack_fit(estimator: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the classes, their means and covariances, and how these were found."""
    model, amounts = estimator._solved
    if isinstance(model, FisherRule):
        covariances = {POOLED: model.covariance}
    else:
        covariances = {OWN.format(c): part.covariance for c, part in enumerate(model.components)}
    arrays, header = pack_classes(estimator)
    arrays |= {"means": model.means, "amounts": amounts}
    for name, covariance in covariances.items():
        parts = pack(covariance, AXES_LAYOUT)[0] if isinstance(covariance, Axes) else {"entries": covariance.matrix()}
        arrays |= {f"{name}.{part}": array for part, array in parts.items()}
    if estimator.covariance_estimator is not None:  # another library's object, and not needed to predict
        header["parameters"]["covariance_estimator"] = None
    return arrays, header | pack(estimator.solver_, DIRECT_OUTCOME_LAYOUT)[1]


def restore_fit(estimator: Any, arrays: dict[str, Array], header: dict[str, Any]) -> None:
    """Give an estimator the fit of `pack_fit`."""
    restore_classes(estimator, arrays, header)
    require(arrays, "means", "amounts")
    sizes = check_laws(DISCRIMINANT_LAWS, arrays, {"C": len(estimator.classes_)})
    prior, means = arrays["prior"], arrays["means"]
    if not 1 <= arrays["amounts"].size <= len(means):
        raise ModelFileError(f"'amounts' has {arrays['amounts'].size} numbers, and there are {len(means)} classes")
    if f"{POOLED}.axes" in arrays:
        pooled = unpack(replace(AXES_LAYOUT, prefix=f"{POOLED}."), arrays, {}, sizes)
        model: Any = FisherRule(prior, means, pooled, arrays.get("scale"))
    else:
        model = gaussian_classes(prior, means, [_own_covariance(arrays, c, sizes["d"]) for c in range(len(means))])
    estimator._made, estimator._moments = (model, arrays["amounts"]), None
    estimator.solver_, estimator.n_features_in_ = unpack(DIRECT_OUTCOME_LAYOUT, arrays, header), sizes["d"]
    estimator._check_options(sizes["C"])
    checks.boolean("standardize", estimator.standardize)
    if estimator.covariance_estimator is not None:
        raise ModelFileError("'covariance_estimator' is an object of another library, which no file has")


DISCRIMINANT_LAWS: Laws = {
    "means": "(C, d) of a finite square",
    "amounts": "(*) not negative, at most 1",
    "scale": "(d) positive, of a finite square, 0 or of a finite inverse square",
}


def _own_covariance(arrays: dict[str, Array], c: int, d: int) -> Any:
    name = f"{OWN.format(c)}."
    if name + "entries" not in arrays:
        return unpack(replace(AXES_LAYOUT, prefix=name), arrays, {}, {"d": d})
    check_law(name + "entries", "(d, d) positive definite", arrays[name + "entries"], {"d": d})
    return Full(arrays[name + "entries"])

"""The gate of the discriminants, and what is said about a fit that deserves a second look."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.bayes.discriminant.covariances import VARIANCE_FLOOR, ClassCovariances, Shrinkage, is_constant
from eigenlens.bayes.discriminant.fit import FisherRule
from eigenlens.bayes.discriminant.shrinkage import SHRINKAGE_RULES, SHRINKAGE_TARGETS
from eigenlens.data.source import Source
from eigenlens.errors import ConvergenceWarning, DataError, DataWarning, OptionError
from eigenlens.linalg.spectrum import Outcome

__all__ = [
    "check_linear_options",
    "check_quadratic_options",
    "name_class_columns",
    "require_rows",
    "row_counts",
    "warn_about_convergence",
    "warn_about_linear",
    "warn_about_quadratic",
]

BY_CLASS = "-by-class"

AUTO = "auto"
"""scikit-learn's word for the rule of Ledoit and Wolf for the standardised rows of each class."""


def check_linear_options(estimator: Any, n_classes: int) -> Shrinkage:
    """The parameters of a `LinearDiscriminant` whose columns are known."""
    most = min(n_classes - 1, estimator.n_features_in_)
    if estimator.n_components is not None:
        bound = f"the smaller of {n_classes} classes less one and {estimator.n_features_in_} features"
        checks.integer("n_components", estimator.n_components, 1, most, bound)
    names = [*SHRINKAGE_RULES, *(name + BY_CLASS for name in SHRINKAGE_RULES), AUTO]
    amount, target = _shrinkage(estimator.shrinkage, names), checks.name("target", estimator.target, SHRINKAGE_TARGETS)
    amount = f"ledoit-wolf{BY_CLASS}" if amount == AUTO else amount
    if isinstance(amount, str) and amount.endswith(BY_CLASS):
        return Shrinkage(amount.removesuffix(BY_CLASS), target, by_class=True)
    return Shrinkage(amount, target)


def check_quadratic_options(estimator: Any) -> Shrinkage:
    """The parameters of a `QuadraticDiscriminant`."""
    amount, target = (
        _shrinkage(estimator.shrinkage, [*SHRINKAGE_RULES, AUTO]),
        checks.name("target", estimator.target, SHRINKAGE_TARGETS),
    )
    amount = "ledoit-wolf" if amount == AUTO else amount
    return Shrinkage(amount, target, reg=_share("reg", estimator.reg))


def _shrinkage(value: Any, names: list[str]) -> float | str:
    if value is None:
        return 0.0
    return checks.name("shrinkage", value, names) if isinstance(value, str) else _share("shrinkage", value)


def _share(name: str, value: Any) -> float:
    if value is True or value is False or not isinstance(value, Real) or not 0.0 <= float(value) <= 1.0:
        raise OptionError(f"{name}={value!r} must be a number from 0 to 1.")
    return float(value)


# ---- enough rows ----------------------------------------------------------------------------------------------


def require_rows(found: Any, classes: Array, least: float, way_out: str) -> None:
    """Every class must have more than `least` rows, or a weight above it; the error names those that have not."""
    count = row_counts(found)
    few = [f"{classes.tolist()[c]!r} ({count[c]:g})" for c in np.flatnonzero(count <= least)]
    if few:
        way_out = "its rows have not come yet" if np.any(count == 0.0) else way_out
        others = f" and {len(few) - 5} others" if len(few) > 5 else ""
        raise DataError(
            f"each class needs more than {least:g} row{'s' * (least != 1)}, but not so class {', '.join(few[:5])}"
            f"{others}: {way_out}."
        )


def row_counts(found: Any) -> Array:
    """Rows (C,) of each class, or its weight where that is more: a row of weight 2 is two, and so are two of ½."""
    return np.asarray(np.maximum(found.rows, found.weight))


def name_class_columns(source: Source, classes: Array) -> Callable[[int, int], str]:
    """What names column j of class number c in an error."""
    labels = classes.tolist()
    return lambda c, j: f"column {source.names[j] if source.names else j!r} of class {labels[c]!r}"


def _column(estimator: Any, j: int) -> str:
    names = getattr(estimator, "feature_names_in_", None)
    return str(j) if names is None else repr(str(names[j]))


# ---- a second look --------------------------------------------------------------------------------------------


def warn_about_linear(rule: FisherRule, estimator: Any) -> None:
    """Warn of columns and directions that no class varies in, and that the rule leaves out."""
    covariance = rule.covariance
    flat = np.flatnonzero(covariance.scale == 0.0)
    if flat.size:
        telling = flat[~is_constant(np.var(rule.means[:, flat], axis=0), rule.means[:, flat])]
        names = ", ".join(_column(estimator, int(j)) for j in flat[:5])
        apart = f" although {_column(estimator, int(telling[0]))} differs between classes" if telling.size else ""
        _warn(f"{flat.size} columns are constant within every class ({names}) and are left out{apart}.")
    if covariance.rank < covariance.size - flat.size:
        _warn(
            f"the classes vary in {covariance.rank} directions of {covariance.size}; the others are left out, although "
            "classes may differ there. Give shrinkage='ledoit-wolf' to use them."
        )


def warn_about_quadratic(own: ClassCovariances, rows: Array, estimator: Any) -> None:
    """Warn of columns that are constant in all rows, and of classes whose covariance is singular."""
    flat, held = np.flatnonzero(own.constant), own.held
    if flat.size:
        names = ", ".join(_column(estimator, int(j)) for j in flat[:5])
        _warn(f"{flat.size} columns are constant in all rows ({names}) and are left out.")
    classes = estimator.classes_.tolist()
    named = ", ".join(f"{classes[c]!r} of {int(rows[c])} rows" for c in np.flatnonzero(held)[:5])
    if named:
        _warn(
            f"{int(held.sum())} of {len(classes)} classes have a singular covariance ({named}): columns are constant "
            f"or follow from others, or there are no more rows than {estimator.n_features_in_} columns. It is held at "
            f"{VARIANCE_FLOOR:g} of the variances of all rows; give shrinkage='ledoit-wolf' or reg=, or use LinearDiscriminant."
        )


def warn_about_convergence(outcome: Outcome, change: float, tol: float) -> None:
    """Warn of an EM that has not come to rest."""
    if not outcome.converged:
        steps = f"EM stopped after {outcome.iterations} steps, at a change of {change:.1e} above {tol:g}"
        _warn(f"{steps}: X has too many gaps; leave out columns that are mostly missing.", ConvergenceWarning)


def _warn(message: str, kind: type[Warning] = DataWarning) -> None:
    warnings.warn(message, kind, stacklevel=5)

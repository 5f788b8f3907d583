"""Parameters of the discriminants, checked once, and the warnings about a fit that deserves a second look."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.bayes.class_variances import VARIANCE_FLOOR, is_constant
from eigenlens.bayes.discriminant.covariances import ClassCovariances, Shrinkage
from eigenlens.bayes.discriminant.fit_missing import EM_TOLERANCE, ExpectedMoments
from eigenlens.bayes.discriminant.model import FisherRule
from eigenlens.bayes.discriminant.shrinkage import (
    RULE_ARGUMENTS,
    SHRINKAGE_RULES,
    SHRINKAGE_TARGETS,
    TARGET_ARGUMENTS,
    Rule,
)
from eigenlens.errors import (
    ConvergenceWarning,
    DataError,
    DataWarning,
    OptionError,
    join_limited,
    list_columns,
    warn_user,
)

BY_CLASS = "-by-class"
"""The end of the name of a rule that shrinks the covariance of each class before pooling."""

AUTO = "auto"
"""scikit-learn's name for the rule of Ledoit and Wolf applied to the standardised rows of each class."""

QUADRATIC_SHRINKAGES = (AUTO, *SHRINKAGE_RULES)
LINEAR_SHRINKAGES = (*QUADRATIC_SHRINKAGES, *(name + BY_CLASS for name in SHRINKAGE_RULES))
"""The names of rules for the shrinkage of each discriminant."""


def check_linear_options(estimator: Any, n_classes: int) -> Shrinkage:
    """Return the shrinkage of a `LinearDiscriminant` whose columns are known, after checking its parameters."""
    max_components = min(n_classes - 1, estimator.n_features_in_)
    if estimator.n_components is not None:
        bound = f"the smaller of {n_classes} classes less one and {estimator.n_features_in_} features"
        checks.integer("n_components", estimator.n_components, 1, max_components, bound)
    amount = _check_shrinkage(estimator.shrinkage, LINEAR_SHRINKAGES)
    target = checks.choice("target", estimator.target, SHRINKAGE_TARGETS, takes=TARGET_ARGUMENTS)
    amount = f"ledoit-wolf{BY_CLASS}" if amount == AUTO else amount
    if isinstance(amount, str) and amount.endswith(BY_CLASS):
        return Shrinkage(amount.removesuffix(BY_CLASS), target, by_class=True)
    return Shrinkage(amount, target)


def check_quadratic_options(estimator: Any) -> Shrinkage:
    """Return the shrinkage of a `QuadraticDiscriminant`, after checking its parameters."""
    amount = _check_shrinkage(estimator.shrinkage, QUADRATIC_SHRINKAGES)
    target = checks.choice("target", estimator.target, SHRINKAGE_TARGETS, takes=TARGET_ARGUMENTS)
    amount = "ledoit-wolf" if amount == AUTO else amount
    return Shrinkage(amount, target, reg=_check_share("reg", estimator.reg))


def _check_shrinkage(value: Any, names: tuple[str, ...]) -> float | str | Rule:
    if value is None:
        return 0.0
    if isinstance(value, str) or callable(value):
        rule: str | Rule = checks.choice("shrinkage", value, names, takes=RULE_ARGUMENTS)
        return rule
    return _check_share("shrinkage", value)


def _check_share(name: str, value: Any) -> float:
    if value is True or value is False or not isinstance(value, Real) or not 0.0 <= float(value) <= 1.0:
        raise OptionError("must be a number from 0 to 1", argument=name, value=value)
    return float(value)


# ---- enough rows ----------------------------------------------------------------------------------------------


def require_rows(statistics: Any, classes: Array, minimum: float, fix: str) -> None:
    """Raise an error that names the classes with no more than `minimum` rows, and no weight above it."""
    count = row_counts(statistics)
    few = [f"{classes.tolist()[c]!r} ({count[c]:g})" for c in np.flatnonzero(count <= minimum)]
    if few:
        fix = "give the rows of every class before asking for results" if np.any(count == 0.0) else fix
        rows = "row" if minimum == 1 else "rows"
        what = f"y: each class needs more than {minimum:g} {rows}, which class {join_limited(few)} does not have"
        raise DataError(what, fix=fix)


def row_counts(statistics: Any) -> Array:
    """Return the rows (C,) of each class, or its weight where that is more: a row of weight 2 is two rows."""
    return np.asarray(np.maximum(statistics.rows, statistics.weight))


def _name_columns(estimator: Any, columns: Array) -> str:
    return list_columns(columns, getattr(estimator, "feature_names_in_", None))


# ---- warnings -------------------------------------------------------------------------------------------------


def warn_about_linear(rule: FisherRule, estimator: Any) -> None:
    """Warn of columns and directions in which no class varies, and which the rule leaves out."""
    covariance = rule.covariance
    constant = np.flatnonzero(covariance.scale == 0.0)
    if constant.size:
        means = rule.means[:, constant]
        differing = constant[~is_constant(np.var(means, axis=0), means)]
        names = _name_columns(estimator, constant)
        apart = f" although {_name_columns(estimator, differing[:1])} differs between classes" if differing.size else ""
        warn_user(
            DataWarning(f"{constant.size} columns are constant within every class ({names}) and are left out{apart}")
        )
    if covariance.rank < covariance.size - constant.size:
        what = (
            f"the classes vary in {covariance.rank} directions of {covariance.size}; the others are left out, although "
            "classes may differ there"
        )
        warn_user(DataWarning(what, fix="give {shrinkage} to use them", settings={"shrinkage": "ledoit-wolf"}))


def warn_about_quadratic(own: ClassCovariances, rows: Array, estimator: Any) -> None:
    """Warn of columns that are constant in all rows, and of classes whose covariance is singular."""
    constant, clamped = np.flatnonzero(own.constant), np.flatnonzero(own.clamped)
    if constant.size:
        names = _name_columns(estimator, constant)
        warn_user(DataWarning(f"{constant.size} columns are constant in all rows ({names}) and are left out"))
    if clamped.size:
        classes = estimator.classes_.tolist()
        names = join_limited([f"{classes[c]!r} of {int(rows[c])} rows" for c in clamped])
        what = (
            f"{clamped.size} of {len(classes)} classes have a singular covariance ({names}): columns are constant or "
            f"depend on others, or there are no more rows than {estimator.n_features_in_} columns. It is clamped at "
            f"{VARIANCE_FLOOR:g} of the variances of all rows"
        )
        fix = "give {shrinkage} or {reg}, or use LinearDiscriminant"
        warn_user(DataWarning(what, fix=fix, settings={"shrinkage": "ledoit-wolf", "reg": ...}))


def warn_about_convergence(done: ExpectedMoments) -> None:
    """Warn of an EM that stopped before its tolerance."""
    if not done.outcome.converged:
        steps = f"EM stopped after {done.steps} steps, at a change of {done.change:.1e} above {EM_TOLERANCE:g}"
        fix = "X has too many missing values; leave out columns that are mostly missing"
        warn_user(ConvergenceWarning(steps, fix=fix))

"""Validation of the options of mixtures of any family, and the warnings of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.bayes.latent_classes.fit import LatentClassFit, LatentClassOptions
from eigenlens.bayes.naive.families import FACTORS
from eigenlens.bayes.naive.families.base import Factor, NaiveOptions
from eigenlens.bayes.naive.plan import Plan
from eigenlens.errors import ConvergenceWarning, DataError, DataWarning, OptionError, count_empty_rows, warn_user


def check_latent_class_options(estimator: Any) -> LatentClassOptions:
    """Return the options of a `MixtureModel`, each checked."""
    return LatentClassOptions(
        n_init=checks.integer("n_init", estimator.n_init, 1, checks.MAX_STARTS),
        tol=checks.not_negative("tol", estimator.tol),
        max_iter=checks.integer("max_iter", estimator.max_iter, 1),
        accelerate=checks.boolean("accelerate", estimator.accelerate),
        naive=NaiveOptions(smoothing=0.0, floor=checks.real("floor", estimator.floor, 0.0, 1.0)),
    )


def check_component_count(n_components: Any, weight: Array) -> int:
    """Return the number K of components, at most that of rows with positive weight, of which there must be some."""
    rows = int(np.count_nonzero(weight))
    if not rows:
        raise DataError("X has no observed entry in any row of positive weight")
    return checks.integer("n_components", n_components, 1, rows, "the number of rows with positive weight")


def check_component_families(plan: Plan) -> None:
    """Raise for families that EM cannot fit: those that keep rows, and scores that are not densities."""
    for factor, columns in plan.groups:
        choice = plan.choices[columns[0]]
        if not _fits_by_em(factor):
            what = f"gives column {choice.column!r} the family {choice.family!r}, which EM cannot fit"
            fix = "use one of " + ", ".join(repr(name) for name, known in FACTORS.items() if _fits_by_em(known))
            raise OptionError(what, argument="features", columns=[str(choice.column)], fix=fix)


def _fits_by_em(factor: Factor) -> bool:
    return factor.has_density and not factor.keeps_rows


def warn_latent_class_fit(fit: LatentClassFit, options: LatentClassOptions) -> None:
    """Warn of a fit that ended before it converged, of columns that collapsed, and of rows left out."""
    left = f"log-likelihood per row still to gain: about {fit.remaining_gain:.1e}, tol={options.tol:g}"
    if fit.interrupted:
        warn_user(
            ConvergenceWarning(f"fit was interrupted after {fit.n_iter} steps; the best mixture is kept ({left})")
        )
    elif not fit.converged:
        settings = {"max_iter": options.max_iter, "tol": options.tol}
        what = f"EM stopped after {fit.n_iter} steps ({left})"
        warn_user(ConvergenceWarning(what, fix="raise {max_iter}, or {tol}", settings=settings))
    if fit.clamped:
        what = f"{fit.clamped} Gaussian columns of components have collapsed: their variances are clamped at the floor"
        fix = "ask for fewer components, or give a larger {floor}"
        warn_user(DataWarning(what, fix=fix, settings={"floor": 10.0 * options.naive.floor}))
    if fit.empty:
        warn_user(DataWarning(f"{count_empty_rows(fit.empty)}, left out of the fit"))

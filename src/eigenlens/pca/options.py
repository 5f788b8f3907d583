"""The parameters of `PCA`, checked once, and the warnings about a fit that deserves a second look."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, dense, slices
from eigenlens.data.source import BLOCK_BYTES, Block, Source, accumulate
from eigenlens.data.table import observed_rows
from eigenlens.errors import ConvergenceWarning, DataWarning, OptionError, count_empty_rows, list_columns, warn_user
from eigenlens.linalg.n_components import N_COMPONENTS_RULES, RESAMPLING_RULES, UNCENTRED_RULES
from eigenlens.linalg.solve import SOLVER_ALIASES, SOLVERS
from eigenlens.missing.result import STOP_REASONS
from eigenlens.pca.fit import PCAFit, PCAOptions, fit_pca, weighted_row_count
from eigenlens.pca.missing import fit_pca_missing
from eigenlens.rotation.options import check_rotation

MISSING_VALUE_METHODS = {"raise": fit_pca, "em": fit_pca_missing}
"""Treatments of NaN by name: raise an error, or fit the observed entries by maximum likelihood."""


def check_pca_options(estimator: Any, source: Source, rows_known: bool = True) -> tuple[Any, PCAOptions]:
    """Check the parameters; return `n_components` as `fit_pca` takes it, and the options of `fit_pca`."""
    checks.name("missing", estimator.missing, MISSING_VALUE_METHODS)
    if not isinstance(estimator.whiten, bool | np.bool_) and str(estimator.whiten) != "zca":
        raise OptionError("must be True, False or 'zca'", argument="whiten", value=estimator.whiten)
    check_rotation(estimator.rotation, estimator.rotation_options)
    if estimator.whiten == "zca" and estimator.rotation is not None:
        what = "turns scores back to the axes of the columns, which leaves nothing of {rotation}"
        settings = {"rotation": estimator.rotation}
        raise OptionError(what, argument="whiten", value="zca", fix="leave one of them out", settings=settings)
    center = checks.boolean("center", estimator.center)
    if not center:
        _require_uncentred(estimator)
    options = PCAOptions(
        center=center,
        feature_weight=estimator._feature_weight,
        standardize=checks.boolean("standardize", estimator.standardize),
        solver=checks.choice("solver", estimator.solver, ["auto", *SOLVERS], SOLVER_ALIASES, "rows, wanted, tol, rng"),
        tol=checks.not_negative("tol", estimator.tol),
        rng=checks.generator(estimator.random_state),
    )
    rule = estimator.n_components
    if estimator._feature_weight is not None and isinstance(rule, str) and rule in RESAMPLING_RULES:
        what = "resamples unweighted columns, so it cannot be used with feature_weight"
        raise OptionError(what, argument="n_components", value=rule, fix="give a number or a share of the variance")
    n = weighted_row_count(source) if rows_known else None
    return _check_n_components(estimator.n_components, n, source.n_features), options


def _require_uncentred(estimator: Any) -> None:
    """Raise an error for parameters that need a mean."""
    if estimator.missing != "raise":
        what = "estimates the mean, so it needs {center}"
        settings = {"center": True}
        raise OptionError(what, argument="missing", value=estimator.missing, fix="use that", settings=settings)
    rule = estimator.n_components
    if isinstance(rule, str) and rule in N_COMPONENTS_RULES and rule not in UNCENTRED_RULES:
        others = " or ".join(map(repr, UNCENTRED_RULES))
        what = "compares variances about the mean, but {center}"
        fix = f"give a number, a share of the second moments, or {others}"
        raise OptionError(what, argument="n_components", value=rule, fix=fix, settings={"center": False})


def check_feature_weight(feature_weight: Any, d: int) -> Array | None:
    """Check the weights (d,) of columns: positive numbers, or None."""
    if feature_weight is None:
        return None
    weights = np.asarray(checks.numbers("feature_weight", feature_weight), dtype=np.float64)
    most = checks.MAX_TOTAL_WEIGHT
    if weights.shape != (d,) or not np.all((weights >= 1.0 / most) & (weights <= most)):
        what = f"must be {d} positive numbers, one per column, between {1.0 / most:g} and {most:g}"
        raise OptionError(
            what, argument="feature_weight", value=feature_weight, fix="leave a column of weight 0 out of X"
        )
    return weights


def check_component_counts(k: Any, most: int) -> tuple[list[int], bool]:
    """Check numbers of leading components, 0 to `most`; return them, and whether it is one number.

    None is `most`, and "all" is 1 to `most`.

    >>> check_component_counts("all", 3), check_component_counts(None, 3)
    (([1, 2, 3], False), ([3], True))
    """
    if k is None or (isinstance(k, str) and k == "all"):
        return ([most], True) if k is None else (list(range(1, most + 1)), False)
    bound = "the number of components fitted"
    if not checks.is_list(k):
        return [checks.integer("k", k, 0, most, bound)], True
    return list(checks.integers("k", k, 0, most, bound)), False


def _check_n_components(k: Any, n: int | None, d: int) -> Any:
    if callable(k):
        return checks.function("n_components", k, "values, rows, rng")
    if k is None:
        return k
    if isinstance(k, str):
        return checks.choice("n_components", k, N_COMPONENTS_RULES)
    if isinstance(k, float | np.floating):
        return None if k == 1.0 else checks.real("n_components", float(k), 0.0, 1.0)
    bound = "the number of features" if n is None or d <= n else "the number of rows"
    return checks.integer("n_components", k, 0, d if n is None else min(n, d), bound)


def rows_with_entries(rows: Source, total: int) -> int:
    """Return how many rows have an observed entry, and warn of the others, which took no part in the fit."""
    seen = accumulate(rows, _rows_seen)
    if total > seen:
        scores = "its scores are" if total - seen == 1 else "their scores are"
        what = f"{count_empty_rows(total - seen)} (NaN in every column), left out of the fit; {scores} 0"
        warn_user(DataWarning(what))
    return seen


def _rows_seen(block: Block) -> int:
    step = max(1, BLOCK_BYTES // (8 * block.rows.shape[1]))
    parts = (dense(block.rows[part, :]) for part in slices(block.rows.shape[0], step))
    return sum(int(np.count_nonzero(observed_rows(part))) for part in parts)


def warn_about_pca(fit: PCAFit, source: Source, estimator: Any) -> None:
    """Warn the caller of `fit` of a solver that stopped early and of constant columns."""
    outcome, model = fit.spectrum.outcome, fit.model
    if not outcome.converged and fit.ended:
        what = (
            f"{{missing}} stopped after {outcome.iterations} steps, short of the maximum likelihood: "
            f"{STOP_REASONS[fit.ended]}. The best model so far is kept"
        )
        settings: dict[str, Any] = {"missing": "em"}
        fix = ""
        if fit.ended == "max_iter":
            settings["standardize"] = True
            fix = "divide columns of very different sizes by their standard deviations with {standardize}, or choose "
            fix += "fewer components"
        warn_user(ConvergenceWarning(what, fix=fix, settings=settings))
    elif not outcome.converged:
        what = (
            f"solver {outcome.solver!r} stopped after {outcome.iterations} iterations with a residual of "
            f"{outcome.residuals.max(initial=0.0):.1e}, above {{tol}}"
        )
        settings = {"tol": estimator.tol, "solver": "auto"}
        warn_user(ConvergenceWarning(what, fix="raise that, or use {solver}", settings=settings))
    deviations = np.sqrt(model.column_variances) * model.scale  # in the units of the mean
    constant = np.flatnonzero(deviations <= 1e-13 * np.abs(model.mean))
    if constant.size and (estimator.standardize or constant.size == model.mean.size):
        names = list_columns(constant, source.names)
        what = f"{constant.size} of {model.mean.size} columns are constant ({names})"
        warn_user(DataWarning(f"{what}; they carry no variance and were left unscaled"))

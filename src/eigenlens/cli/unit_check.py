"""A warning where the units of the columns decide the result of a fit, with the standardised result beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.catalogue import ModelEntry, entry_of
from eigenlens.cli.output import TABLE_LINES
from eigenlens.errors import DataWarning, warn_user
from eigenlens.tables.names import axis_names, feature_names
from eigenlens.tables.text_table import format_columns


def warn_of_units(now: Any, estimator: Any, table: Any) -> None:
    """Warn of a column with nearly all the variance, if units may be the reason, and show the standardised shares.

    table: the fitted rows; None if only their covariance matrix is known, and the shares are not shown.
    """
    from eigenlens.stats.unequal_units import unequal_units

    entry = entry_of(estimator)
    if entry is None or not _depends_on_units(estimator, entry):
        return
    source = None if table is None else table.source.weighted(table.weight)
    found = unequal_units(*_columns(estimator, source))
    if found is None:
        return
    name = feature_names(estimator, estimator.n_features_in_)[found.column]
    what = (
        f"column {name!r} has {100.0 * found.share:.3g}% of the variance of all columns, whose standard deviations "
        f"differ by a factor of {found.ratio:,.0f}"
    )
    fix = "if they are in different units, weigh them alike with {standardize}"
    warn_user(DataWarning(what, columns=[name], fix=fix, settings={"standardize": True}))
    now.add_facts(units={"column": name, "share": found.share, "deviation_ratio": found.ratio})
    if entry.command == "pca" and source is not None:
        now.say("note", f"column {name!r} decides these shares; beside them, those of standardised columns")
        _show_standardized(now, estimator, source)


def _depends_on_units(estimator: Any, entry: ModelEntry) -> bool:
    """Return whether the units of the columns, which nobody has weighted or standardised, decide what was found."""
    if "standardize" not in entry.options or estimator.standardize:
        return False
    if entry.command == "gmm":
        from eigenlens.mixture.structures import make_structure

        structure = make_structure(estimator.covariance_type)
        return bool(structure.in_any_units() != structure)
    given = entry.command == "kde" and np.isscalar(estimator.bandwidth) and not isinstance(estimator.bandwidth, str)
    return (entry.by_units or given) and getattr(estimator, "_feature_weight", None) is None


def _columns(estimator: Any, source: Any) -> tuple[Array, Array]:
    """Return means and variances (d,) of the columns: those of the model, or of the rows, which are then in memory."""
    model = estimator.model_
    if hasattr(model, "column_variances"):
        return model.mean, model.column_variances * model.scale**2
    if hasattr(model, "noise"):
        return model.mean, np.sum(model.loadings**2, axis=1) + model.noise
    from eigenlens.missing.result import observed_moments

    columns = observed_moments(source)
    return columns.mean, columns.square / columns.weight


def _show_standardized(now: Any, estimator: Any, source: Any) -> None:
    """Show the shares of as many components of the standardised columns beside those of the fit."""
    from sklearn.base import clone

    k = estimator.n_components_
    other = clone(estimator).set_params(standardize=True, n_components=k, verbose=False).fit(source)
    pairs = [np.asarray(each.explained_variance_ratio_, dtype=np.float64) for each in (estimator, other)]
    now.add_facts(standardized={"explained_variance_ratio": pairs[1]})
    shares = [column[:TABLE_LINES] for ratio in pairs for column in (100.0 * ratio, 100.0 * np.cumsum(ratio))]
    header = ["component", "share %", "cumulative %", "standardised: share %", "cumulative %"]
    now.show(format_columns(header, axis_names(estimator, k)[:TABLE_LINES], *_texts(shares)))


def _texts(columns: list[Array]) -> list[list[str]]:
    return [[f"{value:.2f}" for value in column] for column in columns]

"""A warning where the units of the columns decide the result of a fit, with the standardised result beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.catalogue import ModelEntry, entry_of
from eigenlens.cli.output import TABLE_LINES
from eigenlens.errors import DataWarning, warn_user
from eigenlens.tables.names import axis_names, feature_names
from eigenlens.tables.text_table import format_columns


def warn_of_units(now: Any, estimator: Any, table: Any) -> None:
    """Warn of columns with nearly all the variance, if units may be the reason, and show the standardised shares.

    table: the fitted rows; None if only their covariance matrix is known, and the shares are not shown.
    """
    entry = entry_of(estimator)
    if entry is None or not _depends_on_units(estimator, entry):
        return
    source = None if table is None else table.source.weighted(table.weight)
    names = feature_names(estimator, estimator.n_features_in_)
    found = _warn_of(now, *_columns(estimator, source), names)
    if found and entry.command == "pca" and source is not None:
        now.say("note", "the scales of the columns decide these shares; beside them, those of standardised columns")
        _show_standardized(now, estimator, source)


def warn_of_units_of_rows(now: Any, table: Any) -> None:
    """Warn of the same before anything is fitted, where the rows are in memory."""
    if table.missing is not None:
        names = table.source.names or tuple(map(str, range(table.d)))
        _warn_of(now, *_observed_columns(table.source.weighted(table.weight)), names)


def _warn_of(now: Any, mean: Array, variance: Array, names: Sequence[Any]) -> bool:
    """Warn of columns of these means and variances that dominate, and return whether there are any."""
    from eigenlens.stats.unequal_units import unequal_units, unit_warning

    found = unequal_units(mean, variance, list(map(str, names)))
    if found is None:
        return False
    warning = unit_warning(found, names)
    warn_user(warning)
    now.add_facts(units={"columns": warning.columns, "share": found.share, "deviation_ratio": found.ratio})
    return True


def warn_other_units(fitted: Mapping[str, str], found: Mapping[str, str]) -> None:
    """Warn of each column whose unit in new rows is another than that of the fit, {name: unit} both.

    >>> import pytest
    >>> with pytest.warns(UserWarning, match="column 'height' is in m, but the model was fitted to numbers in cm"):
    ...     warn_other_units({"height": "cm", "age": "years"}, {"height": "m", "age": "year"})
    """
    for name, unit in fitted.items():
        other = found.get(name, unit)
        if _same_unit(unit) != _same_unit(other):
            what = f"column {name!r} is in {other}, but the model was fitted to numbers in {unit}"
            fix = "convert it, unless these are two spellings of one unit"
            warn_user(DataWarning(what, columns=[name], fix=fix))


def _same_unit(unit: str) -> str:
    """Return a unit without what may differ between spellings: the case of words, a plural, a point at the end."""
    bare = unit.strip().rstrip(".")
    return bare.lower().removesuffix("s") if len(bare) > 2 else bare


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
    return _observed_columns(source)


def _observed_columns(source: Any) -> tuple[Array, Array]:
    """Return means and variances (d,) of the observed entries of rows."""
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

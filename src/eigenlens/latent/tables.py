"""Plain arrays of a latent Gaussian x = W z + mu + e: likelihood path, loadings, rotation, noise, imputations.

A model here is a fitted `ProbabilisticPCA` or `FactorAnalysis`, or the frozen `LinearGaussian`; loadings and their
rotation are also available for a fitted `PCA`. Factors are counted from 1, and shares are per cent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from eigenlens import checks
from eigenlens.arrays import Array, to_numpy
from eigenlens.data.coerce import as_source
from eigenlens.data.source import Source
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.errors import DataError, EigenlensError, OptionError, recorded_warnings
from eigenlens.latent.factor.goodness_of_fit import GoodnessOfFit
from eigenlens.latent.factor.options import warn_gradient, warn_heywood, without_gradient_warning
from eigenlens.latent.factor.standard_errors import FactorErrors
from eigenlens.latent.options import latent_warnings
from eigenlens.pca import tables
from eigenlens.pca.model import PrincipalComponents
from eigenlens.rotation import ROTATIONS, rotate
from eigenlens.sparse_pca.model import SparseComponents
from eigenlens.sparse_pca.tables import sparse_loadings
from eigenlens.tables.names import ROTATED_STEMS, feature_names, row_labels
from eigenlens.tables.rows import first_rows
from eigenlens.tables.values import ValueTable


@dataclass(frozen=True, eq=False)
class PathTable:
    """The log-likelihood after each step of a fit.

    Attributes:
        name: of the model. values: (s,). converged: whether its last step met the tolerance.
    """

    name: str
    values: Array
    converged: bool

    def below(self, highest: float) -> Array:
        """Return by how much (s,) each step is below `highest`, at least 0."""
        return np.maximum(highest - self.values, 0.0)


def order_by_factor(loadings: Array) -> Array:
    """Return the order (d,) of columns by the factor of their largest loading (d, k), largest first.

    >>> order_by_factor(np.array([[0.1, 0.5], [0.6, 0.2], [0.0, -0.9]]))
    array([1, 2, 0])
    """
    size = np.abs(loadings)
    return np.lexsort((-size.max(axis=1), size.argmax(axis=1)))


@dataclass(frozen=True, eq=False)
class RotationTable:
    """Loadings before and after a rotation, of the same names in the same order.

    Attributes:
        name: of the rotation. before, after: the loadings. correlations: (k, k) of the rotated factors.
    """

    name: str
    before: ValueTable
    after: ValueTable
    correlations: Array

    def grouped(self) -> RotationTable:
        """Return the table with names sorted by the factor of their largest rotated loading, largest first."""
        order = order_by_factor(self.after.values)
        return replace(self, before=self.before.rows(order), after=self.after.rows(order))


@dataclass(frozen=True, eq=False)
class NoiseTable:
    """The noise variance of each variable, beside the variance that it shares with others.

    Attributes:
        names: (d,). noise: (d,) variances Psi. common: (d,) communalities, diag(W Wᵀ).
    """

    names: tuple[str, ...]
    noise: Array
    common: Array

    @property
    def shares(self) -> Array:
        """Return the uniqueness (d,) of each variable: the per cent of its variance that is noise."""
        whole = self.noise + self.common
        return np.asarray(100.0 * self.noise / np.where(whole > 0.0, whole, 1.0))

    def sorted(self, values: Array) -> NoiseTable:
        """Return the table sorted by these values (d,), largest first."""
        order = np.argsort(-values, kind="stable")
        return NoiseTable(tuple(self.names[j] for j in order), self.noise[order], self.common[order])


@dataclass(frozen=True, eq=False)
class FactorTable:
    """Loadings over the standard deviations of their columns, and the variance that each factor explains.

    Attributes:
        names: (d,) columns. factors: (k,) names. loadings: (d, k). uniquenesses: (d,) shares of the variance, 0 to 1.
        shares: (k,) per cent of the variance that each factor explains: of standardised columns, or, with one noise
            variance for all, of columns in their own units.
    """

    names: tuple[str, ...]
    factors: tuple[str, ...]
    loadings: Array
    uniquenesses: Array
    shares: Array

    @property
    def grouped(self) -> Array:
        """Return the order (d,) of columns by the factor of their largest loading, largest first."""
        return order_by_factor(self.loadings)


@dataclass(frozen=True, eq=False)
class ImputedTable:
    """Some columns of some rows, with missing entries replaced by their conditional means.

    Attributes:
        names: (m,) columns. rows: (n,) row numbers of X. labels: (n,) their names, or None. more: whether X has more.
        values: (n, m), observed or imputed. std: (n, m), 0 where observed. missing: (n, m).
        level: coverage of the intervals.
    """

    names: tuple[str, ...]
    rows: Array
    labels: tuple[str, ...] | None
    more: bool
    values: Array
    std: Array
    missing: Array
    level: float

    @property
    def margin(self) -> Array:
        """Return half the width (n, m) of the central interval of each entry: std times a normal quantile."""
        return np.asarray(self.std * float(ndtri(0.5 + 0.5 * self.level)))


def likelihood_paths(model: Any) -> tuple[PathTable, ...]:
    """Return the likelihood path of a fitted model, or of each of a dict of them."""
    models = model if isinstance(model, Mapping) else {"": model}
    return tuple(_path(str(name), fitted) for name, fitted in models.items())


def _path(name: str, model: Any) -> PathTable:
    values = np.asarray(to_numpy(getattr(model, "loglik_path_", ())), dtype=np.float64)
    if not values.size:
        raise _wrong_model(model, "has no likelihood path")
    return PathTable(name, values, bool(getattr(model, "converged_", True)))


def _wrong_model(model: Any, what: str) -> OptionError:
    return OptionError(f"model={type(model).__name__} {what}", fix="give a fitted ProbabilisticPCA or FactorAnalysis")


def latent_remarks(model: Any) -> list[Warning]:
    """Return what the fit of a latent Gaussian warned of, from what it keeps: an early stop, noise at its floor."""
    fit, names = model._fitted, getattr(model, "feature_names_in_", None)
    if not hasattr(model, "uniquenesses_"):
        return [*latent_warnings(fit, names, model.tol, model.max_iter)]
    found = recorded_warnings(warn_gradient, fit, model) + recorded_warnings(warn_heywood, fit, model)
    return [*found, *latent_warnings(without_gradient_warning(fit), names, model.tol**2, model.max_iter)]


def latent_loadings(
    model: Any, components: Sequence[int] | None = None, *, names: Iterable[str] | None = None
) -> ValueTable:
    """Return loadings (d, m), rotated if the model has a rotation; those of components for PCA and sparse PCA.

    The share of a factor is its part of the variance of all variables together, diag(Φ Wᵀ W) / tr(W Φ Wᵀ + Psi).

    >>> model = LinearGaussian(np.zeros(2), np.array([[1.0], [1.0]]), np.array([1.0, 2.0]))
    >>> print(latent_loadings(model, names=["height", "weight"]))
    loading        F1
    height    1.00000
    weight    1.00000
    """
    if isinstance(getattr(model, "model_", model), PrincipalComponents):
        return tables.loadings(model, components, names=names)
    if isinstance(getattr(model, "model_", model), SparseComponents):
        return _select(sparse_loadings(model, names), components)
    return _select(_loadings(model, *_parts(model), names), components)


def factor_table(model: Any, *, names: Iterable[str] | None = None) -> FactorTable:
    """Return standardised loadings, uniquenesses and the shares of the factors, as the model is rotated.

    >>> model = LinearGaussian(np.zeros(2), np.array([[3.0], [4.0]]), np.array([16.0, 9.0]))
    >>> found = factor_table(model)
    >>> found.loadings.ravel(), found.uniquenesses, found.shares, found.grouped
    (array([0.6, 0.8]), array([0.64, 0.36]), array([50.]), array([1, 0]))
    """
    W, psi, Phi = _parts(model)
    table = _loadings(model, W, psi, Phi, names)
    variances = psi + np.einsum("ij,ij->i", W @ Phi, W)
    whole = np.where(variances > 0.0, variances, 1.0)
    L = W / np.sqrt(whole)[:, None]
    own = np.ptp(psi) == 0.0
    shares = table.shares if own else 100.0 * np.einsum("ij,ij->j", L, L @ Phi) / len(L)
    factors = tuple(f"{table.stem}{j}" for j in table.components)
    return FactorTable(table.names, factors, L, psi / whole, shares)


MAX_INDEX_ENTRIES = 40_000
"""The most entries, some missing, of which fit indices are computed unasked: they take a fit of a free covariance."""


def fit_indices(model: Any, X: Source | None = None, sample_weight: Any = None) -> GoodnessOfFit | None:
    """Return the goodness of fit of a factor analysis, or None for other models and where it is not known.

    X is the fitted rows, if they are at hand: they are needed where entries were missing, and used if they are few.
    The model keeps what is computed from them.
    """
    if not hasattr(model, "goodness_of_fit"):
        return None
    few = X is not None and (X.n_rows or math.inf) * X.n_features <= MAX_INDEX_ENTRIES
    for given in ({}, {"X": X, "sample_weight": sample_weight})[: 1 + few]:
        with suppress(EigenlensError):  # after partial fits, or of many columns, the rows are needed
            found: GoodnessOfFit = model.goodness_of_fit(**given)
            return found
    return None


MAX_ERROR_PARAMETERS = 300
"""The largest number of parameters of which tables show standard errors: 0.1 s, growing as the cube of it."""


def factor_errors_if_quick(model: Any, X: Any = None) -> FactorErrors | None:
    """Return the standard errors of a factor analysis for a table, or None where there are none, or they take long.

    X is the fitted rows, if they are at hand: they are needed where entries were missing.
    """
    if (
        not hasattr(model, "standard_errors")
        or model.model_.mean.size * (model.n_components_ + 1) > MAX_ERROR_PARAMETERS
    ):
        return None
    try:
        found: FactorErrors = model.standard_errors(X)
    except EigenlensError:
        return None
    return found


def _parts(model: Any) -> tuple[Array, Array, Array]:
    """Return loadings W (d, k), noise (d,) and correlations of the factors (k, k)."""
    if isinstance(model, LinearGaussian):
        W, psi, Phi = model.loadings, model.noise, None
    elif hasattr(model, "loadings_") and hasattr(model, "noise_variance_"):
        W, psi, Phi = model.loadings_, model.noise_variance_, getattr(model, "factor_correlations_", None)
    else:
        raise _wrong_model(model, "has no loadings and noise")
    W = np.asarray(to_numpy(W), dtype=np.float64)
    known = np.eye(W.shape[1]) if Phi is None else np.asarray(to_numpy(Phi), dtype=np.float64)
    return W, np.broadcast_to(np.asarray(to_numpy(psi), dtype=np.float64), W.shape[:1]), known


def _loadings(model: Any, W: Array, psi: Array, Phi: Array, names: Iterable[str] | None) -> ValueTable:
    """Return a table of components if there is one noise variance, and of factors if each variable has its own."""
    d, k = W.shape
    components = isinstance(model, PrincipalComponents) or np.ptp(psi) == 0.0
    stem = getattr(type(model), "axis_stem", "PC" if components else "F")
    explained = np.einsum("ij,ij->j", W, W @ Phi)
    shares = 100.0 * explained / (float(explained.sum() + psi.sum()) or 1.0)
    return ValueTable("loading", feature_names(model, d, names), tuple(range(1, k + 1)), shares, W, stem)


def _select(table: ValueTable, components: Sequence[int] | None) -> ValueTable:
    if components is None:
        return table
    bound = "the number of factors that the model has"
    chosen = checks.integers("components", components, 1, len(table.components), bound)
    index = [c - 1 for c in chosen]
    return replace(table, components=chosen, shares=table.shares[index], values=table.values[:, index])


def rotation(
    model: Any, rotation: str | Callable[..., Any] | None = None, *, names: Iterable[str] | None = None
) -> RotationTable:
    """Return loadings before and after a rotation: the one given, else the model's own, else varimax.

    >>> model = LinearGaussian(np.zeros(3), np.array([[3.0, -4.0], [3.0, -4.0], [4.0, 3.0]]) / 5, 0.1)
    >>> np.abs(rotation(model, "varimax").after.values).round(6)
    array([[1., 0.], [1., 0.], [0., 1.]])
    """
    before, psi = _unrotated(model)
    wanted = (getattr(model, "rotation", None) or "varimax") if rotation is None else rotation
    deviations = np.sqrt((before**2).sum(axis=1) + psi)
    chosen = checks.choice("rotation", wanted, ROTATIONS)
    found = rotate(before, chosen, scale=np.where(deviations > 0.0, deviations, 1.0), **_options(model, rotation))
    named = feature_names(model, len(before), names)
    first = _loadings(model, before, psi, np.eye(before.shape[1]), named)
    second = _loadings(model, found.loadings, psi, found.correlations, named)
    second = replace(second, stem=ROTATED_STEMS.get(first.stem, first.stem))
    name = wanted if isinstance(wanted, str) else getattr(wanted, "__name__", "rotated")
    return RotationTable(name, first, second, found.correlations)


def _options(model: Any, rotation: Any) -> dict[str, Any]:
    """Return the options that the model gives its own rotation; none for another."""
    own = getattr(model, "rotation", None) if rotation is None else None
    return (getattr(model, "rotation_options", None) or {}) if own else {}


def _unrotated(model: Any) -> tuple[Array, Array]:
    """Return loadings L (d, k) before any rotation, by Λ = L T⁻ᵀ, and the noise (d,)."""
    frozen = getattr(model, "model_", model)
    if isinstance(frozen, PrincipalComponents):
        L = frozen.unrotated().loadings
        return L, np.maximum(frozen.column_variances - (L**2).sum(axis=1), 0.0)
    W, psi, _ = _parts(model)
    T = getattr(model, "rotation_matrix_", None)
    return W if T is None else np.asarray(W @ to_numpy(T).T), psi


def noise(model: Any, *, names: Iterable[str] | None = None) -> NoiseTable:
    """Return noise variances and communalities of the variables.

    >>> noise(LinearGaussian(np.zeros(2), np.array([[1.0], [3.0]]), 1.0)).shares
    array([50., 10.])
    """
    W, psi, Phi = _parts(model)
    return NoiseTable(feature_names(model, len(W), names), psi, np.einsum("ij,ij->i", W @ Phi, W))


def imputed(
    model: Any,
    X: Any,
    columns: Any = None,
    *,
    rows: Iterable[int] | None = None,
    limit: int | None = None,
    level: float = 0.95,
    labels: Iterable[Any] | None = None,
    names: Iterable[str] | None = None,
) -> ImputedTable:
    """Return columns of X (n, d), by name or index, after imputation.

    Args:
        columns: those with missing entries, the ones with most of them first, if None.
        rows: indices; the first `limit` rows if None. labels: one per row of X. level: coverage of the intervals.

    >>> model = LinearGaussian(np.zeros(2), np.array([[1.0], [1.0]]), 1.0)
    >>> table = imputed(model, np.array([[4.0, np.nan], [1.0, 1.0]]))
    >>> table.names, table.values[:, 0], table.margin[:, 0].round(2)
    (('x1',), array([2., 1.]), array([2.4, 0. ]))
    """
    covered = checks.real("level", level, 0.0, 1.0)
    wanted = None if rows is None else checks.listed("rows", rows)
    given = first_rows(X, None if wanted is not None or limit is None else limit + 1)
    shown = _row_numbers(wanted, len(given), limit)
    known = feature_names(model, given.shape[1], names)
    chosen = _imputed_columns(columns, known, np.isnan(given[shown]))
    filled, std = _impute(model, given[shown])
    named = row_labels(labels, len(given), at_least=wanted is None)
    return ImputedTable(
        tuple(known[j] for j in chosen), shown, None if named is None else tuple(named[i] for i in shown),
        wanted is None and len(given) > len(shown),
        filled[:, chosen], std[:, chosen], np.isnan(given[shown])[:, chosen], covered,
    )  # fmt: skip


def _impute(model: Any, rows: Array) -> tuple[Array, Array]:
    if not hasattr(model, "impute"):
        raise _wrong_model(model, "cannot impute")
    # A Source of these rows has no column names that would be compared with those of the fit.
    given = rows if isinstance(model, LinearGaussian) else as_source(rows)
    filled, std = model.impute(given, return_std=True)
    return np.asarray(to_numpy(filled), dtype=np.float64), np.asarray(to_numpy(std), dtype=np.float64)


def _row_numbers(rows: list[int] | None, n: int, limit: int | None) -> Array:
    if rows is None:
        return np.arange(n if limit is None else min(n, limit))
    chosen = [checks.integer("rows", i, 0, n - 1, "the number of the last row") for i in rows]
    if not chosen:
        raise OptionError("is empty", argument="rows", value=(), fix="give at least one row, or None")
    return np.array(chosen)


def _imputed_columns(columns: Any, names: tuple[str, ...], missing: Array) -> list[int]:
    if columns is None:
        counts = missing.sum(axis=0)
        if not counts.any():
            what = "X has no missing entry in these rows, so nothing is imputed"
            raise DataError(what, fix="name columns to see them")
        return [int(j) for j in np.argsort(-counts, kind="stable") if counts[j]]
    return checks.column_numbers("columns", columns, len(names), names)

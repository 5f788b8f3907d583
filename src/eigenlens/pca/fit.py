"""Fit principal components: one pass over the rows or a few, one small eigenproblem, one frozen model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.rows import few_rows_in_memory
from eigenlens.data.source import Progress, Source
from eigenlens.errors import OptionError
from eigenlens.linalg.n_components import N_COMPONENTS_RULES, share
from eigenlens.linalg.operators import CentredRows
from eigenlens.linalg.solve import solve
from eigenlens.linalg.spectrum import Requested, Spectrum
from eigenlens.pca.model import PrincipalComponents
from eigenlens.rotation.options import find_rotation
from eigenlens.stats.moments import Moments


@dataclass(frozen=True)
class PCAFit:
    """The result of a fit: the frozen model, its spectrum, the rows, and the moments if they are known.

    ended: why an iteration on the likelihood ended, a key of `missing.result.STOP_REASONS`; empty where there was none.
    """

    model: PrincipalComponents
    spectrum: Spectrum
    rows: CentredRows
    moments: Moments | None = None
    ended: str = ""


@dataclass(frozen=True)
class PCAOptions:
    """The parameters of a fit, checked: those of `PCA` except n_components, and the generator of its seed."""

    standardize: bool = False
    center: bool = True
    feature_weight: Array | None = None
    solver: str | Callable[..., Spectrum] = "auto"
    tol: float = 1e-9
    rng: np.random.Generator = field(default_factory=np.random.default_rng)


def fit_pca(
    source: Source, n_components: Any = None, options: PCAOptions | None = None, progress: Progress | None = None
) -> PCAFit:
    """Return the principal components of the rows of a source; n_components as `PCA` takes it.

    >>> from eigenlens.data.memory import ArraySource
    >>> fit = fit_pca(ArraySource(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])), 1)
    >>> fit.model.variances, fit.model.components
    (array([2.]), array([[0.707, 0.707]]))
    """
    chosen = options or PCAOptions()
    about: dict[str, Any] = {"standardize": chosen.standardize, "center": chosen.center}
    source = few_rows_in_memory(source) if chosen.solver == "auto" else source
    rows = CentredRows(source, **about, feature_weight=chosen.feature_weight, progress=progress)
    return principal_components(rows, n_components, chosen.solver, chosen.tol, chosen.rng)


def principal_components(
    rows: CentredRows, n_components: Any, solver: str | Callable[..., Spectrum], tol: float, rng: np.random.Generator
) -> PCAFit:
    """Return the principal components of the rows of an operator."""
    wanted = requested_components(rows, n_components, min(weighted_row_count(rows.source), rows.size), rng)
    spectrum = solve(rows, wanted, solver, tol=tol, rng=rng)
    scale = np.ones(rows.size) if rows.scale is None else rows.scale
    axes, columns = np.ascontiguousarray(spectrum.vectors.T), rows.columns
    found = (axes, spectrum.values, rows.trace, rows.variances, columns.weight, rows.center)
    model = PrincipalComponents(rows.centre, scale, *found)
    return PCAFit(model, spectrum, rows, rows.known_moments)


def rotate_components(model: PrincipalComponents, rotation: Any, rotation_options: Any) -> PrincipalComponents:
    """Return the model with its components rotated towards simple loadings, or unchanged for None.

    The rotation is found from the correlations of columns with components, so that it does not depend on units.
    """
    model = model.unrotated()
    if rotation is None:
        return model
    deviations, L = np.sqrt(model.column_variances), model.loadings
    T = find_rotation(L, np.where(deviations > 0.0, deviations, 1.0), rotation, rotation_options)
    return model if T is None else replace(model, rotation=T)


def weighted_row_count(source: Source) -> int:
    """Return the number of rows by their weights: a weight of 3 is three rows, one of 0 is none."""
    weight = source.weight
    if weight is not None:
        return max(int(np.count_nonzero(weight)), int(weight.sum() * (1.0 + 1e-12)))
    return sum(rows.shape[0] for rows in source.rows()) if source.n_rows is None else source.n_rows


def requested_components(rows: CentredRows, n_components: Any, limit: int, rng: np.random.Generator) -> Requested:
    """Return the request to a solver for the checked `n_components`."""
    if n_components is None:
        return Requested.count(limit, limit)
    if isinstance(n_components, float):
        guess = min(limit, max(10, limit // 10))
        return Requested(guess, limit, lambda values, total: share(values, total, n_components))
    if isinstance(n_components, int):
        return Requested.count(n_components, limit)
    rule = n_components if callable(n_components) else N_COMPONENTS_RULES[n_components]
    return Requested(
        limit, limit, lambda values, total: _check_rule_answer(rule(values, rows, rng), limit), needs_all=True
    )


def _check_rule_answer(k: Any, limit: int) -> int:
    """Return the number of components that a rule found, at least one."""
    if not isinstance(k, int | np.integer) or not 0 <= k <= limit:
        raise OptionError(f"the n_components rule returned {k!r}", fix=f"it must return an integer from 0 to {limit}")
    return max(1, int(k))

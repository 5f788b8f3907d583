"""Rows to principal components: one pass or a few, one small solve, one frozen value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.memory import ArraySource
from eigenlens.data.rows import dense_rows
from eigenlens.data.source import Progress, Source
from eigenlens.errors import OptionError
from eigenlens.linalg import n_components as select
from eigenlens.linalg import resampling
from eigenlens.linalg.operators import CentredRows
from eigenlens.linalg.solve import solve
from eigenlens.linalg.spectrum import Requested, Spectrum
from eigenlens.pca.model import PrincipalComponents
from eigenlens.stats.moments import Moments

__all__ = [
    "N_COMPONENTS_RULES",
    "PCAFit",
    "fit_pca",
    "principal_components",
    "requested_components",
    "weighted_row_count",
]


@dataclass(frozen=True)
class PCAFit:
    """What fitting gives: the frozen model, the spectrum it came from, the rows, and the moments if they are known.

    ended: what ended a climb of the likelihood, a key of `fitting.latent.ENDS`; empty where there was none.
    """

    model: PrincipalComponents
    spectrum: Spectrum
    rows: CentredRows
    moments: Moments | None = None
    ended: str = ""


def fit_pca(
    source: Source,
    n_components: int | float | str | Callable[..., int] | None = None,
    *,
    standardize: bool = False,
    solver: str | Callable[..., Spectrum] = "auto",
    tol: float = 1e-9,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> PCAFit:
    """Principal components of the rows of a source.

    >>> from eigenlens.data.memory import ArraySource
    >>> fit = fit_pca(ArraySource(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])), 1)
    >>> fit.model.variances, fit.model.components
    (array([2.]), array([[0.707, 0.707]]))
    """
    rng = np.random.default_rng() if rng is None else rng
    rows = CentredRows(source, standardize=standardize, progress=progress)
    return principal_components(rows, n_components, solver, tol, rng)


def principal_components(
    rows: CentredRows,
    n_components: Any,
    solver: str | Callable[..., Spectrum],
    tol: float,
    rng: np.random.Generator,
) -> PCAFit:
    """The model of rows that are centred already: what is wanted, the solve, the value."""
    wanted = requested_components(rows, n_components, min(weighted_row_count(rows.source), rows.size), rng)
    spectrum = solve(rows, wanted, solver, tol=tol, rng=rng)
    scale = np.ones(rows.size) if rows.scale is None else rows.scale
    model = PrincipalComponents(
        rows.columns.mean,
        scale,
        np.ascontiguousarray(spectrum.vectors.T),
        spectrum.values,
        rows.trace,
        rows.variances,
        rows.columns.weight,
    )
    return PCAFit(model, spectrum, rows, rows.known_moments)


def weighted_row_count(source: Source) -> int:
    """The number of rows that the weights stand for: a weight of 3 is three rows, one of 0 is none."""
    weight = source.weight
    if weight is not None:
        return max(int(np.count_nonzero(weight)), int(weight.sum() * (1.0 + 1e-12)))
    return sum(rows.shape[0] for rows in source.rows()) if source.n_rows is None else source.n_rows


def requested_components(rows: CentredRows, n_components: Any, limit: int, rng: np.random.Generator) -> Requested:
    """n_components as the gate let it through, in the words of the solvers."""
    if n_components is None:
        return Requested.count(limit, limit)
    if isinstance(n_components, float):
        guess = min(limit, max(10, limit // 10))
        return Requested(guess, limit, lambda values, total: select.share(values, total, n_components))
    if isinstance(n_components, int):
        return Requested.count(n_components, limit)
    rule = n_components if callable(n_components) else N_COMPONENTS_RULES[n_components]
    return Requested(limit, limit, lambda values, total: _judged(rule(values, rows, rng), limit), needs_all=True)


def _judged(k: Any, limit: int) -> int:
    """What a rule said, if it is a number of components; none at all becomes one."""
    if not isinstance(k, int | np.integer) or not 0 <= k <= limit:
        raise OptionError(f"the n_components rule returned {k!r}; it must return an integer from 0 to {limit}.")
    return max(1, int(k))


def _mle(values: Array, rows: CentredRows, rng: np.random.Generator) -> int:
    """Minka's evidence."""
    return select.minka(values, _count(rows), rows.size)[0]


def _gavish_donoho(values: Array, rows: CentredRows, rng: np.random.Generator) -> int:
    """Singular values above the optimal hard threshold for unknown noise."""
    return select.gavish_donoho(values, _count(rows), rows.size)


def _kaiser(values: Array, rows: CentredRows, rng: np.random.Generator) -> int:
    """Eigenvalues above the mean eigenvalue, which is 1 for a correlation matrix."""
    return select.kaiser(values, rows.trace / rows.size)


def _parallel(values: Array, rows: CentredRows, rng: np.random.Generator) -> int:
    """Horn's parallel analysis against rows whose columns were permuted."""
    X, weight = dense_rows(rows.source, rng)
    if len(X) != rows.source.n_rows:  # a sample is judged by its own spectrum: noise shrinks with n
        sample = CentredRows(ArraySource(X).weighted(weight), standardize=rows.standardize)
        values = solve(sample, Requested.count(min(X.shape), min(X.shape)), rng=rng).values
    return resampling.parallel(
        values, resampling.permuted_spectra(X, 40, rng, standardize=rows.standardize, weight=weight)
    )


def _cross_validation(values: Array, rows: CentredRows, rng: np.random.Generator) -> int:
    """Bi-cross-validation."""
    X, _ = dense_rows(rows.source, rng)
    most = min(*X.shape, 200)
    return resampling.bi_cross_validation(X, most, rng, standardize=rows.standardize)[0]


def _count(rows: CentredRows) -> int:
    return round(float(rows.columns.weight))


N_COMPONENTS_RULES: dict[str, Callable[[Array, CentredRows, np.random.Generator], int]] = {
    "mle": _mle,
    "parallel": _parallel,
    "gavish-donoho": _gavish_donoho,
    "cv": _cross_validation,
    "kaiser": _kaiser,
}
"""Rules for the number of components by name: (all eigenvalues, rows, rng) → k."""

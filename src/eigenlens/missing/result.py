"""The result of fitting a latent Gaussian, whichever algorithm fitted it, and functions that all of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.coerce import require_finite
from eigenlens.data.memory import MappedSource
from eigenlens.data.rows import PositiveWeightRows, positive_weight_rows
from eigenlens.data.source import Progress, Source, accumulate
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.errors import DataError
from eigenlens.laws import PATH_RELATIONS, Laws, Relations
from eigenlens.linalg.spectrum import orient
from eigenlens.stats.moments import ColumnMoments, Moments

STOP_REASONS: dict[str, str] = {
    "converged": "what is left to gain is below the tolerance",
    "max_iter": "there were as many steps as allowed",
    "rounding": "the gains are too small to be distinguished from rounding",
    "stalled": "its steps have become too small to matter, though a better model is known",
    "interrupted": "the user stopped it",
}
"""Why an iteration ended, by the key that results keep."""

CONSTANT_COLUMN_SHARE = 1e-26
"""A variance below this share of the squared mean is rounding: (1e-13)², 450 units in the last place."""


INCOMPLETE_ROWS = "X has missing entries"
"""The reason for the solver that a fit of incomplete rows gives."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class LatentFit:
    """A maximum likelihood fit of x = W z + mu + e.

    Attributes:
        model: the frozen `LinearGaussian`.
        loglik: Σ w log p(x observed), the total over rows.
        path: the log-likelihood after each step, never decreasing; the last is `loglik`.
        n_iter: steps of the iteration, 1 for a closed form.
        converged: whether the last step met the tolerance.
        residual: what is compared with the tolerance: by EM the log-likelihood per observed entry still to be gained,
            otherwise the largest entry of the projected gradient.
        weight: Σw over the rows with an observed entry. rows: the number of those rows.
        moments: mean and scatter of the rows where they were computed, else None.
        solver: the name of the algorithm. reason: why this one.
        interrupted: whether the user stopped it: the model is the best so far. passes: over the rows.
        constant: indices of the constant columns.
        ended: why an iteration ended, a key of `STOP_REASONS`; empty for a closed form.
        floored: whether a noise variance common to all columns reached its floor.
        scale: (d,) standard deviations by which the columns were divided for the fit, None if they were not: in the
            units of the columns, one noise variance for all is one for each, times scale².

    >>> model = LinearGaussian(np.zeros(2), np.ones((2, 1)), 1.0)
    >>> LatentFit(model, -10.0, (-12.0, -10.0), 2, True, 1e-9, 5.0, 5).bic(free_parameters(2, 1, scalar_noise=True))
    28.047189...
    """

    laws: ClassVar[Laws] = {
        "loglik": "finite",
        "path": "(*) finite",
        "n_iter": "not negative",
        "residual": "any",
        "weight": "positive",
        "rows": "not negative",
        "passes": "not negative",
        "constant": "(*) integer, below d",
    }

    relations: ClassVar[Relations] = {
        **PATH_RELATIONS,
        "'path' does not end with 'loglik'": lambda fit: not fit.path or np.isclose(fit.path[-1], fit.loglik),
        "'ended' is not a reason to stop": lambda fit: not fit.ended or fit.ended in STOP_REASONS,
    }

    model: LinearGaussian
    loglik: float
    path: tuple[float, ...]
    n_iter: int
    converged: bool
    residual: float
    weight: float
    rows: int
    moments: Moments | None = None
    reason: str = ""
    solver: str = ""
    interrupted: bool = False
    passes: int = 0
    constant: tuple[int, ...] = ()
    ended: str = ""
    floored: bool = False
    scale: Array | None = None

    @property
    def scalar_noise(self) -> bool:
        """Whether there is one noise variance, in the units in which the model was fitted."""
        return self.scale is not None or np.ndim(self.model.noise) == 0

    def scaled(self, scale: Array, log_scale: float) -> LatentFit:
        """Return a fit to columns over `scale` (d,) as one to the columns, of a log-likelihood less by `log_scale`."""
        path, loglik = tuple(value - log_scale for value in self.path), self.loglik - log_scale
        return replace(self, model=self.model.scaled(scale), loglik=loglik, path=path, moments=None, scale=scale)

    @property
    def incomplete(self) -> bool:
        """Whether entries of the rows were missing."""
        return self.reason == INCOMPLETE_ROWS

    def aic(self, parameters: int) -> float:
        """Return −2 loglik + 2 parameters; smaller is better."""
        return -2.0 * self.loglik + 2.0 * parameters

    def bic(self, parameters: int) -> float:
        """Return −2 loglik + parameters log Σw; smaller is better."""
        return -2.0 * self.loglik + parameters * float(np.log(self.weight))


def free_parameters(d: int, k: int, *, scalar_noise: bool) -> int:
    """Return the number of free parameters: the mean, W up to a rotation of the latent space, and the noise.

        d + d k − k (k − 1) / 2 + (1 or d)

    With k = d − 1 and one noise variance that is d + d (d + 1) / 2, the saturated Gaussian.

    >>> free_parameters(5, 4, scalar_noise=True)
    20
    """
    return d + d * k - k * (k - 1) // 2 + (1 if scalar_noise else d)


def principal_form(model: LinearGaussian) -> LinearGaussian:
    """Return the same density with the latent space rotated so that the columns of W are orthogonal, longest first.

    W is free up to a rotation. This one gives the principal axes if there is one noise variance, with the signs of
    `linalg.spectrum.orient`, so that every algorithm returns the same loadings.

    >>> principal_form(LinearGaussian(np.zeros(2), np.array([[0.0, -2.0], [1.0, 0.0]]), 1.0)).loadings + 0.0
    array([[2., 0.], [0., 1.]])
    """
    U, s, _ = np.linalg.svd(model.loadings, full_matrices=False)
    return LinearGaussian(model.mean, orient(U) * s, model.noise)


def constant_column_indices(mean: Array, variance: Array) -> tuple[int, ...]:
    """Return the indices of the columns whose variance (d,) is nothing but rounding of their mean (d,).

    >>> constant_column_indices(np.array([1.0, 1e6]), np.array([0.5, 1e-21]))
    (1,)
    """
    return tuple(np.flatnonzero(variance <= CONSTANT_COLUMN_SHARE * mean**2).tolist())


def step_label(step: int, loglik: float) -> str:
    """Return the text by which progress reports a step; the part before the colon names the task.

    >>> step_label(3, -1245.932486)
    'EM: step 3, log-likelihood -1245.9325'
    """
    return f"EM: step {step}, log-likelihood {loglik:.8g}"


def observed_moments(source: Source, progress: Progress | None = None) -> ColumnMoments:
    """Return weights, means and squares of the observed entries of each column, in one pass.

    Infinities and columns without an observed entry are errors; rows of weight 0 may hold anything.

    >>> from eigenlens.data.memory import ArraySource
    >>> observed_moments(ArraySource(np.array([[1.0, np.nan], [3.0, 5.0]]))).missing
    array([0, 1])
    """
    source = positive_weight_rows(source)
    with np.errstate(all="ignore"):  # infinities are detected in the result, and explained
        observed = accumulate(source, ColumnMoments.of_observed, progress, "observed entries")
    require_finite(MappedSource(source, partial(fill_with_mean, mean=0.0)), observed.square)
    require_observed_columns(observed, source)
    return observed


def require_observed_columns(observed: ColumnMoments, source: Source) -> None:
    """Raise an error that names the first column without an observed entry, if there is one."""
    empty = np.flatnonzero(observed.weight == 0.0)
    if empty.size:
        name = source.names[empty[0]] if source.names else int(empty[0])
        what, settings = f"column {name!r} of X has no observed entry (NaN in every row)", {"drop": [str(name)]}
        raise DataError(what, columns=[str(name)], fix="leave it out", settings=settings)


def missing_or_reraise(source: Source, error: DataError) -> tuple[Source, ColumnMoments | None]:
    """Return the rows with positive weight, and the moments of their observed entries if some are missing.

    For use where a pass over complete rows failed with an error about entries that are not finite: complete rows are
    then never searched for NaN. The moments are None if only rows of weight 0 were at fault. If missing values do not
    explain the error, it is raised again.
    """
    observed, rows = observed_moments(source), positive_weight_rows(source)
    if observed.missing.any():
        return rows, observed
    if not isinstance(rows, PositiveWeightRows):
        raise error
    return rows, None


def complete_or_observed(
    source: Source, complete: Callable[[Source], T], observed: Callable[[Source, ColumnMoments], T]
) -> T:
    """Return complete(rows), or observed(rows, moments of the observed entries) if that fails for missing values."""
    try:
        return complete(source)
    except DataError as error:
        source, moments = missing_or_reraise(source, error)
    return complete(source) if moments is None else observed(source, moments)


def needs_complete_rows(solver: str) -> DataError:
    """Return the error of a solver that needs complete rows, for rows with missing values."""
    return DataError(
        "needs complete rows, but X has missing entries (NaN)",
        argument="solver",
        value=solver,
        fix="use {solver} or 'em'",
        settings={"solver": "auto"},
    )


def divide_columns(rows: Any, scale: Array) -> Array:
    """Return rows (b, d) of any kind as a dense array, divided by `scale` (d,); missing entries stay missing."""
    return np.asarray(dense(rows) / scale)


def fill_with_mean(rows: Any, mean: Array | float) -> Array:
    """Return rows (b, d) of any kind as a dense array, with missing entries replaced by `mean`, (d,) or a number."""
    values = dense(rows)
    return np.asarray(np.where(np.isnan(values), mean, values))

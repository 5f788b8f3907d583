"""What fitting a latent Gaussian gives, whichever algorithm did it: the model, its likelihood, and how it was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.coerce import explain_nonfinite
from eigenlens.data.memory import MappedSource
from eigenlens.data.rows import PositiveWeightRows, positive_weight_rows
from eigenlens.data.source import Progress, Source, accumulate
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.errors import DataError
from eigenlens.linalg.spectrum import orient
from eigenlens.stats.moments import ColumnMoments, Moments

__all__ = [
    "ENDS",
    "LatentFit",
    "canonical",
    "constant_columns",
    "explained_by_gaps",
    "free_parameters",
    "observed_columns",
    "step_label",
]

ENDS: dict[str, str] = {
    "converged": "what is left to gain is below the tolerance",
    "max_iter": "there were as many steps as allowed",
    "rounding": "the gains are too small to be told from rounding",
    "interrupted": "the user stopped it",
}
"""What can end an iteration."""


@dataclass(frozen=True, eq=False)
class LatentFit:
    """x = W z + mu + e by maximum likelihood.

    Attributes:
        model: the frozen `LinearGaussian`.
        loglik: Σ w log p(x observed), the total over rows.
        path: the log-likelihood after each step, never decreasing; the last is `loglik`.
        n_iter: steps of the iteration, 0 for a closed form.
        converged: whether the last step met the tolerance.
        gap: by how much the last step changed the log-likelihood an observed entry, or a gradient norm.
        weight: Σw over the rows that have an observed entry. rows: how many rows those are.
        moments: mean and scatter of the rows where they were made, else None.
        solver: the name of the algorithm. reason: why this one.
        interrupted: whether the user stopped it: the model is the best so far. passes: over the rows.
        constant: the columns without variance.
        ended: what ended an iteration, a key of `ENDS`; empty for a closed form.
        floored: whether a noise variance common to all columns ran into the floor under it.

    >>> model = LinearGaussian(np.zeros(2), np.ones((2, 1)), 1.0)
    >>> LatentFit(model, -10.0, (-12.0, -10.0), 2, True, 1e-9, 5.0, 5).bic(free_parameters(2, 1, scalar_noise=True))
    28.047189...
    """

    model: LinearGaussian
    loglik: float
    path: tuple[float, ...]
    n_iter: int
    converged: bool
    gap: float
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

    def aic(self, parameters: int) -> float:
        """−2 loglik + 2 parameters."""
        return -2.0 * self.loglik + 2.0 * parameters

    def bic(self, parameters: int) -> float:
        """−2 loglik + parameters log Σw; the smaller the better."""
        return -2.0 * self.loglik + parameters * float(np.log(self.weight))


def free_parameters(d: int, k: int, *, scalar_noise: bool) -> int:
    """How many numbers are free: the mean, W up to a rotation of the latent space, and the noise.

        d + d k − k (k − 1) / 2 + (1 or d)

    With k = d − 1 and one noise variance that is d + d (d + 1) / 2, the saturated Gaussian.

    >>> free_parameters(5, 4, scalar_noise=True)
    20
    """
    return d + d * k - k * (k - 1) // 2 + (1 if scalar_noise else d)


def canonical(model: LinearGaussian) -> LinearGaussian:
    """The same density with the latent space turned so that the columns of W are orthogonal, the longest first.

    W is free up to a rotation. This one gives the principal axes when the noise is one variance, with the package's
    rule for signs; then every algorithm returns the same loadings.

    >>> canonical(LinearGaussian(np.zeros(2), np.array([[0.0, -2.0], [1.0, 0.0]]), 1.0)).loadings + 0.0
    array([[2., 0.], [0., 1.]])
    """
    U, s, _ = np.linalg.svd(model.loadings, full_matrices=False)
    return LinearGaussian(model.mean, orient(U) * s, model.noise)


def constant_columns(mean: Array, variance: Array) -> tuple[int, ...]:
    """The columns whose variance (d,) is nothing but the rounding of their mean (d,).

    >>> constant_columns(np.array([1.0, 1e6]), np.array([0.5, 1e-21]))
    (1,)
    """
    return tuple(np.flatnonzero(variance <= 1e-26 * mean**2).tolist())


def step_label(step: int, loglik: float) -> str:
    """What progress says of a step; the part before the colon names the task.

    >>> step_label(3, -1245.932486)
    'EM: step 3, log-likelihood -1245.9325'
    """
    return f"EM: step {step}, log-likelihood {loglik:.8g}"


def observed_columns(source: Source, progress: Progress | None = None) -> ColumnMoments:
    """Counts, means and squares of the entries that are there, in one pass; infinities and empty columns are refused.

    Rows of weight 0 are not looked at.

    >>> from eigenlens.data.memory import ArraySource
    >>> observed_columns(ArraySource(np.array([[1.0, np.nan], [3.0, 5.0]]))).missing
    array([0, 1])
    """
    source = positive_weight_rows(source)
    with np.errstate(all="ignore"):  # infinities are found in the result, and explained
        observed = accumulate(source, ColumnMoments.of_observed, progress, "observed entries")
    if not np.all(np.isfinite(observed.square)):
        raise explain_nonfinite(MappedSource(source, _without_gaps))
    empty = np.flatnonzero(observed.weight == 0.0)
    if empty.size:
        name = source.names[empty[0]] if source.names else int(empty[0])
        what, settings = f"column {name!r} of X has no observed entry (NaN in every row)", {"drop": [str(name)]}
        raise DataError(what, columns=[str(name)], fix="leave it out", settings=settings)
    return observed


def explained_by_gaps(source: Source, error: DataError) -> tuple[Source, ColumnMoments | None]:
    """What an error about entries that are not finite was about: rows that count, and their moments if they have gaps.

    None in the place of the moments if only rows of weight 0, which are left out of the source returned, were at fault.
    Where it was something else, the error is raised.
    """
    observed, rows = observed_columns(source), positive_weight_rows(source)
    if observed.missing.any():
        return rows, observed
    if not isinstance(rows, PositiveWeightRows):
        raise error
    return rows, None


def _without_gaps(rows: Any) -> Array:
    values = dense(rows)
    return np.asarray(np.where(np.isnan(values), 0.0, values))

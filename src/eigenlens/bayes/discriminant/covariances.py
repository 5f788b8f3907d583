"""Covariances of classes: one for all classes or one per class, shrunk or not.

They are computed from moments, or from the rows where these are fewer than the columns: no d×d matrix is then made.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.class_moments import (
    ClassDeviations,
    ClassMoments,
    attach_classes,
    read_class_deviations,
    summarise_classes,
    summarise_pooled,
)
from eigenlens.bayes.class_triangles import add_triangles
from eigenlens.bayes.class_variances import VARIANCE_FLOOR, is_constant
from eigenlens.bayes.discriminant.shrinkage import (
    QuarticMoments,
    Rule,
    Target,
    find_rule,
    find_target,
    quartic_sums,
    shrinkage_intensity,
)
from eigenlens.data.source import Block, Progress, Source, accumulate
from eigenlens.densities.covariance import Covariance, Full
from eigenlens.densities.covariance_axes import MIN_AXIS_SHARE, Axes, inverse_or_zero
from eigenlens.errors import DataError
from eigenlens.resources import interruptible_call
from eigenlens.stats.moments import Moments

MIN_VARIANCE, MAX_VARIANCE = 1e-290, 1e300
"""The variances whose products and inverses stay within the range of double precision; 0 is a constant column."""


@dataclass(frozen=True)
class Shrinkage:
    """The regularisation of covariances S: (1 − reg) ((1 − a) S + a T) + reg I.

    Attributes:
        amount: a; or a rule for it, a key of `SHRINKAGE_RULES` or a function like those.
        target: T, a key of `SHRINKAGE_TARGETS` or a function like those.
        by_class: whether a pooled covariance shrinks class by class. reg: in [0, 1].
        intensities: the a that a rule has found already, one for all classes or one per class; () before.
        min_share: a covariance of a class counts as singular if some direction has at most this share of its
            columns' variances. EM only approaches its fixed point, so a variance of 0 is not found as 0.
    """

    amount: float | str | Rule = 0.0
    target: str | Target = "diagonal"
    by_class: bool = False
    reg: float = 0.0
    intensities: tuple[float, ...] = ()
    min_share: float = 0.0

    @property
    def needs_rule(self) -> bool:
        """Whether a rule is yet to find the intensity from the rows, by fourth moments."""
        return not isinstance(self.amount, float) and not self.intensities

    def apply(self, S: Array, a: float) -> Array:
        """Return the regularised matrix (d, d)."""
        if a == 0.0 and self.reg == 0.0 and isinstance(self.target, str):
            return S  # a function is called all the same, so that a wrong one is reported
        C = (1.0 - self.reg) * (1.0 - a) * S
        C[np.diag_indices_from(C)] += self.added_diagonal(S.diagonal(), a)
        return np.asarray(C)

    def added_diagonal(self, variances: Array, a: float) -> Array:
        """Return the (d,) numbers that are added to the diagonal."""
        return np.asarray((1.0 - self.reg) * a * find_target(self.target)(variances) + self.reg)


def _choose_summary(n_classes: int, shrinkage: Shrinkage, pooled: bool) -> Callable[[Block], Any]:
    """Return the function that summarises a block with classes in one pass."""
    if pooled and not shrinkage.needs_rule:
        return partial(summarise_pooled, n_classes=n_classes)
    summary = QuarticMoments.of if shrinkage.needs_rule else Moments.of
    return partial(summarise_classes, summaries=[summary] * n_classes)


def choose_covariance_route(n: int, d: int) -> tuple[str, str]:
    """Return how covariances are found, and why.

        n < d     "gram"       products of the rows with one another (n, n); no d×d matrix is made
        else      "moments"    one pass over the rows, in memory O(d²)

    >>> choose_covariance_route(50, 2000), choose_covariance_route(1000, 3)[0]
    (('gram', '50 rows of 2000 columns'), 'moments')
    """
    return "gram" if n < d else "moments", f"{n} rows of {d} columns"


def read_classes(
    source: Source,
    codes: Array,
    n_classes: int,
    shrinkage: Shrinkage,
    *,
    pooled: bool,
    mergeable: bool = False,
    progress: Progress | None = None,
) -> Any:
    """Read the moments of the classes, or all rows, by the route of `choose_covariance_route`.

    With `mergeable` always the moments, to which those of further rows can be added. Where a covariance that is not
    regularised is nearly singular, the rows are read again for its triangle.
    """
    n = len(codes) if source.weight is None else int(np.count_nonzero(source.weight))
    rows = attach_classes(source, codes)
    if not mergeable and choose_covariance_route(n, source.n_features)[0] == "gram":
        return read_class_deviations(rows, n_classes)
    found = accumulate(rows, _choose_summary(n_classes, shrinkage, pooled), progress, "reading classes")
    if mergeable or shrinkage.amount != 0.0 or shrinkage.reg:
        return found  # a regularised covariance is well-conditioned
    return add_triangles(found, rows, pooled, progress)


def require_variance_range(variances: Array) -> None:
    """Raise an error if the variance of a column (d,) is outside the range of double precision."""
    odd = np.flatnonzero(~(variances <= MAX_VARIANCE) | ((variances > 0.0) & (variances < MIN_VARIANCE)))
    if odd.size:
        far = "above 1e150" if not variances[odd[0]] <= MAX_VARIANCE else "below 1e-145"
        raise DataError(
            f"column {odd[0]} of X (and {odd.size - 1} more) varies by {far}, whose square is outside the range of "
            "double precision",
            fix="change the unit of the column, or standardise it",
        )


# ---- covariances from moments ---------------------------------------------------------------------------------


def pooled_covariance(statistics: Any, shrinkage: Shrinkage) -> tuple[Axes, Array]:
    """Return the covariance (divisor Σw) of all classes, and its intensity a (1,), or (C,) class by class."""
    if isinstance(statistics, ClassDeviations):
        return _wide_pooled_covariance(statistics, shrinkage)
    if shrinkage.by_class:
        C, a = _shrink_by_class(statistics, shrinkage)
    else:
        S, together = statistics.scatter / statistics.weight.sum(), _pool(statistics) if shrinkage.needs_rule else None
        amount = _choose_intensity(shrinkage, 0, S, together)
        C, a = shrinkage.apply(S, amount), np.array([amount])
    constant = is_constant(C.diagonal(), statistics.mean)
    if statistics.triangles:
        return Axes.of_triangle(statistics.triangles[0] / np.sqrt(statistics.weight.sum()), constant), a
    return Axes.of_matrix(C, constant), a


def _pool(statistics: ClassMoments) -> QuarticMoments:
    """Return the moments of all rows about the means of their classes."""
    parts: list[QuarticMoments] = [part for part in statistics.parts if part is not None]
    return reduce(operator.add, [replace(part, mean=np.zeros_like(part.mean)) for part in parts])


def _shrink_by_class(statistics: ClassMoments, shrinkage: Shrinkage) -> tuple[Array, Array]:
    parts = [part for part in statistics.parts if part is not None]
    amounts = _choose_intensities(shrinkage, parts)
    pairs = zip(parts, amounts, strict=True)
    shrunk = [part.weight * shrinkage.apply(part.scatter / part.weight, a) for part, a in pairs]
    return np.asarray(sum(shrunk) / statistics.weight.sum()), np.array(amounts)


@dataclass(frozen=True, eq=False)
class ClassCovariances:
    """One covariance per class.

    A singular covariance has no density: `VARIANCE_FLOOR` times the variances of all rows is then added to its
    diagonal, so that a column that only differs between classes still separates them.

    Attributes:
        covariances: C of them. amounts: (C,) their intensities of shrinkage.
        clamped: (C,) which of them were singular, and have the floor.
        constant: (d,) which columns are constant in all rows, and left out.
    """

    covariances: tuple[Covariance, ...]
    amounts: Array
    clamped: Array
    constant: Array


def class_covariances(statistics: Any, shrinkage: Shrinkage) -> ClassCovariances:
    """Return the covariance (divisor Σw) of each class."""
    if isinstance(statistics, ClassDeviations):
        return _wide_class_covariances(statistics, shrinkage)
    parts = list(statistics.parts)
    amounts = _choose_intensities(shrinkage, parts)
    matrices = [shrinkage.apply(part.scatter / part.weight, a) for part, a in zip(parts, amounts, strict=True)]
    total = statistics.variances + _variances_between(statistics)
    constant = is_constant(total + shrinkage.reg, statistics.mean)
    singular = ~_have_density(np.stack(matrices), statistics.mean, constant, shrinkage.min_share)
    floor = np.diag(VARIANCE_FLOOR * total)
    triangles = statistics.triangles or (None,) * len(parts)
    made = [
        _clamp(C, floor, constant, shrinkage.min_share) if bad else _leave_out(C, constant, R, part.weight)
        for C, bad, R, part in zip(matrices, singular, triangles, parts, strict=True)
    ]
    return ClassCovariances(tuple(made), np.array(amounts), singular, constant)


def covariance_within(statistics: Any) -> tuple[Covariance, bool]:
    """Return the covariance within all classes, clamped at the floor where it is singular, and whether it is."""
    if isinstance(statistics, ClassDeviations):
        return _wide_covariance_within(statistics)
    S, total = statistics.scatter / statistics.weight.sum(), statistics.variances + _variances_between(statistics)
    constant = is_constant(total, statistics.mean)
    if has_density(S, statistics.mean, constant):
        return _leave_out(S, constant), False
    return _clamp(S, np.diag(VARIANCE_FLOOR * total), constant, 0.0), True


def _leave_out(C: Array, constant: Array, R: Array | None = None, weight: float = 1.0) -> Covariance:
    """Return a covariance, of the triangle R of its scatter if known, without the columns constant in all rows."""
    if R is not None:
        return Axes.of_triangle(R / np.sqrt(weight), constant)
    return Axes.of_matrix(C, constant) if constant.any() else Full(C)


def _clamp(C: Array, floor: Array, constant: Array, min_share: float) -> Covariance:
    """Return C plus the floor; variances of at most `min_share` in some direction are chance, and first set to 0."""
    root = np.sqrt(np.maximum(C.diagonal(), 0.0))
    inverse = inverse_or_zero(root)
    values, V = interruptible_call(np.linalg.eigh, inverse[:, None] * C * inverse)
    kept = root[:, None] * (V * np.where(values > min_share, values, 0.0)) @ V.T * root
    return Axes.of_matrix(kept + floor, constant)


def has_density(C: Array, means: Array, constant: Array, min_share: float = 0.0) -> bool:
    """Return whether every direction of C (d, d) has a variance above rounding and `min_share` of its columns'.

    Columns that are `constant` (d,) in all rows are left out; one that does not vary about the means (d,) or (C, d) of
    the rows has no variance. The eigenvalues of the correlations decide, so that neither units nor the order of the
    columns matter.
    """
    means = np.atleast_2d(means)
    if not np.isfinite(C).all():
        return False
    if constant.any():
        kept = ~constant
        C, means = C[np.ix_(kept, kept)], means[:, kept]
    if is_constant(C.diagonal(), means).any():
        return False
    return not len(C) or bool(_all_axes_vary(C[None], min_share)[0])


def _have_density(C: Array, means: Array, constant: Array, min_share: float) -> Array:
    """Return the answers of `has_density` for several covariances (C, d, d), each of rows with one mean (d,)."""
    still = is_constant(np.einsum("cii->ci", C), means[None])
    if not constant.any() and not still.any() and np.isfinite(C).all():
        return _all_axes_vary(C, min_share)
    return np.array([has_density(each, mean, constant, min_share) for each, mean in zip(C, means, strict=True)])


def _all_axes_vary(C: Array, min_share: float) -> Array:
    """Return whether the correlations of covariances (C, d, d) have no eigenvalue at or below the bound."""
    inverse = 1.0 / np.sqrt(np.einsum("cii->ci", C))
    bound = max(min_share, C.shape[1] * MIN_AXIS_SHARE)
    return np.asarray(interruptible_call(np.linalg.eigvalsh, inverse[:, :, None] * C * inverse[:, None])[:, 0] > bound)


def total_deviations(statistics: ClassMoments | ClassDeviations) -> Array:
    """Return the standard deviations (d,) of the columns in all rows, with divisor Σw; 1 for a constant column."""
    total = statistics.variances + _variances_between(statistics)
    return np.asarray(np.where(is_constant(total, statistics.mean), 1.0, np.sqrt(total)))


def _variances_between(statistics: ClassMoments | ClassDeviations) -> Array:
    """Return the variances (d,) of the means of the classes, weighted as the classes are."""
    share = statistics.weight / statistics.weight.sum()
    return np.asarray(share @ (statistics.mean - share @ statistics.mean) ** 2)


def _choose_intensities(shrinkage: Shrinkage, parts: list[Any]) -> list[float]:
    """Return the intensity of each class."""
    return [_choose_intensity(shrinkage, c, part.scatter / part.weight, part) for c, part in enumerate(parts)]


def _choose_intensity(shrinkage: Shrinkage, c: int, S: Array, moments: Any) -> float:
    if shrinkage.intensities:
        return shrinkage.intensities[c]
    if isinstance(shrinkage.amount, float):
        return shrinkage.amount
    return shrinkage_intensity(shrinkage.amount, S, moments, find_target(shrinkage.target)(S.diagonal()))


# ---- covariances from rows, where there are fewer of them than columns ----------------------------------------


def _wide_pooled_covariance(statistics: ClassDeviations, shrinkage: Shrinkage) -> tuple[Axes, Array]:
    """Return `pooled_covariance` without a d×d matrix. Cost 4 n² d flops."""
    n = float(statistics.each.sum())
    B = statistics.deviations * np.sqrt(statistics.each / n)[:, None]
    variances = np.sum(B * B, axis=0)
    if shrinkage.by_class:
        diagonal, a = _wide_shrink_by_class(statistics, shrinkage)
        B *= np.sqrt((1.0 - shrinkage.reg) * (1.0 - a))[statistics.codes, None]
    else:
        amount = _wide_intensity(shrinkage, statistics.deviations, statistics.each, variances)
        diagonal, a = shrinkage.added_diagonal(variances, amount), np.array([amount])
        B *= np.sqrt((1.0 - shrinkage.reg) * (1.0 - amount))
    return _axes(B, diagonal, statistics.mean), a


def _wide_covariance_within(statistics: ClassDeviations) -> tuple[Axes, bool]:
    """Return `covariance_within` without a d×d matrix: with fewer rows than columns it is singular."""
    B = statistics.deviations * np.sqrt(statistics.each / statistics.each.sum())[:, None]
    return _axes(B, VARIANCE_FLOOR * (statistics.variances + _variances_between(statistics)), statistics.mean), True


def _axes(B: Array, diagonal: Array, means: Array) -> Axes:
    """Return Bᵀ B plus a diagonal (d,), without the columns that are constant about the means (C, d)."""
    return Axes.of_rows(B, diagonal, is_constant(np.sum(B * B, axis=0) + diagonal, means))


def _wide_shrink_by_class(statistics: ClassDeviations, shrinkage: Shrinkage) -> tuple[Array, Array]:
    """Return the diagonal (d,) that all classes add to the covariance, and their intensities (C,)."""
    diagonal, amounts = np.zeros(statistics.deviations.shape[1]), np.zeros(len(statistics.mean))
    for c, weight in enumerate(statistics.weight):
        mine = statistics.of(c)
        amounts[c] = _wide_intensity(shrinkage, mine.deviations, mine.each, mine.variances)
        diagonal += weight * shrinkage.added_diagonal(mine.variances, float(amounts[c]))
    return diagonal / statistics.weight.sum(), amounts


def _wide_class_covariances(statistics: ClassDeviations, shrinkage: Shrinkage) -> ClassCovariances:
    """Return `class_covariances` without d×d matrices."""
    covariances: list[Covariance] = []
    amounts, clamped = np.zeros(len(statistics.mean)), np.zeros(len(statistics.mean), dtype=bool)
    total = statistics.variances + _variances_between(statistics)
    constant = is_constant(total + shrinkage.reg, statistics.mean)
    for c, weight in enumerate(statistics.weight):
        mine = statistics.of(c)
        B = mine.deviations * np.sqrt(mine.each / weight)[:, None]
        variances = np.sum(B * B, axis=0)
        a = amounts[c] = _wide_intensity(shrinkage, mine.deviations, mine.each, variances)
        B *= np.sqrt((1.0 - shrinkage.reg) * (1.0 - a))
        diagonal = shrinkage.added_diagonal(variances, float(a))
        clamped[c] = bool(np.any(is_constant(diagonal, mine.mean) & ~constant))
        covariances.append(_axes(B, diagonal + VARIANCE_FLOOR * total if clamped[c] else diagonal, statistics.mean))
    return ClassCovariances(tuple(covariances), amounts, clamped, constant)


def _wide_intensity(shrinkage: Shrinkage, D: Array, weight: Array, variances: Array) -> float:
    if isinstance(shrinkage.amount, float):
        return shrinkage.amount
    target = find_target(shrinkage.target)(variances)
    trace, square, quartic = quartic_sums(D, weight, target)
    return find_rule(shrinkage.amount)(float(weight.sum()), int(np.count_nonzero(target)), trace, square, quartic)

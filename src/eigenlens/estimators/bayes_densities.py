"""The densities of classes: estimators cloned and fitted to the rows of each, or families that read all in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from eigenlens.arrays import Array
from eigenlens.data.resolve import explain_nonfinite
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.errors import DataError, OptionError
from eigenlens.estimators.density_rows import of_class
from eigenlens.estimators.rows import count_rows
from eigenlens.fitting.class_rows import ClassMoments, class_summary, labelled
from eigenlens.fitting.sampling import picked, take_rows

__all__ = [
    "Estimated", "OfFamily", "can_go_on", "checked_density", "densities_of", "densities_with", "is_family",
    "takes_gaps",
]  # fmt: skip


def is_family(density: Any) -> bool:
    """Whether it makes densities of statistics that merge."""
    return hasattr(density, "summarise") and hasattr(density, "estimate")


def can_go_on(density: Any) -> bool:
    """Whether more rows can be added to what was fitted."""
    return is_family(density) or hasattr(density, "partial_fit")


def takes_gaps(density: Any) -> bool:
    """Whether it can be fitted to rows with missing entries: by what it says, or by what a family makes of a gap."""
    if not is_family(density):
        tags = getattr(density, "__sklearn_tags__", None)
        return tags is not None and bool(tags().input_tags.allow_nan)
    try:
        return not _lost(density.summarise(Block(np.array([[np.nan, 1.0], [2.0, 5.0], [3.0, 4.0]]))))
    except (ValueError, TypeError, AttributeError, IndexError):  # of a family for other rows than these
        return False


def _lost(part: Any) -> bool:
    """Whether statistics have taken up a value that is not finite."""
    return hasattr(part, "mean") and not bool(np.all(np.isfinite(part.mean)))


def checked_density(density: Any) -> Any:
    """`density` if it is a family, or an estimator that has a density."""
    known = is_family(density) or (hasattr(density, "fit") and hasattr(density, "score_samples"))
    if known and not isinstance(density, type):
        return density
    raise OptionError(
        f"density={density!r} must be a density estimator with fit and score_samples, such as GaussianMixture(1), "
        "KernelDensity() or ProbabilisticPCA(2), or a Family, such as GaussianFamily()."
    )


@dataclass(frozen=True, eq=False)
class Estimated:
    """Fitted estimators, one a class."""

    densities: tuple[Any, ...]
    can_go_on: bool = True


@dataclass(frozen=True, eq=False)
class OfFamily:
    """A family and the statistics of each class; the densities are made when they are first asked for."""

    family: Any
    statistics: ClassMoments
    classes: Array
    can_go_on: bool = True

    @cached_property
    def densities(self) -> tuple[Any, ...]:
        """The member of the family for each class."""
        made = []
        for label, part in zip(self.classes.tolist(), self.statistics.parts, strict=True):
            if part is None:
                raise DataError(f"class {label!r} has no rows yet.")
            made.append(of_class(label, None, partial(self.family.estimate, part)))
        return tuple(made)


def densities_of(
    density: Any, source: Source, codes: Array, classes: Array, seeds: np.random.Generator | None = None
) -> Estimated | OfFamily:
    """A density for each class of a source; those that draw are seeded by `seeds`, if not by themselves."""
    if is_family(density):
        kept = _read(density, source, codes, classes)
        kept.densities  # noqa: B018  what cannot be estimated should fail here
        return kept
    fresh = [_seeded(clone(density), seeds) for _ in classes]
    return Estimated(tuple(_fitted(fresh, "fit", source, codes, classes)))


def densities_with(
    before: Any, density: Any, source: Source, codes: Array, classes: Array, seeds: np.random.Generator | None = None
) -> Estimated | OfFamily:
    """Those of `before` with further rows, or None before the first."""
    if is_family(density):
        found = _read(density, source, codes, classes)
        return found if before is None else OfFamily(density, before.statistics + found.statistics, classes)
    parts = [_seeded(clone(density), seeds) for _ in classes] if before is None else before.densities
    return Estimated(tuple(_fitted(parts, "partial_fit", source, codes, classes)))


def _seeded(estimator: Any, seeds: np.random.Generator | None) -> Any:
    """The estimator, with a seed from `seeds` if it takes one and has none."""
    given = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    if seeds is None or given.get("random_state", seeds) is not None:
        return estimator
    return estimator.set_params(random_state=int(seeds.integers(2**31)))


def _read(family: Any, source: Source, codes: Array, classes: Array) -> OfFamily:
    summarise = partial(class_summary, n_classes=len(classes), moments=family.summarise)
    with np.errstate(invalid="ignore", over="ignore"):
        statistics = accumulate(labelled(source, codes), summarise, None, "reading classes")
    if any(_lost(part) for part in statistics.parts if part is not None):
        raise explain_nonfinite(source)
    return OfFamily(family, statistics, classes)


def _fitted(parts: Sequence[Any], method: str, source: Source, codes: Array, classes: Array) -> Iterator[Any]:
    for c, (label, estimator) in enumerate(zip(classes.tolist(), parts, strict=True)):
        mine = np.flatnonzero(codes == c if source.weight is None else (codes == c) & (source.weight > 0.0))
        if mine.size:
            X, weight = _rowsof_class(source, mine)
            given = {} if weight is None else {"sample_weight": _accepted(estimator, weight)}
            of_class(label, mine.size, partial(getattr(estimator, method), X, **given))
        yield estimator


def _rowsof_class(source: Source, mine: Array) -> tuple[Any, Array | None]:
    """Rows as an array if they are in memory, else as a source that picks them out of each pass."""
    weight = None if source.weight is None else source.weight[mine]
    if source.in_memory:
        return take_rows(source, mine, count_rows(source)), weight
    return Some(source, mine), weight


class Some(Source):
    """Some of the rows of a source, in its order."""

    def __init__(self, source: Source, which: Array) -> None:
        self.source, self.which = source.weighted(None), which
        self.n_rows, self.n_features, self.dtype = len(which), source.n_features, source.dtype
        self.reads_ahead = source.reads_ahead

    def rows(self) -> Iterator[Any]:
        """The chosen rows of each block."""
        start = 0
        for rows in self.source.rows():
            stop = start + rows.shape[0]
            low, high = np.searchsorted(self.which, [start, stop])
            if high > low:
                yield picked(rows, self.which[low:high] - start)
            start = stop


def _accepted(estimator: Any, weight: Array) -> Array:
    if not has_fit_parameter(estimator, "sample_weight"):
        raise OptionError(f"sample_weight is given, but density={estimator!r} takes none in fit.")
    return weight

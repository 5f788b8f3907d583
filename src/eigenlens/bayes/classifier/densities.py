"""The densities of classes: estimators cloned and fitted to the rows of each, or families that read all in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenlens.arrays import Array
from eigenlens.bayes.class_moments import ClassMoments, class_summary, labelled
from eigenlens.bayes.classifier.class_density import of_class
from eigenlens.bayes.classifier.degenerate_classes import amended_estimators, amended_members, has_spread
from eigenlens.bayes.classifier.fit_per_class import attempted, fitted_to_class, fresh_estimators
from eigenlens.bayes.classifier.missing import completed, fills_gaps, whole_rows
from eigenlens.data.coerce import explain_nonfinite
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.errors import DataError, OptionError

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
    """Whether rows may have missing entries: by what it says, by what a family makes of a gap, or on whole rows."""
    if not is_family(density):
        return _learns_from_gaps(density) or hasattr(density, "marginal")
    try:
        probe = Block(np.array([[np.nan, 1.0], [2.0, 5.0], [3.0, 4.0]]))
        return fills_gaps(density) or not _lost(density.summarise(probe))
    except (ValueError, TypeError, AttributeError, IndexError):  # of a family for other rows than these
        return False


def _learns_from_gaps(estimator: Any) -> bool:
    tags = getattr(estimator, "__sklearn_tags__", None)
    return tags is not None and bool(tags().input_tags.allow_nan)


def _lost(part: Any) -> bool:
    """Whether statistics have taken up a value that is not finite."""
    mean = part if isinstance(part, np.ndarray) else getattr(part, "mean", 0.0)
    return not bool(np.all(np.isfinite(mean)))


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
    """Fitted estimators, one a class, or what stands in for one."""

    densities: tuple[Any, ...]
    can_go_on: bool = True


@dataclass(frozen=True, eq=False)
class OfFamily:
    """A family and the statistics of each class; the densities are made when they are first asked for.

    `singular` are the numbers of classes whose rows are known to fill too few dimensions; `names` are of the columns.
    """

    family: Any
    statistics: ClassMoments
    classes: Array
    can_go_on: bool = True
    names: tuple[str, ...] | None = None
    singular: tuple[int, ...] = ()

    @cached_property
    def densities(self) -> tuple[Any, ...]:
        """The member of the family for each class."""
        made: dict[int, Any] = {}
        first = None
        for c, (label, part) in enumerate(zip(self.classes.tolist(), self.statistics.parts, strict=True)):
            if part is None:
                raise DataError(f"class {label!r} has no rows yet.")
            try:
                made[c] = of_class(label, None, partial(self._member, c, part))
            except DataError as error:
                first = first or error
        if first is None:
            return tuple(made.values())
        return amended_members(self.family, self.statistics, self.classes, made, self.singular, first, self.names)

    def _member(self, c: int, part: Any) -> Any:
        if c in self.singular or not has_spread(self.family, part):
            raise DataError("its rows have too little spread for a density of their own.")
        return self.family.estimate(part)


def densities_of(
    density: Any, source: Source, codes: Array, classes: Array, seeds: np.random.Generator | None = None
) -> Estimated | OfFamily:
    """A density for each class of a source; those that draw are seeded by `seeds`, if not by themselves."""
    if is_family(density):
        kept = _read(density, source, codes, classes, gaps=True)
        kept.densities  # noqa: B018  what cannot be estimated should fail here
        return kept
    if takes_gaps(density) and not _learns_from_gaps(density):
        source = whole_rows(density, source, codes, classes)
    fresh = fresh_estimators(density, len(classes), seeds)
    found, failed = attempted([clone(estimator) for estimator in fresh], source, codes, classes)
    if not failed:
        return Estimated(tuple(found))
    return Estimated(amended_estimators(fresh, source, codes, classes, found, failed), can_go_on=False)


def densities_with(
    before: Any, density: Any, source: Source, codes: Array, classes: Array, seeds: np.random.Generator | None = None
) -> Estimated | OfFamily:
    """Those of `before` with further rows, or None before the first."""
    if is_family(density):
        found = _read(density, source, codes, classes)
        statistics = found.statistics if before is None else before.statistics + found.statistics
        return OfFamily(density, statistics, classes, names=found.names)
    parts = fresh_estimators(density, len(classes), seeds) if before is None else before.densities
    pairs = zip(classes.tolist(), parts, strict=True)
    return Estimated(
        tuple(fitted_to_class(part, "partial_fit", source, codes, c, label) for c, (label, part) in enumerate(pairs))
    )


def _read(family: Any, source: Source, codes: Array, classes: Array, gaps: bool = False) -> OfFamily:
    """The statistics of the classes in one pass, or by EM if rows with gaps are allowed, and the family fills them."""
    if getattr(family, "k", 0) >= source.n_features:
        raise OptionError(
            f"density={type(family).__name__}(k={family.k}) must have k below the columns of X: {source.n_features} "
            "feature(s)."
        )
    summarise = partial(class_summary, n_classes=len(classes), moments=family.summarise)
    with np.errstate(invalid="ignore", over="ignore"):
        statistics = accumulate(labelled(source, codes), summarise, None, "reading classes")
    if not any(_lost(part) for part in statistics.parts if part is not None):
        return OfFamily(family, statistics, classes, names=source.names)
    if not gaps or not fills_gaps(family):
        raise explain_nonfinite(source)
    statistics, singular = completed(family, source, codes, classes)
    return OfFamily(family, statistics, classes, can_go_on=False, names=source.names, singular=singular)

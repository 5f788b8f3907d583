"""The densities of classes: estimators cloned and fitted to the rows of each, or families that read all in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.base import clone

from eigenlens.arrays import Array
from eigenlens.bayes.class_moments import ClassMoments, attach_classes, summarise_classes
from eigenlens.bayes.classifier.class_density import run_for_class
from eigenlens.bayes.classifier.degenerate_classes import fit_fallback_estimators, fit_fallback_members, has_spread
from eigenlens.bayes.classifier.fit_per_class import clone_per_class, fit_to_class, try_fit
from eigenlens.bayes.classifier.missing import complete_statistics, drop_incomplete_rows, fits_incomplete_rows
from eigenlens.data.coerce import explain_nonfinite
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.errors import DataError, OptionError

__all__ = [
    "FamilyDensities",
    "FittedDensities",
    "accepts_missing",
    "check_density",
    "fit_densities",
    "is_family",
    "supports_partial_fit",
    "update_densities",
]  # fmt: skip


def is_family(density: Any) -> bool:
    """Whether it makes densities of statistics that merge."""
    return hasattr(density, "summarise") and hasattr(density, "estimate")


def supports_partial_fit(density: Any) -> bool:
    """Whether more rows can be added to what was fitted."""
    return is_family(density) or hasattr(density, "partial_fit")


def accepts_missing(density: Any) -> bool:
    """Whether rows may have missing entries: by what it says, by what a family makes of a gap, or on whole rows."""
    if not is_family(density):
        return _learns_from_gaps(density) or hasattr(density, "marginal")
    try:
        probe = Block(np.array([[np.nan, 1.0], [2.0, 5.0], [3.0, 4.0]]))
        return fits_incomplete_rows(density) or not _lost(density.summarise(probe))
    except (ValueError, TypeError, AttributeError, IndexError):  # of a family for other rows than these
        return False


def _learns_from_gaps(estimator: Any) -> bool:
    tags = getattr(estimator, "__sklearn_tags__", None)
    return tags is not None and bool(tags().input_tags.allow_nan)


def _lost(part: Any) -> bool:
    """Whether statistics have taken up a value that is not finite."""
    return hasattr(part, "mean") and not bool(np.all(np.isfinite(part.mean)))


def check_density(density: Any) -> Any:
    """`density` if it is a family, or an estimator that has a density."""
    known = is_family(density) or (hasattr(density, "fit") and hasattr(density, "score_samples"))
    if known and not isinstance(density, type):
        return density
    raise OptionError(
        f"density={density!r} must be a density estimator with fit and score_samples, such as GaussianMixture(1), "
        "KernelDensity() or ProbabilisticPCA(2), or a Family, such as GaussianFamily()."
    )


@dataclass(frozen=True, eq=False)
class FittedDensities:
    """Fitted estimators, one a class, or what stands in for one."""

    densities: tuple[Any, ...]
    can_go_on: bool = True


@dataclass(frozen=True, eq=False)
class FamilyDensities:
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
                made[c] = run_for_class(label, None, partial(self._member, c, part))
            except DataError as error:
                first = first or error
        if first is None:
            return tuple(made.values())
        return fit_fallback_members(self.family, self.statistics, self.classes, made, self.singular, first, self.names)

    def _member(self, c: int, part: Any) -> Any:
        if c in self.singular or not has_spread(self.family, part):
            raise DataError("its rows have too little spread for a density of their own.")
        return self.family.estimate(part)


def fit_densities(
    density: Any, source: Source, codes: Array, classes: Array, seeds: np.random.Generator | None = None
) -> FittedDensities | FamilyDensities:
    """A density for each class of a source; those that draw are seeded by `seeds`, if not by themselves."""
    if is_family(density):
        kept = _read(density, source, codes, classes, gaps=True)
        kept.densities  # noqa: B018  what cannot be estimated should fail here
        return kept
    if accepts_missing(density) and not _learns_from_gaps(density):
        source = drop_incomplete_rows(density, source, codes, classes)
    fresh = clone_per_class(density, len(classes), seeds)
    found, failed = try_fit([clone(estimator) for estimator in fresh], source, codes, classes)
    if not failed:
        return FittedDensities(tuple(found))
    return FittedDensities(fit_fallback_estimators(fresh, source, codes, classes, found, failed), can_go_on=False)


def update_densities(
    before: Any, density: Any, source: Source, codes: Array, classes: Array, seeds: np.random.Generator | None = None
) -> FittedDensities | FamilyDensities:
    """Those of `before` with further rows, or None before the first."""
    if is_family(density):
        found = _read(density, source, codes, classes)
        statistics = found.statistics if before is None else before.statistics + found.statistics
        return FamilyDensities(density, statistics, classes, names=found.names)
    parts = clone_per_class(density, len(classes), seeds) if before is None else before.densities
    pairs = zip(classes.tolist(), parts, strict=True)
    return FittedDensities(
        tuple(fit_to_class(part, "partial_fit", source, codes, c, label) for c, (label, part) in enumerate(pairs))
    )


def _read(family: Any, source: Source, codes: Array, classes: Array, gaps: bool = False) -> FamilyDensities:
    """The statistics of the classes in one pass, or by EM if rows with gaps are allowed, and the family fills them."""
    if getattr(family, "k", 0) >= source.n_features:
        raise OptionError(
            f"density={type(family).__name__}(k={family.k}) must have k below the columns of X: {source.n_features} "
            "feature(s)."
        )
    summarise = partial(summarise_classes, n_classes=len(classes), moments=family.summarise)
    with np.errstate(invalid="ignore", over="ignore"):
        statistics = accumulate(attach_classes(source, codes), summarise, None, "reading classes")
    if not any(_lost(part) for part in statistics.parts if part is not None):
        return FamilyDensities(family, statistics, classes, names=source.names)
    if not gaps or not fits_incomplete_rows(family):
        raise explain_nonfinite(source)
    statistics, singular = complete_statistics(family, source, codes, classes)
    return FamilyDensities(family, statistics, classes, can_go_on=False, names=source.names, singular=singular)

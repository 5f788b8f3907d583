"""The densities of classes: estimators fitted to the rows of each class, or families that read all in one pass."""

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
from eigenlens.bayes.classifier.fit_per_class import (
    clone_per_class,
    complete_statistics,
    drop_incomplete_rows,
    fit_to_class,
    fits_incomplete_rows,
    try_fit,
)
from eigenlens.data.coerce import explain_nonfinite
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.errors import DataError, OptionError


def is_family(density: Any) -> bool:
    """Return whether a density is given as a family, which makes densities from statistics that merge."""
    return hasattr(density, "summarise") and hasattr(density, "estimate")


def supports_partial_fit(density: Any) -> bool:
    """Return whether more rows can be added to a fitted density."""
    return is_family(density) or hasattr(density, "partial_fit")


def accepts_missing(density: Any) -> bool:
    """Return whether rows may have missing values: by its tags, by a family's statistics, or on complete rows alone."""
    if not is_family(density):
        return _fits_missing(density) or hasattr(density, "marginal")
    try:
        probe = Block(np.array([[np.nan, 1.0], [2.0, 5.0], [3.0, 4.0]]))
        return fits_incomplete_rows(density) or not _is_nonfinite(density.summarise(probe))
    except (ValueError, TypeError, AttributeError, IndexError):  # a family for another kind of rows
        return False


def _fits_missing(estimator: Any) -> bool:
    """Return whether an estimator fits incomplete rows, by its tags."""
    tags = getattr(estimator, "__sklearn_tags__", None)
    return tags is not None and bool(tags().input_tags.allow_nan)


def _is_nonfinite(part: Any) -> bool:
    """Return whether the mean of some statistics, or statistics that are an array, are not finite."""
    mean = part if isinstance(part, np.ndarray) else getattr(part, "mean", 0.0)
    return not bool(np.all(np.isfinite(mean)))


def check_density(density: Any) -> Any:
    """Return `density` if it is a family, or an estimator that has a density."""
    known = is_family(density) or (hasattr(density, "fit") and hasattr(density, "score_samples"))
    if known and not isinstance(density, type):
        return density
    what = "must be a density estimator with fit and score_samples, or a Family"
    fix = "use GaussianMixture(1), KernelDensity(), ProbabilisticPCA(2) or GaussianFamily(), for example"
    raise OptionError(what, argument="density", value=density, fix=fix)


@dataclass(frozen=True, eq=False)
class FittedDensities:
    """Fitted estimators, one per class, or the densities that replace them."""

    densities: tuple[Any, ...]
    can_continue: bool = True


@dataclass(frozen=True, eq=False)
class FamilyDensities:
    """A family and the statistics of each class; the densities are computed on first use.

    Attributes:
        family, statistics, classes: the family, its statistics of each class, and the labels (C,).
        can_continue: whether further rows can be added. names: of the columns, or None.
        singular: the classes, by number, whose rows are known to span too few dimensions.
    """

    family: Any
    statistics: ClassMoments
    classes: Array
    can_continue: bool = True
    names: tuple[str, ...] | None = None
    singular: tuple[int, ...] = ()

    @cached_property
    def densities(self) -> tuple[Any, ...]:
        """The member of the family for each class."""
        made: dict[int, Any] = {}
        first = None
        for c, (label, part) in enumerate(zip(self.classes.tolist(), self.statistics.parts, strict=True)):
            if part is None:
                raise DataError(f"class {label!r} has no rows yet", fix="give its rows first")
            try:
                made[c] = run_for_class(label, None, partial(self._estimate, c, part))
            except DataError as error:
                first = first or error
        if first is None:
            return tuple(made.values())
        return fit_fallback_members(self.family, self.statistics, self.classes, made, self.singular, first, self.names)

    def _estimate(self, c: int, part: Any) -> Any:
        if c in self.singular or not has_spread(self.family, part):
            raise DataError("its rows have too little spread for a density of their own")
        return self.family.estimate(part)


def fit_densities(
    density: Any, source: Source, codes: Array, classes: Array, seeds: np.random.Generator | None = None
) -> FittedDensities | FamilyDensities:
    """Fit a density to each class of a source; those that draw and have no seed of their own are seeded by `seeds`."""
    if is_family(density):
        kept = _read_family(density, source, codes, classes, incomplete=True)
        kept.densities  # noqa: B018  an error of the estimates belongs here, not to the first prediction
        return kept
    if accepts_missing(density) and not _fits_missing(density):
        source = drop_incomplete_rows(density, source, codes, classes)
    fresh = clone_per_class(density, len(classes), seeds)
    found, failed = try_fit([clone(estimator) for estimator in fresh], source, codes, classes)
    if not failed:
        return FittedDensities(tuple(found))
    return FittedDensities(fit_fallback_estimators(fresh, source, codes, classes, found, failed), can_continue=False)


def update_densities(
    before: Any, density: Any, source: Source, codes: Array, classes: Array, seeds: np.random.Generator | None = None
) -> FittedDensities | FamilyDensities:
    """Add further rows to the densities of `before`, which is None for the first rows."""
    if is_family(density):
        found = _read_family(density, source, codes, classes)
        statistics = found.statistics if before is None else before.statistics + found.statistics
        return FamilyDensities(density, statistics, classes, names=found.names)
    parts = clone_per_class(density, len(classes), seeds) if before is None else before.densities
    pairs = zip(classes.tolist(), parts, strict=True)
    return FittedDensities(
        tuple(fit_to_class(part, "partial_fit", source, codes, c, label) for c, (label, part) in enumerate(pairs))
    )


def _read_family(
    family: Any, source: Source, codes: Array, classes: Array, incomplete: bool = False
) -> FamilyDensities:
    """Read the statistics of the classes in one pass, or by EM if incomplete rows are allowed and can be fitted."""
    if getattr(family, "k", 0) >= source.n_features:
        what = f"must have k below the number of columns of X, {source.n_features} feature(s)"
        raise OptionError(what, argument="density", value=family)
    summarise = partial(summarise_classes, summaries=[family.summarise] * len(classes))
    with np.errstate(invalid="ignore", over="ignore"):
        statistics = accumulate(attach_classes(source, codes), summarise, None, "reading classes")
    if not any(_is_nonfinite(part) for part in statistics.parts if part is not None):
        return FamilyDensities(family, statistics, classes, names=source.names)
    if not incomplete or not fits_incomplete_rows(family):
        raise explain_nonfinite(source)
    statistics, singular = complete_statistics(family, source, codes, classes)
    return FamilyDensities(family, statistics, classes, can_continue=False, names=source.names, singular=singular)
